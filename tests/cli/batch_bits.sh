# Random models give a row the same bits alone, in any batch and in any order (tests/fuzz/batch.gt), and a causal model gives
# a text the same logits at once, in pieces and token by token (tests/fuzz/prompt.gt); as on other processors, too. The
# models use every operation of ops.def that computes rows by themselves.
. tests/fixtures/check.sh
n=${SOAK:-1} seed=${SOAK_SEED:-1}
# models CLASS PROGRAM N [OPTION]: N random models of the program, on that class of processor ('': this one's)
models() {
    code "$2 ${1:-own} $4, from seed $seed" 0 env GT_ISA="$1" "$GTSH" "tests/fuzz/$2.gt" --models "$3" --start "$seed" $4
    same "$2 ${1:-own} $4, from seed $seed" "$(tail -n 1 "$TMP/out")" "0 differ"
    has "$2: models" "$(out)" "$3 "
    [ "$failures" = 0 ] || cat "$TMP/out"
}
mkfifo "$TMP/tape"
grep -aoE '= [a-z_0-9]+ ' "$TMP/tape" | tr -d '= ' | sort -u >"$TMP/seen" &
export GT_INSTRUCTION_LOG="$TMP/tape"
models '' batch $((500 * n))
unset GT_INSTRUCTION_LOG
wait
sed -nE 's/^(MAP|REDUCE|KERNEL)\([A-Z0-9_]+, *"([a-z_0-9]+)".*/\2/p' runtime/inst/ops.def | sort -u >"$TMP/rows"
[ $(($(wc -l <"$TMP/rows"))) -gt 100 ] || fail "ops.def: $(wc -l <"$TMP/rows") rows found"
# conv_dw sums over images
same "operations that no model used" "$(comm -13 "$TMP/seen" "$TMP/rows" | tr '\n' ' ')" "conv_dw "
models '' batch $((20 * n)) --large
models v3 batch $((60 * n))
models base batch $((60 * n))
models '' prompt $((30 * n))
models v3 prompt $((15 * n))
finish
