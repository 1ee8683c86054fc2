# Fusion never changes a bit: random programs with kernels that become ready at any moment, damaged caches, and
# processes that share a cache (tests/fuzz/fuse.c). `make soak` and `make fuzz-fuse N=500` run more.
. tests/fixtures/check.sh
seed=${SOAK_SEED:-1} n=$((2 * ${SOAK:-1}))
"$B/fuzz/fuse" -n $n -l 60 -s "$seed" >"$TMP/out" 2>&1 || fail "$B/fuzz/fuse -n $n -l 60 -s $seed: $(out)"
tail -n 2 "$TMP/out"
same "nothing is left behind" "$(ls "$TMP" | grep '^fuse')" ""
finish
