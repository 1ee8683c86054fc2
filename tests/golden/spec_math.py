"""spec_math.py: further functions of elements and along axes, and other names; see functions.py.
SPDX-License-Identifier: MIT
"""
import math

import torch
import torch.nn.functional as F

from functions import alias, cases, fl, means, MEANING, torch_named
from spec_pointwise import FLOAT_LINES, host_too, like, WHOLE_LINES
from spec_reduce import axes, both, CUM

# ---- pointwise, one operand ----
for name, domain, whole in [("asinh", "", "lo=0, hi=3"), ("acosh", ", lo=1.1, hi=4", "lo=1, hi=4"), ("atanh", ", lo=-0.9, hi=0.9", "lo=0, hi=0"),
                            ("sinc", "", "lo=0, hi=3"), ("deg2rad", "", "lo=0, hi=9"), ("rad2deg", "", "lo=0, hi=9")]:
    text = FLOAT_LINES.format(f=name, d=domain, d0=domain.lstrip(", "), i=", " + whole)
    if name in ("acosh",):
        text = text.replace("{name}() | f()", "").replace("f(0, 3)", "f(0, 3)")
    cases(name, text, host_too(torch_named(name)))
cases("trunc", WHOLE_LINES.format(f="trunc") + "trunc(x) | fv(-0.5, 1.9, -1.9, 1e10)", torch.trunc)
cases("frac", """
frac(x) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; f(0, 2) ; f(1, 1) ; fv(1.75, -1.75, 0, 3) ; f()
x.frac() | f(2, 2)
frac(x.T) | f(2, 3)
""")
cases("fix", "fix(x) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; f(0, 2) ; fv(-0.5, 1.9, -1.9) ; f() ; i64(3)\nx.fix() | f(2)", torch.fix)
cases("sgn", "sgn(x) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; f(0, 2) ; fv(-0.0, 0, inf, -inf) ; i64(3) ; u8(3) ; i8(3) ; i32(2)\nx.sgn() | f()", torch.sgn)
cases("signbit", "signbit(x) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; f(0, 2) ; fv(-0.0, 0, inf, -inf, 1, -1) ; i64(3) ; u8(3) ; i8(3)\nx.signbit() | f()")
for name in ["isposinf", "isneginf"]:
    cases(name, f"{name}(x) | f(2, 3) ; fv(inf, -inf, nan, 0) ; f64v(inf, -inf, nan) ; f16v(inf, -inf, 1) ; bf16v(inf, -inf) ; f(0, 2) ; i64(2) ; f()\n"
          f"x.{name}() | fv(-inf, inf)")
cases("logit", """
logit(x) | f(3, 4, lo=0.05, hi=0.95) ; f64(3, lo=0.05, hi=0.95) ; f16(3, lo=0.1, hi=0.9) ; bf16(3, lo=0.1, hi=0.9) ; fv(0.5, nan) ; f(0, 2) ; f(1, 1, lo=0.1, hi=0.9)
logit(x) | fv(0, 1, -1, 2) | nograd
logit(x, 0.1) | fv(0, 0.05, 0.5, 0.99) ; f64v(0.5, 0.2)
x.logit(eps=0.01) | fv(0.5, 0.3)
""")
cases("positive", "positive(x) | f(3, 4) ; f64(2) ; i64(3) ; f() ; f(0, 2) ; f16(2) ; bf16(2) ; u8(2) ; i8(2)\nx.positive() | f(2)")
cases("logical_not", "logical_not(x) | b1(4) ; i64(4, lo=0, hi=1) ; fv(0, -0.0, 1, nan, inf) ; u8(3, hi=1) ; f(0, 2) ; b1() ; f16v(0, 1) ; bf16v(0, 1) ; i8(3)\nx.logical_not() | b1(2, 2)")

# ---- pointwise, two operands ----
TWO = """
{f}(x, y) | f(3, 4), f(3, 4, s=1) ; f(3, 1), f(1, 4, s=1) ; f64(3), f64(1, s=1) ; f16(3), f16(3, s=1) ; bf16(3), bf16(3, s=1) ; f(0, 3), f(3) ; f(), f(2, s=1)
{f}(x, y) | f(2), f64(2, s=1) ; fv(inf, nan, 1, -inf, 0), fv(1, 1, nan, -inf, -0.0)
x.{f}(y) | f(2, 3), f(3, s=1)
{f}(x.T, y) | f(2, 3), f(3, 2, s=1)
"""
cases("fmod", TWO.format(f="fmod") + "fmod(x, y) | i64(4), i64(4, s=1, lo=1) ; i64v(7, -7, 7, -7), i64v(2, 2, -2, -2) ; u8(3), u8(3, s=1, lo=1) ; i8(3), i8v(-3, 2, 5) ; i32(3), i32(3, lo=1)\n"
      "fmod(x, 2.0) | f(3)\nfmod(x, 3) | i64(4) ; f64(3)", torch.fmod)
cases("hypot", TWO.format(f="hypot"), torch.hypot)
cases("copysign", TWO.format(f="copysign").replace("fv(inf, nan, 1, -inf, 0), fv(1, 1, nan, -inf, -0.0)", "fv(1, 0), fv(-0.0, -0.0)") +
      "copysign(x, y) | fv(inf, nan, 1, -inf, 0), fv(1, 1, nan, -inf, -0.0) | nograd\n" "copysign(x, y) | i64(3), i64(3, s=1) ; fv(1, 2), fv(0.0, -0.0)\ncopysign(x, -1.0) | f(3)")
cases("heaviside", "heaviside(x, y) | f(3, 4), f(3, 4, s=1) ; fv(0, 1, -1, -0.0), fv(0.5, 0.5, 0.5, 0.25) ; f64(3), f64(1) ; f(0, 2), f(2) ; i64v(0, 1, -1), i64v(5, 5, 5) ; "
      "f16v(0, 1), f16v(2, 2) ; bf16v(0, 1), bf16v(2, 2) ; fv(inf, -inf), fv(1, 1) | nograd\nx.heaviside(y) | fv(0, 2), fv(3, 3) | nograd")
for name in ["fmax", "fmin"]:
    cases(name, TWO.format(f=name) + f"{name}(x, y) | fv(nan, 1, nan), fv(2, nan, nan) ; i64(3), i64(3, s=1)")
for name in ["logaddexp", "logaddexp2"]:
    cases(name, TWO.format(f=name).replace("fv(inf, nan, 1, -inf, 0), fv(1, 1, nan, -inf, -0.0)", "fv(inf, nan, 1, 0), fv(1, 1, nan, -0.0)") +
          f"{name}(x, y) | fv(1000, -1000), fv(999, -1001)\n{name}(x, y) | fv(-inf, inf), fv(-inf, inf) | nograd")
cases("xlogy", """
xlogy(x, y) | f(3, 4), f(3, 4, s=1, lo=0.1) ; f(3, 1), f(1, 4, s=1, lo=0.1) ; f64(3), f64(1, s=1, lo=0.1) ; f16(3), f16(3, s=1, lo=0.25) ; bf16(3), bf16(3, s=1, lo=0.25) ; f(0, 3), f(3)
xlogy(x, y) | fv(0, 0, 1, 0, 2), fv(0, 1, 0, nan, -1) | nograd
x.xlogy(y) | f(2, 3), f(3, s=1, lo=0.1)
xlogy(x, 2.0) | f(3)
""")
for name in ["logical_and", "logical_or", "logical_xor"]:
    cases(name, f"{name}(x, y) | b1(4), b1(4, s=1) ; b1(3, 1), b1(1, 2, s=1) ; i64(4, lo=0, hi=1), i64(4, s=1, lo=0, hi=1) ; f(3), b1(3) ; fv(0, nan, 1), fv(0, 0, 2) ; u8(3, hi=1), i64(3, lo=0, hi=1) ; "
          f"b1(0), b1(1) ; f16v(0, 1), f16v(1, 1)\nx.{name}(y) | b1(2, 2), b1(2)")
for name in ["bitwise_left_shift", "bitwise_right_shift"]:
    cases(name, f"{name}(x, y) | i64(4), i64(4, s=1, lo=0, hi=5) ; i32(3), i32(3, s=1, lo=0, hi=5) ; u8(3), u8(3, s=1, hi=3) ; i8(3), i8(3, s=1, lo=0, hi=3) ; i64(2, 3), i64(3, s=1, lo=0, hi=4) ; "
          f"i64v(-8, -1, 7), i64v(1, 1, 2)\n{name}(x, 2) | i64(3) ; i32(2)\nx.{name}(y) | i64(2), i64(1, lo=1, hi=3)")
cases("isclose", """
isclose(x, y) | fv(1, 1, 1, nan, inf, inf, 0), fv(1, 1.000001, 1.1, nan, inf, -inf, 1e-9) ; f64v(1, 2), f64v(1, 2.0001) ; i64(3), i64(3) ; f(2, 2), f(2) ; f(0), f(0)
isclose(x, y, equal_nan=true) | fv(nan, 1), fv(nan, nan)
isclose(x, y, rtol=0.1) | fv(1, 1), fv(1.05, 1.2)
isclose(x, y, atol=0.5, rtol=0.0) | fv(1, 1), fv(1.4, 1.6)
x.isclose(y) | fv(1), fv(1)
""")
cases("allclose", """
allclose(x, y) | fv(1, 2), fv(1, 2) ; fv(1, 2), fv(1, 2.1) ; fv(nan), fv(nan) ; f64v(1), f64v(1.0000001) ; f(0), f(0) ; f(2, 2), f(2, 2)
allclose(x, y, rtol=0.1) | fv(1), fv(1.05)
x.allclose(y, atol=1.0) | fv(1), fv(1.5)
allclose(x, y, equal_nan=true) | fv(nan), fv(nan)
""", lambda *a, **k: torch.tensor(torch.allclose(*a, **k)))      # a tensor: it does not wait
cases("equal", "equal(x, y) | f(2, 3), f(2, 3) ; f(2, 3), f(2, 3, s=1) ; i64(3), i64(3) ; f(0), f(0) ; fv(nan), fv(nan) ; b1(2), b1(2) ; f(2), f(3) ; f64(2), f64(2)\nx.equal(y) | f(2), f(2)",
      lambda x, y: torch.tensor(torch.equal(x, y)))
for name in ["addcmul", "addcdiv"]:
    cases(name, f"{name}(x, y, z) | f(2, 3), f(2, 3, s=1), f(2, 3, s=2, lo=0.2) ; f(2, 3), f(3, s=1), f(2, 1, s=2, lo=0.2) ; f64(3), f64(3, s=1), f64(3, s=2, lo=0.2) ; f(0), f(0), f(0) ; f(), f(s=1), f(s=2, lo=0.2) ; "
          f"f(1, 1), f(1, 1, s=1), f(1, 1, s=2, lo=0.2)\n{name}(x, y, z, value=0.5) | f(3), f(3, s=1), f(3, s=2, lo=0.2)\nx.{name}(y, z) | f(2), f(2, s=1), f(2, s=2, lo=0.2)\n"
          f"{name}(x, y, z, value=-2) | f64(2), f64(2, s=1), f64(2, s=2, lo=0.2)")
cases("float_power", "float_power(x, y) | f(3, lo=0.1), f(3, s=1) ; i64(3, lo=1), i64(3, s=1, lo=0, hi=3) ; f64(2, lo=0.1), f(2) ; f(0), f(0) ; f(2, 1, lo=0.1), f(2)\nfloat_power(x, 2) | f(3) ; i64(3) ; i32(2)\nx.float_power(0.5) | f(2, lo=0.1)")
cases("divide", "divide(x, y) | f(3, 4), f(4, s=1, lo=0.2) ; i64(3), i64(3, s=1, lo=1)\ndivide(x, y, rounding_mode=\"floor\") | f(3, 2), f(2, s=1, lo=0.2) ; i64v(7, -7, 7), i64v(2, 2, -2) ; f64(3), f64(3, s=1, lo=0.2)\n"
      "divide(x, y, rounding_mode=\"trunc\") | f(3, 2), f(2, s=1, lo=0.2) ; i64v(7, -7, 7, -7), i64v(2, 2, -2, -2) ; i32v(9), i32v(-4)\nx.divide(2.0) | f(3)", torch.div)
cases("subtract", "subtract(x, y) | f(3, 4), f(4, s=1) ; i64(3), i64(3, s=1) ; f64(2, 1), f64(2) ; f(0), f(1) ; f16(2), f16(2, s=1) ; bf16(2), bf16(2, s=1)\nsubtract(x, y, alpha=2) | f(3), f(3, s=1) ; i64(2), i64(2)\nx.subtract(1.0) | f(2)", torch.sub)

OTHER_NAMES = [("true_divide", "div", "/"), ("floor_divide", "floordiv", "//"), ("remainder", "mod", "%"), ("multiply", "mul", "*"), ("greater", "gt", ">"),
               ("greater_equal", "ge", ">="), ("less", "lt", "<"), ("less_equal", "le", "<="), ("not_equal", "ne", "!="), ("power", "pow", "**"),
               ("bitwise_and", "bitand", "&"), ("bitwise_or", "bitor", "|"), ("bitwise_xor", "bitxor", "^")]
for new, old, operator in OTHER_NAMES:
    alias(new, old, operator)
for new, old in [("negative", "neg"), ("absolute", "abs"), ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"), ("arctan2", "atan2"),
                 ("arcsinh", "asinh"), ("arccosh", "acosh"), ("arctanh", "atanh"), ("swish", "silu")]:
    alias(new, old)
cases("bitwise_not", "bitwise_not(x) | b1(3) ; i64(3) ; u8(3) ; i8(3) ; i32(2) ; b1(0) ; b1() ; i64(2, 2)\nx.bitwise_not() | i64(2)")

# ---- activations ----
ACTIVATION = """
{f}(x) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; f(0, 2) ; f(1, 1) ; f() ; f(2, 2, 2, s=3)
{f}(x) | fv(0, 1, -1, 20, -20) ; f64v(3, -3, 6, 0.5, -0.5)
{f}(x) | fv(inf, -inf, nan) | nograd
x.{f}() | f(2, 3)
{f}(x.T) | f64(2, 3)
"""
for name in ["selu", "celu", "mish", "softsign", "tanhshrink", "hardtanh", "relu6", "hardsigmoid", "hardswish", "hardshrink", "softshrink"]:
    text = ACTIVATION.format(f=name)
    if name == "hardsigmoid":              # in its gradient PyTorch has 1/6 as a float32, also for float64
        text = text.replace("f64(2, 3) ; f16", "f64(2, 3, lo=4, hi=6) ; f16").replace("| f64(2, 3)", "| f(2, 3, s=1)").replace("f64v(", "fv(")
    cases(name, text, getattr(F, name))
cases("celu", "celu(x, 2.0) | f(3)\ncelu(x, alpha=0.5) | f64(4)")
cases("hardtanh", "hardtanh(x, -2, 0.5) | f(4)\nhardtanh(x, min_val=0.0, max_val=1.0) | f64(4) ; fv(0, 1)")
cases("hardshrink", "hardshrink(x, 1.0) | f(4) ; fv(1, -1, 1.5)")
cases("softshrink", "softshrink(x, 1.0) | f(4) ; fv(1, -1, 1.5)\nsoftshrink(x, lambd=0.25) | f64(3)")
cases("threshold", "threshold(x, 0.5, 9.0) | f(3, 4) ; f64(3) ; f(0, 2) ; fv(0.5, 0.6, nan, inf) ; f16(3) ; bf16(3) ; f() ; f(2, 1, 2)\nx.threshold(-1.0, 0.0) | f(3)", F.threshold)
cases("softmin", "softmin(x) | f(3, 4) ; f64(3) ; f(1, 1) ; f(0, 2) ; fv(1000, 0) ; f16(3) ; bf16(3)\nsoftmin(x, axis=0) | f(3, 2)\nx.softmin(-2) | f(2, 3)",
      lambda x, axis=-1: F.softmin(x, axis))
cases("glu", "glu(x) | f(3, 4) ; f64(2) ; f(2, 2, 2) ; f(0, 4) ; f16(4) ; bf16(4)\nglu(x, 0) | f(4, 3)\nglu(x, axis=-2) | f(2, 3)\nx.glu(1) | f(2, 2)", lambda x, axis=-1: F.glu(x, axis))
cases("prelu", "prelu(x, y) | f(2, 3), fv(0.25) ; f(2, 3), f(3, s=1) ; f(2, 2, 3), f(2, s=1) ; f64(3), f64v(0.1) ; f(1, 2, 2, 1), f(2, s=1) ; f(0, 2), fv(0.5) ; fv(0, -0.0, nan), fv(0.5)\nx.prelu(y) | f(2), fv(2)", F.prelu)

# ---- along axes ----
cases("cummax", """
cummax(x, 0) | f(3, 4) ; f64(5) ; i64(4) ; u8(4) ; i8(4) ; f16(4) ; bf16(4) ; f(1, 2) ; f(0, 2) ; fv(1, nan, 2) ; fv(2, 1, 2, 3, 3)
cummax(x, axis=-1) | f(2, 4) ; f(2, 2, 3)
x.cummax(1) | f(2, 3)
""", lambda x, axis: list(torch.cummax(x, axis)))
cases("cummin", """
cummin(x, 0) | f(3, 4) ; f64(5) ; i64(4) ; u8(4) ; i8(4) ; f16(4) ; bf16(4) ; f(1, 2) ; f(0, 2) ; fv(1, nan, 2) ; fv(2, 1, 2, 1, 3)
cummin(x, axis=-1) | f(2, 4) ; f(2, 2, 3)
x.cummin(1) | f(2, 3)
""", lambda x, axis: list(torch.cummin(x, axis)))
cases("logcumsumexp", """
logcumsumexp(x, 0) | f(3, 4) ; f64(5) ; f(1, 2) ; f(0, 2) ; fv(90, 80, 95) ; fv(-inf, 1, 2)
logcumsumexp(x, axis=-1) | f(2, 4) ; f64(2, 2, 3)
x.logcumsumexp(1) | f(2, 3)
""", lambda x, axis: torch.logcumsumexp(x, axis))
cases("diff", """
diff(x) | f(3, 4) ; f64(5) ; i64(4) ; b1(4) ; f(1) ; f(2, 0) ; u8v(1, 5, 3) ; f16(3) ; bf16(3)
diff(x, n=2) | f(5) ; f(2)
diff(x, axis=0) | f(3, 2)
diff(x, 1, 0, prepend=y) | f(3), f(1, s=1)
x.diff(append=y) | f(2, 2), f(2, 1, s=1)
""", lambda x, n=1, axis=-1, prepend=None, append=None: torch.diff(x, n, axis, prepend, append))
cases("nansum", """
nansum(x) | fv(1, nan, 2) ; f(3, 4) ; f64v(nan, nan) ; f(0) ; i64(3) ; fv(inf, nan) ; f()
nansum(x, axis=0) | f(2, 3)
x.nansum(axis=-1, keepdims=true) | f(2, 3)
""", lambda x, axis=None, keepdims=False: torch.nansum(x, axes(x, axis) if axis is not None else None, keepdims))
cases("nanmean", """
nanmean(x) | fv(1, nan, 2) ; f(3, 4) ; f64v(nan, nan, 1) ; fv(inf, nan) ; f() ; f(1, 1)
nanmean(x, axis=0) | f(2, 3)
nanmean(x) | fv(nan) | nograd
x.nanmean(axis=-1, keepdims=true) | f(2, 3)
""", lambda x, axis=None, keepdims=False: torch.nanmean(x, axes(x, axis) if axis is not None else None, keepdims))
for name, f in [("nanmedian", torch.nanmedian)]:
    cases(name, f"{name}(x) | fv(1, nan, 2) ; f(3, 4) ; f64v(nan, 3, 1, 2) ; i64(5) ; f(1)\n{name}(x) | fv(nan, nan) | nograd\n{name}(x, axis=0) | f(3, 2)\nx.{name}(axis=-1, keepdims=true) | f(2, 3)\n{name}(x, 1) | f(2, 4)",
          lambda x, axis=None, keepdims=False: torch.nanmedian(x) if axis is None else torch.nanmedian(x, axis, keepdims)[0])
cases("nanquantile", """
nanquantile(x, 0.5) | fv(1, nan, 2) ; f(3, 4) ; f64v(nan, 3, 1, 2) ; fv(nan, nan)
nanquantile(x, 0.3, axis=0) | f(3, 2)
nanquantile(x, 0.25, axis=-1, keepdims=true) | f(2, 3)
x.nanquantile(0.9, axis=1) | f(2, 4)
nanquantile(x, y) | fv(1, nan, 5, 2), fv(0.1, 0.9) | nograd
""", lambda x, q, axis=None, keepdims=False: torch.nanquantile(x, q, dim=axis, keepdim=keepdims))
cases("quantile", """
quantile(x, 0.3, interpolation="lower") | f(6)
quantile(x, 0.3, interpolation="higher") | f(6)
quantile(x, 0.3, interpolation="nearest") | f(6)
quantile(x, 0.3, interpolation="midpoint") | f(6)
""", lambda x, q, axis=None, keepdims=False, interpolation="linear": torch.quantile(x, q, dim=axis, keepdim=keepdims, interpolation=interpolation))
cases("kthvalue", """
kthvalue(x, 2) | f(3, 4) ; f64(5) ; i64v(4, 2, 9, 1) ; fv(3, nan, 1) ; f16(4) ; bf16(4)
kthvalue(x, 1, axis=0) | f(3, 2)
kthvalue(x, k=3, axis=-1, keepdims=true) | f(2, 4)
x.kthvalue(1) | f(2, 3)
""", lambda x, k, axis=-1, keepdims=False: list(torch.kthvalue(x, k, axis, keepdims)))
cases("aminmax", """
aminmax(x) | f(3, 4) ; f64(5) ; i64(4) ; u8(3) ; fv(1, nan) ; f() ; f16(3) ; bf16(3)
aminmax(x, axis=0) | f(3, 2)
x.aminmax(axis=-1, keepdims=true) | f(2, 3)
""", lambda x, axis=None, keepdims=False: list(torch.aminmax(x, dim=axis, keepdim=keepdims)))
for name, f in [("std_mean", torch.std_mean), ("var_mean", torch.var_mean)]:
    cases(name, f"{name}(x) | f(3, 4) ; f64(5) ; f(2, 2, 2)\n{name}(x, axis=0) | f(3, 2) ; f64(3, 2)\n{name}(x, axis=[0, 2], correction=0) | f(2, 3, 2)\n"
          f"{name}(x, axis=-1, keepdims=true) | f(2, 3)\nx.{name}(correction=0) | f(2, 2) ; f(1)",
          lambda x, axis=None, correction=1, keepdims=False, f=f: list(f(x, axes(x, axis), correction=correction, keepdim=keepdims)))
cases("trapezoid", """
trapezoid(x) | f(3, 4) ; f64(5) ; f(1) ; f(2, 1)
trapezoid(x, dx=0.5) | f(4)
trapezoid(x, y) | f(4), fv(0, 1, 3, 4) ; f(2, 3), fv(0, 1, 3)
trapezoid(x, axis=0) | f(3, 2)
x.trapezoid() | f(3)
""", lambda y, x=None, dx=None, axis=-1: torch.trapezoid(y, x, dim=axis) if x is not None else torch.trapezoid(y, dx=dx or 1.0, dim=axis))
alias("trapz", "trapezoid")
cases("cov", "cov(x) | f(3, 4) ; f64(2, 5) ; f(5) ; f(1, 3) ; f(2, 2)\ncov(x, correction=0) | f(2, 3) ; f64(3, 3)\nx.cov() | f(2, 4)", lambda x, correction=1: torch.cov(x, correction=correction))
cases("corrcoef", "corrcoef(x) | f(3, 4) ; f64(2, 5) ; f(5) ; f64(2, 3) ; f64(3, 3) ; f64(2, 4) ; f(4, 5)\nx.corrcoef() | f(2, 4)")
cases("bincount", """
bincount(x, weights=y) | i64v(0, 1, 1, 3), f(4) ; i64v(0, 2), f64(2) | nograd
bincount(x) | i64v(0, 3, 3) ; i64(0)
bincount(x, minlength=6) | i64v(0, 3, 3)
""", lambda x, n=None, weights=None, minlength=0: torch.bincount(x.long(), weights, n if n is not None else minlength))
cases("histc", """
histc(x, 4, 0, 4) | fv(0, 0.5, 1, 3.9, 4, -1, 5) ; f64v(1, 2, 3) ; f(3, 4)
histc(x, bins=3) | f(5) ; f64(4) ; fv(2, 2)
histc(x, bins=5, min=-3, max=3) | f(8) ; f(2, 3)
x.histc(2, 0, 1) | fv(0.2, 0.7, 0.5)
""", lambda x, bins=100, min=0, max=0: torch.histc(x, bins, min, max))
for name in ["bucketize"]:
    cases(name, "bucketize(x, y) | f(3, 4), fv(-1, 0, 1) ; f64v(1, 2, 3), f64v(1, 2, 3) ; i64v(1, 5), i64v(1, 3) ; f(0), fv(1) ; f(), fv(0) ; f(2), f(0)\nbucketize(x, y, right=true) | fv(1, 2, 3), fv(1, 2, 3) ; f(2, 2), fv(0)\nx.bucketize(y) | f(3), fv(0, 1)",
          lambda x, b, right=False: torch.bucketize(x, b, right=right))
cases("searchsorted", """
searchsorted(x, y) | fv(1, 2, 3), fv(0, 1, 2.5, 9) ; f64v(1, 2), f64(2, 2) ; i64v(1, 3, 5), i64v(3, 4) ; fv(1, 2), f(0) ; fv(1, 3, 5, 2, 4, 6).reshape(2, 3), f(2, 2, lo=0) ; f(0), f(2)
searchsorted(x, y, right=true) | fv(1, 2, 2, 3), fv(2, 3)
x.searchsorted(y) | fv(1, 2), fv(1.5)
""", lambda x, y, right=False: torch.searchsorted(x, y, right=right))
