# --engine null: shapes and errors as with other engines, values 0, no memory: 72 workers fit.
. tests/fixtures/check.sh
null() { "$GTSH" --engine null "$@"; }
same values "$(null -c 'x = ones(3, 2); y = x @ x.T + 1; print(y); print(y.shape, y.sum().item())')" 'tensor([[0., 0., 0.],
        [0., 0., 0.],
        [0., 0., 0.]])
[3, 3] 0.0'
code shapes 1 null -c 'ones(3, 2) @ ones(3, 2)'; has shapes "$(err)" "inner sizes"
code "out of memory" 1 null --memory 1M -c 'x = ones(1000, 1000); print(x[0])'; has "out of memory" "$(err)" "out of memory"
# freed memory can be used again, and a program of 4 GB tensors on 72 workers stays small
same again "$(null --memory 9M -c 'x = ones(1000, 1000); for i in range(50) { x = x + 1 }; print(x[0, 0].item())')" 0.0
cat >"$TMP/big.gt" <<'GT'
x = ones(30000, 30000)
y = x @ x
signal.define("rows", axis=0)
signal rows { z = ones(30000, 30000); z = z + z.T }
print(y.sum().item() + z.sum().item(), "done", err=true)
sleep(3600)
GT
"$GTSH" --engine null -w 72 --memory 16G "$TMP/big.gt" >"$TMP/big" 2>"$TMP/big.err" &
pid=$!
trap 'kill $pid 2>/dev/null' EXIT
await "$TMP/big.err" done
same big "$(cat "$TMP/big.err")" "0.0 done"
case "$B" in *san*) ;; *) # sanitizers have shadows of all that is reserved
    kib=$(awk '/VmHWM/ { print $2 }' /proc/$pid/status)
    [ "$kib" -lt 300000 ] || fail "72 workers take $kib KiB" ;;
esac
finish
