"""The process of an isolated mechanism: it answers one question after the other, and nothing leads out of it."""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
import signal
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from dpcheck.audits.running.outputs import RunError
from dpcheck.audits.running.run_plan import Chunk
from dpcheck.audits.running.runs import Runner
from dpcheck.errors import InputError
from dpcheck.running.processes import EndedProcessError, end_process, end_with_parent, forget_answer

NO_PROCESS = "start no process when it is isolated"
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def serve(runner: Runner, megabytes: float, calls: mmap.mmap, asked: int, answered: int) -> NoReturn:
    """Answer questions until there are no more; nothing that a mechanism does leads out of here."""
    try:
        forget_answer()
        os.setsid()
        _quiet()
        os.register_at_fork(before=partial(_refuse, calls))
        _limit_memory(megabytes)
        end_with_parent()
        own, load = os.getpid(), getattr(runner.mechanism, "load", None)
        runner = replace(runner, mechanism=_Counted(runner.mechanism, calls))
        with os.fdopen(asked, "rb") as questions:
            for line in questions:
                head, body = _answer(runner, json.loads(line), load)
                load = None
                if os.getpid() != own:  # a process that the mechanism has split off
                    os._exit(0)
                if _has_child():
                    said = f"mechanism must {NO_PROCESS}, got one that does"
                    head, body = {"error": said, "ran": 0, "limit": "processes"}, b""
                _write(answered, json.dumps(head).encode() + b"\n" + body)
    finally:
        os._exit(1)


def _answer(
    runner: Runner, question: dict[str, Any], load: Callable[[], None] | None
) -> tuple[dict[str, Any], bytes]:  # fmt: skip
    try:
        if load is not None:
            load()
        if "seeded" in question:
            found = np.array([[float(runner.probe(seeded=question["seeded"]))]])
        else:
            found = runner(Chunk(question["side"], question["number"], question["size"]))
        return {"shape": found.shape}, np.ascontiguousarray(found, "<f8").tobytes()
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
    said = "mechanism must work within ROOM when it is isolated, got one that needs more"
    return {"error": said, "ran": ran, "limit": "memory"}


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


def _write(pipe: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(pipe, view) :]
