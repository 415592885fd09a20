"""Membership audit: an empirical lower bound on epsilon, valid for any mechanism.

Let P and Q be the laws of the outputs on the two datasets. Null hypothesis: ``P(E) <= e^epsilon Q(E) + delta`` for
every output set E, in both directions, and at every point (epsilon, delta) of the claim (:mod:`.claim`). Output sets
are chosen on earlier runs and tested on fresh ones (:mod:`.output_sets`), each by one exact test
(:mod:`.limits.binomial`). This accounts for all choices: score, direction, threshold, point, and when to stop. A
mechanism that keeps its claim is called violated with probability at most ``1 - confidence``.

The first block of runs is only learned from. Look k tests an output set, chosen from all earlier blocks, on its own
fresh block at level alpha_k. The alpha_k add up to ``1 - confidence``. Each look is valid by itself, so by the union
bound the largest of their limits is valid too. The last look gets most runs and most of the level; the early ones end
the audit soon when a mechanism is far off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import __version__
from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.limits.binomial import epsilon_lower, least_rejected
from dpcheck.audits.output_sets import HitCounts, choose
from dpcheck.audits.privacy_audit import Look as Look
from dpcheck.audits.privacy_audit import PrivacyAudit as PrivacyAudit
from dpcheck.audits.running.runs import Chunk, KeptRuns, Pool, Runner, require_runs
from dpcheck.errors import require, require_confidence, require_count

if TYPE_CHECKING:
    from dpcheck.audits.running.isolated import Limits
    from dpcheck.running.executor import Executor

Floats = NDArray[np.float64]

# (least trials, shares of the blocks, shares of the level)
_PLANS = (
    (5_000, (0.01, 0.03, 0.09, 0.87), (0.03, 0.05, 0.92)),
    (1_000, (0.04, 0.10, 0.86), (0.06, 0.94)),
    (0, (0.15, 0.85), (1.0,)),
)
_LEAST_TRIALS = 100
_CHUNK = 1_000
_CHUNK_VECTORIZED = 10_000
# The most runs and numbers of each dataset that are kept to choose sets: more would fill memory and choose no better.
_KEPT_RUNS = 400_000
_KEPT = 20_000_000


def audit_privacy(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    claim: Any = None,
    trials: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    seeded: bool = True,
    jobs: int | None = None,
    vectorized: bool = False,
    progress: Callable[[int, int], None] | None = None,
    runs: KeptRuns | None = None,
    isolate: Limits | None = None,
    executor: Executor | None = None,
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
        Claimed epsilon >= 0 (natural log); either it or ``claim`` is given.
    delta : float, optional
        Claimed delta in [0, 1), 0 where it is left out; with ``claim``, the delta at which ``epsilon_lower`` is stated,
        1e-5 where it is left out.
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
    runs : dict or KeptRuns, optional
        Receives the outputs of all runs by chunk. If another audit of the same mechanism, datasets, trials and seed is
        given this dictionary, it tests its claim on the same runs and repeats none of them.
    isolate : Limits, optional
        Run the mechanism in a process of its own, within these limits (:class:`~.running.isolated.Limits`); ``jobs``
        must then be 1. What it prints is dropped. One that hangs, starts processes or takes too much memory is
        stopped, and the error says so.
    executor : Executor, optional
        Who runs the chunks in place of ``jobs``, such as a cluster (:func:`dpcheck.running.process_pool.executor`). The
        result does not depend on it.

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
    >>> dpcheck.audit_privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.5, trials=2_000).verdict
    'consistent'
    >>> audit = dpcheck.audit_privacy(noisy_sum, [0, 1, 1], [0, 1, 0], epsilon=0.1, trials=20_000)
    >>> audit.verdict, audit.epsilon_lower > 0.1
    ('violated', True)
    """
    jobs = 1 if jobs is None else jobs
    require_runs(mechanism, data, neighbour, seed, seeded, jobs, isolate, executor)
    require_count(trials, "trials", least=_LEAST_TRIALS)
    require_confidence(confidence)
    claimed, delta = PrivacyClaim.stated(epsilon, delta, claim)

    plan = Plan.of(trials, confidence, _CHUNK_VECTORIZED if vectorized else _CHUNK)
    runner = Runner(mechanism, (data, neighbour), vectorized, seed)
    with Pool(runner, jobs, runs, executor, isolate) as pool:
        looks, used = _run(pool, plan, pool.runner.probe(seeded=seeded), claimed, delta, progress)
    best = _deciding(looks)
    broken = [look for look in looks if look.breaks]
    point, point_delta = claimed.at(0)
    could_fail = (  # whether outputs that never overlap would have broken the claim
        epsilon_lower(size, 0, size, delta=point_delta, alpha=alpha) > point
        for size, alpha in zip(plan.blocks[1:], plan.levels, strict=True)
    )
    verdict = "violated" if broken else "consistent" if any(could_fail) else "inconclusive"
    return PrivacyAudit(
        verdict, best.epsilon_lower, used, (broken[0] if broken else best).event, claimed.words,
        claimed.epsilon_at(delta), float(delta), float(confidence), int(seed) if seeded else None, __version__,
        looks, _in_family(claimed, looks, delta) if claimed.events else None, runner.alike[0],
    )  # fmt: skip


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
        shares, levels = next((b, a) for least, b, a in _PLANS if trials >= least)
        early = [round(trials * share) for share in shares[:-1]]
        return cls((*early, trials - sum(early)), tuple((1 - confidence) * a for a in levels), chunk)

    def chunks(self, block: int) -> Iterator[Chunk]:
        """Yield the chunks of one block, both datasets in turn; a block ends with a shorter chunk."""
        number = sum(-(-size // self.chunk) for size in self.blocks[:block])
        for start in range(0, self.blocks[block], self.chunk):
            for side in (0, 1):
                yield Chunk(side, number + start // self.chunk, min(self.blocks[block] - start, self.chunk))


def _run(
    pool: Pool, plan: Plan, width: int, claim: PrivacyClaim, delta: float, progress: Callable[[int, int], None] | None
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
        if any(look.breaks for look in looks):
            break
    return tuple(looks), done // 2


def _deciding(looks: Sequence[Look]) -> Look:
    """Return the look with the largest limit at this delta; of equal ones the last, which had most runs."""
    steady = [look for look in looks[::-1] if look.kind != "curve"]
    best, *others = sorted(steady, key=attrgetter("at_most"), reverse=True)
    for look in others:
        if look.at_most > best.epsilon_lower < look.epsilon_lower:
            best = look
    return best


def _in_family(claim: PrivacyClaim, looks: Sequence[Look], delta: float) -> float | None:
    """Return epsilon of the claimed events at the least factor on their noise that the last curve look rejects.

    None where that epsilon is an upper bound which no pair of neighbours is known to attain.
    """
    from dpcheck.accounting import certify, privacy_curve
    from dpcheck.events import scaled

    if not certify(claim.events, delta).sharp:
        return None
    look = next(look for look in reversed(looks) if look.kind == "curve")
    counts = look.event.hits, look.event.other_hits, look.event.trials
    factor = least_rejected(
        *counts, lambda z: privacy_curve(scaled(claim.events, z)), epsilon=look.claimed, guess=1.0, alpha=look.alpha
    )
    certified = certify(scaled(claim.events, factor), delta) if math.isfinite(factor) else None
    return 0.0 if certified is None else certified.epsilon if certified.sharp else None
