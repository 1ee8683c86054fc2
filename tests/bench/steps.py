"""PyTorch twins of mlp_step.gt and charlm_step.gt: median milliseconds of one training step.
usage: steps.py mlp|charlm THREADS"""
import math, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(int(sys.argv[2]))
torch.manual_seed(0)


def median_ms(step, rounds, per_round, warm):
    for i in range(warm): step(i)
    times = []
    for _ in range(rounds):
        t = time.perf_counter()
        for i in range(per_round): step(i)
        times.append((time.perf_counter() - t) / per_round * 1000)
    return sorted(times)[rounds // 2]


def mlp():
    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(784, 256); self.fc2 = nn.Linear(256, 10)
        def forward(self, x): return self.fc2(self.fc1(x).relu())
    model = MLP(); sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    X = torch.rand(1024, 784); Y = torch.randint(0, 10, (1024,))
    def step(i):
        a = i % 8 * 128
        loss = F.cross_entropy(model(X[a:a+128]), Y[a:a+128])
        sgd.zero_grad(); loss.backward(); sgd.step()
    return median_ms(step, 15, 20, 40)


def charlm():
    ctx, d, heads, layers, batch = 64, 128, 4, 4, 12
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
    data = torch.randint(0, 256, (100000,))
    model = CharLM(); adam = torch.optim.Adam(model.parameters(), lr=3e-4)
    def step(i):
        ix = torch.randint(0, data.numel() - ctx - 1, (batch, 1)) + torch.arange(ctx)
        x, y = data[ix], data[ix + 1]
        loss = F.cross_entropy(model(x).reshape(-1, 256), y.reshape(-1))
        adam.zero_grad(); loss.backward(); adam.step()
    return median_ms(step, 9, 5, 10)


print(f"{ {'mlp': mlp, 'charlm': charlm}[sys.argv[1]]():.4f} {torch.__version__}")
