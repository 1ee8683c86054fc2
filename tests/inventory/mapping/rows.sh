# Rows of the table of what the original wrote that are command lines, files, or need another word: the hint has it.
. tests/fixtures/check.sh
# hint CODE PART
hint() {
    printf '%s\n' "$1" >"$TMP/h.gt"
    "$GTSH" "$TMP/h.gt" >"$TMP/out" 2>"$TMP/err"
    case $? in 1 | 65) ;; *) fail "$1: no error" ;; esac
    has "$1" "$(err)" "$2"
}
# row 1
code "row 1" 0 "$GTSH" -c 'print(gt.randn(2,2))'; has "row 1" "$(out)" "tensor([["
code "row 1: -p" 0 "$GTSH" -p 'randn'; has "row 1: -p" "$(out)" "randn(*shape"
# row 3: save
code "row 3" 0 "$GTSH" -c "c = ones(2); save(c, \"$TMP/c.npy\"); print(c.tolist())"; same "row 3" "$(out)" "[1.0, 1.0]"
# row 5
code "row 5" 0 "$GTSH" -c "print(param(load(\"$TMP/c.npy\")))"; same "row 5" "$(out)" "tensor([1., 1.], requires_grad=true)"
hint 'a = gt.from_numpy(np.array([1, 2]), requires_grad=True)' 'hint: tensor([1, 2])'
# row 6
hint 'class MLP(Module):' 'module MLP(params) { self.x = …; fn forward(x) { … } }'
hint '    def __init__(self):' 'module M() { self.x = … }'
hint 'super().__init__()' 'modules have no base'
hint 'self.fc1 = Linear(2, 4)' "did you mean 'nn.Linear'?"
# row 8
hint 'from gt.nn import Module, Linear, SGD' 'drop this line, and write nn.Linear, optim.SGD'
hint 'from gt.client import nn' 'drop this line'
hint 'from gt import SignalConfig, ShardConfig' 'drop this line'
# row 10
hint 'for param in model.parameters(): # update' 'blocks stand in braces: { … }'
# row 12
hint 'a = ones(2); a.zero_()' 'x = zeros_like(x)'
# row 13, 14, 23
hint "with gt.signal.context('layer1'):" 'hint: signal layer1 { … }'
hint "with gt.signal.context('layer 1'):" 'hint: signal "layer 1" { … }'
hint "with gt.signal.context(f'layer{i}'):" 'hint: signal f"layer{i}" { … }'
hint "with gt.signal.context('f', backward='b'):" 'hint: signal f backward b { … }'
hint "with context('parameter_updates'):" 'hint: signal parameter_updates { … }'
hint "gt.signal.context('a', backward='b')" 'signal "a" backward "b" { … }'
# row 17, 18, 21, 22
cat >"$TMP/c.yaml" <<'YAML'
a:
  shard:
    axis: 0
    workers: [0, 1]
    replicated: false
  backward: b
  compile: true
YAML
hint "os.environ['GT_CONFIG'] = 'c.yaml'" 'hint: signal.load("c.yaml"), or: gtsh --config c.yaml x.gt'
asked='{shard: {axis: 0, workers: [0, 1], replicated: false}, backward: "b", compile: true}'
code "row 17" 0 env GT_CONFIG="$TMP/c.yaml" "$GTSH" -c 'print(signal.get("a"))'; same "row 17" "$(out)" "$asked"
code "row 17: option" 0 "$GTSH" --config "$TMP/c.yaml" -c 'print(signal.get("a"))'; same "row 17: option" "$(out)" "$asked"
code "row 18" 0 "$GTSH" -c "gt.load_config('$TMP/c.yaml'); print(gt.get_signal_config('a'))"; same "row 18" "$(out)" "$asked"
code "row 21" 0 "$GTSH" -c "signal.load(\"$TMP/c.yaml\"); signal.define(\"dynamic_layer\", workers=[0, 1]); print([n for n in signal.get()])"; same "row 21" "$(out)" '["a", "dynamic_layer"]'
code "row 18: no file" 1 "$GTSH" -c 'gt.load_config("none.yaml")'; has "row 18: no file" "$(err)" "cannot read the configuration 'none.yaml'"
# row 20
hint 'def configure_for_batch_size(n):' 'fn configure_for_batch_size(n) { … }'
# row 24
code "row 24" 0 "$GTSH" -c 'gt.gpu_workers(2); x = ones(2); print(stats().workers, gt.gpu_workers())'; same "row 24" "$(out)" "2 2"
code "row 24: option" 0 "$GTSH" -w 2 -c 'x = ones(2); print(stats().workers, workers())'; same "row 24: option" "$(out)" "2 2"
hint 'x = ones(2); gt.gpu_workers(3)' 'gtsh -w 3'
# row 25: the other end exists in tests/cli/daemon.sh; here nobody is there, or nothing sensible is said
hint 'gt.connect("nowhere")' 'HOST:PORT'
hint 'x = ones(2); gt.connect("localhost:1")' 'already connected to workers of its own'
# row 26 to 28: the daemons and how they are called
for p in gt-dispatcher gt-worker; do
    code "row 26: $p" 0 "$B/$p" --help; has "row 26: $p" "$(out)" "--port"
done
has "row 27" "$("$B/gt-worker" --help)" "--host"
# row 29
for n in reference numpy; do
    code "row 29: $n" 0 env GT_BACKEND=$n "$GTSH" -c 'x = ones(2); print(stats()["w0.engine"])'; same "row 29: $n" "$(out)" reference
done
code "row 29: option" 0 "$GTSH" --engine reference -c 'x = ones(2); print(stats()["w0.engine"])'; same "row 29: option" "$(out)" reference
code "row 29: pytorch" 0 env GT_BACKEND=pytorch "$GTSH" -c 'x = ones(2); print(stats()["w0.engine"])'; same "row 29: pytorch" "$(out)" cpu
# row 30
code "row 30" 0 "$GTSH" -c 'gt.debug.print_tape(); w = param(ones(2)); y = (w * 2).sum(); gt.debug.print_tape()'
has "row 30: empty" "$(out)" "Autograd Tape: Empty (no operations recorded)"; has "row 30" "$(out)" "Autograd Tape (2 operations, 1 parameter):"
code "row 30: workers" 0 "$GTSH" -w 2 -c 'x = ones(2); s = gt.debug.get_worker_stats(); print(len(s), s.w0.kernels, s["w0"].engine); gt.debug.print_worker_stats()'
has "row 30: workers" "$(out)" "2 1 cpu"; has "row 30: print" "$(out)" "  kernels: 1"
# row 32
code "row 32" 0 env GT_WORKER_BATCH_SIZE=8 GT_VERBOSE=1 GT_DEBUG_CLIENT=1 GT_DEBUG_DISPATCHER=1 GT_DEBUG_WORKER=1 GT_DEBUG_COMPILE=1 "$GTSH" -c 'print(ones(2) + getenv("GT_WORKER_BATCH_SIZE").count("8"))'
same "row 32: results" "$(out)" "tensor([2., 2.])"
for part in "[CLIENT] t1 = add t0 1" "[DISPATCHER] c1 > t1 = add t0 1" "[WORKER] w0 c1 t1 = add t0 1" "[DISPATCHER] worker w0"; do
    has "row 32" "$(err)" "$part"
done
code "row 32: letters" 0 "$GTSH" --debug=i -c 'print(ones(2) + 1)'; has "row 32: letters" "$(err)" "[WORKER] w0 c1 t1 = add t0 1"
code "row 32: off" 0 env GT_VERBOSE=0 GT_DEBUG_CLIENT=0 GT_DEBUG_WORKER= "$GTSH" -c 'print(ones(2) + 1)'; same "row 32: off" "$(err)" ""
# row 33
code "row 33" 0 "$GTSH" --emit -c 'a = ones(2); b = a + a'; has "row 33" "$(out)" "t1 = add t0 t0"
code "row 33: replay" 0 sh -c 'printf "gti 1\nt0 = full 1 [2] f32\nt2 = full 2 [2] f32\nt3 = add t0 t2\nfetch t3\n" | "$GTSH" --replay -'; same "row 33: replay" "$(out)" "tensor([3., 3.])"
# row 34
hint 'class ShardOp(StreamModifier):' 'module ShardOp(params)'
finish
