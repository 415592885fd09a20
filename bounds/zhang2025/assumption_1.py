r"""Assumption 1: f <= M with X = R^{d_1}.

By [1, Assumption 1] L-hat(x, .) is mu-strongly concave, X is all of R^{d_1}, Y is bounded, and f <= M. The
bound on f is used twice: the stability bound (2 C_0^2 + beta M)/(mu n), and with it sigma_y, contain M, and
the utility proofs take Phi(x_0) - inf Phi to be a constant.

An upper bound is enough for neither. Subtracting a constant from f changes no gradient but lowers M without
limit, down to a negative noise; and with f <= 0 Phi may still be unbounded below over R^{d_1}. With
0 <= f <= M both uses are right: 2 C_0^2 + beta M > 0, and Phi(x_0) - inf Phi <= M.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Assumption 1.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, diff, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import mu, n
from dpcheck.bounds.zhang2025.ascent import full_batch_distance
from dpcheck.bounds.zhang2025.stability import PRINTED, M, beta, bound, moved

x, gap, k = symbols("x gap k", positive=True)
least = symbols("M", real=True)  # the upper bound, of any sign
FALLING = -sqrt(1 + x**2)  # Phi for f = -sqrt(1 + x^2) - y^2/2 <= 0, 1-Lipschitz and 1-smooth in x


@claim("003:A1", Kind.ASSUMPTION, location="Assumption 1")
def boundedness() -> Decision:
    """With f <= M on all of R^d and bounded Y, M is a constant that the stability bound can rest on, and Phi(x_0) - inf
    Phi is finite, as the proofs take it to be.
    """
    shifted = PRINTED.subs(M, least)
    at = (
        (moved, Integer(1)),
        (bound, Integer(2)),
        (beta, Integer(1)),
        (mu, Integer(1)),
        (n, Integer(2)),
        (least, Rational(1, 2) - 10),
    )
    return conditional(
        # Give an instance that makes the bound with M negative.
        Enumerated(
            "f = z y - y^2/2 - 10 <= -19/2: y moves by 1 at n = 2",
            full_batch_distance,
            (2, 3, Fraction(1)),
            Fraction(1),
        ),
        Counterexample("the printed bound with the upper bound M = -19/2 is negative", moved <= shifted, at),
        # Give a loss f <= 0 whose Phi has no lower bound.
        Identity("Phi of f = -sqrt(1 + x^2) - y^2/2, squared", lambda: FALLING**2, 1 + x**2),
        Counterexample(
            "f <= 0 leaves Phi(0) - Phi(x) without a bound: above 10^6 at x = 2 10^6",
            FALLING.subs(x, 0) - FALLING <= gap,
            {x: Integer(2 * 10**6), gap: Integer(10**6)},
        ),
        AtMost("and so for every bound: sqrt(1 + x^2) > x, squared", x**2, 1 + x**2),
        Identity("its gradient tends to 1 and never falls again", diff(FALLING, x) ** 2, 1 - 1 / (1 + x**2)),
        AtMost("with 0 <= f <= M: Phi(x_0) <= M and inf Phi >= 0", M / (1 + k) - 0, M),
        AtMost("and the bound with M is positive", Integer(0), PRINTED),
        Cited(
            "the theorem the bound is from supposes 0 <= f <= 1",
            "M. Hardt, B. Recht, Y. Singer, ICML 2016, Theorem 3.10",
        ),
        Cited("a convex function on R^d that is bounded above is constant", "convex analysis"),
        readings={
            "f <= M": "refuted",
            "0 <= f <= M": "proved",
            "met by the convex instance in the proof of Theorem 3": "refuted",
        },
        condition="0 <= f <= M",
        repaired="0 <= f <= M, or |f| <= M with 2 M in place of M; Assumption 3 besides, for beta and l",
        note="The lower bound on f is missing. Together with X = R^{d_1} even f <= M excludes every f that is convex "
        "and not constant in x, such as the one the paper's own lower bound is built on. Two-sided bounds do not save "
        "the stability lemma itself (004:Lem9).",
        method=(Method.ALGEBRA, Method.STEPS),
    )
