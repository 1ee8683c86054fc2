/* ptx_access.c: loads, stores and atomics of a warp: checked lane by lane, and counted in sectors
 * and bank turns.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/ptx_warp.h"
#include <string.h>

/* ---- Counting ---- */

enum { SECTOR = 32, BANKS = 32 };

static uint64_t sectors(const uint64_t *at, Mask m, uint32_t n) {
    uint64_t seen[2 * LANES], count = 0;
    EACH(l, m) {
        for (uint64_t s = at[l] / SECTOR; s <= (at[l] + n - 1) / SECTOR; s++) {
            uint64_t k = count;
            while (k > 0 && seen[k - 1] != s) k--;
            if (!k && count < 2 * LANES) seen[count++] = s;
        }
    }
    return count;
}
/* 16 bytes a thread are read by a quarter of a warp at a time, 8 by a half: in a turn each bank
 * gives one word. */
static uint64_t bank_turns(const uint64_t *at, Mask m, uint32_t n) {
    uint32_t together = n > 8 ? 8 : n > 4 ? 16 : 32;
    uint64_t turns = 0;
    for (uint32_t from = 0; from < LANES; from += together) {
        uint64_t word[BANKS][LANES];
        uint32_t count[BANKS] = {0}, most = 0;
        for (uint32_t l = from; l < from + together; l++) {
            if (!(m >> l & 1)) continue;
            for (uint64_t w = at[l] / 4; w <= (at[l] + n - 1) / 4; w++) {
                uint32_t b = w % BANKS, k = 0;
                while (k < count[b] && word[b][k] != w) k++;
                if (k == count[b] && k < LANES) word[b][count[b]++] = w;
                if (count[b] > most) most = count[b];
            }
        }
        turns += most;
    }
    return turns;
}
static void count_global(Run *r, const uint64_t *at, Mask m, uint32_t n, bool writes) {
    Counters *c = &r->count;
    uint64_t lanes = (uint64_t)__builtin_popcount(m), s = sectors(at, m, n);
    int width = __builtin_ctz(n);
    if (writes)
        c->stores++, c->store_sectors += s, c->store_bytes += lanes * n,
            c->stores_by_width[width] += lanes;
    else
        c->loads++, c->load_sectors += s, c->load_bytes += lanes * n,
            c->loads_by_width[width] += lanes;
}

/* ---- Shared memory ---- */

static bool is_ordered(const Run *r, const Warp *w, const Touch *t, int lane) {
    if (t->epoch != r->epoch) return true;
    if (t->warp != w->index) return false;
    if (t->thread == w->index * LANES + lane || w->all_met > t->time) return true;
    return t->thread != TOUCH_MANY && w->met[t->thread % LANES][lane] > t->time;
}
static void note(const Run *r, const Warp *w, Touch *t, int lane, bool is_writer) {
    bool alone = is_writer || is_ordered(r, w, t, lane);
    bool same_warp = t->warp == w->index;
    t->epoch = r->epoch, t->time = w->now;
    t->warp = alone || same_warp ? (uint16_t)w->index : TOUCH_MANY;
    t->thread = alone ? (uint16_t)(w->index * LANES + lane) : TOUCH_MANY;
}
static bool shared_race(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, const Touch *t,
                        const char *what) {
    if (t->thread == TOUCH_MANY)
        run_refuse(r, w, i, lane, "race in shared memory: %s byte %llu, as others do", what,
                   (unsigned long long)at);
    else
        run_refuse(r, w, i, lane, "race in shared memory: %s byte %llu, as thread %u does", what,
                   (unsigned long long)at, t->thread);
    return false;
}
/* One mark, of a word or a byte. */
static bool touch(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, Touch *writer,
                  Touch *reader, bool writes) {
    if (!is_ordered(r, w, writer, lane))
        return shared_race(r, w, i, lane, at, writer,
                           writes ? "both write" : "reads what is written,");
    if (writes && !is_ordered(r, w, reader, lane))
        return shared_race(r, w, i, lane, at, reader, "writes what is read,");
    note(r, w, writes ? writer : reader, lane, writes);
    return true;
}
/* Words have marks; bytes of their own only where less than a word was touched since the barrier.
 */
static bool touch_shared(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n,
                         Access access) {
    for (uint64_t word = at / 4; word <= (at + n - 1) / 4; word++) {
        Touch *atomic = &r->word_atomic[word], *writer = &r->word_writer[word],
              *reader = &r->word_reader[word];
        bool has_bytes = r->bytes_epoch[word] == r->epoch, writes = access != ACCESS_READ;
        if (access == ACCESS_ATOMIC) {
            if (!is_ordered(r, w, writer, lane))
                return shared_race(r, w, i, lane, at, writer, "changes what is written,");
            if (!is_ordered(r, w, reader, lane))
                return shared_race(r, w, i, lane, at, reader, "changes what is read,");
            note(r, w, atomic, lane, false);
            continue;
        }
        if (!is_ordered(r, w, atomic, lane))
            return shared_race(r, w, i, lane, at, atomic, "touches what is changed,");
        if (n >= 4) {
            for (uint64_t k = 4 * word; has_bytes && k < 4 * word + 4; k++)
                if (!touch(r, w, i, lane, k, &r->byte_writer[k], &r->byte_reader[k], writes))
                    return false;
            if (!touch(r, w, i, lane, at, writer, reader, writes)) return false;
            continue;
        }
        if (!is_ordered(r, w, writer, lane))
            return shared_race(r, w, i, lane, at, writer, "touches what is written,");
        if (writes && !is_ordered(r, w, reader, lane))
            return shared_race(r, w, i, lane, at, reader, "writes what is read,");
        r->bytes_epoch[word] = r->epoch;
        for (uint64_t k = at; k < at + n; k++)
            if (!touch(r, w, i, lane, k, &r->byte_writer[k], &r->byte_reader[k], writes))
                return false;
    }
    return true;
}
static uint8_t *reach_shared(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n,
                             Access access) {
    if (at >= r->shared_size || n > r->shared_size - at || memchr(r->shared_is + at, 0, n)) {
        run_refuse(r, w, i, lane, "%u bytes at %llu of shared memory lie outside its variables", n,
                   (unsigned long long)at);
        return NULL;
    }
    if (!touch_shared(r, w, i, lane, at, n, access)) return NULL;
    if (access != ACCESS_WRITE && memchr(r->shared_wrote + at, 0, n)) {
        run_refuse(r, w, i, lane, "byte %llu of shared memory was never written",
                   (unsigned long long)at);
        return NULL;
    }
    if (access != ACCESS_READ) memset(r->shared_wrote + at, 1, n);
    return r->shared + at;
}

/* ---- Local and global memory ---- */

static uint8_t *reach_local(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n,
                            Access access) {
    uint32_t size = w->frame->f->local_bytes;
    if (at >= size || n > size - at || memchr(w->frame->f->local_is + at, 0, n)) {
        run_refuse(r, w, i, lane, "%u bytes at %llu lie outside local memory of %u", n,
                   (unsigned long long)at, size);
        return NULL;
    }
    uint8_t *wrote = w->frame->wrote + (size_t)lane * size + at;
    if (access == ACCESS_WRITE) memset(wrote, 1, n);
    if (memchr(wrote, 0, n)) {
        run_refuse(r, w, i, lane, "byte %llu of local memory was never written",
                   (unsigned long long)at);
        return NULL;
    }
    return w->frame->local + (size_t)lane * size + at;
}
static void refuse_address(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n) {
    unsigned long long a = (unsigned long long)at;
    const Block *b = memory_below(r->l->memory, at);
    if (at < 4096)
        run_refuse(r, w, i, lane, "a null pointer (%#llx)", a);
    else if (at < UINT64_C(1) << 47)
        run_refuse(r, w, i, lane, "%#llx is an address of the host", a);
    else if (b)
        run_refuse(r, w, i, lane,
                   "%u bytes at %#llx lie %llu behind the begin of an allocation of %llu", n, a,
                   (unsigned long long)(at - b->at), (unsigned long long)b->bytes);
    else
        run_refuse(r, w, i, lane, "%u bytes at %#llx lie in no allocation", n, a);
}
static uint8_t *reach_global(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint64_t n,
                             Access access) {
    Block *b = memory_find(r->l->memory, at, n);
    if (!b) {
        refuse_address(r, w, i, lane, at, (uint32_t)n);
        return NULL;
    }
    char why[200];
    if (!memory_touch(r->l->memory, b, at - b->at, n, access, &r->actor, why, sizeof why)) {
        run_refuse(r, w, i, lane, "%s", why);
        return NULL;
    }
    return b->data + (at - b->at);
}
/* The space of a generic address; `at` becomes an offset in it. */
static Space resolve(Space s, uint64_t *at) {
    if (s != SPACE_GENERIC) return s;
    if (*at >= SHARED_BASE && *at < LOCAL_BASE) return *at -= SHARED_BASE, SPACE_SHARED;
    if (*at >= LOCAL_BASE && *at < DEVICE_BASE) return *at -= LOCAL_BASE, SPACE_LOCAL;
    return SPACE_GLOBAL;
}
static uint8_t *reach(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n,
                      Access access) {
    if (at % n) {
        run_refuse(r, w, i, lane, "the address %#llx is not a multiple of %u",
                   (unsigned long long)at, n);
        return NULL;
    }
    switch (resolve((Space)i->space, &at)) {
    case SPACE_SHARED: return reach_shared(r, w, i, lane, at, n, access);
    case SPACE_LOCAL: return reach_local(r, w, i, lane, at, n, access);
    default: return reach_global(r, w, i, lane, at, n, access);
    }
}

/* ---- Values ---- */

static void put_value(const Warp *w, const Ins *i, int k, int lane, const uint8_t *from) {
    uint64_t v = 0;
    memcpy(&v, from, i->bytes);
    if (i->is_signed && i->bits < 64 && v >> (i->bits - 1) & 1) v |= UINT64_MAX << i->bits;
    if (i->d_bits[k] < 32) v &= (UINT64_C(1) << i->d_bits[k]) - 1;
    lane_set(w, i->d[k], i->d_bits[k], lane, v);
}
static void take_value(const Warp *w, const Ins *i, int k, int lane, uint8_t *to) {
    uint64_t v = lane_get(w, i->s[k], i->s_bits[k], lane);
    memcpy(to, &v, i->bytes);
}
static void move(const Warp *w, const Ins *i, int lane, uint8_t *p) {
    for (int k = 0; k < i->vec; k++) {
        if (i->kind == KIND_LOAD)
            put_value(w, i, k, lane, p + k * i->bytes);
        else
            take_value(w, i, k, lane, p + k * i->bytes);
    }
}
static void addresses(const Warp *w, const Ins *i, uint64_t *at) {
    if (i->base < 0) {
        for (int l = 0; l < LANES; l++) at[l] = (uint64_t)i->offset;
    } else if (i->s_bits[OPERANDS - 1] == 32) {
        const uint32_t *p = slot_32(w, i->base);
        for (int l = 0; l < LANES; l++) at[l] = (uint32_t)(p[l] + (uint32_t)i->offset);
    } else {
        const uint64_t *p = slot_64(w, i->base);
        for (int l = 0; l < LANES; l++) at[l] = p[l] + (uint64_t)i->offset;
    }
}
static void parameters(Run *r, const Warp *w, const Ins *i, const uint64_t *at, Mask m) {
    const Frame *f = w->frame;
    uint32_t n = (uint32_t)i->vec * i->bytes,
             size = i->is_call_area ? f->f->call_bytes : f->f->param_bytes;
    uint32_t stride = i->is_call_area ? size : f->param_stride;
    EACH(l, m) {
        if (at[l] % n || at[l] >= size || n > size - at[l]) {
            run_refuse(r, w, i, l, "%u bytes at %llu of the parameters, which have %u", n,
                       (unsigned long long)at[l], size);
            return;
        }
        move(w, i, l, (i->is_call_area ? f->call : f->param) + (size_t)l * stride + at[l]);
    }
}
/* Threads side by side in global memory are checked as one. */
static bool is_row(const Ins *i, const uint64_t *at, Mask m, uint32_t n) {
    if (m != UINT32_MAX || at[0] % n || at[0] < DEVICE_BASE) return false;
    uint64_t apart = 0;
    for (uint64_t l = 0; l < LANES; l++) apart |= at[l] - at[0] - l * n;
    return !apart && i->kind != KIND_ATOM;
}
/* Two threads that write a byte in one instruction: which of them comes last is not defined. */
static bool collide(Run *r, const Warp *w, const Ins *i, const uint64_t *at, Mask m, uint32_t n) {
    bool ascends = true;
    uint64_t end = 0;
    EACH(l, m) {
        ascends &= at[l] >= end;
        end = at[l] + n;
    }
    if (ascends) return false;
    EACH(a, m) EACH(b, m & ~((2u << a) - 1)) {
        if (at[a] >= at[b] + n || at[b] >= at[a] + n) continue;
        run_refuse(r, w, i, a, "race: another thread of the warp (lane %d) writes there too", b);
        return true;
    }
    return false;
}
static void load_store(Run *r, const Warp *w, const Ins *i, const uint64_t *at, Mask m) {
    uint32_t n = (uint32_t)i->vec * i->bytes;
    Access access = i->kind == KIND_LOAD ? ACCESS_READ : ACCESS_WRITE;
    if (i->is_sync && access == ACCESS_READ) access = ACCESS_ATOMIC;
    uint64_t first = at[__builtin_ctz(m)];
    Space space = resolve((Space)i->space, &first);
    if (space == SPACE_SHARED)
        r->count.shared++, r->count.shared_turns += bank_turns(at, m, n);
    else if (space == SPACE_LOCAL)
        r->count.local++;
    else
        count_global(r, at, m, n, access == ACCESS_WRITE);
    EACH(l, m) if (at[l] % n) {
        run_refuse(r, w, i, l, "the address %#llx is not a multiple of %u",
                   (unsigned long long)at[l], n);
        return;
    }
    if (space == SPACE_GLOBAL && access == ACCESS_WRITE && collide(r, w, i, at, m, n)) return;
    bool is_global = space == SPACE_GLOBAL || space == SPACE_CONST;
    if (is_global && is_row(i, at, m, n) && memory_find(r->l->memory, at[0], LANES * (uint64_t)n)) {
        uint8_t *p = reach_global(r, w, i, 0, at[0], LANES * (uint64_t)n, access);
        for (int l = 0; p && l < LANES; l++) move(w, i, l, p + (size_t)l * n);
        return;
    }
    EACH(l, m) {
        uint8_t *p = reach(r, w, i, l, at[l], n, access);
        if (!p) return;
        move(w, i, l, p);
    }
}

/* ---- Atomics ---- */

static uint64_t combined(const Ins *i, uint64_t old, uint64_t b, uint64_t c) {
    bool less = i->bits == 32
                    ? i->is_signed ? (int32_t)old < (int32_t)b : (uint32_t)old < (uint32_t)b
                : i->is_signed ? (int64_t)old < (int64_t)b
                               : old < b;
    switch (i->mode) {
    case '+': return old + b;
    case '<': return less ? old : b;
    case '>': return less ? b : old;
    case '&': return old & b;
    case '|': return old | b;
    case '^': return old ^ b;
    case '=': return b;
    case 'c': return old == b ? c : old;
    case 'i': return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
    }
}
/* Which thread comes first is not defined: they come in random order. */
static void atomics(Run *r, const Warp *w, const Ins *i, const uint64_t *at, Mask m) {
    r->count.atomics++;
    int first = (int)(run_random(r) % LANES);
    for (int k = 0; k < LANES; k++) {
        int l = (k * 5 + first) % LANES;
        if (!(m >> l & 1)) continue;
        uint8_t *p = reach(r, w, i, l, at[l], i->bytes, ACCESS_ATOMIC);
        if (!p) return;
        uint64_t old = 0, mask = i->bits == 64 ? UINT64_MAX : UINT32_MAX;
        memcpy(&old, p, i->bytes);
        uint64_t b = lane_get(w, i->s[0], i->bits, l) & mask;
        uint64_t v = combined(i, old, b, i->n_s > 1 ? lane_get(w, i->s[1], i->bits, l) & mask : 0);
        memcpy(p, &v, i->bytes);
        if (i->n_d) lane_set(w, i->d[0], i->bits, l, old);
    }
}
void access_perform(Run *r, Warp *w, const Ins *i, Mask m) {
    uint64_t at[LANES];
    addresses(w, i, at);
    if (i->space == SPACE_PARAM)
        parameters(r, w, i, at, m);
    else if (i->kind == KIND_ATOM)
        atomics(r, w, i, at, m);
    else
        load_store(r, w, i, at, m);
}
