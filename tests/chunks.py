"""Trials of a kernel in chunks, each on a stream of its own: what tests of many runs call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

import numpy as np

from dpcheck.checks.context import Works, portions
from dpcheck.running.executor import Executor, Threads, workers

Result = TypeVar("Result")


def map_chunks(
    work: Callable[[np.random.Generator, int], Result], trials: int, *, seed: int, chunk: int = 1000,
    jobs: int | None = None, executor: Executor | None = None,
) -> list[Result]:  # fmt: skip
    """Return the results of ``work(rng, size)`` over chunks of ``chunk`` trials, in order.

    Each chunk has its own stream, spawned from ``seed``, so nothing depends on who runs it: ``executor``, by default
    threads (``jobs`` of them, None: one a core), which serve because kernels release the GIL.
    """
    chunks = portions(trials, chunk, np.random.SeedSequence(seed))
    with nullcontext(executor) if executor is not None else Threads(min(workers(jobs), len(chunks))) as each:
        return [result for _, result in each.map(Works((work,)), chunks)]
