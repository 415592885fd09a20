"""Theorems 3 and 4 of Zhang et al. 2025: no private algorithm is below the lower bounds on their own instances.

As published one dataset is hard for all algorithms, which cannot be (claims 003:Thm3 and 003:Thm4): what returns a
stationary point of that dataset whatever its input is private. So each algorithm meets many datasets, records whose
means are drawn uniformly from [-1, 1], and its mean gradient norm over all of them, which is at most that on its worst
one, is held against the bound.

The theorems name no constant, and the bound on means of bits that they rest on names none either. With 1 for the latter
the reduction gives 1/(2 sqrt 2): a mean error is at most 2 sqrt 2 times the gradient norm. That is what is compared
with; an algorithm above it is no proof of the bound, one below it would be news. That the comparison can fail is seen
without noise: descent that is not private is below the bound.

The losses of the hard instances are bounded (see ``bounds.zhang2025``). A record is a sign vector z in {-1, 1}^d, for
groups with the number of its group before it. With

    F(x; z) = 2 - (1/sqrt d) sum_k cos(x_k - z_k pi/4),    (grad mean F(x))_k = (sin x_k - M_k cos x_k)/sqrt(2 d),

M the mean of the records, a small gradient gives tan x_k near M_k: whoever finds a stationary point knows the means.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy.stats import t as student

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, Constants, blocks, columns
from dpcheck.bounds.registry import theorem
from dpcheck.checks.context import Batch, Context
from dpcheck.problems.nonconvex import StronglyConcave, spectral
from dpcheck.report.findings import Finding
from dpcheck.solvers import configure


@kernel("gradient")
def mean_gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of F(w; z) - |v|^2/2."""
    for i in range(w.size):
        out_w[i] = np.sin(w[i] - record[i] * (np.pi / 4)) / np.sqrt(w.size)
    for i in range(v.size):
        out_v[i] = -v[i]


@kernel("value")
def mean_value(params, record, w, v):  # type: ignore[no-untyped-def]
    """F(w; z) - |v|^2/2."""
    total = 2.0
    for i in range(w.size):
        total -= np.cos(w[i] - record[i] * (np.pi / 4)) / np.sqrt(w.size)
    for i in range(v.size):
        total -= 0.5 * v[i] * v[i]
    return total


@kernel("gradient")
def group_gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of K v_k F(w; z) - |v|^2/2 for a record of the first group, whose k is 0; of others F = 0."""
    K, loss = v.size, 2.0
    first = record[0] == 0.0
    for i in range(w.size):
        shifted = w[i] - record[1 + i] * (np.pi / 4)
        out_w[i] = K * v[0] * np.sin(shifted) / np.sqrt(w.size) if first else 0.0
        loss -= np.cos(shifted) / np.sqrt(w.size)
    for i in range(K):
        out_v[i] = -v[i]
    if first:
        out_v[0] += K * loss


@kernel("value")
def group_value(params, record, w, v):  # type: ignore[no-untyped-def]
    """K v_k F(w; z) - |v|^2/2 for a record of the first group, -|v|^2/2 for others."""
    total, loss = 0.0, 2.0
    for i in range(w.size):
        loss -= np.cos(w[i] - record[1 + i] * (np.pi / 4)) / np.sqrt(w.size)
    for i in range(v.size):
        total -= 0.5 * v[i] * v[i]
    return total + v.size * v[0] * loss if record[0] == 0.0 else total


@dataclass(frozen=True, eq=False)
class HiddenMeans(StronglyConcave):
    """F(x; z) - |y|^2/2 on R^d and the unit ball.  records : (n, d) float64, entries -1 or 1"""

    records: Array
    name: str = "hidden_means"

    gradient = staticmethod(mean_gradient)
    value = staticmethod(mean_value)
    convex = False
    radius = math.inf
    reach: Any = 1.0

    def constants(self) -> Constants:
        """Both blocks are apart, of smoothness 1/sqrt d and 1; the Hessian is diagonal with entries cos/sqrt d."""
        bend = 1 / math.sqrt(self.dim_w)
        return Constants(lipschitz_w=1.0, lipschitz_v=1.0, smoothness=1.0, concavity=1.0, hessian_lipschitz=bend)

    def best_response(self, w: Array) -> Array:
        """0, whatever w is."""
        return np.zeros(self.dim_v)

    def primal_gradient(self, w: Array) -> Array:
        """Return the gradient of Phi at points w (..., d)."""
        return hidden_gradient(self.records, w)


@dataclass(frozen=True, eq=False)
class HiddenGroup(StronglyConcave):
    """sum_k y_k F_k(x) - |y|^2/2 over the simplex, d equal groups, all but the first with loss 0.

    As F_1 >= 1 the best y is the first unit vector everywhere.  records : (n, 1 + d), the group and the signs
    """

    records: Array
    name: str = "hidden_group"

    gradient = staticmethod(group_gradient)
    value = staticmethod(group_value)
    convex = False
    radius = math.inf
    dim_w = dim_v = columns(lambda count: count - 1)

    @property
    def domain_v(self) -> Array:
        """The unit simplex."""
        return blocks((self.dim_v, Shape.SIMPLEX, 1.0))

    @property
    def start(self) -> Array:
        """0 and equal weights."""
        return np.concatenate([np.zeros(self.dim_w), np.full(self.dim_v, 1 / self.dim_v)])

    def constants(self) -> Constants:
        """1 <= F <= 2 + sqrt d, |v| <= 1 and K = d; the Hessian is bounded by [[K/sqrt d, K], [K, -1]]."""
        K, root = self.dim_v, math.sqrt(self.dim_w)
        return Constants(
            lipschitz_w=float(K), lipschitz_v=K * (2 + root) + 1.0, smoothness=spectral(-K / root, float(K), 1.0),
            concavity=1.0,
        )  # fmt: skip

    def best_response(self, w: Array) -> Array:
        """All weight on the first group."""
        return np.asarray(np.eye(self.dim_v)[0])

    def primal_gradient(self, w: Array) -> Array:
        """Return the gradient of Phi at points w (..., d)."""
        return hidden_gradient(self.records[self.records[:, 0] == 0, 1:], w)


def hidden_gradient(signs: Array, w: Array) -> Array:
    """(sin x_k - M_k cos x_k)/sqrt(2 d), M the mean of the signs."""
    return np.asarray((np.sin(w) - signs.mean(0) * np.cos(w)) / math.sqrt(2 * signs.shape[1]))


CONSTANT = 1 / (2 * math.sqrt(2))
DATA_SETS, RUNS = 16, 4
LEVEL = 0.01
EPSILON, DELTA = 1.0, 1e-6
WITNESS = "dp_sgda_clipped"


class Hard(NamedTuple):
    """A theorem's instance: n records in d dimensions, and the problem with fresh data."""

    theorem: str
    n: int
    d: int
    sample: Callable[[int, int, np.random.Generator], Any]


def signs(n: int, d: int, rng: np.random.Generator) -> Array:
    """Records whose means are drawn uniformly : (n, d)."""
    return np.where(rng.random((n, d)) < rng.random(d), 1.0, -1.0)


def means(n: int, d: int, rng: np.random.Generator) -> HiddenMeans:
    """The instance of Theorem 3."""
    return HiddenMeans(signs(n, d, rng))


def groups(n: int, d: int, rng: np.random.Generator) -> HiddenGroup:
    """The instance of Theorem 4: d groups of n/d records, no record of the first repeated in another."""
    return HiddenGroup(np.column_stack([np.arange(n) % d, signs(n, d, rng)]))


HARD = {3: Hard("zhang2025.theorem_3", 200, 8, means), 4: Hard("zhang2025.theorem_4", 200, 4, groups)}
# The others ask for convexity in x, for no y at all or, in dp_rgda, for a Lipschitz Hessian of Phi, which groups deny.
ABLE = {
    "dp_rgda": (3,), "dp_sgda": (3, 4), "dp_sgda_clipped": (3, 4), "dptd": (3, 4), "nseg": (3, 4),
    "privatediff": (3, 4),
}  # fmt: skip


def without_noise(problem: Any) -> Any:
    """Descent and ascent by full gradients, long enough to arrive."""
    return configure(
        WITNESS, problem, epsilon=EPSILON, delta=DELTA, private=False, steps=400, batch=len(problem.records),
        eta_w=1.0, output="last",
    )  # fmt: skip


def private(algorithm: str, problem: Any) -> Any:
    """The algorithm as its theorem configures it, with the noise that the accountant certifies."""
    return configure(algorithm, problem, epsilon=EPSILON, delta=DELTA)


def norms(hard: Hard, solver: Callable[[Any], Any], rng: np.random.Generator, size: int) -> list[float]:
    """The mean of |grad Phi(x)| over runs on each of ``size`` data sets."""
    found = []
    for _ in range(size):
        problem = hard.sample(hard.n, hard.d, rng)
        outputs = solver(problem).outputs(problem, rng, RUNS)
        found.append(float(np.linalg.norm(problem.primal_gradient(outputs[:, : hard.d]), axis=1).mean()))
    return found


def measured(algorithm: str, number: int, context: Context) -> list[float]:
    """One value a data set; "" stands for the descent without noise."""
    solver = partial(private, algorithm) if algorithm else without_noise
    batch = Batch(
        ["lower bound", number, RUNS, algorithm], partial(norms, HARD[number], solver), DATA_SETS, DATA_SETS // 4,
        np.random.SeedSequence([context.seed, number, crc32(f"lower bound {algorithm}".encode())]),
    )  # fmt: skip
    return [value for chunk in context.measured(batch) for value in chunk]


def bounds(algorithm: str, context: Context, tables: dict[str, list[dict[str, Any]]]) -> Iterator[Finding]:
    """Each theorem whose instance the algorithm can run on."""
    for number in ABLE[algorithm]:
        hard = HARD[number]
        least = theorem(hard.theorem).bound(constant=CONSTANT, n=hard.n, d=hard.d, epsilon=EPSILON, delta=DELTA)
        values, free = (np.array(measured(released_by, number, context)) for released_by in (algorithm, ""))
        finding = judged(algorithm, hard, least, values, free)
        tables.setdefault("Lower bounds", []).append({"algorithm": algorithm, **finding.evidence})
        yield finding


def judged(algorithm: str, hard: Hard, least: float, values: Array, free: Array) -> Finding:
    """Compare the means of both with the bound, each with error ``LEVEL``."""
    mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
    reach = float(student.isf(LEVEL, len(values) - 1)) * error
    witness = float(free.mean())
    if witness >= least:
        verdict, end = "inconclusive", "which descent without noise does not get below, so that nothing is compared"
    elif mean + reach < least:
        verdict, end = "violated", "and is below it beyond chance"
    else:
        verdict = "consistent" if mean - reach >= least else "inconclusive"
        end = f"and descent without noise reaches {witness:.2g}"
    return Finding(
        f"{algorithm}.bound.{hard.theorem.replace('.', '_')}", "bound",
        f"{algorithm}: mean gradient norm of Phi over hard datasets against the lower bound of {hard.theorem}, its "
        "quantifiers exchanged",
        verdict,
        f"the mean is {mean:.3g} where no private algorithm is to be below {least:.3g} (constant 1/(2 sqrt 2)), {end}",
        evidence={
            "theorem": hard.theorem, "n": hard.n, "d": hard.d, "epsilon": EPSILON, "delta": DELTA, "constant": CONSTANT,
            "bound": least, "measured": mean, "error": error, "without noise": witness, "data sets": len(values),
        },
    )  # fmt: skip


STAGES = {algorithm: partial(bounds, algorithm) for algorithm in ABLE}
