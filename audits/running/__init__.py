"""Runs of a mechanism: outputs that are checked, one random stream for each chunk, in processes or threads.

Outputs depend on the seed and the chunk alone, so any number of workers returns the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpcheck.arrays import Floats, unread
from dpcheck.audits.running.datasets import equal_datasets, fingerprint, require_unchanged, same
from dpcheck.audits.running.encoder import Encoder, Layout
from dpcheck.audits.running.outcomes import Raised
from dpcheck.errors import InputError, one_line, raised, require, require_count, require_mechanism
from dpcheck.running.executor import Executor
from dpcheck.running.processes import EndedProcessError, Guest

SIDES = ("data", "neighbour")
# Calls that are compared to see that a seed fixes the output: enough to catch a fair coin; and those on each dataset
# from which the columns of outcomes are learned that are no numbers of one shape.
PROBES, _LEARNED = 24, 100


@dataclass(frozen=True)
class Chunk:
    """Runs on one dataset that share one random stream."""

    side: int  # its place in SIDES
    number: int
    size: int


class RunError(InputError):
    """A run failed; ``ran`` counts the runs before it in the same call to the runner.

    outcomes : what came out of the run, one value or none, where that may be audited
    """

    def __init__(self, words: str, ran: int, *outcomes: Any) -> None:
        super().__init__(words, ran)
        self.ran, self.outcomes = ran, outcomes

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
            "return nan for a failed run to have that audited, or one outcome a call, of any kind"
        )


def numbers(result: Any) -> Floats:
    """Return the output as float64; infinite values and NaN are values."""
    try:
        array = np.asarray(result)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"mechanism must return a number or an array, got {unread(result, error)}") from error
    if array.dtype.kind == "f" and array.size and not isinstance(result, np.ma.MaskedArray):
        return array.astype(np.float64)  # at once, as it is called for each step of each run
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


def require_runs(
    data: Any, neighbour: Any, seed: int, seeded: bool, jobs: int, isolate: object = None,
    executor: Executor | None = None,
) -> None:  # fmt: skip
    """Require what every audit that runs a mechanism must be given: no output can tell a dataset from its equal."""
    require_count(seed, "seed", least=0)
    require_count(jobs, "jobs")
    require(isolate is None or jobs == 1, "jobs", "be 1 where the mechanism is isolated", jobs)
    require(seeded or jobs == 1, "jobs", "be 1 where the mechanism's randomness is its own", jobs)
    if executor is not None:
        require(isolate is None, "executor", "be left out where the mechanism is isolated", type(executor).__name__)
        require(seeded, "executor", "be left out where the mechanism's randomness is its own", type(executor).__name__)
    require(not equal_datasets(data, neighbour), "neighbour", "differ from data in one record", "its equal")


@dataclass
class Runner:
    """Calls ``mechanism(dataset, rng)``, or with a third argument ``size`` if ``vectorized``, and checks outputs."""

    mechanism: Callable[..., Any]
    datasets: tuple[Any, Any]
    vectorized: bool
    seed: int
    # What the datasets held before the first run, which may tell what every later run would see overwritten.
    held: tuple[str | None, str | None] = field(default=(None, None), repr=False, compare=False)
    # Whether the first runs, from one seed, gave the same outputs on both: set by ``probe``, like the three below.
    alike: bool = field(default=False, repr=False, compare=False)
    # What makes rows of outcomes; None for a vectorized mechanism, whose outputs are numbers.
    encoder: Encoder | None = field(default=None, repr=False, compare=False)
    # The first run's row on each dataset, where a seed fixes it.
    first: tuple[Floats, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        """Require a function that takes these arguments."""
        # Of the arrays that came out of the first runs.
        self._kinds, self._types, self._shape = set[Any](), set[str](), tuple[int, ...]()
        require_mechanism(self.mechanism, vectorized=self.vectorized)

    def __call__(self, chunk: Chunk) -> Floats:
        """Return the outputs (size, k) of one chunk."""
        stream = np.random.SeedSequence(self.seed, spawn_key=(chunk.side, chunk.number))
        outputs = self.outputs(self.datasets[chunk.side], np.random.default_rng(stream), chunk.size)
        require_unchanged(self.datasets[chunk.side], self.held[chunk.side])
        if self.first and self.encoder is not None and self.encoder.layout.raised(outputs):
            self._require_repeated(chunk.side, self.encoder, stream, outputs)
        return outputs

    def labels(self, codes: Sequence[float], chunk: Chunk | None = None) -> dict[float, str]:
        """Return the statements behind codes, as far as they are known, once ``chunk`` has been run again."""
        if chunk is not None:
            self(chunk)
        known = {} if self.encoder is None else self.encoder.labels
        return {number: known[number] for number in codes if number in known}

    def _require_repeated(self, side: int, encoder: Encoder, stream: np.random.SeedSequence, outputs: Floats) -> None:
        """Require that the first run, and those of a chunk up to one that raised, come out as they did.

        Else runs fail by what was run before, or happens outside.
        """
        layout = encoder.layout
        failed = outputs[: 1 + int((outputs[:, layout.numbers] < 0).argmax())]
        for seed, before in ((0, self.first[side]), (stream, failed)):
            again = self.outputs(self.datasets[side], np.random.default_rng(seed), len(before))
            if not same(layout.fitted(again, layout.full), layout.fitted(before, layout.full)).all():
                raise InputError(
                    f"mechanism must fail by its data and rng alone, got {encoder.said(again[-1:])} where runs are "
                    "repeated: make afresh what it remembers, or what it uses outside"
                )

    def outputs(self, dataset: Any, rng: np.random.Generator, size: int) -> Floats:
        """Return ``size`` outputs from one stream, (size, k), those of outcomes without numbers by the encoder.

        Where there is none, :class:`RunError` for a run without numbers.
        """
        with Guest() as guest:
            if self.vectorized:
                result = self._numbers(0, self._call(0, dataset, rng, size))
                shape = f"return an array of shape ({size}, ...) for size = {size}"
                require(result.ndim >= 1 and result.shape[0] == size, "mechanism", shape, f"shape {result.shape}")
                return result.reshape(size, -1)
            wide, done = np.empty((0, 0)), 0
            while True:
                rows, odd = self._of_numbers(guest, dataset, rng, size - done)
                if odd is None and done == 0:
                    return rows
                if self.encoder is None:
                    assert odd is not None
                    raise odd
                if done == 0:
                    wide = np.zeros((size, self.encoder.layout.full))
                wide[done : done + len(rows), : rows.shape[1]] = rows
                done += len(rows)
                if odd is None:
                    return wide
                odd.ran = done
                if not odd.outcomes:
                    raise odd
                try:
                    wide[done] = self.encoder(odd.outcomes[0])
                except InputError as error:  # what cannot be compared
                    raise RunError(str(error), done) from error
                done += 1

    def _of_numbers(
        self, guest: Guest, dataset: Any, rng: np.random.Generator, size: int
    ) -> tuple[Floats, RunError | None]:
        """Return outputs up to the first that is no array of numbers like the others, with the error that says so."""
        rows, shape, kind, learning, coded = np.empty((0, 0)), None, None, self.encoder is None, False
        if self.encoder is not None:
            shape, kind, coded = self.encoder.shape, self.encoder.kind, self.encoder.shape is None
        if shape is not None:
            rows = np.empty((size, math.prod(shape)))
        for i in range(size):
            guest.end_copy()
            try:
                result = self._call(i, dataset, rng)
                if coded:
                    return rows, RunError("", i, result)
                row = self._numbers(i, result)
            except RunError as error:
                return rows[:i], error
            if learning:
                self._kinds |= {(type(result), _kind_of(result))} if row.ndim else set()
                self._types.add(type(result).__name__)
                if i == 0:
                    self._shape = shape = row.shape
                    rows = np.empty((size, row.size))
            if row.shape != shape or (
                kind is not None and (result.dtype if type(result) is np.ndarray else _kind_of(result)) != kind
            ):
                shapes = f"return outputs of one shape (padded with nan), got {shape} and {row.shape}"
                return rows[:i], RunError(f"mechanism must {shapes}", i, result)
            rows[i] = row.ravel()
        return rows, None

    def _call(self, ran: int, *arguments: Any) -> Any:
        try:
            return self.mechanism(*arguments)
        except KeyboardInterrupt:
            raise
        except InputError as error:  # of a tester that wraps the mechanism
            raise RunError(one_line(error), ran) from error
        except EndedProcessError as error:
            raise RunError(f"mechanism must return, got one that ended its process ({error})", ran) from error
        except BaseException as error:  # sys.exit() too
            audited = isinstance(error, Exception) and not isinstance(error, MemoryError) and not self.vectorized
            outcomes = [Raised.by(error)] if audited else []
            says = f"mechanism must return a number or an array, got {raised(error)}"
            raise RunError(says, ran, *outcomes) from error

    def _numbers(self, ran: int, result: Any) -> Floats:
        try:
            return numbers(result)
        except InputError as error:
            raise RunError(str(error), ran, *([] if self.vectorized else [result])) from error

    def probe(self, *, seeded: bool = True) -> Layout:
        """Return the columns of the outputs, learned from first runs; InputError if a seed does not fix these."""
        self.held = fingerprint(self.datasets[0]), fingerprint(self.datasets[1])
        while True:
            outputs, failures = list[Floats](), dict[int, RunError]()
            for side in (0, 1):
                try:
                    outputs.append(self._probed(side, seeded))
                except RunError as error:
                    failures[side] = error
            unlike = bool(failures) or outputs[0].shape != outputs[1].shape or len(self._kinds) > 1
            settled = self.vectorized or self.encoder is not None or not unlike
            if settled or not all(failure.outcomes for failure in failures.values()):
                break
            self.encoder = self._learned()
        if failures:
            first, without = next(iter(failures.values())), [2 * PROBES, 2 * PROBES]
            for side, failure in failures.items():
                without[side] = failure.ran
            raise first.on(list(failures), without) from first
        a, b = outputs
        shapes = f"{a.shape[1:]} and {b.shape[1:]}"
        require(a.shape == b.shape, "mechanism", "return outputs of one shape (padded with nan)", shapes)
        self.alike = seeded and bool(same(a, b).all())
        if self.vectorized:
            return Layout(a.shape[1], 0, a.shape[1])
        if self.encoder is None:
            _, kind = next(iter(self._kinds), (None, None))
            self.encoder = Encoder(self._shape, kind, frozenset(self._types))
        self.first = (a[:1], b[:1]) if seeded else ()
        return self.encoder.layout

    def pair(self, streams: Sequence[np.random.SeedSequence], size: int) -> tuple[Floats, Floats]:
        """Return ``size`` outputs on both datasets, to choose by; columns of outcomes are learned where needed."""
        outputs, done = list[Floats](), [0, 0]
        for side, dataset in enumerate(self.datasets):
            try:
                outputs.append(self.outputs(dataset, np.random.default_rng(streams[side]), size))
            except RunError as error:
                if error.outcomes and self.encoder is None:
                    self.encoder = self._learned()
                    return self.pair(streams, size)
                done[side] = error.ran
                raise error.on([side], done) from error
            done[side] = size
        a, b = outputs
        shapes = f"{a.shape[1]} and {b.shape[1]} numbers"
        if not self.vectorized and self.encoder is None and (a.shape != b.shape or len(self._kinds) > 1):
            self.encoder = self._learned()
            return self.pair(streams, size)
        require(a.shape == b.shape, "mechanism", "return outputs of one shape (padded with nan)", shapes)
        return a, b

    def _learned(self) -> Encoder:
        """Return what makes rows of outcomes, learned from runs on both; a mechanism that never returns is an error."""
        learned: tuple[list[Any], list[Any]] = ([], [])
        self.encoder = Encoder()
        with Guest() as guest:
            for dataset, outcomes in zip(self.datasets, learned, strict=True):
                rng = np.random.default_rng(0)
                for _ in range(_LEARNED):
                    _, odd = self._of_numbers(guest, dataset, rng, 1)
                    assert odd is not None
                    if not odd.outcomes:
                        raise odd
                    outcomes += odd.outcomes
        outcomes = [*learned[0], *learned[1]]
        if all(isinstance(outcome, Raised) for outcome in outcomes):
            always = f"{outcomes[0].kind}: {outcomes[0].words}"
            raise InputError(f"mechanism must return an output, got an error in all first runs: {always}")
        nothing = all(outcome is None for outcome in outcomes)
        require(not nothing, "mechanism", "return an outcome", "None in all first runs")
        return Encoder.learned(*learned)

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
        require(
            not seeded or rngs[0].bit_generator.state == rngs[1].bit_generator.state, "mechanism",
            "make a fresh object of whatever remembers its draws", "one that draws less when it is run again",
        )  # fmt: skip
        if not self.vectorized or not same(first, first[0]).all(axis=0).any():
            return first
        # Every audit needs independent runs, so a vectorized call must draw anew for each output. A column that is
        # constant within each call, with another constant in each, is no column of independent runs: for two values of
        # chance 1/2 that has probability below 1e-20.
        calls = [first, *(self.outputs(dataset, np.random.default_rng(stream), PROBES) for stream in (1, 2))]
        constant = np.array([same(rows, rows[0]).all(axis=0) for rows in calls]).all(axis=0)
        values = np.array([rows[0] for rows in calls])
        require(
            not bool((constant & ~same(values, values[0]).all(axis=0)).any()), "mechanism",
            "draw afresh for each of the size outputs", "one draw for all of a call",
        )  # fmt: skip
        return first


class KeptRuns(Protocol):
    """Outputs by chunk, such as a dictionary."""

    def __contains__(self, chunk: object, /) -> bool:
        """Whether the outputs of a chunk are kept."""

    def __getitem__(self, chunk: Chunk, /) -> Floats:
        """Return the outputs of a chunk."""

    def __setitem__(self, chunk: Chunk, outputs: Floats, /) -> None:
        """Keep the outputs of a chunk."""


def _kind_of(numbers: Any) -> Any:
    """Return what tells two arrays of one shape apart, beside their numbers: their type, and a table's labels."""
    if hasattr(numbers, "axes"):
        names = getattr(numbers, "name", None), *(axis.names for axis in numbers.axes)
        return (*map(tuple, numbers.axes), str(numbers.dtypes), str(names))
    return getattr(numbers, "dtype", None)
