"""DP-RGDA on a quadratic game in plain NumPy, many runs at once: the law that predictions are drawn from.

The game is f = mu_x/2 |x|^2 + a <x, y> - mu_y/2 |y|^2 + <b, x> - <c, y>, in which a record is a pair (b, c). A
difference of two gradients of one record is then the same for all records, so that minibatches of differences bring no
error, and a minibatch of a refresh brings that of the mean of its records alone. Nothing here is shared with the
solver: the steps are Algorithms 2 and 3 of Xu et al. 2026 on arrays of shape (runs, 2, d), the second axis for x and y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.problem import Array


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The numbers of one configuration, named as in the paper; see :class:`dpcheck.catalogue.xu2026.dp_rgda.DPRGDA`.

    spread : standard deviation that the minibatch of a refresh brings to each coordinate of both gradients
    """

    steps: int
    period: int
    K: int
    alpha: float
    eta: float
    eta_H: float
    lam: float
    r: float
    t_thres: int
    D_bar: float
    C_u: float
    sigma_v: float
    sigma_u: float
    escapes: int
    repaired: bool
    once: bool = False
    spread: float = 0.0


class _Sums:
    """v and u of all runs: a refresh, then sums of differences with noise on each, or along a binary tree."""

    def __init__(self, plan: Plan, shape: tuple[int, int, int], rng: np.random.Generator) -> None:
        self.plan, self.shape, self.rng = plan, shape, rng
        self.base, self.moved, self.noise = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.count = np.zeros(shape[0], int)
        height = (min(plan.period, plan.steps) * plan.K - 1).bit_length() if plan.once else 1
        self.nodes = np.zeros((height, *shape))

    @property
    def value(self) -> Array:
        """The estimates."""
        return self.base + self.moved + self.noise

    def refresh(self, gradients: Array, which: NDArray[np.bool_]) -> None:
        """Fresh gradients where ``which`` is true."""
        error = np.hypot(self.plan.sigma_v, self.plan.spread)
        fresh = gradients + error * self.rng.standard_normal(self.shape)
        self.base[which], self.moved[which], self.noise[which], self.count[which] = fresh[which], 0.0, 0.0, 0

    def add(self, change: Array, which: NDArray[np.bool_]) -> None:
        """One more clipped difference where ``which`` is true."""
        size = np.linalg.norm(change, axis=2, keepdims=True)
        change = change * np.minimum(1.0, self.plan.C_u / np.maximum(size, 1e-300))
        drawn = self.plan.sigma_u * self.rng.standard_normal(self.shape)
        self.moved[which] += change[which]
        if not self.plan.once:
            self.noise[which] += drawn[which]
            return
        self.count[which] += 1
        lowest = np.log2(np.maximum(self.count & -self.count, 1)).astype(int)
        rows = np.flatnonzero(which)
        self.nodes[lowest[rows], rows] = drawn[rows]
        digits = (self.count[None, :] >> np.arange(len(self.nodes))[:, None]) & 1
        total = np.einsum("hr,hrjd->rjd", digits, self.nodes)
        self.noise[which] = total[which]


def outputs(plan: Plan, game: Array, shift: Array, runs: int, rng: np.random.Generator) -> Array:
    """What x ``runs`` independent runs from 0 return : (runs, d).

    game : [[mu_x, a], [a, -mu_y]];  shift : (2, d), the means of b and -c
    """
    d = shift.shape[1]
    shape = (runs, 2, d)
    z, last_x, old = np.zeros(shape), np.zeros((runs, d)), np.zeros(shape)
    anchor, found = np.zeros((runs, d)), np.zeros((runs, d))
    sums, best_vu = _Sums(plan, shape, rng), np.zeros(shape)
    done, escaping, perturbed = np.zeros(runs, bool), np.zeros(runs, bool), np.zeros(runs, bool)
    used, anchored, steady, moved = np.zeros(runs, int), np.zeros(runs, int), np.zeros(runs, int), np.zeros(runs)
    for t in range(plan.steps):
        refresh = np.full(runs, t % plan.period == 0) | (perturbed & plan.repaired)
        afresh = refresh | (not plan.once)
        old[afresh] = z[afresh]
        sums.refresh(np.einsum("ij,rjd->rid", game, z) + shift, refresh)
        behind = np.zeros(runs, bool) if plan.once else ~(refresh & plan.repaired)
        old[behind, 0] = last_x[behind]
        old, best_y = _ascend(sums, game, z, old, refresh, best_vu)
        if not plan.once:  # the next differences continue the estimate that was chosen
            sums.base, sums.moved, sums.noise = best_vu.copy(), np.zeros(shape), np.zeros(shape)
        last_x = z[:, 0].copy()
        z[:, 1] = best_y
        v = best_vu[:, 0]
        length = np.linalg.norm(v, axis=1)
        pace = np.zeros(runs)
        normal, inside = ~done & ~escaping, ~done & escaping
        steep = normal & (length >= plan.alpha)  # Algorithm 2, line 6
        pace[steep] = plan.eta / length[steep]
        flat = normal & ~steep
        over = flat & (used == plan.escapes) & plan.repaired
        perturbed = flat & ~over  # lines 8 and 9
        anchor[perturbed], anchored[perturbed], steady[perturbed], moved[perturbed] = z[perturbed, 0], t, 0, 0.0
        used += perturbed
        z[:, 0] += np.where(perturbed[:, None], plan.r * _in_ball(runs, d, rng), 0.0)
        moved[inside] += (plan.eta_H * length[inside]) ** 2
        allowed = (t - anchored) * plan.D_bar
        broken = inside & (moved > allowed)  # lines 14 and 15
        pace[broken] = plan.eta_H * np.sqrt(allowed[broken] / moved[broken])
        still = inside & ~broken
        pace[still] = plan.eta_H
        steady += still
        certified = still & (steady == plan.t_thres)  # line 19
        found[over], found[certified] = z[over, 0], anchor[certified]
        done |= over | certified
        escaping = (escaping & ~broken) | perturbed
        z[:, 0] -= np.where(done, 0.0, pace)[:, None] * v
        if done.all():
            break
    found[~done] = z[~done, 0] if plan.repaired else anchor[~done]
    return found


def _ascend(
    sums: _Sums, game: Array, z: Array, old: Array, refresh: NDArray[np.bool_], best_vu: Array
) -> tuple[Array, Array]:
    """Ascend in y: Algorithm 3, lines 12 to 18, with v and u at the chosen points left in ``best_vu``.

    Returns the points of the last differences, (runs, 2, d), and the chosen y, (runs, d).
    """
    plan = sums.plan
    point, best, smallest = z.copy(), z.copy(), np.full(len(z), np.inf)
    for k in range(plan.K):
        sums.add(np.einsum("ij,rjd->rid", game, point - old), ~(refresh & plan.once & (k == 0)))
        old, vu = point.copy(), sums.value
        step = plan.lam * vu[:, 1]
        better = (np.linalg.norm(step, axis=1) < smallest) & (k >= 1 or not plan.repaired)
        smallest[better] = np.linalg.norm(step[better], axis=1)
        best[better], best_vu[better] = point[better], vu[better]
        point[:, 1] += step
    return old, best[:, 1]


def _in_ball(runs: int, d: int, rng: np.random.Generator) -> Array:
    """Uniform points of the unit ball."""
    points = rng.standard_normal((runs, d))
    return np.asarray(points * (rng.random(runs) ** (1 / d) / np.linalg.norm(points, axis=1))[:, None])
