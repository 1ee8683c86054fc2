/* plan.h: plans: how a segment of a hot body (body.h) was executed once, so that later runs repeat
 * it without deciding everything again.
 *
 * What they are worth: a loop of x = x + b of 8 x 8 takes 20 % fewer instructions of the processor
 * in the whole program, one of three operations 26 % (callgrind, one worker in the process, without
 * start-up); an addition of 64 x 64 takes 0.44 us of CPU in place of 0.67. A step of charlm, whose
 * kernels are longer, gains 3 %. Clusters are gathered outside of plans too: why, and at which
 * figures, collect.h says.
 * SPDX-License-Identifier: MIT
 *
 * A body is cut into segments at instructions that are not arithmetic alone: effects, moves
 * (collectives among them), checks; and where a segment would take too long. A segment may span
 * several turns of a short body. The second time, a segment is issued one by one while an observer
 * records it (plan_record.c): what the engine was asked to do, in terms of values and not of
 * memory, which names were left at the end, which came from outside. From that a plan is made
 * (plan_make.c): the calls and kernels in their order; where each value is, with temporaries in one
 * block and results over operands that end with them; what depends on arguments.
 *
 * When the segment recurs, the plan is used if all is as it was: what comes from outside exists,
 * has the same types and strides, and is or is not the only name of its memory, as before; the
 * arguments that must be equal are equal; immediates, slice starts and random keys fit their
 * instructions, are put in their places, and give the same types; nothing of the client waits; and
 * there is memory for all of it. Otherwise nothing has happened, and the instructions are issued
 * one by one; after a while that is recorded too, as another plan of the same position. Plans of a
 * position are found by the types of those outside tensors that were seen to change, so that a body
 * may have one for each of a thousand shapes. All plans of all clients share some memory; the least
 * recently used are evicted (variants.h). A plan that is undone each time is tried
 * at ever longer intervals.
 *
 * Bodies from the dispatcher (body.h) hold instructions of groups, of which this rank does its part
 * (locate.c). Which part that is, is kept with the plan: the forms say which ranks execute an
 * instruction and how its results are laid out; the operands' layouts, and the types of the wholes,
 * are compared like the types of the parts. Instructions for other ranks alone are skipped. An id
 * that is freed but is not here must not be here the next time either.
 *
 * Where tensors come from other workers, something waits most of the time, and what follows would
 * be queued one by one. So before a segment that is long enough its client is held until its queue
 * is empty, if it waits only for tensors of which this rank has a part: then the other ranks are
 * about as far, and nearly all that follows would have to wait as well. The minimum length depends
 * on the cost of waiting: it is smaller if others' memory can be read in place. Nothing is held for
 * tensors of groups without this rank (stages of a pipeline), nor while something waits for memory,
 * which later instructions may free. (Why nothing gets stuck: queue.c; a held client is one that is
 * not issued while older instructions of its own wait.)
 *
 * A step that can fail because of values (an index out of range) runs before anything from outside
 * is given up or overwritten. If it fails, all that was computed is dropped and the segment is
 * issued one by one, which fails at the right instruction. So a plan is all or nothing.
 *
 * The engine does the same in the same order on the same values: the bits are those of instructions
 * one by one (DESIGN 9, law 2). A former cluster runs as it did then, by its kernel or one by one;
 * while the faster way is not decided (choice.h) it is measured here too, and the plan is recorded
 * again when it may run differently.
 *
 * GT_PLAN=0: every instruction one by one.
 *
 * Plans belong to the body (Body.plan) and are freed with it. A recording is dropped if it is
 * incomplete when its record ends, or when its client is cancelled or goes. A client that is
 * watched, logged or checked for nan gets no plans. All on the worker's thread. */
#ifndef GT_WORKER_PLAN_PLAN_H
#define GT_WORKER_PLAN_PLAN_H
#include "worker/exec/stage.h"

/* collect: from collect_new, whose clusters plans repeat, or NULL. Returns NULL if plans are
 * off. */
Stage *plans_new(Stage *collect);
#endif
