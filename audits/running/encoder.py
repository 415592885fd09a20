"""Outcomes of any kind as rows of numbers, with columns that are learned on runs that test nothing.

A row holds the numbers of an outcome, and then a code for each path that has a statement. A code is a hash of its
statement, so that a word never seen before has its own; two that coincide cost power alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import Floats
from dpcheck.audits.running.outcomes import TYPE, Parts
from dpcheck.errors import one_line, require

# Columns of numbers and of codes at most, and the members of a list or set that are counted.
_NUMBERS, _CODES, _MEMBERS = 256, 64, 32
_GLANCED = 2**14  # cells of an array among which those are chosen
_SHOWN, _LABELS = 100, 100_000  # characters of a statement, and statements that are remembered by their codes
_REST = "the rest of output"


def code(statement: str) -> float:
    """Return the number that stands for a statement, the same in every process: below 0 where a run raised."""
    digest = hashlib.blake2b(statement.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = 1.0 + (int.from_bytes(digest, "little") >> 12) * 2.0**-52
    return -number if statement.startswith("raises ") else number


@dataclass(frozen=True)
class Layout:
    """What the columns of rows are: numbers, and then codes.

    width : columns of a row; of a mechanism that returns numbers of one shape ``numbers``, where nothing else came
    names : of the columns, as the user would write them; of numbers none where they are ``output[i]``
    """

    numbers: int
    codes: int = 0
    width: int = 0
    names: tuple[str, ...] = ()

    @property
    def full(self) -> int:
        """The number of columns with the codes."""
        return self.numbers + self.codes

    def raised(self, rows: Floats) -> int:
        """Return how many of the runs raised."""
        return int((rows[:, self.numbers] < 0).sum()) if self.codes and rows.shape[1] == self.full else 0

    def fitted(self, rows: Floats, width: int) -> Floats:
        """Return rows of another width, cut off or with the codes of what is usual, 0."""
        known = rows.shape[1]
        require(known == width or {known, width} == {self.numbers, self.full}, "mechanism",
                "return outputs of one shape (padded with nan)", f"{width} and {known} numbers")  # fmt: skip
        return rows if known == width else rows[:, :width] if known > width else np.pad(rows, ((0, 0), (0, self.codes)))


@dataclass(frozen=True)
class _Count:
    """A column that counts a member of the list or set at a path."""

    path: str
    member: str
    name: str


@dataclass(frozen=True)
class _Cell:
    """A column of one number in the array at a path."""

    path: str
    place: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.path}[{', '.join(map(str, self.place))}]"

    def of(self, arrays: Mapping[str, NDArray[Any]]) -> float:
        """Return the number, NaN where there is none."""
        array = arrays.get(self.path)
        fits = array is not None and array.ndim == len(self.place) and all(map(int.__lt__, self.place, array.shape))
        return float(array[self.place]) if array is not None and fits else math.nan


def _cells(parts: Sequence[Parts], ours: int) -> list[_Cell]:
    """Return the cells of all arrays, of an array of many those that tell the first ``ours`` from the others best."""
    extents = dict[tuple[str, int], tuple[int, ...]]()
    for path, array in chain.from_iterable(p.arrays.items() for p in parts):
        extent = extents.get((path, array.ndim), array.shape)
        extents[path, array.ndim] = tuple(map(max, extent, array.shape))
    cells = list[_Cell]()
    for (path, ndim), extent in extents.items():
        values = np.full((len(parts), min(math.prod(extent), _GLANCED)), math.nan)
        for row, held in zip(values, (p.arrays.get(path) for p in parts), strict=True):
            if held is not None and held.ndim == ndim:
                whole = np.pad(held.astype(np.float64), [(0, n - m) for n, m in zip(extent, held.shape, strict=True)],
                               constant_values=math.nan) if held.shape != extent else held  # fmt: skip
                row[:] = whole.ravel()[:_GLANCED]
        best = _telling(values, ours) if values.shape[1] > _NUMBERS else range(values.shape[1])
        cells += [_Cell(path, tuple(map(int, np.unravel_index(i, extent)))) for i in best]
    return cells


def _telling(values: Floats, ours: int) -> list[int]:
    """Return the columns (n, k) that tell the first rows from the others best, by place and by spread of the ranks."""
    from scipy.stats import rankdata

    ranks = rankdata(np.where(np.isnan(values), np.inf, values), axis=0) - (len(values) + 1) / 2
    apart = [np.abs(r[:ours].mean(axis=0) - r[ours:].mean(axis=0)) for r in (ranks, 2 * np.abs(ranks))]
    return sorted(np.argsort(-np.maximum(*apart), kind="stable")[:_NUMBERS].tolist())


@dataclass
class Encoder:
    """Turns outcomes into rows.

    shape, kind, types : where every run returned numbers of this shape and kind; others then have two codes alone
    numbers, codes : the paths that have columns, and members
    usual : the statements that all runs made, by path
    labels : statements by their codes, as far as they are remembered
    """

    shape: tuple[int, ...] | None = None
    kind: Any = None
    types: frozenset[str] = frozenset()
    numbers: tuple[str | _Cell | _Count, ...] = ()
    codes: tuple[str | _Count, ...] = ()
    usual: dict[str, str] = field(default_factory=dict)
    labels: dict[float, str] = field(default_factory=dict, repr=False)

    @cached_property
    def _known(self) -> frozenset[Any]:
        counted = [(c.path, c.member) for c in (*self.numbers, *self.codes) if isinstance(c, _Count)]
        return frozenset([TYPE, *self.numbers, *self.codes, *counted])

    @classmethod
    def learned(cls, outcomes: Sequence[Any], others: Sequence[Any]) -> Encoder:
        """Choose columns for what outcomes on the two datasets hold; the members that tell these apart come first."""
        parts = [Parts.of(outcome) for outcome in (*outcomes, *others)]
        paths = dict.fromkeys(chain.from_iterable(p.numbers for p in parts))
        numbers: list[str | _Cell | _Count] = [c for c in _cells(parts, len(outcomes)) if c.name not in paths]
        numbers += paths
        if len(numbers) > _NUMBERS:
            values = np.array([[_number(c, p) for c in numbers] for p in parts])
            numbers = [numbers[i] for i in _telling(values, len(outcomes))]
        most = len(numbers) + 4 * _MEMBERS
        codes, usual = list[str | _Count](), dict[str, str]()
        for path in dict.fromkeys(chain.from_iterable(p.statements for p in parts)):
            made = {p.statements[path] for p in parts if path in p.statements}
            if len(made) == 1:
                usual[path] = made.pop()
            elif path != TYPE:
                codes.append(path)
        for path in dict.fromkeys(chain.from_iterable(p.members for p in parts)):
            sides = parts[: len(outcomes)], parts[len(outcomes) :]
            ours, theirs = (
                Counter(chain.from_iterable(set(p.members[path][1]) for p in side if path in p.members))
                for side in sides
            )
            times = ours + theirs
            before, after = next(p.members[path][0] for p in parts if path in p.members)
            best = sorted(times, key=lambda m: (-abs(ours[m] - theirs[m]), -times[m], m))[:_MEMBERS]
            (numbers if before else codes).extend(_Count(path, m, before + m + after) for m in best if times[m] > 1)
        return cls(numbers=tuple(numbers[:most]), codes=tuple(codes[:_CODES]), usual=usual)

    @property
    def layout(self) -> Layout:
        """The columns of its rows."""
        if self.shape is not None:
            size = math.prod(self.shape)
            return Layout(size, 2, size, ("output",) if size == 1 else ())
        numbers, codes = len(self.numbers), 2 + len(self.codes)
        columns = *self.numbers, TYPE, _REST, *self.codes
        names = tuple(_short(c if isinstance(c, str) else c.name) for c in columns)
        return Layout(numbers, codes, numbers + codes, names)

    def said(self, rows: Floats) -> str:
        """Say of what kind the first of these rows is."""
        kind = rows[0, self.layout.numbers] if rows.shape[1] == self.layout.full else 0.0
        return f"an outcome with {self.labels[kind]}" if kind in self.labels else "another outcome"

    def __call__(self, outcome: Any) -> Floats:
        """Return the row of an outcome, codes and all."""
        parts = Parts.of(outcome)
        counts = {path: Counter(members) for path, (_, members) in parts.members.items()}
        made = parts.statements
        row = [math.nan] * (0 if self.shape is None else math.prod(self.shape))
        for c in self.numbers:
            if isinstance(c, _Count):
                row.append(counts[c.path][c.member] if c.path in counts else math.nan)
            else:
                row.append(_number(c, parts))
        said = [made.get(c, "") if isinstance(c, str) else self._whether(c, counts) for c in self.codes]
        rest = [s for path, s in made.items() if path not in self._known and self.usual.get(path) != s]
        if self.shape is not None:  # the numbers have no columns either
            rest = [f"{path} == {n:g}" for path, n in parts.numbers.items() if path.startswith("len(")] + [
                statement for statement in rest if not statement.startswith("type(")
            ]
        for path in parts.members if self.shape is None or not rest else ():
            rest += [f"{member} in {path}" for member in sorted(counts[path]) if (path, member) not in self._known]
        kind = "" if type(outcome).__name__ in self.types else made[TYPE]
        return np.array([*row, *map(self._code, [kind, " and ".join(rest), *said])])

    @staticmethod
    def _whether(column: _Count, counts: Mapping[str, Counter[str]]) -> str:
        if column.path not in counts:
            return ""
        return column.name if column.member in counts[column.path] else f"not ({column.name})"

    def _code(self, statement: str) -> float:
        if not statement:
            return 0.0
        number = code(statement)
        if len(self.labels) < _LABELS:
            self.labels.setdefault(number, _short(statement))
        return number


def _number(column: str | _Cell | _Count, parts: Parts) -> float:
    return column.of(parts.arrays) if isinstance(column, _Cell) else parts.numbers.get(str(column), math.nan)


def _short(statement: str) -> str:
    text = one_line(statement)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} ... {text[-_SHOWN // 4 :]}"


_CODE = r"-?1\.\d{9,17}"
_ONE = rf"\{{(?:0|{_CODE})\}}"
_TOKENS = re.compile(
    rf"output\[(?P<code>\d+)\] (?P<no>not )?in (?P<codes>{_ONE}(?: or {_ONE})*)(?P<more> or \d+ more)?"
    rf"|output\[(?P<column>\d+)\](?P<nan> is (?:not )?nan)?|(?P<one>{_CODE})"
)


@dataclass(frozen=True)
class Naming:
    """Says sets of rows as the user would; ``labels`` are the statements behind the codes that are known."""

    layout: Layout
    labels: dict[float, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """Write names for columns and statements for codes."""
        return _TOKENS.sub(self._said, text)

    def unknown(self, text: str) -> list[float]:
        """Return the codes in a text whose statements are not known."""
        return [number for number in map(float, re.findall(_CODE, text)) if number not in self.labels]

    def _said(self, found: re.Match[str]) -> str:
        if found["code"] and int(found["code"]) >= self.layout.numbers:
            return self._any_of(found, self._column(int(found["code"])))
        if found["one"]:
            return self.labels.get(float(found["one"]), found["one"])
        column = int(found["code"] or found["column"])
        name = self._column(column)
        if found["code"]:
            return found[0].replace(f"output[{column}]", name, 1)
        return name + (f"{found['nan']} or missing" if found["nan"] == " is nan" else found["nan"] or "")

    def _any_of(self, found: re.Match[str], name: str) -> str:
        known = self.labels | {0.0: f"{name} is missing" if self.layout.names[1:] else "numbers as usual"}
        stated = [
            known.get(float(number), "another statement") for number in re.findall(rf"0\b|{_CODE}", found["codes"])
        ]
        text = " or ".join(dict.fromkeys(stated)) + (found["more"] or "")
        return f"not ({text})" if found["no"] else text

    def _column(self, column: int) -> str:
        if column < len(self.layout.names):
            return self.layout.names[column]
        past = column - self.layout.numbers
        return f"output[{column}]" if past < 0 else (TYPE, _REST)[past]
