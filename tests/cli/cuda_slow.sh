# A compilation of the engine cuda that does not end, by the NVRTC of tests/gpu/nvrtc.c: the worker sends heartbeats meanwhile, shows
# its counters and answers Ctrl-C. If its dispatcher is gone it ends with the compilation.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "slow compilations are not tested"
keep_ptx "$TMP/ptx"
export XDG_CACHE_HOME="$TMP/cache" GT_EMU_NVRTC_HOLD="$TMP/hold" GT_DISPATCHER=local
start d "$D"
d=$pid
await "$TMP/d.out" "ready at"
start w "$W" --once --engine cuda --memory 64M --threads 1
w=$pid
await "$TMP/d.err" "w0"
# slow LABEL SCRIPT: the script waits for a compilation, in $c
slow() {
    : >"$TMP/hold"
    start c "$GTSH" -c "$2"
    c=$pid
    poll test -e "$TMP/hold.waits" || fail "$1: nothing is compiled"
}
ends() {
    rm "$TMP/hold"
    poll test ! -e "$TMP/hold.waits"
}
# cancelled LABEL SCRIPT: Ctrl-C ends it, while it is being compiled
cancelled() {
    slow "$1" "$2"
    code "$1: counters" 0 "$GTSH" -c 'print(stats()["w0.kernels"] >= 0)'
    kill -INT "$c"
    wait "$c"
    same "$1: exit code" $? 130
    ends
}
cancelled "a fusion" 'x = (tensor([1.0, 2]) * 2 + 1).exp(); print(x)'
cancelled "one operation" 'x = tensor([3.0, 1, 2]).cumsum(0); print(x)'
# Longer than a worker may be silent.
slow "12 s" 'print((tensor([1.0, 2]) * 3 - 1).tolist())'
sleep 12
ends
wait "$c"
same "12 s: exit code" $? 0
same "12 s" "$(cat "$TMP/c.out" "$TMP/c.err")" "[2.0, 5.0]"
grep -q "lost" "$TMP/d.err" && fail "the worker was lost: $(cat "$TMP/d.err")"
code "after a cancel" 0 "$GTSH" -c 'print(tensor([3.0, 1, 2]).cumsum(0).tolist())'
same "after a cancel" "$(out)" "[3.0, 4.0, 6.0]"
slow "no dispatcher" 'print((tensor([1.0, 2]) / 3 - 1).tolist())'
kill -KILL "$d"
ends
wait "$w"
same "no dispatcher: exit code" $? 69
finish
