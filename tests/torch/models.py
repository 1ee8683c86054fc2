#!/usr/bin/env python3
"""models.py: ResNet-18 (torchvision's names, CIFAR variant) and Transformer encoder classifiers with a padding mask, here and in
PyTorch, from the same safetensors weights on the same inputs: the outputs in eval and in train mode, every gradient, and all
weights and running statistics after a step of SGD must agree. Run by `make test-torch`; needs PyTorch only.

    models.py GTSH
SPDX-License-Identifier: MIT
"""
import math
import subprocess
import sys
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

from interchange import read, write


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        before = 64
        for k, planes in enumerate([64, 128, 256, 512]):
            down = None
            if before != planes:
                down = nn.Sequential(nn.Conv2d(before, planes, 1, 2, bias=False), nn.BatchNorm2d(planes))
            layer = nn.Sequential(BasicBlock(before, planes, 2 if down else 1, down), BasicBlock(planes, planes))
            setattr(self, f"layer{k + 1}", layer)
            before = planes
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Classifier(nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        self.emb = nn.Embedding(30, 32, padding_idx=0)
        pe, at = torch.zeros(64, 32), torch.arange(64).unsqueeze(1)
        scale = torch.exp(torch.arange(0, 32, 2) * (-math.log(10000.0) / 32))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(at * scale), torch.cos(at * scale)
        self.register_buffer("pe", pe)
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, "gelu", batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(32), enable_nested_tensor=False)
        self.fc = nn.Linear(32, 3)

    def forward(self, ids):
        mask = ids == 0
        x = self.encoder(self.emb(ids) * math.sqrt(32) + self.pe[:ids.shape[1]], src_key_padding_mask=mask)
        keep = (~mask).unsqueeze(-1).float()
        return self.fc((x * keep).sum(1) / keep.sum(1).clamp(min=1))


def perturb(model):
    """So that no weight, bias or statistic is at a value where a mistake would not show."""
    with torch.no_grad():
        for name, t in model.state_dict().items():
            if name.endswith("running_var"):
                t.uniform_(0.5, 2)
            elif t.dtype == torch.float32 and t.dim() == 1:
                t.add_(torch.randn_like(t) * 0.1)


def gap(a, b):
    """The largest difference as a share of the largest value."""
    return ((a.double() - b.double()).abs().max() / (1e-3 + b.double().abs().max())).item() if a.shape == b.shape else math.inf


def compare(name, model, ours, after):
    data = read(f"{ours}/{name}_data.safetensors")
    got, want = read(f"{ours}/{name}_out.safetensors"), {}
    with torch.no_grad():
        want["eval"] = model.eval()(data["x"])
    y = model.train()(data["x"])
    want["train"] = y.detach()
    F.cross_entropy(y, data["y"]).backward()
    want.update({"grad." + k: p.grad for k, p in model.named_parameters()})
    torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4).step()
    bad = [f"{name}: {k} is not in both" for k in want.keys() ^ got.keys()]
    bad += [f"{name}: state {k} is not in both" for k in model.state_dict().keys() ^ after.keys()]
    gaps = {k: gap(got[k], v) for k, v in want.items() if k in got}
    gaps.update({"state " + k: gap(after[k], v) for k, v in model.state_dict().items() if k in after})
    bad += [f"{name}: {k} differs by {v:.1e}" for k, v in gaps.items() if not v < 2e-3]
    worst = max(gaps, key=gaps.get)
    print(f"{name}: {sum(p.numel() for p in model.parameters())} parameters, {len(want)} outputs and gradients, "
          f"{len(after)} of its state; largest relative difference {gaps[worst]:.1e} ({worst})")
    return bad


def main(gtsh):
    torch.manual_seed(0)
    models = {"resnet": ResNet(), "post": Classifier(False), "pre": Classifier(True)}
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        for name, m in models.items():
            perturb(m)
            write(f"{tmp}/{name}.safetensors", m.state_dict())
            ids = torch.randint(1, 30, (6, 10))
            ids[2, 6:], ids[5, 3:] = 0, 0
            x, classes = (torch.randn(4, 3, 32, 32), 10) if name == "resnet" else (ids, 3)
            write(f"{tmp}/{name}_data.safetensors", {"x": x, "y": torch.randint(0, classes, (len(x),))})
        run = subprocess.run([gtsh, "tests/torch/models.gt", f"--dir={tmp}"], capture_output=True, text=True, timeout=300)
        if run.returncode:
            sys.exit(run.stdout + run.stderr)
        for name, m in models.items():
            bad += compare(name, m, tmp, read(f"{tmp}/{name}_after.safetensors"))
    print("\n".join(bad + [f"models: {len(models) if not bad else 0} passed, {1 if bad else 0} failed"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
