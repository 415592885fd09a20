r"""Strict saddles: how often DP-RGDA leaves one, against the chance that Theorem 1 of Xu et al. 2026 states.

The theorem promises a point with |grad Phi| <= alpha and least eigenvalue of the Hessian at least -sqrt(rho alpha) with
probability 1 - delta_1 - delta_2, here 0.8. Runs begin at a strict saddle, where the gradient is 0 because the records
are +-z in pairs, and without privacy's noise: nothing but the perturbation of Algorithm 2 leads away from there, so
that it alone is measured. With the noise, which leads away by itself, ``tests/test_escape.py`` has the shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.audits.limits.binomial import clopper_pearson_lower, clopper_pearson_upper
from dpcheck.checks.context import Context
from dpcheck.checks.rates.judgement import Tables
from dpcheck.findings import Finding
from dpcheck.problems.cosine import Cosine
from dpcheck.problems.problem import Array
from dpcheck.problems.quartic import Quartic
from dpcheck.solvers import configure
from dpcheck.streams import map_chunks

FAILURE, LEVEL = 0.1, 0.01  # delta_1 = delta_2; chance of error of each comparison
PROMISED = 1 - 2 * FAILURE


@dataclass(frozen=True)
class Saddle:
    """A problem with a strict saddle at its start, and how the algorithm is configured there."""

    name: str
    family: type[Cosine] | type[Quartic]
    bound: float
    records: int
    settings: dict[str, Any]
    runs: int

    def problem(self) -> Any:
        """Records +-z in pairs."""
        z = np.random.default_rng(0).standard_normal((self.records // 2, 2))
        z *= self.bound / np.linalg.norm(z, axis=1, keepdims=True)
        return self.family(np.concatenate([z, -z]), bound=self.bound)


SADDLES = (
    Saddle("cosine", Cosine, 0.5, 1000, {"alpha": 0.05, "F0": 0.5, "S2": 100, "period": 5}, 150),
    Saddle("quartic", Quartic, 0.5, 1000, {"alpha": 0.04, "F0": 0.08, "S2": 100, "period": 5, "K": 4}, 200),
)


def is_second_order(problem: Any, alpha: float, x: Array) -> bool:
    """Gradient and curvature of the primal function within what is promised."""
    w = x[: problem.dim_w]
    curvature = np.linalg.eigvalsh(problem.primal_hessian(w))[0]
    steep = np.linalg.norm(problem.primal_gradient(w))
    return bool(steep <= alpha and curvature >= -math.sqrt(problem.hessian_lipschitz * alpha))


def escapes(context: Context, tables: Tables) -> Iterator[Finding]:
    """One finding a saddle."""
    for saddle in SADDLES:
        yield _finding(saddle, context, tables)


def _finding(saddle: Saddle, context: Context, tables: Tables) -> Finding:
    problem = saddle.problem()
    solver: Any = configure(
        "dp_rgda", problem, epsilon=0.95, delta=1e-5, failure=FAILURE, private=False, **saddle.settings
    )  # fmt: skip
    runs = saddle.runs * (4 if context.full else 1)
    seed = np.random.SeedSequence([context.seed, crc32(f"escape.{saddle.name}".encode())])
    work = partial(_successes, solver, problem)

    def successes() -> int:
        return sum(map_chunks(work, runs, chunk=10, jobs=context.jobs, seed=seed))

    found = context.kept(["escape", saddle.name, runs], successes)
    low, high = clopper_pearson_lower(found, runs, LEVEL), clopper_pearson_upper(found, runs, LEVEL)
    row = {"runs": runs, "second order": found, "low": low, "high": high}
    tables.setdefault("dp_rgda: escape", []).append({"saddle": saddle.name, **row, "promised": PROMISED})
    return Finding(
        f"dp_rgda.escape.{saddle.name}", "utility",
        f"dp_rgda: share of runs that leave the strict saddle of {saddle.name} for a second-order point, Theorem 1",
        "supported" if low >= PROMISED else "contradicted" if high < PROMISED else "inconclusive",
        f"{found} of {runs} runs, at least {low:.3f} and at most {high:.3f} in the long run, each with error "
        f"{LEVEL:g}; promised are {PROMISED:g}",
        evidence={**row, "alpha": solver.alpha, "steps": solver.steps},
    )  # fmt: skip


def _successes(solver: Any, problem: Any, rng: np.random.Generator, size: int) -> int:
    return sum(is_second_order(problem, solver.alpha, x) for x in solver.outputs(problem, rng, size))


STAGES = {"dp_rgda": escapes}
