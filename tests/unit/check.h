/* check.h: the unit test framework. A test program is a main() that calls functions with CHECKs and
 * ends with `return check_report("noun");`, which prints "noun: N passed, N failed" and returns the
 * exit code.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_CHECK_H
#define GT_TESTS_UNIT_CHECK_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_SKIPPED = 77 }; /* exit code of a test that cannot run here; it says why before */

static int check_passed, check_failed;

#define CHECK(condition)          check_that(!!(condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_MSG(condition, ...) check_that(!!(condition), __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long g_ = (long long)(got), w_ = (long long)(want);                                   \
        check_that(g_ == w_, __FILE__, __LINE__, "%s is %lld, not %lld", #got, g_, w_);            \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *g_ = (got), *w_ = (want);                                                      \
        check_that(g_ && !strcmp(g_, w_), __FILE__, __LINE__, "%s is\n  %s\nnot\n  %s", #got,      \
                   g_ ? g_ : "NULL", w_);                                                          \
    } while (0)
/* The call must fail with this code. */
#define CHECK_FAIL(call, want)                                                                     \
    do {                                                                                           \
        Err err = {0};                                                                             \
        int ok_ = !!(call);                                                                        \
        check_that(!ok_ && err.code == (want), __FILE__, __LINE__, "%s gave %s (%s), not %s",      \
                   #call, ok_ ? "success" : err_name(err.code), err.text, #want);                  \
    } while (0)

__attribute__((format(printf, 4, 5), unused)) static void
check_that(int ok, const char *file, int line, const char *format, ...) {
    if (ok) {
        check_passed++;
        return;
    }
    check_failed++;
    va_list ap;
    va_start(ap, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
}
__attribute__((unused)) static int check_report(const char *name) {
    printf("%s: %d passed, %d failed\n", name, check_passed, check_failed);
    return check_failed != 0;
}
#endif
