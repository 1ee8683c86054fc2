# The kernels that come with the programs: they are those of the sources that this gtsh writes; programs use them with an
# empty cache, and without a compiler; results have the bits of operations carried out one by one, on every kind of processor.
. tests/fixtures/check.sh
[ -e "$B/lib/gt/kernels-base.so" ] || { echo "this build ships no kernels"; exit 77; }
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
# None is out of date, and none is missing: the list of the present sources is that of the files.
list() { GT_FUSE=list GT_SAVE_COMPILED_CODE=$TMP/$1 "$GTSH" -w 1 --threads "$2" worker/jit/shipped.gt || fail "list: exit code $?"; }
list code 1
n=0
for f in "$TMP"/code/*.c; do
    key=${f##*/} n=$((n + 1))
    for isa in base v3 v4; do
        grep -q "k${key%.c}_kernel" "$B/lib/gt/kernels-$isa.so" || fail "kernels-$isa.so lacks ${key%.c}: make"
    done
done
[ $n -ge 150 ] || fail "only $n kernels are listed"
same "as many are shipped" "$(cat "$B"/gen/shipped/[0-3].c | grep -c '^#define FUSED(x) k')" "$n"
# The list does not depend on the time that anything takes, nor on the number of threads.
list again 2
diff -r "$TMP/code" "$TMP/again" >"$TMP/out" || fail "another list the second time: $(out)"
# A small GPT: all its kernels are shipped.
cat >"$TMP/gpt.gt" <<'EOF'
seed(1)
d = 128
module GPT() {
    self.tok = nn.Embedding(64, d); self.ln1 = nn.LayerNorm(d); self.ln2 = nn.LayerNorm(d)
    self.up = nn.Linear(d, 4 * d); self.down = nn.Linear(4 * d, d); self.head = nn.Linear(d, 64)
    fn forward(ids) {
        x = self.tok(ids)
        return self.head(self.ln2(x + self.down(self.up(self.ln1(x)).gelu())))
    }
}
model = GPT(); o = optim.Adam(model.parameters(), lr=1e-3)
for i in range(6) {
    ids = randint(0, 64, (8, 17))
    loss = cross_entropy(model(ids[:, :-1]).reshape(-1, 64), ids[:, 1:].reshape(-1))
    o.zero_grad(); backward loss; o.step(); sync()
}
for i, p in enumerate(model.parameters()) { save(p.detach(), arg("dir") + f"/{i}.npy") }
s = stats()
print(s.get("jit.compiled", 0) + s.get("jit.failed", 0), s.get("jit.shipped", 0) >= 5, s.get("fused.launches", 0) > 20)
EOF
run() { # run NAME EXPECTED VARIABLE=VALUE...
    name=$1 expected=$2; shift 2
    mkdir -p "$TMP/$name"
    env "$@" "$GTSH" "$TMP/gpt.gt" --dir "$TMP/$name" >"$TMP/out" 2>"$TMP/err" || fail "$name: $(err)"
    [ -z "$expected" ] || same "$name" "$(out)" "$expected"
    for f in "$TMP"/plain/*.npy; do cmp -s "$f" "$TMP/$name/${f##*/}" || fail "$name: $(basename "$f") has other bits"; done
}
for isa in base v3 v4; do
    rm -rf "$TMP/plain"
    run plain "0 false false" GT_ISA=$isa GT_FUSE=0
    # On a slow machine a fusion may end early, and then has a kernel of its own; so it is tried several times.
    for try in 1 2 3 4 5 6 7 8; do
        rm -rf "$TMP/cache"
        run "shipped $isa" "" GT_ISA=$isa GT_FUSE=wait
        [ "$(out)" = "0 true true" ] && break
    done
    same "shipped $isa" "$(out)" "0 true true"
    run "no compiler $isa" "" GT_ISA=$isa GT_FUSE=wait GT_CC=/no/such/compiler
    has "no compiler $isa" "$(out)" " true true"
done
GT_FUSE=wait GT_CC=/no/such/compiler "$GTSH" -c 'y = tanh(rand(64, 64) * 2.5 + 1.5).cos() - 3; sync(); print(y.shape)' \
    >"$TMP/out" 2>"$TMP/err"
has "another kernel, without a compiler" "$(err)" "no more kernels are compiled: no C compiler: /no/such/compiler"
run "not wanted" "" GT_SHIPPED_KERNELS=0 GT_FUSE=wait GT_CC=/no/such/compiler
has "not wanted" "$(out)" " false false"; has "not wanted" "$(err)" "operations are not fused: no C compiler"
# What :kernel says of one.
for try in 1 2 3 4 5 6 7 8; do
    GT_FUSE=wait "$GTSH" -c 'y = layer_norm(randn(256, 256), 256); debug.print_kernel(y)' >"$TMP/out" 2>"$TMP/err"
    case "$(out)" in *shipped* | *"come with gtsh"*) break ;; esac
done
has "said of one" "$(out)" "one of the kernels that come with gtsh, launched 1 time */"
finish
