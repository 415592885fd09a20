"""A mechanism in a process of its own, within limits of time and memory: what it does there stays there.

The process has a session of its own, no terminal, and nowhere to print. It is asked for one chunk of runs at a time and
answers in numbers, which are read as numbers alone. A call that does not return in time, that starts a process, or that
ends its own process is reported as such, and everything in the session is ended.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
import select
import signal
import struct
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from dpcheck.arrays import Floats
from dpcheck.audits.running import Chunk, RunError, Runner
from dpcheck.audits.running.encoder import Layout
from dpcheck.errors import InputError, one_line, require, require_positive
from dpcheck.running.processes import EndedProcessError, end_process, end_with_parent, forget_answer

_LOOK_EVERY = 0.05  # seconds
_LOADING = 60.0  # seconds until the first call, in which a mechanism may be imported
_LONGEST = 1 << 18  # bytes of the line before the numbers
_SHOWN = 200  # characters of a name


@dataclass(frozen=True)
class Limits:
    """What one mechanism may use when it is isolated.

    Parameters
    ----------
    seconds : float
        Longest time of one call, > 0.
    megabytes : float
        Memory beyond what the audit itself uses, > 0.
    """

    seconds: float = 10.0
    megabytes: float = 2048.0

    def __post_init__(self) -> None:
        require_positive(self.seconds, "seconds")
        require_positive(self.megabytes, "megabytes")


class ContainedError(InputError):
    """An isolated mechanism was stopped; ``limit`` says by what: "time", "memory", "processes" or "exit"."""

    def __init__(self, words: str, limit: str) -> None:
        super().__init__(words)
        self.limit = limit


class _StoppedRunError(RunError):
    """A run that was stopped."""

    def __init__(self, words: str, ran: int, limit: str) -> None:
        super().__init__(words, ran)
        self.limit = limit

    def on(self, sides: Sequence[int], without: Sequence[int]) -> InputError:
        return ContainedError(str(super().on(sides, without)), self.limit)


class IsolatedRunner:
    """Runs chunks as a :class:`~dpcheck.audits.running.Runner` does, in a process of its own."""

    def __init__(self, runner: Runner, limits: Limits) -> None:
        require(hasattr(os, "fork"), "isolate", "be left out on a system that cannot fork", limits)
        self._limits = limits
        self._calls = mmap.mmap(-1, 16)  # shared: how many calls were begun, and whether one was about to fork
        questions, self._ask = os.pipe()
        self._answer, answered = os.pipe()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "This process.*fork", DeprecationWarning)
            self._worker = os.fork()
        self._waited_for, self._words = False, list[str]()
        if self._worker == 0:
            os.close(self._ask)
            os.close(self._answer)
            _serve(runner, limits.megabytes, self._calls, questions, answered)
        os.close(questions)
        os.close(answered)

    def probe(self, *, seeded: bool = True) -> Layout:
        """Return the columns of the outputs, as :meth:`~dpcheck.audits.running.Runner.probe` does."""
        try:
            numbers, codes, width = self._answered({"seeded": seeded}, (1, 3))[0].astype(int).tolist()
        except _StoppedRunError as error:
            raise ContainedError(str(error), error.limit) from error
        return Layout(numbers, codes, width, tuple(self._words))

    def labels(self, codes: Sequence[float], chunk: Chunk | None = None) -> dict[float, str]:
        """Return the statements behind codes, as :meth:`~dpcheck.audits.running.Runner.labels` does."""
        question = {"labels": list(codes)} | ({} if chunk is None else asdict(chunk))
        known = self._answered(question, (len(codes), 1))[:, 0] if codes else np.zeros(0)
        words = iter(self._words)
        return {number: next(words, "") for number, there in zip(codes, known, strict=True) if there}

    def __call__(self, chunk: Chunk) -> Floats:
        """Return the outputs (size, k) of one chunk."""
        return self._answered({"side": chunk.side, "number": chunk.number, "size": chunk.size}, (chunk.size, None))

    def end(self) -> None:
        """End the process, and whatever it started in its session."""
        for pipe in (self._ask, self._answer):
            with suppress(OSError):
                os.close(pipe)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._worker, signal.SIGKILL)
        if not self._waited_for:  # its number is still its own
            self._waited_for = True
            os.kill(self._worker, signal.SIGKILL)
            os.waitpid(self._worker, 0)

    def _answered(self, question: dict[str, Any], shape: tuple[int, int | None]) -> Floats:
        before = self._begun()
        with suppress(BrokenPipeError):  # the answer is then that it ended
            os.write(self._ask, json.dumps(question).encode() + b"\n")
        head = b""
        while not head.endswith(b"\n") and len(head) < _LONGEST:
            head += self._bytes(1, before)
        try:
            answer = json.loads(head)
            if "error" in answer:
                text, ran = one_line(answer["error"])[:1000], answer.get("ran")
                if "limit" in answer:
                    raise _StoppedRunError(text.replace("ROOM", self._room), int(ran or 0), str(answer["limit"]))
                raise InputError(text) if ran is None else RunError(text, int(ran))
            rows, columns = (int(number) for number in answer["shape"])
            self._words = [one_line(words)[:_SHOWN] for words in answer.get("words", [])]
        except (ValueError, TypeError, KeyError) as error:
            if isinstance(error, InputError):
                raise
            raise self._stopped(before, "exit", "answer in numbers", "something else") from error
        good = rows == shape[0] and columns in (shape[1] or columns, columns) and columns >= 1
        size = rows * columns * 8
        if not good or size > self._limits.megabytes * 2**20:
            raise self._stopped(before, "memory", f"return outputs within {self._room}", f"shape ({rows}, {columns})")
        return np.frombuffer(self._bytes(size, before), "<f8").astype(np.float64).reshape(rows, columns)

    @property
    def _room(self) -> str:
        return f"{self._limits.megabytes:g} MB"

    def _begun(self) -> int:
        return int(struct.unpack_from("<q", self._calls)[0])

    def _bytes(self, size: int, before: int) -> bytes:
        """Wait for so many bytes, as long as calls return in time."""
        parts, left = [], size
        seen, since = self._begun(), time.monotonic()
        while left > 0:
            if select.select([self._answer], [], [], _LOOK_EVERY)[0]:
                part = os.read(self._answer, min(left, 1 << 20))
                if not part:
                    raise self._ended(before)
                parts.append(part)
                left -= len(part)
                since = time.monotonic()
                continue
            if _has_children(self._worker):
                self.end()
                raise self._stopped(before, "processes", _NO_PROCESS, "one that does")
            if (now := self._begun()) != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > (self._limits.seconds if seen else max(self._limits.seconds, _LOADING)):
                self.end()
                within = f"return within {self._limits.seconds:g} s when it is isolated"
                raise self._stopped(before, "time", within, "one that runs on")
        return b"".join(parts)

    def _ended(self, before: int) -> InputError:
        _, status = os.waitpid(self._worker, 0)
        self._waited_for = True
        if struct.unpack_from("<q", self._calls, 8)[0]:
            return self._stopped(before, "processes", _NO_PROCESS, "one that does")
        ended = os.waitstatus_to_exitcode(status)
        how = f"exit code {ended}" if ended >= 0 else f"signal {-ended}"
        return self._stopped(before, "exit", "return", f"one that ended its process ({how})")

    def _stopped(self, before: int, limit: str, constraint: str, got: str) -> InputError:
        ran = max(self._begun() - before - 1, 0)
        return _StoppedRunError(f"mechanism must {constraint}, got {got}", ran, limit)


def _has_children(process: int) -> bool:
    """Say whether another process has children, where the system tells."""
    with suppress(OSError):
        return any(path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/children"))
    return False


_NO_PROCESS = "start no process when it is isolated"
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def _serve(runner: Runner, megabytes: float, calls: mmap.mmap, asking: int, answered: int) -> NoReturn:
    """Answer questions until there are no more; nothing that a mechanism does leads out of here."""
    try:
        forget_answer()
        os.setsid()
        _quiet()
        os.register_at_fork(before=partial(_refuse, calls))
        _limit_memory(megabytes)
        end_with_parent()
        process, load = os.getpid(), getattr(runner.mechanism, "load", None)
        runner = replace(runner, mechanism=_Counted(runner.mechanism, calls))
        with os.fdopen(asking, "rb") as questions:
            for line in questions:
                head, body = _answer(runner, json.loads(line), load)
                load = None
                if os.getpid() != process:  # a process that the mechanism has split off
                    os._exit(0)
                if _has_child():
                    words = f"mechanism must {_NO_PROCESS}, got one that does"
                    head, body = {"error": words, "ran": 0, "limit": "processes"}, b""
                left = memoryview(json.dumps(head).encode() + b"\n" + body)
                while left:
                    left = left[os.write(answered, left) :]
    finally:
        os._exit(1)


def _answer(
    runner: Runner, question: dict[str, Any], load: Callable[[], None] | None
) -> tuple[dict[str, Any], bytes]:  # fmt: skip
    try:
        if load is not None:
            load()
        words = list[str]()
        if "seeded" in question:
            layout = runner.probe(seeded=question["seeded"])
            outputs, words = np.array([[layout.numbers, layout.codes, layout.width]]), list(layout.names)
        elif "labels" in question:
            chunk = Chunk(question["side"], question["number"], question["size"]) if "side" in question else None
            known = runner.labels(question["labels"], chunk)
            outputs, words = np.array([[number in known] for number in question["labels"]]), list(known.values())
        else:
            outputs = runner(Chunk(question["side"], question["number"], question["size"]))
        return {"shape": outputs.shape, "words": words}, np.ascontiguousarray(outputs, "<f8").tobytes()
    except RunError as error:
        if isinstance(error.__cause__, MemoryError):
            return _no_memory(error.ran), b""
        return {"error": str(error), "ran": error.ran} | _exit(error), b""
    except InputError as error:
        return _no_memory(0) if "MemoryError" in str(error) else {"error": str(error)} | _exit(error), b""
    except MemoryError:
        return _no_memory(0), b""


def _exit(error: BaseException | None) -> dict[str, str]:
    """Return the limit that was met if the mechanism asked for the end of the process."""
    while error is not None and not isinstance(error, EndedProcessError):
        error = error.__cause__
    return {} if error is None else {"limit": "exit"}


def _no_memory(ran: int) -> dict[str, Any]:
    words = "mechanism must work within ROOM when it is isolated, got one that needs more"
    return {"error": words, "ran": ran, "limit": "memory"}


@dataclass(frozen=True)
class _Counted:
    """A mechanism whose calls are counted where another process sees it."""

    mechanism: Callable[..., Any]
    calls: mmap.mmap

    def __call__(self, *arguments: Any) -> Any:
        struct.pack_into("<q", self.calls, 0, struct.unpack_from("<q", self.calls)[0] + 1)
        return self.mechanism(*arguments)


def _refuse(calls: mmap.mmap) -> NoReturn:
    """End this process instead of splitting it, which a mechanism might do for ever."""
    struct.pack_into("<q", calls, 8, 1)
    end_process(1)


def _quiet() -> None:
    """Take away the terminal: nothing to read, and nowhere to print."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)


def _limit_memory(megabytes: float) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        try:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
        except OSError:
            return
        most = pages * mmap.PAGESIZE + math.ceil(megabytes * 2**20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _has_child() -> bool:
    """Say whether this process has a child, be it one that has ended."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True
