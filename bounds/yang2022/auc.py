r"""AUC maximisation as a minimax problem, Algorithm 2, and the experiments.

The square loss of a scoring function h on a positive and a negative record, E (1 - h(x) + h(x'))^2, is by
[1, Appendix A] the minimum over a, b and maximum over v of E f with

    f = (1-p) (h - a)^2 [y=1] + p (h - b)^2 [y=-1] + 2 (1+v) (p h [y=-1] - (1-p) h [y=1]) - p (1-p) v^2.

What Algorithm 2 reveals by its weights and scales of noise is in ``auc_privacy``.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendices A, E.5 and F.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from sympy import Eq, Rational, symbols

from dpcheck.bounds.claim import Claim, Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.judge import judge

p, n_plus, n_minus, moved, claimed, chance, other = symbols(
    "p n_plus n_minus moved claimed chance other", positive=True
)
u, w, spread_1, spread_2, mean_1, mean_2, a, b, v = symbols("u w spread_1 spread_2 mean_1 mean_2 a b v", real=True)

# Rows: epsilon = 0.1, 0.5, 1, 5, 10. Columns: NSEG, DP-SGDA linear and DP-SGDA MLP on ijcnn1, MNIST (the same),
# Fashion-MNIST. In thousandths of a per cent of AUC.
TABLE_2 = (
    (90106, 91110, 92763, 91247, 91858, 97878, 95446, 95468, 95692),
    (90346, 91357, 95840, 91324, 92058, 98656, 95530, 95816, 96988),
    (90355, 91371, 96167, 91330, 92070, 98705, 95534, 95834, 97102),
    (90363, 91383, 96294, 91334, 92078, 98742, 95538, 95848, 97198),
    (90363, 91386, 96297, 91334, 92080, 98747, 95539, 95850, 97213),
)
TABLE_5 = {
    4: (
        (90231, 91229, 94020, 91285, 91962, 98300, 95490, 95637, 96312),
        (90352, 91366, 96108, 91328, 92067, 98703, 95533, 95829, 97098),
        (90358, 91376, 96316, 91331, 92073, 98722, 95536, 95840, 97143),
        (90363, 91385, 96326, 91334, 92079, 98746, 95539, 95849, 97208),
        (90363, 91387, 96329, 91335, 92080, 98750, 95539, 95850, 97219),
    ),
    5: (
        (90168, 91169, 93274, 91266, 91910, 98092, 95468, 95535, 95989),
        (90349, 91362, 96029, 91326, 92063, 98675, 95531, 95823, 97031),
        (90357, 91373, 96209, 91330, 92071, 98714, 95535, 95837, 97122),
        (90363, 91384, 96300, 91334, 92079, 98743, 95538, 95848, 97200),
        (90363, 91386, 96301, 91334, 92080, 98747, 95539, 95850, 97213),
    ),
    6: (
        (90106, 91110, 92763, 91247, 91858, 97878, 95446, 95468, 95692),
        (90346, 91357, 95840, 91324, 92058, 98656, 95530, 95816, 96988),
        (90355, 91371, 96167, 91330, 92070, 98705, 95534, 95834, 97102),
        (90363, 91383, 96294, 91334, 92078, 98742, 95538, 95848, 97198),
        (90363, 91386, 96297, 91334, 92080, 98747, 95539, 95850, 97213),
    ),
}  # fmt: skip


def exceptions(what: int) -> Fraction:
    """Count the entries that break a statement about the tables.

    0: Table 2 is the part of Table 5 with delta = 1e-6; 1: no entry falls as epsilon grows; 2: none falls as
    delta grows; 3: linear DP-SGDA is above NSEG at every epsilon and delta.
    """
    tables = list(TABLE_5.values())
    counts = (
        sum(x != y for x, y in zip(TABLE_2, TABLE_5[6], strict=True)),
        sum(low > high for t in tables for r, s in itertools.pairwise(t) for low, high in zip(r, s, strict=True)),
        sum(small > large for k in (4, 5) for r, s in zip(TABLE_5[k + 1], TABLE_5[k], strict=True)
            for small, large in zip(r, s, strict=True)),
        sum(row[k] >= row[k + 1] for t in tables for row in t for k in (0, 3, 6)),
    )  # fmt: skip
    return Fraction(counts[what])


def dual_gradient(positives: tuple[int, ...], negatives: tuple[int, ...]) -> Fraction:
    """Return n times the mean gradient in v at v = 0 of Algorithm 2, full batch, for scores of each class."""
    down = sum(Fraction(2 * h, len(negatives)) for h in negatives)
    up = sum(Fraction(2 * h, len(positives)) for h in positives)
    return Fraction(down - up)


def relabel_move(records: int) -> Fraction:
    """Return the change of :func:`dual_gradient` when one of two positives, of scores 1 and -1, becomes negative.

    All other records are negatives of score 0.
    """
    others = (0,) * (records - 2)
    return abs(dual_gradient((1, -1), others) - dual_gradient((1,), (-1, *others)))


def largest_gradient(positives: int, negatives: int) -> Fraction:
    """Return the largest gradient in v of one record in Algorithm 2, for scores and v of size at most 1."""
    return Fraction(2, min(positives, negatives)) + Fraction(2, positives + negatives)


def weighted(positives: int, negatives: int) -> Fraction:
    """Return 1 if the weights 1/n_+, 1/n_- of Algorithm 2 exist, 0 if one is a division by zero."""
    try:
        return Fraction(1, positives) * positives * Fraction(1, negatives) * negatives
    except ZeroDivisionError:
        return Fraction(0)


def largest_met(*records: int) -> Fraction:
    """Return the largest gradient that a run on f = -z w meets."""
    return Fraction(max(abs(z) for z in records))


GAP = mean_2 - mean_1
PAIR_LOSS = (1 + GAP) ** 2 + spread_1 + spread_2  # E (1 - h(x) + h(x'))^2 by the means and variances of h
MINIMAX = p * (1 - p) * (PAIR_LOSS - 1)
UP, DOWN, ALL = 1 / n_plus, 1 / n_minus, 1 / (n_plus + n_minus)  # the weights of Algorithm 2


@claim("Y43", Kind.STEP, location="Appendix A", value=MINIMAX, loss=PAIR_LOSS)
def minimax() -> Decision:
    """The minimax value over a, b, v is {value}, with the pair loss {loss} by the mean and the spread of the scores on
    each class.
    """
    inner = spread_1 + (mean_1 - a) ** 2 + spread_2 + (mean_2 - b) ** 2 + 2 * (1 + v) * (mean_2 - mean_1) - v**2
    return proved(
        Cited("E f is p (1-p) times this, with mean and variance of h on each class", "conditional expectation"),
        Identity(
            "at a, b the class means and v = mean_2 - mean_1",
            inner.subs({a: mean_1, b: mean_2, v: GAP}),
            spread_1 + spread_2 + 2 * GAP + GAP**2,
        ),
        Identity(
            "which is the maximum in v: a square short of it",
            2 * (1 + v) * GAP - v**2,
            2 * GAP + GAP**2 - (v - GAP) ** 2,
        ),
        Identity(
            "p (1-p) times that value, by the pair loss",
            MINIMAX,
            p * (1 - p) * (spread_1 + spread_2 + 2 * GAP + GAP**2),
        ),
        note="The minimax value is p (1-p) (pair loss - 1).",
        method=Method.ALGEBRA,
    )


@claim("Y44", Kind.STEP, location="Appendix E.5", up=UP, down=DOWN, all=ALL)
def scaling() -> Decision:
    """The empirical f with weights {up}, {down} and {all} is that with 1-p, p and p(1-p)."""
    share = n_plus / (n_plus + n_minus)
    unit = n_plus * n_minus / (n_plus + n_minus)
    even = ((n_plus, 10), (n_minus, 10))
    return conditional(
        Identity("at p = n_+/n, (1-p) over 1/n_+", lambda: (1 - n_plus / (n_plus + n_minus)) / (1 / n_plus), unit),
        Identity(
            "which is p over 1/n_-",
            lambda: (1 - n_plus / (n_plus + n_minus)) * n_plus,
            lambda: (n_plus / (n_plus + n_minus)) * n_minus,
        ),
        Identity("p (1-p) over 1/n, n = n_+ + n_-", share * (1 - share) * (n_plus + n_minus), unit),
        Counterexample("the factor is not one: n_+ = n_- = 10, 1/n_+ is not 1-p", Eq(UP, 1 - share), even),
        Counterexample("nor 1/n_- p", Eq(DOWN, share), even),
        Counterexample("nor 1/n p (1-p)", Eq(ALL, share * (1 - share)), even),
        Counterexample(
            "with p = 1/2 the probability of a positive, n_+ = 1 and n_- = 3 in the sample, the factors of the two "
            "classes differ",
            Eq((1 - p) / UP, p / DOWN),
            {p: Rational(1, 2), n_plus: 1, n_minus: 3},
        ),
        readings={
            "p the share n_+/n of the sample: the same solutions": "proved",
            "p the share n_+/n of the sample: the same function": "refuted",
            "p the probability of a positive: the same solutions": "refuted",
        },
        condition="p is the share n_+/n of the sample, and up to the factor n_+ n_-/n, by which the step sizes must "
        "be multiplied",
        note="Every weight is divided by the same n_+ n_-/n = n p (1-p) if p is the share of positives in the sample; "
        "for p = P(y = 1), as the paper has it, the factors differ.",
    )


TABLES = tuple(
    Enumerated(f"number of private entries where {what}", exceptions, (k,), Fraction(0))
    for k, what in enumerate(
        (
            "Table 2 differs from Table 5 at delta = 1e-6",
            "AUC falls as epsilon grows",
            "AUC falls as delta grows",
            "DP-SGDA is not above NSEG",
        )
    )
)


tables = Claim(
    "Y47",
    "yang2022",
    Kind.REMARK,
    "Table 2 is the part of Table 5 with delta = 1e-6, no private AUC falls as epsilon or delta grows, and linear "
    "DP-SGDA is above NSEG in every private row.",
    "Section 4.2 and Appendix F",
    judge(
        *TABLES,
        note="As printed. Entries tie where a privacy level changes nothing in three decimals; the figures themselves "
        "are not reproduced here.",
    ),
)
