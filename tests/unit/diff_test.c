/* diff_test.c: gt-diff's parts over small tapes: parts, copies and terms become hashes of whole
 * tensors, inserted and removed instructions are found, damaged tapes do no harm.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/watch/diff.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include <unistd.h>

static char path[2][64];

static void write_file(int which, const char *text, size_t n) {
    FILE *f = fopen(path[which], "w");
    CHECK(f && fwrite(text, 1, n, f) == n);
    fclose(f);
}

static bool open_text(DiffTape *t, int which, const char *text, size_t n) {
    write_file(which, text, n);
    return diff_tape_open(t, path[which], "x.tape", NULL);
}

/* A tape's lines without their times and numbers. */
static void put(Bytes *b, const char *line) {
    if (!b->n) bytes_puts(b, "gti 1 kind=tape\n");
    bytes_printf(b, "0.000001 1 %s\n", line);
}

static const char *const sharded[] = {
    "+ - w0 worker \"cpu-v4\" threads=1 memory=1000",
    "+ - g2 group w0 w1",
    "> c1 - file 0 a.gt",
    "> c1 - t0 = full 1.0 [4] f32 -> f32[4] @a.gt:1",
    "= c1 g2 t0 = full 1.0 [4] f32 on=2 split=[0,2]",
    "< c1 w0 hash t0 op=full hash=0000000000000001 part=split",
    "< c1 w1 hash t0 op=full hash=ffffffffffffffff part=split",
    "> c1 - t1 = sum t0 -> f32[] @a.gt:2",
    "= c1 g2 t1 = sum t0 on=2 partial=\"sum\"",
    "< c1 w0 hash t1 op=sum hash=0000000000000005 part=partial",
    "< c1 w1 hash t1 op=sum hash=0000000000000006 part=partial",
    "= c1 g2 t9223372036854775808 = all_reduce t1 on=2 from=2 shape=[] dtype=f32 # for print",
    "< c1 w0 hash t9223372036854775808 op=all_reduce hash=000000000000000b",
    "< c1 w1 hash t9223372036854775808 op=all_reduce hash=000000000000000b",
    "> c1 - t2,t3 = topk t0 1 -> f32[1],i64[1] @a.gt:3",
    "< c1 w0 hash t2,t3 op=topk hash=00000000000000aa,00000000000000bb",
    "> c1 - t4 = view t0 -> f32[4] @a.gt:4",
    "> c1 - t5 = exp t0 -> f32[4] @a.gt:5",
    "= c1 g2 t5 = exp t0 on=2 split=[0,2]",
    "< c1 w0 hash t5 op=exp hash=0000000000000001 part=split",
};
enum { N_SHARDED = sizeof sharded / sizeof *sharded };

static Bytes sharded_tape(void) {
    Bytes b = {0};
    for (int i = 0; i < N_SHARDED; i++) put(&b, sharded[i]);
    return b;
}

static void test_whole(void) {
    DiffTape t;
    Bytes b = sharded_tape();
    CHECK(open_text(&t, 0, b.data, b.n));
    CHECK_INT(t.n_clients, 1);
    const DiffClient *c = &t.client[0];
    uint64_t hash = 7;
    CHECK_INT(c->n, 5);
    CHECK(diff_hash(&t, c, &c->step[0], 0, &hash) && hash == 0);  /* the sum of both parts */
    CHECK(diff_hash(&t, c, &c->step[1], 0, &hash) && hash == 11); /* the collective's */
    CHECK(diff_hash(&t, c, &c->step[2], 1, &hash) && hash == 0xbb);
    CHECK(!diff_hash(&t, c, &c->step[3], 0, &hash)); /* a view */
    CHECK(!diff_hash(&t, c, &c->step[4], 0, &hash)); /* a part is missing */
    CHECK(diff_step(c, 3) == &c->step[2] && !diff_step(c, 6));
    CHECK_INT(c->step[2].line, 3);
    diff_tape_close(&t);
    put(&b, "< c1 w1 hash t2,t3 op=topk hash=00000000000000aa,00000000000000bc");
    CHECK(open_text(&t, 0, b.data, b.n) && t.client[0].step[2].got.is_torn);
    CHECK(!diff_hash(&t, &t.client[0], &t.client[0].step[2], 0, &hash));
    diff_tape_close(&t);
    bytes_fini(&b);
    CHECK(!open_text(&t, 0, "gti 1\n", 6) && !open_text(&t, 0, "", 0));
}

/* A program of n instructions, of which the one at `skip` is missing, and `extra` are inserted
 * before `at`; hash `odd` differs. */
static void program(Bytes *b, int n, int skip, int at, int extra, int odd) {
    static const char *const op[] = {"add", "mul", "exp", "sub", "tanh"};
    char line[160];
    int id = 0;
    for (int i = 0; i < n; i++) {
        int shift = i >= at ? extra : 0;
        for (int k = 0; i == at && k < extra; k++, id++) {
            snprintf(line, sizeof line, "> c1 - t%d = sqrt t0 -> f32[2] @b.gt:%d", id, i + k + 1);
            put(b, line);
        }
        if (i == skip) continue;
        snprintf(line, sizeof line, "> c1 - t%d = %s t0 -> f32[2] @b.gt:%d", id, op[i * i % 5],
                 i + shift + 1);
        put(b, line);
        snprintf(line, sizeof line, "< c1 w0 hash t%d op=x hash=%016x", id, i == odd ? 1 : i * 3);
        put(b, line);
        id++;
    }
}

static void test_align(void) {
    static const struct {
        int skip, at, extra, odd;
        size_t gaps;
        int found; /* line in the first tape */
    } rows[] = {{-1, -1, 0, -1, 0, 0},   {-1, 20, 3, -1, 1, 0}, {30, -1, 0, -1, 1, 0},
                {30, 20, 5, -1, 2, 0},   {-1, 0, 1, 70, 1, 71}, {99, -1, 0, 50, 1, 51},
                {10, 20, 900, 90, 2, 91}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Bytes a = {0}, b = {0};
        DiffTape s, t;
        DiffPairs p;
        DiffFound f;
        program(&a, 100, -1, -1, 0, -1);
        program(&b, 100, rows[i].skip, rows[i].at, rows[i].extra, rows[i].odd);
        CHECK(open_text(&s, 0, a.data, a.n) && open_text(&t, 1, b.data, b.n));
        diff_align(&p, &s.client[0], &t.client[0]);
        diff_find(&s, &t, &p, &f);
        CHECK(!p.has_parted);
        CHECK_INT(p.n_gaps, rows[i].gaps);
        int n_pairs = 0;
        for (size_t k = 0; k < p.a->n; k++) n_pairs += p.b_of[k] != DIFF_ALONE;
        CHECK_INT(n_pairs, rows[i].skip < 0 ? 100 : 99);
        CHECK_INT(f.kind, rows[i].found ? DIFF_BITS : DIFF_EQUAL);
        if (rows[i].found) CHECK_INT(p.a->step[f.at].line, rows[i].found);
        diff_pairs_fini(&p);
        diff_tape_close(&s), diff_tape_close(&t);
        bytes_fini(&a), bytes_fini(&b);
    }
}

/* Runs everything over two tapes. */
static void compare(const Bytes *a, const Bytes *b, Bytes *out) {
    DiffTape t[2];
    const DiffTape *const both[2] = {&t[0], &t[1]};
    bool ok[2] = {open_text(&t[0], 0, a->data, a->n), open_text(&t[1], 1, b->data, b->n)};
    if (ok[0] && ok[1] && t[0].n_clients && t[1].n_clients) {
        DiffPairs p;
        DiffFound f;
        diff_align(&p, &t[0].client[0], &t[1].client[0]);
        diff_find(&t[0], &t[1], &p, &f);
        diff_tell_gaps(&p, out);
        diff_tell(both, &p, &f, out);
        diff_pairs_fini(&p);
    }
    for (int i = 0; i < 2; i++)
        if (ok[i]) diff_tape_close(&t[i]);
}

static void test_damage(Rand *r) {
    Bytes whole = sharded_tape(), out = {0};
    for (int turn = 0; turn < 2000; turn++) {
        Bytes b = {0};
        bytes_add(&b, whole.data, whole.n);
        for (int k = rand_below(r, 6); k >= 0; k--) {
            static const char odd[] = "\n t9,0=@:#-> ";
            b.data[rand_below(r, (int)b.n)] = odd[rand_below(r, sizeof odd - 1)];
        }
        if (rand_below(r, 2)) b.n = (size_t)rand_below(r, (int)b.n);
        out.n = 0;
        compare(&whole, &b, &out);
        compare(&b, &whole, &out);
        CHECK(true);
        bytes_fini(&b);
    }
    bytes_fini(&whole), bytes_fini(&out);
}

static void test_order(void) {
    Bytes a = {0}, b = sharded_tape(), out = {0};
    put(&a, "> c1 - t0 = full 1.0 [4] f32 -> f32[4] @a.gt:1");
    put(&a, "< c1 w0 hash t0 op=full hash=0000000000000000");
    put(&a, "> c1 - t1 = sum t0 -> f32[] @a.gt:2");
    put(&a, "< c1 w0 hash t1 op=sum hash=000000000000000c");
    compare(&a, &b, &out);
    CHECK(out.n && strstr(out.data, "first difference: t1 = sum t0 -> f32[] at a.gt:2\n"));
    CHECK(out.n && strstr(out.data, "  equal operands: t0\n"));
    CHECK(out.n && strstr(out.data, "order of additions differs: in B, 2 workers add up a term"));
    CHECK(out.n && strstr(out.data, "only in B: 3 instructions, the first: t2,t3 = topk"));
    bytes_fini(&a), bytes_fini(&b), bytes_fini(&out);
}

int main(int argc, char **argv) {
    Rand r = {rand_seed(argc, argv)};
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "/tmp/gt_diff_test.XXXXXX");
        int fd = mkstemp(path[i]);
        CHECK(fd >= 0);
        close(fd);
    }
    test_whole();
    test_align();
    test_order();
    test_damage(&r);
    for (int i = 0; i < 2; i++) unlink(path[i]);
    return check_report("diff");
}
