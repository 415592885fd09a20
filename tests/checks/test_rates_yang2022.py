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
from dpcheck.catalogue.yang2022 import rate_theorems_3_4_5 as pl
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
