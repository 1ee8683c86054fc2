/* io_format_test.c: .npz, images (.png, .ppm, .pgm), .yaml and .jsonl: files as other programs
 * write them (io_files.h), round trips of ours, and hostile files. Other formats: io_test.c.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/io_dir.h"
#include "tests/unit/io_files.h"
#include "lang/error/interrupt.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define DECODE(name, file, out) decode(name, file, sizeof file - 1, out, &e)

static bool is_tensor(const IoValue *v, DType d, int rank, const void *want, size_t n) {
    return v && v->kind == IO_TENSOR && v->tensor->type.dtype == d &&
           v->tensor->type.rank == rank && v->tensor->buf->n == n &&
           !memcmp(v->tensor->buf->data, want, n);
}

/* ---- npz ---- */

static void test_npz_read(void) {
    IoValue v;
    Err e = {0};
    CHECK(DECODE("a.npz", npz_numpy, &v));
    CHECK(is_tensor(io_get(&v, "a"), DT_F32, 1, (float[]){1.5f, -2}, 8));
    const IoValue *b = io_get(&v, "b");
    CHECK(b && b->kind == IO_LIST && b->n == 2);
    CHECK(is_tensor(&b->kid[0], DT_I64, 0, (int64_t[]){7}, 8));
    CHECK(is_tensor(&b->kid[1], DT_BOOL, 1, "\1", 1));
    io_fini(&v);
    CHECK(DECODE("a.npz", npz_compressed, &v));
    double zeros[100] = {0};
    CHECK(is_tensor(io_get(&v, "z"), DT_F64, 2, zeros, sizeof zeros));
    CHECK(is_tensor(io_get(&v, "f"), DT_I32, 2, (int32_t[]){0, 1, 2, 3, 4, 5}, 24));
    io_fini(&v);
    CHECK(DECODE("a.npz", npz_streamed, &v)); /* sizes after the data */
    CHECK(is_tensor(io_get(&v, "s"), DT_I64, 1, (int64_t[]){0, 1, 2}, 24));
    io_fini(&v);
    CHECK(DECODE("a.npz", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", &v)); /* empty */
    CHECK(v.kind == IO_MAP && v.n == 0);
    io_fini(&v);
}

static void test_npz_round(void) {
    IoValue v;
    Err e = {0};
    float f[3] = {1, NAN, -0.0f};
    IoItem item[3] = {{"m/w", {.dtype = DT_F32, .rank = 1, .shape = {3}}, f},
                      {"m/l/0", {.dtype = DT_U8}, "\7"},
                      {"none", {.dtype = DT_F64, .rank = 2, .shape = {0, 5}}, f}};
    const char *meta = "{\"m/n\": 5, \"m/l/1\": [\"x\", null]}";
    CHECK(io_save(in_dir("deep/x.npz"), item, 3, meta, strlen(meta), &e));
    CHECK(io_load(in_dir("deep/x.npz"), NULL, NULL, &v, &e));
    const IoValue *m = io_get(&v, "m");
    CHECK(is_tensor(io_get(m, "w"), DT_F32, 1, f, sizeof f));
    CHECK((uintptr_t)io_get(m, "w")->tensor->buf->data % 64 == 0); /* shared, not copied */
    CHECK(io_get(m, "n")->i == 5 && is_tensor(&io_get(m, "l")->kid[0], DT_U8, 0, "\7", 1));
    CHECK_STR(io_get(m, "l")->kid[1].kid[0].str, "x");
    CHECK_INT(io_get(&v, "none")->tensor->type.shape[1], 5);
    io_fini(&v);
    item[0].type.dtype = DT_BF16;
    CHECK_FAIL(io_save(in_dir("deep/x.npz"), item, 3, "", 0, &err), ERR_DTYPE);
    CHECK(io_load(in_dir("deep/x.npz"), NULL, NULL, &v, &e)); /* the old file is whole */
    io_fini(&v);
    CHECK(io_is_by_name("a.npz") && io_is_by_name("a.SAFETENSORS") && !io_is_by_name("a.npy"));
}

/* Every truncation and every changed byte: an error, or the same values if the byte does not
 * matter. */
static void damage(const char *name, const char *file, size_t n) {
    IoValue v;
    char *copy = malloc(n);
    for (size_t i = 0; i < n; i++) {
        Err e = {0};
        CHECK_MSG(!decode(name, file, i, &v, &e) && e.text[0] && v.kind == IO_NONE, "%s cut at %zu",
                  name, i);
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, file, n);
            copy[i] ^= (char)(1 << bit);
            e = (Err){0};
            if (decode(name, copy, n, &v, &e))
                io_fini(&v);
            else
                CHECK_MSG(e.text[0] && v.kind == IO_NONE, "%s with a wrong byte %zu", name, i);
        }
    }
    free(copy);
}

static void test_npz_hostile(void) {
    IoValue v;
    Err e = {0};
    damage("a.npz", npz_numpy, sizeof npz_numpy - 1);
    damage("a.npz", npz_compressed, sizeof npz_compressed - 1);
    CHECK_FAIL(decode("a.npz", "no zip archive, but long enough", 31, &v, &err), ERR_PARSE);
    char copy[sizeof npz_compressed];
    size_t n = sizeof npz_compressed - 1, central = n - 4;
    memcpy(copy, npz_compressed, n);
    while (memcmp(copy + central, "PK\1\2", 4)) central--; /* the last member's entry */
    struct {
        int at;
        const char *bytes;
        size_t n;
        const char *expected;
    } bad[] = {
        {8, "\1", 1, "encrypted"},
        {10, "\x0c", 1, "method 12"},
        {16, "\0\0\0", 3, "checksum"},
        {24, "\xf0\0\0\0", 4, "not of the size"},
        {24, "\xff\xff\xff\x7f", 4, "inflate to more than"},
        {20, "\xff\xff\xff\x7f", 4, "cut off"},
        {42, "\xff\xff\xff\x7f", 4, "does not begin"},
        {42, "\1\0\0\0", 4, "does not begin"},
        {46, "\0", 1, "zero byte"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(copy, npz_compressed, n);
        memcpy(copy + central + bad[i].at, bad[i].bytes, bad[i].n);
        e = (Err){0};
        CHECK(!decode("a.npz", copy, n, &v, &e));
        CHECK_MSG(strstr(e.text, bad[i].expected), "case %zu says: %s", i, e.text);
    }
    memcpy(copy, npz_compressed, n);
    copy[central + 46 + 2] = 'x'; /* its name: "x.npy" becomes "x.xpy", and the others are read */
    CHECK(decode("a.npz", copy, n, &v, &e) && v.kind == IO_MAP && v.n > 1);
    CHECK(v.kid[0].kind == IO_TENSOR && v.kid[v.n - 1].kind == IO_BAD);
    CHECK(strstr(v.kid[v.n - 1].str, "is no .npy array"));
    io_fini(&v);
}

/* ---- images ---- */

static void test_png_read(void) {
    IoValue v;
    Err e = {0};
    CHECK(DECODE("a.png", png_grey1, &v) && is_tensor(&v, DT_U8, 2, "\xff\0\xff\0", 4));
    io_fini(&v);
    CHECK(DECODE("a.png", png_grey16, &v) && is_tensor(&v, DT_U8, 2, "\x12\xff", 2));
    io_fini(&v);
    CHECK(DECODE("a.png", png_grey_alpha, &v) && is_tensor(&v, DT_U8, 3, "\1\2\3\4", 4));
    CHECK(v.tensor->type.shape[0] == 2 && v.tensor->type.shape[2] == 2);
    io_fini(&v);
    CHECK(DECODE("a.png", png_palette, &v) && is_tensor(&v, DT_U8, 3, "\4\5\6\1\2\3", 6));
    io_fini(&v);
    CHECK(DECODE("a.png", png_palette_alpha, &v));
    CHECK(is_tensor(&v, DT_U8, 3, "\4\5\6\xff\1\2\3\7", 8));
    io_fini(&v);
    CHECK(DECODE("a.png", png_rgb_filter_up, &v) && is_tensor(&v, DT_U8, 3, "\1\2\3\4\4\4", 6));
    io_fini(&v);
    CHECK(DECODE("a.png", png_interlaced, &v) && is_tensor(&v, DT_U8, 2, "\1\2\3\4\5\6", 6));
    io_fini(&v);
    CHECK(!DECODE("a.png", png_bomb, &v) && strstr(e.text, "does not fit"));
    CHECK(!DECODE("a.png", png_bad_filter, &v) && strstr(e.text, "filter"));
    CHECK_FAIL(decode("a.png", "GIF89a..", 8, &v, &err), ERR_PARSE);
    damage("a.png", png_palette_alpha, sizeof png_palette_alpha - 1);
    damage("a.png", png_interlaced, sizeof png_interlaced - 1);
}

static void round_trip(const char *name, int64_t channels, bool is_saved) {
    IoValue v;
    Err e = {0};
    uint8_t x[5 * 7 * 5];
    for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)(i * 37);
    IoItem item = {"", {.dtype = DT_U8, .rank = channels ? 3 : 2, .shape = {5, 7, channels}}, x};
    bool ok = io_save(in_dir(name), &item, 1, "", 0, &e);
    CHECK_MSG(ok == is_saved, "%s with %d channels: %s", name, (int)channels, e.text);
    if (!ok) {
        CHECK_INT(e.code, ERR_SHAPE);
        return;
    }
    CHECK(io_load(in_dir(name), NULL, NULL, &v, &e));
    CHECK(is_tensor(&v, DT_U8, channels > 1 ? 3 : 2, x, (size_t)(35 * (channels ? channels : 1))));
    io_fini(&v);
}

static void test_pictures_round(void) {
    for (int c = 0; c <= 5; c++) {
        round_trip("x.png", c, c <= 4);
        round_trip("x.ppm", c, c <= 1 || c == 3);
        round_trip("x.pgm", c, c <= 1 || c == 3);
    }
    Err e = {0};
    int64_t whole[4] = {0};
    IoItem item = {"", {.dtype = DT_I64, .rank = 2, .shape = {2, 2}}, whole};
    CHECK(!io_save(in_dir("x.png"), &item, 1, "", 0, &e) && e.code == ERR_DTYPE);
    CHECK_STR(e.hint, "x.clamp(0, 255).to(uint8)");
    CHECK(strstr(e.text, "x.png") != NULL);
    /* Floats from 0 to 1 are rounded to bytes; values beyond are clamped. */
    float f[4] = {0, 1, 0.5f, 7};
    item = (IoItem){"", {.dtype = DT_F32, .rank = 2, .shape = {2, 2}}, f};
    CHECK(io_save(in_dir("f.png"), &item, 1, "", 0, &e));
    IoValue v;
    CHECK(io_load(in_dir("f.png"), NULL, NULL, &v, &e));
    CHECK(is_tensor(&v, DT_U8, 2, (const uint8_t[]){0, 255, 127, 255}, 4));
    io_fini(&v);
    item.type = (TensorType){.dtype = DT_U8, .rank = 2, .shape = {0, 2}};
    CHECK_FAIL(io_save(in_dir("x.png"), &item, 1, "", 0, &err), ERR_SHAPE);
    item.type = (TensorType){.dtype = DT_U8, .rank = 1, .shape = {2}};
    CHECK_FAIL(io_save(in_dir("x.ppm"), &item, 1, "", 0, &err), ERR_SHAPE);
}

static void test_pnm_read(void) {
    static const struct {
        const char *file;
        size_t n;
        int rank;
        const char *want;
        size_t n_want;
    } good[] = {
#define GOOD(file, rank, want) {file, sizeof file - 1, rank, want, sizeof want - 1}
        GOOD("P2 # made by hand\n2 2\n#x\n255\n0 1\n2 255", 2, "\0\1\2\xff"),
        GOOD("P3\n1 1 15 0 15 7\n", 3, "\0\xff\x77"),
        GOOD("P5\n2 1\n255\n\n#", 2, "\n#"),
        GOOD("P5 2 1 1\n\0\1", 2, "\0\xff"),
        GOOD("P6\n1 1\n65535\n\0\0\xff\xff\x80\x80", 3, "\0\xff\x80"),
        GOOD("P5 1 1 255 a and another picture", 2, "a"),
        GOOD("P5 0 3 255\n", 2, ""),
        GOOD("P1\n# a bitmap\n3 2\n1 0 1\n011", 2, "\0\xff\0\xff\0\0"),
        GOOD("P4\n9 2\n\x80\x80\0\x7f", 2,
             "\0\xff\xff\xff\xff\xff\xff\xff\0\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        GOOD("P4 0 3\n", 2, ""),
    };
    IoValue v;
    Err e = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        bool ok = decode("a.ppm", good[i].file, good[i].n, &v, &e);
        CHECK_MSG(ok && is_tensor(&v, DT_U8, good[i].rank, good[i].want, good[i].n_want),
                  "case %zu: %s", i, e.text);
        io_fini(&v);
    }
    static const char *const bad[] = {"",
                                      "P",
                                      "P5",
                                      "P7 1 1 255 a",
                                      "P4 8 1",
                                      "P4 9 1 a",
                                      "P4 999999999 999999999 a",
                                      "P1 2 1 1",
                                      "P1 2 1 12",
                                      "P1 2 1 1#",
                                      "P5 1 1",
                                      "P5 1 1 255",
                                      "P5 2 1 255\na",
                                      "P5 1 1 0 a",
                                      "P5 1 1 65536 a",
                                      "P5 999999999 999999999 255\na",
                                      "P5 1234567890 1 255\na",
                                      "P5 -1 1 255\na",
                                      "P2 2 1 255 1",
                                      "P2 2 1 255 1 256",
                                      "P2 2 1 255 1 x",
                                      "P2 # no end",
                                      "P5 1 1 10\n\xff",
                                      "P6 1 1 255\nab",
                                      "P2 999999999 1000000 255 1 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e = (Err){0};
        CHECK_MSG(!decode("a.pgm", bad[i], strlen(bad[i]), &v, &e) && e.text[0], "accepted: %s",
                  bad[i]);
    }
}

/* ---- text ---- */

/* The contents of a file as JSON; or the error. */
static void reads_as(const char *name, const char *text, const char *want) {
    IoValue v;
    Err e = {0};
    Bytes json = {0};
    if (decode(name, text, strlen(text), &v, &e))
        json_print(&v, -1, &json);
    else
        bytes_puts(&json, e.text);
    CHECK_STR(json.data, want);
    bytes_fini(&json);
    io_fini(&v);
}

static void test_yaml_read(void) {
    reads_as("a.yaml", "", "null");
    reads_as("a.yml", "# nothing\n", "null");
    reads_as("a.yaml", "a: 1\nb: [x, 2.50, ~, true, FALSE, .inf, -.INF, .nan, 1e3, .5, 5.]\n",
             "{\"a\": 1, \"b\": [\"x\", 2.5, null, true, false, Infinity, -Infinity, NaN, 1000.0, "
             "0.5, 5.0]}");
    reads_as("a.yaml", "[0x1F, 0o17, 017, +5, -0, 9223372036854775807, 9223372036854775808]",
             "[31, 15, 17, 5, 0, 9223372036854775807, 9.223372036854776e+18]");
    reads_as("a.yaml", "[yes, 1_000, 0x, 1e, ., 2001-01-01, 1:30, '1', \"\\u00e9\", !!str 7, ! 8]",
             "[\"yes\", \"1_000\", \"0x\", \"1e\", \".\", \"2001-01-01\", \"1:30\", \"1\", "
             "\"\xc3\xa9\", \"7\", \"8\"]");
    reads_as("a.yaml", "[!!float 3, !!int 4, !!null ~, !!bool true]", "[3.0, 4, null, true]");
    reads_as("a.yaml", "1: {x: &a [1, 2], y: *a}\ntext: |\n  two\n  lines\nfolded: >\n  a\n  b\n",
             "{\"1\": {\"x\": [1, 2], \"y\": [1, 2]}, \"text\": \"two\\nlines\\n\", "
             "\"folded\": \"a b\\n\"}");
    reads_as("a.yaml", "a: &x {p: &y 1}\nb: [*x, *y, &x 3, *x]\n",
             "{\"a\": {\"p\": 1}, \"b\": [{\"p\": 1}, 1, 3, 3]}");
}

static void test_yaml_refuses(void) {
    reads_as("a.yaml", "a: 1\na: 2\n", "line 2, column 1: the key occurs twice");
    reads_as("a.yaml", "a: *x", "line 1, column 4: an alias without a complete anchor before it");
    reads_as("a.yaml", "&a [*a]", "line 1, column 5: an alias without a complete anchor before it");
    reads_as("a.yaml", "!!python/object:os.system x",
             "line 1, column 1: tags other than the core schema's are not read");
    reads_as("a.yaml", "!x {a: 1}",
             "line 1, column 1: tags other than the core schema's are not read");
    reads_as("a.yaml", "!!int x", "line 1, column 1: the value does not match its tag");
    reads_as("a.yaml", "a: 1\n---\nb: 1\n", "line 2, column 1: more than one document");
    reads_as("a.yaml", "<<: 1", "line 1, column 1: merge keys (<<) are not read");
    reads_as("a.yaml", "[a]: 1", "line 1, column 1: a key must be a scalar");
    Bytes bomb = {0};
    bytes_puts(&bomb, "- &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 12; i++) {
        bytes_printf(&bomb, "- &a%d [", i);
        for (int k = 0; k < 9; k++) bytes_printf(&bomb, "*a%d,", i - 1);
        bytes_puts(&bomb, "]\n");
    }
    IoValue v;
    Err e = {0};
    CHECK(!decode("a.yaml", bomb.data, bomb.n, &v, &e) && strstr(e.text, "expand the text"));
    bomb.n = 0;
    bytes_puts(&bomb, "- &a0 [x]\n");
    for (int i = 1; i < 500; i++) bytes_printf(&bomb, "- &a%d [*a%d]\n", i, i - 1);
    e = (Err){0};
    CHECK(!decode("a.yaml", bomb.data, bomb.n, &v, &e) && strstr(e.text, "nest too deep"));
    bytes_fini(&bomb);
    char deep[20000];
    memset(deep, '[', sizeof deep);
    e = (Err){0};
    CHECK(!decode("a.yaml", deep, sizeof deep, &v, &e) && strstr(e.text, "nested too deep"));
    CHECK_FAIL(decode("a.yaml", "a: \xff\xfe", 5, &v, &err), ERR_PARSE);
}

static void test_jsonl_read(void) {
    reads_as("a.jsonl", "", "[]");
    reads_as("a.jsonl", "{\"a\": 1}\n\n  [2]\r\nnull", "[{\"a\": 1}, [2], null]");
    reads_as("a.jsonl", "1\n2 3\n", "line 2, column 3: something follows the value");
    reads_as("a.jsonl", "1\n\n[2,\n3]\n",
             "line 3, column 4: the text ends where a value should be");
}

static void test_text_round(void) {
    static const char *const hosts[] = {
        "null",
        "true",
        "-5",
        "1e+20",
        "-0.0",
        "[NaN, Infinity, -Infinity, 1.5e-300]",
        "\"\"",
        "\"a\\nb \"",
        "[\"1\", \"null\", \"yes\", \"-\", \"a: b\", \"#\", \"\xc3\xa9\", "
        "\"\\u0001\", \"<<\", \"=\", \" x\"]",
        "{}",
        "[]",
        "{\"a\": {\"b\": [[1, 2], [], {\"\": null}]}, \"7\": \"12\", \"<<\": 1}",
        "[[[[1]]], {\"x\": [{\"y\": 1}, {}]}]",
    };
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        IoValue v = {0}, want = {0};
        Err e = {0};
        Bytes a = {0}, b = {0}, list = {0};
        CHECK(json_parse(hosts[i], strlen(hosts[i]), 100, &want, &e));
        json_print(&want, -1, &a);
        CHECK(io_save(in_dir("x.yaml"), NULL, 0, hosts[i], strlen(hosts[i]), &e));
        CHECK(io_load(in_dir("x.yaml"), NULL, NULL, &v, &e));
        json_print(&v, -1, &b);
        CHECK_STR(b.data, a.data);
        io_fini(&v);
        bytes_printf(&list, "[%s, 1]", hosts[i]);
        CHECK(io_save(in_dir("x.jsonl"), NULL, 0, list.data, list.n, &e));
        CHECK(io_load(in_dir("x.jsonl"), NULL, NULL, &v, &e));
        b.n = 0;
        json_print(&v.kid[0], -1, &b);
        CHECK_STR(b.data, a.data);
        io_fini(&v);
        io_fini(&want);
        bytes_fini(&a);
        bytes_fini(&b);
        bytes_fini(&list);
    }
    Err e = {0};
    CHECK_FAIL(io_save(in_dir("x.jsonl"), NULL, 0, "{}", 2, &err), ERR_ARG);
    CHECK(!io_save(in_dir("x.yaml"), NULL, 0, "\"\xff\"", 3, &e) && strstr(e.text, "x.yaml"));
    CHECK(e.code == ERR_PARSE);
}

/* ---- Ctrl-C ---- */

static void on_timer(int number) { interrupt_count = 1; }

/* Ctrl-C before a file is written, and in the middle of a large one: the old file stays, and no
 * other. */
static void test_interrupted(void) {
    static const char *const name[] = {"i.npy", "i.npz",  "i.safetensors", "i.csv", "i.json",
                                       "i.png", "i.yaml", "i.jsonl",       "i.bin", "i.pgm"};
    enum { SIDE = 2000 };
    uint8_t *x = xcalloc(SIDE, SIDE), old[16] = {1, 2, 3};
    const struct itimerval soon = {.it_value.tv_usec = 30000}; /* of processor time */
    struct sigaction act = {.sa_handler = on_timer};
    sigaction(SIGVTALRM, &act, NULL);
    for (size_t i = 0; i < SIDE * SIDE; i++) x[i] = (uint8_t)(i * i >> 7);
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        bool is_by_name = io_is_by_name(in_dir(name[k])), is_text = k == 3 || k == 4 || k >= 6;
        IoItem small = {is_by_name ? "x" : "", {.dtype = DT_U8, .rank = 2, .shape = {4, 4}}, old};
        IoItem large = {small.name, {.dtype = DT_U8, .rank = 2, .shape = {SIDE, SIDE}}, x};
        Err e = {0};
        IoValue v;
        CHECK(io_save(in_dir(name[k]), &small, 1, "", 0, &e));
        interrupt_count = 1;
        CHECK_FAIL(io_save(in_dir(name[k]), &large, 1, "", 0, &err), ERR_CANCELLED);
        interrupt_count = 0;
        if (is_text && k != 8 && k != 9) { /* these take longer than the timer */
            setitimer(ITIMER_VIRTUAL, &soon, NULL);
            bool ok = io_save(in_dir(name[k]), &large, 1, "", 0, &e);
            CHECK_MSG(!ok && e.code == ERR_CANCELLED, "%s: %s", name[k], ok ? "saved" : e.text);
            CHECK(strstr(e.text, "is not written") != NULL);
            interrupt_count = 0;
        }
        CHECK(io_load(in_dir(name[k]), NULL, NULL, &v, &e));
        CHECK(v.kind != IO_TENSOR || type_numel(&v.tensor->type) == 16);
        io_fini(&v);
    }
    interrupt_count = 1;
    CHECK_FAIL(io_write(in_dir("i.bin"), "text", 4, &err), ERR_CANCELLED);
    CHECK_FAIL(io_append(in_dir("i.bin"), "text", 4, &err), ERR_CANCELLED);
    interrupt_count = 0;
    struct stat st;
    CHECK(!stat(in_dir("i.bin"), &st) && st.st_size == 16);
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) remove(in_dir(name[k]));
    free(x);
}

static void set_errno(void *ctx) { errno = *(int *)ctx; }

/* What runs while a file is written does not change why it cannot be written. */
static void test_meanwhile(void) {
    static char data[3 << 20];
    Err err = {0};
    int error = EAGAIN;
    if (access("/dev/full", W_OK)) return;
    interrupt_meanwhile = (WaitHook){.fn = set_errno, .ctx = &error};
    CHECK(!io_write("/dev/full", data, sizeof data, &err));
    interrupt_meanwhile = (WaitHook){0};
    CHECK_MSG(strstr(err.text, strerror(ENOSPC)), "%s", err.text);
}

int main(void) {
    dir_open("io-format");
    test_npz_read();
    test_npz_round();
    test_npz_hostile();
    test_png_read();
    test_pictures_round();
    test_pnm_read();
    test_yaml_read();
    test_yaml_refuses();
    test_jsonl_read();
    test_text_round();
    test_interrupted();
    test_meanwhile();
    dir_close((const char *[]){"deep/x.npz", "deep", "x.png", "x.ppm", "x.pgm", "f.png", "x.yaml",
                               "x.jsonl", NULL});
    return check_report("io formats");
}
