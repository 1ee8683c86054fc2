/* replay_verify.c: --verify: compares what a replay fetches with the `value` lines of its file,
 * which --tee writes. An id is assigned once, so its value is one for the whole file, wherever the
 * line stands.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/replay_verify.h"
#include "lang/text/show.h"
#include "runtime/base/sha256.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 5 /* differences that are shown */ };

/* What a line tells of a tensor. */
typedef struct Told {
    struct Told *next; /* of the same id */
    TensorType type;
    uint32_t edge, line;
    bool is_seen;
    const char *sha256; /* NULL: elements */
    const uint8_t *data;
    size_t n;
} Told;

typedef struct Verify {
    Map told; /* id in the file -> Told */
    Map id;   /* id in the stream -> id in the file + 1 */
    Arena arena;
    uint64_t n_same, n_differ;
} Verify;

void verify_open(Replay *r) { r->verify = xcalloc(1, sizeof *r->verify); }

void verify_close(Replay *r) {
    if (!r->verify) return;
    map_fini(&r->verify->told);
    map_fini(&r->verify->id);
    arena_fini(&r->verify->arena);
    free(r->verify);
    r->verify = NULL;
}

bool verify_add(Replay *r, LangError *e) {
    const Inst *inst = &r->l.now.inst;
    const Attr *sha256 = inst_attr(inst, ATTR_SHA256);
    TensorType type;
    e->kind = E_SYNTAX;
    if (inst->n_in != 1 || inst->in[0].kind != IN_TENSOR || inst->n_out ||
        !inst_declared_type(inst, &type))
        return error_at(e, replay_here(r, 0), "value takes an id, a shape, a dtype and elements");
    if (!sha256 && inst->payload_bytes != type_bytes(&type))
        return error_at(e, replay_here(r, 0), "value: not as many elements as the shape says");
    e->kind = E_NONE;
    r->n_told++;
    if (!r->verify) return true;
    Verify *v = r->verify;
    uint64_t id = inst->in[0].id;
    Told *t = arena_zalloc(&v->arena, sizeof *t);
    *t = (Told){.next = map_get(&v->told, id), .type = type, .line = r->l.line, .n = 0};
    t->edge = (uint32_t)inst_int(inst, ATTR_EDGE, 0);
    if (sha256) {
        t->sha256 = arena_strndup(&v->arena, sha256->str, sha256->n);
    } else if (inst->payload_bytes) {
        t->data =
            memcpy(arena_alloc(&v->arena, inst->payload_bytes), inst->payload, inst->payload_bytes);
        t->n = inst->payload_bytes;
    }
    map_put(&v->told, id, t);
    return true;
}

/* "tensor([1., 2.])", or the hash. */
static void put_told(const ReplyValue *v, const char *sha256, Bytes *out) {
    Reply reply = {.n = 1, .value = (ReplyValue *)v};
    Err err = {0};
    PrintOptions options = print_defaults;
    options.precision = 9;
    if (sha256 || !show_format("{!r}", 4, &reply, &options, out, &err))
        bytes_printf(out, "sha256 %.64s", sha256 ? sha256 : "");
}

/* Puts the text of a matrix on one line. */
static void join_lines(Bytes *b) {
    size_t to = 0;
    for (size_t i = 0; i < b->n; i++) {
        bool is_break = b->data[i] == '\n';
        b->data[to++] = is_break ? ' ' : b->data[i];
        while (is_break && i + 1 < b->n && b->data[i + 1] == ' ') i++;
    }
    b->n = to;
    if (b->data) b->data[to] = '\0';
}

static void tell(Replay *r, uint64_t id, const Told *t, const ReplyValue *is, const char *hash) {
    LangError w = {.kind = E_RUN};
    Bytes here = {0}, there = {0};
    ReplyValue was = {.type = t->type, .edge = t->edge, .data = t->data, .bytes = t->n};
    put_told(is, t->sha256 ? hash : NULL, &here);
    put_told(&was, t->sha256, &there);
    join_lines(&here);
    join_lines(&there);
    Span at = {.src = r->l.src, .line = r->l.src->first_line + t->line - 1};
    if (!type_equal(&is->type, &t->type)) {
        char a[256], b[256];
        error_at(&w, at, "t%llu is %s here, %s in the file", (unsigned long long)id,
                 type_text(&is->type, a), type_text(&t->type, b));
    } else {
        error_at(&w, at, "t%llu is %.300s here, %.300s in the file", (unsigned long long)id,
                 here.data, there.data);
    }
    lines_show(&r->l, r->in, &w);
    interp_warn(r->in, &w);
    bytes_fini(&here);
    bytes_fini(&there);
}

static void compare(Replay *r, uint64_t id, const ReplyValue *is) {
    Verify *v = r->verify;
    for (Told *t = map_get(&v->told, id); t; t = t->next) {
        char hash[65] = "";
        if (t->edge != is->edge || t->is_seen) continue;
        t->is_seen = true;
        if (t->sha256) sha256_hex(is->data, is->bytes, hash);
        bool is_same = type_equal(&is->type, &t->type) &&
                       (t->sha256 ? !strcmp(hash, t->sha256)
                                  : is->bytes == t->n && !memcmp(is->data, t->data, t->n));
        if (is_same)
            v->n_same++;
        else if (v->n_differ++ < SHOWN)
            tell(r, id, t, is, hash);
    }
}

static void seen(void *ctx, Handle *const *handle, const Reply *reply) {
    Replay *r = ctx;
    for (uint32_t i = 0; i < reply->n; i++) {
        uintptr_t id = (uintptr_t)map_get(&r->verify->id, handle[i]->id);
        if (id && reply->value[i].status == 0) compare(r, id - 1, &reply->value[i]);
    }
}

void verify_define(Replay *r, uint64_t id, const Handle *h) {
    if (!r->verify) return;
    if (r->verify->id.n == 0) stream_watch(r->stream, seen, r);
    if (id < UINTPTR_MAX) map_put(&r->verify->id, h->id, (void *)(uintptr_t)(id + 1));
}

bool verify_end(Replay *r, LangError *e) {
    const Verify *v = r->verify;
    bool ok = stream_sync(r->stream, e);
    stream_watch(r->stream, NULL, NULL);
    if (!ok || v->n_differ == 0) return ok;
    e->kind = E_RUN;
    return error_set(e, "%llu of %llu values differ from those in %s",
                     (unsigned long long)v->n_differ, (unsigned long long)(v->n_same + v->n_differ),
                     r->l.src->name);
}

void verify_summary(const Replay *r, Bytes *out) {
    const Verify *v = r->verify;
    uint64_t n = v->n_same + v->n_differ;
    bytes_printf(out, "; %llu of its %llu values were compared, %llu differ%s",
                 (unsigned long long)n, (unsigned long long)r->n_told,
                 (unsigned long long)v->n_differ, v->n_differ == 1 ? "s" : "");
}
