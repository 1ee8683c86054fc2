# Matrix products and the fusions that read them give the same bits: separately and op by op, tile by tile, with
# kernels as they become ready, and with two workers.
. tests/fixtures/check.sh
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
cat >"$TMP/product.gt" <<'EOF_GT'
dir = arg("dir", "", "where results go")
seed(7)
# A nan counts, its sign and payload do not (gt-numbers(7)).
fn plain(p) { p = p.float().reshape(-1); return where(isnan(p), nan, p) }
fn keep(name, parts) { save(cat([plain(p) for p in parts], 0), f"{dir}/{name}.npy") }
n = 0
for round in range(2) {
    # one tile, tiles of whole rows, tiles of parts of rows, sizes that oneDNN does not split
    for s in [(64, 48, 32), (300, 128, 200), (520, 700, 150), (7, 33, 65)] {
        M = s[0]; N = s[1]; K = s[2]
        for k in range(4) {
            a = randn(M, K); b = randn(K, N); bias = randn(N); g = randn(M, N)
            x = a; y = b
            if k == 1 or k == 3 { x = randn(K, M).T }
            if k > 1 { y = randn(N, K).T }
            if k == 2 { x[1, 0] = nan; y[0, 1] = inf; bias[2] = -inf }
            sync(); r1 = (x @ y + bias).relu()
            sync(); r2 = (x @ y * 0.125).softmax(axis=-1)
            sync(); t = x @ y; r3 = where(g > 0, t, 0.0); r4 = t.exp().sum(axis=-1)      # wanted twice
            sync(); u = x @ y; r5 = u - 1; r6 = u.T + 1
            sync(); r7 = ((x @ y).reshape(M * N) * 2 + 1).reshape(N, M)                   # a view of it
            sync(); r8 = (x @ y + bias).sum(axis=0)                                       # rows are folded
            sync(); v = x @ y; w = (v * 2).bfloat16(); z = v @ y.T                        # another dtype
            keep(f"r{n}", [r1, r2, r3, r4, r5, r6, r7, r8, z, w])
            n = n + 1
        }
    }
    q = randn(3, 4, 64, 32); h = randn(3, 4, 64, 32); mask = triu(ones(64, 64), 1) > 0
    keep(f"attention{round}", [(q @ h.transpose(-2, -1) / sqrt(32)).masked_fill(mask, -inf).softmax(axis=-1)])
    p = param(randn(90, 40) * 0.1); o = optim.SGD([p], lr=0.1, momentum=0.9); x = randn(50, 90)
    for i in range(4) { loss = (x @ p + 1).tanh().mean(); o.zero_grad(); backward loss; o.step() }
    keep(f"step{round}", [p])
}
s = stats(); print(s.get("w0.fused.products", 0) > 50, s.get("w0.jit.failed", 0))
EOF_GT
run() { # run NAME OPTIONS: results in $TMP/NAME
    name=$1; shift
    mkdir "$TMP/$name"
    "$GTSH" "$@" "$TMP/product.gt" --dir "$TMP/$name" >"$TMP/out" 2>"$TMP/err" || fail "$name: $(err)"
    for f in "$TMP"/plain/*; do
        cmp -s "$f" "$TMP/$name/${f##*/}" || fail "$name: $(basename "$f") differs from what it is op by op"
    done
}
GT_FUSE=0 run plain --threads 1; same "op by op" "$(out)" "false 0"
GT_FUSE=wait run tiles --threads 1; same "tile by tile" "$(out)" "true 0"
GT_FUSE=wait run threads --threads 3; same "on three threads" "$(out)" "true 0"
GT_FUSE=1 run come --threads 2
GT_FUSE=wait run workers -w 2 --threads 2
finish
