/* replay_fuzz.c: whole programs of instructions, through client, dispatcher and worker. Programs
 * grow line by line: random ops with random attributes, kept if inference accepts them. So the
 * engines must be able to run whatever inference accepts. Then a few bytes are changed.
 * SPDX-License-Identifier: MIT */
#define FUZZ_CALM 2
#include "lang/eval/run.h"
#include "lang/shell/replay.h"
#include "runtime/inst/gtb.h"
#include "tests/fuzz/fuzz.h"
#include <math.h>

enum { LIVE_MAX = 24, RUNS_PER_CLUSTER = 100, NUMEL_MAX = 1 << 16 };

/* ---- Programs ---- */

typedef struct Growth {
    Rand *r;
    Arena arena;
    uint64_t next_id, id[LIVE_MAX];
    TensorType type[LIVE_MAX];
    int n;
    Bytes *out;
} Growth;

static int pick(Growth *p) { return rand_below(p->r, p->n); }

static int64_t *ints(Growth *p, int n) {
    return arena_zalloc(&p->arena, (size_t)(n ? n : 1) * sizeof(int64_t));
}

static void add_ints(Inst *in, Attr *attr, AttrKey key, const int64_t *v, int n) {
    attr[in->n_attr++] = (Attr){.key = (uint8_t)key, .n = (uint32_t)n, .ints = v};
}

static void add_int(Inst *in, Attr *attr, AttrKey key, int64_t v) {
    attr[in->n_attr++] = (Attr){.key = (uint8_t)key, .i = v};
}

static void add_bool(Growth *p, Inst *in, Attr *attr, AttrKey key) {
    if (rand_below(p->r, 2))
        attr[in->n_attr++] = (Attr){.key = (uint8_t)key, .b = rand_below(p->r, 2)};
}

static void add_shape(Growth *p, Inst *in, Attr *attr) {
    int rank = rand_below(p->r, 5);
    int64_t *v = ints(p, rank);
    static const int large[] = {17,  64,   100,
                                257, 4096, 5000}; /* most are not multiples of tiles or lanes */
    for (int i = 0; i < rank; i++) {
        v[i] = rand_below(p->r, 12) ? 1 + rand_below(p->r, 7) : 0;
        if (rand_below(p->r, 8) == 0) v[i] = large[rand_below(p->r, 6)];
    }
    add_ints(in, attr, ATTR_SHAPE, v, rank);
}

/* A shape with as many elements: axes merged, split by ones, permuted. */
static void add_reshape(Growth *p, Inst *in, Attr *attr, const TensorType *x) {
    int64_t *v = ints(p, MAX_DIMS);
    int n = 0;
    for (int i = 0; i < x->rank; i++) {
        int64_t extent = x->shape[rand_below(p->r, 4) ? i : x->rank - 1 - i];
        if (n > 0 && rand_below(p->r, 3) == 0)
            v[n - 1] *= extent;
        else
            v[n++] = extent;
        if (n < MAX_DIMS - 1 && i + 1 < x->rank && rand_below(p->r, 6) == 0) v[n++] = 1;
        if (n == MAX_DIMS) break;
    }
    add_ints(in, attr, ATTR_SHAPE, v, n);
}

static void add_expand(Growth *p, Inst *in, Attr *attr, const TensorType *x) {
    int extra = rand_below(p->r, 3), n = x->rank + extra;
    if (n > MAX_DIMS) n = MAX_DIMS, extra = n - x->rank;
    int64_t *v = ints(p, n);
    for (int i = 0; i < n; i++) {
        v[i] = i < extra ? rand_below(p->r, 4) : x->shape[i - extra];
        if (v[i] == 1) v[i] = rand_below(p->r, 4);
    }
    add_ints(in, attr, ATTR_SHAPE, v, n);
}

static void add_axes(Growth *p, Inst *in, Attr *attr, int rank) {
    int64_t *v = ints(p, rank);
    for (int i = 0; i < rank; i++) v[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = rand_below(p->r, i + 1);
        int64_t t = v[i];
        v[i] = v[k], v[k] = t;
    }
    add_ints(in, attr, ATTR_AXES, v, rank);
}

static void add_slice(Growth *p, Inst *in, Attr *attr, const TensorType *x) {
    int64_t *start = ints(p, x->rank), *size = ints(p, x->rank), *step = ints(p, x->rank);
    for (int i = 0; i < x->rank; i++) {
        int64_t n = x->shape[i];
        step[i] = 1 + rand_below(p->r, 3);
        start[i] = rand_below(p->r, (int)n + 1);
        size[i] = start[i] < n ? rand_below(p->r, (int)((n - start[i] - 1) / step[i]) + 2) : 0;
    }
    add_ints(in, attr, ATTR_START, start, x->rank);
    add_ints(in, attr, ATTR_SIZE, size, x->rank);
    add_ints(in, attr, ATTR_STEP, step, x->rank);
}

static void add_axis(Growth *p, Inst *in, Attr *attr, int rank, bool several) {
    int n = several ? rand_below(p->r, rank + 1) : 1;
    int64_t *v = ints(p, n);
    for (int i = 0; i < n; i++) v[i] = rand_below(p->r, rank ? rank : 1);
    add_ints(in, attr, ATTR_AXIS, v, n);
}

static void add_source(Growth *p, Inst *in, Attr *attr) {
    attr[in->n_attr++] = (Attr){.key = ATTR_DTYPE, .dtype = (DType)rand_below(p->r, DT_COUNT)};
    if (in->n_in == 0 || in->in[0].kind != IN_TENSOR) add_shape(p, in, attr);
    int64_t *rng = ints(p, 2);
    rng[0] = rand_below(p->r, 9), rng[1] = rand_below(p->r, 1000);
    add_ints(in, attr, ATTR_RNG, rng, 2);
}

/* Small sizes for windows over x: often they fit. */
static void add_window(Growth *p, Inst *in, Attr *attr, const TensorType *x, bool is_pool) {
    static const AttrKey keys[] = {ATTR_KERNEL, ATTR_STRIDE, ATTR_PADDING, ATTR_DILATION};
    int n = is_pool ? 1 + rand_below(p->r, 3) : x->rank > 2 ? x->rank - 2 : 1;
    for (int k = is_pool ? 0 : 1; k < 4; k++) {
        if (k > 0 && rand_below(p->r, 2)) continue;
        int64_t *v = ints(p, 4);
        for (int i = 0; i < n; i++) v[i] = rand_below(p->r, 4) - (rand_below(p->r, 20) == 0);
        add_ints(in, attr, keys[k], v, n < 4 ? n : 4);
    }
    if (is_pool)
        add_bool(p, in, attr, ATTR_CEIL);
    else
        add_int(in, attr, ATTR_GROUPS, rand_below(p->r, 3));
    if (in->op == OP_CONV_DX || in->op == OP_CONV_DW || in->op == OP_AVG_POOL_DX)
        add_shape(p, in, attr);
}

static void add_attrs(Growth *p, Inst *in, Attr *attr, const TensorType *x) {
    switch (in->op) {
    case OP_CONV:
    case OP_CONV_DX:
    case OP_CONV_DW: add_window(p, in, attr, x, false); return;
    case OP_MAX_POOL:
    case OP_AVG_POOL:
    case OP_AVG_POOL_DX: add_window(p, in, attr, x, true); return;
    case OP_RESHAPE: add_reshape(p, in, attr, x); return;
    case OP_EXPAND: add_expand(p, in, attr, x); return;
    case OP_PERMUTE: add_axes(p, in, attr, x->rank); return;
    case OP_SLICE:
    case OP_SLICE_PUT: add_slice(p, in, attr, x); return;
    case OP_CAST:
        attr[in->n_attr++] = (Attr){.key = ATTR_DTYPE, .dtype = (DType)rand_below(p->r, DT_COUNT)};
        return;
    case OP_TOPK:
        add_int(in, attr, ATTR_K, rand_below(p->r, 4));
        add_bool(p, in, attr, ATTR_LARGEST);
        break;
    case OP_SCATTER_REDUCE:
        attr[in->n_attr++] = (Attr){.key = ATTR_REDUCE, .n = 4, .str = "prod"};
        break;
    case OP_RECURRENCE: add_bool(p, in, attr, ATTR_REVERSE); break;
    case OP_CUMMAX: add_bool(p, in, attr, ATTR_LARGEST); break;
    case OP_SEARCHSORTED: add_bool(p, in, attr, ATTR_RIGHT); return;
    default: break;
    }
    if (op_info[in->op].class_ == CLASS_SOURCE) {
        add_source(p, in, attr);
    } else if (op_info[in->op].class_ == CLASS_REDUCE) {
        if (rand_below(p->r, 3)) add_axis(p, in, attr, x->rank, true);
        add_bool(p, in, attr, ATTR_KEEPDIMS);
    } else if (op_info[in->op].class_ == CLASS_KERNEL) {
        bool may_be_absent = in->op == OP_ARGMAX || in->op == OP_ARGMIN;
        if (!may_be_absent || rand_below(p->r, 2)) add_axis(p, in, attr, x->rank, false);
        add_bool(p, in, attr,
                 in->op == OP_INDEX_PUT ? ATTR_ACCUMULATE
                 : may_be_absent        ? ATTR_KEEPDIMS
                                        : ATTR_DESCENDING);
    }
}

static void add_immediate(Growth *p, Operand *o) {
    static const double some[] = {0, 1, -1, 0.5, 2, 1e30, -0.0};
    o->kind = (InKind)(1 + rand_below(p->r, 3));
    if (o->kind == IN_IMM_INT) o->i = rand_below(p->r, 20) - 5;
    if (o->kind == IN_IMM_FLOAT) o->f = rand_below(p->r, 8) ? some[rand_below(p->r, 7)] : NAN;
    if (o->kind == IN_IMM_BOOL) o->b = rand_below(p->r, 2);
}

/* Tries to make an instruction; false: inference refuses it, or it is too large to be fast. */
static bool grow(Growth *p) {
    Inst in = {.op = (Op)rand_below(p->r, OP_COUNT)};
    const OpInfo *info = &op_info[in.op];
    if (info->class_ == CLASS_CONTROL || in.op == OP_DATA ||
        (p->n == 0 && info->class_ != CLASS_SOURCE))
        return false;
    int n = info->arity >= 0 ? info->arity : 1 + rand_below(p->r, 4);
    bool is_source = info->class_ == CLASS_SOURCE,
         has_model = is_source && p->n && rand_below(p->r, 6) == 0;
    Operand *o = arena_zalloc(&p->arena, (size_t)(n + 1) * sizeof *o);
    TensorType *t = arena_zalloc(&p->arena, (size_t)(n + 1) * sizeof *t), out[MAX_OUT];
    Attr *attr = arena_zalloc(&p->arena, MAX_ATTRS * sizeof *attr);
    in.n_in = (uint16_t)(n + has_model), in.in = o, in.attr = attr;
    for (int i = 0; i < in.n_in; i++) {
        bool is_imm =
            is_source ? i >= has_model : info->class_ == CLASS_MAP && rand_below(p->r, 5) == 0;
        if (is_imm) {
            add_immediate(p, &o[i]);
            continue;
        }
        int k = i > 0 && rand_below(p->r, 4) == 0 ? p->n - 1 : pick(p);
        o[i].id = p->id[k], t[i] = p->type[k];
    }
    add_attrs(p, &in, attr, &t[0]);
    for (int i = in.n_attr; i-- > 0;) /* a replay refuses attributes that the op does not take */
        if (!inst_takes(in.op, (AttrKey)attr[i].key)) attr[i] = attr[--in.n_attr];
    int n_out;
    if (!inst_infer(&in, t, out, &n_out, NULL)) return false;
    for (int i = 0; i < n_out; i++)
        if (type_numel(&out[i]) > NUMEL_MAX) return false;
    in.n_out = (uint8_t)n_out;
    for (int i = 0; i < n_out; i++) {
        in.out[i] = p->next_id++;
        int k = p->n < LIVE_MAX ? p->n++ : pick(p);
        p->id[k] = in.out[i], p->type[k] = out[i];
    }
    InstPrint how = {.out = rand_below(p->r, 2) ? out : NULL};
    inst_print(&in, &how, p->out);
    bytes_putc(p->out, '\n');
    return true;
}

/* Changes numbers but not the syntax: ids, sizes, axes, dtypes. */
static void change_digits(Rand *r, Bytes *b) {
    for (int k = rand_below(r, 4) ? 0 : rand_below(r, 4); k > 0; k--)
        for (size_t tries = 0, at; tries < 50; tries++) {
            at = rand_u64(r) % b->n;
            if (b->data[at] < '0' || b->data[at] > '9') continue;
            b->data[at] = (char)('0' + rand_below(r, 10));
            break;
        }
}

/* The same program as client c1's lines on a tape, among lines of other clients. */
static void make_tape(Rand *r, Bytes *b) {
    Bytes tape = {0};
    bytes_puts(&tape, "gti 1 kind=tape\n");
    const char *s = memchr(b->data, '\n', b->n), *end = b->data + b->n;
    for (int k = 1; ++s < end; k++) {
        size_t n = (size_t)((const char *)memchr(s, '\n', (size_t)(end - s)) - s);
        bytes_printf(&tape, "0.%06d %d > c1 - ", k, k);
        bytes_add(&tape, s, n + 1);
        if (rand_below(r, 4) == 0) bytes_printf(&tape, "0.5 %d < c1 w0 done t%d us=3\n", k, k);
        s += n;
    }
    bytes_fini(b);
    *b = tape;
}

/* The same file in the binary form, if its lines parse. */
static void make_binary(Bytes *b) {
    GtbWriter *w = gtb_writer_new();
    Bytes binary = {0};
    Arena a = {0};
    InstLine line;
    bool ok = true;
    for (const char *s = b->data, *end = s + b->n, *stop; ok && s < end; s = stop + 1) {
        stop = memchr(s, '\n', (size_t)(end - s));
        ok = stop && inst_parse(s, (size_t)(stop - s), &a, &line, NULL);
        if (ok && line.is_empty)
            gtb_put_text(w, s, (size_t)(stop - s), &binary);
        else if (ok)
            gtb_put(w, &line, NULL, &binary);
    }
    gtb_writer_free(&w);
    arena_fini(&a);
    if (ok && !memmem(b->data, b->n, "kind=tape", 9)) {
        bytes_fini(b);
        *b = binary;
    } else {
        bytes_fini(&binary);
    }
}

static void fuzz_seed(Rand *r, Bytes *out) {
    Growth p = {.r = r, .out = out};
    bytes_puts(out, "gti 1\n");
    for (int grown = 0, tries = 0; grown < 25 && tries < 2000; tries++) grown += grow(&p);
    for (int i = 0; i < p.n; i++) {
        const char *how = rand_below(r, 2) ? "print \"{}\\n\" t%llu\n" : "fetch t%llu\n";
        bytes_printf(out, how, (unsigned long long)p.id[i]);
        if (rand_below(r, 8) == 0)
            bytes_printf(out, "value t%llu [2] f32 1 %d\n", (unsigned long long)p.id[i],
                         rand_below(r, 3));
        if (rand_below(r, 2)) bytes_printf(out, "free t%llu\n", (unsigned long long)p.id[i]);
    }
    arena_fini(&p.arena);
    if (rand_below(r, 4) == 0) make_tape(r, out);
    change_digits(r, out);
    if (rand_below(r, 3) == 0) make_binary(out);
}

/* ---- Running them ---- */

static Interp *cluster;
static int runs;

static void start(void) {
    InterpConfig config = {.width = 80};
    config.stream = (StreamConfig){.mode = STREAM_LIVE,
                                   .workers = 1 + runs / RUNS_PER_CLUSTER % 2,
                                   .threads = 2,
                                   .memory_bytes = 64 << 20,
                                   .engine = runs / RUNS_PER_CLUSTER % 3 ? "cpu" : "reference"};
    LangError e = {0};
    cluster = interp_new(&config, &e);
    if (!cluster) {
        fprintf(stderr, "%s\n", e.what);
        exit(1);
    }
}

/* No program may touch files. */
static bool is_harmless(const char *s, size_t n) {
    return !memmem(s, n, "save", 4) && !memmem(s, n, "write", 5) && !memmem(s, n, "load", 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (!is_harmless((const char *)data, n)) return 0;
    if (!cluster) {
        if (!freopen("/dev/null", "w", stdout)) return 0; /* discards the output of programs */
        start();
    }
    LangError e = {0};
    bool is_binary = gtb_is(data, n);
    Source *src = interp_source(cluster, "fuzz.gti", is_binary ? "" : (const char *)data,
                                is_binary ? 0 : n, 1, false);
    ReplayConfig config = {.quiet = true, .fill = (ReplayFill)(runs % 3), .verify = runs % 2};
    if (is_binary) config.data = (const char *)data, config.n = n;
    bool ok = replay_run(cluster, src, &config, &e);
    if (!ok && e.what[0] == 0) abort();
    LangError late = {0};
    stream_sync(cluster->stream, &late);
    while (stream_take_error(cluster->stream, &late)) {}
    if (late.kind == E_GONE || strstr(late.what, "fault of gtsh") ||
        strstr(e.what, "fault of gtsh")) {
        fprintf(stderr, "%s\n%s\n%.*s\n", e.what, late.what, (int)n, (const char *)data);
        abort();
    }
    if (++runs % RUNS_PER_CLUSTER == 0) interp_free(&cluster);
    return 0;
}
