# charlm saves a checkpoint and continues from it.
. tests/fixtures/check.sh
small="--data README.md --batch 4 --sample 0"
code train 0 "$GTSH" scripts/charlm.gt $small --ctx 16 --width 16 --heads 2 --layers 1 --steps 5 --out "$TMP/deep/c.safetensors"
code resume 0 "$GTSH" scripts/charlm.gt $small --steps 5 --resume "$TMP/deep/c.safetensors" --out "$TMP/d.safetensors"
code look 0 "$GTSH" -c "c = load(\"$TMP/d.safetensors\"); print(c.step, c.shape, c.adam.t, c.model[\"tok.weight\"].shape)"
same look "$(out)" '10 {ctx: 16, width: 16, heads: 2, layers: 1} 10 [256, 16]'
same "no temporary files" "$(ls -A "$TMP/deep")" c.safetensors
code "no such checkpoint" 1 "$GTSH" scripts/charlm.gt $small --resume "$TMP/none.safetensors"; has "no such checkpoint" "$(err)" "none.safetensors"
# With words as symbols: the checkpoint has them, and a text that has other words is read with these.
code words 0 "$GTSH" scripts/charlm.gt $small --words 40 --ctx 16 --width 16 --heads 2 --layers 1 --steps 2 --out "$TMP/w.safetensors"
has words "$(out)" "symbols to learn from"
echo "the language of the tensors, the tensors of the language: @ ~ ^ " >"$TMP/t.txt"; for _ in 1 2 3 4 5; do cat "$TMP/t.txt" "$TMP/t.txt" >"$TMP/u.txt"; cp "$TMP/u.txt" "$TMP/t.txt"; done
code "words, resumed" 0 "$GTSH" scripts/charlm.gt --data "$TMP/t.txt" --batch 2 --sample 30 --prompt " the" --steps 1 --resume "$TMP/w.safetensors"
has "words, resumed" "$(out)" "symbols to learn from"; has "words, its prompt" "$(out)" " the"
finish
