"""What long work has measured, kept on disk, so that it goes on where it was stopped.

A store is one file of SQLite, which is whole whenever its writer is killed, and which several processes may use at
once. What is read from it is text and numbers; nothing in it is ever run. What was damaged is made again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import StoreError, one_line
from dpcheck.running.trust import NEW_FOLDER, distrusted

VERSION = 1
FILE = "dpcheck.sqlite"
_MARK = 0x64706368  # "dpch": says whose file it is
_PATIENCE = 60.0  # seconds to wait for another process
_SILENCE = 1.0  # seconds until somebody is told of it
_TABLES = """
CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, command TEXT NOT NULL, revision TEXT NOT NULL,
    code TEXT NOT NULL, report TEXT NOT NULL
);
"""
_COMPUTE = ("numpy", "scipy", "numba")  # whose versions may change a bit


class KeptRun(NamedTuple):
    """A command that ran to its end: when, on which commit of the working folder, by which code, with which report."""

    number: int
    date: str
    command: str
    revision: str
    code: str
    report: str


def open_store(folder: str | PathLike[str], name: str = "--store", *, new: bool = True) -> Store:
    """Open the store in a folder, a ``new`` one if it is missing; StoreError, with its ``name``, if it is unusable."""
    place = Path(folder)
    if str(folder) == "":  # which Path takes for the working folder
        raise StoreError(f"{name} must be a folder, got an empty name")
    if new:
        try:
            place.mkdir(NEW_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{name} must be a folder that can be written, got {one_line(place)}: "
                             f"{error.strerror}") from error  # fmt: skip
    elif not os.path.isfile(place / FILE):  # also where the name is one that no system takes
        raise StoreError(f"{name} must be a folder that holds a store, got {one_line(place)[:200]}")
    return Store(place / FILE, reading=not new)


class Store:
    """One file of results by key; a key holds everything that a result depends on, the code included."""

    def __init__(self, path: str | PathLike[str], code: str | None = None, *, reading: bool = False) -> None:
        """Open or create the file; StoreError if it is no store. ``code`` is a digest of what results depend on."""
        self._path, self.code = Path(path), code_and_libraries() if code is None else code
        written = self._path.with_name(f"{self._path.name}-wal").exists()  # and not yet in the file
        sealed = reading and not written and not os.access(self._path.parent, os.W_OK)
        file = f"{self._path.absolute().as_uri()}?immutable=1" if sealed else self._path
        unusable = f"the store {self._path} must be a writable file of dpcheck"
        if wrong := distrusted(self._path.absolute()):
            raise StoreError(f"the store is not used: {wrong}")
        if not sealed:
            _require_locks(self._path)
        try:
            self._connection = sqlite3.connect(file, isolation_level=None, timeout=_SILENCE, uri=sealed)
        except sqlite3.Error as error:
            raise StoreError(f"{unusable}: {one_line(error)}") from error
        try:
            self._prepare()
        except BaseException as error:
            self._connection.close()
            if isinstance(error, sqlite3.Error):
                raise StoreError(f"{unusable}: {one_line(error)}") from error
            raise

    def _prepare(self) -> None:
        self._connection.execute("BEGIN")  # one state of the file, though another process may be making the store
        (version,) = self._waiting("PRAGMA user_version").fetchone()
        (mark,) = self._connection.execute("PRAGMA application_id").fetchone()
        held = self._connection.execute("SELECT name, type FROM sqlite_master WHERE type != 'index'").fetchall()
        self._connection.execute("COMMIT")
        where = f"the store {self._path}"
        # SQLite runs a view or a trigger, which may have no end
        _require({"table"} >= {kind for _, kind in held}, f"{where} must hold tables alone, got a view or a trigger")
        if version == VERSION and mark == _MARK:
            return
        ours = mark == _MARK or (mark == 0 and {name for name, _ in held} <= {"results"})  # as the first stores were
        _require(ours, f"{where} must be a file of dpcheck, got a database of something else")
        _require(version <= VERSION, f"{where} must be of version {VERSION} at most, got {version}, of a newer dpcheck")
        self._waiting("PRAGMA journal_mode=WAL")  # readers and a writer work at once
        self._waiting("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {_MARK}")
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.execute("COMMIT")

    def _waiting(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute a statement once no other process holds the file, and say that it is waited for."""
        started, said = time.monotonic(), False
        while True:
            try:
                return self._connection.execute(statement, values)
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - started
                if "locked" not in str(error) or waited > _PATIENCE:
                    raise
                if waited >= _SILENCE and not said and sys.stderr is not None:
                    said = True
                    wait = f"dpcheck: the store {one_line(self._path)} is locked by another process; waiting for it"
                    print(f"{wait}, {_PATIENCE:g} s at most", file=sys.stderr, flush=True)
                time.sleep(0.01)  # SQLite does not wait before every kind of change

    # Results by key

    def get(self, key: list[Any]) -> Any:
        """Return what is stored under this key, or None."""
        content = self._read(key)
        try:
            return None if content is None else json.loads(content)
        except (ValueError, RecursionError):
            return None

    def put(self, key: list[Any], value: Any) -> Any:
        """Store a value that is fit for JSON, and return what :meth:`get` will."""
        text = json.dumps(value)
        self._write(key, text.encode())
        return json.loads(text)

    def get_array(self, key: list[Any]) -> NDArray[np.float64] | None:
        """Return the array that is stored under this key, or None."""
        content = self._read(key)
        try:
            if content is None:
                return None
            found: NDArray[np.float64] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
            return found
        except (ValueError, EOFError, MemoryError):
            return None

    def put_array(self, key: list[Any], value: NDArray[np.float64]) -> None:
        """Store an array of numbers."""
        content = io.BytesIO()
        np.lib.format.write_array(content, value, allow_pickle=False)
        self._write(key, content.getvalue())

    def _read(self, key: list[Any]) -> bytes | None:
        """Return the bytes of a key, None where there are none, or not those that were written."""
        for value, digest in self._execute("SELECT value, digest FROM kept WHERE key = ?", self._name(key)):
            if isinstance(value, bytes) and _digest(value) == digest:
                return value
        return None

    def _write(self, key: list[Any], content: bytes) -> None:
        self._execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", self._name(key), content, _digest(content))

    def _name(self, key: list[Any]) -> str:
        return json.dumps([self.code, *key])

    # Runs

    def add_run(self, date: str, command: str, revision: str, report: str) -> int:
        """Keep the report of a command that ran to its end; its number."""
        statement = "INSERT INTO runs (date, command, revision, code, report) VALUES (?, ?, ?, ?, ?) RETURNING number"
        return int(self._execute(statement, date, command, revision, self.code, report)[0][0])

    def runs(self) -> list[KeptRun]:
        """All runs that were kept, the first one first."""
        statement = "SELECT number, date, command, revision, code, report FROM runs ORDER BY number"
        rows = self._execute(statement)
        whole = all(isinstance(text, str) for _, *texts in rows for text in texts)
        _require(whole, f"the store {self._path} must hold runs as texts, got something else")
        return [KeptRun(*row) for row in rows]

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        try:
            return self._waiting(statement, values).fetchall()
        except sqlite3.Error as error:
            must = f"the store {self._path} must be readable and writable"
            raise StoreError(f"{must}: {one_line(error)}") from error

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def _require(condition: bool, said: str) -> None:
    if not condition:
        raise StoreError(said)


def _require_locks(path: Path) -> None:
    """Require files that can be locked, without which two writers destroy what both keep."""
    try:
        import fcntl

        with tempfile.TemporaryFile(dir=path.parent) as tried:
            try:
                fcntl.lockf(tried, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                must = f"the store {path} must lie on a file system with locks, such as a disk of this machine"
                raise StoreError(f"{must}: {error.strerror}") from error
    except (ImportError, OSError):  # Windows; or a folder that is only read
        return


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_ROOT = Path(__file__).parents[1]


@cache
def code_and_libraries() -> str:
    """What the bits of a measurement depend on, apart from its own settings: code, libraries, kind of machine."""
    versions = " ".join(f"{name} {metadata.version(name)}" for name in _COMPUTE)
    # What changed code measured is never mistaken for what this code measures.
    code = digest_of(p for folder in (_ROOT, _ROOT / "bounds", _ROOT / "audits") for p in folder.rglob("*.py"))
    return f"{code} {versions} {platform.python_version()} {platform.machine()}"


def digest_of(files: Iterable[Path]) -> str:
    """A digest of the contents of files, whatever they are called."""
    digest = hashlib.sha256()
    for path in sorted({path.resolve() for path in files}):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
