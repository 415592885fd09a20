"""Theorems 4.3 and 4.5 and Corollary B.6 of Zhang et al. 2022 measured, on quadratic games whose saddle is known.

Theorem 4.3, Algorithm 3. The released point is the records' saddle and N(0, sigma_x^2 I), N(0, sigma_y^2 I), which no
projection moves while the domains' ends are far, so that the expected strong gap is

    (mu_x + a^2/mu_y)/2 (E |w_S - w*|^2 + d sigma_x^2) + (mu_y + a^2/mu_x)/2 (E |v_S - v*|^2 + d sigma_y^2),

two terms with the powers of the theorem's: for privacy the records differ little, for the statistical term they lie
on a cube's corners. With one joint Gaussian, by inequality (12), sigma_x and sigma_y are those of the theorem for twice
the epsilon and delta.

Theorem 4.5, Algorithms 4 and 5, apart and together, for privacy; Corollary B.6 and its mirror image, with one strongly
curved side. Games are linear in what is released, as in the measurement of Theorem 3.4, with the slope mu D/5, so that
the regularisers let it go a fifth of the way: what is left is .16 mu D^2, of the order of the bound up to one
log2(n) in Theorem 4.5, which asks for log2(n)^2. The curved side of the corollary is 16 mu, so steep that the second
line of its bound, which has the powers of the first then, is a fifth of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Constants, ball
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.zhang2022.rate_minimisation import Moments, moments, phases
from dpcheck.checks.experiment import LOG_DELTA, Cell, Experiment, Grid, Premise, cross, doubling, rows
from dpcheck.problems.quadratic import Quadratic

AT_ONCE, PHASED, ONE_SIDED = "zhang2022.theorem_4_3", "zhang2022.theorem_4_5", "zhang2022.corollary_b_6"
PARTS = ("w", "v")


@dataclass(frozen=True, eq=False)
class Game(Quadratic):
    """mu_x/2 |w|^2 + a <w, v> - mu_y/2 |v|^2 + <b, w> - <c, v>, (b, c) about means with the saddle (p e_1, p e_1).

    lipschitz : declared L >= hypot(G_w, G_v), a public constant;  at : p
    spread : no entry of b or c is further than spread/sqrt(d) from its mean
    variance : of a record over spread^2, 1/3 where it is uniform and 1 where it is on the corners
    """

    lipschitz: float = 1.0
    at: float = 0.0
    spread: float = 0.0
    variance: float = 1 / 3
    name: str = "game"

    def constants(self) -> Constants:
        """The declared constant is shared by w and v."""
        share = self.lipschitz / math.sqrt(2)
        return replace(super().constants(), lipschitz_w=share, lipschitz_v=share)

    def bend(self, part: str) -> float:
        """Curvature in w of max over v, or in v of min over w."""
        here, other = (self.mu_x, self.mu_y) if part == "w" else (self.mu_y, self.mu_x)
        return here + self.coupling**2 / other

    def sampling(self, part: str) -> float:
        """E |w_S - w*|^2, or of v."""
        one = math.hypot(1, self.coupling / (self.mu_y if part == "w" else self.mu_x)) / self.bend(part)
        return one**2 * self.variance * self.spread**2 / len(self.records)


def game(
    n: int, d: int, rng: np.random.Generator, *, mu_x: float, mu_y: float, coupling: float, at: float, spread: float,
    corners: bool = False, radius: float = 1.0,
) -> Game:  # fmt: skip
    """``n`` records of a population with its saddle there; L is the least."""
    means = np.zeros((2, d))
    means[:, 0] = -(mu_x + coupling) * at, (coupling - mu_y) * at
    places: Array = rng.integers(0, 2, (n, 2 * d)).astype(float) if corners else rng.random((n, 2 * d))
    records = spread / math.sqrt(d) * (2 * places - 1) + means.ravel()
    bound = float(np.abs(means[:, 0]).max()) + spread
    lipschitz = math.sqrt(2) * ((max(mu_x, mu_y) + coupling) * radius + bound)
    return Game(
        records, mu_x, mu_y, coupling, bound, radius, lipschitz=lipschitz, at=at, spread=spread,
        variance=1.0 if corners else 1 / 3,
    )  # fmt: skip


DISTANCE = 0.05  # of the saddle from the start, in w and in v
MODULI: dict[str, Any] = {"mu_x": 1.0, "mu_y": 1.1, "coupling": 0.1, "at": DISTANCE}


def sample_at_once(cell: Cell, rng: np.random.Generator) -> Game:
    """Moduli with which a solver takes few passes, and a small L."""
    return game(int(cell["n"]), int(cell["d"]), rng, **MODULI, spread=0.01)


def sample_corners(cell: Cell, rng: np.random.Generator) -> Game:
    """The same with records that differ much, in a smaller domain, which makes L small beside their spread."""
    return game(int(cell["n"]), int(cell["d"]), rng, **MODULI, spread=0.9, corners=True, radius=0.2)


def gap(problem: Game, outputs: Array) -> float:
    """The mean strong gap."""
    away = outputs.reshape(len(outputs), 2, -1).copy()
    away[:, :, 0] -= problem.at
    squares = (away**2).sum(2).mean(0)
    return 0.5 * sum(problem.bend(part) * float(square) for part, square in zip(PARTS, squares, strict=True))


def expected_gap(problem: Game, outputs: Array) -> float:
    """The same; the part of it that the records' saddle has is replaced by its expectation, which spares chance."""
    chance = 0.0
    for part, solution in zip(PARTS, problem.saddle(), strict=True):
        away = solution - problem.at * np.eye(len(solution))[0]
        chance += 0.5 * problem.bend(part) * (float(away @ away) - problem.sampling(part))
    return gap(problem, outputs) - chance


def constants_at_once(problem: Game, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 4.3."""
    return {
        **cell, "L": problem.lipschitz, "ell": problem.smoothness, "mu_x": problem.mu_x, "mu_y": problem.mu_y,
    }  # fmt: skip


def noise(problem: Game, cell: Cell, joint: bool) -> dict[str, float]:
    """E |noise|^2 in each part."""
    times = 2 if joint else 1
    values = constants_at_once(problem, cell) | {name: times * cell[name] for name in ("epsilon", "delta")}
    sigmas = theorem(AT_ONCE).noise(**values)
    return {"w": cell["d"] * sigmas["sigma_x"] ** 2, "v": cell["d"] * sigmas["sigma_y"] ** 2}


def predicted_at_once(problem: Game, cell: Cell, *, joint: bool) -> float:
    """Sampling error and noise."""
    squares = noise(problem, cell, joint)
    return 0.5 * sum(problem.bend(part) * (squares[part] + problem.sampling(part)) for part in PARTS)


def premises_at_once(problem: Game, cell: Cell, *, joint: bool) -> Iterable[Premise]:
    """The solver has a way to go, and the noise stays in the domains."""
    least = min(problem.mu_x, problem.mu_y)
    size = math.sqrt(max(noise(problem, cell, joint).values()))
    yield Premise("distance from the start to the saddle over the solver's accuracy",
                  DISTANCE * least * cell["n"] / problem.lipschitz, 5.0)  # fmt: skip
    yield Premise("distance to the domains' ends over the noise", (problem.radius - DISTANCE) / size, 1.5)


# Theorem 4.5 and Corollary B.6, in units of D = 1 and L = 1
WAY = 1 / 5  # slope over mu: the part of the way to the end of the domain that the regularisers allow
CURVED, FLAT = 16.0, 0.4  # curvature of the side that is not released, over mu
NONE = 1e-12  # curvature of a side that is linear


@dataclass(frozen=True, eq=False)
class Slopes(Quadratic):
    """<b, w> - <c, v> with the same b = c = slope e_1 in all records; a side that is curved has no slope."""

    slope: float = 1.0
    released: tuple[str, ...] = PARTS

    @property
    def reach(self) -> float:
        return self.radius_of("v")

    @property
    def domain_w(self) -> Array:
        """The ball of w."""
        return ball(self.dim_w, self.radius_of("w"))

    def radius_of(self, part: str) -> float:
        """1, and of a curved side what keeps its slopes below a half."""
        curvature = self.mu_x if part == "w" else self.mu_y
        return 1.0 if curvature == NONE else 0.5 / curvature

    def constants(self) -> Constants:
        """L = 1 is declared, and shared by w and v."""
        return replace(super().constants(), lipschitz_w=math.sqrt(0.5), lipschitz_v=math.sqrt(0.5))


@lru_cache(maxsize=1)  # equal records take longer to make than to run on
def _slopes(n: int, d: int, mu: float, released: tuple[str, ...], curved: float) -> Slopes:
    records = np.zeros((n, 2, d))
    for number, part in enumerate(PARTS):
        records[:, number, 0] = WAY * mu if part in released or not curved else 0.0
    mu_x, mu_y = (NONE if part in released else curved * mu if curved else NONE for part in PARTS)
    return Slopes(records.reshape(n, -1), mu_x, mu_y, coupling=0.0, bound=WAY * mu, slope=WAY * mu, released=released)


def sample_phased(cell: Cell, rng: np.random.Generator, *, parts: tuple[str, ...], curved: float) -> Slopes:
    """The game whose slopes are in proportion to the theorem's mu, which does not depend on mu_y."""
    return _slopes(int(cell["n"]), int(cell["d"]), regulariser(cell, curved), parts, curved)


def regulariser(cell: Cell, curved: float) -> float:
    """The mu of Theorem 4.5 or of Corollary B.6."""
    of, known = (ONE_SIDED, {"mu_y": 1.0}) if curved else (PHASED, {})
    return float(theorem(of).schedule(**cell, L=1.0, D=1.0, **known)["mu"])


def constants_phased(problem: Any, cell: Cell, *, curved: float) -> dict[str, float]:
    """The parameters of Theorem 4.5 or of Corollary B.6."""
    return {**cell, "L": 1.0, "D": 1.0} | ({"mu_y": curved * regulariser(cell, curved)} if curved else {})


def loss(problem: Slopes, outputs: Array) -> float:
    """The weak gap, or the part of it that the released part is to blame for."""
    ends = outputs.reshape(len(outputs), 2, -1)[:, :, 0].mean(0)
    return problem.slope * sum(1.0 + float(ends[PARTS.index(part)]) for part in problem.released)


def spread(problem: Slopes, outputs: Array) -> float:
    """Mean squared distance of what is released to the end of the domain where the loss is least."""
    away = outputs.reshape(len(outputs), 2, -1).copy()
    away[:, :, 0] += 1.0
    squares = (away**2).sum(2).mean(0)
    return float(sum(squares[PARTS.index(part)] for part in problem.released))


def moved(problem: Slopes, cell: Cell, curved: float) -> Moments:
    """Of a released part about the end of the domain, the same for each part."""
    of = phases(ONE_SIDED if curved else PHASED, **constants_phased(problem, cell, curved=curved))
    return moments(of, d=problem.dim_w, curvature=0.0, slope=problem.slope, spread=0.0, radius=1.0, point=-1.0)


def predicted_phased(problem: Slopes, cell: Cell, *, curved: float) -> float:
    """The loss from the theorem's phases."""
    return len(problem.released) * problem.slope * moved(problem, cell, curved).mean


def predicted_spread(problem: Slopes, cell: Cell, *, curved: float) -> float:
    """That distance from the theorem's phases."""
    return len(problem.released) * moved(problem, cell, curved).square


def premises_phased(problem: Slopes, cell: Cell, *, curved: float) -> Iterable[Premise]:
    """The declared L is one, noise leaves room in the domain, and the start is not the end."""
    of = phases(ONE_SIDED if curved else PHASED, **constants_phased(problem, cell, curved=curved))
    noise = math.sqrt(problem.dim_w * sum(phase.sigma**2 for phase in of))
    yield Premise("the declared Lipschitz constant over the least", problem.lipschitz_w / problem.slope, 1.0)
    yield Premise("distance to the domain's end over all the noise", 1 / noise, 1.1)
    apart = loss(problem, problem.start[None]) / predicted_phased(problem, cell, curved=curved)
    yield Premise("the measure at the start over the predicted one", apart, 1.2)


def at_once(algorithm: str, regime: str, grid: Grid, *, joint: bool = False, **more: Any) -> Experiment:
    """One regime of Theorem 4.3 with one of the two ways to add noise."""
    return Experiment(
        name=f"theorem_4_3.{regime}", regime=regime, algorithm=algorithm, theorem=AT_ONCE,
        quantity="strong population gap", constants=constants_at_once,
        predicted=partial(predicted_at_once, joint=joint), premises=partial(premises_at_once, joint=joint), clear=None,
        settings=lambda problem, cell: {"base": "gda"}, grid=grid, within=1.08,
        attains="the instance attains the order", **more,
    )  # fmt: skip


def phased(
    algorithm: str, parts: tuple[str, ...], base: str, cells: tuple[Cell, ...], seeds: int, runs: float, *,
    curved: float = 0.0,
) -> Experiment:  # fmt: skip
    """Theorem 4.5 or Corollary B.6 with an algorithm that releases ``parts``."""
    names = {
        "w": "largest expected value of the released w, less the saddle's",
        "v": "saddle's value less the least expected one of the released v",
    }
    kind: dict[str, Any] = {"curved": curved}
    return Experiment(
        name="corollary_b_6.privacy" if curved else "theorem_4_5.privacy", regime="privacy", algorithm=algorithm,
        theorem=ONE_SIDED if curved else PHASED, measure=loss,
        quantity="weak population gap" if parts == PARTS else names[parts[0]],
        sample=partial(sample_phased, parts=parts, **kind), constants=partial(constants_phased, **kind),
        predicted=partial(predicted_phased, **kind), premises=partial(premises_phased, **kind), clear=None,
        settings=lambda problem, cell: {"base": base}, factors=FACTORS, grid=Grid(cells, seeds),
        runs=lambda cell: math.ceil(runs / cell["d"] / len(parts)), within=1.12,
        attains="the instance attains the order" + ("" if curved else " save one log2(n)"),
    )  # fmt: skip


def noisy(algorithm: str, parts: tuple[str, ...], base: str, curved: float = 0.0) -> Experiment:
    """The noise of Theorem 4.5 or Corollary B.6, of which a loss that is linear knows nothing, at one point."""
    kind: dict[str, Any] = {"curved": curved}
    return Experiment(
        name="corollary_b_6.noise" if curved else "theorem_4_5.noise", algorithm=algorithm,
        theorem=ONE_SIDED if curved else PHASED, order_only=True, measure=spread, factors=(),
        quantity="squared distance of what is released to the end of the domain",
        sample=partial(sample_phased, parts=parts, **kind), constants=partial(constants_phased, **kind),
        predicted=partial(predicted_spread, **kind), premises=partial(premises_phased, **kind), clear=None,
        settings=lambda problem, cell: {"base": base}, grid=Grid(NOISE_CELLS, 12), runs=20, within=1.1,
    )  # fmt: skip


FACTORS = ("n", "d", "epsilon", LOG_DELTA)
SIZES = ("n", "d", "epsilon", "delta")
BASE = {"n": 2**13, "d": 90, "epsilon": 0.4, "delta": 1e-6}
AT_ONCE_CELLS = (
    *cross(BASE, d=(32, 90, 256), epsilon=(0.15, 1.0), delta=(3e-5, 1e-12)),
    *cross(BASE | {"epsilon": 0.7}, n=(2500, 2**13, 14_000)),
)
HALF = (  # the joint noise is half as large, and has log(2.5/delta) for log(5/delta), which tells where delta is large
    *cross(BASE | {"epsilon": 0.2}, d=(32, 90, 256), epsilon=(0.075, 0.5), delta=(1e-12, 1e-20)),
    *cross(BASE | {"epsilon": 0.35}, n=(2500, 2**13, 14_000)),
)
# Privacy leads by 5 and slopes keep below L; of such points these tell four exponents apart best.
PHASED_CELLS = rows(
    SIZES, (2**13, 16, 0.2, 1e-12), (2**13, 128, 0.4, 1e-5), (2**14, 32, 0.1, 1e-12), (2**14, 64, 0.1, 1e-5),
    (2**14, 64, 0.1, 1e-6), (2**14, 128, 0.2, 1e-12), (2**14, 128, 0.4, 1e-10), (2**15, 32, 0.1, 1e-5),
    (2**15, 64, 0.2, 1e-12),
)  # fmt: skip
ONE_SIDED_CELLS = rows(
    SIZES, (2**13, 16, 0.1, 1e-5), (2**14, 128, 0.2, 1e-12), (2**15, 32, 0.05, 1e-10), (2**15, 32, 0.05, 1e-12),
    (2**15, 32, 0.1, 1e-8), (2**15, 32, 0.1, 1e-10), (2**15, 64, 0.05, 1e-5), (2**15, 64, 0.05, 1e-6),
    (2**15, 64, 0.1, 1e-5),
)  # fmt: skip
NOISE_CELLS = rows(SIZES, (2**12, 64, 0.4, 1e-5))
LARGE_AT_ONCE = cross({"d": 1, "epsilon": 1.0, "delta": 9e-7}, n=doubling(2**17, 2**20))

SMALL: dict[str, Any] = {
    "sample": sample_at_once, "measure": gap, "factors": FACTORS, "runs": lambda cell: round(20_000 / cell["d"]),
}  # fmt: skip
EXPERIMENTS = (
    phased("phased_convex_strongly_concave", ("w",), "saddle_svrg", ONE_SIDED_CELLS, 16, 90, curved=CURVED),
    phased("phased_strongly_convex_concave", ("v",), "saddle_svrg", ONE_SIDED_CELLS, 16, 90, curved=CURVED),
    at_once("minimax_output_perturbation", "privacy", Grid(AT_ONCE_CELLS, 12), **SMALL),
    at_once("minimax_output_perturbation_joint", "privacy", Grid(HALF, 12), joint=True, **SMALL),
    at_once(
        "minimax_output_perturbation",
        "statistical",
        Grid(LARGE_AT_ONCE, 12),
        sample=sample_corners,
        measure=expected_gap,
        factors=("n",),
        runs=lambda cell: int(2**25 / cell["n"]),
    ),
    phased("phased_minimax_output_perturbation", PARTS, "gda", PHASED_CELLS, 16, 600),
    phased("phased_primal", ("w",), "gda", PHASED_CELLS, 16, 600),
    phased("phased_dual", ("v",), "gda", PHASED_CELLS, 16, 600),
    noisy("phased_convex_strongly_concave", ("w",), "saddle_svrg", FLAT),
    noisy("phased_strongly_convex_concave", ("v",), "saddle_svrg", FLAT),
    noisy("phased_primal", ("w",), "gda"),
    noisy("phased_dual", ("v",), "gda"),
)
