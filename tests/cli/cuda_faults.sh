# Calls of the driver, of NVRTC and of cuBLASLt that fail, on the engine cuda: a sample; `make test-cuda` and `make soak` try each call.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "failing calls are not tested"
sh scripts/testfaults "$B" 97 >"$TMP/out" 2>&1 || fail "$(tail -n 20 "$TMP/out")"
has "a sample of failing calls" "$(out)" " 0 wrong"
finish
