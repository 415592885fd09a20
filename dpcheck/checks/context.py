"""The check that a stage is part of: its profile, seed and workers, and where results are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcheck.errors import require, require_count
from dpcheck.report.findings import Finding
from dpcheck.running.executor import Executor, Threads

if TYPE_CHECKING:
    from dpcheck.checks.shipped import Measurements
    from dpcheck.running.store import Store

PROFILES = ("quick", "full")
Stage = tuple[str, Callable[[], Iterable[Finding]]]
Tables = dict[str, list[dict[str, Any]]]


def _silent(done: int, total: int) -> None:
    return None


class Batch(NamedTuple):
    """Trials of one kind: ``work(rng, size)``, fit for JSON, in chunks of ``chunk``; the key names what decides it."""

    key: list[Any]
    work: Callable[[np.random.Generator, int], Any]
    trials: int
    chunk: int
    seed: np.random.SeedSequence


@dataclass(frozen=True)
class Context:
    """Profile, seed and workers; ``progress(done, total)`` reports on the stage at work."""

    profile: str = "quick"
    seed: int = 0
    jobs: int = 1
    progress: Callable[[int, int], None] = _silent
    store: Store | None = None  # keeps each chunk of long work
    executor: Executor | None = None  # does the work in place of ``jobs`` threads here
    measurements: Measurements | None = None  # those shipped, of which each stage measures its first chunk again

    def __post_init__(self) -> None:
        require(self.profile in PROFILES, "profile", f"be one of {', '.join(PROFILES)}", self.profile)
        require_count(self.seed, "seed", least=0)
        require_count(self.jobs, "jobs")

    @property
    def full(self) -> bool:
        """Whether there is time for the long experiments."""
        return self.profile == "full"

    def stream(self, *key: int) -> int:
        """Return a seed of its own for the experiment numbered ``key``."""
        return int(np.random.SeedSequence([self.seed, *key]).generate_state(1)[0])

    def measured(self, batch: Batch) -> list[Any]:
        """The results of a batch's chunks, in order."""
        return self.all_measured([batch])[0]

    def all_measured(self, batches: Sequence[Batch]) -> list[list[Any]]:
        """Return the results of each batch's chunks in order, each stored as soon as it is there."""
        chunks = [at for k, batch in enumerate(batches) for at in portions(batch.trials, batch.chunk, batch.seed, k)]
        found: list[list[Any]] = [[None] * sum(at.batch == k for at in chunks) for k in range(len(batches))]
        work = Works(tuple(batch.work for batch in batches))
        for at in chunks:
            key = self._key(batches[at.batch], at)
            known = None if self.store is None else self.store.get(key)
            found[at.batch][at.number] = self._shipped(key, work, at) if known is None else known
        missing = [at for at in chunks if found[at.batch][at.number] is None]
        done = len(chunks) - len(missing)
        with self._workers(len(missing)) as workers:
            for at, result in workers.finished(work, missing):
                if self.store is not None:
                    result = self.store.put(self._key(batches[at.batch], at), result)
                found[at.batch][at.number] = result
                done += 1
                self.progress(done, len(chunks))
        return found

    def _shipped(self, key: list[Any], work: Works, at: Portion) -> Any:
        """Return what the package ships of a chunk, None for nothing; a stage's first of a kind is measured again."""
        known = None if self.measurements is None else self.measurements.get(key)
        if known is None or self.measurements is None or not self.measurements.unchecked(key):
            return known
        with self._workers(1) as workers:
            [(_, again)] = workers.finished(work, [at])
        return known if self.measurements.compare(key, again) else again

    def _key(self, batch: Batch, portion: Portion) -> list[Any]:
        said = [batch.trials, batch.chunk, str(batch.seed.entropy), portion.number]
        return ["chunk", self.profile, self.seed, *batch.key, *said]

    def _workers(self, most: int) -> Any:
        if self.executor is not None:
            return nullcontext(self.executor)
        return Threads(max(1, min(self.jobs, most)))


class Portion(NamedTuple):
    """A chunk of trials: its batch, its place among all, its random stream, which nobody else draws from, its size."""

    batch: int
    number: int
    stream: np.random.SeedSequence
    size: int


def portions(trials: int, chunk: int, seed: np.random.SeedSequence, batch: int = 0) -> list[Portion]:
    """Divide ``trials`` into chunks of ``chunk``, the last one shorter, on streams spawned from ``seed``."""
    require_count(trials, "trials")
    require_count(chunk, "chunk")
    sizes = [min(chunk, trials - start) for start in range(0, trials, chunk)]
    return [Portion(batch, k, stream, sizes[k]) for k, stream in enumerate(seed.spawn(len(sizes)))]


class Works(NamedTuple):
    """The work of several batches, on a portion of one of them."""

    of: tuple[Callable[[np.random.Generator, int], Any], ...]

    def __call__(self, at: Portion) -> Any:
        """Do the work of its batch on the portion's stream."""
        return self.of[at.batch](np.random.default_rng(at.stream), at.size)
