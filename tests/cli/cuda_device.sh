# The engine cuda's devices on the emulated driver of tests/gpu, where NVRTC is installed: what users see of them, and of those that
# are missing, too old, taken, full or lost.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
left_out="cuda: NVRTC is not installed"
case "$B" in *asan* | *tsan* | *ubsan*) left_out="cuda: a sanitizer watches" GT_NVRTC=none ;; esac
find_nvrtc "$B" || { echo "$left_out: the devices of the engine cuda are not tested"; finish; exit 0; }

# A call of the driver that fails, at each of several places: an error or the right numbers, never others.
for lost in cuLaunchKernel:3:700 cuEventRecord:2:700 cuMemcpyDtoHAsync:1:700 cuEventQuery:1:700; do
    GT_EMU_FAIL=$lost timeout 60 "$GTSH" --engine cuda --memory 100M -c 'x = ones(3) + 1; print(x); y = x * 2; print(y.sum().item())' >"$TMP/out" 2>"$TMP/err"
    rc=$?
    case "$rc $(out)" in
    "0 tensor([2., 2., 2.])
12.0") ;;
    0* | *0.*) fail "$lost: $rc, $(out)" ;;
    *) has "$lost" "$(err)" "cu" ;;
    esac
done
# A worker of the prompt's own process whose device is lost ends alone: the prompt and its variables stay. A daemon says why.
printf 'a = 5\nx = ones(3) + 1\nprint(x)\nprint(a + 1)\nprint(x)\n' > "$TMP/typed"
GT_EMU_FAIL=cuLaunchKernel:2:700 timeout 60 "$GTSH" -i --engine cuda --memory 100M <"$TMP/typed" >"$TMP/out" 2>"$TMP/err"
has "a lost device" "$(err)" "worker w0 is gone, and with it 1 tensor: the device is lost: cuLaunchKernel: an illegal memory access"
has "a lost device" "$(err)" "hint: start gt-dispatcher -w 1, then :connect local"
same "variables after a lost device" 6 "$(out)"
. tests/fixtures/daemons.sh
GT_EMU_FAIL=cuLaunchKernel:2:700 start d "$D" -w 1 --engine cuda --memory 100M
await "$TMP/d.out" "ready at"
code "a lost device of a daemon" 69 "$GTSH" -d local -c 'x = ones(3) + 1; print(x)'
has "a lost device of a daemon" "$(err)" "worker w0 is gone, and with it 1 tensor: it ended with exit code 1"
await "$TMP/d.err" "gt-worker: the device is lost: cuLaunchKernel: an illegal memory access"
finish
