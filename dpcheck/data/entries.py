"""The data sets that dpcheck knows: where each comes from, its licence, its files' hashes, and how they are read.

``entries.json`` has them. A hash is of one of two things, and each entry says which:

* ``bytes``: the file's bytes after decompression. The public files of ijcnn1, mnist and
  fashion_mnist were rebuilt from the arrays and agree with checksums that others published;
  ``SOURCES.md`` lists them.
* ``values``: the decoded arrays, X row by row, then y, as little-endian float64. The public files
  of diabetes, svmguide3, w5a and heart_scale are held to their values alone: no published checksum
  of their exact bytes was found, so how they print blanks and zeros is left open.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.float64]


def as_float(values: Array) -> Rows:
    """Return the numbers as they are."""
    return np.asarray(values, dtype=np.float64)


def ones_of_14(values: Array) -> Rows:
    """Divide 0/1 rows with at most 14 ones, one an attribute of Adult, by sqrt(14)."""
    rows: Rows = values / math.sqrt(14)
    return rows


def pixels(values: Array) -> Rows:
    """Return images of bytes as flat rows in [0, 1]."""
    rows: Rows = values.reshape(len(values), -1) / 255.0
    return rows


def millionths(values: Array) -> Rows:
    """Transpose whole numbers of 1e-6; the quotient is the float64 nearest the printed decimal."""
    rows: Rows = np.ascontiguousarray(values.T) / 1e6
    return rows


def printed(number: str) -> Callable[[Array], Rows]:
    """Return single-precision values as the decimals that ``number``, a printf format, prints.

    Stored arrays hold float32 where the public text holds decimals: read so, both give one float64.
    """

    def rows(values: Array) -> Rows:
        flat = [float(number % value) for value in values.astype(np.float32).ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(values.shape)

    return rows


@dataclass(frozen=True)
class File:
    """One file: its URL or its path below the folder, and the sha256 ``of`` its bytes or values."""

    at: str
    sha256: str
    of: Literal["bytes", "values"] = "bytes"


@dataclass(frozen=True)
class Entry:
    """One data set: the same arrays from stored .npy.xz files or, if ``public``, from its home.

    ``stored`` are X, y[, X_test, y_test]; ``public`` the same as idx where ``features`` is 0, else
    one LIBSVM text a split, with ``features`` columns. ``stored_rows`` and ``public_rows`` turn X
    as decoded into float64 rows (n, d).
    """

    home: str
    licence: str
    stored: tuple[File, ...]
    stored_rows: Callable[[Array], Rows]
    public: tuple[File, ...] = ()
    public_rows: Callable[[Array], Rows] = as_float
    features: int = 0


_ROWS: dict[str, Callable[[Array], Rows]] = {
    "as_float": as_float, "ones_of_14": ones_of_14, "pixels": pixels, "millionths": millionths,
}  # fmt: skip


def _entry(home: str, licence: str, features: int, of: Literal["bytes", "values"], **said: Any) -> Entry:
    """Return a set as ``entries.json`` has it, where rows are a function's name, or a printf format."""
    stored_rows, public_rows = (_ROWS.get(said[rows]) or printed(said[rows]) for rows in ("stored_rows", "public_rows"))
    return Entry(
        home, licence, tuple(File(at, sha256) for at, sha256 in said["stored"].items()), stored_rows,
        tuple(File(at, sha256, of) for at, sha256 in said["public"].items()), public_rows, features,
    )  # fmt: skip


_SAID = json.loads(resources.files("dpcheck.data").joinpath("entries.json").read_text("utf-8"))
ENTRIES: dict[str, Entry] = {name: _entry(**said) for name, said in _SAID.items()}
