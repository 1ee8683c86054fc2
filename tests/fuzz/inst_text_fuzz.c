/* inst_text_fuzz.c: arbitrary instruction text. The result must be an instruction, or an error with
 * a column. What parses must print, must parse again to the same, and must survive the round trip
 * through the binary form.
 * SPDX-License-Identifier: MIT */
#include "runtime/wire/frame.h"
#include "tests/unit/random_inst.h"
#include "tests/fuzz/fuzz.h"

static void die(const Bytes *one, const Bytes *two) {
    fprintf(stderr, "%s\n%s\n", one->data, two->data ? two->data : "(does not parse)");
    abort();
}

static void check_binary(const Inst *in, Arena *a, const Bytes *text) {
    FrameWriter w = {0};
    frame_begin(&w, 1, 2);
    frame_add(&w, in);
    Msg m;
    frame_end(&w, &m);
    FrameReader r;
    Inst got;
    Bytes again = {0};
    if (!frame_open(&r, &m, NULL) || frame_next(&r, a, &got, NULL, NULL, NULL) != 1)
        die(text, &again);
    inst_print(&got, NULL, &again);
    if (strcmp(text->data, again.data) != 0) die(text, &again);
    bytes_fini(&again);
    for (int i = 0; i < m.n; i++) buf_unref(&m.part[i]);
}

static void check_line(const char *s, size_t n, Arena *a) {
    InstLine line, second;
    Err err = {0};
    if (!inst_parse(s, n, a, &line, &err)) {
        if (strncmp(err.text, "column ", 7) != 0) abort();
        return;
    }
    if (line.is_empty) return;
    Bytes text = {0}, again = {0};
    inst_print(&line.inst, NULL, &text);
    if (!inst_parse(text.data, text.n, a, &second, &err)) die(&text, &again);
    if (!same_inst(&line.inst, &second.inst)) die(&text, &again);
    inst_print(&second.inst, NULL, &again);
    if (strcmp(text.data, again.data) != 0) die(&text, &again);
    check_binary(&line.inst, a, &text);
    bytes_fini(&text), bytes_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Arena a = {0};
    const char *s = (const char *)data, *end = s + n;
    while (s < end) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        check_line(s, (size_t)(stop - s), &a);
        arena_reset(&a);
        s = stop + 1;
    }
    arena_fini(&a);
    return 0;
}

static void fuzz_seed(Rand *r, Bytes *out) {
    static const char *const files[] = {"train.gt", "my models/a b.gt", "t5"};
    static const char *const lines[] = {
        "gti 1 prog=\"x.gt\" seed=0",
        "# remark",
        "t0 = slice t1 [:, 2:, :7, ::2] -> f32[1,2] @a.gt:7:12 # x",
        "t0 = data f32 [3] 1 2.5 -3e-05",
        "t1 = data i64 [3] z64=\"eJxjZGJmwAYAAKAABw==\"",
        "t1 = data i64 [3] path=\"a.data\" at=64 sha256=0011 my.note=\"a b\"",
        "t1 = load \"a.npz\" key=\"h/0/w\" as=\"uint16\" sha256=0011",
        "save \"a\" \"b c\"=t1 d=t2",
        "t1,t2 = topk t0 3 axis=0 -> f32[3],i64[3]",
        "t0 = add t1 t2 on=g1 split=0 x=[1,2] y=\"a b\"",
    };
    Arena a = {0};
    int i = rand_below(r, 14);
    if (i < 7) bytes_puts(out, lines[i]);
    Inst in = rand_inst(r, &a);
    InstPrint how = {.files = files, .n_files = 3, .columns = true};
    if (i >= 7) inst_print(&in, &how, out);
    arena_fini(&a);
}
