# The manual: gt-ops(7) has every operation; where mandoc is installed, all pages are clean.
. tests/fixtures/check.sh
sh scripts/genman >"$TMP/gt-ops.7" || fail "genman"
want=$(grep -cE '^(MAP|REDUCE|VIEW|KERNEL|SOURCE|CONTROL|EFFECT|LAYOUT)\(' runtime/inst/ops.def)
same "operations" "$(grep -c '^\.It Sy' "$TMP/gt-ops.7")" "$want"
same "sentences" "$(grep -A1 '^\.It Sy' "$TMP/gt-ops.7" | grep -vE '^(\.It|--|[A-Za-z0-9"(-].*)')" ""
if command -v mandoc >/dev/null; then
    same "mandoc" "$(mandoc -Tlint man/*.[157] "$TMP/gt-ops.7" | grep -v 'referenced manual not found')" ""
fi
# every option of --help is in gtsh.1, and every function named in gt-lang.7 exists
for o in $("$GTSH" --help | grep -oE '(^|[ ,])--[a-z-]+' | tr -d ' ,'); do
    grep -qE "Fl -${o#--}\b" man/gtsh.1 || fail "gtsh.1 lacks $o"
done
names=$(sed -n '/^\.Sh FUNCTIONS/,/^\.Ss Files/p' man/gt-lang.7 | grep -E '^\.Fn' | sed 's/^\.Fn //; s/ , /\n/g' | sed 's/ .*//' | sort -u)
names=$(echo "$names" | grep -vxE 'split|join|strip|replace|lower|upper|startswith|endswith|splitlines|find|count|ljust|rjust|append|pop|extend|index|insert|remove|sort|reverse|keys|values|items|get|update|setdefault')
for n in $names; do echo "f = gt.$n"; done >"$TMP/names.gt"
code "functions of gt-lang.7" 0 "$GTSH" "$TMP/names.gt"
finish
