/* parse_hint.c: hints for an unexpected token. Guesses from the tokens around it which syntax of
 * another language was meant. Does not use the grammar; a wrong guess is only a poor
 * hint. SPDX-License-Identifier: MIT */
#include "lang/error/habit.h"
#include "lang/syntax/parse.h"
#include "runtime/base/near.h"
#include <ctype.h>
#include <string.h>

static const char *rest_of_line(Parser *p, const Token *t, const char *before, const char *after) {
    const char *s = p->src->text + t->at;
    size_t n = strcspn(s, "\n;#");
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\r' || s[n - 1] == '\t')) n--;
    if (n > 60) return NULL;
    return arena_printf(p->arena, "%s%.*s%s", before, (int)n, s, after);
}

static bool is_identifier(const char *s, size_t n) {
    if (!n || (s[0] >= '0' && s[0] <= '9')) return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '_') return false;
    return true;
}

/* A string token as a label: a bare word if it is an identifier, otherwise in double quotes. */
static const char *label_text(Parser *p, const Token *t) {
    const char *s = p->src->text + t->at;
    if (t->n > 60 || t->n < 3) return "a";
    if (t->kind == TOK_FSTRING) return arena_printf(p->arena, "f\"%.*s\"", (int)t->n - 3, s + 2);
    if (is_identifier(s + 1, t->n - 2)) return arena_printf(p->arena, "%.*s", (int)t->n - 2, s + 1);
    return arena_printf(p->arena, "\"%.*s\"", (int)t->n - 2, s + 1);
}

/* `with gt.signal.context('a', backward='b'):`, `with torch.no_grad():` and the like. */
static const char *with_hint(Parser *p, const Token *t) {
    const char *label = NULL;
    for (; t->kind != TOK_NEWLINE && t->kind != TOK_END && t->kind != TOK_BAD; t++) {
        if (parse_is(p, t, "set_grad_enabled")) return "no_grad if not train { … }";
        if (parse_is(p, t, "no_grad") || parse_is(p, t, "inference_mode")) return "no_grad { … }";
        if (parse_is(p, t, "open")) return "read(path), lines(path), write(path, text)";
        if (parse_is(p, t, "autocast")) return "drop it: m.to(bfloat16), x.bfloat16()";
        if (t->kind != TOK_STRING && t->kind != TOK_FSTRING) continue;
        if (label)
            return arena_printf(p->arena, "signal %s backward %s { … }", label, label_text(p, t));
        label = label_text(p, t);
    }
    if (label) return arena_printf(p->arena, "signal %s { … }", label);
    return "signal a { … }   no_grad { … }   time \"label\" { … }";
}

/* `def forward(self, x):` gives fn forward(x) { … }. */
static const char *def_hint(Parser *p, const Token *name) {
    const char *s = p->src->text + name->at, *open = s + name->n;
    size_t line = strcspn(open, "\n"), n = 0;
    while (n < line && open[n] != ')') n++;
    if (*open != '(' || n == line || n > 60 || memchr(open, ':', n))
        return arena_printf(p->arena, "functions: fn %.*s(…) { … }", (int)name->n, s);
    const char *params = open + 1, *end = open + n;
    if (end - params >= 4 && !memcmp(params, "self", 4) && (params[4] == ',' || params[4] == ')')) {
        params += 4;
        while (params < end && (*params == ',' || *params == ' ')) params++;
    }
    if (name->n == 8 && !memcmp(s, "__init__", 8))
        return arena_printf(p->arena, "the module's own list: module M(%.*s) { self.x = … }",
                            (int)(end - params), params);
    return arena_printf(p->arena, "functions: fn %.*s(%.*s) { … }", (int)name->n, s,
                        (int)(end - params), params);
}

/* `lambda a, b: a + b` gives fn(a, b) => …. */
static const char *lambda_hint(Parser *p, const Token *t) {
    const char *s = p->src->text + t->at + t->n;
    size_t line = strcspn(s, "\n"), colon = strcspn(s, ":\n");
    while (colon && *s == ' ') s++, colon--, line--;
    if (colon >= line || colon > 40) return "fn(x) => x + 1";
    return arena_printf(p->arena, "fn(%.*s) => …", (int)colon, s);
}

/* `raise ValueError("no")` gives error("no"). */
static const char *raise_hint(Parser *p, const Token *t) {
    for (const Token *k = t; k->kind != TOK_NEWLINE && k->kind != TOK_END && k->kind != TOK_BAD;
         k++)
        if ((k->kind == TOK_STRING || k->kind == TOK_FSTRING) && k->n < 60)
            return arena_printf(p->arena, "error(%.*s)", (int)k->n, p->src->text + k->at);
    return habit_hint("raise", 5);
}

static const char *reserved_hint(Parser *p, const Token *t) {
    const char *s = p->src->text;
    const Token *name = t + 1;
    if (parse_is(p, t, "with")) return with_hint(p, t);
    if (parse_is(p, t, "def") && name->kind == TOK_NAME && name->n < 60) return def_hint(p, name);
    if (parse_is(p, t, "lambda")) return lambda_hint(p, t);
    if (parse_is(p, t, "raise")) return raise_hint(p, t);
    if (parse_is(p, t, "class") && name->kind == TOK_NAME && name->n < 60)
        return arena_printf(p->arena, "module %.*s(params) { self.x = …; fn forward(x) { … } }",
                            (int)name->n, s + name->at);
    return habit_hint(s + t->at, t->n);
}

/* The first token of t's statement on t's line. */
static const Token *line_start(const Parser *p, const Token *t) {
    while (t > p->t.tok && t[-1].line == t->line && t[-1].kind != TOK_SEMI &&
           t[-1].kind != TOK_NEWLINE)
        t--;
    while (t->kind == TOK_RBRACE) t++;
    return t;
}

/* `did you mean 'for'?` for a misspelt word that begins a statement, and *word becomes its token;
 * NULL for another word. */
static const char *misspelt_hint(Parser *p, const Token *t, const Token **word) {
    static const char *const words[] = {
        "if",     "elif",   "else",   "while", "for",    "break", "continue", "return",   "fn",
        "module", "import", "assert", "del",   "signal", "time",  "no_grad",  "backward",
    };
    bool begins = line_start(p, t) == t || t[-1].kind == TOK_LBRACE || t[-1].kind == TOK_RBRACE;
    if (t->kind != TOK_NAME || !begins) return NULL;
    const char *s = p->src->text + t->at;
    const char *near = nearest_name(s, t->n, words, sizeof words / sizeof *words);
    if (near) *word = t;
    return near ? arena_printf(p->arena, "did you mean '%s'?", near) : NULL;
}

/* Two tokens without an operator between them: `let x`, `print x`, "a" "b". */
static const char *neighbour_hint(Parser *p, const Token *before, const Token *t,
                                  const Token **word) {
    const char *s = p->src->text;
    if (before->kind == TOK_STRING || before->kind == TOK_FSTRING)
        return t->kind == TOK_STRING || t->kind == TOK_FSTRING ? "join strings with +" : "";
    if (before->kind != TOK_NAME) return "";
    if ((parse_is(p, before, "r") || parse_is(p, before, "b")) && t->kind == TOK_STRING &&
        t->is_glued)
        return parse_is(p, before, "r") ? "no raw strings: double the backslashes" : "bytes(\"…\")";
    if (parse_is(p, before, "print")) return rest_of_line(p, t, "print(", ")");
    if (t->kind == TOK_NAME &&
        (parse_is(p, before, "let") || parse_is(p, before, "var") || parse_is(p, before, "const")))
        return rest_of_line(p, t, "assignment needs no word: ", "");
    if (t->kind == TOK_RBRACE || t->kind == TOK_NEWLINE) return "";
    const char *habit = habit_hint(s + before->at, before->n);
    bool begins = line_start(p, before) == before || before[-1].kind == TOK_RBRACE;
    if (habit && begins && t->kind == TOK_NAME) *word = before; /* elseif x, fun f() */
    if (habit || before->line != t->line || before->n > 40) return habit;
    if ((habit = misspelt_hint(p, before, word))) return habit;
    bool is_value =
        t->kind == TOK_NAME || t->kind == TOK_STRING || t->kind == TOK_INT || t->kind == TOK_FLOAT;
    begins = line_start(p, before) == before || before[-1].kind == TOK_ASSIGN;
    if (!is_value || !begins || t->is_glued || p->in_fstring) return "";
    const char *begin =
        arena_printf(p->arena, "a call has parentheses: %.*s(", (int)before->n, s + before->at);
    return rest_of_line(p, t, begin, ")");
}

static bool is_header_word(int kind) {
    return kind == TOK_IF || kind == TOK_ELIF || kind == TOK_WHILE || kind == TOK_FOR ||
           kind == TOK_ELSE || kind == TOK_FN || kind == TOK_MODULE;
}

/* `module A(nn.Module)` and `module F(torch.autograd.Function)`; else NULL. */
static const char *base_hint(const Parser *p, const Token *start) {
    for (const Token *t = start; t->line == start->line; t++) {
        if (t->kind == TOK_END || t->kind == TOK_BAD) break;
        if (parse_is(p, t, "Module")) return "modules inherit nothing: module M(params) { … }";
        if (parse_is(p, t, "Function")) return habit_hint("Function", 8);
    }
    return NULL;
}

/* signal("a") { and signal a() {, up to t; else NULL. */
static const char *signal_hint(const Parser *p, const Token *start, const Token *t) {
    bool is_call = t - start == 4 && t->kind == TOK_LBRACE && t[-1].kind == TOK_RPAREN;
    if (!parse_is(p, start, "signal") || !(is_call || (t - start == 2 && t->kind == TOK_LPAREN)))
        return NULL;
    const Token *name = &start[is_call ? 2 : 1];
    return arena_printf(p->arena, "signal %.*s { … }", (int)name->n, p->src->text + name->at);
}

/* True inside the [ ] of a list that does not begin its line, so it is not a target. */
static bool is_in_list(const Parser *p) {
    const Opener *o = p->n_open ? &p->open[p->n_open - 1] : NULL;
    const char *text = p->src->text;
    if (!o || text[o->at.at] != '[') return false;
    return o->at.at > 0 && text[o->at.at - 1] != '\n' && text[o->at.at - 1] != ';';
}

const char *parse_loop_else(const Parser *p, const Token *t) {
    const Token *first = p->t.tok, *k = t;
    int depth = 0;
    while (k > first && k[-1].kind == TOK_NEWLINE) k--;
    do {
        if (k-- == first) return NULL;
        depth += (k->kind == TOK_RBRACE) - (k->kind == TOK_LBRACE);
    } while (depth > 0);
    bool is_elif = t->kind == TOK_ELIF;
    if ((t->kind != TOK_ELSE && !is_elif) || k->kind != TOK_LBRACE || depth < 0) return NULL;
    if (is_elif && k > first && k[-1].kind == TOK_ELSE)
        return "else comes last: if a { … } elif b { … } else { … }";
    for (; k > first && k->kind != TOK_NEWLINE && k->kind != TOK_RBRACE; k--)
        if (k->kind == TOK_IF || k->kind == TOK_FOR || k->kind == TOK_WHILE) break;
    if (k->kind != TOK_FOR && k->kind != TOK_WHILE) return NULL;
    return is_elif ? "elif belongs to an if, not to a loop: if a { … } elif b { … }"
                   : "a loop has no else: found = true before break, then if not found { … }";
}

/* `backward y, retain_graph=true`, with or without the comma: the call. Otherwise NULL. */
static const char *backward_hint(Parser *p, const Token *start, const Token *t) {
    const Token *option = t->kind == TOK_COMMA ? t + 1 : t, *last = t - 1;
    if (!parse_is(p, start, "backward") || option->kind != TOK_NAME ||
        option[1].kind != TOK_ASSIGN || last <= start || last->at + last->n - start->at > 80)
        return NULL;
    const char *loss = p->src->text + start[1].at;
    int n = (int)(last->at + last->n - start[1].at);
    return rest_of_line(p, option, arena_printf(p->arena, "as a call: backward(%.*s, ", n, loss),
                        ")");
}

static bool begins_statement(const Token *t) {
    switch (t->kind) {
    case TOK_IF:
    case TOK_WHILE:
    case TOK_FOR:
    case TOK_RETURN:
    case TOK_BREAK:
    case TOK_CONTINUE:
    case TOK_ASSERT: return true;
    case TOK_NAME: return t[1].kind == TOK_ASSIGN;
    default: return false;
    }
}

static bool ends_value(int kind) {
    return kind == TOK_NAME || kind == TOK_INT || kind == TOK_FLOAT || kind == TOK_STRING ||
           tok_closes(kind) || kind == TOK_TRUE || kind == TOK_FALSE || kind == TOK_NONE ||
           kind == TOK_BREAK || kind == TOK_CONTINUE;
}

/* The hint for a '{' behind `before`; "" for none. */
static const char *brace_hint(Parser *p, const Token *before, const Token *start,
                              const Token **word) {
    if (before->kind == TOK_ARROW) return "a body in braces has no =>: fn f(x) { … }";
    if (before->kind != TOK_NAME) return parse_is(p, start, "no_grad") ? "no_grad { … }" : "";
    const char *name = p->src->text + before->at;
    if ((start->kind == TOK_MODULE || start->kind == TOK_FN) && before->n < 40)
        return arena_printf(p->arena, "%s %.*s() { … }", start->kind == TOK_FN ? "fn" : "module",
                            (int)before->n, name);
    const char *hint = habit_hint(name, before->n);
    if (!hint) hint = misspelt_hint(p, before, word);
    return hint ? hint : "";
}

/* The hint that the kind of t decides: "" for none, NULL if it decides nothing. */
static const char *hint_of_kind(Parser *p, const Token *t, const Token *before, const Token *start,
                                bool header, const Token **word) {
    const char *hint;
    switch (t->kind) {
    case TOK_RESERVED: hint = reserved_hint(p, t); return hint ? hint : "";
    case TOK_COLON:
        for (const Token *k = start; header && k < t; k++)
            if (parse_is(p, k, "__name__")) return "if main { … }";
        if (parse_is(p, before, "no_grad") && before == start) return "no_grad { … }";
        if (header || t[1].kind == TOK_NEWLINE) return "blocks stand in braces: { … }";
        if (before->kind == TOK_NAME) return "names have no types; a map is {a: 1}";
        return "";
    case TOK_NEWLINE:
        if (t[1].kind == TOK_LBRACE) return "the { stands at the end of the line before";
        if (before->kind == TOK_DOT || before->kind == TOK_NAME) break;
        return "";
    case TOK_ASSIGN:
        return start->kind == TOK_FOR ? "for i in range(n) { … }" : header ? "compare with ==" : "";
    case TOK_DOT:
        if (start->kind == TOK_MODULE && (hint = base_hint(p, start))) return hint;
        break;
    case TOK_ARROW: return "a function is fn(x) => …";
    case TOK_FOR: return "a list in brackets: [x for x in xs]";
    case TOK_IF:
        if (before->kind == TOK_ASSIGN) return "x = a if condition else b";
        break;
    case TOK_ELSE:
    case TOK_ELIF:
        if (p->n_open && p->src->text[p->open[p->n_open - 1].at.at] == '[')
            return "[a if condition else b for x in xs]";
        if ((hint = parse_loop_else(p, t))) return hint;
        break;
    case TOK_MATMUL:
        if (t != start) return "";
        for (const Token *k = t; k->line == t->line && k->kind != TOK_END && k->kind != TOK_BAD;
             k++)
            if (parse_is(p, k, "no_grad")) return "no_grad { … } inside the function";
        return "there are no decorators";
    case TOK_MUL:
        if (is_in_list(p)) return "join lists: a + b";
        if (before->kind == TOK_ASSIGN) return "targets and values take no *: x = y, or x = xs[0]";
        return t == start || before->kind == TOK_COMMA
                   ? "targets take no *: first = xs[0]; rest = xs[1:]"
                   : "";
    case TOK_POW: return before->kind == TOK_LBRACE ? "copy(m) and .update(other) join maps" : "";
    case TOK_LBRACE: return brace_hint(p, before, start, word);
    default: break;
    }
    return NULL;
}

const char *parse_hint(Parser *p, const Token *t, const Token **word) {
    const Token *before = &p->t.tok[p->before], *start = line_start(p, t);
    bool header = is_header_word(start->kind) || parse_is(p, start, "signal");
    const char *hint;
    for (const Token *k = start; k <= t && k->kind != TOK_END; k++) { /* a // b is valid */
        bool is_c = k->kind == TOK_DIV && k[1].kind == TOK_MUL && k[1].is_glued;
        if (is_c || (k->kind == TOK_FLOORDIV && (k == t || t->kind == TOK_NAME)))
            return "comments begin with #";
    }
    if ((hint = signal_hint(p, start, t))) return hint;
    if ((hint = hint_of_kind(p, t, before, start, header, word))) return hint;
    if ((hint = backward_hint(p, start, t))) return hint;
    bool is_word = t->kind != TOK_NAME || before->kind == TOK_RBRACE;
    if (begins_statement(t) && is_word && ends_value(before->kind) && before->line == t->line)
        return rest_of_line(p, t, "separate statements by ';': … ; ", "");
    const Opener *o = p->n_open ? &p->open[p->n_open - 1] : NULL;
    if (o && !o->what && o->line != t->line)
        return arena_printf(p->arena, "'%c' was opened at line %u", p->src->text[o->at.at],
                            o->line);
    if (start->kind == TOK_FOR && parse_is(p, t, "of")) return "for x in xs { … }";
    if (header && parse_is(p, t, "then")) return "if condition { … }";
    if (before->kind == TOK_RBRACE && t->kind == TOK_NAME &&
        ((hint = habit_hint(p->src->text + t->at, t->n)) || (hint = misspelt_hint(p, t, word))))
        return hint;
    if (header && before->kind == TOK_RPAREN && t->kind == TOK_NAME)
        return "blocks stand in braces: { … }";
    if (start->kind == TOK_IMPORT || parse_is(p, start, "from")) {
        hint = habit_import_line(p->src->text + start->at, p->src->name, p->arena);
        if (hint) return hint;
    }
    if (start->kind == TOK_IMPORT && t->kind == TOK_DOT) return "import \"dir/file.gt\" as name";
    if (before == t) before = t > p->t.tok ? t - 1 : t;
    hint = neighbour_hint(p, before, t, word);
    return hint ? hint : "";
}
