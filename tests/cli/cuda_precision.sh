# set_precision: the engine cpu ignores it; on cuda, emulated where NVRTC is installed, products get other bits, those of the
# program's other products and of other clients do not, and a replay gives the bits of the program.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
cat > "$TMP/p.gt" <<'E'
seed(1)
x = randn(30, 40); w = param(randn(40, 50))
fn step() {
    y = x @ w
    backward (y * y).sum()
    g = w.grad; w.grad = none
    return [y, g]
}
plain = step()
set_precision("tf32"); short = step()
set_precision("fast"); fast = step()
set_precision("float32"); again = step()
for i in range(2) {
    span = plain[i].abs().max()
    print((again[i] == plain[i]).all(), (short[i] == plain[i]).all(), ((short[i] - plain[i]).abs().max() < 0.01 * span), ((fast[i] - plain[i]).abs().max() < 0.00001 * span))
}
print(short[0].sum() * 1000, short[1].sum() * 1000)
E
sed 's/set_precision([^)]*)//' "$TMP/p.gt" >"$TMP/none.gt"
code "cpu" 0 "$GTSH" --engine cpu "$TMP/p.gt"
same "cpu" "$(out | head -n 2)" "tensor(true) tensor(true) tensor(true) tensor(true)
tensor(true) tensor(true) tensor(true) tensor(true)"
same "cpu: the same bits" "$(out)" "$("$GTSH" --engine cpu "$TMP/none.gt" 2>&1)"
code "emit" 0 "$GTSH" --emit "$TMP/p.gt"
same "emit: an attribute of each product" "$(out | grep -c ' matmul .*allow="tf32"'):$(out | grep -c ' matmul .*allow="order"'):$(out | grep -c ' matmul')" 2:2:8
out >"$TMP/p.gti"
code "to binary and back" 0 sh -c '"$1" --emit=binary "$2" >"$2.gtb" && "$1" --emit "$2.gtb"' sh "$GTSH" "$TMP/p.gti"
same "to binary and back" "$(out | grep -c 'allow="tf32"')" 2
refused() { # WHAT ATTRIBUTES DTYPE ERROR
    printf 'gti 1\nt0 = full 1 [2,2] %s\nt1 = matmul t0 t0 %s\n' "$3" "$2" >"$TMP/bad.gti"
    code "$1" 1 "$GTSH" --replay "$TMP/bad.gti"
    has "$1" "$(err)" "$4"
}
refused "an unknown word" 'allow="tf3"' f32 "'allow' is order or tf32"
refused "whole numbers" 'allow="tf32"' i64 "'allow' is for floats"
need_nvrtc "products of cuda are not tested"
unset GT_CUDA_BLAS
code "cuda" 0 "$GTSH" --engine cuda --memory 100M "$TMP/p.gt"
same "cuda" "$(out | head -n 2)" "tensor(true) tensor(false) tensor(true) tensor(true)
tensor(true) tensor(false) tensor(true) tensor(true)"
out >"$TMP/cuda"
code "cuda, replayed" 0 "$GTSH" --engine cuda --memory 100M --replay "$TMP/p.gti"
same "cuda, replayed" "$(out)" "$(cat "$TMP/cuda")"
code "the operator's word" 0 env GT_CUDA_BLAS=0 "$GTSH" --engine cuda --memory 100M "$TMP/p.gt"
same "the operator's word" "$(out)" "$("$GTSH" --engine cpu "$TMP/p.gt" 2>&1)"
# What the library does not take, the own kernels multiply; so do they if it would round float32.
right=$("$GTSH" --engine cpu "$TMP/none.gt" 2>&1)
echo 'seed(1); set_precision("tf32"); print((randn(30, 40) @ randn(40, 50)).sum() * 1000)' >"$TMP/alone.gt"
alone=$("$GTSH" --engine cpu "$TMP/alone.gt" 2>&1)
[ "$("$GTSH" --engine cuda --memory 100M "$TMP/alone.gt" 2>&1)" != "$alone" ] || fail "TF32 has the bits of float32"
for status in 7 15; do
    same "status $status" "$(GT_EMU_FAIL=cublasLtMatmulAlgoGetHeuristic:1:$status "$GTSH" --engine cuda --memory 100M "$TMP/alone.gt" 2>&1)" "$alone"
done
code "TF32 for all" 0 env NVIDIA_TF32_OVERRIDE=1 "$GTSH" --engine cuda --memory 100M "$TMP/p.gt"
same "TF32 for all" "$(out)" "$right"
has "TF32 for all" "$(err)" "NVIDIA_TF32_OVERRIDE is '1'"
code "TF32 for none" 0 env NVIDIA_TF32_OVERRIDE=0 "$GTSH" --engine cuda --memory 100M "$TMP/p.gt"
same "TF32 for none" "$(out)" "$(cat "$TMP/cuda")"
code "TF32 and the operator's word" 69 env NVIDIA_TF32_OVERRIDE=1 GT_CUDA_BLAS=1 "$GTSH" --engine cuda --memory 100M "$TMP/p.gt"
has "TF32 and the operator's word" "$(err)" "could not start: NVIDIA_TF32_OVERRIDE is '1'"
# A hot loop, as plans and graphs, that changes its products.
cat > "$TMP/hot.gt" <<'E'
seed(2); x = randn(20, 20) * 0.2
for i in range(40) {
    if i == 20 { set_precision("tf32") }
    x = ((x @ x.T) * 0.5 + x).tanh()
}
print(x.sum())
E
code "a hot loop" 0 env GT_GRAPH=2 "$GTSH" --engine cuda --memory 100M "$TMP/hot.gt"
out >"$TMP/hot"
code "a loop by steps" 0 env GT_PLAN=0 GT_FUSE=0 GT_HOTPATH_THRESHOLD=0 "$GTSH" --engine cuda --memory 100M "$TMP/hot.gt"
same "a loop by steps" "$(out)" "$(cat "$TMP/hot")"
# Two clients of one worker.
d=$TMP/d.sock
"$B/gt-dispatcher" --ipc "$d" -w 1 --engine cuda --memory 100M >"$TMP/log" 2>&1 &
pid=$!
waited=0
until [ -S "$d" ] || [ $waited -ge 200 ]; do sleep 0.1; waited=$((waited + 1)); done
"$GTSH" -d "ipc://$d" "$TMP/p.gt" >"$TMP/one" 2>&1 &
other=$!
code "a client beside it" 0 "$GTSH" -d "ipc://$d" "$TMP/none.gt"
same "a client beside it" "$(out)" "$("$GTSH" --engine cpu "$TMP/none.gt" 2>&1)"
wait $other
same "one that allows tf32" "$(cat "$TMP/one")" "$(cat "$TMP/cuda")"
kill $pid; wait $pid
finish
