# A client that does not read: 150 answers of 4 MiB wait at the worker, not in the dispatcher's memory; when the client
# reads again, all arrive.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" -w 1 --threads 1 --memory 256M; d=$pid
await "$TMP/d.out" "ready at"
rss() { awk '/^VmRSS/ { print int($2 / 1024) }' /proc/$1/status; }
ln -s /dev/null "$TMP/null.npy"
cat >"$TMP/many.gt" <<G
x = randn(1400, 1400) / 40; y = x
for i in range(8) { y = y @ x }
big = ones(1048576) * y.sum().clamp(1, 1)
print("asked", err=true)
for i in range(150) { save(big, "$TMP/null.npy") }
print(big.sum())
G
before=$(rss $d)
start c "$GTSH" -d local "$TMP/many.gt"; c=$pid
await "$TMP/c.err" asked
sleep 0.3
kill -STOP $c
same "others go on" "$(timeout 60 "$GTSH" -d local -c 'print(ones(3).sum())')" "tensor(3.)"
most=0
for _ in $(seq 20); do
    now=$(rss $d)
    [ "$now" -gt $most ] && most=$now
    sleep 0.1
done
[ $((most - before)) -le 48 ] || fail "the dispatcher grew from $before to $most MiB"
kill -CONT $c
wait $c; same "exit code" $? 0
same "all is there" "$(cat "$TMP/c.out")" "tensor(1048576.)"
kill -TERM $d; wait $d; same "ends in order" $? 0
finish
