# scripts/cluster while `down` waits for the dispatcher: status and up say so, and a second down waits, too. The
# dispatcher is stopped meanwhile, so that it cannot end.
. tests/fixtures/check.sh; . tests/fixtures/daemons.sh
cluster() { sh scripts/cluster "$@"; }
code "up" 0 cluster up -w 1; d=$(cat "$TMP/gt/cluster.pid"); all=$d
code "status" 0 env GT_BACKEND=cpu GT_CONFIG=none.yaml sh scripts/cluster status
has "status" "$(out)" "1 worker, 0 other clients"; same "status: without the caller's variables" "$(err)" ""
# options that a cluster that is up cannot take, and arguments that nothing takes
code "up: other options" 0 cluster up --memory 1G
has "up: other options" "$(err)" "cluster: these options take effect after scripts/cluster down: --memory 1G"
code "up: workers" 1 cluster up --workers=3; has "up: workers" "$(err)" "hint: scripts/cluster down, then up -w 3"
for word in status down; do
    code "$word x" 2 cluster $word x; has "$word x" "$(err)" "cluster: $word takes no arguments: 'x'"
done
code "up: a number" 2 cluster up -w x; has "up: a number" "$(err)" "-w needs a number of workers, not 'x'"
code "up: no number" 2 cluster up -w; has "up: no number" "$(err)" "-w needs a number of workers"
code "up: the file" 2 cluster up --endpoint-file "$TMP/a"; has "up: the file" "$(err)" "the endpoint's file is"
# options that no dispatcher takes are refused at once
code "up: unknown" 2 cluster up -w 1 --memmory 1G
has "up: unknown" "$(err)" "unknown option '--memmory'"; has "up: unknown" "$(err)" "did you mean '--memory'?"
code "up: a value" 2 cluster up --memory lots; has "up: a value" "$(err)" "--memory needs a size"
code "up: a word" 2 cluster up here; has "up: a word" "$(err)" "unexpected argument 'here'"
for given in "--work 1" --w=1; do
    code "up $given" 2 cluster up $given; has "up $given" "$(err)" "did you mean '--workers'?"
done
kill -STOP "$d"
cluster down >"$TMP/down.out" 2>&1 & down=$!
await "$TMP/gt/cluster.ending" "$d"
wanted="cluster: the cluster is going down: process $d finishes its work"
code "status: going down" 1 cluster status; has "status: going down" "$(err)" "$wanted"; same "status: going down" "$(out)" ""
code "up: going down" 1 cluster up; has "up: going down" "$(err)" "$wanted"
cluster down >"$TMP/again.out" 2>&1 & again=$!
await "$TMP/again.out" "$wanted"
kill -CONT "$d"
wait $down; same "down" "$? $(cat "$TMP/down.out")" "0 down"
wait $again; same "down again" $? 0
code "status: down" 1 cluster status; has "status: down" "$(out)" "no cluster is up"
[ -e "$TMP/gt/cluster.ending" ] && fail "the mark is left"
for given in "-w1" "--workers 1" "--workers=1" "--threads 1 -w 1"; do
    code "up $given" 0 cluster up $given --drain 5; has "up $given" "$(out)" "1 worker at ipc:"
    code "down $given" 0 cluster down
done
# flags of the daemons
start idle "$D" --engine cpu --threads 1 --memory 1G --insecure
for flag in "--engine has no effect without --workers" "--threads has no effect without --workers" \
    "--memory has no effect without --workers" "--insecure has no effect without --port"; do
    await "$TMP/idle.err" "gt-dispatcher: warning: $flag"
done
kill -TERM $pid; wait $pid
code "-d and -p" 2 "$W" -d local -p 9000; has "-d and -p" "$(err)" "--dispatcher or --port, not both"
# --help starts nothing.
code "up --help" 0 cluster up --help; has "up --help" "$(out)" "scripts/cluster down"
finish
