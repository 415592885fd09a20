"""The rate experiments on Zhang et al. 2025: predictions by a second route, and the lower bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.algorithms.kernels.gradients import difference, mean
from dpcheck.algorithms.kernels.jit import Place
from dpcheck.algorithms.problem import data_of
from dpcheck.catalogue.equal_records import EqualRecords
from dpcheck.catalogue.zhang2025 import rate_dptd as dptd
from dpcheck.catalogue.zhang2025 import rate_lower_bounds as lower
from dpcheck.catalogue.zhang2025 import rate_theorem_2 as theorem_2
from dpcheck.catalogue.zhang2025 import rate_theorem_6 as theorem_6
from dpcheck.errors import InputError
from dpcheck.solvers import ALGORITHMS, configure


def test_equal_records_have_the_gradients_of_a_quadratic_game():
    """Their kernels against those of any problem, with and without clipping."""
    problem, rng = EqualRecords.of(20, 3, 0.4, coupling=0.7), np.random.default_rng(1)
    data = data_of(problem)
    x, old, index = rng.standard_normal(6), rng.standard_normal(6), np.array([3, 7, 11])
    for clip in (np.full(2, np.inf), np.array([0.3, 0.2])):
        ours, theirs = np.empty(6), np.empty(6)
        problem.mean(problem.gradient, data, index, 2, x, clip, ours)
        mean(problem.gradient, data, index, 2, x, clip, theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        problem.difference(problem.gradient, data, Place(index, x), Place(index, old), 2, clip, ours)
        difference(problem.gradient, data, Place(index, x), Place(index, old), 2, clip, theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_gaussian_law_of_theorem_2_is_that_of_simulated_iterates():
    problem, T, size = EqualRecords.of(10, 4, 0.3, coupling=0.5), 300, 4000
    steps, noise = (0.02, 0.8), (0.1, 0.2)
    moments = theorem_2.moments(problem, T, steps, noise)
    law = problem.expected_norm(1.25 * moments[:, 0], 1.25 * np.sqrt(moments[:, 1])).mean()
    rng, w, v, total = np.random.default_rng(2), np.zeros((size, 4)), np.zeros((size, 4)), 0.0
    for _ in range(T):
        total += problem.gradient_norm(np.hstack([w, v])) / T
        g_w, g_v = w + 0.5 * v + problem.records[0, :4], 0.5 * w - v
        w = w - steps[0] * (g_w + noise[0] * rng.standard_normal(w.shape))
        v = v + steps[1] * (g_v + noise[1] * rng.standard_normal(v.shape))
    assert law == pytest.approx(total, rel=0.01)


def test_the_noise_of_theorem_2_shrinks_as_its_order_says():
    """As n grows 16-fold at fixed d and epsilon, the predicted gradient norm falls by at least 4."""
    small, large = theorem_2.cells((1100, 5, 1.0, 1e-11), (17600, 5, 1.0, 1e-11))
    found = [theorem_2.predicted(theorem_2.printed, theorem_2.sample(0.15, c, None), c) for c in (small, large)]
    assert found[0] / found[1] > 4


def test_without_noise_the_simulation_of_theorem_6_is_gradient_descent():
    problem = EqualRecords.of(10, 2, 0.3, coupling=0.0)
    plan = theorem_6.Schedule(50, 7, 0.1, 9.0, 9.0, 9.0, math.inf, 0.0, 0.0, 0.0, 0.0, False)
    expected = 0.3 * np.mean(0.9 ** np.arange(1, 51))
    assert theorem_6.simulated(problem, plan, 2) == pytest.approx(expected, rel=1e-9)


def test_the_moments_of_theorem_6_are_those_of_simulated_rounds(monkeypatch):
    monkeypatch.setattr(theorem_6, "RUNS", 60)
    cell = {"n": 40_501, "d": 16, "epsilon": 0.25, "delta": 1e-11}
    problem = EqualRecords.of(10, 16, theorem_6.PULL, coupling=0.0)
    expected = theorem_6.simulated(problem, theorem_6.stated(problem, cell), 16)
    assert theorem_6.followed(problem, cell) == pytest.approx(expected, rel=0.03)
    schedule = theorem_6.published(problem, cell)
    assert theorem_6.stated(problem, cell).eta_x == pytest.approx(2 * schedule.eta_x)
    assert theorem_6.stated(problem, cell).C3 < schedule.C3 / 100


def test_the_law_of_dptd_is_that_of_simulated_iterates(monkeypatch):
    monkeypatch.setattr(dptd, "BATCH", 4)
    n, size, problem = 400, 4000, dptd.game(400)
    solver = configure("dptd", problem, epsilon=dptd.EPSILON, delta=dptd.DELTA, batch=4)
    rng = np.random.default_rng(3)
    w, v, p, q = np.zeros((4, size, dptd.D))
    for t in range(1, n + 1):
        nu = 0.25 / math.sqrt(t + 3)
        w, v = w - 2 * nu * p, v + 2 * nu * q
        p = (1 - 3 * nu) * p + 3 * nu * (w + 0.5 * v + problem.records[0, : dptd.D])
        q = (1 - 3 * nu) * q + 3 * nu * (0.5 * w - v)
        p = p + solver.sigma_w[t - 1] * rng.standard_normal(p.shape)
        q = q + solver.sigma_v[t - 1] * rng.standard_normal(q.shape)
    dptd.law.cache_clear()
    expected, _ = dptd.law(n)
    dptd.law.cache_clear()
    assert problem.gradient_norm(np.hstack([w, v])) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("number", [3, 4])
def test_hard_instances_have_the_gradient_of_their_value(number):
    problem = lower.HARD[number].sample(24, 3, np.random.default_rng(4))
    w, step = np.array([0.3, -0.5, 1.1]), 1e-6

    def primal(point):
        best = problem.best_response(point)
        return np.mean([problem.value(problem.params, record, point, best) for record in problem.records])

    slope = [(primal(w + step * e) - primal(w - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(problem.primal_gradient(w), slope, atol=1e-8)


def test_the_other_algorithms_cannot_run_on_the_hard_instances():
    for name in ALGORITHMS:
        for number, hard in lower.HARD.items():
            if number not in lower.ABLE.get(name, ()):
                with pytest.raises(InputError):
                    configure(name, hard.sample(20, 2, np.random.default_rng(0)), epsilon=1.0, delta=1e-3)


def test_the_lower_bound_can_be_violated():
    """What is not private, judged as if it were, is below it; and with a witness that fails nothing is concluded."""
    hard, rng = lower.HARD[3], np.random.default_rng(5)
    free = np.array(lower.norms(hard, lower.without_noise, rng, 8))
    assert lower.judged("no_noise", hard, 0.01, free, free).verdict == "violated"
    assert lower.judged("no_noise", hard, 0.01, free + 1, free).verdict == "consistent"
    assert lower.judged("no_noise", hard, 0.01, free + 1, free + 1).verdict == "inconclusive"
