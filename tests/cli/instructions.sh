# The number of instructions per step: work that is the same for all time steps or parameters is done once.
. tests/fixtures/check.sh
cat >"$TMP/rnn.gt" <<'X'
kind = arg("kind", "LSTM"); t = arg("t", 1)
m = getattr(nn, kind)(3, 4)
no_grad { y, state = m(zeros(t, 2, 3)) }
print(y.sum())
X
cat >"$TMP/opt.gt" <<'X'
kind = arg("kind", "SGD"); n = arg("n", 1)
ps = [param(ones(2)) for i in range(n)]
for p in ps { p.grad = ones(2) }
opt = getattr(optim, kind)(ps, lr=0.1)
opt.step()
X
# count FILE ARGS...: instructions that compute
count() { "$GTSH" --emit "$@" | grep -c ' = '; }
# most WHAT FEWEST MOST NUMBER
within() { { [ "$4" -ge "$2" ] && [ "$4" -le "$3" ]; } || fail "$1: $4 instructions, not $2 to $3"; }
for k in "LSTM 16" "GRU 16" "RNN 4"; do
    a=$(count "$TMP/rnn.gt" --kind "${k% *}" --t 1)
    b=$(count "$TMP/rnn.gt" --kind "${k% *}" --t 11)
    within "a time step of ${k% *}" 1 "${k#* }" $(((b - a) / 10))
done
for k in "SGD 2" "Adam 12" "AdamW 13" "RMSprop 8"; do # beside the parameter, its gradient and its state
    a=$(count "$TMP/opt.gt" --kind "${k% *}" --n 1)
    b=$(count "$TMP/opt.gt" --kind "${k% *}" --n 11)
    within "${k% *}'s step of one parameter" 1 $((${k#* } + 4)) $(((b - a) / 10))
done
# A function composed of operations frees what it no longer needs before its next tensor of that size.
frees() { # CALL INSTRUCTIONS
    same "frees of $1" "$("$GTSH" --emit -c "x = zeros(4, 4, dtype=bfloat16)
y = $1" | sed 1,2d | awk '{ printf "%s ", $1 == "free" ? $1 : $3 }')" "$2 "
}
frees "clamp(x, 0, 1)" "le where free ge where free"
frees "norm(x, 3, 1)" "cast abs eq where pow where free sum eq where pow where free cast free"
frees 'gelu(x, "tanh")' "cast square mul add mul tanh add mul mul free cast free"
frees "mean(x, 1)" "cast sum div free cast free"
finish
