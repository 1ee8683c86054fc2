# Makes tests/tensor/einsum.gt and tests/tensor/linalg.gt: what PyTorch says about einsum and linear algebra, values and
# gradients, as programs that compare. Needs torch; `make test` does not.
#   python3 tests/golden/make_linalg.py
import random
import torch

HEAD = """# Made by tests/golden/make_linalg.py with torch %s: values and gradients.
fn weigh(y) => (y * sin(arange(y.numel(), dtype=float64) * 1.1 + 0.5).reshape(y.shape)).sum()
fn near(what, got, want) {
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    if want.numel() > 0 { assert max(abs(got - want)) < 1e-9 * (1 + max(abs(want))), f"{what}: {got}, not {want}" }
}
fn check(what, f, xs, want, slopes) {
    xs = [param(x) for x in xs]
    y = f(*xs)
    near(what, y, want)
    for i, g in enumerate(grad(weigh(y), xs)) { near(f"{what}, gradient {i}", g, slopes[i]) }
}
""" % torch.__version__.split("+")[0]

def literal(t):
    values = ", ".join(repr(round(v, 12) if abs(v) < 1e6 else v) for v in t.detach().double().flatten().tolist())
    shape = "" if t.dim() == 1 and len(t) else f".reshape({list(t.shape)})"
    return f"tensor([{values}], dtype=float64){shape}"

def check(out, what, f, text, xs):
    xs = [x.double().requires_grad_() for x in xs]
    y = f(*xs)
    w = torch.sin(torch.arange(y.numel(), dtype=torch.float64) * 1.1 + 0.5).reshape(y.shape)
    slopes = torch.autograd.grad((y * w).sum(), xs) if xs else []
    out.write(f'check("{what}", {text},\n    [{", ".join(map(literal, xs))}], {literal(y)},\n    [{", ".join(map(literal, slopes))}])\n')

def random_spec(rng):
    size = {c: rng.choice([1, 2, 3, 4]) for c in "ijklAB"}
    dots = [rng.choice([1, 2, 3]) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    terms, shapes, has_dots = [], [], False
    for _ in range(rng.choice([1, 1, 2, 2, 2, 2, 3, 3, 4])):
        names = [rng.choice("ijklAB") for _ in range(rng.randint(0, 3))]
        shape = [size[c] if rng.random() > 0.07 or names.count(c) > 1 else 1 for c in names]
        if dots and rng.random() < 0.7:
            has_dots = True
            at, n = rng.randint(0, len(names)), rng.randint(0, len(dots))
            names.insert(at, "...")
            shape[at:at] = [d if rng.random() > 0.2 else 1 for d in dots[len(dots) - n:]]
        terms.append("".join(names)), shapes.append(shape)
    spec = ",".join(terms)
    if rng.random() < 0.6:
        names = sorted(set("".join(terms).replace(".", "")))
        rng.shuffle(names)
        result = names[:rng.randint(0, len(names))]
        if has_dots and rng.random() < 0.8: result.insert(rng.randint(0, len(result)), "...")
        spec += "->" + "".join(result)
    return spec, shapes

def einsum(path, n):
    rng = random.Random(5)
    torch.manual_seed(5)
    with open(path, "w") as out:
        out.write(HEAD)
        fixed = [("ij,jk->ik", [[2, 3], [3, 4]]), ("bhqd,bhkd->bhqk", [[2, 2, 3, 2], [2, 2, 4, 2]]), ("bqhd,bkhd->bhqk", [[2, 3, 2, 2], [2, 2, 2, 2]]),
                 ("ii->i", [[3, 3]]), ("ii", [[3, 3]]), ("iij->j", [[2, 2, 3]]), ("i,j->ij", [[2], [3]]), ("i,i", [[3], [3]]), ("ij->ji", [[2, 3]]),
                 ("ij->", [[2, 3]]), ("...i,...i->...", [[2, 1, 3], [4, 3]]), ("i...->...i", [[2, 3, 4]]), ("ik,kl,lm,mn->in", [[2, 3], [3, 4], [4, 2], [2, 3]]),
                 ("bi,bj->bij", [[2, 3], [2, 4]]), (" b i , b i -> b ", [[2, 3], [2, 3]]), ("ij,jk->ik", [[0, 3], [3, 2]]), ("ij,jk->ik", [[2, 0], [0, 2]]), ("ijij->", [[2, 3, 2, 3]])]
        while n > 0:
            spec, shapes = fixed.pop(0) if fixed else random_spec(rng)
            xs = [torch.randint(-3, 4, s) for s in shapes]
            try: torch.einsum(spec.replace(" ", ""), *xs)
            except RuntimeError: continue
            check(out, f"{spec}", lambda *a: torch.einsum(spec.replace(" ", ""), *a), f'fn(*xs) => einsum("{spec}", *xs)', xs)
            n -= 1

def linalg(path):
    torch.manual_seed(6)
    r = lambda *s: torch.randn(*s, dtype=torch.float64).mul(64).round().div(64)
    spd = lambda *s: (lambda m: m @ m.mT + torch.eye(s[-1], dtype=torch.float64))(r(*s))
    L = torch.linalg
    a3, a2, b3, v3, s3 = r(3, 3) + 2 * torch.eye(3), r(2, 3, 3) + 2 * torch.eye(3), r(3, 2), r(3), spd(3, 3)
    with open(path, "w") as out:
        out.write(HEAD)
        one = lambda text, f, *xs: check(out, text.replace('"', "'"), f, f"fn({', '.join('abc'[:len(xs)])}) => {text}", xs)
        for x in [a3, a2, r(1, 1) + 3, r(0, 3, 3), r(0, 0)]:
            one("inv(a)", L.inv, x)
            one("det(a)", L.det, x)
            one("slogdet(a)[1]", lambda a: L.slogdet(a)[1], x)
            one("matrix_power(a, 3)", lambda a: L.matrix_power(a, 3), x)
            one("matrix_power(a, -2)", lambda a: L.matrix_power(a, -2), x)
            one("linalg.slogdet(a)[0] + 0 * sum(a)", lambda a: L.slogdet(a)[0] + 0 * a.sum(), x)
        one("matrix_power(a, 0) + 0 * a", lambda a: L.matrix_power(a, 0) + 0 * a, a2)
        one("logdet(a)", torch.logdet, s3)
        for x in [s3, spd(2, 2, 3, 3), spd(1, 1), torch.zeros(0, 0)]:
            one("cholesky(a @ a.transpose(-1, -2))", lambda a: L.cholesky(a @ a.mT), x)
            one("cholesky(a @ a.transpose(-1, -2), upper=true)", lambda a: L.cholesky(a @ a.mT, upper=True), x)
        for x, b in [(a3, b3), (a3, v3), (a2, b3), (a3, r(4, 3, 1)), (a2, r(2, 3)), (a2.unsqueeze(1), r(4, 3, 2)), (r(0, 0), r(0, 2))]:
            one("solve(a, b)", L.solve, x, b)
        one("solve(a, b, left=false)", lambda a, b: L.solve(a, b, left=False), a2, r(2, 2, 3))
        for text, f in [("upper=true", dict(upper=True)), ("upper=false", dict(upper=False)), ("upper=true, unitriangular=true", dict(upper=True, unitriangular=True))]:
            for x, b in [(a3, b3), (a2, b3), (a3, r(2, 3, 1))]:
                one(f"solve_triangular(a, b, {text})", lambda a, b: L.solve_triangular(a, b, **f), x, b)
                one(f"solve_triangular(a, b.transpose(-1, -2), {text}, left=false)", lambda a, b: L.solve_triangular(a, b.mT, left=False, **f), x, b)
        one("cholesky_solve(a, cholesky(b @ b.T))", lambda a, b: torch.cholesky_solve(a, L.cholesky(b @ b.mT)), b3, s3)
        one("cholesky_inverse(cholesky(a @ a.T, upper=true), upper=true)", lambda a: torch.cholesky_inverse(L.cholesky(a @ a.mT, upper=True), upper=True), s3)
        one("lu(a)[0]", lambda a: L.lu_factor(a)[0], a2)
        one("mm(a, b)", torch.mm, a3, b3), one("bmm(a, b)", torch.bmm, a2, r(2, 3, 2)), one("mv(a, b)", torch.mv, a3, v3)
        one("dot(a, b)", torch.dot, v3, r(3)), one("vdot(a, b)", torch.vdot, v3, r(3))
        one("addmm(a, b, c, beta=0.5, alpha=2)", lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2), r(2), a3, b3)
        one("baddbmm(a, b, c)", torch.baddbmm, r(3, 2), a2, r(2, 3, 2)), one("addmv(a, b, c)", torch.addmv, v3, a3, r(3))
        one("addbmm(a, b, c)", torch.addbmm, b3, a2, r(2, 3, 2))
        one("tensordot(a, b, 1)", lambda a, b: torch.tensordot(a, b, 1), a2, b3), one("tensordot(a, b, 0)", lambda a, b: torch.tensordot(a, b, 0), v3, b3)
        one("tensordot(a, b)", torch.tensordot, a2, r(3, 3, 2))
        one("tensordot(a, b, [[0, -1], [1, 0]])", lambda a, b: torch.tensordot(a, b, [[0, -1], [1, 0]]), a2, r(3, 2, 4))
        one("kron(a, b)", torch.kron, b3, r(2, 2)), one("kron(a, b)", torch.kron, v3, r(2, 2)), one("kron(a, b)", torch.kron, r(2, 1, 2, 1, 2), r(2, 2, 1, 2, 1))
        one("cross(a, b)", torch.cross, r(2, 3), r(2, 3)), one("linalg.cross(a, b)", L.cross, r(2, 3), r(1, 3)), one("linalg.cross(a, b, 0)", lambda a, b: L.cross(a, b, dim=0), r(3, 3), r(3, 1))
        one("multi_dot([a, b, c])", lambda a, b, c: L.multi_dot([a, b, c]), r(2, 5), r(5, 1), r(1, 4)), one("multi_dot([a, b, c])", lambda a, b, c: L.multi_dot([a, b, c]), v3, a3, r(3))
        for text, f in [("linalg.norm(a)", L.norm), ("linalg.norm(a, 1)", lambda a: L.norm(a, 1)), ("linalg.norm(a, inf)", lambda a: L.norm(a, float("inf"))),
                        ("linalg.norm(a, -inf, [1, 0])", lambda a: L.norm(a, -float("inf"), (1, 0))), ('linalg.norm(a, \\"fro\\", keepdims=true)', lambda a: L.norm(a, "fro", keepdim=True)),
                        ("linalg.norm(a, 3, axis=1)", lambda a: L.norm(a, 3, dim=1)), ("linalg.vector_norm(a, 1)", lambda a: L.vector_norm(a, 1)), ("linalg.vector_norm(a, -inf, 0)", lambda a: L.vector_norm(a, -float("inf"), 0)),
                        ("linalg.matrix_norm(a, -1, keepdims=true)", lambda a: L.matrix_norm(a, -1, keepdim=True))]:
            check(out, text.replace('\\"', "'"), f, "fn(a) => " + text.replace('\\"', '"'), [a3])

einsum("tests/tensor/einsum.gt", 80)
linalg("tests/tensor/linalg.gt")
