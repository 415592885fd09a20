"""One chunk after the other, here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from dpcheck.running.executor import Executor, Result, Task


class Serial(Executor):
    """This very thread; a chunk is run when its result is asked for."""

    jobs = 1
    here = True

    def _run(
        self, work: Callable[[Task], Result], chunks: Iterable[Task], *, in_order: bool
    ) -> Iterator[tuple[Task, Result]]:
        for chunk in chunks:
            yield chunk, work(chunk)

    def _begin(self, work: Callable[[Any], Any]) -> None:
        """There is nobody to hand it to."""

    def _submit(self, chunk: Any) -> Future[Any]:
        raise NotImplementedError

    def _end(self, *, now: bool) -> None:
        """There is nobody to end."""
