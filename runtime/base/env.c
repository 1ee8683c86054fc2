/* env.c: see env.h. SPDX-License-Identifier: MIT */
#include "runtime/base/env.h"
#include "runtime/base/limits.h"
#include "runtime/base/flags.h"
#include "runtime/base/near.h"
#include "runtime/base/words.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MANY = 1000000 }; /* the limit of numbers that have no natural one */

/* words: the allowed values, NULL: a number from `least` to MANY. hidden: an allowed prefix, for
 * tests. unset: the default. */
static const struct Row {
    const char *name, *words, *hidden;
    int64_t least, unset;
} rows[] = {
    {"GT_AUTO_COMPILE", "0 1", NULL, 0, 1},
    {"GT_AUTO_SHARD", "0 1", NULL, 0, 0},
    {"GT_CC_SECONDS", NULL, NULL, 1, 60},
    {"GT_CHECK_NAN", "0 1", NULL, 0, 0},
    {"GT_COMPILE", "0 1", NULL, 0, 1},
    {"GT_CUDA_BLAS", "0 1 tf32", NULL, 0, 0},
    {"GT_DATA_PLANE", "memfd zmq ucx", NULL, 0, 0},
    {"GT_DEBUG_CLIENT", "0 1", NULL, 0, 0},
    {"GT_DEBUG_COMPILE", "0 1", NULL, 0, 0},
    {"GT_DEBUG_DISPATCHER", "0 1", NULL, 0, 0},
    {"GT_DEBUG_WORKER", "0 1", NULL, 0, 0},
    {"GT_FUSE", "0 1 wait list", "luck:", 0, 0},
    {"GT_GRAPH", NULL, NULL, 0, 8},
    {"GT_HASH", "some all", NULL, 0, 0},
    {"GT_HOTPATH_MAX_EXPAND", NULL, NULL, 1, 256},
    {"GT_HOTPATH_MIN_SEQ", NULL, NULL, 1, 2},
    {"GT_HOTPATH_THRESHOLD", NULL, NULL, 0, 2},
    {"GT_HOTPATH_WINDOW", NULL, NULL, 1, MANY},
    {"GT_ISA", "base v3 v4", NULL, 0, 0},
    {"GT_LLC_KIB", NULL, NULL, 1, 0},
    {"GT_NET", "ring inproc", NULL, 0, 0},
    {"GT_PLAN", "0 1", NULL, 0, 1},
    {"GT_SHIPPED_KERNELS", "0 1", NULL, 0, 1},
    {"GT_VERBOSE", "0 1", NULL, 0, 0},
    {"GT_WATCH", "0 1", NULL, 0, 1},
    {"GT_WORKER_BATCH_SIZE", NULL, NULL, 1, MANY},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* Variables that are read elsewhere: first those for users, after NULL those for tests,
 * benchmarks and the programs themselves. */
static const char *const others[] = {"GT_BACKEND",
                                     "GT_CC",
                                     "GT_CONFIG",
                                     "GT_CUDA_LIBRARIES",
                                     "GT_DEBUG",
                                     "GT_DETACH_KEY",
                                     "GT_DISPATCHER",
                                     "GT_HISTFILE",
                                     "GT_INSTRUCTION_LOG",
                                     "GT_PATH",
                                     "GT_SAVE_COMPILED_CODE",
                                     "GT_SESSION",
                                     "GT_TOKEN",
                                     NULL,
                                     "GT_BENCH_CPU",
                                     "GT_BENCH_FIGURES",
                                     "GT_BENCH_OUT",
                                     "GT_BENCH_PYTHON",
                                     "GT_BENCH_ROUNDS",
                                     "GT_BENCH_THREADS",
                                     "GT_DATA",
                                     "GT_HASH_KEEP",
                                     "GT_PROVE_RECORD",
                                     "GT_PYTHON",
                                     "GT_SPAWNED",
                                     "GT_TEST_FACTOR",
                                     "GT_TEST_FLIP",
                                     "GT_TEST_INSIDE",
                                     "GT_TEST_JOBS",
                                     "GT_TEST_TIMES",
                                     "GT_TEST_WORLDS"};
enum { N_OTHERS = sizeof others / sizeof others[0] };

static const struct Row *row_of(const char *name) {
    int i = 0;
    while (i < N_ROWS && strcmp(rows[i].name, name)) i++;
    assert(i < N_ROWS);
    return &rows[i];
}

static const char *text_of(const struct Row *row) {
    const char *s = getenv(row->name);
    return s && *s ? s : NULL;
}

static bool is_switch(const struct Row *row) {
    return row->words && !strncmp(row->words, "0 1", 3);
}

/* 1 or 0; -1: neither. */
static int switch_of(const char *s) {
    static const char *const words[][2] = {
        {"0", "1"}, {"no", "yes"}, {"off", "on"}, {"false", "true"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (int on = 0; on < 2; on++)
            if (!strcasecmp(s, words[i][on])) return on;
    return -1;
}

/* "0, 1 or wait" */
static bool refuse(const struct Row *row, const char *s, Err *err) {
    char list[80];
    size_t n = 0;
    const char *words = row->words, *w;
    for (size_t length; (w = words_next(&words, &length));) {
        const char *before = n == 0 ? "" : *words ? ", " : " or ";
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.*s", before, (int)length, w);
        assert(n < sizeof list);
    }
    return err_set(err, ERR_ARG, "%s needs %s, not '%.60s'", row->name, list, s);
}

static bool check(const struct Row *row, Err *err) {
    const char *s = text_of(row);
    int64_t n;
    if (!s) return true;
    if (!row->words) return flag_int(row->name, s, row->least, MANY, &n, err);
    if (row->hidden && !strncmp(s, row->hidden, strlen(row->hidden))) return true;
    bool ok = (is_switch(row) && switch_of(s) >= 0) || words_have(row->words, s, strlen(s));
    return ok || refuse(row, s, err);
}

bool env_check(Err *err) {
    for (int i = 0; i < N_ROWS; i++)
        if (!check(&rows[i], err)) return false;
    int64_t least = env_int("GT_HOTPATH_MIN_SEQ"), most = env_int("GT_HOTPATH_WINDOW");
    if (most > BODY_INSTS) most = BODY_INSTS;
    return !env_int("GT_HOTPATH_THRESHOLD") || least <= most ||
           err_set(err, ERR_ARG,
                   "GT_HOTPATH_MIN_SEQ=%lld is more than GT_HOTPATH_WINDOW=%lld: "
                   "nothing could be hot",
                   (long long)least, (long long)most);
}

/* ---- Misspelt ---- */

static const char prefix[] = "GT_";
enum { N_PREFIX = sizeof prefix - 1, ENV_NAME_MAX = 64 };

static bool is_known(const char *name, size_t n) {
    bool is = false;
    for (int i = 0; i < N_ROWS; i++)
        is |= strlen(rows[i].name) == n && !memcmp(rows[i].name, name, n);
    for (int i = 0; i < N_OTHERS; i++)
        is |= others[i] && strlen(others[i]) == n && !memcmp(others[i], name, n);
    return is;
}

/* Finds the next one, from *at on. */
static bool misspelt(size_t *at, char name[ENV_NAME_MAX], const char **meant) {
    extern char **environ;
    const char *names[N_ROWS + N_OTHERS];
    size_t n_names = 0;
    for (int i = 0; i < N_ROWS; i++) names[n_names++] = rows[i].name + N_PREFIX;
    for (int i = 0; others[i]; i++) names[n_names++] = others[i] + N_PREFIX;
    while (environ && environ[*at]) {
        const char *s = environ[(*at)++];
        size_t n = strcspn(s, "=");
        if (strncmp(s, prefix, N_PREFIX) || n >= ENV_NAME_MAX || !s[n] || !s[n + 1]) continue;
        if (is_known(s, n)) continue;
        const char *near = nearest_name(s + N_PREFIX, n - N_PREFIX, names, n_names);
        if (!near) continue;
        memcpy(name, s, n);
        name[n] = 0;
        *meant = near - N_PREFIX;
        return true;
    }
    return false;
}

void env_warn_misspelt(const char *program) {
    char name[ENV_NAME_MAX];
    const char *meant;
    for (size_t at = 0; misspelt(&at, name, &meant);)
        fprintf(stderr, "%swarning: %s is set, and nothing reads it; did you mean %s?\n", program,
                name, meant);
}

bool env_is_on(const char *name) {
    const struct Row *row = row_of(name);
    const char *s = text_of(row);
    int on = s ? switch_of(s) : -1;
    return on >= 0 ? on : row->unset;
}

int64_t env_int(const char *name) {
    const struct Row *row = row_of(name);
    const char *s = text_of(row);
    int64_t n;
    Err ignored;
    return s && flag_int(name, s, row->least, MANY, &n, &ignored) ? n : row->unset;
}

const char *env_word(const char *name) {
    const struct Row *row = row_of(name);
    const char *s = text_of(row);
    int on = s && is_switch(row) ? switch_of(s) : -1;
    return on >= 0 ? on ? "1" : "0" : s ? s : "";
}
