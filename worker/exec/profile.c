/* profile.c: see profile.h. SPDX-License-Identifier: MIT */
#include "worker/exec/profile.h"
#include "runtime/base/map.h"
#include "worker/exec/queue.h"
#include <stdlib.h>

typedef struct Row {
    uint16_t file;
    uint32_t line;
    uint64_t ticks, move_ticks, bytes, moved;
} Row;

struct Profile {
    Row *row; /* of n, row[0]: of no line */
    uint32_t n, cap;
    Map by_line; /* file and line -> row */
    uint64_t last_key;
    uint32_t last_row; /* of last_key: neighbours are often of one line */
};

static void add_row(Profile *p, SrcPos pos) {
    ARRAY_PUSH(p->row, p->n, p->cap, 64, (Row){.file = pos.file, .line = pos.line});
}

Profile *profile_new(void) {
    Profile *p = xcalloc(1, sizeof *p);
    add_row(p, (SrcPos){0});
    return p;
}

void profile_free(Profile **at) {
    Profile *p = *at;
    *at = NULL;
    if (!p) return;
    map_fini(&p->by_line);
    free(p->row);
    free(p);
}

uint32_t profile_row(Profile *p, SrcPos pos) {
    uint64_t key = (uint64_t)pos.file << 32 | pos.line;
    if (!pos.line) return 0;
    if (key == p->last_key) return p->last_row;
    uintptr_t row = (uintptr_t)map_get(&p->by_line, key);
    if (!row && p->n < PROFILE_LINES) {
        row = p->n;
        add_row(p, pos);
        map_put(&p->by_line, key, (void *)row);
    }
    p->last_key = key, p->last_row = (uint32_t)row;
    return (uint32_t)row;
}

void profile_add(Profile *p, uint32_t row, uint64_t ticks, uint64_t bytes) {
    p->row[row].ticks += ticks;
    p->row[row].bytes += bytes;
}

void profile_add_move(Profile *p, uint32_t row, uint64_t ticks, uint64_t moved) {
    p->row[row].move_ticks += ticks;
    p->row[row].moved += moved;
}

void profile_shares(Profile *p, Job *const *job, const bool *is_stored, int n,
                    ProfileShare *share) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += exec_work(&job[i]->call);
    for (int i = 0; i < n; i++) {
        const Call *call = &job[i]->call;
        share[i] = (ProfileShare){.row = profile_row(p, job[i]->inst.pos),
                                  .part = (float)(exec_work(call) / sum),
                                  .bytes = is_stored[i] ? type_bytes(&call->out[0].type) : 0};
    }
}

void profile_add_shares(Profile *p, const ProfileShare *share, int n, uint64_t ticks) {
    for (int i = 0; i < n; i++)
        profile_add(p, share[i].row, (uint64_t)((double)ticks * (double)share[i].part),
                    share[i].bytes);
}

void profile_print(const Profile *p, double ns_per_tick, Bytes *out) {
    for (uint32_t i = 0; i < p->n; i++) {
        const Row *r = &p->row[i];
        if (r->ticks + r->move_ticks + r->bytes + r->moved == 0) continue;
        bytes_printf(out, "profile.%u.%u=%.0f %.0f %llu %llu\n", r->file, r->line,
                     (double)r->ticks * ns_per_tick, (double)r->move_ticks * ns_per_tick,
                     (unsigned long long)r->bytes, (unsigned long long)r->moved);
    }
}
