"""Claims decided side by side, each within its time and memory, in processes that can be killed.

A worker is a program that runs :func:`main`: it reads a claim's id from its input, decides the claim,
and writes the result. The caller's own program is never imported again, as it would be by
``multiprocessing``, and a file of one's own is imported by workers alone, so that one that never
ends or takes all memory stops nobody else.

A worker does not search the current folder for modules (``python -P``): a ``types.py`` or ``z3.py``
that lies there has no say in a verdict. The folder of a file of claims comes last on its path, so
that the file can import its neighbours and they replace nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dpcheck.bounds.claim import Basis, Claim, Evidence, Verdict
from dpcheck.bounds.kind import Method
from dpcheck.bounds.ledger import ClaimResult
from dpcheck.errors import InputError, one_line, raised, require, require_count, require_positive
from dpcheck.reading import json_of, shown, typed
from dpcheck.running.executor import workers

_LENGTH = struct.Struct("!Q")  # of a message, which goes before it
_MEMORY = 4 * 2**30  # bytes of address space of a worker, and of each solver it starts
_STARTING = 60.0  # seconds the interpreter and this package may take to start

_PACKAGE = __name__.partition(".")[0]
# the very package that runs here, wherever it lies; its folder is on the path for this one import
_PROGRAM = f"""
import sys
sys.path.insert(0, sys.argv.pop(1))
import {_PACKAGE}
del sys.path[0]
from {_PACKAGE}.bounds import registry, workers
workers.main(registry.find)
"""

_ANSWER = (Verdict, str, str, dict[str, Any], float, Basis, str)  # what a worker says of a claim

Watch = Callable[[str, int, int], object]


def decide(
    claims: Sequence[Claim] | None, target: str | None, *, jobs: int | None, seconds: float, watch: Watch | None = None
) -> tuple[ClaimResult, ...]:
    """Return the result of each claim, in order; ``target`` is where :func:`registry.find` finds them.

    Without ``claims`` they are those of the Python file ``target``, which is never imported here. An interrupt
    kills the workers and is passed on.

    Raises :class:`~dpcheck.errors.InputError` for a file that cannot be imported within ``seconds``
    or states no claims.
    """
    require_positive(seconds, "seconds")
    if jobs is not None:
        require_count(jobs, "jobs")
    worker = None
    if claims is None:
        worker = _Worker(target)
        try:
            claims = worker.claims(seconds)
        except BaseException:
            worker.kill()
            raise
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(claims)):
        waiting.put(index)
    done: queue.SimpleQueue[tuple[int, ClaimResult]] = queue.SimpleQueue()
    stop = threading.Event()
    count = min(workers(jobs), len(claims))
    threads = [
        threading.Thread(target=_serve, args=(claims, target, seconds, waiting, done, stop, started), daemon=True)
        for started in (worker, *[None] * (count - 1))
    ]
    for thread in threads:
        thread.start()
    results: dict[int, ClaimResult] = {}
    try:
        while len(results) < len(claims):
            index, result = done.get()
            results[index] = result
            if watch is not None:
                watch(claims[index].id, len(results), len(claims))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return tuple(results[index] for index in range(len(claims)))


def _serve(
    claims: Sequence[Claim], target: str | None, seconds: float, waiting: queue.SimpleQueue[int],
    done: queue.SimpleQueue[tuple[int, ClaimResult]], stop: threading.Event, worker: _Worker | None,
) -> None:  # fmt: skip
    """Take claims until none is left, in one worker that is replaced when it has to be killed."""
    try:
        while not stop.is_set():
            try:
                index = waiting.get_nowait()
            except queue.Empty:
                return
            worker = worker or _Worker(target)
            result = worker.decide(claims[index], seconds, stop)
            if result.method == Method.NONE:
                worker.kill()
                worker = None
            done.put((index, result))
    finally:
        if worker is not None:
            worker.kill()


class _Worker:
    """A process that decides claims one after the other."""

    def __init__(self, target: str | None) -> None:
        root = str(Path(sys.modules[_PACKAGE].__file__ or "").parent.parent)
        command = [sys.executable, "-P", "-c", _PROGRAM, root, *([target] if target else [])]
        self._target = target
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._ready = False

    def claims(self, seconds: float) -> tuple[Claim, ...]:
        """Return the claims of the worker's file, to be decided by a worker; an error names what is wrong with the
        file.
        """
        stop = threading.Event()
        try:
            stated = self._start(seconds, stop)
            stated = stated if isinstance(stated, str) else typed(list[list[str]], stated, "claims")
        except TimeoutError:
            raise _bad_file(f"be imported within {seconds:g} s", self._target) from None
        except ValueError as error:
            raise _bad_file("leave the results alone", f"{self._target}: {one_line(error)}") from None
        except (EOFError, BrokenPipeError):
            ended = f"{self._target}: the process that imported it ended with code {self._process.wait()}"
            raise _bad_file("be importable", ended) from None
        if isinstance(stated, str):
            raise InputError(stated)
        return tuple(
            Claim(id, paper, kind, statement, place, _elsewhere) for id, paper, kind, statement, place in stated
        )

    def decide(self, claim: Claim, seconds: float, stop: threading.Event) -> ClaimResult:
        """Return the claim's result, or that there is none and why."""
        assert self._process.stdin is not None
        try:
            if not self._ready:
                self._start(seconds, stop)
            self._process.stdin.write(claim.id.encode() + b"\n")
            self._process.stdin.flush()
            answer = self._message(time.monotonic() + seconds, stop)
            answer = answer if isinstance(answer, str) else _result(claim, answer)
        except TimeoutError:
            return _undecided(claim, f"not decided within {seconds:g} s")
        except ValueError as error:
            return _undecided(claim, f"the process that decided it wrote something else: {one_line(error)}")
        except (EOFError, BrokenPipeError):
            return _undecided(claim, f"the process that decided it ended with code {self._process.wait()}")
        if isinstance(answer, str):
            return _undecided(claim, f"deciding it failed: {answer}")
        return answer

    def _start(self, seconds: float, stop: threading.Event) -> Any:
        """Wait until it runs, then until it has the claims; return what it says of them."""
        self._read(1, time.monotonic() + _STARTING, stop)
        answer = self._message(time.monotonic() + max(seconds, _STARTING if self._target is None else 0.0), stop)
        self._ready = True
        return answer

    def _message(self, deadline: float, stop: threading.Event) -> Any:
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline, stop))
        return json_of(self._read(length, deadline, stop).decode(), "the results")  # a user's file had a hand in them

    def kill(self) -> None:
        """End the process and the solvers it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.communicate()

    def _read(self, count: int, deadline: float, stop: threading.Event) -> bytes:
        pipe = self._process.stdout
        assert pipe is not None
        parts = b""
        while len(parts) < count:
            if stop.is_set() or time.monotonic() > deadline:
                raise TimeoutError
            ready, _, _ = select.select([pipe], [], [], 0.1)
            if ready:
                part = os.read(pipe.fileno(), count - len(parts))
                if not part:
                    raise EOFError
                parts += part
        return parts


def _result(claim: Claim, answer: Any) -> ClaimResult:
    """Return the result in an answer, InputError for one of another shape."""
    require(isinstance(answer, list) and len(answer) == len(_ANSWER), "a result", "have all its parts", shown(answer))
    return ClaimResult(claim, *(typed(kind, each, "a result") for kind, each in zip(_ANSWER, answer, strict=True)))


def _undecided(claim: Claim, why: str) -> ClaimResult:
    """Return the result of a claim on which no decision could be reached."""
    return ClaimResult(claim, "unresolved", Method.NONE, why, Evidence(()).to_dict(), 0.0, "judged")


def _bad_file(constraint: str, value: object) -> InputError:
    return InputError(f"the file of claims must {constraint}, got {value}")


def _elsewhere() -> NoReturn:
    raise RuntimeError("a claim of a file is decided in a worker")


def main(find: Callable[..., tuple[Claim, ...]]) -> None:
    """Say which claims ``find`` finds, then decide those whose ids come in, one a line: the program of a worker."""
    import resource

    from dpcheck.running.processes import end_with_parent

    end_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # what a user's own file prints must not mix with the results
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send(message: Any) -> None:
        answer = json.dumps(message).encode()
        results.write(_LENGTH.pack(len(answer)) + answer)
        results.flush()

    require(len(sys.argv) <= 2, "arguments", "be a target or nothing", sys.argv[1:])
    results.write(b"!")
    results.flush()
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        sys.path.append(str(Path(sys.argv[1]).resolve().parent))
    try:
        known = {claim.id: claim for claim in find(*sys.argv[1:])}
    except BaseException as error:  # a file may raise anything
        send(
            str(error)
            if isinstance(error, InputError)
            else f"the file of claims must be importable, got {raised(error)}"
        )
        return
    send([(claim.id, claim.paper, claim.kind, str(claim.statement), claim.location) for claim in known.values()])
    for line in sys.stdin:
        try:
            result = known[line.rstrip("\n")].decide()
            reached = (result.verdict, result.method, result.note, result.evidence, result.seconds)
            send((*reached, result.basis, result.kernel))
        except BaseException as error:
            send(raised(error))
