/* dp_ucx.h: one-sided reads of another machine's memory through UCX (openucx.org): RDMA if the
 * network has it, else UCX's own protocol over TCP. Built in if the headers are found, loaded
 * with dlopen only on request. No other file of the project knows UCX.
 *
 * One thread makes all calls into UCX. It sleeps while nothing is in flight. This interface
 * queues its work and returns its results. A peer that dies fails the reads from it (peer-failure
 * mode), never the process.
 *
 * UCX has no authentication: any process that reaches its ports can read and write the memory of
 * this process. It is for trusted networks only, and used only if GT_DATA_PLANE names it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_DP_UCX_H
#define GT_RUNTIME_NET_DP_UCX_H
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

typedef struct Ucx Ucx;
typedef struct UcxPeer UcxPeer;

/* Makes [memory, memory + bytes) readable by others. The other thread calls done(ctx) when
 * ucx_next has a result. Errors: ERR_IO if UCX is not built in, not installed, or does not
 * start. */
Ucx *ucx_open(const void *memory, uint64_t bytes, void (*done)(void *ctx), void *ctx, Err *err);
/* ucx_stop ends the thread, after all peers were closed. Reads in flight end as failed; ucx_next
 * still returns them. When it has returned all of them, call ucx_close. */
void ucx_stop(Ucx *u);
void ucx_close(Ucx **u);
/* What others need to read here; may contain NUL bytes. Borrowed. */
const void *ucx_card(const Ucx *u, size_t *n);

/* Makes a peer from its card. The card must come from a trusted source, because UCX believes it.
 * NULL: malformed. */
UcxPeer *ucx_peer_open(Ucx *u, const void *card, size_t n);
/* The peer's reads end as failed; ucx_next still returns them. */
void ucx_peer_close(Ucx *u, UcxPeer **p);

/* A piece of a read: n bytes at `from` in the peer's memory go to offset `to` of the buffer. */
typedef struct UcxRun {
    uint64_t from, to, n;
} UcxRun;
/* Starts reading all runs into b, which is held until the read ends. `name` identifies the read.
 * Copies run. */
void ucx_read(Ucx *u, UcxPeer *p, const UcxRun *run, size_t n_runs, Buf *b, uint64_t name);
/* Returns the next read that has ended; false: none. The caller owns b again. ok: b holds the
 * data. */
bool ucx_next(Ucx *u, uint64_t *name, Buf **b, bool *ok);
#endif
