"""diff_run.py: runs programs on both sides and compares what they show.

gtsh runs many programs in one process, each under attempt(); PyTorch runs in this one. Integers,
bools, shapes, dtypes and requires_grad must be equal. Floats must agree within a few units of their
dtype; where they do not, PyTorch is asked how well the question is posed: once more in float64,
then several times with rounding noise in every inexact step and in every gradient. What moves that
much by itself is no difference.
SPDX-License-Identifier: MIT"""
import os
import re
import signal
import subprocess
import tempfile
import warnings
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from diff_ast import Let, render, results, walk

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

GTSH = os.path.join(os.environ.get("FUZZ_BUILD", "build"), "gtsh")
NUMBERS = {"nan": float("nan"), "inf": float("inf"), "true": True, "false": False, "none": None,
           "__builtins__": {}}
# Relative tolerance, and the size of one rounding, per dtype.
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5,
             torch.float64: 1e-10}
ROUNDING = {torch.float16: 2 ** -11, torch.bfloat16: 2 ** -8, torch.float32: 2 ** -24,
            torch.float64: 2 ** -53}

GT_HEAD = """\
fn show(name, x) {
    if x is none { print("@" + name, "none"); return none }
    if type(x) != "tensor" { print("@" + name, "host", str(x).replace("\\n", " ")); return none }
    print("@" + name, x.dtype, x.requires_grad, x.shape, x.tolist())
}
fn probe(f) {
    ok, r = attempt(f)
    return r if ok else "REFUSED " + r.message
}
"""
# In worlds nothing may wait: every element is printed as it is, with all its digits.
GT_HEAD_WORLD = """\
set_print(precision=17, threshold=1000000, linewidth=1000, sci=true)
fn show(name, x) { print("@" + name, x) }
"""


@dataclass
class Refused:
    why: str


@dataclass
class Shown:
    """A tensor that gtsh printed."""
    dtype: str
    grad: bool
    shape: list
    values: object


@dataclass
class Finding:
    kind: str          # error refuses accepts dtype shape grad value crash
    name: str
    text: str


# ---- gtsh ----

def gt_program(i, stmts, world=False):
    lines = render(stmts, "gt") + [f'show("{n}", {n})' for n in results(stmts)]
    text = f"fn p{i}() {{\n" + "".join(f"    {x}\n" for x in lines) + "}\n"
    if world:
        return text + f'print("#{i}")\np{i}()\n'
    return text + (f'print("#{i}")\nok, r = attempt(p{i})\n'
                   'if not ok { print("!", r.message.replace("\\n", " ")) }\n')


def gt_run(text, options=(), env=None, timeout=120, stdin=None):
    """(exit code, stdout, stderr); the code is 124 when it did not end in time."""
    with tempfile.NamedTemporaryFile("w", suffix=".gt") as f:
        f.write(text)
        f.flush()
        argv = [GTSH, *options] + ([f.name] if stdin is None else [])
        p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        try:
            out, err = p.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            return 124, out, err
        return p.returncode, out, err


def gt_parse(out):
    """{program: {name: value}}; an error that ended the program is under "!"."""
    programs, at = {}, None
    for line in out.splitlines():
        if line.startswith("#"):
            at = programs.setdefault(int(line[1:]), {})
        elif at is None:
            continue
        elif line.startswith("!"):
            at["!"] = line[2:]
        elif line.startswith("@"):
            name, kind, *rest = line[1:].split(" ", 2)
            rest = rest[0] if rest else ""
            if kind == "none":
                at[name] = None
            elif kind == "host":
                at[name] = Refused(rest[8:]) if rest.startswith("REFUSED ") else rest
            else:
                grad, rest = rest.split(" ", 1)
                cut = rest.index("]") + 1
                at[name] = Shown(kind, grad == "true", eval(rest[:cut], NUMBERS),
                                 eval(rest[cut:], NUMBERS))
    return programs


def gt_batch(programs):
    """programs: {number: statements}. The same as gt_parse, one entry for each: a program that took
    the process down is found by running each alone, and has {"!": "CRASH ..."}."""
    text = GT_HEAD + "".join(gt_program(i, s) for i, s in programs.items())
    code, out, err = gt_run(text)
    if code == 0:
        got = gt_parse(out)
        return {i: got.get(i, {"!": "shows nothing"}) for i in programs}
    if len(programs) > 1:
        got = {}
        for i, s in programs.items():
            got.update(gt_batch({i: s}))
        return got
    i = next(iter(programs))
    got = gt_parse(out).get(i, {})
    name = signal.Signals(-code).name if code < 0 else f"exit {code}"
    got["!"] = f"CRASH {name}: {err.strip()[-2000:]}"
    return {i: got}


# ---- PyTorch ----

def _param(x):
    x = x.detach().clone()
    return (x if x.is_floating_point() else x.float()).requires_grad_()


def _update(p, value):
    p.data = value.detach().expand_as(p).to(p.dtype).clone()


def _grad_of(y, xs, seed=None, create_graph=False):
    one = not isinstance(xs, (list, tuple))
    xs = [xs] if one else xs
    got = torch.autograd.grad(y, xs, seed, retain_graph=True, create_graph=create_graph,
                              allow_unused=True)
    got = [torch.zeros_like(x) if g is None else g for g, x in zip(got, xs)]
    return got[0] if one else got


def _probe(f):
    try:
        return f()
    except Exception as e:
        return Refused(str(e).split("\n")[0])


def _shake(x):
    return x * (1 + ROUNDING[x.dtype] * 8 * (2 * torch.rand_like(x) - 1))


def _hook(x):
    if isinstance(x, (list, tuple)):
        return [_hook(v) for v in x]
    if isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled():
        x.register_hook(_shake)
    return x


def _branch(x):
    return _hook(x.view_as(x)) if isinstance(x, torch.Tensor) else x


def _noise(x):
    if isinstance(x, (list, tuple)):
        return [_noise(v) for v in x]
    if isinstance(x, torch.Tensor) and x.is_floating_point():
        return _hook(_shake(x))
    return x


def torch_names():
    return {"torch": torch, "F": F, "nan": float("nan"), "inf": float("inf"), "param": _param,
            "update": _update, "grad_of": _grad_of, "probe": _probe, "N": _noise, "H": _hook,
            "B": _branch}


def widen(text):
    return re.sub(r"torch\.(b?float16|float32)\b", "torch.float64", text)


def torch_run(stmts, mode="native"):
    """{name: tensor, None, Refused or host value}; raises what PyTorch raises. Modes: native, wide
    (all floats are float64), noise."""
    text = "\n".join(render(stmts, "py", noise=mode == "noise"))
    names = torch_names()
    try:
        if mode == "wide":
            torch.set_default_dtype(torch.float64)
            text = widen(text)
        exec(compile(text, "program", "exec"), names)
    finally:
        torch.set_default_dtype(torch.float32)
    out = {}
    for n in results(stmts):
        out[n] = names[n[:-5]].grad if n.endswith(".grad") else names[n]
    return out


# ---- comparison ----

class Judge:
    """Compares one program's results; runs PyTorch's other modes only when asked."""

    def __init__(self, stmts, native):
        self.stmts, self.native = stmts, native
        self.wide, self.noisy = None, None
        # Whether a derivative could be derived again is not compared, nor what is made of it.
        self.after_grad = {n for n in native if n.endswith(".grad")}
        for s in walk(stmts):
            if isinstance(s, Let) and s.call.op == "grad" or self.after_grad & set(s.uses()):
                self.after_grad |= set(s.makes())

    def other(self, mode):
        try:
            return torch_run(self.stmts, mode)
        except Exception:
            return {}

    def spread(self, name, want, dtype):
        """How far PyTorch's own answer moves, per element; inf where it cannot be said."""
        if self.noisy is None:
            self.wide = self.other("wide")
            torch.manual_seed(1)
            self.noisy = [self.other("noise") for _ in range(8)]
        # A derivative is often a small difference of large terms: what those were rounded by.
        least = ROUNDING.get(dtype, 0) * 64 if name in self.after_grad else 0.0
        most = torch.full_like(want, least)
        for run, weight in [(self.wide, 4)] + [(r, 3) for r in self.noisy]:
            x = run.get(name)
            if not isinstance(x, torch.Tensor) or x.shape != want.shape:
                return torch.full_like(want, float("inf"))
            gap = (x.detach().to(torch.float64) - want).abs() * weight
            same = (x == want) | (x.isnan() & want.isnan())
            most = torch.maximum(most, torch.where(same, 0.0, gap.nan_to_num(float("inf"))))
        return most

    def values(self, name, got, want):
        """None or the text of the difference."""
        dtype = want.dtype
        exact = want.detach().to(torch.float64 if dtype in TOLERANCE else torch.int64)
        want = exact.to(torch.float64)
        try:
            have = torch.tensor(got.values, dtype=exact.dtype).reshape(want.shape)
        except (TypeError, ValueError, RuntimeError) as e:
            return f"cannot be read: {e}"
        good = (have == exact) | (have.isnan() & exact.isnan())
        if good.all():
            return None
        have = have.to(torch.float64)
        gap = (have - want).abs()
        if dtype in TOLERANCE:
            rel = TOLERANCE[dtype]
            finite = want.abs()[want.isfinite()]
            scale = finite.max() * rel * 0.01 if finite.numel() else 0.0
            tiny = 1e-37 if dtype == torch.float32 else 1e-7 if dtype == torch.float16 else 1e-300
            tol = want.abs() * rel + scale + tiny
            good = good | ((gap <= tol) & want.isfinite())
            if good.all():
                return None
        most = self.spread(name, want, dtype)
        good = good | (most >= gap.nan_to_num(1e300)) & (most > 0)
        if good.all():
            return None
        at = (~good).reshape(-1).nonzero()[0].item()
        return f"element {at}: ours {have.reshape(-1)[at].item()!r}, " \
               f"PyTorch {want.reshape(-1)[at].item()!r}"

    def one(self, name, got, want):
        """None or (kind, text)."""
        if isinstance(want, Refused) or isinstance(got, Refused):
            if isinstance(want, Refused) and isinstance(got, Refused):
                return None
            if isinstance(got, Refused):
                return "refuses", f"ours: {got.why}"
            return "accepts", f"PyTorch: {want.why}; ours: {show(got)}"
        if not isinstance(want, torch.Tensor) or not isinstance(got, Shown):
            if got is None and want is None:
                return None
            if isinstance(want, (list, tuple)) and isinstance(got, str) and got[0] == "[":
                return None             # a list from a probe: its elements are not printed exactly
            if isinstance(want, (bool, int, float)) and isinstance(got, str):
                try:
                    same = eval(got, NUMBERS) == want
                except Exception:
                    same = False
                return None if same else ("value", f"ours {got}, PyTorch {want}")
            return "value", f"ours {show(got)}, PyTorch {show(want)}"
        if got.dtype != str(want.dtype)[6:]:
            return "dtype", f"ours {got.dtype}, PyTorch {str(want.dtype)[6:]}"
        if got.shape != list(want.shape):
            return "shape", f"ours {got.shape}, PyTorch {list(want.shape)}"
        if got.grad != want.requires_grad and name not in self.after_grad:
            return "grad", f"requires_grad: ours {got.grad}, PyTorch {want.requires_grad}"
        text = self.values(name, got, want)
        return ("value", text) if text else None

    def all(self, ours):
        """None or the first Finding."""
        for name, want in self.native.items():
            if name not in ours:
                why = ours.get("!", "no error")
                return Finding("crash" if why.startswith("CRASH") else "error", name, why)
            found = self.one(name, ours[name], want)
            if found:
                return Finding(found[0], name, found[1])
        if "!" in ours:
            return Finding("crash" if ours["!"].startswith("CRASH") else "error", "", ours["!"])
        return None


def show(x):
    if isinstance(x, Shown):
        return f"{x.dtype}{x.shape} {str(x.values)[:200]}"
    if isinstance(x, torch.Tensor):
        return f"{str(x.dtype)[6:]}{list(x.shape)} {str(x.tolist())[:200]}"
    return repr(x)
