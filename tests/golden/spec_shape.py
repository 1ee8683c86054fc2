"""spec_shape.py: what moves, selects and casts elements, and what makes tensors; see functions.py.
SPDX-License-Identifier: MIT
"""
import math

import torch
import torch.nn.functional as F

from functions import cases, means, MEANING


def sizes(shape):
    return list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else list(shape)


KINDS = "f(2, 6) ; f64(3, 4) ; i64(2, 6) ; b1(2, 6) ; u8(2, 6) ; i8(2, 6) ; i32(2, 6) ; f16(2, 6) ; bf16(2, 6)"

cases("reshape", f"""
reshape(x, 3, 4) | {KINDS}
reshape(x, [4, -1]) | f(2, 6) ; f(2, 2, 3)
x.reshape(-1) | f(2, 3) ; f() ; f(0, 3) ; f(1, 1)
reshape(x, 0, 5) | f(0, 3)
reshape(x, 1, 1, -1, 1) | f(4)
reshape(x.T, 6) | f(2, 3)
x.view(6, -1) | f(3, 4)
x.view([2, 2]) | i64(4)
reshape(x, []) | f(1, 1)
""", lambda x, *shape: torch.reshape(x, sizes(shape)))
MEANING["view"] = MEANING["reshape"]
cases("flatten", """
flatten(x) | f(2, 3, 2) ; f() ; f(0, 2) ; i64(2, 2) ; b1(2, 1, 2) ; u8(2, 2)
flatten(x, 1) | f(2, 3, 2) ; f64(2, 2, 2, 1)
flatten(x, start=1, end=2) | f(2, 2, 3, 1)
x.flatten(-2) | f(2, 3, 2)
flatten(x, 0, 1) | f(2, 3, 2)
""", lambda x, start=0, end=-1: torch.flatten(x, start, end))
cases("permute", f"""
permute(x, 1, 0) | {KINDS}
permute(x, 2, 0, 1) | f(2, 3, 2) ; f(2, 0, 3) ; f64(1, 2, 3)
permute(x, [0, 2, 1]) | f(2, 3, 2)
x.permute(-1, 0, -2) | f(2, 3, 2)
permute(x, 3, 1, 0, 2) | f(2, 1, 3, 2)
""", lambda x, *axes: torch.permute(x, sizes(axes)))
cases("transpose", f"""
transpose(x) | {KINDS} ; f(2, 3, 2) ; f(0, 3)
transpose(x, 0, 1) | f(2, 3, 2) ; f64(2, 2)
x.transpose(-1, 0) | f(2, 3, 2)
x.transpose(1, 1) | f(2, 3)
x.T | f(2, 3) ; i64(2, 2)
x.T | f(2, 3, 2) | as: x.mT
x.t() | f(2, 3)
x.swapaxes(0, 2) | f(2, 1, 3)
transpose(x, a=0, b=-1) | f(1, 2, 3)
""", lambda x, a=-2, b=-1: torch.transpose(x, a, b))
MEANING["swapaxes"] = MEANING["transpose"]
cases("t", f"""
x.t() | {KINDS} ; f(0, 3) ; f(3) ; f() ; f64(2, 1) ; i64(2)
""", torch.t)
cases("squeeze", """
squeeze(x) | f(1, 3, 1, 2) ; f(1, 1) ; f(2, 3) ; f() ; f(1, 0) ; i64(1, 2)
squeeze(x, 0) | f(1, 3) ; f(2, 3) ; u8(1, 2) ; f16(1, 2) ; bf16(1, 2)
squeeze(x, axis=-1) | f(2, 3, 1) ; b1(2, 1)
x.squeeze(1) | f64(2, 1, 2)
x.squeeze([0, 2]) | f(1, 2, 1)
""", lambda x, axis=None: torch.squeeze(x) if axis is None else torch.squeeze(x, tuple(axis) if isinstance(axis, list) else axis))
cases("unsqueeze", """
unsqueeze(x, 0) | f(3) ; f() ; f(0, 2) ; i64(2, 2) ; b1(3) ; u8(2) ; i8(2) ; f16(2) ; bf16(2)
unsqueeze(x, -1) | f(2, 3) ; f64(3)
unsqueeze(x, axis=1) | f(2, 3)
x.unsqueeze(-2) | f(2, 3)
x.unsqueeze(2) | f(2, 3)
""", lambda x, axis: torch.unsqueeze(x, axis))
cases("expand", """
expand(x, 3, 4) | f(4) ; f(1, 4) ; f(3, 1) ; f() ; i64(4) ; b1(3, 1) ; f64(1, 1) ; f16(4) ; bf16(4)
expand(x, 2, -1, 3) | f(2, 1) ; f(1, 4, 1)
expand(x, [2, 2]) | f(1, 2)
x.expand(-1, 3) | f(2, 1) ; u8(2, 1) ; i8(2, 1)
expand(x, 0, 3) | f(1, 3)
""", lambda x, *shape: x.expand(sizes(shape)))
cases("repeat", """
repeat(x, 2) | f(3) ; i64(3) ; b1(2) ; u8(2) ; f16(2) ; bf16(2)
repeat(x, 2, 3) | f(2) ; f64(2, 2) ; f(1, 2)
repeat(x, [2, 1, 2]) | f(2, 2)
x.repeat(1, 1) | f(2, 3)
x.repeat(0, 2) | f(2, 2)
x.tile(2, 2) | f(1, 3)
repeat(x, 3) | f(0)
""", lambda x, *times: x.repeat(sizes(times)))
MEANING["tile"] = MEANING["repeat"]
cases("cat", """
cat([x, y]) | f(2, 3), f(1, 3, s=1) ; i64(2, 2), i64(1, 2) ; b1(2), b1(3) ; u8(2), u8(1) ; i8(2), i8(1) ; f16(2), f16(1) ; bf16(2), bf16(1)
cat([x, y], 1) | f(2, 3), f(2, 1, s=1) ; f64(2, 2), f64(2, 0)
cat([x, y, x], axis=-1) | f(2, 2), f(2, 1)
cat([x, y], 0) | f(2), f64(2) ; i64(2), f(2) ; u8(2), i64(2) ; b1(2), f(2) ; f16(2), bf16(2) ; i8(2), u8(2) ; f(0, 2), f(2, 2)
cat([x], 0) | f(3)
cat([x, y, z], dim=1) | f(2, 1, 2), f(2, 2, 2), f(2, 1, 2, s=1)
concat([x, y], 0) | f(2), f(1)
cat([x.T, y], 0) | f(2, 3), f(1, 2)
""", lambda xs, axis=0, dim=None: torch.cat(xs, axis if dim is None else dim))
MEANING["concat"] = MEANING["cat"]
cases("stack", """
stack([x, y]) | f(2, 3), f(2, 3, s=1) ; i64(2), i64(2, s=1) ; b1(2), b1(2) ; u8(2), u8(2) ; f(), f(s=1) ; f16(2), f16(2) ; bf16(2), bf16(2) ; f(0, 2), f(0, 2)
stack([x, y], 1) | f(2, 3), f(2, 3, s=1) ; f64(2), f64(2)
stack([x, y, x], axis=-1) | f(2, 2), f(2, 2, s=1)
stack([x, y], -2) | f(3), f(3, s=1)
""", lambda xs, axis=0: torch.stack(xs, axis))
PARTS = "f(4, 3) ; i64(5, 2) ; b1(4) ; u8(3) ; i8(3) ; f64(5) ; f16(4) ; bf16(4)"
cases("split", f"""
split(x, 2) | {PARTS}
split(x, 2, axis=1) | f(2, 5) ; f64(2, 4)
split(x, [1, 3], 0) | f(4, 2)
split(x, [2, 0, 1], axis=-1) | f(2, 3)
x.split(3) | f(2, 2)
x.split(1, -2) | f(2, 2, 2)
""", lambda x, size, axis=0: torch.split(x, size, axis))
cases("chunk", f"""
chunk(x, 2) | {PARTS}
chunk(x, 3, axis=1) | f(2, 5) ; f(2, 6)
chunk(x, 4, -1) | f(2, 6) ; f(2, 3)
x.chunk(1) | f(2, 2)
""", lambda x, n, axis=0: torch.chunk(x, n, axis))
cases("unbind", """
unbind(x) | f(2, 3) ; i64(3) ; b1(2, 2) ; u8(2) ; f16(2, 2) ; bf16(2) ; f(2, 0) ; i8(2)
unbind(x, 1) | f(2, 3) ; f64(2, 2, 2)
x.unbind(axis=-1) | f(2, 2, 3)
""", lambda x, axis=0: torch.unbind(x, axis))
cases("flip", """
flip(x, 0) | f(3, 2) ; i64(4) ; b1(3) ; u8(3) ; i8(3) ; f16(3) ; bf16(3) ; f(0, 2) ; f(1, 2)
flip(x, 0, 1) | f(2, 3)
flip(x, -1) | f(2, 3, 2) ; f64(2, 3)
flip(x, [0, 2]) | f(2, 3, 2)
x.flip(1) | f(2, 3)
""", lambda x, *axis: torch.flip(x, sizes(axis)))
cases("roll", """
roll(x, 1) | f(4) ; f(2, 3) ; i64(5) ; b1(4) ; u8(3) ; f(0)
roll(x, -2, 0) | f(4, 2) ; f64(3)
roll(x, 5, axis=1) | f(2, 3)
roll(x, [1, -1], [0, 1]) | f(2, 3)
x.roll(0, -1) | f(2, 2)
x.roll(2, -1) | f16(3) ; bf16(3) ; f(2, 3)
""", lambda x, shift, axis=None: torch.roll(x, shift, axis))
cases("pad", """
pad(x, [1, 2]) | f(2, 3) ; i64(3) ; u8(3) ; f64(2, 2) ; f16(2) ; bf16(2) ; f(0) ; i8(2)
pad(x, [1, 0, 0, 2]) | f(2, 3)
pad(x, [0, 1, 2, 0, 1, 1], 0.5) | f(1, 2, 2)
pad(x, [1, 1], value=-inf) | f(2, 2)
pad(x, [-1, 1]) | f(2, 3)
pad(x, [0, -2]) | f(2, 3)
x.pad([2, 2], 7) | i64(2)
pad(x, [0, 0]) | f(3)
""", lambda x, widths, mode="constant", value=0: F.pad(x, widths, *((mode, value) if isinstance(mode, str) else ("constant", mode))))
TRIANGLE = """
{f}(x) | f(3, 3) ; f(2, 4) ; f(4, 2) ; i64(3, 3) ; b1(3, 3) ; u8(2, 2) ; i8(2, 2) ; f16(2, 2) ; bf16(2, 2) ; f(0, 3) ; f(2, 2, 3)
{f}(x, 1) | f(3, 4) ; f64(3, 3)
{f}(x, k=-1) | f(3, 3)
{f}(x, -2) | f(4, 3)
{f}(x, 5) | f(2, 3)
x.{f}(-1) | fv(nan, inf, 1, 2).reshape(2, 2)
"""
for name, f in [("tril", torch.tril), ("triu", torch.triu)]:
    cases(name, TRIANGLE.format(f=name).replace("fv(nan, inf, 1, 2).reshape(2, 2)", "f(3, 3)"), lambda x, k=0, f=f: f(x, k))
cases("gather", """
gather(x, 1, y) | f(2, 4), i64(2, 3, lo=0, hi=3) ; i64(2, 4), i64(2, 2, lo=0, hi=3) ; b1(2, 4), i64(2, 2, lo=0, hi=3) ; f16(2, 4), i64(2, 2, lo=0, hi=3) ; bf16(2, 4), i64(2, 2, lo=0, hi=3)
gather(x, 0, y) | f(3, 2), i64(4, 2, lo=0, hi=2) ; f64(3), i64(5, lo=0, hi=2) ; f(3, 4), i64(2, 2, lo=0, hi=2) ; u8(3), i64(2, lo=0, hi=2)
gather(x, -1, y) | f(2, 2, 3), i64(2, 2, 2, lo=0, hi=2) ; f(2, 3), i64(2, 0)
x.gather(axis=1, index=y) | f(2, 3), i64(2, 1, lo=0, hi=2)
""", lambda x, axis, index: torch.gather(x, axis, index))
cases("index_select", """
index_select(x, 0, y) | f(3, 2), i64v(2, 0, 2) ; i64(4), i64v(3, 3) ; b1(3), i64v(1) ; u8(3), i32v(0, 2) ; f16(3), i64v(1, 1) ; bf16(3), i64v(2) ; f(3, 2), i64(0)
index_select(x, 1, y) | f(2, 4), i64v(3, 0) ; f64(2, 3), i64v(1, 1, 2)
x.index_select(-1, y) | f(2, 2, 3), i64v(2, 0)
index_select(x, axis=0, index=y) | f(2, 3), i64v(1)
""", lambda x, axis, index: torch.index_select(x, axis, index))
SCATTER = """
{f}(x, 1, y, z) | f(2, 4), i64(2, 3, lo=0, hi=3{u}), f(2, 3, s=1) ; f64(2, 3), i64v(2, 0).reshape(2, 1), f64(2, 1)
{f}(x, 0, y, z) | f(3, 2), i64v(2, 0).reshape(1, 2), f(1, 2, s=1) ; f(4), i64v(1, 3), f(2, s=1) ; i64(3), i64v(2, 0), i64(2, s=1) ; u8(3), i64v(1), u8(1) ; i8(3), i64v(1), i8(1)
{f}(x, 0, y, z) | f16(3), i64v(2, 0), f16(2, s=1) ; bf16(3), i64v(2, 0), bf16(2, s=1) ; f(3), i64v(1, 0), f(2, s=1)
x.{f}(-1, y, z) | f(2, 3), i64v(1, 2).reshape(2, 1), f(2, 1, s=1)
"""
cases("scatter_add", SCATTER.format(f="scatter_add", u="") + "scatter_add(x, 0, y, z) | f(2), i64v(1, 1, 1), f(3, s=1) ; i32(2), i64v(0, 0), i32(2, s=1)",
      lambda x, axis, index, src: torch.scatter_add(x, axis, index, src))
cases("scatter", SCATTER.format(f="scatter", u="").replace("i64(2, 3, lo=0, hi=3)", "i64v(2, 0, 3, 1, 3, 0).reshape(2, 3)") + """
scatter(x, 1, y, 9.0) | f(2, 3), i64v(0, 2).reshape(2, 1)
scatter(x, 0, y, 1) | i64(3), i64v(1)
""", lambda x, axis, index, src: torch.scatter(x, axis, index, src))
cases("one_hot", """
one_hot(x, 4) | i64v(0, 2, 3) ; i32v(1, 1) ; u8v(0, 3) ; i64(2, 2, lo=0, hi=3) ; i64(0) ; i64v(2).reshape(()) ; i8v(1, 2)
one_hot(x, 1) | i64v(0, 0)
x.one_hot(6) | i64v(5)
one_hot(x, n=3) | i64(1, 2, lo=0, hi=2)
""", lambda ids, n: F.one_hot(ids.long(), n))
cases("nonzero", """
nonzero(x) | b1(5) ; b1(2, 3) ; i64(2, 2, lo=0, hi=1) ; fv(0, nan, 1, -0.0) ; u8(3, hi=1) ; i8(3, lo=0, hi=1) ; f(0) ; fv(0, 0) ; f16v(0, 1)
x.nonzero() | b1(2, 2, 2)
""", torch.nonzero)
cases("repeat_interleave", """
repeat_interleave(x, 2) | f(3) ; f(2, 2) ; i64(3) ; b1(2) ; u8(2) ; f16(2) ; bf16(2)
repeat_interleave(x, 3, axis=0) | f(2, 2) ; f64(2)
repeat_interleave(x, 2, -1) | f(2, 3)
x.repeat_interleave(1) | f(3)
repeat_interleave(x, 0) | f(3)
""", lambda x, n, axis=None: torch.repeat_interleave(x, n, axis))
cases("movedim", """
movedim(x, 0, 2) | f(2, 3, 2) ; f64(1, 2, 3) ; i64(2, 2, 2) ; b1(2, 1, 2)
movedim(x, -1, 0) | f(2, 3) ; f(2, 3, 2) ; f(2, 0)
movedim(x, [0, 1], [1, 2]) | f(2, 3, 2)
x.movedim(1, 0) | f(2, 3)
movedim(x, 0, 0) | f(2, 2)
""", torch.movedim)
cases("outer", """
outer(x, y) | f(3), f(2, s=1) ; f64(2), f64(3, s=1) ; i64(2), i64(2, s=1) ; f(0), f(2) ; f(1), f(3) ; f16(2), f16(2, s=1) ; bf16(2), bf16(2, s=1) ; fv(1, nan), fv(inf, 0) ; u8(2), u8(2) ; i64(2), f(2)
x.outer(y) | f(2), f(2, s=1)
""", torch.outer)
cases("diag", """
diag(x) | f(3, 3) ; f(3) ; f(2, 4) ; f(4, 2) ; i64(3, 3) ; i64(2) ; b1(2, 2) ; f64(2) ; f16(2, 2) ; bf16(2) ; f(0) ; u8(2)
diag(x, 1) | f(3, 3) ; f(2)
diag(x, -1) | f(3, 3) ; f(2)
x.diag() | f(1, 1)
""", lambda x, k=0: torch.diag(x, k))
cases("trace", """
trace(x) | f(3, 3) ; f64(2, 3) ; f(3, 2) ; i64(3, 3) ; f(1, 1) ; f(0, 0) ; u8(2, 2) ; i8(2, 2) ; f16(3, 3) ; bf16(3, 3)
x.trace() | f(2, 2)
trace(x.T) | f(2, 3)
""", torch.trace)


@means("trace")
def trace(x):
    """PyTorch's trace knows no halves on this machine: the same value from the diagonal, summed in float32."""
    return x.diagonal().sum() if x.dtype in (torch.float16, torch.bfloat16) else torch.trace(x)


cases("meshgrid", """
meshgrid(x, y) | f(2), f(3) ; i64(2), i64(2) ; f64(1), f64(2) ; f(0), f(2) ; u8(2), u8(2)
meshgrid([x, y]) | f(3), f(2)
meshgrid(x, y, indexing="xy") | f(2), f(3) ; i64(2), i64(3)
meshgrid(x, y, z) | f(2), f(1), f(2, s=1)
""", lambda *xs, indexing="ij": torch.meshgrid(*(xs[0] if isinstance(xs[0], list) else xs), indexing=indexing))
cases("cdist", """
cdist(x, y) | f(3, 2), f(2, 2, s=1) ; f64(2, 3), f64(4, 3, s=1) ; f(2, 2, 3), f(2, 1, 3, s=1) ; f(1, 2), f(1, 2, s=1) ; f(0, 2), f(2, 2) ; f(2, 1), f(3, 1, s=1)
cdist(x, y, p=1) | f(3, 2), f(2, 2, s=1)
x.cdist(y) | f(2, 4), f(2, 4, s=1)
cdist(x, x) | f(2, 3) | nograd
""", torch.cdist)


# ---- indexing ----
cases("index", f"""
x[0] | {KINDS} ; f(3)
x[-1] | f(3, 2) ; i64(3)
x[1, 2] | f(2, 3) ; b1(2, 3)
x[1:] | f(3, 2) ; f(1, 2)
x[:, ::2] | f(2, 5)
x[..., 0] | f(2, 3, 2)
x[0, ..., 1] | f(2, 3, 2)
x[none, :, none] | f(2, 3)
x[:, none, -2:] | f(2, 3)
x[2:1] | f(3, 2)
x[y] | f(3, 2), i64v(2, 0, 2) ; f64(3), i32v(-1, 0) ; f(3, 2), i64(2, 2, lo=0, hi=2) ; f16(3), i64v(0, 0) ; bf16(3), i64v(0, 0, 0) ; f(3), i64(0)
x[y] | f(3), u8v(1, 1) ; f(3), i8v(-1, 1) | as: x[y.long()]
x[y, z] | f(3, 4), i64v(0, 2, 2), i64v(1, 3, 3) ; f(2, 3), i64v(0, 1).reshape(2, 1), i64v(0, 2)
x[:, y] | f(2, 3), i64v(2, 2, 0) ; f(2, 3, 2), i64v(1)
x[y, :, z] | f(2, 3, 2), i64v(1, 0), i64v(0, 0)
x[y, 1:] | f(3, 3), i64v(0, 2)
x[1, y] | f(2, 3, 2), i64v(2, 0)
x[[0, 2], [1, 1]] | f(3, 2)
x[y] | f(2, 3), b1v(True, False) ; f(4), b1(4) ; i64(2, 2), b1(2, 2) ; f(2), b1v(False, False)
x[x > 0] | f(2, 4) ; f64(5)
x[1:100] | f(3)
x[0:3:2, 1] | f(4, 2)
""")
cases("index_put", """
x[0] = y | f(3, 2), f(2, s=1) ; f(3, 2), f(s=1) ; i64(3), i64() ; u8(3), u8() ; i8(3), i8() ; f16(3), f16() ; bf16(3), bf16()
x[1] = 5 | f(2, 3) ; i64(2, 2) ; b1(3)
x[:, 1] = y | f(3, 2), f(3, s=1) ; f64(2, 3), f64(2, s=1)
x[1:, ::2] = y | f(3, 4), f(2, 2, s=1) ; f(3, 4), f(2, s=1)
x[..., -1] = 0.5 | f(2, 3)
x[z] = y | f(3, 2), f(2, 2, s=1), i64v(2, 0) ; f(3), f(s=1), i64v(1, 1) ; i64(3), i64(2), i64v(0, 2)
x[z, 1] = y | f(3, 2), f(2, s=1), i64v(0, 2)
x[:, z] = y | f(2, 3), f(2, 2, s=1), i64v(2, 0)
x[z] = 0.0 | f(4), f(), b1(4)
x[x > 0] = -1 | f(2, 3) ; i64(4)
x[2:1] = y | f(3), f()
x[-1, none] = y | f(2, 3), f(1, 3, s=1)
""")

# ---- casts and facts ----
EVERY = " ; ".join(f"{k}v(0, 1, 0, 1)" if k == "b1" else f"{k}(4)" for k in ["b1", "u8", "i8", "i32", "i64", "f16", "bf16", "f", "f64"])
WILD = "fv(1.7, -1.7, 0.5, 1e-8, -0.0) ; f64v(100.9, -100.9)"
for to in ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]:
    cases("to", f"x.to({to}) | {EVERY}")
cases("to", f"""
x.to(int64) | {WILD} ; f(0, 2) ; f(1, 1)
x.to(int32) | {WILD}
x.to(bool) | fv(0, -0.0, nan, inf, 0.1)
x.to("float64") | f(2, 3)
x.to(float16) | fv(65504, 65520, 1e-8, 6e-8, inf, nan, 0.1, 2049) ; f64v(65519.9, 1e5)
x.to(bfloat16) | fv(3.4e38, 1e-40, inf, nan, 0.1, 257, 259) ; f64v(1e39, 0.1)
x.to(float32) | f64v(1e39, 1e-46, 0.1, 16777217)
x.to(int8) | i64v(128, -129, 255, 256) ; u8v(128, 255)
x.to(uint8) | i64v(-1, 256, 300) ; i8v(-1, -128)
x.to(float32) | i64v(16777217, -16777217)
x.to(float64) | i64v(9007199254740993)
x.type(float64) | f(2)
x.type_as(y) | f(2), i64(1) ; i64(2), f16(1)
x.float() | i64(2) ; f64(2)
x.double() | f(2)
x.half() | f(2)
x.bfloat16() | f(2)
x.long() | f(2)
x.int() | f(2)
x.bool() | f(2)
""", lambda x, d: x.to(getattr(torch, d) if isinstance(d, str) else d))
MEANING["type"] = MEANING["to"]
MEANING.update(type_as=lambda x, y: x.to(y.dtype), dim=lambda x: x.dim())

cases("numel", "numel(x) | f(2, 3) ; f() ; f(0, 3) ; i64(4) ; b1(1, 1) ; f64(2, 2, 2)\nx.numel() | u8(5) ; f(1, 0)", lambda x: x.numel())
cases("item", "x.item() | f() ; f(1, 1) ; i64() ; b1() ; u8(1) ; f64() ; fv(nan) ; fv(inf) ; i8() ; i32() ; f16() ; bf16()\nx.item() | f(1) | nograd".replace(
    "bf16()\n", "bf16() | nograd\n"), lambda x: x.item())
cases("tolist", """
x.tolist() | f(2, 3) ; f() ; i64(2, 2, 2) ; b1(3) ; u8(2) ; f64(1, 1) ; i8(2) ; i32(2) ; f16(2) ; bf16(2) ; f(0) ; f(2, 0) | nograd
x.tolist() | i64(3) | nograd
x.T.tolist() | f(2, 3) | nograd
""", lambda x: x.tolist())
cases("size", """
x.size() | f(2, 3) ; f() ; i64(0, 2) ; b1(1) | nograd
x.size(0) | f(2, 3) | nograd
x.size(-1) | f(2, 3) | nograd
x.size(axis=1) | f(2, 3, 4) | nograd
x.shape | f(2, 3) ; f() | nograd
x.dim() | f(2, 3) ; f() | nograd
x.ndim | f(2, 3, 1) | nograd
""", lambda x, axis=None: list(x.shape) if axis is None else x.shape[axis])
cases("detach", "detach(x) | f(2, 3) ; f64(2) ; i64(2) ; f() ; f(0, 2) ; f16(2) ; bf16(2) ; b1(2)\nx.detach() | f(2)\nx.detach() * y | f(2), f(2)\nx.numpy() | f(2)\n"
      "x.contiguous() | f(2, 3)\nx.clone() | f(2)\nx.cpu() | f(2)\nx.data | f(2)", lambda x: x.detach())
MEANING["numpy"], MEANING["contiguous"], MEANING["clone"], MEANING["cpu"] = MEANING["detach"], lambda x: x * 1, lambda x: x * 1, lambda x: x * 1

# ---- creation ----
SHAPED = """
{f}(2, 3)
{f}([3])
{f}()
{f}(0, 2)
{f}(1)
{f}(2, dtype=int64)
{f}(2, dtype=float64)
{f}([2, 2], dtype=bool)
{f}(2, dtype=uint8)
{f}(2, dtype=int8)
{f}(2, dtype=float16)
{f}(2, dtype=bfloat16)
{f}(2, dtype=int32)
"""
for name, f in [("zeros", torch.zeros), ("ones", torch.ones)]:
    cases(name, SHAPED.format(f=name), lambda *shape, dtype=torch.float32, f=f: f(sizes(shape), dtype=dtype))
cases("zeros", "empty(2, 2)")
MEANING["empty"] = MEANING["zeros"]
cases("full", """
full([2, 3], 1.5)
full([2], 7)
full([2], true)
full([], 2.5)
full([0, 2], 1.0)
full((1, 2), -inf)
full([2], nan)
full([2], 3, dtype=float64)
full([2], 2.5, dtype=int64)
full([2], 255, dtype=uint8)
full([2], 0.1, dtype=float16)
full([2], 0.1, dtype=bfloat16)
full([2], -128, dtype=int8)
full(3, 1.0)
""", lambda shape, v, dtype=None: torch.full(sizes([shape]) if not isinstance(shape, int) else [shape], int(v) if dtype in (torch.int64,) else v, dtype=dtype))
for name, f in [("zeros_like", torch.zeros_like), ("ones_like", torch.ones_like)]:
    cases(name, f"""
{name}(x) | f(2, 3) ; i64(2) ; b1(2) ; u8(2) ; f() ; f(0, 2) ; f64(2) ; i8(2) ; f16(2) ; bf16(2) ; i32(2)
{name}(x, dtype=float64) | f(2) ; i64(2)
x.{name}() | f(2, 1)
{name}(x.T) | f(2, 3)
""", lambda x, dtype=None, f=f: f(x, dtype=dtype))
cases("full_like", """
full_like(x, 1.5) | f(2, 3) ; f64(2) ; f() ; f(0, 2) ; f16(2) ; bf16(2)
full_like(x, 7) | i64(2) ; u8(2) ; i8(2) ; f(2)
full_like(x, true) | b1(2)
full_like(x, 2, dtype=int32) | f(2)
x.full_like(nan) | f(2)
""", lambda x, v, dtype=None: torch.full_like(x, v, dtype=dtype))
cases("eye", """
eye(3)
eye(2, 3)
eye(3, 2)
eye(1)
eye(0)
eye(2, dtype=int64)
eye(2, dtype=float64)
eye(2, 2, dtype=bool)
eye(2, dtype=float16)
eye(2, dtype=bfloat16)
eye(3, m=4)
""", lambda n, m=None, dtype=torch.float32: torch.eye(n, n if m is None else m, dtype=dtype))
cases("arange", """
arange(5)
arange(0)
arange(2, 7)
arange(2, 11, 3)
arange(5, 0, -2)
arange(0, 1, 0.25)
arange(1.5, 4)
arange(3, dtype=float32)
arange(3, dtype=float64)
arange(2, 5, dtype=int32)
arange(0, 5, 2, dtype=uint8)
arange(0, 5, step=2)
arange(3, dtype=int8)
arange(4, dtype=float16)
arange(4, dtype=bfloat16)
arange(4.0)
arange(5, 5)
arange(-3, 3)
arange(1, 0, -0.25)
""", lambda a, b=None, step=1, dtype=None: torch.arange(0 if b is None else a, a if b is None else b, step, dtype=dtype))
cases("linspace", """
linspace(0, 1, 5)
linspace(-2, 3, 7)
linspace(1, 0, 3)
linspace(2, 2, 3)
linspace(0, 1, 1)
linspace(0, 1, 0)
linspace(0, 10, 4, dtype=float64)
linspace(0.5, 2.5, 2)
linspace(-1000, 1000, 9)
linspace(0, 1, 11, dtype=float64)
linspace(0, 1, 6)
""", torch.linspace)
cases("tensor", """
tensor([1, 2, 3])
tensor([1, 2.5])
tensor(3)
tensor(2.5)
tensor(true)
tensor([true, false])
tensor([[1, 2], [3, 4]])
tensor([])
tensor([[], []])
tensor([1, 2], dtype=float64)
tensor([1.5, -2.5], dtype=int64)
tensor([0, 2], dtype=bool)
tensor([255, 0], dtype=uint8)
tensor([-128, 127], dtype=int8)
tensor([0.1, 65504], dtype=float16)
tensor([0.1, 3e38], dtype=bfloat16)
tensor([nan, inf, -inf])
tensor([[[1.0], [2.0]]])
tensor([1, true, 0])
tensor([9007199254740993])
""", torch.tensor)
cases("param", """
param(x) | f(2, 3) ; f64(2) ; f() ; f(0, 2) ; f16(2) ; bf16(2) | nograd
x.param() | f(2) | nograd
""", lambda x: torch.nn.Parameter(x).detach())
cases("buffer", "buffer(x) | f(2, 3) ; f64(2) ; i64(2) ; b1(2) ; f() ; f(0, 2) ; f16(2) ; bf16(2) ; u8(2) | nograd", lambda x: x)
