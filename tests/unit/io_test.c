/* io_test.c: files of every format: as other programs write them (bytes spelled out here), round
 * trips of ours, and hostile files, which must give an error and never a large allocation.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/utf8.h"
#include "lang/file/io_format.h"
#include "runtime/inst/element.h"
#include "tests/unit/io_dir.h"
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <zlib.h>

/* ---- npy ---- */

static size_t npy_bytes(char *out, const char *header, const void *data, size_t n) {
    size_t h = strlen(header);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)h;
    out[9] = (char)(h >> 8);
    memcpy(out + 10, header, h);
    memcpy(out + 10 + h, data, n);
    return 10 + h + n;
}

static void test_npy_read(void) {
    char file[512];
    IoValue v;
    Err e = {0};
    float f[6] = {1, 2, 3, 4, 5, 6};
    size_t n = npy_bytes(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", f,
                         sizeof f);
    CHECK(decode("a.npy", file, n, &v, &e));
    CHECK(v.kind == IO_TENSOR && v.tensor->type.dtype == DT_F32 && v.tensor->type.rank == 2);
    CHECK_INT(v.tensor->type.shape[1], 3);
    CHECK(((float *)v.tensor->buf->data)[4] == 5);
    io_fini(&v);
    /* columns first */
    n = npy_bytes(file, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", f, sizeof f);
    CHECK(decode("a.npy", file, n, &v, &e));
    float want[6] = {1, 3, 5, 2, 4, 6};
    CHECK(!memcmp(v.tensor->buf->data, want, sizeof want));
    io_fini(&v);
    /* big-endian, widened, 0-d */
    n = npy_bytes(file, "{'descr':'>i2','fortran_order':False,'shape':()}", "\xff\xfe", 2);
    CHECK(decode("a.npy", file, n, &v, &e));
    CHECK_INT(v.tensor->type.dtype, DT_I32);
    CHECK_INT(*(int32_t *)v.tensor->buf->data, -2);
    io_fini(&v);
    /* half: 1.5, smallest subnormal, -inf */
    n = npy_bytes(file, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,)}",
                  "\x00\x3e\x01\x00\x00\xfc", 6);
    CHECK(decode("a.npy", file, n, &v, &e));
    CHECK_INT(v.tensor->type.dtype, DT_F16);
    static const double halves[] = {1.5, 5.9604644775390625e-08, -INFINITY};
    for (int i = 0; i < 3; i++)
        CHECK(element_float(DT_F16, v.tensor->buf->data + 2 * i) == halves[i]);
    io_fini(&v);
    /* bools become 0 or 1 for any byte in the file */
    n = npy_bytes(file, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\x00\x01\x7f",
                  3);
    CHECK(decode("a.npy", file, n, &v, &e));
    CHECK(!memcmp(v.tensor->buf->data, "\0\1\1", 3));
    io_fini(&v);
}

static void test_npy_hostile(void) {
    static const char *const bad[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (70368744177664, 70368744177664), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999999, ), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, ), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1, ), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, ), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1, ), }",
        "{'descr': '<f4', 'shape': (1, ), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, ), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
        "{'descr': '<f4",
        "",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, ), 'run': 'this'}",
    };
    char file[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t n = npy_bytes(file, bad[i], "12345", 5);
        IoValue v;
        Err e = {0};
        CHECK_MSG(!decode("a.npy", file, n, &v, &e) && e.text[0], "accepted: %s", bad[i]);
        CHECK_INT(v.kind, IO_NONE);
    }
    IoValue v;
    CHECK_FAIL(decode("a.npy", "\x93NUMPY\x01\x00\xff\xff{}", 12, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.npy", "\x93NUMPY\x02\x00\xff", 9, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.npy", "\x93NUMPY\x09\x00\x02\x00{}", 12, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.npy", "PK", 2, &v, &err), ERR_PARSE);
}

/* ---- safetensors ---- */

static size_t st_bytes(char *out, const char *header, size_t data) {
    size_t h = strlen(header);
    for (int i = 0; i < 8; i++) out[i] = (char)((uint64_t)h >> (8 * i));
    memcpy(out + 8, header, h);
    for (size_t i = 0; i < data; i++) out[8 + h + i] = (char)i;
    return 8 + h + data;
}

static void test_safetensors_read(void) {
    char file[1024];
    IoValue v;
    Err e = {0};
    size_t n = st_bytes(file,
                        "{\"__metadata__\":{\"format\":\"pt\"},\"a.w\":{\"dtype\":\"U8\",\"shape\":"
                        "[2,1],\"data_offsets\":[4,6]},"
                        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}",
                        6);
    CHECK(decode("a.safetensors", file, n, &v, &e));
    IoValue *w = io_get(&v, "a.w");
    CHECK(w && w->kind == IO_TENSOR && w->tensor->type.rank == 2 && w->tensor->buf->data[0] == 4);
    IoValue *b = io_get(&v, "b");
    CHECK(b && b->tensor->type.dtype == DT_BF16);
    io_fini(&v);
    static const char *const bad[] = {
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,3]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[5,7]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[-2,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[-2],\"data_offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904,2],\"data_offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2.5],\"data_offsets\":[0,2]}}",
        "{\"a\":{\"shape\":[2],\"data_offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}",
        "{\"a\":7}",
        "[1]",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\","
        "\"shape\":[2],\"data_offsets\":[1,3]}}",
        "{\"a\":",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        n = st_bytes(file, bad[i], 6);
        e = (Err){0};
        CHECK_MSG(!decode("a.safetensors", file, n, &v, &e) && e.text[0], "accepted: %s", bad[i]);
    }
    CHECK_FAIL(decode("a.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, &v, &err),
               ERR_PARSE);
    CHECK_FAIL(decode("a.safetensors", "abc", 3, &v, &err), ERR_PARSE);
}

/* Without the rest of the file a tensor can be read by its name. Types that tensors here lack leave
 * the others readable. */
static void test_safetensors_part(void) {
    static const char text[] =
        "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]},"
        "\"c/x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]},"
        "\"cd\":{\"dtype\":\"U8\",\"shape\":[9],\"data_offsets\":[4,13]},"
        "\"__metadata__\":{\"gt\":\"{\\\"c/y\\\":1}\"}}";
    char file[1000];
    size_t n = st_bytes(file, text, 5);
    IoValue v;
    Err e = {0};
    const char *path = in_dir("part.safetensors");
    bool is_found;
    CHECK(io_write(path, file, n, &e));
    CHECK(io_load_part(path, "b", &is_found, &v, &e) && is_found && v.n == 2);
    const IoValue *b = io_find(&v, "b");
    CHECK(b->kind == IO_TENSOR && b->tensor->buf->n == 2 && b->tensor->buf->data[0] == 2);
    io_fini(&v);
    CHECK(io_load_part(path, "c", &is_found, &v, &e) && is_found);
    CHECK(io_find(&v, "c/x")->kind == IO_TENSOR && io_find(&v, "c/y")->kind == IO_INT);
    CHECK(!io_find(&v, "cd"));
    io_fini(&v);
    CHECK(io_load_part(path, "a", &is_found, &v, &e) && is_found &&
          io_find(&v, "a")->kind == IO_BAD);
    io_fini(&v);
    CHECK(io_load_part(path, "z", &is_found, &v, &e) && !is_found && v.kind == IO_NONE);
    CHECK(!io_load_part(path, "cd", &is_found, &v, &e) && strstr(e.text, "outside"));
    CHECK(truncate(path, (off_t)n - 2) == 0);
    CHECK_FAIL(io_load_part(path, "b", &is_found, &v, &err), ERR_PARSE);
    Buf *part = NULL;
    int fd = open(path, O_RDONLY);
    CHECK_FAIL(io_read_part(fd, n - 4, 3, &part, &err),
               ERR_IO); /* cut off after its size was asked */
    close(fd);
    CHECK(truncate(path, 7) == 0);
    CHECK_FAIL(io_load_part(path, "b", &is_found, &v, &err), ERR_PARSE);
    CHECK(io_load_part(in_dir("x.npz"), "b", &is_found, &v, &e) && !is_found);
}

static void test_safetensors_round(void) {
    double d[2] = {1.25, -3};
    uint8_t u[3] = {7, 8, 9};
    float f[2] = {0.5f, 2};
    IoItem item[] = {
        {"model/fc.w", {.dtype = DT_U8, .rank = 1, .shape = {3}}, u},
        {"optim/m/1", {.dtype = DT_F32, .rank = 1, .shape = {2}}, f},
        {"optim/m/0", {.dtype = DT_F64, .rank = 2, .shape = {1, 2}}, d},
    };
    const char *meta = "{\"step\": 9007199254740993, \"best\": Infinity, \"optim/t\": 3, \"name\": "
                       "\"a \\\"b\\\"\\n\"}";
    Err e = {0};
    const char *path = in_dir("deep/er/x.safetensors");
    CHECK(io_save(path, item, 3, meta, strlen(meta), &e));
    IoValue v;
    CHECK(io_load(path, NULL, NULL, &v, &e));
    IoValue *optim = io_get(&v, "optim"), *m = optim ? io_get(optim, "m") : NULL;
    CHECK(m && m->kind == IO_LIST && m->n == 2);
    CHECK(m && m->kid[0].tensor->type.dtype == DT_F64 &&
          !memcmp(m->kid[0].tensor->buf->data, d, sizeof d));
    CHECK(m && (uintptr_t)m->kid[0].tensor->buf->data % 8 == 0);
    CHECK(m && !memcmp(m->kid[1].tensor->buf->data, f, sizeof f));
    IoValue *model = io_get(&v, "model");
    CHECK(model && model->kind == IO_MAP &&
          !memcmp(io_get(model, "fc.w")->tensor->buf->data, u, 3));
    CHECK_INT(io_get(&v, "step")->i, INT64_C(9007199254740993));
    CHECK(isinf(io_get(&v, "best")->f));
    CHECK_INT(io_get(optim, "t")->i, 3);
    CHECK_STR(io_get(&v, "name")->str, "a \"b\"\n");
    io_fini(&v);
    /* a name that is both a value and a level: everything stays flat */
    item[1].name = "model/fc.w/x";
    CHECK(io_save(path, item, 3, "", 0, &e));
    CHECK(io_load(path, NULL, NULL, &v, &e));
    CHECK(io_get(&v, "model/fc.w/x") && io_get(&v, "optim/m/0"));
    io_fini(&v);
}

/* ---- idx, raw, csv, json ---- */

static void test_idx(void) {
    IoValue v;
    Err e = {0};
    CHECK(decode("t-labels-idx1-ubyte", "\0\0\x08\x01\0\0\0\x03\x05\x06\x07", 11, &v, &e));
    CHECK(v.tensor->type.dtype == DT_U8 && v.tensor->type.shape[0] == 3 &&
          v.tensor->buf->data[2] == 7);
    io_fini(&v);
    CHECK(decode("a.idx", "\0\0\x0d\x01\0\0\0\x01\x3f\x80\0\0", 12, &v, &e));
    CHECK(*(float *)v.tensor->buf->data == 1);
    io_fini(&v);
    CHECK_FAIL(decode("a.idx", "\0\0\x08\x01\0\0\0\x04\x05\x06\x07", 11, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.idx", "\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16,
                      &v, &err),
               ERR_LIMIT);
    CHECK_FAIL(decode("a.idx", "\0\0\x08\x03\0\0", 6, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.idx", "\0\0\x08\x09\0\0", 6, &v, &err), ERR_LIMIT);
    CHECK_FAIL(decode("a.idx", "\0\0\x07\x01\0\0", 6, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.idx", "", 0, &v, &err), ERR_PARSE);
    int32_t x[4] = {1, -2, 300, 4};
    IoItem item = {"", {.dtype = DT_I32, .rank = 2, .shape = {2, 2}}, x};
    CHECK(io_save(in_dir("x.idx"), &item, 1, "", 0, &e));
    CHECK(io_load(in_dir("x.idx"), NULL, NULL, &v, &e));
    CHECK(v.tensor->type.rank == 2 && !memcmp(v.tensor->buf->data, x, sizeof x));
    io_fini(&v);
}

static void test_raw(void) {
    IoValue v;
    Err e = {0};
    Buf *b = buf_copy("\x01\x02\xff\xff", 4);
    CHECK(io_decode("a.bin", b, "uint16", &v, &e));
    CHECK(v.tensor->type.dtype == DT_I32 && v.tensor->type.shape[0] == 2);
    CHECK_INT(((int32_t *)v.tensor->buf->data)[0], 0x201);
    CHECK_INT(((int32_t *)v.tensor->buf->data)[1], 0xffff);
    io_fini(&v);
    CHECK_FAIL(io_decode("a.bin", b, "int64", &v, &err), ERR_PARSE);
    CHECK_FAIL(io_decode("a.bin", b, "complex", &v, &err), ERR_ARG);
    CHECK_FAIL(io_decode("a.npy", b, "uint16", &v, &err), ERR_ARG);
    CHECK_FAIL(io_decode("a.pickle", b, NULL, &v, &err), ERR_ARG);
    CHECK(io_decode("a.txt", b, NULL, &v, &e));
    CHECK(v.tensor->type.dtype == DT_U8 && v.tensor->type.shape[0] == 4);
    io_fini(&v);
    buf_unref(&b);
    CHECK(io_save(in_dir("t.txt"), NULL, 0, "\"h\\u00e9\"", 8 + 1, &e));
    CHECK(io_load(in_dir("t.txt"), NULL, NULL, &v, &e));
    CHECK(v.tensor->type.shape[0] == 3 && !memcmp(v.tensor->buf->data, "h\xc3\xa9", 3));
    io_fini(&v);
}

static void test_csv(void) {
    IoValue v;
    Err e = {0};
    const char *s = "1,2.5,-3e1\r\n4, ,nan\n\n7,8,9\n";
    CHECK(decode("a.csv", s, strlen(s), &v, &e));
    CHECK(v.kind == IO_TENSOR && v.tensor->type.shape[0] == 3 && v.tensor->type.shape[1] == 3);
    float *f = (float *)v.tensor->buf->data;
    CHECK(f[1] == 2.5f && f[2] == -30 && isnan(f[4]) && isnan(f[5]) && f[8] == 9);
    io_fini(&v);
    s = "name;x\n\"a;\"\"b\"\"\n\";1\nc;2\n";
    CHECK(decode("a.csv", s, strlen(s), &v, &e));
    CHECK(v.kind == IO_MAP && io_get(&v, "name")->kind == IO_LIST);
    CHECK_STR(io_get(&v, "name")->kid[0].str, "a;\"b\"\n");
    CHECK(io_get(&v, "x")->tensor->type.dtype == DT_I64);
    CHECK(((int64_t *)io_get(&v, "x")->tensor->buf->data)[1] == 2);
    io_fini(&v);
    CHECK_FAIL(decode("a.csv", "1,2\n3\n", 6, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.csv", "1,2\n3,x\n", 8, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.csv", "1,\"2\n3,x\n", 9, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.csv", "", 0, &v, &err), ERR_PARSE);
    CHECK_FAIL(decode("a.csv", "a,b\n1,2\0x\n", 10, &v, &err), ERR_PARSE);
    s = "a,b\r1,2\r3,4\r";
    CHECK(decode("a.csv", s, strlen(s), &v, &e));
    CHECK_INT(io_get(&v, "b")->tensor->type.shape[0], 2);
    io_fini(&v);
    float x[4] = {0.1f, 2, INFINITY, 16777216};
    IoItem item = {"", {.dtype = DT_F32, .rank = 2, .shape = {2, 2}}, x};
    CHECK(io_save(in_dir("x.csv"), &item, 1, "", 0, &e));
    CHECK(io_load(in_dir("x.csv"), NULL, NULL, &v, &e));
    CHECK(!memcmp(v.tensor->buf->data, x, sizeof x));
    io_fini(&v);
    const char *rows = "[{\"a\": 1, \"b\": \"x,y\"}, {\"a\": 2.5, \"b\": \"z\"}]";
    CHECK(io_save(in_dir("r.csv"), NULL, 0, rows, strlen(rows), &e));
    CHECK(io_load(in_dir("r.csv"), NULL, NULL, &v, &e));
    CHECK_STR(io_get(&v, "b")->kid[0].str, "x,y");
    io_fini(&v);
    const char *ragged = "[{\"a\": 1}, {\"b\": 2}]";
    CHECK_FAIL(io_save(in_dir("r.csv"), NULL, 0, ragged, strlen(ragged), &err), ERR_ARG);
    CHECK(io_load(in_dir("r.csv"), NULL, NULL, &v, &e)); /* a failed save leaves the old file */
    io_fini(&v);
}

static void test_json(void) {
    IoValue v;
    Err e = {0};
    const char *s = " {\"a\": [1, 2.0, -3e2, true, null, \"\\u00e9\\ud83d\\ude00\"], \"b\": {}, "
                    "\"c\": 123456789012345678901} ";
    CHECK(json_parse(s, strlen(s), 100, &v, &e));
    Bytes out = {0};
    json_print(&v, -1, &out);
    CHECK_STR(out.data, "{\"a\": [1, 2.0, -300.0, true, null, \"\xc3\xa9\xf0\x9f\x98\x80\"], "
                        "\"b\": {}, \"c\": 1.2345678901234568e+20}");
    bytes_fini(&out);
    io_fini(&v);
    out = (Bytes){0};
    utf8_put_json("a\xc3", 2, &out); /* JSON is UTF-8 */
    CHECK_STR(out.data, "\"a\xef\xbf\xbd\"");
    bytes_fini(&out);
    CHECK_FAIL(json_parse("[1,1,1,1]", 9, 4, &v, &err), ERR_PARSE);
    static const char *const bad[] = {"",
                                      "[",
                                      "[1",
                                      "[1,",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{a:1}",
                                      "\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "01x",
                                      "-",
                                      "1 2",
                                      "nul",
                                      "{\"a\":1,}",
                                      "\"\n\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\xff\"",
                                      "\"\xc3\"",
                                      "{\"a\\u0000b\": 1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e = (Err){0};
        CHECK_MSG(!json_parse(bad[i], strlen(bad[i]), 100, &v, &e) && v.kind == IO_NONE,
                  "accepted: %s", bad[i]);
    }
    char deep[1000];
    for (size_t depth = 200; depth <= 201; depth++) { /* 200 are allowed */
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        bool ok = json_parse(deep, 2 * depth, 10000, &v, &e);
        CHECK_INT(ok, depth == 200);
        if (ok) io_fini(&v);
    }
}

/* ---- whole files ---- */

static Buf *gz(const void *data, size_t n) {
    Buf *b = buf_new(compressBound(n) + 64);
    z_stream z = {0};
    deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    z.next_in = (void *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    z.next_out = b->data;
    z.avail_out = (uInt)b->cap;
    deflate(&z, Z_FINISH);
    b->n = b->cap - z.avail_out;
    deflateEnd(&z);
    return b;
}

static void test_gz(void) {
    IoValue v;
    Err e = {0};
    Buf *b = gz("1,2\n3,4\n", 8);
    CHECK(io_decode("a.csv.gz", b, NULL, &v, &e));
    CHECK(((int64_t *)v.tensor->buf->data)[3] == 4);
    io_fini(&v);
    for (size_t n = 0; n < b->n; n++) {
        Buf *cut = buf_copy(b->data, n);
        CHECK(!io_decode("a.csv.gz", cut, NULL, &v, &e));
        buf_unref(&cut);
    }
    b->data[b->n - 6] ^= 1; /* the checksum */
    CHECK_FAIL(io_decode("a.csv.gz", b, NULL, &v, &err), ERR_PARSE);
    buf_unref(&b);
    size_t n = (size_t)160 << 20;
    void *zeros = xcalloc(n, 1);
    b = gz(zeros, n);
    free(zeros);
    CHECK_FAIL(io_decode("bomb.bin.gz", b, NULL, &v, &err), ERR_LIMIT);
    buf_unref(&b);
}

static void test_whole_files(void) {
    IoValue v;
    Err e = {0};
    CHECK_FAIL(io_load(in_dir("nowhere.npy"), NULL, NULL, &v, &err), ERR_IO);
    CHECK_FAIL(io_load(dir, NULL, NULL, &v, &err), ERR_ARG);
    mkdir(in_dir("d.npy"), 0700);
    CHECK_FAIL(io_load(in_dir("d.npy"), NULL, NULL, &v, &err), ERR_IO);
    float x = 1;
    IoItem item = {"", {.dtype = DT_F32}, &x};
    CHECK_FAIL(io_save(in_dir("d.npy"), &item, 1, "", 0, &err), ERR_IO);
    CHECK_FAIL(io_save(in_dir("x.npy.gz"), &item, 1, "", 0, &err), ERR_ARG);
    CHECK_FAIL(io_save("/proc/nope/x.npy", &item, 1, "", 0, &err), ERR_IO);
    IoItem two[2] = {{"a", item.type, &x}, {"b", item.type, &x}};
    CHECK_FAIL(io_save(in_dir("x.npy"), two, 2, "", 0, &err), ERR_ARG);
    CHECK(io_save(in_dir("x.npy"), &item, 1, "", 0, &e));
    CHECK(io_load(in_dir("x.npy"), NULL, NULL, &v, &e));
    CHECK(v.kind == IO_TENSOR && v.tensor->type.rank == 0 && *(float *)v.tensor->buf->data == 1);
    io_fini(&v);
    Buf *b;
    CHECK(io_read(in_dir("x.npy"), &b, &e));
    CHECK_INT(b->n, 128 + 4);
    buf_unref(&b);
    /* a poisoned value: nothing is written, and the save itself reports no error */
    ReplyValue rv = {.status = ERR_SHAPE};
    Reply r = {.n = 1, .value = &rv};
    CHECK(io_save_reply(in_dir("never.npy"), "", 0, "", 0, &r, &e));
    CHECK(access(in_dir("never.npy"), F_OK) != 0);
}

int main(void) {
    dir_open("io");
    test_npy_read();
    test_npy_hostile();
    test_safetensors_read();
    test_safetensors_round();
    test_safetensors_part();
    test_idx();
    test_raw();
    test_csv();
    test_json();
    test_gz();
    test_whole_files();
    dir_close((const char *[]){"part.safetensors", "deep/er/x.safetensors", "deep/er", "deep",
                               "x.idx", "t.txt", "x.csv", "r.csv", "d.npy", "x.npy", NULL});
    return check_report("io");
}
