/* io_fuzz.c: random and mutated files for every decoder. The result must be a value or an error,
 * never a crash or a huge allocation. With libFuzzer: build with -DLIBFUZZER -fsanitize=fuzzer.
 * Else: io_fuzz [-n RUNS] [-s SEED] [FILE ...] (files are replayed; the first byte chooses the
 * format).
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "tests/unit/io_files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const names[] = {"a.npy", "a.safetensors", "a.csv",    "a.json",   "a.idx",
                                    "a.txt", "a.bin",         "a.csv.gz", "a.idx.gz", "a.npz",
                                    "a.png", "a.ppm",         "a.yaml",   "a.jsonl"};
enum { NAMES = sizeof names / sizeof *names };

static void look(const IoValue *v) {
    if (v->kind == IO_TENSOR && type_bytes(&v->tensor->type) != v->tensor->buf->n) abort();
    for (uint32_t i = 0; (v->kind == IO_LIST || v->kind == IO_MAP) && i < v->n; i++)
        look(&v->kid[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    Buf *b = buf_copy(data + 1, n - 1);
    IoValue v;
    Err err = {0};
    const char *name = names[data[0] % NAMES];
    if (io_decode(name, b, !strcmp(name, "a.bin") ? "bfloat16" : NULL, &v, &err)) {
        look(&v);
        if (v.kind != IO_TENSOR || type_bytes(&v.tensor->type) < 4096) {
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

#ifndef LIBFUZZER
static uint64_t state;
static uint32_t next(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33);
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
    SEED(11, "P3 # text\n2 1 15 0 15 7 8 2 1\n"),
    SEED(12, "a: &x [1, 0x1f, ~, !!float 3]\nb: {c: *x, \"d\\n\": 'e', f: .inf}\ng: |\n  h\n"),
    SEED(12, "- &a [x]\n- &b [*a, *a]\n- &c {y: *b, z: *b}\n- [*c, *c]\n"),
    SEED(13, "{\"a\": 1}\n\n[2, null]\n\"x\"\n"),
    SEED(11, "P6\n2 1\n65535\n123456123456"),
};

static size_t mutate(uint8_t *p, size_t n, size_t cap) {
    for (uint32_t k = 1 + next() % 4; k && n; k--) {
        size_t at = next() % n, len = 1 + next() % 8;
        switch (next() % 6) {
        case 0: p[at] ^= (uint8_t)(1u << (next() % 8)); break;
        case 1: p[at] = (uint8_t)next(); break;
        case 2: n = at + 1; break;
        case 3:
            if (at + len < n) {
                memmove(p + at, p + at + len, n - at - len);
                n -= len;
            }
            break;
        case 4:
            if (n + len < cap) {
                memmove(p + at + len, p + at, n - at);
                n += len;
            }
            break;
        default: p[at] = (uint8_t) "0123456789[]{}\",:-e.'()&*!\n #"[next() % 29]; break;
        }
    }
    return n;
}

int main(int argc, char **argv) {
    long runs = 20000;
    uint64_t seed = 1;
    for (int o; (o = getopt(argc, argv, "n:s:")) != -1;) {
        if (o == 'n')
            runs = atol(optarg);
        else if (o == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    static uint8_t data[1 << 16];
    for (int i = optind; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) {
            perror(argv[i]);
            return 2;
        }
        size_t n = fread(data, 1, sizeof data, f);
        fclose(f);
        LLVMFuzzerTestOneInput(data, n);
    }
    if (optind < argc) return 0;
    state = seed;
    for (long i = 0; i < runs; i++) {
        size_t k = next() % (sizeof seeds / sizeof *seeds), n = seeds[k].n;
        data[0] = (uint8_t)seeds[k].name;
        memcpy(data + 1, seeds[k].s, n);
        n = 1 + mutate(data + 1, n, sizeof data - 1);
        if (next() % 8 == 0) data[0] = (uint8_t)next();
        LLVMFuzzerTestOneInput(data, n);
    }
    printf("io_fuzz: %ld runs from seed %llu\n", runs, (unsigned long long)seed);
    return 0;
}
#endif
