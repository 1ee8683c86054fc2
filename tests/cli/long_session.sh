# A session of many statements: its memory stays flat, and a statement typed line by line is not parsed from its
# beginning for each line.
. tests/fixtures/check.sh
rss='shell("grep VmRSS /proc/$PPID/status").split()[1]'
{
    awk 'BEGIN { for (i = 0; i < 2000; i++) print "x = " i " + 1" }'
    echo "print(\"first\", $rss)"
    awk 'BEGIN { for (i = 0; i < 40000; i++) print i % 4 ? "x = [" i ", \"a string\"]" : "x" }'
    echo "print(\"second\", $rss)"
} >"$TMP/many.gt"
code "many statements" 0 sh -c '"$0" -i -q --norc <"$1"' "$GTSH" "$TMP/many.gt"
first=$(out | sed -n 's/^first //p') second=$(out | sed -n 's/^second //p')
case $first$second in '' | *[!0-9]*) fail "no sizes: '$first' '$second'" ;; *)
    [ $((second - first)) -lt $((40000 * 2)) ] || fail "40000 statements took $((second - first)) KiB" ;;
esac
# Each open line of a function of 60,000 is parsed once or twice, not 60,000 times.
{
    echo 'fn f(x) {'
    awk 'BEGIN { for (i = 0; i < 60000; i++) print "    x = x + " i " * (x - 2)" }'
    printf '}\nprint("de" + "fined")\n'
} >"$TMP/long.gt"
code "a long function" 0 timeout 300 sh -c '"$0" -i -q --norc <"$1" 2>/dev/null' "$GTSH" "$TMP/long.gt"
same "a long function" "$(out)" defined
finish
