# Workers of the engine cuda in processes of their own, on the emulated device of tests/gpu where NVRTC is installed: tensors go
# straight from one process's device memory to another's, or, where that cannot be, through the host, with the same bits.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
. tests/fixtures/daemons.sh
need_nvrtc "memory lent between processes is not tested"
cat > "$TMP/split.gt" <<'E'
seed(5)
signal.define("s", axis=0); signal.define("r", replicated=true)
a = randn(96, 80)
signal s { x = a * 2 + 1; y = x.T @ x }
signal r { z = y + 1; t = x.sum(0); u = x[5:40, 3:9].relu() }
print(z.sum().item(), t[3].item(), u.sum().item(), y[3, 4].item())
b = [0]
for i in range(4) { signal s { x = x * 0.5 + a; y = x.T @ x }; signal r { w = y * 2; b.append(w.sum().item()) } }
print(b[1:])
E
cp "$TMP/split.gt" "$TMP/counted.gt"
cat >> "$TMP/counted.gt" <<'E'
st = debug.get_worker_stats()
fn all(key) => sum([st[w][key] for w in st.keys()])
print("sum", all("direct_bytes"), all("peer_bytes"))
E
truth=$("$GTSH" --engine cpu -w 2 "$TMP/split.gt" 2>&1)
# spread WHAT NAME=VALUE...: the script on two workers; sets direct and sent, bytes read in place and bytes in messages
spread() {
    what=$1
    shift
    start d env "$@" "$D" -w 2 --engine cuda --memory 30M
    await "$TMP/d.out" "ready at"
    code "$what" 0 "$GTSH" -d local "$TMP/counted.gt"
    same "$what" "$(out | grep -v ^sum)" "$truth"
    direct=$(out | sed -n 's/^sum \([0-9]*\) .*/\1/p') sent=$(out | sed -n 's/^sum [0-9]* \([0-9]*\)$/\1/p')
    kill $pid; wait $pid 2>/dev/null
    case "$(cat "$TMP/d.err")" in *emulated*) fail "$what: $(cat "$TMP/d.err")" ;; esac
}
spread "one device" GT_EMU_DEVICES=1
one=$direct least=$sent
[ "$one" -gt 100000 ] || fail "one device: $one bytes were read in place"
spread "two devices" GT_EMU_DEVICES=2
same "two devices: bytes read in place" "$direct" "$one"
for v in GT_EMU_IPC=0 GT_DATA_PLANE=zmq; do
    spread "through the host, $v" $v
    same "through the host, $v: bytes read in place" "$direct" 0
    [ "$sent" -ge $((least + one)) ] || fail "through the host, $v: $sent bytes in messages, $least with $one read in place"
done
spread "devices that do not reach each other" GT_EMU_DEVICES=2 GT_EMU_PEERS=0
same "devices that do not reach each other: bytes read in place" "$direct" 0

# A worker that is killed in the middle of moves: a sentence, and then another one in its place, with the same bits.
start d "$D" -w 2 --engine cuda --memory 60M
await "$TMP/d.out" "ready at"
sed 's/range(4)/range(100000)/; s/b.append(.*) } }/w.sum().item(); if i == 20 { print("going", err=true) } } }/' "$TMP/split.gt" >"$TMP/long.gt"
"$GTSH" -d local "$TMP/long.gt" >"$TMP/long.out" 2>"$TMP/long.err" &
client=$!
all="$all $client"
await "$TMP/long.err" going
victim=$(pgrep -P "$pid" | head -n 1)
kill -KILL "$victim"
wait $client
same "a killed worker: exit code" $? 69
has "a killed worker" "$(cat "$TMP/long.err")" "is gone"
echo 'print(len(debug.get_worker_stats().keys()))' >"$TMP/two.gt"
has_two() { [ "$("$GTSH" -d local "$TMP/two.gt")" = 2 ]; }
poll has_two || fail "after a killed worker: there is no other"
code "after a killed worker" 0 "$GTSH" -d local "$TMP/counted.gt"
same "after a killed worker" "$(out | grep -v ^sum)" "$truth"
case "$(out)" in *"sum 0 "*) fail "after a killed worker: nothing is read in place" ;; esac
kill $pid; wait $pid 2>/dev/null
finish
