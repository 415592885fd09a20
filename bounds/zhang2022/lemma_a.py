r"""Lemmas A.1 to A.3: parallel composition, and the stability of regularised empirical solutions.

Setting. x_S minimises the mean of f(., xi_i) over n records plus G, which is mu-strongly convex and need
not be Lipschitz; each f(., xi) is convex and L-Lipschitz. For G = 0 let each f be mu-strongly convex.
S and S' differ in one record, and by [1, Lemmas A.2 and A.3]

    |x_S - x_S'| <= 2 L/(mu n),    E[(F + G)(x_S)] - min(F + G) <= 2 L^2/(mu n).

Proof. Strong convexity at the two minimisers gives mu |x_S - x_S'|^2 <= (2 L/n) |x_S - x_S'|. The risk
exceeds the minimum by at most the mean over i of E[f(x_{S_i}; xi_i) - f(x_S; xi_i)] <= L |x_{S_i} - x_S|,
where S_i has record i replaced by a fresh one.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Step, claim, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import L, delta, mu, n

distance, other, first, second, weight = symbols("distance other first second weight", positive=True)
STABILITY = 2 * L / (mu * n)  # of the empirical minimiser
RISK = 2 * L**2 / (mu * n)  # its expected excess population risk


def move_share(records: int, mu_: Fraction, own: int) -> Fraction:
    """Return |x_S - x_S'| over 2 L/(mu n), for z x + mu x^2/2 with as many z = 1 as z = -1, one 1 turned into -1.

    The quadratic belongs to f if ``own`` is 1, and L is the largest slope on the interval between the two minimisers;
    else it is the regulariser, and L that of z x.
    """
    before = [1, -1] * (records // 2)
    first, second = (-Fraction(sum(data), records) / mu_ for data in (before, [-1, *before[1:]]))
    lipschitz = max(abs(z + own * mu_ * x) for z in (1, -1) for x in (first, second))
    return abs(first - second) / (2 * lipschitz / (mu_ * records))


BETWEEN: tuple[Step, ...] = (
    Cited(
        "F_S + G exceeds its minimum by mu |x - x_S|^2/2 at least; the same for S'",
        "strong convexity at a minimiser over a convex set",
    ),
    Cited(
        "summed at x_S' and x_S the sums leave (1/n) of two differences of f(., xi_i) and f(., xi_i'), each at most "
        "L |x_S - x_S'|",
        "Lipschitz continuity; equation (4) is the definition of the mean",
    ),
    Inequality(
        "mu distance^2 <= (2 L/n) distance bounds the distance",
        distance,
        STABILITY,
        over(mu, L, n, distance, mu * distance**2 <= 2 * L / n * distance),
    ),
)
OWN = Enumerated(
    "f = z x + mu x^2/2, as many 1 as -1: a share n/(n + 2) of the bound at n = 100, mu = 1/2",
    move_share,
    (100, Fraction(1, 2), 1),
    Fraction(50, 51),
)
COMMON = Enumerated(
    "f = z x with G = mu x^2/2 attains the bound, at n = 4, mu = 1/2", move_share, (4, Fraction(1, 2), 0), Fraction(1)
)
GENERAL: tuple[Step, ...] = (
    Cited(
        "E F(x_S) = E F(x_{S_i}) and E F_S(x) = F(x) for x that does not depend on S, since records are i.i.d.; and "
        "x_S minimises F_S + G",
        "definition",
    ),
    Identity("L times the distance", lambda: L * STABILITY, RISK),
)


def chance_of_both(first_bit: int, second_bit: int) -> Fraction:
    """Return P[both answers are as if the first block were full], each bit told truly with probability 3/4."""
    told = [Fraction(3, 4) if bit == wanted else Fraction(1, 4) for bit, wanted in ((first_bit, 1), (second_bit, 0))]
    return told[0] * told[1]


@claim("Z01", Kind.ACCOUNTING, location="Lemma A.1")
def parallel() -> Decision:
    """If A_k(., a) is (epsilon, delta)-DP in its block S_k for every earlier output a, and the blocks are disjoint sets
    of indices, then the outputs of all phases together are (epsilon, delta)-DP in S (replace one record).
    """
    # Two pasts of weights ``weight`` and 1 - weight, at which an event has chances first and second under S'.
    return proved(
        Cited(
            "given the outputs before phase j, which do not see the record, phase j is (epsilon, delta)-DP for each "
            "value of its auxiliary input; later phases are a common map of its output",
            "the blocks are disjoint, so that S and S' agree on every other block",
        ),
        Identity(
            "averaged over the common past, whose weights sum to one, delta comes once, with other = e^epsilon",
            weight * (other * first + delta) + (1 - weight) * (other * second + delta),
            other * (weight * first + (1 - weight) * second) + delta,
        ),
        Cited("and so for any law of the past; what follows phase j is post-processing", "total probability; basic DP"),
        Enumerated(
            "blocks chosen by value: one record, 0 or 1, in the block of its value; each block tells whether it is "
            "full by randomised response with e^epsilon = 3. With the record 1 the likelier pair of answers has chance",
            chance_of_both,
            (1, 0),
            Fraction(9, 16),
        ),
        Enumerated("and with the record 0", chance_of_both, (0, 1), Fraction(1, 16)),
        Counterexample(
            "two blocks change at once, so that one epsilon is not enough",
            first <= other * second,
            {first: Rational(9, 16), other: 3, second: Rational(1, 16)},
        ),
        readings={
            "the whole transcript is released": "proved",
            "only A_K is": "proved",
            "blocks that are chosen by the records' values": "refuted",
        },
        note="Conditioning on the outputs before the one phase that sees the record leaves its own guarantee, "
        "averaged over a law that the record does not change. The published chain of products is no proof: delta is a "
        "slack for an event, not for each outcome or density. The lemma needs each phase private for every value of "
        "the earlier output, blocks that do not depend on the data, and neighbours that replace one record.",
    )


@claim("Z02", Kind.SENSITIVITY, location="Lemma A.2", move=STABILITY)
def sensitivity() -> Decision:
    """For mu-strongly convex, L-Lipschitz f the empirical minimisers of neighbouring datasets are at
    most {move} apart.
    """
    return proved(
        *BETWEEN,
        OWN,
        note="Strong convexity at both minimisers; balanced data come within a share n/(n + 2) of the bound.",
    )


@claim("Z03", Kind.UTILITY, location="Lemma A.2", risk=RISK)
def risk() -> Decision:
    """For mu-strongly convex, L-Lipschitz f the expected excess population risk of the empirical minimiser is at most
    {risk}.
    """
    return proved(
        *BETWEEN,
        *GENERAL,
        note="Stability bounds the gap between the empirical and the population risk of the minimiser.",
    )


@claim("Z04", Kind.LEMMA, location="Lemma A.3 and equation (5)", move=STABILITY, risk=RISK)
def regularised() -> Decision:
    """For convex, L-Lipschitz f and a mu-strongly convex regulariser G that need not be Lipschitz, the minimisers of
    F_S + G for neighbouring datasets are at most {move} apart, and the expected excess of F + G there is at most
    {risk}.
    """
    return proved(
        *BETWEEN,
        COMMON,
        *GENERAL,
        note="G cancels from every difference, so that only the Lipschitz constant of f enters.",
    )
