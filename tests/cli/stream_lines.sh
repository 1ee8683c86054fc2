# The command lines of STREAM 1, as written: `gtsh` is found by PATH, ssh is sh -c.
. tests/fixtures/check.sh
command -v bash >/dev/null || finish
top=$PWD
mkdir "$TMP/bin"; ln -s "$GTSH" "$TMP/bin/gtsh"
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >"$TMP/bin/ssh"; chmod +x "$TMP/bin/ssh"
PATH=$TMP/bin:$PATH
cd "$TMP" || exit 2
cp "$top/scripts/hello.gt" hello.gt
cat >train.gt <<'X'
signal.define("rows", axis=0)
x = randn(64, 8)
y = x.sum(1, keepdims=true)
net = nn.Linear(8, 1)
opt = optim.SGD(net, lr=0.01)
for i in range(200) {
    signal rows { loss = mse_loss(net(x), y) }
    opt.zero_grad()
    backward loss
    opt.step()
    if i % 50 == 0 { print(f"step {i} loss {loss:.5f}") }
}
save(net.state_dict(), "net.safetensors")
X
# line NAME COMMAND: by bash, which has <(...)
line() {
    bash -c "$2" >out 2>err || fail "$1: exit code $?: $(err)"
}
gtsh hello.gt >want 2>err
line "emit | replay" 'gtsh --emit hello.gt | gtsh --replay -'; same "emit | replay" "$(out)" "$(cat want)"
gtsh train.gt >want 2>err; cp net.safetensors net.want
rm net.safetensors
line "ssh" 'gtsh --emit train.gt | ssh node7 gtsh --replay -'; same "ssh" "$(out)" "$(cat want)"
cmp -s net.safetensors net.want || fail "ssh: another net.safetensors"
line "op histogram" "gtsh --emit train.gt | awk '\$2==\"=\"{print \$3}' | sort | uniq -c | sort -rn"
has "op histogram" "$(out)" "400 matmul"; has "op histogram" "$(head -n 1 out)" "802 mul"
cp train.gt a.gt; sed 's/x.sum(1, keepdims=true)/x.sum(1, keepdims=true) * 2/' train.gt >b.gt
bash -c 'diff <(gtsh --emit a.gt) <(gtsh --emit b.gt)' >out 2>err && fail "diff: no difference"
has "diff" "$(out)" '> t2 = mul t1 2'
# ... and, as gti(5) has it, without positions, which differ in another file: from the first other instruction on
maths=$(grep '^maths()' "$top/man/gti.5"); { echo; cat a.gt; } >'a 2.gt'
line "maths, the same" "$maths; diff <(maths a.gt) <(maths 'a 2.gt')"
bash -c "$maths; diff <(maths a.gt) <(maths b.gt)" >out 2>err; same "maths, another" "$(grep -m 1 '^>' out)" "> t2 = mul t1 2 -> f32[64,1]"
line "tee" 'gtsh --tee run.gti train.gt'; same "tee" "$(out)" "$(cat want)"
printf 'print(t0.shape, t0[0, :2])\n' >look
line "time travel" 'gtsh -i --replay run.gti --upto 5000 <look'
has "time travel" "$(err)" "gtsh: replayed "; has "time travel" "$(out)" "[64, 8]"
printf 'print(t0.shape, t0[0, :2])\n' | gtsh -q -i --replay run.gti --upto 30 >out 2>err; has "time travel, early" "$(out)" "[64, 8]"
line "without signals" "grep -v '^signal' run.gti | gtsh --replay -"; same "without signals" "$(out)" "$(cat want)"
finish
