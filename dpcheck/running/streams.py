"""Random streams, parallel trials and one thread of BLAS: the same bits for any number of workers and cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

from dpcheck.errors import require_count

Result = TypeVar("Result")


def cores() -> int:
    """Return how many cores this process may use, which a container or ``taskset`` makes fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(jobs: int | None) -> int:
    """So many as asked, but no more than four a core; one a core for None. No result depends on how many there are."""
    return cores() if jobs is None else min(jobs, 4 * cores())


@dataclass(frozen=True)
class Portion:
    """A chunk of trials: its place among all, its random stream, which nobody else draws from, and its size."""

    number: int
    stream: np.random.SeedSequence
    size: int


@dataclass(frozen=True)
class OnStream(Generic[Result]):
    """``work(rng, size)`` on a portion."""

    work: Callable[[np.random.Generator, int], Result]

    def __call__(self, portion: Portion) -> Result:
        """Return what the work returns on the portion's stream."""
        return self.work(np.random.default_rng(portion.stream), portion.size)


def portions(trials: int, chunk: int, seed: int | np.random.SeedSequence) -> list[Portion]:
    """Divide ``trials`` into chunks of ``chunk``, the last one shorter, on streams spawned from ``seed``."""
    require_count(trials, "trials")
    require_count(chunk, "chunk")
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    sizes = [min(chunk, trials - start) for start in range(0, trials, chunk)]
    return [
        Portion(k, stream, size) for k, (stream, size) in enumerate(zip(root.spawn(len(sizes)), sizes, strict=True))
    ]


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
