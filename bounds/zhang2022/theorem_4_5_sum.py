r"""Equations (26) and (27) and the bound of Theorem 4.5. Setting and reference as in ``theorem_4_5``.

In the letters here b = sqrt(d log(5/delta))/(n epsilon), p = 1/sqrt n, K = n/nbar >= 1 the number of phases,
and mu = (L/D) max{2 p, 13 K b}. The right side of (27) has the terms

    (17/2) L D K b,  257 (K - 1) K^2 L^2 b^2/mu,  8 L^2 K^2 p^2/mu,  (mu/2) (2 D^2 + D^2).
"""

from __future__ import annotations

from typing import Any

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Step, Verdict, carries, claim, conditional
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, L, c, delta, k, mu
from dpcheck.bounds.zhang2022 import conditions
from dpcheck.bounds.zhang2022.phases import letters, printed, rates, rounded, sums
from dpcheck.bounds.zhang2022.theorem_4_3 import LOG
from dpcheck.bounds.zhang2022.theorem_4_5 import BOUND, MEAN_GAP, MIDDLE, NOISE

b, bits, p, phases = symbols("b bits p phases", positive=True)
SUM = over(b, p <= 1, phases >= 1, L, D)
REGULARISER = L / D * Max(2 * p, 13 * phases * b)
LOW = Max(2 * p, 13 * bits * b)
CONDITION = f"{conditions.PROJECTED}; and K, mu and the bound have the logarithm to base 2, rounded down or not"
RISK = 8 * L * D * phases**2 * (p + 5 * b)
GAP = 16 * L * D * phases**2 * (p + 5 * b)


def _sum(count: Any, share: Any, small: Any, mu_: Any, power_: Any) -> Any:
    """Return the right side of (27) for L = D = 1, n/nbar = K, with sqrt 257 L^2/sqrt(mu_K mu) for the last step."""
    return (
        sqrt(257) * count * share / (mu_ * sqrt(power_))
        + 257 * (count - 1) * count**2 * share**2 / mu_
        + 8 * count**2 * small**2 / mu_
        + Rational(3, 2) * mu_
    )


def _natural(count: Any) -> Counterexample:
    """Give n =  10^30 and 13 log(n) b = 2 p, so that mu = 2 p."""
    small = 1 / Integer(10) ** 15
    share = 2 * small / (13 * log(Integer(10) ** 30))
    derived, allowed = symbols("derived allowed", positive=True)
    return Counterexample(
        f"natural logarithms, n = 10^30, K = {count}: the sum of the terms against the printed bound",
        derived <= allowed,
        {
            derived: _sum(count, share, small, 2 * small, Integer(2) ** count),
            allowed: 8 * count**2 * (small + 5 * share),
        },
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


READINGS: dict[str, Verdict] = {
    "K = log2 n without rounding, log2 in mu and in the bound": "conditional",
    "K = floor(log2 n), log2 in mu and in the bound, n/K or floor(n/K) records in a block": "conditional",
    "the proof's terms, natural logarithms throughout": "refuted",
    **conditions.readings(conditions.LIPSCHITZ, "conditional"),
}


@claim(
    "Z37",
    Kind.CONSTANT,
    location="equation (27) and Theorem 4.5",
    bound=RISK,
    mu=REGULARISER,
    **printed(NOISE),
    mean_gap=MEAN_GAP,
)
@carries("zhang2022.theorem_4_5", {"mu": REGULARISER}, sums(log(5 / delta)))
def final() -> Decision:
    """max_y E F(x~_K, y) - E F(x*, y_1^) is at most {bound} with mu = {mu}, where phases is {count}, p is {p} and b is
    {b}, for {mean_gap}.
    """
    middle = 4 * L * D * phases**2 * (p + c * b)
    terms = (
        MIDDLE * phases * b
        + 257 * (phases - 1) * phases**2 * L**2 * b**2 / REGULARISER
        + 8 * L**2 * phases**2 * p**2 / REGULARISER
    )
    return conditional(
        Quoted("the last step", "Z36"),
        Quoted("8 L^2/(mu nbar) a phase", "Z34"),
        Quoted("(24) at k - 1", "Z35"),
        *letters(LOG),
        Identity(
            "257 mu_k/(2 mu_{k-1}) in each of K - 1 phases",
            lambda: 257 * (mu * 2**k) / (2 * mu * 2 ** (k - 1)),
            Integer(257),
        ),
        Cited("the sum of |y_{k+1}|^2 - |y_k|^2 telescopes, and |y_1| >= 0", "telescoping"),
        Inequality("K = log2 n: the first three terms are within half of the bound", terms, middle, SUM, (c, 5)),
        Identity(
            "the regularisers, (mu/2) (2 D^2 + D^2)",
            lambda: REGULARISER / 2 * (2 * D**2 + D**2),
            Rational(3, 2) * L * D * Max(2 * p, 13 * phases * b),
        ),
        Inequality(
            "which are within the other half", Rational(3, 2) * REGULARISER * D**2, RISK - middle.subs(c, 5), SUM
        ),
        Identity("the two halves", lambda: middle.subs(c, 5) + middle.subs(c, 5), RISK),
        *FINAL,
        *conditions.convex_concave(BOUND / 2),
        readings=READINGS,
        condition=CONDITION,
        note="The paper writes log n throughout and uses mu_K = mu n, which is base 2. With natural logarithms mu_K "
        "is mu n^0.69, and the last step outgrows the bound.",
    )


@claim(
    "Z38",
    Kind.UTILITY,
    location="equations (28) and (31)",
    bound=GAP,
    **printed(NOISE),
    mean_gap=MEAN_GAP,
)
@carries("zhang2022.theorem_4_5", {"bound": GAP}, sums(log(5 / delta)))
@carries("zhang2022.theorem_4_5", rates(2))
def gap() -> Decision:
    """The weak gap of (x~_K, y~_K) is at most {bound}, where phases is {count}, p is {p} and b is {b},
    for {mean_gap}.
    """
    saddle = symbols("saddle")
    return conditional(
        Quoted("(27), and the same for Algorithm 5, which is Algorithm 4 for -f with x and y exchanged", "Z37"),
        Cited("F(x*, y_1^) <= F(x*, y*) <= F(x_1^, y*)", "saddle point of F"),
        Identity("(28) and (31) add up to twice the bound", lambda: (saddle + RISK) + (-saddle + RISK), GAP),
        *letters(LOG),
        *FINAL,
        *conditions.convex_concave(BOUND),
        readings=READINGS,
        condition=CONDITION,
        note="Twice (27), under the condition of Z37. The maximum and minimum stand outside the expectation: the weak "
        "gap.",
    )
