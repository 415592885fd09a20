"""The SPIDER algorithms on mean estimation, f(w; z) = |w - z|^2/2: moments in closed form, or many runs in NumPy.

The gradient g of the empirical risk is the distance from the records' mean, and a difference of two gradients of one
record is the step itself, so that minibatches of differences bring no error. An estimate v = g + e has the noise
N(0, (L0 sigma_1)^2 I) after a refresh over all records, and N(0, (sigma_2 |w - w'|)^2 I) is added with each step. The
steps are those of the papers that :mod:`dpcheck.catalogue.xu2026.dp_spider` and its two successors name; nothing is
shared with the solvers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, hyp1f1

from dpcheck.algorithms.problem import Array

Marks = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The numbers of a run, named as in the solvers; those that an algorithm does not have stay 0.

    noise : L0 sigma_1;  growth : sigma_2, the noise of a difference for a step of length 1
    start : (d,) the gradient where the run begins
    """

    steps: int
    eta: float
    noise: float
    growth: float
    start: Array
    period: int = 0
    refreshes: int = 0
    kappa: float = 0.0
    chi: float = 0.0
    R: float = 0.0
    Gamma: int = 0
    Q: int = 0
    scale: float = 0.0
    records: int = 0
    L0: float = 0.0


def mean_norm(plan: Plan) -> float:
    """E |g| of a uniform iterate of DP-SPIDER: second moments by an exact recursion, norms as of normal vectors.

    With A = E |g|^2, B = E <g, e>, C = E |e|^2 and k = 1 - eta a step w - eta (g + e) leaves k^2 A - 2 k eta B +
    eta^2 C, k B - eta C and C + d (sigma_2 eta)^2 E |v|^2; a refresh makes B = 0 and C = d (L0 sigma_1)^2.
    """
    d, k, eta = plan.start.size, 1 - plan.eta, plan.eta
    A, B, C, grown = float(plan.start @ plan.start), 0.0, 0.0, 0.0
    seconds = np.empty(plan.steps)
    for t in range(plan.steps):
        if t % plan.period == 0:
            B, C = 0.0, d * plan.noise**2
        else:
            C += d * (plan.growth * eta) ** 2 * grown
        grown = A + 2 * B + C
        A, B = k * k * A - 2 * k * eta * B + eta * eta * C, k * B - eta * C
        seconds[t] = A
    means = k ** (1 + np.arange(plan.steps)) * np.linalg.norm(plan.start)
    return float(_norms(means, np.maximum(seconds - means**2, 1e-300) / d, d).mean())


def _norms(mean: Array, variance: Array, d: int) -> Array:
    """E |N(m, variance I)| in d dimensions, |m| = ``mean``."""
    central = np.sqrt(2 * variance) * math.exp(gammaln((d + 1) / 2) - gammaln(d / 2))
    far = mean**2 > 200 * variance
    near = hyp1f1(-0.5, d / 2, -np.where(far, 0.0, mean**2 / (2 * variance)))
    return np.where(far, np.sqrt(mean**2 + (d - 1) * variance), central * near)


class _Estimate:
    """g, v and the drift since the last refresh, of all runs."""

    def __init__(self, plan: Plan, runs: int, rng: np.random.Generator) -> None:
        self.plan, self.rng = plan, rng
        self.g = np.tile(plan.start, (runs, 1))
        self.old, self.v, self.drift = self.g.copy(), np.zeros_like(self.g), np.zeros(runs)
        self.left = np.full(runs, plan.refreshes)

    def renew(self, besides: Marks, first: bool) -> Marks:
        """Bring v to g, afresh where the drift or ``besides`` asks for it; true where no refresh is left for that."""
        step = np.linalg.norm(self.g - self.old, axis=1)
        self.drift += step**2
        wanted = besides | np.full(besides.shape, first) | (self.drift >= self.plan.kappa)
        refused = wanted & (self.left == 0)
        self.left -= wanted & ~refused
        self.drift[wanted] = 0.0
        drawn = self.rng.standard_normal(self.g.shape)
        after = self.v + self.g - self.old + self.plan.growth * step[:, None] * drawn
        self.v = np.where(wanted[:, None], self.g + self.plan.noise * drawn, after)
        return np.asarray(refused)

    def step(self, still: Marks) -> None:
        """Gradient steps of the runs that go on."""
        self.old = self.g.copy()
        self.g = self.g - self.plan.eta * np.where(still[:, None], self.v, 0.0)


def ada_outputs(plan: Plan, runs: int, rng: np.random.Generator) -> Array:
    """The gradients at what Ada-DP-SPIDER returns : (runs, d)."""
    state, anchor = _Estimate(plan, runs, rng), np.zeros((runs, plan.start.size))
    done, escaping, none = np.zeros(runs, bool), np.zeros(runs, bool), np.zeros(runs, bool)
    rounds, inside = np.zeros(runs, int), np.zeros(runs, int)
    for t in range(plan.steps):
        done |= state.renew(none, t == 0)
        low = ~done & ~escaping & (np.linalg.norm(state.v, axis=1) <= 3 * plan.chi)
        anchor[low], rounds[low], inside[low] = state.g[low], 0, 0
        escaping |= low
        state.step(~done)
        busy = escaping & ~done
        inside += busy
        away = busy & (np.linalg.norm(state.g - anchor, axis=1) >= plan.R)
        escaping &= ~away
        ended = busy & ~away & (inside == plan.Gamma)
        rounds += ended
        inside[ended] = 0
        state.g[ended] = anchor[ended]
        done |= ended & (rounds == plan.Q)
        if done.all():
            break
    return state.g


def sto_outputs(plan: Plan, runs: int, rng: np.random.Generator) -> Array:
    """The gradients at what Sto-SPIDER returns : (runs, d). The curvature, 1, passes every test by far."""
    state, found = _Estimate(plan, runs, rng), np.tile(plan.start, (runs, 1))
    done, ended, frozen = np.zeros(runs, bool), np.zeros(runs, bool), np.zeros(runs, int)
    threshold = rng.laplace(0.0, 2 * plan.scale, runs)
    for t in range(plan.steps):
        saddle = (t > 0) & (frozen <= 0) & (np.linalg.norm(state.v, axis=1) <= 3 * plan.chi)
        ended |= state.renew(saddle, t == 0)
        state.v += np.where(saddle[:, None], plan.noise * rng.standard_normal(state.g.shape), 0.0)
        frozen = np.where(saddle, plan.Gamma, frozen - 1)
        state.step(~ended)
        score = (4 * plan.chi - np.linalg.norm(state.g, axis=1)) * plan.records / (2 * plan.L0)
        passed = score + rng.laplace(0.0, 4 * plan.scale, runs) >= threshold
        fresh = ~done & ~ended
        found[fresh] = state.g[fresh]
        done |= passed & ~ended
        if (done | ended).all():
            break
    return found
