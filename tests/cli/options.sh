# The ways to pass gtsh a program, and its exit codes.
. tests/fixtures/check.sh
code -c 0 "$GTSH" -c 'print(1 + 1)'; same -c "$(out)" 2
code -p 0 "$GTSH" -p '2 ** 10'; same -p "$(out)" 1024
code "-p tensor" 0 "$GTSH" -p 'ones(2) * 3'; same "-p tensor" "$(out)" "tensor([3., 3.])"
printf 'print("from stdin")\n' >"$TMP/a.gt"
code pipe 0 sh -c '"$GTSH" < "$TMP/a.gt"'; same pipe "$(out)" "from stdin"
code dash 0 sh -c 'cat "$TMP/a.gt" | "$GTSH" -'; same dash "$(out)" "from stdin"
code file 0 "$GTSH" "$TMP/a.gt"; same file "$(out)" "from stdin"
printf '#!/usr/bin/env gtsh\nprint(args)\n' >"$TMP/args.gt"
code args 0 "$GTSH" "$TMP/args.gt" a "b c" -x; same args "$(out)" '["a", "b c", "-x"]'
code "check good" 0 "$GTSH" -n "$TMP/a.gt"; same "check runs nothing" "$(out)" ""
printf 'x = (1,\ny = 2\n' >"$TMP/bad.gt"
code "check bad" 65 "$GTSH" -n "$TMP/bad.gt"
code syntax 65 "$GTSH" "$TMP/bad.gt"; has syntax "$(err)" "bad.gt:2:3: error:"
code "syntax -c" 65 "$GTSH" -c 'x = '
code "syntax: nothing ran" 65 "$GTSH" -c 'print(1)
x = ]'
same "syntax: nothing ran" "$(out)" ""
code runtime 1 "$GTSH" -c 'x = nope'; has runtime "$(err)" "'nope' is not defined"
code assert 1 "$GTSH" -c 'assert false, "why"'; has assert "$(err)" why
code exit 7 "$GTSH" -c 'print("a"); exit(7); print("b")'; same exit "$(out)" a
code "exit ok" 0 "$GTSH" -c 'exit()'
code usage 2 "$GTSH" --nonsense; has usage "$(err)" nonsense
for word in exit quit; do
    same "prompt: $word" "$(printf '%s\nprint(1)\n' $word | "$GTSH" -i -q --norc 2>/dev/null)" ""
    same "prompt: a variable $word" "$(printf '%s = 3\n%s\n' $word $word | "$GTSH" -i -q --norc 2>/dev/null)" 3
done
code "usage: limit" 2 "$GTSH" -w 1025 -p 1; has "usage: limit" "$(err)" "--workers is at most 1024, got '1025'"
if [ "$(getconf _NPROCESSORS_ONLN)" -lt 15 ]; then
    code "too many workers" 69 "$GTSH" -w 1000 -p 'ones(3)'
    has "too many workers" "$(err)" "1000 workers are too many for $(getconf _NPROCESSORS_ONLN) processor"
fi
code device 2 "$GTSH" --device=cuda "$TMP/a.gt"; has device "$(err)" "programs name no devices; gtsh -w N"
code "usage: near" 2 "$GTSH" --thread 2 "$TMP/a.gt"; has "usage: near" "$(err)" "--threads"
for own in --workers=2 --threads=2 --memory=1G --engine=cpu; do
    code "-d $own" 2 "$GTSH" -d local $own -p 1
    has "-d $own" "$(err)" "${own%=*} is for workers that gtsh starts, but the dispatcher at 'local' has its own"
done
code "env and -w" 2 env GT_DISPATCHER=local "$GTSH" -w 2 -p 1
has "env and -w" "$(err)" "hint: gt-dispatcher --workers says it there; or drop GT_DISPATCHER"
# A check of the library that fails ends its input at the prompt: no value, no file, but later inputs run.
cat >"$TMP/checked" <<'END'
x = tensor(3.); y = 7
F.bce(x, x)
y = F.bce(x, x).item()
print(1); print(F.bce(x, x)); print(x)
F.bce(x, x); save(x, "checked.npy")
print(y)
ok, r = attempt(fn() => F.bce(x, x).item()); print(ok, x)
END
same "prompt: a check ends its input" \
    "$(cd "$TMP" && "$GTSH" -i -q --norc <checked 2>/dev/null | tr '\n' ' ')" "1 7 false tensor(3.) "
same "prompt: no file after a failed check" "$(ls "$TMP" | grep -c npy)" 0
for given in "-c print(1)" -i "$TMP/a.gt"; do
    code "--client $given" 2 "$GTSH" --client c1 $given
    has "--client $given" "$(err)" "--client is for instructions: a tape, or --replay"
done
# Two programs are an error. An option of gtsh after -c, or one of the program before its name, gets the way out.
code "-c twice" 2 "$GTSH" -c 1 -c 2; has "-c twice" "$(err)" "-c is given twice"
code "--replay twice" 2 "$GTSH" --replay a.gti --replay b.gti; has "--replay twice" "$(err)" "--replay is given twice"
for twice in "--config a.yaml --config b.yaml" "--client c1 --client=c2"; do
    code "$twice" 2 "$GTSH" $twice --replay a.gti; has "$twice" "$(err)" "${twice%% *} is given twice"
done
code "gt-dispatcher twice" 2 "$B/gt-dispatcher" --ipc "$TMP/a" --ipc "$TMP/b"; has "gt-dispatcher twice" "$(err)" "--ipc is given twice"
code "gt-worker twice" 2 "$B/gt-worker" --wait 1 -d local -d "ipc://$TMP/b"; has "gt-worker twice" "$(err)" "--dispatcher is given twice"
code "the last number" 0 "$GTSH" -w 1 -w 2 -p 'workers()'; same "the last number" "$(out)" 2
code "-c and --replay" 2 "$GTSH" -c 1 --replay a.gti; has "-c and --replay" "$(err)" "-c and --replay exclude each other"
for way in -c -p; do
    code "$way and arguments" 2 "$GTSH" $way 'arg("lr", 0.1)' --lr 3
    has "$way and arguments" "$(err)" "hint: arguments of the program follow --: gtsh $way … -- --lr"
done
code "before the script" 2 "$GTSH" --lr 3 "$TMP/a.gt"
has "before the script" "$(err)" "hint: options of the program follow its name: gtsh $TMP/a.gt --lr"
# Options and variables without effect draw a warning.
idle() {
    what=$1 why=$2
    shift 2
    "$@" >"$TMP/out" 2>"$TMP/err"
    has "$what" "$(err)" "gtsh: warning: $what no effect: $why"
}
idle "--workers, --log-dir have" "--check runs nothing" "$GTSH" -n -w 2 --log-dir "$TMP/log" "$TMP/a.gt"
idle "--threads, --log-dir have" "--emit computes nothing" "$GTSH" --emit --threads 2 --log-dir "$TMP/log" -c 1
idle "GT_INSTRUCTION_LOG has" "--emit computes nothing" env GT_INSTRUCTION_LOG="$TMP/tape" "$GTSH" --emit -c 1
idle "GT_BACKEND, GT_INSTRUCTION_LOG have" "the running dispatcher and its workers have their own" \
    env GT_BACKEND=cpu GT_INSTRUCTION_LOG="$TMP/tape" "$GTSH" -d ipc:///none -p 1
printf 'gti 1\n' >"$TMP/a.gti"
idle "--seed has" "instructions have their own seeds" "$GTSH" --seed 3 "$TMP/a.gti"
idle "--client has" "these instructions are no tape" "$GTSH" --client c1 "$TMP/a.gti"
idle "--speed has" "these instructions are no tape" "$GTSH" --speed 1x --replay "$TMP/a.gti"
idle "--emit has" "--dry runs nothing" "$GTSH" --emit --dry "$TMP/a.gti"; has "--emit --dry" "$(err)" "gtsh: checked 0 instructions"
code "an option behind instructions" 2 "$GTSH" "$TMP/a.gti" --dry; has "an option behind instructions" "$(err)" "'--dry' stands behind the file"
code "arguments of instructions" 0 "$GTSH" "$TMP/a.gti" x; has "arguments of instructions" "$(err)" "instructions take no arguments: 'x'"
code "no warning" 0 env GT_DISPATCHER=ipc:///none "$GTSH" --emit --seed 3 --check-nan -c 1
case $(err) in *warning*) fail "no warning: $(err)" ;; esac
code "no such host" 69 "$GTSH" -d no..such:9000 -p "ones(2)"
has "no such host" "$(err)" "no dispatcher at tcp://no..such:9000: there is no host 'no..such'"
printf 'import plian\n' >"$TMP/imports.gt"; printf 'x = 1\n' >"$TMP/plain.gt"
code "import: near" 1 "$GTSH" "$TMP/imports.gt"; has "import: near" "$(err)" "did you mean 'plain'?"
code noinput 66 "$GTSH" "$TMP/none.gt"; has noinput "$(err)" none.gt
code version 0 "$GTSH" --version; has version "$(out)" gtsh
code help 0 "$GTSH" --help; has help "$(out)" --engine; has help "$(out)" --replay
code "bad engine" 2 "$GTSH" --engine quantum -c 'print(1)'
code "file that is a directory" 66 "$GTSH" "$TMP"
printf '\377\376x = 1\n' >"$TMP/utf.gt"
code "bad utf-8" 65 "$GTSH" "$TMP/utf.gt"
code "quiet on a closed pipe" 0 sh -c '"$GTSH" -c "for i in range(100000) { print(i) }" 2>"$TMP/pipe" | head -1 >/dev/null'
same "closed pipe: no words" "$(cat "$TMP/pipe")" ""
# effects after a failed instruction do not happen: no print, no file
printf 'a = zeros(1)\nx = tensor([5]); y = arange(3)[x]\nprint("after:", a)\nsave(a, "%s/never.npy")\nfor i in range(100000) { b = a + 1 }\nprint("never")\n' "$TMP" >"$TMP/late.gt"
code "behind an error" 1 "$GTSH" "$TMP/late.gt"; same "behind an error: nothing" "$(out)" ""; has "behind an error" "$(err)" "late.gt:2:31: error: index 5 at position 0 is out of range"
[ -e "$TMP/never.npy" ] && fail "behind an error: a file was written"
code "before an error" 1 "$GTSH" -c 'a = zeros(1); print("before", a); y = arange(3)[tensor([5])]; print(y)'; same "before an error" "$(out)" "before tensor([0.])"
finish
