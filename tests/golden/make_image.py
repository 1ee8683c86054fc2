# Makes tests/golden/image.gt: what PyTorch says about convolution, pooling, padding, interpolation, normalisation and what
# goes with them, values and gradients, as a program. Inputs are the same exact fractions on both sides. Needs torch (2.15).
#   python3 tests/golden/make_image.py > tests/golden/image.gt
import torch
import torch.nn.functional as F

def fractions(shape, k, d=torch.float32):
    n = 1
    for s in shape: n *= s
    return (((torch.arange(n) * 37 + 11 * k) % 101 - 50).double() / 16).to(d).reshape(shape)

def literal(t): return "[" + ", ".join(repr(round(v, 9)) if isinstance(v, float) else str(v) for v in t.detach().flatten().tolist()) + "]"

def py(v):
    if isinstance(v, bool): return "true" if v else "false"
    if v is None: return "none"
    if isinstance(v, str): return f'"{v}"'
    if isinstance(v, (list, tuple)): return "[" + ", ".join(map(py, v)) + "]"
    return repr(v)

NAMES = {torch.float32: "float32", torch.float64: "float64", torch.int64: "int64"}

# f of tensors of these shapes: result, and the gradients of sum(result * fractions) by each.
def case(name, f, *shapes, d=torch.float32, ours=None, grads=True, **kw):
    xs = [fractions(s, i, d).requires_grad_(grads) for i, s in enumerate(shapes)]
    y = f(*xs, **kw)
    want = f"{list(y.shape)}, {literal(y)}"
    gs = torch.autograd.grad((y * fractions(y.shape, 7, d)).sum(), xs) if grads else []
    args = "".join(f", {k}={py(v)}" for k, v in kw.items())
    call = ours or f"{name}({', '.join(f'x{i}' for i in range(len(xs)))}{args})"
    params = ", ".join(f"x{i}" for i in range(len(xs)))
    print(f"case('{call}', fn({params}) => {call}, {[list(s) for s in shapes]}, {NAMES[d]}, {want}, [{', '.join(literal(g) for g in gs)}])")

print('''# Written by make_image.py: what PyTorch says about windows, planes and channels.
# worlds: reference threads=3
fn fractions(shape, k, d) {
    n = 1
    for s in shape { n *= s }
    return ((((arange(n) * 37 + 11 * k) % 101 - 50).double() / 16).to(d)).reshape(shape)
}
fn near(call, what, got, want) {
    want = tensor(want, dtype=float64).reshape(got.shape)
    gap = (got.double() - want).abs() - 1e-5 * want.abs()
    assert got.numel() == 0 or gap.max() <= 2e-6, f"{call}: {what} off by {gap.max():.1e}"
}
fn case(call, f, shapes, d, shape, values, grads) {
    xs = [param(fractions(s, i, d)) for i, s in enumerate(shapes)]
    y = f(*xs)
    assert y.shape == shape, f"{call}: shape {y.shape}, not {shape}"
    near(call, "result", y, values)
    if len(grads) == 0 { return }
    gs = grad(sum(y * fractions(y.shape, 7, d)), xs)
    for i, g in enumerate(gs) { near(call, f"gradient {i}", g, grads[i]) }
}''')

for d in [torch.float32, torch.float64]:
    case("conv2d", F.conv2d, (2, 3, 5, 4), (4, 3, 3, 2), (4,), d=d, stride=[2, 1], padding=[1, 0])
    case("conv2d", F.conv2d, (2, 4, 5, 5), (6, 2, 2, 3), (6,), d=d, groups=2, padding="same")
    case("conv2d", F.conv2d, (1, 2, 6, 5), (3, 2, 2, 2), d=d, dilation=[2, 3], padding="valid")
    case("conv_transpose2d", F.conv_transpose2d, (2, 4, 3, 4), (4, 3, 3, 2), (3,), d=d, stride=[2, 3], padding=1, output_padding=[1, 2])
    case("conv_transpose2d", F.conv_transpose2d, (1, 4, 3, 3), (4, 2, 2, 2), d=d, groups=2, dilation=2)
case("conv1d", F.conv1d, (2, 3, 9), (4, 3, 3), (4,), stride=2, padding=1)
case("conv1d", F.conv1d, (2, 3, 9), (2, 3, 4), padding="same", dilation=2)
case("conv3d", F.conv3d, (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), (2,), padding=1, stride=2)
case("conv_transpose1d", F.conv_transpose1d, (2, 3, 5), (3, 2, 4), (2,), stride=3, padding=1, output_padding=2)
case("conv_transpose3d", F.conv_transpose3d, (1, 2, 2, 3, 2), (2, 1, 2, 2, 3), stride=2)
case("conv2d", F.conv2d, (3, 5, 4), (4, 3, 3, 2), (4,))
case("conv2d", F.conv2d, (0, 3, 5, 4), (4, 3, 3, 2), (4,))
case("max_pool2d", F.max_pool2d, (2, 3, 6, 5), kernel_size=2)
case("max_pool2d", F.max_pool2d, (2, 3, 6, 5), kernel_size=[3, 2], stride=[2, 1], padding=[1, 1], ceil_mode=True)
case("max_pool2d", F.max_pool2d, (3, 7, 7), kernel_size=3, stride=2, dilation=2)
case("max_pool1d", F.max_pool1d, (2, 3, 8), kernel_size=3, stride=2, padding=1)
case("max_pool3d", F.max_pool3d, (1, 2, 4, 4, 3), kernel_size=2, stride=1)
case("avg_pool2d", F.avg_pool2d, (2, 3, 6, 5), kernel_size=2)
case("avg_pool2d", F.avg_pool2d, (2, 3, 6, 5), kernel_size=[3, 2], stride=2, padding=1, ceil_mode=True, count_include_pad=False)
case("avg_pool2d", F.avg_pool2d, (2, 6, 5), kernel_size=3, stride=1, divisor_override=2)
case("avg_pool1d", F.avg_pool1d, (2, 3, 8), kernel_size=3, padding=1)
case("avg_pool3d", F.avg_pool3d, (1, 2, 4, 4, 3), kernel_size=2)
for size in [1, [2, 3], [3, 4], [None, 2], [7, 8]]:
    case("adaptive_avg_pool2d", F.adaptive_avg_pool2d, (2, 2, 6, 6), output_size=size)
    case("adaptive_max_pool2d", F.adaptive_max_pool2d, (2, 2, 6, 6), output_size=size)
    i = F.adaptive_max_pool2d(fractions((2, 2, 6, 6), 0), size, return_indices=True)[1]
    case("", lambda x: i, (2, 2, 6, 6), grads=False, ours=f"adaptive_max_pool2d(x0, {py(size)}, return_indices=true)[1]")
case("adaptive_avg_pool1d", F.adaptive_avg_pool1d, (2, 3, 7), output_size=3)
case("adaptive_max_pool1d", F.adaptive_max_pool1d, (2, 3, 7), output_size=4)
case("adaptive_avg_pool3d", F.adaptive_avg_pool3d, (1, 2, 4, 3, 5), output_size=[2, 2, 3])
case("adaptive_max_pool3d", F.adaptive_max_pool3d, (1, 2, 4, 3, 5), output_size=[2, 2, 3])

ours = lambda w, mode: f'pad(x0, {w}, mode="{mode}")'
for mode in ["reflect", "replicate", "circular"]:
    for shape, w in [((1, 2, 4, 5), [1, 2, 3, 0]), ((2, 3, 4), [3, 1]), ((1, 2, 5, 4), [-1, 2, 1, -2])]:
        case("pad", lambda x: F.pad(x, w, mode=mode), shape, ours=ours(w, mode))
case("pad", lambda x: F.pad(x, [1, -1, -2, 1], value=2.5), (2, 4, 3), ours="pad(x0, [1, -1, -2, 1], value=2.5)")
case("pad", lambda x: F.pad(x, [0, 0, 1, 0, 2, 1]), (2, 2, 3), ours="pad(x0, [0, 0, 1, 0, 2, 1])")

for size in [(3, 4), (8, 10), (10, 7), (1, 1), (4, 5)]:
    for mode in ["nearest", "nearest-exact", "bilinear", "bicubic", "area"]:
        case("interpolate", F.interpolate, (1, 2, 4, 5), size=list(size), mode=mode)
    for mode in ["bilinear", "bicubic"]:
        case("interpolate", F.interpolate, (1, 2, 4, 5), size=list(size), mode=mode, align_corners=True)
for factor in [2, 0.5, [1.5, 2.6], 3.3]:
    for mode in ["nearest", "nearest-exact", "bilinear", "bicubic"]:
        case("interpolate", F.interpolate, (1, 2, 5, 7), scale_factor=factor, mode=mode)
case("interpolate", F.interpolate, (2, 2, 5), size=9, mode="linear")
case("interpolate", F.interpolate, (2, 2, 5), scale_factor=0.7, mode="nearest")
case("interpolate", F.interpolate, (1, 2, 2, 3, 3), scale_factor=2, mode="trilinear", align_corners=True)
case("interpolate", F.interpolate, (1, 2, 4, 5), d=torch.float64, size=[7, 3], mode="bicubic")
case("pixel_shuffle", F.pixel_shuffle, (2, 8, 2, 3), upscale_factor=2)
case("pixel_unshuffle", F.pixel_unshuffle, (2, 2, 4, 6), downscale_factor=2)
case("F.unfold", F.unfold, (2, 3, 5, 6), kernel_size=[2, 3], dilation=[1, 2], padding=1, stride=[2, 1])
case("F.fold", F.fold, (2, 12, 12), output_size=[4, 5], kernel_size=2)
case("F.fold", F.fold, (1, 12, 6), output_size=[5, 5], kernel_size=[3, 2], padding=[1, 0], stride=2, dilation=[1, 2])

case("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (3, 2, 2, 3), (2,), (2,),
     ours="batch_norm(x0, weight=x1, bias=x2, training=true)")
case("batch_norm", lambda x: F.batch_norm(x, None, None, training=True, eps=0.1), (4, 3), ours="batch_norm(x0, training=true, eps=0.1)")
case("batch_norm", lambda x, w, b: F.batch_norm(x, fractions((2,), 3), fractions((2,), 4) ** 2, w, b), (3, 2, 4), (2,), (2,),
     ours="batch_norm(x0, fractions([2], 3, float32), square(fractions([2], 4, float32)), x1, x2)")
case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 2, 3), (4,), (4,), ours="group_norm(x0, 2, x1, x2)")
case("group_norm", lambda x: F.group_norm(x, 3, eps=0.01), (2, 6, 3), ours="group_norm(x0, 3, eps=0.01)")
case("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), (2, 3, 2, 3), (3,), (3,), ours="instance_norm(x0, weight=x1, bias=x2)")
case("local_response_norm", F.local_response_norm, (2, 5, 3), size=3, alpha=0.5, beta=0.6, k=2.0)
case("local_response_norm", F.local_response_norm, (2, 5, 2, 2), size=2)
case("normalize", F.normalize, (3, 4))
case("normalize", lambda x: F.normalize(x, p=3.0, dim=0), (3, 4), ours="normalize(x0, p=3.0, dim=0)")
case("cosine_similarity", F.cosine_similarity, (3, 4), (3, 4))
case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, dim=-1), (2, 3, 4), (3, 4), ours="cosine_similarity(x0, x1, axis=-1)")
case("pairwise_distance", F.pairwise_distance, (3, 4), (3, 4))
case("pairwise_distance", lambda a, b: F.pairwise_distance(a, b, p=1.0, keepdim=True), (3, 4), (3, 4), ours="pairwise_distance(x0, x1, p=1.0, keepdims=true)")
