/* ptx_warp.h: what the files that execute kernels share: warps, the block at work, and how it is
 * refused. ptx_run.c runs them, ptx_warp.c has instructions of several threads, ptx_access.c those
 * that touch memory.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_PTX_WARP_H
#define GT_TESTS_GPU_PTX_WARP_H
#include "tests/gpu/ptx_run.h"

enum { WARPS_MAX = 32 };
/* Registers and memory of one call of a function, for all threads of a warp. */
typedef struct Frame {
    const Function *f;
    uint8_t *slots;         /* f->frame_bytes */
    uint8_t *local, *wrote; /* by lane: f->local_bytes */
    uint8_t *call;          /* by lane: f->call_bytes, arguments and results of what it calls */
    uint8_t *param;         /* by lane: param_stride */
    uint32_t param_stride;  /* 0: one set for all */
    struct Frame *next;     /* of those not in use */
} Frame;
typedef struct Warp {
    int index;
    Mask lives;              /* threads that have not ended */
    Mask alive;              /* of them those in this call of a function */
    Mask parked, at_barrier; /* parked: they wait for others of the warp */
    int pc[LANES], barrier_pc[LANES];
    Frame *frame;
    int depth;
    uint32_t serial;
    uint32_t now;               /* counts synchronisations of the warp */
    uint32_t met[LANES][LANES]; /* when two lanes were last synchronised */
    uint32_t all_met;           /* when all were */
    uint32_t votes[LANES];      /* of a barrier with a reduction */
} Warp;
/* Who touched four bytes of shared memory last, since the barrier `epoch`. */
typedef struct Touch {
    uint32_t epoch, time;
    uint16_t thread; /* TOUCH_MANY: several of a warp */
    uint16_t warp;   /* TOUCH_MANY: several warps */
} Touch;
enum { TOUCH_MANY = UINT16_MAX };
/* The marks of four bytes of shared memory. */
typedef struct Word {
    Touch writer, reader, atomic;
    uint32_t changed;     /* the last barrier after which it was not only read */
    uint32_t bytes_epoch; /* that after which its bytes have marks of their own */
} Word;
/* Which threads of a warp touched four bytes of global memory since its serial changed. A warp has
 * LANE_MARKS, found by address; a newer one takes the place of an older one. */
typedef struct LaneMark {
    uint64_t word;                /* address / 4 */
    uint32_t serial, wrote, read; /* the warp's; its `now` of the last write and read */
    Mask writer, readers;         /* a thread, and those not ordered before another reader */
} LaneMark;
enum { LANE_MARKS = 1024 };
typedef struct Run {
    const Launch *l;
    const Ptx *m;
    const Function *f;
    int n_threads, n_warps;
    uint32_t ctaid[3];
    Warp *warp;
    Frame **spare; /* by function */
    uint32_t shared_size, epoch;
    uint8_t *shared;
    uint8_t *shared_is;    /* bytes of variables */
    uint8_t *shared_wrote; /* bytes that the block wrote */
    Word *word;
    Touch *byte_writer, *byte_reader;
    LaneMark *mark;        /* LANE_MARKS of each warp */
    Actor actor;           /* the warp at work */
    uint32_t first_serial; /* of the launch */
    uint32_t block_serial; /* of the block */
    uint32_t phase_serial; /* of the block since the last barrier */
    uint64_t random, budget;
    Counters count;
    char who[80];
    bool bad;
} Run;
/* For each lane l of the mask, upwards. */
#define EACH(l, m)                                                                                 \
    for (Mask l##_left = (m); l##_left; l##_left &= l##_left - 1)                                  \
        for (int l = __builtin_ctz(l##_left), l##_once = 1; l##_once; l##_once = 0)

/* Ends the launch: kernel, line, block and thread (lane -1: none in particular), and why. */
__attribute__((format(printf, 5, 6))) void run_refuse(Run *r, const Warp *w, const Ins *i, int lane,
                                                      const char *format, ...);
static inline uint32_t *slot_32(const Warp *w, int32_t slot) {
    return (uint32_t *)(void *)(w->frame->slots + slot);
}
static inline uint64_t *slot_64(const Warp *w, int32_t slot) {
    return (uint64_t *)(void *)(w->frame->slots + slot);
}
static inline uint64_t lane_get(const Warp *w, int32_t slot, int bits, int lane) {
    return bits > 32 ? slot_64(w, slot)[lane] : slot_32(w, slot)[lane];
}
static inline void lane_set(const Warp *w, int32_t slot, int bits, int lane, uint64_t v) {
    if (bits > 32)
        slot_64(w, slot)[lane] = v;
    else
        slot_32(w, slot)[lane] = (uint32_t)v;
}
uint64_t run_random(Run *r);
/* Instructions of several threads: those of m that did it; 0: they wait for others. */
Mask warp_perform(Run *r, Warp *w, const Ins *i, Mask m);
/* Loads, stores and atomics. */
void access_perform(Run *r, Warp *w, const Ins *i, Mask m);
#endif
