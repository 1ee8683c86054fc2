# Writing over a file replaces it completely or leaves it unchanged: mode and links are kept, and on a full disk the
# whole file is; for save, write and track. scripts/cluster does not write through another user's link.
. tests/fixtures/check.sh
cd "$TMP" || exit 1
mode() { stat -c %a "$1"; }
umask 022
cat >save.gt <<'G'
x = arange(6).float()
save(x, "t.npy"); save({w: x}, "m.safetensors"); save({a: [1, 2]}, "v.json")
write("s.txt", f"new {x.sum().item()}\n")
write("log.txt", "more\n", append=true)
G
for f in t.npy m.safetensors v.json s.txt log.txt; do printf 'old\n' >$f; chmod 600 $f; done
mkdir -m 700 far; printf 'old\n' >far/real.json; chmod 640 far/real.json; ln -sf far/real.json link.json; ln -s far/none.json to.json
code "it runs" 0 "$GTSH" save.gt
for f in t.npy m.safetensors v.json s.txt log.txt; do same "the mode of $f" "$(mode $f)" 600; done
same "written" "$(cat s.txt)" "new 15.0"
same "added" "$(cat log.txt)" "old
more"
"$GTSH" -c 'save({a: 1}, "link.json"); save({a: 2}, "to.json"); save({a: 3}, "fresh.json")'
[ -L link.json ] && [ -L to.json ] || fail "a link is not a link any more"
same "where it leads" "$(tr -d ' \n' <far/real.json)" '{"a":1}'
same "its mode" "$(mode far/real.json)" 640
same "where nothing was" "$(tr -d ' \n' <far/none.json)" '{"a":2}'
same "a new file" "$(mode fresh.json)" 644
mkdir run; printf 'old\n' >run/metrics.csv
chmod 600 run/metrics.csv
code "track" 0 "$GTSH" --log-dir run -c 'track(loss=2.0)'
same "track keeps the mode" "$(mode run/metrics.csv)" 600
same "track's rows" "$(cat run/metrics.csv)" "step,name,value
0,loss,2.0"
same "to a device" "$("$GTSH" -c 'write("/dev/stdout", "hi\n")')" hi
ls -A | grep -q tmp && fail "a file is left beside: $(ls -A)"

# On a full disk the old file stays whole, and no temporary file is left.
for f in t.npy m.safetensors v.json s.txt log.txt; do printf 'old\n' >$f; done
for what in 'save(zeros(100000), "t.npy")' 'save({w: zeros(100000)}, "m.safetensors")' 'write("s.txt", f"{list(range(20000))}")' \
    'save(list(range(20000)), "v.json")' 'write("log.txt", f"{list(range(20000))}", append=true)'; do
    (trap '' XFSZ; ulimit -f 16; exec "$GTSH" -c "$what" >out 2>err) && fail "$what: no error"
    has "$what: it says so" "$(cat err)" "cannot write"
done
for f in t.npy m.safetensors v.json s.txt log.txt; do same "$f is as before" "$(cat $f)" old; done
ls -A | grep -q tmp && fail "a file is left beside: $(ls -A)"

# The instruction log follows no link; the link's target is unchanged.
printf 'old\n' >far/tape; ln -s "$TMP/far/tape" tape.link; ln -s /dev/full full.link
timeout 10 "$B/gt-dispatcher" --ipc "$TMP/tape.socket" --log tape.link >out 2>err && fail "a log through a link"
has "it says so" "$(cat err)" "'tape.link': it is a link: name the file itself"
GT_INSTRUCTION_LOG=tape.link "$GTSH" -c 'print(ones(1))' >out 2>err && fail "a log through a link"
same "where it leads" "$(cat far/tape)" old
GT_INSTRUCTION_LOG=full.link "$GTSH" -c 'print(ones(1))' >out 2>err
same "a device by a link" "$(cat out)" "tensor([1.])"
GT_INSTRUCTION_LOG=new.tape "$GTSH" -c 'print(tensor(list(range(200000))).sum())' >out
same "a new tape is closed to others" "$(mode new.tape) $(mode new.tape.data) $(cat out)" "600 600 tensor(19999900000)"
printf 'old\n' >open.tape; chmod 640 open.tape; GT_INSTRUCTION_LOG=open.tape "$GTSH" -c 'print(ones(1))' >out
same "an old one keeps its mode" "$(mode open.tape)" 640
"$B/gt-dispatcher" --ipc "$TMP/log.socket" --log daemon.tape >out 2>err & d=$!
await out "ready at"; kill -TERM $d; wait $d
same "the dispatcher's is closed too" "$(mode daemon.tape)" 600
if [ "$(id -u)" = 0 ]; then # else there is no other user's file
    printf 'old\n' >theirs; chown 65534 theirs
    GT_INSTRUCTION_LOG=theirs "$GTSH" -c 'print(ones(1))' >out 2>err && fail "a log in another user's file"
    same "another user's" "$(cat theirs)" old
fi
printf 'longer than a tape can be: %9000d\n' 1 >log.tape; GT_INSTRUCTION_LOG=log.tape "$GTSH" -c 'print(ones(1))' >out
same "an old log goes" "$(head -n 1 log.tape; grep -c 0001 log.tape)" "gti 1 kind=tape
0"

# A directory that another user owns or can write, or that is a link.
cd - >/dev/null || exit 1
printf 'precious\n' >"$TMP/precious"
mkdir -m 700 "$TMP/rt" && mkdir "$TMP/rt/gt" && chmod 777 "$TMP/rt/gt" && ln -s "$TMP/precious" "$TMP/rt/gt/cluster.log"
XDG_RUNTIME_DIR=$TMP/rt code "a directory open to others" 1 sh scripts/cluster up -w 1
has "it says so" "$(err)" "with mode 0700"
same "not written through" "$(cat "$TMP/precious")" precious
mkdir -m 700 "$TMP/rl" "$TMP/elsewhere"; ln -s "$TMP/elsewhere" "$TMP/rl/gt"
XDG_RUNTIME_DIR=$TMP/rl code "a link" 1 sh scripts/cluster up -w 1
has "it says so" "$(err)" "with mode 0700"
mkdir -m 777 "$TMP/ro"; chmod 777 "$TMP/ro"; mkdir -m 700 "$TMP/ro/gt"
XDG_RUNTIME_DIR=$TMP/ro code "in a directory open to others" 1 sh scripts/cluster up -w 1
has "it says so" "$(err)" "with mode 0700"
XDG_RUNTIME_DIR=$TMP code "cluster up -w" 2 sh scripts/cluster up -w
has "cluster up -w" "$(err)" "cluster: -w needs a number of workers"
finish
