/* device.h: the emulated device behind the driver's functions: streams as queues, and what is
 * ordered before what.
 *
 * Each operation has a number in its stream and a clock: up to which number it comes after the
 * operations of every stream. An event is a clock; waiting for it joins clocks; the host's clock is
 * what it has waited for. Operations run late, in any order that clocks allow. Two that touch the
 * same bytes must be ordered by their clocks, whatever order they ran in: so a missing wait is
 * found also where the result happens to be right.
 *
 * The host sees what was copied to it only once its clock says so; until then the buffer holds
 * random bytes. The source of an asynchronous copy must not change before the copy has run.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_DEVICE_H
#define GT_TESTS_GPU_DEVICE_H
#include "tests/gpu/driver_api.h"
#include "tests/gpu/emu.h"
#include <pthread.h>

enum { STREAMS_MAX = 32, FAULTS_MAX = 8, QUEUE_MAX = 4096 };
enum { THREADS_MAX = 1024, SHARED_STATIC_MAX = 48 << 10, SHARED_MAX = 227 << 10, PROCESSORS = 8 };

typedef struct Clock {
    uint32_t upto[STREAMS_MAX];
} Clock;
typedef enum OpKind {
    OP_KERNEL,
    OP_TO_DEVICE,
    OP_TO_HOST,
    OP_ON_DEVICE,
    OP_FILL,
    OP_RECORD,
    OP_HOST,
    OP_WORK,
    OP_FORGET
} OpKind;
typedef struct Op {
    struct Op *next;
    OpKind kind;
    CUstream stream;
    uint32_t number;
    Clock after;
    CUfunction function; /* of a kernel */
    uint32_t grid[3], block[3], shared_bytes;
    uint8_t *param;    /* owned */
    uint64_t to, from; /* of a copy, a fill */
    void *host;
    size_t bytes;
    uint8_t *staged;   /* owned: what was read, or is to be written to the host */
    uint64_t checksum; /* of the source when it was submitted */
    bool is_checked;
    uint32_t value, width;
    CUevent event;
    CUhostFn host_fn;
    EmuWork *work;
    void *ctx; /* of OP_WORK owned */
} Op;
struct CUstream_st {
    int index, device;
    bool is_alive, is_blocking;
    uint32_t issued, done;
    Clock now;        /* what the next operation comes after */
    Op *first, *last; /* submitted, not run */
    uint32_t *serial; /* by number: the first serial of what ran */
    uint32_t cap_serial;
};
struct CUevent_st {
    struct CUevent_st *next;
    bool is_recorded, is_timed, has_stamp;
    int stream;
    uint32_t number;
    Clock clock;
    uint64_t stamp; /* instructions of threads, when it was passed */
};
struct CUfunc_st {
    CUmodule module;
    int index;
    int shared_max; /* that a launch may ask for */
};
struct CUmod_st {
    struct CUmod_st *next;
    int device;
    Ptx *program;
    Block **block; /* by variable of the module; NULL: shared */
    int n_blocks, cap_blocks;
    struct CUfunc_st *function;
    Clock launched; /* the newest launch of a kernel of it, in each stream */
};
struct CUgraph_st {
    struct CUgraph_st *next;
    Op *first, *last;
    int n;
};
struct CUgraphExec_st {
    struct CUgraphExec_st *next;
    Op *first;
    Op **origin; /* nodes of the graph, by position */
    int n;
};
typedef struct Fault {
    char name[48];
    uint64_t left;
    CUresult code;
    bool loses; /* the device is lost then */
} Fault;
/* What ran: serials from `serial` on are of that operation. */
typedef struct Ran {
    uint32_t serial, number;
    int stream;
    OpKind kind;
} Ran;
typedef struct Device {
    bool is_open, is_quiet, may_approximate;
    int n_devices, place[DEVICES_MAX]; /* visible ones, and their place in the machine */
    struct CUctx_st {
        int users;      /* how often the primary context is retained */
        CUresult error; /* that every call gives from now on */
        uint32_t open;  /* the devices whose memory it reaches: bits */
    } context[DEVICES_MAX];
    char refusal[600];
    uint64_t seed, random, limit, memory_bytes;
    int version, capability;
    Memory memory;
    uint32_t serial;
    struct CUstream_st stream[STREAMS_MAX]; /* 0: the default stream */
    CUevent events;
    CUmodule modules;
    CUgraph graphs;
    CUgraphExec execs;
    Clock host;
    Op *arriving; /* copies to the host that ran, and that it does not know of */
    Ran *ran;
    size_t n_ran, cap_ran;
    Fault fault[FAULTS_MAX];
    int n_faults;
    char failed[48]; /* the call that failed on purpose */
    Counters count;
    EmuStats stats;
} Device;

extern Device device; /* of the process, as the driver's state is; api_begin() locks it */

/* Begins a call of the API: a code that is not 0 must be given to api_end() at once. */
CUresult api_begin(const char *name);
CUresult api_begin_context(const char *name); /* ... that needs a current context */
CUresult api_end(CUresult code);
/* Prints and keeps why something was refused; gives `code`. */
__attribute__((format(printf, 2, 3))) CUresult device_refuse(CUresult code, const char *format,
                                                             ...);
void device_open(void);
void device_close(void);
uint64_t device_random(void);
void *device_new(size_t bytes); /* zeros */
uint64_t device_checksum(const void *p, size_t n);
extern _Thread_local int device_current; /* 1 + whose context is current in this thread; 0: none */
int device_now(void);                    /* the device whose context is current */
bool device_reaches(int d, int peer);    /* another device's memory, if that is enabled */
CUresult device_error(void);             /* of its context; no context: none */
void device_lose(int k, CUresult code);

/* The stream of a handle; NULL: there is none such. */
CUstream stream_of(CUstream handle);
CUstream stream_new(int of, bool is_blocking);
/* Submits op (consumed). */
CUresult stream_submit(CUstream s, Op *op);
void stream_order(CUstream s); /* brings the stream's clock up to date with the default stream */
/* Runs the stream's operations up to that number, and what they come after. */
void stream_run(CUstream s, uint32_t number);
void stream_run_all(void);
/* The host has waited for all that the clock says. */
void host_learns(const Clock *clock);
void clock_join(Clock *to, const Clock *from);
Op *op_new(OpKind kind);
void op_free(Op *op);
Op *op_copy(const Op *op);
/* A launch, its parameters copied; NULL: `code` says why. */
Op *op_kernel(CUfunction f, const uint32_t *grid, const uint32_t *block, uint32_t shared,
              void **param, CUresult *code);
/* Runs one operation. */
void op_run(Op *op);
#endif
