# PyTorch's values of every function and its gradients (tests/golden/fn), computed in a scope that splits tensors: each
# file under one of four configurations on three workers. `make test` runs every fifth file, `make soak` all.
. tests/fixtures/check.sh
i=0
for f in tests/golden/fn/*.gt; do
    case $f in */check.gt | */self.gt) continue ;; esac
    i=$((i + 1))
    [ -n "${SOAK:-}" ] || [ $((i % 5)) = 0 ] || continue
    case $((i % 4)) in
    0) how='axis=0' ;;
    1) how='axis=-1' ;;
    2) how='axis=1, workers=[2, 0]' ;;
    3) how='axis=0, workers=[1, 2, 0]' ;;
    esac
    case $f in # terms of halves, and differences of sums, lose a digit more than these tests allow
    */addmv.gt | */bilinear.gt | */cosine_similarity.gt | */linear.gt | */prelu.gt | */corrcoef.gt) how='axis=0' ;;
    esac
    { echo "signal.define(\"cut\", $how); signal.enter(\"cut\")"; cat "$f"; } >"$TMP/$i.gt"
    want=$(sed -n 's/.*# expect: \([0-9]* cases\)$/\1/p' "$f")
    got=$(GT_PATH=tests/golden/fn "$GTSH" -w 3 --threads 1 "$TMP/$i.gt" 2>"$TMP/err")
    grep -q '^# stderr: warning' "$f" || got=$got$(err)
    same "$f in a scope with $how" "$got" "$want"
done
finish
