/* plan_state.h: what the files of plan.h share: a plan, and the recording from which it is made.
 * plan.c chooses and runs plans, plan_record.c records, plan_make.c makes a plan of a recording.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLAN_PLAN_STATE_H
#define GT_WORKER_PLAN_PLAN_STATE_H
#include "runtime/wire/variants.h"
#include "worker/exec/profile.h"
#include "worker/fuse/collect.h"
#include "worker/plan/plan.h"
#include <limits.h>

enum {
    /* Instructions of one segment. 256 and 1024 are within 4 % (callgrind, 30 steps of charlm on
     * engine null). */
    PLAN_INSTS = 512,
    /* Instructions of a segment that spans several iterations of a short body. A loop of one
     * addition takes as many instructions of the processor with 48 to 512; charlm takes 6 % more
     * with 512. */
    PLAN_ROUNDS = 96,
    /* Time of one segment, when it is recorded: other clients wait for so long. From 10 ms to no
     * limit plans execute 87 % of charlm's instructions and 69 % of an LSTM's, with 5 ms 83 and 61
     * %, with 0.5 ms 79 and 49 % (Zen 5, one thread). */
    PLAN_NS = 20000000,
    /* Plans of one position and types, most of them of other lengths; evicts the least recently
     * used. 3 to 48 take as many instructions of the processor (callgrind, engine null: charlm,
     * batch sizes that change, loops of 1, 3 and 8 operations). With 1, short loops take 1.1 to 1.2
     * times the CPU time. */
    PLANS_OF_KEY = 12,
    /* Bytes of all plans, about; evicts likewise. A plan has 17 to 100 kB. With 16 to 256 MB
     * batch sizes that change and an LSTM take the same, with 4 MB they have 5 to 18 % fewer
     * instructions in plans, with 1 MB half as many. */
    PLANS_BYTES = 64 << 20,
    PLAN_NONE = -1
};

/* ---- A plan ---- */

/* A word (8 bytes) of the arguments that must be what it was, or follows from others. */
typedef enum WordKind {
    WORD_EQUAL, /* is `value`                                          */
    WORD_SAME,  /* is the word at `value`                              */
    WORD_MADE,  /* is the id of the segment's first result, + `value`  */
    WORD_ADDED, /* ... of its first inserted result, + `value`         */
    WORD_AWAY,  /* is an id that no tensor here has                    */
    WORD_PART   /* is the number of a part of the message, of `value` bytes */
} WordKind;
typedef struct Word {
    uint32_t at; /* bytes from the first argument on */
    uint8_t kind;
    bool is_distance; /* WORD_AWAY: the id is not a word, but the first result's id + `value` */
    uint64_t value;
} Word;

/* A tensor that was made before the segment. */
typedef struct External {
    int64_t at;     /* of the word that is its id; PLAN_NONE: its id is ... */
    uint64_t delta; /* ... that of the segment's first result + delta */
    uint32_t inst;  /* index of the first instruction of the segment that names it */
    TensorType type;
    int64_t stride[MAX_DIMS];
    bool has_whole;  /* it is a part ... */
    Whole whole;     /* ... of this */
    bool is_dropped; /* the segment frees it; then this must agree too: */
    bool is_sole;    /* it is all of its storage, which has no other reference */
    int region;
    /* Of this run: */
    uint64_t id;
    Tensor *tensor;
} External;

/* An argument that is a number. If it differs from the last run it is written to its places. */
typedef struct Value {
    uint32_t at;
    uint64_t last;
    Operand *operand;  /* of the instruction; or ... */
    int64_t *item;     /* ... of its attribute */
    int slot;          /* operand's place */
    char *to;          /* the engine's scalar; NULL: it reads none */
    uint8_t dtype;     /* exec_immediate converts it to this */
    uint8_t to_dtype;  /* of `to`, in a fusion; DT_NONE: the dtype that exec_immediate returns */
    bool is_condition; /* of where, in a fusion: 0 or 1 */
} Value;
/* A view whose start is an argument. */
typedef struct Shift {
    Inst *inst;
    View in;
    TensorType out;
    int64_t delta; /* bytes from the beginning of its operand */
    int from, region;
    int64_t offset;
} Shift;
/* An instruction with such arguments: if they change, inference must give the same types. */
typedef struct Variable {
    Inst *inst;
    TensorType *types; /* of its operands, as wholes; so are its results' */
    TensorType out[MAX_OUT];
    Shift *shift;
    int first, n; /* values */
} Variable;

/* A pointer of a call: `offset` bytes into the region. */
typedef struct Patch {
    char **to;
    int region;
    int64_t offset;
} Patch;
/* Memory that outlives the segment, allocated before a step. */
typedef struct Begin {
    int region;
    uint64_t bytes;
} Begin;

/* What a step's result depends on, as bits of 64: its reads are those of STEP_ALL, its StepFails
 * the others. */
#define STEP_ALL UINT64_C(0xffffffff)             /* all reads, however many */
enum { STEP_HALF = sizeof(uint32_t) * CHAR_BIT }; /* the most reads, and the most StepFails */
/* A call or a node of a fusion that may fail because of values. */
typedef struct StepFail {
    int node;
    uint32_t seq; /* as Step.seq */
    Op op;
    SrcPos pos;
    uint64_t depends; /* STEP_ALL: on all reads */
} StepFail;

typedef enum StepKind { STEP_CALL, STEP_FUSED, STEP_DATA, STEP_SHIFT } StepKind;
typedef struct Step {
    uint8_t kind;
    bool may_fail;            /* because of values */
    bool gives;               /* overwrites a tensor from outside: it cannot be undone */
    uint16_t n_patch, n_read; /* the first n_read are read, the others written */
    int inst;                 /* index of its instruction in the segment */
    uint32_t seq;             /* the instruction's sequence number minus that of the first one */
    uint16_t op;              /* for those that watch: op, results, id minus the base, bytes */
    uint8_t n_out;
    bool is_added; /* the id counts from the first inserted result */
    bool of_added; /* the same for `of` */
    uint64_t id, made;
    uint64_t of; /* STEP_FUSED: the heaviest operation's id, minus the base */
    int n_begin, n_drop;
    Patch *patch;
    Begin *begin;
    int *drop; /* externals whose names are dropped after it */
    Call *call;
    Fusion *fuse;
    JitEntry *entry; /* of the kernel */
    const FusedKernel *kernel;
    Call *product; /* the matmul that is computed with the fusion; NULL: none */
    int host;      /* the patch of the result whose memory it uses first; PLAN_NONE: none */
    Shift *shift;
    uint32_t data_at; /* STEP_DATA: of the payload's word; the payload is behind that word ... */
    bool is_part;     /* ... or is the part of the message whose number the word is */
    uint64_t bytes;   /* of the payload */
    uint64_t skip, taken; /* bytes: the range of it that this rank uses */
    int n_fails, n_depends;
    StepFail *fail;
    uint64_t *depends;   /* STEP_FUSED: of each result, ... */
    uint64_t of_product; /* ... and of the product */
    int n_share;         /* if the client is profiled: the lines that its time is added to */
    ProfileShare *share;
} Step;

/* Steps [begin, end) are a fusion whose way is being measured; those before `alone` are its
 * product. */
typedef struct Trial {
    CollectTrial what;
    int begin, alone, end;
    int64_t begin_ns, alone_ns; /* in this run */
} Trial;

/* A name that exists when the segment has ended and that the segment made. */
typedef struct Left {
    uint64_t delta;
    bool is_added; /* delta counts from the first inserted result, else from the first result */
    uint32_t group;
    bool has_whole;
    Whole whole;
    int kept; /* index of its storage in Plan.kept */
    int region;
    int64_t offset;
    View view;
} Left;
/* A storage with a name that the segment leaves. */
typedef struct Kept {
    int region;
    int external;  /* the segment leaves a view of this one's storage; or PLAN_NONE ... */
    bool is_taken; /* ... or the storage takes over this one's memory */
    uint64_t bytes;
    uint8_t filled;
    uint16_t op;
    uint32_t kernel;
    Storage *storage; /* of this run */
} Kept;

/* plan_graph.c: consecutive steps that the engine may launch as one graph. */
typedef struct Stretch {
    int begin, end;     /* steps */
    bool is_off;        /* no graph, and none is to be made */
    EngineGraph *graph; /* NULL: not yet */
} Stretch;

typedef struct Plans Plans;
typedef struct Plan Plan;
struct Plan {
    Variant variant; /* first */
    Arena arena;     /* all of it */
    Plans *owner;
    uint32_t n;                    /* instructions */
    uint32_t n_seq;                /* of them, those that were not inserted */
    uint32_t n_args;               /* bytes */
    bool compiles, compiles_after; /* Client.compiles before and after it */
    uint64_t size, runs;
    uint32_t undone;  /* times in a row that it was undone or skipped for that */
    uint64_t look_at; /* the number of runs at which it may be stale next */
    int n_words, n_externals, n_values, n_variables, n_steps, n_left, n_kept, n_regions, n_drops;
    int n_trials; /* while there are any, it is recorded again from time to time */
    Trial *trial;
    Word *word;
    External *external;
    Value *value;
    Variable *variable;
    Step *step;
    Left *left;
    Kept *kept;
    int *drop;                   /* externals whose names are dropped after the last step */
    char **base;                 /* of regions, in this run */
    int64_t *place;              /* of regions, in the block; PLAN_NONE: elsewhere */
    ErrCode *bad;                /* of regions, in this run: poison */
    Doubt **doubt;               /* of regions; NULL: none was needed yet */
    bool is_doubtful;            /* this run keeps `bad` and `doubt` */
    uint64_t block, own, beside; /* bytes: of temporaries, of results, of calls meanwhile */
    uint64_t temps;              /* bytes behind the block for calls of graphs */
    Stretch *stretch;
    int n_stretches;
    bool has_stretches; /* they have been looked for */
    bool *is_alone;     /* of steps: it cannot be in a graph; NULL: none is known */
    uint32_t kernels, fused_ops, unstored, products; /* for the statistics */
    uint64_t bytes_saved;
};

/* ---- A recording ---- */

typedef struct RecValue RecValue;
struct RecValue {
    uint64_t id;
    RecValue *of;   /* the value that this one is a view of; NULL: it is not a view */
    int64_t offset; /* of the view in that value, bytes */
    Shift *shift;   /* if its start is an argument; else NULL */
    int shift_slot;
    int slot; /* PLAN_NONE: not filled (yet) */
    int external;
    bool is_made, is_dropped;
    bool is_away; /* made on other ranks alone */
    TensorType type, whole;
    int64_t stride[MAX_DIMS];
};
/* The memory of a value. For a view with a Shift: a place in the memory of another slot (root). */
typedef struct RecSlot {
    int root; /* the slot that it lies in, or itself */
    int external;
    uint64_t bytes;
    int first, last; /* steps that use it */
    bool is_kept;    /* a name is left to it */
    int region;
} RecSlot;
/* Slots that lie in the same place one after the other. */
typedef struct RecRegion {
    int first, last;
    uint64_t bytes;
    bool is_kept, is_shift;
    int external;  /* the tensor from outside that it begins with, or PLAN_NONE ... */
    bool is_taken; /* ... and whose memory later slots reuse */
    int64_t place;
} RecRegion;

typedef struct Recorder {
    Observer seen; /* first; n_steps: of step */
    Exec *x;
    Client *client;
    struct Body *body;
    struct Spot *spot;
    uint64_t key;
    uint32_t from, limit, n; /* instructions */
    uint64_t base, added;
    uint64_t seq;
    uint32_t n_seq;
    const uint8_t *args, *at, *end; /* the segment's first, the next one's, the record's */
    bool compiles, has_failed;
    Plan *renews; /* the plan to be replaced; NULL: none */
    const char *why;
    int64_t begin_ns;
    Arena arena; /* becomes the plan's */
    Map values;  /* id -> RecValue */
    RecValue **made;
    const Inst *now;      /* being issued */
    int n_now, first_now; /* its values */
    uint32_t data_at;     /* its payload, in the arguments */
    Word *word;
    External *external;
    Value *value;
    Variable *variable;
    Step *step;
    Trial *trial;
    RecSlot *slot;
    Inst **inst; /* by place in the segment, as all below */
    uint32_t *seq_at;
    int *first_value;
    int n_words, n_externals, n_values, n_variables, n_slots, n_values_made, n_trials;
    uint32_t kernels, fused_ops, unstored, products;
    uint64_t bytes_saved, size, beside;
} Recorder;

/* Why a plan could not be used. */
typedef enum Miss {
    MISS_NONE,
    MISS_TYPES,  /* something from outside has another type or is gone */
    MISS_VALUES, /* arguments */
    MISS_MEMORY, /* not enough of it */
    MISS_UNDONE, /* something failed on the way */
    MISS_STALE,  /* it must be renewed: its fusions may run differently now */
    MISS_COUNT
} Miss;

/* One position of a body where segments begin. */
typedef struct Spot {
    Variants plans; /* first */
    uint64_t last_key;
    uint32_t turns;  /* changes of types: of the key, or in a later iteration of a plan */
    uint32_t visits; /* executed one by one since the last recording */
    uint32_t tries;  /* recordings, except those that renew a plan or make a key's first */
    uint32_t lost;   /* visits with plans of the key, since one of them ran */
    uint64_t n;      /* how often execution reached this position */
    uint8_t last_miss;
    Plan *renews; /* to be renewed; NULL: none */
} Spot;
/* Body.plan */
typedef struct Spots {
    Plans *owner;
    uint32_t n;
    Spot *at[];
} Spots;

struct Plans {
    Stage stage;    /* first */
    Stage *collect; /* NULL: there are no fusions */
    uint32_t mark;
    Lru all;
    uint64_t bodies, made, runs, instructions;
    uint64_t misses[MISS_COUNT], miss_state;
    int64_t graph_after; /* runs until a graph is made; 0: none is */
    uint64_t graphs, graph_launches;
};

/* A run of a plan. */
typedef struct Run {
    Exec *x;
    Client *client;
    Frame *frame;
    Plan *p;
    const uint8_t *args;
    uint64_t base, added, seq;
    char *block;
    uint64_t block_bytes;
    bool is_given; /* a tensor from outside was freed or overwritten: undo is impossible */
    bool is_bad;   /* a step has failed after that: results are poisoned */
} Run;

/* The current recording; NULL: none. */
static inline Recorder *recorder_of(const Plans *p) { return (Recorder *)p->stage.x->observer; }
#endif
