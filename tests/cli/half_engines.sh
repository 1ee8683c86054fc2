# Every engine rounds halves once, at the same places, with and without hot paths, and in compiled kernels that are
# waited for.
. tests/fixtures/check.sh
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
for t in tests/nn/half_once.gt tests/tensor/half_sharded.gt; do
    code "$t" 0 env GT_FUSE=0 "$GTSH" "$t"; cp "$TMP/out" "$TMP/want"
    for how in "GT_FUSE=0 GT_HOTPATH_THRESHOLD=0 GT_PLAN=0" "GT_FUSE=0 GT_HOTPATH_THRESHOLD=2"; do
        code "$t, $how" 0 env $how "$GTSH" "$t"; same "$t, $how" "$(out)" "$(cat "$TMP/want")"
    done
    code "$t, reference" 0 "$GTSH" --engine=reference "$t"; same "$t, reference" "$(out)" "$(cat "$TMP/want")"
done
# few kernels: each takes a compiler
cat >"$TMP/fused.gt" <<'EOF'
signal.define("i", axis=1)
fn t(n, a, m, s) => (((arange(n) * a) % m - m // 2).double() * s).bfloat16()
x = t(64 * 12, 37, 251, 1 / 64).reshape(64, 12)
w = t(32 * 12, 53, 241, 1 / 128).reshape(32, 12)
b = t(32, 29, 199, 1 / 32)
signal i { z = x * 1 }
for i in range(3) { print(linear(x, w, b).relu().double().sum().item(), linear(z, w, b).relu().double().sum().item()) }
EOF
code "eager" 0 env GT_FUSE=0 "$GTSH" -w 2 "$TMP/fused.gt"; cp "$TMP/out" "$TMP/want"
code "fused" 0 env GT_FUSE=wait "$GTSH" -w 2 "$TMP/fused.gt"; same "fused" "$(out)" "$(cat "$TMP/want")"
finish
