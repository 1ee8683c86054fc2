# Plans of the engine cuda as graphs, on the emulated device of tests/gpu where NVRTC is installed: numbers that change from step
# to step (a rate, a constant, random keys, bounds), memory beside the operands; random bodies and random fusions. All bits are
# those of the engine cpu.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "graphs are not tested"
cat > "$TMP/step.gt" <<'E'
seed(5)
x = randn(40, 24); w = param(randn(24, 8) * 0.2); b = param(zeros(8)); rate = 0.5
for i in range(60) {
    h = (x @ w + b).gelu() * (rand(40, 8) > 0.2)
    loss = (h.softmax() ** 2).mean()
    backward loss
    for p in [w, b] { p -= rate * p.grad; p.grad = none }
    rate = rate * 0.9
}
print(loss.item(), w.sum().item(), b.tolist())
E
cat > "$TMP/kinds.gt" <<'E'
seed(5)
x = randn(8, 5000); y = randn(6, 500); scale = 1.0; total = zeros(1)
for i in range(60) {
    a = (x * scale + 0.25).square().sum(1) / 3
    d = y * (rand(6, 500) > 0.3) + full([6, 500], scale * 2) + randint(0, 5 + i // 10, [6, 500])
    h = (x.to(bfloat16) * 2).cumsum(1).sum()
    total = total * 0.5 + a.sum() + d.softmax().sum(0).max() + d.sum() + h.float()
    scale = scale * 0.97
}
print(total.item(), a.sum().item(), d.sum().item())
E
for f in step kinds; do
    cp "$TMP/$f.gt" "$TMP/$f.stats.gt"
    echo 'print(stats()["w0.plan.graph_launches"] > 4)' >>"$TMP/$f.stats.gt"
    truth=$("$GTSH" --engine cpu "$TMP/$f.gt" 2>&1)
    code "$f" 0 env GT_GRAPH=2 "$GTSH" --engine cuda --memory 100M "$TMP/$f.stats.gt"
    same "$f" "$(out)" "$truth
true"
    code "$f, no graphs" 0 env GT_GRAPH=0 "$GTSH" --engine cuda --memory 100M "$TMP/$f.stats.gt"
    same "$f, no graphs" "$(out)" "$truth
false"
done
# The library of products is called between graphs.
plain=$(GT_CUDA_BLAS=1 GT_GRAPH=0 "$GTSH" --engine cuda --memory 100M "$TMP/step.gt" 2>&1)
code "cuBLASLt" 0 env GT_CUDA_BLAS=1 GT_GRAPH=2 "$GTSH" --engine cuda --memory 100M "$TMP/step.stats.gt"
same "cuBLASLt" "$(out)" "$plain
true"
# A graph that cannot be brought up to date is dropped, and its calls are launched one by one.
truth=$("$GTSH" --engine cpu "$TMP/kinds.gt" 2>&1)
code "a call that fails" 0 env GT_GRAPH=2 GT_EMU_FAIL=cuGraphExecKernelNodeSetParams:5:2 "$GTSH" --engine cuda --memory 100M "$TMP/kinds.gt"
same "a call that fails" "$(out)" "$truth"
export GT_TEST_ENGINE=cuda GT_CUDA_BLAS=0
# A call that fails: how many graphs are made of a body then, and how often one is launched.
while read -r failure made launched; do
    code "graphs, $failure" 0 env GT_EMU_FAIL="${failure#none}" "$B/test/plan_test" graphs "$made" "$launched"
done <<'E'
none 1 17
cuGraphExecKernelNodeSetParams:3:2 1 1
cuGraphInstantiate:1:2 0 0
cuGraphUpload:1:2 0 0
cuGraphLaunch:1:2 1 0
cuGraphLaunch:3:2 1 2
E
code "random bodies" 0 "$B/test/plan_test" 12 1
code "random fusions" 0 "$B/test/fuse_test" 8 1
finish
