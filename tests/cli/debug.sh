# What a program sees of its own run: debug.tape(n) and :tape N, the last instructions; :stats and :workers; and the
# variables that log stages, each with its prefix, and silent if 0, empty or not set.
. tests/fixtures/check.sh; . tests/fixtures/daemons.sh

# ---- the last instructions
cat >"$TMP/tape.gt" <<'G'
print(debug.get_tape(5), [debug.tape(5)])
x = ones(3)
note("mark")
y = x * 2 + 1
print(debug.tape(3))
print(debug.get_tape(4))
for i in range(80000) { x = x * 2 + 1; y = relu(x) }
debug.print_tape(3)
n = len(debug.get_tape(1000000))
print(n > 1000, n < 240000, len(debug.get_tape(100)), debug.get_tape(0))
debug.tape(-1)
G
for with in "-w 1" "-w 2"; do
    code "debug.tape $with" 1 "$GTSH" $with "$TMP/tape.gt"
    same "debug.tape $with" "$(sed "s| @$TMP/| @|g" "$TMP/out")" '[] [""]
t1 = mul t0 2 @tape.gt:4
t2 = add t1 1 @tape.gt:4
free t1

["note \"mark\" @tape.gt:3", "t1 = mul t0 2 @tape.gt:4", "t2 = add t1 1 @tape.gt:4", "free t1"]
t240002 = relu t240001 @tape.gt:7
free t239999
edge
true true 100 []'
    has "debug.tape $with: -1" "$(err)" "the number of instructions must not be negative"
done
same "off" "$(GT_WATCH=0 "$GTSH" -c 'x = ones(3); print([debug.tape(3)])')" '[""]'
# only this client's, on a dispatcher that has others
code "up" 0 sh scripts/cluster up -w 1; all="$all $(cat "$TMP/gt/cluster.pid")"
"$GTSH" -d local -c 'secret = full([2], 42.5); print(secret)' >"$TMP/other"
code "other clients" 0 "$GTSH" -d local -c 'x = ones(3); print(debug.tape(100))'
same "other clients" "$(out)" "t0 = full 1 [3] f32 @-c:1"
code "down" 0 sh scripts/cluster down

# ---- at the prompt
cat >"$TMP/typed" <<'G'
:help
:workers
:stats
:tape 2
w = param(ones(3000));
y = (w * 2).sum();
note("mark")
:tape 2
:tape y
:workers
:stats
G
"$GTSH" -w 2 -iq --norc <"$TMP/typed" >"$TMP/out" 2>"$TMP/err" || fail "the prompt: $(err)"
awk 'length($0) > 80 { exit 1 }' "$TMP/out" || fail "a line is wider than 80 columns: $(out)"
has "before" "$(out)" "2 workers, to be started with the first tensor
no workers yet: they start with the first tensor
no instructions
"
has ":tape 2" "$(out)" 'note "mark" @repl:7
sync
Autograd Tape (2 operations, 1 parameter):'
has ":workers" "$(tr -s ' ' <"$TMP/out")" "WORKER ENGINE THREADS MEMORY TENSORS INSTRUCTIONS QUEUE
w0 cpu-"
has ":stats" "$(tr -s ' ' <"$TMP/out")" "
kernels 3 0
bytes_used 12 KiB 0 B
"
has ":stats" "$(out)" " more counters are 0; stats() has all"

echo '?debug' | "$GTSH" -iq --norc >"$TMP/out" 2>&1
has "?debug: what is written in C" "$(out)" "  debug.print_tape        Prints"
has "?debug: what is written in the prelude" "$(out)" "  debug.print_kernel      Prints"

# ---- logs
program='x = ones(3) + 1; print(x.exp().log())'
code "silent" 0 "$GTSH" -c "$program"; same "silent" "$(err)" ""; result=$(out)
for row in "GT_DEBUG_CLIENT [CLIENT] t0_=_full" "GT_DEBUG_DISPATCHER [DISPATCHER] c1_>_t0_=_full" "GT_DEBUG_WORKER [WORKER] w0_c1_t0_=_full" \
    "GT_DEBUG_COMPILE [COMPILE] w0_c1:_add_exp_log" "GT_VERBOSE [CLIENT] client_c1_at"; do
    set -- $row
    code "$1=1" 0 env "$1=1" "$GTSH" -c "$program"
    has "$1=1" "$(err)" "$2 $(echo "$3" | tr _ ' ')"; same "$1=1: output" "$(out)" "$result"
    others=$(grep -vF "$2" "$TMP/err")
    [ "$1" = GT_VERBOSE ] || same "$1=1: others" "$others" ""
    for off in "$1=0" "$1=" "$1=off"; do
        code "$off" 0 env "$off" "$GTSH" -c "$program"; same "$off" "$(err)" ""
    done
done
for row in "i [WORKER] w0 c1 t0 = full" "i [DISPATCHER] c1 > t0 = full" "i [CLIENT] t0 = full" "g Autograd Tape (" "w [CLIENT] frame: " \
    "s [DISPATCHER] client c1 connected" "m [CLIENT] your_tensors=" "k [COMPILE] w0 c1: " "t 1:1 NAME w" "a (block"; do
    letter=${row%% *}
    code "--debug=$letter" 0 "$GTSH" --debug=$letter -c 'w = param(ones(3)); backward (w * 2).exp().sum()'
    has "--debug=$letter" "$(err)" "${row#* }"; same "--debug=$letter: output" "$(out)" ""
done
finish
