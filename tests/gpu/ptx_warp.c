/* ptx_warp.c: instructions in which threads of a warp take part together: shuffles, votes, and
 * their synchronisation.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/ptx_warp.h"
#include <string.h>

/* The members that do it now: all of the mask that the first one gives. 0: those that are here wait
 * for the others. Of a mask that names threads which have ended, the others count. */
static Mask gather(Run *r, Warp *w, const Ins *i, Mask m, int32_t members) {
    const uint32_t *mask = slot_32(w, members);
    int first = __builtin_ctz(m), pc = w->pc[first];
    Mask want = mask[first] & w->lives, here = 0;
    if (!(want >> first & 1)) {
        run_refuse(r, w, i, first, "it is not in its own mask %#x", mask[first]);
        return 0;
    }
    if (want & ~w->alive) {
        run_refuse(r, w, i, first, "lane %d of the mask %#x is not in this call",
                   __builtin_ctz(want & ~w->alive), mask[first]);
        return 0;
    }
    EACH(l, w->alive)
    if (w->pc[l] == pc && mask[l] == mask[first] && ((m | w->parked) >> l & 1)) here |= 1u << l;
    if (want & ~here) {
        w->parked |= here;
        return 0;
    }
    w->parked &= ~here;
    return want;
}
static void synchronise(Warp *w, Mask m) {
    w->now++;
    if (m == w->lives) {
        w->all_met = w->now;
        return;
    }
    EACH(a, m) EACH(b, m) w->met[a][b] = w->now;
}
static Mask shuffle(Run *r, Warp *w, const Ins *i, Mask m) {
    Mask all = gather(r, w, i, m, i->s[3]);
    uint32_t v[LANES];
    memcpy(v, slot_32(w, i->s[0]), sizeof v);
    uint32_t b[LANES], c[LANES];
    memcpy(b, slot_32(w, i->s[1]), sizeof b);
    memcpy(c, slot_32(w, i->s[2]), sizeof c);
    EACH(l, all) {
        int lane = (int)(b[l] & 31), segment = (int)(c[l] >> 8 & 31), clamp = (int)(c[l] & 31);
        int most = (l & segment) | (clamp & ~segment), least = l & segment;
        int from = i->mode == 'b'   ? l ^ lane
                   : i->mode == 'd' ? l + lane
                   : i->mode == 'u' ? l - lane
                                    : least | (lane & ~segment);
        bool is_in = i->mode == 'u' ? from >= most : from <= most;
        if (!is_in) from = l;
        if (!(all >> from & 1)) {
            run_refuse(r, w, i, l, "it reads from lane %d, which is not there", from);
            return 0;
        }
        slot_32(w, i->d[0])[l] = v[from];
        if (i->n_d > 1) slot_32(w, i->d[1])[l] = is_in;
    }
    return all;
}
static Mask vote(Run *r, Warp *w, const Ins *i, Mask m) {
    Mask all = gather(r, w, i, m, i->s[1]), yes = 0;
    EACH(l, all) if (slot_32(w, i->s[0])[l]) yes |= 1u << l;
    uint32_t v = i->mode == 'b'   ? yes
                 : i->mode == 'n' ? yes != 0
                 : i->mode == 'u' ? !yes || yes == all
                                  : yes == all;
    EACH(l, all) slot_32(w, i->d[0])[l] = v;
    return all;
}
static Mask match(Run *r, Warp *w, const Ins *i, Mask m) {
    Mask all = gather(r, w, i, m, i->s[1]), same[LANES] = {0};
    EACH(a, all) EACH(b, all) {
        bool equal = lane_get(w, i->s[0], i->bits, a) == lane_get(w, i->s[0], i->bits, b);
        if (equal) same[a] |= 1u << b;
    }
    EACH(l, all) {
        bool is_all = same[l] == all;
        slot_32(w, i->d[0])[l] = i->mode == 'n' || is_all ? same[l] : 0;
        if (i->n_d > 1) slot_32(w, i->d[1])[l] = is_all;
    }
    return all;
}
static uint32_t reduced(const Ins *i, uint32_t a, uint32_t b) {
    bool less = i->is_signed ? (int32_t)a < (int32_t)b : a < b;
    switch (i->mode) {
    case '+': return a + b;
    case '<': return less ? a : b;
    case '>': return less ? b : a;
    case '&': return a & b;
    case '|': return a | b;
    default: return a ^ b;
    }
}
static Mask redux(Run *r, Warp *w, const Ins *i, Mask m) {
    Mask all = gather(r, w, i, m, i->s[1]);
    if (!all) return 0;
    const uint32_t *s = slot_32(w, i->s[0]);
    uint32_t v = s[__builtin_ctz(all)];
    EACH(l, all & (all - 1)) v = reduced(i, v, s[l]);
    EACH(l, all) slot_32(w, i->d[0])[l] = v;
    return all;
}
Mask warp_perform(Run *r, Warp *w, const Ins *i, Mask m) {
    switch (i->kind) {
    case KIND_SHFL: return shuffle(r, w, i, m);
    case KIND_VOTE: return vote(r, w, i, m);
    case KIND_MATCH: return match(r, w, i, m);
    case KIND_REDUX: return redux(r, w, i, m);
    default: break;
    }
    Mask all = gather(r, w, i, m, i->s[0]);
    if (all) synchronise(w, all);
    return all;
}
