# Every block of the tutorial runs, in order, in one session, and prints what the page shows. In the page "gt> " begins a
# line of the session, "$ " one of a shell, "# NAME.gt" or "# NAME.yaml" a file; a block without any of them is pasted.
. tests/fixtures/check.sh
page=$PWD/man/gt-tutorial.7
gtsh=$(cd "$(dirname "$GTSH")" && pwd)/${GTSH##*/}
mkdir "$TMP/bin" "$TMP/in"
ln -s "$gtsh" "$TMP/bin/gtsh"
cd "$TMP/in" || exit 1
awk -v typed="$TMP/typed" -v want="$TMP/want" '
/^\.Bd -literal/ { in_block = 1; file = ""; kind = ""; next }
/^\.Ed/ { in_block = 0; if (file != "") close(file); next }
!in_block { next }
{ gsub(/\\&/, ""); gsub(/\\e/, "\\") }
kind == "" {
    kind = /^gt> / ? "session" : /^\$ / ? "shell" : /^# [a-z]+\.(gt|yaml)$/ ? "file" : "paste"
    if (kind == "file") { file = $2; printf "" >file; next }
}
kind == "file" { print >file; next }
kind == "paste" { print >typed; next }
/^gt> / { print substr($0, 5) >typed; next }
/^\$ / { print "!" substr($0, 3) >typed; next }
{ print >want }
' "$page"
[ "$(wc -l <"$TMP/typed")" -gt 50 ] || fail "few lines are typed"
PATH=$TMP/bin:$PATH TERM=dumb NO_COLOR=1 gtsh -iq --norc <"$TMP/typed" >"$TMP/out" 2>&1
# without prompts and the line of progress
LC_ALL=C.UTF-8 sed -E 's/^((gt>|[ ({[][^ ]*>) )*//; /it\/s\]/d; /^gt> *$/d' "$TMP/out" | sed '/^$/d' >"$TMP/got"
sed '/^$/d' "$TMP/want" >"$TMP/shown"
diff "$TMP/shown" "$TMP/got" >"$TMP/diff" || fail "the tutorial: $(head -n 60 "$TMP/diff")"
cd "${page%/man/*}" || exit 1
finish
