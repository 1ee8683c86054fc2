/* replay.c: runs instruction text as a program, in two passes. The first only checks, so that
 * nothing is sent of a text with an error. The second sends each line through the interpreter's
 * stream, maps the file's ids to our handles, and carries out effects as a live program does. A bit
 * per id detects an id used after its `free`, or defined twice; only then is the text searched for
 * the line that caused it.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/replay.h"
#include "lang/shell/replay_files.h"
#include "lang/shell/replay_line.h"
#include "lang/text/effects.h"
#include "lang/text/progress.h"
#include "lang/file/io.h"
#include "lang/text/show.h"
#include "runtime/base/map.h"
#include "runtime/inst/tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 1000, SEEN_IDS = 512 /* ids per block of bits */ };

struct Replay {
    Interp *in;
    Stream *stream;
    const Source *src;
    Map handle;              /* id in the text -> Handle, a reference */
    Map seen;                /* id / SEEN_IDS -> bits: ids that were defined */
    Source *file[FILES_MAX]; /* files named by positions; owned by the interpreter */
    int n_files;
    ReplayFiles *files; /* files named by load and data */
    Arena arena;        /* reset for each line */
    const char *text;
    size_t n;           /* length of the line, without its newline and a tape's columns */
    size_t shift;       /* width of these columns */
    uint32_t line;      /* line number, from 1 */
    size_t at, end;     /* offsets in src->text: of the next line, of the end */
    bool is_incomplete; /* the last line, without a newline */
    bool is_tape;       /* true: only instructions of `client` count */
    uint32_t client;
    uint64_t n_run; /* instructions executed */
    InstLine now;   /* the line, parsed */
};

bool replay_is_text(const char *text, size_t n) { return n > 4 && memcmp(text, "gti ", 4) == 0; }

/* ---- lines ---- */

static bool next_raw_line(Replay *r) {
    if (r->at >= r->end) return false;
    const char *s = r->src->text + r->at, *end = memchr(s, '\n', r->end - r->at);
    r->is_incomplete = !end;
    r->text = s, r->n = end ? (size_t)(end - s) : r->end - r->at;
    r->shift = 0;
    r->at += r->n + 1;
    r->line++;
    return true;
}

/* Of a tape: moves to the next line of this client. check_tape has checked its columns. */
static bool next_line(Replay *r) {
    TapeLine tape;
    while (next_raw_line(r)) {
        if (!r->is_tape) return true;
        if (!tape_read(r->text, r->n, &tape, NULL) || tape.event != TAPE_RECEIVED ||
            tape.client != r->client)
            continue;
        r->text += tape.text, r->n -= tape.text;
        r->shift = tape.text;
        return true;
    }
    return false;
}

static void rewind_lines(Replay *r) { r->at = 0, r->line = 0; }

/* A position in the text itself; column 0: the whole line. */
static Span here(const Replay *r, int column) {
    return (Span){.src = r->src,
                  .line = r->src->first_line + r->line - 1,
                  .col = (uint16_t)(column > 0 ? column + (int)r->shift : 0),
                  .len = column > 0};
}

/* Reports a parse error; its "column 12: ..." becomes a position. */
static bool fail_parse(const Replay *r, const Err *err, LangError *e) {
    int column = 0, skip = 0;
    if (sscanf(err->text, "column %d: %n", &column, &skip) < 1 || column > UINT16_MAX) column = 0;
    error_at(e, here(r, column), "%s", err->text + skip);
    return err->hint[0] ? error_hint(e, "%s", err->hint) : false;
}

/* Warns of an incomplete last line, which is not run. */
static void warn_incomplete(const Replay *r) {
    LangError w = {.kind = E_RUN};
    error_at(&w, here(r, 0), "the last line is incomplete and was skipped");
    interp_warn(r->in, &w);
}

/* ---- tapes ---- */

enum { CLIENTS_SHOWN = 8 };

/* "c1, c2, ...", in ascending order. */
static const char *clients_text(Replay *r, const Map *senders) {
    Bytes b = {0};
    uint64_t last = 0, client;
    for (size_t k = 0; k < senders->n && k < CLIENTS_SHOWN; k++) {
        uint64_t next = UINT64_MAX;
        for (size_t i = 0; map_next(senders, &i, &client, NULL);)
            if (client > last && client < next) next = client;
        bytes_printf(&b, "%sc%llu", k ? ", " : "", (unsigned long long)next);
        last = next;
    }
    if (senders->n > CLIENTS_SHOWN) bytes_puts(&b, ", ...");
    const char *text = arena_strndup(&r->arena, b.data, b.n);
    bytes_fini(&b);
    return text;
}

/* Chooses the client named by --client, else the only one. */
static bool choose_client(Replay *r, const Map *senders, LangError *e) {
    if (r->client && map_get(senders, r->client)) return true;
    if (!r->client && senders->n == 1) {
        uint64_t only = 0;
        map_next(senders, &(size_t){0}, &only, NULL);
        r->client = (uint32_t)only;
        return true;
    }
    const Span head = here(&(Replay){.src = r->src, .line = 1}, 1);
    e->kind = E_SYNTAX;
    if (senders->n == 0) return error_at(e, head, "no client sent an instruction on this tape");
    if (r->client) {
        error_at(e, head, "c%u sent no instruction on this tape", r->client);
        return error_hint(e, "it has %s", clients_text(r, senders));
    }
    error_at(e, head, "%zu clients are on this tape", senders->n);
    return error_hint(e, "choose one with --client: %s", clients_text(r, senders));
}

/* Checks the columns of all lines and chooses the client. A tape's writer writes whole lines, so a
 * last line without a newline is incomplete, even if it parses. */
static bool check_tape(Replay *r, LangError *e) {
    Map senders = {0};
    Err err = {0};
    next_raw_line(r);
    bool ok = inst_parse(r->text, r->n, &r->arena, &r->now, &err); /* the version line */
    if (!ok) {
        e->kind = E_SYNTAX;
        return fail_parse(r, &err, e);
    }
    while (ok && next_raw_line(r)) {
        TapeLine tape;
        if (r->is_incomplete) {
            warn_incomplete(r);
            r->end = (size_t)(r->text - r->src->text);
        } else if (!tape_read(r->text, r->n, &tape, &err)) {
            e->kind = E_SYNTAX;
            ok = fail_parse(r, &err, e);
        } else if (tape.event == TAPE_RECEIVED && tape.client) {
            map_put(&senders, tape.client, r);
        }
    }
    rewind_lines(r);
    ok = ok && choose_client(r, &senders, e);
    map_fini(&senders);
    return r->is_tape = ok;
}

static void print_summary(const Replay *r) {
    fflush(stdout);
    fprintf(stderr, "gtsh: replayed %llu instruction%s of c%u from %s%s\n",
            (unsigned long long)r->n_run, r->n_run == 1 ? "" : "s", r->client, r->src->name,
            r->end < r->src->n ? "; its incomplete last line was skipped" : "");
}

/* Reports that the first line with content is not `gti 1`. is_read: it parses as an instruction. */
static bool not_instructions(const Replay *r, bool is_read, LangError *e) {
    size_t n = strlen(r->src->name);
    bool is_program = n > 3 && !strcmp(r->src->name + n - 3, ".gt");
    const char *name = is_program ? r->src->name : "a.gt";
    e->kind = E_SYNTAX;
    error_at(e, here(r, 1), "this is not instruction text: it does not begin with 'gti 1'");
    if (is_read && !is_program) return error_hint(e, "put the line 'gti 1' before it");
    return error_hint(e,
                      "if it is a program: gtsh %.100s runs it, gtsh --emit %.100s makes "
                      "instruction text of it",
                      name, name);
}

/* The first pass: checks every line. Cuts off an incomplete last line. */
static bool check_lines(Replay *r, LangError *e) {
    bool has_header = false;
    const char *end = memchr(r->src->text, '\n', r->src->n);
    if (tape_is_header(r->src->text, end ? (size_t)(end - r->src->text) : r->src->n)) {
        TRY(check_tape(r, e));
        has_header = true;
    }
    while (next_line(r)) {
        Err err = {0};
        arena_reset(&r->arena);
        bool is_header = replay_is_text(r->text, r->n);
        bool is_read = inst_parse(r->text, r->n, &r->arena, &r->now, &err);
        if (!has_header && !is_header && !(is_read && r->now.is_empty))
            return not_instructions(r, is_read, e);
        if (!is_read || !inst_check_keys(&r->now, &err)) {
            if (r->is_incomplete && has_header) {
                warn_incomplete(r);
                r->end = (size_t)(r->text - r->src->text);
                break;
            }
            e->kind = E_SYNTAX;
            return fail_parse(r, &err, e);
        }
        has_header |= is_header;
    }
    if (!has_header) { /* no line with content */
        r->line = 1;
        return not_instructions(r, false, e);
    }
    rewind_lines(r);
    return true;
}

/* ---- positions ---- */

/* A source without text for a position's file name. NULL beyond FILES_MAX names. */
static Source *file_of(Replay *r, const char *name) {
    for (int i = r->n_files; i-- > 0;) /* usually the latest */
        if (strcmp(r->file[i]->name, name) == 0) return r->file[i];
    if (r->n_files == FILES_MAX) return NULL;
    return r->file[r->n_files++] = interp_source(r->in, name, "", 0, 1, false);
}

/* The source position that the line carries, else the line itself. */
static Span origin(Replay *r) {
    const Source *file = r->now.file ? file_of(r, r->now.file) : NULL;
    if (!file) return here(r, 0);
    return (Span){.src = file, .line = r->now.inst.pos.line, .col = r->now.inst.pos.col};
}

/* Reports err at the line's origin. */
static bool fail_here(Replay *r, const Err *err, LangError *e) {
    error_from(e, err);
    error_locate(e, origin(r));
    return false;
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

/* The last line before this one that frees id (or defines it); 0 if none does. */
static uint32_t find_line(const Replay *r, uint64_t id, bool frees) {
    Replay scan = {.src = r->src, .end = r->end, .is_tape = r->is_tape, .client = r->client};
    uint32_t found = 0;
    while (next_line(&scan) && scan.line < r->line) {
        arena_reset(&scan.arena);
        if (!inst_parse(scan.text, scan.n, &scan.arena, &scan.now, NULL) || scan.now.is_empty)
            continue;
        const Inst *inst = &scan.now.inst;
        for (int i = 0; i < inst->n_out && !frees; i++)
            if (inst->out[i] == id) found = scan.line;
        for (int i = 0; i < inst->n_in && frees && inst->op == OP_FREE; i++)
            if (inst->in[i].kind == IN_TENSOR && inst->in[i].id == id) found = scan.line;
    }
    arena_fini(&scan.arena);
    return found;
}

/* The position of operand id in the line: its last occurrence, because results come first. */
static Span here_id(const Replay *r, uint64_t id) {
    char word[24];
    size_t n = (size_t)snprintf(word, sizeof word, "t%llu", (unsigned long long)id), found = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < r->n && (is_quoted || (r->text[i] != '#' && r->text[i] != '@')); i++) {
        if (r->text[i] == '"') is_quoted = !is_quoted;
        if (is_quoted && r->text[i] == '\\') i++;
        bool begins = i == 0 || strchr(" \t,=", r->text[i - 1]);
        if (is_quoted || !begins || r->n - i < n || memcmp(r->text + i, word, n)) continue;
        if (r->n - i == n || strchr(" \t\r,#", r->text[i + n])) found = i + 1;
    }
    Span at = here(r, found <= UINT16_MAX ? (int)found : 0);
    if (at.col) at.len = (uint16_t)n;
    return at;
}

static bool unknown_id(Replay *r, uint64_t id, LangError *e) {
    Span at = here_id(r, id);
    if (!was_seen(r, id)) return error_at(e, at, "t%llu is not defined", (unsigned long long)id);
    uint32_t line = find_line(r, id, true);
    if (line == 0)
        return error_at(e, at, "t%llu is not there: its definition failed", (unsigned long long)id);
    error_at(e, at, "t%llu was freed in line %u", (unsigned long long)id, line);
    Replay scan = {.src = r->src, .end = r->end, .is_tape = r->is_tape, .client = r->client};
    while (next_line(&scan) && scan.line < line) continue;
    error_label(e, at, "used here");
    return error_label(e, here_id(&scan, id), "freed here");
}

/* The operands; handle[i] is NULL for an immediate. The arrays live in the line's arena. */
static bool find_operands(Replay *r, Operand **in, Handle ***handle, LangError *e) {
    const Inst *inst = &r->now.inst;
    *in = arena_alloc(&r->arena, inst->n_in * sizeof **in);
    *handle = arena_alloc(&r->arena, inst->n_in * sizeof **handle);
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
        return error_at(e, here(r, 1), "t%llu was defined in line %u; an id is used once",
                        (unsigned long long)id, find_line(r, id, false));
    }
    mark_seen(r, id);
    map_put(&r->handle, id, h);
    return true;
}

/* Binds results to their ids after checking number and types against the line. Takes ownership of
 * the references. */
static bool define_results(Replay *r, Handle **out, int n, LangError *e) {
    const InstLine *now = &r->now;
    const char *op = op_info[now->inst.op].name;
    bool ok = true;
    if (n != now->inst.n_out)
        ok = error_at(e, here(r, 0), "%s gives %d result%s, not %d", op, n, n == 1 ? "" : "s",
                      now->inst.n_out);
    for (int i = 0; ok && now->has_types && i < n; i++) {
        char said[256], is[256];
        if (type_equal(&out[i]->type, &now->types[i])) continue;
        ok = error_at(e, here(r, 0), "%s gives %s here, not %s as the line says", op,
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
    const Attr *start = inst_attr(&r->now.inst, ATTR_START),
               *size = inst_attr(&r->now.inst, ATTR_SIZE),
               *step = inst_attr(&r->now.inst, ATTR_STEP);
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
    TensorType *in = arena_zalloc(&r->arena, (inst->n_in + 1) * sizeof *in);
    for (int i = 0; i < inst->n_in; i++)
        if (handle && handle[i]) in[i] = handle[i]->type;
    int n_out;
    Err err = {0};
    if (inst_infer(inst, in, out, &n_out, &err)) return true;
    inst_hint_text(inst, in, &err);
    error_from(e, &err);
    error_locate(e, origin(r));
    return false;
}

static bool run_op(Replay *r, LangError *e) {
    const Inst *inst = &r->now.inst;
    Operand *in;
    Handle **handle, *out[MAX_OUT];
    int n_out;
    TRY(find_operands(r, &in, &handle, e));
    if ((inst->op == OP_SLICE || inst->op == OP_SLICE_PUT) && inst->n_in > 0 && handle[0])
        complete_slices(r, handle[0]);
    if (stream_op(r->stream, inst->op, in, (const Handle *const *)handle, inst->n_in, inst->attr,
                  inst->n_attr, origin(r), out, &n_out, e))
        return define_results(r, out, n_out, e);
    LangError plain = {0}; /* the same error, with a hint for instruction text */
    TensorType types[MAX_OUT];
    Inst unnumbered = *inst;
    unnumbered.n_out = 0;
    if (e->kind == E_RUN && !check(r, &unnumbered, handle, types, &plain)) *e = plain;
    return false;
}

/* The type given by the attributes dtype and shape, of elements not loaded yet. */
static bool declared_type(const Inst *inst, TensorType *type) {
    const Attr *dtype = inst_attr(inst, ATTR_DTYPE), *shape = inst_attr(inst, ATTR_SHAPE);
    if (!dtype || dtype->dtype >= DT_COUNT || !shape || shape->n > MAX_DIMS) return false;
    *type = (TensorType){.dtype = (uint8_t)dtype->dtype, .rank = (uint8_t)shape->n};
    int64_t numel = 1;
    for (uint32_t i = 0; i < shape->n; i++) {
        type->shape[i] = shape->ints[i];
        if (shape->ints[i] < 0 || __builtin_mul_overflow(numel, shape->ints[i], &numel) ||
            numel > MAX_NUMEL)
            return false;
    }
    return true;
}

static bool run_data(Replay *r, LangError *e) {
    Inst *inst = &r->now.inst;
    TensorType type[MAX_OUT];
    Buf *buf = NULL;
    Err err = {0};
    if (inst_attr(inst, ATTR_PATH) && !inst->payload && declared_type(inst, &type[0])) {
        if (!replay_files_data(r->files, inst, type_bytes(&type[0]), &buf, &err))
            return fail_here(r, &err, e);
        inst->payload = buf->data, inst->payload_bytes = buf->n;
    }
    Handle *h = NULL; /* check: the payload's length matches its type */
    if (check(r, inst, NULL, type, e))
        h = stream_data(r->stream, &type[0], inst->payload, buf, origin(r), e);
    buf_unref(&buf);
    return h && define_results(r, &h, 1, e);
}

static bool run_free(Replay *r, LangError *e) {
    const Inst *inst = &r->now.inst;
    for (int i = 0; i < inst->n_in; i++) {
        if (inst->in[i].kind != IN_TENSOR) return error_at(e, here(r, 0), "free takes ids");
        Handle *h = map_remove(&r->handle, inst->in[i].id);
        if (!h) return unknown_id(r, inst->in[i].id, e);
        handle_unref(r->stream, &h);
    }
    return true;
}

static bool run_scope(Replay *r, LangError *e) {
    Inst inst = r->now.inst;
    TensorType out[MAX_OUT];
    TRY(check(r, &inst, NULL, out, e));
    Span at = origin(r);
    inst.pos = (SrcPos){.file = stream_file(r->stream, at.src), .col = at.col, .line = at.line};
    stream_control(r->stream, &inst);
    return true;
}

/* ---- files ---- */

static bool run_load(Replay *r, LangError *e) {
    IoTensor t;
    Err err = {0};
    if (!replay_files_load(r->files, &r->now.inst, &t, &err)) return fail_here(r, &err, e);
    Handle *h = stream_data(r->stream, &t.type, t.buf->data, t.buf, origin(r), e);
    buf_unref(&t.buf);
    return h && define_results(r, &h, 1, e);
}

typedef struct SaveJob {
    char *path, *keys, *meta;
    size_t n_keys, n_meta;
} SaveJob;

static bool save_done(void *ctx, const Reply *reply, Err *err) {
    const SaveJob *j = ctx;
    return io_save_reply(j->path, j->keys, j->n_keys, j->meta, j->n_meta, reply, err);
}

static void save_drop(void *ctx) {
    SaveJob *j = ctx;
    free(j->path), free(j->keys), free(j->meta);
    free(j);
}

static char *text_of(const Inst *inst, AttrKey key, size_t *n) {
    const Attr *a = inst_attr(inst, key);
    *n = a ? a->n : 0;
    return xstrndup(a ? a->str : "", *n);
}

static SaveJob *save_job(const Inst *inst) {
    SaveJob *j = xcalloc(1, sizeof *j);
    size_t n;
    j->path = text_of(inst, ATTR_PATH, &n);
    j->keys = text_of(inst, ATTR_KEYS, &j->n_keys);
    j->meta = text_of(inst, ATTR_META, &j->n_meta);
    return j;
}

/* ---- values ---- */

/* fetch and peek print the value to standard output, after the name that `as` gives: loss =
 * tensor(2.5000) */
typedef struct Shown {
    PrintOptions options;
    char name[];
} Shown;

static Shown *shown_new(Replay *r) {
    const Inst *inst = &r->now.inst;
    const Attr *as = inst_attr(inst, ATTR_AS);
    Bytes name = {0};
    if (as) error_words(as->str, false, &name);
    Shown *x = xcalloc(1, sizeof *x + name.n + sizeof " = ");
    if (as) sprintf(x->name, "%s = ", name.n ? name.data : "");
    bytes_fini(&name);
    x->options = print_defaults;
    if (r->in->config.width > 0) x->options.linewidth = r->in->config.width;
    x->options.edgeitems = (int)inst_int(inst, ATTR_EDGE, x->options.edgeitems);
    x->options.threshold = (int)inst_int(inst, ATTR_THRESHOLD, x->options.threshold);
    return x;
}

static bool shown_done(void *ctx, const Reply *reply, Err *err) {
    const Shown *x = ctx;
    Bytes text = {0};
    bool ok = show_format("{!r}\n", 5, reply, &x->options, &text, err);
    if (ok) printf("%s%s", x->name, text.data);
    bytes_fini(&text);
    return ok;
}

/* Runs an instruction that needs values, in stream order. */
static bool run_effect(Replay *r, LangError *e) {
    Inst inst = r->now.inst;
    Operand *in;
    Handle **handle;
    TensorType out[MAX_OUT];
    TRY(find_operands(r, &in, &handle, e));
    TRY(check(r, &inst, handle, out, e));
    inst.in = in;
    Effect ef = {
        .op = inst.op, .attr = inst.attr, .n_attr = inst.n_attr, .handle = handle, .n = inst.n_in};
    switch (inst.op) {
    case OP_SAVE: ef.done = save_done, ef.drop = save_drop, ef.ctx = save_job(&inst); break;
    case OP_FETCH:
    case OP_PEEK: ef.done = shown_done, ef.drop = free, ef.ctx = shown_new(r); break;
    case OP_TRACK: return progress_track_inst(r->in, &inst, handle, origin(r), e);
    default: return effect_inst(r->in, &inst, handle, origin(r), e);
    }
    return stream_effect(r->stream, &ef, origin(r), e);
}

/* ---- the program ---- */

static bool run_line(Replay *r, LangError *e) {
    Op op = r->now.inst.op;
    if (op_is_inserted(op))
        return error_at(e, here(r, 0), "%s is not for programs", op_info[op].name);
    switch (op) {
    case OP_FREE: return run_free(r, e);
    case OP_EDGE: return stream_edge(r->stream, e);
    case OP_SYNC: return stream_sync(r->stream, e);
    case OP_FILE:              /* positions in text have names */
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
    case OP_TRACK: return run_effect(r, e);
    default: return run_op(r, e);
    }
}

/* Runs the parsed line. The first error ends a program. */
static bool run_one(Replay *r, LangError *e) {
    TRY(run_line(r, e));
    r->n_run++;
    stream_step(r->stream);
    if (stream_take_error(r->stream, e)) return false;
    if (!stream_interrupted) return true;
    e->kind = E_INTERRUPT;
    return error_at(e, here(r, 0), "interrupted");
}

static bool run_lines(Replay *r, LangError *e) {
    while (next_line(r)) {
        arena_reset(&r->arena);
        Err err = {0};
        if (!inst_parse(r->text, r->n, &r->arena, &r->now, &err)) return fail_parse(r, &err, e);
        if (r->now.is_empty) continue;
        TRY(run_one(r, e));
    }
    return true;
}

static int by_id(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Frees the remaining handles in the order of their ids, not of the map. */
static void drop_handles(Replay *r) {
    uint64_t *ids = xmalloc(r->handle.n * sizeof *ids);
    size_t n = 0;
    for (size_t i = 0; map_next(&r->handle, &i, &ids[n], NULL);) n++;
    qsort(ids, n, sizeof *ids, by_id);
    for (size_t i = 0; i < n; i++) {
        Handle *h = map_remove(&r->handle, ids[i]);
        handle_unref(r->stream, &h);
    }
    free(ids);
}

static void replay_fini(Replay *r) {
    uint64_t block;
    void *bits;
    drop_handles(r);
    for (size_t i = 0; map_next(&r->seen, &i, &block, &bits);) free(bits);
    map_fini(&r->handle);
    map_fini(&r->seen);
    replay_files_free(&r->files);
    arena_fini(&r->arena);
}

bool replay_run(Interp *in, const Source *src, uint32_t client, LangError *e) {
    Replay *r = replay_open(in, src);
    r->client = client;
    bool ok = check_lines(r, e);
    if (ok) {
        ok = run_lines(r, e);
        if (r->is_tape) print_summary(r);
    }
    replay_close(&r);
    return ok;
}

/* ---- line by line (replay_line.h) ---- */

Replay *replay_open(Interp *in, const Source *src) {
    Replay *r = xcalloc(1, sizeof *r);
    *r = (Replay){.in = in, .stream = in->stream, .src = src, .end = src->n};
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
    arena_reset(&r->arena);
    r->text = text, r->n = n, r->line = line;
    r->now = *parsed;
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
