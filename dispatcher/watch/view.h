/* view.h: what a picture of a run shows, as numbers and words: its title, how the time divides, the
 * columns of a lane, the largest transfers. draw.h makes a picture of it, draw_text.c text.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_VIEW_H
#define GT_DISPATCHER_WATCH_VIEW_H
#include "dispatcher/watch/pattern.h"
#include "dispatcher/watch/timeline.h"

enum { VIEW_WORKERS = 64, VIEW_CLIENTS = 8 }; /* lanes shown; a line counts the others */

/* How the time of all workers divides, 0 to 1. Transfers happen while others compute, so the sum
 * may exceed 1. */
typedef struct ViewShares {
    double class_[WATCH_CLASS_COUNT];
    double busy, idle, cause[IDLE_WHYS]; /* idle: with or without a cause */
    uint64_t n_ops;
    int n_workers;
} ViewShares;
ViewShares view_shares(const Timeline *t);

/* "GT timeline: 24 ops, 4 workers, 0.079 s, 61% busy". */
void view_title(const Timeline *t, Bytes *out);
/* The parts of a run, each with its pattern: the outermost signals that take at least 3 % of the
 * computing, if they follow one another and at least two of them have a pattern. Otherwise the
 * whole run is one part. */
typedef struct ViewPart {
    uint32_t signal; /* Timeline.signal; 0: the whole run */
    int64_t begin_ns, end_ns;
    Pattern pattern;
} ViewPart;
enum { VIEW_PARTS = 8 };
int view_parts(const Timeline *t, ViewPart out[VIEW_PARTS]);
/* "pattern: pipeline w0 > w1, bubble 38%", a line for each part; and what was wrong with the tape:
 * torn, cut. Lines have "\n" between them. */
void view_caption(const Timeline *t, const ViewPart *part, int n_parts, Bytes *out);
/* "idle 17%: 10% starved, 5% blocked, 2% of unknown cause". "" if there is none. */
void view_idle(const Timeline *t, Bytes *out);

/* What a lane did in one column: nanoseconds by class. */
typedef struct ViewColumn {
    int64_t ns[WATCH_CLASS_COUNT];
} ViewColumn;
/* Adds slice [begin_ns, end_ns) to the n columns into which [from_ns, to_ns) is divided. */
void view_add(ViewColumn *column, int n, int64_t from_ns, int64_t to_ns, const Slice *s);
int64_t view_sum(const ViewColumn *column);
WatchClass view_most(const ViewColumn *column);
/* Counts events per column. Returns the largest count. */
uint32_t view_count(const TimelineEvent *event, size_t n_events, int64_t from_ns, int64_t to_ns,
                    uint32_t *count, int n);

/* A transfer between workers: a move, or a collective, which is one transfer for all that take
 * part. */
typedef struct ViewMove {
    const Slice *slice; /* of a collective: the first one */
    uint64_t bytes;     /* of a collective: of all */
    int from, to;       /* ranks; of a collective: the lowest and the highest */
    int64_t begin_ns, end_ns;
    bool is_collective;
} ViewMove;
/* The at most `most` largest moves and as many collectives (of equal ones those that took longest,
 * then the earliest), in order of time. Returns how many. Caller frees *out. */
int view_largest(const Timeline *t, int most, ViewMove **out);

/* One line about a slice: "matmul t42, 1.60 ms, 768 KiB, pipeline.gt:31". */
void view_slice(const Timeline *t, const Slice *s, Bytes *out);
/* "pipeline.gt:31", without the folders; "" if unknown. */
void view_place(const Timeline *t, uint32_t file, uint32_t line, Bytes *out);
/* "waits for w1", "starved: no instruction", ... */
void view_cause(const Idle *idle, Bytes *out);
/* Appends at most `most` characters: s, or its begin and "..."; control characters and bytes that
 * are not UTF-8 become "?". */
void view_clean(Bytes *out, const char *s, size_t most);
/* If the options leave no operation: appends why, such as "there is no signal 'a': the tape has
 * forward, backward". Otherwise nothing. */
void view_why_empty(const Timeline *t, Bytes *out);
#endif
