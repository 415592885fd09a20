"""Workers that run the chunks of a mechanism: here, in threads or in processes."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from typing import Protocol

from dpcheck.audits.running.outputs import RunError
from dpcheck.audits.running.run_plan import Chunk
from dpcheck.audits.running.runs import PROBES, Floats
from dpcheck.errors import InputError, raised
from dpcheck.processes import end_with_parent
from dpcheck.streams import workers

# Chunks handed out for each worker: enough to keep workers busy, and few enough to bound the outputs that wait.
_AHEAD = 2


class Runs(Protocol):
    """What runs the chunks of a mechanism: a :class:`Runner`, or one in a process of its own."""

    @property
    def vectorized(self) -> bool:
        """Whether one call of the mechanism returns many outputs."""

    def __call__(self, chunk: Chunk) -> Floats:
        """Return the outputs (size, k) of one chunk."""


class Pool:
    """Runs the chunks of a probed mechanism here (``jobs`` 1), in threads (if it is vectorized) or in processes.

    A context manager, which ends its workers on an error or an interrupt.

    kept : outputs by chunk, which are used in place of new runs and to which new ones are added
    """

    def __init__(self, runner: Runs, jobs: int, kept: dict[Chunk, Floats] | None = None) -> None:
        jobs = workers(jobs)
        self._runner, self._jobs, self._kept = runner, jobs, kept
        self._done = [2 * PROBES, 2 * PROBES]
        self._threads: ThreadPoolExecutor | None = None
        self._processes: ProcessPoolExecutor | None = None
        if jobs > 1 and runner.vectorized:
            self._threads = ThreadPoolExecutor(jobs)
        elif jobs > 1:
            forks = "fork" in multiprocessing.get_all_start_methods()
            if not forks:
                _require_picklable(runner, jobs)
            self._processes = ProcessPoolExecutor(
                jobs,
                multiprocessing.get_context("fork" if forks else None),
                _start_worker,
                (runner,),
            )

    def __enter__(self) -> Pool:
        """Return the pool, whose workers start with the first chunk."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the workers, or end them if an error occurred."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        if self._processes is not None:
            workers = list((self._processes._processes or {}).values())
            if kind is not None:
                self._processes.shutdown(wait=False, cancel_futures=True)
                for worker in workers:
                    worker.terminate()
            self._processes.shutdown(wait=True)

    def map(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Floats]]:
        """Yield each chunk with its outputs, in order; those that are kept are not run again."""
        if self._kept is None:
            yield from self._ran(chunks)
            return
        chunks = list(chunks)
        ran = self._ran([chunk for chunk in chunks if chunk not in self._kept])
        for chunk in chunks:
            if chunk not in self._kept:
                self._kept[chunk] = next(ran)[1]
            yield chunk, self._kept[chunk]

    def _ran(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Floats]]:
        """Run each chunk, and yield it with its outputs, in order."""
        try:
            for chunk, output in self._results(chunks):
                try:
                    outputs = output()
                except RunError as error:
                    self._done[chunk.side] += error.ran
                    raise error.on([chunk.side], self._done) from error
                self._done[chunk.side] += chunk.size
                yield chunk, outputs
        except BrokenProcessPool as error:
            raise InputError("mechanism must survive in a worker process, got one that died; try jobs=1") from error

    def _results(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Callable[[], Floats]]]:
        """Yield each chunk with a function that returns its outputs, to be called once."""
        if self._jobs == 1:
            for chunk in chunks:
                yield chunk, partial(self._runner, chunk)
            return
        waiting: deque[tuple[Chunk, Future[Floats]]] = deque()
        left = iter(chunks)
        while True:
            for chunk in islice(left, _AHEAD * self._jobs - len(waiting)):
                waiting.append((chunk, self._submit(chunk)))
            if not waiting:
                return
            chunk, future = waiting.popleft()
            yield chunk, future.result

    def _submit(self, chunk: Chunk) -> Future[Floats]:
        if self._threads is not None:
            return self._threads.submit(self._runner, chunk)
        assert self._processes is not None
        with warnings.catch_warnings():
            # Workers only run the mechanism, and inherit it since a lambda cannot be sent.
            warnings.filterwarnings("ignore", "This process.*fork", DeprecationWarning)
            return self._processes.submit(_in_worker, chunk)


def _require_picklable(runner: Runs, jobs: int) -> None:
    try:
        pickle.dumps(runner)
    except Exception as error:
        raise InputError(
            f"mechanism and datasets must be picklable where jobs = {jobs}, got {raised(error)}"
        ) from error


_worker_runner: Runs | None = None


def _start_worker(runner: Runs) -> None:
    global _worker_runner
    # The parent handles an interrupt, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _worker_runner = runner


def _in_worker(chunk: Chunk) -> Floats:
    assert _worker_runner is not None
    return _worker_runner(chunk)
