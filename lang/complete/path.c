/* path.c: completion of file names, and of the options of a script.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/path.h"
#include "lang/builtin/args.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATHS_MAX = 10000, SCRIPT_MAX = 1 << 20 };

/* Appends a path as a string has it between these quotes; 0: as it is; ' ': as a shell has it. */
static void put_quoted(const char *s, char quote, Bytes *out) {
    for (; *s; s++) {
        bool is_special = quote == ' ' ? strchr(" \t\"'\\", *s) != NULL : *s == '\\' || *s == quote;
        if (quote && is_special) bytes_putc(out, '\\');
        bytes_putc(out, *s);
    }
}

/* The path that a string's text means: without its backslashes. */
static char *unquoted(const char *s, size_t n, char quote) {
    Bytes b = {0};
    for (size_t i = 0; i < n; i++) {
        if (quote && s[i] == '\\' && i + 1 < n) i++;
        bytes_putc(&b, s[i]);
    }
    return b.data ? b.data : xstrdup("");
}

static bool has_extension(const char *name, const char *extension) {
    size_t n = strlen(name), n_ext = extension ? strlen(extension) : 0;
    return n > n_ext && !strcmp(name + n - n_ext, extension ? extension : "");
}

static bool has_control(const char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f) return true;
    return false;
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const Candidate *)a)->text, ((const Candidate *)b)->text);
}

/* Offers the entry `name` of the directory `place`, which the text calls `path`. */
static void offer_entry(Completion *out, const char *place, const char *path, const char *name,
                        const char *extension, char quote) {
    struct stat st;
    Bytes full = {0}, text = {0};
    bytes_printf(&full, "%s%s", place, name);
    bool is_dir = !stat(full.data, &st) && S_ISDIR(st.st_mode);
    full.n = 0;
    bytes_printf(&full, "%s%s", path, name);
    put_quoted(full.data, quote, &text);
    Candidate c = {.text = text.data,
                   .after = is_dir ? "/" : "",
                   .hint = "",
                   .kind = is_dir ? CANDIDATE_DIRECTORY : CANDIDATE_FILE};
    if (is_dir || has_extension(name, extension)) completion_offer(out, "", 0, &c);
    bytes_fini(&full);
    bytes_fini(&text);
}

void complete_path(const char *prefix, size_t n, const char *extension, char quote,
                   Completion *out) {
    char *path = unquoted(prefix, n, quote), *slash = strrchr(path, '/');
    char *name = xstrdup(slash ? slash + 1 : path);
    size_t n_name = strlen(name);
    if (slash) slash[1] = '\0';
    if (!slash) *path = '\0';
    const char *home = quote == ' ' && !strncmp(path, "~/", 2) ? getenv("HOME") : NULL;
    Bytes place = {0}; /* the directory of `path`; ~ is the home directory in commands */
    bytes_printf(&place, "%s%s", home ? home : *path ? path : "./", home ? path + 1 : "");
    DIR *dir = opendir(place.data);
    size_t seen = 0;
    for (struct dirent *d; dir && seen < PATHS_MAX && (d = readdir(dir)); seen++) {
        bool is_hidden = d->d_name[0] == '.' && name[0] != '.';
        bool is_link = !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..");
        if (is_hidden || is_link || strncmp(d->d_name, name, n_name)) continue;
        if (has_control(d->d_name)) continue; /* nobody types it */
        offer_entry(out, place.data, path, d->d_name, extension, quote);
    }
    if (dir) closedir(dir);
    bytes_fini(&place);
    if (out->n > 1) qsort(out->item, out->n, sizeof *out->item, by_text);
    free(name);
    free(path);
}

/* ---- options of scripts ---- */

typedef struct Wanted {
    Completion *out;
    const char *word;
    size_t n;
} Wanted;

static void offer_option(void *ctx, const char *name, const Node *dflt, const Node *help) {
    Wanted *w = ctx;
    Bytes text = {0}, hint = {0};
    size_t n = 0;
    const char *shown = dflt ? span_text(dflt->whole, &n) : NULL;
    bool is_true = dflt && dflt->kind == N_TRUE,
         is_bool = is_true || (dflt && dflt->kind == N_FALSE);
    bytes_printf(&text, "--%s%s", is_true ? "no-" : "", name);
    for (size_t i = 0; i < text.n; i++)
        if (text.data[i] == '_') text.data[i] = '-';
    if (help && help->kind == N_STRING) bytes_add(&hint, help->str, help->n_str);
    if (shown) bytes_printf(&hint, "%s(%.*s)", hint.n ? "  " : "", (int)(n < 40 ? n : 40), shown);
    Candidate c = {.text = text.data,
                   .after = is_bool ? " " : "=",
                   .hint = hint.data,
                   .kind = CANDIDATE_OPTION,
                   .is_own = true};
    completion_offer(w->out, w->word, w->n, &c);
    bytes_fini(&text);
    bytes_fini(&hint);
}

void complete_option(const char *path, const char *prefix, size_t n, Completion *out) {
    Bytes text = {0};
    LangError ignored = {0};
    Wanted w = {.out = out, .word = prefix, .n = n};
    struct stat st;
    bool is_file = !stat(path, &st) && S_ISREG(st.st_mode); /* reading a pipe would wait */
    if (is_file && bytes_read(&text, path, SCRIPT_MAX)) {
        Source src = {.name = path, .text = text.data, .n = text.n, .first_line = 1};
        Program *p = parse_program(&src, NULL, NULL, NULL, &ignored);
        if (p) args_each(p, offer_option, &w);
        program_free(&p);
    }
    bytes_fini(&text);
    if (out->n > 1) qsort(out->item, out->n, sizeof *out->item, by_text);
}
