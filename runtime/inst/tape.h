/* tape.h: the instruction log of a run (STREAM 1): after the header `gti 1 kind=tape` a line per
 * event: five columns, then an instruction in its canonical text or what is to be said.
 *
 *   0.003104 11 > c1 -  t2 = matmul t0 t1 -> f32[1000,1000] @hello.gt:3   a client asks
 *   0.003160 12 = c1 w0 t2 = matmul t0 t1                                 a worker is sent it
 *   0.004020 13 < c1 w0 done t2 us=812 bytes=4000000 op=matmul            it has done it
 *   0.004100 14 ! c1 w0 error add "out of memory" @hello.gt:4             it has failed
 *   0.005000 15 - c1 -  client left                                       + and -: who comes, goes
 *   0.000400 3 + -  g1 group w0 w1
 *
 * Columns: seconds since the tape began (of `<` those of the end, so that a line may stand behind
 * younger ones), number of the line, event, client (c1), worker (w0) or group (g3); - for none.
 * The columns of one line are separated by single spaces.
 *
 * Elements that are too many for a line lie in a file beside the tape, PATH.data, each once
 * (tape_keep); the lines say where, and their hash.
 *
 * A tape is buffered and owned by one thread. Writing does not wait for a slow reader of a pipe.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_TAPE_H
#define GT_RUNTIME_INST_TAPE_H
#include "runtime/inst/inst.h"

typedef enum TapeEvent {
    TAPE_ASKED = '>',
    TAPE_SENT = '=',
    TAPE_DONE = '<',
    TAPE_FAILED = '!',
    TAPE_COMES = '+',
    TAPE_LEAVES = '-'
} TapeEvent;

/* ---- Writing ---- */

#define TAPE_DATA_BYTES (UINT64_C(1) << 30) /* of elements beside a tape */

typedef struct Tape Tape;
/* Truncates the file, begins the clock. NULL: err says why not. */
Tape *tape_open(const char *path, Err *err);
/* Writes what is left, for a second at most when a pipe's reader is slow. */
void tape_close(Tape **t);
int64_t tape_now_ns(const Tape *t); /* since it began, by CLOCK_MONOTONIC */
/* The five columns; what follows is appended to the result, without a newline. client 0: none;
 * kind 'w' or 'g' with its number, or '-'. */
Bytes *tape_begin(Tape *t, int64_t at_ns, TapeEvent event, uint32_t client, char kind,
                  uint32_t number);
void tape_end(Tape *t);   /* ends that line; writes when there is much */
void tape_flush(Tape *t); /* writes what there is */
/* n elements' bytes into the file beside the tape, unless they are there already; *out says where,
 * its path is the tape's. false: there is none (the tape is a pipe), it holds TAPE_DATA_BYTES, or
 * it cannot be written: then they are to be left out. */
bool tape_keep(Tape *t, const void *data, size_t n, InstBeside *out);
/* Writing has failed, or its reader is too slow: told once; nothing is logged from then on. Also
 * once: from here on there is no room beside the tape. */
bool tape_take_error(Tape *t, Err *err);

/* ---- Reading ---- */

typedef struct TapeLine {
    TapeEvent event;
    uint32_t client; /* 0: none */
    size_t text;     /* where the sixth column begins in the line */
} TapeLine;
/* Is this first line a tape's? */
bool tape_is_header(const char *line, size_t n);
/* The columns of one line. err names the column (of characters) where they are wrong. */
bool tape_read(const char *line, size_t n, TapeLine *out, Err *err);
/* "c12" -> 12; 0: it is no client's name. */
uint32_t tape_client(const char *name, size_t n);
#endif
