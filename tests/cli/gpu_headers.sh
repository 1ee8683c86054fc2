# The declarations of tests/gpu are those of NVIDIA's headers, where these are installed: the compiler compares prototypes,
# structs that are passed, and the values of constants.
. tests/fixtures/check.sh
{
    printf '#include <cuda.h>\n#include <cublasLt.h>\n'
    grep -ohE '\bCU[A-Za-z0-9_]+ = [0-9]+' worker/cuda/cuda_api.h worker/cuda/cublaslt_api.h | sed 's/\(.*\) = \(.*\)/_Static_assert((int)\1 == \2, "\1");/'
    echo '_Static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulHeuristicResult_t) == 96, "sizes");'
    echo '_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == 72, "sizes");'
} >"$TMP/values.c"
[ "$(grep -c Static_assert "$TMP/values.c")" -gt 80 ] || fail "the constants of tests/gpu/*.h were not found"
found=
for dir in /usr/local/cuda/include /usr/local/cuda-*/include .venv/lib/python3*/site-packages/nvidia/*/include; do
    [ -e "$dir/cuda.h" ] && [ -e "$dir/cublasLt.h" ] || continue
    found=1
    for file in tests/gpu/driver.c tests/gpu/driver_module.c tests/gpu/driver_stream.c tests/gpu/blas.c "$TMP/values.c"; do
        ${CC:-cc} -DGT_REAL_CUDA_H -I"$dir" -I. -std=c11 -D_GNU_SOURCE -Wall -Wno-switch -Werror -fsyntax-only "$file" \
            >"$TMP/log" 2>&1 || fail "$file differs from the headers in $dir: $(head -n 3 "$TMP/log")"
    done
done
[ "$found" ] || echo "gpu_headers: NVIDIA's headers are not installed"
finish
