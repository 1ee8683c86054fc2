# Programs of scripts/ on the engine cuda, on the emulated device of tests/gpu where NVRTC is installed: they, and sharded ones with
# all workers on one device, print what they print on the engine cpu.
. tests/fixtures/check.sh
. tests/fixtures/nvrtc.sh
need_nvrtc "the programs of scripts/ are not tested on the engine cuda"
# script NAME ARGUMENTS...
script() {
    name=$1; shift
    code "$name, cpu" 0 "$GTSH" --engine cpu "$@"; cp "$TMP/out" "$TMP/cpu"
    code "$name" 0 "$GTSH" --engine cuda --memory 100M "$@"
    same "$name" "$(out)" "$(cat "$TMP/cpu")"
}
charlm="scripts/charlm.gt --data README.md --steps 3 --batch 4 --ctx 16 --width 16 --heads 2 --layers 1 --sample 16"
script hello scripts/hello.gt --n 64
script autograd scripts/autograd.gt
script mlp scripts/mlp.gt --steps 20
script moons scripts/moons.gt --rows 7 --steps 30
script charlm $charlm
script "charlm, two workers" -w 2 --config scripts/charlm.yaml $charlm
for name in data_parallel tensor_parallel auto_shard; do
    script $name -w 2 --config scripts/$name.yaml scripts/$name.gt --steps 3
done
script pipeline -w 4 --config scripts/pipeline.yaml scripts/pipeline.gt --steps 3
finish
