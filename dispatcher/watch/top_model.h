/* top_model.h: what gt-top knows of a run: snapshots go in as text, rows with smoothed rates come
 * out. No terminal, no clock, no connection.
 *
 * A snapshot (monitor.h) has a record for the dispatcher and one for each worker, client and
 * operation. Its counters are cumulative. The rate of a counter is its increase over the last
 * TOP_WINDOW_US by the clock of the process that counted it, smoothed exponentially. The busy and
 * idle times of a signal are estimates: a worker's time between two snapshots counts for the signal
 * that it is in at the second, as a fraction of the time of all workers.
 *
 * The text comes from the network: unknown records and keys are ignored, missing ones stay unknown,
 * and rows beyond TOP_ROWS are left out.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TOP_MODEL_H
#define GT_DISPATCHER_WATCH_TOP_MODEL_H
#include "dispatcher/watch/op_class.h"
#include "runtime/wire/wire_watch.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOP_WINDOW_US = 2000000,
    TOP_SAMPLE_US = 250000, /* a sample after this time has the weight TOP_ALPHA */
    TOP_SAMPLES = 16,
    TOP_ROWS = 1024, /* of one kind */
    TOP_TEXT = 128,
    TOP_FORGET_US = 60000000 /* a signal that was not seen for so long leaves the list */
};
#define TOP_ALPHA   0.15
#define TOP_UNKNOWN INT64_MIN

typedef enum TopKind { TOP_WORKER, TOP_CLIENT, TOP_SIGNAL, TOP_OP, TOP_KINDS } TopKind;

typedef enum TopCounter {
    TOP_BUSY,                                /* us, one per WatchClass */
    TOP_IDLE = TOP_BUSY + WATCH_CLASS_COUNT, /* us, one per IdleWhy */
    TOP_INSTS = TOP_IDLE + IDLE_WHYS,        /* instructions; of an op: how often it ran */
    TOP_TIME,                                /* us; of an op */
    TOP_FRAME_BYTES,                         /* received from clients */
    TOP_SENT_BYTES,                          /* sent to workers */
    TOP_DATA_BYTES,                          /* of tensors, from worker to worker */
    TOP_MOVED_BYTES,                         /* read from other workers */
    TOP_COUNTERS
} TopCounter;

typedef enum TopNumber {
    TOP_RANK,
    TOP_ID,
    TOP_UP_US,
    TOP_WORKERS,
    TOP_CLIENTS,
    TOP_QUEUE,
    TOP_PID,
    TOP_THREADS,
    TOP_MEMORY,
    TOP_LIMIT,
    TOP_BLOCKED_ON,
    TOP_HOME,
    TOP_PENDING,
    TOP_TENSORS,
    TOP_BYTES,
    TOP_LAG_US,
    TOP_LINE,
    TOP_DEVICE_NUMBER,
    TOP_DEVICE_USED,
    TOP_DEVICE_TOTAL,
    TOP_DEVICE_CELSIUS,
    TOP_DEVICE_BUSY,
    TOP_CLOCK_US, /* of a worker: when it counted, by its own clock */
    TOP_NUMBERS
} TopNumber;

typedef enum TopWord {
    TOP_NAME,
    TOP_ENDPOINT,
    TOP_VERSION,
    TOP_ENGINE,
    TOP_DEVICE,
    TOP_HOST,
    TOP_USER,
    TOP_FILE,
    TOP_IN_SIGNAL, /* the innermost signal of a worker or client */
    TOP_WORDS
} TopWord;

/* Their keys in a snapshot; of an op TOP_INSTS is `count`. */
extern const char *const top_counter_key[TOP_COUNTERS], *const top_number_key[TOP_NUMBERS],
                                                            *const top_word_key[TOP_WORDS];

typedef struct TopRow {
    TopKind kind;
    uint64_t id;       /* rank, client, or the hash of a name */
    uint64_t snapshot; /* the last one that had it */
    int64_t seen_us;
    int64_t number[TOP_NUMBERS]; /* TOP_UNKNOWN: it was not in the snapshot */
    char word[TOP_WORDS][TOP_TEXT];
    uint64_t has; /* bit c: the counter is known */
    double count[TOP_COUNTERS];
    double rate[TOP_COUNTERS]; /* per second; of times in us: a fraction times 1e6 */
    struct {
        int64_t at_us;
        double count[TOP_COUNTERS];
    } sample[TOP_SAMPLES]; /* the oldest first */
    int n_samples;
    bool has_rate;
} TopRow;

typedef struct TopRows {
    TopRow *row;
    int n, cap;
} TopRows;

typedef struct TopModel {
    TopRow dispatcher;
    TopRows rows[TOP_KINDS];
    uint64_t n_snapshots;
    int64_t now_us;   /* of the last snapshot */
    uint64_t dropped; /* snapshots and lines that the dispatcher could not send to this program */
} TopModel;           /* zero-initialised is valid and empty */

/* Takes a snapshot of n bytes. at_us: when it came, by any clock, for one without now_us. */
void top_model_take(TopModel *m, const char *text, size_t n, int64_t at_us);
void top_model_fini(TopModel *m);

/* The row; NULL: there is none. */
const TopRow *top_model_find(const TopModel *m, TopKind kind, uint64_t id);
/* Fractions of the time, 0 to 1, that a worker or signal was busy with a class, and in all. They
 * are scaled down if several threads make the sum exceed 1. */
double top_row_busy(const TopRow *row, double of_class[WATCH_CLASS_COUNT]);
/* The main cause of a worker's idle time, and the fraction of the time that it takes; IDLE_WHYS:
 * none is known. */
IdleWhy top_row_idle(const TopRow *row, double *fraction);
/* True if the counter c was in the snapshot. */
static inline bool top_row_has(const TopRow *row, int c) { return row->has >> c & 1; }
#endif
