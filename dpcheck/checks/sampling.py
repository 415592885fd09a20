"""Whether the sampling that events account for is what runs do, of a user's algorithm and of the catalogue's.

The law that the pair of a game happens to obey decides nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.declaration import Algorithm
from dpcheck.audits.running.recorder import Recorder
from dpcheck.audits.sampling import SamplingAudit, audit_sampling
from dpcheck.checks.context import Context
from dpcheck.checks.place import place_of, shown_place
from dpcheck.checks.privacy.entry import Game
from dpcheck.checks.subject import finding, not_checked
from dpcheck.events import Event, Repeated, Sampled
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm

_SUBJECT = "minibatches against the sampling that the events account for"
_MINIBATCHES = 200
# Two looks at fresh minibatches must agree: a correct sampler is called violated once in a million checks.
_CONFIDENCE = 0.999


def sampling(context: Context, declared: Algorithm) -> Iterator[Finding]:
    """Check population, scheme, size, and how the records are drawn.

    Null hypothesis: each minibatch is drawn by the declared scheme, independently of the others.
    """
    skip = partial(not_checked, declared, "sampling", "sampling", _SUBJECT)
    sampled = list(dict.fromkeys((e.scheme, e.population, e.batch) for e in _sampled(declared.events or ())))
    if not sampled:
        yield skip("No event is sampled, so that no sampling is accounted for.")
        return
    if len(sampled) > 1:
        yield skip("The events are sampled in several ways: check an algorithm of each.")
        return
    ((scheme, population, batch),) = sampled
    found = partial(finding, declared, "sampling", "sampling", _SUBJECT)
    n = len(declared.data)
    if population != n:
        yield found(
            "violated", f"the events account for a population of {population} records and the data hold {n}: the rate "
            f"batch/n is {batch / n:.3g} and not {batch / population:.3g}", place=shown_place(declared.place),
        )  # fmt: skip
        return
    if batch != round(batch):
        yield skip(f"The expected size {batch:g} is no whole number, which the sampling audit takes alone.")
        return
    audits: list[SamplingAudit] = []
    for look in range(2):
        drawn = _drawn(declared, context.stream(crc32(declared.name.encode()), 20, look))
        if isinstance(drawn, str):
            yield skip(drawn)
            return
        audits.append(
            audit_sampling(
                drawn, scheme=scheme, population=population, batch=round(batch), confidence=_CONFIDENCE,
                seed=context.stream(crc32(declared.name.encode()), 21, look),
            )
        )  # fmt: skip
        if audits[-1].verdict == "consistent":
            break
    words = f"{scheme.replace('_', ' ')}, {batch:g} of {population}"
    reason = audits[-1].reason if audits[-1].verdict == "consistent" else f"{audits[-1].reason}; declared is {words}"
    place = None if declared.sampler is None else place_of(declared.sampler)
    yield found(audits[-1].verdict, reason, evidence={"audit": audits[-1].to_dict()}, place=place)


def _sampled(events: tuple[Event, ...]) -> Iterator[Sampled]:
    for event in events:
        if isinstance(event, Sampled):
            yield event
        elif isinstance(event, Repeated):
            yield from _sampled((event.event,))


def _drawn(declared: Algorithm, seed: int) -> np.ndarray[Any, np.dtype[np.int64]] | str:
    """Record numbers of consecutive minibatches, unused places -1; or why they are not seen."""
    rows: list[Any] = []
    if declared.sampler is not None:
        rng = np.random.default_rng(seed)
        rows = [_numbers(declared.sampler(declared.data, rng)) for _ in range(_MINIBATCHES)]
    run = 0
    while len(rows) < _MINIBATCHES:
        recorder, run = Recorder(int(np.random.SeedSequence([seed, run]).generate_state(1)[0])), run + 1
        before = 0
        for _, released in declared.walk(declared.data, recorder):
            if released is None:
                break
            draws, before = recorder.draws[before:], len(recorder.draws)
            batches = [draw.value for draw in draws if _is_minibatch(draw.method, draw.arguments, len(declared.data))]
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


RUNS = 40  # recorded, on fixed streams
_SURE = 40.0  # expected repeated records, or log of the chance, beyond which their absence is proof


def minibatches(name: str) -> Iterator[Finding]:
    """Compare the declared scheme and relation with each game's two data sets and with the minibatches of its runs."""
    for entry in algorithm(name).games():
        wrong = disagreement(entry.game, entry.events)
        yield Finding(
            f"{name}.{entry.label}.declared_scheme", "accounting",
            f"{name}, {entry.words}: the declared neighbours and minibatches", "violated" if wrong else "consistent",
            wrong or "the events' relation, population and scheme are those of the game's pair and of recorded runs",
            place=place_of(entry.game.solver.events),
        )  # fmt: skip


def disagreement(game: Game, events: Sequence[Event]) -> str:
    """Return a sentence on what is declared and not so; nothing where all agrees."""
    ours, theirs, sampled = game.data.records, game.neighbour.records, list(on_minibatches(events))
    if ours.shape != theirs.shape:
        actual = "add_or_remove_one"
    else:
        changed = int(np.any(ours != theirs, axis=1).sum())
        if changed != 1:
            return f"the game's two data sets differ in {changed} records"
        actual = "replace_one"
    for event in sampled:
        if event.neighbours != actual:
            return f"an event is accounted for {_words(event.neighbours)} neighbours, and the pair is {_words(actual)}"
        if event.population != len(ours):
            return f"an event samples {event.population} records, and the data set has {len(ours)}"
    if not sampled:
        return ""
    try:
        drawn = [batch for seed in range(RUNS) for batch in _drawn_by_run(game, seed)]
    except RuntimeError as error:  # more releases than are declared
        return str(error)
    return _unlike(drawn, sampled, len(ours))


def _unlike(drawn: list[NDArray[np.int64]], sampled: list[Sampled], n: int) -> str:
    schemes = {event.scheme for event in sampled}
    if len(schemes) > 1 or not drawn:
        return ""
    scheme, sizes = schemes.pop(), {batch.size for batch in drawn}
    twice = sum(batch.size - np.unique(batch).size for batch in drawn)
    if scheme == "poisson":
        still = max(_log_constant(event, len(drawn)) for event in sampled)
        if len(sizes) == 1 and still < -_SURE:
            return f"minibatches are declared as Poisson samples, and all {len(drawn)} drawn have {sizes.pop()} records"
        return f"a Poisson sample holds a record {twice + 1} times" if twice else ""
    strange = sizes - {int(event.batch) for event in sampled}
    if strange:
        declared = ", ".join(str(int(event.batch)) for event in sampled)
        return f"minibatches of {declared} records are declared, and one of {strange.pop()} is drawn"
    if scheme == "without_replacement" and twice:
        return f"minibatches are declared to be drawn without replacement, and {twice} records are drawn again"
    expected = sum(batch.size * (batch.size - 1) / 2 / n for batch in drawn)
    if scheme == "with_replacement" and not twice and expected > _SURE:
        return f"minibatches are declared to be drawn with replacement, and none of {len(drawn)} holds a record twice"
    return ""


def _log_constant(event: Sampled, draws: int) -> float:
    """Bound on the log chance that so many Poisson samples all have one size."""
    spread = math.sqrt(max(event.batch * (1 - event.batch / event.population), 0.0))
    return (draws - 1) * math.log(min(1.0, 1 / max(spread, 1.2)))


def _drawn_by_run(game: Game, seed: int) -> Iterator[NDArray[np.int64]]:
    solver: Any = game.solver
    for row in solver.run(game.data, seed=seed, record=True).history.drawn:
        yield row[row >= 0]


def on_minibatches(events: Sequence[Event]) -> Iterator[Sampled]:
    """Yield every event on a minibatch, once however often it is repeated."""
    for event in events:
        if isinstance(event, Repeated):
            yield from on_minibatches((event.event,))
        elif isinstance(event, Sampled):
            yield event


def _words(relation: str) -> str:
    return relation.replace("_", "-")
