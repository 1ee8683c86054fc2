# The prompt compiles with each of its line editors: readline, none, and libedit where its headers are (make EDITLINE=...).
. tests/fixtures/check.sh
same "only edit.h includes an editor" "$(grep -lE '#include <(readline|editline)/' lang/*/*.[ch])" "lang/shell/edit.h"
files=$(grep -lE 'shell/edit\.h|\brl_[a-z_]+\(' lang/shell/*.c)
compiles() {
    for f in $files; do
        code "$1: $f" 0 ${CC:-cc} -std=c11 -D_GNU_SOURCE -I. -Wall -Werror=implicit-function-declaration $2 -fsyntax-only "$f"
        same "$1: $f" "$(err)" ""
    done
}
case $files in *lang/shell/edit.c*lang/shell/repl.c*) ;; *) fail "these files use the editor: $files" ;; esac
if command -v "${CC:-cc}" >/dev/null; then
    compiles none -DEDIT_NONE
    ! echo '#include <editline/readline.h>' | ${CC:-cc} -fsyntax-only -xc - 2>/dev/null || compiles libedit -DEDIT_LIBEDIT
fi
has "make EDITLINE=none" "$(make -n B="$TMP/b" EDITLINE=none "$TMP/b/obj/lang/shell/edit.o" 2>&1)" "-DEDIT_NONE"
code "make EDITLINE=emacs" 2 make -n B="$TMP/b" EDITLINE=emacs
has "make EDITLINE=emacs" "$(err)" "EDITLINE is readline, libedit or none, not 'emacs'"
finish
