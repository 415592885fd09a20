"""Drawing with replacement: the bound beside an integral over the plane, for neighbours of many shapes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from slices import first

from dpcheck.accounting import privacy_curve
from dpcheck.accounting.privacy_curves import curves_of
from dpcheck.arrays import Floats
from dpcheck.events import Gaussian, Sampled

STEP = 0.08  # of the grid on the plane
ASKEW = 0.5  # the angle of records to the grid, as along it the rule is less exact
SHAPES = ("drawn", "equilateral", "opposite", "halves", "any")


def changes(shape: str, draws: int, shift: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return what the record and the other one change in each draw, (draws, 2) each, at most ``shift`` apart."""
    one, none = shift * np.array([math.cos(ASKEW), math.sin(ASKEW)]), np.zeros(2)
    match shape:
        case "drawn":
            v, w = one, none
        case "equilateral":
            v, w = one, shift * np.array([math.cos(ASKEW + math.pi / 3), math.sin(ASKEW + math.pi / 3)])
        case "opposite":
            v, w = one / 2, -one / 2
        case "halves":  # the draws would take records like the one or like the other
            first = (np.arange(draws) % 2 == 0)[:, None]
            return np.where(first, one, none), np.where(first, none, -one)
        case _:
            x, other = (rng.normal(size=2) for _ in range(2))
            taken = rng.normal(size=(draws, 2))
            v, w = x - taken, other - taken
            widest = max(np.linalg.norm(x - other), np.linalg.norm(v, axis=1).max(), np.linalg.norm(w, axis=1).max())
            return v * shift / widest, w * shift / widest
    return np.tile(v, (draws, 1)), np.tile(w, (draws, 1))


def stick(v: Floats, w: Floats, rate: float, epsilon: float) -> float:
    """Return the hockey stick of what the draws show with the one record and with the other, on a grid."""
    hits = np.array(list(itertools.product((0, 1), repeat=len(v))))
    chances = np.prod(np.where(hits == 1, rate, 1 - rate), axis=1)
    places, others = hits @ v, hits @ w
    (left, right), (low, high) = (
        (min(places[:, i].min(), others[:, i].min()) - 9, max(places[:, i].max(), others[:, i].max()) + 9)
        for i in range(2)
    )
    x, y = np.arange(left, right, STEP), np.arange(low, high, STEP)

    def density(centres: Floats) -> Floats:
        across, along = np.exp(-((x - centres[:, :1]) ** 2) / 2), np.exp(-((y - centres[:, 1:]) ** 2) / 2)
        return (across * chances[:, None]).T @ along / (2 * math.pi)

    excess = density(places) - math.exp(epsilon) * density(others)
    return float(np.maximum(excess, 0).sum()) * STEP**2


@pytest.mark.parametrize("seed", first(40, range(200)))
def test_no_neighbours_leak_more_than_is_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws, population = int(rng.integers(1, 6)), int(rng.integers(2, 12))
    shift, epsilon = float(rng.uniform(0.2, 2.5)), float(rng.uniform(0, 6))
    bound = float(privacy_curve(Sampled((Gaussian(1 / shift),), "with_replacement", population, draws))(epsilon))
    v, w = changes(SHAPES[seed % len(SHAPES)], draws, shift, rng)
    for pair in ((v, w), (w, v)):
        assert stick(*pair, 1 / population, epsilon) <= bound * (1 + 1e-3) + 1e-12


@pytest.mark.parametrize(("shape", "epsilon"), [("drawn", 1.5), ("drawn", 3.0), ("opposite", 0.0)])
def test_some_neighbours_attain_the_bound(shape: str, epsilon: float) -> None:
    bound = float(privacy_curve(Sampled((Gaussian(1.0),), "with_replacement", 10, 4))(epsilon))
    v, w = changes(shape, 4, 1.0, np.random.default_rng(0))
    assert stick(v, w, 0.1, epsilon) == pytest.approx(bound, rel=2e-3)


@pytest.mark.parametrize(("z", "population", "draws"), [(0.3, 10, 30), (1.0, 100, 30), (3.0, 1000, 3), (0.05, 5, 9)])
def test_the_bound_is_a_curve(z: float, population: int, draws: int) -> None:
    """It falls from at most 1 and is convex in e^epsilon, as is asked of what is composed."""
    curve = curves_of(Sampled((Gaussian(z),), "with_replacement", population, draws), negligible=1e-30).forward
    epsilon = np.linspace(0, 1 / z**2 + 8 / z, 400)
    delta = np.exp(curve(epsilon))
    slopes = np.diff(delta) / np.diff(np.exp(epsilon))
    assert delta[0] <= 1 and slopes[0] >= -1
    rounding = 1e-12 * delta[:-1] / np.diff(np.exp(epsilon))
    assert np.all(np.diff(slopes) >= -rounding[:-1])
