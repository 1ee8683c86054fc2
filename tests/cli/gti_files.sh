# Instruction text and tapes that refer to data beside them: files that a program loads, ids made from lists. Emitted
# text is small and complete, replaying gives the same bits, and a missing or changed file is reported with both hashes.
# CHECKPOINT_MB=500 (make soak) makes the checkpoint as large.
. tests/fixtures/check.sh
cd "$TMP" || exit 2

# A nanoGPT-like program: its ids come from a list; --emit is text of at most 1 MB, whole, and replays bit for bit
cat >gpt.gt <<'X'
text = read("text.txt")
chars = []
for c in text { if not (c in chars) { chars.append(c) } }
stoi = {}
for i in range(len(chars)) { stoi[chars[i]] = i }
ids = tensor([stoi[c] for c in text])
V = len(chars)
E = param(randn(V, 8) * 0.1)
W = param(randn(8, V) * 0.1)
opt = optim.Adam([E, W], lr=0.01)
for step in range(2) {
    at = randint(0, len(text) - 9, (4,)).unsqueeze(1) + arange(8)
    loss = cross_entropy((E[ids[at]] @ W).reshape(-1, V), ids[at + 1].reshape(-1))
    opt.zero_grad()
    backward loss
    opt.step()
    print(f"step {step} loss {loss}")
}
print(ids.sum(), E)
X
tail=$(tr ':' ';' <gpt.gt)
for i in $(seq 120); do printf '%s\n%s\n' "$i" "$tail"; done >text.txt # 90,000 characters
code "gpt: run" 0 "$GTSH" gpt.gt; cp out run
code "gpt: emit" 0 "$GTSH" --emit gpt.gt; cp out gpt.gti
n=$(wc -c <gpt.gti); [ "$n" -lt 200000 ] || fail "gpt: $n bytes of instruction text"
has "gpt: compressed" "$(grep '^t0 = ' gpt.gti | cut -c1-60)" 'z64="'
code "gpt: replay" 0 "$GTSH" --replay gpt.gti; same "gpt: replay" "$(out)" "$(cat run)"
code "gpt: the same stream again" 0 "$GTSH" --emit gpt.gt; cmp -s out gpt.gti || fail "gpt: another stream"
sed 's/z64="\(.....\)./z64="\1A/' gpt.gti >bad.gti
code "gpt: damaged" 65 "$GTSH" --replay bad.gti; has "gpt: damaged" "$(err)" "the compressed bytes do not match"
sed 's/data i64 \[[0-9]*\]/data i64 [99999999999]/' gpt.gti >bad.gti
code "gpt: a bomb" 65 "$GTSH" --replay bad.gti; has "gpt: a bomb" "$(err)" "fewer bytes than the elements take"

# the same with a branch on a value: --emit refuses and names --tee; a tape replays, too
sed 's/print(f"step.*/if loss.item() > 0 { print(f"step {step} loss {loss}") }/; s/len(text)/len(text) - 1/
    s/^ids = .*/ids = tensor([stoi[c] for c in text * 2])/' gpt.gt >branch.gt
code "branch: emit" 1 "$GTSH" --emit branch.gt; has "branch: emit" "$(err)" "item reads a value, but --emit computes none"
has "branch: hint" "$(err)" "--tee run.gti, then --replay run.gti"
GT_INSTRUCTION_LOG=run.tape code "branch: run" 0 "$GTSH" branch.gt; grep -v '^\[' out >run
has "branch: beside" "$(grep -c 'data i64 .* path="run.tape.data" at=0 sha256=' run.tape)" 1
code "branch: replay" 0 "$GTSH" --replay run.tape
grep -v '^tensor([0-9.]*)$' out >effects # beside the prints, the values that the branch asked for
same "branch: replay" "$(cat effects)" "$(cat run)"
same "branch: fetches" "$(grep -c '^tensor([0-9.]*)$' out)" 2
mkdir moved; cp run.tape run.tape.data moved
code "branch: elsewhere" 0 sh -c 'cd / && "$GTSH" --replay "$TMP/moved/run.tape"'; grep -v '^tensor([0-9.]*)$' out >effects
same "branch: elsewhere" "$(cat effects)" "$(cat run)"
was=$(sed -n 's/.*path="run.tape.data" at=0 sha256=\([0-9a-f]*\).*/\1/p' run.tape)
printf '\7' | dd of=moved/run.tape.data bs=1 seek=5000 conv=notrunc 2>/dev/null
code "branch: changed" 1 "$GTSH" --replay moved/run.tape
has "branch: changed" "$(err)" "its sha256 is $(head -c "$(wc -c <run.tape.data)" moved/run.tape.data | sha256sum | cut -d' ' -f1), not $was"
truncate -s 5000 moved/run.tape.data
code "branch: cut" 1 "$GTSH" --replay moved/run.tape; has "branch: cut" "$(err)" "has only 5000 bytes"
rm moved/run.tape.data
code "branch: missing" 1 sh -c 'cd / && "$GTSH" --replay "$TMP/moved/run.tape"'
has "branch: missing" "$(err)" "cannot read '$TMP/moved/run.tape.data': No such file"
# a path in a text must be a plain file name with a hash; the tape does not follow a link in place of its data file
for path in ../run.tape.data /etc/passwd . .. ''; do
    printf 'gti 1\nt0 = data u8 [4] path="%s" sha256=0011\n' "$path" >bad.gti
    code "beside: '$path'" 1 "$GTSH" --replay bad.gti; has "beside: '$path'" "$(err)" "is not a plain file name"
done
printf 'gti 1\nt0 = data u8 [4] path="run"\n' >bad.gti
code "beside: no hash" 1 "$GTSH" --replay bad.gti; has "beside: no hash" "$(err)" "needs the sha256"
printf 'gti 1\nt0 = data u8 [4] path="run" at=-1 sha256=0011\n' >bad.gti
code "beside: before it" 1 "$GTSH" --replay bad.gti
printf precious >victim; rm run.tape.data; ln -s victim run.tape.data
GT_INSTRUCTION_LOG=run.tape code "beside: a link" 0 "$GTSH" branch.gt; same "beside: a link" "$(cat victim)" precious
# a pipe has no data file: the line says that elements were left out
mkfifo pipe; cat pipe >piped & reader=$!
GT_INSTRUCTION_LOG=pipe code "pipe" 0 "$GTSH" branch.gt; wait $reader
code "pipe: replay" 65 "$GTSH" --replay piped; has "pipe: replay" "$(err)" "the elements were left out of this text"

# a checkpoint: the text has its path and the name of each tensor, never its elements; here mostly a hole in a file
mb=${CHECKPOINT_MB:-64} rows=$((${CHECKPOINT_MB:-64} * 64))
octet() { printf "\\$(printf %o "$1")"; }
header=$(printf '{"layer/0/w":{"dtype":"F32","shape":[%d,2048],"data_offsets":[0,%d]},"layer/1/w":{"dtype":"F32","shape":[%d,2048],"data_offsets":[%d,%d]},"bias":{"dtype":"F32","shape":[4],"data_offsets":[%d,%d]}}' \
    $rows $((mb << 19)) $rows $((mb << 19)) $((mb << 20)) $((mb << 20)) $(((mb << 20) + 16)))
while [ $((${#header} % 8)) != 0 ]; do header="$header "; done
mkdir ck
{ octet $((${#header} % 256)); octet $((${#header} / 256)); printf '\0\0\0\0\0\0%s' "$header"; } >ck/big.safetensors
truncate -s $((8 + ${#header} + (mb << 20) + 16)) ck/big.safetensors
for at in 0 $((mb << 19)) $((mb << 20)); do # 1.0, 2.0, 3.0 at the beginning of each
    printf '\0\0\200\77\0\0\0\100\0\0\100\100' | dd of=ck/big.safetensors bs=1 seek=$((8 + ${#header} + at)) conv=notrunc 2>/dev/null
done
cat >ck.gt <<'X'
m = load("ck/big.safetensors")
for l in m.layer { print(l.w.shape, l.w[0, :4], (l.w[0] @ l.w[1]).item) }
print(m.bias * 2)
X
sed -i 's/ (l.w\[0\] @ l.w\[1\]).item/ l.w[0] @ l.w[0]/' ck.gt
code "checkpoint: run" 0 "$GTSH" --memory 4G ck.gt; cp out run
has "checkpoint: run" "$(cat run)" "[1., 2., 3., 0.]"
code "checkpoint: emit" 0 "$GTSH" --emit ck.gt; cp out ck.gti
n=$(wc -c <ck.gti); [ "$n" -lt 3000 ] || fail "checkpoint: $n bytes of instruction text"
sha=$(sha256sum ck/big.safetensors | cut -d' ' -f1)
same "checkpoint: emit" "$(grep -c " = load \"ck/big.safetensors\" key=\"layer/./w\" sha256=$sha -> " ck.gti)" 2
code "checkpoint: replay" 0 "$GTSH" --memory 4G --replay ck.gti; same "checkpoint: replay" "$(out)" "$(cat run)"
code "checkpoint: from elsewhere" 0 sh -c 'cd / && "$GTSH" --memory 4G --replay "$TMP/ck.gti"'; same "checkpoint: from elsewhere" "$(out)" "$(cat run)"
code "checkpoint: from standard input" 0 sh -c '"$GTSH" --memory 4G --replay - <ck.gti'; same "checkpoint: from standard input" "$(out)" "$(cat run)"
one='t0 = load "ck/big.safetensors"'
printf 'gti 1\n%s key="bia"\n' "$one" >bad.gti
code "checkpoint: another name" 1 "$GTSH" --replay bad.gti; has "checkpoint: another name" "$(err)" 'did you mean key="bias"?'
printf 'gti 1\n%s\n' "$one" >bad.gti
code "checkpoint: no name" 1 "$GTSH" --replay bad.gti; has "checkpoint: no name" "$(err)" 'key="..." names one'
has "checkpoint: no name" "$(err)" 'its tensors: layer/0/w, layer/1/w, bias'
printf '\7' | dd of=ck/big.safetensors bs=1 seek=9000 conv=notrunc 2>/dev/null
now=$(sha256sum ck/big.safetensors | cut -d' ' -f1)
code "checkpoint: changed" 1 "$GTSH" --replay ck.gti; has "checkpoint: changed" "$(err)" "its sha256 is $now, not $sha"
rm ck/big.safetensors
code "checkpoint: missing" 1 "$GTSH" --replay ck.gti; has "checkpoint: missing" "$(err)" "it is the file with sha256 $sha"

# an empty name, and a file that the program itself overwrites
code "no name at all" 0 "$GTSH" -c 'save({"": arange(200000), "a b": ones(3)}, "n.npz")'
code "no name at all: emit" 0 "$GTSH" --emit -c 'm = load("n.npz"); print(m[""].sum(), m["a b"])'; cp out n.gti
code "no name at all: replay" 0 "$GTSH" --replay n.gti; same "no name at all" "$(out)" "tensor(19999900000) tensor([1., 1., 1.])"
cat >again.gti <<'X'
gti 1
t0 = full 1 [2] f32
save "again.npy" ""=t0
sync
t1 = load "again.npy"
t2 = full 2 [2] f32
save "again.npy" ""=t2
sync
t3 = load "again.npy"
print "{} {}\n" t1 t3
X
code "written anew" 0 "$GTSH" --replay again.gti; same "written anew" "$(out)" "tensor([1., 1.]) tensor([2., 2.])"

# elements of a .bin keep their type
head -c 2200000 /dev/zero | tr '\0' '\3' >t.bin
code "bin: run" 0 "$GTSH" -c 'x = load("t.bin", dtype="uint16"); print(x.sum(), x.shape)'; cp out run
code "bin: emit" 0 "$GTSH" --emit -c 'x = load("t.bin", dtype="uint16"); print(x.sum(), x.shape)'; cp out bin.gti
has "bin: emit" "$(sed -n 2p bin.gti)" 't0 = load "t.bin" as="uint16" sha256='
code "bin: replay" 0 "$GTSH" --replay bin.gti; same "bin: replay" "$(out)" "$(cat run)"
# the elements of a small file are in the text
code "small" 0 "$GTSH" -c 'save({a: arange(5)}, "s.safetensors")'
code "small: emit" 0 "$GTSH" --emit -c 'print(load("s.safetensors").a)'; has "small: emit" "$(out)" "data i64 [5] 0 1 2 3 4"
finish
