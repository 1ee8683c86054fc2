# Tensors move between workers in place, in messages, and through UCX if it is built in: the same bits each way, and no
# data through the dispatcher. Then a worker dies during moves.
. tests/fixtures/check.sh
D=$B/gt-dispatcher
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER=
cat >"$TMP/move.yaml" <<'END'
all:
  shard: {axis: 0, workers: null}
END
# A product whose right operand has to be gathered, rows that move to the leaves of sums, and terms of several nodes:
# 7.9 MB between three workers; without the fixed order of sums it would be 1.2, because terms of sums could stay terms.
cat >"$TMP/move.gt" <<'END'
signal all { x = randn(2000, 500); w = randn(500, 300) }
y = (x @ w).sum(axis=0)
z = x.permute(1, 0) @ x
print(z.sum().item(), y[0].item(), (x @ w)[7, 9].item())
s = stats()
fn total(key) { return s["w0." + key] + s["w1." + key] + s["w2." + key] }
print(total("bytes_in"), total("peer_bytes"), total("onesided_bytes"), total("peers_mapped"), s.payload_bytes_in,
      s.reply_bytes_out + s.control_bytes, err=true)
END
trap 'kill -KILL $d 2>/dev/null' EXIT
# cluster WAY ARGUMENT...: three workers, reached by @$TMP/at
cluster() {
    way=$1
    shift
    rm -f "$TMP/at"
    GT_DATA_PLANE=$way "$D" -q --workers 3 --threads 1 --memory 100M --endpoint-file "$TMP/at" "$@" \
        >"$TMP/d.out" 2>"$TMP/d.err" &
    d=$!
    is_up() { [ -e "$TMP/at" ] || ! kill -0 $d; } # or it has ended
    poll is_up
}
stop() { kill -TERM $d; wait $d; }
# run NAME: the program on the cluster; its answer in $answer, its figures in $moved $sent $onesided $mapped $data $rest
run() {
    "$GTSH" -d "@$TMP/at" --config "$TMP/move.yaml" "$TMP/move.gt" >"$TMP/out" 2>"$TMP/err" || fail "$1: $(err)"
    answer=$(out)
    read -r moved sent onesided mapped data rest <"$TMP/err"
    [ "$moved" -gt 7500000 ] && [ "$moved" -lt 8500000 ] || fail "$1: $moved bytes moved"
    [ "$data" = 0 ] && [ "$rest" -lt 2000 ] || fail "$1: $data and $rest bytes through the dispatcher"
}
want=$("$GTSH" -w 3 --config "$TMP/move.yaml" "$TMP/move.gt" 2>/dev/null)

# one machine: each worker maps the memory of both others, and messages are small
cluster ""; [ -e "$TMP/at" ] || fail "no cluster: $(cat "$TMP/d.err")"
run place; same "in place" "$answer" "$want"
[ "$mapped" = 6 ] && [ "$sent" -lt 20000 ] && [ "$onesided" = 0 ] || fail "in place: $(err)"
stop; same "ends in order" $? 0
left=$(ls "$TMP/gt"); same "nothing is left but this user's token" "$left" token

# in messages, over sockets of this machine and over tcp
for where in "" "-p 0" "-p 0 -b 0.0.0.0 --insecure"; do
    cluster zmq $where; run "zmq $where"; same "zmq $where" "$answer" "$want"
    [ "$mapped" = 0 ] && [ "$sent" -ge "$moved" ] && [ "$onesided" = 0 ] || fail "zmq $where: $(err)"
    stop
done

# through UCX, if it is built in
cluster ucx
if [ -e "$TMP/at" ]; then
    run ucx; same ucx "$answer" "$want"
    [ "$mapped" = 0 ] && [ "$sent" -lt 20000 ] && [ "$onesided" -gt 1000000 ] || fail "ucx: $(err)"
    stop
else
    has "no UCX" "$(cat "$TMP/d.err")" "UCX"
    wait $d
fi
cluster pigeon; wait $d; has "no such way" "$(cat "$TMP/d.err")" "memfd, zmq or ucx"

# a worker is killed while others read from it: the client reports it at its line, and the cluster serves the next client
for way in "" zmq ucx; do
    cluster "$way"
    [ -e "$TMP/at" ] || continue
    : >"$TMP/loop.err" # of the round before
    "$GTSH" -d "@$TMP/at" --config "$TMP/move.yaml" -c 'signal all { w = randn(3000, 300) }
print("go", err=true)
while true { (ones(2, 3000) @ w).sum().item(); (w @ w[:300]).sum().item() }' >"$TMP/loop.out" 2>"$TMP/loop.err" &
    c=$!
    await "$TMP/loop.err" go
    sleep 0.3
    kill -KILL "$(cut -d" " -f2 /proc/$d/task/$d/children)"; begin=$(date +%s)
    wait $c; same "$way: exit code" $? 69
    soon "$way: the client reports it" "$begin" 3
    has "$way: the cause" "$(cat "$TMP/loop.err")" "is gone"
    same "$way: afterwards" "$("$GTSH" -d "@$TMP/at" --config "$TMP/move.yaml" -c 'signal all { x = ones(40, 30) }
print((x.permute(1, 0) @ x).sum().item())')" 36000.0
    stop
done
finish
