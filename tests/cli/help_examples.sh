# The examples of `?` print what help shows, all in one session.
. tests/fixtures/check.sh
here=$PWD
mkdir "$TMP/in" && cd "$TMP/in" || exit 1
sh "$here/scripts/examples" run >"$TMP/run"
sh "$here/scripts/examples" want >"$TMP/want"
[ "$(grep -c '^= ' "$TMP/want")" -gt 10 ] || fail "few examples"
TERM=xterm LC_ALL=C.UTF-8 "$GTSH" -iq --norc <"$TMP/run" >"$TMP/got" 2>"$TMP/err"
# a wanted line "…" stands for any lines
awk 'NR == FNR { want[++n] = $0; next }
     { while (want[k + 1] == "…" && $0 == want[k + 2]) k++
       if (want[k + 1] == "…") print "…"; else { print; k++ } }' "$TMP/want" "$TMP/got" | uniq >"$TMP/seen"
uniq "$TMP/want" | diff - "$TMP/seen" >"$TMP/diff" || fail "examples: $(head -n 40 "$TMP/diff"; grep -A3 'error:' "$TMP/err" | head -n 20)"
cd "$here" || exit 1
finish
