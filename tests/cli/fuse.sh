# Fusion never changes a bit: a training loop and random programs print the same text with fusions run one by one, by
# kernels that are waited for, by kernels from the disk cache, with two workers, and without a compiler. `make test`:
# some sizes and dtypes, one random program, and kernels of another instruction set for three of them; `make soak`: all
# sizes, dtypes and instruction sets, and other random programs.
. tests/fixtures/check.sh
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
cat >"$TMP/train.gt" <<'EOF'
seed(3)
x = randn(64, 20); t = randint(0, 5, (64,))
w = param(randn(20, 5) * 0.1); g = param(ones(5)); b = param(zeros(5))
opt = optim.AdamW([w, g, b], lr=0.01)
for i in range(30) {
    h = layer_norm(x @ w, [5], g, b)
    loss = cross_entropy(h, t) + 0.001 * (w * w).mean()
    opt.zero_grad(); backward loss; opt.step()
}
p = softmax(x @ w, dim=-1)
print(loss.item(), p.sum().item(), p.std().item(), w.abs().max().item())
if arg("stats", false) { s = stats(); print(s["w0.fused.launches"] > 50, s["w0.jit.failed"]) }
EOF
# The elements of a row are far apart: a pass without a row must not read with that step.
cat >"$TMP/far.gt" <<'EOF'
x = (zeros(16, 1000000) + arange(16).reshape(16, 1)).T[0:50]
sync()
y = softmax(x * 0.5, dim=1)
print(y.sum(axis=0))
EOF
# Rows with five passes, interleaved; inputs that are freed, and results that overwrite them.
cat >"$TMP/rows.gt" <<'EOF'
seed(7)
fn five(x) {
    y = x + 1.0
    a = exp(x - x.max(axis=1, keepdim=true))
    b = a / a.sum(axis=1, keepdim=true)
    c = tanh(b - b.mean(axis=1, keepdim=true)) * x
    d = c * c.sum(axis=1, keepdim=true)
    return [y, b, d - d.min(axis=1, keepdim=true), a.sum(axis=0)]
}
fn small(x) {
    i = x.to(int8); h = x.to(float16)
    s = i.sum(axis=1, keepdim=true).to(float32)
    g = exp(h - h.max(axis=1, keepdim=true))
    z = exp(x * 20.0 - x.max(axis=1, keepdim=true)) # not below 0
    e = exp(x.to(float64) - x.to(float64).max(axis=1, keepdim=true))
    return [x * s, g / g.sum(axis=1, keepdim=true), i.max(axis=1), z, e, i - i.min(axis=1, keepdim=true)]
}
all = arg("all", false)
for n in [2, 15, 16, 17, 128, 4096, 4097] if all else [2, 17, 4097] {
    for rows in [1, 2, 70] if all else [1, 70] {
        for f in [five, small] {
            x = randn(rows, n); sync()
            r = f(x)
            if n != 128 { x = none }
            sync()
            for v in r { print(n, rows, (v.to(float64) * arange(v.shape[-1]).to(float64)).sum().item()) }
        }
    }
}
EOF
# Tensors without rows, and rows of several blocks.
cat >"$TMP/light.gt" <<'EOF'
seed(9)
for d in [float32, float64, float16, int32, int8] if arg("all", false) else [float32, int8] {
    x = (randn(3, 5000) * 9).to(d); z = (randn(3, 5000) * 9).to(d); sync()
    y = (x * z + x).maximum(z - x); b = x < z
    r = [y, b, (x + z)[1], softmax(x.to(float32), axis=1), x - (x * z).max(axis=1, keepdim=true)]
    sync()
    for v in r { print(d, (v.to(float64).reshape(-1) * arange(v.numel()).to(float64)).sum().item()) }
}
EOF
"$GTSH" tests/fuzz/laws.gt --programs "${SOAK:-1}" --start "${SOAK_SEED:-5}" >"$TMP/laws.gt"
run() { "$GTSH" "$@" >"$TMP/out" 2>"$TMP/err" || fail "GT_FUSE=$GT_FUSE $*: $(err)"; }
for each in train:base far:v4 rows:v3 light:own laws:own; do
    program=${each%:*} all=
    case $program in rows | light) all=${SOAK:+--all} ;; esac
    export GT_FUSE GT_ISA
    isas=${each#*:}
    [ -z "${SOAK:-}" ] || isas="base v3 v4 own"
    for isa in $isas; do
        # v3 and v4 have the bits of the others; products of base, which has no fma, have their own
        GT_FUSE=0; [ "$isa" = base ] && GT_ISA=base || GT_ISA=
        run "$TMP/$program.gt" $all; cp "$TMP/out" "$TMP/plain"
        [ "$isa" = own ] || GT_ISA=$isa
        for how in wait 1; do
            GT_FUSE=$how
            run "$TMP/$program.gt" $all; same "$program, $isa, GT_FUSE=$how" "$(out)" "$(cat "$TMP/plain")"
        done
        run -w 2 --threads 3 "$TMP/$program.gt" $all; same "$program, $isa, two workers" "$(out)" "$(cat "$TMP/plain")"
        GT_FUSE=wait # outputs written past the caches, as those of large tensors are
        GT_LLC_KIB=1 run --threads 3 "$TMP/$program.gt" $all
        same "$program, $isa, more than the caches hold" "$(out)" "$(cat "$TMP/plain")"
    done
done
GT_FUSE=wait GT_ISA=base; GT_SAVE_COMPILED_CODE=$TMP/code; export GT_SAVE_COMPILED_CODE
run "$TMP/train.gt" --stats; has "kernels at work" "$(out)" "true 0"
has "the source that was compiled" "$(cat "$TMP"/code/*.c)" "/* rsqrt */"
cc -std=c11 -w -fsyntax-only "$TMP"/code/*.c || fail "the sources do not compile"
GT_SHIPPED_KERNELS=0 GT_CC=/no/such/compiler XDG_CACHE_HOME=$TMP/other run "$TMP/train.gt"
has "no compiler, said" "$(err)" "operations are not fused: no C compiler: /no/such/compiler"
same "said once" "$(grep -c COMPILE "$TMP/err")" 1
finish
