"""What a run draws beside its noise: minibatches, the iterate it returns, perturbations, each against its law.

Null hypotheses: each recorded minibatch is drawn by its scheme; the number of the returned iterate is uniform; a
perturbation is standard normal, or uniform in its ball. The levels are so small that all of them together reject
correct code less than once in 10,000 whole checks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpcheck.algorithms.problem import Array
from dpcheck.audits.sampling import SamplingAudit, audit_sampling
from reference.replay import Index
from reference.small_runs import Case

_LEVEL = 1e-8
# An audit of minibatches simulates its null, so that it cannot reach a small level at once: four independent ones must
# reject, each at 0.03, which happens with probability 0.03^4 < 1e-6 at most.
_CONFIDENCE, _TIMES = 0.97, 4
_ROWS = 240  # minibatches an audit
_RUNS = 300  # runs whose returned iterate is looked up, at least


@dataclass(frozen=True)
class Judged:
    """A verdict and the numbers that it rests on, in a sentence."""

    ok: bool
    sentence: str

    @property
    def wrong(self) -> str:
        """The sentence where the law is another, else nothing."""
        return "" if self.ok else self.sentence


def minibatches(case: Case, scheme: str, size: int, stream: Callable[..., int]) -> Judged:
    """Judge the minibatches of many runs; ``stream`` gives the seeds."""
    audits: list[SamplingAudit] = []
    for time in range(_TIMES):
        rows = _drawn(case, scheme, size, lambda k, time=time: stream(70, time, k))  # type: ignore[misc]
        if len(rows) < 10:
            return Judged(False, f"the runs draw {len(rows)} minibatches of {size} records, too few to judge")
        audits.append(
            audit_sampling(
                rows, scheme=scheme, population=len(case.problem.records), batch=size, confidence=_CONFIDENCE,
                seed=stream(71, time),
            )
        )  # fmt: skip
        if audits[-1].verdict == "consistent":
            break
    return Judged(audits[-1].verdict == "consistent", audits[-1].reason)


def _drawn(case: Case, scheme: str, size: int, seed: Callable[[int], int]) -> Index:
    """Return rows of record numbers, padded with -1: those of this size, where the scheme fixes it."""
    rows: list[Index] = []
    for k in range(_ROWS):
        drawn = case.solver.run(case.problem, seed=seed(k), record=True).history.drawn
        for row in drawn[:1] if case.first_only else drawn:
            if scheme == "poisson" or int((row >= 0).sum()) == size:
                rows.append(row)
        if len(rows) >= _ROWS or (k >= 9 and not rows):
            break
    return np.array(rows[:_ROWS]).reshape(min(len(rows), _ROWS), -1)


def uniform_iterate(case: Case, stream: Callable[..., int]) -> Judged:
    """Judge the number of the iterate that is returned: exact binomial tests of each, by Bonferroni."""
    numbers, counts = list(case.chosen), Counter[int]()
    runs = max(_RUNS, math.ceil(len(numbers) * math.log(_RUNS * len(numbers) / _LEVEL)))  # or none of them would show
    for k in range(runs):
        run = case.solver.run(case.problem, seed=stream(72, k), at=range(case.solver.iterations(case.problem)))
        apart = np.abs(run.history.path - np.concatenate([run.x, run.y])).max(axis=1)
        near = int(np.argmin(apart))
        counts[near if apart[near] <= 1e-9 else len(apart)] += 1  # the last one of all is not kept
    outside = {t: count for t, count in sorted(counts.items()) if t not in numbers}
    if outside:
        t, count = next(iter(outside.items()))
        return Judged(False, f"{count} of {runs} runs return iterate {t}, which is not among those to choose from")
    found = {t: float(stats.binomtest(counts[t], runs, 1 / len(numbers)).pvalue) for t in numbers}
    worst = min(found, key=lambda t: found[t])
    told = f"{counts[worst]} of {runs} runs return iterate {worst}, where {runs / len(numbers):.0f} are due"
    return Judged(found[worst] > _LEVEL / len(numbers), told)


def perturbations(moves: Sequence[Array], *, ball: bool) -> Judged:
    """Judge what moved iterates at random, in units of its scale: uniform in the unit ball, or standard normal."""
    count, coordinates = len(moves), sum(move.size for move in moves)
    if ball:
        shares = [float(np.linalg.norm(move)) ** move.size for move in moves]
        p = float(stats.kstest(shares, "uniform").pvalue)
        words = f"{count} perturbations' lengths over r, to the power d, average {np.mean(shares):.3g}, 0.5 is due"
    else:
        square = float(sum(move @ move for move in moves))
        p = 2 * float(min(stats.chi2.cdf(square, coordinates), stats.chi2.sf(square, coordinates)))
        words = f"{count} perturbations have standard deviation {np.sqrt(square / coordinates):.3g} r, 1 r is due"
    return Judged(p > _LEVEL, words)
