"""Many runs of one phase with a base solver that draws nothing share its solution, bit by bit as if they did not."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.catalogue.bases import BASES
from dpcheck.catalogue.zhang2022.output_perturbation import known
from dpcheck.problems import example
from dpcheck.solvers import configure

CASES = [
    ("output_perturbation", "gradient_descent"),
    ("minimax_output_perturbation", "gda"),
    ("minimax_output_perturbation", "extragradient"),
    ("minimax_output_perturbation_joint", "gda"),
]


def configured(name, base):
    problem = example("mean_estimation" if name == "output_perturbation" else "quadratic", seed=3)
    return configure(name, problem, epsilon=1.0, delta=1e-6, base=base), problem


@pytest.mark.parametrize(("name", "base"), CASES)
def test_runs_that_share_a_solution_have_the_bits_of_runs_one_by_one(name, base):
    solver, problem = configured(name, base)
    many, one = np.random.default_rng(5), np.random.default_rng(5)
    shared = solver.outputs(problem, many, 6)
    apart = np.concatenate([solver.outputs(problem, one, 1) for _ in range(6)])
    parts, _ = solver._of_many(problem, 6)
    assert parts[-1] is known
    assert shared.tobytes() == apart.tobytes()
    assert len(np.unique(shared[:, 0])) == 6


@pytest.mark.parametrize(("name", "base"), [
    ("output_perturbation", "svrg"), ("minimax_output_perturbation", "accelerated_svrg"), ("phased_primal", "gda"),
])  # fmt: skip
def test_a_solution_that_chance_decides_is_not_shared(name, base):
    problem = example("bilinear" if name == "phased_primal" else configured(name, base)[1].name, seed=3)
    solver = configure(name, problem, epsilon=1.0, delta=1e-6, base=base)
    parts, numbers = solver._of_many(problem, 6)
    assert parts[-1] is solver.parts(problem)[-1]
    assert np.array_equal(numbers.steps, solver.packed(problem).steps)


def test_full_gradient_steps_alone_draw_nothing():
    """The others sample records; that runs share a solution rests on this mark."""
    assert {name for name, base in BASES.items() if not base.draws} == {"gradient_descent", "gda", "extragradient"}
