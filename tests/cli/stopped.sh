# A reader that is stopped (SIGSTOP) for a while: the owner keeps the storages that it reads, other workers continue,
# and when it continues all results are right and all memory is freed. A reader that is killed while others wait for it:
# they get errors soon.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" --endpoint-file "$TMP/where"; d=$pid
await "$TMP/d.out" "ready at"
for i in 0 1 2; do
    start w$i "$W" -d "@$TMP/where" --threads 1 --memory 64M --once; eval "w$i=$pid"
    await "$TMP/w$i.out" "w$i at"
done

cat >"$TMP/gather.gt" <<'EOF'
signal.define("a", axis=0, workers=[0, 1])
signal.define("b", replicated=true, workers=[2])
x = 0
signal "a" { x = ones(1024, 256) }
sync()
print("ready", err=true)
for k in range(200) {
  y = x + k
  signal "b" { z = y * 2 }
  s = z.sum()
  if k % 20 == 0 { print(k, s.item()) }
}
x = y = z = s = none
w = stats()
print("bytes", w["w0.bytes_used"], w["w1.bytes_used"], w["w2.bytes_used"])
EOF
want=$("$GTSH" -w 3 "$TMP/gather.gt" 2>/dev/null | grep -v bytes)
start c "$GTSH" -d "@$TMP/where" "$TMP/gather.gt"; c=$pid
await "$TMP/c.err" ready
kill -STOP $w2
sleep 0.2
# another client, on the workers that still run
same "others go on" "$("$GTSH" -d "@$TMP/where" -c 'print(ones(3).sum())')" "tensor(3.)"
sleep 1
kill -CONT $w2
wait $c; same "exit code" $? 0
same "values" "$(grep -v bytes "$TMP/c.out")" "$want"
grep -q "^bytes [0-9]* [0-9]* [0-9]*$" "$TMP/c.out" || fail "no figures: $(cat "$TMP/c.out")"
for b in $(sed -n 's/^bytes //p' "$TMP/c.out"); do
    [ "$b" = 0 ] || fail "bytes are left: $(cat "$TMP/c.out")"
done

# killed while the others wait for it
start c2 "$GTSH" -d "@$TMP/where" "$TMP/gather.gt"; c=$pid
await "$TMP/c2.err" ready
kill -STOP $w2; sleep 0.2
kill -KILL $w2; begin=$(date +%s)
wait $c; same "exit code" $? 69
soon "the client hears of it" "$begin" 2
has "who and where" "$(cat "$TMP/c2.err")" "worker w2 is gone"
has "who and where" "$(cat "$TMP/c2.err")" "gather.gt"
same "the others" "$("$GTSH" -d "@$TMP/where" -c 'print(ones(4).sum())')" "tensor(4.)"
