# Other users of the machine, and connections without the token, cannot act as dispatcher, worker or client, make the
# dispatcher keep bytes, end it by connecting, or keep it from its signals.
. tests/fixtures/check.sh
. tests/fixtures/daemons.sh
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
unset GT_TOKEN
stranger() { (unset GT_TOKEN; XDG_RUNTIME_DIR="$TMP/else" "$@"); }
mkdir -m 700 "$TMP/else"

# A dispatcher refuses a directory that another user owns or can write.
mkdir -m 700 "$TMP/open"; mkdir -m 777 "$TMP/open/gt"; chmod 777 "$TMP/open/gt"
XDG_RUNTIME_DIR=$TMP/open code "a directory open to others" 78 "$GTSH" -d local -c 'print(ones(2))'
has "it says so" "$(err)" "must be a directory that you own, with mode 0700"
mkdir "$TMP/world"; chmod 777 "$TMP/world"
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print("up", flush=True); time.sleep(60)' "$TMP/world/d" >"$TMP/world.out" &
all="$all $!"; await "$TMP/world.out" up
code "a socket in a place open to others" 69 "$GTSH" -d "$TMP/world/d" -c 'print(ones(2))'
has "it says so" "$(err)" "may belong to another user"
code "a worker does not go there" 1 "$W" -d "$TMP/world/d" --once --wait 5
has "it says so" "$(err)" "may belong to another user"
if [ "$(id -u)" = 0 ]; then # really another user
    mkdir -m 755 "$TMP/his"; chown 65534 "$TMP/his"; chmod 755 "$TMP"
    python3 -c 'import os, socket, sys, time
os.setgroups([]); os.setuid(65534)
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); s.listen(); print("up", flush=True)
s.settimeout(60); s.accept(); print("heard", flush=True)' "$TMP/his/d" >"$TMP/his.out" 2>&1 &
    all="$all $!"; await "$TMP/his.out" up
    code "another user's socket" 69 "$GTSH" -d "$TMP/his/d" -c 'print(ones(2))'
    has "it says so" "$(err)" "may belong to another user"
    same "nothing was said to him" "$(cat "$TMP/his.out")" up
    chmod 700 "$TMP"
fi

# A loopback port accepts the token, and refuses none or another.
start d "$D" -p 0 -w 1 --threads 1 --memory 64M --endpoint-file "$TMP/where"; d=$pid
await "$TMP/d.out" "ready at"
at=$(sed -n 1p "$TMP/where") token=$(sed -n 2p "$TMP/where")
same "the file is closed to others" "$(stat -c %a "$TMP/where")" 600
same "this user" "$("$GTSH" -d "$at" -c 'print(ones(3).sum())')" "tensor(3.)"
code "a client without the token" 69 stranger "$GTSH" -d "$at" -c 'print(ones(3).sum())'
has "refused with an error" "$(err)" "it has another token"
code "a worker without the token" 1 stranger "$W" -d "$at" --memory 16M --once --wait 20
has "refused with an error" "$(err)" "it has another token"
same "by the file" "$(stranger "$GTSH" -d "@$TMP/where" -c 'print(stats().workers)')" 1
same "by the variable" "$(GT_TOKEN=$token XDG_RUNTIME_DIR=$TMP/else "$GTSH" -d "$at" -c 'print(stats().workers)')" 1
cp "$TMP/where" "$TMP/leaked"; chmod 644 "$TMP/leaked"
code "a file that others read" 78 "$GTSH" -d "@$TMP/leaked" -c 1; has "it says so" "$(err)" "others can read or write it"

# Bytes from a peer without the token: one command of 600 MB, and parts without end.
peak() { awk '/^VmHWM/ { print int($2 / 1024) }' /proc/$1/status; }
before=$(peak $d)
cat >"$TMP/bytes.py" <<'PY'
import socket, struct, sys, time
host, port = sys.argv[1].split("//")[1].rsplit(":", 1)
greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00" + sys.argv[2].encode().ljust(20, b"\0") + bytes(32)
def flood(head):
    s = socket.create_connection((host, int(port)))
    s.settimeout(2)
    sent = 0
    try:
        s.sendall(greeting)
        time.sleep(0.1)
        while sent < 200 << 20:
            s.sendall(head if sent == 0 or len(head) > 100 else bytes(1 << 16))
            sent += 1 << 16
    except OSError:
        pass
for flag in (0x06, 0x02, 0x03):
    flood(struct.pack(">BQ", flag, 600 << 20))
flood((b"\x01\xff" + bytes(255)) * 256)
PY
timeout 60 python3 "$TMP/bytes.py" "$at" NULL
timeout 60 python3 "$TMP/bytes.py" "$at" CURVE
after=$(peak $d)
[ $((after - before)) -le 16 ] || fail "a stranger's bytes: from $before to $after MiB"
same "and it serves" "$("$GTSH" -d "$at" -c 'print(ones(4).sum())')" "tensor(4.)"
kill -TERM $d; wait $d; same "ends in order" $? 0

# More connections than descriptors do not end the dispatcher; existing clients go on.
(ulimit -n 64; exec "$D" -w 1 --threads 1 --memory 64M >"$TMP/few.out" 2>"$TMP/few.err") & d=$!
all="$all $d"; await "$TMP/few.out" "ready at"
python3 -c 'import socket, sys, time
all = []
for i in range(101):
    s = socket.socket(socket.AF_UNIX); s.settimeout(2)
    try: s.connect(sys.argv[1])
    except OSError: continue
    all.append(s)
print("up", flush=True); time.sleep(1.5)' "$TMP/gt/dispatcher" >"$TMP/many.out" & many=$!
await "$TMP/many.out" up
wait $many
kill -0 $d 2>/dev/null || { fail "101 connections end the dispatcher: $(cat "$TMP/few.err")"; finish; }
same "afterwards" "$("$GTSH" -d local -c 'print(ones(5).sum())')" "tensor(5.)"

# More clients than descriptors: the last one gets an error, and can connect when the others have left.
(ulimit -n 48; exec "$D" --ipc "$TMP/small" -w 1 --threads 1 --memory 64M >"$TMP/small.out" 2>"$TMP/small.err") & small=$!
all="$all $small"; await "$TMP/small.out" "ready at"
clients=
for i in $(seq 15); do # with the worker 48 - 32
    start "client.$i" "$GTSH" -d "$TMP/small" -c 'print(ones(1).sum(), err=true); while not exists(getenv("TMP") + "/end") { sleep(0.05) }'
    clients="$clients $pid"
done
for i in $(seq 15); do await "$TMP/client.$i.err" "tensor(1.)"; done
code "one client too many" 69 "$GTSH" -d "$TMP/small" -c 'print(ones(1))'
has "refused with an error" "$(err)" "has 16 clients and workers and no room for more"
touch "$TMP/end"; wait $clients
has "with room again" "$("$GTSH" -d "$TMP/small" -c 'print(ones(6).sum())')" "tensor(6.)"
kill -TERM $small; wait $small; same "ends in order" $? 0

# A socket in the file system requires the token, too.
GT_TOKEN=0123456789abcdef0123456789abcdef code "another token" 69 "$GTSH" -d local -c 'print(ones(5).sum())'
has "refused with an error" "$(err)" "it has another token"
has "and why" "$(err)" "hint: GT_TOKEN is set: unset it if it is not the dispatcher's token"
printf 'ipc://%s\n%s\n' "$TMP/gt/dispatcher" fedcba9876543210fedcba9876543210 >"$TMP/old"; chmod 600 "$TMP/old"
GT_TOKEN=0123456789abcdef0123456789abcdef code "the token of a file" 69 "$GTSH" -d @"$TMP/old" -c 'print(ones(5).sum())'
has "and which" "$(err)" "hint: the token is from '$TMP/old': is that the file of this dispatcher?"
case $(err) in *GT_TOKEN*) fail "the environment is not meant: $(err)" ;; esac

# A peer with the token but without a hello floods small messages: SIGTERM still ends the dispatcher.
cat >"$TMP/flood.py" <<'PY'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
command = lambda body: s.sendall(struct.pack(">BB", 4, len(body)) + body)
s.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"PLAIN".ljust(20, b"\0") + bytes(32))
token = open(sys.argv[2]).read().strip().encode()
s.recv(64, socket.MSG_WAITALL)
command(b"\x05HELLO" + b"\x02gt" + bytes([len(token)]) + token)
s.recv(1000)
command(b"\x08INITIATE" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER" + b"\x08Identity" + struct.pack(">I", 0))
print("up", s.recv(1000), flush=True)
try:
    while True: s.sendall(b"\x00\x01\x0c" * 20000)
except OSError: pass
PY
python3 "$TMP/flood.py" "$TMP/gt/dispatcher" "$TMP/gt/token" >"$TMP/flood.out" 2>"$TMP/flood.err" & flood=$!
all="$all $flood"; await "$TMP/flood.out" up
sleep 0.5
begin=$(date +%s)
kill -TERM $d; wait $d; same "ends in order" $? 0
[ $(($(date +%s) - begin)) -le 8 ] || fail "SIGTERM took $(($(date +%s) - begin)) s"
has "the flood was let in" "$(cat "$TMP/flood.out")" READY
kill $flood 2>/dev/null
finish
