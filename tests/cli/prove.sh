# gt-worker --prove: the engines late, cpu and reference are proved, a few draws of each; on the emulated device, where NVRTC is
# installed, the engine cuda too, and it fails where calls of the driver fail. (tests/unit/prove_test.c breaks engines.)
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
prove() { what="--prove $1" want=$2 engine=$1; shift 2; code "$what" "$want" timeout 900 "$B/gt-worker" --prove "$engine" --quick "$@"; }

for engine in late cpu reference; do
    prove $engine 0
    [ "$(grep -c ' passed  ' "$TMP/out")" -ge 5 ] || fail "--prove $engine: $(out)"
    has "--prove $engine" "$(out)" "operations   passed"
done
cp "$TMP/out" "$TMP/first"
prove reference 0 --seed 7
[ "$(sed 's/,[^,]*s$//' "$TMP/out")" != "$(sed 's/,[^,]*s$//' "$TMP/first")" ] || fail "--seed 7 draws what seed 1 draws"

# --prove cuda, on the emulated device.
left_out="NVRTC is not installed"
case "$B" in *asan* | *tsan* | *ubsan*) left_out="a sanitizer watches" GT_NVRTC=none ;; esac
if find_nvrtc "$B"; then
    prove cuda 0
    [ "$(grep -c ' passed  ' "$TMP/out")" = 6 ] || fail "--prove cuda: $(out)"
    export GT_EMU_FAIL=cuLaunchKernel:9:719
    prove cuda 1
    [ "$(grep -c 'the device is lost: cuLaunchKernel' "$TMP/out")" = 6 ] || fail "--prove cuda on a device that is lost: $(out)"
    unset GT_EMU_FAIL
else
    echo "prove: $left_out: the engine cuda is not proved"
fi

code "null" 2 "$B/gt-worker" --prove null; has null "$(err)" "computes no values"
code "cup" 2 "$B/gt-worker" --prove cup; has cup "$(err)" "there is no engine 'cup'"
code "--quick alone" 2 "$B/gt-worker" --quick; has "--quick alone" "$(err)" "--quick is for --prove"
code "--engine too" 2 "$B/gt-worker" --prove late --engine cpu; has "--engine too" "$(err)" "not both"

# Ctrl-C
"$B/gt-worker" --prove late >"$TMP/out" 2>"$TMP/err" &
pid=$!
poll grep -q operations "$TMP/out"
kill -INT $pid
wait $pid
rc=$?
[ $rc = 130 ] || fail "Ctrl-C: exit code $rc"
has "Ctrl-C" "$(out)" " stopped "
finish
