# gt-visualize: pictures and text of a tape whose times are known, of real runs, of damaged and hostile tapes; mistakes.
. tests/fixtures/check.sh
V="$B/gt-visualize"
export XDG_RUNTIME_DIR="$TMP" GT_DISPATCHER= LC_ALL=C
unset GT_INSTRUCTION_LOG NO_COLOR
t="$TMP/run.tape"

# pieces MS FILE: two stages, four pieces: w0 computes MS, w1 takes the result and computes 1 ms less
pieces() {
    awk -v piece="$1" -v file="$2" 'BEGIN {
        n = 0; print "gti 1 kind=tape"
        for (w = 0; w < 2; w++) line(0.1, "+ - w" w " worker \"cpu\" threads=1 memory=4000000")
        line(0.2, "+ c1 - client \"train.gt\"")
        for (i = 0; i < 4; i++) {
            at = 1 + 10 * i; done = 1 + piece * (i + 1); id = "t922337203685477581" i
            line(at, "> c1 - signal enter one @" file ":1")
            line(at, "> c1 - t" 2 * i " = matmul t90 t91 -> f32[512,512] @" file ":2"); line(at, "= c1 w0 t" 2 * i " = matmul t90 t91 on=1")
            line(at, "> c1 - signal exit one @" file ":2"); line(at, "> c1 - signal enter two @" file ":3")
            line(at, "> c1 - t" 2 * i + 1 " = exp t" 2 * i " -> f32[512,512] @" file ":4")
            line(at, "= c1 w1 " id " = move t" 2 * i " shape=[512,512] dtype=f32 on=2 from=1 # for exp")
            line(at, "= c1 w1 t" 2 * i + 1 " = exp " id " on=2"); line(at, "> c1 - signal exit two @" file ":4")
            line(done, "< c1 w0 done t" 2 * i " us=" 1000 * piece " bytes=1048576 op=matmul")
            line(done + 1, "< c1 w1 done " id " us=1000 bytes=1048576 op=move from=w0 moved=1048576")
            line(done + piece, "< c1 w1 done t" 2 * i + 1 " us=" 1000 * piece - 1000 " bytes=1048576 op=exp")
            line(done, "< - w0 memory bytes=" 1000000 * (i + 1) " limit=4000000")
        }
    }
    function line(ms, text) { printf "%.6f %d %s\n", ms / 1000, ++n, text }'
}
pieces 10 train.gt >"$t"

# as text, letter by letter
code text 0 "$V" "$t" --text --critical-path --width 90
same "text" "$(cat "$TMP/out")" "$(cat <<'TEXT'
GT timeline: 12 ops, 2 workers, 0.050 s, 76% busy  (run.tape)
pattern: pipeline w0 > w1, bubble 8%
critical path 50.0 ms: 20% matmul, 72% pointwise, 8% transfer; most of it: 36.0 ms exp at train.gt:4, 10.0 ms matmul at train.gt:2, 4.00 ms move at train.gt:4

c1 train.gt     #         #         #         #                    24 instructions
dispatcher      #         #         #         #                    12 instructions
                [one                                   ]
w0              MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM..........  80% busy, 20% starved
  path          ===========
  memory                  ..........----------==========########## to 3.81 MiB
                           [two                                  ]
w1              .......... ppppppppp ppppppppp ppppppppp ppppppppp  72% busy, 20% blocked
  path                    ========================================
  transfers               t         t         t         t          4.00 MiB
                -------------------+-------------------+----------
                                   20 ms               40 ms
M matmul 40%   p pointwise 36%   r reduce 0%   o other 0%   t transfer 4%   . idle 24%: 10% starved, 10% blocked, 4% comm
TEXT
)"
has "UTF-8" "$(LC_ALL=C.UTF-8 "$V" "$t" -t -w 90)" "w1              ·········· ▓▓▓▓▓▓▓▓▓ ▓▓▓▓▓▓▓▓▓ ▓▓▓▓▓▓▓▓▓ ▓▓▓▓▓▓▓▓▓  72%"
same "no escapes in a file" "$("$V" "$t" -t | grep -c "$(printf '\033')")" 0
code ".txt" 0 "$V" "$t" -w 90 -o "$TMP/a.txt" --critical-path
"$V" "$t" --text --critical-path --width 90 >"$TMP/b.txt"; same ".txt is the text" "$(cat "$TMP/a.txt")" "$(cat "$TMP/b.txt")"
same "standard input" "$("$V" - -t -w 90 <"$t" | tail -n +2)" "$("$V" "$t" -t -w 90 | tail -n +2)"

# as SVG: words, colours, lanes; each operation once, with what it is; the bubble's hatch; the arrows
code svg 0 "$V" "$t" -o "$TMP/a.svg" -n 3
s=$(cat "$TMP/a.svg")
for w in ">GT timeline: 12 ops, 2 workers, 0.050 s, 76% busy</text>" ">pattern: pipeline w0 &gt; w1, bubble 8%</text>" \
    ">matmul 40%</text>" ">idle 24%: 10% starved, 10% blocked, 4% comm</text>" ">dispatcher</text>" ">c1 train.gt</text>" ">w0</text>" \
    ">w1</text>" ">20 ms</text>" ">memory, to 3.81 MiB</text>" "<title>matmul t2, 10.0 ms, 1.00 MiB, train.gt:2</title>" \
    "<title>move, 1.00 ms, 1.00 MiB, train.gt:4</title>" ">move 1.00 MiB</text>" "<title>two</title>"; do
    has "svg" "$s" "$w"
done
same "operations" "$(grep -c '<title>\(matmul\|exp\) t[0-9]*, ' "$TMP/a.svg")" 8
same "colours" "$(grep -c 'fill="#0072b2"' "$TMP/a.svg") $(grep -c 'fill="#009e73"' "$TMP/a.svg")" "5 5"
same "bubble and starved" "$(grep 'url(#hatch0)' "$TMP/a.svg" | grep -o '<title>.*</title>' | tr '\n' ' ')" \
    "<title>no instruction</title> <title>bubble: waits for w0</title> "
same "arrows" "$(grep -c 'd="M[0-9. ]*C' "$TMP/a.svg")" 6 # a white and a black curve each
same "no arrows" "$("$V" "$t" -o - -f svg --arrows 0 | grep -c 'd="M[0-9. ]*C')" 0
if command -v python3 >/dev/null; then
    code "well-formed" 0 python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$TMP/a.svg"
else
    skip "python3 is not installed"
fi

# notes, failures, kernels that were compiled
{ cat "$t"; printf '0.02 99 > c1 - note "epoch 1" @a.gt:1\n0.03 99 ! c1 w0 error exp "bad" @a.gt:1\n0.04 99 < - w1 compile us=9000 ops=5 key=k\n'; } >"$TMP/notes.tape"
"$V" "$TMP/notes.tape" -o "$TMP/n.svg"; s=$(cat "$TMP/n.svg")
for w in ">notes</text>" ">epoch 1</text>" 'fill="#c00000"' "<title>a kernel of 5 operations compiled in 9.00 ms</title>" ">1 kernel compiled</text>" \
    "; 1 instruction failed"; do
    has "notes" "$s" "$w"
done
"$V" "$TMP/notes.tape" -t -w 90 >"$TMP/n.txt"
has "notes, text" "$(cat "$TMP/n.txt")" "notes                              |epoch 1"; has "failure, text" "$(grep '^w0' "$TMP/n.txt")" "MMM!MMM"

# the same tape gives the same bytes; sizes
for f in png svg pdf; do
    "$V" "$t" -o "$TMP/1.$f" --critical-path && "$V" "$t" -f "$f" -o - --critical-path >"$TMP/2.$f" || fail "$f"
    cmp -s "$TMP/1.$f" "$TMP/2.$f" || fail "two $f of one tape differ"
done
size() { od -An -tx1 -j16 -N8 "$1" | tr -d ' \n'; }
has "png" "$(od -An -tx1 -N8 "$TMP/1.png")" "89 50 4e 47 0d 0a 1a 0a"
has "pdf" "$(head -c 5 "$TMP/1.pdf")" "%PDF-"
"$V" "$t" -o "$TMP/s.png" --width 640 --dpi 96
same "640 pixels" "$(size "$TMP/s.png" | cut -c1-8)" 00000280
"$V" "$t" -o "$TMP/s.png" --width 640 --dpi 192
same "twice as fine" "$(size "$TMP/s.png" | cut -c1-8)" 00000500

# parts of a run
has "from, to" "$("$V" "$t" -t --from 21ms --to 0.031)" "GT timeline: 7 ops, 2 workers, 0.010 s, 95% busy"
has "a signal" "$("$V" "$t" -t --signal one)" "GT timeline: 4 ops, "
has "no such signal" "$("$V" "$t" -t --signal three)" "GT timeline: 0 ops"
code "beyond the end" 0 "$V" "$t" -o "$TMP/e.svg" --from 100

# two runs: one scale, and what took longer, whatever the folder
pieces 15 new/train.gt >"$TMP/new.tape"
code diff 0 "$V" --diff "$t" "$TMP/new.tape" -t -w 90
has "diff" "$(cat "$TMP/out")" "(old: run.tape)"; has "diff" "$(cat "$TMP/out")" "(new: new.tape)"
has "diff, lengths" "$(cat "$TMP/out")" "50.0 ms -> 75.0 ms: 50% longer"
same "diff, most" "$(grep -A1 longer "$TMP/out" | tail -n 1)" "  +20.0 ms  exp train.gt:4: 36.0 ms -> 56.0 ms, 4 times"
same "one scale" "$(grep -c '20 ms  *40 ms  *60 ms' "$TMP/out")" 2
code "diff, svg" 0 "$V" --diff "$t" "$TMP/new.tape" -o "$TMP/d.svg"; has "diff, svg" "$(cat "$TMP/d.svg")" "+20.0 ms  exp train.gt:4"

# real runs: the patterns of scripts/visualize.gt; mlp.gt on one worker
GT_INSTRUCTION_LOG="$TMP/v.tape" code "visualize.gt" 0 "$GTSH" -w 4 --threads 1 scripts/visualize.gt
has "all-reduce" "$("$V" "$TMP/v.tape" -t --signal data_parallel)" "pattern: all-reduce (reduce-scatter and all-gather) among 4 workers, 6 times"
has "pipeline" "$("$V" "$TMP/v.tape" -t --signal pipeline)" "pattern: pipeline w0 > w1 > w2 > w3, bubble "
code "png of a run" 0 "$V" "$TMP/v.tape" -o "$TMP/v.png" --critical-path
GT_INSTRUCTION_LOG="$TMP/m.tape" "$GTSH" -w 1 scripts/mlp.gt >/dev/null 2>&1
has "one worker" "$("$V" "$TMP/m.tape" -t)" "pattern: none (one worker computes)"
"$V" "$TMP/m.tape" -o "$TMP/m.svg"
[ "$(wc -c <"$TMP/m.svg")" -lt 300000 ] || fail "the picture of 20,000 operations has $(wc -c <"$TMP/m.svg") bytes"

# damaged and hostile tapes
printf '0.06 99 < c1 w0 do' | cat "$t" - >"$TMP/torn.tape"
has "torn" "$("$V" "$TMP/torn.tape" -t)" "the tape's last line is torn"
printf 'gti 1 kind=tape\n0.1 1 ? c1\n' >"$TMP/bad.tape"
code "not an event" 65 "$V" "$TMP/bad.tape" -t; has "not an event" "$(err)" "/bad.tape:2: error: "
code "no tape" 65 "$V" README.md -t; has "no tape" "$(err)" "README.md:1: error: "
code "no file" 66 "$V" "$TMP/none.tape" -t; has "no file" "$(err)" "none.tape"
same "nothing is written then" "$(ls "$TMP"/none* 2>/dev/null)" ""
{ pieces 10 '\\033]0;x\\007<script>\&amp;.gt'; printf '0.05 99 > c1 - note "\\x1b[2J</text><b>" @"a\\x07":1\n0.05 99 ! c1 w0 error exp "<i>" @a.gt:1\n'; } >"$TMP/evil.tape"
code "hostile names" 0 "$V" "$TMP/evil.tape" -o "$TMP/evil.svg" --critical-path
same "no markup of the tape's" "$(grep -c '<script>\|</text><b>\|<i>' "$TMP/evil.svg")" 0
code "hostile names, png" 0 "$V" "$TMP/evil.tape" -o "$TMP/evil.png" --critical-path
same "no control characters" "$("$V" "$TMP/evil.tape" -t --critical-path | tr -d '\n -~' | wc -c)" 0
echo "gti 1 kind=tape" >"$TMP/empty.tape"
for f in png svg pdf; do code "an empty tape" 0 "$V" "$TMP/empty.tape" -o "$TMP/empty.$f"; done
has "an empty tape" "$("$V" "$TMP/empty.tape" -t --critical-path)" "GT timeline: 0 ops, 0 workers"
i=0 # lines lost, repeated and out of order
while [ $i -lt 12 ]; do
    awk -v seed=$i 'BEGIN { srand(seed) } NR == 1 { print; next } rand() < 0.2 { next } rand() < 0.2 { print keep } { keep = $0; print }' "$t" >"$TMP/r.tape"
    "$V" "$TMP/r.tape" -o "$TMP/r.pdf" --critical-path 2>"$TMP/err"; case $? in 0 | 65) ;; *) false ;; esac || fail "damaged tape $i"
    i=$((i + 1))
done

# mistakes
code "no output" 2 "$V" "$t"; has "no output" "$(err)" "or --text"
code "no tape named" 2 "$V"; has "no tape named" "$(err)" "an argument is missing: TAPE"
code "a suffix" 2 "$V" "$t" -o a.jpg; has "a suffix" "$(err)" ".png, .svg, .pdf or .txt"
code "a format" 2 "$V" "$t" -o a -f gif; has "a format" "$(err)" "unknown format 'gif'"
code "a time" 2 "$V" "$t" -t --from x; has "a time" "$(err)" "--from needs a time, not 'x'"
code "to before from" 2 "$V" "$t" -t --from 2 --to 1; has "to before from" "$(err)" "--to 1 is not after --from 2"
code "two tapes" 2 "$V" "$t" "$t" -t; has "two tapes" "$(err)" "--diff OLD NEW"
code "one to compare" 2 "$V" --diff "$t" -t; has "one to compare" "$(err)" "--diff needs two tapes"
code "three" 2 "$V" --diff a b c -t; has "three" "$(err)" "unexpected argument 'c'"
code "narrow" 2 "$V" "$t" -o a.png -w 100; has "narrow" "$(err)" "at least 480"
code "large" 1 "$V" "$t" -o "$TMP/l.png" -w 20000 --dpi 1200; has "large" "$(err)" "too large"
[ -e "$TMP/l.png" ] && fail "a file in spite of an error"
code "a folder" 1 "$V" "$t" -o "$TMP/no/a.png"; has "a folder" "$(err)" "cannot write"
code "an option" 2 "$V" "$t" --critcal-path; has "an option" "$(err)" "did you mean '--critical-path'?"
has version "$("$V" --version)" "gt-visualize "
finish
