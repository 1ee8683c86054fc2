/* statement_test.c: what the prompt keeps of a statement that has run: nothing of one that left
 * nothing that points to it, found in a time that grows with the statement.
 * SPDX-License-Identifier: MIT */
#include "check.h"
#include "cpu.h"
#include "lang/eval/eval.h"
#include "lang/eval/run.h"
#include "lang/value/interp.h"
#include <math.h>

static void run(Interp *in, const Bytes *code) {
    LangError e = {0};
    Source *src = interp_source(in, "repl", code->data, code->n, 1, false);
    src->is_prompt = true;
    Program *p = parse_program(src, NULL, NULL, NULL, &e);
    bool ok = p && interp_run(in, p, true, &e);
    CHECK_MSG(ok, "%s (line %u)", e.what, e.at.line);
}

/* The least CPU time of three statements with n strings. */
static double strings_s(Interp *in, int n) {
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
        Bytes code = {0};
        bytes_puts(&code, "x = [");
        for (int i = 0; i < n; i++) bytes_printf(&code, "\"s%d\", ", i);
        bytes_puts(&code, "]\n");
        double begin = cpu_s();
        run(in, &code);
        least = fmin(least, cpu_s() - begin);
        bytes_fini(&code);
    }
    return least;
}

int main(void) {
    InterpConfig config = {.interactive = true, .stream = {.mode = STREAM_CHECK}};
    LangError e = {0};
    Interp *in = interp_new(&config, &e);
    double few = strings_s(in, 10000), many = strings_s(in, 80000);
    CHECK_MSG(many < 24 * few, "10000 strings %.3f s, 80000 strings %.3f s", few, many);
    interp_free(&in);
    return check_report("statement");
}
