/* lsp_state.h: private to the language server: documents, what is known of their text, and the
 * server's state. All positions are byte offsets into the document; lsp_text.c converts them to and
 * from the protocol's lines and characters.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_LSP_LSP_STATE_H
#define GT_LANG_LSP_LSP_STATE_H
#include "lang/file/io.h"
#include "lang/lsp/lsp.h"
#include "lang/syntax/ast.h"
#include "lang/syntax/lex.h"
#include "runtime/base/map.h"

enum {
    LSP_MAX_MESSAGE = 64 << 20, /* bytes of a message's content */
    LSP_MAX_TEXT = 16 << 20,    /* bytes of a document          */
    LSP_MAX_NODES = 1 << 20,    /* values in a message          */
    LSP_MAX_DOCS = 1000,
    LSP_MAX_FOUND = 100, /* diagnostics of a document    */
    LSP_MAX_ITEMS = 2000 /* candidates of a completion   */
};

typedef struct Doc Doc;

/* ---- lsp_text.c: documents ---- */

/* An offset and its character in its line. */
typedef struct DocPlace {
    size_t at;
    uint64_t column;
} DocPlace;

struct Doc {
    char *uri, *path; /* path: of a file: URI, else the URI itself */
    Bytes text;       /* always ended by a NUL */
    size_t *line_at;  /* offset of each line */
    size_t n_lines, lines_cap;
    DocPlace *last; /* the last position put: the next in the same line is counted from there */
    int64_t version;
    bool is_dirty;       /* its diagnostics are to be published */
    struct Index *index; /* made by doc_index, dropped by changes; or NULL */
};
/* Copies uri and text. */
Doc *doc_new(const char *uri, const char *text, size_t n);
void doc_free(Doc **d);
/* Replaces the bytes [from, to) by text; drops the index. */
void doc_replace(Doc *d, size_t from, size_t to, const char *text, size_t n);
/* The offset of {line, character}; positions behind the end of a line or of the text are moved to
 * it. False if p is not a position. */
bool doc_offset(const Doc *d, const IoValue *p, bool is_utf8, size_t *at);
/* Appends a range of two positions {"line":…,"character":…}. */
void doc_put_range(const Doc *d, size_t from, size_t to, bool is_utf8, Bytes *out);
size_t doc_line_of(const Doc *d, size_t at);     /* from 0 */
size_t doc_at(const Doc *d, Span s);             /* the offset where a span begins */
void path_put_uri(const char *path, Bytes *out); /* as a JSON string */
/* The name around an offset: [*from, *to); false if there is none. */
bool doc_word(const Doc *d, size_t at, size_t *from, size_t *to);
/* The offset where the dotted path begins whose last name begins at `from`. */
size_t doc_path(const Doc *d, size_t from);

/* ---- lsp_index.c: what is known of a text ---- */

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

/* ---- lsp_names.c: the language's names ---- */

/* Finds the value of a dotted path of the language, "nn.Linear"; *v is a new reference. */
bool lsp_value(Interp *in, const char *path, size_t n, Value *v);
/* The method of this name of some kind of value, tensors first, or NULL. */
const Builtin *lsp_method(const char *interned);
/* Appends the signature, "sum(x, axis=none)", of a path; false if it is no function. */
bool lsp_signature(Interp *in, const char *path, size_t n, Bytes *out);
/* Appends Markdown that describes a path; false if nothing is known. */
bool lsp_describe(Interp *in, const char *path, size_t n, Bytes *out);
void lsp_describe_fn(const AstFn *fn, Bytes *out); /* the same of the program's own */

/* ---- lsp.c: the server ---- */

typedef struct Lsp {
    Interp *in;
    int from, to;
    Bytes buffer; /* read, not yet handled */
    size_t used;
    Doc **doc;
    size_t n_docs, docs_cap;
    bool is_utf8;      /* characters are bytes, else UTF-16 units */
    bool has_versions; /* the client takes edits with versions of documents */
    bool is_open, is_shut, is_over, is_lost;
    int error; /* code and message of a failed request */
    char message[300];
} Lsp;

/* Fails a request; returns false. */
bool lsp_fail(Lsp *l, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
enum { LSP_BAD_PARAMS = -32602, LSP_REFUSED = -32803 };
/* The open document of params.textDocument, or NULL after lsp_fail. */
Doc *lsp_doc(Lsp *l, const IoValue *params);
/* The same, and the offset of params.position. */
Doc *lsp_at(Lsp *l, const IoValue *params, size_t *at);

/* ---- lsp_edit.c: other files ---- */

/* Appends a Location: n bytes of a document. */
void lsp_put_location(const Lsp *l, const Doc *d, size_t at, size_t n, Bytes *out);
/* Appends what is known of a global name (interned, or NULL) of a document. */
typedef void LspPut(Lsp *l, Doc *d, const char *name, Bytes *out);
/* Calls put with the document of a file: the open one, else one that lives as long as the call.
 * False if the file cannot be read. */
bool lsp_in_file(Lsp *l, const char *path, const char *name, LspPut *put, Bytes *out);
/* Writes the path, of PATH_MAX bytes, of the imported file x in x.name. from: where `name` begins.
 * False if x is no imported file. */
bool lsp_imported(Lsp *l, Doc *d, size_t from, char *path);

/* Requests: append the result, a JSON value. */
typedef bool (*LspFn)(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_hover(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_completion(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_signature_help(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_definition(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_references(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_prepare_rename(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_rename(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_symbols(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_folding(Lsp *l, const IoValue *params, Bytes *out);
bool lsp_formatting(Lsp *l, const IoValue *params, Bytes *out);
#endif
