# The point at which a failing instruction ends a program does not depend on timing: effects before it run, effects
# after it that wait for values do not; with one worker, with several, behind a dispatcher and in a replay, many times.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
TRIES=$((4 * ${SOAK:-1}))
bad='embedding(tensor([9]), ones(3, 2))'
# each WHAT LINE OUTPUT ARGUMENTS...: every run prints OUTPUT and ends at LINE, of all lines of errors
each() {
    which=$1 line=$2 text=$3
    shift 3
    for try in $(seq "$TRIES"); do
        code "$which" 1 "$GTSH" "$@"
        same "$which" "$(out)" "$text"
        same "$which: the error" "$(grep -o '^[^ ]*:[0-9:]*: error' "$TMP/err" | cut -d: -f2)" "$line"
        [ "$failures" = 0 ] || finish
    done
}
cat >"$TMP/a.gt" <<EOF
x = randn(500, 700)
print((x * 0).sum())
z = $bad
print(x.sum())
save(x, "$TMP/behind.npy")
print(x.mean())
EOF
each "one worker" 3 "tensor(0.)" --threads 1 "$TMP/a.gt"
each "two workers" 3 "tensor(0.)" --threads 1 -w 2 "$TMP/a.gt"
"$GTSH" --emit "$TMP/a.gt" >"$TMP/a.gti"
each "a replay" 3 "tensor(0.)" --threads 1 --replay "$TMP/a.gti"
[ ! -e "$TMP/behind.npy" ] || fail "a file was written behind a failure"
printf 'x = randn(500, 700)\nz = %s\nprint(x.sum().item())\n' "$bad" >"$TMP/item.gt"
each "a value" 2 "" "$TMP/item.gt"
printf 'z = %s\nfor i in range(40) { a = ones(3) }\nprint(nosuch)\n' "$bad" >"$TMP/two.gt"
each "a mistake behind it" 1 "" "$TMP/two.gt"
printf 'z = %s\nexit(7)\n' "$bad" >"$TMP/exit.gt"
each "exit" 1 "" "$TMP/exit.gt"
# The value is on one worker, the failure on another, and it arrives late.
cat >"$TMP/across.gt" <<EOF
signal.define("a", workers=[0]); signal.define("b", workers=[1])
signal a {
    y = randn(600, 600); y = y @ y @ y
    print((y * 0).sum())
    z = embedding(tensor([9]) + (y.sum() * 0).to(int64), ones(3, 2))
}
signal b { u = ones(4, 4); v = embedding(tensor([8]), ones(3, 2)) }
if arg("item", false) { u.sum().item() }
print(u.sum())
EOF
each "across" 5 "tensor(0.)" -w 2 "$TMP/across.gt"
each "across, a value" 5 "tensor(0.)" -w 2 "$TMP/across.gt" --item
start local "$D" --workers 2 --threads 1; d=$pid
await "$TMP/local.out" "2 workers"
each "behind a dispatcher" 3 "tensor(0.)" -d local "$TMP/a.gt"
each "across, behind a dispatcher" 5 "tensor(0.)" -d local "$TMP/across.gt"
kill -TERM $d; wait $d
# The dispatcher refuses an instruction at once; the client reports that only after the effects before it.
cat >"$TMP/refused.gt" <<'EOF'
x = randn(600, 600); y = x @ x @ x
print((y * 0).sum())
if arg("fails", false) { z = embedding(tensor([9]) + (y.sum() * 0).to(int64), ones(3, 2)) }
signal.define("b", workers=[5])
signal b { u = ones(4, 4) }
print(y.mean())
EOF
each "refused" 5 "tensor(0.)" "$TMP/refused.gt"
each "refused, behind a failure" 3 "tensor(0.)" -w 2 "$TMP/refused.gt" --fails
# Earlier effects also run if the program itself fails: here an imported file has a syntax error.
echo 'x = = 3' >"$TMP/wrong.gt"
printf 'y = randn(600, 600); y = y @ y\nprint((y * 0).sum())\nimport "wrong.gt" as w\n' >"$TMP/imports.gt"
code "an import" 65 "$GTSH" "$TMP/imports.gt"
same "an import" "$(out)" "tensor(0.)"
# attempt() catches all failures of the function that it calls.
cat >"$TMP/attempt.gt" <<EOF
fn f(k) { a = embedding(tensor([9]), ones(3, 2)); print(a)
    b = embedding(tensor([8]), ones(3, 2))
    c = embedding(tensor([7]), ones(3, 2))
    d = embedding(tensor([6]), ones(3, 2)) }
print(attempt(f, 1)[0])
print(ones(3).sum())
sync()
print("end")
EOF
code "attempt" 0 "$GTSH" "$TMP/attempt.gt"
same "attempt" "$(out)" "false
tensor(3.)
end"
# A value lost to an error that was caught: its next use is an error, too.
cat >"$TMP/lost.gt" <<EOF
kept = [none]
fn f() { kept[0] = embedding(tensor([9]), ones(3, 2)) + 1; return kept[0].sum().item() }
print(attempt(f)[0])
ARG
print("not here")
EOF
for wanted in 'save([ones(2), kept[0]], "FILE")' 'print(kept[0])' 'print(f"{kept[0]}")'; do
    for workers in 1 2; do
        sed "s|ARG|$wanted|; s|FILE|$TMP/lost.safetensors|" "$TMP/lost.gt" >"$TMP/lost1.gt"
        code "lost: $wanted, $workers" 1 "$GTSH" -w $workers "$TMP/lost1.gt"
        grep -q "lost1.gt:4:1: error: this value was lost to an earlier error: embedding: id 9 at position 0 is outside 0" "$TMP/err" ||
            fail "lost: $wanted, $workers: $(cat "$TMP/err")"
    done
done
[ ! -e "$TMP/lost.safetensors" ] || fail "lost: a file was written"
finish
