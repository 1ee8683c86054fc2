# Misspelt names of PyTorch and NumPy behind every prefix: the name that the hint gives exists.
. tests/fixtures/check.sh
cat >"$TMP/names" <<'LIST'
torch. relu mean concat arange zeros softmax einsum float32 linspace cumsum
np. arange zeros mean linspace cumsum float32 argsort where
numpy. arange zeros mean
jnp. arange zeros mean
jax.numpy. arange zeros mean
torch.nn. Linear Conv2d LayerNorm Sequential CrossEntropyLoss LSTM
torch.nn.functional. relu softmax cross_entropy conv2d
torch.nn.init. xavier_uniform_ zeros_ orthogonal_
torch.nn.utils. clip_grad_norm_ parameters_to_vector
torch.optim. Adam Adagrad RMSprop AdamW
torch.optim.lr_scheduler. StepLR CosineAnnealingLR ExponentialLR
torch.distributions. Normal Categorical Bernoulli
torch.linalg. solve inv slogdet svd matrix_rank
np.linalg. solve inv slogdet svd
np.random. randn normal
torch.special. erf digamma
scipy.special. erf digamma
math. sqrt floor
nn. Linear Conv2d relu
F. relu softmax
optim. Adam Adagrad
optim.lr_scheduler. StepLR CosineAnnealingLR
nn.init. xavier_uniform_ zeros_
distributions. Normal Categorical
LIST
# a letter twice, two letters in the other order, and an s behind the name
awk '{ for (i = 2; i <= NF; i++) { n = length($i)
    print $1 $i substr($i, n); print $1 substr($i, 1, n - 2) substr($i, n) substr($i, n - 1, 1); print $1 $i "s" } }' \
    "$TMP/names" >"$TMP/wrong"
awk '{ print $0 "(1)"; printf "print(\"@%s\", err=true)\n", $0 }' "$TMP/wrong" >"$TMP/typed"
"$GTSH" -i --norc <"$TMP/typed" >"$TMP/out" 2>"$TMP/err"
sed -n -e "s/.*did you mean '\([^']*\)'.*/\1/p" "$TMP/err" >"$TMP/near"
n_wrong=$(wc -l <"$TMP/wrong") n_near=$(wc -l <"$TMP/near")
[ "$n_near" -ge $((n_wrong * 3 / 4)) ] || fail "$n_near of $n_wrong misspelt names have a similar name"
sort -u "$TMP/near" | sed 's/.*/it = &/' >"$TMP/exist"
"$GTSH" -i --norc <"$TMP/exist" >"$TMP/out" 2>"$TMP/err"
if grep 'error:' -A 1 "$TMP/err" >"$TMP/bad"; then fail "hints with names that are absent: $(cat "$TMP/bad")"; fi
finish
