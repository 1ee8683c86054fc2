# The call stack of an error that involves several files, several workers, the prompt or a replay.
. tests/fixtures/check.sh
cat >"$TMP/lib.gt" <<'GT'
table = ones(3, 2)
fn scale(x, by) {
    return x * by
}
fn look(i) => embedding(tensor([i]), table)
GT
printf 'import lib\nfn show(x) => lib.scale(x, none)\nshow("a")\n' >"$TMP/two.gt"
code "two files" 1 "$GTSH" "$TMP/two.gt"
same "two files" "$(sed "s|$TMP/||g" "$TMP/err")" "lib.gt:3:14: error: cannot multiply str and none: str * none
  3 |     return x * by
    |              ^ hint: a function without return gives none
  in scale, called at two.gt:2: fn show(x) => lib.scale(x, none)
  in show, called at two.gt:3: show(\"a\")"
printf 'x = 1\ny = undefined_name\n' >"$TMP/broken.gt"
printf 'fn f() { import "%s/broken.gt" as b }\nf()\n' "$TMP" >"$TMP/imports.gt"
code "an imported file" 1 "$GTSH" "$TMP/imports.gt"
same "an imported file" "$(sed "s|$TMP/||g" "$TMP/err" | tail -n 2)" "  in broken.gt, imported at imports.gt:1: fn f() { import \"broken.gt\" as b }
  in f, called at imports.gt:2: f()"
printf 'x = (1\n' >"$TMP/broken.gt"
code "a file that does not parse" 65 "$GTSH" "$TMP/imports.gt"
has "a file that does not parse" "$(err)" "imported at $TMP/imports.gt:1"

# A worker's failure: with several workers, in hot bodies, and when the table of call stacks overflows.
cat >"$TMP/late.gt" <<'GT'
import lib
fn step(k) {
    return lib.look(2 + k // 40).sum()
}
total = 0
for k in range(60) { total = total + step(k) }
print(total)
GT
stack="  in look, called at late.gt:3: return lib.look(2 + k // 40).sum()
  in step, called at late.gt:6: for k in range(60) { total = total + step(k) }"
for how in "-w 1" "-w 3"; do
    code "late $how" 1 env GT_HOTPATH_THRESHOLD=2 "$GTSH" $how "$TMP/late.gt"
    same "late $how" "$(sed "s|$TMP/||g" "$TMP/err" | tail -n 2)" "$stack"
done
cat >"$TMP/many.gt" <<'GT'
w = ones(2)
fn tree(n) { if n == 0 { return w + 1 }; tree(n - 1); return tree(n - 1) }
tree(16)
fn late() => embedding(tensor([9]), ones(3, 2))
x = late()
GT
code "many stacks" 1 "$GTSH" "$TMP/many.gt"
same "many stacks" "$(sed "s|$TMP/||g" "$TMP/err" | tail -n 1)" "  in late, called at many.gt:5: x = late()"

# With debug.full_trace (or :set trace full) the calls inside the prelude have lines of their own, wherever they are now.
cat >"$TMP/full.gt" <<'GT'
debug.full_trace()
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
fn run(x) => net(x)
run(ones(2, 5))
GT
code "full trace" 1 "$GTSH" "$TMP/full.gt"
same "full trace" "$(sed "s|$TMP/||g; s/gt:[0-9]*: \(_refuse\|for f\)/gt:N: \1/" "$TMP/err")" \
    "full.gt:3:14: error: Linear(3, 4) got a tensor of shape [2, 5]: its last size must be 3
  3 | fn run(x) => net(x)
    |              ^^^ hint: nn.Linear(5, 4) fits this tensor
  in nn._refuse (prelude), called at nn/layer.gt:N: _refuse(f\"Linear({self.in_features}, {out})\", x, n, out)
  in nn.Linear (prelude), called at nn/container.gt:N: for f in self { x = f(x) }
  in nn.Sequential (prelude), called at full.gt:3: fn run(x) => net(x)
  in run, called at full.gt:4: run(ones(2, 5))"

# :where at the prompt prints the last error again.
printf ':where\nfn f(n) => n + "a"\nf(3)\nx = 1\n:where\n' >"$TMP/typed"
"$GTSH" -i --norc <"$TMP/typed" >"$TMP/out" 2>"$TMP/err"
same "where" "$(out)" "there was no error
repl:2:14: error: cannot add int and str: int + str
  2 | fn f(n) => n + \"a\"
    |              ^ hint: text: str(x) or f\"{x}\"
  in f, called at repl:3: f(3)
  locals of f:
    n             3"
has "help" "$("$GTSH" -i --norc 2>/dev/null <<'GT'
:help
GT
)" ":where"
# Ctrl-C runs the function of finally=.
cat >"$TMP/wait.gt" <<'GT'
fn wait() { print("waiting", err=true); while true { } }
attempt(wait, finally=fn() { print("cleaned up") })
GT
"$GTSH" "$TMP/wait.gt" >"$TMP/out" 2>"$TMP/err" &
pid=$!
until grep -q waiting "$TMP/err"; do sleep 0.05; done
kill -INT $pid; wait $pid
same "finally and Ctrl-C" "$(out)" "cleaned up"
finish
