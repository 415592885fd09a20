"""Dominating pairs as densities: what the second route integrates.

A pair (P, Q) is written down by the law of its loss l = log P/Q under P: stretches of a line on which the loss
increases, and atoms. With phi_a the density of N(a, 1), q the chance that the record is in the minibatch and mu the
sensitivity over the noise:

======================  ====================  ===================================================================
scheme                  neighbours            pair
======================  ====================  ===================================================================
Poisson                 add_or_remove_one     (1-q) phi_0 + q phi_mu  against  phi_0, and the reverse [1, Theorem 11]
Poisson                 replace_one           (1-q) phi_0 + q phi_u  against  (1-q) phi_0 + q phi_-u, u = mu/2 [2]
Poisson, Laplace noise  replace_one           (1-q) L_0 + q L_u  against  (1-q) L_0 + q L_-u, u = mu/2
without replacement     replace_one           on x > mu/2 the first pair, on a mirrored copy its reverse, and the
                                              rest of both laws on one point, of loss 0 [1, Proposition 30]
with replacement        replace_one           a curve, see :mod:`reference.replacement`
======================  ====================  ===================================================================

[1] Zhu, Dong and Wang, "Optimal Accounting of Differential Privacy via Characteristic Function", AISTATS 2022.
[2] Lebeda, Regehr, Kamath and Steinke, "Avoiding Pitfalls for Privacy Accounting of Subsampled Mechanisms under
    Composition", 2024, who also show that the first two differ under composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpcheck.events import Sampled
from reference.replacement import Drawn

Array: TypeAlias = NDArray[np.float64]

_REACH = 10.0  # standard deviations of a Gaussian beyond which 1e-23 lies
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANEL, _PHASE = 0.5, 6.0  # in standard deviations, and in radians
_NEGLIGIBLE = 1e-18  # of the heaviest point, what is left out
_LARGEST = 700.0  # exponent
_RARE = 1e-18  # chance of more copies of a record than are looked at


@dataclass(frozen=True)
class Stretch:
    """A part of the line, [low, high] up to negligible mass, on which ``loss(x)`` increases.

    density : P's;  slope : the largest derivative of the loss
    reversed : P and Q exchanged, so that the loss is -loss(x) and its mass e^-loss times the density
    starts, ends : whether ``low`` and ``high`` are ends indeed, rather than where the mass becomes negligible
    """

    density: Callable[[Array], Array]
    loss: Callable[[Array], Array]
    low: float
    high: float
    slope: float
    reversed: bool = False
    starts: bool = False
    ends: bool = False

    def points(self, order: float, frequency: float) -> tuple[Array, Array]:
        """Return losses and masses of a Gauss-Legendre rule that integrates e^((order + i frequency) loss) over P."""
        low, high = self._ends(order)
        edges = np.linspace(low, high, max(math.ceil((high - low) / _PANEL), 1) + 1)
        turns = np.diff(self.loss(edges)) * math.hypot(frequency, order) / _PHASE
        x, weights = _rule(edges[:-1], edges[1:])
        loss, mass = self._signed(self.loss(x), weights * self.density(x))
        heavy = np.max((mass * np.maximum(np.exp(order * loss), 1.0)).reshape(-1, _NODES.size), axis=1)
        kept = heavy > _NEGLIGIBLE * np.max(heavy)
        if np.any(turns[kept] > 1):
            parts = np.where(kept, np.ceil(np.maximum(turns, 1)), 0).astype(int)
            width = np.repeat(np.diff(edges) / np.maximum(parts, 1), parts)
            first = np.repeat(edges[:-1], parts) + width * _counted(parts)
            x, weights = _rule(first, first + width)
            return self._signed(self.loss(x), weights * self.density(x))
        several = np.repeat(kept, _NODES.size)
        return loss[several], mass[several]

    def most(self, order: float) -> float:
        """Return the largest loss that :meth:`points` sees."""
        low, high = self._ends(order)
        return -float(self.loss(np.array([low]))[0]) if self.reversed else float(self.loss(np.array([high]))[0])

    def _ends(self, order: float) -> tuple[float, float]:
        """Return the ends of what counts: tilting shifts a Gaussian by at most the order times the slope."""
        drift = order * self.slope
        if self.reversed:
            return self.low - (0.0 if self.starts else drift), self.high
        return self.low, self.high + (0.0 if self.ends else drift)

    def _signed(self, loss: Array, mass: Array) -> tuple[Array, Array]:
        return (-loss, mass * np.exp(-loss)) if self.reversed else (loss, mass)

    def stick(self, epsilon: float) -> float:
        """Return the integral of (P - e^epsilon Q)^+ over the stretch, from the point where the loss is ``epsilon``."""
        sign = -1.0 if self.reversed else 1.0
        low, high = self.low, self.high
        for _ in range(200):
            middle = (low + high) / 2
            below = float(self.loss(np.array([middle]))[0]) < sign * epsilon
            low, high = (middle, high) if below else (low, middle)
        start, end = (self.low, low) if self.reversed else (high, self.high)
        edges = np.linspace(start, end, math.ceil((self.high - self.low) / _PANEL) * 2 + 1)
        x, weights = _rule(edges[:-1], edges[1:])
        loss, mass = self._signed(self.loss(x), weights * self.density(x))
        return float(np.sum(mass * -np.expm1(np.minimum(epsilon - loss, 0.0))))


@dataclass(frozen=True)
class Pair:
    """Stretches, each with the chance that it is the one looked at, and atoms (loss, P's mass)."""

    stretches: tuple[tuple[float, Stretch], ...]
    atoms: tuple[tuple[float, float], ...] = ()

    def log_moment(self, order: float, frequencies: Array) -> NDArray[np.complex128]:
        """Return log E e^((order + i frequency) loss) under P, (k,), by way of E (e^(s loss) - 1): no digit is lost."""
        total = np.zeros(len(frequencies), np.complex128)
        parts = [(1.0, *np.array(self.atoms).T)] if self.atoms else []
        fastest = float(np.max(np.abs(frequencies), initial=0.0))
        if any(order * stretch.most(order) > _LARGEST for _, stretch in self.stretches):
            return np.full(len(frequencies), np.inf, np.complex128)
        parts += [(chance, *stretch.points(order, fastest)) for chance, stretch in self.stretches]
        for chance, losses, masses in parts:
            angle = np.multiply.outer(frequencies / 2, losses)
            sine, cosine = np.sin(angle), np.cos(angle)
            grown = masses * np.exp(order * losses)
            total += chance * (masses @ np.expm1(order * losses) - 2 * (sine * sine) @ grown)
            total += 2j * chance * ((sine * cosine) @ grown)
        return np.log1p(total)

    def stick(self, epsilon: float) -> float:
        """Return the hockey stick E (1 - e^(epsilon - loss))^+ under P, by quadrature."""
        atoms = sum(mass * -math.expm1(min(epsilon - loss, 0.0)) for loss, mass in self.atoms)
        return atoms + sum(chance * stretch.stick(epsilon) for chance, stretch in self.stretches)


def pairs_of(event: Sampled) -> tuple[Pair | Drawn, ...]:
    """Return the dominating pairs of a sampled Gaussian, one for each direction that matters."""
    mu = math.sqrt(sum(part.noise_multiplier**-2.0 for part in event.mechanisms))
    share = event.batch / event.population
    match event.scheme, event.neighbours:
        case "poisson", "add_or_remove_one":
            return Pair(((1.0, _added(share, mu)),)), Pair(((1.0, _added(share, mu, reversed=True)),))
        case "poisson", "replace_one" if event.laplace:
            return (laplace_exchanged(share, mu / 2),)
        case "poisson", "replace_one":
            return (Pair(((1.0, _exchanged(share, mu / 2)),)),)
        case "without_replacement", "replace_one":
            return (both_ways({1: 1.0}, share, mu),)
        case "with_replacement", "replace_one":
            chances = _copies(int(event.batch), event.population)
            present = sum(chances.values())
            return (Drawn(tuple((k, chance / present) for k, chance in chances.items()), present, mu),)
    raise AssertionError(event)


def both_ways(copies: dict[int, float], q: float, mu: float) -> Pair:
    """Return the pair that is at least as bad as (1-q) phi_0 + q phi_(k mu) against phi_0 in both directions, k
    seen.
    """
    stretches: list[tuple[float, Stretch]] = []
    rest = 0.0
    for k, chance in copies.items():
        half, inner = k * mu / 2, 0.5 * math.erfc(k * mu / 2 / math.sqrt(2))
        stretches += ((chance, _added(q, k * mu, low=half, reversed=back)) for back in (False, True))
        rest += chance * (1 - q) * (1 - 2 * inner)
    return Pair(tuple(stretches), ((0.0, rest),))


def laplace(mu: float) -> Pair:
    """Return the pair of two Laplace laws of scale 1 and means 0 and ``mu``: the loss is mu below 0, -mu above mu,
    mu - 2x between.
    """
    between = Stretch(lambda x: 0.5 * np.exp(x - mu), lambda x: 2 * x - mu, 0.0, mu, 2.0, starts=True, ends=True)
    return Pair(((1.0, between),), ((mu, 0.5), (-mu, 0.5 * math.exp(-mu))))


def laplace_exchanged(q: float, u: float) -> Pair:
    """Return (1-q) L_0 + q L_u against (1-q) L_0 + q L_-u, L_a the Laplace law of scale 1 about a: beyond u and -u the
    loss is constant.
    """

    def part(x: Array) -> Array:
        return np.log((1 - q) * np.exp(-np.abs(x)) + q * np.exp(-np.abs(x - u)))

    most = math.log1p(q * math.expm1(u)) - math.log1p(q * math.expm1(-u))
    tail = 0.5 * math.exp(-u) * (1 + q * math.expm1(u))
    halves = (
        Stretch(lambda x: 0.5 * np.exp(part(x)), lambda x: part(x) - part(-x), low, high, 2.0, starts=True, ends=True)
        for low, high in ((-u, 0.0), (0.0, u))
    )
    return Pair(tuple((1.0, half) for half in halves), ((most, tail), (-most, tail * math.exp(-most))))


def randomised_response(epsilon: float) -> Pair:
    """Return the worst of all pure mechanisms of this epsilon: losses epsilon and -epsilon."""
    heads = 1 / (1 + math.exp(-epsilon))
    return Pair((), ((epsilon, heads), (-epsilon, heads * math.exp(-epsilon))))


def _added(q: float, mu: float, *, low: float = -math.inf, reversed: bool = False) -> Stretch:
    """Return (1-q) phi_0 + q phi_mu against phi_0, whose loss is log(1 - q + q e^(mu x - mu^2/2)), from ``low`` on."""

    def loss(x: Array) -> Array:
        grown = mu * x - mu * mu / 2
        small = np.log1p(q * np.expm1(np.minimum(grown, 1.0)))
        large = grown + np.log(q + (1 - q) * np.exp(-np.maximum(grown, 1.0)))
        return np.where(grown < 1.0, small, large)

    def density(x: Array) -> Array:
        return (1 - q) * _bell(x) + q * _bell(x - mu)

    return Stretch(density, loss, max(low, -_REACH), mu + _REACH, mu, reversed, starts=low > -math.inf)


def _exchanged(q: float, u: float) -> Stretch:
    """Return (1-q) phi_0 + q phi_u against (1-q) phi_0 + q phi_-u."""

    def part(x: Array) -> Array:
        return np.logaddexp(math.log(q) + u * x - u * u / 2, math.log1p(-q))

    def density(x: Array) -> Array:
        return (1 - q) * _bell(x) + q * _bell(x - u)

    return Stretch(density, lambda x: part(x) - part(-x), -_REACH - u, u + _REACH, 2 * u)


def _copies(draws: int, population: int) -> dict[int, float]:
    """Return the chance of k = 1, 2, ... copies of one record among uniform ``draws``, down to the negligible."""
    chances: dict[int, float] = {}
    for k in range(1, draws + 1):
        ways = math.lgamma(draws + 1) - math.lgamma(k + 1) - math.lgamma(draws - k + 1)
        chance = math.exp(ways - k * math.log(population) + (draws - k) * math.log1p(-1 / population))
        if k > draws / population and chance < _RARE:
            break
        chances[k] = chance
    return chances


def _rule(first: Array, last: Array) -> tuple[Array, Array]:
    """Return the points and weights of Gauss and Legendre on these panels."""
    half = (last - first) / 2
    return (((first + last) / 2)[:, None] + half[:, None] * _NODES).ravel(), np.outer(half, _WEIGHTS).ravel()


def _counted(parts: NDArray[np.int64]) -> Array:
    """Return 0, 1, ... for each of these numbers of parts, one after the other."""
    return np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)


def _bell(x: Array) -> Array:
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
