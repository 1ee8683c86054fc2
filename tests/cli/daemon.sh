# The daemons: starting orders, several clients, death of a worker and of the dispatcher, refusals, garbage, SIGTERM.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh

# usage
code "unknown option" 2 "$D" --wokers 2; has near "$(err)" "did you mean '--workers'?"
for given in "--worker 1" --worker=1 --quie "--drai 2" --vers; do
    code "the start of a name: $given" 2 "$D" $given
    has "the start of a name: $given" "$(err)" "did you mean '--"
done
code "the start of a name" 2 "$W" --mem 1G; has "the start of a name" "$(err)" "gt-worker: unknown option '--mem'"
code "a value like an option" 2 "$D" --ipc --worker --worker 2; has "a value like an option" "$(err)" "option '--worker'"
code "not a port" 2 "$D" -p many; has port "$(err)" "--port needs a whole number"
code "open to all" 2 "$D" -p 0 -b 0.0.0.0; has insecure "$(err)" "--insecure"
code "no such engine" 2 "$W" --engine cup
code "no dispatcher's name" 2 "$W" -d nowhere; has where "$(err)" "HOST:PORT"
for port in 65536 9999999 99999999999999999999 -1 90x0; do
    code "no port: $port" 2 "$W" -d "localhost:$port"
    has "no port: $port" "$(err)" "'localhost:$port' has no port '$port'"
    has "no port: $port" "$(err)" "a port is a number from 1 to 65535"
    code "a client's port: $port" 78 "$GTSH" -d "tcp://localhost:$port" -c 1
    has "a client's port: $port" "$(err)" "a port is a number from 1 to 65535"
done
code "a client's too" 78 "$GTSH" -d nowhere -c 1
code help 0 "$D" --help; has help "$(out)" "--endpoint-file"
code help 0 "$W" --help; has help "$(out)" "GT_DISPATCHER"

# no dispatcher: a worker with --wait and a client give up in time
code "worker alone" 69 "$W" -d "$TMP/none" --wait 1; has alone "$(err)" "no answer from the dispatcher"

# ... and one that may wait says once what it waits for; later, that its dispatcher has come
start early "$W" -d local --threads 1 --memory 64M; w=$pid
start quiet "$W" -d "$TMP/none" --threads 1 --memory 64M --quiet --wait 4; q=$pid
start port "$W" -p 1 --threads 1 --memory 64M; p=$pid
await "$TMP/early.err" "hint"
same "it waits" "$(cat "$TMP/early.err")" "gt-worker: no dispatcher answers at ipc://$TMP/gt/dispatcher; waiting for one
  hint: gt-dispatcher starts it"
await "$TMP/port.err" "hint: gt-dispatcher -p 1 starts it"
start comes "$D"; d=$pid
await "$TMP/early.out" "gt-worker: w0 at ipc"
same "said once" "$(grep -c waiting "$TMP/early.err")" 1
kill -TERM $p $w; wait $p $w
kill -TERM $d; wait $d
wait $q; same "quiet: it gave up" $? 69
same "quiet: no word before that" "$(cat "$TMP/quiet.err")" "gt-worker: no answer from the dispatcher in 4 s"

# a dispatcher with two workers of its own, at this user's socket and at a port
start local "$D" --workers 2 --threads 1; d=$pid
await "$TMP/local.out" "ready at ipc://$TMP/gt/dispatcher, 2 workers"
same "local" "$("$GTSH" -d local -c 'print(ones(2, 2) @ ones(2, 2))')" "$("$GTSH" -c 'print(ones(2, 2) @ ones(2, 2))')"
same "by the variable" "$(GT_DISPATCHER=local "$GTSH" -c 'print(stats().workers)')" 2
same "how many" "$("$GTSH" -d local -p 'workers()')" 2
code "taken" 1 "$D"; has taken "$(err)" "a dispatcher runs at ipc://$TMP/gt/dispatcher already: process $d
  hint: gtsh -d local uses it; kill $d ends it"
same "a program" "$("$GTSH" -d local scripts/autograd.gt)" "$("$GTSH" scripts/autograd.gt)"
kill -TERM $d; wait $d; same "ends in order" $? 0
[ -e "$TMP/gt/dispatcher" ] && fail "the socket is left"

# the worker first, then the dispatcher; the endpoint through a file
start port "$D" -p 0 --endpoint-file "$TMP/where" --drain 5; d=$pid
await "$TMP/port.out" "ready at tcp://127.0.0.1:"
start worker "$W" -d "@$TMP/where" --threads 1; w=$pid
await "$TMP/worker.out" "gt-worker: w0 at tcp"
at=$(sed -n 1p "$TMP/where")
same "by file" "$("$GTSH" -d "@$TMP/where" -c 'print(arange(3).sum())')" "tensor(3)"
code "taken port" 1 "$D" -p "${at##*:}"; has "taken port" "$(err)" "a dispatcher runs at $at already: process $d"
# the dispatcher goes and comes back at the same port: the worker serves the next one
kill -TERM $d; wait $d; same "ends in order" $? 0
[ -e "$TMP/where" ] && fail "the endpoint's file is left"
start again "$D" -p "${at##*:}"; d=$pid
await "$TMP/again.out" "ready at"
same "afterwards" "$("$GTSH" -d "$at" -c 'print(arange(4).sum())')" "tensor(6)"

# five clients at once, each with its own numbers
for i in 1 2 3 4 5; do
    "$GTSH" -d "$at" -c "x = full([64, 64], $i.0); for k in range(50) { x = (x @ eye(64)) + 0 }; print(x.mean().item())" \
        >"$TMP/c$i" 2>&1 &
    eval "p$i=\$!"
done
for i in 1 2 3 4 5; do eval "wait \$p$i"; same "client $i" "$(cat "$TMP/c$i")" "$i.0"; done

# garbage at the port disturbs no client
printf 'GET / HTTP/1.0\r\n\r\n' >"$TMP/get"
timeout 100 bash -c "cat '$TMP/get' >/dev/tcp/127.0.0.1/${at##*:}" 2>/dev/null
same "after garbage" "$("$GTSH" -d "$at" -c 'print(ones(2).sum())')" "tensor(2.)"

# a worker dies in the middle: the client reports it at once, at its line; the dispatcher and the next client work on
start loop "$GTSH" -d "$at" -c 'print("go", err=true); while true { x = randn(64, 64) @ randn(64, 64); x.sum().item() }'; c=$pid
await "$TMP/loop.err" go
sleep 0.3
kill -KILL $w; begin=$(date +%s)
wait $c; same "exit code" $? 69
soon "the client hears of it" "$begin" 3
has "the cause" "$(cat "$TMP/loop.err")" "worker w0 is gone"
has "the line" "$(cat "$TMP/loop.err")" "-c:1:"
# a client that comes while there is no worker waits for one
start late "$GTSH" -d "$at" -c 'print(ones(3).sum())'; c=$pid
await "$TMP/again.err" "waiting for workers"
start worker2 "$W" --host 127.0.0.1 -p "${at##*:}" --threads 1 --once; w2=$pid
wait $c; same "late" "$(cat "$TMP/late.out")" "tensor(3.)"
# a worker dies when the program has issued everything: the error has the line of the first missing output
start end "$GTSH" -d "$at" -c 'x = randn(600, 600) / 25; y = x; print("go", err=true)
for i in range(3000) { y = y @ x }
print(y.sum())'; c=$pid
await "$TMP/end.err" go
sleep 0.3
kill -KILL $w2
wait $c; same "exit code" $? 69
has "the line of the output" "$(cat "$TMP/end.err")" "-c:3:1: error: worker w0 is gone"
start worker3 "$W" --host 127.0.0.1 -p "${at##*:}" --threads 1 --once; w2=$pid
await "$TMP/worker3.out" "gt-worker: w0 at"
# memory is given back when a client is killed
start held "$GTSH" -d "$at" -c 'x = ones(1000, 1000); x.sum().item(); print("have", err=true); sleep(3600)'; c=$pid
await "$TMP/held.err" have
same "held" "$("$GTSH" -d "$at" -c 'y = ones(1); print(stats().bytes > 4000000)')" true
kill -KILL $c; wait $c 2>/dev/null
is_back() { left=$("$GTSH" -d "$at" -c 'y = ones(1); sync(); print(stats()["w0.storages"])') && [ "$left" = 1 ]; }
poll is_back; same "given back" "$left" 1
# SIGTERM while a client works: instructions in flight finish, then the client gets an error
start busy "$GTSH" -d "$at" -c 'print("go", err=true); while true { x = randn(8, 8); sleep(0.01) }'; c=$pid
await "$TMP/busy.err" go
kill -TERM $d; wait $d; same "drained" $? 0
wait $c; same "SIGTERM: exit code" $? 69
wait $w2; same "the worker left too" $? 0
finish
