# The engine cuda's devices on the emulated driver of tests/gpu, where NVRTC is installed: what users see of them, and of those that
# are missing, too old, taken, full or lost.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "the devices of the engine cuda are not tested"
keep_ptx "$TMP/ptx"
add='x = ones(3) + 1; print(x)'
# sentence WHAT TEXT NAME=VALUE...: with these variables a script ends with that sentence.
sentence() {
    what=$1 text=$2
    shift 2
    code "$what" 69 env "$@" "$GTSH" --engine cuda -c "$add"
    has "$what" "$(err)" "error: worker w0 could not start: $text"
}
sentence "no device is visible" "no CUDA device is visible: CUDA_VISIBLE_DEVICES is ''" CUDA_VISIBLE_DEVICES=
has "no device is visible" "$(err)" "hint: empty, it hides all of them: unset it"
sentence "nonsense" "no CUDA device is visible: CUDA_VISIBLE_DEVICES is 'gpu'" CUDA_VISIBLE_DEVICES=gpu
sentence "a device that is not there" "no CUDA device is visible: CUDA_VISIBLE_DEVICES is '1'" CUDA_VISIBLE_DEVICES=1
has "nonsense" "$(err)" 'hint: unset it, or list devices by their numbers (0,1) or by the names that `nvidia-smi -L` lists'
sentence "a name that no device has" "no CUDA device is visible: CUDA_VISIBLE_DEVICES is 'GPU-8932f937'" CUDA_VISIBLE_DEVICES=GPU-8932f937
has "a name that no device has" "$(err)" 'hint: `nvidia-smi -L` lists the names of devices'
sentence "no device" "the NVIDIA driver finds no device" GT_EMU_DEVICES=0
sentence "a device that is taken" "Emulated GPU is in exclusive mode, and another process has it" GT_EMU_MODE=taken
sentence "a prohibited device" "Emulated GPU is in the mode that lets no process use it" GT_EMU_MODE=prohibited
for mode in default taken; do
    sentence "a context without memory" "Emulated GPU has no memory left for another worker" GT_EMU_MODE=$mode \
        GT_EMU_FAIL=cuDevicePrimaryCtxRetain:1:2
    sentence "no context" "Emulated GPU cannot be used: cuDevicePrimaryCtxRetain: " GT_EMU_MODE=$mode \
        GT_EMU_FAIL=cuDevicePrimaryCtxRetain:1:999
done
sentence "a busy device" "Emulated GPU cannot be used: cuDevicePrimaryCtxRetain: " GT_EMU_FAIL=cuDevicePrimaryCtxRetain:1:46
sentence "an old device" "Emulated GPU has compute capability 7.5, and 8.0 or newer is needed" GT_EMU_CAPABILITY=75
has "an old device" "$(err)" "hint: CUDA_VISIBLE_DEVICES chooses another one; --engine cpu needs none"
sentence "a full device" "Emulated GPU has only 3.8 MiB of free memory" GT_EMU_MEMORY=4000000
sentence "no driver" "no NVIDIA driver: libcuda.so.1 is not there" GT_CUDA_LIBRARIES=/nowhere
mkdir "$TMP/torn"
echo torn >"$TMP/torn/libcuda.so.1"
sentence "a driver that cannot be loaded" "the NVIDIA driver cannot be loaded: $TMP/torn/libcuda.so.1: " GT_CUDA_LIBRARIES="$TMP/torn"
# Libraries that lack functions of a driver.
mkdir "$TMP/none" "$TMP/some"
echo 'int nothing;' >"$TMP/none.c"
cat >"$TMP/some.c" <<'E'
int cuInit(unsigned flags) { return (int)flags; }
int cuGetErrorName(int code, const char **text) { return *text = "", code; }
int cuGetErrorString(int code, const char **text) { return *text = "", code; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
E
for f in none some; do ${CC:-cc} -shared -fPIC -o "$TMP/$f/libcuda.so.1" "$TMP/$f.c" || fail "$f.c does not compile"; done
sentence "a library that is no driver" "libcuda.so.1 is no NVIDIA driver: it has no cuInit" GT_CUDA_LIBRARIES="$TMP/none"
has "a library that is no driver" "$(err)" "hint: --engine cpu needs none; GT_CUDA_LIBRARIES names more folders"
sentence "a part of a driver" "the NVIDIA driver, of CUDA 13.0, has no cuDeviceGetCount" GT_CUDA_LIBRARIES="$TMP/some"
sentence "an old driver" "the NVIDIA driver is of CUDA 11.4, and 12.0 or newer is needed" GT_EMU_VERSION=11040
sentence "NVRTC 13 with a driver of 12" "NVRTC is of CUDA 13.0, which is newer than the driver's 12.4" GT_EMU_VERSION=12040
sentence "NVRTC 13.1 with a driver of 13.0" "NVRTC 13.1 does not know Emulated GPU (compute capability 12.9), and its PTX is too new for \
the driver, which is of CUDA 13.0" GT_EMU_NVRTC=13010 GT_EMU_VERSION=13000
# The toolkit's stub of a driver, where the toolkit is: each of its functions gives error 34.
for stub in /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/targets/*/lib/stubs/libcuda.so; do
    [ -e "$stub" ] && mkdir -p "$TMP/stub" && ln -sf "$stub" "$TMP/stub/libcuda.so.1"
done
if [ -e "$TMP/stub" ]; then
    sentence "a stub" "libcuda.so.1 is the toolkit's stub, which computes nothing" GT_CUDA_LIBRARIES="$TMP/stub"
else
    echo "cuda: the toolkit's stubs are not installed: one is not tested"
fi
code "a newer driver" 0 env GT_EMU_VERSION=14010 "$GTSH" --engine cuda -c "$add"
same "a newer driver" "$(out)" "tensor([2., 2., 2.])"
# NVRTC 12 is taken where both are there and the driver is of 12.
mkdir "$TMP/both"
ln -s "$GT_EMU_PTX/libnvrtc.so.13" "$TMP/both/libnvrtc.so.12"
code "NVRTC 12" 0 env GT_CUDA_LIBRARIES="$TMP/both:$GT_CUDA_LIBRARIES" GT_EMU_VERSION=12040 GT_EMU_NVRTC=12040 \
    "$GTSH" --engine cuda -c "$add; print(debug.get_worker_stats()[\"w0\"][\"isa\"])"
same "NVRTC 12" "$(out)" "tensor([2., 2., 2.])
cuda-sm129-8-nvrtc12.4"

# Workers and devices: one each, several on one, and what users see.
echo 'x = ones(3) + 1
x.info()
:workers' > "$TMP/typed"
devices() { env "$@" "$GTSH" -i --engine cuda <"$TMP/typed" 2>"$TMP/err"; }
line="tensor[3] f32 12B x∈[2, 2] μ=2 σ=0 nan=0"
table="WORKER  ENGINE     THREADS  MEMORY                TENSORS  INSTRUCTIONS  QUEUE  DEVICE"
export GT_EMU_MEMORY=200000000
devices GT_EMU_DEVICES=1 >"$TMP/out"
has "one device" "$(out)" "$line on Emulated GPU (0)"
has "one device" "$(out)" "$table"
has "one device" "$(out)" "  Emulated GPU (0), 47 °C, 12 % busy"
# Which of several gets which rank depends on the order in which they connect.
shape() { sed -n 's/^w[0-9] .* of \([0-9]* MiB\) .*  Emulated GPU (\([0-9]\)), .*/\2: \1/p' | sort | tr '\n' ,; }
workers() { n=$1; shift; env "$@" "$GTSH" -i -w "$n" --engine cuda <"$TMP/typed" 2>"$TMP/err" | shape; }
same "three workers on two devices" "0: 76 MiB,0: 76 MiB,1: 153 MiB," "$(workers 3 GT_EMU_DEVICES=2)"
same "devices in another order" "0: 153 MiB,1: 153 MiB," "$(workers 2 GT_EMU_DEVICES=3 CUDA_VISIBLE_DEVICES=2,0)"
same "up to the first that is none" "0: 76 MiB,0: 76 MiB," "$(workers 2 GT_EMU_DEVICES=3 CUDA_VISIBLE_DEVICES=1,7,0)"
code "more workers than memory" 69 "$GTSH" --engine cuda -w 3 --memory 80M -c "$add"
has "more workers than memory" "$(err)" "could not start: Emulated GPU has too little free memory: 8"
code "a share that is too small" 69 "$GTSH" --engine cuda -w 50 -c "$add"
has "a share that is too small" "$(err)" "hint: 50 workers are to share it"
# A number that no device has is an error for a worker by itself, also for a proof, which says once why it cannot begin.
code "a device that is not there" 1 env GT_EMU_DEVICES=2 "$B/gt-worker" --once --wait 1 --engine cuda --device 9 -d "ipc://$TMP/none"
same "a device that is not there" "$(out)$(err)" "gt-worker: there is no device 9: the NVIDIA driver shows 2
  hint: --device 0 to 1"
code "a proof on it" 1 "$B/gt-worker" --prove cuda --quick --device 9
same "a proof on it" "$(out)$(err)" "gt-worker: there is no device 9: the NVIDIA driver shows 1
  hint: --device 0 is the only one"
code "a proof without a driver" 1 env GT_CUDA_LIBRARIES=/nowhere "$B/gt-worker" --prove cuda
same "a proof without a driver" "$(out)$(err | head -n 1)" "gt-worker: no NVIDIA driver: libcuda.so.1 is not there"
# All workers of a dispatcher find no driver: it says so once.
code "workers without a driver" 1 env GT_CUDA_LIBRARIES=/nowhere "$B/gt-dispatcher" --ipc "$TMP/socket" -w 3 --engine cuda
same "workers without a driver" "$(out)$(err | sed 's/process [0-9]* /process N /')" "gt-worker: no NVIDIA driver: libcuda.so.1 is not there
  hint: --engine cpu needs none; GT_CUDA_LIBRARIES names more folders to look in
gt-dispatcher: worker process N ended with exit code 1
gt-dispatcher: a worker could not start"
# Without NVML the rest is shown.
mkdir "$TMP/less"
for f in "$B"/test/gpu/*libcuda.so.1 "$B/test/gpu/nvrtc/libnvrtc.so.13"; do ln -s "$(cd "$(dirname "$f")" && pwd)/$(basename "$f")" "$TMP/less"; done
GT_CUDA_LIBRARIES=$TMP/less "$GTSH" -i --engine cuda <"$TMP/typed" >"$TMP/out" 2>"$TMP/err"
has "no NVML" "$(out)" "Emulated GPU (0)"
case "$(out)" in *busy*) fail "no NVML: it is shown as busy" ;; esac

# Workers of a process copy from each other's memory on the device, or between devices that reach each other; else through the host.
# The bits are those of the engine cpu.
cat > "$TMP/split.gt" <<'E'
seed(5)
signal.define("s", axis=0); signal.define("r", replicated=true)
a = randn(64, 48)
signal s { x = a * 2 + 1; y = (x.T @ x) }
signal r { z = y + 1; t = x.sum(0); u = x[5:40, 3:9].relu() }
print(z.sum().item(), t[3].item(), u.sum().item(), y[3, 4].item())
b = [0]
for i in range(4) { signal s { x = x * 0.5 + a; y = x.T @ x }; signal r { w = y * 2; b.append(w.sum().item()) } }
print(b[1:])
st = debug.get_worker_stats()
print("direct", sum([st[w]["direct_bytes"] for w in st.keys()]) > 0)
E
"$GTSH" --engine cpu -w 3 "$TMP/split.gt" >"$TMP/cpu" 2>&1
for v in GT_EMU_DEVICES=1 GT_EMU_DEVICES=3 GT_EMU_PEERS=0; do
    code "peers, $v" 0 env GT_EMU_DEVICES=3 $v GT_EMU_LIVE="$TMP/live" "$GTSH" --engine cuda --memory 30M -w 3 "$TMP/split.gt"
    is_direct=true
    [ $v = GT_EMU_PEERS=0 ] && is_direct=false
    same "peers, $v" "$(sed "s/direct false/direct $is_direct/" "$TMP/cpu")" "$(out)$(err)"
    has "peers, $v" "$(tail -n 1 "$TMP/live")" "contexts=0 streams=0 events=0 modules=0 graphs=0 pinned=0 memory=0"
done

# Out of memory says what takes it, and touches no other client of the device; nor does a bad index.
. tests/fixtures/daemons.sh
GT_EMU_DEVICES=2 start d "$D" -w 2 --engine cuda
await "$TMP/d.out" "ready at"
echo 'a = ones(3) + 1
:workers' > "$TMP/typed"
same "workers of a dispatcher" "0: 153 MiB,1: 153 MiB," "$("$GTSH" -i -d local <"$TMP/typed" 2>/dev/null | shape)"
has_device() { "$B/gt-top" --once >"$TMP/out" 2>&1 && case "$(out)" in *"Emulated GPU (1)"*) ;; *) false ;; esac; }
COLUMNS=250
export COLUMNS
poll has_device || fail "gt-top names no device: $(out)"
has "gt-top" "$(out)" "DEVICE"
has "gt-top" "$(out)" " MiB  47 °C   12 %"
unset COLUMNS
kill $pid; wait $pid 2>/dev/null
start d "$D"
await "$TMP/d.out" "ready at"
d=$pid
GT_EMU_DEVICES=2 start w "$B/gt-worker" --engine cuda --device 1 --memory 20M --once
await "$TMP/w.out" "(cuda-sm129-8-nvrtc13.0, Emulated GPU (1), "
kill $pid $d; wait $pid $d 2>/dev/null
start d "$D" -w 1 --engine cuda --memory 20M
await "$TMP/d.out" "ready at"
mkfifo "$TMP/keys"
exec 3<>"$TMP/keys"
"$GTSH" -d local -i <"$TMP/keys" >"$TMP/one.out" 2>"$TMP/one.err" &
all="$all $!"
echo 'x = arange(5).float() * 2; print("first", x.sum())' >&3
await "$TMP/one.out" "first tensor(20.)"
code "out of memory" 1 "$GTSH" -d local -c 'big = ones(1000, 1000); small = ones(10); c = [ones(1000, 1000) + i for i in range(9)]; print(c[8].sum())'
has "out of memory" "$(err)" "out of memory"
has "out of memory" "$(err)" "hint: largest here: (1000, 1000) f32 3.8 MiB from -c:1"
code "a bad index" 1 "$GTSH" -d local -c 'y = randn(5); z = y[tensor([1, 7])] + 1; print(z)'
has "a bad index" "$(err)" "index 7 at position 1 is out of range for axis 0 of size 5"
echo 'y = x[tensor([1, 4])] + 1; print("second", x.sum(), y)' >&3
await "$TMP/one.out" "second tensor(20.) tensor"
exec 3>&-
kill $pid; wait $pid 2>/dev/null

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
GT_EMU_FAIL=cuLaunchKernel:2:700 start d "$D" -w 1 --engine cuda --memory 100M
await "$TMP/d.out" "ready at"
code "a lost device of a daemon" 69 "$GTSH" -d local -c 'x = ones(3) + 1; print(x)'
has "a lost device of a daemon" "$(err)" "worker w0 is gone, and with it 1 tensor: it ended with exit code 1"
await "$TMP/d.err" "gt-worker: the device is lost: cuLaunchKernel: an illegal memory access"
finish
