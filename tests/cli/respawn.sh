# The dispatcher restarts a lost worker; the client's error says how the worker ended, and scripts/cluster reports it. A
# missing dispatcher is reported at once.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
export B ASAN_OPTIONS="handle_segv=0:$ASAN_OPTIONS" # a signal ends a worker built with AddressSanitizer, too
socket=$TMP/gt/dispatcher
none() {
    begin=$(date +%s)
    code "$1" 69 "$GTSH" -d local -c 'ones(2)'
    soon "$1" "$begin" 3
    has "$1" "$(err)" "no dispatcher at ipc://$socket: $2"
    has "$1" "$(err)" "hint: scripts/cluster up starts one"
}
none "no socket" "there is no such socket"
code "in the prelude" 69 "$GTSH" -d local -c 'nn.Linear(2, 2)'; has "in the prelude" "$(err)" "hint: scripts/cluster up starts one"
code "before the program" 69 "$GTSH" -d local -p '1 + 1'; same "before the program" "$(out)" ""
code "before the prompt" 69 "$GTSH" -d local -i </dev/null; has "before the prompt" "$(err)" "gtsh: error: no dispatcher at ipc://"
code "with GT_DISPATCHER" 0 env GT_DISPATCHER=local "$GTSH" -p '1 + 1'; same "with GT_DISPATCHER" "$(out)" 2
code "another address" 69 "$GTSH" -d "$TMP/else" -c 'ones(2)'; has "another address" "$(err)" "is it running, and is $TMP/else its address?"

# a client waits for a dispatcher that has no workers yet
start empty "$D"; d=$pid
await "$TMP/empty.out" "ready at"
start waits "$GTSH" -d local -c 'print(ones(2).sum())'; c=$pid
await "$TMP/waits.err" "waiting for a worker"
start late "$W" -d local --threads 1 --memory 64M --once
wait $c; same "waits for a worker" "$(cat "$TMP/waits.out")" "tensor(2.)"
kill -KILL $d; wait $d 2>/dev/null
[ -S "$socket" ] || fail "no stale socket is left"
none "a stale socket" "no process listens on it any more"
rm "$socket"

# the only worker ends while a client computes there
start once "$D" --workers 1 --threads 1 --memory 64M; d=$pid
await "$TMP/once.out" "1 worker"
child() { w=$(ps -o pid= --ppid $d | tr -d ' ') && [ -n "$w" ]; }
for k in KILL SEGV; do
    child
    start client "$GTSH" -d local -c 'x = ones(3); x.sum().item(); print("go", err=true); while true { x.sum().item(); sleep(0.01) }'; c=$pid
    await "$TMP/client.err" go
    kill -$k "$w"
    wait $c; same "$k: exit code" $? 69
    has "$k" "$(cat "$TMP/client.err")" "worker w0 is gone, and with it"
    case $k in KILL) says="signal 9 (Killed)" ;; SEGV) says="signal 11 (Segmentation fault)" ;; esac
    has "$k: why" "$(cat "$TMP/client.err")" ": it ended by $says; a new one is starting"
    has "$k: in the log" "$(cat "$TMP/once.err")" "worker process $w ended by $says; restarting it"
    same "$k: the next client" "$("$GTSH" -d local -c 'print(ones(2).sum())')" "tensor(2.)"
done
# the pause before a restart grows if a worker ends soon after its start
grep -q "restarting it in [0-9.]* s" "$TMP/once.err" || fail "no pause: $(cat "$TMP/once.err")"
# a worker that ends in order reports its exit code, and is also restarted
child; kill -TERM "$w"
await "$TMP/once.err" "worker process $w ended with exit code 0"
kill -USR1 $d
same "after SIGTERM" "$("$GTSH" -d local -c 'print(ones(2).sum())')" "tensor(2.)"
kill -TERM $d; wait $d; same "ends in order" $? 0
ps -o pid= --ppid $d | grep -q . && fail "workers are left"

# scripts/cluster: plurals, memory, repair
trap 'sh scripts/cluster down >/dev/null 2>&1; kill -CONT $all 2>/dev/null; kill -KILL $all 2>/dev/null' EXIT
code up 0 sh scripts/cluster up -w 1 --threads 1 --memory 64M
code status 0 sh scripts/cluster status
has "one worker" "$(out)" "1 worker, 0 other clients, 0 tensors, "
has memory "$(out)" " MiB of tensors, "
code "up twice" 0 sh scripts/cluster up; has "up twice" "$(err)" "already up (process "; has "up twice" "$(out)" "1 worker at"
code "up with more" 1 sh scripts/cluster up -w 2; has "up with more" "$(err)" "hint: scripts/cluster down, then up -w 2"
d=$(cat "$TMP/gt/cluster.pid")
ends_again() { child && kill -KILL "$w"; [ "$(grep -c "ended by signal 9" "$TMP/gt/cluster.log")" -ge 3 ]; }
poll ends_again # now the next is not started for a while
code "up repairs" 0 sh scripts/cluster up
same "repaired" "$("$GTSH" -d local -p 'workers()')" 1
# scripts/cluster ends a dispatcher that does not answer, and starts another
rm "$socket"
code "no socket" 0 sh scripts/cluster up -w 1 --threads 1 --memory 64M
has "all anew" "$(err)" "no answer: starting all anew"
code down 0 sh scripts/cluster down
code "up with two" 0 sh scripts/cluster up -w 2 --threads 1 --memory 64M
has "two workers" "$(out)" "2 workers at ipc://$socket"
has "what one script gets" "$(out)" "one script runs on one worker"
code "status of two" 0 sh scripts/cluster status; has "status of two" "$(out)" "2 workers, "
code down 0 sh scripts/cluster down
finish
