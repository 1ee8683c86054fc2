/* tape_words.h: the words of a tape's line, read without executing anything: an instruction's ids,
 * operands, attributes and position are found, not checked, so that tapes of other versions can be
 * shown, and so that a line costs little.
 * SPDX-License-Identifier: MIT */
#ifndef GT_DISPATCHER_WATCH_TAPE_WORDS_H
#define GT_DISPATCHER_WATCH_TAPE_WORDS_H
#include "runtime/base/arena.h"
#include "runtime/base/err.h"

typedef struct Word {
    const char *s;
    size_t n;
} Word;
typedef struct Words {
    const char *begin, *at, *end; /* of the line: begin is for the columns in messages */
} Words;

/* The next word between blanks; text in quotes and in brackets stays together. False: none. */
bool word_next(Words *w, Word *out);
bool word_is(Word w, const char *text);
/* Splits KEY=VALUE. False: it has no `=` outside quotes, or no key. */
bool word_pair(Word w, Word *key, Word *value);
/* Appends the text of a word: without its quotes, escapes resolved. */
void word_text(Word w, Bytes *out);
/* Whole numbers. False: it is not one, or is above `most`. */
bool word_number(Word w, uint64_t most, uint64_t *out);
/* A decimal number of units of `unit_ns` nanoseconds, rounded to the nearest. False: not one, or
 * too large. */
bool word_time(Word w, int64_t unit_ns, int64_t *out);
/* "t12" */
bool word_id(Word w, uint64_t *out);
/* "w3" -> 3, "g7" -> 7. */
bool word_place(Word w, char kind, uint64_t most, uint64_t *out);

enum { WORDS_IN = 8 };
typedef struct InstWords {
    uint64_t out; /* first result; UINT64_MAX: none */
    Word op;      /* "signal enter" and its kin are one word, with one space */
    Word first;   /* the first word after op that is neither operand nor attribute; or empty */
    uint64_t in[WORDS_IN];
    int n_in;
    uint64_t on, from; /* ids of groups; UINT64_MAX: none */
    Word file;         /* of the position; empty: none */
    uint32_t line;
} InstWords;
/* Finds the parts of an instruction's text. False: there is no operation in it. */
bool inst_words(const char *s, size_t n, InstWords *out);
#endif
