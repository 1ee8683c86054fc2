# Large texts and checkpoints are mapped: what a program sees of them, and of files that change; texts of many bytes written.
. tests/fixtures/check.sh
run() { printf '%s\n' "$2" >"$TMP/a.gt"; code "$1" "$3" "$GTSH" "$TMP/a.gt"; }

# 2.4 MB: a text of 40,000 lines with wide characters, and one without
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "%06d Größe → %06d: what a mapped file is, line by line\n", i, i }' >"$TMP/wide.txt"
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "%06d plain %06d: what a mapped file is, line by line......\n", i, i }' >"$TMP/plain.txt"
for f in wide plain; do
    cp "$TMP/$f.txt" "$TMP/x.txt"
    run "$f: what a text does" "t = read(\"$TMP/x.txt\"); parts = t.split(\"\n\"); ls = lines(\"$TMP/x.txt\")
short = \"\n\".join(ls) + \"\n\"
assert len(parts) == 40001 and len(ls) == 40000 and parts[:40000] == ls
assert t == short and not (t != short) and t >= short and t is short
n = len(ls[0]) + 1
assert len(t) == len(short) and len(t) == 40000 * n
for i in [0, 1, 16383, 16384, 16385, 32768, 1000000, len(t) - 1, -1, -16384] { assert t[i] == short[i] }
for i in range(0, 40000, 977) { assert t[n * i:n * i + n - 1] == ls[i] and t[n * i:n * i + n - 1] == short[n * i:n * i + n - 1] }
assert t[::100003] == short[::100003] and t[len(t):] == \"\" and t[-n:] == ls[-1] + \"\n\" and t[:] == t
assert \"039999\" in t and t.find(\"020000\") == 20000 * n and t.count(\"mapped\") == 40000 and t.endswith(\"\n\")
m = {}; m[t] = 1; assert m[short] == 1
k = 0
for c in t { if c == \":\" { k += 1 } }
print(k, t.upper().lower() == short.lower(), (t + \"x\")[-2:] == \"\nx\", len(t * 2) == 2 * len(t), f\"{t}\" == short, str(t) == short)" 0
    same "$f: what a text does" "$(out)" "40000 true true true true true"
done

# the file changes
fresh() { cp "$TMP/plain.txt" "$TMP/x.txt"; }
fresh; run "replaced" "t = read(\"$TMP/x.txt\"); write(\"$TMP/x.txt\", \"new\"); print(len(t.split(\"\n\")), read(\"$TMP/x.txt\"))" 0
same "replaced" "$(out)" "40001 new"
fresh; run "removed" "t = read(\"$TMP/x.txt\"); shell(\"rm $TMP/x.txt\"); print(len(t.split(\"\n\")))" 0
same "removed" "$(out)" "40001"
fresh; run "appended to" "t = read(\"$TMP/x.txt\"); write(\"$TMP/x.txt\", \"more\", append=true); print(len(t), len(read(\"$TMP/x.txt\")) - len(t))" 0
same "appended to" "$(out)" "2520000 4"
for use in 't[2000000]' 't[1000:]' 't == short' '"z" in t' 't.find("zz")' 'f"{t}"' '[t, short].sort()' '", ".join([t, t])' \
    't.split()' 't < short' 't + "a"' 't * 2' 'for c in t { }' 'write("'"$TMP/y"'", t)' 'bytes(t)' 'str([t])' '{(t): 1}' 'if t { a = t[2000000:] }' \
    't.upper()' 't is short' '[c for c in t]' 'list(t)'; do
    fresh
    run "cut off: $use" "t = read(\"$TMP/x.txt\"); u = read(\"$TMP/x.txt\")
short = u[:] + \"\"
shell(\"truncate -s 1000000 $TMP/x.txt\")
$use" 1
    same "cut off: $use" "$(out)" ""
    has "cut off: $use" "$(err)" "x.txt' was cut off while it was in use"
    has "cut off: $use" "$(err)" "a.gt:4:"
done
# texts in containers, compared with another mapped text; twice, for an error says it each time
for cut in 1000000 1003520; do
    for use in 't in [x]' '[t] == [x]' '[x] != [t]' '{a: x} == {a: t}' '[t, x].count(t)'; do
        fresh
        run "cut off at $cut: $use" "x = read(\"$TMP/x.txt\"); t = read(\"$TMP/plain.txt\")
shell(\"truncate -s $cut $TMP/x.txt\")
attempt(fn() { return $use })
print($use)" 1
        same "cut off at $cut: $use" "$(out)" ""
        has "cut off at $cut: $use" "$(err)" "x.txt' was cut off while it was in use"
    done
done
# texts as keys; the cut at 2519000 is within the last page that is mapped: no signal
for cut in 1000000 2519000; do
    for use in 'm[t]' 't in m' 'm.get(t, 5)' 'distinct([x, t])' '{y}' 'd[y]'; do
        fresh
        run "cut off at $cut: $use" "x = read(\"$TMP/x.txt\"); y = read(\"$TMP/x.txt\"); t = read(\"$TMP/plain.txt\"); m = {}; m[x] = 1; d = {}; d[t] = 1
shell(\"truncate -s $cut $TMP/x.txt\")
print($use)" 1
        same "cut off at $cut: $use" "$(out)" ""
        has "cut off at $cut: $use" "$(err)" "x.txt' was cut off while it was in use"
        has "cut off at $cut: $use" "$(err)" "a.gt:3:"
    done
done
fresh; printf 't = read("%s")\nshell("truncate -s 0 %s")\nt[500]\nt[600]\n1 + 1\ndel t\n2 + 2\nlen(read("%s"))\n' "$TMP/x.txt" "$TMP/x.txt" "$TMP/plain.txt" |
    "$GTSH" -i -q --norc >"$TMP/out" 2>"$TMP/err"
same "the prompt goes on" "$(grep -c 'was cut off' "$TMP/err") $(tail -n 3 "$TMP/out" | tr '\n' ' ')" "2 2 4 2520000 "
fresh; run "lines of a file that is cut off" "attempt(fn() { t = read(\"$TMP/x.txt\"); shell(\"truncate -s 0 $TMP/x.txt\"); t[5] }); print(len(lines(\"$TMP/plain.txt\")))" 0
same "lines" "$(out)" "40000"

# not text; not mapped
printf '\377' >>"$TMP/x.txt"; cat "$TMP/plain.txt" "$TMP/x.txt" >"$TMP/bad.txt"
run "not UTF-8" "read(\"$TMP/bad.txt\")" 1; has "not UTF-8" "$(err)" "bad.txt is not UTF-8 text: byte"
head -c 3000000 /dev/zero | gzip -1 >"$TMP/z.gz"; head -c 2000000 /dev/zero >>"$TMP/z.gz"
run "gzip" "read(\"$TMP/z.gz\")" 1; has "gzip" "$(err)" "z.gz is compressed by gzip (.gz), not text"
run "an empty file" "print(len(read(\"/dev/null\")))" 0; same "an empty file" "$(out)" 0
code "a pipe" 0 sh -c "cat '$TMP/plain.txt' | '$GTSH' -c 'print(len(read(\"/dev/stdin\")))'"; same "a pipe" "$(out)" 2520000
run "/proc" "print(len(read(\"/proc/self/status\")) > 100)" 0; same "/proc" "$(out)" true

# memory of its own: of a text of 96 MB less than half (sanitizers have more)
case "$B" in *san*) ;; *)
    yes "a line that is repeated until the text is long" | head -c 96000000 >"$TMP/long.txt"
    printf 't = read("%s")\nprint(len(t), t[90000000:90000006].strip() in t, t.count("until"))\n' "$TMP/long.txt" >"$TMP/a.gt"
    code "memory" 0 sh -c "ulimit -d 130000 && exec '$GTSH' '$TMP/a.gt'"; same "memory" "$(out)" "96000000 true $(grep -c until "$TMP/long.txt")"
    rm "$TMP/long.txt" ;;
esac

# written: longer than an attribute of an instruction may be
run "write" "s = \"abcdefghi\n\" * 3400000; write(\"$TMP/w\", s); print(read(\"$TMP/w\") == s)
x = arange(3); write(\"$TMP/w\", f\"{s}{x} {{}}\"); write(\"$TMP/w\", \"end\", append=true); print(read(\"$TMP/w\")[len(s):])" 0
same "write" "$(out)" 'true
tensor([0, 1, 2]) {}end'
code "print" 0 "$GTSH" -c 'print("0123456789" * 200000, ones(2))'; same "print" "$(tail -c 17 "$TMP/out")" "tensor([1., 1.])"
code "--emit" 1 "$GTSH" --emit -c "write(\"$TMP/w\", \"a\" * 2000000)"; has "--emit" "$(err)" "a text of 2000000 bytes"
has "--emit: hint" "$(err)" "append=true"
code "-n" 0 "$GTSH" -n -c "write(\"$TMP/w\", \"a\" * 2000000 + str(ones(2)))"

# a checkpoint that is cut off while another program holds it, and one that is replaced
run "checkpoint" "save({a: ones(600000), b: {c: arange(300000)}}, \"$TMP/m.safetensors\")
m = load(\"$TMP/m.safetensors\"); save({a: zeros(2)}, \"$TMP/m.safetensors\")
print(m.a.sum().item(), m.b.c[-1].item(), load(\"$TMP/m.safetensors\").a.shape)
save(m, \"$TMP/m.safetensors\"); shell(\"truncate -s 3000000 $TMP/m.safetensors\"); load(\"$TMP/m.safetensors\")" 1
same "checkpoint" "$(out)" "600000.0 299999 [2]"; has "checkpoint" "$(err)" "are outside of the file's"
finish
