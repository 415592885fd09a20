"""DP-SGDA: differentially private stochastic gradient descent ascent.

Yang, Hu, Lei, Varshney, Lyu, Ying: "Differentially Private SGDA for Minimax Problems", UAI 2022,
Algorithm 1 (and Algorithm 2, which is Algorithm 1 on :class:`dpcheck.problems.auc.AUC`).

Neighbours replace one record. Where the paper as published cannot stand there are two variants:

============  ==========================================  =====================================
              as_printed                                  repaired
============  ==========================================  =====================================
minibatch     drawn with replacement (line 4), whose      without replacement, as the proof's
              record may come k times: sensitivity 2kG/m  Lemma 2 and its 2G/m need
noise         8 G sqrt(T log(1/delta)) / (n epsilon),     the least that the accountant
              Remark 1                                    certifies at (epsilon, delta)
Theorem 3     steps from t = 1 on, beyond the proof's     from t_0 + 1 on, where they are
              own limits at first (claim Y32)             within them
============  ==========================================  =====================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Event, Gaussian, Repeated, Sampled, Scheme
from dpcheck.kernels import sgda as kernels
from dpcheck.kernels.named import Numbers
from dpcheck.kernels.parts import AVERAGE, LAST, UNIFORM
from dpcheck.problems.problem import Array, Problem
from dpcheck.solvers.solver import (
    SCHEMES,
    Sizes,
    Solver,
    fill,
    gaussian,
    modulus,
    pack,
    private_modulus,
    require_norm,
    smoothness_for_eta,
)

OUTPUTS = {"average": AVERAGE, "last": LAST, "uniform": UNIFORM}


def printed_batch(n: int, steps: int, epsilon: float) -> int:
    """Return Remark 1's minibatch, max(1, n sqrt(epsilon / (4T))), rounded up and at most n."""
    return min(n, math.ceil(max(1.0, n * math.sqrt(epsilon / (4 * steps)))))


def printed_noise(G: float, n: int, steps: int, epsilon: float, delta: float) -> float:
    """Return Remark 1's standard deviation, 8 G sqrt(T log(1/delta)) / (n epsilon)."""
    return 8 * G * math.sqrt(steps * math.log(1 / delta)) / (n * epsilon)


@dataclass(frozen=True, eq=False)
class GradientDescentAscent(Solver):
    """One configuration of private stochastic gradient descent ascent.

    Parameters
    ----------
    eta_w, eta_v : array_like, (T,)
        Step sizes, finite and >= 0.
    sigma_w, sigma_v : float
        Standard deviation of the noise on the minibatch's mean gradient, >= 0.
    batch : int
        Minibatch m, the expected one under Poisson sampling.
    sampling : {"without_replacement", "with_replacement", "poisson"}
        How minibatches are drawn.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, inf for none.
    output : {"average", "last", "uniform"}
        The average of the iterates 1, ..., T, the last, w_T, or one of them drawn uniformly.
    notes : tuple of str
        What a run should say about the configuration.
    """

    eta_w: Array
    eta_v: Array
    sigma_w: float
    sigma_v: float
    batch: int
    sampling: Scheme = "without_replacement"
    clip_w: float = math.inf
    clip_v: float = math.inf
    output: str = "average"
    notes: tuple[str, ...] = field(default=())

    example = "quadratic"
    differences = False
    tiny: ClassVar[dict[str, Any]] = {"steps": 10}
    kernel = staticmethod(kernels.sgda)

    def __post_init__(self) -> None:
        for name in ("eta_w", "eta_v"):
            eta = np.ascontiguousarray(getattr(self, name), dtype=float)
            require(eta.ndim == 1 and eta.size > 0, name, "be a vector of T step sizes", eta.shape)
            require(bool(np.isfinite(eta).all() and (eta >= 0).all()), name, "be finite and >= 0", eta)
            object.__setattr__(self, name, eta)
        require(self.eta_w.size == self.eta_v.size, "eta_v", "have as many steps as eta_w", self.eta_v.size)
        for name in ("sigma_w", "sigma_v"):
            sigma = getattr(self, name)
            require(0 <= sigma < math.inf, name, "be finite and >= 0", sigma)
        for name in ("clip_w", "clip_v"):
            require(getattr(self, name) > 0, name, "be > 0", getattr(self, name))
        require_count(self.batch, "batch")
        require(self.sampling in SCHEMES, "sampling", f"be one of {', '.join(SCHEMES)}", self.sampling)
        require(self.output in OUTPUTS, "output", f"be one of {', '.join(OUTPUTS)}", self.output)

    @property
    def steps(self) -> int:
        """T, the number of updates."""
        return self.eta_w.size

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """The privacy events of a run: T times, one minibatch mean, two Gaussians.

        A record's part of the mean of gradients is at most G/m, so replacing it moves the mean by at
        most 2G/m; G is the clipping norm or the proved Lipschitz constant, the smaller.
        """
        self._fits(problem)
        mechanisms = tuple(
            gaussian(sigma, moves)
            for sigma, moves in zip((self.sigma_w, self.sigma_v), self._sensitivities(problem), strict=True)
        )
        step = Sampled(mechanisms, self.sampling, len(problem.records), self.batch)
        return (Repeated(step, self.steps if iterations is None else iterations),)

    def packed(self, problem: Problem) -> Numbers:
        """Pack noise and clipping; sampling and output; step sizes."""
        self._fits(problem)
        in_w, in_v = self._sensitivities(problem)
        return pack(
            fill(kernels.Reals, self, sensitivity_w=in_w, sensitivity_v=in_v),
            fill(kernels.Counts, self, scheme=SCHEMES[self.sampling], output=OUTPUTS[self.output]),
            np.stack([self.eta_w, self.eta_v]),
        )

    def _sensitivities(self, problem: Problem) -> tuple[float, float]:
        """Return how far one record's replacement moves the minibatch mean (l2), in w and in v."""
        bounds = (min(problem.lipschitz_w, self.clip_w), min(problem.lipschitz_v, self.clip_v))
        return 2 * bounds[0] / self.batch, 2 * bounds[1] / self.batch

    def _fits(self, problem: Problem) -> None:
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {n}", self.batch)


class DPSGDA(GradientDescentAscent):
    """DP-SGDA, Algorithm 1 of Yang et al. 2022; :meth:`configure` takes its numbers from Theorem 2a, 2b or 3."""

    name = "dp_sgda"
    paper = "yang2022"
    source = "Algorithm 1, Theorem 1, Remark 1, Theorems 2 and 3"
    understated = (
        "a record drawn twice moves the mean twice as far: certificates count it, Theorem 1 does not (claim Y04)"
    )

    @property
    def eta(self) -> Array:
        """The step sizes in w, which Theorem 2 has in v too."""
        return self.eta_w

    @classmethod
    def configure(
        cls, problem: Problem, *, epsilon: float, delta: float, variant: str = "repaired",
        steps: int | None = None, batch: int | None = None, eta: float | None = None,
        sampling: Scheme | None = None, clip_w: float = math.inf, clip_v: float = math.inf,
        output: str | None = None, theorem: str = "2a", pl: float | None = None, private: bool = True,
    ) -> Self:  # fmt: skip
        """Set up DP-SGDA by Theorem 2a, 2b or 3, save what is given.

        Parameters
        ----------
        problem : Problem
            The objective with its n records; neighbours replace one record.
        epsilon, delta : float
            Claimed privacy: epsilon > 0 (natural log), delta in (0, 1).
        variant : {"repaired", "as_printed"}
            ``"as_printed"`` follows the paper as published, ``"repaired"`` mends what cannot stand there.
        steps : int, optional
            T; n by default, n^2 for Theorem 2b.
        batch : int, optional
            Minibatch m, at most n; by default Remark 1's max(1, n sqrt(epsilon/(4T))).
        eta : float, optional
            Step size > 0 in w and v. By default, with N = max(sqrt n, sqrt(d log(1/delta))/epsilon), 1/(L N) where the
            proof has L, the smoothness, as unit; 1/(n N) for Theorem 2b; for Theorem 3 its proof's steps, which fall
            with t.
        sampling : {"with_replacement", "without_replacement", "poisson"}, optional
            By default with replacement as printed, and without in the repaired variant.
        clip_w, clip_v : float
            Clipping norms (l2) of one record's gradients, > 0, inf for none.
        output : {"average", "last", "uniform"}, optional
            The average by default, for Theorem 3 the last iterate.
        theorem : {"2a", "2b", "3"}
            2a for smooth convex-concave problems, 2b for those that are not smooth, 3 (and 5) for problems strongly
            concave in v whose mean obeys the Polyak-Lojasiewicz inequality in w.
        pl : float, optional
            Modulus of that inequality, > 0; given with Theorem 3 and only there.
        private : bool
            False switches the noise off, for a baseline without privacy.

        Returns
        -------
        DPSGDA
            The configuration.

        Raises
        ------
        InputError
            For values outside their domain, and for a problem that the algorithm is not made for.

        References
        ----------
        Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Algorithm 1, Remark 1, Theorems 2 and
        3.
        """
        sizes = Sizes.of(problem, epsilon, delta, variant, cls.variants)
        for name, clip in (("clip_w", clip_w), ("clip_v", clip_v)):
            require_norm(clip, name)
        n = sizes.n
        theorem = str(theorem)  # a command line reads 3 as a number
        require(theorem in ("2a", "2b", "3"), "theorem", "be 2a, 2b or 3", theorem)
        require((pl is None) == (theorem != "3"), "pl", "be given with theorem 3, and not without", pl)
        if steps is None:
            steps = n**2 if theorem == "2b" else n
        require_count(steps, "steps")
        batch = printed_batch(n, steps, epsilon) if batch is None else batch
        require_count(batch, "batch")
        require(batch <= n, "batch", f"be at most the number of records, {n}", batch)
        if eta is not None:
            require_positive(eta, "eta")
            eta_w = eta_v = np.full(steps, eta)
        elif pl is not None:
            eta_w, eta_v = falling(problem, pl, steps, late=variant == "repaired")
        else:
            slowest = max(math.sqrt(n), sizes.privacy_error * n)
            eta_w = eta_v = np.full(steps, 1 / ((n if theorem == "2b" else smoothness_for_eta(problem)) * slowest))
        bounds = (min(problem.lipschitz_w, clip_w), min(problem.lipschitz_v, clip_v))
        if sampling is None:
            sampling = "with_replacement" if variant == "as_printed" else "without_replacement"
        require(sampling in SCHEMES, "sampling", f"be one of {', '.join(SCHEMES)}", sampling)
        if not private:
            sigma_w = sigma_v = 0.0
        elif variant == "as_printed":
            sigma_w, sigma_v = (printed_noise(G, n, steps, epsilon, delta) for G in bounds)
        else:
            sigma_w, sigma_v = certified_noise(bounds, sampling, n, batch, steps, epsilon, delta)
        notes = private_modulus(problem) if theorem == "3" else ()
        if variant == "as_printed" and sampling == "with_replacement":
            notes = (*notes, cls.understated)
        output = ("last" if theorem == "3" else "average") if output is None else output
        return cls(eta_w, eta_v, sigma_w, sigma_v, batch, sampling, clip_w, clip_v, output, notes)


def falling(problem: Problem, pl: float, steps: int, *, late: bool) -> tuple[Array, Array]:
    """Return eta_w = 2/(mu t) and eta_v = 2 M/(mu t^{2/3}), mu = ``pl``, the steps of Theorem 3's proof, (T,) each.

    ``late`` : t from t_0 on, from where eta_w <= 1/(L + L^2/rho) and eta_v <= 1/L, as the proof needs
    """
    L, rho = problem.smoothness, modulus(problem)
    require_positive(pl, "pl")
    require(math.isfinite(L), "problem", "be smooth", problem.name)
    require(rho > 0, "problem", "be strongly concave in v", problem.name)
    kappa, bend = L / rho, L + L**2 / rho
    M = max(8 * kappa**2 * math.sqrt(bend / pl), 4 * math.sqrt(2) * kappa**2)
    t = np.arange(1, steps + 1) + (max(2 * bend / pl, (2 * L * M / pl) ** 1.5) if late else 0.0)
    return 2 / (pl * t), 2 * M / (pl * t ** (2 / 3))


def certified_noise(
    bounds: Sequence[float], sampling: Scheme, n: int, batch: int, steps: int, epsilon: float, delta: float
) -> list[float]:
    """Return the noise on minibatch means of blocks with these per-record bounds, the joint multiplier split evenly."""
    from dpcheck.accounting import calibrate

    def events(multiplier: float) -> Sequence[Event]:
        pair = (Gaussian(multiplier * math.sqrt(2)),) * 2
        return (Repeated(Sampled(pair, sampling, n, batch), steps),)

    multiplier = calibrate(events, epsilon=epsilon, delta=delta) * math.sqrt(2)
    return [multiplier * 2 * G / batch for G in bounds]
