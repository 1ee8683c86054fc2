# A training step as a file: --emit-step cuts it out of a program, --replay runs it. It trains to the same bits as the program.
. tests/fixtures/check.sh
# trains NAME ARGS...: program and step save the same bits, on one worker and on two. The program saves its model in $TMP/w.safetensors.
trains() {
    name=$1
    shift
    code "$name: emit-step" 0 "$GTSH" --emit-step "$@"; cp "$TMP/out" "$TMP/step.gti"; cp "$TMP/err" "$TMP/notes"
    for w in 1 2; do
        rm -f "$TMP/w.safetensors" "$TMP/o.safetensors"
        code "$name: run -w $w" 0 "$GTSH" -w $w "$@"; cp "$TMP/out" "$TMP/run"
        code "$name: replay -w $w" 0 "$GTSH" -w $w --replay "$TMP/step.gti" --out w="$TMP/o.safetensors"; cp "$TMP/out" "$TMP/replayed"
        cmp -s "$TMP/w.safetensors" "$TMP/o.safetensors" || fail "$name: the step trains to other bits with $w workers"
    done
}
cat >"$TMP/sgd.gt" <<'GT'
seed(2)
X = randn(64, 2)
y = (X[:, 0] * X[:, 1] > 0).to(float32).unsqueeze(1)
module MLP(a, h, b) {
    self.fc1 = nn.Linear(a, h)
    self.fc2 = nn.Linear(h, b)
    fn forward(x) => self.fc2(self.fc1(x).relu())
}
model = MLP(2, 16, 1)
print(f"{model.num_params()} parameters for $5")
sgd = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(50) {
    loss = bce_with_logits(model(X), y)
    sgd.zero_grad()
    backward loss
    sgd.step()
    print(f"step {step} of {step + 1}.0: {loss:.4f} $round")
    if step % 20 == 0 { print("sometimes", model(X)[0]) }
}
no_grad { accuracy = ((model(X) > 0) == (y > 0.5)).mean() }
print(f"loss {loss:.4f}  accuracy {accuracy:.1%}")
GT
echo "save(model, \"$TMP/w.safetensors\")" >>"$TMP/sgd.gt"
trains "SGD" "$TMP/sgd.gt"
grep -v sometimes "$TMP/run" >"$TMP/want"
same "SGD: prints" "$(cat "$TMP/replayed")" "$(cat "$TMP/want")"
has "SGD: summary" "$(err)" "gtsh: replayed 50 rounds of $TMP/step.gti"
has "SGD: notes" "$(cat "$TMP/notes")" "left out: print at $TMP/sgd.gt:18, which is not the same in every round"
# a tensor made before the body may be replaced: here by itself, then by another
"$GTSH" -c "seed(2); save(randn(64, 2), \"$TMP/X.npy\"); save(zeros(64, 2), \"$TMP/Z.npy\"); save(zeros(64, 3), \"$TMP/bad.npy\")"
code "bind X" 0 "$GTSH" --replay "$TMP/step.gti" --bind X="$TMP/X.npy" --out w="$TMP/b.safetensors"
cmp -s "$TMP/w.safetensors" "$TMP/b.safetensors" || fail "bound to the same tensor, the step trains to other bits"
code "bind other X" 0 "$GTSH" --replay "$TMP/step.gti" --bind X="$TMP/Z.npy" --out w="$TMP/b.safetensors"
cmp -s "$TMP/w.safetensors" "$TMP/b.safetensors" && fail "--bind has no effect"
code "bind a wrong shape" 2 "$GTSH" --replay "$TMP/step.gti" --bind X="$TMP/bad.npy"
has "bind a wrong shape" "$(err)" "bad.npy' is f32[64,3], but the input 'X' is f32[64,2]"
code "no such input" 2 "$GTSH" --replay "$TMP/step.gti" --bind x="$TMP/X.npy"; has "no such input" "$(err)" "there is no input 'x'"
code "no such output" 2 "$GTSH" --replay "$TMP/step.gti" --out v="$TMP/v.npy"; has "no such output" "$(err)" "output"
# more rounds than were recorded: as the program with more rounds
code "100 rounds" 0 "$GTSH" --replay "$TMP/step.gti" --times 100 --out w="$TMP/b.safetensors"
sed 's/range(50)/range(100)/' "$TMP/sgd.gt" >"$TMP/sgd100.gt"; code "run 100 rounds" 0 "$GTSH" "$TMP/sgd100.gt"
cmp -s "$TMP/w.safetensors" "$TMP/b.safetensors" || fail "100 rounds of the step, 100 of the program: other bits"

# Adam with a schedule, dropout, batches that come round again
cat >"$TMP/adam.gt" <<'GT'
seed(1)
X = randn(200, 4)
Y = randn(200, 1)
module Net() {
    self.a = nn.Linear(4, 8)
    self.b = nn.Linear(8, 1)
    self.drop = nn.Dropout(0.2)
    fn forward(x) => self.b(self.drop(self.a(x).relu()))
}
net = Net()
adam = optim.Adam(net.parameters(), lr=0.01)
for step in range(50) {
    i = (step * 20) % 200
    x = X[i:i + 20]
    y = Y[i:i + 20]
    loss = ((net(x) - y) ** 2).mean()
    adam.zero_grad()
    backward loss
    adam.lr = 0.01 * optim.cosine(step / 50, 1.0, low=0.1)
    adam.step()
    track(loss=loss, step=step)
}
GT
echo "save({net: net, e: 2.718281828, n: 3}, \"$TMP/w.safetensors\")" >>"$TMP/adam.gt"
trains "Adam" "$TMP/adam.gt"
has "Adam: batches" "$(grep '^input' "$TMP/step.gti")" "i64 [10] 0 20 40 60 80 100 120 140 160 180 cycle=true"
has "Adam: a step per line" "$(grep ^t "$TMP/step.gti")" 'rng=1:$round+6'
code "Adam: too many rounds" 2 "$GTSH" --replay "$TMP/step.gti" --times 51; has "too many rounds" "$(err)" "has values for 50 rounds, not for 51"
n=$(sed -n 's/^input \(n[0-9]*\) f64 .*/\1/p' "$TMP/step.gti" | tail -1)
code "Adam: numbers" 0 "$GTSH" -c "save(tensor([0.001] * 60, dtype=float64), \"$TMP/n.npy\")"
code "Adam: fewer rounds" 0 "$GTSH" --replay "$TMP/step.gti" --times 7 --bind "$n=$TMP/n.npy"
hasnt=$(err | grep -c "uses them all"); same "Adam: fewer rounds were asked for" "$hasnt" 0
code "Adam: more rows than rounds" 0 "$GTSH" --replay "$TMP/step.gti" --bind "$n=$TMP/n.npy"; has "Adam: more rows than rounds" "$(err)" "'$n' has values for 60 rounds: --times 60 uses them all"
# the batches from a file, a row per round
code "Adam: rows" 0 "$GTSH" -c "seed(1); X = randn(200, 4).reshape(10, 20, 4); save(cat([X, X, X, X, X]), \"$TMP/x.npy\")"
code "Adam: bind x" 0 "$GTSH" --replay "$TMP/step.gti" --bind x="$TMP/x.npy" --out w="$TMP/b.safetensors"
cmp -s "$TMP/w.safetensors" "$TMP/b.safetensors" || fail "bound to the same batches, the step trains to other bits"

trains "charlm" scripts/charlm.gt --data README.md --steps 50 --batch 4 --ctx 16 --width 16 --heads 2 --layers 1 --sample 0 --out "$TMP/w.safetensors"
has "charlm: after the body" "$(cat "$TMP/replayed")" "loss on unseen text"

# the same, sharded: signals are part of the step
rm -f "$TMP/w.safetensors" "$TMP/o.safetensors"
code "sharded: run" 0 "$GTSH" -w 4 --config scripts/charlm.yaml scripts/charlm.gt --data README.md --steps 50 --batch 4 --ctx 16 --width 16 --heads 2 --layers 1 --sample 0 --out "$TMP/w.safetensors"
code "sharded: replay" 0 "$GTSH" -w 4 --config scripts/charlm.yaml --replay "$TMP/step.gti" --out w="$TMP/o.safetensors"
cmp -s "$TMP/w.safetensors" "$TMP/o.safetensors" || fail "sharded: the step trains to other bits"

# batches by a random index, two backwards a step, statistics of a norm, clipping, averages of the parameters
cat >"$TMP/more.gt" <<'GT'
seed(4)
X = randn(120, 6)
Y = randint(0, 3, [120])
net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
opt = optim.AdamW(net.parameters(), lr=0.01)
ema = [p.detach().clone() for p in net.parameters()]
for step in range(24) {
    i = randint(0, 120, [30])
    opt.zero_grad()
    for half in range(2) {
        loss = cross_entropy(net(X[i[half * 15:half * 15 + 15]]), Y[i[half * 15:half * 15 + 15]]) / 2
        backward loss
    }
    clip_grad_norm(net.parameters(), 1.0)
    opt.step()
    for k, p in enumerate(net.parameters()) { ema[k] = 0.9 * ema[k] + 0.1 * p.data }
    print(f"{step:3d} {loss:.4f}")
}
GT
echo "save({net: net, opt: opt, ema: ema}, \"$TMP/w.safetensors\")" >>"$TMP/more.gt"
trains "more" "$TMP/more.gt"

# data of the program itself, other in each round; an average of earlier rounds; the value before the loop is needed twice
cat >"$TMP/own.gt" <<'GT'
seed(3)
w = param(randn(4, 2))
start = w.data
m = zeros(4, 2)
old = m
sgd = optim.SGD([w], lr=0.1)
for i in range(9) {
    x = tensor([[i * 0.5, 1.0, 2.0, 3.0], [1.0, i, 3.5, 1.0]])
    loss = ((x @ w) ** 2).mean() + ((w - start) ** 2).sum()
    sgd.zero_grad()
    backward loss
    sgd.step()
    older = old
    old = m
    m = 0.9 * m + 0.1 * w.data + 0.01 * older
}
GT
echo "save({w: w, m: m, old: old, start: start}, \"$TMP/w.safetensors\")" >>"$TMP/own.gt"
trains "own data" "$TMP/own.gt"
has "own data" "$(cat "$TMP/step.gti")" "t2 = input x f32 [9,2,4] b64="
# one tensor is saved without a name
sed "s/save.*/save(w, \"w.npy\")/" "$TMP/own.gt" >"$TMP/one.gt"
code "one tensor" 0 "$GTSH" --emit-step "$TMP/one.gt"; cp "$TMP/out" "$TMP/step.gti"
code "one tensor: replay" 0 "$GTSH" --replay "$TMP/step.gti" --out w="$TMP/o.npy"
# what cannot be cut
cat >"$TMP/pre.gt" <<'GT'
w = param(ones(4, 2)); sgd = optim.SGD([w], lr=0.1)
fn one(x) { loss = ((x @ w) ** 2).mean(); sgd.zero_grad(); backward loss; sgd.step(); return loss }
GT
refused() {
    { cat "$TMP/pre.gt"; printf '%s\n' "$2"; } >"$TMP/bad.gt"
    code "$1" 1 "$GTSH" --emit-step "$TMP/bad.gt"; has "$1" "$(err)" "$3"; same "$1: output" "$(out)" ""
}
refused "no loop" 'print(ones(2))' "nothing in this program repeats"
refused "two rounds" 'for i in range(2) { one(randn(3, 4)) }' "the loop has 2 rounds; a step is cut out of 3 or more"
refused "shapes" 'for i in range(8) { one(randn(3 + i, 4)) }' "the shapes change from round to round: randn at $TMP/bad.gt:3 gives f32[4,4], a round before f32[3,4]"
refused "a smaller batch" 'X = randn(50, 4)
for i in range(0, 50, 12) { one(X[i:i + 12]) }' "the shapes change from round to round: slice at $TMP/bad.gt:4 gives f32[2,4]"
refused "data decides" 'for i in range(8) { if one(randn(3, 4)) > 0.1 { sgd.step() } }' "control flow depends on data"
refused "a list of tensors" 'xs = [randn(3, 4) for i in range(8)]
for x in xs { one(x) }' "operand 1 of matmul at $TMP/bad.gt:2 comes from another place in some rounds"
refused "rounds differ" 'for i in range(20) { one(randn(3, 4)); if i == 11 { w.data *= 0.5 } }' "the rounds differ"

code "binary" 2 "$GTSH" --emit-step --emit=binary "$TMP/own.gt"; has "binary" "$(err)" "exclude each other"
code "prompt" 2 "$GTSH" --emit-step -i "$TMP/own.gt"; has "prompt" "$(err)" "exclude each other"
# elements that were left out must be bound
cat >"$TMP/large.gt" <<'GT'
w = param(ones(200, 2)); sgd = optim.SGD([w], lr=0.1)
Y = tensor([i * 0.25 for i in range(100)]).reshape(50, 2)
for k in range(6) {
    x = tensor([(i * k) % 7 - 3.0 for i in range(10000)]).reshape(50, 200)
    loss = ((x @ w - Y) ** 2).mean()
    sgd.zero_grad()
    backward loss
    sgd.step()
}
GT
echo "save({w: w}, \"$TMP/w.safetensors\")" >>"$TMP/large.gt"
code "large" 0 "$GTSH" --emit-step "$TMP/large.gt"; has "large" "$(cat "$TMP/out")" "input=Y -> f32[100]"
code "no elements" 0 "$GTSH" --emit-step --payloads=none "$TMP/large.gt"; cp "$TMP/out" "$TMP/step.gti"
code "no elements: not bound" 2 "$GTSH" --replay "$TMP/step.gti"; has "no elements: not bound" "$(err)" "not bound: x (f32[10000], each round)"
# of instructions, as of the program
code "flat" 0 "$GTSH" --emit "$TMP/own.gt"; cp "$TMP/out" "$TMP/flat.gti"
code "flat: cut" 0 "$GTSH" --emit-step "$TMP/flat.gti"; cp "$TMP/out" "$TMP/again.gti"
# ... or of what --tee wrote, although the program reads values of tensors
{ cat "$TMP/own.gt"; echo 'print(ones(2).tolist())'; } >"$TMP/reads.gt"
code "reads values" 1 "$GTSH" --emit-step "$TMP/reads.gt"; has "reads values" "$(err)" "tolist reads a value"
"$GTSH" --tee "$TMP/reads.gti" "$TMP/reads.gt" >"$TMP/run" || fail "reads values: --tee"
code "reads values: --tee" 0 "$GTSH" --emit-step "$TMP/reads.gti"; cp "$TMP/out" "$TMP/step.gti"
case $(out) in *"value t"*) fail "reads values: $(out)" ;; esac
code "reads values: replay" 0 "$GTSH" "$TMP/step.gti"
code "verify of a step" 2 "$GTSH" --verify "$TMP/step.gti"; has "verify of a step" "$(err)" "--verify is not for steps"
has "verify of a step" "$(err)" "a step has --bind, --times, --out and --dry"
: >"$TMP/none.gti"; code "an empty step" 2 "$GTSH" --times 3 "$TMP/none.gti"; has "an empty step" "$(err)" "'$TMP/none.gti' is empty"
code "flat: program" 0 "$GTSH" --emit-step "$TMP/own.gt"; same "flat" "$(sed 1d "$TMP/again.gti")" "$(sed 1d "$TMP/out")"

# a step written by hand
hand() { printf 'gti 1 kind=step\n%s\n' "$1" >"$TMP/hand.gti"; }
step() {
    hand "$2"
    code "$1" "$3" "$GTSH" --replay "$TMP/hand.gti"; has "$1" "$(err)" "$4"
}
hand 't0 = full 1 [2] f32 -> f32[2]
repeat
input lr f64 []
t1 = input x f32 [2]
t2 = mul t1 $lr -> f32[2]
t3 = add t2 t0 -> f32[2]
print "$round \x24 {}\n" t3
carry t3 -> t0
end
output last t0'
"$GTSH" -c "save(arange(6).reshape(3, 2).to(float32), \"$TMP/x.npy\"); save(tensor(0.5), \"$TMP/lr.npy\"); save({x: ones(2), lr: tensor([1, 2])}, \"$TMP/xs.npz\")"
code "nothing bound" 2 "$GTSH" --replay "$TMP/hand.gti"; has "nothing bound" "$(err)" "not bound: lr (f64, each round), x (f32[2], each round)"
sed -i 's/^output last t0/output last x=t0/' "$TMP/hand.gti"
code "bound" 0 "$GTSH" --replay "$TMP/hand.gti" --bind x="$TMP/x.npy" --bind lr="$TMP/lr.npy" --out last="$TMP/last.npy"
same "bound" "$(out)" '0 $ tensor([1.0000, 1.5000])
1 $ tensor([2., 3.])
2 $ tensor([4.0000, 5.5000])'
code "the output" 0 "$GTSH" -p "load(\"$TMP/last.npy\")"; same "the output" "$(out)" "tensor([4.0000, 5.5000])"
code "by name" 0 "$GTSH" --replay - --bind x="$TMP/xs.npz" --bind lr="$TMP/xs.npz" <"$TMP/hand.gti"
same "by name" "$(out)" '0 $ tensor([2., 2.])
1 $ tensor([4., 4.])'
code "a dtype" 2 "$GTSH" --replay "$TMP/hand.gti" --bind x="$TMP/lr.npy"; has "a dtype" "$(err)" "but the input 'x' is f32[2]"
code "options of steps" 2 "$GTSH" --times 3 -c 'print(1)'; has "options of steps" "$(err)" "--times is for steps"
code "no binary form" 2 "$GTSH" --emit=binary --replay "$TMP/hand.gti"; has "no binary form" "$(err)" "a step has one form"
code "dry" 0 "$GTSH" --dry --replay "$TMP/hand.gti" --bind x="$TMP/x.npy" --bind lr="$TMP/lr.npy"; same "dry" "$(out)" ""
code "its instructions" 0 "$GTSH" --tee "$TMP/rounds.gti" --replay "$TMP/hand.gti" --bind x="$TMP/x.npy" --bind lr="$TMP/lr.npy"; cp "$TMP/out" "$TMP/want"
code "its instructions: replay" 0 "$GTSH" --replay "$TMP/rounds.gti"; same "its instructions" "$(out)" "$(cat "$TMP/want")"
code "client of a step" 2 "$GTSH" --client c1 --replay "$TMP/hand.gti"
body='t0 = full 1 [2] f32
repeat 2'
step "no body" 't0 = full 1 [2] f32' 65 "a step needs a body"
step "no end" "$body" 65 "hand.gti:3: error: the body has no \`end\`"
step "end alone" 'end' 65 "hand.gti:2:1: error: \`end\` without \`repeat\`"
step "two bodies" "$body
end
repeat 2" 65 "a step has one body, which began in line 3"
step "no rounds" 'repeat 0' 65 "the number of rounds is a whole number from 1 on"
step "an unknown number" "$body
t1 = mul t0 \$lr
end" 65 "there is no number 'lr' in this step"
step "arithmetic on a float" "$body
input lr f64 [2] 1 2
t1 = mul t0 \$lr*2
end" 65 "'lr' is a float"
step "out of range" "$body
t1 = mul t0 \$round*999999999999999999+999999999999999999
t2 = mul t0 \$round*9999999999999999999
end" 65 "hand.gti:5"
step "a number before the body" 't0 = full $round [2] f32' 65 "hand.gti:2:11: error: numbers of a round"
step "a value of the round before" "$body
t1 = add t0 t2
t2 = add t0 1
end" 65 "t2 is not defined"
step "freed for good" "$body
free t0
end" 65 "hand.gti:4: error: t0 was freed in line 4"
step "defined twice" "$body
t1 = add t0 1
t1 = add t0 1
end" 65 "t1 was defined before"
step "carried from nowhere" "$body
carry t1 -> t0
end" 65 "t1 is not defined"
step "carried to nowhere" "$body
t1 = add t0 1
carry t1 -> t5
end" 65 "t5 is not defined before the body"
step "carried to twice" "$body
t1 = add t0 1
carry t1 -> t0
carry t1 -> t0
end" 65 "t0 is carried to twice"
step "another type" "$body
t1 = sum t0
carry t1 -> t0
end" 1 "hand.gti:5: error: t1 is f32[], but t0 is f32[2]"
step "an input twice" "$body
input a f64 [2] 1 2
input a f64 [2] 1 2
end" 65 "there is an input 'a' already, in line 4"
step "elements missing" "$body
t1 = input a f32 [2,3] 1 2
end" 65 "bytes of elements"
step "an output in the body" "$body
output w x=t0
end" 65 "\`output\` stands after \`end\`"
step "a key" "$body
t1 = add t0 1 frobnicate=2
end" 65 "add has no attribute 'frobnicate'"
step "an op" "$body
t1 = frobnicate t0
end" 65 "hand.gti:4:6: error: unknown op"
finish
