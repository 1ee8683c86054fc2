"""diff.py: the differential fuzzer. Random small programs run in gtsh and in PyTorch; values,
shapes, dtypes and gradients must agree. A share of them runs in gtsh's other worlds too: two
workers, three threads, --emit | --replay -, standard input, where every bit must be the plain
run's; the reference engine and another instruction set, where rounding may differ.

    python tests/fuzz/diff.py [-n PROGRAMS] [-s SEED] [--one SEED] [--worlds SHARE] [--no-shrink]

A difference is shrunk, and printed as both programs with the seed that brings it back (--one SEED).
Needs PyTorch; `make test` does not need this.
SPDX-License-Identifier: MIT"""
import argparse
import collections
import re
import sys
import time

try:
    import torch  # noqa: F401
except ImportError:
    print("fuzz-torch: PyTorch is not installed for this Python, so there is nothing to compare "
          "with (GT_PYTHON=PATH chooses another)")
    sys.exit(0)

import diff_gen
import diff_ops
import diff_ops_more  # noqa: F401  adds its rows
import diff_run
import diff_shrink
import diff_worlds
from diff_ast import Let, render, walk

DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
BATCH = 50

# Where gtsh refuses although PyTorch answers, by its message: rulings of the language.
STRICT = [
    r"without axes|is a single number", # an axis of a 0-d tensor
    r"cannot multiply .*inner sizes",   # PyTorch 2.15: attention of halves with sizes that differ
    r"need targets of shape",           # one score and a vector of one target
    r"reach beyond",                    # indices without elements may have any shape in PyTorch
    r"takes number dtypes, not bool",
    r"condition of where must be bool", # PyTorch: uint8 too, deprecated
    r"too many indices: 1 for a tensor of shape \(\)", # its uint8 masks
    r"the bias must be \(out\)",
]

# Errors that end a program although PyTorch goes on.
ENDS = [
    r"nothing to differentiate",        # a derivative that is constant: PyTorch's has a graph
]

# Where gtsh answers although PyTorch refuses, by PyTorch's message: the language says so.
HELPS = [
    r"not implemented for", r"dtype", r"[Ee]xpected .*(type|Float|Long|Half|Bool)",
    r"type .* match",
    r"only supported", r"Integral inputs", r"mat2 must be a matrix", r"boolean",
    r"bool tensor", r"bool input", r"did not match", r"match the broadcast shape",
    r"more than 1 value", r"ZeroDivisionError",
    r"to be in range of \[-1, 0\]",    # an axis of a 0-d tensor, where any is taken
    r"between 0 and 1",                 # values are not looked at before they are needed
    r"negative integer powers", r"same (data)?type", r"floating point", r"can't be cast",
]


def known_names():
    """Which functions and dtypes this gtsh has."""
    names = sorted({n for r in diff_ops.ROWS for n in r.needs} | set(DTYPES))
    text = "".join(f'ok, r = attempt(fn() => {n})\nprint("{n}", ok)\n' for n in names)
    code, out, err = diff_run.gt_run(text)
    if code:
        sys.exit(f"fuzz-torch: {diff_run.GTSH} does not run: {err.strip()}")
    return {line.split()[0] for line in out.splitlines() if line.endswith("true")}


def blame(stmts, found):
    """The row that made a variable, or an error without its numbers: findings with one name are
    likely one bug."""
    if found.kind in ("error", "crash"):
        return re.sub(r"[-\d.]+|'\w+'|\(.*?\)", "N", found.text)[:60]
    ops = [s.call.op for s in walk(stmts) if isinstance(s, Let) and found.name in s.names]
    return ops[-1] if ops else "a gradient" if "." in found.name else "a statement"


class Fuzzer:
    def __init__(self, args):
        self.args = args
        known = known_names()
        self.rows = [r for r in diff_ops.ROWS if all(n in known for n in r.needs)]
        self.dtypes = [d for d in DTYPES if d in known]
        missing = [r.name for r in diff_ops.ROWS if r not in self.rows]
        if missing:
            print("without (not in this gtsh):", " ".join(missing))
        gone = [d for d in DTYPES if d not in self.dtypes]
        if gone:
            print("without the dtypes:", " ".join(gone))
        self.ran = collections.Counter()
        self.calls = collections.Counter()
        self.helped = collections.Counter()
        self.seen = collections.Counter()
        self.findings = []

    def program(self, seed):
        return diff_gen.Gen(seed, self.rows, self.dtypes).program()

    def judge(self, stmts, ours):
        """The first difference of a program that PyTorch runs; None without one."""
        try:
            native = diff_run.torch_run(stmts)
        except Exception:
            return None                 # a candidate of the shrinker that means nothing
        found = diff_run.Judge(stmts, native).all(ours)
        allowed = {"accepts": HELPS, "refuses": STRICT, "error": ENDS}.get(found.kind, []) \
            if found else []
        probes = {n for s in walk(stmts) if isinstance(s, Let) and s.probe for n in s.names}
        if found and found.kind == "dtype" and found.name in probes:
            return None                 # PyTorch takes one operand's where ours promotes
        if any(re.search(h, found.text) for h in allowed):
            self.helped[f"{found.kind}: {found.text.split(';')[0][:100]}"] += 1
            return None
        return found

    def check(self, stmts):
        """One program alone: for shrinking."""
        return self.judge(stmts, diff_run.gt_batch({0: stmts})[0])

    def batch(self, seeds):
        programs = {}
        for s in seeds:
            stmts = self.program(s)
            programs[s] = stmts
            self.calls.update(x.call.op for x in walk(stmts) if isinstance(x, Let))
        ours = diff_run.gt_batch(programs)
        clean = {}
        for s, stmts in programs.items():
            self.ran["programs"] += 1
            found = self.judge(stmts, ours[s])
            if found:
                self.report(s, stmts, found)
            elif "!" not in ours[s]:
                clean[s] = stmts
        return clean

    def report(self, seed, stmts, found):
        key = (found.kind, blame(stmts, found))
        self.seen[key] += 1
        if self.seen[key] > self.args.each:
            return
        if self.args.shrink:
            small = diff_shrink.shrink(stmts, lambda p: self.check(p), found.kind)
            found = self.check(small) or found
            stmts = small
        self.findings.append((seed, stmts, found))
        print(f"\n==== {found.kind} of {found.name or 'the program'} "
              f"(diff.py --one {seed}): {found.text[:1500]}")
        print("-- gtsh")
        print("\n".join(render(stmts, "gt")))
        print("-- PyTorch")
        print("\n".join(render(stmts, "py")), flush=True)

    def worlds(self, programs):
        for seed, stmts, world, text in diff_worlds.check(programs, self.args.shrink):
            self.findings.append((seed, stmts, text))
            print(f"\n==== world {world} (diff.py --one {seed}): {text}")
            print("\n".join(render(stmts, "gt")), flush=True)

    def run(self):
        began, every, batches = time.time(), 0, 0
        seeds = range(self.args.seed, self.args.seed + self.args.programs)
        for at in range(0, len(seeds), BATCH):
            clean = self.batch(seeds[at:at + BATCH])
            batches += 1
            every += self.args.worlds
            if every >= 1:
                every -= 1
                self.ran["programs in worlds"] += diff_worlds.suited(clean)
                self.worlds(clean)
            if sys.stderr.isatty() or batches % 40 == 0:
                print(f"{at + BATCH} programs, {len(self.findings)} findings, "
                      f"{time.time() - began:.0f} s", file=sys.stderr, flush=True)
            if len(self.findings) >= self.args.findings:
                print(f"stops after {len(self.findings)} findings")
                break
        self.summary(time.time() - began)
        return 1 if self.findings else 0

    def summary(self, seconds):
        print(f"\nfuzz-torch: {self.ran['programs']} programs from seed {self.args.seed}, "
              f"{sum(self.calls.values())} calls of {len(self.calls)} rows, "
              f"{self.ran['programs in worlds']} in {len(diff_worlds.WORLDS)} other worlds; "
              f"{sum(self.seen.values())} differ, {seconds:.0f} s "
              f"(PyTorch {torch.__version__})")
        for key, n in self.seen.most_common():
            print(f"  {n:5d} {key[0]} in {key[1]}")
        if self.args.verbose:
            print("answered where PyTorch refuses, refused where it answers, by the language:")
            for text, n in self.helped.most_common(40):
                print(f"  {n:5d} {text}")
            print("calls:", dict(self.calls.most_common()))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-n", dest="programs", type=int, default=2000)
    p.add_argument("-s", dest="seed", type=int, default=1)
    p.add_argument("--one", type=int, help="the program of this seed: shows it, and what it gives")
    p.add_argument("--worlds", type=float, default=0.1, help="share of programs run in all worlds")
    p.add_argument("--findings", type=int, default=20, help="stop after so many")
    p.add_argument("--each", type=int, default=1, help="findings of one kind in one row to shrink")
    p.add_argument("--no-shrink", dest="shrink", action="store_false")
    p.add_argument("-v", dest="verbose", action="store_true")
    args = p.parse_args()
    if args.one is not None:
        args.seed, args.programs, args.worlds = args.one, 1, 1
        fuzzer = Fuzzer(args)
        print("\n".join(render(fuzzer.program(args.one), "gt")))
        sys.exit(fuzzer.run())
    sys.exit(Fuzzer(args).run())


if __name__ == "__main__":
    main()
