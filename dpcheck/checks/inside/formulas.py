"""Gradients of one record's objective in plain NumPy, written from the objectives' formulas.

A problem without a formula here is differentiated numerically, see :mod:`dpcheck.checks.inside.derivatives`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.algorithms.problem import Array

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
