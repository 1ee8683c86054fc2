# `make install` installs every file that the manual and the programs refer to, and the programs work from there; `make
# uninstall` leaves nothing. Nothing is built anew (-o all): other tests run these programs.
. tests/fixtures/check.sh
root=$TMP/root prefix=$TMP/root/usr/local
install() { make --no-print-directory -s -o all B="$B" DESTDIR="$root" "$@" >"$TMP/out" 2>"$TMP/err" || fail "make $*: $(err)"; }
install install
share=$prefix/share/gt
for f in scripts/*.gt scripts/*.yaml scripts/cluster; do
    cmp -s "$f" "$share/$f" || fail "$f is not installed"
done
for f in man/*.[157] gt-ops.7; do
    [ -s "$prefix/share/man/man${f##*.}/${f##*/}" ] || fail "$f is not installed"
done
[ -x "$share/scripts/cluster" ] || fail "scripts/cluster cannot be run"
# The command in the script's comment, run where it is installed.
cd "$share" || exit 1
PATH=$prefix/bin:$PATH; export PATH
unset B
line=$(sed -n 's/^# *\(gtsh .*--config.*\)/\1/p' scripts/data_parallel.gt)
has "its hint" "$line" "scripts/data_parallel.yaml"
code "as it says" 0 sh -c "$line --steps 3"; has "as it says" "$(out)" "loss"
has "the tensors are split" "$(out)" 'layout: "split"'
# A cluster of the installed programs.
XDG_RUNTIME_DIR=$TMP; export XDG_RUNTIME_DIR
trap 'scripts/cluster down >/dev/null 2>&1' EXIT
code up 0 scripts/cluster up -w 1 --threads 1 --memory 64M
has up "$(out)" "1 worker at ipc://$TMP/gt/dispatcher"
code "a client" 0 gtsh -d local -c 'print(ones(3).sum())'; same "a client" "$(out)" "tensor(3.)"
code down 0 scripts/cluster down
trap - EXIT
cd "$OLDPWD" || exit 1
B=$GTSH; B=${B%/gtsh}
install uninstall
same "what is left" "$(find "$root" -type f)" ""
finish
