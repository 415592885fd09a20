"""What every algorithm shares: its numbers packed for the kernel, one run, many runs, a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcheck.algorithms.configured import Configured
from dpcheck.algorithms.kernels.gradients import no_ascent, no_difference
from dpcheck.algorithms.kernels.jit import Numbers, Play, Tape, kernel
from dpcheck.algorithms.kernels.tape import At, Mode, Outcome
from dpcheck.algorithms.layout import JOINT, Release, declared
from dpcheck.algorithms.problem import Array, Problem, data_of
from dpcheck.algorithms.run import History, Run, history_of, new_tape, perform, rows_of
from dpcheck.errors import require, require_seed
from dpcheck.events import Event
from dpcheck.running.executor import one_blas_thread

if TYPE_CHECKING:
    from dpcheck.algorithms.promises import Promise
    from dpcheck.algorithms.schedule import Schedule


class Solver(Configured):
    """One configuration of an algorithm; each algorithm is a frozen dataclass in a file of its own.

    Attributes
    ----------
    name, paper, source : str
        The algorithm's name, its paper, and its place there.
    reconstructed : str
        What was filled in where no paper prints it in full, or nothing.
    example : str
        The problem that it runs on where none is named.
    tiny : mapping
        Overrides for a run that plain Python finishes at once.
    small_runs : mapping
        Further configurations whose releases are followed one by one, beside the variants with ``tiny``: label ->
        variant and overrides.
    small_problem : str
        The problem of these runs, where a record tells nothing on the example.
    replayable : mapping
        Overrides for a problem with v under which no chance but the noise decides, so that a replay goes the same way.
    solves : bool
        Whether a release is a solution over the records of a phase, each of which may move both blocks.
    understated : str
        Why the printed variant's declared sensitivities are exceeded, or nothing; ``configure`` notes it.
    promised : float
        The share of (epsilon, delta) that the algorithm promises itself, where it is a part of another.
    kernel : callable
        The compiled run, of the type ``run`` of ``dpcheck.algorithms.kernels.jit``.
    differences : bool
        Whether the kernel calls ``difference``; if not, the problem's is not compiled.
    climbs : bool
        Likewise for ``ascent``.
    steps, notes : object and tuple of str
        Fields of every configuration: its length, and what a run should say about it.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    source: ClassVar[str]
    reconstructed: ClassVar[str] = ""
    example: ClassVar[str]
    tiny: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    small_runs: ClassVar[Mapping[str, tuple[str, Mapping[str, Any]]]] = MappingProxyType({})
    small_problem: ClassVar[str] = ""
    replayable: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    solves: ClassVar[bool] = False
    understated: ClassVar[str] = ""
    promised: ClassVar[float] = 1.0
    differences: ClassVar[bool] = True
    climbs: ClassVar[bool] = False
    kernel: ClassVar[Callable[..., Any]]
    steps: Any
    notes: tuple[str, ...]

    @classmethod
    def games(cls) -> Iterable[Any]:
        """Return what the privacy promise is tried on, each an ``Entry`` of ``dpcheck.checks.games``.

        Games are pairs of neighbouring data sets that the certificate of a variant nearly describes: the canary and
        the record that replaces it are as far apart as clipping or the Lipschitz bound allows, at every release if
        possible; the other records equal the latter, or have no gradient, so that nothing hides them.
        """
        return ()

    @classmethod
    def further(cls, context: Any, tables: dict[str, list[dict[str, Any]]]) -> Iterable[tuple[str, Any]]:
        """Return stages of the check about this algorithm alone: each a title and a call that yields findings.

        Parameters
        ----------
        context : Context
            The check that they are part of.
        tables : dict of str to list of dict
            Where measured tables are put, by title.

        Returns
        -------
        iterable of (str, callable)
            The stages.
        """
        return ()

    def promises(self, problem: Problem, schedule: Schedule) -> Iterable[Promise]:
        """Return the theorems that this run is meant for, each with its answers to the theorem's assumptions.

        Parameters
        ----------
        problem : Problem
            The objective with its records.
        schedule : Schedule
            The numbers that the run was configured with, its budget among them.

        Returns
        -------
        iterable of Promise
            None for a baseline that no theorem of the catalogue is about.
        """
        return ()

    def unmet(self, problem: Problem) -> Iterable[str]:
        """Return a sentence for each condition that the run breaks of a table which compares this baseline.

        Parameters
        ----------
        problem : Problem
            The objective with its records.

        Returns
        -------
        iterable of str
            The sentences.
        """
        return ()

    def packed(self, problem: Problem) -> Numbers:
        """Pack the numbers that the kernel reads, as :func:`~dpcheck.algorithms.run.pack` does.

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

    def layout(self, problem: Problem, history: History) -> tuple[Release, ...]:
        """Return what each release of a run is, in order: as the events have it where an algorithm says nothing more.

        Parameters
        ----------
        problem : Problem
            The objective with its records.
        history : History
            The recorded run.

        Returns
        -------
        tuple of Release
            One for each row of ``history.clean``.
        """
        found: list[Release] = []
        draw = 0
        for group in declared(self.events(problem)):
            for _ in range(group.count):
                for _ in group.multipliers:
                    row = len(found)
                    found.append(Release(row, JOINT, f"number {row + 1}", draw if group.sampled is not None else None))
                draw += group.sampled is not None
        return tuple(found[: len(history.clean)])

    def as_laplace(self, multiplier: float) -> float:
        """Return the multiplier of the Laplace mechanism as which a private choice is declared.

        Parameters
        ----------
        multiplier : float
            The scale of the choice's noise over its sensitivity, >= 0.

        Returns
        -------
        float
            The same where the choice is a Laplace mechanism.
        """
        return multiplier

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
        tape = new_tape(problem, self.rows(problem), at=wanted, mode=Mode.RECORD if record else Mode.COUNT)
        out = np.empty(problem.dim_w + problem.dim_v)
        play = Play(self.packed(problem), np.random.default_rng(seed), tape)
        parts, most = self.parts(problem), self.rows(problem)[0]
        with one_blas_thread():
            perform(self.kernel, parts, play, out[None], watch and (lambda done: watch(done, most)))
        _require_sound(tape, most, self.name)
        history = history_of(tape, problem, record=record)
        start = ("x is the start: no later iterate became an anchor",) if history.returned == 0 else ()
        return Run(
            out[: problem.dim_w], out[problem.dim_w :], events, (*self.notes, *self.origins(), *start), history,
            self, problem, int(tape.cursor[At.EVALUATIONS]), Outcome(tape.cursor[At.OUTCOME]).name.lower(),
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
        tape = new_tape(problem, self.rows(problem), at=history.iterations.tolist(), mode=Mode.REPLAY)
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
            The fields of :class:`dpcheck.algorithms.kernels.jit.Objective`.
        """
        difference = problem.difference if self.differences else no_difference
        ascent = problem.ascent if self.climbs else no_ascent
        return data_of(problem), problem.gradient, problem.mean, difference, ascent, no_base

    def _of_many(self, problem: Problem, size: int) -> tuple[tuple[Any, ...], Numbers]:
        """Return parts and numbers for ``size`` runs, which may share what is the same in all of them."""
        return self.parts(problem), self.packed(problem)

    def _missing(self, what: str) -> TypeError:
        return TypeError(f"{type(self).__name__} must define {what}")


def _require_sound(tape: Tape, declared: int, name: str) -> None:
    """Require that the base solver arrived, and that a run releases no more than it declares, which would be a bug."""
    require(
        tape.cursor[At.OUTCOME] != Outcome.EXHAUSTED, "most",
        "be large enough for the base solver to reach its accuracy",
        f"{int(tape.cursor[At.EVALUATIONS])} evaluations without; another base may need fewer",
    )  # fmt: skip
    made = int(tape.cursor[At.RELEASES])
    if made > declared:
        raise RuntimeError(f"{name} made {made} releases and declares {declared}")


@kernel("base")
def no_base(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Stand in where an algorithm calls no base solver: it has not arrived if it is called after all."""
    return -1
