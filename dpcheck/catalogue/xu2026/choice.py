"""The private choice that ends Sto-SPIDER: how often AboveThreshold takes each iterate, beside its own law.

Given the iterates, and so their scores q, AboveThreshold of scale b takes the first t with q_t + B_t >= R, where R
is Laplace of scale 2b and each B_t is Laplace of scale 4b. The chance of each t is an integral over R.

Null hypothesis: every run chooses by that law. The counts of all runs less their expectations, weighed by their exact
covariance, are compared with chi-square at a level of 10^-6.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.algorithms.kernels.parts import project
from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.run import History
from dpcheck.catalogue.xu2026 import sto_spider
from dpcheck.checks.context import Context, Stage
from dpcheck.checks.releases import Case, cases
from dpcheck.report.findings import Finding
from dpcheck.source import place_of

LEVEL = 1e-6
_RUNS, _STEPS, _RECORDS = 2_500, 10, 50  # many steps, along which one threshold stays; few records, to be fast
_NODES = 100  # of the integral, whose error is far below that of the counts
_SHORT = 2.5  # scores lie about so many b below 0, where each of the noises decides


def stages(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Stage]:
    """Yield the stage of the check, a title and a call that yields findings, on every variant's small run."""
    yield (
        "private choice",
        lambda: (choice(context, f"sto_spider.{case.label}.choice", case) for case in cases("sto_spider")),
    )


def chances(scores: Array, scale: float) -> Array:
    """Return the chances of taking each iterate with these scores (..., T), and last of taking none: (..., T + 1)."""
    middles = (np.arange(_NODES) + 0.5) / _NODES
    threshold = stats.laplace.ppf(middles, scale=2 * scale)
    below = (scores[..., None] - threshold) / (4 * scale)  # the noise has to exceed its negative
    tail = 0.5 * np.exp(-np.abs(below))
    passes = np.where(below > 0, 1 - tail, tail)
    still = np.cumprod(1 - passes, axis=-2)
    before = np.concatenate([np.ones_like(still[..., :1, :]), still[..., :-1, :]], axis=-2)
    return np.asarray(np.concatenate([before * passes, still[..., -1:, :]], axis=-2).mean(-1))


def choice(context: Context, id: str, case: Case) -> Finding:
    """Return how often each iterate is chosen over many runs."""
    problem: Any = replace(case.problem, records=case.problem.records[:_RECORDS])  # type: ignore[type-var]
    solver = _near_the_threshold(case.solver, problem)
    paths, counts = np.empty((_RUNS, solver.steps, problem.dim_w)), np.zeros(solver.steps + 1)
    for k in range(_RUNS):
        history = solver.run(problem, seed=context.stream(20, k), record=True).history
        paths[k] = _iterates(solver, problem, history)
        counts[int(history.released[-1, 0])] += 1  # -1, none, is the last
    scores = solver._scores(problem, paths.reshape(-1, problem.dim_w)).reshape(_RUNS, -1)
    law = chances(scores, solver.sigma_select)
    expected = law.sum(0)
    covariance = np.diag(expected) - law.T @ law
    off = counts - expected
    statistic = float(off @ np.linalg.pinv(covariance) @ off)
    p = float(stats.chi2.sf(statistic, len(counts) - 1))
    shown = ", ".join(f"{seen:.0f} for {due:.1f}" for seen, due in zip(counts, expected, strict=True))
    return Finding(
        id, "noise", f"{case.words}: the private choice among the iterates",
        "violated" if p <= LEVEL else "consistent",
        f"over {_RUNS} runs the counts of each iterate, and of none, are {shown} that its Laplace noise makes "
        f"expected (chi-square, p = {p:.2g})",
        evidence={"counts": counts.tolist(), "expected": expected.tolist(), "p": p, "level": LEVEL},
        place=place_of(sto_spider.above_threshold),
    )  # fmt: skip


def _iterates(solver: Any, problem: Any, history: History) -> Array:
    """Return all that a run chooses from, w_1 to w_T: those on its path, and the last by one step more."""
    last = history.path[-1] - solver.eta * history.released[: solver.steps].sum(0)
    project(last, problem.domain_w)
    return np.vstack([history.path[1:], last])


def _near_the_threshold(configured: Any, problem: Any) -> Any:
    """Return steps that always happen, and an accuracy that puts the first score below 0, by the slope alone."""
    solver = replace(configured, steps=_STEPS, refreshes=_STEPS, kappa=1e300, gamma=1e-300, curvature=1e6)
    start = np.asarray(problem.start, float)
    slope = -float(replace(solver, alpha=0.0)._scores(problem, start[None])[0])
    alpha = (slope - _SHORT * solver.sigma_select) * 2 * solver.L0 / len(problem.records)
    return replace(solver, alpha=alpha)
