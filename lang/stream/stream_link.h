/* stream_link.h: private to lang/stream: frames, messages, credit and waits.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_STREAM_LINK_H
#define GT_LANG_STREAM_STREAM_LINK_H
#include "lang/stream/stream_state.h"

bool stream_start(Stream *s, Span at, LangError *e); /* connects, once */
void stream_send(Stream *s);                         /* sends the frame, unless it is empty */
void stream_send_if_dry(Stream *s);                  /* the same, if the worker is about to idle */
void stream_pump(Stream *s, int timeout_ms);         /* moves messages; runs no effects */
/* Waits until one more instruction fits the window. stream_room_control: one that cannot fail (a
 * free, a scope), for which CONTROL_INSTS are reserved. Both run no effects, because an operation
 * may be half issued. */
bool stream_room(Stream *s, Span at, LangError *e);
void stream_room_control(Stream *s);
/* Sends the frame, then runs effects until is_met(s, ctx). Fails if interrupted or the dispatcher
 * is lost. */
bool stream_wait(Stream *s, bool (*is_met)(const Stream *s, const void *ctx), const void *ctx,
                 Span at, LangError *e);
/* Sets e to an earlier failure that is not reported yet, or else to the loss of the dispatcher.
 * Returns false. */
bool stream_lost(Stream *s, Span at, LangError *e);
/* Sends the question in MSG_STATS, waits for the reply, and appends it to text. */
bool stream_ask(Stream *s, const char *question, Span at, Bytes *text, LangError *e);
void stream_reset(Stream *s); /* back to the state before the first stream_start */
void stream_close(Stream *s); /* sends BYE, stops the cluster */
#endif
