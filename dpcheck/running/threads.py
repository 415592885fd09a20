"""Threads of this process, which serve compiled code that releases the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dpcheck.running.executor import Executor


class Threads(Executor):
    """So many threads."""

    here = True

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool = ThreadPoolExecutor(jobs)
        self._work: Callable[[Any], Any] | None = None

    def _begin(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def _submit(self, chunk: Any) -> Future[Any]:
        assert self._work is not None
        return self._pool.submit(self._work, chunk)

    def _end(self, *, now: bool) -> None:
        """Ctrl-C: drop what has not begun instead of finishing it."""
        self._pool.shutdown(wait=not now, cancel_futures=True)
