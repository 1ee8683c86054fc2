# Hints that are followed: each row of tests/error/follow.txt is typed, the hint is taken from the message and executed, and gives
# what NumPy or PyTorch give.
. tests/fixtures/check.sh
table=tests/error/follow.txt
# Lines of the table: ": x = ..." variables, "> typed", "~ ..." for make_follow.py, "= the hint", then the value.
{
    sed -n 's/^: //p' "$table"
    awk '/^> /{ print substr($0, 3); printf "print(\"@%d\", err=true)\n", ++n }' "$table"
} >"$TMP/typed"
"$GTSH" -i --norc <"$TMP/typed" >"$TMP/out" 2>"$TMP/err"
sed -e 's/^\(gt> \)*//' -e 's/^\( .…> \)*//' "$TMP/err" >"$TMP/said"
cat >"$TMP/follow" <<'GT'
fn plain(v) => [plain(e) for e in v] if type(v) == "list" else (v.tolist() if type(v) == "tensor" else v)
fn near(a, b) => all([near(a[i], b[i]) for i in range(len(b))]) and len(a) == len(b) if type(a) == "list" and type(b) == "list" else type(a) == type(b) and (a == b or (type(a) == "float" and (abs(a - b) <= 1e-4 * max(1, abs(b)) or (a != a and b != b))))
fn gives(n, v, want) { print(f"@{n}" if near(plain(v), want) else f"{n}: {plain(v)}") }
fn shape_of(v) => list(v.shape) if type(v) == "tensor" else [len(v)] if type(v) == "list" else []
fn has_shape(n, v, want) { print(f"@{n}" if shape_of(v) == want else f"{n}: {v}") }
GT
# A hint's code ends before "; "; a statement's value is that of its variable.
awk -v said="$TMP/said" '
    function next_hint(   line) {
        hint = ""
        while ((getline line <said) > 0 && line !~ /^@[0-9]+$/)
            if (match(line, /hint: /)) hint = substr(line, RSTART + 6)
    }
    function problem(text) { print "print(\"" n ": " text "\")" }
    /^: /{ set = set substr($0, 3) "\n" }
    /^> /{ next_hint(); n++; has_value = 0 }
    /^= /{ if (hint != substr($0, 3)) { gsub(/["\\{]/, "\\\\&", hint); problem("the hint is " hint); hint = "" } next }
    /^([:>~#] .*|#.*)?$/{ next }
    hint == ""{ next }
    {
        printf "%s", set
        code = hint; sub(/; .*/, "", code)
        check = "gives"; want = $0
        if (sub(/^shape /, "", want)) check = "has_shape"
        if (match(code, /^[A-Za-z]+(\[.*\])? = /)) {
            print code
            match(code, /^[A-Za-z]+/)
            code = substr(code, 1, RLENGTH)
        }
        printf "%s(%d, %s, %s)\n", check, n, code, want
    }' "$table" >>"$TMP/follow"
"$GTSH" -i --norc <"$TMP/follow" >"$TMP/out" 2>"$TMP/err"
awk -v out="$TMP/out" '
    BEGIN { while ((getline line <out) > 0) if (line ~ /^@[0-9]+$/) good[substr(line, 2)] = 1; else if (match(line, /^[0-9]+: /)) gave[substr(line, 1, RLENGTH - 2)] = line
    }
    /^> /{ n++; if (!(n in good)) { print "FAIL: " substr($0, 3) "\n--- " (n in gave ? gave[n] : n ": an error"); bad++ } }
    END { if (n < 250) { print "FAIL: only " n " rows"; bad++ } exit bad > 0 }' "$table" || { failures=1; sed -n 's/^.*repl:[0-9:]* error: /error: /p' "$TMP/err" | head -n 12; }
finish
