"""PrivateDiff Minimax: clipped gradient differences between restarts, and a maximiser released each round.

Zhang, Lei, Wang, Zhang, Wang: "Improved Rates of Differentially Private Nonconvex-Strongly-Concave
Minimax Optimization", AAAI 2025, Algorithms 3 and 4, Theorems 5 and 6, Remark 2.

Neighbours replace one record, log is natural, a = sqrt(d log(1/delta))/(n epsilon).

=============  =======================================  =============================================
               as_printed                               repaired
=============  =======================================  =============================================
inner ascent   T2 minibatches of m; y_{r+1} is noised   T2 full passes with steps at most 1/l and
               after it was used, with the sensitivity  C0 >= G_y, so that it moves by 2 C0/(mu n);
               of Lemma 9                               released before it is used
difference     records z_r at (x_r, y_{r+1}) less       both gradients of the records z_r, at released
               records z_{r-1} at (x_{r-1}, y_r)        points
C3             (log(R log T2))/theta in its root        log(R log T2/theta), as the bound on the ascent has it
C of a         C2 |x_r - x_{r-1}| + C3                  the same, but at most 2 C1
difference
noise          Remark 2                                 in its proportion, the factor from the accountant
=============  =======================================  =============================================

The difference of two gradients of norm at most C1 has norm at most 2 C1: where C1 >= G_x, as Theorem 6 asks, a larger
threshold clips no difference and only adds noise. The noise of a round and its sensitivity 2 C/m are both in units of
the threshold C that clipped it, so that the cap leaves every noise multiplier, and the certificate, as they are.

The published sensitivities leave out that y_{r+1} itself depends on the record (claims 004:Lem8, 004:Lem9). Its x
roams R^d and its noised y is not projected; here both are projected onto the problem's domains. Its ascent begins with
i = 0, where its step 1/(mu i) is none; here i begins with 1. Problems that are not smooth, or not strongly concave, run
where eta_y, C2 and C3 are given; ``moved`` is then the sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dpcheck.accounting import calibrate
from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Event, Gaussian, Repeated, Sampled
from dpcheck.kernels.jit import RUN_SIGNATURE, kernel
from dpcheck.kernels.named import Numbers, named
from dpcheck.kernels.parts import WITHOUT_REPLACEMENT, below, copy, project
from dpcheck.kernels.tape import mark, release, sample
from dpcheck.problems.problem import Array, Problem
from dpcheck.solvers.solver import (
    Sizes,
    Solver,
    fill,
    gaussian,
    modulus,
    noise_share,
    pack,
    private_modulus,
    require_length,
    require_share,
)


class Reals(NamedTuple):
    """Step size in w, clipping thresholds, noise, and the sensitivity of the maximiser."""

    eta_x: float
    C0: float
    C1: float
    C2: float
    C3: float
    sigma_1: float
    sigma_2: float
    sigma_y: float
    sensitivity_y: float


class Counts(NamedTuple):
    """R, T, m, and whether this is the repaired variant."""

    rounds: int
    restart: int
    batch: int
    repaired: int


@kernel(RUN_SIGNATURE)
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 3 with Algorithm 4 in its inner loop; ``steps`` (1, T2) is of the ascent."""
    gradient, mean, data = objective.gradient, objective.mean, objective.data
    reals, counts, steps = named(Reals, numbers.reals), named(Counts, numbers.counts), numbers.steps
    rounds, batch, repaired, C1 = counts.rounds, counts.batch, counts.repaired, reals.C1
    domain_w, domain_v, start, d = data.domain_w, data.domain_v, data.start, data.dim_w
    n, size = data.records.shape[0], start.size
    deck, everyone = np.arange(n), np.arange(n)
    z, old_z, inner = np.empty(batch, np.int64), np.empty(batch, np.int64), np.empty(batch, np.int64)
    x, old, point, old_point = start.copy(), start.copy(), start.copy(), start.copy()
    g, v, clip = np.empty(size), np.zeros(d), np.full(2, np.inf)
    chosen = 1 + below(rounds, rng)
    for r in range(rounds + 1):
        if r == chosen:  # line 12: (x_r, released y_r), r uniform on 1..R
            copy(x, out)
        if mark(r, x, tape):
            return
        sample(WITHOUT_REPLACEMENT, n, batch, deck, rng, z, tape)  # line 2
        copy(x, point)  # line 3
        clip[0], clip[1] = np.inf, reals.C0
        for i in range(steps.shape[1]):  # line 4: Algorithm 4
            if repaired:
                mean(gradient, data, everyone, n, point, clip, g)
            else:
                sample(WITHOUT_REPLACEMENT, n, batch, deck, rng, inner, tape)
                mean(gradient, data, inner, batch, point, clip, g)
            for j in range(d, size):
                point[j] += steps[0, i] * g[j]
            project(point[d:], domain_v)
        if repaired:
            release(point[d:], reals.sigma_y, reals.sensitivity_y, rng, tape)
            project(point[d:], domain_v)
        if r % counts.restart == 0:  # lines 5 and 6
            C, sigma = C1, reals.sigma_1
            v[:] = 0.0
            clip[0], clip[1] = C, np.inf
            mean(gradient, data, z, batch, point, clip, g)
        else:  # line 7
            moved = 0.0
            for i in range(d):
                moved += (x[i] - old[i]) ** 2
            C, sigma = reals.C2 * np.sqrt(moved) + reals.C3, reals.sigma_2
            if repaired and C > 2 * C1:
                C = 2 * C1
            clip[0], clip[1] = C, np.inf
            copy(old, old_point)
            if not repaired:
                copy(x[d:], old_point[d:])
            objective.difference(gradient, data, z, point, z if repaired else old_z, old_point, batch, clip, g)
        release(g[:d], sigma * C, 2 * C / batch, rng, tape)  # line 8
        copy(point, old)
        for i in range(d):
            v[i] += g[i]
            x[i] -= reals.eta_x * v[i]  # line 9
        project(x[:d], domain_w)
        copy(point[d:], x[d:])
        if not repaired:
            release(x[d:], reals.sigma_y, reals.sensitivity_y, rng, tape)  # line 10
            project(x[d:], domain_v)
        for i in range(batch):
            old_z[i] = z[i]


@dataclass(frozen=True, eq=False)
class PrivateDiff(Solver):
    """PrivateDiff Minimax, Algorithms 3 and 4 of Zhang et al. 2025; :meth:`configure` takes its numbers from Theorem 6.

    Parameters
    ----------
    rounds, restart : int
        R rounds, and T of them between refreshes.
    batch : int
        Minibatch m.
    eta_x : float
        Step size in w.
    eta_y : ndarray, (T2,)
        Step sizes of the inner ascent.
    C0, C1, C2, C3 : float
        Clipping thresholds: of the ascent, of a gradient, and of a difference, C2 |x_r - x_(r-1)| + C3.
    sigma_1, sigma_2 : float
        Noise over the threshold on a gradient and on a difference.
    sigma_y : float
        Standard deviation of the noise on the maximiser.
    sensitivity_y : float
        The sensitivity (l2) that it is meant for.
    repaired : bool
        Whether this is the repaired variant.
    notes : tuple of str
        What a run should say about the configuration.
    """

    rounds: int
    restart: int
    batch: int
    eta_x: float
    eta_y: Array
    C0: float
    C1: float
    C2: float
    C3: float
    sigma_1: float
    sigma_2: float
    sigma_y: float
    sensitivity_y: float
    repaired: bool = True
    notes: tuple[str, ...] = ()

    name = "privatediff"
    paper = "zhang2025"
    source = "Algorithms 3 and 4, Theorem 6, Remark 2"
    example = "quadratic"
    understated = (
        "the inner ascent and the records of the round before depend on the record, which Lemmas 8 and 9, and so the "
        "certificate, leave out"
    )
    tiny: ClassVar[dict[str, Any]] = {"rounds": 6, "restart": 3, "inner": 4, "batch": 5}
    kernel = staticmethod(run)

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        rounds: int | None = None, restart: int | None = None, inner: int | None = None, batch: int | None = None,
        eta_x: float | None = None, eta_y: float | None = None, C0: float | None = None, C1: float | None = None,
        C2: float | None = None, C3: float | None = None, sensitivity_y: float | None = None, failure: float = 0.05,
        M: float = 1.0, private: bool = True,
    ) -> Self:  # fmt: skip
        """Set up PrivateDiff Minimax by Theorem 6 with every constant 1, save what is given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records, strongly concave in v and smooth unless eta_y, C2 and C3 are given;
            neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired", "as_printed"}
            ``"as_printed"`` follows the paper as published, ``"repaired"`` mends what cannot stand there.
        rounds, restart, inner, batch : int, optional
            R, T, T2 and m of the paper; a^(-4/3), a^(2/3) R, a^(-4/3) and a^(-4/3) by default, with
            a = sqrt(d log(1/delta))/(n epsilon).
        eta_x : float, optional
            Step size in w, > 0.
        eta_y : float, optional
            One step size > 0 for the whole ascent, in place of 1/(mu i).
        C0, C1, C2, C3 : float, optional
            Clipping thresholds > 0; the problem's G_v and G_w, (1 + kappa) l, and Theorem 6's by default.
        sensitivity_y : float, optional
            Sensitivity (l2) of the maximiser in place of Lemma 9's; as printed only.
        failure : float
            theta of C3, a probability in (0, 1).
        M : float
            Bound on f, > 0, in Lemma 9.
        private : bool
            False switches the noise off, for a baseline without privacy.

        Returns
        -------
        PrivateDiff
            The configuration.

        Raises
        ------
        InputError
            For values outside their domain, and for a problem that the algorithm is not made for.

        References
        ----------
        Q. Zhang et al. Improved rates of differentially private nonconvex-strongly-concave minimax optimization. AAAI
        2025, Algorithms 3 and 4, Theorems 5 and 6, Remark 2.
        """
        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        n, a, l = sizes.n, sizes.privacy_error, problem.smoothness
        mu = modulus(problem)
        repaired = variant == "repaired"
        given = None not in (eta_y, C2, C3) and (repaired or sensitivity_y is not None)
        require(given or mu > 0, "problem", "be strongly concave in v", problem.name)
        require(given or math.isfinite(l), "problem", "be smooth", problem.name)
        require(not repaired or sensitivity_y is None, "sensitivity_y", "be left to the analysis", sensitivity_y)
        rounds = max(2, math.ceil(a ** (-4 / 3))) if rounds is None else rounds
        require_count(rounds, "rounds")
        restart = max(1, math.ceil(a ** (2 / 3) * rounds)) if restart is None else restart
        inner = max(2, math.ceil(a ** (-4 / 3))) if inner is None else inner
        batch = min(n, max(1, math.ceil(a ** (-4 / 3)))) if batch is None else batch
        for name, value in (("restart", restart), ("inner", inner), ("batch", batch)):
            require_count(value, name)
            require_length(value, name)
        require(batch <= n, "batch", f"be at most the number of records, {n}", batch)
        require_share(failure, "failure")
        kappa = l / mu if mu > 0 else math.inf
        C0 = problem.lipschitz_v if C0 is None else C0
        C1 = problem.lipschitz_w if C1 is None else C1
        C2 = (1 + kappa) * l if C2 is None else C2
        C3 = threshold_C3(problem, rounds, inner, failure, repaired) if C3 is None else C3
        for name, bound in (("C0", C0), ("C1", C1), ("C2", C2), ("C3", C3), ("M", M)):
            require_positive(bound, name)
        if eta_y is None:
            ascent = ascent_steps(problem, inner, repaired)
        else:
            require_positive(eta_y, "eta_y")
            ascent = np.full(inner, eta_y)
        if repaired:
            sensitivity_y = moved(problem, C0, ascent)
            refreshes = math.ceil((rounds + 1) / restart)

            share_1, share_2 = noise_share(batch, n, refreshes), noise_share(batch, n, rounds + 1 - refreshes)
            share_y = math.sqrt(rounds + 1)

            def events(z: float) -> tuple[Event, ...]:
                return _events(z * share_1, z * share_2, z * share_y, n, batch, rounds, refreshes)

            needed = private or eta_x is None  # the default step depends on the noise, also where none is added
            z = calibrate(events, epsilon=epsilon, delta=delta) if needed else 0.0
            sigma_1, sigma_2 = 2 * z * share_1 / batch, 2 * z * share_2 / batch
            sigma_y = z * share_y * sensitivity_y
        else:
            share = 4 * math.sqrt(rounds * math.log(1 / delta)) / (n * epsilon)  # Remark 2
            sigma_1, sigma_2 = share / math.sqrt(restart), share
            sensitivity_y = (2 * C0**2 + l * M) / (mu * n) if sensitivity_y is None else sensitivity_y  # Lemma 9
            require_positive(sensitivity_y, "sensitivity_y")
            sigma_y = share * sensitivity_y * n
        if eta_x is None:
            noise = max(sigma_2, 1e-300) * math.sqrt(2 * restart * sizes.d)
            eta_x = min(1.0, 1 / noise) / (2 * C2)
        require_positive(eta_x, "eta_x")
        if not private:
            sigma_1 = sigma_2 = sigma_y = 0.0
        notes = private_modulus(problem)
        if not repaired:
            notes = (*notes, f"Assumption 1 bounds f by M; {M:g} is taken, not derived", cls.understated)
        return cls(
            rounds, restart, batch, eta_x, ascent, C0, C1, C2, C3, sigma_1, sigma_2, sigma_y, sensitivity_y,
            repaired, notes,
        )  # fmt: skip

    kept = ("inner",)

    def setting(self, option: str, problem: Problem) -> Any:
        """Return T2 as the length of the ascent."""
        return len(self.eta_y) if option == "inner" else super().setting(option, problem)

    def iterations(self, problem: Problem) -> int:
        """Return R + 1."""
        return self.rounds + 1

    def rows(self, problem: Problem) -> tuple[int, int, int]:
        """Count the same as elsewhere; as printed, each step of the ascent also draws a minibatch."""
        releases, _, _ = super().rows(problem)
        inner = 0 if self.repaired else len(self.eta_y)
        return releases, (self.rounds + 1) * (1 + inner), self.batch

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """Return refreshes, differences and maximisers, as the variant's analysis has them."""
        iterations = self.rounds + 1 if iterations is None else iterations
        half = self.batch / 2  # noise sigma C on a mean that moves by 2 C/m
        return _events(
            self.sigma_1 * half, self.sigma_2 * half, gaussian(self.sigma_y, self.sensitivity_y).noise_multiplier,
            len(problem.records), self.batch, iterations - 1, math.ceil(iterations / self.restart),
        )  # fmt: skip

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`run` reads."""
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {n}", self.batch)
        return pack(fill(Reals, self), fill(Counts, self), self.eta_y[None])


def moved(problem: Problem, C0: float, eta_y: Array) -> float:
    """Return how far replacing a record moves the end of an ascent by full passes with these steps.

    Where a step moves no two points apart, by what the steps differ in, 2 C0/n times their sum; with strong
    concavity by 2 C0/(mu n) at most; and without either by no more than two ascents are long.
    """
    n = len(problem.records)
    if eta_y.max() <= problem.ascent_limit:
        return float(2 * C0 * eta_y.sum() / n)
    if problem.concavity > 0 and math.isfinite(problem.smoothness):
        require(problem.lipschitz_v <= C0, "C0", f"be at least G_y = {problem.lipschitz_v:.6g}", C0)
        require(eta_y.max() * problem.smoothness <= 1 + 1e-12, "eta_y", "be at most 1/l", eta_y.max())
        return 2 * C0 / (problem.concavity * n)
    return float(2 * C0 * eta_y.sum())


def _events(z_1: float, z_2: float, z_y: float, n: int, batch: int, rounds: int, refreshes: int) -> tuple[Event, ...]:
    """Return the events of rounds 0 to ``rounds``."""
    parts = ((z_1, refreshes), (z_2, rounds + 1 - refreshes))
    sampled = tuple(Repeated(Sampled((Gaussian(z),), "without_replacement", n, batch), count) for z, count in parts)
    return (*sampled, Repeated(Gaussian(z_y), rounds + 1))


def threshold_C3(problem: Problem, rounds: int, inner: int, failure: float, repaired: bool) -> float:
    """50 kappa G sqrt((logs + 1)/T2), the proof of Theorem 6; log(T2), below 1 for T2 = 2, is taken as 1 there."""
    kappa, G = problem.smoothness / modulus(problem), max(problem.lipschitz_w, problem.lipschitz_v)
    often = rounds * max(math.log(inner), 1.0)
    logs = math.log(often / failure) if repaired else math.log(often) / failure
    return 50 * kappa * G * math.sqrt((logs + 1) / inner)


def ascent_steps(problem: Problem, inner: int, repaired: bool) -> Array:
    """Return 1/(mu i), i = 1, ..., T2; repaired at most 1/l."""
    steps = 1 / (modulus(problem) * np.arange(1, inner + 1))
    return np.minimum(steps, 1 / problem.smoothness) if repaired else steps
