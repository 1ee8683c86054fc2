# When kernels are compiled: `compile: true` compiles a scope's kernels at the first request, set in the program or in a
# file, on one worker and on two; the effect of GT_AUTO_COMPILE, GT_COMPILE and GT_WORKER_BATCH_SIZE. Results have the
# same bits.
. tests/fixtures/check.sh
GT_SHIPPED_KERNELS=0; export GT_SHIPPED_KERNELS
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
cat >"$TMP/once.gt" <<'EOF'
if arg("define", "") == "yes" { signal.define("hot", compile=true) }
elif arg("define", "") == "no" { signal.define("hot", compile=true); signal.define("cold", compile=false) }
x = arange(4096.0).reshape(64, 64) / 64.0
signal hot { signal cold { y = softmax(x * 2.0 + 1.0, dim=-1) } }
z = softmax(x * x, dim=-1)
print(y.std().item(), z.min().item())
if arg("stats", false) {
    s = stats()
    print(s["w0.jit.pending"] + s["w0.jit.compiled"] + s["w0.jit.cached"] + s["w0.jit.failed"])
}
EOF
printf 'hot:\n  compile: true\n' >"$TMP/hot.yaml"
run() { "$GTSH" "$@" >"$TMP/out" 2>"$TMP/err" || fail "GT_FUSE=$GT_FUSE $*: $(err)"; }
# The number of kernels requested by a run in which no fusion occurs twice. On a slow machine a fusion may end early, and
# then requests none; so a run that should request kernels is tried several times.
asked() {
    want=$1; shift
    for try in 1 2 3 4 5 6 7 8; do
        run "$@" "$TMP/once.gt" --stats $define
        [ "$(tail -n 1 "$TMP/out")" = "$want" ] && return
    done
    fail "$* $define: $(tail -n 1 "$TMP/out") kernels asked for, not $want"
}
GT_FUSE=0; export GT_FUSE
run "$TMP/once.gt"; cp "$TMP/out" "$TMP/plain"
GT_FUSE=1
define= ; asked 0
define="--define yes"; asked 1
asked 1 -w 2
define="--define no"; asked 0
define= ; asked 1 --config "$TMP/hot.yaml"

# In such a scope a fusion that ends because no instruction follows also requests its kernel.
cat >"$TMP/clock.gt" <<'EOF'
signal.define("hot", compile=true)
x = arange(4096.0) / 64.0
signal hot { y = x * 2.0 + 1.0; sleep(1); z = (tanh(y - 0.5) * y).mean() }
print(z.item())
s = stats()
print(s["w0.jit.pending"] + s["w0.jit.compiled"] + s["w0.jit.cached"] + s["w0.jit.failed"])
EOF
run "$TMP/clock.gt"; same "ended by the clock" "$(tail -n 1 "$TMP/out")" 2

# With GT_FUSE=wait the worker waits for kernels: every fusion is launched.
cat >"$TMP/knobs.gt" <<'EOF'
signal.define("hot", compile=true)
x = arange(4096.0).reshape(64, 64) / 64.0
fn f(x) { for i in range(6) { x = x * 0.5 + x * x }; return x }
y = f(x) if not arg("hot", false) else none
if arg("hot", false) { signal hot { y = f(x) } }
print(y.std().item())
s = stats()
print(s["w0.fused.launches"] if "w0.fused.launches" in s else "none")
EOF
launches() { run "$TMP/knobs.gt" "$@"; tail -n 1 "$TMP/out"; }
GT_FUSE=wait
[ "$(launches)" -gt 0 ] || fail "nothing is compiled unasked"
same "GT_COMPILE=0" "$(GT_COMPILE=0 launches --hot)" none
same "GT_WORKER_BATCH_SIZE=1" "$(GT_WORKER_BATCH_SIZE=1 launches --hot)" none
same "GT_AUTO_COMPILE=0, no scope" "$(GT_AUTO_COMPILE=0 launches)" 0
[ "$(GT_AUTO_COMPILE=0 launches --hot)" -gt 0 ] || fail "GT_AUTO_COMPILE=0 compiles not even what is asked for"
[ "$(GT_WORKER_BATCH_SIZE=3 launches --hot)" -ge 6 ] || fail "GT_WORKER_BATCH_SIZE=3: $(out)"
for try in 1 2 3 4 5 6 7 8; do [ "$(launches --hot)" -lt 6 ] && break; done
[ "$(tail -n 1 "$TMP/out")" -lt 6 ] || fail "batches are never larger than 3: $(out)"
# A loop becomes a hot body. The scope still begins and ends at the same instructions: 7 of them, 300 iterations.
cat >"$TMP/loop.gt" <<'EOF'
signal.define("hot", compile=true)
x = arange(1024.0).reshape(32, 32) / 1024; t = x * 0; u = x
for i in range(300) {
    a = x * 0.5 + u * 2.0 + 1.0
    signal hot {
        if arg("shows", false) { print(t[0, 0]) }
        t = t * 0.9 + tanh(a) * 0.1 + t * t * 0.01
    }
    x = u * 1.5 - t * 0.001
    if i == 200 and arg("other", false) { x = x + exp(x) * 0.01 }
}
print(x.sum().item())
s = stats(); print(s["hot_instructions"] > 1000, s["fused.ops"] + s["fused.eager_ops"])
EOF
GT_AUTO_COMPILE=0 run "$TMP/loop.gt"; same "in a loop" "$(tail -n 1 "$TMP/out")" "true 2100"
GT_AUTO_COMPILE=0 run "$TMP/loop.gt" --other; same "in a loop that changes" "$(tail -n 1 "$TMP/out")" "true 2100"
# A print in the scope ends a plan there; the next instructions are still in the scope.
GT_AUTO_COMPILE=0 run "$TMP/loop.gt" --shows; same "printed in a loop" "$(tail -n 1 "$TMP/out")" "true 2100"
for knob in GT_COMPILE=0 GT_AUTO_COMPILE=0 GT_WORKER_BATCH_SIZE=1 GT_WORKER_BATCH_SIZE=2 GT_WORKER_BATCH_SIZE=1000; do
    env "$knob" "$GTSH" "$TMP/once.gt" --define yes >"$TMP/out" 2>"$TMP/err" || fail "$knob: $(err)"
    same "$knob" "$(out)" "$(cat "$TMP/plain")"
done
finish
