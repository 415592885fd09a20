"""Pairs of neighbours to audit: patterns of answers, records replaced, added and removed, canaries by ascent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.audits.missing import same
from dpcheck.audits.runs import Runner
from dpcheck.errors import require, require_count, require_positive

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring datasets, and what tells them apart."""

    data: Any
    neighbour: Any
    words: str


def patterns(width: int, *, size: float = 1.0) -> list[Pair]:
    """Answers to ``width`` queries, each moved by at most ``size`` between neighbours : (width,) float64.

    The shapes in which sparse vectors, noisy maxima and histograms have been caught (Ding et al., 2018,
    Table 1): one or half of the answers or all of them move, in the same or opposite directions.
    """
    require_count(width, "width")
    require_positive(size, "size")
    flat, half = np.ones(width), (np.arange(width) < (width + 1) // 2).astype(float)
    one = (np.arange(width) == 0).astype(float)
    moved = {
        "one answer up": one, "one answer down": -one, "one up, the others down": 2 * one - flat,
        "one down, the others up": flat - 2 * one, "half up, half down": 2 * half - flat,
        "half up": half, "all up": flat, "all down": -flat,
        "every other up, the rest down": np.cos(np.pi * np.arange(width)),
    }  # fmt: skip
    return [Pair(size * flat, size * (flat + move), words) for words, move in moved.items()]


def replaced(dataset: Any, replacements: Sequence[Any]) -> Iterator[Pair]:
    """``dataset`` (array or list) against itself with one record replaced: all records, all replacements."""
    for index in range(len(dataset)):
        for k, record in enumerate(replacements):
            yield Pair(dataset, with_record(dataset, index, record), f"record {index} becomes replacement {k}")


def removed(dataset: Any) -> Iterator[Pair]:
    """``dataset`` (array or list) against itself with one record fewer."""
    for index in range(len(dataset)):
        rest = (
            np.delete(dataset, index, axis=0)
            if isinstance(dataset, np.ndarray)
            else [*dataset[:index], *dataset[index + 1 :]]
        )
        yield Pair(dataset, rest, f"record {index} removed")


def drawn(strategy: Any, count: int = 100, *, seed: int = 0) -> list[Pair]:
    """Pairs from a hypothesis strategy of (data, neighbour), for structured data."""
    import hypothesis

    require_count(count, "count")
    found: list[Pair] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, database=None, deadline=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(strategy)
    def collect(pair: tuple[Any, Any]) -> None:
        found.append(Pair(*pair, f"example {len(found)}"))

    collect()
    return found


def canary(
    mechanism: Callable[..., Any], dataset: Any, *, low: ArrayLike, high: ArrayLike, index: int = 0,
    vectorized: bool = False, steps: int = 20, seed: int = 0,
) -> Pair:  # fmt: skip
    """Two records for the place ``index``, by gradient ascent on the distance of the outputs they lead to.

    low, high : of a record's entries, scalars or of its shape
    Outputs are compared under the same randomness (equal streams), which leaves what the records do; the
    gradient is taken by differences, from the farthest of some random corners, and projected onto the box.
    """
    require_count(steps, "steps", least=0)
    record = np.asarray(dataset[index], dtype=float)
    low, high = (np.broadcast_to(np.asarray(bound, float), record.shape) for bound in (low, high))
    require(bool((low < high).all()), "low", "lie below high", (low, high))
    runner = Runner(mechanism, (dataset, dataset), vectorized, seed)
    shape = (2, *record.shape)

    def distance(records: Array) -> float:
        a, b = (
            runner.outputs(with_record(dataset, index, each), np.random.default_rng(seed), _COMPARED)
            for each in records
        )
        with np.errstate(invalid="ignore"):
            moved = np.where(same(a, b), 0.0, np.fmin(np.abs(a - b), _FAR))  # NaN on one side is far
        return float(np.sqrt((moved**2).sum(axis=1).mean()))

    rng = np.random.default_rng(seed)
    starts = [np.where(rng.random(shape) < 0.5, low, high) for _ in range(_STARTS)]
    best = max(starts, key=distance)
    reached, step = distance(best), 0.5
    for _ in range(steps):
        gradient = np.zeros(shape)
        for place in np.ndindex(shape):
            nudged = best.copy()
            width = (high - low)[place[1:]] * _NUDGE
            nudged[place] += width if nudged[place] + width <= high[place[1:]] else -width
            gradient[place] = (distance(nudged) - reached) / (nudged[place] - best[place])
        uphill = gradient * (high - low)
        if not uphill.any():
            break
        moved = np.clip(best + step * (high - low) * uphill / np.abs(uphill).max(), low, high)
        farther = distance(moved)
        if farther > reached:
            best, reached = moved, farther
        else:
            step /= 2
    ours, theirs = (with_record(dataset, index, each) for each in best)
    return Pair(ours, theirs, f"record {index}: {best[0].tolist()} against {best[1].tolist()}")


_COMPARED, _STARTS, _NUDGE, _FAR = 8, 12, 1e-3, 1e100


def with_record(dataset: Any, index: int, record: Any) -> Any:
    """A copy of ``dataset`` (array or list) with another record in one place."""
    copy = dataset.copy() if isinstance(dataset, np.ndarray) else list(dataset)
    copy[index] = record
    return copy


def farthest_pair(gradients: Array) -> tuple[int, int, float]:
    """The two candidates whose gradients differ most, and the root mean square of the distance.

    gradients : (candidates, points, size), each candidate's gradient at the same points of the
        parameter space, in units of the noise. All pairs are compared.
    """
    require(
        gradients.ndim == 3 and len(gradients) >= 2, "gradients", "have shape (>= 2, points, size)",
        gradients.shape,
    )  # fmt: skip
    flat = gradients.reshape(len(gradients), -1)
    square = (flat * flat).sum(1)
    distance = square[:, None] + square[None, :] - 2 * flat @ flat.T
    i, j = np.unravel_index(np.argmax(distance), distance.shape)
    return int(i), int(j), float(np.sqrt(max(distance[i, j], 0.0) / gradients.shape[1]))
