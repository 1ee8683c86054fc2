# A print of host values waits for the effects before it, and so does time(): while the only worker is stopped neither
# returns. A print before all effects appears at once.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" --endpoint-file "$TMP/where"; d=$pid
await "$TMP/d.out" "ready at"
start w "$W" -d "@$TMP/where" --threads 1 --memory 64M; w=$pid
await "$TMP/w.out" "w0 at"

cat >"$TMP/a.gt" <<'GT'
print("before", err=true)
x = ones(4)
x.sum().item()
print("ready", err=true)
while not exists(getenv("TMP") + "/go") { sleep(0.02) }
y = x + 1
print("worked", err=true)
t = time()
print("timed", err=true)
print(y)
GT
start c "$GTSH" -d "@$TMP/where" "$TMP/a.gt"; c=$pid
await "$TMP/c.err" "ready"
kill -STOP "$w"
: >"$TMP/go"
sleep 0.3
same "the worker is stopped" "$(tr '\n' ' ' <"$TMP/c.err")" "before ready "
kill -CONT "$w"
wait "$c"
same "all is there in order" "$(tr '\n' ' ' <"$TMP/c.err")" "before ready worked timed "
has "the value" "$(cat "$TMP/c.out")" "tensor([2., 2., 2., 2.])"
finish
