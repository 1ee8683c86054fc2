"""Writes tests/nn/optim_late.gt: every optimiser with a parameter that has its first gradient in the third step, and none in the
fifth, with parameters from PyTorch, which counts the steps of each parameter. Needs torch; run by hand when lang/prelude/optim grows:
python tests/golden/make_late.py. Never needed by make test."""
import os
import torch

torch.set_default_dtype(torch.float64)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nn")
CASES = [
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.2}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "betas": [0.5, 0.9], "amsgrad": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("Adadelta", {"lr": 0.5}),
    ("Adamax", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "momentum_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": [0.5, 0.9]}),
    ("Rprop", {"lr": 0.1}),
]
lines = ["# Each parameter has steps of its own: those in which it has a gradient, as in PyTorch. A state that is loaded keeps them.",
         "# Made by tests/golden/make_late.py from PyTorch.",
         "fn run(make, again) {",
         "    a = param(tensor([1.0, -2.0, 0.5], dtype=float64))",
         "    b = param(tensor([-1.0, 0.3, 2.0], dtype=float64))",
         "    opt = make([a, b])",
         "    for i in range(7) {",
         "        opt.zero_grad()",
         "        if i in [2, 3, 5, 6] { backward (a ** 4 + a * b).sum() + (b ** 2).sum() }",
         "        else { backward (a ** 4).sum() }",
         "        opt.step()",
         "        if again { s = opt.state_dict(); opt = make([a, b]); opt.load_state_dict(s) }",
         "    }",
         "    return cat([a, b])",
         "}",
         "fn show(make) {",
         "    x = run(make, false)",
         "    assert equal(x, run(make, true))",
         "    print(x.tolist())",
         "}"]
for name, settings in CASES:
    a = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    b = torch.tensor([-1.0, 0.3, 2.0], requires_grad=True)
    opt = getattr(torch.optim, name)([a, b], **settings)
    for i in range(7):
        opt.zero_grad()
        loss = ((a ** 4 + a * b).sum() + (b ** 2).sum()) if i in (2, 3, 5, 6) else (a ** 4).sum()
        loss.backward()
        opt.step()
    values = [round(x, 12) for x in torch.cat([a, b]).tolist()]
    args = ", ".join(f"{k}={str(v).lower()}" for k, v in settings.items())
    lines.append(f"show(fn(ps) => optim.{name}(ps, {args}))  # expect~ 1e-9: {values}")
with open(os.path.join(here, "optim_late.gt"), "w") as f:
    f.write("\n".join(lines) + "\n")
