# Hints about files that are there: a key given to load in the place of dtype, and imports as Python writes them.
. tests/fixtures/check.sh
GTSH=$(realpath "$GTSH")
cd "$TMP" || exit 1
mkdir -p t/u
echo 'fn f() { return 3 }' >t/mylib.gt; cp t/mylib.gt t/u/deep.gt; cp t/mylib.gt own.gt
code "files" 0 "$GTSH" -c 'm = {w: ones(2), "a b": ones(1)}
for p in ["ck.safetensors", "z.npz", "m.json"] { save(m, p) }
save(ones(2), "x.npy")'
printf "x,y\n1,2\n" >t.csv
# hint EXIT PROGRAM HINT
hint() {
    code "$2" "$1" "$GTSH" -c "$2"; has "$2" "$(err)" "$3"
}
for file in ck.safetensors z.npz; do
    hint 1 "load(\"$file\", \"w\")" "hint: load(path, key=\"w\")"
    has "$file" "$(err)" "'w' is not a dtype"
    hint 1 "load(\"$file\", \"a b\")" "hint: load(path, key=\"a b\")"
    hint 1 "load(\"$file\", \"float32\")" "hint: load(path).to(float32)"
done
hint 1 'load("t.csv", "x")' "hint: load(path).x"
hint 1 'load("t.csv", "x y")' "hint: load(path)[\"x y\"]"
hint 1 'load("t.csv", "flaot32")' "did you mean 'float32'?"
hint 1 'load("m.json", "w")' "hint: load(path).w"
hint 1 'load("x.npy", "w")' "hint: load(path), and .to(dtype)"

hint 1 'load("a.tsv")' 'hint: name it .csv'
hint 1 'load("a.JPG")' 'hint: as a .png'
hint 1 'load("a.pkl")' 'numpy.savez("x.npz", a=a)'
hint 1 'load("a.parquet")' 'pandas.read_parquet'
hint 1 'load("~/a.npy")' 'hint: ~ is the shell'
hint 1 'load("https://a.b/c.npy")' 'hint: files only: shell("curl -fLO https://a.b/c.npy")'
hint 1 'load_file("x.safetensors")' 'hint: load("x.safetensors")'
hint 1 'imread("x.png")' 'hint: load("x.png")'
hint 65 'import safetensors.torch' 'hint: not needed: load("x.safetensors")'
hint 65 'from safetensors.torch import load_file' 'hint: '
hint 65 'from t import mylib' 'hint: import "t/mylib.gt" as mylib'
hint 65 'from t.u import deep' 'hint: import "t/u/deep.gt" as deep'
hint 65 'from t.mylib import f' 'hint: import "t/mylib.gt" as mylib; f = mylib.f'
hint 65 'from . import own' 'hint: import own'
hint 65 'from .own import f' 'hint: import own; f = own.f'
hint 65 'from own import f' 'hint: import own; f = own.f'
hint 65 'from t import other' 'hint: import t; other = t.other'
hint 65 'import t.mylib' 'hint: import "t/mylib.gt" as mylib'
hint 65 'import t.other' 'hint: import "dir/file.gt" as name'
echo 'from u import deep' >t/main.gt
code "beside the program" 65 "$GTSH" t/main.gt; has "beside the program" "$(err)" 'hint: import "u/deep.gt" as deep'
for line in 'import "t/mylib.gt" as mylib; print(mylib.f())' 'import "t/mylib.gt" as mylib; f = mylib.f; print(f())'; do
    code "$line" 0 "$GTSH" -c "$line"; same "$line" "$(out)" 3
done
finish
