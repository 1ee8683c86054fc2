# An ordered engine (`late`) prints what `cpu` prints, errors and carets included: with kernels and plans, which are used;
# where an index is out of range in the middle of a hot loop; where memory runs out; sharded; with workers of both engines.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
cat >"$TMP/train.gt" <<'EOF'
seed(3)
x = randn(64, 20); t = randint(0, 5, (64,))
w = param(randn(20, 5) * 0.1); g = param(ones(5)); b = param(zeros(5))
opt = optim.AdamW([w, g, b], lr=0.01)
bad = int(arg("bad", 99))
for i in range(40) {
    h = layer_norm(x @ w, [5], g, b)
    if i == bad { t[7] = 9 }
    loss = cross_entropy(h, t) + 0.001 * (w * w).mean()
    opt.zero_grad(); backward loss; opt.step()
    if i % 7 == 0 { print(i, loss) }
}
p = softmax(x @ w, dim=-1)
print(loss.item(), p.sum().item(), p.std().item(), w.abs().max().item())
if arg("stats", false) {
    sync(); s = stats()
    # how many plans run depends on when the instructions come; plan_test counts them
    print(s["w0.fused.launches"] > 50, s["w0.fused.products"] > 10, s["w0.plan.runs"] > 0)
}
EOF
# A gather whose result only some tensors depend on.
cat >"$TMP/gather.gt" <<'EOF'
seed(1)
x = randn(40, 8); w = randn(8, 8); s = zeros(8); idx = arange(40)
bad = int(arg("bad", 99))
for i in range(80) {
    if i == bad { idx[5] = 41 }
    h = (x @ w).tanh()
    g = h[idx]
    s = s * 0.9 + g.sum(0)
    t = (h * 2 - 1).sum()
    if i % 10 == 9 { print(i, t) }
}
print(s)
EOF
cat >"$TMP/memory.gt" <<'EOF'
all = []
for i in range(40) { all.append(ones(500, 1000) * i); if i % 3 == 0 { print(i, all[i].sum()) } }
EOF
# both WHAT ARGUMENT...: the same text and exit code on both engines
both() {
    what=$1
    shift
    "$GTSH" --engine cpu -w 1 "$@" >"$TMP/want" 2>"$TMP/want.err"
    code "$what" $? "$GTSH" --engine late -w 1 "$@"
    same "$what" "$(cat "$TMP/out")" "$(cat "$TMP/want")"
    same "$what, errors" "$(cat "$TMP/err")" "$(cat "$TMP/want.err")"
}
export GT_FUSE GT_PLAN
for GT_FUSE in 0 wait; do
    for GT_PLAN in 0 1; do
        how="GT_FUSE=$GT_FUSE GT_PLAN=$GT_PLAN"
        both "training, $how" "$TMP/train.gt"
        both "a class out of range, $how" "$TMP/train.gt" --bad=30
        both "an index, $how" "$TMP/gather.gt" --bad=50
        both "an index in between, $how" "$TMP/gather.gt" --bad=37
    done
done
has "the failure" "$(cat "$TMP/err")" "index 41 at position 5 is out of range for axis 0 of size 40"
both "kernels and plans" "$TMP/train.gt" --stats
has "they were used" "$(out)" "true true true"
GT_FUSE=1
both "out of memory" --memory 64M "$TMP/memory.gt"
has "said" "$(cat "$TMP/err")" "out of memory"
for engine in cpu late; do
    "$GTSH" --engine $engine -w 3 "$TMP/train.gt" >"$TMP/$engine" 2>&1
done
same "three workers" "$(cat "$TMP/late")" "$(cat "$TMP/cpu")"

# Workers of both engines: boxes go from one kind to the other, and terms of both are combined.
unset GT_FUSE GT_PLAN
start d "$D" --ipc "$TMP/d"
await "$TMP/d.out" "ready at"
for engine in cpu late cpu late; do start w$engine "$W" -d "ipc://$TMP/d" --engine $engine -m 256M -t 1 --wait 60; done
n_workers() { [ "$("$GTSH" -d "ipc://$TMP/d" -c 'print(workers())')" = 4 ]; }
poll n_workers || fail "no four workers"
sed '/^workers(/d' tests/tensor/sharded_bits.gt >"$TMP/sharded.gt"
code "sharded, mixed" 0 "$GTSH" -d "ipc://$TMP/d" "$TMP/sharded.gt"
"$GTSH" --engine cpu tests/tensor/sharded_bits.gt >"$TMP/want" 2>&1
same "sharded, mixed: its sums" "$(cat "$TMP/out")" "$(cat "$TMP/want")"
finish
