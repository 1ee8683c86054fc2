/* top_model.c: see top_model.h.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/top_model.h"
#include "dispatcher/watch/tape_words.h"
#include "runtime/base/err.h"
#include "runtime/base/map.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Keys ---- */

const char *const top_counter_key[TOP_COUNTERS] = {
    [TOP_BUSY + WATCH_MATMUL] = "busy_us.matmul",
    [TOP_BUSY + WATCH_POINTWISE] = "busy_us.pointwise",
    [TOP_BUSY + WATCH_REDUCE] = "busy_us.reduce",
    [TOP_BUSY + WATCH_OTHER] = "busy_us.other",
    [TOP_BUSY + WATCH_TRANSFER] = "busy_us.transfer",
    [TOP_IDLE + IDLE_STARVED] = "idle_us.starved",
    [TOP_IDLE + IDLE_BLOCKED] = "idle_us.blocked",
    [TOP_IDLE + IDLE_COMM] = "idle_us.comm",
    [TOP_IDLE + IDLE_COMPILE] = "idle_us.compile",
    [TOP_IDLE + IDLE_DEVICE] = "idle_us.device",
    [TOP_INSTS] = "insts",
    [TOP_TIME] = "us",
    [TOP_FRAME_BYTES] = "frame_bytes",
    [TOP_SENT_BYTES] = "sent_bytes",
    [TOP_DATA_BYTES] = "data_bytes",
    [TOP_MOVED_BYTES] = "moved_bytes",
};

const char *const top_number_key[TOP_NUMBERS] = {
    [TOP_RANK] = "rank",
    [TOP_ID] = "id",
    [TOP_UP_US] = "up_us",
    [TOP_WORKERS] = "workers",
    [TOP_CLIENTS] = "clients",
    [TOP_QUEUE] = "queue",
    [TOP_PID] = "pid",
    [TOP_THREADS] = "threads",
    [TOP_MEMORY] = "memory",
    [TOP_LIMIT] = "limit",
    [TOP_HOME] = "home",
    [TOP_BLOCKED_ON] = "blocked_on",
    [TOP_PENDING] = "pending",
    [TOP_TENSORS] = "tensors",
    [TOP_BYTES] = "bytes",
    [TOP_LAG_US] = "lag_us",
    [TOP_LINE] = "line",
    [TOP_CLOCK_US] = "clock_us",
    [TOP_DEVICE_NUMBER] = "device_number",
    [TOP_DEVICE_USED] = "device_used",
    [TOP_DEVICE_TOTAL] = "device_total",
    [TOP_DEVICE_CELSIUS] = "device_celsius",
    [TOP_DEVICE_BUSY] = "device_busy_percent",
};

const char *const top_word_key[TOP_WORDS] = {
    [TOP_NAME] = "name",     [TOP_ENDPOINT] = "endpoint", [TOP_VERSION] = "version",
    [TOP_ENGINE] = "engine", [TOP_HOST] = "host",         [TOP_USER] = "user",
    [TOP_FILE] = "file",     [TOP_IN_SIGNAL] = "signal",  [TOP_DEVICE] = "device",
};

static int find_key(const char *const *key, int n, Word name) {
    for (int k = 0; k < n; k++)
        if (word_is(name, key[k])) return k;
    return -1;
}

/* Stores one pair in a row. */
static void take_pair(TopRow *row, Word key, const char *value) {
    if (row->kind == TOP_OP && word_is(key, "count")) key = (Word){"insts", strlen("insts")};
    char *end;
    int k = find_key(top_word_key, TOP_WORDS, key);
    if (k >= 0) {
        snprintf(row->word[k], TOP_TEXT, "%s", value);
        return;
    }
    if ((k = find_key(top_counter_key, TOP_COUNTERS, key)) >= 0) {
        double v = strtod(value, &end);
        if (end == value || *end || !(v >= 0 && v < 1e18)) return;
        row->count[k] = v;
        row->has |= UINT64_C(1) << k;
        return;
    }
    if ((k = find_key(top_number_key, TOP_NUMBERS, key)) < 0) return;
    long long v = strtoll(value, &end, 10);
    if (end != value && !*end && v != TOP_UNKNOWN) row->number[k] = v;
}

/* Stores what follows the first word of a record; what is not a pair is skipped. */
static void take_pairs(TopModel *m, TopRow *row, Words *w) {
    Word word, key, value;
    uint64_t now;
    Bytes text = {0};
    while (word_next(w, &word)) {
        if (!word_pair(word, &key, &value)) continue;
        if (row == &m->dispatcher && word_is(key, "now_us") &&
            word_number(value, INT64_MAX, &now) && now > 0)
            m->now_us = (int64_t)now;
        text.n = 0;
        bytes_puts(&text, ""); /* data is not NULL */
        word_text(value, &text);
        take_pair(row, key, text.data);
    }
    bytes_fini(&text);
}

static void clear(TopRow *row) {
    for (int k = 0; k < TOP_NUMBERS; k++) row->number[k] = TOP_UNKNOWN;
    memset(row->word, 0, sizeof row->word);
    row->has = 0;
}

/* ---- Rates ---- */

/* Adds the counters to the samples and sets the rates. A counter that has fallen belongs to another
 * process: the samples of its predecessor are dropped. */
static void sample(TopRow *row, int64_t now_us) {
    int n = row->n_samples;
    if (n && now_us <= row->sample[n - 1].at_us) return;
    for (int c = 0; n && c < TOP_COUNTERS; c++)
        if (row->count[c] < row->sample[n - 1].count[c]) n = 0;
    if (!n) row->has_rate = false;
    /* One sample may be older than the window: it begins there. */
    int from = 0;
    while (from + 1 < n && row->sample[from + 1].at_us <= now_us - TOP_WINDOW_US) from++;
    if (n - from == TOP_SAMPLES) from++;
    memmove(row->sample, row->sample + from, (size_t)(n - from) * sizeof *row->sample);
    n -= from;
    row->sample[n].at_us = now_us;
    memcpy(row->sample[n].count, row->count, sizeof row->count);
    row->n_samples = ++n;
    if (n < 2) {
        memset(row->rate, 0, sizeof row->rate);
        return;
    }
    double window_s = (double)(now_us - row->sample[0].at_us) * 1e-6;
    double step = (double)(now_us - row->sample[n - 2].at_us) / TOP_SAMPLE_US;
    double weight = row->has_rate ? 1 - pow(1 - TOP_ALPHA, step) : 1;
    for (int c = 0; c < TOP_COUNTERS; c++) {
        double rate = (row->count[c] - row->sample[0].count[c]) / window_s;
        row->rate[c] += weight * (rate - row->rate[c]);
    }
    row->has_rate = true;
}

double top_row_busy(const TopRow *row, double of_class[WATCH_CLASS_COUNT]) {
    double busy = 0, scale = 1;
    for (int c = 0; c < WATCH_CLASS_COUNT; c++) busy += row->rate[TOP_BUSY + c] * 1e-6;
    if (busy > 1) scale = 1 / busy;
    for (int c = 0; of_class && c < WATCH_CLASS_COUNT; c++)
        of_class[c] = row->rate[TOP_BUSY + c] * 1e-6 * scale;
    return busy * scale;
}

IdleWhy top_row_idle(const TopRow *row, double *fraction) {
    IdleWhy best = IDLE_WHYS;
    *fraction = 0;
    for (int c = 0; c < IDLE_WHYS; c++) {
        double part = row->rate[TOP_IDLE + c] * 1e-6;
        if (part <= *fraction) continue;
        best = (IdleWhy)c;
        *fraction = part;
    }
    if (*fraction > 1) *fraction = 1;
    return best;
}

/* ---- Rows ---- */

static TopRow *find(TopRows *rows, uint64_t id) {
    for (int i = 0; i < rows->n; i++)
        if (rows->row[i].id == id) return &rows->row[i];
    return NULL;
}

const TopRow *top_model_find(const TopModel *m, TopKind kind, uint64_t id) {
    return find((TopRows *)&m->rows[kind], id);
}

/* The row of that id, new if need be; NULL: there are too many. */
static TopRow *row_of(TopModel *m, TopKind kind, uint64_t id) {
    TopRows *rows = &m->rows[kind];
    TopRow *row = find(rows, id);
    if (row) return row;
    if (rows->n == TOP_ROWS) return NULL;
    ARRAY_ROOM(rows->row, rows->n, rows->cap, 8);
    row = &rows->row[rows->n++];
    *row = (TopRow){.kind = kind, .id = id};
    clear(row);
    return row;
}

/* Removes the rows that left. */
static void sweep(TopModel *m) {
    for (int kind = 0; kind < TOP_KINDS; kind++) {
        TopRows *rows = &m->rows[kind];
        int n = 0;
        for (int i = 0; i < rows->n; i++) {
            const TopRow *row = &rows->row[i];
            bool stays = kind == TOP_SIGNAL ? m->now_us - row->seen_us < TOP_FORGET_US
                                            : row->snapshot == m->n_snapshots;
            if (!stays) continue;
            if (n != i) rows->row[n] = *row;
            n++;
        }
        rows->n = n;
    }
}

/* The identity of a record, from its pairs. */
static uint64_t identify(const TopRow *got, int n_before) {
    int64_t number = got->number[got->kind == TOP_WORKER ? TOP_RANK : TOP_ID];
    if (got->kind != TOP_OP) return number != TOP_UNKNOWN ? (uint64_t)number : (uint64_t)n_before;
    uint64_t hash = hash_bytes(got->word[TOP_NAME], strlen(got->word[TOP_NAME]), 0);
    hash = hash_bytes(got->word[TOP_FILE], strlen(got->word[TOP_FILE]), hash);
    return hash ^ (uint64_t)got->number[TOP_LINE];
}

/* Copies what a record says, without samples and rates. */
static void update(TopRow *row, const TopRow *got, const TopModel *m) {
    /* Another process, or counters that were not known before. */
    bool is_other = row->number[TOP_PID] != got->number[TOP_PID] || row->has != got->has;
    memcpy(row->number, got->number, sizeof row->number);
    memcpy(row->word, got->word, sizeof row->word);
    memcpy(row->count, got->count, sizeof row->count);
    row->has = got->has;
    row->snapshot = m->n_snapshots;
    row->seen_us = m->now_us;
    if (is_other) row->n_samples = 0;
}

/* Adds what a worker did since the previous snapshot to the signal that it is in. Times are divided
 * by the number of workers. */
static void add_to_signal(TopModel *m, const TopRow *got, const TopRow *before) {
    const char *name = got->word[TOP_IN_SIGNAL];
    if (!*name) return;
    TopRow *row = row_of(m, TOP_SIGNAL, hash_bytes(name, strlen(name), 0));
    if (!row) return;
    if (row->snapshot != m->n_snapshots) row->number[TOP_WORKERS] = 0;
    row->number[TOP_WORKERS]++;
    snprintf(row->word[TOP_NAME], TOP_TEXT, "%s", name);
    row->has |= got->has;
    row->snapshot = m->n_snapshots;
    row->seen_us = m->now_us;
    for (int c = 0; before->n_samples && c < TOP_COUNTERS; c++) {
        double more = got->count[c] - before->count[c];
        if (more > 0) row->count[c] += c < TOP_INSTS ? more / m->rows[TOP_WORKER].n : more;
    }
}

/* Reads one record of `kind` into its row. */
static void take_row(TopModel *m, TopKind kind, Words *w) {
    TopRow got = {.kind = kind};
    clear(&got);
    take_pairs(m, &got, w);
    TopRow *row = row_of(m, kind, identify(&got, m->rows[kind].n));
    if (!row || row->snapshot == m->n_snapshots) return;
    if (kind == TOP_WORKER) {
        uint64_t id = row->id;
        add_to_signal(m, &got, row);
        row = find(&m->rows[kind], id);
    }
    update(row, &got, m);
    sample(row, got.number[TOP_CLOCK_US] > 0 ? got.number[TOP_CLOCK_US] : m->now_us);
}

static void take_dispatcher(TopModel *m, Words *w) {
    clear(&m->dispatcher);
    memset(m->dispatcher.count, 0, sizeof m->dispatcher.count);
    take_pairs(m, &m->dispatcher, w);
    sample(&m->dispatcher, m->now_us);
}

/* Signals that no worker is in now go on with rates that fall. */
static void sample_signals(TopModel *m) {
    TopRows *rows = &m->rows[TOP_SIGNAL];
    for (int i = 0; i < rows->n; i++) {
        TopRow *row = &rows->row[i];
        if (row->snapshot != m->n_snapshots) row->number[TOP_WORKERS] = 0;
        sample(row, m->now_us);
    }
}

void top_model_take(TopModel *m, const char *text, size_t n, int64_t at_us) {
    static const char *const kind_name[] = {"worker", "client", "", "op"};
    m->n_snapshots++;
    m->now_us = at_us;
    for (int pass = 0; pass < 2; pass++) /* the dispatcher's record has the time */
        for (const char *line = text, *end = text + n; line < end;) {
            const char *newline = memchr(line, '\n', (size_t)(end - line));
            size_t length = (size_t)((newline ? newline : end) - line);
            Words w = {line, line, line + length};
            Word word;
            if (word_next(&w, &word)) {
                int kind = find_key(kind_name, TOP_KINDS, word);
                if (pass == 0 && word_is(word, "dispatcher")) take_dispatcher(m, &w);
                if (pass == 1 && kind >= 0) take_row(m, (TopKind)kind, &w);
            }
            line += length + 1;
        }
    sweep(m);
    sample_signals(m);
}

void top_model_fini(TopModel *m) {
    for (int kind = 0; kind < TOP_KINDS; kind++) free(m->rows[kind].row);
    *m = (TopModel){0};
}
