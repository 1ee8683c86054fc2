"""Checkpoints that go from PyTorch to the language and back: interchange.py GTSH DIR. For each model PyTorch writes a
safetensors file of random weights; one program of the language loads them all (strictly), saves what the models compute and the
models again; PyTorch loads those (strictly) and compares every bit of the weights, and the outputs. Exit 77: there is no torch."""
import json
import os
import struct
import subprocess
import sys
try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(77)
try:  # else the bytes are written here
    from safetensors.torch import save_file, save_model
except ImportError:
    save_file = save_model = None

DTYPES = {torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int32: "I32", torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16"}


def write(path, state):
    if save_file:
        save_file({k: t.clone().contiguous() for k, t in state.items()}, path, metadata={"format": "pt"})
        return
    header, data = {}, b""
    for name, t in state.items():
        raw = bytes(t.contiguous().reshape(-1).view(torch.uint8).tolist()) if t.numel() else b""
        header[name] = {"dtype": DTYPES[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    header.pop("__metadata__", None)
    back = {v: k for k, v in DTYPES.items()}
    state = {}
    for name, e in header.items():
        a, b = e["data_offsets"]
        t = torch.frombuffer(bytearray(data[a:b]), dtype=back[e["dtype"]]) if b > a else torch.zeros(0, dtype=back[e["dtype"]])
        state[name] = t.reshape(e["shape"])
    return state


# The model in both languages, its inputs; the language's text where it differs.
MODELS = [
    ("nn.Linear(3, 2)", [(4, 3)]),
    ("nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))", [(4, 3)]),
    ("nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2))", [(2, 1, 8, 8)]),
    ("nn.Sequential(nn.ConvTranspose2d(3, 4, 2, stride=2), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.PReLU(4))", [(2, 3, 4, 4)]),
    ("nn.Sequential(nn.Conv1d(2, 4, 3, groups=2, bias=False), nn.BatchNorm1d(4, affine=False))", [(2, 2, 8)]),
    ("nn.LSTM(3, 4, num_layers=2, bidirectional=True)", [(5, 2, 3)]),
    ("nn.GRU(3, 4, batch_first=True)", [(5, 2, 3)]),
    ("nn.RNN(3, 4, 2, bias=False)", [(5, 2, 3)]),
    ("nn.LSTM(3, 6, proj_size=2)", [(5, 2, 3)]),
    ("nn.MultiheadAttention(4, 2)", [(5, 2, 4)] * 3),
    ("nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True)", [(5, 2, 4), (6, 2, 3), (6, 2, 2)]),
    ("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2, norm=nn.LayerNorm(4))", [(2, 5, 4)]),
    ("nn.Transformer(4, 2, 1, 1, 8)", [(5, 2, 4), (3, 2, 4)]),
    ("nn.Sequential(nn.LayerNorm([2, 3]), nn.RMSNorm(3))", [(2, 2, 3)]),
    ("nn.Sequential(nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.ModuleList([nn.Linear(4, 2)])[0])", [(4, 3)]),
    ("nn.Sequential(nn.Conv3d(1, 2, 2), nn.BatchNorm3d(2), nn.Flatten(), nn.Linear(16, 2))", [(2, 1, 3, 3, 3)]),
    ("nn.TransformerDecoderLayer(4, 2, 8)", [(3, 2, 4), (5, 2, 4)]),
    ("nn.TransformerEncoderLayer(4, 2, 8, norm_first=True)", [(3, 2, 4)]),
    ("nn.Bilinear(2, 3, 4)", [(5, 2), (5, 3)]),
    ("nn.ModuleDict({'a': nn.Linear(2, 2), 'b': nn.ModuleList([nn.Embedding(3, 2, padding_idx=0), nn.LSTMCell(2, 2)])})", None),
    ("nn.ParameterList([torch.ones(2), torch.ones(3, 1)])", None),
    ("nn.Linear(3, 2).double()", None),
    ("nn.Linear(3, 2).bfloat16()", None),
    ("nn.Linear(3, 2).half()", None),
]


def main(gtsh, folder):
    torch.manual_seed(1)
    program, models = [f"folder = {json.dumps(folder)}"], []
    for i, (code, shapes) in enumerate(MODELS):
        m = eval(code).eval()
        for p in m.state_dict().values():
            if p.dtype.is_floating_point:
                p.uniform_(0.1, 1)
        models.append(m)
        write(f"{folder}/torch{i}.safetensors", m.state_dict())
        mine = code.replace("True", "true").replace("False", "false").replace("torch.ones", "ones").replace("'", "")
        program += [f"m = {mine}", f"m.load_state_dict(load(f\"{{folder}}/torch{i}.safetensors\"))", f"save(m, f\"{{folder}}/gt{i}.safetensors\")"]
        if shapes:
            xs = [torch.randn(s) for s in shapes]
            write(f"{folder}/x{i}.safetensors", {f"x{k}": x for k, x in enumerate(xs)})
            program += [f"xs = load(f\"{{folder}}/x{i}.safetensors\").values()", "no_grad { y = m.eval()(*xs) }",
                        f"save({{y: y[0] if type(y) == \"list\" else y}}, f\"{{folder}}/y{i}.safetensors\")"]
            m.inputs = xs
    # Every weight of a model that was wrapped has "module." before its name: the error says what to do.
    wrapped = nn.Sequential(nn.Linear(2, 2))
    write(f"{folder}/wrapped.safetensors", {"module." + k: v for k, v in wrapped.state_dict().items()})
    program += ["state = load(f\"{folder}/wrapped.safetensors\")", "ok, why = attempt(fn() { nn.Sequential(nn.Linear(2, 2)).load_state_dict(state) })",
                "assert not ok and \"module.\" in why.message, why", "nn.Sequential(nn.Linear(2, 2)).load_state_dict({k[7:]: v for k, v in state.items()})"]
    # Elements of every type; a scalar and a tensor without elements; tied weights, of which save_model writes one.
    kinds = {d: torch.tensor([0, 1, 100]).to(getattr(torch, d)) for d in ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]}
    kinds.update(scalar=torch.tensor(1.5), none=torch.zeros(0, 3), edges=torch.tensor([-2**63, 2**63 - 1]), odd=torch.tensor([float("nan"), float("inf"), -0.0]).bfloat16())
    if save_model:
        save_file(kinds, f"{folder}/kinds.safetensors")
        program += ["kinds = load(f\"{folder}/kinds.safetensors\")", "save(kinds, f\"{folder}/kinds_back.safetensors\")",
                    "assert load(f\"{folder}/kinds.safetensors\", key=\"int8\").tolist() == [0, 1, 100]"]
        tied = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
        tied[1].weight = tied[0].weight
        save_model(tied, f"{folder}/tied.safetensors")
        write(f"{folder}/tied_out.safetensors", {"y": tied(torch.tensor([1, 4])).detach()})
        program += ["tied = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=false)); tied[1].weight = tied[0].weight",
                    "tied.load_state_dict(load(f\"{folder}/tied.safetensors\"))",
                    "assert abs(tied(tensor([1, 4])) - load(f\"{folder}/tied_out.safetensors\").y).max() < 1e-5", "save(tied, f\"{folder}/tied_back.safetensors\")"]
    path = f"{folder}/interchange.gt"
    with open(path, "w") as f:
        f.write("\n".join(program) + "\n")
    subprocess.run([gtsh, path], check=True, timeout=60)
    bad = 0
    for i, ((code, shapes), m) in enumerate(zip(MODELS, models)):
        back = read(f"{folder}/gt{i}.safetensors")
        fresh = eval(code).eval()
        fresh.load_state_dict(back)
        for name, p in m.state_dict().items():
            if back[name].dtype != p.dtype or not torch.equal(back[name], p):
                bad += 1
                print(f"{code}: {name} came back different")
        if shapes:
            y = fresh(*m.inputs)
            y = y[0] if isinstance(y, tuple) else y
            gap = (read(f"{folder}/y{i}.safetensors")["y"] - y).abs().max().item()
            if not gap < 1e-4 * (1 + y.abs().max().item()):
                bad += 1
                print(f"{code}: outputs differ by {gap:.1e}")
    if save_model:
        tied.load_state_dict(read(f"{folder}/tied_back.safetensors"))
        back = read(f"{folder}/kinds_back.safetensors")
        for name, t in kinds.items():
            if back[name].dtype != t.dtype or back[name].shape != t.shape or not torch.equal(back[name].nan_to_num(7), t.nan_to_num(7)):
                bad += 1
                print(f"{name}: {t} came back as {back[name]}")
    print(f"{len(MODELS)} models, {bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.path.abspath(sys.argv[2])))
