/* parse.h: private to the parser; its public interface is parse_program in ast.h.
 *
 * A recursive descent over the token array, with one function per grammar symbol,
 * named after it. An error fills p->e and longjmps to parse_program. The tree is in the Program's
 * arena; all else is the Parser's, and freed. Nesting is
 * limited (MAX_PARSE_DEPTH) and so is the height of the tree (MAX_TREE_HEIGHT): no input can
 * overflow the C stack.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_SYNTAX_PARSE_H
#define GT_LANG_SYNTAX_PARSE_H
#include "lang/syntax/ast.h"
#include "lang/syntax/lex.h"
#include "runtime/base/limits.h"
#include "runtime/base/map.h"
#include <setjmp.h>

/* An open bracket or block, for E_INCOMPLETE and its message. */
typedef struct Opener {
    Token at;
    const char *what;
    uint32_t line;
    size_t second; /* offset behind the first comma, or 0 */
} Opener;          /* what: "for", "if" ...; line of that word */

/* Bytes of the text that a longer text may leave out: complete statements or elements in front of
 * what is not complete. */
typedef struct Done {
    size_t from, to;
} Done;

typedef struct Parser {
    const Source *src;
    Arena *arena; /* of the Program */
    Arena work;   /* tokens */
    Tokens t;
    size_t i;           /* next token                                              */
    size_t before;      /* the last token taken                                    */
    bool skip_newlines; /* inside ( ), [ ] or a map                                */
    bool in_fstring;
    int depth;
    Opener open[MAX_PARSE_DEPTH + 8];
    int n_open;
    int fn_depth, loop_depth; /* nonzero if return, if break is allowed                  */
    bool in_module_body;      /* directly in a module's block: fn statements are methods */
    bool in_module;           /* the function being parsed is a constructor              */
    const char *module;       /* the name of that module                                 */
    Node **scratch;
    size_t n_scratch, scratch_cap;
    bool keeps_done; /* for parse_open_text: `done` is kept */
    Done *done;      /* in order, disjoint */
    size_t n_done, done_cap;
    char open_with;
    LangError *e;
    jmp_buf fail;
    WarnFn warn;
    void *warn_ctx;
} Parser;

/* ---- parse.c ---- */
const Token *parse_peek(Parser *p);  /* the next token; skips newlines if skip_newlines */
const Token *parse_peek2(Parser *p); /* the token after that                            */
static inline bool parse_at(Parser *p, int kind) { return parse_peek(p)->kind == kind; }
const Token *parse_take(Parser *p);
bool parse_accept(Parser *p, int kind);
/* Takes a token of this kind, or fails with "expected ')' after the arguments, but found 'x'".
 * where: "after the arguments", or "". */
const Token *parse_expect(Parser *p, int kind, const char *where);
bool parse_is(const Parser *p, const Token *t, const char *word);
_Noreturn void parse_fail(Parser *p, Span at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void parse_unexpected(Parser *p,
                                const char *expected); /* E_INCOMPLETE at the end of the text */
void parse_warn(Parser *p, Span at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void parse_enter(Parser *p); /* adds one level of nesting; fails at MAX_PARSE_DEPTH */
static inline void parse_leave(Parser *p) { p->depth--; }
void parse_open(Parser *p, const Token *bracket, const char *what, uint32_t line);
static inline void parse_close(Parser *p) { p->n_open--; }
/* Text between these offsets is complete. Replaces what is noted behind `from`. */
void parse_done(Parser *p, size_t from, size_t to);
/* As parse_accept of a comma: in brackets, what the next element follows is complete. The first
 * element, which says what the brackets hold, stays. */
bool parse_comma(Parser *p);

/* parse_node makes a node at token `first`. parse_finish ends it at the last token taken and gives
 * it the kids pushed since mark; returns it. */
Node *parse_node(Parser *p, NodeKind kind, size_t first);
Node *parse_finish(Parser *p, Node *n, size_t first, size_t mark);
static inline size_t parse_mark(const Parser *p) { return p->n_scratch; }
void parse_push(Parser *p, Node *n);
const char *parse_name(Parser *p, const Token *t); /* interned text of a word */

/* ---- parse_expr.c ---- */
Node *parse_expr(Parser *p);
Node *parse_exprs(Parser *p); /* two or more make a list */
Node *parse_postfix(Parser *p);
Node *parse_string(Parser *p);  /* STRING or FSTRING is next */
Node *parse_targets(Parser *p); /* of for and comprehensions */

/* ---- parse_stmt.c ---- */
AstFn *parse_fn(Parser *p, const Token *word, const char *name,
                bool is_module);           /* params and body */
uint16_t parse_fn_height(const AstFn *fn); /* of the node that holds it */
void parse_statements(Parser *p, int end); /* pushes statements until the token `end` */
Node *parse_target(Parser *p, Node *n,
                   bool is_loop); /* checks that an expression may be assigned to */

/* ---- parse_hint.c ---- */
/* Returns a hint for an unexpected token, guessed from the tokens around it, or "". If a misspelt
 * keyword is the cause, *word becomes its token. */
const char *parse_hint(Parser *p, const Token *t, const Token **word);
/* The hint at an else or elif t behind the block of a loop, or an elif behind an else; otherwise
 * NULL. */
const char *parse_loop_else(const Parser *p, const Token *t);

/* ---- unread.c ---- */
/* Marks (NODE_UNREAD) writes to names that nothing reads afterwards. Without escaped: to the locals
 * of fn, resolved. With escaped: to the file's names, except those in escaped, which functions
 * use. */
void unread_writes(AstFn *fn, Node *body, const Map *escaped);
#endif
