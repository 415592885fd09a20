"""Non-private solvers for finite sums that output perturbation plugs in, found by name.

Zhang, Thekumparampil, Oh, He, "Bring your own algorithm for optimal differentially private stochastic
minimax optimization", 2022, names them with their costs (Section 3 and Appendix B, Table 2). Every one stops
by the deterministic certificate of :mod:`dpcheck.catalogue.bases.saddle`, never by a number of iterations.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import require, require_count, require_positive

if TYPE_CHECKING:
    from dpcheck.algorithms.problem import Array, Problem


@dataclass(frozen=True)
class Term:
    """A term of a cost, n^n kappa^kappa kappa_w^kappa_w kappa_v^kappa_v, with kappa the larger of l/mu_w and l/mu_v."""

    n: float = 0.0
    kappa: float = 0.0
    kappa_w: float = 0.0
    kappa_v: float = 0.0


@dataclass(frozen=True)
class Base:
    """A base solver that output perturbation can plug in, with the number of gradients that is stated of it."""

    name: str  # and that of its kernel, of the type ``base`` of ``dpcheck.algorithms.kernels.jit``
    module: str  # of this folder, with its source and its proof
    setting: Literal["minimisation", "saddle"]
    cost: tuple[Term, ...]  # a sum, times log(1/accuracy) and further logarithms
    title: str
    reconstructed: bool = False  # whether no paper at hand prints it in full
    draws: bool = True  # whether it draws records at random

    def work(self, n: float, kappa_w: float, kappa_v: float = 1.0) -> float:
        """Return the stated cost without its logarithms."""
        larger = max(kappa_w, kappa_v)
        return math.fsum(
            n**term.n * larger**term.kappa * kappa_w**term.kappa_w * kappa_v**term.kappa_v for term in self.cost
        )


_LINEAR, _ROOT = Term(n=1), Term(n=0.5, kappa=1)
_CATALYST = (_LINEAR, Term(n=0.5, kappa_w=0.5, kappa_v=0.5), Term(n=0.75, kappa=0.5))
_TIMES = "gradients times log(1/accuracy)"
_MINIMA, _SADDLES = f"{_TIMES}; minimisation", f"{_TIMES}; saddle points"
_PALANIAPPAN_BACH = f"SVRG and SAGA for saddle points: n + kappa^2 {_TIMES}"
_LIN_CATALYST = f"n + sqrt(n kappa_w kappa_v) + n^(3/4) sqrt(kappa) {_SADDLES}"

BASES = {
    base.name: base
    for base in (
        Base("gradient_descent", "saddle", "minimisation", (Term(n=1, kappa=1),),
             f"Gradient descent: n kappa {_MINIMA}", draws=False),
        Base("svrg", "variance_reduced", "minimisation", (_LINEAR, Term(kappa=1)), f"SVRG: n + kappa {_MINIMA}"),
        Base("sarah", "variance_reduced", "minimisation", (_LINEAR, Term(kappa=1)), f"SARAH: n + kappa {_MINIMA}"),
        Base("katyusha", "variance_reduced", "minimisation", (_LINEAR, Term(n=0.5, kappa=0.5)),
             f"Katyusha: n + sqrt(n kappa) {_MINIMA}"),
        Base("gda", "saddle", "saddle", (Term(n=1, kappa=2),),
             f"Gradient descent ascent: n kappa^2 {_SADDLES}", draws=False),
        Base("extragradient", "saddle", "saddle", (Term(n=1, kappa=1),),
             f"Extragradient: n kappa {_SADDLES}", draws=False),
        Base("saddle_svrg", "saddle_methods", "saddle", (_LINEAR, Term(kappa=2)), _PALANIAPPAN_BACH),
        Base("saddle_saga", "saddle_methods", "saddle", (_LINEAR, Term(kappa=2)), _PALANIAPPAN_BACH),
        Base("accelerated_svrg", "saddle_methods", "saddle", (_LINEAR, _ROOT),
             f"Accelerated SVRG for saddle points: n + sqrt(n) kappa {_TIMES}"),
        Base("jin_sidford_tian", "saddle_methods", "saddle", (_LINEAR, _ROOT),
             f"Jin-Sidford-Tian: n + sqrt(n) (l/mu_w + l/sqrt(mu_w mu_v) + l/mu_v) {_SADDLES}", reconstructed=True),
        Base("al_svre", "saddle_methods", "saddle", _CATALYST, f"AL-SVRE: {_LIN_CATALYST}", reconstructed=True),
        Base("catalyst_svrg", "saddle_methods", "saddle", _CATALYST, f"Catalyst-Acc-SVRG: {_LIN_CATALYST}",
             reconstructed=True),
    )
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a base solver.

    Attributes
    ----------
    x, y : ndarray, (d_w,) and (d_v,)
        The point (w, v).
    energy : float
        It lies within this of the solution, as :func:`optimum` measures it.
    gradients : int
        Gradients of one record that it took.
    reached : bool
        Whether the certificate was reached.
    message : str
        What to do where it was not.
    """

    x: Array
    y: Array
    energy: float
    gradients: int
    reached: bool
    message: str = ""


def base_kernel(name: str) -> Callable[..., Any]:
    """Return the compiled base solver of this name."""
    require_base(name, minimisation=True)
    module = importlib.import_module(f"dpcheck.catalogue.bases.{BASES[name].module}")
    compiled: Callable[..., Any] = getattr(module, name)
    return compiled


def require_base(name: str, *, minimisation: bool) -> None:
    """Require a known base solver, for saddle points unless ``minimisation``, which has no v."""
    known = [base.name for base in BASES.values() if minimisation or base.setting == "saddle"]
    require(name in known, "base", f"be one of {', '.join(known)}", name)


def optimum(
    name: str, problem: Problem | str, *, energy: float, regulariser: float | tuple[float, float] = 0.0,
    centre: Array | None = None, start: Array | None = None, seed: int = 0, most: int = 10**8,
) -> Solution:  # fmt: skip
    """Compute the saddle point, or the minimum where there is no v; not private.

    It is that of mean f(w, v) + r_w/2 |w - c_w|^2 - r_v/2 |v - c_v|^2 over the domains.

    Parameters
    ----------
    name : str
        A base solver, a key of ``BASES``.
    problem : Problem or str
        The objective with its records, or the name of an example.
    energy : float
        mu_w |w - w*|^2 + mu_v |v - v*|^2 is certified to be this or less, > 0, with mu_w and mu_v the problem's strong
        convexity and concavity, regularisers included.
    regulariser : float or tuple of float
        (r_w, r_v), or one number for both, >= 0.
    centre, start : array_like, (d_w + d_v,), optional
        (c_w, c_v), and where the solver begins; the problem's start by default.
    seed : int
        Seed of the sampled records.
    most : int
        Gradients of one record that may be evaluated at most.

    Returns
    -------
    Solution
        The point, its certificate and its cost.

    Raises
    ------
    InputError
        For unknown names, values outside their domain, and problems that are not smooth or not strongly convex-concave
        with their regulariser.

    References
    ----------
    L. Zhang et al. Bring your own algorithm for optimal differentially private stochastic minimax optimization. NeurIPS
    2022, Section 3 and Table 2.
    """
    from dpcheck.algorithms.problem import data_of

    if isinstance(problem, str):
        from dpcheck.problems import example

        problem = example(problem, seed=seed)
    require(hasattr(problem, "records"), "problem", "be a problem or the name of one", problem)
    require_base(name, minimisation=problem.dim_v == 0)
    require_positive(energy, "energy")
    require_count(most, "most")
    require_count(seed, "seed", least=0)
    constants = np.array([*_moduli(problem, regulariser), energy, most], dtype=float)
    around = _point(problem, centre, "centre")
    z = _point(problem, start, "start")
    data = data_of(problem, start=np.zeros(z.size))
    index: NDArray[np.int64] = np.arange(len(problem.records))
    count = base_kernel(name)(problem.gradient, data, index, constants, around, np.random.default_rng(seed), z)
    message = ""
    if count < 0:
        message = f"{name} did not certify energy {energy:g} with {most} gradients: raise most, energy or regulariser"
    made = abs(count) if most >= index.size else 0  # a failure is negative even where nothing was evaluated
    return Solution(z[: problem.dim_w], z[problem.dim_w :], energy, made, count > 0, message)


def _moduli(problem: Problem, regulariser: float | tuple[float, float]) -> tuple[float, float, float, float, float]:
    """Return (l, mu_w, mu_v, r_w, r_v), checked."""
    given = np.asarray(regulariser, dtype=float)
    good = given.shape in ((), (2,)) and bool(np.isfinite(given).all()) and bool((given >= 0).all())
    require(good, "regulariser", "be one or two finite numbers >= 0", regulariser)
    r_w, r_v = (float(r) for r in np.broadcast_to(given, 2))
    smooth = math.isfinite(problem.smoothness)
    require(smooth, "problem", "be smooth", f"{problem.name} with smoothness {problem.smoothness}")
    mu_w, mu_v = problem.convexity + r_w, problem.concavity + r_v
    require(mu_w > 0, "regulariser", f"make {problem.name} strongly convex in w", regulariser)
    require(mu_v > 0 or not problem.dim_v, "regulariser", f"make {problem.name} strongly concave in v", regulariser)
    return problem.smoothness, mu_w, mu_v, r_w, r_v


def _point(problem: Problem, value: Array | None, name: str) -> Array:
    """Return a copy of ``value`` as (w, v), or of the problem's start."""
    point = np.array(problem.start if value is None else value, dtype=float)
    size = problem.dim_w + problem.dim_v
    require(point.shape == (size,), name, f"have shape ({size},), w and v in one", point.shape)
    require(bool(np.isfinite(point).all()), name, "be finite", point)
    return point
