/* ptx_run.h: executes a kernel of a program, block by block in random order, a warp at a time.
 *
 * Threads of a warp that stand at the same instruction do it together; those furthest behind run
 * first, which brings together what diverged. An instruction for several threads (.sync) waits for
 * all members of its mask, a barrier for all threads of the block. What a device would let pass, or
 * answer with anything, ends the launch with a sentence: accesses out of bounds, unaligned, of
 * bytes never written, races, threads that do not come, addresses of the host.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_PTX_RUN_H
#define GT_TESTS_GPU_PTX_RUN_H
#include "tests/gpu/memory.h"
#include "tests/gpu/ptx.h"

/* What launches did. Sectors are of 32 bytes; `bytes` those that threads asked for. by_width:
 * accesses of 1, 2, 4, 8, 16 bytes by one thread. */
typedef struct Counters {
    uint64_t launches, blocks;
    uint64_t instructions, threads; /* of warps; of threads */
    uint64_t loads, load_sectors, load_bytes, loads_by_width[5];
    uint64_t stores, store_sectors, store_bytes, stores_by_width[5];
    uint64_t atomics, local;       /* accesses by warps */
    uint64_t shared, shared_turns; /* accesses by warps; turns that bank conflicts make of them */
    uint64_t barriers;
} Counters;
typedef struct Launch {
    const Ptx *program;
    int entry;
    uint32_t grid[3], block[3], shared_bytes;
    const uint8_t *param; /* laid out as the entry's parameters are */
    uint64_t seed;
    Memory *memory;
    Actor actor; /* what is ordered before the launch; each warp gets a serial at each barrier */
    uint32_t *serial; /* the next one */
    uint64_t limit;   /* instructions of warps that it may take */
    bool may_approximate;
    Counters *count;
    char *err; /* why it ended */
    size_t err_size;
} Launch;
/* False: it was refused. */
bool ptx_run(const Launch *launch);
#endif
