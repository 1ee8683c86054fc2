/* io.c: reads and writes whole files: gzip, the choice of the format by name, atomic writes.
 * The formats are in io_npy.c, io_npz.c, io_safetensors.c, io_csv.c, io_json.c, io_yaml.c,
 * io_png.c, io_pnm.c and io_raw.c (idx, bytes). io_element.c turns elements into tensors. A new
 * format is a file io_NAME.c with its header, a member of Format, and rows and cases here beside
 * those of F_NPY.
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "lang/file/file_map.h"
#include "lang/file/io_csv.h"
#include "lang/file/io_format.h"
#include "lang/file/io_json.h"
#include "lang/file/io_npy.h"
#include "lang/file/io_npz.h"
#include "lang/file/io_png.h"
#include "lang/file/io_pnm.h"
#include "lang/file/io_raw.h"
#include "lang/file/io_safetensors.h"
#include "lang/file/io_yaml.h"
#include "lang/error/interrupt.h"
#include "runtime/base/folder.h"
#include "runtime/base/near.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { JSON_NODES = 64 * 1000 * 1000 };
#define MAX_FILE_BYTES ((size_t)1 << 40)

/* ---- Reading ---- */

static bool io_error(Err *err, const char *doing, const char *path) {
    return err_set(err, ERR_IO, "cannot %s '%s': %s", doing, path, strerror(errno));
}

/* Says of a path that cannot be opened what a shell or a browser would make of it. */
static bool no_file(const char *path, Err *err) {
    io_error(err, "read", path);
    if (path[0] == '~' && path[1] == '/')
        err_hint(err, "~ is the shell's: getenv(\"HOME\") + \"%.100s\"", path + 1);
    else if (strstr(path, "://"))
        err_hint(err, "files only: shell(\"curl -fLO %.150s\")", path);
    return false;
}

/* Reads a file, or maps it if maps and it can be mapped. */
static bool read_file(const char *path, bool maps, Buf **out, Err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return no_file(path, err);
    bool has_stat = fstat(fd, &st) == 0;
    if (!has_stat || S_ISDIR(st.st_mode)) {
        if (has_stat) errno = EISDIR;
        io_error(err, "read", path);
        close(fd);
        return false;
    }
    size_t size = (size_t)st.st_size;
    Buf *b = maps && size >= FILE_MAP_LEAST ? file_map(fd, size, path) : NULL;
    if (b) {
        close(fd);
        *out = b;
        return true;
    }
    /* Pipes and /proc report size 0: the buffer then grows as it is read. */
    b = buf_new(st.st_size > 0 ? (size_t)st.st_size + 1 : 65536);
    for (;;) {
        if (b->n == b->cap) buf_reserve(b, b->cap);
        ssize_t n =
            read(fd, b->data + b->n, b->cap - b->n < IO_STEP_BYTES ? b->cap - b->n : IO_STEP_BYTES);
        if (interrupt_count || n == 0) break;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 || b->n + (size_t)n > MAX_FILE_BYTES) {
            if (n >= 0) errno = EFBIG;
            io_error(err, "read", path);
            close(fd);
            buf_unref(&b);
            return false;
        }
        b->n += (size_t)n;
    }
    close(fd);
    if (!not_interrupted_io(err)) {
        buf_unref(&b);
        return false;
    }
    *out = b;
    return true;
}

bool io_read(const char *path, Buf **out, Err *err) { return read_file(path, false, out, err); }

static bool inflate_bytes(const char *name, const Buf *in, Buf **out, Err *err) {
    size_t limit = io_inflate_limit(in->n), taken = 0;
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 16) != Z_OK) return err_set(err, ERR_MEMORY, "cannot start zlib");
    Buf *b = buf_new(in->n * 4 < limit ? in->n * 4 + 4096 : limit + 1);
    int rc = Z_OK;
    while ((rc == Z_OK || rc == Z_STREAM_END) && !interrupt_count) {
        if (z.avail_in == 0 && taken < in->n) {
            size_t n = in->n - taken < (1u << 30) ? in->n - taken : (1u << 30);
            z.next_in = in->data + taken;
            z.avail_in = (uInt)n;
            taken += n;
        }
        if (rc == Z_STREAM_END) {
            if (z.avail_in == 0) break; /* a gzip file may have several members */
            rc = inflateReset(&z);
            continue;
        }
        if (b->n == b->cap) buf_reserve(b, b->cap < limit ? b->cap : 1);
        size_t room = b->cap - b->n < IO_STEP_BYTES ? b->cap - b->n : IO_STEP_BYTES;
        z.next_out = b->data + b->n;
        z.avail_out = (uInt)room;
        rc = inflate(&z, Z_NO_FLUSH);
        b->n += room - z.avail_out;
        if (rc == Z_BUF_ERROR && z.avail_in == 0 && taken == in->n && z.avail_out > 0) break;
        if (rc == Z_BUF_ERROR) rc = Z_OK;
        if (b->n > limit) break;
    }
    inflateEnd(&z);
    if (b->n > limit) {
        err_set(err, ERR_LIMIT, "'%s' inflates to more than %zu MiB from %zu bytes", name,
                limit >> 20, in->n);
        err_hint(err, "if that is meant: gunzip it first");
    } else if (rc == Z_STREAM_END) {
        *out = b;
        return true;
    } else if (rc == Z_BUF_ERROR) {
        err_set(err, ERR_PARSE, "'%s' is cut off: its gzip data end too soon", name);
    } else {
        err_set(err, ERR_PARSE, "'%s' is not valid gzip data", name);
    }
    buf_unref(&b);
    return false;
}

/* ---- Formats by name ---- */

typedef enum Format {
    F_NPY,
    F_NPZ,
    F_SAFETENSORS,
    F_CSV,
    F_JSON,
    F_JSONL,
    F_YAML,
    F_PNG,
    F_PNM,
    F_IDX,
    F_TXT,
    F_BIN,
    F_UNKNOWN
} Format;

static const struct {
    const char *tail;
    Format format;
} by_tail[] = {{".npy", F_NPY},   {".npz", F_NPZ},   {".safetensors", F_SAFETENSORS},
               {".csv", F_CSV},   {".json", F_JSON}, {".jsonl", F_JSONL},
               {".yaml", F_YAML}, {".yml", F_YAML},  {".png", F_PNG},
               {".ppm", F_PNM},   {".pgm", F_PNM},   {".pbm", F_PNM},
               {".pnm", F_PNM},   {".idx", F_IDX},   {"-ubyte", F_IDX},
               {".txt", F_TXT},   {".bin", F_BIN}};
enum { TAILS = sizeof by_tail / sizeof *by_tail };

/* By format: the forms that it can save, and what a file holds, for errors. */
#define FORM(f) (1u << IO_FORM_##f)
static const struct {
    unsigned forms;
    const char *holds;
} format_info[] = {
    [F_NPY] = {FORM(TENSOR), "one tensor"},
    [F_NPZ] = {FORM(ITEMS) | FORM(HOST) | FORM(TENSOR) | FORM(TEXT), "values by name"},
    [F_SAFETENSORS] = {FORM(ITEMS) | FORM(HOST) | FORM(TENSOR) | FORM(TEXT), "values by name"},
    [F_CSV] = {FORM(TENSOR) | FORM(HOST) | FORM(ITEMS), "a table"},
    [F_JSON] = {FORM(TENSOR) | FORM(TEXT) | FORM(HOST) | FORM(ITEMS), "host values"},
    [F_JSONL] = {FORM(TENSOR) | FORM(HOST) | FORM(ITEMS), "a list, one value per line"},
    [F_YAML] = {FORM(TENSOR) | FORM(TEXT) | FORM(HOST) | FORM(ITEMS), "host values"},
    [F_PNG] = {FORM(TENSOR), "one picture, a tensor"},
    [F_PNM] = {FORM(TENSOR), "one picture, a tensor"},
    [F_IDX] = {FORM(TENSOR), "one tensor"},
    [F_TXT] = {FORM(TENSOR) | FORM(TEXT), "one tensor or text"},
    [F_BIN] = {FORM(TENSOR) | FORM(TEXT), "one tensor or text"},
};

static bool has_tail(const char *s, size_t n, const char *tail) {
    size_t m = strlen(tail);
    return n > m && !strncasecmp(s + n - m, tail, m);
}

/* Index in by_tail; TAILS if the format is unknown. */
static int tail_of(const char *path, bool *is_gz) {
    size_t n = strlen(path);
    int i = 0;
    *is_gz = has_tail(path, n, ".gz");
    if (*is_gz) n -= 3;
    while (i < TAILS && !has_tail(path, n, by_tail[i].tail)) i++;
    return i;
}

static Format format_of(const char *path, bool *is_gz) {
    int i = tail_of(path, is_gz);
    return i < TAILS ? by_tail[i].format : F_UNKNOWN;
}

/* True if the decoder may read bytes that change meanwhile: it copies headers before it checks
 * them. */
static bool can_map(Format f) {
    return f == F_NPY || f == F_NPZ || f == F_SAFETENSORS || f == F_IDX || f == F_TXT || f == F_BIN;
}

static bool is_torch(const char *path) {
    size_t n = strlen(path);
    return has_tail(path, n, ".pt") || has_tail(path, n, ".pth") || has_tail(path, n, ".ckpt");
}

/* Says how a file of PyTorch's becomes one that both read: as a line of Python to copy. */
static void hint_torch(const char *path, bool to_save, Err *err) {
    int n = (int)(strrchr(path, '.') - path);
    if (to_save) {
        err_hint(err,
                 "name it .safetensors: PyTorch reads that by safetensors.torch.load_file(path)");
        return;
    }
    if (strlen(path) > 30) {
        err_hint(err, "in PyTorch: safetensors.torch.save_file(model.state_dict(), "
                      "\"x.safetensors\")");
        return;
    }
    err_hint(err,
             "once, in Python: import torch, safetensors.torch as s; "
             "s.save_file({k: v.clone().contiguous() for k, v in torch.load(\"%s\", \"cpu\")"
             ".items()}, \"%.*s.safetensors\")",
             path, n, path);
}

/* Formats of other programs, and how their files become ones that load reads. */
static const struct {
    const char *tail, *hint;
} foreign[] = {
    {".tsv", "name it .csv: load finds tabs by itself"},
    {".jpg", "as a .png: convert x.jpg x.png, or in Python: Image.open(\"x.jpg\").save(\"x.png\")"},
    {".jpeg",
     "as a .png: convert x.jpeg x.png, or in Python: Image.open(\"x.jpeg\").save(\"x.png\")"},
    {".gif", "as a .png: convert \"x.gif[0]\" x.png"},
    {".bmp", "as a .png: convert x.bmp x.png"},
    {".webp", "as a .png: convert x.webp x.png"},
    {".tif", "as a .png: convert x.tif x.png"},
    {".tiff", "as a .png: convert x.tiff x.png"},
    {".pkl", "pickles are programs, which are never run; in Python: numpy.savez(\"x.npz\", a=a)"},
    {".pickle",
     "pickles are programs, which are never run; in Python: numpy.savez(\"x.npz\", a=a)"},
    {".joblib",
     "pickles are programs, which are never run; in Python: numpy.savez(\"x.npz\", a=a)"},
    {".h5",
     "in Python: numpy.savez(\"x.npz\", **{k: v[()] for k, v in h5py.File(\"x.h5\").items()})"},
    {".hdf5",
     "in Python: numpy.savez(\"x.npz\", **{k: v[()] for k, v in h5py.File(\"x.hdf5\").items()})"},
    {".mat", "in Python: numpy.savez(\"x.npz\", a=scipy.io.loadmat(\"x.mat\")[\"a\"])"},
    {".parquet", "in Python: pandas.read_parquet(\"x.parquet\").to_csv(\"x.csv\", index=False)"},
    {".feather", "in Python: pandas.read_feather(\"x.feather\").to_csv(\"x.csv\", index=False)"},
    {".xlsx", "in Python: pandas.read_excel(\"x.xlsx\").to_csv(\"x.csv\", index=False)"},
    {".onnx", "weights in PyTorch's names: safetensors.torch.save_file(model.state_dict(), path)"},
};

static const char *foreign_hint(const char *path) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (has_tail(path, strlen(path), foreign[i].tail)) return foreign[i].hint;
    return NULL;
}

bool io_is_known(const char *path, bool to_save, Err *err) {
    bool is_gz;
    if (format_of(path, &is_gz) == F_UNKNOWN) {
        Bytes tails = {0};
        for (int i = 0; i < TAILS; i++)
            bytes_printf(&tails, "%s%s",
                         i == 0          ? ""
                         : i + 1 < TAILS ? " "
                                         : " or ",
                         by_tail[i].tail);
        err_set(err, ERR_ARG, "no file format is known for '%s'", path);
        if (is_torch(path))
            hint_torch(path, to_save, err);
        else if (!to_save && foreign_hint(path))
            err_hint(err, "%s", foreign_hint(path));
        else
            err_hint(err, "names end in %s%s", tails.data, to_save ? "" : ", or these and .gz");
        bytes_fini(&tails);
        return false;
    }
    if (to_save && is_gz)
        return err_set(err, ERR_ARG, "save does not compress: '%s' ends in .gz", path);
    return true;
}

bool io_is_by_name(const char *path) {
    bool is_gz;
    Format f = format_of(path, &is_gz);
    return f == F_NPZ || f == F_SAFETENSORS;
}

bool io_can_save(const char *path, IoForm form, Err *err) {
    if (!io_is_known(path, true, err)) {
        if (is_torch(path) && form == IO_FORM_TENSOR)
            err_hint(err,
                     "one tensor: .npy, which NumPy reads: torch.from_numpy(numpy.load(path))");
        return false;
    }
    bool is_gz;
    int i = tail_of(path, &is_gz);
    Format f = by_tail[i].format;
    if (format_info[f].forms >> form & 1) return true;
    if (f == F_CSV) return err_set(err, ERR_ARG, "a .csv file holds a table, not text");
    err_set(err, ERR_ARG, "a %s file holds %s", by_tail[i].tail, format_info[f].holds);
    return err_hint(err, form == IO_FORM_HOST || form == IO_FORM_TEXT
                             ? ".json holds host values"
                             : ".safetensors holds tensors by name, and host values");
}

/* The error for an element type that is no dtype: often the key, given as the second argument. */
static bool no_dtype(Format f, const char *element, Err *err) {
    const char *name[DT_COUNT];
    for (int i = 0; i < DT_COUNT; i++) name[i] = dtype_info[i].name;
    const char *near = nearest_name(element, strlen(element), name, DT_COUNT);
    err_set(err, ERR_ARG, "'%.100s' is not a dtype", element);
    if (near) return err_hint(err, "did you mean '%s'?", near);
    if (f == F_NPZ || f == F_SAFETENSORS)
        return err_hint(err, "load(path, key=\"%.100s\")", element);
    size_t n = strspn(element, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    bool is_name = !element[n] && !(*element >= '0' && *element <= '9');
    if (f == F_CSV || f == F_JSON || f == F_YAML)
        return err_hint(err, is_name ? "load(path).%.100s" : "load(path)[\"%.100s\"]", element);
    return err_hint(err, "load(path), and .to(dtype)");
}

static bool decode(Format f, const char *name, Buf *b, const char *element, IoValue *out,
                   Err *err) {
    IoElement el = EL_U8;
    DType numbers = DT_NONE, floats = DT_F32;
    size_t n_floats = strlen(IO_FLOATS);
    if (element && !strncmp(element, IO_FLOATS, n_floats)) {
        floats = dtype_find(element + n_floats, strlen(element + n_floats));
        if (floats == DT_NONE) return err_set(err, ERR_ARG, "'%s' is not a dtype", element);
    } else if (element && *element && f == F_CSV) {
        numbers = dtype_find(element, strlen(element));
        if (numbers == DT_NONE) return no_dtype(f, element, err);
    } else if (element && *element) {
        el = io_element_find(element, strlen(element));
        if (f != F_BIN && el == EL_COUNT) return no_dtype(f, element, err);
        if (f != F_BIN) {
            err_set(err, ERR_ARG,
                    "dtype= is for .csv and .bin files: '%s' says itself what it holds", name);
            return err_hint(err, "load(path).to(%s)", element);
        }
        if (el == EL_COUNT)
            return err_set(err, ERR_ARG, "'%s' is not an element type of files", element);
    }
    switch (f) {
    case F_NPY: return npy_decode(b, out, err);
    case F_NPZ: return npz_decode(b, out, err);
    case F_SAFETENSORS: return safetensors_decode(b, out, err);
    case F_CSV: return csv_decode(b, numbers, floats, out, err);
    case F_JSON: return json_parse((const char *)b->data, b->n, JSON_NODES, out, err);
    case F_JSONL: return jsonl_decode(b, JSON_NODES, out, err);
    case F_YAML: return yaml_decode(b, out, err);
    case F_PNG: return png_decode(b, out, err);
    case F_PNM: return pnm_decode(b, out, err);
    case F_IDX: return idx_decode(b, out, err);
    default: return raw_decode(b, el, out, err);
    }
}

bool io_decode(const char *name, Buf *bytes, const char *element, IoValue *out, Err *err) {
    *out = (IoValue){0};
    bool is_gz;
    Format f = format_of(name, &is_gz);
    if (f == F_UNKNOWN) return io_is_known(name, false, err);
    Buf *b = NULL;
    if (!is_gz)
        b = buf_ref(bytes);
    else
        TRY(inflate_bytes(name, bytes, &b, err));
    bool ok = decode(f, name, b, element, out, err); /* stops early after Ctrl-C */
    ok = not_interrupted_io(err) && ok;
    buf_unref(&b);
    if (!ok) io_fini(out);
    return ok;
}

/* Adds the file's name to an error: "cannot read 'a.npy': the header is cut off". Returns false. */
static bool name_file(Err *err, const char *doing, const char *path) {
    if (!err || !err->code || strstr(err->text, path)) return false;
    if (err->code == ERR_CANCELLED)
        return *doing == 'w' &&
               err_set(err, ERR_CANCELLED, "interrupted: '%.200s' is not written", path);
    Err old = *err;
    err_set(err, old.code, "cannot %s '%.200s': %.280s", doing, path, old.text);
    if (old.hint[0]) err_hint(err, "%s", old.hint);
    return false;
}

static bool load(const char *path, const char *element, bool maps, Buf **bytes, IoValue *out,
                 Err *err) {
    *out = (IoValue){0};
    Buf *b = NULL;
    TRY(io_is_known(path, false, err));
    TRY(read_file(path, maps, &b, err));
    bool ok = io_decode(path, b, element, out, err);
    if (!file_map_is_whole(b->data, b->n, err)) { /* whatever else it was, that is why */
        io_fini(out);
        ok = false;
    }
    if (ok && bytes) *bytes = buf_ref(b);
    buf_unref(&b);
    if (!ok) name_file(err, "read", path);
    return ok;
}

bool io_load(const char *path, const char *element, Buf **bytes, IoValue *out, Err *err) {
    return load(path, element, false, bytes, out, err);
}

bool io_map(const char *path, const char *element, Buf **bytes, IoValue *out, Err *err) {
    bool is_gz;
    return load(path, element, can_map(format_of(path, &is_gz)) || is_gz, bytes, out, err);
}

bool io_load_part(const char *path, const char *key, bool *is_found, IoValue *out, Err *err) {
    bool is_gz;
    struct stat st;
    *out = (IoValue){0};
    *is_found = false;
    if (format_of(path, &is_gz) != F_SAFETENSORS || is_gz) return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_error(err, "read", path);
    bool ok = true;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        ok = safetensors_pick(fd, (uint64_t)st.st_size, key, out, err);
        *is_found = ok && io_find(out, key);
    }
    close(fd);
    if (!*is_found) io_fini(out);
    if (!ok) name_file(err, "read", path);
    return ok;
}

/* ---- Writing ---- */

bool io_make_parents(const char *path, Err *err) {
    char dir[PATH_MAX];
    return folder_make_above(path, 0777, dir) || io_error(err, "make the directory", dir);
}

/* A target being written. A regular file is replaced atomically: a temporary file in the same
 * directory gets the old file's mode and owner, is synced and renamed. After a crash either the old
 * or the new file is complete. A symbolic link is kept and the file that it points to is replaced.
 * Anything else (a pipe, a terminal) is written directly. */
typedef struct Aside {
    IoSink sink;
    char target[PATH_MAX], name[PATH_MAX];
    bool is_direct;
} Aside;

enum { LINKS_MAX = 40 };

/* True if the path names an open descriptor, as the target of /dev/stdout does. */
static bool is_descriptor(const char *path) {
    return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/fd/", 8);
}

/* Follows the symbolic links at the end of path, but not those of a descriptor. */
static bool resolve(const char *path, char to[PATH_MAX], Err *err) {
    char link[PATH_MAX];
    if ((size_t)snprintf(to, PATH_MAX, "%s", path) >= PATH_MAX)
        return err_set(err, ERR_IO, "the path is too long: '%.100s...'", path);
    for (int i = 0; i < LINKS_MAX; i++) {
        ssize_t n = is_descriptor(to) ? -1 : readlink(to, link, sizeof link - 1);
        if (n < 0) return true;
        link[n] = '\0';
        char *slash = link[0] == '/' ? NULL : strrchr(to, '/');
        size_t at = slash ? (size_t)(slash - to) + 1 : 0;
        if (at + (size_t)n >= PATH_MAX) break;
        memcpy(to + at, link, (size_t)n + 1);
    }
    errno = ELOOP;
    return io_error(err, "write", path);
}

/* Copies mode and owner of the file being replaced. If the group cannot be kept, the new group gets
 * the permissions of others. */
static bool take_after(int fd, const struct stat *old) {
    mode_t mode = old->st_mode & 0777;
    if (fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid))
        mode &= ~(mode_t)070 | (mode & 07) << 3;
    return !fchmod(fd, mode);
}

static bool aside_open(Aside *a, const char *path, Err *err) {
    struct stat old;
    TRY(resolve(path, a->target, err));
    bool is_there = !stat(a->target, &old);
    a->is_direct = is_there && (!S_ISREG(old.st_mode) || is_descriptor(a->target));
    if (a->is_direct) {
        a->sink = (IoSink){.fd = open(a->target, O_WRONLY | O_TRUNC | O_CLOEXEC)};
        return a->sink.fd >= 0 || io_error(err, "write", path);
    }
    if (is_there && access(a->target, W_OK)) return io_error(err, "write", path);
    const char *slash = strrchr(a->target, '/');
    int n = snprintf(a->name, sizeof a->name, "%.*s.%s.%ld.tmp",
                     slash ? (int)(slash - a->target + 1) : 0, a->target,
                     slash ? slash + 1 : a->target, (long)getpid());
    if (n >= (int)sizeof a->name)
        return err_set(err, ERR_IO, "the path is too long: '%.100s...'", path);
    unlink(a->name);
    a->sink = (IoSink){.fd = open(a->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                  is_there ? 0600 : 0666)};
    if (a->sink.fd < 0) return io_error(err, "write", path);
    if (!is_there || take_after(a->sink.fd, &old)) return true;
    io_error(err, "write", path);
    close(a->sink.fd);
    unlink(a->name);
    return false;
}

/* Makes the rename durable. Errors are ignored: not every file system can sync a directory. */
static void sync_directory(const char *path) {
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

static bool aside_close(Aside *a, const char *path, bool ok, Err *err) {
    bool is_large = a->sink.at > IO_STEP_BYTES;
    ok = ok && not_interrupted_io(err);
    if (ok && (a->sink.failed ||
               (!a->is_direct && (is_large ? io_sync(a->sink.fd) : fsync(a->sink.fd)) != 0))) {
        if (a->sink.failed) errno = a->sink.error;
        ok = io_error(err, "write", path);
    }
    ok = ok && not_interrupted_io(err);
    if (close(a->sink.fd) != 0 && ok) ok = io_error(err, "write", path);
    if (a->is_direct) return ok;
    if (ok && rename(a->name, a->target) != 0) ok = io_error(err, "write", path);
    if (ok)
        sync_directory(a->target);
    else
        unlink(a->name);
    return ok;
}

bool io_write(const char *path, const void *data, size_t n, Err *err) {
    Aside a;
    TRY(aside_open(&a, path, err));
    io_put_bytes(&a.sink, data, n);
    return aside_close(&a, path, true, err) || name_file(err, "write", path);
}

bool io_append(const char *path, const void *data, size_t n, Err *err) {
    struct stat s;
    IoSink sink = {.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)};
    if (sink.fd < 0) return io_error(err, "write", path);
    bool ok = !fstat(sink.fd, &s);
    io_put_bytes(&sink, data, n);
    if (sink.failed) errno = sink.error;
    ok = ok && !sink.failed;
    bool is_whole = ok && not_interrupted_io(err);
    if (!is_whole) {
        if (!ok) io_error(err, "write", path);
        ok = false;
        if (sink.at && S_ISREG(s.st_mode) && ftruncate(sink.fd, s.st_size))
            err_hint(err, "a part of it was written");
    }
    return !close(sink.fd) || !ok ? ok : io_error(err, "write", path);
}

/* True if s, escaped as in io_save's names, begins with key and then ends or has a "/". */
static bool is_key(const char *key, const char *s) {
    for (; *s && *s != '/'; s++, key++) {
        char c = *s == '~' ? *++s == '0' ? '~' : '/' : *s;
        if (!*s || *key != c) return false;
    }
    return !*key;
}

/* The value that a name leads to from v, or NULL. */
static IoValue *place_of(IoValue *v, const char *name) {
    for (;;) {
        IoValue *kid = NULL;
        int64_t k = v->kind == IO_LIST ? strtoll(name, NULL, 10) : -1;
        if (k >= 0 && k < v->n) kid = &v->kid[k];
        for (uint32_t i = 0; v->kind == IO_MAP && !kid && i < v->n; i++)
            if (is_key(v->key[i], name)) kid = &v->kid[i];
        name += strcspn(name, "/");
        if (!kid || !*name) return kid;
        v = kid;
        name++;
    }
}

/* The tree that text formats write: meta with the items in place of its nulls; without meta, the
 * levels of the items' names. */
static bool tree_of(const IoItem *item, int n, const char *meta, size_t n_meta, IoValue *out,
                    Err *err) {
    *out = (IoValue){.kind = n ? IO_MAP : IO_NONE};
    if (n_meta) TRY(json_parse(meta, n_meta, JSON_NODES, out, err));
    for (int i = 0; i < n; i++) {
        IoValue *v =
            n_meta ? place_of(out, item[i].name) : io_put(out, item[i].name, strlen(item[i].name));
        if (!v || v->kind != IO_NONE)
            return err_set(err, ERR_ARG, "the host values have no null at '%.100s'", item[i].name);
        v->kind = IO_TENSOR;
        v->tensor = xmalloc(sizeof *v->tensor);
        v->tensor->type = item[i].type;
        v->tensor->buf = buf_copy(item[i].data, (size_t)type_bytes(&item[i].type));
    }
    if (!n_meta) io_nest(out);
    return true;
}

bool io_has_few_lists(const TensorType *t, Err *err) {
    enum { EMPTY_MAX = 1 << 20 };
    char shape[256];
    int64_t n = 1;
    if (type_numel(t) > 0) return true;
    /* the product of all extents is within the limits */
    for (int d = 0; d < t->rank && t->shape[d]; d++) {
        n = n > EMPTY_MAX / t->shape[d] ? EMPTY_MAX + 1 : n * t->shape[d];
        if (n <= EMPTY_MAX) continue;
        err_set(err, ERR_LIMIT, "shape %s is more than %d empty lists", type_shape_text(t, shape),
                EMPTY_MAX);
        return err_hint(err, "save it as .npy, or x.reshape(0)");
    }
    return true;
}

static bool has_few_lists(const IoValue *v, Err *err) {
    for (uint32_t i = 0; (v->kind == IO_LIST || v->kind == IO_MAP) && i < v->n; i++)
        TRY(has_few_lists(&v->kid[i], err));
    return v->kind != IO_TENSOR || io_has_few_lists(&v->tensor->type, err);
}

/* Converts tensors to nested lists. */
static bool make_lists(IoValue *v, Err *err) {
    for (uint32_t i = 0; (v->kind == IO_LIST || v->kind == IO_MAP) && i < v->n; i++)
        TRY(make_lists(&v->kid[i], err));
    if (v->kind != IO_TENSOR) return true;
    Bytes text = {0};
    json_print(v, -1, &text);
    io_fini(v);
    bool ok = json_parse(text.data, text.n, JSON_NODES, v, err);
    bytes_fini(&text);
    return ok;
}

static bool encode_tree(Format f, IoSink *s, IoValue *v, Err *err) {
    if (f == F_CSV) return csv_encode(s, v, err);
    TRY(has_few_lists(v, err));
    if (f == F_YAML) return make_lists(v, err) && yaml_encode(s, v, err);
    if (f == F_JSONL) return make_lists(v, err) && jsonl_encode(s, v, err);
    Bytes text = {0};
    json_print(v, 1, &text);
    bytes_putc(&text, '\n');
    io_put_bytes(s, text.data, text.n);
    bytes_fini(&text);
    return true;
}

static bool encode_bytes(IoSink *s, const IoItem *item, int n, const char *meta, size_t n_meta,
                         Err *err) {
    if (n == 1) {
        io_put_bytes(s, item->data, (size_t)type_bytes(&item->type));
        return true;
    }
    IoValue v = {0};
    TRY(json_parse(meta, n_meta, 16, &v, err));
    bool ok = v.kind == IO_STR;
    if (ok) io_put_bytes(s, v.str, v.n_str);
    io_fini(&v);
    return ok || err_set(err, ERR_ARG, "a .txt or .bin file holds a string or one tensor");
}

static bool encode(const char *path, Format f, IoSink *s, const IoItem *item, int n,
                   const char *meta, size_t n_meta, Err *err) {
    bool is_one = n == 1 && !item->name[0];
    if (f == F_SAFETENSORS) return safetensors_encode(s, item, n, meta, n_meta, err);
    if (f == F_NPZ) return npz_encode(s, item, n, meta, n_meta, err);
    if (f == F_CSV || f == F_JSON || f == F_JSONL || f == F_YAML) {
        IoValue v;
        bool ok = tree_of(item, n, meta, n_meta, &v, err) && encode_tree(f, s, &v, err);
        io_fini(&v);
        return ok;
    }
    if ((f == F_TXT || f == F_BIN) && (is_one || n == 0))
        return encode_bytes(s, item, n, meta, n_meta, err);
    TRY(io_can_save(path, is_one ? IO_FORM_TENSOR : n ? IO_FORM_ITEMS : IO_FORM_HOST, err));
    switch (f) {
    case F_NPY: return npy_encode(s, item, err);
    case F_PNG: return png_encode(s, item, err);
    case F_PNM: return pnm_encode(s, item, err);
    default: return idx_encode(s, item, err);
    }
}

bool io_save(const char *path, const IoItem *item, int n, const char *meta, size_t n_meta,
             Err *err) {
    bool is_gz;
    Format f = format_of(path, &is_gz);
    TRY(io_is_known(path, true, err));
    Aside a;
    TRY(io_make_parents(path, err));
    TRY(aside_open(&a, path, err));
    bool ok = encode(path, f, &a.sink, item, n, meta, n_meta, err); /* stops early after Ctrl-C */
    ok = not_interrupted_io(err) && ok;
    return aside_close(&a, path, ok, err) || name_file(err, "write", path);
}

bool io_print(int fd, const char *name, const IoItem *item, int n, const char *meta, size_t n_meta,
              Err *err) {
    bool is_gz, ok;
    Format f = format_of(name, &is_gz);
    IoSink sink = {.fd = fd};
    if (f == F_JSON) {
        IoValue v;
        Bytes text = {0};
        ok = tree_of(item, n, meta, n_meta, &v, err) && has_few_lists(&v, err);
        if (ok) json_print(&v, -1, &text);
        bytes_putc(&text, '\n');
        if (ok) io_put_bytes(&sink, text.data, text.n);
        bytes_fini(&text);
        io_fini(&v);
    } else {
        ok = encode(name, f, &sink, item, n, meta, n_meta, err);
    }
    if (ok && sink.failed) return err_set(err, ERR_IO, "cannot write: %s", strerror(sink.error));
    return ok && not_interrupted_io(err);
}

bool io_save_reply(const char *path, const char *keys, size_t n_keys, const char *meta,
                   size_t n_meta, const Reply *r, Err *err) {
    IoItem *item = xcalloc(r->n + 1, sizeof *item);
    char *copy = xstrndup(keys ? keys : "", n_keys), *p = copy;
    bool ok = true, is_poisoned = false;
    for (uint32_t i = 0; i < r->n && ok; i++) {
        char *end = p ? strchr(p, '\n') : NULL;
        if (!p)
            ok = err_set(err, ERR_ARG, "save names fewer tensors than it has");
        else
            item[i] = (IoItem){.name = p, .type = r->value[i].type, .data = r->value[i].data};
        is_poisoned |= r->value[i].status != 0;
        if (end) *end = 0;
        p = end ? end + 1 : NULL;
    }
    if (ok && !is_poisoned) ok = io_save(path, item, (int)r->n, meta, n_meta, err);
    free(item);
    free(copy);
    return ok;
}
