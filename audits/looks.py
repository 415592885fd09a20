"""The looks of a membership audit: each tests an output set, chosen on earlier runs, on a fresh block of runs.

The first block of runs is only learned from. Look k tests an output set, chosen from all earlier blocks, on its own
fresh block at level alpha_k. The alpha_k add up to ``1 - confidence``. Each look is valid by itself, so by the union
bound the largest of their limits is valid too. The last look gets most runs and most of the level; the early ones end
the audit soon when a mechanism is far off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits import limits
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.output_sets import HitCounts, OutputSet, choose
from dpcheck.audits.running import Chunk, Pool
from dpcheck.errors import require

Floats = NDArray[np.float64]

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
        limit = limits.epsilon_lower(*self._counts, delta=self.delta, alpha=self.alpha)
        # The limit is computed to a thousandth; whether the claim is rejected is known to the last digit.
        return max(limit, math.nextafter(self.claimed, math.inf)) if self.breaks else limit

    @cached_property
    def at_most(self) -> float:
        """More than the limit can be, by its normal approximation; no guarantee rests on it."""
        return limits.most(*self._counts, delta=self.delta, alpha=self.alpha)

    @cached_property
    def breaks(self) -> bool:
        """Whether the claim fails at this point: the limit exceeds it."""
        if self.at_most <= self.claimed:
            return False
        return limits.rejects(*self._counts, self.claimed, delta=self.delta, alpha=self.alpha)

    @property
    def _counts(self) -> tuple[int, int, int]:
        return self.event.hits, self.event.other_hits, self.event.trials


def take_looks(
    pool: Pool, plan: Plan, width: int, claim: PrivacyClaim, epsilon: float, delta: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[Look, ...], list[Look], int]:  # fmt: skip
    """Return the looks up to one that breaks the claim, those that break it, and the runs used on each dataset.

    width : numbers in an output;  epsilon : claimed at ``delta``
    """
    earlier: tuple[list[Floats], list[Floats]] = ([], [])
    looks: list[Look] = []
    broken: list[Look] = []
    done, total = 0, 2 * sum(plan.blocks)
    room = max(50, min(_KEPT_RUNS, _KEPT // width))
    for block, size in enumerate(plan.blocks):
        counts: list[HitCounts] = []
        if block:
            a, b = np.concatenate(earlier[0])[:room], np.concatenate(earlier[1])[:room]
            with np.errstate(over="ignore", invalid="ignore"):  # a score that overflows is not chosen
                tests = choose(a, b, size, claim, epsilon=epsilon, delta=delta, alpha=plan.levels[block - 1])
            counts = [HitCounts(test, a, b) for test in tests]
        for chunk, outputs in pool.map(list(plan.chunks(block))):
            shapes = f"{width} and {outputs.shape[1]} numbers"
            require(outputs.shape[1] == width, "mechanism", "return outputs of one shape (padded with nan)", shapes)
            for hits in counts:
                hits.add(chunk.side, outputs)
            if block < len(plan.levels) and sum(map(len, earlier[chunk.side])) < room:
                earlier[chunk.side].append(outputs)
            done += chunk.size
            if progress is not None:
                progress(done, total)
        for hits in counts:
            test, bars = hits.test, (hits.edges, *hits.bars)
            event, learned_from = hits.event(size), len(a)
            looks.append(Look(block, test.kind, event, learned_from, test.alpha, test.epsilon, test.delta, bars))
        if broken := [look for look in looks if look.breaks]:
            break
    return tuple(looks), broken, done // 2


def in_family(claim: PrivacyClaim, looks: Sequence[Look], delta: float) -> float | None:
    """Return epsilon of the claimed events at the least factor on their noise that the last curve look rejects.

    None where that epsilon is an upper bound which no pair of neighbours is known to attain.
    """
    from dpcheck.accounting import certify, privacy_curve
    from dpcheck.events import scaled

    if not certify(claim.events, delta).sharp:
        return None
    look = next(look for look in reversed(looks) if look.kind == "curve")
    counts = look.event.hits, look.event.other_hits, look.event.trials
    factor = limits.least_rejected(
        *counts, lambda z: privacy_curve(scaled(claim.events, z)), epsilon=look.claimed, guess=1.0, alpha=look.alpha
    )
    certified = certify(scaled(claim.events, factor), delta) if math.isfinite(factor) else None
    return 0.0 if certified is None else certified.epsilon if certified.sharp else None
