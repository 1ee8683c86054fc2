/* inst_text_test.c: the text form of instructions: the canonical text of each kind, errors with
 * their column, and two properties of random instructions: parse(print(x)) is x, and text is
 * unchanged by a round trip through the binary form.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/gtb.h"
#include "runtime/wire/frame.h"
#include "tests/unit/make_inst.h"
#include "tests/unit/check.h"
#include "tests/unit/random_inst.h"

static uint64_t seed = 1;
static const char *const files[] = {"train.gt", "my models/a b.gt", "t5"};

static bool parse(const char *line, Arena *a, InstLine *out, Err *err) {
    size_t n = strlen(line);
    char *exact = xmalloc(n); /* no NUL after it: ASan detects over-reads */
    memcpy(exact, line, n);
    bool ok = inst_parse(exact, n, a, out, err);
    free(exact); /* no pointer into the line may remain */
    return ok;
}

/* Each of these is canonical: it parses, prints as itself, and does so again after a round trip
 * through the binary form. */
static const char *const canonical[] = {
    "t0 = randn [512,2] f32 rng=42:0 -> f32[512,2] @train.gt:6",
    "t1 = data f32 [3] 1 2.5 -3e-05 -> f32[3]",
    "t1 = data f32 [] 0.1 -> f32[]",
    "t1 = data f32 [0] -> f32[0]",
    "t1 = data f64 [8] nan -nan inf -inf 0 -0 0.1 5e-324",
    "t1 = data b1 [3] 1 0 1",
    "t1 = data u8 [2] 0 255",
    "t1 = data i64 [2] -9223372036854775808 9223372036854775807",
    "t2 = data u8 [70] "
    "b64=\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+"
    "P0BBQkNERQ==\"",
    "t3 = load \"mnist.npy\" sha256=9f2c -> u8[60000,784]",
    "t3 = load \"gpt.safetensors\" key=\"h/0/w\" sha256=77e1 -> f32[768,2304]",
    "t3 = load \"train.bin\" as=\"uint16\" sha256=b031 -> i32[301966]",
    "t3 = data i64 [4] path=\"run.tape.data\" at=64 sha256=0cd1 -> i64[4]",
    "t4 = cast t3 f32 -> f32[60000,784]",
    "t5 = div t4 255 -> f32[60000,784]",
    "t5 = pow t4 -0.5",
    "t5 = add t4 2.0",
    "t5 = where t1 t2 nan",
    "t5 = maximum t1 -inf",
    "t5 = eq t1 true",
    "t6 = slice t5 [0:512,0:784] -> f32[512,784] @train.gt:9",
    "t6 = slice t5 [3:3,1:8:3]",
    "t6 = slice t5 []",
    "t6 = slice_put t5 t4 [0:2]",
    "signal enter forward_layer1 backward=backward_layer1",
    "signal exit forward_layer1",
    "signal define forward axis=0 backward=back workers=[0,1,2,3] replicated=false compile=true",
    "signal define all workers=[]",
    "check nan=true",
    "signal enter \"layer 1\"",
    "signal enter \"t5\"",
    "t8 = matmul t6 t7 -> f32[512,256]",
    "t9 = relu t8",
    "t10 = sum t9 axis=1 keepdims=true -> f32[512,1]",
    "t10 = sum t9 axis=[0,2]",
    "t10 = sum t9 axis=[]",
    "t11,t12 = topk t10 3 axis=0 -> f32[3,1],i64[3,1]",
    "t11,t12 = topk t10 3 axis=0 largest=false",
    "fetch t10 as=\"loss\" @train.gt:14",
    "free t0 t4 t8",
    "print \"loss {:.4f}\\n\" t10",
    "print \"step 3\\n\"",
    "print \"x\\n\" t1 err=true edge=3 threshold=1000",
    "write \"out.csv\" append=true \"{:.6f}\\n\" t9",
    "assert t9 \"gradient off by {:.1e}\" t8",
    "save \"mlp.safetensors\" fc1.weight=t3 \"odd name\"=t4 \"t7\"=t5 meta=\"{}\"",
    "track loss=t3 lr=t4",
    "track \"\"=t3",
    "save \"empty\" meta=\"{\\\"a\\\": 1}\"",
    "t5 = reshape t4 [2,-1]",
    "t5 = expand t4 [2,3]",
    "t5 = permute t4 axes=[1,0]",
    "t5 = full 0.5 [3,4] f32",
    "t5 = full t3 0",
    "t5 = full true [] b1",
    "t5 = arange 0 1 [5] i64",
    "t5 = randint 0 10 [5] i64 rng=0:3",
    "t5 = cat t1 t2 t3 axis=1",
    "t5 = index t1 t2 t3 axis=0",
    "t5 = index_put t1 t2 t3 axis=0 accumulate=true",
    "t5 = argmax t1",
    "t5 = shard t4 fwd",
    "file 1 train.gt",
    "file 2 \"my models/a b.gt\"",
    "edge",
    "sync",
    "note \"caf\xc3\xa9\"",
    "peek t4 edge=3 threshold=1000",
    "t9 = add t1 t2 lane=g1 tile=0",
    "t9 = add t1 t2 axis=[0,1] why=\"two words\" x=[1,2]",
    "t9 = add t1 t2 @\"my models/a b.gt\":12",
    "t9 = add t1 t2 @\"t5\":1",
    "t18446744073709551600 = neg t18446744073709551599",
};

static uint16_t file_number(const char *name) {
    for (uint16_t i = 0; i < 3; i++)
        if (name && !strcmp(name, files[i])) return i;
    return 0;
}

/* The text after a round trip through a frame. */
static void through_binary(const Inst *in, const InstPrint *how, Bytes *out) {
    FrameWriter w = {.edge_id = 0};
    frame_begin(&w, 1, 0);
    frame_add(&w, in);
    Msg m;
    frame_end(&w, &m);
    FrameReader r;
    Arena scratch = {0};
    Inst got;
    Err err = {0};
    CHECK(frame_open(&r, &m, &err));
    CHECK_MSG(frame_next(&r, &scratch, &got, NULL, NULL, &err) == 1, "%s", err.text);
    inst_print(&got, how, out);
    for (int i = 0; i < m.n; i++) buf_unref(&m.part[i]);
    arena_fini(&scratch);
}

static void test_canonical(void) {
    Arena a = {0};
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++) {
        InstLine line;
        Err err = {0};
        bool ok = parse(canonical[i], &a, &line, &err);
        CHECK_MSG(ok, "%s: %s", canonical[i], err.text);
        if (!ok) continue;
        line.inst.pos.file = file_number(line.file);
        InstPrint how = {.files = files, .n_files = 3, .out = line.has_types ? line.types : NULL};
        Bytes text = {0}, again = {0};
        inst_print(&line.inst, &how, &text);
        CHECK_STR(text.data, canonical[i]);
        through_binary(&line.inst, &how, &again);
        CHECK_STR(again.data, canonical[i]);
        bytes_fini(&text), bytes_fini(&again);
        arena_reset(&a);
    }
    arena_fini(&a);
}

/* Accepted variants, and their canonical form. */
static const char *const loose[][2] = {
    {"  t9=add t1 t2   # sum", "t9 = add t1 t2"},
    {"t6 = slice t5 [:, 2:, :7, ::2]", NULL},
    {"t1 = data b1 [2] true false", "t1 = data b1 [2] 1 0"},
    {"t1 = data f32 [2] b64=\"AACAPwAAAEA=\"", "t1 = data f32 [2] 1 2"},
    {"t5 = sum axis=[1] t4", "t5 = sum t4 axis=1"},
    {"t1 = data i64 [3] z64=\"eJxjZGJmwAYAAKAABw==\"", "t1 = data i64 [3] 1 2 3"},
    {"print t4 \"{}\"", "print \"{}\" t4"},
    {"t5 = randn rng=1:2 f32 [ 2 , 3 ]", "t5 = randn [2,3] f32 rng=1:2"},
    {"t5 = randn rng=[1,2] float32 [2]", "t5 = randn [2] f32 rng=1:2"},
    {"fetch t1 as=loss", "fetch t1 as=\"loss\""},
    {"t5 = topk t4 k=3 axis=0", "t5 = topk t4 3 axis=0"},
    {"note \"\\x41\\'\"", "note \"A'\""},
};

static void test_loose(void) {
    Arena a = {0};
    InstLine line;
    for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
        Err err = {0};
        CHECK_MSG(parse(loose[i][0], &a, &line, &err), "%s: %s", loose[i][0], err.text);
        Bytes text = {0};
        inst_print(&line.inst, NULL, &text);
        if (loose[i][1]) CHECK_STR(text.data, loose[i][1]);
        bytes_fini(&text);
    }
    CHECK(parse("t6 = slice t5 [:, 2:, :7, ::2]", &a, &line, NULL));
    const int64_t *start = inst_attr(&line.inst, ATTR_START)->ints,
                  *size = inst_attr(&line.inst, ATTR_SIZE)->ints,
                  *step = inst_attr(&line.inst, ATTR_STEP)->ints;
    CHECK(start[0] == 0 && size[0] == -1 && step[0] == 1); /* -1: to the end */
    CHECK(start[1] == 2 && size[1] == -1 && start[2] == 0 && size[2] == 7 && size[3] == -1 &&
          step[3] == 2);
    static const char *const empty[] = {
        "", "   ", "# remark", "gti 1 prog=\"x.gt\" seed=0", "@a.gt:3", "\t# t0 = nonsense"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        CHECK(parse(empty[i], &a, &line, NULL) && line.is_empty);
    CHECK(parse("t0 = neg t1 @a.gt:7:12 # x", &a, &line, NULL) && line.inst.pos.line == 7 &&
          line.inst.pos.col == 12);
    CHECK_STR(line.file, "a.gt");
    arena_fini(&a);
}

static const struct {
    const char *line, *error;
} wrong[] = {
    {"t0 = frobnicate t1", "column 6: unknown op 'frobnicate'"},
    {"signal begin x", "column 1: unknown op 'signal begin'"},
    {"t0 = ", "column 6: an operation is missing"},
    {"add t1 t2", "column 1: add needs a result: t0 = add ..."},
    {"t0 add t1", "column 4: '=' is missing"},
    {"t0,t2 = topk t1 3 axis=0", "column 4: results have consecutive ids"},
    {"t0,t1,t2 = topk t1", "column 7: more than 2 results"},
    {"t99999999999999999999 = neg t1", "column 1: an id out of range"},
    {"t0 = add t1 t2 axis=1 axis=2", "column 23: 'axis' is given twice"},
    {"t0 = add t1 99999999999999999999",
     "column 13: '99999999999999999999' is not a number, or out of range"},
    {"t0 = add t1 1e", "column 13: '1e' is not a number, or out of range"},
    {"t0 = add t1 0x10", "column 13: '0x10' is not a number, or out of range"},
    {"t0 = add t1 [3]", "column 13: add takes no [...] here"},
    {"t0 = add t1 \"x\"", "column 13: add takes no text here"},
    {"t0 = add t1 foo", "column 13: unexpected word 'foo'"},
    {"t0 = add t1]", "column 12: unexpected character"},
    {"t0 = sum t1 axis=[1,", "column 21: a whole number is missing or out of range"},
    {"t0 = sum t1 axis=[1", "column 20: ',' or ']' is missing"},
    {"t0 = sum t1 keepdims=1", "column 22: keepdims is true or false"},
    {"t0 = cast t1 dtype=f99", "column 20: unknown dtype 'f99'"},
    {"t0 = data f32 [2] 1 x", "column 21: 'x' is not a number"},
    {"t0 = data i32 [1] 2147483648", "column 19: 2147483648 does not fit i32"},
    {"t0 = data 1 2", "column 11: dtype and shape come before the elements"},
    {"t0 = data f32 [1] b64=\"AA\"", "column 23: b64 is a quoted text of full groups of four"},
    {"t0 = data f32 [1] b64=\"AA*=\"", "column 26: not a base64 digit"},
    {"t0 = neg t1 b64=\"AAAA\"", "column 17: elements are not expected here"},
    {"t0 = data z64=\"AAAA\"", "column 15: dtype and shape come before the elements"},
    {"t0 = data f32 [1] z64=\"AAAA\"", "column 23: the compressed bytes do not match the elements"},
    {"t0 = data f32 [99,99,99,99] z64=\"AAAA\"", "column 33: fewer bytes than the elements take"},
    {"t1 = data i64 [2] z64=\"eJxjZGJmwAYAAKAABw==\"",
     "column 23: the compressed bytes do not match the elements"},
    {"t1 = data i64 [4] z64=\"eJxjZGJmwAYAAKAABw==\"",
     "column 23: the compressed bytes do not match the elements"},
    {"t0 = slice t1 [3]", "column 17: ':' is missing"},
    {"t0 = slice t1 [3:1]", "column 16: not a slice that goes forward"},
    {"t0 = slice t1 [3:9:0]", "column 16: not a slice that goes forward"},
    {"print \"abc", "column 7: a string is not closed"},
    {"print \"\\q\"", "column 8: unknown escape"},
    {"save \"x\" a=t1 t2", "column 17: some operands have a name, some not"},
    {"t0 = neg t1 -> f32[2],f32[2]", "column 23: more types than results"},
    {"t0,t1 = topk t1 -> f32[2]", "column 26: a type is missing"},
    {"t0 = neg t1 -> q[2]", "column 16: unknown dtype 'q'"},
    {"t0 = neg t1 -> f32[1,1,1,1,1,1,1,1,1]", "column 16: more than 8 axes"},
    {"t0 = neg t1 @a.gt", "column 18: ':' and a line number are missing"},
    {"t0 = neg t1 @a.gt:0", "column 19: a position out of range"},
    {"t0 = neg t1 @a.gt:1 t5", "column 21: text behind the position"},
    {"t0 = neg t1 x=\"a", "column 15: a string is not closed"},
};

/* Each limit: the maximum is accepted, one more is not. */
static void test_limits(Arena *a) {
    InstLine line;
    Bytes many = {0};
    bytes_puts(&many, "free");
    for (int i = 0; i < MAX_IN; i++) bytes_printf(&many, " t%d", i);
    CHECK(parse(many.data, a, &line, NULL) && line.inst.n_in == MAX_IN &&
          line.inst.in[MAX_IN - 1].id == MAX_IN - 1);
    bytes_puts(&many, " t1");
    CHECK_FAIL(parse(many.data, a, &line, &err), ERR_PARSE);
    many.n = 0;
    bytes_puts(&many, "t0 = sum t1 axis=[0");
    for (int i = 1; i < MAX_INTS; i++) bytes_puts(&many, ",0");
    size_t n = many.n;
    bytes_puts(&many, "]");
    CHECK(parse(many.data, a, &line, NULL) && line.inst.attr[0].n == MAX_INTS);
    many.n = n;
    bytes_puts(&many, ",0]");
    CHECK_FAIL(parse(many.data, a, &line, &err), ERR_PARSE);
    many.n = 0;
    bytes_puts(&many, "note \"");
    for (size_t i = 0; i < MAX_STR; i++) bytes_putc(&many, 'x');
    n = many.n;
    bytes_putc(&many, '"');
    CHECK(parse(many.data, a, &line, NULL) && line.inst.attr[0].n == MAX_STR);
    many.n = n;
    bytes_puts(&many, "x\"");
    CHECK_FAIL(parse(many.data, a, &line, &err), ERR_PARSE);
    many.n = 0;
    bytes_puts(&many, "t0 = neg t1");
    for (int k = 0, given = 0; k < ATTR_COUNT && given <= MAX_ATTRS; k++) {
        if (attr_info[k].type != AT_INT && attr_info[k].type != AT_BOOL &&
            attr_info[k].type != AT_INTS)
            continue;
        bytes_printf(&many, " %s=%s", attr_info[k].name,
                     attr_info[k].type == AT_BOOL ? "true" : "1");
        given++;
        if (given == MAX_ATTRS)
            CHECK(parse(many.data, a, &line, NULL) && line.inst.n_attr == MAX_ATTRS);
        if (given > MAX_ATTRS) CHECK_FAIL(parse(many.data, a, &line, &err), ERR_PARSE);
    }
    bytes_fini(&many);
}

static void test_wrong(void) {
    Arena a = {0};
    InstLine line;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Err err = {0};
        CHECK_MSG(!parse(wrong[i].line, &a, &line, &err), "%s is taken", wrong[i].line);
        CHECK_STR(err.text, wrong[i].error);
    }
    CHECK_FAIL(parse("gti 2", &a, &line, &err), ERR_VERSION);
    /* A number such as inf would be printed like the signal's name. */
    CHECK_FAIL(parse("signal define 3e+0610", &a, &line, &err), ERR_PARSE);
    CHECK_FAIL(parse("signal enter \"a\" -inf", &a, &line, &err), ERR_PARSE);
    test_limits(&a);
    arena_fini(&a);
}

/* The attributes that each operation takes include those that inference reads. */
static void test_keys(void) {
    static const struct {
        const char *line, *error, *hint;
    } refused[] = {
        {"t1 = sum t0 axes=[0]", "column 13: sum has no attribute 'axes'", "did you mean 'axis'?"},
        {"t1 = add t0 t1 foo=3 a.b=4", "column 16: add has no attribute 'foo'",
         "it takes none; the key of an annotation contains a point: my.note=3"},
        {"t1 = add t0 t1 a.b=\"x y\" foo=3", "column 26: add has no attribute 'foo'",
         "it takes none; the key of an annotation contains a point: my.note=3"},
        {"print axis=1 \"a\"", "column 7: print has no attribute 'axis'", NULL},
        {"save \"a.npz\" w=t0 x=3", "column 19: save has no attribute 'x'", NULL},
        {"t0 = randn [2] f32 rgn=0:0", "column 20: randn has no attribute 'rgn'",
         "did you mean 'rng'?"},
    };
    static const char *const taken[] = {
        "t2 = matmul t0 t1 dtype=f32",
        "t1 = sum t0 axis=0 keepdims=true a.b=1",
        "t1 = add t0 t2 keep=true x.y=\"a=b c\"",
        "save \"a.npz\" fc1.weight=t0 my.note=3",
        "t0 = load \"a.npz\" key=w sha256=0011",
        "print \"a\" err=true edge=3",
        "signal define a axis=0 workers=[0,1]",
        "t1,t2 = topk t0 3 axis=0 largest=false",
        "",
        "t1 = conv t0 t2 stride=[2] padding=[1]",
        "gti 1 prog=x",
    };
    Arena a = {0};
    InstLine line;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Err err = {0};
        CHECK_MSG(parse(refused[i].line, &a, &line, &err), "%s: %s", refused[i].line, err.text);
        CHECK_MSG(!inst_check_keys(&line, &err), "%s is taken", refused[i].line);
        CHECK_STR(err.text, refused[i].error);
        if (refused[i].hint) CHECK_STR(err.hint, refused[i].hint);
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        Err err = {0};
        CHECK_MSG(parse(taken[i], &a, &line, &err) && inst_check_keys(&line, &err), "%s: %s",
                  taken[i], err.text);
    }
    arena_fini(&a);
}

/* Compressed elements are restored, for any width and number. */
static void test_packed(void) {
    Rand r = {seed};
    Arena a = {0};
    for (int round = 0; round < 200; round++) {
        DType t = (DType)rand_below(&r, DT_COUNT);
        int64_t n = 200 + rand_below(&r, 3000);
        size_t bytes = (size_t)n * (size_t)dtype_info[t].size_bytes;
        uint8_t *p = arena_alloc(&a, bytes);
        int kinds = 1 + rand_below(&r, 256); /* from one value to noise */
        for (size_t i = 0; i < bytes; i++)
            p[i] = (uint8_t)(t == DT_BOOL ? rand_below(&r, 2) : rand_below(&r, kinds));
        Inst in = {.op = OP_DATA,
                   ATTRS(attr_dtype(t), attr_ints(ATTR_SHAPE, 1, &n)),
                   RESULTS(0),
                   BYTES(p, bytes)};
        InstPrint how = {.payload_packed = true};
        Bytes text = {0}, plain = {0};
        inst_print(&in, &how, &text);
        inst_print(&in, NULL, &plain);
        CHECK(text.n <= plain.n);
        InstLine line;
        Err err = {0};
        CHECK_MSG(parse(text.data, &a, &line, &err), "seed %llu: %s", (unsigned long long)seed,
                  err.text);
        CHECK(same_inst(&in, &line.inst));
        bytes_fini(&text), bytes_fini(&plain);
        arena_reset(&a);
    }
    arena_fini(&a);
}

static void test_random(void) {
    Rand r = {seed};
    Arena a = {0}, b = {0};
    for (int round = 0; round < 20000; round++) {
        Inst in = rand_inst(&r, &a);
        InstPrint how = {.files = files,
                         .n_files = 3,
                         .columns = true,
                         .payload_b64_always = rand_below(&r, 4) == 0};
        Bytes text = {0}, again = {0};
        inst_print(&in, &how, &text);
        InstLine line;
        Err err = {0};
        bool ok = parse(text.data, &b, &line, &err);
        CHECK_MSG(ok, "seed %llu: %s: %s", (unsigned long long)seed, text.data, err.text);
        if (ok) {
            CHECK_MSG(same_inst(&in, &line.inst), "seed %llu: %s", (unsigned long long)seed,
                      text.data);
            CHECK(line.inst.pos.line == in.pos.line && line.inst.pos.col == in.pos.col);
            line.inst.pos.file = file_number(line.file);
            through_binary(&line.inst, &how, &again);
            CHECK_STR(again.data, text.data);
        }
        bytes_fini(&text), bytes_fini(&again);
        arena_reset(&a), arena_reset(&b);
    }
    arena_fini(&a), arena_fini(&b);
}

/* Decimals of any length are rounded as by strtod, and float32 elements as by strtof. */
static void test_decimals(void) {
    Rand g = {seed + 5};
    Arena a = {0};
    InstLine line;
    for (int i = 0; i < 20000; i++) {
        char number[48], text[80];
        int digits = 1 + (int)rand_below(&g, 18), point = (int)rand_below(&g, 20), n = 0;
        if (rand_below(&g, 3) == 0) number[n++] = '-';
        for (int k = 0; k < digits; k++) {
            if (k == point) number[n++] = '.';
            number[n++] = (char)('0' + rand_below(&g, k == digits - 1 ? 10 : 1 + i % 10));
        }
        n += sprintf(number + n, "%s", rand_below(&g, 4) ? "" : "e-7");
        for (int is_f64 = 0; is_f64 < 2; is_f64++) {
            double d = strtod(number, NULL);
            float f = strtof(number, NULL);
            snprintf(text, sizeof text, "t0 = data %s [1] %s", is_f64 ? "f64" : "f32", number);
            arena_reset(&a);
            bool ok = parse(text, &a, &line, NULL);
            ok = ok && !memcmp(line.inst.payload, is_f64 ? (void *)&d : (void *)&f, is_f64 ? 8 : 4);
            if (!ok) fprintf(stderr, "%s\n", text);
            CHECK(ok);
        }
    }
    arena_fini(&a);
}

/* A record that gives an attribute twice is refused. */
static void test_binary_twice(void) {
    Attr attr[] = {{.key = ATTR_AXIS, .i = 0}, {.key = ATTR_AXIS, .i = 1}};
    Operand x = {.kind = IN_TENSOR, .id = 1};
    for (uint16_t n = 1; n <= 2; n++) {
        InstLine line = {.inst = {.op = OP_CUMSUM,
                                  .n_in = 1,
                                  .in = &x,
                                  .n_out = 1,
                                  .out = {2},
                                  .attr = attr,
                                  .n_attr = n}},
                 got;
        GtbWriter *w = gtb_writer_new();
        GtbReader r;
        Bytes b = {0};
        Arena a = {0};
        Err err = {0};
        gtb_put(w, &line, NULL, &b);
        CHECK(gtb_open(&r, b.data, b.n, &err));
        CHECK_INT(gtb_next(&r, &a, &got, &err), n == 1 ? GTB_LINE : GTB_BAD);
        gtb_close(&r);
        gtb_writer_free(&w);
        bytes_fini(&b);
        arena_fini(&a);
    }
}

int main(int argc, char **argv) {
    seed = rand_seed(argc, argv);
    test_canonical();
    test_loose();
    test_wrong();
    test_keys();
    test_packed();
    test_decimals();
    test_random();
    test_binary_twice();
    return check_report("inst_text");
}
