/* part_memory.c: a full engine. Its memory is filled to the last block; what does not fit is
 * refused with an error; calls on a full engine give the right result, or an error if they need
 * memory beside it; blocks keep their contents while others are freed and allocated; and afterwards
 * it computes as before. An engine of more memory than there can be is refused with an error.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARENA = 64 << 20, BLOCKS = 4096, SMALLEST = 1 << 16 };

typedef struct Block {
    char *p;
    uint64_t bytes, mark; /* mark: what all its words hold */
} Block;

typedef struct Filled {
    Block block[BLOCKS];
    int n;
} Filled;

static View words(const Block *b) {
    return view_dense(&(TensorType){DT_I64, 1, {(int64_t)(b->bytes / 8)}}, b->p);
}

static void mark(Part *p, Block *b) {
    uint64_t *room = xmalloc(b->bytes);
    b->mark = rand_u64(&p->rand);
    for (uint64_t i = 0; i < b->bytes / 8; i++) room[i] = b->mark + i;
    p->e->ops->copy_in(p->e, b->p, room, b->bytes);
    free(room);
}

static void check(Part *p, const Block *b, const char *when) {
    uint64_t *got = xcalloc(b->bytes, 1), i = 0;
    View v = words(b);
    p->e->ops->copy_out(p->e, got, &v);
    engine_settle(p->e, NULL, NULL);
    while (i < b->bytes / 8 && got[i] == b->mark + i) i++;
    if (i < b->bytes / 8)
        part_fail(p, "%s, word %llu of a block of %llu bytes is %llx, not %llx", when,
                  (unsigned long long)i, (unsigned long long)b->bytes, (unsigned long long)got[i],
                  (unsigned long long)(b->mark + i));
    free(got);
}

/* Allocates blocks, smaller ones when large ones do not fit, until none of SMALLEST does. */
static void fill(Part *p, Filled *f) {
    Engine *e = p->e;
    uint64_t most = 8 << 20;
    while (f->n < BLOCKS && most >= SMALLEST) {
        uint64_t bytes = (most / 2 + rand_u64(&p->rand) % (most / 2)) / 8 * 8;
        bool has_room = !e->ops->has_room || e->ops->has_room(e, bytes);
        char *at = e->ops->alloc(e, bytes);
        if (has_room && !at && e->ops->has_room)
            part_fail(p, "%llu bytes are said to be there and are not", (unsigned long long)bytes);
        if (!at) {
            most /= 2;
            continue;
        }
        for (int k = 0; k < f->n; k++)
            if (at < f->block[k].p + f->block[k].bytes && f->block[k].p < at + bytes)
                part_fail(p, "two blocks overlap");
        f->block[f->n] = (Block){.p = at, .bytes = bytes};
        mark(p, &f->block[f->n++]);
    }
}

static void drop(Part *p, Filled *f, int k) {
    p->e->ops->free(p->e, f->block[k].p, f->block[k].bytes);
    f->block[k] = f->block[--f->n];
}

/* b[i] = -b[i], in the block itself: it needs no memory but its own. */
static void negate(Part *p, Block *b) {
    View x = words(b);
    Err err = {0};
    for (int k = 0; k < 2; k++) /* twice: as it was */
        if (call_engine(p->e, &(Inst){.op = OP_NEG}, &x, 1, &x, &err) != 1)
            part_fail(p, "neg in place fails on a full engine: %s", err.text);
    engine_settle(p->e, NULL, NULL);
}

/* Sums a block up into another one: either it is right, or there is no memory for it. */
static void sum_up(Part *p, Block *from, Block *to) {
    Block *small = from->bytes < to->bytes ? from : to;
    int64_t axis = 0;
    Attr attr = {.key = ATTR_AXIS, .n = 1, .ints = &axis};
    Inst inst = {.op = OP_CUMSUM, .n_attr = 1, .attr = &attr};
    View in = words(from), out = words(to);
    in.type.shape[0] = out.type.shape[0] = (int64_t)(small->bytes / 8);
    Err err = {0};
    int result = call_engine(p->e, &inst, &in, 1, &out, &err);
    if (result != 1 && err.code != ERR_MEMORY)
        part_fail(p, "a call on a full engine fails: %s", err.text);
    uint64_t *got = xmalloc(small->bytes), sum = 0, i = 0, n = small->bytes / 8;
    p->e->ops->copy_out(p->e, got, &out);
    engine_settle(p->e, NULL, NULL);
    for (; result == 1 && i < n; i++)
        if ((sum += from->mark + i) != got[i]) break;
    if (result == 1 && i < n) part_fail(p, "cumsum on a full engine is wrong at %d", (int)i);
    free(got);
    mark(p, to);
}

static void check_all(Part *p, const Filled *f, const char *when) {
    for (int k = 0; k < f->n; k++) check(p, &f->block[k], when);
}

/* Frees some blocks, fills the gaps, and looks at the others. */
static void churn(Part *p, Filled *f) {
    for (int k = 0; k < f->n / 2; k++) drop(p, f, rand_below(&p->rand, f->n));
    fill(p, f);
    check_all(p, f, "after others were freed");
}

static void compute_again(Part *p) {
    static const Op ops[] = {OP_ADD, OP_SUM, OP_MATMUL, OP_CUMSUM, OP_GATHER};
    if (!(p->oracle = part_open(p, &engine_cpu, 0))) return;
    for (int k = 0; k < 5; k++) {
        Case c;
        Outcome got, want;
        Difference d;
        if (!case_draw(&c, ops[k], DT_I32, STYLE_WHOLE, p->config->seed + (uint64_t)k)) continue;
        outcome_run(&c, p->oracle, false, &want);
        outcome_run(&c, p->e, false, &got);
        if (!outcome_agrees(&c, &got, &want, AGREE_BITS, &d))
            part_fail(p, "afterwards, %s: %s", op_info[ops[k]].name, d.text);
        outcome_free(&got);
        outcome_free(&want);
        case_free(&c);
    }
    part_close(p, &p->oracle);
}

/* More memory than any machine has is an error, and the engine at hand goes on. */
static void open_too_large(Part *p) {
    Err err = {0};
    EngineConfig config = {.memory_bytes = UINT64_C(1) << 52, .threads = 1};
    Engine *e = p->config->ops->open(&config, &err);
    if (e) {
        part_fail(p, "an engine of 4 PiB opens");
        e->ops->close(&e);
    } else if (!err.code || !err.text[0]) {
        part_fail(p, "an engine of 4 PiB is refused without a word");
    }
}

void part_memory(Part *p) {
    Filled *f = xcalloc(1, sizeof *f);
    int rounds = part_rounds(p, 3, 12), blocks = 0;
    p->tally->all = (uint64_t)rounds + 3;
    if (!(p->e = part_open(p, p->config->ops, ARENA))) return;
    uint64_t used, peak, total;
    if (part_begin(p, "filling %d MiB", ARENA >> 20)) {
        fill(p, f);
        p->e->ops->memory(p->e, &used, &peak, &total);
        if (used < total / 10 * 9)
            part_fail(p, "only %llu of %llu bytes could be used", (unsigned long long)used,
                      (unsigned long long)total);
        if (p->e->ops->alloc(p->e, total)) part_fail(p, "as much again could be allocated");
    }
    for (int k = 0; f->n && k < rounds && part_begin(p, "round %d on a full engine", k); k++) {
        int a = rand_below(&p->rand, f->n), b = rand_below(&p->rand, f->n);
        negate(p, &f->block[a]);
        check(p, &f->block[a], "after neg in place");
        if (a != b) sum_up(p, &f->block[a], &f->block[b]);
        check_all(p, f, "after calls on a full engine");
        churn(p, f);
    }
    if (part_begin(p, "an engine of 4 PiB")) open_too_large(p);
    blocks = f->n;
    while (f->n) drop(p, f, f->n - 1);
    free(f);
    if (part_begin(p, "computing after it was full")) compute_again(p);
    part_close(p, &p->e);
    part_done(p, "%d MiB filled with %d blocks, %d rounds", ARENA >> 20, blocks, rounds);
}
