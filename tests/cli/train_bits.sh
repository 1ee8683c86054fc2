# Random GPTs, MLPs, LSTMs and ResNets train to the same bits on one worker and in random configurations of 2 to 8: all
# losses, weights, gradients, buffers and the optimiser's state (tests/fuzz/train.gt), in float32 and both halves. So do
# random stacks of layers whose weights and data are split, or copied, on several workers (tests/fuzz/batch.gt).
. tests/fixtures/check.sh
seed=${SOAK_SEED:-1}
# models PROGRAM N RUNS [OPTION ...]: N random models of the program, which says that these are RUNS
models() {
    program=$1 n=$2 runs=$3
    shift 3
    code "$program $* from seed $seed" 0 "$GTSH" -w 8 --threads 1 "tests/fuzz/$program.gt" --models "$n" --start "$seed" "$@"
    same "$program $* from seed $seed" "$(tail -n 1 "$TMP/out")" "0 differ"
    has "$program $* from seed $seed: runs" "$(out)" "$runs"
    [ "$failures" = 0 ] || cat "$TMP/out"
}
i=0
while [ $i -lt "${SOAK:-1}" ]; do
    for dtype in float32 float16 bfloat16; do
        models train 4 "52 trainings" --dtype $dtype
        has "$dtype: numbers" "$(out)" " 0 of" # are nan
    done
    models batch 100 "100 models" --cuts 2
    i=$((i + 1)) seed=$((seed + 100))
done
finish
