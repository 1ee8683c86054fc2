# Values without memory may be large as text: a tensor without elements and 900 million rows, from a file of 12 bytes,
# as lists; one element expanded 2^44 times. Each gives an answer or an error at once, and no file is left.
. tests/fixtures/check.sh
printf '\0\0\010\002\065\244\351\0\0\0\0\0' >"$TMP/a-idx2-ubyte"
gt() { timeout 60 "$GTSH" --memory 64M --threads 1 -c "$1" >"$TMP/out" 2>"$TMP/err"; got=$?; }
gt "x = load('$TMP/a-idx2-ubyte'); print(x); save(x, '$TMP/a.npy'); print(load('$TMP/a.npy').shape)"
same "no elements" "$got $(out)" "0 tensor([], shape=(900000000, 0), dtype=uint8)
[900000000, 0]"
for name in a.json a.jsonl a.yaml; do
    gt "x = load('$TMP/a-idx2-ubyte'); save({x: x}, '$TMP/$name')"
    same "$name" "$got" 1
    has "$name" "$(err)" "shape (900000000, 0) is more than 1048576 empty lists"
    [ ! -e "$TMP/$name" ] || fail "$name is left"
done
gt "print(zeros(2, 300, 300000000, 0).tolist())"
same "tolist" "$got" 1
has "tolist" "$(err)" "empty lists"
gt "print(zeros(2, 0, 3).tolist(), zeros(0).tolist(), zeros(0, 900000000).tolist())"
same "a few" "$got $(out)" "0 [[], []] [] []"

gt "x = ones(1).expand(2**44); print(x); print(x.reshape(2**22, 2**22)[5]); for v in x { print(v); break }"
same "a large view" "$got $(out)" "0 tensor([1., 1., 1.,  ..., 1., 1., 1.], shape=(17592186044416))
tensor([1., 1., 1.,  ..., 1., 1., 1.], shape=(4194304))
tensor(1.)"
for name in b.npy b.csv b.json b.bin; do
    gt "save(ones(1).expand(2**44), '$TMP/$name')"
    same "$name" "$got" 1
    has "$name" "$(err)" "64 TiB"
    [ ! -e "$TMP/$name" ] || fail "$name is left"
done
gt "x = ones(1).expand(2**44).tolist()"
same "fetch" "$got" 1
has "fetch" "$(err)" "64 TiB"

# Tensors of no elements: a client's limit counts them, and without a limit they take no memory from others.
. tests/fixtures/daemons.sh
for limit in 1M none; do
    [ $limit = none ] && n=70000 && set -- || { n=6000 && set -- --client-memory $limit; }
    start d$limit "$D" --ipc "$TMP/$limit" -w 1 --memory 4M "$@"
    await "$TMP/d$limit.out" "ready at"
    start c$limit "$GTSH" -d "ipc://$TMP/$limit" -c "xs = []; for i in range($n) { xs.append(zeros(0)) }
sync(); print('made', xs[$n - 1].shape, err=true); while true { sleep(1) }"
    [ $limit = none ] && await "$TMP/cnone.err" made || await "$TMP/c1M.err" "are free for this client"
    same "others, limit $limit" \
        "$(timeout 60 "$GTSH" -d "ipc://$TMP/$limit" -c 'print(ones(1000, 100).sum().item())')" 100000.0
done

# 4,096 refused instructions end a client. Its error is still the first refusal, even if the program looks for errors only at
# its end: sync() waits for all instructions in flight.
{ echo 'xs = ['; for i in 1 2 3 4 5 6 7 8 9; do seq -s ' ' 1000 | sed 's/[0-9]*/zeros(0),/g'; done; echo ']; sync()'; } >"$TMP/many.gt"
timeout 60 "$GTSH" -d "ipc://$TMP/1M" "$TMP/many.gt" >"$TMP/out" 2>"$TMP/err"
same "exit code" $? 1
has "the first refusal" "$(err)" "of 1.0 MiB are free for this client"
has "who sets the limit" "$(err)" "hint: gt-dispatcher --client-memory sets the limit"
finish
