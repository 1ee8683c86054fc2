# charlm saves a checkpoint and goes on from it.
. tests/fixtures/check.sh
small="--data README.md --batch 4 --sample 0"
code train 0 "$GTSH" scripts/charlm.gt $small --ctx 16 --width 16 --heads 2 --layers 1 --steps 5 --out "$TMP/deep/c.safetensors"
code resume 0 "$GTSH" scripts/charlm.gt $small --steps 5 --resume "$TMP/deep/c.safetensors" --out "$TMP/d.safetensors"
code look 0 "$GTSH" -c "c = load(\"$TMP/d.safetensors\"); print(c.step, c.shape, c.adam.t, c.model[\"tok.weight\"].shape)"
same look "$(out)" '10 {ctx: 16, width: 16, heads: 2, layers: 1} 10 [256, 16]'
same "no temporary files" "$(ls -A "$TMP/deep")" c.safetensors
code "no such checkpoint" 1 "$GTSH" scripts/charlm.gt $small --resume "$TMP/none.safetensors"; has "no such checkpoint" "$(err)" "none.safetensors"
finish
