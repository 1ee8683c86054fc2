/* limits.h: every hard limit of the system, with its reason. Each has a test under tests/.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_LIMITS_H
#define GT_RUNTIME_BASE_LIMITS_H

#define MAX_DIMS      8                   /* axes of a tensor */
#define MAX_NUMEL     (INT64_C(1) << 46)  /* elements: products of extents stay far below 2^63 */
#define MAX_IN        4096                /* operands of one instruction (cat, save, free) */
#define MAX_OUT       2                   /* results of one instruction (topk has two) */
#define MAX_ATTRS     20                  /* attributes of one instruction */
#define MAX_INTS      256                 /* elements of an INTS attribute; workers of a signal */
#define MAX_STR       (1u << 20)          /* bytes of a STR attribute */
#define MAX_MSG_PARTS 64                  /* parts of a message: head, then payloads */
#define MAX_MSG_BYTES (UINT64_C(1) << 36) /* one message, payloads included */
#define FRAME_INSTS   256                 /* instructions of a frame before it is sent */
#define FRAME_BYTES   (256u << 10)        /* head bytes of a frame before it is sent */
#define FRAME_PART_BYTES                                                                           \
    (16u << 20) /* payloads of a frame before it is sent: the window counts frames, so a frame of  \
                 * large payloads would exceed it */
#define INLINE_BYTES                                                                               \
    (64u << 10)                  /* a payload up to this size is stored in the head                \
                                  * of its frame */
#define BODY_INSTS   (16 * 1024) /* instructions of one hot body */
#define WINDOW_INSTS (64 * 1024) /* unacknowledged instructions of one client */
#define WINDOW_BYTES (16u << 20) /* unacknowledged head bytes of one client */
#define REPLY_BYTES                                                                                \
    (16u << 20)                /* of answers sent by a worker and not yet taken by the             \
                                * client */
#define PROMPT_WINDOW_MS 2000  /* at the prompt: age of the oldest frame in flight */
#define MAX_SIGNAL       1000  /* bytes of a signal's name */
#define MAX_SIGNALS      4096  /* signals that a client or a file defines */
#define MAX_WORKERS      1024  /* workers of a dispatcher */
#define MAX_GROUPS       4096  /* groups of ranks that a dispatcher knows */
#define MAX_CALL_DEPTH   10000 /* nested calls of the language */
#define MAX_PARSE_DEPTH  200   /* nested expressions or blocks in source text */
#define MAX_TREE_HEIGHT  1000  /* of a syntax tree: a + b + c ... leans to the left */

#endif
