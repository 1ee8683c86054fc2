# `make install` installs every file that the manual and the programs refer to, the programs work from there, and a second
# time changes nothing; `make uninstall` leaves what was there before. Nothing is built anew (-o all): other tests run these
# programs.
. tests/fixtures/check.sh
HERE=$PWD root="$TMP/a root" prefix="$TMP/a root/usr/local"
install() {
    make --no-print-directory -s -o all B="$B" DESTDIR="$root" "$@" >"$TMP/out" 2>"$TMP/err" || fail "make $*: $(err)"
}
tree() { (cd "$root" && find . -printf '%M %p\n' | LC_ALL=C sort && find . -type f -exec cksum {} + | LC_ALL=C sort); }
mkdir -p "$prefix/share/man/man5" # a folder and a file of somebody else
mkdir "$prefix/bin"
echo mine >"$prefix/bin/mine"
before=$(tree)
install install
has "what it says" "$(out)" "the programs are in $prefix/bin"
installed=$(tree)
find "$B" -maxdepth 1 -printf '%p %T@\n' | LC_ALL=C sort >"$TMP/built"
install install
same "installed twice" "$(tree)" "$installed"
same "the build after it" "$(find "$B" -maxdepth 1 -printf '%p %T@\n' | LC_ALL=C sort)" "$(cat "$TMP/built")"
share=$prefix/share/gt
for f in scripts/*.gt scripts/*.yaml scripts/cluster; do
    cmp -s "$f" "$share/$f" || fail "$f is not installed"
done
for f in man/*.[157] gt-ops.7; do
    [ -s "$prefix/share/man/man${f##*.}/${f##*/}" ] || fail "$f is not installed"
done
for f in share/bash-completion/completions/gt-top share/zsh/site-functions/_gtsh share/vim/vimfiles/syntax/gt.vim \
    share/gt/vscode/package.json share/gt/magic share/doc/gtsh/LICENSE share/doc/gtsh/README.md; do
    [ -s "$prefix/$f" ] || fail "$f is not installed"
done
if [ -e "$B/lib/gt/kernels-base.so" ]; then # a sanitizer's build has none
    GT_FUSE=wait GT_CC=/no/such/compiler XDG_CACHE_HOME=$TMP/cache "$prefix/bin/gtsh" -c '
        y = layer_norm(randn(256, 256), 256); sync(); y = layer_norm(y, 256); sync(); print(stats()["jit.shipped"] > 0)
    ' >"$TMP/out" 2>/dev/null
    same "kernels that come with it" "$(out)" "true"
fi
[ -x "$share/scripts/cluster" ] && [ -x "$share/scripts/mlp.gt" ] || fail "scripts cannot be run"
if command -v man >/dev/null; then
    has "man gtsh" "$(MANPATH=$prefix/share/man man gtsh 2>/dev/null </dev/null)" "tensors"
else
    skip "man is not installed"
fi
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
code "gt-top" 0 gt-top --once; has gt-top "$(out)" "1 worker "
code down 0 scripts/cluster down
trap - EXIT
# What file(1) says with the rules that were installed.
if command -v file >/dev/null; then
    cd "$TMP" || exit 1
    gtsh --emit -c 'x = randn(3)' >a.gti
    gtsh --emit=binary a.gti >a.gtb
    GT_INSTRUCTION_LOG=a.tape gtsh -c 'print(ones(1))' >/dev/null
    gtsh --emit-step "$share/scripts/mlp.gt" >s.gti 2>/dev/null
    printf '#!/usr/bin/env gtsh\nprint(1)\n' >a.gt
    tr -d '\r' <a.gtb >broken.gtb
    echo 'gti is a word' >a.txt
    same "file" "$(file -b -m "$share/magic" a.gti a.gtb a.tape s.gti broken.gtb | cut -d, -f 1,2)" \
        "gt instructions, version 1
gt instructions, binary
gt instruction log (tape), version 1
gt training step, version 1
gt instructions, binary"
    has "file: damaged" "$(file -b -m "$share/magic" broken.gtb)" "damaged"
    has "file: a program" "$(file -b -m "$share/magic" a.gt)" "gt program"
    same "file: a text" "$(file -b -m "$share/magic" a.txt)" "ASCII text"
    cd "$share" || exit 1
else
    skip "file is not installed"
fi
cd "$HERE" || exit 1
B=$GTSH; B=${B%/gtsh}
# A file that this version does not have any more goes with the next install; a file of somebody else stays.
echo old >"$share/old"
sed -i "s|^f .*/magic$|&\nf /usr/local/share/gt/old|" "$share/manifest"
install install
[ ! -e "$share/old" ] || fail "a file of the version before is still there"
install uninstall
same "what is left" "$(tree)" "$before"
install uninstall
has "uninstalled twice" "$(out)" "nothing is installed"
code "a folder that is not absolute" 2 make --no-print-directory -s -o all B="$B" DESTDIR="$root" bindir=bin install
has "a folder that is not absolute" "$(err)" "'bin' is not an absolute path"
same "what is left of that" "$(tree)" "$before"
code "without the variables" 2 sh scripts/install; has "without the variables" "$(out)" "install BUILD: copies"
code "-u without the variables" 2 sh scripts/install -u; has "-u without the variables" "$(out)" "install BUILD: copies"
# The folders have the names of other projects.
install install prefix=/opt/gt mandir=/opt/man bindir=/opt/gt/programs
[ -x "$root/opt/gt/programs/gtsh" ] && [ -s "$root/opt/man/man1/gtsh.1" ] || fail "bindir and mandir are not heeded"
install uninstall prefix=/opt/gt mandir=/opt/man bindir=/opt/gt/programs
same "what is left of those" "$(tree)" "$before"
finish
