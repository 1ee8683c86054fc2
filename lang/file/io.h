/* io.h: files in and out, as pure functions over bytes and host arrays: no interpreter, no stream,
 * so that scripts and replays share them and fuzzing needs nothing else. The extension says the
 * format (LANGUAGE 2.7):
 *
 *   .npy          one tensor
 *   .npz          tensors by name, host values as JSON in the member gt.json
 *   .safetensors  tensors by name, host values as JSON in the header
 *   .csv          a matrix, or columns by name when it has a header: int64 or float32
 *   .json         host values
 *   .jsonl        a list of host values, one per line
 *   .yaml .yml    host values
 *   .png          a picture, uint8 (H, W) or (H, W, 2 to 4)
 *   .ppm .pgm     a picture, uint8 (H, W, 3) or (H, W); netpbm's P2 P3 P5 P6
 *   .idx *-ubyte  one tensor (MNIST's files)
 *   .txt          bytes as uint8
 *   .bin          elements of the dtype asked for
 *   any + .gz     inflated first (load only)
 *
 * Files are hostile: every size is checked against what is there before anything is allocated for
 * it, element types that the system lacks are widened (int16 to int32, bfloat16 to float32), byte
 * orders are made native. In files by name those of nested maps and lists are joined with "/". A
 * level whose names are 0, 1, ... comes back as a list, unless its own name holds an empty map; ""
 * names the outermost level.
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
    IO_TENSOR
} IoKind;

/* data lies in buf at its start and fills it; buf is one reference, owned. */
typedef struct IoTensor {
    TensorType type;
    Buf *buf;
} IoTensor;

/* What a file holds. Owned by whoever has the root: io_fini frees all below it. */
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
        }; /* key: maps only, one per kid */
        IoTensor *tensor;
    };
};

void io_fini(IoValue *v);                                 /* v becomes none                    */
IoValue *io_push(IoValue *list);                          /* a new none at the end of a list   */
IoValue *io_put(IoValue *map, const char *key, size_t n); /* a new none; keys are not compared */
IoValue *io_get(const IoValue *map, const char *key);     /* or NULL                           */

/* In front of the name of a dtype: of what is not whole in a .csv; other formats ignore it. */
#define IO_FLOATS "floats="
/* A whole file. element: dtype name for .bin ("uint16", ...) and .csv, or IO_FLOATS and a dtype
 * name, else NULL or "". *bytes, unless NULL: the file as it is, one reference. false: ERR_IO,
 * ERR_PARSE, ERR_LIMIT, ERR_ARG. */
bool io_load(const char *path, const char *element, Buf **bytes, IoValue *out, Err *err);
/* The same from bytes in memory (name gives the format, .gz included); what it returns may keep
 * references to bytes. */
bool io_decode(const char *name, Buf *bytes, const char *element, IoValue *out, Err *err);
/* Is there a format for this name? ERR_ARG with the list of them. */
bool io_is_known(const char *path, bool to_save, Err *err);

/* Does the format hold values by name, tensors apart from host values? */
bool io_is_by_name(const char *path);

/* What can be saved under a name: one tensor, host values or text as they are, or items by name. */
typedef enum IoForm { IO_FORM_TENSOR, IO_FORM_TEXT, IO_FORM_HOST, IO_FORM_ITEMS } IoForm;
bool io_can_save(const char *path, IoForm form, Err *err); /* ERR_ARG with what the format holds */

/* One tensor to be saved. name "" when the file holds just one thing. */
typedef struct IoItem {
    const char *name;
    TensorType type;
    const void *data;
} IoItem;

/* Writes aside in the same directory, syncs, renames; makes missing directories. meta: "", or JSON
 * text; in files by name of a map from names to host values, in others of all that is saved, with a
 * null for each item. The item's name says where: keys, and places in lists, joined by "/"; in a
 * key "~1" is "/" and "~0" is "~" (RFC 6901). */
bool io_save(const char *path, const IoItem *item, int n, const char *meta, size_t n_meta,
             Err *err);
/* The `save` instruction's form: keys are separated by newlines, one per value of the reply. A
 * poisoned value: nothing is written, true is returned (the cause is reported elsewhere). */
bool io_save_reply(const char *path, const char *keys, size_t n_keys, const char *meta,
                   size_t n_meta, const Reply *r, Err *err);

bool io_read(const char *path, Buf **out, Err *err); /* a file as it is          */
/* As io_read, but a large file is mapped: whoever cuts it short meanwhile ends the program. */
bool io_map(const char *path, Buf **out, Err *err);
/* Replaces a file as io_save does; its directory is there. */
bool io_write(const char *path, const void *data, size_t n, Err *err);
/* All is added to the end, or nothing is. */
bool io_append(const char *path, const void *data, size_t n, Err *err);

/* JSON (io_json.c): ints stay exact, floats keep a point or exponent, inf and nan are written as
 * Infinity and NaN, as Python's json does. max_nodes bounds what hostile text can allocate.
 * Duplicate keys: the last wins on reading maps. */
bool json_parse(const char *s, size_t n, size_t max_nodes, IoValue *out, Err *err);
void json_print(const IoValue *v, int indent, Bytes *out); /* indent < 0: on one line  */
void json_print_str(const char *s, size_t n, Bytes *out);
/* May this be written as nested lists? Not where they would be a million lists and more with
 * nothing in them, as a file of 12 bytes can say: ERR_LIMIT. What has elements has memory that
 * bounds it. */
bool io_has_few_lists(const TensorType *t, Err *err);
#endif
