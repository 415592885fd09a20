"""The worker as a process of its own: a request in, answers as they come, until a deadline."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_WORKER = Path(__file__).resolve().parent / "worker.py"
Answer = dict[str, Any]


class Process:
    """loaded : the files that it has imported, so that an edit of one of them calls for a process that has not."""

    def __init__(self, environment: Mapping[str, str], folder: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER), *arguments], env=dict(environment), cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._left, self._number = b"", 0
        first = self._answer(None)
        assert first is not None
        self.loaded = frozenset(first["loaded"])

    def close(self) -> None:
        """End it, and the check that it is at."""
        if self._number:
            with suppress(ProcessLookupError):
                os.killpg(self._number, signal.SIGKILL)
        self._process.kill()
        self._process.wait()  # not for the end of its output, which what it started may hold
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def ask(self, request: Mapping[str, Any], seconds: float) -> Iterator[Answer]:
        """A line a stage; the last one says ``late`` where the time was up, or ``error`` where the check raised."""
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(request) + "\n").encode())
        self._process.stdin.flush()
        deadline = time.monotonic() + seconds
        while (answer := self._answer(deadline)) is not None:
            self._number = answer.get("process", self._number)
            if "done" in answer:
                self._number = 0
                if answer["done"]:
                    yield {"error": f"the process ended with status {answer['done']}", "place": ""}
                return
            yield answer
        os.killpg(self._number, signal.SIGKILL)
        self._number = 0
        while "done" not in (self._answer(None) or {"done": 0}):
            pass
        yield {"late": seconds}

    def _answer(self, deadline: float | None) -> Answer | None:
        """The next line, or None where the deadline came first."""
        assert self._process.stdout is not None
        stream = self._process.stdout.fileno()
        while b"\n" not in self._left:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([stream], [], [], wait)[0]:
                return None
            more = os.read(stream, 1 << 16)
            if not more:
                raise RuntimeError("the worker ended")
            self._left += more
        line, _, self._left = self._left.partition(b"\n")
        found: Answer = json.loads(line)
        return found
