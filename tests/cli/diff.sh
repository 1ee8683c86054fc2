# gt-diff: equal runs, a flipped bit, another layout, another version, a program that is not reproducible, bad input.
. tests/fixtures/check.sh
export XDG_RUNTIME_DIR="$TMP" TMPDIR="$TMP" GT_DISPATCHER=
D="$B/gt-diff"
# record NAME COMMAND...: its tape, with all hashes
record() {
    tape=$TMP/$1
    shift
    GT_INSTRUCTION_LOG="$tape" GT_HASH=all "$@" >/dev/null 2>"$TMP/err" || fail "$*: $(err)"
}

cat >"$TMP/a.gt" <<'GT'
signal.define("rows", axis=0)
signal.define("whole", replicated=true)
seed(3)
signal whole { w = param(randn(6, 4)); b = param(zeros(4)) }
for i in range(3) {
    signal rows { x = randn(8, 6); loss = (x @ w + b).tanh().square().mean() }
    backward loss
    w = param(w - 0.5 * w.grad)
    b = param(b - 0.5 * b.grad)
}
print(w)
GT
sed 's/^signal.define.*//' "$TMP/a.gt" >"$TMP/plain.gt"

# the same program twice, and with other threads and kernels: no result differs
record one "$GTSH" "$TMP/plain.gt"
record two "$GTSH" --threads 1 "$TMP/plain.gt"
code equal 0 "$D" "$TMP/one" "$TMP/two"; has equal "$(out)" "no result differs"
GT_FUSE=wait record fused "$GTSH" "$TMP/plain.gt"
code fused 0 "$D" "$TMP/one" "$TMP/fused"; has fused "$(out)" "no result differs"
record some env GT_HASH=some "$GTSH" --hash=some "$TMP/plain.gt"
code "samples of small tensors are all" 0 "$D" "$TMP/one" "$TMP/some"

# within plans what is left at their ends is hashed, and with all elements nothing runs as a plan: the same hashes
cat >"$TMP/loop.gt" <<'GT'
seed(1)
x = randn(100, 100); s = zeros(100)
for i in range(120) { y = x * 0.99; x = y + 0.01; s = s + x.sum(axis=0) * 1e-3 }
print(s.sum(), stats()["w0.plan.runs"] > 9)
GT
GT_INSTRUCTION_LOG="$TMP/all" "$GTSH" --hash=all "$TMP/loop.gt" >"$TMP/out"; has "all: no plans" "$(out)" false
GT_INSTRUCTION_LOG="$TMP/some" "$GTSH" --hash=some "$TMP/loop.gt" >"$TMP/out"; has "some: plans" "$(out)" true
code "hashes of plans" 0 "$D" "$TMP/all" "$TMP/some"
same=$(sed -n 's/ results have equal bits.*//p' "$TMP/out")
[ "$same" -gt 60 ] || fail "only $same results of the loop have hashes: $(out)"

# a flipped bit is named, with both values: the first matmul, element [0,1]
id=$(sed -n 's/.* > c1 - t\([0-9]*\) = matmul .*/\1/p' "$TMP/one" | head -1)
code flip 1 "$D" "$GTSH --threads 1 $TMP/plain.gt" "GT_TEST_FLIP=w0:t$id:35 $GTSH --threads 1 $TMP/plain.gt"
has "flip, where" "$(out)" "first difference: t$id = matmul "
has "flip, line" "$(out)" " at $TMP/plain.gt:6"
has "flip, operands" "$(out)" "  equal operands: t"
has "flip, element" "$(out)" "  [0,1]  A "
has "flip, one" "$(out)" "  1 of 32 elements differ"
same "nothing is left behind" "$(ls -d "$TMP"/gt-diff.* 2>/dev/null)" ""

# on four workers: parts are those of one worker's results, and sums have the same order
record four "$GTSH" -w 4 "$TMP/a.gt"
code layouts 0 "$D" "$TMP/one" "$TMP/four"
has "layouts, equal" "$(out)" "no result differs"
split=$(grep -c 'hash=.* part=split' "$TMP/four")
[ "$split" -gt 8 ] || fail "only $split parts have hashes"
# ... whole numbers, in any order
cat >"$TMP/exact.gt" <<'GT'
signal.define("rows", axis=0)
signal.define("columns", axis=1)
signal rows { x = arange(35.0).reshape(5, 7) - 17; y = x.T @ x }
signal columns { z = (x * 2 + y.sum()).T.cumsum(0) }
print(y.sum(), z.sum(axis=0), x.to(bfloat16).sum(), (x > 3).sum())
GT
for n in 2 3 5; do
    code "exact values on $n workers" 0 "$D" "$GTSH $TMP/exact.gt" "$GTSH -w $n $TMP/exact.gt"
done
# a flip on one worker of four
id=$(sed -n 's/.*< c1 w2 hash t\([0-9]*\) op=tanh .*part=split/\1/p' "$TMP/four" | head -1)
if [ -n "$id" ]; then
    GT_TEST_FLIP=w2:t$id:3 record flipped "$GTSH" -w 4 "$TMP/a.gt"
    code "flip in a part" 1 "$D" "$TMP/four" "$TMP/flipped"
    has "flip in a part, worker" "$(out)" "only what w2 has differs"
else
    fail "no split tanh in the tape"
fi
# copies of a replicated tensor that differ: found in one run, against itself
id=$(sed -n 's/.*< c1 w1 hash t\([0-9]*\) op=randn hash=[0-9a-f]*$/\1/p' "$TMP/four" | head -1)
GT_TEST_FLIP=w1:t$id:3 record copies "$GTSH" -w 4 "$TMP/a.gt"
code copies 1 "$D" "$TMP/copies" "$TMP/copies"
has copies "$(out)" "first difference, among copies in one run: t$id = randn"

# another version of the program: an inserted and a removed line, then another constant
sed 's/^print/extra = w.exp()\nprint/; s/^seed(3)/seed(3)\n# a comment/' "$TMP/plain.gt" >"$TMP/new.gt"
code version 0 "$D" "$GTSH $TMP/plain.gt" "$GTSH $TMP/new.gt"
has "version, what is new" "$(out)" "only in B: 1 instruction, the first: "
sed 's/0.5 \* b/0.25 * b/' "$TMP/new.gt" >"$TMP/newer.gt"
code constant 1 "$D" "$GTSH $TMP/plain.gt" "$GTSH $TMP/newer.gt"
has "constant, in both" "$(out)" "  in B: t"

# what is not reproducible
code "repeat, equal" 0 "$D" --repeat 3 "$TMP/plain.gt"; has "repeat, equal" "$(out)" "3 runs, all equal"
code "repeat, random" 1 "$D" -r 3 "$GTSH -c \"print(ones(3) * \$\$)\""
has "repeat, random" "$(out)" "run again, A gave other bits: it is not reproducible"

# bad input
code "one run" 2 "$D" "$TMP/one"
code "no tape" 2 "$D" "$TMP/one" "$TMP/four.tap"; has "no tape" "$(err)" "there is no file"
echo "gti 1" >"$TMP/bad"; code "not a tape" 2 "$D" "$TMP/one" "$TMP/bad"; has "not a tape" "$(err)" "is not a tape"
GT_INSTRUCTION_LOG="$TMP/bare" "$GTSH" "$TMP/plain.gt" >/dev/null
code "no hashes" 2 "$D" "$TMP/one" "$TMP/bare"; has "no hashes" "$(err)" "there are no hashes in"
code "no tape written" 2 "$D" "$TMP/one" "echo hello there"; has "no tape written" "$(err)" "wrote no tape; it printed: hello there"; has "no tape written" "$(err)" "hint: workers"
echo 'x = (' >"$TMP/bad.gt"; code "a program with an error" 2 "$D" "$TMP/one" "$TMP/bad.gt"
has "a program with an error" "$(err)" "it wrote no tape; it printed: $TMP/bad.gt:1: error: '(' opened"
case $(err) in *hint:*) fail "a program with an error: $(err)" ;; esac
{ cat "$TMP/plain.gt"; echo 'assert false, "late"'; } >"$TMP/late.gt"
code "one run failed" 2 "$D" "$TMP/plain.gt" "$TMP/late.gt"; has "one run failed" "$(err)" "late.gt' failed: only what came before was compared"
code "both runs failed" 0 "$D" "$TMP/late.gt" "$TMP/late.gt"
code "no such client" 2 "$D" -c c2 "$TMP/one" "$TMP/two"; has "no such client" "$(err)" "there is no client c2 in '$TMP/one'"
has "no such client" "$(err)" "hint: it has c1"
{ cat "$TMP/one"; sed -n 's/ c1 / c2 /p' "$TMP/one"; } >"$TMP/more"; code "a client more" 0 "$D" "$TMP/more" "$TMP/one"
has "a client more" "$(out)" "only in A, not compared: c2"
awk '/ hash /{ exit } { print }' "$TMP/one" >"$TMP/early"; code "cut before any hash" 2 "$D" "$TMP/one" "$TMP/early"
case $(out) in *"no result differs"*) fail "cut before any hash: $(out)" ;; esac
"$GTSH" --emit=binary "$TMP/plain.gt" >"$TMP/plain.gtb"; code "the binary form" 0 "$D" "$TMP/plain.gt" "$TMP/plain.gtb"
head -c "$(($(wc -c <"$TMP/two") * 9 / 10 - 5))" "$TMP/two" >"$TMP/torn"; code torn 0 "$D" "$TMP/one" "$TMP/torn"; has torn "$(out)" "cut off in the last line"
code "hash needs a word" 2 "$GTSH" --hash=maybe -c 1; has "hash needs a word" "$(err)" "some or all"
finish
