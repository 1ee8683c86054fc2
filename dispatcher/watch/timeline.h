/* timeline.h: a tape as a model of the run: what each worker computed and moved, when it waited and
 * why, which signals were active, and what that amounts to. gt-trace, gt-visualize and gt-diff are
 * built on it.
 *
 *   Timeline *t;
 *   if (!timeline_read("run.tape", NULL, &t, &err)) ...      or, line by line:
 *   t = timeline_new(NULL); timeline_add(t, line, n, &err) ...; timeline_settle(t);
 *
 * Times are nanoseconds since the tape began. A tape is hostile input: its lines are checked, all
 * numbers are bounded, and the memory of a model is (TIMELINE_RECORDS).
 *
 * Each worker has a compute lane and a transfer lane. Slices of one lane do not overlap unless the
 * worker did several things at once; then `row` says which of several rows of the lane is free.
 * The ends in a tape are cut to whole microseconds: short slices are moved by less than that, so
 * that they keep their order and length.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TIMELINE_H
#define GT_DISPATCHER_WATCH_TIMELINE_H
#include "dispatcher/watch/op_class.h"
#include "runtime/inst/tape.h"
#include "runtime/wire/wire_watch.h"

#define TIMELINE_RECORDS  (UINT32_C(6) << 20) /* default of TimelineOptions.records_max */
#define TIMELINE_IDLE_NS  50000               /* shorter gaps have no cause, in tapes and here */
#define TIMELINE_NO_ID    UINT64_MAX          /* Slice.id of an effect: print, save, ... */
#define TIMELINE_NO_TIME  INT64_MIN
#define TIMELINE_LINE_MAX (16u << 20) /* bytes of a tape's line */

/* What a worker executed, from a `done` line. Strings (file, name, ...) are numbers for
 * timeline_text; 0 is "". */
typedef struct Slice {
    int64_t begin_ns, end_ns;
    int64_t sent_ns;       /* when the dispatcher sent it, or TIMELINE_NO_TIME */
    uint64_t id;           /* of the first result, or TIMELINE_NO_ID */
    uint64_t bytes, moved; /* of the results here; that came from other workers (see has_moved) */
    uint32_t client;       /* 0: none */
    uint32_t name;         /* of the operation, also if this version does not know it */
    uint32_t file, line;   /* source position; line 0: unknown. Inserted conversions have that of
                            * the instruction that needs them */
    uint32_t signal;       /* innermost active signal: Timeline.signal; 0: none */
    uint32_t from, n_from; /* ranks that were read: Timeline.rank[from ...] */
    uint32_t in, n_in;     /* operands' ids: Timeline.operand[in ...]; at most TIMELINE_INS */
    uint32_t seq;          /* the line of the tape */
    uint16_t op;           /* Op; OP_COUNT: unknown */
    uint8_t class_;        /* WatchClass */
    uint8_t row;           /* 0, unless it overlaps another slice of its lane */
    bool has_moved;        /* the tape says how much was moved */
} Slice;
enum { TIMELINE_INS = 6, TIMELINE_ROWS = 16 };

/* Time without computing, of at least TIMELINE_IDLE_NS, inside one gap of the compute lane. */
typedef struct Idle {
    int64_t begin_ns, end_ns;
    int cause;     /* IdleWhy */
    int on;        /* the rank that was waited for, or -1 */
    uint32_t name; /* operation that waited, or that was compiled; 0: unknown */
    uint32_t file, line;
    bool is_derived; /* from the slices around, not from an idle line */
} Idle;

typedef struct Compile {
    int64_t begin_ns, end_ns;
    uint32_t n_ops, key; /* key: text */
} Compile;

typedef struct MemorySample {
    int64_t at_ns;
    uint64_t bytes, limit; /* limit 0: unknown */
} MemorySample;

/* A time during which a signal was active: of a client as its program entered and left it, of a
 * worker from the first to the last slice of it in a row. */
typedef struct Band {
    int64_t begin_ns, end_ns;
    uint32_t signal; /* Timeline.signal; of workers only the innermost one */
} Band;

typedef struct TimelineEvent { /* a line of event > or = */
    int64_t at_ns;
    uint64_t id;
    uint32_t client;
    uint16_t op;
    uint8_t class_;
    uint8_t is_inserted; /* by the dispatcher: a conversion */
} TimelineEvent;

typedef struct TimelineMark { /* note("text"), hot begin, a failure, what came and left */
    int64_t at_ns;
    TapeEvent event;
    uint32_t client;
    int rank; /* -1: none */
    uint32_t text;
    uint32_t file, line;
} TimelineMark;

typedef struct ClientLane {
    uint32_t id;
    uint32_t name;              /* text */
    int64_t joined_ns, left_ns; /* TIMELINE_NO_TIME: not in the tape */
    TimelineEvent *event;       /* received from it, in order */
    size_t n_events, events_cap;
    Band *band; /* by begin */
    size_t n_bands, bands_cap;
    uint32_t signal; /* active at the end of what was read */
} ClientLane;

/* How a worker's time within the window divides. busy + the idle causes + gaps = the time that it
 * was there. Computing counts before transfers, these before idleness. */
typedef struct WorkerTotals {
    int64_t there_ns, busy_ns, idle_ns[IDLE_WHYS];
    int64_t gap_ns; /* without a cause: shorter than TIMELINE_IDLE_NS, or unknown */
    int64_t class_ns[WATCH_CLASS_COUNT]; /* sums of slices; of transfers also those in parallel */
    uint64_t moved;                      /* bytes that came over */
    uint64_t n_ops;
} WorkerTotals;

typedef struct WorkerLane {
    int rank;
    bool is_known; /* it joined or did something */
    uint32_t engine;
    int64_t joined_ns, left_ns;
    Slice *slice, *transfer; /* the two lanes, by begin once settled */
    size_t n_slices, slices_cap, n_transfers, transfers_cap;
    int slice_rows, transfer_rows;
    Idle *idle; /* by begin, once settled; they do not overlap */
    size_t n_idle, idle_cap;
    Compile *compile;
    size_t n_compiles, compiles_cap;
    MemorySample *sample;
    size_t n_samples, samples_cap;
    Band *band; /* once settled */
    size_t n_bands, bands_cap;
    WorkerTotals sum; /* once settled */
} WorkerLane;

typedef struct TimelineGroup {
    uint32_t id;
    int n;
    uint16_t *rank;
} TimelineGroup;

typedef struct TimelineSignal {
    uint32_t name;   /* text */
    uint32_t parent; /* the signal around it; 0: none */
    uint32_t depth;  /* 0: outermost */
} TimelineSignal;

/* What to keep. {0}: everything. */
typedef struct TimelineOptions {
    bool has_from, has_to;
    int64_t from_ns, to_ns; /* slices that overlap this are kept, and cut */
    uint32_t client;        /* this one alone; 0: all */
    const char *signal;     /* under this signal alone, at any depth; NULL: all. Borrowed */
    uint64_t events_max;    /* stop after so many lines; 0: no limit */
    /* Called for the header and each line that is kept, without its newline; or NULL. */
    void (*chosen)(void *ctx, const char *line, size_t n);
    void *ctx;
    size_t records_max; /* of slices, events, samples ... together; 0: TIMELINE_RECORDS */
} TimelineOptions;

typedef struct TimelineState TimelineState;
typedef struct Timeline {
    TimelineOptions options;
    ClientLane *client; /* in order of appearance */
    size_t n_clients, clients_cap;
    WorkerLane *worker; /* by rank; some may not be is_known */
    int n_workers, workers_cap;
    TimelineGroup *group; /* in order of appearance */
    size_t n_groups, groups_cap;
    TimelineEvent *sent; /* by the dispatcher, in order */
    size_t n_sent, sent_cap;
    TimelineMark *mark; /* in order */
    size_t n_marks, marks_cap;
    uint64_t n_failures;
    TimelineSignal *signal; /* [0]: none */
    size_t n_signals, signals_cap;
    uint64_t *operand;
    size_t n_operands, operands_cap;
    uint16_t *rank;
    size_t n_ranks, ranks_cap;
    /* The window: from the first to the last activity that is kept, or as the options say. */
    int64_t begin_ns, end_ns;
    uint64_t n_lines;  /* read, with the header */
    uint64_t n_chosen; /* ... of these within the options */
    int64_t at_ns;     /* the time of the line that was added last */
    bool is_chosen;    /* the line that was added last is within the options */
    bool is_enough;    /* events_max is reached: what follows is ignored */
    bool is_cut;       /* records_max is reached: what followed is not in the model; its lines are
                        * still read, and chosen */
    uint64_t cut_line; /* is_cut: the line that was left out first */
    bool is_torn;      /* the last line had no end, and was skipped */
    bool has_moved;    /* ... and says how much was moved, unless it is nothing */
    TimelineState *state;
} Timeline;

/* options NULL: everything. Never NULL; caller frees. */
Timeline *timeline_new(const TimelineOptions *options);
void timeline_free(Timeline **t);
/* Adds one line, without its newline: the header, if it is the first of a file, or five columns and
 * the rest. False: err says "column N: ..." and the model is unchanged. Unknown kinds of lines and
 * unknown keys are skipped. */
bool timeline_add(Timeline *t, const char *line, size_t n, Err *err);
/* Extends the window, before timeline_settle: the tape is known to cover this time. */
void timeline_extend(Timeline *t, int64_t begin_ns, int64_t end_ns);
/* Ends the model: sorts, finds rows, gaps, bands and totals. To be called once. */
void timeline_settle(Timeline *t);
/* Reads a whole tape ("-": standard input) and settles it. False: err, with the text
 * "FILE:LINE: error: ..." for a mistake in the tape. A last line without a newline is skipped
 * (is_torn). */
bool timeline_read(const char *path, const TimelineOptions *options, Timeline **out, Err *err);

/* The string of a number; "" for 0. Valid as long as t. */
const char *timeline_text(const Timeline *t, uint32_t text);
/* The name of the i-th signal with those around it: "train/forward". buf ends with NUL; "": none.*/
const char *timeline_signal(const Timeline *t, uint32_t signal, char *buf, size_t size);
/* "train.gt:41", or "" if unknown. */
const char *timeline_position(const Timeline *t, uint32_t file, uint32_t line, char *buf,
                              size_t size);
const ClientLane *timeline_client(const Timeline *t, uint32_t id); /* or NULL */
#endif
