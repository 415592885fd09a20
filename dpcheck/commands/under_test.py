"""Others' code, run by a command in this process: what it changed is given back, and what it broke is said to be its.

It cannot be held: code that means harm runs with ``--isolate``.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dpcheck
from dpcheck.errors import InputError

_FAR = 700  # of a copy: beyond the files that code which writes to all of them, or closes them, counts up to


@contextmanager
def as_before() -> Iterator[None]:
    """Give back the streams, even closed ones, the functions that trace, and NumPy's; InputError if NumPy's are others.

    No number that came out after somebody replaced :func:`numpy.random.default_rng` is one of dpcheck's.
    """
    streams = [_Stream("stdout"), _Stream("stderr")]
    path = list(sys.path)
    tracing, functions = (sys.gettrace(), sys.getprofile()), _functions()
    try:
        yield
    finally:
        if sys.gettrace() is not tracing[0]:
            sys.settrace(tracing[0])
        if sys.getprofile() is not tracing[1]:
            sys.setprofile(tracing[1])
        for stream in streams:
            stream.give_back()
        replaced = []
        for (module, name), function in functions.items():
            if getattr(sys.modules[module], name, None) is not function:
                setattr(sys.modules[module], name, function)
                replaced.append(f"{module}.{name}")
        broke = sys.exc_info()[1]
        lost = set(path) - set(sys.path)
        if lost:
            sys.path[:] = path
        if lost and isinstance(broke, ImportError):  # of a module of ours, which comes where it is needed
            raise InputError("the code under test must leave sys.path as it is, got one that took from it") from broke
        if replaced and not isinstance(broke, KeyboardInterrupt):
            got = f"one that replaced {', '.join(replaced)[:200]}"
            raise InputError(f"the code under test must leave NumPy alone, got {got}") from broke


def place_of_failure(error: BaseException) -> str:
    """Return file and line where an error began, if that is in code that is neither ours nor installed; else nothing.

    Such an error comes out of dpcheck where it called that code in passing: a function that traces, an object's text.
    """
    frames = traceback.extract_tb(error.__traceback__)
    file = frames[-1].filename if frames else "<"
    if file.startswith("<") or any(Path(file).resolve().is_relative_to(folder) for folder in _known()):
        return ""
    return f"{Path(file).name}:{frames[-1].lineno}"


def _known() -> list[Path]:
    root = Path(dpcheck.__file__).resolve().parent
    ours = [root, (root / "bounds").resolve(), (root / "audits").resolve()]
    return ours + [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]


def _functions() -> dict[tuple[str, str], Any]:
    """Return what NumPy's modules hold that can be called, where they are loaded."""
    loaded = [name for name in ("numpy", "numpy.random") if name in sys.modules]
    held = ((name, key, value) for name in loaded for key, value in vars(sys.modules[name]).items())
    return {(name, key): value for name, key, value in held if callable(value)}


class _Stream:
    """A stream as it was, and a copy of what it writes to, which no other process inherits."""

    def __init__(self, name: str) -> None:
        self._name, self._stream, self._copy = name, getattr(sys, name), -1
        self._number = -1
        with suppress(OSError, ValueError, AttributeError, ImportError):
            import fcntl  # of no system without file numbers

            self._number = self._stream.fileno()
            self._copy = fcntl.fcntl(self._number, fcntl.F_DUPFD_CLOEXEC, _FAR)

    def give_back(self) -> None:
        setattr(sys, self._name, self._stream)
        if self._copy < 0:
            return
        with suppress(OSError):  # whoever closes every file has nothing given back
            if not self._is_open():
                os.dup2(self._copy, self._number)
            if self._stream.closed:
                opened = os.fdopen(self._number, "w", encoding="utf-8", errors="replace", closefd=False)
                setattr(sys, self._name, opened)
            os.close(self._copy)

    def _is_open(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._number), os.fstat(self._copy))
        except OSError:
            return False
