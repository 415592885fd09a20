"""Closed form of the mean iterate's weak gap where the saddle of a hinge game is the corner of its boxes.

From 0 each coordinate walks to the corner, with a drift g that keeps its sign, and is then held there by the projection
against noise of standard deviation s a step. For one coordinate at distance x from the corner, step eta:

    mean of T distances = that of the walk without noise + M - M^2/(eta g T),
    M = sum over k >= 1 of E[S_k^+]/k,  S_k ~ N(-k eta g, k eta^2 s^2),

M the stationary mean of x -> max(x + N(-eta g, eta^2 s^2), 0) (Spitzer), eta s^2/(2g) up to eta s. Times g, summed, the
terms are D^2/(eta T), what it costs to have begun at 0, and eta d s^2, what the noise costs: the two that Lemma 3 of
Yang et al. 2022 bounds the risk by.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from dpcheck.algorithms.problem import Array
from dpcheck.checks.experiment import Premise
from dpcheck.problems.hinge_game import MEAN, SPREAD, HingeGame

_STEPS = 20_000  # of the walk, at most; longer ones are followed in equal leaps


def mean_gap(game: HingeGame, steps: float, eta: float, batch: float, sigma_w: float, sigma_v: float) -> float:
    """Weak population gap of the mean iterate of ``steps`` steps of descent ascent with this noise on its gradients."""
    d = game.dim_w
    moved = np.empty(2 * d)
    mean, walked = MEAN * game.bound / math.sqrt(d), walk(game, int(steps), eta)
    chance = SPREAD**2 * game.bound**2 / (d * batch)  # of a minibatch's mean
    for part, sigma, sign, at in ((slice(0, d), sigma_w, -1.0, 0), (slice(d, None), sigma_v, 1.0, 1)):
        drift = mean + sign * game.coupling * game.radius / math.sqrt(d)
        held = held_off(eta * drift, eta * math.sqrt(sigma**2 + chance))
        moved[part] = walked[at] / math.sqrt(d) + held - held**2 / (eta * drift * steps)
    return game.weak_gap(moved[None])


def arrival(game: HingeGame, way: float) -> Premise:
    """That steps of this sum lead to the corner well before the end."""
    drift = MEAN * game.bound - game.coupling * game.radius
    return Premise("the steps over those that lead to the corner", way * drift / game.radius, 1.5)


def walk(game: HingeGame, steps: int, eta: float) -> Array:
    """Mean of the iterates without noise, one coordinate of w and of v, times sqrt(d)."""
    leap = -(-steps // _STEPS)
    x = y = 0.0
    total = np.zeros(2)
    for _ in range(steps // leap):
        total += x, y
        g_x = game.coupling * y + MEAN * game.bound + _bend(game, x)
        g_y = game.coupling * x - MEAN * game.bound - _bend(game, y)
        x = max(x - leap * eta * g_x, -game.radius)
        y = max(y + leap * eta * g_y, -game.radius)
    return total / (steps // leap)


def held_off(drift: float, deviation: float) -> float:
    """M: the stationary mean of x -> max(x + N(-drift, deviation^2), 0)."""
    if deviation == 0:
        return 0.0
    k = np.arange(1.0, 60 * max((deviation / drift) ** 2, 1))
    z = np.sqrt(k) * drift / deviation
    positive = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) - z * ndtr(-z)
    return float((deviation / np.sqrt(k) * positive).sum())


def _bend(game: HingeGame, x: float) -> float:
    """Slope of the hinge term."""
    if x <= game.place:
        return 0.0
    return game.slope if x >= game.place + game.width else game.slope * (x - game.place) / game.width
