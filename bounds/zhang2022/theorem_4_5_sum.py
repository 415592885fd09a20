r"""Equation (27) and the bound of Theorem 4.5. Setting and reference as in ``theorem_4_5``.

In the letters here b = sqrt(d log(5/delta))/(n epsilon), p = 1/sqrt n, K = n/nbar >= 1 the number of phases,
and mu = (L/D) max{2 p, 13 K b}. The right side of (27) has the terms

    (17/2) L D K b,  257 (K - 1) K^2 L^2 b^2/mu,  8 L^2 K^2 p^2/mu,  (mu/2) (2 D^2 + D^2).
"""

from __future__ import annotations

from typing import Any

from sympy import Integer, Le, Max, Rational, ceiling, floor, log, oo, sqrt, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence, Verdict
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Step
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, k, mu, n
from dpcheck.bounds.zhang2022 import outside
from dpcheck.bounds.zhang2022.phases import b, bits, p, phases, rounded
from dpcheck.bounds.zhang2022.theorem_4_5 import BOUND

SUM = Domain({b: (0, oo), p: (0, 1), phases: (1, oo), L: (0, oo), D: (0, oo)})
REGULARISER = L / D * Max(2 * p, 13 * phases * b)
LOW = Max(2 * p, 13 * bits * b)
INSTANCE = {n: outside.RECORDS, d: 1, epsilon: outside.EPSILON, delta: outside.DELTA, L: 1, D: 1}
BASE = "K, mu and the bound have the logarithm to base 2, rounded down or not"


def _sum(count: Any, share: Any, small: Any, mu_: Any, power_: Any) -> Any:
    """The right side of (27) for L = D = 1, n/nbar = K, with sqrt 257 L^2/sqrt(mu_K mu) for the last step."""
    return (
        sqrt(257) * count * share / (mu_ * sqrt(power_))
        + 257 * (count - 1) * count**2 * share**2 / mu_
        + 8 * count**2 * small**2 / mu_
        + Rational(3, 2) * mu_
    )


def _natural(count: Any) -> Counterexample:
    """n = 10^30 and 13 log(n) b = 2 p, so that mu = 2 p."""
    small = 1 / Integer(10) ** 15
    share = 2 * small / (13 * log(Integer(10) ** 30))
    derived, allowed = symbols("derived allowed", positive=True)
    return Counterexample(
        f"natural logarithms, n = 10^30, K = {count}: the sum of the terms against the printed bound",
        Le(derived, allowed),
        (
            (derived, _sum(count, share, small, 2 * small, Integer(2) ** count)),
            (allowed, 8 * count**2 * (small + 5 * share)),
        ),
    )


FINAL: tuple[Step, ...] = (
    *(_natural(round_(log(Integer(10) ** 30))) for round_ in (floor, ceiling)),
    *rounded(
        "K = floor(log2 n), log2 in mu and in the bound, 17 sqrt 2/2 for 17/2",
        lambda ratio: (
            17 * sqrt(2) / 2 * ratio * b
            + 257 * (bits - 1) * ratio**2 * b**2 / LOW
            + 8 * bits * ratio * p**2 / LOW
            + Rational(3, 2) * LOW
        ),
        8 * bits**2 * (p + c * b),
        (c, 5),
    ),
)


def _readings(verdict: Verdict) -> tuple[tuple[str, Verdict], ...]:
    return (
        ("K = log2 n without rounding, log2 in mu and in the bound", "proved"),
        ("K = floor(log2 n), log2 in mu and in the bound, n/K or floor(n/K) records in a block", "proved"),
        ("the proof's terms, natural logarithms throughout", "refuted"),
        *outside.readings(outside.LIPSCHITZ, verdict),
    )


def _final() -> Decision:
    middle = 4 * L * D * phases**2 * (p + c * b)
    terms = (
        Rational(17, 2) * L * D * phases * b
        + 257 * (phases - 1) * phases**2 * L**2 * b**2 / REGULARISER
        + 8 * L**2 * phases**2 * p**2 / REGULARISER
    )
    steps: tuple[Step, ...] = (
        Identity(
            "257 mu_k/(2 mu_{k-1}) in each of K - 1 phases", 257 * (mu * 2**k) / (2 * mu * 2 ** (k - 1)), Integer(257)
        ),
        Cited("the sum of |y_{k+1}|^2 - |y_k|^2 telescopes, and |y_1| >= 0", "telescoping"),
        Inequality("K = log2 n: the first three terms are within half of the bound", terms, middle, SUM, (c, 5)),
        Inequality(
            "and so is (mu/2) 3 D^2", Rational(3, 2) * REGULARISER * D**2, 4 * L * D * phases**2 * (p + 5 * b), SUM
        ),
        *FINAL,
        *outside.convex_concave(BOUND.subs(INSTANCE) / 2),
    )
    evidence = Evidence(steps, readings=_readings("conditional"), condition=BASE)
    return Decision(
        "conditional",
        "prover",
        evidence,
        "The paper writes log n throughout and uses mu_K = mu n, which is base 2. With natural logarithms mu_K is "
        "mu n^0.69, and the last step outgrows the bound.",
    )


def _gap() -> Decision:
    saddle = symbols("saddle")
    bound = 8 * L * D * phases**2 * (p + 5 * b)
    steps: tuple[Step, ...] = (
        Identity("(28) and (31) add up to twice the bound", (saddle + bound) + (-saddle + bound), 2 * bound),
        Identity("that is", 2 * bound, 16 * L * D * phases**2 * (p + 5 * b)),
        Cited("F(x*, y_1^) <= F(x*, y*) <= F(x_1^, y*)", "saddle point of F"),
        Cited(
            "Algorithm 5 is Algorithm 4 for -f with x and y exchanged, which satisfies the same assumptions", "symmetry"
        ),
        *FINAL,
        *outside.convex_concave(BOUND.subs(INSTANCE)),
    )
    evidence = Evidence(steps, readings=_readings("conditional"), condition=BASE)
    return Decision(
        "conditional",
        "prover",
        evidence,
        "Twice (27), under the condition of Z37. The maximum and minimum stand outside the expectation: the weak gap.",
    )


CLAIMS = (
    Claim(
        "Z37",
        "zhang2022",
        "constant",
        "max_y E F(x~_K, y) - E F(x*, y_1^) <= 8 L D K^2 (1/sqrt n + 5 sqrt(d log(5/delta))/(n epsilon)) with "
        "mu = (L/D) max{2/sqrt n, 13 log(n) sqrt(d log(5/delta))/(n epsilon)}.",
        "equation (27) and Theorem 4.5",
        _final,
    ),
    Claim(
        "Z38",
        "zhang2022",
        "utility",
        "The weak gap of (x~_K, y~_K) is at most 16 L D K^2 (1/sqrt n + 5 sqrt(d log(5/delta))/(n epsilon)).",
        "equations (28) and (31)",
        _gap,
    ),
)
