"""The others' side of rows_bench and products_bench: reads lines "OP DTYPE SECONDS OPERANDS | ATTRS", as in rows_bench.c, and
answers each with the seconds of the best call of that row, measured over about so many seconds, or "-" where PyTorch has no
such function. matmul_numpy is NumPy's product.
usage: rows.py THREADS"""
import os, re, sys, time

threads = sys.argv[1]
for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]: os.environ[name] = threads
import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(int(threads))
clock = time.thread_time if threads == "1" else time.perf_counter
DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
          "i32": torch.int32, "u8": torch.uint8, "i8": torch.int8, "b1": torch.bool}

def operand(text, dtype):
    """T[2,3]~how: see rows_bench.c."""
    name, shape, turned, how = re.fullmatch(r"(\w+)\[([\d,]*)\](')?(?:~(\w+))?", text).groups()
    d = dtype if name == "T" else DTYPES[name]
    shape = [int(n) for n in shape.split(",")]
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    mixed = (i * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    if how == "eye": x = i // np.uint64(shape[-1]) == i % np.uint64(shape[-1])
    elif how == "ramp": x = i
    elif how: x = mixed % np.uint64(int(how))
    elif d.is_floating_point: x = (mixed % np.uint64(1000)).astype(np.float64) * 0.003 - 1.2
    else: x = mixed % np.uint64(3)
    t = torch.from_numpy(x.astype(np.float64)).to(d).reshape(shape)
    return t.transpose(-1, -2).contiguous().transpose(-1, -2) if turned else t

def slice_put(x, v):
    y = x.clone()
    y[0:1024:2] = v
    return y
def lu_solve(x, b, lu, perm):
    pivots = perm.to(torch.int32) + 1
    return lambda: torch.linalg.lu_solve(lu, pivots, b)
def pool_dx(dy, a):
    x = torch.zeros(a["shape"], dtype=dy.dtype)
    return lambda: torch.ops.aten.avg_pool2d_backward(dy, x, [2, 2], [2, 2], [0, 0], False, True, None)

OWN = {"floordiv": torch.floor_divide, "mod": torch.remainder, "bitand": torch.bitwise_and, "bitor": torch.bitwise_or,
       "bitxor": torch.bitwise_xor, "bitnot": torch.bitwise_not, "gelu": F.gelu, "silu": F.silu, "softplus": F.softplus,
       "gelu_dx": lambda x: torch.ops.aten.gelu_backward(x, x), "slice_put": slice_put, "cholesky": torch.linalg.cholesky, "lu": torch.linalg.lu_factor,
       "qr_packed": torch.linalg.qr, "eigh_packed": torch.linalg.eigh, "svd_packed": torch.linalg.svd,
       "solve_triangular": lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), "matmul": torch.matmul,
       "reshape": lambda x: x.contiguous()}

def row(op, x, dtype, attrs):
    """The call, or None."""
    a = {k: eval(v, {"true": True, "false": False}) for k, v in re.findall(r'(\w+)=("\w+"|\[[\d,]*\]|\w+)', attrs.replace("rng=1:2", ""))}
    words = attrs.split()
    if op in ["rand", "randn", "randint", "full", "arange"]:
        shape = [int(n) for n in words[0][1:-1].split(",")]
        return {"rand": lambda: torch.rand(shape, dtype=dtype), "randn": lambda: torch.randn(shape, dtype=dtype),
                "randint": lambda: torch.randint(0, 5, shape, dtype=dtype), "full": lambda: torch.full(shape, 1, dtype=dtype),
                "arange": lambda: torch.arange(0, 5 * shape[0], 5, dtype=dtype)}[op]
    if op in ["recurrence", "polygamma"]: return None
    if op == "matmul_numpy":
        if dtype == torch.bfloat16: return None
        a, b = [t.numpy() for t in x]
        return lambda: np.matmul(a, b)
    if op == "cast": return lambda: x[0].to(DTYPES[words[0]])
    if op == "cat": return lambda: torch.cat(x, a["axis"])
    if op == "solve": return lu_solve(*x)
    if op == "avg_pool_dx": return pool_dx(x[0], a)
    if op == "conv": return lambda: F.conv2d(*x, padding=1)
    if op == "conv_dx": return lambda: torch.nn.grad.conv2d_input(a["shape"], x[1], x[0], padding=1)
    if op == "conv_dw": return lambda: torch.nn.grad.conv2d_weight(x[0], a["shape"], x[1], padding=1)
    if op == "max_pool": return lambda: F.max_pool2d(x[0], 2, return_indices=True)
    if op == "avg_pool": return lambda: F.avg_pool2d(x[0], 2)
    if op in ["gather", "scatter_add"]: return lambda: getattr(torch, op)(x[0], a["axis"], *x[1:])
    if op == "scatter_reduce": return lambda: torch.scatter_reduce(x[0], a["axis"], x[1], x[2], a["reduce"])
    if op == "index": return lambda: x[0][x[1]]
    if op == "index_put": return lambda: x[0].index_put((x[2],), x[1])
    if op == "topk": return lambda: torch.topk(x[0], a["k"], a["axis"])
    if op in ["max", "min"]: op = "a" + op
    f = OWN.get(op) or getattr(torch, op)
    if "axis" in a: return lambda: f(x[0], a["axis"])
    return lambda: f(*x)

def best(f, seconds):
    f()
    start, least = clock(), 1e9
    while True:
        n = 1 + int(2e-5 / min(least, 1))
        begin = clock()
        for _ in range(n): f()
        least = min(least, (clock() - begin) / n)
        if clock() - start >= seconds: return least

calls = {}                                            # of the current row
print(torch.__version__, torch.backends.cpu.get_cpu_capability(), flush=True)
for line in sys.stdin:
    words, attrs = line.split("|")
    op, dtype, seconds, *operands = words.split()
    try:
        if line not in calls:
            calls = {line: row(op, [operand(t, DTYPES[dtype]) for t in operands], DTYPES[dtype], attrs)}
        print("-" if calls[line] is None else f"{best(calls[line], float(seconds)):.9f}", flush=True)
    except (RuntimeError, NotImplementedError, AttributeError, TypeError): print("-", flush=True)
