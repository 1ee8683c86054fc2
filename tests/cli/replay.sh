# --replay of hand-written text: every kind of line, and every error with its line.
. tests/fixtures/check.sh
f="$TMP/a.gti"
replay() { # WHAT CODE, text on standard input
    { echo 'gti 1'; cat; } >"$f"
    code "$1" "$2" "$GTSH" --replay "$f"
}

replay all 1 <<'GTI'
# a remark
t0 = data f32 [2,3] 1 2 3 4 5 6 -> f32[2,3] @made.gt:1
t1 = slice t0 [:,1:] -> f32[2,2]
t2 = slice t0 [1:, ::2]
signal enter layer backward=layer_back
t3 = matmul t1 t1
signal exit layer
t4 = shard t3 layer
t5,t6 = topk t0 2 axis=1 -> f32[2,2],i64[2,2]
print "{} and {:.1f}\n" t2 t9 # not yet
GTI

has "unknown id" "$(err)" "a.gti:11"

replay values 0 <<'GTI'
t0 = data f32 [2,3] 1 2 3 4 5 6 -> f32[2,3] @made.gt:1
t2 = slice t0 [1:, ::2]
t3 = slice t0 [:,1:]
t5,t6 = topk t0 2 axis=1 -> f32[2,2],i64[2,2]
edge
t7 = sum t0 -> f32[]
print "{} and {:.1f}\n" t2 t7
print "{!r}\n" t3 precision=2
print "to stderr\n" err=true
fetch t6 as="best"
fetch t7
peek t7 as="seven"
note "nothing to see"
track loss=t7
sync
free t0 t2
assert t7 "never said"
GTI
same values "$(out)" 'tensor([[4., 6.]]) and 21.0
tensor([[2., 3.],
        [5., 6.]])
best = tensor([[2, 1],
        [2, 1]])
tensor(21.)
seven = tensor(21.)'
same "to stderr" "$(err | grep -v '^gtsh: replayed [0-9]* instructions from .*a.gti$')" 'to stderr'

printf 'gti 1\nt0 = data i64 [2] 3 4\nwrite "%s/w.txt" "{}\\n" t0\nwrite "%s/w.txt" append=true "more\\n"\nsave "%s/w.npy" ""=t0\n' "$TMP" "$TMP" "$TMP" >"$f"
code files 0 "$GTSH" --replay "$f"
same write "$(cat "$TMP/w.txt")" 'tensor([3, 4])
more'
digest=$(sha256sum "$TMP/w.npy" | cut -d' ' -f1)
printf 'gti 1\nt0 = load "%s/w.npy" sha256=%s -> i64[2]\nprint "{}\\n" t0\n' "$TMP" "$digest" >"$f"
code load 0 "$GTSH" --replay "$f"; same load "$(out)" 'tensor([3, 4])'
printf 'gti 1\nt0 = load "%s/w.npy" sha256=00112233\n' "$TMP" >"$f"
code "another file" 1 "$GTSH" --replay "$f"; has "another file" "$(err)" "sha256"
printf 'gti 1\nt0 = load "%s/none.npy"\n' "$TMP" >"$f"
code "no file" 1 "$GTSH" --replay "$f"; has "no file" "$(err)" "none.npy"

wrong() { # WHAT CODE LINE SENTENCE, text on standard input
    replay "$1" "$2"
    has "$1" "$(err)" "$3: error: $4"
}
wrong freed 1 a.gti:4:10 't0 was freed in line 3' <<'GTI'
t0 = full 1 [2] f32
free t0
t1 = neg t0
GTI
has "freed: where" "$(err)" '3 | free t0'
wrong twice 1 a.gti:4:1 't0 was defined in line 2; an id is used once' <<'GTI'
t0 = full 1 [2] f32
free t0
t0 = full 1 [2] f32
GTI
wrong types 1 a.gti:2 'full gives f32[2] here, not f32[3] as the line says' <<'GTI'
t0 = full 1 [2] f32 -> f32[3]
GTI
wrong shapes 1 made.gt:7 'shapes do not broadcast: (2) + (3)' <<'GTI'
t0 = full 1 [2] f32
t1 = full 1 [3] f32
t2 = add t0 t1 @made.gt:7
GTI
wrong results 1 a.gti:3 'topk gives 2 results, not 1' <<'GTI'
t0 = full 1 [2] f32
t1 = topk t0 1 axis=0
GTI
wrong assertion 1 made.gt:9 'off by 2.0' <<'GTI'
t0 = full 2 [] f32
t1 = lt t0 1
assert t1 "off by {:.1f}" t0 @made.gt:9
GTI
wrong index 1 made.gt:3 '' <<'GTI'
t0 = full 2 [3] f32
t1 = data i64 [1] 5
t2 = index t0 t1 axis=0 @made.gt:3
fetch t2
GTI
wrong syntax 65 a.gti:3:13 "unexpected word 'foo'" <<'GTI'
print "never printed\n"
t0 = add t1 foo
GTI
same "syntax: nothing is done" "$(out)" ''
wrong poison 1 a.gti:2 'poison' <<'GTI'
t0 = poison
GTI
wrong elided 65 a.gti:2:19 'the elements were left out of this text
  2 | t0 = data f32 [9] elided sha256=00
    |                   ^ hint: gtsh --emit has them all; to run it with others: --fill=zeros or --fill=randn' <<'GTI'
t0 = data f32 [9] elided sha256=00
GTI
wrong scope 1 a.gti:2 'signal enter takes 0 operands' <<'GTI'
signal enter a t5
GTI
wrong data 1 a.gti:2 'data: 4 bytes do not make f32[2]' <<'GTI'
t0 = data f32 [2] 1
GTI

printf 'gti 1\nt0 = full 1 [2] f32\nprint "{}\\n" t0\nt1 = add t0 "' >"$f"
code torn 0 "$GTSH" --replay "$f"; same torn "$(out)" 'tensor([1., 1.])'; has torn "$(err)" 'a.gti:4: warning: the last line is incomplete'
printf 't0 = full 1 [2] f32\n' >"$f"
code headless 65 "$GTSH" --replay "$f"; has headless "$(err)" 'gti 1'

# tapes: the instructions of one client; errors at their columns; an incomplete last line is skipped even if it parses
printf 'gti 1 kind=tape\n0.003 1 + c1 - client "x"\n0.003 2 > c1 - t0 = full 1 [2] f32 -> f32[2] @a.gt:1\n' >"$f"
printf '0.004 3 > c7 - t0 = full 7 [2] f32\n0.004 4 = c1 g2 t0 = full 1 [2] f32 on=2\n0.004 5 < c1 w1 done t0 us=3\n' >>"$f"
printf '0.005 6 > c1 - print "{}\\n" t0\n0.005 7 > c7 - fetch t0 as="seven"\n0.005 8 ! c1 w0 error add "x"\n' >>"$f"
cp "$f" "$TMP/two.tape"
code tape 0 "$GTSH" --replay "$f" --client c1; same tape "$(out)" 'tensor([1., 1.])'
same summary "$(err)" "gtsh: replayed 2 instructions of c1 from $f"
code "tape, the other" 0 "$GTSH" --replay "$f" --client=c7; same "the other" "$(out)" 'seven = tensor([7., 7.])'
code "tape, which" 65 "$GTSH" --replay "$f"; has which "$(err)" 'a.gti:1:1: error: 2 clients are on this tape'
has which "$(err)" 'choose one with --client: c1, c7'
code "tape, nobody" 65 "$GTSH" --replay "$f" --client c3; has nobody "$(err)" 'c3 sent no instruction'
code "client's name" 2 "$GTSH" --replay "$f" --client=one
printf '0.006 9 > c1 - t1 = full 2 [2] f32' >>"$f"
code "tape, torn" 0 "$GTSH" --replay "$f" --client c1; has torn "$(err)" 'a.gti:10: warning: the last line is incomplete'
has torn "$(err)" 'replayed 2 instructions of c1'
printf '\n0.007 10 > c1 - t2 = matmul t0 t5\n' >>"$f"
code "tape, error" 1 "$GTSH" --replay "$f" --client c1; has "its place" "$(err)" 'a.gti:11:32: error: t5 is not defined'
has "how far" "$(err)" 'replayed 3 instructions'
printf '0.008 11 ~ c1 - sync\n' >>"$f"
code "tape, event" 65 "$GTSH" --replay "$f" --client c1; has event "$(err)" 'a.gti:12:10: error: an event is expected'
printf 'gti 1 kind=tape\n0.003 1 > c1 - t0 = fill 1\n' >"$f"
code "tape, syntax" 65 "$GTSH" --replay "$f"; has syntax "$(err)" "a.gti:2:21: error: unknown op 'fill'"
printf 'gti 2 kind=tape\n' >"$f"; code "tape, version" 65 "$GTSH" --replay "$f"; has version "$(err)" 'version 2'
printf 'gti 1 kind=tape\n' >"$f"; code "tape, empty" 65 "$GTSH" --replay "$f"; has empty "$(err)" 'no client sent'
code "check only" 0 sh -c 'printf "gti 1\nt0 = full 1 [2] f32\nprint \"{}\" t0\n" | "$GTSH" -n --replay -'; same "check only" "$(out)" ''
# --log-dir keeps what the instructions track
printf 'x = ones(1)\nfor i in range(3) { x = x * 2; track(loss=x.sum(), lr=0.5 ** i) }\ntrack(a=1)\ntrack(b=nan)\n' >"$TMP/track.gt"
code "track: emit" 0 "$GTSH" --emit "$TMP/track.gt"; cp "$TMP/out" "$TMP/track.gti"
code "track: run" 0 "$GTSH" --log-dir "$TMP/log" "$TMP/track.gt"
code "track: replay" 0 "$GTSH" --log-dir "$TMP/again" --replay "$TMP/track.gti"
code "track: a file" 0 "$GTSH" --log-dir "$TMP/third" "$TMP/track.gti"
same "track" "$(cat "$TMP/again/metrics.csv")" "$(cat "$TMP/log/metrics.csv")"
same "track: a file" "$(cat "$TMP/third/metrics.csv")" "$(cat "$TMP/log/metrics.csv")"
printf 'gti 1\nt0 = full 1 [0] f32\ntrack l=t0\n' >"$TMP/bad.gti"
code "track of no number" 1 "$GTSH" --log-dir "$TMP/log" "$TMP/bad.gti"; has "track of no number" "$(err)" "single numbers"
printf 'gti 1\ntrack meta="[1,2"\n' >"$TMP/bad.gti"
code "track of no JSON" 1 "$GTSH" --log-dir "$TMP/log" "$TMP/bad.gti"
finish
