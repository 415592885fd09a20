"""Output perturbation around any base solver, in one phase or in many: the seven algorithms of one paper.

Zhang, Thekumparampil, Oh, He: "Bring Your Own Algorithm for Optimal Differentially Private Stochastic
Minimax Optimization", NeurIPS 2022: Algorithms 1 to 5, and the variants of Algorithms 4 and 5 for
convex-strongly-concave and strongly-convex-concave objectives (Appendix B.4).

All of them are rows of one schedule. A row solves a regularised problem on its own records, from released points
only, to a certified accuracy; then it releases w, v, or both, with Gaussian noise, and projects (the paper does not,
and a projection of what is released costs no privacy). Neighbours replace one record, ``log`` is natural.
K = floor(log2 n) phases of floor(n/K) records each, so that a record meets one phase.

The papers reach the accuracy in expectation and pay part of delta for Markov's inequality. Here the base
solver stops by a deterministic certificate, so the sensitivities hold surely and delta is not used up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import types

from dpcheck.algorithms.budget import Sizes
from dpcheck.algorithms.kernels.jit import DATA, RUN_SIGNATURE, STREAM, TAPE, VECTOR, kernel
from dpcheck.algorithms.kernels.named import Numbers, named
from dpcheck.algorithms.kernels.parts import copy, project, scale
from dpcheck.algorithms.kernels.saddle import ENERGY, MOST, MU_V, MU_W, R_V, R_W, L
from dpcheck.algorithms.kernels.stand_ins import no_ascent, no_difference, no_mean
from dpcheck.algorithms.kernels.tape import EVALUATIONS, EXHAUSTED, OUTCOME, mark, release, sample
from dpcheck.algorithms.packing import SCHEMES, fill, pack
from dpcheck.algorithms.problem import Array, Problem, data_of
from dpcheck.algorithms.schedule import Schedule
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.bases import BASES, base_kernel
from dpcheck.catalogue.zhang2022.phases import FIELDS, Phase, Phases, without_noise
from dpcheck.catalogue.zhang2022.solved_once import solved_once
from dpcheck.errors import require
from dpcheck.events import Disjoint, Event, Gaussian

_SCHEMES = {"single_pass": -1, "with_replacement": SCHEMES["with_replacement"]}  # as the kernel has them


class Reals(NamedTuple):
    """The Lipschitz constant of the gradient of f."""

    smoothness: float


class Counts(NamedTuple):
    """Most evaluations a phase, whether to average, and how records are drawn.

    scheme : one of ``parts``, by which all minibatches are drawn before the first phase; -1 where each phase names
        its own
    """

    most: int
    average: int
    scheme: int


@kernel(types.void(VECTOR, DATA, VECTOR, VECTOR, STREAM, VECTOR, TAPE))
def publish(z, data, phase, centre, rng, out, tape):  # type: ignore[no-untyped-def]
    """Release what this phase releases of its solution z; ``out`` and the next ``centre`` receive it, projected."""
    d, mu_w, mu_v = data.dim_w, phase[5], phase[6]
    sigma_w, sensitivity_w, sigma_v, sensitivity_v, joint = phase[8:]
    domain_w, domain_v, z_w, z_v = data.domain_w, data.domain_v, z[:d], z[d:]
    if joint > 0:
        scale(z_w, np.sqrt(mu_w))
        scale(z_v, np.sqrt(mu_v))
        release(z, sigma_w, sensitivity_w, rng, tape)
        scale(z_w, 1 / np.sqrt(mu_w))
        scale(z_v, 1 / np.sqrt(mu_v))
    elif sensitivity_w > 0:
        release(z_w, sigma_w, sensitivity_w, rng, tape)
    if sensitivity_w > 0:
        project(z_w, domain_w)
        copy(z_w, out[:d])
        copy(z_w, centre[:d])
    if sensitivity_v > 0 and joint == 0:
        release(z_v, sigma_v, sensitivity_v, rng, tape)
    if sensitivity_v > 0:
        project(z_v, domain_v)
        copy(z_v, out[d:])
        copy(z_v, centre[d:])


@kernel(RUN_SIGNATURE)
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run the phases of a schedule, one a row of the steps."""
    reals, counts, steps = named(Reals, numbers.reals), named(Counts, numbers.counts), numbers.steps
    data, drawing = objective.data, counts.scheme >= 0
    start, d = data.start, data.dim_w
    everyone = np.arange(data.records.shape[0])
    centre, z, constants = np.zeros(start.size), start.copy(), np.empty(7)
    z_w, z_v = z[:d], z[d:]
    copy(start, out)
    total, phases = np.zeros(start.size), steps.shape[0]
    size = np.int64(steps[0, 1] - steps[0, 0])
    drawn = np.empty((phases if drawing else 0, size), np.int64)
    deck = everyone.copy() if drawing else everyone
    for k in range(drawn.shape[0]):  # at once: how many draws a base solver makes depends on the records
        sample(counts.scheme, everyone.size, size, deck, rng, drawn[k], tape)
    for k in range(phases):
        if mark(k, out, tape):
            return
        first, last, fresh, r_w, r_v, mu_w, mu_v, energy = steps[k, :8]
        sensitivity_w, sensitivity_v = steps[k, 9], steps[k, 11]
        if k == 0 or fresh > 0:  # nothing is carried over from another algorithm; what is not released is held near 0
            centre[:] = 0.0
            if sensitivity_w > 0:
                copy(start[:d], centre[:d])
            if sensitivity_v > 0:
                copy(start[d:], centre[d:])
        copy(centre, z)
        if sensitivity_w == 0:
            copy(start[:d], z_w)
        if sensitivity_v == 0:
            copy(start[d:], z_v)
        constants[L], constants[MU_W], constants[MU_V] = reals.smoothness, mu_w, mu_v
        constants[R_W], constants[R_V] = r_w, r_v
        constants[ENERGY], constants[MOST] = energy, counts.most
        index = drawn[k] if drawing else everyone[np.int64(first) : np.int64(last)]
        spent = objective.base(objective.gradient, data, index, constants, centre, rng, z)
        tape.cursor[EVALUATIONS] += abs(spent)
        if spent < 0:
            tape.cursor[OUTCOME] = EXHAUSTED
            return
        publish(z, data, steps[k], centre, rng, out, tape)
        for i in range(start.size):
            total[i] += out[i] / phases
    if counts.average > 0:
        copy(total, out)


@dataclass(frozen=True, eq=False)
class Phased(Solver):
    """A schedule of phases, and the base solver that carries them out.

    Parameters
    ----------
    phases : ndarray, (phases, len(FIELDS))
        For each phase its records, regularisation, accuracy, noise and sensitivity.
    smoothness : float
        Lipschitz constant of the gradient of f.
    base : str
        A name of :data:`dpcheck.catalogue.bases.BASES`.
    most : int
        Gradient evaluations that a phase may take.
    notes : tuple of str
        What a run should say about the configuration.
    sampling : {"single_pass", "with_replacement"}
        Each phase on the records that its row names, or on as many that are drawn from all.
    """

    phases: Array
    smoothness: float
    base: str
    most: int
    notes: tuple[str, ...] = ()
    sampling: str = "single_pass"

    kernel = staticmethod(run)
    average: ClassVar[bool] = False  # of what was released, as the output

    def quiet(self) -> Self:
        """Return the same configuration without noise."""
        return replace(self, phases=without_noise(self.phases))

    def origins(self) -> tuple[str, ...]:
        """Return what is reconstructed of the algorithm and of its base solver."""
        base = (f"base {self.base}: reconstructed from its abstract",) if BASES[self.base].reconstructed else ()
        return (*super().origins(), *base)

    def iterations(self, problem: Problem) -> int:
        """The phases."""
        return len(self.phases)

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A Gaussian a release; those of one pass over disjoint records count as the worst of them."""
        groups: list[list[Gaussian]] = []
        for row in self.phases[:iterations]:
            phase = dict(zip(FIELDS, row, strict=True))
            if phase["fresh"] or not groups:
                groups.append([])
            for part in ("w",) if phase["joint"] else ("w", "v"):
                if phase[f"sensitivity_{part}"] > 0:
                    groups[-1].append(Gaussian(phase[f"sigma_{part}"] / phase[f"sensitivity_{part}"]))
        single = len(self.phases) == 1
        return tuple(groups[0]) if single and groups else tuple(Disjoint(tuple(group)) for group in groups)

    def packed(self, problem: Problem) -> Numbers:
        """The smoothness, the most evaluations, the schedule."""
        last = int(self.phases[:, FIELDS.index("last")].max())
        require(last <= len(problem.records), "problem", f"have at least {last} records", len(problem.records))
        counts = fill(Counts, self, average=self.average, scheme=_SCHEMES[self.sampling])
        return pack(fill(Reals, self), counts, self.phases)

    def parts(self, problem: Problem) -> tuple[Any, ...]:
        """Return data, gradient and base solver, with stand-ins for the rest."""
        return data_of(problem), problem.gradient, no_mean, no_difference, no_ascent, base_kernel(self.base)

    def _of_many(self, problem: Problem, size: int) -> tuple[tuple[Any, ...], Numbers]:
        """Solve once for many runs, where the solution does not depend on chance: one phase, a base solver that draws
        nothing, and no minibatch.
        """
        parts, numbers = super()._of_many(problem, size)
        if size <= 2 or len(self.phases) > 1 or BASES[self.base].draws or self.sampling != "single_pass":
            return parts, numbers
        solution = self._solution(problem)
        return (parts, numbers) if solution is None else solved_once(parts, numbers, solution)

    def _solution(self, problem: Problem) -> Array | None:
        """Return (w, v) before the noise of a recorded run; None where the run does not release each of them once."""
        apart = self.phases.copy()
        apart[:, FIELDS.index("joint")] = 0.0  # released together they are scaled; that changes no solution
        history = replace(self, phases=apart).run(problem, record=True).history
        sizes = [size for size in (problem.dim_w, problem.dim_v) if size]
        if len(history.clean) != len(sizes):
            return None
        return np.concatenate([row[:size] for row, size in zip(history.clean, sizes, strict=True)])


class OutputPerturbation(Phased):
    """Output perturbation of Zhang et al. 2022; the :meth:`schedule` of a subclass says which algorithm."""

    paper = "zhang2022"
    variants = ("as_printed",)
    minimisation: ClassVar[bool] = False

    @classmethod
    def schedule(cls, problem: Problem, sizes: Sizes, L: float) -> list[Phase]:
        """Plan the phases of this algorithm.

        Parameters
        ----------
        problem : Problem
            The objective with its n records.
        sizes : Sizes
            Records, dimension and budget.
        L : float
            Lipschitz constant of f in (w, v).

        Returns
        -------
        list of dict
            A row for each phase, in order.
        """
        raise TypeError(f"{cls.__name__} must define schedule")

    schedules: ClassVar[dict[str, type[Schedule]]] = {"as_printed": Phases}
