/* gtb.h: the binary form of instruction text (.gtb), gti(5), BINARY FILES: the same lines as
 * records. Text to binary to text gives the same lines. Names of operations, attributes, dtypes and
 * source files are in the file, so a version with another table reads it, or says which name it
 * does not know. The reader trusts no byte.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_GTB_H
#define GT_RUNTIME_INST_GTB_H
#include "runtime/inst/inst.h"

enum {
    GTB_VERSION = 1,
    GTB_HEAD = 16,  /* bytes of the file's head: magic, version, zeros */
    GTB_ALIGN = 64, /* of payloads, in the file */
};

/* True for the magic of a binary file; gtb_is_damaged: if a transfer as text has changed it. */
bool gtb_is(const void *data, size_t n);
bool gtb_is_damaged(const void *data, size_t n);

/* ---- Writing ---- */

typedef struct GtbWriter GtbWriter;
GtbWriter *gtb_writer_new(void);
void gtb_writer_free(GtbWriter **w);
/* Appends a line without an instruction: the header, a comment, a blank line. */
void gtb_put_text(GtbWriter *w, const char *line, size_t n, Bytes *out);
/* Appends an instruction, with its types if line->has_types, its position and its comment.
 * beside: as in InstPrint, or NULL. What was appended to `out` must be written in order: payloads
 * are aligned by their offset in the file. */
void gtb_put(GtbWriter *w, const InstLine *line, const InstBeside *beside, Bytes *out);

/* ---- Reading ---- */

typedef struct GtbName GtbName;
typedef struct GtbReader {
    const uint8_t *start, *at, *end;
    GtbName *name;
    size_t n_names, cap_names;
    const char *text; /* of a line without an instruction; else NULL */
    size_t n_text;
} GtbReader;
typedef enum GtbGot {
    GTB_END,
    GTB_LINE,
    GTB_TORN, /* the file ends within a record */
    GTB_BAD   /* err: why, with the record's offset in the file */
} GtbGot;
/* Checks magic and version. data is borrowed until gtb_close, and so are the lines' payloads. */
bool gtb_open(GtbReader *r, const void *data, size_t n, Err *err);
void gtb_rewind(GtbReader *r); /* to the first line */
void gtb_close(GtbReader *r);
/* Reads the next line into the arena's memory; checks its form, as inst_parse does. */
GtbGot gtb_next(GtbReader *r, Arena *arena, InstLine *out, Err *err);
#endif
