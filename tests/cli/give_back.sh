# An idle worker returns the memory of freed tensors to the system; later results are the same.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
start d "$D" -w 1 --threads 1 --memory 1G; d=$pid
await "$TMP/d.out" "ready at"
w=$(ps -o pid= --ppid $d | tr -d ' ')
program='seed(1); x = rand(5000, 5000); print(x.sum())'
mib() { awk '/^VmRSS/ { printf "%d", $2 / 1024 }' "/proc/$w/status"; }
before=$(mib)
first=$("$GTSH" -d local -c "$program; print(stats()[\"w0.bytes_resident\"] > 100e6)")
has "while it has tensors" "$first" true
is_small() { now=$(mib) && [ "$now" -le $((before + 40)) ]; }
poll is_small || fail "$now MiB are resident in an idle worker, $before before"
same "the same once more" "$("$GTSH" -d local -c "$program; print(stats()[\"w0.bytes_resident\"] > 100e6)")" "$first"
kill -TERM $d; wait $d
finish
