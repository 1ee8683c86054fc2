/* builtin_file.c: files, the shell and the calendar, as host functions that leave nothing open.
 * write is an effect, so it keeps its place between print and save. The others run at once, after
 * waiting for earlier writes.
 * SPDX-License-Identifier: MIT */
#include "lang/text/effects.h"
#include "lang/text/pieces.h"
#include "runtime/base/utf8.h"
#include "lang/eval/eval.h"
#include "lang/eval/builtin.h"
#include "lang/builtin/builtin_host.h"
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX   (UINT64_C(1) << 30) /* the most bytes that read, lines and shell return */
#define MAPPED_MAX (UINT32_MAX - 1u)   /* the same, of a file that is mapped */
#define LOOK_BYTES ((size_t)4 << 20)   /* looked at before the pages of a mapping are given back */

static bool path_of(Value v, LangError *e) {
    TRY(want_kind(v, V_STR, "a path must be a string", e));
    return strlen(v.str->s) == v.str->n || error_set(e, "a path holds no NUL");
}

static bool drain(FILE *f, const char *name, Bytes *out, LangError *e) {
    char block[1 << 14];
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) {
        bytes_add(out, block, n);
        if (out->n > TEXT_MAX) return error_set(e, "%s is longer than 1 GiB", name);
        TRY(not_interrupted(e));
    }
    TRY(not_interrupted(e)); /* an interrupted read is not the end of the file */
    return !ferror(f) || error_set(e, "%s: %s", name, strerror(errno));
}

/* A file read (b) or mapped: its n bytes from s on. */
typedef struct FileText {
    const char *s;
    size_t n;
    Bytes b;
    Buf *map;
} FileText;

static void text_fini(FileText *t) {
    bytes_fini(&t->b);
    buf_unref(&t->map);
}

static bool read_open(FILE *f, const char *path, FileText *t, LangError *e) {
    struct stat st;
    bool has_stat = fstat(fileno(f), &st) == 0;
    if (has_stat && S_ISDIR(st.st_mode)) return error_set(e, "%s is a directory", path);
    size_t n = has_stat && st.st_size > 0 ? (size_t)st.st_size : 0;
    if (n > MAPPED_MAX) return error_set(e, "%s is longer than 4 GiB", path);
    if (n >= FILE_MAP_LEAST) t->map = file_map(fileno(f), n, path);
    if (!t->map) TRY(drain(f, path, &t->b, e));
    t->s = t->map ? (const char *)t->map->data : t->b.data ? t->b.data : "";
    t->n = t->map ? t->map->n : t->b.n;
    return true;
}

/* *t: to be freed by text_fini, also on failure. */
static bool read_text(Interp *in, Value path, FileText *t, LangError *e) {
    *t = (FileText){0};
    TRY(path_of(path, e) && stream_files(in->stream, path.str->s, interp_span(in), e));
    FILE *f = fopen(path.str->s, "rb");
    if (!f) return error_set(e, "cannot read %s: %s", path.str->s, strerror(errno));
    bool ok = read_open(f, path.str->s, t, e);
    fclose(f);
    return ok;
}

/* The files of other programs that people take for text, by their first bytes. */
static const struct Head {
    const char *kind;
    uint8_t n;
    char bytes[8];
} heads[] = {
    {"a NumPy array (.npy)", 6, "\x93NUMPY"},
    {"a zip archive (.npz)", 4, "PK\3\4"},
    {"a PNG image (.png)", 8, {'\x89', 'P', 'N', 'G', '\r', '\n', '\x1a', '\n'}},
    {"compressed by gzip (.gz)", 3, "\x1f\x8b\x08"},
};

/* What a file of a known binary format is, or NULL. */
static const char *kind_of(const FileText *t) {
    static const char no_high_bytes[4];
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (t->n >= heads[i].n && !memcmp(t->s, heads[i].bytes, heads[i].n)) return heads[i].kind;
    /* safetensors: the length of the JSON header, in 8 bytes, then its {" */
    bool is_tensors =
        t->n > 10 && !memcmp(t->s + 4, no_high_bytes, 4) && !memcmp(t->s + 8, "{\"", 2);
    return is_tensors ? "a map of tensors (.safetensors)" : NULL;
}

static bool not_utf8(const char *path, size_t at, char byte, LangError *e) {
    error_set(e, "%.200s is not UTF-8 text: byte %zu is %02x", path, at, (unsigned char)byte);
    return error_hint(e,
                      "shell(\"iconv -f latin1 %.200s\") for Latin-1 text; load reads "
                      "the bytes of a .txt or .bin file",
                      path);
}

/* Counts the code points of a text; marks: an array of uint32_t, the offset of every STR_MARK-th
 * one. Fails if it is not UTF-8. A step at a time: mapped pages that were looked at are given
 * back. */
static bool count_chars(const char *path, const FileText *t, size_t *n_chars, Bytes *marks,
                        LangError *e) {
    size_t i = 0, n = 0;
    for (size_t end = 0; i < t->n && !interrupt_count;) {
        size_t from = i;
        end = t->n - end < LOOK_BYTES ? t->n : end + LOOK_BYTES;
        for (; i < end; n++) {
            uint32_t at = (uint32_t)i;
            if (n % STR_MARK == 0) bytes_add(marks, &at, sizeof at);
            int len = utf8_decode(t->s + i, t->n - i, NULL);
            if (!len) return not_utf8(path, i, t->s[i], e);
            i += (size_t)len;
        }
        if (t->map) file_map_forget(t->s + from, i - from);
    }
    uint32_t at = (uint32_t)i;
    if (n % STR_MARK == 0) bytes_add(marks, &at, sizeof at);
    *n_chars = n;
    return true;
}

/* Only UTF-8 is text: bytes of other files would become strings that no function can use. */
static bool is_text(const char *path, const FileText *t, size_t *n_chars, Bytes *marks,
                    LangError *e) {
    const char *kind = kind_of(t);
    if (kind) {
        bool is_gzip = !memcmp(t->s, "\x1f\x8b", 2);
        error_set(e, "%.200s is %s, not text", path, kind);
        return is_gzip
                   ? error_hint(e, "shell(\"zcat %.200s\") for text, load(path) for tensors", path)
                   : error_hint(e, "load(\"%.200s\")", path);
    }
    bool ok = count_chars(path, t, n_chars, marks, e);
    return (!t->map || file_map_is_good(t->s, t->n, e)) && ok;
}

static bool bi_read(Interp *in, const Value *arg, Value *out, LangError *e) {
    FileText t;
    Bytes marks = {0};
    size_t n_chars;
    bool ok = read_text(in, arg[0], &t, e) && is_text(arg[0].str->s, &t, &n_chars, &marks, e) &&
              not_interrupted(e);
    if (ok && t.map) {
        *out = v_str_mapped(t.map, n_chars, (const uint32_t *)(const void *)marks.data);
        t.map = NULL;
    } else if (ok) {
        *out = v_str(t.s, t.n);
    }
    bytes_fini(&marks);
    text_fini(&t);
    return ok;
}

static bool bi_lines(Interp *in, const Value *arg, Value *out, LangError *e) {
    FileText t;
    Bytes marks = {0};
    size_t n_chars, seen = 0;
    bool ok = read_text(in, arg[0], &t, e) && is_text(arg[0].str->s, &t, &n_chars, &marks, e);
    if (ok) *out = v_list(in, 0);
    for (size_t i = 0; ok && i < t.n && !interrupt_count;) {
        const char *end = memchr(t.s + i, '\n', t.n - i);
        size_t n = end ? (size_t)(end - t.s) - i : t.n - i;
        list_push(out->list, v_str(t.s + i, n && t.s[i + n - 1] == '\r' ? n - 1 : n));
        i += n + 1;
        if (!t.map || i - seen < LOOK_BYTES) continue;
        file_map_forget(t.s + seen, i - seen);
        seen = i;
    }
    if (ok && t.map) ok = give_if(file_map_is_good(t.s, t.n, e), *out, out);
    bytes_fini(&marks);
    text_fini(&t);
    return ok;
}

static bool bi_write(Interp *in, const Value *arg, Value *out, LangError *e) {
    Pieces p = {0};
    bool append;
    TRY(path_of(arg[0], e) && value_truth(in, arg[2], &append, e));
    if (arg[1].kind != V_STR && arg[1].kind != V_TEXT) {
        error_set(e, "write needs text, not %s", value_type_name(arg[1]));
        return error_hint(e, "write(path, str(x)), or save(x, path)");
    }
    bool ok =
        pieces_value(in, &p, arg[1], false, e) && effect_write(in, arg[0].str->s, append, &p, e);
    pieces_fini(&p);
    return ok;
}

static bool bi_exists(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(path_of(arg[0], e) && stream_files(in->stream, arg[0].str->s, interp_span(in), e));
    *out = v_bool(access(arg[0].str->s, F_OK) == 0);
    return true;
}

static bool bi_isdir(Interp *in, const Value *arg, Value *out, LangError *e) {
    struct stat st;
    TRY(path_of(arg[0], e) && stream_files(in->stream, arg[0].str->s, interp_span(in), e));
    *out = v_bool(stat(arg[0].str->s, &st) == 0 && S_ISDIR(st.st_mode));
    return true;
}

static bool bi_glob(Interp *in, const Value *arg, Value *out, LangError *e) {
    glob_t g;
    TRY(path_of(arg[0], e) && stream_files(in->stream, NULL, interp_span(in), e));
    int rc = glob(arg[0].str->s, 0, NULL, &g);
    if (rc && rc != GLOB_NOMATCH)
        return error_set(e, "glob: %s", rc == GLOB_NOSPACE ? "out of memory" : strerror(errno));
    *out = v_list(in, 0);
    for (size_t i = 0; !rc && i < g.gl_pathc; i++) list_push(out->list, v_cstr(g.gl_pathv[i]));
    if (!rc) globfree(&g);
    return true;
}

static bool bi_shell(Interp *in, const Value *arg, Value *out, LangError *e) {
    TRY(path_of(arg[0], e) && stream_files(in->stream, NULL, interp_span(in), e));
    stream_flush(in->stream); /* the workers go on meanwhile */
    fflush(NULL);
    FILE *f = popen(arg[0].str->s, "r");
    if (!f) return error_set(e, "shell: %s", strerror(errno));
    Bytes b = {0};
    bool ok = drain(f, "the command's output", &b, e);
    int rc = pclose(f);
    if (ok && rc != 0) {
        bool is_signal = WIFSIGNALED(rc);
        ok = error_set(e, "shell: '%.200s' %s %d", arg[0].str->s,
                       is_signal ? "was ended by signal" : "gave exit code",
                       is_signal ? WTERMSIG(rc) : WEXITSTATUS(rc));
    }
    return give_bytes(ok, &b, out);
}

static bool bi_date(Interp *in, const Value *arg, Value *out, LangError *e) {
    char buf[512];
    time_t now = time(NULL);
    struct tm tm;
    TRY(want_kind(arg[0], V_STR, "date's format must be a string", e));
    localtime_r(&now, &tm);
    size_t n = strftime(buf, sizeof buf, arg[0].str->s, &tm);
    if (!n && arg[0].str->n) return error_set(e, "date: the text would be longer than 500 bytes");
    *out = v_str(buf, n);
    return true;
}

static bool bi_input(Interp *in, const Value *arg, Value *out, LangError *e) {
    Bytes b = {0};
    TRY(stream_sync(in->stream, e)); /* earlier prints appear above the prompt */
    bool ok = value_str(in, arg[0], &b, e);
    if (ok) {
        fwrite(b.data, 1, b.n, stdout);
        fflush(stdout); /* a program may be reading it through a pipe */
    }
    bytes_fini(&b);
    TRY(ok);
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = interrupt_count ? -1 : getline(&line, &cap, stdin);
    if (n < 0) {
        free(line);
        clearerr(stdin);
        return not_interrupted(e) && error_set(e, "input: the end of standard input");
    }
    if (n && line[n - 1] == '\n') n--;
    *out = v_str(line, (size_t)n);
    free(line);
    return true;
}

const Builtin builtins_file[] = {
    {"read", "path", bi_read,
     "The text of a file, in UTF-8; load(path) reads tensors and other values."},
    {"lines", "path", bi_lines, "The lines of a file, without line ends."},
    {"write", "path, text, append=false", bi_write,
     "Writes text into a file, in stream order; never waits for tensors in it."},
    {"exists", "path", bi_exists, "True if there is such a file or directory."},
    {"isdir", "path", bi_isdir, "True if there is such a directory.", 0, BI_PURE},
    {"glob", "pattern", bi_glob, "The paths that match, sorted."},
    {"shell", "command", bi_shell, "What the command prints; an error if it fails."},
    {"date", "format=\"%Y-%m-%d %H:%M:%S\"", bi_date, "The local date and time as text."},
    {"input", "prompt=\"\"", bi_input, "Shows the prompt and reads a line from standard input."},
    {NULL}};
