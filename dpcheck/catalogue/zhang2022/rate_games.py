"""Quadratic games whose saddle is known, with a declared Lipschitz constant and a radius for each part."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.problem import Array, ball
from dpcheck.catalogue.zhang2022.rate_phases import Moments, Phase, moments
from dpcheck.checks.experiment import Premise
from dpcheck.problems.quadratic import Quadratic

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
    def domain_v(self) -> Array:
        """The ball of v's own radius."""
        return ball(self.dim_v, self.radius_v)

    @property
    def lipschitz_w(self) -> float:
        """The declared constant's share, as that of v."""
        return self.lipschitz / math.sqrt(2)

    lipschitz_v = lipschitz_w

    @property
    def slack(self) -> float:
        """The declared constants over the least true ones; at least 1 where the declaration holds."""
        G_w = self.mu_x * self.radius + self.coupling * self.radius_v + self.bound
        G_v = self.mu_y * self.radius_v + self.coupling * self.radius + self.bound
        return self.lipschitz_w / max(G_w, G_v)

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
    found = outputs[:, : problem.dim_w].copy() if part == "w" else outputs[:, problem.dim_w :].copy()
    found[:, 0] -= problem.side(part).at
    return found


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


def premises(problem: Game, part: str, of: tuple[Phase, ...], regulariser: float) -> Iterable[Premise]:
    """The declared L is one, noise leaves room in the domain, all answers are inside, and the start is not the end."""
    side, moved = problem.side(part), released(problem, part, of, regulariser)
    noise = math.sqrt(problem.dim_w * sum(phase.sigma**2 for phase in of))
    start = side.loss(side.at, side.at**2)
    yield Premise("the declared Lipschitz constant over the least", problem.slack, 1.0)
    yield Premise("distance to the domain's end over all the noise", side.radius / noise, 1.1)
    inside = side.radius_other / max(side.farthest(regulariser), abs(side.answer(moved.mean)))
    yield Premise("distance to the domain's end over the answers of the other part", inside, 1.0)
    apart = abs(start / side.loss(*moved) - 1)
    yield Premise("how far the measure at the start is from the predicted one, relative to it", apart, 0.2)
