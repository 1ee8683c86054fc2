/* replay_step.c: see replay_step.h. Lines without numbers of the round are parsed once, the others
 * in each round. The end of a round is a loop's edge for the stream, which so finds the body to be
 * hot.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/replay_step.h"
#include "lang/file/io.h"
#include "lang/shell/replay.h"
#include "lang/step/step.h"
#include "runtime/base/near.h"
#include "runtime/inst/element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct StepReplay {
    Interp *in;
    Step step;
    Replay *replay;
    const StepRun *run;
    uint64_t times, n_done; /* rounds to do, and done */
    const char **out;       /* file of the output on line i, or NULL */
    Bytes text;             /* of a line with its numbers */
    Arena arena;            /* reset for each line */
    LangError *e;
} StepReplay;

/* ---- options ---- */

/* Adds the nearest of n names, or all of them, as a hint. */
static bool hint_names(LangError *e, const char *what, const char *name, size_t n_name,
                       const char *const *names, int n) {
    const char *near = n ? nearest_name(name, n_name, names, n) : NULL;
    if (near) return error_hint(e, "did you mean '%s'?", near);
    Bytes list = {0};
    for (int i = 0; i < n && list.n < 300; i++)
        bytes_printf(&list, "%s%s", i ? ", " : "", names[i]);
    if (n)
        error_hint(e, "the %ss of this step: %s", what, list.data);
    else
        error_hint(e, "this step has no %ss", what);
    bytes_fini(&list);
    return false;
}

/* Splits NAME=FILE; *n is the length of NAME. */
static bool split(const char *option, const char *s, size_t *n, const char **path, LangError *e) {
    *n = strcspn(s, "=");
    if (*n > 0 && s[*n] == '=' && s[*n + 1]) {
        *path = s + *n + 1;
        return true;
    }
    return error_usage(e, "--%s needs NAME=FILE, got '%.200s'", option, s);
}

/* ---- binding ---- */

static bool bad_file(LangError *e, const Err *err) {
    error_from(e, err);
    e->kind = E_NOINPUT;
    return false;
}

/* The tensor of a file: its only one, or the one with the input's name. */
static const IoTensor *file_tensor(const IoValue *v, const StepInput *in, const char *path,
                                   LangError *e) {
    if (v->kind == IO_TENSOR) return v->tensor;
    const IoValue *found = io_find(v, in->name);
    if (found && found->kind == IO_TENSOR) return found->tensor;
    Err err = {0};
    error_usage(e, "'%.200s' holds no tensor named '%s'", path, in->name);
    io_hint_names(v, in->name, false, &err);
    if (err.hint[0]) error_hint(e, "%s", err.hint);
    return NULL;
}

static bool differs(const StepInput *in, const TensorType *is, const char *path, LangError *e) {
    char has[256], wants[256];
    error_usage(e, "'%.200s' is %s, but the input '%s' is %s", path, type_text(is, has), in->name,
                type_text(&in->type, wants));
    if (in->type.dtype != is->dtype)
        return error_hint(e, "convert it: gtsh -c 'save(load(\"a.npy\").to(%s), \"b.npy\")'",
                          dtype_info[in->type.dtype].name);
    return in->is_row
               ? error_hint(e, "one such tensor a round: the file's first axis is the rounds")
               : false;
}

/* Numbers of any dtype become those of the input. */
static bool bind_number(StepReplay *r, StepInput *in, const IoTensor *t, const char *path) {
    if (t->type.rank > 1) return differs(in, &t->type, path, r->e);
    bool to_float = in->type.dtype == DT_F64;
    if (!to_float && dtype_is_float(t->type.dtype))
        return error_usage(r->e, "'%.200s' is %s, but '%s' is a whole number", path,
                           dtype_info[t->type.dtype].name, in->name);
    int64_t n = type_numel(&t->type);
    uint8_t *to = arena_alloc(&r->step.arena, (size_t)n * 8 + 8);
    const uint8_t *from = t->buf->data;
    size_t width = (size_t)dtype_info[t->type.dtype].size_bytes;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *p = from + (size_t)i * width;
        if (to_float)
            element_set_float(DT_F64, to + 8 * i, element_float(t->type.dtype, p));
        else
            element_set_int(DT_I64, to + 8 * i, element_int(t->type.dtype, p));
    }
    in->data = to;
    in->rows = (uint64_t)n;
    in->is_same = t->type.rank == 0;
    return true;
}

static bool bind_tensor(StepReplay *r, StepInput *in, const IoTensor *t, const char *path) {
    TensorType row = t->type;
    in->is_same = type_equal(&row, &in->type);
    in->rows = 1;
    if (!in->is_same) {
        if (!in->is_row || row.rank == 0) return differs(in, &t->type, path, r->e);
        in->rows = (uint64_t)row.shape[0];
        row.rank--;
        memmove(row.shape, row.shape + 1, row.rank * sizeof *row.shape);
        if (!type_equal(&row, &in->type)) return differs(in, &t->type, path, r->e);
    }
    in->buf = buf_ref(t->buf);
    in->data = in->buf->data;
    return true;
}

static bool bind_one(StepReplay *r, const char *option) {
    Step *s = &r->step;
    size_t n;
    const char *path;
    TRY(split("bind", option, &n, &path, r->e));
    StepInput *in = step_input(s, option, n);
    if (!in) {
        const char *names[64];
        int k = 0;
        for (; k < s->n_input && k < 64; k++) names[k] = s->input[k].name;
        error_usage(r->e, "there is no input '%.*s'", (int)(n < 100 ? n : 100), option);
        return hint_names(r->e, "input", option, n, names, k);
    }
    if (in->is_bound) return error_usage(r->e, "'%s' is bound twice", in->name);
    IoValue v = {0};
    Err err = {0};
    if (!io_load(path, NULL, NULL, &v, &err)) return bad_file(r->e, &err);
    const IoTensor *t = file_tensor(&v, in, path, r->e);
    bool ok = t && (in->is_number ? bind_number(r, in, t, path) : bind_tensor(r, in, t, path));
    io_fini(&v);
    in->is_bound = ok;
    in->cycles = false;
    return ok;
}

/* "x (f32[32,64], each round), lr (f64)" */
static void describe(Bytes *b, const StepInput *in) {
    char type[256];
    bytes_printf(b, "%s%s (%s%s)", b->n ? ", " : "", in->name,
                 in->is_number ? dtype_info[in->type.dtype].text : type_text(&in->type, type),
                 in->is_row ? ", each round" : "");
}

/* Each input must have a value, for each round. */
static bool check_inputs(StepReplay *r) {
    Bytes missing = {0};
    const Step *s = &r->step;
    for (int i = 0; i < s->n_input; i++)
        if (!s->input[i].rows && !s->input[i].is_computed) describe(&missing, &s->input[i]);
    if (missing.n) {
        error_usage(r->e, "not bound: %s", missing.data);
        error_hint(r->e, "--bind NAME=FILE for each");
        bytes_fini(&missing);
        return false;
    }
    uint64_t fewest = 0;
    for (int i = 0; i < s->n_input; i++) { /* without --times and `repeat N`: as the files say */
        const StepInput *in = &s->input[i];
        bool counts = in->is_row && in->rows && !in->is_same && !in->cycles;
        if (counts && (!fewest || in->rows < fewest)) fewest = in->rows;
    }
    r->times = r->run->times ? r->run->times : s->times ? s->times : fewest;
    if (!r->times) return error_usage(r->e, "how many rounds? --times N says it");
    for (int i = 0; i < s->n_input; i++) {
        const StepInput *in = &s->input[i];
        if (!in->is_row || !in->rows || in->is_same || in->cycles || in->rows >= r->times) continue;
        error_usage(r->e, "'%s' has values for %llu round%s, not for %llu", in->name,
                    (unsigned long long)in->rows, in->rows == 1 ? "" : "s",
                    (unsigned long long)r->times);
        return error_hint(r->e, "--bind %s=FILE with more, or --times %llu", in->name,
                          (unsigned long long)in->rows);
    }
    return true;
}

/* ---- outputs ---- */

static const Attr *output_name(const StepLine *line) {
    return line->kind == STEP_OUTPUT ? inst_attr(&line->inst.inst, ATTR_PATH) : NULL;
}

static bool find_output(StepReplay *r, const char *option) {
    const Step *s = &r->step;
    const char *path, *names[64];
    size_t n;
    int n_names = 0;
    TRY(split("out", option, &n, &path, r->e));
    for (int i = s->end; i < s->n; i++) {
        const Attr *name = output_name(&s->line[i]);
        if (!name) continue;
        if (n_names < 64) names[n_names++] = name->str;
        if (name->n != n || memcmp(name->str, option, n)) continue;
        Err err = {0};
        IoForm form =
            s->line[i].inst.inst.n_in == 1 && !io_is_by_name(path) ? IO_FORM_TENSOR : IO_FORM_ITEMS;
        if (!io_is_known(path, true, &err) || !io_can_save(path, form, &err)) {
            error_from(r->e, &err);
            r->e->kind = E_EXIT, r->e->exit_code = 2;
            return false;
        }
        r->out[i] = path;
        return true;
    }
    error_usage(r->e, "there is no output '%.*s'", (int)(n < 100 ? n : 100), option);
    return hint_names(r->e, "output", option, n, names, n_names);
}

/* Saves an output: a `save` to the file that --out gives. A file of one tensor has no names. */
static bool run_output(StepReplay *r, int i) {
    const StepLine *line = &r->step.line[i];
    if (!r->out[i]) return true;
    InstLine save = line->inst;
    Attr attr[MAX_ATTRS];
    bool by_name = io_is_by_name(r->out[i]);
    save.inst.attr = attr;
    for (int k = 0; k < save.inst.n_attr; k++) {
        attr[k] = line->inst.inst.attr[k];
        if (attr[k].key == ATTR_PATH)
            attr[k].str = r->out[i], attr[k].n = (uint32_t)strlen(r->out[i]);
        if (attr[k].key == ATTR_KEYS && !by_name) attr[k].str = "", attr[k].n = 0;
    }
    return replay_line(r->replay, line->text, line->n, line->line, &save, r->e);
}

/* ---- rounds ---- */

/* Defines the line's id as this round's elements of its input. */
static bool run_input(StepReplay *r, const StepLine *line, const StepInput *in, uint64_t round) {
    const uint8_t *p = step_row(in, round);
    Buf *part = in->buf ? buf_part(in->buf, p, type_bytes(&in->type)) : NULL;
    Handle *h =
        stream_data(r->in->stream, &in->type, p, part, step_at(&r->step, line->line, 0), r->e);
    buf_unref(&part);
    if (!h) return false;
    replay_put(r->replay, line->inst.inst.out[0], h);
    return true;
}

static bool run_line(StepReplay *r, int i, uint64_t round) {
    const StepLine *line = &r->step.line[i];
    const StepInput *in = line->input >= 0 ? &r->step.input[line->input] : NULL;
    if (line->kind == STEP_OUTPUT) return run_output(r, i);
    if (in && in->is_number) return true;
    if (in && (in->is_bound || !in->is_computed)) return run_input(r, line, in, round);
    if (!line->varies)
        return replay_line(r->replay, line->text, line->n, line->line, &line->inst, r->e);
    InstLine now;
    arena_reset(&r->arena);
    TRY(step_parse(&r->step, line, round, &r->text, &r->arena, &now, r->e));
    return replay_line(r->replay, r->text.data, r->text.n, line->line, &now, r->e);
}

/* The values carried to the next round, all at once. Then the ids of the body are free again,
 * except after the last round, for the lines that follow. */
static bool end_round(StepReplay *r, bool is_last) {
    Step *s = &r->step;
    int n = s->end - s->carry;
    Handle **h = arena_alloc(&r->arena, ((size_t)n + 1) * sizeof *h);
    for (int i = 0; i < n; i++) {
        const StepLine *line = &s->line[s->carry + i];
        const Handle *to = replay_get(r->replay, line->to);
        h[i] = replay_get(r->replay, line->from);
        if (h[i] && to && !type_equal(&h[i]->type, &to->type)) {
            char is[256], was[256];
            error_at(r->e, step_at(s, line->line, 0), "t%llu is %s, but t%llu is %s",
                     (unsigned long long)line->from, type_text(&h[i]->type, is),
                     (unsigned long long)line->to, type_text(&to->type, was));
            return error_hint(r->e, "a carried value keeps its type");
        }
    }
    for (int i = 0; i < n; i++)
        if (h[i]) handle_ref(h[i]);
    for (int i = 0; i < n; i++)
        if (h[i]) replay_put(r->replay, s->line[s->carry + i].to, h[i]);
    for (int i = s->body; i < s->carry && !is_last; i++)
        for (int k = 0; k < s->line[i].inst.inst.n_out; k++)
            replay_forget(r->replay, s->line[i].inst.inst.out[k]);
    return stream_edge(r->in->stream, r->e);
}

static bool run_rounds(StepReplay *r) {
    const Step *s = &r->step;
    for (int i = 0; i < s->body; i++) TRY(run_line(r, i, 0));
    for (uint64_t round = 0; round < r->times; round++) {
        bool is_last = round + 1 == r->times;
        for (int i = s->body; i < s->carry; i++) TRY(run_line(r, i, round));
        arena_reset(&r->arena);
        TRY(end_round(r, is_last));
        r->n_done++;
    }
    for (int i = s->end; i < s->n; i++) TRY(run_line(r, i, 0));
    return true;
}

/* As replay_run's: what was done, for standard error; and which bound values no round used, unless
 * --times asked for fewer rounds. */
static void print_summary(const StepReplay *r, const Source *src) {
    bool is_dry = stream_mode(r->in->stream) == STREAM_CHECK;
    fflush(stdout);
    fprintf(stderr, "gtsh: %s %llu round%s of %s\n", is_dry ? "checked" : "replayed",
            (unsigned long long)r->n_done, r->n_done == 1 ? "" : "s", src->name);
    for (int i = 0; i < r->step.n_input && !r->run->times; i++) {
        const StepInput *in = &r->step.input[i];
        if (!in->is_row || !in->is_bound || in->is_same || in->rows <= r->times) continue;
        fprintf(stderr, "gtsh: '%s' has values for %llu rounds: --times %llu uses them all\n",
                in->name, (unsigned long long)in->rows, (unsigned long long)in->rows);
    }
}

bool replay_is_step(const char *text, size_t n) { return step_is_text(text, n); }

bool replay_step(Interp *in, const Source *src, const StepRun *run, LangError *e) {
    StepReplay r = {.in = in, .run = run, .e = e};
    bool ok = step_read(src, &r.step, e);
    r.out = xcalloc((size_t)r.step.n + 1, sizeof *r.out);
    for (int i = 0; ok && i < run->n_bind; i++) ok = bind_one(&r, run->bind[i]);
    for (int i = 0; ok && i < run->n_out; i++) ok = find_output(&r, run->out[i]);
    ok = ok && check_inputs(&r);
    if (ok) {
        r.replay = replay_open(in, src);
        ok = run_rounds(&r);
        if (!run->quiet) print_summary(&r, src);
        replay_close(&r.replay);
    }
    free(r.out);
    bytes_fini(&r.text);
    arena_fini(&r.arena);
    step_fini(&r.step);
    return ok;
}

bool replay_cut_step(const char *name, const char *text, size_t n, Bytes *out, Bytes *notes,
                     LangError *e) {
    Source run = {.name = name, .text = text, .n = n, .first_line = 1};
    return step_cut(&run, out, notes, e);
}
