# A compiler that hangs, ignores SIGTERM, spins, or floods its output is ended and reported once with the reason. The
# program continues without new kernels, GT_FUSE=wait waits no longer than the limit, and no file or process is left.
. tests/fixtures/check.sh
GT_SHIPPED_KERNELS=0; export GT_SHIPPED_KERNELS
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
GT_FUSE=wait GT_CC_SECONDS=1; export GT_FUSE GT_CC_SECONDS
cat >"$TMP/k.gt" <<'EOF'
seed(1); x = rand(64, 64)
y = tanh(x * 2.0 + 1.0); w = exp(y); sync()
z = exp(x * 3 + 2).sum(0); q = (x - 1).abs() * 2; sync()
print(y.sum().item(), w.sum().item(), z.sum().item(), q.sum().item())
debug.print_kernel(z)
s = stats(); if "jit.failed" in s { print("jit", s["jit.compiled"], s["jit.cached"], s["jit.pending"], s["jit.failed"] > 0) }
EOF
values=$(GT_FUSE=0 "$GTSH" "$TMP/k.gt" | head -1)
# over_limit NAME WORDS LINE...: a compiler of these lines
over_limit() {
    name=$1 words=$2
    shift 2
    printf '%s\n' '#!/bin/sh' "echo \$\$ >'$TMP/pid'" "$@" >"$TMP/$name"; chmod +x "$TMP/$name"
    GT_CC=$TMP/$name XDG_CACHE_HOME=$TMP/cache-$name "$GTSH" "$TMP/k.gt" >"$TMP/out" 2>"$TMP/err" ||
        fail "$name: exit code $?"
    same "$name: values" "$(head -1 "$TMP/out")" "$values"
    has "$name, reported" "$(err)" "no more kernels are compiled: '$TMP/$name' $words"
    same "$name: reported once" "$(grep -c COMPILE "$TMP/err")" 1
    has "$name, :kernel" "$(out)" "it could not be made: '$TMP/$name' $words"
    same "$name: figures" "$(tail -1 "$TMP/out")" "jit 0 0 0 true"
    same "$name: what is left" "$(ls "$TMP/cache-$name/gt")" ""
    kill -0 "$(cat "$TMP/pid")" 2>/dev/null && fail "$name: it runs on"
}
late="did not finish within 1 s"
over_limit hangs "$late" 'exec sleep 3600'
over_limit deaf "$late" "trap '' TERM" 'while :; do sleep 1; done'
over_limit spins "$late" 'while :; do :; done'
over_limit floods "printed more than 1024 KiB" 'exec yes'
over_limit complains "printed more than 1024 KiB" 'exec yes >&2'
# A compiler that floods while nothing waits for it: the program ends as always.
GT_FUSE=1 GT_CC=$TMP/floods XDG_CACHE_HOME=$TMP/cache-flood code "floods, not waited for" 0 "$GTSH" -c '
signal.define("c", compile=true); x = rand(64, 64)
signal c { for i in range(200) { y = tanh(x * 2.0 + 1.0); sync() } }; print(y.shape)'
# A compiler below its time limit that ignores SIGTERM ends with the program.
rm "$TMP/pid"
GT_FUSE=1 GT_CC=$TMP/deaf GT_CC_SECONDS=3600 XDG_CACHE_HOME=$TMP/cache-deaf code "deaf, at the end" 0 "$GTSH" -c '
signal.define("c", compile=true); signal c { y = tanh(rand(64, 64) * 2.0 + 1.0); sync() }; sleep(0.5)'
kill -0 "$(cat "$TMP/pid")" 2>/dev/null && fail "deaf, at the end: it runs on"
# Kernels on disk are found all the same.
printf '%s\n' '#!/bin/sh' "[ -e '$TMP/was' ] && exec sleep 3600" "touch '$TMP/was'" 'exec cc "$@"' >"$TMP/once"; chmod +x "$TMP/once"
cat >"$TMP/two.gt" <<'EOF'
x = rand(64, 64); y = tanh(x * 2.0 + 1.0); sync(); z = exp(x * 3 + 2) - 1; sync()
s = stats(); print(s["jit.compiled"], s["jit.cached"], s["jit.failed"], s["fused.launches"])
EOF
GT_CC=$TMP/once XDG_CACHE_HOME=$TMP/cache-once GT_CC_SECONDS=600; export GT_CC XDG_CACHE_HOME GT_CC_SECONDS
"$GTSH" -c 'x = rand(64, 64); y = tanh(x * 2.0 + 1.0); sync()'
GT_CC_SECONDS=1
same "one on disk" "$("$GTSH" "$TMP/two.gt" 2>/dev/null)" "0 1 1 1"
finish
