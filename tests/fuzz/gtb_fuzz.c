/* gtb_fuzz.c: arbitrary binary instruction files. The reader says what is wrong, or gives lines.
 * What it gives prints as text, and written again it reads as the same lines.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/gtb.h"
#include "runtime/inst/inst_print.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/random_inst.h"

/* Appends the line as text, with all that a record has. */
static void put_line(const GtbReader *r, const InstLine *line, Bytes *out) {
    if (line->is_empty) {
        if (r->text) bytes_add(out, r->text, r->n_text);
    } else {
        inst_print(&line->inst, &(InstPrint){.out = line->has_types ? line->types : NULL}, out);
        if (line->file) inst_put_position(out, line->file, line->inst.pos, true);
        if (line->n_comment) bytes_add(out, line->comment, line->n_comment);
    }
    bytes_putc(out, '\n');
}

/* Reads a file; its lines as text go to `text`, as records to `again` (NULL: nowhere). */
static GtbGot read_all(const void *data, size_t n, Bytes *text, Bytes *again) {
    GtbReader r;
    Err err = {0};
    GtbGot got;
    Arena a = {0};
    InstLine line;
    GtbWriter *w = gtb_writer_new();
    if (!gtb_open(&r, data, n, &err)) {
        if (!err.text[0]) abort();
        got = GTB_BAD;
    } else {
        while ((got = gtb_next(&r, &a, &line, &err)) == GTB_LINE) {
            put_line(&r, &line, text);
            if (again && line.is_empty) gtb_put_text(w, r.text, r.n_text, again);
            if (again && !line.is_empty) gtb_put(w, &line, NULL, again);
            arena_reset(&a);
        }
        if (got == GTB_BAD && !err.text[0]) abort();
        gtb_close(&r);
    }
    gtb_writer_free(&w);
    arena_fini(&a);
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    Bytes text = {0}, again = {0}, text2 = {0};
    read_all(data, n, &text, &again);
    if (again.n) {
        GtbGot got = read_all(again.data, again.n, &text2, NULL);
        if (got != GTB_END || text.n != text2.n || memcmp(text.data, text2.data, text.n)) {
            fprintf(stderr, "%s\nbecomes\n%s\n", text.data, text2.data ? text2.data : "nothing");
            abort();
        }
    }
    bytes_fini(&text), bytes_fini(&again), bytes_fini(&text2);
    return 0;
}

static void fuzz_seed(Rand *r, Bytes *out) {
    static const char *const texts[] = {"gti 1 prog=\"x.gt\" seed=0", "", "# remark", "@a.gt:3"};
    static const char *const files[] = {"train.gt", "my models/a b.gt", "t5"};
    Arena a = {0};
    GtbWriter *w = gtb_writer_new();
    for (int k = rand_below(r, 4); k >= 0; k--) {
        InstLine line = {.inst = rand_inst(r, &a)};
        Inst *in = &line.inst;
        if (rand_below(r, 3) == 0) {
            const char *s = texts[rand_below(r, 4)];
            gtb_put_text(w, s, strlen(s), out);
        }
        if (rand_below(r, 2)) line.file = files[rand_below(r, 3)];
        if (!op_has_elements(in->op)) in->payload = NULL, in->payload_bytes = 0;
        line.has_types = rand_below(r, 2);
        for (int i = 0; i < in->n_out; i++)
            line.types[i] = (TensorType){.dtype = (uint8_t)rand_below(r, DT_COUNT),
                                         .rank = (uint8_t)rand_below(r, 3),
                                         .shape = {rand_below(r, 5), 7}};
        if (rand_below(r, 4) == 0) line.comment = "# x", line.n_comment = 3;
        gtb_put(w, &line, NULL, out);
    }
    gtb_writer_free(&w);
    arena_fini(&a);
}
