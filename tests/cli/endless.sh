# An operation that takes many minutes, on a worker process: when its client is killed or leaves, the worker serves
# others at once; ending the dispatcher or the worker does not wait for the operation.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" --endpoint-file "$TMP/where" -w 2; d=$pid
await "$TMP/d.out" "ready at"
cat >"$TMP/endless.gt" <<'EOF'
x = ones(1)
print("begins", err=true)
print(x.expand(2**42).sum())
EOF
for signal in KILL INT; do
    start c "$GTSH" -d "@$TMP/where" "$TMP/endless.gt"; c=$pid
    await "$TMP/c.err" begins
    sleep 0.1
    kill -$signal $c
    wait $c 2>/dev/null
    same "another client after SIG$signal" "$(timeout 60 "$GTSH" -d "@$TMP/where" -c 'print(ones(3).sum())')" "tensor(3.)"
done

# sharded: all of its workers are free again
start c "$GTSH" -d "@$TMP/where" -c 'signal.define("s", axis=0, workers=[0, 1])
signal "s" { x = ones(2, 1).expand(2, 2**40) }
print("begins", err=true)
print(x.sum(1))'; c=$pid
await "$TMP/c.err" begins
sleep 0.1
kill -KILL $c
wait $c 2>/dev/null
same "both workers" "$(timeout 60 "$GTSH" -d "@$TMP/where" -c 'signal.define("s", axis=0, workers=[0, 1])
signal "s" { x = ones(4, 3) }
print(x.sum())')" "tensor(12.)"

# the daemons end in the middle of one
start c "$GTSH" -d "@$TMP/where" "$TMP/endless.gt"; c=$pid
await "$TMP/c.err" begins
sleep 0.1
workers=$(ps -o pid= --ppid $d)
kill -KILL $d
wait $d 2>/dev/null
wait $c
for w in $workers; do
    for _ in $(seq 100); do kill -0 "$w" 2>/dev/null || break; sleep 0.1; done
    kill -0 "$w" 2>/dev/null && { fail "worker $w goes on"; kill -KILL "$w"; }
done

# a program with workers of its own ends, too
start c "$GTSH" -w 2 "$TMP/endless.gt"; c=$pid
await "$TMP/c.err" begins
sleep 0.1
kill -INT $c
wait $c
same "a program of its own" $? 130
finish
