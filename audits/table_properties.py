"""What a table shows besides its numbers: columns, types, bounds, order, missing cells; and events on that."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dpcheck.audits.limits import score
from dpcheck.audits.running.datasets import as_numpy, brief

Properties = dict[tuple[str, str], Any]  # place in the output, and property -> its value
_ABSENT, _RAISES = object(), ("", "raises")
PER_PROPERTY = 2  # events at most: the one that the data explain may be the second after a chance
_MANY, _FEW = 20_000, 100  # distinct values beyond which they, or their order, are not compared
# A property: how to say that it is, holds, or is at least (below) a value; what to do where it follows the records.
TOPICS = {
    "raises": ("the pipeline raises {}", "catch the error and return what does not depend on the records"),
    "kind": ("{} is a {}", "return one kind of object on all data"),
    "type": ("{}.dtype == {!r}", "cast to a fixed type"),
    "values": ("{1!r} in {0}", "take the values from a public list or a noisy model, and copy none from the records"),
    "order": ("the order in {} is {}", "sort by public values, or shuffle with rng"),
    "missing cells": ("row {1} of {0} is missing", "decide by rng alone which cells are missing"),
    "missing": ("{}.isna().sum() {} {}", "decide by rng alone which cells are missing"),
    "rows": ("len({}) {} {}", "return a fixed number of rows, or one that was released with noise"),
    "least": ("min({}) {} {}", "take the bounds from public knowledge, or release them with noise"),
    "greatest": ("max({}) {} {}", "take the bounds from public knowledge, or release them with noise"),
}
_SETS, _ORDERED = ("values", "missing cells"), ("missing", "rows", "least", "greatest")


@dataclass(frozen=True)
class Event:
    """A set of outputs: those in which a property ``is``, ``holds``, is at least (``>=``) or below (``<``) a value."""

    place: str
    topic: str
    relation: str
    value: Any

    @property
    def key(self) -> tuple[str, str]:
        """Where the property is found."""
        return self.place, self.topic

    def occurs(self, found: Properties) -> bool:
        """Say whether an output with these properties is in the set."""
        value = found.get(self.key, _ABSENT)
        if value is _ABSENT:
            return False
        if self.relation == "holds":
            return self.value in value
        return bool(value == self.value if self.relation == "is" else (value >= self.value) == (self.relation == ">="))

    def __str__(self) -> str:
        """Say it in the terms of the output."""
        said, output = TOPICS[self.topic][0], f"output{self.place}"
        if self.topic == "raises":
            return said.format(self.value)
        if self.topic in _ORDERED:
            return said.format(output, self.relation, brief(self.value))
        try:
            text = said.format(output, self.value)
        except Exception:  # an object whose own text raises
            text = said.format(output, brief(self.value))
        return text if len(text) <= 80 else f"{text[:77]}..."


def properties(output: Any) -> Properties:
    """Return what an output shows: a table, an array, a column, a number, or mappings and sequences of them."""
    found: Properties = {_RAISES: None}
    _collect(output, "", found)
    return found


def _collect(value: Any, place: str, found: Properties) -> None:
    found[place, "kind"] = type(value).__name__
    for name in ("to_pandas", "toarray"):  # tables of polars and pyarrow, sparse arrays
        value = getattr(value, name)() if hasattr(value, name) else value
    if (tensor := as_numpy(value)) is not None:
        value = tensor[0]
    parts: Mapping[Any, Any] | None = value if isinstance(value, Mapping) else None
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        parts = {name: value[name] for name in value.dtype.names}
    elif isinstance(value, np.ndarray) and value.ndim > 1:
        value = pd.DataFrame(value.reshape(len(value), -1))
    elif isinstance(value, list) and value and all(map(_is_record, value)):
        value = pd.DataFrame(value)
    elif isinstance(value, list | tuple) and not all(map(pd.api.types.is_scalar, value)):
        parts = dict(enumerate(value))
    if parts is not None:
        _column(pd.Series(list(parts)), f"{place}.keys()", found)
        for name, part in parts.items():
            _collect(part, f"{place}[{name!r}]", found)
        return
    if not isinstance(value, pd.DataFrame | pd.Series):
        value = pd.Series(np.ravel(value) if np.ndim(value) else [value])
    found[place, "rows"] = len(value)
    if not value.index.equals(pd.RangeIndex(len(value))):
        _column(value.index.to_series(), f"{place}.index", found)
    if isinstance(value, pd.Series):
        _column(value, place, found)
        return
    _column(pd.Series(list(value.columns)), f"{place}.columns", found)
    for k, (name, column) in enumerate(value.items()):
        again = 0 if value.columns.is_unique else list(value.columns[:k]).count(name)
        _column(column, f"{place}[{name!r}]" + f"[{again}]" * (again > 0), found)


def _is_record(row: Any) -> bool:
    cells = row.values() if isinstance(row, Mapping) else row
    return isinstance(row, Mapping | list | tuple) and all(map(pd.api.types.is_scalar, cells))


def _column(column: Any, place: str, found: Properties) -> None:
    found[place, "type"] = str(column.dtype)
    if isinstance(column.dtype, pd.CategoricalDtype):
        _column(column.cat.categories.to_series(), f"{place}.cat.categories", found)
    gaps = np.flatnonzero(column.isna())
    found[place, "missing"], found[place, "missing cells"] = gaps.size, frozenset(gaps.tolist())
    values = column.dropna().infer_objects() if gaps.size or column.dtype == object else column
    if getattr(values.dtype, "kind", "O") in "iufMm" and len(values):
        found[place, "least"], found[place, "greatest"] = values.min(), values.max()
    try:
        distinct = values.unique().tolist()
    except TypeError:  # lists in cells
        distinct = values.map(repr).unique().tolist()
    if len(distinct) <= _MANY:
        found[place, "values"] = frozenset(distinct)
    if len(distinct) <= _FEW:
        found[place, "order"] = tuple(distinct)


@dataclass(frozen=True)
class Candidate:
    """An event; how many runs it hits on the side where it is the more frequent one, and on the other."""

    event: Event
    side: int
    hits: tuple[int, int]
    strength: float


def above(x: int, y: int, runs: int, epsilon: float, delta: float) -> bool:
    """Say whether the shares of runs lie above what the claim allows."""
    return x > math.exp(min(epsilon, 700)) * y + delta * runs


def candidates(
    runs: Sequence[Properties], others: Sequence[Properties], epsilon: float, delta: float
) -> Iterator[Candidate]:
    """Yield for every property that differs though the noise is the same the events above the claim that tell best.

    runs, others : properties of outputs on either data set; those at one place were made from one random stream
    """

    @cache  # there are many events, and few numbers of hits
    def strength(x: int, y: int) -> float:
        return float(score(max(x, y), min(x, y), len(runs), 1.0, delta))

    for key in dict.fromkeys(key for run in (*runs, *others) for key in run):
        a, b = ([run.get(key, _ABSENT) for run in side] for side in (runs, others))
        fails = [
            key[1] != "raises" and (run[_RAISES] or other[_RAISES]) for run, other in zip(runs, others, strict=True)
        ]
        if all(fail or one is other or one == other for fail, one, other in zip(fails, a, b, strict=True)):
            continue  # what is missing because a run raised shows nothing more than that
        there = [[value for value in side if value is not _ABSENT and value is not None] for side in (a, b)]
        likely = (e for e in _counted(key[1], *there) if above(max(e[2:]), min(e[2:]), len(runs), epsilon, delta))
        for relation, value, x, y in heapq.nlargest(PER_PROPERTY, likely, key=lambda event: strength(*event[2:])):
            yield Candidate(Event(*key, relation, value), int(y > x), (max(x, y), min(x, y)), strength(x, y))


def _counted(topic: str, a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[str, Any, int, int]]:
    """Yield events on one property, as relation and value, with their hits on either side."""
    if topic in _ORDERED:
        kinds = {isinstance(value, int | float | np.number) for value in (*a, *b)}
        for low, high in itertools.pairwise(sorted({*a, *b}) if len(kinds) == 1 else ()):  # dates are not numbers
            cut = low + (high - low) / 2
            x, y = (int(sum(value >= cut for value in side)) for side in (a, b))
            yield ">=", cut, x, y
            yield "<", cut, len(a) - x, len(b) - y
        return
    relation, inner = ("holds", itertools.chain.from_iterable) if topic in _SETS else ("is", iter)
    in_a, in_b = Counter(inner(a)), Counter(inner(b))
    yield from ((relation, value, in_a[value], in_b[value]) for value in {**in_a, **in_b})
