# The test runner: limits count CPU time and hanging, not wall-clock time; a failure by time says what to do; nothing
# that a test started outlives it. Runs with a hundredth of the usual limits.
. tests/fixtures/check.sh
mkdir -p "$TMP/tree/tests" "$TMP/tree/build/test" && cd "$TMP/tree" || exit 1
echo 'while :; do :; done' >tests/spins.sh
echo 'echo begun; exec sleep 1000' >tests/hangs.sh
echo 'setsid sleep 1001 & exit 0' >tests/leaves.sh
echo 'echo "no such thing here"; exit 77' >tests/skips.sh
run() { "$B/test/runner" -b build -t 0.01 -j 8 "$@" >"$TMP/out" 2>"$TMP/err"; }
printf 'echo "skipped: no terminal"; echo "not skipped: x"; echo "skipped: no key"\n' >tests/lacks.sh
run hangs spins leaves skips
same "its exit code" "$?" 1
has "a test that never ends" "$(out)" "FAILED tests/spins.sh: no end after 1.5 s of CPU time"
has "a test that hangs" "$(out)" "FAILED tests/hangs.sh: it hangs: nothing done for 1.5 s"
has "what it printed" "$(out)" "begun"
has "what to do" "$(out)" "sh scripts/runtests build tests/hangs.sh"
has "what to do" "$(out)" "GT_TEST_FACTOR="
has "a test that leaves a process" "$(out)" "FAILED tests/leaves.sh: it left 1 process running"
has "a skipped test" "$(out)" "skipped tests/skips.sh: no such thing here"
has "the sum" "$(out)" "0 passed, 3 failed"
run lacks
same "parts that are skipped" "$(out)" "skipped a part of tests/lacks.sh: no terminal
skipped a part of tests/lacks.sh: no key
2 parts of tests skipped
1 passed, 0 failed"
printf '#!/bin/sh\necho "no terminal"; exit 77\n' >build/test/terminal_test && chmod +x build/test/terminal_test
run terminal_test
has "a skipped unit test" "$(out)" "build/test/terminal_test: no terminal
1 skipped
0 passed, 0 failed"
# Variables of gtsh do not reach a test, but for the interpreter that it is to use.
echo 'echo "${GT_FUSE-none} $GT_PYTHON"; exit 77' >tests/variables.sh
GT_FUSE=0 GT_PYTHON=/opt/python run variables
has "variables" "$(out)" "skipped tests/variables.sh: none /opt/python"
# A failed test shows where two texts first differ, their lengths, a signal's name, and both ends of a long output.
cat >tests/shows.sh <<GT
. "$OLDPWD/tests/fixtures/check.sh"
same "first" "\$(seq 100)" "\$(seq 50; echo x; seq 52 100)"
same "second" "" "hi"
code "third" 0 sh -c 'seq 30; echo oops >&2; kill -KILL \$\$'
finish
GT
run shows
same "its exit code" "$?" 1
has "the first difference" "$(out)" "FAIL: first: line 51 differs
--- got: 100 lines, 292 bytes; from line 50
50
51
"
has "what is expected there" "$(out)" "--- want: 100 lines, 291 bytes; from line 50
50
x
"
has "a text of nothing" "$(out)" "FAIL: second: line 1 differs"
has "a signal" "$(out)" "FAIL: third: exit code 137 (signal 9, KILL), not 0
--- its output: 30 lines, 81 bytes; from line 19
19
"
has "its errors" "$(out)" "bytes; from line 1
oops
"
has "the sum" "$(out)" "3 failures"
echo 'seq 1000; exit 1' >tests/shows.sh
run shows
has "a long output" "$(out)" "
60
[900 lines are not shown]
961
"
# A script that prints two expected lines in the other order.
printf '%s\n' 'print("b")  # expect: a' 'print("a")  # expect: b' >tests/swaps.gt
ln -s "$B/gtsh" build/gtsh
run swaps
has "the line that is missing" "$(out)" "- a        (expected at tests/swaps.gt:1)"
has "the line that is printed later" "$(out)" "+ a"
# The world "replay": a program's instructions print what it prints; what reads values is skipped, unless it says that it
# replays.
echo 'print("b"); print(ones(2).sum())  # expect: a' >tests/swaps.gt
printf '%s\n' 'x = ones(2); print(x + 1)  # expect: tensor([2., 2.])' 'nothing  # error: is not defined' >tests/replays.gt
echo 'print(ones(2).sum().item())  # expect: 2.0' >tests/reads.gt
echo 'print(ones(2).sum().item())  # expect: 2.0' >tests/stays.gt; echo '# not-world: replay' >>tests/stays.gt
"$B/test/runner" -b build -w replay gt >"$TMP/out" 2>"$TMP/err"
has "replay: what is printed" "$(out)" "FAILED tests/swaps.gt in world replay"
has "replay: what reads values" "$(out)" "skipped tests/reads.gt in world replay: tests/reads.gt:1:"
has "replay: the sum" "$(out)" "1 skipped
4 passed, 2 failed"
echo '# worlds: replay' >>tests/reads.gt
"$B/test/runner" -b build gt reads >"$TMP/out" 2>"$TMP/err"
has "replay: it says that it replays" "$(out)" "FAILED tests/reads.gt in world replay"
# A signal that the runner ignores, as under nohup, still ends the processes of a test.
echo 'kill -HUP $$; exit 0' >tests/hup.sh
(trap '' HUP; run hup)
has "under nohup" "$(out)" "FAILED tests/hup.sh: killed by signal 1"
# An interrupted runner ends its processes and removes its directories. The test finds the process by its argument.
mark=$((100000 + $$))
printf '%s\n' 'echo "$TMP" >where' "sleep $mark & exec sleep $mark" >tests/hangs.sh
"$B/test/runner" -b build hangs >"$TMP/out" 2>&1 &
await where gt-test
kill -TERM $!; wait $!
same "the exit code of an interrupted run" "$?" 130
[ ! -e "$(cat where)" ] || fail "$(cat where) is still there"
for f in /proc/[0-9]*/cmdline; do
    case "$(tr '\0' ' ' <"$f" 2>/dev/null)" in "sleep $mark "*) fail "$f: still there" ;; esac
done 2>/dev/null
finish
