# The laws of DESIGN 9 on the engine cuda, on the emulated device of tests/gpu where NVRTC is installed. 1: random programs print the
# same on several workers of one device, under random signals, and however late and in whatever order the device works. 2: with and
# without fusion and plans. 3: through --emit | --replay. 5: all memory comes back. 7: whole clusters in one thread.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "the laws are not tested on the engine cuda"
n=$((6 * ${SOAK:-1})) seed=${SOAK_SEED:-3}
export TMPDIR="$TMP"
cuda() { "$GTSH" --engine cuda --memory 100M "$@"; }
"$GTSH" tests/fuzz/laws.gt --programs "$n" --start "$seed" >"$TMP/a.gt" 2>"$TMP/err" || fail "laws.gt: $(err)"
cuda "$TMP/a.gt" >"$TMP/plain" 2>"$TMP/err" || fail "plain, seed $seed: $(err)"
# world NAME COMMAND...: its output is the plain run's
world() {
    what=$1; shift
    "$@" >"$TMP/out" 2>"$TMP/err" || fail "$what, seed $seed: $(err)"
    cmp -s "$TMP/out" "$TMP/plain" || fail "$what, seed $seed: $(differ "$(out)" "$(cat "$TMP/plain")")"
}
with() { variable=$1; shift; (export "$variable"; cuda "$@"); }
through() { "$GTSH" --emit "$TMP/a.gt" | cuda --replay -; }
piped() { cuda <"$TMP/a.gt"; }
world "two workers" cuda -w 2 "$TMP/a.gt"
for s in 2 3 4; do world "another schedule" with GT_EMU_SEED=$s "$TMP/a.gt"; done
world "no plans" with GT_PLAN=0 "$TMP/a.gt"
world "op by op" with GT_FUSE=0 "$TMP/a.gt"
world "all fused" with GT_FUSE=wait "$TMP/a.gt"
world "emit | replay" through
world "standard input" piped
"$GTSH" tests/fuzz/laws.gt --programs "$n" --start "$seed" --memory >"$TMP/m.gt"
world memory cuda "$TMP/m.gt"
code shard 0 "$B/fuzz/shard" -b "$B" -n "$n" -s "$seed" -d 0 -e cuda
code sim 0 env GT_TEST_ENGINE=cuda "$B/test/sim_test" -n "$n" -s "$seed"
finish
