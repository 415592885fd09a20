r"""What Algorithms 2 and 3 do with released estimates: the choice of the inner step, and the escape test.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Algorithms 2 and 3.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Rational, exp, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated
from dpcheck.bounds.symbols import delta, epsilon

chance, other = symbols("chance other", positive=True)

KEPT = Cited(
    "a function of an (epsilon, delta)-DP output, with randomness of its own, is (epsilon, delta)-DP",
    "C. Dwork, A. Roth, 2014, Proposition 2.1",
)


def chosen(start: int, *estimates: int) -> Fraction:
    """Return s of Algorithm 3 on Y = [-1, 1] with lambda = 1/6, from y_{t,0} and u_{t,0}, u_{t,1}, ... alone."""
    path = [Fraction(start)]
    for u in estimates:
        path.append(max(Fraction(-1), min(Fraction(1), path[-1] + Fraction(u, 6))))
    return Fraction(min(range(len(estimates)), key=lambda k: abs(path[k] - path[k + 1])))


def broken_at(eta: Fraction, mean_square: Fraction, *estimates: int) -> Fraction:
    """Return the first step at which D of Algorithm 2 exceeds its threshold, from v_{m+1}, v_{m+2}, ... alone; 0 if
    none.
    """
    total = Fraction(0)
    for count, v in enumerate(estimates, start=1):
        total += (eta * v) ** 2
        if total > count * mean_square:
            return Fraction(count)
    return Fraction(0)


@claim("002:Alg3 s_t", Kind.PRIVACY, location="Algorithm 3, line 18")
def selection() -> Decision:
    """For x_0 and y_0 that do not depend on the data, choosing the k with the smallest |y_k - y_{k+1}|/lambda costs no
    privacy once the noisy u are released.
    """
    return proved(
        KEPT,
        Enumerated(
            "the choice computed from y_{t,0} = 0 and released u = 6, 3, -2", chosen, (0, 6, 3, -2), Fraction(1)
        ),
        Enumerated("and from u = 3, 2, 1", chosen, (0, 3, 2, 1), Fraction(2)),
        Cited(
            "y_{t,k+1} = P(y_{t,k} + lambda u_{t,k}): all y are functions of y_0 and of released u",
            "Algorithm 3, lines 16 and 18",
        ),
        Enumerated("the same u = 6, 3, -2 from y_{t,0} = 1", chosen, (1, 6, 3, -2), Fraction(0)),
        Counterexample(
            "a y_0 that reads the data, 0 or 1, shows in the choice, the released u being equal: chance 1 against 0",
            chance <= exp(epsilon) * other + delta,
            {chance: 1, other: 0, epsilon: 1, delta: Rational(1, 10**5)},
        ),
        readings={
            "y_0 fixed without looking at the data, every u_{t,k} accounted for": "proved",
            "the choice is a function of the released u also where y_0 depends on the data": "refuted",
            "Algorithm 2 with y_0 from PiSARAH on the data, as in Lemma 8, whose privacy nobody counts": "unresolved",
        },
        note="The surrogate is computed from iterates alone; no gradient is evaluated for it. The start y_0, an input "
        "of Algorithm 2, must not depend on the data, and all u_{t,k} count as released, also those that are not "
        "chosen.",
        method=(Method.STEPS, Method.CITED),
    )


@claim("002:Alg2 escape test", Kind.PRIVACY, location="Algorithm 2, lines 12 to 19")
def escape() -> Decision:
    """For inputs that do not depend on the data, the movement test D uses released v only and costs no privacy."""
    return proved(
        KEPT,
        Enumerated(
            "D against its threshold from eta_H = 1/2, Dbar = 1 and released v = 1, 1, 4",
            broken_at,
            (Fraction(1, 2), Fraction(1), 1, 1, 4),
            Fraction(3),
        ),
        Enumerated("v = 1, 1, 1 breaks nothing", broken_at, (Fraction(1, 2), Fraction(1), 1, 1, 1), Fraction(0)),
        Cited("the tests, steps and the output use D, v and fresh randomness only", "Algorithm 2, lines 4 to 20"),
        note="Provided the released v are private, which is another matter, and neither x_0, y_0 nor the thresholds "
        "and step sizes depend on the data (an F_0 taken from the data would).",
        method=(Method.STEPS, Method.CITED),
    )
