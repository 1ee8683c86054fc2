/* ptx_ins.c: reads instructions: the name's parts, operands as slots, and that their widths are
 * those that PTX asks for.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/ptx.h"
#include "tests/gpu/ptx_reader.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 12, PART_MAX = 24 };
/* "ld.global.v4.f32": its words. */
typedef struct Name {
    char part[PARTS][PART_MAX];
    int n;
} Name;

static Name split(Reader *r, const char *text) {
    Name name = {.n = 0};
    while (*text && !r->bad) {
        size_t n = strcspn(text, ".");
        if (n >= PART_MAX || name.n == PARTS) {
            reader_fail(r, "the instruction '%.40s' is not known", text);
            break;
        }
        memcpy(name.part[name.n], text, n);
        name.part[name.n++][n] = 0;
        text += n + (text[n] == '.');
    }
    return name;
}
static bool has(const Name *name, const char *word) {
    for (int k = 1; k < name->n; k++)
        if (!strcmp(name->part[k], word)) return true;
    return false;
}
/* The type of an instruction is its last word. */
static int last_type(const Name *name, bool *is_signed, bool *is_float) {
    char text[PART_MAX + 1] = ".";
    strcat(text, name->part[name->n - 1]);
    *is_signed = text[1] == 's';
    *is_float = text[1] == 'f' || !strncmp(text, ".bf", 3);
    return reader_type(text);
}
static Ins *add(Reader *r, Kind kind, const char *name) {
    Ptx *m = r->m;
    m->ins = reader_grow(m->ins, m->n_ins, &m->cap_ins, sizeof *m->ins);
    Ins *i = &m->ins[m->n_ins++];
    *i = (Ins){.kind = (uint8_t)kind, .guard = -1, .base = -1, .line = r->line};
    for (int k = 0; k < OPERANDS; k++) i->d[k] = i->s[k] = SLOT_NOWHERE;
    snprintf(i->name, sizeof i->name, "%s", name);
    return i;
}
void reader_return(Reader *r) { add(r, KIND_RETURN, "ret"); }

/* ---- Operands ---- */

static int32_t constant(Reader *r, uint64_t value, int bits) {
    Function *f = r->f;
    if (bits < 64) value &= (UINT64_C(1) << bits) - 1;
    uint8_t wide = bits > 32 ? 64 : 32;
    for (int k = 0; k < f->n_constants; k++)
        if (f->constant[k].value == value && f->constant[k].bits == wide)
            return f->constant[k].slot;
    int32_t slot = reader_slot(r, wide);
    f->constant = reader_grow(f->constant, f->n_constants, &f->cap_constants, sizeof *f->constant);
    f->constant[f->n_constants++] = (Constant){slot, wide, value};
    return slot;
}
static int32_t special(Reader *r, const char *name) {
    static const struct {
        const char *name;
        int base;
        bool has_axes;
    } known[] = {{"%tid.", SPECIAL_TID, true},        {"%ntid.", SPECIAL_NTID, true},
                 {"%ctaid.", SPECIAL_CTAID, true},    {"%nctaid.", SPECIAL_NCTAID, true},
                 {"%laneid", SPECIAL_LANEID, false},  {"%warpid", SPECIAL_WARPID, false},
                 {"%lanemask_eq", SPECIAL_EQ, false}, {"%lanemask_lt", SPECIAL_LT, false},
                 {"%lanemask_le", SPECIAL_LE, false}, {"%lanemask_gt", SPECIAL_GT, false},
                 {"%lanemask_ge", SPECIAL_GE, false}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t n = strlen(known[k].name);
        if (strncmp(name, known[k].name, n) != 0) continue;
        int which = known[k].base;
        if (known[k].has_axes) {
            if (name[n] < 'x' || name[n] > 'z' || name[n + 1]) continue;
            which += name[n] - 'x';
        } else if (name[n]) {
            continue;
        }
        int32_t *slot = &r->f->special[which];
        if (*slot < 0) *slot = reader_slot(r, 32);
        return *slot;
    }
    reader_fail(r, "there is no register %s whose value is defined", name);
    return SLOT_NOWHERE;
}
typedef struct Operand {
    int32_t slot;
    uint8_t bits; /* of a register; 0: fits any */
    bool is_register;
} Operand;
static bool is_number(const char *p) {
    return isdigit((unsigned char)*p) || (*p == '-' && isdigit((unsigned char)p[1]));
}
static Operand register_operand(Reader *r, const char *word) {
    int number;
    const Registers *g = reader_register(r, word, &number);
    if (g) return (Operand){g->slot + number * (g->bits > 32 ? SLOT_64 : SLOT_32), g->bits, true};
    return (Operand){special(r, word), 32, false};
}
/* bits: the width of a number or an address. */
static Operand operand(Reader *r, int bits) {
    reader_skip(r);
    if (is_number(r->p)) return (Operand){constant(r, reader_number(r), bits), 0, false};
    char word[WORD_MAX];
    reader_word(r, word);
    if (r->bad) return (Operand){0};
    if (!strcmp(word, "_")) return (Operand){SLOT_NOWHERE, 0, true};
    if (!strcmp(word, "WARP_SZ")) return (Operand){constant(r, LANES, bits), 0, false};
    if (word[0] == '%') return register_operand(r, word);
    const Var *v = reader_var(r, word);
    if (!v) {
        int number;
        if (reader_register(r, word, &number)) return register_operand(r, word);
        reader_fail(r, "there is no variable %s", word);
        return (Operand){0};
    }
    uint64_t value = v->at;
    if (reader_take(r, '+')) value += reader_number(r);
    return (Operand){constant(r, value, bits), 0, false};
}
static void check_bits(Reader *r, const Ins *i, const Operand *o, int bits) {
    if (o->bits && o->bits != bits && !r->bad)
        reader_fail(r, "%s: a register of %d bits, not %d", i->name, o->bits == 1 ? 0 : o->bits,
                    bits);
}
static void need_register(Reader *r, const Operand *o, const Ins *i) {
    if (!o->is_register && !r->bad) reader_fail(r, "%s: its result is no register", i->name);
}
static int letter_bits(char letter) {
    return letter == 'p' ? 1 : letter == 'b' ? 8 : letter == 'h' ? 16 : letter == 'w' ? 32 : 64;
}
/* Puts a hidden instruction before *at, which has one operand and one result. */
static int32_t before(Reader *r, Ins **at, const char *name, int32_t from) {
    Ins last = **at;
    int32_t slot = reader_slot(r, 32);
    **at = (Ins){.kind = KIND_LANES, .guard = -1, .base = -1, .line = last.line, .is_hidden = true};
    Ins *i = *at;
    i->op = lanes_find(name);
    i->n_d = i->n_s = 1;
    i->d[0] = slot, i->s[0] = from, i->d_bits[0] = 32;
    snprintf(i->name, sizeof i->name, "%s", name);
    *at = add(r, last.kind, last.name);
    **at = last;
    return slot;
}
/* A source of a row. Conversions take the lower bits of a wider register. */
static void row_source(Reader *r, Ins **at, char letter) {
    int bits = letter_bits(letter);
    Operand o = operand(r, bits);
    bool is_cvt = !strncmp((*at)->name, "cvt.", 4);
    if (is_cvt && o.bits == 64 && bits < 64)
        o.slot = before(r, at, "cvt.u32.u64", o.slot);
    else if (!(is_cvt && o.bits > bits && o.bits <= 32))
        check_bits(r, *at, &o, bits);
    (*at)->s_bits[(*at)->n_s] = (uint8_t)bits;
    (*at)->s[(*at)->n_s++] = o.slot;
}
static void dest(Reader *r, Ins *i, int bits) {
    Operand o = operand(r, bits);
    need_register(r, &o, i);
    check_bits(r, i, &o, bits);
    i->d_bits[i->n_d] = (uint8_t)bits;
    i->d[i->n_d++] = o.slot;
}
static void source(Reader *r, Ins *i, int bits) {
    Operand o = operand(r, bits);
    check_bits(r, i, &o, bits);
    i->s_bits[i->n_s] = (uint8_t)bits;
    i->s[i->n_s++] = o.slot;
}
/* A predicate that may have a !: the other value comes from a `not` in front of the instruction. */
static void predicate(Reader *r, Ins **at) {
    bool is_not = reader_take(r, '!');
    source(r, *at, 1);
    if (!is_not || r->bad) return;
    int32_t slot = before(r, at, "not.pred", (*at)->s[(*at)->n_s - 1]);
    (*at)->s[(*at)->n_s - 1] = slot;
}
/* [register + n], [variable + n], [n] */
static void address(Reader *r, Ins *i) {
    reader_need(r, '[');
    reader_skip(r);
    if (is_number(r->p)) {
        i->offset = (int64_t)reader_number(r);
        reader_need(r, ']');
        return;
    }
    char word[WORD_MAX];
    reader_word(r, word);
    if (r->bad) return;
    int number;
    const Registers *g = reader_register(r, word, &number);
    const Var *v = g ? NULL : reader_var(r, word);
    if (g) {
        Operand o = register_operand(r, word);
        if (o.bits != 64 &&
            !(o.bits == 32 && (i->space == SPACE_SHARED || i->space == SPACE_LOCAL)))
            reader_fail(r, "%s: an address of %d bits", i->name, o.bits);
        i->base = o.slot, i->s_bits[OPERANDS - 1] = o.bits;
    } else if (v) {
        i->offset = (int64_t)v->at;
        i->is_call_area =
            i->space == SPACE_PARAM && v - r->f->var >= r->f->n_results + r->f->n_params;
        if (i->space == SPACE_PARAM && v->space != SPACE_PARAM)
            reader_fail(r, "%s is no parameter", word);
        if (i->space != SPACE_PARAM && i->space != v->space)
            reader_fail(r, "%s: %s is in another space", i->name, word);
    } else {
        reader_fail(r, "there is no variable %s", word);
    }
    if (reader_take(r, '+'))
        i->offset += (int64_t)reader_number(r);
    else if (reader_skip(r), *r->p == '-')
        i->offset += (int64_t)reader_number(r);
    reader_need(r, ']');
}

/* ---- Families ---- */

/* ld.volatile.global.L1::no_allocate.v4.f32: what does not change a result is skipped. */
static bool is_hint(const char *w) {
    static const char *const hints[] = {"nc", "ca",   "cg",       "cs",  "cv",  "lu", "wb",
                                        "wt", "weak", "volatile", "cta", "gpu", "sys"};
    for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
        if (!strcmp(w, hints[k])) return true;
    return !strncmp(w, "L1::", 4) || !strncmp(w, "L2::", 4);
}
static bool space_word(const char *w, uint8_t *space) {
    static const char *const names[] = {"", "global", "shared", "local", "param", "const"};
    if (!strcmp(w, "shared::cta")) return *space = SPACE_SHARED, true;
    for (uint8_t k = SPACE_GLOBAL; k <= SPACE_CONST; k++)
        if (!strcmp(w, names[k])) return *space = k, true;
    return false;
}
static bool is_order(const char *w) {
    return !strcmp(w, "relaxed") || !strcmp(w, "acquire") || !strcmp(w, "release") ||
           !strcmp(w, "acq_rel");
}
static void value_list(Reader *r, Ins *i, bool is_store) {
    bool has_braces = reader_take(r, '{');
    int n = 0;
    do {
        if (n == i->vec) {
            reader_fail(r, "%s: more values than it has room for", i->name);
            return;
        }
        Operand o = operand(r, i->bits);
        if (!is_store) need_register(r, &o, i);
        if (o.bits && o.bits < i->bits && !(o.bits == 16 && i->bits == 8))
            check_bits(r, i, &o, i->bits);
        int32_t *slot = is_store ? i->s : i->d;
        (is_store ? i->s_bits : i->d_bits)[n] = o.bits ? o.bits : i->bits;
        slot[n++] = o.slot;
    } while (has_braces && reader_take(r, ','));
    if (has_braces) reader_need(r, '}');
    if (n != i->vec) reader_fail(r, "%s: %d values", i->name, n);
    if (is_store)
        i->n_s = (uint8_t)n;
    else
        i->n_d = (uint8_t)n;
}
static void load_store(Reader *r, const Name *name, Ins *i, bool is_store) {
    bool is_float;
    int bits = last_type(name, &i->is_signed, &is_float);
    if (bits < 8) reader_fail(r, "%s: the type is not known", i->name);
    i->vec = 1;
    for (int k = 1; k < name->n - 1; k++) {
        const char *w = name->part[k];
        if (w[0] == 'v' && isdigit((unsigned char)w[1]) && !w[2])
            i->vec = (uint8_t)(w[1] - '0');
        else if (is_order(w))
            i->is_sync = true;
        else if (!space_word(w, &i->space) && !is_hint(w))
            reader_fail(r, "%s: .%s is not known", i->name, w);
    }
    if (i->vec != 1 && i->vec != 2 && i->vec != 4)
        reader_fail(r, "%s: .v%d is not known", i->name, i->vec);
    i->bits = (uint8_t)bits, i->bytes = (uint8_t)(bits / 8);
    if (i->vec * i->bytes > 16) reader_fail(r, "%s: more than 16 bytes", i->name);
    if (r->bad) return;
    if (is_store) address(r, i), reader_need(r, ',');
    value_list(r, i, is_store);
    if (!is_store) reader_need(r, ','), address(r, i);
}
static void atom(Reader *r, const Name *name, Ins *i) {
    static const struct {
        const char *name;
        char mode;
    } ops[] = {{"add", '+'}, {"min", '<'},  {"max", '>'}, {"and", '&'}, {"or", '|'},
               {"xor", '^'}, {"exch", '='}, {"cas", 'c'}, {"inc", 'i'}, {"dec", 'd'}};
    bool is_float, is_red = !strcmp(name->part[0], "red");
    int bits = last_type(name, &i->is_signed, &is_float);
    for (int k = 1; k < name->n - 1; k++) {
        const char *w = name->part[k];
        bool known = space_word(w, &i->space) || is_hint(w) || is_order(w);
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
            if (!strcmp(w, ops[o].name)) i->mode = (uint8_t)ops[o].mode, known = true;
        if (!known) reader_fail(r, "%s: .%s is not known", i->name, w);
    }
    if (is_float) reader_fail(r, "%s: floats are added in no order", i->name);
    if (bits < 32 || !i->mode) reader_fail(r, "%s: it is not known", i->name);
    if (r->bad) return;
    i->bits = (uint8_t)bits, i->bytes = (uint8_t)(bits / 8), i->vec = 1;
    if (!is_red) dest(r, i, bits), reader_need(r, ',');
    address(r, i);
    while (!r->bad && i->n_s < 2 && reader_take(r, ',')) source(r, i, bits);
    if (i->n_s != (i->mode == 'c' ? 2 : 1)) reader_fail(r, "%s: %d operands", i->name, i->n_s);
}
static void set_dest_pred(Reader *r, Ins *i) {
    if (reader_take(r, '|')) dest(r, i, 1);
    reader_need(r, ',');
}
/* shfl, vote, match, redux: the last operand is the mask of their members. */
static void warp_wide(Reader *r, const Name *name, Ins *i) {
    const char *op = name->part[0],
               *how = name->n > 2 ? name->part[!strcmp(name->part[1], "sync") ? 2 : 1] : "";
    bool is_float;
    int bits = last_type(name, &i->is_signed, &is_float);
    if (!has(name, "sync") || is_float) reader_fail(r, "%s: it is not known", i->name);
    if (r->bad) return;
    i->bits = (uint8_t)bits, i->mode = (uint8_t)how[0];
    if (!strcmp(op, "shfl")) {
        if (bits != 32 || !strchr("bdui", how[0])) reader_fail(r, "%s: it is not known", i->name);
        i->kind = KIND_SHFL;
        dest(r, i, 32), set_dest_pred(r, i);
        source(r, i, 32), reader_need(r, ','), source(r, i, 32), reader_need(r, ','),
            source(r, i, 32);
    } else if (!strcmp(op, "vote")) {
        i->kind = KIND_VOTE;
        if (!strcmp(how, "any"))
            i->mode = 'n';
        else if (!strcmp(how, "ballot") ? bits != 32 : strcmp(how, "all") && strcmp(how, "uni"))
            reader_fail(r, "%s: it is not known", i->name);
        dest(r, i, bits ? bits : 1), reader_need(r, ',');
        predicate(r, &i);
    } else if (!strcmp(op, "match")) {
        i->kind = KIND_MATCH;
        i->mode = !strcmp(how, "any") ? 'n' : 'a';
        dest(r, i, 32), set_dest_pred(r, i);
        source(r, i, bits);
    } else {
        static const char *const hows[] = {"add", "min", "max", "and", "or", "xor"};
        i->kind = KIND_REDUX;
        i->mode = 0;
        for (int k = 0; k < 6; k++)
            if (!strcmp(how, hows[k])) i->mode = (uint8_t) "+<>&|^"[k];
        if (!i->mode || bits != 32) reader_fail(r, "%s: it is not known", i->name);
        dest(r, i, 32), reader_need(r, ','), source(r, i, 32);
    }
    reader_need(r, ',');
    source(r, i, 32);
}
static void barrier(Reader *r, const Name *name, Ins *i) {
    if (has(name, "warp")) {
        i->kind = KIND_WARP_SYNC;
        source(r, i, 32);
        return;
    }
    i->kind = KIND_BARRIER;
    if (!has(name, "sync") && !has(name, "red")) reader_fail(r, "%s: it is not known", i->name);
    if (has(name, "red")) {
        i->mode = has(name, "popc") ? 'p' : has(name, "and") ? 'a' : 'o';
        dest(r, i, i->mode == 'p' ? 32 : 1);
        reader_need(r, ',');
    }
    reader_skip(r);
    if (!is_number(r->p) || reader_number(r))
        reader_fail(r, "%s: only barrier 0 is known", i->name);
    if (i->mode) {
        reader_need(r, ',');
        predicate(r, &i);
    }
    reader_skip(r);
    if (*r->p == ',') reader_fail(r, "%s: a barrier for some threads is not known", i->name);
}
static void call(Reader *r, Ins *i) {
    char word[WORD_MAX];
    i->kind = KIND_CALL;
    if (reader_take(r, '(')) {
        do {
            reader_word(r, word);
            const Var *v = reader_var(r, word);
            if (r->bad || !v || v->space != SPACE_PARAM || i->n_d == OPERANDS)
                reader_fail(r, "%s is no result", word);
            else
                i->d[i->n_d++] = (int32_t)v->at;
        } while (!r->bad && reader_take(r, ','));
        reader_need(r, ')'), reader_need(r, ',');
    }
    reader_word(r, word);
    i->target = ptx_find(r->m, word);
    if (i->target < 0) reader_fail(r, "there is no function %s", word);
    if (!r->bad && reader_take(r, ',')) {
        reader_need(r, '(');
        if (!reader_take(r, ')')) {
            do {
                reader_word(r, word);
                const Var *v = reader_var(r, word);
                if (r->bad || !v || v->space != SPACE_PARAM || i->n_s == OPERANDS)
                    reader_fail(r, "%s is no argument", word);
                else
                    i->s[i->n_s++] = (int32_t)v->at;
            } while (!r->bad && reader_take(r, ','));
            reader_need(r, ')');
        }
    }
    if (r->bad) return;
    const Function *f = &r->m->function[i->target];
    if (f->is_entry || f->n_results != i->n_d || f->n_params != i->n_s)
        reader_fail(r, "%s has other parameters", f->name);
}
static void mov(Reader *r, const Name *name, Ins *i) {
    bool is_signed, is_float;
    int bits = last_type(name, &is_signed, &is_float);
    reader_skip(r);
    bool is_unpack = *r->p == '{';
    const char *p = r->p;
    bool is_pack = false;
    while (*p && *p != ';' && *p != ',') p++;
    for (p += *p != 0; *p == ' ' || *p == '\t'; p++) continue;
    is_pack = !is_unpack && *p == '{';
    if (!is_unpack && !is_pack) {
        Operand d = operand(r, bits ? bits : 1);
        need_register(r, &d, i);
        check_bits(r, i, &d, bits ? bits : 1);
        reader_need(r, ',');
        i->d[i->n_d++] = d.slot, i->d_bits[0] = (uint8_t)(bits ? bits : 1);
        source(r, i, bits ? bits : 1);
        return;
    }
    i->kind = is_pack ? KIND_PACK : KIND_UNPACK;
    i->bits = (uint8_t)bits;
    if (is_pack) dest(r, i, bits), reader_need(r, ',');
    Operand o[4];
    int n = 0;
    reader_need(r, '{');
    do o[n++] = operand(r, 0);
    while (!r->bad && n < 4 && reader_take(r, ','));
    reader_need(r, '}');
    if (bits < 16 || (n != 2 && n != 4) || bits / n < 8)
        reader_fail(r, "%s: of %d parts", i->name, n);
    for (int k = 0; k < n && !r->bad; k++) {
        check_bits(r, i, &o[k], bits / n == 8 ? 16 : bits / n);
        if (is_pack)
            i->s[i->n_s++] = o[k].slot;
        else
            i->d_bits[i->n_d] = (uint8_t)(bits / n), i->d[i->n_d++] = o[k].slot;
    }
    if (!is_pack) reader_need(r, ','), source(r, i, bits);
}
/* A row of the table; setp may have a third operand and two results. */
static void row(Reader *r, Ins *i, const LaneOp *op, int mode) {
    i->op = op;
    i->mode = (uint8_t)mode;
    if (mode) i->kind = KIND_SETP;
    const char *w = op->widths;
    for (; *w != '='; w++) { dest(r, i, *w == 'b' ? 16 : letter_bits(*w)); }
    if ((op->facts & IS_COMPARISON) && reader_take(r, '|')) {
        i->kind = KIND_SETP;
        dest(r, i, 1);
    }
    for (w++; *w && !r->bad; w++) {
        reader_need(r, ',');
        row_source(r, &i, *w);
    }
    if (mode) reader_need(r, ','), predicate(r, &i);
}
static void by_name(Reader *r, const char *text, const Name *name, Ins *i) {
    const LaneOp *op = lanes_find(text);
    if (!op && !strcmp(name->part[0], "setp") && name->n == 4) {
        char plain[3 * PART_MAX + 8];
        snprintf(plain, sizeof plain, "setp.%s.%s", name->part[1], name->part[3]);
        const char *how = name->part[2];
        op = lanes_find(plain);
        if (op && (!strcmp(how, "and") || !strcmp(how, "or") || !strcmp(how, "xor"))) {
            row(r, i, op, how[0]);
            return;
        }
        op = NULL;
    }
    if (op) {
        row(r, i, op, 0);
        return;
    }
    const char *why = lanes_refusal(text);
    if (why)
        reader_fail(r, "%s: %s", text, why);
    else
        reader_fail(r, "the instruction %s is not known", text);
}
static void cvta(Reader *r, const Name *name, Ins *i) {
    i->kind = KIND_CVTA;
    i->is_to = has(name, "to");
    for (int k = 1; k < name->n - 1; k++)
        if (strcmp(name->part[k], "to") && !space_word(name->part[k], &i->space))
            reader_fail(r, "%s: it is not known", i->name);
    if (strcmp(name->part[name->n - 1], "u64") != 0) reader_fail(r, "%s: it is not known", i->name);
    dest(r, i, 64), reader_need(r, ','), source(r, i, 64);
}
static void family(Reader *r, const char *text, const Name *name, Ins *i) {
    const char *op = name->part[0];
    if (!strcmp(op, "ld") || !strcmp(op, "ldu"))
        i->kind = KIND_LOAD, load_store(r, name, i, false);
    else if (!strcmp(op, "st"))
        i->kind = KIND_STORE, load_store(r, name, i, true);
    else if (!strcmp(op, "mov") && name->n == 2 && lanes_find(text))
        i->op = lanes_find(text), mov(r, name, i);
    else if (!strcmp(op, "bra")) {
        char label[WORD_MAX];
        i->kind = KIND_BRANCH;
        reader_word(r, label);
        if (!r->bad) i->target = reader_label(r, label);
    } else if (!strcmp(op, "ret"))
        i->kind = KIND_RETURN;
    else if (!strcmp(op, "exit"))
        i->kind = KIND_EXIT;
    else if (!strcmp(op, "trap"))
        i->kind = KIND_TRAP;
    else if (!strcmp(op, "call"))
        call(r, i);
    else if (!strcmp(op, "cvta"))
        cvta(r, name, i);
    else if (!strcmp(op, "atom") || !strcmp(op, "red"))
        i->kind = KIND_ATOM, atom(r, name, i);
    else if (!strcmp(op, "shfl") || !strcmp(op, "vote") || !strcmp(op, "match") ||
             !strcmp(op, "redux"))
        warp_wide(r, name, i);
    else if (!strcmp(op, "activemask"))
        i->kind = KIND_ACTIVE, dest(r, i, 32);
    else if (!strcmp(op, "bar") || !strcmp(op, "barrier"))
        barrier(r, name, i);
    else if (!strcmp(op, "membar") || !strcmp(op, "fence"))
        i->kind = KIND_FENCE;
    else
        by_name(r, text, name, i);
}
static void leave_out(Reader *r, Ins *i, uint32_t used) {
    uint32_t value = (1u << i->bytes) - 1;
    for (int k = 0; i->kind == KIND_LOAD && k < i->vec; k++)
        if (!(used >> (k * i->bytes) & value)) i->unused |= (uint8_t)(1u << k);
    if (i->kind != KIND_LOAD || i->unused == (1u << i->vec) - 1)
        reader_fail(r, "%s: used_bytes_mask does not belong to it", i->name);
}
void reader_instruction(Reader *r, const char *word) {
    char text[WORD_MAX];
    Operand guard = {.slot = -1};
    bool is_not = false;
    if (reader_take(r, '@')) {
        is_not = reader_take(r, '!');
        reader_word(r, text);
        if (r->bad) return;
        guard = register_operand(r, text);
        if (guard.bits != 1) reader_fail(r, "the guard %s is no predicate", text);
        reader_word(r, text);
    } else {
        snprintf(text, sizeof text, "%s", word);
    }
    Name name = split(r, text);
    if (r->bad || !name.n) {
        reader_fail(r, "an instruction is missing");
        return;
    }
    if (strlen(text) >= sizeof((Ins *)0)->name) {
        reader_fail(r, "the instruction '%.40s' is not known", text);
        return;
    }
    int first = r->m->n_ins;
    family(r, text, &name, add(r, KIND_LANES, text));
    for (int k = first; k < r->m->n_ins; k++)
        if (!r->m->ins[k].is_hidden)
            r->m->ins[k].guard = guard.slot, r->m->ins[k].is_guard_not = is_not;
    if (r->used_bytes && !r->bad) leave_out(r, &r->m->ins[r->m->n_ins - 1], r->used_bytes);
    r->used_bytes = 0;
    reader_need(r, ';');
}
