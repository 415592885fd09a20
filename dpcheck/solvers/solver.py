"""What every algorithm shares: its numbers packed for the kernel, one run, many runs, a replay."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from threading import Thread
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import require, require_count, require_delta, require_positive, require_seed
from dpcheck.events import Disjoint, Event, Gaussian, Repeated, Sampled, Scheme
from dpcheck.kernels.gradients import no_difference
from dpcheck.kernels.parts import POISSON, WITH_REPLACEMENT, WITHOUT_REPLACEMENT
from dpcheck.kernels.tape import (
    COUNT,
    DRAWS,
    EVALUATIONS,
    EXHAUSTED,
    MARKS,
    MODE,
    OUTCOME,
    RECORD,
    RELEASES,
    REPLAY,
    RETURNED,
    STOP,
)
from dpcheck.kernels.trials import trials
from dpcheck.problems.problem import Array, Problem
from dpcheck.solvers.run import History, Run
from dpcheck.streams import one_blas_thread

Packed = tuple[Array, NDArray[np.int64], Array]
Tape = tuple[NDArray[Any], ...]

_OUTCOMES = ("finished", "exhausted", "certified", "uncertified")  # in the tape's numbering
SCHEMES: dict[Scheme, int] = {
    "with_replacement": WITH_REPLACEMENT,
    "without_replacement": WITHOUT_REPLACEMENT,
    "poisson": POISSON,
}


class Solver:
    """One configuration of an algorithm; each algorithm is a frozen dataclass in a file of its own.

    Attributes
    ----------
    name, paper, source : str
        The algorithm's name, its paper, and its place there.
    reconstructed : str
        What was filled in where no paper prints it in full, or nothing.
    example : str
        The problem that it runs on where none is named.
    variants : tuple of str
        ``"as_printed"`` and, where the paper as published cannot stand, ``"repaired"``.
    tiny : mapping
        Overrides for a run that plain Python finishes at once.
    understated : str
        Why the printed variant's declared sensitivities are exceeded, or nothing; ``configure`` notes it.
    promised : float
        The share of (epsilon, delta) that the algorithm promises itself, where it is a part of another.
    configure : callable
        A classmethod ``(problem, *, epsilon, delta, variant, ...)``: the theorem's schedule save what is given.
    kernel, trials : callable
        The compiled run, of signature ``dpcheck.kernels.jit.RUN_SIGNATURE``, and many of them on one stream.
    choices : tuple of str
        Options that say which published schedule is meant, or what does not belong to it.
    kept : tuple of str
        Options that :meth:`setting` reads off a configuration which has no field of that name.
    differences : bool
        Whether the kernel calls ``difference``; if not, the problem's is not compiled.
    steps, notes : object and tuple of str
        Fields of every configuration: its length, and what a run should say about it.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    source: ClassVar[str]
    reconstructed: ClassVar[str] = ""
    example: ClassVar[str]
    variants: ClassVar[tuple[str, ...]] = ("as_printed", "repaired")
    tiny: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    understated: ClassVar[str] = ""
    promised: ClassVar[float] = 1.0
    choices: ClassVar[tuple[str, ...]] = ("theorem", "pl", "private", "base", "most")
    kept: ClassVar[tuple[str, ...]] = ()
    differences: ClassVar[bool] = True
    kernel: ClassVar[Callable[..., Any]]
    trials: ClassVar[Callable[..., Any]] = staticmethod(trials)
    configure: ClassVar[Callable[..., Any]]
    steps: Any
    notes: tuple[str, ...]

    def packed(self, problem: Problem) -> Packed:
        """Pack the kernel's ``reals``, ``counts`` and ``steps``.

        Parameters
        ----------
        problem : Problem
            The objective with its records; InputError if it does not fit.

        Returns
        -------
        tuple of ndarray
            Float64, int64 and float64.
        """
        raise self._missing("packed")

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """Return the privacy events of a run: the most it may release.

        Parameters
        ----------
        problem : Problem
            The objective with its records.
        iterations : int, optional
            Only the first so many iterations.

        Returns
        -------
        tuple of events
            As :func:`dpcheck.certify` reads them.
        """
        raise self._missing("events")

    def iterations(self, problem: Problem) -> int:
        """Return how many iterates a run has: T where the algorithm does not say otherwise.

        Parameters
        ----------
        problem : Problem
            The objective with its records.

        Returns
        -------
        int
            The number of iterates.
        """
        return int(self.steps)

    def keeps(self, option: str) -> bool:
        """Say whether a configuration shows what it has for an option of :meth:`configure`.

        Parameters
        ----------
        option : str
            Its name.

        Returns
        -------
        bool
            Whether :meth:`setting` reads it off the configuration.
        """
        return hasattr(self, option) or option in self.kept

    def setting(self, option: str, problem: Problem) -> Any:
        """Return what a configuration has for an option of :meth:`configure`, or else the option's default.

        Parameters
        ----------
        option : str
            Its name.
        problem : Problem
            The objective with its records.

        Returns
        -------
        object
            The value.
        """
        if hasattr(self, option):
            return getattr(self, option)
        return inspect.signature(self.configure).parameters[option].default

    def origins(self) -> tuple[str, ...]:
        """Return what of a run is not as a paper prints it, because none at hand prints it in full."""
        return (f"reconstructed: {self.reconstructed}",) if self.reconstructed else ()

    def rows(self, problem: Problem) -> tuple[int, int, int]:
        """Count the releases, the minibatches, and the records of the largest minibatch of a run, at most.

        Parameters
        ----------
        problem : Problem
            The objective with its records.

        Returns
        -------
        tuple of int
            The three counts.
        """
        return rows_of(self.events(problem))

    def run(
        self, problem: Problem, *, seed: int = 0, record: bool = False, at: Sequence[int] | None = None,
        watch: Callable[[int, int], object] | None = None,
    ) -> Run:  # fmt: skip
        """Run once on the stream ``default_rng(seed)``.

        Ctrl-C ends the run at its next iterate and raises KeyboardInterrupt.

        Parameters
        ----------
        problem : Problem
            The objective with its records.
        seed : int
            Seed of all randomness, >= 0.
        record : bool
            Whether to keep every minibatch and every release.
        at : sequence of int, optional
            The iterations, from 0, whose iterates are kept; all of them where ``record`` is true.
        watch : callable, optional
            Called as ``watch(releases so far, releases in all)`` while the run goes on.

        Returns
        -------
        Run
            The output with its events, notes and history.
        """
        require_seed(seed)
        events = self.events(problem)
        wanted = range(self.iterations(problem)) if at is None and record else at or ()
        tape = new_tape(problem, self.rows(problem), at=wanted, mode=RECORD if record else COUNT)
        out = np.empty(problem.dim_w + problem.dim_v)
        arguments = (*self._arguments(problem), np.random.default_rng(seed), out, tape)
        with one_blas_thread():
            if watch is None:
                self.kernel(*arguments)
            else:
                _watched(self.kernel, arguments, tape, self.rows(problem)[0], watch)
        _require_sound(tape, self.rows(problem)[0], self.name)
        history = history_of(tape, problem, record=record)
        start = ("x is the start: no later iterate became an anchor",) if history.returned == 0 else ()
        return Run(
            out[: problem.dim_w], out[problem.dim_w :], events, (*self.notes, *self.origins(), *start), history,
            self, problem, int(tape[0][EVALUATIONS]), _OUTCOMES[int(tape[0][OUTCOME])],
        )  # fmt: skip

    def quiet(self) -> Self:
        """Return the same configuration without noise: every field that begins with ``sigma`` is 0."""
        zeros = {field.name: 0.0 for field in fields(self) if field.name.startswith("sigma")}  # type: ignore[arg-type]
        return replace(self, **zeros)  # type: ignore[type-var]

    def outputs(self, problem: Problem, rng: np.random.Generator, size: int) -> Array:
        """Run many times on one stream, and keep the outputs alone.

        Parameters
        ----------
        problem : Problem
            The objective with its records.
        rng : numpy.random.Generator
            The stream.
        size : int
            Number of runs.

        Returns
        -------
        ndarray, (size, d_w + d_v)
            The final outputs (w, v).
        """
        outputs = np.empty((size, problem.dim_w + problem.dim_v))
        tape = new_tape(problem, (0, 0, 0))
        with one_blas_thread():
            self.trials(self.kernel, *self._arguments_of_many(problem, size), rng, outputs, tape)
        _require_sound(tape, size * self.rows(problem)[0], self.name)
        return outputs

    def replay(self, problem: Problem, history: History, *, seed: int) -> History:
        """Repeat the run of :meth:`run` with this seed on other data, fed the same released quantities.

        Parameters
        ----------
        problem : Problem
            The other data.
        history : History
            A recorded run.
        seed : int
            The seed of that run.

        Returns
        -------
        History
            What the other data would have released.
        """
        tape = new_tape(problem, self.rows(problem), at=history.iterations.tolist(), mode=REPLAY)
        tape[3][: len(history.released)] = history.released
        out = np.empty(problem.dim_w + problem.dim_v)
        with one_blas_thread():
            self.kernel(*self._arguments(problem), np.random.default_rng(seed), out, tape)
        return history_of(tape, problem, record=True)

    def _arguments(self, problem: Problem) -> tuple[Any, ...]:
        reals, counts, steps = self.packed(problem)
        data = (
            problem.params, problem.arranged, problem.domain_w, problem.domain_v,
            np.ascontiguousarray(problem.start, dtype=float), problem.dim_w,
        )  # fmt: skip
        difference = problem.difference if self.differences else no_difference
        return (
            problem.gradient, problem.mean, difference, data,
            np.asarray(reals, dtype=float), np.asarray(counts, dtype=np.int64), np.ascontiguousarray(steps, float),
        )  # fmt: skip

    def _arguments_of_many(self, problem: Problem, size: int) -> tuple[Any, ...]:
        """Return the arguments for ``size`` runs, which may share what is the same in all of them."""
        return self._arguments(problem)

    def _missing(self, what: str) -> TypeError:
        return TypeError(f"{type(self).__name__} must define {what}")


@dataclass(frozen=True)
class Sizes:
    """n records in d = max(d_w, d_v) dimensions at (epsilon, delta), all checked."""

    n: int
    d: int
    epsilon: float
    delta: float

    @classmethod
    def of(cls, problem: Problem, epsilon: float, delta: float, variant: str, variants: tuple[str, ...]) -> Sizes:
        """Check what every ``configure`` is given."""
        require_positive(epsilon, "epsilon")
        require_delta(delta, zero=False)
        require(variant in variants, "variant", f"be one of {', '.join(variants)}", variant)
        return cls(len(problem.records), max(problem.dim_w, problem.dim_v), epsilon, delta)

    @property
    def privacy_error(self) -> float:
        """sqrt(d log(1/delta))/(n epsilon), the papers' rate of private optimisation."""
        return float(np.sqrt(self.d * -np.log(self.delta)) / (self.n * self.epsilon))


def require_norm(value: float, name: str, *, finite: bool = False) -> None:
    """Require a clipping norm: a number above zero, or infinity where ``finite`` is false."""
    if finite or value != math.inf:
        number(value, name, "be finite and > 0" if finite else "be > 0")
        require(0 < value < math.inf, name, "be finite and > 0" if finite else "be > 0", value)


def require_length(value: int, name: str) -> None:
    """Require a whole number small enough that a computer may have memory for as many."""
    require(value < 2**48, name, "be below 2^48", value)


def require_share(value: float, name: str) -> None:
    """Require a number in (0, 1)."""
    number(value, name, "lie in (0, 1)")
    require(0 < value < 1, name, "lie in (0, 1)", value)


def number(value: object, name: str, constraint: str) -> None:
    """Require a number at all, of whatever size."""
    good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    require(good, name, constraint, repr(value) if isinstance(value, str) else value)


def smoothness_for_eta(problem: Problem) -> float:
    """Return L > 0 for a default ``eta`` = 1/(L ...); InputError where the problem has no such constant."""
    L = problem.smoothness
    require(math.isfinite(L), "eta", f"be given (its default is 1/(L ...), and {problem.name} has no such L)", None)
    return max(L, 1e-12)


def modulus(problem: Problem) -> float:
    """Return the strong concavity in v of every record, or where that is none of the mean, which the records decide."""
    return problem.concavity if problem.concavity > 0 else problem.empirical_concavity


def private_modulus(problem: Problem) -> tuple[str, ...]:
    """Say that the schedule rests on a number which the records decide, where it does."""
    mu = problem.empirical_concavity
    sentence = f"only the mean over these records is strongly concave in v; its modulus {mu:.4g} is taken as public"
    return (sentence,) if problem.concavity <= 0 < mu else ()


def gaussian(sigma: float, sensitivity: float) -> Gaussian:
    """Return the event of this noise on a query of this sensitivity."""
    return Gaussian(sigma / sensitivity if sensitivity > 0 else math.inf)


def noise_share(batch: int, population: int, count: int) -> float:
    """Return max(1, batch sqrt(count)/population): a noise multiplier up to the factor that the accountant finds.

    ``count`` minibatches with this share for multiplier cost a privacy that does not grow with ``count`` (Xu et al.
    2026, Algorithm 3, lines 1 and 2). Kinds of releases that differ in size and number are held in this proportion.
    """
    return max(1.0, batch * math.sqrt(count) / population)


def rows_of(events: Sequence[Event]) -> tuple[int, int, int]:
    """Count the releases, the minibatches, and the records of the largest minibatch that these events may have."""
    releases = draws = largest = 0
    for event in events:
        if isinstance(event, Repeated):
            inner = rows_of((event.event,))
            releases, draws = releases + event.count * inner[0], draws + event.count * inner[1]
            largest = max(largest, inner[2])
        elif isinstance(event, Disjoint):
            inner = rows_of(event.events)
            releases, draws, largest = releases + inner[0], draws + inner[1], max(largest, inner[2])
        elif isinstance(event, Sampled):
            releases, draws = releases + len(event.mechanisms), draws + 1
            room = event.population if event.scheme == "poisson" else event.batch
            largest = max(largest, int(room))
        else:
            releases += 1
    return releases, draws, largest


def new_tape(problem: Problem, rows: tuple[int, int, int], *, at: Sequence[int] = (), mode: int = COUNT) -> Tape:
    """Make an empty tape with room for these releases and minibatches, or for counting alone."""
    for iteration in at:
        require_count(iteration, "at", least=0)
    marks = np.array(sorted(set(at)), dtype=np.int64)
    size = problem.dim_w + problem.dim_v
    releases, draws, largest = rows if mode != COUNT else (0, 0, 0)
    cursor = np.zeros(7, np.int64)
    cursor[MODE], cursor[RETURNED] = mode, -1
    return (
        cursor, np.full((draws, largest), -1), np.zeros((releases, size)), np.zeros((releases, size)),
        np.zeros((releases, 2)), marks, np.empty((len(marks), size)),
    )  # fmt: skip


def history_of(tape: Tape, problem: Problem, *, record: bool) -> History:
    """Read the history that a finished run left on its tape."""
    cursor, drawn, clean, released, noise, marks, path = tape
    releases, draws, kept = int(cursor[RELEASES]), int(cursor[DRAWS]), int(cursor[MARKS])
    if not record:
        releases = draws = 0
    return History(
        drawn[:draws], clean[:releases], released[:releases], path[:kept], noise[:releases], marks[:kept],
        problem.dim_w, int(cursor[RETURNED]) if cursor[RETURNED] >= 0 else None,
    )  # fmt: skip


def _require_sound(tape: Tape, declared: int, name: str) -> None:
    """Require that the base solver arrived, and that a run releases no more than it declares, which would be a bug."""
    require(
        tape[0][OUTCOME] != EXHAUSTED, "most", "be large enough for the base solver to reach its accuracy",
        f"{int(tape[0][EVALUATIONS])} evaluations without; another base may need fewer",
    )  # fmt: skip
    made = int(tape[0][RELEASES])
    if made > declared:
        raise RuntimeError(f"{name} made {made} releases and declares {declared}")


def _watched(
    kernel: Callable[..., Any], arguments: tuple[Any, ...], tape: Tape, total: int,
    watch: Callable[[int, int], object],
) -> None:  # fmt: skip
    """Run on a thread of its own, reading the tape's count of releases meanwhile."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            kernel(*arguments)
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=work)
    thread.start()
    try:
        while thread.is_alive():
            watch(int(tape[0][RELEASES]), total)
            thread.join(0.1)
    except KeyboardInterrupt:
        tape[0][MODE] = STOP
        thread.join()
        raise
    watch(int(tape[0][RELEASES]), total)
    if failures:
        raise failures[0]
