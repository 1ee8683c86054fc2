# Several hosts, as network namespaces with their own addresses: dispatcher and workers over tcp, a client that
# connects, trains and leaves, after which all memory is freed; tensors sent in messages and, if it is built in, through
# UCX.
. tests/fixtures/check.sh
if [ -z "$GT_TEST_INSIDE" ]; then
    command -v ip >/dev/null || { echo "there is no 'ip' (iproute2) here"; exit 77; }
    why=$(unshare -rmnpf --mount-proc true 2>&1) || { echo "namespaces are not allowed here: $why"; exit 77; }
    export GT_TEST_INSIDE=1 GTSH TMP B
    exec unshare -rmnpf --mount-proc sh tests/cli/netns.sh # all of it ends with this process
fi
mount -t tmpfs tmpfs /run && mkdir -p /run/netns || fail "cannot mount /run"
ip link add bridge type bridge && ip link set bridge up
# host NAME ADDRESS
host() {
    ip netns add "$1"
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip link set "$1" master bridge up
    ip -n "$1" addr add "$2/24" dev eth0
    ip -n "$1" link set eth0 up
    ip -n "$1" link set lo up
}
host main 10.77.0.1; host left 10.77.0.2; host right 10.77.0.3; host desk 10.77.0.9
on() {
    h=$1
    shift
    ip netns exec "$h" "$@"
}
# figure NAME: of all three workers
figure() {
    on desk "$GTSH" -d 10.77.0.1:9000 -c "x = ones(1); sync(); s = stats(); print(s['w0.$1'] + s['w1.$1'] + s['w2.$1'])"
}
train="scripts/data_parallel.gt --batch=60 --hidden=20000 --steps=4"
yaml="--config scripts/data_parallel.yaml"
want=$("$GTSH" -w 3 $yaml $train 2>/dev/null)
has "trained" "$want" "step   3  loss"

# start WAY: a dispatcher ($d) and a worker ($w) on each host
start() {
    export GT_DATA_PLANE=$1
    rm -f "$TMP"/d.err "$TMP"/w?.err # of the cluster before
    ip netns exec main "$B/gt-dispatcher" -p 9000 -b 10.77.0.1 --insecure >"$TMP/d.out" 2>"$TMP/d.err" & d=$!
    n=0 w=
    for at in main left right; do
        ip netns exec $at "$B/gt-worker" -d 10.77.0.1:9000 --threads 1 --memory 200M --once >"$TMP/w$n.out" 2>"$TMP/w$n.err" & w="$w $!"
        n=$((n + 1))
    done
    await "$TMP/d.err" "worker w2"
}
for way in zmq ucx ""; do
    if [ "$way" = ucx ]; then # not built in, or not installed: it says so at once
        GT_DATA_PLANE=ucx "$B/gt-worker" -d "$TMP/none" --memory 1M --wait 1 2>&1 | grep -q UCX && continue
    fi
    start "$way"
    storages=$(figure storages)
    same "$way: as in one process" "$(on desk "$GTSH" -d 10.77.0.1:9000 $yaml $train 2>"$TMP/err")" "$want"
    same "$way: no errors" "$(grep error "$TMP/err")" ""
    is_back() { left=$(figure storages) && [ "$left" = "$storages" ]; }
    poll is_back; same "$way: memory is given back" "$left" "$storages"
    moved=$(figure bytes_in) sent=$(figure peer_bytes) onesided=$(figure onesided_bytes) mapped=$(figure peers_mapped)
    [ "$moved" -gt 1000000 ] || fail "$way: $moved bytes moved"
    case $way in
    zmq) [ "$sent" -ge "$moved" ] && [ "$mapped" = 0 ] || fail "zmq: $moved moved, $sent sent, $mapped mapped" ;;
    ucx) [ "$onesided" -gt 1000000 ] && [ "$mapped" = 0 ] || fail "ucx: $moved moved, $onesided one-sided, $mapped mapped" ;;
    *) [ "$mapped" = 6 ] || fail "$mapped peers mapped, for it is one machine after all" ;;
    esac
    kill -TERM $d; wait $d; same "$way: ends in order" $? 0
    for p in $w; do wait $p; same "$way: a worker ends" $? 0; done
done

# an unplugged cable: no goodbye arrives, and yet the client reports the loss
start zmq
ip netns exec desk "$GTSH" -d 10.77.0.1:9000 $yaml -c 'signal model { x = ones(300, 300) }
signal batch { y = ones(300, 300) }
print("go", err=true)
while true { (y @ x).sum().item() }' >"$TMP/loop.out" 2>"$TMP/loop.err" & c=$!
await "$TMP/loop.err" go
sleep 0.3
ip link set right down; begin=$(date +%s)
wait $c; same "unplugged: exit code" $? 69
soon "unplugged: the client reports it" "$begin" 20
has "unplugged: the cause" "$(cat "$TMP/loop.err")" "is gone"
has "unplugged: afterwards" "$(on desk "$GTSH" -d 10.77.0.1:9000 $yaml -c 'signal batch { x = ones(40, 30) }
print((x.permute(1, 0) @ x).sum().item())')" 36000.0
finish
