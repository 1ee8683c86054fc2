# The same program prints the same from a file, a pipe, -c and at the prompt (which goes on after an error, and shows the
# values of expressions). tests/unit/ways_test.c has the prompt on a terminal.
. tests/fixtures/check.sh
# ways FILE: the output of all four in $TMP/file ...; sets the exit codes
ways() {
    "$GTSH" "$1" >"$TMP/file" 2>"$TMP/file.err" </dev/null; of_file=$?
    "$GTSH" <"$1" >"$TMP/pipe" 2>"$TMP/pipe.err"; of_pipe=$?
    "$GTSH" -c "$(cat "$1")" >"$TMP/c" 2>"$TMP/c.err" </dev/null; of_c=$?
    "$GTSH" -i -q --norc <"$1" >"$TMP/prompt" 2>"$TMP/prompt.err"; of_prompt=$?
}
compare() {
    cmp -s "$TMP/file$2" "$TMP/$3$2" || fail "$1: file and $3: $(differ "$(cat "$TMP/$3$2")" "$(cat "$TMP/file$2")")"
}
for f in tests/programs/diffusion.gt tests/programs/kmeans.gt tests/programs/metrics.gt tests/programs/micrograd.gt \
    tests/programs/newton.gt scripts/autograd.gt scripts/hello.gt scripts/moons.gt scripts/tensor_parallel.gt; do
    ways "$f"
    same "$f: exit codes" "$of_file $of_pipe $of_c $of_prompt" "0 0 0 0"
    [ -s "$TMP/file" ] || fail "$f prints nothing"
    for way in pipe c prompt; do compare "$f" "" $way; done
done
# errors: the same words, at the same line and column of a program with another name; the prompt has the same first error
for name in matmul stack undefined local_before recursion self_field outer_update; do
    f=tests/error/$name.gt
    [ -e "$f" ] || { fail "there is no $f"; continue; }
    ways "$f"
    same "$f: exit codes" "$of_pipe $of_c" "$of_file $of_file"
    sed -i "s|$f:|NAME:|g" "$TMP/file.err"
    sed -i "s|stdin:|NAME:|g" "$TMP/pipe.err"
    sed -i "s|-c:|NAME:|g" "$TMP/c.err"
    for way in pipe c; do compare "$f" .err $way; compare "$f" "" $way; done
    first=$(head -n 1 "$TMP/file.err")
    has "$f: the prompt's error" "$(sed 's|repl:|NAME:|g' "$TMP/prompt.err")" "$first"
done
finish
