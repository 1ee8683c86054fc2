# Makes tests/golden/conv.gti: what PyTorch says about convolutions, poolings and their gradients, as instruction text (see
# make_ops.py for its form). Small whole numbers, so that sums are exact. Needs torch (2.15); `make test` does not.
#   python3 tests/golden/make_conv.py > tests/golden/conv.gti
import torch
import torch.nn.functional as F

NAMES = {torch.int64: "i64", torch.float32: "f32", torch.float64: "f64"}
next_id = 0

def literal(t):
    values = [repr(v) if t.dtype.is_floating_point else str(v) for v in t.flatten().tolist()]
    return " ".join([f"data {NAMES[t.dtype]} [{','.join(str(n) for n in t.shape)}]"] + [v.removesuffix(".0") for v in values])

def fresh():
    global next_id
    next_id += 1
    return f"t{next_id}"

def data(t):
    name = fresh()
    print(f"{name} = {literal(t)}")
    return name

def expect(line, *results):
    print(f"{','.join(fresh() for _ in results)} = {line}")
    for r in results: print(f"#= {literal(r.detach())}")

def whole(*shape, dtype): return torch.randint(-3, 4, shape).to(dtype)

def attrs(n, **kw):
    text = ""
    for key, v in kw.items():
        if isinstance(v, bool): text += f" {key}={'true' if v else 'false'}"
        elif isinstance(v, (list, tuple)): text += f" {key}={v[0]}" if n == 1 else f" {key}=[{','.join(map(str, v))}]"
        else: text += f" {key}={v}"
    return text

def shape(t): return f" shape=[{','.join(str(n) for n in t.shape)}]"

def conv(x_shape, w_shape, dtype=torch.float32, **kw):
    n = len(x_shape) - 2
    f = [F.conv1d, F.conv2d, F.conv3d][n - 1]
    x, w = whole(*x_shape, dtype=dtype).requires_grad_(), whole(*w_shape, dtype=dtype).requires_grad_()
    y = f(x, w, **kw)
    dy = whole(*y.shape, dtype=dtype)
    dx, dw = torch.autograd.grad(y, [x, w], dy)
    nx, nw, nd, a = data(x.detach()), data(w.detach()), data(dy), attrs(n, **kw)
    expect(f"conv {nx} {nw}{a}", y)
    expect(f"conv_dx {nd} {nw}{a}{shape(x)}", dx)
    expect(f"conv_dw {nx} {nd}{a}{shape(w)}", dw)

def max_pool(x, kernel, ceil_mode=False, **kw):
    n = len(kernel)
    f = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
    y, i = f(x, kernel, ceil_mode=ceil_mode, return_indices=True, **kw)
    ceil = " ceil=true" if ceil_mode else ""
    expect(f"max_pool {data(x)}{attrs(n, kernel=kernel, **kw)}{ceil}", y, i)

def avg_pool(x, kernel, ceil_mode=False, count_include_pad=True, divisor_override=None, **kw):
    n = len(kernel)
    more = (" ceil=true" if ceil_mode else "") + ("" if count_include_pad else " count_pad=false")
    options = dict(ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    if divisor_override:
        more += f" divisor={divisor_override}"
        options["divisor_override"] = divisor_override
    x = x.requires_grad_()
    y = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1](x, kernel, **kw, **options)
    dy = whole(*y.shape, dtype=x.dtype)
    dx, = torch.autograd.grad(y, x, dy)
    a = attrs(n, kernel=kernel, **kw) + more
    expect(f"avg_pool {data(x.detach())}{a}", y)
    expect(f"avg_pool_dx {data(dy)}{a}{shape(x)}", dx)

torch.manual_seed(3)
print("gti 1")
conv((2, 3, 5, 6), (4, 3, 3, 3))
conv((1, 3, 5, 6), (4, 3, 2, 3), stride=(2, 1), padding=(1, 2))
conv((2, 4, 6, 5), (6, 2, 2, 2), groups=2, dilation=(2, 1), padding=(1, 0))
conv((2, 6, 4, 4), (6, 1, 3, 3), groups=6, padding=(1, 1))
conv((1, 1, 1, 1), (1, 1, 3, 3), padding=(1, 1))
conv((2, 5, 3, 4), (17, 5, 1, 1))
conv((2, 5, 4, 4), (3, 5, 1, 1), stride=(2, 2))
conv((1, 2, 7, 7), (2, 2, 3, 3), stride=(3, 3), padding=(1, 1), dilation=(2, 2))
conv((2, 16, 4, 4), (16, 16, 3, 3), padding=(1, 1))
conv((0, 3, 5, 6), (4, 3, 3, 3))
conv((2, 3, 8), (4, 3, 3), padding=(1,))
conv((2, 4, 9), (2, 2, 2), groups=2, stride=(2,), dilation=(3,))
conv((1, 2, 3, 4, 3), (2, 2, 2, 2, 3), padding=(1, 0, 1), stride=(1, 2, 1))
conv((2, 3, 5, 6), (4, 3, 3, 3), torch.float64, stride=(2, 2), padding=(2, 2))
conv((1, 4, 6, 5), (2, 2, 3, 2), torch.float64, groups=2)

x = whole(2, 3, 6, 7, dtype=torch.float32)
max_pool(x, (2, 2))
max_pool(x, (3, 2), stride=(2, 1), padding=(1, 1))
max_pool(x, (3, 3), stride=(2, 2), ceil_mode=True)
max_pool(x, (2, 3), stride=(1, 1), dilation=(2, 3), padding=(1, 1))
max_pool(x, (2, 2), stride=(3, 3), padding=(1, 1), ceil_mode=True)
max_pool(x[0].double(), (6, 7))
max_pool(x[0].long(), (2, 2))
max_pool(whole(2, 2, 9, dtype=torch.float32), (3,), stride=(2,), padding=(1,))
max_pool(whole(1, 2, 4, 3, 4, dtype=torch.float32), (2, 2, 2), stride=(1, 1, 2))
special = torch.tensor([[[float("nan"), 1, 2, float("inf")], [3, -float("inf"), float("nan"), 0], [-float("inf")] * 4]])
max_pool(special, (2, 2), stride=(1, 1))
max_pool(torch.zeros(0, 2, 4, 4), (2, 2))

for d in [torch.float32, torch.float64]:
    x = whole(2, 3, 6, 7, dtype=d)
    avg_pool(x, (2, 2))
    avg_pool(x, (3, 2), stride=(2, 1), padding=(1, 1))
    avg_pool(x, (3, 2), stride=(2, 1), padding=(1, 1), count_include_pad=False)
    avg_pool(x, (3, 3), stride=(2, 2), padding=(1, 1), ceil_mode=True)
    avg_pool(x, (4, 3), stride=(3, 2), padding=(2, 1), ceil_mode=True, count_include_pad=False)
    avg_pool(x, (2, 2), divisor_override=3)
    avg_pool(x[0], (6, 7))
    avg_pool(whole(2, 2, 9, dtype=d), (3,), stride=(2,), padding=(1,))
    avg_pool(whole(1, 2, 4, 3, 4, dtype=d), (2, 2, 2), stride=(1, 1, 2))
    avg_pool(torch.zeros(0, 2, 4, 4, dtype=d), (2, 2))
