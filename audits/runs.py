"""Running a mechanism: checked outputs, one random stream a chunk, processes or threads.

Outputs depend on the seed and the chunk alone, so every number of workers gives the same bits.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.sampling_plan import Chunk
from dpcheck.errors import InputError, require

Floats = NDArray[np.float64]

# Calls compared to see that a seed fixes the output: enough for a fair coin to be caught.
_PROBES = 24
# Chunks handed out per worker: keeps workers busy, and bounds the outputs waiting.
_AHEAD = 2


@dataclass(frozen=True)
class Runner:
    """``mechanism(dataset, rng)``, or ``mechanism(dataset, rng, size)`` where ``vectorized``."""

    mechanism: Callable[..., Any]
    datasets: tuple[Any, Any]
    vectorized: bool
    seed: int

    def __call__(self, chunk: Chunk) -> Floats:
        """Outputs (size, k) of one chunk."""
        return self.outputs(self.datasets[chunk.side], chunk.stream(self.seed), chunk.size)

    def outputs(self, dataset: Any, rng: np.random.Generator, size: int) -> Floats:
        """``size`` outputs from one stream, as (size, k); InputError unless they are numbers."""
        if self.vectorized:
            result = _numbers(self._call(dataset, rng, size))
            require(
                result.ndim >= 1 and result.shape[0] == size,
                "mechanism",
                f"return an array of shape ({size}, ...) for size = {size}",
                f"shape {result.shape}",
            )
            return result.reshape(size, -1)
        first = _numbers(self._call(dataset, rng))
        rows = np.empty((size, first.size))
        rows[0] = first.ravel()
        for i in range(1, size):
            row = _numbers(self._call(dataset, rng))
            if row.shape != first.shape:
                _refuse_shapes(first.shape, row.shape)
            rows[i] = row.ravel()
        return rows

    def _call(self, *arguments: Any) -> Any:
        try:
            return self.mechanism(*arguments)
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"mechanism must return a number or an array, got {said}") from error

    def probe(self, *, seeded: bool = True) -> int:
        """Width k of the outputs; InputError unless a seed fixes them (where ``seeded``) and both datasets agree."""
        widths: list[int] = []
        for dataset in self.datasets:
            twice = [self.outputs(dataset, np.random.default_rng(0), _PROBES) for _ in range(2)]
            require(
                not seeded or np.array_equal(twice[0], twice[1]),
                "mechanism",
                "draw all its randomness from rng",
                "two different outputs for one seed",
            )
            widths.append(twice[0].shape[1])
            self._require_rows_apart(dataset, twice[0])
        if widths[0] != widths[1]:
            _refuse_shapes((widths[0],), (widths[1],))
        return widths[0]

    def _require_rows_apart(self, dataset: Any, first: Floats) -> None:
        """One draw for a whole call is a slip that no audit survives: its runs are then not independent.

        A column that is constant within each call and another constant in each cannot be a column of
        independent runs: for two values of chance 1/2 that has probability below 1e-20.
        """
        if not self.vectorized or not (first == first[0]).all(axis=0).any():
            return
        calls = [first, *(self.outputs(dataset, np.random.default_rng(stream), _PROBES) for stream in (1, 2))]
        constant = np.array([(rows == rows[0]).all(axis=0) for rows in calls]).all(axis=0)
        values = np.array([rows[0] for rows in calls])
        require(
            not bool((constant & (values != values[0]).any(axis=0)).any()), "mechanism",
            "draw afresh for each of the size outputs", "one draw for all of a call",
        )  # fmt: skip


class Pool:
    """Runs chunks here (``jobs`` 1), in threads (vectorized mechanisms) or in processes.

    A context manager; on an error or an interrupt it ends its workers.
    """

    def __init__(self, runner: Runner, jobs: int) -> None:
        self._runner, self._jobs = runner, jobs
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
        """Workers start with the first chunk."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the workers, or end them if something went wrong."""
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
        """Each chunk with its outputs, in order."""
        if self._jobs == 1:
            for chunk in chunks:
                yield chunk, self._runner(chunk)
            return
        waiting: deque[tuple[Chunk, Future[Floats]]] = deque()
        left = iter(chunks)
        try:
            while True:
                for chunk in islice(left, _AHEAD * self._jobs - len(waiting)):
                    waiting.append((chunk, self._submit(chunk)))
                if not waiting:
                    return
                chunk, future = waiting.popleft()
                yield chunk, future.result()
        except BrokenProcessPool as error:
            raise InputError("mechanism must survive in a worker process, got one that died; try jobs=1") from error

    def _submit(self, chunk: Chunk) -> Future[Floats]:
        if self._threads is not None:
            return self._threads.submit(self._runner, chunk)
        assert self._processes is not None
        with warnings.catch_warnings():
            # Workers only run the mechanism, and must inherit it: lambdas cannot be sent.
            warnings.filterwarnings("ignore", "This process.*fork", DeprecationWarning)
            return self._processes.submit(_in_worker, chunk)


def _numbers(result: Any) -> Floats:
    """The output as float64; infinite values are values, NaN is none."""
    try:
        array = np.asarray(result)
    except (ValueError, TypeError) as error:
        raise InputError(f"mechanism must return a number or an array, got {type(result).__name__}") from error
    numeric = array.dtype.kind in "biuf" and array.size > 0
    shown = f"{type(result).__name__} of {array.dtype}" if array.size else "an empty array"
    require(numeric, "mechanism", "return a number or an array of numbers", shown)
    require(not isinstance(result, np.ma.MaskedArray), "mechanism", "return an array without a mask", "a masked array")
    with np.errstate(invalid="ignore"):
        floats = array.astype(np.float64)
        kept = array.dtype.kind not in "iu" or bool((floats.astype(array.dtype) == array).all())
    require(
        kept, "mechanism",
        "return whole numbers below 2^53, larger ones as high and low parts", "some that a float64 rounds",
    )  # fmt: skip
    require(not np.isnan(floats).any(), "mechanism", "return numbers", "nan")
    return floats


def _refuse_shapes(first: tuple[int, ...], other: tuple[int, ...]) -> None:
    require(False, "mechanism", "return outputs of one shape", f"{first} and {other}")


def _require_picklable(runner: Runner, jobs: int) -> None:
    try:
        pickle.dumps(runner)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"mechanism and datasets must be picklable where jobs = {jobs}, got {said}") from error


_worker_runner: Runner | None = None


def _start_worker(runner: Runner) -> None:
    global _worker_runner
    # An interrupt is the parent's to handle: it ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker_runner = runner


def _in_worker(chunk: Chunk) -> Floats:
    assert _worker_runner is not None
    return _worker_runner(chunk)
