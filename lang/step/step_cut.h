/* step_cut.h: shared by the files that cut a step out of a run. An item is an instruction of the
 * run, except frees and edges. Items of equal text but for ids and numbers are of one class: the
 * same instruction of the program in other rounds.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_STEP_STEP_CUT_H
#define GT_LANG_STEP_STEP_CUT_H
#include "lang/step/step_state.h"
#include "runtime/base/map.h"

enum { ROUNDS_MIN = 3, DISTANCE_MAX = 8, PEEL_MAX = 4 };

typedef struct Class {
    uint64_t hash;
    uint32_t count;
    uint32_t rounds; /* its items in all rounds but the last */
    bool is_needed;  /* a parameter's update, a save or a wanted effect needs one of its items */
    bool is_of_training; /* an update or a save does */
    bool is_extra;       /* only effects need it, of some rounds: the step has it in every round */
    bool is_wanted;      /* effects that the step has: in every round, or after the last */
} Class;

typedef struct Item {
    const char *text;
    size_t n, plain; /* plain: the length before types and position */
    uint32_t line;   /* of the run's text */
    Op op;
    uint8_t n_out;
    uint16_t n_in;
    bool has_edge; /* a loop's edge comes before it */
    bool is_effect, is_update, is_kept;
    uint64_t out;       /* first result */
    const uint64_t *in; /* tensor operands, in the order of the text */
    Class *class_;
    uint64_t loose; /* hash of its text without ids, numbers and types */
} Item;

/* Where an operand of the body comes from. */
typedef enum FromKind { FROM_BEFORE, FROM_ROUND, FROM_CARRY } FromKind;
typedef struct From {
    FromKind kind;
    uint64_t id;  /* FROM_BEFORE: made before the body; FROM_ROUND: in this round */
    int carried;  /* FROM_CARRY: index in Cut.carried */
    int distance; /* FROM_CARRY: rounds back, from 1 */
} From;

/* A value that later rounds use. */
typedef struct Carried {
    uint64_t made;               /* id in the first round */
    int distance;                /* the most rounds back */
    uint64_t init[DISTANCE_MAX]; /* [m]: before the first round, m + 1 rounds back */
    uint64_t slot[DISTANCE_MAX]; /* its ids in the step */
    bool is_copy[DISTANCE_MAX];  /* the slot is a copy of init */
} Carried;

typedef struct Cut {
    const Source *run;
    Arena arena;
    Item *item;
    int n, cap;
    Map class_;    /* hash -> Class */
    Map def;       /* id -> index of its item + 1 */
    int *position; /* per item: its place in seq + 1, or 0 */
    uint64_t next; /* an id that no item has */
    int *seq;      /* indices of the kept items */
    int n_seq;
    int begin, period, rounds; /* round r is seq[begin + r * period] and the next period - 1 */
    int *bound;                /* [rounds + 1]: the first item of each round, and after the last */
    int *bound_all;            /* owns them */
    From *from;                /* of the operands of the first round, in order */
    int *from_at;              /* per item of the round: its first in `from` */
    Carried *carried;
    int n_carried;
    Bytes *notes;
    LangError *e;
} Cut;

/* ---- step_text.c ---- */
typedef enum TokenKind { TOKEN_TEXT, TOKEN_ID, TOKEN_NUMBER } TokenKind;
typedef struct Token {
    TokenKind kind;
    size_t at, n;
    bool is_quoted;
} Token;
/* The next token of the n characters at s, from *i on; *quoted: inside a string. false: the end. */
bool step_token(const char *s, size_t n, size_t *i, bool *quoted, Token *out);

/* ---- step_run.c ---- */
/* Reads the run's text into items. */
bool cut_read(Cut *c);
void cut_fini(Cut *c);
/* Chooses what is kept: what parameters and saves need, and effects of wanted classes. */
void cut_keep(Cut *c);
/* "train.gt:12", in the arena; "line 3 of the instructions" without a position. */
const char *cut_where(Cut *c, const Item *t);
/* The item that makes id, or NULL; *out: which of its results. */
const Item *cut_def(const Cut *c, uint64_t id);

/* ---- step_loop.c ---- */
/* Finds the part that repeats: begin, period, rounds. */
bool cut_find_loop(Cut *c);
/* Adds the effects that the step has: those of every round, and those after the last. */
void cut_add_effects(Cut *c);
/* Finds out where the operands of a round come from. Rounds at the beginning that differ become
 * part of what comes before. */
bool cut_trace(Cut *c);
static inline Item *cut_item(const Cut *c, int round, int offset) {
    return &c->item[c->seq[c->begin + round * c->period + offset]];
}
/* The round of the value id, and the item of that round that makes it; false if none does. */
bool cut_find_made(const Cut *c, uint64_t id, int *round, int *offset);

/* ---- step_vary.c: what changes from round to round ---- */
typedef struct Varying Varying;
Varying *varying_new(Cut *c);
void varying_free(Varying **v);
/* Appends the lines of the number inputs that texts so far need. */
void varying_put_inputs(const Varying *v, Bytes *out);
/* Appends token k of the item at an offset of the round: as it is, or as a number of the round. */
void varying_put_number(Varying *v, int offset, int k, Bytes *out);
/* True if the line is an input: `data` with other elements in each round, or `load` of another
 * file. Appends it. */
bool varying_put_input(Varying *v, int offset, Bytes *out);
/* A name for an input made at this item: the variable that its source line assigns, or x. */
const char *varying_name(Varying *v, const Item *t);
/* A name for an output, which no other output has. */
const char *varying_output(Varying *v, const char *base, size_t n);
#endif
