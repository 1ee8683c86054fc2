/* step_read.c: reads the text of a step: which lines come before, in and after the body, its
 * inputs, carries and outputs. Every other line is an instruction, as in any instruction text.
 * SPDX-License-Identifier: MIT */
#include "lang/step/step_expr.h"
#include "lang/step/step_ids.h"
#include "runtime/inst/inst_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 4096 };

/* A line, and where its next word begins. */
typedef struct Reader {
    Step *s;
    StepLine now;
    size_t at;
    LangError *e;
} Reader;

/* ---- words ---- */

Span step_at(const Step *s, uint32_t line, int column) {
    bool is_column = column > 0 && column <= UINT16_MAX;
    return (Span){.src = s->src,
                  .line = s->src->first_line + line - 1,
                  .col = (uint16_t)(is_column ? column : 0),
                  .len = is_column};
}

/* An error at the reader's place. */
__attribute__((format(printf, 2, 3))) static bool wrong(Reader *r, const char *format, ...) {
    char text[300];
    FORMAT_INTO(text, format);
    r->e->kind = E_SYNTAX;
    return error_at(r->e, step_at(r->s, r->now.line, (int)r->at + 1), "%s", text);
}

/* For errors of the line before what was read of it. */
static Reader *back_to(Reader *r, size_t at) {
    r->at = at;
    return r;
}

static void skip_space(Reader *r) {
    while (r->at < r->now.n && strchr(" \t\r", r->now.text[r->at]) && r->now.text[r->at]) r->at++;
}

static bool at_end(const Reader *r) {
    return r->at == r->now.n || r->now.text[r->at] == '#' || r->now.text[r->at] == '@';
}

/* The word of word characters at the reader's place; n 0: there is none. */
static const char *word(const Reader *r, size_t *n) {
    const char *s = r->now.text + r->at;
    for (*n = 0; r->at + *n < r->now.n && is_word_char((unsigned char)s[*n]);) ++*n;
    return s;
}

static bool is(const char *s, size_t n, const char *name) {
    return strlen(name) == n && !memcmp(s, name, n);
}

/* Takes the word if it is this one. */
static bool take(Reader *r, const char *name) {
    size_t n;
    const char *s = word(r, &n);
    if (!is(s, n, name)) return false;
    r->at += n;
    skip_space(r);
    return true;
}

static bool take_id(Reader *r, uint64_t *id) {
    size_t n;
    const char *s = word(r, &n);
    if (!is_id_text(s, n) || n > 19) return wrong(r, "an id like t12 is missing");
    *id = strtoull(s + 1, NULL, 10); /* the text ends with a NUL */
    r->at += n;
    skip_space(r);
    return true;
}

/* A name of letters, digits and _, with or without quotes, in the arena. */
static bool take_name(Reader *r, const char **name) {
    bool quoted = r->at < r->now.n && r->now.text[r->at] == '"';
    size_t start = r->at + quoted, i = start;
    while (i < r->now.n && step_name_char(r->now.text[i])) i++;
    bool is_closed = !quoted || (i < r->now.n && r->now.text[i] == '"');
    if (i == start || !is_closed || i - start > 100)
        return wrong(r, "a name of letters, digits and _ is missing");
    *name = arena_strndup(&r->s->arena, r->now.text + start, i - start);
    r->at = i + quoted;
    skip_space(r);
    return true;
}

static bool nothing_more(Reader *r) { return at_end(r) || wrong(r, "unexpected text"); }

/* Reports an error of inst_parse; its "column 12: ..." becomes a position, `shift` characters to
 * the right. */
static bool fail_parse(const Step *s, uint32_t line, int shift, const Err *err, LangError *e) {
    int column = 0, skip = 0;
    if (sscanf(err->text, "column %d: %n", &column, &skip) < 1) column = 0;
    e->kind = E_SYNTAX;
    error_at(e, step_at(s, line, column && column + shift > 0 ? column + shift : 0), "%s",
             err->text + skip);
    return err->hint[0] ? error_hint(e, "%s", err->hint) : false;
}

/* ---- inputs ---- */

static void add_line(Reader *r) {
    Step *s = r->s;
    ARRAY_PUSH(s->line, s->n, s->cap, 256, r->now);
}

StepInput *step_input(const Step *s, const char *name, size_t n) {
    for (int i = 0; i < s->n_input; i++)
        if (is(name, n, s->input[i].name)) return &s->input[i];
    return NULL;
}

static bool add_input(Reader *r, const StepInput *in) {
    Step *s = r->s;
    const StepInput *old = step_input(s, in->name, strlen(in->name));
    if (old) return wrong(r, "there is an input '%s' already, in line %u", in->name, old->line);
    if (is(in->name, strlen(in->name), "round"))
        return wrong(r, "$round is the number of the round: the input needs another name");
    if (s->n_input == INPUTS_MAX) return wrong(r, "more than %d inputs", INPUTS_MAX);
    ARRAY_ROOM(s->input, s->n_input, s->input_cap, 16);
    r->now.input = s->n_input;
    s->input[s->n_input++] = *in;
    return true;
}

/* Removes KEY=VALUE from the unknown attributes of a line; *value, in the arena, or NULL. */
static void take_other(InstLine *line, const char *key, Arena *arena, const char **value) {
    Inst *inst = &line->inst;
    size_t n_key = strlen(key);
    *value = NULL;
    for (int i = 0; i < inst->n_attr; i++) {
        if (inst->attr[i].key != ATTR_OTHER) continue;
        Attr *a = (Attr *)&inst->attr[i]; /* the parser's, in our arena */
        char *s = (char *)a->str, *found = s;
        while ((found = strstr(found, key)) && found != s && found[-1] != ' ') found++;
        if (!found || found[n_key] != '=') return;
        size_t n = strcspn(found + n_key + 1, " ");
        char *end = found + n_key + 1 + n;
        *value = arena_strndup(arena, found + n_key + 1, n);
        if (*end)
            memmove(found, end + 1, strlen(end + 1) + 1);
        else
            *(found > s ? found - 1 : found) = 0;
        a->n = (uint32_t)strlen(s);
        if (a->n) return;
        inst->n_attr--;
        memmove(a, a + 1, (size_t)(inst->n_attr - i) * sizeof *a);
        memmove(&line->attr_column[i], &line->attr_column[i + 1],
                (size_t)(inst->n_attr - i) * sizeof *line->attr_column);
        return;
    }
}

/* The type that the attributes of a `data` give. */
static bool declared(Reader *r, const Inst *inst, TensorType *type) {
    const Attr *dtype = inst_attr(inst, ATTR_DTYPE), *shape = inst_attr(inst, ATTR_SHAPE);
    if (!dtype || !shape)
        return wrong(r, "an input needs a dtype and a shape, such as f32 [32,64]");
    if (shape->n > MAX_DIMS) return wrong(r, "more than %d axes", MAX_DIMS);
    return inst_declared_type(inst, type) || wrong(r, "the shape is out of range");
}

/* Splits the type of recorded elements into rounds and the type of one. */
static bool split_rows(Reader *r, StepInput *in, const Inst *inst) {
    in->data = inst->payload;
    if (inst->payload && inst->payload_bytes != type_bytes(&in->type))
        return wrong(r, "%llu bytes of elements, but the shape has %llu",
                     (unsigned long long)inst->payload_bytes,
                     (unsigned long long)type_bytes(&in->type));
    if (in->is_number) {
        if (in->type.dtype != DT_F64 && in->type.dtype != DT_I64)
            return wrong(r, "a number is f64 or i64");
        if (in->type.rank > 1) return wrong(r, "numbers have one axis, the rounds");
        in->is_same = in->data && in->type.rank == 0;
        in->rows = !in->data ? 0 : in->is_same ? 1 : (uint64_t)in->type.shape[0];
        in->type.rank = 0;
        return !in->data || in->rows || wrong(r, "elements for no round");
    }
    in->rows = in->data != NULL;
    if (!in->data || !in->is_row) return true;
    if (in->type.rank == 0) return wrong(r, "recorded elements have one axis more, the rounds");
    in->rows = (uint64_t)in->type.shape[0];
    in->type.rank--;
    memmove(in->type.shape, in->type.shape + 1, in->type.rank * sizeof *in->type.shape);
    return in->rows || wrong(r, "elements for no round");
}

/* [tN =] input NAME DTYPE [SHAPE] [elements]: read as a `data` of these elements. */
static bool read_input(Reader *r, bool has_id, uint64_t id) {
    StepInput in = {
        .line = r->now.line, .is_number = !has_id, .is_row = r->s->body >= 0 && r->s->end < 0};
    size_t name_at = r->at;
    Err err = {0};
    TRY(take_name(r, &in.name));
    if (in.is_number && !in.is_row)
        return wrong(back_to(r, name_at), "a number is an input of the body, after `repeat`");
    static const char word_data[] = "t0 = data ";
    Bytes text = {0};
    bytes_puts(&text, word_data);
    bytes_add(&text, r->now.text + r->at, r->now.n - r->at);
    bool ok = inst_parse(text.data, text.n, &r->s->arena, &r->now.inst, &err);
    bytes_fini(&text);
    if (!ok)
        return fail_parse(r->s, r->now.line, (int)r->at - (int)sizeof word_data + 1, &err, r->e);
    InstLine *line = &r->now.inst;
    const char *cycle;
    take_other(line, "cycle", &r->s->arena, &cycle);
    in.cycles = cycle && !strcmp(cycle, "true");
    if (!inst_check_keys(line, &err))
        return fail_parse(r->s, r->now.line, (int)r->at - (int)sizeof word_data + 1, &err, r->e);
    TRY(declared(r, &line->inst, &in.type) && split_rows(r, &in, &line->inst));
    if (line->has_types && !type_equal(&line->types[0], &in.type)) {
        char is_text[256], said[256];
        return wrong(r, "a round gets %s, not %s", type_text(&in.type, is_text),
                     type_text(&line->types[0], said));
    }
    line->types[0] = in.type;
    line->has_types = true;
    line->inst.n_out = has_id;
    line->inst.out[0] = id;
    r->now.kind = STEP_INPUT;
    r->at = name_at;
    TRY(add_input(r, &in));
    add_line(r);
    return true;
}

/* ---- lines ---- */

static bool in_body(const Step *s) { return s->body >= 0 && s->end < 0; }

static bool read_repeat(Reader *r) {
    Step *s = r->s;
    if (s->body >= 0)
        return wrong(back_to(r, 0), "a step has one body, which began in line %u", s->repeat_line);
    if (!at_end(r)) {
        size_t n;
        const char *t = word(r, &n);
        char *stop;
        s->times = strtoull(t, &stop, 10);
        if (stop != t + n || n == 0 || n > 18 || t[0] == '-' || s->times == 0)
            return wrong(r, "the number of rounds is a whole number from 1 on");
        r->at += n;
        skip_space(r);
    }
    s->body = s->n;
    s->repeat_line = r->now.line;
    return nothing_more(r);
}

static bool read_end(Reader *r) {
    Step *s = r->s;
    if (!in_body(s)) return wrong(back_to(r, 0), "`end` without `repeat`");
    if (s->carry < 0) s->carry = s->n;
    s->end = s->n;
    s->end_line = r->now.line;
    return nothing_more(r);
}

static bool read_carry(Reader *r) {
    Step *s = r->s;
    if (!in_body(s))
        return wrong(back_to(r, 0), "`carry` stands in a body, between `repeat` and `end`");
    TRY(take_id(r, &r->now.from));
    if (r->at + 1 >= r->now.n || memcmp(r->now.text + r->at, "->", 2))
        return wrong(r, "'->' is missing: carry t9 -> t0");
    r->at += 2;
    skip_space(r);
    TRY(take_id(r, &r->now.to) && nothing_more(r));
    if (s->carry < 0) s->carry = s->n;
    r->now.kind = STEP_CARRY;
    add_line(r);
    return true;
}

/* Parses an instruction of the text; shift: of its columns. */
static bool parse_inst(Reader *r, const char *text, size_t n, int shift) {
    Err err = {0};
    InstLine *line = &r->now.inst;
    const char *name;
    if (!inst_parse(text, n, &r->s->arena, line, &err))
        return fail_parse(r->s, r->now.line, shift, &err, r->e);
    take_other(line, "input", &r->s->arena, &name);
    if (!inst_check_keys(line, &err)) return fail_parse(r->s, r->now.line, shift, &err, r->e);
    if (!name) return true;
    if (line->inst.n_out != 1 || !line->has_types)
        return wrong(back_to(r, 0), "a line with input=%.60s has one result, and its type after ->",
                     name);
    StepInput in = {.name = name,
                    .line = r->now.line,
                    .is_row = in_body(r->s),
                    .is_computed = true,
                    .type = line->types[0]};
    for (const char *c = name; *c; c++)
        if (!step_name_char(*c)) return wrong(r, "a name has letters, digits and _ only");
    return *name ? add_input(r, &in) : wrong(r, "input= needs a name");
}

/* output NAME KEY=tN ...: read as a `save`, whose path is the name. */
static bool read_output(Reader *r) {
    Step *s = r->s;
    if (s->end < 0) return wrong(back_to(r, 0), "`output` stands after `end`");
    const char *text_name;
    TRY(take_name(r, &text_name));
    Bytes text = {0};
    bytes_printf(&text, "save \"%s\" ", text_name);
    int shift = (int)r->at - (int)text.n;
    bytes_add(&text, r->now.text + r->at, r->now.n - r->at);
    bool ok = parse_inst(r, text.data, text.n, shift);
    bytes_fini(&text);
    TRY(ok);
    const Attr *name = inst_attr(&r->now.inst.inst, ATTR_PATH);
    if (!name || !name->n || r->now.inst.inst.n_in == 0)
        return wrong(r, "an output has a name and tensors: output w weight=t9");
    for (int i = s->end; i < s->n; i++) {
        const Attr *old =
            s->line[i].kind == STEP_OUTPUT ? inst_attr(&s->line[i].inst.inst, ATTR_PATH) : NULL;
        if (old && old->n == name->n && !memcmp(old->str, name->str, name->n))
            return wrong(r, "there is an output '%.60s' already", name->str);
    }
    r->now.kind = STEP_OUTPUT;
    add_line(r);
    return true;
}

static bool read_inst(Reader *r) {
    Step *s = r->s;
    const char *number = step_find_number(r->now.text, r->now.n);
    if (number && !in_body(s)) {
        r->at = (size_t)(number - r->now.text);
        wrong(r, "numbers of a round ($) stand in the body, between `repeat` and `end`");
        return error_hint(r->e, "in a string, a $ is written \\x24");
    }
    if (s->carry >= 0 && s->end < 0)
        return wrong(back_to(r, 0), "after `carry` come other carries, or `end`");
    Bytes text = {0};
    Err err = {0};
    r->now.varies = number != NULL;
    bool ok = true;
    if (number && !step_expand(s, &r->now, 0, &text, &err))
        ok = fail_parse(s, r->now.line, 0, &err, r->e);
    else
        ok = number ? parse_inst(r, text.data, text.n, -(int)text.n)
                    : parse_inst(r, r->now.text, r->now.n, 0);
    bytes_fini(&text);
    TRY(ok);
    if (!r->now.inst.is_empty) add_line(r);
    return true;
}

static bool read_line(Reader *r) {
    size_t n;
    skip_space(r);
    if (at_end(r)) return true;
    if (take(r, "repeat")) return read_repeat(r);
    if (take(r, "end")) return read_end(r);
    if (take(r, "carry")) return read_carry(r);
    if (take(r, "output")) return read_output(r);
    if (take(r, "input")) return read_input(r, false, 0);
    const char *s = word(r, &n);
    size_t start = r->at;
    uint64_t id;
    if (is_id_text(s, n) && n < 20 && take_id(r, &id) && r->at < r->now.n &&
        r->now.text[r->at] == '=') {
        r->at++;
        skip_space(r);
        if (take(r, "input")) return read_input(r, true, id);
    }
    r->at = start;
    return read_inst(r);
}

bool step_parse(const Step *s, const StepLine *line, uint64_t round, Bytes *text, Arena *arena,
                InstLine *out, LangError *e) {
    Err err = {0};
    const char *name;
    bool ok = step_expand(s, line, round, text, &err) &&
              inst_parse(text->data, text->n, arena, out, &err);
    if (!ok) return fail_parse(s, line->line, -(int)line->n - 100, &err, e);
    take_other(out, "input", arena, &name);
    return true;
}

bool step_is_text(const char *text, size_t n) {
    const char *end = memchr(text, '\n', n), *kind;
    static const char word_kind[] = " kind=step";
    size_t n_line = end ? (size_t)(end - text) : n, n_kind = sizeof word_kind - 1;
    if (n_line < 4 || memcmp(text, "gti ", 4)) return false;
    for (kind = text; kind + n_kind <= text + n_line; kind++)
        if (!memcmp(kind, word_kind, n_kind) &&
            (kind + n_kind == text + n_line || strchr(" \t\r", kind[n_kind])))
            return true;
    return false;
}

bool step_read(const Source *src, Step *out, LangError *e) {
    *out = (Step){.src = src, .body = -1, .carry = -1, .end = -1};
    const char *at = src->text, *end = src->text + src->n;
    for (uint32_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        Reader r = {.s = out,
                    .e = e,
                    .now = {.kind = STEP_INST, .line = line, .text = at, .n = n, .input = -1}};
        TRY(read_line(&r));
        at += n + 1;
    }
    e->kind = E_SYNTAX;
    if (out->body < 0)
        return error_at(e, step_at(out, 1, 0), "a step needs a body, from `repeat` to `end`");
    if (out->end < 0)
        return error_at(e, step_at(out, out->repeat_line, 0), "the body has no `end`");
    e->kind = E_NONE;
    return step_check_ids(out, e);
}

void step_fini(Step *s) {
    for (int i = 0; i < s->n_input; i++) buf_unref(&s->input[i].buf);
    free(s->input);
    free(s->line);
    arena_fini(&s->arena);
    *s = (Step){0};
}
