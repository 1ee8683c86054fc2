/* plan.h: plans: how a segment of a hot body (body.h) was executed once, so that later runs repeat
 * it without deciding everything again.
 *
 * What they are worth: a loop of x = x + b of 8 x 8 executes 20 % fewer processor instructions in
 * the whole program, one of three operations 26 % (callgrind, one worker in the process, without
 * start-up); an addition of 64 x 64 takes 0.44 us of CPU in place of 0.67. A step of charlm, whose
 * kernels are longer, gains 3 %. collect.h says, with figures, why instructions are fused outside
 * of plans too.
 * SPDX-License-Identifier: MIT
 *
 * A body is split into segments. A segment ends at each instruction that does more than arithmetic
 * (an effect, a move or collective, a check), and where it would take too long. A segment may span
 * several iterations of a short body. When a segment comes for the second time, it is issued
 * one by one while an observer records it (plan_record.c): the calls of the engine, in terms of
 * values and not of addresses; the names that are left at the end; the tensors from outside, which
 * were made before the segment. From the recording a plan is made (plan_make.c): the calls and
 * kernels in their order; a place for each value (temporaries share one block, and a result
 * overwrites an operand that is not needed any more); and what depends on arguments.
 *
 * When the segment comes again, the plan is run if its guards hold:
 *  - The tensors from outside exist and have the same types and strides. For each one
 *    that the segment frees: its memory has other names exactly if it had some in the recording.
 *  - The arguments that must be equal are equal. Immediates, slice starts and random keys suit
 *    their instructions and give the same types; they are written into the calls.
 *  - No call is in flight, and no job waits.
 *  - There is memory for the whole segment.
 * Otherwise nothing is changed, and the instructions are issued one by one. If that happens often,
 * it is recorded too, as another plan of the same position. The key of a plan at its position is
 * the types of those outside tensors whose types were seen to change. So a body may have a plan for
 * each of a thousand shapes. The plans of all clients share a limited memory; the least recently
 * used are evicted (variants.h). A plan that has to be undone each time is tried at ever longer
 * intervals.
 *
 * A body of the dispatcher (body.h) has instructions for groups, of which this rank does its part
 * (locate.c). A plan keeps which part that is: the forms say which ranks execute an instruction and
 * how its results are laid out, and the layouts and whole types of the operands are compared like
 * the types of their parts. Instructions for other ranks alone are skipped. If an id that is freed
 * was on other ranks alone, it must be so the next time.
 *
 * Where tensors come from other workers, some job waits most of the time, and the instructions
 * after it would be queued one by one. Therefore a client may be held before a long segment:
 * nothing of it is issued until its queue is empty. It is held only if its jobs wait for tensors of
 * groups that this rank is in: then the other ranks are about as far, and nearly all later
 * instructions would have to wait as well. A client is not held for tensors of groups without this
 * rank (stages of a pipeline), nor while a job waits for memory, which later instructions may free.
 * (queue.c says why there is no deadlock: none of a held client's instructions is issued while
 * older ones wait.)
 *
 * A step that may fail because of values (an index out of range) runs before any tensor from
 * outside is freed or overwritten. If it fails, all results are dropped, and the segment is issued
 * one by one, so that the right instruction fails. Any later step can fail only for lack of memory
 * or because of a cancel: then what depends on it is poisoned.
 *
 * The engine executes the same calls in the same order on the same values, so the bits are those of
 * instructions issued one by one. A fusion runs as it did when it was recorded: by its kernel or
 * one by one. While choice.h has not decided which is faster, runs of plans are measured too, and
 * the plan is recorded again when its fusions may run differently.
 *
 * An engine may launch consecutive steps as one graph (plan_graph.c), which gives the same bits.
 *
 * GT_PLAN=0: all instructions are issued one by one. GT_GRAPH=N: a graph is made
 * after N runs of a plan; 0: none is.
 *
 * Plans belong to the body (Body.plan) and are freed with it. A recording is dropped if it is
 * incomplete when its hot record ends, or when its client is cancelled or leaves. There are no
 * plans for a client that is logged or checked for nan, and while all results are hashed (hash.h).
 * All of this runs on the worker's thread. */
#ifndef GT_WORKER_PLAN_PLAN_H
#define GT_WORKER_PLAN_PLAN_H
#include "worker/exec/stage.h"

/* collect: the stage whose fusions plans repeat (collect_new), or NULL. Returns NULL if plans are
 * off. */
Stage *plans_new(Stage *collect);
#endif
