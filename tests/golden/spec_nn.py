"""spec_nn.py: products, layers as functions, losses and linear algebra; see functions.py.
SPDX-License-Identifier: MIT
"""
import torch
import torch.nn.functional as F

from functions import cases, fl, means, MEANING

# ---- products ----
PAIRS = """
{e} | f(2, 3), f(3, 4, s=1) ; f64(2, 3), f64(3, 2, s=1) ; f(3), f(3, s=1) ; f(2, 3), f(3, s=1) ; f(3), f(3, 2, s=1) ; f(1, 1), f(1, 1, s=1)
{e} | f(2, 2, 3), f(2, 3, 2, s=1) ; f(2, 2, 3), f(3, 2, s=1) ; f(2, 3), f(2, 3, 2, s=1) ; f(2, 1, 2, 3), f(2, 3, 1, s=1) ; f(2, 2, 3), f(3, s=1) ; f(3), f(2, 3, 2)
{e} | f(0, 3), f(3, 2) ; f(2, 0), f(0, 3) ; f(2, 3), f(3, 0) ; f(0), f(0) ; f(0, 2, 3), f(3, 2)
{e} | i64(2, 3), i64(3, 2, s=1) ; i32(2, 2), i32(2, s=1) ; f16(2, 3), f16(3, 2, s=1) ; bf16(2, 3), bf16(3, 2, s=1) ; u8(2, 2), u8(2, 2, s=1) ; i8(2, 2), i8(2, 2, s=1)
{e} | fv(1, nan), fv(0, 1) ; fv(inf, 1), fv(0, 1) ; fv(inf, -1), fv(2, inf)
"""
cases("matmul", PAIRS.format(e="x @ y") + """
matmul(x, y) | f(2, 3), f(3, 2)
x.matmul(y) | f(2, 2), f(2)
x.mm(y) | f(2, 3), f(3, 2)
x.bmm(y) | f(2, 2, 3), f(2, 3, 1)
x.dot(y) | f(3), f(3, s=1)
x.T @ y | f(3, 2), f(3, 2, s=1)
x @ y.T | f(2, 3), f(2, 3, s=1)
x @ x | f(3, 3)
""", torch.matmul)
cases("mm", """
mm(x, y) | f(2, 3), f(3, 2, s=1) ; f64(2, 3), f64(3, 1, s=1) ; f(1, 1), f(1, 1, s=1) ; f(0, 3), f(3, 2) ; f(2, 0), f(0, 3) ; i64(2, 3), i64(3, 2, s=1)
mm(x, y) | f16(2, 3), f16(3, 2, s=1) ; bf16(2, 3), bf16(3, 2, s=1) ; f(1, 3), f(3, 2)
x.mm(y) | f(2, 2), f(2, 1)
""", torch.mm)
cases("bmm", """
bmm(x, y) | f(2, 2, 3), f(2, 3, 2, s=1) ; f64(1, 2, 3), f64(1, 3, 1, s=1) ; f(3, 1, 1), f(3, 1, 1, s=1) ; f(0, 2, 3), f(0, 3, 2) ; f(2, 2, 0), f(2, 0, 3)
bmm(x, y) | i64(2, 2, 3), i64(2, 3, 2, s=1) ; f16(2, 2, 3), f16(2, 3, 2, s=1) ; bf16(2, 2, 3), bf16(2, 3, 2, s=1)
x.bmm(y) | f(2, 2, 2), f(2, 2, 1)
""", torch.bmm)
cases("dot", """
dot(x, y) | f(3), f(3, s=1) ; f64(4), f64(4, s=1) ; f(1), f(1, s=1) ; f(0), f(0) ; i64(3), i64(3, s=1) ; i32(2), i32(2, s=1) ; f16(3), f16(3, s=1) ; bf16(3), bf16(3, s=1)
dot(x, y) | fv(1, nan), fv(0, 1) ; fv(inf, 1), fv(2, 1)
x.dot(y) | f(2), f(2, s=1)
""", torch.dot)
cases("linear", """
linear(x, y) | f(2, 3), f(4, 3, s=1) ; f64(2, 3), f64(2, 3, s=1) ; f(3), f(2, 3, s=1) ; f(2, 2, 3), f(2, 3, s=1) ; f(0, 3), f(2, 3) ; f16(2, 3), f16(2, 3, s=1) ; bf16(2, 3), bf16(2, 3, s=1)
linear(x, y, z) | f(2, 3), f(4, 3, s=1), f(4, s=2) ; f(2, 1, 3), f(2, 3, s=1), f(2, s=2) ; f64(1, 2), f64(1, 2, s=1), f64(1, s=2)
linear(x, y, b=z) | f(3), f(2, 3, s=1), f(2, s=2)
linear(x, w=y) | f(2, 2), f(2, 2, s=1)
""", lambda x, w, b=None: F.linear(x, w, b))
cases("einsum", """
einsum("ij,jk->ik", x, y) | f(2, 3), f(3, 2, s=1) ; f64(2, 2), f64(2, 1) ; i64(2, 2), i64(2, 2) ; f16(2, 3), f16(3, 2) ; bf16(2, 3), bf16(3, 2)
einsum("ij->ji", x) | f(2, 3)
einsum("ij->", x) | f(2, 3) ; f64(2, 2)
einsum("ij->j", x) | f(2, 3)
einsum("ii->", x) | f(3, 3)
einsum("ii->i", x) | f(3, 3)
einsum("i,j->ij", x, y) | f(2), f(3)
einsum("i,i->", x, y) | f(3), f(3, s=1)
einsum("bij,bjk->bik", x, y) | f(2, 2, 3), f(2, 3, 2, s=1)
einsum("bhqd,bhkd->bhqk", x, y) | f(1, 2, 2, 3), f(1, 2, 3, 3)
einsum("...ij,...jk->...ik", x, y) | f(2, 2, 3), f(3, 2) ; f(2, 1, 2, 2), f(2, 2, 2)
einsum("...i->...", x) | f(2, 3)
einsum("ij,jk", x, y) | f(2, 3), f(3, 2)
einsum("ij,ij->i", x, y) | f(2, 3), f(2, 3, s=1)
einsum("ij,jk,kl->il", x, y, z) | f(2, 3), f(3, 2), f(2, 2)
einsum("ab,cd->abcd", x, y) | f(2, 1), f(1, 2)
einsum("ij,j->i", x, y) | f(2, 0), f(0) ; f(0, 2), f(2)
einsum("i j, j k -> i k", x, y) | f(2, 2), f(2, 2, s=1)
einsum("ijk->kij", x) | f(2, 3, 1)
""", torch.einsum)
cases("embedding", """
embedding(x, y) | i64v(0, 2, 1), f(3, 2) ; i64(2, 2, lo=0, hi=2), f(3, 2) ; i32v(1, 1), f(2, 3) ; i64v(1, 1, 1), f64(2, 2) ; i64(0), f(2, 2) ; i64v(0), f16(1, 3) ; i64v(1, 0), bf16(2, 2)
x.embedding(y) | i64v(2, 0), f(3, 1)
embedding(ids=x, w=y) | i64v(1), f(2, 2)
""", lambda ids, w: F.embedding(ids, w))

# ---- softmax and norms ----
SOFT = """
{f}(x) | f(3, 4) ; f64(2, 3) ; f(5) ; f(1, 1) ; f(0, 3) ; f(2, 0) ; f16(2, 4) ; bf16(2, 4) ; f()
{f}(x, axis=-1) | f(2, 2, 3)
{f}(x, axis=0) | f(3, 4) ; f64(3, 2, 2) ; f(1, 3)
{f}(x, 1) | f(2, 3, 2)
x.{f}(-2) | f(2, 3, 2)
{f}(x, dim=-1) | f(2, 3)
{f}(x) | fv(1000, 1000, 0) ; fv(-inf, 1, 2) ; fv(nan, 1, 2) ; f64v(-1000, 1000) ; i64(4) ; u8(3) ; i8(3)
{f}(x) | fv(inf, 1) ; fv(-inf, -inf)
"""
for name, f in [("softmax", F.softmax), ("log_softmax", F.log_softmax)]:
    cases(name, SOFT.format(f=name), lambda x, axis=-1, dim=None, f=f: f(fl(x), axis if dim is None else dim))


@means("layer_norm")
def layer_norm(x, shape=None, w=None, b=None, eps=1e-5):
    return F.layer_norm(x, [x.shape[-1]] if shape is None else [shape] if isinstance(shape, int) else list(shape), w, b, eps)


cases("layer_norm", """
layer_norm(x) | f(3, 4) ; f64(2, 3) ; f(4) ; f(2, 2, 3) ; f(0, 3) ; f16(2, 4) ; bf16(2, 4) ; fv(1, nan, 2) ; f(2, 1)
layer_norm(x, 4) | f(3, 4)
layer_norm(x, [2, 3]) | f(2, 2, 3) ; f64(1, 2, 3)
layer_norm(x, 3, y) | f(2, 3), f(3, s=1)
layer_norm(x, [3], y, z) | f(2, 3), f(3, s=1), f(3, s=2) ; f64(2, 3), f64(3, s=1), f64(3, s=2)
layer_norm(x, [2, 2], y, z, 0.1) | f(2, 2, 2), f(2, 2, s=1), f(2, 2, s=2)
layer_norm(x, eps=0.01) | f(2, 3)
""")


@means("rms_norm")
def rms_norm(x, shape=None, w=None, eps=1e-6):
    return F.rms_norm(x, [x.shape[-1]] if shape is None else [shape] if isinstance(shape, int) else list(shape), w, eps)


cases("rms_norm", """
rms_norm(x) | f(3, 4) ; f64(2, 3) ; f(4) ; f(2, 2, 3) ; f(0, 3) ; f16(2, 4) ; bf16(2, 4) ; fv(1, nan, 2) ; fv(0, 0)
rms_norm(x, 4) | f(3, 4)
rms_norm(x, [2, 3]) | f(2, 2, 3)
rms_norm(x, 3, y) | f(2, 3), f(3, s=1) ; f64(2, 3), f64(3, s=1)
rms_norm(x, [3], y, 0.1) | f(2, 3), f(3, s=1)
rms_norm(x, eps=0.01) | f(2, 3)
""")
cases("dropout", """
dropout(x, p=0.0) | f(2, 3) ; f64(3)
dropout(x, 1.0) | f(2, 3) ; f64(3) ; f(0, 2)
dropout(x, 0.5, training=false) | f(2, 3) ; f64(2) ; f16(3) ; bf16(3)
x.dropout(0.0) | f(2)
""", lambda x, p=0.5, training=True: F.dropout(x, p, training))

# ---- attention ----


@means("attention")
def attention(q, k, v, mask=None, causal=False, scale=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale)


@means("scaled_dot_product_attention")
def scaled(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, scale=scale)


ATTENTION = """
{f}(x, y, z) | f(1, 3, 2), f(1, 3, 2, s=1), f(1, 3, 2, s=2) ; f64(2, 2, 2), f64(2, 3, 2, s=1), f64(2, 3, 1, s=2) ; f(1, 1, 2, 2), f(1, 1, 2, 2, s=1), f(1, 1, 2, 2, s=2)
{f}(x, y, z, {causal}=true) | f(1, 3, 2), f(1, 3, 2, s=1), f(1, 3, 2, s=2) ; f64(1, 2, 3, 2), f64(1, 2, 3, 2, s=1), f64(1, 2, 3, 2, s=2) ; f(1, 2, 2), f(1, 3, 2, s=1), f(1, 3, 2, s=2)
{f}(x, y, z, scale=0.5) | f(1, 2, 2), f(1, 2, 2, s=1), f(1, 2, 2, s=2)
{f}(x, y, z, {mask}=u) | f(1, 2, 2), f(1, 3, 2, s=1), f(1, 3, 2, s=2), f(2, 3, s=3) ; f(1, 2, 2), f(1, 3, 2, s=1), f(1, 3, 2, s=2), b1v(True, False, True) ; f(2, 2, 2), f(2, 3, 2, s=1), f(2, 3, 2, s=2), b1v(True, False, True, True, True, False).reshape(2, 3)
{f}(x, y, z) | f(2, 3), f(2, 3, s=1), f(2, 3, s=2) ; f(1, 1, 2), f(1, 1, 2, s=1), f(1, 1, 2, s=2)
"""
cases("attention", ATTENTION.format(f="attention", causal="causal", mask="mask") + "attention(x, y, z, u) | f(1, 2, 2), f(1, 2, 2), f(1, 2, 2), f(2, 2)\n"
      "attention(x, y, z) | f16(1, 2, 2), f16(1, 2, 2, s=1), f16(1, 2, 2, s=2) ; bf16(1, 2, 2), bf16(1, 2, 2, s=1), bf16(1, 2, 2, s=2)")
cases("scaled_dot_product_attention", ATTENTION.format(f="scaled_dot_product_attention", causal="is_causal", mask="attn_mask") +
      "scaled_dot_product_attention(x, y, z, none, 0.0, true) | f(1, 2, 2), f(1, 2, 2), f(1, 2, 2)")

# ---- losses ----
PLAIN = """
{f}(x, y) | f(3, 4), f(3, 4, s=1) ; f64(5), f64(5, s=1) ; f(), f(s=1) ; f(1, 1), f(1, 1, s=1) ; f16(4), f16(4, s=1) ; bf16(4), bf16(4, s=1) ; fv(1, nan, inf), fv(2, 1, 1)
{f}(x, y, reduction="sum") | f(2, 3), f(2, 3, s=1) ; f64(3), f64(3, s=1) ; f(0), f(0)
{f}(x, y, reduction="none") | f(2, 3), f(2, 3, s=1) ; f64(3), f64(3, s=1) ; f(0, 2), f(0, 2) ; fv(1, 0, -2), fv(1, 1, 1)
{f}(x, y, reduction="mean") | f(2, 3), f(2, 3, s=1)
"""
cases("mse_loss", PLAIN.format(f="mse_loss"), F.mse_loss)
cases("l1_loss", PLAIN.format(f="l1_loss").replace("fv(1, nan, inf), fv(2, 1, 1)", "fv(1, inf), fv(2, 1)"), F.l1_loss)
cases("l1_loss", "l1_loss(x, y) | fv(1, nan), fv(1, 2) | nograd")         # as abs: at nan
cases("smooth_l1_loss", PLAIN.format(f="smooth_l1_loss") + """
smooth_l1_loss(x, y, beta=0.5) | f(2, 3), f(2, 3, s=1)
smooth_l1_loss(x, y, "none", 2.0) | f(2, 3), f(2, 3, s=1) ; fv(0, 2), fv(2, 0)
smooth_l1_loss(x, y, beta=0.0) | f(4), f(4, s=1)
""", lambda x, y, reduction="mean", beta=1.0: F.smooth_l1_loss(x, y, reduction=reduction, beta=beta))
cases("huber_loss", PLAIN.format(f="huber_loss") + """
huber_loss(x, y, delta=0.5) | f(2, 3), f(2, 3, s=1)
huber_loss(x, y, "none", 2.0) | f(2, 3), f(2, 3, s=1) ; fv(0, 2), fv(2, 0)
""", lambda x, y, reduction="mean", delta=1.0: F.huber_loss(x, y, reduction=reduction, delta=delta))
BCE = """
{f}(x, y) | {X}(3, 4{d}), f(3, 4, s=1, lo=0, hi=1) ; f64(5{d}), f64(5, s=1, lo=0, hi=1) ; f({d0}), f(s=1, lo=0, hi=1) ; f(1, 1{d}), f(1, 1, s=1, lo=0, hi=1)
{f}(x, y, reduction="sum") | f(2, 3{d}), f(2, 3, s=1, lo=0, hi=1) ; f64(3{d}), f64(3, s=1, lo=0, hi=1) ; f(0), f(0)
{f}(x, y, reduction="none") | f(2, 3{d}), f(2, 3, s=1, lo=0, hi=1) ; f64(3{d}), f64(3, s=1, lo=0, hi=1) ; f(0, 2), f(0, 2)
{f}(x, y, weight=z) | f(2, 3{d}), f(2, 3, s=1, lo=0, hi=1), f(3, s=2, lo=0.1) ; f(2, 3{d}), f(2, 3, s=1, lo=0, hi=1), f(2, 1, s=2, lo=0.1) | nograd
"""
# At exactly 0 and 1 the values alone: PyTorch's gradient there is one of its clamp of p * (1 - p), up to 1e12; ours is
# that of the clamped logarithm.
for name in ["bce", "binary_cross_entropy"]:
    cases(name, BCE.format(f=name, X="f", d=", lo=0.05, hi=0.95", d0="lo=0.05, hi=0.95") + f"""
{name}(x, y, reduction="none") | fv(0, 1, 0, 1), fv(0, 1, 1, 0) | nograd
""", F.binary_cross_entropy)
for name in ["bce_with_logits", "binary_cross_entropy_with_logits"]:
    cases(name, BCE.format(f=name, X="f", d="", d0="") + f"""
{name}(x, y, pos_weight=z) | f(2, 3), f(2, 3, s=1, lo=0, hi=1), f(3, s=2, lo=0.1) | nograd
{name}(x, y, reduction="none") | fv(0, 100, -100, 1000), fv(0, 1, 1, 0) ; fv(inf, nan), fv(0, 1) ; f16(3), f16(3, s=1, lo=0, hi=1) ; bf16(3), bf16(3, s=1, lo=0, hi=1)
""", F.binary_cross_entropy_with_logits)
cases("kl_div", """
kl_div(x, y) | f(3, 4), f(3, 4, s=1, lo=0.1, hi=1) ; f64(5), f64(5, s=1, lo=0, hi=1)
kl_div(x, y, reduction="batchmean") | f(2, 3), f(2, 3, s=1, lo=0.1, hi=1)
kl_div(x, y, reduction="sum") | f(2, 3), f(2, 3, s=1, lo=0.1, hi=1)
kl_div(x, y, reduction="none") | f(2, 3), f(2, 3, s=1, lo=0.1, hi=1) ; f(0, 2), f(0, 2) ; f(3), f(3, s=1, lo=0.1)
kl_div(x, y, log_target=true) | f(2, 3), f(2, 3, s=1)
kl_div(x, y, reduction="batchmean", log_target=true) | f64(2, 3), f64(2, 3, s=1)
kl_div(x, y, "none") | fv(-1, -2, -3), fv(0, 0.5, 1) | nograd
""", lambda x, y, reduction="mean", log_target=False: F.kl_div(x, y, reduction=reduction, log_target=log_target))
CLASSES = """
{f}(x, y) | f(3, 4), i64(3, lo=0, hi=3) ; f64(2, 3), i64(2, lo=0, hi=2) ; f(2, 3, 2), i64(2, 2, lo=0, hi=2) ; f(4), i64(lo=0, hi=3) ; f(1, 1), i64v(0) ; f(1, 3, 2, 2), i64(1, 2, 2, lo=0, hi=2)
{f}(x, y, reduction="sum") | f(3, 4), i64(3, lo=0, hi=3) ; f(0, 3), i64(0)
{f}(x, y, reduction="none") | f(3, 4), i64(3, lo=0, hi=3) ; f(0, 3), i64(0) ; f(2, 3, 2), i64(2, 2, lo=0, hi=2)
{f}(x, y, ignore_index=1) | f(3, 3), i64v(0, 1, 2)
{f}(x, y) | f(3, 3), i64v(0, -100, 2) ; f(2, 3), i64v(-100, -100)
{f}(x, y, weight=z) | f(3, 3), i64v(0, 1, 2), f(3, s=2, lo=0.1) ; f(3, 3), i64v(0, -100, 2), f(3, s=2, lo=0.1) | nograd
{f}(x, y, z, ignore_index=2, reduction="none") | f(3, 3), i64v(0, 1, 2), f(3, s=2, lo=0.1) | nograd
{f}(x, y) | f16(2, 3), i64v(0, 2) ; bf16(2, 3), i64v(0, 2)
"""
cases("nll_loss", CLASSES.format(f="nll_loss"),
      lambda x, y, weight=None, ignore_index=-100, reduction="mean": F.nll_loss(x, y, weight, ignore_index=ignore_index, reduction=reduction))


@means("cross_entropy")
def cross_entropy(x, y, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    return F.cross_entropy(x, y, weight, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction)


cases("cross_entropy", CLASSES.format(f="cross_entropy") + """
cross_entropy(x, y, label_smoothing=0.1) | f(3, 4), i64(3, lo=0, hi=3) ; f(2, 3), i64v(-100, 1) ; f64(2, 3, 2), i64(2, 2, lo=0, hi=2)
cross_entropy(x, y, weight=z, label_smoothing=0.2) | f(2, 3), i64v(2, 0), f(3, s=2, lo=0.1) | nograd
cross_entropy(x, y) | f(2, 3), f(2, 3, s=1, lo=0, hi=1) ; f(2, 3, 2), f(2, 3, 2, s=1, lo=0, hi=1) ; f64(3), f64(3, s=1, lo=0, hi=1)
cross_entropy(x, y, reduction="none", label_smoothing=0.1) | f(2, 3), f(2, 3, s=1, lo=0, hi=1)
cross_entropy(x, y, weight=z) | f(2, 3), f(2, 3, s=1, lo=0, hi=1), f(3, s=2, lo=0.1) | nograd
cross_entropy(x, y, reduction="none") | fv(1000, -1000, 0).reshape(1, 3), i64v(1) ; fv(-inf, 0, 1).reshape(1, 3), i64v(1) ; fv(nan, 0).reshape(1, 2), i64v(1)
""")
cases("cross_entropy_loss", """
cross_entropy_loss(x, y) | f(3, 4), i64(3, lo=0, hi=3) ; f64(2, 3), i64(2, lo=0, hi=2) ; f(2, 3, 2), i64(2, 2, lo=0, hi=2) ; f(4), i64(lo=0, hi=3) ; f(1, 1), i64v(0)
cross_entropy_loss(x, y) | f(2, 3), i64v(-100, 1) ; f(2, 3), f(2, 3, s=1, lo=0, hi=1)
x.cross_entropy_loss(y) | f(2, 2), i64v(0, 1)
""", F.cross_entropy)
