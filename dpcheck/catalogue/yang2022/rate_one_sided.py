"""Theorems 3 and 4 of Yang et al. 2022 on instances that attain them, and why no instance attains Theorem 5.

Theorem 3. The steps in v, of order t^(-2/3), keep v off its best response by a variance s^2 of that order, for noise
in it and the spread of records. Where gradients bend, as in :class:`OneSided`, the mean gradient in w is then off by
a s/sqrt(2 pi), and w by as much: Phi(w) - min Phi is of order d s^2, which is the theorem's.

The theorem's power of T is too slow for noise in w on any instance. Steps of 2/(mu t) average what is added to w itself
to d sigma_w^2/T. It moves the best response to w too. But v, from s on, is as far from the best response to w_s as the
steps' contraction leaves it, and L/rho times the furthest that w is from w_s; 1/(rho eta_v) steps, of order T^(2/3),
forget the former, and noise moves w by sqrt(d) sigma_w T^(-1) T^(1/3) meanwhile. So v is off by d sigma_w^2 T^(-4/3) in
the mean square, and Lemma 9 adds a multiple of that to the excess risk.

T >= 8000 steps begin where the paper has them, at t = 1; the first hundred or two exceed the proof's limits (claim
Y32) and are forgotten by then. n is in proportion to sqrt T, so that Remark 1's noise is the same at all T. The
prediction follows the mean of w and mean and variance of v, a coordinate each, with v as a normal variable.

Theorem 4 takes e as given. Without noise, and with all records in a minibatch, w is at the minimiser of R_S, whose
generalisation error is E |bbar|^2/mu = A^2/(mu n). Private runs of any size have sqrt(e/mu) above 1/n, by Remark 1's
noise.

Theorem 5 has sqrt e where e + 1/n would do, so that no instance attains it. R is smooth, and with e = 0 Theorem 4 gives
E R(w_S) - min R = O(1/n) for the minimiser w_S of R_S, so that |grad R(w_S)|^2 = O(1/n): R(w_T) - R(w_S) is at most
|grad R(w_S)| |w_T - w_S| + L (1 + kappa)/2 |w_T - w_S|^2, and |w_T - w_S|^2 at most 2 e/mu on average.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.problem import Array, Constants, Defaults, columns, fields_read
from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, cross, doubling, product
from dpcheck.errors import require
from dpcheck.problems import as_records, within_bound
from dpcheck.problems.hinge_game import HingeGame


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (b, c)."""
    mu, a, curved, d = params[0], params[1], params[2], w.size
    for i in range(d):
        bent = a * max(w[i] + v[i], 0.0)
        out_w[i] = mu * w[i] + bent - record[i]
        out_v[i] = bent - curved * v[i] + record[d + i]


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (b, c)."""
    total, d = 0.0, w.size
    for i in range(d):
        bent = max(w[i] + v[i], 0.0)
        total += 0.5 * (params[0] * w[i] * w[i] + params[1] * bent * bent - params[2] * v[i] * v[i])
        total += record[d + i] * v[i] - record[i] * w[i]
    return total


@dataclass(frozen=True, eq=False)
class OneSided(Defaults):
    """A game whose gradients bend where the saddle is, so that noise moves the mean of the iterates, and not only them.

    f(w, v; (b, c)) = sum_i mu/2 w_i^2 + a/2 max(w_i + v_i, 0)^2 - (rho + a)/2 v_i^2 - <b, w> + <c, v>,

    |w| <= R, |v| <= V, |b| <= A, |c| <= B. It is mu-strongly convex in w and rho-strongly concave in v; its Hessian in
    a pair of coordinates is diag(mu, -(rho + a)) or [[mu + a, a], [a, -rho]]. Where b and c have mean 0 the saddle is
    0, and Phi(w) = sum_i mu/2 w_i^2 for w <= 0, (mu + a (rho + a)/rho)/2 w_i^2 for w > 0. Where v is off by a normal
    error of deviation s, the gradient in w is a s/sqrt(2 pi) on average at w = 0.

    Records (b, c) : (n, 2d); mu, rho, pull A, bound B, radius R and room V > 0, coupling a >= 0.
    """

    records: Array
    mu: float = 1.0
    rho: float = 1.0
    coupling: float = 0.2
    pull: float = 1.0
    bound: float = 1.0
    radius: float = 1.0
    room: float = 1.0
    name: str = "one_sided"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    mean: ClassVar[Callable[..., Any]] = staticmethod(HingeGame.mean)  # it is linear in the record
    dim_w = dim_v = columns(lambda count: count // 2)
    params = fields_read("mu", "coupling", "curved")

    def __post_init__(self) -> None:
        require(0 <= self.coupling < np.inf, "coupling", "be finite and >= 0", self.coupling)
        self._require_positive("mu", "rho", "pull", "bound", "radius", "room")
        rows = as_records(self.records, "records")
        require(rows.shape[1] % 2 == 0, "records", "have an even number of columns", rows.shape)
        b, c = np.hsplit(rows, 2)
        halves = within_bound(b, self.pull, "records", "|b|"), within_bound(c, self.bound, "records", "|c|")
        self._set(records=np.hstack(halves))

    @property
    def curved(self) -> float:
        """rho + a."""
        return self.rho + self.coupling

    @property
    def reach(self) -> float:
        """V."""
        return self.room

    def constants(self) -> Constants:
        a, R, V = self.coupling, self.radius, self.room
        on = [[self.mu + a, a], [a, -self.rho]]
        return Constants(
            lipschitz_w=(self.mu + a) * R + a * V + self.pull,
            lipschitz_v=a * R + self.curved * V + self.bound,
            smoothness=max(float(np.linalg.norm(on, 2)), self.curved, self.mu),
            convexity=self.mu,
            concavity=self.rho,
        )

    def excess(self, w: Array) -> Array:
        """Return Phi(w) - min Phi at points w : (..., d), for mean records 0."""
        steep = self.mu + self.coupling * self.curved / self.rho
        return np.asarray((0.5 * np.where(w > 0, steep, self.mu) * w * w).sum(-1))


SHAPES: dict[str, dict[str, Any]] = {  # R, V and the bounds of b and c decide which noise leads
    "variance": {"coupling": 0.1, "radius": 0.03, "room": 0.5, "pull": 1e-3, "bound": 1.0},
    "noise in v": {"coupling": 0.1, "radius": 0.03, "room": 1.0, "pull": 1e-3, "bound": 1e-3},
    "noise in w": {"coupling": 0.0, "radius": 1.0, "room": 0.1, "pull": 1e-3, "bound": 1e-3},
}
PER_ROOT = {"variance": 500, "noise in v": 60, "noise in w": 40}  # n over sqrt T


def sample(regime: str, cell: Cell, rng: np.random.Generator) -> OneSided:
    """An even number of records (0, c), c all 0, or +-B/sqrt(d) in pairs that cancel."""
    n, d = 2 * math.ceil(PER_ROOT[regime] * math.sqrt(cell["T"]) / 2), int(cell["d"])
    return spread(n, d, rng) if regime == "variance" else OneSided(np.zeros((n, 2 * d)), **SHAPES[regime])


def spread(n: int, d: int, rng: np.random.Generator) -> OneSided:
    """An even number of records with variance B^2/d in each entry of c."""
    signs = 2.0 * rng.integers(0, 2, (n // 2, d)) - 1
    c = np.concatenate([signs, -signs]) * (1 - 1e-9) / math.sqrt(d)
    return OneSided(np.hstack([np.zeros((n, d)), c]), **SHAPES["variance"])


def excess(game: OneSided, outputs: Array) -> float:
    """Mean excess primal risk, empirical as the records' mean is 0, over runs : (R, 2d)."""
    return float(game.excess(outputs[:, : game.dim_w]).mean())


def shape(game: OneSided) -> dict[str, float]:
    """kappa, mu and L."""
    return {"kappa": game.smoothness / game.rho, "mu": game.mu, "L": game.smoothness}


def remark_1(game: OneSided, cell: Cell) -> tuple[int, Mapping[str, float]]:
    """The minibatch and the noise."""
    statement = theorem("yang2022.theorem_1")
    values = {"n": len(game.records), **{name: cell[name] for name in ("T", "epsilon", "delta")}}
    noise = statement.noise(**values, G_w=game.lipschitz_w, G_v=game.lipschitz_v)
    return int(statement.schedule(**values)["m"]), noise


def of_3(batch: int | None, game: OneSided, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 3."""
    m, noise = remark_1(game, cell)
    return shape(game) | {"d": cell["d"], "T": cell["T"], "m": batch or m} | dict(noise)


def predicted(batch: int | None, game: OneSided, cell: Cell) -> float:
    """Excess risk of the last iterate; each record's part of the noise is B/sqrt(d) in a coordinate of v, or 0."""
    m, noise = remark_1(game, cell)
    spread = float(np.abs(game.records[0, game.dim_w :]).max()) / math.sqrt(batch or m)
    deviations = noise["sigma_w"], math.hypot(noise["sigma_v"], spread)
    return int(game.dim_w) * followed(game, int(cell["T"]), *deviations)


def followed(game: OneSided, steps: int, sigma_w: float, sigma_v: float) -> float:
    """A coordinate's excess risk before the last of these steps."""
    first = theorem("yang2022.theorem_3").schedule(**shape(game))
    t = np.arange(1.0, steps)
    eta_w, eta_v = first["eta_w"] / t, first["eta_v"] / t ** (2 / 3)
    mu, a, most = game.mu, game.coupling, game.room / math.sqrt(game.dim_w)
    w = v = of_w = 0.0
    of_v = 1e-12
    for in_w, in_v in zip(eta_w.tolist(), eta_v.tolist(), strict=True):
        far = (w + v) / math.sqrt(of_v)
        chance = 0.5 * math.erfc(-far / math.sqrt(2))  # that the bend is on
        bent = a * ((w + v) * chance + math.sqrt(of_v / (2 * math.pi)) * math.exp(-0.5 * far * far))
        slope_w, slope_v = mu + a * chance, game.curved - a * chance
        w, v = w - in_w * (mu * w + bent), v + in_v * (bent - game.curved * v)
        of_w = (1 - in_w * slope_w) ** 2 * of_w + (in_w * sigma_w) ** 2
        of_v = min((1 - in_v * slope_v) ** 2 * of_v + (in_v * sigma_v) ** 2, most**2)
        w, v = max(min(w, game.radius), -game.radius), max(min(v, most), -most)
    return 0.5 * mu * (w * w + of_w)


def sample_4(cell: Cell, rng: np.random.Generator) -> OneSided:
    """Fresh records (b, 0), the entries of b +-A/sqrt(d) with the mean 0, and no coupling."""
    n, d = int(cell["n"]), int(cell["d"])
    b = (2.0 * rng.integers(0, 2, (n, d)) - 1) * (1 - 1e-9) / math.sqrt(d)
    return OneSided(np.hstack([b, np.zeros((n, d))]), coupling=0.0)


def generalisation(game: OneSided, outputs: Array) -> float:
    """R(w) - R_S(w) + R_S(w*) - R(w*): <bbar, w>, where the population's b is 0 and w* = 0."""
    return float((outputs[:, : game.dim_w] @ game.zbar[: game.dim_w]).mean())


def of_4(game: OneSided, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 4; the step at t = 2 ends at the minimiser of R_S, and only rounding is left."""
    return {
        "n": cell["n"], "e": 1e-24, "G_w": game.lipschitz_w, "G_v": game.lipschitz_v, "L": game.smoothness,
        "rho": game.rho, "mu": game.mu,
    }  # fmt: skip


def common(regime: str, batch: int | None = None) -> dict[str, Any]:
    """Return the fields that the experiments on Theorem 3 share."""
    chosen = {"batch": batch} if batch else {}
    return {
        "algorithm": "dp_sgda", "theorem": "yang2022.theorem_3", "variant": "as_printed", "regime": regime,
        "name": f"theorem_3.{regime.replace(' ', '_')}", "sample": partial(sample, regime), "measure": excess,
        "quantity": "excess primal empirical risk of the last iterate", "constants": partial(of_3, batch),
        "predicted": partial(predicted, batch), "within": 1.15, "clear": None,
        "settings": lambda game, cell: {"theorem": "3", "pl": game.mu, "steps": int(cell["T"])} | chosen,
    }  # fmt: skip


def of_5(game: OneSided, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 5."""
    sizes = {name: cell[name] for name in ("n", "d", "epsilon", "delta")}
    return shape(game) | sizes | {"G_w": game.lipschitz_w, "G_v": game.lipschitz_v}


def sample_5(cell: Cell, rng: np.random.Generator) -> OneSided:
    """Theorem 3's game whose records have spread, n = T."""
    return spread(int(cell["n"]), int(cell["d"]), rng)


def onset() -> float:
    """The n from which on Remark 1's noise leaves v within a third of its domain where Theorem 5's privacy term leads.

    There sqrt(d log(1/delta))/epsilon >= 5 sqrt n, so that sigma_v sqrt d >= 40 G_v. Steps 2 M/(mu t^(2/3)) make of it
    a deviation of v of sqrt(M/(mu rho)) n^(-1/3) times as much; M >= 8 sqrt 2 with mu = rho = L, and G_v >= rho V.
    """
    return (3 * 5 * 8 * math.sqrt(8 * math.sqrt(2))) ** 3


BUDGET = {"epsilon": 1.0, "delta": 1e-10}
TIGHT = "the instance attains the order"
AVERAGED = "steps 2/(mu t) average noise in w to d sigma_w^2/T on any instance, so that the power of T is 1/3 too slow"
ROOT = "E R(w_T) - min R = O(e + 1/n) with Theorem 3's e, as R is L(1 + kappa)-smooth, where Theorem 5 has sqrt e"
OF_5: dict[str, Any] = {
    "algorithm": "dp_sgda", "theorem": "yang2022.theorem_5", "variant": "as_printed", "sample": sample_5,
    "measure": excess, "constants": of_5, "quantity": "excess primal population risk of the last iterate",
    "clear": None, "settings": lambda game, cell: {"theorem": "3", "pl": game.mu, "batch": 1},
}  # fmt: skip
LOUD = tuple(
    {"n": n, "d": d, "epsilon": epsilon, "delta": 10.0**-digits}
    for n, d, epsilon, digits in (
        (100, 8, 0.1, 9), (400, 32, 0.1, 9), (400, 8, 0.1, 36), (100, 32, 0.3, 9), (100, 32, 0.1, 36),
        (200, 16, 0.2, 18),
    )
)  # fmt: skip

EXPERIMENTS = (
    Experiment(
        factors=("T",), attains=TIGHT, runs=5, **common("variance", 1),
        grid=Grid(cross(BUDGET | {"d": 8, "delta": 1e-12}, T=doubling(16_000, 128_000)), 20),
    ),
    Experiment(
        factors=("T", "d"), attains=TIGHT, runs=lambda cell: int(16 / cell["d"]), **common("noise in v"),
        grid=Grid((*product(BUDGET, T=(16_000, 128_000), d=(4, 16)), BUDGET | {"T": 45_000, "d": 8}), 30),
    ),
    Experiment(
        factors=("T", "d"), loose=AVERAGED, attains=AVERAGED, runs=lambda cell: int(128 / cell["d"]),
        grid=Grid((*product(BUDGET, T=(500, 8000), d=(4, 64)), BUDGET | {"T": 2000, "d": 16}), 40),
        **common("noise in w"),
    ),
    Experiment(
        name="theorem_4.statistical", algorithm="dp_sgda", theorem="yang2022.theorem_4", variant="as_printed",
        regime="statistical", sample=sample_4, measure=generalisation, constants=of_4, order_only=True, attains=TIGHT,
        quantity="generalisation error of the primal risk", factors=("n",), clear=None,
        predicted=lambda game, cell: game.pull**2 / (game.mu * cell["n"]),
        grid=Grid(cross({"d": 64} | BUDGET, n=doubling(64, 4096)), 50),
        settings=lambda game, cell: {
            "theorem": "3", "pl": game.mu, "steps": 8, "batch": int(cell["n"]), "sampling": "without_replacement",
            "private": False,
        },
    ),
    Experiment(
        name="theorem_5.statistical", regime="statistical", factors=("n",), loose=ROOT, attains=ROOT, runs=2,
        grid=Grid(cross({"d": 1, "epsilon": 1.0, "delta": 1e-12}, n=doubling(64_000, 256_000)), 20),
        predicted=lambda game, cell: predicted(1, game, {**cell, "T": cell["n"]}), within=1.5, **OF_5,
    ),
    Experiment(
        name="theorem_5.privacy", regime="privacy", factors=("n", "d", "epsilon", LOG_DELTA), grid=Grid(LOUD, 4),
        unreachable="where the term leads by 5, noise moves v by a third of its domain or more until "
        f"n = {onset():.1e}; {ROOT}",
        **OF_5,
    ),
)  # fmt: skip
