# Every block of gt-lang(7) is what it says: programs run, messages and pictures are those that gtsh prints.
. tests/fixtures/check.sh
page=$PWD/man/gt-lang.7
gtsh=$(cd "$(dirname "$GTSH")" && pwd)/${GTSH##*/}
here=$PWD
mkdir "$TMP/in" && cd "$TMP/in" || exit 1
# block WORDS: the block whose first line contains these words
block() {
    awk -v words="$1" '/^\.Bd -literal/ { begins = 1; next } /^\.Ed/ { shown = 0 }
        begins { begins = 0; shown = index($0, words) } shown { gsub(/\\&/, ""); gsub(/\\e/, "\\"); print }' "$page"
}
# runs NAME FIRST-WORDS BEFORE AFTER: the block runs between two lines of program
runs() {
    block "$2" >block
    [ -s block ] || fail "$1: no block begins with '$2'"
    { printf '%s\n' "$3"; cat block; printf '%s\n' "$4"; } >program.gt
    code "$1" 0 "$gtsh" program.gt
}
blocks=$(grep -c '^\.Bd -literal' "$page")
same "blocks of gt-lang(7)" "$blocks" 11

runs "description" 'x = randn(64, 10)' '' ''
has "description" "$(cat "$TMP/out")" "loss 0."
runs "module" 'module Linear(' '' 'print(Linear(3, 2)(ones(5, 3)).shape, Linear(3, 2, bias=false).bias)'
same "module" "$(cat "$TMP/out")" "[5, 2] none"
runs "plot" 'plot({train' 'x = linspace(0, 6, 50); y = sin(x); losses = [3., 2., 1.]; val_losses = [3., 2.5, 2.]' ''
[ -s sine.svg ] || fail "plot writes sine.svg"
runs "progress" 'for epoch in progress' 'n = 128; X = randn(n, 3); Y = randn(n)
fn step(x, y) => (x.sum(1) - y).square().mean()' 'print(len(randperm(n).split(64)))'
runs "summary" 'summary(net' 'net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))' ''
has "summary" "$(cat "$TMP/out")" "7,850 parameters"
runs "attempt" 'fn check(x)' '' ''
same "attempt" "$(cat "$TMP/out")" "checked
-1 is negative in line 3"

# the line of info(): its form, with this shape
LC_ALL=C.UTF-8 "$gtsh" -c 'info(randn(64, 256))' >info
grep -qE '^tensor\[64, 256\] f32 64KiB x∈\[-[0-9.]+, [0-9.]+\] μ=-?[0-9.e-]+ σ=[0-9.]+ nan=0$' info || fail "info: $(cat info)"
has "info" "$(cat "$page")" 'tensor[64, 256] f32 64KiB x\[mo][-4.1, 4.2] \[*m]=0.003 \[*s]=1 nan=0'

# the configuration of a signal has just these keys
block 'forward:' >shard.yaml
echo 'print(signal.get("forward").keys(), signal.get("forward").shard.keys())' >keys.gt
code "signals" 0 "$gtsh" --config=shard.yaml -w 2 keys.gt
has "signals" "$(cat "$TMP/out")" '["axis", "workers", "replicated"]'

# operators: each line binds tighter than the one above
cat >binds.gt <<'X'
f = fn(x) => 1 if x else 2
assert f(1) == 1 and f(0) == 2
assert (0 if true else 1 or 1) == 0
assert true or true and false
assert not 1 == 2
assert (4 | 2 ^ 7) == (4 | (2 ^ 7)) and (4 | 2 ^ 7) != ((4 | 2) ^ 7)
assert (5 ^ 6 & 3) == (5 ^ (6 & 3)) and (5 ^ 6 & 3) != ((5 ^ 6) & 3)
x = tensor([1, 5])
assert all((x > 0 & x < 3) == tensor([true, false]))
assert 1 + 2 << 1 == 6
assert 2 + 3 * 4 == 14
assert -2 ** 2 == -4
assert 2 ** 3 ** 2 == 512
assert 2 ** -1 == 0.5
assert (0 <= 3 < 5) and not (0 <= 7 < 5)
X
"$gtsh" binds.gt >"$TMP/out" 2>"$TMP/err" || fail "operators: $(cat "$TMP/err")"

# the first message of DIAGNOSTICS
{ yes '' | head -n 11; echo 'e = yhat - y'; } >a.gt
sed -i '1s/.*/yhat = ones(32, 10); y = ones(32)/' a.gt
"$gtsh" a.gt >"$TMP/out" 2>"$TMP/err"
block 'a.gt:12:10' >want
diff want "$TMP/err" >"$TMP/diff" || fail "message: $(cat "$TMP/diff")"

# the second: the running calls
cat >a.gt <<'X'
module Net() {
    self.layers = nn.Sequential(nn.Linear(3, 4), Last())

    fn forward(x) {
        # the product fails in the second layer
        y = self.layers(x)
        return y } }
module Last() { fn forward(x) {
        return project(x, ones(5, 2))
} }
fn project(x, w) {
    return x @ w
}
fn model(net, x, n) {
    if n == 0 { return net(x) }
    return model(net, x, n - 1)
}
net = Net(); x = ones(2, 3)
print(model(net, x, 100))
X
"$gtsh" a.gt >"$TMP/out" 2>"$TMP/err"
block 'a.gt:12:14' >want
diff want "$TMP/err" >"$TMP/diff" || fail "calls: $(cat "$TMP/diff")"
cd "$here" || exit 1
finish
