/* io.h: reads and writes files, by pure functions over bytes and host arrays. They need no
 * interpreter and no stream, so programs, replays and fuzzers share them. The extension gives the
 * format:
 *
 *   .npy          one tensor
 *   .npz          tensors by name, host values as JSON in the member gt.json
 *   .safetensors  tensors by name, host values as JSON in the header
 *   .csv          a matrix, or columns by name if it has a header: int64 or float32
 *   .json         host values
 *   .jsonl        a list of host values, one per line
 *   .yaml .yml    host values
 *   .png          a picture, uint8 (H, W) or (H, W, 2 to 4)
 *   .ppm .pgm     a picture, uint8 (H, W, 3) or (H, W); netpbm's P1 to P6, also .pbm and .pnm
 *   .idx *-ubyte  one tensor (MNIST's files)
 *   .txt          bytes as uint8
 *   .bin          elements of the requested dtype
 *   any + .gz     inflated first (load only)
 *
 * Files are untrusted: every size is checked against the bytes present before memory is allocated
 * for it. Element types without a dtype are widened (int16 to int32, bfloat16 to float32), and byte
 * orders are made native. In formats with names, those of nested maps and lists are joined with
 * "/". A level whose names are 0, 1, ... is read as a list, unless its own name holds an empty map;
 * "" names the outermost level.
 * SPDX-License-Identifier: MIT */
#ifndef GT_LANG_FILE_IO_H
#define GT_LANG_FILE_IO_H
#include "runtime/base/buf.h"
#include "runtime/wire/wire.h"

typedef enum IoKind {
    IO_NONE,
    IO_BOOL,
    IO_INT,
    IO_FLOAT,
    IO_STR,
    IO_LIST,
    IO_MAP,
    IO_TENSOR,
    IO_BAD /* a member of an archive that cannot be read: str says why */
} IoKind;

/* The elements are buf's bytes, all of them; buf is one reference, owned. After io_map only
 * io_elements gives them: buf may then lie in the mapped file, in the file's own element type. */
typedef struct IoTensor {
    TensorType type;
    Buf *buf;
    uint8_t element; /* of is_mapped: an IoElement */
    bool is_mapped, is_swapped;
} IoTensor;

/* The contents of a file. The owner of the root owns all of it: io_fini frees the whole tree. */
typedef struct IoValue IoValue;
struct IoValue {
    IoKind kind;
    union {
        bool b;
        int64_t i;
        double f;
        struct {
            char *str;
            size_t n_str;
        }; /* NUL-terminated             */
        struct {
            IoValue *kid;
            char **key;
            uint32_t n, cap;
        }; /* key: maps only, one per child */
        IoTensor *tensor;
    };
};

void io_fini(IoValue *v);        /* v becomes IO_NONE */
IoValue *io_push(IoValue *list); /* appends an IO_NONE to a list */
/* adds an IO_NONE; does not look for duplicate keys */
IoValue *io_put(IoValue *map, const char *key, size_t n);
IoValue *io_get(const IoValue *map, const char *key); /* or NULL                           */
/* The value under a name whose levels are joined by "/", or NULL. */
const IoValue *io_find(const IoValue *v, const char *key);
/* Adds a hint for a name that io_find did not find: the nearest one, or some of those that there
 * are. all: of host values, too, else of tensors. Returns false. */
bool io_hint_names(const IoValue *v, const char *key, bool all, Err *err);

/* Turns a flat map of names into nested maps, one level per "/"; levels named 0, 1, ... become
 * lists. Leaves it as it is if a name has an empty part, or is both a value and a level. */
void io_nest(IoValue *flat);

/* Prefix of a dtype name that applies to numbers of a .csv that are not whole; other formats ignore
 * it. */
#define IO_FLOATS "floats="
/* Reads a whole file. element: NULL, "", a dtype name for .bin and .csv ("uint16", ...), or
 * IO_FLOATS and a dtype name. *bytes, unless bytes is NULL: one reference to the raw file. On
 * failure: ERR_IO, ERR_PARSE, ERR_LIMIT, ERR_ARG. */
bool io_load(const char *path, const char *element, Buf **bytes, IoValue *out, Err *err);
/* As io_load, but tensors of large files stay where they are, in the mapped file (file_map.h):
 * io_elements gives their elements. */
bool io_map(const char *path, const char *element, Buf **bytes, IoValue *out, Err *err);
/* Sets *out to the elements of a tensor of a file, row-major, of its dtype: one reference. What is
 * mapped is copied, and its pages are given back. Fails if the file was cut off (ERR_IO), if an
 * element has no place in the dtype (ERR_PARSE), or after Ctrl-C. */
bool io_elements(const IoTensor *t, Buf **out, Err *err);
/* Reads of a file only what io_find(out, key) then finds, if the format has an index of its own
 * (.safetensors) and the file something of that name: *is_found. Else *out is IO_NONE, and io_load
 * reads the file or says what is wrong. */
bool io_load_part(const char *path, const char *key, bool *is_found, IoValue *out, Err *err);
/* As io_load, from bytes in memory. name gives the format, .gz included. *out may hold references
 * to bytes. */
bool io_decode(const char *name, Buf *bytes, const char *element, IoValue *out, Err *err);
/* True if the name has a known format; else ERR_ARG lists the formats. */
bool io_is_known(const char *path, bool to_save, Err *err);

/* True if the format holds named values and keeps tensors apart from host values. */
bool io_is_by_name(const char *path);

/* What a format can save: one tensor, text as it is, host values, or named items. */
typedef enum IoForm { IO_FORM_TENSOR, IO_FORM_TEXT, IO_FORM_HOST, IO_FORM_ITEMS } IoForm;
/* else ERR_ARG says what the format holds */
bool io_can_save(const char *path, IoForm form, Err *err);

/* A tensor to save. name: "" if the file holds a single value. */
typedef struct IoItem {
    const char *name;
    TensorType type;
    const void *data;
} IoItem;

/* Replaces the file atomically (temporary file, sync, rename); makes missing directories. meta: ""
 * or JSON text. In formats with names it is a map of the host values; in others it is the whole
 * value, with a null in place of each item. An item's name is its path: keys and list indices
 * joined by "/". In a key "~1" stands for "/" and "~0" for "~" (RFC 6901). */
bool io_save(const char *path, const IoItem *item, int n, const char *meta, size_t n_meta,
             Err *err);
/* Carries out a `save` instruction. keys: one per value of the reply, separated by newlines. If a
 * value is poisoned, writes nothing and returns true: its cause is reported elsewhere. */
bool io_save_reply(const char *path, const char *keys, size_t n_keys, const char *meta,
                   size_t n_meta, const Reply *r, Err *err);

/* Writes a value to an open file, in the format of name: .csv, .npy, or .json on one line. The
 * other arguments are those of io_save. */
bool io_print(int fd, const char *name, const IoItem *item, int n, const char *meta, size_t n_meta,
              Err *err);

bool io_read(const char *path, Buf **out, Err *err); /* raw bytes */
/* Replaces a file atomically, as io_save; its directory must exist. */
bool io_write(const char *path, const void *data, size_t n, Err *err);
/* Appends n bytes. If that fails, a regular file is truncated to its old size. */
bool io_append(const char *path, const void *data, size_t n, Err *err);

/* Makes the missing directories above a path. */
bool io_make_parents(const char *path, Err *err);

/* TensorBoard's event files (io_events.c); they grow by records. seconds: since 1970. Appends the
 * record that begins such a file, and one that makes readers leave out the earlier files of its
 * directory. */
void events_begin(double seconds, Bytes *out);
/* Appends a record of n scalars of one step. */
void events_scalars(double seconds, int64_t step, const char *const *name, const double *value,
                    int n, Bytes *out);

/* JSON (io_json.c). Ints stay exact, floats keep a point or exponent; inf and nan are written as
 * Infinity and NaN, as in Python's json. max_nodes bounds the memory that untrusted text can take.
 * Of duplicate keys the last wins. Strings must be UTF-8, and keys without the character 0. */
bool json_parse(const char *s, size_t n, size_t max_nodes, IoValue *out, Err *err);
void json_print(const IoValue *v, int indent, Bytes *out); /* indent < 0: one line */
/* True if t may be written as nested lists. ERR_LIMIT if it has no elements but needs more than
 * 2^20 empty lists, which a file of 12 bytes can cause. Tensors with elements are bounded by their
 * memory. */
bool io_has_few_lists(const TensorType *t, Err *err);
#endif
