/* gpu_refuse_test.c: for each mistake that the emulated GPU refuses in a kernel one that makes it,
 * written by hand in PTX, and beside it one that does not. A device would let most of them pass,
 * and answer with anything.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"

enum { BYTES = 4096 };
/* The kernel `k` with two pointers and what a body needs: %t thread, %b block, %l lane, %a and %o
 * the pointers, at the thread's word %at and %ot; u32 s[64] and h[64] bytes of shared memory, the
 * first at the thread's word %s. */
#define KERNEL(text)                                                                               \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".func deeper(.param .b32 n) { .param .b32 p; .reg .b32 %r1;\n"                                \
    "ld.param.b32 %r1, [n]; add.u32 %r1, %r1, 1; st.param.b32 [p], %r1; call deeper, (p); ret; "   \
    "}\n"                                                                                          \
    ".func waits() { bar.sync 0; ret; }\n"                                                         \
    ".visible .entry k(.param .u64 pa, .param .u64 po) {\n"                                        \
    ".shared .align 4 .b32 s[64]; .shared .align 4 .b8 h[64]; .local .align 4 .b8 local[16];\n"    \
    ".reg .b32 %r<9>, %t, %b, %l, %s, %h; .reg .b64 %d<9>, %a, %o, %at, %ot, %i; .reg .f32 "       \
    "%f<4>;\n"                                                                                     \
    ".reg .pred %p<4>; .reg .b16 %c<3>; .param .b32 call;\n"                                       \
    "ld.param.u64 %a, [pa]; ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;\n"    \
    "mov.u32 %l, %laneid; mul.wide.u32 %i, %t, 4; add.s64 %at, %a, %i; add.s64 %ot, %o, %i;\n"     \
    "mov.u32 %s, s; shl.b32 %r0, %t, 2; add.u32 %s, %s, %r0; mov.u32 %h, h; add.u32 %h, %h, "      \
    "%t;\n" text "\nret; }\n"

typedef struct Buffers {
    CUdeviceptr a, o;
} Buffers;
static CUresult run(const char *ptx, unsigned blocks, unsigned threads, unsigned shared, Buffers *b,
                    uint64_t seed) {
    static uint8_t bytes[BYTES];
    if (!gpu_open(seed)) return CUDA_ERROR_UNKNOWN;
    gpu.emu_quiet(true);
    gpu.emu_limit(100000);
    CUfunction f = gpu_kernel(ptx, "k");
    CHECK_MSG(f != NULL, "%s", gpu.emu_refusal());
    if (!f) return CUDA_ERROR_UNKNOWN;
    b->a = gpu_buffer(bytes, BYTES), b->o = gpu_buffer(NULL, BYTES);
    void *param[] = {&b->a, &b->o};
    return gpu_run(f, blocks, threads, shared, param);
}
static void refused(const char *ptx, unsigned blocks, unsigned threads, const char *words,
                    int line) {
    Buffers b;
    for (uint64_t seed = 0; seed < 3; seed++) {
        gpu_refused(run(ptx, blocks, threads, 256, &b, seed), words, __FILE__, line);
        CHECK_MSG(gpu.cuCtxSynchronize() != 0, "line %d: the context goes on after a failure",
                  line);
    }
}
static void passes(const char *ptx, unsigned blocks, unsigned threads, int line) {
    Buffers b;
    for (uint64_t seed = 0; seed < 3; seed++) {
        CUresult code = run(ptx, blocks, threads, 256, &b, seed);
        check_that(!code, __FILE__, line, "gave %d: %s", (int)code, gpu.emu_refusal());
    }
}
#define REFUSED(text, blocks, threads, words)                                                      \
    refused(KERNEL(text), blocks, threads, words, __LINE__)
#define PASSES(text, blocks, threads) passes(KERNEL(text), blocks, threads, __LINE__)

static void test_addresses(void) {
    PASSES("ld.global.u32 %r1, [%at]; st.global.u32 [%ot], %r1;", 1, 64);
    REFUSED("ld.global.u32 %r1, [%a+4096];", 1, 1,
            "lie 4096 behind the begin of an allocation of 4096");
    REFUSED("st.global.u32 [%a+-4], %t;", 1, 1, "lie");
    REFUSED("ld.global.u32 %r1, [%a+4094];", 1, 1, "not a multiple of 4");
    REFUSED("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a+8];", 1, 1, "not a multiple of 16");
    REFUSED("mov.u64 %d1, 0; ld.global.u32 %r1, [%d1+8];", 1, 1, "a null pointer");
    REFUSED("mov.u64 %d1, 140737000000000; ld.global.u32 %r1, [%d1];", 1, 1,
            "is an address of the host");
    REFUSED("mov.u64 %d1, local; st.local.u32 [%d1+16], %t;", 1, 1, "outside local memory");
    REFUSED("mov.u64 %d1, local; ld.local.u32 %r1, [%d1];", 1, 1, "local memory was never written");
    REFUSED("st.shared.u32 [s+256], %t;", 1, 1, "outside its variables");
    REFUSED("st.shared.u32 [s+-4], %t;", 1, 1, "outside its variables");
    REFUSED("st.shared.u32 [%s+192], %t;", 1, 32, "outside its variables");
    PASSES("mov.u32 %r1, 131072; st.shared.u32 [%r1+252], %t;", 1, 1);
    REFUSED("mov.u32 %r1, 131072; st.shared.u32 [%r1+256], %t;", 1, 1, "outside its variables");
    PASSES("mov.u64 %d1, s; cvta.shared.u64 %d2, %d1; st.u32 [%d2], %t; ld.shared.u32 %r1, [s];", 1,
           1);
}
static void test_unwritten(void) {
    REFUSED("ld.global.u32 %r1, [%ot];", 1, 32, "was never written");
    REFUSED("st.global.u16 [%o], 1; ld.global.u32 %r1, [%o];", 1, 1,
            "byte 2 of an allocation of 4096 was never written");
    REFUSED("atom.global.add.u32 %r1, [%o], 1;", 1, 1, "was never written");
    REFUSED("ld.shared.u32 %r1, [%s];", 1, 32, "shared memory was never written");
    REFUSED("mov.u32 %r1, 131072; st.shared.v2.u32 [%r1], {%t, %t}; "
            "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r1];",
            1, 1, "shared memory was never written");
    REFUSED(
        "setp.ne.u32 %p1, %b, 0; @%p1 bra R; st.shared.u32 [%s], 1; R: ld.shared.u32 %r1, [%s];", 2,
        32, "shared memory was never written");
}
#define WIDE(mask)                                                                                 \
    "mov.u32 %r1, 131072; st.shared.u32 [%r1], %t; st.shared.u32 [%r1+8], %t;"                     \
    ".pragma \"used_bytes_mask " mask                                                              \
    "\"; ld.shared.v4.u32 {%r4, %r2, %r3, %r5}, [%r1]; st.global.v2.u32 [%o], {%r4, %r3};"
static void test_unused(void) {
    PASSES(WIDE("3855"), 1, 1);
    PASSES(WIDE("0x0100"), 1, 1);
    REFUSED(WIDE("0x0f1f"), 1, 1, "shared memory was never written");
    REFUSED(WIDE("0x8f0f"), 1, 1, "shared memory was never written");
    REFUSED(WIDE("65535"), 1, 1, "shared memory was never written");
}
#define LATER "xor.b32 %r2, %t, 32; shl.b32 %r2, %r2, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;\n"
#define NEXT  "xor.b32 %r2, %t, 1; shl.b32 %r2, %r2, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;\n"
static void test_races_in_shared(void) {
    PASSES(LATER "st.shared.u32 [%s], %t; bar.sync 0; ld.shared.u32 %r1, [%r3];", 2, 64);
    REFUSED(LATER
            "st.shared.u32 [%s], %t; bar.sync 0; ld.shared.u32 %r1, [%r3]; st.shared.u32 [%s], %t;",
            1, 64, "race in shared memory");
#define TWO_SIDES(one, other)                                                                      \
    REFUSED(LATER "st.shared.u32 [%s], %t; bar.sync 0; setp.lt.u32 %p1, %t, 32;" one other, 1, 64, \
            "race in shared memory")
    TWO_SIDES("@%p1 ld.shared.u32 %r1, [%s];", "@!%p1 st.shared.u32 [%r3], 0;");
    TWO_SIDES("@%p1 ld.shared.u8 %c1, [%s];", "@!%p1 st.shared.u32 [%r3], 0;");
    TWO_SIDES("@%p1 ld.shared.u32 %r1, [%s]; @%p1 st.shared.u32 [%s], %t;",
              "@!%p1 ld.shared.u32 %r1, [%r3];");
    REFUSED("st.shared.u32 [s], %t;", 1, 2, "race in shared memory: both write");
    REFUSED("st.shared.u32 [s], %t;", 1, 33, "race in shared memory: both write");
    PASSES(NEXT "st.shared.u32 [%s], %t; bar.warp.sync 0xffffffff; ld.shared.u32 %r1, [%r3];", 1,
           32);
    REFUSED(NEXT "st.shared.u32 [%s], %t; ld.shared.u32 %r1, [%r3];", 1, 32,
            "race in shared memory: reads what is written");
    PASSES(NEXT
           "shr.u32 %r4, %t, 1; and.b32 %r4, %r4, 15; shl.b32 %r4, %r4, 1; shl.b32 %r4, 3, %r4;"
           "st.shared.u32 [%s], %t; bar.warp.sync %r4; ld.shared.u32 %r1, [%r3];",
           1, 32);
    REFUSED("setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 1; setp.lt.u32 %p2, %t, 3; "
            "selp.b32 %r4, 7, 0xfffffff8, %p2; bar.warp.sync %r4; ld.shared.u32 %r1, [s];",
            1, 32, "race in shared memory: reads what is written");
    PASSES("cvt.u16.u32 %c1, %t; st.shared.u8 [%h], %c1; bar.sync 0; ld.shared.u32 %r1, [h];", 1,
           64);
    REFUSED("cvt.u16.u32 %c1, %t; st.shared.u8 [%h], %c1; ld.shared.u32 %r1, [h];", 1, 4,
            "race in shared memory");
    REFUSED("st.shared.u32 [h], 0; cvt.u16.u32 %c1, %t; st.shared.u8 [h+1], %c1;", 1, 1 + 32,
            "race in shared memory");
    PASSES("setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 "
           "%r1, [s], 1; bar.sync 0;"
           "ld.shared.u32 %r2, [s];",
           1, 64);
    REFUSED(
        "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0; @%p1 st.shared.u32 [s], 1; "
        "atom.shared.add.u32 %r1, [s], 1;",
        1, 64, "race in shared memory");
    REFUSED("setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 "
            "%r1, [s], 1;"
            "ld.shared.u32 %r2, [s];",
            1, 64, "race in shared memory: touches what is changed");
}
static void test_races_in_global(void) {
    REFUSED("st.global.u32 [%ot], %t;", 2, 32, "race: two write byte");
    REFUSED("setp.eq.u32 %p1, %b, 0; @%p1 ld.global.u32 %r1, [%a]; @!%p1 st.global.u32 [%a], %t;",
            2, 1, "race");
    PASSES("atom.global.add.u32 %r1, [%a], 1;", 8, 32);
    REFUSED("atom.global.add.u32 %r1, [%a], 1; ld.global.u32 %r2, [%a];", 2, 1, "race");
    REFUSED("st.global.u32 [%o], %t;", 1, 2,
            "another thread of the warp (lane 1) writes there too");
    PASSES("mul.wide.u32 %d1, %b, 128; add.s64 %ot, %ot, %d1; st.global.u32 [%ot], %t;", 2, 32);
    REFUSED("setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%o], 1; setp.eq.u32 %p2, %t, 3; @%p2 "
            "ld.global.u32 %r1, [%o];",
            1, 8, "race: another thread of the warp (lane 0) writes there");
    REFUSED("setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%o], 1; setp.eq.u32 %p2, %t, 3;"
            "shfl.sync.idx.b32 %r1, %t, 0, 31, 255; @%p2 ld.global.u32 %r1, [%o];",
            1, 8, "race: another thread of the warp (lane 0) writes there");
    PASSES("setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%o], 1; setp.eq.u32 %p2, %t, 3;"
           "bar.warp.sync 255; @%p2 ld.global.u32 %r1, [%o];",
           1, 8);
    REFUSED("ld.global.u32 %r1, [%a]; setp.eq.u32 %p1, %t, 2; @%p1 st.global.u32 [%a], 1;", 1, 8,
            "race: another thread of the warp reads there");
    PASSES("setp.lt.u32 %p2, %t, 3; @!%p2 bra E; ld.global.u32 %r1, [%a]; bar.warp.sync 7;"
           "setp.eq.u32 %p1, %t, 2; @%p1 st.global.u32 [%a], 1; E: bar.warp.sync 255;",
           1, 8);
    REFUSED("setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%o], 1; setp.eq.u32 %p2, %t, 32; @%p2 "
            "st.global.u32 [%o], 2;",
            1, 64, "of the block");
    PASSES(
        "setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%o], 1; bar.sync 0; setp.eq.u32 %p2, %t, 32;"
        "@%p2 ld.global.u32 %r1, [%o];",
        1, 64);
    PASSES("ld.global.u32 %r1, [%a]; bar.sync 0; setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%a], "
           "%r1;",
           1, 96);
    REFUSED("ld.global.u32 %r1, [%a]; setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%a], %r1;", 1, 96,
            "race");
    REFUSED("ld.global.u32 %r1, [%a]; bar.sync 0; setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%a], "
            "%r1;",
            3, 64, "race");
    PASSES(
        "ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; bar.sync 0; ld.global.u32 %r3, [%a];",
        5, 64);
}
static void test_waiting(void) {
    PASSES("bar.sync 0;", 2, 96);
    REFUSED("setp.eq.u32 %p1, %t, 5; @%p1 exit; bar.sync 0;", 1, 64,
            "lane 5 of the warp does not come to the barrier");
    REFUSED("setp.lt.u32 %p1, %t, 32; @%p1 exit; bar.sync 0;", 1, 64,
            "does not come to the barrier");
    REFUSED("setp.ge.u32 %p1, %t, 32; @%p1 exit; bar.sync 0;", 1, 64,
            "does not come to the barrier");
    REFUSED("setp.lt.u32 %p1, %t, 32; @%p1 bra B; bar.sync 0; bra C; B: bar.sync 0; C:", 1, 64,
            "others wait at another barrier");
    REFUSED("setp.lt.u32 %p1, %t, 7; @%p1 bar.warp.sync 0xffffffff;", 1, 32,
            "waits for threads that do not come");
    PASSES("setp.lt.u32 %p1, %t, 7; @%p1 bar.warp.sync 0x7f;", 1, 32);
    REFUSED("bar.warp.sync 1;", 1, 32, "not in its own mask");
    REFUSED("setp.lt.u32 %p1, %t, 16; @%p1 shfl.sync.down.b32 %r1, %t, 1, 31, 0xffffffff;", 1, 32,
            "threads that do not come");
    REFUSED("setp.lt.u32 %p1, %t, 16; @%p1 shfl.sync.idx.b32 %r1, %t, 20, 31, 0xffff;", 1, 32,
            "lane 20, which is not there");
    PASSES("setp.lt.u32 %p1, %t, 16; @%p1 shfl.sync.down.b32 %r1, %t, 1, 4127, 0xffff;", 1, 32);
    REFUSED("shfl.sync.idx.b32 %r1, %t, 20, 31, 0xffffffff;", 1, 8, "lane 20, which is not there");
    REFUSED("call waits;", 1, 32, "a barrier in a function");
}
static void test_ends(void) {
    REFUSED("trap;", 1, 1, "trap");
    REFUSED("L: bra L;", 1, 32, "it does not end");
    REFUSED("st.param.b32 [call], 0; call deeper, (call);", 1, 1, "calls are too deep");
    REFUSED("mov.u64 %d1, 4; ld.param.u64 %d2, [%d1+8];", 1, 1, "of the parameters");
}
/* What is not defined to the last bit gives something else each time, within what the manual says.
 */
static void test_undefined(void) {
    const char *const near = KERNEL(
        "cvt.rn.f32.u32 %f1, %t; add.rn.f32 %f1, %f1, 0f3F8CCCCD; ex2.approx.ftz.f32 %f2, %f1;"
        "st.global.f32 [%ot], %f2;");
    float x[3][32];
    Buffers b;
    for (uint64_t seed = 0; seed < 3; seed++) {
        CHECK_CU(run(near, 1, 32, 0, &b, seed));
        CHECK_CU(gpu.cuMemcpyDtoH_v2(x[seed], b.o, sizeof x[0]));
    }
    CHECK(memcmp(x[0], x[1], sizeof x[0]) != 0 || memcmp(x[0], x[2], sizeof x[0]) != 0);
    uint32_t q[3][32];
    for (uint64_t seed = 0; seed < 3; seed++) {
        CHECK_CU(run(KERNEL("mov.u32 %r1, 0; div.u32 %r2, %t, %r1; st.global.u32 [%ot], %r2;"), 1,
                     32, 0, &b, seed));
        CHECK_CU(gpu.cuMemcpyDtoH_v2(q[seed], b.o, sizeof q[0]));
    }
    CHECK(memcmp(q[0], q[1], sizeof q[0]) != 0);
    for (uint64_t seed = 0; seed < 3; seed++) {
        CHECK_CU(run(KERNEL("st.global.u32 [%ot], %r8;"), 1, 32, 0, &b, seed));
        CHECK_CU(gpu.cuMemcpyDtoH_v2(q[seed], b.o, sizeof q[0]));
    }
    CHECK(memcmp(q[0], q[1], sizeof q[0]) != 0); /* a register that nothing was written to */
    setenv("GT_EMU_APPROX", "0", 1);
    CHECK_REFUSED(run(near, 1, 32, 0, &b, 1), "its bits are not defined");
    unsetenv("GT_EMU_APPROX");
}
static void test_launches(void) {
    Buffers b;
    const char *const nothing = KERNEL("");
    CHECK_REFUSED(run(nothing, 0, 32, 0, &b, 1), "a grid of (0, 1, 1)");
    CHECK_REFUSED(run(nothing, 1, 1025, 0, &b, 1), "of (1025, 1, 1) threads");
    CHECK_REFUSED(run(nothing, 1, 32, 49152, &b, 1), "bytes of shared memory, at most");
    CHECK_CU(run(nothing, 1, 1024, 1024, &b, 1));
}
/* Counts of one launch: 32 threads that read 4 bytes each, by the distance between them. */
static void test_counters(void) {
    static const struct {
        const char *text;
        uint64_t sectors, turns;
    } cases[] = {
        {"ld.global.u32 %r1, [%at];", 4, 0},
        {"mul.wide.u32 %d1, %t, 32; add.s64 %d1, %a, %d1; ld.global.u32 %r1, [%d1];", 32, 0},
        {"mul.wide.u32 %d1, %t, 8; add.s64 %d1, %a, %d1; ld.global.u32 %r1, [%d1];", 8, 0},
        {"ld.global.u32 %r1, [%a];", 1, 0},
        {"st.shared.u32 [%s], %t;", 0, 1},
        {"and.b32 %r1, %t, 1; shl.b32 %r1, %r1, 7; shr.u32 %r2, %t, 1; shl.b32 %r2, %r2, 2; "
         "add.u32 %r1, %r1, %r2;"
         "mov.u32 %r3, s; add.u32 %r3, %r3, %r1; st.shared.u32 [%r3], %t;",
         0, 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text = malloc(8000);
        static const char frame[] = KERNEL("%%BODY%%");
        const char *body = strstr(frame, "%%BODY%%");
        snprintf(text, 8000, "%.*s%s%s", (int)(body - frame), frame, cases[k].text, body + 8);
        Buffers b;
        Counters c;
        CHECK_CU(run(text, 1, 32, 0, &b, 1));
        gpu.emu_counters(&c);
        CHECK_INT(c.load_sectors, cases[k].sectors);
        CHECK_INT(c.shared_turns, cases[k].turns);
        CHECK_INT(c.loads_by_width[2], cases[k].sectors ? 32 : 0);
        CHECK_INT(c.threads, 32 * c.instructions);
        free(text);
    }
}
int main(void) {
    test_addresses();
    test_unwritten();
    test_unused();
    test_races_in_shared();
    test_races_in_global();
    test_waiting();
    test_ends();
    test_undefined();
    test_launches();
    test_counters();
    return check_report("gpu_refuse");
}
