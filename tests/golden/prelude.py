"""Writes tests/nn/*.gt: the prelude's functions, losses, layers and optimisers, with values from PyTorch beside the lines
that print. Needs torch; run by hand when the prelude grows: python tests/golden/prelude.py. Never needed by make test."""
import math
import os
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nn")


class Page:
    """One test file. `let` declares a tensor in both worlds, `show` prints an expression of the language and expects
    PyTorch's value of the same."""

    def __init__(self, name, head):
        self.name, self.lines, self.k = name, ["# " + line for line in head.split("\n")], 0
        self.lines.insert(0, "# Values from PyTorch, written by tests/golden/prelude.py.")

    def add(self, line=""):
        self.lines.append(line)

    def let(self, name, value, param=False):
        data = value.detach()
        text = repr(data.tolist()).replace("True", "true").replace("False", "false").replace("inf", "inf")
        dtype = {torch.float64: ", dtype=float64", torch.float32: ", dtype=float32", torch.int64: "", torch.bool: ""}[data.dtype]
        made = f"tensor({text}{dtype})"
        self.add(f"{name} = param({made})" if param else f"{name} = {made}")
        return value.requires_grad_() if param else value

    def show(self, expression, value, tolerance="1e-9"):
        flat = value.detach().reshape(-1).tolist()
        numbers = ", ".join(f"{float(v):.12g}" for v in flat)
        self.add(f"print(({expression}).reshape(-1).tolist())  # expect~ {tolerance}: {numbers}")

    def write(self):
        with open(os.path.join(here, self.name + ".gt"), "w") as f:
            f.write("\n".join(self.lines) + "\n")


def rand(*shape, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.round(torch.randn(*shape, generator=g) * 100) / 100


def check(page, names, expression, loss, leaves):
    """Value of a scalar and its gradients by the leaves."""
    page.add(f"r = {expression}")
    page.show("r", loss)
    for leaf in leaves:
        leaf.grad = None
    loss.backward()
    page.add("backward r")
    for name, leaf in zip(names, leaves):
        page.show(f"{name}.grad", leaf.grad)
        page.add(f"{name}.grad = none")


def functions():
    p = Page("functions", "softmax and its kin, normalisation, attention, activations: values and gradients.")
    x = p.let("x", rand(2, 3, seed=1), param=True)
    c = p.let("c", rand(2, 3, seed=2))
    for axis in (-1, 0):
        check(p, ["x"], f"(softmax(x, axis={axis}) * c).sum()", (F.softmax(x, axis) * c).sum(), [x])
        check(p, ["x"], f"(x.log_softmax(dim={axis}) * c).sum()", (F.log_softmax(x, axis) * c).sum(), [x])
        check(p, ["x"], f"logsumexp(x, axis={axis}).sum()", torch.logsumexp(x, axis).sum(), [x])
    p.show("softmax(tensor([1000.0, 1000.0, -inf], dtype=float64))", torch.tensor([0.5, 0.5, 0.0]))
    p.show("log_softmax(tensor([1000.0, 0.0], dtype=float64))", torch.tensor([0.0, -1000.0]))
    p.show("logsumexp(tensor([-inf, -inf], dtype=float64), axis=0)", torch.tensor([-math.inf]))
    p.show("softmax(tensor([1, 2, 3]))", F.softmax(torch.tensor([1.0, 2, 3]), 0), "1e-6")
    for name, f in (("gelu", F.gelu), ("silu", F.silu), ("softplus", F.softplus), ("relu", F.relu), ("tanh", torch.tanh),
                    ("sigmoid", torch.sigmoid)):
        check(p, ["x"], f"({name}(x) * c).sum()", (f(x) * c).sum(), [x])
    check(p, ["x"], "(gelu(x, approximate=\"tanh\") * c).sum()", (F.gelu(x, approximate="tanh") * c).sum(), [x])
    check(p, ["x"], "(leaky_relu(x, 0.1) * c).sum()", (F.leaky_relu(x, 0.1) * c).sum(), [x])
    a = p.let("a", rand(2, 2, 3, seed=3), param=True)
    w = p.let("w", rand(2, 3, seed=4), param=True)
    b = p.let("b", rand(2, 3, seed=5), param=True)
    k = p.let("k", rand(2, 2, 3, seed=6))
    check(p, ["a", "w", "b"], "(layer_norm(a, [2, 3], w, b) * k).sum()", (F.layer_norm(a, (2, 3), w, b) * k).sum(), [a, w, b])
    check(p, ["a"], "(layer_norm(a, eps=0.1) * k).sum()", (F.layer_norm(a, (3,), eps=0.1) * k).sum(), [a])
    check(p, ["a", "w"], "(rms_norm(a, [2, 3], w) * k).sum()", (F.rms_norm(a, (2, 3), w, eps=1e-6) * k).sum(), [a, w])
    m = p.let("m", rand(4, 3, seed=7), param=True)
    v = p.let("v", rand(4, seed=8), param=True)
    check(p, ["a", "m", "v"], "(linear(a, m, v) ** 2).sum()", (F.linear(a, m, v) ** 2).sum(), [a, m, v])
    ids = p.let("ids", torch.tensor([[3, 0, 3], [1, 1, 3]]))
    e = p.let("e", rand(2, 3, 3, seed=9))
    check(p, ["m"], "(embedding(ids, m) * e).sum()", (F.embedding(ids, m) * e).sum(), [m])
    p.show("one_hot(ids, 4)", F.one_hot(ids, 4))
    p.write()


def attentions():
    p = Page("attention", "attention: plain, causal, with masks; values and gradients of queries, keys and values.")
    q = p.let("q", rand(2, 3, 4, seed=11), param=True)
    k = p.let("k", rand(2, 5, 4, seed=12), param=True)
    v = p.let("v", rand(2, 5, 2, seed=13), param=True)
    c = p.let("c", rand(2, 3, 2, seed=14))
    seen = p.let("seen", torch.tensor([[1, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 1, 1, 1, 1]]).bool())
    add = p.let("add", rand(3, 5, seed=15))
    names, leaves, f = ["q", "k", "v"], [q, k, v], F.scaled_dot_product_attention
    check(p, names, "(attention(q, k, v) * c).sum()", (f(q, k, v) * c).sum(), leaves)
    check(p, names, "(attention(q, k, v, causal=true) * c).sum()", (f(q, k, v, is_causal=True) * c).sum(), leaves)
    check(p, names, "(attention(q, k, v, mask=seen) * c).sum()", (f(q, k, v, attn_mask=seen) * c).sum(), leaves)
    check(p, names, "(attention(q, k, v, mask=add) * c).sum()", (f(q, k, v, attn_mask=add) * c).sum(), leaves)
    check(p, names, "(nn.scaled_dot_product_attention(q, k, v, is_causal=true, scale=0.3) * c).sum()",
          (f(q, k, v, is_causal=True, scale=0.3) * c).sum(), leaves)
    p.write()


def losses():
    p = Page("losses", "Losses: values and gradients, with weights, ignored targets, smoothing and the three reductions.")
    x = p.let("x", rand(4, 3, seed=21), param=True)
    y = p.let("y", torch.tensor([2, 0, -100, 1]))
    w = p.let("w", torch.tensor([0.5, 2.0, 1.25]))
    for reduction in ("mean", "sum"):
        for label, smooth in (("", 0.0), (", label_smoothing=0.2", 0.2)):
            check(p, ["x"], f"cross_entropy(x, y{label}, reduction=\"{reduction}\")",
                  F.cross_entropy(x, y, label_smoothing=smooth, reduction=reduction), [x])
            check(p, ["x"], f"cross_entropy(x, y, weight=w{label}, reduction=\"{reduction}\")",
                  F.cross_entropy(x, y, weight=w, label_smoothing=smooth, reduction=reduction), [x])
    p.show("cross_entropy(x, y, weight=w, label_smoothing=0.1, reduction=\"none\")",
           F.cross_entropy(x, y, weight=w, label_smoothing=0.1, reduction="none"))
    p.show("cross_entropy(x, where(y < 0, 1, y), ignore_index=1)", F.cross_entropy(x, y.clamp(min=-1).where(y >= 0, torch.tensor(1)), ignore_index=1))
    soft = p.let("soft", torch.tensor([[0.2, 0.3, 0.5], [1.0, 0, 0], [0, 0.5, 0.5], [0.1, 0.1, 0.8]]))
    check(p, ["x"], "cross_entropy(x, soft, weight=w, label_smoothing=0.1)", F.cross_entropy(x, soft, weight=w, label_smoothing=0.1), [x])
    check(p, ["x"], "cross_entropy(x, soft, reduction=\"sum\")", F.cross_entropy(x, soft, reduction="sum"), [x])
    check(p, ["x"], "cross_entropy(x[0], tensor(1))", F.cross_entropy(x[0], torch.tensor(1)), [x])
    z = p.let("z", rand(2, 3, 2, seed=22), param=True)
    t = p.let("t", torch.tensor([[0, 2], [1, -100]]))
    check(p, ["z"], "cross_entropy(z, t, weight=w, label_smoothing=0.1)", F.cross_entropy(z, t, weight=w, label_smoothing=0.1), [z])
    p.show("nll_loss(log_softmax(z, axis=1), t, weight=w)", F.nll_loss(F.log_softmax(z, 1), t, weight=w))
    p.show("nn.CrossEntropyLoss(weight=w)(z, t)", F.cross_entropy(z, t, weight=w))
    a = p.let("a", rand(5, seed=23), param=True)
    b = p.let("b", rand(5, seed=24))
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        f = getattr(F, name)
        check(p, ["a"], f"{name}(a, b)", f(a, b), [a])
        check(p, ["a"], f"{name}(a, b, reduction=\"sum\")", f(a, b, reduction="sum"), [a])
        p.show(f"{name}(a, b, reduction=\"none\")", f(a, b, reduction="none"))
    check(p, ["a"], "smooth_l1_loss(a, b, beta=0.5)", F.smooth_l1_loss(a, b, beta=0.5), [a])
    check(p, ["a"], "huber_loss(a, b, delta=0.7)", F.huber_loss(a, b, delta=0.7), [a])
    s = p.let("s", torch.tensor([0.7, 0.3, 0.9, 0.01, 0.5]), param=True)
    d = p.let("d", torch.tensor([1.0, 0.0, 1.0, 0.25, 0.0]))
    check(p, ["s"], "bce(s, d)", F.binary_cross_entropy(s, d), [s])
    check(p, ["s"], "nn.binary_cross_entropy(s, d, reduction=\"sum\")", F.binary_cross_entropy(s, d, reduction="sum"), [s])
    p.show("bce(tensor([0.0, 1.0, 0.0, 1.0], dtype=float64), tensor([1.0, 0.0, 0.0, 1.0], dtype=float64), reduction=\"none\")",
           torch.tensor([100.0, 100.0, 0.0, 0.0]))
    check(p, ["a"], "bce_with_logits(a, d)", F.binary_cross_entropy_with_logits(a, d), [a])
    pw = p.let("pw", torch.tensor([1.0, 2.0, 0.5, 3.0, 1.5]))
    check(p, ["a"], "bce_with_logits(a, d, weight=pw, pos_weight=pw, reduction=\"sum\")",
          F.binary_cross_entropy_with_logits(a, d, weight=pw, pos_weight=pw, reduction="sum"), [a])
    p.show("bce_with_logits(tensor([1000.0, -1000.0], dtype=float64), tensor([1.0, 1.0], dtype=float64), reduction=\"none\")",
           torch.tensor([0.0, 1000.0]))
    lp = p.let("lp", F.log_softmax(rand(2, 3, seed=25), 1))
    tp = p.let("tp", F.softmax(rand(2, 3, seed=26), 1))
    for reduction in ("mean", "sum", "batchmean"):
        p.show(f"kl_div(lp, tp, reduction=\"{reduction}\")", F.kl_div(lp, tp, reduction=reduction))
    p.show("kl_div(lp, tp.log(), log_target=true)", F.kl_div(lp, tp.log(), log_target=True))
    p.write()


def optimisers():
    p = Page("optim", "Optimisers: parameters after five steps on a small quadratic, and clip_grad_norm.")
    start_a, start_b, aim = rand(2, 3, seed=31), rand(3, seed=32), rand(2, 3, seed=33)
    p.let("start_a", start_a)
    p.let("start_b", start_b)
    p.let("aim", aim)
    p.add("fn run(make, steps=5) {")
    p.add("    a = param(start_a); b = param(start_b)")
    p.add("    opt = make([a, b])")
    p.add("    for i in range(steps) {")
    p.add("        opt.zero_grad()")
    p.add("        backward ((a * b - aim) ** 2).sum()")
    p.add("        opt.step()")
    p.add("    }")
    p.add("    return cat([a.reshape(-1), b])")
    p.add("}")

    def run(make):
        a, b = start_a.clone().requires_grad_(), start_b.clone().requires_grad_()
        opt = make([a, b])
        for _ in range(5):
            opt.zero_grad()
            ((a * b - aim) ** 2).sum().backward()
            opt.step()
        return torch.cat([a.reshape(-1), b])
    for args in ("lr=0.05", "lr=0.05, momentum=0.9", "lr=0.05, momentum=0.9, nesterov=true", "lr=0.05, weight_decay=0.1",
                 "lr=0.05, momentum=0.8, dampening=0.3, weight_decay=0.1"):
        kw = eval(f"dict({args.replace('true', 'True')})")
        p.show(f"run(fn(ps) => optim.SGD(ps, {args}))", run(lambda ps: torch.optim.SGD(ps, **kw)))
    for name in ("Adam", "AdamW"):
        for args in ("lr=0.1", "lr=0.1, betas=[0.8, 0.95], eps=1e-3, weight_decay=0.2"):
            kw = eval(f"dict({args})")
            p.show(f"run(fn(ps) => optim.{name}(ps, {args}))", run(lambda ps: getattr(torch.optim, name)(ps, **kw)))
    a, b = start_a.clone().requires_grad_(), start_b.clone().requires_grad_()
    ((a * b - aim) ** 2).sum().backward()
    p.add("a = param(start_a); b = param(start_b)")
    p.add("backward ((a * b - aim) ** 2).sum()")
    p.show("clip_grad_norm([a, b], 0.5)", torch.nn.utils.clip_grad_norm_([a, b], 0.5))
    p.show("a.grad", a.grad)
    p.show("b.grad", b.grad)
    p.show("clip_grad_norm([a, b], 100.0)", torch.nn.utils.clip_grad_norm_([a, b], 100.0))
    p.show("b.grad", b.grad)
    p.write()


def model():
    """A transformer block with everything in it, from PyTorch's state_dict, in float32."""
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(5)
    d, heads, n = 8, 2, 11

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)
            self.qkv, self.proj = torch.nn.Linear(d, 3 * d, bias=False), torch.nn.Linear(d, d)
            self.mlp = torch.nn.Sequential(torch.nn.Linear(d, 2 * d), torch.nn.GELU(), torch.nn.Linear(2 * d, d))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(self.ln1(x)).reshape(b, t, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.ln2(x))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.blocks = torch.nn.Embedding(n, d), torch.nn.ModuleList([Block(), Block()])
            self.ln, self.head = torch.nn.LayerNorm(d), torch.nn.Linear(d, n)

        def forward(self, ids):
            x = self.tok(ids)
            for block in self.blocks:
                x = block(x)
            return self.head(self.ln(x))
    m = Model()
    p = Page("transformer", "A transformer with PyTorch's weights: names of its parameters, losses of five steps of AdamW.")
    p.add(f"d = {d}; heads = {heads}; n = {n}")
    p.add("""module Block(d, heads) {
    self.ln1 = nn.LayerNorm(d); self.ln2 = nn.LayerNorm(d)
    self.qkv = nn.Linear(d, 3 * d, bias=false); self.proj = nn.Linear(d, d)
    self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
    fn forward(x) {
        b, t, c = x.shape; h = self.heads
        q, k, v = self.qkv(self.ln1(x)).reshape(b, t, 3, h, c // h).permute(2, 0, 3, 1, 4)
        y = attention(q, k, v, causal=true)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))
    }
}
module Model(n, d, heads) {
    self.tok = nn.Embedding(n, d); self.blocks = [Block(d, heads) for i in range(2)]
    self.ln = nn.LayerNorm(d); self.head = nn.Linear(d, n)
    fn forward(ids) {
        x = self.tok(ids)
        for block in self.blocks { x = block(x) }
        return self.head(self.ln(x))
    }
}
m = Model(n, d, heads)""")
    state = m.state_dict()
    p.add("print(\" \".join(m.state_dict().keys()))  # expect: " + " ".join(state.keys()))
    p.add("print(m.num_params())  # expect: " + str(sum(v.numel() for v in state.values())))
    p.add("state = {")
    for key, value in state.items():
        flat = ",".join(f"{v:.9g}" for v in value.reshape(-1).tolist())
        p.add(f"    \"{key}\": tensor([{flat}]).float().reshape({list(value.shape)}),")
    p.add("}")
    p.add("m.load_state_dict(state)")
    ids = p.let("ids", torch.randint(0, n, (3, 6)))
    y = p.let("y", torch.randint(0, n, (3, 6)))
    opt = torch.optim.AdamW(m.parameters(), lr=0.01)
    p.add("opt = optim.AdamW(m.parameters(), lr=0.01)")
    p.add("for step in range(5) {")
    p.add("    loss = cross_entropy(m(ids).reshape(-1, n), y.reshape(-1))")
    p.add("    opt.zero_grad(); backward loss; clip_grad_norm(m.parameters(), 1.0); opt.step()")
    p.add("    print(f\"{loss:.6f}\")")
    p.add("}")
    for _ in range(5):
        loss = F.cross_entropy(m(ids).reshape(-1, n), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        p.add(f"# expect~ 3e-5: {loss.item():.6f}")
    p.write()


functions()
attentions()
losses()
optimisers()
model()
