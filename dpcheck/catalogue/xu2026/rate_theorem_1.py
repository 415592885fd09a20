r"""Theorems 1 and 3 of Xu et al. 2026 measured: DP-RGDA on the empirical risk of a quadratic game.

f(x, y; (b, c)) = |x|^2/2 + <x, y>/2 - |y|^2/2 + <b, x> - <c, y>, records close to (s e_1, 0) and in pairs about it,
from x = y = 0. Phi is a quadratic of Hessian 1.25. alpha is a^{2/3}, a = sqrt(d log(1/delta))/(n epsilon). A run stops
where the estimate is below alpha, so that the output's gradient is a share of alpha. The noise is of that order too,
times s^3, with a constant of the accountant's that grows with log(1/delta); the small records keep it below alpha, in
place of a constant before a^{2/3}. Which share of alpha is left would hang on the start, as all steps have one length:
s is drawn from a range of that length, anew for each data set.

Repaired, the schedule is T = L_Phi F_0/alpha^2, eta = alpha/(2L), S_2 = n/sqrt T, C_u = L eta as the proof has it, and
a period of the order 1/(T a^2). Runs stop before its end; with several refreshes q is so small a whole number that the
law bends, and one point is held to the prediction. The escape has the numbers of Lemmas 6 and
7 for rho = 1; Phi is convex, so that no perturbation is paid for. As printed (Theorem 3, the same as Theorem 1) the
steps are 1/(2L) long, which is far beyond the minimiser, y never moves, and a run without an anchor returns its start.

Predictions are drawn from Algorithms 2 and 3 in plain NumPy on arrays of shape (runs, 2, d), the second axis for x and
y; nothing is shared with the solver. Minibatches of differences bring no error, as these are the same for all records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcheck.accounting import calibrate
from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue import equal_records
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise, cross, rows
from dpcheck.events import Event, Gaussian, Repeated, Sampled
from dpcheck.problems.quadratic import Quadratic

COUPLING, CURVATURE = 0.5, 1.25  # of x and y; of Phi
CENTRE, SPREAD, RADIUS = 0.08, 0.004, 2.0  # s, at most; and of the records about it
C_V, F_0 = CENTRE + SPREAD, CENTRE**2 / CURVATURE  # above every gradient; a bound on Phi(0) - min Phi, twice as large
# As printed: the noise needs no small records, and the steps lead further away.
FAR_CENTRE, FAR_SPREAD, FAR_M, FAR_C_V = 0.18, 0.01, 0.2, 1.0
FAR_F_0 = FAR_CENTRE**2 / CURVATURE
L = math.sqrt(1 + COUPLING**2)  # |[[1, 1/2], [1/2, -1]]|
L_PHI = L * (1 + L)
ESCAPE, FAILURE = 4.0, 0.1  # C, delta_1 = delta_2
ASCENT = 3  # K, of the order kappa, so that y keeps up with x
# The constant of the period, with which runs stop before its end, and where refreshes are looked at; perturbations, of
# which a convex Phi needs none
OFTEN, REFRESHED, ESCAPES = 0.0025, 0.0006, 0
STARTS, RUNS, DRAWS = 20, 150, 400  # of the simulation: places of s in its range, and runs from each; as printed


class EqualDifferences(Quadratic):
    """A record adds a constant to its gradient, so that the difference of one record's stands for a minibatch's."""

    difference: ClassVar[Callable[..., Any]] = staticmethod(equal_records.difference)


def game(centre: float, radius: float, cell: Cell, rng: np.random.Generator, spread: float) -> Quadratic:
    """Records (b, c) on a small sphere about (centre e_1, 0), in pairs, so that their mean is that point."""
    n, d = int(cell["n"]), int(cell["d"])
    u = rng.standard_normal((n // 2, 2 * d))
    u *= spread / np.linalg.norm(u, axis=1, keepdims=True)
    records = np.concatenate([u, -u])
    records[:, 0] += centre
    return EqualDifferences(records, coupling=COUPLING, bound=centre + spread, radius=radius)


def sample(cell: Cell, rng: np.random.Generator) -> Quadratic:
    """The data of the empirical risk, s uniform in a range as long as one step changes the slope."""
    return game(CENTRE - rng.random() * CURVATURE * length(cell), RADIUS, cell, rng, SPREAD)


def sample_far(cell: Cell, rng: np.random.Generator) -> Quadratic:
    """The data as printed."""
    return game(FAR_CENTRE, RADIUS, cell, rng, FAR_SPREAD)


def slopes(x: Array, b: Array, c: Array) -> float:
    """Mean |grad Phi| where the records have means b and c."""
    return float(np.linalg.norm(CURVATURE * x + b - COUPLING * c, axis=1).mean())


def simulated_slope(plan: Plan, centre: float, d: int, runs: int, rng: np.random.Generator) -> float:
    """Mean |grad Phi| at what ``runs`` simulated runs return, where the records' mean is (centre e_1, 0)."""
    shift = np.zeros((2, d))
    shift[0, 0] = centre
    x = simulated_outputs(plan, np.array([[1.0, COUPLING], [COUPLING, -1.0]]), shift, runs, rng)
    return slopes(x, shift[0], shift[1])


def norm(problem: Quadratic, found: Array) -> float:
    """Mean |grad Phi| of the outputs, for these records."""
    d = problem.dim_w
    mean = problem.records.mean(0)
    return slopes(found[:, :d], mean[:d], mean[d:])


def constants(problem: Quadratic, cell: Cell) -> dict[str, float]:
    """The theorem's parameters; M is a bound on each coordinate of the gradients."""
    return {**cell, "L": problem.smoothness, "M": C_V, "F_0": F_0}


def constants_far(problem: Quadratic, cell: Cell) -> dict[str, float]:
    """Those as printed."""
    return {**cell, "L": problem.smoothness, "M": FAR_M, "F_0": FAR_F_0}


def privacy_error(cell: Cell) -> float:
    """The error a."""
    return math.sqrt(cell["d"] * math.log(1 / cell["delta"])) / (cell["n"] * cell["epsilon"])


def length(cell: Cell) -> float:
    """The length eta of a step, alpha/(2L)."""
    return float(privacy_error(cell) ** (2 / 3) / (2 * L))


def escape(alpha: float, d: float) -> dict[str, Any]:
    """r, t_thres and D_bar of Lemmas 6 and 7, repaired, for rho = 1 and eta_H = 1/L_Phi."""
    growth = math.sqrt(alpha)
    reach = growth / ESCAPE
    t_thres = math.ceil(2 * math.log(2 * math.sqrt(d) / FAILURE) * L_PHI / growth)
    return {"r": reach / 2, "t_thres": t_thres, "D_bar": (reach / t_thres) ** 2}


def settings(often: float, problem: Quadratic, cell: Cell) -> dict[str, float]:
    """This instance's C_v and F_0, the escape's numbers, and the constant of the period."""
    a = privacy_error(cell)
    steps = math.ceil(L_PHI * F_0 / a ** (4 / 3))
    period, batch = max(1, math.floor(often / (steps * a**2))), math.ceil(cell["n"] / math.sqrt(steps))
    more = escape(a ** (2 / 3), cell["d"])
    given = {"C_v": C_V, "C_u": L * length(cell), "F0": F_0, "period": period, "S2": batch}
    return given | {"escapes": ESCAPES, "K": ASCENT, **more}


def settings_as_printed(problem: Quadratic, cell: Cell) -> dict[str, float]:
    """T, q and S_2 of the proof of Lemma 5, which its statement prints otherwise; the escape's numbers as above."""
    schedule = theorem("xu2026.theorem_3").schedule(**constants_far(problem, cell))
    sizes = {"steps": schedule["T"], "period": schedule["q"], "S2": schedule["S_2"]}
    return {"C_v": FAR_C_V, "F0": FAR_F_0, **sizes, **escape(privacy_error(cell) ** (2 / 3), cell["d"])}


def multipliers(cell: Cell, S_1: int, S_2: int, refreshes: int, differences: int) -> tuple[float, float]:
    """Noise of v and of u over their sensitivities, in the proportion of Algorithm 3, lines 1 and 2."""
    n = int(cell["n"])
    of_refresh = max(1, S_1 * math.sqrt(refreshes) / n)
    of_difference = max(1, S_2 * math.sqrt(differences) / n)

    def events(z: float) -> tuple[Event, ...]:
        def pairs(multiplier: float, batch: int, count: int) -> Event:
            both = (Gaussian(multiplier * math.sqrt(2)),) * 2
            return Repeated(Sampled(both, "without_replacement", n, batch), count)

        return pairs(z * of_refresh, S_1, refreshes), pairs(z * of_difference, S_2, differences)

    z = math.sqrt(2) * calibrate(events, epsilon=cell["epsilon"], delta=cell["delta"])
    return z * of_refresh, z * of_difference


def repaired(cell: Cell, often: float = OFTEN) -> Plan:
    """The repaired schedule with the accountant's noise."""
    n, a, K, eta = int(cell["n"]), privacy_error(cell), ASCENT, length(cell)
    alpha, C_u = a ** (2 / 3), L * eta
    steps = math.ceil(L_PHI * F_0 / alpha**2)
    period = max(1, math.floor(often / (steps * a**2)))
    periods = math.ceil(steps / period)
    S_2 = math.ceil(n / math.sqrt(steps))
    z_v, z_u = multipliers(cell, n, S_2, min(steps, periods + ESCAPES), steps * K)
    return Plan(
        steps=steps, period=period, K=K, alpha=alpha, eta=eta, eta_H=1 / L_PHI, lam=1 / (6 * L), C_u=C_u,
        sigma_v=z_v * 2 * C_V / n, sigma_u=z_u * 2 * C_u / S_2,
        escapes=ESCAPES, repaired=True, **escape(alpha, cell["d"]),
    )  # fmt: skip


def printed(cell: Cell) -> Plan:
    """Theorem 3's own schedule and noise."""
    statement, letters = theorem("xu2026.theorem_3"), {**cell, "L": L, "M": FAR_M, "F_0": FAR_F_0}
    schedule = statement.schedule(**letters)
    eta, alpha = schedule["eta"], privacy_error(cell) ** (2 / 3)
    noise = statement.noise(**letters, C_v=FAR_C_V, C_u=L * eta)
    return Plan(
        steps=int(schedule["T"]), period=int(schedule["q"]), K=int(schedule["K"]), alpha=alpha, eta=eta,
        eta_H=1 / L_PHI, lam=1 / (6 * L), C_u=L * eta, sigma_v=noise["sigma_omega"], sigma_u=noise["sigma_zeta"],
        escapes=0, repaired=False, **escape(alpha, cell["d"]),
    )  # fmt: skip


@cache
def _simulated(often: float | None, cell: tuple[tuple[str, float], ...]) -> float:
    at, rng = dict(cell), np.random.default_rng(0)
    d = int(at["d"])
    if often is None:
        return simulated_slope(printed(at), FAR_CENTRE, d, DRAWS, rng)
    plan = repaired(at, often)
    step, places = CURVATURE * plan.eta, (np.arange(STARTS) + 0.5) / STARTS
    return float(np.mean([simulated_slope(plan, CENTRE - place * step, d, RUNS, rng) for place in places]))


def simulated(often: float | None, problem: Quadratic, cell: Cell) -> float:
    """The mean gradient norm of runs in NumPy, as printed without the constant of a period."""
    return _simulated(often, tuple(sorted(cell.items())))


def premises(often: float, problem: Quadratic, cell: Cell) -> Iterable[Premise]:
    """Steps, whose length no slope decides, lead to the minimiser together, and past refreshes where those matter."""
    plan = repaired(cell, often)
    step = plan.eta * CURVATURE
    yield Premise("length of all steps over the minimiser's distance", plan.steps * step / CENTRE, 2.0)
    if often == REFRESHED:
        yield Premise("steps of the way over the period of refreshes", (CENTRE - plan.alpha) / step / plan.period, 1.5)
    room = (RADIUS - CENTRE) / (plan.r + math.sqrt(cell["d"]) * plan.sigma_v)
    yield Premise("distance to the domain's end over the noise", room, 5.0)


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


def simulated_outputs(plan: Plan, game: Array, shift: Array, runs: int, rng: np.random.Generator) -> Array:
    """Return the x of runs from 0 : (runs, d);  game : [[mu_x, a], [a, -mu_y]];  shift : (2, d), means of b and -c."""
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


COMMON: dict[str, Any] = {
    "algorithm": "dp_rgda", "quantity": "gradient norm of the primal function at the output", "measure": norm,
    "regime": "privacy",
}  # fmt: skip
# Steps reach far enough and the start is far; of such points these tell four exponents apart best.
EMPIRICAL = rows(
    ("n", "d", "epsilon", "delta"), (4000, 4, 0.53, 1e-5), (4000, 4, 0.95, 1e-8), (9000, 4, 0.3, 1e-8),
    (9000, 4, 0.53, 1e-5), (9000, 8, 0.53, 1e-8), (9000, 8, 0.95, 1e-20), (20_000, 4, 0.3, 1e-20),
    (20_000, 4, 0.53, 1e-20), (20_000, 4, 0.95, 1e-20), (20_000, 8, 0.53, 1e-12), (20_000, 8, 0.95, 1e-8),
    (20_000, 16, 0.3, 1e-8), (20_000, 16, 0.53, 1e-20), (20_000, 16, 0.95, 1e-5),
)  # fmt: skip
LARGE_STEPS = cross({"d": 4, "epsilon": 0.95, "delta": 1e-5}, n=(800, 1800, 4000))


def empirical(name: str, often: float, **more: Any) -> Experiment:
    """Theorem 1 with this constant of the period."""
    return Experiment(
        name=name, theorem="xu2026.theorem_1", sample=sample, constants=constants, settings=partial(settings, often),
        runs=4, predicted=partial(simulated, often), within=1.15, premises=partial(premises, often),
        attains="the instance attains the order", **COMMON, **more,
    )  # fmt: skip


EXPERIMENTS = (
    empirical("theorem_1", OFTEN, factors=("n", "d", "epsilon", LOG_DELTA), grid=Grid(EMPIRICAL, 60)),
    empirical("theorem_1.refreshes", REFRESHED, factors=(), grid=Grid(EMPIRICAL[5:6], 200)),
    Experiment(
        name="theorem_3.as_printed", theorem="xu2026.theorem_3", variant="as_printed", sample=sample_far,
        constants=constants_far, settings=settings_as_printed, factors=("n",), grid=Grid(LARGE_STEPS, 32), runs=9,
        predicted=partial(simulated, None), within=1.25, clear=None,
        attains="steps of constant length, and a start that is returned, do not attain it on this instance",
        **COMMON,
    ),
)  # fmt: skip
