"""An algorithm's named numbers as the vectors that kernels read, and the room that its events need on a tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from dpcheck.algorithms.kernels.jit import Numbers
from dpcheck.algorithms.kernels.parts import POISSON, WITH_REPLACEMENT, WITHOUT_REPLACEMENT
from dpcheck.algorithms.problem import Array
from dpcheck.errors import require
from dpcheck.events import Disjoint, Event, Repeated, Sampled, Scheme

SCHEMES: dict[Scheme, int] = {
    "with_replacement": WITH_REPLACEMENT,
    "without_replacement": WITHOUT_REPLACEMENT,
    "poisson": POISSON,
}
AnyNames = TypeVar("AnyNames", bound=tuple[Any, ...])
_LARGEST = np.iinfo(np.int64).max


def fill(names: type[AnyNames], solver: object, **given: float) -> AnyNames:
    """Read the fields of a NamedTuple off a configuration, save those that are given."""
    fields: tuple[str, ...] = names._fields  # type: ignore[attr-defined]
    return names(**{name: given[name] if name in given else getattr(solver, name) for name in fields})


def pack(reals: Sequence[float], counts: Sequence[int], steps: Array | None = None) -> Numbers:
    """Turn an algorithm's named numbers, and a row for each of its steps, into the vectors that kernels read."""
    for name, count in zip(getattr(counts, "_fields", ()), counts, strict=False):
        require(abs(count) <= _LARGEST, name, f"be at most {_LARGEST}", count)
    rows = np.empty((0, 0)) if steps is None else np.ascontiguousarray(steps, dtype=float)
    return Numbers(np.array(reals, dtype=float), np.array(counts, dtype=np.int64), rows)


def rows_of(events: Sequence[Event]) -> tuple[int, int, int]:
    """Count the releases, the minibatches, and the records of the largest minibatch that these events may have."""
    releases = draws = largest = 0
    for event in events:
        if isinstance(event, Repeated):
            inner = rows_of((event.event,))
            releases, draws = releases + event.count * inner[0], draws + event.count * inner[1]
            largest = max(largest, inner[2])
        elif isinstance(event, Disjoint):
            inner = rows_of(event.events)
            releases, draws, largest = releases + inner[0], draws + inner[1], max(largest, inner[2])
        elif isinstance(event, Sampled):
            releases, draws = releases + len(event.mechanisms), draws + 1
            room = event.population if event.scheme == "poisson" else event.batch
            largest = max(largest, int(room))
        else:
            releases += 1
    return releases, draws, largest
