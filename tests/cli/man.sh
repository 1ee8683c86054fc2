# The manual has every operation with its attributes and every option with an example, and mandoc (if installed) reports
# nothing.
. tests/fixtures/check.sh
sh scripts/genman >"$TMP/gt-ops.7" || fail "genman"
want=$(grep -cE '^(MAP|REDUCE|VIEW|KERNEL|SOURCE|CONTROL|EFFECT|LAYOUT)\(' runtime/inst/ops.def)
same "operations" "$(grep -c '^\.It Sy' "$TMP/gt-ops.7")" "$want"
same "sentences" "$(grep -A1 '^\.It Sy' "$TMP/gt-ops.7" | grep -vE '^(\.It|--|[A-Za-z0-9"(-].*)')" ""
if command -v mandoc >/dev/null; then
    same "mandoc" "$(mandoc -Tlint man/*.[157] "$TMP/gt-ops.7" | grep -v 'referenced manual not found')" ""
fi
same "lines of more than 80 bytes" "$(LC_ALL=C awk '/^\.[BE]d/ { code = /-literal/ }
    length > 80 && !/^\./ && !code { print FILENAME ":" FNR }' man/*.[157])" ""
# mdoc drops the quotes of an argument that begins with one: code writes it \(dq or \&"
same "quotes that mdoc drops" "$(grep -nE '^\.[A-Z].* "' man/*.[157] "$TMP/gt-ops.7" | grep -v ':\.Bl ')" ""
has "attributes" "$(cat "$TMP/gt-ops.7")" ".Li axis accumulate from_zero ."
# every option of --help is on its program's page, and in an example there (in its short or its long form)
for program in "$GTSH" "$B/gt-dispatcher" "$B/gt-worker" "$B/gt-top" "$B/gt-trace" "$B/gt-visualize" "$B/gt-diff"; do
    page=man/${program##*/}.1
    sed -n '/^\.Sh EXAMPLES/,/^\.Sh [DS]/p' "$page" >"$TMP/examples"
    "$program" --help | sed -nE 's/^  (-.|   ),? *(--[a-z-]+)?.*/\1 \2/p' >"$TMP/options"
    [ "$(wc -l <"$TMP/options")" -gt 6 ] || fail "$program --help shows few options"
    while read -r o long; do
        grep -qE "^\.It.* Fl -?${o#-}\b" "$page" && grep -qE "^\.It.* -?${long#-}\b" "$page" || fail "$page lacks $o $long"
        case "$o $long" in *--help* | *--version*) continue ;; esac
        grep -qE -e "(^|[^a-z-])($o${long:+|$long})\b" "$TMP/examples" || fail "no example of $o $long in $page"
    done <"$TMP/options"
done
# every function named in gt-lang.7 exists
names=$(sed -n '/^\.Sh FUNCTIONS/,/^\.Ss Files/p' man/gt-lang.7 | grep -E '^\.Fn' | sed 's/^\.Fn //; s/ , /\n/g' | sed 's/ .*//' | sort -u)
names=$(echo "$names" | grep -vxE 'split|join|strip|replace|lower|upper|startswith|endswith|splitlines|find|count|ljust|rjust|append|pop|extend|index|insert|remove|sort|reverse|keys|values|items|get|update|setdefault')
for n in $names; do echo "f = gt.$n"; done >"$TMP/names.gt"
code "functions of gt-lang.7" 0 "$GTSH" "$TMP/names.gt"
finish
