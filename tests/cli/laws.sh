# Random programs (tests/fuzz/laws.gt) print the same text in every world: with two workers, other numbers of threads,
# from standard input, through --emit | --replay -, and a second time; and all memory is freed. 25 programs in `make
# test`, others in `make soak`.
. tests/fixtures/check.sh
n=$((25 * ${SOAK:-1})) seed=${SOAK_SEED:-1}
"$GTSH" tests/fuzz/laws.gt --programs "$n" --start "$seed" >"$TMP/a.gt" 2>"$TMP/err" || fail "laws.gt: $(err)"
"$GTSH" "$TMP/a.gt" >"$TMP/plain" 2>"$TMP/err" || fail "plain, seed $seed: $(err)"
world() { # world NAME COMMAND...: its output is the plain run's
    what=$1; shift
    "$@" >"$TMP/out" 2>"$TMP/err" || fail "$what, seed $seed: $(err)"
    cmp -s "$TMP/out" "$TMP/plain" || fail "$what, seed $seed: $(diff "$TMP/plain" "$TMP/out" | head -n 6)"
}
through() { "$GTSH" --emit "$TMP/a.gt" | "$GTSH" --replay -; }
piped() { "$GTSH" <"$TMP/a.gt"; }
world again "$GTSH" "$TMP/a.gt"
world "-w 2" "$GTSH" -w 2 "$TMP/a.gt"
world "--threads 1" "$GTSH" --threads 1 "$TMP/a.gt"
world "--threads 3" "$GTSH" --threads 3 "$TMP/a.gt"
world "emit | replay" through
world "standard input" piped
"$GTSH" tests/fuzz/laws.gt --programs "$n" --start "$seed" --memory >"$TMP/m.gt"
"$GTSH" "$TMP/m.gt" >"$TMP/out" 2>"$TMP/err" || fail "memory, seed $seed: $(err)"
[ "$(cat "$TMP/out")" = "$(cat "$TMP/plain")" ] || fail "memory, seed $seed: other text"
finish
