/* layout.c: see layout.h. A tensor's text is made when its elements arrive, after the layout is
 * decided, so its width is estimated from its shape.
 * SPDX-License-Identifier: MIT */
#include "lang/text/layout.h"
#include "lang/tensor/tensor.h"
#include "lang/text/pieces.h"
#include "lang/value/mapv.h"
#include "runtime/base/utf8.h"

enum {
    INDENT = 2,
    MAX_DEPTH = 8,       /* below it a value is one line */
    ELEMENT_COLUMNS = 9, /* of a tensor's text, about */
    SCALAR_COLUMNS = 16,
    WIDE = 1 << 20 /* the text certainly has several lines */
};

/* Appends text that may have tensors, and takes it. */
static void append(Pieces *p, Pieces *from) {
    bytes_add(&p->format, from->format.data ? from->format.data : "", from->format.n);
    if (p->n + from->n > p->cap) {
        p->cap = 2 * (p->n + from->n);
        p->t = xrealloc(p->t, (size_t)p->cap * sizeof p->t[0]);
    }
    for (int i = 0; i < from->n; i++) p->t[p->n++] = tensor_ref(from->t[i]);
    pieces_fini(from);
}

/* Columns of one line with this text, about. */
static size_t columns_of(const Pieces *p) {
    size_t n = utf8_count(p->format.data ? p->format.data : "", p->format.n);
    for (int i = 0; i < p->n; i++) {
        const TensorType *t = tensor_type(p->t[i]);
        int64_t count = type_numel(t);
        if (t->rank >= 2 && t->shape[0] > 1) return WIDE;
        n += t->rank == 0 ? SCALAR_COLUMNS : count > 200 ? WIDE : (size_t)count * ELEMENT_COLUMNS;
    }
    return n;
}

static void new_line(Pieces *p, int indent) {
    bytes_putc(&p->format, '\n');
    for (int i = 0; i < indent; i++) bytes_putc(&p->format, ' ');
}

static bool put(Interp *in, Pieces *p, Value v, int indent, size_t column, int depth, LangError *e);

/* Elements that are numbers, strings and the like fill lines; others get a line each. */
static bool put_list(Interp *in, Pieces *p, const List *l, int indent, int depth, LangError *e) {
    bool is_plain = true;
    size_t column = (size_t)indent + 1, width = (size_t)interp_width(in);
    for (uint32_t i = 0; i < l->n; i++) is_plain = is_plain && l->v[i].kind <= V_STR;
    bytes_putc(&p->format, '[');
    for (uint32_t i = 0; i < l->n; i++) {
        Pieces one = {0};
        if (!is_plain) new_line(p, indent + INDENT);
        if (!(is_plain ? pieces_value(in, &one, l->v[i], true, e)
                       : put(in, &one, l->v[i], indent + INDENT, (size_t)indent + INDENT + 1, depth,
                             e))) {
            pieces_fini(&one);
            return false;
        }
        size_t n = columns_of(&one) + 2; /* with its comma */
        if (is_plain && i && column + n > width) {
            new_line(p, indent + 1);
            column = (size_t)indent + 1;
        } else if (is_plain && i) {
            bytes_putc(&p->format, ' ');
        }
        column += n;
        append(p, &one);
        if (i + 1 < l->n) bytes_putc(&p->format, ',');
    }
    if (!is_plain) new_line(p, indent);
    bytes_putc(&p->format, ']');
    return true;
}

static bool put_map(Interp *in, Pieces *p, MapV *m, int indent, int depth, LangError *e) {
    Value key, v;
    bytes_puts(&p->format, "{{");
    for (size_t i = 0; mapv_at(m, i, &key, &v); i++) {
        if (i) bytes_putc(&p->format, ',');
        new_line(p, indent + INDENT);
        size_t from = p->format.n;
        TRY(pieces_key(in, p, key, e));
        bytes_puts(&p->format, ": ");
        TRY(put(in, p, v, indent + INDENT, (size_t)indent + INDENT + (p->format.n - from) + 1,
                depth, e));
    }
    new_line(p, indent);
    bytes_puts(&p->format, "}}");
    return true;
}

/* v in one piece. Further lines of a tensor begin below its first, those of an object at indent. */
static bool put_whole(Interp *in, Pieces *p, Value v, int indent, LangError *e) {
    if (v.kind == V_OBJECT) return in->show_object(in, v.obj, indent, p, e);
    TRY(pieces_value(in, p, v, true, e));
    if (v.kind != V_TENSOR) return true;
    p->format.data[p->format.n - 1] = 'i';
    bytes_putc(&p->format, '}');
    return true;
}

/* column: where v begins, with what follows it in the line. */
static bool put(Interp *in, Pieces *p, Value v, int indent, size_t column, int depth,
                LangError *e) {
    bool is_map = v.kind == V_MAP && !v.map->is_space && map_count(v.map);
    bool is_list = v.kind == V_LIST && v.list->n;
    Pieces one = {0};
    bool ok = put_whole(in, &one, v, indent, e);
    bool fits = column + columns_of(&one) <= (size_t)interp_width(in);
    if (!ok || fits || depth == MAX_DEPTH || (!is_map && !is_list)) {
        append(p, &one);
        return ok;
    }
    pieces_fini(&one);
    return is_map ? put_map(in, p, v.map, indent, depth + 1, e)
                  : put_list(in, p, v.list, indent, depth + 1, e);
}

bool layout_value(Interp *in, Pieces *p, Value v, LangError *e) {
    return put(in, p, v, 0, 0, 0, e);
}
