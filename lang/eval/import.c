/* import.c: global names, `import`, and the prelude, whose files are parsed when one of their names
 * is first used. A file runs once. Sources, programs and constants live until the interpreter is
 * freed, because functions and error messages point into them.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/import.h"
#include "lang/error/habit.h"
#include "lang/error/stack.h"
#include "lang/eval/call.h"
#include "lang/eval/eval.h"
#include "lang/eval/prelude.h"
#include "lang/eval/run.h"
#include "lang/eval/trace.h"
#include "lang/tensor/signal.h"
#include "lang/value/mapv.h"
#include "runtime/base/map.h"
#include "runtime/base/words.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SOURCE_MAX = 64 << 20 }; /* size limit of a source file, in bytes */

/* A file of the program, identified by its real path or "prelude:nn.gt". */
typedef struct File {
    char *path;
    Globals *globals;
    bool is_running;
    struct File *next;
    struct stat seen;   /* as it was read */
    struct File **uses; /* the files that it imports */
    size_t n_uses;
} File;

typedef struct Modules {
    Program **program;
    size_t n_programs, cap_programs;
    Value *kept;
    size_t n_kept, cap_kept; /* constants of programs */
    Map names;               /* interned name -> Str  */
    File *files;
    Globals *globals;         /* all, linked           */
    Value spaces;             /* nn, gt ...: name -> V_MAP */
    Map prelude;              /* interned name of a prelude function -> index of its file + 1 */
    NameList prelude_names;   /* the same names in the order of the text */
    NameList prelude_methods; /* those of functions whose first argument may be a tensor */
    bool has_prelude;
} Modules;

/* ---- names at file level ---- */

Globals *globals_new(Interp *in, bool is_main, bool is_prelude) {
    Globals *g = xcalloc(1, sizeof *g);
    g->is_prelude = is_prelude;
    g->next = in->modules->globals;
    in->modules->globals = g;
    globals_var(g, intern("main", 4))->v = v_bool(is_main);
    return g;
}

GlobalVar *globals_var(Globals *g, const char *interned) {
    GlobalVar *v = map_get(&g->by_name, (uint64_t)(uintptr_t)interned);
    if (v) return v;
    v = xmalloc(sizeof *v);
    *v = (GlobalVar){interned, {.kind = V_UNDEF}, {.kind = V_UNDEF}, 0};
    ARRAY_PUSH(g->var, g->n, g->cap, 32, v);
    map_put(&g->by_name, (uint64_t)(uintptr_t)interned, v);
    return v;
}

bool interp_global(Interp *in, size_t i, const char **name, Value *v) {
    const Globals *g = in->globals;
    for (size_t k = 0; k < g->n; k++) {
        const GlobalVar *var = g->var[k];
        if (var->v.kind == V_UNDEF || !strcmp(var->name, "main") || i--) continue;
        *name = var->name;
        *v = var->v;
        return true;
    }
    return false;
}

Value name_str(Interp *in, const char *interned) {
    Map *names = &in->modules->names;
    Str *s = map_get(names, (uint64_t)(uintptr_t)interned);
    if (!s) {
        s = v_cstr(interned).str;
        map_put(names, (uint64_t)(uintptr_t)interned, s);
    }
    return (Value){.kind = V_STR, .str = s};
}

void keep_value(Interp *in, Value v) {
    Modules *m = in->modules;
    ARRAY_PUSH(m->kept, m->n_kept, m->cap_kept, 64, v);
}

/* ---- programs ---- */

static void keep_program(Interp *in, Program *p) {
    Modules *m = in->modules;
    ARRAY_PUSH(m->program, m->n_programs, m->cap_programs, 16, p);
}

/* Drops the constants of n's strings, which keep_value numbered from `from` on. Goes through n
 * backwards, so that each search, from the end, is short. */
static void forget_strings(Modules *m, size_t from, const Node *n) {
    if (!n) return;
    for (uint32_t k = n->n_kids; k-- > 0;) forget_strings(m, from, n->kid[k]);
    for (size_t i = m->n_kept; n->cache && n->kind == N_STRING && i-- > from;) {
        if (m->kept[i].str != n->cache) continue;
        value_drop(m->kept[i]);
        m->kept[i] = m->kept[--m->n_kept];
        break;
    }
}

static bool has_functions(const Node *n) {
    if (!n) return false;
    bool has = n->kind == N_FN || n->kind == N_FN_STMT || n->kind == N_MODULE;
    for (uint32_t k = 0; k < n->n_kids && !has; k++) has = has_functions(n->kid[k]);
    return has;
}

/* At the prompt: frees a statement that has run and left nothing that points to it: neither a
 * function nor a call whose work may still fail. */
static void forget_program(Interp *in, Program *p, size_t n_kept, uint64_t n_traces) {
    Modules *m = in->modules;
    bool is_last = m->n_programs && m->program[m->n_programs - 1] == p;
    if (!is_last || trace_count(in) != n_traces || has_functions(p->body)) return;
    forget_strings(m, n_kept, p->body);
    m->n_programs--;
    program_free(&p);
}

/* At the prompt: shows the value of a statement and keeps it as `ans`. Skips none, except for -p
 * with --format. */
static bool echo_value(Interp *in, Node *n, LangError *e) {
    Value v;
    TRY(eval(in, n->kid[0], &v, e));
    if (v.kind == V_NONE && (in->config.interactive || in->output == OUTPUT_PLAIN)) return true;
    in->at = n->kid[0];
    if (n->flag & 1) warn_unused(in, n->kid[0], v); /* hidden by a semicolon */
    bool ok = check_alone(in, n->kid[0], v, e) && (n->flag & 1 || interp_echo(in, v, e));
    GlobalVar *ans = globals_var(in->frame->globals, intern("ans", 3));
    GlobalVar *last = globals_var(in->frame->globals, intern("_", 1));
    if (!last->set_line)
        value_set(&last->v, value_ref(v)); /* unless the program has a variable `_` */
    value_set(&ans->v, v);
    in->n_answers++;
    return at_node(in, n->kid[0], ok, e);
}

/* Returns ok, or false if the statement read lost bytes of a mapped file. That error then replaces
 * any other in e, but not an interrupt. */
static bool is_whole(Interp *in, const Node *n, bool ok, LangError *e) {
    LangError lost = {0};
    if (!file_map_news || (!ok && e->kind == E_INTERRUPT) || eval_is_whole(in, n, &lost)) return ok;
    *e = lost;
    return false;
}

bool run_program(Interp *in, Program *p, Globals *g, bool echo, LangError *e) {
    int depth = signal_depth(in), no_grad = in->no_grad_depth;
    const Node *at = in->at;
    size_t n_kept = in->modules->n_kept;
    uint64_t n_traces = trace_count(in);
    keep_program(in, p);
    Value *base = in->stack->top;
    int n_slots = p->top ? p->top->n_slots : 0;
    TRY(stack_room(in, (size_t)n_slots, e));
    for (int i = 0; i < n_slots; i++) {
        base[i] = (Value){.kind = V_UNDEF};
        if (p->top->slot_is_cell && p->top->slot_is_cell[i]) {
            Cell *c = container_new(in, V_CELL, sizeof *c);
            c->v.kind = V_UNDEF;
            base[i] = (Value){.kind = V_CELL, .cell = c};
        }
    }
    in->stack->top += n_slots;
    const Frame *up = in->frame;
    Frame frame = {.up = in->frame, .fn = p->top, .globals = g, .slot = base, .call = at};
    in->frame = &frame;
    bool ok = true;
    for (uint32_t i = 0; i < p->body->n_kids && ok; i++) {
        Node *n = p->body->kid[i];
        const Node *next = i + 1 < p->body->n_kids ? p->body->kid[i + 1] : NULL;
        bool is_main = up == NULL, is_expr = n->kind == N_EXPR_STMT;
        if (is_main && in->n_dead_warnings && !is_expr) interp_warn_until(in, next);
        ok = echo && is_expr ? echo_value(in, n, e) : exec(in, n, e) != FLOW_ERROR;
        ok = is_whole(in, n, ok, e);
        stream_step(in->stream);
        if (is_main && in->n_dead_warnings && is_expr && ok) interp_warn_until(in, next);
    }
    if (!ok && up) trace_leave(in, p->top, at, e);
    in->frame = frame.up;
    in->at = at;
    if (ok && up && !g->is_prelude) signal_warn_open(in, depth);
    for (int i = 0; i < n_slots; i++) value_drop(base[i]);
    value_drop(frame.result);
    in->stack->top = base;
    in->no_grad_depth = no_grad;
    if (!ok || !echo) signal_unwind(in, depth); /* at the prompt, scopes last until signal.exit */
    if (echo && !up && in->config.interactive) forget_program(in, p, n_kept, n_traces);
    return ok;
}

/* Parses and runs a text as a file; its names go into *g. */
static bool run_text(Interp *in, const char *name, const char *text, size_t n, bool is_prelude,
                     Globals *g, LangError *e) {
    Source *src = interp_source(in, name, text, n, 1, is_prelude);
    char open_with = 0;
    Program *p = parse_program(src, is_prelude ? NULL : interp_warn_ctx, in, &open_with, e);
    if (!p) {
        if (e->kind == E_INCOMPLETE) e->kind = E_SYNTAX;
        ErrorFrame f = {.name = intern(name, strlen(name)), .call = in->at->at, .is_file = true};
        if (!is_prelude) error_frame(e, &f);
        return false;
    }
    return run_program(in, p, g, false, e);
}

/* ---- files ---- */

static File *file_find(Modules *m, const char *path) {
    for (File *f = m->files; f; f = f->next)
        if (!strcmp(f->path, path)) return f;
    return NULL;
}

static File *file_add(Interp *in, const char *path, bool is_prelude) {
    File *f = xmalloc(sizeof *f);
    *f = (File){.path = xstrdup(path),
                .globals = globals_new(in, false, is_prelude),
                .is_running = true,
                .next = in->modules->files};
    in->modules->files = f;
    return f;
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Finds name (if it has a dot) or name.gt in dir (n bytes, 0 for the current directory). Writes
 * path, of PATH_MAX bytes. */
static bool find_in(const char *dir, size_t n, const char *name, char *path) {
    const char *slash = n && dir[n - 1] != '/' ? "/" : "";
    for (int with_ext = 0; with_ext < 2; with_ext++) {
        int len =
            snprintf(path, PATH_MAX, "%.*s%s%s%s", (int)n, dir, slash, name, with_ext ? ".gt" : "");
        if (len > 0 && len < PATH_MAX && is_file(path) && (with_ext || strchr(name, '.')))
            return true;
    }
    return false;
}

/* Looks next to the importing file, then in GT_PATH. */
static bool find_file(const Node *n, char *path) {
    const char *from = n->at.src->name, *slash = strrchr(from, '/');
    if (n->str[0] == '/') return find_in("", 0, n->str, path);
    if (find_in(from, slash ? (size_t)(slash - from + 1) : 0, n->str, path)) return true;
    for (const char *p = getenv("GT_PATH"); p && *p;) {
        size_t len = strcspn(p, ":");
        if (len && find_in(p, len, n->str, path)) return true;
        p += len + (p[len] == ':');
    }
    return false;
}

static Value space_new(Interp *in, const char *name, bool has_builtins) {
    Value m = v_map(in);
    m.map->is_space = true;
    m.map->has_builtins = has_builtins;
    m.map->name = name;
    return m;
}

static void space_fill(Interp *in, MapV *space, const Globals *g) {
    for (size_t i = 0; i < g->n; i++) {
        const GlobalVar *var = g->var[i];
        if (var->v.kind != V_UNDEF && var->name[0] != '_' && strcmp(var->name, "main"))
            mapv_put(space, value_ref(name_str(in, var->name)), value_ref(var->v));
    }
}

/* Suggests the file beside the importing one whose name is like n's. Returns false. */
static bool hint_files(const Node *n, LangError *e) {
    const char *from = n->at.src->name, *slash = strrchr(from, '/');
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - from + 1) : 1, slash ? from : ".");
    DIR *dir = opendir(path);
    NameList names = {0};
    for (struct dirent *d; dir && names.n < 1000 && (d = readdir(dir));) {
        size_t len = strlen(d->d_name);
        if (len > 3 && !strcmp(d->d_name + len - 3, ".gt"))
            names_add(&names, intern(d->d_name, len - 3));
    }
    if (dir) closedir(dir);
    const char *near = nearest_name(n->str, strlen(n->str), names.name, names.n);
    if (near) error_hint(e, "did you mean '%s'?", near);
    names_fini(&names);
    return false;
}

static bool not_found(Interp *in, const Node *n, LangError *e) {
    fail_at(in, n, e, "there is no file %s%s beside this one or in GT_PATH", n->str,
            strchr(n->str, '.') ? "" : ".gt");
    const char *habit = habit_import(n->str);
    if (habit) return error_hint(e, "%s", habit);
    return hint_files(n, e);
}

bool import_find(Interp *in, const Node *n, char *path, LangError *e) {
    return find_file(n, path) || not_found(in, n, e);
}

/* True if the file, or one that it imports, is not what it was when it was read. */
static bool has_changed(const File *f) {
    struct stat now;
    const struct stat *was = &f->seen;
    if (f->is_running) return false;
    if (stat(f->path, &now) || now.st_size != was->st_size || now.st_ino != was->st_ino ||
        now.st_mtim.tv_sec != was->st_mtim.tv_sec || now.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
        return true;
    for (size_t i = 0; i < f->n_uses; i++)
        if (has_changed(f->uses[i])) return true;
    return false;
}

/* The running file imports f. */
static void add_use(Interp *in, File *f) {
    File *by = in->modules->files;
    while (by && (by->globals != in->frame->globals || !by->is_running)) by = by->next;
    if (!by || by == f) return;
    for (size_t i = 0; i < by->n_uses; i++)
        if (by->uses[i] == f) return;
    by->uses = xrealloc(by->uses, (by->n_uses + 1) * sizeof by->uses[0]);
    by->uses[by->n_uses++] = f;
}

bool import_statement(Interp *in, Node *n, Value *out, LangError *e) {
    char path[PATH_MAX], real[PATH_MAX];
    if (!find_file(n, path)) {
        TRY(prelude_space(in, intern(n->str, strlen(n->str)), out, e));
        return out->kind != V_UNDEF || not_found(in, n, e);
    }
    if (!realpath(path, real)) return fail_at(in, n, e, "%s: %s", path, strerror(errno));
    File *f = file_find(in->modules, real);
    if (f && f->is_running)
        return fail_at(in, n, e, "circular import: %s is still being loaded", path);
    if (f && in->config.interactive && has_changed(f)) {
        f->path[0] = 0; /* its values stay, for those who have them */
        f = NULL;
    }
    if (!f) {
        Bytes text = {0};
        if (!bytes_read(&text, path, SOURCE_MAX)) {
            bytes_fini(&text);
            return fail_at(in, n, e, "cannot read %s: %s", path, strerror(errno));
        }
        f = file_add(in, real, false);
        stat(real, &f->seen);
        in->at = n;
        bool ok = run_text(in, path, text.data, text.n, false, f->globals, e);
        f->is_running = false;
        bytes_fini(&text);
        if (!ok) { /* allow a second import, after the file was corrected */
            f->path[0] = 0;
            return false;
        }
    }
    add_use(in, f);
    *out = space_new(in, n->as, false);
    space_fill(in, out->map, f->globals);
    return true;
}

void import_main(Interp *in, const char *path) {
    char real[PATH_MAX];
    if (!realpath(path, real) || file_find(in->modules, real)) return;
    File *f = xmalloc(sizeof *f);
    *f = (File){.path = xstrdup(real),
                .globals = in->globals,
                .is_running = true,
                .next = in->modules->files};
    in->modules->files = f;
}

/* ---- the prelude ---- */

/* True if file `name` belongs to `space`: the files in a directory belong to the namespace of that
 * name ("nn/layers.gt" to nn, "nn/init/x.gt" to nn.init). Files outside of directories define
 * functions that are visible everywhere. */
static bool is_space_file(const char *name, const char *space) {
    size_t n = strlen(space);
    return !strncmp(name, space, n) && name[n] == '/' && !strchr(name + n + 1, '/');
}

/* True if the first parameter, at s, takes a tensor. These do not, by their names: several tensors,
 * modules, functions, files, sizes and dtypes. */
static bool takes_tensor(const char *s) {
    static const char others[] = "f h keys xs tensors params m row path name n dtype";
    size_t n = strcspn(s, " ,=)");
    return n && *s != '*' && !words_have(others, s, n);
}

/* Indexes which prelude file defines each name that is visible everywhere: the lines that begin
 * with fn NAME or module NAME. */
static void index_prelude(Modules *m) {
    m->has_prelude = true;
    for (int i = 0; prelude_files[i].name; i++) {
        if (strchr(prelude_files[i].name, '/')) continue;
        for (const char *p = prelude_files[i].text; p && *p;
             p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
            size_t skip = !strncmp(p, "fn ", 3) ? 3 : !strncmp(p, "module ", 7) ? 7 : 0;
            if (!skip) continue;
            size_t n = strcspn(p + skip, "( \n");
            if (p[skip] == '_') continue;
            const char *name = intern(p + skip, n);
            map_put(&m->prelude, (uint64_t)(uintptr_t)name, (void *)(uintptr_t)(i + 1));
            names_add(&m->prelude_names, name);
            bool is_fn = skip == 3 && islower((unsigned char)*name);
            if (is_fn && takes_tensor(p + skip + n + 1)) names_add(&m->prelude_methods, name);
        }
    }
}

/* Runs prelude file i unless it has run already. */
static bool load_prelude(Interp *in, int i, Globals **g, LangError *e) {
    char path[128];
    snprintf(path, sizeof path, "prelude:%s", prelude_files[i].name);
    File *f = file_find(in->modules, path);
    if (!f) {
        f = file_add(in, path, true);
        int no_grad = in->no_grad_depth;
        bool ok = run_text(in, prelude_files[i].name, prelude_files[i].text,
                           strlen(prelude_files[i].text), true, f->globals, e);
        in->no_grad_depth = no_grad;
        f->is_running = false;
        TRY(ok);
    }
    *g = f->globals;
    return true;
}

bool prelude_value(Interp *in, const char *interned, Value *out, LangError *e) {
    Modules *m = in->modules;
    Globals *g;
    *out = (Value){.kind = V_UNDEF};
    if (!m->has_prelude) index_prelude(m);
    uintptr_t i = (uintptr_t)map_get(&m->prelude, (uint64_t)(uintptr_t)interned);
    if (!i) return true;
    TRY(load_prelude(in, (int)i - 1, &g, e));
    *out = value_ref(globals_var(g, interned)->v);
    return true;
}

/* Returns the namespace of a directory: "nn.init" for "nn/init". */
static const char *dotted_name(const char *dir) {
    char name[128];
    snprintf(name, sizeof name, "%s", dir);
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '.';
    return intern(name, strlen(name));
}

/* Makes a namespace of the names in all prelude files of directory `dir`, with a namespace inside
 * for each of its directories. *out stays V_UNDEF if there is no such directory. */
static bool space_of_files(Interp *in, const char *dir, Value *out, LangError *e) {
    size_t n = strlen(dir);
    for (int i = 0; prelude_files[i].name; i++) {
        const char *name = prelude_files[i].name;
        if (strncmp(name, dir, n) || name[n] != '/') continue;
        if (out->kind == V_UNDEF) *out = space_new(in, dotted_name(dir), true);
        if (is_space_file(name, dir)) {
            Globals *g;
            TRY(load_prelude(in, i, &g, e));
            space_fill(in, out->map, g);
            continue;
        }
        const char *rest = name + n + 1;
        Value key = name_str(in, intern(rest, strcspn(rest, "/")));
        if (map_find(out->map, key)) continue;
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, key.str->s);
        Value inner = {.kind = V_UNDEF};
        bool ok = space_of_files(in, path, &inner, e);
        mapv_put(out->map, value_ref(key), inner);
        TRY(ok);
    }
    return true;
}

bool prelude_space(Interp *in, const char *interned, Value *out, LangError *e) {
    Modules *m = in->modules;
    const Value *known = map_find(m->spaces.map, name_str(in, interned));
    *out = (Value){.kind = V_UNDEF};
    if (known) {
        *out = value_ref(*known);
        return true;
    }
    if (words_have("gt signal", interned, strlen(interned)))
        *out = space_new(in, interned, strcmp(interned, "signal") != 0);
    if (out->kind == V_UNDEF) TRY(space_of_files(in, interned, out, e));
    if (out->kind == V_UNDEF) return true;
    if (!strcmp(interned, "nn")) {
        Value f;
        TRY(prelude_space(in, intern("F", 1), &f, e));
        mapv_put(out->map, value_ref(name_str(in, intern("functional", 10))), f);
    }
    mapv_put(m->spaces.map, value_ref(name_str(in, interned)), value_ref(*out));
    return true;
}

bool prelude_has_space(const char *name) {
    size_t n = strlen(name);
    for (int i = 0; prelude_files[i].name; i++)
        if (!strncmp(prelude_files[i].name, name, n) && prelude_files[i].name[n] == '/')
            return true;
    return false;
}

bool prelude_has(Interp *in, const char *interned) {
    Modules *m = in->modules;
    if (!m->has_prelude) index_prelude(m);
    return map_get(&m->prelude, (uint64_t)(uintptr_t)interned) != NULL;
}

const char *prelude_signature(Interp *in, const char *interned, size_t *n) {
    Modules *m = in->modules;
    char line[80];
    if (!m->has_prelude) index_prelude(m);
    uintptr_t i = (uintptr_t)map_get(&m->prelude, (uint64_t)(uintptr_t)interned);
    if (!i) return NULL;
    for (int k = 0; k < 2; k++) {
        int skip = snprintf(line, sizeof line, "\n%s %s(", k ? "module" : "fn", interned);
        const char *at = strstr(prelude_files[i - 1].text, line);
        if (!at) continue;
        at += skip - 1 - (int)strlen(interned);
        int depth = 0;
        for (*n = 0; at[*n] && (at[*n] != ')' || --depth); ++*n) depth += at[*n] == '(';
        *n += at[*n] == ')';
        return at;
    }
    return NULL;
}

void prelude_names(Interp *in, NameList *l) {
    Modules *m = in->modules;
    if (!m->has_prelude) index_prelude(m);
    for (size_t i = 0; i < m->prelude_names.n; i++) names_add(l, m->prelude_names.name[i]);
}

void prelude_methods(Interp *in, NameList *l) {
    Modules *m = in->modules;
    if (!m->has_prelude) index_prelude(m);
    for (size_t i = 0; i < m->prelude_methods.n; i++) names_add(l, m->prelude_methods.name[i]);
}

/* ---- beginning and end ---- */

void import_init(Interp *in) {
    in->modules = xcalloc(1, sizeof *in->modules);
    in->modules->spaces = v_map(in);
}

void import_fini(Interp *in) {
    Modules *m = in->modules;
    for (Globals *g = m->globals; g; g = g->next)
        for (size_t i = 0; i < g->n; i++) {
            value_set(&g->var[i]->v, (Value){.kind = V_UNDEF});
            value_set(&g->var[i]->builtin, (Value){.kind = V_UNDEF});
        }
    value_set(&m->spaces, v_none());
}

void import_free(Interp *in) {
    Modules *m = in->modules;
    for (Globals *g = m->globals, *next; g; g = next) {
        next = g->next;
        for (size_t i = 0; i < g->n; i++) free(g->var[i]);
        free(g->var);
        map_fini(&g->by_name);
        free(g);
    }
    for (File *f = m->files, *next; f; f = next) {
        next = f->next;
        free(f->path);
        free(f->uses);
        free(f);
    }
    for (size_t i = 0; i < m->n_kept; i++) value_drop(m->kept[i]);
    for (MapItem it = {0}; map_next(&m->names, &it);)
        value_drop((Value){.kind = V_STR, .str = it.value});
    for (size_t i = 0; i < m->n_programs; i++) program_free(&m->program[i]);
    interp_free_sources(in);
    map_fini(&m->names);
    map_fini(&m->prelude);
    names_fini(&m->prelude_names);
    names_fini(&m->prelude_methods);
    free(m->kept);
    free(m->program);
    free(m);
    in->modules = NULL;
}
