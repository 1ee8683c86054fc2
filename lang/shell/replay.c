/* replay.c: runs instructions as a program, in two passes. The first only checks
 * (replay_check.c), so that nothing is sent of a file with an error. The second sends each line
 * through the interpreter's stream, maps the file's ids to our handles, and carries out effects as
 * a live program does. A bit per id detects an id used after its `free`, or defined twice; only
 * then is the file searched for the line that caused it.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/import.h"
#include "lang/shell/replay_verify.h"
#include "lang/syntax/ast.h"
#include "lang/tensor/tensor.h"
#include "runtime/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAMES_SHOWN = 12 }; /* of the tensors that a prompt gets */

/* ---- positions ---- */

/* A source without text for a position's file name. NULL beyond REPLAY_FILES_MAX names. */
static Source *file_of(Replay *r, const char *name) {
    for (int i = r->n_files; i-- > 0;) /* usually the latest */
        if (strcmp(r->file[i]->name, name) == 0) return r->file[i];
    if (r->n_files == REPLAY_FILES_MAX) return NULL;
    return r->file[r->n_files++] = interp_source(r->in, name, "", 0, 1, false);
}

/* The source position that the line carries, else the line itself. */
Span replay_origin(Replay *r) {
    const Source *file = r->l.now.file ? file_of(r, r->l.now.file) : NULL;
    if (!file) return replay_here(r, 0);
    return (Span){.src = file, .line = r->l.now.inst.pos.line, .col = r->l.now.inst.pos.col};
}

/* Reports err at the line's origin. */
static bool fail_here(Replay *r, const Err *err, LangError *e) {
    error_from(e, err);
    return error_locate(e, replay_origin(r));
}

/* ---- ids ---- */

static bool was_seen(const Replay *r, uint64_t id) {
    const uint64_t *bits = map_get(&r->seen, id / SEEN_IDS);
    return bits && bits[id % SEEN_IDS / 64] >> id % 64 & 1;
}

static void mark_seen(Replay *r, uint64_t id) {
    uint64_t *bits = map_get(&r->seen, id / SEEN_IDS);
    if (!bits) map_put(&r->seen, id / SEEN_IDS, bits = xcalloc(SEEN_IDS / 64, 8));
    bits[id % SEEN_IDS / 64] |= UINT64_C(1) << id % 64;
}

/* The position of operand id in a line: its last occurrence, because results come first. */
static Span id_span(const Lines *l, uint64_t id) {
    char word[24];
    size_t n = (size_t)snprintf(word, sizeof word, "t%llu", (unsigned long long)id), found = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < l->n && (is_quoted || (l->text[i] != '#' && l->text[i] != '@')); i++) {
        if (l->text[i] == '"') is_quoted = !is_quoted;
        if (is_quoted && l->text[i] == '\\') i++;
        bool begins = i == 0 || strchr(" \t,=", l->text[i - 1]);
        if (is_quoted || !begins || l->n - i < n || memcmp(l->text + i, word, n)) continue;
        if (l->n - i == n || strchr(" \t\r,#", l->text[i + n])) found = i + 1;
    }
    Span at = lines_span(l, found <= UINT16_MAX ? (int)found : 0);
    if (at.col) at.len = (uint16_t)n;
    return at;
}

/* The last line before this one that frees id (or defines it); 0 if none does. at: the position of
 * the id there, if not NULL. */
static uint32_t find_line(const Replay *r, uint64_t id, bool frees, Span *at) {
    Lines scan;
    LangError ignored = {0};
    uint32_t found = 0;
    if (!lines_open(&scan, r->l.src, r->l.data, r->l.end, &ignored)) return 0;
    scan.is_tape = r->l.is_tape, scan.client = r->l.client;
    for (LinesGot got; (got = lines_next(&scan, NULL)) != LINES_END && scan.line < r->l.line;) {
        const Inst *inst = &scan.now.inst;
        uint32_t before = found;
        if (got != LINES_LINE || scan.now.is_empty) continue;
        for (int i = 0; i < inst->n_out && !frees; i++)
            if (inst->out[i] == id) found = scan.line;
        for (int i = 0; i < inst->n_in && frees && inst->op == OP_FREE; i++)
            if (inst->in[i].kind == IN_TENSOR && inst->in[i].id == id) found = scan.line;
        if (at && found != before) *at = id_span(&scan, id);
    }
    lines_close(&scan);
    return found;
}

static bool names_twice(const Inst *inst, uint64_t id) {
    int n = 0;
    for (int i = 0; i < inst->n_in; i++) n += inst->in[i].kind == IN_TENSOR && inst->in[i].id == id;
    return n > 1;
}

static bool unknown_id(Replay *r, uint64_t id, LangError *e) {
    Span at = id_span(&r->l, id), freed = {0};
    if (!was_seen(r, id)) return error_at(e, at, "t%llu is not defined", (unsigned long long)id);
    uint32_t line = find_line(r, id, true, &freed);
    if (line == 0 && r->l.now.inst.op == OP_FREE && names_twice(&r->l.now.inst, id))
        return error_at(e, at, "free names t%llu twice", (unsigned long long)id);
    if (line == 0)
        return error_at(e, at, "t%llu is not there: its definition failed", (unsigned long long)id);
    error_at(e, at, "t%llu was freed in line %u", (unsigned long long)id, line);
    error_label(e, at, "used here");
    return error_label(e, freed, "freed here");
}

/* The operands; handle[i] is NULL for an immediate. The arrays live in the line's arena. */
static bool find_operands(Replay *r, Operand **in, Handle ***handle, LangError *e) {
    const Inst *inst = &r->l.now.inst;
    *in = arena_alloc(&r->l.arena, inst->n_in * sizeof **in);
    *handle = arena_alloc(&r->l.arena, inst->n_in * sizeof **handle);
    for (int i = 0; i < inst->n_in; i++) {
        (*in)[i] = inst->in[i];
        (*handle)[i] = NULL;
        if (inst->in[i].kind != IN_TENSOR) continue;
        Handle *h = map_get(&r->handle, inst->in[i].id);
        if (!h) return unknown_id(r, inst->in[i].id, e);
        (*handle)[i] = h;
        (*in)[i] = operand_of(h);
    }
    return true;
}

/* Takes ownership of the reference h. */
static bool define(Replay *r, uint64_t id, Handle *h, LangError *e) {
    if (was_seen(r, id)) {
        handle_unref(r->stream, &h);
        return error_at(e, replay_here(r, 1), "t%llu was defined in line %u; an id is used once",
                        (unsigned long long)id, find_line(r, id, false, NULL));
    }
    mark_seen(r, id);
    map_put(&r->handle, id, h);
    verify_define(r, id, h);
    return true;
}

/* Binds results to their ids after checking number and types against the line. Takes ownership of
 * the references. */
static bool define_results(Replay *r, Handle **out, int n, LangError *e) {
    const InstLine *now = &r->l.now;
    const char *op = op_info[now->inst.op].name;
    bool ok = true;
    if (n != now->inst.n_out)
        ok = error_at(e, replay_here(r, 0), "%s gives %d result%s, not %d", op, n,
                      n == 1 ? "" : "s", now->inst.n_out);
    for (int i = 0; ok && now->has_types && i < n; i++) {
        char said[256], is[256];
        if (type_equal(&out[i]->type, &now->types[i])) continue;
        ok = error_at(e, replay_here(r, 0), "%s gives %s here, not %s as the line says", op,
                      type_text(&out[i]->type, is), type_text(&now->types[i], said));
    }
    for (int i = 0; i < n; i++) {
        if (ok)
            ok = define(r, now->inst.out[i], out[i], e);
        else
            handle_unref(r->stream, &out[i]);
    }
    return ok;
}

/* ---- operations ---- */

/* Fills in the sizes of slices that run to the end (-1), from the operand's shape. */
static void complete_slices(Replay *r, const Handle *x) {
    const Attr *start = inst_attr(&r->l.now.inst, ATTR_START),
               *size = inst_attr(&r->l.now.inst, ATTR_SIZE),
               *step = inst_attr(&r->l.now.inst, ATTR_STEP);
    if (!start || !size || !step || size->n != x->type.rank || start->n != size->n ||
        step->n != size->n)
        return;
    int64_t *whole = (int64_t *)size->ints; /* the parser's array, in our arena */
    for (uint32_t i = 0; i < size->n; i++) {
        int64_t left = x->type.shape[i] - start->ints[i];
        if (whole[i] == -1 && start->ints[i] >= 0 && step->ints[i] >= 1)
            whole[i] = left > 0 ? (left - 1) / step->ints[i] + 1 : 0;
    }
}

/* Infers the types of an instruction that does not go through stream_op. handle NULL: it has no
 * tensor operands. */
static bool check(Replay *r, const Inst *inst, Handle *const *handle, TensorType *out,
                  LangError *e) {
    TensorType *in = arena_zalloc(&r->l.arena, (inst->n_in + 1) * sizeof *in);
    for (int i = 0; i < inst->n_in; i++)
        if (handle && handle[i]) in[i] = handle[i]->type;
    int n_out;
    Err err = {0};
    if (inst_infer(inst, in, out, &n_out, &err)) return true;
    inst_hint_text(inst, in, &err);
    error_from(e, &err);
    return error_locate(e, replay_origin(r));
}

static bool run_op(Replay *r, LangError *e) {
    const Inst *inst = &r->l.now.inst;
    Operand *in;
    Handle **handle, *out[MAX_OUT];
    int n_out;
    TRY(find_operands(r, &in, &handle, e));
    if ((inst->op == OP_SLICE || inst->op == OP_SLICE_PUT) && inst->n_in > 0 && handle[0])
        complete_slices(r, handle[0]);
    if (stream_op(r->stream, inst->op, in, (const Handle *const *)handle, inst->n_in, inst->attr,
                  inst->n_attr, replay_origin(r), out, &n_out, e))
        return define_results(r, out, n_out, e);
    LangError plain = {0}; /* the same error, with a hint for instruction text */
    TensorType types[MAX_OUT];
    Inst unnumbered = *inst;
    unnumbered.n_out = 0;
    if (e->kind == E_RUN && !check(r, &unnumbered, handle, types, &plain)) *e = plain;
    return false;
}

/* Defines the result without its elements: with zeros or random numbers. */
static bool run_filled(Replay *r, const TensorType *type, LangError *e) {
    bool is_random = r->config.fill == FILL_RANDN && dtype_is_float(type->dtype);
    int64_t key[2] = {0, (int64_t)(r->l.now.inst.out[0] & INT64_MAX)};
    Attr attr[3] = {{.key = ATTR_SHAPE, .n = type->rank, .ints = type->shape},
                    {.key = ATTR_DTYPE, .dtype = (DType)type->dtype},
                    {.key = ATTR_RNG, .n = 2, .ints = key}};
    Operand zero = {.kind = type->dtype == DT_BOOL ? IN_IMM_BOOL : IN_IMM_INT};
    Handle *out[MAX_OUT];
    int n_out;
    TRY(stream_op(r->stream, is_random ? OP_RANDN : OP_FULL, &zero, NULL, !is_random, attr,
                  2 + is_random, replay_origin(r), out, &n_out, e));
    return define_results(r, out, n_out, e);
}

/* True if the line needs no elements: there are none, and others may stand for them. */
static bool is_filled(Replay *r, const Inst *inst) {
    if (inst_bool(inst, ATTR_ELIDED, false)) return replay_is_dry(r) || r->config.fill;
    if (!inst_attr(inst, ATTR_PATH) || inst->payload) return false;
    if (replay_is_dry(r)) return !r->config.has_all;
    return r->config.fill && !replay_files_has(r->files, inst);
}

static bool run_data(Replay *r, LangError *e) {
    Inst *inst = &r->l.now.inst;
    TensorType type[MAX_OUT];
    Buf *buf = NULL;
    Err err = {0};
    if (is_filled(r, inst) && inst_declared_type(inst, &type[0])) return run_filled(r, &type[0], e);
    if (inst_attr(inst, ATTR_PATH) && !inst->payload && inst_declared_type(inst, &type[0])) {
        if (!replay_files_data(r->files, inst, type_bytes(&type[0]), &buf, &err))
            return fail_here(r, &err, e);
        inst->payload = buf->data, inst->payload_bytes = buf->n;
        if (r->config.file) r->whole = buf_ref(buf);
    }
    Handle *h = NULL; /* check: the payload's length matches its type */
    if (check(r, inst, NULL, type, e))
        h = stream_data(r->stream, &type[0], inst->payload, buf, replay_origin(r), e);
    buf_unref(&buf);
    return h && define_results(r, &h, 1, e);
}

static bool run_free(Replay *r, LangError *e) {
    const Inst *inst = &r->l.now.inst;
    for (int i = 0; i < inst->n_in; i++) {
        if (inst->in[i].kind != IN_TENSOR) return error_at(e, replay_here(r, 0), "free takes ids");
        Handle *h = map_remove(&r->handle, inst->in[i].id);
        if (!h) return unknown_id(r, inst->in[i].id, e);
        handle_unref(r->stream, &h);
    }
    return true;
}

static bool run_scope(Replay *r, LangError *e) {
    Inst inst = r->l.now.inst;
    TensorType out[MAX_OUT];
    TRY(check(r, &inst, NULL, out, e));
    Span at = replay_origin(r);
    inst.pos = (SrcPos){.file = stream_file(r->stream, at.src), .col = at.col, .line = at.line};
    stream_control(r->stream, &inst);
    return true;
}

/* ---- files ---- */

static bool run_load(Replay *r, LangError *e) {
    IoTensor t;
    Err err = {0};
    if (r->l.now.has_types && is_filled(r, &r->l.now.inst))
        return run_filled(r, &r->l.now.types[0], e);
    if (!replay_files_load(r->files, &r->l.now.inst, &t, &err)) return fail_here(r, &err, e);
    Handle *h = stream_data(r->stream, &t.type, t.buf->data, t.buf, replay_origin(r), e);
    if (r->config.has_all) r->whole = buf_ref(t.buf);
    buf_unref(&t.buf);
    return h && define_results(r, &h, 1, e);
}

/* ---- the program ---- */

/* Runs an instruction that needs values, in stream order. */
static bool run_effect(Replay *r, LangError *e) {
    Inst inst = r->l.now.inst;
    Operand *in;
    Handle **handle;
    TensorType out[MAX_OUT];
    TRY(find_operands(r, &in, &handle, e));
    TRY(check(r, &inst, handle, out, e));
    inst.in = in;
    return replay_effect(r, &inst, handle, e);
}

static bool run_line(Replay *r, LangError *e) {
    Op op = r->l.now.inst.op;
    if (op_is_inserted(op))
        return error_at(e, replay_here(r, 0), "%s is not for programs", op_info[op].name);
    switch (op) {
    case OP_FREE: return run_free(r, e);
    case OP_EDGE: return stream_edge(r->stream, e);
    case OP_SYNC: return stream_sync(r->stream, e);
    case OP_FILE:              /* positions in text have names */
    case OP_VALUE:             /* see replay_verify.c */
    case OP_BODY: return true; /* the stream detects bodies itself */
    case OP_SIGNAL_ENTER:
    case OP_SIGNAL_EXIT:
    case OP_SIGNAL_DEFINE:
    case OP_CHECK: return run_scope(r, e);
    case OP_LOAD: return run_load(r, e);
    case OP_DATA: return run_data(r, e);
    case OP_FETCH:
    case OP_PEEK:
    case OP_PRINT:
    case OP_WRITE:
    case OP_NOTE:
    case OP_ASSERT:
    case OP_SAVE:
    case OP_TRACK:
    case OP_PLOT:
    case OP_HIST:
    case OP_IMAGE: return run_effect(r, e);
    default: return run_op(r, e);
    }
}

static void write_line(Replay *r) {
    const Inst *inst = &r->l.now.inst;
    Handle *out[MAX_OUT];
    int n = 0;
    while (n < inst->n_out && (out[n] = map_get(&r->handle, inst->out[n]))) n++;
    replay_write(r, out, n);
}

/* Runs the parsed line. The first error ends a program. */
static bool run_one(Replay *r, LangError *e) {
    TRY(run_line(r, e));
    r->n_run++;
    r->last_line = r->l.line;
    if (r->config.file) write_line(r);
    stream_step(r->stream);
    if (stream_take_error(r->stream, e)) return false;
    if (!interrupt_count) return true;
    e->kind = E_INTERRUPT;
    return error_at(e, replay_here(r, 0), "interrupted");
}

enum { WAIT_MAX_S = 1 << 30 };

/* Waits until a tape's line is due. What was sent before goes on. */
static bool wait_until_due(Replay *r, int64_t begun_us, double first, LangError *e) {
    double wait_s = (r->l.seconds - first) / r->config.speed;
    if (!(wait_s > 0)) return true;
    int64_t due = begun_us + (int64_t)(1e6 * (wait_s < WAIT_MAX_S ? wait_s : WAIT_MAX_S));
    if (now_us() >= due) return true;
    stream_flush(r->stream);
    for (int64_t left; (left = due - now_us()) > 0 && !interrupt_count;) {
        int64_t nap = left < 10000 ? left : 10000;
        nanosleep(&(struct timespec){.tv_nsec = nap * 1000}, NULL);
        stream_poll(r->stream);
        fflush(stdout);
        if (stream_take_error(r->stream, e)) return false;
    }
    return true;
}

static bool run_lines(Replay *r, LangError *e) {
    Err err = {0};
    int64_t begun_us = now_us();
    double first = -1;
    for (LinesGot got; (got = lines_next(&r->l, &err)) != LINES_END;) {
        if (got != LINES_LINE) return lines_fail(&r->l, &err, e);
        if (r->l.now.is_empty) {
            if (r->config.file && !r->l.is_tape) write_line(r);
            continue;
        }
        if (r->config.upto && r->n_run == r->config.upto) break;
        if (first < 0) first = r->l.seconds;
        if (r->l.is_tape && r->config.speed > 0) TRY(wait_until_due(r, begun_us, first, e));
        TRY(run_one(r, e));
    }
    return true;
}

static int by_id(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The ids of the live tensors, in ascending order; the caller frees them. */
static uint64_t *live_ids(const Replay *r) {
    uint64_t *ids = xmalloc((r->handle.n + 1) * sizeof *ids);
    size_t n = 0;
    for (MapItem it = {0}; map_next(&r->handle, &it);) ids[n++] = it.key;
    qsort(ids, n, sizeof *ids, by_id);
    return ids;
}

/* Frees the remaining handles in the order of their ids, not of the map; or names them t12 ... for
 * the prompt. */
static void drop_handles(Replay *r) {
    uint64_t *ids = live_ids(r);
    size_t n = r->handle.n;
    for (size_t i = 0; i < n; i++) {
        Handle *h = map_remove(&r->handle, ids[i]);
        if (r->config.keep) {
            char name[24];
            int length = snprintf(name, sizeof name, "t%llu", (unsigned long long)ids[i]);
            GlobalVar *g = globals_var(r->in->globals, intern(name, (size_t)length));
            value_drop(g->v);
            g->v = v_tensor(tensor_new(r->in, h));
        } else {
            handle_unref(r->stream, &h);
        }
    }
    free(ids);
}

static void replay_fini(Replay *r) {
    if (r->verify) stream_watch(r->stream, NULL, NULL);
    verify_close(r);
    drop_handles(r);
    for (MapItem it = {0}; map_next(&r->seen, &it);) free(it.value);
    map_fini(&r->handle);
    map_fini(&r->seen);
    replay_files_free(&r->files);
    lines_close(&r->l);
    buf_unref(&r->whole);
}

static void put_names(const Replay *r, Bytes *out) {
    uint64_t *ids = live_ids(r);
    size_t n = r->handle.n;
    bytes_printf(out, n == 1 ? "; 1 tensor is here:" : "; %zu tensors are here:", n);
    for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
        bytes_printf(out, " t%llu", (unsigned long long)ids[i]);
    if (n > NAMES_SHOWN) bytes_puts(out, " ...");
    free(ids);
}

/* What was done, for standard error: a cut file must not look whole. */
static void print_summary(const Replay *r) {
    Bytes text = {0};
    bytes_printf(&text, "gtsh: %s %llu instruction%s", replay_is_dry(r) ? "checked" : "replayed",
                 (unsigned long long)r->n_run, r->n_run == 1 ? "" : "s");
    if (r->l.is_tape) bytes_printf(&text, " of c%u", r->l.client);
    bytes_printf(&text, " from %s", r->l.src->name);
    if (r->config.upto && r->n_run == r->config.upto)
        bytes_printf(&text, ", up to line %u", r->last_line);
    if (lines_are_cut(&r->l)) bytes_puts(&text, "; its incomplete last line was skipped");
    if (r->verify) verify_summary(r, &text);
    if (r->config.keep && r->handle.n) put_names(r, &text);
    fflush(stdout);
    fprintf(stderr, "%s\n", text.data);
    bytes_fini(&text);
}

static bool run_checked(Replay *r, LangError *e) {
    if (r->config.file && r->l.is_tape) inst_file_text(r->config.file, "gti 1", 5);
    bool ok = run_lines(r, e) && (!r->verify || verify_end(r, e));
    if (!r->config.quiet) print_summary(r);
    return ok;
}

bool replay_run(Interp *in, const Source *src, const ReplayConfig *config, LangError *e) {
    if (config->file) { /* write all or nothing: what is cut would look whole */
        ReplayConfig dry = *config;
        dry.file = NULL, dry.quiet = true;
        TRY(replay_run(in, src, &dry, e));
    }
    Replay *r = replay_open(in, src);
    const char *data = config->data ? config->data : src->text;
    r->config = *config;
    lines_close(&r->l);
    bool ok = lines_open(&r->l, src, data, config->data ? config->n : src->n, e);
    r->l.client = config->client;
    if (ok && config->verify) verify_open(r);
    ok = ok && replay_check(r, e);
    if (ok && config->verify && r->n_told == 0) {
        ok = error_set(e, "%s has no values to compare", src->name);
        error_hint(e, "gtsh --tee run.gti x.gt writes the values that x.gt prints and fetches");
    }
    ok = ok && run_checked(r, e);
    if (!ok) lines_show(&r->l, in, e);
    replay_close(&r);
    return ok;
}

/* ---- line by line (replay_lines.h) ---- */

Replay *replay_open(Interp *in, const Source *src) {
    Replay *r = xcalloc(1, sizeof *r);
    *r = (Replay){.in = in, .stream = in->stream};
    r->l = (Lines){.src = src, .data = src->text, .end = src->n, .n_data = src->n};
    r->files = replay_files_new(src->name);
    return r;
}

void replay_close(Replay **rp) {
    Replay *r = *rp;
    *rp = NULL;
    if (!r) return;
    replay_fini(r);
    free(r);
}

bool replay_line(Replay *r, const char *text, size_t n, uint32_t line, const InstLine *parsed,
                 LangError *e) {
    arena_reset(&r->l.arena);
    r->l.text = text, r->l.n = n, r->l.line = line;
    r->l.now = *parsed;
    return run_one(r, e);
}

Handle *replay_get(const Replay *r, uint64_t id) { return map_get(&r->handle, id); }

void replay_forget(Replay *r, uint64_t id) {
    Handle *h = map_remove(&r->handle, id);
    uint64_t *bits = map_get(&r->seen, id / SEEN_IDS);
    handle_unref(r->stream, &h);
    if (bits) bits[id % SEEN_IDS / 64] &= ~(UINT64_C(1) << id % 64);
}

void replay_put(Replay *r, uint64_t id, Handle *h) {
    replay_forget(r, id);
    mark_seen(r, id);
    map_put(&r->handle, id, h);
}
