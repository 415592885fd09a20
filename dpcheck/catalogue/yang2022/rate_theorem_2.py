"""Theorems 2a and 2b of Yang et al. 2022 measured: DP-SGDA on games whose saddle is the corner of their boxes.

Theorem 2a. The game is smooth, the step 1/(L N), N = max(sqrt n, sqrt(d log(1/delta))/epsilon), and T = n, so that the
walk from the start to the corner costs the mean iterate D^2 L N/n, which is the theorem's rate in both regimes.

Theorem 2b. The game has kinks, and T = n^2 steps of 1/(n N) read one record each. Each coordinate passes a kink halfway
to the corner, so that the walk costs the mean iterate an order of D^2 N/n.

The weak gap of the mean iterate has a closed form. From 0 each coordinate walks to the corner, with a drift g that
keeps its sign, and is then held there by the projection against noise of standard deviation s a step. For one
coordinate at distance x from the corner, step eta:

    mean of T distances = that of the walk without noise + M - M^2/(eta g T),
    M = sum over k >= 1 of E[S_k^+]/k,  S_k ~ N(-k eta g, k eta^2 s^2),

M the stationary mean of x -> max(x + N(-eta g, eta^2 s^2), 0) (Spitzer), eta s^2/(2g) up to eta s. Times g, summed, the
terms are D^2/(eta T), what it costs to have begun at 0, and eta d s^2, what the noise costs: the two that Lemma 3 of
the paper bounds the risk by.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems.hinge_game import MEAN, SPREAD, HingeGame

SMOOTH, KINKS = "yang2022.theorem_2a", "yang2022.theorem_2b"
RADIUS = 12.0  # Theorem 2b's step has no unit; in this one noise costs less than a tenth of the walk from n = 800 on
SHAPES = {  # of the games; L D/G is the slope over the width over about 1.2
    "statistical": {"coupling": 0.1, "slope": 0.25, "place": 0.5, "width": 0.031},
    "privacy": {"coupling": 0.05, "slope": 0.125, "place": 0.5, "width": 0.0125},
    "kinks": {"radius": RADIUS, "coupling": 0.01, "slope": 0.25, "place": -RADIUS / 2, "width": 0.0},
}
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


def sample(shape: str, cell: Cell, rng: np.random.Generator) -> HingeGame:
    """Fresh records of the game of this shape."""
    return HingeGame.sample(int(cell["n"]), int(cell["d"]), rng, **SHAPES[shape])


def constants(game: Any, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 2a, and of Theorem 2b where the game has kinks and thus no L."""
    values = {**cell, "G_w": game.lipschitz_w, "G_v": game.lipschitz_v, "D_w": game.radius, "D_v": game.radius}
    return values | {"L": game.smoothness} if math.isfinite(game.smoothness) else values


def predicted(id: str, batch: int | None, game: HingeGame, cell: Cell) -> float:
    """Return the mean weak gap under the theorem's own schedule and noise, and this minibatch where it is another."""
    statement, values = theorem(id), constants(game, cell)
    schedule, noise = statement.schedule(**values), statement.noise(**values)
    return mean_gap(game, schedule["T"], schedule["eta"], batch or schedule["m"], noise["sigma_w"], noise["sigma_v"])


def premises(game: HingeGame, cell: Cell, id: str = SMOOTH) -> Iterable[Premise]:
    """The walk is over soon, and the game of Theorem 2b is not smooth."""
    schedule = theorem(id).schedule(**constants(game, cell))
    yield arrival(game, schedule["T"] * schedule["eta"])
    if id == KINKS:
        yield Premise("the smoothness of the game", game.smoothness, float("inf"))


def reach(solver: Any, game: HingeGame) -> float:
    """Total step times smoothness."""
    return float(solver.eta_w.sum() * game.smoothness)


COMMON: dict[str, Any] = {
    "algorithm": "dp_sgda", "variant": "as_printed", "quantity": "weak gap of the mean iterate",
    "measure": HingeGame.weak_gap, "constants": constants, "within": 1.15, "attains": "the instance attains the order",
}  # fmt: skip
FEW = {"d": 2, "epsilon": 1.0, "delta": 1e-9}
PRIVATE = 5.0  # N/sqrt n, at which privacy leads by 5 in the theorem's bound; n >= 40 000 for noise well within the box


def private(n: int, d: int) -> Cell:
    """A grid point whose epsilon makes N this multiple of sqrt n."""
    delta = 9e-12
    return {"n": n, "d": d, "epsilon": math.sqrt(-d * math.log(delta) / n) / PRIVATE, "delta": delta}


NOISY = (*(private(n, 8) for n in (40_000, 100_000, 250_000)), private(40_000, 3), private(40_000, 24))

EXPERIMENTS = (
    Experiment(
        name="theorem_2a.statistical", theorem=SMOOTH, regime="statistical", sample=partial(sample, "statistical"),
        factors=("n",), grid=Grid(cross(FEW, n=doubling(1024, 16_384)), 20), predicted=partial(predicted, SMOOTH, None),
        runs=lambda cell: int(2 * 2**14 / cell["n"]), premises=premises, reach=reach, **COMMON,
    ),
    Experiment(
        name="theorem_2a.privacy", theorem=SMOOTH, regime="privacy", sample=partial(sample, "privacy"),
        factors=("n", "d"), clear=2.5, grid=Grid(NOISY, 24), predicted=partial(predicted, SMOOTH, 1),
        settings=lambda game, cell: {"batch": 1},  # the printed noise, which hides the records' own, does not know m
        margin=0.2,  # runs differ by a tenth, and a hundred of them at each grid point would take minutes
        runs=lambda cell: math.ceil(40 / (cell["d"] + 4) * 40_000 / cell["n"]),
        premises=premises, reach=reach, **COMMON,
    ),
    Experiment(
        name="theorem_2b.statistical", theorem=KINKS, regime="statistical", sample=partial(sample, "kinks"),
        factors=("n",), predicted=partial(predicted, KINKS, None), premises=partial(premises, id=KINKS),
        settings=lambda game, cell: {"theorem": "2b"},
        clear=3.0, margin=0.2,  # m = 1, so that runs differ by 2 to 5 %, and a longer n takes n^2 steps
        grid=Grid(cross({"d": 3, "epsilon": 1.0, "delta": 9e-8}, n=doubling(800, 3200)), 8),
        runs=lambda cell: max(1, round(3 * (800 / cell["n"]) ** 1.3)), **COMMON,
    ),
)  # fmt: skip
