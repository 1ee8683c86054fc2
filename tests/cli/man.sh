# The manual has every operation with its attributes and every option with an example, and mandoc (if installed) reports
# nothing.
. tests/fixtures/check.sh
sh scripts/genman >"$TMP/gt-ops.7" || fail "genman"
want=$(grep -cE '^(MAP|REDUCE|VIEW|KERNEL|SOURCE|CONTROL|EFFECT|LAYOUT)\(' runtime/inst/ops.def)
same "operations" "$(grep -c '^\.It Sy' "$TMP/gt-ops.7")" "$want"
same "sentences" "$(grep -A1 '^\.It Sy' "$TMP/gt-ops.7" | grep -vE '^(\.It|--|[A-Za-z0-9"(-].*)')" ""
if command -v mandoc >/dev/null; then
    same "mandoc" "$(mandoc -Tlint man/*.[157] "$TMP/gt-ops.7" | grep -v 'referenced manual not found')" ""
else
    skip "mandoc is not installed"
fi
same "lines of more than 80 bytes" "$(LC_ALL=C awk '/^\.[BE]d/ { code = /-literal/ }
    length > 80 && !/^\./ && !code { print FILENAME ":" FNR }' man/*.[157])" ""
# mdoc drops the quotes of an argument that begins with one: code writes it \(dq or \&"
same "quotes that mdoc drops" "$(grep -nE '^\.[A-Z].* "' man/*.[157] "$TMP/gt-ops.7" | grep -v ':\.Bl ')" ""
# pointwise operations, reductions, views and sources have a name elsewhere and an example; the rest has few without
same "operations without a name elsewhere" "$(awk '/^\.Ss / { if ($2 == "Kernels") skip = 1; if ($2 == "Sources") skip = 0; if ($2 == "Control") exit }
    /^\.It Sy/ { if (name) print name; name = skip ? "" : $3 } /^(PyTorch|NumPy):$/ { name = "" }
    END { if (name) print name }' "$TMP/gt-ops.7")" ""
same "operations without an example" "$(awk '/^\.Ss / { if ($2 == "Control") exit }
    /^\.It Sy/ { if (name) printf "%s ", name; name = $3 } /^gt> / { name = "" }' "$TMP/gt-ops.7")" "slice_put conv_dx conv_dw avg_pool_dx "
has "the example of mod" "$(cat "$TMP/gt-ops.7")" ".Li torch.remainder .
.Bd -literal -compact
gt> tensor([7, -7]) % 3
tensor([1, 2])
.Ed"
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
