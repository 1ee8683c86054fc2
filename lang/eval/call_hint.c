/* call_hint.c: a table of functions whose arguments users of other systems arrange in another way,
 * and the arrangement here.
 * SPDX-License-Identifier: MIT */
#include "lang/eval/call_hint.h"
#include "lang/error/habit.h"
#include "lang/eval/builtin.h"
#include "lang/tensor/tensor.h"
#include "runtime/base/words.h"
#include <stdio.h>
#include <string.h>

/* In the right column @ stands for all positional arguments, < for all but the last, > for the
 * last, ^ for the first, $ for x. in a call x.f(...), # for the function's name. */
static const char *const rows[][2] = {
    {"tensor sum any all sorted set shuffle len vstack row_stack hstack dstack column_stack "
     "lexsort",
     "#([@])"},
    {"full", "full((<), >)"},
    {"list", "[@]"},
    {"choice", "[choice(^) for i in range(>)]; without repetition: shuffle(^)[:>]"},
    {"transpose swapaxes swapdims", "$permute(@)"},
    {"corrcoef", "corrcoef(stack([@]))"},
    {"multi_dot", "linalg.multi_dot([@])"},
    {"ModuleList ParameterList", "nn.#([@])"},
};

/* True if e says that there are too many arguments, or that one is of the wrong kind. */
static bool is_arrangement(const LangError *e) {
    static const char *const parts[] = {"() takes ", "'dtype' must be a dtype, not ",
                                        "cannot loop over int", "cannot loop over float",
                                        "cannot loop over bool"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(e->what, parts[i])) return true;
    return false;
}

static void put_arguments(const Node *call, uint32_t from, uint32_t to, Bytes *out) {
    char text[80];
    for (uint32_t k = from; k < to; k++)
        bytes_printf(out, "%s%s", k > from ? ", " : "", node_text(call->kid[k], text));
}

/* track(loss, acc), track("loss", loss) */
static bool hint_track(const Node *call, LangError *e) {
    char name[80], value[80];
    const Node *first = call->kid[1], *last = call->kid[call->n_kids - 1];
    node_text(last, value);
    if (first != last && first->kind == N_STRING && call->n_kids == 3)
        snprintf(name, sizeof name, "%.*s", (int)first->n_str, first->str);
    else
        snprintf(name, sizeof name, "%s", first->kind == N_NAME ? first->str : "loss");
    if (first->kind != N_STRING || first == last) node_text(first, value);
    bool is_word =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
        strlen(name);
    return error_hint(e, "track(%s=%s)", is_word && *name ? name : "loss", value);
}

bool hint_arrangement(const char *function, const Node *call, int n_pos, LangError *e) {
    if (!call || call->kind != N_CALL || call->n_kids < 2 || !is_arrangement(e)) return false;
    uint32_t end = 1;
    while (end < call->n_kids && call->kid[end]->kind != N_KEYWORD &&
           call->kid[end]->kind != N_STAR && call->kid[end]->kind != N_MAPSTAR)
        end++;
    if (end != call->n_kids) return false;
    if (!strcmp(function, "track")) return hint_track(call, e);
    if (end < 3) return false;
    const char *row = words_row(rows, sizeof rows / sizeof *rows, function, strlen(function));
    bool is_method = n_pos > (int)end - 1;
    if (!row || (is_method && !strchr(row, '$'))) return false;
    Bytes out = {0};
    char text[80];
    for (; *row; row++) {
        if (*row == '@')
            put_arguments(call, 1, end, &out);
        else if (*row == '<')
            put_arguments(call, 1, end - 1, &out);
        else if (*row == '>')
            put_arguments(call, end - 1, end, &out);
        else if (*row == '^')
            put_arguments(call, 1, 2, &out);
        else if (*row == '#')
            bytes_puts(&out, function);
        else if (*row == '$' && is_method)
            bytes_printf(&out, "%s.", node_text(call->kid[0]->kid[0], text));
        else if (*row != '$')
            bytes_putc(&out, *row);
    }
    error_hint(e, "%s", out.data);
    bytes_fini(&out);
    return false;
}

bool hint_scatter(const Node *call, LangError *e) {
    char x[80], y[80];
    const Node *callee = call && call->kind == N_CALL ? call->kid[0] : NULL;
    if (!callee || callee->kind != N_NAME || strcmp(callee->str, "scatter") || call->n_kids != 3)
        return false;
    const Node *second = call->kid[2];
    if (second->kind == N_INT || second->kind == N_UNARY || second->kind == N_KEYWORD) return false;
    return error_hint(e, "points: plot(%s, %s, kind=\"scatter\")", node_text(call->kid[1], x),
                      node_text(second, y));
}

bool hint_keyword(Interp *in, const char *function, const char *keyword, const Node *call,
                  LangError *e) {
    char self[80];
    const char *habit = habit_keyword(function, keyword);
    if (habit) return error_hint(e, "%s", habit), true;
    const Node *callee = call && call->kind == N_CALL ? call->kid[0] : NULL;
    if (!callee || (callee->kind != N_NAME && callee->kind != N_FIELD)) return false;
    bool is_method = callee->kind == N_FIELD;
    if (is_method) node_text(callee->kid[0], self);
    return habit_argument(callee->str, keyword, is_method ? self : NULL, callee->at,
                          builtin_habits(in), e);
}

bool hint_tensors(Value base, const Node *at, const char *name, LangError *e) {
    char quote[80];
    bool is_field = false;
    for (size_t i = 0; tensor_field_names[i]; i++) is_field |= !strcmp(tensor_field_names[i], name);
    if (!is_field || base.kind != V_LIST || !base.list->n) return false;
    const Value *v = base.list->v;
    bool is_lstm = base.list->n == 2 && v[0].kind == V_TENSOR && v[1].kind == V_LIST &&
                   v[1].list->n == 2 && v[1].list->v[0].kind == V_TENSOR;
    if (is_lstm) return error_hint(e, "out, (h, c) = lstm(x)"), true;
    for (size_t i = 0; i < base.list->n; i++)
        if (v[i].kind != V_TENSOR) return false;
    node_text(at, quote);
    return error_hint(e, "a list of tensors: %s[0].%s, or [x.%s for x in %s]", quote, name, name,
                      quote),
           true;
}
