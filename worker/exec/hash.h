/* hash.h: hashes of results (runtime/inst/hash.h), for gt-diff. They are computed when a result is
 * done, while it is in the cache, and only while the dispatcher asks for them (WATCH_HASHES).
 *
 * Hashed are the results of calls, of data, of moves and collectives, and of fusions those results
 * that are stored. A view has no hash: it shows elements that have one. A temporary of a fusion has
 * none, because it never exists as a tensor. Of a plan (plan.h) the tensors that are left at its
 * end are hashed, because it keeps no names for others; with WATCH_ALL no plans are made or run.
 *
 * Two variables in a worker's environment, read when hashing begins:
 * GT_HASH_KEEP=t37,t40:DIR writes these results, or this worker's parts of them, to files in DIR,
 * for gt-diff, which shows the values that differ.
 * GT_TEST_FLIP=w1:t37:5, for tests, flips bit 5 of worker 1's part of t37 once it is computed,
 * before it is hashed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_HASH_H
#define GT_WORKER_EXEC_HASH_H
#include "runtime/wire/wire_hash.h"
#include "worker/exec/job.h"

/* Starts or stops hashing: `what` is an `or` of WATCH_... */
void exec_hash(Exec *x, uint8_t what);
/* Hashes the results of j, which is done. No effect if one is not stored, or poisoned, or if the
 * engine computes no values. Precondition: Exec.hashing. */
void hash_results(Exec *x, const Job *j);
/* Hashes a tensor of a client that a plan has made, if it is all of its storage. Likewise. */
void hash_tensor(Exec *x, uint32_t client, uint64_t id, const Tensor *t);
static inline void hash_done(Exec *x, const Job *j) {
    if (__builtin_expect(x->hashing != NULL, 0)) hash_results(x, j);
}
/* Returns the next message; false: none. is_urgent: another message is about to be sent, after
 * which the client may go. */
bool hash_next(Exec *x, bool is_urgent, Msg *out);
#endif
