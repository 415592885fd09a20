"""Readers from a file's bytes to arrays: decompression, LIBSVM text, idx, and the rows users get."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import re
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InputError, require_count

Array = NDArray[Any]
Rows = NDArray[np.float64]

_UNPACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"BZh": bz2.decompress,
    b"\x1f\x8b": gzip.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
_LABELS = {b"-1": -1.0, b"1": 1.0, b"+1": 1.0}
_PAIR = re.compile(rb"([1-9][0-9]{0,8}):([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)")


def unpack(packed: bytes) -> bytes:
    """Decompress the bytes of an .xz, .gz or .bz2 file, and return others as they are; ValueError if broken.

    The first bytes decide, not the name: some servers decompress a file while they send it.
    """
    for start, decompress in _UNPACK.items():
        if packed.startswith(start):
            try:
                return decompress(packed)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise ValueError(f"it does not decompress: {error}") from None
    return packed


def parse_npy(raw: bytes) -> Array:
    """Read the array of a .npy file; pickled objects are refused."""
    array: Array = np.load(io.BytesIO(raw), allow_pickle=False)
    return array


def parse_idx(raw: bytes) -> Array:
    """Read the unsigned bytes of an idx file: 0, 0, 8, number of axes, big-endian lengths, values."""
    axes = raw[3]
    shape = np.frombuffer(raw, ">u4", count=axes, offset=4).tolist()
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


def parse_libsvm(text: bytes, features: int) -> tuple[Rows, Rows]:
    """Read dense ``X`` (n, features) and ``y`` (n,) in {-1, +1} from LIBSVM text.

    A line is ``label index:value ...``, indices start at 1 and increase, absent ones are zero.
    Anything else (another label, a blank line, a comment, a tab, an index beyond ``features``, a
    value that is not finite) is an InputError naming the line.
    """
    require_count(features, "features")
    lines = text.removesuffix(b"\n").split(b"\n")
    X, y = np.zeros((len(lines), features)), np.empty(len(lines))
    for row, line in enumerate(lines):
        label, *pairs = [word for word in line.split(b" ") if word] or [b""]
        matches = [match for match in map(_PAIR.fullmatch, pairs) if match]
        columns = [int(match[1]) - 1 for match in matches]
        values = [float(match[2]) for match in matches]
        increasing = all(a < b for a, b in pairwise([-1, *columns, features]))
        if label not in _LABELS or len(matches) < len(pairs) or not increasing or not all(map(math.isfinite, values)):
            shown = line.decode("ascii", "replace")[:60]
            wanted = f"hold +1 or -1, then increasing index:value up to index {features}"
            raise InputError(f"line {row + 1} must {wanted}, got {shown!r}")
        X[row, columns] = values
        y[row] = _LABELS[label]
    return X, y


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
