# gtsh --fmt: in place, as a filter, --check; a file with an error is left alone. The prelude and scripts/ are formatted.
. tests/fixtures/check.sh
printf 'x=1\n' >"$TMP/a.gt"; printf 'y = 2\n' >"$TMP/b.gt"; printf 'z = (,\n' >"$TMP/bad.gt"
chmod 750 "$TMP/a.gt"; ln -s a.gt "$TMP/link.gt"
code "check" 1 "$GTSH" --fmt --check "$TMP/a.gt" "$TMP/b.gt"; same "check" "$(out)" "$TMP/a.gt"
same "check writes nothing" "$(cat "$TMP/a.gt")" "x=1"
code "in place" 0 "$GTSH" --fmt "$TMP/link.gt" "$TMP/b.gt"; same "in place" "$(cat "$TMP/a.gt")" "x = 1"
same "mode" "$(stat -c %a "$TMP/a.gt")" 750
[ -L "$TMP/link.gt" ] || fail "a link became a file"
code "formatted" 0 "$GTSH" --fmt --check "$TMP/a.gt" "$TMP/b.gt"; same "formatted" "$(out)" ""
printf 'w=3\n' >"$TMP/c.gt"
code "error" 65 "$GTSH" --fmt "$TMP/bad.gt" "$TMP/c.gt"; has "error" "$(err)" "bad.gt:1:6: error: "
same "a bad file" "$(cat "$TMP/bad.gt")" "z = (,"
same "the files after it" "$(cat "$TMP/c.gt")" "w = 3"
code "filter" 0 sh -c 'printf "if a{b}" | "$GTSH" --fmt'; same "filter" "$(out)" "if a { b }"
code "dash" 0 sh -c 'printf "a=1" | "$GTSH" --fmt -'; same "dash" "$(out)" "a = 1"
code "filter: check" 1 sh -c 'printf "a=1" | "$GTSH" --fmt --check -'; same "filter: check" "$(out)" stdin
code "no file" 66 "$GTSH" --fmt "$TMP/none.gt"; has "no file" "$(err)" "none.gt"
code "a late option" 2 "$GTSH" --fmt "$TMP/a.gt" --check; has "a late option" "$(err)" "gtsh --fmt --check FILE"
code "a directory" 66 "$GTSH" --fmt "$TMP"
code "not a program" 65 sh -c 'head -c 3000 "$GTSH" | "$GTSH" --fmt'
mkdir "$TMP/closed"; printf 'a=1\n' >"$TMP/closed/a.gt"
if [ "$(id -u)" != 0 ]; then
    chmod 555 "$TMP/closed"
    code "not writable" 74 "$GTSH" --fmt "$TMP/closed/a.gt"; same "not writable" "$(cat "$TMP/closed/a.gt")" "a=1"
    chmod 755 "$TMP/closed"
fi
code "prelude and scripts" 0 sh -c 'find lang/prelude scripts -name "*.gt" | xargs "$GTSH" --fmt --check'
same "prelude and scripts: make them so with gtsh --fmt" "$(out)" ""
finish
