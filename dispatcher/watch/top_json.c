/* top_json.c: see top_json.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_json.h"
#include "runtime/base/utf8.h"
#include <string.h>

/* A string; what is not UTF-8 becomes U+FFFD. */
static void put_string(Bytes *b, const char *s) {
    bytes_putc(b, '"');
    for (size_t i = 0, n = strlen(s); i < n;) {
        uint32_t cp;
        int len = utf8_decode(s + i, n - i, &cp);
        if (!len)
            bytes_puts(b, "\\ufffd");
        else if (cp < ' ' || (cp >= 0x7f && cp < 0xa0) || cp == '"' || cp == '\\')
            bytes_printf(b, "\\u%04x", (unsigned)cp);
        else
            bytes_add(b, s + i, (size_t)len);
        i += len ? (size_t)len : 1;
    }
    bytes_putc(b, '"');
}

static void put_key(Bytes *b, bool *has, const char *key) {
    if (*has) bytes_putc(b, ',');
    *has = true;
    bytes_printf(b, "\"%s\":", key);
}

/* "busy":{"matmul":0.5,...}: n fractions, of the counters from `first`, by the names that name()
 * gives. */
static void put_fractions(Bytes *b, const TopRow *row, bool *has, const char *key, int first, int n,
                          const double *fraction, const char *(*name)(int)) {
    bool has_one = false;
    for (int k = 0; k < n; k++) has_one |= top_row_has(row, first + k);
    if (!has_one) return;
    put_key(b, has, key);
    bytes_putc(b, '{');
    has_one = false;
    for (int k = 0; k < n; k++) {
        if (!top_row_has(row, first + k)) continue;
        put_key(b, &has_one, name(k));
        bytes_printf(b, "%.4f", fraction[k] > 1 ? 1 : fraction[k]);
    }
    bytes_putc(b, '}');
}
static const char *class_name(int k) { return watch_class_info[k].name; }
static const char *cause_name(int k) { return idle_why_name[k]; }

static void put_row(Bytes *b, const TopRow *row) {
    bool has = false;
    double busy[WATCH_CLASS_COUNT], idle[IDLE_WHYS];
    top_row_busy(row, busy);
    for (int c = 0; c < IDLE_WHYS; c++) idle[c] = row->rate[TOP_IDLE + c] * 1e-6;
    bytes_putc(b, '{');
    for (int k = 0; k < TOP_NUMBERS; k++) {
        if (row->number[k] == TOP_UNKNOWN || (k == TOP_BLOCKED_ON && row->number[k] < 0)) continue;
        put_key(b, &has, top_number_key[k]);
        bytes_printf(b, "%lld", (long long)row->number[k]);
    }
    for (int k = 0; k < TOP_WORDS; k++) {
        if (!row->word[k][0]) continue;
        put_key(b, &has, top_word_key[k]);
        put_string(b, row->word[k]);
    }
    for (int c = TOP_INSTS; c < TOP_COUNTERS; c++) {
        const char *name = row->kind == TOP_OP && c == TOP_INSTS ? "count" : top_counter_key[c];
        if (!top_row_has(row, c)) continue;
        put_key(b, &has, name);
        bytes_printf(b, "%.0f,\"%s_per_s\":%.3f", row->count[c], name, row->rate[c]);
    }
    put_fractions(b, row, &has, "busy", TOP_BUSY, WATCH_CLASS_COUNT, busy, class_name);
    put_fractions(b, row, &has, "idle", TOP_IDLE, IDLE_WHYS, idle, cause_name);
    bytes_putc(b, '}');
}

void top_json(const TopModel *m, Bytes *out) {
    static const char *const list[TOP_KINDS] = {"workers", "clients", "signals", "ops"};
    bytes_printf(out, "{\"now_us\":%lld,\"dropped\":%llu,\"dispatcher\":", (long long)m->now_us,
                 (unsigned long long)m->dropped);
    put_row(out, &m->dispatcher);
    for (int kind = 0; kind < TOP_KINDS; kind++) {
        bytes_printf(out, ",\"%s\":[", list[kind]);
        for (int i = 0; i < m->rows[kind].n; i++) {
            if (i) bytes_putc(out, ',');
            put_row(out, &m->rows[kind].row[i]);
        }
        bytes_putc(out, ']');
    }
    bytes_puts(out, "}\n");
}
