# Sharded loops use hot bodies to the end: the dispatcher sends the instructions that it makes of them as arguments of
# its own bodies, and workers run their parts by plans. Bits and errors are the same as without, whatever changes from
# step to step.
. tests/fixtures/check.sh
D=$B/gt-dispatcher
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
trap 'kill -KILL $d $c $w1 $w2 $w3 2>/dev/null' EXIT
figures='s = stats()
n = [s[f"w{i}.plan.instructions"] if f"w{i}.plan.instructions" in s else 0 for i in range(s.workers)]
print(s.sent_hot_instructions * 10 > s.instructions * 7, n.min() * 10 > s.instructions * 2, err=true)'
# ways NAME WORKERS PROGRAM...: the output is the same in full, without plans and hot; if the program prints figures on
# stderr, they must say that it is hot and that all workers have plans.
ways() {
    name=$1 workers=$2
    shift 2
    code "$name: in full" 0 env GT_HOTPATH_THRESHOLD=0 "$GTSH" -w "$workers" "$@"; expected=$(out)
    code "$name: without plans" 0 env GT_PLAN=0 "$GTSH" -w "$workers" "$@"; same "$name: without plans" "$(out)" "$expected"
    code "$name" 0 "$GTSH" -w "$workers" "$@"; same "$name" "$(out)" "$expected"
    [ -z "$(err)" ] || has "$name: how much" "$(err)" "true true"
}
# Rates, slices, host data and random masks change with each step; some steps print.
cat >"$TMP/train.gt" <<GT
signal.define("batch", axis=0)
signal.define("model", replicated=true)
signal model {
    w1 = param(randn(6, 8)); b1 = param(zeros(8)); w2 = param(randn(8, 3)); data = randn(40, 6)
}
set_print(precision=17)
for i in range(80) {
    lr = 0.1 / (1 + i)
    signal batch {
        x = data[i % 4 * 8 : i % 4 * 8 + 8]
        y = tensor([[i * 0.5 + k + 3 * r for k in range(3)] for r in range(8)])
        keep = (rand(8, 8) > 0.25) / 0.75
    }
    h = (x @ w1 + b1).tanh() * keep
    h = h.square().exp() / 2 + h * 0.5
    loss = ((h @ w2 - y) ** 2).mean() + h.max() * 0.01
    backward loss
    no_grad { w1 -= lr * w1.grad; b1 -= lr * b1.grad; w2 -= lr * w2.grad }
    w1.grad = none; b1.grad = none; w2.grad = none
    if i % 7 == 0 { print(i, loss) }
}
print(w1, b1, w2)
$figures
GT
for n in 2 3; do ways "training on $n" $n "$TMP/train.gt"; done

# Whole numbers: the same without a scope and on one worker. Some ranks have no rows, and add nothing to a sum.
cat >"$TMP/whole.gt" <<'GT'
signal rows { x = arange(3.0).reshape(3, 1) * ones(1, 5) }
t = zeros(5)
for i in range(60) {
    k = i % 5
    signal rows { y = (x + k) * 2 - x.flip(0); z = where(y > 3, y, full([3, 5], k * 1.0)) }
    t = t + y.max(axis=0) + z.sum(axis=0) - (y * z).prod(axis=0).clip(-5, 5) + (z > 4).all(axis=0)
    t = (t % 1024).floor()
}
print(t.tolist(), y.sum().item(), z.min().item())
GT
{ echo 'signal.define("rows", axis=0)'; cat "$TMP/whole.gt"; } >"$TMP/whole_4.gt"
code "whole numbers, unannotated" 0 "$GTSH" "$TMP/whole.gt"; expected=$(out)
code "whole numbers, four" 0 "$GTSH" -w 4 "$TMP/whole_4.gt"; same "whole numbers, four" "$(out)" "$expected"
ways "whole numbers" 2 "$TMP/whole_4.gt"

# Shapes whose parts are alike on some ranks and not on others.
cat >"$TMP/shapes.gt" <<GT
signal.define("rows", axis=0)
signal rows { x = [rand(7, 30), rand(8, 30)] }
set_print(precision=17)
z = 0
for i in range(100) {
    last = z
    y = (x[i % 2] * 2 + 1).exp().tanh() - 0.5
    z = (y * y + y).tanh() * 3 + y.sin() / 2
}
print(z.reshape(240)[200:], last.reshape(210)[200:])
$figures
GT
ways "shapes" 2 "$TMP/shapes.gt"

# Columns of split rows, other columns in each step.
cat >"$TMP/columns.gt" <<GT
signal.define("rows", axis=0)
signal rows { x = rand(8, 30) }
t = 0.0
set_print(precision=17)
for i in range(100) {
    c = x[:, i % 3 * 10 : i % 3 * 10 + 9]
    t = ((c * 2 + t).tanh() - 0.5).square() * 3 + 0.25
}
print(t)
$figures
GT
ways "columns" 2 "$TMP/columns.gt"

# Tensors freed and made on one worker in some steps, and on another in others.
cat >"$TMP/free.gt" <<GT
signal.define("rows", axis=0)
signal.define("first", workers=[0])
signal.define("second", workers=[1])
signal rows { x = rand(8, 30) }
signal second { kept = [rand(3) for i in range(50)] }
signal first { kept = kept + [rand(3) for i in range(50)] }
sync(); before = stats()
for i in range(100) {
    y = (x * 2 + 1).exp().tanh() - 0.5
    signal second { u = ones(4) * i }
    kept[i] = none
    z = (y * y + y).tanh() * 3 + y.sin() / 2
    signal second { v = u * 2 }
}
print(v, z.sum()); y = none; z = none; u = none; v = none; sync()
after = stats()
print([after[f"w{i}.tensors"] - before[f"w{i}.tensors"] for i in range(2)])
$figures
GT
ways "freed" 2 "$TMP/free.gt"

# After steps without errors an instruction fails because of a value; the error is at its line.
cat >"$TMP/wrong.gt" <<'GT'
signal.define("rows", axis=0)
signal.define("all", replicated=true)
signal all { table = randn(10, 4) }
signal rows { x = ones(8, 4) }
for i in range(50) {
    signal rows { at = full([8], 2 + i // 5, dtype=int64) }
    y = (x * i + 1).exp().tanh() + 0.5
    z = (y - 1) * (table[at] + y).tanh()
    t = (z * z + y).sum(axis=1) * 2 + 1
    x = t.reshape(8, 1) * ones(1, 4)
}
print(x.sum())
GT
code "wrong, in full" 1 env GT_HOTPATH_THRESHOLD=0 "$GTSH" -w 2 "$TMP/wrong.gt"; expected=$(err)
has "wrong: where" "$expected" "wrong.gt:8:"
code "wrong" 1 "$GTSH" -w 2 "$TMP/wrong.gt"; same "wrong" "$(err)" "$expected"
code "wrong, without plans" 1 env GT_PLAN=0 "$GTSH" -w 2 "$TMP/wrong.gt"; same "wrong, without plans" "$(err)" "$expected"

# Daemons, several clients one after the other and at once, each with bodies of its own; then a worker is killed. No
# dispatcher started the workers, so none restarts it, and two are left.
rm -f "$TMP/at"
"$D" -q --endpoint-file "$TMP/at" >"$TMP/d.out" 2>"$TMP/d.err" &
d=$!
poll [ -e "$TMP/at" ]
for i in 1 2 3; do "$B/gt-worker" -d "@$TMP/at" --threads 1 --memory 100M --once >"$TMP/w.$i" 2>&1 & eval "w$i=$!"; done
has_workers() { [ "$("$GTSH" -d "@$TMP/at" -p 'workers()')" = "$1" ]; }
poll has_workers 3 || fail "three workers: $(cat "$TMP/w.1" "$TMP/w.2" "$TMP/w.3" "$TMP/d.err")"
code "unlike" 0 env GT_HOTPATH_THRESHOLD=0 "$GTSH" -w 3 "$TMP/train.gt"; expected=$(out)
for i in 1 2 3; do "$GTSH" -d "@$TMP/at" "$TMP/train.gt" >"$TMP/out.$i" 2>"$TMP/err.$i" & eval "c$i=$!"; done
for i in 1 2 3; do
    eval "wait \$c$i"; same "client $i" "$?" 0
    same "client $i" "$(cat "$TMP/out.$i")" "$expected"
done
sed 's/range(80)/range(1000000)/' "$TMP/train.gt" >"$TMP/long.gt"
"$GTSH" -d "@$TMP/at" "$TMP/long.gt" >"$TMP/loop.out" 2>"$TMP/loop.err" &
c=$!
await "$TMP/loop.out" "^70"
kill -KILL $w2; begin=$(date +%s)
wait $c; same "killed: exit code" $? 69
soon "killed: the client reports it" "$begin" 5
has "killed: the cause" "$(cat "$TMP/loop.err")" "is gone"
"$GTSH" -d "@$TMP/at" "$TMP/train.gt" >"$TMP/out" 2>"$TMP/err"; same "afterwards" $? 0
code "unlike, two" 0 "$GTSH" -w 2 "$TMP/train.gt"; expected=$(out)
code "afterwards" 0 "$GTSH" -d "@$TMP/at" "$TMP/train.gt"; same "afterwards" "$(out)" "$expected"
kill -TERM $d; wait $d; same "ends in order" $? 0
finish
