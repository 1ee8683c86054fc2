# The residual network learns real digits if the files exist (GT_DATA, else ../shared/data): a thin one, after two
# epochs, classifies 95 % of 1,000 test images correctly. In `make soak` the program as it is: 97.5 %.
. tests/fixtures/check.sh
dir=${GT_DATA:-../shared/data}
if [ ! -r "$dir/t10k-images-idx3-ubyte.gz" ] || [ ! -r "$dir/t10k-labels-idx1-ubyte.gz" ]; then
    echo "no MNIST files in $dir"
    exit 77
fi
if [ -n "${SOAK:-}" ]; then options="" want=97.5; else options="--width 8 --epochs 2" want=95; fi
code "mnist_conv on real digits" 0 "$GTSH" scripts/mnist_conv.gt --data "$dir" $options
share=$(out | awk '/test accuracy/ { share = $NF } END { sub(/%/, "", share); print share }')
[ "$(echo "$share $want" | awk '{ print ($1 >= $2) }')" = 1 ] || fail "a share of $share % is below $want %"
finish
