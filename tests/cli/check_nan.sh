# --check-nan reports the first instruction that makes a nan or an infinity, with its line, the count and the inputs;
# once.
. tests/fixtures/check.sh
cat >"$TMP/a.gt" <<'GT'
p = rand(64, 64) + 0.5
p[3, 4] = 0
p[5, 6] = 0
for i in range(3) {
    loss = -log(p).mean()
}
print(loss)
GT
code "off" 0 "$GTSH" "$TMP/a.gt"; same "off" "$(out)" "tensor(inf)"
for how in "--check-nan" "--check-nan --engine reference" "--check-nan -w 2"; do
    code "log $how" 1 "$GTSH" $how "$TMP/a.gt"
    same "log $how" "$(err)" "$TMP/a.gt:5:13: error: non-finite values first appear in 'log' (--check-nan)
  5 |     loss = -log(p).mean()
    |             ^^^ -inf for 2 of 4096 elements, where the input is 0.0      hint: log_softmax, or clamp(x, 1e-9)"
    same "log $how: nothing after it" "$(out)" ""
done
code "environment" 1 env GT_CHECK_NAN=1 "$GTSH" "$TMP/a.gt"; has environment "$(err)" "a.gt:5:13"
code "environment: 0" 0 env GT_CHECK_NAN=0 "$GTSH" "$TMP/a.gt"
code "replay" 1 sh -c '"$GTSH" --emit --check-nan "$1/a.gt" | "$GTSH" --replay -' - "$TMP"; has replay "$(err)" "a.gt:5: error: non-finite values first appear in 'log'"
# says WHAT CODE PART...: the error has these parts
says() {
    what=$1
    code "$what" 1 "$GTSH" --check-nan -c "$2"
    shift 2
    for part; do has "$what" "$(err)" "$part"; done
}
says "division" 'x = tensor([1.0, 2.0, 3.0]); y = tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
z = x / y' "appear in 'div'" "inf for 3 of 6 elements, where the inputs are 2.0 and 0.0" "x / (y + 1e-8)"
says "0 / 0" 'x = zeros(3)
z = x / x' "nan for 3 of 3 elements, where the inputs are 0.0 and 0.0"
says "root" 'x = tensor([4.0, -1.0]); y = x.T.sqrt()' "appear in 'sqrt'" "nan for 1 of 2 elements, where the input is -1.0" "the input is negative"
says "exp" 'y = exp(tensor([1.0, 88.0, 100.0]))' "appear in 'exp'" "inf for 1 of 3 elements, where the input is 100.0" "softmax"
says "an immediate" 'y = tensor([0.0, 2.0]) ** -1' "appear in 'pow'" "where the inputs are 0.0 and -1.0"
says "in a column" 'x = ones(300, 200); x[:, 7] = 0
y = 1 / x.T' "inf for 300 of 60000 elements, where the inputs are 1.0 and 0.0"
says "a sum" 'x = full((4,), 3e38); y = x.sum()' "appear in 'sum'" "inf for 1 of 1 element"
says "nan from inf" 'm = full((2, 2), -inf); y = softmax(m, axis=-1)' "nan for 4 of 4 elements"
# an infinity beside a pole, and one beyond the dtype's largest number
pole="clamp the base, or add 1e-8 to it" large="too large for float32: a smaller learning rate"
half="too large for float16, which ends at 65504: bfloat16 or float32"
says "power beside 0" 'x = tensor([0.0]); y = x ** -1' "hint: $pole"
says "power of a small number" 'x = tensor([1e-30]); y = x ** -2' "hint: $pole"
says "large power" 'x = tensor([1e10, 2.0]); y = x ** 4' "hint: $large"
says "power of a negative base" 'x = tensor([-1.0]); y = x ** 0.5' "hint: a negative base: abs(x) ** y"
says "large quotient" 'x = tensor([3e38]); y = x / 0.5' "hint: $large"
says "small divisor" 'x = tensor([1e-30]); y = 1e10 / x' "hint: x / (y + 1e-8)"
for expr in 'x + x' 'x * x' 'x - (-x)' 'x ** 2' 'x / 0.5' 'exp(x)' 'x.expand(4).sum()' 'square(x)' 'x @ x'; do
    says "float16: $expr" "x = tensor([60000.0], dtype=float16); y = $expr" "hint: $half"
done
for expr in 'x + x' 'x * x' '-x - x' 'square(x)' 'x @ x'; do
    says "float32: $expr" "x = tensor([3e38]); y = $expr" "hint: $large"
done
# a step of a function is reported as the function that the program called
says "std" 'y = std(tensor([5.0]))' "appear in 'std'" "hint: more elements than the correction, or unbiased=false"
says "var" 'y = var(zeros(3, 1), 1)' "appear in 'var'" "hint: more elements than the correction, or unbiased=false"
says "mean" 'y = mean(zeros(0))' "appear in 'mean'" "hint: the mean of no elements is nan"
says "mean of large numbers" 'y = full((3,), 3e38).mean()' "appear in 'mean'" "hint: too large for float32: x.double()"
says "a loss" 'y = F.mse_loss(zeros(0), zeros(0))' "appear in 'mse_loss'" "hint: a division by 0 inside mse_loss"
says "reciprocal" 'y = reciprocal(zeros(2))' "appear in 'reciprocal'" "hint: reciprocal(x + 1e-8)"
says "gradient" 'w = param(tensor([4.0, 0.0]))
y = sqrt(w).sum()
backward y' "-c:3" "non-finite values first appear in" "in the gradient of sqrt, called at -c:2: y = sqrt(w).sum()" \
    "hint: sqrt(x + 1e-8)"
says "gradient in a function" 'fn f(w) => (w * w).sqrt().sum()
fn train(w) {
    backward f(w)
}
train(param(zeros(2)))' "-c:3" "in the gradient of sqrt, called at -c:1: fn f(w)" "in train, called at -c:5: train("
says "gradient in a checkpoint" 'w = param(zeros(2))
y = checkpoint(fn(w) => sqrt(w).sum(), w)
y.backward()' "-c:3" "in the gradient of sqrt, called at -c:2"
says "function of the prelude" 'x = tensor([[1.0, -1.0]])
y = log(x)' "-c:2:5"
says "data" 'x = tensor([1.0, nan])' "the data given here is not finite" "nan for 1 of 2 elements" "isnan(x).sum()"
printf '1,2\n3,nan\n' >"$TMP/a.csv"
says "a file" "x = load(\"$TMP/a.csv\")
y = x + 1" "-c:1:5" "the data given here is not finite" "nan for 1 of 4"
# intended values: masks and bounds of infinity, nan that the program writes
code "masks" 0 "$GTSH" --check-nan -c 'a = randn(4, 4)
m = a.masked_fill(triu(ones(4, 4), 1) > 0, -inf).softmax(axis=-1)
b = clamp(a, -inf, inf); c = full((3,), -inf); d = maximum(c, 0.0); e = tensor(-inf)
f = cat([c, c]); g = where(a > 0, a, inf); h = full((2,), nan) + 1
print((m.sum(axis=-1) - 1).abs().max() < 1e-5)'
same "masks" "$(out)" "tensor(true)"
code "sharded" 0 "$GTSH" -w 3 --check-nan -c 'signal.define("a", axis=0)
signal a { x = ones(4, 2); y = x.max(); z = x.min(axis=0) }; print(x[2:4], y, z)' # a rank without rows
same "sharded" "$(out)" "tensor([[1., 1.],
        [1., 1.]]) tensor(1.) tensor([1., 1.])"
# the count covers all parts of a sharded tensor, as if it were whole; a nan is reported rather than earlier infinities
cat >"$TMP/parts.gt" <<'GT'
signal a { x = rand(64, 64) + 0.5; x[3, 4] = 0; x[5, 6] = 0; x[40, 6] = 0; x[63, 6] = 0; y = log(x) }
GT
printf 'signal a { z = tensor([0, -2.0, 0, 1, 2, -1, 0, 1]); z = z ** -0.5 }\n' >"$TMP/kinds.gt"
for how in axis=0 replicated=true; do
    for w in 1 2 4; do
        code "parts $how $w" 1 "$GTSH" -w $w --check-nan -c "signal.define(\"a\", $how); $(cat "$TMP/parts.gt")"
        has "parts $how $w" "$(err)" "^^^ -inf for 4 of 4096 elements, where the input is 0.0"
        code "kinds $how $w" 1 "$GTSH" -w $w --check-nan -c "signal.define(\"a\", $how); $(cat "$TMP/kinds.gt")"
        has "kinds $how $w" "$(err)" "nan for 2 of 8 elements, where the inputs are -2.0 and -0.5"
    done
done
code "switch" 1 "$GTSH" -c 'x = log(zeros(2)); debug.check_nan(); y = ones(2); debug.check_nan(false); y = log(zeros(2))
print("so far"); debug.check_nan(true)
y = log(zeros(2))'
same "switch" "$(out)" "so far"; has "switch" "$(err)" "-c:3:5"
code "attempt" 0 "$GTSH" --check-nan -c 'ok, why = attempt(fn() => log(zeros(2))); print(ok, why.message); print(ones(2))
ok, why = attempt(fn() => log2(-ones(2))); print(why.hint)'
same "attempt" "$(out)" "false non-finite values first appear in 'log' (--check-nan)
tensor([1., 1.])
the input is negative: clamp(x, 1e-9)"
code "deterministic" 0 "$GTSH" --deterministic -c 'print(1)'; same deterministic "$(out)" 1
code "training" 0 "$GTSH" --check-nan scripts/mlp.gt --steps 20
finish
