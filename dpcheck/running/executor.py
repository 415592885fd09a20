"""Whatever runs the chunks of long work, such as threads; the bits are the same for any number of workers and cores."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import islice
from threading import Lock
from typing import Any, Self, TypeVar

from dpcheck.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

# Chunks handed out for each worker: enough to keep workers busy, and few enough to bound the results that wait.
_AHEAD = 2
# Times in a row that workers may be lost without any chunk being finished.
_LOST = 3


class LostWorkersError(InputError):
    """Workers were lost again and again, so that the work itself is what ends them."""


class Executor(ABC):
    """Runs ``work(chunk)`` for many chunks; a context manager, which lets go of its workers."""

    jobs: int  # workers
    here: bool = False  # whether they see what this process has in memory
    _lost: tuple[type[BaseException], ...] = ()
    _work: Callable[[Any], Any] | None = None

    def map(self, work: Callable[[Task], Result], chunks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield each chunk with what ``work`` returns for it, in order."""
        return self._run(work, chunks, in_order=True)

    def finished(self, work: Callable[[Task], Result], chunks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield each chunk with what ``work`` returns for it, as soon as it is finished."""
        return self._run(work, chunks, in_order=False)

    @abstractmethod
    def _begin(self, work: Callable[[Any], Any]) -> None:
        """Hand the work to the workers, in place of those that were lost, too."""

    @abstractmethod
    def _submit(self, chunk: Any) -> Future[Any]:
        """Have a worker do the work on one chunk."""

    def _taken(self, result: Any) -> Any:
        """Return a result as the work returned it."""
        return result

    def _explained(self, error: Exception) -> Exception:
        """Return what to raise for an error of a chunk."""
        return error

    @abstractmethod
    def _end(self, *, now: bool) -> None:
        """Let go of the workers; ``now`` : without waiting for what they are at."""

    def _run(
        self, work: Callable[[Task], Result], chunks: Iterable[Task], *, in_order: bool
    ) -> Iterator[tuple[Task, Result]]:
        self._begin(work)
        waiting: dict[Future[Result], Task] = {}
        left, lost = iter(chunks), 0
        try:
            while True:
                try:
                    for chunk in islice(left, _AHEAD * self.jobs - len(waiting)):
                        waiting[self._submitted(work, chunk)] = chunk
                    if not waiting:
                        return
                    future = next(iter(waiting)) if in_order else _first(waiting)
                    result = self._taken(future.result())
                except self._lost as error:
                    lost += 1
                    if lost > _LOST:
                        raise LostWorkersError(f"workers must survive their work, got some that ended {lost} times in "
                                               "a row") from error  # fmt: skip
                    self._begin(work)
                    waiting = {
                        self._submitted(work, chunk) if self._failed(future) else future: chunk
                        for future, chunk in waiting.items()
                    }
                    continue
                except Exception as error:
                    raise self._explained(error) from error
                lost = 0
                yield waiting.pop(future), result
        finally:
            for future in waiting:
                future.cancel()

    def _submitted(self, work: Callable[[Task], Result], chunk: Task) -> Future[Result]:
        try:
            return self._submit(chunk)
        except self._lost:  # since the last chunk was taken
            self._begin(work)
            return self._submit(chunk)

    def _failed(self, future: Future[Any]) -> bool:
        return future.done() and (future.cancelled() or isinstance(future.exception(), self._lost))

    def __enter__(self) -> Self:
        """Workers start with the first chunk."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the workers, or end them if an error occurred."""
        self._end(now=kind is not None)


def _first(waiting: Iterable[Future[Result]]) -> Future[Result]:
    """Wait for one that is finished; of several, results come before errors, which end everything."""
    done = wait(waiting, return_when=FIRST_COMPLETED).done
    return min(done, key=lambda future: future.cancelled() or future.exception() is not None)


class Threads(Executor):
    """Run the chunks in threads of this process."""

    here = True

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool = ThreadPoolExecutor(jobs)

    def _begin(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def _submit(self, chunk: Any) -> Future[Any]:
        assert self._work is not None
        return self._pool.submit(self._work, chunk)

    def _end(self, *, now: bool) -> None:
        """Ctrl-C: drop what has not begun instead of finishing it."""
        self._pool.shutdown(wait=not now, cancel_futures=True)


def cores() -> int:
    """Return how many cores this process may use, which a container or ``taskset`` makes fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(jobs: int | None) -> int:
    """So many as asked, but no more than four a core; one a core for None. No result depends on how many there are."""
    return cores() if jobs is None else min(jobs, 4 * cores())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, as its last bits depend on how many share a product; holders may overlap."""
    with _lock:
        _holders.append(None)
        if len(_holders) == 1:
            _limits.append(_blas().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _holders.pop()
            if not _holders:
                _limits.pop().restore_original_limits()


_lock, _holders, _limits = Lock(), list[None](), list[Any]()


@cache
def _blas() -> Any:
    import scipy.linalg.cython_blas  # noqa: F401  # the BLAS that compiled kernels call
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
