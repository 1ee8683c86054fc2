# plot, hist and image: tests/golden/pictures.txt holds what a terminal with UTF-8 and no colours shows, each after its
# call. ASCII, colours, files, order and replay are tested by themselves.
. tests/fixtures/check.sh
unset NO_COLOR COLORTERM CLICOLOR_FORCE
export LC_ALL=C.UTF-8 TERM=xterm

# program FILE: prints each call of a golden file, then carries it out and says what it failed with
program() {
    awk '/^> / { code = substr($0, 3); text = code; gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); gsub(/[{}]/, "&&", text)
                 printf "print(f\"> %s\")\nok, r = attempt(fn() { %s })\n", text, code
                 print "if not ok { print(\"error: \" + str(r).split(\" error: \")[1].splitlines()[0]) }" }' "$1"
}
program tests/golden/pictures.txt >"$TMP/all.gt"
code "all pictures" 0 "$GTSH" "$TMP/all.gt"
cmp -s "$TMP/out" tests/golden/pictures.txt || fail "pictures: $(diff tests/golden/pictures.txt "$TMP/out" | head -40)"

# shown CODE: what it prints
shown() { "$GTSH" -c "$1" 2>&1; }
three='plot({a: [1, 2], b: [2, 1]}, title="t", width=24, height=3)'
want='            t
2 ++++++          *****
  |     ++++++++++
1 +*****          +++++
  ++---------+--------+
  0.0       0.5      1.0
   * a  + b'
same "ASCII for TERM=dumb" "$(TERM=dumb shown "$three")" "$want"
same "ASCII in the C locale" "$(LC_ALL=C shown "$three")" "$want"
same "nothing but ASCII" "$(LC_ALL=C shown 'image(eye(3), width=6); hist([1, 2], width=30, height=3)' | tr -d '\11\12\40-\176')" ""
same "a title without control characters" "$(shown 'plot([1, 2], title="a\x1b[31m\nb", width=24, height=3)' | head -1)" \
    "         a [31m b"

# colours
two='plot([[1, 2], [2, 1]], width=24, height=3)'
esc=$(printf '\033')
has "256 colours" "$("$GTSH" --color=always -c "$two")" "$esc[38;5;31m"
has "the second series" "$("$GTSH" --color=always -c "$two")" "$esc[38;5;208m"
has "true colours" "$(COLORTERM=truecolor "$GTSH" --color=always -c "$two")" "$esc[38;2;31;119;180m"
has "8 colours" "$(TERM=linux "$GTSH" --color=always -c "$two")" "$esc[34m"
same "no colours in a pipe" "$(shown "$two" | tr -d -c '\33')" ""
same "NO_COLOR" "$(NO_COLOR=1 CLICOLOR_FORCE=1 "$GTSH" -c "$two" | tr -d -c '\33')" ""
same "every line ends its colours" "$("$GTSH" --color=always -c "$two" | grep -c "38;5.*[^m]$")" 0
red='image(tensor([[255, 0, 0], [0, 0, 255]]).reshape(2, 1, 3), width=1)'
same "half blocks" "$(COLORTERM=24bit "$GTSH" --color=always -c "$red")" "$esc[48;2;0;0;255m$esc[38;2;255;0;0m▀$esc[0m"
same "half blocks of 256 colours" "$("$GTSH" --color=always -c "$red")" "$esc[48;5;21m$esc[38;5;196m▀$esc[0m"

# files
cat >"$TMP/files.gt" <<'GT'
d = getenv("TMP") + "/pics/"
image(tensor([[255, 0, 0], [0, 0, 255]]).reshape(2, 1, 3), d + "i.png")
image(tensor([[0, 255]], dtype=uint8), d + "wide.png", width=4)
image([[0.0, 1.0]], d + "heat.png")
image([[0.0, nan]], d + "hole.png")
image(rand(5, 3, 8, 8), d + "grid.png")
image(rand(3, 8, 8), path=d + "i.svg")
plot([1, 2, nan, 4, 5], d + "p.svg", title="a < b & \"c\"\x01", xlabel="x", ylabel="y", label="one")
plot([1, 2], [3, 4], d + "s.SVG", kind="scatter")
hist([1, 2, 2], 2, d + "h.svg")
plot([0, 1], [[0, 0], [1, 1]], d + "p.png", width=300, height=200, labels=["a", "b"])
hist([1, 1, 1], 1, d + "h.png", width=200, height=150, range=[0, 2])
x = load(d + "i.png")
assert x.shape == [2, 1, 4] and x.reshape(-1).tolist() == [255, 0, 0, 255, 0, 0, 255, 255], x
x = load(d + "wide.png")
assert x.shape == [2, 4, 4] and x[0, :, 0].tolist() == [0, 0, 255, 255], x
x = load(d + "heat.png")
assert x.reshape(-1).tolist() == [0x44, 1, 0x54, 255, 0xfd, 0xe7, 0x25, 255], x
assert load(d + "hole.png")[0, :, 3].tolist() == [255, 0]
assert load(d + "grid.png").shape == [17, 26, 4]
x = load(d + "p.png").to(int64)
assert x.shape == [200, 300, 4] and x[0, 0].tolist() == [255, 255, 255, 255], x.shape
blue = (x[:, :, 0] - 31).abs() + (x[:, :, 1] - 119).abs() + (x[:, :, 2] - 180).abs() < 60
orange = (x[:, :, 0] - 255).abs() + (x[:, :, 1] - 127).abs() + (x[:, :, 2] - 14).abs() < 60
assert blue.sum().item() > 150 and orange.sum().item() > 150
assert nonzero(blue).float()[:, 0].mean().item() > nonzero(orange).float()[:, 0].mean().item() + 80
x = load(d + "h.png")
assert x[100, 60, :3].tolist() == [31, 119, 180] and x[100, 190, :3].tolist() == [255, 255, 255]
print("files")
GT
TMP="$TMP" code "files" 0 "$GTSH" "$TMP/files.gt"
same "nothing on the screen" "$(out)" "files"
has "escaped" "$(cat "$TMP/pics/p.svg")" ">a &#60; b &#38; &#34;c&#34; </text>"
same "a gap has two lines" "$(grep -c 'stroke="#1f77b4"' "$TMP/pics/p.svg")" 2
same "a legend where no points are" "$("$GTSH" -c "
for ys in [[0, 1, 2, 3], [3, 2, 1, 0]] { plot(ys, '$TMP/pics/l.svg', label='a'); print([l for l in lines('$TMP/pics/l.svg') if '>a<' in l][0].split('\"')[1]) }")" "77.00
676.00"
same "points" "$(grep -c '<circle' "$TMP/pics/s.SVG")" 2
same "bars" "$(grep -c 'rect.*#1f77b4' "$TMP/pics/h.svg")" 2
has "an image in SVG" "$(cat "$TMP/pics/i.svg")" 'href="data:image/png;base64,iVBOR'
sed 's/.*base64,\([^"]*\)".*/\1/; /^[<]/d' "$TMP/pics/i.svg" | base64 -d >"$TMP/inside.png"
code "the PNG inside" 0 "$GTSH" -c "assert load('$TMP/inside.png').shape == [8, 8, 4]"
if command -v python3 >/dev/null; then
    code "well-formed" 0 python3 -c "import sys, xml.dom.minidom as m
for f in sys.argv[1:]: m.parse(f)" "$TMP"/pics/*.svg "$TMP"/pics/*.SVG
else
    skip "python3 is not installed"
fi
"$GTSH" "$TMP/files.gt" >/dev/null && cp "$TMP/pics/p.svg" "$TMP/once.svg" && "$GTSH" "$TMP/files.gt" >/dev/null && cmp "$TMP/once.svg" "$TMP/pics/p.svg" || fail "other bytes"
code "a directory that cannot be made" 1 "$GTSH" -c 'plot([1, 2], "/dev/null/a.svg")'
has "is an error at the call" "$(err)" "-c:1:1: error: "

code "the end of all three is not a name to suggest" 1 "$GTSH" -c '_pictur(1)'
same "no suggestion" "$(err | grep -c _picture)" 0

# order, and instruction files
cat >"$TMP/order.gt" <<'GT'
x = arange(9000)
print("before", x.sum())
plot(x, width=30, height=3)
hist(x, bins=3, width=30, height=3)
image(x[:4].reshape(2, 2), width=4)
plot(x, title=f"sum {x.sum():.0f} of {{{x[:2]}}}", width=30, height=3)
print("after", x[:2])
GT
"$GTSH" "$TMP/order.gt" >"$TMP/live"
same "in order" "$(sed -n '1p;$p' "$TMP/live")" "before tensor(40495500)
after tensor([0, 1])"
"$GTSH" --emit "$TMP/order.gt" >"$TMP/order.gti"
same "replayed" "$("$GTSH" --replay "$TMP/order.gti" 2>/dev/null)" "$(cat "$TMP/live")"
has "a title with tensors" "$(cat "$TMP/live")" "sum 40495500 of {tenso…"
has "does not wait" "$(cat "$TMP/order.gti")" ' title=t'
same "few elements travel" "$(sed -n 's/^plot .*y0=\(t[0-9]*\).*/\1/p' "$TMP/order.gti" | while read -r t; do grep -o "^$t = .*-> i64.*\]\|^$t = .*-> f.*\]" "$TMP/order.gti"; done | grep -o '\[[0-9]*\]$')" "[3600]
[3600]"
cat >"$TMP/hand.gti" <<'GTI'
gti 1
t0 = data f32 [3] 1 2 3
t1 = data f32 [4] 1 2 3 4
GTI
# refused WHAT LINE MESSAGE
refused() {
    { cat "$TMP/hand.gti"; echo "$2"; } >"$TMP/bad.gti"
    code "$1" 1 "$GTSH" --replay "$TMP/bad.gti"
    has "$1" "$(err)" "$3"
}
refused "an unknown option" 'plot y=t0 meta="{\"colour\": 1}"' "plot has no option 'colour'"
refused "an option of another operation" 'image x=t0 meta="{\"xlim\": [0, 1]}"' "image has no option 'xlim'"
refused "options that are no map" 'plot y=t0 meta="[1]"' "the options must be a map"
refused "options that are no JSON" 'plot y=t0 meta="{"' "error"
refused "a name" 'plot z=t0' "no operand is named 'z'"
refused "no y" 'plot x=t0' "series 0 has no y"
refused "a series left out" 'plot y=t0 y2=t0' "series 1 has no y"
refused "sizes" 'plot x=t0 y=t1' "x has 3 elements and y 4"
refused "edges" 'hist x=t0 y=t1' "x has 3 elements and y 4"
refused "a vector as an image" 'image x=t0' "image needs (H, W)"
refused "another file" 'plot path="x.jpg" y=t0' "pictures are written as .png or .svg"
refused "a title without a format" 'plot y=t0 title=t1' "a title needs a format"
refused "a format without values" 'plot y=t0 format="{} {}" title=t1' "error"
refused "a series beyond the last" 'plot y99=t0' "no operand is named 'y99'"
{ cat "$TMP/hand.gti"; echo 'plot y=t0 y1=t0'; } >"$TMP/good.gti"
code "several series by hand" 0 "$GTSH" --replay "$TMP/good.gti"
finish
