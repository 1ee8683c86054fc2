/* parse.h: what the files of the parser share; nobody else includes it (the contract is
 * parse_program in ast.h).
 *
 * A recursive descent over the token array, one function per grammar symbol (LANGUAGE 2.2, 2.7),
 * named after it. A mistake fills p->e and longjmps to parse_program: all memory is the Program's
 * arena, but for the scratch stack, freed there. Nesting is counted (MAX_PARSE_DEPTH) and so is the
 * height of the tree (MAX_TREE_HEIGHT): no input can overflow a stack. SPDX-License-Identifier: MIT
 */
#ifndef GT_LANG_SYNTAX_PARSE_H
#define GT_LANG_SYNTAX_PARSE_H
#include "lang/syntax/ast.h"
#include "lang/syntax/lex.h"
#include "runtime/base/limits.h"
#include "runtime/base/map.h"
#include <setjmp.h>

/* A bracket or block that is open: for INCOMPLETE and its message. */
typedef struct Opener {
    Token at;
    const char *what;
    uint32_t line;
} Opener; /* what: "for", "if" ...; line of that word */

typedef struct Parser {
    const Source *src;
    Arena *arena;
    Tokens t;
    size_t i;           /* next token                                              */
    size_t before;      /* the last one taken                                      */
    bool skip_newlines; /* inside ( ), [ ] or a map                                */
    bool in_fstring;
    int depth;
    Opener open[MAX_PARSE_DEPTH + 8];
    int n_open;
    int fn_depth, loop_depth; /* is return, is break allowed here                        */
    bool in_module_body;      /* directly in a module's block: fn statements are methods */
    bool in_module;           /* the function being parsed is a constructor              */
    const char *module;       /* the name of the module whose block that is              */
    Node **scratch;
    size_t n_scratch, scratch_cap;
    char open_with;
    LangError *e;
    jmp_buf fail;
    WarnFn warn;
    void *warn_ctx;
} Parser;

/* ---- parse.c ---- */
const Token *parse_peek(Parser *p);  /* skips newlines where they do not count */
const Token *parse_peek2(Parser *p); /* the one after                          */
static inline bool parse_at(Parser *p, int kind) { return parse_peek(p)->kind == kind; }
const Token *parse_take(Parser *p);
bool parse_accept(Parser *p, int kind);
/* Takes a token of this kind; else fails: "expected ')' after the arguments, but found 'x'". where
 * may be "". */
const Token *parse_expect(Parser *p, int kind, const char *where);
bool parse_is(const Parser *p, const Token *t, const char *word);
_Noreturn void parse_fail(Parser *p, Span at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void
parse_unexpected(Parser *p, const char *expected); /* at the next token; INCOMPLETE at the end */
void parse_warn(Parser *p, Span at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void parse_enter(Parser *p); /* one level deeper, or fails */
static inline void parse_leave(Parser *p) { p->depth--; }
void parse_open(Parser *p, const Token *bracket, const char *what, uint32_t line);
static inline void parse_close(Parser *p) { p->n_open--; }

/* A node from token `first` to the last one taken; takes over the kids pushed since mark. at =
 * first token. */
Node *parse_node(Parser *p, NodeKind kind, size_t first);
void parse_finish(Parser *p, Node *n, size_t first, size_t mark);
static inline size_t parse_mark(const Parser *p) { return p->n_scratch; }
void parse_push(Parser *p, Node *n);
const char *parse_name(Parser *p, const Token *t); /* interned text of a word */

/* ---- parse_expr.c ---- */
Node *parse_expr(Parser *p);
Node *parse_exprs(Parser *p); /* two or more make a list */
Node *parse_or(Parser *p);
Node *parse_postfix(Parser *p);
Node *parse_string(Parser *p);  /* STRING or FSTRING is next */
Node *parse_targets(Parser *p); /* of for and comprehensions */

/* ---- parse_stmt.c ---- */
Node *parse_block(Parser *p, const char *what, uint32_t line);
AstFn *parse_fn(Parser *p, const Token *word, const char *name,
                bool is_module);           /* params and body */
uint16_t parse_fn_height(const AstFn *fn); /* of the node that holds it */
void parse_statements(Parser *p, int end); /* pushes statements until the token `end` */
Node *parse_target(Parser *p, Node *n,
                   bool is_loop); /* checks that an expression may be assigned to */

/* ---- parse_hint.c ---- */
/* The hint for an unexpected token, from what stands around it; "" when there is none. */
const char *parse_hint(Parser *p, const Token *t);

/* ---- resolve.c ---- */
/* Gives every name its place. false: e is set (a bare use of a constructor's name, return outside a
 * function ...). */
bool resolve_program(Program *p, WarnFn warn, void *ctx, LangError *e);

/* ---- unread.c ---- */
/* Marks (NODE_UNREAD) the writes to names of a resolved function that nothing reads afterwards.
 * escaped: of the file instead of a function, whose own names these functions use. */
void unread_writes(AstFn *fn, Node *body, const Map *escaped);
#endif
