"""Output perturbation against the bounds of its theorems, on problems with closed-form population risks.

Each measured risk is compared with the theorem's number; its resampled standard error is far below the distance, which
the test checks (five of them). Run with ``-n 0 -s`` to read the ratios, with ``--keep-tables`` to keep them.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dpcheck import theorem
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.linear import Linear
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.problems.product import Product
from dpcheck.problems.quadratic import Quadratic
from dpcheck.solvers import configure

RUNS, RESAMPLES, DELTA = 60, 200, 1e-6


def excess(problem, outputs):
    return problem.excess(outputs)


def primal_of_product(problem, outputs):
    """E of max over v of <E z, w> v - mu/2 v^2, less 0: E z = e_1/2."""
    return ((0.5 * outputs[:, 0]) ** 2 / (2 * problem.mu)).mean()


def weak_gap(problem, outputs):
    return problem.weak_gap(outputs)


# algorithm, problem by (n, d, rng), measure, theorem, its constants beside n, d, epsilon, delta
CASES = {
    "mean": ("output_perturbation", MeanEstimation.sample, excess, "zhang2022.theorem_3_3",
             lambda p: {"L": p.lipschitz_w, "ell": p.smoothness, "mu": p.convexity}),
    "linear": ("phased_output_perturbation", Linear.sample, excess, "zhang2022.theorem_3_4",
               lambda p: {"L": 1.0, "D": p.radius}),
    "quadratic": ("minimax_output_perturbation",
                  lambda n, d, rng: Quadratic.sample(n, d, rng, mu_x=2.0, mu_y=2.0, coupling=0.5), weak_gap,
                  "zhang2022.theorem_4_3",
                  lambda p: {"L": math.hypot(p.lipschitz_w, p.lipschitz_v), "ell": p.smoothness,
                             "mu_x": p.convexity, "mu_y": p.concavity}),
    "bilinear": ("phased_minimax_output_perturbation", Bilinear.sample, weak_gap, "zhang2022.theorem_4_5",
                 lambda p: {"L": math.hypot(p.lipschitz_w, p.lipschitz_v), "D": p.radius}),
    "product": ("phased_convex_strongly_concave", Product.sample, primal_of_product, "zhang2022.corollary_b_6",
                lambda p: {"L": math.hypot(p.lipschitz_w, p.lipschitz_v), "D": p.radius, "mu_y": p.concavity}),
}  # fmt: skip


SETTINGS = [(500, 3, 1.0), (4000, 3, 0.5), (4000, 20, 1.0)]


@pytest.fixture(scope="module")
def rows(keep):
    """One a case and setting; a table where all were run."""
    found = []
    yield found
    if len(found) == len(CASES) * len(SETTINGS):
        keep("zhang2022_risks", pd.DataFrame(found).sort_values(["theorem", "n", "d"]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("n", "d", "epsilon"), SETTINGS)
def test_measured_risk_is_within_the_theorems_bound(rows, name, n, d, epsilon):
    algorithm, sample, measure, id, constants = CASES[name]
    outputs = []
    for seed in range(RUNS):  # fresh data for each run: the bounds concern the population
        rng = np.random.default_rng([seed, n, d])
        problem = sample(n, d, rng)
        solver = configure(algorithm, problem, epsilon=epsilon, delta=DELTA)
        outputs.append(solver.outputs(problem, rng, 1)[0])
    outputs = np.array(outputs)
    risk = measure(problem, outputs)
    rng = np.random.default_rng([RUNS, n, d])
    error = np.std([measure(problem, outputs[rng.integers(0, RUNS, RUNS)]) for _ in range(RESAMPLES)])
    bound = theorem(id).bound(n=n, d=d, epsilon=epsilon, delta=DELTA, **constants(problem))
    rows.append(
        {"theorem": id, "algorithm": algorithm, "problem": name, "n": n, "d": d, "epsilon": epsilon, "delta": DELTA,
         "runs": RUNS, "measured": risk, "error": error, "bound": bound, "measured/bound": risk / bound}
    )  # fmt: skip
    assert risk + 5 * error <= bound
    assert risk >= -1e-12
