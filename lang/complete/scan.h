/* scan.h: private to lang/complete: a text that is being typed, as tokens, and the names that it
 * defines. The text may be incomplete and wrong anywhere: the scan goes on after each mistake.
 * Scopes are found by brackets alone, without the parser.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_COMPLETE_SCAN_H
#define GT_LANG_COMPLETE_SCAN_H
#include "lang/syntax/lex.h"
#include "runtime/base/map.h"

typedef enum DefKind {
    DEF_VARIABLE,
    DEF_PARAM,
    DEF_FN,
    DEF_METHOD, /* a fn directly in a module's block */
    DEF_MODULE,
    DEF_IMPORT,
    DEF_FIELD /* self.NAME = ... */
} DefKind;

/* A name that the text defines. */
typedef struct Def {
    const char *name; /* interned */
    uint8_t kind;
    int scope;     /* where it is visible; of a field or method: its module's */
    uint32_t at;   /* its token */
    uint32_t from; /* VARIABLE, FIELD: the first token of its value; FN, METHOD, MODULE: the token
                      after the name; 0: not known */
    int body;      /* FN, METHOD, MODULE: the scope of its parameters and block */
    uint32_t only_in; /* of a comprehension: its bracket's token + 1; else 0 */
} Def;

typedef enum ScopeKind { SCOPE_FILE, SCOPE_FN, SCOPE_MODULE } ScopeKind;
typedef struct TextScope {
    int parent; /* of the file: -1 */
    uint8_t kind;
    bool is_headed; /* its parameters have ended */
    bool is_arrow;  /* fn f(x) => e */
    size_t depth;   /* brackets open at its `fn` or `module` */
} TextScope;

typedef struct Scan {
    Arena arena;
    Source src;
    Token *tok;
    size_t n, cap;
    size_t n_before; /* tokens that begin before the cursor */
    Def *def;
    size_t n_defs, cap_defs;
    Map by_name;      /* interned name -> what scan_find gives */
    TextScope *scope; /* [0]: the file */
    int n_scopes, cap_scopes;
    int here;       /* the innermost scope at the cursor */
    uint32_t *open; /* tokens of the brackets that are open at the cursor, outermost first */
    size_t n_open;
    size_t string; /* the token of the unfinished string that the cursor is in, or SIZE_MAX */
    bool in_comment;
} Scan;

/* Scans text (n bytes, borrowed, no NUL needed) with the cursor at byte `cursor`. */
void scan_text(Scan *s, const char *text, size_t n, size_t cursor);
void scan_fini(Scan *s);
/* The token's kind; TOK_END behind the last one. */
int scan_kind(const Scan *s, size_t token);
/* True if the token is this word or punctuation. */
bool scan_is(const Scan *s, size_t token, const char *text);
const char *scan_name(const Scan *s, size_t token); /* interned */
/* True if a statement may begin at this token. */
bool scan_begins(const Scan *s, size_t token);
/* The definition of the name that is visible at the cursor and nearest before it, or NULL. */
const Def *scan_find(const Scan *s, const char *interned);
bool scan_sees(const Scan *s, const Def *d); /* true if d is visible at the cursor as a name */
/* The innermost module around the cursor, as its scope, or -1. */
int scan_module(const Scan *s);
/* The token of the bracket that matches the closing one at `close`, or SIZE_MAX. */
size_t scan_opener(const Scan *s, size_t close);
/* The token of the bracket that closes the one at `open`, or SIZE_MAX. */
size_t scan_closer(const Scan *s, size_t open);
/* Where the string token's text begins: after its quotes. *quote: its quote; *is_f: an f-string. */
size_t scan_string_body(const Scan *s, size_t token, char *quote, bool *is_f);
#endif
