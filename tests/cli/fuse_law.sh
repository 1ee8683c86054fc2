# Law 2: fused is eager, bit for bit: random programs with kernels that become ready at any moment, damaged caches, and
# processes that share one (tests/fuzz/fuse.c). `make fuzz-fuse N=500` runs more; LAW_SEED says which.
. tests/fixtures/check.sh
TMPDIR=$TMP; export TMPDIR
seed=${LAW_SEED:-$(date +%s)}
timeout 100 "$B/fuzz/fuse" -n 2 -l 90 -s "$seed" >"$TMP/out" 2>&1 || fail "$B/fuzz/fuse -n 2 -l 90 -s $seed: $(out)"
tail -n 2 "$TMP/out"
same "nothing is left behind" "$(ls "$TMP" | grep '^fuse')" ""
finish
