# Instruction files: text, binary and tapes are recognised; where elements go; what a copy (--tee) stores and what a replay
# does with it (--verify, --dry, --upto, --speed, --fill); and files that are torn, damaged, or from another version.
. tests/fixtures/check.sh
cd "$TMP" || exit 2
cat >a.gt <<'X'
signal.define("a")
x = tensor([float(i) for i in range(200)])
w = param(randn(200))
print("begins")
for i in range(3) {
    signal a { loss = (x @ w).square() * 1e-6 }
    backward loss
    w -= 0.001 * w.grad
    w.grad = none
    print(f"loss {loss:.5f}")
}
if w.sum().item() > -1e9 { print(x.reshape(10, 20), dropout(x, 0.5).sum()) }
save({w: w}, "w.safetensors")
track(loss=loss)
X
sed '/^if/d; /^track/d' a.gt >e.gt
code "run" 0 "$GTSH" a.gt; cp out run
code "run e" 0 "$GTSH" e.gt; cp out erun

# ---- forms ----
code "emit" 0 "$GTSH" --emit e.gt; cp out e.gti
code "emit=text" 0 "$GTSH" --emit=text e.gt; cmp -s out e.gti || fail "--emit=text differs"
code "emit=binary" 0 "$GTSH" --emit=binary e.gt; cp out e.gtb
same "magic" "$(head -c 8 e.gtb | od -An -tx1 | tr -d ' \n')" "894754420d0a1a0a"
GT_INSTRUCTION_LOG=e.tape "$GTSH" e.gt >/dev/null
for file in e.gti e.gtb; do
    code "$file" 0 "$GTSH" $file; same "$file" "$(out)" "$(cat erun)"; has "$file: summary" "$(err)" "gtsh: replayed $(grep -vc '^gti' e.gti) instructions from $file"
    code "<$file" 0 sh -c "\"\$GTSH\" <$file"; same "<$file" "$(out)" "$(cat erun)"
    code "- <$file" 0 sh -c "cat $file | \"\$GTSH\" --replay -"; same "- <$file" "$(out)" "$(cat erun)"
    code "emit <$file" 0 sh -c "\"\$GTSH\" --emit <$file"; cmp -s out e.gti || fail "emit <$file: $(diff out e.gti)"
    code "emit=binary <$file" 0 sh -c "\"\$GTSH\" --emit=binary <$file"; cmp -s out e.gtb || fail "emit=binary <$file"
done
code "a program" 0 sh -c '"$GTSH" <e.gt'; same "a program" "$(out)" "$(cat erun)"
code "a tape" 0 sh -c '"$GTSH" <e.tape'; same "a tape" "$(out)" "$(grep -v begins erun)" # a print of host values is not sent
code "a tape as a program" 0 "$GTSH" --emit --replay e.tape; cp out t.gti
same "a tape as a program: header" "$(head -n 1 t.gti)" "gti 1"
code "a tape as a program: run" 0 "$GTSH" t.gti; same "a tape as a program" "$(out)" "$(grep -v begins erun)"
code "quiet" 0 "$GTSH" -q e.gti; same "quiet" "$(err)" ""
# the bytes that gti(5) describes: names of what follows, then the record
printf 'gti 1\nt7 = full 1 [2] f32 -> f32[2] @a.gt:3\n' | "$GTSH" --emit=binary >fixed.gtb
want='894754420d0a1a0a 0100000000000000
feff00000000000005000000 6774692031
ffff00000000000004000000 66756c6c ffff00000000000005000000 7368617065
ffff00000000000005000000 6474797065 ffff00000000000003000000 663332 ffff00000000000004000000 612e6774
0000010301000200 38000000 0700000000000000 010100000000000000
0100 05 01000000 0200000000000000 0200 03 0300 0300 01 0200000000000000 0400 0000 03000000'
same "layout" "$(od -An -v -tx1 fixed.gtb | tr -d ' \n')" "$(echo "$want" | tr -d ' \n')"
if command -v script >/dev/null; then
    script -qec "\"$GTSH\" --emit=binary e.gt" /dev/null </dev/null >out 2>&1; same "on a terminal" $? 2; has "on a terminal" "$(out)" "the binary form is not for a terminal"
else
    skip "script is not installed"
fi
# comments, blank lines, foreign keys and positions stay, in both forms; a comment may come first
cat >c.gti <<'X'
# by hand

gti 1 made="by hand"
t3 = full 2 [2,3] f32 lab.run="a b" -> f32[2,3] # two
t7 = slice t3 [0:1,0:3:2] -> f32[1,2] @"my file.gt":7:12
@c.gt:4
t8,t9 = topk t7 1 axis=1 -> f32[1,1],i64[1,1] # both
fetch t9 as="where" x.y=1
X
code "by hand" 0 "$GTSH" c.gti; same "by hand" "$(out)" "where = tensor([[0]])"
code "by hand: binary" 0 "$GTSH" --emit=binary c.gti; cp out c.gtb
code "by hand: text" 0 "$GTSH" --emit c.gtb; cmp -s out c.gti || fail "by hand: $(diff out c.gti)"
printf 'gti 1\nt0=full 1   [4] f32\nt1 =slice t0 [2:]\nfetch t1' | "$GTSH" --emit >out 2>err
same "canonical" "$(cat out)" "gti 1
t0 = full 1 [4] f32 -> f32[4]
t1 = slice t0 [2:4] -> f32[2]
fetch t1"

# ---- elements ----
for how in inline files none; do
    code "payloads=$how" 0 "$GTSH" --emit --payloads=$how e.gt; cp out p.$how
done
has "inline" "$(cat p.inline)" '= data f32 [200] b64="'
has "files" "$(cat p.files)" '= data f32 [200] path="e.gt.data" at=0 sha256='
has "none" "$(cat p.none)" '= data f32 [200] elided sha256='
code "files: run" 0 "$GTSH" p.files; same "files: run" "$(out)" "$(cat erun)"
code "files: inline" 0 "$GTSH" --emit --payloads=inline p.files; cmp -s out e.gti || fail "files: inline: $(diff out e.gti)"
code "files: binary" 0 "$GTSH" --emit=binary --payloads=files e.gt; cp out p.gtb
code "files: binary, text" 0 "$GTSH" --emit p.gtb; cmp -s out p.files || fail "files: binary"
code "none: run" 65 "$GTSH" p.none; has "none: run" "$(err)" "p.none:4:21: error: the elements were left out of this text"; same "none: nothing runs" "$(out)" ""
code "none: dry" 0 "$GTSH" --dry p.none
code "none: zeros" 0 "$GTSH" --fill=zeros p.none; has "none: zeros" "$(out)" "loss 0.00000"
code "none: randn" 0 "$GTSH" --fill=randn p.none; cp out r; code "none: randn again" 0 "$GTSH" --fill=randn p.none; same "none: randn" "$(out)" "$(cat r)"
code "none: binary" 0 "$GTSH" --emit=binary p.none; cp out n.gtb; code "none: binary, text" 0 "$GTSH" --emit n.gtb; cmp -s out p.none || fail "none: binary"
mv e.gt.data away
code "files: missing" 1 "$GTSH" p.files; has "files: missing" "$(err)" "cannot read 'e.gt.data'"
code "files: missing, dry" 0 "$GTSH" --dry p.files
code "files: missing, filled" 0 "$GTSH" --fill=zeros p.files; has "files: missing, filled" "$(out)" "loss 0.00000"
"$GTSH" -c 'save(arange(300000), "big.npy")'
printf 'print(load("big.npy").sum())\n' >l.gt
code "payloads of -c" 0 "$GTSH" --emit --payloads=files -c 'print(tensor([float(i) for i in range(100)]).sum())'
has "payloads of -c" "$(out)" 'path="program.data"'; rm -f program.data
code "load" 0 "$GTSH" --emit l.gt; has "load" "$(out)" ' = load "big.npy" sha256='; cp out l.gti
code "load: inline" 0 "$GTSH" --emit --payloads=inline l.gt; has "load: inline" "$(cut -c1-40 out)" "= data i64 [300000] z64="; cp out l.inline
code "load: whole" 0 "$GTSH" --emit --payloads=inline l.gti; cut -d@ -f1 out >l1; cut -d@ -f1 l.inline >l2; cmp -s l1 l2 || fail "load: whole"
mv big.npy away.npy
code "load: inline, run" 0 "$GTSH" l.inline; same "load: inline, run" "$(out)" "tensor(44999850000)"
code "load: dry" 0 "$GTSH" --dry l.gti
code "load: filled" 0 "$GTSH" --fill=zeros l.gti; same "load: filled" "$(out)" "tensor(0)"
code "payloads without a file" 0 "$GTSH" --payloads=none e.gt; has "payloads without a file" "$(err)" "--payloads has no effect"

# ---- tee and what it is for ----
for file in t.gti t.gtb; do
    code "tee $file" 0 "$GTSH" --tee $file a.gt; same "tee $file" "$(out)" "$(cat run)"
    code "verify $file" 0 "$GTSH" --verify --replay $file; same "verify $file" "$(grep -v '^tensor([-0-9.]*)$' out)" "$(cat run)"
    has "verify $file" "$(err)" "; 8 of its 8 values were compared, 0 differ"
    code "verify $file, reference" 1 "$GTSH" --verify --engine reference --replay $file; has "verify $file, reference" "$(err)" " differ"
done
code "tee as text" 0 "$GTSH" --emit t.gtb; same "tee: two forms" "$(grep -v '^value\|^free' out)" "$(grep -v '^value\|^free' t.gti)" # when values come is up to time
code "tee again" 0 "$GTSH" --tee u.gti --replay t.gti; grep '^value' t.gti >v1; grep '^value' u.gti >v2; cmp -s v1 v2 || fail "tee again: $(diff v1 v2)"
at=$(grep -n '^value.*\[\] f32' t.gti | head -n 1 | cut -d: -f1)
sed "${at}s/f32 .*/f32 7.5/" t.gti >bad.gti
code "verify: edited" 1 "$GTSH" --verify --replay bad.gti; has "verify: edited" "$(err)" "bad.gti:$at: warning: t"; has "verify: edited" "$(err)" "tensor(7.5"
has "verify: edited" "$(err)" "error: 1 of 8 values differ from those in bad.gti"
printf 'gti 1\nt0 = data f32 [2,2] 1 2 3 4 -> f32[2,2]\nfetch t0\nvalue t0 [2,2] f32 1 2 3 5\n' >bad.gti
code "verify: a matrix" 1 "$GTSH" --verify bad.gti; has "verify: a matrix" "$(err)" "t0 is tensor([[1., 2.], [3., 4.]]) here, tensor([[1., 2.], [3., 5.]]) in the file"
code "verify: nothing" 1 "$GTSH" --verify --replay e.gti; has "verify: nothing" "$(err)" "has no values to compare"
printf 'gti 1\nt0 = full 1 [2] f32\nvalue t0 [2] f32 1\nfetch t0\n' >bad.gti
code "verify: a wrong line" 65 "$GTSH" bad.gti; has "verify: a wrong line" "$(err)" "bad.gti:3: error: value: not as many elements"
code "tee over the program" 66 "$GTSH" --tee a.gt a.gt; has "tee over the program" "$(err)" "would overwrite what is run"; [ -s a.gt ] || fail "a.gt is empty"
yes 'an earlier run, and longer than the next by far, so that its end would show' | head -n 100 >kept.gti; cp kept.gti earlier; printf 'x = ones(2\n' >broken.gt; printf 'n = arg("n", 1)\nprint(n)\n' >asks.gt
for cannot in "broken.gt" "asks.gt --m 3" "-d ipc:///nowhere/at/all a.gt" "--replay gone.gti"; do
    "$GTSH" --tee kept.gti $cannot >out 2>err && fail "tee of what cannot start: $cannot: passed"
    cmp -s kept.gti earlier || fail "tee of what cannot start: $cannot: $(head -c 200 kept.gti)"
    "$GTSH" --tee new.gti $cannot >out 2>err; [ ! -e new.gti ] || fail "tee of what cannot start: $cannot: left new.gti: $(cat new.gti)"
done
code "tee of a shorter run" 0 "$GTSH" --tee kept.gti -c 'print(1)'; same "tee of a shorter run" "$(grep -c earlier kept.gti)" 0
code "tee nowhere" 66 "$GTSH" --tee no/t.gti a.gt; has "tee nowhere" "$(err)" "cannot write 'no/t.gti'"
[ -w /dev/full ] && { code "tee on a full disk" 1 "$GTSH" --tee /dev/full a.gt; has "tee on a full disk" "$(err)" "/dev/full"; }
mkfifo pipe; cat pipe >piped & reader=$!
code "tee into a pipe" 0 "$GTSH" --tee pipe a.gt; wait $reader; same "tee into a pipe" "$(grep -v '^value\|^free' piped)" "$(grep -v '^value\|^free' t.gti)"
printf 'x = ones(3)\nprint(x + 1)\n' | "$GTSH" -i --tee s.gti >out 2>err
code "tee of a session" 0 "$GTSH" --replay s.gti; same "tee of a session" "$(out)" "tensor([2., 2., 2.])"
# notes before the first tensor, which no worker has seen, are there once and in their place
for rest in '' '; print(ones(2))'; do
    printf 'note("begins")\nprint("x")\nfor i in range(300) { note("again") }%s\n' "$rest" >n.gt
    code "tee of notes" 0 "$GTSH" --tee n.gti n.gt
    same "tee of notes$rest" "$(grep -v '^t\|^free\|^value\|^edge' n.gti)" "$("$GTSH" --emit n.gt | grep -v '^t\|^free\|^edge')"
done
code "dry" 0 "$GTSH" --dry t.gti; same "dry" "$(out)" ""; has "dry" "$(err)" "gtsh: checked "
code "-n" 0 "$GTSH" -n t.gti; same "-n" "$(out)" ""
printf 'gti 1\nprint "runs\\n"\nt0 = full 1 [2] f32\nt1 = reshape t0 [3]\n' >bad.gti
code "dry: a wrong shape" 1 "$GTSH" --dry bad.gti; has "dry: a wrong shape" "$(err)" "bad.gti:4: error: cannot reshape (2) to (3)"; same "dry: nothing runs" "$(out)" ""
code "emit: a wrong shape" 1 "$GTSH" --emit bad.gti; same "emit: nothing is written" "$(out)" ""
code "upto" 0 "$GTSH" --replay e.gti --upto 6; has "upto" "$(err)" "replayed 6 instructions from e.gti, up to line 7"
printf 'print(t0.shape, t1.shape)\nt99\n' | "$GTSH" -i --replay e.gti --upto 6 >out 2>err
has "look around" "$(cat out)" "[200] [200]"; has "look around" "$(cat err)" "tensors are here: t0 t1"; has "look around" "$(cat err)" "'t99' is not defined"
code "upto: emit" 0 "$GTSH" --emit --replay e.gti --upto 3; same "upto: emit" "$(cat out)" "$(head -n 4 e.gti)"

# ---- time ----
cat >slow.tape <<'X'
gti 1 kind=tape
1.000000 1 > c1 - t0 = full 1 [2] f32
1.000100 2 > c2 - t0 = full 5 [2] f32
1.000200 3 > c1 - fetch t0
1.700000 4 > c1 - free t0
X
ms() { begin=$(date +%s%N); "$@" >out 2>err || fail "$*: $(err)"; echo $((($(date +%s%N) - begin) / 1000000)); }
took=$(ms "$GTSH" --replay slow.tape --client c1 --speed=1x); [ "$took" -ge 700 ] || fail "speed 1x: $took ms"
same "speed 1x" "$(out)" "tensor([1., 1.])"
took=$(ms "$GTSH" --replay slow.tape --client c1 --speed 0.5); [ "$took" -ge 1400 ] || fail "speed 0.5: $took ms"
code "speed max" 0 "$GTSH" --replay slow.tape --client c2 --speed=max
begin=$(date +%s); "$GTSH" --replay slow.tape --client c1 --speed=0.001x >out 2>err & pid=$!
await out tensor; kill -INT $pid; wait $pid; same "speed: interrupted" $? 130; soon "speed: interrupted" "$begin" 60

# ---- options ----
for wrong in "--emit=json e.gt" "--speed=0 e.tape" "--speed=fast e.tape" "--fill=ones e.gti" "--payloads=some e.gt" "--upto 0 e.gti" "--upto=x e.gti" \
    "--dry e.gt" "--verify e.gt" "--upto 3 e.gt" "--fill=zeros e.gt" "--speed=1x e.gt" "--emit --tee x.gti e.gt" "--dry --verify t.gti" "--emit --verify t.gti"; do
    code "$wrong" 2 "$GTSH" $wrong; same "$wrong: nothing runs" "$(out)" ""
done
code "an option behind the file" 2 "$GTSH" e.gti --dry; has "an option behind the file" "$(err)" "options come before it"

# ---- torn, damaged, foreign ----
# cut at many places: what is whole runs, nothing half, and the place is named
want=$(sed 's/ .*//' erun | head -n 1)
for file in e.gti e.gtb; do
    n=$(wc -c <$file) i=400
    while [ $i -lt "$n" ]; do
        head -c $i $file >cut
        "$GTSH" --dry cut >out 2>err || fail "$file cut at $i: $(err)"
        if [ -n "$(tail -c 1 cut)" ] && [ $file = e.gti ]; then
            has "$file cut at $i" "$(err)" "cut:$(wc -l <cut | awk '{ print $1 + 1 }'): warning: the last line is incomplete and was skipped"
            has "$file cut at $i" "$(err)" "checked $(($(wc -l <cut) - 1)) instructions from cut; its incomplete last line was skipped"
        fi
        i=$((i + 337))
    done
done
head -c $(($(wc -c <e.gtb) - 3)) e.gtb >cut; code "binary: cut" 0 "$GTSH" cut
has "binary: cut" "$(err)" "cut:$(wc -l <e.gti): warning: the last line is incomplete and was skipped"; has "binary: cut" "$(out)" begins
head -c $(($(wc -c <e.tape) - 1)) e.tape >cut; code "tape: cut" 0 "$GTSH" cut
has "tape: cut" "$(err)" "cut:$(($(wc -l <cut) + 1)): warning: the last line is incomplete"
"$GTSH" --tee killed.gti -c 'x = ones(5); i = 0; while true { x = x * 0.5 + i; i += 1; if i % 100 == 0 { print(x) } }' >killed.out 2>&1 & pid=$!
await killed.out tensor; poll test -s killed.gti; kill -KILL $pid; wait $pid 2>/dev/null
code "killed" 0 "$GTSH" killed.gti; has "killed" "$(err)" "gtsh: replayed "
printf 'gti 2 prog="x.gt"\n' >bad; code "version 2" 65 "$GTSH" bad; has "version 2" "$(err)" "bad:1:5: error: version 2 of the text form; this is version 1"
printf '\211GTB\r\n\032\n\2\0\0\0\0\0\0\0' >bad; code "binary version 2" 65 "$GTSH" bad; has "binary version 2" "$(err)" "bad:1: error: version 2 of the binary form; this is version 1"
printf '\211GTB\r\n\032\n\1' >bad; code "half a head" 65 "$GTSH" bad; has "half a head" "$(err)" "bad:1: error: the head of a binary file is incomplete"
tr -d '\r' <e.gtb >bad; code "as text" 65 "$GTSH" bad; has "as text" "$(err)" "bad:1: error: a transfer as text has changed this binary file"
sed 's/$/\r/' e.gti >bad; code "text with CR" 0 "$GTSH" bad; same "text with CR" "$(out)" "$(cat erun)"
# a name in a binary file that this version does not know; an id used after its free; a type that is wrong
sed 's/square/squire/' e.gtb >bad; code "binary: unknown op" 65 "$GTSH" bad; has "binary: unknown op" "$(err)" "unknown op 'squire'"; same "binary: nothing runs" "$(out)" ""
has "binary: unknown op, line" "$(err)" "bad:$(grep -n ' = square' e.gti | head -n 1 | cut -d: -f1): error: at byte "
printf 'gti 1\nt0 = full 1 [2] f32\nfree t0\nt1 = add t0 1\n' >f.gti
code "freed" 1 "$GTSH" f.gti; has "freed" "$(err)" "f.gti:4:10: error: t0 was freed in line 3"
code "tear, then errors" 65 sh -c 'printf "gti 1 prog=\"a\"\nt0 = ful 1 [2] f32\nt1 = a" | "$GTSH"'; has "tear, then errors" "$(err)" "stdin:2:6: error: unknown op 'ful'"
# bytes of a small binary file changed: an answer in words, never a crash
printf 'gti 1\nt0 = data f32 [3] 1 2 3 -> f32[3] @a.gt:3 # x\nt1,t2 = topk t0 2 axis=0 largest=true\nfetch t1 as="top"\nfree t0 t1 t2\n' | "$GTSH" --emit=binary >small.gtb
n=$(wc -c <small.gtb) i=8
while [ $i -lt "$n" ]; do
    cp small.gtb bad; printf '\377' | dd of=bad bs=1 seek=$i conv=notrunc 2>/dev/null
    "$GTSH" --dry bad >out 2>err; got=$?
    case $got in 0 | 1 | 65) ;; *) fail "byte $i: exit code $got: $(err)" ;; esac
    [ $got = 0 ] || has "byte $i" "$(err)" "error: "
    i=$((i + 7))
done
finish
