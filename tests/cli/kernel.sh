# debug.print_kernel and :kernel print the source of the kernel that computed a tensor, or why there is none; with two
# workers, and with workers of a daemon. stats() adds up the workers' counters.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
cat >"$TMP/k.gt" <<'EOF'
signal.define("both", axis=0)
fn f() { x = rand(64, 64); y = tanh(x * 2.0 + 1.0); w = exp(y); sync(); return [x, y, w] }
if arg("both", false) { signal both { [x, y, w] = f() } } else { [x, y, w] = f() }
EOF
gt() { "$GTSH" "$@" >"$TMP/out" 2>"$TMP/err" || fail "GT_FUSE=$GT_FUSE $*: $(err)"; }
ask() { cp "$TMP/k.gt" "$TMP/ask.gt"; printf '%s\n' "$1" >>"$TMP/ask.gt"; shift; gt "$@"; }
# Repeats until the answer has this part: on a slow machine a fusion may end early.
until_has() {
    what=$1 part=$2; shift 2
    for try in 1 2 3 4 5 6 7 8; do ask "$@"; case "$(out)" in *"$part"*) return ;; esac; done
    has "$what" "$(out)" "$part"
}
GT_FUSE=wait; export GT_FUSE
show='debug.print_kernel(y)'
fused="one kernel of several operations, of which 'tanh' gives this tensor"
until_has "fused" "/* w0: $fused" "$show" "$TMP/ask.gt"
has "where from" "$(out)" ", launched 1 time: "
has "the ops, with their dtypes" "$(out)" "tanh v"
has "by name" "$(out)" "-> f32, stored"
has "each line too" "$(out)" "/* tanh */"
sed -n '/^\/\* [0-9]* ops/,$p' "$TMP/out" >"$TMP/source.c"
# the source shown is the source compiled
GT_SAVE_COMPILED_CODE=$TMP/code; export GT_SAVE_COMPILED_CODE
ask "$show" "$TMP/ask.gt"; unset GT_SAVE_COMPILED_CODE
grep -lF "$(sed -n 3p "$TMP/source.c")" "$TMP"/code/*.c >/dev/null || fail "the source is not what was compiled"
has "cached" "$(out)" "found in the cache on disk"
until_has "as values" "fused tanh cached 1 true 32" \
    'a = debug.get_kernel(y)["w0"]; print(a.filled, a.op, a.state, a.hits, len(a.source) > 500, len(a.key))' "$TMP/ask.gt"
until_has "two workers: the first" "/* w0: $fused" "$show" -w 2 "$TMP/ask.gt" --both
until_has "two workers: the second" "/* w1: $fused" "$show" -w 2 "$TMP/ask.gt" --both
same "its source once" "$(grep -c '^/\* [0-9]* ops' "$TMP/out")" 1
ask "debug.print_kernel(x @ x)" "$TMP/ask.gt"; has "matmul" "$(out)" "/* w0: 'matmul' by itself, by the code of engine 'cpu' for this operation */"
ask "debug.print_kernel(tensor([1.0, 2]))" "$TMP/ask.gt"; has "data" "$(out)" "no kernel: it was data"
printf '%s\n:kernel y\n:kernel\n:kernel 3\n' "$(cat "$TMP/k.gt")" >"$TMP/typed"
"$GTSH" -i -q --norc <"$TMP/typed" >"$TMP/out" 2>"$TMP/err"
has ":kernel" "$(out)" "/* w0: one kernel of several operations, of which 'tanh' gives"
has ":kernel of nothing" "$(err)" ":kernel needs a tensor, such as :kernel x"
has ":kernel of a number" "$(err)" "debug.print_kernel needs a tensor, not int"
start local "$D" --workers 2 --threads 1; d=$pid
await "$TMP/local.out" "2 workers"
until_has "of a daemon" "/* w1: $fused" "$show" -d local "$TMP/ask.gt" --both
has "of a daemon, its source" "$(out)" "/* tanh */"
kill -TERM $d; wait $d
code "--emit" 1 "$GTSH" --emit "$TMP/ask.gt"; has "--emit" "$(err)" "with --emit a tensor is nowhere"
has "--emit: the way out" "$(err)" "hint: --emit computes nothing: ask in a run without it"

# no kernel: not yet, or never
GT_FUSE=1
XDG_CACHE_HOME=$TMP/cold
until_has "not yet" "that would make a kernel and were carried out one by one" "$show" "$TMP/ask.gt"
GT_FUSE=0; ask "$show" "$TMP/ask.gt"; has "off" "$(out)" "nothing is compiled there"
GT_FUSE=wait; XDG_CACHE_HOME=$TMP/none; GT_CC=/no/such/compiler; export GT_CC
until_has "no compiler" "carried out one by one" "$show" "$TMP/ask.gt"
unset GT_CC; XDG_CACHE_HOME=$TMP/cache

# launches are counted also in a loop, where plans run the kernels
cat >"$TMP/loop.gt" <<'EOF'
x = rand(64, 64)
for i in range(400) {
    y = x
    for k in range(5) { y = tanh(y * 2.0 + 1.0) }
}
h = debug.get_kernel(y)["w0"].hits; s = stats()
print(h > 200, h <= s["fused.launches"], s["jit.hits"] == s["fused.launches"], s["plan.runs"] > 50)
EOF
gt "$TMP/loop.gt"
same "in a loop" "$(out)" "true true true true"

# sums
cat >"$TMP/sums.gt" <<'EOF'
signal.define("both", axis=0)
signal both { y = tanh(rand(64, 64) * 2.0 + 1.0) }
print(y.sum().item())
s = stats(); n = 0
for key in ["launches", "ops", "eager_ops", "unstored", "bytes_saved"] {
    if s["w0.fused." + key] + s["w1.fused." + key] != s["fused." + key] { print(key, "is not the sum") }
}
for key in ["hits", "misses", "compiled", "cached", "pending", "failed", "compile_ms"] {
    if s["w0.jit." + key] + s["w1.jit." + key] != s["jit." + key] { print(key, "is not the sum") }
}
print(s["w0.fused.launches"] > 0, s["w1.fused.launches"] > 0, s["jit.hits"] >= s["fused.launches"])
print(s["fused.ops"] / s["fused.launches"] == s["fused.ops_per_launch"], s["fused.bytes_saved"] > 0)
EOF
gt -w 2 "$TMP/sums.gt"
same "sums" "$(sed 1d "$TMP/out")" "true true true
true true"
finish
