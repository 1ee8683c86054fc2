# Clients that do not look for hot bodies themselves: the dispatcher finds them, in loops with edges and in streams
# without. Output, errors and their lines are those without hot bodies; the tape marks hot records and replays to the
# same.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
cat >"$TMP/loops.gt" <<'GT'
w = param(ones(6, 4)); m = []
for i in range(4) { m.append(param(ones(i + 1, 3) * 0.5)) }
data = arange(48.0).reshape(12, 4) / 48.0
for epoch in range(60) {
    for k in range(5) {
        x = data[k:k + 6]
        loss = ((x * w).exp() - 0.1 * epoch).square().mean()
        backward loss
        w = param(w - 0.01 * w.grad)
        if k == 3 and epoch % 9 == 1 { print(epoch, loss) }
    }
    for p in range(4) { m[p] = param(m[p] * 0.9 + randn(p + 1, 3)) }
}
print(w.sum(), m[3].sum())
GT
cat >"$TMP/chain.gt" <<'GT'
x = ones(3, 3)
for i in range(900) { x = (x * 0.5 + i).tanh() }
print(x.sum())
GT
# An instruction fails because of its values, in the middle of a hot body.
cat >"$TMP/fails.gt" <<'GT'
x = ones(4)
for i in range(700) {
    x = x * 0.5 + 1.0
    k = (x.sum() * 0).to(int64) + (9 if i == 650 else 1)
    y = x.gather(0, k.reshape(1))
}
print(y)
GT
counts='s = stats(); print(s.found_instructions, s.found_bodies, s.instructions)'
full() { GT_HOTPATH_THRESHOLD=0 "$GTSH" "$@"; }
"$GTSH" --emit "$TMP/chain.gt" 2>"$TMP/err" | grep -v '^edge' >"$TMP/chain.gti"
code "loops" 0 full "$TMP/loops.gt"; loops=$(out)
code "chain" 0 full "$TMP/chain.gt"; chain=$(out)
code "fails" 1 full "$TMP/fails.gt"; fails=$(err); has "fails" "$fails" "fails.gt:5:"

start looks "$D" -w 1 --ipc="$TMP/looks.socket" --log="$TMP/tape"; looks=$pid
start blind env GT_HOTPATH_THRESHOLD=0 "$D" -w 1 --ipc="$TMP/blind.socket"; blind=$pid
start placed "$D" -w 3 --ipc="$TMP/placed.socket"
await "$TMP/looks.out" "1 worker"
await "$TMP/blind.out" "1 worker"
await "$TMP/placed.out" "3 workers"

code "nobody looks" 0 full -d "ipc://$TMP/blind.socket" "$TMP/loops.gt"; same "nobody looks" "$(out)" "$loops"
has "nothing is found" "$("$GTSH" -d "ipc://$TMP/blind.socket" -c "$counts")" "0 0 "
code "with edges" 0 full -d "ipc://$TMP/looks.socket" "$TMP/loops.gt"; same "with edges" "$(out)" "$loops"
set -- $("$GTSH" -d "ipc://$TMP/looks.socket" -c "$counts")
[ "$1" -gt $(($3 * 3 / 4)) ] || fail "with edges: $1 of $3 found"
code "without" 0 full -d "ipc://$TMP/looks.socket" --replay "$TMP/chain.gti"; same "without" "$(out)" "$chain"
before=$1
set -- $("$GTSH" -d "ipc://$TMP/looks.socket" -c "$counts")
[ $(($1 - before)) -gt 3000 ] || fail "without edges: $1, $before before"
code "a failure" 1 full -d "ipc://$TMP/looks.socket" "$TMP/fails.gt"; same "a failure" "$(err)" "$fails"
# gtsh finds its bodies itself; the two clients do not disturb one another.
before=$1
start both full -d "ipc://$TMP/looks.socket" --replay "$TMP/chain.gti"; both=$pid
code "folds itself" 0 "$GTSH" -d "ipc://$TMP/looks.socket" "$TMP/loops.gt"; same "folds itself" "$(out)" "$loops"
wait $both; same "both" "$(cat "$TMP/both.out")" "$chain"
{ echo 'signal.define("rows", axis=0)'; echo 'signal rows {'; cat "$TMP/loops.gt"; echo '}'; } >"$TMP/rows.gt"
code "sharded, in full" 0 full -w 3 "$TMP/rows.gt"; rows=$(out)
code "sharded" 0 full -d "ipc://$TMP/placed.socket" "$TMP/rows.gt"; same "sharded" "$(out)" "$rows"
has "sharded, found" "$("$GTSH" -d "ipc://$TMP/placed.socket" -c 's = stats()
print(s.found_instructions * 4 > s.instructions * 3, s["moves"] > 100)')" "true true"
# Without edges, bodies are found also in instructions for groups of workers.
"$GTSH" --emit "$TMP/rows.gt" 2>"$TMP/err" | grep -v '^edge' >"$TMP/rows.gti"
sent='print(stats().sent_hot_instructions)'
before=$("$GTSH" -d "ipc://$TMP/placed.socket" -c "$sent")
code "sharded, without" 0 full -d "ipc://$TMP/placed.socket" --replay "$TMP/rows.gti"; same "sharded, without" "$(out)" "$rows"
after=$("$GTSH" -d "ipc://$TMP/placed.socket" -c "$sent")
[ $((after - before)) -gt 3000 ] || fail "sharded, without: $after sent hot, $before before"
kill -TERM $looks; wait $looks
same "as many ends as begins" "$(grep -c ' hot begin ' "$TMP/tape")" "$(grep -c ' hot end ' "$TMP/tape")"
for c in $(sed -n 's/^[^ ]* [^ ]* + \(c[0-9]*\) .*/\1/p' "$TMP/tape"); do
    n=$(grep -c " = $c w0 hot begin " "$TMP/tape")
    case $c in c1 | c3 | c5) [ "$n" -gt 10 ] || fail "$c: $n times hot on the tape" ;; esac
done
code "the tape, with edges" 0 "$GTSH" --replay "$TMP/tape" --client c1; same "the tape, with edges" "$(out)" "$loops"
code "the tape, without" 0 "$GTSH" --replay "$TMP/tape" --client c3; same "the tape, without" "$(out)" "$chain"
finish
