/* resolve.c: resolves every name to a scope and slot before the program runs,
 * so that the evaluator never looks up a local by name. One walk over the tree. It collects the
 * names that a function assigns first, because they are local in the whole function. Whether a
 * local must be a cell is known only at the function's end; until then its uses are chained through
 * Node.cache. The same walk finds bare uses of a constructor's names in methods, and dead
 * statements.
 * SPDX-License-Identifier: MIT */
#include "lang/syntax/resolve.h"
#include "lang/syntax/parse.h"
#include "runtime/base/map.h"
#include "runtime/inst/op.h"
#include "runtime/base/words.h"
#include <stdlib.h>
#include <string.h>

typedef struct Var {
    const char *name;
    int slot;
    bool is_cell;
    Node *uses; /* chained through cache */
    struct Var *next_all, *next_hidden;
} Var;

typedef struct Capture {
    Var *v;
    bool from_local;
    int slot;
} Capture;

typedef struct Scope {
    AstFn *fn;
    struct Scope *outer;  /* the next scope of a lookup; of a method: the module's outer    */
    struct Scope *module; /* of a method: the constructor, whose names may not be used bare */
    bool is_file;         /* names are global, only comprehension variables are locals      */
    Map vars;             /* name -> Var */
    Var *all, **all_end;  /* in slot order */
    Var *hidden;          /* comprehension variables visible at this point */
    Capture *capture;
    int n_captures, cap;
} Scope;

typedef struct Resolver {
    Program *prog;
    Arena *arena;
    Scope *scope;
    Map defined; /* names that the file level assigns */
    Map escaped; /* names of the file that functions use */
    WarnFn warn;
    void *ctx;
    LangError *e;
} Resolver;

static uint64_t key_of(const void *p) { return (uint64_t)(uintptr_t)p; }

static bool walk(Resolver *r, Node *n);

/* ---- variables ---- */

static Var *var_add(Resolver *r, Scope *s, const char *name) {
    Var *v = arena_zalloc(r->arena, sizeof *v);
    v->name = name;
    v->slot = s->fn->n_slots++;
    *s->all_end = v;
    s->all_end = &v->next_all;
    return v;
}

static Var *declare(Resolver *r, Scope *s, const char *name) {
    Var *v = map_get(&s->vars, key_of(name));
    if (v) return v;
    v = var_add(r, s, name);
    map_put(&s->vars, key_of(name), v);
    return v;
}

static Var *var_in(Scope *s, const char *name) {
    for (Var *v = s->hidden; v; v = v->next_hidden)
        if (v->name == name) return v;
    return s->is_file ? NULL : map_get(&s->vars, key_of(name));
}

/* Returns the index in s's captures of v, a variable of the outer scope `owner`. Adds it if new. */
static int capture_of(Scope *s, Var *v, Scope *owner) {
    for (int k = 0; k < s->n_captures; k++)
        if (s->capture[k].v == v) return k;
    Capture c = {v, s->outer == owner, v->slot};
    if (c.from_local)
        v->is_cell = true;
    else
        c.slot = capture_of(s->outer, v, owner);
    ARRAY_ROOM(s->capture, s->n_captures, s->cap, 8);
    s->capture[s->n_captures] = c;
    return s->n_captures++;
}

static bool constructor_name(Resolver *r, const Node *n, const char *name, const Scope *module) {
    r->e->kind = E_SYNTAX;
    for (int k = 0; k < module->fn->n_params; k++)
        if (module->fn->param[k].name == name)
            return error_at(r->e, n->at, "'%s' is the constructor's: write self.%s", name, name);
    error_at(r->e, n->at, "'%s' is the constructor's: write self.%s", name, name);
    return error_hint(r->e, "keep it as a field in the module's body: self.%s = %s", name, name);
}

/* Resolves a node that uses `name`: a read, a target or a definition. */
static bool bind(Resolver *r, Node *n, const char *name) {
    Scope *s = r->scope, *owner = s;
    Var *v = NULL;
    for (; owner; owner = owner->outer) {
        v = var_in(owner, name);
        if (v) break;
        if (owner->module && !owner->module->is_file) {
            Var *theirs = map_get(&owner->module->vars, key_of(name));
            if (theirs && theirs->slot != owner->module->fn->self_slot)
                return constructor_name(r, n, name, owner->module);
        }
    }
    if (!v) {
        n->scope = SCOPE_GLOBAL;
        if (!s->is_file) map_put(&r->escaped, key_of(name), r);
        return true;
    }
    if (owner != s) {
        n->scope = SCOPE_OUTER;
        n->slot = capture_of(s, v, owner);
        return true;
    }
    n->slot = v->slot;
    n->cache = v->uses;
    v->uses = n;
    return true;
}

/* ---- functions ---- */

static void scope_open(Resolver *r, Scope *s, AstFn *fn, Scope *outer) {
    *s = (Scope){.fn = fn, .outer = outer};
    s->all_end = &s->all;
    r->scope = s;
}

/* Sets the scope of all uses; writes the tables of slots and captures. */
static void scope_close(Resolver *r, Scope *s) {
    AstFn *fn = s->fn;
    int n = fn->n_slots;
    fn->slot_name = arena_zalloc(r->arena, (size_t)(n ? n : 1) * sizeof *fn->slot_name);
    fn->slot_is_cell = arena_zalloc(r->arena, (size_t)(n ? n : 1) * sizeof *fn->slot_is_cell);
    for (Var *v = s->all; v; v = v->next_all) {
        fn->slot_name[v->slot] = v->name;
        fn->slot_is_cell[v->slot] = v->is_cell;
        if (v->slot == fn->self_slot) fn->uses_self = v->uses || v->is_cell;
        for (Node *use = v->uses, *next; use; use = next) {
            next = use->cache;
            use->cache = NULL;
            use->scope = v->is_cell ? SCOPE_CELL : SCOPE_LOCAL;
        }
        if (v->slot < fn->n_params) fn->param[v->slot].is_cell = v->is_cell;
    }
    fn->n_captures = s->n_captures;
    fn->capture =
        arena_zalloc(r->arena, (size_t)(s->n_captures ? s->n_captures : 1) * sizeof *fn->capture);
    for (int k = 0; k < s->n_captures; k++) {
        fn->capture[k].from_local = s->capture[k].from_local;
        fn->capture[k].slot = s->capture[k].slot;
    }
    free(s->capture);
    map_fini(&s->vars);
}

/* Frees s after an error. Uses stay chained: the tree is not run. */
static void scope_drop(Scope *s) {
    free(s->capture);
    map_fini(&s->vars);
}

typedef void (*NameFn)(Resolver *r, const char *name);

static void target_names(Resolver *r, const Node *n, NameFn f) {
    if (n->kind == N_NAME)
        f(r, n->str);
    else if (n->kind == N_LIST)
        for (uint32_t k = 0; k < n->n_kids; k++) target_names(r, n->kid[k], f);
}

/* Calls f for each name that the statements below n assign; does not enter functions. */
static void assigned_names(Resolver *r, const Node *n, NameFn f) {
    switch (n->kind) {
    case N_ASSIGN:
        for (uint32_t k = 0; k + 1 < n->n_kids; k++) target_names(r, n->kid[k], f);
        return;
    case N_FOR:
        target_names(r, n->kid[0], f);
        assigned_names(r, n->kid[2], f);
        return;
    case N_FN_STMT:
        if (!n->fn->is_method) f(r, n->fn->name);
        return;
    case N_MODULE: f(r, n->fn->name); return;
    case N_IMPORT: f(r, n->as); return;
    case N_BLOCK:
    case N_IF:
    case N_WHILE:
    case N_SIGNAL:
    case N_NO_GRAD:
    case N_TIME:
        for (uint32_t k = 0; k < n->n_kids; k++)
            if (n->kid[k]) assigned_names(r, n->kid[k], f);
        return;
    default: return;
    }
}
static void declare_here(Resolver *r, const char *name) { declare(r, r->scope, name); }
static void note_defined(Resolver *r, const char *name) {
    map_put(&r->defined, key_of(name), &r->defined);
}

/* Gives the first slots to parameters, the next one to self. A default does not see its own
 * parameter and later ones. */
static bool parameters(Resolver *r, Scope *s) {
    AstFn *fn = s->fn;
    for (int k = 0; k < fn->n_params; k++) var_add(r, s, fn->param[k].name);
    Var *v = s->all;
    if (fn->is_module || fn->is_method) fn->self_slot = declare(r, s, intern("self", 4))->slot;
    for (int k = 0; k < fn->n_params; k++, v = v->next_all) {
        if (fn->param[k].dflt) TRY(walk(r, fn->param[k].dflt));
        fn->param[k].slot = v->slot;
        map_put(&s->vars, key_of(v->name), v);
    }
    return true;
}

/* Marks the last statements of a function, whose values might be meant as its result. */
static void mark_last(Node *n) {
    if (n->kind == N_EXPR_STMT) n->kid[0]->flag |= NODE_LAST;
    if (n->kind == N_BLOCK && n->n_kids) mark_last(n->kid[n->n_kids - 1]);
    if (n->kind == N_SIGNAL || n->kind == N_NO_GRAD || n->kind == N_TIME)
        mark_last(n->kid[n->n_kids - 1]);
    for (uint32_t k = 0; n->kind == N_IF && k < n->n_kids; k++)
        if (k % 2 || k + 1 == n->n_kids) mark_last(n->kid[k]);
}

static bool function(Resolver *r, AstFn *fn) {
    Scope *around = r->scope, *outer = fn->is_method ? around->outer : around, s;
    scope_open(r, &s, fn, outer);
    s.module = fn->is_method ? around : NULL;
    fn->outer = outer && !outer->is_file ? outer->fn : NULL;
    bool ok = parameters(r, &s);
    if (!fn->is_expr && !fn->is_module) mark_last(fn->body);
    if (ok && !fn->is_expr) assigned_names(r, fn->body, declare_here);
    ok = ok && walk(r, fn->body);
    if (ok)
        scope_close(r, &s);
    else
        scope_drop(&s);
    if (ok && !r->prog->src->is_prelude && !fn->is_expr) unread_writes(fn, fn->body, NULL);
    r->scope = around;
    return ok;
}

/* ---- comprehensions ---- */

static void hide_targets(Resolver *r, Node *n) {
    Scope *s = r->scope;
    if (n->kind == N_LIST) {
        for (uint32_t k = 0; k < n->n_kids; k++) hide_targets(r, n->kid[k]);
        return;
    }
    Var *v = var_add(r, s, n->str);
    v->next_hidden = s->hidden;
    s->hidden = v;
}

/* An iterable sees the variables of the loops before it; element and conditions see all. */
static bool comprehension(Resolver *r, Node *n) {
    uint32_t first = n->kind == N_MAPCOMP ? 2 : 1;
    Scope *s = r->scope;
    Var *hidden = s->hidden;
    bool ok = true;
    for (uint32_t k = first; ok && k < n->n_kids; k += 3) {
        ok = walk(r, n->kid[k + 1]);
        hide_targets(r, n->kid[k]);
        ok = ok && walk(r, n->kid[k]) && (!n->kid[k + 2] || walk(r, n->kid[k + 2]));
    }
    for (uint32_t k = 0; ok && k < first; k++) ok = walk(r, n->kid[k]);
    s->hidden = hidden;
    return ok;
}

/* ---- dead statements ---- */

static bool is_tensor_function(Resolver *r, const char *name) {
    static const char composed[] =
        "clamp mean var std softmax log_softmax flatten transpose squeeze unsqueeze masked_fill "
        "norm logsumexp tril triu flip roll stack leaky_relu detach cumprod one_hot";
    if (map_get(&r->defined, key_of(name))) return false;
    if (words_have(composed, name, strlen(name))) return true;
    Op op = op_find(name, strlen(name));
    if (op == OP_COUNT || op == OP_SORT || op == OP_INDEX || op == OP_ADD)
        return false; /* these are methods of lists and sets, too */
    OpClass c = op_info[op].class_;
    return c == CLASS_MAP || c == CLASS_REDUCE || c == CLASS_VIEW || c == CLASS_KERNEL;
}

const Node *unused_target(const Node *n) {
    const Node *a = NULL;
    if (n->kind == N_CALL && n->kid[0]->kind == N_FIELD) a = n->kid[0]->kid[0];
    if (a && a->kind == N_NAME && words_have("F nn gt linalg optim", a->str, strlen(a->str)))
        a = NULL; /* F.relu(x) is not meant to change F */
    if (a) return a->kind == N_NAME ? a : NULL;
    if (n->kind == N_CALL && n->n_kids > 1)
        a = n->kid[1];
    else if (n->kind == N_BINARY)
        a = n->kid[0];
    return a && a->kind == N_NAME ? a : NULL;
}

void unused_warning(const Node *n, bool is_same_kind, LangError *w) {
    error_at(w, n->whole, "result not used");
    const Node *target = is_same_kind ? unused_target(n) : NULL;
    size_t len, n_right = 0, n_op = 0;
    const char *text = span_text(n->whole, &len), *op = NULL;
    const char *right = n->kind == N_BINARY ? span_text(n->kid[1]->whole, &n_right) : NULL;
    if (right) op = span_text(n->at, &n_op);
    if (!text || len >= 60) return;
    if (n->flag & NODE_LAST)
        error_hint(w, "return %.*s", (int)len, text);
    else if (target && right && n->tok < O_EQ && n_op)
        error_hint(w, "did you mean %s %.*s= %.*s?", target->str, (int)n_op, op, (int)n_right,
                   right);
    else if (target && right && n->tok == O_EQ &&
             (n_right != strlen(target->str) || memcmp(right, target->str, n_right)))
        error_hint(w, "did you mean %s = %.*s?", target->str, (int)n_right, right);
    else if (target && !right)
        error_hint(w, "did you mean %s = %.*s?", target->str, (int)len, text);
}

/* Handles an expression statement. Warns if it is an operator or names a tensor function, because
 * these have no side effects. Marks other expressions NODE_UNUSED for the evaluator. */
static void dead_statement(Resolver *r, Node *n) {
    bool pure = n->kind == N_UNARY || n->kind == N_BINARY || n->kind == N_CHAIN;
    if (!r->warn) return;
    if (n->kind == N_CALL) {
        const Node *f = n->kid[0];
        bool named = f->kind == N_FIELD || (f->kind == N_NAME && f->scope == SCOPE_GLOBAL);
        pure = named && is_tensor_function(r, f->str);
    }
    if (!pure) {
        n->flag |= NODE_UNUSED;
        return;
    }
    LangError w = {.kind = E_RUN};
    unused_warning(n, true, &w);
    r->warn(r->ctx, &w);
}

/* True if the prompt shows the value of statement n: outside loops, ifs and functions. */
static bool is_echoed(const Resolver *r, const Node *n) {
    const Node *body = r->prog->body;
    if (!r->prog->src->is_prompt || !r->scope->is_file) return false;
    for (uint32_t k = 0; k < body->n_kids; k++)
        if (body->kid[k] == n) return true;
    return false;
}

/* ---- the walk ---- */

static bool walk_kids(Resolver *r, Node *n) {
    for (uint32_t k = 0; k < n->n_kids; k++)
        if (n->kid[k]) TRY(walk(r, n->kid[k]));
    return true;
}

/* Resolves an assignment target. */
static bool target(Resolver *r, Node *n) {
    if (n->kind == N_NAME) {
        if (n->str == intern("self", 4) && r->scope->fn->self_slot >= 0) {
            r->e->kind = E_SYNTAX;
            error_at(r->e, n->at, "'self' is the object itself");
            return error_hint(r->e, "self.name = …");
        }
        return bind(r, n, n->str);
    }
    if (n->kind == N_LIST) {
        for (uint32_t k = 0; k < n->n_kids; k++) TRY(target(r, n->kid[k]));
        return true;
    }
    if (n->kind != N_INDEX || n->kid[0]->kind != N_NAME) return walk_kids(r, n);
    Node *base = n->kid[0];
    TRY(bind(r, base, base->str));
    for (uint32_t k = 1; k < n->n_kids; k++) TRY(walk(r, n->kid[k]));
    return true;
}

static bool assign(Resolver *r, Node *n) {
    uint32_t last = n->n_kids - 1;
    TRY(walk(r, n->kid[last]));
    for (uint32_t k = 0; k < last; k++) TRY(target(r, n->kid[k]));
    return true;
}

static bool loop(Resolver *r, Node *n) {
    if (n->kind == N_WHILE) return walk(r, n->kid[0]) && walk(r, n->kid[1]);
    return walk(r, n->kid[1]) && target(r, n->kid[0]) && walk(r, n->kid[2]);
}

static bool walk(Resolver *r, Node *n) {
    switch (n->kind) {
    case N_NAME: return bind(r, n, n->str);
    case N_LISTCOMP:
    case N_SETCOMP:
    case N_MAPCOMP: return comprehension(r, n);
    case N_FN: return function(r, n->fn);
    case N_FN_STMT:
    case N_MODULE:
        if (n->fn->is_method)
            n->scope = SCOPE_GLOBAL;
        else
            TRY(bind(r, n, n->fn->name));
        return function(r, n->fn);
    case N_IMPORT: return bind(r, n, n->as);
    case N_ASSIGN: return assign(r, n);
    case N_AUGASSIGN:
        return walk(r, n->kid[1]) &&
               (n->kid[0]->kind == N_NAME ? walk(r, n->kid[0]) : target(r, n->kid[0]));
    case N_FOR:
    case N_WHILE: return loop(r, n);
    case N_EXPR_STMT:
        TRY(walk_kids(r, n));
        if (!is_echoed(r, n)) dead_statement(r, n->kid[0]);
        return true;
    default: return walk_kids(r, n);
    }
}

bool resolve_program(Program *p, WarnFn warn, void *ctx, LangError *e) {
    Resolver r = {.prog = p, .arena = &p->arena, .warn = warn, .ctx = ctx, .e = e};
    Scope file;
    p->top = arena_zalloc(&p->arena, sizeof *p->top);
    p->top->name = "";
    p->top->is_file = true;
    p->top->body = p->body;
    p->top->self_slot = -1;
    p->top->at = p->top->end = p->body->at;
    scope_open(&r, &file, p->top, NULL);
    file.is_file = true;
    assigned_names(&r, p->body, note_defined);
    bool ok = walk(&r, p->body);
    if (ok)
        scope_close(&r, &file);
    else
        scope_drop(&file);
    if (ok && !p->src->is_prompt && !p->src->is_prelude) unread_writes(p->top, p->body, &r.escaped);
    map_fini(&r.defined);
    map_fini(&r.escaped);
    return ok;
}
