# input() between two pipes: earlier output is flushed before the program waits for the answer.
. tests/fixtures/check.sh
mkfifo "$TMP/in" "$TMP/out"
"$GTSH" -c 'print("ready"); a = input(); print(ones(2) + int(a)); b = input("more? "); print(b)' <"$TMP/in" >"$TMP/out" &
exec 3>"$TMP/in" 4<"$TMP/out"
read -r line <&4; same "before the first question" "$line" ready
echo 4 >&3
read -r line <&4; same "the tensor before the second" "$line" "tensor([5., 5.])"
echo yes >&3
read -r line <&4; same "the prompt without an end of line" "$line" "more? yes"
exec 3>&- 4<&-
wait
finish
