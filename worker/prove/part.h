/* part.h: what the parts of a proof share. A part runs in a process of its own. Its tally
 * is in memory that it shares with the process that reports.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_PART_H
#define GT_WORKER_PROVE_PART_H
#include "worker/prove/prove.h"
#include "worker/prove/rand.h"

enum { TALLY_FAILURES = 4, TALLY_TEXT = 480 };

typedef struct Tally {
    _Atomic uint64_t done; /* cases begun */
    _Atomic bool stop;     /* set by the process that reports: end soon */
    uint64_t all;          /* cases to come in all, about */
    uint64_t failed;
    bool is_finished, is_left_out;
    double share; /* largest error of a value that is near enough, as a part of its tolerance */
    char share_of[48];                        /* ... and what computed it: "matmul bfloat16" */
    char now[TALLY_TEXT];                     /* the case under way */
    char what[160];                           /* what was done; left out: why */
    char failure[TALLY_FAILURES][TALLY_TEXT]; /* the first ones */
} Tally;

typedef struct Part {
    const ProveConfig *config;
    Tally *tally;
    Engine *e;      /* to be proved */
    Engine *oracle; /* in host memory, on one thread; its functions take any host pointer */
    bool is_lost;   /* e's device is */
    Rand rand;
} Part;

/* Begins a case, by its description. Returns false if the part is to end. */
bool part_begin(Part *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The case under way has failed: describes how. */
void part_fail(Part *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An error of a value that is near enough, see Tally. */
void part_share(Part *p, double share, Op op, DType d);
/* What was done. */
void part_done(Part *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The engine has nothing that the part could prove; says why. */
void part_leave_out(Part *p, const char *why);
/* The number of rounds: quick or full. */
int part_rounds(const Part *p, int quick, int full);

/* Opens an engine with that memory, which an error ends the part without; NULL then. */
Engine *part_open(Part *p, const EngineOps *ops, uint64_t memory_bytes);
/* Closes it; memory that is still in use is a failure. */
void part_close(Part *p, Engine **e);

/* The parts. Each opens p->e and p->oracle as it needs them. */
void part_operations(Part *p);
void part_products(Part *p);
void part_fusions(Part *p);
void part_streams(Part *p);
void part_memory(Part *p);
void part_indices(Part *p);
void part_copies(Part *p);
void part_graphs(Part *p);
void part_peers(Part *p);
void part_large(Part *p);
#endif
