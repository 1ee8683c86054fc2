/* timeline_effect.h: effects (print, save, ...) from the time they were received until they are
 * done. Other operations are ignored.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TIMELINE_EFFECT_H
#define GT_DISPATCHER_WATCH_TIMELINE_EFFECT_H
#include "dispatcher/watch/timeline_state.h"

/* ---- timeline_effect.c. Other operations than effects are ignored. ---- */
void effect_received(ClientState *c, Op op, const Effect *effect);
/* Returns the effect that was sent, or NULL if the tape does not say when it was received. Valid
 * until the next call. */
const Effect *effect_sent(ClientState *c, Op op, int64_t at_ns);
/* Removes the effect that was done, or failed, at at_ns, and returns it in *out. False: it is not
 * known which effect that was. */
bool effect_done(ClientState *c, Op op, int64_t at_ns, Effect *out);
void effects_fini(ClientState *c);
#endif
