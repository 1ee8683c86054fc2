/* replay_effect.c: the effects of a replay that are not effect_inst's: values on standard output,
 * tensors in files.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "lang/shell/replay_state.h"
#include "lang/text/effects.h"
#include "lang/text/picture.h"
#include "lang/text/progress.h"
#include "lang/text/show.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- files ---- */

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
    const Inst *inst = &r->l.now.inst;
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

/* ---- effects ---- */

bool replay_effect(Replay *r, const Inst *inst, Handle **handle, LangError *e) {
    Effect ef = {.op = inst->op,
                 .attr = inst->attr,
                 .n_attr = inst->n_attr,
                 .handle = handle,
                 .n = inst->n_in};
    switch (inst->op) {
    case OP_SAVE: ef.done = save_done, ef.drop = save_drop, ef.ctx = save_job(inst); break;
    case OP_FETCH:
    case OP_PEEK: ef.done = shown_done, ef.drop = free, ef.ctx = shown_new(r); break;
    case OP_TRACK: return progress_track_inst(r->in, inst, handle, replay_origin(r), e);
    case OP_PLOT:
    case OP_HIST:
    case OP_IMAGE: return picture_inst(r->in, inst, handle, replay_origin(r), e);
    default: return effect_inst(r->in, inst, handle, replay_origin(r), e);
    }
    return stream_effect(r->stream, &ef, replay_origin(r), e);
}
