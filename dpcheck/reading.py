"""What comes from outside, read: a file's content has the declared types, or one sentence says where it has not.

The sentence is ``FILE: PLACE must EXPECTED, got WRONG``, an :class:`~dpcheck.errors.InputError`. Nothing that is read
is run, is larger than :data:`LARGEST`, or is nested deeper than anybody needs.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from datetime import date
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dpcheck.errors import InputError, is_finite, one_line, require
from dpcheck.running.confined import memory_in_use
from dpcheck.shown import unmarked

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 500_000_000  # bytes of a file
_LARGEST_SETTINGS = 1_000_000  # of one that people write, whose parser is slow
_DEEPEST = 64  # levels; as many axes as an array can have
_DIGITS = 400
# Where there is none of these, every number is finite and short, and they need not be looked at one by one. Each
# begins with the signs that it may begin with, which is what makes the search fast.
_LONG = (re.compile(r"[0-9](?<![0-9][0-9])[0-9]{307}"), re.compile(r"[eE]\+?[0-9]{3}"))
_DOTTED = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{_DEEPEST + 1}}}")
_PLAIN = frozenset({dict, list, str, int, float, bool, NoneType})
WORDS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}  # numbers that JSON lacks
Record = TypeVar("Record")


@contextmanager
def within(file: str | Path) -> Iterator[None]:
    """Begin the sentence of whoever reads a file with its name."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{one_line(file)[:200]}: {error}") from error


# Files


def content_of(path: str | Path, name: str = "the file", largest: int = LARGEST) -> bytes:
    """Return the bytes of a file that has an end; InputError for any other."""
    try:
        kind = os.stat(path).st_mode
        named_pipe = stat.S_ISFIFO(kind) and not str(path).startswith(("/dev/", "/proc/"))
        endless = stat.S_ISBLK(kind) or (stat.S_ISCHR(kind) and not os.path.samestat(os.stat(path), os.fstat(0)))
        require(not (named_pipe or endless), name, "have an end", "a pipe" if named_pipe else "a device")
        with open(path, "rb") as stream:
            content = stream.read(largest + 1)
    except (OSError, ValueError) as error:  # a name with a null character
        if isinstance(error, InputError):
            raise
        why = error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)
        raise InputError(f"{name} must be readable, got: {why}") from error
    require(len(content) <= largest, name, f"hold at most {largest // 1_000_000} megabytes", "more")
    return content


def text_of(path: str | Path, name: str = "the file", largest: int = LARGEST) -> str:
    """Return the text of a file, with or without the mark that some editors begin it with."""
    content = content_of(path, name, largest)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        wrong = f"byte {error.object[error.start]:#x} at {error.start}"
        raise InputError(f"{name} must be text in UTF-8, got {wrong}") from error


def array_of(path: str | Path, name: str = "the file") -> NDArray[Any]:
    """Return the array of a .npy file."""
    import numpy as np

    require(os.path.isfile(path), name, "be an existing file of NumPy", path)
    try:
        found = np.load(path, allow_pickle=False)
    except Exception as error:  # what a damaged header makes of NumPy's parsers
        raise InputError(f"{name} must hold an array of NumPy, got: {one_line(error)[:200]}") from error
    require(isinstance(found, np.ndarray), name, "hold one array of NumPy", type(found).__name__)
    array: NDArray[Any] = found
    return array


def parquet_of(path: str | Path, name: str = "the file") -> Any:
    """Return the table of a Parquet file, which a few bytes may state to be larger than any memory."""
    import pandas as pd

    require(os.path.isfile(path), name, "be an existing file of Parquet", path)
    try:
        from pyarrow import parquet

        stated = parquet.read_metadata(path)
        twice = [column for column, count in Counter(stated.schema.to_arrow_schema().names).items() if count > 1]
        require(not twice, name, "have each column once", f"{', '.join(twice)} twice")
        groups = map(stated.row_group, range(stated.num_row_groups))
        chunks = (group.column(number) for group in groups for number in range(stated.num_columns))
        cells = max(sum(chunk.num_values for chunk in chunks), stated.num_rows)
        most = LARGEST // 8
        require(cells <= most, name, f"hold at most {most:,} numbers and texts", f"{cells:,}")
        with _memory(4 * LARGEST):
            table = pd.read_parquet(path, engine="pyarrow", use_threads=False)
    except ImportError as error:
        must = f"{name} must be read with pyarrow, which is not installed: pip install 'dpcheck[parquet]'"
        raise InputError(must) from error
    except InputError:
        raise
    except MemoryError as error:
        room = f"be read within {4 * LARGEST // 1_000_000:,} megabytes"
        raise InputError(f"{name} must {room}, got one that takes more") from error
    except Exception as error:  # of pyarrow, whose errors have no common kind
        raise InputError(f"{name} must be Parquet, got: {one_line(error)[:200]}") from error
    require(table.size > 0, name, "have rows", f"{len(table)} of {table.shape[1]} columns")
    return table


@contextmanager
def _memory(more: int) -> Iterator[None]:
    """Let this process take so many bytes more at most, where the system holds it to that."""
    used = memory_in_use()
    if used is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = min(limit for limit in (used + more, soft, hard) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# Texts


def json_of(text: str, name: str, wanted: str = "be JSON") -> Any:
    """Return the value of a JSON text; InputError, by ``name``, if it is not as ``wanted``."""
    long = any(pattern.search(text) for pattern in _LONG)
    numbers: dict[str, Any] = {"parse_int": _whole, "parse_float": _float} if long else {}
    try:
        value = json.loads(text, object_pairs_hook=_once, **numbers)
    except RecursionError:
        raise InputError(f"{name} must be nested at most {_DEEPEST} levels deep, got more") from None
    except InputError as error:  # of a number or an object
        raise InputError(f"{name}: {error}") from None
    except ValueError as error:
        raise InputError(f"{name} must {wanted}, got {one_line(text[:80])}: {one_line(error)}") from error
    return _plain(value, name)


def toml_of(path: str | Path, table: str) -> Any:
    """Return a table such as ``"tool.dpcheck"`` of a file in TOML; an empty one where it is missing."""
    import tomllib  # here, so that the command's help waits for no parser

    text = text_of(path, largest=_LARGEST_SETTINGS)
    if _DOTTED.search(text):  # on which the parser takes all time and memory
        raise InputError(f"the file must be nested at most {_DEEPEST} levels deep, got more")
    try:
        found: Any = tomllib.loads(text)
    except RecursionError:
        raise InputError(f"the file must be nested at most {_DEEPEST} levels deep, got more") from None
    except ValueError as error:  # a number with thousands of digits, too
        raise InputError(f"the file must be TOML, got: {one_line(error)}") from error
    place = ""
    for name in table.split("."):
        place = f"{place}.{name}" if place else name
        found = found.get(name, {})
        require(isinstance(found, dict), f"[{place}]", "be a table", shown(found))
    return _plain(found, f"[{table}]")


def rows_of(text: str, name: str = "the file", separator: str = ",") -> list[list[str]]:
    """Return the cells of each line of a text with a separator between them."""
    try:
        lines = [*csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True, strict=True)]
    except csv.Error as error:
        raise InputError(f"{name} must be a table, got: {one_line(error)}") from error
    return [[*map(unmarked, line)] for line in lines]


def _whole(text: str) -> int:
    require(len(text) <= _DIGITS, "a number", f"have at most {_DIGITS} digits", f"{len(text)}")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    require(is_finite(value), "a number", "be one that 64 bits hold", text[:40])
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields, none of which may be there twice: readers differ in which of them counts."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = sorted(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        require(False, "an object", "have each field once", f"{', '.join(twice)} twice")
    return made


def _plain(value: Any, name: str) -> Any:
    """Require that it is not nested too deep, and holds neither dates nor anything else that JSON lacks."""
    level: list[Any] = [[value]]
    for _ in range(_DEEPEST + 1):
        inner: list[Any] = []
        for held in level:
            values = held.values() if isinstance(held, dict) else held
            kinds = set(map(type, values))
            for odd in kinds - _PLAIN:
                require(False, name, "hold numbers, texts, true and false, lists and tables", f"a {odd.__name__}")
            if dict in kinds or list in kinds:
                inner += [part for part in values if isinstance(part, dict | list)]
        if not inner:
            return value
        level = inner
    raise InputError(f"{name} must be nested at most {_DEEPEST} levels deep, got more")


# Values


def record_of(kind: type[Record], value: Any, place: str, *, others: bool = True) -> Record:
    """Return a dataclass from an object that holds its fields by name; may it hold ``others``, they are left out."""
    require(isinstance(value, dict), place, "be an object", shown(value))
    hints = _hints(kind)  # type: ignore[arg-type]  # a class has a hash
    unknown = sorted(value.keys() - hints.keys())
    require(others or not unknown, place, f"hold {', '.join(sorted(hints))}", ", ".join(unknown))
    for part in fields(kind):  # type: ignore[arg-type]  # a dataclass
        needed = part.default is MISSING and part.default_factory is MISSING
        require(not needed or part.name in value, place, f"have {part.name}", f"only {', '.join(value)}")
    return kind(**{name: typed(hints[name], value[name], f"{place}.{name}") for name in hints if name in value})


def typed(kind: Any, value: Any, place: str) -> Any:
    """Return a value that JSON or TOML holds as the declared type has it; InputError names the place."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        [kind] = set(parts) - {NoneType}
        return None if value is None else typed(kind, value, place)
    if origin is Literal:
        require(value in parts, place, f"be one of {', '.join(parts)}", shown(value))
    elif origin in (list, tuple):
        require(isinstance(value, list), place, "be a list", shown(value))
        return origin(typed(parts[0], part, f"{place}[{number}]") for number, part in enumerate(value))
    elif origin is dict:
        require(isinstance(value, dict), place, "be an object", shown(value))
        return {name: typed(parts[1], part, f"{place}.{name}") for name, part in value.items()}
    elif kind is float:
        words = isinstance(value, str) and value in WORDS
        require(words or is_finite(value), place, f"be a number or one of {', '.join(WORDS)}", shown(value))
        return WORDS[value] if words else float(value)
    elif kind is date:
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            require(False, place, "be a date such as 2030-12-31", shown(value))
    elif kind in _NAMES:
        require(type(value) is kind, place, f"be {_NAMES[kind]}", shown(value))
    elif kind is not Any:
        return record_of(kind, value, place)
    return value


_NAMES: dict[Any, str] = {str: "a text", int: "a whole number", bool: "true or false"}


def shown(value: Any) -> str:
    """Return a wrong value on one line, a text in quotes; of what holds others, what it is."""
    return {dict: "an object", list: "a list", NoneType: "nothing"}.get(type(value)) or one_line(repr(value))[:80]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {part.name: hints[part.name] for part in fields(kind)}
