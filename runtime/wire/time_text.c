/* time_text.c: see time_text.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/time_text.h"
#include "runtime/inst/op.h"
#include "runtime/wire/wire_watch.h"

static void put_us(Bytes *b, uint64_t ns) {
    if (ns < 100000)
        bytes_printf(b, "%.1f", (double)ns / 1e3);
    else
        bytes_printf(b, "%llu", (unsigned long long)(ns / 1000));
}

static void put_done(Bytes *b, const TimeRow *row) {
    bytes_puts(b, "done ");
    for (int i = 0; i < row->n_out; i++)
        bytes_printf(b, "%st%llu", i ? "," : "", (unsigned long long)row->id + (unsigned)i);
    bytes_puts(b, row->n_out ? " us=" : "- us="); /* always the same columns */
    put_us(b, row->ns);
    bytes_printf(b, " bytes=%llu op=%s", (unsigned long long)row->bytes, op_info[row->op].name);
    bool is_first = true;
    for (int k = 0; k < 64; k++) {
        if (!(row->from >> k & 1)) continue;
        bytes_printf(b, is_first ? " from=w%d" : ",w%d", k);
        is_first = false;
    }
    if (row->moved) bytes_printf(b, " moved=%llu", (unsigned long long)row->moved);
}

static void put_idle(Bytes *b, const TimeRow *row) {
    bytes_puts(b, "idle us=");
    put_us(b, row->ns);
    bytes_printf(b, " why=%s", idle_why_name[row->n_out]);
    if (row->from < MAX_WORKERS) bytes_printf(b, " on=w%u", (unsigned)row->from);
    if (row->op < OP_COUNT) bytes_printf(b, " op=%s", op_info[row->op].name);
}

void tape_put_row(const TimeRow *row, Bytes *b) {
    switch ((TimeKind)row->kind) {
    case TIME_IDLE: put_idle(b, row); break;
    case TIME_COMPILE:
        bytes_puts(b, "compile us=");
        put_us(b, row->ns);
        bytes_printf(b, " ops=%llu key=%016llx", (unsigned long long)row->bytes,
                     (unsigned long long)row->id);
        break;
    case TIME_MEMORY:
        bytes_printf(b, "memory bytes=%llu limit=%llu", (unsigned long long)row->bytes,
                     (unsigned long long)row->moved);
        break;
    default: put_done(b, row);
    }
}
