/* tape.h: the instruction log of a run, gti(5): after the header `gti 1 kind=tape` a line per
 * event: five columns, then an instruction in its canonical text or a description of the event.
 *
 *   0.003104 11 > c1 -  t2 = matmul t0 t1 -> f32[1000,1000] @hello.gt:3   received from a client
 *   0.003160 12 = c1 w0 t2 = matmul t0 t1                                 sent to a worker
 *   0.004020 13 < c1 w0 done t2 us=812 bytes=4000000 op=matmul            done by the worker
 *   0.004110 14 < c1 w0 done t12 us=90 bytes=8000 op=all_reduce from=w1,w3 moved=8000
 *   0.004600 15 < - w0 idle us=350 why=blocked on=w1 op=all_reduce        it computed nothing
 *   0.004900 16 < - w0 compile us=41000 ops=5 key=9f2c6ad51b7e0c34        kernels were compiled
 *   0.005000 17 < - w0 memory bytes=4096000 limit=8589934592              in use, when it changes
 *   0.004100 14 ! c1 w0 error add "out of memory" @hello.gt:4             failed
 *   0.005000 15 - c1 -  client left                                       + and -: joins, leaves
 *   0.000400 3 + -  g1 group w0 w1
 *
 * Columns: seconds since the tape began (for `<` at the end of the work, so that a line may come
 * after later ones), number of the line, event, client (c1), worker (w0) or group (g3); - for
 * none. Single spaces separate the columns.
 *
 * Elements that are too many for a line are stored in a file beside the tape, PATH.data, equal ones
 * once (tape_keep); the lines have their offset and hash.
 *
 * A tape is buffered and owned by one thread. Writing does not wait for a slow reader of a pipe.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_INST_TAPE_H
#define GT_RUNTIME_INST_TAPE_H
#include "runtime/inst/inst.h"

typedef enum TapeEvent {
    TAPE_RECEIVED = '>',
    TAPE_SENT = '=',
    TAPE_DONE = '<',
    TAPE_FAILED = '!',
    TAPE_COMES = '+',
    TAPE_LEAVES = '-'
} TapeEvent;

/* ---- Writing ---- */

typedef struct Tape Tape;
/* Truncates the file, or creates it with mode 0600, and starts the clock. NULL: err says why not.
 */
Tape *tape_open(const char *path, Err *err);
/* A tape without a file, for tape_line alone; its clock began at start_ns of CLOCK_MONOTONIC. */
Tape *tape_new(int64_t start_ns);
/* Writes what is left; waits at most a second for a pipe's reader. tape_take_error says if it
 * failed. */
void tape_finish(Tape *t);
void tape_close(Tape **t); /* finishes it, too */
int64_t tape_now_ns(const Tape *t); /* since it began, by CLOCK_MONOTONIC */
/* Begins a line with its five columns; append the rest to the result, without a newline. client
 * 0: none; kind 'w' or 'g' with its number, or '-'. */
Bytes *tape_begin(Tape *t, int64_t at_ns, TapeEvent event, uint32_t client, char kind,
                  uint32_t number);
/* Ends the line and returns it, with its newline; valid until the next call. */
const char *tape_line(Tape *t, size_t *n);
void tape_end(Tape *t);   /* ends that line; writes if the buffer is large */
void tape_flush(Tape *t); /* writes the buffer */
/* Stores the bytes of elements in the file beside the tape, unless they are there already. *out
 * says where; its path is the tape's. False: there is no such file (the tape is a pipe), it has
 * BESIDE_BYTES, or it cannot be written: then omit the elements. */
bool tape_keep(Tape *t, const void *data, size_t n, InstBeside *out);
/* True once, with *err, if writing has failed or the reader is too slow: nothing is logged from
 * then on. Also once if no elements can be stored any more. */
bool tape_take_error(Tape *t, Err *err);

/* ---- Reading ---- */

typedef struct TapeLine {
    TapeEvent event;
    uint32_t client; /* 0: none */
    size_t text;     /* where the sixth column begins in the line */
} TapeLine;
/* True if this first line is a tape's. */
bool tape_is_header(const char *line, size_t n);
/* Parses the columns of one line. err names the column (of characters) of a mistake. */
bool tape_read(const char *line, size_t n, TapeLine *out, Err *err);
/* "c12" -> 12; 0: not a client's name. */
uint32_t tape_client(const char *name, size_t n);
#endif
