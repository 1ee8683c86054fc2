/* inst.c: small functions on instructions and tensor types.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/inst.h"

#include <assert.h>
#include <string.h>

int64_t type_numel(const TensorType *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= t->shape[i];
    return n;
}

uint64_t type_bytes(const TensorType *t) {
    return (uint64_t)type_numel(t) * (uint64_t)dtype_info[t->dtype].size_bytes;
}

/* Writes the decimal digits of v at p. Returns the end. */
static char *put_int(char *p, int64_t v) {
    char digits[20];
    int n = 0;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) *p++ = '-';
    while (n) *p++ = digits[--n];
    return p;
}

const char *type_shape_text(const TensorType *t, char *buf) {
    char *p = buf;
    *p++ = '(';
    for (int i = 0; i < t->rank; i++) {
        if (i) *p++ = ',', *p++ = ' ';
        p = put_int(p, t->shape[i]);
    }
    *p++ = ')', *p = 0;
    return buf;
}

const char *type_text(const TensorType *t, char *buf) {
    const char *name = dtype_info[t->dtype].text;
    size_t n = strlen(name);
    memcpy(buf, name, n);
    char *p = buf + n;
    *p++ = '[';
    for (int i = 0; i < t->rank; i++) {
        if (i) *p++ = ',';
        p = put_int(p, t->shape[i]);
    }
    *p++ = ']', *p = 0;
    return buf;
}

const Attr *inst_attr(const Inst *in, AttrKey key) {
    for (int i = 0; i < in->n_attr; i++)
        if (in->attr[i].key == key) return &in->attr[i];
    return NULL;
}

int64_t inst_int(const Inst *in, AttrKey key, int64_t missing) {
    assert(attr_info[key].type == AT_INT);
    const Attr *a = inst_attr(in, key);
    return a ? a->i : missing;
}

bool inst_bool(const Inst *in, AttrKey key, bool missing) {
    assert(attr_info[key].type == AT_BOOL);
    const Attr *a = inst_attr(in, key);
    return a ? a->b : missing;
}

bool inst_declared_type(const Inst *inst, TensorType *type) {
    const Attr *dtype = inst_attr(inst, ATTR_DTYPE), *shape = inst_attr(inst, ATTR_SHAPE);
    if (!dtype || dtype->dtype >= DT_COUNT || !shape || shape->n > MAX_DIMS) return false;
    *type = (TensorType){.dtype = (uint8_t)dtype->dtype, .rank = (uint8_t)shape->n};
    int64_t numel = 1;
    for (uint32_t i = 0; i < shape->n; i++) {
        type->shape[i] = shape->ints[i];
        if (shape->ints[i] < 0 || __builtin_mul_overflow(numel, shape->ints[i], &numel) ||
            numel > MAX_NUMEL)
            return false;
    }
    return true;
}

Inst *inst_copy(const Inst *in, Arena *arena) {
    Inst *c = arena_alloc(arena, sizeof *c);
    *c = *in;
    if (in->n_in) {
        c->in = memcpy(arena_alloc(arena, in->n_in * sizeof *in->in), in->in,
                       in->n_in * sizeof *in->in);
    }
    if (!in->n_attr) return c;
    Attr *attr = arena_alloc(arena, in->n_attr * sizeof *attr);
    for (int i = 0; i < in->n_attr; i++) {
        attr[i] = in->attr[i];
        AttrType type = attr_info[attr[i].key].type;
        if (type == AT_STR) attr[i].str = arena_strndup(arena, attr[i].str, attr[i].n);
        if (type == AT_INTS && attr[i].n)
            attr[i].ints = memcpy(arena_alloc(arena, attr[i].n * sizeof(int64_t)), attr[i].ints,
                                  attr[i].n * sizeof(int64_t));
    }
    c->attr = attr;
    return c;
}
