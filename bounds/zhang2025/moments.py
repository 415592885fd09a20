r"""Definition 4, Lemmas 1 and 2: the moments of a mechanism.

For neighbours D, D' and lambda > 0 [1, Definition 4]

    alpha_A(lambda, D, D') = log E_{O ~ A(D)} (P[A(D) = O]/P[A(D') = O])^lambda,
    alpha_A(lambda) = sup alpha_A(lambda, D, D'),

densities in place of probabilities for continuous outputs. It is lambda times the Renyi divergence of
order 1 + lambda. Lemma 1 composes moments and turns them into (epsilon, delta). As published it has
an equality where an inequality holds, and lacks an exponential.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Preliminaries.
[2] M. Abadi et al. Deep Learning with Differential Privacy. CCS 2016.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from sympy import Eq, Integer, Rational, symbols

from dpcheck.bounds.calibration import curve
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import epsilon, sigma

z, lam = symbols("z lam", positive=True)
first, second, both = symbols("first second both", positive=True)
least = symbols("least", real=True)  # the printed delta
GAUSSIAN = lam * (lam + 1) / (2 * sigma**2)  # the moment of one Gaussian release of sensitivity 1


def flipped_moment(order: int, keep: Fraction, which: int) -> Fraction:
    """Return ``exp alpha(order)`` of randomised response on two bits, each kept with chance ``keep``.

    ``which`` is the bit that is released: 0, 1, or 2 for both, with independent flips. The supremum
    is over all neighbours, by enumeration.
    """
    released = (0, 1) if which == 2 else (which,)

    def chance(record: tuple[int, ...], output: tuple[int, ...]) -> Fraction:
        total = Fraction(1)
        for place, bit in zip(released, output, strict=True):
            total *= keep if record[place] == bit else 1 - keep
        return total

    worst = Fraction(0)
    for ours, theirs in product(product((0, 1), repeat=2), repeat=2):
        if sum(a != b for a, b in zip(ours, theirs, strict=True)) == 1:
            outputs = list(product((0, 1), repeat=len(released)))
            total = sum((chance(ours, o) ** (order + 1) / chance(theirs, o) ** order for o in outputs), Fraction(0))
            worst = max(worst, total)
    return worst


@claim("003:Def4", Kind.ACCOUNTING, location="Definition 4")
def definition() -> Decision:
    """The logarithm of the mean of the lambda-th power of the likelihood ratio under A(D), with its supremum over
    neighbours, is the moment of the moments accountant.
    """
    log_ratio = (2 * z - 1) / (2 * sigma**2)  # log of N(1, s^2) over N(0, s^2) at z
    return proved(
        Identity(
            "the log of the ratio for one Gaussian release of sensitivity 1",
            -((z - 1) ** 2) / (2 * sigma**2) + z**2 / (2 * sigma**2),
            log_ratio,
        ),
        Identity(
            "completing the square: the moment is lambda (lambda + 1)/(2 s^2), the moment of [2]",
            -((z - 1) ** 2) / (2 * sigma**2) + lam * log_ratio,
            -((z - 1 - lam) ** 2) / (2 * sigma**2) + GAUSSIAN,
        ),
        Enumerated("randomised response, lambda = 1", flipped_moment, (1, Fraction(3, 4), 0), Fraction(7, 3)),
        Cited("alpha_A(lambda) = log E exp(lambda c), c the log of the ratio", "[2, Section 3.2]"),
        Cited("alpha_A >= 0, and = lambda D_{lambda + 1}", "Jensen's inequality; I. Mironov, CSF 2017"),
        readings={
            "densities (or a ratio of measures), supremum over neighbours": "proved",
            "probabilities of single continuous outputs, 0/0": "refuted",
        },
        note="A definition; it is that of [2], without its auxiliary input (the past outputs, of which the supremum "
        "is taken too when mechanisms are adaptive). The second supremum is over neighbours too, as the sentence "
        "before it.",
        method=Method.ALGEBRA,
    )


@claim("003:Lem1a", Kind.ACCOUNTING, location="Lemma 1(a)")
def composition() -> Decision:
    """The moment of a sequence of mechanisms equals the sum of their moments."""
    keep = Fraction(3, 4)
    return conditional(
        Enumerated("release of the first bit", flipped_moment, (1, keep, 0), Fraction(7, 3)),
        Enumerated("release of the second bit", flipped_moment, (1, keep, 1), Fraction(7, 3)),
        Enumerated("release of both", flipped_moment, (1, keep, 2), Fraction(7, 3)),
        Counterexample(
            "the exponentials at lambda = 1: 7/3 is not (7/3)^2",
            Eq(both, first * second),
            {both: Rational(7, 3), first: Rational(7, 3), second: Rational(7, 3)},
        ),
        AtMost(
            "here the joint one is the larger of the two, 1 + first, and so at most their product, each being at "
            "least 1",
            1 + first,
            (1 + first) * (1 + second),
        ),
        Cited(
            "in general: alpha_A <= sum alpha_{A_t} for mechanisms of independent randomness, each moment with its "
            "supremum over the past outputs",
            "[2, Theorem 2.1]",
        ),
        readings={
            "equal to the sum": "refuted",
            "at most the sum, independent randomness: [2, Theorem 2.1], cited": "proved",
        },
        condition="at most in place of equal, and independent randomness",
        repaired="alpha_A <= sum alpha_{A_t}, for independent randomness given the past outputs; the proofs of the "
        "paper need no more",
        note="Neighbours differ in one record, so that two mechanisms which look at different records never have "
        "their worst case together. The source states an upper bound.",
        method=Method.ENUMERATION,
    )


@claim("003:Lem1b", Kind.ACCOUNTING, location="Lemma 1(b)")
def tail() -> Decision:
    """For any epsilon a mechanism is (epsilon, delta)-DP with delta the minimum over lambda of alpha(lambda) - lambda
    epsilon.
    """
    return conditional(
        Identity("one Gaussian release, s = epsilon = 1", GAUSSIAN.subs(sigma, 1) - lam, lam * (lam - 1) / 2),
        Identity(
            "its minimum over lambda > 0 is -1/8, at 1/2",
            lam * (lam - 1) / 2,
            (lam - Rational(1, 2)) ** 2 / 2 - Rational(1, 8),
        ),
        Counterexample(
            "the exact curve is above -1/8",
            curve(sigma, epsilon) <= least,
            {sigma: Integer(1), epsilon: Integer(1), least: Rational(-1, 8)},
        ),
        Counterexample(
            "nor is the release (1, 0)-DP, which the printed rule gives at lambda = 1",
            curve(sigma, epsilon) <= GAUSSIAN - lam * epsilon,
            {sigma: Integer(1), epsilon: Integer(1), lam: Integer(1)},
        ),
        Cited("P(c >= epsilon) <= exp(alpha(lambda) - lambda epsilon)", "Markov's inequality; [2, Theorem 2.2]"),
        readings={
            "delta = min(alpha - lambda epsilon)": "refuted",
            "delta = min exp(alpha - lambda epsilon)": "proved",
        },
        condition="the exponential is put back",
        repaired="delta = min over lambda of exp(alpha_A(lambda) - lambda epsilon), as the proofs use it",
        note="The exponential is missing: for a Gaussian release with s = epsilon = 1 the printed delta is -1/8.",
        method=(Method.ALGEBRA, Method.PRIVACY_CURVE),
    )
