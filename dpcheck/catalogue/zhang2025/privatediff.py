"""PrivateDiff Minimax: clipped gradient differences between restarts, and a maximiser released each round.

Zhang, Lei, Ding, Xiang, Xu, Wang: "Improved Rates of Differentially Private Nonconvex-Strongly-Concave
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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpcheck.algorithms.kernels.jit import Indices, Numbers, Place, Vector, kernel, named
from dpcheck.algorithms.kernels.parts import Draw, below, copy, project
from dpcheck.algorithms.kernels.tape import mark, release, sample
from dpcheck.algorithms.layout import Release
from dpcheck.algorithms.problem import Array, Problem
from dpcheck.algorithms.promises import Promise
from dpcheck.algorithms.run import History, fill, pack
from dpcheck.algorithms.schedule import gaussian, modulus
from dpcheck.algorithms.solver import Solver
from dpcheck.catalogue.zhang2025 import answers, too_small
from dpcheck.catalogue.zhang2025.privatediff_schedule import SCHEDULES, ascent_steps, releases, threshold_C3
from dpcheck.errors import require
from dpcheck.events import Event, Gaussian, Repeated

if TYPE_CHECKING:
    from dpcheck.checks.games import Entry


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


class Room(NamedTuple):
    """The room of an ascent: all records twice, in a changing and in a fixed order, a minibatch and a gradient."""

    deck: Indices
    everyone: Indices
    inner: Indices
    g: Vector


@kernel("void(objective, numbers, vector, vector, Room, stream, tape)")
def ascend(objective, numbers, point, clip, room, rng, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 4, which moves y of ``point``; repaired by full passes, and with noise at the end."""
    reals, counts, steps = named(Reals, numbers.reals), named(Counts, numbers.counts), numbers.steps
    data, mean, gradient, ascent = objective.data, objective.mean, objective.gradient, objective.ascent
    d, n, g, batch, repaired = data.dim_w, room.everyone.size, room.g, counts.batch, counts.repaired
    clip[0], clip[1] = np.inf, reals.C0
    if repaired:  # line 4: Algorithm 4, whose minibatches are all of the records here
        ascent(gradient, mean, data, room.everyone, steps[0], clip, point, g)
        release(point[d:], reals.sigma_y, reals.sensitivity_y, rng, tape)
        project(point[d:], data.domain_v)
    else:
        for i in range(steps.shape[1]):
            sample(Draw.WITHOUT_REPLACEMENT, n, batch, room.deck, rng, room.inner, tape)
            ascent(gradient, mean, data, room.inner, steps[0, i : i + 1], clip, point, g)


@kernel("run")
def run(objective, numbers, rng, out, tape):  # type: ignore[no-untyped-def]
    """Run Algorithm 3 with Algorithm 4 in its inner loop; the steps (1, T2) are of the ascent."""
    gradient, mean, data = objective.gradient, objective.mean, objective.data
    reals, counts = named(Reals, numbers.reals), named(Counts, numbers.counts)
    rounds, batch, repaired, C1 = counts.rounds, counts.batch, counts.repaired, reals.C1
    domain_w, domain_v, start, d = data.domain_w, data.domain_v, data.start, data.dim_w
    n, size = data.records.shape[0], start.size
    deck, z, old_z = np.arange(n), np.empty(batch, np.int64), np.empty(batch, np.int64)
    x, old, point, old_point = start.copy(), start.copy(), start.copy(), start.copy()
    g, v, clip = np.empty(size), np.zeros(d), np.full(2, np.inf)
    room = Room(deck, np.arange(n), np.empty(batch, np.int64), g)
    chosen = 1 + below(rounds, rng)
    for r in range(rounds + 1):
        if r == chosen:  # line 12: (x_r, released y_r), r uniform on 1..R
            copy(x, out)
        if mark(r, x, tape):
            return
        sample(Draw.WITHOUT_REPLACEMENT, n, batch, deck, rng, z, tape)  # line 2
        copy(x, point)  # line 3
        ascend(objective, numbers, point, clip, room, rng, tape)
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
            before = Place(z if repaired else old_z, old_point)
            objective.difference(gradient, data, Place(z, point), before, batch, clip, g)
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
    climbs = True
    understated = (
        "the inner ascent and the records of the round before depend on the record, which Lemmas 8 and 9, and so the "
        "certificate, leave out"
    )
    tiny: ClassVar[dict[str, Any]] = {"rounds": 6, "restart": 3, "inner": 4, "batch": 5}
    kernel = staticmethod(run)
    schedules = SCHEDULES

    def layout(self, problem: Problem, history: History) -> tuple[Release, ...]:
        """Return the maximiser, which reads all records, and a gradient in w; as printed the other way round."""
        draws = 1 if self.repaired else 1 + len(self.eta_y)  # a round; the gradient reads the first
        found = []
        for row in range(len(history.clean)):
            of_v = (row % 2 == 0) == self.repaired
            found.append(Release(row, "v" if of_v else "w", f"in round {row // 2}", None if of_v else row // 2 * draws))
        return tuple(found)

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
        return releases(
            self.sigma_1 * half, self.sigma_2 * half, gaussian(self.sigma_y, self.sensitivity_y).noise_multiplier,
            len(problem.records), self.batch, iterations - 1, math.ceil(iterations / self.restart),
        )  # fmt: skip

    def packed(self, problem: Problem) -> Numbers:
        """Pack what :func:`run` reads."""
        n = len(problem.records)
        require(self.batch <= n, "batch", f"be at most the number of records, {n}", self.batch)
        return pack(fill(Reals, self), fill(Counts, self), self.eta_y[None])

    def promises(self, problem: Problem, schedule: Any) -> Iterator[Promise]:
        """Answer for Theorem 6, and as printed also for Theorem 5 with Remark 2."""
        values, conditions = answers(problem, schedule)
        values |= {
            "theta": schedule.failure, "R": self.rounds, "T": self.restart, "m": self.batch,
            "T_2": self.eta_y.size,
        }  # fmt: skip
        l, mu = problem.smoothness, modulus(problem)
        if mu > 0 and math.isfinite(l):
            least_C3 = threshold_C3(problem, self.rounds, self.eta_y.size, values["theta"], self.repaired)
            least_C2 = (1 + l / mu) * l
            steps = ascent_steps(problem, self.eta_y.size, self.repaired)
            conditions["steps"] = "" if np.allclose(self.eta_y, steps) else f"the first is {self.eta_y[0]:.4g}"
        else:
            least_C2 = least_C3 = math.inf
            conditions["steps"] = "there is no mu"
        conditions["thresholds"] = too_small(
            C0=(self.C0, problem.lipschitz_v), C1=(self.C1, problem.lipschitz_w), C2=(self.C2, least_C2),
            C3=(self.C3, least_C3),
        )  # fmt: skip
        yield Promise("zhang2025.theorem_6", "Theorem 6", values, conditions)
        if not schedule.repaired:
            values = {name: values[name] for name in ("n", "epsilon", "delta", "R", "T", "m")}
            yield Promise("zhang2025.theorem_5", "Theorem 5", values, conditions)

    @classmethod
    def games(cls) -> Iterator[Entry]:
        """Yield a game of each variant.

        In the first V ends where the maximiser lies, at 1/n, so that C0 is hardly more than the canary's gradient. As
        printed every record's gradient in w is v, clipped to hardly more than its sign: all flip sign with the
        maximiser, and that with the canary.
        """
        from dpcheck.checks.games import WHOLE, blank, entry, record

        n = 20
        settings: dict[str, Any] = {"rounds": 7, "restart": 4, "eta_x": 0.01}
        problem = blank(n, concavity=1.0, lipschitz_v=1 + 1 / n, radius_v=1 / n)
        canary, others = record(b=100.0, c=1.0, p=10.0), record(b=-100.0, p=-10.0)
        yield entry(
            cls.name, "repaired", problem, (canary, record(b=-100.0, c=-1.0, p=-10.0), others), (0, 1),
            settings | {"inner": 1, "batch": 3 * n // 4, "C1": 1.0, "C2": 1.0, "C3": 1e-9},
        )  # fmt: skip
        C = 0.1 / n
        problem = replace(problem, radius_w=C, lipschitz_v=1 + 1 / n + C, lipschitz_w=1 / n)

        def moves(solver: PrivateDiff) -> tuple[Event, ...]:
            """Return the true events: gradients that all flip sign move their mean by 2C; y moves within V."""
            count = solver.rounds + 1
            refreshes = math.ceil(count / solver.restart)
            parts = (
                (solver.sigma_1 / 2, refreshes),
                (solver.sigma_2 / 2, count - refreshes),
                (solver.sigma_y * n / 2, count),
            )
            return tuple(Repeated(Gaussian(multiplier), times) for multiplier, times in parts)

        yield entry(
            cls.name, "as_printed", problem, (record(c=1.0, a=1.0), record(c=-1.0, a=1.0), record(a=1.0)), WHOLE,
            settings | {"inner": 2, "batch": n, "C1": C, "C2": C, "C3": C}, events=moves,
        )  # fmt: skip
