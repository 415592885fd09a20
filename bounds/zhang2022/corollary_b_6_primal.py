"""What the paper concludes from Corollary B.6. Setting and reference as in ``corollary_b_6``."""

from __future__ import annotations

from fractions import Fraction

from sympy import Rational, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, kappa_y, mu_y, n
from dpcheck.bounds.zhang2022.phases import phases

level = symbols("level", positive=True)  # log(1/delta)
RATE = 1 / sqrt(n) + sqrt(d * level) / (n * epsilon)  # in units of L D
LEAST = 1 / sqrt(n)


def mean_of_largest() -> Fraction:
    """Return E max_y F(x, y) for F = x y - y^2/2, attained at y = x, and x uniform on {-1, 1}."""
    return sum((Fraction(x) ** 2 / 2 for x in (-1, 1)), Fraction(0)) / 2


@claim("Z49", Kind.REMARK, location="after Corollary B.6")
def implied() -> Decision:
    """The bound on max_y E F(x~, y) - F(x*, y*) implies the same bound on E[Phi(x~) - Phi(x*)], Phi = max_y F."""
    x, y, inside, outside = symbols("x y inside outside", real=True)
    return refuted(
        Identity(
            "F = x y - y^2/2 is linear in x and 1-strongly concave in y: max_y F = x^2/2, at y = x",
            x * y - y**2 / 2,
            x**2 / 2 - (y - x) ** 2 / 2,
        ),
        Identity(
            "x~ = 1 or -1 with equal chance: E F(x~, y) = -y^2/2, whose maximum is 0",
            lambda: ((y - y**2 / 2) + (-y - y**2 / 2)) / 2,
            -(y**2) / 2,
        ),
        Enumerated("E max_y F(x~, y)", mean_of_largest, (), Fraction(1, 2)),
        Counterexample(
            "E Phi(x~) - Phi(x*) = 1/2 while max_y E F(x~, y) - F(x*, y*) = 0",
            inside <= outside,
            {inside: Rational(1, 2), outside: 0},
        ),
        Identity(
            "to add: L kappa_y E|x_K - x_K'|, which is 4 L K/(n root) at most, root^2 = mu_K m_K at its least, "
            "3 (L/D)^2",
            lambda: L * kappa_y * 4 * L * phases / (n * (sqrt(3) * L / D)),
            4 / sqrt(3) * L * D * kappa_y * phases / n,
        ),
        Cited("E max >= max E always, so that the implication is the wrong way round", "Jensen"),
        repaired="the corollary bounds max_y E F(x~, y). In E max_y F(x~, y) the maximiser depends on x~_K: the last "
        "step keeps its bound, Phi being L-Lipschitz, but Lemma B.5 at k = K has Delta_y = kappa_y E|x_K - x_K'| in "
        "place of 0, which for K = log2 n adds at most (4/sqrt 3) L D kappa_y K/n to the bound",
        note="A maximum outside the expectation bounds no maximum inside it.",
        method=Method.ARITHMETIC,
    )


@claim("Z50", Kind.REMARK, location="after Corollary B.6", rate=RATE, least=LEAST, level=log(1 / delta))
def optimal() -> Decision:
    """The bound of Corollary B.6 is, up to logarithms, the optimal rate {rate} for every mu_y of {least} at least,
    where level is {level} and L = D = 1.
    """
    region = Region(sqrt(d * level) <= n * epsilon, level >= 1, mu_y >= LEAST, mu_y <= 1)
    extra = 1 / (n * mu_y) + d * level / (n**2 * epsilon**2 * mu_y)
    return conditional(
        Quoted("the first line of the bound, and what it needs", "Z47"),
        Quoted("the second line", "Z48"),
        Inequality(
            "log(2.5/delta) is of the order of log(1/delta)",
            log(Rational(5, 2) / delta),
            c * log(1 / delta),
            over(delta <= Rational(1, 2)),
            (c, Rational(12, 5)),
        ),
        Exceeds(
            "with mu_y = 1/sqrt n, as allowed, and sqrt(d level)/n well above 1/sqrt n",
            extra,
            RATE,
            region,
            {n: s**4, mu_y: s**-2, d: s**6},
        ),
        Dominated(
            "with mu_y at least of order sqrt(d level)/(n epsilon) too, up to logarithms",
            extra,
            RATE,
            Region(*region.relations, mu_y >= sqrt(d * level) / (n * epsilon)),
        ),
        Quoted("that no private algorithm has a better rate", "Z53"),
        readings={"mu_y of order one": "conditional", "every mu_y >= L/(D sqrt n)": "refuted"},
        condition="mu_y is at least of order (L/D) sqrt(d log(1/delta))/(n epsilon); and the conditions of the bound "
        "(Z47, Z48) and of the cited lower bound (Z53)",
        note="The term in 1/mu_y is b^2/mu_y, at most sqrt n b^2, which exceeds b once b is above 1/sqrt n. And it is "
        "a rate for max_y E F, not for E Phi (Z49).",
        method=(Method.EXPONENTS, Method.PUBLISHED, Method.PROVER),
    )
