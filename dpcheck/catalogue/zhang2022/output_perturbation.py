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

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dpcheck.algorithms.kernels.gradients import no_ascent, no_difference, no_mean
from dpcheck.algorithms.kernels.jit import Numbers, kernel, named
from dpcheck.algorithms.kernels.parts import Shape, copy, project, scale
from dpcheck.algorithms.kernels.tape import At, Outcome, mark, release, sample
from dpcheck.algorithms.layout import JOINT, Release
from dpcheck.algorithms.problem import Array, Problem, data_of
from dpcheck.algorithms.run import SCHEMES, History, fill, pack
from dpcheck.algorithms.schedule import Schedule, Sizes, fixed, number, whole
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.bases import BASES, base_kernel
from dpcheck.catalogue.bases.saddle import ENERGY, MOST, MU_V, MU_W, R_V, R_W, L
from dpcheck.errors import require
from dpcheck.events import Disjoint, Event, Gaussian

# The columns of a schedule, a row a phase; JOINT releases (w, v) as one vector in the units of the moduli.
FIELDS = (
    "first", "last", "fresh", "r_w", "r_v", "mu_w", "mu_v", "energy",
    "sigma_w", "sensitivity_w", "sigma_v", "sensitivity_v", "joint",
)  # fmt: skip
Phase = dict[str, float]
# The base where none is named: saddle_svrg up to kappa = sqrt(records of a phase), and no slower beyond it, where
# saddle_svrg's kappa^2 gradients are many times those of extragradient (tests/measured/saddle_bases.csv).
SADDLE_BASE = "accelerated_svrg"


class InPhases(Schedule):
    """A schedule of phases.

    Attributes
    ----------
    base : str
        Base solver of a phase, one of :data:`dpcheck.catalogue.bases.BASES`.
    most : int
        Gradient evaluations that a phase may take.
    """

    base = fixed(SADDLE_BASE)
    most = fixed(100_000_000, whole)

    @property
    def L(self) -> float:
        """Lipschitz constant of f in (w, v)."""
        return math.hypot(self.problem.lipschitz_w, self.problem.lipschitz_v)

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the gradient of f."""
        return max(self.problem.smoothness, 1e-12)

    @property
    def planned(self) -> list[Phase]:
        """The phases in order."""
        raise NotImplementedError

    @cached_property
    def phases(self) -> Array:
        """A row for each phase, (phases, len(FIELDS)), without noise where none is added."""
        rows = np.array([[float(row[name]) for name in FIELDS] for row in self.planned])
        return rows if self.private else without_noise(rows)

    def require_convex(self) -> None:
        """Require f to be convex-concave: where it is not, one record moves a minimiser from well to well."""
        problem = self.problem
        require(problem.convexity >= 0, "problem", "be convex in w", problem.name)
        require(problem.dim_v == 0 or problem.concavity >= 0, "problem", "be concave in v", problem.name)


class Phases(InPhases):
    """The phases of a theorem of Zhang et al. 2022, as the ``schedule`` of the algorithm has them.

    References
    ----------
    L. Zhang et al. Bring your own algorithm for optimal differentially private stochastic minimax optimization.
    NeurIPS 2022, Algorithms 1 to 5, Theorems 3.3, 3.4, 4.3 and 4.5, Corollary B.6.
    """

    sampling = "single_pass"

    def require(self) -> None:
        from dpcheck.catalogue.bases import require_base

        problem, minimisation = self.problem, self.algorithm.minimisation
        kind = "have no v" if minimisation else "have a v"
        require((problem.dim_v == 0) == minimisation, "problem", kind, problem.name)
        self.require_convex()
        require_base(self.base, minimisation=minimisation)
        for what, value in (("Lipschitz", self.L), ("smooth", problem.smoothness)):
            require(math.isfinite(value), "problem", f"be {what}", problem.name)

    @number()
    def base(self) -> str:
        return "gradient_descent" if self.algorithm.minimisation else SADDLE_BASE

    @property
    def planned(self) -> list[Phase]:
        phases: list[Phase] = self.algorithm.schedule(self.problem, self.sizes, self.L)
        return phases


def phase(records: tuple[int, int], **values: float) -> Phase:
    """Make a row with everything that is not named at 0."""
    return dict.fromkeys(FIELDS, 0.0) | {"first": records[0], "last": records[1]} | values


def without_noise(phases: Array) -> Array:
    """Return a copy of the rows in which nothing is added to what is released."""
    quiet: Array = phases.copy()
    quiet[:, [FIELDS.index("sigma_w"), FIELDS.index("sigma_v")]] = 0.0
    return quiet


def radius_of(domain: Array, name: str) -> float:
    """Return the radius of the least ball about 0 that holds a domain; an error where there is no bound."""
    squares = [radius**2 * (1 if kind == Shape.BALL else stop - start) for start, stop, kind, radius in domain.tolist()]
    bounded = len(squares) > 0 and math.isfinite(sum(squares))
    require(bounded, "problem", f"bound {name}", "one that leaves it free")
    return math.sqrt(sum(squares))


@kernel("base")
def known(gradient, data, index, constants, centre, rng, z):  # type: ignore[no-untyped-def]
    """Stand in for a base solver whose solution is known, and comes in place of the problem's parameters."""
    copy(data.params, z)
    return index.size


def solved_once(parts: tuple[Any, ...], numbers: Numbers, solution: Array) -> tuple[tuple[Any, ...], Numbers]:
    """Return parts and numbers for runs that are handed their solution and give the same bits as with these."""
    data, *functions, _ = parts
    shorter = numbers.steps.copy()
    shorter[:, [FIELDS.index("first"), FIELDS.index("last")]] = 0.0, 1.0  # no record is read again
    one = data._replace(params=solution, records=data.records[:1])
    return (one, *functions, known), numbers._replace(steps=shorter)


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


@kernel("void(vector, data, vector, vector, stream, vector, tape)")
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


@kernel("run")
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
        tape.cursor[At.EVALUATIONS] += abs(spent)
        if spent < 0:
            tape.cursor[At.OUTCOME] = Outcome.EXHAUSTED
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
    replayable: ClassVar[dict[str, Any]] = {"base": "extragradient"}
    solves = True

    def quiet(self) -> Self:
        """Return the same configuration without noise."""
        return replace(self, phases=without_noise(self.phases))

    @property
    def named_phases(self) -> list[Phase]:
        """The phases with the names of their columns."""
        return [dict(zip(FIELDS, row, strict=True)) for row in self.phases.tolist()]

    def origins(self) -> tuple[str, ...]:
        """Return what is reconstructed of the algorithm and of its base solver."""
        base = (f"base {self.base}: reconstructed from its abstract",) if BASES[self.base].reconstructed else ()
        return (*super().origins(), *base)

    def layout(self, problem: Problem, history: History) -> tuple[Release, ...]:
        """Return what the schedule releases in each phase."""
        releases: list[Release] = []
        drawn = self.sampling != "single_pass"
        for k, phase in enumerate(self.named_phases):
            records = None if drawn else (int(phase["first"]), int(phase["last"]))
            for part in (JOINT,) if phase["joint"] else ("w", "v"):
                if part == JOINT or phase[f"sensitivity_{part}"] > 0:
                    releases.append(Release(len(releases), part, f"in phase {k + 1}", k if drawn else None, records))
        return tuple(releases)

    def iterations(self, problem: Problem) -> int:
        """The phases."""
        return len(self.phases)

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """A Gaussian a release; those of one pass over disjoint records count as the worst of them."""
        groups: list[list[Gaussian]] = []
        for phase in self.named_phases[:iterations]:
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
