/* command_set.c: see command_set.h. A setting has a value that :set prints, and source text that
 * sets it.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/command_set.h"
#include "lang/shell/commands.h"
#include "lang/text/show.h"
#include <stdio.h>
#include <string.h>

typedef enum SettingKind { SET_SWITCH, SET_NUMBER, SET_AUTO, SET_TRACE } SettingKind;

/* code: with %s for the value as the language writes it; NULL: command_set does it. */
static const struct {
    const char *name;
    SettingKind kind;
    const char *code, *help;
} settings[] = {
    {"checknan", SET_SWITCH, "debug.check_nan(%s)", "stop where a value becomes nan or infinite"},
    {"edgeitems", SET_NUMBER, "set_print(edgeitems=%s)", "elements at each end of a long axis"},
    {"linewidth", SET_NUMBER, "set_print(linewidth=%s)", "columns of printed tensors"},
    {"precision", SET_NUMBER, "set_print(precision=%s)", "digits of printed floats"},
    {"sci", SET_AUTO, "set_print(sci=%s)", "scientific notation: on, off or auto"},
    {"threshold", SET_NUMBER, "set_print(threshold=%s)", "elements printed in full"},
    {"time", SET_SWITCH, NULL, "print the time of each statement"},
    {"trace", SET_TRACE, "debug.full_trace(%s)", "calls inside the prelude in errors: full, short"},
};
enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

/* Appends a setting's present value. */
static void put_value(Repl *r, size_t i, Bytes *out) {
    PrintOptions p = r->in->print ? *r->in->print : print_defaults;
    if (!r->in->print || !p.linewidth) p.linewidth = interp_width(r->in);
    const char *name = settings[i].name;
    if (!strcmp(name, "sci"))
        bytes_puts(out, p.sci < 0 ? "auto" : p.sci ? "on" : "off");
    else if (settings[i].kind == SET_NUMBER)
        bytes_printf(out, "%d",
                     *name == 'e'   ? p.edgeitems
                     : *name == 'l' ? p.linewidth
                     : *name == 'p' ? p.precision
                                    : p.threshold);
    else if (settings[i].kind == SET_TRACE)
        bytes_puts(out, r->in->has_full_trace ? "full" : "short");
    else
        bytes_puts(out,
                   (*name == 't' ? r->is_timed : stream_checks_nan(r->in->stream)) ? "on" : "off");
}

static void print_setting(Repl *r, size_t i) {
    Bytes b = {0};
    put_value(r, i, &b);
    printf("%-10s %-6s %s\n", settings[i].name, b.data, settings[i].help);
    bytes_fini(&b);
}

/* The value as the language writes it, or NULL after a message. */
static const char *language_value(size_t i, const char *value) {
    bool is_on = !strcmp(value, "on") || !strcmp(value, "true"),
         is_off = !strcmp(value, "off") || !strcmp(value, "false");
    const char *wants = NULL, *is = value;
    switch (settings[i].kind) {
    case SET_NUMBER:
        if (!*value || value[strspn(value, "0123456789")] || strlen(value) > 9) wants = "a number";
        break;
    case SET_SWITCH:
    case SET_AUTO:
        is = is_on ? "true" : is_off ? "false" : "none";
        if (!is_on && !is_off && (settings[i].kind == SET_SWITCH || strcmp(value, "auto")))
            wants = settings[i].kind == SET_SWITCH ? "on or off" : "on, off or auto";
        break;
    case SET_TRACE:
        is = !strcmp(value, "full") || is_on ? "true" : "false";
        if (strcmp(value, "full") && strcmp(value, "short") && !is_on && !is_off)
            wants = "full or short";
        break;
    }
    if (wants) fprintf(stderr, ":set %s takes %s, not '%.60s'\n", settings[i].name, wants, value);
    return wants ? NULL : is;
}

static void unknown_setting(const char *name) {
    const char *names[N_SETTINGS];
    for (size_t i = 0; i < N_SETTINGS; i++) names[i] = settings[i].name;
    const char *near = nearest_name(name, strlen(name), names, N_SETTINGS);
    fprintf(stderr, "there is no setting '%.60s'%s%s; :set lists them\n", name,
            near ? "; did you mean " : "", near ? near : "");
}

void command_set(Repl *r, const char *rest) {
    char name[64] = "", value[64] = "", code[160];
    size_t n = strcspn(rest, " \t=");
    snprintf(name, sizeof name, "%.*s", n < 60 ? (int)n : 60, rest);
    rest += n + strspn(rest + n, " \t=");
    snprintf(value, sizeof value, "%.60s", rest);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (*name && strcmp(name, settings[i].name)) continue;
        const char *is = *value ? language_value(i, value) : NULL;
        if (!*value)
            print_setting(r, i);
        else if (is && !settings[i].code)
            r->is_timed = !strcmp(is, "true");
        else if (is) {
            const char *at = strstr(settings[i].code, "%s");
            snprintf(code, sizeof code, "%.*s%s%s", (int)(at - settings[i].code), settings[i].code,
                     is, at + 2);
            command_code(r, code);
        }
        if (*name) return;
    }
    if (*name) unknown_setting(name);
}
