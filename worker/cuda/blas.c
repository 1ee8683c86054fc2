/* blas.c: matrix products by cuBLASLt, where the product's `allow` or GT_CUDA_BLAS asks for it.
 * Layouts are column-major, the library's own: of (M, K) @ (K, N) = (M, N), row-major, it computes
 * the transposed product. The engine's own kernels compute the rest: operands that no layout
 * describes, products with M or N of 1, integers, and float32 results of halves.
 *
 * `allow` is the program's permission (set_precision, attrs.def), an attribute of each product, so
 * that clients of one worker differ. The library is opened for the first such product; where it is
 * not there, the engine's own kernels multiply, and the log says why. GT_CUDA_BLAS overrides
 * `allow` for all products: with 0 the library is never opened, 1 and tf32 need it.
 *
 * The heuristics list algorithms for given sizes, strides, dtype and alignment. The first one that
 * does not split the sum over K is used. So a product has the same bits each time; but other sizes
 * may have another algorithm, and another order of additions. The algorithms and descriptors of the
 * PRODUCTS_MOST kinds of products used last are kept, which limits the memory. For an evicted kind
 * the library chooses the same algorithm again.
 * SPDX-License-Identifier: MIT */
#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/wire/lru.h"
#include "worker/cuda/blas.h"
#include "worker/cuda/graph.h"
#include "worker/cuda/product_args.h"
#include "worker/engine/view.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an algorithm depends on. Operand 0 is b and 1 is a, as the library sees them; 2 the result.
 */
typedef struct Key {
    int64_t rows[3], columns[3], line[3], step[3]; /* column-major, as stored; step: of the batch */
    int64_t batch, k;
    int32_t is_transposed[2], align[3], type, compute, scale;
} Key;
enum { PRODUCTS_MOST = 512 };
typedef struct BlasProduct BlasProduct;
struct BlasProduct {
    LruItem item;      /* first */
    BlasProduct *next; /* of the same hash */
    uint64_t hash;
    Key key;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout[3];
    cublasLtMatmulAlgo_t algo;
    bool has_algo;
};
struct CudaBlas {
    const BlasLibs *libs;
    cublasLtHandle_t handle;
    char *workspace;
    CUdeviceptr owned; /* the workspace, unless it lies behind the arena */
    Map products;      /* by the hash of the key */
    Lru used;          /* the same */
};

/* What a product may do: only the engine's own kernels (WISH_OWN), cuBLASLt with another order of
 * additions (WISH_ORDER), and with TF32 too. */
typedef enum Wish { WISH_UNKNOWN, WISH_OWN, WISH_ORDER, WISH_TF32 } Wish;

/* The environment's; WISH_UNKNOWN: it leaves that to the program. */
static Wish forced(void) {
    const char *text = env_word("GT_CUDA_BLAS");
    return !strcmp(text, "0")      ? WISH_OWN
           : !strcmp(text, "1")    ? WISH_ORDER
           : !strcmp(text, "tf32") ? WISH_TF32
                                   : WISH_UNKNOWN;
}

bool cuda_wants_blas(void) { return forced() > WISH_OWN; }

bool cuda_blas_name(char *name, size_t size, Err *err) {
    *name = 0;
    if (!cuda_wants_blas()) return true;
    const BlasLibs *libs = cuda_blas_libs(err);
    if (!libs) return false;
    int version = (int)libs->cublasLtGetVersion();
    snprintf(name, size, "cublas%d.%d%s", version / 10000, version / 100 % 100,
             forced() == WISH_TF32 ? "-tf32" : "");
    return true;
}

/* Returns true if status is success. */
static bool is_done(int status, const char *call, Err *err) {
    if (!status) return true;
    if (status == CUBLAS_STATUS_ALLOC_FAILED)
        return err_set(err, ERR_MEMORY, "%s: out of memory", call);
    return err_set(err, ERR_IO, "%s: status %d", call, status);
}

/* False: c->blas may be set, for cuda_close_blas, but has no handle. */
static bool open_library(Cuda *c, char *workspace, Err *err) {
    const BlasLibs *libs = cuda_blas_libs(err);
    if (!libs) return false;
    CudaBlas *b = c->blas = xcalloc(1, sizeof *b);
    b->libs = libs;
    b->workspace = workspace;
    if (!workspace) {
        if (!CUDA(c->libs, err, cuMemAlloc_v2, &b->owned, BLAS_BYTES)) return false;
        b->workspace = (char *)b->owned;
    }
    int status = (int)libs->cublasLtCreate(&b->handle);
    if (status) b->handle = NULL;
    return is_done(status, "cublasLtCreate", err);
}

bool cuda_open_blas(Cuda *c, char *workspace, Err *err) {
    char name[CUDA_BLAS_NAME];
    c->blas_forced = (int)forced();
    if (!cuda_blas_name(name, sizeof name, err)) return false;
    if (!name[0]) return true;
    if (!open_library(c, workspace, err)) return false;
    size_t n = strlen(c->isa);
    snprintf(c->isa + n, sizeof c->isa - n, "-%s", name);
    return true;
}

void cuda_about_blas(const Cuda *c, Bytes *out) {
    if (!c->blas || !c->blas->handle) return;
    int version = (int)c->blas->libs->cublasLtGetVersion();
    bytes_printf(out, "blas=cuBLASLt %d.%d\n", version / 10000, version / 100 % 100);
}

static void free_product(const BlasLibs *l, BlasProduct *p) {
    for (int i = 0; i < 3; i++)
        if (p->layout[i]) l->cublasLtMatrixLayoutDestroy(p->layout[i]);
    if (p->desc) l->cublasLtMatmulDescDestroy(p->desc);
    free(p);
}

/* Calls under way do not need it. */
static void forget_oldest(CudaBlas *b) {
    BlasProduct *p = (BlasProduct *)b->used.oldest, *first = map_get(&b->products, p->hash);
    BlasProduct **at = &first;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    if (first)
        map_put(&b->products, p->hash, first);
    else
        map_remove(&b->products, p->hash);
    lru_remove(&b->used, &p->item);
    free_product(b->libs, p);
}

void cuda_close_blas(Cuda *c) {
    CudaBlas *b = c->blas;
    if (!b) return;
    while (b->used.n) forget_oldest(b);
    map_fini(&b->products);
    if (b->owned) c->libs->cuMemFree_v2(b->owned);
    if (b->handle) b->libs->cublasLtDestroy(b->handle);
    free(b);
    c->blas = NULL;
}

/* ---- Descriptors and algorithms ---- */

static bool make_layout(const BlasLibs *l, const Key *k, int i, cublasLtMatrixLayout_t *to) {
    int32_t batch = (int32_t)k->batch;
    return !l->cublasLtMatrixLayoutCreate(to, (cudaDataType)k->type, (uint64_t)k->rows[i],
                                          (uint64_t)k->columns[i], k->line[i]) &&
           !l->cublasLtMatrixLayoutSetAttribute(*to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                sizeof batch) &&
           !l->cublasLtMatrixLayoutSetAttribute(*to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &k->step[i], sizeof k->step[i]);
}

/* Chooses the algorithm. Without one, or if the library does not take such a product, has_algo
 * stays false, and the engine's own kernels multiply. Returns false if a call fails: then the
 * product must fail, as by another algorithm its bits might differ from those of the next run. */
static bool ask(const CudaBlas *b, BlasProduct *p) {
    enum { MOST = 8 };
    const BlasLibs *l = b->libs;
    uint64_t room = BLAS_BYTES;
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE;
    cublasLtMatmulPreference_t wish = NULL;
    cublasLtMatmulHeuristicResult_t result[MOST];
    int n = 0;
    if (l->cublasLtMatmulPreferenceCreate(&wish)) return false;
    static const cublasLtMatmulPreferenceAttributes_t name[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    bool ok = !l->cublasLtMatmulPreferenceSetAttribute(
                  wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room) &&
              !l->cublasLtMatmulPreferenceSetAttribute(
                  wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes);
    for (int i = 0; i < 4; i++) {
        uint32_t align = (uint32_t)p->key.align[i < 3 ? i : 2];
        ok = ok && !l->cublasLtMatmulPreferenceSetAttribute(wish, name[i], &align, sizeof align);
    }
    int status = ok ? (int)l->cublasLtMatmulAlgoGetHeuristic(b->handle, p->desc, p->layout[0],
                                                             p->layout[1], p->layout[2],
                                                             p->layout[2], wish, MOST, result, &n)
                    : 0;
    if (status) n = 0;
    ok = ok && (!status || status == CUBLAS_STATUS_NOT_SUPPORTED ||
                status == CUBLAS_STATUS_INVALID_VALUE); /* such as extents over 2^31 */
    for (int i = 0; ok && i < n && !p->has_algo; i++) {
        int32_t splits = 1;
        uint32_t scheme = 0;
        size_t wrote;
        if (result[i].state || result[i].workspaceSize > room) continue;
        ok = !l->cublasLtMatmulAlgoConfigGetAttribute(&result[i].algo,
                                                      CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits,
                                                      sizeof splits, &wrote) &&
             !l->cublasLtMatmulAlgoConfigGetAttribute(&result[i].algo,
                                                      CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                                      &scheme, sizeof scheme, &wrote);
        p->has_algo = ok && splits <= 1 && scheme == CUBLASLT_REDUCTION_SCHEME_NONE;
        p->algo = result[i].algo;
    }
    l->cublasLtMatmulPreferenceDestroy(wish);
    return ok;
}

/* Returns the product of a key; NULL: err says why. */
static const BlasProduct *find_product(CudaBlas *b, const Key *key, Err *err) {
    const BlasLibs *l = b->libs;
    uint64_t hash = hash_bytes(key, sizeof *key, 1);
    BlasProduct *p = map_get(&b->products, hash);
    while (p && memcmp(&p->key, key, sizeof *key)) p = p->next;
    if (p) {
        lru_use(&b->used, &p->item);
        return p;
    }
    p = xcalloc(1, sizeof *p);
    p->key = *key, p->hash = hash;
    bool ok = !l->cublasLtMatmulDescCreate(&p->desc, (cublasComputeType_t)key->compute,
                                           (cudaDataType)key->scale);
    for (int i = 0; i < 2; i++) {
        int32_t op = key->is_transposed[i] ? CUBLAS_OP_T : CUBLAS_OP_N;
        ok = ok && !l->cublasLtMatmulDescSetAttribute(
                       p->desc, i ? CUBLASLT_MATMUL_DESC_TRANSB : CUBLASLT_MATMUL_DESC_TRANSA, &op,
                       sizeof op);
    }
    for (int i = 0; i < 3; i++) ok = ok && make_layout(l, key, i, &p->layout[i]);
    ok = ok && ask(b, p);
    if (!ok) {
        free_product(l, p);
        err_set(err, ERR_IO, "cuBLASLt cannot describe a product");
        return NULL;
    }
    if (b->used.n == PRODUCTS_MOST) forget_oldest(b);
    p->next = map_get(&b->products, hash);
    map_put(&b->products, hash, p);
    lru_add(&b->used, &p->item, sizeof *p);
    return p;
}

/* ---- Products ---- */

/* The largest power of two, up to 256, that divides an address and steps of so many bytes. */
static int32_t alignment(const void *p, int64_t step) {
    uint64_t all = (uint64_t)(uintptr_t)p | (uint64_t)step | 256;
    return (int32_t)(all & (~all + 1));
}

/* Describes operand i of the key, a matrix of rows x columns with strides `row` and `column`, in
 * elements. is_transposed: the elements of a row are contiguous, not those of a column. Returns
 * false if neither are. */
static bool set_operand(Key *k, int i, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    bool as_is = row == 1 || rows == 1, turned = column == 1 || columns == 1;
    if (as_is && (columns == 1 || column >= rows)) {
        k->rows[i] = rows, k->columns[i] = columns, k->line[i] = columns == 1 ? rows : column;
        return true;
    }
    if (!turned || !(rows == 1 || row >= columns)) return false;
    k->rows[i] = columns, k->columns[i] = rows, k->line[i] = rows == 1 ? columns : row;
    k->is_transposed[i] = 1;
    return true;
}

/* Joins the last axes of the batch that have one step per operand. Sets *from to the first of them.
 */
static void join_batch(const ProductArgs *p, Key *k, int64_t *from) {
    int64_t d = p->rank;
    k->batch = 1;
    k->step[0] = k->step[1] = 0;
    while (d > 0) {
        int64_t n = p->shape[d - 1], a = p->a_batch[d - 1], b = p->b_batch[d - 1];
        bool joins = k->batch == 1 || (a == k->step[1] * k->batch && b == k->step[0] * k->batch);
        if (n > 1 && (!joins || n * k->batch > INT32_MAX)) break;
        if (n > 1 && k->batch == 1) k->step[1] = a, k->step[0] = b;
        k->batch *= n, d--;
    }
    *from = d;
}

static bool multiply(Cuda *c, const BlasProduct *product, const char *a, const char *b, char *out,
                     Err *err) {
    CudaBlas *blas = c->blas;
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    bool is_wide = product->key.scale == CUDA_R_64F;
    int status = (int)blas->libs->cublasLtMatmul(
        blas->handle, product->desc, is_wide ? (const void *)&wide_one : &one, b,
        product->layout[0], a, product->layout[1], is_wide ? (const void *)&wide_zero : &zero, out,
        product->layout[2], out, product->layout[2], &product->algo, blas->workspace, BLAS_BYTES,
        c->stream);
    return is_done(status, "cublasLtMatmul", err);
}

static int32_t type_of(DType d) {
    return d == DT_F64    ? CUDA_R_64F
           : d == DT_F32  ? CUDA_R_32F
           : d == DT_BF16 ? CUDA_R_16BF
                          : CUDA_R_16F;
}

static Wish find_wish(const Cuda *c, const Inst *inst) {
    if (c->blas_forced) return (Wish)c->blas_forced;
    const Attr *allow = inst_attr(inst, ATTR_ALLOW);
    if (!allow) return WISH_OWN;
    return allow->n == 4 && !memcmp(allow->str, "tf32", 4) ? WISH_TF32 : WISH_ORDER;
}

/* Opens the library for the first product that is allowed to use it. Returns 1; 0: there is none;
 * -1: there is, but no memory for it now. Then the product must fail, as its bits might differ from
 * those of later ones. */
static int open_late(Cuda *c, Err *err) {
    Err why = {0};
    if (c->has_blas_failed) return 0;
    if (c->blas || open_library(c, NULL, &why)) return 1;
    cuda_close_blas(c);
    if (why.code == ERR_MEMORY) return *err = why, -1;
    c->has_blas_failed = true;
    log_line("WORKER", "set_precision has no effect, because cuBLASLt cannot be opened: %s",
             why.text);
    return 0;
}

int cuda_blas_product(Cuda *c, const Inst *inst, const ProductArgs *p, DType from, DType to,
                      Err *err) {
    Wish wish = find_wish(c, inst);
    if (wish == WISH_OWN || !dtype_is_float(from) || from != to || p->M == 1 || p->N == 1 || !p->K)
        return 0;
    if (!c->has_blas_failed && cuda_is_captured(c)) return -1;
    int is_open = open_late(c, err);
    if (is_open < 1) return is_open;
    Key k;
    int64_t outer, size = dtype_info[from].size_bytes;
    memset(&k, 0, sizeof k);
    k.k = p->K, k.type = type_of(from);
    k.scale = from == DT_F64 ? CUDA_R_64F : CUDA_R_32F;
    k.compute = from == DT_F64                        ? CUBLAS_COMPUTE_64F
                : from == DT_F32 && wish == WISH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                      : CUBLAS_COMPUTE_32F;
    if (!set_operand(&k, 0, p->N, p->K, p->b_n, p->b_k) ||
        !set_operand(&k, 1, p->K, p->M, p->a_k, p->a_m))
        return 0;
    join_batch(p, &k, &outer);
    k.rows[2] = p->N, k.columns[2] = p->M, k.line[2] = p->N, k.step[2] = p->M * p->N;
    k.align[0] = alignment(p->b, k.step[0] * size), k.align[1] = alignment(p->a, k.step[1] * size);
    for (int64_t d = 0; d < outer; d++) {
        k.align[0] = alignment((void *)(uintptr_t)k.align[0], p->b_batch[d] * size);
        k.align[1] = alignment((void *)(uintptr_t)k.align[1], p->a_batch[d] * size);
    }
    k.align[2] = alignment(p->out, k.step[2] * size);
    const BlasProduct *product = find_product(c->blas, &k, err);
    if (!product) return -1;
    if (!product->has_algo) return 0;
    for (int64_t i = 0; i < p->batch / k.batch; i++) {
        const char *a = p->a, *b = p->b;
        int64_t rest = i;
        for (int64_t d = outer - 1; d >= 0; d--) {
            a += rest % p->shape[d] * p->a_batch[d] * size;
            b += rest % p->shape[d] * p->b_batch[d] * size;
            rest /= p->shape[d];
        }
        if (!multiply(c, product, a, b, p->out + i * k.batch * k.step[2] * size, err)) return -1;
    }
    return 1;
}
