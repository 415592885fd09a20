r"""Strict saddles: how often DP-RGDA leaves one, against the chance that Theorem 1 of Xu et al. 2026 states.

The theorem promises a point with |grad Phi| <= alpha and least eigenvalue of the Hessian at least -sqrt(rho alpha) with
probability 1 - delta_1 - delta_2, here 0.8. Runs begin at a strict saddle, where the gradient is 0 because the records
are +-z in pairs. Twice they have no noise, and minibatches of all records: nothing but the perturbation of Algorithm 2
leads away from there, so that it alone is measured. Once they have the noise of epsilon = 0.95, certified.

With noise the measured alpha is 21 a^{2/3}, a = sqrt(d log(1/delta))/(n epsilon). With constant 1 before a^{2/3} no n
brings the promise within reach: T = L_Phi F_0/alpha^2 and q = 1/(T a^2) give a refresh the noise C_v sqrt(T/q) a =
C_v L_Phi F_0 alpha, times the accountant's constant. The theorem's O hides this factor, which ``unreachable`` computes.

A perturbation leads r away from the saddle, where the gradient is still far below alpha: line 13 ends the phase within
a few steps, so that it takes tens of them to come to |grad Phi| = alpha. The repaired variant pays for T/q by default,
one where q > T, with which no run leaves the saddle. ``escapes`` or ``period`` is given here.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.accounting import certify
from dpcheck.algorithms.problem import Array
from dpcheck.audits.limits import clopper_pearson_lower, clopper_pearson_upper
from dpcheck.checks.context import Batch, Context, Tables
from dpcheck.checks.experiment import Premise
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.quartic import Quartic
from dpcheck.report.findings import Finding
from dpcheck.solvers import configure

FAILURE, LEVEL = 0.1, 0.01  # delta_1 = delta_2; chance of error of each comparison
PROMISED = 1 - 2 * FAILURE
PRIVACY: dict[str, Any] = {"epsilon": 0.95, "delta": 1e-5}


@dataclass(frozen=True)
class Saddle:
    """A problem with a strict saddle at its start, and how the algorithm is configured there.

    settings : F0 is a bound on Phi(0) - min Phi, and two or three times as large as that, so that runs have time
    """

    name: str
    family: type[Cosine] | type[Quartic]
    constants: dict[str, Any]
    records: int
    settings: dict[str, Any]
    runs: int = 200
    private: bool = False

    def problem(self) -> Any:
        """Records +-z in pairs."""
        z = np.random.default_rng(0).standard_normal((self.records // 2, 2))
        z *= self.constants["bound"] / np.linalg.norm(z, axis=1, keepdims=True)
        return self.family(np.concatenate([z, -z]), **self.constants)

    def solver(self, problem: Any) -> Any:
        """Return the solver with the noise of ``PRIVACY``, or with none."""
        return configure("dp_rgda", problem, **PRIVACY, failure=FAILURE, private=self.private, **self.settings)


SADDLES = (
    Saddle("cosine", Cosine, {"bound": 0.5}, 20, {"alpha": 0.1, "F0": 4.0, "S2": 20, "period": 5}),
    Saddle("quartic", Quartic, {"bound": 0.5, "radius": 1.2}, 20, {"alpha": 0.06, "F0": 0.5, "S2": 20, "period": 5}),
    Saddle(
        "private", Cosine, {"bound": 0.1, "coupling": 0.2}, 4000,
        {"alpha": 0.25, "F0": 5.0, "S2": 200, "period": 5, "escapes": 100, "C_v": 1.2},  # C_v: above every gradient
        120, private=True,
    ),
)  # fmt: skip


def floor(problem: Any, alpha: float) -> float:
    """Return the least curvature that the theorem allows, -sqrt(rho alpha)."""
    return -math.sqrt(problem.hessian_lipschitz * alpha)


def is_second_order(problem: Any, alpha: float, x: Array) -> bool:
    """Gradient and curvature of the primal function within what is promised."""
    w = x[: problem.dim_w]
    curvature = np.linalg.eigvalsh(problem.primal_hessian(w))[0]
    steep = np.linalg.norm(problem.primal_gradient(w))
    return bool(steep <= alpha and curvature >= floor(problem, alpha))


def noise(solver: Any, problem: Any) -> float:
    """Standard deviation of an estimate of the gradient at the end of a period."""
    differences = min(solver.steps, solver.period) * solver.K
    return math.sqrt(problem.dim_w * (solver.sigma_v**2 + differences * solver.sigma_u**2))


def premises(problem: Any, solver: Any) -> Iterator[Premise]:
    """The saddle is no point that is promised; below alpha, an estimate tells of the gradient; escapes have time."""
    curvature = np.linalg.eigvalsh(problem.primal_hessian(problem.start[: problem.dim_w]))[0]
    yield Premise("curvature at the saddle over sqrt(rho alpha)", curvature / floor(problem, solver.alpha), 1.1)
    if noise(solver, problem) > 0:
        yield Premise("alpha over the noise of an estimate", solver.alpha / noise(solver, problem), 1.5)
    yield Premise("iterations over those of an escape", solver.steps / solver.t_thres, 2.0)
    walk = solver.escapes * solver.r**2 / (problem.dim_w + 2)  # variance of all perturbations in one direction
    yield Premise("length of a walk by perturbations over that to |grad| = alpha",
                  math.sqrt(walk) * -curvature / solver.alpha, 1.1)  # fmt: skip


def escapes(context: Context, tables: Tables) -> Iterator[Finding]:
    """One finding a saddle, and one on the alpha that no n reaches."""
    for saddle in SADDLES:
        yield _finding(saddle, context, tables)
    yield unreachable(SADDLES[0])


def _finding(saddle: Saddle, context: Context, tables: Tables) -> Finding:
    problem = saddle.problem()
    solver = saddle.solver(problem)
    id = f"dp_rgda.escape.{saddle.name}"
    subject = "dp_rgda: share of runs that leave a strict saddle for a second-order point, Theorem 1, "
    subject += "with privacy's noise" if saddle.private else f"without noise, {saddle.name}"
    failed = [str(premise) for premise in premises(problem, solver) if not premise.holds]
    if failed:
        return Finding(id, "utility", subject, "not asymptotic", f"nothing was run, as {'; '.join(failed)}")
    runs = saddle.runs * (4 if context.full else 1)
    seed = np.random.SeedSequence([context.seed, crc32(f"escape.{saddle.name}".encode())])
    found = sum(context.measured(Batch(["escape", saddle.name], partial(_successes, solver, problem), runs, 10, seed)))
    low, high = clopper_pearson_lower(found, runs, LEVEL), clopper_pearson_upper(found, runs, LEVEL)
    row = {"runs": runs, "second order": found, "low": low, "high": high}
    tables.setdefault("dp_rgda: escape", []).append({"saddle": saddle.name, **row, "promised": PROMISED})
    reason = (
        f"{found} of {runs} runs, at least {low:.3f} and at most {high:.3f} in the long run, each with error "
        f"{LEVEL:g}; promised are {PROMISED:g}"
    )
    evidence = {**row, "alpha": solver.alpha, "steps": solver.steps}
    if saddle.private:
        certified = certify(solver.events(problem), delta=PRIVACY["delta"]).epsilon
        evidence |= {"records": saddle.records, "certified epsilon": certified, "noise": noise(solver, problem)}
        reason += (
            f"; n = {saddle.records}, certified epsilon {certified:.3g}, and an estimate's noise is "
            f"{noise(solver, problem) / solver.alpha:.2g} alpha"
        )
    verdict = "supported" if low >= PROMISED else "contradicted" if high < PROMISED else "inconclusive"
    return Finding(id, "utility", subject, verdict, reason, evidence=evidence)


def _successes(solver: Any, problem: Any, rng: np.random.Generator, size: int) -> int:
    return sum(is_second_order(problem, solver.alpha, x) for x in solver.outputs(problem, rng, size))


SIZES = (1e3, 4e4, 1e6, 1e9)


def unreachable(saddle: Saddle) -> Finding:
    """Line 5 at alpha = a^{2/3}, constant 1: the noise of a refresh over alpha, at several n."""
    problem = saddle.problem()
    height = problem.primal(problem.start[: problem.dim_w]) - problem.primal(problem.minima()[0])
    shares = {n: refresh_noise(problem, height, n) for n in SIZES}
    told = ", ".join(f"{share:.3g} alpha at n = {n:g}" for n, share in shares.items())
    beyond = min(shares.values()) > 1
    return Finding(
        "dp_rgda.escape.constant_1", "utility",
        "dp_rgda: the promise of Theorem 1 with alpha = a^(2/3), constant 1, at a strict saddle of cosine",
        "not asymptotic" if beyond else "inconclusive",
        f"the noise of a refresh is {told}, with constant 1 of its own: "
        + ("no n brings it below alpha, so that no run can tell the saddle by |v| < alpha" if beyond else "not run"),
        evidence={f"n = {n:g}": share for n, share in shares.items()},
    )  # fmt: skip


def refresh_noise(problem: Any, F_0: float, n: float) -> float:
    """Return sqrt(d) sigma_omega/alpha by Algorithm 3, line 1, for the repaired T and q."""
    L, C_v = problem.smoothness, max(problem.lipschitz_w, problem.lipschitz_v)
    a = math.sqrt(problem.dim_w * math.log(1 / PRIVACY["delta"])) / (n * PRIVACY["epsilon"])
    alpha = a ** (2 / 3)
    steps = math.ceil(L * (1 + L / problem.concavity) * F_0 / alpha**2)
    refreshes = math.ceil(steps / max(1, math.floor(1 / (steps * a**2))))
    return float(C_v * a * math.sqrt(refreshes) / alpha)


STAGES = {"dp_rgda": escapes}
