"""Whether a problem's projection finds the nearest point of its domain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels.parts import BALL, SIMPLEX, project
from dpcheck.algorithms.problem import Array


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
        if kind == SIMPLEX:
            worst = max(worst, float(-part.min()), abs(float(part.sum()) - radius))
        else:
            size = float(np.linalg.norm(part)) if kind == BALL else float(np.abs(part).max())
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
        if kind == SIMPLEX:
            part = np.eye(last - first)[rng.integers(last - first)] if at_end else rng.dirichlet(np.ones(last - first))
        elif kind == BALL:
            part = part / np.linalg.norm(part) * (1.0 if at_end else rng.random())
        else:
            part = np.sign(part) if at_end else rng.uniform(-1, 1, last - first)
        x[first:last] = radius * part
    return x
