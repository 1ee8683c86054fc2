# gt-top without a terminal: pages of text and JSON of a live run, mistakes on the command line, and how it ends.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
T=$B/gt-top
export LC_ALL=C.UTF-8
unset COLUMNS TERM
code "nothing runs" 69 "$T" --once; has "nothing runs" "$(err)" "gt-top: nothing of yours runs on this machine"
code "no such" 69 "$T" --once -d "$TMP/nowhere"; has "no such" "$(err)" "gt-top: "
code "option" 2 "$T" --onec; has "option" "$(err)" "did you mean '--once'?"
code "view" 2 "$T" --view tables; has "view" "$(err)" "hint: workers, clients, signals or ops"
for delay in 0 soon -1 1e9 nan; do
    code "delay $delay" 2 "$T" --delay=$delay
    has "delay $delay" "$(err)" "--delay needs seconds from 0.05 to 86400, not '$delay'"
done
code "control" 2 "$T" --once --view "$(printf 'a\033[31m\302\233b\177')"
has "control" "$(err)" "there is no view 'a?[31m?b?'"
code "a word" 2 "$T" local; has "a word" "$(err)" "unexpected argument 'local'"
code "version" 0 "$T" --version; has "version" "$(out)" "gt-top "
# A run of two workers: one computes, one has nothing to do.
start dispatcher "$D" -q -w 2 --threads 1; d=$pid
await "$TMP/dispatcher.out" "2 workers"
cat >"$TMP/busy.gt" <<'END'
signal.define("layer", workers=[0]); signal.define("other", workers=[1])
while true {
    signal other { z = ones(3) }
    signal layer { x = randn(300, 300); for i in range(4) { x = (x @ x).tanh() } }
    print(x.sum())
    sleep(0.02)
}
END
start client "$GTSH" -d local "$TMP/busy.gt"; client=$pid
await "$TMP/client.out" tensor
code "once" 0 "$T" --once --delay 2
page=$(out)
same "once: lines" "$(echo "$page" | cut -c1-8)" "gt-top  
  WORKER
  w0 cpu
  w1 cpu
  █ ma

  CLIENT
  c1    "
has "once" "$page" "2 workers  1 client"
has "once" "$page" "busy.gt"
has "once: w1" "$(echo "$page" | sed -n 4p)" "starved "
w0=$(echo "$page" | sed -nE 's/^  w0 [^%]* ([0-9]+)%.*/\1/p') w1=$(echo "$page" | sed -nE 's/^  w1 [^%]* ([0-9]+)%.*/\1/p')
[ "$w0" -gt "$w1" ] || fail "w0 is not busier than w1: $page"
same "once: 80 columns" "$(echo "$page" | awk '{ gsub(/[\200-\277]/, "") } length > 80' )" ""
# Each worker has the signal whose work it gets.
signals() { COLUMNS=140 "$T" --once -s 0.3 >"$TMP/out" && grep -q '^  w0.* layer ' "$TMP/out" && grep -q '^  w1.* other ' "$TMP/out"; }
poll signals || fail "signals: $(out)"
same "signals" "$(grep -c '^  w0.* other \|^  w1.* layer ' "$TMP/out")" 0
# Letters without UTF-8; a width; a filter; the other views
code "letters" 0 env LC_ALL=C "$T" -1; has "letters" "$(out)" "  M matmul  p pointwise  r reduce  o other  t transfer  . idle"
same "letters" "$(out | LC_ALL=C grep -c '[^ -~]')" 0
code "wide" 0 env COLUMNS=140 "$T" --once; has "wide" "$(out)" "THREADS"
code "filter" 0 "$T" --once --filter W1; same "filter" "$(out | grep -c '^  w[01]')" 1
has "filter" "$(out)" "no row contains the filter"
code "ops" 0 "$T" --once --view ops; has "ops" "$(out)" "
  matmul "
code "clients" 0 "$T" --once --view Clients; same "clients" "$(out | sed -n 2p | cut -c1-8)" "  CLIENT"
# Pages one after the other; a number for -d; the reader may leave
code "batch" 0 "$T" --batch --count 3 -d 0.2; same "batch" "$(out | grep -c '^gt-top')" 3
same "head" "$("$T" -b -s 0.1 2>&1 | head -n 1 | cut -c1-7)" "gt-top "
code "json" 0 "$T" --json --count 3 --delay=0.3
same "json" "$(out | grep -cE '^\{"now_us":[0-9]+,.*"workers":\[\{"rank":0,.*"busy":\{"matmul":0\.[0-9]+,.*\]\}$')" 3
if command -v python3 >/dev/null; then
    out | python3 -c 'import json, sys
for line in sys.stdin:
    run = json.loads(line)
    assert run["dispatcher"]["workers"] == 2 and len(run["workers"]) == 2 and len(run["clients"]) == 1, run
    for w in run["workers"]:
        assert 0 <= sum(w["busy"].values()) + sum(w["idle"].values()) < 1.2, w
assert any(op["name"] == "matmul" and op["us"] > 0 for op in run["ops"]), run' || fail "json: $(out)"
else
    skip "python3 is not installed"
fi
# A dispatcher by its name. The one that is watched ends.
start second "$D" -q -w 1 --threads 1 --ipc "$TMP/second"; second=$pid
await "$TMP/second.out" "1 worker"
code "named" 0 "$T" --once -d "$TMP/second"; has "named" "$(out)" "1 worker  0 clients"
start watch "$T" --batch -d "$TMP/second" --delay 0.1
await "$TMP/watch.out" gt-top
kill -TERM $second
wait $pid; same "the end" $? 69
has "the end" "$(cat "$TMP/watch.err")" "gt-top: the dispatcher has stopped"
start watch "$T" --batch --delay 0.1
await "$TMP/watch.out" gt-top
kill -KILL $d
wait $pid; same "a sudden end" $? 69
has "a sudden end" "$(cat "$TMP/watch.err")" "gt-top: the dispatcher has ended"
kill -KILL $client; wait $client 2>/dev/null
# Programs with a cluster of their own: one is found by itself, several are listed.
start alone "$GTSH" -w 2 --threads 1 "$TMP/busy.gt"
await "$TMP/alone.out" tensor
code "alone" 0 "$T" --once; has "alone" "$(out)" "run-$pid  2 workers  1 client"
start other "$GTSH" -w 2 --threads 1 "$TMP/busy.gt"
await "$TMP/other.out" tensor
code "two" 2 "$T" --once; has "two" "$(err)" "gt-top: 2 programs run: $TMP/gt/run-"
code "one of two" 0 "$T" --once -d "$TMP/gt/run-$pid"; has "one of two" "$(out)" "run-$pid"
finish
