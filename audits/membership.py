"""Membership audit: an empirical lower bound on epsilon, valid for any mechanism.

Null hypothesis: for every output set E, ``P(E) <= e^epsilon Q(E) + delta`` in both directions, P
and Q being the laws of the outputs on the two datasets. Output sets are chosen on earlier runs and
tested on fresh ones (:mod:`.sampling_plan`, :mod:`.witness`), each by one exact test
(:mod:`.binomial`). All choices - score, direction, threshold, when to stop - are thereby paid for:
a mechanism that keeps its claim is called violated with probability at most ``1 - confidence``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits import binomial
from dpcheck.audits.runs import Pool, Runner
from dpcheck.audits.sampling_plan import LEAST_TRIALS, Plan
from dpcheck.audits.witness import SIDES, Event, choose
from dpcheck.errors import (
    require,
    require_confidence,
    require_count,
    require_delta,
    require_epsilon,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_CHUNK = 1_000
_CHUNK_VECTORIZED = 10_000
# Numbers kept a dataset for choosing sets.
_KEPT = 20_000_000
_BARS = 80


@dataclass(frozen=True)
class Look:
    """One set tested on a fresh block, and the limit it gave.

    number : of the block; two sets may be tested on one
    learned_from : earlier runs a dataset on which the set was chosen
    alpha : error probability of this test alone
    bars : edges (m + 1,) and counts (m,) of the score on data and neighbour, for plotting
    """

    number: int
    event: Event
    learned_from: int
    alpha: float
    epsilon_lower: float
    bars: tuple[Floats, Floats, Floats] = field(repr=False, compare=False)


@dataclass(frozen=True)
class PrivacyAudit:
    """What was claimed, what was run, and what it showed.

    verdict : "violated" if ``epsilon_lower > epsilon``; "inconclusive" if these trials could not
        have shown a violation even with outputs that never overlap; else "consistent", which says
        that none was found, not that there is none
    epsilon_lower : one-sided lower confidence bound (natural log) at this delta, all looks together
    trials : runs used on each dataset; fewer than asked for where a violation was plain early
    event : the output set behind ``epsilon_lower``
    """

    verdict: str
    epsilon_lower: float
    trials: int
    event: Event
    epsilon: float
    delta: float
    confidence: float
    seed: int
    version: str
    looks: tuple[Look, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """All but the plot's bars, ready for JSON."""
        return {
            "verdict": self.verdict,
            "epsilon_lower": self.epsilon_lower,
            "trials": self.trials,
            "event": self.event.to_dict(),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": self.confidence,
            "seed": self.seed,
            "version": self.version,
            "looks": [
                {
                    "look": look.number,
                    "event": look.event.to_dict(),
                    "learned_from": look.learned_from,
                    "alpha": look.alpha,
                    "epsilon_lower": look.epsilon_lower,
                }
                for look in self.looks
            ],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row a set tested."""
        import pandas as pd

        return pd.DataFrame(
            {
                "look": look.number,
                "learned_from": look.learned_from,
                "trials": look.event.trials,
                "alpha": look.alpha,
                "event": look.event.words,
                "favours": look.event.favours,
                "hits": look.event.hits,
                "other_hits": look.event.other_hits,
                "epsilon_lower": look.epsilon_lower,
            }
            for look in self.looks
        )

    def plot(self) -> Figure:
        """The score of the deciding look under both datasets: histogram, tails, the set marked."""
        from matplotlib.figure import Figure

        look = _deciding(self.looks)
        event, (edges, *counts) = look.event, look.bars
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        sign = 1 if event.direction == ">=" else -1
        for side, count in zip(SIDES, counts, strict=True):
            left.stairs(count / event.trials, edges * sign, label=side)
            tail = np.cumsum(count[::-1])[::-1] / event.trials
            right.step(edges[:-1] * sign, tail, where="post", label=side)
        for axes, title in ((left, "share of runs in each bin"), (right, "share in the set")):
            axes.axvline(event.threshold, color="black", linestyle=":", label="threshold")
            axes.set(xlabel=event.score.words, title=title)
        right.set_yscale("log")
        left.legend()
        figure.suptitle(
            f"{self.verdict}: audited epsilon >= {self.epsilon_lower:.4g}, claimed {self.epsilon:g}"
            f" (delta {self.delta:g}, confidence {self.confidence:g})"
        )
        return figure


def audit_privacy(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    trials: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    jobs: int | None = None,
    vectorized: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> PrivacyAudit:
    """Test the claim that ``mechanism`` is (epsilon, delta)-private on one pair of neighbours.

    mechanism : ``(dataset, rng) -> number or array``, drawing all its randomness from ``rng``, a
        :class:`numpy.random.Generator`; with ``vectorized`` ``(dataset, rng, size) -> array`` of
        shape (size,) or (size, ...), ``size`` independent outputs
    data, neighbour : whatever the mechanism takes; the same to every call, never copied or changed
    epsilon, delta : the claim; epsilon >= 0 (natural log), delta in [0, 1)
    trials : runs on each dataset, at least 100
    confidence : of the bound, one-sided
    jobs : processes, or threads where ``vectorized``; the result is the same for any number
    progress : called with (runs done, runs at most) over both datasets

    Outputs may be infinite, not NaN. Raises :class:`~dpcheck.errors.InputError` for wrong arguments
    and for a mechanism that raises, returns no numbers, changes shape or has other randomness.
    """
    require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
    require_epsilon(epsilon)
    require_delta(delta)
    require_count(trials, "trials", least=LEAST_TRIALS)
    require_confidence(confidence)
    require_count(seed, "seed", least=0)
    jobs = 1 if jobs is None else jobs
    require_count(jobs, "jobs")

    plan = Plan.of(trials, confidence, _CHUNK_VECTORIZED if vectorized else _CHUNK)
    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    width = runner.probe()
    with Pool(runner, jobs) as pool:
        looks, used = _run(pool, plan, width, epsilon, delta, progress)
    best = _deciding(looks)
    if best.epsilon_lower > epsilon:
        verdict = "violated"
    elif not _could_fail(plan, epsilon, delta):
        verdict = "inconclusive"
    else:
        verdict = "consistent"
    return PrivacyAudit(
        verdict, best.epsilon_lower, used, best.event, float(epsilon), float(delta),
        float(confidence), int(seed), _version(), looks,
    )  # fmt: skip


def _run(
    pool: Pool,
    plan: Plan,
    width: int,
    epsilon: float,
    delta: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[Look, ...], int]:
    """The looks until one exceeds ``epsilon``, and the runs used on each dataset."""
    earlier: tuple[list[Floats], list[Floats]] = ([], [])
    looks: list[Look] = []
    done, total = 0, 2 * sum(plan.blocks)
    room = max(50, _KEPT // width)
    for block, size in enumerate(plan.blocks):
        tallies: list[_Tally] = []
        if block:
            a, b = (np.concatenate(kept)[:room] for kept in earlier)
            tallies = [
                _Tally(event, share, np.concatenate([a, b]))
                for event, share in choose(a, b, size, delta=delta, alpha=plan.levels[block - 1])
            ]
        for chunk, outputs in pool.map(plan.chunks(block)):
            require(
                outputs.shape[1] == width,
                "mechanism",
                "return outputs of one shape",
                f"{width} and {outputs.shape[1]} numbers",
            )
            for tally in tallies:
                tally.add(chunk.side, outputs)
            if block < len(plan.levels) and sum(map(len, earlier[chunk.side])) < room:
                earlier[chunk.side].append(outputs)
            done += chunk.size
            if progress is not None:
                progress(done, total)
        looks += [tally.look(block, size, len(a), delta) for tally in tallies]
        if looks and _deciding(looks).epsilon_lower > epsilon:
            break
    return tuple(looks), done // 2


class _Tally:
    """Counts of one block: hits of its set, and bars of its score."""

    def __init__(self, event: Event, alpha: float, earlier: Floats) -> None:
        values = event.values(earlier)
        finite = values[np.isfinite(values)]
        low, high = np.quantile(finite, [0.0005, 0.9995]) if finite.size else (0.0, 0.0)
        self._event, self._alpha = event, alpha
        self._edges = np.linspace(low, high if high > low else low + 1.0, _BARS + 1)
        self._hits = [0, 0]
        self._bars = np.zeros((2, _BARS))

    def add(self, side: int, outputs: Floats) -> None:
        values = self._event.values(outputs)
        self._hits[side] += int((values >= self._event.level).sum())
        inside = np.clip(values, self._edges[0], self._edges[-1])
        self._bars[side] += np.histogram(inside, self._edges)[0]

    def look(self, number: int, trials: int, learned_from: int, delta: float) -> Look:
        favoured = SIDES.index(self._event.favours)
        x, y = self._hits[favoured], self._hits[1 - favoured]
        limit = binomial.epsilon_lower(x, y, trials, delta=delta, alpha=self._alpha)
        event = replace(self._event, hits=x, other_hits=y, trials=trials)
        return Look(number, event, learned_from, self._alpha, limit, (self._edges, *self._bars))


def _deciding(looks: Sequence[Look]) -> Look:
    """The look with the largest limit; of equal ones the last, which had most runs."""
    return max(reversed(looks), key=lambda look: look.epsilon_lower)


def _could_fail(plan: Plan, epsilon: float, delta: float) -> bool:
    """Whether outputs that never overlap would have exceeded the claim."""
    return any(
        binomial.epsilon_lower(size, 0, size, delta=delta, alpha=alpha) > epsilon
        for size, alpha in zip(plan.blocks[1:], plan.levels, strict=True)
    )


def _version() -> str:
    import dpcheck

    return dpcheck.__version__
