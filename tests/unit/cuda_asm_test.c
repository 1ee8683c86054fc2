/* cuda_asm_test.c: what the assembler makes of the kernels of the engine cuda, for sm_80, sm_90,
 * sm_100 and sm_120: NVRTC makes cubins, and the driver that does nothing (tests/gpu/idle.h) reads
 * registers, stack and shared memory from them. Kernels of float32 use no stack, and each kernel
 * fills at least half of a processor's threads, in the launch that fills fewest; or a reason is
 * listed here. Kernels are those of random operations and random fusions.
 *
 * Usage: cuda_asm_test [whole [FILE]]: all draws of ops_test and 200 fusions for each architecture,
 * instead of a sample, or one draw in GT_TEST_EVERY=N; a line for each kernel to FILE.
 * SPDX-License-Identifier: MIT */
#include "tests/gpu/cubin.c"
#include "tests/gpu/idle.h"
#include "tests/unit/check.h"
#include "tests/unit/random.h"
#include "worker/cuda/kernel.h"
#include "worker/prove/fused_case.h"
#include "worker/prove/outcome.h"
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <unistd.h>

enum { ARCHS = 4, GROUPS = 160, ROUNDS = 9, FUSIONS_SAMPLE = 16, FUSIONS_WHOLE = 200 };
static const int arch[ARCHS] = {80, 90, 100, 120};
static Engine *engine[ARCHS], *cpu;
static FILE *list;
static uint64_t every = 1;
static __typeof__(idle_kernel) *kernel_of_idle;

/* ---- Groups of kernels ---- */

/* Kernels of float32 with a stack, or with an occupancy below a half, and the reason. arch 0: on
 * all. */
typedef struct Reason {
    const char *what; /* the first word of what the kernel is for */
    int arch;
    double least; /* the occupancy is no lower than that */
    const char *why;
} Reason;
static const Reason stacks[] = {
    {"digamma", 0, 0, "computed in float64: libdevice's tan reduces any argument"},
    {"polygamma", 0, 0, "computed in float64: libdevice's sin and pow"},
    {"lgamma", 0, 0, "computed in float64: libdevice's sin"},
    {"svd_packed", 0, 0, "computed in float64, most of it inline"},
    {"eigh_packed", 0, 0, "computed in float64, most of it inline"},
    {NULL, 0, 0, NULL},
};
static const char in_shared[] =
    "a block's triangle and columns lie in shared memory; products take most time";
static const char two_tiles[] =
    "two blocks' tiles and waiting sums fill the 100 KiB of shared memory";
static const char no_stack[] = "computed in float64; 64 registers would put some on a stack";
static const Reason occupancies[] = {
    {"cholesky", 0, 0.12, in_shared},
    {"lu", 0, 0.12, in_shared},
    {"solve", 0, 0.12, in_shared},
    {"polygamma", 0, 0.25, "computed in float64: libdevice's tgamma and pow, 106 registers"},
    {"float64-columns", 80, 0.43, "sums of float64 and their levels, in 70 registers"},
    {"floordiv", 0, 0.37, "sixteen quotients of a wide load are in flight, in 71 registers"},
    {"matmul", 120, 0.33, two_tiles},
    {"conv", 120, 0.33, two_tiles},
    {"conv_dx", 120, 0.33, two_tiles},
    {"conv_dw", 120, 0.33, two_tiles},
    {"qr_packed", 0, 0.12, no_stack},
    {"eigh_packed", 0, 0.12, no_stack},
    {"svd_packed", 0, 0.12, no_stack},
    {NULL, 0, 0, NULL},
};

/* What a table's row says: the worst of its kernels. */
typedef struct Group {
    char name[40];
    int kernels, launched;
    int registers, shared, stack, stack_f32;
    double occupancy;
} Group;
static Group group[ARCHS][GROUPS];

static bool is_excused(const Reason *r, int a, const char *what, double occupancy) {
    size_t n = strcspn(what, " ");
    for (; r->what; r++)
        if (strlen(r->what) == n && !strncmp(r->what, what, n) &&
            (!r->arch || r->arch == arch[a]) && occupancy >= r->least)
            return true;
    return false;
}
static Group *group_of(int a, const char *name) {
    int k = 0;
    while (k < GROUPS - 1 && group[a][k].name[0] && strcmp(group[a][k].name, name)) k++;
    Group *g = &group[a][k];
    if (!g->name[0]) {
        snprintf(g->name, sizeof g->name, "%s", name);
        g->occupancy = 1;
    }
    return g;
}
static int most(int a, int b) { return a > b ? a : b; }

static void check_kernel(int a, const char *name, const char *what, bool is_f32,
                         const IdleKernel *k) {
    Group *g = group_of(a, name);
    g->kernels++, g->launched += k->threads > 0;
    g->registers = most(g->registers, k->needs.registers);
    g->shared = most(g->shared, k->needs.shared_bytes + k->dynamic_bytes);
    g->stack = most(g->stack, k->needs.stack_bytes);
    if (is_f32) g->stack_f32 = most(g->stack_f32, k->needs.stack_bytes);
    if (k->threads && k->occupancy < g->occupancy) g->occupancy = k->occupancy;
    if (list)
        fprintf(list,
                "sm_%d %-28s %s registers=%d stack=%d shared=%d+%d threads=%d occupancy=%.3f %s\n",
                arch[a], what, is_f32 ? "float32" : "other", k->needs.registers,
                k->needs.stack_bytes, k->needs.shared_bytes, k->dynamic_bytes, k->threads,
                k->occupancy, k->needs.name);
    CHECK_INT(k->capability, arch[a]);
    CHECK_MSG(!is_f32 || !k->needs.stack_bytes || is_excused(stacks, a, what, 1),
              "sm_%d: %s: %d bytes of stack in a kernel of float32 (%s)", arch[a], what,
              k->needs.stack_bytes, k->needs.name);
    CHECK_MSG(!k->threads || k->occupancy >= 0.5 || is_excused(occupancies, a, what, k->occupancy),
              "sm_%d: %s: occupancy %.3f: %d registers, %d + %d bytes of shared memory, %d threads "
              "(%s)",
              arch[a], what, k->occupancy, k->needs.registers, k->needs.shared_bytes,
              k->dynamic_bytes, k->threads, k->needs.name);
}

/* Kernels that were loaded while something ran, and what that was. They are checked when all has
 * run on an architecture, by the worst launch of each. */
typedef struct Origin {
    int first, n, arch;
    bool is_f32;
    char group[40], what[64];
} Origin;
static Origin *origin;
static int n_origins, room, n_loaded;

static void claim(int a, const char *name, const char *what, bool is_f32) {
    IdleKernel k;
    int first = n_loaded;
    while (kernel_of_idle(n_loaded, &k)) n_loaded++;
    if (n_loaded == first) return;
    if (n_origins == room) {
        room = room ? 2 * room : 256;
        origin = realloc(origin, (size_t)room * sizeof *origin);
        if (!origin) abort();
    }
    Origin *o = &origin[n_origins++];
    *o = (Origin){.first = first, .n = n_loaded - first, .arch = a, .is_f32 = is_f32};
    snprintf(o->group, sizeof o->group, "%s", name);
    snprintf(o->what, sizeof o->what, "%s", what);
}
static void check_all(void) {
    IdleKernel k;
    static int i;
    for (; i < n_origins; i++)
        for (int j = 0; j < origin[i].n; j++)
            if (kernel_of_idle(origin[i].first + j, &k))
                check_kernel(origin[i].arch, origin[i].group, origin[i].what, origin[i].is_f32, &k);
}

/* ---- Operations ---- */

static bool is_case_f32(const Case *c) {
    bool is = c->dtype == DT_F32;
    for (int i = 0; i < c->inst.n_in; i++)
        is &= c->arg[i].is_imm || c->arg[i].view.type.dtype != DT_F64;
    for (int k = 0; k < c->inst.n_out; k++) is &= c->out[k].dtype != DT_F64;
    return is;
}
static const char *family(Op op) {
    OpClass class_ = op_info[op].class_;
    return class_ == CLASS_MAP || op == OP_CAST || op == OP_FULL ? "pointwise"
           : class_ == CLASS_REDUCE                              ? "reductions"
                                                                 : op_info[op].name;
}
static void run_case(int a, Op op, DType d, Style style, uint64_t seed) {
    Case c;
    Outcome o;
    char what[64];
    if (style == STYLE_SPECIAL && op_has(op, FACT_ADDS)) style = STYLE_WHOLE;
    if (!case_draw(&c, op, d, style, seed)) return;
    outcome_run(&c, engine[a], false, &o);
    CHECK_MSG(!strstr(o.err.text, "NVRTC"), "%s", o.err.text);
    outcome_free(&o);
    snprintf(what, sizeof what, "%s %s", op_info[op].name, dtype_info[d].name);
    claim(a, family(op), what, is_case_f32(&c));
    case_free(&c);
}
/* all: every draw of ops_test, for architecture a. Else one for each row and some of its dtypes,
 * for one architecture after the other. */
static void run_row(Op op, int a, bool all) {
    static const Style styles[] = {STYLE_MIXED, STYLE_WHOLE, STYLE_SPECIAL};
    static int turn;
    static uint64_t draw;
    bool is_written = op_info[op].class_ != CLASS_MAP && op_info[op].class_ != CLASS_REDUCE;
    for (int d = 0; d < DT_COUNT; d++) {
        if (!(op_info[op].in & DSET(d))) continue;
        uint64_t seed = 1 + (uint64_t)op * 1000003u + (uint64_t)d * 10007u;
        for (int r = 0; r < ROUNDS && all; r++)
            if (draw++ % every == 0) run_case(a, op, (DType)d, styles[r % 3], seed + (uint64_t)r);
        if (!all && d == DT_F32 && (is_written || op % 4 == 0))
            run_case(turn++ % ARCHS, op, (DType)d, STYLE_MIXED, seed);
    }
}

/* ---- Fusions ---- */

static bool is_fusion_f32(const Fusion *f) {
    bool is = true;
    for (int i = 0; i < f->n_nodes; i++) {
        Op op = f->node[i].op; /* these are computed in float64 */
        bool is_gamma = op == OP_DIGAMMA || op == OP_LGAMMA || op == OP_POLYGAMMA;
        is &= f->node[i].dtype != DT_F64 && !is_gamma;
    }
    for (int i = 0; i < f->n_inputs; i++) is &= f->input[i].type.dtype != DT_F64;
    for (int i = 0; i < f->n_scalars; i++) is &= f->scalar[i] != DT_F64;
    return is;
}
static void run_fusion(int a, int i) {
    static const char *const unit[] = {"fusions of elements", "fusions of long rows",
                                       "fusions of rows", "fusions over rows"};
    static const char *const float64[] = {"float64-elements ", "float64-rows ", "float64-rows ",
                                          "float64-columns "};
    static FusedCase t;
    Engine *e = engine[a];
    Bytes source = {0};
    MadeKernel made;
    Err err = {0};
    char what[64], text[200];
    FusedSeeds seeds = {.graph = 1 + (uint64_t)i * 1000003,
                        .strides = 1 + (uint64_t)i * 77,
                        .values = 7 + (uint64_t)i,
                        .is_tame = true};
    if (!fused_case_make(&t, cpu, &seeds)) return;
    if (e->ops->maker->fits(&t.fuse)) {
        e->ops->maker->source(&t.fuse, &source);
        bool ok = e->ops->maker->make(e, &t.fuse, &source, &made, &err);
        CHECK_MSG(ok, "fusion %d: %s", i, err.text);
        if (ok) {
            fused_case_run(&t, e, made.kernel, NULL, text, sizeof text);
            bool is_f32 = is_fusion_f32(&t.fuse);
            int k = made.kernel->unit;
            snprintf(what, sizeof what, "%sfusion %d", is_f32 ? "" : float64[k], i);
            claim(a, unit[k], what, is_f32);
            e->ops->maker->drop(e, made.kernel);
        }
        bytes_fini(&source);
    }
    fused_case_free(&t);
}

/* ---- The reader ---- */

/* A stack of 64 floats, which its indices keep from being registers, and 1,000 floats of shared
 * memory. */
static const char known[] =
    "extern \"C\" __global__ void FUSED(run)(float *p, int n) {\n"
    "float a[64]; __shared__ float s[1000];\n"
    "for (int i = 0; i < 64; i++) a[i] = p[i * n];\n"
    "for (int i = 0; i < n; i++) a[(i * 7) & 63] += p[i];\n"
    "for (int i = 0; i < n; i++) s[i * n] = a[i & 63];\n"
    "__syncthreads(); p[threadIdx.x] = s[threadIdx.x]; }\n"
    "extern \"C\" __global__ void FUSED(finish)(float *p) { p[threadIdx.x] *= 2; }\n";

static void test_reader(int a) {
    Cuda *c = (Cuda *)engine[a];
    Bytes head = {0};
    Err err = {0};
    IdleKernel k;
    bytes_puts(&head, "\n");
    const CudaKernel *made = cuda_written(c, "known", &head, known, "finish", &err);
    CHECK_MSG(made != NULL, "%s", err.text);
    int found = 0;
    for (int i = n_loaded; made && kernel_of_idle(i, &k); i++, n_loaded++) {
        bool is_run = strstr(k.needs.name, "_run") != NULL;
        CHECK_INT(k.capability, arch[a]);
        CHECK_INT(k.needs.stack_bytes, is_run ? 256 : 0);
        CHECK_INT(k.needs.shared_bytes, is_run ? 4000 : 0);
        CHECK(k.needs.registers > 3 && k.needs.registers < 100);
        found++;
    }
    CHECK_INT(found, 2);
}
static void test_occupancy(void) {
    CubinKernel k = {.registers = 32};
    CHECK(fabs(cubin_occupancy(80, &k, 256, 0) - 1) < 1e-9);
    CHECK(fabs(cubin_occupancy(80, &k, 256, 40 << 10) - 0.5) <
          1e-9); /* 4 blocks of 41 KiB in 164 */
    CHECK(fabs(cubin_occupancy(90, &k, 256, 48 << 10) - 0.5) < 1e-9); /* 4 of 49 in 228 */
    CHECK(fabs(cubin_occupancy(120, &k, 256, 48 << 10) - 2.0 / 6) < 1e-9);
    CHECK(fabs(cubin_occupancy(120, &k, 32, 0) - 0.5) < 1e-9); /* 24 blocks of 48 warps */
    CHECK(fabs(cubin_occupancy(75, &k, 256, 0) - 0) < 1e-9);
    k.registers = 64;
    CHECK(fabs(cubin_occupancy(90, &k, 256, 0) - 0.5) < 1e-9);
    k.registers = 72; /* 56 warps of 9 times 256 registers; 7 of 8 */
    CHECK(fabs(cubin_occupancy(90, &k, 256, 0) - 0.375) < 1e-9);
    k.registers = 255;
    CHECK(fabs(cubin_occupancy(80, &k, 1024, 0) - 0) < 1e-9);
}

/* ---- All ---- */

/* The driver that does nothing is in a folder beside the program's. */
static bool open_all(void) {
    char path[PATH_MAX + 64], folders[2 * PATH_MAX];
    Err err = {0};
    const char *given = getenv("GT_CUDA_LIBRARIES");
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    if (n < 0) return false;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (slash) strcpy(slash, "/gpu/idle");
    snprintf(folders, sizeof folders, "%s%s%s", path, given ? ":" : "", given ? given : "");
    setenv("GT_CUDA_LIBRARIES", folders, true);
    strcat(path, "/libcuda.so.1");
    void *library = dlopen(path, RTLD_NOW);
    if (library) *(void **)&kernel_of_idle = dlsym(library, "idle_kernel");
    CHECK_MSG(kernel_of_idle != NULL, "%s", dlerror());
    cpu = engine_cpu.open(&(EngineConfig){.memory_bytes = 64 << 20, .threads = 1}, &err);
    for (int a = 0; a < ARCHS && kernel_of_idle && cpu; a++) {
        char text[16];
        snprintf(text, sizeof text, "%d", arch[a]);
        setenv("GT_IDLE_CAPABILITY", text, true);
        engine[a] =
            engine_cuda.open(&(EngineConfig){.memory_bytes = 200 << 20, .threads = 1}, &err);
        if (!engine[a]) return printf("cuda_asm: %s: left out\n", err.text), false;
    }
    return kernel_of_idle && cpu;
}
static void print_table(void) {
    printf("%-22s %5s  %-17s %-15s %-23s %s\n", "kernels", "", "registers", "stack (float32)",
           "shared memory", "occupancy   on sm_80, 90, 100, 120");
    for (int k = 0; k < GROUPS; k++) {
        if (!group[1][k].name[0]) continue;
        const Group *g[ARCHS];
        for (int a = 0; a < ARCHS; a++) g[a] = group_of(a, group[1][k].name);
        printf("%-22s %5d ", g[1]->name, g[1]->kernels);
        for (int a = 0; a < ARCHS; a++) printf(" %3d", g[a]->registers);
        printf("  ");
        for (int a = 0; a < ARCHS; a++) printf(" %d (%d)", g[a]->stack, g[a]->stack_f32);
        printf("  ");
        for (int a = 0; a < ARCHS; a++) printf(" %5d", g[a]->shared);
        printf("  ");
        for (int a = 0; a < ARCHS; a++) printf(" %.3f", g[a]->occupancy);
        printf("\n");
    }
}

int main(int argc, char **argv) {
    bool all = argc > 1 && !strcmp(argv[1], "whole");
    if (!open_all()) return check_report("cuda_asm");
    if (getenv("GT_TEST_EVERY") && atoi(getenv("GT_TEST_EVERY")) > 1)
        every = (uint64_t)atoi(getenv("GT_TEST_EVERY"));
    if (argc > 2) list = fopen(argv[2], "w");
    test_occupancy();
    for (int a = 0; a < ARCHS; a++) test_reader(a);
    for (int a = 0; a < (all ? ARCHS : 1); a++) {
        for (int op = 0; op < OP_COUNT; op++)
            if (case_has((Op)op)) run_row((Op)op, a, all);
        for (int i = 0; i < (all ? FUSIONS_WHOLE / (int)every : FUSIONS_SAMPLE); i++)
            run_fusion(all ? a : i % ARCHS, i);
        check_all();
    }
    if (all) print_table();
    CHECK(n_loaded > 60);
    printf("cuda_asm: %d kernels\n", n_loaded);
    for (int a = 0; a < ARCHS; a++) engine_cuda.close(&engine[a]);
    engine_cpu.close(&cpu);
    if (list) fclose(list);
    free(origin);
    return check_report("cuda_asm");
}
