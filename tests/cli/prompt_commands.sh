# Commands of the prompt that measure, list and set.
. tests/fixtures/check.sh
prompt() { printf '%s\n' "$@" | "$GTSH" -iq --norc 2>&1 | sed 's/^\(gt> \)*//'; }
# matches WHAT TEXT PATTERN: a line of the text matches the basic pattern
matches() { same "$1" "$(printf '%s\n' "$2" | grep -c "$3")" 1; }

# :time
t='[0-9.]* [mun]*s'
out=$(prompt 'x = randn(64, 64)' 'v = 5' ':time x @ x' ':time 1 + 1')
same ":time, lines" "$(printf '%s\n' "$out" | grep -c "^$t each, best of 5 × [0-9]*: client $t, wire $t, worker $t\$")" 2
has ":time waits for no worker without one" "$out" ", worker 0.00 ns"
out=$(prompt ':time on' 'ones(3).sum()' 'zzz' ':time' ':time off' '2' ':time')
matches ":time on" "$out" "^\[$t: client $t, wire $t, worker $t; [0-9]* instr\]\$"
has ":time says" "$out" ":time on"
has ":time off" "$out" ":time off"
has ":time of no expression" "$(prompt ':time y = 3')" ":time needs one expression"
has ":time of half an expression" "$(prompt ':time (')" "is never closed"
has ":time of an error" "$(prompt ':time zz' '5')" "'zz' is not defined
5"
finish
