/* watch.c: see watch.h.
 *
 * Ticks become times when they are sent: the counter runs at a constant rate, so two points at
 * which both were read give all others. The older point is moved on now and then, because the
 * system adjusts its clock's rate.
 * SPDX-License-Identifier: MIT */
#include "worker/exec/watch.h"
#include "worker/exec/move.h"
#include "worker/exec/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

enum {
    BATCH = 512,                    /* rows that are worth a message of their own */
    WAIT_NS = 20 * 1000000,         /* the longest time that a row waits for company */
    ANCHOR_NS = 2 * 1000000000 - 1, /* age at which an anchor is replaced */
    MERGE_NS = 20000                /* waits that follow one another so soon are one */
};

/* True if the counter runs at a constant rate, whatever the processor's clock does. */
static bool has_counter(const Exec *x) {
#ifdef __x86_64__
    unsigned a, b, c, d;
    if (!x->clock && __get_cpuid(0x80000007, &a, &b, &c, &d)) return d >> 8 & 1;
#endif
    return false;
}

/* The memory is the system's zero pages until rows are written. */
void watch_start(Exec *x) {
    Watch *w = xcalloc(1, sizeof *w);
    size_t bytes = WATCH_ROWS * sizeof *w->row;
    void *row = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (row == MAP_FAILED) panic("no memory");
    w->row = row;
    w->check = WATCH_CHECK;
    w->blocked_on = UINT32_MAX;
    x->watch = w;
    w->has_counter = has_counter(x);
    w->anchor = w->later = watch_tick(x);
    w->anchor_ns = w->later_ns = exec_now_ns(x);
}

void watch_end(Exec *x) {
    if (!x->watch) return;
    munmap(x->watch->row, WATCH_ROWS * sizeof *x->watch->row);
    free(x->watch);
    x->watch = NULL;
}

/* ---- Ticks and times ---- */

/* Reads both clocks. Call it before ticks are converted. */
static void look_at_clock(Exec *x) {
    Watch *w = x->watch;
    if (w->later_ns - w->anchor_ns > ANCHOR_NS) w->anchor = w->later, w->anchor_ns = w->later_ns;
    w->later = watch_tick(x), w->later_ns = exec_now_ns(x);
}

static double ns_per_tick(const Watch *w) {
    double ticks = (double)(w->later - w->anchor), ns = (double)(w->later_ns - w->anchor_ns);
    return w->has_counter && ticks > 0 ? ns / ticks : 1;
}

double watch_ns_per_tick(Exec *x) {
    look_at_clock(x);
    return ns_per_tick(x->watch);
}

/* The time at a tick, by ns_per_tick. */
static int64_t time_of(const Watch *w, double rate, uint64_t tick) {
    if (!w->has_counter) return (int64_t)tick;
    return w->later_ns - (int64_t)((double)(int64_t)(w->later - tick) * rate);
}

static uint64_t tick_of(const Watch *w, double rate, int64_t ns) {
    if (!w->has_counter) return (uint64_t)ns;
    return w->later - (uint64_t)(int64_t)((double)(w->later_ns - ns) / rate);
}

/* ---- Sums ---- */

static void sum(Watch *w) {
    for (uint64_t i = w->summed; i < w->n; i++) {
        const WatchRow *row = &w->row[i % WATCH_ROWS];
        if (!time_is_done(row->kind)) continue;
        OpUsage *u = &w->op[row->op];
        u->count++;
        u->ns += row->end - row->begin;
        u->bytes += row->bytes;
        w->moved += row->moved;
    }
    w->summed = w->n;
}

static uint32_t queued(const Exec *x) {
    uint64_t n = 0;
    for (const Client *c = x->clients; c; c = c->next) {
        n += c->n_jobs;
        for (const Frame *f = c->at; f; f = f->next) n += f->reader.count - f->reader.next;
    }
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Sets `to` from a line "device_KEY=NUMBER". */
static void take_number(const char *line, const char *key, int64_t *to) {
    size_t n = strlen(key);
    char *end;
    if (strncmp(line, key, n) || line[n] != '=') return;
    int64_t value = strtoll(line + n + 1, &end, 10);
    if (end > line + n + 1) *to = value;
}

/* From what the engine says about its device. */
static void fill_device(const Exec *x, DeviceUsage *d) {
    static const char name[] = "device=";
    Bytes lines = {0};
    int64_t number = 0, left = -1, total = 0, celsius = INT32_MIN, busy = INT32_MIN;
    if (!x->ops->about) return;
    x->ops->about(x->engine, &lines);
    for (const char *at = lines.data; at && *at;) {
        size_t length = strcspn(at, "\n");
        if (!strncmp(at, name, sizeof name - 1))
            snprintf(d->name, sizeof d->name, "%.*s", (int)(length - (sizeof name - 1)),
                     at + sizeof name - 1);
        take_number(at, "device_number", &number);
        take_number(at, "device_bytes_free", &left);
        take_number(at, "device_bytes_total", &total);
        take_number(at, "device_celsius", &celsius);
        take_number(at, "device_busy_percent", &busy);
        at += length + (at[length] == '\n');
    }
    bytes_fini(&lines);
    d->number = (uint32_t)number;
    d->celsius = (int32_t)celsius, d->busy = (int32_t)busy;
    if (left < 0 || total < left) return;
    d->used = (uint64_t)(total - left), d->total = (uint64_t)total;
}

static void write_usage(Exec *x, Msg *out) {
    Watch *w = x->watch;
    OpUsage op[OP_COUNT];
    Usage u = {.now_ns = w->later_ns, .insts = x->instructions, .kernels = x->kernels, .op = op};
    uint64_t peak;
    double rate = ns_per_tick(w);
    x->ops->memory(x->engine, &u.memory_bytes, &peak, &u.limit_bytes);
    u.queue = queued(x);
    u.pid = (uint32_t)getpid();
    u.blocked_on = w->blocked_on;
    sum(w);
    for (int i = 0; i < IDLE_WHYS; i++) u.idle_ns[i] = (uint64_t)((double)w->idle[i] * rate);
    for (int i = 0; i < OP_COUNT; i++) {
        OpUsage one = w->op[i];
        if (w->running && w->running_op == i && w->later > w->running)
            one.ns += w->later - w->running;
        if (!one.ns && !one.count) continue;
        one.op = (uint16_t)i;
        one.ns = (uint64_t)((double)one.ns * rate);
        op[u.n++] = one;
    }
    u.moved_bytes = w->moved;
    fill_device(x, &u.device);
    wire_usage(&u, out);
}

/* ---- Rows ---- */

static TimeRow time_row(const Watch *w, double rate, const WatchRow *row) {
    int64_t begin = time_of(w, rate, row->begin), end = time_of(w, rate, row->end);
    return (TimeRow){.number = row->number,
                     .id = row->id,
                     .begin_ns = begin,
                     .ns = end > begin ? (uint64_t)(end - begin) : 0,
                     .bytes = row->bytes,
                     .moved = row->moved,
                     .from = row->from,
                     .client = row->client,
                     .op = row->op,
                     .kind = row->kind,
                     .n_out = row->n_out};
}

/* Writes a message with rows [*from, to), as many as it can hold. */
static void write_times(Exec *x, uint64_t *from, uint64_t to, bool is_past, Msg *out) {
    Watch *w = x->watch;
    double rate = ns_per_tick(w);
    uint32_t n = to - *from < TIMES_MAX ? (uint32_t)(to - *from) : TIMES_MAX;
    TimeRow *row = xmalloc((n + 1) * sizeof *row);
    for (uint32_t i = 0; i < n; i++) row[i] = time_row(w, rate, &w->row[(*from + i) % WATCH_ROWS]);
    *from += n;
    Times t = {.n = n, .now_ns = w->later_ns, .row = row};
    t.is_past = is_past, t.is_end = is_past && *from == to;
    wire_times(&t, out);
    free(row);
}

static WatchRow *news_row(Watch *w, uint64_t begin, uint64_t end, TimeKind kind) {
    WatchRow *row = &w->row[w->n++ % WATCH_ROWS];
    *row = (WatchRow){.begin = begin, .end = end, .kind = (uint8_t)kind};
    return row;
}

/* Adds rows about the memory, if its use has changed, and about kernels compiled meanwhile. */
static void note_news(Exec *x, uint64_t tick) {
    Watch *w = x->watch;
    uint64_t used, peak, total;
    double rate = ns_per_tick(w);
    TimeRow call;
    if ((double)(tick - w->news_tick) * rate < WATCH_NEWS_NS) return;
    w->news_tick = tick;
    while (x->takes && x->takes->compiled(x->takes, &call)) {
        uint64_t begin = tick_of(w, rate, call.begin_ns);
        WatchRow *row =
            news_row(w, begin, begin + (uint64_t)((double)call.ns / rate), TIME_COMPILE);
        row->bytes = call.bytes, row->id = call.id;
    }
    x->ops->memory(x->engine, &used, &peak, &total);
    if (used == w->memory_bytes) return;
    w->memory_bytes = used;
    WatchRow *row = news_row(w, tick, tick, TIME_MEMORY);
    row->bytes = used, row->moved = total;
}

void watch_check(Exec *x) {
    Watch *w = x->watch;
    w->check = w->n + WATCH_CHECK;
    look_at_clock(x);
    note_news(x, w->later);
    if (w->what & WATCH_USAGE) sum(w);
    while (w->what & WATCH_TIMES && w->n - w->sent >= BATCH) {
        Msg m;
        write_times(x, &w->sent, w->n, false, &m);
        exec_send(x, &m);
    }
    /* What the ring is about to overwrite is not the past any more. */
    uint64_t oldest = w->n + 2 * WATCH_CHECK > WATCH_ROWS ? w->n + 2 * WATCH_CHECK - WATCH_ROWS : 0;
    if (w->past < oldest) w->past = oldest < w->past_end ? oldest : w->past_end;
}

/* ---- What is sent ---- */

void exec_watch(Exec *x, uint8_t what) {
    Watch *w = x->watch;
    uint8_t more = what & (uint8_t)~w->what;
    if (more & WATCH_TIMES) w->sent = w->n;
    if (more & WATCH_USAGE) {
        w->summed = w->n;
        w->usage_ns = 0;
        memset(w->op, 0, sizeof w->op);
        memset(w->idle, 0, sizeof w->idle);
    }
    w->what = what;
}

void exec_watch_past(Exec *x, uint32_t past_ms) {
    Watch *w = x->watch;
    look_at_clock(x);
    double rate = ns_per_tick(w);
    int64_t since = w->later_ns - (int64_t)past_ms * 1000000;
    uint64_t oldest = w->n > WATCH_ROWS - WATCH_CHECK ? w->n - (WATCH_ROWS - WATCH_CHECK) : 0;
    w->past = w->past_end = w->n;
    while (w->past > oldest && time_of(w, rate, w->row[(w->past - 1) % WATCH_ROWS].end) >= since)
        w->past--;
    w->is_past = true;
}

bool watch_next(Exec *x, bool is_urgent, Msg *out) {
    Watch *w = x->watch;
    if (__builtin_expect(!w->what && !w->is_past, 1)) return false;
    look_at_clock(x);
    if (w->is_past) {
        w->is_past = w->past_end - w->past > TIMES_MAX;
        write_times(x, &w->past, w->past_end, true, out);
        return true;
    }
    if (w->what & WATCH_TIMES && w->n > w->sent &&
        (is_urgent || w->n - w->sent >= BATCH || w->later_ns - w->sent_ns > WAIT_NS)) {
        w->sent_ns = w->later_ns;
        write_times(x, &w->sent, w->n, false, out);
        return true;
    }
    if (!(w->what & WATCH_USAGE) || w->later_ns - w->usage_ns < WATCH_USAGE_MS * INT64_C(1000000))
        return false;
    w->usage_ns = w->later_ns;
    write_usage(x, out);
    return true;
}

/* ---- Waits ---- */

int exec_watch_sleep(const Exec *x, int idle_ms) {
    const Watch *w = x->watch;
    if (w->what & WATCH_TIMES && w->n > w->sent && idle_ms > WAIT_NS / 1000000)
        return WAIT_NS / 1000000;
    return w->what && idle_ms > WATCH_USAGE_MS ? WATCH_USAGE_MS : idle_ms;
}

/* Adds a wait; one that continues the last row's makes that longer. */
static void add_wait(Exec *x, uint64_t began, IdleWhy why, uint32_t on, uint16_t op) {
    Watch *w = x->watch;
    uint64_t now = watch_tick(x);
    double rate = ns_per_tick(w);
    w->idle[why] += now - began;
    w->taken += now - began;
    w->blocked_on = why == IDLE_BLOCKED ? on : UINT32_MAX;
    WatchRow *last = w->n ? &w->row[(w->n - 1) % WATCH_ROWS] : NULL;
    bool is_more = last && last->kind == TIME_IDLE && last->n_out == why && last->from == on &&
                   w->n > w->sent && (double)(began - last->end) * rate < MERGE_NS;
    if (is_more) {
        last->end = now;
        return;
    }
    note_news(x, now);
    if ((double)(now - began) * rate < WATCH_IDLE_NS) return;
    *watch_row(x) = (WatchRow){
        .begin = began, .end = now, .from = on, .op = op, .kind = TIME_IDLE, .n_out = (uint8_t)why};
}

void exec_watch_waited(Exec *x, uint64_t began, IdleWhy why) {
    add_wait(x, began, why, UINT32_MAX, OP_COUNT);
}

void exec_watch_slept(Exec *x, uint64_t began) {
    uint32_t on = UINT32_MAX;
    uint16_t op = OP_COUNT;
    IdleWhy why = move_idle_why(x, &on, &op);
    add_wait(x, began, why, on, op);
}
