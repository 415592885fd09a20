"""What every algorithm shares: its numbers packed for the kernel, one run, many runs, a replay."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from dpcheck.errors import require, require_delta, require_positive, require_seed
from dpcheck.events import Disjoint, Event, Gaussian, Repeated, Sampled, Scheme
from dpcheck.kernels.named import Numbers, Play
from dpcheck.kernels.parts import POISSON, WITH_REPLACEMENT, WITHOUT_REPLACEMENT
from dpcheck.kernels.stand_ins import no_base, no_difference
from dpcheck.kernels.tape import COUNT, EVALUATIONS, OUTCOME, RECORD, REPLAY
from dpcheck.problems.problem import Array, Problem, data_of
from dpcheck.solvers.run import History, Run
from dpcheck.solvers.tapes import history_of, new_tape, perform, require_sound, watched
from dpcheck.streams import one_blas_thread

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
    kernel : callable
        The compiled run, of signature ``dpcheck.kernels.jit.RUN_SIGNATURE``.
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
    configure: ClassVar[Callable[..., Any]]
    steps: Any
    notes: tuple[str, ...]

    def packed(self, problem: Problem) -> Numbers:
        """Pack the numbers that the kernel reads, as :func:`pack` does.

        Parameters
        ----------
        problem : Problem
            The objective with its records; InputError if it does not fit.

        Returns
        -------
        Numbers
            Real numbers, whole numbers, and a row of real numbers for each step.
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
        play = Play(self.packed(problem), np.random.default_rng(seed), tape)
        work = self.kernel, self.parts(problem), play, out[None]
        with one_blas_thread():
            if watch is None:
                perform(*work)
            else:
                watched(work, tape, self.rows(problem)[0], watch)
        require_sound(tape, self.rows(problem)[0], self.name)
        history = history_of(tape, problem, record=record)
        start = ("x is the start: no later iterate became an anchor",) if history.returned == 0 else ()
        return Run(
            out[: problem.dim_w], out[problem.dim_w :], events, (*self.notes, *self.origins(), *start), history,
            self, problem, int(tape.cursor[EVALUATIONS]), _OUTCOMES[int(tape.cursor[OUTCOME])],
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
            parts, numbers = self._of_many(problem, size)
            perform(self.kernel, parts, Play(numbers, rng, tape), outputs)
        require_sound(tape, size * self.rows(problem)[0], self.name)
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
        tape.released[: len(history.released)] = history.released
        out = np.empty((1, problem.dim_w + problem.dim_v))
        play = Play(self.packed(problem), np.random.default_rng(seed), tape)
        with one_blas_thread():
            perform(self.kernel, self.parts(problem), play, out)
        return history_of(tape, problem, record=True)

    def parts(self, problem: Problem) -> tuple[Any, ...]:
        """Return the parts of the objective as a run takes them, with stand-ins for kernels that it does not call.

        Parameters
        ----------
        problem : Problem
            The objective with its records.

        Returns
        -------
        tuple
            The fields of :class:`dpcheck.kernels.named.Objective`.
        """
        difference = problem.difference if self.differences else no_difference
        return data_of(problem), problem.gradient, problem.mean, difference, no_base

    def _of_many(self, problem: Problem, size: int) -> tuple[tuple[Any, ...], Numbers]:
        """Return parts and numbers for ``size`` runs, which may share what is the same in all of them."""
        return self.parts(problem), self.packed(problem)

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


AnyNames = TypeVar("AnyNames", bound=tuple[Any, ...])
_LARGEST = np.iinfo(np.int64).max


def fill(names: type[AnyNames], solver: object, **given: float) -> AnyNames:
    """Read the fields of a NamedTuple off a configuration, save those that are given."""
    fields: tuple[str, ...] = names._fields  # type: ignore[attr-defined]
    return names(**{name: given[name] if name in given else getattr(solver, name) for name in fields})


def pack(reals: Sequence[float], counts: Sequence[int], steps: Array | None = None) -> Numbers:
    """Turn an algorithm's named numbers, and a row for each of its steps, into the vectors that kernels read."""
    for name, count in zip(getattr(counts, "_fields", ()), counts, strict=False):
        require(abs(count) <= _LARGEST, name, f"be at most {_LARGEST}", count)
    rows = np.empty((0, 0)) if steps is None else np.ascontiguousarray(steps, dtype=float)
    return Numbers(np.array(reals, dtype=float), np.array(counts, dtype=np.int64), rows)


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
