/* inst_file.h: writes a file of instructions, as text or in the binary form, and decides where the
 * elements of `data` go: gti(5), Data. Lines are buffered as the FILE is.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_INST_FILE_H
#define GT_RUNTIME_INST_INST_FILE_H
#include "runtime/inst/inst.h"
#include <stdio.h>

/* Where elements go, unless they are few enough for decimals. */
typedef enum InstPayloads {
    PAYLOADS_INLINE, /* into the line */
    PAYLOADS_LARGE,  /* into a file beside this one, if they have more than 1 MiB */
    PAYLOADS_FILES,  /* into that file, all */
    PAYLOADS_NONE,   /* nowhere: `elided sha256=...` */
} InstPayloads;

typedef struct InstFileConfig {
    FILE *to; /* borrowed */
    bool is_binary;
    InstPayloads payloads;
    const char *path; /* elements beside the file go to PATH.data; NULL: nowhere, `elided` */
} InstFileConfig;

typedef struct InstFile InstFile;
InstFile *inst_file_new(const InstFileConfig *config);
/* Writes a line that holds no instruction: the header, a comment, nothing. */
void inst_file_text(InstFile *f, const char *line, size_t n);
/* Writes an instruction with its types, position, comment. The payload is borrowed. */
void inst_file_put(InstFile *f, const InstLine *line);
/* The file that holds elements, or NULL if none does. */
const char *inst_file_beside(const InstFile *f);
/* True once, with *err: elements could not be stored, lines say `elided`. */
bool inst_file_take_error(InstFile *f, Err *err);
void inst_file_flush(InstFile *f);
/* Flushes; false if the file could not be written. The FILE stays open. */
bool inst_file_free(InstFile **f, Err *err);
#endif
