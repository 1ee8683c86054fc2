/* gpu_ptx_test.c: kernels on the emulated GPU: one made by NVRTC, one by hand; hostile PTX.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"
#include "tests/unit/random.h"

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

/* Something of every kind, to be damaged. */
static const char everything[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".global .align 4 .u32 g[3] = {1, 2, 3};\n.extern .shared .align 16 .b8 dyn[];\n"
    ".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x];\n"
    "add.u32 %r2, %r1, %r1; st.param.b32 [r+0], %r2; ret; }\n"
    ".visible .entry k(.param .u64 a, .param .u64 o) .maxntid 64, 1, 1 {\n"
    ".local .align 8 .b8 depot[16]; .shared .align 4 .b32 s[64];\n"
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .b64 %d<9>; .reg .f32 %f<4>;\n"
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, "
    "16;\n"
    "add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3; ld.global.nc.v4.u32 {%r2, %r3, %r4, %r5}, "
    "[%d1];\n"
    "{ .param .b32 p; .param .b32 q; st.param.b32 [p+0], %r2; call.uni (q), twice, (p); "
    "ld.param.b32 %r6, [q+0]; }\n"
    "setp.lt.and.u32 %p1|%p2, %r1, 7, %p0; @!%p1 bra L2; add.cc.u32 %r3, %r3, %r4; addc.u32 %r4, "
    "0, 0;\n"
    "L2: shl.b32 %r7, %r1, 2; mov.u32 %r8, s; add.u32 %r8, %r8, %r7; st.shared.u32 [%r8], %r6; "
    "bar.sync 0;\n"
    "shfl.sync.bfly.b32 %r9|%p3, %r6, 1, 31, -1; vote.sync.ballot.b32 %r10, !%p3, -1; "
    "bar.warp.sync -1;\n"
    "mov.b64 %d4, {%r9, %r10}; mov.b64 {%r9, _}, %d4; mov.u64 %d5, depot; cvta.local.u64 %d6, %d5; "
    "st.u32 [%d6+4], %r9;\n"
    "ld.local.u32 %r9, [%d5+4]; atom.shared.add.u32 %r11, [s], 1; ld.global.u32 %r10, [g+4]; "
    "cvt.rn.f32.u32 %f1, %r10;\n"
    "fma.rn.f32 %f2, %f1, 0f40000000, %f1; cvt.rzi.u32.f32 %r10, %f2; cvt.u16.u32 %h1, %r10; "
    "membar.gl;\n"
    "st.global.v4.u32 [%d2], {%r6, %r9, %r10, %r11}; ret;\n}\n";
/* Damaged programs are refused, or run into a refusal, or run. */
static void check_damage(Rand *r, int rounds) {
    static const char *const pieces[] = {"%r1",  "%d1",     "[",    "]",  "{",           "}",
                                         ";",    ",",       "0",    "-1", "99999999999", ".u64",
                                         ".f32", "bra L2;", "@%p1", "(",  "ret;"};
    size_t n = strlen(everything);
    int loaded = 0;
    CHECK(gpu_open(1));
    gpu.emu_quiet(true);
    gpu.emu_limit(5000);
    for (int k = 0; k < rounds; k++) {
        char text[8000];
        strcpy(text, everything);
        for (int c = k ? 1 + rand_below(r, 3) : 0; c > 0; c--) {
            size_t at = (size_t)rand_below(r, (int)n), gone = (size_t)rand_below(r, 6);
            const char *piece = pieces[rand_below(r, 17)];
            int how = rand_below(r, 6);
            size_t digit = 60 + strcspn(text + 60 + at % (n - 60), "0123456789") + at % (n - 60);
            if (how == 0)
                text[60 + at % (n - 60)] = (char)(32 + rand_below(r, 95));
            else if (how < 5)
                text[digit < n ? digit : n - 1] = (char)('0' + rand_below(r, 10));
            else {
                char rest[8000];
                size_t length = strlen(text);
                at = at < length ? at : length - 1;
                strcpy(rest, text + (at + gone < length ? at + gone : length));
                snprintf(text + at, sizeof text - at, "%s%s", piece, rest);
            }
        }
        CUdeviceptr a = gpu_buffer(everything, 1024), o = gpu_buffer(NULL, 1024);
        CUfunction f = a && o ? gpu_kernel(text, "k") : NULL;
        void *param[8] = {&a, &o, &a, &o, &a, &o, &a, &o};
        if (f) loaded++, gpu_run(f, 1, 64, 64, param);
        if (!k) CHECK_CU(gpu.cuCtxSynchronize());
        if (k % 16 == 0 || gpu.cuCtxSynchronize()) {
            CHECK(gpu_open((uint64_t)k));
            gpu.emu_quiet(true), gpu.emu_limit(5000);
        }
    }
    printf("gpu_ptx: %d of %d damaged programs ran\n", loaded, rounds);
    CHECK(loaded > rounds / 20 && loaded < rounds);
}

int main(int argc, char **argv) {
    Rand r = {rand_seed(argc, argv)};
    check_add(add_by_hand, 1);
    check_hostile_texts();
    check_damage(&r, rand_rounds(1500));
    if (!nvrtc_open("gpu_ptx")) return check_report("gpu_ptx");
    int archs[] = {80, 90, 120}, n_archs = nvrtc_archs("gpu_ptx", archs, 3);
    for (int k = 0; k < n_archs; k++) {
        char *ptx = nvrtc_ptx(add_in_cuda, archs[k], NULL);
        CHECK(ptx != NULL);
        if (ptx) check_add(ptx, (uint64_t)k);
        free(ptx);
    }
    return check_report("gpu_ptx");
}
