"""The largest values that a problem's constants must bound, found by search over its points and records.

A search finds a value from below: one above the declared constant refutes it; one far below says that the constant
may be larger than needed, or that the search missed the place. Every value is a quotient of differences between two
points of the domain, which the true constant bounds exactly. The search draws from a stream of its own, the same on
every run of the check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.parts import Shape, project
from dpcheck.algorithms.problem import Array, data_of
from dpcheck.errors import InputError

POINTS, CLIMBS, STEPS = 60, 2, 60
LARGEST = 40  # dimensions; beyond, a Hessian by differences takes too long
APART = 1e-4  # of two points whose gradients are compared


@dataclass(frozen=True)
class Found:
    """A declared constant and the value that the search found; ``at_most`` : whether the constant is an upper bound."""

    name: str
    declared: float
    value: float
    at_most: bool = True

    @property
    def exceeded(self) -> bool:
        """Whether what was found contradicts the declared constant by more than rounding."""
        room = 1e-6 * max(abs(self.declared), abs(self.value)) + 1e-9
        return self.value > self.declared + room if self.at_most else self.value < self.declared - room

    def __str__(self) -> str:
        return f"{self.name} = {self.declared:.6g} (found {self.value:.6g})"


def search(problem: Any) -> Iterator[Found]:
    """Yield every finite constant that the problem declares, beside what the search found."""
    search = _Search(problem, np.random.default_rng(0))
    for name, declared, size, quotient in (
        ("lipschitz_w", problem.lipschitz_w, problem.dim_w, search.slope_w),
        ("lipschitz_v", problem.lipschitz_v, problem.dim_v, search.slope_v),
        ("smoothness", problem.smoothness, problem.dim_w + problem.dim_v, search.bend),
    ):
        if math.isfinite(declared) and size:
            yield Found(name, declared, search.largest(quotient))
    for name, declared, size, quotient in (
        ("convexity", problem.convexity, problem.dim_w, search.less_convex),
        ("concavity", problem.concavity, problem.dim_v, search.less_concave),
    ):
        if math.isfinite(declared) and size and declared != -problem.smoothness:
            yield Found(name, declared, -search.largest(quotient), at_most=False)
    if problem.dim_v and math.isfinite(problem.empirical_concavity) and problem.empirical_concavity > problem.concavity:
        value = -search.largest(search.mean_less_concave, climbs=1)
        yield Found("empirical_concavity", problem.empirical_concavity, value, at_most=False)
    if math.isfinite(problem.hessian_lipschitz) and problem.hessian_lipschitz > 0:
        try:
            yield Found("hessian_lipschitz", problem.hessian_lipschitz, search.largest(search.twist))
        except InputError:  # no primal function in closed form: a minimisation problem's Hessian is that of f
            yield Found("hessian_lipschitz", problem.hessian_lipschitz, search.largest(search.twist_of_f))
    if problem.ascent_limit > 0 and problem.dim_v:
        step = min(problem.ascent_limit, 1e6)
        yield Found("stretch of a step of ascent_limit", 1.0, search.largest(lambda k, x: search.stretch(step, k, x)))


class _Search:
    """The quotients of one problem, each a function of a record's number and a point (w, v)."""

    def __init__(self, problem: Any, rng: np.random.Generator) -> None:
        self.problem, self.rng, self.d = problem, rng, problem.dim_w
        self.size = problem.dim_w + problem.dim_v
        self.records, self.params = extremes(problem), problem.params
        self.step = APART

    def gradient(self, k: int, x: Array) -> Array:
        """Return both partial gradients of record k at x."""
        g = np.empty(self.size)
        d = self.d
        self.problem.gradient(self.params, self.records[k], x[:d], x[d:], g[:d], g[d:])
        return g

    def inside(self, x: Array) -> Array:
        """Return the projection of x."""
        x = x.copy()
        project(x[: self.d], self.problem.domain_w)
        project(x[self.d :], self.problem.domain_v)
        return x

    def point(self) -> Array:
        """Return a point inside the domains or at their ends."""
        return np.concatenate([
            point_of(self.problem.domain_w, self.d, self.rng),
            point_of(self.problem.domain_v, self.size - self.d, self.rng),
        ])  # fmt: skip

    def largest(self, quotient: Callable[[int, Array], float], climbs: int = CLIMBS) -> float:
        """Return the largest value over random points and records, and after climbing from the best of them."""
        starts = []
        for _ in range(POINTS):
            k, x = int(self.rng.integers(len(self.records))), self.point()
            starts.append((quotient(k, x), k, x))
        starts.sort(key=lambda start: -start[0])
        best = starts[0][0]
        for value, k, x in starts[:climbs]:
            reach = max(1e-3, float(np.abs(x).max()))
            for turn in range(STEPS):
                other = int(self.rng.integers(len(self.records))) if turn % 3 == 0 else k
                move = self.rng.standard_normal(self.size) if turn % 2 else self.point() - x
                y = self.inside(x + reach * 0.93**turn * move / (np.linalg.norm(move) + 1e-300))
                higher = quotient(other, y)
                if higher > value:
                    value, k, x = higher, other, y
            best = max(best, value)
        return best

    def slope_w(self, k: int, x: Array) -> float:
        """Return the length of the gradient in w."""
        return float(np.linalg.norm(self.gradient(k, x)[: self.d]))

    def slope_v(self, k: int, x: Array) -> float:
        """Return the length of the gradient in v."""
        return float(np.linalg.norm(self.gradient(k, x)[self.d :]))

    def bend(self, k: int, x: Array) -> float:
        """Return how fast the gradient moves, a unit of distance, in the direction in which it moves fastest."""
        jacobian = self._jacobian(lambda y: self.gradient(k, y), x, 0, self.size)
        u = np.linalg.svd(jacobian)[2][0] if jacobian is not None else self.rng.standard_normal(self.size)
        y, z = self._ends(x, u, 0, self.size)
        apart = np.linalg.norm(y - z)
        return float(np.linalg.norm(self.gradient(k, y) - self.gradient(k, z)) / apart) if apart else 0.0

    def less_convex(self, k: int, x: Array) -> float:
        """Return minus the curvature in w, in the direction where f is least convex."""
        return self._curved(lambda y: self.gradient(k, y), x, 0, self.d, 1.0)

    def less_concave(self, k: int, x: Array) -> float:
        """Return minus the curvature of -f in v, in the direction where f is least concave."""
        return self._curved(lambda y: self.gradient(k, y), x, self.d, self.size, -1.0)

    def mean_less_concave(self, k: int, x: Array) -> float:
        """Return minus the curvature in v of minus the mean over the problem's own records."""
        everyone, g = np.arange(len(self.problem.records)), np.empty(self.size)
        problem = self.problem
        data = data_of(problem, params=self.params)

        def mean(y: Array) -> Array:
            problem.mean(problem.gradient, data, everyone, len(everyone), y, np.full(2, np.inf), g)
            return g.copy()

        return self._curved(mean, x, self.d, self.size, -1.0)

    def twist(self, k: int, x: Array) -> float:
        """Return how fast the Hessian of the primal function of records that all equal k moves, a unit of distance."""
        problem = self._alike(k)
        return self._twist(lambda w: np.asarray(problem.primal_hessian(w)), x[: self.d])

    def twist_of_f(self, k: int, x: Array) -> float:
        """Return how fast the Hessian of f itself moves."""

        def hessian(w: Array) -> Array:
            found = self._jacobian(lambda y: self.gradient(k, y), np.concatenate([w, x[self.d :]]), 0, self.d)
            assert found is not None
            return found[: self.d]

        return self._twist(hessian, x[: self.d])

    def stretch(self, step: float, k: int, x: Array) -> float:
        """Return the factor by which a clipped step of ascent in v moves two points apart."""
        y = np.concatenate([x[: self.d], point_of(self.problem.domain_v, self.size - self.d, self.rng)])
        clip = float(np.exp(self.rng.uniform(-6, 3)))
        ends = []
        for point in (x, y):
            g = self.gradient(k, point)[self.d :]
            ends.append(point[self.d :] + step * g * min(1.0, clip / max(float(np.linalg.norm(g)), 1e-300)))
        apart = float(np.linalg.norm((x - y)[self.d :]))
        return float(np.linalg.norm(ends[0] - ends[1]) / apart) if apart > 1e-6 else 0.0

    def _alike(self, k: int) -> Any:
        return replace(self.problem, records=np.repeat(self.records[k][None], 1, axis=0))

    def _twist(self, hessian: Callable[[Array], Array], w: Array) -> float:
        u = self.rng.standard_normal(self.d)
        if self.rng.random() < 0.5:  # along the point itself, or an axis
            u = w if np.linalg.norm(w) > 0 and self.rng.random() < 0.5 else np.eye(self.d)[self.rng.integers(self.d)]
        u = 1e-3 * u / np.linalg.norm(u)
        y, z = w + u, w - u
        project(y, self.problem.domain_w)
        project(z, self.problem.domain_w)
        apart = float(np.linalg.norm(y - z))
        return float(np.linalg.norm(hessian(y) - hessian(z), 2) / apart) if apart > 1e-5 else 0.0

    def _curved(self, gradient: Callable[[Array], Array], x: Array, first: int, last: int, sign: float) -> float:
        jacobian = self._jacobian(gradient, x, first, last)
        u = self.rng.standard_normal(last - first)
        if jacobian is not None:
            own = sign * jacobian[first:last]
            u = np.linalg.eigh((own + own.T) / 2)[1][:, 0]
        y, z = self._ends(x, u, first, last)
        apart = float((y - z) @ (y - z))
        return -sign * float((gradient(y) - gradient(z)) @ (y - z)) / apart if apart else -math.inf

    def _jacobian(self, gradient: Callable[[Array], Array], x: Array, first: int, last: int) -> Array | None:
        """Compute the Jacobian by differences in coordinates first to last, (size, last - first); None if slow."""
        if last - first > LARGEST:
            return None
        columns = []
        for j in range(first, last):
            y, z = x.copy(), x.copy()
            y[j] += self.step
            z[j] -= self.step
            columns.append((gradient(y) - gradient(z)) / (2 * self.step))
        return np.array(columns).T

    def _ends(self, x: Array, u: Array, first: int, last: int) -> tuple[Array, Array]:
        """Return two points of the domains near x, apart along u."""
        y, z = x.copy(), x.copy()
        move = self.step * u / (np.linalg.norm(u) + 1e-300)
        y[first:last] += move
        z[first:last] -= move
        return self.inside(y), self.inside(z)


def extremes(problem: Any) -> Array:
    """Return the problem's records, their opposites, and both as long as the problem admits, as far as it admits
    them.
    """
    rows = problem.records[:: max(1, len(problem.records) // 40)]

    def admitted(record: Array) -> bool:
        try:
            replace(problem, records=np.ascontiguousarray(record[None]))
        except InputError:
            return False
        return True

    if admitted(1e6 * rows[0]):  # records of any length: their public bound is not the problem's to check
        return np.asarray(problem.arranged)
    found = [rows]
    for row in (sign * row for row in rows[:20] for sign in (1.0, -1.0)):
        low, high = 0.0, 1e6
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if admitted(middle * row) else (low, middle)
        if low > 0:
            found.append(low * row[None])
    rows = np.vstack(found)
    try:
        return np.asarray(replace(problem, records=np.ascontiguousarray(rows)).arranged)
    except InputError:
        return np.asarray(problem.arranged)


# Whether a problem's projection finds the nearest point of its domain.


def misprojected(problem: Any) -> str:
    """Return what is wrong with the projection onto the domains, or nothing.

    p = P(x) is the nearest point of a convex set if it is in the set and <x - p, y - p> <= 0 for all its points y.
    """
    rng = np.random.default_rng(1)
    for name, domain, size in (("w", problem.domain_w, problem.dim_w), ("v", problem.domain_v, problem.dim_v)):
        if not size:
            continue
        for scale in (0.1, 3.0, 100.0):
            x = scale * rng.standard_normal(size)
            p, points = x.copy(), np.array([point_of(domain, size, rng) for _ in range(20)])
            project(p, domain)
            room = 1e-9 * (1 + float(x @ x))
            if outside(p, domain) > room:
                return f"a projected {name} lies {outside(p, domain):.3g} outside its domain"
            worst = float(((points - p) @ (x - p)).max())
            if worst > room * (1 + np.abs(points).max()):
                return f"a point of the domain of {name} is nearer than the projected one"
    return ""


def outside(x: Array, domain: Array) -> float:
    """Return how far ``x`` is outside its domain, by the definition of each block."""
    worst = -math.inf
    for start, stop, kind, radius in domain.tolist():
        part = x[int(start) : int(stop)]
        if kind == Shape.SIMPLEX:
            worst = max(worst, float(-part.min()), abs(float(part.sum()) - radius))
        else:
            size = float(np.linalg.norm(part)) if kind == Shape.BALL else float(np.abs(part).max())
            worst = max(worst, size - radius)
    return worst


def point_of(domain: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw a point at random, half of the time at an end of each block."""
    x = np.zeros(size)
    for start, stop, kind, radius in domain.tolist():
        first, last = int(start), int(stop)
        radius = float(10 ** rng.uniform(-1, 2)) if math.isinf(radius) else radius
        part = rng.standard_normal(last - first)
        at_end = rng.random() < 0.5
        if kind == Shape.SIMPLEX:
            part = np.eye(last - first)[rng.integers(last - first)] if at_end else rng.dirichlet(np.ones(last - first))
        elif kind == Shape.BALL:
            part = part / np.linalg.norm(part) * (1.0 if at_end else rng.random())
        else:
            part = np.sign(part) if at_end else rng.uniform(-1, 1, last - first)
        x[first:last] = radius * part
    return x
