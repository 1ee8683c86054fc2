/* gpu_random_test.c: random programs, compiled by NVRTC and executed by the emulated GPU, and
 * compiled by cc: the same bits. Whole numbers and floats of 32 and 64 bits, choices, loops and
 * branches by which threads part.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/gpu.h"
#include "tests/unit/random.h"

enum {
    N = 256,
    PROGRAMS = 8,
    TYPES = 6,
    STATEMENTS = 10,
    TEXT_MAX = 1 << 18,
    I32 = 0,
    U32,
    I64,
    U64,
    F32,
    F64
};
static const char *const type_name[TYPES] = {"i32", "u32", "i64", "u64", "f32", "f64"};
/* What both compilers read first. Whole numbers wrap; what C leaves open is decided here. */
static const char prologue[] =
    "typedef int i32; typedef unsigned u32; typedef long long i64; typedef unsigned long long "
    "u64;\n"
    "typedef float f32; typedef double f64;\n"
    "#define INTS(T, U, bits) \\\n"
    "FN T add_##T(T a, T b) { return (T)((U)a + (U)b); } FN T sub_##T(T a, T b) { return (T)((U)a "
    "- (U)b); }\\\n"
    "FN T mul_##T(T a, T b) { return (T)((U)a * (U)b); } FN T div_##T(T a, T b) { return (U)b > 1 "
    "? (T)((U)a / (U)b) : a; }\\\n"
    "FN T rem_##T(T a, T b) { return (U)b > 1 ? (T)((U)a % (U)b) : b; }\\\n"
    "FN T half_##T(T a, T b) { return b > 1 ? a / b : a % 7; }\\\n"
    "FN T and_##T(T a, T b) { return a & b; } FN T xor_##T(T a, T b) { return a ^ b; } FN T "
    "or_##T(T a, T b) { return a | ~b; }\\\n"
    "FN T shl_##T(T a, T b) { return (T)((U)a << (b & (bits - 1))); } FN T shr_##T(T a, T b) { "
    "return a >> (b & (bits - 1)); }\\\n"
    "FN T min_##T(T a, T b) { return a < b ? a : b; } FN T max_##T(T a, T b) { return a < b ? b : "
    "a; }\\\n"
    "FN T of_f32_##T(f32 x) { return x > -1e9f && x < 1e9f ? (T)(i64)x : (T)3; }\\\n"
    "FN T of_f64_##T(f64 x) { return x > -1e9 && x < 1e9 ? (T)(i64)x : (T)5; }\n"
    "INTS(i32, u32, 32) INTS(u32, u32, 32) INTS(i64, u64, 64) INTS(u64, u64, 64)\n"
    "#define REALS(T, s) \\\n"
    "FN T add_##T(T a, T b) { return a + b; } FN T sub_##T(T a, T b) { return a - b; } FN T "
    "mul_##T(T a, T b) { return a * b; }\\\n"
    "FN T div_##T(T a, T b) { return a / b; } FN T root_##T(T a, T b) { return a < 0 ? b : "
    "sqrt##s(a); }\\\n"
    "FN T floor_##T(T a, T b) { return floor##s(a) - trunc##s(b); } FN T fused_##T(T a, T b) { "
    "return fma##s(a, b, a); }\\\n"
    "FN T sign_##T(T a, T b) { return -fabs##s(b); } FN T near_##T(T a, T b) { return rint##s(a); "
    "}\\\n"
    "FN T min_##T(T a, T b) { return a < b ? a : b; } FN T max_##T(T a, T b) { return a < b ? b : "
    "a; }\n"
    "REALS(f32, f) REALS(f64, )\n";

typedef struct Text {
    char *at, *end;
    Rand *r;
} Text;
__attribute__((format(printf, 2, 3))) static void put(Text *t, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->at, (size_t)(t->end - t->at), format, ap);
    va_end(ap);
    if (n > 0 && n < t->end - t->at) t->at += n;
}
static void put_condition(Text *t, int depth);
static void put_value(Text *t, int type, int depth) {
    static const char *const ints[] = {"add", "sub", "mul", "div", "rem", "half", "and",
                                       "xor", "or",  "shl", "shr", "min", "max"};
    static const char *const reals[] = {"add",   "sub",  "mul",  "div", "root", "floor",
                                        "fused", "sign", "near", "min", "max"};
    int how = depth ? rand_below(t->r, 8) : rand_below(t->r, 2);
    if (how == 0 || (how == 1 && type >= F32))
        put(t, "v%d", type);
    else if (how == 1)
        put(t, "(%s)%lldll", type_name[type], (long long)(rand_u64(t->r) >> rand_below(t->r, 64)));
    else if (how == 2) {
        int from = rand_below(t->r, TYPES);
        if (from >= F32 && type < F32)
            put(t, "of_%s_%s(", type_name[from], type_name[type]);
        else
            put(t, "(%s)(", type_name[type]);
        put_value(t, from, depth - 1);
        put(t, ")");
    } else if (how == 3) {
        put(t, "("), put_condition(t, depth - 1), put(t, " ? "), put_value(t, type, depth - 1);
        put(t, " : "), put_value(t, type, depth - 1), put(t, ")");
    } else {
        const char *op = type < F32 ? ints[rand_below(t->r, 13)] : reals[rand_below(t->r, 11)];
        put(t, "%s_%s(", op, type_name[type]), put_value(t, type, depth - 1);
        put(t, ", "), put_value(t, type, depth - 1), put(t, ")");
    }
}
static void put_condition(Text *t, int depth) {
    static const char *const signs[] = {"<", "<=", ">", ">=", "==", "!="};
    int type = rand_below(t->r, TYPES);
    put_value(t, type, depth);
    put(t, " %s ", signs[rand_below(t->r, 6)]);
    put_value(t, type, depth);
}
static void put_statement(Text *t, int depth) {
    int type = rand_below(t->r, TYPES), how = depth ? rand_below(t->r, 4) : 0;
    if (how == 1) {
        put(t, "if ("), put_condition(t, 1), put(t, ") {\n"), put_statement(t, depth - 1),
            put(t, "} else {\n");
        put_statement(t, depth - 1), put(t, "}\n");
    } else if (how == 2) {
        put(t, "for (int k%d = 0; k%d < (int)(v%d & 7); k%d++) {\n", depth, depth,
            rand_below(t->r, F32), depth);
        put_statement(t, depth - 1), put(t, "if ("), put_condition(t, 1), put(t, ") break;\n}\n");
    } else {
        put(t, "v%d = ", type), put_value(t, type, 3), put(t, ";\n");
    }
}
static char *make_program(Rand *r) {
    Text t = {.at = malloc(TEXT_MAX), .r = r};
    char *text = t.at;
    t.end = text + TEXT_MAX;
    put(&t, "%s", prologue);
    for (int k = 0; k < PROGRAMS; k++) {
        put(&t, "KERNEL program%d(u64 *all LAST) {\nu64 *at = all + 6 * INDEX;\n", k);
        for (int v = 0; v < TYPES; v++)
            put(&t, "%s v%d; memcpy(&v%d, at + %d, sizeof v%d);\n", type_name[v], v, v, v, v);
        for (int s = 0; s < STATEMENTS; s++) put_statement(&t, 3);
        for (int v = 0; v < TYPES; v++)
            put(&t, "if (v%d != v%d) v%d = 0; memcpy(at + %d, &v%d, sizeof v%d);\n", v, v, v, v, v,
                v);
        put(&t, "}\n");
    }
    return text;
}
/* The program as a library made by cc, in a folder of its own; NULL: there is no compiler. */
static void *compile(const char *program) {
    char folder[] = "/tmp/gpu_random_XXXXXX", path[64], command[300];
    if (!mkdtemp(folder)) return NULL;
    snprintf(path, sizeof path, "%s/p.c", folder);
    FILE *f = fopen(path, "w");
    if (!f) return NULL;
    fprintf(f,
            "#include <math.h>\n#include <string.h>\n#define FN static\n#define KERNEL "
            "void\n#define LAST , int INDEX\n%s",
            program);
    fclose(f);
    snprintf(command, sizeof command,
             "${CC:-cc} -w -O1 -fwrapv -ffp-contract=off -fno-math-errno -shared -fPIC -o %s/p.so "
             "%s/p.c -lm",
             folder, folder);
    int failed = system(command);
    snprintf(path, sizeof path, "%s/p.so", folder);
    void *library = failed ? NULL : dlopen(path, RTLD_NOW);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) return NULL;
    return library;
}
static void fill(uint64_t (*x)[TYPES], Rand *r) {
    for (int i = 0; i < N; i++) {
        float f = (float)((double)(int64_t)rand_u64(r) * 0x1p-50);
        double d = (double)(int64_t)rand_u64(r) * 0x1p-53;
        memset(x[i], 0, sizeof x[i]);
        for (int v = 0; v < F32; v++) x[i][v] = rand_u64(r) >> rand_below(r, 64);
        for (int v = 0; v < I64; v++) x[i][v] = (uint32_t)x[i][v];
        memcpy(&x[i][F32], &f, sizeof f);
        memcpy(&x[i][F64], &d, sizeof d);
    }
}
static void compare(const char *text, int arch, Rand *r) {
    static uint64_t in[N][TYPES], want[N][TYPES], got[N][TYPES];
    static const char head[] =
        "#define FN static __device__ __forceinline__\n#define KERNEL extern \"C\" __global__ "
        "void\n"
        "#define LAST\n#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)\n";
    char *cuda = malloc(strlen(text) + sizeof head);
    strcat(strcpy(cuda, head), text);
    char *ptx = nvrtc_ptx(cuda, arch, NULL);
    void *library = compile(text);
    CHECK(ptx && library);
    CUmodule m;
    CHECK(gpu_open(rand_u64(r)));
    if (ptx && library && !gpu.cuModuleLoadData(&m, ptx)) {
        for (int k = 0; k < PROGRAMS; k++) {
            char name[20];
            CUfunction f;
            snprintf(name, sizeof name, "program%d", k);
            void (*fn)(uint64_t *, int);
            *(void **)&fn = dlsym(library, name);
            fill(in, r);
            memcpy(want, in, sizeof in);
            for (int i = 0; i < N; i++) fn(want[0], i);
            CHECK_CU(gpu.cuModuleGetFunction(&f, m, name));
            CUdeviceptr d = gpu_buffer(in, sizeof in);
            void *param[] = {&d};
            CHECK_CU(gpu_run(f, 4, N / 4, 0, param));
            CHECK_CU(gpu.cuMemcpyDtoH_v2(got, d, sizeof got));
            int differ = 0;
            for (int i = 0; i < N; i++)
                for (int v = 0; v < TYPES; v++)
                    if (got[i][v] != want[i][v] && !differ++)
                        CHECK_MSG(0, "sm_%d, %s, thread %d: v%d is %#llx, not %#llx", arch, name, i,
                                  v, (unsigned long long)got[i][v], (unsigned long long)want[i][v]);
            CHECK_INT(differ, 0);
        }
    } else {
        CHECK_MSG(0, "sm_%d: %s", arch, gpu.emu_refusal());
    }
    if (check_failed && getenv("GT_EMU_SHOW")) fputs(text, stderr);
    free(cuda), free(ptx);
    if (library) dlclose(library);
}
int main(int argc, char **argv) {
    int archs[] = {80, 120, 90};
    if (!gpu_open(1)) return 1;
    if (!nvrtc_open("gpu_random")) return check_report("gpu_random");
    Rand r = {rand_seed(argc, argv)};
    int rounds = rand_rounds(2), n_archs = nvrtc_archs("gpu_random", archs, 3);
    for (int k = 0; k < rounds && n_archs; k++) {
        char *text = make_program(&r);
        compare(text, archs[k % n_archs], &r);
        free(text);
    }
    return check_report("gpu_random");
}
