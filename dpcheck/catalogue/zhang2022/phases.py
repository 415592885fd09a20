"""A schedule of phases for output perturbation: a row each, on records of its own.

The papers' theorems are the ``schedule`` of each algorithm in ``dpcheck.catalogue.zhang2022.minimise`` and
``output_perturbation_saddle``.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from dpcheck.algorithms.domains import anything, whole
from dpcheck.algorithms.kernels.parts import BALL
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.schedule import Schedule, fixed, number
from dpcheck.errors import require, require_positive

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
    """What every schedule of phases has.

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
        require_convex(problem)
        require_base(self.base, minimisation=minimisation)
        for what, value in (("Lipschitz", self.L), ("smooth", problem.smoothness)):
            require(math.isfinite(value), "problem", f"be {what}", problem.name)

    @number(anything)
    def base(self) -> str:
        return "gradient_descent" if self.algorithm.minimisation else SADDLE_BASE

    @cached_property
    def phases(self) -> Array:
        """A row for each phase, (phases, len(FIELDS))."""
        rows = table(self.algorithm.schedule(self.problem, self.sizes, self.L))
        return rows if self.private else without_noise(rows)


def phase(records: tuple[int, int], **values: float) -> Phase:
    """Make a row with everything that is not named at 0."""
    return dict.fromkeys(FIELDS, 0.0) | {"first": records[0], "last": records[1]} | values


def table(phases: list[Phase]) -> Array:
    """Return the rows as an array."""
    return np.array([[float(each[name]) for name in FIELDS] for each in phases])


def without_noise(phases: Array) -> Array:
    """Return a copy of the rows in which nothing is added to what is released."""
    quiet: Array = phases.copy()
    quiet[:, [FIELDS.index("sigma_w"), FIELDS.index("sigma_v")]] = 0.0
    return quiet


def blocks(n: int) -> list[tuple[int, int]]:
    """Return K = floor(log2 n) blocks of floor(n/K) records."""
    K = n.bit_length() - 1
    require(K >= 1, "n", "be at least 2", n)
    return [(k * (n // K), (k + 1) * (n // K)) for k in range(K)]


def radius_of(domain: Array, name: str) -> float:
    """Return the radius of the least ball about 0 that holds a domain; an error where there is no bound."""
    squares = [radius**2 * (1 if kind == BALL else stop - start) for start, stop, kind, radius in domain.tolist()]
    bounded = len(squares) > 0 and math.isfinite(sum(squares))
    require(bounded, "problem", f"bound {name}", "one that leaves it free")
    return math.sqrt(sum(squares))


def gaussian_factor(share: float, delta: float, epsilon: float) -> float:
    """Return sqrt(2 log(share/delta))/epsilon, the noise multiplier that the paper's proofs take."""
    require_positive(epsilon, "epsilon")
    return math.sqrt(2 * math.log(share / delta)) / epsilon


def require_convex(problem: Problem) -> None:
    """Require f to be convex-concave: where it is not, one record moves a minimiser from well to well."""
    require(problem.convexity >= 0, "problem", "be convex in w", problem.name)
    require(problem.dim_v == 0 or problem.concavity >= 0, "problem", "be concave in v", problem.name)


def require_modulus(value: float, name: str, problem: Problem) -> None:
    """Require strong convexity or concavity."""
    require(value > 0, "problem", f"be strongly {name}", problem.name)
