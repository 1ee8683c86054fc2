/* place.h: the place of an instruction: the group that runs it and the layout of its results. The
 * dispatcher adds it to a client's instruction, once for all ranks.
 *
 *   t8 = matmul t6 t7 on=3 split=[0,25]          group 3: each rank has 25 rows of axis 0
 *   t9 = sum t8 axis=[0] on=3 partial="sum"      each rank has a term
 *   t5 = add t1 t2 on=1                          each rank of the group has all of it
 *   t9223372036854775808 = all_gather t8 on=3 from=3 from_split=[0,25] shape=[100,8] dtype=f32
 *
 * Terms that are nodes (nodes.h) name, behind the operation, the elements of a leaf, of a rank and
 * of all: partial="sum 64 256 1000".
 *
 * Moves into a window (layout.h) have its begin as third number: split=[0,25,-3].
 *
 * An instruction without `on` is for every worker that receives it. Types and attributes are
 * those of the whole tensors; each rank derives its own part (layout_localise). All results of
 * an instruction have one layout. Conversions ("moves") are separate instructions. They
 * have all types and layouts, because a rank may not have the operand. Ids made by the dispatcher
 * have the top bit set.
 *
 * A group is an ordered list of distinct ranks with a number from the dispatcher. A GROUP
 * message gives its members before the first instruction that names it.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_LAYOUT_PLACE_H
#define GT_RUNTIME_LAYOUT_PLACE_H
#include "runtime/layout/layout.h"

#define INSERTED_ID (UINT64_C(1) << 63) /* ids from here on are the dispatcher's */

typedef struct Group {
    uint32_t id; /* from 1 */
    int n;
    int32_t rank[]; /* in order */
} Group;
/* The index of a rank in the group, 0 .. n - 1; -1: not a member. */
int group_place(const Group *g, int rank);

enum { PARTIAL_TEXT = 80 };
/* An instruction with its place added. Borrows from inst; must not be moved. */
typedef struct Located {
    Inst inst;
    Attr attr[MAX_ATTRS];
    int64_t split[3];
    char partial[PARTIAL_TEXT];
} Located;
/* False: the instruction has no room for more attributes. */
bool inst_locate(const Inst *inst, uint32_t group, const Layout *layout, Located *out);

/* The place that an instruction names. group 0: none. False: malformed. */
typedef struct Place {
    uint32_t group;
    Layout layout;
} Place;
bool inst_place(const Inst *inst, Place *out, Err *err);
/* True if it has an attribute that only the dispatcher may add. */
bool inst_is_located(const Inst *inst);

/* A conversion: `in`, of the given type and layout `from`, becomes `out` with layout `to`. */
typedef struct Move {
    uint64_t in, out;
    TensorType type; /* of the whole */
    Place from, to;
} Move;
/* The row of ops.def for a conversion: its name on the tape. */
Op move_op(const Move *m);
typedef struct MoveInst {
    Inst inst;
    Operand in;
    Attr attr[6];
    int64_t split[3], from_split[3], shape[MAX_DIMS];
    char partial[PARTIAL_TEXT], from_partial[PARTIAL_TEXT];
} MoveInst;
void move_inst(const Move *m, SrcPos pos, MoveInst *out); /* out must not be moved */
bool move_read(const Inst *inst, Move *out, Err *err);    /* checks all of it */
#endif
