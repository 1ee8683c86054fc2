# The message of a script that loses its dispatcher: once, at the line that waited, with the way out; exit code 69.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" -w 1 --threads 1 --memory 64M
d=$pid
await "$TMP/d.out" "ready at"
cat >"$TMP/lost.gt" <<'GT'
x = randn(700, 700) / 30
print("busy", err=true)
while true {
    x = x @ x
    y = x.sum().item()
}
GT
"$GTSH" -d local "$TMP/lost.gt" >"$TMP/c.out" 2>"$TMP/c.err" &
c=$!
all="$all $c"
await "$TMP/c.err" busy
# The worker stops, so the script comes to wait for it, at line 5. Only then the dispatcher dies.
w=$(cat "/proc/$d/task/$d/children")
all="$all $w"
kill -STOP $w
is_idle() {
    before=$(cut -d' ' -f14,15 "/proc/$c/stat")
    sleep 0.5
    [ "$before" = "$(cut -d' ' -f14,15 "/proc/$c/stat")" ] && grep -q 'State:.S' "/proc/$c/status"
}
poll is_idle || fail "the script does not come to wait"
kill -KILL "$d"
wait "$c"
same "exit code" $? 69
same "message" "$(sed -e 's/[0-9]* tensors are/N tensors are/' -e 1d "$TMP/c.err")" \
    "$TMP/lost.gt:5:17: error: lost the dispatcher at ipc://$TMP/gt/dispatcher (the connection is closed); N tensors are gone
  5 |     y = x.sum().item()
    |                 ^^^^ was waiting here      hint: restart it, then load the last checkpoint"
finish
