"""Whether declared sampling is what a run does: the law that a game's pair happens to obey decides nothing here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.catalogue.games import GAMES
from dpcheck.checks.place import place_of
from dpcheck.checks.privacy.transcript import Game
from dpcheck.events import Event, Repeated, Sampled
from dpcheck.report.findings import Finding

RUNS = 40  # recorded, on fixed streams
_SURE = 40.0  # expected repeated records, or log of the chance, beyond which their absence is proof


def minibatches(name: str) -> Iterator[Finding]:
    """Compare the declared scheme and relation with each game's two data sets and with the minibatches of its runs."""
    for entry in GAMES[name]():
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
        drawn = [batch for seed in range(RUNS) for batch in _drawn(game, seed)]
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


def _drawn(game: Game, seed: int) -> Iterator[NDArray[np.int64]]:
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
