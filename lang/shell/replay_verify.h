/* replay_verify.h: --verify: compares what is fetched with the values in the file.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_REPLAY_VERIFY_H
#define GT_LANG_SHELL_REPLAY_VERIFY_H
#include "lang/shell/replay_state.h"

/* ---- replay_verify.c ---- */
void verify_open(Replay *r);              /* before the first pass */
bool verify_add(Replay *r, LangError *e); /* of a `value` line: what it tells */
/* The stream's tensor h is the file's tensor id. */
void verify_define(Replay *r, uint64_t id, const Handle *h);
bool verify_end(Replay *r, LangError *e); /* waits; fails if a value differs */
void verify_close(Replay *r);
void verify_summary(const Replay *r, Bytes *out);
#endif
