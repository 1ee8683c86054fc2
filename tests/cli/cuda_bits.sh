# What kernels of the engine cuda compute, on the emulated device of tests/gpu, where NVRTC is installed: operands read across, columns,
# rows that fit into shared memory and longer ones, and casts to halves have the bits of the engine cpu.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "bits of kernels are not compared"
# Operands read across: tiles that are not full, several axes, other sizes of elements, two operands across, one of them broadcast.
cat > "$TMP/across.gt" <<'E'
seed(2)
x = randn(300, 310) # more tiles than blocks
print(x.T.contiguous().flatten()[::1009].tolist(), (x.T - 1).flatten()[::1009].tolist())
for d in [float32, bfloat16, float64, int64, uint8, bool] {
    for n in [8, 33, 70] {
        x = (randn(n, 45) * 40).to(int32).abs().to(d); y = (randn(45, n) * 40).to(int32).abs().to(d); b = (randn(3, n, 45) * 9).to(int32).to(d)
        print((x.T + y).to(float64).sum(0).tolist()[:9], (x.T + x[0:1].T).to(float64).flatten()[7:90:9].tolist())
        print((b.transpose(1, 2) + y + x.T).to(float64).sum(1).tolist()[1][:5], b.permute(2, 0, 1).contiguous().to(float64).flatten()[::97].tolist())
        print((b.permute(2, 1, 0) == b.permute(2, 1, 0).contiguous()).all().item(), b[:, 1:, ::2].transpose(0, 2).contiguous().to(float64).sum(0).tolist()[0])
        y += x.T
        print(y.to(float64).flatten()[::31].tolist(), cat([x.T, y]).to(float64).sum(1).tolist()[::7])
    }
}
E
"$GTSH" --engine cpu "$TMP/across.gt" > "$TMP/cpu" 2>&1
code "across" 0 "$GTSH" --engine cuda --memory 200M "$TMP/across.gt"; same "across" "$(out)$(err)" "$(cat "$TMP/cpu")"
# Sums of columns: of leaves that are combined in registers, and of more.
cat > "$TMP/columns.gt" <<'E'
seed(3)
for n in [65, 300, 511, 513, 700, 1100, 2500] { for d in [float32, bfloat16, float64, int64] { print((randn(n, 37) * 9).to(d).sum(0).tolist()) } }
E
"$GTSH" --engine cpu "$TMP/columns.gt" > "$TMP/cpu" 2>&1
code "columns" 0 "$GTSH" --engine cuda --memory 200M "$TMP/columns.gt"; same "columns" "$(out)$(err)" "$(cat "$TMP/cpu")"
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
for d in [float32, bfloat16] { # rows that begin where four elements are aligned, and others
    a = randn(6, 1040).to(d)
    for x in [a[:, :1024], a[:, 1:1025], a[:, 4:1028], a[:, 2:1026], a[:, 8:1031], a[1:, 8:], a.flatten()[3:6003].reshape(6, 1000)] { show(x) }
    m = a[:, 4:1004] > 0; b = a[:, 3:1003]
    for i in range(3) { print((a[:, 8:1008].to(float32).softmax() * b + m).cumsum(1).sum().item()); print((b == b.amax(1, keepdim=true)).sum(1).tolist()) }
}
for n in [64, 101, 1024, 5000] { # maxima and minima of 0 and -0, and of nan
    a = where(rand(40, n) < 0.9, -1, randn(40, n) * 0); b = where(rand(40, n) < 1e-3, nan, randn(40, n)).to(float16)
    for i in range(3) {
        print((1 / (a + 0 * i - a * 0).amax(1)).tolist(), (1 / (a * -1 * abs(a)).amin(1)).tolist(), (1 / a.amax(1)).tolist())
        print((b - b.amax(1, keepdim=true)).isnan().sum(1).tolist())
    }
}
E
"$GTSH" --engine cpu "$TMP/rows.gt" > "$TMP/cpu" 2>&1
code "rows" 0 "$GTSH" --engine cuda --memory 200M "$TMP/rows.gt"; same "rows" "$(out)$(err)" "$(cat "$TMP/cpu")"
# Casts to halves, which are instructions of the device: all halves, the middles between two, and the floats beside those.
cat > "$TMP/halves.gt" <<'E'
e = cat([-(arange(30) + 1), arange(20), tensor([127, 126, -126, -127, -133, -134, -135, -136])]).reshape(-1, 1); m = arange(2048).reshape(1, -1)
x = ((m.to(float64) / 2048 + 1) * tensor(2.).to(float64) ** e.to(float64)).flatten()
y = cat([x * (1 + 1e-7), x, x * (1 - 1e-7), tensor([0., inf, nan]).to(float64)]).to(float32); save(cat([y, -y]), args[0])
E
"$GTSH" --engine cpu "$TMP/halves.gt" "$TMP/halves.npy" || fail "halves: no file"
for d in float16 bfloat16; do
    for engine in cpu "cuda --memory 200M"; do
        y=$TMP/${engine%% *}.$d
        "$GTSH" --engine $engine -c "x = load(\"$TMP/halves.npy\"); y = x.to($d); save({y: y, more: y + 0, abs: y.to(float32).abs().to($d)}, \"$y.safetensors\")" || fail "casts to $d: no file"
    done
    cmp "$TMP/cpu.$d.safetensors" "$TMP/cuda.$d.safetensors" || fail "casts to $d differ"
done
finish
