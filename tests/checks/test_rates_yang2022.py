"""The rate experiments on DP-SGDA, NSEG and NISPP: their instances and predictions by second routes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck import InputError
from dpcheck.algorithms.kernels import gradients
from dpcheck.algorithms.problem import data_of
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.yang2022 import rate_convex_concave as corner
from dpcheck.catalogue.yang2022 import rate_one_sided as bent
from dpcheck.catalogue.yang2022 import rate_theorem_2b as idle
from dpcheck.catalogue.yang2022 import rate_theorems_3_4_5 as pl
from dpcheck.catalogue.yang2022.rate_one_sided import OneSided
from dpcheck.problems.hinge_game import HingeGame
from dpcheck.problems.polyak import Polyak

GAMES = {
    "smooth": HingeGame.sample(12, 3, np.random.default_rng(0), coupling=0.3, slope=0.4, place=0.2, width=0.3),
    "kinks": HingeGame.sample(12, 2, np.random.default_rng(0), slope=0.4, place=-0.5, width=0.0, radius=2.0, bound=0.8),
}


def points(game, rng, size):
    d = game.dim_w
    return game.radius / math.sqrt(d) * (2 * rng.random((size, 2 * d)) - 1)


def objective(game, w, v):
    """The population's: the game's at its mean record."""
    record = np.full(2 * game.dim_w, game.centre * game.bound / math.sqrt(game.dim_w))
    return game.value(game.params, record, w, v)


@pytest.mark.parametrize("name", GAMES)
def test_gradients_of_the_hinge_game_are_the_differences_of_its_value(name):
    game, rng, step = GAMES[name], np.random.default_rng(1), 1e-6
    d = game.dim_w
    for x in points(game, rng, 50):
        g = np.empty(2 * d)
        game.gradient(game.params, game.records[0], x[:d], x[d:], g[:d], g[d:])
        assert np.linalg.norm(g[:d]) <= game.lipschitz_w and np.linalg.norm(g[d:]) <= game.lipschitz_v
        for i in range(2 * d):
            up, down = x + step * np.eye(2 * d)[i], x - step * np.eye(2 * d)[i]
            ends = (game.value(game.params, game.records[0], each[:d], each[d:]) for each in (up, down))
            assert g[i] == pytest.approx((next(ends) - next(ends)) / (2 * step), abs=1e-5)


def test_the_smoothness_of_the_hinge_game_is_attained():
    game = GAMES["smooth"]
    d, inside = game.dim_w, (game.place + 0.5 * game.width) / math.sqrt(game.dim_w)
    x, g, h = np.zeros(2 * d), np.empty(2 * d), np.empty(2 * d)
    x[0] = inside  # w_1 is on the bend and v_1 is not
    move = np.zeros(2 * d)
    move[[0, d]] = 1e-4 * np.linalg.eigh([[game.slope / game.width, game.coupling], [game.coupling, 0.0]])[1][:, 1]
    y = x + move
    game.gradient(game.params, game.records[0], x[:d], x[d:], g[:d], g[d:])
    game.gradient(game.params, game.records[0], y[:d], y[d:], h[:d], h[d:])
    assert np.linalg.norm(h - g) / 1e-4 == pytest.approx(game.smoothness)
    assert GAMES["kinks"].smoothness == math.inf


@pytest.mark.parametrize("name", GAMES)
def test_the_weak_gap_of_the_hinge_game_is_its_definition(name):
    game, rng = GAMES[name], np.random.default_rng(2)
    d, outputs = game.dim_w, points(game, rng, 5)
    reach, zero = game.radius / math.sqrt(d), np.zeros(d)
    primal = np.mean([objective(game, x[:d], zero) for x in outputs])
    dual = np.mean([objective(game, zero, x[d:]) for x in outputs])
    grid = np.linspace(-reach, reach, 2001)
    for i in range(d):  # coordinates do not interact
        one = np.zeros((2001, d))
        one[:, i] = grid
        for_v = [np.mean([objective(game, x[:d], u) - objective(game, x[:d], zero) for x in outputs]) for u in one]
        for_w = [np.mean([objective(game, u, x[d:]) - objective(game, zero, x[d:]) for x in outputs]) for u in one]
        primal, dual = primal + max(for_v), dual + min(for_w)
    assert game.weak_gap(outputs) == pytest.approx(primal - dual, abs=2e-3)
    at_corner = np.full((1, 2 * d), -reach)
    assert game.weak_gap(at_corner) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("clip", [np.inf, 0.9])
@pytest.mark.parametrize("name", GAMES)
def test_minibatches_of_the_hinge_game_are_the_records_one_by_one(name, clip):
    game, rng = GAMES[name], np.random.default_rng(3)
    data = data_of(game)
    x, bounds = points(game, rng, 1)[0], np.full(2, clip)
    found, expected = np.empty((2, x.size))
    for size in (0, 1, 7, 40):
        index = rng.integers(0, 12, size)
        game.mean(game.gradient, data, index, 10, x, bounds, found)
        gradients.mean(game.gradient, data, index, 10, x, bounds, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_wrong_constants_of_the_hinge_game_are_refused():
    records = np.zeros((2, 2))
    with pytest.raises(InputError, match=r"place must lie in \(-radius, radius\), got 1"):
        HingeGame(records, place=1.0)
    with pytest.raises(InputError, match=r"width must lie in \[0, 0.5\], the room beyond place, got 0.6"):
        HingeGame(records, width=0.6)
    with pytest.raises(InputError, match="slope must be a finite number > 0, got 0"):
        HingeGame(records, slope=0)


@pytest.mark.parametrize(("drift", "deviation"), [(0.02, 0.1), (0.1, 0.1)])
def test_noise_holds_a_walk_off_its_wall_by_spitzers_sum(drift, deviation):
    rng, x = np.random.default_rng(0), np.zeros(20_000)
    mean = []
    for t in range(1200):
        x = np.maximum(x - drift + deviation * rng.standard_normal(x.size), 0)
        if t >= 400:
            mean.append(x.mean())
    assert corner.held_off(drift, deviation) == pytest.approx(np.mean(mean), rel=0.01)


@pytest.mark.parametrize("place", [-0.5, 0.5])
def test_the_closed_form_at_the_corner_is_what_a_simulation_gives(place):
    """Descent ascent in NumPy, noise a quarter of the gap."""
    game = HingeGame.sample(1, 2, np.random.default_rng(0), coupling=0.1, slope=0.25, place=place, width=0.03)
    steps, eta, batch, sigma, draws = 1000, 0.004, 4, 3.0, 2000
    rng, wall = np.random.default_rng(0), game.radius / math.sqrt(2)
    low = game.place / math.sqrt(2)
    x, total = np.zeros((draws, 4)), np.zeros((draws, 4))
    signs = np.array([1, 1, -1, -1])
    for _ in range(steps):
        total += x
        chance = game.spread / math.sqrt(2 * batch) * rng.standard_normal(x.shape)
        bend = game.slope / math.sqrt(2) * np.clip((x - low) / (game.width / math.sqrt(2)), 0, 1)
        pull = signs * game.coupling * x[:, [2, 3, 0, 1]] + game.centre / math.sqrt(2) + chance + bend
        x = np.clip(x - eta * (pull + sigma * rng.standard_normal(x.shape)), -wall, wall)
    predicted = corner.mean_gap(game, steps, eta, batch, sigma, sigma)
    assert game.weak_gap(total / steps) == pytest.approx(predicted, rel=0.02)
    assert corner.mean_gap(game, steps, eta, batch, 0.0, 0.0) < 0.85 * predicted


def test_the_simulated_extragradient_turns_as_its_eigenvalue_says():
    steps = 2854
    theta = 1 / math.sqrt(steps)
    factor = 1 + 1j * theta - theta**2
    mean = (-1 + 1j) * (1 + 1j * theta) * (1 - factor**steps) / ((1 - factor) * steps)  # of (w, v) - (1, -1)
    outputs = corner.simulated(steps, theta, 0.0)
    np.testing.assert_allclose(outputs[0] - [1, -1], [mean.real, mean.imag], rtol=1e-9)


def test_the_risks_of_the_polyak_problem_are_differences_of_its_primal_function():
    problem = Polyak.sample(50, np.random.default_rng(0), **pl.SHAPE)
    outputs = np.random.default_rng(1).normal(size=(4, 2))
    mean = problem.records.mean()
    least = 0.5 * problem.records.var()
    risk = np.mean([problem.primal(w[:1]) for w in outputs])
    assert pl.empirical(problem, outputs) == pytest.approx(risk - least)
    assert pl.population(problem, outputs) == pytest.approx(pl.curvature(3.0) * np.mean(pl.phi(outputs[:, 0]) ** 2))
    # R - R_S at w, and R_S - R at w*: (phi - 0)^2 - (phi - mean)^2 and mean^2
    expected = pl.population(problem, outputs) - pl.empirical(problem, outputs) + pl.curvature(3.0) * mean**2
    assert pl.generalisation(problem, outputs) == pytest.approx(expected)


def test_the_late_start_is_where_the_proofs_limits_begin_to_hold():
    problem = Polyak.sample(50, np.random.default_rng(0), **pl.SHAPE)
    first = theorem("yang2022.theorem_3").schedule(**pl.constants(problem, {}))
    L, late = problem.smoothness, pl.late_start(problem)

    def within(t):
        return first["eta_w"] / t <= 1 / (L + L**2 / 3) and first["eta_v"] / t ** (2 / 3) <= 1 / L

    assert within(late * (1 + 1e-9)) and not within(0.999 * late)
    assert late > 10 * max(cell["T"] for each in pl.EXPERIMENTS for cell in each.grid.cells)


def one_sided(d, rng, **constants):
    records = 0.7 * rng.uniform(-1, 1, (5, 2 * d)) / math.sqrt(d)
    return OneSided(records, **{"coupling": 0.4, "mu": 0.8, "rho": 1.3} | constants)


def test_gradients_of_the_one_sided_game_are_the_differences_of_its_value():
    rng, step, d = np.random.default_rng(0), 1e-6, 2
    game = one_sided(d, rng)
    bound_w, bound_v = game.lipschitz_w, game.lipschitz_v
    for x in 0.7 * rng.uniform(-1, 1, (50, 2 * d)):
        g = np.empty(2 * d)
        game.gradient(game.params, game.records[0], x[:d], x[d:], g[:d], g[d:])
        assert np.linalg.norm(g[:d]) <= bound_w and np.linalg.norm(g[d:]) <= bound_v
        for move in step * np.eye(2 * d):
            up, down = (game.value(game.params, game.records[0], y[:d], y[d:]) for y in (x + move, x - move))
            assert g[move > 0][0] == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_the_constants_of_the_one_sided_game_are_those_of_its_two_hessians():
    game = one_sided(1, np.random.default_rng(0), coupling=0.3)
    off = np.diag([0.8, -1.6])
    on = off + 0.3 * np.ones((2, 2))
    assert game.smoothness == pytest.approx(max(np.linalg.norm(each, 2) for each in (off, on)))
    assert game.convexity == min(each[0, 0] for each in (off, on)) and game.concavity == -max(off[1, 1], on[1, 1])


def test_the_excess_of_the_one_sided_game_is_that_of_its_maximum():
    game, v = one_sided(1, np.random.default_rng(0)), np.linspace(-2, 2, 40_001)
    for w in (-0.6, 0.0, 0.5):
        values = game.mu / 2 * w * w + game.coupling / 2 * np.maximum(w + v, 0) ** 2 - game.curved / 2 * v * v
        assert game.excess(np.array([w])) == pytest.approx(values.max(), abs=1e-8)


@pytest.mark.parametrize("regime", ["variance", "noise in v", "noise in w"])
def test_the_moments_of_theorem_3_are_those_of_simulated_iterates(regime):
    """4,000 coordinates together; a few per cent are what it costs to take v for normal."""
    game, steps, sigma = OneSided(np.zeros((2, 2)), **bent.SHAPES[regime]), 1500, (0.1, 0.2)
    first, rng = theorem("yang2022.theorem_3").schedule(**bent.shape(game)), np.random.default_rng(0)
    w, v = np.zeros((2, 4000))
    for t in range(1, steps):
        kink = game.coupling * np.maximum(w + v, 0)
        g_w = game.mu * w + kink + sigma[0] * rng.standard_normal(w.size)
        g_v = kink - game.curved * v + sigma[1] * rng.standard_normal(w.size)
        w = np.clip(w - first["eta_w"] / t * g_w, -game.radius, game.radius)
        v = np.clip(v + first["eta_v"] / t ** (2 / 3) * g_v, -game.room, game.room)
    assert bent.followed(game, steps, *sigma) == pytest.approx(game.excess(w[:, None]).mean(), rel=0.07)


def test_noise_in_v_and_the_spread_of_records_cost_what_theorem_3_says_and_noise_in_w_less():
    game = OneSided(np.zeros((2, 2)), **bent.SHAPES["noise in v"])
    far = {name: [bent.followed(game, T, *each) for T in (16_000, 64_000)] for name, each in
           {"w": (0.3, 1e-6), "v": (0.0, 0.3), "louder": (0.0, 0.6)}.items()}  # fmt: skip
    power = {name: math.log(late / early) / math.log(4) for name, (early, late) in far.items()}
    assert power["v"] == pytest.approx(-2 / 3, abs=0.03) and power["w"] == pytest.approx(-1, abs=0.03)
    assert far["louder"][1] / far["v"][1] == pytest.approx(4, rel=0.02)


def test_the_records_of_theorem_3_cancel_and_spread_as_declared():
    game = bent.sample("variance", {"T": 100, "d": 3}, np.random.default_rng(0))
    c = game.records[:, 3:]
    assert np.abs(c.mean(0)).max() < 1e-12 and (c**2).mean(0) == pytest.approx(np.full(3, 1 / 3))
    assert not game.records[:, :3].any()


def test_theorem_5_leaves_v_a_third_of_its_domain_from_its_onset_on():
    """kappa = mu = L = 1, d = 1, V = 1 and G_v = rho V, at the epsilon where the privacy term leads by 5."""
    n, delta = bent.onset(), 1e-17
    epsilon = math.sqrt(math.log(1 / delta)) / (5 * math.sqrt(n))
    sigma = theorem("yang2022.theorem_1").noise(n=round(n), T=round(n), epsilon=epsilon, delta=delta, G_w=1, G_v=1)
    step = theorem("yang2022.theorem_3").schedule(kappa=1, mu=1, L=1, t=round(n))["eta_v"]
    assert sigma["sigma_v"] * math.sqrt(step / 2) == pytest.approx(1 / 3, rel=1e-4)


def idle_walks(game, cell, draws=1500):
    """Mean iterates of the coordinates with a slope, one a row, in NumPy."""
    T, step, deviation = idle.numbers(game, cell)
    rng, x, total = np.random.default_rng(0), np.zeros(draws), np.zeros(draws)
    for _ in range(T):
        total += x
        x = np.clip(x - step + deviation * rng.standard_normal(draws), -game.wall, game.wall)
    return total / T


def test_the_gap_with_idle_coordinates_is_that_of_simulated_walks():
    for cell in (idle.CELLS[0], idle.CELLS[2]):
        game = idle.sample(cell, np.random.default_rng(0))
        gaps = 2 * game.active * game.drift * (idle_walks(game, cell) + game.wall)  # all as this coordinate
        assert idle.predicted(game, cell) == pytest.approx(gaps.mean(), rel=0.06)


def test_the_gap_with_idle_coordinates_is_its_definition():
    cell, rng = {"n": 80, "d": 32, "epsilon": 1.0, "delta": 1e-4}, np.random.default_rng(1)
    game, d = idle.sample(cell, rng), 32
    reach = np.concatenate([np.full(1, game.wall), np.full(d - 1, game.radius / math.sqrt(2 * (d - 1)))])
    assert np.linalg.norm(reach) == pytest.approx(game.radius)
    outputs = rng.uniform(-1, 1, (4, 2 * d)) * np.tile(reach, 2)
    record = np.zeros(2 * d)
    record[[0, d]] = game.centre * game.bound
    means = outputs.mean(0)

    def worth(w, v):  # linear, so that the means of the runs are enough
        return game.value(game.params, record, w, v)

    best_v, best_w = (np.concatenate([[-game.wall], np.zeros(d - 1)]) for _ in range(2))
    gap = worth(means[:d], best_v) - worth(best_w, means[d:])
    assert game.weak_gap(outputs) == pytest.approx(gap, abs=1e-5)
    assert not game.records[:, 1:d].any() and not game.records[:, d + 1 :].any()
