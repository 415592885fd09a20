"""Outcomes of any kind, taken apart: what a run returned, whatever its type, or that it raised.

An outcome is walked into numbers and statements, both under the path at which a user would find them: ``output['age']``
is a number, ``output['mode'] == 'B'`` a statement. Of lists and sets also the members are known.
"""

from __future__ import annotations

import datetime
import enum
import math
import re
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from collections.abc import Set as AnySet
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import unread
from dpcheck.audits.running.datasets import as_numpy
from dpcheck.errors import InputError, one_line, raised, require

# The entries of a list that are looked at one by one whatever they are, and the cells of a sparse array.
_ENTRIES, _CELLS = 32, 256
_DEEPEST, _LONGEST = 16, 200
_NUMBER, _IN_TEXT = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"), 8  # so many of a text's numbers are looked at
TYPE = "type(output)"
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


@dataclass
class Parts:
    """What an outcome is made of, by path; of members also what is written before and after one that is counted.

    arrays : the numbers of arrays and of long lists, under the path before their index
    """

    numbers: dict[str, float] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    statements: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[tuple[str, str], list[str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, outcome: Any) -> Parts:
        """Take an outcome apart."""
        parts = cls()
        try:
            parts.walk(outcome)
        except InputError:
            raise
        except Exception as error:  # of an object's own code
            raise InputError(f"mechanism must return values that can be compared, got {raised(error)}") from error
        return parts

    def walk(self, value: Any, path: str = "output", depth: int = 0) -> None:
        """Add a value and all that it holds."""
        require(depth <= _DEEPEST, "mechanism", f"return values that are nested at most {_DEEPEST} deep", path)
        self.statements[f"type({path})"] = f"type({path}) is {type(value).__name__}"
        if (tensor := as_numpy(value)) is not None:
            value = tensor[0]
        elif isinstance(value, ItemsView | ValuesView):
            value = list(value)
        if value is None:
            self.statements[f"type({path})"] = f"{path} is None"
        elif isinstance(value, bool | np.bool_ | enum.Enum):
            self.statements[path] = f"{path} is {value}"
        elif isinstance(value, Raised):
            self.statements[TYPE] = f"raises {value.kind}"
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
        elif hasattr(value, "dtypes") and _is_of("pandas", value):
            self._table(value, path, depth)
        elif hasattr(value, "tocoo") and _is_of("scipy", value):
            self._sparse(value, path)
        elif isinstance(value, Mapping):
            self.statements[path] = f"list({path}) == [{', '.join(map(_member, value))}]"
            for key, item in value.items():
                self.walk(item, f"{path}[{_member(key)}]", depth + 1)
        elif isinstance(value, AnySet):
            self.numbers[f"len({path})"] = len(value)
            self.members[path] = ("", f" in {path}"), sorted(map(_member, value))
        elif isinstance(value, list | tuple | range) or (hasattr(value, "tolist") and _is_of("pandas", value)):
            self._entries(list(value), path, path, (f"{path}.count(", ")"), depth)
        elif hasattr(value, "__array__"):
            self._array(_read(value), path, depth)
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
        number = self.numbers[path] = near(value)
        if number == number and (number != value or (isinstance(value, int) and abs(value) >= 2**53)):
            self.statements[path] = f"{path} == {value}"

    def _date(self, value: Any, path: str) -> None:
        self.statements[path] = f"{path} == {value}"
        if isinstance(value, np.datetime64 | np.timedelta64):
            unit = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
            value = value.astype(unit).item()
        if isinstance(value, datetime.timedelta):
            self.numbers[f"{path} in seconds"] = value.total_seconds()
        elif isinstance(value, datetime.date):  # also a datetime; neither NaT nor a time of day
            days = math.nan
            if value == value:
                whole = datetime.datetime(*value.timetuple()[:6], getattr(value, "microsecond", 0))
                days = (whole - _EPOCH).total_seconds() / 86_400
            self.numbers[f"{path} in days since 1970"] = days

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
            self.arrays[path] = value
            self._ends(value.ravel(), path)
            if value.dtype.kind in "iu":
                numbers = value.ravel().tolist()
                self.members[path] = (f"({path} == ", ").sum()"), [str(number) for number in numbers]
                if numbers and max(map(abs, numbers)) >= 2**53:
                    self._cells(zip(np.ndindex(value.shape), numbers, strict=True), path)

    def _cells(self, cells: Iterable[tuple[Any, Any]], path: str) -> None:
        for place, cell in islice(cells, _CELLS):
            self._number(cell, f"{path}[{', '.join(map(str, place))}]")

    def _ends(self, numbers: Any, path: str) -> None:
        if len(numbers):
            with np.errstate(over="ignore", invalid="ignore"):
                held = np.asarray(numbers, dtype=np.float64)
                low, high, total = np.fmin.reduce(held), np.fmax.reduce(held), held.sum()
            ends = {f"min({path})": low, f"max({path})": high, f"sum({path})": total}
            self.numbers |= {name: float(number) for name, number in ends.items()}

    def _entries(self, values: list[Any], path: str, at: str, count: tuple[str, str], depth: int) -> None:
        """Add a list, whose entries are found ``at`` a place that may be another one than its path."""
        self.numbers[f"len({path})"] = len(values)
        for i, value in enumerate(values[:_ENTRIES]):
            self.walk(value, f"{at}[{i}]", depth + 1)
        plain: list[Any] = [v for v in values if isinstance(v, int | float | np.integer | np.floating)]
        if len(plain) == len(values) > _ENTRIES:
            self.arrays[at] = np.array([near(v) for v in values])
        if len(values) > 2:
            self._ends([float(v) for v in plain if -(2**53) < v < 2**53], path)
            self.members[path] = count, [_member(v) for v in values if not isinstance(v, float | np.floating)]

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
        """Add an object by its attributes, and by what pickling keeps beside them: its words alone may hide numbers."""
        if not repr(value).startswith("<") and not hasattr(value, "__dict__"):
            self.statements[path] = f"{path} is {_plain(repr(value))}"
        try:
            made: Any = None if isinstance(value, Iterator) or callable(value) else value.__reduce_ex__(2)
        except Exception:
            made = None
        comparable = made is not None and type(value) is not object
        require(comparable, "mechanism", "return values that can be compared", f"{path}: {type(value).__name__}")
        if isinstance(made, str):  # the only one of its name
            self.statements[path] = f"{path} is {made}"
            return
        _, arguments, state, *items = (*made, None, None, None)[:5]
        held = getattr(value, "__dict__", {}) | {
            name: getattr(value, name) for name in getattr(value, "__dataclass_fields__", ()) if hasattr(value, name)
        }
        for kept in state if isinstance(state, tuple) else (state,):  # of a class with slots there are two
            if isinstance(kept, dict) and all(isinstance(name, str) for name in kept):
                held |= kept
            elif kept is not None:
                items.append([kept])
        if held:
            self.statements[f"vars({path})"] = f"list(vars({path})) == {list(held)!r}"
        for name, item in held.items():
            self.walk(item, f"{path}.{name}", depth + 1)
        beside: list[Any] = [argument for argument in arguments if not isinstance(argument, type)]
        beside += [list(entries) for entries in items if entries is not None]
        if beside:
            self.walk(beside, f"{path}.__reduce_ex__(2)", depth + 1)


def _is_of(library: str, value: Any) -> bool:
    return any(cls.__module__.partition(".")[0] == library for cls in type(value).__mro__)


def _member(value: Any) -> str:
    """Write a member of a list or set, the same in every process; an object by what it holds."""
    if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_member, value))})"
    if isinstance(value, AnySet):
        return f"{{{', '.join(sorted(map(_member, value)))}}}"
    parts = Parts.of(value)
    held = [*parts.statements.values(), *(f"{path} == {number!r}" for path, number in parts.numbers.items())]
    held += [f"{path} == {array.tolist()}" for path, array in parts.arrays.items()]
    return f"{type(value).__name__}({', '.join(held[1:])})"


def _read(value: Any) -> NDArray[Any]:
    """Return the array of another library's; what does not give it up is refused, since its numbers would go unseen."""
    try:
        return np.asarray(value)
    except Exception as error:
        raise InputError(f"mechanism must return a number or an array, got {unread(value, error)}") from error


def near(value: Any) -> float:
    """Return the float nearest to a number."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
    except ValueError:  # a signalling NaN
        return math.nan


def _plain(text: str) -> str:
    """Leave the places in memory out, which differ from process to process."""
    return re.sub(r"0x[0-9a-fA-F]{6,}", "0x...", text)
