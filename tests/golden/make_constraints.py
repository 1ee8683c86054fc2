#!/usr/bin/env python3
"""make_constraints.py: writes tests/golden/constraints.gt: which values and parameters PyTorch's distributions refuse.

Run by hand where PyTorch is installed (python tests/golden/make_constraints.py > tests/golden/constraints.gt); its output is
committed, so that no test needs it. One expression serves both languages; a pair "gt | python" where they differ.
SPDX-License-Identifier: MIT
"""
import warnings
import torch
from torch import eye, ones, tensor, zeros
from torch.distributions import *

inf, nan = float("inf"), float("nan")
warnings.simplefilter("ignore")

SCALARS = {"Normal(0., 1.)": "nan inf 1.", "Laplace(0., 1.)": "nan inf 1.", "LogNormal(0., 1.)": "0. -1. inf nan 2.",
           "Uniform(0., 1.)": "0. 1. 1.01 -0.01 nan", "Exponential(1.)": "0. -1e-9 inf nan", "Gamma(2., 1.)": "0. -1. nan 0.5",
           "Gamma(1., 1.)": "0. 2.", "Beta(2., 2.)": "0. 1. 1.1 -0.1 nan", "Beta(1., 1.)": "0. 1.",
           "Bernoulli(0.3)": "0.5 2. -1. nan 1. 0.", "Bernoulli(0.)": "0. 1.", "Bernoulli(1.)": "0. 1.",
           "Categorical(tensor([0.5, 0.5]))": "0.5 1. 1 2 -1 nan", "Categorical(tensor([0., 1.]))": "0 1",
           "Poisson(2.)": "1.5 -1. 0. inf nan 3.", "Poisson(0.)": "0. 1."}
VECTORS = {"Dirichlet(tensor([1., 2.]))": "[0.5,0.5] [0.,1.] [0.5,0.6] [-0.5,1.5] [0.5,0.5000005] [0.5,0.500005] [nan,0.5] "
                                          "[[0.5,0.5],[0.5,0.6]] [0.2,0.3,0.5] [1.] 1.",
           "MultivariateNormal(zeros(2), eye(2))": "[1.,0.] [nan,0.] [0.,0.,0.] [0.] 0.",
           "Independent(Normal(tensor([0., 0.]), 1.), 1)": "[1.,0.] [nan,0.] [0.,0.,0.]",
           "Independent(Exponential(tensor([1., 1.])), 1)": "[1.,0.] [1.,-1.]",
           "Normal(tensor([0., 0.]), 1.)": "[0.,0.,0.] [[0.],[0.]]",
           "Categorical(tensor([[0.5, 0.5], [0.1, 0.9]]))": "[0,1] [0,1,1]"}
MADE = """Normal(nan, 1.); Normal(0., nan); Normal(0., 0.); Normal(0., inf); Normal(inf, 1.); LogNormal(nan, 1.); LogNormal(0., 0.)
Laplace(nan, 1.); Laplace(0., 0.); Exponential(0.); Exponential(nan); Exponential(inf); Gamma(0., 1.); Gamma(1., 0.); Gamma(nan, 1.)
Beta(0., 1.); Beta(1., nan); Bernoulli(1.1); Bernoulli(-0.1); Bernoulli(nan); Bernoulli(logits=tensor(nan)); Bernoulli(logits=tensor(inf))
Uniform(1., 1.); Uniform(2., 1.); Uniform(nan, 1.); Uniform(0., tensor([1., inf])); Uniform(0., tensor([1., 0.]))
Poisson(-1.); Poisson(nan); Poisson(inf); Poisson(0.); Dirichlet(tensor(2.)); Dirichlet(tensor([2., 0.])); Dirichlet(tensor([2., nan]))
Categorical(tensor([0.5, -0.1])); Categorical(tensor([0., 0.])); Categorical(tensor([nan, 1.])); Categorical(tensor([inf, 1.]))
Categorical(tensor(1.)); Categorical(tensor([[0.5, 0.5], [0., 0.]])); Categorical(logits=tensor(1.)); Categorical(logits=tensor([nan, 1.]))
Categorical(logits=tensor([inf, 1.])); Categorical(logits=tensor([-inf, 1.])); Categorical(logits=tensor([-inf, -inf]))
MultivariateNormal(zeros(2), tensor([[1., 0.5], [0.2, 1.]])); MultivariateNormal(zeros(2), tensor([[1., 2.], [2., 1.]]))
MultivariateNormal(zeros(2), tensor([[1., 0.5], [0.5000001, 1.]])); MultivariateNormal(zeros(2), tensor([[1., 0.5], [0.50001, 1.]]))
MultivariateNormal(zeros(2), tensor([[1., 0.], [0., 0.]])); MultivariateNormal(tensor([0., nan]), eye(2))
MultivariateNormal(zeros(2), precision_matrix=tensor([[1., 0.5], [0.2, 1.]]))
MultivariateNormal(zeros(2), precision_matrix=tensor([[1., 2.], [2., 1.]])); MultivariateNormal(zeros(2))
MultivariateNormal(zeros(2), scale_tril=tensor([[1., 0.5], [0.2, 1.]])); MultivariateNormal(zeros(2), scale_tril=tensor([[1., 0.], [0.2, -1.]]))
MultivariateNormal(zeros(2), scale_tril=tensor([[1., 0.], [0.2, 0.]])); MultivariateNormal(zeros(2), eye(2), scale_tril=eye(2))
MultivariateNormal(tensor(0.), eye(2)); MultivariateNormal(zeros(2), ones(2)); MultivariateNormal(zeros(2), ones(2, 3))
MultivariateNormal(zeros(2), eye(2).expand(3, 2, 2)); MultivariateNormal(zeros(3, 2), eye(2))
Independent(Normal(tensor([0., 0.]), 1.), 2); Independent(Dirichlet(ones(3, 2)), 1); Independent(Dirichlet(ones(3, 2)), 2)"""


def number(x):
    return "nan" if x != x else f"{x:.6f}".replace("-0.000000", "0.000000")


def said(expr, value=None):
    scope = dict(globals(), true=True, false=False)
    try:
        p = eval(expr, scope)
        if value is None:
            return "taken"
        return " ".join(number(x) for x in p.log_prob(eval(f"tensor({value})", scope)).flatten().tolist())
    except Exception:
        return "refused"


print("""# Made by make_constraints.py: which parameters and values PyTorch's distributions refuse, at the edges, too.
D = distributions
fn number(x) => "nan" if isnan(x) else f"{x:.6f}".replace("-0.000000", "0.000000")
fn made(f) {
    ok, p = attempt(f)
    print("taken" if ok else "refused")
}
fn at(f) {
    ok, y = attempt(fn() => f().reshape(-1).tolist())
    print(" ".join([number(x) for x in y]) if ok else "refused")
}""")
for expr in MADE.replace("\n", ";").split(";"):
    print(f"made(fn() => D.{expr.strip().replace('(Normal', '(D.Normal').replace('(Dirichlet', '(D.Dirichlet')})  # expect: {said(expr.strip())}")
for expr, values in {**SCALARS, **VECTORS}.items():
    ours = expr.replace("(Normal", "(D.Normal").replace("(Exponential", "(D.Exponential")
    for v in values.split():
        print(f"at(fn() => D.{ours}.log_prob(tensor({v})))  # expect~ 1e-5: {said(expr, v)}")
print("# not-world: replay")
