"""diff_ast.py: a random program as a list of statements, and its text in both languages.

One tree, two spellings: every statement knows how it is written for gtsh and for PyTorch, so that
what is compared is the same program by construction. Names are the same on both sides. A call holds
its two spellings as templates; the arguments in them are names of variables (Var), host values
(numbers, lists, none), dtypes (Dtype) or index items (Index).

Not here: which calls exist (diff_ops*.py), how programs are drawn (diff_gen.py), how they run
(diff_run.py).
SPDX-License-Identifier: MIT"""
import math
from dataclasses import dataclass, field

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("uint8", "int8", "int32", "int64")


@dataclass(frozen=True)
class Var:
    """clone: a parameter that is updated in place somewhere; PyTorch's graph would otherwise see
    the new values, where a graph of ours keeps those that it was built with."""
    name: str
    clone: bool = False


@dataclass(frozen=True)
class Dtype:
    name: str


@dataclass(frozen=True)
class Slice:
    start: object = None
    stop: object = None
    step: object = None


@dataclass(frozen=True)
class Index:
    """What stands between the brackets: ints, Slice, None (a new axis), ... , lists, Var."""
    items: tuple


@dataclass(frozen=True)
class Raw:
    """A spelling of its own in each language."""
    gt: str
    py: str


def lit(v, lang):
    """The text of an argument."""
    if isinstance(v, Var):
        return v.name + (".clone()" if v.clone and lang == "py" else "")
    if isinstance(v, Raw):
        return v.gt if lang == "gt" else v.py
    if isinstance(v, Dtype):
        return v.name if lang == "gt" else "torch." + v.name
    if isinstance(v, Index):
        return ", ".join(item(i, lang) for i in v.items)
    if isinstance(v, bool):
        return str(v).lower() if lang == "gt" else str(v)
    if v is None:
        return "none" if lang == "gt" else "None"
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(lit(x, lang) for x in v) + "]"
    if isinstance(v, str):
        return '"' + v + '"'
    if isinstance(v, float):
        if math.isnan(v):
            return "nan"
        if math.isinf(v):
            return "inf" if v > 0 else "-inf"
    return repr(v)


def item(i, lang):
    if i is Ellipsis:
        return "..."
    if isinstance(i, Slice):
        part = ["" if x is None else lit(x, lang) for x in (i.start, i.stop, i.step)]
        return ":".join(part if part[2] else part[:2])
    if isinstance(i, (list, tuple)) and lang == "py":
        return "torch.tensor(" + lit(i, lang) + ", dtype=torch.int64)"
    return lit(i, lang)


def variables(v):
    """The names that an argument mentions."""
    if isinstance(v, Var):
        yield v.name
    elif isinstance(v, Index):
        for i in v.items:
            yield from variables(i)
    elif isinstance(v, (list, tuple)):
        for x in v:
            yield from variables(x)
    elif isinstance(v, Slice):
        for x in (v.start, v.stop, v.step):
            yield from variables(x)


@dataclass
class Call:
    """op: the row of the table. exact: both sides must agree to the bit where their inputs do.
    kinks: the arguments that decide something, never spread by noise."""
    op: str
    gt: str
    py: str
    args: dict
    exact: bool = False

    def text(self, lang, noise=False):
        args = {k: lit(v, lang) for k, v in self.args.items()}
        if noise and self.op != "grad":
            f = "B" if self.exact else "N"
            for k, v in self.args.items():
                if isinstance(v, Var):
                    args[k] = f"{f}({args[k]})"
                elif isinstance(v, list) and v and all(isinstance(x, Var) for x in v):
                    args[k] = "[" + ", ".join(f"{f}({lit(x, lang)})" for x in v) + "]"
        text = (self.gt if lang == "gt" else self.py).format(**args)
        if noise:
            text = ("H(" if self.exact else "N(") + text + ")"
        return text

    def uses(self):
        for v in self.args.values():
            yield from variables(v)


# ---- statements ----
# Every statement: lines(lang, noise) -> list of lines; uses() -> names read; makes() -> names that
# hold results; bodies() -> lists of statements inside.

class Stmt:
    def bodies(self):
        return []

    def makes(self):
        return []

    def uses(self):
        return []


@dataclass
class Leaf(Stmt):
    """values: flat list of host numbers. formula: instead of values, (a, b, c, d) for
    ((arange(n) * a) % b - c) / d, for tensors too large to be written down."""
    name: str
    dtype: str
    shape: list
    values: list
    param: bool = False
    formula: tuple = None

    def makes(self):
        return [self.name]

    def nested(self, lang):
        def part(shape, at):
            if not shape:
                return lit(self.values[at], lang)
            step = math.prod(shape[1:])
            return "[" + ", ".join(part(shape[1:], at + i * step) for i in range(shape[0])) + "]"
        return part(self.shape, 0)

    def lines(self, lang, noise=False):
        gt = lang == "gt"
        dtype = lit(Dtype(self.dtype), lang)
        if self.formula:
            a, b, c, d = self.formula
            n = math.prod(self.shape)
            text = f"((arange({n}) * {a}) % {b} - {c})" if gt else \
                f"((torch.arange({n}) * {a}) % {b} - {c})"
            text += f".to({dtype})" + (f" / {d}" if d != 1 else "") + f".reshape({self.shape})"
        elif math.prod(self.shape) == 0:
            text = f"{'' if gt else 'torch.'}zeros({lit(self.shape, lang)}, dtype={dtype})"
        else:
            text = f"{'' if gt else 'torch.'}tensor({self.nested(lang)}, dtype={dtype})"
        if self.param:
            text = f"param({text})"
        return [f"{self.name} = {text}"]


@dataclass
class Let(Stmt):
    """probe: the call may be one that must be refused; then both sides say so."""
    names: list
    call: Call
    probe: bool = False

    def makes(self):
        return self.names

    def uses(self):
        return list(self.call.uses())

    def lines(self, lang, noise=False):
        text = self.call.text(lang, noise)
        if self.probe:
            text = f"probe(fn() => {text})" if lang == "gt" else f"probe(lambda: {text})"
        return [", ".join(self.names) + " = " + text]


@dataclass
class Put(Stmt):
    """x[index] = value, or op= with an operator."""
    name: str
    index: Index
    value: object
    op: str = ""

    def makes(self):
        return [self.name]

    def uses(self):
        return [self.name, *variables(self.index), *variables(self.value)]

    def lines(self, lang, noise=False):
        index, value = lit(self.index, lang), lit(self.value, lang)
        if lang == "gt":
            return [f"{self.name}[{index}] {self.op}= {value}"]
        lines = [f"{self.name} = {self.name}.clone()"]
        if self.op:
            return lines + [f"{self.name}[{index}] = {self.name}[{index}] {self.op} {value}"]
        return lines + [f"{self.name}[{index}] = {value}"]


@dataclass
class Aug(Stmt):
    """x op= e: a new value under an old name, or, for a parameter, an update in place."""
    name: str
    op: str
    value: object
    param: bool = False

    def makes(self):
        return [self.name]

    def uses(self):
        return [self.name, *variables(self.value)]

    def lines(self, lang, noise=False):
        value = lit(self.value, lang)
        if lang == "gt":
            return [f"{self.name} {self.op}= {value}"]
        if self.param:
            return [f"update({self.name}, {self.name}.detach() {self.op} {value})"]
        return [f"{self.name} = {self.name} {self.op} {value}"]


@dataclass
class For(Stmt):
    var: str
    count: int
    body: list

    def bodies(self):
        return [self.body]

    def lines(self, lang, noise=False):
        return block(f"for {self.var} in range({self.count})", self.body, lang, noise)


@dataclass
class If(Stmt):
    cond: Raw
    body: list
    orelse: list = field(default_factory=list)

    def bodies(self):
        return [self.body, self.orelse]

    def lines(self, lang, noise=False):
        lines = block(f"if {lit(self.cond, lang)}", self.body, lang, noise)
        if self.orelse:
            lines += block("else", self.orelse, lang, noise)
        return lines


@dataclass
class Def(Stmt):
    """A function; result is the name of the local that it returns."""
    name: str
    params: list
    body: list
    result: str

    def makes(self):
        return [self.name]

    def bodies(self):
        return [self.body]

    def lines(self, lang, noise=False):
        head = ("fn " if lang == "gt" else "def ") + f"{self.name}({', '.join(self.params)})"
        lines = block(head, self.body, lang, noise)
        last = lines.pop() if lang == "gt" else None
        lines.append(f"    return {self.result}")
        return lines + ([last] if last else [])


@dataclass
class NoGrad(Stmt):
    body: list

    def bodies(self):
        return [self.body]

    def lines(self, lang, noise=False):
        return block("no_grad" if lang == "gt" else "with torch.no_grad()", self.body, lang, noise)


@dataclass
class Backward(Stmt):
    """seed: a Var of y's shape, or None for y.sum()."""
    y: str
    seed: object = None
    retain: bool = False
    method: bool = False

    def uses(self):
        return [self.y, *variables(self.seed)]

    def lines(self, lang, noise=False):
        gt = lang == "gt"
        y = self.y if self.seed else f"{self.y}.sum()"
        args = [lit(self.seed, lang)] if self.seed else []
        args += [f"retain_graph={lit(True, lang)}"] if self.retain else []
        if gt and not self.method:
            return [f"backward {y}" if not args else f"backward({', '.join([y] + args)})"]
        return [f"{y}.backward({', '.join(args)})"]


@dataclass
class ClearGrad(Stmt):
    name: str

    def uses(self):
        return [self.name]

    def lines(self, lang, noise=False):
        return [f"{self.name}.grad = {lit(None, lang)}"]


def block(head, body, lang, noise):
    if lang == "gt":
        inside = [line for s in body for line in s.lines(lang)]
        return [head + " {"] + ["    " + x for x in inside] + ["}"]
    inside = [line for s in body for line in s.lines(lang, noise)]
    return [head + ":"] + ["    " + x for x in inside or ["pass"]]


def render(stmts, lang, noise=False):
    """The statements' text, lines without indentation."""
    return [line for s in stmts for line in s.lines(lang, noise)]


def walk(stmts):
    """All statements, those inside blocks too."""
    for s in stmts:
        yield s
        for body in s.bodies():
            yield from walk(body)


def results(stmts):
    """What a program shows, in order: names made at its top level, each once, and `name.grad` of
    parameters. Names made inside blocks only may not exist."""
    names, params = [], []
    for s in stmts:
        names += [n for n in s.makes() if n not in names and not isinstance(s, Def)]
        if isinstance(s, Leaf) and s.param:
            params.append(s.name)
    return names + [f"{p}.grad" for p in params]
