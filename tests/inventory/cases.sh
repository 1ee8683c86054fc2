# Every behaviour of the inventory has its test: a line `# case N` beside it.
. tests/fixtures/check.sh
list="1 2 3 4 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 22 24 25 26 27 29 30 31 32 33 34 35 36 37 38 39 40 41 43
44 45 47 48 49 50 51 53 54 55 56 57 58 59 61 62 63 66 67 68 69 70 72 74 75 76 78 79 80 81 82 83 84 88 89 91 92 93
96 97 98 99 100 101 104 106 109 111 112 113 114 115 117 118 120 122 124 125 127 128 129 130 131 132 133"
grep -rhoE 'case [0-9]+' tests/inventory --include='*.gt' --include=clients.sh | sed 's/case //' | sort -u >"$TMP/cases"
for n in $list; do
    grep -qx "$n" "$TMP/cases" || fail "no test has '# case $n'"
done
finish
