/* main_visualize.c: gt-visualize, a picture of a run from its tape: options, files. The picture is
 * in draw.c, its text form in draw_text.c.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/draw.h"
#include "dispatcher/watch/span.h"
#include "dispatcher/watch/view.h"
#include "runtime/base/flags.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { EXIT_TAPE = 65, EXIT_FILE = 66 };

static struct {
    FlagArgs tapes;
    const char *out, *format, *from, *to, *signal;
    int width, dpi, arrows;
    bool is_text, has_path, is_diff;
} app = {.dpi = 144, .arrows = 12};

static const Flag flags[] = {
    {'o', "output", "FILE", "write FILE.png, .svg or .pdf (- is standard output)", FLAG_TEXT,
     &app.out},
    {'f', "format", "FORMAT", "png, svg, pdf or text (by default FILE's suffix)", FLAG_TEXT,
     &app.format},
    {'t', "text", "", "print text, for a terminal", FLAG_SET, &app.is_text},
    {0, "from", "TIME", "begin here, such as 1.5 or 20ms", FLAG_TEXT, &app.from},
    {0, "to", "TIME", "end here", FLAG_TEXT, &app.to},
    {0, "signal", "NAME", "show only what ran under this signal", FLAG_TEXT, &app.signal},
    {0, "critical-path", "", "highlight the chain that the run's length consists of", FLAG_SET,
     &app.has_path},
    {0, "diff", "", "compare two tapes, OLD NEW, on one scale", FLAG_SET, &app.is_diff},
    {'n', "arrows", "N", "arrows for the N largest transfers (12)", FLAG_INT, &app.arrows, 0, 1000},
    {'w', "width", "N", "width: pixels at 96 dpi (1280), columns of text (100)", FLAG_INT,
     &app.width, 60, 20000},
    {0, "dpi", "N", "resolution of a PNG (144)", FLAG_INT, &app.dpi, 24, 1200},
    {0, "", "TAPE ...", "", FLAG_ARGS, &app.tapes, 1, 2},
    FLAGS_COMMON};

typedef enum Format { FORMAT_PNG, FORMAT_SVG, FORMAT_PDF, FORMAT_TEXT, FORMAT_COUNT } Format;
static const char *const format_name[FORMAT_COUNT] = {"png", "svg", "pdf", "text"};

static bool find_format(const char *name, Format *out) {
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(name, format_name[i]) != 0) continue;
        *out = (Format)i;
        return true;
    }
    return false;
}

static bool choose_format(Format *out, Err *err) {
    if (app.is_text && app.format && strcmp(app.format, "text") != 0)
        return err_set(err, ERR_ARG, "--text and --format %.20s exclude each other", app.format);
    *out = FORMAT_TEXT;
    if (app.is_text) return true;
    if (app.format) {
        if (find_format(app.format, out)) return true;
        err_set(err, ERR_ARG, "unknown format '%.60s'", app.format);
        return err_hint(err, "png, svg, pdf or text");
    }
    if (!app.out) {
        err_set(err, ERR_ARG, "there is no file to write the picture to");
        return err_hint(err, "gt-visualize %.100s -o run.png, or --text", app.tapes.at[0]);
    }
    const char *dot = strrchr(app.out, '.');
    if (dot && find_format(dot + 1, out) && *out != FORMAT_TEXT) return true;
    if (dot && !strcmp(dot, ".txt")) return *out = FORMAT_TEXT, true;
    err_set(err, ERR_ARG, "the suffix of '%.100s' is no format", app.out);
    return err_hint(err, ".png, .svg, .pdf or .txt; or --format");
}

static bool choose_span(TimelineOptions *o, Err *err) {
    if (app.from) TRY(o->has_from = span_read("--from", app.from, &o->from_ns, err));
    if (app.to) TRY(o->has_to = span_read("--to", app.to, &o->to_ns, err));
    if (app.from && app.to && o->to_ns <= o->from_ns)
        return err_set(err, ERR_ARG, "--to %.40s is not after --from %.40s", app.to, app.from);
    o->signal = app.signal;
    return true;
}

static bool check(Format format, Err *err) {
    if (app.is_diff && app.tapes.n != 2)
        return err_set(err, ERR_ARG, "--diff needs two tapes: OLD NEW");
    if (!app.is_diff && app.tapes.n != 1) {
        err_set(err, ERR_ARG, "one tape, not two");
        return err_hint(err, "gt-visualize --diff OLD NEW compares two");
    }
    if (format != FORMAT_TEXT && app.width && app.width < DRAW_WIDTH_MIN)
        return err_set(err, ERR_ARG, "--width needs at least %d for a picture", DRAW_WIDTH_MIN);
    bool is_binary = format == FORMAT_PNG || format == FORMAT_PDF;
    if (is_binary && app.out && !strcmp(app.out, "-") && isatty(1))
        return err_set(err, ERR_ARG, "a %s is not for a terminal: use -o FILE or --text",
                       format_name[format]);
    if (format != FORMAT_TEXT && !app.out)
        return err_set(err, ERR_ARG, "there is no file to write the picture to: -o FILE");
    return true;
}

static bool write_all(const char *path, const Bytes *b, Err *err) {
    bool is_stdout = !path || !strcmp(path, "-");
    FILE *f = is_stdout ? stdout : fopen(path, "wb");
    bool ok = f && (b->n == 0 || fwrite(b->data, 1, b->n, f) == b->n);
    if (f) ok = (is_stdout ? fflush(f) : fclose(f)) == 0 && ok;
    return ok || err_set(err, ERR_IO, "cannot write %.200s: %s",
                         is_stdout ? "standard output" : path, strerror(errno));
}

static int terminal_columns(void) {
    struct winsize size;
    if (app.width) return app.width;
    if (!app.out && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60) return size.ws_col;
    return 100;
}

static bool paint(const DrawRun *run, int n, const DrawOptions *o, Format format, Bytes *out,
                  Err *err) {
    if (format == FORMAT_TEXT) {
        bool is_screen = !app.out && isatty(1);
        const char *no = getenv("NO_COLOR");
        draw_text(run, n, o, terminal_columns(), is_screen && !(no && *no),
                  !strcmp(nl_langinfo(CODESET), "UTF-8"), out);
        return true;
    }
    double height = draw_height(run, n, o);
    static const CanvasFormat kind[] = {CANVAS_PNG, CANVAS_SVG, CANVAS_PDF};
    Canvas *c = format == FORMAT_SVG ? canvas_svg(o->width, height, err)
                                     : canvas_cairo(kind[format], o->width, height, app.dpi, err);
    if (!c) return false;
    draw_runs(c, run, n, o);
    return canvas_finish(c, out, err);
}

/* The exit code. */
static void note_empty(const Timeline *t) {
    Bytes why = {0};
    view_why_empty(t, &why);
    if (why.n) fprintf(stderr, "gt-visualize: note: %s\n", why.data);
    bytes_fini(&why);
}

static int visualize(Format format, const TimelineOptions *options, Err *err) {
    Timeline *t[2] = {NULL};
    DrawRun run[2];
    char shown[2][512];
    Path path[2] = {{0}};
    Compare diff = {0};
    Bytes out = {0};
    DrawOptions o = {app.width ? app.width : 1280, app.arrows, NULL};
    int n = app.tapes.n;
    int code = 0;
    for (int i = 0; i < n; i++) {
        const char *name = app.tapes.at[i];
        if (!timeline_read(name, options, &t[i], err)) {
            code = err->code == ERR_IO ? EXIT_FILE : EXIT_TAPE;
            break;
        }
        note_empty(t[i]);
        if (app.has_path) path[i] = path_find(t[i]);
        const char *slash = strrchr(name, '/');
        name = !strcmp(name, "-") ? "standard input" : slash ? slash + 1 : name;
        const char *which = !app.is_diff ? "" : i == 0 ? "old: " : "new: ";
        snprintf(shown[i], sizeof shown[i], "%s%s", which, name);
        run[i] = (DrawRun){t[i], shown[i], app.has_path ? &path[i] : NULL};
    }
    if (code == 0 && app.is_diff) {
        diff = compare_runs(t[0], t[1]);
        o.diff = &diff;
    }
    if (code == 0 && !(paint(run, n, &o, format, &out, err) && write_all(app.out, &out, err)))
        code = EXIT_FAILURE;
    compare_fini(&diff);
    for (int i = 0; i < n; i++) {
        path_fini(&path[i]);
        timeline_free(&t[i]);
    }
    bytes_fini(&out);
    return code;
}

int main(int argc, char **argv) {
    Err err = {0};
    Format format;
    TimelineOptions options = {0};
    setlocale(LC_CTYPE, "");
    int code = flags_read("gt-visualize", argc, argv, flags, sizeof flags / sizeof *flags, &err);
    if (code < 0 &&
        !(choose_format(&format, &err) && check(format, &err) && choose_span(&options, &err)))
        code = FLAGS_USAGE;
    if (code < 0) code = visualize(format, &options, &err);
    if (code == EXIT_TAPE)
        fprintf(stderr, "%s\n", err.text); /* FILE:LINE: error: ... */
    else if (err.code)
        err_report("gt-visualize", &err);
    return code;
}
