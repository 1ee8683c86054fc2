/* exec_fuzz.c: hostile frames for workers. A valid instance of a row of the op table
 * (worker/prove/case.h) is encoded with its operands, the bytes of the frame are damaged, and
 * both engines execute it. It must not crash, read outside of its buffers, or leave anything behind
 * when the client is gone. Calls that would only take long (a view of four bytes may have 2^46
 * elements) do not reach the engine.
 * SPDX-License-Identifier: MIT */
#include "worker/prove/case.h"
#include "worker/ref/ref.h"
#include "worker/exec/exec.h"
#include "worker/worker.h"

#include "tests/fuzz/fuzz.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/wire.h"

#define MUST(x) ((x) ? (void)0 : panic("exec_fuzz: %s", #x))
enum { WORK_MAX = 1 << 22, SEED_BYTES = 30000 };

/* ---- An engine that refuses large calls ---- */

static EngineOps bounded_ops[2];
static const EngineOps *inner_ops[2];

static int64_t work_of(const Call *c) {
    int64_t most = 1;
    for (int i = 0; i < c->n_in + c->n_out; i++) {
        const View *v = i < c->n_in ? &c->in[i] : &c->out[i - c->n_in];
        int64_t n = type_numel(&v->type);
        if (n > most) most = n;
    }
    if (c->inst->op != OP_MATMUL || most > WORK_MAX) return most;
    const TensorType *a = &c->in[0].type;
    return type_numel(&c->out[0].type) * (a->shape[a->rank - 1] + 1);
}

static int index_of(const Engine *e) { return e->ops == inner_ops[1]; }

/* Refused calls get a ticket that engines never return. */
static Ticket bounded_submit(Engine *e, const Call *c, const Ticket *after, int n) {
    if (work_of(c) > WORK_MAX) return UINT64_MAX;
    return inner_ops[index_of(e)]->submit(e, c, after, n);
}
static int bounded_done(Engine *e, Ticket t, bool wait, Err *err) {
    if (t != UINT64_MAX) return inner_ops[index_of(e)]->done(e, t, wait, err);
    err_set(err, ERR_LIMIT, "too much work");
    return -1;
}

static Exec *exec_of(int k) {
    static Exec *exec[2];
    if (exec[k]) return exec[k];
    inner_ops[k] = engine_find(k ? "cpu" : "reference");
    bounded_ops[k] = *inner_ops[k];
    bounded_ops[k].submit = bounded_submit;
    bounded_ops[k].done = bounded_done;
    Err err = {0};
    EngineConfig config = {.memory_bytes = 16 << 20, .threads = 2};
    exec[k] = worker_exec(&bounded_ops[k], &config, &err);
    MUST(exec[k]);
    return exec[k];
}

static void drain(Exec *x) {
    while (exec_step(x, 100000)) {}
    Msg m = {0};
    while (exec_next(x, &m)) msg_fini(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    for (int k = 0; k < 2; k++) {
        Exec *x = exec_of(k);
        Msg m = {0};
        msg_push(&m, buf_copy(data, n));
        if (n >= 32) { /* a transport delivers correct lengths and client ids */
            uint32_t client = 1, body = (uint32_t)(n - 32);
            m.part[0]->data[0] = MSG_FRAME;
            memcpy(m.part[0]->data + 4, &client, 4);
            memcpy(m.part[0]->data + 20, &body, 4);
        }
        exec_on_frame(x, &m);
        drain(x);
        exec_on_gone(x, 1);
        drain(x);
        uint64_t used, peak, total;
        inner_ops[k]->memory(exec_engine(x), &used, &peak, &total);
        MUST(used == 0);
        MUST(!x->clients && !x->first && x->store.n_storages == 0);
    }
    return 0;
}

/* ---- Valid frames ---- */

static bool add_case(FrameWriter *w, Op op, DType d, Rand *r, uint64_t *id) {
    Case c;
    case_make(&c, op, d, (Style)rand_below(r, 3), rand_u64(r));
    int n_out;
    Err err = {0};
    uint64_t bytes = 0;
    for (int i = 0; i < c.inst.n_in; i++)
        if (!c.arg[i].is_imm) bytes += type_bytes(&c.type[i]);
    bool ok = bytes < SEED_BYTES && inst_infer(&c.inst, c.type, c.out, &n_out, &err);
    for (int i = 0; i < c.inst.n_in && ok; i++) {
        if (c.arg[i].is_imm) continue;
        View v = c.arg[i].view;
        v.data = c.arg[i].base + c.arg[i].offset * dtype_info[v.type.dtype].size_bytes;
        char *plain = xmalloc(type_bytes(&v.type) + 1);
        ref_copy(&v, plain);
        Attr attr[] = {{.key = ATTR_SHAPE, .n = v.type.rank, .ints = v.type.shape},
                       {.key = ATTR_DTYPE, .dtype = (DType)v.type.dtype}};
        Inst in = {.op = OP_DATA, .n_attr = 2, .attr = attr, .n_out = 1, .out = {++*id}};
        in.payload = plain;
        in.payload_bytes = type_bytes(&v.type);
        frame_add(w, &in);
        free(plain);
        c.in[i].id = *id;
    }
    if (ok) {
        for (int k = 0; k < c.inst.n_out; k++) c.inst.out[k] = ++*id;
        frame_add(w, &c.inst);
        Operand out = {.kind = IN_TENSOR, .id = c.inst.out[0]};
        frame_add(w, &(Inst){.op = OP_FETCH, .n_in = 1, .in = &out});
        if (rand_below(r, 2)) frame_add(w, &(Inst){.op = OP_FREE, .n_in = 1, .in = &out});
    }
    case_free(&c);
    return ok;
}

static void fuzz_seed(Rand *r, Bytes *out) {
    FrameWriter w = {.edge_id = UINT64_MAX};
    frame_begin(&w, 1, 0);
    uint64_t id = 0;
    for (int tries = 0, made = 0; tries < 20 && made < 3; tries++) {
        Op op = (Op)rand_below(r, OP_COUNT);
        if (!case_has(op)) continue;
        DType d = (DType)rand_below(r, DT_COUNT);
        if (op_info[op].in & DSET(d) && frame_bytes(&w) < SEED_BYTES)
            made += add_case(&w, op, d, r, &id);
    }
    Msg m = {0};
    frame_end(&w, &m);
    bytes_add(out, m.part[0]->data, m.part[0]->n);
    msg_fini(&m);
}
