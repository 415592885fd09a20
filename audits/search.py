"""A membership audit of the worst pair among many: a search by halving, then an audit on fresh runs.

Null hypothesis: the mechanism keeps its claim on every pair. The search runs all pairs a little, keeps the half whose
outputs promise most, runs those more, and so on. :func:`~dpcheck.audits.membership.audit_privacy` audits the winner on
runs that the search has not seen. The result is therefore valid whatever the search did, and "violated" is wrong with
probability at most ``1 - confidence``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.arguments import checked
from dpcheck.audits.claim import stated_claim
from dpcheck.audits.limits import rejects
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.named_part import named_part
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.output_sets import choose
from dpcheck.audits.running import KeptRuns, Runner
from dpcheck.audits.running.datasets import equal_datasets
from dpcheck.audits.shrinking import smaller
from dpcheck.errors import InputError, raised, require, require_confidence, require_seed, require_work
from dpcheck.shown import Shown

if TYPE_CHECKING:
    from dpcheck.running.executor import Executor

# Keeps the random streams of the search apart from those of the audit.
_STREAM = 1 << 20
# The fewest and the most runs of a pair on each dataset in one round.
_LEAST = 60
_LARGEST = 20_000


# The runs, and the error probability, that pairs of each kind get where there are several kinds.
_SHARES = {"inside": 0.8, "beyond": 0.15, "not finite": 0.05}
_APART = "not finite"  # the kind that no verdict counts
# The first look is for searches whose pairs get so many times as many runs; at this level it leaves no doubt.
_LOOK, _PLAIN = 4, 1e-6
# The fewest pairs of a kind that are searched, and the fewest runs of an audit, where there are enough for all.
_PAIRS, _FEWEST = 4, 300
# The share of the error probability that is kept for a smaller pair; its search: steps, seconds, runs, and the levels
# at which a step shows, or might show, a violation.
_SHRUNK, _STEPS, _SECONDS, _RUNS, _SURE, _DOUBT = 0.1, 100, 10.0, 20_000, 1e-4, 0.4


@dataclass(frozen=True, eq=False)
class NeighbourAudit(Shown):
    """The pair of neighbours that promised most, and its audit.

    Attributes
    ----------
    pair : Pair
        The pair that was audited; of several kinds the one that decides the verdict.
    audit : PrivacyAudit
        Its audit, on runs that the search has not seen.
    pairs : int
        How many pairs were searched, of this kind.
    searched : int
        Runs of the search on either dataset.
    others : tuple of NeighbourAudit
        The pairs of the other kinds (:func:`~dpcheck.audits.neighbours.around`) that promised most.
    failing : tuple of str
        Pairs that were left out, since the mechanism fails on them, with the error.
    smaller : NeighbourAudit or None
        A smaller pair that shows the violation too, with an audit of its own.
    hint : str
        Which part of the mechanism the leak is at, where a few recorded runs on this pair tell.
    """

    pair: Pair
    audit: PrivacyAudit
    pairs: int
    searched: int
    others: tuple[NeighbourAudit, ...] = ()
    failing: tuple[str, ...] = ()
    smaller: NeighbourAudit | None = None
    hint: str = ""

    @property
    def verdict(self) -> str:
        """The audit's verdict, which is about this pair; other pairs may be worse."""
        return self.audit.verdict

    @property
    def epsilon_lower(self) -> float:
        """The audit's lower confidence bound on epsilon (natural log)."""
        return self.audit.epsilon_lower

    def _sentence(self) -> str:
        audit, pair, outside = str(self.audit), self.pair, "outside the range of the data"
        if pair.outside and self.verdict == "violated":
            audit = audit.replace("violated: ", f"violated {outside}: ", 1)
        lines = [audit, f"pair: {pair.words}, of {self.pairs} searched"]
        lines += [f"{outside}: {pair.outside}"] if pair.outside else []
        for other in self.others:
            where = {"inside": "within the range of the data", "beyond": outside}.get(
                other.pair.kind, "apart from the verdict, as the data hold nothing of the kind"
            )
            lines.append(
                f"{where}: {other.verdict}, epsilon >= {other.epsilon_lower:.4f} on the pair: {other.pair.words}, "
                f"of {other.pairs} searched"
            )
        if self.smaller is not None:
            lines.append(f"a smaller pair, audited anew: {self.smaller.pair.words}; {self.smaller.audit.witness}")
        lines += [f"hint: {self.hint}"] if self.hint else []
        if self.failing:
            lines.append(f"left out: {len(self.failing)} pairs on which the mechanism fails, as {self.failing[0]}")
        return "\n".join(lines)

    def _facts(self) -> dict[str, Any]:
        return {"runs of the search": self.searched + sum(other.searched for other in self.others)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the datasets, ready for JSON."""
        found = {"pair": self.pair.words, "pairs": self.pairs, "searched": self.searched, "audit": self.audit.to_dict()}
        if self.pair.kind:
            found |= {"kind": self.pair.kind, "outside": self.pair.outside, "failing": list(self.failing)}
            found["others"] = [other.to_dict() for other in self.others]
            found["smaller"] = None if self.smaller is None else self.smaller.to_dict()
        return found | ({"hint": self.hint} if self.hint else {})


@checked
def audit_neighbours(
    mechanism: Callable[..., Any], pairs: Iterable[Pair | tuple[Any, Any]], *, epsilon: float | None = None,
    delta: float | None = None, claim: Any = None, trials: int = 100_000, confidence: float = 0.95, seed: int = 0,
    seeded: bool = True, jobs: int | None = None, vectorized: bool = False,
    progress: Callable[[int, int], None] | None = None, search: int | None = None, shrink: bool = False,
    kept: Callable[[Any, Any], KeptRuns] | None = None, executor: Executor | None = None,
) -> NeighbourAudit:  # fmt: skip
    """Test whether a mechanism is (epsilon, delta)-private on the pair, of many neighbours, that promises most.

    The search runs every pair a little, keeps the half whose outputs differ most, runs those more, and so on. The last
    pair is audited by :func:`dpcheck.audit_privacy` on runs that the search has not seen, so that a mechanism that
    keeps its claim on every pair is called violated with probability at most ``1 - confidence``.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> any output``, or with ``vectorized`` ``(dataset, rng, size) -> array`` of shape (size,)
        or (size, ...); as in :func:`dpcheck.audit_privacy`.
    pairs : iterable of Pair or of (data, neighbour)
        Pairs of neighbouring datasets, such as those of :mod:`dpcheck.audits.neighbours`; at least one.
    epsilon : float, optional
        Claimed epsilon >= 0 (natural log); either it or ``claim`` is given.
    delta : float, optional
        Claimed delta in [0, 1), 0 where it is left out; with ``claim``, the delta at which ``epsilon_lower`` is stated,
        1e-5 where it is left out.
    claim : PrivacyClaim, event, sequence of events or callable, optional
        A claim of more than one point in place of ``epsilon``, as in :func:`dpcheck.audit_privacy`.
    trials : int
        Runs of the audit on each dataset, at least 100. The search spends as many over all pairs, or a little more
        where they are many.
    confidence : float
        One-sided confidence of ``epsilon_lower``, in (0.5, 1).
    seed : int
        Seed of all randomness, >= 0.
    seeded : bool
        False for a mechanism with randomness of its own; ``jobs`` must then be 1.
    jobs : int, optional
        Processes, or threads where ``vectorized``, of the audit; 1 by default. The result does not depend on it.
    vectorized : bool
        Whether one call of the mechanism returns ``size`` outputs.
    progress : callable, optional
        Called as ``progress(runs done, runs at most)``, first by the search and then by the audit.
    search : int, optional
        Runs of the search on each dataset in place of ``trials``; where they are few, only the first pairs around a
        data set are searched.
    shrink : bool
        Whether a pair around a data set that shows a violation is made smaller: fewer records, simpler values. A tenth
        of the error probability is kept for the audit of the smaller pair. Which pair that is may hang on the
        machine, as it is sought for 10 seconds at most; the verdict does not.
    kept : callable, optional
        Returns, for the two datasets of a pair that is audited, what ``runs`` is in :func:`dpcheck.audit_privacy`.
    executor : Executor, optional
        Who runs the audit in place of ``jobs``, as in :func:`dpcheck.audit_privacy`.

    Returns
    -------
    NeighbourAudit
        The pair that promised most, and its audit.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a mechanism that fails on a pair, which the message names.

    References
    ----------
    Z. Ding, Y. Wang, G. Wang, D. Zhang, D. Kifer. Detecting violations of differential privacy. CCS 2018.

    Examples
    --------
    >>> import dpcheck
    >>> from dpcheck.audits.neighbours import replaced
    >>> def noisy_maximum(data, rng):
    ...     return max(data) + rng.laplace(scale=1.0)
    >>> audit = dpcheck.audit_neighbours(noisy_maximum, replaced([0, 0, 1], [0, 3]), epsilon=1.0, trials=2_000)
    >>> audit.verdict, audit.pairs
    ('violated', 4)
    """
    claimed, delta = stated_claim(epsilon, delta, claim)
    require_confidence(confidence)
    require_work(trials, "trials", least=100)
    require_seed(seed)
    if search is not None:
        require_work(search, "search", least=0)
    known = []
    for k, pair in enumerate(pairs):
        good = isinstance(pair, Pair) or (isinstance(pair, Sequence) and len(pair) == 2)
        require(good, "pairs", "be Pairs or (data, neighbour)", f"{type(pair).__name__} as pair {k}")
        known.append(pair if isinstance(pair, Pair) else Pair(*pair, f"pair {k}"))
    known = [pair for pair in known if not equal_datasets(pair.data, pair.neighbour)]  # equal ones show nothing
    require(len(known) > 0, "pairs", "hold at least one pair of neighbours that differ", "none")
    kinds = [kind for kind in _SHARES if any((pair.kind or "inside") == kind for pair in known)]
    alpha, budget = (1 - confidence) * (1 - _SHRUNK if shrink else 1), trials if search is None else search
    found, failing = dict[str, NeighbourAudit](), list[str]()

    def audited(pair: Pair, most: int, level: float, seed: int, **how: Any) -> PrivacyAudit:
        return audit_privacy(
            mechanism, pair.data, pair.neighbour, epsilon=epsilon, delta=delta, claim=claim, trials=most,
            confidence=1 - level, seed=seed, seeded=seeded, vectorized=vectorized, **how,
        )  # fmt: skip

    def promise(pair: Pair, key: tuple[int, int], size: int, runs: int, level: float) -> tuple[bool, float]:
        """Return what an audit of ``runs`` promises by ``size`` runs on each dataset, on streams of ``key``.

        The first is whether these few runs alone would leave no doubt, were the set not chosen by them.
        """
        runner = Runner(mechanism, (pair.data, pair.neighbour), vectorized, seed)
        try:
            streams = [np.random.SeedSequence(seed, spawn_key=(_STREAM, *key, side)) for side in (0, 1)]
            a, b = runner.pair(streams, size)
        except InputError as error:
            raise InputError(f"{error} ({pair.words})") from error
        layout = None if runner.encoder is None else runner.encoder.layout
        for dataset, rows in ((pair.data, a), (pair.neighbour, b)):
            # A record that was made up, and is refused whenever it comes, may be none that can occur.
            if layout is not None and pair.kind not in ("", "inside") and layout.raised(rows) == len(rows):
                try:
                    refusal = type(mechanism(dataset, np.random.default_rng(0))).__name__
                except Exception as error:
                    refusal = raised(error)
                raise InputError(f"mechanism refuses it: {refusal} ({pair.words})")
        stated, codes = claimed.epsilon_at(delta), 0 if layout is None else layout.codes
        best = choose(a, b, runs, claimed, epsilon=stated, delta=delta, alpha=level, codes=codes)[0]
        x, y = (int(best.event.contains(rows).sum()) for rows in (a, b))
        x, y = (x, y) if best.event.favours == "data" else (y, x)
        plain = rejects(x, y, size, best.epsilon, delta=best.delta, alpha=_PLAIN)
        return plain, best.promise

    def worst(pairs: list[Pair], budget: int, runs: int, level: float) -> NeighbourAudit | None:
        """Search ``pairs`` by about ``budget`` runs on each dataset, and audit the one that promises most."""
        rounds = math.ceil(math.log2(len(pairs)))
        left, searched = list(range(len(pairs))), 0
        # A first look at all, on streams of its own, ends the search where a leak is plain.
        first = rounds if budget // (max(rounds, 1) * len(left)) > _LOOK * _LEAST else -1
        for number in [first] * (first > 0) + [*range(rounds)]:
            size = _LEAST if number == first else min(_LARGEST, max(_LEAST, budget // (rounds * len(left))))
            promises = {}
            for k in left:
                try:
                    promises[k] = promise(pairs[k], (number, k), size, runs, level)
                except InputError as error:
                    if not pairs[k].kind:
                        raise
                    failing.append(str(error))
                searched += size
                if progress is not None:
                    progress(searched, searched + runs)
            if not promises:
                return None
            best = sorted(promises, key=lambda k: -promises[k][1])
            plain = [k for k in best if promises[k][0]]
            if number == first:
                left = plain[:1] or sorted(best)
                if plain:
                    break
            else:
                left = best[: (len(left) + 1) // 2]
        pair = pairs[left[0]]
        runs_of = None if kept is None else kept(pair.data, pair.neighbour)
        try:
            audit = audited(pair, runs, level, seed, jobs=jobs, progress=progress, runs=runs_of, executor=executor)
        except InputError as error:
            if not pair.kind:
                raise
            failing.append(f"{error} ({pair.words})")
            if pair.kind == "inside":
                raise InputError(failing[-1]) from error
            return None
        return NeighbourAudit(pair, audit, len(pairs), searched)

    try:
        for kind in kinds:
            share = _SHARES[kind] / sum(_SHARES[kind] for kind in kinds)
            pairs_of = [pair for pair in known if (pair.kind or "inside") == kind]
            if search is not None and pairs_of[0].kind:
                pairs_of = pairs_of[: max(_PAIRS, round(share * budget) // (2 * _LEAST))]
            runs = max(100, min(_FEWEST, trials // 5), round(share * trials))
            result = worst(pairs_of, round(share * budget), runs, share * alpha)
            if result is not None:
                found[kind] = result
                if result.verdict == "violated":
                    break
    except KeyboardInterrupt as error:
        so_far = "; ".join(f"{result.verdict} on the pair {result.pair.words}" for result in found.values())
        raise (KeyboardInterrupt(f"so far {so_far}") if so_far else error) from None
    counted = [result for kind, result in found.items() if kind != _APART or kinds == [_APART]]
    if not counted:
        raise InputError(failing[0])
    deciding = next((result for result in counted if result.verdict == "violated"), counted[0])
    others = tuple(result for result in found.values() if result is not deciding)
    hint = named_part(deciding.audit, mechanism, deciding.pair.data, deciding.pair.neighbour, vectorized=vectorized)
    deciding = replace(deciding, others=others, failing=tuple(failing), hint=hint)
    if not (shrink and deciding.verdict == "violated" and deciding.pair.kind):
        return deciding
    size, until = min(max(2 * deciding.audit.trials, 200), 4_000), time.monotonic() + _SECONDS
    steps = iter(range(1, min(_STEPS, _RUNS // size)))
    halfway = (deciding.audit.epsilon + deciding.epsilon_lower) / 2 if math.isfinite(deciding.audit.epsilon) else 0.0

    def shows(pair: Pair, doubt: bool = False) -> bool:
        step = None if time.monotonic() > until else next(steps, None)
        if step is None:
            return doubt
        try:
            audit = audited(pair, size, _DOUBT if doubt else _SURE, seed + step)
        except InputError:
            return doubt
        hits, other_hits, _ = audit.event.counts
        return audit.verdict == "violated" and (doubt or math.log(hits / (other_hits + 1)) > halfway)

    try:
        pair = smaller(deciding.pair, shows)
        if pair is not deciding.pair:
            audit = audited(pair, max(1_000, 2 * size), (1 - confidence) * _SHRUNK, seed + _STEPS)
            if audit.verdict == "violated":
                return replace(deciding, smaller=NeighbourAudit(pair, audit, 1, 0))
    except KeyboardInterrupt:
        pass  # the verdict stands without it
    return deciding
