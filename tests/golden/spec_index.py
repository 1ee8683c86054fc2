"""spec_index.py: further functions that place, choose and arrange elements; see functions.py.
SPDX-License-Identifier: MIT
"""
import numpy as np
import torch
import torch.nn.functional as F

from functions import alias, cases, means, MEANING, torch_named
from spec_shape import KINDS, PARTS, sizes

# ---- reading and writing at places ----
cases("scatter_reduce", "".join(f"""
scatter_reduce(x, 0, y, z, "{how}") | f(3), i64v(0, 2, 0), f(3, s=1) ; f64(4), i64v(3, 3, 1), f64(3, s=1) ; i64(3), i64v(0, 0), i64(2, s=1)
scatter_reduce(x, 1, y, z, reduce="{how}", include_self=false) | f(2, 3), i64v(0, 0, 2, 1).reshape(2, 2), f(2, 2, s=1) ; f64(1, 2), i64v(1, 1).reshape(1, 2), f64(1, 2, s=1)
""" for how in ("sum", "prod", "mean", "amax", "amin")), torch.scatter_reduce)
cases("scatter_with", "".join(f"""
scatter_with(x, 0, y, z, "{how}") | f(3), i64v(0, 2, 0), f(3, s=1) ; f64(4), i64v(3, 3, 1), f64(3, s=1) ; i64(3), i64v(0, 0), i64(2, s=1) ; u8(3), i64v(1), u8(1) ; i8(3), i64v(1), i8(1)
""" for how in ("prod", "amax", "amin")), torch.scatter_reduce)
cases("scatter", """
scatter(x, 0, y, z, reduce="add") | f(3), i64v(0, 2), f(2, s=1) | nograd
scatter(x, 0, y, z, reduce="multiply") | f(3), i64v(0, 2), f(2, s=1) | nograd
""", lambda x, axis, index, src, reduce=None: torch.scatter(x, axis, index, src, **({"reduce": reduce} if reduce else {})))
AXIS = """
{f}(x, 0, y, z) | f(3, 2), i64v(0, 2), f(2, 2, s=1) ; f64(4), i64v(3, 1), f64(2, s=1) ; i64(3), i64v(1), i64(1, s=1) ; f16(3), i64v(1, 0), f16(2, s=1) ; bf16(3), i64v(1, 0), bf16(2, s=1)
{f}(x, 1, y, z) | f(2, 3), i64v(2), f(2, 1, s=1) ; f(2, 2, 2), i64v(1, 0), f(2, 2, 2, s=1)
x.{f}(-1, y, z) | f(2, 3), i64v(0, 1), f(2, 2, s=1)
"""
cases("index_add", AXIS.format(f="index_add") + "index_add(x, 0, y, z) | f(3), i64v(1, 1), f(2, s=1)\nindex_add(x, 0, y, z, alpha=2) | f(3), i64v(1, 0), f(2, s=1)",
      lambda x, axis, index, src, alpha=1: torch.index_add(x, axis, index, src, alpha=alpha))
cases("index_copy", AXIS.format(f="index_copy"), torch.index_copy)
cases("index_fill", "index_fill(x, 0, y, 5.0) | f(3, 2), i64v(0, 2) ; f64(4), i64v(3) ; f16(3), i64v(1) ; bf16(3), i64v(1) ; f(2, 0), i64v(1)\nindex_fill(x, -1, y, 7) | i64(2, 3), i64v(1) ; u8(2, 3), i64v(0) ; f(2, 2, 2), i64v(0)\n"
      "x.index_fill(1, y, -inf) | f(2, 3), i64v(0, 1)", torch.index_fill)
cases("put", "put(x, y, z) | f(2, 3), i64v(0, 4), f(2, s=1) ; f64(3), i64v(-1), f64(1) ; i64(3), i64v(2, 0), i64(2, s=1) ; f(2, 2), i64v(0, 3).reshape(2, 1), f(2, 1, s=1) ; f16(3), i64v(1), f16(1) ; bf16(3), i64v(1), bf16(1)\n"
      "put(x, y, z, accumulate=true) | f(2, 3), i64v(0, 0), f(2, s=1) ; i64(3), i64v(1, 1), i64(2)\nx.put(y, z) | f(3), i64v(1), f(1, s=1)", torch.Tensor.put)
cases("index_put", "index_put(x, [y], z) | f(3), i64v(0, 2), f(2, s=1) ; f(3, 2), i64v(2), f(1, 2, s=1)\nindex_put(x, [y], z, accumulate=true) | f(3), i64v(1, 1), f(2, s=1) ; i64(3), i64v(0, 0), i64(2)\n"
      "x.index_put([y, z], u) | f(2, 3), i64v(0, 1), i64v(2, 2), f(2, s=1)", lambda x, indices, values, accumulate=False: torch.index_put(x, indices, values, accumulate))
cases("masked_select", "masked_select(x, y) | f(2, 3), b1(2, 3) ; f64(4), b1(4) ; i64(3), b1v(True, False, True) ; b1(3), b1(3, s=1) ; u8(3), b1(3) ; f16(3), b1v(True, False, True) ; bf16(3), b1v(True, True, False) ; f(2), b1v(False, False) ; f(2, 2), b1v(True, False)\nx.masked_select(y) | f(3), b1(3)", torch.masked_select)
cases("masked_scatter", "masked_scatter(x, y, z) | f(2, 3), b1(2, 3), f(6, s=1) ; f64(3), b1(3), f64(3, s=1) ; i64(3), b1(3), i64(3, s=1) ; f(3), b1v(False, True, True), f(2, s=1) ; u8(3), b1(3), u8(3) ; f16(3), b1(3), f16(3, s=1) ; bf16(3), b1(3), bf16(3, s=1)\nx.masked_scatter(y, z) | f(2), b1(2), f(2, s=1)", torch.masked_scatter)
cases("take", "take(x, y) | f(2, 3), i64v(0, 5, 2) ; f64(4), i64v(-1) ; i64(3), i64(2, 2, lo=0, hi=2) ; b1(3), i64v(1) ; f16(3), i64v(1, 1) ; bf16(3), i64v(2) ; f(3), i64(0) ; u8(3), i64v(2, 2)\nx.take(y) | f(2, 2), i64v(3)\n"
      "take(x, y, axis=1) | f(2, 3), i64v(2, 0) | as: index_select(x, 1, y)", torch.take)
cases("take_along_dim", "take_along_dim(x, y, 1) | f(2, 3), i64(2, 2, lo=0, hi=2) ; f64(2, 3), i64(1, 2, lo=0, hi=2) ; i64(2, 2), i64(2, 1, lo=0, hi=1) ; f16(2, 2), i64(2, 1, lo=0, hi=1) ; bf16(2, 2), i64(2, 1, lo=0, hi=1)\ntake_along_dim(x, y) | f(2, 3), i64v(5, 0)\n"
      "take_along_dim(x, y, axis=0) | f(3, 2), i64(1, 2, lo=0, hi=2)\nx.take_along_dim(y, -1) | f(2, 2, 3), i64(2, 2, 1, lo=0, hi=2)", lambda x, indices, axis=None: torch.take_along_dim(x, indices, axis))
cases("take_along_axis", "take_along_axis(x, y, 1) | f(2, 3), i64(2, 2, lo=0, hi=2) ; f64(2, 3), i64(1, 2, lo=0, hi=2) ; i64(2, 2), i64(2, 1, lo=0, hi=1) ; f(2, 3), i64(2, 3, lo=0, hi=2)\n"
      "take_along_axis(x, y, axis=0) | f(3, 2), i64(1, 2, lo=0, hi=2) ; f(3, 2), i64(4, 2, lo=0, hi=2)\ntake_along_axis(x, y, 0) | f(3), i64v(2, 2)\nx.take_along_axis(y, -1) | f(2, 2, 3), i64(2, 2, 1, lo=0, hi=2)",
      lambda x, indices, axis: torch.take_along_dim(x, indices, axis))
alias("argwhere", "nonzero")
cases("unique", "unique(x) | i64v(3, 1, 3, 2) ; fv(1, 0.5, 1) ; b1(4) ; u8v(5, 5, 1) ; i64(0) ; i64(2, 3, lo=0, hi=2) ; i8v(-1, 1, -1) | nograd\nunique(x, return_inverse=true) | i64v(3, 1, 3, 2) ; fv(2, 2, 1) | nograd\n"
      "unique(x, return_counts=true) | i64v(3, 1, 3, 2) | nograd\nunique(x, return_inverse=true, return_counts=true) | i64v(1, 1, 0) | nograd\nunique(x, axis=0) | i64v(1, 2, 1, 2, 0, 5).reshape(3, 2) | nograd",
      lambda x, **k: torch.unique(x, **{"dim" if n == "axis" else n: v for n, v in k.items()}))
cases("unique_consecutive", "unique_consecutive(x) | i64v(3, 3, 1, 3) ; fv(1, 1, 2) ; b1(4) ; u8v(5, 5, 1) ; i64(0) ; i8v(-1, -1, 1) | nograd\nunique_consecutive(x, return_inverse=true) | i64v(3, 3, 1) | nograd\n"
      "unique_consecutive(x, return_counts=true) | i64v(3, 3, 1, 3) | nograd")
cases("isin", "isin(x, y) | i64(5), i64v(1, 2, 3, 4) ; f(3), f(3) ; i64(2, 2), i64v(0) ; i64(0), i64v(1) ; i64(3), i64(0) ; u8(4), u8(4) ; fv(1, nan), fv(nan, 2)\nisin(x, y, invert=true) | i64(5), i64v(1, 2)\nx.isin(y) | i64(3), i64v(1)", torch.isin)
cases("recurrence", "recurrence(x, y) | f(4), f(4, s=1) ; f64(2, 3), f64(2, 3, s=1) ; f(0), f(0) ; f(1), f(1, s=1) ; f16(3), f16(3, s=1) ; bf16(3), bf16(3, s=1) ; i64(3), i64(3, s=1)\nrecurrence(x, y, axis=0) | f(3, 2), f(3, 2, s=1)\n"
      "recurrence(x, y, reverse=true) | f(4), f(4, s=1) ; f64(2, 3), f64(2, 3, s=1)\nx.recurrence(y, 0, true) | f(3, 2), f(3, 2, s=1)")


@means("recurrence")
def recurrence(a, b, axis=-1, reverse=False):
    """PyTorch has none: the loop that it means, y[i] = a[i] * y[i - 1] + b[i]; halves in float32."""
    if a.numel() == 0:
        return a * b
    dtype = a.dtype
    a, b = [t.float() if dtype in (torch.float16, torch.bfloat16) else t for t in (a, b)]
    rows = list(zip(a.unbind(axis), b.unbind(axis)))
    out, y = [], torch.zeros_like(rows[0][0])
    for p, q in (reversed(rows) if reverse else rows):
        y = p * y + q if out else q
        out.append(y)
    return torch.stack(out[::-1] if reverse else out, axis).to(dtype)


@means("gelu_dx")
def gelu_dx(x):
    """The derivative of gelu, as PyTorch's backward has it."""
    with torch.enable_grad():
        p = x.detach().double().requires_grad_()
        return torch.autograd.grad(F.gelu(p).sum(), p)[0].to(x.dtype)


cases("gelu_dx", "gelu_dx(x) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; f(0, 2) ; f(1, 1) ; f() ; f(2, 2, 2) ; fv(nan, 0, 30, -30) | nograd")

# ---- arrangement ----
alias("moveaxis", "movedim")
cases("swapdims", "swapdims(x, 0, 1) | f(2, 3) ; f64(2, 1, 2) ; i64(2, 3) ; b1(2, 2) ; f(0, 2) ; f16(2, 2) ; bf16(2, 2) ; u8(2, 2)\nx.swapdims(0, -1) | f(2, 1, 3)", torch.swapdims)
cases("adjoint", "adjoint(x) | f(2, 3) ; f64(2, 1, 2) ; i64(2, 3) ; b1(2, 2) ; f(0, 2) ; f16(2, 2) ; bf16(2, 2)\nx.adjoint() | f(2, 1, 3)", torch.adjoint)
cases("select", f"select(x, 0, 1) | {KINDS}\nselect(x, -1, -1) | f(2, 3) ; f(2, 2, 2)\nx.select(axis=1, index=0) | f(2, 3)", lambda x, axis, index: torch.select(x, axis, index))
cases("narrow", f"narrow(x, 1, 1, 2) | {KINDS}\nnarrow(x, 0, 0, 0) | f(2, 3)\nx.narrow(-1, 1, 1) | f(2, 3)", lambda x, axis, start, length: torch.narrow(x, axis, start, length))
cases("unflatten", "unflatten(x, 0, [2, 3]) | f(6) ; f64(6, 2) ; i64(6) ; b1(6) ; f16(6) ; bf16(6)\nunflatten(x, -1, [2, -1]) | f(2, 4)\nx.unflatten(1, [1, 3]) | f(2, 3) ; f(0, 3)", lambda x, axis, n: torch.unflatten(x, axis, n))
for name, f in [("expand_as", torch.Tensor.expand_as), ("view_as", torch.Tensor.view_as), ("reshape_as", torch.Tensor.reshape_as)]:
    pairs = ["f(3), f(2, 3)", "f64(1, 2), f64(2, 2)", "i64(1), i64(4)", "b1(2, 1), f(2, 3)", "f(), f(2)", "f16(2), f16(2, 2)", "bf16(2), bf16(1, 2)", "f(1, 3), f(0, 3)"] if name == "expand_as" else \
        ["f(6), f(2, 3)", "f64(2, 2), f64(4)", "i64(4), i64(2, 2)", "b1(2, 2), f(1, 4)", "f(1), f()", "f16(4), f16(2, 2)", "bf16(4), bf16(1, 4)", "f(0, 3), f(3, 0)"]
    cases(name, f"{name}(x, y) | " + " ; ".join(pairs) + f"\nx.{name}(y) | {pairs[0]}", f)
cases("broadcast_to", "broadcast_to(x, [2, 3]) | f(3) ; f64(2, 1) ; i64(1, 3) ; b1(3) ; f() ; f16(3) ; bf16(3) ; u8(1, 1)\nx.broadcast_to([0, 3]) | f(1, 3)", torch.broadcast_to)
cases("broadcast_shapes", "broadcast_shapes([2, 1], [3])\nbroadcast_shapes([1], [4])\nbroadcast_shapes([2, 3], [2, 3])\nbroadcast_shapes([], [2])\nbroadcast_shapes([0, 1], [1, 3])\nbroadcast_shapes([2, 1, 1], [3, 1], [4])\n"
      "broadcast_shapes([5])\nbroadcast_shapes([1, 1], [1])", lambda *shapes: list(torch.broadcast_shapes(*shapes)))
cases("broadcast_tensors", "broadcast_tensors(x, y) | f(2, 1), f(3) ; f64(2), f64() ; i64(2, 1), f(1, 2) ; b1(2), i64(2) ; f(0, 1), f(3) ; f(1), f(2, 2) ; f16(2), f16(1)\nbroadcast_tensors(x, y, z) | f(2, 1, 1), f(3, 1), f(2)",
      lambda *xs: list(torch.broadcast_tensors(*xs)))
for n in (1, 2, 3):
    cases(f"atleast_{n}d", f"atleast_{n}d(x) | f() ; f(3) ; f(2, 3) ; f(2, 1, 2) ; f(1, 2, 1, 2) ; i64() ; b1(2) ; f64(0) ; f16(2) ; bf16()\nx.atleast_{n}d() | f(2)")
JOINS = "{f}([x, y]) | f(2), f(2, s=1) ; f(2, 3), f(2, 3, s=1) ; f64(2, 1, 2), f64(2, 1, 2, s=1) ; i64(2), i64(2) ; b1(2), b1(2) ; f(), f(s=1) ; f16(2), f16(2) ; bf16(2), bf16(2) ; f(2), f64(2) ; f(0), f(0)\n{f}([x, y, x]) | f(2, 2), f(2, 2, s=1)"
for name, f in [("hstack", torch.hstack), ("vstack", torch.vstack), ("row_stack", torch.vstack), ("dstack", torch.dstack), ("column_stack", torch.column_stack)]:
    cases(name, JOINS.format(f=name), f)
for name in ["tensor_split", "array_split"]:
    cases(name, f"{name}(x, 2) | {PARTS}\n{name}(x, 3, axis=1) | f(2, 5) ; f64(2, 4)\n{name}(x, [1, 3]) | f(4, 2)\n{name}(x, [2], axis=-1) | f(2, 3)\n{name}(x, 5) | f(3)\nx.{name}(2) | f(3)",
          lambda x, n, axis=0: torch.tensor_split(x, n, dim=axis))
for name, shapes in [("hsplit", ["4", "2, 4", "1, 2, 2"]), ("vsplit", ["4, 2", "2, 1", "2, 2, 2"]), ("dsplit", ["1, 2, 4", "2, 1, 2", "1, 1, 6"])]:
    cases(name, f"{name}(x, 2) | " + " ; ".join(f"{k}({s})" for s in shapes for k in ("f", "i64")) + f" ; f16({shapes[0]}) ; bf16({shapes[0]})\n{name}(x, [1]) | f({shapes[0]})\nx.{name}(2) | f64({shapes[1]})", torch_named(name))
cases("rot90", "rot90(x) | f(2, 3) ; f64(2, 2) ; i64(3, 2) ; b1(2, 2) ; f(0, 2) ; f16(2, 2) ; bf16(2, 2)\nrot90(x, 2) | f(2, 3)\nrot90(x, -1) | f(2, 3)\nrot90(x, 1, [1, 2]) | f(2, 2, 3)\nx.rot90(3) | f(2, 2)\nrot90(x, 0) | f(2, 2)", torch.rot90)
for name in ["fliplr", "flipud"]:
    cases(name, f"{name}(x) | f(2, 3) ; f64(2, 2) ; i64(3, 2) ; b1(2, 2) ; f(0, 2) ; f16(2, 2) ; bf16(2, 2) ; f(2, 2, 2) ; u8(2, 2)\nx.{name}() | f(1, 3)", torch_named(name))
cases("repeat_interleave", "repeat_interleave(x, [1, 2, 0], axis=0) | f(3, 2)\nrepeat_interleave(x, y, 0) | f(3), i64v(2, 0, 1)", lambda x, n, axis=None: torch.repeat_interleave(
    x, torch.tensor(n) if isinstance(n, list) else n, axis))
cases("unfold", "unfold(x, 0, 2, 1) | f(4) ; f64(3, 2) ; i64(5) ; b1(3) ; f16(3) ; bf16(3)\nunfold(x, 1, 3, 2) | f(2, 5)\nunfold(x, -1, 2, 2) | f(2, 4)\nx.unfold(0, 1, 3) | f(4)", lambda x, axis, size, step: x.unfold(axis, size, step))
alias("ger", "outer")
cases("inner", "inner(x, y) | f(3), f(3, s=1) ; f(2, 3), f(3, s=1) ; f64(2, 3), f64(2, 3, s=1) ; f(2, 2, 3), f(3, s=1) ; i64(3), i64(3, s=1) ; f(), f(2) ; f(0), f(0) ; f16(2), f16(2, s=1) ; bf16(2), bf16(2, s=1)\nx.inner(y) | f(2), f(2, s=1)", torch.inner)
for name in ["diagonal", "linalg.diagonal"]:
    last = ", dim1=0, dim2=1" if "linalg" in name else ""
    cases(name, f"{name}(x) | f(3, 3) ; f(2, 4) ; f64(2, 2, 3) ; i64(3, 2) ; b1(2, 2) ; f16(2, 2) ; bf16(2, 2) ; f(0, 2) ; f(3, 1, 2)\n{name}(x, 1) | f(3, 3)\n{name}(x, offset=-1{last}) | f(3, 2)\n{name}(x, 0, 1, 2) | f(2, 3, 3)")
MEANING["diagonal"] = lambda x, offset=0, dim1=0, dim2=1: torch.diagonal(x, offset, dim1, dim2)
cases("diag_embed", "diag_embed(x) | f(3) ; f64(2, 2) ; i64(3) ; b1(2) ; f16(2) ; bf16(2) ; f(0) ; f(1, 1)\ndiag_embed(x, 1) | f(2)\ndiag_embed(x, offset=-1) | f(2)\ndiag_embed(x, 0, 0, 2) | f(2, 2)\nx.diag_embed() | f(2)", torch.diag_embed)
cases("diagflat", "diagflat(x) | f(3) ; f64(2, 2) ; i64(3) ; b1(2) ; f16(2) ; bf16(2) ; f() ; f(1, 1)\ndiagflat(x, 1) | f(2)\nx.diagflat(-1) | f(2)", torch.diagflat)
cases("block_diag", "block_diag(x, y) | f(2, 2), f(1, 3, s=1) ; f64(1, 1), f64(2, 1) ; i64(2, 2), i64(1, 1) ; f(2), f(2, 2) ; f(), f(2) ; f16(1, 1), f16(1, 1) ; bf16(1, 1), bf16(1, 1) ; f(0, 2), f(1, 1)\nblock_diag(x) | f(2, 2)\nblock_diag(x, y, z) | f(1, 1), f(1, 1, s=1), f(1, 2)")
cases("cartesian_prod", "cartesian_prod(x, y) | f(2), f(3, s=1) ; f64(2), f64(1) ; i64(2), i64(2) ; f(0), f(2) ; f16(2), f16(1) ; bf16(1), bf16(2)\ncartesian_prod(x) | f(2)\ncartesian_prod(x, y, z) | f(2), f(1, s=1), f(2, s=2)")
cases("combinations", "combinations(x) | f(4) ; f64(3) ; i64(3) ; f(1) ; f16(2) ; bf16(2)\ncombinations(x, 3) | f(4)\ncombinations(x, r=1) | f(2)\ncombinations(x, with_replacement=true) | f(2) ; i64(3)\ncombinations(x, 2, true) | f(2)",
      lambda x, r=2, with_replacement=False: torch.combinations(x, r, with_replacement))
for name in ["tril_indices", "triu_indices"]:
    cases(name, "\n".join(f"{name}({a})" for a in ("3, 3", "2, 4", "4, 2", "3, 3, 1", "3, 3, -1", "1, 1", "0, 2", "2, 2, offset=2", "3, 2, -2")))


def numpy_of(f):
    return lambda *args, dtype=torch.float32, **more: torch.tensor(f(*args, **more)).to(dtype)


# NumPy's, which PyTorch lacks
cases("tri", "tri(3)\ntri(2, 4)\ntri(4, 2)\ntri(3, 3, 1)\ntri(3, k=-1)\ntri(0)\ntri(2, dtype=int64)\ntri(2, dtype=bool)\ntri(1, m=3)\ntri(2, dtype=float64)", numpy_of(lambda n, m=None, k=0: np.tri(n, m, k)))
cases("geomspace", "geomspace(1, 8, 4)\ngeomspace(1, 1000, 4)\ngeomspace(2, 0.5, 3)\ngeomspace(1, 2, 2)\ngeomspace(1, 16, 5, dtype=float64)\ngeomspace(0.1, 10, 3)\ngeomspace(3, 3, 2)\ngeomspace(1, 4, n=3)", numpy_of(lambda a, b, n=50: np.geomspace(a, b, n)))
cases("logspace", "logspace(0, 3, 4)\nlogspace(-1, 1, 3)\nlogspace(0, 4, 5, base=2.0)\nlogspace(1, 1, 2)\nlogspace(0, 1, 3, dtype=float64)\nlogspace(2, 0, 3)\nlogspace(0, 1, 1)\nlogspace(0, 1, n=2)",
      lambda a, b, n=100, base=10.0, dtype=torch.float32: torch.logspace(a, b, n, base, dtype=dtype))
cases("vander", "vander(x) | f(3) ; f64(2) ; i64(3) ; f(1) ; f16(2) ; bf16(2)\nvander(x, 2) | f(3)\nvander(x, n=4, increasing=true) | f(2) ; i64(2)\nx.vander(3) | f(2)", # PyTorch's own cannot go back
      lambda x, n=None, increasing=False: torch.stack([x ** (p if increasing else (n or len(x)) - 1 - p) for p in range(n or len(x))], 1))
for name in ["as_tensor", "asarray"]:
    cases(name, f"{name}(x) | f(2) ; i64(2) ; b1(2) ; f64(2)\n{name}(x, dtype=float64) | f(2) ; i64(2)\n{name}([1, 2])\n{name}([1.5, 2])\n{name}(3)\n{name}([true])\n{name}([1, 2], dtype=float32)", lambda x, dtype=None: torch.as_tensor(x, dtype=dtype))
cases("from_numpy", "from_numpy(x) | f(2) ; i64(2) ; b1(2) ; f64(2) ; f() ; f(0, 2) ; u8(2) ; f16(2) | nograd", lambda x: x)
EVERY = " ; ".join(f"{k}v(0, 1, 0, 1)" if k == "b1" else f"{k}(4)" for k in ["b1", "u8", "i8", "i32", "i64", "f16", "bf16", "f", "f64"])
for name in ["float", "double", "half", "bfloat16", "long", "int", "bool", "char", "byte"]:
    few = EVERY.replace("f(4)", "f(4, lo=0)").replace("f16(4)", "f16(4, lo=0)").replace("bf16(4, lo=0)", "bf16(4, lo=0)").replace("f64(4)", "f64(4, lo=0)")
    cases(name, f"x.{name}() | {few} ; f(0, 2) ; f()")
cases("dim", "x.dim() | f() ; f(2) ; f(2, 3) ; i64(1, 1, 1) ; b1(0) ; u8(2, 2) ; f64(1, 2, 1, 2) ; i8(3) | nograd")
for name in ["contiguous", "clone", "cpu"]:
    cases(name, f"x.{name}() | f(2, 3) ; f64(2) ; i64(2) ; b1(2) ; f() ; f(0, 2) ; f16(2) ; bf16(2) ; u8(2) ; i8(2)\nx.T.{name}() | f(2, 3)", lambda x: x * 1 if x.is_floating_point() else x)
cases("tile", "tile(x, 2) | f(3) ; i64(3) ; b1(2) ; u8(2) ; f16(2) ; bf16(2) ; f(2, 2)\ntile(x, 2, 3) | f(2) ; f64(2, 2) ; f(1, 2)\ntile(x, [2, 1, 2]) | f(2, 2)\nx.tile(2) | f(2, 3)", lambda x, *times: torch.tile(x, sizes(times)))
cases("zeros_like", "x.empty_like() | f(2)", torch.zeros_like)
MEANING["empty_like"] = torch.zeros_like
cases("cat", "concatenate([x, y], 0) | f(2), f(1)")
MEANING["concatenate"] = MEANING["cat"]

# ---- norms of linalg ----
NORMS = """
{f}(x) | f(2, 3) ; f64(3, 2) ; f(1, 1) ; f(2, 2, 2)
"""
cases("linalg.norm", "linalg.norm(x) | f(2, 3) ; f64(4) ; f(2, 2, 2)\nlinalg.norm(x, 1) | f(4) ; f(2, 3)\nlinalg.norm(x, inf) | f(4) ; f(2, 3)\nlinalg.norm(x, \"fro\") | f(2, 3)\nlinalg.norm(x, 2, axis=1) | f(2, 3)\nlinalg.norm(x, axis=0, keepdims=true) | f(2, 3)")
cases("linalg.vector_norm", "linalg.vector_norm(x) | f(2, 3) ; f64(4) ; f(2, 2, 2)\nlinalg.vector_norm(x, 1) | f(4) ; f(2, 3)\nlinalg.vector_norm(x, inf) | f(4) ; f(2, 3)\nlinalg.vector_norm(x, 0) | fv(0, 1, 2)\nlinalg.vector_norm(x, 3, axis=1) | f(2, 3)\nlinalg.vector_norm(x, axis=0, keepdims=true) | f(2, 3)\nlinalg.vector_norm(x, -inf) | f(4)")
cases("linalg.matrix_norm", "linalg.matrix_norm(x) | f(2, 3) ; f64(2, 2) ; f(2, 2, 2)\nlinalg.matrix_norm(x, 1) | f(2, 3) ; f64(3, 2)\nlinalg.matrix_norm(x, inf) | f(2, 3)\nlinalg.matrix_norm(x, -1) | f(2, 3)\nlinalg.matrix_norm(x, -inf) | f(2, 3)\nlinalg.matrix_norm(x, \"fro\", axis=[0, 1], keepdims=true) | f(2, 3)")
cases("linalg.cross", "linalg.cross(x, y) | f(3), f(3, s=1) ; f64(2, 3), f64(2, 3, s=1) ; i64(3), i64(3, s=1) ; f(2, 3), f(1, 3, s=1) ; f(0, 3), f(0, 3)\nlinalg.cross(x, y, 0) | f(3, 2), f(3, 2, s=1)\nlinalg.cross(x, y, axis=0) | f64(3, 1), f64(3, 1, s=1)\nlinalg.cross(x, y, axis=1) | f(2, 3), f(2, 3, s=1)")


class Linalg:
    norm = staticmethod(lambda x, ord=None, axis=None, keepdims=False: torch.linalg.norm(x, ord, axis, keepdims))
    vector_norm = staticmethod(lambda x, ord=2, axis=None, keepdims=False: torch.linalg.vector_norm(x, ord, axis, keepdims))
    matrix_norm = staticmethod(lambda x, ord="fro", axis=(-2, -1), keepdims=False: torch.linalg.matrix_norm(x, ord, tuple(axis), keepdims))
    # PyTorch's own cannot go back
    vander = staticmethod(lambda x, n=None: torch.stack([x ** p for p in range(n or x.shape[-1])], -1))
    cross = staticmethod(lambda a, b, axis=-1: torch.linalg.cross(a, b, dim=axis))
    diagonal = staticmethod(lambda a, offset=0, dim1=-2, dim2=-1: torch.linalg.diagonal(a, offset=offset, dim1=dim1, dim2=dim2))


MEANING["linalg"] = Linalg
cases("linalg.vander", "linalg.vander(x) | f(3) ; f64(2) ; i64(3) ; f(1) ; f16(2) ; bf16(2) ; f(2, 3)\nlinalg.vander(x, 2) | f(3)\nlinalg.vander(x, n=4) | f(2) ; i64(2)", Linalg.vander)
