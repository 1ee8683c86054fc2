# completion.bash: the functions that complete a command line in bash; scripts/gencompletion puts a program's name for PROGRAM
# and its tables before them. The part between `#--- gtsh` and `#--- others` is for programs that run scripts, the one behind
# it for the others. Each has $cur, the word to be completed, and $before, what of the word comes before $cur.
#--- all
# Completes $cur with these words.
_PROGRAM_words() {
    local word
    for word; do [[ $word == "$cur"* ]] && COMPREPLY+=("$word"); done
}
# Completes $cur with folders, and the files with these suffixes; with all files if there are none.
_PROGRAM_files() {
    local IFS=$'\n' suffix found=()
    for suffix; do found+=($(compgen -f -X "!*.$suffix" -- "$cur")); done
    [[ ${#found[@]} -gt 0 ]] || found=($(compgen -f -- "$cur"))
    COMPREPLY+=($(printf '%s\n' "${found[@]}" $(compgen -d -- "$cur") | sort -u))
    compopt -o filenames 2>/dev/null
}
_PROGRAM_folders() {
    local IFS=$'\n'
    COMPREPLY+=($(compgen -d -- "$cur"))
    compopt -o filenames 2>/dev/null
}
# A dispatcher: local, or @ and a file with its endpoint.
_PROGRAM_where() {
    if [[ $cur == @* ]]; then
        before+=@ cur=${cur#@}
        _PROGRAM_files
    else
        _PROGRAM_words local
    fi
}
# NAME=FILE
_PROGRAM_bound() {
    [[ $cur == *=* ]] || return
    before+=${cur%%=*}= cur=${cur#*=}
    _PROGRAM_files "$@"
}
_PROGRAM_sessions() {
    _PROGRAM_words $("$command" --sessions 2>/dev/null | sed '1d; s/ .*//')
}
# The words up to the cursor in `line`, as the program would get them: bash has them broken at = @ and : too.
_PROGRAM_line() {
    local text=${COMP_LINE:0:COMP_POINT} word last i
    line=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]} last=${#line[@]}
        if ((last > 0)) && [[ $text != [[:blank:]]* && ( $word == [=@:]* || ${line[last - 1]} == *[=@:] ) ]]; then
            line[last - 1]+=$word
        else
            line+=("$word")
        fi
        text=${text#"${text%%[![:blank:]]*}"}
        text=${text#"$word"}
    done
}
# Bash replaces what follows the last break: `before` need not be repeated if it ends in one.
_PROGRAM_cut() {
    local i
    [[ -n $before && ${#COMPREPLY[@]} -gt 0 ]] || return
    [[ $COMP_WORDBREAKS == *"${before: -1}"* ]] && before=
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=$before${COMPREPLY[i]}; done
}
# Completes an option or its value if $cur is one; fails if it is not. $1: the word before.
_PROGRAM_option() {
    if [[ $_PROGRAM_takes == *" $1 "* ]]; then
        _PROGRAM_value "$1"
    elif [[ $cur == --*=* ]]; then
        local option=${cur%%=*}
        before=$option= cur=${cur#*=}
        _PROGRAM_value "$option"
    elif [[ $cur == -* ]]; then
        _PROGRAM_words $_PROGRAM_options
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    else
        return 1
    fi
    return 0
}
#--- gtsh
# The options of a script: gtsh SCRIPT --help runs no statement of it. $1: the script, as typed.
_PROGRAM_script() {
    local script=${1//[\\\'\"]/} option help
    [[ $script == '~/'* ]] && script=$HOME/${script#'~/'}
    [[ -f $script && $script == *.gt ]] || { _PROGRAM_files; return; }
    help=$(timeout 5 "$command" "$script" --help 2>/dev/null </dev/null | sed '1,/^options:/d')
    if [[ $cur == -* ]]; then
        _PROGRAM_words $(sed -n 's/^  \(--[^ ]*\) .*/\1/p' <<<"$help") --help
    elif ! grep -qE -- "^  $2 (N|X) " <<<"$help"; then
        _PROGRAM_files
    fi
}
_PROGRAM() {
    local command=$1 cur before= line i script= word
    COMPREPLY=()
    _PROGRAM_line
    local last=$((${#line[@]} - 1))
    cur=${line[last]}
    # Options end at the script; with a program in an option, at the first other word.
    for ((i = 1; i < last; i++)); do
        word=${line[i]}
        case $word in
        -c | -p | --replay | --replay=*) script=- ;;
        --) ((i++)); break ;;
        -?*) ;;
        *) break ;;
        esac
        [[ $_PROGRAM_takes == *" $word "* ]] && ((i++))
    done
    if ((i < last)); then
        if [[ -n $script ]]; then _PROGRAM_files; else _PROGRAM_script "${line[i]}" "${line[last - 1]}"; fi
    elif ((i == last)) && [[ ${line[last - 1]} == -- ]]; then
        _PROGRAM_files SUFFIXES
    elif ! _PROGRAM_option "${line[last - 1]}"; then
        if [[ -n $script ]]; then _PROGRAM_files; else _PROGRAM_files SUFFIXES; fi
    fi
    _PROGRAM_cut
}
#--- others
# Completes what is no option: files with these suffixes, or nothing.
_PROGRAM_rest() {
    [[ $# == 0 ]] || _PROGRAM_files "$@"
}
_PROGRAM() {
    local command=$1 cur before= line
    COMPREPLY=()
    _PROGRAM_line
    cur=${line[${#line[@]} - 1]}
    _PROGRAM_option "${line[${#line[@]} - 2]}" || _PROGRAM_rest SUFFIXES
    _PROGRAM_cut
}
