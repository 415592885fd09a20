"""Who runs the chunks of a mechanism: this process, threads, processes, an executor, or a process that is isolated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.arrays import Floats
from dpcheck.audits.running import PROBES, Chunk, KeptRuns, RunError, Runner
from dpcheck.audits.running.encoder import Naming
from dpcheck.errors import InputError

if TYPE_CHECKING:
    from dpcheck.audits.running.isolated import IsolatedRunner, Limits
    from dpcheck.running.executor import Executor


# Chunks that are run again, for the words behind what decides.
_REPEATED = 6


class Pool(AbstractContextManager["Pool"]):
    """Runs the chunks of a mechanism: here (``jobs`` 1), in threads (if it is vectorized) or in processes.

    Its workers start with the first chunk, and end with the context, on an error or an interrupt at once.

    kept : outputs by chunk, which are used in place of new runs and to which new ones are added
    executor : who runs the chunks in place of all these; it is left open
    isolate : the limits of a process of its own, in which the mechanism then runs
    """

    def __init__(
        self, runner: Runner, jobs: int, kept: KeptRuns | None = None, executor: Executor | None = None,
        isolate: Limits | None = None,
    ) -> None:  # fmt: skip
        self._isolated: IsolatedRunner | None = None
        if isolate is not None:
            from dpcheck.audits.running.isolated import IsolatedRunner

            self._isolated = IsolatedRunner(runner, isolate)
        self.runner: Runner | IsolatedRunner = self._isolated or runner
        self._work, self._kept = partial(_attempt, self.runner), kept
        self._done = [2 * PROBES, 2 * PROBES]
        self._executor, self._workers = executor, None
        if executor is None and jobs > 1:
            from dpcheck.running.executor import Threads, workers
            from dpcheck.running.process_pool import Processes

            self._workers = (Threads if runner.vectorized else Processes)(workers(jobs))
            self._executor = self._workers
        self._lost: tuple[type[InputError], ...] = ()
        if self._executor is not None:
            from dpcheck.running.executor import LostWorkersError

            self._lost = (LostWorkersError,)

    def __exit__(self, *error: Any) -> None:
        """Wait for the workers, or end them if an error occurred."""
        if self._workers is not None:
            self._workers.__exit__(*error)
        if self._isolated is not None:
            self._isolated.end()

    def label(self, naming: Naming, text: str, rows: Iterable[tuple[Chunk, Floats]]) -> None:
        """Have the statements in a text known; of one that was coded elsewhere by running a chunk of ``rows`` again."""
        unknown, left = naming.unknown(text), _REPEATED
        naming.labels.update(self.runner.labels(unknown))
        for chunk, outputs in rows:
            unknown = [number for number in unknown if number not in naming.labels]
            if not unknown or left == 0:
                return
            if np.isin(outputs[:, naming.layout.numbers :], unknown).any():
                naming.labels.update(self.runner.labels(unknown, chunk))
                left -= 1

    def map(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Floats]]:
        """Yield each chunk with its outputs, in order; those that are kept are not run again."""
        chunks = list(chunks)
        known = set() if self._kept is None else {chunk for chunk in chunks if chunk in self._kept}
        new = [chunk for chunk in chunks if chunk not in known] if known else chunks
        run = self._executor
        ran = zip(new, map(self._work, new), strict=True) if run is None else run.map(self._work, new)
        for chunk in chunks:
            if chunk not in known:
                try:
                    _, outputs = next(ran)
                except self._lost as error:
                    died = "mechanism must survive in a worker process, got one that died; try jobs=1"
                    raise InputError(died) from error
                if isinstance(outputs, RunError):
                    self._done[chunk.side] += outputs.ran
                    raise outputs.on([chunk.side], self._done) from outputs
                self._done[chunk.side] += chunk.size
                if self._kept is not None:
                    self._kept[chunk] = outputs
                yield chunk, outputs
            elif self._kept is not None:
                yield chunk, self._kept[chunk]


def _attempt(runner: Runner | IsolatedRunner, chunk: Chunk) -> Floats | RunError:
    """Return the outputs of a chunk, or the failure as a value, so that the chunk is known in which it occurred."""
    try:
        return runner(chunk)
    except RunError as error:
        return error
