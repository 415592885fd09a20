"""Compiled code that is kept: a digest of everything that is compiled into a kernel, and the folder of what is kept.

A kernel contains the code of the kernels that it calls, and the values of the constants that it names. Both are read
off the functions themselves, so that neither a file's time nor its path matters: two clones share their compiled code,
and an edit anywhere below a kernel is an edit of the kernel.

The folder is the user's cache, one file a kernel and signature, named by what is compiled in. A file is written whole
or not at all, holds its own checksum, and is thrown away where that does not agree. Where the folder cannot be written,
or by somebody else, or the disk is full, code is compiled in each process anew.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types

from dpcheck.cache import user_cache
from dpcheck.running.trust import NEW_FILE, NEW_FOLDER, distrusted, tell_once

_PACKAGE = __name__.partition(".")[0]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class UnknownValueError(Exception):
    """A kernel names a value that has no digest: what is compiled of it cannot be kept."""


def digest(kernel: Any) -> str:
    """Return the digest of a kernel's code, of what it calls and names; UnknownValueError for a value that has none."""
    return _Content().of(kernel)


class _Content:
    """The digests of one kernel and of those below it; a kernel that calls itself is met again while it is read."""

    def __init__(self) -> None:
        self._met: dict[int, int] = {}

    def of(self, value: Any) -> str:
        """Return the digest of a value that a kernel names."""
        return hashlib.sha256(repr(self._parts(value)).encode()).hexdigest()

    def _parts(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        if isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            return "array", str(array.dtype), array.shape, array.tobytes().hex()
        if isinstance(value, np.dtype):
            return "dtype", str(value)
        if isinstance(value, tuple | list):
            return type(value).__name__, [self.of(part) for part in value]
        if isinstance(value, set | frozenset):
            return "set", sorted(self.of(part) for part in value)
        if isinstance(value, dict):
            return "dict", [(self.of(key), self.of(part)) for key, part in value.items()]
        if isinstance(value, CodeType):
            return "code", value.co_code.hex(), value.co_names, value.co_varnames, self.of(value.co_consts)
        if hasattr(value, "py_func"):
            return "kernel", _options(value), self._function(value.py_func)
        if isinstance(value, types.Type):
            return "type", str(value)
        if isinstance(value, ModuleType):
            return "module", value.__name__, _version(value)
        module = str(getattr(value, "__module__", None) or type(value).__module__)
        if callable(value):  # a class, a builtin, or a function that Numba has rules for, beside it in its file
            return "named", module, getattr(value, "__qualname__", type(value).__qualname__), _source(module)
        raise UnknownValueError(f"a value of type {type(value).__name__}")

    def _function(self, function: FunctionType) -> Any:
        if id(function) in self._met:
            return "again", self._met[id(function)]
        self._met[id(function)] = len(self._met)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        named = [(name, self.of(value)) for name, value in _named(function.__code__, function.__globals__)]
        return function.__qualname__, self.of(function.__code__), self.of(function.__defaults__), self.of(cells), named


def _named(code: CodeType, names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the globals that a function's code names, and the members that it may take of modules of the package."""
    members: list[tuple[str, Any]] = []
    for name in code.co_names:
        if name not in names:
            continue
        value = names[name]
        members.append((name, value))
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == _PACKAGE:
            members += [(f"{name}.{part}", getattr(value, part)) for part in code.co_names if hasattr(value, part)]
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            members += _named(inner, names)
    return members


def _options(kernel: Any) -> list[tuple[str, str]]:
    """Return how a kernel is compiled: its options, and the signatures that it was declared with."""
    options = {name: sorted(v) if isinstance(v, set) else v for name, v in kernel.targetoptions.items()}
    return sorted((name, str(value)) for name, value in {**options, **getattr(kernel, "declared", {})}.items())


@cache
def _source(module: str) -> str:
    """Return the digest of a module's file, "" for one without, and the version of one that is not ours."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return ""
    if module.partition(".")[0] != _PACKAGE:
        return _version(loaded)
    file = inspect.getsourcefile(loaded)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and Path(file).is_file() else ""


def _version(module: ModuleType) -> str:
    """Return the version of the distribution that a module is part of, as far as it says."""
    top = sys.modules.get(module.__name__.partition(".")[0])
    return str(getattr(top, "__version__", sys.version))


_DAYS = 30  # after which a file that nobody read goes
_DAY = 86_400.0
_SWEPT = "swept"  # the file whose time says when the folder was last looked through


def place() -> Path:
    """Return the folder: that of ``NUMBA_CACHE_DIR`` where it is set, else one in the user's cache."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return Path(named)
    return user_cache() / "compiled"


def read(name: str) -> bytes | None:
    """Return what was kept under this name; None where nothing is, or nothing that is whole."""
    path = place() / name
    if not _is_used(path):
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        drop(name)
        return None
    with suppress(OSError):  # of a folder that is only read, nothing goes
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)
    return data[:-32]


def write(name: str, data: bytes) -> None:
    """Keep data under this name, where that is possible."""
    where = place()
    new = where / f"{name}.{uuid.uuid4().hex[:12]}"
    try:
        where.mkdir(NEW_FOLDER, parents=True, exist_ok=True)
        if not _is_used(where / name):
            return
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, NEW_FILE), "wb") as file:
            file.write(data + hashlib.sha256(data).digest())
        os.replace(new, where / name)
        _sweep(where)
    except OSError:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _is_used(path: Path) -> bool:
    """Say whether nobody else can have written a file, as its content is run."""
    wrong = distrusted(path)
    if wrong:
        tell_once(f"compiled code that was kept is not used, which takes longer: {wrong}")
    return not wrong


def drop(name: str) -> None:
    """Throw away what was kept under this name."""
    with suppress(OSError):
        (place() / name).unlink(missing_ok=True)


def _sweep(where: Path) -> None:
    """Remove what was not read for a month; look for it once a day."""
    now, mark = time.time(), where / _SWEPT
    if mark.exists() and now - mark.stat().st_mtime < _DAY:
        return
    mark.touch()
    for file in where.glob("*.code*"):
        with suppress(OSError):  # another process may have removed it
            if now - file.stat().st_mtime > _DAYS * _DAY:
                file.unlink()
