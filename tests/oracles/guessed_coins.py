"""Mechanisms whose coins are guessed, and the worst law of right guesses by a linear program."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Floats = NDArray[np.float64]


def gaussian(mu: float) -> Any:
    """Orthogonal canaries of length mu, noise of standard deviation 1."""
    return lambda included, rng: mu * included + rng.standard_normal(included.size)


def randomised_response(epsilon: float) -> Any:
    truth = 1 / (1 + math.exp(-epsilon))
    return lambda included, rng: np.where(rng.random(included.size) < truth, included, ~included)


def largest(canaries: int, guesses: int, right: int, points: list[tuple[float, float]]) -> float:
    """P(W >= right) of the worst law."""
    return float(worst_law(canaries, guesses, right, points)[right:].sum())


def worst_law(canaries: int, guesses: int, right: int, points: list[tuple[float, float]]) -> Floats:
    """P(W >= right) maximised by a linear program over the laws w of W and the excesses, both directions."""
    r, k = guesses, np.arange(1, guesses + 1)
    ahead = np.zeros((r, r + 1))  # k w_k
    behind = np.zeros((r, r + 1))  # (r - k + 1) w_{k-1}
    ahead[k - 1, k], behind[k - 1, k - 1] = k, r - k + 1
    rows, limits = [], []
    for j, (epsilon, delta) in enumerate(points):
        ratio = np.vstack([ahead - math.exp(epsilon) * behind, behind - math.exp(epsilon) * ahead])
        slack = np.zeros((2 * r, 2 * r * len(points)))
        slack[:, 2 * r * j : 2 * r * (j + 1)] = -np.eye(2 * r)
        rows += [np.hstack([ratio, slack]), np.hstack([np.zeros(r + 1), -slack.sum(axis=0)])[None]]
        limits += [*np.zeros(2 * r), canaries * delta]
    width = r + 1 + 2 * r * len(points)
    law = np.arange(width) <= r
    aim = -((np.arange(width) >= right) & law).astype(float)
    found = optimize.linprog(aim, A_ub=np.vstack(rows), b_ub=limits, A_eq=law[None].astype(float), b_eq=[1])
    assert found.success
    return np.asarray(found.x[: r + 1])


def attaining(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> Floats:
    """Law (guesses + 1,) of W that the docstring of guesses.py says attains the bound."""
    law = stats.binom.pmf(np.arange(guesses + 1), guesses, 1 / (1 + math.exp(-epsilon)))
    tail = law[right:].sum()
    rise = min(canaries * delta / (right * law[right]), 1 / tail)
    jump = np.where(np.arange(guesses + 1) >= right, rise, 0.0)
    return np.asarray(law * (1 - rise * tail + jump))


def excess(table: Floats, epsilon: float) -> float:
    """Least delta of a mechanism on bits, ``table[s, t]`` the probability of output t on s, at this epsilon."""
    worst = 0.0
    for s in range(len(table)):
        for i in range(len(table).bit_length() - 1):
            worst = max(worst, float(np.maximum(table[s] - math.exp(epsilon) * table[s ^ (1 << i)], 0).sum()))
    return worst


def outputs(canaries: int, guesses: int) -> list[tuple[int, ...]]:
    """All ways to guess: 0 or 1 for a guessed coin, -1 for one left out."""
    return [t for t in itertools.product((0, 1, -1), repeat=canaries) if sum(g >= 0 for g in t) == guesses]


def count_right(s: int, t: tuple[int, ...]) -> int:
    return sum(g == (s >> i) & 1 for i, g in enumerate(t))


def gdp(mu: float) -> Any:
    """The curve of the Gaussian mechanism (Balle and Wang 2018)."""
    return lambda e: stats.norm.cdf(mu / 2 - np.asarray(e) / mu) - np.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)
