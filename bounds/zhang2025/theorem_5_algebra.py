r"""The algebra of the proofs of Theorem 5 and Remark 2, and of the difference in Algorithm 3.

Setting as in ``theorem_5``.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025; version with proofs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Eq, Integer, Rational, log, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import R, T, delta, epsilon, m, mu, n, sigma, sigma_y
from dpcheck.bounds.zhang2025.privatediff import left_over
from dpcheck.bounds.zhang2025.theorem_5 import C_0, REMARK_2, M, beta, sigma_x1, sigma_x2

C_1 = symbols("C_1", positive=True)
NOISE = dict(REMARK_2)


@claim(
    "004:Thm5-proof sigma-tilde",
    Kind.STEP,
    location="version with proofs, after (44)",
    multiplier=m * sigma / (2 * C_1),
)
def normalisation() -> Decision:
    """The noise of Algorithm 3, relative to a query of sensitivity 1/m (the one of Theorem 5's proof), has the
    multiplier {multiplier} with sigma = sigma_x1 at a restart, and likewise with sigma_x2 and C_{{2,r}}.
    """
    released = 2 * C_1  # d = 2 C_1 g, and g of (43) has sensitivity 1/m
    multiplier = sigma * C_1 / released * m
    printed = m * sigma / (2 * C_1)
    at = ((m, Integer(2)), (sigma, Integer(1)), (C_1, Integer(3)))
    return conditional(
        Identity(
            "noise sigma C_1 on d = 2 C_1 g is noise sigma/2 on g, m sigma/2 in units of 1/m",
            lambda: sigma * C_1 / (2 * C_1) * m,
            m * sigma / 2,
        ),
        Counterexample("C_1 = 3, m = 2, sigma = 1: 1 and 1/3", Eq(multiplier, printed), at),
        Counterexample(
            "C_1 = 1/3: the printed one is three times too large, which is unsafe",
            printed <= multiplier,
            {m: Integer(2), sigma: Integer(1), C_1: Rational(1, 3)},
        ),
        Identity("they agree for noise sigma on d, as in Algorithm 1", lambda: sigma / released * m, printed),
        Identity("and for C_1 = 1", lambda: (sigma * C_1 / (2 * C_1) * m).subs(C_1, 1), printed.subs(C_1, 1)),
        readings={"Algorithm 3, noise N(0, sigma^2 C^2 I)": "refuted", "noise N(0, sigma^2 I), or C = 1": "proved"},
        condition="sigma_x1 and sigma_x2 are the whole standard deviations of the noise, or C = 1",
        repaired="m sigma_x1/2 and m sigma_x2/2: the thresholds are in the noise of Algorithm 3, as the sigma of "
        "Theorem 5, which have none, suppose",
        note="Step 8 of Algorithm 3 multiplies the noise by C, so that C cancels. The printed form divides by it once "
        "more.",
    )


PRINTED = 8 * log(n) / epsilon


@claim(
    "004:Remark proof",
    Kind.STEP,
    location="version with proofs, proof of Remark 5.1",
    sigma=NOISE[sigma_x1].subs(log(1 / delta), 2 * log(n)),
    limit=PRINTED,
)
def remark_algebra() -> Decision:
    """With sigma_x1 = {sigma} at delta = 1/n^2, the first condition of the proof of Theorem 5 reads
    lambda <= {limit}.
    """

    # First condition: m^2 R lambda^2/(T n^2 s^2) <= lambda epsilon/4; delta = 1/n^2, log(1/delta) = 2 log n.
    def largest(normalised: Any) -> Any:
        return epsilon / 4 * T * n**2 * normalised**2 / (m**2 * R)

    first = NOISE[sigma_x1].subs(log(1 / delta), 2 * log(n))
    found, own = largest(m * first / (2 * C_1)), largest(m * first / 2)
    second = NOISE[sigma_x2].subs(log(1 / delta), 2 * log(n))
    return refuted(
        Identity(
            "the printed sigma_x1 at delta = 1/n^2", first, lambda: 4 * sqrt(R / T * (2 * log(n))) / (n * epsilon)
        ),
        Identity(
            "the first condition with m sigma/(2 C_1)",
            lambda: largest(m * first / (2 * C_1)),
            2 * log(n) / (C_1**2 * epsilon),
        ),
        Identity("and with m sigma/2, the right normalisation", lambda: largest(m * first / 2), 2 * log(n) / epsilon),
        Counterexample(
            "C_1 = 1, n = 10, epsilon = 1: 2 log 10 and 8 log 10",
            Eq(found, PRINTED),
            {C_1: Integer(1), n: Integer(10), epsilon: Integer(1)},
        ),
        Identity(
            "the fourth, exp(-lambda epsilon/4) <= 1/n^2, asks for lambda at least",
            lambda: 4 / epsilon * 2 * log(n),
            PRINTED,
        ),
        Counterexample("so no lambda meets both", PRINTED <= own, {n: Integer(10), epsilon: Integer(1)}),
        Identity("8 in place of 4 mends it", lambda: largest(m * 2 * first / 2), PRINTED),
        # Check the second and the third condition.
        Identity(
            "the second, without its 1 - 1/T, which helps, is the same",
            lambda: epsilon / 4 * n**2 * (m * second / 2) ** 2 / (R * m**2),
            2 * log(n) / epsilon,
        ),
        Identity(
            "the third holds with equality, given the mu of Remark 2",
            lambda: (
                epsilon
                / 4
                * (NOISE[sigma_y].subs(log(1 / delta), 2 * log(n)) * mu * n / (2 * C_0**2 + beta * M)) ** 2
                / R
            ),
            PRINTED,
        ),
        readings={"sigma-tilde = m sigma/(2 C_1), C_1 = 1": "refuted", "sigma-tilde = m sigma/2": "refuted"},
        repaired="lambda <= 2 log(n)/epsilon with the constant 4; the constant 8 gives the printed 8 log(n)/epsilon",
        note="The factor 2 of the sensitivity 2 C_1/m is lost: four times too large, and lambda >= 8 log(n)/epsilon "
        "cannot be met.",
    )


@claim("003:Alg3 step 3", Kind.ALGORITHM, location="Algorithm 3, steps 3 and 7")
def telescoping() -> Decision:
    """With y_r = ytilde_r from step 3, the difference of step 7 added to the estimator of the round before estimates
    the gradient in x at (x_r, y_{r+1}), as (6) intends.
    """
    estimate, gradient = symbols("estimate gradient", real=True)
    built, now, subtracted = symbols("built now subtracted", real=True)
    return refuted(
        Enumerated("without noise in ytilde_1 nothing is left over", left_over, (Fraction(0),), Fraction(0)),
        Enumerated("noise 1/2 in ytilde_1 leaves -1/2", left_over, (Fraction(1, 2),), Fraction(-1, 2)),
        Enumerated("noise -3 leaves 3", left_over, (Fraction(-3),), Fraction(3)),
        Counterexample(
            "there v_2 is not grad_x at (x_1, y_2) = (1/2, 2/5)",
            Eq(estimate, gradient),
            {gradient: Rational(24, 125), estimate: Rational(24, 125) - Rational(1, 2)},
        ),
        Identity(
            "what is left over: grad_x at (x_{r-1}, y_r) less that at (x_{r-1}, ytilde_r)",
            lambda: built + (now - subtracted) - now,
            built - subtracted,
        ),
        readings={
            "y_r of step 7 is the ytilde_r of step 3, as printed": "refuted",
            "y_r of step 7 is the unperturbed y_r": "proved",
            "both gradients at ytilde, as in the outline (6)": "proved",
        },
        repaired="evaluate both gradients of step 7, and step 6, at released points ytilde_{r+1} and ytilde_r; the "
        "unperturbed y_r would telescope too, but is not private, and C_3 of Lemma 13 has no room for the noise",
        note="Step 3 overwrites y_r by ytilde_r. The estimator was built at y_r, the difference subtracts the "
        "gradient at ytilde_r, and grad_x f(x_{r-1}, y_r) - grad_x f(x_{r-1}, ytilde_r), of the size of the noise, "
        "stays in v until the next restart, once a round. Lemma 13 and the utility proof use the unperturbed y_r.",
        method=Method.STEPS,
    )
