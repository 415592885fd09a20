"""What Algorithm 2 computes from the data without noise: the sizes of the classes, and the gradient bounds.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Algorithm 2 and Section 4.1.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, erfc, exp, sqrt

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated
from dpcheck.bounds.symbols import delta, epsilon, n
from dpcheck.bounds.yang2022.auc import (
    chance,
    claimed,
    largest_gradient,
    largest_met,
    moved,
    other,
    relabel_move,
    weighted,
)

PRIVATE = chance <= exp(epsilon) * other + delta


@claim("Y45", Kind.PRIVACY, location="Algorithm 2, Appendix E.5")
def class_counts() -> Decision:
    """Algorithm 2, which computes n_+ and n_- exactly from the data, is (epsilon, delta)-DP with the noise of (3)."""
    few, more = largest_gradient(1, 99), largest_gradient(2, 98)
    beyond = 3 / sqrt(Integer(2))  # three standard deviations: P(|N| > 3) = erfc(beyond)
    return refuted(
        # Relabel the one positive record.
        Enumerated("one positive among 21 records: Algorithm 2 runs", weighted, (1, 20), Fraction(1)),
        Enumerated("that record relabelled: 1/n_+ is a division by zero", weighted, (0, 21), Fraction(0)),
        Counterexample(
            "there is an output with chance 1 against 0, whatever the noise: no epsilon and delta < 1 will do",
            PRIVATE,
            {chance: 1, other: 0, epsilon: 100, delta: Rational(999, 1000)},
        ),
        # Show that scales of noise that depend on the class counts tell them.
        Enumerated(
            "G_v of the data at hand: one positive and 99 negatives", largest_gradient, (1, 99), Fraction(101, 50)
        ),
        Enumerated("two positives and 98 negatives", largest_gradient, (2, 98), Fraction(51, 50)),
        Counterexample(
            "so much do the scales of (3) differ, whatever c_3: with all scores 0 and v_1 = 0 a step is the noise "
            "alone, and the chances to be beyond three of the smaller scale break epsilon = 1, delta = 10^-5",
            PRIVATE,
            {chance: erfc(beyond * Rational(more / few)), other: erfc(beyond), epsilon: 1, delta: Rational(1, 10**5)},
        ),
        # Show that scales fixed beforehand for equal classes are too small for others.
        Enumerated(
            "G_v fixed beforehand: relabelling one of 1000 records, n_+ = 2 to 1, moves n times the mean gradient by",
            relabel_move,
            (1000,),
            Fraction(2000, 999),
        ),
        Counterexample(
            "2 G_v for 500 records in each class is far below that",
            moved <= 2 * claimed,
            {moved: Rational(2000, 999), claimed: Rational(largest_gradient(500, 500))},
        ),
        Exceeds("and no c_3 makes it enough: 2 against 1/n", n**0, 1 / n, Region(n >= 1), {n: s}),
        Cited("every other record's weight 1/n_+ or 1/n_- changes with the label of one", "Algorithm 2, line 2"),
        readings={
            "n_+ = 1 against n_+ = 0": "refuted",
            "G_w, G_v of the dataset at hand": "refuted",
            "G_w, G_v fixed for balanced classes": "refuted",
            "G_w, G_v for n_+ = n_- = 1, and no dataset with an empty class": "unresolved",
        },
        repaired="a public or privately released p with weights 1-p, p and p(1-p), for which one record changes its "
        "own term alone",
        note="n_+ and n_- are computed from the data without noise, and enter every weight: the gradients scale with "
        "1/n_+, so that no constant of (3) covers them.",
        method=Method.ENUMERATION,
    )


@claim("Y46", Kind.PRIVACY, location="Section 4.1")
def estimated() -> Decision:
    """G_w and G_v may be the largest gradient norms of a run without privacy."""
    return refuted(
        Enumerated(
            "all records 0: the largest gradient met, and so the noise, is", largest_met, (0, 0, 0), Fraction(0)
        ),
        Enumerated("one record 1", largest_met, (0, 0, 1), Fraction(1)),
        Counterexample(
            "the first output is certain, the second continuous: P <= e^epsilon P' + delta fails for every epsilon",
            chance <= exp(epsilon) * other + delta,
            {chance: 1, other: 0, epsilon: 100, delta: Rational(999, 1000)},
        ),
        Cited("besides, what a run without noise meets does not bound the gradients at other points", "A1"),
        repaired="clip each gradient at a constant chosen without the data, or take an analytic bound",
        note="The noise then depends on the data, and so does whether it covers the gradients.",
    )
