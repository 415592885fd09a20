"""Theorems 2a and 2b of Yang et al. 2022, and the rate that its Table 1 states for NSEG and NISPP, measured.

DP-SGDA runs on games whose saddle is the corner of their boxes. Theorem 2a: the game is smooth, the step 1/(L N), N =
max(sqrt n, sqrt(d log(1/delta))/epsilon), and T = n, so that the walk from the start to the corner costs the mean
iterate D^2 L N/n, which is the theorem's rate in both regimes. What sampling costs is measured on a linear game in a
small box: the mean of its records, +-1, is 1/sqrt n, so that they are wrong of its sign with a chance that does not
depend on n, as in the lower bounds of statistics; G D/sqrt n is lost, which records without spread would not. Theorem
2b: the game has kinks, and T = n^2 steps of
1/(n N) read one record each. Each coordinate passes a kink halfway to the corner, so that the walk costs an order of
D^2 N/n.

The weak gap of the mean iterate has a closed form. From 0 each coordinate walks to the corner, with a drift g that
keeps its sign, and is then held there by the projection against noise of standard deviation s a step. For one
coordinate at distance x from the corner, step eta:

    mean of T distances = that of the walk without noise + M - M^2/(eta g T),
    M = sum over k >= 1 of E[S_k^+]/k,  S_k ~ N(-k eta g, k eta^2 s^2),

M the stationary mean of x -> max(x + N(-eta g, eta^2 s^2), 0) (Spitzer), eta s^2/(2g) up to eta s. Times g, summed, the
terms are D^2/(eta T), what it costs to have begun at 0, and eta d s^2, what the noise costs: the two that Lemma 3 of
the paper bounds the risk by.

Boob and Guzman, whose algorithms NSEG and NISPP are, are not in the catalogue. Table 1 states for both the rate of
Theorem 2a, so that they are held to its order, and not to its number. On the smooth game both walk to the corner: NSEG
in steps 1/(L N), NISPP with replacement in steps 1/lam = D/(G N), so that the walk costs D^2/(eta n) and D^2 lam/n.
Extrapolation moves nothing there. So NSEG runs on a bilinear game too, where the iterates turn about the saddle: with
extrapolation their distance falls by a factor e^{-1/2} over a run, without it grows as much.
"""

import math
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpcheck.accounting import calibrate
from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise, cross, doubling, rows
from dpcheck.events import Gaussian, Repeated, Sampled
from dpcheck.problems.bilinear import Bilinear
from dpcheck.problems.hinge_game import HingeGame

SMOOTH, KINKS = "yang2022.theorem_2a", "yang2022.theorem_2b"
RADIUS = 12.0  # Theorem 2b's step has no unit; in this one noise costs less than a tenth of the walk from n = 800 on
SHAPES = {  # of the games; L D/G is the slope over the width over about 1.2
    "statistical": {"coupling": 0.1, "slope": 0.25, "place": 0.5, "width": 0.031},
    "privacy": {"coupling": 0.05, "slope": 0.125, "place": 0.5, "width": 0.0125},
    "kinks": {"radius": RADIUS, "coupling": 0.01, "slope": 0.25, "place": -RADIUS / 2, "width": 0.0},
}
_STEPS = 20_000  # of the walk, at most; longer ones are followed in equal leaps
SADDLE, TURNING_RADIUS, TURNING_SPREAD = 1.0, 3.0, 0.05  # of the bilinear game with coupling 1
_DRAWS, _LEAPS = 4000, 2000


def mean_gap(game: HingeGame, steps: float, eta: float, batch: float, sigma_w: float, sigma_v: float) -> float:
    """Weak population gap of the mean iterate of ``steps`` steps of descent ascent with this noise on its gradients."""
    d = game.dim_w
    moved = np.empty(2 * d)
    mean, walked = game.centre * game.bound / math.sqrt(d), walk(game, int(steps), eta)
    chance = game.spread**2 * game.bound**2 / (d * batch)  # of a minibatch's mean
    for part, sigma, sign, at in ((slice(0, d), sigma_w, -1.0, 0), (slice(d, None), sigma_v, 1.0, 1)):
        drift = mean + sign * game.coupling * game.radius / math.sqrt(d)
        held = held_off(eta * drift, eta * math.sqrt(sigma**2 + chance))
        moved[part] = walked[at] / math.sqrt(d) + held - held**2 / (eta * drift * steps)
    return game.weak_gap(moved[None])


def arrival(game: HingeGame, way: float) -> Premise:
    """That steps of this sum lead to the corner well before the end."""
    drift = game.centre * game.bound - game.coupling * game.radius
    return Premise("the steps over those that lead to the corner", way * drift / game.radius, 1.5)


def walk(game: HingeGame, steps: int, eta: float) -> Array:
    """Mean of the iterates without noise, one coordinate of w and of v, times sqrt(d)."""
    leap = -(-steps // _STEPS)
    x = y = 0.0
    total = np.zeros(2)
    for _ in range(steps // leap):
        total += x, y
        g_x = game.coupling * y + game.centre * game.bound + _bend(game, x)
        g_y = game.coupling * x - game.centre * game.bound - _bend(game, y)
        x = max(x - leap * eta * g_x, -game.radius)
        y = max(y + leap * eta * g_y, -game.radius)
    return total / (steps // leap)


def held_off(drift: float, deviation: float) -> float:
    """M: the stationary mean of x -> max(x + N(-drift, deviation^2), 0)."""
    if deviation == 0:
        return 0.0
    k = np.arange(1.0, 60 * max((deviation / drift) ** 2, 1))
    z = np.sqrt(k) * drift / deviation
    positive = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) - z * ndtr(-z)
    return float((deviation / np.sqrt(k) * positive).sum())


def _bend(game: HingeGame, x: float) -> float:
    """Slope of the hinge term."""
    if x <= game.place:
        return 0.0
    return game.slope if x >= game.place + game.width else game.slope * (x - game.place) / game.width


def sample(shape: str, cell: Cell, rng: np.random.Generator) -> HingeGame:
    """Fresh records of the game of this shape."""
    return HingeGame.sample(int(cell["n"]), int(cell["d"]), rng, **SHAPES[shape])


def constants(game: Any, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 2a, and of Theorem 2b where the game has kinks and thus no L."""
    values = {**cell, "G_w": game.lipschitz_w, "G_v": game.lipschitz_v, "D_w": game.radius, "D_v": game.radius}
    return values | {"L": game.smoothness} if math.isfinite(game.smoothness) else values


def predicted(id: str, batch: int | None, game: HingeGame, cell: Cell) -> float:
    """Return the mean weak gap under the theorem's own schedule and noise, and this minibatch where it is another."""
    statement, values = theorem(id), constants(game, cell)
    schedule, noise = statement.schedule(**values), statement.noise(**values)
    return mean_gap(game, schedule["T"], schedule["eta"], batch or schedule["m"], noise["sigma_w"], noise["sigma_v"])


def premises(game: HingeGame, cell: Cell, id: str = SMOOTH) -> Iterable[Premise]:
    """The walk is over soon, and the game of Theorem 2b is not smooth."""
    schedule = theorem(id).schedule(**constants(game, cell))
    yield arrival(game, schedule["T"] * schedule["eta"])
    if id == KINKS:
        yield Premise("the smoothness of the game", game.smoothness, float("inf"))


def reach(solver: Any, game: HingeGame) -> float:
    """Total step times smoothness."""
    return float(solver.eta_w.sum() * game.smoothness)


def coins(cell: Cell, rng: np.random.Generator) -> HingeGame:
    """Fresh records +-1, save the mean 1/sqrt n, in a box of half of the way that sampling errors lead."""
    mean = cell["n"] ** -0.5
    L, slope = 4.0, 1e-6  # the hinge gives the game its L, and nothing to climb
    return HingeGame.sample(
        int(cell["n"]), int(cell["d"]), rng, coupling=0.0, slope=slope, place=0.4 / L, width=slope / L, radius=0.5 / L,
        centre=mean, spread=1 - mean,
    )  # fmt: skip


def tossed(game: HingeGame, cell: Cell) -> float:
    """Return the mean over simulated runs of minibatches of one record, many steps in one."""
    values = constants(game, cell)
    schedule, sigma = theorem(SMOOTH).schedule(**values), theorem(SMOOTH).noise(**values)["sigma_w"]
    rng, leap = np.random.default_rng(0), -(-int(cell["n"]) // _LEAPS)
    wall, unit = game.radius / math.sqrt(game.dim_w), game.bound / math.sqrt(game.dim_w)
    drift = unit * (game.centre + game.spread / math.sqrt(cell["n"]) * rng.standard_normal(_DRAWS))
    deviation = math.hypot(unit * game.spread, sigma) * math.sqrt(leap)
    x, total = np.zeros(_DRAWS), np.zeros(_DRAWS)
    for _ in range(int(cell["n"]) // leap):
        total += x
        x = np.clip(x - schedule["eta"] * (leap * drift + deviation * rng.standard_normal(_DRAWS)), -wall, wall)
    mean = float(total.mean()) / (int(cell["n"]) // leap)
    return game.weak_gap(np.full((1, 2 * game.dim_w), mean))


def half_steps(game: HingeGame | Bilinear, cell: Cell) -> tuple[int, float, int, float]:
    """T, eta, m and the noise of NSEG: Theorem 2a's T and eta, Remark 1's m for the 2T minibatches, least noise."""
    schedule = theorem(SMOOTH).schedule(**constants(game, cell))
    steps = int(schedule["T"])
    sizes = {name: cell[name] for name in ("n", "epsilon", "delta")}
    m = int(theorem("yang2022.theorem_1").schedule(**sizes, T=2 * steps)["m"])
    sensitivity = 2 * math.hypot(game.lipschitz_w, game.lipschitz_v) / m
    multiplier = least(int(cell["n"]), m, 2 * steps, cell["epsilon"], cell["delta"], "without_replacement")
    return steps, schedule["eta"], m, sensitivity * multiplier


@cache
def least(n: int, m: int, count: int, epsilon: float, delta: float, scheme: Any) -> float:
    """Noise multiplier of so many minibatches, the least that the accountant certifies."""

    def events(z: float) -> Repeated:
        return Repeated(Sampled((Gaussian(z),), scheme, n, m, "replace_one"), count)

    return calibrate(events, epsilon, delta)


def corner_of_nseg(game: HingeGame, cell: Cell) -> float:
    """Return the gap of descent ascent, since extrapolation changes no law where gradients hardly change."""
    steps, eta, m, sigma = half_steps(game, cell)
    return mean_gap(game, steps, eta, m, sigma, sigma)


def turning(cell: Cell, rng: np.random.Generator) -> Bilinear:
    """b and c within 5 % of 1: the saddle is (1, -1)."""
    records = np.asarray(SADDLE + TURNING_SPREAD * (2.0 * rng.integers(0, 2, (int(cell["n"]), 2)) - 1.0), float)
    return Bilinear(
        np.asarray(records, dtype=float), coupling=1.0, bound=SADDLE + TURNING_SPREAD, radius=TURNING_RADIUS
    )


def turning_gap(game: Bilinear, outputs: Array) -> float:
    """Weak population gap of the runs, F = w v + w - v."""
    w, v = outputs.mean(0)
    return float(w + v + TURNING_RADIUS * (abs(w - SADDLE) + abs(v + SADDLE)))


def turned(game: Bilinear, cell: Cell) -> float:
    """Return the mean over simulated runs; projections cut the noise off, so that there is no closed form."""
    steps, eta, m, sigma = half_steps(game, cell)
    return turning_gap(game, simulated(steps, eta, math.hypot(sigma, TURNING_SPREAD / math.sqrt(m))))


@cache
def simulated(steps: int, eta: float, deviation: float) -> Array:
    """Means of the extrapolated iterates of independent runs with this deviation of each gradient's entries."""
    rng = np.random.default_rng(0)
    u, total = np.zeros((2, _DRAWS)), np.zeros((2, _DRAWS))
    for _ in range(steps):
        z = np.clip(u - eta * (_field(u) + deviation * rng.standard_normal(u.shape)), -TURNING_RADIUS, TURNING_RADIUS)
        u = np.clip(u - eta * (_field(z) + deviation * rng.standard_normal(u.shape)), -TURNING_RADIUS, TURNING_RADIUS)
        total += z
    return total.T / steps


def _field(z: Array) -> Array:
    """The gradient in w, and minus that in v."""
    return np.stack([z[1] + SADDLE, SADDLE - z[0]])


def phases_of(game: HingeGame, cell: Cell, replaced: bool) -> tuple[int, int, float]:
    """Phases, batch and lam of NISPP, by the table in the head of its file."""
    n = int(cell["n"])
    batch = math.ceil(math.sqrt(n))
    L, D = math.hypot(game.lipschitz_w, game.lipschitz_v), math.hypot(game.radius, game.radius)
    share = max(1.0, math.sqrt(-cell["d"] * math.log(cell["delta"]) / n) / cell["epsilon"])
    phases = n if replaced else n // batch
    return phases, batch, L / D * share * (math.sqrt(n) if replaced else 1 / math.sqrt(phases))


def noise_of(game: HingeGame, cell: Cell, replaced: bool) -> float:
    """Noise of a phase: the least on a solution that a record moves by 4 L/(lam B)."""
    phases, batch, lam = phases_of(game, cell, replaced)
    if replaced:
        multiplier = least(int(cell["n"]), batch, phases, cell["epsilon"], cell["delta"], "with_replacement")
    else:
        multiplier = calibrate(lambda z: (Gaussian(z),), cell["epsilon"], cell["delta"])
    return 4 * math.hypot(game.lipschitz_w, game.lipschitz_v) / (lam * batch) * multiplier


def proximal(game: HingeGame, cell: Cell, replaced: bool) -> float:
    """Return the mean over simulated runs, each phase solved exactly, on its way to the corner and at it."""
    (phases, batch, lam), sigma = phases_of(game, cell, replaced), noise_of(game, cell, replaced)
    rng, d = np.random.default_rng(0), game.dim_w
    wall, mean = game.radius / math.sqrt(d), game.centre * game.bound / math.sqrt(d)
    chance = game.bound / 8 / math.sqrt(d * batch)
    x, total = np.zeros((2, _DRAWS // 10)), np.zeros((2, _DRAWS // 10))
    place, slope = game.place / math.sqrt(d), game.slope / math.sqrt(d)
    for _ in range(phases):
        pull = mean + chance * rng.standard_normal(x.shape) + game.coupling * np.stack([x[1], -x[0]])
        free = x - pull / lam
        bent = np.clip(free, None, np.maximum(place, free - slope / lam))  # beyond its place
        x = np.clip(np.clip(bent, -wall, wall) + sigma * rng.standard_normal(x.shape), -wall, wall)
        total += x
    outputs = np.repeat(total / phases, d, axis=0).T
    return game.weak_gap(outputs)


def walked(game: HingeGame, cell: Cell) -> Iterable[Premise]:
    """The walk is over soon."""
    phases, _, lam = phases_of(game, cell, True)
    yield arrival(game, phases / lam)


def saturation() -> str:
    """Why a single pass shows no rate."""
    multiplier = calibrate(lambda z: (Gaussian(z),), 1.0, ONCE["delta"])
    least_n = (3 * 4 * math.sqrt(2) * multiplier) ** 4
    noise = f"{4 * math.sqrt(2) * multiplier:.3g} D n^(-1/4)"
    return f"the noise of a phase, {noise}, is above a third of the domain's radius D until n = {least_n:.2g}"


def order(game: Any, cell: Cell) -> dict[str, float]:
    """The letters of the order."""
    return {name: cell[name] for name in ("n", "d", "epsilon", "delta")}


OF_DP_SGDA: dict[str, Any] = {
    "algorithm": "dp_sgda", "variant": "as_printed", "quantity": "weak gap of the mean iterate",
    "measure": HingeGame.weak_gap, "constants": constants, "within": 1.15, "attains": "the instance attains the order",
}  # fmt: skip
FEW = {"d": 2, "epsilon": 1.0, "delta": 1e-9}
# Privacy leads by 5 in the theorem's bound, noise is well within the box, and four exponents are told apart best.
NOISY = rows(
    ("n", "d", "epsilon", "delta"), (25_000, 8, 0.02, 1e-9), (25_000, 32, 0.05, 1e-20), (25_000, 64, 0.08, 1e-20),
    (25_000, 128, 0.08, 1e-9), (100_000, 16, 0.01, 1e-20), (100_000, 32, 0.01, 1e-11), (100_000, 32, 0.01, 1e-14),
    (100_000, 32, 0.015, 1e-20), (200_000, 8, 0.01, 1e-20), (200_000, 16, 0.01, 1e-11),
)  # fmt: skip
SIZES = {"d": 2, "epsilon": 1.0, "delta": 1e-8}
ONCE = {"d": 1, "epsilon": 1.0, "delta": 3e-9}
OF_TABLE_1: dict[str, Any] = {
    "theorem": SMOOTH, "order_only": True, "quantity": "weak gap of the mean iterate", "constants": order,
}  # fmt: skip
CORNER: dict[str, Any] = OF_TABLE_1 | {
    "sample": partial(sample, "statistical"), "measure": HingeGame.weak_gap, "factors": ("n",), "regime": "statistical",
}  # fmt: skip

EXPERIMENTS = (
    Experiment(
        name="theorem_2a.statistical", theorem=SMOOTH, regime="statistical", sample=partial(sample, "statistical"),
        factors=("n",), grid=Grid(cross(FEW, n=doubling(1024, 16_384)), 20), predicted=partial(predicted, SMOOTH, None),
        runs=lambda cell: int(2 * 2**14 / cell["n"]), premises=premises, reach=reach, **OF_DP_SGDA,
    ),
    Experiment(
        name="theorem_2a.sampling", theorem=SMOOTH, regime="statistical", sample=coins, factors=("n",), data_sets=6,
        grid=Grid(cross({"d": 1, "epsilon": 1.0, "delta": 2e-10}, n=doubling(2**13, 2**16)), 30), predicted=tossed,
        settings=lambda game, cell: {"batch": 1}, clear=None, **OF_DP_SGDA,
    ),
    Experiment(
        name="theorem_2a.privacy", theorem=SMOOTH, regime="privacy", sample=partial(sample, "privacy"),
        larger=True,  # it is in proportion to N/n
        factors=("n", "d", "epsilon", LOG_DELTA), clear=2.5, grid=Grid(NOISY, 12),
        predicted=partial(predicted, SMOOTH, 1),
        settings=lambda game, cell: {"batch": 1},  # the printed noise, which hides the records' own, does not know m
        runs=lambda cell: max(1, round(3e6 / (cell["d"] * cell["n"]))),
        premises=premises, reach=reach, **OF_DP_SGDA,
    ),
    Experiment(
        name="theorem_2b.statistical", theorem=KINKS, regime="statistical", sample=partial(sample, "kinks"),
        factors=("n",), predicted=partial(predicted, KINKS, None), premises=partial(premises, id=KINKS),
        settings=lambda game, cell: {"theorem": "2b"},
        clear=3.0,
        grid=Grid(cross({"d": 3, "epsilon": 1.0, "delta": 9e-8}, n=doubling(800, 3200)), 8),
        runs=lambda cell: max(1, round(3 * (800 / cell["n"]) ** 1.3)), **OF_DP_SGDA,
    ),
    Experiment(
        name="table_1.statistical", algorithm="nseg", predicted=corner_of_nseg, within=1.15, premises=premises,
        attains="the instance attains the order", grid=Grid(cross(SIZES, n=doubling(1024, 8192)), 16),
        runs=lambda cell: int(8 * 1024 / cell["n"]), **CORNER,
    ),
    Experiment(
        name="table_1.turning", algorithm="nseg", sample=turning, measure=turning_gap, factors=(), predicted=turned,
        within=1.2, grid=Grid(cross(ONCE, n=(2854,)), 20), runs=100, **OF_TABLE_1,
    ),
    Experiment(
        name="table_1.with_replacement", algorithm="nispp",
        settings=lambda game, cell: {"sampling": "with_replacement"},
        predicted=lambda game, cell: proximal(game, cell, True), within=1.15, premises=walked,
        attains="the instance attains the order", grid=Grid(cross(ONCE, n=(4000, 8000, 16_000)), 12),
        runs=lambda cell: int(16_000 / cell["n"]), **CORNER,
    ),
    Experiment(
        name="table_1.single_pass", algorithm="nispp", predicted=lambda game, cell: proximal(game, cell, False),
        within=1.1, clear=None, unreachable=saturation(), grid=Grid(cross(ONCE, n=(512, 1024, 2048)), 8), runs=30,
        **CORNER,
    ),
)  # fmt: skip
