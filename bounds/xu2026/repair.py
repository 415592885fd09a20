r"""Consistent sizes for the population case: the rates that tree noise and independent noise allow.

Orders only, K a constant, F_0 = L = M = sigma = 1. With steps of length eta = alpha, thresholds C_u = L eta = alpha and

    T = F_0/(eta alpha) = 1/alpha^2,   S_2 = n/T = n alpha^2,   S_1 = q n/T = q n alpha^2,

all samples are used once. The errors of an estimator are then

    refresh:     noise a n/S_1 = a/(q alpha^2),                    sampling 1/sqrt(S_1),
    increments:  noise C_u a n/S_2 = a/alpha for each of q steps,  sampling sqrt(q) C_u/sqrt(S_2) = sqrt(q/n) together.

Added along a tree the q noises count once, up to logarithms, and q = a/alpha^3 + 1/(n alpha^4) keeps everything within
alpha = n^{-1/3} + a^{1/2}. Independent noises count sqrt q times, and no q is enough below alpha = a^{3/7}. This
compares orders and proves no theorem.
"""

from __future__ import annotations

from sympy import Rational, Subs, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.evidence import Identity, Step
from dpcheck.bounds.symbols import n

a, alpha, q = symbols("a alpha q", positive=True)
T, S_2, S_1 = alpha**-2, n * alpha**2, q * n * alpha**2
REFRESH, INCREMENT = a * n / S_1, alpha * a * n / S_2
PRIVATE, SAMPLED = a / alpha**3, 1 / (n * alpha**4)  # the periods at which a refresh's noise and sampling reach alpha

WORDS = (
    "eta = alpha/L, T = F_0/(eta alpha), S_2 = n/(T K), S_1 = q n/T with the increments' noise added along a tree, for "
    "which the orders fit; with independent noise they end at alpha = a^{3/7}"
)


def with_tree() -> tuple[Step, ...]:
    """Show that all errors are of the order alpha, and the samples n."""
    attained = Region(alpha <= 1, n ** Rational(-1, 3) <= alpha, sqrt(a) <= alpha)
    return (
        Identity("tree noise, eta = alpha, T = 1/alpha^2: the samples", lambda: T / q * S_1 + T * S_2, 2 * n),
        Identity("a refresh's noise is alpha at q = a/alpha^3", Subs(REFRESH, q, PRIVATE), alpha),
        Identity(
            "and its sampling error 1/sqrt(S_1) is alpha at q = 1/(n alpha^4)", Subs(1 / S_1, q, SAMPLED), alpha**2
        ),
        Dominated("the increments' noise along a tree, up to logarithms", INCREMENT, alpha, attained),
        Dominated("the increments' sampling error squared, q/n", (PRIVATE + SAMPLED) / n, alpha**2, attained),
        Dominated("q <= T", PRIVATE + SAMPLED, T, attained),
    )


def independent() -> tuple[Step, ...]:
    """Show that at the least period the increments' noises exceed alpha, unless alpha >= a^{3/7}."""
    together = sqrt(PRIVATE) * INCREMENT
    return (
        Identity(
            "independent noise at the least q that a refresh allows, a/alpha^3: the increments at alpha = a^{3/7}",
            Subs(together, alpha, a ** Rational(3, 7)),
            a ** Rational(3, 7),
        ),
        Exceeds(
            "and at alpha = a^{1/2}, where they outgrow it",
            together.subs(alpha, sqrt(a)),
            sqrt(a),
            Region(a <= 1),
            {a: 1 / s},
        ),
    )
