"""spec_gamma.py: gamma functions and divisors; see functions.py. SPDX-License-Identifier: MIT"""
from functions import cases

for name in ("lgamma", "digamma"):     # PyTorch's gradient of digamma has ten digits
    cases(name, f"""
{name}(x) | f64(3, 4, lo=0.1, hi=9) ; f64v(-0.5, -1.3, -2.7, 30.5, 171) | nograd
{name}(x) | f(3, 4, lo=0.1, hi=9) ; f16(4, lo=1, hi=4) ; bf16(4, lo=1, hi=4) ; f(0, 2) ; f(lo=1, hi=5)
{name}(x) | fv(0.0, -2, inf, nan, 1e-30, 1e20) | nograd
x.{name}() | f(2, 2, lo=1, hi=5)
""")
for name in ("gcd", "lcm"):
    cases(name, f"""
{name}(x, y) | i64(4), i64(4, s=1) ; i32(3), i32(3, s=1) ; u8(3), u8(3, s=1) ; i8(3), i8(3, s=1) ; i64(2, 3), i64(3, s=1) ; i64v(0, 0, 5), i64v(0, 7, 0) ; i64v(6765, -610), i64v(4181, 377) ; i64(0), i64(0)
x.{name}(y) | i64(2, 2), i64(2, s=1)
""")
