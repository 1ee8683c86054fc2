/* fmt_files.c: the command gtsh --fmt: files in place, standard input to standard output.
 * SPDX-License-Identifier: MIT */
#include "lang/fmt/fmt.h"
#include "lang/file/io.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 64 << 20, EXIT_USAGE = 2, EXIT_NO_INPUT = 66, EXIT_NOT_WRITTEN = 74 };

static int failed(const LangError *e, bool color) {
    Bytes b = {0};
    error_print(e, "error", color, &b);
    bytes_write(&b, stderr);
    return error_exit_code(e);
}

static int no_input(const char *path, const char *why) {
    fprintf(stderr, "gtsh: cannot read '%s': %s\n", path, why);
    return EXIT_NO_INPUT;
}

static int write_back(const char *path, const Bytes *text) {
    Err err = {0};
    if (io_write(path, text->n ? text->data : "", text->n, &err)) return 0;
    fprintf(stderr, "gtsh: %s\n", err.text);
    return EXIT_NOT_WRITTEN;
}

static int one_file(const char *path, bool check, bool color) {
    bool is_stdin = !strcmp(path, "-");
    const char *name = is_stdin ? "stdin" : path;
    Bytes in = {0}, out = {0};
    struct stat st;
    if (path[0] == '-' && path[1]) {
        fprintf(stderr, "gtsh: options come before the files: gtsh --fmt %s FILE\n", path);
        return EXIT_USAGE;
    }
    if (!is_stdin && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return no_input(path, strerror(EISDIR));
    if (!bytes_read(&in, is_stdin ? "/dev/stdin" : path, MAX_BYTES)) {
        int why = errno;
        bytes_fini(&in);
        return no_input(name, strerror(why));
    }
    int code = 0;
    LangError e = {0};
    Source src = {.name = name, .text = in.n ? in.data : "", .n = in.n, .first_line = 1};
    if (in.n > MAX_BYTES)
        code = no_input(name, "it is larger than 64 MiB");
    else if (!fmt_source(&src, &out, &e))
        code = failed(&e, color);
    else if (check) {
        bool is_same = in.n == out.n && (!in.n || !memcmp(in.data, out.data, in.n));
        if (!is_same) puts(name), code = 1;
    } else if (is_stdin)
        fwrite(out.data ? out.data : "", 1, out.n, stdout);
    else if (in.n != out.n || memcmp(in.data, out.data, in.n))
        code = write_back(path, &out);
    bytes_fini(&in);
    bytes_fini(&out);
    return code;
}

int fmt_files(const char *const *path, int n, bool check, bool color) {
    static const char *const input[] = {"-"};
    int code = 0;
    if (n == 0) path = input, n = 1;
    for (int k = 0; k < n; k++) {
        int one = one_file(path[k], check, color);
        if (one > code) code = one;
    }
    return code;
}
