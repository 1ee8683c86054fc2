/* stream.h: the client's end of the instruction stream: batches out, replies in. Knows ids,
 * windows, sequence numbers and what is still awaited; knows nothing of autograd or of the
 * language's values beyond positions for errors.
 *
 * Modes: LIVE sends to a dispatcher (embedded, started by local.h at the first tensor op, or by
 * endpoint); EMIT prints instruction text and has no values; CHECK drops everything (-n). In LIVE
 * nothing waits but stream_value and stream_sync and, when the window is full, an emit.
 *
 * Handles: a Handle is an immutable tensor of the stream, counted. The last unref queues its id for
 * `free`, which leaves with the next instruction or flush. Replies and failures arrive in
 * stream_poll, called at every flush and wait; the effects (print, save, track ...) are carried out
 * there, in stream order.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_STREAM_H
#define GT_LANG_STREAM_STREAM_H
#include "lang/error/error.h"
#include "runtime/inst/inst.h"
#include "runtime/wire/wire.h"

typedef enum StreamMode { STREAM_LIVE, STREAM_EMIT, STREAM_CHECK } StreamMode;

typedef struct StreamConfig {
    StreamMode mode;
    const char *endpoint; /* of a dispatcher; NULL: embedded                         */
    int workers, threads; /* of an embedded cluster, as are engine and memory_bytes  */
    const char *engine;
    uint64_t memory_bytes;
    bool prompt;   /* window limited to PROMPT_WINDOW_MS                      */
    int answer_ms; /* a remote dispatcher silent for so long is gone; 0: 10 s */
    void *emit_to; /* FILE * for EMIT                                         */
    /* What the program knows, or NULL: the calls that are running, as a number (0: none), which
     * explain gets back with a failure of what was asked for then, to add to it what is known. */
    uint32_t (*calls)(void *program);
    void (*explain)(void *program, uint32_t calls, LangError *e);
    void *program;
    const char *emit_header; /* " prog=\"x.gt\" seed=0" for the first line              */
} StreamConfig;

typedef struct Handle {
    uint32_t refs;
    bool is_failed; /* a failure of the instruction that makes it has arrived */
    bool is_lost;   /* it was in a cluster that is gone; another is in its place */
    uint64_t id;
    TensorType type;
    Span made; /* for "made at a.gt:5" */
} Handle;

typedef struct Stream Stream;
Stream *stream_new(const StreamConfig *config);
void stream_free(Stream **s); /* says goodbye, stops an embedded cluster; bounded wait */
StreamMode stream_mode(const Stream *s);
/* Before the first tensor: how many workers the embedded cluster will have. false: it is there. */
bool stream_set_workers(Stream *s, int n);
/* How many workers there are; of a running dispatcher, to which it connects, those that were there
 * when this client came. false: nobody answers there. */
bool stream_workers(Stream *s, int *n, LangError *e);
/* Uses the dispatcher at an endpoint, and waits for its welcome. false: something is connected
 * already, or nobody answers there; then the stream is as it was. At the prompt a lost dispatcher
 * may be followed by another, or by itself: tensors of before are lost, and whatever needs one
 * fails and says so; signals that were defined are defined again. */
bool stream_connect(Stream *s, const char *endpoint, Span at, LangError *e);
bool stream_is_lost(const Stream *s);         /* it was connected, and is no longer */
uint64_t stream_tensors(const Stream *s);     /* that are live, lost ones left out */
const char *stream_endpoint(const Stream *s); /* NULL: the cluster is embedded */

/* ---- instructions ---- */
/* One instruction with results: infers, checks, assigns ids, queues. in[] may hold immediates;
 * handle[i] belongs to in[i] when that is a tensor (else NULL), borrowed. out[] receives new
 * references. false: e says what the inference said, at `at`, or that the stream is lost or
 * interrupted. */
bool stream_op(Stream *s, Op op, const Operand *in, const Handle *const *handle, int n_in,
               const Attr *attr, int n_attr, Span at, Handle **out, int *n_out, LangError *e);
/* `data`: elements are copied (small) or taken by reference through buf. */
Handle *stream_data(Stream *s, const TensorType *t, const void *data, Buf *buf, Span at,
                    LangError *e);
/* EMIT only: `load`, for a file too large to stand in the text: all of it, or the tensor named key
 * (else NULL) in it; element: of .bin files, else "". sha256: 64 hexadecimal digits of its bytes.
 */
typedef struct LoadFrom {
    const char *path, *key, *element, *sha256;
} LoadFrom;
Handle *stream_load(Stream *s, const TensorType *t, const LoadFrom *from, Span at, LangError *e);
static inline Operand operand_of(const Handle *h) {
    return (Operand){.kind = IN_TENSOR, .id = h->id};
}
Handle *handle_ref(Handle *h);
void handle_unref(Stream *s, Handle **h);         /* NULL-safe */
void stream_control(Stream *s, const Inst *inst); /* signal enter/exit, note: no operands of ours */
/* From here on workers look for the first value that is not finite, or do so no longer. */
void stream_check_nan(Stream *s, bool on);

/* ---- effects: instructions answered with values, carried out in stream order ---- */
/* done is called from stream_poll when the values are there (or, if n = 0 and nothing is pending,
 * at once); status != 0 in a value means poisoned: then the effect is skipped. false with *err: the
 * world refused (disk full, no such directory); the stream reports it once, like a worker's
 * failure, at the effect's position. ctx is owned by the effect: drop is called exactly once after
 * all. */
typedef struct Effect {
    Op op;
    const Attr *attr;
    int n_attr;
    Handle *const *handle; /* operands; referenced until done */
    int n;
    bool (*done)(void *ctx, const Reply *r, Err *err);
    void (*drop)(void *ctx);
    void *ctx;
    bool may_be_lost; /* operands lost to an earlier failure are no failure of this */
} Effect;
bool stream_effect(Stream *s, const Effect *ef, Span at, LangError *e);

/* ---- waiting ---- */
/* Fetches a whole tensor; waits. *data is malloc'ed, row-major, caller frees. false: poisoned (the
 * cause is in e, at its own line; told before, it is named again), interrupted, or the dispatcher
 * is gone. In EMIT mode: "control flow depends on data". */
bool stream_value(Stream *s, const Handle *h, Span at, void **data, LangError *e);
/* All instructions so far are done, all their effects carried out. e: the first failure, if any. */
bool stream_sync(Stream *s, LangError *e);
/* The files of all save and write so far are there; before the client itself reads one. In EMIT
 * mode nothing is written: then reading such a file (path; NULL: unknown) is an error. */
bool stream_files(Stream *s, const char *path, Span at, LangError *e);
/* The end of a script: like stream_sync, but the first failure ends it: what has not begun is
 * cancelled, and nothing more is told. has_failed: that failure has been told already (is_late);
 * then the result is true. */
bool stream_finish(Stream *s, bool has_failed, LangError *e);
void stream_flush(Stream *s);
void stream_poll(Stream *s); /* takes what has arrived; never waits */
/* A failure that has arrived and nobody has been told of, at its own position; false when there is
 * none. Each cause once; in a script the first in the stream comes first, when all before it is
 * known. _has: there is one. */
bool stream_has_error(const Stream *s);
bool stream_take_error(Stream *s, LangError *e);
/* A loop's back-edge: operand distances start again; checks for interrupts and arrived failures
 * (scripts stop at the first one: then e is set and false returned). Cheap: once per iteration. */
bool stream_edge(Stream *s, LangError *e);
/* First Ctrl-C at the prompt: what was to be printed and has not been yet never is, though all else
 * goes on. How many prints those are. */
size_t stream_hush(Stream *s);
void stream_cancel(Stream *s); /* second Ctrl-C: drop what has not begun */
/* Where a tensor lies, as KEY=VALUE lines: layout, group and each worker's shape (builtin_place.c
 * reads them); waits until it is made. */
bool stream_where(Stream *s, const Handle *h, Span at, Bytes *text, LangError *e);
/* What computed a tensor: layout and group as above, and lines of each worker's (exec_kernel; each
 * behind "w0." and so on; builtin_kernel.c reads them); waits until it is made. */
bool stream_kernel(Stream *s, const Handle *h, Span at, Bytes *text, LangError *e);
/* KEY=VALUE lines of client, dispatcher and workers; waits. */
bool stream_stats(Stream *s, Bytes *text, LangError *e);
uint64_t stream_count(const Stream *s);             /* instructions emitted so far */
uint64_t stream_done(const Stream *s);              /* how many of them are known to be done */
uint16_t stream_file(Stream *s, const Source *src); /* announces its name once; its number */
/* For what waits for something else: true: go on; false: Ctrl-C, and e says so. */
bool stream_goes_on(LangError *e);
extern volatile int stream_interrupted; /* set by the SIGINT handler */
#endif
