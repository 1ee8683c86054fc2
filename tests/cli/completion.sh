# Completion of the command lines by bash and zsh: options and values from the programs' tables, files by suffix, and the
# options of a script.
. tests/fixtures/check.sh
mkdir -p "$TMP/bash" "$TMP/zsh" "$TMP/work/folder"
for program in "$GTSH" "$B"/gt-dispatcher "$B"/gt-worker "$B"/gt-top "$B"/gt-trace "$B"/gt-visualize "$B"/gt-diff; do
    name=${program##*/}
    sh scripts/gencompletion bash "$program" >"$TMP/bash/$name" || fail "gencompletion bash $name"
    sh scripts/gencompletion zsh "$program" >"$TMP/zsh/_$name" || fail "gencompletion zsh $name"
done
# Every option is in both, and a value that has words is accepted by the program.
for name in gtsh gt-dispatcher gt-worker gt-top gt-trace gt-visualize gt-diff; do
    "$B/$name" --help | grep -oE '^  (-.,?|   ) ?(--[a-z-]+)?' | sed 's/.*--/--/; s/ //g' | LC_ALL=C sort >"$TMP/want"
    sed -n 's/^_[a-z_]*_options="\(.*\)"/\1/p' "$TMP/bash/$name" | tr ' ' '\n' | grep -v '=$' | LC_ALL=C sort >"$TMP/got"
    same "options of $name" "$(cat "$TMP/got")" "$(cat "$TMP/want")"
done
sed -n 's/^ .*\(--[a-z-]*\)) _gtsh_words \(.*\) ;;/\1 \2/p' "$TMP/bash/gtsh" >"$TMP/words"
[ "$(wc -l <"$TMP/words")" -ge 7 ] || fail "words of options: $(cat "$TMP/words")"
while read -r option words; do
    for word in $words; do
        "$GTSH" "$option=$word" --version </dev/null >"$TMP/out" 2>&1 || fail "$option=$word is refused: $(out)"
    done
done <"$TMP/words"

cd "$TMP/work" || exit 1
printf 'lr = arg("lr", 0.1, "rate"); out = arg("out", "", "file"); fast = arg("fast", false)\nprint(1)\n' >a.gt
printf 'lr = arg("steps", 1)\nsave(ones(1), "ran.npy")\n' >'b c.gt'
touch notes.txt run.gti run.gtb run.tape a.yaml w.npy e.endpoint
PATH=$B:$PATH
export PATH
# Sessions to attach to: two of them, alpha and beta.
lists() { "$GTSH" --sessions 2>/dev/null | grep -q "^$1 "; }
if command -v script >/dev/null; then
    for name in alpha beta; do
        mkfifo "$TMP/$name"
        script -qc "$GTSH -q --norc --session=$name" /dev/null <"$TMP/$name" >/dev/null &
        [ $name = alpha ] && exec 4>"$TMP/alpha" || exec 5>"$TMP/beta"
        poll lists $name || fail "no session $name"
    done
    sessions="alpha beta" one=alpha
else
    skip "script is not installed"
    sessions= one=a
fi
if command -v bash >/dev/null; then
    # Reads lines, and prints what bash offers at the end of each, in one line. Words break as in the shell.
    cat >"$TMP/tab" <<'END'
for f in "$TMP"/bash/*; do . "$f"; done
while IFS= read -r line; do
    COMP_WORDS=() text=$line
    [[ $line != *' ' ]] || text+=$'\001'
    while [[ -n $text ]]; do
        text=${text##+( )}
        if [[ $text == [@=:]* ]]; then word=${text%%[!@=:]*}
        elif [[ $text == \"* ]]; then word=${text:1} word=\"${word%%\"*}\"
        else word=${text%%[ @=:]*}; fi
        COMP_WORDS+=("${word%$'\001'}") text=${text:${#word}}
    done
    COMP_LINE=$line COMP_POINT=${#line} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    [[ $line == *[=@:] ]] && COMP_WORDS+=("") && ((COMP_CWORD++))
    program=${COMP_WORDS[0]}
    function=$(complete -p "${program##*/}") function=${function#*-F } function=${function%% *}
    "$function" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s: %s\n' "$line" "$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd' ')"
done
END
    # offers LINE WORDS
    offers() {
        echo "$1" >>"$TMP/lines"
        echo "$1: $2" >>"$TMP/offers"
    }
    offers "gtsh --eng" "--engine"
    offers "gtsh --em" "--emit --emit-step --emit="
    offers "gtsh --engine " "auto cpu cuda null reference"
    offers "gtsh --session " "$sessions"
    offers "gtsh --session=" "$sessions"
    offers "gtsh -q --session al" "${sessions%% *}"
    offers "gtsh --engine=" "auto cpu cuda null reference"
    offers "gtsh --engine=r" "reference"
    offers "gtsh --color a" "always auto"
    offers "gtsh --emit=" "binary text"
    offers "gtsh --fill " "randn zeros"
    offers "gtsh -w 2 --engine n" "null"
    offers "gtsh --workers " ""
    offers "gtsh --config " "a.yaml folder"
    offers "gtsh --log-dir " "folder"
    offers "gtsh --replay r" "run.gtb run.gti run.tape"
    offers "gtsh --bind x=" "folder w.npy"
    offers "gtsh --bind=x=" "folder w.npy"
    offers "gtsh -d l" "local"
    offers "gtsh -d @e" "e.endpoint"
    offers "gtsh " "a.gt b c.gt folder run.gtb run.gti run.tape"
    offers "gtsh -- " "a.gt b c.gt folder run.gtb run.gti run.tape"
    offers "gtsh --emit r" "run.gtb run.gti run.tape"
    offers "gtsh n" "notes.txt"
    offers "gtsh a.gt --" "--fast --help --lr --out"
    offers "gtsh -w 2 --engine=cpu a.gt --lr 3 --f" "--fast"
    offers "gtsh a.gt --lr " ""
    offers "gtsh a.gt --out n" "notes.txt"
    offers "gtsh a.gt --eng" ""
    offers 'gtsh "b c.gt" --' "--help --steps"
    offers "gtsh -c 1 --eng" "--engine"
    offers "gtsh -c 1 x --eng" ""
    offers "gtsh -c 1 n" "notes.txt"
    offers "$GTSH --eng" "--engine"
    offers "$GTSH a.gt --l" "--lr"
    offers "gt-worker --engine " "auto cpu cuda null reference"
    offers "gt-worker " ""
    offers "gt-dispatcher --drain " ""
    offers "gt-dispatcher --config=" "a.yaml folder"
    offers "gt-top --view=s" "signals"
    offers "gt-trace --format " "chrome csv tape"
    offers "gt-trace " "folder run.tape"
    offers "gt-visualize -f p" "pdf png"
    offers "gt-diff --re" "--repeat"
    # A name from the command line is never run.
    offers 'gtsh $(touch,ran).gt --' ""
    same "bash" "$(TMP=$TMP bash --norc -O extglob "$TMP/tab" <"$TMP/lines" 2>&1)" "$(cat "$TMP/offers")"
    [ ! -e ran ] && [ ! -e ran.npy ] || fail "completion ran something"
else
    skip "bash is not installed"
fi
if command -v zsh >/dev/null; then
    # An interactive shell in a terminal: types the line, a Tab and Ctrl-X, which prints the line.
    cat >"$TMP/.zshrc" <<'END'
PS1= RPS1= PS2=
stty -echo columns 200
fpath=($TMP/zsh $fpath)
autoload -U compinit
compinit -u -C -d $TMP/.zcompdump
show() { print -r -- "<<$BUFFER>>"; exit; }
zle -N show
bindkey "^X" show
bindkey '^I' complete-word
print -r -- READY
END
    cat >"$TMP/ztab" <<'END'
zmodload zsh/zpty || exit 1
zpty tab ZDOTDIR=$TMP zsh -id
zpty -r tab out '*READY*'
zpty -w -n tab "$1"$'\t\C-X'
zpty -r tab out '*>>*'
[[ $2 = list ]] && print -r -- "$out" || print -r -- "${${out##*<<}%%>>*}"
END
    ztab() { same "zsh: $1" "$(TMP=$TMP HOME=$TMP timeout 30 zsh -f "$TMP/ztab" "$1" </dev/null 2>&1)" "$2"; }
    ztab "gtsh --engine=r" "gtsh --engine=reference "
    [ -z "$sessions" ] || ztab "gtsh --session=a" "gtsh --session=$one "
    [ -z "$sessions" ] || ztab "gtsh --session b" "gtsh --session beta "
    ztab "gtsh --config a" "gtsh --config a.yaml "
    ztab "gtsh --emit=b" "gtsh --emit=binary "
    ztab "gtsh --bind x=w" "gtsh --bind x=w.npy "
    ztab "gtsh b" 'gtsh b\ c.gt '
    ztab "gtsh -w 2 a.gt --l" "gtsh -w 2 a.gt --lr "
    ztab 'gtsh b\ c.gt --s' 'gtsh b\ c.gt --steps '
    ztab "gt-trace r" "gt-trace run.tape "
    printf '%s\n' 'arg("prompt", "\n", "how it begins")' 'arg("lr", 0.1)' >"$TMP/work/d.gt"
    same "zsh: a default as it is written" "$(TMP=$TMP HOME=$TMP timeout 30 zsh -f "$TMP/ztab" "gtsh d.gt --" list </dev/null 2>&1 |
        grep -c 'how it begins  (default "\\n")')" 1
else
    skip "zsh is not installed"
fi
if [ -n "$sessions" ]; then
    echo :q >&4; echo :q >&5
    gone() { ! lists alpha && ! lists beta; }
    poll gone || fail "the sessions do not end"
fi
finish
