# Kernels of the engine cuda, on the emulated device of tests/gpu where NVRTC is installed: fusions and plans are used and give the
# cpu engine's bits; kernels are kept in the disk cache, which several processes share and which may be damaged, and are shown.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "the kernels of the engine cuda are not tested"
export XDG_CACHE_HOME="$TMP/cache"
cache="$TMP/cache/gt"
cat > "$TMP/step.gt" <<'E'
seed(5)
x = randn(40, 24); w = param(randn(24, 8) * 0.2); b = param(zeros(8))
for i in range(6) {
    loss = ((x @ w + b).gelu().softmax() ** 2).mean()
    backward loss
    for p in [w, b] { p -= 0.5 * p.grad; p.grad = none }
}
print(loss.item(), w.sum().item(), b.tolist())
E
cp "$TMP/step.gt" "$TMP/stats.gt"
cat >> "$TMP/stats.gt" <<'E'
s = stats()
for k in ["fused.launches", "fused.ops", "plan.runs", "jit.hits", "jit.compiled", "jit.cached"] { print(k, s["w0." + k] > 0) }
E
truth=$("$GTSH" --engine cpu "$TMP/step.gt" 2>&1)
# run LABEL COMPILES: the script has the results of the cpu; COMPILES: 0, or + for some kernels, n of them
run() {
    code "$1" 0 env GT_DEBUG_COMPILE=1 "$GTSH" --engine cuda --memory 100M "$TMP/step.gt"
    same "$1" "$(out)" "$truth"
    n=$(grep -c "COMPILE. compiling" "$TMP/err")
    case "$2 $n" in "0 0" | "+ "[1-9]*) ;; *) fail "$1: $n kernels were compiled" ;; esac
}
run "an empty cache" +
all=$n
run "a full cache" 0
same "files" "$(ls "$cache"/*.ptx | wc -l)" "$all"
code "one by one" 0 env GT_FUSE=0 GT_PLAN=0 "$GTSH" --engine cuda --memory 100M "$TMP/step.gt"
same "one by one" "$(out)" "$truth"
code "stats" 0 "$GTSH" --engine cuda --memory 100M "$TMP/stats.gt"
same "stats" "$(out | tail -n +2)" "fused.launches true
fused.ops true
plan.runs true
jit.hits true
jit.compiled false
jit.cached true"
# Damaged files: cut off, with another byte, with a seal's bytes after it, empty. All are made again.
rm "$cache"/*.ptx
run "an empty cache again" +
k=0
for f in "$cache"/*.ptx; do
    cp "$f" "$TMP/whole"
    case $((k % 4)) in
    0) head -c 1000 "$TMP/whole" >"$f" ;;
    1) printf '\001' | dd of="$f" bs=1 seek=700 conv=notrunc 2>"$TMP/dd" ;;
    2) tail -c 24 "$TMP/whole" >>"$f" ;;
    3) : >"$f" ;;
    esac
    k=$((k + 1))
done
run "damaged files" +
same "damaged files: kernels compiled again" "$n" "$all"
run "mended files" 0
# A cache of another device, in which this one finds nothing, and which it leaves as it is.
GT_EMU_CAPABILITY=119 run "a cache of another device" +
GT_EMU_CAPABILITY=119 run "a cache of two devices" 0
run "a cache of two devices again" 0
rm "$cache"/*.ptx
run "an empty cache once more" +
# Sealed files with another kernel in them.
set -- "$cache"/*.ptx
cp "$1" "$TMP/one"
for f in "$@"; do cp "$TMP/one" "$f"; done
run "kernels under other names" +
same "kernels under other names: compiled again" "$n" "$((all - 1))"
# A device without memory for a kernel: its file is not to blame, and stays.
GT_EMU_FAIL=cuModuleLoadData:1:2 GT_DEBUG_COMPILE=1 "$GTSH" --engine cuda --memory 100M "$TMP/step.gt" >"$TMP/out" 2>"$TMP/err"
same "no memory for a kernel: compiled again" "$(grep -c "COMPILE. compiling" "$TMP/err")" 0
# Two processes that fill one cache.
rm "$cache"/*.ptx
for p in 1 2; do
    "$GTSH" --engine cuda --memory 100M "$TMP/step.gt" >"$TMP/out$p" 2>&1 &
done
wait
for p in 1 2; do same "process $p" "$(cat "$TMP/out$p")" "$truth"; done
run "after both" 0
# No place for it.
code "no cache" 0 env XDG_CACHE_HOME=/proc/none "$GTSH" --engine cuda --memory 100M -c 'print((ones(3) + 1).sum().item())'
same "no cache" "$(out)" 6.0
has "no cache" "$(err)" "kernels are not kept: /proc/none/gt:"
# Shown.
code "saved" 0 env GT_SAVE_COMPILED_CODE="$TMP/code" "$GTSH" --engine cuda --memory 100M "$TMP/step.gt"
grep -q '__global__' "$TMP"/code/*.cu || fail "GT_SAVE_COMPILED_CODE: no kernel in $(ls "$TMP/code")"
[ -s "$TMP/code/fused.cuh" ] || fail "GT_SAVE_COMPILED_CODE: no head"
printf 'x = randn(50)\ny = x.exp() * 2\nprint(y.sum().item() > 0)\n:kernel y\n' >"$TMP/typed"
code ":kernel" 0 env GT_FUSE=wait "$GTSH" -q -i --norc --engine cuda --memory 100M <"$TMP/typed"
has ":kernel" "$(out)" "__global__"
file=$(sed -n 's/.*: \([0-9a-f]*\.[a-z]*\).*/\1/p' "$TMP/out" | head -n 1)
[ -f "$cache/$file" ] || fail ":kernel names the file '$file', which is not in the cache: $(grep launched "$TMP/out")"
code ":kernel of one operation" 0 "$GTSH" --engine cuda --memory 100M -c 'x = randn(4); debug.print_kernel(x)'
has ":kernel of one operation" "$(out)" "by the code of engine 'cuda' for this operation"
finish
