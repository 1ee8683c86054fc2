"""diff_ops_more.py: the calls of random programs, third part: NumPy's and PyTorch's less common
functions. What a row is: diff_ops.py.
SPDX-License-Identifier: MIT"""
from diff_ops import Skip, call, row
from diff_ops_nn import dtype_of

# Two operands that broadcast: PyTorch's name is ours. kind, interval, exact.
PAIRS = {
    "fmax": ("float", (-1e30, 1e30), True), "fmin": ("float", (-1e30, 1e30), True),
    "hypot": ("real", (0.1, 100), False), "logaddexp": ("real", (-50, 50), False),
    "logaddexp2": ("real", (-50, 50), False), "copysign": ("float", (0.1, 1e4), True),
    "xlogy": ("real", (0.05, 100), False), "float_power": ("real", (0.1, 3), False),
    "logical_and": ("any", None, True), "logical_or": ("any", None, True),
    "logical_xor": ("any", None, True), "eq": ("num", None, True), "ge": ("num", None, True),
    "add": ("num", None, True), "sub": ("num", None, True), "mul": ("num", None, True),
    "isclose": ("real", (-1e4, 1e4), True), "heaviside": ("float", (0.1, 100), True),
}


def pair(name, kind, interval):
    def sample(g):
        a = g.t(kind, interval=interval)
        b = g.bcast(a, dtype_of(g, a), interval=interval, scalar=0)
        if name in ("heaviside", "copysign") and (g.val(a).requires_grad or g.val(b).requires_grad):
            raise Skip                  # PyTorch: no derivative, or zeros for the one without
        if name in ("add", "sub", "mul") and dtype_of(g, a) == "bool":
            raise Skip
        return call(g.spell(name, "a", "b"), f"torch.{name}({{a}}, {{b}})", a=a, b=b)
    return sample


for name_, (kind_, interval_, exact_) in PAIRS.items():
    row(name_, 0.35, exact_)(pair(name_, kind_, interval_))


@row("running", 1, exact=True, needs=("cummax", "cummin"))
def _(g):
    name = g.pick(["cummax", "cummin"])
    x = g.t("num", 1, where=lambda y: y.numel() > 0, shape=[3])
    return call(g.spell(name, "x", "axis=a") + "[0]", f"torch.{name}({{x}}, {{a}})[0]", x=x,
                a=g.axis(x))


@row("logcumsumexp", 0.5)
def _(g):
    x = g.t("real", 1, interval=(-50, 50))
    return call(g.spell("logcumsumexp", "x", "axis=a"), "torch.logcumsumexp({x}, {a})", x=x,
                a=g.axis(x))


@row("diff", 0.6, exact=True)
def _(g):
    x = g.t("num", 1)
    return call("diff({x}, axis={a})", "torch.diff({x}, dim={a})", x=x, a=g.axis(x))


@row("diagonal", 0.5, exact=True)
def _(g):
    x = g.t("any", 2)
    return call("diagonal({x}, {k})", "torch.diagonal({x}, {k})", x=x, k=g.rng.randint(-2, 2)) \
        if g.val(x).ndim == 2 else call("diagonal({x})", "torch.diagonal({x})", x=x)


@row("diag_embed", 0.5, exact=True)
def _(g):
    return call(g.spell("diag_embed", "x"), "torch.diag_embed({x})", x=g.t("num", 1, 3))


@row("kron", 0.4)
def _(g):
    a = g.t("float", 1, 2, where=lambda y: y.numel() < 30, shape=[2, 2])
    b = g.t(dtype_of(g, a), 1, 2, where=lambda y: y.numel() < 30, shape=[2])
    return call(g.spell("kron", "a", "b"), "torch.kron({a}, {b})", a=a, b=b)


@row("rot90", 0.4, exact=True)
def _(g):
    return call("rot90({x}, {k})", "torch.rot90({x}, {k})", x=g.t("any", 2),
                k=g.rng.randint(-3, 3))


@row("narrow", 0.5, exact=True)
def _(g):
    x = g.t("any", 1)
    a = g.axis(x)
    shape = g.val(x).shape
    n = shape[a] if -len(shape) <= a < len(shape) else 2
    start = g.rng.randint(0, n)
    return call(g.spell("narrow", "x", "a", "s", "n"), "torch.narrow({x}, {a}, {s}, {n})", x=x,
                a=a, s=start, n=g.rng.randint(0, n - start))


@row("stacks", 0.7, exact=True, needs=("hstack", "vstack", "dstack"))
def _(g):
    name = g.pick(["hstack", "vstack", "dstack"])
    x = g.t("any", 0, 3)
    xs = [x] + [g.like(x, fresh=0.2) for _ in range(g.rng.randint(0, 2))]
    return call(f"{name}({{x}})", f"torch.{name}({{x}})", x=xs)


@row("swaps", 0.5, exact=True, needs=("moveaxis", "swapdims"))
def _(g):
    name = g.pick(["moveaxis", "swapdims"])
    x = g.t("any", 1)
    return call(f"{name}({{x}}, {{a}}, {{b}})", f"torch.{name}({{x}}, {{a}}, {{b}})", x=x,
                a=g.axis(x), b=g.axis(x))


@row("index_add", 0.6)
def _(g):
    x = g.t("num", 1, where=lambda y: y.numel() > 0, shape=g.shape(1, 3))
    a, shape = g.axis(x), list(g.val(x).shape)
    k = g.rng.randint(1, 3)
    i = g.ids([k], shape[a])
    shape[a] = k
    src = g.leaf(dtype_of(g, x), shape)
    return call(g.spell("index_add", "x", "a", "i", "s"), "torch.index_add({x}, {a}, {i}, {s})",
                x=x, a=a, i=i, s=src)


@row("take", 0.5, exact=True)
def _(g):
    x = g.t("any", 0, 3, where=lambda y: y.numel() > 0, shape=[2, 3])
    return call(g.spell("take", "x", "i"), "torch.take({x}, {i})", x=x,
                i=g.ids(g.shape(0, 2), g.val(x).numel()))


@row("glu", 0.4)
def _(g):
    shape = g.shape(0, 2) + [2 * g.rng.randint(1, 2)]
    x = g.t("float", shape=shape, interval=(-50, 50), where=lambda y: list(y.shape) == shape)
    return call(g.spell("glu", "x"), "F.glu({x})", x=x)


@row("normalize", 0.5)
def _(g):
    x = g.t("float", 1, interval=(0.05, 100))
    return call("normalize({x}, axis={a})", "F.normalize({x}, dim={a})", x=x, a=g.axis(x))


@row("cosine_similarity", 0.5)
def _(g):
    x = g.t("real", 1, interval=(0.05, 100))
    return call("cosine_similarity({x}, {y}, axis={a})", "F.cosine_similarity({x}, {y}, dim={a})",
                x=x, y=g.like(x, interval=(0.05, 100)), a=g.axis(x))


@row("addmm", 0.5)
def _(g):
    n, k, m = (g.rng.randint(1, 4) for _ in range(3))
    d = g.pick([f for f in g.floats if f in ("float32", "float64")])
    a, b = g.leaf(d, [n, k], (-3, 3)), g.leaf(d, [k, m], (-3, 3))
    c = g.leaf(d, g.pick([[n, m], [m], [1, m]]), (-3, 3))
    return call(g.spell("addmm", "c", "a", "b"), "torch.addmm({c}, {a}, {b})", a=a, b=b, c=c)


@row("pad_modes", 0.5, exact=True, needs=("pad",))
def _(g):
    x = g.leaf(g.pick(g.floats), [g.rng.randint(1, 2), 2, g.rng.randint(3, 4)], (-3, 3))
    w = [g.rng.randint(0, 2), g.rng.randint(0, 2)]
    return call("pad({x}, {w}, mode={m})", "F.pad({x}, {w}, mode={m})", x=x, w=w,
                m=g.pick(["reflect", "replicate", "circular"]))


@row("interpolate", 0.5)
def _(g):
    d = g.pick([f for f in g.floats if f in ("float32", "float64")])
    x = g.leaf(d, [1, g.rng.randint(1, 2), g.rng.randint(2, 3), g.rng.randint(2, 3)], (-3, 3))
    size = [g.rng.randint(1, 5), g.rng.randint(1, 5)]
    mode = g.pick(["nearest", "bilinear"])
    return call("interpolate({x}, size={s}, mode={m})", "F.interpolate({x}, size={s}, mode={m})",
                x=x, s=size, m=mode)


@row("pool1d", 0.5, needs=("max_pool1d", "avg_pool1d"))
def _(g):
    d = g.pick([f for f in g.floats if f in ("float32", "float64")])
    x = g.leaf(d, [g.rng.randint(1, 2), 2, g.rng.randint(3, 6)], (-3, 3))
    name = g.pick(["max_pool1d", "avg_pool1d"])
    return call(f"{name}({{x}}, {{k}})", f"F.{name}({{x}}, {{k}})", x=x, k=g.rng.randint(1, 3))


@row("adaptive", 0.4, needs=("adaptive_avg_pool2d",))
def _(g):
    d = g.pick([f for f in g.floats if f in ("float32", "float64")])
    x = g.leaf(d, [1, 2, g.rng.randint(1, 5), g.rng.randint(1, 5)], (-3, 3))
    return call("adaptive_avg_pool2d({x}, {n})", "F.adaptive_avg_pool2d({x}, {n})", x=x,
                n=g.rng.randint(1, 3))


@row("margin_losses", 0.5, needs=("soft_margin_loss", "margin_ranking_loss", "poisson_nll_loss"))
def _(g):
    x = g.t("real", interval=(-5, 5))
    if g.flip():
        return call("poisson_nll_loss({x}, {y})", "F.poisson_nll_loss({x}, {y})", x=x,
                    y=g.like(x, interval=(0, 5)))
    return call("soft_margin_loss({x}, {y})", "F.soft_margin_loss({x}, {y})", x=x,
                y=g.like(x, interval=(-1, 1)))
