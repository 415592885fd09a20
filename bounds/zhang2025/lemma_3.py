r"""Lemmas 3 and 11: the smoothness of Phi, and the cross derivative of the loss.

By [1, Lemma 3], under Assumptions 1 and 3, Phi = max_y L(., y) is (l + kappa l)-smooth and y* is kappa-Lipschitz;
by [1, Lemma 11] |grad_xy L| <= l. Both use how grad_y L moves with x. Assumption 3 bounds how grad_x L moves with x
and how grad_y L moves with y, but not the cross term. The instance

    L = 3 h(x) y - y^2/2 on R x [-1/6, 1/6],   h odd, h' = 1 on [0, 1], 2 - x on [1, 2], 0 beyond,

meets Assumptions 1 to 4: |h| <= 3/2, |h'| <= 1, and h' is 1-Lipschitz, so that l_x <= 3/6, l_y = mu = 1,
l = kappa = 1. Its cross derivative is 3 about x = 0.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Lemma 3; version with proofs, Lemma 11.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import kappa
from dpcheck.bounds.zhang2025.privatediff import clip

l, mu, moved, step, b, c = symbols("l mu moved step b c", positive=True)
RADIUS = Fraction(1, 6)
POINT = Fraction(1, 30)


def h(x: Fraction) -> Fraction:
    """Return the odd function that is x up to 1, then 2 x - (x^2 + 1)/2 up to 2, then 3/2."""
    size = min(abs(x), Fraction(2))
    value = size if size <= 1 else 2 * size - (size**2 + 1) / 2
    return value if x >= 0 else -value


def slope(x: Fraction) -> Fraction:
    """Return the derivative of ``h``."""
    return clip(2 - min(abs(x), Fraction(2)), 1)


def maximiser(x: Fraction) -> Fraction:
    """Return the maximiser y*(x) of the instance."""
    return clip(3 * h(x), RADIUS)


def gradient(x: Fraction) -> Fraction:
    """Return the gradient of Phi on the instance: ``grad_x L`` at ``y*(x)``."""
    return 3 * slope(x) * maximiser(x)


def value(x: Fraction) -> Fraction:
    """Return Phi on the instance."""
    return 3 * h(x) * maximiser(x) - maximiser(x) ** 2 / 2


@claim("003:Lem3", Kind.LEMMA, location="Lemma 3")
def smoothness() -> Decision:
    """Under Assumptions 1 and 3 Phi is (l + kappa l)-smooth and y* is kappa-Lipschitz."""
    return conditional(
        Enumerated("y*(0) = 0 and y*(1/30) is", maximiser, (POINT,), Fraction(1, 10)),
        Counterexample(
            "y* moves by 1/10 over 1/30, three times what kappa = 1 allows",
            moved <= kappa * step,
            {moved: Rational(1, 10), kappa: Integer(1), step: Rational(1, 30)},
        ),
        Enumerated("the gradient of Phi, 0 at 0, at 1/30 is", gradient, (POINT,), Fraction(3, 10)),
        Counterexample(
            "and moves by nine times the step, against l + kappa l = 2",
            moved <= (l + kappa * l) * step,
            {moved: Rational(3, 10), l: Integer(1), kappa: Integer(1), step: Rational(1, 30)},
        ),
        Cited(
            "jointly l-smooth: mu |dy*|^2 <= <grad_y L(x, y*') - grad_y L(x', y*'), y* - y*'> <= l |dx| |dy*|",
            "strong concavity at x, optimality of y* and y*' over Y",
        ),
        Identity("hence y* is l/mu-Lipschitz", lambda: (l * step / mu) * mu, l * step),
        Cited("|d grad Phi| <= l |(dx, dy*)|, grad Phi(x) = grad_x L(x, y*(x))", "Danskin's theorem"),
        AtMost("|(dx, dy*)| <= |dx| + |dy*|, squared", step**2 + moved**2, (step + moved) ** 2),
        Identity("hence Phi is (l + kappa l)-smooth", l * (step + kappa * step), (l + kappa * l) * step),
        readings={
            "l-smooth in each block, as Assumption 3 says": "refuted",
            "jointly l-smooth, as in the source": "proved",
        },
        condition="the loss is l-smooth jointly in (x, y)",
        note="Assumption 3 bounds each block's own smoothness and leaves the cross term free.",
        method=(Method.ALGEBRA, Method.CITED, Method.ENUMERATION),
    )


@claim("004:Lem11", Kind.LEMMA, location="version with proofs, Lemma 11")
def cross() -> Decision:
    """Under Assumption 3 the norm of grad_xy L is at most l."""
    return conditional(
        Enumerated("the cross derivative of the instance is 3 h'(x), and h'(0) is", slope, (Fraction(0),), Fraction(1)),
        Counterexample("3 against l = 1", b <= l, {b: Integer(3), l: Integer(1)}),
        Cited("the joint Hessian sends (0, v) to (grad_xy v, grad_yy v), of norm at most l |v|", "joint smoothness"),
        AtMost("and the first part is no longer than the whole, squared", b**2, b**2 + c**2),
        readings={"l of Assumption 3, as the proof has it": "refuted", "l the joint smoothness": "proved"},
        condition="the loss is l-smooth jointly in (x, y), and twice differentiable",
        note="True for a jointly smooth function, which Assumption 3 does not ask for.",
        method=(Method.ALGEBRA, Method.ENUMERATION),
    )
