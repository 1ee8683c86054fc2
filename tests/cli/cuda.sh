# The engine cuda on the emulated device of tests/gpu, where NVRTC is installed: all rows of ops.def against the engine cpu, bit
# for bit but for what ops_test.c names, a few draws of each; `make test-cuda` makes all draws.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "the engine cuda is not tested"
GT_TEST_ENGINE=cuda GT_TEST_EVERY=15 "$B/test/ops_test" > "$TMP/ops" 2>&1 || fail "ops_test: $(grep -v '^ok' "$TMP/ops" | tail -n 12)"
finish
