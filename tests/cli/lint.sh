# The house rules that a machine can check (scripts/lint): columns, heads, what each folder may include, pages.
. tests/fixtures/check.sh
sh scripts/lint -q >"$TMP/lint" 2>&1 || fail "scripts/lint: $(grep -v 'warning:' "$TMP/lint" | head -20)"
finish
