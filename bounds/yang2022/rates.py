r"""The rates of Theorem 2, from the orders of their parts, and the risks that they are about.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Section 2 and Appendix C.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Rational, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import T, d, ell, epsilon, eta, m, mu, n
from dpcheck.bounds.yang2022.lemma_3 import ANY_START, NOISE_READING, linear_gap

larger, B, X, Y, risk = symbols("larger B X Y risk", positive=True)
convex, concave = symbols("convex concave", positive=True)
# ell is log(1/delta), ``larger`` max{sqrt n, sqrt(d ell)/epsilon}; the maximum of the rate is written as a sum.
SHARE = sqrt(d * ell) / epsilon
RATE = 1 / sqrt(n) + SHARE / n
SMOOTH_T, LIPSCHITZ_T = n, n**2
MINIBATCH_VARIANCE = B**2 / m


def _schedule(steps: Any, size: Any) -> tuple[Any, ...]:
    """Return the steps that show T and eta to be of these orders."""
    return T <= steps, T >= steps, eta <= size, eta >= size


def _parts(generalisation: Any) -> Any:
    """Return the parts of the risk except D^2/(eta T)."""
    return eta * generalisation + eta + 1 / sqrt(T) + eta * d * T * ell / (n * epsilon) ** 2


@claim("Y21", Kind.RATE, location="Theorems 2 and 7", smooth=SMOOTH_T, lipschitz=LIPSCHITZ_T, rate=RATE)
def rates() -> Decision:
    """Both schedules, T of order {smooth} (smooth) and {lipschitz} (Lipschitz), give a weak risk of order {rate}, ell
    the logarithm of 1/delta.
    """
    known = (larger >= sqrt(n), larger >= SHARE)
    smooth = _schedule(SMOOTH_T, 1 / larger)
    lipschitz = _schedule(LIPSCHITZ_T, 1 / (n * larger))
    return proved(
        Quoted(
            "the optimisation error", "Y13", ANY_START, "Theorem 2 assumes f convex-concave; Theorem 7's F_S implies it"
        ),
        Quoted("its noise term", "Y14", NOISE_READING, "the parts are summed with Lemma 3's, not with equation (8)'s"),
        Quoted("the generalisation error, a)", "Y19"),
        Quoted("the generalisation error, b)", "Y20"),
        Quoted("exp(L^2 T eta^2) is O(1)", "Y22", "L is a constant inside the O", "Theorem 2 has one L, fixed"),
        Cited("sqrt(a + b) <= sqrt a + sqrt b, and max{a, b} <= a + b <= 2 max{a, b}", "definitions"),
        Dominated("a) all parts but D^2/(eta T)", _parts(sqrt(T) / sqrt(n) + T / n), RATE, Region(*known, *smooth)),
        Dominated("b) likewise", _parts(sqrt(T) + T / n), RATE, Region(*known, *lipschitz)),
        Dominated("D^2/(eta T) in a)", 1 / (eta * T), larger / n, Region(*smooth)),
        Dominated("and in b)", 1 / (eta * T), larger / n, Region(*lipschitz)),
        Identity("which is the rate, with the sum for the maximum", lambda: (sqrt(n) + SHARE) / n, RATE),
        Enumerated(
            "Theorem 7's prefactor has no L: f = w - v on [-1, 1]^2 is L-smooth for every L; with L = 10^12, n = T = "
            "10^4, epsilon large and eta = 1/(sqrt L sqrt n) the risk is still",
            linear_gap,
            (Fraction(0), Fraction(1, 10**8), 10**4),
            Fraction(199990001, 100000000),
        ),
        Counterexample(
            "which is above 4/sqrt n, the prefactor times the rate, even with the constant 10",
            risk <= 10 * 4 / sqrt(n),
            {risk: Rational(199990001, 100000000), n: 10**4},
        ),
        Exceeds("and no constant helps as n and L grow", n**0, 1 / sqrt(n), Region(n >= 1), {n: s}),
        readings={
            "D, G and L are constants of the O": "proved",
            "Theorem 7(a) with a constant that depends on nothing, not on L either": "refuted",
        },
        note="With D, G and L constants of the O, given the noise of Theorem 1; for all epsilon, all delta < 1 and "
        "any start, which costs a factor 4 in one part. Subgradients in b) have norm at most G_w and G_v. Theorem 7's "
        "explicit prefactor leaves out L in a) (Y22).",
        method=Method.EXPONENTS,
    )


@claim("Y24", Kind.ASSUMPTION, location="Assumption 2", term=MINIBATCH_VARIANCE)
def variance() -> Decision:
    """B_w and B_v bound the variances of the gradients, and {term} that of a minibatch."""
    return conditional(
        Identity("a mean of m independent draws of variance B has variance B/m", lambda: m * (B / m**2), B / m),
        Counterexample(
            "the proofs use B^2/m: at B = 1/4, m = 1 that is below the variance",
            B / m <= MINIBATCH_VARIANCE,
            {B: Rational(1, 4), m: 1},
        ),
        Identity("with B the standard deviation it is B^2/m", lambda: m * (B**2 / m**2), MINIBATCH_VARIANCE),
        readings={"B bounds the variance": "refuted", "B bounds the standard deviation": "proved"},
        condition="B_w and B_v bound the standard deviations, B^2 the variances",
        note="Assumption 2 says variances, Lemmas 9 and 10 use squares of them.",
    )


@claim("Y49", Kind.STEP, location="Section 2.3")
def metrics() -> Decision:
    """The weak risk is at most the strong one, and for strongly convex-concave F it bounds the squared distance to the
    saddle.
    """
    return proved(
        Cited("sup_v E F(w, v) <= E sup_v F(w, v), and inf the other way", "Jensen"),
        Cited("at the fixed saddle point z* of F the weak risk is at least E[F(A_w, v*) - F(w*, A_v)]", "definition"),
        Inequality(
            "which strong convexity and concavity, with moduli of at least mu, make at least (mu/2) E|A - z*|^2",
            mu / 2 * (X**2 + Y**2),
            convex / 2 * X**2 + concave / 2 * Y**2,
            over(mu, convex, concave, X, Y, mu <= convex, mu <= concave),
        ),
        note="With the constant 2/mu, mu the smaller of the two moduli.",
    )
