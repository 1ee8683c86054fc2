/* call_hidden.c: hints for variables that hide a builtin or a namespace: sum = 3, then sum(x).
 * SPDX-License-Identifier: MIT */
#include "lang/eval/call_hidden.h"
#include "lang/eval/builtin.h"
#include "lang/eval/import.h"
#include "lang/value/frame.h"
#include <stdio.h>
#include <string.h>

static bool is_local(const AstFn *f, const char *name) {
    for (int i = 0; i < f->n_slots; i++)
        if (f->slot_name[i] == name) return true;
    return false;
}

/* Sets *first to the first node below n, by line, that is this name or defines a function of this
 * name. Does not enter the bodies of inner functions. */
static void first_mention(const Node *n, const char *name, const Node **first) {
    if (!n) return;
    bool is_it =
        (n->kind == N_NAME && n->str == name) || (n->kind == N_FN_STMT && n->fn->name == name);
    if (is_it && (!*first || n->at.line < (*first)->at.line)) *first = n;
    for (uint32_t i = 0; i < n->n_kids; i++) first_mention(n->kid[i], name, first);
}

/* Returns the line of a global's last assignment, or of a local's first one; 0 if n is a parameter
 * or the line is unknown. */
static uint32_t line_assigned(Interp *in, const Node *n) {
    const Node *set = NULL;
    if (n->scope == SCOPE_GLOBAL) {
        const GlobalVar *g = map_get(&in->frame->globals->by_name, (uint64_t)(uintptr_t)n->str);
        return g ? g->set_line : 0;
    }
    const AstFn *f = in->frame->fn;
    if (n->scope == SCOPE_OUTER) do
            f = f->outer;
        while (f && !is_local(f, n->str));
    for (int i = 0; f && i < f->n_params; i++)
        if (f->param[i].name == n->str) return 0;
    if (f) first_mention(f->body, n->str, &set);
    return set ? set->at.line : 0;
}

bool hint_hidden(Interp *in, const Node *n, LangError *e) {
    if (n->kind != N_NAME || !builtin_is_known(in, n->str)) return false;
    uint32_t line = line_assigned(in, n);
    char set[32] = "is a variable here", way[100] = "give that another name";
    if (line) snprintf(set, sizeof set, "was assigned at line %u", line);
    if (strcmp(n->str, "gt")) snprintf(way, sizeof way, "the builtin is gt.%.80s", n->str);
    error_hint(e, "%s %s: %s", n->str, set, way);
    return true;
}

bool hint_hidden_space(Interp *in, const Node *callee, ValueKind recv, bool takes_tensor,
                       LangError *e) {
    const Node *name = callee->kid[0];
    Value space = {.kind = V_UNDEF}, f = {.kind = V_UNDEF};
    LangError ignored = {0};
    bool may_be_meant = recv == V_TENSOR && (!takes_tensor || e->hint[0]);
    if (e->kind != E_RUN || e->is_late || name->kind != N_NAME || may_be_meant) return false;
    if (!prelude_space(in, name->str, &space, &ignored) || space.kind != V_MAP) return false;
    bool found = space_get(in, space.map, callee->str, &f, &ignored) && f.kind != V_UNDEF;
    value_drop(f);
    value_drop(space);
    return found && hint_hidden(in, name, e);
}
