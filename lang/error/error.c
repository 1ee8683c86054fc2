/* error.c: fills LangErrors and prints them: a header line, then each source line with a row of
 * carets under it (draw_text). A label's text stands to the right of its caret or below it. The
 * hint is last. Also the hints for single words of other languages (habit_hint).
 * SPDX-License-Identifier: MIT */
#include "lang/error/error.h"
#include "lang/error/habit.h"
#include "lang/error/stack.h"
#include "runtime/base/utf8.h"
#include "runtime/base/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_SHOWN_BYTES   400 /* of a longer line, such as data in instruction text, this part */
#define LINE_BEFORE_BYTES  100 /* ... of it before the first caret */
#define LABEL_MAX_COLUMNS  75  /* of a signature beside a caret; a longer one is the hint */
#define LINE_MAX_COLUMNS   120 /* a hint that would exceed this goes on its own line */
#define LINE_LEAST_COLUMNS 24  /* of a source line, however narrow the terminal is */

bool error_locate(LangError *e, Span at) {
    if (e->at.src == NULL) e->at = at;
    return false;
}

bool error_at(LangError *e, Span at, const char *format, ...) {
    FORMAT_INTO(e->what, format);
    if (e->kind == E_NONE) e->kind = E_RUN;
    return error_locate(e, at);
}

bool error_set(LangError *e, const char *format, ...) {
    FORMAT_INTO(e->what, format);
    if (e->kind == E_NONE) e->kind = E_RUN;
    return false;
}

bool error_usage(LangError *e, const char *format, ...) {
    *e = (LangError){.kind = E_EXIT, .exit_code = 2};
    FORMAT_INTO(e->what, format);
    return false;
}

bool error_hint(LangError *e, const char *format, ...) {
    FORMAT_INTO(e->hint, format);
    return false;
}

bool error_label(LangError *e, Span at, const char *format, ...) {
    if (e->n_labels == (int)(sizeof e->label / sizeof *e->label)) return false;
    ErrorLabel *l = &e->label[e->n_labels++];
    FORMAT_INTO(l->text, format);
    l->at = at;
    return false;
}

bool error_signature(LangError *e, const char *near, const char *signature) {
    bool is_long = utf8_count(signature, strlen(signature)) > LABEL_MAX_COLUMNS;
    if (near && is_long) return error_label(e, e->at, "did you mean '%.100s'?", near);
    if (is_long) return error_hint(e, "%s", signature);
    if (near) return error_label(e, e->at, "did you mean '%.60s'?   %s", near, signature);
    return error_label(e, e->at, "%s", signature);
}

bool error_from(LangError *e, const Err *err) {
    error_set(e, "%s", err->text);
    if (err->hint[0]) error_hint(e, "%s", err->hint);
    if (err->code == ERR_GONE || err->code == ERR_TIMEOUT)
        e->kind = E_GONE;
    else if (err->code == ERR_CANCELLED)
        e->kind = E_INTERRUPT;
    else if (err->code == ERR_ASSERT)
        e->kind = E_ASSERT;
    return false;
}

int error_exit_code(const LangError *e) {
    switch (e->kind) {
    case E_NONE: return 0;
    case E_SYNTAX:
    case E_INCOMPLETE: return 65;
    case E_RUN:
    case E_ASSERT: return 1;
    case E_INTERRUPT: return 130;
    case E_EXIT: return e->exit_code;
    case E_GONE: return 69;
    case E_CONFIG: return 78;
    case E_NOINPUT: return 66;
    }
    return 1;
}

/* ---- Drawing ---- */

typedef struct Paint {
    const char *bold, *tone, *off;
    int columns; /* of the terminal; 0: source lines are shown in full */
} Paint;
typedef struct Caret {
    uint32_t col, len;
    const char *text;
} Caret; /* col from 1, in bytes */

/* Finds the text of a line, counted from the source's first_line. False if there is no such
 * line. */
static bool source_line(const Source *src, uint32_t line, const char **s, size_t *n) {
    uint32_t first = src->first_line ? src->first_line : 1;
    if (!src->text || src->n == 0 || line < first) return false;
    const char *p = src->text, *end = src->text + src->n;
    for (uint32_t k = first; k < line; k++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p) return false;
        p++;
    }
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    *s = p;
    *n = (size_t)((nl ? nl : end) - p);
    if (*n && p[*n - 1] == '\r') --*n;
    return true;
}

const char *span_text(Span at, size_t *n) {
    const char *s;
    size_t len;
    *n = 0;
    if (!at.src || !at.col || !source_line(at.src, at.line, &s, &len) || at.col > len) return NULL;
    *n = at.len < len - (at.col - 1u) ? at.len : len - (at.col - 1u);
    return s + at.col - 1;
}

void error_put_line(const char *s, size_t n, Bytes *out) {
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0;
        int len = utf8_decode(s + i, n - i, &cp);
        if (len == 0 || (cp < 0x20 && cp != '\t') || (cp >= 0x7f && cp < 0xa0))
            bytes_putc(out, '?');
        else
            bytes_add(out, s + i, (size_t)len);
        i += len ? (size_t)len : 1;
    }
}

void error_words(const char *s, bool has_lines, Bytes *out) {
    for (size_t n = strlen(s); n > 0;) {
        uint32_t cp = 0;
        int len = utf8_decode(s, n, &cp);
        unsigned char c = (unsigned char)*s;
        bool is_plain = len > 0 && cp >= 0x20 && !(cp >= 0x7f && cp < 0xa0);
        if (is_plain || c == '\t' || (c == '\n' && has_lines))
            bytes_add(out, s, (size_t)(len ? len : 1));
        else if (c == '\n')
            bytes_puts(out, "\\n");
        else
            for (int i = 0; i < (len ? len : 1); i++)
                bytes_printf(out, "\\x%02x", (unsigned char)s[i]);
        s += len ? len : 1, n -= (size_t)(len ? len : 1);
    }
}

/* Advances *i to byte `to` of the line and appends `c` per column; if c is a blank, copies tabs.
 * Returns the number of columns. */
static int put_columns(const char *s, size_t n, size_t *i, size_t to, char c, Bytes *out) {
    int columns = 0;
    while (*i < to) {
        uint32_t cp = 0;
        int len = *i < n ? utf8_decode(s + *i, n - *i, &cp) : 0;
        int width = len ? utf8_width(cp) : 1;
        if (len && cp < 0x20) width = 1;
        if (c == ' ' && *i < n && s[*i] == '\t')
            bytes_putc(out, '\t');
        else
            for (int k = 0; k < width; k++) bytes_putc(out, c);
        columns += width;
        *i += len ? (size_t)len : 1;
    }
    return columns;
}

static int by_column(const void *a, const void *b) {
    const Caret *x = a, *y = b;
    return x->col < y->col ? -1 : x->col > y->col;
}

static int gutter(uint32_t line) { return line > 99999 ? 6 : line > 9999 ? 5 : line > 999 ? 4 : 3; }

static void put_hint(const char *hint, const Paint *p, Bytes *out) {
    if (strncmp(hint, "did you mean", 12)) bytes_printf(out, "%shint:%s ", p->bold, p->off);
    error_words(hint, false, out);
}

/* Ends the row that begins at row_at, with the hint on it or, if too long, on a row of its own. */
static void finish_row(size_t row_at, int width, const char *hint, bool has_text, const Paint *p,
                       Bytes *out) {
    if (hint[0]) {
        size_t used = utf8_count(out->data + row_at, out->n - row_at);
        size_t gap = has_text ? 6 : 1;
        size_t most = p->columns ? (size_t)p->columns : LINE_MAX_COLUMNS;
        if (used + gap + 6 + utf8_count(hint, strlen(hint)) > most) {
            bytes_printf(out, "\n%*s | ", width, "");
        } else {
            bytes_printf(out, "%*s", (int)gap, "");
        }
        put_hint(hint, p, out);
    }
    bytes_putc(out, '\n');
}

/* Sets part to the LINE_SHOWN_BYTES of s around the first caret, and moves the carets there. */
static void shorten(const char *s, size_t n, Caret *caret, int n_carets, Bytes *part) {
    size_t first = n_carets ? n : 0, from = 0;
    for (int k = 0; k < n_carets; k++)
        if (caret[k].col - 1 < first) first = caret[k].col - 1;
    if (first + LINE_BEFORE_BYTES > LINE_SHOWN_BYTES) from = first - LINE_BEFORE_BYTES;
    size_t to = n - from > LINE_SHOWN_BYTES ? from + LINE_SHOWN_BYTES : n;
    while (from && from < to && (s[from] & 0xc0) == 0x80) from++; /* whole characters */
    while (to < n && to > from && (s[to] & 0xc0) == 0x80) to--;
    if (from) bytes_puts(part, "... ");
    size_t shift = part->n;
    bytes_add(part, s + from, to - from);
    if (to < n) bytes_puts(part, " ...");
    for (int k = 0; k < n_carets; k++) {
        caret[k].col = (uint32_t)(caret[k].col - from + shift);
        if (caret[k].col > part->n + 1) caret[k].col = (uint32_t)part->n + 1;
    }
}

/* The columns of s[from, to) on a terminal; a tab counts as one, as put_columns and cut have it. */
static int columns_of(const char *s, size_t from, size_t to) {
    int columns = 0;
    for (size_t len; from < to; from += len) {
        uint32_t cp = 0;
        len = (size_t)utf8_decode(s + from, to - from, &cp);
        columns += len && cp >= 0x20 ? utf8_width(cp) : 1;
        if (!len) len = 1;
    }
    return columns;
}

/* The byte behind those of s[from, n) that fit in the columns. */
static size_t fitting(const char *s, size_t from, size_t n, int columns) {
    for (size_t len; from < n; from += len) {
        uint32_t cp = 0;
        len = (size_t)utf8_decode(s + from, n - from, &cp);
        columns -= len && cp >= 0x20 ? utf8_width(cp) : 1;
        if (columns < 0) break;
        if (!len) len = 1;
    }
    return from;
}

/* As columns_of, with tabs as wide as they are at most. */
static int columns_on_screen(const char *s, size_t n) {
    int columns = columns_of(s, 0, n);
    for (size_t i = 0; i < n; i++) columns += s[i] == '\t' ? 7 : 0;
    return columns;
}

/* Sets part to what of s fits in the columns, with the first caret in it, and moves the carets
 * there. What is left out on either side is `...`; a tab becomes a blank. */
static void cut(const char *s, size_t n, int columns, Caret *caret, int n_carets, Bytes *part) {
    enum { DOTS = 4 };
    size_t first = n_carets ? n : 0, last = first, from = 0;
    for (int k = 0; k < n_carets; k++) {
        if (caret[k].col - 1 >= first) continue;
        first = caret[k].col - 1;
        last = first + caret[k].len < n ? first + caret[k].len : n;
    }
    int room = columns - 2 * DOTS, wide = columns_of(s, first, last);
    int before = wide > room * 2 / 3 ? room / 3 : room - wide < room / 2 ? room - wide : room / 2;
    if (columns_of(s, 0, last) > columns - DOTS)
        while (columns_of(s, from, first) > before) {
            int len = utf8_decode(s + from, n - from, NULL);
            from += len ? (size_t)len : 1;
        }
    if (from) bytes_puts(part, "... ");
    size_t shift = part->n, to = fitting(s, from, n, columns - (int)shift);
    if (to < n) to = fitting(s, from, n, columns - DOTS - (int)shift);
    for (size_t i = from; i < to; i++) bytes_putc(part, s[i] == '\t' ? ' ' : s[i]);
    if (to < n) bytes_puts(part, " ...");
    for (int k = 0; k < n_carets; k++) {
        size_t at = caret[k].col - 1, end = at + caret[k].len;
        if (at > to) at = end = to;
        if (end > to && to < n) end = to + DOTS;
        caret[k].col = (uint32_t)(at - from + shift + 1);
        caret[k].len = (uint32_t)(end - at);
    }
}

static void draw_text(const char *s, size_t n, uint32_t line, Caret *caret, int n_carets,
                      const char *hint, const Paint *p, Bytes *out) {
    int width = gutter(line);
    bytes_printf(out, "%*u | ", width, line);
    error_put_line(s, n, out);
    bytes_putc(out, '\n');
    if (n_carets == 0 && !hint[0]) return;
    qsort(caret, (size_t)n_carets, sizeof *caret, by_column);
    bytes_printf(out, "%*s | ", width, "");
    size_t row_at = out->n - 3 - (size_t)width, i = 0;
    bool has_text = false;
    for (int k = 0; k < n_carets; k++) {
        size_t from = caret[k].col - 1, to = from + (caret[k].len ? caret[k].len : 1);
        if (from > n) from = n;
        if (to > n + 1 || to > n) to = from < n ? n : n + 1;
        if (from + caret[k].len < to) to = from + (caret[k].len ? caret[k].len : 1);
        if (k && from < i) continue;
        put_columns(s, n, &i, from, ' ', out);
        bytes_puts(out, p->tone);
        put_columns(s, n, &i, to, '^', out);
        bytes_puts(out, p->off);
    }
    if (n_carets && caret[n_carets - 1].text[0]) {
        int row = (int)utf8_count(out->data + row_at, out->n - row_at) -
                  (int)(n_carets * (strlen(p->tone) + strlen(p->off)));
        int text = (int)utf8_count(caret[n_carets - 1].text, strlen(caret[n_carets - 1].text));
        if (p->columns && row + 1 + text > p->columns) {
            int left = p->columns - text - width - 3, at = row - width - 4;
            bytes_putc(out, '\n');
            row_at = out->n;
            bytes_printf(out, "%*s | %*s", width, "", left < 0 ? 0 : left < at ? left : at, "");
        } else
            bytes_putc(out, ' ');
        error_words(caret[n_carets - 1].text, false, out);
        has_text = true;
    }
    for (int k = n_carets - 2; k >= 0; k--) {
        if (!caret[k].text[0]) continue;
        bytes_printf(out, "\n%*s | ", width, "");
        row_at = out->n - 3 - (size_t)width;
        i = 0;
        put_columns(s, n, &i, caret[k].col - 1 < n ? caret[k].col - 1 : n, ' ', out);
        error_words(caret[k].text, false, out);
        has_text = true;
    }
    finish_row(row_at, width, hint, has_text, p, out);
}

static void draw_line(const Source *src, uint32_t line, Caret *caret, int n_carets,
                      const char *hint, const Paint *p, Bytes *out) {
    const char *s = "";
    size_t n = 0;
    Bytes part = {0};
    if (!source_line(src, line, &s, &n)) {
        if (hint[0]) {
            bytes_printf(out, "    ");
            put_hint(hint, p, out);
            bytes_putc(out, '\n');
        }
        return;
    }
    if (n > LINE_SHOWN_BYTES) {
        shorten(s, n, caret, n_carets, &part);
        s = part.data, n = part.n;
    }
    int room = p->columns - gutter(line) - 3;
    if (room < LINE_LEAST_COLUMNS) room = LINE_LEAST_COLUMNS;
    if (p->columns && columns_on_screen(s, n) > room) {
        Bytes fits = {0};
        cut(s, n, room, caret, n_carets, &fits);
        bytes_fini(&part);
        part = fits;
        s = part.data, n = part.n;
    }
    draw_text(s, n, line, caret, n_carets, hint, p, out);
    bytes_fini(&part);
}

static bool same_line(Span a, Span b) { return a.src == b.src && a.line == b.line; }

/* Appends "train.gt:3:5: error: what", or "gtsh: error: what" without a position. */
static void print_head(const LangError *e, const char *severity, const Paint *p, Bytes *out) {
    const Source *src = e->at.src;
    bytes_puts(out, p->bold);
    if (!src)
        bytes_puts(out, "gtsh: ");
    else
        error_words(src->name, false, out);
    if (src && e->at.col)
        bytes_printf(out, ":%u:%u: ", e->at.line, e->at.col);
    else if (src)
        bytes_printf(out, ":%u: ", e->at.line);
    bytes_printf(out, "%s%s%s: %s", p->off, p->tone, severity, p->off);
    error_words(e->what, e->kind == E_ASSERT, out);
    bytes_putc(out, '\n');
}

static void print_message(const LangError *e, const char *severity, bool color, int columns,
                          Bytes *out) {
    bool warning = !strcmp(severity, "warning");
    Paint p = color ? (Paint){"\033[1m", warning ? "\033[1;35m" : "\033[1;31m", "\033[0m", columns}
                    : (Paint){"", "", "", columns};
    const Source *src = e->at.src;
    print_head(e, severity, &p, out);
    if (!src) {
        if (e->hint[0]) {
            bytes_puts(out, "    ");
            put_hint(e->hint, &p, out);
            bytes_putc(out, '\n');
        }
        return;
    }
    /* Carets of the main line: its labels, otherwise the position itself. */
    bool drawn[3] = {false};
    Caret caret[4];
    int n = 0, later = 0;
    for (int k = 0; k < e->n_labels; k++) {
        if (!e->label[k].at.src) {
            drawn[k] = true;
            continue;
        }
        if (!e->at.col || !same_line(e->label[k].at, e->at)) {
            later++;
            continue;
        }
        caret[n++] = (Caret){e->label[k].at.col, e->label[k].at.len, e->label[k].text};
        drawn[k] = true;
    }
    if (n == 0 && e->at.col && (e->at.len || !later))
        caret[n++] = (Caret){e->at.col, e->at.len, ""};
    if (e->at.col || !later) draw_line(src, e->at.line, caret, n, later ? "" : e->hint, &p, out);
    for (int k = 0; k < e->n_labels; k++) {
        if (drawn[k]) continue;
        const Span at = e->label[k].at;
        n = 0;
        for (int j = k; j < e->n_labels; j++) {
            if (drawn[j] || !same_line(e->label[j].at, at)) continue;
            caret[n++] = (Caret){e->label[j].at.col, e->label[j].at.len, e->label[j].text};
            drawn[j] = true;
            later--;
        }
        if (at.src != src) {
            bytes_puts(out, "  in ");
            error_words(at.src->name, false, out);
            bytes_printf(out, ":%u\n", at.line);
        }
        draw_line(at.src, at.line, caret, n, later ? "" : e->hint, &p, out);
    }
}

void error_print(const LangError *e, const char *severity, bool color, Bytes *out) {
    error_print_on(e, severity, color, 0, out);
}

void error_print_on(const LangError *e, const char *severity, bool color, int columns, Bytes *out) {
    print_message(e, severity, color, columns, out);
    error_stack_print(e, columns, out);
}

int error_columns(int fd) {
    struct winsize w;
    if (!isatty(fd)) return 0;
    return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

/* ---- Words of other languages ---- */

static const char *const habits[][2] = {
    {"_", "at the prompt ans is the value shown last"},
    {"let var const auto", "assignment needs no word: x = 1"},
    {"local", "a name that a function assigns is local: x = 1"},
    {"int", "assignment needs no type: x = 1"},
    {"float", "assignment needs no type: x = 1.0"},
    {"string", "assignment needs no type: x = \"a\""},
    {"print echo puts", "print(x)"},
    {"printf", "print(f\"{x:.4f}\")"},
    {"switch match case", "if x == 1 { … } elif x == 2 { … } else { … }"},
    {"elseif elsif", "elif"},
    {"elif", "elif follows the } of an if"},
    {"else", "else follows the } of an if"},
    {"manual_seed", "seed(n)"},
    {"set_printoptions", "set_print(precision=4)"},
    {"null nil undefined NULL nullptr", "write none"},
    {"NaN", "nan"},
    {"func function fun proc", "fn f(x) { … }"},
    {"struct object __init__", "module M(params) { self.x = … }"},
    {"from require include use", "import \"file.gt\" as name"},
    {"do", "while condition { … }"},
    {"until", "while not condition { … }"},
    {"loop repeat", "while true { … }"},
    {"unless", "if not condition { … }"},
    {"foreach", "for x in xs { … }"},
    {"throw Exception ValueError RuntimeError TypeError KeyError", "error(\"message\")"},
    {"pass", "an empty block is { }"},
    {"end", "blocks end with }"},
    {"then", "if condition { … }"},
    {"async await", "every tensor operation is asynchronous already"},
    {"delete", "del x; of a tensor: cat([x[:i], x[i + 1:]])"},
    {"this", "self"},
    {"and_then", "and"},
    {"torch", "tensor functions are builtins: randn(2, 3)"},
    {"np numpy", "tensor functions are builtins: zeros(2, 3)"},
    {"os", "getenv(\"X\"), args, glob(pattern), shell(cmd)"},
    {"math", "math functions are builtins: sqrt(2)"},
    {"tuple", "list(x); (1, 2) is a list"},
    {"frozenset", "set(xs)"},
    {"next", "for x in xs { … }, or xs[0]; there are no iterators"},
    {"iter", "for x in xs { … }; there are no iterators"},
    {"help", "?relu, at the prompt"},
    {"id", "a is b compares identities"},
    {"callable", "type(f) in [\"fn\", \"module\"]"},
    {"repr", "f\"{x!r}\""},
    {"slice", "x[a:b:step]"},
    {"format", "f\"{x:.3f}\""},
    {"quit", "exit()"},
    {"Tensor", "tensor(xs); isinstance(x, tensor)"},
    {"isinstance", "type(x) == \"tensor\" (int float str list map fn, or a module's name)"},
    {"DataLoader", "for idx in randperm(len(X)).split(64) { x = X[idx]; y = Y[idx]; … }"},
    {"EarlyStopping",
     "if val < best { best = val; wait = 0 } else { wait += 1 }; if wait == 5 { break }"},
    {"TensorDataset Dataset",
     "drop it: for idx in randperm(len(X)).split(64) { x = X[idx]; y = Y[idx]; … }"},
    {"compile", "drop it: kernels are compiled where it pays off"},
    {"newaxis", "none: x[:, none]"},
    {"no_grad inference_mode", "no_grad { … }"},
    {"quantize_per_tensor", "not here: x.half(), x.bfloat16(); int8: (x / s).round().to(int8)"},
    {"sparse_coo_tensor", "not here: zeros(2, 3), and x[i, j] = v; all tensors are dense"},
    {"FloatTensor", "tensor([1., 2.])"},
    {"LongTensor", "tensor([1, 2])"},
    {"rearrange", "x.reshape(…).permute(…); \"b c d -> b (c d)\" is x.flatten(1)"},
    {"parametrizations", "nn.utils.spectral_norm(m), nn.utils.weight_norm(m)"},
    {"self", "methods see self; outside of a module there is none"},
    {"tqdm", "for x in progress(xs, \"train\") { … }"},
    {"imshow", "image(x)"},
    {"trange", "for i in progress(n, \"train\") { … }"},
    {"device", "drop it: programs name no devices; gtsh -w N and --engine choose"},
    {"open", "read(path), lines(path), write(path, text)"},
    {"deepcopy", "copy(x) copies deeply"},
    {"OrderedDict", "a map keeps its order: {a: 1, b: 2}"},
    {"is_tensor", "isinstance(x, tensor)"},
    {"set_grad_enabled", "no_grad if not train { … }"},
    {"vmap", "write f for a batch, or stack([f(row) for row in x])"},
    {"GradScaler", "bfloat16 needs none; float16: (loss * scale).backward(), p.grad / scale"},
    {"Variable", "drop it: x = param(x) where a gradient is wanted"},
    {"defaultdict", "m.setdefault(k, []).append(x); m[k] = m.get(k, 0) + 1"},
    {"partial", "fn(y) => f(x, y)"},
    {"SummaryWriter", "track(loss=loss)"},
    {"__name__", "if main { … }"},
    {"autocast", "m.to(bfloat16), x.bfloat16()"},
    {"setattr", "obj[\"name\"] = v"},
    {"vars", "named_parameters(), or a map"},
    {"Path", "paths are strings: dir + \"/\" + name"},
    {"complex complex64 complex128", "no complex numbers: two tensors"},
    {"i0 i1 bessel_j0 bessel_j1", "there are no Bessel functions"},
    {"int16 uint16", "int32"},
    {"Function", "f's value with g's gradient: g(x) + (f(x) - g(x)).detach()"},
    {"random_split", "i, j = randperm(len(x)).split([8, 2]); train, test = x[i], x[j]"},
    {"Binomial", "not here: sum(bernoulli(full([n], p))) draws one; gt-lang(7) lists what is"},
    {"eig", "eigh(a) of symmetric matrices; others have complex eigenvalues, which are not here"},
    {"eigvals", "eigvalsh(a) of symmetric matrices; others have complex eigenvalues"},
    {"functional_call", "a function of the weights: fn net(w, x) => ...; or m.load_state_dict(w)"},
    {"pack_padded_sequence pad_packed_sequence",
     "pass the padded batch, then mask: y * mask; the last output: y[i, n - 1]"},
    {"finally", "ok, r = attempt(f, finally=g)"},
    {"catch try except", "ok, r = attempt(f, x)"},
    {"lenght length", "len(x)"},
    {"expit", "sigmoid(x)"},
    {"psi", "digamma(x)"},
    {"gamma", "exp(lgamma(x)), for x > 0"},
    {"gammaln", "lgamma(x)"},
    {"rint", "round(x)"},
    {"invert", "~x"},
    {"expand_dims", "x.unsqueeze(axis)"},
    {"array", "tensor(xs)"},
    {"nanmax", "where(isnan(x), -inf, x).max()"},
    {"nanmin", "where(isnan(x), inf, x).min()"},
    {"nancumsum", "where(isnan(x), 0, x).cumsum(axis)"},
    {"loadtxt genfromtxt read_csv csv", "load(\"x.csv\")"},
    {"load_file", "load(\"x.safetensors\")"},
    {"save_file", "save(m, \"x.safetensors\")"},
    {"imread", "load(\"x.png\")"},
    {"imsave", "save(x, \"x.png\")"},
    {"savetxt to_csv", "save(x, \"x.csv\")"},
    {"expm", "matrix_exp(x)"},
    {"delattr", "del obj.name"},
    {"divmod", "[a // b, a % b]"},
    {"Counter", "for x in xs { m[x] = m.get(x, 0) + 1 }"},
    {"deque", "a list: xs.append(x), xs.pop(0), xs.insert(0, x)"},
    {"heapq", "heappush(h, x), heappop(h), heapify(h)"},
    {"hash", "keys are strings, ints and lists of these"},
    {"bin", "f\"{n:b}\"; int(s) reads \"0b101\""},
    {"hex", "f\"{n:x}\"; int(s, 16) reads \"ff\""},
    {"oct", "f\"{n:o}\""},
    {"super", "drop the line: modules have no base; self.base = Base(…) holds another object"},
    {"staticmethod", "drop it: M.f(x) calls a method that does not use self"},
    {"property", "a method: x.area()"},
    {"fft ifft rfft irfft stft", NO_FFT},
    {"Normal", "distributions.Normal"},
    {"Categorical", "distributions.Categorical"},
    {"Bernoulli", "distributions.Bernoulli"},
    {"kl_divergence", "distributions.kl_divergence(p, q)"},
    {"generate_square_subsequent_mask",
     "full([n, n], -inf).triu(1), or ones(n, n, dtype=bool).triu(1)"},
    {"re", "no regular expressions: s.find, split, partition, replace, isalpha; or shell(\"grep "
           "-oE …\")"},
    {"namedtuple", "module P(x, y) { }"},
    {"dataclass", "module Config(lr=0.1, steps=100) { }"},
    {"True TRUE", "true"},
    {"FALSE", "false"},
    {"def", "functions: fn f(x) { … }"},
    {"class", "module M(params) { self.x = …; fn f(x) { … } }"},
    {"lambda", "fn(x) => x + 1"},
    {"with", "signal a { … }   no_grad { … }   time \"label\" { … }"},
    {"raise", "error(\"message\"); error(r) raises what attempt returned"},
    {"yield", "return a list, or call a function for each element"},
    {"global nonlocal", "shared state lives in a map or object: s = {n: 0}, then s.n += 1"},
};

/* True if the words are the n letters of a name, apart from blanks and capitals. */
static bool is_spelt(const char *words, const char *name, size_t n) {
    const char *end = name + n;
    for (; *words; words++)
        if (*words != ' ' &&
            (name == end || tolower((unsigned char)*words) != tolower((unsigned char)*name++)))
            return false;
    return name == end;
}

const char *habit_search(const char *words) {
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
        const char *names = habits[i][0], *name;
        for (size_t n; (name = words_next(&names, &n));)
            if (is_spelt(words, name, n)) return habits[i][1];
    }
    return NULL;
}

const char *habit_hint(const char *s, size_t n) {
    return words_row(habits, sizeof habits / sizeof *habits, s, n);
}
