/* ptx.c: reads PTX modules: directives, variables, functions, registers, labels. Instructions are
 * ptx_ins.c's.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/ptx.h"
#include "tests/gpu/ptx_reader.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words ---- */

void reader_fail(Reader *r, const char *format, ...) {
    if (r->bad) return;
    r->bad = true;
    int n = snprintf(r->err, r->err_size, "PTX line %d: ", r->line);
    if (n < 0 || (size_t)n >= r->err_size) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->err + n, r->err_size - (size_t)n, format, ap);
    va_end(ap);
}
void *reader_grow(void *list, int n, int *cap, size_t size) {
    if (n < *cap) return list;
    *cap = *cap ? 2 * *cap : 16;
    list = realloc(list, (size_t)*cap * size);
    if (!list) abort();
    return list;
}
void reader_skip(Reader *r) {
    for (; *r->p; r->p++) {
        if (*r->p == '\n') r->line++;
        if (isspace((unsigned char)*r->p)) continue;
        if (r->p[0] == '/' && r->p[1] == '/') {
            while (r->p[1] && r->p[1] != '\n') r->p++;
        } else if (r->p[0] == '/' && r->p[1] == '*') {
            r->p += 2;
            for (; *r->p && !(r->p[0] == '*' && r->p[1] == '/'); r->p++) r->line += *r->p == '\n';
            if (!*r->p) {
                reader_fail(r, "a comment does not end");
                return;
            }
            r->p++;
        } else {
            return;
        }
    }
}
bool reader_take(Reader *r, char c) {
    reader_skip(r);
    if (*r->p != c || !c) return false;
    r->p++;
    return true;
}
void reader_need(Reader *r, char c) {
    if (!reader_take(r, c)) reader_fail(r, "'%c' is missing before '%.20s'", c, r->p);
}
static bool is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}
void reader_word(Reader *r, char word[WORD_MAX]) {
    reader_skip(r);
    size_t n = 0;
    while (is_letter(*r->p) || (r->p[0] == ':' && r->p[1] == ':')) {
        size_t step = *r->p == ':' ? 2 : 1;
        if (n + step >= WORD_MAX) {
            reader_fail(r, "a word of more than %d letters", WORD_MAX - 1);
            word[0] = 0;
            return;
        }
        while (step--) word[n++] = *r->p++;
    }
    word[n] = 0;
    if (!n) reader_fail(r, "a word is missing before '%.20s'", r->p);
}
uint64_t reader_number(Reader *r) {
    reader_skip(r);
    bool is_negative = *r->p == '-';
    if (is_negative) r->p++;
    const char *from = r->p;
    char *end = NULL;
    bool is_float = from[0] == '0' && from[1] && strchr("fFdD", from[1]);
    uint64_t v = 0;
    if (is_float && isxdigit((unsigned char)from[2]))
        v = strtoull(from + 2, &end, 16);
    else if (isdigit((unsigned char)*from))
        v = strtoull(from, &end, 0);
    if (!end || end == from) {
        reader_fail(r, "a number is missing before '%.20s'", r->p);
        return 0;
    }
    if (is_float && end - from != (from[1] == 'f' || from[1] == 'F' ? 10 : 18))
        reader_fail(r, "'%.18s' has not the digits of a float", from);
    r->p = end;
    if (*r->p == 'U') r->p++;
    if (is_letter(*r->p)) reader_fail(r, "'%.20s' is no number", from);
    return is_negative ? 0 - v : v;
}
int reader_type(const char *word) {
    static const struct {
        const char *name;
        int bits;
    } types[] = {{".pred", 0}, {".b8", 8},   {".u8", 8},   {".s8", 8},    {".b16", 16},
                 {".u16", 16}, {".s16", 16}, {".f16", 16}, {".bf16", 16}, {".b32", 32},
                 {".u32", 32}, {".s32", 32}, {".f32", 32}, {".b64", 64},  {".u64", 64},
                 {".s64", 64}, {".f64", 64}};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (!strcmp(types[k].name, word)) return types[k].bits;
    return -1;
}

/* ---- Names ---- */

int32_t reader_slot(Reader *r, int bits) {
    uint32_t size = bits > 32 ? SLOT_64 : SLOT_32, at = r->f->frame_bytes;
    if (at > FRAME_MAX - size) {
        reader_fail(r, "%s has too many registers", r->f->name);
        return SLOT_NOWHERE;
    }
    r->f->frame_bytes += size;
    return (int32_t)at;
}
const Var *reader_var(const Reader *r, const char *name) {
    for (int i = r->f ? r->f->n_vars : 0; i-- > 0;)
        if (!strcmp(r->f->var[i].name, name)) return &r->f->var[i];
    for (int i = r->m->n_vars; i-- > 0;)
        if (!strcmp(r->m->var[i].name, name)) return &r->m->var[i];
    return NULL;
}
const Registers *reader_register(const Reader *r, const char *name, int *number) {
    *number = 0;
    for (int i = r->n_registers; i-- > 0;) {
        const Registers *g = &r->registers[i];
        size_t n = strlen(g->prefix);
        if (strncmp(name, g->prefix, n) != 0) continue;
        if (!g->count) {
            if (!name[n]) return g;
            continue;
        }
        if (!isdigit((unsigned char)name[n]) || strlen(name + n) > 7) continue;
        char *end;
        long k = strtol(name + n, &end, 10);
        if (*end || k >= g->count) continue;
        *number = (int)k;
        return g;
    }
    return NULL;
}
int reader_label(Reader *r, const char *name) {
    for (int i = 0; i < r->n_labels; i++)
        if (!strcmp(r->label[i].name, name)) return i;
    r->label = reader_grow(r->label, r->n_labels, &r->cap_labels, sizeof *r->label);
    Label *l = &r->label[r->n_labels];
    snprintf(l->name, sizeof l->name, "%s", name);
    l->at = -1, l->line = r->line;
    return r->n_labels++;
}
int ptx_find(const Ptx *p, const char *name) {
    for (int i = 0; i < p->n_functions; i++)
        if (!strcmp(p->function[i].name, name)) return i;
    return -1;
}

/* ---- Variables ---- */

static void initial_values(Reader *r, const Var *v, uint32_t size, uint8_t **initial) {
    *initial = calloc(1, (size_t)v->bytes + 8);
    if (!*initial) abort();
    bool has_braces = reader_take(r, '{');
    uint64_t at = 0;
    do {
        uint64_t x = reader_number(r);
        if (at + size > v->bytes) reader_fail(r, "%s has more values than room", v->name);
        if (r->bad) return;
        memcpy(*initial + at, &x, size);
        at += size;
    } while (has_braces && reader_take(r, ','));
    if (has_braces) reader_need(r, '}');
}
/* After the space: [.align N] .type name[n][m] [= values]. initial: NULL where none may be. */
static Var variable(Reader *r, Space space, uint8_t **initial) {
    Var v = {.space = (uint8_t)space, .align = 1};
    uint32_t size = 0;
    char word[WORD_MAX];
    for (;;) {
        reader_word(r, word);
        if (r->bad) return v;
        int bits = reader_type(word);
        if (!strcmp(word, ".align")) {
            uint64_t n = reader_number(r);
            if (!n || n > VARS_ALIGN || (n & (n - 1)))
                reader_fail(r, "alignment is not a power of 2 up to 256");
            v.align = (uint32_t)n;
        } else if (bits > 0) {
            size = (uint32_t)bits / 8;
            if (v.align < size) v.align = size;
        } else if (!strcmp(word, ".ptr") || !strcmp(word, ".global") || !strcmp(word, ".const") ||
                   !strcmp(word, ".shared") || !strcmp(word, ".local")) {
            if (!strcmp(word, ".ptr")) { /* what a parameter points to: .ptr .global .align 4 */
                uint32_t align = v.align;
                reader_skip(r);
                if (!strncmp(r->p, ".align", 6)) r->p += 6, reader_number(r);
                v.align = align;
            }
        } else {
            break;
        }
    }
    if (!size) reader_fail(r, "'%.40s' has no type", word);
    if (word[0] == '.') reader_fail(r, "'%.40s' is not known in a declaration", word);
    snprintf(v.name, sizeof v.name, "%s", word);
    uint64_t n = 1;
    while (!r->bad && reader_take(r, '[')) {
        if (reader_take(r, ']')) {
            n = 0;
            continue;
        }
        uint64_t k = reader_number(r);
        reader_need(r, ']');
        n = k > BYTES_MAX ? BYTES_MAX + 1ull : n * k;
        if (n > BYTES_MAX) reader_fail(r, "%s is too large", v.name);
    }
    if (n * size > BYTES_MAX) reader_fail(r, "%s is too large", v.name);
    if (r->bad) return v;
    v.bytes = (uint32_t)(n * size);
    if (initial && reader_take(r, '=')) initial_values(r, &v, size, initial);
    return v;
}
/* Places v behind what is there; `gap` bytes stay free, so that running over an end is seen. */
static void place(Reader *r, uint32_t *at, uint32_t gap, Var *v) {
    uint64_t from = ((uint64_t)*at + v->align - 1) / v->align * v->align;
    if (from + v->bytes + gap > BYTES_MAX) reader_fail(r, "%s is too large", v->name);
    if (r->bad) return;
    v->at = from;
    *at = (uint32_t)from + v->bytes + gap;
}
static void add_shared(Reader *r, int function, const Var *v) {
    Ptx *m = r->m;
    m->shared = reader_grow(m->shared, m->n_shared, &m->cap_shared, sizeof *m->shared);
    m->shared[m->n_shared++] = (SharedVar){function, (uint32_t)v->at, v->bytes};
}
static void add_local_var(Reader *r, const Var *v) {
    Function *f = r->f;
    f->var = reader_grow(f->var, f->n_vars, &f->cap_vars, sizeof *f->var);
    f->var[f->n_vars++] = *v;
}
static void module_variable(Reader *r, Space space) {
    uint8_t *initial = NULL;
    Var v = variable(r, space, &initial);
    if (!r->bad && space == SPACE_SHARED) {
        if (!v.bytes)
            v.at = SHARED_DYNAMIC;
        else
            place(r, &r->m->shared_bytes, SHARED_GAP, &v);
    } else if (!r->bad) {
        if (!v.bytes)
            reader_fail(r, "%s has no size", v.name);
        else if (!(v.at = r->place(r->ctx, &v)))
            reader_fail(r, "no memory for %s", v.name);
    }
    Ptx *m = r->m;
    int cap = m->cap_vars;
    m->initial = reader_grow(m->initial, m->n_vars, &cap, sizeof *m->initial);
    m->var = reader_grow(m->var, m->n_vars, &m->cap_vars, sizeof *m->var);
    m->initial[m->n_vars] = initial;
    m->var[m->n_vars++] = v;
    reader_need(r, ';');
}

/* ---- Functions ---- */

static void parameters(Reader *r, int *count) {
    if (!reader_take(r, '(') || reader_take(r, ')')) return;
    do {
        char word[WORD_MAX];
        reader_word(r, word);
        if (!r->bad && strcmp(word, ".param") && strcmp(word, ".reg"))
            reader_fail(r, "'%s' where .param belongs", word);
        if (r->bad) return;
        Var v = variable(r, SPACE_PARAM, NULL);
        place(r, &r->f->param_bytes, 0, &v);
        if (r->bad) return;
        add_local_var(r, &v);
        ++*count;
    } while (reader_take(r, ','));
    reader_need(r, ')');
}
static void register_line(Reader *r) {
    char word[WORD_MAX];
    reader_word(r, word);
    int bits = r->bad ? -1 : reader_type(word);
    if (bits < 0 || bits == 8) reader_fail(r, "registers of type '%.20s' are not known", word);
    do {
        Registers g = {.bits = bits ? (uint8_t)bits : 1};
        reader_word(r, word);
        if (strlen(word) >= sizeof g.prefix) reader_fail(r, "a register's name is too long");
        if (r->bad) return;
        strcpy(g.prefix, word);
        uint64_t n = 1;
        if (reader_take(r, '<')) {
            n = reader_number(r);
            if (n > FRAME_MAX / SLOT_32) reader_fail(r, "too many registers");
            g.count = n ? (int)n : 1;
            reader_need(r, '>');
        }
        for (uint64_t k = 0; k < n && !r->bad; k++) {
            int32_t slot = reader_slot(r, g.bits);
            if (!k) g.slot = slot;
        }
        r->registers = reader_grow(r->registers, r->n_registers, &r->cap_registers, sizeof g);
        r->registers[r->n_registers++] = g;
    } while (!r->bad && reader_take(r, ','));
    reader_need(r, ';');
}
static void place_local(Reader *r, Var *v) {
    Function *f = r->f;
    uint32_t before = f->local_bytes;
    place(r, &f->local_bytes, SHARED_GAP, v);
    if (r->bad) return;
    f->local_is = realloc(f->local_is, f->local_bytes);
    if (!f->local_is) abort();
    memset(f->local_is + before, 0, f->local_bytes - before);
    memset(f->local_is + v->at, 1, v->bytes);
}
static void body_variable(Reader *r, const char *word) {
    Function *f = r->f;
    Space space = word[1] == 's' ? SPACE_SHARED : word[1] == 'l' ? SPACE_LOCAL : SPACE_PARAM;
    Var v = variable(r, space, NULL);
    if (r->bad) return;
    if (!v.bytes) reader_fail(r, "%s has no size", v.name);
    if (space == SPACE_LOCAL)
        place_local(r, &v);
    else if (space == SPACE_PARAM)
        place(r, &f->call_bytes, 0, &v);
    else if (f->is_entry)
        place(r, &f->shared_bytes, SHARED_GAP, &v), v.at += SHARED_ENTRY;
    else
        place(r, &r->m->shared_bytes, SHARED_GAP, &v);
    if (space == SPACE_SHARED) add_shared(r, f->is_entry ? (int)(f - r->m->function) : -1, &v);
    add_local_var(r, &v);
    reader_need(r, ';');
}
/* A load that is wider than what is used says so: the other bytes need not have been written. */
static void pragma(Reader *r) {
    static const char mask[] = "\"used_bytes_mask ";
    reader_skip(r);
    if (!strncmp(r->p, mask, sizeof mask - 1)) {
        r->p += sizeof mask - 1;
        r->used_bytes = (uint32_t)reader_number(r);
        reader_need(r, '"');
    } else {
        while (*r->p && *r->p != ';') r->p++;
    }
    reader_need(r, ';');
}
static void statement(Reader *r) {
    char word[WORD_MAX];
    reader_skip(r);
    if (*r->p == '@') {
        reader_instruction(r, "");
        return;
    }
    reader_word(r, word);
    if (r->bad) return;
    if (*r->p == ':') {
        r->p++;
        int k = reader_label(r, word);
        if (r->label[k].at >= 0) reader_fail(r, "the label %s is there twice", word);
        r->label[k].at = r->m->n_ins;
    } else if (!strcmp(word, ".reg")) {
        register_line(r);
    } else if (!strcmp(word, ".shared") || !strcmp(word, ".local") || !strcmp(word, ".param")) {
        body_variable(r, word);
    } else if (!strcmp(word, ".loc") || !strcmp(word, ".file")) {
        while (*r->p && *r->p != '\n') r->p++;
    } else if (!strcmp(word, ".pragma")) {
        pragma(r);
    } else {
        reader_instruction(r, word);
    }
}
/* Names of registers and variables end with their block. */
static void body(Reader *r) {
    int depth = 0, registers[BLOCK_DEPTH], vars[BLOCK_DEPTH];
    do {
        reader_skip(r);
        if (reader_take(r, '{')) {
            if (depth == BLOCK_DEPTH) {
                reader_fail(r, "blocks are too deep");
                return;
            }
            registers[depth] = r->n_registers, vars[depth++] = r->f->n_vars;
        } else if (reader_take(r, '}')) {
            depth--;
            r->n_registers = registers[depth], r->f->n_vars = vars[depth];
        } else if (!*r->p) {
            reader_fail(r, "%s does not end", r->f->name);
        } else {
            statement(r);
        }
    } while (depth && !r->bad);
}
static void find_targets(Reader *r, const Function *f) {
    for (int k = 0; k < r->n_labels; k++)
        if (r->label[k].at < 0) {
            r->line = r->label[k].line;
            reader_fail(r, "there is no label %s", r->label[k].name);
        }
    for (int k = f->first; k < f->first + f->n_ins && !r->bad; k++) {
        Ins *i = &r->m->ins[k];
        if (i->kind == KIND_BRANCH) i->target = r->label[i->target].at;
    }
}
static void directives(Reader *r) {
    char word[WORD_MAX];
    for (reader_skip(r); *r->p == '.' && !r->bad; reader_skip(r)) {
        reader_word(r, word);
        uint32_t product = 1;
        for (reader_skip(r); isdigit((unsigned char)*r->p) || *r->p == ','; reader_skip(r)) {
            if (*r->p == ',')
                r->p++;
            else
                product *= (uint32_t)reader_number(r);
        }
        if (!strcmp(word, ".maxntid")) r->f->max_threads = product;
    }
}
/* A declaration names parameters that its definition names again. */
static int add_function(Reader *r, Function *f) {
    Ptx *m = r->m;
    int k = ptx_find(m, f->name);
    if (k >= 0 && m->function[k].has_body && f->has_body)
        reader_fail(r, "%s is there twice", f->name);
    if (k < 0) {
        m->function = reader_grow(m->function, m->n_functions, &m->cap_functions, sizeof *f);
        k = m->n_functions++;
    } else if (m->function[k].has_body || r->bad) {
        free(f->var);
        return k;
    } else {
        free(m->function[k].var);
    }
    m->function[k] = *f;
    return k;
}
static void function(Reader *r, bool is_entry) {
    Function f = {.is_entry = is_entry, .frame_bytes = SLOT_FIRST};
    for (int k = 0; k < SPECIAL_COUNT; k++) f.special[k] = -1;
    r->f = &f;
    reader_skip(r);
    if (!is_entry && *r->p == '(') parameters(r, &f.n_results);
    reader_word(r, f.name);
    parameters(r, &f.n_params);
    directives(r);
    reader_skip(r);
    f.has_body = *r->p == '{';
    int k = add_function(r, &f);
    r->f = NULL;
    if (r->bad || reader_take(r, ';')) return;
    if (!r->m->function[k].has_body)
        reader_fail(r, "%s has neither a body nor a ';'", r->m->function[k].name);
    if (r->bad) return;
    Function *g = r->f = &r->m->function[k];
    g->first = r->m->n_ins;
    r->n_registers = r->n_labels = 0;
    body(r);
    reader_return(r);
    g->n_ins = r->m->n_ins - g->first;
    find_targets(r, g);
    r->f = NULL;
}

/* ---- Modules ---- */

static void directive(Reader *r) {
    char word[WORD_MAX];
    reader_word(r, word);
    if (r->bad) return;
    if (!strcmp(word, ".version") || !strcmp(word, ".target") || !strcmp(word, ".address_size") ||
        !strcmp(word, ".file")) {
        while (*r->p && *r->p != '\n') r->p++;
    } else if (!strcmp(word, ".entry") || !strcmp(word, ".func")) {
        function(r, word[1] == 'e');
    } else if (!strcmp(word, ".global")) {
        module_variable(r, SPACE_GLOBAL);
    } else if (!strcmp(word, ".const")) {
        module_variable(r, SPACE_CONST);
    } else if (!strcmp(word, ".shared")) {
        module_variable(r, SPACE_SHARED);
    } else if (strcmp(word, ".visible") != 0 && strcmp(word, ".weak") != 0 &&
               strcmp(word, ".extern") != 0 && strcmp(word, ".common") != 0) {
        reader_fail(r, "'%s' is not known here", word);
    }
}
static void check_shared(Reader *r) {
    const Ptx *m = r->m;
    if (m->shared_bytes > SHARED_ENTRY) reader_fail(r, "the module has too much shared memory");
    for (int k = 0; k < m->n_functions; k++)
        if (m->function[k].shared_bytes > SHARED_DYNAMIC - SHARED_ENTRY)
            reader_fail(r, "%s has too much shared memory", m->function[k].name);
}
Ptx *ptx_read(const char *text, PtxPlace *place_, void *ctx, char *err, size_t err_size) {
    Ptx *m = calloc(1, sizeof *m);
    if (!m) abort();
    Reader r = {.p = text,
                .line = 1,
                .err = err,
                .err_size = err_size,
                .m = m,
                .place = place_,
                .ctx = ctx};
    if (strncmp(text, "//", 2) != 0 && !strstr(text, ".version")) reader_fail(&r, "this is no PTX");
    for (reader_skip(&r); *r.p && !r.bad; reader_skip(&r)) directive(&r);
    check_shared(&r);
    free(r.registers);
    free(r.label);
    if (!r.bad) return m;
    ptx_free(m);
    return NULL;
}
void ptx_free(Ptx *p) {
    if (!p) return;
    for (int k = 0; k < p->n_functions; k++) {
        free(p->function[k].var);
        free(p->function[k].constant);
        free(p->function[k].local_is);
    }
    for (int k = 0; k < p->n_vars; k++) free(p->initial[k]);
    free(p->function);
    free(p->ins);
    free(p->var);
    free(p->shared);
    free(p->initial);
    free(p);
}
