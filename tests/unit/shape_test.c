/* shape_test.c: inference, case by case: an instruction as text, the types of t0, t1 ..., and the
 * result types or the error (with its hint after " | "). Every op of the table must have a valid
 * case.
 * SPDX-License-Identifier: MIT */
#include "runtime/inst/inst.h"
#include "tests/unit/check.h"

typedef struct Case {
    const char *types, *line, *want;
} Case;

static const Case good[] = {
    /* pointwise */
    {"f32[2,3] f32[2,3]", "t9 = add t0 t1", "f32[2,3]"},
    {"f32[2,3] f32[3]", "t9 = sub t0 t1", "f32[2,3]"},
    {"f32[3] f32[2,1]", "t9 = mul t0 t1", "f32[2,3]"},
    {"f64[] f64[4]", "t9 = div t0 t1", "f64[4]"},
    {"i32[5,0] i32[1]", "t9 = floordiv t0 t1", "i32[5,0]"},
    {"i64[1] i64[0]", "t9 = mod t0 t1", "i64[0]"},
    {"f32[]", "t9 = pow t0 2", "f32[]"},
    {"u8[4]", "t9 = maximum t0 255", "u8[4]"},
    {"u8[4]", "t9 = minimum 0 t0", "u8[4]"},
    {"f32[4]", "t9 = eq t0 3", "b1[4]"},
    {"b1[4]", "t9 = ne t0 true", "b1[4]"},
    {"i32[2,2] i32[2]", "t9 = lt t0 t1", "b1[2,2]"},
    {"i32[4]", "t9 = le t0 -2147483648", "b1[4]"},
    {"f32[4]", "t9 = gt t0 nan", "b1[4]"},
    {"f32[4]", "t9 = ge t0 0.5", "b1[4]"},
    {"b1[4] b1[4]", "t9 = bitand t0 t1", "b1[4]"},
    {"i64[4] i64[1]", "t9 = bitor t0 t1", "i64[4]"},
    {"u8[4]", "t9 = bitxor t0 7", "u8[4]"},
    {"b1[2]", "t9 = bitnot t0", "b1[2]"},
    {"b1[2] b1[2]", "t9 = add t0 t1", "b1[2]"},
    {"f32[2,1,4,1,1,1,1,1] f32[3,1,1,1,1,1,1]", "t9 = add t0 t1", "f32[2,3,4,1,1,1,1,1]"},
    {"b1[3] f32[2,3]", "t9 = where t0 t1 -inf", "f32[2,3]"},
    {"b1[2,1] i64[3] i64[]", "t9 = where t0 t1 t2", "i64[2,3]"},
    {"b1[4]", "t9 = where t0 t0 false", "b1[4]"},
    {"u8[3]", "t9 = isnan t0", "b1[3]"},
    {"f32[3]", "t9 = isfinite t0", "b1[3]"},
    /* reductions */
    {"f32[2,3,4]", "t9 = sum t0", "f32[]"},
    {"f32[2,3,4]", "t9 = sum t0 axis=1", "f32[2,4]"},
    {"f32[2,3,4]", "t9 = sum t0 axis=[0,2] keepdims=true", "f32[1,3,1]"},
    {"f32[2,3,4]", "t9 = sum t0 axis=[]", "f32[2,3,4]"},
    {"b1[2,3]", "t9 = sum t0 axis=0", "i64[3]"},
    {"u8[]", "t9 = prod t0", "i64[]"},
    {"f32[0,3]", "t9 = sum t0 axis=0", "f32[3]"},
    {"i32[2,3]", "t9 = max t0 axis=1", "i32[2]"},
    {"f32[0,3]", "t9 = min t0 axis=1", "f32[0]"},
    {"f32[2,3]", "t9 = any t0 axis=1", "b1[2]"},
    {"f32[0]", "t9 = all t0 keepdims=true", "b1[1]"},
    {"i64[3,4]", "t9 = argmax t0", "i64[]"},
    {"f32[3,4]", "t9 = argmax t0 keepdims=true", "i64[1,1]"},
    {"b1[3,4]", "t9 = argmin t0 axis=0", "i64[4]"},
    {"f32[]", "t9 = argmax t0", "i64[]"},
    /* views */
    {"f32[2,3]", "t9 = reshape t0 [6]", "f32[6]"},
    {"f32[1]", "t9 = reshape t0 []", "f32[]"},
    {"f32[0,3]", "t9 = reshape t0 [7,0]", "f32[7,0]"},
    {"f32[2,3,4]", "t9 = permute t0 axes=[2,0,1]", "f32[4,2,3]"},
    {"f32[]", "t9 = permute t0 axes=[]", "f32[]"},
    {"f32[3,1]", "t9 = expand t0 [2,3,4]", "f32[2,3,4]"},
    {"f32[1]", "t9 = expand t0 [0]", "f32[0]"},
    {"f32[5,6]", "t9 = slice t0 [1:5,0:6:2]", "f32[4,3]"},
    {"f32[5]", "t9 = slice t0 [5:5]", "f32[0]"},
    {"f32[]", "t9 = slice t0 []", "f32[]"},
    /* kernels */
    {"f32[4]", "t9 = cast t0 u8", "u8[4]"},
    {"f32[2,3] f32[3,4]", "t9 = matmul t0 t1", "f32[2,4]"},
    {"f32[3] f32[3]", "t9 = matmul t0 t1", "f32[]"},
    {"f32[2,3] f32[3]", "t9 = matmul t0 t1", "f32[2]"},
    {"f32[3] f32[3,4]", "t9 = matmul t0 t1", "f32[4]"},
    {"i64[5,2,3] i64[3,4]", "t9 = matmul t0 t1", "i64[5,2,4]"},
    {"f32[5,1,2,3] f32[7,3,4]", "t9 = matmul t0 t1", "f32[5,7,2,4]"},
    {"f32[3] f32[7,3,4]", "t9 = matmul t0 t1", "f32[7,4]"},
    {"f32[2,0] f32[0,4]", "t9 = matmul t0 t1", "f32[2,4]"},
    {"f32[2,3] f32[2,1] f32[2,0]", "t9 = cat t0 t1 t2 axis=1", "f32[2,4]"},
    {"b1[2]", "t9 = cat t0 axis=0", "b1[2]"},
    {"f32[5,6] f32[6]", "t9 = slice_put t0 t1 [1:5,0:6]", "f32[5,6]"},
    {"f32[5,6] i64[2,7]", "t9 = index t0 t1 axis=0", "f32[2,7,6]"},
    {"f32[5,6] i64[2,1] u8[3]", "t9 = index t0 t1 t2 axis=0", "f32[2,3]"},
    {"f32[4,5,6] i32[]", "t9 = index t0 t1 axis=1", "f32[4,6]"},
    {"f32[5,6] f32[6] i64[2]", "t9 = index_put t0 t1 t2 axis=0", "f32[5,6]"},
    {"f32[5,6] f32[] i64[2] i64[2]", "t9 = index_put t0 t1 t2 t3 axis=0 accumulate=true",
     "f32[5,6]"},
    {"f32[5,6] i64[9,6]", "t9 = gather t0 t1 axis=0", "f32[9,6]"},
    {"f32[5,6] i64[2,3] f32[2,4]", "t9 = scatter_add t0 t1 t2 axis=1", "f32[5,6]"},
    {"u8[3]", "t9 = cumsum t0 axis=0", "i64[3]"},
    {"f32[3]", "t9 = cumsum t0 axis=0", "f32[3]"},
    {"f32[3,2]", "t9 = sort t0 axis=1 descending=true", "f32[3,2]"},
    {"f32[3,0]", "t9 = argsort t0 axis=1", "i64[3,0]"},
    {"f32[3,5]", "t9,t10 = topk t0 2 axis=1", "f32[3,2] i64[3,2]"},
    {"f32[3,5]", "t9,t10 = topk t0 0 axis=1 largest=false", "f32[3,0] i64[3,0]"},
    {"f64[2,3,3]", "t9 = cholesky t0", "f64[2,3,3]"},
    {"f32[2,5,3]", "t9 = qr_packed t0", "f32[2,8,3]"},
    {"f64[2,3,3]", "t9 = eigh_packed t0", "f64[2,4,3]"},
    {"f32[2,5,3]", "t9 = svd_packed t0", "f32[2,9,3]"},
    {"f32[2,3,3]", "t9,t10 = lu t0", "f32[2,3,3] i64[2,3]"},
    {"f32[0,0]", "t9,t10 = lu t0", "f32[0,0] i64[0]"},
    {"f32[3,3] f32[2,3,5]", "t9 = solve_triangular t0 t1 upper=true", "f32[2,3,5]"},
    {"f64[4,1,3,3] f64[2,3,1]", "t9 = solve_triangular t0 t1 unit=true", "f64[4,2,3,1]"},
    {"f32[4,3,3] f32[3,2] f32[4,3,3] i64[4,3]", "t9 = solve t0 t1 t2 t3 transposed=true",
     "f32[4,3,2]"},
    /* windows */
    {"f32[2,3,8,9] f32[4,3,3,3]", "t9 = conv t0 t1", "f32[2,4,6,7]"},
    {"f32[2,6,8,9] f32[4,3,3,2]",
     "t9 = conv t0 t1 stride=[2,1] padding=[1,0] dilation=[1,2] groups=2", "f32[2,4,4,7]"},
    {"i64[0,3,8] i64[4,3,3]", "t9 = conv t0 t1 stride=3", "i64[0,4,2]"},
    {"f64[1,1,4,4,4] f64[2,1,1,2,3]", "t9 = conv t0 t1", "f64[1,2,4,3,2]"},
    {"f32[2,4,4,4] f32[4,3,3,3]", "t9 = conv_dx t0 t1 stride=[2,2] shape=[2,3,10,9]",
     "f32[2,3,10,9]"},
    {"f32[2,3,10,9] f32[2,4,4,4]", "t9 = conv_dw t0 t1 stride=[2,2] shape=[4,3,3,3]",
     "f32[4,3,3,3]"},
    {"f32[2,3,8,9]", "t9,t10 = max_pool t0 kernel=[2,3]", "f32[2,3,4,3] i64[2,3,4,3]"},
    {"u8[7,7]", "t9,t10 = max_pool t0 kernel=[2,2] stride=[2,2] ceil=true", "u8[4,4] i64[4,4]"},
    {"f32[2,9]", "t9,t10 = max_pool t0 kernel=2 stride=1 dilation=3 padding=2",
     "f32[2,10] i64[2,10]"},
    {"f32[3,8,9]", "t9 = avg_pool t0 kernel=[3,3] stride=[2,2] padding=[1,1] count_pad=false",
     "f32[3,4,5]"},
    {"f32[3,4,5]", "t9 = avg_pool_dx t0 kernel=[3,3] stride=[2,2] padding=[1,1] shape=[3,8,9]",
     "f32[3,8,9]"},
    /* sources */
    {"", "t9 = data f32 [2] 1 2", "f32[2]"},
    {"", "t9 = data b1 [] 1", "b1[]"},
    {"", "t9 = data i64 [0,3]", "i64[0,3]"},
    {"", "t9 = full 0.5 [3,4] f32", "f32[3,4]"},
    {"", "t9 = full 1 [] b1", "b1[]"},
    {"i64[7]", "t9 = full t0 0", "i64[7]"},
    {"i64[7]", "t9 = full t0 0.5 f32", "f32[7]"},
    {"", "t9 = arange 0 1 [5] i64", "i64[5]"},
    {"", "t9 = arange 5 -1 [5] u8", "u8[5]"},
    {"", "t9 = rand [2] f64 rng=0:1", "f64[2]"},
    {"f32[2]", "t9 = randn t0 rng=0:1", "f32[2]"},
    {"", "t9 = randint 0 256 [2] u8 rng=0:1", "u8[2]"},
    {"", "t9 = randint -9223372036854775808 9223372036854775807 [2] i64 rng=0:1", "i64[2]"},
    {"f32[3] f32[2,1]", "t9 = atan2 t0 t1", "f32[2,3]"},
    {"f32[3]", "t9 = hypot t0 4", "f32[3]"},
    {"f32[3]", "t9 = polygamma 1 t0", "f32[3]"},
    {"u8[3] u8[2,1]", "t9 = bitwise_left_shift t0 t1", "u8[2,3]"},
    {"i64[3]", "t9 = bitwise_right_shift t0 1", "i64[3]"},
    {"i32[3]", "t9 = fmod t0 2", "i32[3]"},
    {"f32[5,6] i64[2,3] f32[2,4]", "t9 = scatter_reduce t0 t1 t2 axis=1 reduce=\"amax\"",
     "f32[5,6]"},
    {"i64[5,6] i64[5,6]", "t9 = recurrence t0 t1 axis=1 reverse=true", "i64[5,6]"},
    {"b1[5,6]", "t9,t10 = cummax t0 axis=0 largest=false", "b1[5,6] i64[5,6]"},
    {"f32[4] f32[2,3]", "t9 = searchsorted t0 t1", "i64[2,3]"},
    {"u8[2,4] u8[2,3]", "t9 = searchsorted t0 t1 right=true", "i64[2,3]"},
    {"f32[4] f32[]", "t9 = searchsorted t0 t1", "i64[]"},
    /* control */
    {"f32[2]", "fetch t0", ""},
    {"f32[2]", "peek t0 edge=3 threshold=1000", ""},
    {"f32[2] f32[2]", "free t0 t1", ""},
    {"", "sync", ""},
    {"f32[2]", "print \"{}\" t0", ""},
    {"", "write \"a\" \"text\"", ""},
    {"b1[1,1] f32[3]", "assert t0 \"{}\" t1", ""},
    {"f32[2] f32[3]", "save \"a.npz\" a=t0 b=t1", ""},
    {"f32[]", "track loss=t0", ""},
    {"f32[3]", "plot y=t0", ""},
    {"f32[3] i64[2]", "hist x=t0 y=t1 path=\"h.svg\"", ""},
    {"u8[4,4]", "image x=t0 meta=\"{}\"", ""},
    {"", "note \"text\"", ""},
    {"", "signal enter a", ""},
    {"", "signal exit a", ""},
    {"", "signal define a", ""},
    {"", "signal define a axis=-1 workers=[0,3,1] replicated=true backward=b compile=true", ""},
    {"", "check nan=true", ""},
    {"f32[2]", "t9 = shard t0 a", "f32[2]"},
    {"", "t9 = all_gather t0 on=1 from=1 from_split=[0,2] shape=[4,3] dtype=f32", "f32[4,3]"},
    {"", "t9 = all_reduce t0 on=1 from=1 from_partial=\"sum\" shape=[4] dtype=i64", "i64[4]"},
    {"", "t9 = reduce_scatter t0 on=1 split=[0,2] from=1 from_partial=\"max\" shape=[4] dtype=f32",
     "f32[4]"},
    {"", "t9 = all_to_all t0 on=2 split=[1,2] from=2 from_split=[0,2] shape=[4,4] dtype=f32",
     "f32[4,4]"},
    {"", "t9 = all_to_all t0 on=2 split=[0,2,-3] from=2 from_split=[0,2] shape=[4,4] dtype=f32",
     "f32[4,4]"},
    {"", "t9 = move t0 on=2 from=1 shape=[] dtype=b1", "b1[]"},
    {"", "edge", ""},
    {"", "file 0 a.gt", ""},
    {"", "t9 = poison", ""},
    {"", "scope compile=true", ""},
};

static const Case wrong[] = {
    {"", "signal define", "signal define needs the attribute 'name'"},
    {"", "signal define \"\"", "signal define: a name of 1 to 1000 bytes is needed"},
    {"", "signal define a axis=8", "signal define: axis is one number from -8 to 7"},
    {"", "signal define a axis=[0,1]", "signal define: axis is one number from -8 to 7"},
    {"", "signal define a workers=[0,-1]", "signal define: worker -1 is not from 0 to 1023"},
    {"", "signal define a workers=[0,1,0]", "signal define: worker 0 is named twice"},
    {"f32[32,10] f32[32]", "t9 = sub t0 t1",
     "shapes do not broadcast: (32, 10) - (32) | aligned right: 10 vs 32; right.unsqueeze(1) makes "
     "(32, 1)"},
    {"f32[3] f32[4]", "t9 = maximum t0 t1",
     "maximum: shapes do not broadcast: (3) and (4) | aligned right: 3 vs 4"},
    {"b1[2] f32[3]", "t9 = where t0 t1 0",
     "where: shapes do not broadcast: (2) and (3) | aligned right: 2 vs 3"},
    {"f32[3] i64[3]", "t9 = add t0 t1",
     "add: operands of different dtypes: float32 and int64 | cast one of them with .to(float32)"},
    {"i64[3]", "t9 = exp t0", "exp takes float dtypes, not int64 | x.to(float32)"},
    {"b1[3]", "t9 = neg t0", "neg takes number dtypes, not bool | x.to(int64)"},
    {"f32[3] f32[3]", "t9 = bitand t0 t1",
     "bitand takes bool and whole-number dtypes, not float32"},
    {"u8[3]", "t9 = add t0 300", "add: 300 does not fit uint8"},
    {"u8[3]", "t9 = add t0 -1", "add: -1 does not fit uint8"},
    {"b1[3]", "t9 = add t0 2", "add: 2 does not fit bool"},
    {"i32[3]", "t9 = add t0 2147483648", "add: 2147483648 does not fit int32"},
    {"i64[3]", "t9 = mul t0 2.5", "mul: 2.5 is not a value of int64 | x.to(float32)"},
    {"", "t9 = add 1 2", "add needs a tensor among its operands"},
    {"b1[2]", "t9 = where t0 1 2", "where needs a tensor among its operands after the condition"},
    {"f32[2]", "t9 = where t0 t0 t0",
     "where: the condition must be bool, not float32 | x != 0 makes a condition"},
    {"f32[2]", "t9 = where true t0 t0", "where: the condition must be a tensor"},
    {"f32[2]", "t9 = add t0", "add takes 2 operands, not 1"},
    {"f32[2]", "t9 = neg t0 t0", "neg takes 1 operand, not 2"},
    {"f32[35184372088832,1] f32[3]", "t9 = add t0 t1",
     "add: a tensor of shape (35184372088832, 3) has too many elements (limit 2^46)"},
    {"f32[2,3]", "t9 = sum t0 axis=2", "sum: axis 2 is not in 0 to 1"},
    {"f32[2,3]", "t9 = sum t0 axis=-1", "sum: axis -1 is not in 0 to 1"},
    {"f32[2,3]", "t9 = sum t0 axis=[0,0]", "sum: axis 0 is given twice"},
    {"f32[]", "t9 = sum t0 axis=0", "sum: axis 0 of a tensor without axes"},
    {"f32[0,3]", "t9 = max t0", "max of no elements: axis 0 of (0, 3) is empty"},
    {"f32[0,3]", "t9 = argmax t0 axis=0", "argmax of no elements: axis 0 of (0, 3) is empty"},
    {"f32[2,3]", "t9 = argmax t0 axis=[0,1]", "argmax takes one axis, not 2"},
    {"f32[2,3]", "t9 = sum 3", "sum: operand 1 must be a tensor"},
    {"f32[2,3]", "t9 = reshape t0 [4,2]", "cannot reshape (2, 3) to (4, 2): 6 elements, not 8"},
    {"f32[2,3]", "t9 = reshape t0 [3,-1]", "reshape: an axis of -1 elements"},
    {"f32[2,3]", "t9 = reshape t0", "reshape needs the attribute 'shape'"},
    {"f32[1]", "t9 = reshape t0 [1,1,1,1,1,1,1,1,1]",
     "reshape: 9 axes, but a tensor has at most 8"},
    {"f32[0]", "t9 = reshape t0 [0,4611686018427387904,4]",
     "reshape: a tensor of shape (0, 4611686018427387904, 4) has too many elements (limit 2^46)"},
    {"f32[2,3]", "t9 = permute t0 axes=[0]", "permute: 1 axes given for shape (2, 3)"},
    {"f32[2,3]", "t9 = permute t0 axes=[1,1]", "permute: axis 1 is given twice"},
    {"f32[2,3]", "t9 = permute t0 axes=[0,64]", "permute: axis 64 is not in 0 to 1"},
    {"f32[2,3]", "t9 = expand t0 [3,3]", "cannot expand (2, 3) to (3, 3)"},
    {"f32[2,3]", "t9 = expand t0 [3]", "cannot expand (2, 3) to (3)"},
    {"f32[5]", "t9 = slice t0 [0:6]", "slice: 6 elements from 0 by 1 leave axis 0 of 5 elements"},
    {"f32[5]", "t9 = slice t0 [6:6]", "slice: 0 elements from 6 by 1 leave axis 0 of 5 elements"},
    {"f32[5]", "t9 = slice t0 [0:1,0:1]", "slice: 2 slices given for shape (5)"},
    {"f32[5]", "t9 = slice t0 [:]", "slice: -1 elements from 0 by 1 leave axis 0 of 5 elements"},
    {"f32[5]", "t9 = slice t0 start=0 size=3 step=9223372036854775807",
     "slice: 3 elements from 0 by 9223372036854775807 leave axis 0 of 5 elements"},
    {"f32[5]", "t9 = slice t0 start=1 size=1", "slice needs the attribute 'step'"},
    {"f32[64,784] f32[256,10]", "t9 = matmul t0 t1",
     "cannot multiply (64, 784) @ (256, 10): inner sizes 784 and 256 differ"},
    {"f32[64,784] f32[256,784]", "t9 = matmul t0 t1",
     "cannot multiply (64, 784) @ (256, 784): inner sizes 784 and 256 differ | right.T would fit"},
    {"f32[] f32[3]", "t9 = matmul t0 t1",
     "cannot multiply () @ (3): a tensor without axes | * multiplies by a single value"},
    {"f32[2,3,4] f32[3,4,5]", "t9 = matmul t0 t1",
     "cannot multiply (2, 3, 4) @ (3, 4, 5): leading axes do not broadcast"},
    {"f32[2,3] f64[3,2]", "t9 = matmul t0 t1",
     "matmul: operands of different dtypes: float32 and float64"},
    {"b1[2,3] b1[3,2]", "t9 = matmul t0 t1", "matmul takes number dtypes, not bool | x.to(int64)"},
    {"f32[2,3] f32[3,3]", "t9 = cat t0 t1 axis=1",
     "cannot join (2, 3) and (3, 3) along axis 1 | axis=0 fits"},
    {"f32[2,3] f32[2]", "t9 = cat t0 t1 axis=0", "cannot join (2, 3) and (2) along axis 0"},
    {"", "t9 = cat axis=0", "cat takes at least 1 operand, not 0"},
    {"f32[2]", "t9 = cat t0", "cat needs the attribute 'axis'"},
    {"f32[5,6] f32[5]", "t9 = slice_put t0 t1 [1:5,0:6]",
     "slice_put: a value of shape (5) does not fit (4, 6)"},
    {"f32[5] f32[1,1]", "t9 = slice_put t0 t1 [1:5]",
     "slice_put: a value of shape (1, 1) does not fit (4)"},
    {"f32[5,6] f32[2]", "t9 = index t0 t1 axis=0",
     "index: indices must be whole numbers, not float32 | idx.to(int64)"},
    {"f32[5,6] b1[2]", "t9 = index t0 t1 axis=0",
     "index: indices must be whole numbers, not bool | idx.to(int64)"},
    {"f32[5,6] i64[2] i64[3]", "t9 = index t0 t1 t2 axis=0",
     "index: indices of shapes (2) and (3) do not broadcast"},
    {"f32[5,6] i64[2]", "t9 = index t0 t1 t1 axis=1",
     "index: 2 indices from axis 1 on, but the shape is (5, 6)"},
    {"f32[5,6] i64[1,1,1,1,1,1,1,1]", "t9 = index t0 t1 axis=0",
     "index: a result of 9 axes, but a tensor has at most 8"},
    {"f32[5,6]", "t9 = index t0 axis=0", "index takes at least 2 operands, not 1"},
    {"f32[5,6] f32[3] i64[2]", "t9 = index_put t0 t1 t2 axis=0",
     "index_put: a value of shape (3) does not fit (2, 6)"},
    {"f32[5,6] i64[9,7]", "t9 = gather t0 t1 axis=0",
     "gather: indices of shape (9, 7) reach beyond (5, 6)"},
    {"f32[5,6] i64[9]", "t9 = gather t0 t1 axis=0",
     "gather: indices of shape (9) reach beyond (5, 6) (they need as many axes)"},
    {"f32[5,6] i64[2,3] f32[2,2]", "t9 = scatter_add t0 t1 t2 axis=1",
     "scatter_add: indices of shape (2, 3) reach beyond (2, 2)"},
    {"f32[5]", "t9,t10 = topk t0 6 axis=0", "topk: 6 of the 5 elements of axis 0"},
    {"f32[2,3]", "t9 = qr_packed t0",
     "qr_packed needs matrices of at least as many rows as columns, not shape (2, 3)"},
    {"f32[2,3]", "t9 = eigh_packed t0", "eigh_packed needs square matrices, not shape (2, 3)"},
    {"f32[3]", "t9 = svd_packed t0", "svd_packed needs matrices, not shape (3)"},
    {"f32[3]", "t9 = bitwise_left_shift t0 1",
     "bitwise_left_shift takes whole-number dtypes, not float32"},
    {"f32[3,4]", "t9 = cholesky t0", "cholesky needs square matrices, not shape (3, 4)"},
    {"f32[3]", "t9,t10 = lu t0", "lu needs square matrices, not shape (3)"},
    {"i64[3,3]", "t9 = cholesky t0", "cholesky takes float32 or float64, not int64 | x.float()"},
    {"f32[3,3] f64[3,1]", "t9 = solve_triangular t0 t1",
     "solve_triangular: operands of different dtypes: float32 and float64"},
    {"f32[3,3] f32[2,1]", "t9 = solve_triangular t0 t1",
     "solve_triangular: (3, 3) equations, but right sides of 2 elements"},
    {"f32[2,3,3] f32[4,3,1]", "t9 = solve_triangular t0 t1",
     "solve_triangular: leading axes do not broadcast: (2, 3, 3) and (4, 3, 1)"},
    {"f32[3,3] f32[3,1] f32[3,3] i64[2]", "t9 = solve t0 t1 t2 t3",
     "solve: (3, 3) and (2) are not results of lu"},
    {"f32[5]", "t9,t10 = topk t0 axis=0", "topk needs the attribute 'k'"},
    {"f32[5]", "t9 = topk t0 2 axis=0", "topk gives 2 results, not 1"},
    {"f32[5]", "t9,t10 = neg t0", "neg gives 1 result, not 2"},
    {"f32[5] i64[2] f32[2]", "t9 = scatter_reduce t0 t1 t2 axis=0 reduce=\"mean\"",
     "scatter_reduce: 'reduce' is prod, amax or amin"},
    {"f32[5] i64[2] f32[2]", "t9 = scatter_reduce t0 t1 t2 axis=0",
     "scatter_reduce needs the attribute 'reduce'"},
    {"f32[5] f32[1]", "t9 = recurrence t0 t1 axis=0",
     "recurrence: factors of shape (5), but terms of shape (1)"},
    {"f32[]", "t9,t10 = cummax t0 axis=0", "cummax: axis 0 of a tensor without axes"},
    {"f32[3,4] f32[2,5]", "t9 = searchsorted t0 t1",
     "searchsorted: rows of shape (3, 4) do not belong to values of shape (2, 5)"},
    {"f32[] f32[2]", "t9 = searchsorted t0 t1",
     "searchsorted: rows of shape () do not belong to values of shape (2)"},
    {"f32[]", "t9 = sort t0 axis=0", "sort: axis 0 of a tensor without axes"},
    {"f32[8,3,32,32] f32[16,1,3,3]", "t9 = conv t0 t1",
     "conv2d: input of shape (8, 3, 32, 32) has 3 channels, the weights of shape (16, 1, 3, 3) "
     "with groups=1 want 1"},
    {"f32[8,3,4,4] f32[16,3,5,3]", "t9 = conv t0 t1",
     "conv2d: a kernel of (5, 3) does not fit into an input of (4, 4)"},
    {"f32[8,3,4,4] f32[16,3,3,3]", "t9 = conv t0 t1 dilation=[9,9] padding=[1,2]",
     "conv2d: a kernel of (3, 3) with dilation 9 does not fit into an input of (4, 4) and padding "
     "1"},
    {"f32[8,3,4,4] f32[16,3,3]", "t9 = conv t0 t1",
     "conv2d: input of shape (8, 3, 4, 4) needs weights of 4 axes, not of shape (16, 3, 3)"},
    {"f32[8,3] f32[16,3]", "t9 = conv t0 t1",
     "conv: the input needs images, channels and 1 to 3 more axes, not shape (8, 3)"},
    {"f32[8,4,4,4] f32[6,1,3,3]", "t9 = conv t0 t1 groups=4",
     "conv2d: groups=4 does not divide the 6 output channels"},
    {"f32[8,4,4] f32[6,4,3]", "t9 = conv t0 t1 groups=0",
     "conv1d: groups must be at least 1, not 0"},
    {"f32[8,4,4,4] f32[6,4,3,3]", "t9 = conv t0 t1 stride=2",
     "conv2d: stride needs 2 numbers, not 1"},
    {"f32[8,4,4,4] f32[6,4,3,3]", "t9 = conv t0 t1 stride=[2,0]",
     "conv2d: stride must be at least 1, not 0"},
    {"f32[8,4,4,4] f32[6,4,3,3]", "t9 = conv t0 t1 padding=[0,-1]",
     "conv2d: padding must be at least 0, not -1"},
    {"f32[8,4,4,4] f32[6,4,0,3]", "t9 = conv t0 t1",
     "conv2d: a kernel of (0, 3) does not fit into an input of (4, 4)"},
    {"f32[8,4,4,4] f64[6,4,3,3]", "t9 = conv t0 t1",
     "conv: operands of different dtypes: float32 and float64"},
    {"b1[8,4,4,4] b1[6,4,3,3]", "t9 = conv t0 t1",
     "conv takes number dtypes, not bool | x.to(int64)"},
    {"f32[8,6,2,2] f32[6,4,3,3]", "t9 = conv_dx t0 t1", "conv_dx needs the attribute 'shape'"},
    {"f32[8,6,2,2] f32[6,4,3,3]", "t9 = conv_dx t0 t1 shape=[8,4,5,4]",
     "conv_dx: a gradient of shape (8, 6, 2, 2), but the result has (8, 6, 3, 2)"},
    {"f32[8,4,4,4] f32[8,6,2,2]", "t9 = conv_dw t0 t1 shape=[6,3,3,3]",
     "conv2d_dw: input of shape (8, 4, 4, 4) has 4 channels, the weights of shape (6, 3, 3, 3) "
     "with groups=1 want 3"},
    {"f32[2,8,8]", "t9,t10 = max_pool t0", "max_pool needs the attribute 'kernel'"},
    {"f32[2,8,8]", "t9,t10 = max_pool t0 kernel=[2,2,2,2]",
     "max_pool: windows have 1 to 3 axes, not 4"},
    {"f32[8]", "t9,t10 = max_pool t0 kernel=[2,2]",
     "max_pool2d: the input needs 2 spatial axes, not shape (8)"},
    {"f32[2,8,8]", "t9,t10 = max_pool t0 kernel=[2,2] padding=[0,2]",
     "max_pool2d: padding is at most half of the window: 2 of 2"},
    {"f32[2,0,8]", "t9,t10 = max_pool t0 kernel=[2,2]",
     "max_pool2d: planes without elements: (2, 0, 8)"},
    {"f32[2,8,8]", "t9,t10 = max_pool t0 kernel=[0,2]", "max_pool2d: a window of 0 elements"},
    {"f32[2,8,8]", "t9 = avg_pool t0 kernel=[9,2]",
     "avg_pool2d: a kernel of (9, 2) does not fit into an input of (8, 8)"},
    {"f32[2,8,8]", "t9 = avg_pool t0 kernel=2 divisor=0", "avg_pool: the divisor must not be 0"},
    {"f32[2,8,8]", "t9 = avg_pool t0 kernel=2 dilation=2", "avg_pool has no dilation"},
    {"f32[2,3,8]", "t9 = avg_pool_dx t0 kernel=2 shape=[2,8,8]",
     "avg_pool_dx: a gradient of shape (2, 3, 8), but the result has (2, 8, 4)"},
    {"", "t9 = data f32 [2] 1 2 3", "data: 12 bytes do not make f32[2]: 3 elements, not 2"},
    {"", "t9 = data f32 [2]", "data: 0 bytes do not make f32[2]: 0 elements, not 2"},
    {"", "t9 = data b1 [3] b64=\"AAEC\"", "data: a bool is neither 0 nor 1"},
    {"", "t9 = data b64=\"AAEC\"", "data needs the attribute 'shape'"},
    {"f32[2]", "t9 = data t0 f32 [2] 1 2", "data takes 0 operands, not 1"},
    {"", "t9 = full 300 [2] u8", "full: 300 does not fit uint8"},
    {"", "t9 = full 0.5 [2] i64", "full: 0.5 is not a value of int64 | x.to(float32)"},
    {"", "t9 = full 0.5 [2]", "full needs the attribute 'dtype'"},
    {"f32[2]", "t9 = full t0 1 [2]", "full: a shape and a model tensor exclude each other"},
    {"f32[2]", "t9 = full 1 t0 [2] f32", "full takes 1 operand, not 2"},
    {"", "t9 = full 1 [70368744177665] f32",
     "full: a tensor of shape (70368744177665) has too many elements (limit 2^46)"},
    {"", "t9 = arange 0 1 [2,2] i64", "arange makes one axis, not shape (2, 2)"},
    {"", "t9 = arange 0 1 [2] b1", "arange makes numbers, not bool"},
    {"", "t9 = arange 0 0.5 [2] i64", "arange: 0.5 is not a value of int64 | x.to(float32)"},
    {"", "t9 = rand [2] f32", "rand needs the attribute 'rng'"},
    {"", "t9 = rand [2] f32 rng=[1]", "rand: rng is seed:counter"},
    {"", "t9 = rand [2] i64 rng=0:0", "rand makes float dtypes, not int64"},
    {"", "t9 = randint 5 5 [2] i64 rng=0:0", "randint: no whole number is in [5, 5)"},
    {"", "t9 = randint 0 257 [2] u8 rng=0:0", "randint: 256 does not fit uint8"},
    {"", "t9 = randint 0 3 [2] b1 rng=0:0", "randint: 2 does not fit bool"},
    {"", "t9 = randint 0.0 1.0 [2] i64 rng=0:0", "randint: the bounds must be whole numbers"},
    {"f32[2]", "assert t0 \"x\"", "assert needs a single value, not shape (2)"},
    {"f32[2]", "save \"a\" t0 keys=\"a\nb\"", "save: 2 names for 1 operands"},
    {"f32[2]", "save \"a\" t0", "save: 0 names for 1 operands"},
    {"f32[2]", "plot t0", "plot: 0 names for 1 operands"},
    {"", "free", "free takes at least 1 operand, not 0"},
    {"", "fetch 3", "fetch: operand 1 must be a tensor"},
    {"f32[2]", "print t0", "print needs the attribute 'format'"},
    {"f32[2]", "peek t0 edge=-1", "peek: edge=-1 is out of range"},
    {"f32[2]", "t9 = fetch t0", "fetch gives 0 results, not 1"},
    {"", "file 65536 a.gt", "file takes a number from 0 to 65535"},
    {"", "t9 = load \"x.npy\"", "load runs in the client and is never sent"},
    {"", "t9 = move t0 on=2 from=1 dtype=b1", "move needs shape and dtype"},
    {"", "t9 = move t0 on=2 shape=[2] dtype=b1", "move needs on and from"},
    {"", "t9 = move t0 on=2 from=-1 shape=[2] dtype=b1", "move: from=-1 is not a group"},
    {"", "t9 = move t0 on=2 from=1 shape=[2,-1] dtype=b1", "move: an extent out of range"},
    {"", "t9 = move t0 on=2 from=1 split=[1,2] shape=[2] dtype=b1",
     "move: no axis 1 to split along"},
    {"", "t9 = move t0 on=2 from=1 split=[0,0] shape=[2] dtype=b1",
     "move: split takes an axis and a block of at least 1"},
    {"", "t9 = move t0 on=2 from=1 split=[0,1,1,1] shape=[2] dtype=b1",
     "move: split takes an axis and a block of at least 1"},
    {"", "t9 = move t0 on=2 from=1 split=[0,1,-9000000000000000000] shape=[2] dtype=b1",
     "move: split begins out of range"},
    {"", "t9 = move t0 on=2 from=1 from_split=[0,1,1] shape=[2] dtype=b1",
     "move: from_split takes an axis and a block of at least 1"},
    {"", "t9 = move t0 on=2 from=1 partial=\"exp\" shape=[2] dtype=b1",
     "move: partial is not a reduction"},
    {"f32[2]", "t9 = shard t0", "shard needs the attribute 'name'"},
};

/* Parses types from text, by the parser for result types. */
static int read_types(const char *text, Arena *a, TensorType *t) {
    int n = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        char *line = arena_printf(a, "t0 = poison -> %.*s", (int)length, text);
        InstLine parsed;
        CHECK_MSG(inst_parse(line, strlen(line), a, &parsed, NULL), "%s", text);
        t[n++] = parsed.types[0];
        text += length + (text[length] == ' ');
    }
    return n;
}

static bool infer(const Case *c, Arena *a, Op *op, char *got, size_t size) {
    TensorType known[8], in[8] = {{0}}, out[MAX_OUT];
    read_types(c->types, a, known);
    InstLine line;
    Err err = {0};
    int n_out = -1;
    bool ok = inst_parse(c->line, strlen(c->line), a, &line, &err);
    CHECK_MSG(ok, "%s: %s", c->line, err.text);
    if (!ok) return false;
    *op = line.inst.op;
    for (int i = 0; i < line.inst.n_in && i < 8; i++)
        if (line.inst.in[i].kind == IN_TENSOR) in[i] = known[line.inst.in[i].id];
    ok = inst_infer(&line.inst, in, out, &n_out, &err);
    got[0] = 0;
    char text[256];
    if (!ok) snprintf(got, size, "%s%s%s", err.text, err.hint[0] ? " | " : "", err.hint);
    for (int i = 0; ok && i < n_out; i++) {
        strcat(got, i ? " " : "");
        strcat(got, type_text(&out[i], text));
    }
    return ok;
}

static void test_cases(void) {
    Arena a = {0};
    bool seen[OP_COUNT] = {0};
    char got[1024];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        Op op = OP_COUNT;
        bool ok = infer(&good[i], &a, &op, got, sizeof got);
        CHECK_MSG(ok && !strcmp(got, good[i].want), "%s\n  gives %s\n  not   %s", good[i].line, got,
                  good[i].want);
        if (op < OP_COUNT) seen[op] = true;
        arena_reset(&a);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Op op;
        bool ok = infer(&wrong[i], &a, &op, got, sizeof got);
        CHECK_MSG(!ok && !strcmp(got, wrong[i].want), "%s\n  gives %s\n  not   %s", wrong[i].line,
                  got, wrong[i].want);
        arena_reset(&a);
    }
    for (int op = 0; op < OP_COUNT; op++) {
        bool is_map = op_info[op].class_ == CLASS_MAP; /* they share one rule */
        bool has_no_text = op == OP_LOAD || op == OP_BODY || op == OP_VALUE;
        CHECK_MSG(seen[op] || is_map || has_no_text, "no case for %s", op_info[op].name);
    }
    arena_fini(&a);
}

/* Unary pointwise ops, from the table: every dtype is accepted or refused as the row says. */
static void test_unary(void) {
    Operand x = {.kind = IN_TENSOR, .id = 0};
    for (int op = 0; op < OP_COUNT; op++) {
        if (op_info[op].class_ != CLASS_MAP || op_info[op].arity != 1) continue;
        for (int d = 0; d < DT_COUNT; d++) {
            TensorType in = {(uint8_t)d, 2, {3, 5}}, out[MAX_OUT];
            Inst inst = {.op = (Op)op, .n_in = 1, .n_out = 1, .in = &x};
            int n_out;
            bool takes = op_info[op].in >> d & 1, ok = inst_infer(&inst, &in, out, &n_out, NULL);
            CHECK_MSG(ok == takes, "%s of %s", op_info[op].name, dtype_info[d].name);
            if (ok)
                CHECK(out[0].dtype == (op_info[op].out == OUT_boolean ? DT_BOOL : d) &&
                      out[0].shape[1] == 5);
        }
    }
}

static void test_types(void) {
    TensorType t = {DT_F32, 3, {2, 0, 4}}, u = t;
    char text[256];
    CHECK_STR(type_shape_text(&t, text), "(2, 0, 4)");
    CHECK_STR(type_text(&t, text), "f32[2,0,4]");
    CHECK_INT(type_numel(&t), 0);
    u.shape[7] = 9; /* beyond the rank */
    CHECK(type_equal(&t, &u));
    u.dtype = DT_F64;
    CHECK(!type_equal(&t, &u));
    TensorType s = {DT_I64, 0, {0}};
    CHECK_INT(type_bytes(&s), 8);
    CHECK_STR(type_shape_text(&s, text), "()");
    TensorType longest = {DT_BOOL, 8, {0}};
    for (int i = 0; i < 8; i++) longest.shape[i] = INT64_MIN;
    CHECK(strlen(type_shape_text(&longest, text)) < 256);
}

int main(void) {
    test_cases();
    test_unary();
    test_types();
    return check_report("shape");
}
