# An image's convolution, and a row's product, have the same bits alone and in any batch, on every class of processor and with
# any number of threads.
. tests/fixtures/check.sh
cat >"$TMP/conv.gt" <<'GT'
fn input_gradient(f, x) { x = param(x); backward f(x).square().sum(); return x.grad }
fn differing(f, x) {
    y = f(x); bad = 0
    for i in range(0, x.shape[0], 2) { bad += (f(x[i:i + 1]) != y[i:i + 1]).sum() }
    return bad + (f(x[1:4]) != y[1:4]).sum()
}
bad = 0; compared = 0
for s in [[4, 3, 8, 8], [16, 3, 32, 32], [5, 16, 14, 14], [3, 64, 7, 7], [9, 1, 28, 28], [9, 64, 12, 12], [3, 96, 33, 17], [8, 65, 16, 16]] {
    x = randn(s); c = s[1]
    for k, o in [[1, 8], [3, 1], [3, 17], [3, 64], [5, 67], [5, 128], [7, 256]] {
        if o * c * k * k * s[2] * s[3] > 5e7 or k > s[2] { continue }
        w = randn(o, c, k, k)
        bad += differing(fn(x) => conv2d(x, w, padding=k // 2), x) + differing(fn(x) => conv2d(x, w, stride=2), x)
        bad += differing(fn(x) => conv_transpose2d(x, w.transpose(0, 1)), x)
        bad += differing(fn(x) => input_gradient(fn(x) => conv2d(x, w, stride=2, padding=k // 2), x), x)
        if o % 8 == 0 and c % 8 == 0 { bad += differing(fn(x) => conv2d(x, w[:, :c // 8], groups=8), x) }
        compared += 1
    }
    bad += differing(fn(x) => conv1d(x[:, :, 0], ones(4, c, 3)), x[:1].expand(s[0], -1, -1, -1) * randn(s))
    bad += differing(fn(x) => max_pool2d(x, 2), x) + differing(fn(x) => avg_pool2d(x, 3, stride=2), x)
}
print(compared > 30, bad)
GT
for class in '' v3 base; do # '': the processor's own
    for t in 1 3; do
        code "${class:-own}, $t threads" 0 env GT_ISA=$class "$GTSH" --threads $t "$TMP/conv.gt"
        same "${class:-own}, $t threads" "$(out)" "true tensor(0)"
    done
done
finish
