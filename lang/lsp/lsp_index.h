/* lsp_index.h: what is known of a document's text: names and their uses, members, findings.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_INDEX_H
#define GT_LANG_LSP_LSP_INDEX_H
#include "lang/lsp/lsp_text.h"
#include "lang/syntax/ast.h"
#include "runtime/base/map.h"

/* A use of a variable: slot `slot` of function owner, or a global name if owner is NULL. */
typedef struct Use {
    size_t at;
    const char *name;   /* interned */
    const AstFn *owner; /* NULL: global */
    int32_t slot;
    bool is_def, is_import, is_param;
    const AstFn *fn;  /* of a definition of a function or module, else NULL */
    const Node *node; /* of an import, else NULL */
} Use;
/* A method or a field `self.name = …` of a module. */
typedef struct Member {
    size_t at;
    const char *name;
    const AstFn *module, *fn; /* fn NULL: a field */
} Member;
/* A use of a field: x.name. */
typedef struct FieldUse {
    size_t at;
    const Node *node;
} FieldUse;
/* The name of an argument, f(name=1), in a call whose function the text alone does not tell. */
typedef struct LooseArgument {
    size_t at;
    const char *name;
    const Node *callee;
} LooseArgument;
/* An error or warning. */
typedef struct Finding {
    size_t from, to;
    bool is_warning;
    char *text; /* owned */
} Finding;
typedef struct Index {
    Source src;    /* its text: the document's, with what cannot be parsed blanked out */
    Program *prog; /* NULL if nothing can be parsed */
    Use *use;      /* in the order of the text */
    size_t n_uses, n_sorted, uses_cap;
    Member *member;
    size_t n_members, members_cap;
    FieldUse *field;
    size_t n_fields, fields_cap;
    LooseArgument *loose;
    size_t n_loose, loose_cap;
    Finding *finding;
    size_t n_findings, findings_cap;
    Map defined;   /* names that the file level or the language defines */
    Map functions; /* of variables that name functions */
} Index;
/* Parses the document if it has changed; borrowed until it changes. in: for names of the language.
 * Reports syntax errors, undefined names and the resolver's warnings as findings. */
Index *doc_index(Doc *d, Interp *in);
void index_free(Index **x);
/* The use that covers an offset, or NULL. */
const Use *index_use(const Index *x, size_t at);
bool use_is_same(const Use *a, const Use *b); /* of the same variable */
/* The definition that a use most probably means: the function or module, else the last one before
 * it; NULL if the text has none. */
const Use *index_definition(const Index *x, const Use *u);
/* The definition of a global name, or NULL. */
const Use *index_global(const Index *x, const char *interned);
#endif
