#!/usr/bin/env python3
"""make_print.py: writes print.gt and print.out, tensors as PyTorch prints them: dtypes, shapes, magnitudes, nan and inf,
summarised or not, options of set_print, leaves that require gradients.

Run by hand where PyTorch is installed; its output is committed. The documented differences are applied to PyTorch's text: true
and false, a shape= when summarised or empty (PyTorch: size=, for empty tensors only).
SPDX-License-Identifier: MIT
"""
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int32", "int8", "uint8"]
NS = {"nan": float("nan"), "inf": float("inf"), "true": True, "false": False, "tensor": torch.tensor, "zeros": torch.zeros, "ones": torch.ones,
      "full": torch.full, "arange": torch.arange, "eye": torch.eye, "cat": torch.cat, **{d: getattr(torch, d) for d in FLOATS + INTS + ["bool"]}}
DEFAULTS = {"precision": 4, "edgeitems": 3, "threshold": 1000, "linewidth": 80, "sci_mode": None}

# Lists of values; each is printed in every float dtype. What a dtype cannot hold becomes inf or 0.
VALUES = [
    "0.0", "-0.0", "1.0", "-1.5", "0.1", "1e-5", "123456.789", "1e8", "1.5e8", "nan", "inf", "-inf", "65504.0", "1e-40",
    "[0.0]", "[-0.0, 0.0]", "[1.0, 2.0, 3.0]", "[-1.0, 10.0, 100.0]", "[0.5, -0.25]", "[0.1, 0.2, 0.3]", "[1e-4, 2e-4]", "[0.00011, 0.09]",
    "[9e-5, 1.0]", "[1.0, 1000.0]", "[1.0, 1001.0]", "[0.5, 500.0]", "[0.5, 501.0]", "[1e8, 1e6]", "[100000001.0, 1e6]", "[1e-3, 1e-7]", "[1e10, -1e10]",
    "[nan]", "[inf]", "[-inf, inf]", "[nan, nan, 0.0]", "[nan, 1.0]", "[nan, 0.5, 10.25]", "[inf, 1.0]", "[-inf, 0.5]", "[nan, inf, -inf, 1e-6]", "[inf, 1e9, 0.0]",
    "[nan, 12345.0]", "[-inf, 12345.5]", "[0.99995, 1.0]", "[9.99995, 0.5]", "[99.99999, -0.00004]", "[-0.00001, 0.5]", "[1e-30, 1e30]", "[16777216.0, 1.0]",
    "[[1.5, -2.0], [0.25, 8.0]]", "[[1.0], [2.0], [30.0]]", "[[[1.0, 2.5]], [[-3.0, 4.0]]]", "[[nan, 1.0], [inf, -0.0]]", "[[0.0, 0.0], [0.0, 0.0]]",
]
INT_VALUES = ["0", "-1", "127", "[0]", "[1, -2, 3]", "[100, 7, -128]", "[[1, 20], [3, 4]]", "[[[1], [2]], [[3], [127]]]", "[[0, 0], [0, 0]]"]

# Expressions, exact in both languages. Sizes on both sides of the threshold, lines that fill 80 columns exactly or not.
SHAPES = [
    f"({begin}arange({n}){end}).reshape({shape})"
    for begin, end in [("", ""), ("", ".to(float32)"), ("0.5 * ", ".to(float64)")]
    for n, shape in [(1, "1, 1, 1"), (24, "2, 3, 4"), (40, "40"), (100, "100, 1"), (120, "2, 60"), (999, "27, 37"), (1000, "10, 100"), (1000, "1000"),
                     (1001, "1001"), (1001, "7, 11, 13"), (1002, "1002, 1"), (1008, "2, 7, 8, 9"), (1200, "6, 200"), (1200, "3, 400"), (4096, "8, 8, 8, 8"), (2048, "2, 2, 2, 2, 2, 2, 2, 16")]
] + [
    "zeros(0)", "zeros(0, dtype=int64)", "zeros(0, dtype=bool)", "zeros(0, 3)", "zeros(2, 0, 4)", "zeros(3, 0, dtype=float16)", "zeros(0, 5, dtype=bool)", "zeros(0, dtype=float64)",
    "tensor(true)", "tensor([true, false])", "tensor([true, true])", "tensor([[false], [true]])", "arange(1500) > 3", "(arange(1500) > 3).reshape(3, 500)",
    "tensor([9223372036854775807, -9223372036854775807, 0])", "tensor([-2147483648, 2147483647], dtype=int32)", "tensor([0, 255], dtype=uint8)",
    "arange(2000, dtype=int32)", "(arange(2000) % 200).to(uint8)", "(arange(3000) % 100).to(int8).reshape(30, 100)", "arange(2000, dtype=float64) / 7", "arange(2000, dtype=float64).reshape(2, 1000) / 7",
    "arange(1100, dtype=float16)", "arange(1100, dtype=bfloat16).reshape(11, 100)", "arange(1200, dtype=float64) * 1e6", "arange(1200, dtype=float64).reshape(40, 30) * 1e-7",
    "cat([tensor([nan, inf]), zeros(1100)])", "cat([tensor([nan, 0.5]), zeros(1100), tensor([-inf])])", "cat([zeros(600), full([1], 1e9), zeros(600)])", "cat([full([1], 1e9), zeros(1200)])",
    "(eye(40) * 0.25)", "eye(12)", "eye(33, dtype=int64)", "full([3, 3], 1e-5)", "full([5], 123456789.0)", "arange(12).reshape(2, 1, 1, 6)", "zeros(1, 1, 1, 1, 1)", "zeros(30, 40)", "ones(1001, dtype=int8)",
]
GRADS = ["1.5", "[1.0, 2.0]", "[[0.5, nan], [1e-6, 3.0]]", "[1e-9, 1e9]", "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]", "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]", "[]"]
OPTIONS = [{"precision": 0}, {"precision": 1}, {"precision": 2}, {"precision": 8}, {"precision": 17}, {"sci_mode": True}, {"sci_mode": False}, {"sci_mode": True, "precision": 1}, {"linewidth": 40},
           {"linewidth": 20}, {"linewidth": 200}, {"linewidth": 10}, {"threshold": 5}, {"threshold": 5, "edgeitems": 1}, {"threshold": 5, "edgeitems": 2, "linewidth": 40}, {"threshold": 10, "edgeitems": 5},
           {"threshold": 0, "edgeitems": 1, "sci_mode": True, "precision": 3}]
OPTION_CASES = ["tensor([0.1, 123.456, -7.0])", "tensor([1.0, 2.0, 30.0])", "tensor(1e-7)", "tensor([nan, -inf, 1e9])", "arange(24).reshape(2, 3, 4)", "arange(24, dtype=float64).reshape(4, 6) / 7",
                "arange(12, dtype=float16) / 4", "tensor([true, false, true, true, false, true, true])", "arange(6) * 1000000"]


def shown(x):
    """PyTorch's text with the documented differences."""
    options = torch._tensor_str.PRINT_OPTS
    if x.numel() == 0 or x.numel() > options.threshold:
        suffixes = []
        if x.numel() or x.dim() != 1:
            suffixes.append("shape=" + str(tuple(x.shape)).replace(",)", ")"))
        if x.dtype not in ((torch.float32, torch.int64, torch.bool) if x.numel() else (torch.float32,)):
            suffixes.append("dtype=" + str(x.dtype).replace("torch.", ""))
        if x.requires_grad:
            suffixes.append("requires_grad=True")
        with torch.no_grad():
            text = torch._tensor_str._add_suffixes("tensor(" + torch._tensor_str._tensor_str(x, 7), suffixes, 7, False)
    elif x.dtype in (torch.float32, torch.int64, torch.bool):
        text = str(x)
    else:  # dtype= without "torch.", which may change the place of a line break
        suffixes = ["dtype=" + str(x.dtype).replace("torch.", "")] + ["requires_grad=True"] * x.requires_grad
        with torch.no_grad():
            text = torch._tensor_str._add_suffixes("tensor(" + torch._tensor_str._tensor_str(x, 7), suffixes, 7, False)
    return text.replace("True", "true").replace("False", "false")


def cases():
    for v in VALUES:
        for d in FLOATS:
            yield f"tensor({v}, dtype={d})", {}
    for v in INT_VALUES:
        for d in INTS:
            if not ("-" in v and d == "uint8"):
                yield f"tensor({v}, dtype={d})", {}
    for e in SHAPES:
        yield e, {}
    for v in GRADS:
        for d in FLOATS:
            yield f"tensor({v}, dtype={d}, requires_grad=true)", {}
    for o in OPTIONS:
        for e in OPTION_CASES:
            yield e, o


def set_print(o):
    name = {"sci_mode": "sci"}
    return "set_print(" + ", ".join(f"{name.get(k, k)}={str(v).lower()}" for k, v in o.items()) + ")"


def main():
    n, now = 0, {}
    with open(os.path.join(HERE, "print.gt"), "w") as f, open(os.path.join(HERE, "print.out"), "w") as g:
        f.write(f"# Golden values from PyTorch {torch.__version__.split('+')[0]}: tensors as text (all of stdout is in print.out).\n"
                "# Written by tests/golden/make_print.py; do not edit.\n# out-file\n# worlds: reference replay\n")
        for case, o in cases():
            if o != now:
                f.write(set_print({**DEFAULTS, **o}) + "\n")
                torch.set_printoptions(profile="default")
                torch.set_printoptions(**o)
                now = o
            f.write(f"print({case})\n")
            g.write(shown(eval(case, dict(NS))) + "\n")
            n += 1
    print(n, "cases")


if __name__ == "__main__":
    sys.exit(main())
