/* prove.h: proves an engine on the machine at hand, without any test file: what it computes is
 * compared with the engine cpu.
 *
 * Parts, each in a process of its own, so that one that crashes, hangs or loses its device is
 * reported like any other failure, and the next part runs:
 *
 *   operations  every row of ops.def with every dtype that it takes, in several shapes and views
 *   fusions     random fusions, whose kernels must give the bits of their operations one by one
 *   streams     many calls, copies and reads in random order, checked late
 *   memory      filled to the last block; refusals are errors; what is there stays as it was
 *   indices     out of range: the right error at the right call, and later calls are right
 *   copies      reads, writes and copies of strided views; hashes
 *   graphs      calls recorded as a graph, with other addresses and numbers at each launch
 *   peers       tensors from one engine to another: of this process, of another one, by the host
 *   large       a tensor of more than 2^31 elements, if the device has memory for two
 *
 * Everything is drawn from the seed. A failure names what it takes to see it again.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PROVE_PROVE_H
#define GT_WORKER_PROVE_PROVE_H
#include "worker/engine/engine.h"
#include "worker/prove/outcome.h"

#include <signal.h>
#include <stdio.h>

typedef enum ProveProgress {
    PROGRESS_NONE,
    PROGRESS_LINES,   /* a line as each part begins, and one a minute */
    PROGRESS_TERMINAL /* one line that changes */
} ProveProgress;

typedef struct ProveConfig {
    const EngineOps *ops, *oracle;
    Agree agree;           /* ... and how much of the oracle's results must be the same */
    uint64_t seed;         /* 0 counts as 1 */
    uint64_t memory_bytes; /* of each engine; 0: 256 MiB */
    int device;            /* EngineConfig's */
    int threads;           /* of engines that compute on the host; 0: 1 */
    bool is_quick;         /* a small part of the draws */
    bool records_quick;    /* for tests: a quick proof that passed leaves a record, which says so */
    int stall_s;           /* a part without progress for so long is ended; 0: 300 */
    const char *only;      /* NULL: all parts; else one, by name */
    const volatile sig_atomic_t *stop; /* set by a signal handler: the proof ends; NULL: none */
    ProveProgress progress;            /* on stderr */
    FILE *out;                         /* gets the report, line by line; NULL: stdout */
    int64_t large; /* elements of the part large, on any engine; 0: over 2^31, on a device */
} ProveConfig;

typedef enum ProveEnd { PROVE_PASSED, PROVE_FAILED, PROVE_STOPPED } ProveEnd;

/* Sets ops, oracle and agree for the engine of that name. Returns false, and err says why, if there
 * is none, or it computes no values. */
bool prove_find(const char *name, ProveConfig *config, Err *err);
/* Describes the engine's device, in a process of its own: no device's library is loaded into this
 * one, which is going to fork. Returns false, and err says why, if there is none. *out stays empty
 * if the engine computes on the host. */
bool prove_identify(const ProveConfig *config, EngineDevice *out, Err *err);
/* Opens the engine as the parts do and closes it, in a process of its own. Returns false, and err
 * says why, if the device has too little free memory for a proof; other errors are the parts'. */
bool prove_has_room(const ProveConfig *config, Err *err);
/* Runs the parts and prints a line for each, with its failures below it. Passed: all parts that the
 * engine has did. */
ProveEnd prove_run(const ProveConfig *config);
/* The whole of `gt-worker --prove`: says what is proved, runs the parts, and says how it ended. Of
 * a device that passed, all parts and not quickly, it leaves a record (record.h), and it removes
 * the record of one that failed. */
ProveEnd prove_all(const ProveConfig *config);
#endif
