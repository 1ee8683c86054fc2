/* time_text.c: see time_text.h.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/time_text.h"
#include "runtime/inst/inst_print.h"
#include "runtime/wire/wire_watch.h"

/* " key=12" */
static void put_number(Bytes *b, const char *key, uint64_t v) {
    bytes_puts(b, key);
    inst_put_u64(b, v);
}

static void put_us(Bytes *b, uint64_t ns) {
    if (ns >= 100000) {
        put_number(b, "", ns / 1000);
        return;
    }
    uint64_t tenths = (ns + 50) / 100;
    put_number(b, "", tenths / 10);
    bytes_putc(b, '.');
    bytes_putc(b, (char)('0' + tenths % 10));
}

static void put_done(Bytes *b, const TimeRow *row) {
    bytes_puts(b, "done ");
    for (int i = 0; i < row->n_out; i++) put_number(b, i ? ",t" : "t", row->id + (unsigned)i);
    bytes_puts(b, row->n_out ? " us=" : "- us="); /* always the same columns */
    put_us(b, row->ns);
    put_number(b, " bytes=", row->bytes);
    bytes_puts(b, " op=");
    bytes_puts(b, op_info[row->op].name);
    if (row->kind == TIME_FUSED) {
        put_number(b, " of=t", row->from);
        return;
    }
    bool is_first = true;
    for (unsigned k = 0; row->from && k < 64; k++) {
        if (!(row->from >> k & 1)) continue;
        put_number(b, is_first ? " from=w" : ",w", k);
        is_first = false;
    }
    if (row->moved) put_number(b, " moved=", row->moved);
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
