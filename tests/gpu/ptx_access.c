/* ptx_access.c: loads, stores and atomics of a warp: checked lane by lane, and counted in sectors
 * and bank turns.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/ptx_warp.h"
#include <string.h>

/* ---- Counting ---- */

enum { SECTOR = 32, BANKS = 32 };
/* How the addresses of a warp's threads lie: all 32 side by side, from a multiple of their size;
 * those of all that take part the same; in any way. */
typedef enum Pattern { PATTERN_ANY, PATTERN_ROW, PATTERN_SAME } Pattern;

static uint64_t sectors(const uint64_t *at, Mask m, uint32_t n, Pattern how) {
    uint64_t seen[2 * LANES], count = 0;
    int first = __builtin_ctz(m);
    if (how != PATTERN_ANY)
        return (at[first] + (how == PATTERN_ROW ? LANES * (uint64_t)n : n) - 1) / SECTOR -
               at[first] / SECTOR + 1;
    EACH(l, m) {
        for (uint64_t s = at[l] / SECTOR; s <= (at[l] + n - 1) / SECTOR; s++) {
            uint64_t k = count;
            while (k > 0 && seen[k - 1] != s) k--;
            if (!k && count < 2 * LANES) seen[count++] = s;
        }
    }
    return count;
}
/* Four bytes a thread, or fewer, of which each bank gives one word: one turn. */
static bool is_one_turn(const uint64_t *at, Mask m) {
    uint64_t word[BANKS];
    Mask used = 0, twice = 0;
    EACH(l, m) {
        uint64_t w = at[l] / 4, b = w % BANKS;
        if (used >> b & 1 && word[b] != w) twice |= 1u << b;
        used |= 1u << b, word[b] = w;
    }
    return !twice;
}
/* 16 bytes a thread are read by a quarter of a warp at a time, 8 by a half: in a turn each bank
 * gives one word. */
static uint64_t bank_turns(const uint64_t *at, Mask m, uint32_t n, Pattern how) {
    uint32_t together = n > 8 ? 8 : n > 4 ? 16 : 32;
    uint64_t turns = 0;
    if (how == PATTERN_ROW) return LANES / together;
    if (n <= 4 && (how == PATTERN_SAME || is_one_turn(at, m))) return 1;
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
static void count_global(Run *r, const uint64_t *at, Mask m, uint32_t n, Pattern how, bool writes) {
    Counters *c = &r->count;
    uint64_t lanes = (uint64_t)__builtin_popcount(m), s = sectors(at, m, n, how);
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
 * This is the way of those that were not only read since then. */
static bool touch_word(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n,
                       uint64_t word, Access access) {
    Word *x = &r->word[word];
    bool has_bytes = x->bytes_epoch == r->epoch, writes = access != ACCESS_READ;
    if (access == ACCESS_ATOMIC) {
        if (!is_ordered(r, w, &x->writer, lane))
            return shared_race(r, w, i, lane, at, &x->writer, "changes what is written,");
        if (!is_ordered(r, w, &x->reader, lane))
            return shared_race(r, w, i, lane, at, &x->reader, "changes what is read,");
        note(r, w, &x->atomic, lane, false);
        x->changed = r->epoch;
        return true;
    }
    if (!is_ordered(r, w, &x->atomic, lane))
        return shared_race(r, w, i, lane, at, &x->atomic, "touches what is changed,");
    if (writes) x->changed = r->epoch;
    if (n >= 4) {
        for (uint64_t k = 4 * word; has_bytes && k < 4 * word + 4; k++)
            if (!touch(r, w, i, lane, k, &r->byte_writer[k], &r->byte_reader[k], writes))
                return false;
        return touch(r, w, i, lane, at, &x->writer, &x->reader, writes);
    }
    if (!is_ordered(r, w, &x->writer, lane))
        return shared_race(r, w, i, lane, at, &x->writer, "touches what is written,");
    if (writes && !is_ordered(r, w, &x->reader, lane))
        return shared_race(r, w, i, lane, at, &x->reader, "writes what is read,");
    x->bytes_epoch = x->changed = r->epoch;
    for (uint64_t k = at; k < at + n; k++)
        if (!touch(r, w, i, lane, k, &r->byte_writer[k], &r->byte_reader[k], writes)) return false;
    return true;
}
static bool touch_shared(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n,
                         Access access) {
    for (uint64_t word = at / 4; word <= (at + n - 1) / 4; word++) {
        Word *x = &r->word[word];
        bool is_new = x->changed != r->epoch && n >= 4;
        if (is_new && access == ACCESS_READ) {
            note(r, w, &x->reader, lane, false);
        } else if (is_new && access == ACCESS_WRITE && x->reader.epoch != r->epoch) {
            note(r, w, &x->writer, lane, true);
            x->changed = r->epoch;
        } else if (!touch_word(r, w, i, lane, at, n, word, access)) {
            return false;
        }
    }
    return true;
}
/* Whether each of n bytes is 1; n is 1, 2, 4, 8 or 16. */
static bool are_set(const uint8_t *p, uint32_t n) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t a = ones, b = ones;
    if (n == 16) memcpy(&b, p + 8, 8);
    switch (n) {
    case 1: return *p;
    case 2: memcpy(&a, p, 2); break;
    case 4: memcpy(&a, p, 4); break;
    default: memcpy(&a, p, 8);
    }
    return a == ones && b == ones;
}
static uint8_t *reach_shared(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at, uint32_t n,
                             Access access) {
    if (at >= r->shared_size || n > r->shared_size - at || !are_set(r->shared_is + at, n)) {
        run_refuse(r, w, i, lane, "%u bytes at %llu of shared memory lie outside its variables", n,
                   (unsigned long long)at);
        return NULL;
    }
    if (!touch_shared(r, w, i, lane, at, n, access)) return NULL;
    if (access != ACCESS_WRITE && !are_set(r->shared_wrote + at, n)) {
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
    if (at >= size || n > size - at || !are_set(w->frame->f->local_is + at, n)) {
        run_refuse(r, w, i, lane, "%u bytes at %llu lie outside local memory of %u", n,
                   (unsigned long long)at, size);
        return NULL;
    }
    uint8_t *wrote = w->frame->wrote + (size_t)lane * size + at;
    if (access == ACCESS_WRITE) memset(wrote, 1, n);
    if (!are_set(wrote, n)) {
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
    if (at & (n - 1)) {
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
/* One value of each thread, of `bytes`, in a slot of so many `wide` each. The widths are constants
 * where it is called: a loop for each. */
static inline void move_value(uint8_t *slot, size_t wide, size_t bytes, bool is_load, Mask m,
                              uint8_t *const *p, size_t at) {
    if (is_load) EACH(l, m) {
            uint64_t v = 0;
            memcpy(&v, p[l] + at, bytes);
            memcpy(slot + (size_t)l * wide, &v, wide);
        }
    else
        EACH(l, m) memcpy(p[l] + at, slot + (size_t)l * wide, bytes);
}
/* The values of an instruction, between registers and p of each lane. */
static void move(const Warp *w, const Ins *i, Mask m, uint8_t *const *p) {
    bool is_load = i->kind == KIND_LOAD;
    for (int k = 0; k < i->vec; k++) {
        int bits = is_load ? i->d_bits[k] : i->s_bits[k];
        uint8_t *slot = w->frame->slots + (is_load ? i->d[k] : i->s[k]);
        size_t at = (size_t)k * i->bytes;
        if (i->unused >> k & 1) continue;
        bool is_plain = bits == 8 * i->bytes || (!is_load && bits <= 32);
        if (is_plain && i->bytes == 4)
            move_value(slot, 4, 4, is_load, m, p, at);
        else if (is_plain && i->bytes == 8)
            move_value(slot, 8, 8, is_load, m, p, at);
        else if (is_plain && i->bytes == 2)
            move_value(slot, 4, 2, is_load, m, p, at);
        else if (is_load)
            EACH(l, m) put_value(w, i, k, l, p[l] + at);
        else
            EACH(l, m) take_value(w, i, k, l, p[l] + at);
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
    uint8_t *base = i->is_call_area ? f->call : f->param, *p[LANES];
    EACH(l, m) {
        if (at[l] % n || at[l] >= size || n > size - at[l]) {
            run_refuse(r, w, i, l, "%u bytes at %llu of the parameters, which have %u", n,
                       (unsigned long long)at[l], size);
            return;
        }
        p[l] = base + (size_t)l * stride + at[l];
    }
    move(w, i, m, p);
}
static Pattern pattern(const uint64_t *at, Mask m, uint32_t n) {
    uint64_t first = at[__builtin_ctz(m)], apart = 0, away = 0;
    for (uint64_t l = 0; l < LANES; l++) {
        apart |= at[l] - at[0] - l * n;
        away |= m >> l & 1 ? at[l] ^ first : 0;
    }
    if (!away) return PATTERN_SAME;
    return m == UINT32_MAX && !apart ? PATTERN_ROW : PATTERN_ANY;
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
/* ---- Threads of a warp, in global memory ---- */

/* What the threads of `by` did at a time is ordered before what this one does. */
static bool have_met(const Warp *w, Mask by, uint32_t time, int lane) {
    if (!by || w->all_met > time) return true;
    EACH(l, by & ~(1u << lane)) if (w->met[l][lane] <= time) return false;
    return true;
}
static bool touch_lane(Run *r, const Warp *w, const Ins *i, int lane, uint64_t word, bool writes) {
    LaneMark *k = &r->mark[(uint64_t)w->index * LANE_MARKS + word % LANE_MARKS];
    if (k->word != word || k->serial != w->serial)
        *k = (LaneMark){.word = word, .serial = w->serial};
    bool has_met = have_met(w, k->writer, k->wrote, lane);
    if (has_met && writes && !have_met(w, k->readers, k->read, lane)) {
        run_refuse(r, w, i, lane, "race: another thread of the warp reads there");
        return false;
    }
    if (!has_met) {
        run_refuse(r, w, i, lane, "race: another thread of the warp (lane %d) writes there",
                   __builtin_ctz(k->writer));
        return false;
    }
    if (writes) {
        k->writer = 1u << lane, k->wrote = w->now, k->readers = 0;
        return true;
    }
    k->readers = have_met(w, k->readers, k->read, lane) ? 1u << lane : k->readers | 1u << lane;
    k->read = w->now;
    return true;
}
/* Notes accesses of four bytes and more. Not noted: rows of 32 threads side by side, which are
 * most, and atomics. False: two threads that no barrier of the warp orders. */
static bool touch_lanes(Run *r, const Warp *w, const Ins *i, const uint64_t *at, Mask m, uint32_t n,
                        bool writes) {
    EACH(l, m)
    for (uint64_t word = at[l] / 4; word < (at[l] + n) / 4; word++)
        if (!touch_lane(r, w, i, l, word, writes)) return false;
    return true;
}
/* Words of shared memory that nobody changed since the last barrier. */
static bool is_only_read(const Run *r, uint64_t at, uint32_t n) {
    for (uint64_t word = at / 4; word <= (at + n - 1) / 4; word++)
        if (r->word[word].changed == r->epoch) return false;
    return true;
}
/* Whether what two threads of a warp may read at one address, a third may too. */
static bool is_common(const Run *r, const Ins *i, uint64_t at, uint32_t n) {
    Space space = resolve((Space)i->space, &at);
    return space == SPACE_SHARED ? is_only_read(r, at, n) : space != SPACE_LOCAL;
}
/* The bytes of a load of which only some values are used: it reads those. */
static uint8_t *reach_used(Run *r, const Warp *w, const Ins *i, int lane, uint64_t at,
                           Access access) {
    uint8_t *p = NULL;
    for (uint32_t k = 0; k < i->vec; k++) {
        if (i->unused >> k & 1) continue;
        p = reach(r, w, i, lane, at + k * i->bytes, i->bytes, access);
        if (!p) return NULL;
        p -= k * i->bytes;
    }
    return p;
}
/* Where the bytes of each thread lie. False: it was refused. */
static bool reach_each(Run *r, const Warp *w, const Ins *i, const uint64_t *at, Mask m,
                       Access access, uint8_t **p) {
    uint32_t n = (uint32_t)i->vec * i->bytes, alike = 0;
    int last = __builtin_ctz(m);
    bool shares = false;
    EACH(l, m) {
        alike = at[l] == at[last] ? alike + 1 : 1;
        if (alike < 4) shares = alike == 3 && access == ACCESS_READ && is_common(r, i, at[l], n);
        if (shares)
            p[l] = p[last];
        else if (!(p[l] = i->unused ? reach_used(r, w, i, l, at[l], access)
                                    : reach(r, w, i, l, at[l], n, access)))
            return false;
        last = l;
    }
    return true;
}
/* Threads side by side are checked as one, where that can be: the first one's bytes. */
static uint8_t *reach_row(Run *r, const Warp *w, const Ins *i, uint64_t at, Space space,
                          Access access) {
    uint32_t n = (uint32_t)i->vec * i->bytes, all = LANES * n;
    if (space == SPACE_GLOBAL || space == SPACE_CONST)
        return at >= DEVICE_BASE && memory_find(r->l->memory, at, all)
                   ? reach_global(r, w, i, 0, at, all, access)
                   : NULL;
    resolve((Space)i->space, &at);
    if (space != SPACE_SHARED || at >= r->shared_size || all > r->shared_size - at ||
        memchr(r->shared_is + at, 0, all) ||
        (access != ACCESS_WRITE && memchr(r->shared_wrote + at, 0, all)))
        return NULL;
    for (int l = 0; l < LANES; l++)
        if (!touch_shared(r, w, i, l, at + (uint64_t)l * n, n, access)) return NULL;
    if (access != ACCESS_READ) memset(r->shared_wrote + at, 1, all);
    return r->shared + at;
}
static void load_store(Run *r, const Warp *w, const Ins *i, const uint64_t *at, Mask m) {
    uint32_t n = (uint32_t)i->vec * i->bytes;
    Access access = i->kind == KIND_LOAD ? ACCESS_READ : ACCESS_WRITE;
    if (i->is_sync && access == ACCESS_READ) access = ACCESS_ATOMIC;
    uint64_t first = at[__builtin_ctz(m)];
    Space space = resolve((Space)i->space, &first);
    Pattern how = pattern(at, m, n);
    EACH(l, m) if (at[l] & (n - 1)) {
        run_refuse(r, w, i, l, "the address %#llx is not a multiple of %u",
                   (unsigned long long)at[l], n);
        return;
    }
    if (space == SPACE_SHARED)
        r->count.shared++, r->count.shared_turns += bank_turns(at, m, n, how);
    else if (space == SPACE_LOCAL)
        r->count.local++;
    else
        count_global(r, at, m, n, how, access == ACCESS_WRITE);
    bool is_global = space == SPACE_GLOBAL || space == SPACE_CONST;
    if (is_global && access == ACCESS_WRITE && how != PATTERN_ROW && collide(r, w, i, at, m, n))
        return;
    if (is_global && how != PATTERN_ROW && access != ACCESS_ATOMIC &&
        !touch_lanes(r, w, i, at, m, n, access == ACCESS_WRITE))
        return;
    uint8_t *p[LANES], *row = NULL;
    if (how == PATTERN_ROW && !i->unused) row = reach_row(r, w, i, at[0], space, access);
    if (r->bad) return;
    for (size_t l = 0; row && l < LANES; l++) p[l] = row + l * n;
    if (row || reach_each(r, w, i, at, m, access, p)) move(w, i, m, p);
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
