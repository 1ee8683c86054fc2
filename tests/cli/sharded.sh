# The programs that show sharding print the same unsharded and on four workers, and their tensors are placed as their
# files say.
. tests/fixtures/check.sh
# both SCRIPT [OPTION ...]: with and without its file; the figures that are printed are the same
both() {
    s=$1
    shift
    code "$s" 0 "$GTSH" "scripts/$s.gt" "$@"; cp "$TMP/out" "$TMP/$s.one"
    code "$s -w 4, unconfigured" 0 "$GTSH" -w 4 "scripts/$s.gt" "$@"; same "$s -w 4, unconfigured" "$(grep -v '^defined' "$TMP/out")" "$(grep -v '^defined' "$TMP/$s.one")"
    code "$s sharded" 0 "$GTSH" -w 4 --config "scripts/$s.yaml" "scripts/$s.gt" "$@"; cp "$TMP/out" "$TMP/$s.four"
    same "$s: no complaints" "$(grep -v '|' "$TMP/err")" ""
    grep -oE '(loss|sum|steps) +-?[0-9]+\.[0-9]+' "$TMP/$s.one" >"$TMP/$s.a"
    grep -oE '(loss|sum|steps) +-?[0-9]+\.[0-9]+' "$TMP/$s.four" >"$TMP/$s.b"
    same "$s: the same figures" "$(cat "$TMP/$s.b")" "$(cat "$TMP/$s.a")"
    code "$s sharded, again" 0 "$GTSH" -w 4 --config "scripts/$s.yaml" "scripts/$s.gt" "$@"; same "$s: the same bits" "$(out)" "$(cat "$TMP/$s.four")"
}
# placed SCRIPT BEGINNING PLACE: the line that begins so shows that place
placed() {
    has "$1: $2" "$(grep "^$2" "$TMP/$1.four")" "$3"
    case "$(grep "^$2" "$TMP/$1.one")" in *"workers: [0]"*) ;; *) fail "$1: $2 is not on one worker" ;; esac
}
both signals
placed signals "x, made in rows" '{layout: "split", axis: 0, block: 2, workers: [0, 1, 2, 3], shapes: [[2, 6], [2, 6], [2, 6], [2, 6]]'
placed signals "w, made everywhere" '{layout: "replicate", workers: [0, 1, 2, 3]'
placed signals "x @ w" '{layout: "split", axis: 0, block: 2'
placed signals "columns @ rows" '{layout: "partial", op: "sum", workers: [0, 1, 2, 3], shapes: [[8, 4], [8, 4], [8, 4], [8, 4]]'
placed signals "the innermost" '{layout: "split", axis: 1, block: 2'
placed signals "the outer" '{layout: "split", axis: 0, block: 2'
placed signals "between" 'workers: [2, 3], shapes: [[4, 3], [4, 3]]'
placed signals "signal.tensor" 'workers: [0, 1, 2, 3]'
placed signals "named pair" 'workers: [2, 3]'
placed signals "the gradient" 'workers: [2, 3]'
placed signals "defined" '{layout: "split", axis: 1, block: 2'
both data_parallel --steps 30
placed data_parallel "rows" '{layout: "split", axis: 0, block: 64, workers: [0, 1, 2, 3]'
placed data_parallel "a weight" '{layout: "replicate", workers: [0, 1, 2, 3]'
placed data_parallel "its gradient" '{layout: "partial", op: "sum", workers: [0, 1, 2, 3]'
both tensor_parallel --steps 15
placed tensor_parallel "up.weight" '{layout: "split", axis: 0, block: 64'
placed tensor_parallel "hidden" '{layout: "split", axis: 1, block: 64'
placed tensor_parallel "down.weight" '{layout: "split", axis: 1, block: 64'
placed tensor_parallel "a product" '{layout: "partial", op: "sum"'
placed tensor_parallel "adam's mean" '{layout: "split", axis: 0, block: 64'
both pipeline --steps 12
for i in 0 1 2 3; do
    has "pipeline: stage $i" "$(cat "$TMP/pipeline.four")" "stage $i: weight on [$i], gradient on [$i]"
done
placed pipeline "loss" 'workers: [3]'
both auto_shard --steps 8
placed auto_shard "the matrix" '{layout: "split", axis: 0, block: 256, workers: [0, 1, 2, 3]'
placed auto_shard "the vector" 'workers: [0]'
placed auto_shard "a @ v" '{layout: "split", axis: 0, block: 256'
placed auto_shard "a.T @ u" '{layout: "partial", op: "sum"'
code "auto_shard by the variable" 0 env GT_AUTO_SHARD=1 "$GTSH" -w 4 scripts/auto_shard.gt --steps 8; same "auto_shard by the variable" "$(out)" "$(cat "$TMP/auto_shard.four")"
# two programs that name their parts and know nothing of workers
both charlm --data README.md --steps 6 --batch 8 --ctx 16 --width 16 --heads 2 --layers 2 --sample 0
"$GTSH" -c "
y = randint(0, 10, [10000])
x = pad((one_hot(y, 784).reshape(10000, 28, 28) * 255)[:, :, :26], [2, 0])
save(x.to(uint8), \"$TMP/t10k-images-idx3-ubyte\"); save(y.to(uint8), \"$TMP/t10k-labels-idx1-ubyte\")"
gzip "$TMP/t10k-images-idx3-ubyte" "$TMP/t10k-labels-idx1-ubyte"
both mnist --data "$TMP" --epochs 1 --hidden 16 --batch 500
# as instructions the same program gives the same bits, and without its signals the unsharded one's
charlm="--data README.md --steps 4 --batch 8 --ctx 16 --width 16 --heads 2 --layers 2 --sample 8"
code "emit" 0 "$GTSH" --emit --config scripts/charlm.yaml scripts/charlm.gt $charlm; cp "$TMP/out" "$TMP/c.gti"
code "run" 0 "$GTSH" -w 4 --config scripts/charlm.yaml scripts/charlm.gt $charlm; cp "$TMP/out" "$TMP/run"
code "replay" 0 "$GTSH" -w 4 --replay "$TMP/c.gti"; same "replay" "$(out)" "$(cat "$TMP/run")"
code "unsharded" 0 "$GTSH" scripts/charlm.gt $charlm; cp "$TMP/out" "$TMP/run"
grep -v '^signal' "$TMP/c.gti" >"$TMP/bare.gti"
code "replay without signals" 0 "$GTSH" -w 4 --replay "$TMP/bare.gti"; same "replay without signals" "$(out)" "$(cat "$TMP/run")"
# the debugging variables that gt-signals(5) names
code "debug" 0 env GT_DEBUG_DISPATCHER=1 GT_INSTRUCTION_LOG="$TMP/log" "$GTSH" -w 4 --config scripts/signals.yaml scripts/signals.gt
has "GT_DEBUG_DISPATCHER" "$(err)" "split 0 / 2"
has "GT_INSTRUCTION_LOG" "$(cat "$TMP/log")" "split=[0,2]"
finish
