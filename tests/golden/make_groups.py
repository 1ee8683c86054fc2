"""Writes tests/nn/optim_groups.gt: every optimiser with two groups that differ in all their settings, set by the group and set
again between the steps, with parameters from PyTorch. Needs torch; run by hand when lang/prelude/optim grows:
python tests/golden/make_groups.py. Never needed by make test."""
import os
import torch

torch.set_default_dtype(torch.float64)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nn")
# name, settings of the optimiser, of the second group, and what is set after the second step for the first group
CASES = [
    ("SGD", {"lr": 0.1}, {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}, {"weight_decay": 0.2}),
    ("SGD", {"lr": 0.1, "momentum": 0.5}, {"lr": 0.2, "nesterov": True, "maximize": True}, {"momentum": 0.8}),
    ("Adam", {"lr": 0.1}, {"betas": [0.5, 0.9], "eps": 0.1, "weight_decay": 0.1, "amsgrad": True}, {"betas": [0.7, 0.8]}),
    ("AdamW", {"lr": 0.1}, {"amsgrad": True, "weight_decay": 0.3, "maximize": True}, {"eps": 0.2}),
    ("RMSprop", {"lr": 0.1}, {"alpha": 0.5, "eps": 0.1, "momentum": 0.5, "centered": True}, {"alpha": 0.8}),
    ("Adagrad", {"lr": 0.1}, {"lr_decay": 0.1, "eps": 0.1, "weight_decay": 0.1}, {"lr_decay": 0.2}),
    ("Adadelta", {"lr": 0.5}, {"rho": 0.5, "eps": 0.01, "weight_decay": 0.1}, {"rho": 0.7}),
    ("Adamax", {"lr": 0.1}, {"betas": [0.5, 0.9], "eps": 0.1, "weight_decay": 0.1}, {"eps": 0.2}),
    ("NAdam", {"lr": 0.1}, {"betas": [0.5, 0.9], "momentum_decay": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
     {"weight_decay": 0.2}),
    ("RAdam", {"lr": 0.1}, {"betas": [0.5, 0.9], "weight_decay": 0.1, "decoupled_weight_decay": True}, {"betas": [0.6, 0.7]}),
    ("Rprop", {"lr": 0.1}, {"etas": [0.3, 1.5], "step_sizes": [0.05, 0.15]}, {"etas": [0.4, 1.3]}),
]


def ours(settings):
    return ", ".join(f"{k}: {str(v).lower()}" for k, v in settings.items())


lines = ["# Every setting is one of its group, as in PyTorch: numbers of two groups that differ, changed between the steps (D11).",
         "# Made by tests/golden/make_groups.py from PyTorch.",
         "fn run(make, later) {",
         "    a = param(tensor([1.0, -2.0, 0.5], dtype=float64))",
         "    b = param(tensor([-1.0, 0.3, 2.0], dtype=float64))",
         "    opt = make(a, b)",
         "    for i in range(4) {",
         "        opt.zero_grad()",
         "        backward (a ** 4 + a * b).sum() + (b ** 2).sum()",
         "        opt.step()",
         "        if i == 1 { for k, v in later.items() { opt.param_groups[0][k] = v } }",
         "    }",
         "    print(cat([a, b]).tolist())",
         "}"]
for name, settings, group, later in CASES:
    a = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    b = torch.tensor([-1.0, 0.3, 2.0], requires_grad=True)
    opt = getattr(torch.optim, name)([{"params": [a]}, {"params": [b], **group}], **settings)
    for i in range(4):
        opt.zero_grad()
        ((a ** 4 + a * b).sum() + (b ** 2).sum()).backward()
        opt.step()
        if i == 1:
            for k, v in later.items():
                opt.param_groups[0][k] = v
    values = [round(x, 12) for x in torch.cat([a, b]).tolist()]
    args = ", ".join(f"{k}={str(v).lower()}" for k, v in settings.items())
    lines.append(f"run(fn(a, b) => optim.{name}([{{params: [a]}}, {{params: [b], {ours(group)}}}], {args}), {{{ours(later)}}})"
                 f"  # expect~ 1e-9: {values}")
with open(os.path.join(here, "optim_groups.gt"), "w") as f:
    f.write("\n".join(lines) + "\n")
