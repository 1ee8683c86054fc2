# What a user of PyTorch and NumPy types in the first hour: it works, or one line says what to write instead.
. tests/fixtures/check.sh
cat >"$TMP/before.gt" <<'GT'
x = randn(4, 3); y = randn(4, 3); ids = tensor([0, 1, 2, 0]); w = param(randn(3)); X = x; Y = ids
module M() { self.fc = nn.Linear(3, 2); fn forward(x) => self.fc(x) }
model = M(); opt = optim.SGD(model.parameters(), lr=0.1); loss = model(x).sum()
GT
# works CODE
works() {
    { cat "$TMP/before.gt"; printf '%s\n' "$1"; } >"$TMP/h.gt"
    code "$1" 0 "$GTSH" "$TMP/h.gt"
}
# hint CODE PART: fails, and the message has PART
hint() {
    { cat "$TMP/before.gt"; printf '%s\n' "$1"; } >"$TMP/h.gt"
    "$GTSH" "$TMP/h.gt" >"$TMP/out" 2>"$TMP/err"
    case $? in 1 | 65) ;; *) fail "$1: no error" ;; esac
    has "$1" "$(err)" "$2"
}
# ---- imports
hint 'import torch' 'not needed: its functions are built in'
hint 'import numpy as np' 'not needed: its functions are built in'
hint 'import torch.nn as nn' 'drop this line: nn.Linear'
hint 'import torch.nn.functional as F' 'F.relu'
hint 'from torch import nn' 'drop this line, and write nn'
hint 'from torch.optim import Adam, SGD' 'drop this line, and write optim.Adam, optim.SGD'
hint 'from torch.utils.data import DataLoader' 'for idx in randperm(len(X)).split(64) { x = X[idx]; y = Y[idx]; … }'
hint 'import os' 'getenv("X")'
hint 'import sys' 'args, exit(n)'
hint 'import math' 'sqrt(2)'
hint 'import random' 'shuffle(xs)'
hint 'import time' 'time "label" { … }'
hint 'import json' 'load("x.json")'
hint 'import matplotlib.pyplot as plt' 'not needed: plot(y)'
hint 'import torchinfo' 'summary(model, x)'
hint 'from tqdm import tqdm' 'for x in progress(xs) { … }'
works 'import gt'
works 'import gt as torch
print(torch.randn(2, 2).shape, torch.nn.Linear(2, 3))'
# ---- torch. and np.
hint 'a = torch.tensor([1.0, 2.0])' 'hint: tensor([1.0, 2.0])'
hint 'a = torch.zeros(3, device="cuda")' 'hint: zeros(3)'
hint 'a = torch.nn.functional.relu(x)' 'hint: relu(x)'
hint 'a = torch.nn.Linear(2, 3)' 'hint: nn.Linear(2, 3)'
hint 'o = torch.optim.Adam(model.parameters(), lr=1e-3)' 'hint: optim.Adam(model.parameters(), lr=1e-3)'
hint 'a = torch.cat([x, y], dim=0)' 'hint: cat([x, y], dim=0)'
hint 'a = x.to(torch.float32)' 'hint: float32'
hint 'torch.manual_seed(0)' 'hint: seed(0)'
hint 'torch.no_grad()' 'no_grad { … }'
hint 'torch.save(model.state_dict(), "m.pt")' 'save(model, "model.safetensors")'
hint 'model.load_state_dict(torch.load("m.pt"))' 'load("model.safetensors")'
hint 'device = torch.device("cuda")' 'programs name no devices'
hint 'print(torch.cuda.is_available())' 'programs name no devices'
hint 'torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)' 'clip_grad_norm(model.parameters(), 1.0)'
hint 's = torch.optim.lr_scheduler.StepLR(opt, 10)' 'optim.lr_scheduler.StepLR(opt, 10)'
hint 'a = torch.Tensor([1, 2])' 'hint: tensor([1, 2], dtype=float32)'
hint 'torch.autograd.set_detect_anomaly(True)' 'debug.check_nan()'
hint 'm = torch.compile(model)' 'drop it'
hint 'a = np.array([1.0, 2.0])' 'hint: tensor([1.0, 2.0])'
hint 'a = np.random.randn(3)' 'hint: randn(3)'
hint 'a = np.concatenate([x, y])' 'hint: cat([x, y])'
hint 'a = numpy.mean(x)' 'hint: mean(x)'
hint 'a = np.load("x.npy")' 'hint: load("x.npy")'
hint 'np.random.seed(1)' 'hint: seed(1)'
hint 'a = math.sqrt(2)' 'hint: sqrt(2)'
hint 'a = random.random()' 'hint: random()'
hint 'random.seed(1)' 'hint: seed(1)'
hint 'a = time.time()' 'hint: time()'
hint 'a = os.path.join("a", "b")' 'hint: "a" + "/" + "b"'
hint 'os.environ["GT_CONFIG"] = "c.yaml"' 'signal.load("c.yaml")'
hint 'a = sys.argv' 'lr = arg("lr", 0.1)'
hint 'a = json.load(open("a.json"))' 'load("x.json")'
hint 'parser = argparse.ArgumentParser()' 'arg("lr", 0.1'
hint 'plt.plot([1, 2])' 'plot(x, y, "a.png")'
hint 'plt.imshow(ones(2, 2))' 'image(x)'
hint 'imshow(ones(2, 2))' 'image(x)'
hint 'plt.scatter([1], [2])' 'plot(x, y, kind="scatter")'
hint 'a = Linear(2, 3)' "did you mean 'nn.Linear'?"
hint 'a = Adam(model.parameters())' "did you mean 'optim.Adam'?"
hint 'a = open("a.txt").read()' 'read(path)'
hint 'loader = DataLoader(ds, batch_size=64, shuffle=True)' 'randperm(len(X)).split(64)'
hint 'for i in tqdm(range(3)) { }' 'progress(xs, "train")'
hint 'super().__init__()' 'modules have no base'
# ---- the language
hint 'with torch.no_grad():' 'no_grad { … }'
hint '@torch.no_grad()' 'no_grad { … } inside the function'
hint 'def forward(self, x):' 'fn forward(x) { … }'
hint 'def train(model, steps=10):' 'fn train(model, steps=10) { … }'
hint 'class Net(nn.Module):' 'module Net(params) { self.x = …; fn forward(x) { … } }'
hint 'f = lambda v: v + 1' 'fn(v) => …'
hint 'for i in range(3):' 'blocks stand in braces'
hint 'if __name__ == "__main__":' 'if main { … }'
hint 'try:' 'ok, r = attempt(f, x)'
hint 'raise ValueError("x")' 'error("x")'
hint 'a: int = 3' 'names have no types'
hint 'print "loss"' 'print("loss")'
hint 'print("loss %.4f" % 1.5)' '{x:.3f}"'
hint 'i++' 'i += 1'
hint 'a = x[::-1]' 'flip(x, axis)'
hint 'global counter' 'shared state'
works 'a = [i * 2 for i in range(3)]; b = {f"{k}": k for k in a}; c = None; d = not True'
works 'for i, (a, b) in enumerate([(1, 2), (3, 4)]) { print(i, a, b) }'
works 'print(f"loss {loss.item():.4f} {x.shape[0]:>5}", len(x), sep=" ", end="\n")'
works 'assert isinstance(3, int); print(type(x), type(model))'
works 'del x; i = 0; i += 1; a = b = 3; a, b = b, a'
# ---- tensors
works 'z = x.numpy(); z = x.detach().cpu().numpy(); z = x.clone().detach(); z = x.contiguous(); z = x.data'
works 'a = x.shape[0]; b = x.size(0); c = x.size(); d = x.dim(); e = x.numel(); f = x.ndim'
works 'a = arange(3).float(); b = x.long(); c = x.double(); d = x.int(); e = x.bool(); f = x.type_as(y)'
works 'a = x.view(-1, 3); b = x.reshape(3, 4); c = x.permute(1, 0); d = x.t(); e = x.unsqueeze(0).squeeze(0).expand(2, 4, 3)'
works 'a = x.sum(dim=1, keepdim=True); b = x.mean(0); c = x.std(dim=0); d = x.norm(); e = x.argmax(dim=1)'
works 'a = x.mm(y.T); b = x @ y.T; c = x.pow(2).sum().sqrt(); d = cat((x, y), dim=0); e = stack([x, y], dim=1)'
works 'x[0, 0] = 5; x[x > 0] = 0; a = x[:, None]; b = x[..., 0]; c = x[::2]; d = x.masked_fill(x > 0, float("-inf"))'
works 'a = F.relu(x); b = F.softmax(x, dim=-1); c = nn.functional.relu(x); d = F.cross_entropy(randn(4, 3), ids)'
hint 'z = x.cuda()' 'drop the .cuda()'
hint 'z = x.to("cuda")' 'drop the .to("cuda")'
hint 'z = x.to(device)' 'programs name no devices'
hint 'print(x.device)' 'programs name no devices'
hint 'x.add_(1)' 'x = x + y'
hint 'x.requires_grad_()' 'x = param(x)'
hint 'a = x.item()' 'x.mean().item()'
hint 'a = x.astype("float32")' 'x.to("float32")'
hint 'a = x > 0 and y > 0' '(x > 0) & (y > 0)'
# ---- models and training
works 'opt.zero_grad(); loss.backward(); opt.step(); model.zero_grad()'
works 'model.train(); model.eval(); print(model); list(model.parameters()); s = model.state_dict(); model.load_state_dict(s)'
works 'criterion = nn.CrossEntropyLoss(); l = criterion(randn(4, 3), ids); l = nn.MSELoss()(x, y)'
works 'net = nn.Sequential(nn.Linear(3, 2), nn.ReLU()); net(x)'
works 'no_grad { w -= 0.1 * x[0] }; w.data -= 0.1 * x[0]; w.grad = None'
hint 'model.cuda()' 'programs name no devices'
hint 'model.to("cuda")' 'drop the .to("cuda")'
hint 'w.grad.zero_()' 'w.grad = none clears it'
hint 'x.backward()' 'x = param(x)'
hint 'x.grad' 'param(...)'
hint 'print(loss.grad_fn)' 'debug.print_tape()'
hint 'x.retain_grad()' 'grad(y, x)'
hint 'save(model, "m.pt")' '.safetensors'
hint 'self.register_buffer("m", zeros(3))' 'methods see self'
finish
