"""A membership audit of the worst pair among many: a search by halving, then an audit on fresh runs.

Null hypothesis: the mechanism keeps its claim on every pair. The search runs all pairs a little, keeps the half whose
outputs promise most, runs those more, and so on. :func:`~dpcheck.audits.membership.audit_privacy` audits the winner on
runs that the search has not seen. The result is therefore valid whatever the search did, and "violated" is wrong with
probability at most ``1 - confidence``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.audits.claim import PrivacyClaim
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.output_sets import choose
from dpcheck.audits.running import Runner
from dpcheck.audits.running.datasets import equal_datasets
from dpcheck.errors import InputError, require, require_confidence, require_count, require_seed
from dpcheck.shown import Shown

# Keeps the random streams of the search apart from those of the audit.
_STREAM = 1 << 20
# The fewest and the most runs of a pair on each dataset in one round.
_LEAST = 60
_LARGEST = 20_000


@dataclass(frozen=True, eq=False)
class NeighbourAudit(Shown):
    """The pair of neighbours that promised most, and its audit.

    Attributes
    ----------
    pair : Pair
        The pair that was audited.
    audit : PrivacyAudit
        Its audit, on runs that the search has not seen.
    pairs : int
        How many pairs were searched.
    searched : int
        Runs of the search on either dataset.
    """

    pair: Pair
    audit: PrivacyAudit
    pairs: int
    searched: int

    @property
    def verdict(self) -> str:
        """The audit's verdict, which is about this pair; other pairs may be worse."""
        return self.audit.verdict

    @property
    def epsilon_lower(self) -> float:
        """The audit's lower confidence bound on epsilon (natural log)."""
        return self.audit.epsilon_lower

    def _sentence(self) -> str:
        return f"{self.audit}\npair: {self.pair.words}, of {self.pairs} searched"

    def _facts(self) -> dict[str, Any]:
        return {"runs of the search": self.searched}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the datasets, ready for JSON."""
        return {"pair": self.pair.words, "pairs": self.pairs, "searched": self.searched, "audit": self.audit.to_dict()}


def audit_neighbours(
    mechanism: Callable[..., Any], pairs: Iterable[Pair | tuple[Any, Any]], *, epsilon: float | None = None,
    delta: float | None = None, claim: Any = None, trials: int = 100_000, confidence: float = 0.95, seed: int = 0,
    seeded: bool = True, jobs: int | None = None, vectorized: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> NeighbourAudit:  # fmt: skip
    """Test whether a mechanism is (epsilon, delta)-private on the pair, of many neighbours, that promises most.

    The search runs every pair a little, keeps the half whose outputs differ most, runs those more, and so on. The last
    pair is audited by :func:`dpcheck.audit_privacy` on runs that the search has not seen, so that a mechanism that
    keeps its claim on every pair is called violated with probability at most ``1 - confidence``.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> number or array``, or with ``vectorized`` ``(dataset, rng, size) -> array`` of shape (size,)
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
    claimed, delta = PrivacyClaim.stated(epsilon, delta, claim)
    require_confidence(confidence)
    require_count(trials, "trials", least=100)
    require_seed(seed)
    known = []
    for k, pair in enumerate(pairs):
        good = isinstance(pair, Pair) or (isinstance(pair, Sequence) and len(pair) == 2)
        require(good, "pairs", "be Pairs or (data, neighbour)", f"{type(pair).__name__} as pair {k}")
        known.append(pair if isinstance(pair, Pair) else Pair(*pair, f"pair {k}"))
    known = [pair for pair in known if not equal_datasets(pair.data, pair.neighbour)]  # equal ones show nothing
    require(len(known) > 0, "pairs", "hold at least one pair of neighbours that differ", "none")

    def promise(pair: Pair, key: tuple[int, int], size: int) -> float:
        """Return what the audit of a pair promises to show, by ``size`` runs on each dataset, on streams of ``key``."""
        runner = Runner(mechanism, (pair.data, pair.neighbour), vectorized, seed)
        try:
            streams = [np.random.SeedSequence(seed, spawn_key=(_STREAM, *key, side)) for side in (0, 1)]
            a, b = runner.pair(streams, size)
        except InputError as error:
            raise InputError(f"{error} ({pair.words})") from error
        stated = claimed.epsilon_at(delta)
        alpha, codes = 1 - confidence, 0 if runner.encoder is None else runner.encoder.layout.codes
        return choose(a, b, trials, claimed, epsilon=stated, delta=delta, alpha=alpha, codes=codes)[0].promise

    rounds = math.ceil(math.log2(len(known)))
    left, searched = list(range(len(known))), 0
    for number in range(rounds):
        size = min(_LARGEST, max(_LEAST, trials // (rounds * len(left))))
        promises = {}
        for k in left:
            promises[k] = promise(known[k], (number, k), size)
            searched += size
            if progress is not None:
                progress(searched, searched + trials)
        left = sorted(left, key=lambda k: -promises[k])[: (len(left) + 1) // 2]
    pair = known[left[0]]
    audit = audit_privacy(
        mechanism, pair.data, pair.neighbour, epsilon=epsilon, delta=delta, claim=claim, trials=trials,
        confidence=confidence, seed=seed, seeded=seeded, jobs=jobs, vectorized=vectorized, progress=progress,
    )  # fmt: skip
    return NeighbourAudit(pair, audit, len(known), searched)
