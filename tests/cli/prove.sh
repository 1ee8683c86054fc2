# gt-worker --prove: the engines late, cpu and reference are proved, a few draws of each; on the emulated device, where NVRTC is
# installed, the engine cuda too, and it fails where calls of the driver fail. (tests/unit/prove_test.c breaks engines.)
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
prove() { what="--prove $1" want=$2 engine=$1; shift 2; code "$what" "$want" timeout 300 "$B/gt-worker" --prove "$engine" --quick "$@"; }

for engine in late cpu reference; do
    prove $engine 0
    [ "$(grep -c ' passed  ' "$TMP/out")" -ge 5 ] || fail "--prove $engine: $(out)"
    has "--prove $engine" "$(out)" "operations   passed"
done
cp "$TMP/out" "$TMP/first"
prove reference 0 --seed 7
[ "$(sed 's/,[^,]*s$//' "$TMP/out")" != "$(sed 's/,[^,]*s$//' "$TMP/first")" ] || fail "--seed 7 draws what seed 1 draws"

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
