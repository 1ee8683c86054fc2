# The signal of each operation: gradients run under the backward signal of the operation that they belong to, wherever
# `backward` is called; and scopes are closed however they are left.
. tests/fixtures/check.sh
# prints every operation of a stream with its innermost open signal
cat >"$TMP/under.awk" <<'AWK'
$1 == "signal" && $2 == "enter" { open[++n] = $3; next }
$1 == "signal" && $2 == "exit" { if (open[n] != $3) print "crossed: " $3; n--; next }
/ = / && !/^print/ { printf "%s%s:%s", sep, $3, n ? open[n] : "-"; sep = " " }
/^print/ { sep = "\n" }
END { if (n) print " left open: " n }
AWK
# under WHAT PROGRAM: prints the operations after the last print
under() {
    code "$1" 0 "$GTSH" --emit -c "$2"
    awk -f "$TMP/under.awk" "$TMP/out" | tail -n 1 >"$TMP/got"
}
two='w1 = param(ones(2)); w2 = param(ones(2))
signal s1 backward b1 { h = w1 * 2 }
signal s2 backward b2 { loss = (h * w2).sum() }
print("now")
'
stages="full:- reshape:b2 expand:b2 mul:b2 mul:b2 mul:b1"
under "two stages" "$two backward loss"; same "two stages" "$(cat "$TMP/got")" "$stages"
under "method" "$two loss.backward()"; same "method" "$(cat "$TMP/got")" "$stages"
under "in another scope" "$two signal z { backward loss }"; same "in another scope" "$(cat "$TMP/got")" "full:z reshape:b2 expand:b2 mul:b2 mul:b2 mul:b1"
under "in an open scope" "$two signal.enter(\"z\"); loss.backward(); x = ones(1); signal.exit(\"z\")"
same "in an open scope" "$(cat "$TMP/got")" "full:z reshape:b2 expand:b2 mul:b2 mul:b2 mul:b1 full:z"
under "grad" "$two g = grad(loss, [w1, w2])"; same "grad" "$(cat "$TMP/got")" "$stages"
under "accumulated" "$two backward(loss, retain_graph=true); print(1); backward loss"
same "accumulated" "$(cat "$TMP/got")" "$stages add:- add:-"
under "accumulated in a scope" "$two backward(loss, retain_graph=true); print(1); signal z { backward loss }"
same "accumulated in a scope" "$(cat "$TMP/got")" "full:z reshape:b2 expand:b2 mul:b2 mul:b2 mul:b1 add:z add:z"
same "... stays where .grad is" "$(grep -c 'add.*keep=true' "$TMP/out")" 2
under "second derivatives" 'w = param(ones(2))
signal s backward b { y = (w ** 3).sum() }
g = grad(y, w, create_graph=true)
signal t backward u { z = (g * g).sum() }
print(1); backward z'
same "second derivatives" "$(cat "$TMP/got")" "full:- reshape:u expand:u mul:u mul:u add:u mul:b mul:b mul:b mul:b"
under "checkpoint" 'w = param(ones(2))
signal s backward b { h = checkpoint(fn(x) => (x * x).exp(), w) }
print(1); backward h.sum()'
same "checkpoint" "$(cat "$TMP/got")" "sum:- full:- reshape:- expand:- mul:b exp:b mul:b mul:b mul:b add:b"
under "slices of a parameter" 'signal p backward q { w = param(ones(6)) }
signal s { a = (w[:2] * 2).sum() + (w[1:4] * 3).sum() }
print(1); backward a'
same "slices of a parameter" "$(cat "$TMP/got")" "full:- reshape:s expand:s mul:s reshape:s expand:s mul:s full:q slice_put:q slice:q add:q slice_put:q"
under "by the configuration" 'signal.define("s", backward="b"); w = param(ones(2)); signal s { y = w.sum() }
print(1); backward y'
same "by the configuration" "$(cat "$TMP/got")" "full:- reshape:b expand:b"
code "a copy" 0 "$GTSH" --emit -c 'w = param(ones(2)); x = signal.tensor(w, name="l", backward_name="m"); backward (x * 2).sum()'
same "a copy and its gradient" "$(grep ' shard ' "$TMP/out" | sed 's/ ->.*//' | cut -d' ' -f3- | tr '\n' ' ')" "shard t0 l backward=m shard t7 m "

# an error closes the scopes that it leaves
cat >"$TMP/open.gt" <<'GT'
fn inner() { signal deep { return ones(2) @ ones(3) } }
signal a { signal b { attempt(fn() => inner()) ; y = ones(1) } }
fn opens() { signal.enter("left"); return 1 // 0 }
attempt(opens)
x = ones(1)
print(attempt(fn() => signal.exit())[1].message)
GT
code "attempt" 0 "$GTSH" "$TMP/open.gt"; same attempt "$(out)" "no signal is open"
code "attempt: the stream" 0 "$GTSH" --emit "$TMP/open.gt"
same "attempt: the stream" "$(awk -f "$TMP/under.awk" "$TMP/out" | head -n 1)" "full:deep full:deep full:b full:-"
printf 'w = param(ones(2)); signal s { y = w * 3 }\nsignal a { signal b { x = ones(2) @ ones(3) } }\nsignal.exit()\nsignal.enter("c"); 1 // 0\nsignal.exit()\nsignal a { backward y }\nsignal.exit()\n' >"$TMP/in"
code "prompt" 1 sh -c '"$GTSH" -i -q <"$1"' - "$TMP/in"; same "prompt: nothing is open" "$(grep -c 'no signal is open' "$TMP/err")" 3
# signal.enter lasts over lines of the prompt, which shows it; an error keeps what earlier lines opened
printf '%s\n' 'signal.define("rows", axis=0)' 'signal.enter("rows")' 'x = ones(4, 2)' 'zzz' 'y = x + 1' 'print(y.placement().layout)' \
    'gt rows> signal.exit("rows")' 'signal.exit()' >"$TMP/in"
"$GTSH" -w 2 -i -q --norc <"$TMP/in" >"$TMP/out" 2>"$TMP/err"
same "prompt: a scope over lines" "$(out)" split; has "the prompt shows the scope" "$(err)" "gt rows> "
has "prompt: closed once" "$(err)" "repl:8:8: error: no signal is open"
# Ctrl-C inside a scope closes it
cat >"$TMP/int.gt" <<'GT'
fn wait() { print("go", err=true); while true { x = 1 } }
signal a { signal b { wait() } }
GT
printf '\nprint(attempt(fn() => signal.exit())[1].message)\n' >"$TMP/more"
"$GTSH" -i -q "$TMP/int.gt" <"$TMP/more" >"$TMP/out" 2>"$TMP/err" &
pid=$!
await "$TMP/err" go
kill -INT $pid; wait $pid
has "Ctrl-C" "$(out)" "no signal is open"

# an axis that no tensor of a scope has: one warning; none for numbers alone, or if a tensor of the scope had the axis before
cat >"$TMP/axis.gt" <<'GT'
signal.define("a", axis=5); signal.define("b", axis=1); signal.define("c", axis=-3)
for k in range(3) { signal a { x = ones(4, 3) } }
signal b { y = ones([]) }
signal b { w = ones(3, 4) }
signal b { y = ones(3) }
signal c { z = ones(2, 2) }
signal.define("d", axis=1); signal d { y = ones(3) }
print(x.placement().layout)
GT
code "axis" 0 "$GTSH" -w 2 "$TMP/axis.gt"; same axis "$(out)" replicate
same "axis: one warning" "$(grep -o "warning: .*" "$TMP/err")" "warning: signal 'a': no tensor in it has axis 5; all are whole
warning: signal 'c': no tensor in it has axis -3; all are whole
warning: signal 'd': no tensor in it has axis 1; all are whole"
has "axis: of one" "$(err)" "hint: they have one axis: 0"
finish
