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
once "self" "'self' is no parameter" 'fn forward(self, x) {\n  y = x * 2\n  if true { y = 3 }\n  return y\n}\nprint(1)\n'
once "nested" "expected the end" 'x = nn.Module {\n fn forward(x) {\n  y = "}" # }\n  return y\n }\n}\nprint(1)\n'
once "for" "hint: for i in range(n)" 'for (i = 0; i < 3; i++) {\n  y = 2\n\n  print(y)\n}\nprint(1)\n'
once "else" "compare with ==" 'if x = 3 {\n  y = 2\n} else {\n  y = 3\n}\nprint(1)\n'
once "in the block" "expected an expression" 'fn f(x) {\n  y = x +* 2\n  return y\n}\nprint(1)\n'
once "indented" "functions: fn f(x)" 'def f(x):\n  y = 2\n\n  return y\nprint(1)\n'
# a line at the margin is a new statement: the block typed again, and the braces after it count anew
once "again" "hint: for i in range(n)" 'for (i = 0; i < 3; i++) {\nfor i in [1] {\n  print(i)\n}\n'
once "no block" "expected an expression" 'x = {a: 1, b: = }\n print(1)\n'
printf 'fn f(self) {\n  1\n}\n}\nprint(1)\n' | "$GTSH" -i -q --norc >"$TMP/out" 2>"$TMP/err"
has "another brace" "$(err)" "repl:4:1: error: this '}' closes nothing"
finish
