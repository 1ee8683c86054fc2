# Error messages: tests/error/messages.txt holds programs, each on a line behind "> ", with the texts that
# its message must hold below. All run at one prompt, one after the other.
. tests/fixtures/check.sh
table=tests/error/messages.txt
awk '/^> /{print substr($0, 3); printf "print(\"@%d\", err=true)\n", ++n}' "$table" >"$TMP/typed"
"$GTSH" -i --norc <"$TMP/typed" >"$TMP/out" 2>"$TMP/err"
sed -e 's/^\(gt> \)*//' -e 's/^\( .…> \)*//' "$TMP/err" >"$TMP/said"
awk -v said="$TMP/said" '
    function next_message(   line) {
        message = ""
        while ((getline line <said) > 0 && line !~ /^@[0-9]+$/) message = message line "\n"
    }
    /^> /{ program = substr($0, 3); next_message(); n++; next }
    /^ *(#|$)/{ next }
    index(message, $0) == 0 { printf "FAIL: %s\n--- lacks: %s\n--- in:\n%s", program, $0, message; bad++ }
    END { if (n < 100) { print "FAIL: only " n " programs"; bad++ } exit bad > 0 }' "$table" || failures=1
printf '%s\n' '?sum' '? data loader' '? sum axis' '? huber' '? keepdims variance' >"$TMP/typed"
"$GTSH" -i --norc <"$TMP/typed" >>"$TMP/out" 2>"$TMP/err"
# Help goes to standard output.
for words in "module optim.Adam(params, lr=1e-3" "module optim.lr_scheduler.StepLR(optimizer" "nn.init.kaiming_uniform_(t" \
    "for x in xs { … }" "signal name { … }" \
    "sum(x, axis=none, keepdims=false, dtype=none)" "data loader: for idx in randperm(len(X))" "  cumsum  " "  nn.HuberLoss  " "  var_mean  "; do
    has "help" "$(cat "$TMP/out")" "$words"
done
finish
