/* err.h: error values, for everything below the language. An Err is a code from errors.def and
 * one sentence. A function that can fail because of the world (bad bytes, peers, memory) or the
 * user (shapes, dtypes) takes an `Err *` as last argument, fills it and returns false or NULL.
 * The sentence is lower case, has no full stop, and names the values and, if there is one, the
 * remedy. Our own bugs are asserts. err.h knows no source positions: lang/ adds them.
 * SPDX-License-Identifier: MIT */
#ifndef GT_RUNTIME_BASE_ERR_H
#define GT_RUNTIME_BASE_ERR_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum ErrCode {
#define ERROR(id, name, doc) ERR_##id,
#include "runtime/base/errors.def"
    ERR_COUNT
} ErrCode;

typedef struct Err {
    ErrCode code;
    /* For an error that depends on values, on ranks that have parts of one tensor: the first
     * place in the whole tensor where it was found, and the number of elements of this part that
     * have it (0: of all parts, or not counted). See err_join. */
    int64_t at, count;
    /* NUL-terminated; cut at a character boundary if too long. Of ERR_NAN the text after a
     * newline belongs to the place in the source: a caret's label. */
    char text[512];
    char hint[256]; /* "" or one remedy, with code to copy */
} Err;

/* vsnprintf into buf of size_bytes; a longer text is cut at a character boundary. */
void format_into(char *buf, size_t size_bytes, const char *format, va_list ap);
/* Formats the arguments that follow `format` of the calling function into the array `text`. */
#define FORMAT_INTO(text, format)                                                                  \
    do {                                                                                           \
        va_list ap_;                                                                               \
        va_start(ap_, format);                                                                     \
        format_into((text), sizeof(text), (format), ap_);                                          \
        va_end(ap_);                                                                               \
    } while (0)

/* Fills e (may be NULL) and returns false, so that `return err_set(e, ...)` reads well. */
bool err_set(Err *e, ErrCode code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds a hint to an e that is already set. Returns false. */
bool err_hint(Err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* e becomes the error of two parts of one instruction: the one found first (e if both are at the
 * same place). The counts are added if both count the same kind of element. In ERR_NAN the count
 * stands after the first " for " of the label. */
void err_join(Err *e, const Err *other);
/* The `at` of infinities, so that every nan comes before them. */
#define ERR_AT_INF (INT64_C(1) << 62)
/* Writes "program: text" and the hint to standard error, without control characters. */
void err_report(const char *program, const Err *e);
void err_report_to(FILE *out, const char *program, const Err *e);
const char *err_name(ErrCode code); /* "shape", "out_of_memory", ...; static */
/* Prints file, line and text, and stops the process: for broken invariants and exhausted host
 * memory. */
_Noreturn void err_panic(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define panic(...) err_panic(__FILE__, __LINE__, __VA_ARGS__)

/* Passes a failure on. The only macro of the project that hides a return. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (!(call)) return 0;                                                                     \
    } while (0)

/* malloc and friends that panic instead of returning NULL. xmalloc(0) gives a valid pointer. */
void *xmalloc(size_t size_bytes);
void *xcalloc(size_t count, size_t size_bytes);
void *xrealloc(void *p, size_t size_bytes);
/* Makes room for one more element in the array p, which has n of cap: cap doubles, from `first`. */
#define ARRAY_ROOM(p, n, cap, first)                                                               \
    do {                                                                                           \
        if ((n) < (cap)) break;                                                                    \
        (cap) = (cap) ? 2 * (cap) : (first);                                                       \
        (p) = xrealloc((p), (size_t)(cap) * sizeof *(p));                                          \
    } while (0)
/* Appends a value to the array p, which has n of cap, as ARRAY_ROOM. */
#define ARRAY_PUSH(p, n, cap, first, ...)                                                          \
    do {                                                                                           \
        ARRAY_ROOM(p, n, cap, first);                                                              \
        (p)[(n)++] = (__VA_ARGS__);                                                                \
    } while (0)
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
#endif
