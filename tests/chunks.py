"""Trials of a kernel in chunks, each on a stream of its own: what tests of many runs call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

import numpy as np

from dpcheck.errors import require_count
from dpcheck.running.executor import Executor, OnStream, Threads, portions, workers

Result = TypeVar("Result")


def map_chunks(
    work: Callable[[np.random.Generator, int], Result],
    trials: int,
    *,
    seed: int | np.random.SeedSequence,
    chunk: int = 1000,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """Return the results of ``work(rng, size)`` over chunks of ``chunk`` trials, in order.

    Each chunk has its own stream, spawned from ``seed``, so nothing depends on who runs it: ``executor``, by default
    threads (``jobs`` of them, None: one a core), which serve because kernels release the GIL. ``progress(done,
    trials)`` is called as chunks finish.
    """
    if jobs is not None:
        require_count(jobs, "jobs")
    chunks = portions(trials, chunk, seed)
    results: list[Result] = []
    done = 0
    with nullcontext(executor) if executor is not None else Threads(min(workers(jobs), len(chunks))) as each:
        for portion, result in each.map(OnStream(work), chunks):
            results.append(result)
            done += portion.size
            if progress is not None:
                progress(done, trials)
    return results
