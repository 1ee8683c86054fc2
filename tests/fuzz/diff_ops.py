"""diff_ops.py: the calls that random programs are made of: pointwise, reductions, shapes, indexing.

A row draws arguments from the program so far (diff_gen.Gen) and gives the call in both spellings.
Rows whose function gtsh does not have are left out at the start, and named. exact: IEEE gives one
answer, so both sides must agree to the bit. Layers, losses and linear algebra: diff_ops_nn.py.
SPDX-License-Identifier: MIT"""
from dataclasses import dataclass

import torch

from diff_ast import INTS, Call, Dtype, Var

ROWS = []


@dataclass
class Row:
    name: str
    sample: object
    weight: float
    exact: bool
    needs: tuple


class Skip(Exception):
    """These arguments are not for this call."""


def row(name, weight=1.0, exact=False, needs=None):
    """A row of the table. needs: names that gtsh must know (the row's own unless said)."""
    def keep(f):
        names = (name,) if needs is None else tuple(needs)
        ROWS.append(Row(name, f, weight, exact, names))
        return f
    return keep


def call(gt, py, **args):
    return Call("", gt, py, args)


# ---- pointwise, one operand ----
# name: PyTorch's text, kind, interval where it is smooth and finite (none: everywhere), exact
UNARY = {
    "neg": ("-{x}", "num", None, True), # the sign of nan is nan here, 0 in PyTorch
    "abs": ("torch.abs({x})", "num", (-1e38, 1e38), True),
    "sign": ("torch.sign({x})", "num", (-1e38, 1e38), True),
    "square": ("torch.square({x})", "num", None, True),
    "exp": ("torch.exp({x})", "num", (-20, 20), False),
    "expm1": ("torch.expm1({x})", "float", (-20, 20), False),
    "log": ("torch.log({x})", "num", (1e-3, 1e6), False),
    "log1p": ("torch.log1p({x})", "float", (-0.95, 1e6), False),
    "sqrt": ("torch.sqrt({x})", "num", (1e-3, 1e6), False),
    "rsqrt": ("torch.rsqrt({x})", "float", (1e-3, 1e6), False),
    "sin": ("torch.sin({x})", "num", (-100, 100), False),
    "cos": ("torch.cos({x})", "num", (-100, 100), False),
    "tanh": ("torch.tanh({x})", "num", None, False), "erf": ("torch.erf({x})", "num", None, False),
    "sigmoid": ("torch.sigmoid({x})", "num", None, False),
    "softplus": ("F.softplus({x})", "float", (-90, 19), False),
    "relu": ("torch.relu({x})", "num", None, True),
    "gelu": ("F.gelu({x})", "float", (-1e4, 1e4), False),
    "silu": ("F.silu({x})", "float", None, False), "floor": ("torch.floor({x})", "num", None, True),
    "ceil": ("torch.ceil({x})", "num", None, True),
    "round": ("torch.round({x})", "num", None, True),
    "isnan": ("torch.isnan({x})", "num", None, True),
    "isfinite": ("torch.isfinite({x})", "num", None, True),
    "isinf": ("torch.isinf({x})", "num", None, True),
    "tan": ("torch.tan({x})", "num", (-1.4, 1.4), False),
    "asin": ("torch.asin({x})", "num", (-0.98, 0.98), False),
    "acos": ("torch.acos({x})", "num", (-0.98, 0.98), False),
    "atan": ("torch.atan({x})", "num", None, False),
    "sinh": ("torch.sinh({x})", "num", (-20, 20), False),
    "cosh": ("torch.cosh({x})", "num", (-20, 20), False),
    "log2": ("torch.log2({x})", "num", (1e-3, 1e6), False),
    "log10": ("torch.log10({x})", "num", (1e-3, 1e6), False),
    "exp2": ("torch.exp2({x})", "num", (-20, 20), False),
    "reciprocal": ("torch.reciprocal({x})", "num", (0.01, 1e4), False),
    "nan_to_num": ("torch.nan_to_num({x})", "num", None, True),
    "logsigmoid": ("F.logsigmoid({x})", "float", None, False),
    "elu": ("F.elu({x})", "float", None, False),
    "acosh": ("torch.acosh({x})", "float", (1.05, 100), False),
    "asinh": ("torch.asinh({x})", "float", (-100, 100), False),
    "atanh": ("torch.atanh({x})", "float", (-0.95, 0.95), False),
    "erfc": ("torch.erfc({x})", "float", (-3, 3), False),
    "erfinv": ("torch.erfinv({x})", "real", (-0.95, 0.95), False),
    "trunc": ("torch.trunc({x})", "float", (-1e6, 1e6), True),
    "frac": ("torch.frac({x})", "float", (-1e3, 1e3), True),
    "relu6": ("F.relu6({x})", "float", (-1e4, 1e4), True),
    "hardtanh": ("F.hardtanh({x})", "float", (-1e4, 1e4), True),
    "hardsigmoid": ("F.hardsigmoid({x})", "float32", (-1e4, 1e4), False),
    "hardswish": ("F.hardswish({x})", "float", (-1e4, 1e4), False),
    "hardshrink": ("F.hardshrink({x})", "float", (-1e4, 1e4), True),
    "softshrink": ("F.softshrink({x})", "float", (-1e4, 1e4), False),
    "softsign": ("F.softsign({x})", "float", (-1e4, 1e4), False),
    "mish": ("F.mish({x})", "float", (-50, 19), False),
    "selu": ("F.selu({x})", "float", (-50, 1e4), False),
    "celu": ("F.celu({x})", "float", (-50, 1e4), False),
    "tanhshrink": ("F.tanhshrink({x})", "float", (-1e4, 1e4), False),
    "logit": ("torch.logit({x})", "float", (0.05, 0.95), False),
    "sinc": ("torch.sinc({x})", "real", (-20, 20), False),
    "deg2rad": ("torch.deg2rad({x})", "float", (-1e4, 1e4), False),
    "rad2deg": ("torch.rad2deg({x})", "float", (-1e2, 1e2), False),
    "signbit": ("torch.signbit({x})", "num", None, True),
    "ravel": ("torch.ravel({x})", "any", None, True),
    "nansum": ("torch.nansum({x})", "real", None, False),
    "nanmean": ("torch.nanmean({x})", "real", (-1e4, 1e4), False),
    "detach": ("{x}.detach()", "any", None, True), "clone": ("{x}.clone()", "any", None, True),
}


def unary(name, py, kind, interval):
    def sample(g):
        always = name in ("abs", "sign", "erfinv")      # differ beyond on purpose
        x = g.t(kind, interval=interval if always or not g.flip(0.15) else None)
        if always and g.wild:
            raise Skip
        if name == "neg":
            return call(g.pick(["-{x}", "neg({x})", "{x}.neg()"]), py, x=x)
        if name == "clone":
            return call("{x}.clone()", py, x=x)
        return call(g.spell(name, "x"), py, x=x)
    return sample


for name_, (py_, kind_, interval_, exact_) in UNARY.items():
    row(name_, 0.5, exact_, needs=() if name_ == "clone" else None)(
        unary(name_, py_, kind_, interval_))


@row("bitnot", exact=True, needs=())
def _(g):
    return call("~{x}", "~{x}", x=g.t("bits"))


@row("gelu_tanh", needs=("gelu",))
def _(g):
    return call(g.spell("gelu", "x", "~approximate=a"), "F.gelu({x}, approximate={a})",
                x=g.t("float", interval=(-1e4, 1e4)), a="tanh")


@row("leaky_relu")
def _(g):
    return call(g.spell("leaky_relu", "x", "a"), "F.leaky_relu({x}, {a})", x=g.t("float"),
                a=g.pick([0.01, 0.2, 0.5]))


@row("elu_alpha", 0.5, needs=("elu",))
def _(g):
    return call(g.spell("elu", "x", "alpha=a"), "F.elu({x}, alpha={a})", x=g.t("float"),
                a=g.pick([0.5, 1.0, 2.0]))


@row("round_decimals", 0.5, needs=("round",))
def _(g):
    return call(g.spell("round", "x", "n"), "torch.round({x}, decimals={n})", x=g.t("real"),
                n=g.pick([1, 2, -1]))


# ---- pointwise, more operands ----

def pair(g, kind="num", interval=None):
    """Two operands that broadcast, at least one a tensor."""
    a = g.t(kind, interval=interval)
    return a, g.bcast(a, kind, interval=interval)


@row("arith", 7, exact=True, needs=())
def _(g):
    a, b = pair(g, "any" if g.flip(0.1) else "num")
    if g.flip(0.3):
        a, b = b, a
    op = g.pick("+-*")
    return call(f"{{a}} {op} {{b}}", f"{{a}} {op} {{b}}", a=a, b=b)


@row("div", 2, exact=True, needs=())
def _(g):
    b = g.t("num", interval=(0.05, 100) if g.flip(0.8) else None)
    a = g.bcast(b, "num")
    return call("{a} / {b}", "{a} / {b}", a=a, b=b)


@row("mod", 2, needs=())
def _(g):
    a = g.t("num", interval=(-1e4, 1e4))
    b = g.bcast(a, "num", interval=(0.3, 10) if g.flip(0.8) else None)
    if g.flip():
        return call("{a} % {b}", "{a} % {b}", a=a, b=b)
    return call("{a} // {b}", "({a} // {b}).detach()", a=a, b=b)


@row("pow", 2, needs=())
def _(g):
    a = g.t("num", interval=g.pick([(0.05, 20), (0.05, 20), (-20, 20)]))
    kind = g.rng.random()
    if kind < 0.5:
        b = g.pick([2, 3, 0.5, -1, 1, 0, 2.0, 1.5, -0.5, 4])
    else:
        b = g.bcast(a, interval=(-3, 4))
    if kind > 0.9:
        return call("{b} ** {a}", "{b} ** {a}", a=a, b=g.pick([2, 2.0, 0.5, 3]))
    return call(g.pick(["{a} ** {b}", "{a}.pow({b})"]), "{a} ** {b}", a=a, b=b)


@row("minmax", 2, exact=True, needs=())
def _(g):
    a = g.t("any" if g.flip(0.1) else "num")
    b = g.bcast(a, scalar=0)
    op = g.pick(["maximum", "minimum"])
    return call(g.spell(op, "a", "b"), f"torch.{op}({{a}}, {{b}})", a=a, b=b)


@row("compare", 2.5, exact=True, needs=())
def _(g):
    a = g.t("any" if g.flip(0.2) else "num")
    op = g.pick(["==", "!=", "<", "<=", ">", ">="])
    return call(f"{{a}} {op} {{b}}", f"{{a}} {op} {{b}}", a=a, b=g.bcast(a))


@row("bits", 1, exact=True, needs=())
def _(g):
    a = g.t("bits")
    op = g.pick("&|^")
    return call(f"{{a}} {op} {{b}}", f"{{a}} {op} {{b}}", a=a, b=g.bcast(a, "bits", scalar=0))


@row("mask", 1.5, exact=True, needs=())
def _(g):
    """A bool tensor of an existing shape, for where and its kin."""
    x = g.t("num")
    return call("{x} > {c}", "{x} > {c}", x=x, c=g.pick([0, 0.5, 1]))


@row("where", 2.5, exact=True)
def _(g):
    c = g.t("bool")
    a = g.bcast(c, "num")
    b = g.bcast(a if isinstance(a, Var) else c, "num")
    return call(g.spell("where", "c", "a", "b", method=False), "torch.where({c}, {a}, {b})",
                c=c, a=a, b=b)


@row("clamp", 2, exact=True)
def _(g):
    x = g.t("num", interval=(-1e38, 1e38))  # the gradient at nan is 1 here, 0 in PyTorch
    whole = not g.val(x).is_floating_point()
    least = 0 if g.val(x).dtype == torch.uint8 else -1
    low = g.pick([least, 0, 1]) if whole else g.pick([-1.0, -0.5, 0, 0.25])
    high = low + g.pick([1, 2]) if whole else low + g.pick([0.5, 1, 2.0])
    form = g.rng.random()
    if form < 0.5:
        return call(g.spell("clamp", "x", "min=a", "max=b"), "torch.clamp({x}, {a}, {b})",
                    x=x, a=low, b=high)
    key = g.pick(["min", "max"])
    return call(g.spell("clamp", "x", f"~{key}=a"), f"torch.clamp({{x}}, {key}={{a}})", x=x, a=low)


@row("clamp_tensor", 0.4, exact=True, needs=("clamp",))
def _(g):
    x = g.t("float")
    key = g.pick(["min", "max"])
    return call(f"{{x}}.clamp({key}={{a}})", f"torch.clamp({{x}}, {key}={{a}})", x=x,
                a=g.bcast(x, str(g.val(x).dtype)[6:], scalar=0))


@row("masked_fill", 1, exact=True)
def _(g):
    x = g.t("num")
    m = g.t("bool", where=lambda y: fits(y.shape, g.val(x).shape), shape=g.val(x).shape)
    v = g.number(str(g.val(x).dtype)[6:])
    return call(g.spell("masked_fill", "x", "m", "v"), "torch.masked_fill({x}, {m}, {v})",
                x=x, m=m, v=v)


def fits(small, large):
    """Whether a shape broadcasts into another."""
    small = [1] * (len(large) - len(small)) + list(small)
    return len(small) == len(large) and all(a in (1, b) for a, b in zip(small, large))


@row("atan2", 0.5)
def _(g):
    a = g.t("float", interval=(0.01, 1e4))
    return call(g.spell("atan2", "a", "b"), "torch.atan2({a}, {b})", a=a, b=g.bcast(a, scalar=0))


@row("lerp", 0.7)
def _(g):
    a = g.t("float")
    b = g.like(a)
    w = g.pick([0.25, 0.5, 0.9]) if g.flip() else g.like(a)
    return call(g.spell("lerp", "a", "b", "w"), "torch.lerp({a}, {b}, {w})", a=a, b=b, w=w)


# ---- casts and creation ----

@row("cast", 2, needs=())
def _(g):
    x = g.t("any")
    to = g.pick(g.floats + g.ints + ["bool", "float32", "int64"])
    v = g.val(x).detach()
    if to in INTS and v.numel():
        low = -0.99 if to == "uint8" else -120
        if not bool(((v > low) & (v < 120)).all()):
            raise Skip
    short = {"float32": "float", "float64": "double", "int64": "long", "int32": "int",
             "bool": "bool", "float16": "half", "bfloat16": "bfloat16"}
    if to in short and g.flip(0.3):
        return call(f"{{x}}.{short[to]}()", "{x}.to({d})", x=x, d=Dtype(to))
    return call(g.pick(["{x}.to({d})", "{x}.type({d})", "{x}.to(dtype={d})"]), "{x}.to({d})",
                x=x, d=Dtype(to))


@row("like", 0.7, exact=True, needs=())
def _(g):
    f = g.pick(["zeros_like", "ones_like"])
    x = g.t("any")
    if g.flip(0.3):
        return call(f"{f}({{x}}, dtype={{d}})", f"torch.{f}({{x}}, dtype={{d}})", x=x,
                    d=Dtype(g.pick(g.floats + g.ints)))
    return call(g.spell(f, "x"), f"torch.{f}({{x}})", x=x)


@row("create", 1, exact=True, needs=())
def _(g):
    kind, s, d = g.rng.randrange(6), g.shape(0, 3), Dtype(g.pick(g.floats + g.ints))
    if kind == 0:
        f = g.pick(["zeros", "ones"])
        star = ", ".join(str(n) for n in s)
        gt = g.pick([f"{f}({{s}}, dtype={{d}})", f"{f}({star + ', ' if s else ''}dtype={{d}})"])
        return call(gt, f"torch.{f}({{s}}, dtype={{d}})", s=s, d=d)
    if kind == 1:
        v = g.number("float32" if g.flip() else "uint8")
        return call("full({s}, {v})", "torch.full({s}, {v})", s=s, v=v)
    if kind == 2:
        n, m = g.rng.randint(0, 4), g.rng.randint(0, 4)
        if g.flip():
            return call("eye({n})", "torch.eye({n})", n=n)
        return call("eye({n}, {m})", "torch.eye({n}, {m})", n=n, m=m)
    if kind == 3:
        a, b, c = g.rng.randint(-3, 3), g.rng.randint(-3, 9), g.pick([1, 2, 3, -1])
        if (b - a) * c < 0:
            a, b = b, a
        form = g.pick(["({b})", "({a}, {b})", "({a}, {b}, {c})"])
        if form == "({b})":
            b = abs(b)
        if form == "({a}, {b})":
            a, b = min(a, b), max(a, b)
        return call("arange" + form, "torch.arange" + form, a=a, b=b, c=c)
    if kind == 4:
        a, b, c = g.pick([0.0, -1.0, 0.5]), g.pick([1.0, 2.25, 3.0]), g.pick([0.25, 0.5, 0.75])
        return call("arange({a}, {b}, {c})", "torch.arange({a}, {b}, {c})", a=a, b=b, c=c)
    return call("full_like({x}, {v})", "torch.full_like({x}, {v})", x=g.t("float"),
                v=g.pick([0, 1, 2.5, -3]))


@row("linspace", 0.4)
def _(g):
    return call("linspace({a}, {b}, {n})", "torch.linspace({a}, {b}, {n})",
                a=g.pick([0, -1.0, 0.5]), b=g.pick([1, 2.25, 3.0]), n=g.rng.randint(0, 6))


# ---- reductions ----

def reduction(g, x, name, py, params=(), **args):
    """name(x, axis=, keepdims=) in both spellings; py with the place {rest}."""
    axis, keep = g.axes(x), g.flip(0.35)
    gt, rest = ["x", *params], []
    if axis is not None:
        gt.append("axis=a" if not params else "~axis=a")
        rest.append("dim={a}")
        if keep:
            gt.append("keepdims=k" if name not in ("var", "std") else "~keepdims=k")
            rest.append("keepdim={k}")
    text = py.replace("{rest}", "".join(", " + r for r in rest))
    return call(g.spell(name, *gt), text, x=x, a=axis, k=keep, **args)


@row("sum", 2.5)
def _(g):
    return reduction(g, g.t("any"), "sum", "torch.sum({x}{rest})")


@row("mean", 2)
def _(g):
    return reduction(g, g.t("float"), "mean", "torch.mean({x}{rest})")


@row("amax", 2, exact=True, needs=())
def _(g):
    name = g.pick(["max", "min"])
    x = g.t("any" if g.flip(0.2) else "num", where=lambda y: y.numel() > 0 or g.wild,
            shape=g.shape(0, 3))
    gt = name if g.flip(0.7) else "a" + name
    return reduction(g, x, gt, f"torch.a{name}({{x}}{{rest}})")


@row("prod", 1)
def _(g):
    x = g.t("any" if g.flip(0.3) else "num")
    if g.flip(0.5):
        return call(g.spell("prod", "x"), "torch.prod({x})", x=x)
    a, k = g.axis(x), g.flip(0.3)
    return call(g.spell("prod", "x", "axis=a", "keepdims=k"),
                "torch.prod({x}, dim={a}, keepdim={k})", x=x, a=a, k=k)


@row("anyall", 1, exact=True, needs=())
def _(g):
    name = g.pick(["any", "all"])
    x = g.t("any")
    if g.val(x).dtype == torch.uint8:
        raise Skip                      # PyTorch gives uint8
    return reduction(g, x, name, f"torch.{name}({{x}}{{rest}})")


@row("logsumexp", 1)
def _(g):
    x, k = g.t("float"), g.flip(0.3)
    a = g.axes(x)
    if a is None:
        a = list(range(g.val(x).ndim))
        return call("logsumexp({x})", "torch.logsumexp({x}, {a})", x=x, a=a)
    return call(g.spell("logsumexp", "x", "axis=a", "keepdims=k"),
                "torch.logsumexp({x}, {a}, keepdim={k})", x=x, a=a, k=k)


@row("argminmax", 1.5, exact=True, needs=())
def _(g):
    name = g.pick(["argmax", "argmin"])
    x, k = g.t("num"), g.flip(0.3)
    if g.flip(0.3):
        return call(g.spell(name, "x"), f"torch.{name}({{x}})", x=x)
    return call(g.spell(name, "x", "axis=a", "keepdims=k"),
                f"torch.{name}({{x}}, dim={{a}}, keepdim={{k}})", x=x, a=g.axis(x), k=k)


@row("varstd", 2, needs=())
def _(g):
    name = g.pick(["var", "std"])
    x = g.t("float", interval=(-1e15, 1e15))
    if bool((g.val(x).abs() > 1e15).any()):
        raise Skip                      # squares in double there
    if g.flip(0.4):
        c = g.pick([0, 1, 2])
        return reduction(g, x, name, f"torch.{name}({{x}}, correction={{c}}{{rest}})",
                         ("~correction=c",), c=c)
    return reduction(g, x, name, f"torch.{name}({{x}}{{rest}})")


@row("norm", 1.5)
def _(g):
    x = g.t("float", interval=(-1e9, 1e9), where=lambda y: y.numel() > 0, shape=g.shape(0, 3))
    p = g.pick([2, 2, 1, 3, float("inf"), 0, 0.5, float("-inf")])
    if p == 0 and g.val(x).requires_grad:
        p = 2                           # a count: PyTorch's gradient is zeros, ours none
    axis = g.axes(x)
    if isinstance(axis, list) and g.flip():
        axis = axis[:1]
    if axis is None:
        return call(g.spell("norm", "x", "p=p"), "torch.linalg.vector_norm({x}, {p})", x=x, p=p)
    return call(g.spell("norm", "x", "p=p", "axis=a", "keepdims=k"),
                "torch.linalg.vector_norm({x}, {p}, dim={a}, keepdim={k})", x=x, p=p, a=axis,
                k=g.flip(0.3))


@row("cumsum", 1.5)
def _(g):
    x = g.t("any")
    return call(g.spell("cumsum", "x", "axis=a"), "torch.cumsum({x}, {a})", x=x, a=g.axis(x))


@row("cumprod", 0.7)
def _(g):
    x = g.t("num", interval=(-100, 100))
    return call(g.spell("cumprod", "x", "axis=a"), "torch.cumprod({x}, {a})", x=x, a=g.axis(x))


@row("sort", 1.5, exact=True)
def _(g):
    x = g.t("num")
    return call(g.spell("sort", "x", "axis=a", "descending=d"),
                "torch.sort({x}, dim={a}, descending={d}, stable=True)[0]", x=x, a=g.axis(x),
                d=g.flip())


@row("argsort", 1, exact=True)
def _(g):
    x = g.t("num")
    return call(g.spell("argsort", "x", "axis=a", "descending=d"),
                "torch.sort({x}, dim={a}, descending={d}, stable=True)[1]", x=x, a=g.axis(x),
                d=g.flip())


@row("topk", 1.5, exact=True)
def _(g):
    x = g.t("num", 1)
    a = g.axis(x)
    shape = g.val(x).shape
    k = g.rng.randint(0, shape[a] if -len(shape) <= a < len(shape) else 2)
    large = g.flip(0.7)
    return call(g.spell("topk", "x", "k", "axis=a", "largest=d"),
                "[torch.narrow(t, {a}, 0, {k}) for t in "
                "torch.sort({x}, dim={a}, descending={d}, stable=True)]",
                x=x, k=k, a=a, d=large)


@row("median", 0.8, exact=True)
def _(g):
    x = g.t("num", where=lambda y: y.numel() > 0, shape=g.shape(0, 3))
    if not g.val(x).numel():
        raise Skip                      # PyTorch gives the lowest number
    if g.flip(0.4):
        return call(g.spell("median", "x"), "torch.median({x})", x=x)
    return call(g.spell("median", "x", "axis=a", "keepdims=k"),
                "torch.median({x}, dim={a}, keepdim={k})[0]", x=x, a=g.axis(x), k=g.flip(0.3))


@row("quantile", 0.6)
def _(g):
    x = g.t("real", where=lambda y: 0 < y.numel() < 10000, shape=g.shape(0, 3))
    q = g.pick([0.0, 0.25, 0.5, 0.9, 1.0, 0.3])
    if g.flip(0.4):
        return call(g.spell("quantile", "x", "q"), "torch.quantile({x}, {q})", x=x, q=q)
    return call(g.spell("quantile", "x", "q", "axis=a", "keepdims=k"),
                "torch.quantile({x}, {q}, dim={a}, keepdim={k})", x=x, q=q, a=g.axis(x),
                k=g.flip(0.3))


@row("count_nonzero", 0.5, exact=True)
def _(g):
    x = g.t("any")
    if g.flip(0.4):
        return call(g.spell("count_nonzero", "x"), "torch.count_nonzero({x})", x=x)
    return call(g.spell("count_nonzero", "x", "axis=a"), "torch.count_nonzero({x}, dim={a})",
                x=x, a=g.axis(x))


@row("bincount", 0.4, exact=True)
def _(g):
    x = g.ids([g.rng.randint(0, 8)], 5)
    return call(g.spell("bincount", "x", "n"), "torch.bincount({x}, minlength={n})", x=x, n=5)


# ---- shape ----

def factors(g, n, k):
    """k numbers whose product is n."""
    out = []
    for _ in range(k - 1):
        d = g.pick([d for d in range(1, n + 1) if n % d == 0][:8]) if n else 1
        out.append(d)
        n = n // d if d else 0
    out.append(n)
    g.rng.shuffle(out)
    return out


@row("reshape", 2.5, exact=True)
def _(g):
    x = g.t("any")
    n = g.val(x).numel()
    shape = factors(g, n, g.rng.randint(1, 4))
    if g.flip(0.4) and n:
        shape[g.rng.randrange(len(shape))] = -1
    star = ", ".join(str(s) for s in shape)
    gt = g.pick(["{x}.reshape({s})", f"{{x}}.reshape({star})", "reshape({x}, {s})",
                 f"{{x}}.view({star})", f"reshape({{x}}, {star})"])
    return call(gt, "{x}.reshape({s})", x=x, s=shape)


@row("flatten", 1, exact=True)
def _(g):
    x = g.t("any")
    if g.flip(0.4):
        return call(g.spell("flatten", "x"), "torch.flatten({x})", x=x)
    return call(g.spell("flatten", "x", "a", "b"), "torch.flatten({x}, {a}, {b})", x=x,
                a=g.axis(x), b=g.axis(x))


@row("permute", 1.5, exact=True)
def _(g):
    x = g.t("any", 1)
    n = g.val(x).ndim
    axes = g.rng.sample(range(n), n)
    axes = [a - n if g.flip(0.2) else a for a in axes]
    star = ", ".join(str(a) for a in axes)
    return call(g.pick([f"{{x}}.permute({star})", "permute({x}, {a})", "{x}.permute({a})"]),
                "{x}.permute({a})", x=x, a=axes)


@row("transpose", 2, exact=True)
def _(g):
    x = g.t("any", 2)
    if g.flip(0.3) and g.val(x).ndim > 1:
        return call(g.pick(["{x}.T", "{x}.transpose()", "transpose({x})"]),
                    "{x}.transpose(-2, -1)", x=x)
    return call(g.spell("transpose", "x", "a", "b"),
                "torch.transpose({x}, {a}, {b})", x=x, a=g.axis(x), b=g.axis(x))


@row("squeeze", 1.2, exact=True)
def _(g):
    x = g.t("any")
    if g.flip(0.4):
        return call(g.spell("squeeze", "x"), "torch.squeeze({x})", x=x)
    return call(g.spell("squeeze", "x", "axis=a"), "torch.squeeze({x}, {a})", x=x, a=g.axis(x))


@row("unsqueeze", 1.5, exact=True)
def _(g):
    x = g.t("any", 0, 3)
    return call(g.spell("unsqueeze", "x", "axis=a"), "torch.unsqueeze({x}, {a})", x=x,
                a=g.axis(x, 1))


@row("expand", 1.5, exact=True)
def _(g):
    x = g.t("any", 0, 3)
    shape = [g.pick([n, -1]) if n != 1 else g.pick([1, 2, 3, 0, -1]) for n in g.val(x).shape]
    shape = g.pick([[], [], [2], [3]]) + shape
    star = ", ".join(str(s) for s in shape)
    return call(g.pick(["{x}.expand({s})", f"{{x}}.expand({star})", "expand({x}, {s})"]),
                "{x}.expand({s})", x=x, s=shape)


@row("repeat", 1, exact=True)
def _(g):
    x = g.t("any", 0, 3)
    times = [g.pick([1, 1, 2, 3, 0]) for _ in range(g.val(x).ndim + g.pick([0, 0, 1]))]
    star = ", ".join(str(s) for s in times)
    return call(g.pick(["{x}.repeat({s})", f"{{x}}.repeat({star})", "repeat({x}, {s})"]),
                "{x}.repeat({s})", x=x, s=times)


@row("cat", 2, exact=True)
def _(g):
    x = g.t("any", 1)
    a = g.axis(x)
    shape = list(g.val(x).shape)
    if shape == [0] and g.wild:
        raise Skip                      # joins with anything in PyTorch, for history's sake
    xs = [x]
    for _ in range(g.rng.randint(0, 2)):
        if -len(shape) <= a < len(shape):
            shape[a] = g.dim()
        want = list(shape)
        xs.append(g.t("any" if g.flip(0.2) else str(g.val(x).dtype)[6:], shape=want,
                      where=lambda y: y.ndim == len(want) and all(
                          p == q or i == a % len(want) for i, (p, q) in
                          enumerate(zip(y.shape, want)))))
    g.rng.shuffle(xs)
    return call(g.spell("cat", "x", "axis=a", method=False), "torch.cat({x}, {a})", x=xs, a=a)


@row("stack", 1.2, exact=True)
def _(g):
    x = g.t("any", 0, 3)
    xs = [x] + [g.like(x, fresh=0.2) for _ in range(g.rng.randint(0, 2))]
    return call(g.spell("stack", "x", "axis=a", method=False), "torch.stack({x}, {a})", x=xs,
                a=g.axis(x, 1))


@row("split", 1.2, exact=True)
def _(g):
    x = g.t("any", 1)
    a = g.axis(x)
    shape = g.val(x).shape
    n = shape[a] if -len(shape) <= a < len(shape) else 2
    size = g.rng.randint(1, max(n, 1))
    if g.flip(0.4):
        cut = g.rng.randint(0, n)
        size = [cut, n - cut]
    return call(g.spell("split", "x", "s", "axis=a"), "torch.split({x}, {s}, {a})", x=x, s=size,
                a=a)


@row("chunk", 1, exact=True)
def _(g):
    x = g.t("any", 1)
    return call(g.spell("chunk", "x", "n", "axis=a"), "torch.chunk({x}, {n}, {a})", x=x,
                n=g.rng.randint(1, 4), a=g.axis(x))


@row("unbind", 0.8, exact=True)
def _(g):
    x = g.t("any", 1)
    return call(g.spell("unbind", "x", "axis=a"), "torch.unbind({x}, {a})", x=x, a=g.axis(x))


@row("flip", 1, exact=True)
def _(g):
    x = g.t("any", 1)
    n = g.val(x).ndim
    axes = g.rng.sample(range(n), g.rng.randint(1, n))
    return call(g.pick(["{x}.flip({a})", "flip({x}, {a})",
                        f"{{x}}.flip({', '.join(str(a) for a in axes)})"]),
                "torch.flip({x}, {a})", x=x, a=axes)


@row("roll", 1, exact=True)
def _(g):
    x = g.t("any")
    if g.flip(0.3):
        return call(g.spell("roll", "x", "s"), "torch.roll({x}, {s})", x=x,
                    s=g.rng.randint(-4, 4))
    if g.flip(0.2) and g.val(x).ndim > 1:
        return call(g.spell("roll", "x", "s", "axis=a"), "torch.roll({x}, {s}, {a})", x=x,
                    s=[g.rng.randint(-4, 4), g.rng.randint(-4, 4)], a=[0, 1])
    return call(g.spell("roll", "x", "s", "axis=a"), "torch.roll({x}, {s}, {a})", x=x,
                s=g.rng.randint(-4, 4), a=g.axis(x))


@row("pad", 1, exact=True)
def _(g):
    x = g.t("num", 1)
    n = g.rng.randint(1, g.val(x).ndim)
    widths = [g.pick([0, 1, 2, 1]) for _ in range(2 * n)]
    v = g.number(str(g.val(x).dtype)[6:])
    return call(g.spell("pad", "x", "w", "value=v") if g.flip(0.7) else "pad({x}, {w}, value={v})",
                "F.pad({x}, {w}, value={v})", x=x, w=widths, v=v)


@row("tri", 1, exact=True, needs=())
def _(g):
    name = g.pick(["tril", "triu"])
    x = g.t("any", 2)
    if g.flip(0.4):
        return call(g.spell(name, "x"), f"torch.{name}({{x}})", x=x)
    return call(g.spell(name, "x", "k"), f"torch.{name}({{x}}, {{k}})", x=x,
                k=g.rng.randint(-3, 3))


@row("movedim", 0.7, exact=True)
def _(g):
    x = g.t("any", 1)
    return call(g.spell("movedim", "x", "a", "b"), "torch.movedim({x}, {a}, {b})", x=x,
                a=g.axis(x), b=g.axis(x))


@row("repeat_interleave", 0.7, exact=True)
def _(g):
    x = g.t("any", 1)
    return call(g.spell("repeat_interleave", "x", "n", "axis=a"),
                "torch.repeat_interleave({x}, {n}, dim={a})", x=x, n=g.pick([1, 2, 3]),
                a=g.axis(x))


@row("diag", 0.7, exact=True)
def _(g):
    x = g.t("any", 1, 2)
    if g.flip():
        return call(g.spell("diag", "x"), "torch.diag({x})", x=x)
    return call(g.spell("diag", "x", "k"), "torch.diag({x}, {k})", x=x, k=g.rng.randint(-2, 2))


@row("trace", 0.5)
def _(g):
    return call(g.spell("trace", "x"), "torch.trace({x})", x=g.t("num", 2, 2))


@row("meshgrid", 0.4, exact=True)
def _(g):
    a, b = g.t("num", 1, 1), g.t("num", 1, 1)
    return call("meshgrid({a}, {b})", "torch.meshgrid({a}, {b}, indexing='ij')", a=a, b=b)


# ---- indexing ----

@row("index", 6, exact=True, needs=())
def _(g):
    x = g.t("any", 1)
    return call("{x}[{i}]", "{x}[{i}]", x=x, i=g.index(x))


@row("index_mask", 0.8, exact=True, needs=())
def _(g):
    m = g.t("bool", 1)
    shape = g.val(m).shape
    x = g.t("any", where=lambda y: y.shape[:len(shape)] == shape, shape=shape)
    return call("{x}[{m}]", "{x}[{m}]", x=x, m=m)


@row("nonzero", 0.4, exact=True)
def _(g):
    return call(g.spell("nonzero", "x"), "torch.nonzero({x})", x=g.t("any", 1))


@row("put_mask", 0.8, exact=True, needs=())
def _(g):
    x = g.t("num", 1)
    m = g.like(x, "bool")
    return call("where({m}, {v}, {x})", "torch.where({m}, {v}, {x})", x=x, m=m,
                v=g.number(str(g.val(x).dtype)[6:]))


@row("gather", 1.5, exact=True)
def _(g):
    x = g.t("any", 1, where=lambda y: y.numel() > 0, shape=g.shape(1, 3))
    a = g.axis(x)
    shape = list(g.val(x).shape)
    i = g.ids([g.rng.randint(0, n) if k != a % len(shape) else g.rng.randint(0, 4)
               for k, n in enumerate(shape)], shape[a])
    return call(g.spell("gather", "x", "a", "i"), "torch.gather({x}, {a}, {i})", x=x, a=a, i=i)


@row("index_select", 1, exact=True)
def _(g):
    x = g.t("any", 1, where=lambda y: y.numel() > 0, shape=g.shape(1, 3))
    a = g.axis(x)
    i = g.ids([g.rng.randint(0, 4)], g.val(x).shape[a])
    return call(g.spell("index_select", "x", "a", "i"), "torch.index_select({x}, {a}, {i})", x=x,
                a=a, i=i)


@row("scatter_add", 1)
def _(g):
    x = g.t("num", 1, where=lambda y: y.numel() > 0, shape=g.shape(1, 3))
    a = g.axis(x)
    shape = list(g.val(x).shape)
    i = g.ids([g.rng.randint(0, n) if k != a % len(shape) else g.rng.randint(0, 4)
               for k, n in enumerate(shape)], shape[a])
    src = g.t(str(g.val(x).dtype)[6:], where=lambda y: y.shape == g.val(i).shape,
              shape=g.val(i).shape)
    return call(g.spell("scatter_add", "x", "a", "i", "s"),
                "torch.scatter_add({x}, {a}, {i}, {s})", x=x, a=a, i=i, s=src)


@row("scatter", 0.6, exact=True)
def _(g):
    x = g.t("num", 1, where=lambda y: y.numel() > 0, shape=g.shape(1, 3))
    a = g.axis(x)
    shape = list(g.val(x).shape)
    order = g.rng.sample(range(shape[a]), g.rng.randint(0, shape[a]))
    index = g.ids([len(order) if k == a % len(shape) else n for k, n in enumerate(shape)], 1)
    if not g.val(index).numel():
        raise Skip
    # Each place is written once: which of several writes wins is not promised.
    leaf = g.stmts[-1]
    step = 1
    for n in shape[a % len(shape) + 1:]:
        step *= n
    leaf.values = [order[k // step % len(order)] for k in range(len(leaf.values))]
    g.run([leaf])
    src = g.t(str(g.val(x).dtype)[6:], where=lambda y: y.shape == g.val(index).shape,
              shape=g.val(index).shape)
    return call(g.spell("scatter", "x", "a", "i", "s"), "torch.scatter({x}, {a}, {i}, {s})", x=x,
                a=a, i=index, s=src)


@row("one_hot", 0.7, exact=True)
def _(g):
    i = g.ids(g.shape(0, 2), 4)
    return call(g.spell("one_hot", "i", "n"), "F.one_hot({i}, {n})", i=i, n=g.pick([4, 5]))


@row("item", 0.6, needs=())
def _(g):
    """A host number back into the program."""
    x = g.t("float", where=lambda y: y.numel() == 1, shape=[])
    return call("{x} * {x}.item()", "{x} * {x}.item()", x=x)


@row("shape", 0.5, exact=True, needs=())
def _(g):
    """Shapes as host values."""
    x = g.t("num", 1)
    gt, py = g.pick([("{x}.shape[{a}]", "{x}.shape[{a}]"), ("{x}.ndim", "{x}.ndim"),
                     ("{x}.numel()", "{x}.numel()"), ("{x}.size({a})", "{x}.size({a})"),
                     ("{x}.dim()", "{x}.dim()"), ("len({x})", "len({x})")])
    return call("{y} * 0 + " + gt, "{y} * 0 + " + py, x=x, y=g.t("num", 0, 1), a=g.axis(x))
