/* value.c: creates, compares and frees values. A container without references goes onto the
 * interpreter's `dead` list and is freed in a loop, so that freeing a list nested a million deep
 * does not recurse, and Ctrl-C ends it: the next value that is freed, or the waiting prompt, goes
 * on. Maps are in mapv.c, text in text.c, tensors in tensor.c.
 * SPDX-License-Identifier: MIT */
#include "lang/value/interp.h"
#include "lang/value/mapv.h"
#include "lang/value/value.h"
#include "lang/error/interrupt.h"
#include "runtime/base/utf8.h"
#include "runtime/base/map.h"
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { EQUAL_DEPTH = 1000 }; /* limit of nesting for ==; deeper containers compare by identity */

/* ---- strings ---- */

Value v_str(const char *s, size_t n) {
    assert(n < UINT32_MAX);
    Str *str = xmalloc(sizeof *str + n + 1);
    *str = (Str){.h = {1, V_STR}, .n = (uint32_t)n, .n_chars = UINT32_MAX, .s = str->own};
    if (s) memcpy(str->s, s, n);
    str->s[n] = 0;
    return (Value){.kind = V_STR, .str = str};
}

Value v_cstr(const char *s) { return v_str(s, strlen(s)); }

size_t str_chars(Str *s) {
    if (s->n_chars == UINT32_MAX) s->n_chars = (uint32_t)utf8_count(s->s, s->n);
    return s->n_chars;
}

typedef struct MappedStr {
    Str str;
    Buf *file;
    uint32_t *mark;
} MappedStr;

Value v_str_mapped(Buf *file, size_t n_chars, const uint32_t *mark) {
    assert(file->n < UINT32_MAX);
    size_t n = (n_chars / STR_MARK + 1) * sizeof *mark;
    MappedStr *m = xmalloc(sizeof *m);
    *m = (MappedStr){.str = {.h = {1, V_STR},
                             .n = (uint32_t)file->n,
                             .n_chars = (uint32_t)n_chars,
                             .s = (char *)file->data},
                     .file = file,
                     .mark = memcpy(xmalloc(n), mark, n)};
    return (Value){.kind = V_STR, .str = &m->str};
}

static bool is_mapped(const Str *s) { return s->s != s->own; }

static void mapped_free(MappedStr *m) {
    buf_unref(&m->file);
    free(m->mark);
    free(m);
}

size_t str_offset(Str *s, size_t i) {
    if (str_chars(s) == s->n) return i;
    size_t from = is_mapped(s) ? ((MappedStr *)s)->mark[i / STR_MARK] : 0;
    size_t left = is_mapped(s) ? i % STR_MARK : i;
    return from + utf8_skip(s->s + from, s->n - from, left);
}

uint64_t str_hash(Str *s) {
    if (!s->hash) {
        s->hash = hash_bytes(s->s, s->n, 0) | 1;
        if (is_mapped(s)) file_map_note(s->s, s->n);
    }
    return s->hash;
}

const char *value_name(Value v) { return v.kind == V_STR ? intern(v.str->s, v.str->n) : NULL; }

/* ---- containers ---- */

void *container_new(Interp *in, ValueKind kind, size_t size_bytes) {
    Container *c = xcalloc(1, size_bytes);
    c->h = (Heap){1, (uint8_t)kind};
    c->in = in;
    c->next = in->containers.next;
    c->prev = &in->containers;
    c->next->prev = c;
    in->containers.next = c;
    in->n_containers++;
    return c;
}

static void container_unlink(Container *c) {
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->in->n_containers--;
}

Value v_list(Interp *in, size_t cap) {
    List *l = container_new(in, V_LIST, sizeof *l);
    if (cap) {
        l->v = xmalloc(cap * sizeof *l->v);
        l->cap = (uint32_t)cap;
    }
    return (Value){.kind = V_LIST, .list = l};
}

Value v_pair(Interp *in, Value a, Value b) {
    Value p = v_list(in, 2);
    list_push(p.list, a);
    list_push(p.list, b);
    return p;
}

Value v_range(int64_t start, int64_t stop, int64_t step) {
    assert(step != 0);
    Range *r = xmalloc(sizeof *r);
    *r = (Range){{1, V_RANGE}, start, stop, step};
    return (Value){.kind = V_RANGE, .range = r};
}

Value v_slice(Value start, Value stop, Value step) {
    Slice *s = xmalloc(sizeof *s);
    *s = (Slice){{1, V_SLICE}, start, stop, step};
    return (Value){.kind = V_SLICE, .slice = s};
}

int64_t range_count(const Range *r) {
    /* Unsigned, because the difference of two int64 fits uint64. */
    uint64_t span, step;
    if (r->step > 0) {
        if (r->stop <= r->start) return 0;
        span = (uint64_t)r->stop - (uint64_t)r->start;
        step = (uint64_t)r->step;
    } else {
        if (r->stop >= r->start) return 0;
        span = (uint64_t)r->start - (uint64_t)r->stop;
        step = 0 - (uint64_t)r->step;
    }
    uint64_t n = (span - 1) / step + 1;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

int64_t range_at(const Range *r, int64_t i) {
    return (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
}

void list_push(List *l, Value v) {
    if (l->n == l->cap) {
        assert(l->cap < UINT32_MAX / 2);
        l->cap = l->cap ? l->cap * 2 : 4;
        l->v = xrealloc(l->v, l->cap * sizeof *l->v);
    }
    l->v[l->n++] = v;
}

Value list_get(const List *l, int64_t i) {
    assert(i >= 0 && i < (int64_t)l->n);
    return l->v[i];
}

Value sequence_at(Value v, int64_t i) {
    return v.kind == V_LIST ? value_ref(v.list->v[i]) : v_int(range_at(v.range, i));
}

MapV *object_fields(const Object *o) { return o->field; }

void container_clear(Container *c) {
    switch (c->h.kind) {
    case V_LIST: {
        List *l = (List *)c;
        Value *v = l->v;
        uint32_t n = l->n;
        l->v = NULL;
        l->n = l->cap = 0;
        for (uint32_t i = 0; i < n; i++) value_drop(v[i]);
        free(v);
        break;
    }
    case V_MAP:
    case V_SET: mapv_clear((MapV *)c); break;
    case V_CELL: value_set(&((Cell *)c)->v, v_none()); break;
    case V_FN: {
        Fn *f = (Fn *)c;
        int n = f->n_cells;
        f->n_cells = 0;
        for (int i = 0; i < n; i++) value_drop((Value){.kind = V_CELL, .cell = f->cell[i]});
        break;
    }
    case V_BOUND:
        value_set(&((Bound *)c)->self, v_none());
        value_set(&((Bound *)c)->f, v_none());
        break;
    case V_MODULE: {
        Module *m = (Module *)c;
        Fn *make = m->make;
        MapV *method = m->method;
        m->make = NULL;
        m->method = NULL;
        if (make) value_drop((Value){.kind = V_FN, .fn = make});
        if (method) value_drop((Value){.kind = V_MAP, .map = method});
        break;
    }
    case V_OBJECT: {
        Object *o = (Object *)c;
        Module *m = o->module;
        MapV *field = o->field;
        o->module = NULL;
        o->field = NULL;
        if (field) value_drop((Value){.kind = V_MAP, .map = field});
        if (m) value_drop((Value){.kind = V_MODULE, .module = m});
        break;
    }
    default: panic("not a container: kind %d", c->h.kind);
    }
}

/* ---- freeing ---- */

enum { ASIDE_BYTES = 32 << 20 }; /* the kernel takes milliseconds for its pages */

static void *free_block(void *block) {
    free(block);
    return NULL;
}

/* Frees a block of n bytes, a large one in a thread. */
static void free_aside(void *block, size_t n) {
    pthread_t thread;
    if (n >= ASIDE_BYTES && !pthread_create(&thread, NULL, free_block, block))
        pthread_detach(thread);
    else
        free(block);
}

/* True if what is dead has to wait: Ctrl-C asks for the prompt. */
static bool must_wait(const Interp *in) { return interrupt_count && !in->is_ending; }

/* Drops the contents of a container on the dead list, from element `mark` on. False if Ctrl-C or
 * the end of the slice came first: then mark says where to go on. */
static bool clear_dead(Container *c, size_t *slice) {
    bool is_list = c->h.kind == V_LIST, is_map = c->h.kind == V_MAP || c->h.kind == V_SET;
    List *l = (List *)c;
    MapV *m = (MapV *)c;
    if (!is_list && !is_map) {
        container_clear(c);
        return true;
    }
    for (uint32_t n = is_list ? l->n : m->n; c->mark < n; c->mark++) {
        if (must_wait(c->in) || !*slice) return false;
        --*slice;
        if (is_map) value_drop(m->entry[c->mark].key);
        value_drop(is_list ? l->v[c->mark] : m->entry[c->mark].value);
    }
    if (is_map) free_aside(m->index, m->index_cap * sizeof *m->index);
    if (is_map)
        free_aside(m->entry, m->cap * sizeof *m->entry);
    else
        free_aside(l->v, l->cap * sizeof *l->v);
    return true;
}

bool containers_free(Interp *in, size_t slice) {
    if (in->is_freeing) return true;
    in->is_freeing = true;
    for (Container *c; (c = in->dead) && slice && !must_wait(in);) {
        slice--;
        in->dead = c->next;
        if (clear_dead(c, &slice)) {
            free(c);
            continue;
        }
        c->next = in->dead; /* behind its contents, which are dead, too */
        in->dead = c;
    }
    in->is_freeing = false;
    return !in->dead;
}

static void container_free(Heap *h) {
    Container *c = (Container *)h;
    container_unlink(c);
    c->mark = 0;
    c->next = c->in->dead;
    c->in->dead = c;
    containers_free(c->in, SIZE_MAX);
}

void pieces_fini(Pieces *p) {
    for (int i = 0; i < p->n; i++) value_drop((Value){.kind = V_TENSOR, .tensor = p->t[i]});
    free(p->t);
    bytes_fini(&p->format);
    *p = (Pieces){0};
}

static void plain_free(Heap *h) { free(h); }

static void str_free(Heap *h) {
    if (is_mapped((Str *)h))
        mapped_free((MappedStr *)h);
    else if (interrupt_count)
        free_aside(h, ((Str *)h)->n);
    else
        free(h);
}

static void text_free(Heap *h) {
    pieces_fini(&((Text *)h)->p);
    free(h);
}

static void slice_free(Heap *h) {
    Slice *s = (Slice *)h;
    value_drop(s->start), value_drop(s->stop), value_drop(s->step);
    free(s);
}

void heap_free(Heap *h) {
    static void (*const free_of[])(Heap * h) = {
        [V_STR] = str_free,         [V_TEXT] = text_free,        [V_LIST] = container_free,
        [V_RANGE] = plain_free,     [V_MAP] = container_free,    [V_FN] = container_free,
        [V_BOUND] = container_free, [V_MODULE] = container_free, [V_OBJECT] = container_free,
        [V_TENSOR] = tensor_free,   [V_CELL] = container_free,   [V_SLICE] = slice_free,
        [V_ERROR] = plain_free,     [V_SET] = container_free,
    };
    free_of[h->kind](h);
}

/* ---- names and equality ---- */

const char *value_type_name(Value v) {
    static const char *const name[] = {
        [V_NONE] = "none",     [V_BOOL] = "bool",     [V_INT] = "int",      [V_FLOAT] = "float",
        [V_DTYPE] = "dtype",   [V_BUILTIN] = "fn",    [V_ELLIPSIS] = "...", [V_UNDEF] = "undefined",
        [V_STR] = "str",       [V_TEXT] = "str",      [V_LIST] = "list",    [V_RANGE] = "list",
        [V_MAP] = "map",       [V_FN] = "fn",         [V_BOUND] = "fn",     [V_MODULE] = "module",
        [V_OBJECT] = "object", [V_TENSOR] = "tensor", [V_CELL] = "cell",    [V_SLICE] = "slice",
        [V_ERROR] = "error",   [V_SET] = "set"};
    if (v.kind == V_OBJECT && v.obj->module) return v.obj->module->name;
    return name[v.kind];
}

int number_compare(Value a, Value b) {
    if (a.kind == V_BOOL) a = v_int(a.b);
    if (b.kind == V_BOOL) b = v_int(b.b);
    if (a.kind == V_INT && b.kind == V_INT) return (a.i > b.i) - (a.i < b.i);
    if (a.kind == V_FLOAT && b.kind == V_FLOAT)
        return isnan(a.f) || isnan(b.f) ? 2 : (a.f > b.f) - (a.f < b.f);
    if (a.kind == V_FLOAT) {
        int c = number_compare(b, a);
        return c == 2 ? 2 : -c;
    }
    if (isnan(b.f)) return 2;
    if (b.f >= 0x1p63) return -1;
    if (b.f < -0x1p63) return 1;
    int64_t whole = (int64_t)b.f;
    if (a.i != whole) return a.i > whole ? 1 : -1;
    double rest = b.f - (double)whole;
    return (rest < 0) - (rest > 0);
}

/* stops: Ctrl-C ends the comparison, whose result then means nothing. */
static bool equal(Value a, Value b, int depth, bool stops);

static bool sequence_equal(Value a, Value b, int depth, bool stops) {
    int64_t n = sequence_count(a);
    if (n != sequence_count(b)) return false;
    for (int64_t i = 0; i < n && !(stops && interrupt_count); i++)
        if (!equal(a.kind == V_LIST ? a.list->v[i] : v_int(range_at(a.range, i)),
                   b.kind == V_LIST ? b.list->v[i] : v_int(range_at(b.range, i)), depth + 1, stops))
            return false;
    return true;
}

static bool map_equal(const MapV *a, const MapV *b, int depth, bool stops) {
    if (map_count(a) != map_count(b)) return false;
    Value k, v;
    for (size_t i = 0; mapv_at(a, i, &k, &v) && !(stops && interrupt_count); i++) {
        const Value *w = map_find(b, k);
        if (!w || !equal(v, *w, depth + 1, stops)) return false;
    }
    return true;
}

/* True if a is the name or dtype of `of`: type(x) == str, x.dtype == bool, type(m) == Linear. */
static bool names_kind(Value a, Value of) {
    const char *name = of.kind == V_MODULE ? of.module->name : of.builtin->name;
    if (a.kind == V_STR) {
        if (of.kind == V_BUILTIN && !strcmp(name, "dict")) name = "map";
        return !strcmp(a.str->s, name);
    }
    if (a.kind != V_DTYPE || of.kind != V_BUILTIN) return false;
    if (!strcmp(name, "int")) name = "int64";
    return dtype_find(name, strlen(name)) == a.dtype;
}

static bool is_kind(Value v) { return v.kind == V_BUILTIN || v.kind == V_MODULE; }

bool str_equal(const Str *a, const Str *b) {
    if (a == b || a->n != b->n) return a == b;
    bool same = !memcmp(a->s, b->s, a->n);
    if (is_mapped(a)) file_map_note(a->s, a->n);
    if (is_mapped(b)) file_map_note(b->s, b->n);
    return same;
}

static bool equal(Value a, Value b, int depth, bool stops) {
    if (is_kind(b) && !is_kind(a)) return names_kind(a, b);
    if (is_kind(a) && !is_kind(b)) return names_kind(b, a);
    if (value_is_number(a) && value_is_number(b)) return number_compare(a, b) == 0;
    if (is_sequence(a) && is_sequence(b))
        return value_same(a, b) || (depth < EQUAL_DEPTH && sequence_equal(a, b, depth, stops));
    if (a.kind == V_DTYPE && b.kind == V_STR) return dtype_find(b.str->s, b.str->n) == a.dtype;
    if (a.kind == V_STR && b.kind == V_DTYPE) return equal(b, a, depth, stops);
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case V_NONE:
    case V_ELLIPSIS: return true;
    case V_DTYPE: return a.dtype == b.dtype;
    case V_STR: return str_equal(a.str, b.str);
    case V_SET:
    case V_MAP:
        return a.map == b.map || (depth < EQUAL_DEPTH && map_equal(a.map, b.map, depth, stops));
    default: return value_same(a, b);
    }
}

bool value_equal(Value a, Value b) { return equal(a, b, 0, false); }

bool value_equal_until(Value a, Value b, bool *out, LangError *e) {
    *out = equal(a, b, 0, true);
    return not_interrupted(e);
}

bool value_same(Value a, Value b) {
    if (a.kind != b.kind) return (is_kind(a) || is_kind(b)) && equal(a, b, 0, false);
    if (a.kind == V_BUILTIN) return a.builtin == b.builtin;
    if (a.kind == V_BOUND)
        return value_same(a.bound->self, b.bound->self) && value_same(a.bound->f, b.bound->f);
    if (a.kind == V_STR || a.kind < V_STR) return equal(a, b, 0, false);
    return a.heap == b.heap;
}
