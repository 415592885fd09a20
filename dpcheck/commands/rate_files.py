"""Tables of measurements that users keep in files: read as they are, and given a theorem's bound at each row."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.errors import InputError, one_line, require

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = (",", ";", "\t")
_COMMENT = "#"


def read(file: str) -> pd.DataFrame:
    """The table in a file on this machine; numbers where a whole column is made of them.

    Values are separated by commas, semicolons or tabs, whichever the line of names has most of.
    Lines that begin with ``#`` are comments. Raises InputError for everything else.
    """
    import pandas as pd

    require("://" not in file, "FILE.csv", "be a file on this machine, since nothing is downloaded", file)
    endless = Path(file).is_char_device() and file != "/dev/stdin"  # which may be a terminal
    require(not endless and not Path(file).is_block_device(), "FILE.csv", "be a file with an end", file)
    try:
        text = Path(file).read_text("utf-8-sig")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_COMMENT)]
        separator = max(_SEPARATORS, key=lines[0].count) if lines else ","
        rows = list(csv.reader(StringIO("\n".join(lines)), delimiter=separator, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"FILE.csv must be a readable table, got {file}: {one_line(error)}") from error
    require(len(rows) > 0, "FILE.csv", "be a readable table", f"{file}: no line of names")
    names = [name.strip() for name in rows[0]]
    for name in names:
        require(names.count(name) == 1, "FILE.csv", "name each column once", f"{name!r} twice")
    for number, row in enumerate(rows[1:]):
        require(len(row) == len(names), "FILE.csv", f"have {len(names)} values a row", f"{len(row)} at row {number}")
    columns = list(zip(*rows[1:], strict=True)) or [()] * len(names)
    return pd.DataFrame({name: _column(values) for name, values in zip(names, columns, strict=True)})


def with_bound(frame: pd.DataFrame, id: str, constants: dict[str, float]) -> pd.DataFrame:
    """The table with a column ``id``: the theorem's bound, or its order where it states no constants.

    Parameters of the theorem come from columns of their names and from ``constants``.
    """
    from dpcheck.bounds.registry import theorem

    stated = theorem(id)
    named = [str(parameter.symbol) for parameter in stated.parameters]
    for name in constants:
        require(name in named, "settings", f"be parameters of {id} ({', '.join(named)})", name)
        require(name not in frame.columns, "settings", "leave out what is a column of the table", name)
    varied = [name for name in named if name in frame.columns]
    constant = {"constant": 1.0} if stated.bound_formula is None and stated.rate is not None else {}
    known: dict[tuple[float, ...], float] = {}
    for values in frame[varied].itertuples(index=False, name=None):
        if values not in known:
            row = {name: _plain(value, name) for name, value in zip(varied, values, strict=True)}
            known[values] = stated.bound(**row, **constants, **constant)
    return frame.assign(**{id: [known[values] for values in frame[varied].itertuples(index=False, name=None)]})


def _column(values: tuple[str, ...]) -> list[float] | list[str]:
    """Return the column's numbers, or its text as it is if not all are; nothing counts as a missing number."""
    try:
        return [float(value) if value.strip() else float("nan") for value in values]
    except ValueError:
        return list(values)


def _plain(value: object, name: str) -> float:
    require(isinstance(value, int | float), name, "be numeric", value)
    assert isinstance(value, int | float)
    return int(value) if float(value).is_integer() else float(value)
