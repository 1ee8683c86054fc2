/* complete.c: see complete.h. The tokens before the cursor say what is wanted there: a member after
 * a dot, an argument's name in a call, a signal, a file in quotes, else a name in scope.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/complete.h"
#include "lang/complete/offer.h"
#include "lang/complete/path.h"
#include "lang/eval/builtin.h"
#include "lang/eval/import.h"
#include "lang/tensor/signal.h"
#include "lang/value/frame.h"
#include "lang/value/mapv.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_DEEP = 4 }; /* f-strings in f-strings */

/* ---- calls ---- */

/* The parenthesis of the call whose argument begins at token `word`, or SIZE_MAX. */
static size_t call_around(const Scan *s, size_t word) {
    if (!s->n_open) return SIZE_MAX;
    size_t open = s->open[s->n_open - 1];
    if (scan_kind(s, open) != TOK_LPAREN || open == 0 || !s->tok[open].is_glued) return SIZE_MAX;
    if (word != open + 1 && scan_kind(s, word - 1) != TOK_COMMA) return SIZE_MAX;
    int callee = scan_kind(s, open - 1);
    bool is_name = callee == TOK_NAME ||
                   (open > 1 && s->tok[open - 1].is_word && scan_kind(s, open - 2) == TOK_DOT);
    if (!is_name && callee != TOK_RPAREN && callee != TOK_RBRACKET) return SIZE_MAX;
    bool is_definition = open > 1 && callee == TOK_NAME &&
                         (scan_kind(s, open - 2) == TOK_FN || scan_kind(s, open - 2) == TOK_MODULE);
    return is_definition ? SIZE_MAX : open;
}

/* What the call's arguments before token `word` give already: positions, and names. */
typedef struct Given {
    int n_positional;
    const char *name[64];
    size_t n_names;
} Given;

static void read_given(const Scan *s, size_t open, size_t word, Given *g) {
    int depth = 0;
    *g = (Given){0};
    for (size_t i = open + 1; i < word; i++) {
        int kind = s->tok[i].kind;
        bool begins = depth == 0 && (i == open + 1 || scan_kind(s, i - 1) == TOK_COMMA);
        if (begins && scan_kind(s, i + 1) == TOK_ASSIGN && g->n_names < 64)
            g->name[g->n_names++] = scan_name(s, i);
        else if (begins && kind != TOK_NEWLINE)
            g->n_positional++;
        depth += tok_opens(kind) - tok_closes(kind);
    }
}

/* Offers the parameter at params, n bytes, unless it is given. */
static void offer_param(Offers *o, const char *param, size_t n, const Given *g, int at,
                        Arena *arena) {
    size_t n_name = 0;
    while (n_name < n && (isalnum((unsigned char)param[n_name]) || param[n_name] == '_')) n_name++;
    if (n_name == 0 || at < g->n_positional) return;
    const char *name = intern(param, n_name);
    for (size_t i = 0; i < g->n_names; i++)
        if (g->name[i] == name) return;
    offer_hint(o, name, CANDIDATE_ARGUMENT, arena_strndup(arena, param, n));
}

/* Offers the parameters of the signature "f(a, b=1, *rest)". */
static void offer_params(Offers *o, const char *signature, const Given *g, Arena *arena) {
    const char *s = strchr(signature, '(');
    int at = 0, depth = 0;
    char quote = 0;
    if (!s) return;
    for (const char *from = ++s; *s; s++) {
        if (quote) {
            if (*s == quote) quote = 0;
            continue;
        }
        if (*s == '"' || *s == '\'') quote = *s;
        depth += (*s == '(' || *s == '[' || *s == '{');
        bool is_end = depth == 0 && (*s == ',' || *s == ')');
        depth -= depth > 0 && (*s == ')' || *s == ']' || *s == '}');
        if (!is_end) continue;
        while (from < s && *from == ' ') from++;
        offer_param(o, from, (size_t)(s - from), g, at++, arena);
        from = s + 1;
    }
}

/* Offers the keyword arguments of the call at `open`, and keeps its signature. */
static void offer_arguments(Offers *o, size_t open, size_t word, Completion *out) {
    Given given;
    Bytes b = {0};
    const Scan *s = o->s;
    Thing callee = thing_before(o->in, s, open - 1);
    const char *name = s->tok[open - 1].is_word ? scan_name(s, open - 1) : "fn";
    if (signature_of(o->in, s, callee, name, &b)) {
        out->signature = arena_strndup(&out->arena, b.data, b.n);
        read_given(s, open, word, &given);
        offer_params(o, b.data, &given, &out->arena);
        const BuiltinEntry *entry = callee.what == THING_VALUE && callee.v.kind == V_BUILTIN
                                        ? (const BuiltinEntry *)callee.v.builtin
                                        : NULL;
        if (entry && entry->twin && !callee.is_method) {
            b.n = 0;
            bytes_printf(&b, "%s(%s)", name, entry->twin->b.signature);
            offer_params(o, b.data, &given, &out->arena);
        }
    }
    bytes_fini(&b);
}

/* ---- names ---- */

static void offer_text_names(Offers *o) {
    for (size_t i = 0; i < o->s->n_defs; i++) {
        const Def *d = &o->s->def[i];
        if (!scan_sees(o->s, d) || map_get(&o->seen, (uint64_t)(uintptr_t)d->name)) continue;
        CandidateKind kind = d->kind == DEF_FN       ? CANDIDATE_FUNCTION
                             : d->kind == DEF_MODULE ? CANDIDATE_MODULE
                                                     : CANDIDATE_VARIABLE;
        bool is_typed = d->at + 1 == o->s->n_before && d->kind == DEF_VARIABLE;
        if (!is_typed) offer(o, d->name, kind, true, thing_of_name(o->in, o->s, d->name));
    }
    if (scan_module(o->s) >= 0)
        offer(o, intern("self", 4), CANDIDATE_VARIABLE, true, (Thing){.what = THING_NOTHING});
}

static void offer_globals(Offers *o) {
    const Globals *g = o->in->globals;
    for (size_t i = 0; g && i < g->n; i++) {
        const GlobalVar *var = g->var[i];
        if (var->v.kind == V_UNDEF || !strcmp(var->name, "main")) continue;
        CandidateKind kind = var->v.kind == V_FN       ? CANDIDATE_FUNCTION
                             : var->v.kind == V_MODULE ? CANDIDATE_MODULE
                                                       : CANDIDATE_VARIABLE;
        offer(o, var->name, kind, true, (Thing){.what = THING_VALUE, .v = var->v});
    }
}

static void offer_keywords(Offers *o, bool is_statement) {
    static const char *const statement[] = {"signal", "backward", "no_grad", "time"};
    static const struct {
        const char *word;
        bool begins, is_inside; /* may begin a statement; may stand in one */
    } words[] = {{"and", 0, 1},    {"or", 0, 1},     {"not", 1, 1},    {"in", 0, 1},
                 {"is", 0, 1},     {"if", 1, 1},     {"elif", 1, 0},   {"else", 1, 1},
                 {"while", 1, 0},  {"for", 1, 1},    {"break", 1, 0},  {"continue", 1, 0},
                 {"return", 1, 0}, {"fn", 1, 1},     {"module", 1, 0}, {"import", 1, 0},
                 {"as", 0, 1},     {"assert", 1, 0}, {"del", 1, 0},    {"true", 1, 1},
                 {"false", 1, 1},  {"none", 1, 1}};
    for (size_t i = 0; is_statement && i < sizeof statement / sizeof *statement; i++)
        offer_hint(o, intern(statement[i], strlen(statement[i])), CANDIDATE_KEYWORD, "statement");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_statement ? words[i].begins : words[i].is_inside)
            offer_hint(o, intern(words[i].word, strlen(words[i].word)), CANDIDATE_KEYWORD,
                       "keyword");
}

static void offer_names(Offers *o, size_t word, Completion *out) {
    size_t call = call_around(o->s, word);
    if (call != SIZE_MAX) offer_arguments(o, call, word, out);
    bool has_arguments = o->has_exact;
    offer_text_names(o);
    offer_globals(o);
    if (has_arguments || (!o->n_word && o->n)) return; /* the language's names would hide them */
    offer_keywords(o, scan_begins(o->s, word));
    offer_builtins(o);
}

/* ---- signals and imports ---- */

/* True if the label of a signal statement stands at token `word`. */
static bool is_label(const Scan *s, size_t word) {
    if (word == 0) return false;
    if (scan_is(s, word - 1, "signal")) return scan_begins(s, word - 1);
    return word >= 3 && scan_is(s, word - 1, "backward") && scan_is(s, word - 3, "signal") &&
           scan_begins(s, word - 3);
}

static void offer_signals(Offers *o) {
    const Scan *s = o->s;
    const Signals *all = signal_state(o->in);
    for (int i = 0; all && i < all->config.n; i++) {
        const char *name = all->config.signal[i]->name;
        if (strcmp(name, CONFIG_EVERYWHERE))
            offer_hint(o, intern(name, strlen(name)), CANDIDATE_SIGNAL, "configured");
    }
    for (uint32_t i = 0; all && i < all->n_labels; i++)
        offer_hint(o, all->label[i], CANDIDATE_SIGNAL, "");
    for (size_t i = 0; i + 1 < s->n; i++) {
        if (i + 1 == s->n_before - (s->n_before > 0) || !is_label(s, i + 1)) continue;
        const Token *t = &s->tok[i + 1];
        if (t->kind == TOK_NAME)
            offer_hint(o, scan_name(s, i + 1), CANDIDATE_SIGNAL, "");
        else if (t->kind == TOK_STRING && t->n > 2)
            offer_hint(o, intern(s->src.text + t->at + 1, t->n - 2), CANDIDATE_SIGNAL, "");
    }
}

/* Offers the namespaces and, without their .gt, the files that import finds here. */
static void offer_imports(Offers *o) {
    static const char *const spaces[] = {"nn", "optim", "F", "linalg", "distributions"};
    Completion files = {0};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        offer(o, intern(spaces[i], strlen(spaces[i])), CANDIDATE_SPACE, false,
              (Thing){.what = THING_OF_KIND, .kind = V_MAP});
    complete_path(o->word, o->n_word, ".gt", 0, &files);
    for (size_t i = 0; i < files.n; i++) {
        size_t n = strlen(files.item[i].text);
        if (files.item[i].kind != CANDIDATE_FILE) continue;
        offer_hint(o, intern(files.item[i].text, n - 3), CANDIDATE_SPACE, "file");
    }
    completion_fini(&files);
}

/* ---- the places ---- */

static void code(Interp *in, const char *text, size_t n, size_t cursor, Completion *out, int depth);

/* The offset of the expression of the f-string field that the cursor, at `to`, is in, or
 * SIZE_MAX. at: behind the quotes. */
static size_t field_at(const char *text, size_t at, size_t to) {
    while (at < to) {
        if (text[at] == '\\') {
            at += 2;
            continue;
        }
        if (text[at] != '{' || (at + 1 < to && text[at + 1] == '{')) {
            at += text[at] == '{' ? 2 : 1;
            continue;
        }
        size_t end = lex_field_end(text, at + 1, to);
        if (end >= to) return at + 1;
        const char *close = memchr(text + end, '}', to - end);
        if (!close) return SIZE_MAX; /* in the format */
        at = (size_t)(close - text) + 1;
    }
    return SIZE_MAX;
}

/* The cursor is in the field at `field` of the f-string token `string`. Completes a text that has
 * the field's expression in place of the string. */
static void in_field(Interp *in, const Scan *s, size_t field, size_t cursor, Completion *out,
                     int depth) {
    Bytes b = {0};
    size_t at = s->tok[s->string].at;
    bytes_add(&b, s->src.text, at);
    bytes_putc(&b, '(');
    bytes_add(&b, s->src.text + field, cursor - field);
    code(in, b.data, b.n, b.n, out, depth + 1);
    out->start = out->start - (at + 1) + field;
    bytes_fini(&b);
}

/* The cursor is in a string: its text from `body` is a key, a label, or a path. */
static void in_string(Interp *in, const Scan *s, size_t cursor, Completion *out, int depth) {
    char quote;
    bool is_f;
    size_t body = scan_string_body(s, s->string, &quote, &is_f), before = s->string;
    if (body > cursor) return;
    const char *text = s->src.text;
    size_t field = is_f ? field_at(text, body, cursor) : SIZE_MAX;
    if (field != SIZE_MAX && depth < FIELDS_DEEP) {
        in_field(in, s, field, cursor, out, depth);
        return;
    }
    out->start = body;
    Offers o = {.in = in, .s = s, .word = text + body, .n_word = cursor - body};
    bool is_key =
        before >= 2 && scan_kind(s, before - 1) == TOK_LBRACKET && s->tok[before - 1].is_glued;
    if (is_key) offer_keys(&o, thing_before(in, s, before - 2));
    if (is_label(s, before)) offer_signals(&o);
    bool is_import = before >= 1 && scan_kind(s, before - 1) == TOK_IMPORT;
    if (!o.n) complete_path(text + body, cursor - body, is_import ? ".gt" : NULL, quote, out);
    offers_finish(&o, out);
    char close[2] = {quote, 0};
    for (size_t i = 0; i < out->n; i++)
        if (out->item[i].kind != CANDIDATE_DIRECTORY)
            out->item[i].after = arena_strndup(&out->arena, close, 1);
}

/* True if no known name is wanted at token `word`: a new one is defined there, or a number
 * written. */
static bool is_new_name(const Scan *s, size_t word) {
    int before = word > 0 ? scan_kind(s, word - 1) : TOK_END;
    if (before == TOK_FN || before == TOK_MODULE || before == TOK_AS || before == TOK_FOR)
        return true;
    size_t open = s->n_open ? s->open[s->n_open - 1] : 0;
    if (open == 0 || scan_kind(s, open) != TOK_LPAREN || before == TOK_ASSIGN) return false;
    size_t fn = scan_kind(s, open - 1) == TOK_NAME && open > 1 ? open - 2 : open - 1;
    bool is_parameter =
        before == TOK_LPAREN || before == TOK_COMMA || before == TOK_MUL || before == TOK_POW;
    return is_parameter && (scan_kind(s, fn) == TOK_FN || scan_kind(s, fn) == TOK_MODULE);
}

static void code(Interp *in, const char *text, size_t n, size_t cursor, Completion *out,
                 int depth) {
    Scan scan, *s = &scan;
    scan_text(s, text, n, cursor);
    out->start = cursor;
    size_t word = s->n_before;
    const Token *last = word ? &s->tok[word - 1] : NULL;
    bool touches = last && last->at + last->n == cursor;
    bool has_digit = touches && !last->is_word && isdigit((unsigned char)s->src.text[last->at]);
    bool is_number = has_digit || (touches && last->kind == TOK_FLOAT);
    if (touches && last->is_word) word--, out->start = last->at;
    Offers o = {.in = in, .s = s, .word = s->src.text + out->start, .n_word = cursor - out->start};
    if (s->string != SIZE_MAX) {
        in_string(in, s, cursor, out, depth);
    } else if (!s->in_comment && !is_number && !is_new_name(s, word)) {
        int before = word > 0 ? scan_kind(s, word - 1) : TOK_END;
        if (before == TOK_DOT && word > 1)
            offer_members(&o, thing_before(in, s, word - 2));
        else if (before == TOK_IMPORT)
            offer_imports(&o);
        else if (is_label(s, word))
            offer_signals(&o);
        else if (before != TOK_DOT)
            offer_names(&o, word, out);
        offers_finish(&o, out);
    }
    scan_fini(s);
}

void complete_code(Interp *in, const char *text, size_t n, size_t cursor, Completion *out) {
    *out = (Completion){0};
    code(in, text, n, cursor, out, 0);
}

void complete_topic(Interp *in, const char *text, size_t n, Completion *out) {
    size_t from = 0;
    *out = (Completion){0};
    while (from < n && (text[from] == '?' || text[from] == ' ')) from++;
    code(in, text + from, n - from, n - from, out, 0);
    out->start += from;
    for (size_t i = 0; i < out->n; i++) out->item[i].after = "";
}

bool complete_knows(Interp *in, const char *interned) {
    const GlobalVar *var =
        in->globals ? map_get(&in->globals->by_name, (uint64_t)(uintptr_t)interned) : NULL;
    if (var && var->v.kind != V_UNDEF) return true;
    return builtin_find(interned) || builtin_is_space(interned) || prelude_has(in, interned) ||
           builtin_is_constant(interned);
}

/* ---- candidates ---- */

size_t completion_common(const Completion *c) {
    if (!c->n) return 0;
    size_t common = strlen(c->item[0].text);
    for (size_t i = 1; i < c->n; i++)
        for (size_t k = 0; k < common; k++) {
            char a = c->item[0].text[k], b = c->item[i].text[k];
            if (c->is_near ? tolower((unsigned char)a) != tolower((unsigned char)b) : a != b)
                common = k;
        }
    while (common && ((unsigned char)c->item[0].text[common] & 0xc0) == 0x80) common--;
    return common;
}

void completion_offer(Completion *c, const char *word, size_t n, const Candidate *candidate) {
    if (strncmp(candidate->text, word, n)) return;
    ARRAY_ROOM(c->item, c->n, c->cap, 16);
    Candidate *added = &c->item[c->n++];
    *added = *candidate;
    added->text = arena_strndup(&c->arena, candidate->text, strlen(candidate->text));
    added->after = arena_strndup(&c->arena, candidate->after, strlen(candidate->after));
    const char *hint = candidate->hint ? candidate->hint : "";
    added->hint = arena_strndup(&c->arena, hint, strlen(hint));
}

void completion_fini(Completion *c) {
    free(c->item);
    arena_fini(&c->arena);
    *c = (Completion){0};
}
