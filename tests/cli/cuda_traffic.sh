# What kernels of the engine cuda bring from memory, by the counters of the emulated device of tests/gpu, where NVRTC is installed:
# rows that fit into shared memory are read once. And the bits of such rows and of longer ones, which are those of the engine cpu.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
. tests/fixtures/cuda_counts.sh
left_out="cuda: NVRTC is not installed"
case "$B" in *asan* | *tsan* | *ubsan*) left_out="cuda: a sanitizer watches" GT_NVRTC=none ;; esac
find_nvrtc "$B" || { echo "$left_out: traffic is not counted"; finish; exit 0; }
counts=$TMP/counts
# once NAME ELEMENTS BYTES SETUP WORK: at most 1.05 of the sectors that must move, and few launches
once() {
    name=$1
    shift
    measure "$@" || fail "$name: it does not run"
    echo "$sectors" | awk '{ exit $1 > 1.05 }' || fail "$name: $sectors of the sectors that must move"
}
x="x = rand(64, 1024)"
once "softmax" 65536 8 "$x" "z = x.softmax()"
once "softmax, bfloat16" 65536 4 "x = rand(64, 1024).to(bfloat16)" "z = x.softmax()"
once "log-softmax of 5,000" 40000 8 "x = rand(8, 5000)" "z = x.log_softmax()"
once "a row minus its mean" 65536 8 "$x" "z = x - x.mean(1, keepdim=true)"
once "layer norm" 2097152 8 "l = nn.LayerNorm(1024); xs = [rand(64, 1024), rand(2048, 1024)]" "no_grad { z = l(xs[i // 20]) }"
once "sum of rows" 65536 4 "$x" "z = x.sum(1)"
[ "$launches" = 1 ] || fail "sum of rows: $launches launches"
# Short rows, of several blocks, and of more than fit; of several lines; halves, float64, whole numbers.
cat > "$TMP/rows.gt" <<'E'
seed(1)
fn show(x, exact=true) {
    for i in range(3) { # the last time fused
        y = x - x.mean(-1, keepdim=true); z = (y * y).sum(-1, keepdim=true).sqrt(); w = y / z
        if (exact) { print(x.softmax(-1).to(float64).cumsum(-1).sum().item()) } # float64's exp is the device's
        print(w.to(float64).abs().cumsum(-1).sum().item(), z.flatten().tolist()[:5])
    }
}
for n in [1, 3, 17, 100, 1000, 4096, 4097, 9000, 13000, 20000] { show(randn(5, n)) }
for d in [float16, bfloat16, float64] { show(randn(7, 300).to(d), d != float64); show(randn(2, 4500).to(d), d != float64) }
w = randn(3000); u = randn(70, 3000) # weights that all rows share, and others
for i in range(3) { for x in [randn(70, 3000), u[:2]] { print((x.softmax() * w + u[:x.shape[0]]).cumsum(0).sum().item()) } }
show(randn(9, 12, 40).transpose(0, 1)); show(randn(40, 6).T); show(randn(5, 1).expand(5, 700))
E
"$GTSH" --engine cpu "$TMP/rows.gt" > "$TMP/cpu" 2>&1
code "rows" 0 "$GTSH" --engine cuda --memory 200M "$TMP/rows.gt"; same "rows" "$(out)$(err)" "$(cat "$TMP/cpu")"
finish
