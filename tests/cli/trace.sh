# gt-trace: tapes of real runs as tapes, JSON and CSV; the summary; mistakes; recording a running dispatcher.
. tests/fixtures/check.sh
T="$B/gt-trace"
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
unset GT_INSTRUCTION_LOG

# trace_rules FILE: the rules of the trace-event format, of our files, which have an event a line. Prints what is broken, then
# how many slices, transfers and other events there are.
trace_rules() {
    awk '
    function number(key,  at, s) {
        at = index($0, "\"" key "\":"); if (!at) return -1e300
        s = substr($0, at + length(key) + 3); sub(/[,}].*/, "", s); gsub(/"/, "", s); return s + 0
    }
    function lane() { return number("pid") "/" number("tid") }
    NR == 1 && $0 != "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" { print "not the first line: " $0 }
    NR == 1 { next }
    $0 == "]}" { closed = 1; next }
    closed { print "text after the end: " $0 }
    !/^\{"ph":"[XMbeCi]","pid":[0-9]+,"tid":[0-9]+,"name":".*\}+,?$/ { print "line " NR " is not an event: " $0; next }
    !/,$/ { last++ }
    { phase = substr($0, 8, 1); n[phase]++; ts = number("ts") }
    phase == "M" && /"thread_name"/ { named[lane()] = 1; next }
    phase == "M" && /"process_name"/ { process[number("pid")] = 1; next }
    phase == "M" { next }
    { if (ts < 0) print "line " NR " has no time"; if (!(number("pid") in process)) print "line " NR ": a process without a name" }
    phase == "X" {
        end = int(ts * 1000 + 0.5) + int(number("dur") * 1000 + 0.5); begin = int(ts * 1000 + 0.5); l = lane()
        if (end < begin) print "line " NR " ends before it begins"
        if (!(l in named)) print "line " NR ": lane " l " has no name"
        nests = /"cat":"signal"/
        if (begin < started[l]) print "line " NR ": lane " l " is not in order"
        started[l] = begin
        while (depth[l] && stack[l, depth[l]] <= begin) depth[l]--
        if (depth[l] && (!nests || stack[l, depth[l]] < end)) print "line " NR ": overlap on lane " l
        stack[l, ++depth[l]] = end
    }
    phase == "b" { open[number("id")] = ts; if (opened[number("id")]++) print "line " NR ": an id twice" }
    phase == "e" { if (!(number("id") in open) || open[number("id")] > ts) print "line " NR ": an end without a beginning"
                   delete open[number("id")] }
    END { for (id in open) print "pair " id " has no end"; if (!closed) print "no end"; if (last != 1) print "a comma is missing"
          printf "X=%d b=%d\n", n["X"], n["b"] }' "$1"
}

# run NAME ARGUMENTS...: its tape, on four workers, and the checks that hold for every tape
run() {
    name=$1
    shift
    GT_INSTRUCTION_LOG="$TMP/$name.tape" code "run $name" 0 "$GTSH" -w 4 --threads 1 "$@"
    code "$name chrome" 0 "$T" "$TMP/$name.tape" -o "$TMP/$name.json"
    out >"$TMP/$name.txt"
    code "$name csv" 0 "$T" "$TMP/$name.tape" -o "$TMP/$name.csv"
    code "$name tape" 0 "$T" -o "$TMP/again" "$TMP/$name.tape"
    cmp -s "$TMP/again" "$TMP/$name.tape" || fail "$name: the whole tape is not the tape"
    rules=$(trace_rules "$TMP/$name.json")
    done=$(awk '$3 == "<" && $6 == "done"' "$TMP/$name.tape" | wc -l)
    same "$name, rules" "$(echo "$rules" | grep -v '^X=')" ""
    transfers=$(awk -F, '$2 == "transfer"' "$TMP/$name.csv" | wc -l)
    compiles=$(awk -F, '$2 == "compile"' "$TMP/$name.csv" | wc -l)
    same "$name, transfers" "${rules##*b=}" $((transfers + compiles))
    same "$name, csv" "$(awk -F, '$2 == "compute" || $2 == "transfer"' "$TMP/$name.csv" | wc -l)" "$done"
    [ "$transfers" -gt 10 ] || fail "$name: only $transfers transfers"
    same "$name, columns" "$(awk -F, '!/"/ && NF != 16' "$TMP/$name.csv")" ""
    has "$name, summary" "$(cat "$TMP/$name.txt")" "4 workers, 1 client, $done operations"
    has "$name, win" "$(cat "$TMP/$name.txt")" "largest win: "
    # the parts of each worker's time are the whole
    same "$name, parts" "$(awk '$1 ~ /^w[0-3]$/ && $2 ~ /%$/ { s = 0; for (i = 2; i <= 8; i++) s += $i
                               if (s < 99.6 || s > 100.4) print }' "$TMP/$name.txt")" ""
    if command -v python3 >/dev/null; then
        code "$name, json" 0 python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))["traceEvents"]
print(sum(e["ph"] == "X" for e in d))' "$TMP/$name.json"
        same "$name, json" "$(out)" "$(echo "$rules" | sed -n 's/^X=\([0-9]*\).*/\1/p')"
    fi
}
run pipeline --config scripts/pipeline.yaml scripts/pipeline.gt --steps 4
run data_parallel --config scripts/data_parallel.yaml scripts/data_parallel.gt --steps 5
run charlm --config scripts/charlm.yaml scripts/charlm.gt --data README.md --steps 2 --sample 0 --ctx 16 --width 32 --layers 1 \
    --batch 8

# what is in it: moves between neighbours of the pipeline, all_reduce between all, source lines, signals
p="$TMP/pipeline"
has "source" "$(grep '"name":"matmul"' "$p.json" | head -n 1)" '"source":"scripts/pipeline.gt:'
has "signals" "$(grep '"cat":"signal"' "$p.json")" '"name":"stage_1_back"'
same "who moves to whom" "$(sed -n '/^bytes per link/,/^largest/p' "$p.txt" | awk '$2 == "->" { print $1, $3 }' | sort | head -n 3 |
    tr '\n' ',')" "w0 w1,w0 w3,w1 w0,"
has "all_reduce" "$(awk -F, '$2 == "transfer"' "$TMP/data_parallel.csv")" ",all_reduce,transfer,c1,"
# a micro-batch's products come one after the other along the stages: its bubble and its order are in the trace
sed -n 's/.*"pid":1\([0-3]\),.*"name":"tanh".*"ts":\([0-9.]*\),.*"signal":"stage_\([0-3]\)".*/\1 \3/p' "$p.json" | sort -u >"$TMP/stages"
same "stages" "$(tr '\n' ',' <"$TMP/stages")" "0 0,1 1,2 2,3 3,"

# parts of it
code "signal" 0 "$T" --signal stage_1 --format csv "$p.tape"
same "signal" "$(awk -F, 'NR > 1 { print $1, $NF }' "$TMP/out" | sort -u | tr '\n' ',')" "w1 stage_1,"
code "client" 0 "$T" -c c7 --format csv "$p.tape"; same "no such client" "$(grep -cE ",(compute|transfer|idle)," "$TMP/out")" 0
code "replay" 0 "$GTSH" --replay "$TMP/data_parallel.tape"; replayed=$(out)
"$T" -c c1 -o - "$TMP/data_parallel.tape" 2>/dev/null >"$TMP/c1"
code "a client's tape replays" 0 "$GTSH" --replay "$TMP/c1"; same "a client's tape replays" "$(out)" "$replayed"
code "events" 0 "$T" -n 10 -o - "$p.tape"; same "ten events" "$(wc -l <"$TMP/out")" 11
head -n 11 "$p.tape" | cmp -s - "$TMP/out" || fail "-n: not the first lines"
end=$(awk '$3 == ">" { t = $1 } END { print t }' "$p.tape")
code "window" 0 "$T" --from 0 --to "$end" --format csv "$p.tape"
same "window" "$(awk -F, -v end="$end" 'NR > 1 && $4 > end * 1e6 + 0.001' "$TMP/out")" ""
code "pipe" 0 sh -c "\"$T\" -o - - <\"$p.tape\" | cmp - \"$p.tape\""
has "summary on the other stream" "$(err)" "largest win"

# a running dispatcher
"$B/gt-dispatcher" -w 2 --threads 1 --memory 64M >"$TMP/d.out" 2>"$TMP/d.err" & d=$!
trap 'kill -KILL $d $loop 2>/dev/null' EXIT
await "$TMP/d.out" ready
cat >"$TMP/loop.gt" <<'GT'
x = rand(64, 64)
while true {
    signal forward { x = (x @ x).tanh() }
    if x.sum().item() > 1e9 { print("large") }
    sleep(0.01)
}
GT
"$GTSH" -d local "$TMP/loop.gt" >"$TMP/loop" 2>&1 & loop=$!
works() { "$T" -s 0.3 -o - 2>/dev/null | grep -q ' < c1 w. done .*op=matmul'; }
poll works || fail "nothing of the loop was recorded: $(cat "$TMP/loop")"
PATH=$B:$PATH; export PATH
# as in the documentation
gt-trace -s 5 -o - 2>"$TMP/err" | awk '$3=="<"' | sort -t= -k2 -rn | head >"$TMP/out"
same "the slowest" "$(grep -c ' < .* us=' "$TMP/out")" 10
same "recorded, how long" "$(awk 'NR == 1 && ($3 != "s," || $2 < 4.5 || $2 > 9)' "$TMP/err")" ""
has "recorded" "$(err)" "2 workers, 1 client, "
has "recorded, where" "$(err)" "$TMP/loop.gt:3"
code "the past" 0 gt-trace -s -5 -d local -o "$TMP/past"
has "the past" "$(out)" "largest win: "
has "the past" "$(head -n 1 "$TMP/past")" "gti 1 kind=tape"
code "the past, again" 0 gt-trace "$TMP/past" -o "$TMP/past.json"
same "the past, rules" "$(trace_rules "$TMP/past.json" | grep -v '^X=')" ""
has "the past, done" "$(cat "$TMP/past")" " op=matmul"
code "so many" 0 gt-trace -n 100 -o - --signal forward; same "so many" "$(wc -l <"$TMP/out")" 101
same "of a signal" "$(awk '$3 == ">" && $8 == "sum"' "$TMP/out")" ""
gt-trace -s 600 -o "$TMP/cut" >"$TMP/cut.out" 2>&1 & cut=$!
poll [ -s "$TMP/cut" ]
kill -INT $cut; wait $cut; same "interrupted" $? 0
has "interrupted" "$(cat "$TMP/cut.out")" "most time"
gt-trace -s 600 --format csv >"$TMP/gone" 2>"$TMP/gone.err" & gone=$!
sleep 0.5
kill -TERM $d; wait $d
wait $gone; same "the dispatcher ends" $? 0
has "the dispatcher ends" "$(cat "$TMP/gone")" "worker,kind"
wait $loop
code "nobody" 69 gt-trace -s 1 -d local; has "nobody" "$(err)" "gt-trace: "

# mistakes
printf 'gti 1 kind=tape\n0.1 1 < c1 w0 done t1 us=1 bytes=4 op=exp\n0.2 2 < c1 w0 done t2 us=x\n' >"$TMP/bad"
code "a mistake" 65 "$T" "$TMP/bad"; same "a mistake" "$(err)" "$TMP/bad:3: error: column 26: us= is a number of microseconds"
printf 'gti 1 kind=tape\n0.1 1 < c1 w0 done t1 us=1 bytes=4 op=exp\n0.2 2 < c1 w0 done t2 u' >"$TMP/torn"
code "torn" 0 "$T" "$TMP/torn"; has "torn" "$(out)" "line 3, the last, is incomplete and was skipped"
code "not a tape" 65 "$T" README.md; has "not a tape" "$(err)" "README.md:1: error: column 1: a tape begins with the line 'gti 1 kind=tape'"
"$GTSH" --emit -c 'print(ones(2).sum())' >"$TMP/a.gti"
code "a program" 65 "$T" "$TMP/a.gti"; has "a program" "$(err)" "this is a program, not the tape of a run"
code "no file" 66 "$T" "$TMP/none"; has "no file" "$(err)" "cannot open"
: >"$TMP/empty"; code "empty" 65 "$T" "$TMP/empty"; has "empty" "$(err)" "empty:1: error: a tape begins"
code "itself" 1 "$T" -o "$TMP/torn" "$TMP/torn"; has "itself" "$(err)" "would be overwritten"
[ -s "$TMP/torn" ] || fail "the tape was overwritten"
code "full" 1 "$T" -o /dev/full --format csv "$p.tape"; has "full" "$(err)" "No space left"
code "format" 2 "$T" --format xml "$p.tape"; has "format" "$(err)" "--format is tape, chrome or csv, not 'xml'"
code "client's name" 2 "$T" -c bob "$p.tape"; has "client's name" "$(err)" "such as c1"
code "time" 2 "$T" --from x "$p.tape"; has "time" "$(err)" "--from needs a time, not 'x'"
# a choice that leaves nothing says why
code "unit" 0 "$T" --from 1us --to 20000ms "$p.tape"; case $(out) in *note:*) fail "unit: $(out)" ;; esac
code "no client" 0 "$T" -c c9 "$p.tape"; has "no client" "$(out)" "note: there is no client c9; the tape has c1"
code "no signal" 0 "$T" --signal stage "$p.tape"; has "no signal" "$(out)" "note: there is no signal 'stage'; the tape has stage_"
code "late" 0 "$T" --from 900 "$p.tape"; has "late" "$(out)" "note: nothing was computed in this part; the tape ends at "
code "the same of a picture" 0 "$B/gt-visualize" --signal stage "$p.tape" --text
has "the same of a picture" "$(err)" "gt-visualize: note: there is no signal 'stage'; the tape has stage_"
code "both" 2 "$T" -s 3 "$p.tape"; has "both" "$(err)" "--from and --to choose a part of a tape"
finish
