"""Theorems 3, 4 and 5 of Yang et al. 2022 measured: DP-SGDA's last iterate on a Polyak-Lojasiewicz problem.

The scalar problem ``polyak`` has its primal risk in closed form and a modulus of 1/4 that is proved. A record enters
its gradient linearly, so that a run's law depends on that of minibatches' means, which is near a normal one: the
prediction simulates it in NumPy with the theorem's steps and noise. W is an interval; the theorems need the line.

As printed the steps begin at t = 1, far beyond the proof's limits; repaired they begin at t_0, the first t within them.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np

from dpcheck.accounting import calibrate
from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import Cell, Experiment, Grid, cross
from dpcheck.events import Gaussian, Repeated, Sampled
from dpcheck.problems.hinge_game import HingeGame
from dpcheck.problems.polyak import Polyak

SHAPE: dict[str, Any] = {"rho": 3.0, "bound": 1.0, "radius": 3.0}
_DRAWS = 4000


class Scalar(Polyak):
    """The problem with a kernel for minibatches of records that its gradient is linear in."""

    mean: ClassVar[Callable[..., Any]] = staticmethod(HingeGame.mean)


def sample(cell: Cell, rng: np.random.Generator) -> Scalar:
    """Fresh records, uniform on [-1, 1]."""
    return Scalar(SHAPE["bound"] * rng.uniform(-1, 1, (int(cell["n"]), 1)), **SHAPE)


def curvature(rho: float) -> float:
    """Half of 1 + 1/rho, the weight of (phi - mean)^2 in the primal risk."""
    return 0.5 * (1 + 1 / rho)


def phi(w: Array) -> Array:
    """The problem's nonconvex function of w."""
    return np.asarray(0.75 * w + 0.25 * np.sqrt(1 + w * w))


def population(problem: Polyak, outputs: Array) -> float:
    """Mean excess primal population risk; the population's mean is 0."""
    return float(curvature(problem.rho) * (phi(outputs[:, 0]) ** 2).mean())


def empirical(problem: Polyak, outputs: Array) -> float:
    """Mean excess primal empirical risk, over the runs on one data set."""
    return float(curvature(problem.rho) * ((phi(outputs[:, 0]) - problem.records.mean()) ** 2).mean())


def generalisation(problem: Polyak, outputs: Array) -> float:
    """R(w) - R_S(w) + R_S(w*) - R(w*), where phi(w*) = 0; the records' spread cancels."""
    mean = problem.records.mean()
    return float(curvature(problem.rho) * (2 * phi(outputs[:, 0]) * mean).mean())


def constants(problem: Polyak, cell: Cell) -> dict[str, float]:
    """The parameters that Theorems 3 and 5 have in common."""
    L = problem.smoothness
    return {"d": 1, "kappa": L / problem.rho, "mu": problem.pl, "L": L}


def of_3(problem: Polyak, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 3, those of Remark 1 among them."""
    chosen, noise = remark_1(problem, cell)
    return constants(problem, cell) | {"T": cell["T"], "m": chosen} | dict(noise)


def of_4(problem: Polyak, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 4; the optimisation error is the predicted one, and what a prediction may be off by."""
    return {
        "n": cell["n"], "e": 1.25 * predicted("as_printed", empirical, problem, cell), "G_w": problem.lipschitz_w,
        "G_v": problem.lipschitz_v, "L": problem.smoothness, "rho": problem.rho, "mu": problem.pl,
    }  # fmt: skip


def of_5(problem: Polyak, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 5."""
    sizes = {name: cell[name] for name in ("n", "epsilon", "delta")}
    return constants(problem, cell) | sizes | {"G_w": problem.lipschitz_w, "G_v": problem.lipschitz_v}


def remark_1(problem: Polyak, cell: Cell) -> tuple[int, Mapping[str, float]]:
    """The minibatch and the noise."""
    statement = theorem("yang2022.theorem_1")
    values = {name: cell[name] for name in ("n", "T", "epsilon", "delta")}
    bounds = {"G_w": problem.lipschitz_w, "G_v": problem.lipschitz_v}
    return int(statement.schedule(**values)["m"]), statement.noise(**values, **bounds)


def late_start(problem: Polyak) -> float:
    """t_0, from which on the steps of Theorem 3 are within 1/(L + L^2/rho) and 1/L."""
    first = theorem("yang2022.theorem_3").schedule(**constants(problem, {}))
    L = problem.smoothness
    return float(max((L + L**2 / problem.rho) * first["eta_w"], (L * first["eta_v"]) ** 1.5))


def predicted(variant: str, measure: Any, problem: Polyak, cell: Cell) -> float:
    """Mean of the measure over simulated runs."""
    ends, means = simulated(variant, problem.rho, problem.bound, problem.radius, tuple(sorted(cell.items())))
    if measure is population:
        return float(curvature(problem.rho) * (phi(ends) ** 2).mean())
    return float(curvature(problem.rho) * ((phi(ends) - means) ** 2).mean())


@cache
def simulated(
    variant: str, rho: float, bound: float, radius: float, settings: tuple[tuple[str, float], ...]
) -> tuple[Array, Array]:
    """Last iterates of independent runs on independent data sets, and the data sets' means."""
    cell, rng = dict(settings), np.random.default_rng(0)
    problem = Polyak(np.zeros((1, 1)), rho, bound, radius)
    n, steps = int(cell["n"]), int(cell["T"])
    m, noise = remark_1(problem, cell)
    sigma_w, sigma_v = noise["sigma_w"], noise["sigma_v"]
    share, late = 1.0, 0.0
    if variant == "repaired":
        joint = least_noise(n, m, steps, cell["epsilon"], cell["delta"])
        sigma_w, sigma_v = joint * problem.lipschitz_w, joint * problem.lipschitz_v
        share, late = 1 - m / n, late_start(problem)
    first = theorem("yang2022.theorem_3").schedule(**constants(problem, cell))
    widest, spread = problem.reach / rho, bound / math.sqrt(3)
    means = spread / math.sqrt(n) * rng.standard_normal(_DRAWS)
    w, v = np.full(_DRAWS, problem.start[0]), np.zeros(_DRAWS)
    for t in np.arange(1, steps + 1) + late:
        rest = phi(w) - means - spread * math.sqrt(share / m) * rng.standard_normal(_DRAWS)
        slope = 0.75 + 0.25 * w / np.sqrt(1 + w * w)
        g_w = (rest + v) * slope + sigma_w * rng.standard_normal(_DRAWS)
        g_v = rest - rho * v + sigma_v * rng.standard_normal(_DRAWS)
        w = np.clip(w - first["eta_w"] / t * g_w, -radius, radius)
        v = np.clip(v + first["eta_v"] / t ** (2 / 3) * g_v, -widest, widest)
    return w, means


def least_noise(n: int, m: int, steps: int, epsilon: float, delta: float) -> float:
    """Noise on a minibatch's mean in units of the Lipschitz constant, the least that the accountant certifies."""
    multiplier = calibrate(
        lambda z: (Repeated(Sampled((Gaussian(z),), "without_replacement", n, m), steps),), epsilon, delta
    )
    return multiplier * math.sqrt(2) * 2 / m  # two releases of one sensitivity each share it


def common(variant: str, id: str, measure: Any, constants: Any) -> dict[str, Any]:
    """Return the fields that the experiments of a variant share."""
    return {
        "algorithm": "dp_sgda", "theorem": f"yang2022.theorem_{id}", "variant": variant, "sample": sample,
        "measure": measure, "constants": constants,
        "settings": lambda problem, cell: {"theorem": "3", "pl": problem.pl, "steps": int(cell["T"])},
    }  # fmt: skip


def cells(*sizes: int) -> tuple[Cell, ...]:
    """T = n."""
    return tuple({"n": n, "T": n, "epsilon": 1.0, "delta": 3e-8} for n in sizes)


_INSTANCE = Polyak(np.zeros((1, 1)), **SHAPE)
_LATE = (
    f"the steps begin at t_0 = {late_start(_INSTANCE):.3g}, so that for fewer than n = t_0 steps the iterate is still "
    "on its way from the start"
)
_BEYOND = (
    f"the steps as printed exceed the proof's limits until t_0 = {late_start(_INSTANCE):.3g}, and the theorem's order, "
    "which has the noise in it, grows with T here"
)
BENDS = "the theorem's order is not attained: here the excess falls with the square of the noise"
RUNS: dict[str, Any] = {"runs": 40, "clear": 3.0, "within": 1.5}  # heavy tails: the excess is a square

EXPERIMENTS = (
    Experiment(
        name="theorem_3.as_printed", quantity="excess primal empirical risk of the last iterate", factors=("T",),
        predicted=partial(predicted, "as_printed", empirical), unreachable=_BEYOND, **RUNS,
        grid=Grid(cross({"n": 2048, "epsilon": 1.0, "delta": 5e-8}, T=(512, 1024, 2048)), 32),
        **common("as_printed", "3", empirical, of_3),
    ),
    Experiment(
        name="theorem_3.repaired", quantity="excess primal empirical risk of the last iterate", factors=("T",),
        predicted=partial(predicted, "repaired", empirical), unreachable=_LATE, clear=None, within=1.1,
        grid=Grid(cross({"n": 2048, "epsilon": 1.0, "delta": 5e-8}, T=(512, 1024, 2048)), 10),
        **common("repaired", "3", empirical, of_3),
    ),
    Experiment(
        name="theorem_4.as_printed", quantity="generalisation error of the primal risk", factors=(), clear=None,
        runs=30, grid=Grid(cells(1200, 2400), 10), **common("as_printed", "4", generalisation, of_4),
    ),
    Experiment(
        name="theorem_5.as_printed", quantity="excess primal population risk of the last iterate", factors=("n",),
        regime="statistical", predicted=partial(predicted, "as_printed", population), attains=BENDS, **RUNS,
        grid=Grid(cells(1200, 2400, 4800), 20), **common("as_printed", "5", population, of_5),
    ),
    Experiment(
        name="theorem_5.repaired", quantity="excess primal population risk of the last iterate", factors=("n",),
        regime="statistical", predicted=partial(predicted, "repaired", population), unreachable=_LATE, clear=None,
        within=1.1, grid=Grid(cells(1024, 2048, 4096), 10), **common("repaired", "5", population, of_5),
    ),
)  # fmt: skip
