# A small GPT trains to the same bits: twice, with 1 and 2 workers, data-parallel on 2 and 3, with 1, 2,
# 3 and 8 threads; another seed differs.
. tests/fixtures/check.sh
run() { "$GTSH" "$@" scripts/charlm.gt --data "README.md,man/*" --steps 8 --batch 8 --ctx 24 --width 32 --heads 2 --layers 2 \
    --sample 20 $extra >"$TMP/out" 2>"$TMP/err" || fail "charlm $* $extra: $(err)"; }
extra=
run -w 1 --threads 1; cp "$TMP/out" "$TMP/one"
has charlm "$(cat "$TMP/one")" "loss on unseen text"
for how in "-w 1 --threads 1" "-w 2" "-w 2 --config scripts/charlm.yaml" "-w 3 --config scripts/charlm.yaml" "--threads 2" \
    "--threads 3" "--threads 8"; do
    run $how; same "$how" "$(out)" "$(cat "$TMP/one")"
done
extra="--seed 1"; run -w 1
[ "$(out)" != "$(cat "$TMP/one")" ] || fail "another seed gives the same numbers"
finish
