# Ten clients of daemons at once, one of them flooding with small operations: all answers are right, and nobody waits long
# (what it takes is measured by tests/bench/flood; the bound here is only that it is bounded, on a busy machine too).
. tests/fixtures/check.sh
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
"$B/gt-dispatcher" -w 2 --threads 1 --memory 256M >"$TMP/out.d" 2>"$TMP/err.d" &
daemon=$! all=$!
trap 'kill -KILL $all 2>/dev/null' EXIT
for _ in $(seq 200); do
    grep -q ready "$TMP/out.d" && break
    sleep 0.1
done
"$GTSH" -d local tests/bench/flood.gt --seconds 2 >"$TMP/flood" 2>&1 &
flood=$!
pids=
for i in 1 2 3 4 5 6 7 8 9; do
    "$GTSH" -d local tests/bench/ping.gt --id $i --n 50 >"$TMP/ping.$i" 2>&1 &
    pids="$pids $!"
done
all="$all $flood $pids"
for pid in $pids; do wait "$pid"; same "exit code" $? 0; done
for i in 1 2 3 4 5 6 7 8 9; do
    read -r p50 p99 wrong <"$TMP/ping.$i"
    same "client $i, answers that were wrong" "$wrong" 0
    awk -v ms="$p99" 'BEGIN { exit !(ms > 0 && ms < 5000) }' || fail "client $i waited: $(cat "$TMP/ping.$i")"
done
wait $flood; same "exit code" $? 0
has "the flood's own sum" "$(cat "$TMP/flood")" "true"

# Who asks for the counters does not wait for what others have under way.
"$GTSH" -d local -c 'x = randn(700, 700) / 26; print(x.sum().item() != 0, err=true); y = x
for i in range(500) { y = y @ x }
print("all done", y.sum().item() != 0)' >"$TMP/busy" 2>&1 &
busy=$!
for _ in $(seq 200); do
    grep -q true "$TMP/busy" && break
    sleep 0.05
done
same "clients, once the counters are told" "$("$GTSH" -d local -c 'stats(); sleep(0.3); print(stats().clients)')" 2
wait $busy; has "the busy one" "$(cat "$TMP/busy")" "all done"
kill -TERM $daemon; wait $daemon; same "ends in order" $? 0
finish
