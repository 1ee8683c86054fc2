#!/usr/bin/env python3
"""functions.py: writes tests/golden/fn/NAME.gt, what PyTorch gives for every tensor function.

Run by hand where PyTorch is installed (python tests/golden/functions.py [NAME ...]); its output is committed, so that no
test needs it. The tables are in spec_*.py: for each function its meaning in PyTorch, and lines

    expression of the language | operands ; operands ; ... | nograd, scale=10, as: the expression in PyTorch

One expression serves both languages: here it is evaluated with x, y, z, u, v for the operands and the functions of the
spec, which accept the language's names and say in one line where the language means something else than PyTorch does.
Float operands get the gradient of sum(result * weights) wherever PyTorch has one. Halves are what PyTorch computes in
float32 from the same operands, rounded once (its own kernels for halves round in between, by up to several steps).
SPDX-License-Identifier: MIT
"""
import math
import os
import re
import sys
import zlib

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "fn")
DTYPES = {"b1": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i32": torch.int32, "i64": torch.int64,
          "f16": torch.float16, "bf16": torch.bfloat16, "f": torch.float32, "f64": torch.float64}
HALVES = (torch.float16, torch.bfloat16)
LETTERS = "xyzuvw"
PLAIN = {"__builtins__": {"__import__": __import__}}   # expressions see the names of the language alone

MEANING = {}   # name of a function of the language -> what it is in PyTorch
TABLE = {}     # name -> the lines of its cases
# What these functions warn of, as a directive of tests/expect.h.
WARNS = {name: f"# stderr: warning: {name[:3]} of\n" for name in ("std", "std_mean", "var", "var_mean")}
# Sums of terms that cancel, in the function or its gradient: what an element may be off by is relative to a tenth of the
# largest one's size. (corrcoef: an element of a gradient is 1.09657e-3 in float64, 1.09658e-3 or 1.09661e-3 in PyTorch,
# depending on the processor, 1.09660e-3 here. gelu, elu and selu: PyTorch's own lose digits where the result is small;
# erfc: ours does, in the gradient of its tail.)
CANCELS = {"attention", "corrcoef", "scaled_dot_product_attention", "layer_norm", "batch_norm", "group_norm", "instance_norm", "interpolate", "conv2d",
           "triplet_margin_loss", "triplet_margin_with_distance_loss", "cosine_similarity", "std_mean", "bce_with_logits",
           "binary_cross_entropy_with_logits", "normalize", "rms_norm",
           "adaptive_avg_pool1d", "erfc", "gelu", "elu", "celu", "selu"}
# Edges that mean something else here, each with its reason (more of them stand in the tables).
TAME = {                                   # nan and infinities
    "absolute", "sgn",                     # as abs and sign: nan stays nan
    "attention", "scaled_dot_product_attention",   # PyTorch's kernel gives 0 for a row of nan
    "int", "long", "char", "byte",         # undefined in PyTorch
    "margin_ranking_loss",                 # its gradient at nan is clamp's, 0
    "multi_margin_loss",                   # PyTorch skips nan
    "multilabel_margin_loss",              # the same
    "mode",                                # which of the numbers that occur once beside nan is not said
    "renorm",                              # its gradient in a slice with infinities, where PyTorch gives numbers
    "recurrence",                          # the 0 before the first times a gradient of nan
    "tolist",                              # nan equals nothing, in lists neither
}
WHOLE = {                                  # whole numbers: float32 here, as mean; PyTorch's result is whole, and cut
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "local_response_norm", "threshold",
    "gelu_dx",
}
ONES = {"tensordot", "batch_norm"}         # PyTorch stretches or contracts a lone axis of 1 without a word
refused = []   # cases that PyTorch does not take, in words


# ---- spec ----

def cases(name, lines, meaning=None, fixed=False):
    """fixed: the name is used by no expression (an operator, indexing)."""
    TABLE.setdefault(name, []).extend(line for line in lines.strip().split("\n") if line.strip())
    if meaning:
        MEANING[name] = meaning


def alias(new, old, operator=None, most=12):
    """Another name for the same: the first cases of old's table under the new name."""
    MEANING[new] = MEANING.get(old) or torch_named(old)
    short, n = [], 0
    for line in TABLE[old]:
        expr, *rest = line.split(" | ")
        if operator and expr.strip() in (f"x {operator} y", f"x{operator}y"):
            expr = f"{new}(x, y)"
        elif re.search(rf"\b{old}\(", expr):
            expr = re.sub(rf"\b{old}\(", new + "(", expr)
        else:
            continue
        operands = rest[0].split(";")[:most - n] if rest else [""]
        n += len(operands)
        if operands:
            short.append(" | ".join([expr, " ; ".join(o.strip() for o in operands)] + rest[1:]))
    TABLE.setdefault(new, []).extend(short)


def means(name, *others):
    def keep(f):
        for n in (name,) + others:
            MEANING[n] = f
        return f
    return keep


def fl(x):
    """Bool and ints count as float32 where PyTorch wants floats."""
    return x if not isinstance(x, torch.Tensor) or x.is_floating_point() else x.float()


def torch_named(name):
    f = getattr(torch, name, None) or getattr(F, name, None) or getattr(torch.special, name, None)
    if f is None:
        raise NameError(f"the spec says nothing about {name}, nor does torch")

    def call(*args, axis=None, keepdims=None, **more):
        if axis is not None:
            more["dim"] = axis
        if keepdims is not None:
            more["keepdim"] = keepdims
        return f(*args, **more)
    return call


# ---- operands ----

def numbers(kind, shape, seed, lo, hi):
    """Distinct numbers where there are enough, never the same twice for another shape or seed."""
    n = math.prod(shape)
    g = torch.Generator().manual_seed(zlib.crc32(repr((kind, shape, seed, lo, hi)).encode()))
    dtype = DTYPES[kind]
    if kind == "b1":
        return torch.randint(0, 2, shape, generator=g).bool()
    if not dtype.is_floating_point:
        return torch.randint(int(lo), int(hi) + 1, shape, generator=g).to(dtype)
    grid = 16 if dtype in HALVES else 100
    first, last = math.ceil(lo * grid), math.floor(hi * grid)
    span = last - first + 1
    picks = torch.randperm(span, generator=g)[:n] if n <= span else torch.randint(0, span, (n,), generator=g)
    return ((picks + first).double() / grid).to(dtype).reshape(shape)


def maker(kind):
    whole = not DTYPES[kind].is_floating_point
    low = {"u8": 0}.get(kind, -9 if whole else -3)
    high = 9 if whole else 3

    def make(*shape, s=0, lo=low, hi=high):
        return numbers(kind, shape, s, lo, hi)
    return make


def of(kind):
    return lambda *values: torch.tensor(list(values), dtype=DTYPES[kind])


def wild(*shape, s=0):
    """Numbers with a nan and both infinities among them, as far as there is room."""
    x = numbers("f", shape, s, -3, 3)
    for i, v in zip((s % 2, 3, 5), (math.nan, math.inf, -math.inf)):
        if i < x.numel():
            x.reshape(-1)[i] = v
    return x


OPERANDS = {name: maker(name) for name in DTYPES}
OPERANDS["fw"] = wild
OPERANDS.update({name + "v": of(name) for name in DTYPES})          # fv(1, nan): these values


def square(kind, positive):
    """Matrices far from singular; positive: symmetric, with eigenvalues above 1."""
    def make(*shape, s=0):
        x = numbers("f64", shape, s, -1, 1)
        y = x @ x.transpose(-1, -2) + torch.eye(shape[-1]) if positive else x + 2 * torch.eye(shape[-1])
        return ((y * 100).round() / 100).to(DTYPES[kind])
    return make


for name in ("f", "f64"):
    OPERANDS.update({name + "spd": square(name, True), name + "well": square(name, False)})
OPERANDS.update(inf=math.inf, nan=math.nan)
SPECIAL = "inf, -inf, nan, 0.0, 1.0, -1.0, 0.5, -2.5, 30.0, -30.0"


# ---- text of the language ----

def number(v, dtype):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v) if v > -2**63 else "-9223372036854775807 - 1"
    if math.isnan(v) or math.isinf(v):
        return "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    text = repr(v) if dtype == torch.float64 else f"%.{8 if dtype == torch.float32 else 6}g" % v
    return text if re.search(r"[.e]", text) else text + ".0"


def flat(t):
    return "[" + ", ".join(number(v, t.dtype) for v in t.detach().reshape(-1).tolist()) + "]"


def nested(t):
    def text(v):
        return "[" + ", ".join(map(text, v)) + "]" if isinstance(v, list) else number(v, t.dtype)
    return text(t.tolist())


def dtype_name(t):
    return str(t.dtype).replace("torch.", "")


def literal(t):
    if t.numel() == 0:
        return f"zeros({', '.join(map(str, t.shape))}, dtype={dtype_name(t)})"
    return f"tensor({nested(t)}, dtype={dtype_name(t)})"


def wanted(r):
    if isinstance(r, torch.Tensor):
        if r.dtype == torch.int16:         # uint8 with int8; here there is no int16, and it is int32
            r = r.to(torch.int32)
        return f'["{dtype_name(r)}", {list(r.shape)}, {flat(r)}]'
    if isinstance(r, (list, tuple)) and r and all(isinstance(p, torch.Tensor) for p in r):
        return "[" + ", ".join(wanted(p) for p in r) + "]"
    return f'["host", {host(r)}]'


def host(r):
    if isinstance(r, (list, tuple, torch.Size)):
        return "[" + ", ".join(map(host, r)) + "]"
    if isinstance(r, (bool, int)):
        return number(r, None)
    if isinstance(r, float):
        return number(r, torch.float64)
    if isinstance(r, torch.dtype):
        return '"' + str(r).replace("torch.", "") + '"'
    raise ValueError(f"no text for {r!r}")


# ---- one case ----

METHOD = re.compile(r"^([xyz])\.(\w+)\((.*)\)$")
CASTS = ("float", "double", "half", "bfloat16", "long", "int", "bool", "char", "byte")     # methods of both, dtypes as words
WORDS = {"true": True, "false": False, "none": None, "inf": math.inf, "nan": math.nan, "pi": math.pi,
         "bool": torch.bool, "float": torch.float32, "int": torch.int64}


class Names(dict):
    def __missing__(self, name):
        return torch_named(name)


def namespace(xs):
    ns = Names({str(d).replace("torch.", ""): d for d in DTYPES.values()})
    ns.update(WORDS, half=torch.float16, double=torch.float64, long=torch.int64)
    ns.update(MEANING)
    ns.update(zip(LETTERS, xs))
    return ns


def compute(expr, xs):
    """A method of an operand is the function of that name, as in the language: x.f(a) is f(x, a)."""
    m = METHOD.match(expr)
    if m and balanced(m.group(3)) and m.group(2) not in CASTS:
        expr = f"{m.group(2)}({m.group(1)}{', ' + m.group(3) if m.group(3) else ''})"
    if re.search(r"^([xyz])\[[^=]*\] = ", expr):
        return assign(expr, xs)
    return eval(expr, PLAIN, namespace(xs))


def balanced(text):
    depth = 0
    for c in text:
        depth += c in "([" and 1 or c in ")]" and -1 or 0
        if depth < 0:
            return False
    return True


def assign(expr, xs):
    """x[i] = v gives x with v written."""
    ns = namespace(xs)
    ns["x"] = xs[0].clone()
    exec(expr, PLAIN, ns)
    return ns["x"]


def weights(y):
    n = y.numel()
    return torch.tensor([(7 * i % 11 - 4.5) / 4 for i in range(n)], dtype=y.dtype).reshape(y.shape)


def near(a, b):
    """Are a, b the same but for the rounding of halves?"""
    if a.shape != b.shape or not (a.is_floating_point() and b.is_floating_point()):
        return False
    a, b = a.detach().double(), b.detach().double()
    finite = a[a.isfinite()].abs()
    scale = finite.max().item() if finite.numel() else 0.0
    return torch.allclose(a, b, rtol=0.05, atol=0.02 * scale + 1e-6, equal_nan=True)


def rounded_once(result, grads, expr, xs):
    """What PyTorch computes in float32 from the same halves, rounded once: its own kernels for halves round in between,
    some of them often. Where that is something else (limits of a dtype, casts), its own."""
    try:
        wide = [x.detach().float().requires_grad_(x.requires_grad) if x.dtype in HALVES else x for x in xs]
        other = compute(expr, wide)
    except Exception:
        return result, grads
    many = isinstance(result, (list, tuple)) and not isinstance(result, torch.Size)
    pairs = list(zip(result, other)) if many else [(result, other)]
    best = [b.to(a.dtype) if isinstance(a, torch.Tensor) and a.dtype in HALVES and near(a, b.to(a.dtype)) else a for a, b in pairs]
    wide_grads = gradients([other] if not many else other, wide)
    if grads and wide_grads:
        grads = [a if a is None or not near(a, b.to(a.dtype)) else b.to(a.dtype) for a, b in zip(grads, wide_grads)]
    return (best if many else best[0]), grads


def gradients(results, xs):
    ys = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    leaves = [x for x in xs if x.requires_grad]
    if not ys:
        return None
    try:
        gs = iter(torch.autograd.grad(ys, leaves, [weights(y) for y in ys], allow_unused=True))
    except RuntimeError as e:
        if not str(e).startswith("derivative for") or not str(e).endswith("is not implemented"):
            raise
        return None                        # PyTorch has none, so there is none to compare with
    out = []
    for x in xs:
        g = next(gs) if x.requires_grad else None
        out.append(torch.zeros_like(x) + (0 if g is None else g) if x.requires_grad else None)
    return out


class File:
    def __init__(self, name):
        self.name, self.inputs, self.lines, self.n = name, {}, [], 0

    def operand(self, t):
        text = literal(t)
        if text not in self.inputs:
            self.inputs[text] = f"{'ijklmn'[0] if not t.is_floating_point() else 'a'}{len(self.inputs)}"
        return self.inputs[text]

    def case(self, expr, options, xs):
        xs = [x.clone().requires_grad_(x.is_floating_point() and "nograd" not in options) for x in xs]
        torchly = re.search(r"as: (.*)", options)
        result = compute(torchly.group(1) if torchly else expr, xs)
        many = isinstance(result, (list, tuple)) and not isinstance(result, torch.Size)
        grads = gradients(result if many else [result], xs)
        if {x.dtype for x in xs if x.is_floating_point()} in ({torch.float16}, {torch.bfloat16}):
            result, grads = rounded_once(result, grads, torchly.group(1) if torchly else expr, xs)
        kinds = ", ".join(f"{dtype_name(x)} {list(x.shape)}" for x in xs)
        letters = ", ".join(LETTERS[:len(xs)])
        put = re.match(r"^([xyz])\[[^=]*\] = ", expr)
        body = f"{{ x = x * 1; {expr}; return x }}" if put and xs[0].is_floating_point() else \
            f"{{ {expr}; return x }}" if put else f"=> {expr}"
        args = ['"' + f"{expr}: {kinds}".replace('"', '\\"') + '"',
                f"fn({letters}) {body}", "[" + ", ".join(self.operand(x.detach()) for x in xs) + "]", wanted(result)]
        if grads:
            args.append("[" + ", ".join("none" if g is None else flat(g) for g in grads) + "]")
        if self.name in CANCELS:
            args.append("cancels=true")
        scale = re.search(r"scale=(\d+)", options)
        if scale:
            args.append(f"scale={scale.group(1)}.0")
        self.lines.append("case(" + ", ".join(args) + ")")
        self.n += 1

    def write(self):
        with open(os.path.join(OUT, self.name + ".gt"), "w") as f:
            f.write(f"# Golden values from PyTorch {torch.__version__.split('+')[0]}: {self.name}.\n"
                    "# Written by tests/golden/functions.py; do not edit.\n# worlds: reference\n"
                    + WARNS.get(self.name, "") +
                    'import "check.gt"\ncase = check.case\n')
            for text, name in self.inputs.items():
                f.write(f"{name} = {text}\n")
            f.write("\n".join(self.lines) + f"\ncheck.report()  # expect: {self.n} cases\n")


def edges(name):
    """What the lines of a function leave out of its first case's kinds: nan and infinities, no elements, one element,
    other dtypes. PyTorch may refuse any of them."""
    text = "\n".join(TABLE[name])
    first = next((line.split(" | ") for line in TABLE[name] if re.search(r"\bf\(", line) and "as:" not in line), None)
    if not first:
        return
    expr, operands = first[0].strip(), next(o for o in first[1].split(";") if re.search(r"\bf\(", o))
    options = first[2] if len(first) > 2 else ""

    def put(old, new):
        return expr, options, re.sub(old, new, operands)
    if "nan" not in text and "SPECIAL" not in text and name not in TAME:
        yield put(r"\bf\(([^)=]*)(, lo=[^)]*)?\)", r"fw(\1)")
    for kind in ("f64", "f16", "bf16"):
        if not re.search(rf"\b{kind}v?\(", text):
            yield put(r"\bf(?=v?\()", kind)
    if not re.search(r"\bi64v?\(", text) and name not in WHOLE:
        yield put(r"\bfv?\(", "i64(")
    if name in ONES:
        return
    if not re.search(r"\bf\((\d, )*0(, \d)*\)", text):
        yield put(r"(\w+)\(\d((, \d)*(, s=\d)?)\)", r"\1(0\2)")
    if not re.search(r"\bf\(1(, 1)*\)", text):
        yield put(r"(\w+)\(\d((, \d)*(, s=\d)?)\)", r"\1(1\2)")


def write_edges(name, out):
    n = 0
    for expr, options, operands in edges(name):
        try:
            out.case(expr, options, eval(f"[{operands}]", {"__builtins__": {}}, OPERANDS))
        except Exception:
            n += 1                         # PyTorch does not take it
    return n


def write_function(name):
    out = File(name)
    for line in TABLE[name]:
        parts = [p.strip() for p in line.split(" | ")]
        expr, operands = parts[0], parts[1] if len(parts) > 1 else ""
        options = parts[2] if len(parts) > 2 else ""
        for alternative in operands.split(";"):
            try:
                xs = eval(f"[{alternative.replace('SPECIAL', SPECIAL)}]", PLAIN, OPERANDS)
                out.case(expr, options, xs)
            except Exception as e:
                refused.append(f"{name}: {expr} | {alternative.strip()}: {type(e).__name__}: {str(e).splitlines()[0]}")
    write_edges(name, out)
    out.write()
    return out.n


def main(names):
    torch.set_num_threads(1)
    sys.path.insert(0, HERE)
    sys.modules["functions"] = sys.modules["__main__"]
    for spec in sorted(f[:-3] for f in os.listdir(HERE) if f.startswith("spec_") and f.endswith(".py")):
        __import__(spec)
    total = 0
    for name in sorted(TABLE):
        if not names or name in names:
            n = write_function(name)
            if n < 8:
                refused.append(f"{name}: {n} cases, at least 8 are needed")
            total += n
    print(f"{len(TABLE)} functions, {total} cases")
    if refused:
        raise SystemExit("\n".join(refused))


if __name__ == "__main__":
    main(sys.argv[1:])
