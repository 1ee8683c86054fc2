/* part_peers.c: tensors that go from one engine to another. Two engines of this process, on one
 * device and, if there is another one, on two, read boxes from each other's memory (engine.h,
 * reach), or get them through the host's; and an engine of another process lends its memory. The
 * owner overwrites a box as soon as the reader's mark behind its copies is done.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/part.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARENA = 32 << 20, LENT = 1 << 20, LARGE = 20, NAME = 64 };

typedef struct Peers {
    Part *p;
    int direct, lent, hosted; /* moves */
    const char *note;         /* what the machine does not have */
} Peers;

/* Part of a row-major matrix of `columns` columns. */
typedef struct Box {
    DType dtype;
    int64_t columns, row, column; /* where it begins */
    int64_t shape[2];
    bool is_turned;
} Box;

static View view_of(const Box *b, char *matrix) {
    View v = {.type = {.dtype = (uint8_t)b->dtype, .rank = 2}};
    int r = b->is_turned, c = !r;
    v.data = matrix + (b->row * b->columns + b->column) * dtype_info[b->dtype].size_bytes;
    v.type.shape[r] = b->shape[0], v.stride[r] = b->columns;
    v.type.shape[c] = b->shape[1], v.stride[c] = 1;
    return v;
}

/* A random box of a matrix of random extents, which *rows says. */
static Box some_box(Peers *s, bool is_large, int64_t *rows) {
    static const DType dtypes[] = {DT_U8, DT_BF16, DT_F32, DT_I32, DT_I32, DT_F64};
    Rand *r = &s->p->rand;
    int side = is_large ? 900 : 40;
    Box b = {.dtype = dtypes[rand_below(r, 6)], .is_turned = rand_below(r, 2)};
    *rows = 1 + rand_below(r, side), b.columns = 1 + rand_below(r, side);
    b.row = rand_below(r, (int)*rows), b.column = rand_below(r, (int)b.columns);
    if (rand_below(r, 3) == 0) b.row = b.column = 0;
    b.shape[0] = *rows - b.row, b.shape[1] = b.columns - b.column;
    return b;
}

/* -x of int32, in its own memory, on the engine and on the host. */
static void negate(Part *p, Engine *e, char *at, char *host, int64_t n) {
    View v = {.type = {DT_I32, 1, {n}}, .stride = {1}, .data = at};
    Err err = {0};
    if (call_engine(e, &(Inst){.op = OP_NEG}, &v, 1, &v, &err) != 1)
        part_fail(p, "neg fails: %s", err.text);
    for (int64_t i = 0; i < n; i++) {
        uint32_t x;
        memcpy(&x, host + 4 * i, 4);
        x = 0 - x;
        memcpy(host + 4 * i, &x, 4);
    }
}

/* If the device of one of the engines is lost, the part ends. */
static void look(Part *p, Engine *a, Engine *b) {
    Engine *both[] = {a, b};
    for (int k = 0; k < 2; k++)
        if (both[k]->ops->lost && both[k]->ops->lost(both[k], NULL)) p->e = both[k];
}

/* Compares row-major elements on e with those of a box in host memory. */
static void check(Part *p, Engine *e, const View *got, const View *want) {
    int64_t rows = want->type.shape[0], columns = want->type.shape[1];
    size_t size = (size_t)dtype_info[want->type.dtype].size_bytes;
    char *room = xmalloc(type_bytes(&got->type) + 1);
    e->ops->copy_out(e, room, got);
    engine_settle(e, NULL, NULL);
    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t at = i / columns * want->stride[0] + i % columns * want->stride[1];
        const char *x = room + i * (int64_t)size, *y = (char *)want->data + at * (int64_t)size;
        if (!memcmp(x, y, size)) continue;
        part_fail(p, "element %lld of %lld differs", (long long)i, (long long)(rows * columns));
        break;
    }
    free(room);
}

/* A box of the owner's memory goes to the reader. reached: where the reader finds the owner's
 * arena; NULL: it goes through the host. */
static void move(Peers *s, Engine *owner, Engine *reader, const char *reached, bool is_large) {
    Part *p = s->p;
    int64_t rows;
    Box b = some_box(s, is_large, &rows);
    uint64_t size = (uint64_t)dtype_info[b.dtype].size_bytes,
             bytes = (uint64_t)(rows * b.columns) * size, total;
    void *base;
    int fd;
    char *host = xmalloc(bytes), *at = owner->ops->alloc(owner, bytes);
    View want = view_of(&b, host);
    uint64_t n = type_bytes(&want.type);
    char *to = reader->ops->alloc(reader, n);
    View got = view_dense(&want.type, to);
    owner->ops->arena(owner, &base, &total, &fd);
    if (!at || !to) {
        part_fail(p, "no memory for %llu bytes", (unsigned long long)bytes);
        _exit(EXIT_FAILURE);
    }
    rand_fill(&p->rand, host, bytes);
    owner->ops->copy_in(owner, at, host, bytes);
    if (b.dtype == DT_I32) negate(p, owner, at, host, rows * b.columns);
    View box = view_of(&b, at);
    if (reached) {
        engine_settle(owner, NULL, NULL);
        box.data = (char *)(uintptr_t)reached + ((char *)box.data - (char *)base);
        reader->ops->copy(reader, &got, &box);
    } else {
        char *room = xmalloc(n);
        owner->ops->read(owner, &box, 0, n, room);
        engine_settle(owner, NULL, NULL);
        reader->ops->write(reader, &got, 0, n, room);
        memset(room, 0x5a, n);
        free(room);
    }
    engine_settle(reader, NULL, NULL);
    char *other = xcalloc(bytes, 1);
    owner->ops->copy_in(owner, at, other, bytes);
    free(other);
    owner->ops->free(owner, at, bytes);
    look(p, owner, reader);
    check(p, reader, &got, &want);
    reader->ops->free(reader, to, n);
    free(host);
}

/* ---- Engines of this process ---- */

static Engine *open_peer(Part *p, int device, Err *err) {
    EngineConfig config = {.memory_bytes = ARENA, .device = device, .threads = p->config->threads};
    return p->config->ops->open(&config, err);
}

/* Returns the number of an engine's device; 0: it has none. */
static int device_of(const Engine *e) {
    static const char key[] = "device_number=";
    Bytes about = {0};
    if (!e->ops->about) return 0;
    e->ops->about(e, &about);
    bytes_printf(&about, "%c", 0);
    const char *found = strstr(about.data, key);
    int number = found ? atoi(found + sizeof key - 1) : 0;
    bytes_fini(&about);
    return number;
}

static const char *reach(Engine *e, const Engine *other) {
    void *base;
    uint64_t bytes;
    int fd;
    if (!e->ops->reach) return NULL;
    other->ops->arena(other, &base, &bytes, &fd);
    return e->ops->reach(e, base, bytes, NULL);
}

/* Moves between the part's engine and another one. */
static void move_between(Peers *s, Engine *b, int n) {
    Engine *a = s->p->e;
    bool is_far = device_of(a) != device_of(b);
    const char *b_of_a = reach(a, b), *a_of_b = reach(b, a);
    if (!b_of_a != !a_of_b || (!b_of_a && !is_far && a->ops->reach))
        part_fail(s->p, "two engines of one device do not reach each other");
    if (!b_of_a && is_far) s->note = "; the devices do not reach each other";
    for (int k = 0; k < n; k++) {
        bool is_direct = b_of_a && a_of_b && k % 3;
        if (!part_begin(s->p, "move %d %s%s", k, is_far ? "to another device, " : "",
                        is_direct ? "direct" : "through the host"))
            break;
        const char *reached = k % 2 ? b_of_a : a_of_b;
        move(s, k % 2 ? b : a, k % 2 ? a : b, is_direct ? reached : NULL, k % LARGE == LARGE - 1);
        s->direct += is_direct, s->hosted += !is_direct;
    }
    if (b_of_a) a->ops->leave(a, b_of_a);
    if (a_of_b) b->ops->leave(b, a_of_b);
}

static void move_within(Peers *s, int n) {
    Part *p = s->p;
    int first = device_of(p->e);
    for (int k = 0; k < 2; k++) {
        Err err = {0};
        Engine *b = open_peer(p, p->config->device + k, &err), *shown = b;
        if (!b && err.code == ERR_MEMORY) s->note = "; no memory for a second engine";
        if (!b && err.code != ERR_MEMORY && part_begin(p, "opening engine %d", k + 1))
            part_fail(p, "%s", err.text);
        if (b && (k == 0 || device_of(b) != first)) move_between(s, b, n);
        if (shown == p->e) return; /* its device is lost */
        part_close(p, &b);
    }
}

/* ---- Of another process ---- */

typedef struct Offer {
    EngineHandle handle;
    uint64_t bytes, offset; /* of the arena; of LENT bytes in it */
    bool can_lend;
    Err err;
} Offer;
typedef struct Lender {
    pid_t pid;
    int to, from; /* pipes */
} Lender;

static bool say(int fd, const void *what, size_t n) { return write(fd, what, n) == (ssize_t)n; }
static bool hear(int fd, void *what, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, (char *)what + at, n - at);
        if (got <= 0) return false;
        at += (size_t)got;
    }
    return true;
}
static void fill_lent(uint64_t round, char *host) {
    Rand r = {round};
    rand_fill(&r, host, LENT);
}

/* The other process: fills its memory anew each time that it gets a number. */
_Noreturn static void lend(Part *p, int in, int out) {
    Offer offer = {.can_lend = false};
    uint64_t round;
    void *base;
    int fd;
    Engine *e = open_peer(p, p->config->device, &offer.err);
    char *host = xmalloc(LENT), *at = e ? e->ops->alloc(e, LENT) : NULL;
    if (at) {
        e->ops->arena(e, &base, &offer.bytes, &fd);
        offer.offset = (uint64_t)(at - (char *)base);
        offer.can_lend = e->ops->lend(e, &offer.handle);
    }
    say(out, &offer, sizeof offer);
    while (at && hear(in, &round, sizeof round)) {
        fill_lent(round, host);
        e->ops->copy_in(e, at, host, LENT);
        engine_settle(e, NULL, NULL);
        say(out, &round, sizeof round);
    }
    if (at) e->ops->free(e, at, LENT);
    if (e) e->ops->close(&e);
    free(host);
    fflush(NULL);
    _exit(EXIT_SUCCESS);
}

/* Before any engine is open: a process with an open device must not fork. */
static bool start_lender(Part *p, Lender *l) {
    int to[2], from[2];
    if (!p->config->ops->lend || pipe(to)) return false;
    if (pipe(from)) return close(to[0]), close(to[1]), false;
    fflush(NULL);
    *l = (Lender){.pid = fork(), .to = to[1], .from = from[0]};
    if (l->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(to[1]), close(from[0]);
        lend(p, to[0], from[1]);
    }
    close(to[0]), close(from[1]);
    return l->pid > 0;
}

/* Copies a part of what the lender has written, and has it written anew. */
static void read_lent(Peers *s, const Lender *l, const char *lent, char *host) {
    Part *p = s->p;
    Engine *e = p->e;
    uint64_t round = rand_u64(&p->rand), said = 0;
    Box b = {.dtype = DT_I32, .columns = 512, .is_turned = rand_below(&p->rand, 2)};
    b.row = rand_below(&p->rand, 500), b.column = rand_below(&p->rand, 500);
    b.shape[0] = 512 - b.row, b.shape[1] = 512 - b.column;
    if (!say(l->to, &round, sizeof round) || !hear(l->from, &said, sizeof said) || said != round)
        return part_fail(p, "the lender has ended");
    fill_lent(round, host);
    View want = view_of(&b, host), from = view_of(&b, (char *)(uintptr_t)lent);
    uint64_t n = type_bytes(&want.type);
    char *to = e->ops->alloc(e, n);
    View got = view_dense(&want.type, to);
    e->ops->copy(e, &got, &from);
    check(p, e, &got, &want);
    e->ops->free(e, to, n);
    s->lent++;
}

static void move_from(Peers *s, const Lender *l, int n) {
    Part *p = s->p;
    Offer offer = {.can_lend = false};
    if (!part_begin(p, "another process lends its memory")) return;
    if (!hear(l->from, &offer, sizeof offer)) return part_fail(p, "it has ended");
    if (offer.err.code && offer.err.code != ERR_MEMORY)
        return part_fail(p, "it cannot: %s", offer.err.text);
    const char *at =
        offer.can_lend ? p->e->ops->reach(p->e, NULL, offer.bytes, &offer.handle) : NULL;
    if (!at) {
        s->note = offer.err.code ? "; no memory for an engine of another process"
                                 : "; another process's memory cannot be opened here";
        return;
    }
    char *host = xmalloc(LENT);
    for (int k = 0; k < n && part_begin(p, "move %d from another process", k); k++)
        read_lent(s, l, at + offer.offset, host);
    free(host);
    p->e->ops->leave(p->e, at);
}

void part_peers(Part *p) {
    Peers s = {.p = p, .note = ""};
    Lender l;
    int n = part_rounds(p, 40, 600), status;
    if (!p->config->ops->reach) {
        part_leave_out(p, "engines in the host's memory do not read each other's by themselves");
        return;
    }
    p->tally->all = (uint64_t)(2 * n);
    signal(SIGPIPE, SIG_IGN); /* a lender that has ended is a failure with words */
    bool has_lender = start_lender(p, &l);
    if ((p->e = part_open(p, p->config->ops, ARENA))) {
        if (has_lender) move_from(&s, &l, n / 4);
        move_within(&s, n);
        part_close(p, &p->e);
    }
    if (has_lender) {
        close(l.to), close(l.from);
        while (waitpid(l.pid, &status, 0) < 0 && errno == EINTR) {}
        if (status && part_begin(p, "the process that lends")) part_fail(p, "it ended badly");
    }
    part_done(p, "%d moves between two engines, %d through the host, %d from another process%s",
              s.direct, s.hosted, s.lent, s.note);
}
