"""spec_more.py: functions that PyTorch has beside the usual ones; see functions.py.
SPDX-License-Identifier: MIT
"""
import torch

from functions import cases, means, MEANING

for name, fill in [("new_zeros", 0), ("new_empty", 0), ("new_ones", 1)]:
    cases(name, f"{name}(x, 2, 3) | f(2) ; f64(2) ; i64(1) ; u8(3) ; b1(2) ; f16(1) ; bf16(1) ; i8(2) ; f()\n"
          f"{name}(x, [2, 1]) | f(2) ; i32(2)\nx.{name}(3) | f(1, 1)",
          lambda x, *size, fill=fill: x.new_full(size[0] if isinstance(size[0], list) else size, fill))
cases("new_full", """
new_full(x, [2, 3], 7) | f(2) ; f64(2) ; i64(1) ; u8(3) ; f16(1) ; bf16(1) ; i8(2) ; f()
x.new_full([2], 1.5) | f(2) ; f64(1)
""", lambda x, size, v: x.new_full(size, v))
cases("is_floating_point", "is_floating_point(x) | f(2) ; f64() ; f16(1) ; bf16(2) ; i64(2) ; u8(1) ; b1(2) ; i8() ; i32(1)\nx.is_floating_point() | f(0)")

for name in ["clamp_min", "clamp_max"]:
    word = name[-3:]
    cases(name, f"{name}(x, 0.55) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; fv(inf, -inf) ; f(0, 2) ; f()\n"
          f"{name}(x, 2.5) | fv(nan, 3, 1) | nograd\n{name}(x, 2) | i64(5) ; u8(4) ; i8(4) ; i32(2, 2)\nx.{name}({word}=-1.25) | f(3)\n{name}(x, y) | f(3, 4), f(4) ; i64(3), i64(3)",
          lambda x, bound=None, torchs=getattr(torch, name), word=word, **k: torchs(x, k.get(word, bound)))
cases("rsub", """
rsub(x, 2) | f(3, 4) ; f64(2) ; i64(3) ; f16(3) ; bf16(3) ; f() ; f(0, 2) ; u8(3, hi=2) ; i8(3)
rsub(x, y) | f(2, 3), f(3) ; f(2, 1), f(2) ; i64(2), i64(2)
x.rsub(y, alpha=2) | f(3), f(3, s=1)
""")
cases("ldexp", """
ldexp(x, y) | f(3), i64(3) ; f(2, 3), i64(3) ; f64(3), i64(3) ; f(2, 1), i32(4) ; f(0), i64(0) ; f(), i64() ; fv(inf, nan, 0), i64(3)
x.ldexp(y) | f(2, 2), i64(2)
""")
cases("erfc", """
erfc(x) | f(3, 4) ; f64(3, 4) ; f16(4) ; bf16(4) ; fv(inf, -inf, nan, 0) ; f64v(inf, -inf, nan, 0, 0.5, 0.49) ; f(0, 2) ; f() ; i64(3, lo=0, hi=3) | scale=40
x.erfc() | f(2, 2, lo=2, hi=6) ; f64(4, lo=2, hi=20) | scale=200
""", lambda x: torch.erfc(x if x.is_floating_point() else x.float()))
cases("erfinv", """
erfinv(x) | f(3, 4, lo=-0.95, hi=0.95) ; f64(3, 4, lo=-0.99, hi=0.99) ; f16(4, lo=-0.8, hi=0.8) ; bf16(4, lo=-0.8, hi=0.8) ; f(0, 2) ; f(lo=0, hi=0.5) | scale=20
erfinv(x) | fv(0, 1, -1, 2, nan, 0.9999, -0.99999) ; f64v(0, 1, -1, 2, nan, 0.999999, -0.9) | nograd, scale=20
x.erfinv() | f(2, 2, lo=-0.5, hi=0.5) | scale=20
""")

cases("dist", """
dist(x, y) | f(3, 4), f(3, 4, s=1) ; f64(3), f64(3, s=1) ; f(2, 3), f(3) ; f(0), f(0) ; f(), f() ; f(1, 1), f(1, 1, s=2)
dist(x, y, 1) | f(3), f(3, s=1) ; f64(2, 2), f64(2, 2, s=1)
x.dist(y, p=inf) | f(3, 2), f(3, 2, s=1)
dist(x, y, 3) | f(4), f(4, s=1)
""")
cases("msort", "msort(x) | f(3, 4) ; f64(5) ; i64(4, 2) ; u8(5) ; i8(3, 3) ; f16(5) ; bf16(3, 2) ; fv(2, nan, -inf, 1) ; f(0, 2) ; f(1, 3) ; b1(5)\nx.msort() | f(2, 2, 2)")


@means("mode")
def mode(x, axis=-1, keepdims=False):
    return list(torch.mode(x, axis, keepdims))


# Where no element comes twice PyTorch gives the smallest; operands have few values, so that some do.
cases("mode", """
mode(x) | i64(7, lo=0, hi=3) ; i64(3, 6, lo=0, hi=2) ; f(2, 5) ; u8(6, hi=2) ; i8(6, lo=-1, hi=1) ; b1(5) ; fv(1.5, 2.5, 1.5, 2.5) ; i32(2, 2, 5, lo=0, hi=1) ; f(1, 1) ; f64v(3, 1, 3)
mode(x, 0) | i64(5, 3, lo=0, hi=2) ; f(3, 2)
x.mode(axis=-2, keepdims=true) | i64(4, 3, lo=0, hi=1)
mode(x, 1) | i64(2, 6, 2, lo=0, hi=2)
""")
cases("ravel", "ravel(x) | f(3, 4) ; f64(2, 2, 2) ; i64(3) ; b1(2, 2) ; f() ; f(0, 2) ; f16(2, 2) ; bf16(2, 1) ; u8(1, 3)\nravel(x.T) | f(2, 3)\nx.ravel() | i8(2, 2)")
cases("split_with_sizes", """
split_with_sizes(x, [1, 3]) | f(4) ; f64(4, 2) ; i64(4) ; b1(4, 1) ; f16(4) ; bf16(4, 2) ; u8(4)
split_with_sizes(x, [2, 0, 1], 1) | f(2, 3) ; i32(1, 3)
x.split_with_sizes([2, 1], axis=-1) | f(2, 3)
""")


@means("select_scatter")
def select_scatter(x, src, axis, index):
    return torch.select_scatter(x, src, axis, index)


cases("select_scatter", """
select_scatter(x, y, 0, 1) | f(3, 4), f(4) ; f64(2, 2), f64(2) ; i64(3, 2), i64(2) ; b1(2, 3), b1(3) ; f16(2, 2), f16(2) ; bf16(2, 2), bf16(2) ; f(3), f()
select_scatter(x, y, 1, -1) | f(2, 3), f(2) ; u8(2, 3), u8(2)
x.select_scatter(y, -1, 0) | f(2, 2, 3), f(2, 2)
""")


@means("slice_scatter")
def slice_scatter(x, src, axis=0, start=None, end=None, step=1):
    return torch.slice_scatter(x, src, axis, start, end, step)


cases("slice_scatter", """
slice_scatter(x, y, 0, 1, 3) | f(4, 2), f(2, 2) ; f64(3), f64(2) ; i64(3, 2), i64(2, 2) ; b1(4), b1(2) ; f16(4), f16(2) ; bf16(4), bf16(2)
slice_scatter(x, y, 1, 0, 3, 2) | f(2, 3), f(2, 2) ; u8(1, 4), u8(1, 2)
slice_scatter(x, y, 0, -2) | f(4), f(2)
x.slice_scatter(y, axis=-1, start=1) | f(2, 3), f(2, 2)
slice_scatter(x, y) | f(2), f(2)
""")
