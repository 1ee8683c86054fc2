# An expanded operand may look far larger than all memory. A row that needs temporary memory for it gives an error, on
# both engines, and the worker continues.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
for engine in cpu reference; do
    start $engine "$D" --ipc "$TMP/$engine.sock" -w 1 -t 1 --engine $engine --memory 64M
done
row() { # row WHAT INSTRUCTION...
    what=$1
    shift
    { printf 'gti 1\nt0 = full 1 [] f32\nt1 = full 1 [] f16\n'; printf '%s\n' "$@"; } >"$TMP/a.gti"
    for engine in cpu reference; do
        await "$TMP/$engine.out" "ready at"
        code "$what on $engine" 1 "$GTSH" -d "$TMP/$engine.sock" --replay "$TMP/a.gti"
        has "$what on $engine" "$(err)" "out of memory"
        same "$what on $engine, afterwards" "$("$GTSH" -d "$TMP/$engine.sock" -c 'print(ones(3).sum())')" "tensor(3.)"
    done
}
row topk 't2 = expand t0 shape=[70368744177664]' 't3,t4 = topk t2 axis=0 k=1'
row 'topk of halves' 't2 = expand t1 shape=[70368744177664]' 't3,t4 = topk t2 axis=0 k=1'
row solve 't2 = expand t0 shape=[4194304,4194304]' 't3 = full 1.0 [4194304,1] f32' 't4 = full 0 [] i64' \
    't5 = expand t4 shape=[4194304]' 't6 = solve t2 t3 t2 t5'

# Windows far larger than their plane: only elements inside the plane are read.
big=1073741824 half=536870912
cat >"$TMP/a.gti" <<END
gti 1
t0 = randint 0 100 [2,3,3,3] f32 rng=0:0
t1 = avg_pool t0 kernel=[$big,$big,$big] padding=[$half,$half,$half] stride=[$big,$big,$big] divisor=1
t2,t3 = max_pool t0 kernel=[$big,$big,$big] padding=[$half,$half,$half] stride=[1,1,$big]
t4 = avg_pool_dx t1 kernel=[$big,$big,$big] padding=[$half,$half,$half] stride=[$big,$big,$big] divisor=1 shape=[2,3,3,3]
print "{!r} {!r} {!r} {!r}\n" t1 t2 t3 t4
END
code "large windows" 0 "$GTSH" --replay "$TMP/a.gti"
cp "$TMP/out" "$TMP/cpu"
code "large windows on reference" 0 "$GTSH" --engine=reference --replay "$TMP/a.gti"
same "large windows" "$(cat "$TMP/cpu")" "$(out)"
finish
