"""A mechanism in a process of its own, within limits of time, memory and files: what it does there stays there.

The process is a fresh one. It inherits the two ends of its pipes and a counter, has a session and a temporary folder of
its own, no terminal, and nowhere to print; where the system allows it, it gives up the network, signals to others and
writing outside its folder before it loads the mechanism (:mod:`dpcheck.running.confined`). It is asked for one chunk of
runs at a time and answers in numbers, which are read as numbers alone. A call that does not return in time, that starts
a process, or that ends its own process is reported as such, and everything in the session is ended.
"""

from __future__ import annotations

import json
import math
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.arrays import Floats
from dpcheck.audits.running import Chunk, RunError, Runner
from dpcheck.audits.running.encoder import Layout
from dpcheck.audits.running.guest import NO_PROCESS
from dpcheck.errors import InputError, one_line, require, require_positive

_LOOK_EVERY = 0.05  # seconds
_LOADING = 60.0  # seconds until the first call, in which a mechanism may be imported
_LONGEST = 1 << 18  # bytes of the line before the numbers
_SHOWN = 200  # characters of a name
_COLUMNS = 1 << 20  # more than any layout has
_STARTED = getattr(signal, "SIGSYS", None)  # ends a process that starts another, where the system refuses that
_LIMITS = ("time", "memory", "processes", "exit")
# the guest's first lines: the path, what it gives up while it has one thread, and then all else
_START = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dpcheck.running.confined import confine
held = confine(sys.argv[2])
from dpcheck.audits.running.guest import serve
serve(held, int(sys.argv[3]))
"""


@dataclass(frozen=True)
class Limits:
    """What one mechanism may use when it is isolated.

    Parameters
    ----------
    seconds : float
        Longest time of one call, > 0.
    megabytes : float
        Memory beyond what the audit itself uses, and the largest file, > 0.
    total_seconds : float
        Longest time of the whole audit, > 0.
    told : callable, optional
        Called with one line that says which measures hold on this system, once they do.
    """

    seconds: float = 10.0
    megabytes: float = 2048.0
    total_seconds: float = 3600.0
    told: Callable[[str], object] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("seconds", "megabytes", "total_seconds"):
            require_positive(getattr(self, name), name)


def measures(limits: Limits, holds: dict[str, bool]) -> str:
    """Say which measures hold, and which the system does not offer."""
    room = f"{limits.megabytes:g} MB"
    words = {
        "memory": f"{room} of memory", "file size": f"{room} a file", "network": "no network",
        "signals": "no signals to other processes", "files": "writes to its own folder only",
    }  # fmt: skip
    held = [said for name, said in words.items() if holds.get(name)]
    missing = [said for name, said in words.items() if not holds.get(name)]
    here = ", ".join(["a process of its own", "no inherited files", *held,
                      f"{limits.seconds:g} s a call", f"{limits.total_seconds:g} s in all"])  # fmt: skip
    return f"isolated: {here}{'; not on this system: ' * bool(missing)}{', '.join(missing)}"


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
        from numba import cloudpickle  # which comes along, and takes what is defined at a prompt

        from dpcheck.running.process_pool import packed

        require(os.name == "posix", "isolate", "be left out on a system without sessions of processes", sys.platform)
        self._limits, self._words, self._read = limits, list[str](), b""
        self._deadline = time.monotonic() + limits.total_seconds
        payload = packed(runner, cloudpickle)
        self._folder = tempfile.mkdtemp(prefix="dpcheck-")
        # how many calls were begun, and whether one was about to fork
        self._calls = tempfile.TemporaryFile()  # noqa: SIM115  # it is closed at the end
        self._calls.truncate(16)
        path = [os.path.abspath(entry) for entry in sys.path]
        kept = dict.fromkeys(("TMPDIR", "NUMBA_CACHE_DIR"), self._folder)  # Numba refuses to work without one
        try:
            self._worker = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, json.dumps(path), self._folder, str(self._calls.fileno())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                pass_fds=(self._calls.fileno(),), cwd=self._folder, env={**os.environ, **kept}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise InputError(f"isolate must be able to start {sys.executable}: {one_line(error)}") from error
        try:
            self._begin(payload)
        except BaseException:
            self.end()
            raise

    def _begin(self, payload: bytes) -> None:
        """Hand over limits and mechanism, and learn which measures hold."""
        size = math.ceil(min(self._limits.megabytes * 2**20, 2**62))
        processor = math.ceil(min(self._limits.total_seconds * (os.cpu_count() or 1) + _LOADING, 2**31))
        head = {"length": len(payload), "bytes": size, "processor_seconds": processor}
        try:
            self._send(json.dumps(head).encode() + b"\n" + payload, 0)
            holds = json.loads(self._line(0))
        except _StoppedRunError as error:
            raise ContainedError(str(error), error.limit) from error
        if self._limits.told is not None:
            self._limits.told(measures(self._limits, holds))

    def probe(self, *, seeded: bool = True) -> Layout:
        """Return the columns of the outputs, as :meth:`~dpcheck.audits.running.Runner.probe` does."""
        try:
            row = self._answered({"seeded": seeded}, (1, 3))[0]
            numbers, codes, width = (int(count) if 0 <= count < _COLUMNS else -1 for count in row.tolist())
            named = len(self._words) in (0, numbers, numbers + codes)
            if min(numbers, codes) < 0 or numbers + codes < 1 or width not in (numbers, numbers + codes) or not named:
                raise self._stopped(0, "exit", "answer in numbers", "something else")
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
        """End the process, whatever it started in its session, and its folder."""
        if self._calls.closed:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._worker.pid, signal.SIGKILL)
        self._worker.kill()
        self._worker.wait()
        for pipe in (self._worker.stdin, self._worker.stdout, self._calls):
            assert pipe is not None
            pipe.close()
        with suppress(OSError, RecursionError):
            shutil.rmtree(self._folder, ignore_errors=True)

    def _answered(self, question: dict[str, Any], shape: tuple[int, int | None]) -> Floats:
        before = self._counted(0)
        self._send(json.dumps(question).encode() + b"\n", before)
        try:
            answer = json.loads(self._line(before))
            if "error" in answer:
                text, ran = one_line(answer["error"])[:1000], answer.get("ran")
                ran = None if ran is None else min(max(int(ran), 0), shape[0])
                if answer.get("limit") in _LIMITS:
                    raise _StoppedRunError(text.replace("ROOM", self._room), ran or 0, answer["limit"])
                raise InputError(text) if ran is None else RunError(text, ran)
            rows, columns = (int(number) for number in answer["shape"])
            self._words = [one_line(words)[:_SHOWN] for words in answer["words"]]
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
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

    def _counted(self, place: int) -> int:
        """Read the calls begun (0) or whether one would fork (8); to map a file that was cut would end this process."""
        return int(struct.unpack("<q", os.pread(self._calls.fileno(), 8, place).ljust(8, b"\0"))[0])

    def _send(self, content: bytes, before: int) -> None:
        """Write a question, which a process that is to answer does read."""
        assert self._worker.stdin is not None
        pipe, left = self._worker.stdin.fileno(), memoryview(content)
        os.set_blocking(pipe, False)
        since = time.monotonic()
        while left:
            try:
                left = left[os.write(pipe, left) :]
            except BlockingIOError:
                self._look(before, since, _LOADING)
                select.select([], [pipe], [], _LOOK_EVERY)
            except BrokenPipeError:  # the answer is then that it ended
                return

    def _line(self, before: int) -> bytes:
        """Wait for the line before the numbers."""
        while b"\n" not in self._read[:_LONGEST] and len(self._read) < _LONGEST:
            self._more(before)
        line, _, self._read = self._read.partition(b"\n")
        return line[:_LONGEST]

    def _bytes(self, size: int, before: int) -> bytearray:
        """Wait for so many bytes."""
        found, self._read = bytearray(self._read), b""
        while len(found) < size:
            self._more(before)
            found += self._read
            self._read = b""
        self._read = bytes(found[size:])
        del found[size:]
        return found

    def _more(self, before: int) -> None:
        """Wait for some bytes, as long as calls return in time."""
        assert self._worker.stdout is not None
        pipe, seen, since = self._worker.stdout.fileno(), self._counted(0), time.monotonic()
        while not select.select([pipe], [], [], _LOOK_EVERY)[0]:
            if _has_children(self._worker.pid):
                raise self._stopped(before, "processes", NO_PROCESS, "one that does")
            if (now := self._counted(0)) != seen:
                seen, since = now, time.monotonic()
            self._look(before, since, self._limits.seconds if seen else max(self._limits.seconds, _LOADING))
        self._look(before, time.monotonic(), self._limits.seconds)
        part = os.read(pipe, 1 << 20)
        if not part:
            raise self._ended(before)
        self._read += part

    def _look(self, before: int, since: float, seconds: float) -> None:
        """Stop a call that takes more than its time, or all calls that do."""
        now = time.monotonic()
        if now > self._deadline or now - since > seconds:
            within = f"return within {self._limits.seconds:g} s"
            if now > self._deadline:
                within = f"end all calls within {self._limits.total_seconds:g} s"
            raise self._stopped(before, "time", f"{within} when it is isolated", "one that runs on")

    def _ended(self, before: int) -> InputError:
        how, refused = "it closed its pipe", False
        with suppress(subprocess.TimeoutExpired):
            ended = self._worker.wait(timeout=1.0)
            how = f"exit code {ended}" if ended >= 0 else f"signal {-ended}"
            refused = -ended == _STARTED
        if refused or self._counted(8):
            return self._stopped(before, "processes", NO_PROCESS, "one that does")
        return self._stopped(before, "exit", "return", f"one that ended its process ({how})")

    def _stopped(self, before: int, limit: str, constraint: str, got: str) -> InputError:
        """End the process, and return what it was ended for."""
        ran = max(self._counted(0) - before - 1, 0)
        self.end()
        return _StoppedRunError(f"mechanism must {constraint}, got {got}", ran, limit)


def _has_children(process: int) -> bool:
    """Say whether another process has children, where the system tells."""
    with suppress(OSError):
        return any(path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/children"))
    return False
