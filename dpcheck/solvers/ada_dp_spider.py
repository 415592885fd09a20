"""Ada-DP-SPIDER: the SPIDER estimator refreshed by drift, and an escape from saddles by its own noise.

Tao, Zhang, Yu, Cheng, Dressler, Wang: "Second-Order Convergence in Private Stochastic Non-Convex
Optimization", 2025, Algorithms 1 (Gauss-PSGD) and 2; a baseline of Xu et al. 2026, Section 5.

Neighbours replace one record, log is natural. Reconstructed: the estimate is made anew when the sum of
|w_i - w_{i-1}|^2 since the last time reaches kappa; a step is w - eta times the estimate. Where its norm is at
most 3 chi, up to Q rounds of Gamma steps start from that point; one that gets R away has escaped and descent
goes on from there, and if none does the point is returned, certified. What is set here:

- chi = psi, psi^2 = d (sigma1^2 + sigma2^2 kappa) + L0^2 (1/b1 - 1/n) + Ls^2 kappa (1/b2 - 1/n): what noise and
  sampling bring to an estimate of drift kappa; the paper's logarithmic factors of chi are left out, as they
  exceed the range of the gradient at any ordinary n; alpha = 4 chi as in the paper;
- kappa = (sigma1/sigma2)^2: the differences bring as much noise as a refresh;
- Gamma = iota/(eta sqrt(rho alpha)), iota = log(d T/omega), R = sqrt(alpha/rho), Q = (26/5) log(1/omega), of
  the paper's orders, whose constants it leaves open;
- minibatches are drawn anew from all records and the noise is the accountant's, in the proportion of DP-SPIDER;
  the paper's schedule for population risk spends every record once.

How often the drift reaches kappa depends on the data, so ``refreshes`` bounds it, and with it the privacy:
where one more is asked for the run ends uncertified.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Event
from dpcheck.kernels.jit import RUN_SIGNATURE, kernel
from dpcheck.kernels.named import Bounds, Numbers, named
from dpcheck.kernels.parts import copy, norm, project
from dpcheck.kernels.spider import distance, estimate, scratch
from dpcheck.kernels.tape import CERTIFIED, OUTCOME, UNCERTIFIED, mark
from dpcheck.problems.problem import Problem
from dpcheck.solvers.dp_spider import Plan, fits, spider_events
from dpcheck.solvers.solver import Sizes, Solver, fill, pack, require_share


class Reals(NamedTuple):
    """Step size, drift, noise level, distance of the escape, clipping norms and noise."""

    eta: float
    kappa: float
    chi: float
    R: float
    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float


class Counts(NamedTuple):
    """T, the minibatches, refreshes at most, steps and rounds of the escape."""

    steps: int
    b1: int
    b2: int
    refreshes: int
    Gamma: int
    Q: int


@kernel(RUN_SIGNATURE)
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 1 with Algorithm 2 as its oracle; ``out`` receives the certified point, or the last."""
    reals, counts, data = named(Reals, numbers.reals), named(Counts, numbers.counts), objective.data
    bounds = Bounds(reals.L0, reals.Ls, reals.sigma_1, reals.sigma_2)
    w, anchor = data.start.copy(), data.start.copy()
    room = scratch(data.records.shape[0], counts.b1, counts.b2, w)
    v, old = room.v, room.old
    drift, made, escaping, rounds, inside = 0.0, 0, False, 0, 0
    tape.cursor[OUTCOME] = UNCERTIFIED
    for t in range(counts.steps):
        if mark(t, w, tape):
            return
        drift += distance(w, old) ** 2  # Algorithm 2, step 3
        refresh = t == 0 or drift >= reals.kappa
        if refresh:
            if made == counts.refreshes:
                break
            made += 1
            drift = 0.0
        estimate(refresh, objective, w, bounds, room, rng, tape)
        copy(w, old)
        if not escaping and norm(v) <= 3 * reals.chi:  # Algorithm 1, step 6
            copy(w, anchor)
            escaping, rounds, inside = True, 0, 0
        for i in range(w.size):
            w[i] -= reals.eta * v[i]
        project(w, data.domain_w)
        if escaping:
            inside += 1
            if distance(w, anchor) >= reals.R:  # step 12
                escaping = False
            elif inside == counts.Gamma:
                rounds += 1
                inside = 0
                copy(anchor, w)
                if rounds == counts.Q:
                    tape.cursor[OUTCOME] = CERTIFIED
                    break
    copy(w, out)


@dataclass(frozen=True, eq=False)
class AdaDPSpider(Solver):
    """Ada-DP-SPIDER, Algorithms 1 and 2 of Tao et al. 2025; :meth:`configure` fills it as the file's head says.

    Parameters
    ----------
    steps : int
        Iterations T at most.
    b1, b2 : int
        Minibatches of a refresh and of a difference.
    refreshes : int
        Refreshes at most.
    eta : float
        Step size.
    kappa : float
        The drift that calls for a refresh.
    chi : float
        Noise level; the accuracy alpha is 4 chi.
    R, Gamma, Q : float, int, int
        Distance, steps and rounds of the escape.
    L0, Ls : float
        Clipping norms (l2) of a gradient, and of a difference for each unit of distance.
    sigma_1, sigma_2 : float
        Noise over the clipping norm on either.
    notes : tuple of str
        What a run should say about the configuration.
    """

    steps: int
    b1: int
    b2: int
    refreshes: int
    eta: float
    kappa: float
    chi: float
    R: float
    Gamma: int
    Q: int
    L0: float
    Ls: float
    sigma_1: float
    sigma_2: float
    notes: tuple[str, ...] = ()

    name = "ada_dp_spider"
    paper = "xu2026"
    source = "Tao et al. 2025, Algorithms 1 and 2; Xu et al. 2026, Section 5"
    reconstructed = "the constants of drift and escape, the bound on refreshes, the minibatches and the noise"
    variants = ("repaired",)
    example = "double_well"
    tiny: ClassVar[dict[str, Any]] = {"steps": 8, "b1": 20, "b2": 5, "Gamma": 2, "Q": 2}
    kernel = staticmethod(run)

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        steps: int | None = None, b1: int | None = None, b2: int | None = None, refreshes: int | None = None,
        eta: float | None = None, kappa: float | None = None, chi: float | None = None, R: float | None = None,
        Gamma: int | None = None, Q: int | None = None, L0: float | None = None, Ls: float | None = None,
        rho: float | None = None, F0: float = 1.0, failure: float = 0.1, private: bool = True,
    ) -> Self:  # fmt: skip
        """Set up Ada-DP-SPIDER with the sizes of DP-SPIDER, save what is given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records and no v; neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired"}
            The one variant that there is.
        steps : int, optional
            Iterations T at most, as :meth:`Plan.of` has them.
        b1, b2 : int, optional
            Minibatches of a refresh and of a difference, at most n; n and max{n/sqrt T, 1/(T a^2)} by default.
        refreshes : int, optional
            Refreshes at most, which bounds the privacy; T/q by default, or what :meth:`Plan.drifts` asks for.
        eta : float, optional
            Step size > 0; 1/(2 Ls) by default.
        kappa : float, optional
            The drift that calls for a refresh, > 0.
        chi : float, optional
            Noise level > 0, which stays where ``private`` is False; the accuracy alpha is 4 chi.
        R, Gamma, Q : float, int and int, optional
            Distance > 0, steps and rounds of the escape.
        L0, Ls : float, optional
            Clipping norms (l2) of a gradient, and of a difference for each unit of distance; the problem's by default.
        rho : float, optional
            Lipschitz constant of the Hessian; the problem's by default.
        F0 : float
            Bound on F(w_0) - min F, > 0.
        failure : float
            omega of the paper, a probability in (0, 1).
        private : bool
            False switches the noise off, for a baseline without privacy.

        Returns
        -------
        AdaDPSpider
            The configuration.

        Raises
        ------
        InputError
            For values outside their domain, and for a problem that the algorithm is not made for.

        References
        ----------
        Y. Tao et al. Second-order convergence in private stochastic non-convex optimization. 2025, Algorithms 1 and 2.

        D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
        2026, Section 5.
        """
        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        plan = Plan.of(problem, sizes, F0, steps, None, b1, b2, eta, L0, Ls)
        refreshes = plan.drifts(F0) if refreshes is None else refreshes
        require_count(refreshes, "refreshes")
        sigma_1, sigma_2 = plan.calibrated(min(refreshes, plan.steps), plan.steps - 1)
        kappa = drift_allowed(plan, sigma_1, sigma_2) if kappa is None else kappa
        require_positive(kappa, "kappa")
        require_share(failure, "failure")
        chi = noise_level(plan, sigma_1, sigma_2, kappa) if chi is None else chi
        require_positive(chi, "chi")
        rho = hessian_lipschitz(problem, rho)
        R = math.sqrt(4 * chi / rho) if R is None else R
        require_positive(R, "R")
        Gamma = escape_steps(plan, 4 * chi, rho, failure) if Gamma is None else Gamma
        Q = math.ceil(26 / 5 * math.log(1 / failure)) if Q is None else Q
        for name, count in (("Gamma", Gamma), ("Q", Q)):
            require_count(count, name)
        if not private:
            sigma_1 = sigma_2 = 0.0
        notes = (*plan.clipped(problem), *beyond(plan, 4 * chi, rho))
        if Gamma * Q >= plan.steps:
            notes = (*notes, f"an escape takes {Gamma * Q} steps and there are {plan.steps}: nothing can be certified")
        return cls(
            plan.steps, plan.b1, plan.b2, refreshes, plan.eta, kappa, chi, R, Gamma, Q, plan.L0, plan.Ls, sigma_1,
            sigma_2, notes,
        )  # fmt: skip

    def setting(self, option: str, problem: Problem) -> Any:
        """Return the problem's rho where none is given."""
        return problem.hessian_lipschitz if option == "rho" else super().setting(option, problem)

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """The most refreshes that may happen, and a difference at every step but the first."""
        iterations = self.steps if iterations is None else iterations
        return spider_events(
            self.sigma_1, self.sigma_2, len(problem.records), self.b1, self.b2,
            min(self.refreshes, iterations), max(iterations - 1, 0),
        )  # fmt: skip

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`run` reads."""
        fits(problem, self.b1, self.b2)
        return pack(fill(Reals, self), fill(Counts, self))


def hessian_lipschitz(problem: Problem, given: float | None) -> float:
    """Return rho as given, or the problem's; an error where it has none."""
    if given is not None:
        require_positive(given, "rho")
        return given
    rho = problem.hessian_lipschitz
    require(0 < rho < math.inf, "problem", "have a Lipschitz Hessian that is not constant", problem.name)
    return rho


def drift_allowed(plan: Plan, sigma_1: float, sigma_2: float) -> float:
    """Return kappa, at which the noise of the differences, Ls^2 sigma_2^2 kappa, equals that of a refresh."""
    require(plan.Ls < math.inf, "kappa", "be given where there is no finite Ls", None)
    return (plan.L0 * sigma_1 / (plan.Ls * sigma_2)) ** 2


def noise_level(plan: Plan, sigma_1: float, sigma_2: float, kappa: float) -> float:
    """Return chi of the file's head."""
    require(plan.Ls < math.inf, "chi", "be given where there is no finite Ls", None)
    d, n = plan.sizes.d, plan.sizes.n
    noise = d * ((plan.L0 * sigma_1) ** 2 + (plan.Ls * sigma_2) ** 2 * kappa)
    sampling = plan.L0**2 * (1 / plan.b1 - 1 / n) + plan.Ls**2 * kappa * (1 / plan.b2 - 1 / n)
    return math.sqrt(noise + sampling)


def escape_steps(plan: Plan, alpha: float, rho: float, failure: float) -> int:
    """Return Gamma of the file's head: by then a direction of curvature -sqrt(rho alpha) has grown e^iota times."""
    iota = math.log(plan.sizes.d * plan.steps / failure)
    return max(1, math.ceil(iota / (plan.eta * math.sqrt(rho * alpha))))


def beyond(plan: Plan, alpha: float, rho: float) -> tuple[str, ...]:
    """Say what makes a certificate empty."""
    found = {
        f"alpha = {alpha:.4g} is no smaller than L0 = {plan.L0:.4g}: every point is stationary to it":
            alpha >= plan.L0,
        f"sqrt(rho alpha) = {math.sqrt(rho * alpha):.4g} is no smaller than Ls = {plan.Ls:.4g}: no curvature is ruled "
        "out": math.sqrt(rho * alpha) >= plan.Ls,
    }  # fmt: skip
    return tuple(sentence for sentence, is_true in found.items() if is_true)
