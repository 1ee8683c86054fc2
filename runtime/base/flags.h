/* flags.h: the command lines of the daemons: a table of flags, read with getopt_long, with
 * errors that suggest the nearest name. (gtsh has its own reader, options.c, because its options
 * end where the script's begin.)
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_FLAGS_H
#define GT_RUNTIME_BASE_FLAGS_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include <stdint.h>

/* value "": the flag takes none. letter 0: long form only. */
typedef struct Flag {
    char letter;
    const char *name, *value, *help;
} Flag;

enum { FLAGS_END = -1, FLAGS_ERROR = -2, FLAGS_MAX = 32 };
/* Returns the next flag's index in the table and its value (NULL if it takes none), FLAGS_END,
 * or FLAGS_ERROR with err set. Arguments that are not flags are an error. One table per process
 * and run, because getopt's state is global. */
int flags_next(int argc, char **argv, const Flag *flag, int n, const char **value, Err *err);
void flags_help(const char *usage, const Flag *flag, int n, Bytes *out);

/* Whole numbers within [least, most]; sizes such as 4096, 512M, 1.5GiB, at least 1 MiB. `what` is
 * the flag as the user wrote it. */
bool flag_int(const char *what, const char *s, int64_t least, int64_t most, int64_t *out, Err *err);
bool flag_bytes(const char *what, const char *s, uint64_t *out, Err *err);
#endif
