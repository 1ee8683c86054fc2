# --emit | --replay prints what running prints, bit for bit; the same program gives the same stream.
. tests/fixtures/check.sh
for script in scripts/hello.gt scripts/autograd.gt scripts/charlm.gt scripts/mlp.gt; do
    case $script in
    */hello.gt) opts="--n 100" ;;
    */mlp.gt) opts="--steps 60" ;;
    */charlm.gt) opts="--data README.md --steps 4 --batch 4 --ctx 16 --width 16 --heads 2 --layers 1 --sample 16" ;;
    *) opts= ;;
    esac
    code "run $script" 0 "$GTSH" $script $opts; cp "$TMP/out" "$TMP/run"
    code "emit $script" 0 "$GTSH" --emit $script $opts; cp "$TMP/out" "$TMP/a.gti"
    code "replay $script" 0 "$GTSH" --replay "$TMP/a.gti"; same "replay $script" "$(out)" "$(cat "$TMP/run")"
    code "pipe $script" 0 sh -c '"$GTSH" --emit '"$script $opts"' | "$GTSH" --replay -'; same "pipe $script" "$(out)" "$(cat "$TMP/run")"
    code "reference $script" 0 "$GTSH" --engine reference --replay "$TMP/a.gti"
    grep -v '^signal\|^note\|^edge' "$TMP/a.gti" | sed 's/ @[^ ]*$//' >"$TMP/bare.gti"
    code "without annotations $script" 0 "$GTSH" --replay "$TMP/bare.gti"; same "without annotations $script" "$(out)" "$(cat "$TMP/run")"
done
# instructions whose result replaces a parameter's value have keep=true, and no others
code keep 0 "$GTSH" --emit -c 'p = param(ones(3)); p -= 1; p.data *= 2; p[0] = 3; p[tensor([1])] = 4; p += ones(3, dtype=float64)
y = p * 2; y -= 1; p.data = y; b = buffer(ones(2)); b.lerp_(zeros(2), 0.5); print(p, b)'; cp "$TMP/out" "$TMP/keep.gti"
same keep "$(grep keep=true "$TMP/out" | cut -d' ' -f3 | tr '\n' ' ')" "sub mul slice_put index_put cast add cast add "
code "keep: replay" 0 "$GTSH" --replay "$TMP/keep.gti"; same "keep: replay" "$(out)" "tensor([7., 9., 1.], requires_grad=true) tensor([0.5000, 0.5000])"
code "keep: configured" 0 "$GTSH" --emit -c 'signal.define("a"); p = param(tensor(1.0)); p.data = tensor(2.0); p.zero_()'
same "keep: configured" "$(grep keep=true "$TMP/out" | cut -d' ' -f3 | tr '\n' ' ')" "slice_put "
has header "$(head -1 "$TMP/a.gti")" "gti 1"
# what asks for a value: a reading function, a shape, or control flow
for expr in 'print(f"{x.sum().item():.3f}")' 'y = x.sum().item() * 2' 'x.tolist()' 'y = float(x.sum())'; do
    code "$expr" 1 "$GTSH" --emit -c "x = ones(3); $expr"
    has "$expr" "$(err)" "reads a value, but --emit computes none"; has "$expr" "$(err)" "hint: print, f-strings and track take the tensor itself"
done
code "print without item" 0 "$GTSH" --emit -c 'x = ones(3); print(f"{x.sum():.3f}")'
code "shape on data" 1 "$GTSH" --emit -c 'x = ones(3); y = x[x > 0]'; has "shape on data" "$(err)" "the shape depends on data"
code "control flow on data" 1 "$GTSH" --emit -c 'if ones(1) > 0 { print(1) }'; has "control flow on data" "$(err)" "depends on data"
cat >"$TMP/bad.gti" <<'GTI'
gti 1
t0 = full [2] f32 1
t1 = add t0 t7
GTI
code "unknown id" 1 "$GTSH" --replay "$TMP/bad.gti"; has "unknown id" "$(err)" "bad.gti:3"
printf 'gti 1\nt0 = frobnicate [2]\n' >"$TMP/bad.gti"
code "unknown op" 65 "$GTSH" --replay "$TMP/bad.gti"; has "unknown op" "$(err)" "frobnicate"
printf 'gti 1\nt0 = full 1 [2] f32 -> f32[3]\n' >"$TMP/bad.gti"
code "wrong type" 1 "$GTSH" --replay "$TMP/bad.gti"
printf 'gti 9\n' >"$TMP/bad.gti"
code "wrong version" 65 "$GTSH" --replay "$TMP/bad.gti"
code "save in a replay" 0 sh -c '"$GTSH" --emit -c "save({a: arange(3), n: 5}, \"$TMP/s.safetensors\")" | "$GTSH" --replay -'
code "save in a replay: read" 0 "$GTSH" -c "print(load(\"$TMP/s.safetensors\"))"; same "save in a replay" "$(out)" '{a: tensor([0, 1, 2]), n: 5}'
code "a picture in a replay" 0 sh -c '"$GTSH" --emit -c "save({a: arange(3), n: 5}, \"$TMP/s.npz\"); save(arange(4).reshape(2, 2).to(uint8), \"$TMP/s.png\")" | "$GTSH" --replay -'
code "a picture in a replay: read" 0 "$GTSH" -c "print(load(\"$TMP/s.npz\"), load(\"$TMP/s.png\").tolist())"; same "a picture in a replay" "$(out)" '{a: tensor([0, 1, 2]), n: 5} [[0, 1], [2, 3]]'
# a large file is named in the stream, with its hash
"$GTSH" -c "save(randn(700, 500), \"$TMP/big.npy\")"
printf 'x = load("%s")\nprint(x.sum(), x[3, :4])\n' "$TMP/big.npy" >"$TMP/big.gt"
code "large: run" 0 "$GTSH" "$TMP/big.gt"; cp "$TMP/out" "$TMP/run"
code "large: emit" 0 "$GTSH" --emit "$TMP/big.gt"; cp "$TMP/out" "$TMP/big.gti"
has "large: emit" "$(sed -n 2p "$TMP/big.gti" | cut -c1-12)" "t0 = load"
code "large: replay" 0 "$GTSH" --replay "$TMP/big.gti"; same "large: replay" "$(out)" "$(cat "$TMP/run")"
printf 'x' | dd of="$TMP/big.npy" bs=1 seek=5000 conv=notrunc 2>/dev/null
code "large: changed" 1 "$GTSH" --replay "$TMP/big.gti"; has "large: changed" "$(err)" sha256
code "a file of its own" 1 "$GTSH" --emit -c "x = ones(2); save(x, \"$TMP/own.npy\"); y = load(\"$TMP/own.npy\")"; has "a file of its own" "$(err)" "--emit writes no files"
code "a text of its own" 1 "$GTSH" --emit -c "write(\"$TMP/own.txt\", \"a\"); y = read(\"$TMP/own.txt\")"; has "a text of its own" "$(err)" "--emit writes no files"
finish
