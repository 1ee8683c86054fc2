/* gpu_ptx_test.c: kernels on the emulated GPU: one made by NVRTC, one by hand; hostile PTX.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"

static const char add_by_hand[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 o, .param .u32 n)\n{\n"
    "  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [o]; ld.param.u32 %r1, "
    "[n];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;\n"
    "  mul.wide.s32 %rd4, %r5, 4;\n"
    "  add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;\n"
    "  ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6];\n"
    "  add.rn.f32 %f3, %f1, %f2; st.global.f32 [%rd7], %f3;\n"
    "DONE: ret;\n}\n";
static const char add_in_cuda[] =
    "extern \"C\" __global__ void add(const float *a, const float *b, float *o, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) o[i] = a[i] + b[i];\n}\n";

static void check_add(const char *ptx, uint64_t seed) {
    enum { N = 1000 };
    float a[N], b[N], o[N];
    int n = N;
    if (!gpu_open(seed)) {
        CHECK(!"the device opens");
        return;
    }
    for (int i = 0; i < N; i++) a[i] = (float)i * 0.37f, b[i] = 1.0f / (float)(i + 1);
    CUfunction f = gpu_kernel(ptx, "add");
    CHECK_MSG(f != NULL, "%s", gpu.emu_refusal());
    if (!f) return;
    CUdeviceptr da = gpu_buffer(a, sizeof a), db = gpu_buffer(b, sizeof b),
                d = gpu_buffer(NULL, sizeof o);
    void *param[] = {&da, &db, &d, &n};
    CHECK_CU(gpu_run(f, 8, 128, 0, param));
    CHECK_CU(gpu.cuMemcpyDtoH_v2(o, d, sizeof o));
    int differ = 0;
    for (int i = 0; i < N; i++) differ += o[i] != a[i] + b[i];
    CHECK_INT(differ, 0);
    Counters c;
    gpu.emu_counters(&c);
    CHECK_INT(c.blocks, 8);
    CHECK_INT(c.load_bytes, 8 * N);
    CHECK_INT(c.store_sectors, N / 8);
}
static void check_hostile(const char *text, const char *words) {
    char ptx[2000];
    CUmodule m;
    CHECK(gpu_open(1));
    gpu.emu_quiet(true);
    snprintf(ptx, sizeof ptx, ".version 8.0\n.target sm_80\n.address_size 64\n%s", text);
    CHECK_REFUSED(gpu.cuModuleLoadData(&m, ptx), words);
    gpu.emu_quiet(false);
}
#define BODY(text)                                                                                 \
    ".entry k() {\n.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .pred %p<4>;\n" text   \
    "\nret; }\n"
static void check_hostile_texts(void) {
    check_hostile(BODY("add.f32 %f1, %f2, %f3;"),
                  "line 6: add.f32: without .rn an assembler may contract it");
    check_hostile(BODY("add.rn.ftz.f32 %f1, %f2, %f3;"), "flushes denormals");
    check_hostile(BODY("div.full.f32 %f1, %f2, %f3;"), "bits are not defined");
    check_hostile(BODY("sin.approx.f32 %f1, %f2;"), "bits are not defined");
    check_hostile(BODY("atom.global.add.f32 %f1, [%rd1], %f2;"), "floats are added in no order");
    check_hostile(BODY("frobnicate.u32 %r1, %r2;"), "the instruction frobnicate.u32 is not known");
    check_hostile(BODY("add.u32 %r1, %r2;"), "',' is missing");
    check_hostile(BODY("add.u32 %r1, %r2, %rd1;"), "a register of 64 bits, not 32");
    check_hostile(BODY("add.u32 %r1, %r2, %r9;"), "%r9");
    check_hostile(BODY("add.u32 7, %r2, %r1;"), "its result is no register");
    check_hostile(BODY("mov.u32 %r1, %clock;"), "%clock");
    check_hostile(BODY("bra NOWHERE;"), "there is no label NOWHERE");
    check_hostile(BODY("call nobody, ();"), "there is no function nobody");
    check_hostile(BODY("ld.global.v4.f64 {%rd1, %rd2, %rd3, %rd0}, [%rd1];"), "more than 16 bytes");
    check_hostile(BODY("ld.global.u32 %r1, [nothing];"), "there is no variable nothing");
    check_hostile(BODY("bar.sync 1, 64;"), "only barrier 0");
    check_hostile(".entry k() { .reg .b32 %r<99999999>;", "too many registers");
    check_hostile(".entry k() {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{", "too deep");
    check_hostile(".entry k() { .shared .b8 s[999999999];", "too large");
    check_hostile(".global .b8 g[4] = {1,2,3,4,5};", "more values");
    check_hostile(".entry k() { add.u32", "a word is missing");
    check_hostile("/* no end", "");
}

int main(void) {
    check_add(add_by_hand, 1);
    check_hostile_texts();
    if (!nvrtc_open("gpu_ptx")) return check_report("gpu_ptx");
    static const char *const archs[] = {"compute_80", "compute_90", "compute_120"};
    for (uint64_t k = 0; k < 3; k++) {
        char *ptx = nvrtc_ptx(add_in_cuda, archs[k]);
        CHECK(ptx != NULL);
        if (ptx) check_add(ptx, k);
        free(ptx);
    }
    return check_report("gpu_ptx");
}
