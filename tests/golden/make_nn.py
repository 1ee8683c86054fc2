"""Writes tests/nn/layer_*.gt: every layer, loss, optimiser and scheduler over its options, with values and gradients from
PyTorch beside the lines that print. Weights and inputs come from formulas that tests/nn/case.gt has too. Needs torch; run by
hand when lang/prelude/nn or optim grow: python tests/golden/make_nn.py. Never needed by make test."""
import math
import os
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nn")


def series(n, k):
    return torch.sin(torch.arange(n, dtype=torch.float64) * 0.7 + k)


def data(k, *shape):
    return series(math.prod(shape), k).reshape(shape)


def ids(n, k, *shape):
    return ((torch.arange(math.prod(shape)) * 7 + k) % n).reshape(shape)


def fill(m):
    with torch.no_grad():
        state = m.state_dict()
        for i, name in enumerate(sorted(state)):
            p = state[name]
            if p.dtype != torch.int64:
                v = series(p.numel(), 0.3 * i + 1).reshape(p.shape) * 0.5
                p.copy_(v.abs() + 0.5 if name.endswith("running_var") else v)
    return m


def weigh(x):
    x = x.detach().double()
    return (x * torch.cos(torch.arange(x.numel(), dtype=torch.float64) * 0.9 + 0.2).reshape(x.shape)).sum().item()


def flat(y):
    if torch.is_tensor(y):
        return [y]
    return [t for z in y for t in flat(z)] if isinstance(y, (list, tuple)) else []


def run(m, f, xs):
    xs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in xs]
    if m is not None:
        m.zero_grad()
    y = torch.cat([t.reshape(-1) for t in flat(f(*xs))])
    out = y[:12].double().tolist() + [weigh(y)]
    if not y.requires_grad:
        return out
    (y * torch.cos(torch.arange(y.numel(), dtype=torch.float64) * 0.7 + 0.3)).sum().backward()
    if m is not None:
        ps = dict(m.named_parameters())
        out += [0.0 if ps[n].grad is None else weigh(ps[n].grad) for n in sorted(ps)]
    out += [0.0 if x.grad is None else weigh(x.grad) for x in xs if x.requires_grad]
    if m is not None:
        bs = dict(m.named_buffers())
        out += [weigh(bs[n]) for n in sorted(bs)]
    return out


def text(numbers):
    return ", ".join(f"{float(v):.12g}" for v in numbers)


def gt(code):
    """An expression of Python in the language."""
    for a, b in (("True", "true"), ("False", "false"), ("None", "none"), ("torch.tensor(", "tensor(")):
        code = code.replace(a, b)
    return code


class Page:
    def __init__(self, name, head):
        self.name, self.n = name, 0
        self.lines = ["# Values from PyTorch, written by tests/golden/make_nn.py.", "# " + head, "# worlds: reference workers=2",
                                   'import "case.gt" as c']

    def add(self, line):
        self.lines.append(line)

    def module(self, code, *inputs, call="m(*xs)", before="", tolerance="1e-8"):
        """`code` makes the module in both worlds; inputs are expressions over data and ids."""
        m = self.last = fill(eval(code))
        self.n += 1
        self.add(f"m = c.fill({gt(code)})")
        if before:
            self.add(gt(before))
            exec(before, {"m": m, "torch": torch})
        shapes = ", ".join(f"{n} {list(v.shape)}" for n, v in sorted(m.state_dict().items()))
        if shapes:
            self.add(f"print(c.names(m))  # expect: {shapes}")
        else:
            self.add("assert c.names(m) == \"\"")
        xs = [eval(x) for x in inputs]
        mine = ", ".join(gt(x).replace("data(", "c.data(").replace("ids(", "c.ids(") for x in inputs)
        args = ", ".join(f"x{i}" for i in range(len(xs)))
        body = call.replace("*xs", args)
        values = run(m, eval(f"lambda {args}: {body}", {"m": m, "torch": torch, "F": F}), xs)
        self.add(f"print(c.run(m, fn({args}) => {gt(body)}, [{mine}]))  # expect~ {tolerance}: {text(values)}")

    def again(self, x, before=""):
        """The last module once more."""
        self.n += 1
        m = self.last
        if before:
            self.add(gt(before))
            exec(before, {"m": m})
        values = run(m, m, [eval(x)])
        self.add(f"print(c.run(m, fn(x) => m(x), [{x.replace('data(', 'c.data(')}]))  # expect~ 1e-8: {text(values)}")

    def function(self, code, *inputs, tolerance="1e-8", mine=None):
        self.n += 1
        xs = [eval(x) for x in inputs]
        args = ", ".join(f"x{i}" for i in range(len(xs)))
        values = run(None, eval(f"lambda {args}: {code}", {"F": F, "torch": torch, "nn": nn}), xs)
        given = ", ".join(gt(x).replace("data(", "c.data(").replace("ids(", "c.ids(") for x in inputs)
        self.add(f"print(c.run(none, fn({args}) => {mine or gt(code)}, [{given}]))  # expect~ {tolerance}: {text(values)}")

    def write(self):
        with open(os.path.join(here, self.name + ".gt"), "w") as f:
            f.write("\n".join(self.lines) + "\n")
        print(self.name, self.n)


def linear():
    p = Page("layer_linear", "Linear, Bilinear, embeddings and layers that move elements.")
    for x in ("data(1, 4, 3)", "data(2, 3)", "data(3, 2, 2, 3)", "data(4, 0, 3)"):
        p.module("nn.Linear(3, 2)", x)
    p.module("nn.Linear(3, 2, bias=False)", "data(1, 4, 3)")
    p.module("nn.Linear(in_features=1, out_features=5)", "data(1, 4, 1)")
    p.module("nn.Linear(3, 1)", "data(1, 2, 5, 3)")
    p.module("nn.Linear(2, 7, True)", "data(5, 1, 2)")
    for x in ("data(1, 4, 2), data(2, 4, 3)", "data(1, 2), data(2, 3)", "data(1, 2, 5, 2), data(2, 2, 5, 3)"):
        p.module("nn.Bilinear(2, 3, 4)", *x.replace("), ", ")|").split("|"))
        p.module("nn.Bilinear(2, 3, 1, bias=False)", *x.replace("), ", ")|").split("|"))
    p.module("nn.Bilinear(in1_features=1, in2_features=1, out_features=2)", "data(1, 4, 1)", "data(3, 4, 1)")
    p.module("nn.Bilinear(2, 2, 2, bias=True)", "data(1, 1, 2)", "data(3, 1, 2)")
    for code in ("nn.Embedding(5, 3)", "nn.Embedding(5, 3, padding_idx=2)", "nn.Embedding(5, 3, padding_idx=-1)"):
        for x in ("ids(5, 1, 4)", "ids(5, 2, 2, 3)", "ids(5, 4)"):
            p.module(code, x)
    for mode in ("sum", "mean", "max"):
        p.module(f'nn.EmbeddingBag(6, 3, mode="{mode}")', "ids(6, 1, 4, 3)")
        p.module(f'nn.EmbeddingBag(6, 3, mode="{mode}", padding_idx=1)', "ids(6, 1, 4, 3)")
    for mode in ("sum", "mean"):
        p.module(f'nn.EmbeddingBag(6, 3, mode="{mode}")', "ids(6, 1, 8)", "ids(8, 0, 2)")
    p.module('nn.EmbeddingBag(6, 3, mode="sum")', "ids(6, 2, 4, 3)", "data(1, 4, 3)", call="m(x0, per_sample_weights=x1)")
    for code, x in (("nn.Identity(7, 8)", "data(1, 3)"), ("nn.Flatten()", "data(1, 2, 3, 4)"), ("nn.Flatten(0, 1)", "data(1, 2, 3, 4)"),
                    ("nn.Flatten(start_dim=2)", "data(1, 2, 3, 2, 2)"), ("nn.Flatten(1, -2)", "data(1, 2, 3, 2, 2)"),
                    ("nn.Unflatten(1, [2, 3])", "data(1, 2, 6)"), ("nn.Unflatten(dim=-1, unflattened_size=[3, 2])", "data(1, 2, 6)"),
                    ("nn.Unflatten(0, [1, 2])", "data(1, 2, 6)"), ("nn.PixelShuffle(2)", "data(1, 2, 8, 2, 3)"), ("nn.PixelShuffle(3)", "data(1, 9, 1, 2)"),
                    ("nn.PixelShuffle(1)", "data(1, 1, 2, 2, 2)"), ("nn.PixelUnshuffle(2)", "data(1, 2, 1, 4, 6)"), ("nn.PixelUnshuffle(3)", "data(1, 1, 2, 3, 3)"),
                    ("nn.Dropout(0.0)", "data(1, 6)"), ("nn.ChannelShuffle(2)", "data(1, 2, 4, 2, 3)"), ("nn.ChannelShuffle(3)", "data(1, 1, 6, 1)"),
                    ("nn.LPPool1d(2, 3)", "data(1, 2, 2, 7)"), ("nn.LPPool2d(2, [2, 1], stride=2)", "data(1, 2, 2, 5, 4)"), ("nn.LPPool3d(2.0, 2)", "data(1, 2, 1, 2, 3, 4)")):
        p.module(code, x)
    p.module("nn.Dropout(0.7)", "data(1, 6)", before="m.eval()")
    p.module("nn.Dropout2d(0.7)", "data(1, 2, 3, 2, 2)", before="m.eval()")
    p.module("nn.AlphaDropout(0.7)", "data(1, 6)", before="m.eval()")
    p.module("nn.RReLU(0.1, 0.5)", "data(1, 6)", before="m.eval()")
    p.module("nn.RReLU(0.25, 0.25)", "data(1, 6)")
    for code in ("nn.CosineSimilarity()", "nn.CosineSimilarity(dim=0)", "nn.CosineSimilarity(dim=-1, eps=0.9)", "nn.PairwiseDistance()",
                 "nn.PairwiseDistance(p=1)", "nn.PairwiseDistance(3.0, 1e-3)", "nn.PairwiseDistance(keepdim=True)"):
        p.module(code, "data(1, 4, 3)", "data(2, 4, 3)")
        p.module(code, "data(1, 4, 3)", "data(2, 1, 3)")
    p.write()


def activations():
    p = Page("layer_activation", "Activations as modules, at kinks too, and their gradients.")
    codes = """nn.ReLU() nn.ReLU6() nn.LeakyReLU() nn.LeakyReLU(0.2) nn.LeakyReLU(negative_slope=0.3) nn.ELU() nn.ELU(alpha=0.5) nn.CELU() nn.CELU(0.5)
        nn.SELU() nn.GELU() nn.GELU(approximate="tanh") nn.SiLU() nn.Mish() nn.Tanh() nn.Sigmoid() nn.LogSigmoid() nn.Softsign() nn.Tanhshrink()
        nn.Hardtanh() nn.Hardtanh(-2.0,0.5) nn.Hardtanh(min_val=0.0,max_val=3.0) nn.Hardswish() nn.Hardsigmoid() nn.Hardshrink() nn.Hardshrink(1.0)
        nn.Softshrink() nn.Softshrink(lambd=1.0) nn.Threshold(0.5,-1.0) nn.Threshold(-1.0,3.0) nn.Softplus() nn.Softplus(beta=2.0)
        nn.Softplus(1.0,5.0) nn.Softplus(0.5,threshold=2.0) nn.PReLU()""".split()
    for code in codes:
        # PyTorch's gradient of hardsigmoid multiplies by a sixth in float32
        p.module(code, "data(1, 3, 4) * 3", tolerance="1e-7" if code == "nn.Hardsigmoid()" else "1e-8")
        kinks = "torch.tensor([-4.0, -3.0, -1.0, -0.5, 0.5, 1.0, 3.0, 6.0, 7.0, 25.0, -25.0])"
        m = eval(code)
        p.add(f"m = c.fill({gt(code)})")
        fill(m)
        x = eval(kinks)
        values = run(m, m, [x])
        p.add(f"print(c.run(m, fn(x) => m(x), [{kinks[6:-1]}, dtype=float64)]))  # expect~ 1e-8: {text(values)}")
    for dim in ("-1", "0", "1"):
        for name in ("Softmax", "LogSoftmax", "Softmin", "GLU"):
            p.module(f"nn.{name}(dim={dim})", "data(1, 4, 6) * 2")
    p.module("nn.Softmax2d()", "data(1, 2, 3, 2, 2)")
    p.module("nn.Softmax2d()", "data(1, 3, 2, 2)")
    p.module("nn.PReLU(3)", "data(1, 2, 3, 4)")
    p.module("nn.PReLU(num_parameters=3, init=0.1)", "data(1, 4, 3)")
    p.module("nn.GLU()", "data(1, 4)")
    p.write()


def norms():
    p = Page("layer_norm", "Layer, batch, group and instance norms: training, eval, running statistics.")
    for code in ("nn.LayerNorm(4)", "nn.LayerNorm([3, 4])", "nn.LayerNorm(4, eps=0.1)", "nn.LayerNorm(4, elementwise_affine=False)",
                 "nn.LayerNorm(4, bias=False)", "nn.LayerNorm(normalized_shape=[2, 3, 4])", "nn.LayerNorm([4], 1e-3, True)", "nn.LayerNorm((3, 4), bias=False)"):
        p.module(code, "data(1, 2, 3, 4)")
    for code in ("nn.RMSNorm(4)", "nn.RMSNorm([3, 4])", "nn.RMSNorm(4, eps=0.1)", "nn.RMSNorm(4, elementwise_affine=False)", "nn.RMSNorm(normalized_shape=[4])",
                 "nn.RMSNorm((2, 3, 4), 1e-5)", "nn.RMSNorm(4, 1e-8, True)", "nn.RMSNorm([3, 4], elementwise_affine=False)"):
        p.module(code, "data(1, 2, 3, 4)")
    for code, x in (("nn.GroupNorm(2, 4)", "data(1, 2, 4, 3)"), ("nn.GroupNorm(1, 4)", "data(1, 2, 4, 3, 2)"), ("nn.GroupNorm(4, 4)", "data(1, 2, 4, 3, 2)"),
                    ("nn.GroupNorm(2, 4, eps=0.1)", "data(1, 2, 4, 2)"), ("nn.GroupNorm(2, 4, affine=False)", "data(1, 2, 4, 2)"),
                    ("nn.GroupNorm(num_groups=3, num_channels=6)", "data(1, 2, 6, 2, 2)"), ("nn.GroupNorm(2, 4, 1e-3, True)", "data(1, 1, 4, 2)"),
                    ("nn.GroupNorm(3, 6)", "data(2, 3, 6, 1, 5)")):
        p.module(code, x)
    variants = ("", ", eps=0.1", ", momentum=0.5", ", momentum=None", ", affine=False", ", track_running_stats=False", ", 1e-3, 0.2", ", affine=False, momentum=0.9")
    for name, shapes in (("1d", ("5, 3", "2, 3, 4")), ("2d", ("2, 3, 2, 4", "3, 3, 1, 2"))):
        for v in variants:
            for k, shape in enumerate(shapes):
                p.module(f"nn.BatchNorm{name}(3{v})", f"data({k + 1}, {shape})")
                x = f"data({k + 3}, {shape})"
                p.again(x)                       # the running statistics move on
                p.again(x, "m.eval()")
    p.module("nn.BatchNorm3d(2)", "data(1, 2, 2, 2, 1, 3)")
    for name, shapes in (("1d", ("2, 3, 4", "3, 5")), ("2d", ("2, 3, 2, 4", "3, 2, 3"))):
        for v in ("", ", eps=0.1", ", affine=True", ", affine=True, track_running_stats=True", ", track_running_stats=True, momentum=0.4"):
            for k, shape in enumerate(shapes):
                p.module(f"nn.InstanceNorm{name}(3{v})", f"data({k + 1}, {shape})")
                p.again(f"data({k + 3}, {shape})", "m.eval()")
    p.write()



def recurrent():
    p = Page("layer_rnn", "RNN, LSTM, GRU and cells: layers, directions, batch_first, without bias or batch, given states.")
    options = ("", ", num_layers=2", ", bidirectional=True", ", batch_first=True", ", bias=False", ", num_layers=2, bidirectional=True, batch_first=True",
               ", num_layers=3, bias=False, bidirectional=True", ", 2, dropout=0.0")
    for name in ("RNN", "LSTM", "GRU"):
        for o in options:
            if name == "RNN" and o.startswith(", 2"):
                o = ", 2, 'relu'"
            p.module(f"nn.{name}(3, 2{o})", "data(1, 4, 5, 3)")
        p.module(f"nn.{name}(2, 3)", "data(1, 4, 2)")                                     # no batch
        p.module(f"nn.{name}(2, 3, num_layers=2)", "data(1, 1, 2, 2)")                    # one time step
        p.module(f"nn.{name}(1, 1)", "data(1, 6, 1, 1)")
    for name in ("RNN", "GRU"):
        p.module(f"nn.{name}(3, 2)", "data(1, 4, 5, 3)", "data(2, 1, 5, 2)")
        p.module(f"nn.{name}(3, 2, num_layers=2, bidirectional=True, batch_first=True)", "data(1, 4, 5, 3)", "data(2, 4, 4, 2)")
        p.module(f"nn.{name}(3, 2)", "data(1, 4, 3)", "data(2, 1, 2)")
    p.module("nn.RNN(3, 2, nonlinearity='relu', bidirectional=True)", "data(1, 4, 5, 3)")
    state = "m(x0, [x1, x2])"
    p.module("nn.LSTM(3, 2)", "data(1, 4, 5, 3)", "data(2, 1, 5, 2)", "data(3, 1, 5, 2)", call=state)
    p.module("nn.LSTM(3, 2, num_layers=2, bidirectional=True)", "data(1, 4, 5, 3)", "data(2, 4, 5, 2)", "data(3, 4, 5, 2)", call=state)
    p.module("nn.LSTM(3, 2)", "data(1, 4, 3)", "data(2, 1, 2)", "data(3, 1, 2)", call=state)
    p.module("nn.LSTM(3, 4, proj_size=2)", "data(1, 4, 5, 3)")
    p.module("nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True, proj_size=3)", "data(1, 4, 5, 3)")
    p.module("nn.LSTM(3, 4, proj_size=2)", "data(1, 4, 5, 3)", "data(2, 1, 5, 2)", "data(3, 1, 5, 4)", call=state)
    p.module("nn.LSTM(3, 4, num_layers=2, dropout=0.5)", "data(1, 4, 5, 3)", before="m.eval()")
    for o in ("", ", bias=False", ", True"):
        for name in ("RNNCell", "LSTMCell", "GRUCell"):
            p.module(f"nn.{name}(3, 2{o})", "data(1, 5, 3)")
            p.module(f"nn.{name}(3, 2{o})", "data(1, 3)")
            more = ("data(2, 5, 2)", "data(3, 5, 2)") if name == "LSTMCell" else ("data(2, 5, 2)",)
            p.module(f"nn.{name}(3, 2{o})", "data(1, 5, 3)", *more, call=state if name == "LSTMCell" else "m(*xs)")
    p.module("nn.RNNCell(3, 2, nonlinearity='relu')", "data(1, 5, 3)", "data(2, 5, 2)")
    p.module("nn.RNNCell(3, 2, True, 'relu')", "data(1, 3)", "data(2, 2)")
    p.write()


def attentions():
    p = Page("layer_attention", "MultiheadAttention and transformer layers: masks, other widths, norm_first, batch_first.")
    x, y, z = "data(1, 3, 2, 4)", "data(2, 5, 2, 4)", "data(3, 5, 2, 4)"
    own = "m(x0, x0, x0)"
    p.module("nn.MultiheadAttention(4, 2)", x, call=own)
    p.module("nn.MultiheadAttention(4, 1)", x, y, z)
    p.module("nn.MultiheadAttention(4, 4, bias=False)", x, y, z)
    p.module("nn.MultiheadAttention(4, 2, batch_first=True)", "data(1, 2, 3, 4)", call=own)
    p.module("nn.MultiheadAttention(4, 2, batch_first=True)", "data(1, 2, 3, 4)", "data(2, 2, 5, 4)", "data(3, 2, 5, 4)")
    p.module("nn.MultiheadAttention(4, 2)", "data(1, 3, 4)", call=own)
    p.module("nn.MultiheadAttention(4, 2)", "data(1, 3, 4)", "data(2, 5, 4)", "data(3, 5, 4)")
    p.module("nn.MultiheadAttention(4, 2, kdim=3, vdim=5)", x, "data(2, 5, 2, 3)", "data(3, 5, 2, 5)")
    p.module("nn.MultiheadAttention(4, 2, kdim=3)", x, "data(2, 5, 2, 3)", z)
    p.module("nn.MultiheadAttention(4, 2, add_bias_kv=True)", x, y, z)
    p.module("nn.MultiheadAttention(4, 2, add_zero_attn=True)", x, y, z)
    p.module("nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)", "data(1, 2, 3, 4)", call=own)
    p.module("nn.MultiheadAttention(4, 2)", x, y, z, call="m(*xs, need_weights=False)[0]")
    p.module("nn.MultiheadAttention(4, 2)", x, y, z, call="m(*xs, average_attn_weights=False)")
    pad, seen = "ids(3, 1, 2, 5) == 0", "ids(4, 1, 3, 5) == 2"
    p.module("nn.MultiheadAttention(4, 2)", x, y, z, pad, call="m(x0, x1, x2, key_padding_mask=x3)")
    p.module("nn.MultiheadAttention(4, 2)", x, y, z, seen, call="m(x0, x1, x2, attn_mask=x3)")
    p.module("nn.MultiheadAttention(4, 2)", x, y, z, "data(4, 3, 5)", call="m(x0, x1, x2, attn_mask=x3)")
    p.module("nn.MultiheadAttention(4, 2)", x, y, z, "ids(5, 1, 4, 3, 5) == 2", call="m(x0, x1, x2, attn_mask=x3)")
    p.module("nn.MultiheadAttention(4, 2)", x, y, z, pad, seen, call="m(x0, x1, x2, key_padding_mask=x3, attn_mask=x4)")
    p.module("nn.MultiheadAttention(4, 2, add_zero_attn=True)", x, y, z, pad, seen, call="m(x0, x1, x2, key_padding_mask=x3, attn_mask=x4)")
    p.module("nn.MultiheadAttention(4, 2, dropout=0.5)", x, call=own, before="m.eval()")
    p.module("nn.MultiheadAttention(4, 2)", x, "ids(3, 0, 3, 3) > 3", call="m(x0, x0, x0, attn_mask=torch.triu(torch.ones(3, 3), 1) > 0)".replace(
        "torch.triu(torch.ones(3, 3), 1) > 0", "x1"))
    for o in ("", ", norm_first=True", ", batch_first=True", ", activation='gelu'", ", bias=False", ", layer_norm_eps=0.1, norm_first=True",
              ", 0.0, 'gelu', 1e-3, True, True"):
        drop = "" if o.startswith(", 0.0") else ", dropout=0.0"
        p.module(f"nn.TransformerEncoderLayer(4, 2, 6{drop}{o})", "data(1, 3, 2, 4)")
        p.module(f"nn.TransformerDecoderLayer(4, 2, 6{drop}{o})", "data(1, 3, 2, 4)", "data(2, 3, 2, 4)" if "True" in o and "batch" in o or "True, True" in o else "data(2, 5, 2, 4)")
    p.module("nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0)", "data(1, 3, 4)")
    causal = "ids(9, 0, 3, 3) % 2 == 1"
    p.module("nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0)", "data(1, 3, 2, 4)", causal, "ids(3, 1, 2, 3) == 0", call="m(x0, x1, x2)")
    p.module("nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, norm_first=True)", "data(1, 3, 2, 4)", causal, call="m(x0, src_mask=x1)")
    p.module("nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0)", "data(1, 3, 2, 4)", "data(2, 5, 2, 4)", causal, "ids(4, 1, 3, 5) == 2", "ids(4, 1, 2, 3) == 0",
             "ids(4, 1, 2, 5) == 0", call="m(x0, x1, x2, x3, x4, x5)")
    p.module("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0), 2)", "data(1, 3, 2, 4)")
    p.module("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True), num_layers=3, norm=nn.LayerNorm(4))", "data(1, 2, 3, 4)")
    p.module("nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0), 2, nn.LayerNorm(4))", "data(1, 3, 2, 4)", "data(2, 5, 2, 4)")
    p.module("nn.Transformer(4, 2, 1, 2, 6, dropout=0.0)", "data(1, 5, 2, 4)", "data(2, 3, 2, 4)")
    p.module("nn.Transformer(d_model=4, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=5, dropout=0.0, batch_first=True, norm_first=True)",
             "data(1, 2, 5, 4)", "data(2, 2, 3, 4)")
    p.module("nn.Transformer(4, 2, 1, 1, 6, dropout=0.5)", "data(1, 5, 2, 4)", "data(2, 3, 2, 4)", before="m.eval()")
    q, k, v = "data(1, 2, 3, 4)", "data(2, 2, 5, 4)", "data(3, 2, 5, 4)"
    f = "F.scaled_dot_product_attention"
    p.function(f"{f}(x0, x1, x2)", q, k, v)
    p.function(f"{f}(x0, x1, x2, attn_mask=x3)", q, k, v, "ids(4, 1, 3, 5) != 2")
    p.function(f"{f}(x0, x1, x2, attn_mask=x3)", q, k, v, "data(4, 3, 5)")
    p.function(f"{f}(x0, x1, x2, x3, 0.0, False, scale=0.5)", q, k, v, "data(4, 2, 1, 5)")
    p.function(f"{f}(x0, x1, x2, is_causal=True)", q, k, v)
    p.function(f"{f}(x0, x1, x2, attn_mask=x3)", "data(1, 2, 3, 3, 4)", "data(2, 2, 3, 5, 4)", "data(3, 2, 3, 5, 4)", "ids(4, 1, 2, 1, 1, 5) != 2")
    p.function(f"{f}(x0, x1, x2, is_causal=True, scale=2.0)", "data(1, 5, 4)", "data(2, 5, 4)", "data(3, 5, 1)")
    p.function(f"{f}(x0, x1, x2, dropout_p=0.0)", "data(1, 1, 4)", "data(2, 5, 4)", "data(3, 5, 2)")
    p.write()


def losses():
    p = Page("layer_loss", "Losses as modules and functions: weights, margins, reductions.")
    reductions = ("mean", "sum", "none")
    a, b = "data(1, 4, 3)", "data(2, 4, 3)"

    def both(make, *inputs, options=("",), call="m(*xs)"):
        for o in options:
            for r in reductions:
                sep = "" if not o else ", "
                p.module(f"nn.{make}({o}{sep}reduction='{r}')", *inputs, call=call)
        p.module(f"nn.{make}({options[-1]})", *inputs, call=call)
    both("MSELoss", a, b)
    both("MSELoss", "data(1, 5)", "data(2, 5)")
    both("L1Loss", a, b)
    both("L1Loss", "data(1, 5)", "data(2, 5)")
    both("SmoothL1Loss", a, b, options=("", "beta=0.3", "beta=0.0"))
    both("HuberLoss", a, b, options=("", "delta=0.3", "delta=2.0"))
    prob, target = "data(1, 4, 3) * 0.4 + 0.5", "data(2, 4, 3) * 0.5 + 0.5"
    both("BCELoss", prob, target)
    both("BCEWithLogitsLoss", a, target)
    for r in reductions:
        for t, w in (("pos_weight", "data(3, 3) + 1.5"), ("weight", "data(3, 3) + 1.5"), ("weight", "data(3, 4, 3) + 1.5")):
            p.function(f"nn.BCEWithLogitsLoss({t}=x2.detach(), reduction='{r}')(x0, x1)", a, target, w)
        p.function(f"nn.BCELoss(weight=x2.detach(), reduction='{r}')(x0, x1)", prob, target, "data(3, 4, 3) + 1.5")
    y = "ids(3, 1, 4)"
    both("CrossEntropyLoss", a, y, options=("", "ignore_index=1", "label_smoothing=0.2", "ignore_index=2, label_smoothing=0.1"))
    both("CrossEntropyLoss", "data(1, 2, 3, 2, 2)", "ids(3, 2, 2, 2, 2)", options=("", "label_smoothing=0.2"))
    both("CrossEntropyLoss", a, "F.softmax(data(2, 4, 3), 1)", options=("", "label_smoothing=0.2"))
    both("NLLLoss", a, y, options=("", "ignore_index=1"))
    both("NLLLoss", "data(1, 2, 3, 5)", "ids(3, 2, 2, 5)", options=("", "ignore_index=0"))
    for r in reductions:
        for o in ("", ", ignore_index=1"):
            p.function(f"nn.CrossEntropyLoss(weight=x2.detach(){o}, reduction='{r}')(x0, x1)", a, y, "data(3, 3) + 1.5")
            p.function(f"nn.NLLLoss(weight=x2.detach(){o}, reduction='{r}')(x0, x1)", a, y, "data(3, 3) + 1.5")
    p.function("nn.CrossEntropyLoss()(x0, x1)", "data(1, 5)", "torch.tensor(3)")
    both("KLDivLoss", "F.log_softmax(data(1, 4, 3), 1)", "F.softmax(data(2, 4, 3), 1)")
    both("KLDivLoss", "F.log_softmax(data(1, 4, 3), 1)", "F.log_softmax(data(2, 4, 3), 1)", options=("log_target=True",))
    p.module("nn.KLDivLoss(reduction='batchmean')", "F.log_softmax(data(1, 4, 3), 1)", "F.softmax(data(2, 4, 3), 1)")
    counts = "ids(5, 2, 4, 3).double()"
    # (the gradient by the counts is nan in PyTorch where they are 0 or 1)
    both("PoissonNLLLoss", a, counts, options=("", "full=True"), call="m(x0, x1.detach())")
    both("PoissonNLLLoss", "data(1, 4, 3) + 1.5", counts, options=("log_input=False", "log_input=False, full=True, eps=1e-3"),
         call="m(x0, x1.detach())")
    both("GaussianNLLLoss", a, b, "data(3, 4, 3) + 1.5", options=("", "full=True", "eps=1.0"))
    both("GaussianNLLLoss", a, b, "data(3, 4, 1) + 1.5")
    both("GaussianNLLLoss", a, b, "data(3, 4) + 1.5")
    sign = "(ids(2, 1, 4, 3) * 2 - 1).double()"
    both("HingeEmbeddingLoss", a, sign, options=("", "margin=0.4", "margin=2.0"))
    both("MarginRankingLoss", a, b, sign, options=("", "margin=0.4"))
    both("SoftMarginLoss", a, sign, call="m(x0, x1.detach())")
    both("SoftMarginLoss", "data(1, 5)", "(ids(2, 1, 5) * 2 - 1).double()", call="m(x0, x1.detach())")
    both("CosineEmbeddingLoss", a, b, "ids(2, 1, 4) * 2 - 1", options=("", "margin=0.4", "margin=-0.5"))
    p.module("nn.CosineEmbeddingLoss()", "data(1, 3)", "data(2, 3)", "torch.tensor(1)")
    both("TripletMarginLoss", a, b, "data(3, 4, 3)", options=("", "margin=0.4, p=1.0", "swap=True", "margin=2.0, p=3.0, eps=1e-3", "swap=True, p=1"))
    p.module("nn.TripletMarginLoss()", "data(1, 3)", "data(2, 3)", "data(3, 3)")
    both("TripletMarginWithDistanceLoss", a, b, "data(3, 4, 3)", options=("", "swap=True", "margin=0.3"))
    both("MultiMarginLoss", a, y, options=("", "p=2", "margin=0.5"))
    p.module("nn.MultiMarginLoss()", "data(1, 5)", "torch.tensor(3)")
    for r in reductions:
        p.function(f"nn.MultiMarginLoss(weight=x2.detach(), reduction='{r}')(x0, x1)", a, y, "data(3, 3) + 1.5")
        p.function(f"nn.MultiLabelSoftMarginLoss(weight=x2.detach(), reduction='{r}')(x0, x1)", a, "ids(2, 1, 4, 3).double()", "data(3, 3) + 1.5")
    both("MultiLabelSoftMarginLoss", a, "ids(2, 1, 4, 3).double()")
    p.write()



def convolutions():
    p = Page("layer_conv", "Convolutions, pooling, resizing and padding as modules.")
    for o in ("", ", stride=2", ", padding=1", ", dilation=2", ", bias=False", ", padding='same'", ", padding='valid'", ", padding=2, padding_mode='reflect'",
              ", padding=1, padding_mode='circular'", ", padding=1, padding_mode='replicate'", ", padding='same', padding_mode='reflect'", ", 2, 1, 2"):
        p.module(f"nn.Conv1d(2, 3, 3{o})", "data(1, 2, 2, 7)")
        p.module(f"nn.Conv2d(2, 3, 3{o})", "data(1, 2, 2, 7, 6)")
    p.module("nn.Conv1d(4, 6, 2, groups=2)", "data(1, 2, 4, 5)")
    p.module("nn.Conv1d(2, 3, 2)", "data(1, 2, 5)")
    p.module("nn.Conv2d(4, 6, [1, 2], groups=2)", "data(1, 2, 4, 3, 5)")
    p.module("nn.Conv2d(3, 3, 2, groups=3)", "data(1, 1, 3, 3, 5)")
    p.module("nn.Conv2d(1, 2, [3, 2], stride=[2, 1], padding=[1, 0], dilation=[1, 2])", "data(1, 2, 1, 6, 5)")
    p.module("nn.Conv2d(in_channels=2, out_channels=1, kernel_size=1)", "data(1, 2, 3, 4)")
    for o in ("", ", stride=2", ", stride=2, padding=1", ", stride=2, output_padding=1", ", dilation=2", ", bias=False", ", 3, 1, 2, 1, True, 1"):
        p.module(f"nn.ConvTranspose1d(2, 3, 3{o})", "data(1, 2, 2, 4)")
        p.module(f"nn.ConvTranspose2d(2, 3, 3{o})", "data(1, 2, 2, 4, 3)")
    p.module("nn.ConvTranspose1d(4, 2, 2, groups=2)", "data(1, 2, 4, 4)")
    p.module("nn.ConvTranspose2d(4, 6, [1, 2], groups=2, stride=[2, 1])", "data(1, 2, 4, 3, 4)")
    p.module("nn.ConvTranspose2d(2, 1, 2, stride=2)", "data(1, 2, 3, 4)")
    p.module("nn.ConvTranspose2d(2, 1, 3, stride=2, padding=1)", "data(1, 2, 2, 3, 4)", call="m(x0, output_size=[6, 8])")
    p.module("nn.ConvTranspose1d(2, 1, 3, stride=3)", "data(1, 2, 2, 3)", call="m(x0, output_size=[11])")
    x1, x2 = "data(1, 2, 3, 7)", "data(1, 2, 3, 7, 6)"
    for o in ("2", "3, stride=2", "3, padding=1", "2, dilation=2", "kernel_size=2, ceil_mode=True", "3, 2, 1, 1", "3, 2, ceil_mode=True"):
        p.module(f"nn.MaxPool1d({o})", x1)
        p.module(f"nn.MaxPool2d({o})", x2)
    for o in ("2", "3, stride=2", "3, padding=1", "kernel_size=2, ceil_mode=True", "3, padding=1, count_include_pad=False", "3, 2, 1", "3, 2, 1, True, False"):
        p.module(f"nn.AvgPool1d({o})", x1)
        p.module(f"nn.AvgPool2d({o})", x2)
    p.module("nn.AvgPool2d(2, divisor_override=3)", x2)
    p.module("nn.MaxPool2d([3, 2], stride=[1, 2])", x2)
    for n in ("1", "2", "4", "7"):
        for kind in ("Avg", "Max"):
            p.module(f"nn.Adaptive{kind}Pool1d({n})", x1)
            p.module(f"nn.Adaptive{kind}Pool2d({n})", x2)
    p.module("nn.AdaptiveAvgPool2d([3, None])", x2)
    p.module("nn.AdaptiveAvgPool2d([2, 5])", x2)
    for o in ("scale_factor=2", "scale_factor=2, mode='bilinear'", "scale_factor=2.0, mode='bilinear', align_corners=True", "size=[5, 8]", "size=[3, 9], mode='bilinear'",
              "scale_factor=(1.0, 3.0), mode='bicubic'", "size=4", "scale_factor=0.5"):
        p.module(f"nn.Upsample({o})", x2)
    p.module("nn.Upsample(scale_factor=2, mode='linear')", x1)
    for name in ("ReflectionPad", "ReplicationPad", "CircularPad", "ZeroPad"):
        p.module(f"nn.{name}1d(2)", x1)
        p.module(f"nn.{name}1d([1, 3])", x1)
        p.module(f"nn.{name}2d(1)", x2)
        p.module(f"nn.{name}2d([1, 3, 0, 2])", x2)
    p.module("nn.ConstantPad1d(2, 3.5)", x1)
    p.module("nn.ConstantPad2d([1, 2, 3, 0], -1.0)", x2)
    x3 = "data(1, 1, 2, 4, 5, 4)"
    for code in ("Conv3d(2, 3, 2)", "Conv3d(2, 2, 2, stride=2, padding=1)", "Conv3d(2, 4, [1, 2, 3], groups=2)", "ConvTranspose3d(2, 3, 2)",
                 "ConvTranspose3d(2, 2, 2, stride=2, output_padding=1, bias=False)", "MaxPool3d(2)", "AvgPool3d(2, divisor_override=3)",
                 "AdaptiveAvgPool3d(2)", "AdaptiveMaxPool3d(2)", "InstanceNorm3d(2)", "InstanceNorm3d(2, affine=True)"):
        p.module(f"nn.{code}", x3)
    p.module("nn.Unfold(2, stride=2)", x2)
    p.module("nn.Unfold([3, 2], padding=1)", x2)
    p.module("nn.Fold([4, 5], 2)", "data(1, 2, 8, 12)")
    p.module("nn.LocalResponseNorm(3, 0.1)", x2)
    for name in ("MaxPool1d", "MaxPool2d"):
        p.module(f"nn.{name}(2, return_indices=True)", x1 if "1d" in name else x2)
    p.write()



OPTIMISERS = {
    "SGD": ("lr=0.05", "lr=0.05, momentum=0.9", "lr=0.05, momentum=0.9, nesterov=True", "lr=0.05, weight_decay=0.1", "lr=0.05, momentum=0.8, dampening=0.3, weight_decay=0.1",
            "lr=0.05, maximize=True", "lr=0.05, momentum=0.5, maximize=True, weight_decay=0.2", "0.05, 0.9, 0.1, 0.01", "lr=0.001"),
    "Adam": ("lr=0.1", "lr=0.1, betas=(0.8, 0.95), eps=1e-3", "lr=0.1, weight_decay=0.2", "lr=0.1, amsgrad=True", "lr=0.1, amsgrad=True, betas=(0.5, 0.6), weight_decay=0.1",
             "lr=0.1, maximize=True", "0.1, (0.7, 0.9), 1e-2, 0.3", ""),
    "AdamW": ("lr=0.1", "lr=0.1, betas=(0.8, 0.95), eps=1e-3", "lr=0.1, weight_decay=0.2", "lr=0.1, amsgrad=True", "lr=0.1, amsgrad=True, betas=(0.5, 0.6), weight_decay=0.1",
              "lr=0.1, maximize=True", "0.1, (0.7, 0.9), 1e-2, 0.3", ""),
    "RMSprop": ("lr=0.05", "lr=0.05, alpha=0.7", "lr=0.05, eps=0.1", "lr=0.05, momentum=0.6", "lr=0.05, centered=True", "lr=0.05, centered=True, momentum=0.5, weight_decay=0.1",
                "lr=0.05, maximize=True", "0.05, 0.9, 1e-3, 0.1, 0.5, True", ""),
    "Adagrad": ("lr=0.3", "lr=0.3, lr_decay=0.1", "lr=0.3, weight_decay=0.1", "lr=0.3, initial_accumulator_value=0.5", "lr=0.3, eps=0.1", "lr=0.3, maximize=True",
                "0.3, 0.05, 0.1, 0.2, 1e-3", ""),
    "Adadelta": ("", "lr=0.5", "rho=0.5", "eps=1e-2", "weight_decay=0.2", "maximize=True", "2.0, 0.8, 1e-3, 0.1", "lr=0.1, rho=0.99"),
    "Adamax": ("", "lr=0.1", "lr=0.1, betas=(0.5, 0.8)", "lr=0.1, eps=0.1", "lr=0.1, weight_decay=0.2", "lr=0.1, maximize=True", "0.2, (0.7, 0.9), 1e-3, 0.1", "lr=0.01"),
    "NAdam": ("", "lr=0.1", "lr=0.1, betas=(0.5, 0.8)", "lr=0.1, eps=0.1", "lr=0.1, weight_decay=0.2", "lr=0.1, momentum_decay=0.1",
              "lr=0.1, weight_decay=0.2, decoupled_weight_decay=True", "lr=0.1, maximize=True"),
    "RAdam": ("", "lr=0.1", "lr=0.1, betas=(0.5, 0.8)", "lr=0.1, eps=0.1", "lr=0.1, weight_decay=0.2", "lr=0.1, betas=(0.9, 0.99)",
              "lr=0.1, weight_decay=0.2, decoupled_weight_decay=True", "lr=0.1, maximize=True"),
    "Rprop": ("", "lr=0.1", "lr=0.1, etas=(0.3, 1.5)", "step_sizes=(1e-3, 0.05)", "lr=1.0", "lr=0.1, maximize=True", "lr=0.5, etas=(0.1, 2.0)", "lr=0.2, step_sizes=(0.1, 0.3)"),
}


def optimisers():
    p = Page("layer_optim", "Optimisers over their options, eight steps on a small problem; groups of parameters; state saved and loaded.")
    start_a, start_b, aim = data(1, 2, 3), data(2, 3), data(3, 2, 3)

    def torch_run(make, steps=8):
        a, b = start_a.clone().requires_grad_(), start_b.clone().requires_grad_()
        opt = make(a, b)
        for _ in range(steps):
            opt.zero_grad()
            ((a * b - aim) ** 2).sum().backward()
            opt.step()
        return torch.cat([a.reshape(-1), b]).detach().tolist()
    p.lines += ["fn go(a, b, opt, steps) {", "    for i in range(steps) {", "        opt.zero_grad()", "        backward ((a * b - c.data(3, 2, 3)) ** 2).sum()",
                "        opt.step()", "    }", "    return cat([a.reshape(-1), b]).tolist()", "}", "fn run(make, steps=8) {",
                "    a = param(c.data(1, 2, 3)); b = param(c.data(2, 3))", "    return go(a, b, make(a, b), steps)", "}",
                "# Saved after three steps, with what is needed to go on.", "fn in_two(make) {", "    a = param(c.data(1, 2, 3)); b = param(c.data(2, 3))",
                "    opt = make(a, b)", "    go(a, b, opt, 3)", "    s = copy(opt.state_dict())", "    a2 = param(a.detach()); b2 = param(b.detach())",
                "    opt = make(a2, b2)", "    opt.load_state_dict(s)", "    return go(a2, b2, opt, 5)", "}"]
    for name, options in OPTIMISERS.items():
        for o in options:
            p.n += 1
            args = f", {o}" if o else ""
            values = torch_run(lambda a, b: eval(f"torch.optim.{name}([a, b]{args})"))
            mine = gt(args).replace("(0", "[0").replace("),", "],").replace("(1e", "[1e").replace("(0", "[0")
            mine = mine[:-1] + "]" if mine.endswith(")") else mine
            p.add(f"print(run(fn(a, b) => optim.{name}([a, b]{mine})))  # expect~ 1e-9: {text(values)}")
            p.add(f"print(in_two(fn(a, b) => optim.{name}([a, b]{mine})))  # expect~ 1e-9: {text(values)}")
        groups = [("{params: [a]}, {params: [b], lr: 0.02}", "{'params': [a]}, {'params': [b], 'lr': 0.02}")]
        if name not in ("Rprop",):
            groups.append(("{params: [a], weight_decay: 0.3}, {params: b}", "{'params': [a], 'weight_decay': 0.3}, {'params': b}"))
        for ours, theirs in groups:
            p.n += 1
            values = torch_run(lambda a, b: eval(f"torch.optim.{name}([{theirs}], lr=0.1)"))
            p.add(f"print(run(fn(a, b) => optim.{name}([{ours}], lr=0.1)))  # expect~ 1e-9: {text(values)}")
    for code in ("Adam({}, betas=(0.5, 0.9))", "SGD({}, momentum=0.5)"):
        values = torch_run(lambda a, b: eval("torch.optim." + code.format("[{'params': [a], 'lr': 0.1}, {'params': [b], 'lr': 0.03}]")))
        p.add(f"print(run(fn(a, b) => optim.{code.format('[{params: [a], lr: 0.1}, {params: [b], lr: 0.03}]').replace('(0.5, 0.9)', '[0.5, 0.9]')}))"
              f"  # expect~ 1e-9: {text(values)}")
    # lr set between steps, through the optimiser and through its groups
    def by_hand(a, b, opt):
        for i in range(4):
            opt.zero_grad()
            ((a * b - aim) ** 2).sum().backward()
            for g in opt.param_groups:
                g["lr"] = 0.1 / (i + 1)
            opt.step()
        return torch.cat([a.reshape(-1), b]).detach().tolist()
    a, b = start_a.clone().requires_grad_(), start_b.clone().requires_grad_()
    values = by_hand(a, b, torch.optim.Adam([a, b]))
    for line in ("opt.lr = 0.1 / (i + 1)", "for g in opt.param_groups { g.lr = 0.1 / (i + 1) }", "for g in opt.param_groups { g[\"lr\"] = 0.1 / (i + 1) }"):
        p.lines += ["a = param(c.data(1, 2, 3)); b = param(c.data(2, 3))", "opt = optim.Adam([a, b])", f"for i in range(4) {{ opt.zero_grad(); backward ((a * b - c.data(3, 2, 3)) ** 2).sum(); {line}; opt.step() }}",
                    f"print(cat([a.reshape(-1), b]).tolist())  # expect~ 1e-9: {text(values)}", "print(opt.lr)  # expect: 0.025"]
    # a group that comes later
    a, b = start_a.clone().requires_grad_(), start_b.clone().requires_grad_()
    opt = torch.optim.SGD([a], lr=0.1, momentum=0.9)
    opt.add_param_group({"params": [b], "lr": 0.01})
    for i in range(3):
        opt.zero_grad()
        ((a * b - aim) ** 2).sum().backward()
        opt.step()
    values = torch.cat([a.reshape(-1), b]).detach().tolist()
    p.lines += ["a = param(c.data(1, 2, 3)); b = param(c.data(2, 3))", "opt = optim.SGD([a], lr=0.1, momentum=0.9)", "opt.add_param_group({params: [b], lr: 0.01})",
                f"print(go(a, b, opt, 3))  # expect~ 1e-9: {text(values)}"]
    # gradients clipped
    for code in ("clip_grad_norm_([a, b], 0.5)", "clip_grad_norm_([a, b], 0.5, norm_type=1.0)", "clip_grad_norm_([a, b], 0.5, norm_type=float('inf'))", "clip_grad_norm_([a, b], 3.0, norm_type=3.0)",
                 "clip_grad_norm_([a, b], 100.0)", "clip_grad_norm_(a, 0.1)", "clip_grad_value_([a, b], 0.3)", "clip_grad_value_([a, b], clip_value=1.0)"):
        a, b = start_a.clone().requires_grad_(), start_b.clone().requires_grad_()
        ((a * b - aim) ** 2).sum().backward()
        got = eval("torch.nn.utils." + code)
        values = ([got.item()] if got is not None else []) + a.grad.reshape(-1).tolist() + b.grad.tolist()
        p.n += 1
        mine = code.replace("float('inf')", "inf")
        head = "" if got is None else "[total.item()] + "
        p.lines += ["a = param(c.data(1, 2, 3)); b = param(c.data(2, 3)); backward ((a * b - c.data(3, 2, 3)) ** 2).sum()", f"total = nn.utils.{mine}",
                    f"print({head}a.grad.reshape(-1).tolist() + b.grad.tolist())  # expect~ 1e-9: {text(values)}"]
    p.write()


SCHEDULERS = {
    "StepLR": ("step_size=2", "3, 0.5", "step_size=1, gamma=0.9", "4, gamma=2.0", "2, 0.1", "step_size=5, gamma=0.3", "10", "3"),
    "MultiStepLR": ("milestones=[2, 5]", "[1, 3, 4], 0.5", "[2, 2, 6], gamma=0.3", "[0, 1]", "[9]", "[3], 2.0", "[1, 2, 3, 4], 0.9", "[5], gamma=0.01"),
    "ExponentialLR": ("0.9", "gamma=0.5", "1.1", "0.99", "gamma=1.0", "0.1", "0.3", "0.7"),
    "ConstantLR": ("", "factor=0.5", "0.2, 3", "total_iters=1", "0.9, total_iters=8", "1.0", "0.1, 20", "factor=0.25, total_iters=2"),
    "LinearLR": ("", "start_factor=0.1", "0.5, 0.1, 4", "1.0, end_factor=0.2, total_iters=6", "total_iters=3", "0.2, 1.0, 1", "0.1, 0.9, 20", "start_factor=0.3, total_iters=4"),
    "PolynomialLR": ("", "total_iters=4", "6, 2.0", "power=0.5", "8, power=3.0", "20", "2, 2.0", "total_iters=7, power=1.5"),
    "CosineAnnealingLR": ("T_max=4", "3, 0.01", "8", "T_max=1", "2, eta_min=0.05", "20", "5", "6, eta_min=0.001"),
    "CosineAnnealingWarmRestarts": ("T_0=3", "2, 2", "4, eta_min=0.01", "1", "3, T_mult=3, eta_min=0.02", "10", "2, 1, 0.05", "5, 2"),
    "LambdaLR": ("FN(e: 0.9 ** e)", "FN(e: 1 / (e + 1))", "lr_lambda=FN(e: min(1, e / 4))", "[FN(e: 0.5 ** e), FN(e: 1.0)]", "FN(e: 2.0)", "FN(e: e % 3)", "FN(e: 0.1 if e > 3 else 1.0)", "lr_lambda=[FN(e: 1.0), FN(e: 0.0)]"),
    "MultiplicativeLR": ("FN(e: 0.9)", "FN(e: 1 / (e + 1))", "lr_lambda=FN(e: 0.5)", "[FN(e: 0.5), FN(e: 1.0)]", "FN(e: 2.0)", "FN(e: 1.1)", "FN(e: 0.1 if e == 3 else 1.0)", "FN(e: e / 5)"),
    "OneCycleLR": ("0.5, 10", "max_lr=0.3, total_steps=12", "0.5, epochs=3, steps_per_epoch=4", "0.5, 10, pct_start=0.5", "0.5, 10, anneal_strategy='linear'",
                   "0.5, 20, three_phase=True", "[0.5, 0.2], 10, div_factor=5.0", "0.5, 11, final_div_factor=10.0, cycle_momentum=False", "0.5, 10, base_momentum=0.5, max_momentum=0.8"),
    "CyclicLR": ("0.01, 0.1, 3", "0.01, 0.1, step_size_up=2, step_size_down=4", "0.01, 0.1, 2, mode='triangular2'", "0.01, 0.1, 3, mode='exp_range', gamma=0.9",
                 "0.01, 0.1, 2, cycle_momentum=False", "[0.01, 0.02], [0.1, 0.4], 3", "0.01, 0.1, 4, base_momentum=0.5, max_momentum=0.95", "0.05, 0.1, 2, scale_fn=FN(x: 0.5 ** x)"),
}


def schedulers():
    global S
    S = torch.optim.lr_scheduler
    p = Page("layer_scheduler", "Learning rates (and momenta) of two groups over twelve steps, for each scheduler.")
    p.lines += ["# What the groups' rates are before each step, and the first group's momentum.", "fn rates(make, steps=10) {", "    a = param(zeros(1)); b = param(zeros(1))",
                "    opt = optim.SGD([{params: [a]}, {params: [b], lr: 0.02}], lr=0.1, momentum=0.9)", "    s = make(opt)", "    all = []",
                "    for i in range(steps) {", "        all += [g.lr for g in opt.param_groups] + [opt.param_groups[0].get(\"momentum\", opt.momentum)]",
                "        opt.step()", "        s.step()", "    }", "    return all + s.get_last_lr()", "}"]

    def theirs(make, steps=10):
        a, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
        opt = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.02}], lr=0.1, momentum=0.9)
        s = make(opt)
        out = []
        for _ in range(steps):
            out += [g["lr"] for g in opt.param_groups] + [opt.param_groups[0]["momentum"]]
            opt.step()
            s.step()
        return out + s.get_last_lr()

    def python(code):
        return code.replace("FN(", "(lambda ")

    def mine(code):
        return gt(code).replace("FN(e: ", "(fn(e) => ").replace("FN(x: ", "(fn(x) => ")
    for name, options in SCHEDULERS.items():
        for o in options:
            p.n += 1
            steps = 9 if "total_steps" in o or name == "OneCycleLR" else 10
            values = theirs(lambda opt: eval(f"S.{name}(opt, {python(o)})"), steps)
            p.add(f"print(rates(fn(opt) => optim.lr_scheduler.{name}(opt{', ' if o else ''}{mine(o)}), {steps}))  # expect~ 1e-12: {text(values)}")
    both = ("SequentialLR(opt, [S.LinearLR(opt, 0.1, 1.0, 3), S.ExponentialLR(opt, 0.9)], [4])",
            "SequentialLR(opt, [S.ConstantLR(opt, 0.1, 2), S.CosineAnnealingLR(opt, 5), S.StepLR(opt, 2)], milestones=[2, 7])",
            "SequentialLR(opt, schedulers=[S.LinearLR(opt, 0.5, 1.0, 3), S.LambdaLR(opt, FN(e: 0.5 ** e))], milestones=[3])",
            "SequentialLR(opt, [S.ExponentialLR(opt, 0.5), S.CosineAnnealingWarmRestarts(opt, 3)], [2])",
            "SequentialLR(opt, [S.StepLR(opt, 2, 0.5), S.PolynomialLR(opt, 4)], [5])",
            "SequentialLR(opt, [S.LinearLR(opt), S.MultiStepLR(opt, [1, 2])], [5])",
            "ChainedScheduler([S.ConstantLR(opt, 0.1, 2), S.ExponentialLR(opt, 0.9)])",
            "ChainedScheduler([S.LinearLR(opt, 0.5, 1.0, 4), S.StepLR(opt, 3, 0.5)])",
            "ChainedScheduler([S.ExponentialLR(opt, 0.9), S.CosineAnnealingLR(opt, 4), S.ConstantLR(opt, 0.5, 3)])")
    p.add("S = optim.lr_scheduler")
    for code in both:
        p.n += 1
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = theirs(lambda opt: eval("S." + python(code)))
        p.add(f"print(rates(fn(opt) => S.{mine(code)}))  # expect~ 1e-12: {text(values)}")
    metrics = [1.0, 0.9, 0.9, 0.91, 0.9, 0.89999, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]
    p.lines += ["fn plateau(make) {", "    opt = optim.SGD([{params: [param(zeros(1))]}, {params: [param(zeros(1))], lr: 0.02}], lr=0.1)", "    s = make(opt)", "    all = []",
                f"    for v in {metrics} {{ s.step(v); all += [g.lr for g in opt.param_groups] }}", "    return all", "}"]
    for o in ("", "patience=1", "patience=0, factor=0.5", "mode='max', patience=2", "patience=1, threshold=0.3", "patience=1, threshold=0.05, threshold_mode='abs'",
              "patience=1, cooldown=2", "patience=0, min_lr=0.01", "patience=0, min_lr=[0.05, 0.001]", "'min', 0.3, 1, eps=1e-2"):
        p.n += 1
        opt = torch.optim.SGD([{"params": [torch.zeros(1, requires_grad=True)]}, {"params": [torch.zeros(1, requires_grad=True)], "lr": 0.02}], lr=0.1)
        s = eval(f"S.ReduceLROnPlateau(opt, {o})")
        values = []
        for v in metrics:
            s.step(v)
            values += [g["lr"] for g in opt.param_groups]
        p.add(f"print(plateau(fn(opt) => S.ReduceLROnPlateau(opt{', ' if o else ''}{gt(o)})))  # expect~ 1e-12: {text(values)}")
    p.write()


if __name__ == "__main__":
    import sys
    pages = {"linear": linear, "activations": activations, "norms": norms, "convolutions": convolutions, "recurrent": recurrent, "attentions": attentions, "losses": losses, "optimisers": optimisers,
             "schedulers": schedulers}
    for name in sys.argv[1:] or pages:
        pages[name]()
