"""Membership audit: an empirical lower bound on epsilon, valid for any mechanism.

Null hypothesis: for every output set E, ``P(E) <= e^epsilon Q(E) + delta`` in both directions and at
every point (epsilon, delta) of the claim (:mod:`.claim`), P and Q being the laws of the outputs on the
two datasets. Output sets are chosen on earlier runs and
tested on fresh ones (:mod:`.sampling_plan`, :mod:`.witness`), each by one exact test
(:mod:`.binomial`). All choices - score, direction, threshold, point, when to stop - are thereby paid for:
a mechanism that keeps its claim is called violated with probability at most ``1 - confidence``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import __version__
from dpcheck.audits import binomial
from dpcheck.audits.claim import Claim
from dpcheck.audits.family import least_rejected
from dpcheck.audits.hits import Hits
from dpcheck.audits.runs import Pool, Runner, require_runs
from dpcheck.audits.sampling_plan import LEAST_TRIALS, SIDES, Plan
from dpcheck.audits.witness import OutputSet, choose
from dpcheck.audits.words import plain
from dpcheck.errors import (
    require,
    require_confidence,
    require_count,
    require_delta,
)
from dpcheck.events import scaled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_CHUNK = 1_000
_CHUNK_VECTORIZED = 10_000
# Runs and numbers kept a dataset for choosing sets: more would choose no better, and fill memory.
_KEPT_RUNS = 400_000
_KEPT = 20_000_000


@dataclass(frozen=True)
class Look:
    """One set tested on a fresh block, and the limit it gave.

    number : of the block; several sets may be tested on one;  kind : as in :class:`~.witness.Choice`
    learned_from : earlier runs a dataset on which the set was chosen
    alpha : error probability of this test alone
    claimed, delta : the point of the claim that was tested
    bars : edges (m + 1,) and counts (m,) of the score on data and neighbour, for plotting
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
        """The limit at this delta; exact, and slow enough to be worked out only where it is looked at."""
        limit = binomial.epsilon_lower(*self._counts, delta=self.delta, alpha=self.alpha)
        # It is found to a thousandth; that the claim is rejected is known to the last digit.
        return max(limit, math.nextafter(self.claimed, math.inf)) if self.breaks else limit

    @cached_property
    def at_most(self) -> float:
        """More than the limit can be, from its normal approximation; no guarantee rests on it."""
        return binomial.most(*self._counts, delta=self.delta, alpha=self.alpha)

    @cached_property
    def breaks(self) -> bool:
        """Whether the claim fails at this point: the limit exceeds it."""
        if self.at_most <= self.claimed:
            return False
        return binomial.rejects(*self._counts, self.claimed, delta=self.delta, alpha=self.alpha)

    @property
    def _counts(self) -> tuple[int, int, int]:
        return self.event.hits, self.event.other_hits, self.event.trials


@dataclass(frozen=True)
class PrivacyAudit:
    """What was claimed, what was run, and what it showed.

    verdict : "violated" if a look's limit exceeds the claim (at one point, ``epsilon_lower > epsilon``);
        "inconclusive" if these trials could not have shown a violation even with outputs that never
        overlap; else "consistent", which says that none was found, not that there is none
    epsilon_lower : one-sided lower confidence bound (natural log) at this delta, all looks together
    trials : runs used on each dataset; fewer than asked for where a violation was plain early
    event : the output set that broke the claim, else the one behind ``epsilon_lower``
    claim : in words;  epsilon : claimed at this delta
    seed : None where the mechanism's randomness is its own
    in_family : where the claim was privacy events, a larger bound on epsilon at this delta that ASSUMES the
        claimed mechanism at some common factor on its noise: that of the least factor rejected
    """

    verdict: str
    epsilon_lower: float
    trials: int
    event: OutputSet
    claim: str
    epsilon: float
    delta: float
    confidence: float
    seed: int | None
    version: str
    looks: tuple[Look, ...] = field(repr=False)
    in_family: float | None = None

    @property
    def one_sided(self) -> bool:
        """Whether the set was never seen on one dataset: evidence that no finite epsilon will do.

        ``epsilon_lower`` then grows with the logarithm of the trials, and says no more than they can.
        """
        return self.event.other_hits == 0 < self.event.hits

    def to_dict(self) -> dict[str, Any]:
        """All but the plot's bars, ready for JSON."""
        return {
            "verdict": self.verdict,
            "epsilon_lower": self.epsilon_lower,
            "trials": self.trials,
            "event": self.event.to_dict(),
            "one_sided": self.one_sided,
            "claim": self.claim,
            "in_family": self.in_family,
            "epsilon": plain(self.epsilon),
            "delta": self.delta,
            "confidence": self.confidence,
            "seed": self.seed,
            "version": self.version,
            "looks": [
                {
                    "look": look.number,
                    "kind": look.kind,
                    "event": look.event.to_dict(),
                    "learned_from": look.learned_from,
                    "alpha": look.alpha,
                    "claimed": plain(look.claimed),
                    "delta": look.delta,
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
                "kind": look.kind,
                "learned_from": look.learned_from,
                "trials": look.event.trials,
                "alpha": look.alpha,
                "event": look.event.words,
                "favours": look.event.favours,
                "hits": look.event.hits,
                "other_hits": look.event.other_hits,
                "claimed": look.claimed,
                "delta": look.delta,
                "epsilon_lower": look.epsilon_lower,
            }
            for look in self.looks
        )

    def plot(self) -> Figure:
        """The score of the deciding look under both datasets: histogram, tails, the set marked."""
        from matplotlib.figure import Figure

        look = next(look for look in reversed(self.looks) if look.event == self.event)
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
    epsilon: float | None = None,
    delta: float = 1e-5,
    claim: Any = None,
    trials: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    seeded: bool = True,
    jobs: int | None = None,
    vectorized: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> PrivacyAudit:
    """Test the claim that ``mechanism`` is (epsilon, delta)-private on one pair of neighbours.

    mechanism : ``(dataset, rng) -> number or array``, drawing all its randomness from ``rng``, a
        :class:`numpy.random.Generator`; with ``vectorized`` ``(dataset, rng, size) -> array`` of
        shape (size,) or (size, ...), ``size`` independent outputs
    data, neighbour : whatever the mechanism takes; the same to every call, never copied or changed
    epsilon, delta : the claim; epsilon >= 0 (natural log; 1 if nothing is claimed), delta in [0, 1)
    claim : in place of epsilon, more than one point: events of :mod:`dpcheck.events` (the Gaussian mechanism
        with this noise, what an accountant is told), a function from an array of epsilons to one of deltas, or a
        :class:`~dpcheck.audits.claim.Claim`; ``delta`` is then where ``epsilon_lower`` is stated
    trials : runs on each dataset, at least 100
    confidence : of the bound, one-sided
    seeded : False for a mechanism whose randomness is its own, such as a library's secure generator. The audit
        cannot be repeated then, and its level rests on runs that are independent of each other, so that ``jobs``
        must be 1: a process may inherit the state of a generator, and a thread share it
    jobs : processes, or threads where ``vectorized``; the result is the same for any number
    progress : called with (runs done, runs at most) over both datasets

    Infinite outputs and NaN are values like any other. Words, dates and whole numbers of 2^53 and more are not: code
    words and dates as numbers, and give a large number as its high and low part. Raises
    :class:`~dpcheck.errors.InputError` for wrong arguments and for a mechanism that raises, returns no numbers, changes
    shape or, unless ``seeded`` is False, has other randomness or remembers what it drew.
    """
    jobs = 1 if jobs is None else jobs
    require_runs(mechanism, seed, seeded, jobs)
    require_delta(delta)
    require(claim is None or epsilon is None, "epsilon", "be left out where a claim is given", epsilon)
    claimed = Claim.point(1.0 if epsilon is None else epsilon, delta) if claim is None else Claim.read(claim)
    require_count(trials, "trials", least=LEAST_TRIALS)
    require_confidence(confidence)

    plan = Plan.of(trials, confidence, _CHUNK_VECTORIZED if vectorized else _CHUNK)
    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    width = runner.probe(seeded=seeded)
    with Pool(runner, jobs) as pool:
        looks, used = _run(pool, plan, width, claimed, delta, progress)
    best = _deciding(looks)
    broken = [look for look in looks if look.breaks]
    if broken:
        verdict = "violated"
    elif not _could_fail(plan, claimed):
        verdict = "inconclusive"
    else:
        verdict = "consistent"
    return PrivacyAudit(
        verdict, best.epsilon_lower, used, (broken[0] if broken else best).event, claimed.words,
        claimed.epsilon_at(delta), float(delta), float(confidence), int(seed) if seeded else None, __version__,
        looks, _in_family(claimed, looks, delta),
    )  # fmt: skip


def _run(
    pool: Pool,
    plan: Plan,
    width: int,
    claim: Claim,
    delta: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[Look, ...], int]:
    """The looks until one breaks the claim, and the runs used on each dataset."""
    earlier: tuple[list[Floats], list[Floats]] = ([], [])
    looks: list[Look] = []
    epsilon = claim.epsilon_at(delta)
    done, total = 0, 2 * sum(plan.blocks)
    room = max(50, min(_KEPT_RUNS, _KEPT // width))
    for block, size in enumerate(plan.blocks):
        counts: list[Hits] = []
        if block:
            a, b = (np.concatenate(kept)[:room] for kept in earlier)
            with np.errstate(over="ignore", invalid="ignore"):  # what enormous numbers overflow is not chosen
                tests = choose(a, b, size, claim, epsilon=epsilon, delta=delta, alpha=plan.levels[block - 1])
            counts = [Hits(test, (a, b)) for test in tests]
        for chunk, outputs in pool.map(plan.chunks(block)):
            require(
                outputs.shape[1] == width,
                "mechanism",
                "return outputs of one shape (padded with nan)",
                f"{width} and {outputs.shape[1]} numbers",
            )
            for hits in counts:
                hits.add(chunk.side, outputs)
            if block < len(plan.levels) and sum(map(len, earlier[chunk.side])) < room:
                earlier[chunk.side].append(outputs)
            done += chunk.size
            if progress is not None:
                progress(done, total)
        looks += [_look(hits, block, size, len(a)) for hits in counts]
        if any(look.breaks for look in looks):
            break
    return tuple(looks), done // 2


def _look(hits: Hits, number: int, trials: int, learned_from: int) -> Look:
    test, event, bars = hits.test, hits.event(trials), (hits.edges, *hits.bars)
    return Look(number, test.kind, event, learned_from, test.alpha, test.epsilon, test.delta, bars)


def _deciding(looks: Sequence[Look]) -> Look:
    """The look with the largest limit at this delta; of equal ones the last, which had most runs."""
    found = sorted((look for look in reversed(looks) if look.kind != "curve"), key=lambda look: -look.at_most)
    best = found[0]
    for look in found[1:]:
        if look.at_most > best.epsilon_lower < look.epsilon_lower:
            best = look
    return best


def _could_fail(plan: Plan, claim: Claim) -> bool:
    """Whether outputs that never overlap would have broken the claim."""
    epsilon, delta = claim.at(0)
    return any(
        binomial.epsilon_lower(size, 0, size, delta=delta, alpha=alpha) > epsilon
        for size, alpha in zip(plan.blocks[1:], plan.levels, strict=True)
    )


def _in_family(claim: Claim, looks: Sequence[Look], delta: float) -> float | None:
    """Epsilon of the claimed events at the least factor on their noise that the last look at the curve rejects."""
    if not claim.events:
        return None
    from dpcheck.accounting import certify, privacy_curve

    look = next(look for look in reversed(looks) if look.kind == "curve")
    counts = look.event.hits, look.event.other_hits, look.event.trials
    factor = least_rejected(
        *counts, lambda z: privacy_curve(scaled(claim.events, z)), epsilon=look.claimed, guess=1.0, alpha=look.alpha
    )
    return certify(scaled(claim.events, factor), delta).epsilon if math.isfinite(factor) else 0.0
