/* value.h: values of the language: a kind and 8 bytes; heap objects have reference counts.
 *
 * Ownership: a function returns or stores a new reference; parameters are borrowed unless the
 * comment says "consumes". value_drop releases a reference. Dropping a tensor's last reference
 * emits its `free` at once. Containers that can form cycles (lists, maps, functions, objects,
 * cells) are on one intrusive list per interpreter, so that cycles_collect can find unreachable
 * ones.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_VALUE_VALUE_H
#define GT_LANG_VALUE_VALUE_H
#include "lang/file/file_map.h"
#include "lang/syntax/ast.h"
#include "runtime/base/arena.h"
#include "runtime/inst/op.h"

typedef enum ValueKind {
    /* no heap; ELLIPSIS only as a subscript */
    V_NONE,
    V_BOOL,
    V_INT,
    V_FLOAT,
    V_DTYPE,
    V_BUILTIN,
    V_ELLIPSIS,
    V_UNDEF, /* a variable without a value; never visible to programs */
    V_STR,
    V_TEXT,
    V_LIST,
    V_RANGE,
    V_MAP,
    V_FN,
    V_BOUND,
    V_MODULE,
    V_OBJECT,
    V_TENSOR,
    V_CELL,
    V_SLICE, /* a:b:c, only as a subscript */
    V_ERROR,
    V_SET /* a MapV whose values are all none */
} ValueKind;

typedef struct Heap {
    uint32_t refs;
    uint8_t kind;
} Heap; /* first member of all heap values */
typedef struct Str Str;
typedef struct List List;
typedef struct MapV MapV;
typedef struct Fn Fn;
typedef struct Object Object;
typedef struct Tensor Tensor;
typedef struct Range Range;
typedef struct Text Text;
typedef struct Slice Slice;
typedef struct Bound Bound;
typedef struct Cell Cell;
typedef struct Module Module;
typedef struct ErrorV ErrorV;
typedef struct Builtin Builtin;
typedef struct Interp Interp;

typedef struct Value {
    uint8_t kind;
    union {
        bool b;
        int64_t i;
        double f;
        DType dtype;
        const Builtin *builtin;
        Heap *heap;
        Str *str;
        Text *text;
        List *list;
        Range *range;
        MapV *map;
        Fn *fn;
        Bound *bound;
        Object *obj;
        Tensor *tensor;
        Cell *cell;
        Slice *slice;
        Module *module;
        ErrorV *error;
    };
} Value;

/* UTF-8 with a NUL after n bytes; n_chars is set by str_chars. s is own, or lies in a mapped file
 * (v_str_mapped): its bytes may change when another program writes to the file, so code may rely on
 * n and the NUL only. */
struct Str {
    Heap h;
    uint32_t n, n_chars;
    uint64_t hash;
    char *s;
    char own[];
};
/* First member of values that may form cycles; linked into the interpreter's list. mark is for
 * cycles_collect. */
typedef struct Container {
    Heap h;
    uint32_t mark;
    Interp *in;
    struct Container *prev, *next;
} Container;
struct List {
    Container c;
    uint32_t n, cap;
    bool is_key; /* a key of a map or set, which must not change */
    Value *v;
};
struct Range {
    Heap h;
    int64_t start, stop, step;
}; /* step != 0 */
struct Slice {
    Heap h;
    Value start, stop, step;
}; /* V_NONE where absent */
struct Cell {
    Container c;
    Value v;
}; /* a captured variable */
struct Fn {
    Container c;
    const AstFn *ast;
    struct Globals *globals;
    int n_cells;
    Cell *cell[];
};
struct Bound {
    Container c;
    Value self, f;
}; /* object and method, made on access */
/* method: name -> V_FN, called with a separate self */
struct Module {
    Container c;
    const char *name;
    Fn *make;
    MapV *method;
};
struct Object {
    Container c;
    Module *module;
    MapV *field; /* in order of assignment */
    bool is_new; /* its constructor is running */
};

/* The value of attempt() after a failure. */
struct ErrorV {
    Heap h;
    LangError e;
};

/* Text under construction for print, write, assert and f-strings. `format` is text with doubled
 * braces and one {} or {:spec} per tensor, in order (show.h); t[] holds the tensors (owned). "{!r}"
 * is the echo form, tensor(3.14); "{}" is 3.14 for rank 0; "{!rg}" adds requires_grad=true; "{!t}"
 * is a tensor's bytes as text. Adding a tensor does not fetch its value. */
typedef struct Pieces {
    Bytes format;
    Tensor **t;
    int n, cap;
} Pieces;
struct Text {
    Heap h;
    Pieces p;
};                           /* a string with tensors in it whose values are not fetched yet */
void pieces_fini(Pieces *p); /* drops the tensors and empties p */

/* ---- making; the result is a new reference ---- */
static inline Value v_none(void) { return (Value){.kind = V_NONE}; }
static inline Value v_bool(bool b) { return (Value){.kind = V_BOOL, .b = b}; }
static inline Value v_int(int64_t i) { return (Value){.kind = V_INT, .i = i}; }
static inline Value v_float(double f) { return (Value){.kind = V_FLOAT, .f = f}; }
static inline Value v_dtype(DType d) { return (Value){.kind = V_DTYPE, .dtype = d}; }
Value v_str(const char *s, size_t n);
Value v_cstr(const char *s);
/* The text of a mapped file of fewer than 2^32 - 1 bytes. Consumes file. mark: the byte offset of
 * every STR_MARK-th code point of n_chars, the first one's included; copied. */
Value v_str_mapped(Buf *file, size_t n_chars, const uint32_t *mark);
enum { STR_MARK = 1 << 14 };
/* False, with an error, if v is the text of a file that was cut off since it was mapped. Asked
 * after v was read. */
static inline bool value_is_whole(Value v, LangError *e) {
    bool is_mapped = v.kind == V_STR && v.str->s != v.str->own;
    return !is_mapped || file_map_look_at(v.str->s, v.str->n, e);
}
Value v_list(Interp *in, size_t cap);
Value v_pair(Interp *in, Value a, Value b); /* a list of two; takes ownership of a and b */
Value v_range(int64_t start, int64_t stop, int64_t step);
Value v_slice(Value start, Value stop, Value step); /* takes ownership of all three */

static inline bool value_is_number(Value v) {
    return v.kind == V_INT || v.kind == V_FLOAT || v.kind == V_BOOL;
}
static inline bool value_is_heap(Value v) { return v.kind >= V_STR; }
void heap_free(Heap *h); /* for refs == 0; does not recurse, at any nesting */
/* Goes on with freeing containers, at most `slice` elements, until Ctrl-C. False if some are left,
 * which no program can see any more. */
bool containers_free(Interp *in, size_t slice);
void tensor_free(Heap *h); /* tensor.c: the entry of V_TENSOR in its table */
static inline Value value_ref(Value v) {
    if (value_is_heap(v)) v.heap->refs++;
    return v;
}
static inline void value_drop(Value v) {
    if (value_is_heap(v) && --v.heap->refs == 0) heap_free(v.heap);
}
/* Moves v to *out if ok, otherwise drops it. Returns ok. */
static inline bool give_if(bool ok, Value v, Value *out) {
    if (ok)
        *out = v;
    else
        value_drop(v);
    return ok;
}
/* consumes v */
static inline void value_set(Value *slot, Value v) {
    Value old = *slot;
    *slot = v;
    value_drop(old);
}

const char *value_type_name(Value v); /* "int", "list", a module's name for its objects */
/* Compares host values by value, objects and tensors by identity. The name of a kind equals the
 * function or module of that name: type(x) == str. */
bool value_equal(Value a, Value b);
/* The same; fails after Ctrl-C. */
bool value_equal_until(Value a, Value b, bool *out, LangError *e);
bool value_same(Value a, Value b); /* `is` */

size_t str_chars(Str *s);                 /* code points */
size_t str_offset(Str *s, size_t i);      /* byte offset of code point i <= str_chars */
void list_push(List *l, Value v);         /* consumes v */
Value list_get(const List *l, int64_t i); /* borrowed; i in range */
/* The interned text of a V_STR, for lookups by pointer; NULL for other kinds. */
const char *value_name(Value v);
MapV *object_fields(const Object *o); /* borrowed */

/* ---- the heap ---- */
void *container_new(Interp *in, ValueKind kind, size_t size_bytes); /* zeroed, refs 1, linked */
void container_clear(Container *c);                                 /* drops its contents */
uint64_t str_hash(Str *s);                                          /* odd, never 0 */
bool str_equal(const Str *a, const Str *b); /* bytes that a mapped file lost: file_map_has_all */
int64_t range_count(const Range *r);
int64_t range_at(const Range *r, int64_t i);
int number_compare(Value a, Value b); /* -1, 0, 1, or 2 if unordered (nan); exact */
static inline double value_double(Value v) {
    return v.kind == V_FLOAT ? v.f : v.kind == V_INT ? (double)v.i : v.b;
}
static inline bool value_is_callable(Value v) {
    return v.kind == V_FN || v.kind == V_BUILTIN || v.kind == V_BOUND || v.kind == V_MODULE ||
           v.kind == V_OBJECT;
}
static inline int64_t sequence_count(Value v) {
    return v.kind == V_LIST ? v.list->n : range_count(v.range);
}
static inline bool is_sequence(Value v) { return v.kind == V_LIST || v.kind == V_RANGE; }
Value sequence_at(Value v, int64_t i); /* of a sequence; new reference */
#endif
