r"""AUC maximisation as a minimax problem, Algorithm 2, and the experiments.

The square loss of a scoring function h on a positive and a negative record, E (1 - h(x) + h(x'))^2, is by
[1, Appendix A] the minimum over a, b and maximum over v of E f with

    f = (1-p) (h - a)^2 [y=1] + p (h - b)^2 [y=-1] + 2 (1+v) (p h [y=-1] - (1-p) h [y=1]) - p (1-p) v^2.

Algorithm 2 computes the sizes of the classes, and the gradient bounds, from the data without noise.

The PL condition. With a network of one hidden Leaky ReLU unit h(x) = c r(s x), r(x) = max(x, x/10), weight s and output
weight c. If both layers are trained, the origin breaks the condition. If the output weight is fixed at 1, a local
minimum breaks it on three records: h is s x or s x/10 by the sign of s x, and each sign of s has a minimum of its own.
"""

import itertools
from fractions import Fraction
from importlib import resources

from sympy import Eq, Integer, Rational, erfc, exp, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.judge import judged
from dpcheck.bounds.symbols import c, delta, epsilon, mu, n

p, n_plus, n_minus, weight, slope, fall = symbols("p n_plus n_minus s slope fall", positive=True)
moved, claimed, chance, other = symbols("moved claimed chance other", positive=True)
spread_1, spread_2, mean_1, mean_2, a, b, v = symbols("spread_1 spread_2 mean_1 mean_2 a b v", real=True)

# Tables 2 and 5 in thousandths of a per cent of AUC, by table and delta, a row for each epsilon that is finite.
PRINTED: dict[str, list[list[int]]] = {}
for line in resources.files(__package__).joinpath("tables.csv").read_text("utf-8").splitlines()[1:]:
    table, share, loss, *values = line.split(",")
    if loss != "inf":
        PRINTED.setdefault(f"{table}, {share}", []).append([int(value.replace(".", "")) for value in values])


def exceptions(what: int) -> Fraction:
    """Count the entries that break a statement about the tables.

    0: Table 2 is the part of Table 5 with delta = 1e-6; 1: no entry falls as epsilon grows; 2: none falls as
    delta grows; 3: linear DP-SGDA is above NSEG at every epsilon and delta.
    """
    tables = [PRINTED[f"5, 1e-{digits}"] for digits in (4, 5, 6)]
    counts = (
        sum(x != y for x, y in zip(PRINTED["2, 1e-6"], tables[2], strict=True)),
        sum(low > high for t in tables for r, s in itertools.pairwise(t) for low, high in zip(r, s, strict=True)),
        sum(small > large for t, u in itertools.pairwise(tables) for r, s in zip(u, t, strict=True)
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
    most = 2 * GAP + GAP**2
    inner = spread_1 + (mean_1 - a) ** 2 + spread_2 + (mean_2 - b) ** 2 + 2 * (1 + v) * (mean_2 - mean_1) - v**2
    return proved(
        Cited("E f is p (1-p) times this, with mean and variance of h on each class", "conditional expectation"),
        Identity(
            "at a, b the class means and v = mean_2 - mean_1",
            inner.subs({a: mean_1, b: mean_2, v: GAP}),
            spread_1 + spread_2 + most,
        ),
        Identity("which is the maximum in v: a square short of it", 2 * (1 + v) * GAP - v**2, most - (v - GAP) ** 2),
        Identity("p (1-p) times that value, by the pair loss", MINIMAX, p * (1 - p) * (spread_1 + spread_2 + most)),
        note="The minimax value is p (1-p) (pair loss - 1).",
        method=Method.ALGEBRA,
    )


@claim("Y44", Kind.STEP, location="Appendix E.5", up=UP, down=DOWN, all=ALL)
def scaling() -> Decision:
    """The empirical f with weights {up}, {down} and {all} is that with 1-p, p and p(1-p)."""
    share = n_plus / (n_plus + n_minus)
    unit = n_plus * n_minus / (n_plus + n_minus)
    even = {n_plus: 10, n_minus: 10}
    return conditional(
        Identity(
            "at p = n_+/n, n = n_+ + n_-, (1-p) over 1/n_+ is p over 1/n_-",
            lambda: (1 - n_plus / (n_plus + n_minus)) / (1 / n_plus),
            unit,
        ),
        Identity(
            "and so is p (1-p) over 1/n",
            lambda: n_plus / (n_plus + n_minus) * (1 - n_plus / (n_plus + n_minus)) * (n_plus + n_minus),
            unit,
        ),
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


FAULTS = (
    "Table 2 differs from Table 5 at delta = 1e-6",
    "AUC falls as epsilon grows",
    "AUC falls as delta grows",
    "DP-SGDA is not above NSEG",
)


@claim("Y47", Kind.REMARK, location="Section 4.2 and Appendix F")
def tables() -> Decision:
    """Table 2 is the part of Table 5 with delta = 1e-6, no private AUC falls as epsilon or delta grows, and linear
    DP-SGDA is above NSEG in every private row.
    """
    return judged(
        *(
            Enumerated(f"number of private entries where {fault}", exceptions, (k,), 0)
            for k, fault in enumerate(FAULTS)
        ),
        note="As printed. Entries tie where a privacy level changes nothing in three decimals; the figures themselves "
        "are not reproduced here.",
    )


PRIVATE = chance <= exp(epsilon) * other + delta


@claim("Y45", Kind.PRIVACY, location="Algorithm 2, Appendix E.5")
def class_counts() -> Decision:
    """Algorithm 2, which computes n_+ and n_- exactly from the data, is (epsilon, delta)-DP with the noise of (3)."""
    few, more = largest_gradient(1, 99), largest_gradient(2, 98)
    beyond = 3 / sqrt(Integer(2))  # three standard deviations: P(|N| > 3) = erfc(beyond)
    return refuted(
        # The one positive record is relabelled.
        Enumerated("one positive among 21 records: Algorithm 2 runs", weighted, (1, 20), 1),
        Enumerated("that record relabelled: 1/n_+ is a division by zero", weighted, (0, 21), 0),
        Counterexample(
            "there is an output with chance 1 against 0, whatever the noise: no epsilon and delta < 1 will do",
            PRIVATE,
            {chance: 1, other: 0, epsilon: 100, delta: Rational(999, 1000)},
        ),
        # Scales of noise that depend on the class counts tell them.
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
        # Scales fixed beforehand for equal classes are too small for others.
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
        Enumerated("all records 0: the largest gradient met, and so the noise, is", largest_met, (0, 0, 0), 0),
        Enumerated("one record 1", largest_met, (0, 0, 1), 1),
        Counterexample(
            "the first output is certain, the second continuous: P <= e^epsilon P' + delta fails for every epsilon",
            PRIVATE,
            {chance: 1, other: 0, epsilon: 100, delta: Rational(999, 1000)},
        ),
        Cited("besides, what a run without noise meets does not bound the gradients at other points", "A1"),
        repaired="clip each gradient at a constant chosen without the data, or take an analytic bound",
        note="The noise then depends on the data, and so does whether it covers the gradients.",
    )


def objective(c: int, s: int, a: Fraction, b: Fraction) -> Fraction:
    """Return F_S(c, s, a, b, v = 0) for one positive record 1 and one negative record -1, p = 1/2."""
    up, down = c * _unit(s), c * _unit(-s)
    return Fraction((up - a) ** 2 + (down - b) ** 2, 4) + Fraction(down - up, 2)


def pair_loss(c: int, s: int) -> Fraction:
    """Return (1 - h(1) + h(-1))^2, which is 4 R_S + 1 at the best a and b."""
    return (1 - c * _unit(s) + c * _unit(-s)) ** 2


POSITIVES, NEGATIVES, SHARE = (1, -2), (0,), Fraction(2, 3)  # the three records of the fixed output layer, and p


def fixed_objective(s: Fraction, a: Fraction, b: Fraction, v: Fraction) -> Fraction:
    """Return F_S(s, a, b, v) with the output weight 1."""
    up = sum((1 - SHARE) * ((_unit(s * x) - a) ** 2 - 2 * (1 + v) * _unit(s * x)) for x in POSITIVES)
    down = sum(SHARE * ((_unit(s * x) - b) ** 2 + 2 * (1 + v) * _unit(s * x)) for x in NEGATIVES)
    return Fraction(up + down, 3) - SHARE * (1 - SHARE) * v**2


def fixed_slope(s: Fraction, a: Fraction, b: Fraction, v: Fraction) -> Fraction:
    """Return the squared norm of the gradient of :func:`fixed_objective` in (s, a, b), for s other than 0."""
    up = [(_unit(s * x), x if s * x > 0 else Fraction(x, 10)) for x in POSITIVES]
    down = [(_unit(s * x), x if s * x > 0 else Fraction(x, 10)) for x in NEGATIVES]
    by_s = (1 - SHARE) * 2 * sum((h - a - 1 - v) * move for h, move in up)
    by_s += SHARE * 2 * sum((h - b + 1 + v) * move for h, move in down)
    by_a, by_b = (1 - SHARE) * 2 * sum(a - h for h, _ in up), SHARE * 2 * sum(b - h for h, _ in down)
    return Fraction(by_s**2 + by_a**2 + by_b**2, 9)


def fixed_pair_loss(s: Fraction) -> Fraction:
    """Return the mean over the pairs of (1 - h(x) + h(x'))^2."""
    losses = [(1 - _unit(s * x) + _unit(s * y)) ** 2 for x in POSITIVES for y in NEGATIVES]
    return sum(losses, Fraction(0)) / len(losses)


def _unit(x: int | Fraction) -> Fraction:
    return max(Fraction(x), Fraction(x, 10))


# The local minimum, with a, b, v the best for it, and the point of the other sign with the same v.
LOCAL = (Fraction(10, 13), Fraction(4, 13), Fraction(0), Fraction(-4, 13))
OTHER = (Fraction(-190, 401), Fraction(361, 802), Fraction(0), Fraction(-4, 13))
AT_LOCAL, AT_OTHER = Fraction(-8, 117), Fraction(-51134443, 489156642)


@claim("Y48", Kind.REMARK, location="Appendix A and Section 4")
def pl() -> Decision:
    """The AUC objective of a one-hidden-layer network with Leaky ReLU satisfies the PL condition."""
    return refuted(
        Identity(
            "|h(x)| <= |c||s||x| <= |x|(c^2 + s^2)/2: at c = s = 0 h has no slope, in whatever unit vectors and data",
            (c**2 + weight**2) / 2 - c * weight,
            (c - weight) ** 2 / 2,
        ),
        Cited("f depends on c, s through h, and at a = b = 0 = h has no slope in a, b: grad_w f = 0, for every v", "f"),
        Enumerated("records 1 (positive) and -1 (negative), v = 0: F_S there", objective, (0, 0, 0, 0), 0),
        Enumerated("and at c = s = 1, a = 1, b = -1/10", objective, (1, 1, 1, Fraction(-1, 10)), Fraction(-11, 20)),
        Counterexample(
            "so that |grad|^2/2 = 0 >= mu (F_S - min F_S) fails for every mu > 0, min F_S being -11/20 at most",
            mu * fall <= slope,
            {fall: Rational(11, 20), slope: 0},
        ),
        Enumerated("nor is it a minimum of R_S: the pair loss is", pair_loss, (0, 0), 1),
        Enumerated("against, at c = s = 1,", pair_loss, (1, 1), Fraction(1, 100)),
        Enumerated(
            "output weight fixed at 1, positives 1 and -2, negative 0: the squared gradient of F_S in s, a, b at s = "
            "10/13, a = 4/13, b = 0, v = -4/13",
            fixed_slope,
            LOCAL,
            0,
        ),
        Enumerated("F_S there", fixed_objective, LOCAL, AT_LOCAL),
        Enumerated("and at s = -190/401, a = 361/802, the same b and v", fixed_objective, OTHER, AT_OTHER),
        Enumerated("nor is it a minimum of R_S: the pair loss is", fixed_pair_loss, LOCAL[:1], Fraction(9, 13)),
        Enumerated("against, at s = -190/401,", fixed_pair_loss, OTHER[:1], Fraction(441, 802)),
        Counterexample(
            "so that with a fixed output layer too |grad|^2/2 >= mu (F_S - min F_S) fails for every mu > 0",
            mu * fall <= slope,
            {fall: Rational(AT_LOCAL - AT_OTHER), slope: 0},
        ),
        Cited("PL of AUC with a Leaky-ReLU network, under conditions that [1] does not state", "Liu et al., ICLR 2020"),
        readings={
            "both layers trained, all weights, as printed and as in the experiments": "refuted",
            "a fixed output layer": "refuted",
            "the conditions of the cited work on data and weights": "unresolved",
        },
        repaired="nothing for all weights and data: with both layers trained the origin breaks the condition, and "
        "with a fixed output layer, away from the origin, a local minimum does. A set of weights without either, and "
        "the conditions of the cited work, which [1] does not state, are not examined here",
        note="Appendix A says it of a one hidden layer network without any condition. At zero weights the gradient "
        "vanishes and the objective is not minimal; with the output layer fixed it has local minima of different "
        "values.",
        method=Method.ARITHMETIC,
    )
