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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels.jit import Numbers
from dpcheck.algorithms.layout import pairs
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.promises import Promise, breaches
from dpcheck.algorithms.run import SCHEMES, fill, pack
from dpcheck.algorithms.schedule import (
    Number,
    Schedule,
    fixed,
    gaussian,
    level,
    modulus,
    moves,
    norm,
    number,
    one_of,
    positive,
    private_modulus,
    records,
    smoothness_for_eta,
    whole,
)
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.yang2022 import printed_batch, printed_noise
from dpcheck.catalogue.yang2022 import sgda as kernels
from dpcheck.errors import require, require_count, require_positive
from dpcheck.events import Event, Repeated, Sampled, Scheme

if TYPE_CHECKING:
    from dpcheck.checks.context import Context, Stage
    from dpcheck.checks.games import Entry


class Theorem2a(Schedule):
    """Theorem 2a with Remark 1, for smooth convex-concave problems.

    Attributes
    ----------
    steps : int
        T; n by default, n^2 for Theorem 2b.
    batch : int
        Minibatch m, at most n; by default Remark 1's max(1, n sqrt(epsilon/(4T))).
    eta : float
        Step size > 0 in w and v. By default, with N = max(sqrt n, sqrt(d log(1/delta))/epsilon), 1/(L N) where the
        proof has L, the smoothness, as unit; 1/(n N) for Theorem 2b; for Theorem 3 its proof's, which fall with t.
    sampling : {"with_replacement", "without_replacement", "poisson"}
        By default with replacement as printed, and without in the repaired variant.
    clip_w, clip_v : float
        Clipping norms (l2) of one record's gradients, > 0, inf for none.
    output : {"average", "last", "uniform"}
        The average by default, for Theorem 3 the last iterate.
    theorem : {"2a", "2b", "3"}
        2a for smooth convex-concave problems, 2b for those that are not smooth, 3 (and 5) for problems strongly
        concave in v whose mean obeys the Polyak-Lojasiewicz inequality in w.
    pl : float
        Modulus of that inequality, > 0; given with Theorem 3 and only there.

    References
    ----------
    Z. Yang et al. Differentially private SGDA for minimax problems. UAI 2022, Algorithm 1, Remark 1, Theorems 2, 3.
    """

    falls = False  # whether the steps fall with t, by the modulus ``pl``

    def require(self) -> None:
        require((self.pl is not None) == self.falls, "pl", "be given with theorem 3, and not without", self.pl)

    @number(whole)
    def steps(self) -> int:
        return self.published("yang2022.theorem_2a", "T")

    @number(records)
    def batch(self) -> int:
        return printed_batch(self.sizes.n, self.steps, self.sizes.epsilon)

    @number(positive, checked=False)
    def eta(self) -> Any:
        return 1 / (smoothness_for_eta(self.problem) * self.slowest)

    @number(one_of(*SCHEMES))
    def sampling(self) -> Scheme:
        return "with_replacement"

    clip_w, clip_v = fixed(math.inf, norm), fixed(math.inf, norm)

    @number()
    def output(self) -> str:
        return "average"

    theorem = fixed("2a")
    pl: Number[Any] = fixed(None)

    @cached_property
    def slowest(self) -> float:
        """N = max(sqrt n, sqrt(d log(1/delta))/epsilon)."""
        return max(math.sqrt(self.sizes.n), self.sizes.privacy_error * self.sizes.n)

    @cached_property
    def eta_w(self) -> Array:
        """Step sizes in w, (T,)."""
        return np.full(self.steps, self.eta)

    @cached_property
    def eta_v(self) -> Array:
        """Step sizes in v, (T,)."""
        return self.eta_w

    @cached_property
    def noise(self) -> Sequence[float]:
        """sigma_w and sigma_v."""
        sizes = self.sizes
        return [printed_noise(G, sizes.n, self.steps, sizes.epsilon, sizes.delta) for G in self.bounds]

    sigma_w = level(0, "Standard deviation of the noise on the mean gradient in w.")
    sigma_v = level(1, "Standard deviation of the noise on the mean gradient in v.")

    @property
    def notes(self) -> tuple[str, ...]:
        notes = (self.algorithm.understated,) if self.sampling == "with_replacement" and not self.repaired else ()
        return (*private_modulus(self.problem), *notes) if self.falls else notes


class Theorem2b(Theorem2a):
    """Theorem 2b with Remark 1, for convex-concave problems that are not smooth."""

    @number(whole)
    def steps(self) -> int:
        return self.published("yang2022.theorem_2b", "T")

    @number(positive, checked=False)
    def eta(self) -> Any:
        return 1 / (self.sizes.n * self.slowest)


class Theorem3(Theorem2a):
    """Theorem 3 with Remark 1, for problems with a Polyak-Lojasiewicz inequality in w."""

    falls = True
    late = False  # whether the steps begin at t_0

    @number(positive, checked=False)
    def eta(self) -> Any:
        return self.falling[0]

    @number()
    def output(self) -> str:
        return "last"

    @cached_property
    def eta_v(self) -> Array:
        return self.eta_w if "eta" in self.given else self.falling[1]

    @cached_property
    def falling(self) -> tuple[Array, Array]:
        """The steps of the proof, eta_w = 2/(mu t) and eta_v = 2 M/(mu t^{2/3}) with mu = ``pl``, (T,) each."""
        problem, pl, L, rho = self.problem, self.pl, self.problem.smoothness, modulus(self.problem)
        require_positive(pl, "pl")
        require(math.isfinite(L), "problem", "be smooth", problem.name)
        require(rho > 0, "problem", "be strongly concave in v", problem.name)
        kappa, bend = L / rho, L + L**2 / rho
        M = max(8 * kappa**2 * math.sqrt(bend / pl), 4 * math.sqrt(2) * kappa**2)
        # late: t goes from t_0 on, where eta_w <= 1/(L + L^2/rho) and eta_v <= 1/L, as the proof needs
        t = np.arange(1, self.steps + 1) + (max(2 * bend / pl, (2 * L * M / pl) ** 1.5) if self.late else 0.0)
        return 2 / (pl * t), 2 * M / (pl * t ** (2 / 3))


class Theorem2aRepaired(Theorem2a):
    """Theorem 2a with minibatches drawn without replacement and the accountant's noise."""

    repaired = True

    @number(one_of(*SCHEMES))
    def sampling(self) -> Scheme:
        return "without_replacement"

    @cached_property
    def noise(self) -> Sequence[float]:
        return self.certified_noise(self.bounds, self.sampling, self.batch, self.steps)


class Theorem2bRepaired(Theorem2aRepaired, Theorem2b):
    """Theorem 2b with minibatches drawn without replacement and the accountant's noise."""


class Theorem3Repaired(Theorem2aRepaired, Theorem3):
    """Theorem 3 with the accountant's noise, and with its steps from t_0 on."""

    late = True


OUTPUTS = {"average": kernels.AVERAGE, "last": kernels.LAST, "uniform": kernels.UNIFORM}


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
    notes: tuple[str, ...] = ()

    example = "quadratic"
    differences = False
    tiny: ClassVar[dict[str, Any]] = {"steps": 10}
    kernel = staticmethod(kernels.sgda)
    layout = pairs

    def __post_init__(self) -> None:
        for name in ("eta_w", "eta_v"):
            eta = np.ascontiguousarray(getattr(self, name), dtype=float)
            require(eta.ndim == 1 and eta.size > 0, name, "be a vector of T step sizes", eta.shape)
            require(bool(np.isfinite(eta).all() and (eta >= 0).all()), name, "be finite and >= 0", eta)
            object.__setattr__(self, name, eta)
        require(self.eta_w.size == self.eta_v.size, "eta_v", "have as many steps as eta_w", self.eta_v.size)
        for name, sigma in (("sigma_w", self.sigma_w), ("sigma_v", self.sigma_v)):
            require(0 <= sigma < math.inf, name, "be finite and >= 0", sigma)
        for name, clip in (("clip_w", self.clip_w), ("clip_v", self.clip_v)):
            require(clip > 0, name, "be > 0", clip)
        require_count(self.batch, "batch")
        require(self.sampling in SCHEMES, "sampling", f"be one of {', '.join(SCHEMES)}", self.sampling)
        require(self.output in OUTPUTS, "output", f"be one of {', '.join(OUTPUTS)}", self.output)

    @property
    def steps(self) -> int:
        """T, the number of updates."""
        return self.eta_w.size

    def events(self, problem: Problem, iterations: int | None = None) -> tuple[Event, ...]:
        """The privacy events of a run: T times, one minibatch mean, two Gaussians."""
        in_w, in_v = self._moves(problem)
        mechanisms = (gaussian(self.sigma_w, in_w), gaussian(self.sigma_v, in_v))
        step = Sampled(mechanisms, self.sampling, len(problem.records), self.batch, "replace_one")
        return (Repeated(step, self.steps if iterations is None else iterations),)

    def packed(self, problem: Problem) -> Numbers:
        """Pack noise and clipping; sampling and output; step sizes."""
        in_w, in_v = self._moves(problem)
        return pack(
            fill(kernels.Reals, self, sensitivity_w=in_w, sensitivity_v=in_v),
            fill(kernels.Counts, self, scheme=SCHEMES[self.sampling], output=OUTPUTS[self.output]),
            np.stack([self.eta_w, self.eta_v]),
        )

    def _moves(self, problem: Problem) -> tuple[float, float]:
        """Return how far a record moves a minibatch mean in w and in v, of a problem with records enough."""
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {n}", self.batch)
        return moves(problem, (self.clip_w, self.clip_v), self.batch)


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

    small_runs: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "repaired.poisson": ("repaired", {"steps": 10, "sampling": "poisson"}),
    }
    theorems = ("2a", "2b", "3")
    schedules: ClassVar[dict[tuple[str, str], type[Schedule]]] = {
        ("2a", "as_printed"): Theorem2a, ("2a", "repaired"): Theorem2aRepaired,
        ("2b", "as_printed"): Theorem2b, ("2b", "repaired"): Theorem2bRepaired,
        ("3", "as_printed"): Theorem3, ("3", "repaired"): Theorem3Repaired,
    }  # fmt: skip

    def promises(self, problem: Problem, schedule: Any) -> Iterator[Promise]:
        """Answer for Theorem 2a, 2b or 3, and as printed also for Remark 1, which sets the noise."""
        theorem = str(schedule.theorem)
        L, rho = problem.smoothness, modulus(problem)
        values = schedule.letters | {"T": self.steps, "m": self.batch}
        del values["d"]
        broken = breaches(problem, clip_w=(self.clip_w, problem.lipschitz_w), clip_v=(self.clip_v, problem.lipschitz_v))
        # without replacement is the repair
        sampling = "each record is drawn by itself" if self.sampling == "poisson" else ""
        shared = {"A1": broken["Lipschitz"], "A3": broken["smooth"], "sampling": sampling}
        if theorem == "3":
            bend = L + L**2 / rho if rho > 0 else 0.0
            late = f"eta_w is {self.eta_w.max():.4g} and eta_v {self.eta_v.max():.4g} at first"
            starts_late = self.eta_w.max() * bend <= 1 + 1e-12 and self.eta_v.max() * L <= 1 + 1e-12
            letters = {"kappa": L / rho if rho > 0 else 0.0, "mu": schedule.pl, "L": L}
            conditions = shared | {
                "PL-SC": broken["strongly concave"], "W": broken["W"], "V": broken["V"],
                "late start": "" if starts_late else late,
            }  # fmt: skip
            yield Promise("yang2022.theorem_3", "Theorem 3", letters, conditions)
        else:
            conditions = shared | {name: broken[name] for name in ("convex-concave", "bounded", "start")}
            yield Promise(f"yang2022.theorem_{theorem}", f"Theorem {theorem}", values, conditions)
        if not schedule.repaired:
            yield Promise("yang2022.theorem_1", "Remark 1", values, shared)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield games of either sampling, repaired, and one as printed, of records within the Lipschitz constant."""
        from dpcheck.checks.games import BATCH, BOTH, CLIPS, FAR, LOUD, PAIR, STEPS, blank, entry, record

        settings = CLIPS | {"steps": STEPS, "batch": BATCH, "eta": 0.05}
        for sampling, roles in (("without_replacement", PAIR), ("poisson", (LOUD, -LOUD, 0 * LOUD))):
            yield entry(
                cls.name, "repaired", blank(**FAR), roles, BOTH, settings | {"sampling": sampling},
                label=f"repaired.{sampling}", words=f"repaired, {sampling.replace('_', ' ')}",
            )  # fmt: skip
        ones = record(b=1.0, c=1.0)
        yield entry(  # with 17 records Remark 1's minibatch is 2
            cls.name, "as_printed", blank(17, **FAR), (ones, -ones, -ones), BOTH, {"steps": STEPS, "eta": 0.05},
            label="as_printed.with_replacement", words="as printed, with replacement",
        )  # fmt: skip

    @classmethod
    def further(cls, context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterable[Stage]:
        """Return stages about the noise of Remark 1, a step, and real data."""
        from dpcheck.catalogue.yang2022.further import stages

        return stages(context, tables)
