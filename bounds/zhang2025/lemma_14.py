r"""Lemma 14: one round of PrivateDiff Minimax, x_r = x_{r-1} - eta v.

By [1, Lemma 14 and equation (49)], under Assumption 3 and for eta <= 1/(2 (l + kappa l)),

    |grad Phi(x_r)|^2 <= (2/eta)(Phi(x_{r-1}) - Phi(x_r)) - |x_r - x_{r-1}|^2/(2 eta^2) + 2 |v - grad Phi(x_{r-1})|^2.

The published derivation gives the inequality with x_{r-1} on the left, even with 1 for the last factor 2. At x_r the
inequality does not follow from the smoothness S = l + kappa l of Phi: Phi = -S x^2/2 breaks it. But such a Phi is not
a maximum of l-smooth functions, for which Phi + l |x|^2/2 is convex, and l <= S/2. This is enough, as follows.

Write g = grad Phi(x_{r-1}), g' = grad Phi(x_r), w = g - g', q = w + l eta v, e = l eta, b = eta (S + l). The
convex function Phi + l |x|^2/2 on R^{d_1} is (S + l)-smooth, so that [2, Theorem 2.1.5]

    (2/eta)(Phi(x_{r-1}) - Phi(x_r)) >= 2 <g', v> - e |v|^2 + |q|^2/b,     |q|^2 <= b <q, v>,

and with the first the right side of (49) less the left is at least

    |g' - v + 2 w|^2 + (1/2 - e - 2 e^2) |v|^2 + (1/b - 2) |q|^2 + 4 e <q, v>.

Here e <= 1/4, and the last two are nonnegative: if b > 1/2, by the second, since b = eta S + e and eta S <= 1/2.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, version with proofs, Lemma 14.
[2] Y. Nesterov. Introductory Lectures on Convex Optimization. 2004.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Le, Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import kappa
from dpcheck.bounds.zhang2025 import lemma_3

eta, S, e, b, k, l = symbols("eta S e b k l", positive=True)
g, new, v, w, q, slack = symbols("g g' v w q slack", real=True)  # inner products expand as those of numbers
HALF = Rational(1, 2)


def blockwise_slack(x: Fraction, eta: Fraction) -> Fraction:
    """Return the right side of (49) less the left on the instance of Lemma 3, from ``x`` with v the exact gradient."""
    v = lemma_3.gradient(x)
    after = x - eta * v
    right = 2 / eta * (lemma_3.value(x) - lemma_3.value(after)) - v**2 / 2
    return right - lemma_3.gradient(after) ** 2


def concave_slack(x: Fraction, eta: Fraction, v: Fraction) -> Fraction:
    """Return the slack for Phi = -x^2/2 and any ``v``."""
    after = x - eta * v
    return 2 / eta * (after**2 - x**2) / 2 - v**2 / 2 + 2 * (v + x) ** 2 - after**2


@claim("004:Lem14", Kind.STEP, location="version with proofs, Lemma 14 and equation (49)")
def round() -> Decision:
    """Under Assumption 3, for eta <= 1/(2 (l + kappa l)) and x_r = x_{r-1} - eta v: |grad Phi(x_r)|^2 <=
    (2/eta)(Phi(x_{r-1}) - Phi(x_r)) - |x_r - x_{r-1}|^2/(2 eta^2) + 2 |v - grad Phi(x_{r-1})|^2.
    """
    return conditional(
        # Show the inequality at x_r, for a jointly smooth loss.
        Cited(
            "2 <g', v> - e |v|^2 + |q|^2/b at most (2/eta)(Phi(x_{r-1}) - Phi(x_r)), and |q|^2 <= b <q, v>",
            "[2, Theorem 2.1.5] for Phi + l |x|^2/2, a maximum of convex functions",
        ),
        Identity(
            "right side less left side, with w = q - e v and g = g' + w",
            (2 * new * v - e * v**2 + q**2 / b - v**2 / 2 + 2 * (v - new - w) ** 2 - new**2).subs(w, q - e * v),
            ((new - v + 2 * w) ** 2).subs(w, q - e * v)
            + (HALF - e - 2 * e**2) * v**2
            + (1 / b - 2) * q**2
            + 4 * e * q * v,
        ),
        Inequality(
            "e = l eta <= 1/4 for eta <= 1/(2 (l + kappa l)), kappa >= 1",
            l / (2 * (1 + kappa) * l),
            Rational(1, 4),
            over(kappa >= 1, l),
        ),
        Inequality("the factor of |v|^2", Rational(1, 8), HALF - e - 2 * e**2, over(e <= Rational(1, 4))),
        AtMost("b <= 1/2, written 1/(2 + k): the factor of |q|^2", Integer(2), 2 + k),
        Inequality(
            "b > 1/2, b = eta S + e: (1/b - 2) |q|^2 >= (1 - 2 b) <q, v>, and 1 - 2 b + 4 e >= 0",
            2 * (eta * S + e),
            1 + 4 * e,
            over(eta, S, e <= Rational(1, 4), 2 * eta * S <= 1),
        ),
        # Give instances in which it fails: smooth in each block only, and a larger step.
        Enumerated(
            "smooth in each block only (003:Lem3), l = kappa = 1, eta = 1/4, x_{r-1} = 1/100: the slack is",
            blockwise_slack,
            (Fraction(1, 100), Fraction(1, 4)),
            Fraction(-2997, 160000),
        ),
        Counterexample("which is negative", Le(0, slack), {slack: Rational(-2997, 160000)}),
        Enumerated(
            "Phi = -x^2/2, smooth with S = 1, x_{r-1} = 1, eta = 1/2, v = -6/7: the slack is",
            concave_slack,
            (Fraction(1), Fraction(1, 2), Fraction(-6, 7)),
            Fraction(-2, 7),
        ),
        Counterexample("negative too, but l <= 1/2 leaves this Phi out", Le(0, slack), {slack: Rational(-2, 7)}),
        Identity(
            "the printed derivation: the square completed at x_{r-1}", -g * v + v**2 / 2, -(g**2) / 2 + (g - v) ** 2 / 2
        ),
        Inequality(
            "and 1/(2 eta^2) <= 1/eta^2 - S/eta for eta <= 1/(2 S)",
            1 / (2 * eta**2),
            1 / eta**2 - S / eta,
            over(eta, S, 2 * eta * S <= 1),
        ),
        readings={
            "Phi = max_y of a jointly l-smooth loss, as Lemma 3 has it": "proved",
            "Assumption 3 alone, smooth in each block": "refuted",
            "any (l + kappa l)-smooth Phi, all that the derivation uses": "refuted",
            "grad Phi(x_{r-1}) on the left, as the derivation gives": "proved",
        },
        condition="the loss is l-smooth jointly in (x, y) (003:Lem3)",
        repaired="the derivation has grad Phi(x_{r-1}) on the left, and there 1 for the last factor 2 is enough",
        note="The printed derivation gives x_{r-1}, not x_r. At x_r it is true as well, since a maximum of l-smooth "
        "functions is never more concave than l.",
        method=(Method.PROVER, Method.CITED, Method.ENUMERATION),
    )
