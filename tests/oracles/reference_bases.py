"""The base solvers' second route, and problems whose records differ in curvature.

Everything is plain NumPy, written from the papers in their own proximal form: the regulariser and the
strong convexity are one explicit function with a proximal map, whereas the kernels fold them into shorter
steps. Records are drawn as the kernels draw them, from the same stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from reference.derivatives import project, quadratic

from dpcheck.algorithms.kernels.jit import kernel
from dpcheck.algorithms.kernels.parts import Shape
from dpcheck.algorithms.problem import Defaults, blocks


@kernel("gradient")
def ridge_gradient(params, record, w, v, out_w, out_v):
    for j in range(w.size):
        out_w[j] = record[j] * w[j] - record[w.size + j]


@kernel("value")
def ridge_value(params, record, w, v):
    total = 0.0
    for j in range(w.size):
        total += 0.5 * record[j] * w[j] * w[j] - record[w.size + j] * w[j]
    return total


@kernel("gradient")
def pairs_gradient(params, record, w, v, out_w, out_v):
    d = w.size
    for j in range(d):
        out_w[j] = params[0] * w[j] + record[j] * v[j] + record[d + j]
        out_v[j] = record[j] * w[j] - params[1] * v[j] - record[2 * d + j]


@kernel("value")
def pairs_value(params, record, w, v):
    d, total = w.size, 0.0
    for j in range(d):
        total += 0.5 * (params[0] * w[j] * w[j] - params[1] * v[j] * v[j]) + record[j] * w[j] * v[j]
        total += record[d + j] * w[j] - record[2 * d + j] * v[j]
    return total


class Free(Defaults):
    """Boxes of half-width ``radius``, and no Lipschitz constants."""

    lipschitz_w = lipschitz_v = np.inf

    @property
    def domain_w(self):
        return blocks((self.dim_w, Shape.BOX, self.radius))

    @property
    def domain_v(self):
        return blocks((self.dim_v, Shape.BOX, self.radius)) if self.dim_v else np.empty((0, 4))


@dataclass(frozen=True, eq=False)
class Ridges(Free):
    """f(w; (h, b)) = 1/2 sum h_j w_j^2 - <b, w>, mu <= h_j <= l; the solution clips mean b / mean h."""

    records: np.ndarray
    mu: float
    l: float
    radius: float = np.inf
    name: str = "ridges"

    gradient: ClassVar = staticmethod(ridge_gradient)
    value: ClassVar = staticmethod(ridge_value)
    params: ClassVar = np.zeros(1)
    dim_v: ClassVar = 0
    convexity = property(lambda self: self.mu)
    smoothness = property(lambda self: self.l)
    dim_w = property(lambda self: self.records.shape[1] // 2)

    @classmethod
    def sample(cls, n, kappa, rng, d=8, radius=np.inf):
        """Every h_j is mu or l; the means lie in geometric progression from mu = 1/kappa to l = 1."""
        h = np.where(spread(n, d, 1 / kappa, 1.0, rng), 1.0, 1 / kappa)
        b = h * rng.choice([-1.0, 1.0], d) / np.sqrt(d * h.mean(0)) + noise(h.mean(0), n, rng)
        return cls(np.hstack([h, b]), 1 / kappa, 1.0, radius)

    def solution(self):
        h, b = np.split(self.records.mean(0), 2)
        return np.clip(b / h, -self.radius, self.radius)


@dataclass(frozen=True, eq=False)
class Pairs(Free):
    """f(w, v; (a, b, c)) = mu_w/2 |w|^2 + sum a_j w_j v_j - mu_v/2 |v|^2 + <b, w> - <c, v>, 0 <= a_j <= l."""

    records: np.ndarray
    mu_w: float
    mu_v: float
    radius: float = np.inf
    name: str = "pairs"

    gradient: ClassVar = staticmethod(pairs_gradient)
    value: ClassVar = staticmethod(pairs_value)
    params = property(lambda self: np.array([self.mu_w, self.mu_v]))
    convexity = property(lambda self: self.mu_w)
    concavity = property(lambda self: self.mu_v)
    dim_w = dim_v = property(lambda self: self.records.shape[1] // 3)

    @property
    def smoothness(self):
        a = self.records[:, : self.dim_w].max()
        return float(np.linalg.norm([[self.mu_w, a], [a, -self.mu_v]], 2))

    @classmethod
    def sample(cls, n, mu_w, mu_v, rng, d=6, radius=np.inf):
        """Every a_j is 0 or 1; the means lie in geometric progression from about 0 to 1."""
        a = spread(n, d, 0.0, 1.0, rng).astype(float)
        b, c = (np.sqrt(mu / d) * rng.choice([-1.0, 1.0], d) + np.zeros((n, d)) for mu in (mu_w, mu_v))
        b, c = b + noise(np.full(d, mu_w), n, rng), c + noise(np.full(d, mu_v), n, rng)
        return cls(np.hstack([a, b, c]), mu_w, mu_v, radius)

    def solution(self):
        """The saddle over the whole space."""
        a, b, c = np.split(self.records.mean(0), 3)
        det = self.mu_w * self.mu_v + a * a
        return np.concatenate([(a * c - self.mu_v * b) / det, -(a * b + self.mu_w * c) / det])


def spread(n, d, low, high, rng):
    """(n, d) Booleans; column j holds as many as bring the mean to the j-th term of the progression."""
    means = np.geomspace(max(low, 1e-3 * high), high, d)
    counts = np.round(n * (means - low) / (high - low)).astype(int)
    counts[0] = 0
    return np.stack([rng.permutation(n) < count for count in counts], axis=1)


def noise(scale, n, rng):
    """Centred columns, so that the means are exact."""
    z = rng.normal(size=(n, len(scale))) * np.sqrt(scale / len(scale))
    return z - z.mean(0)


GRADIENTS = {
    "ridges": lambda p, z, w, v: (np.split(z, 2)[0] * w - np.split(z, 2)[1], np.empty(0)),
    "pairs": lambda p, z, w, v: (
        p.mu_w * w + np.split(z, 3)[0] * v + np.split(z, 3)[1],
        np.split(z, 3)[0] * w - p.mu_v * v - np.split(z, 3)[2],
    ),
    "quadratic": quadratic,
}


class Oracle:
    """The problem in proximal form: the records' monotone parts B_i, and psi = r/2 |z - c|^2 + (mu - r)/2 |z|^2.

    z and all constants are vectors over (w, v); ``count`` is the number of record gradients asked for.
    """

    def __init__(self, problem, r, centre, energy):
        d_w, d_v = problem.dim_w, problem.dim_v
        self.problem, self.n, self.centre, self.energy, self.count = problem, len(problem.records), centre, energy, 0
        self.r = np.repeat(r, [d_w, d_v])
        self.mu = np.repeat([problem.convexity + r[0], problem.concavity + r[1]], [d_w, d_v])
        self.sign = np.repeat([1.0, -1.0], [d_w, d_v])
        self.l, self.low = problem.smoothness, self.mu.min()
        self.whole = self.l / self.low + (self.r / self.mu).max()
        own = self.mu - self.r
        self.rest = max((self.l + own.max() - own.min()) / self.low, 1.0)
        self.domain = [*problem.domain_w.tolist(), *(problem.domain_v + np.array([d_w, d_w, 0, 0])).tolist()]

    def clip(self, z):
        return project(z, self.domain)

    def f(self, i, z):
        self.count += 1
        w, v = z[: self.problem.dim_w], z[self.problem.dim_w :]
        return self.sign * np.concatenate(GRADIENTS[self.problem.name](self.problem, self.problem.records[i], w, v))

    def B(self, i, z):
        return self.f(i, z) - (self.mu - self.r) * z

    def all_B(self, z):
        return sum(self.B(i, z) for i in range(self.n)) / self.n

    def W(self, B, z):
        return B + self.mu * z - self.r * self.centre

    def prox(self, z, t):
        """argmin psi(x) + sum (x - z)^2/(2t) over the domain; t : a number or a vector."""
        return self.clip((z + t * self.r * self.centre) / (1 + t * self.mu))

    def bound(self, z, B):
        ahead = self.clip(z - self.W(B, z) / (self.mu * self.whole))
        return 4 * self.whole**2 * np.sum(self.mu * (z - ahead) ** 2)

    def done(self, z, B, more=0.0):
        return self.bound(z, B) <= self.energy + more

    def draw(self, rng):
        return draw(rng, self.n)


def draw(rng, n):
    return int(rng.random() * 2**53) % n


def gradient_descent(o, z, rng):
    while not o.done(z, B := o.all_B(z)):
        z = o.clip(z - o.W(B, z) / (o.l + o.r))
    return z


def gda(o, z, rng):
    while not o.done(z, B := o.all_B(z)):
        z = o.clip(z - o.W(B, z) / (o.mu * o.whole**2))
    return z


def extragradient(o, z, rng):
    t = (np.sqrt(2) - 1) / (o.mu * o.whole)
    while not o.done(z, B := o.all_B(z)):
        half = o.clip(z - t * o.W(B, z))
        z = o.clip(z - t * o.W(o.all_B(half), half))
    return z


def svrg(o, z, rng):
    smooth = max(o.l, o.low)
    t, m = 1 / (16 * smooth), int(np.ceil(64 * smooth / o.low))
    own = o.mu - o.r  # the records keep their own convexity here
    while not o.done(z, B := o.all_B(z)):
        x, iterates = z, []
        for _ in range(m):
            i = o.draw(rng)
            estimate = B + o.B(i, x) - o.B(i, z) + own * x
            x = o.clip((x - t * estimate + t * o.r * o.centre) / (1 + t * o.r))
            iterates.append(x)
        z = np.mean(iterates, axis=0)
    return z


def sarah(o, z, rng):
    smooth = o.l + o.r
    t, m = 1 / (8 * smooth), int(np.ceil(32 * smooth.max() / o.low))
    while not o.done(z, B := o.all_B(z)):
        further = draw(rng, m)
        g, last = o.W(B, z), z
        z = o.clip(z - t * g)
        for _ in range(further):
            i = o.draw(rng)
            g = g + o.B(i, z) - o.B(i, last) + o.mu * (z - last)
            last, z = z, o.clip(z - t * g)
    return z


def katyusha(o, z, rng):
    smooth, m = max(o.l, o.low), 2 * o.n
    tau = min(np.sqrt(m * o.low / (3 * smooth)), 0.5)
    alpha = 1 / (3 * tau * smooth)
    y = far = z
    while not o.done(z, B := o.all_B(z)):
        iterates = []
        for _ in range(m):
            x = tau * far + 0.5 * z + (0.5 - tau) * y
            i = o.draw(rng)
            g = B + o.B(i, x) - o.B(i, z)
            far = o.prox(far - alpha * g, alpha)
            y = o.prox(x - g / (3 * smooth), 1 / (3 * smooth))
            iterates.append(y)
        z = np.average(iterates, axis=0, weights=(1 + alpha * o.low) ** np.arange(m))
    return z


def svrg_epoch(o, z, B, sigma, m, rng):
    x = z
    for _ in range(m):
        i = o.draw(rng)
        x = o.prox(x - sigma / o.mu * (B + o.B(i, x) - o.B(i, z)), sigma / o.mu)
    return x


def saddle_svrg(o, z, rng):
    sigma = 1 / (4 * o.rest**2)
    m = int(np.ceil(np.log(4) * (1 + 1 / sigma)))
    while not o.done(z, B := o.all_B(z)):
        z = svrg_epoch(o, z, B, sigma, m, rng)
    return z


def saddle_saga(o, z, rng):
    sigma = 1 / max(4 * o.rest**2, 1.5 * o.n - 1)
    table = np.array([o.B(i, z) for i in range(o.n)])
    B = table.mean(0)
    while not o.done(z, B):
        for _ in range(max(int(np.ceil(2 / sigma)), 2 * o.n)):
            i = o.draw(rng)
            new = o.B(i, z)
            estimate = new - table[i] + table.mean(0)
            table[i] = new
            z = o.prox(z - sigma / o.mu * estimate, sigma / o.mu)
        B = o.all_B(z)
    return z


def accelerated_svrg(o, z, rng):
    return accelerated_inner(o, z, rng, o.all_B(z), lambda z: 0.0)[0]


def accelerated_inner(o, z, rng, B, more):
    tau = max(o.rest / np.sqrt(o.n) - 1, 0.0)
    sigma = (1 + tau) ** 2 / (4 * o.rest**2)
    m = int(np.ceil(np.log(4) * (1 + 1 / sigma)))
    patience = int(np.ceil(1 + np.log(1 + tau) / np.log(4 / 3)))
    bar, epochs = z, 0
    while not o.done(z, B, more(z)):
        sub = shifted(o, tau * o.mu, bar)
        z = svrg_epoch(sub, z, B, sigma, m, rng)
        B, epochs = o.all_B(z), epochs + 1
        o.count += sub.count
        error, far = (1 + tau) * sub.bound(z, B), np.sum(o.mu * (z - bar) ** 2)
        if tau > 0 and error <= tau**2 / 4 * far:
            ahead = o.clip(z - sub.W(B, z) / (sub.mu * sub.whole))
            normal = sub.mu * sub.whole * (z - ahead) - sub.W(B, z)
            z, B = ahead, o.all_B(ahead)
            bar, epochs = bar - (o.W(B, z) + normal) / (tau * o.mu), 0
        elif epochs >= patience:
            bar, epochs = z, 0
    return z, B


def jin_sidford_tian(o, z, rng):
    return extragradient_inner(o, z, rng, o.all_B(z), lambda z: 0.0)[0]


def extragradient_inner(o, z, rng, B, more):
    p = min(2 / o.n, 1.0)
    t = np.sqrt(p / 2) / (o.rest * o.mu)
    x = z
    while not o.done(z, B, more(z)):
        for _ in range(1 + int(rng.standard_exponential() / -np.log1p(-p)) if p < 1 else 1):
            bar = (1 - p) * x + p * z
            half = o.prox(bar - t * B, t)
            i = o.draw(rng)
            x = o.prox(bar - t * (B + o.B(i, half) - o.B(i, z)), t)
        z = x
        B = o.all_B(z)
    return z, B


def shifted(o, extra, bar):
    """The oracle with sum extra (z - bar)^2 / 2 added to psi; B is unchanged."""
    sub = Oracle.__new__(Oracle)
    vars(sub).update(vars(o), count=0)
    sub.r, sub.mu = o.r + extra, o.mu + extra
    sub.centre = np.divide(o.r * o.centre + extra * bar, sub.r, out=np.zeros_like(bar), where=sub.r > 0)
    own = sub.mu - sub.r
    sub.low = sub.mu.min()
    sub.whole = o.l / sub.low + (sub.r / sub.mu).max()
    sub.rest = max((o.l + own.max() - own.min()) / sub.low, 1.0)
    return sub


def catalyst(inner, o, z, rng):
    d = o.problem.dim_w
    block = np.arange(len(z)) < d
    if d < len(z) and o.mu[0] > o.mu[-1]:
        block = ~block
    mu, other = o.mu[block][0], o.mu[~block]
    beta = max(min([o.l / np.sqrt(o.n), *other]) - mu, 0.0)
    q = mu / (mu + beta)
    momentum = (1 - np.sqrt(q)) / (1 + np.sqrt(q))
    y = last = z
    B, first = o.all_B(z), True
    while not o.done(z, B):
        if beta and not first:
            y, last = z + momentum * (z - last), z
            z = o.clip(y)
            B = o.all_B(z)
        first = False
        sub = shifted(o, beta * block, y)
        if beta:
            sub.energy = o.energy * q * q / 8

        def more(z, y=y):
            return 0.5 * np.sqrt(q) * beta * np.sum((z - y)[block] ** 2)

        z, B = inner(sub, z, rng, B, more)
        o.count += sub.count
    return z


def al_svre(o, z, rng):
    return catalyst(extragradient_inner, o, z, rng)


def catalyst_svrg(o, z, rng):
    return catalyst(accelerated_inner, o, z, rng)
