"""What an experiment declares: an instance with a closed-form measure, a grid, and what is to be seen there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dpcheck.algorithms.problem import Array
from dpcheck.bounds.registry import theorem
from dpcheck.bounds.theorem import Theorem
from dpcheck.solvers import algorithm

Cell = Mapping[str, float]
"""The settings of one grid point by name: n, d, epsilon, delta, and what else an instance depends on."""

_SIZES = ("n", "d", "epsilon", "delta")
LOG_DELTA = "log(1/delta)"  # as a factor, delta is its logarithm, of which theorems name powers


def level(cell: Cell, name: str) -> float:
    """Return a factor at a grid point; that of delta is its logarithm."""
    return math.log(1 / cell["delta"]) if name == LOG_DELTA else cell[name]


def slopes(cells: list[Cell], values: list[float], factors: tuple[str, ...]) -> Mapping[str, float]:
    """Exponents of a positive function of the settings over a grid, by least squares on logarithms."""
    design = np.array([[1.0, *(np.log(level(cell, name)) for name in factors)] for cell in cells])
    found = np.linalg.lstsq(design, np.log(values), rcond=None)[0]
    return dict(zip(factors, found[1:].tolist(), strict=True))


class Premise(NamedTuple):
    """A quantity that must be large enough for a measurement to say anything of a rate."""

    what: str
    value: float
    least: float

    @property
    def holds(self) -> bool:
        """Whether it is; what is not a number is not large enough."""
        return bool(self.value >= self.least * (1 - 1e-9))

    def __str__(self) -> str:
        """The premise as it stands."""
        return f"{self.what} is {self.value:.3g}, and {self.least:.3g} is needed"


@dataclass(frozen=True)
class Grid:
    """Grid points and how many independent measurements are taken at each."""

    cells: tuple[Cell, ...]
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One theorem, one algorithm, one instance on which the promised quantity has a closed form."""

    name: str  # of the theorem and of what leads there, unique for its algorithm: theorem_3_3.privacy
    algorithm: str
    theorem: str  # its id
    quantity: str  # what is measured, in words
    sample: Callable[[Cell, np.random.Generator], Any]  # fresh data
    measure: Callable[[Any, Array], float]  # (problem of the last data set, all outputs) -> the quantity
    constants: Callable[[Any, Cell], Mapping[str, float]]  # (problem, cell) -> every parameter of the theorem
    factors: tuple[str, ...]  # that the grid varies; none where the prediction or the number alone is tested
    grid: Grid
    full: Grid | None = None
    regime: str | None = None  # the term of the theorem's rate that leads by a factor 5 all over the grid
    # The bound is in proportion to the larger of its terms, not to their sum: its order is all of it.
    larger: bool = False
    variant: str | None = None
    order_only: bool = False  # the theorem's order is another paper's claim for this algorithm, its number is not
    settings: Callable[[Any, Cell], Mapping[str, Any]] = field(default=lambda problem, cell: {})
    data_sets: int = 1  # of one measurement, since a weak gap needs several
    runs: int | Callable[[Cell], int] = 1  # on each data set; rows of one relative spread make the sharpest comparison
    chunks: int = (
        4  # of the measurements at a grid point; a check repeats the first of all, so many where all take long
    )
    predicted: Callable[[Any, Cell], float] | None = None  # by a closed form and the theorem's own schedule and noise
    within: float | None = 1.2  # this factor of the prediction; None for orders only
    attains: str = "whether the instance attains the order is not known"  # a sentence
    loose: str = ""  # why no instance attains the order, where that is known
    reach: Callable[[Any, Any], float] | None = None  # (solver, problem) -> total step times curvature
    premises: Callable[[Any, Cell], Iterable[Premise]] = field(default=lambda problem, cell: ())
    clear: float | None = 5.0  # the start over the prediction, where no premise says it
    unreachable: str = ""  # why no grid point of a few minutes can show the theorem's order

    @property
    def id(self) -> str:
        """Its algorithm and its name."""
        return f"{self.algorithm}.{self.name}"

    @property
    def statement(self) -> Theorem:
        """The theorem itself, without its number where that is not claimed."""
        stated = theorem(self.theorem)
        return replace(stated, bound_formula=None) if self.order_only else stated

    def solver(self, problem: Any, cell: Cell) -> Any:
        """The algorithm as its theorem configures it at a grid point, without the notes that a user is told."""
        chosen = algorithm(self.algorithm)
        return chosen.configure(
            problem, epsilon=cell["epsilon"], delta=cell["delta"], variant=self.variant or chosen.variants[-1],
            **self.settings(problem, cell),
        )  # fmt: skip

    def runs_at(self, cell: Cell) -> int:
        """Runs on each data set at a grid point."""
        return self.runs if isinstance(self.runs, int) else self.runs(cell)

    def promised(self, problem: Any, cell: Cell) -> float:
        """The theorem's bound, or its order where it names no constant."""
        statement = self.statement
        order = {} if statement.bound_formula is not None else {"constant": 1.0}
        return statement.bound(**order, **self.constants(problem, cell))

    @property
    def named(self) -> tuple[str, ...]:
        """What the theorem's term names of n, d, epsilon, delta and T, as factors."""
        term = dict(self.statement.regimes)[self.regime] if self.regime else self.statement.rate
        letters = set() if term is None else {str(letter) for letter in term.free_symbols}
        return tuple(LOG_DELTA if name == "delta" else name for name in (*_SIZES, "T") if name in letters)

    def varied(self, cells: Sequence[Cell]) -> tuple[str, ...]:
        """Return the factors along a grid: those declared, and what else varies there and could be the cause."""
        others = (LOG_DELTA if name == "delta" else name for name in _SIZES if len({c.get(name) for c in cells}) > 1)
        return tuple(dict.fromkeys((*self.factors, *others)))

    def terms(self, problem: Any, cell: Cell) -> tuple[float, float]:
        """The regime's term of the theorem's bound, and the largest other one; the whole where no regime is named."""
        if self.regime is None:
            return self.promised(problem, cell), 0.0
        terms = self.statement.terms(**self.constants(problem, cell))
        order = self.promised(problem, cell) if self.larger else terms[self.regime]
        return order, max((value for name, value in terms.items() if name != self.regime), default=0.0)


def cross(base: Cell, **levels: Sequence[float]) -> tuple[Cell, ...]:
    """Grid points along each factor in turn, the others at ``base``; each point once."""
    cells = [{**base, name: value} for name, values in levels.items() for value in values]
    return tuple({tuple(sorted(cell.items())): cell for cell in cells}.values())


def product(base: Cell, **levels: Sequence[float]) -> tuple[Cell, ...]:
    """Grid points at all combinations of levels."""
    return tuple({**base, **dict(zip(levels, point, strict=True))} for point in itertools.product(*levels.values()))


def rows(names: Sequence[str], *points: Sequence[float]) -> tuple[Cell, ...]:
    """Grid points written out."""
    return tuple(dict(zip(names, point, strict=True)) for point in points)


def doubling(first: int, last: int) -> tuple[int, ...]:
    """first, 2 first, 4 first, ..., last."""
    sizes = [first]
    while sizes[-1] < last:
        sizes.append(2 * sizes[-1])
    return tuple(sizes)
