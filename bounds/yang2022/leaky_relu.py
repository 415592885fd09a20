r"""The PL condition of the AUC objective with a one-hidden-layer network of Leaky ReLU units.

f is that of ``auc``; here h(x) = c r(s x) with r(x) = max(x, x/10), one hidden unit with weight s and output weight c.
If both layers are trained, the origin breaks the condition. If the output weight is fixed at 1, a local minimum breaks
it on three records: h is s x or s x/10 by the sign of s x, and each sign of s has a minimum of its own.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Section 4.1 and Appendix A.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import c, mu

s, slope, fall = symbols("s slope fall", positive=True)


def objective(c: int, s: int, a: Fraction, b: Fraction) -> Fraction:
    """Return F_S(c, s, a, b, v = 0) for one positive record 1 and one negative record -1, p = 1/2."""
    up, down = c * _unit(s), c * _unit(-s)
    return Fraction((up - a) ** 2 + (down - b) ** 2, 4) + Fraction(down - up, 2)


def pair_loss(c: int, s: int) -> Fraction:
    """Return (1 - h(1) + h(-1))^2, which is 4 R_S + 1 at the best a and b."""
    return (1 - c * _unit(s) + c * _unit(-s)) ** 2


POSITIVES, NEGATIVES = (1, -2), (0,)  # the records of the fixed output layer, p = 2/3
_P = Fraction(len(POSITIVES), len(POSITIVES) + len(NEGATIVES))


def fixed_objective(s: Fraction, a: Fraction, b: Fraction, v: Fraction) -> Fraction:
    """Return F_S(s, a, b, v) with the output weight 1."""
    up = sum((1 - _P) * ((_unit(s * x) - a) ** 2 - 2 * (1 + v) * _unit(s * x)) for x in POSITIVES)
    down = sum(_P * ((_unit(s * x) - b) ** 2 + 2 * (1 + v) * _unit(s * x)) for x in NEGATIVES)
    return Fraction(up + down, len(POSITIVES) + len(NEGATIVES)) - _P * (1 - _P) * v**2


def fixed_slope(s: Fraction, a: Fraction, b: Fraction, v: Fraction) -> Fraction:
    """Return the squared norm of the gradient of :func:`fixed_objective` in (s, a, b), for s other than 0."""
    up = [(_unit(s * x), x if s * x > 0 else Fraction(x, 10)) for x in POSITIVES]
    down = [(_unit(s * x), x if s * x > 0 else Fraction(x, 10)) for x in NEGATIVES]
    by_s = (1 - _P) * 2 * sum((h - a - 1 - v) * move for h, move in up)
    by_s += _P * 2 * sum((h - b + 1 + v) * move for h, move in down)
    by_a, by_b = (1 - _P) * 2 * sum(a - h for h, _ in up), _P * 2 * sum(b - h for h, _ in down)
    return Fraction(by_s**2 + by_a**2 + by_b**2, (len(POSITIVES) + len(NEGATIVES)) ** 2)


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
FIXED = (
    Enumerated(
        "output weight fixed at 1, positives 1 and -2, negative 0: the squared gradient of F_S in s, a, b at s = "
        "10/13, a = 4/13, b = 0, v = -4/13",
        fixed_slope,
        LOCAL,
        Fraction(0),
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
)


@claim("Y48", Kind.REMARK, location="Appendix A and Section 4")
def pl() -> Decision:
    """The AUC objective of a one-hidden-layer network with Leaky ReLU satisfies the PL condition."""
    return refuted(
        Identity(
            "|h(x)| <= |c||s||x| <= |x|(c^2 + s^2)/2: at c = s = 0 h has no slope, in whatever unit vectors and data",
            (c**2 + s**2) / 2 - c * s,
            (c - s) ** 2 / 2,
        ),
        Cited("f depends on c, s through h, and at a = b = 0 = h has no slope in a, b: grad_w f = 0, for every v", "f"),
        Enumerated(
            "records 1 (positive) and -1 (negative), v = 0: F_S there",
            objective,
            (0, 0, Fraction(0), Fraction(0)),
            Fraction(0),
        ),
        Enumerated(
            "and at c = s = 1, a = 1, b = -1/10", objective, (1, 1, Fraction(1), Fraction(-1, 10)), Fraction(-11, 20)
        ),
        Counterexample(
            "so that |grad|^2/2 = 0 >= mu (F_S - min F_S) fails for every mu > 0, min F_S being -11/20 at most",
            mu * fall <= slope,
            {fall: Rational(11, 20), slope: 0},
        ),
        Enumerated("nor is it a minimum of R_S: the pair loss is", pair_loss, (0, 0), Fraction(1)),
        Enumerated("against, at c = s = 1,", pair_loss, (1, 1), Fraction(1, 100)),
        *FIXED,
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
