"""Membership audit: an empirical lower bound on epsilon, valid for any mechanism.

Let P and Q be the laws of the outputs on the two datasets. Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for
every output set E, in both directions, and at every point (epsilon, delta) of the claim (:mod:`.claim`). Output sets
are chosen on earlier runs and tested on fresh ones (:mod:`.running.run_plan`, :mod:`.output_sets.choice`), each by one
exact test (:mod:`.limits.binomial`). This accounts for all choices: score, direction, threshold, point, and when to
stop. A mechanism that keeps its claim is called violated with probability at most ``1 - confidence``.
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
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.limits import binomial
from dpcheck.audits.limits.noise_multiplier import least_rejected
from dpcheck.audits.numbers.number_text import plain
from dpcheck.audits.output_sets.choice import choose
from dpcheck.audits.output_sets.hit_counts import HitCounts
from dpcheck.audits.output_sets.output_set import OutputSet
from dpcheck.audits.running.isolated import Limits, isolated
from dpcheck.audits.running.run_plan import LEAST_TRIALS, SIDES, Chunk, Plan
from dpcheck.audits.running.runs import Pool, Runner, require_runs, require_two
from dpcheck.errors import (
    require,
    require_confidence,
    require_count,
    require_delta,
)
from dpcheck.events import scaled
from dpcheck.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_CHUNK = 1_000
_CHUNK_VECTORIZED = 10_000
# The most runs and numbers of each dataset that are kept to choose sets: more would fill memory and choose no better.
_KEPT_RUNS = 400_000
_KEPT = 20_000_000
_STEEP = 700.0  # an epsilon whose exponential is still a number


@dataclass(frozen=True)
class Look:
    """One output set tested on a fresh block of runs, and the limit it gave.

    Attributes
    ----------
    number : int
        Number of the block; several sets may be tested on one.
    kind : str
        Why the set was chosen, as in :class:`~.output_sets.choice.Choice`.
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
        limit = binomial.epsilon_lower(*self._counts, delta=self.delta, alpha=self.alpha)
        # The limit is found to a thousandth; whether the claim is rejected is known to the last digit.
        return max(limit, math.nextafter(self.claimed, math.inf)) if self.breaks else limit

    @cached_property
    def at_most(self) -> float:
        """More than the limit can be, by its normal approximation; no guarantee rests on it."""
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
class PrivacyAudit(Shown):
    """What an audit of privacy claimed, ran and showed.

    Attributes
    ----------
    verdict : str
        ``"violated"`` if a look's limit exceeds the claim; ``"inconclusive"`` if these trials could not have shown a
        violation even with outputs that never overlap; else ``"consistent"``, which says that no violation was found,
        not that there is none.
    epsilon_lower : float
        One-sided lower confidence bound on epsilon (natural log) at ``delta``, for all looks together.
    trials : int
        Runs used on each dataset; fewer than asked for where a violation was plain early.
    event : OutputSet
        The output set that broke the claim, or else the one behind ``epsilon_lower``.
    claim : str
        The claim in words.
    epsilon, delta : float
        The claim at ``delta``; epsilon is inf where the claim says nothing there.
    confidence : float
        One-sided confidence of ``epsilon_lower``.
    seed : int or None
        Seed of all randomness; None where the mechanism has its own.
    version : str
        Version of dpcheck that made the audit.
    looks : tuple of Look
        Every set that was tested.
    in_family : float or None
        A larger bound on epsilon at ``delta`` where the claim was privacy events. It ASSUMES the claimed mechanism with
        one common factor on its noise, and is the epsilon at the least factor rejected.
    no_difference : bool
        Whether the first runs, from one seed, gave the same outputs on both datasets, as where both clip to one value:
        such a pair shows nothing. Not looked at where the mechanism is isolated or ``seeded`` is False.
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
    no_difference: bool = False

    @property
    def one_sided(self) -> bool:
        """Whether the set was never seen on one dataset: evidence that no finite epsilon will do.

        ``epsilon_lower`` then grows with the logarithm of the trials, and says no more than they can.
        """
        return self.event.other_hits == 0 < self.event.hits

    def _sentence(self) -> str:
        family = self.in_family
        within = "" if family is None else f"; within the claimed family, epsilon >= {family:.4f}"
        alike = "; this pair shows no difference" if self.no_difference else ""
        return (
            f"{self.verdict}: epsilon >= {self.epsilon_lower:.4f} at delta {self.delta:g}, claimed {self.epsilon:g}"
            f"{alike}\nwith confidence {self.confidence:g} from {self.trials} runs a dataset{within}\n"
            f"witness: {self.event}"
        )

    def __str__(self) -> str:
        """The verdict with its bound, what it rests on, and the witness: three lines."""
        return self._sentence()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the plot's bars, ready for JSON."""
        return {
            "verdict": self.verdict,
            "epsilon_lower": self.epsilon_lower,
            "trials": self.trials,
            "event": self.event.to_dict(),
            "one_sided": self.one_sided,
            "claim": self.claim,
            "in_family": self.in_family,
            "no_difference": self.no_difference,
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
        """Return a table with one row for each set tested."""
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
        """Draw the score of the deciding look on both datasets: histogram, tails, the claim's limit, and the set."""
        from dpcheck import style

        look = next(look for look in reversed(self.looks) if look.event == self.event)
        event, (edges, *counts) = look.event, look.bars
        figure = style.figure(style.PAGE, 3.0)
        left, right = figure.subplots(1, 2)
        sign = 1 if event.direction == ">=" else -1
        tails = {}
        looks = (style.MEASURED, "-"), (style.PREDICTED, "--")
        for side, count, (color, line) in zip(SIDES, counts, looks, strict=True):
            left.stairs(count / event.trials, edges * sign, color=color, linestyle=line, label=f"on {side}")
            tails[side] = np.cumsum(count[::-1])[::-1] / event.trials
            right.step(edges[:-1] * sign, tails[side], where="post", color=color, linestyle=line, label=f"on {side}")
        other = tails[next(side for side in SIDES if side != event.favours)]
        limit = np.minimum(np.exp(min(look.claimed, _STEEP)) * other + look.delta, 1.0)
        claim = f"most that the claim allows on {event.favours}"
        right.step(edges[:-1] * sign, limit, where="post", color=style.CLAIMED, label=claim)
        for axes, title in ((left, "share of runs in each bin"), (right, "share in the set")):
            axes.axvline(event.threshold, color=style.FAINT, linestyle=":", label="threshold of the set")
            axes.set(xlabel=event.score.words, title=title)
            style.small(axes)
        right.set_yscale("log")
        right.set_ylim(bottom=0.5 / event.trials)
        figure.legend(
            *right.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=style.TEXT, frameon=False
        )
        figure.suptitle(
            f"{self.verdict}: audited epsilon >= {self.epsilon_lower:.4g}, claimed {self.epsilon:g}"
            f" (delta {self.delta:g}, confidence {self.confidence:g})",
            fontsize=style.TEXT + 1, parse_math=False,
        )  # fmt: skip
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
    runs: dict[Chunk, Floats] | None = None,
    isolate: Limits | None = None,
) -> PrivacyAudit:
    """Test whether a mechanism is (epsilon, delta)-private on one pair of neighbouring datasets.

    Output sets that tell the two datasets apart are chosen on earlier runs and tested on fresh ones. A mechanism that
    keeps its claim is therefore called violated with probability at most ``1 - confidence``.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> number or array``, with all its randomness from ``rng``, a
        :class:`numpy.random.Generator`. With ``vectorized``, ``(dataset, rng, size) -> array`` of shape (size,) or
        (size, ...), ``size`` independent outputs. All outputs have one shape; infinities and NaN are values like any
        other. Words, dates and whole numbers of 2^53 and more are not: return codes for the first two, and a large
        number as its high and low part.
    data, neighbour : object
        Two datasets that differ in one record, in any form that the mechanism takes. Every call gets the same two
        objects; they are never copied or changed.
    epsilon : float, optional
        Claimed epsilon >= 0 (natural log); 1 where neither it nor ``claim`` is given.
    delta : float
        Claimed delta in [0, 1); with ``claim``, the delta at which ``epsilon_lower`` is stated.
    claim : PrivacyClaim, event, sequence of events or callable, optional
        A claim of more than one point in place of ``epsilon``: a :class:`~dpcheck.audits.claim.PrivacyClaim`, events of
        :mod:`dpcheck.events`, or a function from epsilons (m,) to deltas (m,).
    trials : int
        Runs on each dataset, at least 100.
    confidence : float
        One-sided confidence of ``epsilon_lower``, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.
    seeded : bool
        False for a mechanism with randomness of its own, such as a library's secure generator. Such an audit cannot be
        repeated and needs runs that are independent of each other, so that ``jobs`` must be 1: a process may inherit
        the state of a generator, and a thread share it.
    jobs : int, optional
        Processes, or threads where ``vectorized``; 1 by default. The result does not depend on it.
    vectorized : bool
        Whether one call of the mechanism returns ``size`` outputs.
    progress : callable, optional
        Called as ``progress(runs done, runs at most)``, counted over both datasets.
    runs : dict, optional
        Receives the outputs of all runs by chunk. If another audit of the same mechanism, datasets, trials and seed is
        given this dictionary, it tests its claim on the same runs and repeats none of them.
    isolate : Limits, optional
        Run the mechanism in a process of its own, within these limits (:class:`~.running.isolated.Limits`); ``jobs``
        must then be 1. What it prints is dropped. One that hangs, starts processes or takes too much memory is
        stopped, and the error says so.

    Returns
    -------
    PrivacyAudit
        The verdict, the lower bound on epsilon and the output set that shows it.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a mechanism that raises, returns no numbers, changes the shape of
        its output or, unless ``seeded`` is False, has other randomness or remembers what it drew.

    References
    ----------
    C. Dwork, A. Roth. The algorithmic foundations of differential privacy. 2014, Definition 2.4.

    M. Jagielski, J. Ullman, A. Oprea. Auditing differentially private machine learning: how private is private SGD?
    NeurIPS 2020.

    Examples
    --------
    >>> import dpcheck
    >>> def noisy_sum(data, rng):
    ...     return sum(data) + rng.laplace(scale=2.0)
    >>> dpcheck.audit_privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5, delta=0, trials=2_000).verdict
    'consistent'
    >>> audit = dpcheck.audit_privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.1, delta=0, trials=20_000)
    >>> audit.verdict, audit.epsilon_lower > 0.1
    ('violated', True)
    """
    jobs = 1 if jobs is None else jobs
    require_runs(mechanism, seed, seeded, jobs, isolate)
    require_two(data, neighbour)
    require_delta(delta)
    require(claim is None or epsilon is None, "epsilon", "be left out where a claim is given", epsilon)
    claimed = (
        PrivacyClaim.point(1.0 if epsilon is None else epsilon, delta) if claim is None else PrivacyClaim.read(claim)
    )
    require_count(trials, "trials", least=LEAST_TRIALS)
    require_confidence(confidence)

    plan = Plan.of(trials, confidence, _CHUNK_VECTORIZED if vectorized else _CHUNK)
    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    with isolated(runner, isolate) as runs_it:
        width = runs_it.probe(seeded=seeded)
        with Pool(runs_it, jobs, runs) as pool:
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
        looks, _in_family(claimed, looks, delta), runner.alike[0],
    )  # fmt: skip


def _run(
    pool: Pool,
    plan: Plan,
    width: int,
    claim: PrivacyClaim,
    delta: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[Look, ...], int]:
    """Return the looks up to one that breaks the claim, and the runs used on each dataset."""
    earlier: tuple[list[Floats], list[Floats]] = ([], [])
    looks: list[Look] = []
    epsilon = claim.epsilon_at(delta)
    done, total = 0, 2 * sum(plan.blocks)
    room = max(50, min(_KEPT_RUNS, _KEPT // width))
    for block, size in enumerate(plan.blocks):
        counts: list[HitCounts] = []
        if block:
            a, b = (np.concatenate(kept)[:room] for kept in earlier)
            with np.errstate(over="ignore", invalid="ignore"):  # a score that overflows is not chosen
                tests = choose(a, b, size, claim, epsilon=epsilon, delta=delta, alpha=plan.levels[block - 1])
            counts = [HitCounts(test, (a, b)) for test in tests]
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


def _look(hits: HitCounts, number: int, trials: int, learned_from: int) -> Look:
    test, event, bars = hits.test, hits.event(trials), (hits.edges, *hits.bars)
    return Look(number, test.kind, event, learned_from, test.alpha, test.epsilon, test.delta, bars)


def _deciding(looks: Sequence[Look]) -> Look:
    """Return the look with the largest limit at this delta; of equal ones the last, which had most runs."""
    found = sorted((look for look in reversed(looks) if look.kind != "curve"), key=lambda look: -look.at_most)
    best = found[0]
    for look in found[1:]:
        if look.at_most > best.epsilon_lower < look.epsilon_lower:
            best = look
    return best


def _could_fail(plan: Plan, claim: PrivacyClaim) -> bool:
    """Say whether outputs that never overlap would have broken the claim."""
    epsilon, delta = claim.at(0)
    return any(
        binomial.epsilon_lower(size, 0, size, delta=delta, alpha=alpha) > epsilon
        for size, alpha in zip(plan.blocks[1:], plan.levels, strict=True)
    )


def _in_family(claim: PrivacyClaim, looks: Sequence[Look], delta: float) -> float | None:
    """Return epsilon of the claimed events at the least factor on their noise that the last curve look rejects."""
    if not claim.events:
        return None
    from dpcheck.accounting import certify, privacy_curve

    look = next(look for look in reversed(looks) if look.kind == "curve")
    counts = look.event.hits, look.event.other_hits, look.event.trials
    factor = least_rejected(
        *counts, lambda z: privacy_curve(scaled(claim.events, z)), epsilon=look.claimed, guess=1.0, alpha=look.alpha
    )
    return certify(scaled(claim.events, factor), delta).epsilon if math.isfinite(factor) else 0.0
