# Calls of the driver, of NVRTC and of cuBLASLt that fail, on the engine cuda: a sample; `make test-cuda` and `make soak` try each call.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "failing calls are not tested"
sh scripts/testfaults "$B" 97 >"$TMP/out" 2>&1 || fail "$(tail -n 20 "$TMP/out")"
has "a sample of failing calls" "$(out)" " 0 wrong"

# short FILE N: its output where the device has no memory for the N-th module.
short() { GT_EMU_FAIL=cuModuleLoadData:$2:2 "$GTSH" --engine cuda --threads 1 -w 1 --memory 2500K "$1" 2>&1; }
echo 'a = eye(40) * 4 + 1; print(solve(a, ones(40, 2)).sum().item(), cholesky(a).sum().item())' >"$TMP/solve.gt"
right=$(short "$TMP/solve.gt" 0)
for n in $(seq 30); do
    got=$(short "$TMP/solve.gt" "$n")
    [ "$got" != "$right" ] || break
    has "a linear system without kernel $n" "$got" "out of memory"
done
[ "$n" -gt 12 ] && [ "$n" -lt 30 ] || fail "a linear system took $((n - 1)) kernels"

# The second try has the memory that the first one took.
cat >"$TMP/place.gt" <<'E2'
v = zeros(500, 500).T
for k in range(2) {
    ok, got = attempt(fn() => v.argmax().item())
    if ok { print(got) } else { print(got.message) }
}
E2
for n in 2 3; do
    got=$(short "$TMP/place.gt" "$n")
    has "argmax without kernel $n" "$got" "out of memory"
    same "argmax after that" "$(echo "$got" | tail -n 1)" 0
done

# A launch for which there is no memory fails its call, or has the operations of a fusion run one by one; the device goes on.
launch() {
    GT_EMU_FAIL=cuLaunchKernel:$2:2 GT_EMU_LIVE=$TMP/live "$GTSH" --engine cuda --threads 1 -w 1 "$1" 2>&1
    has "launch $2" "$(tail -n 1 "$TMP/live")" "failed=cuLaunchKernel"
}
cat >"$TMP/sort.gt" <<'E2'
x = ones(300, 3)
for k in range(2) {
    ok, got = attempt(fn() => x.cumsum(0).sort(1)[0].sum().item())
    if ok { print(got) } else { print(got.message) }
}
E2
cat >"$TMP/fused.gt" <<'E2'
x = ones(30, 3)
for i in range(9) { x = (x * 0.5 + 1).tanh() * 2 - 1; s = x.sum().item() }
print(s)
E2
for n in 2 4 6; do
    got=$(launch "$TMP/sort.gt" "$n")
    has "without launch $n" "$got" "cuLaunchKernel: out of memory"
    same "after that" "$(echo "$got" | tail -n 1)" 135450.0
done
for n in 9 11 13; do
    got=$(launch "$TMP/fused.gt" "$n")
    same "a fusion without launch $n" "$got" "$("$GTSH" --engine cpu "$TMP/fused.gt")"
done

# A graph for which there is no memory is dropped: its calls are launched one by one (cuda_graph.sh counts them).
cat >"$TMP/graph.gt" <<'E2'
x = ones(8, 40); s = 1.0
for i in range(40) {
    x = x * s + 1
    x = x.cumsum(1) * 0.05
    s = s * 0.9
}
print(x.sum().item())
E2
graph() {
    GT_FUSE=0 GT_GRAPH=1 GT_HOTPATH_MAX_EXPAND=1 GT_EMU_FAIL=$1 GT_EMU_LIVE=$TMP/live \
        "$GTSH" --engine cuda --threads 1 -w 1 "$TMP/graph.gt" 2>&1
}
truth=$("$GTSH" --engine cpu "$TMP/graph.gt" 2>&1)
for call in cuGraphInstantiate cuGraphUpload cuGraphLaunch; do
    same "a graph without memory for $call" "$(graph "$call:1:2")" "$truth"
    has "a graph without memory" "$(tail -n 1 "$TMP/live")" "failed=$call"
done

# A copy inside a call fails it; copies to and from the host, and marks, are asked for again.
cat >"$TMP/copies.gt" <<'E2'
x = ones(300); y = zeros(200) + 2
for k in range(2) {
    ok, got = attempt(fn() => cat([x, y]).sum().item())
    if ok { print(got) } else { print(got.message) }
}
z = arange(6).reshape(2, 3).T
print(z.tolist(), z[tensor([2])].tolist())
E2
# copies FAIL: the script's output where that call fails
copies() {
    GT_EMU_FAIL=$1 GT_EMU_LIVE=$TMP/live "$GTSH" --engine cuda --threads 1 -w 1 "$TMP/copies.gt" 2>&1
    has "$1" "$(tail -n 1 "$TMP/live")" "failed=${1%%:*}"
}
right=$("$GTSH" --engine cpu "$TMP/copies.gt")
got=$(copies cuMemcpyDtoDAsync:1:2)
has "a copy without memory" "$got" "cuMemcpyDtoDAsync_v2: out of memory"
same "after that" "$(echo "$got" | tail -n 2)" "$(echo "$right" | tail -n 2)"
for call in cuMemcpyHtoDAsync:1 cuMemcpyDtoHAsync:1 cuMemcpyDtoHAsync:3 cuEventRecord:1 cuEventRecord:3; do
    same "$call without memory" "$(copies $call:2)" "$right"
done
# The kernel that reads a transposed tensor cannot be loaded: its elements are copied one by one.
anyhow=0
for n in 1 2 3 4 5 6; do
    got=$(copies cuModuleLoadData:$n:2)
    [ "$got" = "$right" ] && anyhow=$((anyhow + 1)) || has "without kernel $n" "$got" "out of memory"
    case "$got" in *"is lost"*) fail "without kernel $n: $got" ;; esac
done
same "kernels that were not needed" $anyhow 1
# A launch that the device has too few registers for is a failure of its call too.
got=$(GT_EMU_FAIL=cuLaunchKernel:4:701 "$GTSH" --engine cuda --threads 1 -w 1 "$TMP/sort.gt" 2>&1)
has "a launch without registers" "$got" "cuLaunchKernel: too many resources requested for launch"
same "after that" "$(echo "$got" | tail -n 1)" 135450.0
finish
