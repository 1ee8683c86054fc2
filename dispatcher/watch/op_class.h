/* op_class.h: the classes of operations that the tools show, each with its name, letter and colour.
 * The colours are those of Okabe and Ito, "Color Universal Design" (2008), which people with any
 * kind of colour vision can tell apart; the letters and shades serve screens without colour.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_OP_CLASS_H
#define GT_DISPATCHER_WATCH_OP_CLASS_H
#include "runtime/inst/op.h"

typedef enum WatchClass {
    WATCH_MATMUL,    /* products, convolutions, factorizations: more work than data */
    WATCH_POINTWISE, /* element by element */
    WATCH_REDUCE,    /* folds along an axis */
    WATCH_OTHER,     /* sources, indexing, sorting, views that copy */
    WATCH_TRANSFER,  /* moves between workers, collectives */
    WATCH_CLASS_COUNT
} WatchClass;

typedef struct WatchClassInfo {
    const char *name;  /* "matmul" */
    const char *shade; /* one column wide, UTF-8 */
    char letter;       /* for a terminal without UTF-8 */
    uint32_t rgb;      /* 0xRRGGBB */
    short xterm;       /* the nearest of the 256 colours */
} WatchClassInfo;

extern const WatchClassInfo watch_class_info[WATCH_CLASS_COUNT];

WatchClass watch_class(Op op);
#endif
