/* golden_test.c: PyTorch's results for every row of the op table (the .gti files of tests/golden),
 * against exec on each engine. A line "#= data ..." holds the result of the instruction before it.
 *
 *   golden_test [FILE ...]
 * SPDX-License-Identifier: MIT */
#include "tests/unit/make_inst.h"
#include "check.h"
#include "worker/exec/exec.h"
#include "worker/worker.h"
#include "worker/ref/ref.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"

#include <glob.h>
#include <math.h>

static char *read_all(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = NULL;
    size_t cap = 0;
    for (*n = 0;; *n += fread(text + *n, 1, cap - *n, f)) {
        if (feof(f) || ferror(f)) break;
        if (*n == cap) text = xrealloc(text, cap = cap ? 2 * cap : 1 << 16);
    }
    fclose(f);
    return text;
}

static bool is_near(double x, double y, DType d) {
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (x == y) return true;
    if (!isfinite(x) || !isfinite(y)) return false;
    if (dtype_is_half(d)) /* equal or neighbours */
        return fabs(x - y) <=
               (d == DT_F16 ? 0x1p-24 + 0x1p-10 * fabs(y) : 0x1p-52 + 0x1p-7 * fabs(y));
    double eps = d == DT_F32 ? 0x1p-23 : 0x1p-52;
    return fabs(x - y) <= eps * (1 + 8 * fabs(y));
}

static void compare(const char *engine, const char *line, int n_line, const ReplyValue *v,
                    const Inst *want) {
    const Attr *shape = inst_attr(want, ATTR_SHAPE);
    DType d = inst_attr(want, ATTR_DTYPE)->dtype;
    bool same = v->status == 0 && v->type.dtype == d && v->type.rank == shape->n &&
                v->bytes == want->payload_bytes;
    for (uint32_t i = 0; same && i < shape->n; i++) same = v->type.shape[i] == shape->ints[i];
    CHECK_MSG(same, "%s: %.*s: another type, or status %d", engine, n_line, line, v->status);
    if (!same) return;
    View got = {.type = {.dtype = (uint8_t)d}, .data = (void *)v->data};
    View expected = {.type = {.dtype = (uint8_t)d}, .data = (void *)want->payload};
    int64_t n = type_numel(&v->type);
    for (int64_t i = 0; i < n; i++) {
        bool fits = dtype_is_float(d) ? is_near(ref_float(&got, i), ref_float(&expected, i), d)
                                      : ref_int(&got, i) == ref_int(&expected, i);
        CHECK_MSG(fits, "%s: %.*s: element %lld is %.17g, not %.17g", engine,
                  n_line < 120 ? n_line : 120, line, (long long)i, ref_float(&got, i),
                  ref_float(&expected, i));
    }
}

/* Fetches the value of id; the reply is in *m. */
static bool fetch(Exec *x, uint64_t *seq, uint64_t id, Arena *arena, Msg *m, Reply *reply,
                  Failure *failure) {
    FrameWriter w = {.edge_id = UINT64_MAX};
    frame_begin(&w, 1, (*seq)++);
    frame_add(&w, &(Inst){.op = OP_FETCH, OPERANDS(of_tensor(id))});
    Msg frame = {0};
    frame_end(&w, &frame);
    exec_on_frame(x, &frame);
    while (exec_step(x, 1000)) {}
    bool got = false;
    while (exec_next(x, m)) {
        if (wire_kind(m) == MSG_ERROR) wire_read_failure(m, failure, NULL);
        if (wire_kind(m) == MSG_REPLY && (got = wire_read_reply(m, arena, reply, NULL))) break;
        msg_fini(m);
    }
    return got;
}

static void run(const char *engine, const char *text, size_t n, bool *seen) {
    Err err = {0};
    const EngineOps *ops = engine_find(engine);
    CHECK_MSG(ops != NULL, "there is no engine %s", engine);
    if (!ops) return;
    Exec *x = worker_exec(ops, &(EngineConfig){.memory_bytes = 64 << 20, .threads = 2}, &err);
    CHECK_MSG(x != NULL, "%s", err.text);
    Arena arena = {0};
    uint64_t seq = 0, last_out = 0;
    int k = 0;
    const char *last = "";
    int n_last = 0;
    for (const char *at = text, *end; at < text + n; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + n - at));
        if (!end) end = text + n;
        bool is_value = end - at > 2 && !strncmp(at, "#=", 2);
        InstLine line;
        arena_reset(&arena);
        char *copy = arena_printf(&arena, "%s%.*s", is_value ? "t0 =" : "",
                                  (int)(end - at - 2 * is_value), at + 2 * is_value);
        bool ok = inst_parse(copy, strlen(copy), &arena, &line, &err);
        CHECK_MSG(ok, "%s: %.100s", err.text, copy);
        if (!ok || line.is_empty) continue;
        if (is_value) {
            Msg m = {0};
            Reply reply = {0};
            Failure failure = {0};
            bool got = fetch(x, &seq, last_out + (uint64_t)k++, &arena, &m, &reply, &failure);
            CHECK_MSG(got, "%s: no reply", engine);
            if (failure.err.code)
                CHECK_MSG(0, "%s: %.*s: %s", engine, n_last, last, failure.err.text);
            if (got) compare(engine, last, n_last, &reply.value[0], &line.inst);
            msg_fini(&m);
            continue;
        }
        FrameWriter w = {.edge_id = UINT64_MAX};
        frame_begin(&w, 1, seq++);
        frame_add(&w, &line.inst);
        Msg m = {0};
        frame_end(&w, &m);
        exec_on_frame(x, &m);
        seen[line.inst.op] = true;
        last = at, n_last = (int)(end - at), last_out = line.inst.out[0], k = 0;
    }
    arena_fini(&arena);
    exec_free(&x);
}

int main(int argc, char **argv) {
    glob_t all = {0};
    if (argc == 1) glob("tests/golden/*.gti", 0, NULL, &all);
    char **paths = argc > 1 ? argv + 1 : all.gl_pathv;
    size_t n_paths = argc > 1 ? (size_t)argc - 1 : all.gl_pathc;
    bool seen[OP_COUNT] = {false};
    CHECK_MSG(n_paths > 0, "no golden values (run from the project's root)");
    for (size_t i = 0; i < n_paths; i++) {
        size_t n = 0;
        char *text = read_all(paths[i], &n);
        CHECK_MSG(text != NULL, "cannot read %s", paths[i]);
        if (!text) continue;
        run("reference", text, n, seen);
        run("cpu", text, n, seen);
        free(text);
    }
    /* functions_test checks that pointwise rows have PyTorch's values. */
    for (int op = 0; op < OP_COUNT && argc == 1; op++)
        if (op_info[op].class_ != CLASS_CONTROL && op_info[op].class_ != CLASS_MAP)
            CHECK_MSG(seen[op], "no golden value for %s", op_info[op].name);
    globfree(&all);
    return check_report("golden");
}
