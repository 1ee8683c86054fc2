# The declarations of tests/gpu and worker/cuda are those of NVIDIA's headers, where these are installed: the compiler compares
# prototypes, by the symbols that the engine looks up, structs that are passed, and the values of constants.
. tests/fixtures/check.sh
{
    printf '#include <cuda.h>\n#include <cublasLt.h>\n'
    grep -ohE '\bCU[A-Za-z0-9_]+ = [0-9]+' worker/cuda/cuda_api.h worker/cuda/cublaslt_api.h tests/gpu/driver_api.h | sed 's/\(.*\) = \(.*\)/_Static_assert((int)\1 == \2, "\1");/'
    echo '_Static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulHeuristicResult_t) == 96, "sizes");'
    echo '_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == 72, "sizes");'
} >"$TMP/values.c"
[ "$(grep -c Static_assert "$TMP/values.c")" -gt 80 ] || fail "the constants of tests/gpu/*.h were not found"
# functions LIST RESULT FILE: compares the prototypes of a list of functions.
functions() {
    awk -v name="$1" '$1 == "#define" && index($2, name "(") == 1 { on = 1 } on { print } !/\\$/ { on = 0 }' "$3"
    echo "#define X(name, args) _Static_assert(__builtin_types_compatible_p(__typeof__(&name), $2(*) args), #name);"
    echo "$1(X)"
    echo '#undef X'
}
{
    printf '#include <cuda.h>\n#include <cublasLt.h>\n'
    functions CUDA_FUNCTIONS CUresult worker/cuda/cuda_api.h
    functions CUDA_OTHER_FUNCTIONS CUresult tests/gpu/driver_api.h
    functions CUBLASLT_FUNCTIONS cublasStatus_t worker/cuda/cublaslt_api.h
} >"$TMP/functions.c"
{
    echo '#include <nvrtc.h>'
    functions NVRTC_FUNCTIONS nvrtcResult worker/cuda/cuda_api.h
} >"$TMP/nvrtc.c"
{
    echo '#include <nvml.h>'
    functions NVML_FUNCTIONS nvmlReturn_t worker/cuda/nvml_api.h
} >"$TMP/nvml.c"
for list in functions:cublasLtMatmul functions:cuGraphLaunch functions:cuStreamWaitEvent nvrtc:nvrtcGetPTX nvml:nvmlInit_v2; do
    grep -q "X(${list#*:}," "$TMP/${list%:*}.c" || fail "the functions of ${list%:*}.c were not found"
done
# The engine is not opened where a function of its lists is missing: it calls each of them.
for f in $(grep -ohE '\bX\((cu|nvrtc|nvml)[A-Za-z0-9_]+' worker/cuda/*_api.h | sed 's/X(//'); do
    grep -qw "$f" worker/cuda/*.c || fail "the engine needs $f, and never calls it"
done
found=
for dir in /usr/local/cuda/include /usr/local/cuda-*/include .venv/lib/python3*/site-packages/nvidia/*/include; do
    [ -e "$dir/cuda.h" ] && [ -e "$dir/cublasLt.h" ] || continue
    found=1
    for file in tests/gpu/driver.c tests/gpu/driver_module.c tests/gpu/driver_stream.c tests/gpu/blas.c "$TMP"/*.c; do
        case "$file" in
        */nvrtc.c) [ -e "$dir/nvrtc.h" ] || continue ;;
        */nvml.c) [ -e "$dir/nvml.h" ] || continue ;;
        esac
        ${CC:-cc} -DGT_REAL_CUDA_H -I"$dir" -I. -std=c11 -D_GNU_SOURCE -Wall -Wno-switch -Werror -fsyntax-only "$file" \
            >"$TMP/log" 2>&1 || fail "$file differs from the headers in $dir: $(head -n 3 "$TMP/log")"
    done
done
[ "$found" ] || echo "gpu_headers: NVIDIA's headers are not installed"
finish
