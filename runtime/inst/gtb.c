/* gtb.c: see gtb.h and gti(5). All numbers are little-endian, and so are the machines that run gt.
 *
 *   file    = magic[8] u16 version, 6 zeros, { record }
 *   record  = u16 op, u8 n_out, u8 flags, u16 n_in, u16 n_attr, u32 length, body[length]
 *   body    = [ u64 first result ] n_in * operand, n_attr * attribute, [ types ] [ position ]
 *             [ comment ] [ payload ]
 *
 * op is the number of a name, in the order of the records that define names (op NAME).
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/gtb.h"
#include "runtime/base/map.h"
#include "runtime/inst/inst_text.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t magic[8] = {0x89, 'G', 'T', 'B', '\r', '\n', 0x1a, '\n'};

enum {
    NAME = 0xffff,      /* the body is a name; the next number is its */
    TEXT = 0xfffe,      /* the body is a line without an instruction */
    NAMES_MAX = 0xfff0, /* more names: positions are left out */
    RECORD = 12,        /* bytes before the body */
    HAS_TYPES = 1,
    HAS_POSITION = 2,
    HAS_COMMENT = 4,
    HAS_PAYLOAD = 8,
    FLAGS = 15,
};

bool gtb_is(const void *data, size_t n) {
    return n >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

bool gtb_is_damaged(const void *data, size_t n) {
    const uint8_t *s = data;
    if (gtb_is(data, n) || n < 4) return false;
    return memcmp(s + 1, "GTB", 3) == 0 && (s[0] == 0x89 || s[0] == 0x09);
}

/* ---- Writing ---- */

struct GtbWriter {
    uint64_t at; /* bytes written so far */
    uint32_t n_names;
    uint32_t op[OP_COUNT], key[ATTR_COUNT], dtype[DT_COUNT + 1]; /* number + 1; 0: none yet */
    Map file;                                                    /* hash of its name -> index + 1 */
    char **files;
    uint32_t *number; /* of files[i] */
    size_t n_files, cap_files;
};

GtbWriter *gtb_writer_new(void) { return xcalloc(1, sizeof(GtbWriter)); }

void gtb_writer_free(GtbWriter **wp) {
    GtbWriter *w = *wp;
    *wp = NULL;
    if (!w) return;
    for (size_t i = 0; i < w->n_files; i++) free(w->files[i]);
    free(w->files);
    free(w->number);
    map_fini(&w->file);
    free(w);
}

static void put_u8(Bytes *b, unsigned v) { bytes_putc(b, (char)v); }
static void put_u16(Bytes *b, size_t v) { bytes_add(b, &(uint16_t){(uint16_t)v}, 2); }
static void put_u32(Bytes *b, size_t v) { bytes_add(b, &(uint32_t){(uint32_t)v}, 4); }
static void put_u64(Bytes *b, uint64_t v) { bytes_add(b, &v, 8); }

/* Begins a record; the length is set by end_record. Returns where it begins. */
static size_t begin_record(GtbWriter *w, unsigned op, Bytes *out) {
    static const uint8_t zeros[GTB_HEAD - sizeof magic - 2] = {0};
    if (w->at == 0) {
        bytes_add(out, magic, sizeof magic);
        put_u16(out, GTB_VERSION);
        bytes_add(out, zeros, sizeof zeros);
        w->at = GTB_HEAD;
    }
    size_t start = out->n;
    put_u16(out, op);
    for (int i = 2; i < RECORD; i++) put_u8(out, 0);
    return start;
}

static void end_record(GtbWriter *w, size_t start, Bytes *out) {
    uint32_t length = (uint32_t)(out->n - start - RECORD);
    memcpy(out->data + start + 8, &length, 4);
    w->at += out->n - start;
}

static uint32_t put_name(GtbWriter *w, const char *s, size_t n, Bytes *out) {
    size_t start = begin_record(w, NAME, out);
    bytes_add(out, s, n);
    end_record(w, start, out);
    return ++w->n_names;
}

static void define(GtbWriter *w, uint32_t *number, const char *name, Bytes *out) {
    if (!*number) *number = put_name(w, name, strlen(name), out);
}

/* The number + 1 of a source file's name; 0: there are too many. */
static uint32_t define_file(GtbWriter *w, const char *name, Bytes *out) {
    uint64_t hash = hash_bytes(name, strlen(name), 0);
    size_t i = (size_t)(uintptr_t)map_get(&w->file, hash);
    if (i && strcmp(w->files[i - 1], name) == 0) return w->number[i - 1];
    if (w->n_names >= NAMES_MAX - OP_COUNT - ATTR_COUNT - DT_COUNT) return 0;
    if (w->n_files == w->cap_files) {
        w->cap_files = w->cap_files ? 2 * w->cap_files : 8;
        w->files = xrealloc(w->files, w->cap_files * sizeof *w->files);
        w->number = xrealloc(w->number, w->cap_files * sizeof *w->number);
    }
    w->files[w->n_files] = xstrdup(name);
    w->number[w->n_files] = put_name(w, name, strlen(name), out);
    map_put(&w->file, hash, (void *)(uintptr_t)(w->n_files + 1));
    return w->number[w->n_files++];
}

static void put_operand(const Operand *o, Bytes *out) {
    put_u8(out, o->kind);
    switch (o->kind) {
    case IN_TENSOR: put_u64(out, o->id); break;
    case IN_IMM_INT: put_u64(out, (uint64_t)o->i); break;
    case IN_IMM_FLOAT: bytes_add(out, &o->f, 8); break;
    case IN_IMM_BOOL: put_u64(out, o->b); break;
    }
}

static void put_attr(GtbWriter *w, const Attr *a, Bytes *out) {
    AttrType type = attr_info[a->key].type;
    put_u16(out, w->key[a->key] - 1);
    put_u8(out, type);
    switch (type) {
    case AT_BOOL: put_u8(out, a->b); break;
    case AT_INT: put_u64(out, (uint64_t)a->i); break;
    case AT_FLOAT: bytes_add(out, &a->f, 8); break;
    case AT_DTYPE: put_u16(out, w->dtype[a->dtype] - 1); break;
    case AT_STR:
        put_u32(out, a->n);
        if (a->n) bytes_add(out, a->str, a->n);
        break;
    case AT_INTS:
        put_u32(out, a->n);
        if (a->n) bytes_add(out, a->ints, a->n * sizeof *a->ints);
        break;
    }
}

static void put_type(GtbWriter *w, const TensorType *t, Bytes *out) {
    put_u16(out, w->dtype[t->dtype] - 1);
    put_u8(out, t->rank);
    bytes_add(out, t->shape, t->rank * sizeof *t->shape);
}

/* The attributes of the instruction, and of a payload that is in the file beside this one, in the
 * order of attrs.def: equal lines are equal bytes. Returns how many. */
static int sorted_attrs(const Inst *in, const InstBeside *beside, Attr *out) {
    int n = 0;
    for (int i = 0; i < in->n_attr; i++) out[n++] = in->attr[i];
    if (beside) {
        uint32_t n_path = (uint32_t)strlen(beside->path), n_hash = (uint32_t)strlen(beside->sha256);
        out[n++] = (Attr){.key = ATTR_PATH, .n = n_path, .str = beside->path};
        out[n++] = (Attr){.key = ATTR_AT, .i = (int64_t)beside->at};
        out[n++] = (Attr){.key = ATTR_SHA256, .n = n_hash, .str = beside->sha256};
    }
    for (int i = 1; i < n; i++) {
        Attr a = out[i];
        int k = i;
        for (; k > 0 && out[k - 1].key > a.key; k--) out[k] = out[k - 1];
        out[k] = a;
    }
    return n;
}

/* Defines the names that the instruction needs, before its record. Returns its file's. */
static uint32_t define_names(GtbWriter *w, const InstLine *line, const Attr *attr, int n,
                             Bytes *out) {
    const Inst *in = &line->inst;
    define(w, &w->op[in->op], op_info[in->op].name, out);
    for (int i = 0; i < n; i++) {
        define(w, &w->key[attr[i].key], attr_info[attr[i].key].name, out);
        if (attr_info[attr[i].key].type == AT_DTYPE)
            define(w, &w->dtype[attr[i].dtype], dtype_info[attr[i].dtype].text, out);
    }
    for (int i = 0; line->has_types && i < in->n_out; i++)
        define(w, &w->dtype[line->types[i].dtype], dtype_info[line->types[i].dtype].text, out);
    return line->file && in->pos.line ? define_file(w, line->file, out) : 0;
}

static void put_payload(const GtbWriter *w, size_t start, const Inst *in, Bytes *out) {
    put_u64(out, in->payload_bytes);
    while ((w->at + (out->n - start)) % GTB_ALIGN) put_u8(out, 0);
    bytes_add(out, in->payload, in->payload_bytes);
}

void gtb_put(GtbWriter *w, const InstLine *line, const InstBeside *beside, Bytes *out) {
    const Inst *in = &line->inst;
    Attr attr[MAX_ATTRS + 5];
    int n = sorted_attrs(in, beside, attr);
    uint32_t file = define_names(w, line, attr, n, out);
    bool has_payload = in->payload_bytes && !beside;
    size_t start = begin_record(w, w->op[in->op] - 1, out);
    uint8_t flags =
        (uint8_t)((line->has_types && in->n_out ? HAS_TYPES : 0) | (file ? HAS_POSITION : 0) |
                  (line->n_comment ? HAS_COMMENT : 0) | (has_payload ? HAS_PAYLOAD : 0));
    uint16_t n_attr = (uint16_t)n;
    out->data[start + 2] = (char)in->n_out;
    out->data[start + 3] = (char)flags;
    memcpy(out->data + start + 4, &in->n_in, 2);
    memcpy(out->data + start + 6, &n_attr, 2);
    if (in->n_out) put_u64(out, in->out[0]);
    for (int i = 0; i < in->n_in; i++) put_operand(&in->in[i], out);
    for (int i = 0; i < n; i++) put_attr(w, &attr[i], out);
    for (int i = 0; flags & HAS_TYPES && i < in->n_out; i++) put_type(w, &line->types[i], out);
    if (file) {
        put_u16(out, file - 1);
        put_u16(out, in->pos.col);
        put_u32(out, in->pos.line);
    }
    if (line->n_comment) {
        put_u32(out, line->n_comment);
        bytes_add(out, line->comment, line->n_comment);
    }
    if (has_payload) put_payload(w, start, in, out);
    end_record(w, start, out);
}

void gtb_put_text(GtbWriter *w, const char *line, size_t n, Bytes *out) {
    size_t start = begin_record(w, TEXT, out);
    bytes_add(out, line, n);
    end_record(w, start, out);
}

/* ---- Reading ---- */

struct GtbName {
    const char *s; /* in the file: no NUL */
    uint32_t n;
    Op op;       /* OP_COUNT: none has this name */
    AttrKey key; /* ATTR_COUNT: none has it */
    DType dtype; /* DT_NONE: none has it */
};

/* The rest of one record. */
typedef struct Part {
    const GtbReader *file;
    const uint8_t *at, *end;
    Arena *arena;
    InstLine *out;
    Err *err;
} Part;

__attribute__((format(printf, 2, 3))) static bool bad(const Part *p, const char *format, ...) {
    char text[300];
    FORMAT_INTO(text, format);
    return err_set(p->err, ERR_PARSE, "at byte %zu: %s", (size_t)(p->at - p->file->start), text);
}

static bool take(Part *p, void *to, size_t n) {
    if ((size_t)(p->end - p->at) < n) return bad(p, "the record is too short");
    memcpy(to, p->at, n);
    p->at += n;
    return true;
}

/* A number of a name. */
static bool take_name(Part *p, const GtbName **name) {
    uint16_t k = 0;
    TRY(take(p, &k, 2));
    if (k >= p->file->n_names) return bad(p, "there is no name %u", k);
    *name = &p->file->name[k];
    return true;
}

static bool take_dtype(Part *p, DType *dtype) {
    const GtbName *name = NULL;
    TRY(take_name(p, &name));
    *dtype = name->dtype;
    if (name->dtype != DT_NONE) return true;
    return bad(p, "unknown dtype '%.*s'", (int)(name->n < 40 ? name->n : 40), name->s);
}

static bool take_text(Part *p, const char **s, uint32_t *n) {
    TRY(take(p, n, 4));
    if (*n > MAX_STR || *n > (size_t)(p->end - p->at)) return bad(p, "a text of %u bytes", *n);
    *s = arena_strndup(p->arena, (const char *)p->at, *n);
    p->at += *n;
    return true;
}

static bool take_operands(Part *p, Inst *in) {
    if (in->n_in > MAX_IN) return bad(p, "more than %d operands", MAX_IN);
    if ((size_t)(p->end - p->at) < in->n_in * (size_t)9) return bad(p, "the record is too short");
    Operand *o = arena_alloc(p->arena, in->n_in * sizeof *o);
    in->in = o;
    for (int i = 0; i < in->n_in; i++, o++) {
        uint8_t kind = *p->at++;
        uint64_t v = 0;
        TRY(take(p, &v, 8));
        if (kind > IN_IMM_BOOL || (kind == IN_IMM_BOOL && v > 1))
            return bad(p, "operand %d is none", i + 1);
        *o = (Operand){.kind = (InKind)kind};
        switch (o->kind) {
        case IN_TENSOR: o->id = v; break;
        case IN_IMM_INT: o->i = (int64_t)v; break;
        case IN_IMM_FLOAT: memcpy(&o->f, &v, 8); break;
        case IN_IMM_BOOL: o->b = v; break;
        }
    }
    return true;
}

static bool take_ints(Part *p, Attr *a) {
    TRY(take(p, &a->n, 4));
    if (a->n > MAX_INTS) return bad(p, "a list of more than %d numbers", MAX_INTS);
    int64_t *ints = arena_alloc(p->arena, (a->n + 1) * sizeof *ints);
    a->ints = ints;
    return take(p, ints, a->n * sizeof *ints);
}

static bool take_attr(Part *p, Attr *a) {
    const GtbName *name = NULL;
    uint8_t type = 0, b = 0;
    TRY(take_name(p, &name));
    if (name->key == ATTR_COUNT)
        return bad(p, "unknown attribute '%.*s'", (int)(name->n < 40 ? name->n : 40), name->s);
    *a = (Attr){.key = (uint8_t)name->key};
    TRY(take(p, &type, 1));
    if (type != attr_info[a->key].type)
        return bad(p, "%s has a value of another type", attr_info[a->key].name);
    switch (attr_info[a->key].type) {
    case AT_BOOL:
        TRY(take(p, &b, 1));
        a->b = b;
        return b <= 1 || bad(p, "%s is true or false", attr_info[a->key].name);
    case AT_INT: return take(p, &a->i, 8);
    case AT_FLOAT: return take(p, &a->f, 8);
    case AT_DTYPE: return take_dtype(p, &a->dtype);
    case AT_STR: return take_text(p, &a->str, &a->n);
    case AT_INTS: return take_ints(p, a);
    }
    return false;
}

static bool take_attrs(Part *p, Inst *in, int n) {
    if (n > MAX_ATTRS) return bad(p, "more than %d attributes", MAX_ATTRS);
    Attr *attr = arena_alloc(p->arena, (size_t)(n + 1) * sizeof *attr);
    in->attr = attr;
    for (int i = 0; i < n; i++) {
        TRY(take_attr(p, &attr[i]));
        if (inst_attr(in, (AttrKey)attr[i].key))
            return bad(p, "'%s' is given twice", attr_info[attr[i].key].name);
        in->n_attr++;
    }
    return true;
}

static bool take_types(Part *p) {
    p->out->has_types = true;
    for (int i = 0; i < p->out->inst.n_out; i++) {
        TensorType *t = &p->out->types[i];
        DType dtype;
        TRY(take_dtype(p, &dtype) && take(p, &t->rank, 1));
        t->dtype = (uint8_t)dtype;
        if (t->rank > MAX_DIMS) return bad(p, "more than %d axes", MAX_DIMS);
        TRY(take(p, t->shape, t->rank * sizeof *t->shape));
        for (int k = 0; k < t->rank; k++)
            if (t->shape[k] < 0) return bad(p, "a negative extent");
    }
    return true;
}

static bool take_position(Part *p) {
    const GtbName *name = NULL;
    SrcPos *pos = &p->out->inst.pos;
    TRY(take_name(p, &name) && take(p, &pos->col, 2) && take(p, &pos->line, 4));
    if (pos->line == 0) return bad(p, "a position out of range");
    p->out->file = arena_strndup(p->arena, name->s, name->n);
    return true;
}

static bool take_comment(Part *p) {
    uint32_t n = 0;
    TRY(take_text(p, &p->out->comment, &n));
    p->out->n_comment = n;
    if (n && p->out->comment[0] == '#' && !memchr(p->out->comment, '\n', n)) return true;
    return bad(p, "not a comment");
}

static bool take_payload(Part *p) {
    Inst *in = &p->out->inst;
    if (!op_has_elements(in->op)) return bad(p, "elements are not expected here");
    TRY(take(p, &in->payload_bytes, 8));
    size_t pad = (size_t)(p->at - p->file->start) % GTB_ALIGN;
    pad = pad ? GTB_ALIGN - pad : 0;
    if (pad > (size_t)(p->end - p->at)) return bad(p, "the record is too short");
    p->at += pad;
    if (in->payload_bytes == 0 || in->payload_bytes != (size_t)(p->end - p->at))
        return bad(p, "the elements do not fill the record");
    in->payload = p->at;
    p->at = p->end;
    return true;
}

static bool take_inst(Part *p, unsigned op, const uint8_t *head) {
    Inst *in = &p->out->inst;
    uint8_t flags = head[3];
    uint16_t n_attr;
    if (op >= p->file->n_names) return bad(p, "there is no name %u", op);
    const GtbName *name = &p->file->name[op];
    if (name->op == OP_COUNT)
        return bad(p, "unknown op '%.*s'", (int)(name->n < 40 ? name->n : 40), name->s);
    if (flags > FLAGS || head[2] > MAX_OUT) return bad(p, "not a record");
    in->op = name->op;
    in->n_out = head[2];
    memcpy(&in->n_in, head + 4, 2);
    memcpy(&n_attr, head + 6, 2);
    if (in->n_out == 0 && op_info[in->op].class_ != CLASS_CONTROL)
        return bad(p, "%s needs a result", op_info[in->op].name);
    if (in->n_out) TRY(take(p, &in->out[0], 8));
    if (in->out[0] > UINT64_MAX - MAX_OUT) return bad(p, "an id out of range");
    for (int i = 1; i < in->n_out; i++) in->out[i] = in->out[0] + (uint64_t)i;
    TRY(take_operands(p, in) && take_attrs(p, in, n_attr));
    if (flags & HAS_TYPES && in->n_out == 0) return bad(p, "more types than results");
    if (flags & HAS_TYPES) TRY(take_types(p));
    if (flags & HAS_POSITION) TRY(take_position(p));
    if (flags & HAS_COMMENT) TRY(take_comment(p));
    if (flags & HAS_PAYLOAD) TRY(take_payload(p));
    return p->at == p->end || bad(p, "the record is too long");
}

static bool add_name(GtbReader *r, Part *p) {
    size_t n = (size_t)(p->end - p->at);
    const char *s = (const char *)p->at;
    if (r->n_names >= NAMES_MAX || n > MAX_STR || memchr(s, 0, n)) return bad(p, "not a name");
    ARRAY_PUSH(r->name, r->n_names, r->cap_names, 64,
               (GtbName){.s = s,
                         .n = (uint32_t)n,
                         .op = op_find(s, n),
                         .key = attr_find(s, n),
                         .dtype = dtype_find(s, n)});
    return true;
}

static bool take_line(GtbReader *r, Part *p) {
    r->text = (const char *)p->at;
    r->n_text = (size_t)(p->end - p->at);
    if (memchr(r->text, '\n', r->n_text)) return bad(p, "a line over several lines");
    TRY(inst_parse(r->text, r->n_text, p->arena, p->out, p->err));
    return p->out->is_empty || bad(p, "an instruction as text");
}

bool gtb_open(GtbReader *r, const void *data, size_t n, Err *err) {
    *r = (GtbReader){.start = data, .at = data, .end = (const uint8_t *)data + n};
    uint16_t version = 0;
    if (!gtb_is(data, n) || n < GTB_HEAD)
        return err_set(err, ERR_PARSE, "the head of a binary file is incomplete");
    memcpy(&version, r->start + sizeof magic, 2);
    if (version != GTB_VERSION)
        return err_set(err, ERR_VERSION, "version %u of the binary form; this is version %d",
                       version, GTB_VERSION);
    r->at = r->start + GTB_HEAD;
    return true;
}

void gtb_rewind(GtbReader *r) {
    r->at = r->start + GTB_HEAD;
    r->n_names = 0;
}

void gtb_close(GtbReader *r) {
    free(r->name);
    *r = (GtbReader){0};
}

GtbGot gtb_next(GtbReader *r, Arena *arena, InstLine *out, Err *err) {
    for (;;) {
        uint16_t op;
        uint32_t length;
        const uint8_t *head = r->at;
        if (head == r->end) return GTB_END;
        if (r->end - head < RECORD) return GTB_TORN;
        memcpy(&op, head, 2);
        memcpy(&length, head + 8, 4);
        if (length > (size_t)(r->end - head) - RECORD) return GTB_TORN;
        *out = (InstLine){0};
        Part p = {.file = r,
                  .at = head + RECORD,
                  .end = head + RECORD + length,
                  .arena = arena,
                  .out = out,
                  .err = err};
        r->at = p.end;
        r->text = NULL;
        if (op == NAME) {
            if (!add_name(r, &p)) return GTB_BAD;
            continue;
        }
        if (op == TEXT ? take_line(r, &p) : take_inst(&p, op, head)) return GTB_LINE;
        *out = (InstLine){.is_empty = true};
        return GTB_BAD;
    }
}
