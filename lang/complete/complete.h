/* complete.h: what may stand at the cursor of a text that is being typed: names in scope, members
 * of the value before a dot, keyword arguments, signals, files, keys. For the prompt and for
 * editors: it knows the values of the interpreter's variables, if it has any, and what the text
 * itself defines. Nothing runs: no function is called, no worker is asked, no tensor is made.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_COMPLETE_COMPLETE_H
#define GT_LANG_COMPLETE_COMPLETE_H
#include "lang/value/interp.h"

/* In the order in which candidates are listed. */
typedef enum CandidateKind {
    CANDIDATE_ARGUMENT, /* of the call around the cursor */
    CANDIDATE_VARIABLE, /* the program's */
    CANDIDATE_FIELD,
    CANDIDATE_KEY,
    CANDIDATE_METHOD,
    CANDIDATE_FUNCTION,
    CANDIDATE_MODULE, /* makes objects: nn.Linear */
    CANDIDATE_SPACE,  /* nn, optim, an imported file */
    CANDIDATE_CONSTANT,
    CANDIDATE_KEYWORD,
    CANDIDATE_SIGNAL,
    CANDIDATE_DIRECTORY,
    CANDIDATE_FILE,
    CANDIDATE_OPTION, /* of arg(): --lr */
    CANDIDATE_COMMAND /* of the prompt: :who */
} CandidateKind;

typedef struct Candidate {
    const char *text;  /* replaces the word at the cursor */
    const char *after; /* belongs behind it if nothing else is meant: "(", "=", " ", "/" or "" */
    const char *hint;  /* one line: a signature, a type, a default; or "" */
    uint8_t kind;
    bool is_own; /* defined by the program or the text, not by the language */
} Candidate;

/* The candidates, sorted: arguments, own names, fields, others; each by name. */
typedef struct Completion {
    size_t start; /* offset of the word that a candidate replaces; it ends at the cursor */
    Candidate *item;
    size_t n, cap;
    bool is_near;          /* none begins with the word: these are the same but for letter case, or
                              the most similar one */
    const char *signature; /* of the call around the cursor, "sum(x, axis=none)", or NULL */
    Arena arena;           /* holds all texts */
} Completion;

/* text: n bytes, with the cursor behind `cursor` of them; what follows the cursor only defines
 * names. in: gives values and modules; at the prompt the text is the open statement. */
void complete_code(Interp *in, const char *text, size_t n, size_t cursor, Completion *out);
/* What `?word` may name at the end of the n bytes: names, paths and keywords. */
void complete_topic(Interp *in, const char *text, size_t n, Completion *out);
/* Adds a candidate if it begins with the n bytes of word; copies the texts. */
void completion_offer(Completion *c, const char *word, size_t n, const Candidate *candidate);
/* The length of the longest text that all candidates begin with, ignoring case if is_near. */
size_t completion_common(const Completion *c);
void completion_fini(Completion *c);
/* True if the language or the program defines this name. Loads nothing. */
bool complete_knows(Interp *in, const char *interned);
#endif
