/* replay_check.c: the first pass of a replay: the form of every line.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/replay_verify.h"

#include <string.h>

static bool is_header(const char *s, size_t n) { return n > 4 && memcmp(s, "gti ", 4) == 0; }

bool replay_is_text(const char *text, size_t n) {
    if (gtb_is(text, n) || gtb_is_damaged(text, n)) return true;
    const char *s = text, *end = text + n;
    for (const char *stop; s < end; s = stop + 1) { /* behind blank lines and comments */
        while (s < end && (*s == ' ' || *s == '\t' || *s == '\r')) s++;
        if (s < end && *s != '#' && *s != '\n') break;
        stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) return false;
    }
    return s < end && is_header(s, (size_t)(end - s));
}

/* Reports that the first line with content is not `gti 1`. is_read: it parses as an instruction. */
static bool not_instructions(const Replay *r, bool is_read, LangError *e) {
    const char *file = r->l.src->name;
    size_t n = strlen(file);
    bool is_program = n > 3 && !strcmp(file + n - 3, ".gt");
    const char *name = is_program ? file : "a.gt";
    e->kind = E_SYNTAX;
    if (gtb_is_damaged(r->l.data, r->l.n_data)) {
        error_at(e, replay_here(r, 0), "a transfer as text has changed this binary file");
        return error_hint(e, "transfer it as binary, or make it again: gtsh --emit=binary");
    }
    if (r->l.n_data == 0)
        return error_set(e, "'%.200s' is empty: there are no instructions in it", file);
    error_at(e, replay_here(r, 1), "this is not instruction text: it does not begin with 'gti 1'");
    if (is_read && !is_program) return error_hint(e, "put the line 'gti 1' before it");
    return error_hint(e,
                      "if it is a program: gtsh %.100s runs it, gtsh --emit %.100s makes "
                      "instruction text of it",
                      name, name);
}

/* Refuses `data ... elided` unless something stands for the elements. */
static bool check_elements(const Replay *r, LangError *e) {
    const Inst *inst = &r->l.now.inst;
    if (inst->op != OP_DATA || r->config.fill != FILL_REFUSE || replay_is_dry(r)) return true;
    for (int i = 0; i < inst->n_attr; i++) {
        if (inst->attr[i].key != ATTR_ELIDED || !inst->attr[i].b) continue;
        e->kind = E_SYNTAX;
        error_at(e, replay_here(r, r->l.now.attr_column[i]),
                 "the elements were left out of this text");
        return error_hint(e, "gtsh --emit has them all; to run it with others: --fill=zeros or "
                             "--fill=randn");
    }
    return true;
}

static bool check_line(Replay *r, LangError *e) {
    Err err = {0};
    if (!inst_check_keys(&r->l.now, &err)) return lines_fail(&r->l, &err, e);
    if (r->l.now.is_empty) return true;
    TRY(check_elements(r, e));
    return r->l.now.inst.op != OP_VALUE || verify_add(r, e);
}

bool replay_check(Replay *r, LangError *e) {
    Lines *l = &r->l;
    TRY(lines_choose(l, r->in, e));
    bool has_header = l->is_tape;
    LinesGot got;
    for (Err err = {0}; (got = lines_next(l, &err)) != LINES_END;) {
        bool is_first = is_header(l->text, l->n), is_read = got == LINES_LINE;
        if (!has_header && !is_first && !(is_read && l->now.is_empty) && !l->is_binary)
            return not_instructions(r, is_read, e);
        if (got == LINES_TORN || (got == LINES_BAD && l->is_incomplete && has_header)) {
            lines_cut(l, r->in);
            break;
        }
        if (got == LINES_BAD) return lines_fail(l, &err, e);
        if (l->is_incomplete && has_header && !inst_check_keys(&l->now, NULL)) {
            lines_cut(l, r->in);
            break;
        }
        TRY(check_line(r, e));
        has_header |= is_first;
    }
    if (!has_header && !l->is_binary) { /* no line with content */
        l->line = 1;
        return not_instructions(r, false, e);
    }
    lines_rewind(l);
    return true;
}
