"""Table 2 of Zhang et al. 2022 measured: how many gradients the base solvers take, alone and in Algorithms 4 and 5.

Alone, a base solver's stated cost is a sum of terms in n and the condition number. Each line varies one of the two
where one term leads, to an accuracy relative to the start's distance, so that the logarithm is the same along the line.

In Algorithms 4 and 5 epsilon is so large that mu = 2L/(D sqrt n), the least regularisation that they ever take and the
hardest case. The table leaves out logarithms. The counts are held to its order times log(n/delta) log2(n), of the
accuracy and of the number of phases; the margin ``ROUGH`` leaves room for what is left of logarithms, and for the
constants of a cost of several terms, which may differ. A cost of one term alone is held to the margin of all rates.
Where few counts leave the verdict open, four times as many are made, once; the wrong word then has at most twice the
chance of one look.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.bases import BASES, optimum
from dpcheck.checks.context import Batch, Context, Tables
from dpcheck.checks.experiment import doubling
from dpcheck.checks.rate_words import MARGIN, said
from dpcheck.checks.rate_words import judged as judged_factors
from dpcheck.checks.rates import TABLE
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.ill_conditioned import IllConditioned
from dpcheck.problems.quadratic import Quadratic
from dpcheck.report.findings import Finding
from dpcheck.solvers import configure

TABLES = {
    "extragradient": "extragradient", "saddle_svrg": "svrg", "saddle_saga": "svrg",
    "accelerated_svrg": "accelerated_svrg", "jin_sidford_tian": "jin",
    "al_svre": "catalyst", "catalyst_svrg": "catalyst",
}  # fmt: skip
SIZES = doubling(2**10, 2**14)
EPSILON, DELTA = 1e6, 1e-6
SEEDS = {"phases": 8, "n": 16, "kappa": 4}
STEADY = ("gradient_descent", "katyusha", "gda", "extragradient", "saddle_saga")  # whose counts hardly vary
OWN = {**dict.fromkeys(STEADY, 4), "sarah": 100}  # sarah's epochs end at random
# Their phases have geometric lengths: counts have an exponential tail where few phases are enough, as along n. Of few
# runs one may carry most of the spread, so that no mean is determined; of 100 it hardly can.
PHASES, OF_PHASES = ("jin_sidford_tian", "al_svre"), 100
DIMENSION = 3
ROUGH = 0.3
MORE = 4  # times as many runs where the first look leaves the verdict open; its interval is at the same confidence
# Other verdicts come by chance too: one count of few that is far off, or a slope that seems to bend.
DECIDED = ("attained", "not exceeded", "contradicted")
ACCURACY = 1e-6  # energy at the end over energy at the start
RECORDS = {"n": (4000, 8000, 16000, 32000), "kappa": (1.5,)}  # a line along which n leads
SETTINGS = {"output_perturbation": "minimisation", "minimax_output_perturbation": "saddle"}  # of the solvers alone
CONDITION = {"n": (8,), "kappa": (100, 200, 400, 800)}  # ... the condition number
STEEP = {"n": (8,), "kappa": (10, 20, 40, 80)}  # ... and its square


class Line(NamedTuple):
    """The gradients of one solver along one factor: ``runs`` of each cell, and then more where that is not enough."""

    id: str
    subject: str
    against: str
    factor: str
    runs: int
    cells: list[Cell]
    margin: float


class Cell(NamedTuple):
    """One size of a line, the order that its count is held to, and ``work(rng)``, which counts once."""

    key: str
    size: dict[str, float]
    order: float
    work: Callable[[np.random.Generator], int]


def lines(algorithm: str) -> list[Line]:
    """Return the lines of an algorithm's check: its own runs with each base solver, or the base solvers alone."""
    if algorithm not in SETTINGS:
        return [_phased(algorithm, base, row) for base, row in TABLES.items()]
    bases = [base for base in BASES.values() if base.setting == SETTINGS[algorithm]]
    return [_alone(algorithm, base, factor) for base in bases for factor in ("n", "kappa")]


def findings(algorithm: str, context: Context, tables: Tables) -> Iterator[Finding]:
    """One finding a line; a verdict that the first look leaves open is that of a longer one."""
    for number, line in enumerate(of := lines(algorithm)):
        context.progress(number, len(of))
        for runs in (line.runs, MORE * line.runs):
            finding, row = judged(line, [counted(cell, context, runs) for cell in line.cells])
            if finding.verdict in DECIDED:
                break
        tables.setdefault(TABLE, []).append(row)
        yield finding


def _phased(name: str, base: str, row: str) -> Line:
    """Algorithm 4 or 5 with one base solver."""
    game = Bilinear.sample(2, DIMENSION, np.random.default_rng(0))
    r = game.smoothness * game.radius / math.hypot(game.lipschitz_w, game.lipschitz_v)
    statement = theorem(f"zhang2022.table_2_{row}")
    cells = []
    for n in SIZES:
        order = statement.bound(constant=1.0, n=n, r=r) * math.log(n / DELTA) * math.log2(n)
        cells.append(Cell(f"{name}.{base}.{n}", {"n": n}, order, partial(_phases, name, base, n)))
    subject = f"{name} with {base}: gradients against {statement.location}"
    return Line(f"{name}.gradients.{base}", subject, statement.id, "n", SEEDS["phases"], cells, ROUGH)


def _alone(name: str, base: Any, factor: str) -> Line:
    """A base solver on its own, in n or in the condition number."""
    steep = any(term.kappa >= 2 for term in base.cost)
    along = RECORDS if factor == "n" else STEEP if steep else CONDITION
    cells = []
    for n, kappa in itertools.product(along["n"], along["kappa"]):
        work = partial(_solve, base.name, int(n), kappa)
        cells.append(Cell(f"{base.name}.{n}.{kappa}", {"n": n, "kappa": kappa}, base.work(n, kappa), work))
    subject = f"{base.name} alone: gradients against its stated cost, along {factor}"
    margin = MARGIN if len(base.cost) == 1 else ROUGH
    runs = OF_PHASES if factor == "n" and base.name in PHASES else OWN.get(base.name, SEEDS[factor])
    return Line(f"{name}.gradients.{base.name}.{factor}", subject, "the stated cost", factor, runs, cells, margin)


def _phases(name: str, base: str, n: int, rng: np.random.Generator) -> int:
    problem = Bilinear.sample(n, DIMENSION, rng)
    solver = configure(name, problem, epsilon=EPSILON, delta=DELTA, base=base)
    return solver.run(problem, seed=int(rng.integers(2**31))).evaluations


def _solve(base: str, n: int, kappa: float, rng: np.random.Generator) -> int:
    """On quadratics whose slowest mode, that of w, the start excites; a side v is well conditioned, weakly coupled."""
    problem: Any
    if BASES[base].setting == "minimisation":
        records = (0.5 + 0.1 * rng.random((n, DIMENSION))) / math.sqrt(DIMENSION)
        problem = IllConditioned(records, mu=1 / kappa, smoothness=1.0)
    else:
        records = (0.5 + 0.1 * rng.random((n, 2 * DIMENSION))) / math.sqrt(DIMENSION)
        problem = Quadratic(records, mu_x=1 / kappa, coupling=0.5 / math.sqrt(kappa), radius=1e9)
    w, v = problem.saddle()
    energy = problem.convexity * float(w @ w) + problem.concavity * float(v @ v)
    return optimum(base, problem, energy=ACCURACY * energy, seed=int(rng.integers(2**31)), most=10**9).gradients


def counted(cell: Cell, context: Context, runs: int) -> list[int]:
    """Count the gradients of a cell, each time on a stream of its own."""
    seed = np.random.SeedSequence([context.seed, crc32(cell.key.encode())])
    return context.measured(Batch(["gradients", cell.key], partial(_on_stream, cell.work), runs, 1, seed))


def _on_stream(work: Any, rng: np.random.Generator, size: int) -> int:
    return int(work(rng))


def judged(line: Line, counts: Sequence[Sequence[int]]) -> tuple[Finding, dict[str, Any]]:
    """The finding on the counts of each cell, and its row of the table of rates."""
    import pandas as pd

    frame = pd.DataFrame(
        {**cell.size, "gradients": count, "order": cell.order}
        for cell, of_cell in zip(line.cells, counts, strict=True)
        for count in of_cell
    )
    factor = line.factor
    order = np.polyfit(np.log(frame[factor]), np.log(frame["order"]), 1)[0]
    (shown,), fit = judged_factors(frame, "gradients", {factor: float(order)}, confidence=0.95, margin=line.margin)
    assert fit is not None  # which one factor alone always has
    algorithm, _, experiment = line.id.partition(".")
    row = {
        "experiment": experiment, "algorithm": algorithm, "theorem": line.against, "regime": "",
        "predicted": None, "largest": None, **shown.to_dict(),
    }  # fmt: skip
    evidence = {"fit": fit.to_dict(), "factors": [shown.to_dict()]}
    return Finding(line.id, "rate", line.subject, shown.word, said([shown]), evidence=evidence), row


STAGES = {
    name: partial(findings, name)
    for name in ("phased_primal", "phased_dual", "output_perturbation", "minimax_output_perturbation")
}
