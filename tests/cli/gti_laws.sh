# Laws of instruction files, for every program in scripts/ and for random ones (tests/fuzz/laws.gt): --emit | --replay
# prints what the program prints; text -> binary -> text is the identity; a copy made by --tee replays to the same
# values; a tape replays to the same fetches; dropping annotations and sharding changes nothing.
. tests/fixtures/check.sh
ulimit -c 0
like() { cmp -s "$2" "$3" || fail "$1: $(differ "$(cat "$2")" "$(cat "$3")")"; }
# laws NAME OPTIONS... -- ARGUMENTS...: the program and its arguments; options of gtsh before the --
laws() {
    name=$1 opts=
    shift
    while [ "$1" != -- ]; do opts="$opts $1"; shift; done
    shift
    rm -f "$TMP"/[a-z].*
    GT_INSTRUCTION_LOG="$TMP/t.tape" code "$name" 0 "$GTSH" $opts "$@"; cp "$TMP/out" "$TMP/run"
    code "$name: tee" 0 "$GTSH" $opts --tee "$TMP/t.gti" "$@"; like "$name: tee" "$TMP/out" "$TMP/run"
    code "$name: tee, replay" 0 "$GTSH" $opts --verify --tee "$TMP/u.gti" --replay "$TMP/t.gti"
    has "$name: verify" "$(err)" "values were compared, 0 differ"
    grep '^value' "$TMP/t.gti" | cut -d' ' -f3- >"$TMP/t.values"
    grep '^value' "$TMP/u.gti" | cut -d' ' -f3- >"$TMP/u.values"; like "$name: tee, values" "$TMP/u.values" "$TMP/t.values"
    code "$name: tape" 0 "$GTSH" $opts --tee "$TMP/v.gti" --replay "$TMP/t.tape"
    grep '^value' "$TMP/v.gti" | cut -d' ' -f3- >"$TMP/v.values"; like "$name: tape, fetches" "$TMP/v.values" "$TMP/t.values"
    grep -v '^signal' "$TMP/t.gti" >"$TMP/w.gti"
    case $opts in *-w*) ;; # there, other layouts may round otherwise
    *) (cd "$TMP" && "$GTSH" --verify --replay - <w.gti >out 2>err) || fail "$name: without signals: $(err)" ;;
    esac
    identity "$name: tee" "$TMP/t.gti"
    if ! "$GTSH" $opts --emit "$@" >"$TMP/e.gti" 2>"$TMP/err"; then
        has "$name: emit" "$(err)" "--emit"
        return
    fi
    emitted=$((emitted + 1))
    "$GTSH" $opts --replay - <"$TMP/e.gti" >"$TMP/out" 2>"$TMP/err" || fail "$name: replay: $(err)"
    like "$name: emit | replay" "$TMP/out" "$TMP/run"
    identity "$name: emit" "$TMP/e.gti"
    code "$name: binary" 0 "$GTSH" $opts --emit=binary "$@"; like "$name: binary" "$TMP/out" "$TMP/e.gtb"
    code "$name: binary, replay" 0 "$GTSH" $opts --replay "$TMP/e.gtb"; like "$name: binary, replay" "$TMP/out" "$TMP/run"
    grep -v '^signal\|^note\|^edge\|^#' "$TMP/e.gti" | sed 's/ @[^ ]*$//' >"$TMP/b.gti"
    code "$name: bare" 0 "$GTSH" --replay "$TMP/b.gti"; like "$name: bare" "$TMP/out" "$TMP/run"
}
# identity NAME FILE.gti: FILE.gtb is its binary form, which gives the same text; text gives the same text, too
identity() {
    code "$1: to binary" 0 "$GTSH" --emit=binary --replay "$2"; cp "$TMP/out" "${2%.gti}.gtb"
    code "$1: to text" 0 "$GTSH" --emit "${2%.gti}.gtb"; like "$1: text, binary, text" "$TMP/out" "$2"
    code "$1: text to text" 0 "$GTSH" --emit "$2"; like "$1: text, text" "$TMP/out" "$2"
    code "$1: dry" 0 "$GTSH" --dry "${2%.gti}.gtb"; same "$1: dry" "$(out)" ""
}

# a toy MNIST, as in scripts.sh: the images show the labels in a corner
code "mnist toy" 0 "$GTSH" -c "
y = randint(0, 10, [10000])
x = one_hot(y, 784).reshape(10000, 28, 28) * 255
save(x.to(uint8), \"$TMP/t10k-images-idx3-ubyte\"); save(y.to(uint8), \"$TMP/t10k-labels-idx1-ubyte\")"
gzip "$TMP/t10k-images-idx3-ubyte" "$TMP/t10k-labels-idx1-ubyte"
emitted=0
export GT_COMPILE=0
for script in scripts/*.gt; do
    name=$(basename "$script" .gt) four=
    [ -f "scripts/$name.yaml" ] && four="-w 4 --config scripts/$name.yaml"
    case $name in
    hello) args="--n 100" ;;
    mlp) args="--steps 20 --out $TMP/m.safetensors" ;;
    charlm) args="--data README.md --steps 3 --batch 4 --ctx 16 --width 16 --heads 2 --layers 1 --sample 16" four= ;;
    lstm) args="--data README.md --steps 3 --batch 4 --ctx 12 --width 8 --hidden 8 --sample 5" ;;
    mnist) args="--data $TMP --epochs 1 --hidden 8 --batch 5000" four= ;;
    mnist_conv) args="--data $TMP --epochs 1 --width 1 --batch 4500" ;;
    vae) args="--data $TMP --epochs 1 --hidden 8 --latent 3 --batch 5000 --out $TMP/s.pgm" ;;
    moons) args="--n 50 --steps 5 --rows 5" ;;
    compile) args="--steps 3 --rows 16 --cols 40" ;;
    data_parallel | tensor_parallel | pipeline | auto_shard) args="--steps 3" ;;
    *) args= ;;
    esac
    case $name in mnist* | vae) grep -q 'arg("data"' "$script" || args= ;; esac
    laws "$name" -- "$script" $args
    [ -z "$four" ] || laws "$name, four workers" $four -- "$script" $args
done
[ $emitted -ge 6 ] || fail "only $emitted programs could be emitted"
"$GTSH" tests/fuzz/laws.gt --programs $((6 * ${SOAK:-1})) --start "${SOAK_SEED:-7}" >"$TMP/random.gt" || fail "laws.gt"
laws random -- "$TMP/random.gt"
finish
