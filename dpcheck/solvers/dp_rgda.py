"""DP-RGDA: recursive gradients and an inner ascent, with an escape from strict saddles of the primal function.

Xu et al.: "Finding Differentially Private Second Order Stationary Points in Stochastic Minimax Optimization",
2026, Algorithms 2 and 3, Lemmas 5 to 8, Theorems 1 (empirical risk, alpha = a^{2/3}) and 2 (population risk,
alpha = n^{-1/3} + a^{1/2}).

Neighbours replace one record, log is natural, a = sqrt(d log(1/delta))/(n epsilon).

=============  ==========================================  ============================================
               as_printed                                  repaired
=============  ==========================================  ============================================
clipping       of the minibatch mean, which moves by 2C    per record: the mean moves by 2C/S
K, s_t         K = 1, argmin over k in {0}: y never moves  K of order kappa, argmin over k >= 1
difference     x_{t,-1} = x_{t-1} also at a refresh        x_{t,-1} = x_t at a refresh
refresh        every q iterations                          also after a perturbation
steps          eta = 1/(2L); T, q, S2 as Lemma 5 states    eta = alpha/(2L); T, q, S2 as its proof has them
R              1/(2 L_Phi eta_H)                           L_Phi eta_H alpha_H/(C rho_Phi)
t_thres        2 log(X)/eta_H                              2 log(X)/(eta_H alpha_H)
noise          constant 1, without K                       the same proportion with K; constant from the accountant
Theorem 2      every minibatch from all records; sizes     each record in one minibatch; differences with
               of Lemma 8's proof, constants 1             noise along a tree; sizes of claim 002:Thm2
end            the last anchor, certified or not           the last iterate, reported as uncertified
=============  ==========================================  ============================================

Here X = L_Phi eta_H alpha_H/(C rho_Phi r_0), r_0 = delta_2 r/sqrt d, alpha_H = sqrt(rho_Phi alpha) and
D_bar = R^2/t_thres^2; C is "O~(1)", 4 here, r half of the most that is allowed, and C_u as printed the length L eta by
which the proof has a difference bounded. eta_H = 1/L_Phi: the two bounds that Lemma 7 prints for it contradict each
other (claim 002:Lem7 eta_H chain). These escapes find second-order points in practice; that an unbroken one certifies
its anchor is proved for larger C and t_thres, smaller D_bar and better estimates only (claims 002:t_thres,
002:(14)-(16), 002:(25) nu), and a run notes by how much it falls short of that.

The tree's sums follow the points at which gradients were taken, without gaps: under Theorem 2 a difference starts
from the last of them, not from the one that the updater chose, and there is none at a refresh. Half of the records
are for refreshes, half for differences.

The repaired variant bounds its refreshes, and with them its privacy: after ``escapes`` perturbations the
next anchor ends the run uncertified. T/q of them is the default, one where q > T, though tens are needed to walk from
a saddle to where the gradient reaches alpha: a note says when they are too few. In both variants x is projected onto
its domain (the paper's is R^d) and y is returned with x. As printed the run returns x_{m_s}, its last anchor, which no
line defines before the first one: it is the start then. ``history.returned`` is the iteration whose x is returned, 0
for the start, which a note says too.
A problem without a constant that the schedule needs runs where every number is given that the constant decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcheck.accounting import calibrate
from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Disjoint, Event, Gaussian, Repeated, Sampled
from dpcheck.kernels import rgda as kernels
from dpcheck.kernels import tree
from dpcheck.kernels.named import Numbers
from dpcheck.problems.problem import Problem
from dpcheck.solvers.escape import escape, outside, unproved
from dpcheck.solvers.schedules_xu2026 import SCHEDULES
from dpcheck.solvers.solver import (
    Sizes,
    Solver,
    fill,
    modulus,
    noise_share,
    pack,
    private_modulus,
    require_norm,
    require_share,
)


@dataclass(frozen=True, eq=False)
class DPRGDA(Solver):
    """DP-RGDA, Algorithms 2 and 3 of Xu et al. 2026; :meth:`configure` takes its numbers from Theorem 1 or 2.

    Parameters
    ----------
    steps, period : int
        T iterations, and q of them between refreshes.
    S1, S2 : int
        Minibatches of a refresh and of a difference.
    K : int
        Steps of an inner ascent.
    alpha : float
        Accuracy of the second-order point.
    eta, eta_H, lam : float
        Step sizes of descent, of the escape and of ascent.
    r, t_thres, D_bar : float, int, float
        Size of the perturbation, steps and mean square move of the escape.
    C_v, C_u : float
        Clipping norms (l2) of a gradient and of a difference.
    sigma_v, sigma_u : float
        Standard deviations of the noise on them.
    escapes : int
        Perturbations at most, in the repaired variant.
    repaired : bool
        Whether this is the repaired variant.
    once : bool
        Whether each record is in one minibatch and the noise of differences lies along a tree (Theorem 2, repaired).
    notes : tuple of str
        What a run should say about the configuration.
    """

    steps: int
    period: int
    S1: int
    S2: int
    K: int
    alpha: float
    eta: float
    eta_H: float
    lam: float
    r: float
    t_thres: int
    D_bar: float
    C_v: float
    C_u: float
    sigma_v: float
    sigma_u: float
    escapes: int
    repaired: bool = True
    once: bool = False
    notes: tuple[str, ...] = ()

    name = "dp_rgda"
    paper = "xu2026"
    source = "Algorithms 2 and 3, Lemmas 5 to 8, Theorems 1 and 2"
    example = "cosine"
    understated = (
        "the clipped mean of a minibatch moves by 2C where its records reach beyond C, not by 2C/S as the certificate "
        "takes it (claim 002:Alg3 Clip)"
    )
    tiny: ClassVar[dict[str, Any]] = {"steps": 8, "period": 4, "S2": 5, "S1": 20, "t_thres": 3}
    kernel = staticmethod(kernels.rgda)

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        alpha: float | None = None, steps: int | None = None, period: int | None = None, S1: int | None = None,
        S2: int | None = None, K: int | None = None, eta: float | None = None, eta_H: float | None = None,
        lam: float | None = None, r: float | None = None, t_thres: int | None = None, D_bar: float | None = None,
        C_v: float | None = None, C_u: float | None = None, F0: float = 1.0, C: float = 4.0,
        failure: float = 0.1, escapes: int | None = None, theorem: str = "1", private: bool = True,
    ) -> Self:  # fmt: skip
        """Set up DP-RGDA by Theorem 1 or 2, save what is given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records, strongly concave in v and smooth; neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired", "as_printed"}
            ``"as_printed"`` follows the paper as published, ``"repaired"`` mends what cannot stand there.
        alpha : float, optional
            Accuracy > 0; with a = sqrt(d log(1/delta))/(n epsilon), a^(2/3) for Theorem 1 and n^(-1/3) + a^(1/2) for
            Theorem 2.
        steps, period : int, optional
            T and q, as Lemma 5 or Lemma 8 has them.
        S1, S2 : int, optional
            Minibatches of a refresh and of a difference, at most n.
        K : int, optional
            Steps of an inner ascent; at least 2 in the repaired variant, of the order of kappa.
        eta, eta_H, lam : float, optional
            Step sizes > 0 of descent, of the escape (1/L_Phi) and of ascent (1/(6 L)).
        r : float, optional
            Size of the perturbation, > 0.
        t_thres : int, optional
            Steps of an escape.
        D_bar : float, optional
            Mean square move below which an escape has failed, > 0.
        C_v, C_u : float, optional
            Clipping norms (l2) of a gradient and of a difference, > 0.
        F0 : float
            Bound on Phi(x_0) - min Phi, > 0.
        C : float
            The escape's constant, > 0.
        failure : float
            delta_1 and delta_2 of the paper, probabilities of failure in (0, 1).
        escapes : int, optional
            Perturbations at most, >= 0, after which a repaired run ends uncertified.
        theorem : {"1", "2"}
            1 for the empirical risk, 2 for that of the population which the records are drawn from.
        private : bool
            False switches the noise off, for a baseline without privacy.

        Returns
        -------
        DPRGDA
            The configuration.

        Raises
        ------
        InputError
            For values outside their domain, and for a problem that the algorithm is not made for.

        References
        ----------
        D. Xu et al. Finding differentially private second order stationary points in stochastic minimax optimization.
        2026, Algorithms 2 and 3, Lemmas 5 to 8, Theorems 1 and 2.
        """
        theorem = str(theorem)  # a command line reads 1 as a number
        require(theorem in ("1", "2"), "theorem", "be 1 or 2", theorem)
        population = theorem == "2"
        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        n, a, L = sizes.n, sizes.privacy_error, problem.smoothness
        mu, rho = modulus(problem), problem.hessian_lipschitz
        escape_given = None not in (r, t_thres, D_bar)
        given = escape_given and not population and None not in (steps, K, eta, eta_H, lam, C_u)
        require(given or mu > 0, "problem", "be strongly concave in v", problem.name)
        require(given or math.isfinite(L), "problem", "be smooth", problem.name)
        require(
            escape_given or math.isfinite(rho),
            "problem",
            "have a primal function with a Lipschitz Hessian",
            problem.name,
        )
        require_positive(F0, "F0")
        require_positive(C, "C")
        for name, value in (
            ("alpha", alpha), ("eta", eta), ("eta_H", eta_H), ("lam", lam), ("r", r),
            ("D_bar", D_bar), ("C_v", C_v), ("C_u", C_u),
        ):  # fmt: skip
            if value is not None:
                require_positive(value, name)
        for name, count in (
            ("steps", steps), ("period", period), ("S1", S1), ("S2", S2), ("K", K), ("t_thres", t_thres),
        ):  # fmt: skip
            if count is not None:
                require_count(count, name)
        require_share(failure, "failure")
        repaired = variant == "repaired"
        once = population and repaired
        L_Phi = L * (1 + L / mu) if mu > 0 else math.inf
        plan = SCHEDULES[theorem, repaired](
            n, sizes.d, delta, a, L, mu, F0, failure, lambda needed: bounded(problem, needed)
        )
        alpha = plan.alpha() if alpha is None else alpha
        C_v = max(problem.lipschitz_w, problem.lipschitz_v) if C_v is None else C_v
        require_norm(C_v, "C_v", finite=True)
        eta = plan.eta(alpha) if eta is None else eta
        K = plan.K() if K is None else K
        steps = plan.steps(alpha, eta) if steps is None else steps
        period = max(1, plan.period(alpha, steps)) if period is None else period
        escapes = max(1, math.ceil(steps / period)) if escapes is None else escapes
        require_count(escapes, "escapes", least=0)
        refreshes = _refreshes(steps, period, escapes if repaired else 0)
        differences = steps * K - math.ceil(steps / period)  # at most, where those that are 0 are left out
        S1 = plan.S1(refreshes) if S1 is None else S1
        S2 = plan.S2(steps, differences) if S2 is None else S2
        if once:
            needed = S1 * refreshes + S2 * differences
            require(
                needed <= n, "problem", f"have {needed} records, of which {refreshes} refreshes and {differences} "
                "differences use each once; a larger alpha takes fewer", n,
            )  # fmt: skip
        C_u = plan.C_u(alpha, eta) if C_u is None else C_u
        eta_H = 1 / L_Phi if eta_H is None else eta_H
        lam = 1 / (6 * L) if lam is None else lam
        alpha_H, d = math.sqrt(max(rho, 1e-12) * alpha), problem.dim_w
        most = L_Phi * eta_H * alpha_H / (C * max(rho, 1e-12))
        if r is None or t_thres is None or D_bar is None:
            R, own = plan.R(most, L_Phi, eta_H), plan.perturbation()
            if own is not None:
                r, D_bar = own if r is None else r, own**2 if D_bar is None else D_bar
            r, t_thres, D_bar = escape(
                R, most, failure / math.sqrt(d), eta_H, alpha_H if repaired else 1.0, r, t_thres, D_bar
            )
        require(max(S1, S2) <= n, "S1 and S2", f"be at most the number of records, {n}", max(S1, S2))
        require(K >= 2 or not repaired, "K", "be at least 2", K)
        most_sums = tree.levels(min(steps, period) * K - 1) if once else 1
        sigma_v, sigma_u = 0.0, 0.0
        if private:
            sigma_v, sigma_u = _noise(sizes, repaired, once, steps, period, K, S1, S2, C_v, C_u, refreshes, most_sums)
        notes = (
            *private_modulus(problem),
            *outside(steps, t_thres, r, most, escapes if repaired else math.inf, alpha / alpha_H if rho > 0 else 0.0),
        )
        if population and not repaired:
            notes = (*notes, "Theorem 2 is false: Lemma 8's steps do not take x far enough (claim 002:Thm2)")
        if repaired and r < most < math.inf:
            X = most * math.sqrt(d) / (failure * r)
            noises = most_sums if once else min(steps, period) * K
            noise = math.sqrt(d * (sigma_v**2 + noises * sigma_u**2))
            notes = (
                *notes,
                *unproved(
                    X, C, L_Phi * eta_H, t_thres, eta_H * alpha_H, D_bar, most - r, noise, alpha_H * most / (4 * X)
                ),
            )
        return cls(
            steps, period, S1, S2, K, alpha, eta, eta_H, lam, r, t_thres, D_bar, C_v, C_u, sigma_v, sigma_u, escapes,
            repaired, once, notes if repaired else (*notes, cls.understated),
        )  # fmt: skip

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """Return refreshes and differences, of v and u on the same minibatch; the most that may happen."""
        iterations = self.steps if iterations is None else iterations
        refreshes = _refreshes(iterations, self.period, self.escapes if self.repaired else 0)
        half = math.sqrt(2) / 2  # of the joint multiplier of a pair
        z_v, z_u = half * self.sigma_v * self.S1 / (2 * self.C_v), half * self.sigma_u * self.S2 / (2 * self.C_u)
        if not self.once:
            return _events(z_v, z_u, len(problem.records), self.S1, self.S2, refreshes, iterations * self.K)
        if iterations == 0:
            return ()
        sums = tree.levels(min(iterations, self.period) * self.K - 1)  # that a record's difference is in
        return (Disjoint((Gaussian(z_v), Gaussian(z_u / math.sqrt(sums)))),)

    def rows(self, problem: Problem) -> tuple[int, int, int]:
        """Count two releases a minibatch, whatever is known of the records in them."""
        count = _refreshes(self.steps, self.period, self.escapes if self.repaired else 0) + self.steps * self.K
        return 2 * count, count, max(self.S1, self.S2)

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`~dpcheck.kernels.rgda.rgda` reads."""
        n = len(problem.records)
        require(self.K >= 2 or not self.repaired, "K", "be at least 2", self.K)
        require(self.repaired or not self.once, "once", "be False as printed", self.once)
        refreshes = _refreshes(self.steps, self.period, self.escapes)
        differences = self.steps * self.K - math.ceil(self.steps / self.period)
        least = refreshes * self.S1 + differences * self.S2 if self.once else max(self.S1, self.S2)
        require(n >= least, "problem", f"have at least {least} records", n)
        return pack(fill(kernels.Reals, self), fill(kernels.Counts, self))


def _noise(
    sizes: Sizes, repaired: bool, once: bool, steps: int, period: int, K: int, S1: int, S2: int, C_v: float, C_u: float,
    refreshes: int, most_sums: int,
) -> tuple[float, float]:  # fmt: skip
    """Return sigma_v and sigma_u: as published, or the least in that proportion that the accountant certifies."""
    n, epsilon, delta = sizes.n, sizes.epsilon, sizes.delta
    if once:
        z = calibrate(lambda z: (Gaussian(z),), epsilon=epsilon, delta=delta) * math.sqrt(2)
        sigma_v, sigma_u = z * 2 * C_v / S1, z * math.sqrt(most_sums) * 2 * C_u / S2
    elif repaired:
        share_v, share_u = noise_share(S1, n, refreshes), noise_share(S2, n, steps * K)

        def events(z: float) -> tuple[Event, ...]:
            return _events(z * share_v, z * share_u, n, S1, S2, refreshes, steps * K)

        z = calibrate(events, epsilon=epsilon, delta=delta) * math.sqrt(2)
        sigma_v, sigma_u = z * share_v * 2 * C_v / S1, z * share_u * 2 * C_u / S2
    else:  # Algorithm 3, lines 1 and 2
        factor = math.sqrt(math.log(1 / delta)) / epsilon
        sigma_v = C_v * factor * max(1 / S1, math.sqrt(steps / period) / n)
        sigma_u = C_u * factor * max(1 / S2, math.sqrt(steps) / n)
    return sigma_v, sigma_u


def bounded(problem: Problem, name: str) -> float:
    """Return M of Assumption 1 and Lemma 5, a bound on the gradients of f whatever they are clipped to.

    Assumption 1 bounds each coordinate; the norms of the two blocks bound every coordinate of theirs.
    """
    M = max(problem.lipschitz_w, problem.lipschitz_v)
    require(math.isfinite(M), name, "be given (Lemma 5 has it from M, and the problem has no such M)", None)
    return M


def _refreshes(iterations: int, period: int, escapes: int) -> int:
    """Count the refreshes at most: one an iteration; each period begins with one, and so does an escape."""
    return min(iterations, math.ceil(iterations / period) + escapes)


def _events(z_v: float, z_u: float, n: int, S1: int, S2: int, refreshes: int, differences: int) -> tuple[Event, ...]:
    """Return the events of refreshes and differences whose joint multipliers are z_v and z_u."""

    def pair(z: float, batch: int, count: int) -> Event:
        both = (Gaussian(z * math.sqrt(2)),) * 2
        return Repeated(Sampled(both, "without_replacement", n, batch), count)

    return pair(z_v, S1, refreshes), pair(z_u, S2, differences)
