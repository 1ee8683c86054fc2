/* gpu_blas_test.c: products of the emulated cuBLASLt against loops, in every type, order and
 * transposition, in batches, and what it refuses; the emulated NVML.
 * SPDX-License-Identifier: MIT */
#include "worker/cuda/cublaslt_api.h"
#include "worker/cuda/nvml_api.h"
#include "tests/unit/gpu.h"
#include "tests/unit/random.h"

typedef struct Blas {
#define X(name, args) cublasStatus_t(*name) args;
    CUBLASLT_FUNCTIONS(X)
#undef X
} Blas;
static Blas blas;
static cublasLtHandle_t handle;
enum { ELEMENTS = 4096, BYTES = 8 * ELEMENTS, WORKSPACE = 1 << 16 };

static bool open_blas(uint64_t seed) {
    static void *library;
    if (!gpu_open(seed)) return false;
    gpu.emu_quiet(true);
    if (!library && !(library = gpu_library("libcublasLt.so.13"))) return false;
    bool is_whole = true;
#define X(name, args) is_whole &= (*(void **)&blas.name = dlsym(library, #name)) != NULL;
    CUBLASLT_FUNCTIONS(X)
#undef X
    return is_whole && !blas.cublasLtCreate(&handle);
}
/* d (m,n) = alpha * a (m,k) @ b (k,n) + beta * c, of a batch; row-major unless the bit of `columns`
 * says otherwise. */
typedef struct Case {
    uint64_t m, n, k;
    int32_t batch, trans_a, trans_b, columns;
    cudaDataType type;
    cublasComputeType_t compute;
    double alpha, beta;
    uint32_t schemes, align;
    size_t workspace;
} Case;
typedef struct Things {
    cublasLtMatmulDesc_t d;
    cublasLtMatrixLayout_t l[4];
    cublasLtMatmulPreference_t p;
    cublasLtMatmulHeuristicResult_t r[4];
    int count;
    CUdeviceptr at[4], workspace;
    double x[4][ELEMENTS];
} Things;
static size_t size_of(cudaDataType t) { return t == CUDA_R_64F ? 8 : t == CUDA_R_32F ? 4 : 2; }
/* Small whole numbers: every type and order of adding has them exactly. */
static void put(void *to, cudaDataType t, int64_t i, double v) {
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    uint16_t b = (uint16_t)(u >> 16), h = 0;
    if (v != 0)
        h = (uint16_t)((u >> 16 & 0x8000) | (((u >> 23 & 255) - 112) << 10) | (u >> 13 & 0x3ff));
    if (t == CUDA_R_64F)
        ((double *)to)[i] = v;
    else if (t == CUDA_R_32F)
        ((float *)to)[i] = f;
    else
        ((uint16_t *)to)[i] = t == CUDA_R_16BF ? b : h;
}
static uint64_t index_of(const Case *c, int which, uint64_t batch, uint64_t i, uint64_t j) {
    bool flip = (which == 0 && c->trans_a) || (which == 1 && c->trans_b);
    uint64_t rows = which == 0 ? c->m : which == 1 ? c->k : c->m, cols = which == 0 ? c->k : c->n;
    if (flip) {
        uint64_t t = i;
        i = j, j = t, t = rows, rows = cols, cols = t;
    }
    return batch * (rows * cols + 16) + (c->columns >> which & 1 ? j * rows + i : i * cols + j);
}
static void make(const Case *c, Things *t, Rand *r) {
    static uint64_t bytes[ELEMENTS];
    CHECK(!blas.cublasLtMatmulDescCreate(&t->d, c->compute,
                                         c->type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F));
    CHECK(!blas.cublasLtMatmulDescSetAttribute(t->d, CUBLASLT_MATMUL_DESC_TRANSA, &c->trans_a, 4));
    CHECK(!blas.cublasLtMatmulDescSetAttribute(t->d, CUBLASLT_MATMUL_DESC_TRANSB, &c->trans_b, 4));
    for (int k = 0; k < 4; k++) {
        bool flip = (k == 0 && c->trans_a) || (k == 1 && c->trans_b);
        uint64_t rows = k == 1 ? c->k : c->m, cols = k == 0 ? c->k : c->n, h = rows;
        if (flip) rows = cols, cols = h;
        int32_t order = c->columns >> k & 1 ? CUBLASLT_ORDER_COL : CUBLASLT_ORDER_ROW;
        int64_t stride = (int64_t)(rows * cols + 16);
        CHECK(!blas.cublasLtMatrixLayoutCreate(&t->l[k], c->type, rows, cols,
                                               (int64_t)(order ? cols : rows)));
        CHECK(!blas.cublasLtMatrixLayoutSetAttribute(t->l[k], CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                                     4));
        CHECK(!blas.cublasLtMatrixLayoutSetAttribute(t->l[k], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                     &c->batch, 4));
        CHECK(!blas.cublasLtMatrixLayoutSetAttribute(
            t->l[k], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, 8));
        for (int i = 0; i < ELEMENTS; i++)
            put(bytes, c->type, i, t->x[k][i] = rand_below(r, 9) - 4);
        t->at[k] = gpu_buffer(bytes, ELEMENTS * size_of(c->type));
    }
    CHECK(!blas.cublasLtMatmulPreferenceCreate(&t->p));
    CHECK(!blas.cublasLtMatmulPreferenceSetAttribute(t->p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                     &c->workspace, 8));
    CHECK(!blas.cublasLtMatmulPreferenceSetAttribute(
        t->p, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &c->schemes, 4));
    for (int k = 0; k < 4; k++)
        CHECK(!blas.cublasLtMatmulPreferenceSetAttribute(
            t->p,
            (cublasLtMatmulPreferenceAttributes_t)(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + k),
            &c->align, 4));
    CHECK(!blas.cublasLtMatmulAlgoGetHeuristic(handle, t->d, t->l[0], t->l[1], t->l[2], t->l[3],
                                               t->p, 4, t->r, &t->count));
    CHECK(!gpu.cuMemAlloc_v2(&t->workspace, WORKSPACE));
}
static void unmake(Things *t) {
    CHECK(!blas.cublasLtMatmulDescDestroy(t->d) && !blas.cublasLtMatmulPreferenceDestroy(t->p));
    for (int k = 0; k < 4; k++) CHECK(!blas.cublasLtMatrixLayoutDestroy(t->l[k]));
    CHECK(!blas.cublasLtDestroy(handle));
}
static cublasStatus_t multiply(const Case *c, Things *t) {
    double alpha[1], beta[1];
    put(alpha, c->type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F, 0, c->alpha);
    put(beta, c->type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F, 0, c->beta);
    return blas.cublasLtMatmul(handle, t->d, alpha, (void *)t->at[0], t->l[0], (void *)t->at[1],
                               t->l[1], beta, (void *)t->at[2], t->l[2], (void *)t->at[3], t->l[3],
                               &t->r[0].algo, (void *)t->workspace, c->workspace, gpu.stream);
}
static int differences(const Case *c, const Things *t) {
    static uint64_t got[ELEMENTS], want[ELEMENTS];
    CHECK_CU(gpu.cuMemcpyDtoH_v2(got, t->at[3], ELEMENTS * size_of(c->type)));
    for (int i = 0; i < ELEMENTS; i++) put(want, c->type, i, t->x[3][i]);
    for (uint64_t b = 0; b < (uint64_t)c->batch; b++)
        for (uint64_t i = 0; i < c->m; i++)
            for (uint64_t j = 0; j < c->n; j++) {
                double sum = 0;
                for (uint64_t k = 0; k < c->k; k++)
                    sum += t->x[0][index_of(c, 0, b, i, k)] * t->x[1][index_of(c, 1, b, k, j)];
                put(want, c->type, (int64_t)index_of(c, 3, b, i, j),
                    c->alpha * sum + c->beta * t->x[2][index_of(c, 2, b, i, j)]);
            }
    return memcmp(got, want, ELEMENTS * size_of(c->type)) != 0;
}
static void test_products(Rand *r, int rounds) {
    static const struct {
        cudaDataType type;
        cublasComputeType_t compute;
    } types[] = {{CUDA_R_32F, CUBLAS_COMPUTE_32F},
                 {CUDA_R_64F, CUBLAS_COMPUTE_64F},
                 {CUDA_R_16F, CUBLAS_COMPUTE_32F},
                 {CUDA_R_16BF, CUBLAS_COMPUTE_32F},
                 {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32}};
    static Things t;
    for (int k = 0; k < rounds; k++) {
        Case c = {.m = 1 + (uint64_t)rand_below(r, 9),
                  .n = 1 + (uint64_t)rand_below(r, 9),
                  .k = 1 + (uint64_t)rand_below(r, 7),
                  .batch = 1 + rand_below(r, 3),
                  .trans_a = rand_below(r, 2),
                  .trans_b = rand_below(r, 2),
                  .columns = rand_below(r, 16),
                  .type = types[k % 5].type,
                  .compute = types[k % 5].compute,
                  .alpha = 1,
                  .beta = rand_below(r, 2),
                  .schemes = (uint32_t)rand_below(r, 8),
                  .align = 16,
                  .workspace = (size_t)rand_below(r, 2) * WORKSPACE};
        CHECK(open_blas((uint64_t)k));
        make(&c, &t, r);
        CHECK_INT(multiply(&c, &t), 0);
        CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
        CHECK_INT(differences(&c, &t), 0);
        unmake(&t);
    }
}
static void test_refusals(Rand *r) {
    static Things t;
    Case c = {.m = 4,
              .n = 4,
              .k = 4,
              .batch = 1,
              .type = CUDA_R_32F,
              .compute = CUBLAS_COMPUTE_32F,
              .alpha = 1,
              .align = 16,
              .workspace = WORKSPACE};
    CHECK(open_blas(1));
    make(&c, &t, r);
    Case less = c;
    less.workspace = 16;
    CHECK_REFUSED(multiply(&less, &t), "a workspace of 16 bytes, it needs");
    Things u = t;
    u.at[1] += 4;
    CHECK_REFUSED(multiply(&c, &u), "B is not aligned to 16");
    u = t, u.at[0] = (CUdeviceptr)(uintptr_t)&u;
    CHECK_REFUSED(multiply(&c, &u), "A is an address of the host");
    u = t, u.r[0].algo.data[1]++;
    CHECK_REFUSED(multiply(&c, &u), "for another product");
    u = t, u.l[1] = NULL;
    CHECK(multiply(&c, &u) == CUBLAS_STATUS_INVALID_VALUE);
    int32_t three = 3;
    CHECK_REFUSED(blas.cublasLtMatmulDescSetAttribute(t.d, CUBLASLT_MATMUL_DESC_TRANSA, &three, 8),
                  "has 4 bytes, not 8");
    gpu.emu_fail("cublasLtMatmul", 1, 1);
    CHECK_INT(multiply(&c, &t), CUBLAS_STATUS_EXECUTION_FAILED);
    CHECK_INT(multiply(&c, &t), 0);
    CHECK_CU(gpu.cuStreamSynchronize(gpu.stream));
    CUstream other; /* a product that nothing orders */
    CHECK_CU(gpu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    gpu.cuMemsetD32Async(t.at[0], 0, 16, other);
    multiply(&c, &t);
    CHECK_REFUSED(gpu.cuCtxSynchronize(), "race");
    gpu.emu_reset(1);
    unmake(&t);
    CHECK(open_blas(1));
    make(&c, &t, r);
    u = t, u.at[3] += ELEMENTS * 4 - 16;
    multiply(&c, &u);
    CHECK_REFUSED(gpu.cuCtxSynchronize(), "lie in no allocation");
    gpu.emu_reset(1);
    unmake(&t);
}
static void test_nvml(void) {
    void *library = gpu_library("libnvidia-ml.so.1");
    CHECK(library != NULL);
    if (!library) return;
    __typeof__(nvmlInit_v2) *init;
    __typeof__(nvmlDeviceGetHandleByPciBusId_v2) *find;
    __typeof__(nvmlDeviceGetTemperature) *temperature;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&find = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&temperature = dlsym(library, "nvmlDeviceGetTemperature");
    nvmlDevice_t d;
    unsigned celsius = 0;
    char id[32];
    CHECK(gpu_open(1));
    CHECK_CU(gpu.cuDeviceGetPCIBusId(id, sizeof id, 0));
    CHECK(init && find && temperature && find(id, &d) == NVML_ERROR_UNINITIALIZED);
    CHECK(!init() && !find(id, &d) && !temperature(d, NVML_TEMPERATURE_GPU, &celsius));
    CHECK_INT(celsius, 47);
    CHECK(find("0000:01:00.0", &d) == NVML_ERROR_NOT_FOUND);
}
int main(int argc, char **argv) {
    Rand r = {rand_seed(argc, argv)};
    test_products(&r, rand_rounds(100));
    test_refusals(&r);
    test_nvml();
    return check_report("gpu_blas");
}
