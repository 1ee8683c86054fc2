/* question.h: questions of clients (MSG_STATS): to the dispatcher, and to workers, whose answers
 * are collected into one.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_QUESTION_H
#define GT_DISPATCHER_QUESTION_H
#include "dispatcher/state/state.h"

bool question_is(const char *text, size_t n, const char *word);
/* Sends a client's question to the workers that have to answer it. The caller has counted it. */
void question_ask(Dispatcher *d, Client *c, const Msg *asked);
/* One worker's answer to the oldest question that waits for it. */
void question_answer(Dispatcher *d, WorkerPeer *w, const char *text, size_t n);
void questions_fini(Dispatcher *d);
#endif
