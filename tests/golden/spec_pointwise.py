"""spec_pointwise.py: functions of one element at a time; see functions.py.
SPDX-License-Identifier: MIT
"""
import torch
import torch.nn.functional as F

from functions import cases, fl, means, MEANING, torch_named


def host_too(f, whole=torch.float64):
    """Math functions take host numbers too, in float64."""
    def call(x, *args, **more):
        if isinstance(x, torch.Tensor):
            return f(x, *args, **more)
        return f(torch.tensor(x, dtype=whole if isinstance(x, int) else torch.float64), *args, **more).item()
    return call


def floats(f):
    return lambda x, *args, **more: f(fl(x), *args, **more)


FINITE = "nan, 0.0, 1.0, -1.0, 0.5, -2.5, 30.0, -30.0"
FLOAT_LINES = """
{f}(x) | f(3, 4{d}) ; f64(2, 3{d}) ; f16(2, 4{d}) ; bf16(2, 4{d}) ; f(0, 3) ; f(1, 1{d}) ; f64(2, 0, 2) ; f(2, 2, 1, 2{d})
{f}(x) | fv(SPECIAL) ; f64v(SPECIAL) ; f16v(SPECIAL) ; bf16v(SPECIAL)
x.{f}() | f({d0}) ; f(2, 1, 3{d})
{f}(x.T) | f(2, 3{d})
{f}(x[:, ::2]) | f64(2, 4{d})
{f}(x) | i64(2, 2{i}) ; i32(3{i}) ; i8(3{i}) ; u8(3{i}) ; b1(3)
"""

# name, domain, domain of ints, is its value at a host number asked
FLOAT_FUNCTIONS = [
    ("exp", None), ("expm1", None), ("exp2", None), ("log", (0.1, 3)), ("log1p", (-0.9, 3)), ("log2", (0.1, 3)), ("log10", (0.1, 3)),
    ("sqrt", (0.1, 3)), ("rsqrt", (0.1, 3)), ("reciprocal", (0.2, 3)), ("sin", None), ("cos", None), ("tan", (-1.4, 1.4)),
    ("asin", (-0.9, 0.9)), ("acos", (-0.9, 0.9)), ("atan", None), ("sinh", None), ("cosh", None), ("tanh", None), ("erf", None), ("sigmoid", None),
]
for name, domain in FLOAT_FUNCTIONS:
    d = f", lo={domain[0]}, hi={domain[1]}" if domain else ""
    i = ", lo=0, hi=1" if name in ("asin", "acos") else ", lo=0, hi=9" if domain else ", lo=-3, hi=3"
    lines = FLOAT_LINES.format(f=name, d=d, d0=d.lstrip(", "), i=i if name != "tan" else ", lo=0, hi=1")
    lines += f"{name}(0.5)\n{name}(1)\n"
    cases(name, lines.replace("lo=-3, hi=3); b1", "lo=0, hi=3); b1"), host_too(torch_named(name)))

# PyTorch's gelu gives nan at infinity (one of both, by dtype), where ours has the limits inf and 0.
for name, f in [("gelu", F.gelu), ("silu", F.silu), ("softplus", F.softplus), ("logsigmoid", F.logsigmoid)]:
    lines = FLOAT_LINES.format(f=name, d="", d0="", i=", lo=0, hi=3")
    cases(name, lines.replace("SPECIAL", FINITE) if name == "gelu" else lines, floats(f))
cases("gelu", """
gelu(x, approximate="tanh") | f(3, 4) ; f64(4) ; fv(nan, 0, 30, -30) ; bf16(4)
gelu(x, approximate="none") | f(4)
""")
cases("softplus", """
softplus(x, 2, 1) | f(3, 4) ; f64(4) ; bf16(4)
softplus(x, beta=0.5, threshold=-1) | f(3, 4) ; f(0, 2)
""", floats(F.softplus))
cases("elu", FLOAT_LINES.format(f="elu", d="", d0="", i=", lo=0, hi=3").replace("SPECIAL", FINITE.replace("nan", "-inf, inf")) + """
elu(x) | fv(nan, 1) | nograd
elu(x, 0.5) | f(3, 4)
elu(x, alpha=2.0) | f64(4)
""", floats(F.elu))
cases("rrelu", """
rrelu(x) | f(3, 4) ; f64(4) ; f(0, 2)
rrelu(x, 0.1, 0.5) | f(3, 4)
rrelu(x, lower=0.25, upper=0.25, training=true) | f(3, 4)
x.rrelu(upper=0.5) | f(4)
""", F.rrelu)
cases("leaky_relu", FLOAT_LINES.format(f="leaky_relu", d="", d0="", i=", lo=0, hi=3") + """
leaky_relu(x, 0.2) | f(3, 4)
leaky_relu(x, a=0.5) | f64(4)
""", lambda x, a=0.01: F.leaky_relu(fl(x), a))

# Those that keep whole numbers.
WHOLE_LINES = """
{f}(x) | f(3, 4) ; f64(2, 3) ; f16(2, 4) ; bf16(2, 4) ; f(0, 3) ; f(1, 1) ; f(2, 2, 1, 2)
{f}(x) | fv(SPECIAL) ; f64v(SPECIAL) ; f16v(SPECIAL) ; bf16v(SPECIAL)
x.{f}() | f() ; f(2, 1, 3)
{f}(x.T) | f(2, 3)
{f}(x) | i64(2, 3) ; i32(4) ; i8(4) ; u8(4) ; i64(0)
"""
for name in ["neg", "abs", "sign", "square", "relu", "floor", "ceil", "round"]:
    text = WHOLE_LINES.format(f=name)
    if name == "abs":                      # its gradient at nan is 0 in PyTorch, ours is sign(nan) = nan
        text = text.replace("SPECIAL", "inf, -inf, 0.0, -0.0, 1.0, -2.5") + "abs(x) | fv(nan, 1) | nograd"
    cases(name, text, torch_named(name))
MEANING["sign"] = lambda x: torch.where(x.isnan(), x.detach(), torch.sign(x)) if x.is_floating_point() else torch.sign(x)   # NumPy's: nan stays nan
for name in ["abs"]:
    MEANING[name] = host_too(torch_named(name), torch.int64)
cases("neg", "-x | f(2, 3) ; i32(3) ; i8v(-128, 127, 1) ; u8v(0, 1, 255)")
cases("abs", "abs(x) | i8v(-128, 127, -1) ; i32v(-2147483647, 5)\nabs(-2)\nabs(-2.5)")
cases("square", "square(x) | i8v(100, -12, 3) ; u8v(16, 200, 3)")
cases("relu", "relu(x) | fv(-0.0, 0.0, 1e-40, -1e-40)")
cases("floor", "floor(x) | fv(-0.5, 0.5, 1.0, -1.0, 8388609.0, 1e10)\nfloor(2.5)")
cases("ceil", "ceil(x) | fv(-0.5, 0.5, 1.0, -1.0, 8388609.0, 1e10)\nceil(2.5)")
MEANING["floor"] = lambda x: torch.floor(x) if isinstance(x, torch.Tensor) else int(torch.floor(torch.tensor(x)))
MEANING["ceil"] = lambda x: torch.ceil(x) if isinstance(x, torch.Tensor) else int(torch.ceil(torch.tensor(x)))
cases("round", """
round(x) | fv(0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388607.5) ; f64v(0.5, 1.5, 4503599627370495.5)
round(x, 1) | f(2, 3) ; f64v(0.25, 0.35, -1.25, 2.5)
round(x, n=2) | f64(4)
round(x, 0) | f(3)
round(2.5)
round(-2.567, 2)
""")


@means("round")
def rounded(x, n=0):
    if not isinstance(x, torch.Tensor):
        return round(x, n) if n else round(x)
    return torch.round(x, decimals=n) if x.is_floating_point() else x     # PyTorch refuses whole numbers


for name in ["isnan", "isfinite", "isinf"]:
    cases(name, f"""
{name}(x) | f(2, 3) ; fv(SPECIAL) ; f64v(SPECIAL) ; f16v(SPECIAL) ; bf16v(SPECIAL) ; f(0, 2) ; i64(3) ; u8(2) ; i8(2) ; i32(2)
x.{name}() | fv(nan) ; f(2, 1, 2)
{name}(x.T) | f(2, 3)
""", torch_named(name))

cases("nan_to_num", """
nan_to_num(x) | fv(SPECIAL) ; f64v(SPECIAL) ; f16v(SPECIAL) ; bf16v(SPECIAL) ; f(2, 3) ; f(0, 2) ; i64(3)
nan_to_num(x, nan=9.0) | fv(nan, 1.0, inf)
nan_to_num(x, 0.5, posinf=2.0, neginf=-3.0) | fv(SPECIAL) ; f64v(SPECIAL)
x.nan_to_num() | f(1, 1)
nan_to_num(x, posinf=1.0) | fv(nan, inf, -inf)
""")

# ---- two operands ----

BINARY = """
{e} | f(3, 4), f(3, 4, s=1) ; f(3, 4), f(4, s=1) ; f(3, 1), f(1, 4, s=1) ; f(2, 1, 3), f(2, 1, s=1) ; f(), f(2, 2, s=1) ; f(3), f(1, s=1)
{e} | f64(2, 3), f64(3, s=1) ; f16(2, 3), f16(2, 3, s=1) ; bf16(2, 3), bf16(3, s=1) ; f(0, 3), f(3, s=1) ; f(2, 0), f(1, 1)
{e} | f(3), f64(3, s=1) ; f16(3), bf16(3, s=1) ; f16(3), f(s=1) ; f(2), f64(s=1) ; i64(3), f(3) ; f64(2), i32(2) ; f16(3), i64(3) ; bf16(2), u8(2)
{e} | fv(1, -2.5, inf, -inf, nan, 0, -0.0), fv(2, 0.5, inf, 1, 1, -1, nan) ; f64v(inf, -inf, nan, 1), f64v(-1, -inf, 1, inf)
"""
INT_BINARY = """
{e} | i64(2, 3), i64(3, s=1) ; i32(4), i32(4, s=1) ; i8(4), i8(4, s=1) ; u8(4), u8(4, s=1) ; i64(0), i64(1)
{e} | u8(3), i8(3, s=1) ; i8(3), i32(3, s=1) ; u8(3), i64(s=1) ; i32(2), i64(2, s=1) ; i8(3), i64(s=1)
"""
ZERO_FREE = """
{e} | i64(2, 3), i64(3, s=1, lo=1) ; i32(4), i32(4, s=1, lo=1) ; i8(4), i8v(-3, 2, 7, -1) ; u8(4), u8(4, s=1, lo=1)
{e} | u8(3), i8(3, s=1, lo=1) ; i8(3), i32v(-2, 3, 5) ; i32(2), i64(2, s=1, lo=1) ; i64v(7, -7, 7, -7), i64v(2, 2, -2, -2)
"""
BOOLS = "{e} | b1(4), b1(4, s=1) ; b1(3), i64(3) ; b1(3), f(3) ; b1(2, 1), u8(3) ; i8(2), b1(2)\n"


def binary(name, operator, *lines, meaning=None):
    text = "".join(lines).format(e=f"x {operator} y") if operator else "".join(lines).format(e=f"{name}(x, y)")
    if operator:
        text += f"\n{name}(x, y) | f(2, 3), f(3, s=1)\nx.{name}(y) | f64(2), f64(2, 1, s=1)"
    cases(name, text, meaning)


WEAK = """
x {o} 2.5 | f(2, 3) ; f64(3) ; f16(3) ; bf16(3) ; i64(3) ; u8(3) ; i8(3)
3 {o} x | f(2, 3, lo=0.5) ; i32(3, lo=1) ; u8(3, lo=1) ; f16(2, lo=0.5) ; bf16(2, lo=0.5)
x {o} 2 | i64(3) ; i8(3) ; u8(3) ; f(3) ; bf16(3)
"""
binary("add", "+", BINARY, INT_BINARY, BOOLS, WEAK.format(o="+"), "{e} | i8v(127, -128), i8v(1, -1) ; u8v(255), u8v(3) ; i32v(2147483647), i32v(1)\n")
binary("sub", "-", BINARY, INT_BINARY, WEAK.format(o="-"), "{e} | i8v(127, -128), i8v(-1, 1) ; u8v(0), u8v(3)\n")
binary("mul", "*", BINARY, INT_BINARY, BOOLS, WEAK.format(o="*"), "{e} | i8v(100, -128), i8v(2, -1) ; u8v(200), u8v(3)\n")
binary("div", "/", BINARY, INT_BINARY, BOOLS, WEAK.format(o="/"))
binary("floordiv", "//", BINARY.replace("f(3, 1), f(1, 4, s=1)", "f(3, 1), f(1, 4, s=1, lo=0.2)"), ZERO_FREE, WEAK.format(o="//"),
       meaning=torch.floor_divide)
binary("mod", "%", BINARY, ZERO_FREE, WEAK.format(o="%"), meaning=torch.remainder)
MEANING["mod"] = torch.remainder
cases("pow", """
x ** y | f(3, 4, lo=0.1), f(3, 4, s=1) ; f(3, 4, lo=0.1), f(4, s=1) ; f64(3, 1, lo=0.1), f64(1, 2, s=1) ; f16(3, lo=0.25), f16(3, s=1) ; bf16(3, lo=0.25), bf16(3, s=1)
x ** y | fv(0, 0, 0, 1, inf, -inf, nan, 2), fv(0, 2, -1, nan, 0, 3, 0, inf) ; f(0, 3), f(3) ; f(2), f64(2, lo=0) ; f(2, lo=0.1), i64(2) ; i64(3), f(3, lo=0)
x ** 2 | f(2, 3) ; i64(3) ; u8v(3, 20) ; i8v(3, 20) ; f16(3) ; bf16(3) ; f64(2)
x ** 3 | f(2, 3) ; i32(3) ; f64(3)
x ** 0 | f(3) ; i64(3) ; fv(0, nan, inf)
x ** 0.5 | f(2, 3, lo=0.1) ; fv(inf, nan, 0, 1, -1) ; i64(3, lo=0)
x ** -1 | f(3, lo=0.2) ; f64(3, lo=0.2)
x ** -2.5 | f(3, lo=0.2)
x ** y | i64(4), i64(4, lo=0, hi=5) ; i32(2, 2), i32(2, lo=0, hi=3) ; u8(3), u8(3, lo=0, hi=3) ; i8(3), i8(3, lo=0, hi=3)
2 ** x | f(2, 3) ; i64(3, lo=0)
0 ** x | fv(0, 1, 2)
pow(x, y) | f(2, 3, lo=0.1), f(3, s=1)
x.pow(2) | f(3) ; i64(2)
pow(x, 3.0) | f64(3)
""", torch.pow)
for name in ["maximum", "minimum"]:
    binary(name, "", BINARY, INT_BINARY, BOOLS, """
x.%s(y) | f(2, 3), f(3, s=1)
{e} | fv(1, 2, 3), fv(1, 2, 0) ; f64v(nan, 1, nan), f64v(1, nan, nan) ; fv(0.0, -0.0), fv(-0.0, 0.0)
""" % name, meaning=lambda x, y, f=torch_named(name): f(x, y))
    cases(name, f"{name}(x, 0.5) | f(2, 3) ; f16(3) ; bf16(3)\n{name}(x, 2) | i64(3) ; u8(3) ; i8(3)\n{name}(0, x) | f(3)")
_weak = {n: MEANING[n] for n in ["maximum", "minimum"]}
for name in _weak:
    MEANING[name] = lambda x, y, f=_weak[name]: f(*like(x, y))


def like(x, y):
    """A host number takes the tensor's dtype."""
    if not isinstance(x, torch.Tensor):
        x = torch.tensor(x, dtype=y.dtype)
    if not isinstance(y, torch.Tensor):
        y = torch.tensor(y, dtype=x.dtype)
    return x, y


COMPARE = """
{e} | f(3, 4), f(4, s=1) ; f(3, 1), f(1, 4, s=1) ; fv(1, 1, nan, inf, -inf, 0.0), fv(1, 2, nan, inf, inf, -0.0) ; f(0, 3), f(3)
{e} | i64(2, 3), i64(3, s=1, hi=0) ; u8(3), u8(3, s=1) ; i8(3), i8(3, s=1) ; b1(4), b1(4, s=1) ; f16(3), f16(3, s=1) ; bf16(3), bf16(3, s=1)
{e} | i64(3), f(3) ; f64(2), f(2) ; u8(3), i8(3) ; b1(2), i64(2) ; f16(2), bf16(2) ; i64(), f(2)
{e} | u8v(1, 200, 255), i8v(1, -56, -1) ; i32v(-1, 5), i64v(-1, 4294967295)
"""
for name, operator in [("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")]:
    text = COMPARE.format(e=f"x {operator} y") + f"x {operator} 1 | i64v(0, 1, 2) ; fv(0, 1, 2, nan) ; u8v(0, 1, 2) ; b1(3)\nx {operator} 0.5 | f16v(0, 0.5, 1)\n"
    if name != "gt":                       # gt is the name space of the builtins
        text += f"{name}(x, y) | f(3), f(3, s=1)\n"
    cases(name, text + f"x.{name}(y) | i8(3), i8(3, s=1)", torch_named(name))

BITS = """
{e} | b1(2, 3), b1(3, s=1) ; i64(2, 3), i64(3, s=1) ; u8(4), u8(4, s=1) ; i8(4), i8(4, s=1) ; i32(4), i32(1, s=1) ; b1(0, 2), b1(2)
{e} | u8(3), i64(3) ; i8(3), u8(3) ; b1(3), i64(3) ; i8v(-128, 127), i32v(255, -1) ; b1(), b1(2)
"""
for name, operator, other in [("bitand", "&", "bitwise_and"), ("bitor", "|", "bitwise_or"), ("bitxor", "^", "bitwise_xor")]:
    text = BITS.format(e=f"x{operator}y") + f"x{operator}6 | i64(3) ; u8(3) ; i8(3)\n{name}(x, y) | b1(3), b1(3, s=1)"
    cases(name, text, torch_named(other))
cases("bitnot", """
~x | b1(2, 3) ; i64(3) ; u8(3) ; i8(3) ; i32(2, 2) ; b1(0, 2) ; b1()
bitnot(x) | b1(3) ; i64(2)
x.bitnot() | u8(2)
""", torch.bitwise_not)

# of float32 and float64 the values alone: PyTorch squares the float32 as such in the gradient
cases("atan2", """
atan2(x, y) | f(3, 4), f(3, 4, s=1) ; f(3, 1), f(1, 4, s=1) ; f64(3), f64(1, s=1) ; f16(3), f16(3, s=1) ; bf16(3), bf16(3, s=1) ; f(0, 3), f(3)
atan2(x, y) | fv(0, -0.0, 1, -1, inf, nan, inf), fv(-1, -1, 0, 0, inf, 1, -inf) ; i64(3), i64(3, s=1, lo=1)
atan2(x, y) | f(2), f64(2) | nograd
x.atan2(y) | f(2, 2), f(2)
""")
cases("lerp", """
lerp(x, y, 0.25) | f(3, 4), f(3, 4, s=1) ; f64(3), f64(3, s=1) ; f(0, 2), f(0, 2) ; f(2, 3), f(3, s=1)
lerp(x, y, z) | f(3, 4), f(3, 4, s=1), f(3, 4, s=2) ; f(3, 4), f(4, s=1), f(3, 1, s=2) ; f64(2), f64(2, s=1), f64(2, s=2)
x.lerp(y, 0.75) | f(2, 3), f(2, 3, s=1)
lerp(x, y, 0.5) | fv(inf, nan, 1), fv(inf, 1, -inf) ; f16(4), f16(4, s=1) ; bf16(4), bf16(4, s=1)
""")
cases("where", """
where(z, x, y) | f(3, 4), f(3, 4, s=1), b1(3, 4) ; f(3, 4), f(4, s=1), b1(3, 1) ; f(), f(2), b1(3, 1) ; f64(3), f64(3, s=1), b1(3) ; f(0, 3), f(3), b1(1)
where(z, x, y) | i64(3), i64(3, s=1), b1(3) ; u8(3), i8(3), b1(3) ; f16(3), f16(3, s=1), b1(3) ; bf16(3), bf16(), b1(3) ; b1(3), b1(3, s=1), b1(3, s=2) ; i64(3), f(3), b1(3)
where(y, x, 0.0) | f(2, 3), b1(3)
where(y, 1.0, x) | f(2, 3), b1(2, 1)
where(x > 0, x, 0.1 * x) | f(3, 4) ; f64(4)
where(y, x, 0) | fv(nan, inf, 1), b1(3) ; i64(3), b1(3) ; u8(3), b1(3)
x.where(y, -inf) | b1(2), f(2, 2)
""", lambda c, a, b: torch.where(c, *like(a, b)))         # as a method too the condition comes first
cases("masked_fill", """
masked_fill(x, y, 0.5) | f(3, 4), b1(3, 4) ; f(3, 4), b1(4) ; f(3, 4), b1(3, 1) ; f64(3), b1(3) ; f(0, 2), b1(2)
masked_fill(x, y, -inf) | f(2, 3), b1(2, 3) ; f16(3), b1(3) ; bf16(3), b1(3)
x.masked_fill(y, 7) | i64(3), b1(3) ; u8(3), b1(3) ; i8(3), b1(1) ; f(2), b1(2)
masked_fill(x, y, value=0) | fv(nan, inf, 1), b1(3)
masked_fill(x, y, z) | f(3), b1(3), f(s=1)
""")
# At nan PyTorch's gradient is 0; ours is that of x, which nan stays.
cases("clamp", """
clamp(x, -1, 1.5) | f(3, 4) ; f64(2, 3) ; f16(4) ; bf16(4) ; f(0, 3) ; fv(inf, -inf, -1, 1.5, 0) ; f(1, 1)
clamp(x, min=0.3) | f(2, 3) ; fv(inf, -inf, 1) ; f64v(inf, -inf, 1)
clamp(x, max=0.5) | f(2, 3) ; f64(3)
clamp(x, -1, 1) | fv(nan, 1, -1) ; f64v(SPECIAL) | nograd
x.clamp(-2, 5) | i64(4) ; i32(3) ; i8(3)
clamp(x, max=4) | u8(4) ; i8(4)
clamp(x, 1, -1) | f(3)
clamp(x, min=y) | f(3, 4), f(4, s=1)
clamp(x, y, z) | f(2, 3), f(3, s=1, lo=-2, hi=-1), f(2, 1, s=2, lo=1)
clamp(x, min=-1.0, max=1.0) | fv(-1, 1, 2, -2)
x.clip(0, 1) | f(4) ; i64(3)
""", torch.clamp)
MEANING["clip"] = torch.clamp
