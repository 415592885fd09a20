"""Claims decided side by side, each within its time and memory, in processes that can be killed.

A worker is a program that runs :func:`main`: it reads a claim's id from its input, decides the claim,
and writes the result. The caller's own program is never imported again, as it would be by
``multiprocessing``. A file of one's own runs in a worker that decides nothing, so that one that never ends, takes all
memory or patches a module stops nobody else: what it states crosses as a plain tree to a worker that judges.

A worker does not search the current folder for modules (``python -P``): a ``types.py`` or ``z3.py``
that lies there has no say in a verdict. The folder of a file of claims comes last on its path, so
that the file can import its neighbours and they replace nothing.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dpcheck.bounds.kind import Method
from dpcheck.bounds.ledger import ClaimResult
from dpcheck.errors import InputError, one_line, raised, require, require_count, require_positive
from dpcheck.reading import json_of, typed
from dpcheck.running.executor import workers

if TYPE_CHECKING:  # a process that judges starts while this is imported
    from dpcheck.bounds.claim import Claim

_LENGTH = struct.Struct("!Q")  # of a message, which goes before it
_MEMORY = 4 * 2**30  # bytes of address space of a worker, and of each solver it starts
_LONGEST = 2**26  # bytes of a message
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

Watch = Callable[[str, int, int], object]


def decide(
    claims: Sequence[Claim] | None, target: str | None, trees: Sequence[Mapping[str, Any]] = (), *,
    jobs: int | None, seconds: float, watch: Watch | None = None, coq: Mapping[str, Any] | None = None,
) -> tuple[ClaimResult, ...]:  # fmt: skip
    """Return the result of each claim, in order; ``target`` is where :func:`registry.find` finds them.

    Without ``claims`` they are those of the Python file ``target``, which runs in a process that decides nothing:
    what it states crosses as plain trees to another, which never sees the file. Claims that are ``trees`` already are
    judged as they are. ``coq`` is what a judge does besides:
    ``library``, a folder in which Coq is asked to prove the steps, and ``export``, to write them as a file. An
    interrupt kills the workers and is passed on.

    Raises :class:`~dpcheck.errors.InputError` for a file that cannot be imported within ``seconds``
    or states no claims.
    """
    require_positive(seconds, "seconds")
    if jobs is not None:
        require_count(jobs, "jobs")
    file = claims is None
    first = _Decider(target, file, trees, coq)
    try:
        first.begin()
        known = first.claims(seconds) if claims is None else claims
    except BaseException:
        first.kill()
        raise
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(known)):
        waiting.put(index)
    done: queue.SimpleQueue[tuple[int, ClaimResult | Exception]] = queue.SimpleQueue()
    stop = threading.Event()
    others = [_Decider(target, file, trees, coq) for _ in range(min(workers(jobs), len(known)) - 1)]
    threads = [
        threading.Thread(target=_serve, args=(known, seconds, waiting, done, stop, decider), daemon=True)
        for decider in (first, *others)
    ]
    for thread in threads:
        thread.start()
    results: dict[int, ClaimResult] = {}
    try:
        while len(results) < len(known):
            index, result = done.get()
            if isinstance(result, Exception):
                raise result
            results[index] = result
            if watch is not None:
                watch(known[index].id, len(results), len(known))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return tuple(results[index] for index in range(len(known)))


def _serve(
    claims: Sequence[Claim], seconds: float, waiting: queue.SimpleQueue[int],
    done: queue.SimpleQueue[tuple[int, ClaimResult | Exception]], stop: threading.Event, decider: _Decider,
) -> None:  # fmt: skip
    """Take claims until none is left."""
    try:
        while not stop.is_set():
            try:
                index = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((index, decider.decide(claims[index], seconds, stop)))
            except Exception as error:  # of dpcheck's own: who waits for the result is told
                done.put((index, error))
    finally:
        decider.kill()


class _Decider:
    """What decides claims one after the other: a process, or for a file one that runs it and one that judges."""

    def __init__(
        self, target: str | None, file: bool, trees: Sequence[Mapping[str, Any]], coq: Mapping[str, Any] | None
    ) -> None:  # fmt: skip
        self._target, self._file, self._coq = target, file, dict(coq or {})
        self._trees = {tree["id"]: tree for tree in trees}
        self._workers: list[_Worker] = []

    def begin(self) -> list[_Worker]:
        """Start the processes, unless they run."""
        if not self._workers:
            roles: tuple[tuple[str, str | None], ...] = (("decide", self._target),)
            if self._file:
                roles = (("judge", None),) if self._trees else (("judge", None), ("read", self._target))
            self._workers = [_Worker(*role) for role in roles]
        return self._workers

    def claims(self, seconds: float) -> tuple[Claim, ...]:
        """Return the claims of the file, to be decided elsewhere; an error names what is wrong with the file."""
        if self._trees:
            names = ("id", "paper", "kind", "statement", "location")
            return tuple(_named(*(one_line(tree[name]) for name in names)) for tree in self._trees.values())
        *_, reader = self.begin()
        try:
            stated = reader.start(seconds, threading.Event())
            stated = stated if isinstance(stated, str) else typed(list[list[str]], stated, "claims")
        except TimeoutError:
            raise _bad_file(f"be imported within {seconds:g} s", self._target) from None
        except ValueError as error:
            raise _bad_file("leave the results alone", f"{self._target}: {one_line(error)}") from None
        except (EOFError, BrokenPipeError):
            ended = f"{self._target}: the process that imported it ended with code {reader.code()}"
            raise _bad_file("be importable", ended) from None
        if isinstance(stated, str):
            raise InputError(one_line(stated))
        alone = isinstance(stated, list) and all(isinstance(row, list) and len(row) == 5 for row in stated)
        if not alone or not all(isinstance(word, str) and len(word) < 10_000 for row in stated for word in row):
            raise _bad_file("leave the results alone", self._target)
        return tuple(_named(*map(one_line, row)) for row in stated)

    def decide(self, claim: Claim, seconds: float, stop: threading.Event) -> ClaimResult:
        """Return the claim's result, or that there is none and why."""
        workers = self.begin()
        request: Any = claim.id
        if self._trees:
            request = {"claim": self._trees[claim.id], "id": claim.id, "seconds": seconds, **self._coq}
        worker = workers[-1]
        try:
            for worker in workers:
                worker.start(seconds, stop)
            deadline = time.monotonic() + seconds
            for worker in reversed(workers):  # what reads comes before what judges
                answer = worker.ask(request, deadline, stop)
                if isinstance(answer, str):
                    break
                left = deadline - time.monotonic()
                request = {"claim": answer, "id": claim.id, "seconds": left, **self._coq}
            if not isinstance(answer, str):
                answer = _result(claim, answer)
        except TimeoutError:
            why = f"not decided within {seconds:g} s"
            if worker.known is not None:
                self.kill()
                known = _result(claim, worker.known)
                return replace(
                    known, note=f"{known.note} What was searched for besides did not end within {seconds:g} s."
                )
        except ValueError as error:
            why = f"the process that decided it wrote something else: {one_line(error)}"
        except (EOFError, BrokenPipeError):
            why = f"the process that decided it ended with code {worker.code()}"
        else:
            if isinstance(answer, str) and len(self._trees) == 1 and answer.startswith("InputError: "):
                raise InputError(one_line(answer.removeprefix("InputError: ")))  # the one line that was typed
            return _undecided(claim, f"deciding it failed: {one_line(answer)}") if isinstance(answer, str) else answer
        self.kill()
        return _undecided(claim, why)

    def kill(self) -> None:
        """End the processes; the next claim starts new ones."""
        for worker in self._workers:
            worker.kill()
        self._workers = []


class _Worker:
    """A process that answers one request after the other."""

    def __init__(self, role: str, target: str | None) -> None:
        root = str(Path(sys.modules[_PACKAGE].__file__ or "").parent.parent)
        command = [sys.executable, "-P", "-c", _PROGRAM, root, role, *([target] if target else [])]
        self._target = target
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._ready = False
        self.known: Any = None  # the answer as far as it is known

    def ask(self, request: Any, deadline: float, stop: threading.Event) -> Any:
        """Return the answer; until it is there, :attr:`known` is what the process has of it."""
        self.known = None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        while True:
            message = self._message(deadline, stop)
            if not (isinstance(message, list) and len(message) == 2):
                raise ValueError("a message of another shape")
            whole, answer = message
            if whole:
                return answer
            self.known = answer

    def start(self, seconds: float, stop: threading.Event) -> Any:
        """Wait until it runs, then until it has the claims; return what it says of them, once."""
        if self._ready:
            return None
        self._read(1, time.monotonic() + _STARTING, stop)
        answer = self._message(time.monotonic() + max(seconds, _STARTING if self._target is None else 0.0), stop)
        self._ready = True
        return answer

    def code(self) -> int:
        """Return the code with which it ended."""
        return self._process.wait()

    def _message(self, deadline: float, stop: threading.Event) -> Any:
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline, stop))
        if length > _LONGEST:
            raise ValueError("a message too long to be read")
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
    from dpcheck.bounds.decision import Basis, Verdict

    kinds = (Verdict, str, str, dict[str, Any], float, Basis, str, str, str, str)
    must = "have all its parts"
    require(isinstance(answer, list) and len(answer) == 2, "a result", must, "others")
    stated, reached = answer
    require(isinstance(reached, list) and len(reached) == len(kinds), "a result", must, "others")
    require(not stated or (isinstance(stated, list) and len(stated) == 5), "a claim", must, "others")
    judged = _named(*typed(list[str], stated, "a claim")) if stated else claim
    return ClaimResult(judged, *(typed(kind, each, "a result") for kind, each in zip(kinds, reached, strict=True)))


def _undecided(claim: Claim, why: str) -> ClaimResult:
    """Return the result of a claim on which no decision could be reached."""
    from dpcheck.bounds.decision import Evidence

    return ClaimResult(claim, "unresolved", Method.NONE, why, Evidence(()).to_dict(), 0.0, "judged")


def _bad_file(constraint: str, value: object) -> InputError:
    return InputError(f"the file of claims must {constraint}, got {value}")


def _named(id: str, paper: str, kind: str, statement: str, location: str) -> Claim:
    """Return a claim that is decided in a worker."""
    from dpcheck.bounds.claim import Claim

    return Claim(id, paper, kind, statement, location, _elsewhere)


def _elsewhere() -> NoReturn:
    raise RuntimeError("a claim of a file is decided in a worker")


def main(find: Callable[..., tuple[Claim, ...]]) -> None:
    """Answer requests, one a line: the program of a worker.

    One that *decides* gets ids of claims that ``find`` finds, one that *reads* a file says as a tree what the claim
    with an id states, one that *judges* gets such trees.
    """
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

    role, *target = sys.argv[1:]
    require(len(target) <= 1, "arguments", "be a target or nothing", target)
    results.write(b"!")
    results.flush()
    if role == "judge":
        from dpcheck.bounds import crossing

        send(None)
        answer: Callable[..., Any] = crossing.answer
    else:
        if role == "read":
            sys.path.append(str(Path(target[0]).resolve().parent))
        try:
            known = {claim.id: claim for claim in find(*target)}
        except BaseException as error:  # a file may raise anything
            own = isinstance(error, InputError)
            send(str(error) if own else f"the file of claims must be importable, got {raised(error)}")
            return
        send([(claim.id, claim.paper, claim.kind, str(claim.statement), claim.location) for claim in known.values()])
        answer = functools.partial(_told if role == "read" else _decided, known)
    for line in sys.stdin:
        try:
            send((True, answer(json.loads(line), lambda known: send((False, known)))))
        except BaseException as error:
            send((True, raised(error)))


def _decided(known: Mapping[str, Claim], id: str, answered: Callable[[Any], object]) -> Any:
    return None, known[id].decide(lambda early: answered((None, early.fields()))).fields()


def _told(known: Mapping[str, Claim], id: str, _: object) -> Any:
    from dpcheck.bounds import crossing, judge

    judge.unread = True
    return crossing.tree(known[id])
