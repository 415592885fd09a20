r"""Released points may leave the set: what the utility bounds assume of f outside it.

The algorithms as published release x~ = x + N(0, sigma^2 I) without a projection, so that x~ leaves a bounded X.
And X is bounded wherever f is both Lipschitz and strongly convex. A projection onto X changes no constant, since it
is non-expansive and the comparison points lie in X. Without it f must be smooth, or Lipschitz, on the whole space,
since the noise can take x~ anywhere: if f grows as bend (|x| - r)^2/2 beyond X = [-r, r], the excess at x + N(0,
sigma^2), x in X, is at least (bend/2) E max(N - 2 r, 0)^2, which has no bound.
"""

from __future__ import annotations

from typing import Any

from sympy import Integer, Rational, erfc, exp, log, pi, sqrt, symbols

from dpcheck.bounds.claim import Step, Verdict
from dpcheck.bounds.evidence import Cited, Counterexample

bend = symbols("bend", positive=True)
EPSILON, DELTA = Rational(1, 2), Rational(1, 100)


def overshoot(sigma: Any, gap: Any) -> Any:
    """Return E max(N - gap, 0)^2 for N ~ N(0, sigma^2)."""
    t = gap / sigma
    return (sigma**2 + gap**2) * erfc(t / sqrt(2)) / 2 - gap * sigma * exp(-(t**2) / 2) / sqrt(2 * pi)


SMOOTH = "f ell-smooth on the whole space"
SADDLE = "f ell-smooth, strongly convex and strongly concave on the whole space"
LIPSCHITZ = "f L-Lipschitz on the whole space"


def condition(extended: str) -> str:
    """Return what a released point needs: a projection, or f as ``extended`` says."""
    return f"x~ is projected onto its set, or {extended}"


def readings(extended: str, verdict: Verdict = "proved") -> dict[str, Verdict]:
    """Return the two readings of a released point, the first with ``verdict``."""
    return {condition(extended): verdict, "x~ not projected, f as assumed on its set alone": "refuted"}


def _escape(says: str, sigma: Any, reach: Any, bound: Any) -> tuple[Step, ...]:
    return (
        Cited(
            "|P(x~) - x| <= |x~ - x| for x in X: with a projection the same constants", "projection onto a convex set"
        ),
        Counterexample(
            f"without one: {says}, with bend (|x| - r)^2/2 added beyond",
            bend * overshoot(sigma, 2 * reach) / 2 <= bound,
            {bend: 10**9},
        ),
    )


# Algorithms 1 and 3 at n = 10, one dimension a block, mu = ell = 1 on X = [-1, 1]
TEN, ONE = Integer(10), Integer(1)


def strongly_convex(bound: Any) -> tuple[Step, ...]:
    """Take f = x^2/2, L = 1; ``bound`` at n = 10, d = 1, kappa = 1."""
    sigma = 4 * sqrt(2 * log(Rational(5, 2) / DELTA)) / (TEN * EPSILON)
    return _escape("f = x^2/2 on [-1, 1], n = 10, epsilon = 1/2, delta = 1/100", sigma, ONE, bound)


def saddle(bound: Any) -> tuple[Step, ...]:
    """Take f = x^2/2 - y^2/2, L = sqrt 2."""
    sigma = 8 * sqrt(2) / (TEN * EPSILON) * sqrt(2 * log(5 / DELTA))
    return _escape("f = (x^2 - y^2)/2 on [-1, 1]^2, n = 10, epsilon = 1/2, delta = 1/100", sigma, ONE, bound)


# Algorithms 2 and 4 at n = 16, K = 4 phases of 4 records, L = D = 1, f = 0 on [-1/100, 1/100]
RECORDS, COUNT, SMALL = Integer(16), Integer(4), Rational(1, 100)


def convex(bound: Any) -> tuple[Step, ...]:
    """Follow the last phase of Algorithm 2."""
    root = sqrt(log(Rational(5, 2) / DELTA))
    mu = 14 * COUNT * root / (RECORDS * EPSILON)
    sigma = 4 * sqrt(2) * root / (mu * 2**COUNT * RECORDS / COUNT * EPSILON)
    return _escape("f = 0 on [-1/100, 1/100], n = 16, K = 4, L = D = 1", sigma, SMALL, bound)


def convex_concave(bound: Any) -> tuple[Step, ...]:
    """Follow the last phase of Algorithm 4."""
    root = sqrt(log(5 / DELTA))
    mu = 13 * COUNT * root / (RECORDS * EPSILON)
    sigma = 8 * COUNT / (RECORDS * EPSILON) * sqrt(2) * root / (mu * sqrt(2**COUNT))
    return _escape("f = 0 on [-1/100, 1/100]^2, n = 16, K = 4, L = D = 1", sigma, SMALL, bound)


def one_sided(bound: Any) -> tuple[Step, ...]:
    """Follow the last phase of the variant without a regulariser in y, mu_y = 1: f = -y^2/2 there."""
    root = sqrt(log(Rational(5, 2) / DELTA))
    mu_k = 3 * 4 * COUNT * root / (RECORDS * EPSILON) * 2**COUNT  # above mu_y = 1
    sigma = 4 * COUNT / (RECORDS * EPSILON) * sqrt(2) * root / sqrt(mu_k)
    return _escape("f = -y^2/2 on [-1/100, 1/100]^2, n = 16, K = 4, L = D = mu_y = 1", sigma, SMALL, bound)
