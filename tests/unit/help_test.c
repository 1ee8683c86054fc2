/* help_test.c: help knows every name: signature, sentences, an example and a group. Prints what is
 * missing. The examples run in tests/cli/help_examples.sh.
 *
 *   help_test [-l] [-v]   -l lists the names with their first sentences; -v what is missing
 *
 * SPDX-License-Identifier: MIT */
#include "lang/eval/run.h"
#include "lang/help/help.h"
#include "tests/unit/check.h"

static int missing;
static bool verbose;

/* True if a line of the body begins with this. */
static bool has_line(const char *body, const char *with) {
    char after[64];
    snprintf(after, sizeof after, "\n%s", with);
    return !strncmp(body, with, strlen(with)) || strstr(body, after);
}

/* The first sentence stands alone, for the lists show nothing else: it has words of its own, does
 * not only name another entry, and no text shows names of the prelude's inside. */
static void stands_alone(Interp *in, const char *name, const char *text) {
    static const char *const leaning[] = {"As ", "The same for", "The same over", "The same from",
                                          "See "};
    Bytes line = {0};
    CHECK_MSG(help_line(in, name, 1000, &line) && line.n, "%s: no sentence", name);
    const char *s = line.n ? line.data : "";
    for (size_t i = 0; i < sizeof leaning / sizeof *leaning; i++)
        CHECK_MSG(strncmp(s, leaning[i], strlen(leaning[i])) != 0, "%s: leans on another: %s", name,
                  s);
    CHECK_MSG(strchr(s, ' '), "%s: says nothing: %s", name, s);
    CHECK_MSG(strncmp(s, "_", 1) && !strstr(s, " _"), "%s: an inner name: %s", name, s);
    CHECK_MSG(!strstr(text, "functional's"), "%s: half a word: %s", name, text);
    bytes_fini(&line);
}

static void is_complete(Interp *in, const char *name) {
    Bytes usage = {0}, body = {0};
    bool known = help_parts(in, name, &usage, &body);
    const char *text = body.data ? body.data : "";
    bool is_text = *text && *text != '>',
         has_example = has_line(text, "> ") || has_line(text, ">! ");
    bool is_named =
        has_line(text, "PyTorch: ") || has_line(text, "NumPy: ") || has_line(text, "Python: ");
    CHECK_MSG(known && usage.n, "%s: no signature", name);
    if (!is_text || !has_example || !is_named) {
        missing++;
        if (verbose)
            printf("%s: no%s%s%s\n", name, is_text ? "" : " sentence",
                   has_example ? "" : " example",
                   is_named ? "" : " name in PyTorch, NumPy or Python");
    }
    stands_alone(in, name, text);
    bytes_fini(&usage);
    bytes_fini(&body);
}

/* Sentences keep to the width; signatures and examples stay as they are. */
static void wraps(Interp *in) {
    Value plain;
    for (int width = 30; width <= 120; width += 10) {
        Bytes b = {0};
        CHECK(help_about(in, "if", width, &plain, &b));
        int n_lines = 0;
        for (const char *s = b.n ? b.data : ""; *s && !strstr("\n", (char[]){*s, 0});) {
            size_t n = strcspn(s, "\n");
            bool is_sentence = !strncmp(s, "    ", 4);
            n_lines += is_sentence;
            CHECK_MSG(!is_sentence || n <= (size_t)width, "width %d: %.*s", width, (int)n, s);
            s += n + 1;
        }
        CHECK(n_lines >= 2);
        bytes_fini(&b);
    }
}

/* Long signatures go on behind a comma. */
static void wraps_usage(Interp *in) {
    Value plain;
    for (int width = 40; width <= 120; width += 10) {
        Bytes b = {0};
        CHECK(help_about(in, "plot", width, &plain, &b));
        const char *s = b.n ? b.data : "", *text = strstr(s, "\n    Draws");
        CHECK(text != NULL);
        for (; text && s < text; s += strcspn(s, "\n") + 1) {
            size_t n = strcspn(s, "\n");
            CHECK_MSG(n <= (size_t)width && (s[n - 1] == ',' || s[n - 1] == ')'), "width %d: %.*s",
                      width, (int)n, s);
        }
        bytes_fini(&b);
    }
}

/* A list of names has each once. */
static void lists_once(Interp *in) {
    Value plain;
    Bytes b = {0};
    CHECK(help_about(in, "optim", 80, &plain, &b));
    const char *first = b.n ? strstr(b.data, "  optim.lr_scheduler ") : NULL;
    CHECK(first && !strstr(first + 2, "  optim.lr_scheduler "));
    bytes_fini(&b);
}

static void about(Interp *in, const char *what, const char *has) {
    Value plain;
    Bytes b = {0};
    help_about(in, what, 80, &plain, &b);
    CHECK_MSG(b.n && strstr(b.data, has), "?%s has no '%s':\n%s", what, has, b.n ? b.data : "");
    bytes_fini(&b);
}

/* What ??name says of an operation or a builtin; has NULL: it has no row. */
static void row(Interp *in, const char *what, const char *has) {
    Bytes b = {0};
    bool ok = help_row(in, what, 80, &b);
    CHECK_MSG(ok == (has != NULL) && (ok || !b.n), "??%s: %d", what, ok);
    CHECK_MSG(!has || (b.n && strstr(b.data, has)), "??%s has no '%s':\n%s", what, has,
              b.n ? b.data : "");
    bytes_fini(&b);
}

static void shows_rows(Interp *in) {
    row(in, "relu",
        "relu(x)\n    x where positive, else 0; nan stays nan.\n"
        "    operation: relu, pointwise, 1 operand.\n"
        "    dtypes: uint8, int8, int32, int64, float16, bfloat16, float32, float64.\n"
        "    shape: The operands' shapes broadcast:");
    row(in, "relu",
        "\n    gradient: d where y > 0, else 0.\n"
        "    fuses: yes: pointwise operations of one shape become one loop.\n"
        "    formula: F_MAX(a, (T)0)\n");
    row(in, "eq", "; the result is bool.\n");
    row(in, "eq", "\n    gradient: No gradient:");
    row(in, "sum", "; bool and whole numbers give int64.\n");
    row(in, "where", "; the first operand is bool.\n");
    row(in, "matmul", "\n    gradient: d @ b.T for a, a.T @ d for b.\n    fuses: no: a kernel");
    row(in, "topk", "operation: topk, a kernel, 1 operand, two results.\n");
    row(in, "conv2d", "operation: conv, a kernel");
    row(in, "add_", "operation: add, pointwise");
    row(in, "float", "operation: cast, a kernel");
    row(in, "tensor.sum", "operation: sum, a reduction");
    row(in, "fetch", "operation: fetch, control.\n");
    row(in, "all_reduce", "Terms become whole on every rank.\n    operation: all_reduce, control");
    row(in, "shard", "\n    gradient: d, laid out as the signal's backward says.\n");
    row(in, "exp", "float64; others are cast first.\n");
    row(in, "x.sum", "sum(x, axis=none");
    row(in, "len", "no operation has its name");
    row(in, "softmax", NULL);
    row(in, "nn.Linear", NULL);
    row(in, "no_such_name", NULL);
    row(in, "if", NULL);
}

/* A value's method is shown without the value. */
static void shows_methods(Interp *in) {
    static const char code[] = "x = 2 * ones(2)";
    LangError e = {0};
    Source *src = interp_source(in, "test", code, sizeof code - 1, 1, false);
    Program *p = parse_program(src, NULL, NULL, NULL, &e);
    CHECK(p && interp_run(in, p, false, &e));
    about(in, "x.mean", "x.mean(axis=none");
}

static void finds(Interp *in) {
    about(in, "", "?name explains one");
    about(in, "relu", "relu(x)");
    about(in, "for", "for x in xs");
    about(in, "Adam", "module optim.Adam(params");
    about(in, "torch.relu", "relu(x)");
    about(in, "torch.nn.functional.relu", "relu(x)");
    about(in, "optim", "optim.Adam ");
    about(in, "optim", "optim.lr_scheduler ");
    about(in, "nn", "nn.Linear ");
    about(in, "F", "F.unfold ");
    about(in, "signal", "signal.define ");
    about(in, "debug", "debug.print_tape ");
    about(in, "append", "list.append(x)");
    about(in, "str.split", "str.split(");
    about(in, "statements", "while ");
    about(in, "\"learning rate\"", "optim.swa_utils.SWALR");
    about(in, " learning rate", "optim.swa_utils.SWALR");
    about(in, "relo", "did you mean ?relu");
    about(in, "Adma", "did you mean ?optim.Adam");
    about(in, "sum",
          "sum(x, axis=none, keepdims=false, dtype=none)\nsum(xs, start=0)\n    The sum");
    about(in, "object.train", "object.train(mode=true)\n    Sets self.training");
    about(in, "xs.mean", "mean(x");
    about(in, "create", "The numbers a, a + step, ... up to but excluding b;");
    about(in, "mean.", "mean(x, axis");
    about(in, "xs.append", "list.append(x)");
    about(in, "nn.Lienar", "did you mean 'nn.Linear'");
    about(in, "comparison", "\n  greater_equal ");
    about(in, "comparison", "\n  logical_and ");
    about(in, "optim.lr_scheduler",
          "CosineAnnealingWarmRestarts\n                          Changes lr along");
    about(in, "xyzzy", "no help for 'xyzzy'");
}

int main(int argc, char **argv) {
    InterpConfig config = {.stream.mode = STREAM_CHECK};
    LangError e = {0};
    Interp *in = interp_new(&config, &e);
    NameList names = {0};
    CHECK(in != NULL);
    if (!in) return check_report("help");
    help_names(in, &names);
    verbose = argc > 1 && !strcmp(argv[1], "-v");
    bool lists = argc > 1 && !strcmp(argv[1], "-l");
    CHECK(names.n > 700);
    for (size_t i = 0; i < names.n; i++) {
        Bytes b = {0};
        if (lists) {
            help_line(in, names.name[i], 200, &b);
            printf("%s\t%s\n", names.name[i], b.n ? b.data : "");
        } else
            is_complete(in, names.name[i]);
        bytes_fini(&b);
    }
    CHECK_MSG(missing == 0, "%d names lack something, help_test -v lists them", missing);
    names_fini(&names);
    if (!lists) finds(in);
    if (!lists) shows_rows(in);
    if (!lists) wraps(in);
    if (!lists) wraps_usage(in);
    if (!lists) lists_once(in);
    if (!lists) shows_methods(in);
    interp_free(&in);
    return lists ? 0 : check_report("help");
}
