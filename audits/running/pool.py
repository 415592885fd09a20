"""Workers that run the chunks of a mechanism: here, in threads, in processes or on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from dpcheck.audits.running.outputs import RunError
from dpcheck.audits.running.run_plan import Chunk
from dpcheck.audits.running.runs import PROBES, Floats
from dpcheck.errors import InputError
from dpcheck.running.executor import Executor, LostWorkersError, Serial, Threads
from dpcheck.running.process_pool import Processes
from dpcheck.running.streams import workers


class Runs(Protocol):
    """What runs the chunks of a mechanism: a :class:`Runner`, or one in a process of its own."""

    @property
    def vectorized(self) -> bool:
        """Whether one call of the mechanism returns many outputs."""

    def __call__(self, chunk: Chunk) -> Floats:
        """Return the outputs (size, k) of one chunk."""


class KeptRuns(Protocol):
    """Outputs by chunk, such as a dictionary."""

    def __contains__(self, chunk: object, /) -> bool:
        """Whether the outputs of a chunk are kept."""

    def __getitem__(self, chunk: Chunk, /) -> Floats:
        """Return the outputs of a chunk."""

    def __setitem__(self, chunk: Chunk, outputs: Floats, /) -> None:
        """Keep the outputs of a chunk."""


class Pool:
    """Runs the chunks of a probed mechanism: here (``jobs`` 1), in threads (if it is vectorized) or in processes.

    A context manager, which ends its workers on an error or an interrupt.

    kept : outputs by chunk, which are used in place of new runs and to which new ones are added
    executor : who runs the chunks in place of all these; it is left open
    """

    def __init__(
        self, runner: Runs, jobs: int, kept: KeptRuns | None = None,
        executor: Executor | None = None,
    ) -> None:  # fmt: skip
        jobs = workers(jobs)
        self._work, self._kept = _Attempt(runner), kept
        self._done = [2 * PROBES, 2 * PROBES]
        self._own = executor is None
        if executor is None:
            executor = Serial() if jobs == 1 else Threads(jobs) if runner.vectorized else Processes(jobs)
        self._executor = executor

    def __enter__(self) -> Pool:
        """Return the pool, whose workers start with the first chunk."""
        return self

    def __exit__(self, *error: Any) -> None:
        """Wait for the workers, or end them if an error occurred."""
        if self._own:
            self._executor.__exit__(*error)

    def map(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Floats]]:
        """Yield each chunk with its outputs, in order; those that are kept are not run again."""
        if self._kept is None:
            yield from self._ran(chunks)
            return
        chunks = list(chunks)
        known = {chunk for chunk in chunks if chunk in self._kept}
        ran = self._ran([chunk for chunk in chunks if chunk not in known])
        for chunk in chunks:
            if chunk not in known:
                self._kept[chunk] = next(ran)[1]
            yield chunk, self._kept[chunk]

    def _ran(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Floats]]:
        """Run each chunk, and yield it with its outputs, in order."""
        try:
            for chunk, outputs in self._executor.map(self._work, chunks):
                if isinstance(outputs, RunError):
                    self._done[chunk.side] += outputs.ran
                    raise outputs.on([chunk.side], self._done) from outputs
                self._done[chunk.side] += chunk.size
                yield chunk, outputs
        except LostWorkersError as error:
            raise InputError("mechanism must survive in a worker process, got one that died; try jobs=1") from error


@dataclass(frozen=True)
class _Attempt:
    """Runs that return a failure as a value, so that the chunk is known in which it occurred."""

    runner: Runs

    def __call__(self, chunk: Chunk) -> Floats | RunError:
        try:
            return self.runner(chunk)
        except RunError as error:
            return error
