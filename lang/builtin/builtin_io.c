/* builtin_io.c: load and save. load reads at once, in the client, and its tensors enter the stream
 * as data. save is an instruction: it names its tensors now and writes when their values arrive, in
 * stream order, so it never waits and a replay saves, too. The file formats are in io.h.
 * SPDX-License-Identifier: MIT */
#include "lang/builtin/output.h"
#include "lang/eval/call.h"
#include "lang/value/mapv.h"
#include "lang/text/pieces.h"
#include "lang/eval/builtin.h"
#include "lang/eval/object.h"
#include "lang/file/file_map.h"
#include "lang/file/io.h"
#include "lang/tensor/tensor.h"
#include "lang/builtin/builtin_host.h"
#include "runtime/base/sha256.h"
#include "runtime/base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_SAVE_DEPTH = 32,
    /* instruction text refers to larger data by its file */
    EMIT_DATA_BYTES = 1 << 20,
};

static bool take_path(Interp *in, Value v, Value *path, LangError *e) {
    if (v.kind != V_STR && v.kind != V_TEXT)
        return error_set(e, "a path must be a string, not %s", value_type_name(v));
    TRY(value_look(in, v, path, e));
    if (path->str->n && !memchr(path->str->s, 0, path->str->n)) return true;
    value_drop(*path);
    return error_set(e, "the path %s", path->str->n ? "contains a zero byte" : "is empty");
}

/* ---- load ---- */

/* The source of a file's tensors: their elements, or (under --emit, for large files) the file's
 * name and hash, and the tensor's name in it. */
typedef struct Loading {
    Interp *in;
    const char *path;
    LoadFrom from; /* path NULL: by elements */
    Bytes key;     /* names of the levels above, joined by "/" */
    int depth;     /* number of these levels */
    bool is_all;   /* the whole file, not the value under a key */
} Loading;

static bool value_from_io(Loading *l, const IoValue *v, Value *out, LangError *e);

static bool items_from_io(Loading *l, const IoValue *v, Value *out, LangError *e) {
    Value all = v->kind == IO_LIST ? v_list(l->in, v->n) : v_map(l->in);
    bool ok = true;
    for (uint32_t i = 0; i < v->n && ok; i++) {
        Value item;
        size_t n = l->key.n;
        if (l->depth++ > 0) bytes_putc(&l->key, '/');
        if (v->kind == IO_LIST)
            bytes_printf(&l->key, "%u", i);
        else
            bytes_puts(&l->key, v->key[i]);
        ok = value_from_io(l, &v->kid[i], &item, e);
        l->depth--;
        l->key.n = n;
        if (l->key.data) l->key.data[n] = 0;
        if (ok && v->kind == IO_LIST)
            list_push(all.list, item);
        else if (ok)
            mapv_put(all.map, v_cstr(v->key[i]), item);
        ok = ok && not_interrupted(e);
    }
    return give_if(ok, all, out);
}

/* Says of a file why its elements cannot be had. Returns false. */
static bool not_read(const Loading *l, const Err *why, LangError *e) {
    error_from(e, why);
    if (why->code != ERR_PARSE) return false;
    return error_set(e, "cannot read '%.200s': %.280s", l->path, why->text);
}

static bool tensor_from_io(Loading *l, const IoTensor *t, Value *out, LangError *e) {
    Handle *h;
    if (l->from.path) {
        l->from.key = l->depth == 0 ? NULL : l->key.n ? l->key.data : "";
        h = stream_load(l->in->stream, &t->type, &l->from, interp_span(l->in), e);
    } else {
        Buf *b;
        Err err = {0};
        if (!io_elements(t, &b, &err)) return not_read(l, &err, e);
        h = stream_data(l->in->stream, &t->type, b->data, b, interp_span(l->in), e);
        buf_unref(&b);
    }
    if (h) *out = v_tensor(tensor_new(l->in, h));
    return h != NULL;
}

static bool value_from_io(Loading *l, const IoValue *v, Value *out, LangError *e) {
    switch (v->kind) {
    case IO_NONE: *out = v_none(); return true;
    case IO_BOOL: *out = v_bool(v->b); return true;
    case IO_INT: *out = v_int(v->i); return true;
    case IO_FLOAT: *out = v_float(v->f); return true;
    case IO_STR: *out = v_str(v->str, v->n_str); return true;
    case IO_LIST:
    case IO_MAP: return items_from_io(l, v, out, e);
    case IO_BAD:
        error_set(e, "cannot read '%.200s': %.250s", l->path, v->str);
        return l->is_all && error_hint(e, "the others one by one: load(path, key=\"name\")");
    case IO_TENSOR: break;
    }
    return tensor_from_io(l, v->tensor, out, e);
}

/* The name in dtype=, which may be a dtype, a string, or one of the builtins float, int, bool. */
static const char *element_name(Value v) {
    return v.kind == V_DTYPE     ? dtype_info[v.dtype].name
           : v.kind == V_STR     ? v.str->s
           : v.kind == V_BUILTIN ? v.builtin->name
                                 : "";
}

static uint64_t tensor_bytes(const IoValue *v) {
    uint64_t n = v->kind == IO_TENSOR ? v->tensor->buf->n : 0;
    for (uint32_t i = 0; (v->kind == IO_LIST || v->kind == IO_MAP) && i < v->n; i++)
        n += tensor_bytes(&v->kid[i]);
    return n;
}

/* The value of the file under key, or all of it if key is NULL. */
static bool load_part(Loading *l, const IoValue *file, const char *key, Value *out, LangError *e) {
    l->is_all = !key;
    if (!key) return value_from_io(l, file, out, e);
    const IoValue *v = io_find(file, key);
    if (!v) {
        Err err = {0};
        err_set(&err, ERR_ARG, "'%.200s' holds nothing named '%.100s'", l->path, key);
        io_hint_names(file, key, true, &err);
        return error_from(e, &err);
    }
    bytes_puts(&l->key, key);
    l->depth = 1;
    return value_from_io(l, v, out, e);
}

static bool load_file(Interp *in, const char *path, const char *element, const char *key,
                      Value *out, LangError *e) {
    IoValue file;
    Buf *bytes;
    Err err = {0};
    char hex[65];
    Loading l = {.in = in, .path = path};
    bool refers = stream_mode(in->stream) == STREAM_EMIT && !in->config.stream.has_all;
    if (key && !*element && !refers) { /* else the file's hash is needed, which reads all of it */
        bool is_found;
        if (!io_load_part(path, key, &is_found, &file, &err)) return error_from(e, &err);
        bool ok = is_found && load_part(&l, &file, key, out, e);
        bytes_fini(&l.key);
        io_fini(&file);
        if (is_found) return ok;
    }
    if (!io_map(path, element, &bytes, &file, &err)) return error_from(e, &err);
    if (refers && tensor_bytes(&file) > EMIT_DATA_BYTES) {
        sha256_hex(bytes->data, bytes->n, hex);
        file_map_forget(bytes->data, bytes->n);
        l.from = (LoadFrom){.path = path, .element = element, .sha256 = hex};
    }
    bool ok = file_map_is_good(bytes->data, bytes->n, e) && load_part(&l, &file, key, out, e);
    bytes_fini(&l.key);
    buf_unref(&bytes);
    io_fini(&file);
    return ok;
}

static bool bi_load(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value path;
    if (arg[2].kind != V_NONE && arg[2].kind != V_STR)
        return error_set(e, "'key' must be a string, not %s", value_type_name(arg[2]));
    if (arg[0].kind == V_OBJECT) { /* model.load(path) */
        error_set(e, "load reads a file and changes no %s", value_type_name(arg[0]));
        return error_hint(e, "model.load_state_dict(load(path))");
    }
    TRY(take_path(in, arg[0], &path, e));
    const char *key = arg[2].kind == V_STR ? arg[2].str->s : NULL;
    char floats[32];
    const char *element = element_name(arg[1]);
    if (!*element && in->float_dtype != DT_F32) {
        snprintf(floats, sizeof floats, IO_FLOATS "%s", dtype_info[in->float_dtype].name);
        element = floats;
    }
    bool ok = stream_files(in->stream, path.str->s, interp_span(in), e) &&
              load_file(in, path.str->s, element, key, out, e);
    value_drop(path);
    return ok;
}

/* ---- save ---- */

/* A value taken apart for saving: tensors by name, and JSON of its host values. */
typedef struct Job {
    char *path;
    Bytes keys, meta;
    Handle **handle;
    int n, cap; /* references, while collecting */
} Job;

static void job_free(void *ctx) {
    Job *j = ctx;
    free(j->path);
    bytes_fini(&j->keys);
    bytes_fini(&j->meta);
    free(j->handle);
    free(j);
}

static bool job_done(void *ctx, const Reply *r, Err *err) {
    const Job *j = ctx;
    return io_save_reply(j->path, j->keys.data, j->keys.n, j->meta.data, j->meta.n, r, err);
}

static bool has_tensor(Value v, int depth) {
    Value key, item;
    if (v.kind == V_TENSOR || v.kind == V_OBJECT) return true;
    if (depth == MAX_SAVE_DEPTH) return true; /* collect reports the error */
    for (size_t i = 0; value_kid(v, i, &key, &item); i++)
        if (has_tensor(item, depth + 1)) return true;
    return false;
}

/* A map's key as a file writes it: a string without zero bytes. */
static bool file_key(Value key, Bytes *out, LangError *e) {
    if (key.kind != V_STR) {
        Bytes text = {0};
        key_text(key, &text);
        error_set(e, "cannot save: a key is the %s %.200s, and files have only strings there",
                  value_type_name(key), text.data);
        bytes_fini(&text);
        return error_hint(e, "save({str(k): v for k, v in m.items()}, path)");
    }
    if (memchr(key.str->s, 0, key.str->n))
        return error_set(e, "cannot save: a key contains a zero byte");
    bytes_add(out, key.str->s, key.str->n);
    return true;
}

static bool add_tensor(Job *j, const Tensor *t, const Bytes *name, LangError *e) {
    if (name->n && memchr(name->data, '\n', name->n))
        return error_set(e, "the name of a saved tensor has a line break in it");
    if (j->n == MAX_IN) return error_set(e, "cannot save more than %d tensors in one file", MAX_IN);
    ARRAY_ROOM(j->handle, j->n, j->cap, 16);
    if (j->n) bytes_putc(&j->keys, '\n');
    bytes_add(&j->keys, name->n ? name->data : "", name->n);
    j->handle[j->n++] = handle_ref(t->handle);
    return true;
}

/* The state_dict() of an object, its own or the builtin one. */
static bool object_state(Interp *in, Value v, Value *out, LangError *e) {
    Value f = v_none();
    if (!object_get(in, v.obj, intern("state_dict", 10), &f)) {
        const Builtin *b = builtin_method(V_OBJECT, intern("state_dict", 10));
        return b ? interp_call(in, (Value){.kind = V_BUILTIN, .builtin = b}, &v, 1, out, e)
                 : error_set(e, "cannot save a value of type %s", value_type_name(v));
    }
    bool ok = interp_call(in, f, NULL, 0, out, e);
    value_drop(f);
    if (!ok || out->kind == V_MAP) return ok;
    error_set(e, "cannot save: state_dict() gave %s, not a map", value_type_name(*out));
    value_drop(*out);
    return false;
}

static bool is_too_deep(int depth, LangError *e) {
    return depth == MAX_SAVE_DEPTH &&
           !error_set(e, "cannot save: values nest more than %d deep (a cycle?)", MAX_SAVE_DEPTH);
}

static bool json_of(Interp *in, Job *j, Value v, Bytes *at, int depth, LangError *e);

/* Writes an item of a list or map. `at` is extended by its key for the item, as io_save names
 * items. */
static bool json_item(Interp *in, Job *j, const Bytes *key, Value item, Bytes *at, int depth,
                      LangError *e) {
    size_t n = at->n;
    if (depth) bytes_putc(at, '/');
    for (size_t i = 0; i < key->n; i++) switch (key->data[i]) {
        case '~': bytes_puts(at, "~0"); break;
        case '/': bytes_puts(at, "~1"); break;
        default: bytes_putc(at, key->data[i]);
        }
    bool ok = json_of(in, j, item, at, depth + 1, e);
    at->n = n;
    return ok;
}

static bool json_list(Interp *in, Job *j, Value v, Bytes *at, int depth, LangError *e) {
    bool ok = true;
    bytes_putc(&j->meta, '[');
    for (int64_t i = 0, n = sequence_count(v); i < n && ok; i++) {
        Bytes key = {0};
        if (i) bytes_puts(&j->meta, ", ");
        bytes_printf(&key, "%lld", (long long)i);
        Value item = sequence_at(v, i);
        ok = json_item(in, j, &key, item, at, depth, e);
        value_drop(item);
        bytes_fini(&key);
    }
    bytes_putc(&j->meta, ']');
    return ok;
}

/* Writes a set as a list. */
static bool json_set(Interp *in, Job *j, Value v, Bytes *at, int depth, LangError *e) {
    Value all = v_list(in, map_count(v.map)), key, none;
    for (size_t i = 0; mapv_at(v.map, i, &key, &none); i++) list_push(all.list, value_ref(key));
    bool ok = json_list(in, j, all, at, depth, e);
    value_drop(all);
    return ok;
}

static bool json_map(Interp *in, Job *j, Value v, Bytes *at, int depth, LangError *e) {
    bool ok = true;
    Value key, item;
    bytes_putc(&j->meta, '{');
    for (size_t i = 0; ok && mapv_at(v.map, i, &key, &item); i++) {
        Bytes name = {0};
        ok = file_key(key, &name, e);
        if (i) bytes_puts(&j->meta, ", ");
        utf8_put_json(name.n ? name.data : "", name.n, &j->meta);
        bytes_puts(&j->meta, ": ");
        ok = ok && json_item(in, j, &name, item, at, depth, e);
        bytes_fini(&name);
    }
    bytes_putc(&j->meta, '}');
    return ok;
}

/* Appends a value to meta as JSON, with a null for each tensor, whose name is its path. */
static bool json_of(Interp *in, Job *j, Value v, Bytes *at, int depth, LangError *e) {
    IoValue plain = {.kind = IO_NONE};
    Value text;
    if (is_too_deep(depth, e) || !not_interrupted(e)) return false;
    switch (v.kind) {
    case V_NONE: break;
    case V_BOOL: plain = (IoValue){.kind = IO_BOOL, .b = v.b}; break;
    case V_INT: plain = (IoValue){.kind = IO_INT, .i = v.i}; break;
    case V_FLOAT: plain = (IoValue){.kind = IO_FLOAT, .f = v.f}; break;
    case V_TENSOR: TRY(add_tensor(j, v.tensor, at, e)); break;
    case V_DTYPE:
        utf8_put_json(dtype_info[v.dtype].name, strlen(dtype_info[v.dtype].name), &j->meta);
        return true;
    case V_STR:
    case V_TEXT:
        TRY(value_look(in, v, &text, e));
        utf8_put_json(text.str->s, text.str->n, &j->meta);
        value_drop(text);
        return true;
    case V_LIST:
    case V_RANGE: return json_list(in, j, v, at, depth, e);
    case V_SET: return json_set(in, j, v, at, depth, e);
    case V_MAP: return json_map(in, j, v, at, depth, e);
    case V_OBJECT: {
        Value state;
        TRY(object_state(in, v, &state, e));
        bool ok = json_of(in, j, state, at, depth, e);
        value_drop(state);
        return ok;
    }
    default: return error_set(e, "cannot save a value of type %s", value_type_name(v));
    }
    json_print(&plain, -1, &j->meta);
    return true;
}

/* ---- by name ---- */

static void meta_name(Job *j, const Bytes *name) {
    bytes_puts(&j->meta, j->meta.n ? ", " : "{");
    utf8_put_json(name->n ? name->data : "", name->n, &j->meta);
    bytes_puts(&j->meta, ": ");
}

static bool collect(Interp *in, Job *j, Value v, Bytes *name, int depth, LangError *e);

static bool collect_item(Interp *in, Job *j, Value key, Value item, Bytes *name, int depth,
                         LangError *e) {
    size_t n = name->n;
    if (n) bytes_putc(name, '/');
    if (key.kind == V_INT)
        bytes_printf(name, "%lld", (long long)key.i);
    else if (key.kind == V_STR)
        bytes_add(name, key.str->s, key.str->n);
    bool ok = collect(in, j, item, name, depth + 1, e);
    name->n = n;
    if (name->data) name->data[n] = 0;
    return ok;
}

/* Checks a key of a map whose values are saved by name: it may not contain "/", which separates
 * levels. Only a tensor of the outermost map may have the name "". */
static bool is_name(Value key, bool may_be_empty, LangError *e) {
    Bytes text = {0};
    bool ok = file_key(key, &text, e);
    bytes_fini(&text);
    TRY(ok);
    if (!key.str->n && !may_be_empty)
        return error_set(e, "cannot save: a key is \"\", and values by name need names");
    if (!memchr(key.str->s, '/', key.str->n)) return true;
    error_set(e, "cannot save: the key \"%.60s\" has a '/', which parts the levels of such a file",
              key.str->s);
    return error_hint(e, "another character, or maps in maps; .json holds any key");
}

/* True if the first key of a map is a number, so that all of them may be: the map would then load
 * as a list, unless a {} is saved under its own name. */
static bool looks_like_list(Value v) {
    Value key, item;
    return v.kind == V_MAP && mapv_at(v.map, 0, &key, &item) && key.kind == V_STR && key.str->n &&
           strspn(key.str->s, "0123456789") == key.str->n;
}

static bool collect(Interp *in, Job *j, Value v, Bytes *name, int depth, LangError *e) {
    Value key, item;
    if (is_too_deep(depth, e) || !not_interrupted(e)) return false;
    if (v.kind == V_TENSOR) return add_tensor(j, v.tensor, name, e);
    if (v.kind == V_OBJECT) {
        Value state;
        TRY(object_state(in, v, &state, e));
        bool ok = collect(in, j, state, name, depth, e);
        value_drop(state);
        return ok;
    }
    if (!has_tensor(v, depth) && (v.kind != V_MAP || depth)) {
        Bytes at = {0};
        meta_name(j, name);
        bool ok = json_of(in, j, v, &at, depth, e);
        bytes_fini(&at);
        return ok;
    }
    if (looks_like_list(v)) {
        meta_name(j, name);
        bytes_puts(&j->meta, "{}");
    }
    for (uint32_t i = 0; v.kind == V_LIST && i < v.list->n; i++)
        TRY(collect_item(in, j, v_int(i), v.list->v[i], name, depth, e));
    for (size_t i = 0; v.kind == V_MAP && mapv_at(v.map, i, &key, &item); i++)
        TRY(is_name(key, !depth && v.map->n > 1 && item.kind == V_TENSOR, e) &&
            collect_item(in, j, key, item, name, depth, e));
    return true;
}

/* Fills the job from the value, in the form that the file's format needs. */
static bool prepare(Interp *in, Job *j, Value v, LangError *e) {
    bool by_name = io_is_by_name(j->path), is_host = !has_tensor(v, 0);
    bool is_text = v.kind == V_STR || v.kind == V_TEXT;
    Err err = {0};
    IoForm form = v.kind == V_TENSOR ? IO_FORM_TENSOR
                  : is_text          ? IO_FORM_TEXT
                  : is_host          ? IO_FORM_HOST
                                     : IO_FORM_ITEMS;
    if (!io_can_save(j->path, form, &err)) {
        error_from(e, &err);
        while (v.kind == V_LIST && v.list->n) v = v.list->v[0];
        bool is_known = io_is_known(j->path, true, &err);
        return is_known && value_is_number(v) && error_hint(e, "save(tensor(x), path)");
    }
    if (by_name && v.kind != V_MAP && v.kind != V_OBJECT && v.kind != V_LIST) {
        error_set(e, "a %s file holds values by name, not one %s", strrchr(j->path, '.'),
                  value_type_name(v));
        return error_hint(e, "save({name: value}, path)");
    }
    Bytes name = {0};
    bool ok = by_name              ? collect(in, j, v, &name, 0, e)
              : v.kind == V_TENSOR ? add_tensor(j, v.tensor, &name, e)
                                   : json_of(in, j, v, &name, 0, e);
    bytes_fini(&name);
    if (ok && by_name && j->meta.n) bytes_putc(&j->meta, '}');
    return ok;
}

static bool send_job(Interp *in, Job *j, LangError *e) {
    Attr attr[3] = {
        {.key = ATTR_PATH, .n = (uint32_t)strlen(j->path), .str = j->path},
        {.key = ATTR_KEYS, .n = (uint32_t)j->keys.n, .str = j->keys.data ? j->keys.data : ""},
        {.key = ATTR_META, .n = (uint32_t)j->meta.n, .str = j->meta.data},
    };
    if (j->keys.n > MAX_STR || j->meta.n > MAX_STR)
        return error_set(e, "cannot save: names or host values take more than %u KiB",
                         MAX_STR >> 10);
    Handle **handle = j->handle;
    int n = j->n;
    j->handle = NULL;
    j->n = 0;
    Effect ef = {.op = OP_SAVE,
                 .attr = attr,
                 .n_attr = j->meta.n ? 3 : 2,
                 .handle = handle,
                 .n = n,
                 .done = job_done,
                 .drop = job_free,
                 .ctx = j};
    /* takes ownership of j, also on failure */
    bool ok = stream_effect(in->stream, &ef, interp_span(in), e);
    for (int i = 0; i < n; i++) handle_unref(in->stream, &handle[i]);
    free(handle);
    return ok;
}

static bool bi_save(Interp *in, const Value *arg, Value *out, LangError *e) {
    Value path;
    if (!take_path(in, arg[1], &path, e)) {
        bool is_swapped = arg[0].kind == V_STR && arg[1].kind != V_STR;
        return is_swapped ? error_hint(e, "save(obj, path)") : false;
    }
    Job *j = xcalloc(1, sizeof *j);
    j->path = xstrndup(path.str->s, path.str->n);
    value_drop(path);
    if (prepare(in, j, arg[0], e) && not_interrupted(e)) return send_job(in, j, e);
    for (int i = 0; i < j->n; i++) handle_unref(in->stream, &j->handle[i]);
    job_free(j);
    return false;
}

/* ---- standard output ---- */

static const struct {
    const char *name, *file, *holds;
} forms[] = {
    [OUTPUT_JSON] = {"JSON", "x.json", "tensors, numbers, strings, lists, maps, models"},
    [OUTPUT_CSV] = {"CSV", "x.csv", "a matrix, a vector, a map of columns, a list of rows"},
    [OUTPUT_NPY] = {"npy", "x.npy", "one tensor: tensor(x)"}};

static bool hint_form(const Interp *in, LangError *e) {
    return error_hint(e, "%s holds %s", forms[in->output].name, forms[in->output].holds);
}

/* Replaces what save says of files; keeps failures of the program. */
static bool has_no_form(Interp *in, Value v, LangError *e) {
    static const char save[] = "cannot save";
    if (e->kind == E_INTERRUPT || e->kind == E_GONE || e->is_late || e->at.src) return false;
    bool is_key = strstr(e->what, ": a key is") != NULL;
    char why[sizeof e->what];
    snprintf(why, sizeof why, "%s", e->what);
    e->what[0] = e->hint[0] = '\0';
    bool is_within = v.kind == V_LIST || v.kind == V_MAP || v.kind == V_OBJECT;
    if (strncmp(why, save, sizeof save - 1) || !is_within)
        error_set(e, "no %s for a value of type %s", forms[in->output].name, value_type_name(v));
    else
        error_set(e, "no %s for this %s%s%s", forms[in->output].name, value_type_name(v),
                  why[sizeof save - 1] == ':' ? "" : ":", why + sizeof save - 1);
    return is_key ? error_hint(e, "{str(k): v for k, v in m.items()}") : hint_form(in, e);
}

/* Waits for the tensors of j. The data of each item is malloc'ed. */
static bool fetch_items(Interp *in, const Job *j, IoItem *item, char *names, LangError *e) {
    char *name = names;
    for (int i = 0; i < j->n; i++) {
        void *data = NULL;
        char *end = name + strcspn(name, "\n");
        item[i].name = name;
        name = *end ? end + 1 : end;
        *end = '\0';
        item[i].type = j->handle[i]->type;
        TRY(stream_value(in->stream, j->handle[i], interp_span(in), &data, e));
        item[i].data = data;
    }
    return true;
}

bool output_value(Interp *in, Value v, LangError *e) {
    Job *j = xcalloc(1, sizeof *j);
    Err err = {0};
    if (in->output == OUTPUT_NPY && isatty(STDOUT_FILENO)) {
        job_free(j);
        error_set(e, "npy is binary: not for a terminal");
        return error_hint(e, "gtsh -p --format=npy 'x' >x.npy; --format=json");
    }
    j->path = xstrdup(forms[in->output].file);
    bool ok = (prepare(in, j, v, e) || has_no_form(in, v, e)) && not_interrupted(e);
    IoItem *item = xcalloc((size_t)j->n + 1, sizeof *item);
    char *names = xstrndup(j->keys.n ? j->keys.data : "", j->keys.n);
    ok = ok && stream_sync(in->stream, e) && fetch_items(in, j, item, names, e);
    if (ok && in->clear_line) in->clear_line(in);
    fflush(stdout);
    if (ok && !io_print(STDOUT_FILENO, j->path, item, j->n, j->meta.data, j->meta.n, &err)) {
        ok = error_from(e, &err);
        if (!e->hint[0]) hint_form(in, e);
    }
    for (int i = 0; i < j->n; i++) {
        free((void *)item[i].data);
        handle_unref(in->stream, &j->handle[i]);
    }
    free(item);
    free(names);
    job_free(j);
    return ok;
}

const Builtin builtins_io[] = {
    {"load", "path, dtype=none, key=none", bi_load,
     "Reads a file, or of a map the value named key; its extension gives the format: .npy a "
     "tensor, .npz and .safetensors a map, "
     ".csv a matrix or columns, .json host values, .idx, *-ubyte, .txt bytes as uint8, .bin "
     "elements of dtype; .gz of any. Example: load(\"t10k-images-idx3-ubyte.gz\")"},
    {"save", "obj, path", bi_save,
     "Writes a tensor, map, list or model to a file, in the format of its extension. Saves in "
     "program order without waiting, and replaces the file atomically. Example: save({model: "
     "model, step: 10}, \"run/check.safetensors\")"},
    {0}};
