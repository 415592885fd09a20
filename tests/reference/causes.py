"""What differs between a recorded run and the pseudo-code that follows it, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.algorithms.run import History
from reference.derivatives import clip

# What is compared, in the order of the findings.
PARTS = ("minibatches", "gradients", "solutions", "scales", "iterates", "feasible", "output", "ending")
TOLERANCE = 1e-8  # relative to the larger of 1 and the quantity; kernels may sum in any order


@dataclass(frozen=True)
class Difference:
    """What differs, in a sentence, and by how much."""

    sentence: str
    by: float


class EndedError(Exception):
    """The run holds no more of what the pseudo-code does next."""


@dataclass
class Differences:
    """found : the first difference of each part;  largest, compared : of each part, whatever the verdict."""

    found: dict[str, Difference] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    compared: Counter[str] = field(default_factory=Counter)

    def keep(self, part: str, by: float, sentence: str) -> None:
        """Keep the size of a difference, and the sentence where it is none by rounding alone."""
        self.compared[part] += 1
        self.largest[part] = max(self.largest.get(part, 0.0), float(by))
        if by > 0 and sentence and part not in self.found:
            self.found[part] = Difference(sentence, float(by))

    def note(self, part: str, by: float, sentence: str, *, allowed: float = TOLERANCE) -> None:
        """Keep a difference whose sentence counts where it is more than ``allowed``."""
        self.keep(part, by, sentence if by > allowed else "")

    def stop(self, part: str, sentence: str) -> NoReturn:
        """Keep a difference after which nothing can be compared."""
        self.keep(part, 1.0, sentence)
        raise EndedError


# What a wrong gradient, iterate or output is instead: the usual mistakes, tried one by one.


_NEAR = 1e-7


class Recomputed(Protocol):
    """What is read of a replay: where it stands, dim_w, the recorded run, and the gradients of single records."""

    step: int
    d: int
    history: History

    def each(self, batch: Any, x: Array, block: str) -> list[Array]:
        """Return the gradients in one block of a minibatch's records at ``x``."""


@dataclass(frozen=True, eq=False)
class Query:
    """A mean of clipped gradients at ``x``, or of differences from those at ``old``; ``size`` is the divisor."""

    replay: Recomputed
    batch: Any
    x: Array
    old_batch: Any
    old: Array | None
    block: str
    bound: float
    size: float


def _same(theirs: Array, other: Array) -> bool:
    return bool(np.linalg.norm(theirs - other) <= _NEAR * max(float(np.linalg.norm(other)), 1e-6))


def cause_of_gradient(theirs: Array, ours: Array, query: Query | None, causes: dict[str, Array]) -> str:
    """Say what ``theirs`` is in place of ``ours``, or nothing."""
    if _same(theirs, -ours):
        return ", and has the opposite sign"
    if not theirs.any():
        return ", and is 0"
    for words, value in causes.items():
        if _same(theirs, value):
            return f", and is {words}"
    for words, make in _other_gradients(query) if query else ():
        if _same(theirs, make()):
            return f", and is {words}"
    size = float(ours @ ours)
    factor = float(theirs @ ours) / size if size > 0 else 0.0
    return f", and is {factor:.4g} times as large" if factor > 0 and _same(theirs, factor * ours) else ""


def _other_gradients(q: Query) -> Iterator[tuple[str, Callable[[], Array]]]:
    """Yield what the mean is under the usual mistakes."""

    def parts(batch: Any, x: Array, old_batch: Any = None, old: Array | None = None) -> list[Array]:
        new = q.replay.each(batch, x, q.block)
        if old is None:
            return new
        return [a - b for a, b in zip(new, q.replay.each(old_batch, old, q.block), strict=True)]

    def mean(found: list[Array], bound: float, size: float) -> Array:
        return np.asarray(sum(clip(g, bound) for g in found) / size)

    here = parts(q.batch, q.x, q.old_batch, q.old)
    whole = mean(here, np.inf, q.size)
    if np.linalg.norm(whole) > q.bound:  # else the two are the same
        yield "the clipped mean, not the mean of clipped ones", lambda: clip(whole, q.bound)
    yield "not clipped record by record", lambda: whole
    if q.old is not None:
        yield "the gradient itself, not its difference", lambda: mean(parts(q.batch, q.x), q.bound, q.size)
        for x in _points(q):
            old = x
            yield (
                "the difference from another iterate",
                lambda old=old: mean(parts(q.batch, q.x, q.batch, old), q.bound, q.size),  # type: ignore[misc]
            )
        return
    for block, words in (("w", "next w"), ("v", "next v")):
        mixed = _mixed(q, block)
        if mixed is not None:
            yield f"taken at the {words}", lambda x=mixed: mean(parts(q.batch, x), q.bound, q.size)  # type: ignore[misc]
    for number, x in enumerate(_points(q)):
        words = ("taken at the iterate before", "taken at the next iterate", "taken at the start")[number]
        yield words, lambda x=x: mean(parts(q.batch, x), q.bound, q.size)  # type: ignore[misc]


def _points(q: Query) -> list[Array]:
    """Return the iterate before, the next one and the start."""
    path, at = q.replay.history.path, q.replay.step
    last = len(path) - 1
    return [np.array(path[min(max(row, 0), last)]) for row in (at - 1, at + 1, 0)]


def _mixed(q: Query, block: str) -> Array | None:
    """Return the point with one block of the next iterate."""
    path, at, d = q.replay.history.path, q.replay.step + 1, q.replay.d
    if at >= len(path):
        return None
    part = slice(0, d) if block == "w" else slice(d, None)
    x = q.x.copy()
    x[part] = path[at][part]
    return x


def cause_of_iterate(theirs: Array, ours: Array, unprojected: Array | None, causes: dict[str, Array]) -> str:
    """Say what ``theirs`` is in place of ``ours``, or nothing."""
    if unprojected is not None and _same(theirs, unprojected):
        return ": it is not projected"
    for words, point in causes.items():
        if _same(theirs, point):
            return f": {words}"
    return ""


def cause_of_output(out: Array, path: Sequence[Array] | Array) -> str:
    """Say which other output ``out`` is, or nothing."""
    if len(path) == 0:
        return ""
    if _same(out, np.mean(path, axis=0)):
        return ": it is the average of the iterates"
    nearest = int(np.argmin([np.linalg.norm(out - point) for point in path]))
    if _same(out, np.asarray(path[nearest])):
        return ": it is the last iterate" if nearest == len(path) - 1 else f": it is the iterate after step {nearest}"
    return ""
