/* stream_reply.h: private to lang/stream: effects and failures.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_STREAM_REPLY_H
#define GT_LANG_STREAM_STREAM_REPLY_H
#include "lang/stream/stream_state.h"

void stream_on_reply(Stream *s, Msg *m); /* may consume m */
void stream_on_failure(Stream *s, const Msg *m);
/* Runs the effects that are due; after the loss of the dispatcher drops the others. */
void stream_run_effects(Stream *s);
/* Queues an effect with the number of the next instruction. May run one without operands at once.
 * Consumes p->ctx, and p->fetch if it fails. */
bool stream_queue(Stream *s, const Pending *p, Handle *const *handle, int n, Span at, LangError *e);
void stream_drop_effects(Stream *s);
/* True if an instruction of this script or input, before seq, failed and was not reported yet: e
 * becomes that failure. */
bool stream_is_behind(Stream *s, uint64_t seq, LangError *e);
/* Sets e to the reason why a value needed at `at` is poisoned. Returns false. */
bool stream_cause(Stream *s, ErrCode code, Span at, LangError *e);
#endif
