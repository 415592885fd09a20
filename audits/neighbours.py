"""Pairs of neighbours to audit: patterns of answers, records replaced or removed, examples, canaries by ascent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.arguments import checked, has_records
from dpcheck.arrays import Floats, real_numbers, widened
from dpcheck.audits.columns import range_of, read_columns
from dpcheck.audits.proposals import adding, replacing
from dpcheck.audits.running import Runner
from dpcheck.audits.running.datasets import same
from dpcheck.errors import (
    InputError,
    raised,
    require,
    require_count,
    require_known,
    require_positive,
    require_seed,
    require_work,
)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring datasets, and what tells them apart.

    Parameters
    ----------
    data, neighbour : object
        Datasets that differ in one record.
    words : str
        How they differ, for a report.
    kind : str
        Where their records lie, for pairs that :func:`around` makes: "inside" the ranges of the data's columns,
        "beyond" them, or "not finite" for NaN, infinity and what is missing, where the data hold none.
    outside : str
        What lies outside the range of the data; empty where nothing does.
    """

    data: Any
    neighbour: Any
    words: str
    kind: str = ""
    outside: str = ""


@checked
def patterns(width: int, *, size: float = 1.0) -> list[Pair]:
    """Make answers to several queries, each moved by at most ``size`` between neighbours.

    Parameters
    ----------
    width : int
        Number of queries, at least 1.
    size : float
        How far an answer moves, > 0.

    Returns
    -------
    list of Pair
        Pairs of answers (width,) float64: one of them moves, half or all, in the same or in opposite directions.

    References
    ----------
    Z. Ding, Y. Wang, G. Wang, D. Zhang, D. Kifer. Detecting violations of differential privacy. CCS 2018, Table 1.

    Examples
    --------
    >>> from dpcheck.audits.neighbours import patterns
    >>> len(patterns(3)), patterns(3)[0].neighbour.tolist()
    (9, [2.0, 1.0, 1.0])
    """
    require_work(width, "width")
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


@checked
def replaced(dataset: Any, replacements: Sequence[Any]) -> Iterator[Pair]:
    """Pair a dataset with itself after one record is replaced, for every record and every replacement.

    Parameters
    ----------
    dataset : ndarray (n, ...) or list
        The records.
    replacements : sequence of records
        Records that may take the place of one.

    Yields
    ------
    Pair
        The dataset and a neighbour.

    Examples
    --------
    >>> from dpcheck.audits.neighbours import replaced
    >>> [pair.neighbour for pair in replaced([1, 2], [0])]
    [[0, 2], [1, 0]]
    """
    for index in range(len(dataset)):
        for k, record in enumerate(replacements):
            yield Pair(dataset, with_record(dataset, index, record), f"record {index} becomes replacement {k}")


@checked
def removed(dataset: Any) -> Iterator[Pair]:
    """Pair a dataset with itself after one record is removed, for every record.

    Parameters
    ----------
    dataset : ndarray (n, ...) or list
        The records.

    Yields
    ------
    Pair
        The dataset and a neighbour with one record fewer.

    Examples
    --------
    >>> from dpcheck.audits.neighbours import removed
    >>> [pair.neighbour for pair in removed([1, 2])]
    [[2], [1]]
    """
    for index in range(len(dataset)):
        yield Pair(dataset, without_record(dataset, index), f"record {index} removed")


RELATIONS = ("replace_one", "add_or_remove_one", "both")
RECORDS = ("inside", "finite", "any")
_MOST = {"inside": 50, "beyond": 35, "not finite": 15}  # pairs of each kind
_CELLS = 20_000_000  # of all pairs together


@checked
def around(data: Any, *, relation: str = "replace_one", group: int = 1, records: str = "finite") -> list[Pair]:
    """Propose neighbours of a data set: records replaced, added or removed, extreme and awkward ones among them.

    A few records are chosen, those that move most. They go to the ends of their columns' ranges, jointly and column by
    column, and outside: huge numbers, NaN and infinity, a new label, a longer list, nothing. In some pairs half of the
    records lie at one end of the range and half at the other, or all at one, where a median moves most.

    Parameters
    ----------
    data : array, list, table or dict of columns
        Records: the rows of an array (NumPy, torch, JAX) or of a table of pandas, the entries of a list (numbers,
        words, lists or dicts), or what columns of one length hold.
    relation : {"replace_one", "add_or_remove_one", "both"}
        Neighbours have a record replaced, or a record more or less. A claim for one relation says little of the other;
        with "both" it must hold for either.
    group : int
        How many records are replaced, added or removed at once, at least 1, for a claim about groups.
    records : {"finite", "inside", "any"}
        "inside" leaves out records outside the range of the data; "any" counts all of them. "finite" counts those that
        are finite, and shows apart what records do that hold NaN, infinity or nothing, where the data's do not.

    Returns
    -------
    list of Pair
        At most 100, fewer where the data are large; the same for the same data.

    Raises
    ------
    InputError
        For arguments outside their domain, and for data without records.

    Examples
    --------
    >>> from dpcheck.audits.neighbours import around
    >>> for pair in around([3, 8, 5])[:2]:
    ...     print(pair.neighbour, "by", pair.words)
    [8, 8, 5] by record 0: 3 -> 8
    [3, 3, 5] by record 1: 8 -> 3
    """
    require_known(relation, RELATIONS, "relation")
    require_known(records, RECORDS, "records")
    require_work(group, "group")
    try:
        return _around(data, relation, group, records)
    except InputError:
        raise
    except Exception as error:  # of what a record does when it is looked at
        raise InputError(f"data must hold records that can be named and compared, got {raised(error)[:200]}") from error


def _around(data: Any, relation: str, group: int, records: str) -> list[Pair]:
    table = read_columns(data)
    require(len(table) >= group, "group", f"be at most the number of records, {len(table)}", group)
    ranges = [range_of(column) for column in table.values]
    makers = {"replace_one": [replacing], "add_or_remove_one": [adding]}.get(relation, [replacing, adding])
    turns = zip_longest(*(make(table, ranges, group) for make in makers))
    proposed = {made.words: made for turn in turns for made in turn if made is not None}.values()  # each of them once
    share = min(1.0, _CELLS / sum(_MOST.values()) / (len(table) * len(ranges)))
    pairs = []
    for kind in _MOST if records != "inside" else ["inside"]:
        for made in [p for p in proposed if p.kind == kind][: max(4, int(share * _MOST[kind]))]:
            ours = data if made.data is None else table.changed(*made.data)
            counted = "beyond" if records == "any" and kind == "not finite" else kind
            pairs.append(Pair(ours, table.changed(*made.neighbour), made.words, counted, made.outside))
    return pairs


def drawn(strategy: Any, count: int = 100, *, seed: int = 0) -> list[Pair]:
    """Draw pairs from a hypothesis strategy, for structured data.

    Parameters
    ----------
    strategy : hypothesis.strategies.SearchStrategy
        A strategy of tuples (data, neighbour).
    count : int
        How many pairs, at least 1.
    seed : int
        Seed of the draws.

    Returns
    -------
    list of Pair
        The pairs that were drawn.
    """
    import hypothesis

    require_work(count, "count")
    pairs: list[Pair] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, database=None, deadline=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(strategy)
    def collect(pair: tuple[Any, Any]) -> None:
        pairs.append(Pair(*pair, f"example {len(pairs)}"))

    collect()
    return pairs


@checked
def canary(
    mechanism: Callable[..., Any], dataset: Any, *, low: ArrayLike, high: ArrayLike, index: int = 0,
    vectorized: bool = False, steps: int = 20, seed: int = 0,
) -> Pair:  # fmt: skip
    """Find two records for one place of a dataset whose outputs lie far apart, by gradient ascent.

    Outputs are compared under the same randomness (equal streams), so that only the records matter. The gradient is
    taken by differences, from the farthest of some random corners, and projected onto the box.

    Parameters
    ----------
    mechanism : callable
        ``(dataset, rng) -> number or array``, or with ``vectorized`` ``(dataset, rng, size) -> array``.
    dataset : ndarray (n, ...) or list
        Records that are numbers or arrays of numbers.
    low, high : array_like
        Bounds on the record's entries, scalars or of its shape, low < high.
    index : int
        The record's place.
    vectorized : bool
        Whether one call of the mechanism returns ``size`` outputs.
    steps : int
        Steps of the ascent, >= 0.
    seed : int
        Seed of all randomness, >= 0.

    Returns
    -------
    Pair
        The dataset with either record.

    Raises
    ------
    InputError
        For arguments outside their domain, and for a mechanism that fails.
    """
    require_work(steps, "steps", least=0)
    require_seed(seed)
    require_count(index, "index", least=0)
    listed = hasattr(dataset, "__getitem__") and not hasattr(dataset, "keys")
    require(listed and has_records(dataset), "dataset", "hold records one after the other", type(dataset).__name__)
    require(index < len(dataset), "index", f"be below the number of records, {len(dataset)}", index)
    record = real_numbers(dataset[index], "the record")
    bounds = [real_numbers(bound, name) for name, bound in (("low", low), ("high", high))]
    fits = all(bound.shape in ((), record.shape) for bound in bounds)
    require(fits, "low and high", f"be numbers, or have the record's shape {record.shape}", [b.shape for b in bounds])
    low, high = (np.broadcast_to(bound, record.shape) for bound in bounds)
    require(bool((low < high).all()), "low", "lie below high", (low, high))
    runner = Runner(mechanism, (dataset, dataset), vectorized, seed)
    shape = (2, *record.shape)

    def distance(records: Floats) -> float:
        a, b = (
            runner.outputs(with_record(dataset, index, made), np.random.default_rng(seed), _COMPARED)
            for made in records
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
    ours, theirs = (with_record(dataset, index, made) for made in best)
    return Pair(ours, theirs, f"record {index}: {best[0].tolist()} against {best[1].tolist()}")


_COMPARED, _STARTS, _NUDGE, _FAR = 8, 12, 1e-3, 1e100


def with_record(dataset: Any, index: int, record: Any) -> Any:
    """Return a copy of ``dataset`` (array or list) with another record in one place, as exact as it is given."""
    try:
        copy = widened(dataset, record) if isinstance(dataset, np.ndarray) else list(dataset)
        copy[index] = record
    except (TypeError, ValueError) as error:
        raise InputError(f"records must fit into the dataset, got {raised(error)}") from error
    return copy


def with_records(data: Any, indices: Iterable[int], record: Any) -> Any:
    """Return a copy of ``data`` (array or list) with one record in several places."""
    copy = data.copy() if isinstance(data, np.ndarray) else list(data)
    for index in indices:
        copy[index] = record
    return copy


def without_record(data: Any, index: int) -> Any:
    """Return a copy of ``data`` (array or list) without one record."""
    return np.delete(data, index, axis=0) if isinstance(data, np.ndarray) else [*data[:index], *data[index + 1 :]]
