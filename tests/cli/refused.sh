# At the prompt the rest of a refused block is skipped: one mistake gives one message.
. tests/fixtures/check.sh
# once WHAT MESSAGE TEXT: the only error of the text, whose last line prints 1
once() {
    printf "$3" >"$TMP/text"
    "$GTSH" -i -q --norc <"$TMP/text" >"$TMP/out" 2>"$TMP/err"
    same "$1: one error" "$(grep -c 'error:' "$TMP/err")" 1
    has "$1" "$(err)" "$2"
    same "$1: the next statement" "$(out)" 1
}
once "self" "'self' is not a parameter" 'fn forward(self, x) {\n  y = x * 2\n  if true { y = 3 }\n  return y\n}\nprint(1)\n'
once "nested" "expected the end" 'x = nn.Module {\n fn forward(x) {\n  y = "}" # }\n  return y\n }\n}\nprint(1)\n'
once "for" "hint: for i in range(n)" 'for (i = 0; i < 3; i++) {\n  y = 2\n\n  print(y)\n}\nprint(1)\n'
once "else" "compare with ==" 'if x = 3 {\n  y = 2\n} else {\n  y = 3\n}\nprint(1)\n'
once "in the block" "expected an expression" 'fn f(x) {\n  y = x +* 2\n  return y\n}\nprint(1)\n'
once "indented" "functions: fn f(x)" 'def f(x):\n  y = 2\n\n  return y\nprint(1)\n'
# What is indented does not matter, and an else goes with its if.
for head in 'if x = 3 {' 'if (x == 3 {' 'if x == 3 && x > 2 {' 'def f() {' 'else {' 'if x == 3 {\ny = = 3'; do
    once "the margin: $head" error: "$head\nx = 100\ny = \"\"\"}\n}\"\"\"\n}\n\n# else\nelse {\nx = 101\n}\nx = 0\nprint(x + 1)\n"
done
once "round brackets" "compare with ==" 'x = max(1,\n  2 = 3,\n  4)\nprint(1)\n'
printf 'x = 3\nif x = 3 {\nx = 100\nprint(x)\n' | "$GTSH" -i -q --norc >"$TMP/out" 2>"$TMP/err"
same "never closed" "$(out)" ""; has "never closed" "$(err)" "warning: the block refused at line 2 is never closed: nothing after it ran"
# From a pipe or a file, an else may begin the line after the brace, as in a script.
printf 'x = 1\nif x == 2 {\n  print(2)\n}\n\n  # then\nelif x == 1 {\n  print(1)\n}\nelse {\n  print(3)\n}\nif x == 1 {\n  y = input()\n}\nanswer\nprint(y)\nif x == 1 {}\n"last"\n' >"$TMP/text"
"$GTSH" -i -q --norc <"$TMP/text" >"$TMP/out" 2>"$TMP/err"
same "else in its own line" "$(out | tr '\n' ' ')" '1 answer "last" '
case $(err) in *error*) fail "else in its own line: $(err)" ;; esac
once "no block" "expected an expression" 'x = {a: 1, b: = }\n print(1)\n'
printf 'fn f(self) {\n  1\n}\n}\nprint(1)\n' | "$GTSH" -i -q --norc >"$TMP/out" 2>"$TMP/err"
has "another brace" "$(err)" "repl:4:1: error: this '}' closes nothing"
finish
