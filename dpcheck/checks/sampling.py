"""Whether the sampling that events account for is what runs do, of a user's algorithm and of the catalogue's.

Null hypothesis: each minibatch is drawn by the declared scheme, independently of the others. Two looks at fresh
minibatches must agree, each on a test of their law and one of how often each record is drawn: a correct sampler is
called violated at most four times in a million checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpcheck.audits.sampling import audit_sampling, unevenness
from dpcheck.checks.context import Context
from dpcheck.checks.subject import MINIBATCHES, Minibatches, Subject
from dpcheck.events import Event, Repeated, Sampled
from dpcheck.report.findings import Finding

_CONFIDENCE, _LOOKS = 0.999, 2


def sampling(context: Context, subject: Subject) -> Iterator[Finding]:
    """Check neighbours, population, scheme and size, and how the records are drawn."""
    for case in subject.minibatches(context):
        yield compared(case)


def compared(case: Minibatches) -> Finding:
    """Compare what is declared with the pair's two data sets and with the minibatches of runs."""
    sampled = [*on_minibatches(case.events)]
    wrong = _misstated(case, sampled)
    if wrong:
        return case.finding("violated", wrong, place=case.declared_at)
    if not sampled:
        return case.unseen("No event is sampled, so that no sampling is accounted for.")
    ways = {(event.scheme, event.batch) for event in sampled}
    scheme, batch = ways.pop()
    audit = None
    for look in range(_LOOKS):
        try:
            drawn = case.drawn(look)
        except RuntimeError as error:  # a run makes more releases than are declared
            return case.finding("violated", str(error))
        if isinstance(drawn, str):
            return case.unseen(drawn)
        if ways:  # of several sizes, each minibatch has one
            return _of_several(case, sampled, drawn)
        if batch != round(batch):
            return case.unseen(f"The expected size {batch:g} is no whole number, which the sampling audit takes alone.")
        audit = audit_sampling(
            drawn[:MINIBATCHES], scheme=scheme, population=case.records, batch=round(batch), confidence=_CONFIDENCE,
            seed=case.seeds[look],
        )  # fmt: skip
        uneven = ""
        if audit.verdict != "violated":
            uneven = unevenness(drawn, scheme, case.records, round(batch), level=1 - _CONFIDENCE, seed=case.seeds[look])
        if audit.verdict == "consistent" and not uneven:
            break
    assert audit is not None
    if uneven:
        return case.finding("violated", uneven, evidence={"audit": audit.to_dict()})
    wrong = f"{audit.reason}; declared is {scheme.replace('_', ' ')}, {batch:g} of {case.records}"
    reason = wrong if audit.verdict == "violated" else case.agreed or audit.reason
    return case.finding(audit.verdict, reason, evidence={"audit": audit.to_dict()})


def _misstated(case: Minibatches, sampled: Sequence[Sampled]) -> str:
    """Return a sentence on neighbours or a population that are not those of the data, nothing where they are."""
    n = case.records
    for event in sampled:
        if case.relation not in ("", event.neighbours):
            ours, theirs = (words.replace("_", "-") for words in (case.relation, event.neighbours))
            return f"an event is accounted for {theirs} neighbours, and the pair is {ours}"
        if event.population != n:
            return (
                f"the events account for a population of {event.population} records and the data hold {n}: the rate "
                f"batch/n is {event.batch / n:.3g} and not {event.batch / event.population:.3g}"
            )
    return case.unlike


def _of_several(case: Minibatches, sampled: Sequence[Sampled], drawn: Sequence[Any]) -> Finding:
    schemes = {event.scheme for event in sampled}
    sizes = {int(event.batch) for event in sampled}
    strange = sorted({len(rows) for rows in drawn} - sizes)
    if "poisson" not in schemes and strange:
        return case.finding("violated", f"minibatches of {sorted(sizes)} records are declared, and one of {strange[0]}")
    if "with_replacement" not in schemes and any(len({*rows}) < len(rows) for rows in map(np.ndarray.tolist, drawn)):
        return case.finding("violated", "a minibatch that is declared without replacement holds a record twice")
    return case.unseen("The events are sampled in several ways: check an algorithm of each.")


def on_minibatches(events: Sequence[Event]) -> Iterator[Sampled]:
    """Yield every event on a minibatch, once however often it is repeated."""
    for event in events:
        if isinstance(event, Repeated):
            yield from on_minibatches((event.event,))
        elif isinstance(event, Sampled):
            yield event
