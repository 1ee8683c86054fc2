/* blas.c: a stand-in for cuBLASLt: descriptors, heuristics, and products as plain loops, k upwards,
 * in float32 or float64. It refuses what the manual forbids (too small a workspace, less alignment
 * than was said, an algorithm of another product) and host pointers. Where preferences allow a
 * reduction scheme, the first algorithm splits k: its bits differ.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/cublaslt_api.h"
#include "worker/cuda/cuda_api.h"
#include "tests/gpu/emu.h"
#include "tests/gpu/half.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LIVE = 0x6c74,
    WORKSPACE = 4096,
    SPLITS = 4,
    EPILOGUE_DEFAULT = 1,
    LIBRARY_VERSION = 130200
};
/* How the opaque structs are used; is: LIVE and the kind. */
typedef struct Desc {
    uint64_t is;
    int32_t compute, scale, pointer_mode, trans_a, trans_b, epilogue;
} Desc;
typedef struct Layout {
    uint64_t is, rows, cols;
    int64_t ld, stride;
    int32_t type, order, batch;
} Layout;
typedef struct Preference {
    uint64_t is, workspace;
    uint32_t schemes, mode, align[4];
} Preference;
typedef struct Algo {
    uint64_t is, product, workspace;
    uint32_t splits, scheme, align[4];
} Algo;
_Static_assert(sizeof(Desc) <= sizeof(cublasLtMatmulDescOpaque_t), "fits");
_Static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "fits");
_Static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "fits");
_Static_assert(sizeof(Algo) <= sizeof(cublasLtMatmulAlgo_t), "fits");

__attribute__((format(printf, 2, 3))) static cublasStatus_t refuse(cublasStatus_t status,
                                                                   const char *format, ...) {
    char text[300];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    emu_say(text);
    return status;
}
/* The status of a call that must fail: for lack of memory, or `other`. */
static cublasStatus_t failure(int fails, cublasStatus_t other) {
    return fails == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : other;
}

size_t cublasLtGetVersion(void) { return LIBRARY_VERSION; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
    int fails = emu_call("cublasLtCreate");
    if (fails) return failure(fails, CUBLAS_STATUS_NOT_INITIALIZED);
    uint64_t *p = calloc(1, 8);
    if (!p) return CUBLAS_STATUS_NOT_INITIALIZED;
    *p = LIVE;
    *handle = (cublasLtHandle_t)(void *)p;
    return CUBLAS_STATUS_SUCCESS;
}
static bool is_handle(cublasLtHandle_t h) { return h && *(uint64_t *)(void *)h == LIVE; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    if (!is_handle(handle)) return CUBLAS_STATUS_INVALID_VALUE;
    *(uint64_t *)(void *)handle = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Descriptors ---- */

typedef struct Field {
    int attribute;
    size_t at, size;
} Field;
#define FIELD(attribute, type, name)                                                               \
    { attribute, offsetof(type, name), sizeof(((type *)0)->name) }
/* A value of another size is refused, as the real one does. */
static cublasStatus_t set(void *object, uint64_t is, const Field *f, size_t n, int attribute,
                          const void *from, size_t size) {
    if (!object || *(uint64_t *)object != is || !from)
        return refuse(CUBLAS_STATUS_INVALID_VALUE, "cublasLt: no descriptor");
    for (size_t k = 0; k < n; k++) {
        if (f[k].attribute != attribute) continue;
        if (f[k].size != size)
            return refuse(CUBLAS_STATUS_INVALID_VALUE,
                          "cublasLt: attribute %d has %zu bytes, not %zu", attribute, f[k].size,
                          size);
        memcpy((char *)object + f[k].at, from, size);
        return CUBLAS_STATUS_SUCCESS;
    }
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "cublasLt: attribute %d is not emulated", attribute);
}
#define SET(object, kind, fields, a, from, size)                                                   \
    set(object, LIVE + (kind), fields, sizeof fields / sizeof *fields, (int)(a), from, size)
static cublasStatus_t create(void **to, size_t bytes, uint64_t kind) {
    uint64_t *p = calloc(1, bytes);
    if (!p) return CUBLAS_STATUS_NOT_INITIALIZED;
    *p = LIVE + kind;
    *to = p;
    return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t destroy(void *p, uint64_t kind) {
    if (!p || *(uint64_t *)p != LIVE + kind)
        return refuse(CUBLAS_STATUS_INVALID_VALUE, "cublasLt: no descriptor");
    *(uint64_t *)p = 0;
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}
enum { IS_DESC = 1, IS_LAYOUT, IS_PREFERENCE, IS_ALGO };
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                        cudaDataType scale) {
    cublasStatus_t status = create((void **)d, sizeof **d, IS_DESC);
    Desc *t = (Desc *)(void *)*d;
    if (!status)
        t->compute = (int32_t)compute, t->scale = (int32_t)scale, t->epilogue = EPILOGUE_DEFAULT;
    return status;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return destroy(d, IS_DESC); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t a, const void *from,
                                              size_t size) {
    static const Field fields[] = {FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, Desc, compute),
                                   FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, Desc, scale),
                                   FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, Desc, pointer_mode),
                                   FIELD(CUBLASLT_MATMUL_DESC_TRANSA, Desc, trans_a),
                                   FIELD(CUBLASLT_MATMUL_DESC_TRANSB, Desc, trans_b),
                                   FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, Desc, epilogue)};
    return SET(d, IS_DESC, fields, a, from, size);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
    cublasStatus_t status = create((void **)l, sizeof **l, IS_LAYOUT);
    Layout *t = (Layout *)(void *)*l;
    if (!status) t->type = (int32_t)type, t->rows = rows, t->cols = cols, t->ld = ld, t->batch = 1;
    return status;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
    return destroy(l, IS_LAYOUT);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t a, const void *from,
                                                size_t size) {
    static const Field fields[] = {
        FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
        FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
        FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
        FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, cols),
        FIELD(CUBLASLT_MATRIX_LAYOUT_LD, Layout, ld),
        FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batch),
        FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, stride)};
    return SET(l, IS_LAYOUT, fields, a, from, size);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p) {
    cublasStatus_t status = create((void **)p, sizeof **p, IS_PREFERENCE);
    Preference *t = (Preference *)(void *)*p;
    if (!status) t->schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
    for (int k = 0; !status && k < 4; k++) t->align[k] = 256;
    return status;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
    return destroy(p, IS_PREFERENCE);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t a,
                                                    const void *from, size_t size) {
    static const Field fields[] = {
        FIELD(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, mode),
        FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, workspace),
        FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, schemes),
        FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, align[0]),
        FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, align[1]),
        FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, align[2]),
        FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, align[3])};
    return SET(p, IS_PREFERENCE, fields, a, from, size);
}

/* ---- Products ---- */

/* a (m,k) @ b (k,n) -> d (m,n) of each of a batch. */
typedef struct Product {
    Desc desc;
    Layout a, b, c, d;
    uint64_t at[4], workspace;
    uint64_t workspace_bytes;
    double alpha, beta;
    uint32_t splits;
    uint64_t m, n, k;
} Product;

static size_t size_of(int32_t type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
static bool is_layout(const Layout *l, uint64_t rows, uint64_t cols) {
    uint64_t least = l->order == CUBLASLT_ORDER_ROW ? l->cols : l->rows;
    return l->is == LIVE + IS_LAYOUT && l->rows == rows && l->cols == cols &&
           (uint64_t)l->ld >= least && l->batch >= 1;
}
static bool is_type(const Desc *d, int32_t type) {
    bool is_single =
        d->scale == CUDA_R_32F && (type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF);
    if (d->compute == CUBLAS_COMPUTE_64F) return d->scale == CUDA_R_64F && type == CUDA_R_64F;
    if (d->compute == CUBLAS_COMPUTE_32F) return is_single;
    return d->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && is_single && type == CUDA_R_32F;
}
static cublasStatus_t describe(Product *p, const void *d, const void *a, const void *b,
                               const void *c, const void *out) {
    if (!d || !a || !b || !c || !out) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(&p->desc, d, sizeof p->desc);
    memcpy(&p->a, a, sizeof p->a), memcpy(&p->b, b, sizeof p->b);
    memcpy(&p->c, c, sizeof p->c), memcpy(&p->d, out, sizeof p->d);
    if (p->desc.is != LIVE + IS_DESC)
        return refuse(CUBLAS_STATUS_INVALID_VALUE, "cublasLt: no descriptor");
    p->m = p->d.rows, p->n = p->d.cols;
    p->k = p->desc.trans_a ? p->a.rows : p->a.cols;
    bool fits = is_layout(&p->a, p->desc.trans_a ? p->k : p->m, p->desc.trans_a ? p->m : p->k) &&
                is_layout(&p->b, p->desc.trans_b ? p->n : p->k, p->desc.trans_b ? p->k : p->n) &&
                is_layout(&p->c, p->m, p->n) && is_layout(&p->d, p->m, p->n);
    if (!fits || !p->m || !p->n || !p->k)
        return refuse(CUBLAS_STATUS_INVALID_VALUE, "cublasLt: sizes do not fit a product");
    if (p->a.batch != p->d.batch || p->b.batch != p->d.batch || p->c.batch != p->d.batch)
        return refuse(CUBLAS_STATUS_INVALID_VALUE, "cublasLt: batches of different counts");
    if (p->desc.epilogue != EPILOGUE_DEFAULT || p->desc.pointer_mode != 0)
        return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                      "cublasLt: epilogues and device scalars are not emulated");
    int32_t t = p->d.type;
    if (p->a.type != t || p->b.type != t || p->c.type != t || !is_type(&p->desc, t))
        return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                      "cublasLt: these types are not supported together");
    return CUBLAS_STATUS_SUCCESS;
}
static uint64_t hash_of(const Product *p) {
    uint64_t h = 1469598103934665603u;
    const Layout *l[] = {&p->a, &p->b, &p->c, &p->d};
    for (int k = 0; k < 4; k++) {
        const int64_t v[] = {(int64_t)l[k]->rows, (int64_t)l[k]->cols, l[k]->ld,   l[k]->stride,
                             l[k]->type,          l[k]->order,         l[k]->batch};
        for (int i = 0; i < 7; i++) h = (h ^ (uint64_t)v[i]) * 1099511628211u;
    }
    h = (h ^ (uint64_t)p->desc.compute) * 1099511628211u;
    return (h ^ (uint64_t)(p->desc.trans_a * 2 + p->desc.trans_b)) * 1099511628211u;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t result[],
                                              int *count) {
    Product p;
    int fails = emu_call("cublasLtMatmulAlgoGetHeuristic");
    if (fails == CUBLAS_STATUS_NOT_SUPPORTED || fails == CUBLAS_STATUS_INVALID_VALUE)
        return (cublasStatus_t)fails;
    if (fails) return CUBLAS_STATUS_EXECUTION_FAILED;
    const Preference *w = (const Preference *)(void *)preference;
    if (!is_handle(handle) || !w || w->is != LIVE + IS_PREFERENCE || most < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = describe(&p, d, a, b, c, out);
    if (status) return status;
    *count = 0;
    for (int k = 0; k < 3 && *count < most; k++) { /* split, with a workspace, without */
        Algo algo = {.is = LIVE + IS_ALGO,
                     .product = hash_of(&p),
                     .workspace = k < 2 ? WORKSPACE : 0,
                     .splits = k ? 1 : SPLITS};
        if (algo.workspace > w->workspace || (!k && w->schemes == CUBLASLT_REDUCTION_SCHEME_NONE))
            continue;
        algo.scheme = k ? 0 : 2;
        memcpy(algo.align, w->align, sizeof algo.align);
        cublasLtMatmulHeuristicResult_t *r = &result[(*count)++];
        memset(r, 0, sizeof *r);
        memcpy(&r->algo, &algo, sizeof algo);
        r->workspaceSize = algo.workspace, r->wavesCount = 1;
    }
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t a,
                                                    void *to, size_t size, size_t *wrote) {
    Algo g;
    memcpy(&g, algo, sizeof g);
    if (g.is != LIVE + IS_ALGO || size < 4) return CUBLAS_STATUS_INVALID_VALUE;
    uint32_t v = a == CUBLASLT_ALGO_CONFIG_SPLITK_NUM         ? g.splits
                 : a == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME ? g.scheme
                                                              : 0;
    memcpy(to, &v, sizeof v);
    if (wrote) *wrote = sizeof v;
    return CUBLAS_STATUS_SUCCESS;
}
static double value_at(const uint8_t *p, int32_t type, bool is_tf32) {
    uint16_t h;
    float f;
    double d;
    if (type == CUDA_R_64F) return memcpy(&d, p, 8), d;
    if (type == CUDA_R_32F) {
        memcpy(&f, p, 4);
        uint32_t u = f32_bits(f);
        return (double)(is_tf32 && f == f ? f32_from((u + 0xfff + (u >> 13 & 1)) & ~0x1fffu) : f);
    }
    memcpy(&h, p, 2);
    return (double)(type == CUDA_R_16F ? of_half(h) : of_bhalf(h));
}
static void put_at(uint8_t *p, int32_t type, double v) {
    float f = (float)v;
    uint16_t h = type == CUDA_R_16F ? half_of((double)f) : bhalf_of(f);
    if (type == CUDA_R_64F)
        memcpy(p, &v, 8);
    else if (type == CUDA_R_32F)
        memcpy(p, &f, 4);
    else
        memcpy(p, &h, 2);
}
static uint64_t element(const Layout *l, uint64_t batch, uint64_t row, uint64_t col) {
    uint64_t at =
        l->order == CUBLASLT_ORDER_ROW ? row * (uint64_t)l->ld + col : col * (uint64_t)l->ld + row;
    return (batch * (uint64_t)l->stride + at) * size_of(l->type);
}
/* The bytes of a matrix of a batch, line by line; what lies between lines is not touched. NULL:
 * refused. */
static uint8_t *reach(Memory *m, const Actor *actor, uint64_t at, const Layout *l, Access access,
                      char *err, size_t size) {
    uint64_t lines = l->order == CUBLASLT_ORDER_ROW ? l->rows : l->cols,
             length = (l->rows * l->cols / lines) * size_of(l->type);
    uint8_t *first = NULL;
    for (uint64_t b = 0; b < (uint64_t)l->batch; b++) {
        for (uint64_t k = 0; k < lines; k++) {
            uint64_t from = at + (b * (uint64_t)l->stride + k * (uint64_t)l->ld) * size_of(l->type);
            Block *block = memory_find(m, from, length);
            if (!block) {
                snprintf(err, size, "cublasLtMatmul: %llu bytes at %#llx lie in no allocation",
                         (unsigned long long)length, (unsigned long long)from);
                return NULL;
            }
            if (!memory_touch(m, block, from - block->at, length, access, actor, err, size))
                return NULL;
            if (!first) first = block->data + (from - block->at);
        }
    }
    return first;
}
static double dot(const Product *p, const uint8_t *A, const uint8_t *B, uint64_t batch, uint64_t i,
                  uint64_t j) {
    bool is_tf32 = p->desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32,
         is_double = p->d.type == CUDA_R_64F;
    double total = 0;
    for (uint64_t s = 0; s < p->splits; s++) {
        double sum = 0;
        for (uint64_t k = p->k * s / p->splits; k < p->k * (s + 1) / p->splits; k++) {
            double a = value_at(
                A + (p->desc.trans_a ? element(&p->a, batch, k, i) : element(&p->a, batch, i, k)),
                p->a.type, is_tf32);
            double b = value_at(
                B + (p->desc.trans_b ? element(&p->b, batch, j, k) : element(&p->b, batch, k, j)),
                p->b.type, is_tf32);
            sum = is_double ? sum + a * b : (double)((float)sum + (float)a * (float)b);
        }
        total = is_double ? total + sum : (double)((float)total + (float)sum);
    }
    return total;
}
static bool multiply(void *ctx, const Actor *actor, Memory *m, char *err, size_t size) {
    const Product *p = ctx;
    const uint8_t *A = reach(m, actor, p->at[0], &p->a, ACCESS_READ, err, size);
    const uint8_t *B = A ? reach(m, actor, p->at[1], &p->b, ACCESS_READ, err, size) : NULL;
    const uint8_t *C =
        B && p->beta != 0 ? reach(m, actor, p->at[2], &p->c, ACCESS_READ, err, size) : B;
    uint8_t *D = C ? reach(m, actor, p->at[3], &p->d, ACCESS_WRITE, err, size) : NULL;
    if (!D) return false;
    if (p->workspace_bytes) {
        Block *w = memory_find(m, p->workspace, p->workspace_bytes);
        if (!w)
            return snprintf(err, size, "cublasLtMatmul: the workspace lies in no allocation"),
                   false;
        if (!memory_touch(m, w, p->workspace - w->at, p->workspace_bytes, ACCESS_WRITE, actor, err,
                          size))
            return false;
        memset(w->data + (p->workspace - w->at), 0x5a, p->workspace_bytes);
    }
    for (uint64_t b = 0; b < (uint64_t)p->d.batch; b++)
        for (uint64_t i = 0; i < p->m; i++)
            for (uint64_t j = 0; j < p->n; j++) {
                double v = p->alpha * dot(p, A, B, b, i, j);
                if (p->beta != 0)
                    v += p->beta * value_at(C + element(&p->c, b, i, j), p->c.type, false);
                put_at(D + element(&p->d, b, i, j), p->d.type, v);
            }
    return true;
}
static cublasStatus_t check(const Product *p, const Algo *algo) {
    static const char names[] = "ABCD";
    if (algo->is != LIVE + IS_ALGO || algo->product != hash_of(p))
        return refuse(CUBLAS_STATUS_INVALID_VALUE,
                      "cublasLtMatmul: the algorithm is for another product");
    if (p->workspace_bytes < algo->workspace)
        return refuse(CUBLAS_STATUS_INVALID_VALUE,
                      "cublasLtMatmul: a workspace of %llu bytes, it needs %llu",
                      (unsigned long long)p->workspace_bytes, (unsigned long long)algo->workspace);
    if (algo->workspace && (p->workspace < DEVICE_BASE || p->workspace % 256))
        return refuse(CUBLAS_STATUS_INVALID_VALUE,
                      "cublasLtMatmul: the workspace is not on the device, or not aligned");
    for (int k = 0; k < 4; k++) {
        if (k == 2 && p->beta == 0) continue;
        if (p->at[k] < DEVICE_BASE)
            return refuse(CUBLAS_STATUS_INVALID_VALUE,
                          "cublasLtMatmul: %c is an address of the host", names[k]);
        if (p->at[k] % algo->align[k])
            return refuse(CUBLAS_STATUS_INVALID_VALUE,
                          "cublasLtMatmul: %c is not aligned to %u, as was said", names[k],
                          algo->align[k]);
    }
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t out,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
    Product p = {.at = {(uintptr_t)A, (uintptr_t)B, (uintptr_t)C, (uintptr_t)D}};
    int fails = emu_call("cublasLtMatmul");
    if (fails) return failure(fails, CUBLAS_STATUS_EXECUTION_FAILED);
    if (!is_handle(handle) || !alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = describe(&p, d, a, b, c, out);
    if (status) return status;
    if (!algo)
        return refuse(CUBLAS_STATUS_INVALID_VALUE,
                      "cublasLtMatmul: no algorithm is given: its bits may change");
    Algo g;
    memcpy(&g, algo, sizeof g);
    p.alpha = value_at(alpha, p.desc.scale, false), p.beta = value_at(beta, p.desc.scale, false);
    p.workspace = (uintptr_t)workspace, p.workspace_bytes = workspace_bytes, p.splits = g.splits;
    status = check(&p, &g);
    if (status) return status;
    p.workspace_bytes = g.workspace;
    return emu_enqueue(stream, multiply, &p, sizeof p) ? CUBLAS_STATUS_EXECUTION_FAILED
                                                       : CUBLAS_STATUS_SUCCESS;
}
