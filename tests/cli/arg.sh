# arg(): typed by defaults, --help, unknown options.
. tests/fixtures/check.sh
cat >"$TMP/a.gt" <<'GT'
## Trains nothing.
steps = arg("steps", 500, "training steps")
lr = arg("lr", 0.1, "learning rate")
fast = arg("fast", false, "hurry")
name = arg("out_name", "x", "a name")
lrs = arg("lrs", [0.5, 1.0], "several")
m = arg({n_layer: 4, width: 8})
print(steps, lr, fast, name, lrs, m)
GT
g="$GTSH $TMP/a.gt"
code plain 0 $g; same plain "$(out)" '500 0.1 false x [0.5, 1.0] {n_layer: 4, width: 8}'
code all 0 $g --steps=7 --lr 3e-4 --fast --out-name "y" --lrs 1,2.5 --n-layer 2
same all "$(out)" '7 0.0003 true y [1.0, 2.5] {n_layer: 2, width: 8}'
code no 0 $g --no-fast --lr 1; same no "$(out)" '500 1.0 false x [0.5, 1.0] {n_layer: 4, width: 8}'
code "bool value" 0 $g --fast=false; has "bool value" "$(out)" "0.1 false x"
code help 0 $g --help; has help "$(out)" "--steps"; has help "$(out)" "learning rate"; has help "$(out)" 500
code unknown 2 $g --step 3; has unknown "$(err)" "--steps"; same "unknown: before the first statement" "$(out)" ""
code type 2 $g --steps abc; has type "$(err)" steps
# what a bool and a list take
for word in false true off; do
    code "bool $word" 2 $g --fast $word; has "bool $word" "$(err)" "--fast takes no word behind it, got '$word'"
    has "bool $word" "$(err)" "hint: --fast, --no-fast, or --fast=$word"
done
code "list of two words" 2 $g --lrs 3 4; has "list of two words" "$(err)" "--lrs takes one word, got '3' and '4'"
has "list of two words" "$(err)" "hint: --lrs 3,4"
code "list in brackets" 2 $g --lrs "[3,4]"; has "list in brackets" "$(err)" "hint: a list is --lrs 1,2,3"
code "list, then a word" 0 $g --lrs 3 x; same "list, then a word" "$(out)" '500 0.1 false x [3.0] {n_layer: 4, width: 8}'
code "bool, then a word" 0 $g --fast x; has "bool, then a word" "$(out)" "0.1 true x"
# arguments that nothing takes
warns() { # what, expected on stderr, arguments...
    what=$1 text=$2
    shift 2
    code "$what" 0 "$GTSH" "$@"
    has "$what" "$(err)" "$text"
}
printf 'lr = arg("lr", .1)\nprint(lr)\n' >"$TMP/w.gt"
printf 'print(1)\n' >"$TMP/plain.gt"
printf 'print(len(args))\n' >"$TMP/raw.gt"
warns "a word" "w.gt takes no argument '0.5'" "$TMP/w.gt" 0.5
warns "one dash" "did you mean '--lr'?" "$TMP/w.gt" -lr 0.5
warns "no dash" "did you mean '--lr'?" "$TMP/w.gt" lr=0.5
warns "no- of a number" "did you mean '--lr'?" "$TMP/w.gt" --no-lr
warns "option of gtsh" "hint: options of gtsh stand before the script" "$TMP/plain.gt" -w 2
for given in "$TMP/w.gt --lr 0.5" "$TMP/w.gt" "$TMP/raw.gt -w 2"; do
    code "no warning: $given" 0 "$GTSH" $given
    same "no warning: $given" "$(err)" ""
done
printf 'n = arg("n")\nprint(n)\n' >"$TMP/r.gt"
code required 2 "$GTSH" "$TMP/r.gt"; has required "$(err)" "n"
# An option of gtsh behind the script: the hint says where it stands.
printf 'print(arg("lr", 0.1))\n' >"$TMP/lr.gt"
code "gtsh's option behind the script" 2 "$GTSH" "$TMP/lr.gt" --seed 3
has "gtsh's option behind the script" "$(err)" "options of gtsh stand before the script"
finish
