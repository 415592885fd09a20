"""The looks of a membership audit: each tests an output set, chosen on earlier runs, on a fresh block of runs.

The first block of runs is only learned from. Look k tests an output set, chosen from all earlier blocks, on its own
fresh block at level alpha_k. The alpha_k add up to ``1 - confidence``. Each look is valid by itself, so by the union
bound the largest of their limits is valid too. The last look gets most runs and most of the level; the early ones end
the audit soon when a mechanism is far off. What an audit without a violation would have found rests on the last look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import norm

from dpcheck.arrays import Floats
from dpcheck.audits import limits
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.output_sets import Choice, OutputSet, choose
from dpcheck.audits.running import SIDES, Chunk
from dpcheck.audits.running.datasets import plain
from dpcheck.audits.running.encoder import Layout, Naming
from dpcheck.audits.running.pool import Pool
from dpcheck.audits.scores import evaluate
from dpcheck.compiled import njit

# (least trials, shares of the blocks, shares of the level)
_PLANS = (
    (5_000, (0.01, 0.03, 0.09, 0.87), (0.03, 0.05, 0.92)),
    (1_000, (0.04, 0.10, 0.86), (0.06, 0.94)),
    (0, (0.15, 0.85), (1.0,)),
)
# The most runs and numbers of each dataset that are kept to choose sets: more would fill memory and choose no better.
_KEPT_RUNS = 400_000
_KEPT = 20_000_000


@dataclass(frozen=True)
class Plan:
    """The runs of each dataset in each of ``blocks``, and the ``levels`` of the looks at all blocks but the first.

    chunk : the most runs that share one stream
    """

    blocks: tuple[int, ...]
    levels: tuple[float, ...]
    chunk: int

    @classmethod
    def of(cls, trials: int, confidence: float, chunk: int) -> Plan:
        """Divide ``trials`` runs of each dataset."""
        for least, shares, levels in _PLANS:  # noqa: B007  # the first that fits
            if trials >= least:
                break
        early = np.rint(trials * np.array(shares[:-1])).astype(int).tolist()
        return cls((*early, trials - sum(early)), tuple(((1 - confidence) * np.array(levels)).tolist()), chunk)

    def chunks(self, block: int) -> Iterator[Chunk]:
        """Yield the chunks of one block, both datasets in turn; a block ends with a shorter chunk."""
        number = int((-(-np.array(self.blocks[:block]) // self.chunk)).sum())  # those of earlier blocks
        for start in range(0, self.blocks[block], self.chunk):
            for side in (0, 1):
                yield Chunk(side, number + start // self.chunk, min(self.blocks[block] - start, self.chunk))


@dataclass(frozen=True)
class Look:
    """One output set tested on a fresh block of runs, and the limit it gave.

    Attributes
    ----------
    number : int
        Number of the block; several sets may be tested on one.
    kind : str
        Why the set was chosen, as in :class:`~.output_sets.Choice`.
    event : OutputSet
        The set with its counts.
    learned_from : int
        Earlier runs on each dataset on which the set was chosen.
    alpha : float
        Error probability of this test alone.
    claimed, delta : float
        The point (epsilon, delta) of the claim that was tested.
    bars : tuple of ndarray
        Edges (m + 1,) of a histogram of the score, and its counts (m,) on data and on neighbour.
    """

    number: int
    kind: str
    event: OutputSet
    learned_from: int
    alpha: float
    claimed: float
    delta: float
    bars: tuple[Floats, Floats, Floats] = field(repr=False, compare=False)

    @cached_property
    def epsilon_lower(self) -> float:
        """The exact limit at this delta, computed when it is first needed, since that is slow."""
        limit = limits.epsilon_lower(*self.event.counts, delta=self.delta, alpha=self.alpha)
        # The limit is computed to a thousandth; whether the claim is rejected is known to the last digit.
        return max(limit, math.nextafter(self.claimed, math.inf)) if self.breaks else limit

    @cached_property
    def at_most(self) -> float:
        """More than the limit can be, by its normal approximation; no guarantee rests on it."""
        return limits.most(*self.event.counts, delta=self.delta, alpha=self.alpha)

    @cached_property
    def breaks(self) -> bool:
        """Whether the claim fails at this point: the limit exceeds it."""
        if self.at_most <= self.claimed:
            return False
        return limits.rejects(*self.event.counts, self.claimed, delta=self.delta, alpha=self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the bars, ready for JSON."""
        names = ("kind", "event", "learned_from", "alpha", "claimed", "delta", "epsilon_lower")
        shown = {"look": self.number} | {name: getattr(self, name) for name in names}
        return shown | {"event": self.event.to_dict(), "claimed": plain(self.claimed)}


_BARS = 80
# Earlier runs of each dataset that decide where the bars lie.
_GLANCED = 4_000


class HitCounts:
    """Counts the outputs of fresh runs as they arrive."""

    def __init__(self, test: Choice, a: Floats, b: Floats) -> None:
        self.test = test
        values = np.sort(evaluate(test.event.score, test.event.sign, np.concatenate([a[:_GLANCED], b[:_GLANCED]])))
        finite = values[np.isfinite(values)]
        with np.errstate(all="ignore"):
            cut = finite.size // 2_000
            low, high = (finite[cut], finite[-1 - cut]) if finite.size else (0.0, 0.0)
            self.edges = np.linspace(low, high if high > low else low + 1.0, _BARS + 1)
            drawn = bool((np.diff(self.edges) > 0).all())
        if not drawn:  # numbers too large or too small
            self.edges = np.linspace(-1.0, 1.0, _BARS + 1)
        self.bars = np.zeros((2, _BARS))
        self._hits = [0, 0]

    def add(self, side: int, outputs: Floats) -> None:
        """Count the outputs (n, k) of runs on one dataset."""
        event = self.test.event
        with np.errstate(all="ignore"):
            values = event.score(outputs)
        level = event.sign * event.threshold
        self._hits[side] += _count(values, event.sign, level, self.edges[0], self.edges[-1], self.bars[side])

    def look(self, number: int, trials: int, learned_from: int, naming: Naming | None) -> Look:
        """Return the look at the set, by its hits in ``trials`` runs of each dataset."""
        test, favoured = self.test, SIDES.index(self.test.event.favours)
        event = replace(test.event, hits=self._hits[favoured], other_hits=self._hits[1 - favoured], trials=trials,
                        naming=naming)  # fmt: skip
        bars = (self.edges, *self.bars)
        return Look(number, test.kind, event, learned_from, test.alpha, test.epsilon, test.delta, bars)


@njit("int64(float64[:], int64, float64, float64, float64, float64[::1])", nogil=True)
def _count(values: Floats, sign: int, level: float, low: float, high: float, bars: Floats) -> int:
    """Return how many values, times ``sign``, reach ``level``; count all of them in ``bars``.

    Values beyond an end count in the bar at that end; NaN lies below all others.
    """
    hits, scale = 0, bars.size / (high - low)
    for number in values:
        value = -np.inf if np.isnan(number) else sign * number
        hits += value >= level
        place = (min(max(value, low), high) - low) * scale
        bars[int(place) if place < bars.size else bars.size - 1] += 1
    return hits


def take_looks(
    pool: Pool, plan: Plan, layout: Layout, claim: PrivacyClaim, epsilon: float, delta: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[Look, ...], list[Look], int, tuple[int, int]]:  # fmt: skip
    """Return the looks until one breaks the claim, those that break it, the runs, and how many raised on either."""
    earlier: tuple[list[Floats], list[Floats]] = ([], [])
    kept: list[tuple[Chunk, Floats]] = []
    width, naming = layout.width, Naming(layout)
    looks: list[Look] = []
    broken: list[Look] = []
    done, total, raised = 0, 2 * sum(plan.blocks), [0, 0]
    room = max(50, min(_KEPT_RUNS, _KEPT // width))
    for block, size in enumerate(plan.blocks):
        counts: list[HitCounts] = []
        if block:
            width = max(width, *(rows.shape[1] for _, rows in kept))  # wider once codes came
            a, b = (np.concatenate([layout.fitted(rows, width) for rows in side])[:room] for side in earlier)
            with np.errstate(over="ignore", invalid="ignore"):  # a score that overflows is not chosen
                tests = choose(a, b, size, claim, epsilon=epsilon, delta=delta, alpha=plan.levels[block - 1],
                               codes=width - layout.numbers)  # fmt: skip
            counts = [HitCounts(test, a, b) for test in tests]
        for chunk, outputs in pool.map(list(plan.chunks(block))):
            fitted = layout.fitted(outputs, width)
            for hits in counts:
                hits.add(chunk.side, fitted)
            if block < len(plan.levels) and sum(map(len, earlier[chunk.side])) < room:
                kept.append((chunk, outputs))
                earlier[chunk.side].append(outputs)
            raised[chunk.side] += layout.raised(outputs)
            done += chunk.size
            if progress is not None:
                progress(done, total)
        for hits in counts:
            looks.append(hits.look(block, size, len(a), naming if width > layout.numbers else None))
            if looks[-1].breaks:
                broken.append(looks[-1])
        if broken:
            break
    if width > layout.numbers:
        for look in broken or looks[-len(counts) :]:
            pool.label(naming, look.event.said, kept)
        for look in looks:
            pool.label(naming, look.event.said, ())
    return tuple(looks), broken, done // 2, (raised[0], raised[1])


# What an audit that found nothing would have found: the claimed mechanism with less noise, at the same budget. The
# mechanism meets the claim exactly on a pair, by Laplace noise for delta = 0 and Gaussian else; its noise is cut until
# the last look would have rejected the claim in four of five audits. The chance is that of the test on the best
# threshold, by the normal law of log((P - delta)/Q), with some room for the search of the threshold.
CHANCE, _LESS = 0.8, 0.1
# On the distance to the claim in standard errors, since the threshold is learned on a tenth of the runs: more where the
# two laws are so near each other that it is learned badly.
_ROOM, _ROOM_NEAR, _NEAR = 1.4, 1.8, 0.3
_THRESHOLDS = np.linspace(-4.0, 8.0, 241)
_LEVELS = np.linspace(0.0, 1.0, 41) * 6.0  # tails of Laplace noise beyond both centres
_LARGEST, _MOST_RUNS = 60.0, 10**9


@dataclass(frozen=True)
class Strength:
    """What an audit would have found.

    epsilon : of one number with Laplace noise, or Gaussian noise where delta is positive, that is too small for the
    claim: what four of five such audits find; None where the runs are too few to say it of any
    chance : in how many of all audits, at least
    trials : runs a data set that find noise which is a tenth too small, where these were too few; None beyond 10^9
    curve : whether the claim is one point of a curve, all of which could be tested
    """

    epsilon: float | None
    chance: float
    trials: int | None
    curve: bool

    @property
    def sentence(self) -> str:
        """Say what was and what was not looked for, and what to do next."""
        share = f"at least {100 * self.chance:.0f} of 100 such audits"
        steps = ["another pair of neighbours"]
        if self.curve:
            steps.append("the events as claim, which are tested at all their points")
        if self.trials is not None:
            steps.append(f"{self.trials:,} trials, which find noise that is a tenth too small")
        after = "losses that are spread over many numbers, or that show rarely, take more runs; next: "
        after += ", or ".join(steps)
        if self.epsilon is None:
            return f"the runs are too few to say what {share} find;\n{after}"
        found = (
            f"{share} find one number whose {'Gaussian' if self.curve else 'Laplace'} noise is so small that epsilon "
            f"is {self.epsilon:.3g} on this pair"
        )
        return f"{found};\n{after}"


def strength(epsilon: float, delta: float, runs: int, alpha: float, trials: int) -> Strength:
    """Return what an audit of so many trials finds; its last look tests the claim on ``runs`` of them at ``alpha``."""
    shift = least_found(epsilon, delta, runs, alpha)
    found = None if shift is None else epsilon_of(shift, delta)
    claimed = epsilon if delta == 0 else brentq(lambda shift: epsilon_of(shift, delta) - epsilon, 1e-9, _LARGEST)
    few, many, tenth = 1.0, 2.0, claimed / (1 - _LESS)  # runs of the last look; the shift by noise a tenth too small
    while many <= _MOST_RUNS and not _rejected(tenth, epsilon, delta, int(many), alpha):
        few, many = many, 2 * many
    while many > 1.05 * few and many <= _MOST_RUNS:
        middle = math.sqrt(few * many)
        few, many = (few, middle) if _rejected(tenth, epsilon, delta, int(middle), alpha) else (middle, many)
    more = math.ceil(many)
    wanted = int(float(f"{1.05 * more * trials / runs:.2g}")) if runs < more <= _MOST_RUNS else None
    return Strength(found, CHANCE, wanted, delta > 0)


def least_found(epsilon: float, delta: float, runs: int, alpha: float) -> float | None:
    """Return the shift, in units of the noise, at which a look of so many runs rejects the claim, or None."""
    if not _rejected(_LARGEST, epsilon, delta, runs, alpha):
        return None
    low, high = 0.0, _LARGEST
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _rejected(middle, epsilon, delta, runs, alpha) else (middle, high)
    return high


def _rejected(shift: float, epsilon: float, delta: float, runs: int, alpha: float) -> bool:
    """Whether some threshold's test rejects the claim with the chance or more, for noise of scale 1."""
    if delta > 0:
        p, q = np.asarray(ndtr(shift - _THRESHOLDS)), np.asarray(ndtr(-_THRESHOLDS))
    else:
        p, q = 0.5 * np.exp(-_LEVELS), 0.5 * np.exp(-_LEVELS - shift)
    p, q = p[p > delta], q[p > delta]
    q = np.clip(q, min(3.0 / runs, 1.0), 1.0)  # of a set that the other data set never meets, its upper limit counts
    p = np.minimum(p, 1 - 1e-12)
    error = np.sqrt(p * (1 - p) / (p - delta) ** 2 / runs + (1 - q) / q / runs)
    reach = (_ROOM if epsilon >= _NEAR else _ROOM_NEAR) * (norm.isf(alpha) + norm.ppf(CHANCE)) * error
    return bool((np.log((p - delta) / q) - reach > epsilon).any())


def epsilon_of(shift: float, delta: float) -> float:
    """Return epsilon of the mechanism with this shift: the shift itself for Laplace noise."""
    if delta == 0:
        return shift
    from dpcheck.accounting.certificates import gaussian_epsilon

    return gaussian_epsilon(shift, delta)
