#!/usr/bin/env python3
"""examples.py: compares the examples of `?` with PyTorch.

Run by hand where PyTorch is installed (python tests/golden/examples.py [-v]). Reads the examples that scripts/examples
prints, evaluates those whose statements are Python after a few substitutions with the functions of functions.py, and
compares what both print: numbers within rounding, brackets and words exactly. Prints the examples that differ and fails
if there is one that DIFFERS does not name; -v also names those that it cannot evaluate (blocks, maps, random numbers,
names that PyTorch lacks).
SPDX-License-Identifier: MIT
"""
import math
import os
import re
import subprocess
import sys
import warnings

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import functions                                    # noqa: E402
from functions import MEANING, torch_named          # noqa: E402
for name in sorted(os.listdir(HERE)):
    if name.startswith("spec_"):
        __import__(name[:-3])

# Examples that print something else than PyTorch does, each with its reason.
DIFFERS = {
    "gradient": "a list with one tensor for each axis in PyTorch",
    "values": "what the example shows: += makes a new tensor here",
    "from_numpy": "the argument is a list here",
    "tensor.numpy": "there are no arrays beside tensors",
    "object.load_state_dict": "PyTorch returns the names that do not match, gtsh fails",
    "object.state_dict": "an OrderedDict's keys print their type",
}
WORDS = {"true": True, "false": False, "none": None, "inf": math.inf, "nan": math.nan, "pi": math.pi}
DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64")


class Names(dict):
    """The language's names: those of functions.py, then torch's own."""

    def __missing__(self, name):
        if name in MEANING:
            return lenient(MEANING[name])
        try:
            return lenient(torch_named(name))
        except NameError:
            raise KeyError(name) from None


def lenient(f):
    """f called with axis= and keepdims=, or with PyTorch's names of them."""
    def call(*args, **more):
        try:
            return f(*args, **more)
        except TypeError:
            renamed = {{"axis": "dim", "keepdims": "keepdim"}.get(k, k): v for k, v in more.items()}
            return f(*args, **renamed)
    return call


def names():
    space = Names(WORDS)
    space.update({d: getattr(torch, d) for d in DTYPES if d != "bool"})
    space.update(nn=torch.nn, optim=torch.optim, F=F, linalg=torch.linalg, distributions=torch.distributions,
                 tensor=torch.tensor, param=lambda x: torch.nn.Parameter(torch.as_tensor(x).float()),
                 arange=arange, full=torch.full, seed=torch.manual_seed, round=rounded, abs=torch_or(torch.abs, abs),
                 len=len, list=list, sorted=sorted,
                 enumerate=listed(enumerate), zip=listed(zip), map=listed(map), filter=listed(filter),
                 reversed=listed(reversed), sum=torch_or(torch.sum, sum), int=int, float=float,
                 max=torch_or(lambda *a, **k: torch.max(*a, **k) if not k and len(a) == 1 else torch.amax(*a, **k), max),
                 min=torch_or(lambda *a, **k: torch.min(*a, **k) if not k and len(a) == 1 else torch.amin(*a, **k), min))
    functional, nnu = torch.autograd.functional, torch.nn.utils
    space.update({f: getattr(functional, f) for f in ("jacobian", "hessian", "vjp", "jvp", "hvp")})
    space.update({f: getattr(torch.linalg, f) for f in ("qr", "eigh", "eigvalsh", "svdvals", "pinv", "lstsq", "cond",
                                                        "matrix_rank")})
    space.update(ctc_loss=F.ctc_loss, clip_grad_norm=nnu.clip_grad_norm_, clip_grad_value=nnu.clip_grad_value_,
                 clip_grad_norm_=nnu.clip_grad_norm_, clip_grad_value_=nnu.clip_grad_value_,
                 total_norm=nnu.get_total_norm, range=range, weight_norm=nnu.weight_norm,
                 gradcheck=torch.autograd.gradcheck, gradgradcheck=torch.autograd.gradgradcheck,
                 grad=lambda y, x: torch.autograd.grad(y, x)[0])
    for name in ("zeros", "ones", "rand", "randn", "eye", "linspace"):
        space[name] = getattr(torch, name)
    return space


torch.optim.Optimizer.lr = property(lambda self: self.param_groups[0]["lr"])


def listed(f):
    return lambda *args: [list(x) if isinstance(x, tuple) else x for x in f(*args)]


def arange(a, b=None, step=1, dtype=None):
    a, b = (0, a) if b is None else (a, b)
    return torch.arange(a, b, step, dtype=dtype)


def rounded(x, n=0):
    return torch.round(x, decimals=n) if isinstance(x, torch.Tensor) else round(x, n) if n else round(x)


def torch_or(of_tensors, of_values):
    def call(*args, **more):
        if not isinstance(args[0], torch.Tensor):
            return of_values(*args, **more)
        if "axis" in more:
            more["dim"] = more.pop("axis")
        if "keepdims" in more:
            more["keepdim"] = more.pop("keepdims")
        return of_tensors(*args, **more)
    return call


def python(line):
    """A statement of the language as Python's, or None."""
    line = re.sub(r"\bfn\((\w+(?:, \w+)*)\) => ", r"lambda \1: ", line)
    line = re.sub(r"^backward (.*)$", r"(\1).backward()", line)
    if re.search(r'[{}]|=>|^fn |"f"|\bmodule\b', line) and 'f"' not in line:
        return None
    line = re.sub(r"\.T\b", ".mT", line)
    line = re.sub(r"\baxis=", "dim=", line) if re.search(r"\.\w+\([^()]*\baxis=", line) else line
    return re.sub(r"\bkeepdims=", "keepdim=", line) if ".sum(" in line or ".mean(" in line else line


def text(v):
    """What the prompt shows for a value of PyTorch."""
    if isinstance(v, (list, tuple, type({}.keys()))):   # torch.Size and named tuples, too
        return "[" + ", ".join(text(x) for x in v) + "]"
    if isinstance(v, torch.Tensor):
        return repr(v.detach())
    return f'"{v}"' if isinstance(v, str) else str(v)


def evaluate(code, space):
    """The values that the statements print, or None if they are not Python."""
    shown = []
    space["print"] = lambda *v, sep=" ": shown.append(sep.join(x if isinstance(x, str) else text(x) for x in v))
    for statement in code:
        for part in statement.split("; ") if '"' not in statement else [statement]:
            line = python(part)
            if line is None:
                return None
            try:
                tree = compile(line, "example", "eval")
            except SyntaxError:
                in_place = re.match(r"\w+ [-+*/]= ", line)
                with torch.set_grad_enabled(not in_place):
                    exec(compile(line, "example", "exec"), space)
                continue
            with torch.set_grad_enabled(not re.match(r"\w+\.\w+_\(", line)):
                value = eval(tree, space)
            if value is not None and not isinstance(value, (torch.nn.Module, torch.Generator)) and not statement.endswith(";") and not line.startswith("seed"):
                shown.append(text(value))
    return shown


def tokens(s):
    """Numbers and the rest, without blanks and what depends on the tape."""
    s = re.sub(r"(grad_fn=<\w+>|requires_grad=\w+|dtype=(torch\.)?\w+|size=\([^)]*\)|shape=\([^)]*\)|torch\.)", "", s)
    s = re.sub(r",\s*(?=[,)])", "", s.lower())
    return re.findall(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf\b|nan\b)|[a-z_]\w*|[][(){},:\"]", s)


def same(a, b):
    a, b = tokens(a), tokens(b)
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        try:
            p, q = float(x), float(y)
        except ValueError:
            if x != y:
                return False
            continue
        if not (p == q or (math.isnan(p) and math.isnan(q)) or abs(p - q) <= 1.01e-4 * max(1, abs(p))):
            return False
    return True


def examples():
    def lines(mode):
        return subprocess.run(["sh", "scripts/examples", mode], cwd=os.path.join(HERE, "..", ".."), text=True,
                              capture_output=True, check=True).stdout.split("\n")
    want = "\n".join(lines("want")).split("\n= ")
    code = "\n".join(lines("run")).split('\nprint("= ')
    for c, w in zip(code, want):
        name, *statements = c.split("\n")
        _, _, output = w.strip("\n").partition("\n")
        yield re.sub(r'^(print\("= |= )|"\)$', "", name), [s for s in statements if s and s != "seed(0)"], output


def main():
    equal, unlike, skipped = 0, [], []
    warnings.simplefilter("ignore")
    for name, code, output in examples():
        torch.manual_seed(0)
        try:
            shown = evaluate(code, names())
            why = "not Python"
        except Exception as e:                      # a name that PyTorch lacks, other arguments
            shown, why = None, f"{type(e).__name__}: {e}"
        if shown is None:
            skipped.append((name, why))
        elif same("\n".join(shown), output):
            equal += 1
        else:
            unlike.append((name, "\n".join(shown), output))
    new = [u for u in unlike if u[0] not in DIFFERS]
    for name, theirs, ours in new:
        print(f"{name}: PyTorch has\n{theirs}\nnot\n{ours}")
    if "-v" in sys.argv:
        for name, why in skipped:
            print(f"{name}: {why.splitlines()[0]}")
    print(f"{equal} examples agree with PyTorch, {len(unlike)} differ, {len(new)} of them unexplained; "
          f"{len(skipped)} cannot be evaluated there")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
