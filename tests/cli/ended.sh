# A program that a signal ends: what it printed before into a file is there. A second signal ends it at once.
. tests/fixtures/check.sh
trap 'kill -KILL $pid 2>/dev/null' EXIT
cat > "$TMP/loop.gt" <<'E'
x = ones(3)
print("begun", x)
x.sum().item() # all prints before are done
print("going", err=true)
while true { x = x * 1.0 }
E
sed 's/while.*/while true { y = x.sum().item() }/' "$TMP/loop.gt" >"$TMP/item.gt"
sed 's/while.*/sleep(1000)/' "$TMP/loop.gt" >"$TMP/sleep.gt"
for s in TERM:143 HUP:129; do
    for f in loop item sleep; do
        : >"$TMP/err"
        "$GTSH" --engine cpu "$TMP/$f.gt" >"$TMP/out" 2>"$TMP/err" &
        pid=$!
        await "$TMP/err" going
        kill -"${s%:*}" $pid
        wait $pid
        same "$f, $s: exit code" $? "${s#*:}"
        same "$f, $s" "$(out)" "begun tensor([1., 1., 1.])"
    done
done
: >"$TMP/err"
"$GTSH" --engine cpu "$TMP/loop.gt" >"$TMP/out" 2>"$TMP/err" &
pid=$!
await "$TMP/err" going
kill -TERM $pid
kill -TERM $pid 2>/dev/null
wait $pid
same "two signals: exit code" $? 143
finish
