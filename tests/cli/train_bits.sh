# Random GPTs, MLPs, LSTMs and ResNets train to the same bits on one worker and in random configurations of 2 to 8: all
# losses, weights, gradients, buffers and the optimiser's state (tests/fuzz/train.gt), in float32 and both halves.
. tests/fixtures/check.sh
seed=${SOAK_SEED:-1}
train() { # train MODELS DTYPE SEED
    code "$2 from seed $3" 0 "$GTSH" -w 8 --threads 1 tests/fuzz/train.gt --models "$1" --dtype "$2" --start "$3"
    same "$2 from seed $3" "$(tail -n 1 "$TMP/out")" "0 differ"
    has "$2 from seed $3: configurations" "$(out)" "$(($1 * 13)) trainings"
    has "$2 from seed $3: numbers" "$(out)" " 0 of" # are nan
    [ "$failures" = 0 ] || cat "$TMP/out"
}
i=0
while [ $i -lt "${SOAK:-1}" ]; do
    train 4 float32 "$seed"
    train 4 float16 "$seed"
    train 4 bfloat16 "$seed"
    i=$((i + 1)) seed=$((seed + 4))
done
finish
