r"""Noise formulas of one Gaussian release against its exact privacy curve.

A query of sensitivity 1 released with N(0, s^2) noise is (epsilon, delta)-DP if and only if

    Phi(1/(2 s) - epsilon s) - e^epsilon Phi(-1/(2 s) - epsilon s) <= delta

[Balle and Wang, ICML 2018, Theorem 8]. :class:`NotPrivate` evaluates the left side in ball
arithmetic. :class:`Private` shows the inequality over a region by the bound
Phi(-t) <= exp(-t^2/2)/2, t = epsilon s - 1/(2 s) >= 0, which drops the second term (for t < 0 the
density, below 2/5, bounds it), and where that is too coarse by ball arithmetic on the curve itself,
which needs finite intervals.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import sympy
from sympy import erfc, exp, log, sqrt

from dpcheck.bounds.kind import Method
from dpcheck.bounds.prover import ball, ranges, search
from dpcheck.bounds.prover.decide import decide
from dpcheck.bounds.prover.domain import Domain
from dpcheck.bounds.terms import exact
from dpcheck.errors import require

_LEAST = sympy.Rational(1, 10**12)  # what is at least this is positive


def curve(multiplier: Any, epsilon: Any) -> Any:
    """Return the least delta of one Gaussian release with noise ``multiplier`` times its sensitivity."""
    s, e = exact(multiplier), exact(epsilon)
    return _phi(1 / (2 * s) - e * s) - exp(e) * _phi(-1 / (2 * s) - e * s)


@dataclass(frozen=True)
class Private:
    """Noise ``multiplier`` is (epsilon, delta)-DP for all values in ``over``.

    ``multiplier`` is a formula in the letters of ``over``; ``epsilon`` and ``delta`` are formulas in
    them too, by which a share such as (epsilon/2, delta/2) can be asked for.
    """

    says: str
    multiplier: Any
    over: Domain
    epsilon: Any
    delta: Any
    METHOD: ClassVar[Method] = Method.PRIVACY_CURVE

    def __post_init__(self) -> None:
        """Keep exact formulas, in letters of the domain."""
        _keep(self)
        require(isinstance(self.over, Domain), "over", "be a Domain", self.over)
        self.over.covers(self.multiplier, self.epsilon, self.delta)

    def formula(self) -> str:
        """Return the claim and its region."""
        where = f" for {self.over}" if self.over.intervals else ""
        return f"N(0, ({self.multiplier})^2) on sensitivity 1 is ({self.epsilon}, {self.delta})-DP{where}"

    def latex(self) -> str:
        """Return the noise and the guarantee."""
        guarantee = rf"\left({sympy.latex(self.epsilon)}, {sympy.latex(self.delta)}\right)\text{{-DP}}"
        return rf"\sigma = {sympy.latex(self.multiplier)} \Rightarrow {guarantee}"

    def holds(self) -> bool:
        """Say whether the tail bound holds, or ball arithmetic on the curve shows the guarantee."""
        s, e, share = self.multiplier, self.epsilon, self.delta
        if search.find(self.over, (s, e, share)) is None:
            return False
        if not all(_positive(quantity, self.over) for quantity in (s, share)):
            return False  # the bounds below are about noise, and about a delta that is not 0
        # With t = e s - 1/(2 s): t^2/2 >= log(1/(2 delta)) where t >= 0; elsewhere Phi(-t) <= 1/2 - 2t/5.
        away = e * s**2 - sympy.Rational(1, 2)
        tail = sympy.expand((e * s) ** 2 - e + 1 / (4 * s**2)) - 2 * log(1 / (2 * share))
        middle = share - sympy.Rational(1, 2) - sympy.Rational(2, 5) * (1 / (2 * s) - e * s)
        intervals, where = self.over.intervals, self.over.where
        if decide(away, self.over).verdict == "proved":
            coarse = decide(tail, self.over).verdict == "proved"
        else:
            above, below = (Domain(intervals, (*where, relation)) for relation in (away >= 0, away <= 0))
            coarse = decide(tail, above).verdict == "proved" and decide(middle, below).verdict == "proved"
        return coarse or ranges.proves(share - curve(s, e), self.over)


@dataclass(frozen=True)
class NotPrivate:
    """A privacy curve lies above delta at these exact values."""

    says: str
    multiplier: Any
    epsilon: Any
    delta: Any
    METHOD: ClassVar[Method] = Method.PRIVACY_CURVE

    def __post_init__(self) -> None:
        """Keep exact numbers."""
        _keep(self)
        letters = self.multiplier.free_symbols | self.epsilon.free_symbols | self.delta.free_symbols
        require(not letters, "a noise that is not enough", "be stated in numbers", letters)

    def formula(self) -> str:
        """Return the curve's value."""
        least = sympy.N(curve(self.multiplier, self.epsilon), 6)
        at = f"noise {self.multiplier} on sensitivity 1 at epsilon = {self.epsilon}"
        return f"{at} needs delta >= {least} > {self.delta}"

    def latex(self) -> str:
        """Return the noise and the guarantee it misses."""
        guarantee = rf"\left({sympy.latex(self.epsilon)}, {sympy.latex(self.delta)}\right)"
        return rf"\sigma = {sympy.latex(self.multiplier)} \not\Rightarrow {guarantee}\text{{-DP}}"

    def holds(self) -> bool:
        """Say whether ball arithmetic shows that the difference is positive."""
        noise = self.multiplier
        return ball.sign(noise, {}) == 1 and ball.sign(curve(noise, self.epsilon) - self.delta, {}) == 1


def _keep(step: Private | NotPrivate) -> None:
    """Keep the formulas of a release exact."""
    for name in ("multiplier", "epsilon", "delta"):
        object.__setattr__(step, name, exact(getattr(step, name)))


def _positive(quantity: Any, over: Domain) -> bool:
    """Say whether a quantity is shown to be above zero wherever it is defined."""
    new, _ = over.standard()
    if quantity.xreplace(new).is_positive:
        return True
    return decide(quantity - _LEAST, over).verdict == "proved"


def _phi(x: Any) -> Any:
    return erfc(-x / sqrt(2)) / 2
