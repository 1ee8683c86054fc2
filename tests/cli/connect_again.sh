# A prompt survives the loss of its worker or dispatcher: :connect connects again, reports what is kept and lost, and
# keeps all values that are not tensors; signals are defined again.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" -w 1 --threads 1 --memory 64M; d=$pid
await "$TMP/d.out" "ready at"
mkfifo "$TMP/keys"
exec 3<>"$TMP/keys"
"$GTSH" -i <"$TMP/keys" >"$TMP/prompt.out" 2>"$TMP/prompt.err" &
c=$!; all="$all $c"
type() { printf '%s\n' "$1" >&3; }
type 'note("once")'
type ':connect local'
await "$TMP/prompt.err" "> connected to ipc://"
type 'host = [1, "two"]; x = ones(3); signal.define("a", replicated=true); signal a { y = x + 1 }'
type 'print("first", y.sum())'
await "$TMP/prompt.out" "first tensor(6.)"
type ':connect'
await "$TMP/prompt.err" "already connected to ipc://"
kill -KILL "$(ps -o pid= --ppid $d | tr -d ' ')"
await "$TMP/d.err" "a new one is starting"
type 'x = x + 1'
await "$TMP/prompt.err" "worker w0 is gone, and with it"
has "the way out" "$(cat "$TMP/prompt.err")" "hint: :connect connects again"
type ':connect local'
await "$TMP/prompt.err" "> connected to ipc://$TMP/gt/dispatcher, 1 worker"
await "$TMP/prompt.err" "2 tensors are gone; all other values are kept"
type 'print("second", host, ones(4).sum())'
await "$TMP/prompt.out" 'second \[1, "two"\] tensor(4.)'
type 'y * 2'
await "$TMP/prompt.err" "this tensor was lost: worker w0 is gone"
type 'y'
await "$TMP/prompt.err" "hint: compute it again, or load it from a checkpoint"
type 'x = none; y = none; signal a { y = ones(5) }; print("third", y.sum(), signal.get().keys())'
await "$TMP/prompt.out" "third tensor(5.)"
# the dispatcher: while there is none, and when there is one again
kill -KILL $d; wait $d 2>/dev/null
type 'y + 1'
await "$TMP/prompt.err" "lost the dispatcher at ipc://"
type ':connect'
await "$TMP/prompt.err" "no dispatcher at ipc://"
rm "$TMP/gt/dispatcher"
start d2 "$D" -w 1 --threads 1 --memory 64M --log "$TMP/d2.tape"; d=$pid
await "$TMP/d2.out" "ready at"
type ':connect'
type 'for k in range(20) { z = ones(2) * k }'
type 'print("fourth", host, z)'
await "$TMP/prompt.out" 'fourth \[1, "two"\] tensor(\[19., 19.\])'
type :q
wait $c
has "it ended in order" "$(tail -n 1 "$TMP/prompt.out")" fourth
kill -TERM $d; wait $d
has "signals are defined again" "$(cat "$TMP/d2.tape")" " > c1 - signal define a "
same "notes are not made again" "$(grep -c ' note "once"' "$TMP/d2.tape")" 0

# The loss of a script's dispatcher is reported once, also if a prompt follows.
start d3 "$D" -w 1 --threads 1 --memory 64M; d=$pid
await "$TMP/d3.out" "ready at"
printf '1 + 1\n2 + 2\n:q\n' >"$TMP/lines"
"$GTSH" -i -d local -c 'x = randn(300, 300) / 26; print("busy", err=true); while true { x = x @ x }' \
    <"$TMP/lines" >"$TMP/i.out" 2>"$TMP/i.err" &
c=$!; all="$all $c"
await "$TMP/i.err" busy
kill -KILL $d; wait $d 2>/dev/null
wait $c
same "reported" "$(grep -c "lost the dispatcher at" "$TMP/i.err")" 1
has "the prompt goes on" "$(cat "$TMP/i.out")" 4

# A dispatcher lost while no tensor is there: no count of tensors, in the error or after :connect.
rm -f "$TMP/gt/dispatcher"
start d4 "$D" -w 1 --threads 1 --memory 64M; d=$pid
await "$TMP/d4.out" "ready at"
"$GTSH" -i -d local <"$TMP/keys" >"$TMP/none.out" 2>"$TMP/none.err" &
c=$!; all="$all $c"
type 'x = ones(2); print("first", x.sum()); x = none'
await "$TMP/none.out" "first tensor(2.)"
kill -KILL $d; wait $d 2>/dev/null
type 'note("x")'
await "$TMP/none.err" "lost the dispatcher at ipc://"
rm "$TMP/gt/dispatcher"
start d5 "$D" -w 1 --threads 1 --memory 64M; d=$pid
await "$TMP/d5.out" "ready at"
type ':connect'
await "$TMP/none.err" "> connected to"
type 'print("second", ones(3).sum())'
await "$TMP/none.out" "second tensor(3.)"
type :q
wait $c
same "no tensor was lost" "$(grep "gone" "$TMP/none.err")" ""

# Prints keep their order with a new dispatcher, also after Ctrl-C with the one before: its count of instructions is not
# that of the new one.
"$GTSH" -i -d local <"$TMP/keys" >"$TMP/order.out" 2>"$TMP/order.err" &
c=$!; all="$all $c"
type 'x = ones(2); print("begins", err=true); while true { x = x * 1; x.sum().item() }'
await "$TMP/order.err" begins
kill -INT $c
await "$TMP/order.err" interrupted
kill -KILL $d; wait $d 2>/dev/null
type 'x.sum().item()'
await "$TMP/order.err" "lost"
rm "$TMP/gt/dispatcher"
start d6 "$D" -w 1 --threads 1 --memory 64M; d=$pid
await "$TMP/d6.out" "ready at"
type ':connect'
await "$TMP/order.err" "> connected to"
type 'for k in range(3) { x = ones(400, 400) @ ones(400, 400); print(f"tensor {x[0, 0]}"); print(f"host {k}") }; print("over", err=true)'
type ':q'
wait $c
same "the order of prints" "$(grep . "$TMP/order.out" | tr '\n' ' ')" "tensor 400.0 host 0 tensor 400.0 host 1 tensor 400.0 host 2 "
finish
