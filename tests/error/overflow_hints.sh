# The hint at an overflow of whole numbers is an expression that works, of the same value as Python's.
. tests/fixtures/check.sh
# overflow CODE VALUE
overflow() {
    "$GTSH" -c "print($1)" >"$TMP/out" 2>"$TMP/err" && fail "$1: no error"
    hint=$(sed -n 's/.*hint: use floats: //p' "$TMP/err")
    has "$1: the value of its hint, $hint" "$("$GTSH" -c "print($hint)" 2>&1)" "$2"
}
overflow '1 << 64' '1.8446744073709552e+19'
overflow '-3 << 62' '-1.3835058055282164e+19'
overflow '2 ** 64' '1.8446744073709552e+19'
overflow '(-3) ** 41' '-3.647299637717079e+19'
overflow '9223372036854775807 + 1' '9.223372036854776e+18'
overflow '-9223372036854775807 - 2' '-9.223372036854776e+18'
overflow '4611686018427387904 * 3' '1.3835058055282164e+19'
overflow '(-9223372036854775807 - 1) // -1' '9.223372036854776e+18'
overflow 'sum([9223372036854775807, 1])' '9.223372036854776e+18'
finish
