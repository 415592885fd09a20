"""The minibatches of a declared algorithm against the sampling that its events account for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.sampling import SamplingAudit, audit_sampling
from dpcheck.checks.context import Context
from dpcheck.checks.declared_findings import finding, not_checked
from dpcheck.checks.place import place_of, shown_place
from dpcheck.events import Event, Repeated, Sampled
from dpcheck.report.findings import Finding

_SUBJECT = "minibatches against the sampling that the events account for"
_MINIBATCHES = 200
# Two looks at fresh minibatches must agree: a correct sampler is called violated once in a million checks.
_CONFIDENCE = 0.999


def sampling(context: Context, own: Algorithm) -> Iterator[Finding]:
    """Check population, scheme, size, and how the records are drawn.

    Null hypothesis: each minibatch is drawn by the declared scheme, independently of the others.
    """
    skip = partial(not_checked, own, "sampling", "sampling", _SUBJECT)
    sampled = list(dict.fromkeys((e.scheme, e.population, e.batch) for e in _sampled(own.events or ())))
    if not sampled:
        yield skip("No event is sampled, so that no sampling is accounted for.")
        return
    if len(sampled) > 1:
        yield skip("The events are sampled in several ways: check an algorithm of each.")
        return
    ((scheme, population, batch),) = sampled
    found = partial(finding, own, "sampling", "sampling", _SUBJECT)
    n = len(own.data)
    if population != n:
        yield found(
            "violated", f"the events account for a population of {population} records and the data hold {n}: the rate "
            f"batch/n is {batch / n:.3g} and not {batch / population:.3g}", place=shown_place(own.place),
        )  # fmt: skip
        return
    if batch != round(batch):
        yield skip(f"The expected size {batch:g} is no whole number, which the sampling audit takes alone.")
        return
    audits: list[SamplingAudit] = []
    for look in range(2):
        drawn = _drawn(own, context.stream(crc32(own.name.encode()), 20, look))
        if isinstance(drawn, str):
            yield skip(drawn)
            return
        audits.append(
            audit_sampling(
                drawn, scheme=scheme, population=population, batch=round(batch), confidence=_CONFIDENCE,
                seed=context.stream(crc32(own.name.encode()), 21, look),
            )
        )  # fmt: skip
        if audits[-1].verdict == "consistent":
            break
    words = f"{scheme.replace('_', ' ')}, {batch:g} of {population}"
    reason = audits[-1].reason if audits[-1].verdict == "consistent" else f"{audits[-1].reason}; declared is {words}"
    place = None if own.sampler is None else place_of(own.sampler)
    yield found(audits[-1].verdict, reason, evidence={"audit": audits[-1].to_dict()}, place=place)


def _sampled(events: tuple[Event, ...]) -> Iterator[Sampled]:
    for event in events:
        if isinstance(event, Sampled):
            yield event
        elif isinstance(event, Repeated):
            yield from _sampled((event.event,))


def _drawn(own: Algorithm, seed: int) -> np.ndarray[Any, np.dtype[np.int64]] | str:
    """Record numbers of consecutive minibatches, unused places -1; or why they are not seen."""
    rows: list[Any] = []
    if own.sampler is not None:
        rng = np.random.default_rng(seed)
        rows = [_numbers(own.sampler(own.data, rng)) for _ in range(_MINIBATCHES)]
    run = 0
    while len(rows) < _MINIBATCHES:
        recorder, run = Recorder(int(np.random.SeedSequence([seed, run]).generate_state(1)[0])), run + 1
        before = 0
        for _, released in own.walk(own.data, recorder):
            if released is None:
                break
            draws, before = recorder.draws[before:], len(recorder.draws)
            batches = [draw.value for draw in draws if _is_minibatch(draw.method, draw.arguments, len(own.data))]
            if len(batches) != 1:
                return (
                    f"A step draws {len(batches)} minibatches by rng.choice or rng.integers, and what it draws by "
                    "other means is not seen: declare the function that draws a minibatch as sampler=."
                )
            rows.append(_numbers(batches[0]))
    widest = max(1, max(map(len, rows)))
    found = np.full((len(rows), widest), -1, np.int64)
    for row, numbers in zip(found, rows, strict=True):
        row[: len(numbers)] = numbers
    return found


def _is_minibatch(method: str, arguments: dict[str, Any], n: int) -> bool:
    """Say whether a draw takes record numbers below n; ``choice`` from the records themselves is not seen as such."""
    if method == "choice":
        return isinstance(arguments["a"], np.ndarray) and int(arguments["a"]) == n
    low, high = arguments.get("low"), arguments.get("high")
    return method == "integers" and (low if high is None else high) == n and (high is None or low == 0)


def _numbers(batch: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Record numbers of a minibatch, given as such or as a mask."""
    batch = np.atleast_1d(np.asarray(batch))
    return np.flatnonzero(batch) if batch.dtype == bool else batch.astype(np.int64).ravel()
