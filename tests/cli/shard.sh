# Sharding never changes results: random programs print the same under random configurations of their signals, and their
# tensors are placed as an oracle predicts (tests/fuzz/shard.c). 25 in `make test`, others in `make soak` and `make
# fuzz-shard`.
. tests/fixtures/check.sh
export TMPDIR="$TMP"
code shard 0 "$B/fuzz/shard" -b "$B" -n "$((25 * ${SOAK:-1}))" -s "${SOAK_SEED:-1}" -d 5
finish
