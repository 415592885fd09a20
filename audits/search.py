"""Membership audit of the worst pair among many: a search by halving, then an audit on fresh runs.

Null hypothesis: the mechanism keeps its claim on every pair. The search runs all pairs a little, keeps
the half whose outputs promise most, runs those more, and so on; the winner is audited by
:func:`~dpcheck.audits.membership.audit_privacy` on runs that the search has not seen, so whatever the
search did is paid for, and "violated" is wrong with probability at most ``1 - confidence``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.audits.claim import Claim
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.neighbours import Pair
from dpcheck.audits.outputs import RunError
from dpcheck.audits.runs import Runner
from dpcheck.audits.witness import choose
from dpcheck.errors import InputError, require, require_confidence, require_count, require_delta

# Marks the random streams of the search apart from those of the audit.
_STREAM = 1 << 20
# Runs of a pair on either dataset in one round, at least.
_LEAST = 60
_LARGEST = 20_000


@dataclass(frozen=True, eq=False)
class NeighbourAudit:
    """The pair that promised most, and its audit; ``searched`` : runs on either dataset before it."""

    pair: Pair
    audit: PrivacyAudit
    pairs: int
    searched: int

    @property
    def verdict(self) -> str:
        """Of the audit, which is about this pair: other pairs may be worse."""
        return self.audit.verdict

    @property
    def epsilon_lower(self) -> float:
        """Of the audit."""
        return self.audit.epsilon_lower

    def to_dict(self) -> dict[str, Any]:
        """All but the datasets, ready for JSON."""
        return {"pair": self.pair.words, "pairs": self.pairs, "searched": self.searched, "audit": self.audit.to_dict()}


def audit_neighbours(
    mechanism: Callable[..., Any], pairs: Iterable[Pair | tuple[Any, Any]], *, epsilon: float | None = None,
    delta: float = 1e-5, claim: Any = None, trials: int = 100_000, confidence: float = 0.95, seed: int = 0,
    seeded: bool = True, jobs: int | None = None, vectorized: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> NeighbourAudit:  # fmt: skip
    """Test the claim on the pair of neighbours, of those given, that shows most.

    pairs : (data, neighbour) each, for instance from :mod:`dpcheck.audits.neighbours`
    trials : runs of the audit on each dataset; the search spends as many, over all pairs, or a little more
        where they are many

    All else as in :func:`~dpcheck.audits.membership.audit_privacy`.
    """
    require_delta(delta)
    require_confidence(confidence)
    require_count(trials, "trials", least=100)
    require_count(seed, "seed", least=0)
    claimed = Claim.point(1.0 if epsilon is None else epsilon, delta) if claim is None else Claim.read(claim)
    found = [pair if isinstance(pair, Pair) else Pair(*pair, f"pair {k}") for k, pair in enumerate(pairs)]
    require(len(found) > 0, "pairs", "hold at least one pair of neighbours", "none")

    rounds = math.ceil(math.log2(len(found)))
    left, searched = list(range(len(found))), 0
    for number in range(rounds):
        size = min(_LARGEST, max(_LEAST, trials // (rounds * len(left))))
        promises = {}
        for k in left:
            promises[k] = _promise(
                mechanism, found[k], k, number, size, vectorized, seed, claimed, delta, trials, confidence
            )
            searched += size
            if progress is not None:
                progress(searched, searched + trials)
        left = sorted(left, key=lambda k: -promises[k])[: (len(left) + 1) // 2]
    pair = found[left[0]]
    audit = audit_privacy(
        mechanism, pair.data, pair.neighbour, epsilon=epsilon, delta=delta, claim=claim, trials=trials,
        confidence=confidence, seed=seed, seeded=seeded, jobs=jobs, vectorized=vectorized, progress=progress,
    )  # fmt: skip
    return NeighbourAudit(pair, audit, len(found), searched)


def _promise(
    mechanism: Callable[..., Any], pair: Pair, k: int, number: int, size: int, vectorized: bool, seed: int,
    claim: Claim, delta: float, trials: int, confidence: float,
) -> float:  # fmt: skip
    """What an audit of this pair promises to show, from ``size`` runs on each dataset."""
    runner = Runner(mechanism, (pair.data, pair.neighbour), vectorized, seed)
    try:
        outputs, done = [], [0, 0]
        for side, dataset in enumerate((pair.data, pair.neighbour)):
            try:
                outputs.append(runner.outputs(dataset, _stream(seed, number, k, side), size))
            except RunError as error:
                done[side] = error.ran
                raise error.on([side], done) from error
            done[side] = size
        a, b = outputs
        require(
            a.shape == b.shape,
            "mechanism",
            "return outputs of one shape (padded with nan)",
            f"{a.shape[1]} and {b.shape[1]} numbers",
        )
    except InputError as error:
        raise InputError(f"{error} ({pair.words})") from error
    tests = choose(a, b, trials, claim, epsilon=claim.epsilon_at(delta), delta=delta, alpha=1 - confidence)
    return tests[0].promise


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM, *key)))
