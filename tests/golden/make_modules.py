"""Writes tests/nn/module_order.gt and module_text.gt: for every layer the names of its parameters, buffers, state and modules in
PyTorch's order, and the settings that PyTorch's repr tells. Needs torch; run by hand when lang/prelude/nn grows:
python tests/golden/make_modules.py. Never needed by make test."""
import os
import re
import warnings
import torch
from torch import nn

warnings.simplefilter("ignore")
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nn")
LAYERS = """
nn.ReLU()
nn.LeakyReLU(0.2)
nn.RReLU(0.1, 0.5)
nn.ELU()
nn.GELU()
nn.GELU(approximate="tanh")
nn.Hardtanh()
nn.Hardtanh(-2.0, 2.0)
nn.Softshrink()
nn.Threshold(0.1, 20.0)
nn.Softmax(1)
nn.LogSoftmax(-1)
nn.GLU()
nn.Softplus()
nn.Softplus(2.0, 10.0)
nn.PReLU()
nn.PReLU(3)
nn.Linear(2, 3)
nn.Linear(2, 3, bias=False)
nn.Bilinear(2, 3, 4)
nn.Bilinear(2, 3, 4, bias=False)
nn.Embedding(5, 3)
nn.Embedding(5, 3, padding_idx=0)
nn.EmbeddingBag(5, 3)
nn.EmbeddingBag(5, 3, mode="sum")
nn.Dropout()
nn.Dropout(0.1)
nn.Dropout2d(0.2)
nn.AlphaDropout(0.1)
nn.Identity()
nn.Flatten()
nn.Flatten(0, 1)
nn.Unflatten(1, [2, 3])
nn.CosineSimilarity()
nn.PairwiseDistance()
nn.PixelShuffle(2)
nn.ChannelShuffle(2)
nn.LPPool2d(2, 3)
nn.PixelUnshuffle(2)
nn.MSELoss()
nn.SmoothL1Loss()
nn.HuberLoss()
nn.CrossEntropyLoss()
nn.LayerNorm(3)
nn.LayerNorm([2, 3])
nn.LayerNorm(3, bias=False)
nn.LayerNorm(3, elementwise_affine=False)
nn.RMSNorm(3)
nn.GroupNorm(2, 4)
nn.GroupNorm(2, 4, affine=False)
nn.BatchNorm1d(3)
nn.BatchNorm2d(3, affine=False)
nn.BatchNorm3d(3, track_running_stats=False)
nn.InstanceNorm1d(3)
nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
nn.LocalResponseNorm(2)
nn.Conv1d(2, 4, 3)
nn.Conv2d(1, 16, 3)
nn.Conv2d(1, 16, 3, bias=False)
nn.Conv2d(4, 8, (3, 5), stride=2, padding=(1, 2), dilation=2, groups=2, padding_mode="circular")
nn.Conv2d(4, 8, 3, padding="same")
nn.Conv3d(1, 2, 3, stride=(1, 2, 1))
nn.ConvTranspose1d(2, 4, 3)
nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1)
nn.ConvTranspose3d(2, 4, 3, bias=False)
nn.MaxPool1d(2)
nn.MaxPool2d(2)
nn.MaxPool2d((2, 3), stride=1, padding=1)
nn.MaxPool3d(3, stride=2)
nn.AvgPool1d(3)
nn.AvgPool2d(2)
nn.AvgPool2d(3, stride=1, padding=1)
nn.AvgPool3d(2)
nn.AdaptiveAvgPool2d(1)
nn.AdaptiveAvgPool2d((2, 3))
nn.AdaptiveMaxPool2d(2)
nn.Upsample(scale_factor=2)
nn.Upsample(size=(4, 4), mode="bilinear")
nn.ConstantPad1d(2, 3.5)
nn.ConstantPad2d((1, 2, 3, 4), 0.5)
nn.ZeroPad2d(1)
nn.ReflectionPad2d(2)
nn.ReplicationPad1d((3, 1))
nn.CircularPad2d(1)
nn.Unfold(3)
nn.Fold(4, 2)
nn.RNN(3, 4)
nn.RNN(3, 4, 2, nonlinearity="relu", bias=False)
nn.LSTM(3, 4)
nn.LSTM(3, 4, num_layers=2, bidirectional=True)
nn.LSTM(3, 6, proj_size=2, batch_first=True)
nn.GRU(3, 4, num_layers=2, dropout=0.1)
nn.RNNCell(3, 4)
nn.RNNCell(3, 4, bias=False, nonlinearity="relu")
nn.LSTMCell(3, 4)
nn.GRUCell(3, 4, bias=False)
nn.MultiheadAttention(4, 2)
nn.MultiheadAttention(4, 2, bias=False)
nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True)
nn.TransformerEncoderLayer(4, 2, 8)
nn.TransformerEncoderLayer(4, 2, 8, activation=nn.PReLU())
nn.TransformerEncoderLayer(4, 2, 8, bias=False)
nn.TransformerDecoderLayer(4, 2, 8)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, norm=nn.LayerNorm(4))
nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2, norm=nn.LayerNorm(4))
nn.Transformer(4, 2, 1, 1, 8)
nn.Transformer(4, 2, 2, 1, 8, bias=False)
nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
nn.ModuleList([nn.Linear(2, 2), nn.LSTM(2, 2)])
nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.BatchNorm1d(2)})
nn.ParameterList([torch.zeros(2), torch.zeros(3)])
nn.ParameterDict({"b": torch.zeros(2), "a": torch.zeros(3)})
""".strip().split("\n")


def ours(text):
    """Python's spelling to the language's."""
    text = re.sub(r"\bTrue\b", "true", re.sub(r"\bFalse\b", "false", re.sub(r"\bNone\b", "none", text)))
    return text.replace("torch.", "").replace("'", '"')


def names(m):
    lists = [[n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], list(m.state_dict()),
             [n for n, _ in m.named_modules()][1:], [n for n, _ in m.named_children()]]
    return " | ".join(" ".join(names) for names in lists)


def settings(m):
    """key=value as the repr of a layer without layers in it tells them."""
    head = repr(m).split("\n")[0]
    inside = head[head.index("(") + 1:].rstrip(")") if head.endswith(")") else ""
    if head.endswith(")"):
        inside = head[head.index("(") + 1:-1]
    found = re.findall(r"(\w+)=(\([^)]*\)|\[[^\]]*\]|[^,]+)", inside)
    return [f"{k}={ours(v)}".replace(",)", "]").replace("(", "[").replace(")", "]").replace("dim=", "axis=", k == "dim")
            for k, v in found]


MADE = "# Made by tests/golden/make_modules.py from PyTorch.\n"
with open(os.path.join(here, "module_order.gt"), "w") as f:
    f.write("# Parameters, buffers, state, modules and children of every layer in PyTorch's order (D9).\n" + MADE)
    f.write("""fn first(pairs) => " ".join([p[0] for p in pairs])
fn show(m) {
    state = " ".join(m.state_dict().keys())
    modules = first(m.named_modules()[1:])
    lists = [first(m.named_parameters()), first(m.named_buffers()), state, modules]
    print(" | ".join(lists + [first(m.named_children())]))
}
""")
    seen = set()
    for layer in LAYERS:
        told = names(eval(layer))
        if (layer.split("(")[0], told) not in seen and told.strip(" |"):
            f.write(f"show({ours(layer)})  # expect: {told.rstrip()}\n")
        seen.add((layer.split("(")[0], told))
with open(os.path.join(here, "module_text.gt"), "w") as f:
    f.write("# print(layer) tells the settings that PyTorch's repr tells: kernel_size, stride and so on.\n" + MADE)
    f.write("""fn missing(m, settings) {
    head = str(m).splitlines()[0]
    return [s for s in settings if s not in head]
}
""")
    for layer in LAYERS:
        told = settings(eval(layer))
        told = [t for t in told if not t.endswith("=none") and not ("Norm" in layer and t.startswith("bias=") and "LayerNorm" not in layer)]
        if told and not re.match(r"nn\.(AvgPool1d|ConstantPad1d|Upsample)", layer):
            f.write(f"print(missing({ours(layer)}, {str(told).replace(chr(39), chr(34)) if not any(chr(34) in t for t in told) else told}))  # expect: []\n")
