/* expect.h: what a .gt test says about itself, read from its comments, and the comparison with what
 * happened.
 *
 *   print(a)   # expect: LINE          the next line of stdout. One that holds "tensor(" and closes
 *                                      all its brackets also matches tensors printed over several
 *   print(b)   # expect~ TOL: NUMBERS  the same with numbers within TOL (relative where larger
 *                                      than 1); text between them must agree, if there is any
 *   f(1)       # error: SUBSTRING      stderr holds it, after FILE:LINE when the comment stands
 *                                      beside code; the exit code is 1 or 65
 *   # stderr: SUBSTRING                stderr holds these in this order
 *   # exit: CODE   # args: of the script   # options: of gtsh   # stdin: LINE
 *   # skip: WHY    # nontest    # env: NAME=VALUE
 *   # worlds: reference late cuda workers=2 threads=3 replay stdin    run again in these
 *   # not-world: replay                where it means something else: it is never run there
 *   # slow: cuda                     a world in which it takes long: `make test-cuda` runs it there
 *   # err-file, # out-file             all of stderr (stdout) is in NAME.err (NAME.out) beside it
 * Scripts about tensors (runner.c names the folders) run in the world `late` too, and in the world
 * `cuda` where NVRTC is installed.
 * Lines of stdout that nothing expects fail, and so does a stderr that nothing mentions.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_EXPECT_H
#define GT_TESTS_EXPECT_H
#include <stdbool.h>
#include <stddef.h>

/* Growing text, NUL-terminated; zero-initialised is empty. */
typedef struct Text {
    char *data;
    size_t n, cap;
} Text;
void text_add(Text *t, const char *s, size_t n);
void text_printf(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Empty (data "") if there is none; truncated at the limit. */
Text text_read(const char *path, size_t limit_bytes);
void text_free(Text *t);

/* tolerance < 0: exact; line 0: anywhere. */
typedef struct ExpectLine {
    char *text;
    double tolerance;
    int line;
} ExpectLine;

typedef struct Expect {
    ExpectLine *out, *err, *error;
    int n_out, n_err, n_error;
    char *args, *options, *worlds, *not_world, *slow, *skip; /* "" when absent */
    char **env;
    int n_env;
    Text stdin_text;
    bool has_stdin;
    int exit_code; /* -1: none stated */
    bool nontest, has_err_file, has_out_file;
} Expect;

Expect *expect_read(const char *path); /* Returns NULL if it cannot be read. The caller frees it. */
void expect_free(Expect **x);
/* Returns true if everything agrees; else *why describes the differences, with a diff. */
bool expect_check(const Expect *x, const char *path, const char *world, const Text *out,
                  const Text *err, int code, Text *why);
#endif
