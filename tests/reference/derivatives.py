"""A record's gradients from its objective's value alone, and the problems' own gradients held to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.jit import Place
from dpcheck.algorithms.problem import Array, Problem, data_of

Gradient = Callable[[Array, Array, Array], tuple[Array, Array]]  # (record, w, v) -> in w, in v

_TINY = 1e-30  # of a complex step: nothing is subtracted, so that it may be as small as one likes
_STEP = 1e-3  # of central differences, two of which make their error of fourth order


def gradient_of(problem: Any) -> Gradient:
    """Return the gradients of ``problem`` by a route that shares no line with its kernels.

    Its formula in NumPy where there is one, otherwise the derivative of its value.
    """
    formula = FORMULAS.get(problem.name)
    if formula is None:
        return of_the_value(problem)
    return lambda record, w, v: formula(problem, record, w, v)


def of_the_value(problem: Any) -> Gradient:
    """Return the derivatives of ``problem.value``, by complex steps where it takes them, else by differences.

    A value that takes the size of a complex number is not differentiated by one; differences tell.
    """

    def gradient(record: Array, w: Array, v: Array) -> tuple[Array, Array]:
        x, d = np.concatenate([w, v]), len(w)
        g = near = _differences(problem, record, x, d)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                exact = _complex_step(problem, record, x, d)
        except Exception:  # the value calls a compiled function, which knows real numbers only
            exact = near
        if np.allclose(exact, near, rtol=1e-5, atol=1e-7):  # it takes complex numbers for what they are
            g = exact
        return g[:d], g[d:]

    return gradient


def _complex_step(problem: Any, record: Array, x: Array, d: int) -> Array:
    """Return Im f(x + ih)/h."""
    value = getattr(problem.value, "py_func", problem.value)
    g = np.empty(x.size)
    for i in range(x.size):
        moved = x.astype(complex)
        moved[i] += _TINY * 1j
        found = value(problem.params, record, moved[:d], moved[d:])
        g[i] = found.imag / _TINY
    return g


def _differences(problem: Any, record: Array, x: Array, d: int) -> Array:
    """Return central differences at two steps, extrapolated."""
    record = np.array(record)  # compiled code takes no read-only array

    def slope(i: int, h: float) -> float:
        ends = []
        for side in (h, -h):
            moved = x.copy()
            moved[i] += side
            ends.append(float(problem.value(problem.params, record, moved[:d], moved[d:])))
        return (ends[0] - ends[1]) / (2 * h)

    return np.array([(4 * slope(i, _STEP / 2) - slope(i, _STEP)) / 3 for i in range(x.size)])


def departures(problem: Problem, rng: np.random.Generator, points: int = 4) -> Iterator[tuple[str, float]]:
    """Yield where the problem's kernels leave the derivative of its value: a sentence and by how much, the sizes
    relative.

    One record at each of some points of the domains, then the clipped mean over several records and over one, which a
    kernel may read another way, the clipped difference over several, and two steps up in v.
    """
    d, n = problem.dim_w, len(problem.records)
    gradient, infinite = of_the_value(problem), np.full(2, np.inf)

    def point() -> Array:
        x = np.asarray(problem.start) + rng.normal(size=d + problem.dim_v) * 0.3
        return np.concatenate([project(x[:d], problem.domain_w), project(x[d:], problem.domain_v)])

    def theirs(i: int, x: Array) -> Array:
        out = np.zeros_like(x)
        problem.gradient(problem.params, problem.arranged[i], x[:d], x[d:], out[:d], out[d:])
        return out

    def ours(i: int, x: Array) -> Array:
        return np.concatenate(gradient(problem.records[i], x[:d], x[d:]))

    for _ in range(points):
        i, x = int(rng.integers(n)), point()
        yield from _told("the gradient", theirs(i, x), ours(i, x), d, f"of record {i + 1}")
    index, x, old = rng.choice(n, min(n, 6), replace=False).astype(np.int64), point(), point()
    data = data_of(problem)
    norms = np.array([[np.linalg.norm(g[:d]), np.linalg.norm(g[d:])] for g in (ours(int(i), x) for i in index)])
    middle = np.maximum(np.median(norms, axis=0), 1e-12)  # clips some records and leaves others
    for bounds, words in ((infinite, "the mean gradient"), (middle, "the mean of clipped gradients")):
        out = np.empty_like(x)
        for chosen in (index, index[-1:]):
            problem.mean(problem.gradient, data, chosen, chosen.size + 1, x, bounds, out)
            parts = [(clip(g[:d], bounds[0]), clip(g[d:], bounds[1])) for g in (ours(int(i), x) for i in chosen)]
            mean = sum(np.concatenate(part) for part in parts) / (chosen.size + 1)
            yield from _told(words, out, np.asarray(mean), d, f"over {chosen.size} of the records")
        problem.difference(problem.gradient, data, Place(index, x), Place(index, old), index.size + 1, bounds, out)
        gaps = [ours(int(i), x) - ours(int(i), old) for i in index]
        mean = sum(np.concatenate([clip(g[:d], bounds[0]), clip(g[d:], bounds[1])]) for g in gaps) / (index.size + 1)
        yield from _told(words.replace("gradient", "gradient difference"), out, np.asarray(mean), d,
                         f"over {index.size} records")  # fmt: skip
    steps, moved, climbed = np.array([0.3, 0.2]), x.copy(), x.copy()
    problem.ascent(problem.gradient, problem.mean, data, index, steps, middle, moved, np.empty_like(x))
    for step in steps:
        rise = np.mean([clip(ours(int(i), climbed)[d:], middle[1]) for i in index], axis=0)
        climbed[d:] = project(climbed[d:] + step * rise, problem.domain_v)
    yield from _told("the end of two steps up", moved, climbed, d, f"over {index.size} records")


def _told(words: str, theirs: Array, ours: Array, d: int, where: str) -> Iterator[tuple[str, float]]:
    """Yield a sentence for each block, with the difference relative to the larger of 1 and the block."""
    for block, part in (("w", slice(0, d)), ("v", slice(d, None))):
        if ours[part].size:
            by = float(np.linalg.norm(theirs[part] - ours[part]))
            size = max(1.0, float(np.linalg.norm(ours[part])))
            yield f"{words} in {block} {where} differs from the derivative of the value by {by:.3g}", by / size


# Gradients of one record's objective in plain NumPy, written from the objectives' formulas.
#
# A problem without a formula here is differentiated numerically, see :mod:`reference.derivatives`.


# (problem, record, w, v) -> the partial gradients in w and in v
Formula = Callable[[Any, Array, Array, Array], tuple[Array, Array]]
_NOTHING: Array = np.zeros(0)


def auc(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of equation (26) of Yang et al. 2022, with the classes' weights of the problem."""
    s_plus, s_minus, s_zero = problem.params
    x, y = record[:-1], record[-1]
    theta, a, b = w[:-2], w[-2], w[-1]
    h = theta @ x
    if y > 0:
        g_theta = 2 * s_plus * (h - a) * x - 2 * (1 + v[0]) * s_plus * x
        return (
            np.concatenate([g_theta, [2 * s_plus * (a - h), 0.0]]),
            np.array([-2 * s_plus * h - 2 * s_zero * v[0]]),
        )
    g_theta = 2 * s_minus * (h - b) * x + 2 * (1 + v[0]) * s_minus * x
    return (
        np.concatenate([g_theta, [0.0, 2 * s_minus * (b - h)]]),
        np.array([2 * s_minus * h - 2 * s_zero * v[0]]),
    )


def bilinear(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = a <w, v> + <b, w> - <c, v>."""
    b, c = np.split(record, 2)
    return problem.coupling * v + b, problem.coupling * w - c


def quadratic(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = mu_x/2 |w|^2 + a <w, v> - mu_y/2 |v|^2 + <b, w> - <c, v>."""
    b, c = np.split(record, 2)
    return problem.mu_x * w + problem.coupling * v + b, problem.coupling * w - problem.mu_y * v - c


def cosine(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = sum_i a cos w_i + v_i (b sin w_i + z_i) - mu v_i^2/2."""
    a, b, mu = problem.amplitude, problem.coupling, problem.mu_y
    return -a * np.sin(w) + b * v * np.cos(w), b * np.sin(w) + record - mu * v


def quartic(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = w_1^4/4 - (c/2) w_1^2 + 1/2 sum_{i>=2} w_i^2 + <v, b w + z> - mu/2 |v|^2."""
    own = w.copy()
    own[0] = w[0] ** 3 - problem.curvature * w[0]
    return own + problem.coupling * v, problem.coupling * w + record - problem.mu_y * v


def double_well(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = w_1^4/4 - (g/2) w_1^2 + 1/2 sum_{i>=2} w_i^2 + <z, w>."""
    slope = w.copy()
    slope[0] = w[0] ** 3 - problem.descent * w[0]
    return slope + record, _NOTHING


def sensing(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = (<A, U V'> - b)^2/2."""
    A, b = record[:-1].reshape(problem.rows, -1), record[-1]
    U = w[: problem.rows * problem.rank].reshape(problem.rows, problem.rank)
    V = w[problem.rows * problem.rank :].reshape(-1, problem.rank)
    off = np.sum(A * (U @ V.T)) - b
    return off * np.concatenate([(A @ V).ravel(), (A.T @ U).ravel()]), _NOTHING


def linear(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = <z, w>."""
    return record, _NOTHING


def mean_estimation(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = mu/2 |w - z|^2."""
    return problem.mu * (w - record), _NOTHING


def product(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = <z, w> v - mu/2 v^2."""
    return record * v[0], np.array([record @ w]) - problem.mu * v


def product_mirror(problem: Any, record: Array, w: Array, v: Array) -> tuple[Array, Array]:
    """Return the gradients of f = mu/2 w^2 - <z, v> w."""
    return problem.mu * w - record @ v, -record * w[0]


FORMULAS: dict[str, Formula] = {
    formula.__name__: formula
    for formula in (
        auc, bilinear, cosine, double_well, linear, mean_estimation, product, product_mirror, quadratic, quartic,
        sensing,
    )
}  # fmt: skip


# Projection and clipping in plain NumPy, written from their definitions and not from the kernels.


# The kinds of a domain's blocks, as ``Problem`` numbers them.
_BALL, _BOX, _SIMPLEX = 0, 1, 2


def project(x: Array, domain: Array) -> Array:
    """Return the nearest point to ``x`` of a product of blocks, rows (start, stop, kind, radius)."""
    x = np.array(x, dtype=float)
    for start, stop, kind, radius in domain:
        block = slice(int(start), int(stop))
        part = x[block]
        if kind == _BALL:
            norm = float(np.linalg.norm(part))
            x[block] = part * min(1.0, radius / norm) if norm > 0 else part
        elif kind == _BOX:
            x[block] = np.clip(part, -radius, radius)
        elif kind == _SIMPLEX:
            x[block] = _onto_simplex(part, float(radius))
        else:
            raise ValueError(f"kind must be 0, 1 or 2, got {kind}")
    return x


def _onto_simplex(x: Array, total: float) -> Array:
    """Return max(x - tau, 0) with the tau at which the entries have this sum, found among the sorted entries."""
    falling = np.sort(x)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, x.size + 1)
    tau = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(x - tau, 0.0))


def clip(g: Array, bound: float) -> Array:
    """Return ``g``, shortened to norm ``bound`` where it is longer."""
    norm = float(np.linalg.norm(g))
    return g if norm <= bound else g * (bound / norm)
