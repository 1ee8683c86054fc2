/* record.h: reads one record of a snapshot: a line with a word and KEY=VALUE pairs between blanks,
 * such as
 *
 *   worker rank=0 engine="cpu" busy_us.matmul=81234 signal="forward \"1\""
 *
 * A value is a bare word or a string as inst_quote writes it. The text comes from the network: what
 * is not a pair is skipped, what is too long is cut, and nothing is an error.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_RECORD_H
#define GT_DISPATCHER_WATCH_RECORD_H
#include <stdbool.h>
#include <stddef.h>

enum { RECORD_KEY = 48, RECORD_VALUE = 256 };

typedef struct Record {
    const char *at, *end; /* borrowed: the rest of the line */
    char kind[RECORD_KEY];
} Record;

/* Both NUL-terminated; the value may hold any other byte. */
typedef struct RecordPair {
    char key[RECORD_KEY], value[RECORD_VALUE];
} RecordPair;

/* Begins to read a line without its newline. False: it is empty. */
bool record_begin(Record *r, const char *line, size_t n);
/* The next pair; false at the end of the line. */
bool record_next(Record *r, RecordPair *out);
#endif
