# Commands at the prompt change no variables of the program.
. tests/fixtures/check.sh
cat >"$TMP/typed" <<'EOF'
name = 5
config = 7
i = 1
x = 1
signal.define("a", axis=0)
y = ones(2)
:signals
:stats
:tape
:workers
:kernel y
:check-nan
:check-nan off
:who
print("names", name, config, i, x)
EOF
out=$("$GTSH" -q -i --norc <"$TMP/typed" 2>/dev/null)
has ":signals" "$out" "a: {shard: {axis: 0"
has ":check-nan" "$out" ":check-nan on
:check-nan off"
has "names" "$out" "names 5 7 1 1"
# In a file of both streams, an answer stands before the next prompt.
has "order" "$(printf '?softmax\n:who\nx = 1\n:who\n2+2\n' | "$GTSH" -iq --norc 2>&1)" "gt> gt> x             1
gt> 4"
# A value hidden by ; that is a function is a call without (), as in a file.
has "hidden" "$(echo 'y = param(ones(1)).sum(); y.backward; 1' | "$GTSH" -iq --norc 2>&1)" \
    "warning: 'y.backward' is a function, and is not called"
finish
