/* repl_words.c: `?name`, `??name` and `!command` at the prompt. commands.c runs `:word`s.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/repl_words.h"
#include "lang/help/help.h"
#include "lang/shell/pager.h"
#include "lang/shell/command_file.h"
#include "lang/shell/commands.h"
#include "lang/shell/repl_state.h"
#include "lang/shell/who.h"
#include "lang/error/error.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ?name ---- */

static void help(Interp *in, const char *what) {
    Bytes b = {0};
    Value plain = {.kind = V_UNDEF};
    bool is_known = true;
    if (!strcmp(what, "help"))
        commands_help(&b);
    else
        is_known = help_about(in, what, in->config.width, &plain, &b);
    if (plain.kind != V_UNDEF) {
        bytes_printf(&b, "%s  ", what);
        who_describe(in, plain, &b);
        bytes_putc(&b, '\n');
        value_drop(plain);
    }
    fputs(b.data ? b.data : "", is_known ? stdout : stderr);
    bytes_fini(&b);
}

/* Prints the row of a builtin or an operation, else the help of a name. */
static void show_row(Interp *in, const char *name) {
    Bytes b = {0};
    if (help_row(in, name, in->config.width, &b))
        fputs(b.data, stdout);
    else
        help(in, name);
    bytes_fini(&b);
}

static void show_source(Interp *in, const char *name) {
    LangError e = {0};
    Value v;
    if (!help_value(in, name, strlen(name), &v, &e)) {
        show_row(in, name);
        return;
    }
    const AstFn *fn = v.kind == V_FN ? v.fn->ast : v.kind == V_MODULE ? v.module->make->ast : NULL;
    if (fn && fn->at.src) {
        Bytes b = {0};
        source_lines(fn->at.src, fn->at.line, fn->end.line, &b);
        fputs(b.data ? b.data : "", stdout);
        bytes_fini(&b);
    } else
        show_row(in, name);
    value_drop(v);
}

void repl_word(Repl *r, const char *line) {
    char *copy = xstrdup(line);
    size_t n = strlen(copy);
    while (n && isspace((unsigned char)copy[n - 1])) copy[--n] = '\0';
    fflush(stdout);
    if (!strncmp(copy, "!!", 2)) { /* of bash and csh */
        fputs("!! repeats nothing: Arrow-up and Ctrl-R find earlier lines, :history lists them\n",
              stderr);
    } else if (*copy == '!') {
        int status = system(copy + 1);
        if (status == -1) fprintf(stderr, "cannot start a shell\n");
    } else if (*copy == ':') {
        command_run(r, copy);
    } else {
        pager_begin();
        if (copy[1] == '?')
            show_source(r->in, copy + 2 + strspn(copy + 2, " "));
        else
            help(r->in, copy + 1);
        pager_end();
    }
    free(copy);
}
