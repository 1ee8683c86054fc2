/* memory.h: the memory of the emulated device: allocations with gaps between them, at addresses
 * that are none of the host's (a stray dereference faults), and of each byte whether it was
 * written, and who touched it last.
 *
 * Everything that touches memory has a serial number: a block of threads of a launch, a copy, a
 * fill. Two that touch a byte, one of them writing, must be ordered: those with serials below
 * `floor` are ordered before the one at work, of others `is_before` is asked. A pinned allocation
 * of the host is memory of the device too, at another address.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_GPU_MEMORY_H
#define GT_TESTS_GPU_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Windows of addresses that generic pointers have for shared and local memory. */
#define DEVICE_BASE UINT64_C(0x7000000000000000)
#define SHARED_BASE UINT64_C(0x6000000000000000)
#define LOCAL_BASE  UINT64_C(0x6100000000000000)
enum { MEMORY_GAP = 1 << 16, MEMORY_ALIGN = 512, DEVICES_MAX = 8 };

typedef struct Block {
    uint64_t at, bytes;
    uint8_t *data, *written;   /* of each byte */
    uint32_t *writer, *reader; /* serials of each byte, with the bits of TOUCH_ */
    size_t mapped;
    bool is_pinned, is_module;
    int fd;     /* of what another process may open: the file of data and written; else -1 */
    int opened; /* memory of another process: how often it was opened */
    int device; /* whose memory it is; of pinned memory none's */
} Block;
#define TOUCH_ATOMIC  (UINT32_C(1) << 31) /* of a writer */
#define TOUCH_SEVERAL (UINT32_C(1) << 31) /* of a reader: the number of a ReaderSet */
enum { READERS_MAX = 6, ONE_READER = 0, MANY_WARPS, MANY_BLOCKS };
/* Who read a byte, none ordered before another. Of a launch the many: warps of a block between two
 * barriers have the first serial of that phase, blocks the first of the launch. */
typedef struct ReaderSet {
    uint32_t n, serial[READERS_MAX];
    uint8_t many[READERS_MAX]; /* ONE_READER ... */
} ReaderSet;
typedef struct Memory {
    Block **block; /* by address */
    int n_blocks, cap_blocks;
    uint64_t next, limit;       /* limit: bytes of each device, ... */
    uint64_t used[DEVICES_MAX]; /* ... pinned ones not counted */
    Block *last;                /* found last */
    ReaderSet *set;             /* numbers from set_base on */
    uint32_t n_sets, cap_sets, set_base;
} Memory;
/* Whether what has the serial `earlier` is ordered before the one at work; who it is. */
typedef bool IsBefore(void *ctx, uint32_t earlier);
typedef const char *WhoIs(void *ctx, uint32_t earlier);
typedef struct Actor {
    uint32_t me, floor;
    uint32_t first, phase; /* serials: of the operation, of the block's warps since the barrier */
    IsBefore *is_before;
    WhoIs *who_is;
    void *ctx;
    uint32_t closed; /* the devices whose memory it does not reach: bits */
} Actor;
typedef enum Access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } Access;

void memory_init(Memory *m, uint64_t limit);
void memory_fini(Memory *m);
/* host: NULL, or pinned memory of so many bytes, owned by the caller, all written. NULL: more than
 * the limit. */
Block *memory_alloc(Memory *m, int device, uint64_t bytes, void *host);
void memory_free(Memory *m, Block *b);
/* Memory of another process, in its file: see fd. It counts for no limit. NULL: it cannot be
 * mapped. Consumes fd. */
Block *memory_open(Memory *m, int device, uint64_t bytes, int fd);
/* The allocation that the bytes lie in whole; NULL: none. */
Block *memory_find(Memory *m, uint64_t at, uint64_t bytes);
/* The first allocation that begins at or below `at`, for messages; NULL: none. */
const Block *memory_below(const Memory *m, uint64_t at);
/* Notes an access to bytes of b. False: `err` says which two are not ordered, or which byte was
 * never written. */
bool memory_touch(Memory *m, Block *b, uint64_t offset, uint64_t n, Access access,
                  const Actor *actor, char *err, size_t size);
/* All that ran is ordered before all that comes. */
void memory_settle(Memory *m);
/* Forgets what was written there: reading it before the next write is a mistake. */
void memory_forget(Block *b, uint64_t offset, uint64_t n);
#endif
