"""The stages for an algorithm of somebody else's, as far as its declaration lets them.

A stage that cannot look says "not checked", and what to declare for it to look.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any
from zlib import crc32

from dpcheck.accounting import calibrate, certify
from dpcheck.algorithms.declaration import Algorithm
from dpcheck.audits.membership import audit_privacy
from dpcheck.checks.context import Context, Stage
from dpcheck.checks.declared_findings import finding, not_checked
from dpcheck.checks.declared_pairs import worst_pair
from dpcheck.checks.declared_rate import rate
from dpcheck.checks.declared_releases import releases
from dpcheck.checks.declared_sampling import sampling
from dpcheck.checks.place import shown_place
from dpcheck.events import scaled
from dpcheck.report.findings import Finding

# Two audits on fresh runs must agree: a correct algorithm is called violated at most once in a million checks.
_LEVEL = 1e-3
# Runs on each data set, of plain Python.
_TRIALS = {"quick": 5_000, "full": 100_000}
# Streams of the audits, apart from each other.
_TRANSCRIPT, _OUTPUT, _SEARCH = range(3)


def stages(context: Context, own: Algorithm, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Stage]:
    """Yield all of them, each a title and a call that yields findings."""
    yield "certificate", partial(certificate, own)
    yield "releases", partial(releases, context, own)
    yield "sampling", partial(sampling, context, own)
    yield "audits", partial(membership, context, own)
    yield "rate", partial(rate, context, own, tables)


def certificate(own: Algorithm) -> Iterator[Finding]:
    """Compare what the declared events are certified at with what is claimed."""
    subject = "the declared events against the claimed epsilon"
    if own.events is None:
        example = 'Repeated(Sampled((Gaussian(z),), "poisson", n, batch), steps)'
        reason = f"No events are declared: say what a run releases in events=, such as {example}."
        yield not_checked(own, "certificate", "accounting", subject, reason)
        return
    found = certify(own.events, delta=own.delta)
    enough = found.epsilon <= own.epsilon * (1 + 1e-6)
    reason = f"the declared events are certified at epsilon {found.epsilon:.4g} at delta {own.delta:g}, "
    if enough:
        reason += f"within the claimed {own.epsilon:g}"
    else:
        reason += f"above the claimed {own.epsilon:g}{_more(own)}"
    yield finding(
        own, "certificate", "accounting", subject, "consistent" if enough else "violated", reason,
        certified=found.epsilon, claimed=float(own.epsilon), evidence=found.to_dict(), place=shown_place(own.place),
    )  # fmt: skip


def _more(own: Algorithm) -> str:
    """Return how much more noise would do, where there is an answer."""
    if own.epsilon == 0 or own.delta == 0 or any(multiplier == 0 for _, multiplier in own.releases):
        return ""
    factor = calibrate(lambda z: scaled(own.events, z), own.epsilon, own.delta)
    return f": all noise would have to be {factor:.3g} times as large"


def membership(context: Context, own: Algorithm) -> Iterator[Finding]:
    """Audit everything that is released, and the output alone, on the pair that shows most.

    Null hypothesis: the algorithm is (epsilon, delta)-private on this pair; each audit's level is ``_LEVEL``.
    """
    pair = worst_pair(own, context.stream(crc32(own.name.encode()), _SEARCH))
    certified = None if own.events is None else certify(own.events, delta=own.delta).epsilon
    parts = [("output", "final output only", own.output, _OUTPUT)]
    if own.run is None and (own.steps > 1 or own.update is not None):
        parts.insert(0, ("transcript", "everything released", own.transcript, _TRANSCRIPT))
    for what, words, mechanism, number in parts:
        for look in range(2):
            audit = audit_privacy(
                mechanism, pair.data, pair.neighbour, epsilon=own.epsilon, delta=own.delta,
                trials=_TRIALS[context.profile], confidence=1 - _LEVEL,
                seed=context.stream(crc32(own.name.encode()), number, look), jobs=context.jobs,
                executor=context.executor,
                progress=context.progress,
            )  # fmt: skip
            if audit.verdict != "violated":
                break
        reason = f"{audit.event}, where {pair.words}"
        if audit.verdict == "violated":
            reason = (
                f"epsilon is at least {audit.epsilon_lower:.3g} at delta {own.delta:g}, with confidence "
                f"{audit.confidence:g}, and {own.epsilon:g} is claimed: {reason}"
            )
        elif audit.verdict == "inconclusive":
            reason = f"{audit.trials} runs a data set cannot break a claim of {own.epsilon:g}; --profile full runs more"
        yield finding(
            own, what, "privacy", words, audit.verdict, reason, audited=audit.epsilon_lower, certified=certified,
            claimed=float(own.epsilon), evidence={"audit": audit.to_dict(), "pair": pair.words},
        )  # fmt: skip
    if len(parts) == 1 and own.run is not None:
        yield not_checked(own, "transcript", "privacy", "everything released",
                          "The algorithm is declared as a whole: declare step=, start= and steps= if more than its "
                          "output is released.")  # fmt: skip
