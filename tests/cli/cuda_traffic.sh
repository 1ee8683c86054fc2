# What kernels of the engine cuda bring from memory, by the counters of the emulated device of tests/gpu, where NVRTC is installed:
# rows that fit into shared memory are read once.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
. tests/fixtures/cuda_counts.sh
need_nvrtc "traffic is not counted"
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
once "sum of columns" 262144 4 "x = rand(256, 1024)" "z = x.sum(0)"
once "cross-entropy" 65536 4 "$x; t = randint(0, 1024, (64,))" "z = cross_entropy(x, t)"
[ "$launches" = 2 ] || fail "cross-entropy: $launches launches"
once "cross-entropy and its gradient" 65536 16 "t = randint(0, 1024, (64,)); p = param(rand(64, 1024))" "p.grad = none; backward cross_entropy(p, t)"
once "a transpose, added to" 65536 8 "$x" "z = x.T + 1"
once "a transpose, added to what is not" 65536 12 "$x; y = rand(1024, 64)" "z = x.T + y"
once "a copy of a transpose" 65536 8 "$x" "z = x.T.contiguous()"
once "a copy of turned axes" 65536 8 "x = rand(64, 32, 32)" "z = x.permute(2, 0, 1).contiguous()"
finish
