"""Measurements kept on disk, so that a long check goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from dpcheck.errors import StoreError, one_line


class Store:
    """One file of results by key; a key holds everything that a result depends on, the code included."""

    def __init__(self, path: str | PathLike[str], code: str | None = None) -> None:
        """Open or create the file; StoreError if it cannot be, or is no store.

        code : a digest of the code that results depend on, that of the whole package by default
        """
        self._path, self._code = Path(path), code_digest() if code is None else code
        try:
            self._connection = sqlite3.connect(self._path, isolation_level=None, timeout=60)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        except sqlite3.Error as error:
            raise StoreError(f"the store {self._path} must be a writable file of dpcheck: {one_line(error)}") from error

    def kept(self, key: list[Any], make: Callable[[], Any]) -> Any:
        """Return what is stored under this key, else what ``make`` returns, which is stored at once."""
        found = self.get(key)
        if found is None:
            found = self.put(key, make())
        return found

    def get(self, key: list[Any]) -> Any:
        """Return what is stored under this key, or None."""
        row = self._execute("SELECT value FROM results WHERE key = ?", (self._name(key),))
        try:
            return None if row is None else json.loads(row[0])
        except json.JSONDecodeError:  # damaged: made again
            return None

    def put(self, key: list[Any], value: Any) -> Any:
        """Store a value that is fit for JSON, and return what :meth:`get` will."""
        text = json.dumps(value)
        self._execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (self._name(key), text))
        return json.loads(text)

    def _name(self, key: list[Any]) -> str:
        return json.dumps([self._code, *key])

    def _execute(self, statement: str, values: tuple[str, ...]) -> Any:
        try:
            return self._connection.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"the store {self._path} must be readable and writable: {one_line(error)}") from error

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


_ROOT = Path(__file__).parent


@cache
def code_digest() -> str:
    """A digest of the package's source: what changed code measured is never mistaken for what this code measures."""
    return digest_of(p for folder in (_ROOT, _ROOT / "bounds", _ROOT / "audits") for p in folder.rglob("*.py"))


@cache
def theory_digest() -> str:
    """A digest of what a claim's verdict depends on: ``bounds`` with its files of data, and what it imports."""
    files = [_ROOT / "errors.py", _ROOT / "streams.py", *(p for p in (_ROOT / "bounds").rglob("*") if p.is_file())]
    return digest_of(path for path in files if path.suffix in (".py", ".json", ".v"))


def digest_of(files: Iterable[Path]) -> str:
    """A digest of the contents of files, whatever they are called."""
    digest = hashlib.sha256()
    for path in sorted({path.resolve() for path in files}):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
