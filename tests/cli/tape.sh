# The instruction log: --log FILE and GT_INSTRUCTION_LOG; the tape of a sharded run, one-liners over it, replay, a full
# disk, and the overlap of a pipeline's stages.
. tests/fixtures/check.sh
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
t="$TMP/tape"

# sync() is an instruction, which lets the worker run pending clusters; a sync() with nothing in flight sends none
GT_INSTRUCTION_LOG="$t" "$GTSH" -c 'x = ones(2) + 1; sync(); sync(); y = x + 1; sync()'
same "sync is sent" "$(awk '$3 == "=" { print $6, $8 }' "$t" | tr '\n' ',')" "file \"-c\",t0 full,t1 add,free ,sync ,t2 add,sync ,"

# one worker: the lines, in order, with their columns
cat >"$TMP/a.gt" <<'GT'
x = full([2, 3], 0.5)
y = (x @ x.T).exp()
print(y.sum())
z = attempt(fn() => solve(zeros(2, 2), ones(2, 1)).sum().item())
GT
export GT_INSTRUCTION_LOG="$t"
code run 0 "$GTSH" --threads 1 "$TMP/a.gt"; expected=$(out)
unset GT_INSTRUCTION_LOG
same header "$(head -n 1 "$t")" "gti 1 kind=tape"
same columns "$(awk 'NR > 1 && ($1 !~ /^[0-9]+\.[0-9][0-9][0-9][0-9][0-9][0-9]$/ || $2 != NR - 1 || $3 !~ /^[><=!+-]$/ ||
    $4 !~ /^(c[0-9]+|-)$/ || $5 !~ /^([wg][0-9]+|-)$/)' "$t")" ""
has asked "$(cat "$t")" " > c1 - t0 = full 0.5 [2,3] f32 -> f32[2,3] @$TMP/a.gt:1"
has sent "$(cat "$t")" " = c1 w0 t2 = matmul t0 t1"
has came "$(cat "$t")" " + - w0 worker \"cpu-"
has failed "$(grep ' ! c1 w0 error solve ' "$t")" "@$TMP/a.gt:4"
same "asked, sent and done alike" "$(awk '$3 == "<" && $6 == "done" { print $7, $10 }' "$t" | grep -c op=matmul)" 1
same "as many asked as sent" "$(grep -c ' > c1 ' "$t")" "$(grep -c ' = c1 w0 ' "$t")"
code replay 1 "$GTSH" --replay "$t"; has "replay, output" "$(out)" "$expected"; has "replay, error" "$(err)" "a.gt:4"

# notes stand where the program makes them, also before the first tensor, with and without tensors; they replay
cat >"$TMP/notes.gt" <<'GT'
signal.define("rows", axis=0)
note("begin")
signal rows { x = ones(4, 2) }
note(f"x is {x}")
for i in range(2) { x = x * 2; note(f"step {i}") }
note("")
print(x.sum())
GT
for workers in 1 2; do
    code "notes on $workers" 0 env GT_INSTRUCTION_LOG="$t" timeout 60 "$GTSH" -w $workers "$TMP/notes.gt"
    same "notes on $workers" "$(sed -n 's/^.* > c1 - \(note .*\) @.*/\1/p; s/^.* > c1 - t[0-9]* = \([a-z]*\) .*/\1/p' "$t" | tr '\n' ';')" \
        'note "begin";full;note "x is {!r}" t0;mul;note "step 0";mul;note "step 1";sum;'
    code "notes of $workers, replayed" 0 "$GTSH" --replay "$t"; same "notes of $workers, replayed" "$(out)" "tensor(32.)"
done
# shell() does not keep what was issued before it from the workers; a note has the time at which the program made it
cat >"$TMP/shell.gt" <<'GT'
x = ones(2) + 1
note("before")
shell("sleep 0.3")
note("after")
print(x)
GT
code "shell" 0 env GT_INSTRUCTION_LOG="$t" "$GTSH" "$TMP/shell.gt"
same "shell" "$(awk '$3 == ">" && $6 == "note" { at[$7] = $1 } END { print (at["\"after\""] - at["\"before\""] > 0.2) }' "$t")" 1
code "notes alone" 0 "$GTSH" -c 'for i in range(200) { note(f"{i}") }
print(1)'; same "notes alone" "$(out)$(err)" 1

# sharded: located instructions once for all workers, conversions by name
cat >"$TMP/b.gt" <<'GT'
signal.define("rows", axis=0)
signal.define("whole", replicated=true)
signal whole { w = param(ones(6, 4)) }
for i in range(3) {
    signal rows { x = full([8, 6], i + 1.0); loss = (x @ w).square().sum() }
    backward loss
    w = param(w - 0.001 * w.grad)
}
print(loss, w.sum())
GT
code unsharded 0 "$GTSH" "$TMP/b.gt"; expected=$(out)
GT_INSTRUCTION_LOG="$t" code sharded 0 "$GTSH" -w 2 --threads 1 "$TMP/b.gt"; same sharded "$(out)" "$expected"
group=$(awk '$3 == "+" && $6 == "group" && NF == 8 { print $5 }' "$t")
has group "$group" g
has births "$(cat "$t")" " = c1 $group t1 = full 1.0 [8,6] f32 on=${group#g} split=[0,4]"
has terms "$(grep 'sum' "$t")" 'partial="sum"'
same "an all_reduce for each step" "$(awk '$3 == "=" && $8 == "all_reduce"' "$t" | wc -l)" 3
has "and why" "$(grep ' all_reduce ' "$t")" ' # for mul'
same "one line for all" "$(awk '$3 == "=" && $8 == "matmul" && $5 ~ /^w/' "$t" | wc -l)" 0
same "done by both" "$(awk '$6 == "done" && $10 == "op=all_reduce" { n[$5]++ } END { print n["w0"], n["w1"] }' "$t")" "3 3"
code "replay, unsharded" 0 "$GTSH" --replay "$t" --client c1; has "replay" "$(err)" "replayed"
code "replay on as many" 0 "$GTSH" -w 2 --replay "$t"; same "replay, output" "$(out)" "$expected"

# one-liners of gti(5)
awk '$3 == "<"' "$t" | sort -t= -k2 -rn | head -n 3 >"$TMP/slow"
same slowest "$(wc -l <"$TMP/slow")" 3
awk '$3 == "<" { sub("us=", "", $8); sub("op=", "", $10); us[$10] += $8 } END { for (op in us) print us[op], op }' "$t" |
    sort -rn >"$TMP/kinds"
has kinds "$(cat "$TMP/kinds")" matmul
same "times are numbers" "$(awk '$1 !~ /^[0-9.e+]+$/' "$TMP/kinds")" ""

# a pipeline: two stages on two workers compute at the same time
cat >"$TMP/c.gt" <<'GT'
signal.define("one", workers=[0])
signal.define("two", workers=[1])
signal one { a = randn(700, 700) / 30 }
signal two { b = randn(700, 700) / 30 }
for i in range(12) {
    signal one { x = randn(700, 700); for k in range(3) { x = (x @ a).tanh() } }
    signal two { for k in range(3) { x = (x @ b).tanh() }; y = x.sum() }
}
print(y > -inf)
GT
GT_INSTRUCTION_LOG="$t" code pipeline 0 "$GTSH" -w 2 --threads 1 "$TMP/c.gt"
# Each stage has three products in a turn. The first stage begins a turn before the second ends the one before it; this
# does not depend on which worker the system runs more.
awk '$3 == "<" && $10 == "op=matmul" { print $1 - substr($8, 4) / 1e6, $1, $5 }' "$t" | sort -n | awk '
    NR == 1 { one = $3 }
    $3 == one { if (n1 % 3 == 0) begin[n1 / 3] = $1; n1++ }
    $3 != one { n2++; if (n2 % 3 == 0) end[n2 / 3 - 1] = $2 }
    END { for (i = 0; i < 11; i++) ahead += begin[i + 1] < end[i]; print n1, n2, ahead + 0; exit !(ahead > 3) }' >"$TMP/ahead" ||
    fail "the stages do not overlap (products of each, turns begun early): $(cat "$TMP/ahead")"

# The other worker waits for the first turn, and says for whom. Transfers name whom they read from. Each instruction was sent
# before it was received by a worker, and what a worker computes does not overlap (times are cut to microseconds).
has "waits" "$(awk '$5 == "w1" && $6 == "idle"' "$t")" " why=blocked on=w0 op=move"
same "transfers" "$(awk '$6 == "done" && $10 == "op=move" && !/ from=w[01] moved=[0-9]+$/ && $5 == "w1"' "$t")" ""
same "order" "$(awk '$3 == "=" && $7 == "=" { sent[$6] = $1 } $3 == "=" && $8 == "move" { moves[$6] = 1 }
    $6 == "done" { begin = $1 - substr($8, 4) / 1e6; id = $7; sub(/,.*/, "", id)
        if (id in sent && begin < sent[id] - 5e-6) print "before it was sent:", $0
        if (!(id in moves) && begin < end[$5] - 5e-6) print "overlap:", $0
        if (!(id in moves)) end[$5] = $1 }' "$t")" ""

# a daemon's: flushed while it runs, complete after SIGTERM; clients by name
"$B/gt-dispatcher" -w 1 --threads 1 --memory 64M --log "$t" >"$TMP/d.out" 2>"$TMP/d.err" & d=$!
trap 'kill -KILL $d 2>/dev/null' EXIT
await "$TMP/d.out" ready
"$GTSH" -d local -c 'print(ones(2).sum())' >"$TMP/1" & one=$!
"$GTSH" -d local -c 'print(ones(3).sum())' >"$TMP/2"
wait $one
poll grep -q ' - c2 - client left' "$t"
has "flushed while it runs" "$(cat "$t")" " - c2 - client left"
kill -TERM $d; wait $d; same "ends in order" $? 0
same "whole lines" "$(tail -c 1 "$t" | od -An -c | tr -d ' ')" '\n'
code "which client" 65 "$GTSH" --replay "$t"; has "which client" "$(err)" "--client: c1, c2"
code "each alone" 0 "$GTSH" --replay "$t" --client c1; a=$(out)
code "each alone" 0 "$GTSH" --replay "$t" --client c2
same "both" "$(printf '%s\n%s\n' "$a" "$(out)" | sort)" "$(sort "$TMP/1" "$TMP/2")"

# a log that cannot be written: an error at the start, later one message
code "no such place" 1 "$B/gt-dispatcher" --log /nowhere/tape; has "no such place" "$(err)" "No such file"
GT_INSTRUCTION_LOG=/nowhere/tape code "no such place" 69 "$GTSH" -c 'x = ones(1)'; has "no such place" "$(err)" "instruction log"
GT_INSTRUCTION_LOG=/dev/full code "full disk" 0 "$GTSH" -c 'x = ones(1); for i in range(9000) { x = x + 1 }; print(x)'
same "full disk" "$(out)" "tensor([9001.])"
same "full disk" "$(err)" "[DISPATCHER] the instruction log '/dev/full' ends here: No space left on device"
# ... also if only the last lines cannot be written; past a limit of the file size a write fails, and no signal ends the program
limited() { # BLOCKS COMMAND...
    ulimit -f "$1"
    shift
    exec "$@"
}
long='x = ones(1); for i in range(300) { x = x + i }; print(x)'
GT_INSTRUCTION_LOG="$TMP/big" code "file size" 0 limited 8 "$GTSH" -c "$long"; same "file size" "$(out)" "tensor([44851.])"
same "file size" "$(err)" "[DISPATCHER] the instruction log '$TMP/big' ends here: File too large"
elements='x = tensor(range(400000)); print(x.sum())'
code "file size of elements" 1 limited 100 "$GTSH" --tee "$TMP/big.gti" -c "$elements"
has "file size of elements" "$(err)" "big.gti.data' takes no more elements: File too large"
case $(err) in *"elements are in"*) fail "file size of elements: $(err)" ;; esac
code "file size of --tee" 1 limited 8 "$GTSH" --tee "$TMP/big.gti" -c "$long"; has "file size of --tee" "$(err)" "File too large"
finish
