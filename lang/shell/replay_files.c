/* replay_files.c: see replay_files.h. The most recently used files stay mapped. A file is hashed
 * and decoded from the same mapping, so the bytes checked are the bytes used.
 * SPDX-License-Identifier: MIT */
#include "lang/shell/replay_files.h"
#include "runtime/base/sha256.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_OPEN = 8 };

typedef struct OpenFile {
    char *path, *element; /* element: dtype of .bin files, or "" */
    Buf *bytes;
    char sha256[65]; /* "": not computed yet */
    IoValue value;   /* IO_NONE: not decoded yet */
    bool is_decoded;
    struct stat st; /* of the mapped file; if another file takes its name, that is mapped instead */
    uint64_t used;  /* time of the last use, for eviction */
} OpenFile;

struct ReplayFiles {
    char *dir; /* directory of the text with its slash, or "" */
    OpenFile file[FILES_OPEN];
    uint64_t clock;
};

static void close_file(OpenFile *o) {
    io_fini(&o->value);
    buf_unref(&o->bytes);
    free(o->path);
    free(o->element);
    *o = (OpenFile){0};
}

ReplayFiles *replay_files_new(const char *text) {
    ReplayFiles *f = xcalloc(1, sizeof *f);
    const char *slash = strrchr(text, '/');
    f->dir = xstrndup(text, slash ? (size_t)(slash - text) + 1 : 0);
    return f;
}

void replay_files_free(ReplayFiles **fp) {
    ReplayFiles *f = *fp;
    *fp = NULL;
    if (!f) return;
    for (int i = 0; i < FILES_OPEN; i++) close_file(&f->file[i]);
    free(f->dir);
    free(f);
}

/* The attribute as a C string; "" if it is missing. false: it contains a zero byte. */
static bool text_of(const Inst *in, AttrKey key, const char **text, Err *err) {
    const Attr *a = inst_attr(in, key);
    *text = a ? a->str : "";
    return !a || strlen(a->str) == a->n ||
           err_set(err, ERR_ARG, "'%s' contains a zero byte", attr_info[key].name);
}

/* The path relative to the text's directory; as written if only that exists. malloc'ed. */
static char *resolve(const ReplayFiles *f, const char *path) {
    Bytes b = {0};
    if (path[0] != '/') bytes_puts(&b, f->dir);
    bytes_puts(&b, path);
    if (access(b.data, F_OK) != 0 && access(path, F_OK) == 0) {
        b.n = 0;
        bytes_puts(&b, path);
    }
    return b.data;
}

bool replay_files_has(const ReplayFiles *f, const Inst *inst) {
    const char *path;
    if (!text_of(inst, ATTR_PATH, &path, NULL)) return true; /* an error of its own */
    char *found = resolve(f, path);
    bool is_there = access(found, F_OK) == 0;
    free(found);
    return is_there;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static OpenFile *open_file(ReplayFiles *f, const char *path, const char *element, Err *err) {
    OpenFile *oldest = &f->file[0];
    char *found = resolve(f, path);
    struct stat st = {0};
    bool is_there = stat(found, &st) == 0;
    for (OpenFile *o = f->file; o < f->file + FILES_OPEN; o++) {
        if (o->path && is_there && !strcmp(o->path, found) && !strcmp(o->element, element) &&
            is_same_file(&o->st, &st)) {
            free(found);
            o->used = ++f->clock;
            return o;
        }
        if (o->used < oldest->used) oldest = o;
    }
    Buf *bytes;
    if (!io_read(found, &bytes, err)) {
        free(found);
        return NULL;
    }
    close_file(oldest);
    oldest->path = found;
    oldest->element = xstrdup(element);
    oldest->bytes = bytes;
    oldest->st = st;
    oldest->used = ++f->clock;
    return oldest;
}

/* True if want is a prefix of the digest, of at least four digits. */
static bool is_digest(const char *is, const char *want) {
    size_t n = strlen(want);
    return n >= 4 && n <= 64 && strncasecmp(is, want, n) == 0;
}

static bool differs(const char *path, const char *is, const char *want, Err *err) {
    err_set(err, ERR_IO,
            "'%.200s' is not the file that the stream was made with: its sha256 is %s, not %.64s",
            path, is, want);
    return err_hint(err, "restore the file, or make the stream again: gtsh --emit");
}

/* Adds a hint which file is missing; returns false. */
static bool missing(const char *want, Err *err) {
    if (want[0] && err) err_hint(err, "it is the file with sha256 %.64s", want);
    return false;
}

/* ---- load ---- */

static bool decode(OpenFile *o, Err *err) {
    if (o->is_decoded) return true;
    TRY(io_decode(o->path, o->bytes, o->element, &o->value, err));
    return o->is_decoded = true;
}

bool replay_files_load(ReplayFiles *f, const Inst *load, IoTensor *out, Err *err) {
    const char *path, *key, *element, *want;
    TRY(text_of(load, ATTR_PATH, &path, err) && text_of(load, ATTR_KEY, &key, err) &&
        text_of(load, ATTR_AS, &element, err) && text_of(load, ATTR_SHA256, &want, err));
    if (!path[0]) return err_set(err, ERR_ARG, "load needs the name of a file");
    TRY(io_is_known(path, false, err));
    OpenFile *o = open_file(f, path, element, err);
    if (!o) return missing(want, err);
    if (inst_attr(load, ATTR_SHA256)) {
        if (!o->sha256[0]) sha256_hex(o->bytes->data, o->bytes->n, o->sha256);
        if (!is_digest(o->sha256, want)) return differs(o->path, o->sha256, want, err);
    }
    TRY(decode(o, err));
    const IoValue *v = inst_attr(load, ATTR_KEY) ? io_find(&o->value, key) : &o->value;
    if (!v) {
        err_set(err, ERR_ARG, "'%.200s' holds nothing named '%.100s'", path, key);
        return io_hint_names(&o->value, key, false, err);
    }
    if (v->kind != IO_TENSOR && v == &o->value) {
        err_set(err, ERR_ARG, "'%.200s' does not hold one tensor: key=\"...\" names one", path);
        return io_hint_names(&o->value, "", false, err);
    }
    if (v->kind == IO_BAD)
        return err_set(err, ERR_DTYPE, "cannot read '%.200s': %.250s", path, v->str);
    if (v->kind != IO_TENSOR)
        return err_set(err, ERR_ARG, "'%.100s' in '%.200s' is not a tensor", key, path);
    *out = (IoTensor){v->tensor->type, buf_ref(v->tensor->buf)};
    return true;
}

/* ---- data ---- */

bool replay_files_data(ReplayFiles *f, const Inst *data, uint64_t n, Buf **out, Err *err) {
    const char *name, *want;
    TRY(text_of(data, ATTR_PATH, &name, err) && text_of(data, ATTR_SHA256, &want, err));
    int64_t at = inst_int(data, ATTR_AT, 0);
    if (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
        return err_set(
            err, ERR_ARG,
            "data must be in the directory of its text: '%.200s' is not a plain file name", name);
    if (!want[0]) return err_set(err, ERR_ARG, "data in a file needs the sha256 of its bytes");
    OpenFile *o = open_file(f, name, "", err);
    if (!o) return missing("", err);
    if (at < 0 || (uint64_t)at > o->bytes->n || n > o->bytes->n - (uint64_t)at)
        return err_set(err, ERR_IO, "'%.200s' has only %zu bytes, not %llu from %lld on", o->path,
                       o->bytes->n, (unsigned long long)n, (long long)at);
    char is[65];
    sha256_hex(o->bytes->data + at, n, is);
    if (!is_digest(is, want)) return differs(o->path, is, want, err);
    *out = buf_part(o->bytes, o->bytes->data + at, n);
    return true;
}
