/* replay.c: instruction text back into the stream (STREAM 1). Ids of the text are names of tensors here; the stream gives its
 * own. What a live program does through effects (print, write, save ...) goes the same way, so it comes out the same.
 * SPDX-License-Identifier: MIT */
#include "lang/replay.h"
#include "lang/effects.h"
#include "lang/io.h"
#include "lang/show.h"
#include "lang/tensor.h"
#include "runtime/map.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_EVERY = 256 }; /* lines between looks at failures that have arrived */

typedef struct Replay {
    Interp *in;
    const Source *src;
    Arena line;                       /* of the line that is being read       */
    Map tensors;                      /* id of the text -> Tensor *, owned     */
    const char **file; Source **file_src; int n_files; /* sources named by @file:line: names only */
    uint32_t number;
    LangError *e;
} Replay;

bool replay_is_text(const char *text, size_t n) { return n > 4 && !memcmp(text, "gti ", 4); }

/* ---- positions ---- */

static Span here(const Replay *r) { return (Span){r->src, r->number, 1, 0}; }

/* Where the instruction came from, if it says so. */
static Span origin(Replay *r, const InstLine *l) {
    if (!l->file || !l->inst.pos.line) return here(r);
    int k = 0;
    while (k < r->n_files && strcmp(r->file[k], l->file)) k++;
    if (k == r->n_files) {
        r->file = xrealloc(r->file, (size_t)(k + 1) * sizeof *r->file);
        r->file_src = xrealloc(r->file_src, (size_t)(k + 1) * sizeof *r->file_src);
        r->file_src[k] = interp_source(r->in, l->file, "", 0, 1, false);
        r->file[k] = r->file_src[k]->name;
        r->n_files++;
    }
    return (Span){r->file_src[k], l->inst.pos.line, l->inst.pos.col, l->inst.pos.col ? 1 : 0};
}

static bool fail(Replay *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(Replay *r, const char *format, ...) {
    char text[600];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    r->e->kind = E_SYNTAX;
    return error_at(r->e, here(r), "%s", text);
}

/* ---- tensors by id ---- */

/* The line before this one that freed the id, or 0. Only for the error message, so the text is read again. */
static uint32_t freed_at(Replay *r, uint64_t id) {
    const char *s = r->src->text;
    Arena arena = {0};
    uint32_t found = 0;
    for (uint32_t number = 1; number < r->number; number++) {
        size_t n = strcspn(s, "\n");
        InstLine l;
        if (inst_parse(s, n, &arena, &l, NULL) && !l.is_empty && l.inst.op == OP_FREE)
            for (int k = 0; k < l.inst.n_in; k++)
                if (l.inst.in[k].kind == IN_TENSOR && l.inst.in[k].id == id) found = number;
        arena_reset(&arena);
        s += n + 1;
    }
    arena_fini(&arena);
    return found;
}

static Tensor *tensor_of(Replay *r, uint64_t id) {
    Tensor *t = map_get(&r->tensors, id);
    if (t) return t;
    uint32_t line = freed_at(r, id);
    if (line) fail(r, "t%llu was freed at line %u", (unsigned long long)id, line);
    else fail(r, "t%llu is not defined", (unsigned long long)id);
    return NULL;
}

static bool define(Replay *r, const InstLine *l, int k, Handle *h) {
    char want[256], got[256];
    Tensor *t = tensor_new(r->in, h);
    uint64_t id = l->inst.out[k];
    if (map_get(&r->tensors, id)) {
        tensor_unref(t);
        return fail(r, "t%llu is already defined: ids are used once", (unsigned long long)id);
    }
    map_put(&r->tensors, id, t);
    if (l->has_types && !type_equal(&l->types[k], tensor_type(t)))
        return fail(r, "the line says %s, but the result is %s", type_text(&l->types[k], want), type_text(tensor_type(t), got));
    return true;
}

/* Tensors of the operands, those of kind IN_TENSOR; the arena's. */
static bool operands(Replay *r, const Inst *inst, Tensor ***out, int *n) {
    *out = arena_alloc(&r->line, (size_t)(inst->n_in ? inst->n_in : 1) * sizeof **out);
    *n = 0;
    for (int k = 0; k < inst->n_in; k++) {
        if (inst->in[k].kind != IN_TENSOR) continue;
        Tensor *t = tensor_of(r, inst->in[k].id);
        if (!t) return false;
        (*out)[(*n)++] = t;
    }
    return true;
}

/* ---- instructions with results ---- */

static bool compute(Replay *r, const InstLine *l, Span at) {
    const Inst *inst = &l->inst;
    Operand *in = arena_alloc(&r->line, (size_t)(inst->n_in ? inst->n_in : 1) * sizeof *in);
    const Handle **h = arena_zalloc(&r->line, (size_t)(inst->n_in ? inst->n_in : 1) * sizeof *h);
    Handle *out[MAX_OUT] = {NULL};
    int n_out = 0;
    for (int k = 0; k < inst->n_in; k++) {
        in[k] = inst->in[k];
        if (in[k].kind != IN_TENSOR) continue;
        Tensor *t = tensor_of(r, in[k].id);
        if (!t) return false;
        h[k] = t->handle;
        in[k].id = t->handle->id;
    }
    if (inst->op == OP_DATA) {
        TensorType type;
        int n_types;
        Err err = {0};
        if (!inst_infer(inst, NULL, &type, &n_types, &err)) return error_from(r->e, &err);
        out[0] = stream_data(r->in->stream, &type, inst->payload, NULL, at, r->e);
        n_out = 1;
        if (!out[0]) return false;
    } else TRY(stream_op(r->in->stream, inst->op, in, h, inst->n_in, inst->attr, inst->n_attr, at, out, &n_out, r->e));
    bool ok = n_out == inst->n_out;
    if (!ok) fail(r, "'%s' gives %d tensor%s, the line names %d", op_info[inst->op].name, n_out, n_out == 1 ? "" : "s", inst->n_out);
    for (int k = 0; k < n_out; k++) {
        if (ok) ok = define(r, l, k, out[k]);
        else handle_unref(r->in->stream, &out[k]);
    }
    return ok;
}

static bool load(Replay *r, const InstLine *l, Span at) {
    const Attr *path = inst_attr(&l->inst, ATTR_PATH);
    IoValue v;
    Err err = {0};
    if (!path || l->inst.n_out != 1) return fail(r, "load needs a path and one result");
    if (!io_load(path->str, NULL, &v, &err)) return error_from(r->e, &err);
    bool ok = v.kind == IO_TENSOR || fail(r, "%s does not hold one tensor", path->str);
    if (ok) {
        Handle *h = stream_data(r->in->stream, &v.tensor->type, v.tensor->buf->data, v.tensor->buf, at, r->e);
        ok = h && define(r, l, 0, h);
    }
    io_fini(&v);
    return ok;
}

/* ---- effects ---- */

static const Attr *attr_of(const Inst *inst, AttrKey key) {
    static const Attr none = {.str = ""};
    const Attr *a = inst_attr(inst, key);
    return a ? a : &none;
}

/* The format with its tensors, as the effects want them; t from the operand `first` on. */
static void pieces_of(const Inst *inst, Tensor **t, int n, int first, Pieces *p) {
    const Attr *format = attr_of(inst, ATTR_FORMAT);
    *p = (Pieces){.n = n - first, .cap = n - first};
    bytes_add(&p->format, format->str, format->n);
    p->t = xmalloc(sizeof *p->t * (size_t)(p->cap ? p->cap : 1));
    for (int k = 0; k < p->n; k++) p->t[k] = tensor_ref(t[first + k]);
}

static bool text(Replay *r, const Inst *inst) {
    Tensor **t;
    int n;
    TRY(operands(r, inst, &t, &n));
    int first = inst->op == OP_ASSERT;
    if (n < first) return fail(r, "assert needs a condition");
    PrintOptions *print = r->in->print, saved = print ? *print : print_defaults;
    if (print && inst_attr(inst, ATTR_EDGE)) {
        print->edgeitems = (int)inst_int(inst, ATTR_EDGE, saved.edgeitems);
        print->threshold = (int)inst_int(inst, ATTR_THRESHOLD, saved.threshold);
    }
    Pieces p;
    bool ok;
    pieces_of(inst, t, n, first, &p);
    if (inst->op == OP_PRINT) ok = effect_print(r->in, &p, inst_bool(inst, ATTR_ERR, false), r->e);
    else if (inst->op == OP_WRITE)
        ok = effect_write(r->in, attr_of(inst, ATTR_PATH)->str, inst_bool(inst, ATTR_APPEND, false), &p, r->e);
    else if (inst->op == OP_NOTE) ok = effect_note(r->in, &p, r->e);
    else ok = effect_assert(r->in, t[0], &p, r->e);
    pieces_fini(&p);
    if (print) *print = saved;
    return ok;
}

/* fetch t10 as="loss" shows: loss = 2.5 */
static bool fetch(Replay *r, const Inst *inst) {
    Tensor **t;
    int n;
    TRY(operands(r, inst, &t, &n));
    const Attr *as = attr_of(inst, ATTR_AS);
    for (int k = 0; k < n; k++) {
        Pieces p = {0};
        if (as->n) {
            pieces_text(&p, as->str, as->n);
            pieces_text(&p, " = ", 3);
        }
        pieces_tensor(&p, t[k], "!r", 2);
        pieces_text(&p, "\n", 1);
        bool ok = effect_print(r->in, &p, false, r->e);
        pieces_fini(&p);
        if (!ok) return false;
    }
    return true;
}

typedef struct SaveJob { char *path, *keys, *meta; size_t n_keys, n_meta; } SaveJob;

static bool save_done(void *ctx, const Reply *reply, Err *err) {
    const SaveJob *j = ctx;
    return io_save_reply(j->path, j->keys, j->n_keys, j->meta, j->n_meta, reply, err);
}
static void save_drop(void *ctx) {
    SaveJob *j = ctx;
    free(j->path);
    free(j->keys);
    free(j->meta);
    free(j);
}
static bool track_done(void *ctx, const Reply *reply, Err *err) {
    (void)ctx; (void)reply; (void)err;
    return true;
}
static void track_drop(void *ctx) { (void)ctx; }

static bool save_or_track(Replay *r, const Inst *inst, Span at) {
    Tensor **t;
    int n;
    TRY(operands(r, inst, &t, &n));
    Handle **h = arena_alloc(&r->line, (size_t)(n ? n : 1) * sizeof *h);
    for (int k = 0; k < n; k++) h[k] = t[k]->handle;
    Effect ef = {.op = inst->op, .attr = inst->attr, .n_attr = inst->n_attr, .handle = h, .n = n,
                 .done = track_done, .drop = track_drop};
    if (inst->op == OP_SAVE) {
        const Attr *path = attr_of(inst, ATTR_PATH), *keys = attr_of(inst, ATTR_KEYS), *meta = attr_of(inst, ATTR_META);
        if (!path->n) return fail(r, "save needs a path");
        SaveJob *j = xcalloc(1, sizeof *j);
        *j = (SaveJob){xstrndup(path->str, path->n), xstrndup(keys->str, keys->n), xstrndup(meta->str, meta->n),
                       keys->n, meta->n};
        ef.done = save_done;
        ef.drop = save_drop;
        ef.ctx = j;
    }
    return stream_effect(r->in->stream, &ef, at, r->e);
}

/* ---- lines ---- */

static bool release(Replay *r, const Inst *inst) {
    for (int k = 0; k < inst->n_in; k++) {
        if (inst->in[k].kind != IN_TENSOR) return fail(r, "free takes ids");
        if (!tensor_of(r, inst->in[k].id)) return false;
        tensor_unref(map_remove(&r->tensors, inst->in[k].id));
    }
    return true;
}

static bool shard(Replay *r, const InstLine *l) {
    Tensor **t;
    int n;
    TRY(operands(r, &l->inst, &t, &n));
    if (n != 1 || l->inst.n_out != 1) return fail(r, "shard takes one tensor and gives one");
    return define(r, l, 0, handle_ref(t[0]->handle));
}

static bool run_line(Replay *r, const InstLine *l) {
    const Inst *inst = &l->inst;
    Span at = origin(r, l);
    Inst plain = *inst;
    plain.pos = (SrcPos){.file = stream_file(r->in->stream, at.src), .line = at.line, .col = at.col};
    switch (inst->op) {
    case OP_FREE: return release(r, inst);
    case OP_SYNC: return stream_sync(r->in->stream, r->e);
    case OP_FETCH: case OP_PEEK: return fetch(r, inst);
    case OP_PRINT: case OP_WRITE: case OP_NOTE: case OP_ASSERT: return text(r, inst);
    case OP_SAVE: case OP_TRACK: return save_or_track(r, inst, at);
    case OP_LOAD: return load(r, l, at);
    case OP_SHARD: return shard(r, l);
    case OP_EDGE: return stream_edge(r->in->stream, r->e);
    case OP_SIGNAL_ENTER: case OP_SIGNAL_EXIT: stream_control(r->in->stream, &plain); return true;
    case OP_FILE: return true;
    case OP_POISON: return fail(r, "'poison' is no instruction of a program");
    default: return compute(r, l, at);
    }
}

/* "gti 1 key=value ...": version 1, and no tape. */
static bool check_header(Replay *r, const char *s, size_t n) {
    if (n < 5 || s[4] != '1' || (n > 5 && s[5] != ' ')) return fail(r, "this is not version 1 of the instruction text");
    if (memmem(s, n, "kind=tape", 9)) return fail(r, "a tape is no program: only instruction text can be replayed");
    return true;
}

/* A Node at the line, for those who ask the interpreter where the program is. */
static void stand_at(Replay *r, Node *place, Span at) {
    *place = (Node){.kind = N_NONE, .at = at, .whole = at};
    r->in->at = place;
}

static bool run_lines(Replay *r) {
    const char *s = r->src->text, *end = s + r->src->n;
    Node place;
    for (r->number = 1; s < end; r->number++) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((nl ? nl : end) - s);
        if (n && s[n - 1] == '\r') n--;
        InstLine l;
        Err err = {0};
        if (r->number == 1) TRY(check_header(r, s, n));
        else if (!inst_parse(s, n, &r->line, &l, &err)) {
            r->e->kind = E_SYNTAX;
            error_at(r->e, here(r), "%s", err.text);
            return err.hint[0] ? error_hint(r->e, "%s", err.hint) : false;
        } else if (!l.is_empty) {
            stand_at(r, &place, origin(r, &l));
            bool ok = run_line(r, &l);
            r->in->at = NULL;
            if (!ok) { error_locate(r->e, here(r)); return false; }
        }
        arena_reset(&r->line);
        if (r->number % CHECK_EVERY == 0 && stream_take_error(r->in->stream, r->e)) return false;
        if (stream_interrupted) {
            r->e->kind = E_INTERRUPT;
            return error_at(r->e, here(r), "interrupted");
        }
        s = nl ? nl + 1 : end;
    }
    return true;
}

bool replay_run(Interp *in, const Source *src, LangError *e) {
    Replay r = {.in = in, .src = src, .e = e};
    bool ok = run_lines(&r);
    uint64_t id;
    void *t;
    for (size_t i = 0; map_next(&r.tensors, &i, &id, &t);) tensor_unref(t);
    map_fini(&r.tensors);
    arena_fini(&r.line);
    free(r.file);
    free(r.file_src);
    return ok;
}
