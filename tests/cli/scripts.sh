# The programs in scripts/ run, have a help text, and report errors.
. tests/fixtures/check.sh
for s in scripts/*.gt; do
    code "$s --help" 0 "$GTSH" "$s" --help
    has "$s --help" "$(out)" "--"
    code "$s -n" 0 "$GTSH" -n "$s"
done
code hello 0 "$GTSH" scripts/hello.gt --n 64; has hello "$(out)" "tensor([["; has hello "$(out)" "expected about 8.0000"
code autograd 0 "$GTSH" scripts/autograd.gt; has autograd "$(out)" "sin at 0.5: 0.479426, its derivative 0.877583, its second derivative -0.479426"
code mlp 0 "$GTSH" scripts/mlp.gt --out "$TMP/m.safetensors"; has mlp "$(out)" "accuracy 9"; has mlp "$(ls "$TMP")" m.safetensors
code "mnist without data" 1 "$GTSH" scripts/mnist.gt --data "$TMP"; has "mnist without data" "$(err)" "there is no"
# a toy MNIST: 10,000 images whose top left corner shows the label
code "mnist toy" 0 "$GTSH" -c "
y = randint(0, 10, [10000])
x = one_hot(y, 784).reshape(10000, 28, 28) * 255
x = pad(x[:, :, :26], [2, 0])
save(x.to(uint8), \"$TMP/t10k-images-idx3-ubyte\"); save(y.to(uint8), \"$TMP/t10k-labels-idx1-ubyte\")"
gzip "$TMP/t10k-images-idx3-ubyte" "$TMP/t10k-labels-idx1-ubyte"
code mnist 0 "$GTSH" scripts/mnist.gt --data "$TMP" --epochs 1 --hidden 16; has mnist "$(out)" "test accuracy"
code mnist_conv 0 "$GTSH" scripts/mnist_conv.gt --data "$TMP" --epochs 1 --width 2 --batch 500 --out "$TMP/r.safetensors"
has mnist_conv "$(out)" "epoch  1  loss"; has mnist_conv "$(ls "$TMP")" r.safetensors
code vae 0 "$GTSH" scripts/vae.gt --data "$TMP" --epochs 1 --hidden 8 --latent 3 --batch 500 --out "$TMP/s.pgm" --model "$TMP/v.safetensors"
has vae "$(out)" "ELBO of unseen images -"; has "vae's sheet" "$(head -n 2 "$TMP/s.pgm" | tr '\n' ' ')" "P5 448 224 "; has vae "$(ls "$TMP")" v.safetensors
code "vae --conv" 0 "$GTSH" scripts/vae.gt --data "$TMP" --epochs 1 --conv --hidden 4 --latent 2 --batch 1000; has "vae --conv" "$(out)" "epoch  1  ELBO"
code moons 0 "$GTSH" scripts/moons.gt --rows 7; has moons "$(out)" "accuracy 100.0%"; has moons "$(out)" "@@@@"
code lstm 0 "$GTSH" scripts/lstm.gt --data README.md --steps 6 --batch 4 --ctx 12 --width 8 --hidden 8 --layers 2 --sample 5 --out "$TMP/l.safetensors"
has lstm "$(out)" "step    5  loss"
code "lstm goes on" 0 "$GTSH" scripts/lstm.gt --steps 0 --resume "$TMP/l.safetensors" --sample 5 --prompt "gradient"; has "lstm goes on" "$(out)" "gradient"
# `make run` shows a text of words, and commands to try next
mkdir "$TMP/b"; ln -s "$GTSH" "$TMP/b/gtsh"
code demo 0 env DEMO_STEPS=2 sh scripts/demo "$TMP/b"
has demo "$(out)" "loss on unseen text"; has "what to try next" "$(out)" "scripts/moons.gt"; has demo "$(ls "$TMP/b/demo")" charlm.safetensors
XDG_CACHE_HOME=$TMP/cache; export XDG_CACHE_HOME
code compile 0 "$GTSH" scripts/compile.gt --steps 20 --rows 16 --cols 40 --times --source
has compile "$(out)" "the same bits: true"; has "compile's statistics" "$(out)" "launches of kernels for"
has "compile's times" "$(err)" "ms a step among the first 20"; has "compile's kernel" "$(out)" "/* w0: "
# debug.gt shows its own run: the same on one worker and on two
code debug 0 "$GTSH" scripts/debug.gt --steps 3 --width 8; cp "$TMP/out" "$TMP/debug"
has debug "$(out)" "Autograd Tape (7 operations, 2 parameters):
  1. param: inputs=[] shape=(16, 8) @scripts/debug.gt:"
has "debug: the last" "$(sed 's/=t[0-9]*/=t/; s/debug.gt:[0-9]*/debug.gt/' "$TMP/debug")" '  note "training begins" @scripts/debug.gt
  note "training is over" @scripts/debug.gt'
has "debug: the last" "$(sed -n '/^the last/,/note/p' "$TMP/debug")" "= div "
has "debug: where" "$(out)" 'where the prediction lies: {layout: "replicate", workers: [0], shapes: [[128, 1]], bytes: [512]}'
has "debug: tensors" "$(out)" "13 tensors of this program, workers: 1"
code "debug --all" 0 "$GTSH" -w 2 --profile --log-dir "$TMP/run" scripts/debug.gt --steps 3 --width 8 --all
has "debug --all" "$(out)" "WORKER  ENGINE"; has "debug --all" "$(out)" "w1 "; has "debug --all" "$(out)" "/* w0: "
has "debug --all, profile" "$(err)" "backward loss"; same "debug --all, track" "$(grep -c , "$TMP/run/metrics.csv")" 4
same "debug: two workers" "$(sed -n '/^Autograd/,/^where/p' "$TMP/out")" "$(sed -n '/^Autograd/,/^where/p' "$TMP/debug")"
# compile.gt compares eager and compiled steps, or says why it cannot, whatever the cache holds
c="scripts/compile.gt --steps 20 --rows 16 --cols 40"
has "compile, eager beside" "$(GT_FUSE=wait GT_AUTO_COMPILE=0 "$GTSH" $c)" "as it is: one by one; in the scope: kernels"
has "compile, both" "$(GT_FUSE=wait "$GTSH" $c)" "as it is, there were kernels too: GT_AUTO_COMPILE=0 leaves them to the scope"
has "compile, without" "$(GT_FUSE=0 "$GTSH" $c)" "there were no kernels"
same "compile: one loss" "$(grep -o 'loss .*' "$TMP/out" | sort -u | wc -l)" 1
finish
