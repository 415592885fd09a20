"""Runs of a mechanism: outputs that are checked, one random stream for each chunk, in processes or threads.

Outputs depend on the seed and the chunk alone, so any number of workers returns the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.audits.numbers.nan_equality import same
from dpcheck.audits.running.equal_datasets import equal_datasets
from dpcheck.audits.running.outputs import RunError, numbers, require_one_shape
from dpcheck.audits.running.run_plan import Chunk
from dpcheck.audits.running.unchanged import fingerprint, require_unchanged
from dpcheck.errors import InputError, one_line, raised, require, require_count, require_mechanism
from dpcheck.running.executor import Executor
from dpcheck.running.processes import EndedProcessError, Guest

Floats = NDArray[np.float64]

# Calls that are compared to see that a seed fixes the output: enough to catch a fair coin.
PROBES = 24


def require_runs(
    mechanism: Any, seed: int, seeded: bool, jobs: int, isolate: object = None, executor: Executor | None = None
) -> None:
    """Require what every audit that runs a mechanism must be given."""
    require(callable(mechanism), "mechanism", "be callable", type(mechanism).__name__)
    require_count(seed, "seed", least=0)
    require_count(jobs, "jobs")
    require(isolate is None or jobs == 1, "jobs", "be 1 where the mechanism is isolated", jobs)
    require(seeded or jobs == 1, "jobs", "be 1 where the mechanism's randomness is its own", jobs)
    if executor is not None:
        require(isolate is None, "executor", "be left out where the mechanism is isolated", type(executor).__name__)
        require(seeded, "executor", "be left out where the mechanism's randomness is its own", type(executor).__name__)


def require_two(data: Any, neighbour: Any) -> None:
    """Require datasets that differ: no output can tell a dataset from itself, whatever the mechanism."""
    require(not equal_datasets(data, neighbour), "neighbour", "differ from data in one record", "its equal")


@dataclass(frozen=True)
class Runner:
    """Calls ``mechanism(dataset, rng)``, or with a third argument ``size`` if ``vectorized``, and checks outputs."""

    mechanism: Callable[..., Any]
    datasets: tuple[Any, Any]
    vectorized: bool
    seed: int
    # What the datasets held before the first run, which may tell what every later one finds overwritten.
    held: list[str | None] = field(default_factory=lambda: [None, None], repr=False, compare=False)
    # Whether the first runs, from one seed, gave the same outputs on both: set by ``probe``.
    alike: list[bool] = field(default_factory=lambda: [False], repr=False, compare=False)

    def __post_init__(self) -> None:
        """Require a function that takes these arguments."""
        require_mechanism(self.mechanism, vectorized=self.vectorized)

    def __call__(self, chunk: Chunk) -> Floats:
        """Return the outputs (size, k) of one chunk."""
        found = self.outputs(self.datasets[chunk.side], chunk.stream(self.seed), chunk.size)
        require_unchanged(self.datasets[chunk.side], self.held[chunk.side])
        return found

    def outputs(self, dataset: Any, rng: np.random.Generator, size: int) -> Floats:
        """Return ``size`` outputs from one stream, (size, k); :class:`~.outputs.RunError` for a run without numbers."""
        with Guest() as guest:
            return self._outputs(guest, dataset, rng, size)

    def _outputs(self, guest: Guest, dataset: Any, rng: np.random.Generator, size: int) -> Floats:
        if self.vectorized:
            result = self._call(0, dataset, rng, size)
            require(
                result.ndim >= 1 and result.shape[0] == size,
                "mechanism",
                f"return an array of shape ({size}, ...) for size = {size}",
                f"shape {result.shape}",
            )
            return result.reshape(size, -1)
        first = self._call(0, dataset, rng)
        rows = np.empty((size, first.size))
        rows[0] = first.ravel()
        for i in range(1, size):
            guest.end_copy()
            row = self._call(i, dataset, rng)
            if row.shape != first.shape:
                raise RunError(
                    f"mechanism must return outputs of one shape (padded with nan), got {first.shape} and {row.shape}",
                    i,
                )
            rows[i] = row.ravel()
        return rows

    def _call(self, ran: int, *arguments: Any) -> Floats:
        try:
            result = self.mechanism(*arguments)
        except KeyboardInterrupt:
            raise
        except InputError as error:  # of a tester that wraps the mechanism
            raise RunError(one_line(error), ran) from error
        except EndedProcessError as error:
            raise RunError(f"mechanism must return, got one that ended its process ({error})", ran) from error
        except BaseException as error:  # sys.exit() too
            raise RunError(f"mechanism must return a number or an array, got {raised(error)}", ran) from error
        try:
            return numbers(result)
        except InputError as error:
            raise RunError(str(error), ran) from error

    def probe(self, *, seeded: bool = True) -> int:
        """Return the width k of the outputs, equal on both datasets; InputError if a seed does not fix them."""
        found: list[Floats | RunError] = []
        self.held[:] = map(fingerprint, self.datasets)
        for side in (0, 1):
            try:
                found.append(self._probed(side, seeded))
            except RunError as error:
                found.append(error)
        failures = {side: each for side, each in enumerate(found) if isinstance(each, RunError)}
        if failures:
            first, without = next(iter(failures.values())), [2 * PROBES, 2 * PROBES]
            for side, each in failures.items():
                without[side] = each.ran
            raise first.on(list(failures), without) from first
        a, b = ((int(each.shape[1]),) for each in found if isinstance(each, np.ndarray))
        require_one_shape(a, b)
        outputs = [each for each in found if isinstance(each, np.ndarray)]
        self.alike[0] = seeded and bool(same(*outputs).all())
        return a[0]

    def _probed(self, side: int, seeded: bool) -> Floats:
        """Return outputs on one dataset, after two runs that must agree."""
        dataset = self.datasets[side]
        rngs = np.random.default_rng(0), np.random.default_rng(0)
        first = self.outputs(dataset, rngs[0], PROBES)
        require_unchanged(dataset, self.held[side])
        try:
            again = self.outputs(dataset, rngs[1], PROBES)
        except RunError as error:
            error.ran += PROBES
            raise
        if seeded and not (first.shape == again.shape and same(first, again).all()):
            raise InputError(
                "mechanism must draw all its randomness from rng, got two different outputs for one seed; where it "
                "is a library's own, pass seeded=False"
            )
        drew = [rng.bit_generator.state for rng in rngs]
        require(
            not seeded or drew[0] == drew[1], "mechanism", "make a fresh object of whatever remembers its draws",
            "one that draws less when it is run again",
        )  # fmt: skip
        self._require_rows_apart(dataset, first)
        return first

    def _require_rows_apart(self, dataset: Any, first: Floats) -> None:
        """Require that a vectorized call draws anew for each output, since every audit needs independent runs.

        A column that is constant within each call, with another constant in each, is no column of independent runs: for
        two values of chance 1/2 that has probability below 1e-20.
        """
        if not self.vectorized or not same(first, first[0]).all(axis=0).any():
            return
        calls = [first, *(self.outputs(dataset, np.random.default_rng(stream), PROBES) for stream in (1, 2))]
        constant = np.array([same(rows, rows[0]).all(axis=0) for rows in calls]).all(axis=0)
        values = np.array([rows[0] for rows in calls])
        require(
            not bool((constant & ~same(values, values[0]).all(axis=0)).any()), "mechanism",
            "draw afresh for each of the size outputs", "one draw for all of a call",
        )  # fmt: skip
