# track() under --log-dir: metrics.csv, and TensorBoard's event file beside it, which its own reader reads if Python has it
# (GT_PYTHON); the names of files, missing directories, a second run, and replay. tests/unit/events_test.c has the bytes.
. tests/fixtures/check.sh
cd "$TMP" || exit 1
cat >t.gt <<'G'
for i in range(3) {
    track(loss=tensor(2.0) / (i + 1), lr=0.25)
}
G
code "a run" 0 "$GTSH" --log-dir a/b t.gt; same "a run" "$(err)" ""
same "metrics.csv" "$(cat a/b/metrics.csv)" "step,name,value
0,loss,2.0
0,lr,0.25
1,loss,1.0
1,lr,0.25
2,loss,0.6666666865348816
2,lr,0.25"
set -- a/b/events.out.tfevents.*
same "one file" "$#" 1
echo "$1" | grep -qE '^a/b/events\.out\.tfevents\.[0-9]{10}\.[A-Za-z0-9._-]+\.[0-9]+\.0$' || fail "its name: $1"
# 40 and 29 bytes to begin with, then a record of each step: 12 and 4 around a time (9), a step (2, if not 0), a summary
same "its size" "$(wc -c <"$1")" $((40 + 29 + 3 * (16 + 9 + 2 + 13 + 11) + 2 * 2))
same "its version" "$(grep -ac 'brain.Event:2' "$1")" 1
code "an instruction file" 0 sh -c '"$0" --emit t.gt >t.gti && "$0" --log-dir c --replay t.gti' "$GTSH"
same "replay: metrics.csv" "$(cat c/metrics.csv)" "$(cat a/b/metrics.csv)"
same "replay: events" "$(cat c/events.out.tfevents.* | wc -c)" "$(wc -c <"$1")"
code "again" 0 "$GTSH" --log-dir a/b -c 'track(loss=7.0)'
same "again: metrics.csv is replaced" "$(cat a/b/metrics.csv)" "step,name,value
0,loss,7.0"
set -- a/b/events.out.tfevents.*; same "again: event files are kept" "$#" 2
code "names" 0 "$GTSH" --log-dir q -c 'm = {"a,b": 1.0, "say \"x\"": 2.0, "two\nlines": 3.0}; track(**m)'
same "names: metrics.csv" "$(cat q/metrics.csv)" 'step,name,value
0,"a,b",1.0
0,"say ""x""",2.0
0,"two
lines",3.0'
code "nothing tracked" 0 "$GTSH" --log-dir d -c 'print(1)'; [ -e d ] && fail "a directory without values"
printf x >file
code "no directory" 1 "$GTSH" --log-dir file/d -c 'track(loss=1)'; has "no directory" "$(err)" "file"
# the real reader: the second run alone, as in metrics.csv
python=${GT_PYTHON:-python3}
if "$python" -c 'import tensorboard' 2>/dev/null; then
    cat >read.py <<'P'
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
e = EventAccumulator(sys.argv[1])
e.Reload()
for tag in sorted(e.Tags()["scalars"]):
    print(tag, [(s.step, round(s.value, 4)) for s in e.Scalars(tag)])
P
    same "TensorBoard" "$("$python" read.py c 2>/dev/null)" "loss [(0, 2.0), (1, 1.0), (2, 0.6667)]
lr [(0, 0.25), (1, 0.25), (2, 0.25)]"
    has "TensorBoard: two runs" "$("$python" read.py a/b 2>/dev/null)" "loss [(0, 7.0)]"
else
    skip "tensorboard is not installed"
fi
finish
