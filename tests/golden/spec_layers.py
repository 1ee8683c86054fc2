"""spec_layers.py: convolutions, pooling, norms over channels, distances, further losses, matrices; see functions.py.
SPDX-License-Identifier: MIT
"""
import torch
import torch.nn.functional as F

from functions import alias, cases, means, MEANING
from spec_nn import PLAIN

# ---- convolution ----
cases("conv2d", """
conv2d(x, y) | f(1, 2, 3, 4), f(2, 2, 2, 2, s=1) ; f64(1, 1, 3, 3), f64(1, 1, 2, 2, s=1) ; f(2, 1, 3, 3), f(2, 1, 3, 3, s=1) ; f(1, 3, 2, 2), f(2, 3, 1, 1, s=1) ; f(0, 1, 3, 3), f(1, 1, 2, 2)
conv2d(x, y, z) | f(1, 2, 3, 3), f(2, 2, 2, 2, s=1), f(2, s=2) ; f64(2, 1, 2, 3), f64(1, 1, 1, 2, s=1), f64(1, s=2)
conv2d(x, y, bias=z, padding=1) | f(1, 1, 3, 3), f(2, 1, 3, 3, s=1), f(2, s=2)
conv2d(x, y, stride=2) | f(1, 1, 4, 5), f(1, 1, 2, 2, s=1) ; f64(1, 2, 4, 4), f64(1, 2, 3, 3, s=1)
conv2d(x, y, stride=[1, 2], padding=[1, 0]) | f(1, 1, 3, 5), f(1, 1, 3, 2, s=1)
conv2d(x, y, dilation=2) | f(1, 1, 4, 4), f(1, 1, 2, 2, s=1)
conv2d(x, y, padding=2, dilation=[2, 1]) | f(1, 1, 3, 3), f(1, 1, 3, 3, s=1)
conv2d(x, y, groups=2) | f(1, 4, 3, 3), f(2, 2, 2, 2, s=1) ; f(1, 2, 3, 3), f(4, 1, 2, 2, s=1)
conv2d(x, y, none, 1, 1, 1, 3) | f(1, 3, 2, 2), f(3, 1, 3, 3, s=1)
conv2d(x, y, padding="same") | f(1, 1, 3, 3), f(1, 1, 3, 3, s=1)
conv2d(x, y, padding="valid") | f(1, 1, 3, 3), f(1, 1, 2, 2, s=1)
conv2d(x, y) | f(2, 3, 3), f(1, 2, 2, 2, s=1) ; f16(1, 1, 3, 3), f16(1, 1, 2, 2, s=1) ; bf16(1, 1, 3, 3), bf16(1, 1, 2, 2, s=1)
x.conv2d(y) | f(1, 1, 2, 2), f(1, 1, 2, 2, s=1)
""", F.conv2d)
cases("conv1d", """
conv1d(x, y) | f(1, 2, 5), f(2, 2, 3, s=1) ; f64(2, 1, 4), f64(1, 1, 2, s=1) ; f(1, 1, 3), f(1, 1, 1, s=1) ; f(2, 4), f(1, 2, 2, s=1) ; f(0, 1, 3), f(1, 1, 2)
conv1d(x, y, z) | f(1, 2, 4), f(3, 2, 2, s=1), f(3, s=2)
conv1d(x, y, stride=2, padding=1) | f(1, 1, 5), f(1, 1, 3, s=1)
conv1d(x, y, dilation=2) | f(1, 1, 5), f(1, 1, 2, s=1)
conv1d(x, y, groups=2) | f(1, 2, 4), f(2, 1, 2, s=1)
conv1d(x, y, padding="same") | f(1, 1, 4), f(1, 1, 3, s=1)
""", F.conv1d)
cases("conv3d", """
conv3d(x, y) | f(1, 1, 2, 3, 2), f(1, 1, 2, 2, 1, s=1) ; f64(1, 2, 2, 2, 2), f64(1, 2, 2, 1, 2, s=1) ; f(1, 1, 2, 2, 2), f(2, 1, 2, 2, 2, s=1)
conv3d(x, y, z) | f(1, 1, 2, 2, 3), f(2, 1, 1, 2, 2, s=1), f(2, s=2)
conv3d(x, y, padding=1) | f(1, 1, 1, 2, 2), f(1, 1, 2, 2, 2, s=1)
conv3d(x, y, stride=2) | f(1, 1, 3, 3, 2), f(1, 1, 1, 2, 2, s=1)
conv3d(x, y, dilation=[1, 2, 1]) | f(1, 1, 2, 3, 2), f(1, 1, 2, 2, 1, s=1)
conv3d(x, y, groups=2) | f(1, 2, 2, 2, 2), f(2, 1, 2, 2, 1, s=1)
""", F.conv3d)
cases("conv_transpose2d", """
conv_transpose2d(x, y) | f(1, 2, 2, 3), f(2, 1, 2, 2, s=1) ; f64(1, 1, 2, 2), f64(1, 2, 2, 2, s=1) ; f(2, 1, 2, 2), f(1, 1, 1, 1, s=1) ; f(2, 2, 2), f(2, 1, 2, 2, s=1)
conv_transpose2d(x, y, z) | f(1, 1, 2, 2), f(1, 2, 2, 2, s=1), f(2, s=2)
conv_transpose2d(x, y, stride=2) | f(1, 1, 2, 2), f(1, 1, 2, 2, s=1)
conv_transpose2d(x, y, stride=2, padding=1, output_padding=1) | f(1, 1, 2, 2), f(1, 1, 3, 3, s=1)
conv_transpose2d(x, y, groups=2) | f(1, 2, 2, 2), f(2, 1, 2, 2, s=1)
conv_transpose2d(x, y, dilation=2) | f(1, 1, 2, 2), f(1, 1, 2, 2, s=1)
conv_transpose2d(x, y, stride=[1, 2], padding=[0, 1]) | f(1, 1, 2, 2), f(1, 1, 2, 3, s=1)
""", F.conv_transpose2d)
cases("conv_transpose1d", """
conv_transpose1d(x, y) | f(1, 2, 3), f(2, 1, 2, s=1) ; f64(1, 1, 3), f64(1, 2, 2, s=1) ; f(2, 1, 2), f(1, 1, 1, s=1)
conv_transpose1d(x, y, z) | f(1, 1, 3), f(1, 2, 2, s=1), f(2, s=2)
conv_transpose1d(x, y, stride=2) | f(1, 1, 3), f(1, 1, 2, s=1)
conv_transpose1d(x, y, stride=2, padding=1, output_padding=1) | f(1, 1, 3), f(1, 1, 3, s=1)
conv_transpose1d(x, y, groups=2) | f(1, 2, 3), f(2, 1, 2, s=1)
conv_transpose1d(x, y, dilation=2) | f(1, 1, 3), f(1, 1, 2, s=1)
""", F.conv_transpose1d)
cases("conv_transpose3d", """
conv_transpose3d(x, y) | f(1, 1, 2, 1, 2), f(1, 1, 2, 2, 1, s=1) ; f64(1, 1, 1, 2, 2), f64(1, 2, 1, 2, 1, s=1) ; f(1, 2, 1, 2, 1), f(2, 1, 1, 1, 2, s=1)
conv_transpose3d(x, y, z) | f(1, 1, 1, 2, 2), f(1, 2, 1, 2, 1, s=1), f(2, s=2)
conv_transpose3d(x, y, stride=2) | f(1, 1, 1, 2, 2), f(1, 1, 2, 1, 1, s=1)
conv_transpose3d(x, y, padding=1) | f(1, 1, 2, 2, 2), f(1, 1, 3, 2, 2, s=1)
conv_transpose3d(x, y, groups=2) | f(1, 2, 1, 2, 1), f(2, 1, 1, 2, 1, s=1)
conv_transpose3d(x, y, dilation=2) | f(1, 1, 1, 2, 1), f(1, 1, 1, 2, 1, s=1)
""", F.conv_transpose3d)

# ---- pooling ----
for n, shape, odd in [(1, "4", "5"), (2, "3, 4", "3, 5"), (3, "2, 2, 4", "2, 3, 2")]:
    pairs = "[" + ", ".join(["2", "1", "2"][:n]) + "]"
    common = f"""
P(x, 2) | f(1, 2, {shape}) ; f64(2, 1, {shape}) ; f(0, 1, {shape})
P(x, {pairs}) | f(1, 1, {shape})
P(x, 2, stride=1) | f(1, 1, {shape}) ; f64(1, 2, {shape})
P(x, 2, padding=1) | f(1, 1, {shape})
P(x, 2, ceil_mode=true) | f(1, 1, {odd})
P(x, kernel_size=1) | f(1, 1, {shape})
P(x, 2) | f(2, {shape})
x.P(2, 2) | f(1, 1, {shape})
P(x, 2) | f16(1, 1, {shape}) ; bf16(1, 1, {shape})
"""
    if n == 1:
        common = common.replace("[2]", "2")
    cases(f"max_pool{n}d", common.replace("P(", f"max_pool{n}d(") + f"max_pool{n}d(x, 2, stride=1, dilation=2) | f(1, 1, {'5, ' * (n - 1)}5)\n".replace("5, 5, 5", "3, 3, 4")
          + f"max_pool{n}d(x, 2, return_indices=true) | f(1, 1, {shape})\n",
          lambda x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, f=getattr(F, f"max_pool{n}d"):
          (list if return_indices else lambda y: y)(f(x, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode, return_indices=return_indices)))
    cases(f"max_pool{n}d", f"max_pool{n}d(x, 2) | fv(nan, 1, 2, inf, 1, 1, 0, 0).reshape(1, 1, {'1, ' * 0}8)" if n == 1 else "")
    if n == 3:                             # PyTorch has no halves of these here
        common = common.replace(f"P(x, 2) | f16(1, 1, {shape}) ; bf16(1, 1, {shape})\n", "")
    cases(f"avg_pool{n}d", common.replace("P(", f"avg_pool{n}d(") + f"avg_pool{n}d(x, 2, padding=1, count_include_pad=false) | f(1, 1, {shape})\n"
          + (f"avg_pool{n}d(x, 2, divisor_override=3) | f(1, 1, {shape})\n" if n > 1 else ""), getattr(F, f"avg_pool{n}d"))
ADAPTIVE = """
{f}(x, {k}) | f(1, 2, {shape}) ; f64(1, 1, {shape}) ; f(2, {shape})
{f}(x, 1) | f(1, 1, {shape}) ; f64(2, 1, {shape})
{f}(x, 2) | f(1, 1, {shape}) ; f(1, 1, {odd})
x.{f}(1) | f(1, 2, {shape})
"""
for n, shape, odd, k in [(1, "5", "4", "3"), (2, "3, 4", "2, 5", "[2, 3]"), (3, "2, 2, 3", "2, 3, 2", "[1, 2, 3]")]:
    cases(f"adaptive_avg_pool{n}d", ADAPTIVE.format(f=f"adaptive_avg_pool{n}d", k=k, shape=shape, odd=odd), getattr(F, f"adaptive_avg_pool{n}d"))
    cases(f"adaptive_max_pool{n}d", ADAPTIVE.format(f=f"adaptive_max_pool{n}d", k=k, shape=shape, odd=odd), getattr(F, f"adaptive_max_pool{n}d"))

cases("interpolate", """
interpolate(x, scale_factor=2) | f(1, 1, 2, 2) ; f64(1, 2, 1, 3) ; f(1, 2, 3) ; f(1, 1, 1, 2, 2)
interpolate(x, size=[3, 5]) | f(1, 1, 2, 2) ; f(1, 1, 4, 3)
interpolate(x, size=[3, 3], mode="bilinear") | f(1, 1, 2, 2) ; f64(1, 1, 4, 2)
interpolate(x, scale_factor=2, mode="bilinear", align_corners=true) | f(1, 1, 2, 3) ; f64(1, 1, 2, 2)
interpolate(x, scale_factor=2, mode="bilinear") | f(1, 1, 2, 3)
interpolate(x, size=5, mode="linear") | f(1, 1, 3)
interpolate(x, scale_factor=0.5, mode="nearest") | f(1, 1, 4, 4)
interpolate(x, scale_factor=2.0, mode="linear", align_corners=true) | f(1, 2, 3)
""", F.interpolate)
cases("pad", """
pad(x, [1, 1], mode="reflect") | f(1, 3) ; f(1, 1, 3)
pad(x, [1, 1, 1, 1], mode="reflect") | f(1, 1, 3, 3) ; f64(1, 2, 3)
pad(x, [2, 1], mode="replicate") | f(1, 1, 3) ; f(1, 3)
pad(x, [1, 0, 2, 1], mode="replicate") | f(1, 1, 2, 3)
pad(x, [1, 2], mode="circular") | f(1, 1, 3) ; f(1, 3)
pad(x, [1, 1, 0, 1], mode="circular") | f(1, 1, 2, 3)
pad(x, [1, 1], mode="constant", value=2.5) | f(3)
""", lambda x, widths, *rest, mode="constant", value=0: F.pad(x, widths, mode=rest[0] if rest and isinstance(rest[0], str) else mode,
                                                              value=rest[-1] if rest and not isinstance(rest[-1], str) else value)
    if mode != "constant" else F.pad(x, widths, value=rest[-1] if rest else value))

# ---- norms over channels ----


@means("batch_norm")
def batch_norm(x, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


cases("batch_norm", """
batch_norm(x, y, z) | f(2, 3), f(3, s=1), f(3, s=2, lo=0.2) ; f(2, 2, 3), f(2, s=1), f(2, s=2, lo=0.2) ; f64(1, 2, 2, 2), f64(2, s=1), f64(2, s=2, lo=0.2) | nograd
batch_norm(x, y, z, u, v) | f(2, 3), f(3, s=1), f(3, s=2, lo=0.2), f(3, s=3), f(3, s=4) | nograd
batch_norm(x, none, none, training=true) | f(4, 2) ; f64(3, 2) ; f(2, 2, 3) ; f(2, 2, 2, 2) ; f(3, 1)
batch_norm(x, none, none, y, z, training=true) | f(4, 2), f(2, s=1), f(2, s=2) ; f64(2, 2, 2, 1), f64(2, s=1), f64(2, s=2)
batch_norm(x, none, none, training=true, eps=0.1) | f(4, 2)
batch_norm(x, y, z, training=false, eps=0.01) | f(2, 3), f(3, s=1), f(3, s=2, lo=0.2) | nograd
""")
cases("group_norm", """
group_norm(x, 2) | f(2, 6) ; f64(1, 2, 3) ; f(1, 4, 2, 2) ; f(2, 2, 3) ; f16(1, 4, 2) ; bf16(1, 4, 2)
group_norm(x, 1) | f(2, 3)
group_norm(x, 3) | f64(1, 3, 4)
group_norm(x, 2, y, z) | f(1, 4, 3), f(4, s=1), f(4, s=2) ; f64(2, 2, 2, 2), f64(2, s=1), f64(2, s=2)
group_norm(x, 2, y) | f(1, 4, 3), f(4, s=1)
group_norm(x, num_groups=2, eps=0.1) | f(2, 4)
""", lambda x, num_groups, weight=None, bias=None, eps=1e-5: F.group_norm(x, num_groups, weight, bias, eps))
cases("instance_norm", """
instance_norm(x) | f(2, 2, 3) ; f64(1, 2, 4) ; f(1, 2, 2, 2) ; f(1, 1, 2, 2, 2) ; f(2, 1, 3)
instance_norm(x, weight=y, bias=z) | f(2, 2, 3), f(2, s=1), f(2, s=2) ; f64(1, 2, 3), f64(2, s=1), f64(2, s=2)
instance_norm(x, eps=0.1) | f(1, 2, 3)
""", F.instance_norm)
cases("local_response_norm", """
local_response_norm(x, 2) | f(1, 3, 2) ; f64(2, 2, 2) ; f(1, 4, 2, 1) ; f(1, 1, 3)
local_response_norm(x, 3) | f(1, 4, 2) ; f64(1, 2, 2, 2)
local_response_norm(x, size=2, alpha=0.5, beta=0.5, k=2.0) | f(1, 3, 2)
x.local_response_norm(1) | f(1, 2, 2)
""", F.local_response_norm)
for name in ["pixel_shuffle", "pixel_unshuffle"]:
    shape = "1, 4, 2, 2" if name == "pixel_shuffle" else "1, 1, 4, 2"
    cases(name, f"{name}(x, 2) | f({shape}) ; f64({shape}) ; i64({shape}) ; b1({shape}) ; f({shape[3:]}) ; f16({shape}) ; bf16({shape})\nx.{name}(1) | f(1, 2, 2, 2)")
cases("channel_shuffle", """
channel_shuffle(x, 2) | f(1, 4, 2) ; f64(2, 4, 1, 2) ; i64(1, 6, 1) ; b1(1, 4, 2) ; f16(1, 4, 2) ; bf16(1, 4, 2)
x.channel_shuffle(3) | f(2, 6, 1, 1, 2)
channel_shuffle(x, groups=1) | f(1, 2, 3)
""", F.channel_shuffle)
for n, shape in [(1, "1, 2, 5"), (2, "1, 2, 4, 5"), (3, "1, 1, 2, 3, 4")]:
    cases(f"lp_pool{n}d", f"""
lp_pool{n}d(x, 2, 2) | f({shape}) ; f64({shape}) ; f({shape[3:]})
lp_pool{n}d(x, 3.0, 2, 1) | f({shape}, lo=0.5, hi=2)
lp_pool{n}d(x, norm_type=1, kernel_size=2, stride=2, ceil_mode=true) | f({shape}, lo=0.5, hi=2)
lp_pool{n}d(x, 2, {3 if n == 1 else [2, 1, 2][:n]}) | f({shape})
x.lp_pool{n}d(2.0, 2) | f({shape})
""", getattr(F, f"lp_pool{n}d"))
# ---- distances ----
cases("normalize", """
normalize(x) | f(2, 3) ; f64(2, 2) ; f(2, 2, 2) ; f(0, 3) ; f(1, 2) ; f16(2, 3) ; bf16(2, 3)
normalize(x, p=1.0) | f(2, 3)
normalize(x, axis=0) | f(3, 2) ; f(4) ; fv(0, 0)
normalize(x, 2.0, -1) | f(2, 3)
normalize(x, dim=-1, eps=10.0) | f(2, 3)
""", lambda x, p=2.0, axis=1, eps=1e-12, dim=None: F.normalize(x, p, axis if dim is None else dim, eps))
cases("cosine_similarity", """
cosine_similarity(x, y) | f(2, 3), f(2, 3, s=1) ; f64(2, 3), f64(2, 3, s=1) ; f(2, 2, 2), f(2, 2, 2, s=1) ; f(2, 3), f(1, 3, s=1) ; f(0, 3), f(0, 3)
cosine_similarity(x, y, axis=0) | f(4), f(4, s=1) ; f(3, 2), f(3, 2, s=1)
cosine_similarity(x, y, axis=-1) | f(2, 3), f(2, 3, s=1)
cosine_similarity(x, y, 1, 0.5) | f(2, 3), f(2, 3, s=1)
""", lambda x, y, axis=1, eps=1e-8, dim=None: F.cosine_similarity(x, y, axis if dim is None else dim, eps))
cases("pairwise_distance", """
pairwise_distance(x, y) | f(2, 3), f(2, 3, s=1) ; f64(2, 3), f64(2, 3, s=1) ; f(3), f(3, s=1) ; f(2, 3), f(1, 3, s=1) ; f(1, 1), f(1, 1, s=1) ; f(2, 2), f(2, 2)
pairwise_distance(x, y, p=1.0) | f(2, 3), f(2, 3, s=1)
pairwise_distance(x, y, 2.0, 1e-6, true) | f(2, 3), f(2, 3, s=1)
""", lambda x, y, p=2.0, eps=1e-6, keepdims=False: F.pairwise_distance(x, y, p, eps, keepdims))
cases("pdist", """
pdist(x) | f(4, 3) ; f64(3, 2) ; f(2, 1)
pdist(x) | f(1, 3) ; f(0, 2) | nograd
pdist(x, p=1.0) | f(3, 2)
pdist(x, 3) | f(3, 2)
x.pdist() | f(3, 3)
""", F.pdist)
cases("renorm", """
renorm(x, 2, 0, 1.0) | f(3, 4) ; f64(2, 3) ; f(2, 2, 3) ; f(0, 2)
renorm(x, p=1, axis=1, maxnorm=2) | f(3, 4) ; f(2, 3, 2)
x.renorm(2, -1, 0.5) | f(3, 2)
x.renorm(3.0, 1, 100.0) | f(3, 2)
""", lambda x, p, axis, maxnorm: torch.renorm(x, p, axis, maxnorm))

# ---- further losses ----
SIGNS = "f(4, lo=-1, hi=1).sign()"


def loss(name, text):
    cases(name, text, getattr(F, name))


loss("poisson_nll_loss", """
poisson_nll_loss(x, y) | f(3, 4), f(3, 4, s=1, lo=0) ; f64(4), f64(4, s=1, lo=0) ; f(), f(s=1, lo=0)
poisson_nll_loss(x, y, log_input=false) | f(4, lo=0.1), f(4, s=1, lo=0)
poisson_nll_loss(x, y, full=true) | f(4), i64v(0, 1, 2, 5)
poisson_nll_loss(x, y, reduction="sum") | f(2, 3), f(2, 3, s=1, lo=0)
poisson_nll_loss(x, y, reduction="none") | f(2, 3), f(2, 3, s=1, lo=0) ; f(0), f(0)
""")
loss("gaussian_nll_loss", """
gaussian_nll_loss(x, y, z) | f(3, 4), f(3, 4, s=1), f(3, 4, s=2, lo=0.2) ; f64(4), f64(4, s=1), f64(4, s=2, lo=0.2) ; f(2, 3), f(2, 3, s=1), f(2, 1, s=2, lo=0.2) ; f(2, 3), f(2, 3, s=1), f(2, s=2, lo=0.2)
gaussian_nll_loss(x, y, z, full=true) | f(4), f(4, s=1), f(4, s=2, lo=0.2)
gaussian_nll_loss(x, y, z, eps=0.5) | f(4), f(4, s=1), f(4, s=2, lo=0.2)
gaussian_nll_loss(x, y, z, reduction="sum") | f(4), f(4, s=1), f(4, s=2, lo=0.2)
gaussian_nll_loss(x, y, z, reduction="none") | f(2, 2), f(2, 2, s=1), f(2, 2, s=2, lo=0.2)
""")
loss("hinge_embedding_loss", f"""
hinge_embedding_loss(x, y) | f(4), {SIGNS} ; f64(2), f64v(1, -1) ; f(2, 2), fv(1, -1, -1, 1).reshape(2, 2) | nograd
hinge_embedding_loss(x, y, margin=2.0) | f(4), {SIGNS} | nograd
hinge_embedding_loss(x, y, reduction="sum") | f(4), {SIGNS} | nograd
hinge_embedding_loss(x, y, reduction="none") | f(4), {SIGNS} ; f(0), f(0) | nograd
hinge_embedding_loss(x, y) | f(4), i64v(1, -1, -1, 1) ; f64(2), i64v(-1, 1)
""")
loss("margin_ranking_loss", """
margin_ranking_loss(x, y, z) | f(4), f(4, s=1), i64v(1, -1, -1, 1) ; f64(2), f64(2, s=1), i64v(-1, 1) ; f(1), f(1, s=1), i64v(1)
margin_ranking_loss(x, y, z, margin=0.5) | f(4), f(4, s=1), i64v(1, -1, -1, 1)
margin_ranking_loss(x, y, z, reduction="sum") | f(4), f(4, s=1), i64v(1, -1, -1, 1)
margin_ranking_loss(x, y, z, reduction="none") | f(4), f(4, s=1), i64v(1, -1, -1, 1) ; f(0), f(0), i64(0) ; f(2, 2), f(2, 2, s=1), i64v(1, -1, -1, 1).reshape(2, 2)
""")
loss("cosine_embedding_loss", """
cosine_embedding_loss(x, y, z) | f(3, 2), f(3, 2, s=1), i64v(1, -1, -1) ; f64(2, 3), f64(2, 3, s=1), i64v(-1, 1) ; f(3), f(3, s=1), i64v(1).reshape(())
cosine_embedding_loss(x, y, z, margin=0.2) | f(3, 2), f(3, 2, s=1), i64v(1, -1, -1) ; f64(2, 3), f64(2, 3, s=2), i64v(-1, -1)
cosine_embedding_loss(x, y, z, reduction="sum") | f(3, 2), f(3, 2, s=1), i64v(1, -1, -1)
cosine_embedding_loss(x, y, z, reduction="none") | f(3, 2), f(3, 2, s=1), i64v(1, -1, -1) ; f64(3, 2), f64(3, 2, s=1), i64v(-1, -1, -1)
""")
TRIPLE = "f(2, 3), f(2, 3, s=1), f(2, 3, s=2)"
for name in ["triplet_margin_loss", "triplet_margin_with_distance_loss"]:
    text = f"""
{name}(x, y, z) | {TRIPLE} ; f64(2, 3), f64(2, 3, s=1), f64(2, 3, s=2) ; f(3), f(3, s=1), f(3, s=2)
{name}(x, y, z, margin=3.0) | {TRIPLE} ; f64(1, 2), f64(1, 2, s=1), f64(1, 2, s=2)
{name}(x, y, z, swap=true) | {TRIPLE}
{name}(x, y, z, reduction="sum") | {TRIPLE}
{name}(x, y, z, reduction="none") | {TRIPLE}
"""
    loss(name, text + (f"{name}(x, y, z, p=1.0) | {TRIPLE}\n" if name == "triplet_margin_loss" else ""))
loss("soft_margin_loss", """
soft_margin_loss(x, y) | f(4), i64v(1, -1, -1, 1) ; f64(2), i64v(-1, 1) ; f(2, 2), i64v(1, -1, -1, 1).reshape(2, 2) ; f(1), i64v(1)
soft_margin_loss(x, y, reduction="sum") | f(4), i64v(1, -1, -1, 1) ; f64(2), i64v(-1, 1)
soft_margin_loss(x, y, reduction="none") | f(4), i64v(1, -1, -1, 1) ; f(0), i64(0)
""")
loss("multilabel_margin_loss", """
multilabel_margin_loss(x, y) | f(2, 4), i64v(3, 0, -1, 1, 1, -1, 2, 0).reshape(2, 4) ; f64(2, 3), i64v(2, 1, 0, -1, 0, 0).reshape(2, 3) ; f(3), i64v(1, -1, 1) ; f(1, 1), i64v(0).reshape(1, 1) ; f(2, 2), i64v(-1, 0, 0, 1).reshape(2, 2) ; f64(4), i64v(0, 1, 2, 3)
multilabel_margin_loss(x, y, reduction="sum") | f(2, 4), i64v(3, 0, -1, 1, 1, -1, 2, 0).reshape(2, 4)
multilabel_margin_loss(x, y, reduction="none") | f(2, 4), i64v(3, 0, -1, 1, 1, -1, 2, 0).reshape(2, 4)
""")
loss("multi_margin_loss", """
multi_margin_loss(x, y) | f(3, 4), i64(3, lo=0, hi=3) ; f64(2, 3), i64(2, lo=0, hi=2) ; f(3), i64v(1).reshape(()) ; f(1, 2), i64v(1)
multi_margin_loss(x, y, p=2) | f(3, 4), i64(3, lo=0, hi=3)
multi_margin_loss(x, y, margin=0.5) | f(3, 4), i64(3, lo=0, hi=3)
multi_margin_loss(x, y, reduction="sum") | f(3, 4), i64(3, lo=0, hi=3)
multi_margin_loss(x, y, reduction="none") | f(3, 4), i64(3, lo=0, hi=3)
multi_margin_loss(x, y, weight=z) | f(2, 3), i64v(2, 0), f(3, s=2, lo=0.1) | nograd
""")
loss("multilabel_soft_margin_loss", """
multilabel_soft_margin_loss(x, y) | f(3, 4), f(3, 4, s=1, lo=0, hi=1).round() ; f64(2, 3), f64(2, 3, s=1, lo=0, hi=1).round() ; f(4), f(4, s=1, lo=0, hi=1).round() ; f(1, 1), fv(1).reshape(1, 1)
multilabel_soft_margin_loss(x, y, reduction="sum") | f(2, 3), f(2, 3, s=1, lo=0, hi=1).round() ; f64(2, 2), f64(2, 2, s=1, lo=0, hi=1).round()
multilabel_soft_margin_loss(x, y, reduction="none") | f(2, 3), f(2, 3, s=1, lo=0, hi=1).round()
multilabel_soft_margin_loss(x, y, weight=z) | f(2, 3), f(2, 3, s=1, lo=0, hi=1).round(), f(3, s=2, lo=0.1) | nograd
""")

# ---- layers as functions ----
cases("bilinear", """
bilinear(x, y, z) | f(2, 3), f(2, 2, s=1), f(2, 3, 2, s=2) ; f64(2, 2), f64(2, 2, s=1), f64(1, 2, 2, s=2) ; f(2, 1, 2), f(2, 1, 2, s=1), f(2, 2, 2, s=2) ; f(2), f(3, s=1), f(1, 2, 3, s=2)
bilinear(x, y, z, u) | f(2, 3), f(2, 2, s=1), f(2, 3, 2, s=2), f(2, s=3) ; f64(1, 2), f64(1, 2, s=1), f64(3, 2, 2, s=2), f64(3, s=3)
bilinear(x, y, z, b=u) | f(1, 1), f(1, 1, s=1), f(2, 1, 1, s=2), f(2, s=3)
x.bilinear(y, z) | f(2, 2), f(2, 2, s=1), f(1, 2, 2, s=2)
""", lambda x, y, w, b=None: F.bilinear(x, y, w, b))
cases("embedding", "embedding(x, y, padding_idx=1) | i64v(1, 0, 1, 2), f(3, 2)\nembedding(x, y, padding_idx=-1) | i64v(2, 0), f(3, 2)",
      lambda ids, w, padding_idx=None: F.embedding(ids, w, padding_idx))
cases("embedding_bag", """
embedding_bag(x, y) | i64v(0, 2, 1, 1).reshape(2, 2), f(3, 2) ; i64v(0, 2).reshape(1, 2), f64(3, 2)
embedding_bag(x, y, mode="sum") | i64v(0, 2, 1, 1).reshape(2, 2), f(3, 2)
embedding_bag(x, y, mode="max") | i64v(0, 2, 1, 0).reshape(2, 2), f(3, 2)
embedding_bag(x, y, z) | i64v(0, 2, 1, 1), f(3, 2), i64v(0, 3) ; i64v(0, 2, 1), f(3, 2), i64v(0, 1)
embedding_bag(x, y, z, mode="max") | i64v(0, 2, 1, 1), f(3, 2), i64v(0, 2) ; i64v(0, 2, 1), f64(3, 2), i64v(0, 2, 2)
embedding_bag(x, y, z, mode="sum") | i64v(0, 2, 1, 1), f(3, 2), i64v(0, 2)
embedding_bag(x, y, mode="sum", per_sample_weights=z) | i64v(0, 2, 1, 1).reshape(2, 2), f(3, 2), f(2, 2, s=1)
embedding_bag(x, y, padding_idx=1) | i64v(0, 1, 1, 2).reshape(2, 2), f(3, 2)
""", lambda ids, w, offsets=None, mode="mean", per_sample_weights=None, padding_idx=None: F.embedding_bag(
    ids, w, offsets, mode=mode, per_sample_weights=per_sample_weights, padding_idx=padding_idx))
for name, shape in [("dropout1d", "2, 3, 2"), ("dropout2d", "1, 2, 2, 2"), ("dropout3d", "1, 2, 1, 2, 2"), ("alpha_dropout", "2, 3")]:
    never = f"{name}(x, 0.5, training=false) | f({shape}) ; f64({shape}) ; f16({shape}) ; bf16({shape}) ; f({shape}, s=1)\nx.{name}(0.3, false) | f({shape})\n"
    cases(name, never + f"{name}(x, 0.0) | f({shape}) ; f64({shape})", lambda x, p=0.5, training=True, f=getattr(F, name): f(x, p, training))

# ---- matrices ----
cases("inv", """
inv(x) | fwell(3, 3) ; f64well(2, 2) ; fwell(1, 1) ; fwell(2, 2, 2) ; f64well(3, 3, s=1) ; fwell(2, 2, s=1) ; f64well(2, 2, 2)
x.inv() | f64well(4, 4)
inv(x.T) | f64well(3, 3)
""", torch.linalg.inv)
alias("inverse", "inv")
cases("det", """
det(x) | fwell(3, 3) ; f64well(2, 2) ; fwell(1, 1) ; fwell(2, 2, 2) ; f64well(3, 3, s=1) ; f64(3, 3) ; f64well(4, 4)
x.det() | f64well(2, 2, s=1)
det(x) | fv(1, 2, 2, 4).reshape(2, 2) | nograd
""", torch.linalg.det)
cases("slogdet", """
slogdet(x) | fwell(3, 3) ; f64well(2, 2) ; fwell(1, 1) ; fwell(2, 2, 2) ; f64(3, 3) ; f64(3, 3, s=1) ; f64well(4, 4)
x.slogdet() | f64well(2, 2, s=1)
""", lambda x: list(torch.linalg.slogdet(x)))
cases("logdet", """
logdet(x) | fspd(3, 3) ; f64spd(2, 2) ; fspd(1, 1) ; fspd(2, 2, 2) ; f64spd(3, 3, s=1) ; f64spd(4, 4) ; f64well(3, 3)
x.logdet() | f64spd(2, 2, s=1)
""", torch.logdet)
cases("cholesky", """
cholesky(x) | fspd(3, 3) ; f64spd(2, 2) ; fspd(1, 1) ; fspd(2, 2, 2) ; f64spd(3, 3, s=1) ; f64spd(4, 4) ; f64spd(2, 3, 3)
cholesky(x, upper=true) | fspd(3, 3) ; f64spd(2, 2)
x.cholesky() | f64spd(2, 2, s=1)
""", lambda x, upper=False: torch.linalg.cholesky(x, upper=upper))
cases("cholesky_solve", """
cholesky_solve(x, y) | f64(2, 1), f64well(2, 2).tril() ; f64(3, 2), f64well(3, 3).tril() ; f(2, 2), fwell(2, 2).tril() ; f64(1, 1), f64well(1, 1).tril() ; f64(2, 2, 1), f64well(2, 2, 2).tril()
cholesky_solve(x, y, upper=true) | f64(2, 1), f64well(2, 2).triu() ; f64(3, 2), f64well(3, 3).triu()
x.cholesky_solve(y) | f64(2, 1), f64well(2, 2, s=1).tril()
""", # of the triangle alone
      lambda b, l, upper=False: torch.cholesky_solve(b, l.triu() if upper else l.tril(), upper))
cases("cholesky_inverse", """
cholesky_inverse(x) | f64well(2, 2).tril() ; f64well(3, 3).tril() ; fwell(2, 2).tril() ; f64well(1, 1).tril() ; f64well(2, 2, 2).tril() ; f64well(4, 4).tril()
cholesky_inverse(x, upper=true) | f64well(2, 2).triu()
x.cholesky_inverse() | f64well(3, 3, s=1).tril()
""", lambda l, upper=False: torch.cholesky_inverse(l.triu() if upper else l.tril(), upper))
cases("solve", """
solve(x, y) | fwell(3, 3), f(3, 2) ; f64well(2, 2), f64(2, 1) ; fwell(3, 3), f(3) ; f64well(2, 2, 2), f64(2, 2, 1) ; f64well(1, 1), f64(1) ; f64well(3, 3), f64(3, 3) ; f64well(2, 2), f64(2, 0)
solve(x, y, left=false) | f64well(2, 2), f64(3, 2)
x.solve(y) | f64well(3, 3, s=1), f64(3)
solve(x.T, y) | f64well(3, 3), f64(3, 2)
""", torch.linalg.solve)
cases("solve_triangular", """
solve_triangular(x, y) | f64well(3, 3).tril(), f64(3, 2) ; fwell(2, 2).tril(), f(2, 1) ; f64well(2, 2, 2).tril(), f64(2, 2, 1) ; f64well(1, 1), f64(1, 1)
solve_triangular(x, y, upper=true) | f64well(3, 3).triu(), f64(3, 2) ; fwell(2, 2).triu(), f(2, 2)
solve_triangular(x, y, upper=true, unitriangular=true) | f64well(3, 3).triu(), f64(3, 1)
solve_triangular(x, y, left=false) | f64well(2, 2).tril(), f64(3, 2)
x.solve_triangular(y, true) | f64well(2, 2).triu(), f64(2, 1)
""", lambda a, b, upper=False, left=True, unitriangular=False: torch.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unitriangular))
cases("matrix_power", "".join(f"matrix_power(x, {n}) | f64well(2, 2) ; f(2, 2)\n" for n in (0, 1, 2, 3)) + "matrix_power(x, -1) | f64well(2, 2)\nmatrix_power(x, -2) | f64well(3, 3)\nmatrix_power(x, 5) | f64(2, 2, 2)\nx.matrix_power(4) | f64(2, 2)",
      torch.linalg.matrix_power)
cases("mv", "mv(x, y) | f(2, 3), f(3, s=1) ; f64(3, 2), f64(2, s=1) ; f(1, 1), f(1, s=1) ; f(0, 2), f(2) ; f(2, 0), f(0) ; i64(2, 2), i64(2, s=1) ; f16(2, 2), f16(2, s=1) ; bf16(2, 2), bf16(2, s=1)\nx.mv(y) | f(2, 2), f(2)", torch.mv)
cases("vdot", "vdot(x, y) | f(3), f(3, s=1) ; f64(2), f64(2, s=1) ; f(1), f(1, s=1) ; f(0), f(0) ; i64(3), i64(3, s=1) ; f16(2), f16(2, s=1) ; bf16(2), bf16(2, s=1)\nx.vdot(y) | f(4), f(4, s=1)", torch.vdot)
for name, shapes in [("addmm", ["2, 2", "2, 3", "3, 2"]), ("addmv", ["2", "2, 3", "3"]), ("baddbmm", ["2, 2, 1", "2, 2, 3", "2, 3, 1"]), ("addbmm", ["2, 1", "2, 2, 3", "2, 3, 1"])]:
    three = lambda kind: ", ".join(f"{kind}({shape}, s={i})" for i, shape in enumerate(shapes))
    cases(name, f"{name}(x, y, z) | {three('f')} ; {three('f64')} ; {three('i64')}\n{name}(x, y, z, beta=0.5) | {three('f')}\n{name}(x, y, z, alpha=2) | {three('f')} ; {three('f64')}\n"
          f"{name}(x, y, z, beta=0.5, alpha=-1) | {three('f')}\nx.{name}(y, z) | {three('f')}\n{name}(x, y, z, beta=0) | {three('f')}")
cases("tensordot", """
tensordot(x, y, dims=1) | f(2, 3), f(3, 2, s=1) ; f64(2, 2, 2), f64(2, 2, s=1) ; i64(2, 2), i64(2, 2)
tensordot(x, y) | f(2, 3), f(2, 3, s=1) ; f(2, 2, 3), f(2, 3, 2, s=1)
tensordot(x, y, dims=0) | f(2), f(3)
tensordot(x, y, dims=[[0], [1]]) | f(2, 3), f(3, 2, s=1)
tensordot(x, y, [[1, 0], [0, 1]]) | f(2, 3), f(3, 2, s=1)
x.tensordot(y, 1) | f(3), f(3, s=1)
""", lambda a, b, dims=2: torch.tensordot(a, b, dims))
cases("kron", "kron(x, y) | f(2, 2), f(2, 1, s=1) ; f64(2), f64(3, s=1) ; f(1, 2), f(2, 2, s=1) ; i64(2, 1), i64(1, 2) ; f(2), f(2, 2, s=1) ; f(1, 1), f(1, 1) ; f(2, 1, 2), f(2, s=1)\nx.kron(y) | f(2), f(2)", torch.kron)
cases("cross", """
cross(x, y) | f(3), f(3, s=1) ; f64(2, 3), f64(2, 3, s=1) ; f(3, 2), f(3, 2, s=1) ; i64(3), i64(3, s=1)
cross(x, y, axis=0) | f(3, 2), f(3, 2, s=1) ; f64(3, 1), f64(3, 1, s=1)
cross(x, y, axis=-1) | f(2, 3), f(1, 3, s=1)
x.cross(y, 1) | f(2, 3), f(2, 3, s=1)
""", lambda a, b, axis=None: torch.cross(a, b, dim=axis if axis is not None else [i for i, n in enumerate(a.shape) if n == 3][0]))
cases("multi_dot", """
multi_dot([x, y]) | f(2, 3), f(3, 2, s=1) ; f64(1, 2), f64(2, 2)
multi_dot([x, y, z]) | f(2, 3), f(3, 2, s=1), f(2, 2, s=2) ; f(3), f(3, 2, s=1), f(2, s=2) ; f64(2, 2), f64(2, 1, s=1), f64(1, 3, s=2) ; f(3), f(3, 2, s=1), f(2, 2, s=2)
multi_dot([x, y, z, u]) | f64(2, 1), f64(1, 3, s=1), f64(3, 1, s=2), f64(1, 2, s=3)
multi_dot([x, y, z, y]) | f64(2, 2), f64(2, 2, s=1), f64(2, 2, s=2)
""", torch.linalg.multi_dot)
cases("lu", """
lu(x) | fwell(3, 3) ; f64well(2, 2) ; f64(3, 3) ; fwell(1, 1) ; f64well(2, 2, 2) ; f64(4, 4) ; f64(2, 2, 2) ; f64(3, 3, s=1) | nograd
""")


@means("lu")
def lu(a):
    """PyTorch's pivots are swaps; ours is the order of the rows: a[perm] = L @ U."""
    factors, pivots = torch.linalg.lu_factor(a)
    perm = torch.arange(a.shape[-1]).expand(a.shape[:-1]).clone().reshape(-1, a.shape[-1])
    for row, swaps in zip(perm, pivots.reshape(-1, a.shape[-1]).tolist()):
        for i, j in enumerate(swaps):
            row[[i, j - 1]] = row[[j - 1, i]]
    return [factors, perm.reshape(a.shape[:-1])]
