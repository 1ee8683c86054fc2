/* options.h: the command line of gtsh, parsed.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SHELL_OPTIONS_H
#define GT_LANG_SHELL_OPTIONS_H
#include "runtime/base/version.h"
#include "lang/error/error.h"
#include "lang/shell/replay.h"

typedef enum OptionId {
#define OPTION(id, letter, name, value, field, help) OPTION_##id,
#include "lang/shell/options.def"
    OPTION_COUNT
} OptionId;

typedef struct Options {
    OutputForm output; /* --format */
    /* borrowed from argv; script "-": standard input */
    const char *code, *expr, *script, *replay, *tee;
    const char *session;
    bool sessions;
    bool check, prompt, quiet, strict, check_nan, auto_shard, norc, version, help, fmt, lsp;
    bool emit, emit_binary, emit_step, verify, dry;
    int workers, threads;                               /* threads 0: chosen by the machine */
    const char *engine, *dispatcher, *config, *log_dir; /* NULL: not given */
    bool profile;
    const char *profile_file; /* NULL: standard error */
    uint8_t hashing;          /* WATCH_HASHES, WATCH_ALL: results are hashed for the log; else 0 */
    /* the last option given that applies only to workers that gtsh starts, or NULL */
    const char *own;
    uint64_t given; /* a bit per OptionId on the command line */
    uint64_t memory_bytes, seed;
    uint32_t client; /* of a tape; 0: its only client */
    uint64_t upto;   /* 0: not given */
    double speed;    /* 0: as fast as possible */
    ReplayFill fill;
    InstPayloads payloads;    /* if given */
    const char **bind, **out; /* of a step: NAME=FILE, owned arrays of words of argv */
    int n_bind, n_out;
    uint64_t times;    /* of a step: rounds; 0: not given */
    const char *debug; /* letters, or "" */
    int color;         /* -1 auto, 0 never, 1 always */
    int argc;
    char **argv; /* the script's arguments */
} Options;

/* Reads the environment, then the command line, which wins. false: e is set, of kind E_EXIT with
 * code 2. */
bool options_parse(int argc, char **argv, Options *o, LangError *e);
/* True if some of o have no effect beside the others: w says which, and why. Options that cancel
 * each other out are errors of options_parse. *at: 0 before the first call. instructions: the
 * program's text is instructions. */
bool options_idle(const Options *o, bool instructions, bool tape, size_t *at, LangError *w);
void options_help(Bytes *out);
/* The form of a word of --format or :mode. False: e lists the words. */
bool options_output(const char *what, const char *word, OutputForm *out, LangError *e);
void options_fini(Options *o);
#endif
