/* device.c: the device's state, failures on purpose, and how operations run: kernels, copies,
 * fills.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/device.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Device device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_in_host_fn;
_Thread_local int device_current;

void *device_new(size_t bytes) {
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) abort();
    return p;
}
uint64_t device_random(void) {
    uint64_t z = device.random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}
CUresult device_refuse(CUresult code, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(device.refusal, sizeof device.refusal, format, ap);
    va_end(ap);
    if (!device.is_quiet)
        fprintf(stderr, "emulated device (GT_EMU_SEED=%llu): %s\n", (unsigned long long)device.seed,
                device.refusal);
    return code;
}

/* ---- Calls ---- */

int device_now(void) { return device_current ? device_current - 1 : 0; }
CUresult device_error(void) {
    return device_current ? device.context[device_now()].error : CUDA_SUCCESS;
}
void device_lose(int k, CUresult code) { device.context[k].error = code; }
static CUresult fault(const char *name) {
    for (int k = 0; k < device.n_faults; k++) {
        Fault *f = &device.fault[k];
        if (!f->left || (f->name[0] && strcmp(f->name, name) != 0)) continue;
        if (--f->left) continue;
        snprintf(device.failed, sizeof device.failed, "%s", name);
        if (f->loses) device_lose(device_now(), f->code);
        return f->code;
    }
    return CUDA_SUCCESS;
}
CUresult api_begin(const char *name) {
    if (is_in_host_fn) {
        fprintf(stderr, "emulated device: %s is called in a function of cuLaunchHostFunc\n", name);
        abort();
    }
    pthread_mutex_lock(&lock);
    device.stats.calls++;
    CUresult code = fault(name);
    if (code) return code;
    if (!device.is_open) return CUDA_ERROR_NOT_INITIALIZED;
    return device_error();
}
CUresult api_begin_context(const char *name) {
    CUresult code = api_begin(name);
    if (!code && (!device_current || !device.context[device_now()].users))
        return device_refuse(CUDA_ERROR_INVALID_CONTEXT, "%s: the thread has no context", name);
    return code;
}
CUresult api_end(CUresult code) {
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- State ---- */

static uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}
static void faults_from_environment(void) {
    const char *text = getenv("GT_EMU_FAIL");
    if (!text || !*text) return;
    Fault *f = &device.fault[device.n_faults++];
    *f = (Fault){.left = 0};
    if (text[0] < '0' || text[0] > '9') {
        size_t n = strcspn(text, ":");
        if (n < sizeof f->name) memcpy(f->name, text, n);
        text += n + (text[n] == ':');
    }
    char *end;
    f->left = strtoull(text, &end, 10);
    f->code = *end == ':' ? (CUresult)strtol(end + 1, &end, 10) : CUDA_ERROR_UNKNOWN;
    f->loses = !strcmp(end, ":lost");
}
/* As the driver reads CUDA_VISIBLE_DEVICES: up to the first that is none. */
static void find_devices(void) {
    int all = (int)from_environment("GT_EMU_DEVICES", 1);
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    device.n_devices = 0;
    if (all > DEVICES_MAX) all = DEVICES_MAX;
    for (int k = 0; k < all && !text; k++) device.place[device.n_devices++] = k;
    while (text && *text && device.n_devices < DEVICES_MAX) {
        char *end;
        long k = strtol(text, &end, 10);
        if (end == text || (*end && *end != ',') || k < 0 || k >= all) return;
        device.place[device.n_devices++] = (int)k;
        text = end + (*end == ',');
    }
}
static void set_defaults(uint64_t seed) {
    device.seed = seed;
    device.random = seed * UINT64_C(0x2545F4914F6CDD1D) + 1;
    device.limit = UINT64_C(4000000000);
    device.memory_bytes = from_environment("GT_EMU_MEMORY", 256 << 20);
    device.version = (int)from_environment("GT_EMU_VERSION", 13090);
    device.capability = (int)from_environment("GT_EMU_CAPABILITY", 129);
    device.may_approximate = from_environment("GT_EMU_APPROX", 1) != 0;
    device.serial = 1;
    find_devices();
    device.stream[0].is_alive = device.stream[0].is_blocking = true;
    memory_init(&device.memory, device.memory_bytes);
}
void device_open(void) {
    if (device.is_open) return;
    set_defaults(from_environment("GT_EMU_SEED", 1));
    faults_from_environment();
    device.is_open = true;
}
static void free_ops(Op *op) {
    for (Op *next; op; op = next) {
        next = op->next;
        op_free(op);
    }
}
static void free_module(CUmodule m) {
    ptx_free(m->program);
    free(m->function);
    free(m->block);
    free(m);
}
void device_close(void) {
    for (int k = 0; k < STREAMS_MAX; k++) {
        free_ops(device.stream[k].first);
        free(device.stream[k].serial);
    }
    free_ops(device.arriving);
    for (CUevent e = device.events, next; e; e = next) next = e->next, free(e);
    for (CUmodule m = device.modules, next; m; m = next) next = m->next, free_module(m);
    for (CUgraph g = device.graphs, next; g; g = next) next = g->next, free_ops(g->first), free(g);
    for (CUgraphExec g = device.execs, next; g; g = next)
        next = g->next, free_ops(g->first), free(g->origin), free(g);
    for (int k = 0; k < device.memory.n_blocks; k++)
        if (device.memory.block[k]->is_pinned) free(device.memory.block[k]->data);
    memory_fini(&device.memory);
    free(device.ran);
    memset(&device, 0, sizeof device);
}

/* ---- What tests ask for ---- */

void emu_reset(uint64_t seed) {
    pthread_mutex_lock(&lock);
    bool is_quiet = device.is_quiet;
    device_close();
    set_defaults(seed);
    device.is_quiet = is_quiet;
    device.is_open = true;
    pthread_mutex_unlock(&lock);
}
/* At the end of the process: one line, `NAME=VALUE` of what was asked for and what launches did. */
__attribute__((destructor)) static void write_counters(void) {
    const char *path = getenv("GT_EMU_COUNTERS");
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (!f) return;
    const Counters *c = &device.count;
    const EmuStats *s = &device.stats;
#define SAY(from, name) fprintf(f, #name "=%llu ", (unsigned long long)(from)->name)
    SAY(s, calls), SAY(s, copies), SAY(s, copied_bytes), SAY(s, graph_launches);
    SAY(c, launches), SAY(c, blocks), SAY(c, instructions), SAY(c, threads), SAY(c, barriers);
    SAY(c, loads), SAY(c, load_sectors), SAY(c, load_bytes), SAY(c, stores), SAY(c, store_sectors);
    SAY(c, store_bytes), SAY(c, atomics), SAY(c, local), SAY(c, shared), SAY(c, shared_turns);
#undef SAY
    fputc('\n', f);
    fclose(f);
}
uint64_t emu_seed(void) { return device.seed; }
void emu_memory(uint64_t bytes) { device.memory.limit = device.memory_bytes = bytes; }
const char *emu_refusal(void) { return device.refusal; }
void emu_quiet(bool quiet) { device.is_quiet = quiet; }
void emu_counters(Counters *out) { *out = device.count; }
void emu_stats(EmuStats *out) { *out = device.stats; }
void emu_clear_counters(void) {
    memset(&device.count, 0, sizeof device.count);
    memset(&device.stats, 0, sizeof device.stats);
}
void emu_fail(const char *name, uint64_t n, int code) {
    if (!n || device.n_faults == FAULTS_MAX) device.n_faults = 0;
    if (!n) return;
    Fault *f = &device.fault[device.n_faults++];
    *f = (Fault){.left = n, .code = (CUresult)code};
    snprintf(f->name, sizeof f->name, "%s", name ? name : "");
}
void emu_lose(int code) {
    for (int k = 0; k < DEVICES_MAX; k++) device_lose(k, (CUresult)code);
}
void emu_allow_approximations(bool allow) { device.may_approximate = allow; }
void emu_limit(uint64_t instructions) { device.limit = instructions; }
int emu_forget(uint64_t at, size_t bytes, void *stream) {
    CUresult code = api_begin_context("emu_forget");
    CUstream s = stream_of(stream);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    Op *op = op_new(OP_FORGET);
    op->to = at, op->bytes = bytes;
    return api_end(stream_submit(s, op));
}
int emu_enqueue(void *stream, EmuWork *work, const void *ctx, size_t bytes) {
    CUresult code = api_begin_context("emu_enqueue");
    CUstream s = stream_of(stream);
    if (!code && !s) code = CUDA_ERROR_INVALID_HANDLE;
    if (code) return api_end(code);
    Op *op = op_new(OP_WORK);
    op->work = work;
    op->ctx = device_new(bytes);
    memcpy(op->ctx, ctx, bytes);
    return api_end(stream_submit(s, op));
}
void emu_say(const char *text) { api_end(device_refuse(api_begin("emu_say"), "%s", text)); }
bool emu_row(int k, const char **name, const char **widths, uint8_t *facts) {
    const LaneOp *op = lanes_row(k);
    if (op) *name = op->name, *widths = op->widths, *facts = op->facts;
    return op != NULL;
}
int emu_call(const char *name) { return api_end(api_begin(name)); }

/* ---- At the end ---- */

static int length_of(const void *first, size_t next_at) {
    int n = 0;
    for (const char *p = first; p; n++) memcpy(&p, p + next_at, sizeof p);
    return n;
}
/* Appends a line for the process: `calls=N failed=NAME contexts=N ...`. */
__attribute__((destructor)) static void tell_live(void) {
    const char *path = getenv("GT_EMU_LIVE");
    FILE *f = path && *path && device.stats.calls ? fopen(path, "a") : NULL;
    int contexts = 0, streams = 0, pinned = 0, memory = 0;
    if (!f) return;
    for (int k = 0; k < DEVICES_MAX; k++) contexts += device.context[k].users;
    for (int k = 1; k < STREAMS_MAX; k++) streams += device.stream[k].is_alive;
    for (int k = 0; k < device.memory.n_blocks; k++)
        if (device.memory.block[k]->is_pinned)
            pinned++;
        else
            memory += !device.memory.block[k]->is_module;
    fprintf(f,
            "calls=%llu failed=%s contexts=%d streams=%d events=%d modules=%d graphs=%d pinned=%d "
            "memory=%d\n",
            (unsigned long long)device.stats.calls, device.failed[0] ? device.failed : "none",
            contexts, streams, length_of(device.events, offsetof(struct CUevent_st, next)),
            length_of(device.modules, offsetof(struct CUmod_st, next)),
            length_of(device.graphs, offsetof(struct CUgraph_st, next)) +
                length_of(device.execs, offsetof(struct CUgraphExec_st, next)),
            pinned, memory);
    fclose(f);
}

/* ---- Operations ---- */

static const Ran *ran_by(uint32_t serial) {
    size_t low = 0, high = device.n_ran;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (device.ran[mid].serial <= serial)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &device.ran[low - 1] : NULL;
}
static bool is_before(void *ctx, uint32_t earlier) {
    const Op *op = ctx;
    const Ran *r = ran_by(earlier);
    return r && r->number <= op->after.upto[r->stream];
}
static const char *who_is(void *ctx, uint32_t earlier) {
    static const char *const names[] = {
        "a kernel", "a copy to the device",   "a copy to the host", "a copy",   "a fill",
        "an event", "a function of the host", "a product",          "a release"};
    static char text[100];
    const Ran *r = ran_by(earlier);
    if (!r) return "unknown";
    snprintf(text, sizeof text, "%s, operation %u of stream %d, which nothing orders",
             names[r->kind], r->number, r->stream);
    return text;
}
/* Of the serials that ran, those below are all of operations that this one comes after. */
static Actor actor_of(Op *op) {
    int own = op->stream->device;
    Actor a = {.me = device.serial,
               .closed = ~(device.context[own].open | UINT32_C(1) << own),
               .floor = device.serial,
               .is_before = is_before,
               .who_is = who_is,
               .ctx = op};
    a.first = a.phase = a.me;
    for (int k = 0; k < STREAMS_MAX; k++) {
        const struct CUstream_st *s = &device.stream[k];
        uint32_t next = op->after.upto[k] + 1;
        if (k != op->stream->index && next <= s->done && s->serial[next] < a.floor)
            a.floor = s->serial[next];
    }
    return a;
}
static void fail(const Actor *a, CUresult code, const char *what, const char *why) {
    const Op *op = a->ctx;
    device_lose(op->stream->device, device_refuse(code, "%s%s%s", what, *what ? ": " : "", why));
}
static void run_kernel(Op *op, const Actor *a) {
    char why[500] = "";
    Launch l = {.program = op->function->module->program,
                .entry = op->function->index,
                .shared_bytes = op->shared_bytes,
                .param = op->param,
                .seed = device_random(),
                .memory = &device.memory,
                .actor = *a,
                .serial = &device.serial,
                .limit = device.limit,
                .may_approximate = device.may_approximate,
                .count = &device.count,
                .err = why,
                .err_size = sizeof why};
    memcpy(l.grid, op->grid, sizeof l.grid);
    memcpy(l.block, op->block, sizeof l.block);
    if (!ptx_run(&l))
        fail(a,
             strstr(why, "allocation") || strstr(why, "null") ? CUDA_ERROR_ILLEGAL_ADDRESS
                                                              : CUDA_ERROR_LAUNCH_FAILED,
             "", why);
}
/* Bytes of the device that an operation touches; NULL: refused. */
static uint8_t *reach(uint64_t at, size_t bytes, Access access, const Actor *a, const char *what) {
    char why[300];
    Block *b = memory_find(&device.memory, at, bytes);
    if (!b) {
        snprintf(why, sizeof why, "%zu bytes at %#llx lie in no allocation", bytes,
                 (unsigned long long)at);
    } else if (memory_touch(&device.memory, b, at - b->at, bytes, access, a, why, sizeof why)) {
        return b->data + (at - b->at);
    }
    fail(a, CUDA_ERROR_ILLEGAL_ADDRESS, what, why);
    return NULL;
}
uint64_t device_checksum(const void *p, size_t n) {
    uint64_t h = UINT64_C(0xcbf29ce484222325), v;
    const uint8_t *b = p;
    for (; n >= 8; n -= 8, b += 8) {
        memcpy(&v, b, 8);
        h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    for (; n; n--) h = (h ^ *b++) * UINT64_C(0x100000001b3);
    return h;
}
/* What arrived there, though the host does not know it yet, is the newest. */
static void overlay(const Op *op, uint8_t *bytes) {
    for (const Op *a = device.arriving; a; a = a->next) {
        const uint8_t *from = a->host, *to = op->host;
        if (from + a->bytes <= to || to + op->bytes <= from) continue;
        const uint8_t *begin = from > to ? from : to,
                      *end = from + a->bytes < to + op->bytes ? from + a->bytes : to + op->bytes;
        memcpy(bytes + (begin - to), a->staged + (begin - from), (size_t)(end - begin));
    }
}
static void run_to_device(Op *op, const Actor *a) {
    if (op->is_checked && device_checksum(op->host, op->bytes) != op->checksum) {
        fail(a, CUDA_ERROR_LAUNCH_FAILED, "cuMemcpyHtoDAsync",
             "the host changed the source before the copy ran");
        return;
    }
    uint8_t *to = reach(op->to, op->bytes, ACCESS_WRITE, a, "cuMemcpyHtoD");
    if (!to) return;
    memcpy(to, op->staged ? op->staged : op->host, op->bytes);
    if (!op->staged) overlay(op, to);
}
static void poison(uint8_t *to, size_t n) {
    uint8_t v = (uint8_t)(device_random() | 0x81);
    memset(to, v, n);
}
/* True: op is kept until the host learns of it. */
static bool run_to_host(Op *op, const Actor *a) {
    const uint8_t *from = reach(op->from, op->bytes, ACCESS_READ, a, "cuMemcpyDtoH");
    if (!from) return false;
    op->staged = device_new(op->bytes);
    memcpy(op->staged, from, op->bytes);
    poison(op->host, op->bytes);
    Op **at = &device.arriving;
    while (*at) at = &(*at)->next;
    *at = op;
    return true;
}
static void run_fill(const Op *op, const Actor *a) {
    uint8_t *to = reach(op->to, op->bytes, ACCESS_WRITE, a, "cuMemset");
    for (size_t k = 0; to && k < op->bytes; k += op->width) memcpy(to + k, &op->value, op->width);
}
static void run_work(const Op *op, const Actor *a) {
    char why[300] = "";
    if (!op->work(op->ctx, a, &device.memory, why, sizeof why))
        fail(a, CUDA_ERROR_LAUNCH_FAILED, "", why);
}
static void run_forget(const Op *op) {
    Block *b = memory_find(&device.memory, op->to, op->bytes);
    if (b) memory_forget(b, op->to - b->at, op->bytes);
}
static void run_on_device(const Op *op, const Actor *a) {
    const uint8_t *from = reach(op->from, op->bytes, ACCESS_READ, a, "cuMemcpyDtoD");
    uint8_t *to = from ? reach(op->to, op->bytes, ACCESS_WRITE, a, "cuMemcpyDtoD") : NULL;
    if (to && (from + op->bytes <= to || to + op->bytes <= from))
        memcpy(to, from, op->bytes);
    else if (to)
        fail(a, CUDA_ERROR_INVALID_VALUE, "cuMemcpyDtoD", "source and destination overlap");
}
static void run_record(const Op *op) {
    CUevent e = op->event;
    if (e && e->number == op->number && e->stream == op->stream->index)
        e->has_stamp = true, e->stamp = device.count.threads;
}
void op_run(Op *op) {
    Actor a = actor_of(op);
    bool is_kept = false;
    if (op->kind != OP_KERNEL) device.serial++;
    if (!device.context[op->stream->device].error) {
        switch (op->kind) {
        case OP_KERNEL: run_kernel(op, &a); break;
        case OP_TO_DEVICE: run_to_device(op, &a); break;
        case OP_TO_HOST: is_kept = run_to_host(op, &a); break;
        case OP_ON_DEVICE: run_on_device(op, &a); break;
        case OP_FILL: run_fill(op, &a); break;
        case OP_RECORD: run_record(op); break;
        case OP_HOST:
            is_in_host_fn = true;
            op->host_fn(op->ctx);
            is_in_host_fn = false;
            break;
        case OP_WORK: run_work(op, &a); break;
        case OP_FORGET: run_forget(op); break;
        }
    }
    if (!is_kept) op_free(op);
}
