/* config.h: what signals ask for: which workers, how tensors are laid out on them, where gradients
 * run, what is compiled (gt-signals).
 *
 * A Config maps names of signals to what was said about them. It comes from YAML (config_parse,
 * with positions for errors), from the program, or from `signal define` instructions, and one is
 * merged into another key by key: later wins, what was not said stays. Whoever reads it asks for
 * the meaning (signal_axis ...), where what nobody said has its default. Clients keep one, and the
 * dispatcher keeps one per client over its own.
 *
 *     forward:                      # a signal
 *       shard:                      # without it tensors stay where they are
 *         axis: 0                   # which axis is split; -1 is the last; 0
 *         workers: [0, 1]           # on whom, in this order; null: on all
 *         replicated: false         # true: whole on each instead
 *       backward: backward_layer1   # the signal under which gradients run; its own
 *       compile: false              # compile at first sight
 *
 * The name "*" is no signal that can be entered: its `shard` says what becomes of large tensors
 * that are born where no signal speaks (GT_AUTO_SHARD=1 defines it with axis 0 on all workers).
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_LAYOUT_CONFIG_H
#define GT_RUNTIME_LAYOUT_CONFIG_H
#include "runtime/inst/inst.h"
#include "runtime/base/map.h"

/* What was said: the others have their defaults. */
enum {
    SAID_AXIS = 1,
    SAID_WORKERS = 2,
    SAID_REPLICATED = 4,
    SAID_BACKWARD = 8,
    SAID_COMPILE = 16,
    SAID_SHARD = SAID_AXIS | SAID_WORKERS | SAID_REPLICATED
};

/* A place in the text that is parsed: line and column from 1, len in bytes. line 0: none. */
typedef struct ConfigAt {
    uint32_t line, col, len;
} ConfigAt;

typedef struct SignalConfig {
    char *name; /* owned, as are workers, backward and file */
    unsigned said;
    int axis; /* may count from the end */
    bool replicated, compile;
    int n_workers; /* 0: all */
    int64_t *workers;
    char *backward; /* NULL: its own name */
    char *file;     /* where it was first spoken of: a path and `at`; NULL: by the program */
    ConfigAt at, axis_at, workers_at, backward_at; /* its name and those values in the file */
    struct SignalConfig *next;                     /* of equal hash */
} SignalConfig;

/* Zero-initialised is valid and empty. */
typedef struct Config {
    SignalConfig **signal; /* in the order in which they came */
    int n, cap;
    uint64_t epoch; /* grows with every change: what was derived from an older one is stale */
    Map by_name;
} Config;

void config_fini(Config *c);
/* NULL: nothing is known of that name. Valid until c is changed. */
const SignalConfig *config_find(const Config *c, const char *name, size_t n);
/* The nearest name, for hints; NULL: none is near. */
const char *config_nearest(const Config *c, const char *name, size_t n);

/* Is what s says by itself possible? false: *at is where in its file, err why not. */
bool signal_config_check(const SignalConfig *s, ConfigAt *at, Err *err);
/* Adds what s says; s stays the caller's. false: s contradicts itself, c would hold more than
 * MAX_SIGNALS, or backward signals would go round in a circle; then c is unchanged. */
bool config_put(Config *c, const SignalConfig *s, Err *err);
/* Adds all of `from`, or nothing. *at: where in the text of `from` the mistake is. */
bool config_merge(Config *c, const Config *from, ConfigAt *at, Err *err);
void signal_config_fini(SignalConfig *s); /* what it points to; s itself is the caller's */

/* Reads YAML into an empty c. false: *at is where, err what and a hint; c is to be dropped. Any
 * bytes may come. */
bool config_parse(Config *c, const char *file, const char *text, size_t n, ConfigAt *at, Err *err);

/* Reads a file of at most 1 MiB. false: err has the position in front, as FILE:LINE:COL. */
bool config_read(Config *c, const char *path, Err *err);

/* ---- what it means ---- */

#define CONFIG_EVERYWHERE "*" /* the name for where no signal speaks */

static inline bool signal_is_sharded(const SignalConfig *s) { return (s->said & SAID_SHARD) != 0; }
/* The signal of the gradients of what is recorded in s: never NULL. */
static inline const char *signal_backward_name(const SignalConfig *s) {
    return s->backward ? s->backward : s->name;
}

/* ---- as an instruction ---- */

typedef struct ConfigInst {
    Inst inst;
    Attr attr[6];
    int64_t axis;
} ConfigInst;
/* `signal define` with what s says; borrows from s. out must not be moved. */
void config_inst(const SignalConfig *s, ConfigInst *out);
/* Adds what an instruction says that inst_infer has accepted. */
bool config_define(Config *c, const Inst *inst, Err *err);
#endif
