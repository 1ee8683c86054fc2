# Values for other programs: --format= of -p and the prompt, and :mode. Python reads what is written, where there is one.
. tests/fixtures/check.sh
json() { code "json of $1" 0 "$GTSH" -p --format=json "$1"; same "json of $1" "$(out)" "$2"; }
csv() { code "csv of $1" 0 "$GTSH" --format csv -p "$1"; same "csv of $1" "$(out)" "$2"; }
none() {
    code "no $1 of $2" 1 "$GTSH" --format "$1" -p "$2"; same "no $1 of $2" "$(out)" ""; has "no $1 of $2" "$(err)" "$3"
    has "no $1 of $2: hint" "$(err)" "hint: "
}
json '[[1, 0.1], none, true, "a\n\"b\"", {a: ones(2), b: {c: 3}}]' '[[1, 0.1], null, true, "a\n\"b\"", {"a": [1.0, 1.0], "b": {"c": 3}}]'
json 'zeros(2, 3) + 0.5' '[[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]'
json 'tensor([1 / 3, 16777216, inf, -inf, nan])' '[0.33333334, 16777216.0, Infinity, -Infinity, NaN]'
json 'tensor([0.1, 0.25]).half()' '[0.1, 0.25]'
json 'tensor([0.1, 0.5]).bfloat16()' '[0.1, 0.5]'
json 'tensor([1 / 3], dtype=float64)' '[0.3333333333333333]'
json 'tensor(9007199254740993)' 9007199254740993
json 'tensor([true, false])' '[true, false]'
json none null
json 'range(3);' '[0, 1, 2]'
json 'zeros(0)' '[]'
json 'nn.Linear(1, 1, bias=false).state_dict().keys()' '["weight"]'
code "json of a model" 0 "$GTSH" --format json -p 'nn.Linear(2, 1)'; has "json of a model" "$(out)" '{"weight": [['
code "long" 0 "$GTSH" --format json -p 'zeros(3000)'; same "long" "$(tr -cd , <"$TMP/out" | wc -c)" 2999
none json relu "no JSON for a value of type fn"
none json '[1, relu]' "no JSON for this list: a value of type fn"
none json '{1: 2}' "a key is the int 1"
csv 'tensor([[1, 2], [3, 4]])' '1,2
3,4'
csv 'tensor([0.5, 1])' '0.5
1.0'
csv '[{a: 1, b: "x,y"}, {a: 2, b: "z"}]' 'a,b
1,"x,y"
2,z'
csv '{a: ones(2), b: [1, 2]}' 'a,b
1.0,1
1.0,2'
none csv 'ones(2, 2, 2)' "a table has two axes, the tensor has 3"
none csv '"a"' "no CSV for a value of type str"
none csv 3 "a table is"
none npy 3 "no npy for a value of type int"
none npy '{a: ones(1)}' "no npy for a value of type map"
# in order with prints; a failure of the program stays one
code "order" 0 "$GTSH" --format json -p '[print("a"), print(ones(1)), 1][2]'; same "order" "$(out)" 'a
tensor([1.])
1'
code "failure" 1 "$GTSH" --format json -p '[1, 2][3]'; has "failure" "$(err)" "out of range"
code "two expressions" 65 "$GTSH" --format json -p '1; 2'
code "-c" 0 "$GTSH" --format json -c 'print(ones(1))'; same "-c" "$(out)" 'tensor([1.])'
code "a word" 2 "$GTSH" --format=xml -p 1; has "a word" "$(err)" "--format is plain, json, csv or npy, got 'xml'"
code "with --emit" 2 "$GTSH" --format=json --emit -p 1
printf 'print(1)\n' >"$TMP/a.gt"
code "idle" 0 "$GTSH" --format=json "$TMP/a.gt"; has "idle" "$(err)" "--format has no effect"
# the prompt
printf 'ones(2)\n:mode json\nones(2)\nprint(ones(2))\nx = 3\nnone\n{a: x}\n:mode csv\n[1, 2]\n:mode\n:mode plain\nones(1)\n:mode xml\n' |
    "$GTSH" -i -q --norc >"$TMP/out" 2>"$TMP/err"
same "prompt" "$(out)" 'tensor([1., 1.])
:mode json
[1.0, 1.0]
tensor([1., 1.])
{"a": 3}
:mode csv
1
2
:mode csv
:mode plain
tensor([1.])'
has "prompt" "$(err)" ":mode is plain, json, csv or npy"
has "prompt, hint" "$(err)" "hint: :mode json;"
same "prompt --format" "$(echo '[1.5]' | "$GTSH" --format json -i -q --norc 2>/dev/null)" '[1.5]'
# read back by others
python=${GT_PYTHON:-python3}
if "$python" -c 'import numpy' 2>/dev/null; then
    for t in float32 float16 float64 int64 int32 uint8 bool; do
        code "npy $t" 0 sh -c "\"\$GTSH\" --format npy -p '(randn(3, 5) * 40).abs().to($t)' >\"\$TMP/x.npy\""
        "$GTSH" --format json -p "(randn(3, 5) * 40).abs().to($t)" >"$TMP/x.json"
        "$GTSH" --format csv -p "(randn(3, 5) * 40).abs().to($t)" >"$TMP/x.csv"
        code "read back $t" 0 "$python" -c '
import csv, json, sys, numpy as np
x = np.load(sys.argv[1] + "/x.npy")
assert x.dtype == np.dtype(sys.argv[2]) and x.shape == (3, 5), (x.dtype, x.shape)
y = np.array(json.load(open(sys.argv[1] + "/x.json")), dtype=x.dtype)
assert (x == y).all(), (x, y)
rows = [[float(v) if v not in ("true", "false") else v == "true" for v in r] for r in csv.reader(open(sys.argv[1] + "/x.csv"))]
assert (np.array(rows, dtype=x.dtype) == x).all(), (rows, x)' "$TMP" $t
    done
else
    skip "NumPy is not installed"
fi
finish
