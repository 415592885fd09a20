"""Measurements kept on disk, so that a long check goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from dpcheck.errors import InputError, one_line


class Store:
    """One file of results by key; a key holds everything that a result depends on, the code included."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open or create the file; InputError if it cannot be, or is no store."""
        self._path = Path(path)
        try:
            self._connection = sqlite3.connect(self._path, isolation_level=None, timeout=60)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        except sqlite3.Error as error:
            raise InputError(f"the store {self._path} must be a writable file of dpcheck: {one_line(error)}") from error

    def kept(self, key: list[Any], make: Callable[[], Any]) -> Any:
        """What is stored under this key, else what ``make`` returns, which is stored at once."""
        name = json.dumps([code_digest(), *key])
        try:
            row = self._connection.execute("SELECT value FROM results WHERE key = ?", (name,)).fetchone()
            if row is None:
                row = (json.dumps(make()),)
                self._connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (name, row[0]))
        except sqlite3.Error as error:
            raise InputError(f"the store {self._path} must be readable and writable: {one_line(error)}") from error
        return json.loads(row[0])

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


@cache
def code_digest() -> str:
    """A digest of the package's source: what changed code measured is never mistaken for what this code measures."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(
        {p.resolve() for folder in (root, root / "bounds", root / "audits") for p in folder.rglob("*.py")}
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
