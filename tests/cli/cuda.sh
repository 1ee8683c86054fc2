# The engine cuda on the emulated device of tests/gpu, where NVRTC is installed: all rows of ops.def against the engine cpu, bit
# for bit but for what ops_test.c names, a few draws of each; `make test-cuda` makes all draws. Then scripts, and a bad index.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "the engine cuda is not tested"
GT_TEST_ENGINE=cuda GT_TEST_EVERY=15 "$B/test/ops_test" > "$TMP/ops" 2>&1 || fail "ops_test: $(grep -v '^ok' "$TMP/ops" | tail -n 12)"
cat > "$TMP/mlp.gt" <<'E'
seed(3)
x = randn(64, 10); y = (x[:, 0:1] * 2 + x[:, 1:2]).tanh()
w1 = param(randn(10, 32) * 0.3); b1 = param(zeros(32)); w2 = param(randn(32, 1) * 0.3); b2 = param(zeros(1))
for i in range(3) {
    loss = mse_loss((x @ w1 + b1).relu() @ w2 + b2, y)
    backward loss
    for p in [w1, b1, w2, b2] { p -= 0.1 * p.grad; p.grad = none }
    print(i, loss.item())
}
print(w1.sort(1)[0].argmax(), w1[tensor([1, 0])].cumsum(0).sum().item())
E
"$GTSH" --engine cpu "$TMP/mlp.gt" > "$TMP/cpu" 2>&1
code "a script" 0 "$GTSH" --engine cuda --memory 200M "$TMP/mlp.gt"; same "a script" "$(cat "$TMP/cpu")" "$(out)$(err)"
# Long rows, whose sums have other bits in another order; and more bytes from the host than the ring of pinned memory holds.
sums='seed(1); x = randn(40, 1000); print(x.sum(1).tolist(), x.sum().item(), x.softmax().sum(0).tolist())'
code "sums" 0 "$GTSH" --engine cuda --memory 100M -c "$sums"; same "sums" "$(out)" "$("$GTSH" --engine cpu -c "$sums")"
"$GTSH" --engine cpu -c "save((arange(5000000) % 1000).to(float32), \"$TMP/x.npy\")"
code "a large file" 0 "$GTSH" --engine cuda --memory 200M -c "x = load(\"$TMP/x.npy\"); print(x.sum().item(), (x[:1000] == x[4999000:]).all().item())"
same "a large file" "$(out)" "2497500160.0 true"
# Long lines along which a scan goes, of few of which each has a thread block, and the largest of more lines than blocks run at a time.
cat > "$TMP/scan.gt" <<'E'
seed(4)
a = randn(900); a[417] = -(tensor(0.0) / 0.0)
c = (randn(3, 700) * 4).round(); i = (randn(600) * 100).to(int64); h = randn(2, 1100).to(bfloat16)
print(a.cummax(0)[0][:417].tolist(), a.cummin(0)[1].tolist(), c.cummax(1)[1].tolist(), c.T.cummin(0)[1].tolist(), i.cummax(0)[1].tolist())
print(a[:400].cumsum(0).tolist(), h.cumsum(1).tolist(), c.T.cumsum(0).tolist(), i.cumsum(0).tolist(), (i > 0).cumsum(0).tolist())
r = randn(2, 1100); s = r * 0.9
print(recurrence(s, r).tolist(), recurrence(s, r, reverse=true).tolist(), randn(70, 300).argmax(1).tolist())
E
"$GTSH" --engine cpu "$TMP/scan.gt" > "$TMP/cpu"
code "scans" 0 "$GTSH" --engine cuda --memory 100M "$TMP/scan.gt"; same "scans" "$(out)" "$(cat "$TMP/cpu")"
code "a bad index" 1 "$GTSH" --engine cuda --memory 200M -c 'x = randn(5); y = x[tensor([1, 7])] + 1; print(y)'
has "a bad index" "$(err)" "index 7 at position 1 is out of range for axis 0 of size 5"
# Classes out of range in a kernel of rows: several, of which the first is reported; and of two such kernels the first.
cat > "$TMP/class.gt" <<'E'
seed(1)
x = param(randn(20, 30)); t = randint(0, 30, (20,)); u = t + 0
for i in range(12) {
    if i == 9 { t[8:] = 30; t[7] = -5000000000; u[3] = 31 }
    loss = cross_entropy(x, t) + cross_entropy(x * 2, u)
    backward loss
    no_grad { x -= x.grad; x.grad = none }
    print(i, loss.item(), x.sum().item())
}
E
for GT_FUSE in wait 0; do
    export GT_FUSE
    code "bad classes on cpu" 1 "$GTSH" --engine cpu "$TMP/class.gt"; expected=$(out; err)
    code "bad classes" 1 "$GTSH" --engine cuda --memory 200M "$TMP/class.gt"; same "bad classes, GT_FUSE=$GT_FUSE" "$(out; err)" "$expected"
    has "bad classes" "$expected" "class -5000000000 at position 7 is outside 0 ... 29"
done
finish
