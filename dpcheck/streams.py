"""Random streams, parallel trials and one thread of BLAS: the same bits for any number of workers and cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from dpcheck.errors import require_count

Result = TypeVar("Result")


def cores() -> int:
    """Return how many cores this process may use, which a container or ``taskset`` makes fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(jobs: int | None) -> int:
    """So many as asked, but no more than four a core; one a core for None. No result depends on how many there are."""
    return cores() if jobs is None else min(jobs, 4 * cores())


def map_chunks(
    work: Callable[[np.random.Generator, int], Result],
    trials: int,
    *,
    seed: int | np.random.SeedSequence,
    chunk: int = 1000,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """Return the results of ``work(rng, size)`` over chunks of ``chunk`` trials, in order.

    Each chunk has its own stream, spawned from ``seed``, so nothing depends on ``jobs``: threads
    (None: one a core), which serve because kernels release the GIL. ``progress(done, trials)`` is
    called as chunks finish.
    """
    require_count(trials, "trials")
    require_count(chunk, "chunk")
    if jobs is not None:
        require_count(jobs, "jobs")
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    sizes = [min(chunk, trials - start) for start in range(0, trials, chunk)]
    streams = [np.random.default_rng(child) for child in root.spawn(len(sizes))]
    results: list[Result] = []
    pool = ThreadPoolExecutor(min(workers(jobs), len(sizes)))
    try:
        for result in pool.map(work, streams, sizes):
            results.append(result)
            if progress is not None:
                progress(sum(sizes[: len(results)]), trials)
    finally:  # Ctrl-C: drop what has not begun instead of finishing it
        pool.shutdown(wait=False, cancel_futures=True)
    return results


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: it sums by parts, so that its last bits depend on how many share a product.

    It also saves small products the waiting. Holders may overlap, on any threads: the last lets go.
    """
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
