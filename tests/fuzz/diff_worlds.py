"""diff_worlds.py: the same programs in gtsh's other worlds. What the laws promise to the bit is
compared as text with all digits: two workers, other numbers of threads, --emit | --replay -,
standard input. The reference engine and another instruction set agree within the dtype's rounding.
SPDX-License-Identifier: MIT"""
import re

from diff_gen import waits
from diff_run import GT_HEAD_WORLD, gt_program, gt_run

# name: options, environment, how it is run, relative tolerance (0: the same text)
WORLDS = {
    "-w 2": (["-w", "2"], {}, "file", 0),
    "--threads 3": (["--threads", "3"], {}, "file", 0),
    "emit | replay": ([], {}, "replay", 0),
    "stdin": ([], {}, "stdin", 0),
    "GT_ISA=base": ([], {"GT_ISA": "base"}, "file", 1e-4),
    "--engine reference": (["--engine", "reference"], {}, "file", 1e-4),
}
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)")


def suited(programs):
    return sum(not waits(s) for s in programs.values())


def one(text, world):
    options, env, how, _ = WORLDS[world]
    if how == "stdin":
        return gt_run(text, options, env, stdin=text)
    if how == "replay":
        code, out, err = gt_run(text, ["--emit", *options], env)
        if code:
            return code, out, "--emit: " + err
        return gt_run(text, ["--replay", "-"], env, stdin=out)
    return gt_run(text, options, env)


def parts(out):
    """{program: its lines}"""
    found = {}
    for piece in re.split(r"^#(?=\d+$)", out, flags=re.M)[1:]:
        head, _, rest = piece.partition("\n")
        found[int(head)] = rest
    return found


def near(a, b, tolerance):
    """Whether two texts are the same but for numbers that differ a little. A half's last digits
    and what grew from them may differ much: only words, shapes and counts are compared there."""
    if a == b:
        return True
    if not tolerance:
        return False
    x, y = NUMBER.findall(a), NUMBER.findall(b)
    if len(x) != len(y):
        return False
    half = "float16" in a
    for p, q in zip(x, y):
        p, q = float(p), float(q)
        if p == q or p != p and q != q:
            continue
        limit = 0.1 if half else tolerance
        if not abs(p - q) <= limit * max(1.0, abs(p), abs(q)):
            return False
    return True


def compare(programs):
    """[(seed, world, text)] of what differs."""
    text = GT_HEAD_WORLD + "".join(gt_program(i, s, True) for i, s in programs.items())
    code, out, err = gt_run(text)
    if code:
        return [(i, "plain", err[-500:]) for i in programs] if len(programs) == 1 else \
            [f for i, s in programs.items() for f in compare({i: s})]
    plain, bad = parts(out), []
    for world in WORLDS:
        code, out, err = one(text, world)
        if code and len(programs) > 1:
            bad += [f for i, s in programs.items() for f in compare({i: s}) if f[1] == world]
            continue
        got = parts(out)
        for i in programs:
            if code:
                bad.append((i, world, f"exit {code}: {err[-500:]}"))
            elif not near(plain[i], got.get(i, ""), WORLDS[world][3]):
                bad.append((i, world, first(plain[i], got.get(i, ""), WORLDS[world][3])))
    return bad


def first(a, b, tolerance):
    for x, y in zip(a.splitlines(), b.splitlines()):
        if not near(x, y, tolerance):
            return f"plain {x[:300]!r}, here {y[:300]!r}"
    return f"plain {len(a.splitlines())} lines, here {len(b.splitlines())}"


def check(programs, shrink=True):
    """Findings (seed, statements, world, text); programs that wait cannot be emitted and are left
    out."""
    programs = {i: s for i, s in programs.items() if not waits(s)}
    if not programs:
        return
    for seed, world, text in compare(programs)[:5]:
        stmts = programs[seed]
        if shrink:
            stmts, text = reduce(stmts, world, text)
        yield seed, stmts, world, text


def reduce(stmts, world, text):
    """Leaves out statements while the worlds still differ."""
    at = len(stmts) - 1
    while at >= 0:
        less = stmts[:at] + stmts[at + 1:]
        found = [f for f in compare({0: less}) if f[1] == world] if world != "plain" else []
        if found:
            stmts, text = less, found[0][2]
        at -= 1
    return stmts, text
