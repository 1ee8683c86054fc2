/* flags.h: the command lines of the daemons: a table of flags, read with getopt_long, with
 * errors that suggest the nearest name. (gtsh has its own reader, options.c, because its options
 * end where the script's begin.)
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_FLAGS_H
#define GT_RUNTIME_BASE_FLAGS_H
#include "runtime/base/err.h"
#include <stdint.h>

typedef enum FlagKind {
    FLAG_SET,  /* bool: becomes true */
    FLAG_TEXT, /* const char *: borrowed from argv */
    FLAG_INT,  /* int, within [least, most] */
    FLAG_SIZE, /* uint64_t: bytes */
    FLAG_ARGS, /* FlagArgs: least to most arguments that are not flags; value names them */
    FLAG_HELP, /* prints the table ... */
    FLAG_VERSION
} FlagKind;

/* value "": the flag takes none. letter 0: long form only. to: where the value goes; see kind. */
typedef struct Flag {
    char letter;
    const char *name, *value, *help;
    FlagKind kind;
    void *to;
    int64_t least, most;
} Flag;
/* Arguments that are not flags, in order; borrowed from argv, which flags_read reorders. */
typedef struct FlagArgs {
    char **at;
    int n;
} FlagArgs;
/* The last rows of a table. */
#define FLAGS_COMMON                                                                               \
    {'h', "help", "", "print this and exit", FLAG_HELP}, {                                         \
        0, "version", "", "print the version and exit", FLAG_VERSION                               \
    }

enum { FLAGS_MAX = 32, FLAGS_USAGE = 2 /* exit code */ };
/* Reads the command line of `program`. Returns -1 to continue, or the exit code: 0 after --help
 * and --version, else FLAGS_USAGE, with err set. Names are not abbreviated. Arguments that are not
 * flags are an error without a row FLAG_ARGS, and so is a FLAG_TEXT given twice; of numbers the
 * last one counts. One table per process and run, because getopt's state is global. */
int flags_read(const char *program, int argc, char **argv, const Flag *flag, int n, Err *err);

/* Whole numbers within [least, most]; sizes such as 4096, 512M, 1.5GiB, at least 1 MiB. `what` is
 * the flag as the user wrote it. */
bool flag_int(const char *what, const char *s, int64_t least, int64_t most, int64_t *out, Err *err);
bool flag_bytes(const char *what, const char *s, uint64_t *out, Err *err);
/* The hint at an unknown engine; static. */
const char *flag_engine_hint(const char *name);
#endif
