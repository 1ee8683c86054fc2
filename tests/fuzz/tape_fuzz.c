/* tape_fuzz.c: arbitrary tapes. Each line has five columns, or an error that names one; what the
 * columns leave over lies in the line.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/tape.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *s = (const char *)data, *end = s + n;
    tape_is_header(s, n);
    while (s < end) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        TapeLine line;
        Err err = {0};
        size_t length = (size_t)(stop - s);
        if (!tape_read(s, length, &line, &err)) {
            if (strncmp(err.text, "column ", 7) != 0) abort();
        } else {
            if (line.text > length || !strchr("><=!+-", (int)line.event)) abort();
            Arena a = {0};
            InstLine inst;
            inst_parse(s + line.text, length - line.text, &a, &inst, &err);
            arena_fini(&a);
        }
        s = stop + 1;
    }
    return 0;
}

static void fuzz_seed(Rand *r, Bytes *out) {
    static const char *const lines[] = {
        "gti 1 kind=tape",
        "0.003104 11 > c1 - t2 = matmul t0 t1 -> f32[1000,1000] @hello.gt:3",
        "0.003160 12 = c1 w0 t2 = matmul t0 t1",
        "0.004020 13 < c1 w0 done t2 us=812 bytes=4000000 op=matmul",
        "0.004100 14 ! c1 w0 error add \"out of memory\" @hello.gt:4",
        "0.000400 3 + - g1 group w0 w1",
        "0.000400 3 < - w0 idle us=350 why=blocked on=w1",
    };
    for (int k = rand_below(r, 3); k >= 0; k--) {
        bytes_puts(out, lines[rand_below(r, (int)(sizeof lines / sizeof *lines))]);
        if (rand_below(r, 8)) bytes_putc(out, '\n');
    }
}
