"""The numerical route: the mean objective of a problem by its kernels, its optima by descent and by optimisers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels import gradients
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, data_of
from reference.derivatives import project

_STEP = 1e-4  # of differences, two of which make their error of fourth order


class Objective:
    """The mean over a problem's records of f(w, v), from the kernels of one record and nothing else of the problem."""

    def __init__(self, problem: Any) -> None:
        self.problem, self.d, self.size = problem, int(problem.dim_w), int(problem.dim_w + problem.dim_v)
        self.domains = (np.asarray(problem.domain_w), np.asarray(problem.domain_v))

    def value(self, w: Array, v: Array) -> float:
        """Return the mean of f."""
        params, value = self.problem.params, self.problem.value
        return math.fsum(value(params, record, w, v) for record in self._rows) / len(self._rows)

    def slopes(self, w: Array, v: Array) -> tuple[Array, Array]:
        """Return the mean of both partial gradients."""
        problem, out = self.problem, np.zeros(self.size)
        data = data_of(problem, records=self._rows, start=out.copy())
        everyone = np.arange(len(self._rows))
        x = np.concatenate([w, v])
        gradients.mean(problem.gradient, data, everyone, len(everyone), x, np.full(2, np.inf), out)
        return out[: self.d], out[self.d :]

    def point(self, rng: np.random.Generator, reach: float) -> tuple[Array, Array]:
        """Return a point of both domains about ``reach`` from the problem's start."""
        x = np.asarray(self.problem.start) + reach * rng.standard_normal(self.size)
        return project(x[: self.d], self.domains[0]), project(x[self.d :], self.domains[1])

    def residual(self, w: Array, v: Array, blocks: str = "wv") -> float:
        """Return how far (w, v) is from the optimality conditions of these blocks: 0 at a saddle point of a convex
        game.

        Each block is to be where a step along its gradient, projected onto its domain, leaves it. Where a block lies
        outside of its domain, its gradient is to be 0: the form is then meant for the whole space.
        """
        worst, slopes = 0.0, self.slopes(w, v)
        for block, x, g, domain in zip("wv", (w, v), (-slopes[0], slopes[1]), self.domains, strict=True):
            if block in blocks and x.size:
                inside = np.allclose(project(x, domain), x, rtol=1e-9, atol=1e-9)
                moved = project(x + g, domain) - x if inside else g
                worst = max(worst, float(np.abs(moved).max()))
        return worst

    def largest(self, w: Array, *, free: bool = False) -> float:
        """Return the maximum of the mean over v in its domain, or over the whole space; the mean is concave in v."""
        start = np.asarray(self.problem.start[self.d :], float)
        return -least(
            lambda v: (-self.value(w, v), -self.slopes(w, v)[1]), start, np.empty((0, 4)) if free else self.domains[1]
        )

    def smallest(self, v: Array, *, free: bool = False) -> float:
        """Return the minimum of the mean over w in its domain, or over the whole space; the mean is convex in w."""
        start = np.asarray(self.problem.start[: self.d], float)
        return least(
            lambda w: (self.value(w, v), self.slopes(w, v)[0]), start, np.empty((0, 4)) if free else self.domains[0]
        )

    @cached_property
    def _rows(self) -> Array:
        return np.ascontiguousarray(self.problem.records)


def least(function: Callable[[Array], tuple[float, Array]], start: Array, domain: Array) -> float:
    """Return the minimum of a convex function, given with its gradient, over a product of blocks."""
    from scipy.optimize import minimize

    if not start.size:
        return function(start)[0]
    limits: list[dict[str, Any]] = []
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * start.size
    for first, last, kind, radius in domain.tolist():
        block = slice(int(first), int(last))
        if kind == Shape.BOX and radius < math.inf:
            bounds[block] = [(-radius, radius)] * int(last - first)
        elif kind == Shape.SIMPLEX:
            bounds[block] = [(0.0, radius)] * int(last - first)
            limits.append({"type": "eq", "fun": lambda x, b=block, r=radius: x[b].sum() - r})
        elif kind == Shape.BALL and radius < math.inf and last - first == 1:
            bounds[block] = [(-radius, radius)]
        elif kind == Shape.BALL and radius < math.inf:
            limits.append({
                "type": "ineq", "fun": lambda x, b=block, r=radius: r * r - x[b] @ x[b],
                "jac": lambda x, b=block: np.where(_within(x.size, b), -2 * x, 0.0),
            })  # fmt: skip
    first_point = project(start + 0.1, domain)
    if limits:
        options: dict[str, Any] = {"ftol": 1e-14, "maxiter": 300}
        done = minimize(function, first_point, jac=True, method="SLSQP", bounds=bounds, constraints=limits,
                        options=options)  # fmt: skip
    elif all(low is None for low, _ in bounds):  # few steps also where it is nearly flat in some directions
        bend = partial(along, lambda x: function(x)[1])
        done = minimize(function, first_point, jac=True, hessp=bend, method="Newton-CG", options={"xtol": 1e-12})
    else:
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 300}
        done = minimize(function, first_point, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return function(project(done.x, domain))[0]


def along(function: Callable[[Array], Any], x: Array, u: Array) -> Any:
    """Return the derivative of a function at x in direction u, by central differences at two steps, extrapolated."""

    def slope(h: float) -> Any:
        return (np.asarray(function(x + h * u)) - np.asarray(function(x - h * u))) / (2 * h)

    return (4 * slope(_STEP / 2) - slope(_STEP)) / 3


def _within(size: int, block: slice) -> Any:
    chosen = np.zeros(size, bool)
    chosen[block] = True
    return chosen
