"""Problems in numbers, beside what ``reference`` holds of all of them, and the constants that they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcheck import InputError
from dpcheck.problems.auc import auc_score
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.ill_conditioned import IllConditioned
from dpcheck.problems.linear import Linear
from dpcheck.problems.mean_estimation import MeanEstimation
from dpcheck.problems.polyak import Polyak
from dpcheck.problems.product import Product
from dpcheck.problems.quadratic import Quadratic

RNG = np.random.default_rng(3)


def maximise_on_ball(function, size, radius):
    """Best value over the ball, by SLSQP from several starts."""
    inside = {"type": "ineq", "fun": lambda x: radius**2 - x @ x}
    starts = [0.5 * radius * u / np.linalg.norm(u) for u in RNG.normal(size=(6, size))]
    return max(-minimize(lambda x: -function(x), start, constraints=inside).fun for start in starts)


@pytest.mark.parametrize("family", [Bilinear, Quadratic])
@pytest.mark.parametrize("d", [1, 3])
def test_weak_gap_equals_its_definition(family, d):
    """max_v E F(w, v) - min_w E F(w, v) with the expectation over the given runs."""
    game = family.sample(5, d, RNG, coupling=1.3, bound=0.8, radius=0.7)
    outputs = 0.4 * RNG.normal(size=(7, 2 * d)) / np.sqrt(d)
    b = np.zeros(d)
    b[0] = 0.4
    mu = (0.0, 0.0) if family is Bilinear else (game.mu_x, game.mu_y)

    def F(w, v):
        return mu[0] / 2 * w @ w + 1.3 * w @ v - mu[1] / 2 * v @ v + b @ w - b @ v

    primal = maximise_on_ball(lambda v: np.mean([F(x[:d], v) for x in outputs]), d, 0.7)
    dual = maximise_on_ball(lambda w: -np.mean([F(w, x[d:]) for x in outputs]), d, 0.7)
    assert game.weak_gap(outputs) == pytest.approx(primal + dual, abs=1e-6)


@pytest.mark.parametrize("family", [Bilinear, Quadratic])
def test_samples_have_the_stated_mean_and_bound(family):
    """Sample mean within five standard errors of (B/2) e_1."""
    game = family.sample(40_000, 4, np.random.default_rng(0), bound=2.0)
    for half in np.split(game.records, 2, axis=1):
        assert np.linalg.norm(half, axis=1).max() <= 2.0 * (1 + 1e-12)
        assert np.abs(half.mean(0) - [1, 0, 0, 0]).max() < 5 * half.std() / 200


def test_gap_vanishes_at_the_saddle_and_only_there():
    game = Quadratic.sample(3, 2, RNG, mu_x=0.5, mu_y=2.0, coupling=1.5, radius=2.0)
    b = np.array([0.5, 0.0])
    w, v = game.saddle(b, b)
    assert game.weak_gap(np.concatenate([w, v])[None]) == pytest.approx(0, abs=1e-12)
    moved = np.concatenate([w + 0.1, v])[None]
    expected = 0.5 * (game.mu_x + game.coupling**2 / game.mu_y) * 0.02
    assert game.weak_gap(moved) == pytest.approx(expected)
    with pytest.raises(InputError, match="radius must be at least the saddle's norm"):
        Quadratic.sample(3, 2, RNG, mu_x=0.01, radius=0.1).saddle(b, b)


def test_auc_minimax_value_is_the_pair_loss():
    """With p the real share, min over a, b and max over v of F is p (1 - p) (pair loss - 1)."""
    X = 0.3 * RNG.normal(size=(40, 3))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    y = np.where(np.arange(40) % 4 == 0, 1.0, -1.0)
    theta, p = RNG.normal(size=3), 0.25
    h = X @ theta
    a, b = h[y > 0].mean(), h[y < 0].mean()
    v = b - a
    f = (
        np.where(
            y > 0,
            (1 - p) * (h - a) ** 2 - 2 * (1 + v) * (1 - p) * h,
            p * (h - b) ** 2 + 2 * (1 + v) * p * h,
        )
        - p * (1 - p) * v**2
    )
    pairs = (1 - h[y > 0][:, None] + h[y < 0][None]) ** 2
    assert f.mean() == pytest.approx(p * (1 - p) * (pairs.mean() - 1))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([3, 2, 1, 0], 1.0), ([0, 1, 2, 3], 0.0), ([1, 1, 1, 1], 0.5), ([3, 1, 2, 0], 0.75)],
)
def test_auc_score(scores, expected):
    assert auc_score(np.array(scores, float), np.array([1.0, 1, -1, -1])) == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bilinear(np.full((3, 2), 2.0)), r"records must have \|b\|, \|c\| <= 1.0, got 2"),
        (lambda: Bilinear(np.zeros((3, 2)), radius=0), "radius must be a finite number > 0, got 0"),
        (lambda: Quadratic(np.zeros((3, 2)), mu_x=-1), "mu_x must be a finite number > 0, got -1"),
        (lambda: Quadratic(np.zeros((3, 3))), "records must have an even number of columns"),
        (lambda: IllConditioned(np.zeros((2, 2)), mu=2.0), "smoothness must be finite and >= mu = 2.0"),
        (lambda: Polyak(np.ones((2, 2))), "records must have 1 columns"),
        (lambda: Product(np.zeros((2, 2)), mu=0.5), "mu must be at least 1"),
        (lambda: MeanEstimation(np.zeros((2, 2)), bound=2.0), "radius must be at least the records' bound"),
        (lambda: Linear(np.ones((2, 2))), r"records must have \|z\| <= 1"),
        (lambda: Polyak(np.full((2, 1), 2.0)), r"records must have \|z\| <= 1.0"),
    ],
)
def test_wrong_constants_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
