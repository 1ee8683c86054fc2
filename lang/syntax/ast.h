/* ast.h: the tree that the parser builds and the evaluator walks. Nodes live in the arena of their
 * Program. Once resolve.c has resolved all names, only `flag` and `cache` change. All nodes share
 * one struct; the comment beside each kind names its fields and its children kid[0 .. n_kids-1].
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SYNTAX_AST_H
#define GT_LANG_SYNTAX_AST_H
#include "lang/error/error.h"

typedef enum NodeKind {
    /* expressions */
    N_NONE,
    N_TRUE,
    N_FALSE,
    N_INT,
    N_FLOAT,    /* i; f */
    N_STRING,   /* str, n_str (escapes already resolved, may hold NUL) */
    N_FSTRING,  /* kids: N_STRING pieces and N_FORMAT */
    N_FORMAT,   /* kid[0] expr, kid[1] spec (N_STRING or N_FSTRING) or NULL; str = "x=" of {x=};
                   flag FORMAT_ */
    N_NAME,     /* str; after resolve: scope, slot */
    N_LIST,     /* kids; also "a, b" and (a, b) */
    N_SET,      /* kids, which may be N_STAR, as in N_LIST */
    N_MAP,      /* kids: key, value alternately; a WORD key is N_STRING; NULL after N_MAPSTAR */
    N_LISTCOMP, /* kid[0] element, then target, iterable, condition or NULL, of each `for` */
    N_SETCOMP,  /* the same */
    N_MAPCOMP,  /* kid[0] key, kid[1] value, then as N_LISTCOMP */
    N_FN,       /* fn expression: fn */
    N_UNARY,    /* tok: an Oper; kid[0] */
    N_BINARY,   /* tok; kid[0], kid[1] */
    N_CHAIN,    /* a < b < c: kids are the operands, link[k] the N_BINARY of kid[k], kid[k + 1] */
    N_AND,
    N_OR,      /* kid[0], kid[1] */
    N_IF_EXPR, /* kid[0] value, kid[1] condition, kid[2] otherwise */
    N_CALL,    /* kid[0] callee; kids 1.. arguments: expression, N_KEYWORD, N_STAR, N_MAPSTAR */
    N_KEYWORD, /* str = name; kid[0] */
    N_STAR,    /* *xs: kid[0] */
    N_MAPSTAR, /* **m: kid[0] */
    N_INDEX,   /* kid[0] object; kids 1.. subscripts: expression, N_SLICE or N_ELLIPSIS */
    N_SLICE,   /* kid[0..2] start, stop, step, each may be NULL */
    N_ELLIPSIS,
    N_FIELD, /* kid[0] object; str = name (interned) */
    /* statements */
    N_BLOCK,     /* kids */
    N_EXPR_STMT, /* kid[0]; flag: ends with `;` (no echo) */
    N_ASSIGN,    /* targets in source order (a = b = e has two; may be N_LIST), then the value */
    N_AUGASSIGN, /* tok (the operator without =); kid[0] target, kid[1] value */
    N_IF,        /* kids: condition, block alternately; an odd last one is the else block */
    N_WHILE,     /* kid[0] condition, kid[1] block */
    N_FOR,       /* kid[0] target, kid[1] iterable, kid[2] block */
    N_FN_STMT,   /* fn; scope, slot: where the name is bound */
    N_MODULE,    /* fn: params and body of the constructor; scope, slot */
    N_SIGNAL,    /* kid[0] label (a string), kid[1] backward label or NULL, kid[2] block */
    N_NO_GRAD,   /* kids: a condition or nothing, block */
    N_TIME,      /* kid[0] label or NULL, kid[1] block */
    N_BACKWARD,  /* kid[0]. `backward(y, seed)` is N_EXPR_STMT of a call */
    N_RETURN,    /* kid[0] or n_kids = 0 */
    N_BREAK,
    N_CONTINUE,
    N_DEL,    /* kids */
    N_ASSERT, /* kid[0], kid[1] message or absent */
    N_IMPORT  /* str = module or path; flag: was a string; as: name bound; scope, slot */
} NodeKind;

/* Node.tok of N_UNARY, N_BINARY and N_AUGASSIGN: the operator, not its spelling. */
typedef enum Oper {
    O_ADD,
    O_SUB,
    O_MUL,
    O_DIV,
    O_FLOORDIV,
    O_MOD,
    O_POW,
    O_MATMUL,
    O_BITAND,
    O_BITOR,
    O_BITXOR,
    O_SHL,
    O_SHR,
    O_EQ,
    O_NE,
    O_LT,
    O_LE,
    O_GT,
    O_GE,
    O_IN,
    O_NOT_IN,
    O_IS,
    O_IS_NOT,
    O_NEG,
    O_POS,
    O_INVERT,
    O_NOT
} Oper;
extern const char *const oper_text[]; /* "+", "not in" */

/* flag of N_FORMAT: {x!r}, {x!s} */
#define FORMAT_REPR 1
#define FORMAT_STR  2

/* Bits of flag for expressions: */
#define NODE_PAREN 0x80 /* written in its own parentheses */
#define NODE_UNREAD                                                                                \
    0x02 /* N_INDEX as a target, N_AUGASSIGN: writes a name that nothing reads afterwards:         \
          * warn if its value is a tensor */

#define NODE_UNUSED  0x04 /* a whole statement, whose value is unused; cleared after the warning */
#define NODE_LAST    0x10 /* with NODE_UNUSED: the last statement of its function */
#define NODE_DROPPED 0x08 /* N_CALL with NODE_UNUSED: the function called has no side effects */

typedef enum NameScope { SCOPE_LOCAL, SCOPE_CELL, SCOPE_OUTER, SCOPE_GLOBAL } NameScope;
/* LOCAL: a slot of the current frame. CELL: a slot that holds a Cell, because an inner function
 * captures the variable. OUTER: captured, `slot` is an index into the function's captures. GLOBAL:
 * a global name, else a builtin. The evaluator looks it up by name (str, fn->name, as) and keeps it
 * in `cache`; slot is unused.
 * Comprehension variables are hidden locals of the enclosing function (at file level: of
 * Program.top), each with its own slot. If an inner fn captures one, its target node has SCOPE_CELL
 * and the evaluator makes a new cell per element. */

typedef struct Node Node;
typedef struct AstFn AstFn;

struct Node {
    uint8_t kind, tok, scope, flag;
    uint16_t height; /* of the tree below, at most MAX_TREE_HEIGHT, so walks may recurse */
    uint32_t n_kids;
    int32_t slot;
    Span at;    /* where a caret points: the operator of N_BINARY, the name of N_FIELD, the
                   bracket of N_INDEX, the callee of N_CALL; otherwise the first token */
    Span whole; /* first to last token on the first line, for quoting */
    union {
        int64_t i;
        double f;
        AstFn *fn;
        Node **link;
        struct {
            const char *str;
            uint32_t n_str;
        };
    };
    const char *as;
    Node **kid;
    void *cache; /* the evaluator's: inline caches, interned constants */
};

typedef struct AstParam {
    const char *name;
    Node *dflt;
    bool is_star, is_map, is_cell; /* *rest, **rest */
    int32_t slot;
    Span at;
    const struct Setting *takes; /* the evaluator's: see lang/eval/setting.c */
} AstParam;

struct AstFn {
    const char *name;  /* "" for fn expressions */
    const char *owner; /* of a method: its module's name; else NULL */
    const char *doc;   /* text of the ## lines directly above, or NULL */
    AstParam *param;
    int n_params;
    int n_pos;  /* parameters that can be positional: those before *rest, * and **rest */
    Node *body; /* N_BLOCK, or an expression if is_expr */
    bool is_expr, is_module;
    bool is_file;   /* Program.top */
    bool is_method; /* a fn directly in a module's block; its N_FN_STMT binds no name.
                       `outer` of module and methods is the function around the module (NULL:
                       file level): methods do not see the constructor's names */
    Span at, end;   /* `fn` ... closing brace, for ??name */
    /* set by resolve.c: */
    int n_slots;   /* parameters first, then self, other locals, comprehension variables */
    int self_slot; /* of modules and methods: the local `self`, which may be a cell; else -1 */
    bool uses_self;
    const char **slot_name;
    bool *slot_is_cell;
    int n_captures; /* cells taken from the enclosing frame, or from its captures */
    struct {
        bool from_local;
        int32_t slot;
    } * capture;
    AstFn *outer;
};

/* One parsed Source. top: a pseudo function whose slots are the hidden locals at file level, if
 * any; its body is the N_BLOCK `body`. All Programs of one file or of the prompt share their
 * globals. Functions point into the arena, so a Program must outlive them. */
typedef struct Program {
    Source *src;
    Node *body;
    AstFn *top;
    Arena arena;
} Program;

typedef void (*WarnFn)(void *ctx, const LangError *w);
/* Parses a whole source; the caller owns the Program. Returns NULL with e->kind E_SYNTAX, or
 * E_INCOMPLETE if the text ends too early (open_with: the character of the innermost opener, or 0
 * for a continued line). Passes warnings (a & 1 == 0, dead statements) to warn, if not NULL. */
Program *parse_program(Source *src, WarnFn warn, void *ctx, char *open_with, LangError *e);
/* True if the text ends too early, with open_with as above. Then what a longer text can do without
 * is left out of it: complete statements of open blocks and complete elements in open brackets, so
 * that a text that grows line by line is not parsed from its beginning each time. If false, the
 * text itself has to be parsed: an error in it, too, may come from what was left out (an else
 * without its if). */
bool parse_open_text(Bytes *text, char *open_with);
void program_free(Program **p);
void ast_print(const Node *n, Bytes *out); /* --debug=a: s-expressions, two blanks per level */
/* Returns the one pointer for this name, valid for ever: interned names compare by pointer. One
 * table per process, for the client's thread only. */
const char *intern(const char *s, size_t n);
/* Writes the source text of an expression to buf (80 bytes), shortened to fit, for messages.
 * Returns buf. */
const char *node_text(const Node *n, char *buf);
void fn_signature(const AstFn *f, Bytes *out); /* "f(a, b=1, *rest)" */
#endif
