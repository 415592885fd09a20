"""Closed forms that nonconvex-strongly-concave problems share.

Most of them are f(w, v; z) = h(w) + <v, c(w) + z> - mu/2 |v|^2 with public h and c, so that
y*(w) = (c(w) + zbar)/mu and Phi(w) = h(w) + |c(w) + zbar|^2/(2 mu), where the domain V of v holds all
these y*: it is ``room`` >= 1 times as wide as they reach, over W and over all admissible data.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.polynomial import Polynomial

from dpcheck.algorithms.problem import Array, Defaults, columns, fields_read
from dpcheck.errors import require


class StronglyConcave(Defaults):
    """A problem whose primal function Phi is studied to second order.

    hessian_lipschitz : rho_Phi, Lipschitz constant of the Hessian of Phi over W for all admissible
        data (operator norm over Euclidean norm); inf where there is none
    """

    params: Any = fields_read()
    dim_v: Any = columns(lambda count: count)

    def saddle_point(self) -> tuple[Array, float]:
        """Return a stationary point w of Phi with a direction of descent, and lambda_min of the Hessian there, < 0."""
        raise self._missing("strict saddle")

    def minima(self) -> Array:
        """Return the local minima of Phi : (count, d_w)."""
        raise self._missing("list of minima")


class Centred(Defaults):
    """A problem that draws its records with mean 0, in the size ``bound``."""

    bound: Any
    draw: ClassVar[Any]  # sphere or signs of dpcheck.problems

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> Self:
        """Draw ``n`` records of mean 0 in ``d`` dimensions, of size ``bound``."""
        return cls(cls.draw(n, d, rng, constants.get("bound", cls.bound)), **constants)  # type: ignore[call-arg]


class Wells(Defaults):
    """A double well along w_1, quadratic across; Phi' is x^3 - g x + q along w_1, with g = ``descent``.

    It has three roots, 2 sqrt(g/3) cos(phi/3 - 2 pi k/3), phi = arccos(-(3 q/(2 g)) sqrt(3/g)), k = 0, 1, 2 in falling
    order, where |q| < 2 (g/3)^{3/2}: the outer two are minima, the middle one is the saddle, of lambda_min =
    3 w_1^2 - g. Beyond that one minimum is left.
    """

    descent: Any

    def saddle_point(self) -> tuple[Array, float]:
        """Return the stationary point between the minima (a maximum where d = 1), and lambda_min there."""
        roots = self._roots()
        require(len(roots) == 3, "records", "have a mean that leaves Phi two minima", f"zbar_1 = {self.zbar[0]:.6g}")
        w = within(self._point(roots[1]), self.radius, "saddle")
        return w, float(3 * w[0] ** 2 - self.descent)

    def minima(self) -> Array:
        """Return both minima, the right one first, or the one that is left."""
        return np.array([within(self._point(root), self.radius, "minimum") for root in self._roots()[::2]])

    @property
    def _tilt(self) -> float:
        """The constant q of Phi' along w_1."""
        raise NotImplementedError

    def _roots(self) -> Array:
        """Return the real roots of x^3 - g x + q, g > 0, falling: three where |q| < 2 (g/3)^{3/2}, else one."""
        g, q = self.descent, self._tilt
        if abs(q) < 2 * (g / 3) ** 1.5:
            angle = math.acos(-1.5 * q / g * math.sqrt(3 / g)) / 3
            return np.asarray(2 * math.sqrt(g / 3) * np.cos(angle - 2 * np.pi / 3 * np.arange(3)))
        rest = math.sqrt(max(q * q / 4 - (g / 3) ** 3, 0.0))
        outer = np.cbrt(abs(q) / 2 + rest)  # Cardano, the larger of the two cube roots
        return np.array([-math.copysign(outer + g / (3 * outer), q)])

    def _point(self, first: float) -> Array:
        """Return the stationary point whose first coordinate is ``first``."""
        raise NotImplementedError

    def _steepest(self, curvature: float) -> float:
        """Return the largest slope over W of w_1^4/4 - curvature w_1^2/2 + (w_2^2 + ...)/2.

        With s = w_1^2 its square is s (s - curvature)^2 + |w|^2 - s, largest at |w| = R for some s in [0, R^2]
        (s = |w|^2 where d = 1).
        """
        s, square = Polynomial([0.0, 1.0]), self.radius**2
        steepest = s * (s - curvature) ** 2
        if self.dim_w > 1:
            steepest = steepest + square - s
        return math.sqrt(largest_on(steepest, 0.0, square))


def spectral(p: float, q: float, mu: float) -> float:
    """Return the spectral norm of [[p, q], [q, -mu]].

    It is convex in p and increases with |q|: over an interval of p it is largest at an end.
    """
    return abs(p - mu) / 2 + math.hypot((p + mu) / 2, q)


def largest_on(polynomial: Polynomial, low: float, high: float) -> float:
    """Return the maximum of a polynomial over [low, high]."""
    inner = np.clip(polynomial.deriv().roots().real, low, high)
    return float(max(polynomial(np.array([low, high, *inner]))))


def within(w: Array, radius: float, what: str) -> Array:
    """Return ``w`` if it lies in the ball of this radius, else raise InputError naming the radius."""
    norm = float(np.linalg.norm(w))
    require(norm <= radius * (1 + 1e-12), "radius", f"be at least the {what}'s norm {norm:.6g}", radius)
    return w
