"""Claims decided side by side, each within its time, in processes that can be killed.

A worker is this module run as a program: it reads a claim's id from its input, decides the claim,
and writes the result. The caller's own program is never imported again, as it would be by
``multiprocessing``.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from dpcheck.bounds.claim import Claim, ClaimResult
from dpcheck.errors import require, require_count, require_positive
from dpcheck.streams import cores

_LENGTH = struct.Struct("!Q")
_STARTING = 60.0  # seconds a worker may take before its first claim


def decide_all(
    claims: Sequence[Claim], target: str | None, *, jobs: int | None, seconds: float,
    watch: Callable[[str, int, int], object] | None = None,
) -> tuple[ClaimResult, ...]:  # fmt: skip
    """The result of each claim, in order; ``target`` is where :func:`registry.find` finds them.

    An interrupt kills the workers and is passed on.
    """
    require_positive(seconds, "seconds")
    if jobs is not None:
        require_count(jobs, "jobs")
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(claims)):
        waiting.put(index)
    done: queue.SimpleQueue[tuple[int, ClaimResult]] = queue.SimpleQueue()
    stop = threading.Event()
    count = min(jobs or cores(), len(claims))
    threads = [
        threading.Thread(target=_serve, args=(claims, target, seconds, waiting, done, stop), daemon=True)
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    found: dict[int, ClaimResult] = {}
    try:
        while len(found) < len(claims):
            index, result = done.get()
            found[index] = result
            if watch is not None:
                watch(claims[index].id, len(found), len(claims))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return tuple(found[index] for index in range(len(claims)))


def _serve(
    claims: Sequence[Claim], target: str | None, seconds: float, waiting: queue.SimpleQueue[int],
    done: queue.SimpleQueue[tuple[int, ClaimResult]], stop: threading.Event,
) -> None:  # fmt: skip
    """Take claims until none is left, in one worker that is replaced when it has to be killed."""
    worker: _Worker | None = None
    try:
        while not stop.is_set():
            try:
                index = waiting.get_nowait()
            except queue.Empty:
                return
            worker = worker or _Worker(target)
            result = worker.decide(claims[index], seconds, stop)
            if result.method == "none":
                worker.kill()
                worker = None
            done.put((index, result))
    finally:
        if worker is not None:
            worker.kill()


class _Worker:
    """A process that decides claims one after the other."""

    def __init__(self, target: str | None) -> None:
        command = [sys.executable, "-m", "dpcheck.bounds.workers", *([target] if target else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._ready = False

    def decide(self, claim: Claim, seconds: float, stop: threading.Event) -> ClaimResult:
        """The claim's result, or that there is none and why."""
        assert self._process.stdin is not None
        allowed = seconds + (0.0 if self._ready else _STARTING)
        deadline = time.monotonic() + allowed
        try:
            self._process.stdin.write(claim.id.encode() + b"\n")
            self._process.stdin.flush()
            if not self._ready:
                self._read(1, deadline, stop)
                self._ready = True
                deadline = time.monotonic() + seconds
            (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline, stop))
            found = pickle.loads(self._read(length, deadline, stop))
        except TimeoutError:
            return claim.undecided(f"not decided within {seconds:g} s")
        except (EOFError, BrokenPipeError):
            return claim.undecided(f"the process that decided it ended with code {self._process.wait()}")
        if isinstance(found, str):
            return claim.undecided(f"deciding it failed: {found}")
        verdict, method, note, evidence, took, basis = found
        return ClaimResult(claim, verdict, method, note, evidence, took, basis)

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


def _main() -> None:
    """Decide the claims whose ids come in, one a line."""
    from dpcheck.bounds.registry import find

    # what a user's own file prints must not mix with the results
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    require(len(sys.argv) <= 2, "arguments", "be a target or nothing", sys.argv[1:])
    known = {each.id: each for each in find(*sys.argv[1:])}
    results.write(b"!")
    results.flush()
    for line in sys.stdin:
        try:
            result = known[line.rstrip("\n")].decide()
            answer = pickle.dumps(
                (result.verdict, result.method, result.note, result.evidence, result.seconds, result.basis)
            )
        except Exception as error:
            answer = pickle.dumps(f"{type(error).__name__}: {' '.join(str(error).split())}")
        results.write(_LENGTH.pack(len(answer)) + answer)
        results.flush()


if __name__ == "__main__":
    _main()
