#!/usr/bin/env python3
"""gpt.py: a small GPT here and in PyTorch, from the same safetensors checkpoint on the same batches: 100 losses must agree to
1e-3, and what gtsh saves afterwards must give PyTorch the same next loss. Run by `make test-torch`; needs PyTorch only.

    gpt.py GTSH TEXT            compares
    gpt.py --golden             prints every tenth loss for weights and text made by formula, for gpt.gt
SPDX-License-Identifier: MIT
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

D, HEADS, BLOCK, BATCH, STEPS = 32, 4, 32, 4, 100


def write_safetensors(path, tensors):
    head, at, blobs = {}, 0, []
    for name, t in tensors.items():
        raw = t.detach().contiguous().numpy().tobytes()
        head[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        blobs.append(raw)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, v in json.loads(raw[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = v["data_offsets"]
        assert v["dtype"] == "F32", v
        t = torch.frombuffer(bytearray(raw[8 + n + begin:8 + n + end]), dtype=torch.float32)
        out[name] = t.reshape(v["shape"])
    return out


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (h.view(b, t, HEADS, c // HEADS).transpose(1, 2) for h in self.c_attn(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(D), Attention(), nn.LayerNorm(D)
        self.fc, self.proj = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.proj(F.gelu(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(256, D), nn.Embedding(BLOCK, D)
        self.h = nn.ModuleList([Block() for _ in range(2)])
        self.ln_f, self.lm_head = nn.LayerNorm(D), nn.Linear(D, 256, bias=False)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for b in self.h:
            x = b(x)
        return self.lm_head(self.ln_f(x))


def batch(raw, step):
    ix = ((torch.arange(BATCH) * 1009 + step * 523) % (len(raw) - BLOCK - 1)).unsqueeze(1) + torch.arange(BLOCK)
    return raw[ix], raw[ix + 1]


def loss_of(model, raw, step):
    x, y = batch(raw, step)
    return F.cross_entropy(model(x).reshape(-1, 256), y.reshape(-1))


def train(model, raw):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    losses = []
    for step in range(STEPS):
        loss = loss_of(model, raw, step)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses


def text(path):
    with open(path, "rb") as f:
        return torch.tensor(list(f.read()[:20000]))


def golden():
    model = GPT()
    with torch.no_grad():
        for k, (name, p) in enumerate(model.named_parameters()):
            w = 0.08 * torch.sin(torch.arange(p.numel(), dtype=torch.float64) * 0.37 * (1 + k % 5) + k)
            p.copy_((w + (1 if "ln_" in name and name.endswith("weight") else 0)).reshape(p.shape).float())
    print(f"# PyTorch {torch.__version__}:", " ".join(f"{v:.6f}" for v in train(model, torch.arange(5000) ** 2 // 7 % 97)[::10]))


def compare(gtsh, path):
    torch.manual_seed(0)
    model, raw = GPT(), text(path)
    with tempfile.TemporaryDirectory() as tmp:
        init, out = os.path.join(tmp, "init.safetensors"), os.path.join(tmp, "out.safetensors")
        write_safetensors(init, model.state_dict())
        run = subprocess.run([gtsh, "tests/torch/gpt.gt", f"--text={path}", f"--init={init}", f"--out={out}"],
                             capture_output=True, text=True, timeout=300)
        if run.returncode:
            sys.exit(run.stdout + run.stderr)
        ours, theirs = [float(v) for v in run.stdout.split()], train(model, raw)
        worst = max(abs(a - b) for a, b in zip(ours, theirs))
        back = GPT()
        back.load_state_dict(read_safetensors(out))
        a, b = loss_of(back, raw, STEPS).item(), loss_of(model, raw, STEPS).item()
    print(f"PyTorch {torch.__version__}: {len(ours)} losses, {theirs[0]:.4f} to {theirs[-1]:.4f}, largest difference {worst:.1e}; "
          f"next loss from the checkpoint gtsh saved: {a:.5f}, PyTorch's own {b:.5f}")
    ok = len(ours) == STEPS and worst < 1e-3 and abs(a - b) < 1e-3 and all(math.isfinite(v) for v in ours)
    print("gpt: 1 passed, 0 failed" if ok else "gpt: 0 passed, 1 failed")
    sys.exit(0 if ok else 1)


if sys.argv[1] == "--golden":
    golden()
else:
    compare(sys.argv[1], sys.argv[2])
