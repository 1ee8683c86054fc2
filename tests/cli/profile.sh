# gtsh --profile: the table on standard error, the CSV file, its counts and times by source line, on one worker and on
# two, with and without plans and fusions; of programs that fail; on a running dispatcher; no other bits.
. tests/fixtures/check.sh; . tests/fixtures/daemons.sh
TOP=$PWD; XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
cd "$TMP" || exit 1
cat >heavy.gt <<'G'
x = rand(64, 64)
w = rand(256, 256) / 128.0
for i in range(300) {
    x = x + 1.0
    w = w @ w / 64.0
}
print(x.sum(), w.mean())
G
field() { awk -F, -v line="$2" -v k="$3" '$2 == line { print $k }' "$1"; }

# the table
code "a table" 0 "$GTSH" --profile heavy.gt
same "standard output has the results alone" "$(wc -l <"$TMP/out")" 1
has "the first line sums up" "$(head -n 1 "$TMP/err")" " on 1 worker in "
same "the heads of the columns" "$(sed -n 2p "$TMP/err" | tr -s ' ')" " share time bytes instrs line"
has "the line that takes most is first" "$(sed -n 3p "$TMP/err")" "heavy.gt:5  w = w @ w / 64.0"
awk 'length($0) > 80 { exit 1 }' "$TMP/err" || fail "the table is wider than 80 columns"

seq 45 | sed 's/.*/a& = rand(100, 100) * &.0/' >many.gt
code "many lines" 0 "$GTSH" --profile many.gt
has "the rest" "$(tail -n 1 "$TMP/err")" "--profile=FILE lists all"

# the file: instructions do not depend on workers, plans or fusions; bytes only on fusions
"$GTSH" heavy.gt >plain
for with in GT_FUSE=0 GT_FUSE=1 "GT_FUSE=0 GT_PLAN=0" "GT_FUSE=0 GT_HOTPATH_THRESHOLD=0"; do
    code "$with" 0 env $with "$GTSH" --profile=p.csv heavy.gt
    same "$with: the same bits" "$(cat "$TMP/out")" "$(cat plain)"
    same "$with: no table" "$(err)" ""
    same "$with: head" "$(head -n 1 p.csv)" "file,line,share,us,transfer_us,bytes,transfer_bytes,instructions,text"
    same "$with: instructions of line 4" "$(field p.csv 4 8)" 300
    same "$with: instructions of line 5" "$(field p.csv 5 8)" 600
    same "$with: instructions of line 2" "$(field p.csv 2 8)" 2
    same "$with: line 3 has none" "$(field p.csv 3 8)" ""
    [ "$with" = GT_FUSE=1 ] || same "$with: bytes of line 4" "$(field p.csv 4 6)" $((300 * 64 * 64 * 4))
    [ "$with" = GT_FUSE=1 ] || same "$with: bytes of line 5" "$(field p.csv 5 6)" $((600 * 256 * 256 * 4))
    awk -F, '$2 == 4 { a = $4 } $2 == 5 { b = $4 } { s += $3 } END { exit !(a > 0 && b > a && s > 0.99 && s < 1.01) }' p.csv ||
        fail "$with: times: $(cat p.csv)"
    same "$with: text" "$(field p.csv 4 9)" '"x = x + 1.0"'
done
ms=$(awk -F, 'NR > 1 { s += $4 } END { printf "%d", s / 1000 }' p.csv)
[ "$ms" -gt 0 ] || fail "the times add up to $ms ms"

# Lines of one kernel share its time: here equally.
cat >fused.gt <<'G'
x = rand(1000, 1000)
for i in range(40) {
    y = x * 2.0
    z = y + 1.0
}
sync()
G
began=$(date +%s)
code "a kernel" 0 env GT_FUSE=wait "$GTSH" --profile=p.csv fused.gt
awk -F, '$2 == 3 { a = $4 } $2 == 4 { b = $4 } END { exit !(a > 0 && b < 1.5 * a && a < 1.5 * b) }' p.csv ||
    fail "shares of a kernel: $(cat p.csv)"
awk -F, -v most=$(($(date +%s) - began + 1)) 'NR > 1 { s += $4 } END { exit s > most * 1e6 }' p.csv ||
    fail "more time than the program took: $(cat p.csv)"

# A kernel counts for the tools as its heaviest operation, at that one's line, also in a loop body that repeats.
cat >product.gt <<'G'
x = rand(256, 256); w = rand(256, 256)
for i in range(40) {
    y = x @ w
    z = (y * 2.0).tanh()
    x = z / (1 + (z * z).sum())
}
print(x.sum() > 0)
G
code "a product" 0 env GT_FUSE=wait GT_INSTRUCTION_LOG=product.tape "$GTSH" product.gt
kernels=$(awk '$3 == "<" && $10 == "op=matmul" && $11 ~ /^of=t/' product.tape | wc -l)
[ "$kernels" -ge 30 ] || fail "kernels named after their product: $kernels"
code "the summary" 0 "$B/gt-trace" product.tape; has "the summary" "$(out | sed -n 5p)" "product.gt:3"
has "the summary" "$(out | sed -n 5p)" "  matmul "
code "of=" 65 "$B/gt-trace" - <<'T'
gti 1 kind=tape
0.004020 1 < c1 w0 done t2 us=812 bytes=4000000 op=matmul of=x
T
has "of=" "$(err)" "<stdin>:2: error: column 62: of= is an id such as t12"

# sharded: times of both workers, and what they fetch from each other
cat >split.gt <<'G'
signal.define("a", axis=0, workers=[0, 1])
signal a { x = rand(512, 512) }
for i in range(20) {
    y = x @ x.T
    s = y.sum().item()
}
G
code "two workers" 0 "$GTSH" -w 2 --profile=p.csv split.gt
awk -F, '$2 == 4 { ok = $4 > 0 && $5 > 0 && $7 >= 20 * 512 * 512 * 4 } END { exit !ok }' p.csv ||
    fail "transfers: $(cat p.csv)"
code "two workers, table" 0 "$GTSH" -w 2 --profile split.gt
has "transfers" "$(sed -n 2p "$TMP/err")" transfer
has "two of them" "$(err)" " on 2 workers in "

# a file that cannot be written is found before the run
code "no directory" 1 "$GTSH" --profile="$TMP/none/p.csv" -c 'print(1)'
same "no directory" "$(out)" ""; has "no directory" "$(err)" "cannot write '$TMP/none/p.csv': No such file or directory"
code "a directory" 1 "$GTSH" --profile="$TMP" -c 'print(1)'; has "a directory" "$(err)" "Is a directory"
code "a device" 0 "$GTSH" --profile=/dev/null -c 'print(1)'

# programs that end otherwise
code "nothing computed" 0 "$GTSH" --profile -c 'print(1)'; same "nothing computed" "$(err)" "no instructions"
code "exit" 3 "$GTSH" --profile -c 'x = ones(3) + 1; exit(3)'; has "exit" "$(err)" "-c:1"
code "an error" 1 "$GTSH" --profile -c 'x = ones(3) + 1
x.reshape(4)'
has "an error, and the table" "$(err)" " on 1 worker in "
code "worker's error" 1 "$GTSH" --profile -c 'x = ones(3)[tensor([7])]; sync()'; has "worker's error" "$(err)" " on 1 worker in "
code "the prompt" 0 sh -c 'echo "ones(3) + 1" | "$0" -iq --norc --profile' "$GTSH"; has "the prompt" "$(err)" " ones(3) + 1"
code "instructions" 0 sh -c '"$0" --emit heavy.gt >heavy.gti && "$0" --profile --replay heavy.gti' "$GTSH"
has "instructions" "$(err)" "600  heavy.gt:5"

# options
code "no such folder" 1 "$GTSH" --profile=no/such/p.csv -c 'ones(3) + 1'; has "no such folder" "$(err)" "no/such/p.csv"
code "no name" 2 "$GTSH" --profile= -c 1; has "no name" "$(err)" "needs the name of a file"
code "--dry" 0 "$GTSH" --profile --dry --replay heavy.gti; has "--dry" "$(err)" "--profile has no effect: --dry runs nothing"
code "--emit" 0 "$GTSH" --profile --emit -c 'ones(3)'; has "--emit" "$(err)" "--profile has no effect: --emit computes nothing"

# a running dispatcher with two workers in processes
code "up" 0 sh "$TOP/scripts/cluster" up -w 2
all="$all $(cat "$TMP/gt/cluster.pid")"
code "a dispatcher" 0 "$GTSH" -d local --profile=p.csv heavy.gt
same "a dispatcher: instructions" "$(field p.csv 5 8)" 600
awk -F, '$2 == 5 { ok = $4 > 0 } END { exit !ok }' p.csv || fail "a dispatcher: $(cat p.csv)"
code "without it" 0 "$GTSH" -d local heavy.gt; same "without it" "$(err)" ""
code "down" 0 sh "$TOP/scripts/cluster" down
finish
