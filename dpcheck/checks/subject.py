"""The protocol by which the stages see an algorithm, whoever states it: the catalogue or a user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from dpcheck.accounting import Certificate
from dpcheck.checks.context import Context, Stage, Tables
from dpcheck.events import Event
from dpcheck.report.findings import Finding
from dpcheck.solvers import algorithm
from dpcheck.source import place_of

MINIBATCHES = 200  # that are looked at in one look


class Part(NamedTuple):
    """One thing that runs show, which is audited by itself."""

    what: str  # its word in ids
    subject: str  # of its finding
    mechanism: Callable[..., Any]  # run ``trials`` times on each data set at most
    trials: int
    streams: tuple[tuple[int, ...], ...]  # of each look; only what is violated at every look is called so
    whole: bool = False  # whether it is all that is released
    remark: str = ""  # why the pair does not reach what is certified, or how its data sets differ


class Attempt(Protocol):
    """Two neighbouring data sets on which a promise is tried."""

    label: Any  # in ids, "" where there is one attempt
    events: Any  # what a run releases at most, None where nobody says
    epsilon: Any  # promised
    delta: Any
    budget: Any  # trials in the quick profile and in the full one
    confidence: Any  # of each look of an audit
    vectorized: Any  # whether mechanisms make many runs in one call
    place: Any  # of the code, None for that of its kind
    game: Any  # replays runs release by release, None where no released value can be fed to a run

    @property
    def last(self) -> Certificate | str:
        """What is certified of the final output alone, or a clause why nothing is."""

    @property
    def datasets(self) -> tuple[Any, Any]:
        """The two data sets."""

    @property
    def suspect(self) -> tuple[str, str]:
        """A clause on what the code does where the pair tells, and the place of that line; asked without a game."""

    @property
    def evidence(self) -> dict[str, Any]:
        """Return what tells the two apart, for the report."""

    def parts(self, label: str, trials: int) -> Iterator[Part]:
        """Yield what is audited; ``label`` is the beginning of its findings' ids."""


@dataclass(frozen=True, eq=False)
class Minibatches:
    """The minibatches of runs, beside the events that account for them."""

    events: Sequence[Event]
    records: int  # of the data set
    drawn: Callable[[int], list[Any] | str]  # (look) -> record numbers of minibatches, or why they are not seen
    seeds: Sequence[int]  # of the simulated law, one a look
    finding: Callable[..., Finding]  # (verdict, reason, evidence=, place=) -> the finding
    unseen: Callable[[str], Finding]  # the same where runs cannot be compared
    relation: str = ""  # of the pair of data sets, "" where there is none
    unlike: str = ""  # a sentence on a pair that are no neighbours
    agreed: str = ""  # the reason where all agrees, that of the audit where it is empty
    declared_at: str | None = None  # place of the events


class Subject(Protocol):
    """An algorithm that is checked, by its name."""

    name: str

    def stated(self, context: Context) -> Iterable[Finding]:
        """Yield what follows from the declaration alone, where no line of the sandwich says it."""
        return ()

    def attempts(self, context: Context) -> Iterable[Any]:
        """Return what the privacy promise is tried on, each an :class:`Attempt`."""

    def minibatches(self, context: Context) -> Iterable[Minibatches]:
        """Return the minibatches of runs, of each variant."""

    def releases(self, context: Context) -> Iterable[Finding]:
        """Yield findings on each release of a run, its noise and what it reads, beside its event."""

    def rates(self, context: Context, tables: Tables) -> Iterable[Stage]:
        """Return the stages that measure promised rates."""

    def further(self, context: Context, tables: Tables) -> Iterable[Stage]:
        """Return stages about this algorithm alone."""
        return ()


@dataclass(frozen=True)
class Record(Subject):
    """A record of the catalogue."""

    name: str

    def attempts(self, context: Context) -> Iterable[Any]:
        return algorithm(self.name).games()

    def minibatches(self, context: Context) -> Iterator[Minibatches]:
        return (self._minibatches(context, entry) for entry in self.attempts(context))

    def _minibatches(self, context: Context, entry: Any) -> Minibatches:
        relation, unlike = entry.game.relation
        agreed = "the events' relation, population and scheme are those of the game's pair and of recorded runs"

        def finding(verdict: str, reason: str, **fields: Any) -> Finding:
            return Finding(
                f"{self.name}.{entry.label}.declared_scheme", "accounting",
                f"{self.name}, {entry.words}: the declared neighbours and minibatches", verdict, reason,
                **fields | {"place": place_of(entry.game.solver.events)},
            )  # fmt: skip

        return Minibatches(
            entry.events, len(entry.game.data.records), entry.game.drawn, [context.stream(22, k) for k in range(2)],
            finding, lambda _: finding("consistent", agreed), relation, unlike, agreed,
        )  # fmt: skip

    def releases(self, context: Context) -> Iterable[Finding]:
        from dpcheck.checks.releases import releases

        return releases(context, self.name)

    def rates(self, context: Context, tables: Tables) -> Iterable[Stage]:
        from dpcheck.checks import rates

        return rates.stages(context, self.name, tables)

    def further(self, context: Context, tables: Tables) -> Iterator[Stage]:
        from dpcheck.checks.sandwich import phases

        yield "phases", partial(phases, context, self.name)
        yield from algorithm(self.name).further(context, tables)
