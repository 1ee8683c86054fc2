/* mark.h: what waits for an ordered engine (engine.h), and failures that become known late.
 *
 * exec names the results of such an engine, computes with them and frees them at once. What must
 * wait until they are there (replies, reports of errors, boxes for peers) takes a mark of the
 * engine and goes on when that is done. Marks are done in the order in which they were taken, so
 * all that waits is one queue.
 *
 * A call that may fail for the values of its operands takes a slot. Its results, and all that is
 * computed from them, are in doubt (Doubt): they have the slot's bit until a mark behind the call
 * is done. If the call has failed, it is reported then, before anything that waited for a later
 * mark, and all that is in doubt because of it is poisoned. A failure of a call that read such
 * results is not reported: with another engine the call would not have run.
 *
 * So each client gets its replies and errors in the order of its stream, as with other engines. The
 * jobs of its queue that only wait for a mark do not keep later instructions from fusions and plans
 * (client_is_clear). While a job waits for anything else, calls that take a slot stay in the queue.
 *
 * Exec.marks is NULL for engines that are not ordered; then only client_is_clear may be called.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_EXEC_MARK_H
#define GT_WORKER_EXEC_MARK_H
#include "worker/exec/job.h"

typedef enum Marked { MARKED_NOT, MARKED_WAITS, MARKED_DONE } Marked; /* Job.marked */

/* True if nothing of the client's queue has to run before its next instruction. */
static inline bool client_is_clear(const Client *c) { return c->n_jobs == c->n_marked; }

Marks *marks_new(void);
void marks_free(Exec *x); /* waits for all marks */

/* Calls run(x, ctx) once all that was submitted so far is done, and all failures before that are
 * reported. */
void marks_put(Exec *x, void (*run)(Exec *x, void *ctx), void *ctx);
/* The same for j, which is in its client's queue: sets j->marked, and then settles the queue. */
void marks_put_job(Exec *x, Job *j);

/* Goes on with what waits for marks that are done. wait: waits for the first one, for about a
 * millisecond. Returns false if none was done. */
bool marks_pass(Exec *x, bool wait);
/* Waits until all that was submitted is done and its failures are known, and for the marks that
 * jobs take meanwhile: afterwards there are none. */
void marks_settle(Exec *x);
bool marks_has_slots(const Exec *x); /* a slot is open */
/* True if something other than the bound of work in flight waits for the engine. */
bool marks_are_awaited(const Exec *x);
void marks_wait(Exec *x); /* waits for that, for about a millisecond */
/* Counts a call that was submitted, with its work (exec_work), as in flight until a later mark is
 * done. */
void marks_count(Exec *x, double work);

/* ---- Doubt ---- */

static inline uint64_t doubt_bits(const Doubt *d) { return d ? d->bits : 0; }
/* Adds to *owner's bits. poison outlives it. */
void doubt_add(Exec *x, Doubt **owner, ErrCode *poison, uint64_t bits);
/* st is computed from these storages, and by calls with these slots: passes on poison and doubt. */
void doubt_pass(Exec *x, Storage *st, Storage *const *from, int n, uint64_t bits);
/* Makes room for n slots, at most 64. Called before the calls that need them are submitted:
 * it may wait, and go on with what waits. */
void doubt_reserve(Exec *x, int n);
/* Gives the newest call of the engine a slot (Engine.last; of a fusion, `node`), whose failure is
 * that of instruction j. Returns its bit. before, poison: doubt and poison of its operands. stays:
 * j is in its client's queue, takes the error, and must get marks_put_job. There is room for it. */
uint64_t doubt_open(Exec *x, Job *j, int node, uint64_t before, ErrCode poison, bool stays);
/* j was submitted alone, or is a node of the fusion that was: its results get doubt and poison of
 * its operands, and a slot if it may fail. */
void doubt_result(Exec *x, Job *j, int node, bool stays);
#endif
