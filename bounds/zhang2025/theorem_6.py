r"""Theorem 6: the gradient norm that PrivateDiff Minimax reaches.

Setting as in ``theorem_2``, the algorithm and noise of ``theorem_5`` (whose privacy does not follow), restart
interval T, R outer and T_2 inner iterations, a = sqrt(d)/(n epsilon) up to logarithms:

    R = a^{-4/3},  T = a^{2/3} R,  T_2 = a^{-4/3},  m = a^{-4/3},
    eta_x = min{1/(2 (l + kappa l)), 1/(2 sqrt(2 T sigma_x2^2 C_2^2 d))},  C_2 = l + kappa l,
    C_{2,r} = C_2 |x_r - x_{r-1}| + 50 kappa G sqrt((log(R log T_2)/theta + 1)/T_2).

Guarantee. With probability at least 1 - theta, by [1, Theorem 6],

    E|grad Phi(x_priv)| = O~( (d log(1/delta))^{1/3}/(n epsilon)^{2/3} ).

The noise is that of Remark 2, and its limits on epsilon, delta and m apply; m is at most n; and Lemma 12, which C_3
rests on, asks for theta < 1/e and T_2 >= 4. Theorem 6 writes the first of these with epsilon, the letter of the
privacy loss.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Theorem 6 and its proof.

Arguments. n, d, epsilon, delta; l, mu for the step, C_0, beta, M for the noise of y; theta the failure probability
(default 0.1).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> theorem("zhang2025.theorem_6").rate_exponents()["privacy"]
{'d': 0.3333333333333333, 'epsilon': -0.6666666666666666, 'n': -0.6666666666666666}
"""

from __future__ import annotations

from fractions import Fraction

from sympy import E, Min, Rational, ceiling, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, claim, conditional
from dpcheck.bounds.evidence import Counterexample, Identity, Quoted
from dpcheck.bounds.symbols import G, R, T, d, delta, epsilon, eta_x, m, mu, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.zhang2025.privatediff import coupled_x, difference, slope
from dpcheck.bounds.zhang2025.theorem_2 import BELOW_ONE, GENTLE, NONCONVEX, PRIVACY
from dpcheck.bounds.zhang2025.theorem_5 import C_0, LIMITS, MECHANISM, REMARK_2, M, beta, sigma_x2

a, l, eta, u, v, w, logs, sigma_2, C_2, move, dist, X, theta, moved = symbols(
    "a l eta u v w logs sigma_2 C_2 move dist X theta moved", positive=True
)
p = symbols("p", positive=True)
ERROR = sqrt(d * log(1 / delta)) / (n * epsilon)
inner = symbols("T_2", integer=True, positive=True)

THEOREMS = (
    Theorem(
        id="zhang2025.theorem_6",
        title="Gradient norm of PrivateDiff Minimax (its privacy does not follow)",
        paper="zhang2025",
        location="Theorem 6 and its proof",
        quantity="expected gradient norm of the primal function at the output, in order",
        quantity_latex=r"\mathbb{E}\|\nabla\Phi(x^{priv})\|",
        parameters=(
            *PRIVACY,
            Parameter(l, "joint smoothness of the mean loss", default=1),
            Parameter(mu, "strong concavity of the mean loss in y", default=1),
            Parameter(C_0, "clipping threshold of the inner ascent"),
            Parameter(beta, "smoothness of f in y"),
            Parameter(M, "upper bound of f"),
            Parameter(theta, "failure probability of the inner ascent", default=0.1),
        ),
        assumptions=(
            *NONCONVEX,
            Assumption("every", "f is l-smooth jointly in (x, y) for every record", "needed, claims 004:Lem13"),
            Assumption(
                "thresholds",
                "C_0 >= G_y, C_1 >= G_x, C_2 >= l + kappa l and C_3 >= 50 kappa G sqrt((log(R log T_2)/theta + 1)/T_2)",
                "Theorem 6 and Lemma 13",
            ),
            *MECHANISM,
            GENTLE,
            BELOW_ONE,
            *LIMITS,
            Assumption("theta", "theta < 1/e", "Lemma 12; in Theorem 6 with epsilon for theta", theta < 1 / E),
            Assumption("T_2", "T_2 >= 4", "Lemma 12", inner >= 4),
        ),
        schedule_formulas=(
            (R, ceiling(ERROR ** Rational(-4, 3))),
            (T, ceiling(ERROR ** Rational(2, 3) * R)),
            (inner, ceiling(ERROR ** Rational(-4, 3))),
            (m, ceiling(ERROR ** Rational(-4, 3))),
            (eta_x, Min(1, 1 / sqrt(2 * T * d * dict(REMARK_2)[sigma_x2] ** 2)) / (2 * l * (1 + l / mu))),
        ),
        noise_formulas=REMARK_2,
        regimes=(("privacy", (d * log(1 / delta)) ** Rational(1, 3) / (n * epsilon) ** Rational(2, 3)),),
    ),
)


def sample_difference(first: int, second: int) -> Fraction:
    """Return |grad_x f(x, y*; first) - grad_x f(x, y*; second)| at x = 0 for f = z h(x) - y^2/2, h(x) = x/(1 + x^2)."""
    return abs(first * slope(Fraction(0)) - second * slope(Fraction(0)))


def noisy_difference(noise: Fraction) -> Fraction:
    """Step 7 with ``noise`` in ytilde_r, on the coupled instance (see ``privatediff``), one record 0.

    x_r = x_{r-1} = 0, where y* = 0 = y_r = y_{r+1}; the threshold does not act.
    """
    zero = Fraction(0)
    return abs(difference(coupled_x, (zero, zero, [0]), (zero, noise, [0]), 1 + abs(noise)))


SMALL = sqrt(d * log(1 / delta)) / (n * epsilon)
PRINTED_RATE = (d * log(1 / delta)) ** Rational(1, 3) / (n * epsilon) ** Rational(2, 3)


@claim("003:Thm6", Kind.UTILITY, location="Theorem 6", rate=PRINTED_RATE)
def rate() -> Decision:
    """E|grad Phi| is of order {rate} at most, up to logarithms."""
    r_, t_, t2 = a ** Rational(-4, 3), a ** Rational(-2, 3), a ** Rational(-4, 3)
    parts = 1 / r_ + a ** Rational(4, 3) + 1 / t2 + a * sqrt(t_ / r_) + r_ * a**2 / t_ + t_ * r_ * a**2 / t2
    return conditional(
        Identity(
            "the root of a^(4/3), with a = sqrt(d log(1/delta))/(n epsilon), is the printed rate",
            PRINTED_RATE,
            lambda: sqrt(SMALL ** Rational(4, 3)),
        ),
        Quoted("the descent in each round", "004:Lem14"),
        Quoted("the estimator's error", "004:Lem15"),
        Dominated(
            "1/R + 1/m + 1/T_2 + a sqrt(T/R) + R a^2/T + T R a^2/T_2 is of order a^{4/3}",
            parts,
            a ** Rational(4, 3),
            Region(a <= 1),
        ),
        # Show that the minibatch fits into n for a >= n^{-3/4}, and that m = n has no sampling error.
        Exceeds(
            "m = a^{-4/3} may exceed n: a = n^{-1}",
            a ** Rational(-4, 3),
            n,
            Region(a <= 1, a >= 1 / n),
            {n: s, a: 1 / s},
        ),
        Dominated("it does not for a >= n^{-3/4}", a ** Rational(-4, 3), n, Region(a * n ** Rational(3, 4) >= 1)),
        Identity(
            "and m = n leaves no sampling error: the variance of a mean of m out of n has the factor n - m",
            lambda: (n - m).subs(m, n),
            0,
        ),
        Dominated(
            "differences on one minibatch add C_{2,r}^2/m where the noise has sigma_2^2 d C_{2,r}^2 = R a^2 C_{2,r}^2",
            1 / r_,
            r_ * a**2,
            Region(a <= 1),
        ),
        condition="both gradients of step 7 on one minibatch and at the y_r that was released or not in both places "
        "(004:Lem13(a), 003:Alg3 step 3), l^2 for l in 004:Lem15, every f l-smooth jointly, Phi bounded below (003:A1 "
        "and 003:Thm2), eta_x of the stated order, not only at most, m = n where a^{-4/3} exceeds n; the noise of "
        "Theorem 5, whose privacy is refuted apart",
        note="The schedule gives the rate from (61); what leads to (61) needs repairs, and the noise it counts is not "
        "private.",
    )


@claim(
    "003:'when n>=sqrt d/(G eps)'",
    Kind.RATE,
    location="after Theorem 6",
    small=sqrt(d) / (n * epsilon),
    ours=a ** Rational(2, 3),
    theirs=sqrt(a),
)
def better() -> Decision:
    """With a = {small} the bound, of order {ours}, is below the earlier {theirs} up to logarithms when a <= G."""
    return conditional(
        Dominated("a^{2/3} <= a^{1/2} for a <= 1", a ** Rational(2, 3), sqrt(a), Region(a <= 1)),
        Counterexample(
            "n >= sqrt d/(G epsilon) is a <= G: at a = G = 64 it is 16 against 8",
            a ** Rational(2, 3) <= sqrt(a),
            {a: 64},
        ),
        Identity(
            "so that the printed condition, n at least sqrt d/(G epsilon), says a <= G",
            sqrt(d) / (n * epsilon),
            lambda: G * (sqrt(d) / (G * epsilon)) / n,
        ),
        condition="G is at most of order one, so that a <= 1",
        note="Better once a <= 1, which is where either bound says anything.",
    )
