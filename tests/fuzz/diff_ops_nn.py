"""diff_ops_nn.py: the calls of random programs, second part: products, linear algebra, layers as
functions, losses. The first part and what a row is: diff_ops.py.
SPDX-License-Identifier: MIT"""
from diff_ast import Var
from diff_ops import Skip, call, row


def dtype_of(g, x):
    return str(g.val(x).dtype)[6:]


def some(n):
    """A test: tensors with at least one and at most n elements."""
    return lambda y: 0 < y.numel() <= n


# ---- products ----

@row("matmul", 4)
def _(g):
    a = g.t("num" if g.flip(0.2) else "float", 1)
    s = list(g.val(a).shape)
    kind = g.rng.random()
    if kind < 0.2:
        shape = [s[-1]]
    elif kind < 0.7 or len(s) < 3:
        shape = [s[-1], g.dim()]
    else:
        shape = [n if g.flip(0.7) else 1 for n in s[:-2]] + [s[-1], g.dim()]
        if g.flip(0.2):
            shape = shape[1:] if len(shape) > 2 else shape
    b = g.t(dtype_of(g, a), shape=shape, where=lambda y: y.ndim > 0 and
            y.shape[-2 if y.ndim > 1 else 0] == s[-1] and list(y.shape) == shape)
    if g.flip(0.15) and len(s) > 1 and len(shape) > 1:
        return call("{b}.transpose(-2, -1) @ {a}.transpose(-2, -1)",
                    "{b}.transpose(-2, -1) @ {a}.transpose(-2, -1)", a=a, b=b)
    return call(g.pick(["{a} @ {b}", "{a} @ {b}", g.spell("matmul", "a", "b")]), "{a} @ {b}",
                a=a, b=b)


EINSUM = [("ij,jk->ik", 2), ("ij,ij->", 2), ("ij->ji", 1), ("ij->i", 1), ("ij->", 1),
          ("i,j->ij", 2), ("bij,bjk->bik", 2), ("ij,j->i", 2), ("ii->i", 1), ("ii->", 1),
          ("bij,bij->b", 2), ("ij,jk,kl->il", 3), ("...ij,...jk->...ik", 2), ("ij,kj->ik", 2),
          ("ijk->kji", 1), ("i,i", 2), ("ij,jk", 2), ("bhid,bhjd->bhij", 2), ("...i->...", 1)]


@row("einsum", 1.5)
def _(g):
    spec, n = g.pick(EINSUM)
    size = {c: g.rng.choice([1, 2, 2, 3, 3, 4, 0]) for c in "abcdefghijkl"}
    dots = [g.rng.randint(1, 3) for _ in range(g.rng.randint(0, 2))]
    dtype = g.pick(g.floats)
    xs = []
    for part in spec.split("->")[0].split(","):
        shape = (dots if "..." in part else []) + [size[c] for c in part.replace("...", "")]
        xs.append(g.t(dtype, shape=shape, interval=(-9, 9), where=lambda y: list(y.shape) == shape))
    args = {"s": spec, **{f"x{k}": x for k, x in enumerate(xs)}}
    names = ", ".join(f"{{x{k}}}" for k in range(n))
    return call(f"einsum({{s}}, {names})", f"torch.einsum({{s}}, {names})", **args)


@row("outer", 0.7)
def _(g):
    a = g.t("num", 1, 1)
    b = g.t(dtype_of(g, a), 1, 1)
    return call(g.spell("outer", "a", "b"), "torch.outer({a}, {b})", a=a, b=b)


@row("cdist", 0.5)
def _(g):
    d = g.rng.randint(1, 3)
    a = g.leaf(g.pick([f for f in g.floats if f in ("float32", "float64")]), [g.dim(), d])
    b = g.leaf(dtype_of(g, a), [g.dim(), d])
    return call(g.spell("cdist", "a", "b"),
                "torch.cdist({a}, {b}, compute_mode='donot_use_mm_for_euclid_dist')", a=a, b=b)


def square_matrix(g, batch=(), floor=0):
    """A well-conditioned matrix: random, with a heavy diagonal."""
    n = g.rng.randint(max(floor, 1), 4) if g.flip(0.95) else floor
    dtypes = [f for f in g.floats if f in ("float32", "float64")]
    if not dtypes:
        raise Skip
    a = g.leaf(g.pick(dtypes), [*batch, n, n], interval=(-1, 1))
    eye = call("{a} + 3 * eye({n})", "{a} + 3 * torch.eye({n})", a=a, n=n)
    if dtype_of(g, a) == "float64":
        eye = call("{a} + 3 * eye({n}, dtype=float64)",
                   "{a} + 3 * torch.eye({n}, dtype=torch.float64)", a=a, n=n)
    return g.bind(eye), n


@row("solve", 0.6)
def _(g):
    batch = g.pick([[], [], [2]])
    a, n = square_matrix(g, batch)
    shape = [*batch, n, g.rng.randint(1, 3)]
    if not batch and g.flip(0.4):
        shape = [n]
    b = g.leaf(dtype_of(g, a), shape)
    return call(g.spell("solve", "a", "b"), "torch.linalg.solve({a}, {b})", a=a, b=b)


@row("inv", 0.5)
def _(g):
    a, _n = square_matrix(g, g.pick([[], [], [2]]))
    return call(g.spell("inv", "a"), "torch.linalg.inv({a})", a=a)


@row("cholesky", 0.5)
def _(g):
    a, _n = square_matrix(g, g.pick([[], [], [2]]))
    a = g.bind(call("{a} @ {a}.transpose(-2, -1)", "{a} @ {a}.transpose(-2, -1)", a=a))
    return call(g.spell("cholesky", "a"), "torch.linalg.cholesky({a})", a=a)


@row("det", 0.4)
def _(g):
    a, _n = square_matrix(g)
    return call(g.spell("det", "a"), "torch.linalg.det({a})", a=a)


# ---- layers as functions ----

@row("softmax", 2, needs=())
def _(g):
    name = g.pick(["softmax", "log_softmax"])
    x = g.t("float", 1, interval=None if g.flip(0.1) else (-50, 50))
    a = g.axis(x)
    gt = g.spell(name, "x", "axis=a") if g.flip(0.8) else f"F.{name}({{x}}, {{a}})"
    return call(gt, f"torch.{name}({{x}}, dim={{a}})", x=x, a=a)


@row("linear", 1.2)
def _(g):
    x = g.t("float", 1)
    n, d = g.val(x).shape[-1], dtype_of(g, x)
    m = g.dim()
    w = g.t(d, shape=[m, n], where=lambda y: list(y.shape) == [m, n])
    if g.flip():
        return call(g.spell("linear", "x", "w"), "F.linear({x}, {w})", x=x, w=w)
    b = g.t(d, shape=[m], where=lambda y: list(y.shape) == [m])
    return call(g.spell("linear", "x", "w", "b"), "F.linear({x}, {w}, {b})", x=x, w=w, b=b)


@row("embedding", 0.8)
def _(g):
    w = g.t("float", 2, 2, where=lambda y: y.numel() > 0, shape=[g.rng.randint(1, 5), 3])
    i = g.ids(g.shape(0, 2), g.val(w).shape[0])
    return call("embedding({i}, {w})", "F.embedding({i}, {w})", i=i, w=w)


@row("layer_norm", 1.2)
def _(g):
    x = g.t("float", 1, where=lambda y: y.numel() > 0 and y.shape[-1] > 1, shape=[2, 3])
    s = list(g.val(x).shape)
    shape = s[-g.rng.randint(1, len(s)):]
    d = dtype_of(g, x)
    if g.flip():
        return call("layer_norm({x}, {s})", "F.layer_norm({x}, {s})", x=x, s=shape)
    w, b = (g.t(d, shape=shape, where=lambda y: list(y.shape) == shape) for _ in range(2))
    return call(g.pick(["layer_norm({x}, {s}, {w}, {b})", "layer_norm({x}, {s}, w={w}, b={b})"]),
                "F.layer_norm({x}, {s}, {w}, {b})", x=x, s=shape, w=w, b=b)


@row("rms_norm", 0.8)
def _(g):
    x = g.t("float", 1, where=some(20000), shape=[2, 3])
    s = [g.val(x).shape[-1]]
    if g.flip():
        return call("rms_norm({x}, {s}, eps=1e-5)", "F.rms_norm({x}, {s}, eps=1e-5)", x=x, s=s)
    w = g.t(dtype_of(g, x), shape=s, where=lambda y: list(y.shape) == s)
    return call("rms_norm({x}, {s}, {w}, eps=1e-5)", "F.rms_norm({x}, {s}, {w}, eps=1e-5)", x=x,
                s=s, w=w)


@row("group_norm", 0.6)
def _(g):
    groups = g.rng.randint(1, 2)
    c = groups * g.rng.randint(1, 2)
    shape = [g.rng.randint(1, 2), c, *[g.rng.randint(2, 3) for _ in range(g.rng.randint(1, 2))]]
    x = g.t("real", 3, 4, shape=shape, where=lambda y: list(y.shape) == shape)
    d = dtype_of(g, x)
    if g.flip():
        return call("group_norm({x}, {n})", "F.group_norm({x}, {n})", x=x, n=groups)
    w, b = g.leaf(d, [c]), g.leaf(d, [c])
    return call("group_norm({x}, {n}, {w}, {b})", "F.group_norm({x}, {n}, {w}, {b})", x=x,
                n=groups, w=w, b=b)


@row("batch_norm", 0.6)
def _(g):
    c = g.rng.randint(1, 3)
    shape = [g.rng.randint(2, 3), c, *[g.rng.randint(1, 3) for _ in range(g.rng.randint(0, 2))]]
    x = g.t("real", 2, 4, shape=shape, where=lambda y: list(y.shape) == shape)
    d = dtype_of(g, x)
    mean, var = g.leaf(d, [c], (-1, 1), False), g.leaf(d, [c], (0.5, 2), False)
    w, b = g.leaf(d, [c]), g.leaf(d, [c])
    return call("batch_norm({x}, {m}, {v}, {w}, {b})", "F.batch_norm({x}, {m}, {v}, {w}, {b})",
                x=x, m=mean, v=var, w=w, b=b)


@row("attention", 1)
def _(g):
    batch = g.pick([[], [2], [1, 2]])
    t, s, d, e = (g.rng.randint(1, 3) for _ in range(4))
    dtype = g.pick(g.floats)

    def part(*shape):
        shape = [*batch, *shape]
        return g.t(dtype, shape=shape, interval=(-2, 2), where=lambda y: list(y.shape) == shape)
    q, k, v = part(t, d), part(s, d), part(s, e)
    if g.flip(0.3):
        return call(g.pick(["attention({q}, {k}, {v}, causal=true)",
                            "scaled_dot_product_attention({q}, {k}, {v}, is_causal=true)"]),
                    "F.scaled_dot_product_attention({q}, {k}, {v}, is_causal=True)", q=q, k=k, v=v)
    if g.flip(0.3):
        m = g.leaf(dtype, [t, s], param=False)
        return call("attention({q}, {k}, {v}, mask={m})",
                    "F.scaled_dot_product_attention({q}, {k}, {v}, attn_mask={m})", q=q, k=k, v=v,
                    m=m)
    return call("attention({q}, {k}, {v})", "F.scaled_dot_product_attention({q}, {k}, {v})", q=q,
                k=k, v=v)


@row("conv", 1.5, needs=("conv1d", "conv2d"))
def _(g):
    r = g.rng
    rank = g.pick([1, 2, 2])
    groups = g.pick([1, 1, 1, 2])
    c, m = groups * r.randint(1, 2), groups * r.randint(1, 2)
    k = [r.randint(1, 3) for _ in range(rank)]
    s, p, d = r.randint(1, 2), r.randint(0, 2), r.randint(1, 2)
    size = [max(1, d * (n - 1) + 1 - 2 * p) + r.randint(0, 3) for n in k]
    dtype = g.pick([f for f in g.floats if f in ("float32", "float64")])
    x = g.leaf(dtype, [r.randint(1, 2), c, *size], (-3, 3))
    w = g.leaf(dtype, [m, c // groups, *k], (-3, 3))
    b = g.leaf(dtype, [m]) if g.flip() else None
    args = "({x}, {w}, {b}, stride={s}, padding={p}, dilation={d}, groups={g})"
    return call(f"conv{rank}d{args}", f"F.conv{rank}d{args}", x=x, w=w, b=b, s=s, p=p, d=d,
                g=groups)


@row("conv_transpose2d", 0.7)
def _(g):
    r = g.rng
    c, m, s = r.randint(1, 2), r.randint(1, 2), r.randint(1, 2)
    k = [r.randint(1, 3) for _ in range(2)]
    p = r.randint(0, min(k) - 1)
    dtype = g.pick([f for f in g.floats if f in ("float32", "float64")])
    if min(k) + s <= 2 * p:
        raise Skip                      # a result without elements
    x = g.leaf(dtype, [r.randint(1, 2), c, r.randint(2, 3), r.randint(2, 3)], (-3, 3))
    w = g.leaf(dtype, [c, m, *k], (-3, 3))
    b = g.leaf(dtype, [m]) if g.flip() else None
    args = "({x}, {w}, {b}, stride={s}, padding={p})"
    return call(f"conv_transpose2d{args}", f"F.conv_transpose2d{args}", x=x, w=w, b=b, s=s, p=p)


@row("max_pool2d", 0.7)
def _(g):
    r = g.rng
    k = r.randint(1, 3)
    shape = [r.randint(1, 2), r.randint(1, 2), r.randint(3, 5), r.randint(3, 5)]
    x = g.leaf(g.pick([f for f in g.floats if f in ("float32", "float64")]), shape)
    p = r.randint(0, k // 2)
    if g.flip(0.4):
        return call("max_pool2d({x}, {k})", "F.max_pool2d({x}, {k})", x=x, k=k)
    return call("max_pool2d({x}, {k}, stride={s}, padding={p})",
                "F.max_pool2d({x}, {k}, stride={s}, padding={p})", x=x, k=k, s=r.randint(1, 2), p=p)


@row("avg_pool2d", 0.7)
def _(g):
    r = g.rng
    k = r.randint(1, 3)
    shape = [r.randint(1, 2), r.randint(1, 2), r.randint(3, 5), r.randint(3, 5)]
    x = g.leaf(g.pick([f for f in g.floats if f in ("float32", "float64")]), shape)
    p = r.randint(0, k // 2)
    if g.flip(0.4):
        return call("avg_pool2d({x}, {k})", "F.avg_pool2d({x}, {k})", x=x, k=k)
    return call("avg_pool2d({x}, {k}, stride={s}, padding={p})",
                "F.avg_pool2d({x}, {k}, stride={s}, padding={p})", x=x, k=k, s=r.randint(1, 2), p=p)


# ---- losses ----

REDUCTIONS = ["mean", "sum", "none"]


@row("pair_loss", 2, needs=("mse_loss", "l1_loss"))
def _(g):
    name, more = g.pick([("mse_loss", ""), ("l1_loss", ""), ("smooth_l1_loss", ", beta={c}"),
                         ("huber_loss", ", delta={c}")])
    x = g.t("float", where=some(20000), shape=g.shape(0, 3))
    y = g.like(x)
    if g.flip(0.4):
        return call(f"{name}({{x}}, {{y}})", f"F.{name}({{x}}, {{y}})", x=x, y=y)
    args = "({x}, {y}, reduction={r}" + more + ")"
    return call(name + args, "F." + name + args, x=x, y=y, r=g.pick(REDUCTIONS),
                c=g.pick([1.0, 0.5, 2.0]))


@row("bce", 1)
def _(g):
    x = g.t("real", interval=(0.001, 0.999))
    y = g.like(x, interval=(0, 1))
    if isinstance(y, Var) and g.val(y).requires_grad:
        raise Skip
    args = "({x}, {y}, reduction={r})"
    return call(g.pick(["bce", "binary_cross_entropy"]) + args, "F.binary_cross_entropy" + args,
                x=x, y=y, r=g.pick(REDUCTIONS))


@row("bce_with_logits", 1)
def _(g):
    x = g.t("real", interval=(-40, 40))
    y = g.like(x, interval=(0, 1))
    if g.val(x).dtype != g.val(y).dtype:
        raise Skip                      # PyTorch gives the target's dtype
    name = "binary_cross_entropy_with_logits"
    args = "({x}, {y}, reduction={r})"
    more = {}
    if g.flip(0.3):
        args = "({x}, {y}, weight={w}, reduction={r})"
        more["w"] = g.like(x, interval=(0, 2))
        if g.val(more["w"]).requires_grad:
            raise Skip
    return call(g.pick(["bce_with_logits", name]) + args, f"F.{name}" + args, x=x, y=y,
                r=g.pick(REDUCTIONS), **more)


@row("kl_div", 0.7)
def _(g):
    x = g.t("real", 1, interval=(-10, 10))
    log = g.flip(0.4)
    y = g.like(x, interval=(-3, 0) if log else (0, 1))
    args = "({x}, {y}, reduction={r}, log_target={l})"
    return call("kl_div" + args, "F.kl_div" + args, x=x, y=y, l=log,
                r=g.pick(REDUCTIONS + ["batchmean"]))


@row("cross_entropy", 2)
def _(g):
    r = g.rng
    c = r.randint(1, 4)
    shape = g.pick([[c], [r.randint(1, 4), c], [r.randint(1, 3), c, 2], [0, c]])
    name = g.pick(["cross_entropy", "cross_entropy", "nll_loss"])
    x = g.t("real", shape=shape, where=lambda y: list(y.shape) == shape)
    at = 0 if len(shape) == 1 else 1
    spatial = shape[:at] + shape[at + 1:]
    more = {}
    if name == "cross_entropy" and g.flip(0.2):
        y = g.like(x, interval=(0, 1))
    else:
        y = g.ids(spatial, c)
        if g.flip(0.2):
            leaf = g.stmts[-1]
            leaf.values = [v if g.flip(0.7) else -100 for v in leaf.values]
            g.run([leaf])
    args = "({x}, {y}"
    if g.flip(0.3):
        more["w"] = g.leaf(dtype_of(g, x), [c], (0.1, 2), False)
        args += ", weight={w}"
    if name == "cross_entropy" and g.flip(0.3):
        more["s"] = g.pick([0.1, 0.5])
        args += ", label_smoothing={s}"
    args += ", reduction={r})"
    return call(name + args, "F." + name + args, x=x, y=y, r=g.pick(REDUCTIONS), **more)
