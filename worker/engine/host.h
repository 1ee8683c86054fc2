/* host.h: shared by the engines that compute inside submit, in the arena of mem.h. A call is done
 * when submit returns, so a ticket only serves to report a failure.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_ENGINE_HOST_H
#define GT_WORKER_ENGINE_HOST_H
#include "worker/engine/engine.h"
#include "worker/engine/mem.h"

typedef struct HostFailure HostFailure;
typedef struct HostEngine {
    Engine engine; /* must be first, in the engine's struct too */
    Mem *mem;
    Ticket last;
    HostFailure *failures; /* not reported yet */
} HostEngine;

bool host_open(HostEngine *h, const EngineOps *ops, const EngineConfig *config, Err *err);
void host_close(HostEngine *h); /* does not free h */
/* The next ticket, with the failure that `done` is to report; NULL: none. */
Ticket host_ticket(HostEngine *h, const Err *failure);

void *host_alloc(Engine *e, uint64_t bytes);
void host_free(Engine *e, void *p, uint64_t bytes);
void host_memory(const Engine *e, uint64_t *used, uint64_t *peak, uint64_t *total);
bool host_has_room(const Engine *e, uint64_t bytes);
void host_trim(Engine *e);
void host_arena(const Engine *e, void **base, uint64_t *bytes, int *fd);
int host_done(Engine *e, Ticket t, bool wait, Err *err);
void host_copy_in(Engine *e, void *device, const void *host, uint64_t bytes);
void host_copy(Engine *e, const View *to, const View *from);
void host_read(Engine *e, const View *box, uint64_t begin, uint64_t bytes, void *host);
void host_write(Engine *e, const View *box, uint64_t begin, uint64_t bytes, const void *host);
uint64_t host_hash(Engine *e, const void *data, int64_t n, int size, uint64_t first,
                   uint16_t sample);
/* The rows of an EngineOps that these functions fill. */
#define HOST_ENGINE_OPS                                                                            \
    .alloc = host_alloc, .free = host_free, .memory = host_memory, .has_room = host_has_room,      \
    .trim = host_trim, .arena = host_arena, .done = host_done, .copy_in = host_copy_in,            \
    .copy = host_copy, .read = host_read, .write = host_write
#endif
