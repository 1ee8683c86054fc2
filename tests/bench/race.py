"""PyTorch's and NumPy's side of the race (race.c), the twin of race.gt: reads lines "WAY NAME SECONDS" and answers each
with the seconds of one round of that workload, measured over about so many seconds, or "-" where there is none.
WAY: eager, compile, numpy, and for Adam foreach and fused too. usage: race.py THREADS [first WAY NAME]
first: prints the seconds until the third step of a workload is done, and ends."""
import math, os, sys, time

threads = sys.argv[1]
for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]: os.environ[name] = threads
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(int(threads))
torch.manual_seed(0)
rng = np.random.default_rng(0)
def normal(*shape): return rng.standard_normal(shape, dtype=np.float32)


# ---- small operations: seconds of one of 1,000 ----

def add_chain(way):
    if way == "compile": return None
    b = normal(64, 64) if way == "numpy" else torch.randn(64, 64)
    def step():
        x = b
        for _ in range(1000): x = x + b
    return step

def add_live(way):
    if way == "compile": return None
    b = normal(64, 64) if way == "numpy" else torch.randn(64, 64)
    kept = [None]
    def step(): kept[0] = [b + i for i in range(1000)]
    return step


# ---- pointwise, rows ----

def gelu(way):
    tanh = np.tanh if way == "numpy" else torch.tanh
    def hand(x): return 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * (x * x * x))))
    return forward(way, hand, hand)

def forward(way, of_torch, of_numpy):
    if way == "numpy":
        x = normal(4096, 1024)
        return lambda: of_numpy(x)
    x = torch.randn(4096, 1024)
    f = torch.compile(of_torch) if way == "compile" else of_torch
    def step():
        with torch.no_grad(): f(x)
    return step

def both(way, f, scalar=False, also=()):
    if way == "numpy": return None
    x = torch.randn(4096, 1024, requires_grad=True)
    g = None if scalar else torch.randn(4096, 1024)
    if way == "compile": f = torch.compile(f)
    def step():
        f(x).backward(g)
        x.grad = None
        for p in also: p.grad = None
    return step

def np_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
def softmax_of(x): return x.softmax(-1)
def softmax(way): return forward(way, softmax_of, np_softmax)
def softmax_both(way): return both(way, softmax_of)

def layer_norm_of():
    w = torch.ones(1024, requires_grad=True); b = torch.zeros(1024, requires_grad=True)
    return lambda x: F.layer_norm(x, (1024,), w, b), (w, b)
def layer_norm(way):
    w = np.ones(1024, np.float32); b = np.zeros(1024, np.float32)
    def hand(x):
        d = x - x.mean(-1, keepdims=True)
        return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b
    return forward(way, layer_norm_of()[0], hand)
def layer_norm_both(way):
    f, also = layer_norm_of()
    return both(way, f, also=also)

def loss_of():
    y = torch.randint(0, 1024, (4096,))
    return lambda x: F.cross_entropy(x, y)
def cross_entropy(way):
    y = rng.integers(0, 1024, 4096); rows = np.arange(4096)
    def hand(x):
        top = x.max(-1, keepdims=True)
        return (np.log(np.exp(x - top).sum(-1)) + top[:, 0] - x[rows, y]).mean()
    return forward(way, loss_of(), hand)
def cross_entropy_both(way): return both(way, loss_of(), scalar=True)


# ---- selection and sums of products ----

def select(way):
    if way == "compile": return None
    x = normal(1000000)
    if way == "eager": x = torch.from_numpy(x)
    return lambda: x[x > 0]
def nonzero(way):
    if way == "compile": return None
    x = normal(1000000)
    if way == "numpy": return lambda: np.argwhere(x > 0)
    x = torch.from_numpy(x)
    return lambda: torch.nonzero(x > 0)
def einsum3(way):
    if way == "compile": return None
    xs = [normal(256, 300), normal(300, 320), normal(320, 200)]
    if way == "numpy": return lambda: np.einsum("ij,jk,kl->il", *xs, optimize=True)
    xs = [torch.from_numpy(x) for x in xs]
    return lambda: torch.einsum("ij,jk,kl->il", *xs)


# ---- training ----

def adam(way):
    if way == "numpy":
        ps, gs = ([normal(400, 500) for _ in range(50)] for _ in range(2))
        ms, vs = ([np.zeros((400, 500), np.float32) for _ in range(50)] for _ in range(2))
        t = [0]
        def step():
            t[0] += 1
            c1, c2 = 1 - 0.9 ** t[0], 1 - 0.999 ** t[0]
            for i, g in enumerate(gs):
                ms[i] = 0.9 * ms[i] + 0.1 * g
                vs[i] = 0.999 * vs[i] + 0.001 * (g * g)
                ps[i] = ps[i] - 1e-3 / c1 * ms[i] / (np.sqrt(vs[i] / c2) + 1e-8)
        return step
    params = [torch.randn(400, 500, requires_grad=True) for _ in range(50)]
    for p in params: p.grad = torch.randn(400, 500)
    how = {"foreach": {"foreach": True}, "fused": {"fused": True}}.get(way, {})
    step = torch.optim.Adam(params, **how).step
    return torch.compile(step) if way == "compile" else step

class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 256); self.fc2 = nn.Linear(256, 10)
    def forward(self, x): return self.fc2(self.fc1(x).relu())

def training(way, loss_of, optimizer, batch):
    """The loss compiled, forward and backward, and the optimiser's step."""
    o_step = optimizer.step
    if way == "compile": loss_of, o_step = torch.compile(loss_of), torch.compile(o_step)
    def step():
        x, y = batch()
        loss = loss_of(x, y)
        optimizer.zero_grad(); loss.backward(); o_step()
    return step

def mlp(way):
    if way == "numpy": return None
    model = MLP(); sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    X = torch.rand(1024, 784); Y = torch.randint(0, 10, (1024,))
    at = [0]
    def batch():
        a = at[0]; at[0] = (a + 128) % 1024
        return X[a:a + 128], Y[a:a + 128]
    return training(way, lambda x, y: F.cross_entropy(model(x), y), sgd, batch)

def item_loop(way, trains=False):
    if way not in ["eager", "compile"]: return None
    x, w, v = torch.randn(32, 64), torch.randn(64, 32) * 0.1, torch.randn(32, 1) * 0.1
    if trains: w.requires_grad_(), v.requires_grad_()
    def loss_of(): return (((x @ w).tanh() @ v) ** 2).mean()
    if way == "compile": loss_of = torch.compile(loss_of)
    low = [0]
    def step():
        if not trains:
            with torch.no_grad(): return loss_of()
        loss = loss_of(); loss.backward()
        with torch.no_grad():
            for p in (w, v): p -= 0.01 * p.grad; p.grad = None
        return loss
    def steps():
        for _ in range(100):
            if step().item() < 0.5: low[0] += 1
    return steps
def item_train(way): return item_loop(way, True)

ctx, d, heads, layers, n_batch = 64, 128, 4, 4, 12

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(d); self.ln2 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d); self.proj = nn.Linear(d, d)
        self.up = nn.Linear(d, 4 * d); self.down = nn.Linear(4 * d, d)
    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).reshape(b, t, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) / math.sqrt(c // heads)
        att = att.masked_fill(mask, -math.inf).softmax(-1)
        x = x + self.proj((att @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln2(x))))

class CharLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(256, d); self.pos = nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.ln = nn.LayerNorm(d); self.head = nn.Linear(d, 256, bias=False)
    def forward(self, ids):
        t = ids.shape[1]
        x = self.tok(ids) + self.pos(torch.arange(t))
        mask = torch.triu(torch.ones(t, t), 1) > 0
        for blk in self.blocks: x = blk(x, mask)
        return self.head(self.ln(x))

def charlm(way):
    if way == "numpy": return None
    data = torch.randint(0, 256, (100000,))
    model = CharLM(); o = torch.optim.Adam(model.parameters(), lr=3e-4)
    def batch():
        ix = torch.randint(0, data.numel() - ctx - 1, (n_batch, 1)) + torch.arange(ctx)
        return data[ix], data[ix + 1]
    return training(way, lambda x, y: F.cross_entropy(model(x).reshape(-1, 256), y.reshape(-1)), o, batch)


# ---- matrix products ----

def matmul(way, how, n):
    if way == "compile": return None
    a, b = (normal(n, n) for _ in range(2))
    if way == "eager": a, b = torch.from_numpy(a), torch.from_numpy(b)
    return {"nn": lambda: a @ b, "nt": lambda: a @ b.T, "tn": lambda: a.T @ b}[how]


# ---- the clock ----

def make(way, name):
    if name.startswith("matmul"):
        _, how, n = name.split("_")
        return matmul(way, how, int(n)) if way in ["eager", "numpy"] else None
    if way in ["foreach", "fused"] and name != "adam": return None
    return {f.__name__: f for f in [
        add_chain, add_live, gelu, softmax, softmax_both, layer_norm, layer_norm_both, cross_entropy,
        cross_entropy_both, select, nonzero, einsum3, adam, mlp, item_loop, item_train, charlm]}[name](way)

def timed(step, n):
    begin = time.perf_counter()
    for _ in range(n): step()
    return (time.perf_counter() - begin) / n

if sys.argv[2:3] == ["first"]:
    step = make(*sys.argv[3:5])
    print(f"{3 * timed(step, 3):.3f}")
    sys.exit()

steps = {}                                            # of the current workload, by way
current = None
if __name__ == "__main__":
    print(torch.__version__, np.__version__, torch.backends.cpu.get_cpu_capability(), flush=True)
    for line in sys.stdin:
        if len(line.split()) != 3: break
        way, name, seconds = line.split()
        if name != current: steps.clear(); current = name
        if way not in steps:
            steps[way] = make(way, name)
            end = time.perf_counter() + 0.5
            try:
                while steps[way] and time.perf_counter() < end: timed(steps[way], 1)
            except Exception as why:                  # PyTorch 2.15 compiles nothing with the class `default`
                if way != "compile": raise
                print(f"{name}: PyTorch cannot compile it: {str(why).splitlines()[0]}", file=sys.stderr)
                steps[way] = None
        step = steps[way]
        if step is None: print("-", flush=True); continue
        n = max(1, int(float(seconds) / max(timed(step, 1), 1e-6)))
        print(f"{timed(step, n) / (1000 if name.startswith('add_') else 1):.9f}", flush=True)
