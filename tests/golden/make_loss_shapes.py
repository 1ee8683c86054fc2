#!/usr/bin/env python3
"""make_loss_shapes.py: writes tests/golden/loss_shapes.gt: which shapes PyTorch's losses take, and where they warn.

Run by hand where PyTorch is installed (python tests/golden/make_loss_shapes.py > tests/golden/loss_shapes.gt); its output is
committed, so that no test needs it. A letter per row of shapes: `.` taken, `w` with a warning, `E` refused.
SPDX-License-Identifier: MIT
"""
import itertools
import warnings
import torch
import torch.nn.functional as F

PAIRS = list(itertools.product([(), (1,), (3,), (2,), (1, 3), (3, 1), (3, 3), (2, 3)], repeat=2))
TWO = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
       "kl_div", "poisson_nll_loss", "hinge_embedding_loss", "soft_margin_loss", "multilabel_soft_margin_loss"]
THREE = {
    "margin_ranking_loss": "3 3 ; 3 3 1 ; 3,1 3 3 ; 3 1 3 ; 3,1 1,3 1,1 ; 3,1 1,3 3 ; 3,3 3,3 3 ; ; | | 3 ; 1 3 3 ; 2,3 2,3 2,3",
    "cosine_embedding_loss": "2,3 2,3 2 ; 2,3 2,3 1 ; 2,3 2,3 | ; 2,3 1,3 2 ; 2,3 2,1 2 ; 3 3 | ; 3 3 1 ; 3 2,3 2 ; 2,3 3 2 ; 2,3,4 2,3,4 2 ; "
                             "2,3 2,3 2,1 ; 2,3,4 2,3,4 2,3 ; | | |",
    "triplet_margin_loss": "2,3 2,3 2,3 ; 2,3 1,3 2,3 ; 2,3 3 2,3 ; 2,3 2,3 3 ; 3 3 3 ; 2,3 2,1 2,3",
    "triplet_margin_with_distance_loss": "2,3 2,3 2,3 ; 2,3 1,3 2,3 ; 2,3 3 2,3 ; 2,3 2,3 3 ; 3 3 3",
    "gaussian_nll_loss": "2,3 2,3 2,3 ; 2,3 2,3 2,1 ; 2,3 2,3 2 ; 2,3 2,3 3 ; 2,3 2,3 | ; 2,3 2,3 1 ; 2,3 3 2,3 ; 2,3 1,3 2,3 ; 3 2,3 3 ; "
                         "3 3 1 ; 3 3 | ; 2,3 2,1 2,3 ; 2,3 2,3 1,3 ; | | | ; | | 3",
}
CLASSES = {"multi_margin_loss": "2,3 2 ; 2,3 1 ; 2,3 | ; 2,3 2,1 ; 3 | ; 3 1 ; 3 2 ; 2,3,4 2 ; 2,3 3 ; 1,3 1 ; 1,3 | ; 2,3,4 2,4",
           "nll_loss": "2,3 2 ; 2,3 1 ; 2,3 | ; 2,3 2,1 ; 3 | ; 3 2 ; 2,3,4 2 ; 2,3,4 2,4 ; 2,3 3 ; 1,3 1 ; 1,3 |",
           "multilabel_margin_loss": "2,3 2,3 ; 2,3 3 ; 3 3 ; 2,3 2,1 ; 2,2,3 2,2,3 ; 3 1,3 ; 1,3 3"}
WEIGHTS = [(2, 3), (3,), (2, 1), (2,), (1,), (4, 2, 3), (2, 1, 1), (1, 3), ()]
half, zero = torch.full((2, 3), 0.5), torch.zeros(2, dtype=torch.long)
WEIGHTED = {"binary_cross_entropy(x, x, weight=w)": lambda w: F.binary_cross_entropy(half, half, weight=w),
            "binary_cross_entropy_with_logits(x, x, weight=w)": lambda w: F.binary_cross_entropy_with_logits(half, half, weight=w),
            "binary_cross_entropy_with_logits(x, x, pos_weight=w)": lambda w: F.binary_cross_entropy_with_logits(half, half, pos_weight=w),
            "multilabel_soft_margin_loss(x, x, weight=w)": lambda w: F.multilabel_soft_margin_loss(half, half, weight=w),
            "multi_margin_loss(x, y, weight=w)": lambda w: F.multi_margin_loss(half, zero, weight=w),
            "nll_loss(x, y, weight=w)": lambda w: F.nll_loss(half, zero, weight=w),
            "cross_entropy(x, y, weight=w)": lambda w: F.cross_entropy(half, zero, weight=w)}


def letter(f):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            f()
        except Exception:
            return "E"
        return "w" if any("target size" in str(w.message) for w in said) else "."


def shape(text):
    return tuple(int(n) for n in text.split(",")) if text != "|" else ()


def rows(text):
    return [[shape(s) for s in row.split()] for row in text.split(";") if row.split()]


def listed(ss):
    return "[" + ", ".join("[" + ", ".join(str(list(s)) for s in row) + "]" for row in ss) + "]"


def line(name, call, table, found):
    # A warning here is text on stderr, once a line; the function is taken.
    print(f'show("{name}", {table}, {call})')
    print(f"# expect: {name} {found.replace('w', '.')}")


print("""# Made by make_loss_shapes.py: which shapes PyTorch's losses take: `.` taken, `E` refused.
# stderr: so both are broadcast
pairs = """ + listed(PAIRS) + """
weights = """ + listed([[w] for w in WEIGHTS]) + """
x, y = full([2, 3], 0.5), zeros(2, dtype=int64)
fn show(name, table, f) {
    print(name, "".join(["." if attempt(fn() => f(row))[0] else "E" for row in table]))
}
fn half(s) => full(s, 0.5)
fn whole(s) => zeros(s, dtype=int64)""")
for name in TWO:
    f = getattr(F, name)
    line(name, f"fn(r) => F.{name}(half(r[0]), half(r[1]))", "pairs",
         "".join(letter(lambda: f(torch.full(a, 0.5), torch.full(b, 0.5))) for a, b in PAIRS))
for name, text in THREE.items():
    f, table = getattr(F, name), rows(text)
    table = [row + [()] * (3 - len(row)) for row in table]
    line(name, f"fn(r) => F.{name}(half(r[0]), half(r[1]), ones(r[2]))", listed(table),
         "".join(letter(lambda: f(torch.full(a, 0.5), torch.full(b, 0.5), torch.ones(c))) for a, b, c in table))
for name, text in CLASSES.items():
    f, table = getattr(F, name), rows(text)
    line(name, f"fn(r) => F.{name}(half(r[0]), whole(r[1]))", listed(table),
         "".join(letter(lambda: f(torch.full(a, 0.5), torch.zeros(b, dtype=torch.long))) for a, b in table))
for text, f in WEIGHTED.items():
    line(text, f"fn(r) => F.{text.replace('w)', 'ones(r[0]))')}", "weights", "".join(letter(lambda: f(torch.ones(w))) for w in WEIGHTS))
