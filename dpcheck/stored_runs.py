"""Runs of a user's mechanism that a store keeps, so that an audit goes on where it was stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.running.datasets import fingerprint
from dpcheck.audits.running.runs import SIDES, Chunk
from dpcheck.errors import InputError, one_line, require
from dpcheck.store import Store, digest_of

Floats = NDArray[np.float64]


class StoredRuns:
    """Outputs by chunk, of one mechanism on two data sets with one seed.

    Their key holds the data, the seed and the Python files beside the mechanism. What else its outputs depend on, such
    as a library, cannot be seen: so the first chunk on each data set is run every time, and must be what was stored.
    """

    def __init__(self, store: Store, mechanism: str, data: Any, neighbour: Any, *, vectorized: bool, seed: int) -> None:
        held = [fingerprint(data), fingerprint(neighbour)]
        require(
            None not in held, "data", "be numbers, texts, arrays or lists of these where there is a store", "others"
        )
        self._store = store
        self._key = ["runs", mechanism, sources(mechanism), *held, vectorized, seed]
        self._first: list[Chunk | None] = [None for _ in SIDES]

    def __contains__(self, chunk: object, /) -> bool:
        """Whether a chunk need not be run."""
        assert isinstance(chunk, Chunk)
        if self._first[chunk.side] in (None, chunk):
            self._first[chunk.side] = chunk
            return False
        return self._stored(chunk) is not None

    def __getitem__(self, chunk: Chunk, /) -> Floats:
        """Return what is stored."""
        found = self._stored(chunk)
        if found is None:
            raise KeyError(chunk)
        return found

    def __setitem__(self, chunk: Chunk, outputs: Floats, /) -> None:
        """Store what was run, which must be what is stored of a chunk that was run before."""
        before = self._stored(chunk)
        if before is None:
            self._store.put_array(self._named(chunk), outputs)
        elif not np.array_equal(before, outputs, equal_nan=True):
            raise InputError(
                "mechanism must give the outputs that the store has, got others: something that it uses changed; "
                "name another --store"
            )

    def _stored(self, chunk: Chunk) -> Floats | None:
        return self._store.get_array(self._named(chunk))

    def _named(self, chunk: Chunk) -> list[Any]:
        return [*self._key, chunk.side, chunk.number, chunk.size]


def sources(mechanism: str) -> str:
    """Return a digest of the Python files beside that of a MODULE:FUNCTION, which is not imported for it."""
    module = mechanism.partition(":")[0]
    path = Path(module) if module.endswith(".py") else Path(*module.split("."))
    for folder in (Path.cwd(), *(Path(each) for each in sys.path)):
        for file in (folder / path.with_suffix(".py"), folder / path / "__init__.py"):
            if file.is_file():
                try:
                    return digest_of(beside for beside in file.parent.glob("*.py") if beside.is_file())
                except OSError as error:
                    raise InputError(f"the files beside {mechanism} must be readable: {one_line(error)}") from error
    return ""
