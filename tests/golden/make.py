#!/usr/bin/env python3
"""make.py: writes the golden tests of this directory from what PyTorch computes and prints.

Run by hand where PyTorch is installed (python tests/golden/make.py); its output is committed, so that no test needs it.
One expression serves both languages wherever the two agree; a pair (gt, python) where they differ.
SPDX-License-Identifier: MIT
"""
import math
import os
import re
import sys

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
inf, nan, pi = math.inf, math.nan, math.pi
float32, float64, int64, int32, uint8, bool_ = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8,
                                                torch.bool)
int8, float16, bfloat16 = torch.int8, torch.float16, torch.bfloat16

# Inputs of all cases: name, nested list, dtype.
INPUTS = [
    ("a", [[0.5, -1.25, 2.0, -0.1], [1.5, 0.0, -3.0, 0.75], [2.5, 0.3, -0.6, 4.0]], "float32"),
    ("b", [[1.0, 2.0, -0.5, 3.0], [-1.5, 0.25, 2.0, 0.75], [0.4, -2.0, 1.0, -4.0]], "float32"),
    ("p", [[0.5, 1.25, 2.0, 0.1], [1.5, 0.7, 3.0, 0.75], [2.5, 0.3, 0.6, 4.0]], "float32"),
    ("r", [1.0, -2.0, 0.5, 0.25], "float32"),
    ("c", [[2.0], [-1.0], [0.5]], "float32"),
    ("x3", [[[1.0, -2.0], [3.0, 4.5], [0.5, -1.0]], [[2.0, 0.0], [-1.5, 1.0], [2.5, -0.5]]], "float32"),
    ("w", [[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5], [1.0, 1.0]], "float32"),
    ("d", [0.1, 0.9, 0.35, 2.2], "float64"),
    ("i", [[3, -7, 0], [10, 4, -2]], "int64"),
    ("j", [[2, 3, 5], [-3, 7, 4]], "int64"),
    ("s", [5, -6, 7], "int32"),
    ("u", [200, 100, 7], "uint8"),
    ("t", [[True, False, True, True], [False, False, True, False], [True, True, True, True]], "bool"),
    ("q", [[True, True, False], [False, True, False]], "bool"),
    ("ids", [2, 0, 1, 2], "int64"),
    ("idx", [[0, 2], [1, 1], [3, 0]], "int64"),
]

MAPS = """a + b|a - b|a * b|a / b|a // b|a % b|a + r|c * a|a - c|2 - a|3 / p|a * 2.5|a ** 2|p ** a|p ** 0.5|2 ** a|a // 0.7|a % 0.7
maximum(a, b)|minimum(a, r)|a == b|a != 0|a < b|a <= r|a > c|a >= 0.5|-a|abs(a)|sign(a)|square(a)|exp(a)|expm1(a)|log(p)|log1p(p)
sqrt(p)|rsqrt(p)|sin(a)|cos(a)|tanh(a)|erf(a)|sigmoid(a)|softplus(a)|relu(a)|gelu(a)|silu(a)|floor(a)|ceil(a)|round(a)
round(b * 2.5)|isnan(a / a)|isfinite(a / a)|isfinite(1 / a)|where(t, a, b)|where(a > 0, a, c)|where(t, a, 0.0)|clamp(a, -1, 1.5)
a.clamp(min=0.3)|a.clamp(max=r)|a.masked_fill(t, -inf)|log(a)|sqrt(a)|exp(a * 100)
i + j|i - j|i * j|i // j|i % j|i / j|i + 1|i * 2.5|i // 2|i % 3|-i|abs(i)|sign(i)|i == j|i < j|i > 0|i & j|i \\| j|i ^ j|~i|i ** 2
s * s|s // 2|u + u|u * 2|u // 3|~t|t & (a > 0)|t \\| (a > 0)|t ^ (a > 0)|exp(i.float())|sqrt(abs(i).float())|maximum(i, j)|where(i > 0, i, j)
i + 1.5|s + 1.5|q + i|q * 2|q.float() + 1|d + 1|d * d|d.float() + r|d + r|d[0] + r|r + d[0]|i[0, 0] + s|u + i|s + i""".replace("\n", "|")

REDUCES = """a.sum()|a.sum(dim=0)|a.sum(dim=1)|a.sum(dim=-1, keepdim=True)|x3.sum(dim=(0, 2))|x3.sum(dim=1, keepdim=True)|i.sum()|t.sum(dim=1)
u.sum()|p.prod()|p.prod(dim=1)|i.prod(dim=0)|a.mean()|a.mean(dim=0)|x3.mean(dim=(1, 2), keepdim=True)|a.max()|a.min()|x3.amax(dim=1)
x3.amin(dim=(0, 2), keepdim=True)|i.max()|u.min()|t.any()|t.all(dim=1)|t.any(dim=0)|a.argmax()|a.argmax(dim=1)|a.argmin(dim=0, keepdim=True)
i.argmin()|a.var()|a.var(dim=0)|a.std(dim=1, keepdim=True)|a.var(dim=1, correction=0)|a.norm()|a.norm(dim=1)|a.norm(p=1, dim=0)|a.norm(p=3)|a.norm(p=inf)
a.logsumexp(dim=1)|(a * 100).logsumexp(dim=0)|a.cumsum(0)|a.cumsum(1)|i.cumsum(-1)|t.cumsum(1)|a.argsort(dim=1)|a.argsort(dim=0, descending=True)
d.sum()|d.var()|d.mean()|s.sum()|s.max()|x3.logsumexp(dim=2, keepdim=True)""".replace("\n", "|")

SHAPES = """a.reshape(2, 6)|a.reshape(-1)|a.view(6, -1)|x3.flatten(1)|x3.flatten(0, 1)|x3.permute(2, 0, 1)|x3.transpose(0, 1)|x3.transpose(-1, -2)|a.T
c.squeeze(1)|c.squeeze(0)|a.unsqueeze(1)|a.unsqueeze(-1)|c.expand(3, 2)|c.expand(2, -1, 2)|r.repeat(2)|a.repeat(2, 1)|w.repeat(1, 2, 2)|cat([a, b], 0)
cat([a, c, b], 1)|stack([r, r * 2], 0)|stack([r, r * 2], 1)|stack([a, b], -1)|a.flip(0)|x3.flip(0, 2)|tril(a)|triu(a)|tril(a, -1)|triu(x3, 1)
a.gather(1, idx)|b.gather(0, ids.unsqueeze(0))|a.index_select(0, tensor([2, 0, 2]))|a.index_select(1, ids)|zeros(3, 4).scatter_add(1, idx, w[:3] * 2)
a[0]|a[-1]|a[1, 2]|a[:, 1]|a[1:]|a[:, ::2]|a[0:2, 1:3]|a[..., 0]|x3[..., 0]|x3[0, ..., 1]|x3[:, 1]|x3[:, :, -1]|a[None]|a[:, None, 1]|a[-2:, -3:]
a[[2, 0]]|a[:, [3, 1, 1]]|a[[0, 1, 2], [3, 2, 1]]|a[tensor([[0, 1], [2, 0]])]|x3[:, [0, 2]]|x3[[0, 1], :, [1, 0]]|x3[:, [0, 2], [1, 0]]|x3[1, [0, 2]]|a[ids[:3]]|a[ids][:, ids]
a[a > 0]|a[t]|x3[:, 1:, 0]|r[1:100]|r[5:]|a[2:1]|w[ids, 1]|w[ids]|a @ w|r @ w|a @ r|r @ r|x3 @ w[:2]|x3 @ x3.transpose(1, 2)|x3[0].T @ x3|i @ j.T|d @ d
arange(5)|arange(2, 11, 3)|arange(0, 1, 0.25)|arange(5, 0, -2)|linspace(0, 1, 5)|linspace(-2, 3, 7)|eye(3)|eye(2, 3)|zeros(2, 3)|ones(2)|a.to(int64)|a.to(float64)|i.float()|a.bool()|(a * 3).int()
u.to(int32) - 201|tensor([1.7, -1.7]).to(int64)|x3.unbind(0)[1]|a.split(2, 1)[1]|a.split([1, 3], 1)[1]|a.chunk(2, 0)[1]|arange(24).reshape(2, 3, 4).permute(2, 0, 1)""".replace("\n", "|")

# y starts as the first input each time; the statement writes into it.
PUTS = """a: y[0, 1] = 9|a: y[1] = 5|a: y[:, 1] = tensor([7.0, 8.0, 9.0])|a: y[0:2, 1:3] = 0.5|a: y[..., -1] = -1|a: y[::2] = r|a: y[:, ::3] = b[:, :2]
a: y[[2, 0]] = r|a: y[:, [3, 1]] = 1|a: y[[0, 1, 2], [3, 2, 1]] = tensor([1.0, 2.0, 3.0])|a: y[a > 0] = 0|a: y[t] = -inf|x3: y[0, ..., 1] = 2|x3: y[:, 1] = w[:2]
x3: y[[0, 1], :, [1, 0]] = w[:2, :1]|x3: y[:, [0, 2]] = w[:2].unsqueeze(1)|x3: y[:, [0, 2], [1, 0]] = 4|x3: y[1, [0, 2]] = w[0]|x3: y[None, 0] = 3|x3: y[1:, :, 0:1] = c
i: y[0] = 2.75|i: y[i > 2] = 0|u: y[1] = 3|t: y[0] = False|a: y[2:1] = 5|a: y[-1, -2:] = tensor([1, 2])|a: y[ids[:2], 0] = 8|r: y[ids] = d.float()""".replace("\n", "|")

# Differentiated by every input named: sum of (expression * weights), so that gradients are not all alike.
GRADS = """a + r|a - c|a * b|a / p|b % p|p ** 2|p ** 0.5|p ** b|2 ** a|maximum(a, b)|minimum(a, r)|-a|abs(a)|square(a)|exp(a)|expm1(a)|log(p)|log1p(p)|sqrt(p)|rsqrt(p)
sin(a)|cos(a)|tanh(a)|erf(a)|sigmoid(a)|softplus(a)|relu(a)|gelu(a)|silu(a)|where(t, a, b)|where(t, a * 2, c)|a.clamp(-1, 0.75)|a.masked_fill(t, 0.0)
a.sum()|a.sum(dim=0)|x3.sum(dim=(0, 2), keepdim=True)|p.prod()|p.prod(dim=1)|x3.prod(dim=2)|a.mean(dim=1)|a.amax(dim=1)|x3.amin(dim=(0, 2))|a.max()|a.var()|a.std(dim=0)|a.norm()|a.logsumexp(dim=1)
a.reshape(2, 6)|x3.permute(2, 0, 1)|x3.transpose(0, 1)|a.T|c.expand(3, 4)|r.repeat(2, 3)|a.unsqueeze(1)|a.to(float64)|a[0]|a[1:, ::2]|x3[..., 0]|x3[:, 1]|a[None, -1]
a[[2, 0, 2]]|a[:, [3, 1, 1]]|a[[0, 1, 1], [3, 2, 2]]|x3[[0, 1], :, [1, 0]]|a[t]|w[ids]|cat([a, b], 0)|cat([a, c, a], 1)|stack([a, b], 1)|tril(a)|a.gather(1, idx)|a.cumsum(1)|x3.cumsum(0)|a.flip(1)
a @ w|r @ w|a @ r|r @ r|x3 @ w[:2]|x3 @ x3.transpose(1, 2)|x3[0].T @ x3|w.T @ a.T|(a @ w).relu()|sigmoid(a @ w) * c|exp(-square(a) / 2)|(a / a.norm())|a / a.sum(dim=1, keepdim=True)
(a * 0).norm()|(a * 0).std(dim=1)|(a * 0).norm(dim=0)""".replace("\n", "|")


def literal(v):
    """A nested list as both the language and tolist() print it."""
    if isinstance(v, list):
        return "[" + ", ".join(literal(x) for x in v) + "]"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, float):
        return f"{v:.9g}" if not float(v).is_integer() else f"{v:.1f}" if abs(v) < 1e16 else repr(v)
    return str(v)


def namespace():
    ns = {name: getattr(torch, name) for name in dir(torch) if not name.startswith("_")}
    ns.update(softplus=F.softplus, relu=F.relu, gelu=F.gelu, silu=F.silu, bool_=torch.bool, inf=inf, pi=pi, nan=nan)
    ns["abs"], ns["round"] = torch.abs, torch.round
    for name, value, dtype in INPUTS:
        ns[name] = torch.tensor(value, dtype=getattr(torch, dtype))
    return ns


def split_cases(text):
    return [c.replace("\\|", "|") for c in re.split(r"(?<!\\)\|", text)]


def to_gt(expr):
    return expr.replace("True", "true").replace("None", "none")


def header(f, what):
    f.write(f"# Golden values from PyTorch {torch.__version__.split('+')[0]}: {what}.\n# Written by tests/golden/make.py; do not edit.\n")


def write_inputs(f):
    for name, value, dtype in INPUTS:
        f.write(f"{name} = tensor({literal(value)}, dtype={dtype})\n")


def write_values(name, what, cases):
    ns = namespace()
    with open(os.path.join(HERE, name), "w") as f:
        header(f, what)
        write_inputs(f)
        f.write("fn show(x) { print(x.dtype, x.shape, x.tolist()) }\n")
        for case in cases:
            out = eval(case, dict(ns))
            dtype = str(out.dtype).replace("torch.", "")
            f.write(f"show({to_gt(case)})  # expect~ 2e-6: {dtype} {literal(list(out.shape))} {literal(out.tolist())}\n")


def write_puts(name):
    with open(os.path.join(HERE, name), "w") as f:
        header(f, "assignment to elements")
        write_inputs(f)
        for case in split_cases(PUTS):
            start, statement = case.split(": ", 1)
            ns = namespace()
            ns["y"] = ns[start].clone()
            exec(statement, ns)
            f.write(f"y = {start}; {to_gt(statement).replace('False', 'false')}; print(y.tolist())  # expect~ 2e-6: {literal(ns['y'].tolist())}\n")


def write_grads(name):
    names = [n for n, _, d in INPUTS if d in ("float32", "float64")]
    with open(os.path.join(HERE, name), "w") as f:
        header(f, "gradients of sum(y * weights) with weights 0.1, 0.2, ... in y's shape")
        write_inputs(f)
        f.write("fn weigh(y) => (y * (arange(y.numel()).reshape(y.shape) + 1) * 0.1).sum()\n")
        for case in split_cases(GRADS):
            used = [n for n in names if re.search(rf"(?<![\w.]){n}(?!\w)", case)]
            ns = namespace()
            for n in used:
                ns[n] = ns[n].clone().requires_grad_()
            y = eval(case, ns)
            weights = (torch.arange(y.numel()).reshape(y.shape) + 1) * 0.1
            got = torch.autograd.grad((y * weights).sum(), [ns[n] for n in used])
            args = ", ".join(used)
            f.write(f"for g in (fn({args}) => grad(weigh({to_gt(case)}), [{args}]))({', '.join(f'param({n})' for n in used)}) {{ print(g.tolist()) }}\n")
            for g in got:
                f.write(f"# expect~ 2e-5: {literal(g.tolist())}\n")


SHOWN = [
    "tensor(3.14159265)", "tensor(7)", "tensor(true)", "tensor(-0.5)", "tensor([])", "zeros(0, 3)", "zeros(2, 0, dtype=int64)",
    "tensor([1, 2, 3])", "tensor([1., 2., 3.])", "tensor([1.5, -2.25, 100])", "tensor([[1, -20], [300, 4]])", "tensor([true, false])",
    "tensor([1e-5, 1.0])", "tensor([1e9, 1.0])", "tensor([1e4, 0.1])", "tensor([1000.0, 1.5])", "tensor([1001.0, 1.0])", "tensor([2e8, 1e8])",
    "tensor([0.0001, 0.0002])", "tensor([0.00009, 0.0002])", "tensor([nan, 1.0, inf])", "tensor([nan, 1.5, -inf])", "tensor([0.0, 0.0])", "tensor([-0.0, 1.0])",
    "tensor([nan, inf])", "tensor([1e-10, 0.0])", "tensor([1e38, -1e38])", "tensor([1e-40, 1.0])", "tensor([0.1, 0.25], dtype=float64)",
    "tensor([1, 2], dtype=int32)", "tensor([1, 255], dtype=uint8)", "tensor([[0.5, 1], [2, 3]], dtype=float64)", "tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])",
    "tensor([123456.0, 0.001])", "tensor([99999.5, 1.25])", "tensor([12345678.0])", "tensor([123456789.0])", "tensor([123456789012.0])", "tensor(1e10)", "tensor(1e-7)",
    "arange(30)", "arange(30) * 1000", "arange(20) / 7", "arange(100) * 1.5", "arange(24).reshape(2, 3, 4)", "arange(24).reshape(2, 3, 4) / 5", "arange(16).reshape(2, 2, 2, 2)",
    "arange(1000)", "arange(1001)", "arange(2000) * 0.5", "arange(10000).reshape(100, 100)", "arange(10000).reshape(100, 100) / 3", "arange(1200).reshape(6, 200)",
    "arange(1200).reshape(200, 6)", "arange(1200).reshape(7 - 1, 5, 40)", "arange(8000).reshape(20, 20, 20)", "arange(4096).reshape(8, 8, 8, 8)", "arange(2000) > 1000",
    "arange(1500) * 1e-6", "eye(12)", "eye(30)", "arange(40).reshape(1, 40) * 123456", "arange(40).reshape(40, 1)[:3]", "linspace(0, 1, 11)", "linspace(-1000, 1000, 9)",
    "arange(2000, dtype=int32)", "arange(1500) * tensor(0.5, dtype=float64)", "arange(12).reshape(3, 4) * tensor(1e-3, dtype=float64)",
    "tensor([0.1, 1e-7, 65504, 3.14159], dtype=float16)", "tensor([0.1, 1e-7, 65504, 3.14159], dtype=bfloat16)", "tensor(0.1, dtype=float16)", "tensor(0.1, dtype=bfloat16)",
    "tensor([1.0, -2.0, 300.0], dtype=float16)", "tensor([nan, inf, -0.5], dtype=bfloat16)", "tensor([0.001, 0.002], dtype=float16)", "tensor([1e30, 1.0], dtype=bfloat16)",
    "arange(12, dtype=bfloat16).reshape(3, 4) / 7", "arange(2000, dtype=float16)", "tensor([], dtype=float16)", "tensor([1, -128, 127], dtype=int8)", "tensor(-5, dtype=int8)",
    "arange(100, dtype=float16) / 3", "tensor([70000.0, -70000.0], dtype=float16)", "tensor([6e-8, 1e-8], dtype=float16)",
]


PROMOTED = ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def write_promotion():
    """Every pair of dtypes, as (vector, vector), (number, vector), and with host numbers. int16, which we lack, is int32."""
    name = lambda d: str(d).replace("torch.", "").replace("int16", "int32")
    with open(os.path.join(HERE, "promote.gt"), "w") as f:
        header(f, "the dtype that an operation on two has")
        f.write("# worlds: reference\nds = [" + ", ".join(PROMOTED) + "]\n")
        f.write("for a in ds { print(*[(ones(2, dtype=a) + ones(2, dtype=b)).dtype for b in ds]) }\n")
        one = lambda d, *shape: torch.ones(shape, dtype=getattr(torch, d))
        for a in PROMOTED:
            f.write("# expect: " + " ".join(name(torch.result_type(one(a, 2), one(b, 2))) for b in PROMOTED) + "\n")
        f.write("for a in ds { print(*[(ones(dtype=a) + ones(2, dtype=b)).dtype for b in ds]) }\n")
        for a in PROMOTED:
            f.write("# expect: " + " ".join(name(torch.result_type(one(a), one(b, 2))) for b in PROMOTED) + "\n")
        for v in ["1", "1.5", "true"]:
            f.write(f"print(*[(ones(2, dtype=a) + {v}).dtype for a in ds])\n")
            f.write("# expect: " + " ".join(name(torch.result_type(one(a, 2), eval(v.title()))) for a in PROMOTED) + "\n")
        for op, g in [("sum()", lambda x: x.sum()), ("cumsum(0)", lambda x: x.cumsum(0)), ("prod()", lambda x: x.prod()), ("max()", lambda x: x.max()),
                      ("argmax()", lambda x: x.to(torch.float32).argmax()), ("exp()", lambda x: x.exp())]:
            f.write(f"print(*[ones(2, dtype=a).{op}.dtype for a in ds])\n")
            f.write("# expect: " + " ".join(name(g(one(a, 2)).dtype) for a in PROMOTED) + "\n")
        f.write("print(*[(ones(2, dtype=a) / 2).dtype for a in ds])\n")
        f.write("# expect: " + " ".join(name((one(a, 2) / 2).dtype) for a in PROMOTED) + "\n")


def shown(x):
    """PyTorch's body and suffix rules; the suffixes are ours: lower case, shape= when summarised or empty."""
    summarised, empty = x.numel() > 1000, x.numel() == 0
    body = "[]" if empty else torch._tensor_str._tensor_str(x, 7)
    suffixes = []
    if summarised or (empty and x.dim() != 1):
        suffixes.append("shape=" + str(tuple(x.shape)).replace(",)", ")"))
    if x.dtype not in ((torch.float32,) if empty else (torch.float32, torch.int64, torch.bool)):
        suffixes.append("dtype=" + str(x.dtype).replace("torch.", ""))
    text = torch._tensor_str._add_suffixes("tensor(" + body, suffixes, 7, False)
    return text.replace("True", "true").replace("False", "false")


def write_shown():
    ns = namespace()
    ns.update(true=True, false=False)
    with open(os.path.join(HERE, "show.gt"), "w") as f, open(os.path.join(HERE, "show.out"), "w") as g:
        header(f, "tensors as text (all of stdout is in show.out)")
        f.write("# out-file\n# worlds: reference replay\n")
        for case in SHOWN:
            f.write(f"print({case})\n")
            g.write(shown(eval(case, dict(ns))) + "\n")


def main():
    torch.set_num_threads(1)
    write_values("map.gt", "pointwise functions, promotion", split_cases(MAPS))
    write_values("reduce.gt", "reductions", split_cases(REDUCES))
    write_values("shape.gt", "shapes, indexing, products, creation, casts", split_cases(SHAPES))
    write_puts("put.gt")
    write_grads("grad.gt")
    write_shown()
    write_promotion()


if __name__ == "__main__":
    sys.exit(main())
