/* gpu_kernels_test.c: kernels such as an engine has, compiled by NVRTC for several architectures
 * and executed: softmax, layer norm, Adam, sums over columns, products by tiles, random numbers,
 * sort, scatter, halves, functions of float64. The same in C gives the same bits. Then the same
 * kernels with mistakes: without a barrier, contracted, with fast mathematics.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"
#include "tests/unit/random.h"
#include <math.h>

enum { N = 256 };
static const char source[] =
    "#define KERNEL extern \"C\" __global__ void\n"
    "#ifdef NO_BARRIER\n#define BARRIER()\n#else\n#define BARRIER() __syncthreads()\n#endif\n"
    "#ifdef NO_WARP_BARRIER\n#define WARP_BARRIER()\n#else\n#define WARP_BARRIER() "
    "__syncwarp()\n#endif\n"
    "#define LAST (blockDim.x - OFF)\n#ifndef OFF\n#define OFF 0\n#endif\n"
    "template <class F> static float fold(float x, F f) {\n"
    "  __shared__ float part[32]; int t = threadIdx.x;\n"
    "  for (int w = 16; w; w /= 2) x = f(x, __shfl_down_sync(0xffffffffu, x, w));\n"
    "  BARRIER(); if (t % 32 == 0) part[t / 32] = x; BARRIER();\n"
    "  float r = part[0]; for (unsigned k = 1; k < blockDim.x / 32; k++) r = f(r, part[k]); return "
    "r; }\n"
    "KERNEL softmax(const float *a, float *o) { int i = blockIdx.x * LAST + threadIdx.x; float x = "
    "a[i];\n"
    "  float m = fold(x, [](float p, float q) { return p < q ? q : p; }); float e = (x - m) * (x - "
    "m) + 1.0f;\n"
    "  float s = fold(e, [](float p, float q) { return p + q; }); o[i] = e / s; }\n"
    "KERNEL layer_norm(const float *a, float *o) { int i = blockIdx.x * LAST + threadIdx.x; float "
    "x = "
    "a[i];\n"
    "  auto sum = [](float p, float q) { return p + q; }; float mean = fold(x, sum) / blockDim.x;\n"
    "  float var = fold((x - mean) * (x - mean), sum) / blockDim.x; o[i] = (x - mean) / sqrtf(var "
    "+ 1e-5f); }\n"
    "KERNEL adam(const float4 *g, float4 *x) { int i = blockIdx.x * LAST + threadIdx.x; float4 a = "
    "g[i], b = x[i];\n"
    "  float *p = &a.x, *q = &b.x; for (int k = 0; k < 4; k++) { float m = 0.1f * p[k], v = 0.001f "
    "* p[k] * p[k];\n"
    "  q[k] = q[k] - 0.01f * (m / 0.1f) / (sqrtf(v / 0.001f) + 1e-8f); } x[i] = b; }\n"
    "KERNEL columns(const float *a, float *o) { __shared__ float tile[16][17]; int x = threadIdx.x "
    "% 16, y = threadIdx.x / 16;\n"
    "  tile[y][x] = a[y * 16 + x]; BARRIER(); float s = 0; if (y == 0) { for (int k = 0; k < 16; "
    "k++) s = s + tile[k][x]; o[x] = s; } }\n"
    "KERNEL matmul(const float *a, const float *b, float *o) { __shared__ float p[8][8], q[8][8];\n"
    "  int x = threadIdx.x % 8, y = threadIdx.x / 8; float s = 0; for (int t = 0; t < 2; t++) {\n"
    "  p[y][x] = a[(blockIdx.y * 8 + y) * 16 + t * 8 + x]; q[y][x] = b[(t * 8 + y) * 16 + "
    "blockIdx.x * 8 + x]; BARRIER();\n"
    "  for (int k = 0; k < 8; k++) s = s + p[y][k] * q[k][x]; BARRIER(); } o[(blockIdx.y * 8 + y) "
    "* 16 + blockIdx.x * 8 + x] = s; }\n"
    "KERNEL philox(unsigned *o) { unsigned c[4] = {blockIdx.x * blockDim.x + threadIdx.x, 1, 2, "
    "3}, k0 = 7, k1 = 9;\n"
    "  for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) { unsigned h0 = "
    "__umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];\n"
    "  unsigned h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2]; c[0] = h1 ^ c[1] ^ k0, "
    "c[1] = l1, c[2] = h0 ^ c[3] ^ k1, c[3] = l0; }\n"
    "  o[blockIdx.x * blockDim.x + threadIdx.x] = c[0] ^ c[1] ^ c[2] ^ c[3]; }\n"
    "KERNEL sort(const int *a, int *o) { extern __shared__ int s[]; int t = threadIdx.x; s[t] = "
    "a[t]; BARRIER();\n"
    "  for (int k = 2; k <= 256; k *= 2) for (int j = k / 2; j; j /= 2) { int u = t ^ j; if (u > "
    "t) { int x = s[t], y = s[u];\n"
    "  if ((x > y) == ((t & k) == 0)) s[t] = y, s[u] = x; } BARRIER(); } o[t] = s[t]; }\n"
    "KERNEL warps(const int *a, int *o) { __shared__ int s[256]; int t = threadIdx.x; s[t] = a[t]; "
    "WARP_BARRIER();\n"
    "  int x = s[t ^ 1]; WARP_BARRIER(); s[t] = x + 1; WARP_BARRIER(); o[t] = s[t ^ 2]; }\n"
    "KERNEL count(const int *a, int *o) { __shared__ int n[16]; if (threadIdx.x < 16) "
    "n[threadIdx.x] = 0; BARRIER();\n"
    "  atomicAdd(&n[a[blockIdx.x * blockDim.x + threadIdx.x] & 15], 1); BARRIER(); if (threadIdx.x "
    "< 16) atomicAdd(&o[threadIdx.x], n[threadIdx.x]); }\n"
    "KERNEL halves(const float *a, unsigned short *o) { int i = threadIdx.x; unsigned short h, b;\n"
    "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(a[i])); asm(\"cvt.rn.bf16.f32 %0, %1;\" "
    ": \"=h\"(b) : \"f\"(a[i]));\n"
    "  o[2 * i] = h; o[2 * i + 1] = b; }\n"
    "__constant__ double table[4] = {1, 10, 100, 1e5};\n"
    "KERNEL doubles(const double *a, double *o) { double x = a[threadIdx.x] * table[threadIdx.x & "
    "3], r[6] = {sin(x), exp(x / 1e3), pow(fabs(x), 1.3),\n"
    "  log(fabs(x) + 1), erf(x), cbrt(x)}; o[threadIdx.x] = r[threadIdx.x % 6]; }\n"
    "KERNEL switches(const int *a, int *o) { int x = a[threadIdx.x], r = 0; for (int k = 0; k < (x "
    "& 31); k++) switch ((x >> k) & 7) {\n"
    "  case 0: r += k; break; case 1: r ^= x; break; case 2: r *= 3; break; case 3: if (r > 100) { "
    "k += 2; continue; } r--; break;\n"
    "  case 4: r = __popc(r) + __clz(x); break; case 5: return; default: r = r - x; } "
    "o[threadIdx.x] = r; }\n";

static float a[4 * N], b[4 * N], want[4 * N], got[4 * N];
static int ia[N], iwant[N], igot[N];
static CUmodule module;

static bool load(int arch, const char *more, uint64_t seed) {
    char *ptx = nvrtc_ptx(source, arch, more);
    CHECK(gpu_open(seed));
    gpu.emu_quiet(true);
    bool ok = ptx && !gpu.cuModuleLoadData(&module, ptx);
    free(ptx);
    return ok;
}
static CUresult run(const char *name, unsigned gx, unsigned gy, unsigned threads, unsigned shared,
                    CUdeviceptr p, CUdeviceptr q, CUdeviceptr s) {
    CUfunction f;
    void *param[] = {&p, &q, &s};
    CUresult code = gpu.cuModuleGetFunction(&f, module, name);
    if (!code)
        code = gpu.cuLaunchKernel(f, gx, gy, 1, threads, 1, 1, shared, gpu.stream, param, NULL);
    return code ? code : gpu.cuStreamSynchronize(gpu.stream);
}
/* The order of `fold`: by halves of a warp, then the warps. */
static float fold(const float *x, int n, bool is_most) {
    float part[32], y[64] = {0};
    for (int w = 0; w < n / 32; w++) {
        memcpy(y, x + 32 * w, sizeof(float) * 32);
        for (int s = 16; s; s /= 2)
            for (int l = 0; l < 32; l++) {
                float o = l + s < 32 ? y[l + s] : y[l];
                y[l] = is_most ? (y[l] < o ? o : y[l]) : y[l] + o;
            }
        part[w] = y[0];
    }
    float r = part[0];
    for (int w = 1; w < n / 32; w++) r = is_most ? (r < part[w] ? part[w] : r) : r + part[w];
    return r;
}
static void check(const char *name, const void *w, const void *g, size_t bytes) {
    CHECK_MSG(!memcmp(w, g, bytes), "%s gives other bits", name);
}
static void test_rows(void) {
    float e[N];
    CUdeviceptr da = gpu_buffer(a, sizeof a), d = gpu_buffer(NULL, sizeof got);
    CHECK_CU(run("softmax", 4, 1, N, 0, da, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(got, d, sizeof got));
    for (int r = 0; r < 4; r++) {
        float most = fold(a + r * N, N, true);
        for (int i = 0; i < N; i++) e[i] = (a[r * N + i] - most) * (a[r * N + i] - most) + 1.0f;
        float s = fold(e, N, false);
        for (int i = 0; i < N; i++) want[r * N + i] = e[i] / s;
    }
    check("softmax", want, got, sizeof got);
    CHECK_CU(run("layer_norm", 4, 1, N, 0, da, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(got, d, sizeof got));
    for (int r = 0; r < 4; r++) {
        float mean = fold(a + r * N, N, false) / (float)N;
        for (int i = 0; i < N; i++) e[i] = (a[r * N + i] - mean) * (a[r * N + i] - mean);
        float var = fold(e, N, false) / (float)N;
        for (int i = 0; i < N; i++) want[r * N + i] = (a[r * N + i] - mean) / sqrtf(var + 1e-5f);
    }
    check("layer_norm", want, got, sizeof got);
}
static void test_pointwise(void) {
    CUdeviceptr da = gpu_buffer(a, sizeof a), db = gpu_buffer(b, sizeof b);
    gpu.emu_clear_counters();
    CHECK_CU(run("adam", 4, 1, N / 4, 0, da, db, 0));
    Counters c;
    gpu.emu_counters(&c);
    CHECK_CU(gpu.cuMemcpyDtoH_v2(got, db, sizeof got));
    for (int i = 0; i < 4 * N; i++) {
        float m = 0.1f * a[i], v = 0.001f * a[i] * a[i];
        want[i] = b[i] - 0.01f * (m / 0.1f) / (sqrtf(v / 0.001f) + 1e-8f);
    }
    check("adam", want, got, sizeof got);
    CHECK_INT(c.load_bytes, 2 * sizeof a);
    CHECK_INT(c.load_sectors * 32, 2 * sizeof a);
    CHECK_INT(c.loads_by_width[4], 2 * N); /* 16 bytes a thread */
}
static void test_tiles(void) {
    CUdeviceptr da = gpu_buffer(a, sizeof a), db = gpu_buffer(b, sizeof b),
                d = gpu_buffer(got, sizeof got);
    CHECK_CU(run("columns", 1, 1, N, 0, da, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(got, d, 64));
    for (int x = 0; x < 16; x++) {
        want[x] = 0;
        for (int k = 0; k < 16; k++) want[x] = want[x] + a[k * 16 + x];
    }
    check("columns", want, got, 64);
    CHECK_CU(run("matmul", 2, 2, 64, 0, da, db, d));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(got, d, 1024));
    for (int i = 0; i < 256; i++) {
        want[i] = 0;
        for (int k = 0; k < 16; k++) want[i] = want[i] + a[i / 16 * 16 + k] * b[k * 16 + i % 16];
    }
    check("matmul", want, got, 1024);
}
static int ascending(const void *p, const void *q) {
    return (*(const int *)p > *(const int *)q) - (*(const int *)p < *(const int *)q);
}
static void test_whole(void) {
    CUdeviceptr da = gpu_buffer(ia, sizeof ia), d = gpu_buffer(NULL, sizeof igot);
    CHECK_CU(run("sort", 1, 1, N, sizeof ia, da, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(igot, d, sizeof igot));
    memcpy(iwant, ia, sizeof ia);
    qsort(iwant, N, sizeof *iwant, ascending);
    check("sort", iwant, igot, sizeof igot);
    CHECK_CU(run("warps", 1, 1, N, 0, da, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(igot, d, sizeof igot));
    for (int i = 0; i < N; i++) iwant[i] = ia[i ^ 3] + 1;
    check("warps", iwant, igot, sizeof igot);
    memset(iwant, 0, sizeof iwant);
    CHECK_CU(gpu.cuMemcpyHtoD_v2(d, iwant, sizeof iwant));
    CHECK_CU(run("count", 4, 1, N / 4, 0, da, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(igot, d, 64));
    for (int i = 0; i < N; i++) iwant[ia[i] & 15]++;
    check("count", iwant, igot, 64);
    CHECK_CU(run("philox", 2, 1, N / 2, 0, d, 0, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(igot, d, sizeof igot));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t c[4] = {i, 1, 2, 3}, k0 = 7, k1 = 9;
        for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
            uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
            c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0, c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
            c[1] = (uint32_t)q, c[3] = (uint32_t)p;
        }
        iwant[i] = (int)(c[0] ^ c[1] ^ c[2] ^ c[3]);
    }
    check("philox", iwant, igot, sizeof igot);
}
static int switched(int x) {
    int r = 0;
    for (int k = 0; k < (x & 31); k++) switch ((x >> k) & 7) {
        case 0: r += k; break;
        case 1: r ^= x; break;
        case 2: r = (int)((unsigned)r * 3); break;
        case 3:
            if (r > 100) {
                k += 2;
                continue;
            }
            r--;
            break;
        case 4: r = __builtin_popcount((unsigned)r) + (x ? __builtin_clz((unsigned)x) : 32); break;
        case 5: return -77;
        default: r = (int)((unsigned)r - (unsigned)x);
        }
    return r;
}
static void test_others(void) {
    double da[N], dgot[N];
    for (int i = 0; i < N; i++) iwant[i] = -77;
    CUdeviceptr at = gpu_buffer(ia, sizeof ia), d = gpu_buffer(iwant, sizeof iwant);
    CHECK_CU(run("switches", 1, 1, N, 0, at, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(igot, d, sizeof igot));
    for (int i = 0; i < N; i++) iwant[i] = switched(ia[i]);
    check("switches", iwant, igot, sizeof igot);
    for (int i = 0; i < N; i++) da[i] = (double)a[i] * 12.5;
    at = gpu_buffer(da, sizeof da), d = gpu_buffer(NULL, sizeof dgot);
    CHECK_CU(run("doubles", 1, 1, N, 0, at, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(dgot, d, sizeof dgot));
    static const double table[] = {1, 10, 100, 1e5};
    int off = 0;
    for (int i = 0; i < N; i++) {
        double x = da[i] * table[i & 3];
        double r[] = {sin(x), exp(x / 1e3), pow(fabs(x), 1.3), log(fabs(x) + 1), erf(x), cbrt(x)},
               y = r[i % 6];
        off += !(fabs(dgot[i] - y) <= fabs(y) * 1e-15 || (y != y && dgot[i] != dgot[i]) ||
                 y == dgot[i]);
    }
    CHECK_INT(off, 0);
    uint16_t h[2 * N];
    at = gpu_buffer(a, N * 4), d = gpu_buffer(NULL, sizeof h);
    CHECK_CU(run("halves", 1, 1, N, 0, at, d, 0));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(h, d, sizeof h));
    for (int i = 0; i < N; i++) {
        uint32_t u;
        memcpy(&u, &a[i], 4);
        off += h[2 * i + 1] != (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    CHECK_INT(off, 0);
}
/* Each mistake is found, whatever the order of blocks and warps. */
static void test_mistakes(void) {
    static const struct {
        const char *option, *kernel, *words;
        unsigned blocks, threads;
    } mistakes[] = {{"-DNO_BARRIER", "softmax", "shared memory", 2, N},
                    {"-DNO_BARRIER", "columns", "shared memory", 1, N},
                    {"-DNO_BARRIER", "sort", "shared memory", 1, N},
                    {"-DNO_BARRIER", "count", "shared memory", 1, N},
                    {"-DNO_WARP_BARRIER", "warps", "shared memory", 1, N},
                    {"-DOFF=1", "softmax", "race", 2, N},
                    {"-DOFF=0", "softmax", "which is not there", 1, 250}};
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        char *text = malloc(sizeof source + 100), name[40];
        snprintf(name, sizeof name, "%s", mistakes[k].option + 2);
        char *equals = strchr(name, '=');
        if (equals) *equals = ' ';
        snprintf(text, sizeof source + 100, "#define %s\n%s", name, source);
        char *ptx = nvrtc_ptx(text, 80, NULL);
        for (uint64_t seed = 0; ptx && seed < 3; seed++) {
            CHECK(gpu_open(seed));
            gpu.emu_quiet(true);
            CHECK_CU(gpu.cuModuleLoadData(&module, ptx));
            CUdeviceptr da = gpu_buffer(a, sizeof a), d = gpu_buffer(want, sizeof want);
            CHECK_REFUSED(
                run(mistakes[k].kernel, mistakes[k].blocks, 1, mistakes[k].threads, 2048, da, d, 0),
                mistakes[k].words);
        }
        free(text), free(ptx);
    }
    CHECK(gpu_open(1)); /* the device of the last mistake is lost */
    CHECK(!load(80, "-fmad=true", 1) && strstr(gpu.emu_refusal(), "may contract"));
    CHECK(!load(80, "--use_fast_math", 1));
}
int main(int argc, char **argv) {
    int archs[] = {80, 120};
    if (!gpu_open(1)) return 1;
    if (!nvrtc_open("gpu_kernels")) return check_report("gpu_kernels");
    Rand r = {rand_seed(argc, argv)};
    for (int i = 0; i < 4 * N; i++)
        a[i] = (float)rand_below(&r, 2000) / 97.0f - 10, b[i] = (float)rand_below(&r, 2000) / 31.0f;
    for (int i = 0; i < N; i++) ia[i] = (int)rand_u64(&r);
    int n_archs = nvrtc_archs("gpu_kernels", archs, 2);
    for (int k = 0; k < n_archs; k++) {
        bool ok = load(archs[k], NULL, (uint64_t)k);
        CHECK_MSG(ok, "%s", gpu.emu_refusal());
        if (!ok) continue;
        test_rows();
        test_pointwise();
        test_tiles();
        test_whole();
        test_others();
    }
    test_mistakes();
    return check_report("gpu_kernels");
}
