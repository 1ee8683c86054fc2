# Hot bodies: from the second time on, the instructions between two loop edges are sent as their arguments, in nested
# loops, bodies that differ now and then, and streams without edges. The tape marks them; the output is the same as
# without.
. tests/fixtures/check.sh
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
cat >"$TMP/loops.gt" <<'GT'
# an outer loop, inner loops, a rare branch, shapes and values that change
w = param(ones(6, 4)); m = []
for i in range(4) { m.append(param(ones(i + 1, 3) * 0.5)) }
data = arange(48.0).reshape(12, 4) / 48.0
for epoch in range(12) {
    for k in range(5) {
        x = data[k:k + 6]
        loss = ((x * w).exp() - 0.1 * epoch).square().mean()
        backward loss
        w = param(w - 0.01 * w.grad)
        if k == 3 and epoch % 4 == 1 { print(epoch, loss) }
    }
    for p in range(4) { m[p] = param(m[p] * 0.9 + randn(p + 1, 3)) }
    r = randint(0, 10, [3]).sum().item()
    if r > 25 { print("many", r) }
    n = attempt(fn() => data[0:2] + ones(7 if epoch == 6 else 4))
}
print(w.sum(), m[3].sum())
GT
GT_HOTPATH_THRESHOLD=0 "$GTSH" "$TMP/loops.gt" >"$TMP/plain" 2>"$TMP/err" || fail "in full: $(err)"
for knobs in GT_HOTPATH_THRESHOLD=1 GT_HOTPATH_THRESHOLD=2 GT_HOTPATH_THRESHOLD=5 GT_HOTPATH_MIN_SEQ=20 GT_HOTPATH_WINDOW=30 \
    GT_HOTPATH_MAX_EXPAND=1 GT_HOTPATH_WINDOW=1000000; do
    code "$knobs" 0 env "$knobs" "$GTSH" "$TMP/loops.gt"
    same "$knobs" "$(out)" "$(cat "$TMP/plain")"
done
code "two workers" 0 "$GTSH" -w 2 "$TMP/loops.gt"
same "two workers" "$(out)" "$(cat "$TMP/plain")"

# Sharded: the same bits in full and hot, and the dispatcher passes most instructions as known.
{ echo 'signal.define("rows", axis=0)'; echo 'signal rows {'; cat "$TMP/loops.gt"; echo '}'; } >"$TMP/rows.gt"
code "sharded, in full" 0 env GT_HOTPATH_THRESHOLD=0 "$GTSH" -w 3 "$TMP/rows.gt"; expected=$(out)
code "sharded" 0 "$GTSH" -w 3 "$TMP/rows.gt"; same "sharded" "$(out)" "$expected"
cat >"$TMP/step.gt" <<'GT'
signal.define("rows", axis=0)
w = param(ones(4, 4))
signal rows { x = arange(48.0).reshape(12, 4) / 48.0 }
for i in range(100) {
    loss = (x @ w).square().sum()
    backward loss
    w = param(w - 0.001 * w.grad)
}
s = stats()
print(w.sum(), s["moves"] > 100, s.hot_instructions * 10 > s.instructions * 9)
GT
code "a sharded step, in full" 0 env GT_HOTPATH_THRESHOLD=0 "$GTSH" -w 3 "$TMP/step.gt"; expected=$(out)
code "a sharded step" 0 "$GTSH" -w 3 "$TMP/step.gt"; same "a sharded step" "$(out)" "${expected%false}true"

# The hot part: most instructions of a plain loop, and of a stream without edges.
cat >"$TMP/chain.gt" <<'GT'
x = ones(3, 3)
for i in range(400) { x = (x * 0.5 + i).tanh() }
print(x.sum())
GT
cat >"$TMP/hot.gt" <<'GT'
import chain
s = stats()
print(s["client_hot_instructions"] * 10 > s["client_instructions"] * 9, s["hot_instructions"] * 10 > s["instructions"] * 9,
      s["frame_bytes"] < s["client_instructions"] * 24)
GT
code "how much" 0 "$GTSH" "$TMP/hot.gt"
has "how much" "$(out)" "true true true"
"$GTSH" --emit "$TMP/chain.gt" 2>"$TMP/err" | grep -v '^edge' >"$TMP/chain.gti"
GT_INSTRUCTION_LOG="$TMP/tape" "$GTSH" --replay "$TMP/chain.gti" >"$TMP/out" 2>"$TMP/err" || fail "replay: $(err)"
code run 0 "$GTSH" "$TMP/chain.gt"; expected=$(out)
code replay 0 "$GTSH" --replay "$TMP/chain.gti"; same "replay" "$(out)" "$expected"
[ "$(grep -c ' > c1 - edge' "$TMP/tape")" -gt 50 ] || fail "no edges were put in: $(grep -c ' > c1 - edge' "$TMP/tape")"
[ "$(grep -c ' = c1 w0 hot begin 0 from=' "$TMP/tape")" -gt 0 ] || fail "nothing is hot on the tape"
same "as many ends as begins" "$(grep -c ' hot begin ' "$TMP/tape")" "$(grep -c ' hot end ' "$TMP/tape")"
code "a tape with marks" 0 "$GTSH" --replay "$TMP/tape"; same "a tape with marks" "$(out)" "$expected"
# More loops than a stream's table holds, the first of them once more at the end, in a frame that the dispatcher rewrites: a
# definition in the frame may have evicted a body that it uses, or given it another number.
printf 'rows:\n  shard:\n    axis: 0\n' >"$TMP/rows.yaml"
for loops in 118 121 122 123 130; do
    awk -v n="$loops" 'BEGIN {
        print "x = ones(3)"
        for (i = 0; i < 6; i++) print "fn f" i "(x) {\n    for i in range(12) { x = x * 0.5 + 1.0 }\n    return x\n}\nx = f" i "(x)"
        for (i = 0; i < n; i++) print "for i in range(4) { x = x * 0.5 + 1.0 }"
        for (i = 0; i < 4; i++) print "fn g" i "(x) {\n    for i in range(20) { x = x * 0.25 + 1.0 }\n    return x\n}\nx = g" i "(x)"
        print "x.sum().item()"
        for (i = 0; i < 6; i++) print "x = f" i "(x)"
        for (i = 0; i < 4; i++) print "x = g" i "(x)"
        print "signal rows { y = ones(8, 3) + x }\nprint(y.sum())" }' >"$TMP/many.gt"
    code "$loops loops" 0 env GT_HOTPATH_THRESHOLD=1 "$GTSH" -w 4 --config "$TMP/rows.yaml" "$TMP/many.gt"; expected=$(out)
    code "$loops loops in full" 0 env GT_HOTPATH_THRESHOLD=0 "$GTSH" "$TMP/many.gt"; same "$loops loops" "$expected" "$(out)"
done
# A loop in use stays in the table, however many others are defined: each is defined once. Then more loops than the table holds,
# in turns: those in the table stay.
awk 'BEGIN { print "x = ones(3)\nfn f(x) {\n    for i in range(12) { x = x * 0.5 + 1.0 }\n    return x\n}"
    for (i = 0; i < 300; i++) print "for i in range(90) { x = x * 0.5 + 1.0 }\nx = f(x)"
    print "print(x.sum(), stats()[\"client_hot_bodies\"] <= 302)" }' >"$TMP/use.gt"
code "in use" 0 "$GTSH" "$TMP/use.gt"; same "in use" "$(out)" "tensor(6.) true"
cat >"$TMP/turns.gt" <<'GT'
x = ones(1, 200)
for k in range(10) { for n in range(200) { s = (x[:, 0:n + 1] * 2.0 + 1.0).sum() } }
t = stats()
print(s, t["client_hot_bodies"] < 400, t["client_hot_instructions"] * 3 > t["client_instructions"])
GT
code "in turns" 0 "$GTSH" "$TMP/turns.gt"; same "in turns" "$(out)" "tensor(600.) true true"
# Bodies that follow each other in random order are found by their first instructions.
cat >"$TMP/order.gt" <<'GT'
x = ones(3); k = 1
for i in range(800) {
    k = (k * 1103 + 12345) % 65536
    y = x * 0.5 + 1.0
    if k % 7 < 2 { x = y.tanh() + 0.25 } elif k % 7 < 4 { x = (y + 2.0).exp() * 0.01 } else { x = (y - 2.0).square() }
}
s = stats()
print(s["client_hot_instructions"] * 20 > s["client_instructions"] * 19)
GT
code "in no order" 0 "$GTSH" "$TMP/order.gt"; same "in no order" "$(out)" "true"
# A frame ends at the end of an iteration if its limit would split the next one. The worker is busy without end: for an idle
# one, frames end earlier.
awk 'BEGIN { print "x = ones(3)\ny = ones(1).expand(2**42).sum()\nfor i in range(7) {"
    for (i = 0; i < 900; i++) print "    x = x * 0.5 + 1.0"
    print "}\nprint(x.prod())" }' >"$TMP/long.gt"
: >"$TMP/tape"
GT_INSTRUCTION_LOG="$TMP/tape" "$GTSH" "$TMP/long.gt" >"$TMP/out" 2>"$TMP/err" & c=$!
await "$TMP/tape" " prod "
kill -TERM $c; wait $c
[ "$(grep -c ' hot begin 0 from=0 ' "$TMP/tape")" -gt 2 ] || fail "the long loop is not hot"
same "split in the middle" "$(grep ' hot begin 0 from=[1-9]' "$TMP/tape")" ""
finish
