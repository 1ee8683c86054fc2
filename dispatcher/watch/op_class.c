/* op_class.c: see op_class.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/op_class.h"

const WatchClassInfo watch_class_info[WATCH_CLASS_COUNT] = {
    [WATCH_MATMUL] = {"matmul", "█", 'M', 0x0072b2, 25},
    [WATCH_POINTWISE] = {"pointwise", "▓", 'p', 0x009e73, 36},
    [WATCH_REDUCE] = {"reduce", "▒", 'r', 0xe69f00, 178},
    [WATCH_OTHER] = {"other", "░", 'o', 0xcc79a7, 175},
    [WATCH_TRANSFER] = {"transfer", "▚", 't', 0xd55e00, 166},
};

WatchClass watch_class(Op op) {
    if (op >= OP_COUNT) return WATCH_OTHER;
    if (op_is_move(op)) return WATCH_TRANSFER;
    if (op_has(op, FACT_CUBIC | FACT_PRODUCT)) return WATCH_MATMUL;
    if (op == OP_ARGMAX || op == OP_ARGMIN) return WATCH_REDUCE;
    switch (op_info[op].class_) {
    case CLASS_MAP: return WATCH_POINTWISE;
    case CLASS_REDUCE: return WATCH_REDUCE;
    default: return WATCH_OTHER;
    }
}
