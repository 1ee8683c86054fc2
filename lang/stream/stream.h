/* stream.h: the client's end of the instruction stream: sends instructions in batches, receives
 * replies. Manages ids, windows, sequence numbers and pending replies. Independent of autograd and
 * of the language's values, except for source positions in errors.
 *
 * Modes: LIVE sends to a dispatcher (embedded and started by local.h at the first tensor op, or at
 * an endpoint). EMIT prints instruction text and has no values. CHECK drops everything (-n). In
 * LIVE mode only functions marked "waits" wait; an instruction waits if the window is full.
 *
 * Handles: a Handle is an immutable tensor of the stream, with a reference count. The last unref
 * queues its id for a `free`, which is sent with the next instruction or flush. Messages are also
 * received where an instruction fills a frame or finds the window full, but effects (print, save,
 * track ...) run only at safepoints, in stream order: stream_step, stream_edge, stream_poll,
 * stream_flush, the next effect, and every wait.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STREAM_STREAM_H
#define GT_LANG_STREAM_STREAM_H
#include "lang/error/error.h"
#include "lang/error/interrupt.h"
#include "runtime/inst/inst_file.h"
#include "runtime/wire/wire.h"

typedef enum StreamMode { STREAM_LIVE, STREAM_EMIT, STREAM_CHECK } StreamMode;

typedef struct StreamConfig {
    StreamMode mode;
    const char *endpoint; /* of a dispatcher; NULL: embedded                         */
    int workers, threads; /* of an embedded cluster, as are engine and memory_bytes  */
    const char *engine;
    uint64_t memory_bytes;
    uint8_t hashing; /* DispatcherConfig's, of an embedded cluster */
    bool prompt;     /* window limited to PROMPT_WINDOW_MS                      */
    bool profile;    /* times are added up by source line: stream_profile       */
    int answer_ms;   /* timeout after which a silent remote dispatcher is lost; 0: 10 s */
    FILE *emit_to;   /* for EMIT without `file`                                 */
    /* EMIT: where the instructions go; LIVE: where a copy of them goes, with what was fetched, or
     * NULL. Borrowed: it outlives the stream. */
    InstFile *file;
    /* May be NULL. calls returns a number for the current call stack (0: none). If an instruction
     * fails, explain gets the number that calls returned when it was issued, and adds the stack to
     * the error. */
    uint32_t (*calls)(void *program);
    void (*explain)(void *program, uint32_t calls, LangError *e);
    void *program;
    const char *name;        /* of the program, for those that watch; NULL: none */
    bool has_all;            /* EMIT: the elements of large files, too, instead of `load` */
    const char *emit_header; /* " prog=\"x.gt\" seed=0" for the first line              */
} StreamConfig;

typedef struct Handle {
    uint32_t refs;
    bool is_failed; /* the instruction that makes it has failed */
    bool is_lost;   /* its cluster is gone, and another has replaced that */
    uint64_t id;
    TensorType type;
    Span made; /* for "made at a.gt:5" */
} Handle;

typedef struct Stream Stream;
typedef struct StreamProfile StreamProfile;
Stream *stream_new(const StreamConfig *config);
void stream_free(Stream **s); /* sends BYE, stops an embedded cluster; bounded wait */
StreamMode stream_mode(const Stream *s);
/* Sets the number of workers of the embedded cluster. Once it has started, returns true only if n
 * is the current number. */
bool stream_set_workers(Stream *s, int n);
/* Sets *n to the number of workers; of a dispatcher at an endpoint, to which it connects and waits,
 * the number when this client connected. Fails if the dispatcher does not answer. */
bool stream_workers(Stream *s, int *n, LangError *e);
/* True if the workers compute on devices of their own, such as GPUs, as far as is known. */
bool stream_has_devices(const Stream *s);
/* Connects to the dispatcher at an endpoint; waits for its welcome. If it does not answer, or if
 * the stream is connected already, fails and leaves the stream as it was. At the prompt a lost
 * dispatcher can be replaced by another, or by itself after a restart: earlier tensors are lost,
 * and using one is an error; signals are defined again. */
bool stream_connect(Stream *s, const char *endpoint, Span at, LangError *e);
bool stream_is_lost(const Stream *s); /* true if the connection was lost */
/* Takes the loss of the connection as an error, once; false if there is none, or it was taken. */
bool stream_take_loss(Stream *s, LangError *e);
uint32_t stream_client(const Stream *s);      /* its number at the dispatcher; 0: not connected */
uint64_t stream_tensors(const Stream *s);     /* number of live tensors, without lost ones */
const char *stream_endpoint(const Stream *s); /* NULL for an embedded cluster */

/* ---- instructions ---- */
/* Issues an instruction with results: infers their types, assigns ids, queues it. in[] may hold
 * immediates; handle[i] (borrowed) is the handle of in[i] if that is a tensor, else NULL. out[]
 * receives new references. Fails, at `at`, if inference fails, or if the stream is lost or
 * interrupted. */
bool stream_op(Stream *s, Op op, const Operand *in, const Handle *const *handle, int n_in,
               const Attr *attr, int n_attr, Span at, Handle **out, int *n_out, LangError *e);
/* Issues `data`. Copies the elements (row-major), or refers to those in buf if that is not NULL. */
Handle *stream_data(Stream *s, const TensorType *t, const void *data, Buf *buf, Span at,
                    LangError *e);
/* EMIT only: issues `load`, for a file too large to embed in the text. key: the name of one tensor
 * in the file, or NULL for the whole file; element: the element type of a .bin file, else "";
 * sha256: of the file, 64 hexadecimal digits. */
typedef struct LoadFrom {
    const char *path, *key, *element, *sha256;
} LoadFrom;
Handle *stream_load(Stream *s, const TensorType *t, const LoadFrom *from, Span at, LangError *e);
static inline Operand operand_of(const Handle *h) {
    return (Operand){.kind = IN_TENSOR, .id = h->id};
}
Handle *handle_ref(Handle *h);
void handle_unref(Stream *s, Handle **h);         /* NULL-safe */
void stream_control(Stream *s, const Inst *inst); /* signal enter/exit, note: without tensors */
/* Turns the workers' check for values that are not finite on or off, for later instructions. */
void stream_check_nan(Stream *s, bool on);
bool stream_checks_nan(const Stream *s);

/* ---- effects: instructions answered with values, run in stream order ---- */
/* A safepoint calls done when the values have arrived (or stream_effect at once, if n = 0 and
 * nothing is pending). It skips the effect if a value has status != 0 (poisoned). done returns
 * false and sets *err for system errors (disk full, no such directory); the stream reports them
 * like a worker's failure, at the effect's position. The effect owns ctx: drop is called exactly
 * once, last. */
typedef struct Effect {
    Op op;
    const Attr *attr;
    int n_attr;
    Handle *const *handle; /* operands; referenced until done */
    int n;
    bool (*done)(void *ctx, const Reply *r, Err *err);
    void (*drop)(void *ctx);
    void *ctx;
    bool may_be_lost; /* if an earlier failure lost an operand, report no failure of this effect */
} Effect;
bool stream_effect(Stream *s, const Effect *ef, Span at, LangError *e);
/* The most bytes that a text of an effect with n operands may have. Those of a print or write
 * without operands are neither sent nor, unless instruction text is written, limited. */
size_t stream_text_max(const Stream *s, Op op, int n);

/* ---- waiting ---- */
/* Fetches a whole tensor; waits. *data is malloc'ed and row-major, the caller frees it. Fails if
 * the tensor is poisoned (e is the cause, at its own line, or refers to it if it was reported
 * before), if interrupted, or if the dispatcher is lost. In EMIT mode: "control flow depends on
 * data". */
bool stream_value(Stream *s, const Handle *h, Span at, void **data, LangError *e);
/* Waits until all instructions so far are done and all effects have run. e: the first failure not
 * yet reported, if any. */
bool stream_sync(Stream *s, LangError *e);
/* Waits until all saves and writes so far have finished, before the client itself reads a file. In
 * EMIT mode nothing is written, so reading such a file (path; NULL: unknown) is an error. */
bool stream_files(Stream *s, const char *path, Span at, LangError *e);
/* Ends a script: like stream_sync, but after the first failure cancels work that has not started
 * and reports no further failures. has_failed: that failure was reported already (is_late); then
 * returns true. */
bool stream_finish(Stream *s, bool has_failed, LangError *e);
/* Calls fn with the values of the operands of each effect and fetch, before the effect runs; NULL:
 * ends that. The values are borrowed for the call. */
typedef void (*StreamWatch)(void *ctx, Handle *const *handle, const Reply *r);
void stream_watch(Stream *s, StreamWatch fn, void *ctx);
/* Calls fn every 20 ms or more often while the stream waits, with the time since the wait began;
 * NULL: no longer. fn may write to the terminal; it must not use the stream but for its counts. */
typedef void (*StreamWaits)(void *ctx, int64_t waited_ms);
void stream_on_wait(Stream *s, StreamWaits fn, void *ctx);
void stream_flush(Stream *s);
/* At the prompt: another input starts. Its effects run although an earlier input failed. */
void stream_input(Stream *s);
/* Handles the messages that have arrived; never waits. */
void stream_read(Stream *s);
/* The same, and runs the effects that are due, which may write files. */
void stream_poll(Stream *s);
/* As stream_poll, but waits for the first message: timeout_ms at most. A signal ends the wait. */
void stream_poll_for(Stream *s, int timeout_ms);
/* At a statement's end: the same, if many instructions were issued or an effect may be due. */
void stream_step(Stream *s);
/* Takes an unreported failure, at its own position; false if there is none. Each failure is
 * reported once. In a script they are reported in stream order, once all earlier results are known.
 * _has: true if there is one. */
bool stream_has_error(const Stream *s);
bool stream_take_error(Stream *s, LangError *e);
/* At a loop's back edge: restarts operand distances; fails for an interrupt or a failure that has
 * arrived. Cheap, for every iteration. */
bool stream_edge(Stream *s, LangError *e);
/* First Ctrl-C at the prompt: drops pending prints, and fetches that nobody waits for any more, so
 * that later effects do not wait for them; all else continues. Returns the number of prints. */
size_t stream_hush(Stream *s);
/* Second Ctrl-C: drops work that has not started. At the prompt that is no failure of later inputs:
 * stream_cancelled says how much it was. */
void stream_cancel(Stream *s);
/* What the last cancel did: "interrupted: 12 instructions were not executed". "": it dropped none,
 * or what was issued before it is not done yet. Borrowed; the next cancel changes it. */
const char *stream_cancelled(const Stream *s);
/* Appends where a tensor is stored, as KEY=VALUE lines: layout, group and each worker's shape;
 * placement() of the prelude parses them. Waits until it is computed. */
bool stream_where(Stream *s, const Handle *h, Span at, Bytes *text, LangError *e);
/* Appends what computed a tensor: layout and group as above, and the lines of each worker's
 * exec_kernel with a prefix "w0." and so on; debug.get_kernel() parses them. Waits until it is
 * computed. */
bool stream_kernel(Stream *s, const Handle *h, Span at, Bytes *text, LangError *e);
/* Appends KEY=VALUE lines of client, dispatcher and workers. Waits. */
bool stream_stats(Stream *s, Bytes *text, LangError *e);
/* Appends the last n instructions of this client that its dispatcher still has (of about 1 MiB of
 * frames), and failures between them, one per line: instruction text without result types. Nothing
 * before the first instruction, and with GT_WATCH=0. Waits for the dispatcher, not for results. */
bool stream_tape(Stream *s, size_t n, Bytes *out, LangError *e);
/* One source line of a profile. */
typedef struct ProfileLine {
    const Source *src; /* NULL: instructions of no line, or of too many */
    uint16_t file;     /* Source.id */
    uint32_t line;
    uint64_t insts;        /* instructions issued */
    uint64_t ns, move_ns;  /* time of their calls and of their transfers, over all workers */
    uint64_t bytes, moved; /* bytes of results stored; of tensors fetched from other workers */
} ProfileLine;
/* Sets *lines to an array of n lines, the one with the most time first; the caller frees it. Waits.
 * n = 0 without StreamConfig.profile, or before the first instruction. If the dispatcher is lost,
 * fails, and the lines have no times. */
bool stream_profile(Stream *s, ProfileLine **lines, size_t *n, LangError *e);
uint64_t stream_count(const Stream *s); /* instructions emitted so far */
uint64_t stream_done(const Stream *s);  /* how many of them are acknowledged */
/* Effects of instructions from number `since` on that have not run yet. */
size_t stream_effects(const Stream *s, uint64_t since);
uint16_t stream_file(Stream *s, const Source *src); /* announces its name once; returns its id */
#endif
