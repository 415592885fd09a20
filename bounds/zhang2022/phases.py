r"""Whole phases on disjoint blocks: K = floor(log2 n) phases with floor(n/K) records each; Lemma A.1.

In the letters here ``bits`` is log2 n, b = sqrt(d log(.))/(n epsilon), p = 1/sqrt n, and n/nbar is at most
``share`` times ``bits``: share = 1 where a block has n/K records, and for a single phase, which has all n; share =
4/3 where a block has floor(n/K) records and there are two phases or more. Sums are in units of L D.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sympy import Eq, Integer, Rational, floor, log, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.claim import Decision, Kind, Method, Step, Verdict, carries, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import D, K, L, d, delta, epsilon, k, mu, n
from dpcheck.bounds.zhang2022.theorem_3_4 import BITS

b, p, bits, phases, mu_k, nbar = symbols("b p bits phases mu_k nbar", positive=True)
COUNT = log(n)  # the published number of phases
P = 1 / sqrt(n)

# What letters stand for in formulas of the theorems, typed from the paper
PHASE = {mu_k: mu * 2**k, nbar: floor(n / K)}  # phase k of K whole phases
PRIVATE = d * log(1 / delta) / (n * epsilon) ** 2


def sums(level: Any) -> dict[Any, Any]:
    """Return what the letters of the phases' sums stand for, for the logarithm ``level`` of the noise."""
    return {phases: log(n) / log(2), p: 1 / sqrt(n), b: sqrt(d * level) / (n * epsilon)}


def rates(power: int) -> dict[str, Any]:
    """Return the rates of Theorems 3.4 and 4.5 and Corollary B.6, with so many logarithms."""
    unit = L * D * log(n) ** power
    return {"rate statistical": unit / sqrt(n), "rate privacy": unit * sqrt(PRIVATE)}


def printed(share: Any) -> dict[str, Any]:
    """Return what a statement says that the letters of the phases' sums stand for, ``share`` being b."""
    return {"count": COUNT, "p": P, "b": share}


def letters(level: Any) -> tuple[Step, ...]:
    """State what p, b and ``phases`` stand for, in the terms where they occur first."""
    return (
        Identity(
            "a term of the noise with nbar = n/K is L^2 K b/mu",
            lambda: L**2 * sqrt(d * level) / (mu * (n / phases) * epsilon),
            L**2 * phases * (sqrt(d * level) / (n * epsilon)) / mu,
        ),
        Identity(
            "and one of the records L^2 K p^2/mu", lambda: L**2 / (mu * (n / phases)), lambda: L**2 * phases * P**2 / mu
        ),
        Inequality(
            "log n is log 2 at least from n = 2 on, so that K = log n is 1/2 at least to a base of at most 4",
            log(2),
            COUNT,
            over(n >= 2),
        ),
    )


ROUNDED: tuple[Step, ...] = (
    Identity("K = floor(log2 n) is above log2 n - 1, so that 2^K is above", Integer(2) ** (BITS - 1), n / 2),
    Cited("floor(n/K) >= (n - K + 1)/K for whole n and K", "division with remainder"),
    Cited("2^{K-2} >= 1 + (K - 2) for K >= 2", "Bernoulli"),
    Identity("so that n >= 2^K >= 4 K - 4", lambda: 4 * (1 + (K - 2)), 4 * K - 4),
    Inequality(
        "and n/floor(n/K) is at most 4 K/3",
        n * phases / (n - phases + 1),
        4 * phases / 3,
        over(n, phases >= 1, n >= 4 * phases - 4, n >= phases),
    ),
)
CASES = (
    ("n/K records in a block, or one phase", Integer(1), 1),
    ("floor(n/K) records in a block, two phases or more", Rational(4, 3), 2),
)
BLOCKS: dict[str, Verdict] = {
    "nbar the number of records in a block": "proved",
    "nbar = n/K, and floor(n/K) records in a block": "refuted",
}


def rounded(says: str, sums: Callable[[Any], Any], bound: Any, constant: tuple[Any, Any]) -> tuple[Step, ...]:
    """Compare the sum of a proof's terms, as a function of n/nbar, with the printed bound, for either kind of block."""
    return (
        *ROUNDED,
        *(
            Inequality(
                f"{says}: {blocks}",
                sums(share * bits),
                bound,
                over(b, p <= 1 / sqrt(Integer(2) ** least), bits >= least),
                constant,
            )
            for blocks, share, least in CASES
        ),
    )


def short(multiplier: Any, epsilon: Any, delta: Any) -> NotPrivate:
    """Give n =  8 records in K = 3 blocks of 2: noise for blocks of 8/3 records is 6/7 of what it should be.

    The minimiser moves by 2 L/(2 mu_k), and the two solver errors, which stop at nbar = 8/3 too, add 2 L/(8/3 mu_k).
    """
    records, count = 8, 3
    nbar, true = Rational(records, count), Integer(records // count)
    return NotPrivate(
        "n = 8, K = 3 blocks of 2 records, a solver that uses its whole tolerance on f = z x, z = 1 and -1: noise and "
        "tolerance computed with nbar = 8/3",
        multiplier * (4 / nbar) / (2 / true + 2 / nbar),
        epsilon,
        delta,
    )


FULL = Eq(Integer(2) ** COUNT, n)


@claim("Z17", Kind.SCHEDULE, location="Algorithms 2, 4 and 5", count=COUNT, full=FULL)
@carries(("zhang2022.theorem_3_4", "zhang2022.theorem_4_5", "zhang2022.corollary_b_6"), {"K": floor(log(n) / log(2))})
def base_two() -> Decision:
    """With K = {count} phases 2^K is n, that is {full}, so that mu_K = mu n."""
    return conditional(
        Counterexample("with natural logarithms n = 8 gives 2^{log 8} = 8^{log 2} < 5, not 8", FULL, {n: 8}),
        Identity("to base 2 it is n", lambda: Integer(2) ** BITS, n),
        Counterexample(
            "and K = log n is no integer unless n is a power of the base: n = 10, to base 2",
            Eq(floor(BITS), BITS),
            {n: 10},
        ),
        Identity("rounded down K is above log2 n - 1, and 2^K above n/2", Integer(2) ** (BITS - 1), n / 2),
        readings={"natural logarithm": "refuted", "base 2, n a power of two": "proved"},
        differs="base of a logarithm",
        condition="the logarithm has base 2 and n is a power of two",
        repaired="K = floor(log2 n): then mu n/2 < mu_K <= mu n. Algorithm 2 has a factor sqrt n to spare (Z16); in "
        "equation (26) the factor 2 turns 17/2 into 17 sqrt 2/2 (Z36), for which Theorem 4.5 has room (Z37)",
        note="mu 2^K = mu n needs base 2; elsewhere in the paper log is natural.",
        method=Method.ARITHMETIC,
    )


first, second, weight, other = symbols("first second weight other", positive=True)


def chance_of_both(first_bit: int, second_bit: int) -> Fraction:
    """Return P[both answers are as if the first block were full], each bit told truly with probability 3/4."""
    answers = [Fraction(3, 4) if bit == wanted else Fraction(1, 4) for bit, wanted in ((first_bit, 1), (second_bit, 0))]
    return answers[0] * answers[1]


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
