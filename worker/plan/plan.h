/* plan.h: what a worker keeps of a hot body (body.h): how a run of its instructions was
 * carried out once, so that the next time round it is only done, and not worked out again.
 * SPDX-License-Identifier: MIT
 *
 * A body is cut into segments where something happens that is not arithmetic alone: effects, moves
 * (collectives among them), checks; and where a segment would be too long to be one breath. A
 * segment may go round a short body several times. The second time a segment is issued as any other
 * instructions are, with somebody looking on (plan_record.c): what the engine was asked to do, in
 * terms of values and not of memory, which names were left at the end, which came from outside. Of
 * that a plan is made (plan_make.c): the calls and kernels in their order; where each value lies,
 * temporaries side by side in one block that is theirs for that long, results over operands that
 * end with them; what depends on arguments.
 *
 * Where the segment comes again, the plan is used if all is as it was: what comes from outside has
 * the same types and strides, is the only name of its memory or is not, and is there; of the
 * arguments those that have to be equal are; immediates, slice starts and random keys fit their
 * instructions, are set in their places, and lead to the same types; nothing of the client waits,
 * and there is memory for all of it. Otherwise nothing has happened, and the instructions are
 * issued one by one; after a while that is recorded too, as another plan of the same place. Plans
 * of a place are found by the types of those tensors from outside that were seen to change, so that
 * a body may have one for each of a thousand shapes. All plans of all clients share some memory,
 * and those not used for longest go (variants.h). A plan that is undone each time is tried ever
 * more seldom.
 *
 * Bodies of the dispatcher's (body.h) hold instructions of groups, of which this rank does
 * its part (locate.c). Which part that is, is kept with the plan: whose they are and how the
 * results lie is said by the forms; how the operands lie, and the types of the wholes, are compared
 * as their types here are. What is for other ranks alone is passed; what is freed and is not here
 * must not be here the next time either.
 *
 * Where tensors come from other workers something waits most of the time, and what follows would be
 * put into the queue one by one. So where a segment begins that is long enough its client is held
 * until nothing of it waits any more, if all it waits for are tensors that this rank has a part of
 * itself: then the others are about as far, and nearly all that follows would have to wait as well.
 * How long it must be says what waiting may cost: less where others' memory can be read in place.
 * Nothing is held for tensors of groups that this rank is not in (stages of a pipeline), nor while
 * something waits for memory, which what follows may give back. (Why nothing gets stuck: queue.c; a
 * client that is held is one that is not issued any more while older instructions of its own wait.)
 *
 * What can fail because of values (an index out of range) does so before anything from outside is
 * given up or written over: then all that was computed is forgotten, and the segment issued one by
 * one, which finds the same and says so at the right instruction. So a plan is all or nothing.
 *
 * The engine does what it did, in the same order on the same values: the bits are those of
 * instructions one by one (DESIGN 9, law 2). What was a cluster is carried out as it was then, by
 * its kernel or one by one; while it is not decided which is faster (choice.h) that is measured
 * here too, and recorded anew now and then.
 *
 * GT_PLAN=0: every instruction one by one.
 *
 * Plans belong to the body (Body.plan) and go with it; a recording that is not complete when its
 * record ends, or when its client is cancelled or goes, is forgotten. Whoever is watched, logged
 * or checked for nan gets no plans. By the worker's thread. */
#ifndef GT_WORKER_PLAN_PLAN_H
#define GT_WORKER_PLAN_PLAN_H
#include "worker/exec/stage.h"

/* collect: collect_new's, whose clusters plans repeat, or NULL. NULL: plans are off. */
Stage *plans_new(Stage *collect);
#endif
