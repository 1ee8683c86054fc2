# Environment variables with invalid values: one sentence that names the variable, its value and the valid ones, and
# exit code 2, from all three programs; empty means not set.
. tests/fixtures/check.sh
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
for wrong in \
    "GT_FUSE=maybe needs 0, 1, wait or list" "GT_PLAN=x needs 0 or 1" "GT_COMPILE=2 needs 0 or 1" "GT_AUTO_COMPILE=-1 needs 0 or 1" \
    "GT_WORKER_BATCH_SIZE=many needs a whole number from 1 to" "GT_WORKER_BATCH_SIZE=0 needs a whole number from 1 to" \
    "GT_HOTPATH_THRESHOLD=-1 needs a whole number from 0 to" "GT_HOTPATH_THRESHOLD=2x needs a whole number from 0 to" \
    "GT_HOTPATH_MIN_SEQ=0 needs a whole number from 1 to" "GT_HOTPATH_WINDOW=0 needs a whole number from 1 to" \
    "GT_HOTPATH_MAX_EXPAND=1e9 needs a whole number from 1 to" "GT_HOTPATH_WINDOW=99999999999999999999 needs a whole number from 1 to" \
    "GT_CC_SECONDS=0 needs a whole number from 1 to" "GT_DEBUG_COMPILE=junk needs 0 or 1" "GT_DEBUG_CLIENT=t needs 0 or 1" "GT_DEBUG_WORKER=3 needs 0 or 1" \
    "GT_DEBUG_DISPATCHER=x needs 0 or 1" "GT_VERBOSE=very needs 0 or 1" "GT_AUTO_SHARD=some needs 0 or 1" \
    "GT_CHECK_NAN=nan needs 0 or 1" "GT_SHIPPED_KERNELS=2 needs 0 or 1" "GT_DATA_PLANE=pigeon needs memfd, zmq or ucx" \
    "GT_CUDA_BLAS=TF32 needs 0, 1 or tf32"; do
    set_to=${wrong%% *} name=${wrong%%=*} value=${wrong%% *} needs=${wrong#* }
    value=${value#*=}
    code "$set_to gtsh" 2 env "$set_to" "$GTSH" -c 'print(1)'; all=$(out)$(err)
    has "$set_to" "$all" "error: $name $needs"; has "$set_to" "$all" "not '$value'"; has "$set_to" "$all" "gtsh(1)"
    code "$set_to gt-dispatcher" 2 env "$set_to" "$B/gt-dispatcher"; has "$set_to gt-dispatcher" "$(err)" "gt-dispatcher: $name $needs"
    code "$set_to gt-worker" 2 env "$set_to" "$B/gt-worker" --wait 1; has "$set_to gt-worker" "$(err)" "gt-worker: $name $needs"
done
code "GT_BACKEND gtsh" 2 env GT_BACKEND=cup "$GTSH" -c 'print(1)'; has GT_BACKEND "$(err)" "there is no engine 'cup'"
code "GT_BACKEND gt-worker" 2 env GT_BACKEND=cup "$B/gt-worker" --wait 1; has GT_BACKEND "$(err)" "there is no engine 'cup'"
# The hint names the engine for GPUs. Without a driver it says what is missing.
for name in gpu CUDA:0 mps; do
    code "--engine $name" 2 "$GTSH" --engine $name -p 1; has "--engine $name" "$(err)" "an NVIDIA GPU is the engine cuda"
    code "worker --engine $name" 2 "$B/gt-worker" --engine $name; has "worker --engine $name" "$(err)" "an NVIDIA GPU is the engine cuda"
done
if ! ldconfig -p 2> /dev/null | grep -q 'libcuda\.so\.1'; then
    code "no driver" 69 env GT_CUDA_LIBRARIES="$TMP" "$GTSH" --engine cuda -c 'ones(3)'
    has "no driver" "$(err)" "no NVIDIA driver: libcuda.so.1 is not there"; has "no driver" "$(err)" "--engine cpu"
fi
code "--engine cup" 2 "$GTSH" --engine cup -p 1; has "--engine cup" "$(err)" "did you mean 'cpu'?"
# gt-worker: the dispatcher is given by one option or by two, not by three.
for given in "-d local -p 9000" "-p 9000 -d local" "-H host -d local"; do
    code "gt-worker $given" 2 "$B/gt-worker" --wait 1 $given; has "gt-worker $given" "$(err)" "--dispatcher or --"
done
for right in GT_FUSE= GT_FUSE=wait GT_PLAN= GT_PLAN=off GT_COMPILE=yes GT_AUTO_COMPILE=False GT_WORKER_BATCH_SIZE=1000 GT_HOTPATH_THRESHOLD=0 \
    GT_HOTPATH_WINDOW=20 GT_DATA_PLANE=zmq GT_AUTO_SHARD=no GT_CHECK_NAN=on GT_CUDA_BLAS=yes; do
    code "$right" 0 env "$right" "$GTSH" -c 'print(ones(3).sum())'; same "$right" "$(out)$(err)" "tensor(3.)"
done
# Two variables that contradict each other.
code "least above most" 2 env GT_HOTPATH_MIN_SEQ=50 GT_HOTPATH_WINDOW=20 "$GTSH" -c 'print(1)'
has "least above most" "$(out)$(err)" "GT_HOTPATH_MIN_SEQ=50 is more than GT_HOTPATH_WINDOW=20"
code "least above all" 2 env GT_HOTPATH_MIN_SEQ=20000 "$B/gt-dispatcher"; has "least above all" "$(err)" "is more than GT_HOTPATH_WINDOW=16384"
code "least is most" 0 env GT_HOTPATH_MIN_SEQ=20 GT_HOTPATH_WINDOW=20 "$GTSH" -c 'print(1)'
# A name close to a variable's: all three programs warn once and suggest the variable. Other names, and those of tests, give
# no warning.
code "GT_FUSES" 0 env GT_FUSES=0 "$GTSH" -c 'print(1)'
same "GT_FUSES" "$(out) $(err)" "1 warning: GT_FUSES is set, and nothing reads it; did you mean GT_FUSE?"
code "two" 0 env GT_NO_FUSE=1 GT_DEBUG_COMPILER=1 GT_HISTFIL=x GT_FUZE= "$GTSH" -c 'print(1)'
has "two" "$(err)" "GT_DEBUG_COMPILER is set, and nothing reads it; did you mean GT_DEBUG_COMPILE?"
has "two" "$(err)" "did you mean GT_HISTFILE?"; same "two" "$(grep -c warning "$TMP/err")" 2
code "of others" 0 env GT_LEARNING_RATE=1 GT_DATA=x GT_PYTHON=x GT_TEST_JOBS=1 GT_BENCH_CPU=1 GT_TEST_FACTOR=1 GT_HOME=/x GT_SPAWNED=1 \
    "$GTSH" -c 'print(1)'
same "of others" "$(err)" ""
code "gt-dispatcher, GT_PLANE" 1 env GT_PLANE=0 "$B/gt-dispatcher" --ipc /dev/null/x; has "gt-dispatcher" "$(err)" "gt-dispatcher: warning: GT_PLANE is set"
code "gt-worker, GT_PLANE" 69 env GT_PLANE=0 "$B/gt-worker" --wait 1; has "gt-worker" "$(err)" "gt-worker: warning: GT_PLANE is set"
# Every variable of the table is in the manual.
for name in $(sed -n 's/^    {"\(GT_[A-Z_]*\)".*/\1/p; /others\[\] = {/,/NULL/p' runtime/base/env.c | grep -o 'GT_[A-Z_]*'); do
    grep -q "$name" man/gtsh.1 || fail "gtsh.1 lacks $name"
done
# A relative path in XDG_... counts as not set.
(cd "$TMP" && HOME=$TMP/home XDG_CACHE_HOME=here GT_FUSE=wait "$GTSH" -c 'y = tanh(rand(64, 64) * 2.0 + 1.0); sync()')
[ -d "$TMP/home/.cache/gt" ] && [ ! -e "$TMP/here" ] || fail "a relative XDG_CACHE_HOME: $(ls "$TMP" "$TMP/home")"
# words for 0 and 1 mean them
code "GT_DEBUG_CLIENT=off" 0 env GT_DEBUG_CLIENT=off "$GTSH" -c 'ones(3).sum().item()'; same "off" "$(err)" ""
code "GT_DEBUG_CLIENT=on" 0 env GT_DEBUG_CLIENT=on "$GTSH" -c 'ones(3).sum().item()'; has "on" "$(err)" "[CLIENT] t1 = sum"
code "GT_CHECK_NAN=true" 1 env GT_CHECK_NAN=true "$GTSH" -c 'x = ones(3) / zeros(3); print(x)'
code "GT_CHECK_NAN=false" 0 env GT_CHECK_NAN=false "$GTSH" -c 'x = ones(3) / zeros(3); print(x)'
finish
