"""diff_shrink.py: makes a program that shows a difference small.

Tries one change after another and keeps what still shows a difference of the same kind: leave out a
statement, open a block, put a leaf where a call was, simplify a leaf (fewer elements, plain values,
float32, no parameter). Ends when nothing helps, or after a number of tries.
SPDX-License-Identifier: MIT"""
import copy
import math

import torch

import diff_run
from diff_ast import FLOATS, Def, Leaf, Let, render, walk

TRIES = 400


def without(stmts):
    """Programs with a statement less, the largest cuts first; blocks are opened too."""
    n = len(stmts)
    size = n // 2
    while size >= 1:
        for at in range(n - size, -1, -size):
            yield stmts[:at] + stmts[at + size:]
        size //= 2
    for at, s in enumerate(stmts):
        for k, body in enumerate(s.bodies()):
            if not isinstance(s, Def):
                yield stmts[:at] + body + stmts[at + 1:]
            for smaller in without(body):
                t = copy.deepcopy(s)
                t.bodies()[k][:] = smaller
                yield stmts[:at] + [t] + stmts[at + 1:]


def leaf_of(name, value):
    """The leaf that holds what a call gave; None if it cannot be written down."""
    if not isinstance(value, torch.Tensor) or value.numel() > 60:
        return None
    d = value.detach()
    return Leaf(name, str(d.dtype)[6:], list(d.shape), d.flatten().tolist(),
                bool(value.requires_grad and d.is_floating_point()))


def values_of(stmts):
    names = diff_run.torch_names()
    at = []
    for s in stmts:
        try:
            exec("\n".join(render([s], "py")), names)
        except Exception:
            break
        at.append({n: names.get(n) for n in s.makes()})
    return at


def leaves(stmts):
    """Programs with a leaf where a call was."""
    for at, made in enumerate(values_of(stmts)):
        if isinstance(stmts[at], Let):
            new = [leaf_of(n, v) for n, v in made.items()]
            if all(new):
                yield stmts[:at] + new + stmts[at + 1:]
        elif isinstance(stmts[at], Leaf) and stmts[at].formula:
            new = leaf_of(stmts[at].name, made[stmts[at].name])
            if new:
                yield stmts[:at] + [new] + stmts[at + 1:]


def smaller(leaf):
    """Simpler leaves."""
    if leaf.formula:
        return
    if leaf.param:
        yield Leaf(leaf.name, leaf.dtype, leaf.shape, leaf.values)
    for axis, n in enumerate(leaf.shape):
        for m in {1, n - 1} if n > 1 else []:
            shape = leaf.shape[:axis] + [m] + leaf.shape[axis + 1:]
            step = math.prod(leaf.shape[axis + 1:])
            keep = [v for k, v in enumerate(leaf.values) if k // step % n < m]
            yield Leaf(leaf.name, leaf.dtype, shape, keep, leaf.param)
    for axis in range(len(leaf.shape)):
        if leaf.shape[axis] == 1:
            shape = leaf.shape[:axis] + leaf.shape[axis + 1:]
            yield Leaf(leaf.name, leaf.dtype, shape, leaf.values, leaf.param)
    if leaf.dtype in ("float16", "bfloat16", "float64"):
        values = torch.tensor(leaf.values, dtype=torch.float32).tolist()
        yield Leaf(leaf.name, "float32", leaf.shape, values, leaf.param)
    if leaf.dtype in FLOATS:
        plain = [float(k % 5 + 1) for k in range(len(leaf.values))]
        for values in (plain, [1.0] * len(plain), [0.0] * len(plain)):
            if values != leaf.values:
                yield Leaf(leaf.name, leaf.dtype, leaf.shape, values, leaf.param)
        for k, v in enumerate(leaf.values):
            if v != 1.0 and len(leaf.values) <= 12:
                values = leaf.values[:k] + [1.0] + leaf.values[k + 1:]
                yield Leaf(leaf.name, leaf.dtype, leaf.shape, values, leaf.param)


def simpler(stmts):
    """Programs with a simpler leaf, or a variable used directly where an equal one stands."""
    for at, s in enumerate(stmts):
        if isinstance(s, Leaf):
            for new in smaller(s):
                yield stmts[:at] + [new] + stmts[at + 1:]


def weight(stmts):
    return sum(3 + len(render([s], "gt")[0]) / 40 for s in walk(stmts)) + \
        sum(2 for s in walk(stmts) if isinstance(s, Let)) + \
        sum(sum(0.2 for v in s.values if v not in (0.0, 1.0)) + (1 if s.param else 0)
            for s in walk(stmts) if isinstance(s, Leaf))


def shrink(stmts, check, kind):
    """check(program) -> Finding or None. The smallest program found that shows the same kind."""
    tries = 0
    better = True
    while better and tries < TRIES:
        better = False
        for moves in (without, leaves, simpler):
            again = True
            while again and tries < TRIES:
                again = False
                for candidate in moves(stmts):
                    if tries >= TRIES:
                        break
                    if weight(candidate) >= weight(stmts):
                        continue
                    tries += 1
                    try:
                        found = check(copy.deepcopy(candidate))
                    except Exception:
                        continue
                    if found and found.kind == kind:
                        stmts, again, better = candidate, True, True
                        break
    return stmts
