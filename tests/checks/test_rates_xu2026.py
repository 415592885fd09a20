"""Rates of DP-RGDA and its baselines: predictions by second routes, and the escapes from saddles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcheck.catalogue.xu2026 import rate_escape as xu2026_escape
from dpcheck.catalogue.xu2026 import rate_table_1 as xu2026_table_1
from dpcheck.catalogue.xu2026 import rate_theorem_1 as theorem_1
from dpcheck.catalogue.xu2026 import rate_theorem_2 as theorem_2
from dpcheck.checks.context import Context

GAME = np.array([[1.0, 0.5], [0.5, -1.0]])


def test_solvers_have_the_numbers_that_predictions_are_made_of():
    """The predicted schedule and noise are computed without the solver; they are its own."""
    for experiment, plan_of in (
        (theorem_1.EXPERIMENTS[0], theorem_1.repaired),
        (theorem_2.EXPERIMENTS[0], theorem_2.repaired),
        (theorem_2.EXPERIMENTS[1], theorem_2.private),
    ):
        cell = experiment.grid.cells[0]
        solver, plan = experiment.solver(experiment.sample(cell, np.random.default_rng(0)), cell), plan_of(cell)
        for name in ("steps", "period", "K", "t_thres", "escapes", "repaired", "once"):
            assert getattr(solver, name) == getattr(plan, name), name
        for name in ("alpha", "eta", "eta_H", "lam", "r", "D_bar", "C_u", "sigma_v", "sigma_u"):
            assert getattr(solver, name) == pytest.approx(getattr(plan, name), rel=2e-3), name


def test_simulated_steps_without_noise_are_those_of_the_solver():
    """With no noise and no perturbation there is one path: the simulation and the kernel end at the same point."""
    experiment = theorem_1.EXPERIMENTS[0]
    cell = experiment.grid.cells[1]
    problem = experiment.sample(cell, np.random.default_rng(0))
    solver = replace(experiment.solver(problem, cell).quiet(), escapes=0)
    plan = replace(theorem_1.repaired(cell), sigma_v=0.0, sigma_u=0.0, escapes=0)
    d = problem.dim_w
    mean = problem.records.mean(0)
    found = theorem_1.simulated_outputs(plan, GAME, np.stack([mean[:d], -mean[d:]]), 2, np.random.default_rng(1))
    np.testing.assert_allclose(found, solver.outputs(problem, np.random.default_rng(2), 2)[:, :d], atol=1e-10)


def test_the_game_for_privacy_has_the_gradients_of_that_of_theorem_1():
    x, (found, expected) = np.random.default_rng(0).standard_normal(8), np.empty((2, 8))
    cell = {"n": 2000, "d": 4, "epsilon": 0.5, "delta": 1e-6}
    pulled = theorem_2.sample_private(cell, np.random.default_rng(1))
    wanted = theorem_1.game(pulled.s, pulled.radius, cell, np.random.default_rng(1), spread=0.0)
    for problem, out in ((pulled, found), (wanted, expected)):
        problem.gradient(problem.params, problem.records[0], x[:4], x[4:], out[:4], out[4:])
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert pulled.smoothness == wanted.smoothness and len(pulled.records) == cell["n"]


def test_noise_along_a_tree_has_as_many_parts_as_the_sum_has_binary_digits():
    plan = replace(theorem_2.repaired(theorem_2.LARGE[0]), sigma_u=1.0, sigma_v=0.0, spread=0.0, steps=20, period=20)
    sums = theorem_1._Sums(plan, (4000, 2, 1), np.random.default_rng(0))
    every = np.ones(4000, bool)
    sums.refresh(np.zeros((4000, 2, 1)), every)
    for count in range(1, 12):
        sums.add(np.zeros((4000, 2, 1)), every)
        assert sums.value.var() == pytest.approx(count.bit_count(), rel=0.1)


def test_mean_norm_of_a_uniform_iterate_is_that_of_many_runs():
    start, rng = np.array([0.5, 0.0, 0.0]), np.random.default_rng(0)
    plan = xu2026_table_1.Plan(steps=40, eta=0.5, noise=0.03, growth=0.2, start=start, period=10)
    g, v, old = np.tile(start, (20_000, 1)), np.zeros((20_000, 3)), np.tile(start, (20_000, 1))
    total = 0.0
    for t in range(40):
        drawn = rng.standard_normal(g.shape)
        moved = np.linalg.norm(g - old, axis=1)[:, None]
        v = g + 0.03 * drawn if t % 10 == 0 else v + g - old + 0.2 * moved * drawn
        old, g = g, g - 0.5 * v
        total += np.linalg.norm(g, axis=1).mean() / 40
    assert xu2026_table_1.mean_norm(plan) == pytest.approx(total, rel=0.01)


@pytest.mark.parametrize("saddle", xu2026_escape.SADDLES, ids=lambda saddle: saddle.name)
def test_saddles_are_exact_and_no_second_order_points(saddle):
    problem = saddle.problem()
    start = problem.start[: problem.dim_w]
    assert np.linalg.norm(problem.primal_gradient(start)) < 1e-12
    assert not xu2026_escape.is_second_order(problem, saddle.settings["alpha"], problem.start)
    solver = saddle.solver(problem)
    assert (xu2026_escape.noise(solver, problem) > 0) == saddle.private
    assert not [str(premise) for premise in xu2026_escape.premises(problem, solver) if not premise.holds]
    least = min(problem.primal(best) for best in problem.minima())
    assert saddle.settings["F0"] >= problem.primal(start) - least


def test_an_escape_without_its_premises_is_not_run():
    private = xu2026_escape.SADDLES[2]
    for changed, words in (({"alpha": 0.9}, "curvature at the saddle"), ({"S2": 20}, "alpha over the noise"),
                           ({"escapes": 20}, "walk by perturbations")):  # fmt: skip
        saddle = replace(private, settings=private.settings | changed)
        finding = xu2026_escape._finding(saddle, Context("quick", 0, 1), {})
        assert finding.verdict == "not asymptotic"
        assert words in finding.reason


def test_noise_of_a_refresh_has_its_limit_in_closed_form():
    """C_v L_Phi F_0, above 1 on this cosine; a game of small gradients would be within reach."""
    problem = xu2026_escape.SADDLES[0].problem()
    L, C_v = problem.smoothness, problem.lipschitz_v
    limit = C_v * L * (1 + L) * 2.0
    assert xu2026_escape.refresh_noise(problem, 2.0, 1e12) == pytest.approx(limit, rel=1e-3)
    assert xu2026_escape.refresh_noise(problem, 0.9 * 2.0 / limit, 1e12) < 1
    assert xu2026_escape.unreachable(xu2026_escape.SADDLES[0]).verdict == "not asymptotic"


@pytest.mark.parametrize("private", [False, True])
def test_one_perturbation_leaves_no_saddle(private):
    """Where q > T the repaired variant pays for one, which its notes say; with a short period runs leave."""
    saddle = replace(
        xu2026_escape.SADDLES[0], records=4000, private=private, settings={"alpha": 0.1, "F0": 2.0, "S2": 400}
    )
    problem = saddle.problem()
    stays, leaves = (replace(saddle, settings=saddle.settings | {"period": q}).solver(problem) for q in (867, 5))
    assert (stays.escapes, leaves.escapes) == (1, 174)
    short = "a run that comes near one is likely to end there"
    assert [any(short in note for note in each.notes) for each in (stays, leaves)] == [True, False]
    assert xu2026_escape._successes(stays, problem, np.random.default_rng(0), 20) == 0
