"""The process of an isolated mechanism: it answers questions in numbers, within what :mod:`.isolated` set for it."""

from __future__ import annotations

import json
import mmap
import os
import pickle
import signal
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from dpcheck.audits.running import Chunk, RunError, Runner
from dpcheck.errors import InputError, raised
from dpcheck.running.confined import limit, memory_in_use
from dpcheck.running.processes import EndedProcessError, end_process, end_with_parent

NO_PROCESS = "start no process when it is isolated"


def serve(holds: dict[str, bool], counter: int) -> NoReturn:
    """Answer questions until there are no more; nothing that a mechanism does leads out of here.

    holds : what the process has given up already
    counter : the file in which it counts how many calls were begun, and says whether one was about to fork
    """
    try:
        asking, answered = os.dup(0), os.dup(1)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # nothing to read, and nowhere to print
            os.dup2(nowhere, stream)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_with_parent()
        calls = mmap.mmap(counter, 16)
        os.close(counter)
        os.register_at_fork(before=partial(_refuse, calls))
        with os.fdopen(asking, "rb") as questions:
            limits = json.loads(questions.readline())
            payload = questions.read(limits["length"])
            _send(answered, holds | _limited(limits))
            load, process = _loaded(payload, calls), os.getpid()
            for line in questions:
                head, body = _answer(load, json.loads(line))
                if os.getpid() != process:  # a process that the mechanism has split off
                    break
                if _has_child():
                    words = f"mechanism must {NO_PROCESS}, got one that does"
                    head, body = {"error": words, "ran": 0, "limit": "processes"}, b""
                _send(answered, head, body)
    finally:
        end_process(1)


def _limited(limits: dict[str, int]) -> dict[str, bool]:
    """Limit what is still to come; memory beyond what is in use, and the mechanism and its data, twice while read."""
    limit("CORE", 0)
    limit("CPU", limits["processor_seconds"])  # should the other process not be there to look at the time
    used = memory_in_use()
    memory = used is not None and limit("AS", used + 2 * limits["length"] + limits["bytes"])
    return {"memory": memory, "file size": limit("FSIZE", limits["bytes"])}


def _send(answered: int, head: dict[str, Any], body: bytes = b"") -> None:
    left = memoryview(json.dumps(head).encode() + b"\n" + body)
    while left:
        left = left[os.write(answered, left) :]


def _loaded(payload: bytes, calls: mmap.mmap) -> Callable[[], Runner]:
    """Return what loads the runner at the first question, which is then answered by what went wrong."""
    made = list[Runner]()

    def load() -> Runner:
        if not made:
            try:
                runner: Runner = pickle.loads(payload)
            except MemoryError:
                raise
            except BaseException as error:
                must = "mechanism must be importable in a process of its own where it is isolated"
                raise InputError(f"{must}, got {raised(error)}") from error
            getattr(runner.mechanism, "load", lambda: None)()
            made.append(replace(runner, mechanism=_Counted(runner.mechanism, calls)))
        return made[0]

    return load


def _answer(load: Callable[[], Runner], question: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        runner, words = load(), list[str]()
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


def _has_child() -> bool:
    """Say whether this process has a child, be it one that has ended."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True
