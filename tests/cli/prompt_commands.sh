# Commands of the prompt that measure, list and set.
. tests/fixtures/check.sh
prompt() { printf '%s\n' "$@" | "$GTSH" -iq --norc 2>&1 | sed 's/^\(gt> \)*//'; }
# matches WHAT TEXT PATTERN: a line of the text matches the basic pattern
matches() { same "$1" "$(printf '%s\n' "$2" | grep -c "$3")" 1; }

# :time
t='[0-9.]* [mun]*s'
out=$(prompt 'x = randn(64, 64)' 'v = 5' ':time x @ x' ':time 1 + 1')
same ":time, lines" "$(printf '%s\n' "$out" | grep -c "^$t each, best of 5 × [0-9]*: client $t, wire $t, worker $t\$")" 1
matches ":time without a worker" "$out" "^$t each, best of 5 × [0-9]*: client $t, waiting $t\$"
out=$(prompt ':time on' 'ones(3).sum()' '2' 'zzz' ':time' ':time off' '2' ':time')
matches ":time on" "$out" "^\[$t: client $t, wire $t, worker $t; [0-9]* instr\]\$"
matches ":time on, without a worker" "$out" "^\[$t: client $t, waiting $t; 0 instr\]\$"
has ":time says" "$out" ":time on"
has ":time off" "$out" ":time off"
has ":time of no expression" "$(prompt ':time y = 3')" ":time needs one expression"
has ":time of half an expression" "$(prompt ':time (')" "is never closed"
has ":time of an error" "$(prompt ':time zz' '5')" "'zz' is not defined
5"

# :who
out=$(prompt 'x = ones(2, 3); loss = (x * 2).sum(); p = param(ones(3)); (p * 2).sum().backward()' 'd = {a: x, b: [x, x]}; n = 5' ':who')
same ":who" "$out" "x             w0  tensor f32[2,3], 24 bytes
loss          w0  tensor f32[], 4 bytes  tensor(12.)
p             w0  tensor f32[3], 12 bytes, param with gradient
d             w0  map of 2, 24 bytes
n                 5"
out=$(prompt 'm = {x: ones(3)}; m.me = m; m.all = [m]; x = m.x' ':who -m')
same ":who of a map within itself" "$out" "m             w0  map of 3, 12 bytes
x             w0  tensor f32[3], 12 bytes
together          12 bytes"
out=$(prompt 'x = ones(2, 3)' 'y = ones(9)' ':who -m')
same ":who -m" "$out" "y             w0  tensor f32[9], 36 bytes
x             w0  tensor f32[2,3], 24 bytes
together          60 bytes"
same ":who, one way to write bytes" "$(prompt 'x = ones(2000, 2)' 'm = {x: x}' ':who')" \
    "x             w0  tensor f32[2000,2], 15.6 KiB
m             w0  map of 1, 15.6 KiB"
has "!!" "$(prompt '!!')" "!! repeats nothing: Arrow-up"
cat >"$TMP/places" <<'GT'
:workers 4
signal.define("a", axis=0, workers=[0, 1, 3]); signal.define("r", replicated=true); signal.define("one", workers=[1])
x = ones(6, 2); signal a { y = ones(6, 2) + 1 }; signal r { z = x + 1 }; signal one { w = x * 2 }
d = {a: [x, w], n: 3}; e = [w, y]
fn a_name_of_its_own(first_argument, second_argument, third_argument, fourth_argument) => 1
:who
x.info(); y.info(); z.info(); w.info(); param(zeros(0)).info()
GT
out=$("$GTSH" -iq --norc <"$TMP/places" 2>&1 | sed 's/^\(gt> \)*//')
same ":who, several workers" "$out" "4
x                  w0        tensor f32[6,2], 48 bytes
y                  w0,w1,w3  tensor f32[6,2], 48 bytes
z                  w0–w3     tensor f32[6,2], 48 bytes
w                  w1        tensor f32[6,2], 48 bytes
d                  w0,w1     map of 2, 96 bytes
e                  w0,w1,w3  list of 2, 96 bytes
a_name_of_its_own            a_name_of_its_own(first_argument, second_argument,…
tensor[6, 2] f32 48B x∈[1, 1] μ=1 σ=0 nan=0 w0
tensor[6, 2] f32 48B x∈[2, 2] μ=2 σ=0 nan=0 shard axis 0 × w0,w1,w3
tensor[6, 2] f32 48B x∈[2, 2] μ=2 σ=0 nan=0 replicated × w0–w3
tensor[6, 2] f32 48B x∈[2, 2] μ=2 σ=0 nan=0 w1
tensor[0] f32 0B param w0"
same ":who of a name" "$(prompt 'x = ones(2)' 'net = nn.Linear(2, 2)' ':who net')" "net           w0  Linear, 24 bytes"
has ":who of a word" "$(prompt ':who x')" ":who takes -m or the name of a variable, got 'x'"

# :where shows the locals of the innermost call of the program
out=$(prompt 'fn inner(a, k) { b = a + k; c = "t"; return b @ ones(7) }' 'fn outer(q) => inner(q, 3)' 'outer(ones(2, 3))' ':where')
has "locals" "$out" "  locals of inner:
    a             tensor f32[2,3], 24 bytes
    k             3
    b             tensor f32[2,3], 24 bytes
    c             \"t\""
out=$(prompt 'fn f(a) => zzz' 'f(1)' 'yyy' ':where')
same "no locals of an earlier error" "$(printf "%s" "$out" | grep -c locals)" 0

# :set, :log, :pager, :free
out=$(prompt ':set precision 2' 'ones(2) / 3' ':set precision' ':set precison 3' ':set time maybe' ':set checknan on' 'log(zeros(1))' ':set trace full' ':set trace')
has ":set" "$out" "tensor([0.33, 0.33])
precision  2 "
has ":set, near" "$out" "there is no setting 'precison'; did you mean precision"
has ":set, value" "$out" ":set time takes on or off, not 'maybe'"
has ":set checknan" "$out" "non-finite"
has ":set trace" "$out" "trace      full"
same ":set lists" "$(prompt ':set' | grep -c '^[a-z]*  *[a-z0-9]*  *[a-z]')" 8
out=$(prompt ':log i' 'ones(2) + 1' ':log off' 'ones(3)' ':log' ':log z')
same ":log" "$(printf '%s\n' "$out" | grep -c '\[CLIENT\].* add ')" 1
has ":log off" "$out" "tensor([1., 1., 1.])
:log off
:log takes letters"
has ":signals" "$(prompt ':signals')" "no signal is configured"
same ":signals" "$(prompt 'signal.define("a", axis=0)' ':signals' | cut -c 1-3)" "a: "
has ":free" "$(prompt ':free')" "0 values freed"
same ":pager" "$(prompt ':pager off' ':pager' ':pager on')" ":pager off
:pager off
:pager on"

# Nested values that are wider than the terminal take several lines, at the prompt only.
out=$(prompt 'm = {w: ones(3), s: [{a: i, b: "long enough to be too wide"} for i in range(2)]}' 'm' '[1, [2]]' 'list(range(40))' 'print(list(range(40)))')
same "nested" "$out" '{
  w: tensor([1., 1., 1.]),
  s: [
    {a: 0, b: "long enough to be too wide"},
    {a: 1, b: "long enough to be too wide"}
  ]
}
[1, [2]]
[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]
[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]'
out=$(prompt 'x = arange(40.).reshape(2, 2, 10) / 7' '{long_name: x[0], b: [param(x[0, 0])]}' '[nn.Linear(1, 2), 5]')
same "nested, several lines" "$out" '{
  long_name: tensor([[0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571,
                      1.0000, 1.1429, 1.2857],
                     [1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857,
                      2.4286, 2.5714, 2.7143]]),
  b: [
    tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000,
            1.1429, 1.2857], requires_grad=true)
  ]
}
[
  Linear(in_features=1, out_features=2, bias=true)  4 parameters
    weight  (2, 1)
    bias  (2),
  5
]'
same "nested, itself" "$(prompt 'a = [1]; a.append(a)' 'a')" "[1, [...]]"

# :save of a session that uses _
dir=$(mktemp -d)
prompt '2 + 3' 'y = _ * 2' '_ + y;' '[_ for _ in range(2)]' ":save $dir/s.gt" >"$dir/out"
same ":save and _" "$("$GTSH" "$dir/s.gt" 2>&1)" "5
[0, 1]"
rm -r "$dir"
finish
