# A compiler that fails, is killed, writes garbage or nothing, or is missing; a cache that is full, removed, or has
# temporary files of killed processes: results are the same, the error is reported once, and no file is left.
. tests/fixtures/check.sh
GT_SHIPPED_KERNELS=0; export GT_SHIPPED_KERNELS
command -v cc >/dev/null || { echo "no C compiler"; exit 77; }
GT_FUSE=wait; export GT_FUSE
cat >"$TMP/k.gt" <<'EOF'
seed(1); x = rand(64, 64)
y = tanh(x * 2.0 + 1.0); w = exp(y); sync()
z = exp(x * 3 + 2).sum(0); q = (x - 1).abs() * 2; sync()
print(y.sum().item(), w.sum().item(), z.sum().item(), q.sum().item())
debug.print_kernel(y)
EOF
values=$(GT_FUSE=0 "$GTSH" "$TMP/k.gt" | head -1)
run() {
    "$GTSH" "$TMP/k.gt" >"$TMP/out" 2>"$TMP/err" || fail "$*: exit code $?"
    same "$*: values" "$(head -1 "$TMP/out")" "$values"
}
once() { same "$1: reported once" "$(grep -c COMPILE "$TMP/err")" 1; }
# broken NAME WORDS LINE...: a compiler of these lines; the report, once on stderr and once by :kernel
broken() {
    name=$1 words=$2
    shift 2
    printf '%s\n' "$@" >"$TMP/$name"; chmod +x "$TMP/$name"
    GT_CC=$TMP/$name XDG_CACHE_HOME=$TMP/cache-$name run "$name"
    has "$name, reported" "$(err)" "a kernel cannot be compiled; its operations run one by one: $words"
    has "$name, :kernel" "$(out)" "it could not be made: $words"
    once "$name"
    same "$name: what is left" "$(ls "$TMP/cache-$name/gt")" ""
    GT_DEBUG_COMPILE=1 GT_CC=$TMP/$name XDG_CACHE_HOME=$TMP/cache-$name run "$name, of each"
    same "$name: each" "$(grep -cF "cannot be compiled; its operations run one by one: $words" "$TMP/err")" 2
    same "$name: lines that end in a blank" "$(grep -c ' $' "$TMP/err")" 0
}
output='while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done'
broken silent "'$TMP/silent' failed, exit status 3, without a message" '#!/bin/sh' 'exit 3'
broken killed "'$TMP/killed' was killed by signal 9 (Killed)" '#!/bin/sh' 'kill -KILL $$'
broken rubbish "the object that '$TMP/rubbish' wrote cannot be loaded: file too short" '#!/bin/sh' "$output" 'echo rubbish >"$out"'
broken nothing "'$TMP/nothing' reported success but wrote no object" '#!/bin/sh' 'exit 0'
broken other "the object that '$TMP/other' wrote cannot be loaded: it does not contain the kernel" '#!/bin/sh' "$output" \
    'echo "int x;" | cc -shared -fPIC -x c - -o "$out"'
broken says "k.c:3: error: no vectors" '#!/bin/sh' 'echo "k.c: in a function:"; echo "k.c:3: error: no vectors" >&2; exit 1'
broken colours "k.c: \\x1b[31merror:\\x1b[0m no ‘vectors’ \\x9b2J\\xc2\\x9b2J\\x07" '#!/bin/sh' \
    'printf "k.c: \033[31merror:\033[0m no ‘vectors’ \2332J\302\2332J\007\n" >&2; exit 1'
broken noformat "cannot run '$TMP/noformat': Exec format error" 'no program'
echo '#!/bin/sh' >"$TMP/noexec"
for c in noexec:" (Permission denied)" absent: .:" (Is a directory)"; do
    GT_CC=$TMP/${c%%:*} XDG_CACHE_HOME=$TMP/cache-none run "$c"
    has "$c" "$(err)" "operations are not fused: no C compiler${c#*:}: $TMP/${c%%:*}"; once "$c"
    has "$c, :kernel" "$(out)" "no C compiler${c#*:}: $TMP/${c%%:*}"
done

# GT_CC with blanks in its path, with arguments, and with text that cannot be split.
mkdir -p "$TMP/a b"; printf '%s\n' '#!/bin/sh' '[ "$1$2$3" = "-DX=1 2-DY=3-DZ" ] || exit 4; shift 3' 'exec cc "$@"' >"$TMP/a b/c c"; chmod +x "$TMP/a b/c c"
GT_CC="  '$TMP/a b/c c'  -DX='1 2' -D\"Y=3\" -DZ " XDG_CACHE_HOME=$TMP/cache-blanks run "blanks"
same "blanks" "$(err)" ""; has "blanks" "$(out)" "compiled in"
GT_CC="'$TMP/a b/c c" run "open quote"; has "open quote" "$(err)" "operations are not fused: no C compiler (Invalid argument): '$TMP/a b/c c"
GT_CC="cc $(printf '%0300d' 1)" run "too long"; has "too long" "$(err)" "operations are not fused: no C compiler (Argument list too long): cc 000"
# Clang, also through a link of another name.
if command -v clang >/dev/null; then
    ln -s "$(command -v clang)" "$TMP/cc1"
    for c in clang "$TMP/cc1"; do
        GT_CC=$c XDG_CACHE_HOME=$TMP/cache-clang run "$c"; same "$c" "$(err)" ""; has "$c" "$(out)" "compiled in"
        rm -r "$TMP/cache-clang"
    done
else
    skip "clang is not installed"
fi

# The cache is removed before a kernel and while its compiler runs, each time.
printf '%s\n' '#!/bin/sh' "rm -rf '$TMP/gone'" 'exec cc "$@"' >"$TMP/removes"
printf '%s\n' '#!/bin/sh' "[ -e '$TMP/was' ] || rm -rf '$TMP/gone'" "touch '$TMP/was'" 'exec cc "$@"' >"$TMP/removes1"
chmod +x "$TMP/removes" "$TMP/removes1"
XDG_CACHE_HOME=$TMP/gone; export XDG_CACHE_HOME
cat >"$TMP/removed.gt" <<EOF
x = rand(64, 64); y = tanh(x * 2.0 + 1.0); w = exp(y); sync()
shell("rm -rf $TMP/gone")
z = exp(x * 3 + 2).sum(0); sync()
debug.print_kernel(z)
EOF
code "removed" 0 "$GTSH" "$TMP/removed.gt"; has "removed" "$(out)" "one kernel of several operations"
same "removed: nothing is reported" "$(err)" ""
same "removed: made again" "$(ls "$TMP/gone/gt" | grep -c '\.so$')" 1
GT_CC=$TMP/removes1 run "removed meanwhile"; same "removed meanwhile" "$(err)" ""
has "removed meanwhile" "$(out)" "one kernel of several operations"
GT_CC=$TMP/removes run "removed always"; once "removed always"
has "removed always" "$(err)" "kernels cannot be saved; operations without one run one by one: $TMP/gone/gt: No such file or directory"
# A disk that is full.
if unshare -rm true 2>/dev/null; then
    cat >"$TMP/full.sh" <<'EOF'
mount -t tmpfs -o size=$1 tmpfs "$2" && exec "$GTSH" "$3"
EOF
    mkdir -p "$TMP/disk"; export GTSH
    for size in 8k 24k; do
        XDG_CACHE_HOME=$TMP/disk unshare -rm sh "$TMP/full.sh" $size "$TMP/disk" "$TMP/k.gt" >"$TMP/out" 2>"$TMP/err"
        same "a full disk, $size" "$(head -1 "$TMP/out")" "$values"
        has "a full disk, $size" "$(err)" "kernels cannot be saved; operations without one run one by one: $TMP/disk/gt: No space left on device"
        once "a full disk, $size"
        GT_SAVE_COMPILED_CODE=$TMP/disk/s GT_CC=$TMP/silent unshare -rm sh "$TMP/full.sh" 8k "$TMP/disk" "$TMP/k.gt" >/dev/null 2>"$TMP/err"
        has "sources on it" "$(err)" "GT_SAVE_COMPILED_CODE: no more sources are saved: $TMP/disk/s/fused.h: No space left on device"
        same "sources on it, reported once" "$(grep -c GT_SAVE "$TMP/err")" 1
    done
fi
# If an entry cannot be written, the message names it, and its kernel is used all the same. If the directory cannot be made,
# all kernels fail.
XDG_CACHE_HOME=$TMP/taken run "before it is taken"
for f in "$TMP"/taken/gt/*.so; do rm "$f"; mkdir "$f"; done
XDG_CACHE_HOME=$TMP/taken run "taken"; once "taken"
has "taken" "$(err)" "kernels cannot be saved; operations without one run one by one: $TMP/taken/gt/"; has "taken" "$(err)" ".so: Is a directory"
has "taken" "$(out)" "one kernel of several operations"
cat >"$TMP/figures.gt" <<'EOF'
x = rand(64, 64); y = tanh(x * 2.0 + 1.0); w = exp(y); sync(); z = exp(x * 3 + 2).sum(0); sync()
s = stats(); print(s["jit.compiled"] + s["jit.cached"] + s["jit.pending"], s["jit.failed"] > 0)
EOF
same "no cache: figures" "$(XDG_CACHE_HOME=$TMP/k.gt "$GTSH" "$TMP/figures.gt" 2>/dev/null)" "0 true"
same "no compiler: figures" "$(GT_CC=$TMP/absent "$GTSH" "$TMP/figures.gt" 2>/dev/null)" "0 true"
# GT_SAVE_COMPILED_CODE makes its directory and those above it, or the message says why not.
GT_SAVE_COMPILED_CODE=$TMP/a/b/c XDG_CACHE_HOME=$TMP/cache run "sources"
same "sources" "$(ls "$TMP/a/b/c" | sed 's/^[0-9a-f]*\.c/kernel/' | sort -u | tr '\n' ' ')" "fused.h kernel "
GT_SAVE_COMPILED_CODE=$TMP/k.gt/x XDG_CACHE_HOME=$TMP/cache run "sources into a file"
has "sources into a file" "$(err)" "GT_SAVE_COMPILED_CODE: no more sources are saved: $TMP/k.gt/x/fused.h: Not a directory"
once "sources into a file"

# A signal that ends gtsh while a compiler runs ends the compiler, too, and no file is left.
printf '%s\n' '#!/bin/sh' "$output" "echo begun >\"\$out\"; echo \$\$ >'$TMP/pid'; exec sleep 3600" >"$TMP/sleeps"
chmod +x "$TMP/sleeps"
cat >"$TMP/busy.gt" <<'EOF'
signal.define("c", compile=true)
signal c { y = tanh(rand(64, 64) * 2.0 + 1.0) }
while true { print(y.sum().item()) }
EOF
GT_CC=$TMP/sleeps XDG_CACHE_HOME=$TMP/cache-signal GT_FUSE=1; export GT_CC
runs() { grep -q '^[0-9]* ([^)]*) [^Z]' "/proc/$1/stat" 2>/dev/null; }
for signal in TERM HUP INT PIPE; do
    rm -f "$TMP/pid"
    if [ $signal = PIPE ]; then
        "$GTSH" "$TMP/busy.gt" 2>/dev/null | await "$TMP/pid" .
    else
        "$GTSH" "$TMP/busy.gt" >/dev/null 2>&1 & pid=$!
        await "$TMP/pid" .
        kill -$signal $pid
        wait $pid 2>/dev/null; [ $? -gt 128 ] || fail "SIG$signal did not end it"
    fi
    has_ended() { ! runs "$(cat "$TMP/pid")"; }
    poll has_ended
    same "SIG$signal: files" "$(ls "$TMP/cache-signal/gt" | grep -v 'want$')" ""
    runs "$(cat "$TMP/pid")" && fail "SIG$signal: the compiler runs on"
done
# The same if the compiler sends the signal at its start, before gtsh knows its process id.
printf '%s\n' '#!/bin/sh' "echo \$\$ >'$TMP/pid'; kill -TERM \$PPID; exec sleep 3600" >"$TMP/sleeps"
for _ in 1 2 3 4 5 6; do
    rm -f "$TMP/pid"
    code "SIGTERM of its compiler" 143 "$GTSH" "$TMP/busy.gt"
    poll has_ended || fail "SIGTERM of its compiler: the compiler runs on"
done
unset GT_CC; GT_FUSE=wait
# The files of a killed process are removed, but not its newest; files of running processes are removed when they are old.
g=$TMP/cache-signal/gt; (exit 0) & none=$!; wait $none
touch -d '-2 minutes' "$g/tmp.$$.old.so"; touch "$g/tmp.$none.young.so"; touch -d '-20 minutes' "$g/tmp.$none.gone.so" "$g/tmp.$$.older.so"
run "stale"
same "stale files" "$(ls "$g" | grep tmp | sed 's/tmp.[0-9]*.//' | sort | tr '\n' ' ')" "old.so young.so "
finish
