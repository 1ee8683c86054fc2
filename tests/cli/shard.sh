# Law 1: random programs print the same under random configurations of their signals, and their tensors lie where an
# oracle says (tests/fuzz/shard.c). FUZZ_PROGRAMS and FUZZ_SEED say how many and which.
. tests/fixtures/check.sh
export TMPDIR="$TMP"
code shard 0 "$B/fuzz/shard" -b "$B" -n "${FUZZ_PROGRAMS:-40}" -s "${FUZZ_SEED:-1}" -d 5
finish
