r"""The three baselines of Xu et al. 2026 measured on mean estimation, against the order of the empirical risk.

Table 1 of the paper states |grad F| of the order a^{2/3}, a = sqrt(d log(1/delta))/(n epsilon), for DP-SPIDER and
Sto-SPIDER, and n^{-1/3} + a^{2/5}, which is more, on the population for Ada-DP-SPIDER. All three are held to Theorem 3,
whose schedule they have without the variable y, on the empirical risk, whose order in the table it has.

Instance: f(w; z) = |w - z|^2/2 with all records at 0.6 e_1 or 0.9 e_1, from w = 0. A refresh is over all records and a
difference of two gradients of one record is the same for all, so that records that differ would change nothing else.
L0 = 1 bounds the gradients wherever runs come, and L = 1. The noise is Theorem 3's times the least constant c that the
accountant certifies: as printed, c = 1.

Predictions are moments in closed form, or many runs in NumPy that share nothing with the solvers. The gradient g of the
empirical risk is the distance from the records' mean. An estimate v = g + e has the noise N(0, (L0 sigma_1)^2 I) after
a refresh over all records, and N(0, (sigma_2 |w - w'|)^2 I) is added with each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, hyp1f1

from dpcheck.accounting import calibrate
from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue import equal_records
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise, cross, rows
from dpcheck.events import Event, Gaussian, Laplace, Repeated, Sampled
from dpcheck.problems.mean_estimation import MeanEstimation

THEOREM = "xu2026.theorem_3"
STARTS = {"dp_spider": 0.6, "ada_dp_spider": 0.9, "sto_spider": 0.9}  # distances from the start to the minimiser
RADIUS, L0 = 1.8, 1.0
RHO, FAILURE, SELECTION = 4.0, 0.5, 0.25  # rho: the Hessian is constant, so that any number bounds its changes
SLOW = 0.1  # step of the two that stop at a noisy threshold: it is crossed within a tenth
SLOPES = {"dp_spider": 2.0, "ada_dp_spider": 2.0, "sto_spider": 8.0}  # M, which only sets the constant of T
OFTEN = 0.1  # the constant of DP-SPIDER's period
DRAWS = 1500


def gap(algorithm: str) -> float:
    """F_0 = F(0) - min F."""
    return STARTS[algorithm] ** 2 / 2


class EqualRecords(MeanEstimation):
    """Mean estimation whose records are all the same; gradients of one record stand for those of a minibatch."""

    mean: ClassVar[Callable[..., Any]] = staticmethod(equal_records.mean)
    difference: ClassVar[Callable[..., Any]] = staticmethod(equal_records.difference)


def sample(algorithm: str, cell: Cell, rng: np.random.Generator) -> EqualRecords:
    """Records at a multiple of e_1."""
    records = np.zeros((int(cell["n"]), int(cell["d"])))
    records[:, 0] = STARTS[algorithm]
    return EqualRecords(records, bound=STARTS[algorithm], radius=RADIUS)


def norm(problem: MeanEstimation, outputs: Array) -> float:
    """Mean |grad F| of the outputs."""
    return float(np.linalg.norm(outputs - problem.records.mean(0), axis=1).mean())


def constants(algorithm: str, problem: MeanEstimation, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {**cell, "L": problem.smoothness, "M": SLOPES[algorithm], "F_0": gap(algorithm)}


def minibatch(n: float, T: float) -> int:
    """n/sqrt T: more would lessen the sampling error of differences, which have none here."""
    return math.ceil(n / math.sqrt(T))


def given(algorithm: str, problem: MeanEstimation, cell: Cell) -> dict[str, float]:
    """This instance's L0 and F_0, and the constants of the orders of T, q, S_2 and the step."""
    a = math.sqrt(cell["d"] * math.log(1 / cell["delta"])) / (cell["n"] * cell["epsilon"])
    steps = math.ceil((gap(algorithm) ** 0.25 / (math.sqrt(SLOPES[algorithm]) * a)) ** (4 / 3))
    found = {"L0": L0, "F0": gap(algorithm), "steps": steps, "b2": minibatch(cell["n"], steps)}
    if algorithm == "dp_spider":
        return {**found, "period": max(1, math.floor(OFTEN / (steps * a**2)))}
    return {**found, "eta": SLOW, "rho": RHO, "failure": FAILURE}


class Noise:
    """The theorem's noise at a grid point: in its proportions, and as the accountant has it."""

    def __init__(self, algorithm: str, cell: Cell) -> None:
        statement, letters = theorem(THEOREM), {**cell, "L": 1.0, "M": SLOPES[algorithm], "F_0": gap(algorithm)}
        schedule = statement.schedule(**letters)
        self.cell, self.n, self.T = cell, int(cell["n"]), int(schedule["T"])
        self.q, self.S_2 = int(schedule["q"]), minibatch(self.n, self.T)
        found = statement.noise(**letters, C_v=L0, C_u=1.0)
        self.of_one_refresh = found["sigma_omega"] / max(1.0, math.sqrt(self.T / self.q))
        self.of_a_difference = found["sigma_zeta"]

    def printed(self, refreshes: int) -> tuple[float, float]:
        """Return the noise of one of so many refreshes, and of a difference of length 1."""
        return self.of_one_refresh * math.sqrt(refreshes), self.of_a_difference

    def certified(self, refreshes: int, differences: int, others: tuple[Event, ...] = ()) -> tuple[float, float]:
        """Return the printed noise times the least constant that makes so many refreshes and differences private."""
        n, batch = self.n, self.S_2
        one, two = self.printed(refreshes)

        def events(c: float) -> tuple[Event, ...]:
            refresh = Sampled((Gaussian(c * one / L0 * n / 2),), "without_replacement", n, n)
            change = Sampled((Gaussian(c * two * batch / 2),), "without_replacement", n, batch)
            return (Repeated(refresh, refreshes), Repeated(change, differences), *others)

        c = calibrate(events, epsilon=self.cell["epsilon"], delta=self.cell["delta"])
        return c * one, c * two


def uniform_iterate(cell: Cell, *, printed: bool) -> Plan:
    """DP-SPIDER's numbers by the theorem."""
    noise = Noise("dp_spider", cell)
    a = math.sqrt(cell["d"] * math.log(1 / cell["delta"])) / (cell["n"] * cell["epsilon"])
    period = max(1, math.floor(OFTEN / (noise.T * a**2)))
    refreshes = math.ceil(noise.T / period)
    one, two = noise.printed(refreshes) if printed else noise.certified(refreshes, noise.T - refreshes)
    return Plan(steps=noise.T, period=period, eta=0.5, noise=one, growth=two, start=_start("dp_spider", cell))


def thresholds(algorithm: str, cell: Cell) -> Plan:
    """The numbers of the two that refresh by drift, of which Sto-SPIDER pays a share of epsilon for its selection."""
    noise = Noise(algorithm, cell)
    T, n, d = noise.T, noise.n, int(cell["d"])
    refreshes = max(math.ceil(T / noise.q), 1 + math.ceil(math.sqrt(2 * SLOW * gap(algorithm) * T) / L0))
    scale, others = 0.0, tuple[Event, ...]()
    if algorithm == "sto_spider":  # AboveThreshold is (1/scale)-DP; the Laplace noise of its event is no better
        scale = 1 / math.log(2 * math.exp(SELECTION * cell["epsilon"] / 2) - 1)
        others = (Laplace(1 / (2 * math.log((1 + math.exp(1 / scale)) / 2))),)
    one, two = noise.certified(min(refreshes, T), T - 1, others)
    kappa = (one / two) ** 2
    chi = math.sqrt(2 * d * one**2 + kappa * (1 / noise.S_2 - 1 / n))
    Gamma = math.ceil(math.log(d * T / FAILURE) / (SLOW * math.sqrt(RHO * 4 * chi)))
    return Plan(
        steps=T, eta=SLOW, noise=one, growth=two, start=_start(algorithm, cell), refreshes=refreshes, kappa=kappa,
        chi=chi, R=math.sqrt(4 * chi / RHO), Gamma=Gamma, Q=math.ceil(26 / 5 * math.log(1 / FAILURE)), scale=scale,
        records=n, L0=L0,
    )  # fmt: skip


def _start(algorithm: str, cell: Cell) -> Array:
    return np.asarray(np.eye(int(cell["d"]))[0] * STARTS[algorithm])


def by_moments(problem: MeanEstimation, cell: Cell, *, printed: bool) -> float:
    """DP-SPIDER's mean gradient norm."""
    return mean_norm(uniform_iterate(cell, printed=printed))


@cache
def _simulated(algorithm: str, cell: tuple[tuple[str, float], ...]) -> float:
    law = {"ada_dp_spider": ada_outputs, "sto_spider": sto_outputs}[algorithm]
    found = law(thresholds(algorithm, dict(cell)), DRAWS, np.random.default_rng(0))
    return float(np.linalg.norm(found, axis=1).mean())


def simulated(algorithm: str, problem: MeanEstimation, cell: Cell) -> float:
    """The mean gradient norm of runs in NumPy."""
    return _simulated(algorithm, tuple(sorted(cell.items())))


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


def total(solver: Any, problem: MeanEstimation) -> float:
    """Step times curvature times number of steps."""
    return float(solver.steps * solver.eta * problem.mu)


def premises(algorithm: str, problem: MeanEstimation, cell: Cell) -> Iterable[Premise]:
    """The noise stays in the domain, and a run has time for its refreshes."""
    noise = Noise(algorithm, cell)
    room = RADIUS - STARTS[algorithm]
    yield Premise("distance to the domain's end over the noise", room / (math.sqrt(cell["d"]) * noise.printed(1)[0]), 5)
    yield Premise("iterations over the period of refreshes", noise.T / noise.q, 0.1)


def experiment(
    algorithm: str, name: str, cells: tuple[Cell, ...], seeds: int, runs: Callable[[Cell], int], **more: Any
) -> Experiment:
    """One baseline against the order of the empirical risk."""
    return Experiment(
        name=name, algorithm=algorithm, theorem=THEOREM, regime="privacy", quantity="gradient norm at the output",
        sample=partial(sample, algorithm), measure=norm, constants=partial(constants, algorithm),
        settings=partial(given, algorithm),
        reach=total, premises=partial(premises, algorithm),
        grid=Grid(cells, seeds), runs=runs,
        attains="the instance attains the order, which Theorem 3 has from Table 1 of the paper", **more,
    )  # fmt: skip


def equal_spread(runs: int) -> Callable[[Cell], int]:
    """So many runs at d = 4, and elsewhere as many as bring the mean of a norm in d dimensions equally near."""
    return lambda cell: math.ceil(4 * runs / cell["d"])


DELTA, HIGH = 1e-5, 0.95  # delta far below epsilon, else less noise is private than the order says
BASE = {"delta": DELTA, "n": 4500, "d": 4, "epsilon": HIGH}
COARSE, FINE = cross(BASE, n=(800, 1750, 4000)), cross(BASE, n=(2000, 4500, 10000))
FAR = BASE | {"delta": 1e-10, "n": 11_000, "d": 8}  # where certified noise is nearly in proportion to 1/epsilon
ALL = (
    *cross(FAR, n=(5600, 11_000, 25_000), d=(4, 16, 32)),
    *cross(FAR | {"n": 28_000, "d": 4}, epsilon=(0.25, 0.49, HIGH)),
)
# The printed noise is a formula, so that the order can be measured in all factors; of the points at which the simulated
# law has it, these tell four exponents apart best.
PRINTED = rows(
    ("n", "d", "epsilon", "delta"), (3000, 8, 0.25, 1e-12), (3000, 8, 0.95, 1e-20), (3000, 8, 0.95, 1e-5),
    (3000, 32, 0.5, 1e-12), (8000, 8, 0.25, 1e-5), (8000, 8, 0.95, 1e-20), (8000, 32, 0.25, 1e-20),
    (8000, 32, 0.95, 1e-5), (20_000, 16, 0.25, 1e-20),
)  # fmt: skip

EXPERIMENTS = (
    experiment(
        "dp_spider", "table_1", COARSE, 60, equal_spread(33), factors=("n",),
        predicted=partial(by_moments, printed=False), within=1.12, clear=4.0,
    ),
    experiment(
        "dp_spider", "table_1.as_printed", PRINTED, 72, equal_spread(50), variant="as_printed",
        factors=("n", "d", "epsilon", LOG_DELTA), predicted=partial(by_moments, printed=True), within=1.15,
    ),
    experiment(
        "ada_dp_spider", "table_1", ALL, 40, equal_spread(5), factors=("n", "d", "epsilon"),
        predicted=partial(simulated, "ada_dp_spider"), within=1.1,
    ),
    experiment(
        "sto_spider", "table_1", FINE, 36, equal_spread(3), factors=("n",),
        predicted=partial(simulated, "sto_spider"), within=1.1, clear=4.0,
        unreachable="the law of this instance, as simulated, still bends over the sizes that minutes reach",
    ),
)  # fmt: skip
