# Clients at once on one cluster, each with its own signals; and the loss of a worker, which only its users notice.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" -p 0 --endpoint-file "$TMP/where"; d=$pid
await "$TMP/d.out" "ready at"
for i in 0 1 2 3; do
    start "w$i" "$W" -d "@$TMP/where" --threads 1
    eval "w$i=\$pid"
    await "$TMP/w$i.out" "gt-worker: w$i at" # in this order, so that ranks are known
done

# case 122: whole numbers, so that every order of summation gives the same bits
cat >"$TMP/many.gt" <<'GT'
k = arg("k", 1)
times = arg("times", 2)
name = "mine" # each client means something else by it
signal.define(name, axis=k % 2, workers=[[0, 1, 2, 3], [3, 1], none, [2]][k % 4])
for i in range(times) {
    signal f"{name}" {
        a = (arange(36) % (k + i + 2)).to(float32).reshape(6, 6)
        b = a.T + k
    }
    c = (a @ b) + a
    print(k, i, c.sum().item(), c.max(axis=0), a.placement().workers.count(0) <= 1)
}
GT
for n in 2 5 10; do
    started=
    for k in $(seq $n); do
        start "c$k" "$GTSH" -d "@$TMP/where" "$TMP/many.gt" --k "$k" --times $((k % 4 + 2))
        started="$started $pid"
    done
    k=0
    for p in $started; do
        k=$((k + 1))
        wait "$p"; same "$n clients: exit code of $k" $? 0
        same "$n clients: $k" "$(cat "$TMP/c$k.out")" "$("$GTSH" -w 4 "$TMP/many.gt" --k "$k" --times $((k % 4 + 2)))"
    done
done
# nothing is left of them on any worker
is_back() {
    left=$("$GTSH" -d "@$TMP/where" -c 'x = 1; connect("'"$(sed -n 1p "$TMP/where")"'"); s = stats(); print([s[f"w{i}.storages"] for i in range(4)])')
    [ "$left" = "[0, 0, 0, 0]" ]
}
poll is_back
same "given back" "$left" "[0, 0, 0, 0]"

# case 131: worker 2 dies; clients that use it get an error soon, at its line; others go on
cat >"$TMP/uses.gt" <<'GT'
signal.define("all", axis=0)
signal all { x = randn(64, 64) }
print("go", err=true)
while true {
    x = (x @ x).tanh()
    x.sum().item()
}
GT
cat >"$TMP/other.gt" <<'GT'
signal.define("two", axis=0, workers=[0, 1])
signal two { x = ones(8, 8) }
n = 0
print("go", err=true)
while not exists(arg("until", "")) {
    x = x * 1
    y = x.sum().item()
    assert y == 64
    n += 1
}
print(n > 0, x.sum().item(), x.placement().workers)
GT
start other "$GTSH" -d "@$TMP/where" "$TMP/other.gt" --until "$TMP/stop"; other=$pid
await "$TMP/other.err" go
start uses "$GTSH" -d "@$TMP/where" "$TMP/uses.gt"; uses=$pid
await "$TMP/uses.err" go
sleep 0.3
kill -KILL "$w2"; begin=$(date +%s)
wait "$uses"; same "exit code" $? 69
soon "the client hears of it" "$begin" 2
has "the worker" "$(cat "$TMP/uses.err")" "worker w2 is gone"
has "the line" "$(cat "$TMP/uses.err")" "uses.gt:"
sleep 0.3
: >"$TMP/stop"
wait "$other"; same "the other: exit code" $? 0
same "the other goes on" "$(cat "$TMP/other.out")" "true 64.0 [0, 1]"
same "a new one" "$("$GTSH" -d "@$TMP/where" -c 'signal.define("all"); signal all { x = arange(6) }; print(x, x.placement().workers)')" "tensor([0, 1, 2, 3, 4, 5]) [0, 1, 3]"
code "no such worker" 1 "$GTSH" -d "@$TMP/where" -c 'signal.define("a", workers=[1, 2]); signal a { x = ones(4) }'
has "no such worker" "$(err)" "signal 'a': there is no worker 2"
kill -TERM "$d"; wait "$d"; same "ends in order" $? 0
finish
