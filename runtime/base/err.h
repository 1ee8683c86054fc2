/* err.h: what went wrong, for everything below the language. An Err is a code from errors.def and
 * one sentence. Functions that can fail for the world's reasons (bad bytes, peers, memory) or for
 * the user's (shapes, dtypes) take an `Err *` last and return false/NULL after filling it; the
 * sentence is lower case, has no full stop, names the values and, where there is one, the remedy.
 * Our own bugs are asserts. err.h knows nothing of source positions: lang/ adds them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_ERR_H
#define GT_RUNTIME_BASE_ERR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ErrCode {
#define ERROR(id, name, doc) ERR_##id,
#include "runtime/base/errors.def"
    ERR_COUNT
} ErrCode;

typedef struct Err {
    ErrCode code;
    /* Of an error that values bring about, for ranks that have parts of one tensor: where in the
     * whole it was found first, and how many elements of this part it is true of (0: of all parts,
     * or nobody counts). See err_join. */
    int64_t at, count;
    /* NUL-terminated; cut at a character boundary when longer. Of ERR_NAN what stands behind a
     * newline belongs to the place that it is about: a caret's label. */
    char text[512];
    char hint[256]; /* "" or one remedy with code to copy                      */
} Err;

/* Fills e (may be NULL) and returns false, so that `return err_set(e, ...)` reads well. */
bool err_set(Err *e, ErrCode code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds a hint to an e that is already set. Returns false. */
bool err_hint(Err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* e becomes the error of both parts of one instruction: the one found first (e, if at the same
 * place), with the elements of both where both count the same kind. ERR_NAN says its count behind
 * the first " for " of its label. */
void err_join(Err *e, const Err *other);
/* The `at` of infinities, which come behind all nans. */
#define ERR_AT_INF (INT64_C(1) << 62)
const char *err_name(ErrCode code); /* "shape", "out_of_memory", ...; static */
/* Prints file, line, text and stops the process: for broken invariants and for the host's own
 * memory. */
_Noreturn void err_panic(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define panic(...) err_panic(__FILE__, __LINE__, __VA_ARGS__)

/* Passes a failure on: the only macro of the project that hides a return. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (!(call)) return 0;                                                                     \
    } while (0)

/* malloc and friends that panic instead of returning NULL. xmalloc(0) gives a valid pointer. */
void *xmalloc(size_t size_bytes);
void *xcalloc(size_t count, size_t size_bytes);
void *xrealloc(void *p, size_t size_bytes);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
#endif
