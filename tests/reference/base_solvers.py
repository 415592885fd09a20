"""The base solvers of output perturbation: whether they end as near to the solution as they certify, and how soon.

The noise of every phase rests on the accuracy that its schedule asks of the base solver. Each is run here on quadratic
problems, and its end is held against the solution of the linear system that the gradients at some points make; those
that draw nothing have to take the very number of gradients that their steps take in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.catalogue.bases import BASES, base_kernel, optimum
from dpcheck.catalogue.zhang2022.output_perturbation import Phased
from dpcheck.checks.place import place_of
from dpcheck.errors import InputError
from dpcheck.problems import example
from dpcheck.problems.ill_conditioned import IllConditioned
from dpcheck.problems.quadratic import Quadratic
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm, configure
from reference.objective import Objective

# whose rates run every base solver of their setting; of the others the one that they take by default is looked at
EVERY = ("output_perturbation", "minimax_output_perturbation")
SIZE, DIMENSION = 20, 3
KAPPAS = (3.0, 60.0)
ENERGIES = (1e-3, 1e-9)
REGULARISERS = ((0.0, 0.0), (0.3, 0.1))
MOST = 2_000_000  # gradients, twice what the slowest of them takes
PASSES = 2  # by which rounding may move the end


@dataclass(frozen=True)
class Setting:
    """A quadratic problem with its regulariser, and the operator (grad_w, -grad_v) = M z + b of both."""

    problem: Any
    r: tuple[float, float]
    centre: Array
    matrix: Array
    b: Array

    @property
    def solution(self) -> Array:
        """Where the operator vanishes; no domain is near."""
        return np.asarray(np.linalg.solve(self.matrix, -self.b))

    @property
    def moduli(self) -> Array:
        """Of each coordinate, the regulariser's included."""
        p = self.problem
        return np.repeat([p.convexity + self.r[0], p.concavity + self.r[1]], [p.dim_w, p.dim_v])

    @property
    def steepest(self) -> float:
        """The operator's Lipschitz constant in the coordinates sqrt(mu) z: l/min mu plus the largest r/mu."""
        mu, r = self.moduli, np.repeat(self.r, [self.problem.dim_w, self.problem.dim_v])
        return float(self.problem.smoothness / mu.min() + (r / mu).max())

    @property
    def words(self) -> str:
        """The problem and its condition number, in words."""
        return f"{self.problem.name} of condition {self.problem.smoothness / self.problem.convexity:.3g}"


def bases(name: str) -> Iterator[Finding]:
    """Yield a finding for each base solver that is looked at with algorithm ``name``; nothing where it uses none."""
    chosen = algorithm(name)
    if not issubclass(chosen, Phased):
        return
    problem = example(chosen.example)
    kind = "saddle" if problem.dim_v else "minimisation"
    if name in EVERY:
        names = [base.name for base in BASES.values() if base.setting == kind]
    else:
        solver: Any = configure(name, problem, epsilon=1.0, delta=1e-5)
        names = [solver.base]
    for base in names:
        yield of_base(name, base, minimisation=not problem.dim_v)


def of_base(name: str, base: str, *, minimisation: bool) -> Finding:
    """Say whether it ends where it certifies, on every setting."""
    wrong, gradients = "", 0
    for setting in settings(minimisation):
        for energy in ENERGIES:
            try:
                found = optimum(
                    base, setting.problem, energy=energy, regulariser=setting.r, centre=setting.centre, most=MOST
                )  # fmt: skip
            except InputError as error:
                wrong = wrong or f"it stops on {setting.words}: {error}"
                continue
            gradients += found.gradients
            wrong = wrong or _wrong(base, setting, energy, found)
    return Finding(
        f"{name}.base.{base}", "utility", f"the base solver {base}: its end against the exact solution",
        "violated" if wrong else "consistent",
        f"{base}: {wrong}." if wrong else f"{base} ends within what it certifies, {gradients} gradients in all.",
        evidence={"gradients": gradients, "energies": ENERGIES, "condition numbers": KAPPAS},
        place=place_of(base_kernel(base)),
    )  # fmt: skip


def _wrong(base: str, setting: Setting, energy: float, found: Any) -> str:
    if not found.reached:
        return f"it does not reach energy {energy:g} on {setting.words} with {found.gradients} gradients"
    left = float(setting.moduli @ (np.concatenate([found.x, found.y]) - setting.solution) ** 2)
    if left > energy * (1 + 1e-6):
        return (
            f"on {setting.words} it certifies energy {energy:g} after {found.gradients} gradients, and is at {left:.3g}"
        )
    if base in STEPS:
        due = passes(base, setting, energy) * SIZE
        if abs(found.gradients - due) > PASSES * SIZE + 0.02 * due:
            return (
                f"on {setting.words} it takes {found.gradients} gradients to energy {energy:g}, "
                f"where its steps take {due}"
            )
    return ""


def settings(minimisation: bool) -> Iterator[Setting]:
    """Yield settings well and ill conditioned, without and with a regulariser."""
    rng = np.random.default_rng(3)
    for kappa in KAPPAS:
        for r in REGULARISERS:
            problem: Any
            if minimisation:
                records = (0.5 + 0.1 * rng.random((SIZE, DIMENSION))) / np.sqrt(DIMENSION)
                problem = IllConditioned(records, mu=1 / kappa, smoothness=1.0)
            else:
                records = (0.5 + 0.1 * rng.random((SIZE, 2 * DIMENSION))) / np.sqrt(2 * DIMENSION)
                problem = Quadratic(records, mu_x=1 / kappa, mu_y=1 / kappa, coupling=0.8, radius=1e6)
            yield _setting(problem, r, 0.1 * rng.standard_normal(problem.dim_w + problem.dim_v))


def _setting(problem: Any, r: tuple[float, float], centre: Array) -> Setting:
    objective, d = Objective(problem), problem.dim_w
    weights = np.repeat(r, [d, problem.dim_v])

    def operator(z: Array) -> Array:
        g_w, g_v = objective.slopes(z[:d], z[d:])
        return np.concatenate([g_w, -g_v]) + weights * (z - centre)

    b = operator(np.zeros(centre.size))
    return Setting(problem, r, centre, np.stack([operator(e) - b for e in np.eye(centre.size)], axis=1), b)


def passes(base: str, setting: Setting, energy: float) -> int:
    """Return how many passes over the records the solver takes: its steps until its certificate, in NumPy."""
    z, count, step = np.asarray(setting.problem.start, float), 0, STEPS[base]
    mu, steepest = setting.moduli, setting.steepest

    def operator(x: Array) -> Array:
        return np.asarray(setting.matrix @ x + setting.b)

    for _ in range(10**6):
        g = operator(z)
        if 4 * float(mu @ (g / mu) ** 2) <= energy:
            return count + 1
        z, used = step(setting, z, g, operator, mu, steepest)
        count += used
    return count


def _gradient_descent(setting: Setting, z: Array, g: Array, *_: Any) -> tuple[Array, int]:
    return z - g / (setting.problem.smoothness + setting.r[0]), 1


def _gda(_: Setting, z: Array, g: Array, __: Any, mu: Array, steepest: float) -> tuple[Array, int]:
    return z - g / (mu * steepest**2), 1


def _extragradient(
    _: Setting, z: Array, g: Array, operator: Callable[[Array], Array], mu: Array, steepest: float
) -> tuple[Array, int]:
    t = (np.sqrt(2) - 1) / (mu * steepest)
    return z - t * operator(z - t * g), 2


STEPS: dict[str, Callable[..., tuple[Array, int]]] = {
    "gradient_descent": _gradient_descent, "gda": _gda, "extragradient": _extragradient,
}  # fmt: skip
