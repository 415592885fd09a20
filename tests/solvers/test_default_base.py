"""The base solver that output perturbation takes for a saddle point where none is named, beside others.

Gradients of one record are counted, since seconds hang on the machine. The problems range from phases with more
records than kappa^2 to phases with far fewer records than kappa, the condition number.

The whole table: ``pytest -n 0 -s -m experiment tests/solvers/test_default_base.py``, with ``--keep-tables`` to keep it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import tables

from dpcheck.catalogue.zhang2022.output_perturbation import FIELDS, SADDLE_BASE
from dpcheck.problems import example
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.product import Product
from dpcheck.problems.product_mirror import ProductMirror
from dpcheck.problems.quadratic import Quadratic
from dpcheck.solvers import configure

OTHERS = ("extragradient", "saddle_svrg")
LARGE = 500_000_000  # evaluations a phase


def stiff(n, rng, mu_x, mu_y):
    return Quadratic.sample(n, 3, rng, mu_x=mu_x, mu_y=mu_y)


PROBLEMS = {
    "bilinear": lambda n, rng: Bilinear.sample(n, 3, rng),
    "bilinear, coupling 100": lambda n, rng: Bilinear.sample(n, 3, rng, coupling=100.0),
    "product": lambda n, rng: Product.sample(n, 3, rng),
    "product_mirror": lambda n, rng: ProductMirror(Product.sample(n, 3, rng).records),
    "quadratic": lambda n, rng: stiff(n, rng, 1.0, 1.0),
    "quadratic, moduli .01": lambda n, rng: stiff(n, rng, 0.01, 0.01),
    "quadratic, mu_w .01": lambda n, rng: stiff(n, rng, 0.01, 1.0),
    "quadratic, mu_v .01": lambda n, rng: stiff(n, rng, 1.0, 0.01),
}
QUADRATICS = [name for name in PROBLEMS if name.startswith("quadratic")]
ALGORITHMS = {
    "minimax_output_perturbation": QUADRATICS,
    "phased_minimax_output_perturbation": list(PROBLEMS),
    "phased_convex_strongly_concave": ["product", *QUADRATICS],
    "phased_strongly_convex_concave": ["product_mirror", *QUADRATICS],
    "nispp": list(PROBLEMS),
}


def counted(sizes, epsilons):
    """A row for each algorithm, problem, n and epsilon: condition number of the first phase, gradients of each base."""
    rows = []
    for name, problems in ALGORITHMS.items():
        for kind in problems:
            for n in sizes:
                problem = PROBLEMS[kind](n, np.random.default_rng(n))
                for epsilon in epsilons:
                    row = {"algorithm": name, "problem": kind, "n": n, "epsilon": epsilon}
                    for base in (SADDLE_BASE, *OTHERS):
                        solver = configure(name, problem, epsilon=epsilon, delta=n**-2.0, base=base, most=LARGE)
                        first = dict(zip(FIELDS, solver.phases[0].tolist(), strict=True))
                        row["records"] = int(first["last"] - first["first"])
                        row["kappa"] = solver.smoothness / min(first["mu_w"], first["mu_v"])
                        row[base] = solver.run(problem, seed=0).evaluations
                    rows.append(row)
    return pd.DataFrame(rows)


def assert_never_much_slower(table):
    """Than the others: at most what a few passes are, and far less than either somewhere."""
    own = table[SADDLE_BASE]
    for other in OTHERS:
        assert (own <= 1.5 * table[other] + 60 * table["records"]).all(), other
        assert (own < table[other] / 5).any(), other


def test_every_saddle_algorithm_takes_it():
    for name in (*ALGORITHMS, "phased_primal", "phased_dual", "minimax_output_perturbation_joint"):
        assert configure(name, example("quadratic"), epsilon=1.0, delta=1e-4).base == SADDLE_BASE
    assert (
        configure("output_perturbation", example("mean_estimation"), epsilon=1.0, delta=1e-4).base == "gradient_descent"
    )


@pytest.mark.thorough
def test_no_other_is_much_faster():
    """Small n: the stiff quadratics have phases of 8 records and condition numbers up to 160."""
    assert_never_much_slower(counted((64, 512), (1.0, 100.0)))


@pytest.mark.experiment
def test_no_other_is_much_faster_at_large_n(keep):
    table = counted((256, 2048, 16384), (1.0, 100.0))
    keep("saddle_bases", table)
    assert_never_much_slower(table)


def test_the_kept_table_says_so():
    kept = tables.read("saddle_bases")
    assert_never_much_slower(kept)
    assert set(kept["algorithm"]) == set(ALGORITHMS)
    large = kept[(kept["n"] == 16384) & (kept["problem"] == "bilinear") & (kept["epsilon"] == 100)]
    assert (large[SADDLE_BASE] < large["extragradient"] / 3).all()
