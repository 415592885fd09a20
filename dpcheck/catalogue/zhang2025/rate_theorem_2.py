"""Theorem 2 of Zhang et al. 2025 measured: clipped DP-SGDA on a quadratic game, whose iterates have a Gaussian law.

All records of mu_x/2 |w|^2 + a <w, v> - mu_y/2 |v|^2 + <b, w> are the same. As long as nothing is clipped and no end
of a domain is near, (w, v) follows a linear recursion with Gaussian noise, in each pair of coordinates alone, so that
mean and variance of grad Phi at every iterate are exact, and with them the mean of its norm at a uniform iterate.

What is left after T = 1/a steps, a = sqrt(d log(1/delta))/(n epsilon), is the noise, of order T^(-1/2) = a^(1/2), and
the mean over the way from the start, of order 1/T = a. The steps 1/(16 (kappa + 1)^2 l) are short: total step times
curvature is at least 5 from n epsilon = 320 sqrt(d log(1/delta)) on, for kappa near 1 as here.
"""

import math
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpcheck.accounting import calibrate
from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.equal_records import EqualRecords
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise
from dpcheck.events import Event, Gaussian, Repeated, Sampled

THEOREM = "zhang2025.theorem_2"
COUPLING = 0.5  # kappa = 1.12
REMARK = 8.0  # the constants c_2 and c_3 of the settings after Theorem 1
NO_SPREAD = 1e-9  # B: equal records have gradients that do not differ, and the theorem asks for a B > 0


def sample(pull: float, cell: Cell, rng: np.random.Generator) -> EqualRecords:
    """The game at rest ``pull`` from its start, in gradient."""
    return _game(int(cell["n"]), int(cell["d"]), pull)


@lru_cache(maxsize=1)  # one of many records takes longer to make than to run on
def _game(n: int, d: int, pull: float) -> EqualRecords:
    return EqualRecords.of(n, d, pull, coupling=COUPLING)


def constants(problem: EqualRecords, cell: Cell) -> dict[str, float]:
    """The theorem's parameters; the constants of the noise are those that the paper prints."""
    return {
        **cell, "l": problem.smoothness, "mu": problem.concavity, "C_1": problem.lipschitz_w,
        "C_2": problem.lipschitz_v, "c_2": REMARK, "c_3": REMARK, "B": NO_SPREAD, "Lambda": 2 * problem.radius,
        "Delta_Phi": problem.pull**2 / (2 * problem.curvature),
    }  # fmt: skip


def printed(problem: EqualRecords, cell: Cell) -> tuple[float, float]:
    """The noise of the theorem, with the constant 8."""
    noise = theorem(THEOREM).noise(**constants(problem, cell))
    return noise["sigma_x"], noise["sigma_y"]


def minibatch(problem: EqualRecords, cell: Cell) -> dict[str, int]:
    """Half of the theorem's m: while the multiplier is well above 1, the noise on the mean hardly depends on m."""
    return {"batch": int(theorem(THEOREM).schedule(**constants(problem, cell))["m"]) // 2}


def certified(problem: EqualRecords, cell: Cell) -> tuple[float, float]:
    """The least noise that the accountant certifies for the theorem's T, shared evenly by both blocks."""
    T, m = int(theorem(THEOREM).schedule(**constants(problem, cell))["T"]), minibatch(problem, cell)["batch"]

    def events(multiplier: float) -> tuple[Event, ...]:
        return (Repeated(Sampled((Gaussian(multiplier),) * 2, "without_replacement", int(cell["n"]), m), T),)

    multiplier = calibrate(events, epsilon=cell["epsilon"], delta=cell["delta"])
    return 2 * problem.lipschitz_w * multiplier / m, 2 * problem.lipschitz_v * multiplier / m


def moments(problem: EqualRecords, T: int, steps: tuple[float, float], noise: tuple[float, float]) -> Array:
    """Mean of |w_t - w*| and variance of (w_t, v_t) in a coordinate, t = 0, ..., T - 1 : (T, 4)."""
    eta_x, eta_y = steps
    move = np.array(
        [[1 - eta_x * problem.mu_x, -eta_x * problem.coupling], [eta_y * problem.coupling, 1 - eta_y * problem.mu_y]]
    )
    added = np.diag([(eta_x * noise[0]) ** 2, (eta_y * noise[1]) ** 2])
    rest = -problem.pull / problem.curvature
    mean = np.array([0.0, 0.0]) - np.array([rest, problem.coupling / problem.mu_y * rest])
    covariance = np.zeros((2, 2))
    found = np.empty((T, 4))
    for t in range(T):
        found[t] = abs(mean[0]), covariance[0, 0], covariance[0, 1], covariance[1, 1]
        mean, covariance = move @ mean, move @ covariance @ move.T + added
    return found


def way(noise: Any, problem: EqualRecords, cell: Cell) -> Array:
    """The moments under the theorem's schedule."""
    schedule = theorem(THEOREM).schedule(**constants(problem, cell))
    return moments(problem, int(schedule["T"]), (schedule["eta_x"], schedule["eta_y"]), noise(problem, cell))


def predicted(noise: Any, problem: EqualRecords, cell: Cell) -> float:
    """The mean of E |grad Phi(w_t)| over the iterates."""
    law, curvature = way(noise, problem, cell), problem.curvature
    return float(problem.expected_norm(curvature * law[:, 0], curvature * np.sqrt(law[:, 1])).mean())


def premises(noise: Any, problem: EqualRecords, cell: Cell) -> Iterable[Premise]:
    """The noise stays in the domains."""
    found, size = way(noise, problem, cell), math.sqrt(cell["d"])
    far = problem.pull / problem.curvature
    for block, variance in (("w", found[-1, 1]), ("v", found[-1, 3])):
        room = (problem.radius - far) / (size * math.sqrt(variance))
        yield Premise(f"distance to the end of the domain of {block} over the noise", room, 2.0)


def reach(solver: Any, problem: EqualRecords) -> float:
    """T eta_x times the curvature of Phi."""
    return float(solver.eta_w.sum() * problem.curvature)


def cells(*sizes: tuple[float, int, float, float]) -> tuple[Cell, ...]:
    """Grid points (T, d, epsilon, delta), with the n for which the theorem takes T steps."""
    return tuple(
        {"n": int(T * math.sqrt(d * math.log(1 / delta)) / epsilon), "d": d, "epsilon": epsilon, "delta": delta}
        for T, d, epsilon, delta in sizes
    )


def experiment(
    name: str, variant: str, factors: tuple[str, ...], pull: float, noise: Any, grid: Grid, full: Grid, **other: Any
) -> Experiment:  # fmt: skip
    """One variant with its noise."""
    return Experiment(
        name=name, algorithm="dp_sgda_clipped", theorem=THEOREM, quantity="gradient norm of Phi at a uniform iterate",
        variant=variant, regime="privacy", sample=partial(sample, pull), measure=EqualRecords.gradient_norm,
        constants=constants, factors=factors, grid=grid, full=full, predicted=partial(predicted, noise), within=1.15,
        premises=partial(premises, noise), reach=reach, clear=2.0,
        attains="the instance attains the order", **other,
    )  # fmt: skip


# Drawing T minibatches of T records takes most of the time, so that T is small where the accountant is to certify it.
# Drawing T minibatches of T records takes most of the time, so that T is small where the accountant is to certify it;
# the certified noise is not yet of the order in d and delta there, in which the printed one is measured.
FEW = cells(*((T, 8, epsilon, 1e-6) for epsilon in (0.32, 0.9, 2.56) for T in (350, 500, 720)))
# The printed noise does not depend on the minibatch, nor do equal records: one record is drawn, which costs nothing.
# Of the points with d log(1/delta) < T epsilon, which the theorem asks for, these tell four exponents apart best.
MANY = cells(
    (1100, 8, 0.125, 1e-5), (1100, 8, 0.35, 1e-20), (1100, 32, 0.35, 1e-5), (1100, 32, 1.0, 1e-8),
    (3000, 8, 0.125, 1e-5), (3000, 8, 1.0, 1e-5), (3000, 16, 1.0, 1e-5), (3000, 32, 0.35, 1e-5), (3000, 32, 1.0, 1e-20),
)  # fmt: skip
EXPERIMENTS = (
    experiment(
        "theorem_2", "repaired", ("n", "epsilon"), 0.08, certified, Grid(FEW, 24), Grid(FEW, 60), runs=60,
        settings=minibatch,
    ),
    experiment(
        "theorem_2.as_printed", "as_printed", ("n", "d", "epsilon", LOG_DELTA), 0.11, printed, Grid(MANY, 32),
        Grid(MANY, 128),
        runs=40,
        settings=lambda problem, cell: {"batch": 1},
    ),
)  # fmt: skip
