# Makes tests/golden/ops.gti: what PyTorch says about every row of the op table, as instruction text. A line that begins
# with "#=" holds the value that the instruction before it must give. Needs torch; `make test` does not.
#   python3 tests/golden/make_ops.py > tests/golden/ops.gti
import math
import numpy as np
import torch

NAMES = {torch.bool: "b1", torch.uint8: "u8", torch.int8: "i8", torch.int32: "i32", torch.int64: "i64",
         torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
HALVES = [torch.float16, torch.bfloat16]
FULL = [torch.float32, torch.float64]
FLOATS = HALVES + FULL
INTS = [torch.uint8, torch.int8, torch.int32, torch.int64]
next_id = 0

def element(v, dtype):
    if dtype == torch.bool: return "1" if v else "0"
    if not dtype.is_floating_point: return str(int(v))
    v = np.float64(v) if dtype == torch.float64 else np.float32(v)
    if np.isnan(v): return "nan"
    if np.isinf(v): return "inf" if v > 0 else "-inf"
    return repr(float(v)) if dtype == torch.float64 else np.format_float_scientific(v, unique=True, trim="-")

def literal(t):
    shape = ",".join(str(n) for n in t.shape)
    return " ".join([f"data {NAMES[t.dtype]} [{shape}]"] + [element(v, t.dtype) for v in t.flatten().tolist()])

def fresh():
    global next_id
    next_id += 1
    return f"t{next_id}"

def data(t):
    name = fresh()
    print(f"{name} = {literal(t)}")
    return name

def expect(line, *results):
    names = [fresh() for _ in results]
    print(f"{','.join(names)} = {line}")
    for r in results: print(f"#= {literal(r)}")

def typed(values, dtype): return torch.tensor(values).to(dtype) if dtype == torch.bool else torch.tensor(values, dtype=dtype)

REALS = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.25, -3.25, 10, -10, 0.001, -0.1, 60, 20.5, -20.5, math.inf, -math.inf, math.nan]
WHOLE = {torch.uint8: [0, 1, 2, 3, 7, 100, 200, 255], torch.int8: [0, 1, -1, 2, -2, 7, -7, 100, 127, -127],
         torch.int32: [0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -2**31 + 1, 100000],
         torch.int64: [0, 1, -1, 2, -2, 7, -7, 2**63 - 1, -2**63 + 1, 2**40 + 1], torch.bool: [0, 1]}
def values(dtype): return REALS if dtype.is_floating_point else WHOLE[dtype]

def unary(op, f, dtypes, domain=None):
    for d in dtypes:
        x = typed([v for v in values(d) if not domain or domain(v)], d)
        expect(f"{op} {data(x)}", f(x))

def binary(op, f, dtypes, second=None):
    for d in dtypes:
        v = values(d)
        w = [b for b in v if not second or d.is_floating_point or second(b)]
        pairs = [(a, b) for i, a in enumerate(v) for j, b in enumerate(w) if (i + 3 * j) % (7 if d.is_floating_point else 1 if d == torch.bool else 2) == 0][:60]
        a, b = typed([p[0] for p in pairs], d), typed([p[1] for p in pairs], d)
        expect(f"{op} {data(a)} {data(b)}", f(a, b))

ALL = [torch.bool] + INTS + FLOATS
NUM = INTS + FLOATS
print("gti 1")
binary("add", torch.add, ALL)
binary("sub", torch.sub, NUM)
binary("mul", torch.mul, ALL)
binary("div", torch.div, FLOATS)
binary("floordiv", torch.floor_divide, NUM, lambda b: b != 0)
binary("mod", torch.remainder, NUM, lambda b: b != 0)
binary("pow", torch.pow, NUM, lambda b: b >= 0)
binary("maximum", torch.maximum, ALL)
binary("minimum", torch.minimum, ALL)
for op, f in dict(eq=torch.eq, ne=torch.ne, lt=torch.lt, le=torch.le, gt=torch.gt, ge=torch.ge).items(): binary(op, f, ALL)
for op, f in dict(bitand=torch.bitwise_and, bitor=torch.bitwise_or, bitxor=torch.bitwise_xor).items(): binary(op, f, [torch.bool] + INTS)
unary("neg", torch.neg, NUM)
unary("abs", torch.abs, NUM)
unary("sign", torch.sign, NUM, lambda v: not math.isnan(v))  # torch gives 0 for nan; ours stays nan
unary("square", torch.square, NUM)
for op, f in dict(exp=torch.exp, expm1=torch.expm1, log=torch.log, log1p=torch.log1p, sqrt=torch.sqrt, rsqrt=torch.rsqrt, sin=torch.sin,
                  cos=torch.cos, tanh=torch.tanh, erf=torch.erf, sigmoid=torch.sigmoid,
                  softplus=lambda x: torch.logaddexp(x, torch.zeros_like(x))).items(): unary(op, f, FLOATS)
unary("relu", torch.relu, NUM)
# In float32 torch's own is good to 1e-4 only; at the infinities it gives nan, ours the limits.
unary("gelu", lambda x: torch.nn.functional.gelu(x.double()).to(x.dtype), FLOATS, lambda v: not math.isinf(v))
def gelu_dx(x):
    x = x.double().requires_grad_()
    return torch.autograd.grad(torch.nn.functional.gelu(x).sum(), x)[0]
unary("gelu_dx", lambda x: gelu_dx(x).to(x.dtype), FLOATS, lambda v: not math.isinf(v))
unary("silu", torch.nn.functional.silu, FLOATS, lambda v: v != -math.inf)
for op, f in dict(floor=torch.floor, ceil=torch.ceil, round=torch.round).items(): unary(op, f, FLOATS)
unary("isnan", torch.isnan, NUM)
unary("isfinite", torch.isfinite, NUM)
unary("bitnot", torch.bitwise_not, [torch.bool] + INTS)
for d in ALL:
    c, a, b = typed([1, 0, 1, 0], torch.bool), typed(values(d)[:2] * 2, d), typed(values(d)[-2:] * 2, d)
    expect(f"where {data(c)} {data(a)} {data(b)}", torch.where(c, a, b))
# Broadcasting and immediates.
a, b = torch.arange(6, dtype=torch.float32).reshape(2, 1, 3), torch.arange(4, dtype=torch.float32).reshape(4, 1)
expect(f"sub {data(a)} {data(b)}", a - b)
expect(f"sub 2.5 {data(a)}", 2.5 - a)
expect(f"pow {data(a)} 2", a ** 2)

torch.manual_seed(1)
x3 = torch.randint(-4, 5, (2, 3, 4))
x3[0, 1, 2] = x3[0, 1, 3] = 9  # ties
axes = [("", None), (" axis=0", (0,)), (" axis=[1,2]", (1, 2)), (" axis=2 keepdims=true", (2,)), (" axis=[0,2] keepdims=true", (0, 2))]
for d in [torch.bool, torch.int8, torch.int32, torch.float16, torch.bfloat16, torch.float32]:
    x = x3.to(d) if d != torch.bool else x3 > 0
    name = data(x)
    for text, dims in axes:
        keep = "keepdims" in text
        all_dims = dims or (0, 1, 2)
        wide = x.to(torch.int64) if not d.is_floating_point else x
        expect(f"sum {name}{text}", wide.sum(all_dims, keepdim=keep))
        prod = wide
        for i in sorted(all_dims, reverse=True): prod = prod.prod(i, keepdim=True)
        expect(f"prod {name}{text}", prod if keep else prod.reshape(wide.sum(all_dims).shape))
        number = x.to(torch.uint8) if d == torch.bool else x
        expect(f"max {name}{text}", number.amax(all_dims, keepdim=keep).to(d))
        expect(f"min {name}{text}", number.amin(all_dims, keepdim=keep).to(d))
        any_, all_ = x != 0, x != 0
        for i in sorted(all_dims, reverse=True): any_, all_ = any_.any(i, keepdim=keep), all_.all(i, keepdim=keep)
        expect(f"any {name}{text}", any_)
        expect(f"all {name}{text}", all_)
nans = typed([[1, math.nan, 3], [-math.inf, 2, math.inf]], torch.float64)
expect(f"max {data(nans)} axis=1", nans.amax(1))
expect(f"min {data(nans)} axis=0", nans.amin(0))
expect(f"sum {data(nans)} axis=0", nans.sum(0))
expect(f"argmax {data(nans)} axis=1", nans.argmax(1))
expect(f"argmin {data(nans)} axis=1", nans.argmin(1))
empty = torch.zeros(0, 3)
expect(f"sum {data(empty)} axis=0", empty.sum(0))
expect(f"prod {data(empty)} axis=0", empty.prod(0))
expect(f"sum {data(empty)}", empty.sum())

name = data(x3)
expect(f"reshape {name} [4,6]", x3.reshape(4, 6))
expect(f"permute {name} axes=[2,0,1]", x3.permute(2, 0, 1))
expect(f"slice {name} [0:2,1:3,0:4:3]", x3[0:2, 1:3, 0:4:3])
e = torch.arange(3).reshape(3, 1)
expect(f"expand {data(e)} [2,3,4]", e.expand(2, 3, 4))

casts = [0.0, -0.5, 0.5, 1.9, -1.9, 255.5, -300.7, 3e9, 2.0**31]
for to in ALL:
    x = typed(casts[:7] if to in [torch.uint8, torch.int8] else casts, torch.float64)
    if to == torch.int32: x = x[:7]  # beyond int32 torch follows the processor
    y = x.to(torch.int64).to(to) if to in [torch.uint8, torch.int8] else x.to(to)
    expect(f"cast {data(x)} {NAMES[to]}", y)
for d in INTS:
    x = typed(values(d), d)
    for to in ALL: expect(f"cast {data(x)} {NAMES[to]}", x.to(to))

for d in [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.uint8, torch.int8]:
    r = lambda *s: torch.randint(-3, 4, s).to(d)
    for sa, sb in [((2, 3), (3, 4)), ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (3,)), ((2, 1, 2, 3), (3, 3, 2)), ((2, 0), (0, 3))]:
        a, b = r(*sa), r(*sb)
        expect(f"matmul {data(a)} {data(b)}", a @ b)
a, b = torch.arange(6).reshape(2, 3), torch.arange(4).reshape(2, 2)
expect(f"cat {data(a)} {data(b)} {data(a)} axis=1", torch.cat([a, b, a], 1))
p, v = torch.arange(20).reshape(4, 5), torch.tensor([[-1], [-2]])
q = p.clone(); q[1:4:2, 0:3] = v
expect(f"slice_put {data(p)} {data(v)} [1:4:2,0:3]", q)
i, j = torch.tensor([[0], [3]]), torch.tensor([1, 4, -1])
expect(f"index {data(p)} {data(i)} {data(j)} axis=0", p[i, j])
expect(f"index {data(x3)} {data(j - 1)} axis=2", x3[:, :, j - 1])
expect(f"index {data(x3)} {data(torch.tensor(1))} axis=1", x3[:, 1])
dup, w = torch.tensor([2, 0, 2]), torch.tensor([10., 20., 30.])
z = torch.zeros(4)
expect(f"index_put {data(z)} {data(w)} {data(dup)} axis=0", torch.tensor([20., 0, 30., 0]))  # later positions win
expect(f"index_put {data(z)} {data(w)} {data(dup)} axis=0 accumulate=true", z.index_put((dup,), w, accumulate=True))
q = p.clone(); q[:, j] = 7
expect(f"index_put {data(p)} {data(torch.tensor(7))} {data(j)} axis=1", q)
g = torch.tensor([[0, 2], [1, 1], [3, 0]])
expect(f"gather {data(p)} {data(g)} axis=0", p.gather(0, g))
expect(f"gather {data(p)} {data(g)} axis=1", p.gather(1, g))
src = torch.ones(3, 2, dtype=torch.int64) * 100
expect(f"scatter_add {data(p)} {data(g)} {data(src)} axis=0", p.scatter_add(0, g, src))
name = data(x3.float())
for text, f in [("", lambda x, m: m(x)), (" axis=1", lambda x, m: m(x, 1)), (" axis=2 keepdims=true", lambda x, m: m(x, 2, keepdim=True))]:
    first = lambda m: lambda x, *a, **k: m(x.double() - torch.arange(x.numel()).reshape(x.shape) * (1e-9 if m == torch.argmax else -1e-9), *a, **k)
    expect(f"argmax {name}{text}", f(x3, first(torch.argmax)))
    expect(f"argmin {name}{text}", f(x3, first(torch.argmin)))
expect(f"cumsum {name} axis=1", x3.float().cumsum(1))
expect(f"cumsum {data(x3 > 0)} axis=2", (x3 > 0).cumsum(2))
s = typed([3, math.nan, -1, 3, math.inf, 0, -1, 2], torch.float32)
for desc in [False, True]:
    flag = " descending=true" if desc else ""
    v, k = s.sort(stable=True, descending=desc)
    expect(f"sort {data(s)} axis=0{flag}", v)
    expect(f"argsort {data(s)} axis=0{flag}", k)
    v, k = x3.sort(dim=1, stable=True, descending=desc)
    expect(f"sort {data(x3)} axis=1{flag}", v)
    expect(f"argsort {data(x3)} axis=1{flag}", k)
    expect(f"topk {data(x3)} axis=1 k=2 largest={'true' if desc else 'false'}", v[:, :2], k[:, :2])

# Sources. Philox4x32-10 written down once more, from the paper.
def philox(seed, inst, block):
    k, c = [seed & 0xffffffff, seed >> 32], [block & 0xffffffff, block >> 32, inst & 0xffffffff, inst >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xffffffff, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c
assert philox(0, 0, 0) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]  # Random123's known answers
assert philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) == [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
def words(seed, inst, n): return [w for b in range((n + 3) // 4) for w in philox(seed, inst, b)][:n]
def wide(seed, inst, n):
    w = words(seed, inst, 2 * n)
    return [w[2 * i] | w[2 * i + 1] << 32 for i in range(n)]
def uniform(d, seed, inst, n):
    if d in HALVES:  # as many bits as there are digits: 1 is never reached
        bits = 11 if d == torch.float16 else 8
        return [(w >> 32 - bits) * 2.0**-bits for w in words(seed, inst, n)]
    if d == torch.float32: return [(w >> 8) * 2.0**-24 for w in words(seed, inst, n)]
    return [(w >> 11) * 2.0**-53 for w in wide(seed, inst, n)]
def normal(d, seed, inst, n):
    u = uniform(torch.float32 if d in HALVES else d, seed, inst, n + n % 2)
    r = [math.sqrt(-2 * math.log(1 - u[i & ~1])) for i in range(n)]
    return [r[i] * (math.sin if i % 2 else math.cos)(2 * math.pi * u[i | 1]) for i in range(n)]
expect("full [2,3] f32 2.5", torch.full((2, 3), 2.5))
expect("full [3] b1 true", torch.ones(3, dtype=torch.bool))
expect("arange [5] i64 3 -2", torch.arange(3, -7, -2))
expect("arange [5] f64 0.5 0.25", torch.arange(0.5, 1.75, 0.25, dtype=torch.float64))
for seed, inst in [(0, 0), (42, 7), (2**40 + 5, 2**33 + 1)]:
    for d in FLOATS:
        expect(f"rand [3,3] {NAMES[d]} rng={seed}:{inst}", torch.tensor(uniform(d, seed, inst, 9), dtype=torch.float64).to(d).reshape(3, 3))
        expect(f"randn [7] {NAMES[d]} rng={seed}:{inst}", torch.tensor(normal(d, seed, inst, 7), dtype=torch.float64).to(d))
    expect(f"randint [9] i32 rng={seed}:{inst} -5 1000", torch.tensor([-5 + (w * 1005 >> 32) for w in words(seed, inst, 9)], dtype=torch.int32))
    expect(f"randint [9] u8 rng={seed}:{inst} 0 10", torch.tensor([w * 10 >> 32 for w in words(seed, inst, 9)], dtype=torch.uint8))
    expect(f"randint [9] i64 rng={seed}:{inst} 0 1000000000000", torch.tensor([w * 10**12 >> 64 for w in wide(seed, inst, 9)]))
    expect(f"randint [9] f32 rng={seed}:{inst} 0 10", torch.tensor([w * 10 >> 32 for w in words(seed, inst, 9)], dtype=torch.float32))
    expect(f"randint [9] f64 rng={seed}:{inst} 0 10", torch.tensor([w * 10 >> 64 for w in wide(seed, inst, 9)], dtype=torch.float64))
    expect(f"randint [9] b1 rng={seed}:{inst} 0 2", torch.tensor([w >> 31 for w in words(seed, inst, 9)], dtype=torch.bool))

# Factorizations, of matrices that rounding hardly touches.
for d in FULL:
    low = torch.tensor([[[2., 0, 0], [1, 4, 0], [-3, 0.5, 1]], [[1, 0, 0], [0.25, 2, 0], [5, -1, 8]]]).to(d)
    spd = low @ low.mT
    expect(f"cholesky {data(spd)}", torch.linalg.cholesky(spd))
    a = torch.tensor([[[1., 2, 3], [4, 8, -4], [2, 0, 1]], [[0, 0, 2], [0, 0.5, 1], [-8, 4, 16]]]).to(d)
    f, pivots = torch.linalg.lu_factor(a)
    perm = torch.lu_unpack(f, pivots)[0].argmax(-2)
    name, kept, order = data(a), data(f), data(perm)
    expect(f"lu {name}", f, perm)
    b = torch.arange(6).reshape(3, 2).to(d)
    expect(f"solve {name} {data(b)} {kept} {order}", torch.linalg.solve(a.double(), b.double()).to(d))
    expect(f"solve {name} {data(b)} {kept} {order} transposed=true", torch.linalg.solve(a.mT.double(), b.double()).to(d))
    for upper in [False, True]:
        for unit in [False, True]:
            x = torch.linalg.solve_triangular(low.mT if upper else low, b, upper=upper, unitriangular=unit)
            flags = (" upper=true" if upper else "") + (" unit=true" if unit else "")
            expect(f"solve_triangular {data(low.mT if upper else low)} {data(b)}{flags}", x)
singular = torch.tensor([[1., 2], [2, 4]])
f, pivots = torch.linalg.lu_factor_ex(singular)[:2]
expect(f"lu {data(singular)}", f, torch.tensor([1, 0]))

# Circular, hyperbolic and other pointwise functions, in float64 where float32's own are less exact.
def wide(f): return lambda *x: f(*(a.double() for a in x)).to(x[0].dtype)
for name in "tan asin acos atan sinh cosh asinh acosh atanh log2 log10 exp2 trunc".split():
    unary(name, wide(getattr(torch, name)), FLOATS)
binary("fmod", torch.fmod, INTS + FLOATS, lambda b: b != 0)
binary("atan2", wide(torch.atan2), FLOATS)
binary("hypot", wide(torch.hypot), FLOATS)

# Walks along an axis, search, scattering.
torch.manual_seed(2)
for d in INTS + FLOATS:
    x = torch.randint(0, 6, (3, 4)).to(d)
    ones = torch.cat([x[:, :1], torch.zeros(3, 3).to(d)], 1)
    expect(f"recurrence {data(x)} {data(ones)} axis=1", torch.cumprod(x, 1).to(d))
    expect(f"recurrence {data(torch.ones_like(x))} {data(x)} axis=0", torch.cumsum(x, 0).to(d))
    expect(f"recurrence {data(torch.ones_like(x))} {data(x)} axis=1 reverse=true", torch.cumsum(x.flip(1), 1).flip(1).to(d))
    expect(f"cummax {data(x)} axis=1", *torch.cummax(x, 1))
    expect(f"cummax {data(x)} axis=0 largest=false", *torch.cummin(x, 0))
    rows, v = torch.sort(x, 1).values, torch.randint(0, 6, (3, 5)).to(d)
    expect(f"searchsorted {data(rows)} {data(v)}", torch.searchsorted(rows, v))
    expect(f"searchsorted {data(rows)} {data(v)} right=true", torch.searchsorted(rows, v, right=True))
    expect(f"searchsorted {data(rows[0].contiguous())} {data(v)}", torch.searchsorted(rows[0].contiguous(), v))
    idx, src = torch.tensor([[0, 2], [3, 3], [1, 1]]), torch.randint(1, 5, (3, 2)).to(d)
    for how in ["prod", "amax", "amin"]:
        expect(f"scatter_reduce {data(x)} {data(idx)} {data(src)} axis=1 reduce=\"{how}\"", torch.scatter_reduce(x, 1, idx, src, how))
nans = torch.tensor([1., math.nan, 3., -math.inf, math.inf])
expect(f"cummax {data(nans)} axis=0", *torch.cummax(nans, 0))
expect(f"cummax {data(nans)} axis=0 largest=false", *torch.cummin(nans, 0))
expect(f"searchsorted {data(torch.tensor([-1., 0, 2, math.inf]))} {data(nans)}", torch.searchsorted(torch.tensor([-1., 0, 2, math.inf]), nans))

# Shifts, as PyTorch has them where the count is less than the width; the gamma functions; factors, whose signs are those of
# LAPACK's Householder reflections, or make the largest component of a vector, of V for the SVD, positive.
def signs(v): return torch.gather(v, -2, (v.abs() * torch.tensor([[1.001], [1.0]]).double()).argmax(-2, keepdim=True)).sign()
for name, f in dict(bitwise_left_shift=torch.bitwise_left_shift, bitwise_right_shift=torch.bitwise_right_shift).items():
    for d in INTS:
        v = [a for a in values(d) for _ in range(4)]
        a, b = typed(v, d), typed([0, 1, 3, 7] * (len(v) // 4), d)
        expect(f"{name} {data(a)} {data(b)}", f(a, b))
unary("lgamma", wide(torch.lgamma), FLOATS)
unary("digamma", wide(torch.digamma), FLOATS, lambda v: v > -2 and v not in [-0.5, 1.5])  # near roots digits cancel
for d in HALVES + [torch.float32]:
    x = typed([0.1, 0.5, 1, 1.5, 2.5, 7, 20.5, 60], d)
    for n in range(4): expect(f"polygamma {data(torch.full_like(x, n))} {data(x)}", torch.polygamma(n, x.double()).to(d))
for d in FULL:
    a = torch.tensor([[[3., 5], [4, 10]], [[-8, 1], [-6, 7]]]).to(d)
    q, r = torch.linalg.qr(a.double())
    expect(f"qr_packed {data(a)}", torch.cat([q, r.mT], -2).to(d))
    s = torch.tensor([[[2., 0], [12, 9]], [[5, 9], [2, 5]]]).to(d)
    w, v = torch.linalg.eigh(s.double())
    expect(f"eigh_packed {data(s)}", torch.cat([w.unsqueeze(-2), v * signs(v)], -2).to(d))
    u, w, vt = torch.linalg.svd(a.double(), full_matrices=False)
    expect(f"svd_packed {data(a)}", torch.cat([u * signs(vt.mT), w.unsqueeze(-2), vt.mT * signs(vt.mT)], -2).to(d))
