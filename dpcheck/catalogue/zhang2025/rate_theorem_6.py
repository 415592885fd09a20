"""Theorem 6 of Zhang et al. 2025 measured: PrivateDiff Minimax, as published and repaired, on equal records.

As the theorem configures it, its order is beyond reach. The noise of a round has the size of the threshold
C_2 |x_r - x_{r-1}| + C_3, and C_3 = 50 kappa G sqrt((log(R log T_2/theta) + 1)/T_2) is above 2 G, which no difference
of gradients exceeds, until T_2 = a^(-4/3) is in the thousands, a = sqrt(d log(1/delta))/(n epsilon). Until then the
iterates are driven to the end of the domain. So epsilon is varied there and the measurement is held to a simulation.

What the order rests on otherwise is measured as published with C_3 = G/sqrt(T_2), the constant and the logarithm left
out, on a game without coupling, where the gradient in x does not depend on y and nothing is clipped: the noise of the
restarts and of the differences are both of order a^(2/3) there, since T = a^(-2/3) and R = a^(-4/3). Coupling would add
the released y, whose noise sqrt(d) sigma_y is of order a^(1/3).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from dpcheck.accounting import calibrate
from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.equal_records import EqualRecords
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise
from dpcheck.events import Event, Gaussian, Repeated, Sampled

THEOREM = "zhang2025.theorem_6"
PULL, COUPLED, FAILURE = 0.3, 0.5, 0.05
RUNS = 400  # of a simulation


@dataclass(frozen=True)
class Schedule:
    """The numbers of Algorithm 3; noises over the threshold, but for sigma_y;  left : of the distance to y*(x)."""

    rounds: int
    restart: int
    eta_x: float
    C1: float
    C2: float
    C3: float
    most: float
    sigma_1: float
    sigma_2: float
    sigma_y: float
    left: float
    released_first: bool


def sample(coupling: float, cell: Cell, rng: np.random.Generator) -> EqualRecords:
    """The game."""
    return EqualRecords.of(int(cell["n"]), int(cell["d"]), PULL, coupling=coupling)


def constants(problem: EqualRecords, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {
        **cell, "l": problem.smoothness, "mu": problem.concavity, "C_0": problem.lipschitz_v,
        "beta": problem.smoothness, "M": 1.0, "theta": FAILURE,
    }  # fmt: skip


def published(problem: EqualRecords, cell: Cell, short: bool = False) -> Schedule:
    """The theorem's numbers; ``short`` leaves out the constant and the logarithm of C_3."""
    values = constants(problem, cell)
    schedule, noise = theorem(THEOREM).schedule(**values), theorem(THEOREM).noise(**values)
    R, T_2, l = int(schedule["R"]), int(schedule["T_2"]), problem.smoothness
    kappa, G = l / problem.concavity, max(problem.lipschitz_w, problem.lipschitz_v)
    C3 = (
        threshold(problem, cell)
        if short
        else 50 * kappa * G * math.sqrt((math.log(R * math.log(T_2)) / FAILURE + 1) / T_2)
    )
    return Schedule(
        R, int(schedule["T"]), schedule["eta_x"], problem.lipschitz_w, (1 + kappa) * l, C3, math.inf,
        noise["sigma_x1"], noise["sigma_x2"], noise["sigma_y"], 0.0, False,
    )  # fmt: skip


def repaired(problem: EqualRecords, cell: Cell) -> Schedule:
    """Noise in Remark 2's proportion, at least 1 of a minibatch; steps of the ascent at most 1/l; C at most 2 C_1."""
    schedule = theorem(THEOREM).schedule(**constants(problem, cell))
    R, T, T_2, m = (int(schedule[name]) for name in ("R", "T", "T_2", "m"))
    n, l, mu = int(cell["n"]), problem.smoothness, problem.concavity
    kappa, G = l / mu, max(problem.lipschitz_w, problem.lipschitz_v)

    restarts = math.ceil((R + 1) / T)
    counts = {"restart": restarts, "difference": R + 1 - restarts}
    shares = {kind: max(1.0, m / n * math.sqrt(count)) for kind, count in counts.items()}
    of_y = math.sqrt(R + 1)

    def events(z: float) -> tuple[Event, ...]:
        rounds = (
            Repeated(Sampled((Gaussian(z * shares[kind]),), "without_replacement", n, m), count)
            for kind, count in counts.items()
        )
        return (*rounds, Repeated(Gaussian(z * of_y), R + 1))

    z = calibrate(events, epsilon=cell["epsilon"], delta=cell["delta"])
    sigma_1, sigma_2 = (2 * z * shares[kind] / m for kind in ("restart", "difference"))
    C2 = (1 + kappa) * l
    C3 = 50 * kappa * G * math.sqrt((math.log(R * math.log(T_2) / FAILURE) + 1) / T_2)
    left = math.prod(1 - mu * min(1 / l, 1 / (mu * i)) for i in range(1, T_2 + 1))
    eta = min(1.0, 1 / (sigma_2 * math.sqrt(2 * T * cell["d"]))) / (2 * C2)
    C1, sigma_y = problem.lipschitz_w, z * of_y * 2 * problem.lipschitz_v / (mu * n)
    return Schedule(R, T, eta, C1, C2, C3, 2 * C1, sigma_1, sigma_2, sigma_y, left, True)


def simulated(problem: EqualRecords, plan: Schedule, d: int) -> float:
    """The mean of |grad Phi(x_r)|, r = 1, ..., R, over runs that are simulated together."""
    rng = np.random.default_rng(0)
    b = np.zeros(d)
    b[0] = problem.pull
    x, y = np.zeros((RUNS, d)), np.zeros((RUNS, d))
    old_x, v, total = x, x, 0.0
    for r in range(plan.rounds + 1):
        if r > 0:
            total += float(np.linalg.norm(problem.curvature * x + b, axis=1).mean())
        best = problem.coupling / problem.mu_y * x
        new_y = best + plan.left * (y - best)
        if plan.released_first:
            new_y = _ball(new_y + plan.sigma_y * rng.standard_normal(y.shape), problem.radius)
        if r % plan.restart == 0:
            C, noise, v = np.full((RUNS, 1), plan.C1), plan.sigma_1, np.zeros_like(x)
            g = problem.mu_x * x + problem.coupling * new_y + b
        else:
            far = np.linalg.norm(x - old_x, axis=1, keepdims=True)
            C, noise = np.minimum(plan.C2 * far + plan.C3, plan.most), plan.sigma_2
            g = problem.mu_x * (x - old_x) + problem.coupling * (new_y - y)
        v = v + _ball(g, C) + noise * C * rng.standard_normal(x.shape)
        old_x, x = x, _ball(x - plan.eta_x * v, problem.radius)
        y = new_y
        if not plan.released_first:
            y = _ball(y + plan.sigma_y * rng.standard_normal(y.shape), problem.radius)
    return total / plan.rounds


def _ball(points: Array, radius: Any) -> Array:
    """The points projected onto the ball about 0."""
    return np.asarray(
        points * np.minimum(1, radius / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300))
    )


@cache
def _kept(plan: Schedule, coupling: float, n: int, d: int) -> float:
    return simulated(EqualRecords.of(n, d, PULL, coupling=coupling), plan, d)


def quiet(problem: EqualRecords, cell: Cell) -> Schedule:
    """The repaired schedule, of which the noise decided the step, with no noise added."""
    return replace(repaired(problem, cell), sigma_1=0.0, sigma_2=0.0, sigma_y=0.0)


def predicted(plan: Any, problem: EqualRecords, cell: Cell) -> float:
    """The simulated measure under a schedule."""
    return _kept(plan(problem, cell), problem.coupling, int(cell["n"]), int(cell["d"]))


def threshold(problem: EqualRecords, cell: Cell) -> float:
    """C_3 = G/sqrt(T_2)."""
    T_2 = theorem(THEOREM).schedule(**constants(problem, cell))["T_2"]
    return float(max(problem.lipschitz_w, problem.lipschitz_v) / math.sqrt(T_2))


def shortened(problem: EqualRecords, cell: Cell) -> dict[str, Any]:
    """That threshold; and a minibatch of one and four steps in y, of which the game without coupling knows nothing."""
    return {"C3": threshold(problem, cell), "batch": 1, "inner": 4, "failure": FAILURE}


def small_noise(problem: EqualRecords, cell: Cell) -> Iterable[Premise]:
    """The noise that a restart begins with, and the differences up to the next one, stay in the domain."""
    plan = published(problem, cell, short=True)
    size = math.hypot(plan.sigma_1 * plan.C1, math.sqrt(plan.restart) * plan.sigma_2 * plan.C3) * math.sqrt(cell["d"])
    room = (problem.radius - PULL / problem.curvature) / (size / problem.curvature)
    yield Premise("distance to the end of the domain over the noise", room, 2.0)


def reach(solver: Any, problem: EqualRecords) -> float:
    """R eta_x times the curvature of Phi."""
    return float(solver.rounds * solver.eta_x * problem.curvature)


def onset() -> tuple[float, float]:
    """The T_2 from which on C_3 is a fifth of 2 C_1 for kappa = 1 and G = C_1, and the gradients R T_2 of a run."""
    T_2 = 4.0
    while 50 * math.sqrt((math.log(T_2 * math.log(T_2) / FAILURE) + 1) / T_2) > 2 / 5:
        T_2 *= 1.1
    return T_2, T_2**2


BEYOND = (
    f"C_3 = 50 kappa G sqrt((log(R log T_2/theta) + 1)/T_2) is below a fifth of 2 G from T_2 = {onset()[0]:.2g} on at "
    f"the earliest, where a run takes R T_2 = {onset()[1]:.2g} passes in y; below that the noise is of the order of G"
)
SETTLED = 5 * 16 * math.sqrt(2)  # T from which T eta_x curvature is 5: eta_x is 1/(16 sqrt 2) where kappa = l = 1
LATER = (
    f"T eta_x curvature is 5, so that the noise of a restart has its full effect before the next one, from T = "
    f"{SETTLED:.3g} on, a = T^(-3/2) = {SETTLED**-1.5:.2g}, and a range of 8 in a below that takes R = a^(-4/3) = "
    f"{(SETTLED**-1.5 / 8) ** (-4 / 3):.2g} rounds a run"
)
EPSILONS = tuple({"n": 600, "d": 2, "epsilon": epsilon, "delta": 1e-6} for epsilon in (0.125, 0.2, 0.32, 0.5))
WATCHED = tuple({"n": 600, "d": 2, "epsilon": epsilon, "delta": 1e-6} for epsilon in (0.25, 0.32, 0.4))
SHORT = tuple(
    {"n": int(math.sqrt(d * math.log(1e11)) / (a * epsilon)), "d": d, "epsilon": epsilon, "delta": 1e-11}
    for a, d, epsilon in (
        (0.003, 5, 0.125), (0.006, 5, 1.0), (0.003, 5, 1.0), (0.0015, 5, 1.0), (0.003, 16, 1.0), (0.003, 48, 1.0),
    )
)  # fmt: skip
COMMON: dict[str, Any] = {
    "algorithm": "privatediff", "theorem": THEOREM, "quantity": "gradient norm of Phi at a uniform iterate",
    "measure": EqualRecords.gradient_norm, "constants": constants, "regime": "privacy",
}  # fmt: skip

EXPERIMENTS = (
    Experiment(
        name="theorem_6", variant="repaired", sample=partial(sample, COUPLED), factors=("epsilon",),
        grid=Grid(EPSILONS, 16), runs=25, predicted=partial(predicted, repaired), within=1.15, clear=None,
        settings=lambda problem, cell: {"failure": FAILURE}, unreachable=BEYOND, **COMMON,
    ),
    Experiment(
        name="theorem_6.as_printed", variant="as_printed", sample=partial(sample, COUPLED), factors=("epsilon",),
        grid=Grid(EPSILONS, 16), runs=25, predicted=partial(predicted, published), within=1.15, clear=None,
        settings=lambda problem, cell: {"failure": FAILURE, "batch": 1}, unreachable=BEYOND,
        **COMMON,
    ),
    Experiment(  # how well the ascent follows, which noise hides
        name="theorem_6.without_noise", variant="repaired", sample=partial(sample, COUPLED), factors=("epsilon",),
        grid=Grid(WATCHED, 28), runs=60, predicted=partial(predicted, quiet), within=1.5, clear=None,
        settings=lambda problem, cell: {"failure": FAILURE, "private": False},
        unreachable="no noise is added, to see how well the ascent follows x, so that no order of privacy is left",
        **COMMON,
    ),
    Experiment(
        name="theorem_6.short_threshold", variant="as_printed", sample=partial(sample, 0.0),
        factors=("n", "d", "epsilon"), grid=Grid(SHORT, 20), runs=20,
        predicted=partial(predicted, partial(published, short=True)), within=1.15, settings=shortened,
        premises=small_noise, reach=reach, clear=2.0, unreachable=LATER, **COMMON,
    ),
)  # fmt: skip
