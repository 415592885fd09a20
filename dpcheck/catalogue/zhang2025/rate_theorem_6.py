"""Theorem 6 of Zhang et al. 2025 measured: PrivateDiff Minimax, as published and repaired, on equal records.

As the theorem configures it, its order is beyond reach. The noise of a round has the size of the threshold
C_2 |x_r - x_{r-1}| + C_3, and C_3 = 50 kappa G sqrt((log(R log T_2/theta) + 1)/T_2) is above 2 G, which no difference
of gradients exceeds, until T_2 = a^(-4/3) is in the thousands, a = sqrt(d log(1/delta))/(n epsilon). Until then the
iterates are driven to the end of the domain. So epsilon is varied there and the measurement is held to a simulation.

What the order rests on otherwise is measured as published on a game without coupling, where the gradient in x does not
depend on y and nothing is clipped, with the numbers of the theorem's own statement, which leaves constants and
logarithms open: C_3 = G/sqrt(T_2), and steps of 1/(l + kappa l) in place of the proof's half of that. The noise of the
restarts and of the differences are both of order a^(2/3) there, since T = a^(-2/3) and R = a^(-4/3). Coupling would add
the released y, whose noise sqrt(d) sigma_y is of order a^(1/3).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from dpcheck.accounting import calibrate
from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.equal_records import EqualRecords
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise
from dpcheck.events import Event, Gaussian, Repeated, Sampled

THEOREM = "zhang2025.theorem_6"
PULL, COUPLED, FAILURE = 0.3, 0.5, 0.05
RUNS = 400  # of a simulation
REACH = 5.0  # from which on the noise of a restart has its full effect before the next one


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


@lru_cache(maxsize=2)
def _uncoupled(n: int, d: int) -> EqualRecords:
    return EqualRecords.of(n, d, PULL, coupling=0.0)


def uncoupled(cell: Cell, rng: np.random.Generator) -> EqualRecords:
    """The game without coupling; its records are the same each time."""
    return _uncoupled(int(cell["n"]), int(cell["d"]))


def constants(problem: EqualRecords, cell: Cell) -> dict[str, float]:
    """The theorem's parameters."""
    return {
        **cell, "l": problem.smoothness, "mu": problem.concavity, "C_0": problem.lipschitz_v,
        "beta": problem.smoothness, "M": 1.0, "theta": FAILURE,
    }  # fmt: skip


def published(problem: EqualRecords, cell: Cell) -> Schedule:
    """The theorem's numbers."""
    values = constants(problem, cell)
    schedule, noise = theorem(THEOREM).schedule(**values), theorem(THEOREM).noise(**values)
    R, T_2, l = int(schedule["R"]), int(schedule["T_2"]), problem.smoothness
    kappa, G = l / problem.concavity, max(problem.lipschitz_w, problem.lipschitz_v)
    C3 = 50 * kappa * G * math.sqrt((math.log(R * math.log(T_2)) / FAILURE + 1) / T_2)
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


def stated(problem: EqualRecords, cell: Cell) -> Schedule:
    """The numbers of the theorem's statement, constants and logarithms left out: C_3 = G/sqrt(T_2), twice the step."""
    plan = published(problem, cell)
    C3 = max(problem.lipschitz_w, problem.lipschitz_v) / math.sqrt(plan.rounds)  # T_2 is R
    return replace(plan, eta_x=2 * plan.eta_x, C3=C3)


def shortened(problem: EqualRecords, cell: Cell) -> dict[str, Any]:
    """Those numbers; and a minibatch of one and one step in y, of which the game without coupling knows nothing."""
    plan = stated(problem, cell)
    return {"C3": plan.C3, "eta_x": plan.eta_x, "batch": 1, "inner": 1, "failure": FAILURE}


def followed(problem: EqualRecords, cell: Cell) -> float:
    """The mean of |grad Phi| by its mean and second moments with those of v's error, as if |x_r - x_{r-1}| were sure.

    Restarts begin alike from the fourth on, so that the last of a few stands for all later ones.
    """
    plan, d = stated(problem, cell), cell["d"]
    step, T = plan.eta_x * problem.curvature, plan.restart
    restarts = max(1, math.ceil(plan.rounds / T))
    mean, of_g, of_v, both, length = problem.pull, 0.0, 0.0, 0.0, 0.0
    norms = []
    for _ in range(min(restarts, 6)):
        moments = []
        for r in range(T):
            if r == 0:
                of_v, both = d * (plan.sigma_1 * plan.C1) ** 2, 0.0
            else:
                of_v += d * (plan.sigma_2 * (plan.C2 * length + plan.C3)) ** 2
            length = plan.eta_x * math.sqrt(max(mean**2 + of_g + 2 * both + of_v, 0.0))
            of_g, both = (
                (1 - step) ** 2 * of_g - 2 * step * (1 - step) * both + step**2 * of_v,
                ((1 - step) * both - step * of_v),
            )
            mean *= 1 - step
            moments.append((mean, math.sqrt(of_g / d)))
        norms.append(float(problem.expected_norm(*np.array(moments).T).mean()))
    return (sum(norms) + (restarts - len(norms)) * norms[-1]) / restarts


def small_noise(problem: EqualRecords, cell: Cell) -> Iterable[Premise]:
    """The noise that a restart begins with, and the differences up to the next one, stay in the domain."""
    plan = stated(problem, cell)
    size = math.hypot(plan.sigma_1 * plan.C1, math.sqrt(plan.restart) * plan.sigma_2 * plan.C3) * math.sqrt(cell["d"])
    room = (problem.radius - PULL / problem.curvature) / (size / problem.curvature)
    yield Premise("distance to the end of the domain over the noise", room, 2.0)
    settled = plan.restart * plan.eta_x * problem.curvature
    yield Premise("the steps of a restart times curvature", settled, REACH)


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
EPSILONS = tuple({"n": 600, "d": 2, "epsilon": epsilon, "delta": 1e-6} for epsilon in (0.125, 0.2, 0.32, 0.5))
WATCHED = tuple({"n": 600, "d": 2, "epsilon": epsilon, "delta": 1e-6} for epsilon in (0.25, 0.32, 0.4))
STATED = tuple(
    {"n": int(math.sqrt(d * math.log(1 / delta)) * R**0.75 / epsilon), "d": d, "epsilon": epsilon, "delta": delta}
    for R, d, epsilon, delta in (
        (36_000, 16, 1.0, 1e-11), (36_000, 16, 0.7, 1e-11), (36_000, 16, 1.0, 1e-30), (12_000, 64, 1.0, 1e-11),
        (12_000, 32, 1.0, 1e-30), (12_000, 16, 0.25, 1e-11), (4000, 64, 1.0, 1e-11), (4000, 64, 0.5, 1e-20),
        (4000, 16, 0.25, 1e-11), (4000, 16, 1.0, 1e-40),
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
        name="theorem_6.short_threshold", variant="as_printed", sample=uncoupled,
        factors=("n", "d", "epsilon", LOG_DELTA), grid=Grid(STATED, 20), runs=18, predicted=followed, within=1.15,
        settings=shortened, clear=2.0, premises=small_noise, reach=reach,
        attains="this game without coupling attains the order, without constants and logarithms of C_3 and the step",
        **COMMON,
    ),
)  # fmt: skip
