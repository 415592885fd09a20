"""What each release of a run is: of which block, at which step, on which minibatch or which records.

Beside it, what the declared events of an algorithm allow to be released, group by group. A record names the layout of
its runs: a function of the configured algorithm, the problem and the history of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.run import History
from dpcheck.events import Disjoint, Event, Gaussian, Laplace, Repeated, Sampled


@dataclass(frozen=True)
class Group:
    """What is released ``count`` times: multipliers of Gaussians or of one Laplace, and their minibatch, if any."""

    multipliers: tuple[float, ...]
    sampled: Sampled | None = None
    laplace: bool = False
    count: int = 1


def declared(events: Sequence[Event]) -> tuple[Group, ...]:
    """Return all that these events allow to be released."""
    return tuple(group for event in events for group in _groups(event))


def _groups(event: Event) -> Iterator[Group]:
    match event:
        case Gaussian(z):
            yield Group((float(z),))
        case Laplace(z):
            yield Group((float(z),), laplace=True)
        case Sampled(mechanisms):
            yield Group(tuple(float(part.noise_multiplier) for part in mechanisms), event)
        case Disjoint(parts):
            yield from (Group((float(part.noise_multiplier),)) for part in parts)
        case Repeated(inner, count):
            yield from (replace(group, count=group.count * count) for group in _groups(inner))


JOINT = "w and v together"


@dataclass(frozen=True)
class Release:
    """One row of ``history.clean``.

    what : "w", "v", both as one vector, or "the choice";  where : "step 3"
    draw : the row of ``history.drawn`` that it reads, None where it reads no minibatch
    records : first and last (exclusive) of the records that it reads, where the schedule names them
    """

    row: int
    what: str
    where: str
    draw: int | None = None
    records: tuple[int, int] | None = None

    def __str__(self) -> str:
        """Return its name in a sentence."""
        return f"the release of {self.what} {self.where}"

    def width(self, problem: Problem) -> int:
        """Return how many numbers it has."""
        return {"w": problem.dim_w, "v": problem.dim_v, JOINT: problem.dim_w + problem.dim_v}.get(self.what, 1)

    def reads(self, history: History, record: int) -> bool:
        """Say whether this record is in its minibatch or among the records that its schedule names."""
        if self.draw is not None:
            return self.draw < len(history.drawn) and record in history.drawn[self.draw]
        return self.records is None or self.records[0] <= record < self.records[1]


def pairs(solver: Any, problem: Problem, history: History) -> tuple[Release, ...]:
    """Return a minibatch for each step, on which w and v are released one after the other."""
    rows = range(len(history.clean))
    return tuple(Release(row, "wv"[row % 2], f"at step {row // 2 + 1}", row // 2) for row in rows)


def descent(solver: Any, problem: Problem, history: History) -> tuple[Release, ...]:
    """Return a minibatch for each step, and one release on it."""
    return tuple(Release(row, "w", f"at step {row + 1}", row) for row in range(len(history.clean)))
