/* config.h: the configuration of signals: their workers, the layout of tensors on them, the signal
 * of gradients, and compiling (gt-signals(5)).
 *
 * A Config maps names of signals to their settings. It comes from YAML (config_parse, with
 * positions for errors), from the program, or from `signal define` instructions. Configs are
 * merged key by key: the later one wins, and unset keys keep their value. An unset
 * key has its default. Clients keep one Config, and the dispatcher keeps
 * one per client over its own.
 *
 *     forward:                      # a signal
 *       shard:                      # without it tensors stay where they are
 *         axis: 0                   # which axis is split; -1 is the last; default: 0
 *         workers: [0, 1]           # the workers, in this order; null, the default: all
 *         replicated: false         # true: whole on each instead
 *       backward: backward_layer1   # the signal of the gradients; default: the same
 *       compile: false              # true: compile kernels at their first request
 *
 * The name "*" is not a signal that can be entered. Its `shard` places large tensors that are
 * created outside all signals (GT_AUTO_SHARD=1 defines it with axis 0 on all workers).
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_LAYOUT_CONFIG_H
#define GT_RUNTIME_LAYOUT_CONFIG_H
#include "runtime/inst/inst.h"
#include "runtime/base/map.h"

/* Which keys are set; the others have their defaults. */
enum {
    HAS_AXIS = 1,
    HAS_WORKERS = 2,
    HAS_REPLICATED = 4,
    HAS_BACKWARD = 8,
    HAS_COMPILE = 16,
    HAS_SHARD = HAS_AXIS | HAS_WORKERS | HAS_REPLICATED
};

/* A place in the parsed text: line and column from 1, len in bytes. line 0: none. */
typedef struct ConfigAt {
    uint32_t line, col, len;
} ConfigAt;

typedef struct SignalConfig {
    char *name; /* owned, as are workers, backward and file */
    unsigned has;
    int axis; /* may count from the end */
    bool replicated, compile;
    int n_workers; /* 0: all */
    int64_t *workers;
    char *backward; /* NULL: its own name */
    char *file;     /* where it was first mentioned: a path and `at`; NULL: in the program */
    ConfigAt at, axis_at, workers_at, backward_at; /* of its name and these values in the file */
    struct SignalConfig *next;                     /* of equal hash */
} SignalConfig;

/* Zero-initialised is valid and empty. */
typedef struct Config {
    SignalConfig **signal; /* in order of their definition */
    int n, cap;
    uint64_t epoch; /* grows with every change: anything derived from an older one is stale */
    Map by_name;
} Config;

void config_fini(Config *c);
/* NULL: the name is unknown. Valid until c is changed. */
const SignalConfig *config_find(const Config *c, const char *name, size_t n);
/* Returns the nearest name, for hints; NULL: none is near. */
const char *config_nearest(const Config *c, const char *name, size_t n);

/* Checks s by itself. False: *at is the place in its file, err the reason. */
bool signal_config_check(const SignalConfig *s, ConfigAt *at, Err *err);
/* Merges s, which stays the caller's. False, with c unchanged: s contradicts itself, c would
 * hold more than MAX_SIGNALS, or backward signals would form a cycle. */
bool config_put(Config *c, const SignalConfig *s, Err *err);
/* Merges all of `from`, or nothing. *at: the place of the mistake in the text of `from`. */
bool config_merge(Config *c, const Config *from, ConfigAt *at, Err *err);
void signal_config_fini(SignalConfig *s); /* frees what s points to, not s */

/* Reads YAML into an empty c. Accepts any bytes. False: *at is the place, err the reason with a
 * hint; c must be freed. */
bool config_parse(Config *c, const char *file, const char *text, size_t n, ConfigAt *at, Err *err);

/* Writes what a number n in place of a list of workers may mean: "[0, 1] are 2 workers". */
void config_count_hint(long n, char *out, size_t size);

/* Returns the hint for libyaml's message `problem` at a line and column of a text, both from 0:
 * that a character must be quoted; NULL: none. Static. */
const char *config_quote_hint(const char *problem, const char *text, size_t n, size_t line,
                              size_t col);

/* Reads a file of at most 1 MiB. False: err begins with the position, FILE:LINE:COL. */
bool config_read(Config *c, const char *path, Err *err);

/* ---- values with defaults ---- */

#define CONFIG_EVERYWHERE "*" /* the name for outside all signals */

static inline bool signal_is_sharded(const SignalConfig *s) { return (s->has & HAS_SHARD) != 0; }
/* The signal under which gradients of operations recorded in s run: never NULL. */
static inline const char *signal_backward_name(const SignalConfig *s) {
    return s->backward ? s->backward : s->name;
}

/* ---- as an instruction ---- */

typedef struct ConfigInst {
    Inst inst;
    Attr attr[6];
    int64_t axis;
} ConfigInst;
/* Writes `signal define` with the settings of s; borrows from s. out must not be moved. */
void config_inst(const SignalConfig *s, ConfigInst *out);
/* Merges the settings of an instruction that inst_infer has accepted. */
bool config_define(Config *c, const Inst *inst, Err *err);
#endif
