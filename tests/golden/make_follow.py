#!/usr/bin/env python3
"""make_follow.py: writes the values of tests/error/follow.txt: what NumPy and PyTorch give for each typed line.

Run by hand where both are installed (python tests/golden/make_follow.py); the table is committed, so that no test needs them. For a
new row write its lines > and =, and run this.
SPDX-License-Identifier: MIT
"""
import itertools
import math
import os
import random
import re
import statistics
import warnings
import numpy as np
import torch

PATH = "tests/error/follow.txt"
STATEMENT = re.compile(r"([A-Za-z]+)(\[.*\])? = ")
PYTHON = {"math": math, "statistics": statistics, "itertools": itertools, "random": random, "os": os}
warnings.filterwarnings("ignore")


def plain(v):
    if isinstance(v, (tuple, list)):
        return [plain(e) for e in v]
    return v.tolist() if isinstance(v, (torch.Tensor, np.ndarray, np.generic)) else v


def text(v):
    if isinstance(v, list):
        return "[" + ", ".join(text(e) for e in v) + "]"
    if isinstance(v, str):
        return f'"{v}"'
    if isinstance(v, float) and math.isfinite(v):
        return repr(float(f"{v:.7g}"))
    return {True: "true", False: "false"}[v] if isinstance(v, bool) else str(v)


def scope(names, in_torch):
    """The names of the table's lines that begin with a colon."""
    make = torch.tensor if in_torch else np.array
    names = {k: make(eval(v)) for k, v in names.items()}
    return {"np": np, "numpy": np, "torch": torch, "F": torch.nn.functional, **PYTHON, **names}


def value(typed, hint, names):
    s = scope(names, "torch" in typed)
    result = eval(typed, s)
    if typed.startswith("itertools."):
        result = list(result)
    target = STATEMENT.match(hint)
    if re.search(r"random|poisson|normal\(|empty|gumbel|torch\.(Float|Long)?Tensor\(2", typed):
        return "shape " + text(list(np.shape(result)))
    return text(plain(s[target[1]] if target else result))


def main():
    out, names, typed = [], {}, None
    for line in open(PATH, encoding="utf-8").read().split("\n"):
        mark, rest = line[:2], line[2:]
        if mark == ": ":
            name, data = rest.split(" = tensor(")
            names[name] = data[:-1].replace("true", "True").replace("false", "False").replace("nan", "math.nan")
        if mark == "> ":
            typed = rest
        elif mark == "~ ":
            typed = rest
        elif typed and mark not in ("= ", "# ", ""):
            continue
        out.append(line)
        if mark == "= ":
            out.append(value(typed, rest, names))
    open(PATH, "w", encoding="utf-8").write("\n".join(out))


if __name__ == "__main__":
    main()
