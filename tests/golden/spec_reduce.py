"""spec_reduce.py: reductions, sorting and what runs along an axis; see functions.py.
SPDX-License-Identifier: MIT
"""
import math

import torch

from functions import cases, fl, means, MEANING


def axes(x, axis):
    return tuple(range(x.dim())) if axis is None else tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)


def both(name):
    """dim=, keepdim= are accepted for axis=, keepdims=."""
    f = MEANING[name]
    MEANING[name] = lambda x, *args, dim=None, keepdim=None, **more: f(
        x, *args, **({"axis": dim} if dim is not None else {}), **({"keepdims": keepdim} if keepdim is not None else {}), **more)


ALONG = """
{f}(x) | f(3, 4) ; f64(2, 3) ; f() ; f(1, 1) ; f16(2, 4) ; bf16(2, 4)
{f}(x, axis=0) | f(3, 4) ; f64(2, 3, 2) ; f(4) ; f(1, 3) ; f16(3, 2) ; bf16(3, 2)
{f}(x, -1) | f(3, 4) ; f(2, 2, 3)
{f}(x, axis=1, keepdims=true) | f(3, 4) ; f64(2, 3, 2) ; f(3, 1)
x.{f}(axis=-2) | f(2, 3, 2)
{f}(x.T, axis=0) | f(3, 4)
{f}(x) | fv(1, nan, 2) ; fv(1, inf, 2) ; f64v(-inf, 2, 1) ; fv(inf, -inf)
"""
SEVERAL = """
{f}(x, axis=[0, 2]) | f(2, 3, 2) ; f64(2, 1, 3)
{f}(x, axis=[-1, 0], keepdims=true) | f(2, 2, 3)
{f}(x, dim=1, keepdim=true) | f(2, 3)
x.{f}(axis=[1]) | f(3, 2)
"""
EMPTY = "{f}(x) | f(0) ; f(2, 0)\n{f}(x, axis=0) | f(0, 3)\n{f}(x, axis=1) | f(0, 3) ; f64(2, 0)\n"
EMPTY_AXIS = "{f}(x, axis=1) | f(0, 3)\n"
WHOLE = "{f}(x) | i64(2, 3) ; i32(3) ; i8(4) ; u8(4) ; b1(5)\n{f}(x, axis=0) | i64(2, 3) ; u8(2, 3) ; b1(3, 2) ; i8(2, 2)\n"


def reduction(name, meaning, *lines):
    MEANING[name] = meaning
    both(name)
    cases(name, "".join(lines).format(f=name))


reduction("sum", lambda x, axis=None, keepdims=False: torch.sum(x, axes(x, axis), keepdims) if x.dim() else torch.sum(x),
          ALONG, SEVERAL, EMPTY, WHOLE, "{f}(x) | u8v(200, 100) ; i8v(127, 127) ; f16v(2048, 1, 1, 1) ; bf16v(256, 1, 1, 1)\n")


@means("prod")
def prod(x, axis=None, keepdims=False):
    """PyTorch's prod takes one axis; several are one after the other."""
    if axis is None:
        y = x.prod()
        return y.reshape([1] * x.dim()) if keepdims else y
    for a in sorted((a % x.dim() for a in axes(x, axis)), reverse=True):
        x = x.prod(a, keepdim=keepdims)
    return x


# beside nan and infinity PyTorch's gradient is nan throughout; ours is the product of the others
reduction("prod", prod, ALONG.replace("fv(inf, -inf)", "fv(inf, -inf) | nograd"), SEVERAL, EMPTY, WHOLE, "{f}(x) | fv(2, 0, 3) ; fv(0, 0, 3) ; i8v(100, 100)\n")
# mean of whole numbers is float32; PyTorch refuses
reduction("mean", lambda x, axis=None, keepdims=False: fl(x).mean(axes(x, axis), keepdims) if x.dim() else fl(x).mean(),
          ALONG, SEVERAL, EMPTY, WHOLE)
TIES = "{f}(x) | fv(2, 1, 2, 1) ; f64v(1, 1, 1)\n{f}(x, axis=0) | f(3, 2, lo=0, hi=0.01)\n"
def pair(f, shared):
    """The values of PyTorch's pair along one axis: the gradient goes to the index. Else ties share it."""
    def g(x, axis=None, keepdims=False):
        if isinstance(axis, int) and x.dim():
            return f(x, axis, keepdims).values
        return shared(x, axes(x, axis), keepdims)
    return g


for name, f, shared in [("max", torch.max, torch.amax), ("min", torch.min, torch.amin)]:
    reduction(name, pair(f, shared), ALONG, SEVERAL, TIES, EMPTY_AXIS, WHOLE,
              "x.a{f}(axis=1) | f(2, 3)\n{f}(x, 1) | f(2, 3)\n{f}(x, axis=0) | f(2, 0)\n")
    reduction("a" + name, lambda x, axis=None, keepdims=False, f=shared: f(x, axes(x, axis), keepdims), ALONG, SEVERAL, TIES, EMPTY_AXIS, WHOLE,
              "x.{f}(axis=1) | f(2, 3)\n{f}(x, 1) | f(2, 3)\n{f}(x, axis=0) | f(2, 0)\n")
LOGIC = """
{f}(x) | b1(3, 4) ; b1(0) ; b1(1, 1) ; b1() ; i64(2, 3) ; f(3) ; fv(0, nan) ; fv(0, 0) ; u8(3) ; i8(3) ; f16(3) ; bf16(3) ; b1v(True, True)
{f}(x, axis=0) | b1(3, 4) ; b1(0, 3) ; i32(2, 3, lo=0, hi=1)
{f}(x, axis=-1, keepdims=true) | b1(3, 2) ; b1(2, 0)
{f}(x, axis=[0, 2]) | b1(2, 3, 2)
x.{f}(axis=1) | b1(2, 3)
"""


def logic(f, x, axis, keepdims):
    y = f(x.bool(), axes(x, axis), keepdims) if x.dim() else f(x.bool())
    return y.bool()                         # PyTorch keeps uint8


for name, f in [("any", torch.any), ("all", torch.all)]:
    reduction(name, lambda x, axis=None, keepdims=False, f=f: logic(f, x, axis, keepdims), LOGIC)
ARG = """
{f}(x) | f(3, 4) ; f64(5) ; i64(2, 3) ; u8(4) ; i8(4) ; i32(3) ; f16(4) ; bf16(4) ; f(1) ; f()
{f}(x) | fv(2, 1, 2, 1) ; fv(1, nan, 5, nan) ; fv(-inf, inf, inf) ; fv(-inf, -inf) ; i64v(3, 3, 3)
{f}(x, axis=0) | f(3, 4) ; f(2, 3, 2) ; f(1, 3) ; f(3, 0) ; i64(3, 2, lo=0, hi=1)
{f}(x, axis=-1, keepdims=true) | f(3, 4) ; f64(2, 3)
{f}(x, 1) | f(2, 3) ; u8(2, 3)
x.{f}(axis=-2) | f(2, 3, 2)
{f}(x.T, axis=1) | f(3, 4)
"""
for name, f in [("argmax", torch.argmax), ("argmin", torch.argmin)]:
    reduction(name, lambda x, axis=None, keepdims=False, f=f: f(x, axis, keepdims), ARG)
CORRECTED = """
{f}(x, correction=0) | f(3, 4) ; f64(5)
{f}(x, axis=0, correction=0) | f(3, 2) ; f(1, 3)
{f}(x, axis=1, correction=2) | f(2, 4)
{f}(x, axis=[0, 2], correction=0, keepdims=true) | f(2, 2, 2)
{f}(x) | f(1) ; i64(4) ; u8(4) ; b1(4) ; i8(4)
{f}(x, 0, 0) | f(3, 2)
"""


def spread(f):
    def call(x, axis=None, correction=1, keepdims=False):
        x = fl(x)
        return f(x, axes(x, axis) or None, correction=correction, keepdim=keepdims)
    return call


# beside an infinity PyTorch's gradient is infinite, ours is nan: the values alone
for name, f in [("var", torch.var), ("std", torch.std)]:
    reduction(name, spread(f), ALONG.replace("fv(1, inf, 2) ; f64v(-inf, 2, 1) ; fv(inf, -inf)", "fv(inf, -inf)"), SEVERAL, CORRECTED)
    cases(name, f"{name}(x) | fv(1, inf, 2) ; f64v(-inf, 2, 1) | nograd")
    cases(name, f"{name}(x, axis=0) | fv(1, 1, 1) ; f(0, 2)")


@means("norm")
def norm(x, p=2, axis=None, keepdims=False):
    return torch.linalg.vector_norm(fl(x), p, axes(x, axis) if axis is not None else None, keepdims)


reduction("norm", norm, ALONG.replace("{f}(x, -1)", "{f}(x, 2, -1)"), SEVERAL, EMPTY, """
{f}(x, 1) | f(3, 4) ; f64(4) ; fv(0, 1, -2)
{f}(x, p=3, axis=0) | f(2, 3)
{f}(x, p=inf) | f(2, 3) ; fv(2, -2, 1) ; f(1)
{f}(x, p=-inf) | f(2, 3)
{f}(x, p=0) | fv(0, 1, 0, 2)
{f}(x, p=0.5, axis=1) | f(2, 3)
{f}(x) | fv(0, 0) ; i64(3) ; f64v(3, 4) ; fv(1e30, 1e30) ; i8(3) ; u8(3)
{f}(x, p=1, axis=1, keepdims=true) | f64(2, 2)
""")
reduction("logsumexp", lambda x, axis=None, keepdims=False: torch.logsumexp(fl(x), axes(x, axis), keepdims), ALONG, SEVERAL, """
{f}(x, axis=0) | f64v(1000, 1000) ; f64v(-1000, -1001) ; fv(90, 89) ; fv(-inf, -inf) ; fv(inf, 1) ; fv(-inf, 2) ; i64(3) ; u8(3) ; i8(3)
{f}(x, axis=1) | f(2, 0) ; f(0, 3)
""")

CUM = """
{f}(x, 0) | f(3, 4) ; f64(2, 3) ; f(5) ; f16(5) ; bf16(5) ; f(0, 3) ; f(1, 3) ; fv(1, nan, 2, inf)
{f}(x, axis=-1) | f(3, 4) ; f64(2, 2, 3) ; f(3, 1) ; f(3, 0) ; fv(inf, -inf, 1) ; f64v(2, 0, 3, 0, 1) ; fv(2, 3, 0, 4)
{f}(x, axis=1) | i64(2, 3) ; i32(2, 3) ; u8(2, 3) ; i8(2, 3) ; b1(2, 4)
x.{f}(axis=-2) | f(2, 3, 2)
{f}(x.T, axis=1) | f(3, 4)
{f}(x, dim=0) | f(2, 2)
"""
cases("cumsum", CUM.format(f="cumsum") + "cumsum(x, 0) | u8v(200, 100, 100) ; f16v(2048, 1, 1, 1)", lambda x, axis: torch.cumsum(x, axis))
# beside nan and infinity PyTorch's gradient is nan
cases("cumprod", CUM.format(f="cumprod").replace(" ; fv(1, nan, 2, inf)", "").replace("fv(inf, -inf, 1) ; ", "")
      + "cumprod(x, 0) | fv(1, nan, 2, inf) ; fv(inf, -inf, 1) | nograd", lambda x, axis: torch.cumprod(x, axis))
both("cumsum"), both("cumprod")

SORT = """
{f}(x) | f(3, 4) ; f64(5) ; i64(2, 4) ; i32(4) ; u8(5) ; i8(5) ; f16(4) ; bf16(4) ; b1(5) ; f(0) ; f(2, 0) ; f(1, 1)
{f}(x, axis=0) | f(3, 4) ; f64(3, 2, 2) ; f(0, 3)
{f}(x, axis=-2) | f(2, 3, 2)
{f}(x, descending=true) | f(3, 4) ; i64(5) ; u8(4) ; i8(4)
{f}(x, 0, true) | f(4, 2)
x.{f}(1) | f(2, 5)
{f}(x) | fv(nan, 1, inf, -inf, nan, 0) ; f64v(3, nan, 1) ; i64v(2, 1, 2, 1, 2)
{f}(x, descending=true) | fv(nan, 1, inf, -inf, 0) ; i64v(2, 1, 2, 1, 2)
{f}(x.T, axis=0) | f(2, 4)
"""
# values only; stable
cases("sort", SORT.format(f="sort"), lambda x, axis=-1, descending=False: torch.sort(x, stable=True, dim=axis, descending=descending)[0])
cases("argsort", SORT.format(f="argsort"), lambda x, axis=-1, descending=False: torch.argsort(x, stable=True, dim=axis, descending=descending))


@means("topk")
def topk(x, k, axis=-1, largest=True):
    """Of equal elements the first: a stable sort's first k."""
    order = torch.argsort(x, stable=True, dim=axis, descending=largest).narrow(axis, 0, k)
    return [torch.gather(x, axis, order), order]


cases("topk", """
topk(x, 2) | f(3, 4) ; f64(5) ; i64(2, 4) ; u8(4) ; i8(4) ; i32(4) ; f16(5) ; bf16(5)
topk(x, 2, axis=0) | f(3, 4) ; f64(3, 2)
topk(x, 3, axis=-2) | f(2, 3, 2)
topk(x, 2, largest=false) | f(3, 4) ; i64(5)
topk(x, k=1) | f(2, 3)
topk(x, 4) | fv(nan, 1, inf, -inf) ; fv(2, 1, 2, 1, 2)
topk(x, 0) | f(2, 3)
topk(x, 1, 1, true) | f(2, 1)
x.topk(2, 0, false) | f(4, 2)
topk(x, 2, largest=false) | fv(nan, 1, -inf, 0)
""")

cases("count_nonzero", """
count_nonzero(x) | f(3, 4) ; i64(2, 3, lo=0, hi=1) ; b1(5) ; f(0) ; fv(0, nan, inf, -0.0) ; u8(4, hi=1) ; i8(4, lo=0, hi=1) ; f16v(0, 1)
count_nonzero(x, axis=0) | b1(3, 4) ; i64(3, 2, lo=0, hi=1) ; b1(0, 3)
count_nonzero(x, axis=-1) | b1(2, 3)
x.count_nonzero(axis=[0, 1]) | b1(2, 3, 2)
""", lambda x, axis=None: torch.count_nonzero(x, axes(x, axis) if axis is not None else None))
cases("bincount", """
bincount(x, 5) | i64v(0, 1, 1, 3) ; i32v(4, 4, 4) ; u8v(0, 2) ; i64(0) ; i8v(1, 2, 2) ; i64v(4)
bincount(x, 4) | i64v(0, 3, 3, 0, 3)
x.bincount(3) | i64v(2, 2)
bincount(x, 1) | i64v(0, 0, 0)
bincount(x, n=6) | i64v(5, 0, 5)
""", lambda x, n: torch.bincount(x.long(), minlength=n))


@means("median")
def median(x, axis=None, keepdims=False):
    """Values only: the lower of the two in the middle, as PyTorch."""
    return x.median() if axis is None else x.median(axis, keepdims)[0]


both("median")
# with a nan the values alone: PyTorch's gradient goes to the nan
cases("median", """
median(x) | f(3, 4) ; f64(5) ; f(1) ; i64(6) ; i32(3) ; u8(5) ; i8(4) ; f16(5) ; bf16(4) ; fv(inf, 1, -inf) ; fv(4, 1, 3, 2)
median(x) | fv(1, nan, 3) | nograd
median(x, axis=0) | f(3, 4) ; f64(4, 2) ; f(1, 3)
median(x, -1, keepdims=true) | f(2, 4) ; i64(2, 3)
x.median(axis=1) | f(2, 3, 2)
""")


@means("quantile")
def quantile(x, q, axis=None, keepdims=False):
    return torch.quantile(x, q, dim=axis, keepdim=keepdims)


cases("quantile", """
quantile(x, 0.5) | f(3, 4) ; f64(5) ; f(1) ; fv(4, 1, 3, 2)
quantile(x, 0.25) | f(7) ; f64(4)
quantile(x, 0.25) | fv(1, nan, 3) | nograd
quantile(x, 0.0) | f(5)
quantile(x, 1.0) | f(5)
quantile(x, 0.9, axis=0) | f(3, 4)
quantile(x, 0.3, axis=-1, keepdims=true) | f(2, 5) ; f64(2, 3)
x.quantile(0.75, axis=1) | f(2, 4)
quantile(x, y) | f(6), fv(0.1, 0.5, 0.9) | nograd
quantile(x, y, axis=1) | f(2, 5), fv(0.2, 0.8) | nograd
""")
