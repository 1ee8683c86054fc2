/* gpu_warp_test.c: what instructions of several threads, atomics, loads and combined comparisons
 * give on the emulated GPU, each in a kernel of one warp written by hand, against C.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"

/* %t: the thread; %x: its word of the input, 37 t + 11 modulo 64 less 20; %o: where its result %r
 * goes. s: shared words. */
#define KERNEL(text)                                                                               \
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pa, .param "     \
    ".u64 po) {\n"                                                                                 \
    ".shared .align 8 .b32 s[64]; .reg .pred %p<6>; .reg .b16 %h<4>; .reg .b32 %r<12>, %t, %x, "   \
    "%r; .reg .b64 %d<6>, %a, %o;\n"                                                               \
    "ld.param.u64 %a, [pa]; ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mul.wide.u32 %d1, %t, 4;\n" \
    "add.s64 %a, %a, %d1; add.s64 %o, %o, %d1; ld.global.u32 %x, [%a]; mov.u32 %r, 0;\n" text      \
    "\nst.global.u32 [%o], %r; ret; }\n"
static int32_t x[32];
typedef uint32_t Want(uint32_t t);
typedef struct Case {
    const char *name, *ptx;
    Want *want;
} Case;
/* The initial word, and the sum of what each thread adds: atomics leave it whatever their order. */
#define ATOM(op, first, after)                                                                     \
    KERNEL("setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], " first "; bar.sync 0;" op             \
           "bar.sync 0; ld.shared.u32 %r, [s];" after)
static uint32_t all(uint32_t (*f)(uint32_t, uint32_t), uint32_t first) {
    for (int k = 0; k < 32; k++) first = f(first, (uint32_t)x[k]);
    return first;
}
static uint32_t f_add(uint32_t a, uint32_t b) { return a + b; }
static uint32_t f_min(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b ? a : b; }
static uint32_t f_max(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b ? a : b; }
static uint32_t f_umin(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t f_umax(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t f_and(uint32_t a, uint32_t b) { return a & b; }
static uint32_t f_or(uint32_t a, uint32_t b) { return a | b; }
static uint32_t f_xor(uint32_t a, uint32_t b) { return a ^ b; }
static uint32_t w_add(uint32_t t) { return all(f_add, 5) + 0 * t; }
static uint32_t w_min(uint32_t t) { return all(f_min, 5) + 0 * t; }
static uint32_t w_max(uint32_t t) { return all(f_max, 5) + 0 * t; }
static uint32_t w_umin(uint32_t t) { return all(f_umin, 5) + 0 * t; }
static uint32_t w_umax(uint32_t t) { return all(f_umax, 5) + 0 * t; }
static uint32_t w_and(uint32_t t) { return all(f_and, 63) + 0 * t; }
static uint32_t w_or(uint32_t t) { return all(f_or, 5) + 0 * t; }
static uint32_t w_xor(uint32_t t) { return all(f_xor, 5) + 0 * t; }
static uint32_t w_inc(uint32_t t) { return (5 + 32) % 11 + 0 * t; }
static uint32_t w_dec(uint32_t t) { return (5 + 11 * 3 - 32) % 11 + 0 * t; }
static uint32_t w_cas(uint32_t t) { return 9 + 0 * t; }
static uint32_t w_redux_add(uint32_t t) { return all(f_add, 0) + 0 * t; }
static uint32_t w_redux_min(uint32_t t) { return all(f_min, 1000) + 0 * t; }
static uint32_t w_redux_xor(uint32_t t) { return all(f_xor, 0) + 0 * t; }
static uint32_t ballot(void) {
    uint32_t v = 0;
    for (int k = 0; k < 32; k++) v |= (uint32_t)(x[k] > 0) << k;
    return v;
}
static uint32_t w_ballot(uint32_t t) { return ballot() + 0 * t; }
static uint32_t w_any(uint32_t t) { return 1 + 0 * t; }
static uint32_t w_all(uint32_t t) { return 2 + 0 * t; }
static uint32_t w_count(uint32_t t) { return (uint32_t)__builtin_popcount(ballot()) + 0 * t; }
static uint32_t w_match(uint32_t t) {
    uint32_t v = 0;
    for (int k = 0; k < 32; k++) v |= (uint32_t)((x[k] & 3) == (x[t] & 3)) << k;
    return v;
}
static uint32_t w_up(uint32_t t) { return t % 8 >= 3 ? (uint32_t)x[t - 3] : (uint32_t)x[t] + 1000; }
static uint32_t w_down(uint32_t t) {
    return t % 8 < 5 ? (uint32_t)x[t + 3] : (uint32_t)x[t] + 1000;
}
static uint32_t w_xor_lane(uint32_t t) { return (uint32_t)x[t ^ 5]; }
static uint32_t w_idx(uint32_t t) { return (uint32_t)x[t / 8 * 8 + (t * 3 & 7)]; }
static uint32_t w_masks(uint32_t t) {
    return ((1u << t) - 1) ^ (t == 31 ? 0 : ~0u << (t + 1)) ^ (1u << t) * 0;
}
static uint32_t w_s8(uint32_t t) { return (uint32_t)(int32_t)(int8_t)(x[t] * 9); }
static uint32_t w_s16(uint32_t t) { return (uint32_t)(uint16_t)(int8_t)(x[t] * 9) + 1; }
static uint32_t w_u8(uint32_t t) { return (uint8_t)(x[t] * 9); }
static uint32_t w_setp(uint32_t t) {
    bool a = x[t] < 3, b = t & 1;
    return (uint32_t)((a && b) + 2 * (!a && b) + 4 * (a || b) + 8 * (a != b) + 16 * (a && !b));
}
static uint32_t w_guard(uint32_t t) { return x[t] < 3 ? 7 : 9; }
static uint32_t w_loop(uint32_t t) {
    uint32_t r = 0;
    for (uint32_t k = 0; k < (t & 7); k++) r += k & 1 ? (uint32_t)x[t] : 100;
    return r;
}
static uint32_t w_pack(uint32_t t) { return (uint32_t)(x[t] & 0xffff) << 16 | t; }
#define ADD_TO(bit, pred) "selp.u32 %r1, " bit ", 0, " pred "; add.u32 %r, %r, %r1;"
#define BYTE                                                                                       \
    "mul.lo.u32 %r2, %x, 9; cvt.u16.u32 %h1, %r2; mov.u32 %r3, s; add.u32 %r3, %r3, %t; "          \
    "st.shared.u8 [%r3], %h1;"
static const Case cases[] = {
    {"atom.add", ATOM("atom.shared.add.u32 %r1, [s], %x;", "5", ""), w_add},
    {"red.add", ATOM("red.shared.add.u32 [s], %x;", "5", ""), w_add},
    {"atom.min.s32", ATOM("atom.shared.min.s32 %r1, [s], %x;", "5", ""), w_min},
    {"atom.max.s32", ATOM("atom.shared.max.s32 %r1, [s], %x;", "5", ""), w_max},
    {"atom.min.u32", ATOM("atom.shared.min.u32 %r1, [s], %x;", "5", ""), w_umin},
    {"atom.max.u32", ATOM("atom.shared.max.u32 %r1, [s], %x;", "5", ""), w_umax},
    {"atom.and", ATOM("atom.shared.and.b32 %r1, [s], %x;", "63", ""), w_and},
    {"atom.or", ATOM("atom.shared.or.b32 %r1, [s], %x;", "5", ""), w_or},
    {"atom.xor", ATOM("atom.shared.xor.b32 %r1, [s], %x;", "5", ""), w_xor},
    {"atom.inc", ATOM("atom.shared.inc.u32 %r1, [s], 10;", "5", ""), w_inc},
    {"atom.dec", ATOM("atom.shared.dec.u32 %r1, [s], 10;", "5", ""), w_dec},
    {"atom.cas", ATOM("atom.shared.cas.b32 %r1, [s], 5, 9;", "5", ""), w_cas},
    {"atom.exch", ATOM("atom.shared.exch.b32 %r1, [s], 9;", "5", ""), w_cas},
    {"redux.add", KERNEL("redux.sync.add.s32 %r, %x, -1;"), w_redux_add},
    {"redux.min", KERNEL("redux.sync.min.s32 %r, %x, -1;"), w_redux_min},
    {"redux.xor", KERNEL("redux.sync.xor.b32 %r, %x, -1;"), w_redux_xor},
    {"vote.ballot", KERNEL("setp.gt.s32 %p1, %x, 0; vote.sync.ballot.b32 %r, %p1, -1;"), w_ballot},
    {"vote.any",
     KERNEL("setp.gt.s32 %p1, %x, 0; vote.sync.any.pred %p2, %p1, -1;" ADD_TO(
         "1", "%p2") "vote.sync.all.pred %p3, %p1, -1;" ADD_TO("2", "%p3")),
     w_any},
    {"vote.all",
     KERNEL("setp.gt.s32 %p1, %x, 10000; vote.sync.any.pred %p2, %p1, -1;" ADD_TO(
         "1", "%p2") "vote.sync.all.pred %p3, !%p1, -1;" ADD_TO("2", "%p3")),
     w_all},
    {"vote.uni",
     KERNEL("setp.gt.s32 %p1, %x, 10000; vote.sync.uni.pred %p2, %p1, -1;" ADD_TO("2", "%p2")),
     w_all},
    {"bar.red.popc", KERNEL("setp.gt.s32 %p1, %x, 0; bar.red.popc.u32 %r, 0, %p1;"), w_count},
    {"bar.red.or",
     KERNEL("setp.gt.s32 %p1, %x, 0; bar.red.or.pred %p2, 0, %p1;" ADD_TO(
         "1", "%p2") "bar.red.and.pred %p3, 0, %p1;" ADD_TO("2", "%p3")),
     w_any},
    {"match.any", KERNEL("and.b32 %r1, %x, 3; match.any.sync.b32 %r, %r1, -1;"), w_match},
    {"shfl.up", KERNEL("shfl.sync.up.b32 %r|%p1, %x, 3, 6144, -1; @!%p1 add.u32 %r, %r, 1000;"),
     w_up},
    {"shfl.down", KERNEL("shfl.sync.down.b32 %r|%p1, %x, 3, 6175, -1; @!%p1 add.u32 %r, %r, 1000;"),
     w_down},
    {"shfl.bfly", KERNEL("shfl.sync.bfly.b32 %r, %x, 5, 31, -1;"), w_xor_lane},
    {"shfl.idx",
     KERNEL("mul.lo.u32 %r1, %t, 3; and.b32 %r1, %r1, 7; shfl.sync.idx.b32 %r, %x, %r1, 6175, -1;"),
     w_idx},
    {"lanemask",
     KERNEL("mov.u32 %r1, %lanemask_lt; mov.u32 %r2, %lanemask_gt; xor.b32 %r, %r1, %r2;"),
     w_masks},
    {"ld.s8", KERNEL(BYTE "ld.shared.s8 %r, [%r3];"), w_s8},
    {"ld.s8 to 16 bits",
     KERNEL(BYTE "ld.shared.s8 %h2, [%r3]; cvt.u32.u16 %r, %h2; add.u32 %r, %r, 1;"), w_s16},
    {"ld.u8", KERNEL(BYTE "ld.shared.u8 %r, [%r3];"), w_u8},
    {"setp",
     KERNEL(
         "and.b32 %r2, %t, 1; setp.ne.u32 %p1, %r2, 0; setp.lt.and.s32 %p2|%p3, %x, 3, %p1;" ADD_TO(
             "1", "%p2")
             ADD_TO("2", "%p3") "setp.lt.or.s32 %p2, %x, 3, %p1;" ADD_TO(
                 "4",
                 "%p2") "setp.lt.xor.s32 %p2, %x, 3, %p1;" ADD_TO("8",
                                                                  "%p2") "setp.lt.and.s32 %p2, %x, "
                                                                         "3, !%p1;" ADD_TO("16",
                                                                                           "%p2")),
     w_setp},
    {"guards", KERNEL("setp.lt.s32 %p1, %x, 3; @%p1 mov.u32 %r, 7; @!%p1 mov.u32 %r, 9;"), w_guard},
    {"a loop that threads leave one by one",
     KERNEL("and.b32 %r1, %t, 7; mov.u32 %r2, 0; L: setp.ge.u32 %p1, %r2, %r1; @%p1 bra E; and.b32 "
            "%r3, %r2, 1; setp.ne.u32 %p2, %r3, 0;"
            "@%p2 bra O; add.u32 %r, %r, 100; bra N; O: add.u32 %r, %r, %x; N: add.u32 %r2, %r2, "
            "1; bra L; E:"),
     w_loop},
    {"packs",
     KERNEL("cvt.u16.u32 %h1, %t; cvt.u16.u32 %h2, %x; mov.b32 %r1, {%h2, %h1}; mov.b32 {%h1, "
            "%h2}, %r1; mov.b32 %r, {%h2, %h1};"),
     w_pack},
};
int main(void) {
    for (int k = 0; k < 32; k++) x[k] = (37 * k + 11) % 64 - 20;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            uint32_t got[32];
            if (!gpu_open(seed)) return 1;
            CUfunction f = gpu_kernel(cases[k].ptx, "k");
            CHECK_MSG(f != NULL, "%s: %s", cases[k].name, gpu.emu_refusal());
            if (!f) break;
            CUdeviceptr a = gpu_buffer(x, sizeof x), o = gpu_buffer(NULL, sizeof got);
            void *param[] = {&a, &o};
            CHECK_CU(gpu_run(f, 1, 32, 0, param));
            CHECK_CU(gpu.cuMemcpyDtoH_v2(got, o, sizeof got));
            for (uint32_t t = 0; t < 32; t++)
                CHECK_MSG(got[t] == cases[k].want(t), "%s gives thread %u %#x, not %#x",
                          cases[k].name, t, got[t], cases[k].want(t));
        }
    }
    return check_report("gpu_warp");
}
