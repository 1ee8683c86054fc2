# Calls of the driver, of NVRTC and of cuBLASLt that fail, on the engine cuda: a sample; `make test-cuda` and `make soak` try each call.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
left_out="cuda: NVRTC is not installed"
case "$B" in *asan* | *tsan* | *ubsan*) [ "${GT_EMU_PTX:-}" ] || left_out="cuda: a sanitizer watches" GT_NVRTC=none ;; esac
find_nvrtc "$B" || { echo "$left_out: failing calls are not tested"; finish; exit 0; }
sh scripts/testfaults "$B" 97 >"$TMP/out" 2>&1 || fail "$(tail -n 20 "$TMP/out")"
has "a sample of failing calls" "$(out)" " 0 wrong"
finish
