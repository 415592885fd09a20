"""Outcomes of any kind as rows of numbers: what a run returned, whatever its type, or that it raised.

An outcome is walked into numbers and statements, both under the path at which a user would find them: ``output['age']``
is a number, ``output['mode'] == 'B'`` a statement. A row holds the numbers, and then a code for each path that has a
statement. A code is a hash of its statement, so that a word never seen before has its own; two that coincide cost power
alone. Which paths have columns is learned on runs that test nothing, and fixed afterwards.
"""

from __future__ import annotations

import datetime
import enum
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.running.datasets import as_numpy
from dpcheck.errors import one_line, require

Floats = NDArray[np.float64]

# Columns of numbers and of codes at most, the entries of a list and of an array that have some, and the members of a
# list or set that are counted.
_NUMBERS, _CODES, _ENTRIES, _CELLS, _MEMBERS = 256, 64, 32, 256, 32
_DEEPEST, _LONGEST, _SHOWN = 16, 200, 100
_NUMBER, _IN_TEXT = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"), 8  # of a text's numbers so many have columns
_LABELS = 100_000  # statements that are remembered by their codes
_TYPE, _REST = "type(output)", "the rest of output"
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Raised:
    """The outcome of a run that raised."""

    kind: str
    words: str

    @classmethod
    def by(cls, error: BaseException) -> Raised:
        """Return the outcome of a run that raised this; of a long message its beginning."""
        return cls(type(error).__name__, _plain(one_line(error))[:_LONGEST])


def code(statement: str) -> float:
    """Return the number that stands for a statement, the same in every process: below 0 where a run raised."""
    digest = hashlib.blake2b(statement.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = 1.0 + (int.from_bytes(digest, "little") >> 12) * 2.0**-52
    return -number if statement.startswith("raises ") else number


@dataclass
class _Parts:
    """What an outcome is made of, by path; of members also what is written before and after one that is counted."""

    numbers: dict[str, float] = field(default_factory=dict)
    statements: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[tuple[str, str], list[str]]] = field(default_factory=dict)

    def walk(self, value: Any, path: str = "output", depth: int = 0) -> None:
        """Add a value and all that it holds."""
        require(depth <= _DEEPEST, "mechanism", f"return values that are nested at most {_DEEPEST} deep", path)
        kind, library = type(value).__name__, type(value).__module__.partition(".")[0]
        self.statements[f"type({path})"] = f"type({path}) is {kind}"
        if (tensor := as_numpy(value)) is not None:
            value = tensor[0]
        if value is None:
            self.statements[f"type({path})"] = f"{path} is None"
        elif isinstance(value, bool | np.bool_ | enum.Enum):
            self.statements[path] = f"{path} is {value}"
        elif isinstance(value, Raised):
            self.statements[_TYPE] = f"raises {value.kind}"
            self.walk(value.words, "str(error)", depth + 1)
        elif isinstance(value, str | bytes):
            self.statements[path] = f"{path} == {value!r}"
            if isinstance(value, str):
                self._text(value, path)
        elif isinstance(value, complex | np.complexfloating):
            self.walk(value.real, f"{path}.real", depth + 1)
            self.walk(value.imag, f"{path}.imag", depth + 1)
        elif isinstance(value, int | float | np.integer | np.floating | Decimal | Fraction):
            self._number(value, path)
        elif isinstance(value, datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64):
            self._date(value, path)
        elif isinstance(value, np.ndarray):
            self._array(value, path, depth)
        elif library == "pandas" and hasattr(value, "dtypes"):
            self._table(value, path, depth)
        elif library == "scipy" and hasattr(value, "tocoo"):
            self._sparse(value, path)
        elif isinstance(value, Mapping):
            self.statements[path] = f"list({path}) == {list(value)!r}"
            for key, item in value.items():
                self.walk(item, f"{path}[{key!r}]", depth + 1)
        elif isinstance(value, AnySet):
            self.numbers[f"len({path})"] = len(value)
            self.members[path] = ("", f" in {path}"), sorted(map(repr, value))
        elif isinstance(value, list | tuple | range) or (library == "pandas" and hasattr(value, "tolist")):
            self._entries(list(value), path, path, (f"{path}.count(", ")"), depth)
        else:
            self._object(value, path, depth)

    def _text(self, value: str, path: str) -> None:
        """Add the numbers in a text, and what it is without them."""
        numbers = _NUMBER.findall(value)
        self.numbers[f"len({path})"] = len(value)
        if numbers:
            self.statements[f"{path} without numbers"] = f"{path} is {_NUMBER.sub('#', value)!r} but for numbers"
            for i, number in enumerate(numbers[:_IN_TEXT]):
                self.numbers[f"number {i} in {path}"] = float(number)

    def _number(self, value: Any, path: str) -> None:
        try:
            near = float(value)
        except OverflowError:
            near = math.copysign(math.inf, value)
        except ValueError:  # a signalling NaN
            near = math.nan
        self.numbers[path] = near
        if near == near and (near != value or (isinstance(value, int) and abs(value) >= 2**53)):
            self.statements[path] = f"{path} == {value}"

    def _date(self, value: Any, path: str) -> None:
        self.statements[path] = f"{path} == {value}"
        if isinstance(value, np.datetime64 | np.timedelta64):
            unit = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
            value = value.astype(unit).item()
        if isinstance(value, datetime.timedelta):
            self.numbers[f"{path} in seconds"] = value.total_seconds()
        elif isinstance(value, datetime.date):  # also a datetime; neither NaT nor a time of day
            whole = (
                datetime.datetime(*value.timetuple()[:6], getattr(value, "microsecond", 0)) if value == value else None
            )
            self.numbers[f"{path} in days since 1970"] = (
                math.nan if whole is None else (whole - _EPOCH).total_seconds() / 86_400
            )

    def _array(self, value: NDArray[Any], path: str, depth: int) -> None:
        if isinstance(value, np.ma.MaskedArray):
            self.walk(np.ma.getmaskarray(value).tolist(), f"{path}.mask", depth + 1)
            value, path = np.ma.getdata(value), f"{path}.data"
        if value.dtype.names:
            for name in value.dtype.names:
                self.walk(value[name], f"{path}[{name!r}]", depth + 1)
            return
        self.statements[path] = f"{path}.shape == {value.shape} and {path}.dtype == {value.dtype}"
        if value.ndim == 0:
            self.walk(value.item() if value.dtype.kind != "M" else value[()], path, depth + 1)
        elif value.dtype.kind not in "biuf":
            entries = value.ravel().tolist() if value.dtype.kind not in "mM" else list(value.ravel())
            self._entries(entries, path, path, (f"list({path}).count(", ")"), depth)
        else:
            numbers = value.ravel().tolist()
            self._cells(zip(np.ndindex(value.shape), numbers, strict=True), path)
            self._ends([float(number) for number in numbers], path)
            if value.dtype.kind in "iu":
                self.members[path] = (f"({path} == ", ").sum()"), [str(number) for number in numbers]

    def _cells(self, cells: Iterable[tuple[Any, Any]], path: str) -> None:
        for place, cell in islice(cells, _CELLS):
            self._number(cell, f"{path}[{', '.join(map(str, place))}]")

    def _ends(self, numbers: list[float], path: str) -> None:
        if numbers:
            self.numbers |= {f"min({path})": min(numbers), f"max({path})": max(numbers), f"sum({path})": sum(numbers)}

    def _entries(self, values: list[Any], path: str, at: str, count: tuple[str, str], depth: int) -> None:
        """Add a list, whose entries are found ``at`` a place that may be another one than its path."""
        self.numbers[f"len({path})"] = len(values)
        for i, value in enumerate(values[:_ENTRIES]):
            self.walk(value, f"{at}[{i}]", depth + 1)
        plain: list[Any] = [v for v in values if isinstance(v, int | float | np.integer | np.floating)]
        if len(values) > 2:
            self._ends([float(v) for v in plain if -(2**53) < v < 2**53], path)
            self.members[path] = count, [repr(v) for v in values if not isinstance(v, float | np.floating)]

    def _table(self, value: Any, path: str, depth: int) -> None:
        if value.ndim == 2:
            names = list(value.columns)
            self.statements[path] = f"list({path}.columns) == {names!r}"
            self.statements[f"{path}.index"] = f"list({path}.index) == {value.index.tolist()!r}"
            self.numbers[f"len({path})"] = len(value)
            for k, name in enumerate(names):
                twice = names.count(name) > 1
                self.walk(value.iloc[:, k], f"{path}.iloc[:, {k}]" if twice else f"{path}[{name!r}]", depth + 1)
            return
        self.statements[path] = f"{path}.dtype == {value.dtype}"
        if value.name is not None and depth == 0:
            self.statements[f"{path}.name"] = f"{path}.name == {value.name!r}"
        if hasattr(value.dtype, "categories"):
            self.statements[f"{path}.dtype"] = f"list({path}.dtype.categories) == {list(value.dtype.categories)!r}"
        if depth == 0 and hasattr(value, "index"):
            self.statements[f"{path}.index"] = f"list({path}.index) == {value.index.tolist()!r}"
        self._entries(value.tolist(), path, f"{path}.iloc", (f"({path} == ", ").sum()"), depth)

    def _sparse(self, value: Any, path: str) -> None:
        entries = value.tocoo()
        places = sorted(zip(*(np.asarray(c).tolist() for c in entries.coords), entries.data.tolist(), strict=True))
        self.statements[path] = f"{path}.shape == {value.shape} and {path}.dtype == {value.dtype}"
        self.statements[f"{path}.nonzero()"] = f"{path}.nonzero() are {[tuple(p[:-1]) for p in places]}"
        self.numbers[f"{path}.nnz"] = len(places)
        self._cells(((place[:-1], place[-1]) for place in places), path)
        self._ends([float(place[-1]) for place in places], path)
        self.members[path] = ("", f" in zip(*{path}.nonzero())"), [str(tuple(place[:-1])) for place in places]

    def _object(self, value: Any, path: str, depth: int) -> None:
        if not repr(value).startswith("<") and not hasattr(value, "__dataclass_fields__"):
            self.statements[path] = f"{path} is {_plain(repr(value))}"
        held = getattr(value, "__dict__", None)
        if isinstance(value, Iterator) or callable(value) or (held is None and path not in self.statements):
            require(False, "mechanism", "return values that can be compared", f"{path}: {type(value).__name__}")
        for name, item in (held or {}).items():
            self.walk(item, f"{path}.{name}", depth + 1)


def kind_of(numbers: Any) -> Any:
    """Return what tells two arrays of one shape apart, beside their numbers: their type, and a table's labels."""
    if hasattr(numbers, "axes"):
        names = getattr(numbers, "name", None), *(axis.names for axis in numbers.axes)
        return (*map(tuple, numbers.axes), str(numbers.dtypes), str(names))
    return getattr(numbers, "dtype", None)


def _plain(text: str) -> str:
    """Leave the places in memory out, which differ from process to process."""
    return re.sub(r"0x[0-9a-fA-F]{6,}", "0x...", text)


def _parts(outcome: Any) -> _Parts:
    parts = _Parts()
    parts.walk(outcome)
    return parts


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


@dataclass
class Encoder:
    """Turns outcomes into rows.

    shape, kind : where every run returned numbers of this shape and kind; other outcomes then have two codes alone
    numbers, codes : the paths that have columns, and members
    usual : the statements that all runs made, by path
    labels : statements by their codes, as far as they are remembered
    """

    shape: tuple[int, ...] | None = None
    kind: Any = None
    numbers: tuple[str | _Count, ...] = ()
    codes: tuple[str | _Count, ...] = ()
    usual: dict[str, str] = field(default_factory=dict)
    labels: dict[float, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        counted = [(c.path, c.member) for c in (*self.numbers, *self.codes) if isinstance(c, _Count)]
        self._known: frozenset[Any] = frozenset([_TYPE, *self.numbers, *self.codes, *counted])

    @classmethod
    def learned(cls, outcomes: Sequence[Any], others: Sequence[Any]) -> Encoder:
        """Choose columns for what outcomes on the two datasets hold; the members that tell these apart come first."""
        parts = [_parts(outcome) for outcome in (*outcomes, *others)]
        numbers: list[str | _Count] = [*dict.fromkeys(chain.from_iterable(p.numbers for p in parts))]
        codes, usual = list[str | _Count](), dict[str, str]()
        for path in dict.fromkeys(chain.from_iterable(p.statements for p in parts)):
            made = Counter(p.statements[path] for p in parts if path in p.statements)
            if len(made) == 1:
                usual |= dict.fromkeys([path], *made)
            if path != _TYPE and (len(made) > 1 or (made.total() < len(parts) and not path.startswith("type("))):
                codes.append(path)
        codes.sort(key=usual.__contains__)  # those that are there or not, always the same, come last
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
        return cls(None, None, tuple(numbers[:_NUMBERS]), tuple(codes[:_CODES]), usual)

    @property
    def plain(self) -> bool:
        """Whether all runs that were learned from returned numbers of one shape."""
        return self.shape is not None

    @property
    def layout(self) -> Layout:
        """The columns of its rows."""
        if self.shape is not None:
            size = math.prod(self.shape)
            return Layout(size, 2, size, ("output",) if size == 1 else ())
        numbers, codes = len(self.numbers), 2 + len(self.codes)
        columns = *self.numbers, _TYPE, _REST, *self.codes
        names = tuple(_short(c if isinstance(c, str) else c.name) for c in columns)
        return Layout(numbers, codes, numbers + codes, names)

    def said(self, rows: Floats) -> str:
        """Say of what kind the first of these rows is."""
        kind = rows[0, self.layout.numbers] if rows.shape[1] == self.layout.full else 0.0
        return f"an outcome with {self.labels[kind]}" if kind in self.labels else "another outcome"

    def __call__(self, outcome: Any) -> Floats:
        """Return the row of an outcome, codes and all."""
        parts = _parts(outcome)
        counts = {path: Counter(members) for path, (_, members) in parts.members.items()}
        made = parts.statements
        row = [math.nan] * (0 if self.shape is None else math.prod(self.shape))
        for c in self.numbers:
            if isinstance(c, str):
                row.append(parts.numbers.get(c, math.nan))
            else:
                row.append(counts[c.path][c.member] if c.path in counts else math.nan)
        said = [made.get(c, "") if isinstance(c, str) else self._whether(c, counts) for c in self.codes]
        rest = [s for path, s in made.items() if path not in self._known and self.usual.get(path) != s]
        if self.plain:  # the numbers have no columns either
            rest = [f"{path} == {n:g}" for path, n in parts.numbers.items() if path.startswith("len(")] + [
                statement for statement in rest if not statement.startswith("type(")
            ]
        for path in parts.members:
            rest += [f"{member} in {path}" for member in sorted(counts[path]) if (path, member) not in self._known]
        return np.array([*row, *map(self._code, [made[_TYPE], " and ".join(rest), *said])])

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
        return f"output[{column}]" if past < 0 else (_TYPE, _REST)[past]
