/* ptx_run.c: blocks, warps, and the way of their threads through a program.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/ptx_run.h"
#include "tests/gpu/ptx_warp.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

uint64_t run_random(Run *r) {
    uint64_t z = r->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}
void run_refuse(Run *r, const Warp *w, const Ins *i, int lane, const char *format, ...) {
    if (r->bad) return;
    r->bad = true;
    char *to = r->l->err, who[96] = "";
    size_t size = r->l->err_size;
    const uint32_t *b = r->l->block;
    if (w && lane >= 0) {
        uint32_t t = (uint32_t)(w->index * LANES + lane);
        snprintf(who, sizeof who, ", thread (%u, %u, %u)", t % b[0], t / b[0] % b[1],
                 t / b[0] / b[1]);
    }
    int n =
        snprintf(to, size, "kernel %s, PTX line %d (%s), block (%u, %u, %u)%s: ", r->f->name,
                 i ? i->line : 0, i ? i->name : "-", r->ctaid[0], r->ctaid[1], r->ctaid[2], who);
    if (n < 0 || (size_t)n >= size) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(to + n, size - (size_t)n, format, ap);
    va_end(ap);
}

/* ---- Frames ---- */

static void *need(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}
/* What a register holds before it is written is anything. */
static Frame *new_frame(Run *r, const Function *f) {
    Frame *t = need(1, sizeof *t);
    t->f = f;
    t->slots = need(f->frame_bytes, 1);
    uint32_t *word = (uint32_t *)(void *)t->slots, seed = (uint32_t)run_random(r);
    for (uint32_t k = SLOT_FIRST / 4; k < f->frame_bytes / 4; k++) {
        uint32_t v = (seed ^ k) * UINT32_C(0x9E3779B1);
        word[k] = (v ^ v >> 15) * UINT32_C(0x85EBCA77);
    }
    t->local = need(f->local_bytes, LANES), t->wrote = need(f->local_bytes, LANES);
    t->call = need(f->call_bytes, LANES), t->param = need(f->param_bytes, LANES);
    for (int k = 0; k < f->n_constants; k++) {
        const Constant *c = &f->constant[k];
        for (int l = 0; l < LANES; l++) {
            uint32_t low = (uint32_t)c->value;
            if (c->bits > 32)
                memcpy(t->slots + c->slot + 8 * l, &c->value, 8);
            else
                memcpy(t->slots + c->slot + 4 * l, &low, 4);
        }
    }
    return t;
}
static void free_frame(Frame *t) {
    if (!t) return;
    free(t->slots), free(t->local), free(t->wrote), free(t->call), free(t->param);
    free(t);
}
static uint32_t special_value(const Run *r, const Warp *w, int which, uint32_t lane) {
    const uint32_t *b = r->l->block, t = (uint32_t)w->index * LANES + lane, bit = 1u << lane;
    switch (which) {
    case SPECIAL_TID: return t % b[0];
    case SPECIAL_TID + 1: return t / b[0] % b[1];
    case SPECIAL_TID + 2: return t / b[0] / b[1];
    case SPECIAL_LANEID: return lane;
    case SPECIAL_WARPID: return (uint32_t)w->index;
    case SPECIAL_EQ: return bit;
    case SPECIAL_LT: return bit - 1;
    case SPECIAL_LE: return bit | (bit - 1);
    case SPECIAL_GT: return ~(bit | (bit - 1));
    case SPECIAL_GE: return ~(bit - 1);
    default: break;
    }
    if (which < SPECIAL_CTAID) return b[which - SPECIAL_NTID];
    return which < SPECIAL_NCTAID ? r->ctaid[which - SPECIAL_CTAID]
                                  : r->l->grid[which - SPECIAL_NCTAID];
}
static void set_specials(const Run *r, const Warp *w, const Frame *t) {
    for (int k = 0; k < SPECIAL_COUNT; k++) {
        if (t->f->special[k] < 0) continue;
        uint32_t *slot = (uint32_t *)(void *)(t->slots + t->f->special[k]);
        for (uint32_t l = 0; l < LANES; l++) slot[l] = special_value(r, w, k, l);
    }
}

/* ---- Instructions of one thread each ---- */

static Mask mask_of(const uint32_t *pred) {
    Mask m = 0;
#ifdef __SSE2__
    for (int k = 0; k < LANES; k += 4) {
        __m128i v = _mm_slli_epi32(_mm_loadu_si128((const __m128i *)(const void *)(pred + k)), 31);
        m |= (Mask)_mm_movemask_ps(_mm_castsi128_ps(v)) << k;
    }
#else
    for (int l = 0; l < LANES; l++) m |= (pred[l] & 1) << l;
#endif
    return m;
}
static void blend(const Warp *w, int32_t slot, int bits, const void *from, Mask m) {
    if (bits > 32) {
        uint64_t *to = slot_64(w, slot);
        const uint64_t *v = from;
        for (int l = 0; l < LANES; l++) to[l] = m >> l & 1 ? v[l] : to[l];
    } else {
        uint32_t *to = slot_32(w, slot);
        const uint32_t *v = from;
        for (int l = 0; l < LANES; l++) to[l] = m >> l & 1 ? v[l] : to[l];
    }
}
/* Where all threads of the call take part, nobody sees what the other lanes get. */
static void compute(Run *r, Warp *w, const Ins *i, Mask m) {
    uint64_t value[LANES];
    uint32_t carry[LANES];
    uint8_t *slots = w->frame->slots, facts = i->op->facts;
    LaneArgs x = {.random = &r->random};
    for (int k = 0; k < 4; k++) x.s[k] = slots + i->s[k];
    if (facts & IS_APPROXIMATE && !r->l->may_approximate) {
        run_refuse(r, w, i, -1, "its bits are not defined");
        return;
    }
    if (facts & (TAKES_CARRY | GIVES_CARRY)) x.s[3] = slots + SLOT_CARRY;
    bool is_whole = !(w->alive & ~m);
    x.d = is_whole ? (void *)(slots + i->d[0]) : (void *)value;
    x.d2 = is_whole ? (void *)(slots + SLOT_CARRY) : (void *)carry;
    i->op->fn(&x);
    if (is_whole) return;
    blend(w, i->d[0], i->d_bits[0], value, m);
    if (facts & GIVES_CARRY) blend(w, SLOT_CARRY, 32, carry, m);
}
static void compare(Warp *w, const Ins *i, Mask m) {
    uint32_t yes[LANES];
    LaneArgs x = {.d = yes};
    for (int k = 0; k < 4; k++) x.s[k] = w->frame->slots + i->s[k];
    i->op->fn(&x);
    const uint32_t *more = slot_32(w, i->s[2]);
    EACH(l, m) {
        uint32_t p = yes[l] & 1, q = !p, c = i->mode ? more[l] & 1 : 0;
        if (i->mode) {
            p = i->mode == 'a' ? p & c : i->mode == 'o' ? p | c : p ^ c;
            q = i->mode == 'a' ? q & c : i->mode == 'o' ? q | c : q ^ c;
        }
        slot_32(w, i->d[0])[l] = p;
        if (i->n_d > 1) slot_32(w, i->d[1])[l] = q;
    }
}
static void pack(const Warp *w, const Ins *i, Mask m) {
    int bits = i->bits / i->n_s;
    EACH(l, m) {
        uint64_t v = 0;
        for (int k = 0; k < i->n_s; k++)
            v |= (lane_get(w, i->s[k], bits, l) & (UINT64_MAX >> (64 - bits))) << (bits * k);
        lane_set(w, i->d[0], i->bits, l, v);
    }
}
static void unpack(const Warp *w, const Ins *i, Mask m) {
    int bits = i->bits / i->n_d;
    EACH(l, m) {
        uint64_t v = lane_get(w, i->s[0], i->bits, l);
        for (int k = 0; k < i->n_d; k++)
            if (i->d[k] != SLOT_NOWHERE)
                lane_set(w, i->d[k], bits, l, v >> (bits * k) & (UINT64_MAX >> (64 - bits)));
    }
}
static void convert_address(const Warp *w, const Ins *i, Mask m) {
    uint64_t base = i->space == SPACE_SHARED  ? SHARED_BASE
                    : i->space == SPACE_LOCAL ? LOCAL_BASE
                                              : 0;
    EACH(l, m) {
        uint64_t v = slot_64(w, i->s[0])[l];
        slot_64(w, i->d[0])[l] = i->is_to ? v - base : v + base;
    }
}

/* ---- The way of a warp ---- */

static void run_warp(Run *r, Warp *w);

static void stand(Warp *w, Mask m, int pc) { EACH(l, m) w->pc[l] = pc; }
/* Arguments go from the caller's call area to the callee's parameters, results back. */
static void pass(const Frame *caller, const Frame *callee, const Ins *i, Mask m, bool is_back) {
    const Function *f = callee->f;
    int n = is_back ? i->n_d : i->n_s;
    for (int k = 0; k < n; k++) {
        const Var *v = &f->var[is_back ? k : f->n_results + k];
        int32_t at = is_back ? i->d[k] : i->s[k];
        EACH(l, m) {
            uint8_t *outer = caller->call + (size_t)l * caller->f->call_bytes + at;
            uint8_t *inner = callee->param + (size_t)l * f->param_bytes + v->at;
            memcpy(is_back ? outer : inner, is_back ? inner : outer, v->bytes);
        }
    }
}
static bool fits(const Frame *caller, const Function *f, const Ins *i) {
    for (int k = 0; k < i->n_d + i->n_s; k++) {
        const Var *v = &f->var[k];
        int32_t at = k < i->n_d ? i->d[k] : i->s[k - i->n_d];
        if ((uint64_t)(uint32_t)at + v->bytes > caller->f->call_bytes) return false;
    }
    return true;
}
static void call(Run *r, Warp *w, const Ins *i, Mask m) {
    const Function *f = &r->m->function[i->target];
    Frame *caller = w->frame;
    if (!f->has_body || w->depth == CALL_DEPTH || !fits(caller, f, i)) {
        run_refuse(r, w, i, __builtin_ctz(m),
                   f->has_body ? "calls are too deep, or have other arguments" : "%s has no body",
                   f->name);
        return;
    }
    Frame *t = r->spare[i->target];
    if (t)
        r->spare[i->target] = t->next;
    else
        t = new_frame(r, f);
    memset(t->wrote, 0, (size_t)f->local_bytes * LANES);
    t->param_stride = f->param_bytes;
    set_specials(r, w, t);
    pass(caller, t, i, m, false);
    Mask alive = w->alive, parked = w->parked, at_barrier = w->at_barrier;
    int pc[LANES];
    memcpy(pc, w->pc, sizeof pc);
    w->frame = t, w->depth++;
    w->alive = m, w->parked = w->at_barrier = 0;
    stand(w, m, f->first);
    run_warp(r, w);
    w->frame = caller, w->depth--;
    memcpy(w->pc, pc, sizeof pc);
    w->alive = alive & w->lives, w->parked = parked, w->at_barrier = at_barrier;
    pass(caller, t, i, m, true);
    t->next = r->spare[i->target];
    r->spare[i->target] = t;
}
static void arrive(Run *r, Warp *w, const Ins *i, Mask m, int pc) {
    if (w->depth) {
        run_refuse(r, w, i, __builtin_ctz(m), "a barrier in a function that is called");
        return;
    }
    const uint32_t *p = i->mode ? slot_32(w, i->s[0]) : NULL;
    EACH(l, m) {
        w->barrier_pc[l] = pc;
        if (p) w->votes[l] = p[l] & 1;
    }
    w->at_barrier |= m;
}
/* What threads do by themselves. */
static void perform(Run *r, Warp *w, const Ins *i, Mask does) {
    switch (i->kind) {
    case KIND_LANES: compute(r, w, i, does); break;
    case KIND_SETP: compare(w, i, does); break;
    case KIND_PACK: pack(w, i, does); break;
    case KIND_UNPACK: unpack(w, i, does); break;
    case KIND_CVTA: convert_address(w, i, does); break;
    case KIND_ACTIVE: EACH(l, does) slot_32(w, i->d[0])[l] = does; break;
    case KIND_FENCE: break;
    case KIND_TRAP: run_refuse(r, w, i, __builtin_ctz(does), "trap"); break;
    default: access_perform(r, w, i, does);
    }
}
/* A group that must be chosen anew: its threads part, wait or end. */
static void part(Run *r, Warp *w, const Ins *i, Mask m, Mask does, int pc) {
    stand(w, m, pc);
    stand(w, m & ~does, pc + 1);
    if (!does) return;
    switch (i->kind) {
    case KIND_BRANCH: stand(w, does, i->target); break;
    case KIND_EXIT:
        w->lives &= ~does;
        w->alive &= ~does;
        break;
    case KIND_RETURN:
        w->alive &= ~does;
        if (!w->depth) w->lives &= ~does;
        break;
    case KIND_CALL:
        call(r, w, i, does);
        stand(w, does, pc + 1);
        break;
    case KIND_BARRIER:
        arrive(r, w, i, does, pc);
        stand(w, does, pc + 1);
        break;
    default: stand(w, warp_perform(r, w, i, does), pc + 1);
    }
}
/* Runs the threads in m from pc on, until they part or reach `stop`, where others wait to join
 * them. */
static void run_group(Run *r, Warp *w, Mask m, int pc, int stop) {
    const Ins *ins = r->m->ins;
    while (!r->bad) {
        const Ins *i = &ins[pc];
        Mask does = m;
        if (i->guard >= 0) {
            Mask yes = mask_of(slot_32(w, i->guard));
            does &= i->is_guard_not ? ~yes : yes;
        }
        if (!i->is_hidden)
            r->count.instructions++, r->count.threads += (uint64_t)__builtin_popcount(does);
        if (!r->budget--) {
            run_refuse(r, w, i, -1, "it does not end");
            return;
        }
        if (i->kind <= KIND_TRAP) {
            if (does) perform(r, w, i, does);
            pc++;
        } else if (i->kind == KIND_BRANCH && (does == m || !does)) {
            pc = does ? i->target : pc + 1;
            if (stop != INT_MAX) break;
        } else {
            part(r, w, i, m, does, pc);
            return;
        }
        if (pc >= stop) break;
    }
    stand(w, m, pc);
}
/* Until its threads have ended, or wait at a barrier. */
static void run_warp(Run *r, Warp *w) {
    while (!r->bad) {
        Mask ready = w->alive & ~w->at_barrier & ~w->parked, m = 0;
        if (!ready) {
            Mask waits = w->parked & w->alive;
            if (!waits) return;
            int lane = __builtin_ctz(waits);
            run_refuse(r, w, &r->m->ins[w->pc[lane]], lane,
                       "it waits for threads that do not come");
            return;
        }
        int pc = INT_MAX, stop = INT_MAX;
        EACH(l, ready) if (w->pc[l] < pc) pc = w->pc[l];
        EACH(l, ready) {
            if (w->pc[l] == pc)
                m |= 1u << l;
            else if (w->pc[l] < stop)
                stop = w->pc[l];
        }
        run_group(r, w, m, pc, stop);
    }
}

/* ---- Blocks ---- */

static bool is_before(void *ctx, uint32_t earlier) {
    Run *r = ctx;
    if (earlier >= r->phase_serial) return false;
    if (earlier >= r->first_serial) return earlier >= r->block_serial;
    return r->l->actor.is_before && r->l->actor.is_before(r->l->actor.ctx, earlier);
}
static const char *who_is(void *ctx, uint32_t earlier) {
    Run *r = ctx;
    if (earlier < r->first_serial && r->l->actor.who_is)
        return r->l->actor.who_is(r->l->actor.ctx, earlier);
    if (earlier >= r->phase_serial)
        snprintf(r->who, sizeof r->who, "warp %u of the block", earlier - r->phase_serial);
    else
        snprintf(r->who, sizeof r->who, "another block");
    return r->who;
}
static void new_serials(Run *r) {
    r->phase_serial = *r->l->serial;
    *r->l->serial += (uint32_t)r->n_warps;
    for (int k = 0; k < r->n_warps; k++) r->warp[k].serial = r->phase_serial + (uint32_t)k;
}
/* All threads that are left wait: they must be all of the block, and at one barrier. */
static void release(Run *r) {
    const Warp *first = &r->warp[0];
    int pc = -1, votes = 0;
    for (int k = 0; k < r->n_warps; k++) {
        const Warp *w = &r->warp[k];
        int n = r->n_threads - k * LANES;
        Mask all = n >= LANES ? UINT32_MAX : (1u << n) - 1;
        EACH(l, w->at_barrier) {
            const Ins *i = &r->m->ins[w->barrier_pc[l]];
            if (pc >= 0 && pc != w->barrier_pc[l])
                run_refuse(r, w, i, l, "others wait at another barrier, PTX line %d",
                           r->m->ins[pc].line);
            pc = w->barrier_pc[l];
            votes += (int)w->votes[l];
            if (w->at_barrier != all && all & ~w->at_barrier)
                run_refuse(r, w, i, l, "lane %d of the warp does not come to the barrier",
                           __builtin_ctz(all & ~w->at_barrier));
        }
        if (!w->at_barrier && first->at_barrier)
            run_refuse(r, w, &r->m->ins[first->barrier_pc[__builtin_ctz(first->at_barrier)]], 0,
                       "it does not come to the barrier");
        if (w->at_barrier && !first->at_barrier)
            run_refuse(r, first, &r->m->ins[pc], 0, "it does not come to the barrier");
    }
    if (r->bad) return;
    const Ins *i = &r->m->ins[pc];
    uint32_t v = i->mode == 'p'   ? (uint32_t)votes
                 : i->mode == 'a' ? votes == r->n_threads
                                  : votes > 0;
    for (int k = 0; k < r->n_warps; k++) {
        Warp *w = &r->warp[k];
        EACH(l, w->at_barrier) if (i->mode) slot_32(w, i->d[0])[l] = v;
        w->at_barrier = 0;
    }
    r->epoch++;
    r->count.barriers++;
    new_serials(r);
}
static void begin_block(Run *r) {
    r->count.blocks++;
    r->epoch++;
    r->block_serial = *r->l->serial;
    new_serials(r);
    if (r->shared) {
        memset(r->shared_wrote, 0, r->m->shared_bytes);
        memset(r->shared_wrote + SHARED_ENTRY, 0, r->f->shared_bytes);
        memset(r->shared_wrote + SHARED_DYNAMIC, 0, r->l->shared_bytes);
    }
    for (int k = 0; k < r->n_warps; k++) {
        Warp *w = &r->warp[k];
        int n = r->n_threads - k * LANES;
        w->lives = w->alive = n >= LANES ? UINT32_MAX : (1u << n) - 1;
        w->parked = w->at_barrier = 0;
        memset(w->votes, 0, sizeof w->votes);
        memset(w->frame->wrote, 0, (size_t)r->f->local_bytes * LANES);
        stand(w, w->alive, r->f->first);
        set_specials(r, w, w->frame);
    }
}
static void run_block(Run *r) {
    begin_block(r);
    while (!r->bad) {
        bool lives = false, waits = false;
        uint64_t from = run_random(r);
        for (int k = 0; k < r->n_warps && !r->bad; k++) {
            Warp *w = &r->warp[(from + (uint64_t)k) % (uint64_t)r->n_warps];
            r->actor.me = w->serial, r->actor.phase = r->phase_serial,
            r->actor.first = r->first_serial;
            run_warp(r, w);
            lives |= w->alive != 0, waits |= w->at_barrier != 0;
        }
        if (r->bad || !lives) return;
        if (waits) release(r);
    }
}
static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t c = a % b;
        a = b, b = c;
    }
    return a;
}
static void run_grid(Run *r) {
    const uint32_t *g = r->l->grid;
    uint64_t n = (uint64_t)g[0] * g[1] * g[2], at = run_random(r) % n, step = run_random(r) % n | 1;
    while (common_divisor(n, step) != 1) step++; /* so that each block comes once */
    for (uint64_t k = 0; k < n && !r->bad; k++, at = (at + step) % n) {
        r->ctaid[0] = (uint32_t)(at % g[0]);
        r->ctaid[1] = (uint32_t)(at / g[0] % g[1]);
        r->ctaid[2] = (uint32_t)(at / g[0] / g[1]);
        run_block(r);
    }
}
static void open_shared(Run *r) {
    const Launch *l = r->l;
    if (!l->shared_bytes && !r->f->shared_bytes && !r->m->shared_bytes) return;
    size_t n = r->shared_size = SHARED_DYNAMIC + l->shared_bytes;
    r->shared = need(n, 1), r->shared_is = need(n, 1), r->shared_wrote = need(n, 1);
    r->byte_writer = need(n, sizeof(Touch)), r->byte_reader = need(n, sizeof(Touch));
    r->word = need(n / 4 + 1, sizeof(Word));
    for (int k = 0; k < r->m->n_shared; k++) {
        const SharedVar *v = &r->m->shared[k];
        if (v->function < 0 || v->function == l->entry) memset(r->shared_is + v->at, 1, v->bytes);
    }
    memset(r->shared_is + SHARED_DYNAMIC, 1, l->shared_bytes);
}
static void close_run(Run *r) {
    free(r->mark);
    free(r->shared), free(r->shared_is), free(r->shared_wrote);
    free(r->word), free(r->byte_writer), free(r->byte_reader);
    for (int k = 0; k < r->n_warps; k++) free_frame(r->warp[k].frame);
    for (int k = 0; k < r->m->n_functions; k++) {
        for (Frame *t = r->spare[k], *next; t; t = next) {
            next = t->next;
            free_frame(t);
        }
    }
    free(r->spare);
    free(r->warp);
    free(r);
}
static void add_counters(Counters *to, const Counters *from) {
    const uint64_t *b = (const uint64_t *)(const void *)from;
    uint64_t *a = (uint64_t *)(void *)to;
    for (size_t k = 0; k < sizeof *to / sizeof *a; k++) a[k] += b[k];
}
bool ptx_run(const Launch *l) {
    Run *r = need(1, sizeof *r);
    *r = (Run){.l = l,
               .m = l->program,
               .f = &l->program->function[l->entry],
               .random = l->seed,
               .budget = l->limit};
    r->n_threads = (int)(l->block[0] * l->block[1] * l->block[2]);
    r->n_warps = (r->n_threads + LANES - 1) / LANES;
    r->actor = (Actor){.floor = l->actor.floor, .is_before = is_before, .who_is = who_is, .ctx = r};
    r->first_serial = *l->serial;
    r->spare = need((size_t)r->m->n_functions, sizeof *r->spare);
    r->warp = need((size_t)r->n_warps, sizeof *r->warp);
    for (int k = 0; k < r->n_warps; k++) {
        r->warp[k].index = k;
        r->warp[k].frame = new_frame(r, r->f);
        memcpy(r->warp[k].frame->param, l->param, r->f->param_bytes);
    }
    r->mark = need((size_t)r->n_warps * LANE_MARKS, sizeof *r->mark);
    open_shared(r);
    r->count.launches = 1;
    run_grid(r);
    if (l->count) add_counters(l->count, &r->count);
    bool ok = !r->bad;
    close_run(r);
    return ok;
}
