# Configurations of signals: their sources, warnings about unknown names, and errors with their positions.
. tests/fixtures/check.sh
cat >"$TMP/shard.yaml" <<'YAML'
forward_layer1:
  shard:
    axis: 0
    workers: [0, 1]
  backward: backward_layer1
backward_layer1:
  shard: {axis: 0, workers: null}
YAML
cat >"$TMP/a.gt" <<'GT'
x = ones(3)
for i in range(2) { signal foward_layer1 { y = x * 2 } }
signal forward_layer1 { z = y + 1 }
print(z)
GT
code "no configuration" 0 "$GTSH" "$TMP/a.gt"; same "no configuration" "$(out)$(err)" "tensor([3., 3., 3.])"
code "near match" 0 "$GTSH" -w 2 --config "$TMP/shard.yaml" "$TMP/a.gt"; same "near match" "$(out)" "tensor([3., 3., 3.])"
has "near match: at the label" "$(err)" "a.gt:2:28: warning: signal 'foward_layer1' is not in $TMP/shard.yaml; running unsharded
  2 | for i in range(2) { signal foward_layer1 { y = x * 2 } }
    |                            ^^^^^^^^^^^^^"
has "near match: name and place" "$(err)" "did you mean 'forward_layer1' ($TMP/shard.yaml:1)?"
same "near match: once" "$(err | grep -c warning)" 1
printf 'data:\n shard:\n   axis: 0\n  workers: [0]\n' >"$TMP/column.yaml"
code "a wrong column" 78 "$GTSH" --config "$TMP/column.yaml" -p 1
has "a wrong column" "$(err)" "hint: the keys of one map begin in the same column"
code "a wrong column: load" 1 "$GTSH" -c "load(\"$TMP/column.yaml\")"
has "a wrong column: load" "$(err)" "hint: the keys of one map begin in the same column"
# a character that must be quoted
for text in '*:\n  shard: null\n' 'a: *\n' 'a:\n  backward: *b\n' '[*a]\n'; do
    printf "$text" >"$TMP/star.yaml"
    code "unquoted *" 78 "$GTSH" --config "$TMP/star.yaml" -p 1
    has "unquoted *" "$(err)" "hint: * begins an alias of YAML: quote a text that begins with *"
    code "unquoted *: load" 1 "$GTSH" -c "load(\"$TMP/star.yaml\")"
    has "unquoted *: load" "$(err)" "hint: * begins an alias of YAML: quote a text that begins with *"
done
for char in @ '`' %; do
    printf 'a: {backward: %sb}\n' "$char" >"$TMP/star.yaml"
    code "unquoted $char" 78 "$GTSH" --config "$TMP/star.yaml" -p 1
    has "unquoted $char" "$(err)" "hint: quote a text that begins with $char"
done
code "GT_CONFIG" 0 env GT_CONFIG="$TMP/shard.yaml" "$GTSH" -c 'print(signal.get("forward_layer1").shard.workers)'; same "GT_CONFIG" "$(out)" "[0, 1]"
code "strict" 1 "$GTSH" --strict --config "$TMP/shard.yaml" "$TMP/a.gt"; has strict "$(err)" "a.gt:2:28: error: signal 'foward_layer1' is not in"; same "strict: nothing ran" "$(out)" ""
code "strict without configuration" 1 "$GTSH" --strict -c 'signal a { x = ones(2) }'; has "strict without configuration" "$(err)" "signal 'a' has no configuration"
code "a variable" 0 "$GTSH" --config "$TMP/shard.yaml" -c 'name = "x"
signal name { y = ones(2) }'
has "a variable" "$(err)" 'signal f"{name}"'
printf 'stage_1:\n  shard:\n    axis: 0\n    workers: "0,1"\n' >"$TMP/bad.yaml"
code "type" 78 "$GTSH" -w 2 --config "$TMP/bad.yaml" -c 'print(1)'
same "type" "$(err)" "$TMP/bad.yaml:4:14: error: signal 'stage_1': workers must be a list of worker numbers, got \"0,1\"
  4 |     workers: \"0,1\"
    |              ^^^^^ hint: workers: [0, 1]      (2 workers are connected: 0-1)"
same "type: nothing ran" "$(out)" ""
code "missing" 78 "$GTSH" --config "$TMP/none.yaml" -c 'print(1)'; has missing "$(err)" "none.yaml"
code "directory" 78 "$GTSH" --config "$TMP" -c 'print(1)'
# a worker that does not exist: the error is where the scope is entered, and shows the line of the file
printf 'a:\n  shard:\n    workers: [0, 7]\n' >"$TMP/seven.yaml"
printf 'signal a { x = ones(4) }\nprint(1)\n' >"$TMP/seven.gt"
code "no such worker" 78 "$GTSH" -w 4 --config "$TMP/seven.yaml" "$TMP/seven.gt"
same "no such worker" "$(err)" "$TMP/seven.gt:1:8: error: signal 'a': there is no worker 7
  1 | signal a { x = ones(4) }
  in $TMP/seven.yaml:3
  3 |     workers: [0, 7]
    |              ^^^^^^ asked for here      hint: 4 workers are connected: 0-3; -w 8 starts 8"
code "load" 0 "$GTSH" -c "signal.load(\"$TMP/shard.yaml\"); signal.define(\"more\", workers=[1]); print(len(signal.get()))"; same load "$(out)" 3
code "load: mistake" 1 "$GTSH" -c "signal.load(\"$TMP/bad.yaml\")"; has "load: mistake" "$(err)" "bad.yaml:4:14: error"
code "load: attempt" 0 "$GTSH" -c "print(attempt(fn() => signal.load(\"$TMP/bad.yaml\"))[0], signal.get())"; same "load: attempt" "$(out)" "false {}"
printf 'forward_layer1: {compile: true, shard: {workers: [1]}}\n' >"$TMP/over.yaml"
code "later wins" 0 "$GTSH" --config "$TMP/shard.yaml" -c "signal.load(\"$TMP/over.yaml\"); print(signal.get(\"forward_layer1\"))"
same "later wins, key by key" "$(out)" '{shard: {axis: 0, workers: [1], replicated: false}, backward: "backward_layer1", compile: true}'
code "the dispatcher knows" 0 "$GTSH" --config "$TMP/shard.yaml" -c 'signal.define("b", axis=0); x = ones(2); signal.define("c", axis=0); print(stats().signals)'; same "the dispatcher knows" "$(out)" 4
code "emit" 0 "$GTSH" --emit --config "$TMP/shard.yaml" -c 'print(1)'
has "emit" "$(out)" "signal define forward_layer1 axis=0 backward=backward_layer1 workers=[0,1] @"
same "emit: its place" "$(grep -c 'shard.yaml:4$' "$TMP/out")" 1
has "emit: all" "$(out)" "signal define backward_layer1 axis=0 workers=[]"
code "replay" 0 sh -c '"$GTSH" --emit --config "$1/shard.yaml" -c "signal forward_layer1 { print(ones(2)) }" | "$GTSH" -w 2 --replay -' - "$TMP"; same replay "$(out)" "tensor([1., 1.])"
# GT_AUTO_SHARD is a rule for tensors outside of all signals; its name is not a signal
code "auto" 0 env GT_AUTO_SHARD=1 "$GTSH" --emit --config "$TMP/shard.yaml" -c 'print(ones(2))'
same "auto: first" "$(sed -n 2p "$TMP/out")" 'signal define "*" axis=0 workers=[]'
code "auto: 0" 0 env GT_AUTO_SHARD=0 "$GTSH" --emit -c 'print(ones(2))'; same "auto: 0" "$(grep -c define "$TMP/out")" 0
code "auto: replay" 0 sh -c 'GT_AUTO_SHARD=1 "$GTSH" --emit -c "print(ones(2))" | "$GTSH" --replay -'; same "auto: replay" "$(out)" "tensor([1., 1.])"
code "auto: nothing else is configured" 0 env GT_AUTO_SHARD=1 "$GTSH" -c 'signal a { print(ones(2)) }'; same "auto: nothing else is configured" "$(err)" ""
for use in 'signal "*" { x = 1 }' 'signal.enter("*")' 'signal a backward "*" { x = 1 }' 'signal.tensor(ones(2), "*")'; do
    code "$use" 1 "$GTSH" -c "$use"; has "$use" "$(err)" "'*' is not a signal"; has "$use" "$(err)" "hint: signal.define"
done
code "check" 78 "$GTSH" -n --config "$TMP/bad.yaml" "$TMP/a.gt"
finish
