# Errors in hand-written instruction text have hints in the format's own terms, and a file cannot control the terminal.
. tests/fixtures/check.sh
f="$TMP/a.gti"
wrong() { # WHAT CODE TEXT...: each a part of the message; lines after `gti 1` on standard input
    what=$1 want=$2
    shift 2
    { echo 'gti 1'; cat; } >"$f"
    code "$what" "$want" "$GTSH" --replay "$f"
    for part; do has "$what" "$(err)" "$part"; done
}
esc=$(printf '\033')
quiet() { case "$(cat "$TMP/out" "$TMP/err")" in *"$esc"*) fail "$1: an escape reaches the terminal: $(cat -v "$TMP/out" "$TMP/err")" ;; esac; }

# An attribute that the operation does not have, even if another one has it
wrong "axes for axis" 65 "a.gti:3:13: error: sum has no attribute 'axes'" "did you mean 'axis'?" <<'X'
t0 = full 1 [2,3] f32
t1 = sum t0 axes=[0]
X
wrong "foo" 65 "a.gti:3:13: error: sum has no attribute 'foo'" "it takes axis, keepdims" "my.note=3" <<'X'
t0 = full 1 [2,3] f32
t1 = sum t0 foo=3
X
wrong "keepdim" 65 "a.gti:3:20: error: max has no attribute 'keepdim'" "did you mean 'keepdims'?" <<'X'
t0 = full 1 [2,3] f32
t1 = max t0 axis=0 keepdim=true
X
wrong "dim" 65 "did you mean 'axis'?" <<'X'
t0 = full 1 [2,3] f32
t1 = argmax t0 dim=1
X
wrong "axis for axes" 65 "permute has no attribute 'axis'" "did you mean 'axes'?" <<'X'
t0 = full 1 [2,3] f32
t1 = permute t0 axis=[1,0]
X
wrong "a key that nothing takes" 65 "a.gti:3:14: error: relu has no attribute 'axis'" "it takes none" <<'X'
t0 = full 1 [2,3] f32
t1 = relu t0 axis=1
X
wrong "a placing, which is the dispatcher's" 65 "a.gti:2:21: error: full has no attribute 'split'" <<'X'
t0 = full 1 [4] f32 split=[0,2]
X
wrong "behind an annotation" 65 "a.gti:3:24: error: sum has no attribute 'axxis'" "did you mean 'axis'?" <<'X'
t0 = full 1 [2,3] f32
t1 = sum t0 my.note=3  axxis=1 lab.run="a b"
X
# Annotations, whose key has a point, are accepted.
{
    echo 'gti 1'
    echo 't0 = full 1 [2,3] f32 x.made="by hand" lab.run=7'
    echo 't1 = sum t0 axis=0 my.note=a=b'
    echo 'fetch t1 my.note=1'
} >"$f"
code annotations 0 "$GTSH" --replay "$f"; same annotations "$(out)" 'tensor([2., 2., 2.])'

# Names close to operations, and names from other languages
wrong ones 65 "a.gti:2:6: error: unknown op 'ones'" "hint: t0 = full 1 [2,3] f32" <<'X'
t0 = ones [2,3] f32
X
wrong mull 65 "unknown op 'mull'" "did you mean 'mul'?" <<'X'
t0 = full 1 [2,3] f32
t1 = mull t0 t0
X
wrong transpose 65 "unknown op 'transpose'" "permute t0 axes=[1,0]" <<'X'
t1 = transpose t0
X
wrong "signal begin" 65 "unknown op 'signal begin'" "signal enter a" <<'X'
signal begin a
X
# Names, where the format has ids
wrong "a name" 65 "a.gti:2:1: error: a result must be an id like t12, not 'x'" "hint: t0 = full ..." <<'X'
x = full 1 [2,3] f32
X
wrong "two names" 65 "a.gti:2:1: error: a result must be an id like t12, not 'x'" "hint: t0,t1 = topk ..." <<'X'
x, y = topk t1 3 axis=0
X
wrong "another's id" 65 "a result must be an id like t12, not '%1'" "hint: t0 = full ..." <<'X'
%1 = full 1 [2,3] f32
X
wrong "an operand's name" 65 "a.gti:3:10: error: unexpected word 'x'" "hint: a tensor is an id like t12" <<'X'
t0 = full 1 [2,3] f32
t1 = neg x
X
wrong "nothing near" 65 "gt-ops(7) lists the operations" <<'X'
t0 = zzzzzzz
X

# A tensor that was freed: the error shows both lines
wrong freed 1 "a.gti:4:10: error: t0 was freed in line 3" "  4 | t1 = mul t0 2.0
    |          ^^ used here
  3 | free t0
    |      ^^ freed here" <<'X'
t0 = full 1 [2] f32
free t0
t1 = mul t0 2.0
X

# Hints are in this format's syntax
wrong matmul 1 "cannot multiply (2, 3) @ (2, 3)" "hint: permute t0 axes=[1,0], and take its result" <<'X'
t0 = full 1 [2,3] f32
t1 = matmul t0 t0
X
wrong "matmul of batches" 1 "hint: permute t1 axes=[0,2,1], and take its result" <<'X'
t0 = full 1 [4,2,3] f32
t1 = full 1 [4,2,3] f32
t2 = matmul t0 t1
X
wrong exp 1 "hint: cast t7 f32, and take its result" <<'X'
t7 = full 1 [3] i64
t8 = exp t7
X
wrong mixed 1 "hint: cast t0 f32, and take its result" <<'X'
t0 = full 1 [3] i64
t1 = full 1 [3] f32
t2 = add t0 t1
X
wrong immediate 1 "hint: cast t0 f32, and take its result" <<'X'
t0 = full 1 [3] i64
t1 = add t0 2.5
X
wrong indices 1 "hint: cast t1 i64, and take its result" <<'X'
t0 = full 1 [3] f32
t1 = full 1 [1] f32
t2 = index t0 t1 axis=0
X
wrong condition 1 "hint: ne t0 0, and take its result" <<'X'
t0 = full 1 [3] f32
t1 = where t0 t0 t0
X
wrong broadcast 1 "hint: reshape t1 [2,1], and take its result" <<'X'
t0 = full 1 [2,3] f32
t1 = full 1 [2] f32
t2 = add t0 t1
X
# The program that the hint suggests runs.
{
    echo 'gti 1'
    echo 't0 = full 1 [2,3] f32'
    echo 't1 = permute t0 axes=[1,0]'
    echo 't2 = matmul t0 t1'
    echo 'fetch t2'
} >"$f"
code "the way out" 0 "$GTSH" --replay "$f"

code empty 65 "$GTSH" --replay - </dev/null
has empty "$(err)" "'stdin' is empty: there are no instructions in it"

# Text that an editor saved with a byte-order mark, or with line ends of another system
printf 'gti 1\nt0 = full 1 [2] f32\nfetch t0\n' >"$f"
{ printf '\357\273\277'; cat "$f"; } >"$TMP/bom.gti"; code BOM 0 "$GTSH" "$TMP/bom.gti"; same BOM "$(out)" "tensor([1., 1.])"
code "BOM, replay" 0 "$GTSH" --replay - <"$TMP/bom.gti"; same "BOM, replay" "$(out)" "tensor([1., 1.])"
wrong "a free of one id twice" 1 "a.gti:3:9: error: free names t0 twice" <<'X'
t0 = full 1 [2] f32
free t0 t0
X
# An error in a long line does not fill the terminal
{ printf 't0 = data f32 [9] b64="'; head -c 400000 /dev/zero | tr '\0' A; printf '"\n'; } | wrong "a long line" 1 "a.gti:2: error: data: "
[ "$(err | wc -c)" -lt 1000 ] || fail "a long line: $(err | wc -c) bytes"

# A gt program is not instruction text
printf 'seed(3)\nprint(1)\n' >"$TMP/e.gt"
code program 65 "$GTSH" --replay "$TMP/e.gt"
has program "$(err)" "e.gt:1:1: error: this is not instruction text: it does not begin with 'gti 1'"
has program "$(err)" "gtsh $TMP/e.gt runs it, gtsh --emit $TMP/e.gt makes instruction text of it"
printf '# a remark\nx = ones(2)\n' >"$TMP/e.gt"
code "a remark first" 65 "$GTSH" --replay "$TMP/e.gt"; has "a remark first" "$(err)" "e.gt:2:1: error: this is not instruction text"
code "program on a pipe" 65 sh -c '"$GTSH" --replay - <"$TMP/e.gt"'; has "program on a pipe" "$(err)" "gtsh --emit a.gt"
printf 't0 = full 1 [2] f32\n' >"$f"
code headless 65 "$GTSH" --replay "$f"; has headless "$(err)" "put the line 'gti 1' before it"

# Line breaks and control characters in messages
wrong "a line break in a format" 1 "format '{}\\n' needs more values than the 0 given" <<'X'
t0 = full 1 [2] f32
print "{}\n"
X
for line in 't1 = matmul t0 t0 @"\x1b[2Jabc":7' 'assert t2 "\x1b[31mred"' 'print "{\x1b[31m" t0' 't1 = load "\x1b]0;title\x07.npy"' \
    "t1 = lo${esc}[31mad \"x\"" 'fetch t0 as="\x1b[31m"' 'signal enter "\x1b[31m" axis=1' 'save "\x1b[31m.xyz" a=t0' \
    "t1 = sum t0 x${esc}y=3" 'write "/nowhere/\x1b[31m" "a"' 't1 = load "a.npy" key="\x1b[2J"'; do
    printf 'gti 1\nt0 = full 1 [2,3] f32\nt2 = data b1 [1] 0\n%s\n' "$line" >"$f"
    "$GTSH" --replay "$f" >"$TMP/out" 2>"$TMP/err"
    quiet "$line"
done
has "an escape in a position" "$("$GTSH" --replay - 2>&1 <<'X'
gti 1
t0 = full 1 [2,3] f32
t1 = matmul t0 t0 @"\x1b[2Jabc":7
X
)" '\x1b[2Jabc:7: error: cannot multiply'
finish
