/* dispatcher_fuzz.c: random events for the dispatcher's step function: valid clients (with signals,
 * copies, large data, loops with hot bodies), sloppy and hostile ones, and workers that join, send
 * wrong messages and leave. A model of each worker (dispatcher_model.h) reads what the dispatcher
 * sends: every frame must decode, and each rank of an instruction must be able to execute it, with
 * operands that exist and fit. When a client has freed all its tensors, no worker may hold any of
 * them; when all have left, nothing may be left at all. With libFuzzer: build with -DLIBFUZZER
 * -fsanitize=fuzzer. Else: dispatcher_fuzz [-n RUNS] [-s SEED] [-v] [FILE ...]; -v: print how often
 * each operation was split.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/cluster_words.h"
#include "dispatcher/state/state.h"
#include "tests/fuzz/dispatcher_model.h"
#include "tests/unit/random_inst.h"
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { CLIENTS = 4, WORKERS = 4, FIRST_WORKER = 100, KNOWN = 24, LARGE = 1 << 17 };

typedef struct Known {
    uint64_t id;
    TensorType type;
} Known;

/* A client that the fuzzer plays. */
typedef struct Player {
    PeerId peer;
    bool is_there, is_messy; /* messy: it may have sent other things than recorded here */
    uint32_t id;
    uint64_t seq, next_id;
    Known known[KNOWN]; /* some of its tensors: the last ones, in a ring */
    uint64_t n_known;
    uint64_t *made; /* all ids that it has given to results */
    size_t n_made, cap_made;
} Player;

typedef struct World {
    const uint8_t *at, *end;
    Dispatcher *d;
    Player player[CLIENTS];
    ModelWorker worker[WORKERS];
    PeerId last_peer;
    PeerId listener; /* a program that watches; 0: none */
    uint64_t heard;  /* bytes that it has not acknowledged */
    Arena arena;
} World;

static int byte(World *w) { return w->at < w->end ? *w->at++ : 0; }

static void deliver(World *w) {
    PeerId to;
    Msg m;
    bool drop;
    while (dispatcher_next(w->d, &to, &m, &drop)) {
        for (int k = 0; k < WORKERS; k++)
            if (w->worker[k].peer == to) model_hears(&w->worker[k], &m);
        if (w->listener == to) {
            w->heard += msg_bytes(&m);
            MUST(w->heard <= 2 * LISTEN_BYTES);
            if (drop) w->listener = 0;
        }
        for (int k = 0; k < CLIENTS; k++) {
            Welcome welcome;
            Player *p = &w->player[k];
            if (p->peer != to || !p->is_there) continue;
            if (wire_kind(&m) == MSG_WELCOME && wire_read_welcome(&m, &welcome, NULL))
                p->id = welcome.id;
            if (drop) p->is_there = false;
        }
        msg_fini(&m);
    }
}

/* Continues frames that are taken in slices until they end. */
static void take_all(World *w) {
    while (dispatcher_go_on(w->d)) deliver(w);
    deliver(w);
}

/* Passes *m, from this peer, to the dispatcher, and its answers to the peers. */
static void on_message(World *w, PeerId from, Msg *m) {
    dispatcher_on_message(w->d, from, m, 0);
    deliver(w);
}

/* ---- Events ---- */

static void hello(World *w, PeerId peer, Role role, bool is_right) {
    Hello h = {.version = WIRE_VERSION,
               .table_hash = op_table_hash() + !is_right,
               .role = (uint8_t)role,
               .name = "fuzz"};
    Msg m;
    wire_hello(&h, &m);
    on_message(w, peer, &m);
}

/* ---- Sane instructions ---- */

/* One instruction under construction, with memory for its parts. */
typedef struct Maker {
    Inst inst;
    Operand in[5];
    TensorType type[5];
    Attr attr[6];
    int64_t ints[4][MAX_DIMS];
    Msg payload;
} Maker;

static Attr *put_attr(Maker *k, AttrKey key) {
    Attr *a = &k->attr[k->inst.n_attr++];
    *a = (Attr){.key = (uint8_t)key};
    return a;
}

static void put_list(Maker *k, AttrKey key, int room, const int64_t *v, int n) {
    Attr *a = put_attr(k, key);
    if (n) memcpy(k->ints[room], v, (size_t)n * sizeof *v);
    a->n = (uint32_t)n, a->ints = k->ints[room];
}

static void put_name(World *w, Maker *k, AttrKey key) {
    static const char *const names[] = {"a", "b", "c", "d", "*"};
    Attr *a = put_attr(k, key);
    a->str = names[byte(w) % 5], a->n = 1;
}

/* Usually a tensor that the player has; false: it has none. */
static bool put_operand(World *w, Player *p, Maker *k) {
    uint64_t n = p->n_known < KNOWN ? p->n_known : KNOWN;
    if (n == 0) return false;
    const Known *t = &p->known[(p->n_known - 1 - (uint64_t)byte(w) % n) % KNOWN];
    k->type[k->inst.n_in] = t->type;
    k->in[k->inst.n_in++] = (Operand){.kind = IN_TENSOR, .id = t->id};
    return true;
}

/* Another tensor of the same shape and dtype, if there is one. */
static void put_like(Player *p, Maker *k) {
    uint64_t n = p->n_known < KNOWN ? p->n_known : KNOWN;
    const TensorType *want = &k->type[0];
    for (uint64_t i = 0; i < n; i++) {
        const Known *t = &p->known[(p->n_known - 1 - i) % KNOWN];
        if (!type_equal(&t->type, want) || t->id == k->in[0].id) continue;
        k->type[k->inst.n_in] = t->type;
        k->in[k->inst.n_in++] = (Operand){.kind = IN_TENSOR, .id = t->id};
        return;
    }
    k->type[k->inst.n_in] = *want;
    k->in[k->inst.n_in++] = k->in[0];
}

static int random_shape(World *w, int64_t shape[MAX_DIMS]) {
    static const int64_t extents[] = {8, 4, 6, 1, 5, 8, 2, 4};
    int how = byte(w), rank = 1 + how % 3;
    if (how == 255) return shape[0] = 1024, shape[1] = 512, 2; /* born at the place of "*" */
    if (how == 254) return shape[0] = 0, shape[1] = 4, 2;
    for (int i = 0; i < rank; i++) shape[i] = extents[byte(w) % 8];
    return rank;
}

static void make_source(World *w, Maker *k) {
    static const int64_t rng[] = {1, 2};
    static uint8_t zeros[LARGE];
    int64_t shape[MAX_DIMS];
    int how = byte(w) % 16, rank = random_shape(w, shape);
    if (how == 15) shape[0] = byte(w) % 4 ? 4 : 300, shape[1] = byte(w) % 4 ? 4 : 100, rank = 2;
    put_list(k, ATTR_SHAPE, 0, shape, rank);
    put_attr(k, ATTR_DTYPE)->dtype = DT_F32;
    k->inst.op = how < 6 ? OP_FULL : how < 13 ? OP_RANDN : OP_DATA;
    if (k->inst.op == OP_FULL) {
        k->inst.n_in = 1;
        k->in[0] = (Operand){.kind = IN_IMM_INT, .i = how & 1};
    } else if (k->inst.op == OP_RANDN) {
        put_list(k, ATTR_RNG, 1, rng, 2);
    } else {
        TensorType t = {.dtype = DT_F32, .rank = (uint8_t)rank};
        memcpy(t.shape, shape, sizeof t.shape);
        k->inst.payload_bytes = type_bytes(&t);
        if (k->inst.payload_bytes > LARGE) k->inst.op = OP_RANDN, k->inst.payload_bytes = 0;
        if (k->inst.payload_bytes) k->inst.payload = zeros;
        if (k->inst.op == OP_RANDN) put_list(k, ATTR_RNG, 1, rng, 2);
    }
}

static void make_map(World *w, Player *p, Maker *k) {
    static const Op two[] = {OP_ADD, OP_MUL, OP_SUB, OP_DIV, OP_MAXIMUM, OP_ADD};
    static const Op one[] = {OP_NEG, OP_EXP, OP_RELU, OP_SQUARE};
    int how = byte(w);
    if (!put_operand(w, p, k)) return;
    k->inst.op = how % 3 ? two[how / 3 % 6] : one[how / 3 % 4];
    if (how % 3 == 0) return;
    if (how % 3 == 1)
        put_like(p, k);
    else if (how & 64)
        k->in[k->inst.n_in++] = (Operand){.kind = IN_IMM_FLOAT, .f = 2};
    else
        put_operand(w, p, k);
    if (how & 128) put_attr(k, ATTR_KEEP)->b = true;
}

static void make_slice(World *w, Player *p, Maker *k) {
    if (!put_operand(w, p, k)) return;
    const TensorType *t = &k->type[0];
    int64_t start[MAX_DIMS], size[MAX_DIMS], step[MAX_DIMS];
    for (int i = 0; i < t->rank; i++) {
        int64_t n = t->shape[i];
        start[i] = n ? byte(w) % n : 0, step[i] = 1 + byte(w) % 2;
        int64_t most = n ? (n - start[i] + step[i] - 1) / step[i] : 0;
        size[i] = byte(w) % 2 || !most ? most : 1 + byte(w) % most;
        if (byte(w) % 2) start[i] = 0, step[i] = 1, size[i] = n;
    }
    k->inst.op = byte(w) % 3 ? OP_SLICE : OP_SLICE_PUT;
    if (k->inst.op == OP_SLICE_PUT) {
        int64_t all = byte(w) % 2;
        put_operand(w, p, k);
        for (int i = 0; all && i < t->rank; i++) start[i] = 0, step[i] = 1, size[i] = t->shape[i];
    }
    put_list(k, ATTR_START, 0, start, t->rank);
    put_list(k, ATTR_SIZE, 1, size, t->rank);
    put_list(k, ATTR_STEP, 2, step, t->rank);
}

static void make_view(World *w, Player *p, Maker *k) {
    if (!put_operand(w, p, k)) return;
    const TensorType *t = &k->type[0];
    int64_t list[MAX_DIMS];
    int how = byte(w) % 3;
    if (how == 0) {
        int turn = byte(w);
        k->inst.op = OP_PERMUTE;
        for (int i = 0; i < t->rank; i++) list[i] = (i + turn) % t->rank;
        put_list(k, ATTR_AXES, 0, list, t->rank);
    } else if (how == 1) {
        int64_t n = type_numel(t), d = 1 + byte(w) % 4;
        int rank = 0;
        k->inst.op = OP_RESHAPE;
        if (n % d == 0) list[rank++] = d, n /= d;
        list[rank++] = n;
        put_list(k, ATTR_SHAPE, 0, list, rank);
    } else {
        int rank = 0;
        k->inst.op = OP_EXPAND;
        if (t->rank < 3 && byte(w) % 2) list[rank++] = 2;
        for (int i = 0; i < t->rank; i++)
            list[rank++] = t->shape[i] == 1 ? 1 + byte(w) % 4 : t->shape[i];
        put_list(k, ATTR_SHAPE, 0, list, rank);
    }
}

static void make_kernel(World *w, Player *p, Maker *k) {
    static const Op reduce[] = {OP_SUM, OP_MAX, OP_SUM, OP_PROD};
    if (!put_operand(w, p, k)) return;
    const TensorType *t = &k->type[0];
    int how = byte(w);
    int64_t axis = t->rank ? how / 8 % t->rank : 0;
    switch (how % 8) {
    case 0:
    case 1:
        k->inst.op = reduce[how / 64];
        if (how & 8) put_list(k, ATTR_AXIS, 0, &axis, 1);
        if (how & 16) put_attr(k, ATTR_KEEPDIMS)->b = true;
        break;
    case 2:
    case 3:
        k->inst.op = OP_MATMUL;
        put_operand(w, p, k);
        break;
    case 4:
        k->inst.op = OP_CAT;
        put_like(p, k), put_like(p, k);
        put_list(k, ATTR_AXIS, 0, &axis, 1);
        break;
    case 5:
        k->inst.op = how & 64 ? OP_CUMSUM : how & 128 ? OP_SORT : OP_ARGMAX;
        put_list(k, ATTR_AXIS, 0, &axis, 1);
        break;
    case 6:
        k->inst.op = OP_RANDN; /* as a model tensor */
        put_list(k, ATTR_RNG, 0, (int64_t[]){1, how}, 2);
        break;
    default: k->inst.op = OP_SHARD; put_name(w, k, ATTR_NAME);
    }
}

/* Adds a known tensor of this rank (-1: any) and dtype as operand; false: there is none. */
static bool put_fitting(World *w, Player *p, Maker *k, int rank, DType dtype) {
    uint64_t n = p->n_known < KNOWN ? p->n_known : KNOWN, from = (uint64_t)byte(w);
    for (uint64_t i = 0; i < n; i++) {
        const Known *t = &p->known[(p->n_known - 1 - (from + i) % n) % KNOWN];
        if ((rank >= 0 && t->type.rank != rank) || t->type.dtype != dtype) continue;
        k->type[k->inst.n_in] = t->type;
        k->in[k->inst.n_in++] = (Operand){.kind = IN_TENSOR, .id = t->id};
        return true;
    }
    return false;
}

/* Emits a source of the given kind in place of an instruction whose operand is missing. */
static void make_other(World *w, Maker *k, int rank, DType dtype) {
    static const int64_t rng[] = {3, 4};
    int64_t shape[MAX_DIMS];
    for (int i = 0; i < rank; i++) shape[i] = 1 + byte(w) % 8;
    if (rank == 2 && byte(w) % 2) shape[1] = shape[0];
    k->inst = (Inst){.op = OP_RANDN, .in = k->in, .attr = k->attr};
    put_list(k, ATTR_SHAPE, 0, shape, rank);
    put_attr(k, ATTR_DTYPE)->dtype = dtype;
    put_list(k, ATTR_RNG, 1, rng, 2);
    if (dtype == DT_F32) return;
    k->inst.op = OP_RANDINT, k->inst.n_in = 2;
    k->in[0] = (Operand){.kind = IN_IMM_INT, .i = 0};
    k->in[1] = (Operand){.kind = IN_IMM_INT, .i = 4};
}

/* Kernels with special layout rules. */
static void make_hard(World *w, Player *p, Maker *k) {
    static const Op by_index[] = {OP_INDEX,       OP_INDEX_PUT,      OP_GATHER,
                                  OP_SCATTER_ADD, OP_SCATTER_REDUCE, OP_INDEX_PUT};
    static const Op along[] = {OP_TOPK, OP_CUMMAX, OP_ARGSORT, OP_ARGMIN};
    static const Op matrix[] = {OP_CHOLESKY, OP_LU, OP_SOLVE_TRIANGULAR, OP_SOLVE, OP_EIGH};
    int how = byte(w), more = byte(w), rank;
    switch (how % 8) {
    case 0:
    case 1:
    case 2:
        if (!put_fitting(w, p, k, -1, DT_F32)) return;
        k->inst.op = by_index[more % 6];
        rank = k->type[0].rank;
        if (k->inst.op == OP_INDEX_PUT) put_fitting(w, p, k, -1, DT_F32);
        bool is_same = k->inst.op != OP_INDEX && k->inst.op != OP_INDEX_PUT;
        for (int i = more & 64 && !is_same && rank > 1; i >= 0; i--)
            if (!put_fitting(w, p, k, is_same ? rank : -1, DT_I64)) {
                make_other(w, k, is_same ? rank : 1 + byte(w) % 2, DT_I64);
                return;
            }
        if (k->inst.op == OP_SCATTER_ADD || k->inst.op == OP_SCATTER_REDUCE)
            put_fitting(w, p, k, rank, DT_F32);
        put_list(k, ATTR_AXIS, 0, (int64_t[]){rank ? more / 8 % rank : 0}, 1);
        if (more & 128) put_attr(k, ATTR_ACCUMULATE)->b = true;
        if (k->inst.op == OP_SCATTER_REDUCE)
            *put_attr(k, ATTR_REDUCE) = (Attr){.key = ATTR_REDUCE, .n = 4, .str = "amax"};
        break;
    case 3:
        if (!put_operand(w, p, k)) return;
        rank = k->type[0].rank;
        k->inst.op = along[more % 4];
        put_list(k, ATTR_AXIS, 0, (int64_t[]){rank ? more / 8 % rank : 0}, 1);
        if (k->inst.op == OP_TOPK) put_attr(k, ATTR_K)->i = 1 + more / 64;
        if (k->inst.op == OP_ARGMIN && more & 128) put_attr(k, ATTR_KEEPDIMS)->b = true;
        break;
    case 4:
        if (!put_fitting(w, p, k, 2 + more % 2, DT_F32)) return;
        k->inst.op = matrix[more / 2 % 5];
        if (k->inst.op == OP_SOLVE_TRIANGULAR) put_fitting(w, p, k, 2 + more / 8 % 2, DT_F32);
        if (k->inst.op != OP_SOLVE) break;
        for (int i = 0; i < 2; i++) put_fitting(w, p, k, 2 + more / 8 % 2, DT_F32);
        if (!put_fitting(w, p, k, -1, DT_I64)) make_other(w, k, 1 + more / 16 % 2, DT_I64);
        break;
    case 5:
        if (!put_operand(w, p, k)) return;
        k->inst.op = more % 2 ? OP_RECURRENCE : OP_SEARCHSORTED;
        rank = k->type[0].rank;
        put_like(p, k);
        if (more & 64) k->inst.n_in = 1, put_operand(w, p, k);
        if (more % 2) put_list(k, ATTR_AXIS, 0, (int64_t[]){rank ? more / 8 % rank : 0}, 1);
        break;
    case 6:
        if (!put_fitting(w, p, k, 3, DT_F32) || !put_fitting(w, p, k, 3, DT_F32)) {
            make_other(w, k, 3, DT_F32);
            return;
        }
        k->inst.op = more % 4 == 0 ? OP_CONV_DX : more % 4 == 1 ? OP_CONV_DW : OP_CONV;
        put_attr(k, ATTR_GROUPS)->i = 1 + more / 16 % 2;
        put_list(k, ATTR_PADDING, 0, (int64_t[]){more / 32}, 1);
        if (k->inst.op == OP_CONV) break;
        put_list(k, ATTR_SHAPE, 1,
                 (int64_t[]){k->inst.op == OP_CONV_DX ? k->type[0].shape[0] : k->type[1].shape[1],
                             k->type[more % 4].rank ? k->type[0].shape[1] : 1, 1 + byte(w) % 6},
                 3);
        break;
    default:
        if (!put_fitting(w, p, k, 3, DT_F32)) {
            make_other(w, k, 3, DT_F32);
            return;
        }
        k->inst.op = more % 2 ? OP_MAX_POOL : OP_AVG_POOL;
        put_list(k, ATTR_KERNEL, 0, (int64_t[]){1 + more / 8 % 3, 1 + more / 32 % 3},
                 1 + more / 2 % 2);
    }
}

static void make_control(World *w, Player *p, Maker *k, int how) {
    int64_t list[WORKERS];
    int n = 0;
    Op ops[] = {OP_SIGNAL_DEFINE, OP_SIGNAL_ENTER, OP_SIGNAL_ENTER,  OP_SIGNAL_EXIT,
                OP_EDGE,          OP_SYNC,         OP_FETCH,         OP_PRINT,
                OP_FREE,          OP_FREE,         OP_FREE,          OP_FREE,
                OP_FREE,          OP_SIGNAL_EXIT,  OP_SIGNAL_DEFINE, OP_CHECK};
    k->inst.op = ops[how];
    switch (k->inst.op) {
    case OP_SIGNAL_DEFINE:
        put_name(w, k, ATTR_NAME);
        for (int i = byte(w), tries = i / 8 % 5; tries-- > 0; i = byte(w)) {
            bool is_new = true;
            for (int j = 0; j < n; j++) is_new = is_new && list[j] != i % WORKERS;
            if (is_new) list[n++] = i % WORKERS;
        }
        if (n) put_list(k, ATTR_WORKERS, 0, list, n);
        list[0] = byte(w) % 4 - 1;
        if (byte(w) % 4)
            put_list(k, ATTR_AXIS, 1, list, 1);
        else
            put_attr(k, ATTR_REPLICATED)->b = true;
        break;
    case OP_SIGNAL_ENTER: put_name(w, k, ATTR_NAME); break;
    case OP_SIGNAL_EXIT:
        if (byte(w) % 2) put_name(w, k, ATTR_NAME);
        break;
    case OP_CHECK: put_attr(k, ATTR_NAN)->b = byte(w) % 2; break;
    case OP_FETCH: put_operand(w, p, k); break;
    case OP_PRINT: {
        Attr *a = put_attr(k, ATTR_FORMAT);
        a->str = "{}{}{}", a->n = 6;
        for (int i = 0; i < 3; i++) put_operand(w, p, k);
        break;
    }
    case OP_FREE:
        for (int i = byte(w) % 3; i >= 0; i--) put_operand(w, p, k);
        break;
    default: break;
    }
}

static void name_results(Player *p, Inst *in, int n_out) {
    in->n_out = (uint8_t)n_out;
    for (int i = 0; i < n_out; i++) in->out[i] = p->next_id++;
}

static void note_made(Player *p, const Inst *in) {
    for (int i = 0; i < in->n_out; i++) {
        if (p->n_made == p->cap_made) {
            p->cap_made = p->cap_made ? 2 * p->cap_made : 64;
            p->made = xrealloc(p->made, p->cap_made * sizeof p->made[0]);
        }
        p->made[p->n_made++] = in->out[i];
    }
}

static void sane_inst(World *w, Player *p, FrameWriter *f) {
    Maker k = {0};
    TensorType out[MAX_OUT];
    int n_out = 0, how = byte(w) % 20;
    k.inst.op = OP_EDGE;
    k.inst.in = k.in, k.inst.attr = k.attr;
    uint64_t at = p->seq + f->count;
    if (at < 4) /* two definitions and two scopes: later instructions mostly stay in them */
        make_control(w, p, &k, at < 2 ? 0 : 1);
    else if (how < 3)
        make_source(w, &k);
    else if (how < 7)
        make_map(w, p, &k);
    else if (how < 8)
        make_slice(w, p, &k);
    else if (how < 9)
        make_view(w, p, &k);
    else if (how < 12)
        make_kernel(w, p, &k);
    else if (how < 15)
        make_hard(w, p, &k);
    else
        make_control(w, p, &k, byte(w) % 16);
    if (byte(w) % 64 == 0 && !inst_attr(&k.inst, ATTR_KEEP)) put_attr(&k, ATTR_KEEP)->b = true;
    bool is_control = op_info[k.inst.op].class_ == CLASS_CONTROL && k.inst.op != OP_SHARD;
    bool fits = inst_infer(&k.inst, k.type, out, &n_out, NULL);
    if (!fits && byte(w) % 8) return;
    if (!fits) n_out = is_control ? 0 : op_outputs(k.inst.op);
    name_results(p, &k.inst, n_out);
    for (int i = 0; fits && i < n_out; i++)
        p->known[p->n_known++ % KNOWN] = (Known){k.inst.out[i], out[i]};
    note_made(p, &k.inst);
    frame_add(f, &k.inst);
}

static void wild_inst(World *w, Player *p, FrameWriter *f) {
    Rand r = {(uint64_t)byte(w) << 8 | (uint64_t)byte(w)};
    Inst in = rand_inst(&r, &w->arena);
    if (in.n_out && byte(w) % 4) { /* an unused id, so that the other fields are checked */
        for (int i = 0; i < in.n_out; i++) in.out[i] = p->next_id++;
    } else if (in.n_out && in.out[0] < UINT64_MAX / 2 && in.out[0] + 2 > p->next_id) {
        p->next_id = in.out[0] + 2;
    }
    note_made(p, &in);
    frame_add(f, &in);
}

static void frame(World *w, Player *p) {
    FrameWriter f = {0};
    int how = byte(w), n = byte(w) % 24;
    frame_begin(&f, how & 1 ? p->id : 7, p->seq + (how % 64 == 63));
    for (int i = 0; i < n && w->at < w->end && !frame_is_full(&f); i++) {
        if (byte(w) % 64)
            sane_inst(w, p, &f);
        else
            wild_inst(w, p, &f);
    }
    p->seq += f.count;
    Msg m;
    frame_end(&f, &m);
    Buf *b = m.part[0];
    bool is_messy = (how & 62) == 62;
    p->is_messy = p->is_messy || is_messy;
    for (int i = 0; is_messy && i < 3 && b->n; i++)
        b->data[(size_t)(byte(w) << 8 | byte(w)) % b->n] ^= (uint8_t)(1 << byte(w) % 8);
    on_message(w, p->peer, &m);
}

/* A loop: its instructions in full, iteration by iteration, with or without edges, mixed with other
 * instructions. */
typedef struct Round {
    int n, how[6];
    bool has_edges;
    uint64_t from; /* a tensor of any shape */
} Round;

static void round_inst(Player *p, FrameWriter *f, const Round *l, int i, uint64_t first) {
    static const Op ops[] = {OP_NEG, OP_SQUARE, OP_ADD, OP_MUL, OP_RELU, OP_MAXIMUM};
    uint64_t last = p->next_id > first ? p->next_id - 1 : l->from;
    Operand o[2] = {{.kind = IN_TENSOR, .id = last}, {.kind = IN_TENSOR, .id = l->from}};
    Inst in = {.op = ops[l->how[i] % 6], .n_in = 1, .in = o, .pos = {.line = (uint32_t)i}};
    if (in.op == OP_ADD || in.op == OP_MUL || in.op == OP_MAXIMUM) in.n_in = 2;
    if (l->how[i] & 64) o[1] = (Operand){.kind = IN_IMM_INT, .i = l->how[i] >> 2 & 15};
    name_results(p, &in, 1);
    note_made(p, &in);
    frame_add(f, &in);
}

static void flush(World *w, Player *p, FrameWriter *f) {
    Msg m;
    if (!f->head) return;
    p->seq += f->count;
    frame_end(f, &m);
    on_message(w, p->peer, &m);
}

/* Acknowledges everything, so that the window is no limit. */
static void settle(World *w, const Player *p) {
    Msg m;
    for (int k = 0; k < WORKERS && p->is_there; k++) {
        if (!w->worker[k].peer) continue;
        wire_ack(&(Ack){.client = p->id, .seq = w->worker[k].sent[p->id]}, &m);
        on_message(w, w->worker[k].peer, &m);
    }
}

static void loop(World *w, Player *p) {
    FrameWriter f = {0};
    Round l = {.n = 1 + byte(w) % 6, .has_edges = byte(w) % 2};
    if (!p->n_known) return;
    l.from = p->known[(p->n_known - 1) % KNOWN].id;
    for (int i = 0; i < l.n; i++) l.how[i] = byte(w);
    int rounds = byte(w) * 4, noise = byte(w);
    for (int k = 0; k < rounds && p->is_there; k++) {
        uint64_t first = p->next_id;
        for (int i = 0; i <= l.n + l.has_edges; i++) {
            Operand dead[6];
            Inst in = {.op = i > l.n ? OP_EDGE : OP_FREE, .in = dead};
            bool is_noisy = noise > 200 && k % 32 == 31 && byte(w) % 4 == 0;
            if (frame_is_full(&f)) flush(w, p, &f);
            if (!f.head) frame_begin(&f, p->id, p->seq);
            if (is_noisy) {
                if (noise > 250 && byte(w) % 8 == 0)
                    wild_inst(w, p, &f);
                else
                    sane_inst(w, p, &f);
                flush(w, p, &f);
                frame_begin(&f, p->id, p->seq);
            }
            for (uint64_t id = first; i == l.n && in.n_in < 6 && id < p->next_id; id++)
                dead[in.n_in++] = (Operand){.kind = IN_TENSOR, .id = id};
            if (i < l.n)
                round_inst(p, &f, &l, i, first);
            else
                frame_add(&f, &in);
            if (i > l.n) frame_edge(&f, p->next_id);
        }
        if (k % 64 == 0) settle(w, p);
    }
    flush(w, p, &f);
}

/* Returns true if the message was BYE. */
static bool garbage(World *w, PeerId from) {
    int n = byte(w) % 64;
    Msg m = {0};
    Buf *b = buf_new((size_t)n + 1);
    for (int i = 0; i < n; i++) b->data[b->n++] = (uint8_t)byte(w);
    msg_push(&m, b);
    if (byte(w) % 4 == 0) msg_push(&m, buf_new(0));
    bool is_bye = wire_kind(&m) == MSG_BYE;
    on_message(w, from, &m);
    return is_bye;
}

static void on_worker_message(World *w, const ModelWorker *from) {
    Msg m;
    uint32_t client = (uint32_t)byte(w) % 8;
    if (byte(w) % 4) client = w->player[byte(w) % CLIENTS].id;
    uint64_t seq = from->sent[client] - (uint64_t)byte(w) % 32;
    if (byte(w) % 8 == 0) seq = (uint64_t)byte(w) << byte(w) % 64;
    ReplyValue v = {.status = ERR_INDEX};
    Reply r = {.client = client, .seq = seq, .n = byte(w) % 2, .value = &v};
    Failure f = {.client = client, .seq = seq};
    TimeRow row = {.begin_ns = (int64_t)((uint64_t)byte(w) << 56), .ns = UINT64_MAX, .n_out = 1};
    switch (byte(w) % 10) {
    case 0: wire_ack(&(Ack){.client = client, .seq = seq}, &m); break;
    case 5:
    case 6: wire_ack(&(Ack){.client = client, .seq = from->sent[client]}, &m); break;
    case 1: wire_reply(&r, NULL, &m); break;
    case 2: wire_failure(&f, &m); break;
    case 3: wire_times(&(Times){.n = 1, .now_ns = INT64_MIN, .row = &row}, &m); break;
    case 4: wire_peer_hello(&(PeerHello){1, 2}, &m); break;
    case 8:
        wire_times(&(Times){.n = 1, .is_past = true, .is_end = byte(w) % 2, .row = &row}, &m);
        break;
    case 9:
        wire_usage(&(Usage){.now_ns = 1, .n = 1, .op = &(OpUsage){.op = OP_ADD, .ns = 1}}, &m);
        break;
    default: wire_text(MSG_STATS_REPLY, "a=1\nb=2", 7, &m);
    }
    on_message(w, from->peer, &m);
}

static void worker_event(World *w) {
    ModelWorker *worker = &w->worker[byte(w) % WORKERS];
    int what = byte(w) % 64;
    if (!worker->peer) {
        worker->peer = FIRST_WORKER + ++w->last_peer;
        hello(w, worker->peer, ROLE_WORKER, true);
    } else if (what < 2) {
        PeerId peer = worker->peer;
        if (what == 1 && !garbage(w, peer)) return;
        model_free(worker);
        dispatcher_on_gone(w->d, peer, 0);
        deliver(w);
    } else {
        on_worker_message(w, worker);
    }
}

/* A program that watches: its requests, right and wrong. */
static void listener_event(World *w) {
    Msg m;
    int what = byte(w);
    Listen ask = {.client = (uint32_t)byte(w) % 8, .verb = (uint8_t)(what % LISTEN_VERBS)};
    if (!w->listener) {
        w->listener = FIRST_WORKER + ++w->last_peer;
        w->heard = 0;
        hello(w, w->listener, ROLE_WATCHER, what % 16 != 0);
    } else if (what < 160) {
        ask.past_ms = ask.verb == LISTEN_PAST ? 1000 : 0;
        wire_listen(&ask, &m);
        on_message(w, w->listener, &m);
    } else if (what < 240) {
        wire_credit(&(Credit){0, w->heard + (what >= 230)}, &m);
        if (what < 230) w->heard = 0;
        on_message(w, w->listener, &m);
    } else if (what > 245 || garbage(w, w->listener)) {
        PeerId gone = w->listener;
        w->listener = 0;
        dispatcher_on_gone(w->d, gone, 0);
        deliver(w);
    }
}

static void player_event(World *w, Player *p) {
    Msg m;
    int what = byte(w);
    if (!p->is_there) {
        free(p->made);
        *p = (Player){.peer = FIRST_WORKER + ++w->last_peer, .is_there = true};
        hello(w, p->peer, ROLE_CLIENT, what % 16 != 0);
        return;
    }
    switch (what % 32) {
    case 0:
        p->is_there = false;
        dispatcher_on_gone(w->d, p->peer, 0);
        deliver(w);
        break;
    case 1: p->is_there = !garbage(w, p->peer) && p->is_there; break;
    case 2: { /* nothing, "profile" or "profile on" */
        static const size_t bytes[] = {0, 7, 10};
        wire_text(MSG_STATS, "profile on", bytes[byte(w) % 3], &m), on_message(w, p->peer, &m);
        break;
    }
    case 3:
        wire_cancel(&(Cancel){.client = 3, .seq = p->seq}, &m), on_message(w, p->peer, &m);
        break;
    case 4: wire_text(MSG_BYE, "", 0, &m), p->is_there = false, on_message(w, p->peer, &m); break;
    case 5:
    case 6: loop(w, p); break;
    default: frame(w, p);
    }
}

/* All workers are done: the dispatcher must hold no record of the client. */
static void closes_books(World *w, const Player *p) {
    for (int k = 0; k < WORKERS; k++) {
        Msg m;
        if (!w->worker[k].peer) continue;
        wire_ack(&(Ack){.client = p->id, .seq = w->worker[k].sent[p->id]}, &m);
        on_message(w, w->worker[k].peer, &m);
    }
    const Client *c = map_get(&w->d->client_by_id, p->id);
    MUST(c && c->next_seq == p->seq);
    MUST(c->tensors.n == 0 && c->n_away == 0);
    MUST(c->live_bytes == 0 && c->copy_bytes == 0);
    MUST(c->sent.n == 0 && c->bytes == 0 && c->acked_seq == c->next_seq);
    MUST(c->held.n == 0);
    for (int r = 0; r < w->d->n_ranks; r++) MUST(client_in_flight(c, r) == 0);
}

/* Frees all tensors that it made, and some ids that never existed; nothing may be left. */
static void frees_all(World *w, Player *p) {
    uint32_t id = p->id;
    size_t at = 0;
    if (!p->is_there || !id || p->is_messy) return;
    while (p->is_there && at < p->n_made) {
        FrameWriter f = {0};
        frame_begin(&f, id, p->seq);
        for (int i = 0; i < 16 && at < p->n_made; i++) {
            Operand o[7];
            Inst in = {.op = OP_FREE, .in = o};
            while (in.n_in < 7 && at < p->n_made)
                o[in.n_in++] = (Operand){.kind = IN_TENSOR, .id = p->made[at++]};
            frame_add(&f, &in);
        }
        p->seq += f.count;
        Msg m;
        frame_end(&f, &m);
        on_message(w, p->peer, &m);
    }
    take_all(w);
    for (int k = 0; p->is_there && k < WORKERS; k++) {
        const Handles *t = &w->worker[k].live[id];
        for (size_t i = 0; i < t->cap; i++) {
            if (!t->key[i]) continue;
            fprintf(stderr, "w%d still has t%llu%s\n", w->worker[k].rank,
                    (unsigned long long)t->key[i] - 1, t->value[i].is_poisoned ? ", poisoned" : "");
            abort();
        }
    }
    if (p->is_there) closes_books(w, p);
}

static long counter(const World *w, const char *name) { return dispatcher_figure(w->d, name); }

static long n_moves, n_placed, n_found; /* statistics: how much was covered */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static World *w; /* large data: allocated once */
    if (!w) w = xcalloc(1, sizeof *w);
    w->at = data, w->end = data + n, w->last_peer = 0, w->listener = 0;
    memset(w->player, 0, sizeof w->player);
    uint64_t limit = n % 4 == 1 ? 20000 : 0;
    DispatcherConfig config = {.client_bytes_max = limit, .beat_ms = 10, .seed = n};
    if (n % 2) config.slice = 1 + (uint32_t)n % 61;
    if (n % 7) config.record_bytes = n % 7 << 14;
    if (n % 5) config.hot = (DetectorConfig){1 + n % 3, 2, 1000, 8};
    w->d = dispatcher_new(&config);
    Err err = {0};
    if (n % 3 == 0) MUST(dispatcher_log(w->d, "/dev/null", &err));
    for (int64_t t = 0; w->at < w->end && w->last_peer < NUMBERS - 10; t += 3) {
        int what = byte(w);
        if (what % 4 == 0)
            worker_event(w);
        else if (what % 32 == 1)
            listener_event(w);
        else
            player_event(w, &w->player[what / 4 % CLIENTS]);
        if (what & 64) dispatcher_go_on(w->d);
        dispatcher_on_tick(w->d, t);
        deliver(w);
        arena_reset(&w->arena);
    }
    n_moves += counter(w, "\nmoves"), n_placed += counter(w, "\nplaced");
    n_found += counter(w, "\nfound_instructions");
    for (int k = 0; k < CLIENTS; k++) {
        frees_all(w, &w->player[k]);
        free(w->player[k].made);
        if (w->player[k].is_there) dispatcher_on_gone(w->d, w->player[k].peer, 0);
        deliver(w);
    }
    for (int r = 0; r < w->d->n_ranks; r++)
        MUST(!w->d->worker[r] || (w->d->worker[r]->insts == 0 && w->d->worker[r]->n_clients == 0));
    MUST(counter(w, "clients") == 0);
    MUST(counter(w, "\ntensors") == 0);
    MUST(counter(w, "\nbytes") == 0);
    for (int k = 0; k < WORKERS; k++)
        for (int i = 0; i < NUMBERS; i++) MUST(w->worker[k].live[i].n == 0);
    for (int k = 0; k < WORKERS; k++)
        if (w->worker[k].peer) dispatcher_on_gone(w->d, w->worker[k].peer, 0);
    deliver(w);
    MUST(counter(w, "\nworkers") == 0);
    for (int k = 0; k < WORKERS; k++) model_free(&w->worker[k]);
    dispatcher_free(&w->d);
    arena_fini(&w->arena);
    return 0;
}

#ifndef LIBFUZZER
static void replay(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    Bytes b = {0};
    char chunk[4096];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, f)) > 0;) bytes_add(&b, chunk, got);
    fclose(f);
    LLVMFuzzerTestOneInput((const uint8_t *)b.data, b.n);
    bytes_fini(&b);
}

int main(int argc, char **argv) {
    long runs = 300;
    uint64_t seed = 1;
    int opt;
    bool is_verbose = false;
    while ((opt = getopt(argc, argv, "n:s:v")) != -1) {
        if (opt == 'v')
            is_verbose = true;
        else if (opt == 'n')
            runs = atol(optarg);
        else if (opt == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            return 2;
    }
    for (int i = optind; i < argc; i++) replay(argv[i]);
    if (optind < argc) return 0;
    static uint8_t data[6000];
    for (long k = 0; k < runs; k++) {
        Rand r = {seed + (uint64_t)k};
        size_t n = (size_t)rand_below(&r, sizeof data);
        for (size_t i = 0; i < n; i++) data[i] = (uint8_t)rand_u64(&r);
        LLVMFuzzerTestOneInput(data, n);
    }
    printf("dispatcher_fuzz: %ld runs from seed %llu, %ld instructions placed, %ld moves, %ld "
           "found in loops, %ld sent so\n",
           runs, (unsigned long long)seed, n_placed, n_moves, n_found, model_hot);
    for (int op = 0; is_verbose && op < OP_COUNT; op++)
        if (model_shared[op]) printf("%8ld %s\n", model_shared[op], op_info[op].name);
    return 0;
}
#endif
