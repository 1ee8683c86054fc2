/* offer.h: private to lang/complete: collects candidates for one word.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_COMPLETE_OFFER_H
#define GT_LANG_COMPLETE_OFFER_H
#include "lang/complete/complete.h"
#include "lang/complete/thing.h"
#include "runtime/base/map.h"

typedef struct Offer {
    const char *name;
    Thing thing; /* for the hint and what follows the name */
    uint8_t kind;
    bool is_own;
    bool is_exact, is_like; /* begins with the word; the same in any letter case */
    const char *hint;       /* in place of the thing's, or NULL */
} Offer;

typedef struct Offers {
    Interp *in;
    const Scan *s;
    const char *word; /* n bytes that candidates begin with; borrowed */
    size_t n_word;
    Offer *all;
    size_t n_all, cap;
    size_t n; /* those that are like the word */
    bool has_exact;
    Map seen; /* interned names offered */
} Offers;

/* Offers an interned name; the first one of a name counts. */
void offer(Offers *o, const char *interned, CandidateKind kind, bool is_own, Thing t);
void offer_hint(Offers *o, const char *interned, CandidateKind kind, const char *hint);
/* Offers all members of t: after a dot. */
void offer_members(Offers *o, Thing t);
/* Offers the keys of t, strings, for t["...": all of them, identifiers or not. */
void offer_keys(Offers *o, Thing t);
/* Offers the names of the language: builtins, the prelude's, namespaces, constants. */
void offer_builtins(Offers *o);
/* Moves the candidates to out: sorted, with hints. Frees o. */
void offers_finish(Offers *o, Completion *out);

/* Writes "name(a, b=1)" of a function or module, the parameters that a call gives; false if t is
 * none. */
bool signature_of(Interp *in, const Scan *s, Thing t, const char *name, Bytes *out);
#endif
