/* op_test.c: the op table as data: rows are complete, names lead back to their rows, dtypes promote
 * by the rules of gt-lang(7), each rule has its sentence, the hash of the tables is the same within
 * a build.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/op_rule.h"
#include "tests/unit/check.h"
#include "worker/fuse/fit.h"

static void test_rows(void) {
    for (int op = 0; op < OP_COUNT; op++) {
        const OpInfo *o = &op_info[op];
        CHECK_MSG(o->name && o->name[0] && o->doc[0], "row %d has no name or doc", op);
        CHECK_MSG(op_find(o->name, strlen(o->name)) == (Op)op, "%s is not found", o->name);
        CHECK(o->in && !(o->in & ~(unsigned)DSET_ALL));
        CHECK(o->shape_name[0] && o->grad_name[0]);
        size_t doc = strlen(o->doc);
        CHECK_MSG(o->doc[doc - 1] == '.', "%s: the doc is a sentence", o->name);
        bool has_expr = o->class_ == CLASS_MAP || o->class_ == CLASS_REDUCE;
        CHECK_MSG(has_expr == (o->expr[0] != 0),
                  "%s: an expression is what map and reduce rows have", o->name);
        CHECK_MSG((o->class_ == CLASS_REDUCE) == (o->init[0] != 0), "%s: init", o->name);
        CHECK(o->arity >= -1 && o->arity <= 4);
        CHECK_MSG(!(op_takes((Op)op) && op_has((Op)op, FACT_PROMOTES)), "%s: cast twice", o->name);
        for (const char *a = o->attrs; *a && *a != '*'; a += strcspn(a, " "), a += *a == ' ')
            CHECK_MSG(attr_find(a, strcspn(a, " ")) != ATTR_COUNT, "%s takes no '%s'", o->name, a);
    }
    CHECK_INT(op_find("frobnicate", 10), OP_COUNT);
    CHECK_INT(op_find("", 0), OP_COUNT);
    CHECK_INT(op_find("addition", 3), OP_ADD);
    CHECK_INT(op_find("ad", 2), OP_COUNT);
    CHECK_INT(op_find("signal enter", 12), OP_SIGNAL_ENTER);
    CHECK(op_info[OP_ADD].in == DSET_ALL && op_info[OP_EXP].in == DSET_FLOAT &&
          op_info[OP_XOR].in == DSET_BITS);
    CHECK(op_info[OP_SUM].out == OUT_wide && op_info[OP_EQ].out == OUT_boolean);
}

static bool is_sentence(const char *s) { return s && *s && s[strlen(s) - 1] == '.'; }

/* Each word of a row has a sentence in rules.def, each sentence there a row. */
static void test_rules(void) {
    static const char *const shapes[] = {
#define SHAPE_RULE(word, doc) #word,
#include "runtime/inst/rules.def"
    };
    static const char *const grads[] = {
#define GRAD_RULE(word, doc) #word,
#include "runtime/inst/rules.def"
    };
    enum { N_SHAPES = sizeof shapes / sizeof *shapes, N_GRADS = sizeof grads / sizeof *grads };
    int used_shape[N_SHAPES] = {0}, used_grad[N_GRADS] = {0};
    for (int op = 0; op < OP_COUNT; op++) {
        const OpInfo *o = &op_info[op];
        CHECK_MSG(is_sentence(op_shape_rule((Op)op)),
                  "rules.def: no sentence for the shape rule %s", o->shape_name);
        CHECK_MSG(is_sentence(op_grad_rule((Op)op)), "rules.def: no sentence for the gradient %s",
                  o->grad_name);
        CHECK_MSG(op_may_fuse((Op)op) == fit_is_kind((Op)op), "%s: what it says of fusing",
                  o->name);
        CHECK(op_fuse_rule((Op)op)[0]);
        for (int i = 0; i < N_SHAPES; i++) used_shape[i] |= !strcmp(shapes[i], o->shape_name);
        for (int i = 0; i < N_GRADS; i++) used_grad[i] |= !strcmp(grads[i], o->grad_name);
    }
    for (int i = 0; i < N_SHAPES; i++) CHECK_MSG(used_shape[i], "no row has %s", shapes[i]);
    for (int i = 0; i < N_GRADS; i++) CHECK_MSG(used_grad[i], "no row has %s", grads[i]);
}

static void test_dtypes(void) {
    static const struct {
        const char *name;
        DType dtype;
    } names[] = {
        {"f32", DT_F32},  {"float32", DT_F32}, {"float", DT_F32}, {"double", DT_F64},
        {"long", DT_I64}, {"int", DT_I64},     {"int32", DT_I32}, {"bool", DT_BOOL},
        {"b1", DT_BOOL},  {"uint8", DT_U8},    {"f99", DT_NONE},  {"int8", DT_I8},
        {"f16", DT_F16},  {"half", DT_F16},    {"bf16", DT_BF16}, {"bfloat16", DT_BF16},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_MSG(dtype_find(names[i].name, strlen(names[i].name)) == names[i].dtype, "%s",
                  names[i].name);
    CHECK_INT(dtype_find("float32x", 7), DT_F32);
    CHECK_INT(dtype_find("", 0), DT_NONE);
    for (int a = 0; a < DT_COUNT; a++)
        for (int b = 0; b < DT_COUNT; b++) {
            DType p = dtype_promote((DType)a, (DType)b);
            /* Promotion is symmetric, and gives one of the two unless they are equally wide. */
            CHECK(p == dtype_promote((DType)b, (DType)a));
            CHECK((int)p == a || (int)p == b ||
                  dtype_info[a].size_bytes == dtype_info[b].size_bytes);
        }
    CHECK_INT(dtype_promote(DT_U8, DT_I8), DT_I32);
    CHECK_INT(dtype_promote(DT_F16, DT_BF16), DT_F32);
    CHECK_INT(dtype_promote(DT_BF16, DT_I64), DT_BF16);
    CHECK_INT(dtype_promote_ranked(DT_F16, 0, DT_BF16, 1), DT_BF16);
    CHECK_INT(dtype_promote(DT_BOOL, DT_U8), DT_U8);
    CHECK_INT(dtype_promote(DT_I64, DT_F32), DT_F32);
    CHECK_INT(dtype_promote(DT_U8, DT_I32), DT_I32);
    CHECK_INT(dtype_promote_ranked(DT_F64, 0, DT_F32, 2), DT_F32);
    CHECK_INT(dtype_promote_ranked(DT_F64, 0, DT_F32, 0), DT_F64);
    CHECK_INT(dtype_promote_ranked(DT_F64, 0, DT_I64, 2), DT_F64);
    CHECK_INT(dtype_promote_ranked(DT_I32, 3, DT_I64, 0), DT_I32);
}

static void test_attrs(void) {
    for (int k = 0; k < ATTR_COUNT; k++)
        CHECK_MSG(attr_find(attr_info[k].name, strlen(attr_info[k].name)) == (AttrKey)k, "%s",
                  attr_info[k].name);
    CHECK_INT(attr_find("axis", 4), ATTR_AXIS);
    CHECK_INT(attr_find("axes", 4), ATTR_AXES);
    CHECK_INT(attr_find("axe", 3), ATTR_COUNT);
    CHECK(attr_info[ATTR_START].part == PART_ARG && attr_info[ATTR_RNG].part == PART_ARG);
    CHECK(attr_info[ATTR_SIZE].part == PART_FORM);
}

int main(void) {
    test_rows();
    test_rules();
    test_dtypes();
    test_attrs();
    CHECK(op_table_hash() == op_table_hash() && op_table_hash() != 0);
    return check_report("op");
}
