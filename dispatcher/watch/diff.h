/* diff.h: gt-diff compares two runs of one program by the hashes of their results, which workers
 * write to the tape (option --hash; runtime/inst/hash.h says what a hash guarantees).
 *
 * How two runs are compared:
 *
 * 1. Each tape is read once (diff_tape.c). What remains is a list per client: its instructions that
 *    make tensors, in the order of the stream, each with op, source position and hash. The hash is
 *    that of the whole tensor, whatever its layout: the hashes of a split tensor's parts add up,
 * and every copy of a replicated one must have the same hash (if not, that is a difference within
 * one run). A partial sum gets the hash of the collective that adds up its terms. Views and the
 *    temporaries of a fusion have no hash.
 * 2. The lists are aligned (diff_align.c), because two versions of a program or of gtsh may number
 *    their tensors differently. Two instructions correspond if they have the same op at the same
 *    source line, or at a line shifted by as much as others. Where they stop corresponding, the
 *    shortest run of inserted and removed instructions is looked for after which DIFF_ANCHOR
 *    instructions correspond again.
 * 3. The first pair whose type or hash differs is the answer (diff_find.c). A pair without a hash
 * in one of the runs is skipped: if its bits differ, so do those of the first instruction with a
 *    hash that reads it. So the answer names the first result whose difference can be seen, and
 * says which operands are known to be equal.
 *
 * Reading takes nearly all of the time, so both tapes are read at the same time.
 *
 * The programs behind the tapes may be run by gt-diff itself (diff_run.c), which can run them again
 * to show the values that differ (diff_value.c).
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_DIFF_H
#define GT_DISPATCHER_WATCH_DIFF_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/map.h"
#include "runtime/inst/inst.h"

/* ---- diff_tape.c: a tape, read ---- */

typedef enum DiffState {
    DIFF_NONE,   /* no worker has reported a hash */
    DIFF_WHOLE,  /* hash: of the whole tensor, from n_rows workers that have all of it */
    DIFF_SPLIT,  /* hash: the sum over the n_rows parts reported so far */
    DIFF_PARTIAL /* n_rows terms */
} DiffState;

/* What the workers have reported about the results of an instruction. */
typedef struct DiffHash {
    uint64_t hash[MAX_OUT];
    uint32_t group;  /* of the workers that execute it; 0: one worker */
    uint16_t n_rows; /* reports */
    uint16_t sample; /* one block in so many was hashed (hash.h) */
    uint8_t state;   /* DiffState */
    bool is_torn;    /* workers that have all of it, or parts of it, disagree */
} DiffHash;

/* An instruction of a client that makes tensors. */
typedef struct DiffStep {
    uint64_t id;      /* of its first result */
    const char *text; /* its text in the tape, up to the end of the line */
    uint32_t op;      /* a hash of the op's name */
    uint32_t line;    /* in the source; 0: unknown */
    uint8_t n_out;
    DiffHash got;
    uint64_t sum; /* id of the collective that adds up its terms; 0: none */
} DiffStep;

typedef struct DiffClient {
    uint32_t number;
    DiffStep *step; /* in the order of the stream; ids rise */
    size_t n, cap;
    size_t hint; /* index of the step that was found last */
    Map sums;    /* id of a collective -> DiffHash */
} DiffClient;

typedef struct DiffTape {
    const char *name; /* for messages: borrowed */
    const char *text; /* of the file, mapped */
    size_t n;
    DiffClient *client; /* by order of arrival */
    int n_clients;
    Map groups; /* number -> how many workers */
    size_t n_lines, n_hashes;
    bool is_cut;         /* its last line is incomplete */
    const char *failure; /* the first line of an error; NULL: none */
} DiffTape;

/* Reads the tape at path. False: err says why not. */
bool diff_tape_open(DiffTape *t, const char *path, const char *name, Err *err);
void diff_tape_close(DiffTape *t);
/* Finds the client's instruction that makes tensor `id`; NULL: none does. */
const DiffStep *diff_step(const DiffClient *c, uint64_t id);
/* Sets *out to the hash of result k of s, as a whole tensor. False: there is none. */
bool diff_hash(const DiffTape *t, const DiffClient *c, const DiffStep *s, int k, uint64_t *out);
/* Calls fn for each report about the tensor `id`, in the order of the tape. Reads all of the tape.
 */
typedef struct DiffRow {
    uint32_t worker;
    DiffState state;
    uint16_t sample;
    uint64_t hash[MAX_OUT];
    int n;
} DiffRow;
void diff_rows(const DiffTape *t, const DiffClient *c, uint64_t id,
               void (*fn)(void *ctx, const DiffRow *row), void *ctx);
/* Returns where the hash of s is: its own, or that of the collective that adds up its terms; NULL:
 * there is none. */
const DiffHash *diff_whole(const DiffTape *t, const DiffClient *c, const DiffStep *s);

/* ---- diff_align.c ---- */

enum {
    DIFF_ANCHOR = 4,    /* instructions that must correspond after inserted and removed ones */
    DIFF_WINDOW = 2048, /* inserted and removed instructions that are looked for in one place */
    DIFF_GAPS = 64      /* places that are remembered */
};
/* Instructions that only one run has: [begin, end) of each list. */
typedef struct DiffGap {
    size_t a_begin, a_end, b_begin, b_end;
} DiffGap;
typedef struct DiffPairs {
    const DiffClient *a, *b;
    uint32_t *b_of;         /* of each step of a: the index of its counterpart, or DIFF_ALONE */
    DiffGap gap[DIFF_GAPS]; /* the first ones */
    size_t n_gaps;
    bool has_parted; /* from the last gap on nothing corresponds */
} DiffPairs;
#define DIFF_ALONE UINT32_MAX
void diff_align(DiffPairs *p, const DiffClient *a, const DiffClient *b);
void diff_pairs_fini(DiffPairs *p);

/* ---- diff_find.c: the first difference ---- */

typedef enum DiffKind {
    DIFF_EQUAL,
    DIFF_BITS,  /* the hashes differ */
    DIFF_TYPE,  /* dtype or shape differ */
    DIFF_COPIES /* within one run: copies of a tensor on several workers differ */
} DiffKind;
typedef struct DiffFound {
    DiffKind kind;
    size_t at;       /* index of the step in a */
    int result;      /* DIFF_BITS: which result of it */
    int run;         /* DIFF_COPIES: 0 or 1 */
    size_t n_same;   /* pairs with equal hashes before it; of all if nothing differs */
    size_t n_unseen; /* pairs without a hash in one run or both, likewise */
} DiffFound;
void diff_find(const DiffTape *a, const DiffTape *b, const DiffPairs *p, DiffFound *out);

/* ---- diff_tell.c: the result as text ---- */

/* Appends lines about the first difference. names: of the two runs, "A" and "B". */
void diff_tell(const DiffTape *const tape[2], const DiffPairs *p, const DiffFound *f, Bytes *out);
/* Appends a line for each place where one run has more instructions than the other. */
void diff_tell_gaps(const DiffPairs *p, Bytes *out);

/* ---- diff_run.c: the programs behind the tapes ---- */

/* A command for the shell and where its run leaves its tape and its output. */
typedef struct DiffCommand {
    char *text;    /* owned */
    char dir[256]; /* of the files of this run; closed to others */
    char tape[272], log[272];
    int status; /* as waitpid gives it */
} DiffCommand;
/* Runs it, with all results hashed, until it ends. keep: results to keep, "t3,t17", or NULL; then
 * until n_kept files of them are in the directory `kept`. False: it cannot be started or wrote no
 * tape, err says why; a program that fails is no error. */
bool diff_run(DiffCommand *c, const char *keep, const char *kept, int n_kept, Err *err);
/* For a signal handler: ends the command that runs. */
void diff_run_stop(void);
/* The last line with an error in its output, or the last line, without the newline; "": none. */
const char *diff_last_words(const DiffCommand *c, char *buf, size_t size);

/* ---- diff_value.c: values that differ ---- */

/* A tensor read from the files that workers left (worker/exec/hash.h). */
typedef struct DiffValue {
    TensorType type;
    char *data; /* owned; row-major */
} DiffValue;
/* Reads all parts of the client's tensor in dir; worker >= 0: that one's alone. False: a part is
 * missing, or damaged. */
bool diff_value_read(const char *dir, uint32_t client, uint64_t id, int worker, DiffValue *out);
void diff_value_fini(DiffValue *v);
uint64_t diff_value_hash(const DiffValue *v); /* of all its elements */
/* Appends a line for each of the first `most` elements whose bits differ, and how many do. Both
 * have one type. */
void diff_value_tell(const DiffValue *a, const DiffValue *b, const char *const label[2], int most,
                     Bytes *out);
#endif
