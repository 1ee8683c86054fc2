# Ten clients of daemons at once, one of which floods with small operations while the others send requests: all answers
# are right, and none waits for the end of the flood. tests/bench/flood measures the times.
. tests/fixtures/check.sh
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
"$B/gt-dispatcher" -w 2 --threads 1 --memory 256M >"$TMP/out.d" 2>"$TMP/err.d" &
daemon=$! all=$!
trap 'kill -KILL $all 2>/dev/null' EXIT
await "$TMP/out.d" ready
cat >"$TMP/flood.gt" <<'EOF'
x = zeros(8); n = 0; end = getenv("TMP") + "/end"
while not exists(end) { for k in range(1000) { x = x + 1 }; n += 1000 }
print(n > 0 and (x.sum().item() == 8.0 * n or n > 16777216))
EOF
"$GTSH" -d local "$TMP/flood.gt" >"$TMP/flood" 2>&1 &
flood=$!
pids=
for i in 1 2 3 4 5 6 7 8 9; do
    "$GTSH" -d local tests/bench/ping.gt --id $i --n 20 >"$TMP/ping.$i" 2>&1 &
    pids="$pids $!"
done
all="$all $flood $pids"
for pid in $pids; do wait "$pid"; same "exit code" $? 0; done
for i in 1 2 3 4 5 6 7 8 9; do
    read -r p50 p99 wrong <"$TMP/ping.$i"
    same "client $i, answers that were wrong" "$wrong" 0
    has "client $i, what it waited" "$p50 $p99" .
done
touch "$TMP/end"; wait $flood; same "exit code" $? 0
has "the flood's own sum" "$(cat "$TMP/flood")" "true"

# stats() does not wait for the work of other clients.
"$GTSH" -d local -c 'x = randn(700, 700) / 26; print(x.sum().item() != 0, err=true); y = x
while true { y = y @ x }' >"$TMP/busy" 2>&1 &
busy=$! all="$all $!"
await "$TMP/busy" true
same "clients, after stats()" "$("$GTSH" -d local -c 'stats(); sleep(0.3); print(stats().clients)')" 2
kill -KILL $busy; wait $busy 2>/dev/null
kill -TERM $daemon; wait $daemon; same "ends in order" $? 0
finish
