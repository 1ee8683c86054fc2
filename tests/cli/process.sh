# Ends of the process and its streams: exit codes, standard output and error, closed pipes, signals, input from a pipe.
. tests/fixtures/check.sh

code "no script" 66 "$GTSH" "$TMP/none.gt"; has "no script" "$(err)" "cannot read '$TMP/none.gt'"
code "a directory" 66 "$GTSH" "$TMP"
code "no configuration" 78 "$GTSH" --config "$TMP/none.yaml" -c 1
code "unknown option" 2 "$GTSH" --threds 2; has near "$(err)" "did you mean '--threads'?"
code "bad value" 2 "$GTSH" --threads two; has value "$(err)" "--threads needs a whole number"
code "bad engine" 2 "$GTSH" --engine cup -c 1; has engine "$(err)" "did you mean 'cpu'?"
code "bad memory" 2 "$GTSH" --memory 12 -c 1
code "value missing" 2 "$GTSH" -w
code "exclusive" 2 "$GTSH" --emit --tee x a.gt
code "exit" 9 "$GTSH" -c 'print("a"); exit(9); print("b")'; same "exit" "$(out)" "a"; same "exit is silent" "$(err)" ""
code "assert" 1 "$GTSH" -c 'assert 1 > 2, "no"'; has assert "$(err)" "no"
code "error after output" 1 "$GTSH" -c 'print("a"); zzz'; same "output first" "$(out)" "a"
code "incomplete" 65 "$GTSH" -c 'x = ('
code "version" 0 "$GTSH" --version; has version "$(out)" "gtsh "

# a program by pipe, by -, after --
printf 'print(args)\n' >"$TMP/a.gt"
same "pipe" "$(printf 'print(6 * 7)' | "$GTSH")" "42"
same "dash" "$("$GTSH" - a b <"$TMP/a.gt")" '["a", "b"]'
same "two dashes" "$("$GTSH" -- "$TMP/a.gt" --help-me)" '["--help-me"]'
same "-p" "$("$GTSH" -p '[1, "a", 2.5]')" '[1, "a", 2.5]'
code "-p a statement" 65 "$GTSH" -p 'x = 1'
same "-c with arguments" "$("$GTSH" -c 'print(args)' x y)" '["x", "y"]'

# instruction text is known by its first line, from a file and from a pipe
printf 'gti 1\nt0 = full 2 [3] f32\nprint "{!r}\\n" t0\n' >"$TMP/a.gti"
same "gti" "$("$GTSH" "$TMP/a.gti")" "tensor([2., 2., 2.])"
same "gti by pipe" "$("$GTSH" <"$TMP/a.gti")" "tensor([2., 2., 2.])"
code "gti of another version" 65 sh -c "printf 'gti 2\n' | '$GTSH'"

# dumps go to standard error
code "tokens" 0 "$GTSH" --debug=t -c 'x = 1'; has tokens "$(err)" "1:1 NAME x"
code "tree" 0 "$GTSH" --debug=a -c 'x = 1'; has tree "$(err)" "(= x 1)"
code "letters" 2 "$GTSH" --debug=z -c 1

# colour only when asked for
code "plain" 1 "$GTSH" -c zzz; case "$(err)" in *"$(printf '\033')"*) fail "colour off a terminal" ;; esac
code "always" 1 "$GTSH" --color=always -c zzz; case "$(err)" in *"$(printf '\033')"*) ;; *) fail "no colour" ;; esac
code "never" 1 env CLICOLOR_FORCE=1 "$GTSH" --color=never -c zzz
case "$(err)" in *"$(printf '\033')"*) fail "colour in spite of never" ;; esac

# a reader that closes its pipe ends the program without a message
"$GTSH" -c 'for i in range(1000000) { print("line", i) }' 2>"$TMP/err" | head -n 1 >"$TMP/out"
same "closed pipe" "$(cat "$TMP/out")$(err)" "line 0"
# a full disk is an error
[ ! -w /dev/full ] || { "$GTSH" -c 'print(1)' >/dev/full 2>"$TMP/err"; [ $? != 0 ] || fail "a full disk is not noticed"; }

# SIGINT: earlier output is written, and the signal ends the process
"$GTSH" -c 'print("begun"); print("go", err=true); while true { x = randn(4, 4) }' >"$TMP/out" 2>"$TMP/err" &
pid=$!
await "$TMP/err" go
kill -INT $pid
wait $pid
got=$?
# a shell without job control starts background jobs with SIGINT ignored: gtsh handles it all the same
same "SIGINT" "$got" 130
has "output before SIGINT" "$(out)" "begun"

# -i goes on with standard input after the script, also after an error
same "-i" "$(printf 'x + 1\n' | "$GTSH" -i -q -c 'x = 41' 2>"$TMP/err")" "42"
same "-i after an error" "$(printf 'x + 1\n' | "$GTSH" -i -q -c 'x = 41; zzz' 2>"$TMP/err")" "42"
# -i keeps all values, also of instructions that had not begun when the worker's error arrived; only values that depend on the
# failed one are lost.
cat >"$TMP/late.gt" <<'EOF'
x = ones(2, 2); bad = embedding(tensor([9]), ones(3, 2)); big = zeros(900, 900)
for i in range(200) { big = big @ big + 1 - 899.0 * 0 - big @ big }
while true { x = x + 1; x = x - 1; big = big @ zeros(900, 900) + 2 }
EOF
printf 'print(x.sum().item(), big.mean().item() == 2 or big.mean().item() == 1)\nbad\n' >"$TMP/typed"
same "-i after a worker's error" "$("$GTSH" -i -q "$TMP/late.gt" <"$TMP/typed" 2>"$TMP/err")" "4.0 true"
same "-i: the error and the lost value, each once" "$(grep -c 'error: .*id 9 at position 0 is outside' "$TMP/err")" 2
has "-i: what it lost" "$(err)" "repl:2:1: error: this value was lost to an earlier error: embedding: id 9"
finish
