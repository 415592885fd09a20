"""The division of an audit's runs into blocks, levels, chunks and their random streams.

The first block is only learned from. Look k tests an output set, chosen from all earlier blocks, on its own fresh block
at level alpha_k. The alpha_k add up to ``1 - confidence``. Each look is valid by itself, so by the union bound the
largest of their limits is valid too. The last look gets most runs and most of the level; the early ones end the audit
soon when a mechanism is far off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.arrays import unread
from dpcheck.audits.numbers import same
from dpcheck.audits.running.datasets import equal_datasets, fingerprint, require_unchanged
from dpcheck.errors import InputError, one_line, raised, require, require_count, require_mechanism
from dpcheck.running.executor import Executor, LostWorkersError, Serial, Threads
from dpcheck.running.process_pool import Processes
from dpcheck.running.processes import EndedProcessError, Guest
from dpcheck.running.streams import workers

# (least trials, shares of the blocks, shares of the level)
_PLANS = (
    (5_000, (0.01, 0.03, 0.09, 0.87), (0.03, 0.05, 0.92)),
    (1_000, (0.04, 0.10, 0.86), (0.06, 0.94)),
    (0, (0.15, 0.85), (1.0,)),
)
LEAST_TRIALS = 100
SIDES = ("data", "neighbour")


@dataclass(frozen=True)
class Chunk:
    """Runs on one dataset that share one random stream."""

    side: int  # its place in SIDES
    number: int
    size: int

    def stream(self, seed: int) -> np.random.Generator:
        """Return the stream that a :class:`numpy.random.SeedSequence` spawns for this side and number."""
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(self.side, self.number)))


@dataclass(frozen=True)
class Plan:
    """The runs of each dataset in each of ``blocks``, and the ``levels`` of the looks at all blocks but the first.

    chunk : the most runs that share one stream
    """

    blocks: tuple[int, ...]
    levels: tuple[float, ...]
    chunk: int

    @classmethod
    def of(cls, trials: int, confidence: float, chunk: int) -> Plan:
        """Divide ``trials`` runs of each dataset."""
        shares, levels = next((b, a) for least, b, a in _PLANS if trials >= least)
        early = [round(trials * share) for share in shares[:-1]]
        return cls((*early, trials - sum(early)), tuple((1 - confidence) * a for a in levels), chunk)

    def chunks(self, block: int) -> Iterator[Chunk]:
        """Yield the chunks of one block, both datasets in turn; a block ends with a shorter chunk."""
        number = sum(-(-size // self.chunk) for size in self.blocks[:block])
        left = self.blocks[block]
        while left > 0:
            size = min(left, self.chunk)
            for side in (0, 1):
                yield Chunk(side, number, size)
            number += 1
            left -= size


Floats = NDArray[np.float64]


class RunError(InputError):
    """A run failed; ``ran`` counts the runs before it in the same call to the runner."""

    def __init__(self, said: str, ran: int) -> None:
        super().__init__(said, ran)
        self.ran = ran

    def __str__(self) -> str:
        """Return what happened in that run."""
        return str(self.args[0])

    def on(self, sides: Sequence[int], without: Sequence[int]) -> InputError:
        """Return the error with the datasets it happened on, and the runs on each dataset that did not fail."""
        if not any(without):  # it never worked
            return InputError(str(self))
        return InputError(
            f"{self}, on {' and '.join(SIDES[side] for side in sides)}, after {without[0]} runs on data and "
            f"{without[1]} on neighbour that did not fail; failing more often on one dataset tells the two apart: "
            "return nan for a failed run to have that audited"
        )


def numbers(result: Any) -> Floats:
    """Return the output as float64; infinite values and NaN are values."""
    try:
        array = np.asarray(result)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"mechanism must return a number or an array, got {unread(result, error)}") from error
    require(array.dtype.kind != "c", "mechanism", "return complex numbers as real and imaginary parts", array.dtype)
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
    return floats


def require_one_shape(first: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Require all runs to return outputs of one shape."""
    require(first == other, "mechanism", "return outputs of one shape (padded with nan)", f"{first} and {other}")


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
