"""A function of a library that cannot live beside dpcheck, called in a process of its own environment."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.audits.running import visitor
from dpcheck.errors import InputError, one_line, require
from dpcheck.running.processes import EndedProcessError


class OtherPython:
    """A function that runs in another Python, and is audited as if it stood here.

    Every call is one question to a process of that Python, which starts with the first call. Data sets and outputs may
    be numbers, texts, lists, dictionaries, arrays, and tables with plain columns. What the function prints goes to
    stderr. It is not confined: the two processes trust one another, as a function does that is imported here.

    Parameters
    ----------
    python : str or path
        The interpreter of the other environment, 3.8 or later, such as ``env/bin/python``. It needs NumPy 1.17 or later
        and what the function imports.
    function : str
        ``MODULE:NAME``, found in the working folder or in that environment, or ``FILE.py:NAME``. An argument that is a
        ``numpy.random.Generator`` becomes one of that NumPy, whose seed is drawn from it; it has to be the second.

    Raises
    ------
    InputError
        At the first call, where the interpreter does not start or the function cannot be imported there.

    Examples
    --------
    >>> import pathlib, sys, tempfile
    >>> import dpcheck
    >>> from dpcheck.audits.running.other_python import OtherPython
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "noisy.py"
    >>> _ = file.write_text("def total(data, rng, size): return sum(data) + rng.laplace(0, 1 / 2, size)")
    >>> total = OtherPython(sys.executable, f"{file}:total")
    >>> audit = dpcheck.audit_privacy(total, [0, 1, 1], [0, 1, 0], epsilon=1.0, trials=10_000, vectorized=True)
    >>> audit.verdict
    'violated'
    """

    def __init__(self, python: str | os.PathLike[str], function: str) -> None:
        module, _, name = function.rpartition(":")
        require(bool(module) and bool(name), "function", "be MODULE:NAME or FILE.py:NAME", function)
        path = os.fspath(python)  # of a bare name the one on PATH
        self._python = os.path.abspath(path) if os.path.dirname(path) else path
        self._function, self._folder = function, str(Path.cwd())
        self._process: subprocess.Popen[bytes] | None = None
        self._owner, self._turn = -1, threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process starts its own interpreter by."""
        return _made, (self._python, self._function, self._folder)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function with these arguments."""
        given, seed = list(arguments), None
        if len(given) > 1 and isinstance(given[1], np.random.Generator):
            given[1], seed = None, int.from_bytes(given[1].bytes(16), "little")
        with self._turn:  # threads ask one process, one after the other
            if self._process is None or self._owner != os.getpid():  # a copy of this process needs one of its own
                self._start()
            return self._answer((given, seed))

    def _start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        command = [self._python, visitor.__file__]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
        except OSError as error:
            raise InputError(f"python must be an interpreter that starts, got {one_line(error)}") from error
        self._owner = os.getpid()
        weakref.finalize(self, _end, self._process, self._owner)
        try:
            self._answer((self._function, self._folder))
        except InputError:
            raise
        except Exception as error:
            must = f"function must be importable by {self._python}"
            self._process = None
            raise InputError(f"{must}, got {type(error).__name__}: {one_line(error)}") from error

    def _answer(self, question: Any) -> Any:
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(visitor.packed(question))
            self._process.stdin.flush()
            good, answer = visitor.unpacked(self._process.stdout)
        except (EOFError, BrokenPipeError) as error:
            ended = self._process.wait()
            self._process = None
            how = f"exit code {ended}" if ended >= 0 else f"signal {-ended}"
            raise EndedProcessError(f"{how} of {self._python}") from error
        if good:
            return answer
        kind, words = answer
        raise type(kind, (Exception,), {})(words)  # its class may be one of the other environment


def _made(python: str, function: str, folder: str) -> OtherPython:
    made = OtherPython(python, function)
    made._folder = folder
    return made


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Let the process come to the end of its questions; one of a process that this one was copied from is not ours."""
    if os.getpid() != owner:
        return
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            pipe.close()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
