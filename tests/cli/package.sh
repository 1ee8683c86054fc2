# The version, and what packages of the programs depend on.
. tests/fixtures/check.sh
version=$(sed -n 's/^#define GTSH_VERSION "\(.*\)"$/\1/p' runtime/base/version.h)
of_gtsh=$("$GTSH" --version)
case "$of_gtsh" in "gtsh $version" | "gtsh $version"-*) ;; *) fail "gtsh --version: $of_gtsh, not $version" ;; esac
for program in "$B"/gt-dispatcher "$B"/gt-worker "$B"/gt-top "$B"/gt-trace "$B"/gt-visualize "$B"/gt-diff; do
    same "one version" "$("$program" --version)" "${program##*/} ${of_gtsh#gtsh }"
done
# Objects do not name the folder that they were built in (make repro compares whole programs). They are compiled anew: an
# object out of a compile cache may come from another folder.
objects="$TMP/b/obj/runtime/base/err.o $TMP/b/obj/lang/shell/options.o $TMP/b/obj/worker/ref/ref.o $TMP/b/obj/gen/version.o"
code "compile" 0 env CCACHE_DISABLE=1 make -s --no-print-directory B="$TMP/b" $objects
for object in $objects; do
    ! LC_ALL=C grep -qaF "$PWD" "$object" || fail "${object##*/} contains the name of the folder that it was built in"
done
# scripts/describe: what git says about the commit, and a hash of the sources of runtime/ and worker/.
mkdir -p "$TMP/tree/runtime/base"
cp runtime/base/version.h "$TMP/tree/runtime/base"
describe() { (cd "$TMP/tree" && sh "$OLDPWD/scripts/describe" "$TMP/describe.h") && sed '/GT_BUILD/d; s/g[0-9a-f]\{10\}/gHASH/' "$TMP/describe.h"; }
build() { describe >/dev/null; sed -n 's/^#define GT_BUILD "\([0-9a-f]\{16\}\)"$/\1/p' "$TMP/describe.h"; }
same "outside of a checkout" "$(describe)" '#define GT_DESCRIBE ""'
if command -v git >/dev/null; then
    git() { command git -C "$TMP/tree" -c user.name=a -c user.email=a@localhost -c commit.gpgsign=false "$@"; }
    GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
    export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM
    { git init -q && git add . && git commit -q -m one; } || fail "git"
    same "a commit" "$(describe)" '#define GT_DESCRIBE "-gHASH"'
    git tag "v$version"
    same "the tag of the version" "$(describe)" '#define GT_DESCRIBE ""'
    one=$(build)
    [ "$one" ] || fail "no build: $(cat "$TMP/describe.h")"
    git commit -q --allow-empty -m two
    same "the build of a commit that changes nothing" "$(build)" "$one"
    same "a commit after it" "$(describe)" '#define GT_DESCRIBE "-1-gHASH"'
    touch -d '2001-01-01' "$TMP/describe.h"
    describe >/dev/null
    same "the date of a file that stays the same" "$(stat -c %y "$TMP/describe.h" | cut -c1-4)" 2001
    echo >>"$TMP/tree/runtime/base/version.h"
    same "a change" "$(describe)" '#define GT_DESCRIBE "-1-gHASH-dirty"'
    [ "$(build)" != "$one" ] || fail "another source is the same build"
    mv "$TMP/tree/.git/HEAD" "$TMP/HEAD"
    same "git refuses" "$(describe)" '#define GT_DESCRIBE "-1-gHASH-dirty"'
else
    skip "git is not installed"
fi
# debian/ repeats the version and the packages that building needs; gcc, make and libc6-dev need not be named there.
same "the version in debian/changelog" "$(sed -n '1s/^gtsh (\(.*\)) .*/\1/p' debian/changelog)" "$version"
printf 'debs:\n\t@printf "%%s\\n" $(DEBS)\n' >"$TMP/debs.mk"
make -s --no-print-directory -f Makefile -f "$TMP/debs.mk" B="$B" debs | grep -vxE 'gcc|make|libc6-dev' | LC_ALL=C sort >"$TMP/debs"
[ "$(wc -l <"$TMP/debs")" -ge 10 ] || fail "packages of the Makefile: $(cat "$TMP/debs")"
same "Build-Depends in debian/control" "$(sed -n '/^Build-Depends:/,/^[A-Z].*: /p' debian/control | sed '$d; s/^Build-Depends: *//' |
    tr -d ' ,' | grep -v '^debhelper' | LC_ALL=C sort)" "$(cat "$TMP/debs")"
# Every program is in one package, with its manual page and completions.
for program in "$GTSH" "$B"/gt-dispatcher "$B"/gt-worker "$B"/gt-top "$B"/gt-trace "$B"/gt-visualize "$B"/gt-diff; do
    name=${program##*/}
    same "the package of $name" "$(cat debian/*.install | grep -xE "usr/bin/$name|.*/$name|.*/_$name|.*/man1/$name.1")" \
        "$(printf '%s\n' "usr/bin/$name" "usr/share/bash-completion/completions/$name" "usr/share/man/man1/$name.1" \
        "usr/share/zsh/vendor-completions/_$name")"
done
if [ -d "$B/share/vim" ]; then
    same "files of vim in debian/vim/gtsh.yaml" "$(sed -n 's/^  - //p' debian/vim/gtsh.yaml | LC_ALL=C sort)" \
        "$(cd "$B/share/vim" && find . -type f | sed 's|^./||' | LC_ALL=C sort)"
fi
# Missing libraries are named with their packages.
code "a library is missing" 1 sh scripts/deps -c cc zlib=zlib1g-dev no-such-lib=libnosuch-dev none-either=libnone-dev
has "a library is missing" "$(err)" "pkg-config does not find: no-such-lib, none-either"
has "its package" "$(err)" "apt-get install libnosuch-dev libnone-dev"
code "no compiler" 1 sh scripts/deps -c "no-such-cc -m64" zlib=zlib1g-dev
has "no compiler" "$(err)" "there is no C compiler 'no-such-cc -m64': on Debian, apt-get install gcc"
code "nothing is missing" 0 sh scripts/deps -c cc zlib=zlib1g-dev
same "nothing is missing" "$(out)$(err)" ""
finish
