/* io_fuzz.c: random and mutated files for every decoder; the first byte chooses the format, and by
 * its high bit whether the bytes lie in memory or in a mapped file. The result must be a value or
 * an error, never a crash or a huge allocation.
 * SPDX-License-Identifier: MIT */
#include "lang/file/file_map.h"
#include "lang/file/io.h"
#include "tests/unit/io_files.h"
#include "tests/fuzz/fuzz.h"
#include <sys/mman.h>

static const char *const names[] = {"a.npy", "a.safetensors", "a.csv",    "a.json",   "a.idx",
                                    "a.txt", "a.bin",         "a.csv.gz", "a.idx.gz", "a.npz",
                                    "a.png", "a.ppm",         "a.yaml",   "a.jsonl"};
enum { NAMES = sizeof names / sizeof *names };

/* Returns whether the text of v is short: (1 << 30, 0) has no elements, but as many rows. */
static bool look(const IoValue *v) {
    bool is_short = true;
    int64_t n = 1;
    if (v->kind == IO_TENSOR) {
        const TensorType *t = &v->tensor->type;
        Buf *b;
        Err err = {0};
        if (!io_elements(v->tensor, &b, &err)) return err.code ? true : (abort(), false);
        if (type_bytes(t) != b->n) abort();
        buf_unref(&b);
        if (v->tensor->is_mapped) return false;
        for (int d = 0; d < t->rank && n < 4096; d++) n *= t->shape[d] ? t->shape[d] : 1;
        return n < 4096;
    }
    for (uint32_t i = 0; (v->kind == IO_LIST || v->kind == IO_MAP) && i < v->n; i++)
        is_short &= look(&v->kid[i]);
    return is_short;
}

static void keep(void *data, void *ctx) { (void)data, (void)ctx; }

/* The bytes at the end of a mapped file; behind them is a page of zeros. */
static Buf *mapped(const uint8_t *data, size_t n) {
    enum { FILE_BYTES = 1 << 20 };
    static Buf *file;
    static int fd;
    if (!file) {
        fd = memfd_create("io_fuzz", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, FILE_BYTES)) abort();
        if (!(file = file_map(fd, FILE_BYTES, "io_fuzz"))) abort();
    }
    size_t at = FILE_BYTES - n;
    if (n > FILE_BYTES || pwrite(fd, data, n, (off_t)at) != (ssize_t)n) abort();
    return buf_wrap(file->data + at, n, keep, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    Buf *b = data[0] < 128 ? buf_copy(data + 1, n - 1) : mapped(data + 1, n - 1);
    IoValue v;
    Err err = {0};
    const char *name = names[data[0] % 128 % NAMES];
    if (io_decode(name, b, !strcmp(name, "a.bin") ? "bfloat16" : NULL, &v, &err)) {
        if (look(&v)) {
            Bytes text = {0};
            json_print(&v, 1, &text);
            bytes_fini(&text);
        }
        io_fini(&v);
    } else if (err.code == ERR_NONE || !err.text[0]) {
        abort();
    }
    buf_unref(&b);
    return 0;
}

/* Valid headers, so that mutations reach the inner parts of the decoders. */
static const struct {
    int name;
    const char *s;
    size_t n;
} seeds[] = {
#define SEED(name, s)                                                                              \
    { name, s, sizeof s - 1 }
    SEED(0, "\x93NUMPY\x01\x00\x3b\x00{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), } "
            "\n12345678"),
    SEED(1,
         "\x88\x00\x00\x00\x00\x00\x00\x00{\"__metadata__\":{\"gt\":\"{\\\"a/0\\\":1,\\\"a/"
         "1\\\":[2]}\"},\"w/x\":{\"dtype\":\"F16\",\"shape\":[2],"
         "\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[4,5]}}  "
         "12345"),
    SEED(2, "a,b,\"c\"\n1,2.5,x\n\"4\",\"5\"\"\",6\n"),
    SEED(3, "{\"a\": [1, 2.5, \"x\\n\\u0041\", true, null], \"b\": {\"c\": -Infinity}}"),
    SEED(4, "\x00\x00\x0b\x02\x00\x00\x00\x02\x00\x00\x00\x01"
            "1234"),
    SEED(7, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x33\xd4\x31\xe2\x02\x00\x3f\x6c\x1e\x5c\x04"
            "\x00\x00\x00"),
    SEED(9, npz_numpy),
    SEED(9, npz_compressed),
    SEED(9, npz_streamed),
    SEED(10, png_grey16),
    SEED(10, png_palette_alpha),
    SEED(10, png_rgb_filter_up),
    SEED(10, png_interlaced),
    SEED(11, "P4\n9 2\n\x80\x80\x00\x7f"),
    SEED(11, "P1\n3 2\n1 0 1\n011"),
    SEED(11, "P3 # text\n2 1 15 0 15 7 8 2 1\n"),
    SEED(12, "a: &x [1, 0x1f, ~, !!float 3]\nb: {c: *x, \"d\\n\": 'e', f: .inf}\ng: |\n  h\n"),
    SEED(12, "- &a [x]\n- &b [*a, *a]\n- &c {y: *b, z: *b}\n- [*c, *c]\n"),
    SEED(13, "{\"a\": 1}\n\n[2, null]\n\"x\"\n"),
    SEED(11, "P6\n2 1\n65535\n123456123456"),
};

static void fuzz_seed(Rand *r, Bytes *out) {
    int k = rand_below(r, sizeof seeds / sizeof *seeds);
    uint64_t name = (uint64_t)seeds[k].name | (rand_below(r, 2) ? 128 : 0);
    bytes_putc(out, (char)(rand_below(r, 8) ? name : rand_u64(r)));
    bytes_add(out, seeds[k].s, seeds[k].n);
}
