"""The data sets that dpcheck knows: where each comes from, its licence, its files' hashes, and how they are read.

A hash is of one of two things, and each entry says which:

* ``bytes``: the file's bytes after decompression. The public files of ijcnn1, mnist and
  fashion_mnist were rebuilt from the arrays and agree with checksums that others published;
  ``SOURCES.md`` lists them.
* ``values``: the decoded arrays, X row by row, then y, as little-endian float64. The public files
  of diabetes, svmguide3, w5a and heart_scale are held to their values alone: no published checksum
  of their exact bytes was found, so how they print blanks and zeros is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_UNSTATED = "none stated by its publisher"


def _stored(start: str, *hashes: str, of_x: str = "") -> tuple[File, ...]:
    """Return the stored files of a set that is split in two, with the hashes of X, y, X_test and y_test."""
    splits = (("x_train", of_x), ("y_train", ""), ("x_test", of_x), ("y_test", ""))
    return tuple(
        File(f"{start}{name}{kind}.npy.xz", sha256) for (name, kind), sha256 in zip(splits, hashes, strict=True)
    )


def _images(name: str, home: str, licence: str, server: str, stored: tuple[str, ...], *public: str) -> Entry:
    parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return Entry(
        home, licence, _stored(f"{name}/", *stored), pixels,
        tuple(File(f"{server}/{part}-ubyte.gz", sha256) for part, sha256 in zip(parts, public, strict=True)), pixels,
    )  # fmt: skip


def _small(home: str, licence: str, features: int, rows: Callable[[Array], Rows], x: str, y: str, values: str) -> Entry:
    name = home.rpartition("/")[2]
    stored = (File(f"small/{name}.x.npy.xz", x), File(f"small/{name}.y.npy.xz", y))
    return Entry(home, licence, stored, rows, (File(home, values, of="values"),), rows, features)


ENTRIES: dict[str, Entry] = {
    "a9a": Entry(
        "https://archive.ics.uci.edu/dataset/2/adult", "CC BY 4.0",
        _stored(
            "a9a_",
            "3941d8cf98bf2cacb4db15bd2192a2e4aa113664e3a25261c39444d8c0c6f108",
            "f12facdeccea8cc511f40bbd44adfaca57ea6c02f76a0cc42049f0c7888a76ac",
            "69292ccf833df791ba0d7f71a0354fc4dfedbf91021d46c564d1a8d9a1b2da4f",
            "85c649b6c084ed1b2ac2073829e8996aacc11e45cadb6c3c154c067c85a65751",
        ),
        ones_of_14,
    ),
    "ijcnn1": Entry(
        f"{_LIBSVM}.html#ijcnn1", _UNSTATED,
        _stored(
            "ijcnn1/",
            "65103fdc061c357be17db1fc9393970c9d01307a10f9275dfcf8a0a62c39de04",
            "54856a0b50c8e052780e82d680f7ad28982b1f02eaac625b37e4b77e220d5f9f",
            "256ee30893dbf5a86b0497b1f777d98be36d6cd7aeb672384c53b9f8cbd908c3",
            "ee795c3453742cc2228c41b5ad7e7738bca4916994811767982857755d9d7210",
            of_x=".T_int32_e6",
        ),
        millionths,
        (
            File(f"{_LIBSVM}/ijcnn1.bz2", "16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f"),
            File(f"{_LIBSVM}/ijcnn1.t.bz2", "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8"),
        ),
        features=22,
    ),
    "mnist": _images(
        "mnist", "https://yann.lecun.com/exdb/mnist/", "CC BY-SA 3.0 (as Keras states it)",
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        (
            "c5b45806d970e809a5f376f9b8461b7ca3b3e0a321282d72d06d00ab6c6c418f",
            "5dd4d822cab3e20099239bc9d433d587ae3ce00e084d191079dd30b38380b336",
            "4acfa5c2911a2f95015eda9a9b825fbd6bec0f6a6f66942979b1473d33943a11",
            "ff7e84b144c037e7215dfa787d6773550c5db83029d9a4e7bae6e90f605f081d",
        ),
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    "fashion_mnist": _images(
        "fashion_mnist", "https://github.com/zalandoresearch/fashion-mnist", "MIT (Zalando SE)",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
        (
            "fa55843a054d8d313e1599d2541666e5febd6f186948f84db90dd89f854fa02e",
            "efa44c2e191352e6f338f69c404dcc5c8c636ff9c237875b7fbf289f568c064c",
            "fa687ea6e35cd511e68bc9cd5049edbadf6eb7dfde574e880a3325309e5aadfd",
            "dc8f8f1192c27394f85487043710db3a9b18d51be2c3bca478bf94dfff9dd146",
        ),
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    "diabetes": _small(
        f"{_LIBSVM}/diabetes", _UNSTATED, 8, printed("%.6f"),
        "1b883a382681999d82267ded8cc6ac6ddd9f841d371b3e34ece67ca8ba6f0f4a",
        "52d7b7ebf068fc9bbb0eaad826568c022016c1a656b5b0d2243fe6bf9ef133dc",
        "856a127aed927783eee9b0a67c404c3835170770c46ae52dfbc52bf8e41fd7d3",
    ),
    "svmguide3": _small(
        f"{_LIBSVM}/svmguide3", _UNSTATED, 22, printed("%.6e"),
        "29648e7b5f0da7038bed63622bba04b173a20637746e22d8efcd6545ddb6e209",
        "17ac9144c7e3b1f2c7106fbd7273ba22007817c1a77b5e4853c6bdbab9918ad2",
        "34a5540224f68573a12a66cfe0f2131d3b0797c4ca6cfc8c2631235ad2ce1ecf",
    ),
    "w5a": _small(
        f"{_LIBSVM}/w5a", _UNSTATED, 300, as_float,
        "5b049f824fa7d27316407a37b07c38196543b90a38ea829c4ee5428d25ddc54a",
        "3e571a144d4e17426ca4726e3f1d3202be1fe571e5c657a9aed6f2631e826e77",
        "d2399123cf850f94b9beae264bc08204d9f1228a22442988179b933f15ccac41",
    ),
    "heart_scale": _small(
        "https://raw.githubusercontent.com/cjlin1/libsvm/master/heart_scale",
        "BSD-3-Clause (distributed with LIBSVM)", 13, printed("%.6g"),
        "3ef556ca5da5980e78888684e2a60c5ae3045f957a5547eae89b2471774b2140",
        "5fd1f881aea49836e4168bf868a3779c51b6497f9815496151a0eeee400ffeae",
        "0de56c67c64083b20e7cae43bd2a549498eed20911b48172494d0acac62f47f9",
    ),
}  # fmt: skip
