# scripts/cluster while `down` waits for the dispatcher: status and up say so, and a second down waits, too. The
# dispatcher is stopped meanwhile, so that it cannot end.
. tests/fixtures/check.sh; . tests/fixtures/daemons.sh
cluster() { sh scripts/cluster "$@"; }
code "up" 0 cluster up -w 1; d=$(cat "$TMP/gt/cluster.pid"); all=$d
code "status" 0 env GT_BACKEND=cpu GT_CONFIG=none.yaml sh scripts/cluster status
has "status" "$(out)" "1 worker, 0 other clients"; same "status: without the caller's variables" "$(err)" ""
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
code "up again" 0 cluster up -w 1; code "down again" 0 cluster down
finish
