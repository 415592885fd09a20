"""Theorems 4.3 and 4.5 and Corollary B.6 of Zhang et al. 2022 measured, on quadratic games whose saddle is known.

Theorem 4.3, Algorithm 3. The released point is the records' saddle and N(0, sigma_x^2 I), N(0, sigma_y^2 I), which no
projection moves while the domains' ends are far, so that the expected strong gap is

    (mu_x + a^2/mu_y)/2 (E |w_S - w*|^2 + d sigma_x^2) + (mu_y + a^2/mu_x)/2 (E |v_S - v*|^2 + d sigma_y^2),

two terms with the powers of the theorem's, of which the sampling errors are small here. With one joint Gaussian, by
inequality (12), sigma_x and sigma_y are those of the theorem for twice the epsilon and delta.

Theorem 4.5, Algorithms 4 and 5, apart and together, for privacy; Corollary B.6 and its mirror image, with one strongly
curved side. mu is so large that the noise of all phases together is a fixed share of D, .87 in Theorem 4.5, whatever n,
d and epsilon. Games whose slopes and curvatures are fixed shares of mu D and mu then cost a fixed share of mu D^2,
which is the order of the bound up to one log2(n), and of both lines of the corollary's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array, Constants
from dpcheck.bounds.registry import theorem
from dpcheck.catalogue.zhang2022.rate_minimisation import Moments, Phase, moments, phases
from dpcheck.checks.experiment import Cell, Experiment, Grid, Premise, cross, doubling
from dpcheck.problems.quadratic import Quadratic

AT_ONCE, PHASED, ONE_SIDED = "zhang2022.theorem_4_3", "zhang2022.theorem_4_5", "zhang2022.corollary_b_6"
PARTS = ("w", "v")


@dataclass(frozen=True, eq=False)
class Game(Quadratic):
    """mu_x/2 |w|^2 + a <w, v> - mu_y/2 |v|^2 + <b, w> - <c, v>, (b, c) about means with the saddle (p e_1, q e_1).

    lipschitz : declared L >= hypot(G_w, G_v), a public constant;  radius_v : of v's ball;  at : (p, q)
    spread : no entry of b or c is further than spread/sqrt(d) from its mean, uniformly
    """

    radius_v: float = 1.0
    lipschitz: float = 1.0
    at: tuple[float, float] = (0.0, 0.0)
    spread: float = 0.0
    name: str = "game"

    @property
    def reach(self) -> float:
        return self.radius_v

    def constants(self) -> Constants:
        """The declared constant is shared by w and v."""
        share = self.lipschitz / math.sqrt(2)
        return replace(super().constants(), lipschitz_w=share, lipschitz_v=share)

    @property
    def slack(self) -> float:
        """The declared constants over the least true ones; at least 1 where the declaration holds."""
        G_w = self.mu_x * self.radius + self.coupling * self.radius_v + self.bound
        G_v = self.mu_y * self.radius_v + self.coupling * self.radius + self.bound
        return float(self.lipschitz_w / max(G_w, G_v))

    def side(self, part: str) -> Side:
        """Return the game as one part, w or v, sees it."""
        w, v = self.at
        if part == "w":
            return Side(self.mu_x, self.mu_y, self.coupling, w, v, self.radius, self.radius_v)
        return Side(self.mu_y, self.mu_x, -self.coupling, v, w, self.radius_v, self.radius)


@dataclass(frozen=True)
class Side:
    """own, other : curvatures;  coupling : with the sign that it has for this part;  at, elsewhere : the saddle."""

    own: float
    other: float
    coupling: float
    at: float
    elsewhere: float
    radius: float
    radius_other: float

    def centre(self, regulariser: float) -> tuple[float, float]:
        """Curvature h and solution of this part where the other one answers with ``regulariser`` added to it.

        own x + coupling y + b = 0 and y = (coupling x - c)/(other + regulariser); b and c from the saddle.
        """
        b = -self.own * self.at - self.coupling * self.elsewhere
        c = self.coupling * self.at - self.other * self.elsewhere
        answer = self.coupling / (self.other + regulariser)
        h = self.own + self.coupling * answer
        return h, (answer * c - b) / h

    def farthest(self, regulariser: float) -> float:
        """A bound on the other part's answer to any point of this part's domain."""
        c = self.coupling * self.at - self.other * self.elsewhere
        return (abs(self.coupling) * self.radius + abs(c)) / (self.other + regulariser)

    def spread(self, regulariser: float) -> float:
        """Standard deviation of one record's solution over that of an entry of b or c."""
        return math.hypot(1, self.coupling / (self.other + regulariser)) / self.centre(regulariser)[0]

    def loss(self, mean: float, square: float) -> float:
        """max over the other part of E F, less the saddle's value: own/2 E|x - x*|^2 + a^2/(2 other) |E x - x*|^2.

        mean : |E x - x*|, or its square's root;  square : E |x - x*|^2
        """
        return 0.5 * self.own * square + 0.5 * self.coupling**2 / self.other * mean**2

    def answer(self, mean: float) -> float:
        """Where the other part's maximum lies, for E x - x* = mean e_1."""
        return self.elsewhere + self.coupling / self.other * mean


def game(
    n: int, d: int, rng: np.random.Generator, *, mu_x: float, mu_y: float, coupling: float, at: tuple[float, float],
    spread: float, radius: float = 1.0, radius_v: float = 1.0, lipschitz: float | None = None,
) -> Game:  # fmt: skip
    """``n`` records of a population with its saddle there; L is the least by default."""
    w, v = at
    means = np.zeros((2, d))
    means[:, 0] = -mu_x * w - coupling * v, coupling * w - mu_y * v
    records = spread / math.sqrt(d) * (2 * rng.random((n, 2 * d)) - 1) + means.ravel()
    bound = float(np.abs(means[:, 0]).max()) + spread
    if lipschitz is None:
        G = max(mu_x * radius + coupling * radius_v, mu_y * radius_v + coupling * radius) + bound
        lipschitz = math.sqrt(2) * G
    return Game(
        records, mu_x, mu_y, coupling, bound, radius, radius_v=radius_v, lipschitz=lipschitz, at=at, spread=spread
    )


def deviations(problem: Game, outputs: Array, part: str) -> Array:
    """x - x* of the part : (R, d)."""
    away = outputs[:, : problem.dim_w].copy() if part == "w" else outputs[:, problem.dim_w :].copy()
    away[:, 0] -= problem.side(part).at
    return away


def loss(problem: Game, outputs: Array, *, parts: tuple[str, ...] = PARTS) -> float:
    """The weak gap, or the part of it that w or v is to blame for, estimated without bias from independent runs.

    |E x - x*|^2 is the mean of <x - x*, x' - x*> over pairs of different runs.
    """
    total, R = 0.0, len(outputs)
    for part in parts:
        away = deviations(problem, outputs, part)
        squares = float((away**2).sum())
        pairs = (float((away.sum(0) ** 2).sum()) - squares) / (R * (R - 1)) if R > 1 else squares
        side = problem.side(part)
        total += 0.5 * side.own * squares / R + 0.5 * side.coupling**2 / side.other * pairs
    return total


def released(problem: Game, part: str, of: tuple[Phase, ...], regulariser: float) -> Moments:
    """Moments of the last released x - x* of a part, where the other answers with regulariser/2 |.|^2 added."""
    side = problem.side(part)
    curvature, centre = side.centre(regulariser)
    entry = problem.spread / math.sqrt(3 * problem.dim_w)
    return moments(
        of, d=problem.dim_w, curvature=curvature, centre=centre, spread=side.spread(regulariser) * entry,
        radius=side.radius, point=side.at,
    )  # fmt: skip


DISTANCE = 0.05  # of the saddle from the start, in w and in v


def sample_at_once(cell: Cell, rng: np.random.Generator) -> Game:
    """mu_x = 1, mu_y = 1.1, coupling 0.1: few passes for a solver, and a small L."""
    return game(
        int(cell["n"]), int(cell["d"]), rng, mu_x=1.0, mu_y=1.1, coupling=0.1, at=(DISTANCE, DISTANCE), spread=0.01
    )


def strong(problem: Game, part: str, square: float) -> float:
    """Return the share of the strong gap that is due to |x - x*|^2 of a part."""
    side = problem.side(part)
    return 0.5 * (side.own + side.coupling**2 / side.other) * square


def gap(problem: Game, outputs: Array) -> float:
    """The mean strong gap."""
    squares = ((deviations(problem, outputs, part) ** 2).sum(1).mean() for part in PARTS)
    return sum(strong(problem, part, float(square)) for part, square in zip(PARTS, squares, strict=True))


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
    squares, entries = noise(problem, cell, joint), problem.spread**2 / (3 * cell["n"])
    return sum(strong(problem, part, squares[part] + problem.side(part).spread(0) ** 2 * entries) for part in PARTS)


def premises_at_once(problem: Game, cell: Cell, *, joint: bool) -> Iterable[Premise]:
    """The solver has a way to go, and the noise stays in the domains."""
    least = min(problem.mu_x, problem.mu_y)
    size = math.sqrt(max(noise(problem, cell, joint).values()))
    yield Premise("distance from the start to the saddle over the solver's accuracy",
                  DISTANCE * least * cell["n"] / problem.lipschitz, 5.0)  # fmt: skip
    yield Premise("distance to the domains' ends over the noise", (problem.radius - DISTANCE) / size, 1.5)


# Theorem 4.5 and Corollary B.6, in units of D = 1
SHARE, AT = 0.015, (0.5, 0.5)  # Theorem 4.5: curvatures over mu, and the saddle's first coordinates
FLAT, CURVED, COUPLING = 0.03, 0.4, 0.02  # Corollary B.6, over mu
AT_ONE_SIDED, RADII = (0.4, 0.01), (1.0, 0.085)  # of the released part, and of the strongly curved one
# Slopes stay below L for the largest mu of the grid.


def sample_phased(cell: Cell, rng: np.random.Generator) -> Game:
    """Curvatures .015 mu and coupling half of that."""
    mu = SHARE * theorem(PHASED).schedule(**constants_phased(None, cell))["mu"]
    return game(
        int(cell["n"]), int(cell["d"]), rng, mu_x=mu, mu_y=mu, coupling=mu / 2, at=AT, spread=0.02, lipschitz=1.0
    )


def sample_one_sided(cell: Cell, rng: np.random.Generator, *, part: str) -> Game:
    """Curvatures and coupling in shares of mu, which does not depend on mu_y; ``part`` is released."""
    mu = theorem(ONE_SIDED).schedule(**cell, L=1.0, D=1.0, mu_y=1.0)["mu"]
    flat, curved, at, radii = FLAT * mu, CURVED * mu, AT_ONE_SIDED, RADII
    mu_x, mu_y, at, radii = (flat, curved, at, radii) if part == "w" else (curved, flat, at[::-1], radii[::-1])
    return game(
        int(cell["n"]), int(cell["d"]), rng, mu_x=mu_x, mu_y=mu_y, coupling=COUPLING * mu, at=at, spread=0.02,
        radius=radii[0], radius_v=radii[1], lipschitz=1.0,
    )  # fmt: skip


def constants_phased(problem: Any, cell: Cell) -> dict[str, float]:
    """The parameters of Theorem 4.5: L = 1 and D = 1."""
    return {**cell, "L": 1.0, "D": 1.0}


def constants_one_sided(problem: Game, cell: Cell, *, part: str) -> dict[str, float]:
    """The parameters of Corollary B.6."""
    return {**cell, "L": 1.0, "D": 1.0, "mu_y": problem.side(part).other}


def phases_and_regulariser(problem: Game, cell: Cell, *, part: str, one_sided: bool) -> tuple[tuple[Phase, ...], float]:
    """The phases that release a part, and half of the modulus that the other one gets: none where it is curved."""
    if one_sided:
        return phases(ONE_SIDED, **constants_one_sided(problem, cell, part=part)), 0.0
    of = phases(PHASED, **constants_phased(problem, cell))
    return of, of[0].mu / 2


def predicted_phased(problem: Game, cell: Cell, *, parts: tuple[str, ...], one_sided: bool) -> float:
    """The loss, or the gap where both parts are released, from the theorem's phases."""
    return sum(
        problem.side(part).loss(
            *released(problem, part, *phases_and_regulariser(problem, cell, part=part, one_sided=one_sided))
        )
        for part in parts
    )


def premises_phased(problem: Game, cell: Cell, *, parts: tuple[str, ...], one_sided: bool) -> Iterable[Premise]:
    """The declared L is one, noise leaves room in the domain, all answers are inside, and the start is not the end."""
    for part in parts:
        of, regulariser = phases_and_regulariser(problem, cell, part=part, one_sided=one_sided)
        side, moved = problem.side(part), released(problem, part, of, regulariser)
        noise = math.sqrt(problem.dim_w * sum(phase.sigma**2 for phase in of))
        start = side.loss(side.at, side.at**2)
        yield Premise("the declared Lipschitz constant over the least", problem.slack, 1.0)
        yield Premise("distance to the domain's end over all the noise", side.radius / noise, 1.1)
        inside = side.radius_other / max(side.farthest(regulariser), abs(side.answer(moved.mean)))
        yield Premise("distance to the domain's end over the answers of the other part", inside, 1.0)
        apart = abs(start / side.loss(*moved) - 1)
        yield Premise("how far the measure at the start is from the predicted one, relative to it", apart, 0.2)


def at_once(algorithm: str, joint: bool, cells: tuple[Cell, ...]) -> Experiment:
    """Theorem 4.3 with one of the two ways to add noise."""
    return Experiment(
        name="theorem_4_3.privacy", regime="privacy", algorithm=algorithm, theorem=AT_ONCE,
        quantity="strong population gap", sample=sample_at_once, measure=gap, constants=constants_at_once,
        predicted=partial(predicted_at_once, joint=joint), premises=partial(premises_at_once, joint=joint), clear=None,
        settings=lambda problem, cell: {"base": "gda"}, factors=("n", "d", "epsilon"), grid=Grid(cells, 12),
        runs=lambda cell: round(20_000 / cell["d"]), within=1.08,
        attains="the instance attains the order",
    )  # fmt: skip


def phased(
    algorithm: str, parts: tuple[str, ...], base: str, grid: Grid, runs: Callable[[Cell], int],
    one_sided: bool = False,
) -> Experiment:  # fmt: skip
    """Theorem 4.5 or Corollary B.6 with an algorithm that releases ``parts``."""
    names = {
        "w": "largest expected value of the released w, less the saddle's",
        "v": "saddle's value less the least expected one of the released v",
    }
    alone: dict[str, Any] = {"part": parts[0]}
    return Experiment(
        name="corollary_b_6.privacy" if one_sided else "theorem_4_5.privacy", regime="privacy", algorithm=algorithm,
        theorem=ONE_SIDED if one_sided else PHASED, measure=partial(loss, parts=parts),
        quantity="weak population gap" if parts == PARTS else names[parts[0]],
        sample=partial(sample_one_sided, **alone) if one_sided else sample_phased,
        constants=partial(constants_one_sided, **alone) if one_sided else constants_phased,
        predicted=partial(predicted_phased, parts=parts, one_sided=one_sided),
        premises=partial(premises_phased, parts=parts, one_sided=one_sided), clear=None,
        settings=lambda problem, cell: {"base": base}, factors=("n", "d", "epsilon"), grid=grid, runs=runs,
        within=1.06, attains="the instance attains the order save one log2(n)",
    )  # fmt: skip


BASE = {"n": 2**13, "d": 90, "epsilon": 0.4, "delta": 1e-6}
AT_ONCE_CELLS = (
    *cross(BASE, d=(32, 90, 256), epsilon=(0.15, 1.0)), *cross(BASE | {"epsilon": 0.7}, n=(2500, 4000, 2**13, 14_000)),
)  # fmt: skip
HALF = tuple({**cell, "epsilon": cell["epsilon"] / 2} for cell in AT_ONCE_CELLS)  # the joint noise is half as large
BASE |= {"n": 2**12}
SIZES = doubling(2**10, 2**13)
PHASED_CELLS = (
    *cross(BASE | {"epsilon": 0.2}, d=(32, 90, 256), epsilon=(0.57, 0.07)),
    *cross(BASE | {"epsilon": 0.4}, n=SIZES),
)
ONE_SIDED_CELLS = (
    *cross(BASE, d=(32, 90, 256), epsilon=(0.125, 1.0)), *cross(BASE | {"epsilon": 0.8}, n=SIZES),
)  # fmt: skip


def one_sided(algorithm: str, part: str) -> Experiment:
    """Corollary B.6 or its mirror image."""
    grid = Grid(ONE_SIDED_CELLS, 32)
    return phased(algorithm, (part,), "saddle_svrg", grid, lambda cell: round(1300 / cell["d"]), one_sided=True)


def convex_concave(algorithm: str, parts: tuple[str, ...]) -> Experiment:
    """Theorem 4.5."""
    grid = Grid(PHASED_CELLS, 26)
    return phased(algorithm, parts, "gda", grid, lambda cell: round(1600 / len(parts) / cell["d"]))


EXPERIMENTS = (
    one_sided("phased_convex_strongly_concave", "w"),
    one_sided("phased_strongly_convex_concave", "v"),
    at_once("minimax_output_perturbation", False, AT_ONCE_CELLS),
    at_once("minimax_output_perturbation_joint", True, HALF),
    convex_concave("phased_minimax_output_perturbation", PARTS),
    convex_concave("phased_primal", ("w",)),
    convex_concave("phased_dual", ("v",)),
)
