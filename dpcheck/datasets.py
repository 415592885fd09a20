"""Real data sets: one bundled, the others downloaded once, each refused unless its hash agrees.

``load("a9a")`` needs no network: Adult (Becker and Kohavi, UCI, CC BY 4.0) in LIBSVM's a9a encoding
is part of the package. Any other set is looked for in the folder that the environment variable
``DPCHECK_DATA`` names, then in the user's cache, and is downloaded last. Where the sets come from,
their licences, and what was checked against what: ``dpcheck/data/SOURCES.md``.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import math
import operator
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from dpcheck.cache import user_cache
from dpcheck.data.entries import ENTRIES, Array, Entry, File, Rows
from dpcheck.errors import InputError, one_line, require, require_count, require_known, require_positive
from dpcheck.running.trust import NEW_FOLDER, distrusted

__all__ = ["Dataset", "load", "names"]

VARIABLE = "DPCHECK_DATA"
Groups = tuple[tuple[int, ...], tuple[int, ...]]
PAIRINGS: dict[str, Groups] = {
    "halves": ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)),
    "parity": ((0, 2, 4, 6, 8), (1, 3, 5, 7, 9)),
}
_TEN = ("mnist", "fashion_mnist")
_UNPACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"BZh": bz2.decompress,
    b"\x1f\x8b": gzip.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
_LABELS = {b"-1": -1.0, b"1": 1.0, b"+1": 1.0}
_PAIR = re.compile(rb"([1-9][0-9]{0,8}):([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as published; :func:`load` makes it, with read-only arrays.

    Attributes
    ----------
    name : str
        The name that :func:`load` took.
    X : ndarray, (n, d) float64
        The rows.
    y : ndarray, (n,)
        Float64 in {-1, +1}, or int64 class labels 0..9 for mnist and fashion_mnist without ``classes``.
    X_test, y_test : ndarray or None
        The test split likewise; None where there is none.
    source : str
        URL of the set's home.
    licence : str
        The licence as its publisher states it.
    """

    name: str
    X: Rows
    y: Array
    X_test: Rows | None
    y_test: Array | None
    source: str
    licence: str

    def unit_ball(self, *, radius: float = 1.0) -> Dataset:
        """Copy the set with rows x divided by ``max(radius, |x|_2)``, so that every |x|_2 <= 1.

        A row's image depends on that row and ``radius`` alone: replacing one record changes one row, and a sensitivity
        derived from |x| <= 1 holds. Dividing by the largest norm found in the data would not do: one record would move
        every row, and the divisor itself leaks.

        Parameters
        ----------
        radius : float
            A public number > 0, such as 28 for 784 pixels in [0, 1].

        Returns
        -------
        Dataset
            The copy; the test split is treated likewise.
        """
        require_positive(radius, "radius")
        test = None if self.X_test is None else _frozen(_into_ball(self.X_test, radius))
        return replace(self, X=_frozen(_into_ball(self.X, radius)), X_test=test)


def names() -> tuple[str, ...]:
    """Return the names that :func:`load` takes.

    Returns
    -------
    tuple of str
        The first, a9a, is bundled and needs no network.

    Examples
    --------
    >>> from dpcheck import datasets
    >>> datasets.names()[0]
    'a9a'
    """
    return tuple(ENTRIES)


def load(name: str, *, classes: str | Sequence[Sequence[int]] | None = None) -> Dataset:
    """Load a data set by name.

    Values are as published: diabetes in its raw units, pixels in [0, 1] and 784 a row. Only a9a is scaled: its rows
    hold at most 14 ones, one for each of Adult's 14 attributes, and are divided by sqrt(14), a constant of the encoding
    and not of the records, so that |x|_2 <= 1. For bounded rows of the other sets see :meth:`Dataset.unit_ball`.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    classes : str or pair of sequences of int, optional
        For mnist and fashion_mnist two classes in place of ten: the class labels that become -1, and those that become
        +1; rows of other classes are left out. Or a name of :data:`PAIRINGS`: ``"halves"`` is 0 to 4 against 5 to 9,
        ``"parity"`` even against odd. The papers draw their two groups at random and do not print them.

    Returns
    -------
    Dataset
        The set, with read-only arrays.

    Raises
    ------
    InputError
        For an unknown name, groups of classes that are not two, overlap or are not of a set of ten classes, a failed
        download, and a file that is not what its hash says: removed if downloaded or cached, left in the user's folder.

    References
    ----------
    ``dpcheck/data/SOURCES.md`` names the sources, licences and hashes.

    Examples
    --------
    >>> from dpcheck import datasets
    >>> adult = datasets.load("a9a")
    >>> adult.X.shape, sorted(set(adult.y.tolist()))
    ((32561, 123), [-1.0, 1.0])
    """
    require_known(name, names(), "data set")
    entry = ENTRIES[name]
    groups = None if classes is None else _groups(name, classes)
    if entry.public:
        arrays = _from_variable(entry) or _from_cache(name, entry)
    else:
        arrays = _stored(entry, Path(__file__).with_name("data"))
    X, y, *test = map(_frozen, arrays)
    X_test, y_test = test or (None, None)
    if groups is not None:
        assert X_test is not None and y_test is not None
        (X, y), (X_test, y_test) = _two_classes(X, y, groups), _two_classes(X_test, y_test, groups)
    return Dataset(name, X, y, X_test, y_test, entry.home, entry.licence)


def _groups(name: str, classes: str | Sequence[Sequence[int]]) -> Groups:
    """Read two groups of class labels."""
    require(name in _TEN, "classes", f"come with {' or '.join(_TEN)}", name)
    if isinstance(classes, str):
        require(classes in PAIRINGS, "classes", f"be one of {', '.join(PAIRINGS)}, or two groups of labels", classes)
        return PAIRINGS[classes]
    wanted = "be two groups of labels 0 to 9 that share none"
    try:
        first, second = (tuple(operator.index(label) for label in group) for group in classes)
    except (TypeError, ValueError) as error:
        raise InputError(f"classes must {wanted}, got {one_line(classes)}") from error
    labels = (*first, *second)
    good = bool(first) and bool(second) and len(set(labels)) == len(labels) and set(labels) <= set(range(10))
    require(good, "classes", wanted, classes)
    return first, second


def _two_classes(X: Rows, y: Array, groups: Groups) -> tuple[Rows, Array]:
    """Return the rows of both groups in their order, with labels -1 and +1."""
    second = np.isin(y, groups[1])
    kept = second | np.isin(y, groups[0])
    labels = np.where(second, 1.0, -1.0)
    return (X if kept.all() else _frozen(X[kept])), _frozen(labels[kept])


def _into_ball(X: Rows, radius: float) -> Rows:
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    # 1e-12 is more than a norm of 784 terms is rounded by, so no scaled row ends outside the ball
    scale = np.where(norms <= radius, radius, norms * (1 + 1e-12))
    scaled: Rows = X / scale[:, None]
    return scaled


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


class _DamagedError(Exception):
    """A file is not what its hash says; the text is the reason."""


def _verify(file: File, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise _DamagedError(f"the sha256 of its {file.of} is {digest[:12]}..., not {file.sha256[:12]}...")


def _decode(entry: Entry, file: File, packed: bytes) -> list[Array]:
    """Decode X, y or both and verify them: before decoding where the hash is of bytes, after it otherwise."""
    try:
        raw = unpack(packed)
        if file.of == "bytes":
            _verify(file, raw)
        if entry.features and file in entry.public:
            X, y = parse_libsvm(raw, entry.features)
            X = entry.public_rows(X)
            if file.of == "values":
                _verify(file, X.astype("<f8").tobytes() + y.astype("<f8").tobytes())
            return [X, y]
    except ValueError as error:
        raise _DamagedError(str(error)) from None
    if stored := file in entry.stored:
        array: Array = np.load(io.BytesIO(raw), allow_pickle=False)
    else:  # idx: 0, 0, 8, number of axes, big-endian lengths, unsigned bytes
        axes = raw[3]
        shape = np.frombuffer(raw, ">u4", count=axes, offset=4).tolist()
        array = np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)
    if array.ndim > 1:
        return [entry.stored_rows(array) if stored else entry.public_rows(array)]
    return [array.astype(np.int64 if array.dtype == np.uint8 else np.float64)]


def _read(entry: Entry, file: File, path: Path) -> list[Array]:
    try:
        return _decode(entry, file, path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _stored(entry: Entry, folder: Path) -> list[Array]:
    arrays: list[Array] = []
    for file in entry.stored:
        try:
            arrays += _read(entry, file, folder / file.at)
        except _DamagedError as why:
            raise InputError(f"{folder / file.at} is damaged and was not used: {why}") from None
    return arrays


def _from_variable(entry: Entry) -> list[Array] | None:
    """The set's arrays from the user's folder; None where it has no file of the set."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser()
    require(folder.is_dir(), VARIABLE, "name a folder", named)
    if not any((folder / file.at).exists() for file in entry.stored):
        return None
    return _stored(entry, folder)


def _from_cache(name: str, entry: Entry) -> list[Array]:
    arrays: list[Array] = []
    for file in entry.public:
        path = user_cache() / name / file.at.rpartition("/")[2]
        if wrong := distrusted(path):
            raise InputError(f"the data set that is kept is not used: {wrong}")
        if not path.exists():
            arrays += _download(entry, file, path)
            continue
        try:
            arrays += _read(entry, file, path)
        except _DamagedError as why:
            path.unlink(missing_ok=True)
            raise InputError(
                f"{path} was damaged ({why}) and has been removed; load {name} again to download it"
            ) from None
    return arrays


def _download(entry: Entry, file: File, path: Path) -> list[Array]:
    import pooch

    print(f"dpcheck: downloading {file.at}", file=sys.stderr)
    try:
        path.parent.mkdir(NEW_FOLDER, parents=True, exist_ok=True)
        # verified beside its final place, then renamed: neither an interrupt nor another process
        # meets a partial or unverified file under the name that is trusted
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".part-") as scratch:
            part = Path(scratch) / path.name
            pooch.HTTPDownloader(chunk_size=1 << 16)(file.at, str(part), None)
            arrays = _decode(entry, file, part.read_bytes())
            part.replace(path)
    except OSError as error:  # the errors of requests are among these
        reason = one_line(error)[:120]
        raise InputError(
            f"{file.at} could not be downloaded into {path.parent} "
            f"({type(error).__name__}: {reason}); without a network, set {VARIABLE} to a folder "
            f"that holds {', '.join(stored.at for stored in entry.stored)}"
        ) from None
    except _DamagedError as why:
        raise InputError(f"the download of {file.at} was damaged and not kept: {why}") from None
    return arrays


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
