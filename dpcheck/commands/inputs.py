"""What users write on the command line, read: settings, numbers, data sets, names of their own code."""

from __future__ import annotations

import json
import keyword
import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcheck.errors import InputError, one_line, raised, require, require_mechanism
from dpcheck.reading import array_of, json_of, parquet_of, rows_of, text_of, within
from dpcheck.shown import is_numeral

_LEVELS = "NAME=LEVELS, such as n=2^10..2^14, n=1000,2000,4000 or epsilon=.25..4"
_OPTIONS = ("problem", "variant", "epsilon", "delta", "seed")


def settings(parts: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE, where the value is a number, true or false, or a word."""
    values: dict[str, Any] = {}
    for part in parts:
        name, equals, text = part.partition("=")
        require(bool(equals) and name.isidentifier() and bool(text), "settings", "be NAME=VALUE", part)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        require(name not in values, "settings", f"say {name} once", part)
        require(name not in _OPTIONS, "settings", f"leave {name} to --{name}", part)
        values[name] = value
    return values


def parts(text: str) -> list[str]:
    """Split a text at its commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(parts: Sequence[str], name: str) -> dict[str, float]:
    """Read NAME=NUMBER, with whole numbers as such."""
    values = {}
    for part in parts:
        key, equals, text = part.partition("=")
        try:
            values[key] = int(text) if text.lstrip("+-").isdecimal() else float(text)
        except ValueError:
            equals = ""
        require(bool(equals) and bool(key), name, "be NAME=NUMBER", part)
    return values


def exponents(text: str) -> dict[str, float]:
    """Read NAME=NUMBER or NAME:NUMBER between commas, where the number may be a fraction such as -1/2."""
    values: dict[str, float] = {}
    for part in parts(text):
        name, _, number = part.replace(":", "=", 1).partition("=")
        name, (above, slash, below) = name.strip(), number.partition("/")
        require(name not in values, "claimed", f"say {name} once", part)
        try:
            values[name] = float(above) / (float(below) if slash else 1.0)
        except (ValueError, ZeroDivisionError) as error:
            raise InputError(f"claimed must be NAME=NUMBER, such as n=-1/2, got {one_line(part)}") from error
    return values


def levels(parts: Sequence[str]) -> dict[str, list[float]]:
    """Read NAME=LEVELS: numbers between commas, 2^10 among them, or LOW..HIGH, each twice the one before."""
    values: dict[str, list[float]] = {}
    for part in parts:
        name, equals, text = part.partition("=")
        require(bool(equals) and name.isidentifier(), "--vary", f"be {_LEVELS}", part)
        require(name not in values, "--vary", f"say {name} once", part)
        require(name not in ("problem", "variant", "seed"), "--vary", "be n, d, epsilon, delta or a setting", part)
        values[name] = []
        for piece in text.split(","):
            low, dots, high = piece.partition("..")
            rising = [_level(low, part)]
            last = _level(high, part) if dots else rising[0]
            while 0 < rising[-1] < last:
                rising.append(_plain(2 * rising[-1]))
            require(rising[-1] == last, "--vary", "double from the first of LOW..HIGH to the last", part)
            values[name] += rising
        require(len(set(values[name])) == len(values[name]), "--vary", "name each level once", part)
    return values


def _level(text: str, part: str) -> float:
    """Read a number such as .25, 1e-3 or 2^10, with whole numbers as such."""
    base, power, exponent = text.partition("^")
    try:
        value = float(base) ** float(exponent) if power else float(base)
    except (ValueError, ArithmeticError) as error:
        raise InputError(f"--vary must be {_LEVELS}, got {one_line(part)}") from error
    require(isinstance(value, float) and math.isfinite(value), "--vary", f"be {_LEVELS}", part)
    return _plain(value)


def _plain(value: float) -> float:
    """Return a whole number as such."""
    return int(value) if float(value).is_integer() else value


def named(path: str, what: str) -> Any:
    """Import MODULE:NAME, found on the path or in the working folder, or the NAME of a FILE.py."""
    import importlib

    module_name, colon, attribute = path.partition(":")
    require(bool(module_name) and bool(colon) and bool(attribute), what, "be MODULE:NAME or FILE.py:NAME", path)
    file = Path(module_name) if module_name.endswith(".py") else None
    if file is not None:
        require(file.is_file(), what, "name an existing file", module_name)
        folder, module_name = _home(file.resolve())
    sys.path.insert(0, str(Path.cwd() if file is None else folder))
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too
        raise InputError(f"{what} must name an importable module, got {module_name}: {raised(error)}") from error
    if file is not None:
        imported = getattr(module, "__file__", None)
        same = imported is not None and Path(imported).resolve() == file.resolve()
        require(same, what, f"be in a file whose name no other module has, since {imported} is imported", file)
    require(hasattr(module, attribute), what, f"be a name in {module_name}", attribute)
    return getattr(module, attribute)


def _home(file: Path) -> tuple[Path, str]:
    """Return the folder that a file is imported from, above its packages, and its name there."""
    folder, names = file.parent, [file.stem]
    while (folder / "__init__.py").is_file():
        folder, names = folder.parent, [folder.name, *names]
    return folder, ".".join(names)


def file_of(module: str) -> Path | None:
    """Return the file of a MODULE or FILE.py in the working folder or on the path, which is not imported for it."""
    path = Path(module) if module.endswith(".py") else Path(*module.split("."))
    files = (
        folder / name
        for folder in (Path.cwd(), *map(Path, sys.path))
        for name in ((path.with_suffix(".py"), path / "__init__.py") if path.name else ())
    )
    return next((file for file in files if os.path.isfile(file)), None)  # a name may be too long for Path.is_file


def import_lines(path: str, folder: Path, name: str) -> list[str]:
    """Return lines of a script in ``folder`` that import MODULE:NAME or FILE.py:NAME as ``name``; import nothing."""
    module, _, attribute = path.partition(":")
    top = module.partition(".")[0]
    home: Path | None = Path.cwd() if Path(f"{top}.py").is_file() or Path(top).is_dir() else None
    if module.endswith(".py"):
        home, module = _home(Path(module).resolve())
    beside = "" if home is None else Path(os.path.relpath(home, folder)).as_posix()
    lines = [f"sys.path.insert(0, str(HERE / {beside!r}))"] if beside not in ("", ".") else []
    if all(part.isidentifier() and not keyword.iskeyword(part) for part in module.split(".")):
        return [*lines, f"from {module} import {attribute}{'' if name == attribute else f' as {name}'}"]
    return [*lines, f"{name} = importlib.import_module({module!r}).{attribute}"]


def mechanism(path: str, *, vectorized: bool) -> Any:
    """Import a mechanism, and require that it can be called as one."""
    function = named(path, "mechanism")
    require_mechanism(function, vectorized=vectorized)
    return function


@dataclass
class Imported:
    """A mechanism MODULE:NAME that is imported by the process that will call it."""

    path: str
    vectorized: bool = False
    function: Callable[..., Any] | None = None
    folder: Path = field(default_factory=Path.cwd)

    def load(self) -> None:
        """Import the function, in the working folder of the command."""
        with chdir(self.folder):
            self.function = mechanism(self.path, vectorized=self.vectorized)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        assert self.function is not None
        return self.function(*arguments)


def dataset(text: str, name: str) -> Any:
    """Read JSON, or the content of a file: an array of what holds numbers alone, else a table."""
    import numpy as np

    reader = _READERS.get(Path(text).suffix)
    if reader is None:
        value = json_of(text, name, "be JSON or a .npy, .csv, .json or .parquet file")
    else:
        with within(text):
            value = reader(text, name)
    if not isinstance(value, list):
        return value
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):  # rows of different lengths, or large numbers: a list is a dataset too
        return value
    return array if array.dtype.kind in "biuf" else value


def _rows(path: str, name: str) -> Any:
    """Read a CSV file, below a line of names where it has one: numbers as (rows, columns), words as a table."""
    import warnings

    import numpy as np

    lines = text_of(path, name).split("\n")
    first = next((number for number, line in enumerate(lines) if line.partition("#")[0].strip()), len(lines))
    names = [name.strip() for row in rows_of("".join(lines[first : first + 1]), name) for name in row]
    headed = any(names) and len(set(names)) == len(names) and not any(map(is_numeral, names))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty file
            rows = np.loadtxt(lines[first + 1 :] if headed else lines, delimiter=",", ndmin=2)
    except ValueError:
        return _table("\n".join(lines[first:]), names if headed else None, name)
    require(rows.size > 0, name, "have rows of numbers", "a line of names" if headed else "an empty file")
    named = not headed or len(names) == rows.shape[1]
    require(named, name, f"have a name for each of its {rows.shape[1]} columns", len(names))
    return rows


def _table(text: str, names: list[str] | None, name: str) -> Any:
    """Read CSV that numbers alone do not fill; an array, with NaN for what is missing, where there are no words."""
    import io

    import pandas as pd

    widths = {len(row) for row in rows_of(text, name) if row} or {0}
    require(
        len(widths) == 1, name, "have rows of equal length", f"{min(widths, default=0)} to {max(widths, default=0)}"
    )
    try:
        table = pd.read_csv(
            io.StringIO(text), header=None if names is None else 0, names=names, skipinitialspace=True, index_col=False,
            low_memory=False,
        )  # fmt: skip
    except Exception as error:  # of pandas, whose errors have no common kind
        raise InputError(f"{name} must be a table, got: {one_line(error)[:200]}") from error
    require(table.size > 0, name, "have rows", "a line of names")
    numeric = all(dtype.kind in "iuf" for dtype in table.dtypes)
    return table.to_numpy(float) if numeric else table


_READERS: dict[str, Callable[[str, str], Any]] = {
    ".npy": array_of, ".parquet": parquet_of, ".csv": _rows,
    ".json": lambda path, name: json_of(text_of(path, name), name),
}  # fmt: skip
