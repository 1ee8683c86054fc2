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

code "null" 2 "$B/gt-worker" --prove null; has null "$(err)" "computes no values"
code "cup" 2 "$B/gt-worker" --prove cup; has cup "$(err)" "there is no engine 'cup'"
code "--quick alone" 2 "$B/gt-worker" --quick; has "--quick alone" "$(err)" "--quick is for --prove"
code "--engine too" 2 "$B/gt-worker" --prove late --engine cpu; has "--engine too" "$(err)" "not both"

# --engine auto, the default: cpu where nothing was proved, and it says so.
cat > "$TMP/workers.gt" <<'E'
x = ones(2) + 1
print(x)
debug.print_workers()
E
code "auto" 0 "$GTSH" "$TMP/workers.gt"
has "auto" "$(out)" "engine auto: cpu, no device was proved here"
code "cpu" 0 "$GTSH" --engine cpu "$TMP/workers.gt"
case $(out) in *auto*) fail "--engine cpu speaks of auto: $(out)" ;; esac

# record DEVICE DRIVER BUILD: a record by hand, as a proof that passed writes it
proofs=$TMP/state/gt/proofs
XDG_STATE_HOME=$TMP/state
export XDG_STATE_HOME
record() {
    rm -rf "$proofs"
    mkdir -p "$proofs"
    printf 'gt-proof 1\nengine cuda\ndevice %s\ncapability 12.9\ndriver %s\ntoolkit %s\nbuild %s\nseed 1\npassed 2026-11-28T17:44:21Z\n' \
        "$1" "$2" "$toolkit" "$3" >"$proofs/cuda-0123456789abcdef"
    chmod 600 "$proofs/cuda-0123456789abcdef"
}
# auto WHAT TEXT: the default engine, and why
auto() { code "$1" 0 "$GTSH" "$TMP/workers.gt"; has "$1" "$(out)" "tensor([2., 2.])"; has "$1" "$(out)" "engine auto: $2"; }
build=$(sed -n 's/^build *//p' "$TMP/first")
toolkit="NVRTC 13.0"
record "Some GPU" "CUDA 13.0" 0123456789abcdef
auto "another build" "cpu, Some GPU was proved by another build"
record "Some GPU" "CUDA 13.0" "$build"
GT_CUDA_LIBRARIES=/none auto "no driver" "cpu, "
printf x >>"$proofs/cuda-0123456789abcdef"
auto "a damaged record" "cpu, no device was proved here"
record "Some GPU" "CUDA 13.0" "$build"
chmod 666 "$proofs/cuda-0123456789abcdef"
auto "a record that others can write" "cpu, no device was proved here"

# Ctrl-C
"$B/gt-worker" --prove late >"$TMP/out" 2>"$TMP/err" &
pid=$!
poll grep -q operations "$TMP/out"
kill -INT $pid
wait $pid
rc=$?
[ $rc = 130 ] || fail "Ctrl-C: exit code $rc"
has "Ctrl-C" "$(out)" " stopped "

# On the emulated device: a proof that passes, of which a quick one leaves no record; records of another device, of another driver
# and of this one; a device that cannot be opened; and a proof that fails because a call of the driver does: it removes the record.
need_nvrtc "the engine cuda is not proved"
rm -rf "$proofs"
prove cuda 0
has "the device" "$(out)" "Emulated GPU, compute capability 12.9"
for part in operations products fusions streams memory indices copies graphs peers; do
    grep -q "^$part *passed " "$TMP/out" || fail "--prove cuda: $part: $(out)"
    has "a part begins" "$(err)" "$part: part "
done
grep -q "^peers .* [1-9][0-9]* moves between two engines, [1-9][0-9]* through the host, [1-9][0-9]* from another process, " "$TMP/out" ||
    fail "--prove cuda: peers: $(out)"
grep -q "^large *- .*for lack of memory: more than 2^31 elements need 5.0 GiB on the device" "$TMP/out" || fail "--prove cuda: large: $(out)"
has "the library" "$(out)" "that set_precision allows, by cuBLASLt "
[ ! -e "$proofs" ] || fail "a quick proof leaves a record"
driver=$(sed -n 's/^driver *//p' "$TMP/out") toolkit=$(sed -n 's/^toolkit *//p' "$TMP/out")
# The record of a proof that passed is what auto looks for: for this, a quick one leaves it.
GT_PROVE_RECORD=1 prove cuda 0
has "the end" "$(out)" "passed: --engine auto now takes cuda on this device ($proofs/cuda-"
grep -q "^seed 1 quick$" "$proofs"/cuda-* || fail "the record does not say that the proof was quick: $(cat "$proofs"/cuda-*)"
GT_EMU_MEMORY=268435456 prove cuda 1
same "a full device" "$(out)$(err)" "gt-worker: Emulated GPU has too little free memory: 258 MiB are needed, 256 MiB are free
  hint: a proof needs that much; nvidia-smi lists what else uses the device"
auto "a device that was just proved" "cuda, Emulated GPU was proved on $(date -u +%Y-%m-)"
record "Some GPU" "$driver" "$build"
auto "another device" "cpu, Emulated GPU was not proved"
record "Emulated GPU" "CUDA 12.1" "$build"
auto "another driver" "cpu, Emulated GPU was proved with the driver CUDA 12.1, and this is $driver"
record "Emulated GPU" "$driver" "$build"
auto "this device" "cuda, Emulated GPU was proved on 2026-11-28"
GT_CUDA_BLAS=1 auto "products by another library" "cpu, Emulated GPU was proved with $toolkit, and this is $toolkit, cublas"
GT_EMU_FAIL=cuMemAlloc:1:2 auto "a device without memory" "cpu, cuda cannot be used: "
GT_EMU_FAIL=cuLaunchKernel:9:719
export GT_EMU_FAIL
prove cuda 1
[ "$(grep -c "the device is lost: cuLaunchKernel: " "$TMP/out")" = 9 ] || fail "a call fails: $(out)"
has "a call fails" "$(out)" "FAILED: the engine cuda is not proved here"
[ -z "$(ls "$proofs")" ] || fail "a proof that failed leaves the record: $(ls "$proofs")"
finish
