"""What the nonconvex-strongly-concave problems share.

Most of them are f(w, v; z) = h(w) + <v, c(w) + z> - mu/2 |v|^2 with public h and c, so that
y*(w) = (c(w) + zbar)/mu and Phi(w) = h(w) + |c(w) + zbar|^2/(2 mu), where the domain V of v holds all
these y*: it is ``room`` >= 1 times as wide as they reach, over W and over all admissible data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from dpcheck.errors import require, require_count
from dpcheck.kernels.parts import project
from dpcheck.problems.problem import SIMPLEX, Array, Defaults, blocks


class StronglyConcave(Defaults):
    """Problems whose primal function Phi is studied to second order.

    hessian_lipschitz : rho_Phi, Lipschitz constant of the Hessian of Phi over W for all admissible
        data (operator norm over Euclidean norm); inf where there is none
    zbar : the mean record
    """

    records: Any
    hessian_lipschitz: Any = math.inf

    @property
    def params(self) -> Array:
        """The constants that the kernels read: none."""
        return np.zeros(0)

    @property
    def dim_v(self) -> int:
        """That of w, the records' columns."""
        return int(self.records.shape[1])

    @property
    def zbar(self) -> Array:
        mean: Array = self.records.mean(0)
        return mean

    def saddle_point(self) -> tuple[Array, float]:
        """A stationary point w of Phi with a direction of descent, and lambda_min of the Hessian there, < 0."""
        raise self._missing("strict saddle")

    def minima(self) -> Array:
        """Local minima of Phi, all of them unless the problem says otherwise : (count, d_w)."""
        raise self._missing("list of minima")


def spectral(p: float, q: float, mu: float) -> float:
    """Spectral norm of [[p, q], [q, -mu]].

    It is convex in p and increasing in |q|: over an interval of p the ends are enough.
    """
    return abs(p - mu) / 2 + math.hypot((p + mu) / 2, q)


def largest_on(polynomial: Polynomial, low: float, high: float) -> float:
    """Maximum of a polynomial over [low, high]."""
    inner = np.clip(polynomial.deriv().roots().real, low, high)
    return float(max(polynomial(np.array([low, high, *inner]))))


def depressed_cubic_roots(g: float, q: float) -> Array:
    """Real roots of x^3 - g x + q, g > 0, in falling order: three of them where |q| < 2 (g/3)^{3/2}, else one."""
    if abs(q) < 2 * (g / 3) ** 1.5:
        angle = math.acos(-1.5 * q / g * math.sqrt(3 / g)) / 3
        return np.asarray(2 * math.sqrt(g / 3) * np.cos(angle - 2 * np.pi / 3 * np.arange(3)))
    rest = math.sqrt(max(q * q / 4 - (g / 3) ** 3, 0.0))
    outer = np.cbrt(abs(q) / 2 + rest)  # Cardano, the larger of the two cube roots
    return np.array([-math.copysign(outer + g / (3 * outer), q)])


def within(w: Array, radius: float, what: str) -> Array:
    """``w`` if it lies in the ball of this radius, else an error naming the radius."""
    norm = float(np.linalg.norm(w))
    require(norm <= radius * (1 + 1e-12), "radius", f"be at least the {what}'s norm {norm:.6g}", radius)
    return w


def require_room(room: float) -> None:
    """V is at least as wide as the best responses reach."""
    require(1 <= room < math.inf, "room", "be finite and >= 1", room)


def sphere(n: int, d: int, rng: np.random.Generator, radius: float) -> Array:
    """``n`` records uniform on the sphere of this radius, of mean 0 : (n, d)."""
    require_count(n, "n")
    require_count(d, "d")
    rows = rng.standard_normal((n, d))
    return np.asarray(radius * rows / np.linalg.norm(rows, axis=1, keepdims=True))


def signs(n: int, d: int, rng: np.random.Generator, size: float) -> Array:
    """``n`` records with independent entries +-size, of mean 0 : (n, d)."""
    require_count(n, "n")
    require_count(d, "d")
    return size * rng.choice([-1.0, 1.0], (n, d))


def simplex_response(gains: Array) -> Array:
    """argmax over the unit simplex of <gains, v> - |v|^2/2: the projection of ``gains``."""
    v: Array = np.array(gains, dtype=float)
    project(v, blocks((len(v), SIMPLEX, 1.0)))
    return v


def simplex_hessian(risks: Array, slopes: Array, curvatures: Array, mu: float) -> Array:
    """Hessian of w -> max over the simplex of <F(w), v> - mu/2 |v|^2, F of K parts.

    risks, slopes, curvatures : F, its gradients and Hessians, (K,), (K, d) and (K, d, d)

    On the support S of y* the response moves by (I - 11'/|S|) F_S'/mu; the Hessian jumps where S
    changes, and there an error is raised.
    """
    y = simplex_response(risks / mu)
    inside = y > 0
    level = risks[inside][0] / mu - y[inside][0]
    require(bool((risks[~inside] / mu != level).all()), "w", "be off the jumps of the Hessian", risks)
    moved = slopes[inside] - slopes[inside].mean(0)
    return np.asarray(np.tensordot(y, curvatures, 1) + moved.T @ moved / mu)
