# rooms.awk: checks the includes of the files given after scripts/rooms against its lines; prints
# the violations.
#   usage: awk -f scripts/rooms.awk scripts/rooms FILE...
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
function allowed(from, to,   n, i, word) {
    n = split(may[from], word, " ")
    for (i = 1; i <= n; i++) if (word[i] == to || (word[i] == "runtime/*" && to ~ /^runtime\//)) return 1
    return from !~ /^runtime/ && to ~ /^runtime\//
}
function is_public(to, name,   n, i, word) {
    n = split(public[to], word, " ")
    for (i = 1; i <= n; i++) if (word[i] == name || word[i] == "*") return 1
    return 0
}
# Depth first: reaching a folder that is still being visited closes a circle.
function visit(at, path,   n, i, word) {
    if (state[at] == 2) return
    if (state[at] == 1) { printf "scripts/rooms: a circle: %s %s\n", path, at; return }
    state[at] = 1
    n = split(may[at], word, " ")
    for (i = 1; i <= n; i++) if (word[i] in may) visit(word[i], path " " at)
    state[at] = 2
}
FILENAME == ARGV[1] {
    if (/^#/ || /^$/) next
    if ($1 == "waive") { waiver[$2 " " $3] = FNR; next }
    if (split($0, part, "|") != 4) { printf "%s:%d: needs four parts\n", FILENAME, FNR; next }
    name = trim(part[1]); may[name] = trim(part[2]); public[name] = trim(part[3])
    next
}
FNR == 1 {
    here = folder(FILENAME); seen[here] = 1
    if (!(here in may)) printf "%s: its folder has no line in scripts/rooms\n", FILENAME
}
match($0, /^#include "[^"]*"/) {
    path = substr($0, 11, RLENGTH - 11)
    if (index(path, "/") == 0) { printf "%s:%d: include by the path from the root: %s\n", FILENAME, FNR, path; next }
    to = folder(path); name = path; sub(/.*\//, "", name)
    if (FILENAME == here "/" here ".h" && to !~ /^runtime\//) up[FILENAME] = path
    if (to == here) next
    if (to "/" to ".h" == path && index(here, to "/") == 1) { asked[path] = FILENAME; next }
    if ((here " " path) in waiver) { used[here " " path] = 1; next }
    if (!allowed(here, to)) printf "%s:%d: %s may not include %s (scripts/rooms)\n", FILENAME, FNR, here, path
    else if (name ~ /_state\.h$/ || !is_public(to, name)) printf "%s:%d: %s is not a public header (scripts/rooms)\n", FILENAME, FNR, path
}
/^#include <zmq/ && FILENAME !~ /^runtime\/net\/(net|auth)\.c$/ { printf "%s:%d: zmq.h is for net.c and auth.c of runtime/net\n", FILENAME, FNR }
END {
    for (face in asked) if (face in up) printf "%s: includes %s, but %s includes it\n", face, up[face], asked[face]
    for (name in may) visit(name, "")
    if (whole) {
        for (w in waiver) if (!(w in used)) printf "scripts/rooms:%d: nothing needs this waiver\n", waiver[w]
        for (name in may) if (!(name in seen)) printf "scripts/rooms: there is no folder %s\n", name
    }
}
