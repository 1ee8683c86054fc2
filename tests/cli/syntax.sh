# The editors' files that scripts/gensyntax makes: they have all keywords of tokens.def; Vim colours and indents a sample with
# them, and the grammar for Visual Studio Code is JSON whose patterns are valid (if Vim, python3 and node are installed).
. tests/fixtures/check.sh
code "gensyntax" 0 sh scripts/gensyntax "$TMP/share"
vim=$TMP/share/vim/syntax/gt.vim vscode=$TMP/share/vscode/syntaxes/gt.tmLanguage.json
for w in $(sed -nE 's/^WORD\([A-Z]+, *"([a-z]+)".*/\1/p' lang/syntax/tokens.def) backward signal no_grad time float32 nn \
    randn relu print mse_loss clamp; do
    grep -qE "[ |(%]$w\b" "$vim" || fail "the syntax of vim lacks $w"
    grep -qE "[|:]$w[|)]" "$vscode" || fail "the grammar of vscode lacks $w"
done
cat >"$TMP/a.gt" <<'END'
## Help.
fn area(r) { return pi * r ** 2 }  # why
backward loss
t = time()
x.relu().print
s = f"{area(1_0.5):.2f} \n {{"
for i in range(0x1f) { y = randn(2, dtype=float32) and not true }
a = f"{m:#x}" + mean; b = f"{m[1:2]:{w}.2f}" + mean # more
c = f'''one {m:#x}
two { {1: m}[1] }''' + mean # last
d = f"{m"
mean
END
echo '#!/usr/bin/env gtsh' >"$TMP/program"
cat >"$TMP/look.vim" <<END
set nocompatible runtimepath^=$TMP/share/vim
filetype plugin indent on
syntax on
edit $TMP/program
let out = [&filetype]
edit $TMP/a.gt
function! G(line, text)
  let column = match(getline(a:line), a:text) + 1
  call add(g:out, a:line . " " . a:text . " " . synIDattr(synID(a:line, column, 1), "name"))
endfunction
call add(out, &filetype . " " . &shiftwidth)
for part in [[1, "Help"], [2, "fn"], [2, "area"], [2, "return"], [2, "pi"], [2, "2"], [2, "why"], [3, "backward"], [4, "time"],
      \ [5, "relu"], [5, "print"], [6, "area"], [6, "0.5"], [6, '\\\\n'], [6, "{{"], [7, "for"], [7, "0x1f"], [7, "randn"],
      \ [7, "float32"], [7, "and not"], [7, "true"],
      \ [8, "#x"], [8, "mean"], [8, "w}"], [8, " mean #"], [8, "more"], [9, "one"], [9, "#x"], [10, "two"], [10, "last"], [12, "mean"]]
  call G(part[0], part[1])
endfor
call writefile(out, "$TMP/groups")
%delete
call setline(1, ["fn f(x) {", "if x > 0 {", "g(x,", "y)", "}", "else { z() }", "return \"{\"  # {", "}", "h()"])
normal gg=G
write! $TMP/indented.gt
edit! $TMP/continued.gt
call setline(1, ["fn f(x) {", "y = x +", "2 *", "3  # three", "z = x.", "exp()", "w = [1,", "2 +", "3,", "4]", "v = y and", "g(1,",
      \\ "2)", "t", "}", "a =", "1", "b, c = 1,", "2", "h()"])
normal gg=G
write! $TMP/continued.gt
edit! $TMP/formatted.gt
call setline(1, ["if x {", "    y=1", "", "    z  =2", "}", "# one", "w=3", "if ("])
normal 2Ggq2j
normal 6Ggqj
normal 8Ggqq
normal 7GgqG
write! $TMP/formatted.gt
quitall!
END
if command -v vim >/dev/null && vim --version | grep -q '+syntax'; then
    PATH=$(cd "$B" && pwd):$PATH vim -e -s -u "$TMP/look.vim" -c quitall! </dev/null >/dev/null 2>&1
    same "vim: groups" "$(cat "$TMP/groups")" 'gt
gt 4
1 Help gtHelp
2 fn gtKeyword
2 area gtName
2 return gtKeyword
2 pi gtConstant
2 2 gtNumber
2 why gtComment
3 backward gtStatement
4 time '"
5 relu gtMember
5 print gtMember
6 area gtField
6 0.5 gtNumber
6 \\\\n gtEscape
6 {{ gtBraces
7 for gtKeyword
7 0x1f gtNumber
7 randn gtFunction
7 float32 gtType
7 and not gtOperator
7 true gtConstant
8 #x gtField
8 mean gtFunction
8 w} gtField
8  mean # 
8 more gtComment
9 one gtString
9 #x gtField
10 two gtString
10 last gtComment
12 mean gtFunction"
    same "vim: indentation" "$(cat "$TMP/indented.gt")" 'fn f(x) {
    if x > 0 {
        g(x,
            y)
    }
    else { z() }
    return "{"  # {
}
h()'
    same "vim: lines that go on" "$(cat "$TMP/continued.gt")" 'fn f(x) {
    y = x +
        2 *
        3  # three
    z = x.
        exp()
    w = [1,
        2 +
        3,
        4]
    v = y and
        g(1,
            2)
    t
}
a =
    1
b, c = 1,
    2
h()'
    same "vim: gq formats a part of a block, and leaves what is no program" "$(cat "$TMP/formatted.gt")" 'if x {
    y = 1

    z = 2
}
# one
w = 3
if ('
else
    skip "vim is not installed"
fi
if command -v python3 >/dev/null; then
    for f in package.json language-configuration.json syntaxes/gt.tmLanguage.json; do
        code "$f" 0 python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$TMP/share/vscode/$f"
    done
else
    skip "python3 is not installed"
fi
if command -v node >/dev/null; then
    code "patterns" 0 node -e 'const look = v => { for (const k in v) { if (["match", "begin", "end"].includes(k)) new RegExp(v[k]);
        else if (typeof v[k] == "object") look(v[k]) } }; look(JSON.parse(require("fs").readFileSync(process.argv[1])))' "$vscode"
    # A tokenizer as an editor has one: of the patterns that match first in a line the first one counts, its end before all.
    cat >"$TMP/tokens.js" <<'END'
const fs = require("fs"), grammar = JSON.parse(fs.readFileSync(process.argv[2]))
const rules = list => list.flatMap(p => !p.include ? [p] : rules(grammar.repository[p.include.slice(1)].patterns))
const first = (source, line, at) => { const r = new RegExp(source, "g"); r.lastIndex = at; return r.exec(line) }
const stack = [{patterns: grammar.patterns}], names = () => stack.map(s => s.name).filter(n => n).join(" ")
fs.readFileSync(process.argv[3], "utf8").split("\n").forEach((line, n) => {
    const scopes = new Array(line.length).fill("")
    for (let at = 0, left = 1000; left--;) {
        const top = stack[stack.length - 1], list = rules(top.patterns || [])
        let best = top.end && first(top.end, line, at), rule = null
        for (const r of list) {
            const m = first(r.match || r.begin, line, at)
            if (m && (!best || m.index < best.index)) { best = m; rule = r }
        }
        if (!best || (rule && !best[0])) { scopes.fill(names(), at); break }
        scopes.fill(names(), at, best.index)
        if (rule && rule.begin) stack.push(rule)
        const name = rule && rule.match ? (names() + " " + (rule.name || "")).trim() : names()
        at = best.index + best[0].length
        scopes.fill(name, best.index, at)
        if (!rule) stack.pop()
    }
    for (const a of process.argv.slice(4)) {
        const [row, ...text] = a.split(":"), column = line.indexOf(text.join(":"))
        if (row == n + 1) console.log(a + " " + (scopes[column] || "-").split(" ").pop())
    }
})
END
    same "VS Code: scopes" "$(node "$TMP/tokens.js" "$vscode" "$TMP/a.gt" 1:Help 2:fn 2:return 2:why 3:backward 5:print 6:0.5 \
        7:randn 8:#x '8: +' 8:mean '8: + mean #' 8:more 9:one '10:two' '10: + mean' 10:last 12:mean)" '1:Help comment.line.documentation.gt
2:fn -
2:return keyword.control.gt
2:why comment.line.number-sign.gt
3:backward keyword.control.gt
5:print -
6:0.5 constant.numeric.gt
7:randn support.function.gt
8:#x constant.other.format.gt
8: + -
8:mean support.function.gt
8: + mean # -
8:more comment.line.number-sign.gt
9:one string.interpolated.gt
10:two string.interpolated.gt
10: + mean -
10:last comment.line.number-sign.gt
12:mean support.function.gt'
else
    skip "node is not installed"
fi
finish
