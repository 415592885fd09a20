"""DPTD, the baseline of Zhang et al. 2025, against the law of its iterates; no theorem at hand promises it a rate.

The paper states nothing of the algorithm of Zhao et al. 2023 but step sizes and noise. On equal records, where no end
of a domain is near, w, v and both running averages follow a linear recursion with Gaussian noise in each coordinate, so
that the mean gradient norm of Phi at the last iterate is exact. Only the repaired variant is measured: the printed
noise drives the averages beyond the domain at any n that runs in minutes.
"""

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any
from zlib import crc32

import numpy as np
from scipy.stats import t as student

from dpcheck.accounting import calibrate
from dpcheck.catalogue.equal_records import EqualRecords
from dpcheck.checks.context import Batch, Context
from dpcheck.events import Event, Gaussian, Repeated, Sampled
from dpcheck.report.findings import Finding
from dpcheck.solvers import configure

SIZES, D, BATCH, EPSILON, DELTA = (4000, 8000, 16_000), 8, 16, 1.0, 1e-6
PULL, COUPLING = 0.4, 0.5
SEEDS, RUNS = 32, 16
WITHIN, LEVEL, ROOM = 1.1, 0.01, 2.5
CHI = ETA = 2.0
ALPHA = BETA = 3.0


def game(n: int) -> EqualRecords:
    """The instance."""
    return EqualRecords.of(n, D, PULL, coupling=COUPLING)


@cache
def law(n: int) -> tuple[float, float]:
    """E |grad Phi(w_T)|, and how often the noise of w - chi p fits between w* and the end of the domain."""
    problem = game(n)

    def events(multiplier: float) -> tuple[Event, ...]:
        return (Repeated(Sampled((Gaussian(multiplier),) * 2, "without_replacement", n, BATCH), n),)

    multiplier = calibrate(events, epsilon=EPSILON, delta=DELTA)
    per_step = np.array([ALPHA * problem.lipschitz_w, BETA * problem.lipschitz_v]) * 2 * multiplier / BATCH
    slopes = np.array([[problem.mu_x, COUPLING], [COUPLING, -problem.mu_y]])
    mean, covariance = np.zeros(4), np.zeros((4, 4))  # of w, v, p, q in the coordinate of b
    push = np.array([PULL, 0.0])
    move = np.eye(4)
    for t in range(1, n):  # the gradient of the last step moves nothing any more
        nu = 0.25 / math.sqrt(t + 3)
        if t > 1:
            move[:2, 2:] = np.diag([-nu * CHI, nu * ETA])
        gains = nu * np.array([ALPHA, BETA])
        move[2:, :2] = gains[:, None] * slopes
        move[2:, 2:] = np.diag(1 - gains) + gains[:, None] * slopes @ move[:2, 2:]
        mean, covariance = move @ mean, move @ covariance @ move.T
        mean[2:] += gains * push
        covariance[2:, 2:] += np.diag((nu * per_step) ** 2)
    nu = 0.25 / math.sqrt(n + 3)
    last = np.array([1.0, 0.0, -nu * CHI, 0.0])
    deviation = problem.curvature * math.sqrt(last @ covariance @ last)
    centre = abs(problem.curvature * float(last @ mean) + PULL)
    ahead = np.array([1.0, 0.0, -CHI, 0.0])
    room = (problem.radius - PULL / problem.curvature) / math.sqrt(D * ahead @ covariance @ ahead)
    return float(problem.expected_norm(np.array([centre]), np.array([deviation]))[0]), room


def values(n: int, context: Context) -> list[float]:
    """Independent means over a few runs."""
    problem = game(n)
    solver = configure("dptd", problem, epsilon=EPSILON, delta=DELTA, batch=BATCH)

    seed = np.random.SeedSequence([context.seed, n, crc32(b"dptd")])
    batch = Batch(["rate", "dptd", n, RUNS], partial(_norms, problem, solver), SEEDS, SEEDS // 4, seed)
    return [value for part in context.measured(batch) for value in part]


def _norms(problem: Any, solver: Any, rng: np.random.Generator, size: int) -> list[float]:
    return [problem.gradient_norm(solver.outputs(problem, rng, RUNS)) for _ in range(size)]


def last_iterate(context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Measured over predicted at every size."""
    rows, lows, highs = [], [], []
    reach = float(student.isf(LEVEL / (2 * len(SIZES)), SEEDS - 1))
    for n in SIZES:
        expected, room = law(n)
        found = np.array(values(n, context))
        mean, error = float(found.mean()), float(found.std(ddof=1) / math.sqrt(SEEDS))
        lows.append((mean - reach * error) / expected)
        highs.append((mean + reach * error) / expected)
        rows.append({"n": n, "measured": mean, "error": error, "predicted": expected, "room over noise": room})
    ratios = [row["measured"] / row["predicted"] for row in rows]
    if min(row["room over noise"] for row in rows) < ROOM:
        verdict = "not asymptotic"
    elif max(lows) > WITHIN or min(highs) < 1 / WITHIN:
        verdict = "contradicted"
    else:
        verdict = "supported" if max(highs) <= WITHIN and min(lows) >= 1 / WITHIN else "inconclusive"
    tables["dptd: last iterate"] = rows
    yield Finding(
        "dptd.prediction.last_iterate", "rate",
        "dptd: gradient norm of Phi at the last iterate against the instance's closed form; no theorem at hand "
        "promises this baseline a rate",
        verdict,
        f"measured over predicted is between {min(ratios):.3g} and {max(ratios):.3g}, compared with a factor {WITHIN}",
        evidence={
            "theorem": None, "d": D, "batch": BATCH, "epsilon": EPSILON, "delta": DELTA, "rows": rows, "within": WITHIN,
        },
    )  # fmt: skip


STAGES = {"dptd": last_iterate}
