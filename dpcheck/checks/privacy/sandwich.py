"""The sandwich of an algorithm: audited lower bound <= certified epsilon <= claimed epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.accounting import certify, privacy_curve
from dpcheck.algorithms.problem import Array
from dpcheck.audits.limits.binomial import rejected_multiplier
from dpcheck.audits.membership import PrivacyAudit, audit_privacy
from dpcheck.audits.running.runs import Chunk
from dpcheck.checks.context import Context
from dpcheck.checks.privacy.entry import CONFIDENCE, DELTA, EPSILON, LEARNED, TRIALS, TRIALS_FULL, Entry
from dpcheck.checks.privacy.share import most_telling, share, shares
from dpcheck.events import Event, Repeated, Sampled, scaled
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm

Mechanism = Callable[[Any, np.random.Generator, int], Array]


def sandwiches(context: Context, name: str) -> Iterator[Finding]:
    """Check the sandwich of every variant."""
    for entry in algorithm(name).games():
        yield from sandwich(context, name, entry, TRIALS_FULL if context.full else TRIALS)


def sandwich(context: Context, name: str, entry: Entry, trials: int) -> Iterator[Finding]:
    """Audit the whole noisy transcript, of all iterates and of the output, beside the certificate.

    The transcript is scored by its likelihood ratio, the others by scores learned from earlier runs. Before them:
    how far the canary moves each release, which a broken audit's reason names too.
    """
    game, label = entry.game, f"{name}.{entry.label}"
    certificate = certify(entry.events, delta=entry.delta)
    reached = shares(context, entry)
    yield share(f"{label}.share", entry, reached)
    told = most_telling(reached)
    kept: dict[Chunk, Array] = {}
    audited = audit(
        context, game.scores, (game.data, game.neighbour), trials, crc32(label.encode()), 1, entry=entry, runs=kept
    )  # fmt: skip
    yield finding(
        f"{label}.transcript", f"{entry.words}: whole noisy transcript", audited, certificate.epsilon,
        {
            "certificate": certificate.to_dict(),
            "within the claimed family": family(_side(kept, 0), _side(kept, 1), entry.events, entry.delta),
            "canary": game.roles[0].tolist(), "replaced by": game.roles[1].tolist(),
            "others": game.roles[2].tolist(),
        },
        entry, told,
    )  # fmt: skip
    if audited.verdict == "consistent":
        found = curve(context, name, entry, trials, kept)
        yield replace(found, reason=f"{found.reason}; {told}") if found.verdict == "violated" else found
    if entry.brief:
        return
    for number, (what, words, mechanism) in enumerate(
        (("iterates", "all iterates", game.paths), ("output", "final output only", game.outputs)), 2
    ):
        runs = max(min(trials, LEARNED), trials // 5, entry.least)
        audited = audit(
            context, mechanism, (game.data, game.neighbour), runs, crc32(label.encode()), number, entry=entry
        )  # fmt: skip
        yield finding(
            f"{label}.{what}", f"{entry.words}: {words}", audited, certificate.epsilon,
            {"certificate": certificate.to_dict()}, replace(entry, remark=""), told,
        )  # fmt: skip


def curve(context: Context, name: str, entry: Entry, trials: int, runs: dict[Chunk, Array]) -> Finding:
    """Audit the transcripts against all that is certified, epsilon -> delta: noise may lack and the claim still stand.

    Null hypothesis: the transcripts keep to the whole curve of the declared events.
    """
    game, label = entry.game, f"{name}.{entry.label}"
    audited = audit_privacy(
        game.scores, game.data, game.neighbour, claim=entry.events, delta=entry.delta, trials=trials,
        confidence=CONFIDENCE, seed=context.stream(crc32(label.encode()), 1), jobs=context.jobs, vectorized=True,
        runs=runs, executor=context.executor,
    )  # fmt: skip
    return Finding(
        f"{label}.curve", "noise", f"{name}, {entry.words}: transcripts against the whole certified curve",
        audited.verdict, str(audited.event), evidence={"audit": audited.to_dict()},
    )  # fmt: skip


def audit(
    context: Context, mechanism: Mechanism, datasets: tuple[Any, Any], trials: int, *key: int,
    entry: Entry | None = None, runs: dict[Chunk, Array] | None = None,
) -> PrivacyAudit:  # fmt: skip
    """Audit what the entry promises, or (EPSILON, DELTA), on the stream numbered ``key``."""
    epsilon, delta = (EPSILON, DELTA) if entry is None else (entry.epsilon, entry.delta)
    return audit_privacy(
        mechanism, *datasets, epsilon=epsilon, delta=delta, trials=trials, confidence=CONFIDENCE,
        seed=context.stream(*key), jobs=context.jobs, vectorized=True, progress=context.progress, runs=runs,
        executor=context.executor,
    )  # fmt: skip


def family(scores: Array, neighbour_scores: Array, events: tuple[Event, ...], delta: float) -> dict[str, Any]:
    """Return epsilon of the least common factor on the noise that the audit's own runs reject (family assumed)."""
    law = tuple(law_of(event) for event in events)
    bound = rejected_multiplier(scores, neighbour_scores, lambda factor: privacy_curve(scaled(law, factor)), guess=1.0)
    epsilon = 0.0 if bound.multiplier == np.inf else certify(scaled(events, bound.multiplier), delta=delta).epsilon
    assumption = "the outputs follow the claimed mechanism's law at some common factor on its noise"
    return bound.to_dict() | {"epsilon": epsilon, "assumes": assumption}


def law_of(event: Event) -> Event:
    """Return what a pair's outputs obey at most, if all records but the canary equal the one that replaces it.

    A minibatch without replacement then shifts the mean by one sensitivity with probability m/n and not at all
    otherwise: the law of Poisson sampling when the canary is added or removed.
    """
    if isinstance(event, Repeated):
        return replace(event, event=law_of(event.event))
    if isinstance(event, Sampled) and event.scheme == "without_replacement":
        return replace(event, scheme="poisson", neighbours="add_or_remove_one")
    return event


def finding(
    id: str, subject: str, audited: PrivacyAudit, certified: float, evidence: dict[str, Any],
    entry: Entry | None = None, told: str = "",
) -> Finding:  # fmt: skip
    """Return a line of the sandwich; a transcript certified above the claim is a violation of its own.

    told : a sentence on the release that tells most, for a violation
    """
    claimed, remark = (EPSILON, "") if entry is None else (entry.epsilon, entry.remark)
    verdict, reason = audited.verdict, str(audited.event)
    if verdict == "violated":
        reason = f"epsilon is at least {audited.epsilon_lower:.3g} and {claimed:g} is claimed: {reason}"
    elif certified > claimed:
        verdict = "violated" if id.endswith(".transcript") else "inconclusive"
        reason = f"the declared events are certified at epsilon {certified:.3g} only, above the claimed {claimed:g}"
    parts = (reason, told if verdict == "violated" else "", remark)
    return Finding(
        id, "privacy", subject, verdict, "; ".join(filter(None, parts)), audited=audited.epsilon_lower,
        certified=certified, claimed=claimed, evidence=evidence | {"audit": audited.to_dict()},
    )  # fmt: skip


def _side(runs: dict[Chunk, Array], side: int) -> Array:
    """Return the scores of all runs on one data set, in the order of their chunks."""
    return np.concatenate([scores.ravel() for chunk, scores in runs.items() if chunk.side == side])
