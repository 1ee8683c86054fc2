# Every pointwise operation on plain numbers gives the same as on tensors of float64, int64 and bool. The operations
# come from ops.def: a new one is tested without a change here.
. tests/fixtures/check.sh
cat >"$TMP/try.gt" <<'X'
real = [-inf, -700.5, -3.0, -2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 2.5, 3.0, 40.25, inf, nan]
whole = [-7, -2, -1, 0, 1, 2, 3, 30]
fn near(a, b) => a == b or (a != a and b != b) or abs(a - b) <= 1e-14 * max(abs(a), abs(b))
fn compare(name, f, values, dtype, arity, but) {
    for a in values { for b in (values if arity == 2 else [1]) {
        if not but(a, b) {
            one = f(a, b) if arity == 2 else f(a)
            x, y = [tensor([a], dtype=dtype), tensor([b], dtype=dtype)]
            two = (f(x, y) if arity == 2 else f(x)).item()
            if not near(one, two) { print(name, a, b, "gives", one, "of tensors", two) }
            if dtype == int64 and type(two) == "int" and type(one) != "int" { print(name, a, b, "gives", type(one)) }
        }
    } }
}
fn all(a, b) => false
X
awk -F'[(,] *' '/^MAP\(/ && $2 !~ /^(WHERE|GT)$/ {       # gt is a name space
    name = $3; gsub(/"/, "", name)
    but = "all"
    if ($2 == "POW") but = "fn(a, b) => b < 0 or float(abs(a)) ** b > 1e18"
    if ($2 ~ /^(FLOORDIV|MOD|FMOD)$/) but = "fn(a, b) => b == 0"
    call = "gt." name ", "
    if ($5 !~ /^(BITS|INT)$/) print "compare(\"" name "\", " call "real, float64, " $4 ", " ($2 == "ROUND" ? "fn(a, b) => not isfinite(a)" : "all") ")"
    if ($5 != "FLOAT") print "compare(\"" name "\", " call "whole, int64, " $4 ", " but ")"
    if ($5 == "BITS") print "compare(\"" name "\", " call "[true, false], bool, " $4 ", all)"
}' runtime/inst/ops.def >>"$TMP/try.gt"
[ "$(grep -c '^compare(' "$TMP/try.gt")" -gt 80 ] || fail "the rows are not found"
code "rows" 0 "$GTSH" "$TMP/try.gt"
same "rows" "$(out)" ""
# where tensors give another result: the number is Python's
code "numbers" 0 "$GTSH" -c 'print(square(4000000000), pow(2, -1), pow(2, 80), floordiv(-7, 2), mod(-7, 2), fmod(-7, 2), add(true, true))
print(eq(9007199254740993, 9007199254740992), floor(-2.5), bitor(true, false), bitand(6, 3), maximum(3, 2.5), fmod(7, 0))'
same "numbers" "$(out)" "1.6e+19 0.5 1.2089258196146292e+24 -4 1 -1 2
false -3 true 2 3 nan"
finish
