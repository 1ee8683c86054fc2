/* dp_ucx.h: reading another machine's memory one-sided, through UCX (openucx.org): RDMA where the
 * network has it, else UCX's own way over tcp. Built in where its headers are found, loaded with
 * dlopen only when asked for; nothing else in the project knows of UCX.
 *
 * All calls into UCX are made by one thread of its own, which sleeps while nothing is under way;
 * this interface hands it work and takes what it has done. A peer that dies fails what is read from
 * it (peer-failure mode), never the process.
 *
 * UCX does not ask who connects: whoever reaches its ports can read and write the memory of this
 * process. It is for networks where all are trusted, hence never used unless it is named.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_NET_DP_UCX_H
#define GT_RUNTIME_NET_DP_UCX_H
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

typedef struct Ucx Ucx;
typedef struct UcxPeer UcxPeer;

/* Makes [memory, memory + bytes) readable by others. done(ctx) is called from the other thread when
 * ucx_next has something. Errors: ERR_IO: not built in, not installed, or it does not start. */
Ucx *ucx_open(const void *memory, uint64_t bytes, void (*done)(void *ctx), void *ctx, Err *err);
/* Ends its thread; what is under way ends as failed, and is still given by ucx_next. Peers are
 * closed before. Then ucx_close, when there is nothing more. */
void ucx_stop(Ucx *u);
void ucx_close(Ucx **u);
/* What others need to read here; NUL bytes included. Borrowed. */
const void *ucx_card(const Ucx *u, size_t *n);

/* From another's card, which came from somebody who is trusted: UCX believes it. NULL:
 * malformed. */
UcxPeer *ucx_peer_open(Ucx *u, const void *card, size_t n);
/* Its reads end as failed, and are still given by ucx_next. */
void ucx_peer_close(Ucx *u, UcxPeer **p);

/* One piece of a read: n bytes at `from` in the peer's memory go to `to` in the buffer. */
typedef struct UcxRun {
    uint64_t from, to, n;
} UcxRun;
/* Reads all runs into b, which is kept until then, with a name of the caller's choice. Copies
 * run. */
void ucx_read(Ucx *u, UcxPeer *p, const UcxRun *run, size_t n_runs, Buf *b, uint64_t name);
/* The next read that has ended; false: none. b is the caller's again; ok: it holds what was
 * read. */
bool ucx_next(Ucx *u, uint64_t *name, Buf **b, bool *ok);
#endif
