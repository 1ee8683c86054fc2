/* msg.h: a message: a list of Bufs. Part 0 is the head (its first byte is a MsgKind, see wire.h);
 * the others are payloads, which are never copied within a process.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_MSG_H
#define GT_RUNTIME_BASE_MSG_H
#include "runtime/base/buf.h"
#include "runtime/base/limits.h"

/* Owns its parts. */
typedef struct Msg {
    int n;
    Buf *part[MAX_MSG_PARTS];
} Msg;

/* Consumes b. The caller checks MAX_MSG_PARTS. */
static inline void msg_push(Msg *m, Buf *b) { m->part[m->n++] = b; }
void msg_fini(Msg *m); /* drops all parts; m is empty again */
void msg_move(Msg *to, Msg *from);
static inline uint64_t msg_bytes(const Msg *m) { /* of all parts */
    uint64_t n = 0;
    for (int i = 0; i < m->n; i++) n += m->part[i]->n;
    return n;
}

#endif
