"""diff_gen.py: draws a random program.

The program grows by one statement at a time, and each is run by PyTorch at once: so the next one
knows shapes, dtypes and values of what exists, most calls are valid ones, and arguments can be
chosen that mean something (positive numbers for a logarithm). What PyTorch refuses is thrown away,
or kept as a probe: then gtsh must refuse it too.
SPDX-License-Identifier: MIT"""
import math
import random

import torch

import diff_run
from diff_ast import (FLOATS, INTS, Aug, Backward, Call, ClearGrad, Def, For, Index, If, Leaf, Let,
                      NoGrad, Put, Raw, Slice, Stmt, Var, render, walk)

SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e30, -1e30, 1e-30]
KINDS = {"float": FLOATS, "int": INTS, "num": INTS + FLOATS, "bits": ("bool",) + INTS,
         "bool": ("bool",), "any": ("bool",) + INTS + FLOATS, "real": ("float32", "float64")}


class Refused(Exception):
    """A call cannot be drawn now: nothing fits."""


class Gen:
    def __init__(self, seed, rows, dtypes):
        self.rng = random.Random(seed)
        self.rows, self.weights = rows, [r.weight for r in rows]
        self.stmts, self.names = [], diff_run.torch_names()
        self.vars = {}                      # name -> Var, what may be used
        self.params, self.updatable = [], []
        self.count = 0
        self.wild = False                   # arguments need not fit
        r = self.rng
        floats = [d for d in FLOATS if d in dtypes]
        style = r.random()
        half = [d for d in ("float16", "bfloat16") if d in dtypes]
        if style < 0.5:
            self.floats = ["float32"]
        elif style < 0.62 and half:
            self.floats = half[:1] if self.flip() else half
        elif style < 0.75:
            self.floats = ["float64"]
        else:
            self.floats = floats
        self.ints = [d for d in INTS if d in dtypes] if style > 0.75 else ["int64"]
        self.special = r.random() < 0.12
        self.large = r.random() < 0.03

    # ---- drawing ----

    def flip(self, p=0.5):
        return self.rng.random() < p

    def pick(self, xs):
        return self.rng.choice(list(xs))

    def val(self, v):
        return self.names[v.name]

    def name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def dim(self):
        return self.rng.choices([0, 1, 2, 3, 4, 5, 17], [1, 5, 10, 10, 4, 2, 0.4])[0]

    def shape(self, low=0, high=4):
        weights = [2, 4, 6, 3, 1][low:high + 1]
        rank = self.rng.choices(range(low, high + 1), weights)[0]
        return [self.dim() for _ in range(rank)]

    def number(self, dtype, interval=None):
        r = self.rng
        if dtype == "bool":
            return self.flip()
        if dtype in INTS:
            low, high = (-4, 6) if dtype != "uint8" else (0, 8)
            if interval:
                low, high = max(low, math.ceil(interval[0])), min(high, math.floor(interval[1]))
                if low > high:
                    raise Refused
            return r.randint(low, high)
        if interval:
            low, high = interval
            x = low + (high - low) * (0.02 + 0.96 * r.random())
        elif self.special and r.random() < 0.2:
            x = r.choice(SPECIAL)
        else:
            x = r.choice([r.randint(-8, 8) / 4, round(r.gauss(0, 1), 3), round(r.gauss(0, 3), 2)])
        return torch.tensor(x, dtype=getattr(torch, dtype)).item()

    def leaf(self, dtype, shape=None, interval=None, param=None, kind=None):
        shape = self.shape() if shape is None else list(shape)
        n = math.prod(shape)
        if param is None:
            param = dtype in FLOATS and not self.wild and self.flip(0.35)
        name = self.name("p" if param else "x")
        formula = None
        if self.large and not interval and dtype != "bool" and n > 1 and self.flip(0.4):
            shape[self.rng.randrange(len(shape))] = self.pick([33, 70, 513, 4099, 5000])
            if math.prod(shape) > 20000:
                raise Refused
            formula = (7, 61, 30, 16) if dtype in FLOATS else (7, 61, 0, 1)
        elif n > 4000:
            raise Refused
        values = [] if formula else [self.number(dtype, interval) for _ in range(n)]
        update = param and self.flip(0.25)
        self.add(Leaf(name, dtype, shape, values, param, formula))
        v = self.vars[name] = Var(name, clone=update)
        if param:
            self.params.append(name)
            if update:
                self.updatable.append(name)
        return v

    def fits(self, v, dtypes, low, high, interval, where):
        x = self.val(v)
        if not isinstance(x, torch.Tensor) or not low <= x.ndim <= high:
            return False
        if str(x.dtype)[6:] not in dtypes or x.numel() > 20000:
            return False
        if interval and x.numel():
            d = x.detach().to(torch.float64)
            if not bool(((d > interval[0]) & (d < interval[1])).all()):
                return False
        return where is None or where(x)

    def t(self, kind="num", low=0, high=4, interval=None, where=None, shape=None, fresh=0.25):
        """A variable that fits, or a new leaf. interval: all values are inside. where: a test of
        the tensor; shape: for the new leaf when there is none (where without shape: Refused)."""
        dtypes = KINDS.get(kind, (kind,))
        if self.wild and self.flip(0.7):
            dtypes, low, high, interval, where = KINDS["any"], 0, 4, None, None
        have = [v for v in self.vars.values()
                if self.fits(v, dtypes, low, high, interval, where)]
        if have and not self.flip(fresh):
            late = have[-4:] if self.flip() else have
            return self.pick(late)
        if where is not None and shape is None:
            if have:
                return self.pick(have)
            raise Refused
        mine = [d for d in dtypes if d in self.floats + self.ints + ["bool"]]
        if not mine:
            raise Refused
        floats = [d for d in mine if d in FLOATS]
        dtype = self.pick(floats if floats and self.flip(0.75) else mine)
        return self.leaf(dtype, self.shape(low, high) if shape is None else shape, interval)

    def bcast(self, x, kind=None, interval=None, scalar=0.25):
        """What broadcasts with x: a variable, a new leaf or a host number."""
        x = self.val(x)
        kind = kind or ("float" if x.is_floating_point() else
                        "bool" if x.dtype == torch.bool else "num")
        if self.flip(scalar) and kind != "bool":
            whole = not x.is_floating_point() and self.flip(0.7)
            return self.number("uint8" if whole else "float32", interval)

        def where(y):
            try:
                return math.prod(torch.broadcast_shapes(x.shape, y.shape)) < 20000
            except RuntimeError:
                return False
        shape = [1 if self.flip(0.2) else n for n in x.shape]
        if self.flip(0.3):
            shape = shape[self.rng.randint(0, len(shape)):]
        return self.t(kind, interval=interval, where=where, shape=shape, fresh=0.4)

    def like(self, x, kind=None, interval=None, fresh=0.4):
        """A variable of x's shape (and dtype, unless kind says otherwise)."""
        x = self.val(x)
        return self.t(kind or str(x.dtype)[6:], interval=interval,
                      where=lambda y: y.shape == x.shape, shape=x.shape, fresh=fresh)

    def axis(self, x, extra=0):
        n = self.val(x).ndim + extra
        if self.wild and self.flip(0.3):
            return self.rng.randint(-5, 5)
        if n < 1:
            raise Refused               # PyTorch takes 0 and -1 there, gtsh says it is wrong
        return self.rng.randrange(-n, n)

    def axes(self, x):
        """none, one axis or a list of several."""
        n = self.val(x).ndim
        kind = self.rng.random()
        if kind < 0.25:
            return None
        if kind < 0.7 or n < 1:
            return self.axis(x)
        some = self.rng.sample(range(n), self.rng.randint(1, n))
        return [a - n if self.flip(0.3) else a for a in some]

    def ids(self, shape, n, kind="int64"):
        """A leaf of whole numbers in [0, n)."""
        if n <= 0 and math.prod(shape):
            raise Refused
        name = self.name("i")
        values = [self.rng.randrange(n) for _ in range(math.prod(shape))]
        self.add(Leaf(name, kind, list(shape), values))
        self.vars[name] = Var(name)
        return self.vars[name]

    def spell(self, name, *params, method=True, keys=()):
        """The call as gtsh writes it: a function or a method, arguments by place or by name.
        params: "x" by place, "axis=a" either way, "~axis=a" by name only."""
        out, named = [], False
        for p in params:
            by_name = p.startswith("~")
            kw, _, key = p.lstrip("~").rpartition("=")
            if kw and (named or by_name or self.flip()):
                named = True
                if self.flip(0.3):
                    kw = {"axis": "dim", "keepdims": "keepdim"}.get(kw, kw)
                out.append(f"{kw}={{{key}}}")
            else:
                out.append(f"{{{key}}}")
        if method and self.flip(0.4):
            return f"{out[0]}.{name}({', '.join(out[1:])})"
        return f"{'gt.' if self.flip(0.04) else ''}{name}({', '.join(out)})"

    # ---- growing ----

    def run(self, stmts):
        exec("\n".join(render(stmts, "py")), self.names)

    def add(self, *stmts):
        self.run(stmts)
        self.stmts += stmts

    def undo(self, mark):
        """Forgets what was added since mark = (statements, variables)."""
        del self.stmts[mark[0]:]
        for n in list(self.vars)[mark[1]:]:
            del self.vars[n]
        self.params = [p for p in self.params if p in self.vars]
        self.updatable = [p for p in self.updatable if p in self.vars]

    def mark(self):
        return len(self.stmts), len(self.vars)

    def bind(self, call, outs=1, probe=False):
        names = [self.name() for _ in range(outs)]
        self.add(Let(names, call, probe))
        for n in names if not probe else []:
            if isinstance(self.names[n], torch.Tensor) and not self.names[n].is_complex():
                self.vars[n] = Var(n)
        return self.vars.get(names[0])

    def call(self, probe=False):
        """One call from the table; False if none could be drawn."""
        mark = self.mark()
        self.wild = probe
        try:
            row = self.rng.choices(self.rows, self.weights)[0]
            call = row.sample(self)
            call.op, call.exact = row.name, row.exact
            if probe:
                self.bind(call, probe=True)
            else:
                value = eval(call.text("py"), self.names)
                if isinstance(value, torch.Tensor):
                    if not useful(value):
                        raise Refused
                    self.bind(call)
                elif isinstance(value, (list, tuple)):
                    if not 1 <= len(value) <= 6:
                        raise Refused
                    if len(value) == 1:
                        call.gt, call.py = call.gt + "[0]", call.py + "[0]"
                    self.bind(call, len(value))
                else:
                    self.bind(call)
            return True
        except Exception:
            self.undo(mark)
            return False
        finally:
            self.wild = False

    def index(self, x):
        """Index items for x, most of them valid."""
        # Ints and gathers are not mixed: with a slice between them NumPy and gtsh put the gathered
        # axes first, PyTorch does not.
        items, advanced, whole = [], False, self.flip()
        shape = list(self.val(x).shape)
        axis, wide = 0, self.flip(0.8)
        stop = self.rng.randint(1, len(shape)) if shape else 0
        while axis < stop:
            n, kind = shape[axis], self.rng.random()
            if kind < 0.08:
                items.append(None)
                continue
            if kind < 0.30 and (n or self.wild) and whole:
                items.append(self.rng.randint(-n, n - 1) if not self.wild else
                             self.rng.randint(-n - 1, n + 1))
            elif kind < 0.45 and n and not (advanced and wide) and not whole:
                advanced = True
                m = self.pick([1, 2, 3])
                items.append(self.ids(self.pick([[m], [m], [2, m]]), n) if self.flip(0.6) else
                             [self.rng.randint(-n, n - 1) for _ in range(m)])
            else:
                ends = [None, *range(-n - 1, n + 2)]
                items.append(Slice(self.pick(ends) if self.flip() else None,
                                   self.pick(ends) if self.flip() else None,
                                   self.pick([None, None, None, 1, 2, 3])))
            axis += 1
        if self.flip(0.12):
            at = self.rng.randint(0, len(items))
            rest = len(shape) - sum(1 for i in items if i is not None)
            if at == len(items) or rest == 0:
                items.insert(at, Ellipsis)
        return Index(tuple(items) or (Ellipsis,))

    # ---- statements that are not calls ----

    def put(self):
        x = self.t("num", 1, 4, where=lambda y: y.numel() > 0)
        if x.name in self.params:
            return self.pick_update()
        index = self.index(x)
        part = eval(f"{x.name}[{Call('', '', '{i}', {'i': index}).text('py')}]", self.names)
        op = self.pick(["", "", "+", "*", "-"])
        if any(isinstance(i, (list, Var)) for i in index.items):
            op = ""                         # repeated places: which write wins is not promised
            self.distinct(index, self.val(x))
        if self.flip(0.4):
            value = self.number(str(part.dtype)[6:])
            if isinstance(value, float) and not math.isfinite(value):
                raise Refused
        else:
            shape = [1 if self.flip(0.2) else n for n in part.shape]
            value = self.leaf(str(part.dtype)[6:], shape)
        self.add(Put(x.name, index, value, op))

    def distinct(self, index, x):
        places = torch.arange(x.numel()).reshape(x.shape)
        got = eval(f"x[{Call('', '', '{i}', {'i': index}).text('py')}]",
                   {**self.names, "x": places})
        if got.unique().numel() != got.numel():
            raise Refused

    def aug(self):
        x = self.t("num", where=lambda y: y.numel() > 0)
        if x.name in self.params:
            return self.pick_update()
        self.add(Aug(x.name, self.pick("+-*"), self.bcast_into(x)))

    def bcast_into(self, x):
        have = self.val(x)
        if self.flip(0.4):
            v = self.number(str(have.dtype)[6:])
            return v if not isinstance(v, float) or math.isfinite(v) else 0.5
        shape = [1 if self.flip(0.2) else n for n in have.shape]
        return self.leaf(str(have.dtype)[6:], shape, param=False)

    def pick_update(self):
        if not self.updatable:
            raise Refused
        p = self.vars[self.pick(self.updatable)]
        self.add(Aug(p.name, self.pick("+-*"), self.bcast_into(p), param=True))

    def loop(self):
        """for: a value that is made anew in each turn."""
        x = self.t("float", where=lambda y: y.numel() > 0)
        w = self.bcast_into(x)
        name, i = self.name(), self.name("k")
        start = Let([name], Call("start", "{x} * 1", "{x} * 1", {"x": x}, True))
        step = self.pick(["{a}.tanh() + {w}", "{a} * 0.5 - {w}", "({a} * {w}).sin()", "{a} + {i}",
                          "{a} * {i} + {w}"])
        py = step.replace("{a}.tanh()", "torch.tanh({a})")
        args = {"a": Var(name), "w": w, "i": Raw(i, i)}
        body = [Let([name], Call("step", step, py, args))]
        if self.flip(0.3):
            cond = Raw(f"{i} % 2 == {self.rng.randint(0, 1)}", "")
            body = [If(Raw(cond.gt, cond.gt), body,
                       [Aug(name, "+", 1)] if self.flip() else [])]
        self.add(start, For(i, self.rng.randint(0, 4), body))
        self.vars[name] = Var(name)

    def branch(self):
        """if: on a shape, or on a value that must be waited for."""
        x = self.t("float", where=lambda y: y.numel() > 0)
        name = self.name()
        start = Let([name], Call("start", "{x} * 1", "{x} * 1", {"x": x}, True))
        n = self.rng.randint(0, 3)
        cond = self.pick([Raw(f"{x.name}.ndim > {n}", f"{x.name}.ndim > {n}"),
                          Raw(f"len({x.name}.shape) == {n}", f"len({x.name}.shape) == {n}"),
                          Raw(f"{x.name}.numel() > {n}", f"{x.name}.numel() > {n}"),
                          Raw(f"any({x.name} > {n})", f"bool(torch.any({x.name} > {n}))"),
                          Raw(f"{x.name}.abs().sum() > {n}.1", f"{x.name}.abs().sum() > {n}.1")])
        self.add(start, If(cond, [Aug(name, "*", self.bcast_into(x))],
                           [Aug(name, "-", 2)] if self.flip() else []))
        self.vars[name] = Var(name)

    def function(self):
        """A function of two tensors that may see a third from outside."""
        a = self.t("float")
        b = self.bcast(a, scalar=0)
        outer = self.bcast(a, scalar=0)
        f, local = self.name("f"), self.name("t")
        first = self.pick(["{a} * {b}", "{a} - {b}", "torch.maximum({a}, {b})", "{a} / 2 + {b}"])
        second = self.pick(["{t} + {o}", "{t} * {o}", "{t} * {t}", "-{t}"])
        args = {"a": Var("a"), "b": Var("b"), "t": Var(local), "o": outer}
        body = [Let([local], Call("inner", first.replace("torch.", ""), first, args)),
                Let([local], Call("inner", second, second, args))]
        self.add(Def(f, ["a", "b"], body, local))
        call = f"{f}({{a}}, {{b}})"
        gt = self.pick([call, f"{f}({{a}}, b={{b}})", f"{f}(b={{b}}, a={{a}})"])
        self.bind(Call("call", gt, call, {"a": a, "b": b}))

    def no_grad(self):
        x = self.t("float")
        name = self.name()
        text = self.pick(["{x} * 2", "{x}.exp()", "{x}.sum()", "-{x}"])
        self.add(NoGrad([Let([name], Call("no_grad", text, text, {"x": x}))]))
        # The name is made inside of the block: a copy of it is shown.
        self.vars[name] = Var(name)
        self.bind(Call("copy", "{x} * 1", "{x} * 1", {"x": Var(name)}, True))

    def detach(self):
        x = self.t("float")
        gt = self.pick(["{x}.detach()", "detach({x})", "{x}.data"])
        self.bind(Call("detach", gt, "{x}.detach()", {"x": x}, True))

    # ---- gradients ----

    def differentiable(self, ok=lambda x: True):
        return [v for n, v in self.vars.items() if n not in self.params and
                self.val(v).requires_grad and ok(self.val(v))]

    def second(self):
        """grad(…, create_graph=true), so that what follows may differentiate it again."""
        ys = self.differentiable(lambda x: 0 < x.numel() < 200)
        if not ys or not self.params:
            raise Refused
        y, x = self.pick(ys[-6:]), self.vars[self.pick(self.params)]
        more = self.flip(0.75)
        flag = ", create_graph=" if more else ""
        text = "({y}, {x}" if self.val(y).ndim == 0 and self.flip() else "({y}.sum(), {x}"
        args = {"y": y, "x": Var(x.name)}
        self.bind(Call("grad", "grad" + text + flag + ("true)" if more else ")"),
                       "grad_of" + text + flag + ("True)" if more else ")"), args))

    def backward(self):
        ys = self.differentiable(lambda x: x.numel() < 20000)
        if not ys:
            return
        some = self.rng.sample(ys[-8:], min(len(ys[-8:]), self.rng.choice([1, 1, 1, 2, 3])))
        for k, y in enumerate(some):
            have = self.val(y)
            seed = None
            if have.numel() and self.flip(0.6):
                interval = (-2, 2) if have.numel() < 4000 else None
                dtype = str(have.dtype)[6:]
                if have.numel() < 4000:
                    seed = self.leaf(dtype, have.shape, interval, param=False)
            self.add(Backward(y.name, seed, k < len(some) - 1, self.flip()))
            if k == 0 and self.params and self.flip(0.1):
                self.add(ClearGrad(self.pick(self.params)))

    # ---- all of it ----

    def program(self):
        steps = [(self.put, 5), (self.aug, 4), (self.pick_update, 2), (self.loop, 3),
                 (self.branch, 2), (self.function, 3), (self.no_grad, 1.5), (self.detach, 1.5),
                 (self.second, 5), (None, 66), ("probe", 7)]
        for _ in range(self.rng.randint(2, 11)):
            step = self.rng.choices([s for s, _ in steps], [w for _, w in steps])[0]
            if step is None or step == "probe":
                for _ in range(3):
                    if self.call(probe=step == "probe"):
                        break
                continue
            mark = self.mark()
            try:
                step()
            except Exception:
                self.undo(mark)
        mark = self.mark()
        try:
            if self.flip(0.75):
                self.backward()
        except Exception:
            self.undo(mark)
        return self.stmts


def useful(x):
    """Not too large, and not all nan or inf."""
    if x.numel() > 20000 or x.is_complex() or str(x.dtype)[6:] not in KINDS["any"]:
        return False
    if x.is_floating_point() and x.numel():
        d = x.detach()
        return bool((d.isfinite() & (d.abs() < 1e6)).any()) or d.numel() > 100
    return True


def waits(stmts):
    """Whether the program asks for a value: then --emit stops there."""
    def text(s):
        return " ".join(s.lines("gt"))
    return any((isinstance(s, Let) and s.probe) or (isinstance(s, If) and ">" in s.cond.gt and
               ("any" in s.cond.gt or "sum" in s.cond.gt)) or "nonzero" in text(s) or
               (isinstance(s, Let) and s.call.op in ("index_mask", "item", "unique"))
               for s in walk(stmts) if isinstance(s, Stmt))
