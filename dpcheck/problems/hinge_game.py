"""Convex-concave game whose saddle is a corner of its box, with a bend on the way there or beyond the start:

f(w, v; (b, c)) = a <w, v> + <b, w> - <c, v> + s/sqrt(d) sum_i (hinge(w_i - p/sqrt(d)) - hinge(v_i - p/sqrt(d))),

|w_i|, |v_i| <= D/sqrt(d), |b|, |c| <= B. hinge(t) is 0 for t <= 0, t^2/(2k) up to k = h/sqrt(d) and t - k/2 from there
on, and max(t, 0) where h = 0: then f is not smooth. In the coordinates sqrt(d) w and sqrt(d) v the game is the mean of
d equal ones in one dimension each, so that no constant depends on d.

|hinge'| <= 1, so that both partial gradients have norms of at most aD + B + s. The Hessian is [[x, a], [a, -y]] in each
pair of coordinates with x and y in [0, s/h], whose norm is largest at (s/h, 0): L = s/(2h) + sqrt((s/2h)^2 + a^2).
Where p >= 0 and aD is less than the mean
b and c in each of those coordinates, gradients keep their sign from the start 0 to the saddle, the corner where all
w_i = v_i = -D/sqrt(d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.algorithms.kernels import gradients
from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Array, Constants, Defaults, blocks, columns
from dpcheck.errors import require, require_work
from dpcheck.problems import bounded_pairs
from dpcheck.problems.nonconvex import spectral


@kernel("gradient")
def gradient(params, record, w, v, out_w, out_v):  # type: ignore[no-untyped-def]
    """Partial gradients of one record (b, c); at a kink the subgradient 0 of the hinge."""
    a, slope, place, width, d = params[0], params[1], params[2], params[3], w.size
    for i in range(d):
        out_w[i] = a * v[i] + record[i]
        out_v[i] = a * w[i] - record[d + i]
        if w[i] > place:
            out_w[i] += slope if w[i] >= place + width else slope * (w[i] - place) / width
        if v[i] > place:
            out_v[i] -= slope if v[i] >= place + width else slope * (v[i] - place) / width


@kernel("mean")
def mean(gradient, data, index, batch, x, clip, out):  # type: ignore[no-untyped-def]
    """The general kernel where gradients are clipped; else the gradient at the mean record, in which it is linear."""
    if clip[0] < np.inf or clip[1] < np.inf:
        gradients.mean(gradient, data, index, batch, x, clip, out)
        return
    params, records, d = data.params, data.records, data.dim_w
    if index.size == 1:  # no mean to compute, nor room to allocate for it
        one = records[index[0]]
    else:
        one = np.zeros(records.shape[1])
        for j in range(index.size):
            for i in range(one.size):
                one[i] += records[index[j], i]
        for i in range(one.size):
            one[i] /= max(index.size, 1)
    gradient(params, one, x[:d], x[d:], out[:d], out[d:])
    for i in range(x.size):
        out[i] *= index.size / batch


@kernel("value")
def value(params, record, w, v):  # type: ignore[no-untyped-def]
    """f of one record (b, c)."""
    a, slope, place, width, d = params[0], params[1], params[2], params[3], w.size
    total = 0.0
    for i in range(d):
        total += a * w[i] * v[i] + record[i] * w[i] - record[d + i] * v[i]
        for sign, t in ((1.0, w[i] - place), (-1.0, v[i] - place)):
            if t >= width:
                total += sign * slope * (max(t, 0.0) - 0.5 * width)
            elif t > 0:
                total += sign * slope * t * t / (2 * width)
    return total


@dataclass(frozen=True, eq=False)
class HingeGame(Defaults):
    """A bilinear game on two boxes with a hinge in each coordinate.

    Parameters
    ----------
    records : ndarray, (n, 2d) float64
        Rows (b_i, c_i) with |b_i|, |c_i| <= bound.
    coupling, slope : float
        a >= 0 and s > 0.
    place, width : float
        p in (-D, D) and h >= 0 with p + h <= D.
    bound, radius : float
        B > 0, and D > 0 of the balls that the boxes' corners lie on.
    centre, spread : float
        Entries of b and c are (centre +- spread) B/sqrt(d) in the population, each with the chance 1/2.
    """

    records: Array
    coupling: float = 0.05
    slope: float = 0.125
    place: float = 0.5
    width: float = 0.125
    bound: float = 1.0
    radius: float = 1.0
    centre: float = 7 / 8
    spread: float = 1 / 8
    name: str = "hinge_game"

    gradient = staticmethod(gradient)
    value = staticmethod(value)
    mean = staticmethod(mean)
    dim_w = dim_v = columns(lambda count: count // 2)

    def __post_init__(self) -> None:
        require(0 <= self.coupling < np.inf, "coupling", "be finite and >= 0", self.coupling)
        self._require_positive("slope", "bound", "radius")
        require(-self.radius < self.place < self.radius, "place", "lie in (-radius, radius)", self.place)
        room = self.radius - self.place
        require(0 <= self.width <= room, "width", f"lie in [0, {room:g}], the room beyond place", self.width)
        self._set(records=bounded_pairs(self.records, self.bound))

    @classmethod
    def sample(cls, n: int, d: int, rng: np.random.Generator, **constants: Any) -> HingeGame:
        """Draw ``n`` records with independent entries, (7 +- 1)/8 B/sqrt(d) by default."""
        require_work(n, "n")
        require_work(d, "d")
        signs = rng.integers(0, 2, (n, 2 * d)) * 2 - 1
        centre, spread = constants.get("centre", cls.centre), constants.get("spread", cls.spread)
        return cls((centre + spread * signs) * constants.get("bound", cls.bound) / math.sqrt(d), **constants)

    @property
    def params(self) -> Array:
        """a, then s, p and h divided by sqrt(d)."""
        return np.array([self.coupling, *(np.array([self.slope, self.place, self.width]) / math.sqrt(self.dim_w))])

    @property
    def domain_w(self) -> Array:
        """The box whose corners have norm D, for w and for v."""
        return blocks((self.dim_w, Shape.BOX, self.radius / math.sqrt(self.dim_w)))

    domain_v = domain_w

    def constants(self) -> Constants:
        G = self.coupling * self.radius + self.bound + self.slope
        L = spectral(self.slope / self.width, self.coupling, 0.0) if self.width > 0 else math.inf
        return Constants(lipschitz_w=G, lipschitz_v=G, smoothness=L)

    def weak_gap(self, outputs: Array) -> float:
        """Return the weak primal-dual population gap of runs ``outputs`` : (R, 2d), under :meth:`sample`.

        max_v E F(w, v) - min_w E F(w, v), Yang et al. 2022, Definition 4. In each coordinate the largest
        u y - s hinge(y) is at -D for u < 0, at D for u > s, and at p + h u/s between.
        """
        d, mean = self.dim_w, self.centre * self.bound
        x = outputs * math.sqrt(d)
        losses = mean * x + self._hinge(x)
        u = self.coupling * x.mean(0) + np.where(np.arange(2 * d) < d, -mean, mean)
        u[d:] *= -1  # the least a v + b in w is the largest of its negative
        bent = np.where(u > self.slope, self.radius, self.place + self.width * u / self.slope)
        y = np.where(u < 0, -self.radius, bent)
        return float((losses.mean(0) + u * y - self._hinge(y)).sum() / d)

    def _hinge(self, x: Array) -> Array:
        """Return s times the hinge, in the coordinates sqrt(d) w."""
        t = np.maximum(x - self.place, 0.0)
        inside = t * t / (2 * self.width) if self.width > 0 else 0.0 * t
        return self.slope * np.where(t < self.width, inside, t - 0.5 * self.width)
