/* sim_bytes.h: predicts what a simulated worker must read from others, from the frames that it gets
 * and layout algebra alone, and compares that with the worker's own counters.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_SIM_BYTES_H
#define GT_TESTS_UNIT_SIM_BYTES_H
#include "runtime/wire/body.h"
#include "runtime/layout/nodes.h"
#include "runtime/layout/place.h"
#include "tests/unit/pulls.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire_peer.h"
#include <string.h>

enum { SIM_GROUPS = 256, SIM_CLIENTS = 16 };

typedef struct SimGroup {
    int n;
    int32_t rank[MAX_INTS];
} SimGroup;

typedef struct SimBytes {
    SimGroup group[SIM_GROUPS]; /* by number */
    uint64_t planned;           /* bytes that come from other ranks */
    Bodies placed[SIM_CLIENTS]; /* the dispatcher's, by client */
    bool has_more_groups;       /* more than there is room for: nothing is predicted */
} SimBytes;

static int sim_place(const SimGroup *g, uint32_t rank) {
    for (int i = 0; i < g->n; i++)
        if (g->rank[i] == (int32_t)rank) return i;
    return -1;
}

static void sim_plan_move(SimBytes *b, const Inst *inst, uint32_t rank) {
    Move m;
    if (!move_read(inst, &m, NULL)) return;
    if (m.from.group >= SIM_GROUPS || m.to.group >= SIM_GROUPS) {
        b->has_more_groups = true;
        return;
    }
    const SimGroup *from = &b->group[m.from.group], *to = &b->group[m.to.group];
    int at = sim_place(to, rank);
    if (at < 0 || from->n == 0) return;
    bool same = m.from.group == m.to.group;
    Pull pull[MAX_INTS];
    int n = layout_pulls(&m.from.layout, from->n, &m.to.layout, to->n, at, same, &m.type, pull);
    for (int k = 0; k < n; k++) {
        if (from->rank[pull[k].from] == (int32_t)rank) continue;
        const Layout *l = &m.from.layout;
        uint64_t nodes = layout_is_stacked(l) ? (uint64_t)nodes_of(l, pull[k].from, NULL) : 1;
        b->planned += nodes * region_bytes(&pull[k].region, &m.type);
    }
}

/* A message to this rank. */
static void sim_plan(SimBytes *b, const Msg *m, uint32_t rank) {
    uint32_t id;
    int32_t ranks[MAX_INTS];
    int n;
    if (wire_kind(m) == MSG_GROUP && wire_read_group(m, &id, ranks, &n, NULL)) {
        if (id >= SIM_GROUPS) return;
        b->group[id].n = n;
        memcpy(b->group[id].rank, ranks, (size_t)n * sizeof ranks[0]);
    }
    FrameReader r;
    Inst in;
    if (wire_kind(m) != MSG_FRAME || !frame_open(&r, m, NULL)) return;
    Arena scratch = {0};
    r.placed = &b->placed[r.client % SIM_CLIENTS];
    r.placed->may_insert = true;
    while (frame_next(&r, &scratch, &in, NULL, NULL, NULL) > 0)
        if (op_is_move(in.op)) sim_plan_move(b, &in, rank);
    arena_fini(&scratch);
}
#endif
