/* help_text.c: reads the entries of lang/help/NAME.txt, which are compiled in as text, and wraps
 * help for the terminal. Comments of functions in the prelude have the same form as a body.
 * SPDX-License-Identifier: MIT */
#include "lang/help/help_text.h"
#include "lang/eval/prelude.h"
#include "runtime/base/utf8.h"
#include <string.h>
#include <threads.h>

enum { MAX_ENTRIES = 1000, MAX_GROUPS = 64, INDENT = 4, NARROWEST = 24 };

extern const PreludeFile help_files[]; /* written by scripts/embed */

static struct {
    once_flag once;
    HelpEntry entry[MAX_ENTRIES + 1];
    HelpGroup group[MAX_GROUPS + 1];
    size_t n_entries, n_groups;
} all = {.once = ONCE_FLAG_INIT};

/* ---- entries ---- */

static bool starts(const char *s, size_t n, const char *with) {
    size_t k = strlen(with);
    return n >= k && !memcmp(s, with, k);
}

static void read_group(const char *s, size_t n) {
    const char *colon = memchr(s, ':', n);
    size_t n_name = colon ? (size_t)(colon - s) : n;
    HelpGroup *g = &all.group[all.n_groups++];
    *g = (HelpGroup){.name = s, .n_name = n_name, .files = "", .others = ""};
    g->title = colon ? colon + 2 : s + n;
    g->n_title = colon && n > n_name + 2 ? n - n_name - 2 : 0;
}

/* Reads one file. Lines above the first group are a comment. */
static void read_file(const char *text) {
    HelpEntry *open = NULL;
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        if (starts(s, n, "== ") && all.n_groups < MAX_GROUPS) {
            read_group(s + 3, n - 3);
            open = NULL;
        } else if (starts(s, n, "= ") && all.n_groups && all.n_entries < MAX_ENTRIES) {
            open = &all.entry[all.n_entries++];
            *open = (HelpEntry){.names = s + 2,
                                .n_names = n - 2,
                                .body = s + n + (s[n] == '\n'),
                                .group = (int)all.n_groups - 1};
        } else if (open) {
            size_t end = (size_t)(s + n - open->body);
            if (n) open->n_body = end; /* without blank lines at its end */
        } else if (all.n_groups && starts(s, n, "from ")) {
            all.group[all.n_groups - 1].files = s + 5;
            all.group[all.n_groups - 1].n_files = n - 5;
        } else if (all.n_groups && starts(s, n, "with ")) {
            all.group[all.n_groups - 1].others = s + 5;
            all.group[all.n_groups - 1].n_others = n - 5;
        }
        s += n + (s[n] == '\n');
    }
}

static void read_all(void) {
    for (int i = 0; help_files[i].name; i++) read_file(help_files[i].text);
}

/* True if one of the words, separated by blanks, is this one. */
static bool is_among(const char *words, size_t n, const char *word, size_t n_word) {
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && words[k] != ' ') k++;
        if (k - i == n_word && !memcmp(words + i, word, n_word)) return true;
        i = k + 1;
    }
    return false;
}

const HelpEntry *help_entry(const char *name) {
    call_once(&all.once, read_all);
    size_t n = strlen(name);
    if (!n || strchr(name, ' ')) return NULL;
    for (size_t i = 0; i < all.n_entries; i++)
        if (is_among(all.entry[i].names, all.entry[i].n_names, name, n)) return &all.entry[i];
    return NULL;
}

const HelpEntry *help_entry_at(size_t i) {
    call_once(&all.once, read_all);
    return i < all.n_entries ? &all.entry[i] : NULL;
}

const HelpGroup *help_group_at(size_t i) {
    call_once(&all.once, read_all);
    return i < all.n_groups ? &all.group[i] : NULL;
}

int help_group(const char *name, size_t n) {
    const HelpGroup *g;
    for (size_t i = 0; (g = help_group_at(i)); i++)
        if (g->n_name == n && !memcmp(g->name, name, n)) return (int)i;
    return -1;
}

int help_group_with(const char *name) {
    const HelpGroup *g;
    for (size_t i = 0; (g = help_group_at(i)); i++)
        if (is_among(g->others, g->n_others, name, strlen(name))) return (int)i;
    return -1;
}

int help_group_of_file(const char *file) {
    const HelpGroup *g;
    for (size_t i = 0; (g = help_group_at(i)); i++)
        if (is_among(g->files, g->n_files, file, strlen(file))) return (int)i;
    return -1;
}

/* ---- wrapping ---- */

static size_t columns(const char *s, size_t n) {
    size_t sum = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp = ' ';
        int k = utf8_decode(s + i, n - i, &cp);
        sum += k > 0 ? (size_t)utf8_width(cp) : 1;
        i += k > 0 ? (size_t)k : 1;
    }
    return sum;
}

bool help_usage(const char *body, size_t n, Bytes *out) {
    bool any = false;
    for (size_t i = 0; i < n;) {
        size_t k = 0;
        while (i + k < n && body[i + k] != '\n') k++;
        if (starts(body + i, k, "usage: ")) {
            bytes_add(out, body + i + 7, k - 7);
            bytes_putc(out, '\n');
            any = true;
        }
        i += k + 1;
    }
    return any;
}

typedef struct Wrap {
    Bytes *out;
    size_t width, column; /* column 0: at the beginning of a line */
} Wrap;

static void end_line(Wrap *w) {
    if (w->column) bytes_putc(w->out, '\n');
    w->column = 0;
}

static void put_words(Wrap *w, const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && s[k] != ' ') k++;
        size_t wide = columns(s + i, k - i);
        if (w->column && w->column + 1 + wide > w->width) end_line(w);
        if (k > i) {
            bytes_printf(w->out, "%*s", w->column ? 1 : INDENT, "");
            bytes_add(w->out, s + i, k - i);
            w->column = (w->column ? w->column + 1 : INDENT) + wide;
        }
        i = k + 1;
    }
}

void help_wrap(const char *body, size_t n, int width, Bytes *out) {
    Wrap w = {out, width < NARROWEST ? NARROWEST : (size_t)width, 0};
    bool in_example = false;
    for (size_t i = 0; i < n;) {
        size_t k = 0;
        const char *s = body + i;
        while (i + k < n && s[k] != '\n') k++;
        i += k + 1;
        bool is_run = starts(s, k, "> "), is_code = is_run || starts(s, k, ">! ");
        if (is_code && !is_run) s += 2, k -= 2; /* shown, but not run by the test */
        if (starts(s, k, "usage: ")) continue;
        if (is_code || in_example) {
            end_line(&w);
            if (!in_example) bytes_putc(out, '\n');
            in_example = true;
            const char *prompt = is_run ? "gt" : is_code ? "gt>" : "";
            bytes_printf(out, "%*s%s%.*s\n", k ? INDENT : 0, "", prompt, (int)k, s);
            continue;
        }
        if (!k || starts(s, k, "PyTorch: ") || starts(s, k, "NumPy: ") || starts(s, k, "Python: "))
            end_line(&w);
        if (!k) bytes_putc(out, '\n');
        put_words(&w, s, k);
    }
    end_line(&w);
}

void help_sentence(const char *body, size_t n, int width, Bytes *out) {
    Wrap one = {.width = (size_t)-1};
    Bytes text = {0};
    one.out = &text;
    for (size_t i = 0; i < n;) {
        size_t k = 0;
        const char *s = body + i;
        while (i + k < n && s[k] != '\n') k++;
        i += k + 1;
        if (starts(s, k, "usage: ")) continue;
        if (!k || *s == '>' || starts(s, k, "PyTorch: ") || starts(s, k, "NumPy: ") ||
            starts(s, k, "Python: "))
            break;
        put_words(&one, s, k);
    }
    const char *s = text.n ? text.data + INDENT : "", *end = strstr(s, ". ");
    while (end && end > s && end[-1] == '.') end = strstr(end + 2, ". "); /* "..." ends nothing */
    size_t size = end ? (size_t)(end + 1 - s) : strlen(s);
    size_t room = width > NARROWEST ? (size_t)width : NARROWEST;
    if (columns(s, size) > room) {
        size = utf8_skip(s, size, room - 1);
        while (size && s[size] != ' ') size--;
        bytes_printf(out, "%.*s…", (int)size, s);
    } else
        bytes_add(out, s, size);
    bytes_fini(&text);
}
