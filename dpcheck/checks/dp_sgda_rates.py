"""Theorem 2a of Yang et al. 2022 measured: the weak primal-dual gap over n, d and epsilon."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dpcheck.audits.rates import fit_rate
from dpcheck.bounds.registry import theorem
from dpcheck.checks.context import Context
from dpcheck.findings import Finding
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.problem import Array
from dpcheck.problems.quadratic import Quadratic
from dpcheck.solvers.dp_sgda import DPSGDA
from dpcheck.streams import map_chunks

PROBLEMS: dict[str, type[Bilinear] | type[Quadratic]] = {"bilinear": Bilinear, "quadratic": Quadratic}
_RESAMPLES = 200


def gaps(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Fit the exponents and compare every measured gap with the theorem's number."""
    for number, (name, family) in enumerate(PROBLEMS.items()):
        rows = measure(context, family, number)
        tables[f"Weak gap of DP-SGDA as printed, {name} game"] = rows
        yield _exponents(name, rows)
        yield _bound(name, rows)


def measure(context: Context, family: type[Bilinear] | type[Quadratic], number: int) -> list[dict[str, Any]]:
    """The gap at each (n, d, epsilon), each run on a fresh sample, with its resampling error."""
    sizes = (2000, 4000, 8000, 16_000, 32_000) if context.full else (1000, 2000, 4000, 8000)
    runs = 100 if context.full else 25
    grid = list(itertools.product(sizes, (1, 4, 16) if context.full else (1, 4), (0.5, 1.0)))
    delta = max(sizes) ** -2.0
    rows = []
    for done, (n, d, epsilon) in enumerate(grid):
        context.progress(done, len(grid))
        outputs = np.concatenate(
            map_chunks(
                partial(_runs, family, n, d, epsilon, delta), runs, chunk=5, jobs=context.jobs,
                seed=context.stream(11, number, done),
            )
        )  # fmt: skip
        game = family.sample(1, d, np.random.default_rng(0))  # for its constants
        gap = game.weak_gap(outputs)
        rng = np.random.default_rng(context.stream(12, number, done))
        resampled = [game.weak_gap(outputs[rng.integers(0, runs, runs)]) for _ in range(_RESAMPLES)]
        bound = theorem("yang2022.theorem_2a").bound(**_constants(game, n, d, epsilon, delta))
        rows.append(
            {
                "n": n, "d": d, "epsilon": epsilon, "gap": gap, "error": float(np.std(resampled)),
                "rate": max(n**-0.5, math.sqrt(d * math.log(1 / delta)) / (n * epsilon)),
                "bound": bound, "gap/bound": gap / bound,
            }
        )  # fmt: skip
    return rows


def _runs(
    family: type[Bilinear] | type[Quadratic], n: int, d: int, epsilon: float, delta: float,
    rng: np.random.Generator, size: int,
) -> Array:  # fmt: skip
    outputs = []
    for _ in range(size):
        game = family.sample(n, d, rng)
        solver = DPSGDA.configure(game, epsilon=epsilon, delta=delta, variant="as_printed")
        outputs.append(solver.outputs(game, rng, 1)[0])
    return np.array(outputs)


def _constants(game: Bilinear | Quadratic, n: int, d: int, epsilon: float, delta: float) -> dict[str, float]:
    return {
        "n": n, "d": d, "epsilon": epsilon, "delta": delta, "L": game.smoothness,
        "G_w": game.lipschitz_w, "G_v": game.lipschitz_v, "D_w": game.radius, "D_v": game.radius,
    }  # fmt: skip


def _exponents(name: str, rows: list[dict[str, Any]]) -> Finding:
    """All grid points lie where 1/sqrt(n) is the larger term of the rate."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    assert bool((frame["rate"] == frame["n"] ** -0.5).all())
    fit = fit_rate(frame, response="gap", factors=["n", "d", "epsilon"], claimed={"n": -0.5})
    shown = ", ".join(
        f"{factor} {fit.exponents[factor]:.2f} [{low:.2f}, {high:.2f}]" for factor, (low, high) in fit.interval.items()
    )
    return Finding(
        f"dp_sgda.rate.{name}", "rate",
        f"{name} game: weak gap as a power of n, claimed n^-1/2 where that term leads", fit.verdict,
        f"measured exponents: {shown}", evidence=fit.to_dict(),
    )  # fmt: skip


def _bound(name: str, rows: list[dict[str, Any]]) -> Finding:
    """No gap, less three standard errors, may exceed Theorem 2a's explicit bound."""
    worst = max(rows, key=lambda row: row["gap/bound"])
    broken = [row for row in rows if row["gap"] - 3 * row["error"] > row["bound"]]
    return Finding(
        f"dp_sgda.bound.{name}", "bound", f"{name} game: weak gap against Theorem 2a's explicit bound",
        "violated" if broken else "consistent",
        f"the gap is at most {worst['gap/bound']:.3g} of the bound on {len(rows)} settings",
        evidence={"settings": len(rows), "worst": worst},
    )  # fmt: skip
