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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpcheck.algorithms.kernels.jit import Numbers
from dpcheck.algorithms.layout import Release
from dpcheck.algorithms.problem import Problem
from dpcheck.algorithms.promises import Promise, breaches
from dpcheck.algorithms.run import History, fill, pack
from dpcheck.algorithms.schedule import modulus
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.xu2026 import rgda as kernels
from dpcheck.catalogue.xu2026.dp_rgda_schedule import SCHEDULES, releases
from dpcheck.catalogue.xu2026.dp_rgda_schedule import refreshes as refreshes_of
from dpcheck.errors import require
from dpcheck.events import Disjoint, Event, Gaussian, Repeated, Sampled

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


def ascents(solver: Any, problem: Problem, history: History) -> tuple[Release, ...]:
    """Return both blocks on each minibatch, of which a step of the descent takes several."""
    rows = range(len(history.clean))
    return tuple(Release(row, "wv"[row % 2], f"on minibatch {row // 2 + 1}", row // 2) for row in rows)


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
    small_runs: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "repaired.theorem_2": (
            "repaired", {"theorem": "2", "alpha": 0.9, "steps": 8, "period": 4, "K": 3, "escapes": 1, "t_thres": 3},
        ),
    }  # fmt: skip
    small_problem = "tanh_auc"
    layout = ascents
    kernel = staticmethod(kernels.rgda)
    theorems = ("1", "2")
    schedules = SCHEDULES

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """Return refreshes and differences, of v and u on the same minibatch; the most that may happen."""
        iterations = self.steps if iterations is None else iterations
        refreshes = refreshes_of(iterations, self.period, self.escapes if self.repaired else 0)
        half = math.sqrt(2) / 2  # of the joint multiplier of a pair
        z_v, z_u = half * self.sigma_v * self.S1 / (2 * self.C_v), half * self.sigma_u * self.S2 / (2 * self.C_u)
        if not self.once:
            return releases(z_v, z_u, len(problem.records), self.S1, self.S2, refreshes, iterations * self.K)
        if iterations == 0:
            return ()
        sums = kernels.levels(min(iterations, self.period) * self.K - 1)  # that a difference is in
        return (Disjoint((Gaussian(z_v), Gaussian(z_u / math.sqrt(sums)))),)

    def rows(self, problem: Problem) -> tuple[int, int, int]:
        """Count two releases a minibatch, whatever is known of the records in them."""
        count = refreshes_of(self.steps, self.period, self.escapes if self.repaired else 0) + self.steps * self.K
        return 2 * count, count, max(self.S1, self.S2)

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`~dpcheck.catalogue.xu2026.rgda.rgda` reads."""
        n = len(problem.records)
        require(self.K >= 2 or not self.repaired, "K", "be at least 2", self.K)
        require(self.repaired or not self.once, "once", "be False as printed", self.once)
        refreshes = refreshes_of(self.steps, self.period, self.escapes)
        differences = self.steps * self.K - math.ceil(self.steps / self.period)
        least = refreshes * self.S1 + differences * self.S2 if self.once else max(self.S1, self.S2)
        require(n >= least, "problem", f"have at least {least} records", n)
        return pack(fill(kernels.Reals, self), fill(kernels.Counts, self))

    def promises(self, problem: Problem, schedule: Any) -> Iterator[Promise]:
        """Answer for Theorem 1 (empirical risk) or Theorem 2 (population risk)."""
        theorem, failure = str(schedule.theorem), schedule.failure
        L, rho = problem.smoothness, problem.hessian_lipschitz
        values = schedule.letters | {
            "L": L, "delta_1": failure, "delta_2": failure, "T": self.steps, "q": self.period, "S_2": self.S2,
        }  # fmt: skip
        options = [name for name in ("eta_H", "r", "t_thres", "D_bar", "C") if name in schedule.given]
        broken = breaches(problem, C_v=(self.C_v, max(problem.lipschitz_w, problem.lipschitz_v)))
        conditions = {
            "A1": broken["Lipschitz"],
            "A2": broken["smooth"],
            "A3": "the primal function has no Lipschitz Hessian" if math.isinf(rho) else "",
            "A4": broken["strongly concave"],
            "start": broken["start"],
            "F_0": broken["V"],
            "escape": f"{' and '.join(options)} {'are' if len(options) > 1 else 'is'} given" if options else "",
        }
        if theorem == "2":
            values |= {"mu": modulus(problem)}
            conditions["noise"] = "" if schedule.repaired else "it is that of Algorithm 3"
        yield Promise(f"xu2026.theorem_{theorem}", f"Theorem {theorem}", values, conditions)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games of the empirical and the population risk, repaired, and one as printed.

        Repaired, differences are clipped to a fixed norm, hence the curvatures; the first of a run is always 0, which
        many steps of the ascent make a small part of what the certificate counts.

        Under Theorem 2 a record is in one minibatch. Which one is given away, as the certificate does not rest on it:
        the canary is in a refresh or in a difference that two nodes of the tree hold in half of the runs, else in one
        node.

        As printed all records are read, and the mean, which is clipped as one, flips sign when the canary is replaced.
        """
        from dpcheck.checks.games import BATCH, BOTH, FAR, RADIUS, RECORDS, WHOLE, blank, entry, record

        k = 1e4
        far = record(b=4 * k * RADIUS, c=4 * k * RADIUS, p=k, q=k, a=k)
        problem = blank(**FAR)
        settings: dict[str, Any] = {
            "steps": 4, "period": 2, "alpha": 1e-9, "C_v": 1.0, "C_u": 1.0, "eta": 0.1, "eta_H": 0.1, "lam": 0.01,
            "r": 1.0, "t_thres": 9, "D_bar": 1.0,
        }  # fmt: skip
        yield entry(
            cls.name, "repaired", problem, (far, -far, -far), BOTH,
            settings | {"S1": BATCH, "S2": BATCH, "K": 10, "escapes": 0},
            remark="the first difference is between a point and itself", still=4,
        )  # fmt: skip
        one_each = {"theorem": "2", "steps": 2, "period": 1, "S1": 2, "S2": 2, "K": 4, "escapes": 0}
        yield entry(
            cls.name, "repaired", blank(16, concavity=1.0, **FAR), (far, -far, -far), WHOLE, settings | one_each,
            label="repaired.theorem_2", words="repaired, Theorem 2",
            remark="a record is in one minibatch, and half of those are in fewer nodes than the certificate counts",
        )  # fmt: skip

        def clipped_means(solver: DPRGDA) -> tuple[Event, ...]:
            """Return the true events as printed: the clipped mean of a minibatch moves by 2C, whatever its size."""

            def pair(sigma: float, C: float, batch: int, count: int) -> Event:
                both = (Gaussian(sigma / (2 * C)),) * 2
                return Repeated(Sampled(both, "without_replacement", RECORDS, batch), count)

            return (
                pair(solver.sigma_v, solver.C_v, solver.S1, math.ceil(solver.steps / solver.period)),
                pair(solver.sigma_u, solver.C_u, solver.S2, solver.steps * solver.K),
            )

        yield entry(
            cls.name, "as_printed", problem, (far, -far, 0 * far), WHOLE,
            settings | {"S1": RECORDS, "S2": RECORDS, "K": 1}, events=clipped_means,
        )  # fmt: skip
