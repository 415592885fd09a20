r"""Lemmas 4 and 5: from weak stability to the generalisation of the weak gap.

A is e-weakly-stable if for all neighbours S, S' and all records z [1, Appendix C.2]

    sup_v E[f(A_w(S), v; z) - f(A_w(S'), v; z)] + sup_w E[f(w, A_v(S); z) - f(w, A_v(S'); z)] <= e,

and Lemma 4 says that the weak population gap then exceeds the empirical one by at most e. Let S_i be S
with record i replaced by an independent one. Exchanging the two records gives

    sup_v E F(A_w(S), v) - sup_v E F_S(A_w(S), v) <= sup_v mean_i E[f(A_w(S_i), v; z_i) - f(A_w(S), v; z_i)],
    inf_w E F_S(w, A_v(S)) - inf_w E F(w, A_v(S)) <= sup_w mean_i E[f(w, A_v(S); z_i) - f(w, A_v(S_i); z_i)]:

the pair is (S_i, S) in w and (S, S_i) in v, while the definition has the same order in both. So the lemma
holds with the pair reversed in the second supremum (or with absolute values), and not as published. On
W = V = [0, 1] with fair bits for records,

    f(w, v; z) = h(w, z) - h(v, z),  h(x, z) = (x - z)^2/2,  A_w(S) = A_v(S) = the mean of S,

the two suprema cancel, so that A is 0-weakly-stable, and at n = 2 the gaps are 1/8 and -1/8.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Section 3.1, Appendix C.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from sympy import Integer, Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Enumerated, Identity

Dataset = tuple[int, ...]
BITS = (0, 1)

population, empirical, allowed = symbols("population empirical allowed", real=True)
one = symbols("p", positive=True)  # the chance of the record 1
zero = 1 - one


def _h(x: Fraction, z: int) -> Fraction:
    return (x - z) ** 2 / 2


def _mean(data: Dataset) -> Fraction:
    return Fraction(sum(data), len(data))


def _neighbours(n: int) -> Iterator[tuple[Dataset, Dataset]]:
    for data, other in product(product(BITS, repeat=n), repeat=2):
        if sum(a != b for a, b in zip(data, other, strict=True)) == 1:
            yield data, other


def stability(n: int, reverse: bool = False) -> Fraction:
    """Return the least e for which the mean of n bits is e-weakly-stable.

    ``reverse`` exchanges S and S' in the second supremum. In f the other block cancels, so that each
    supremum is a difference of two values of h.
    """
    worst = Fraction(0)
    for (ours, theirs), z in product(_neighbours(n), BITS):
        first = _h(_mean(ours), z) - _h(_mean(theirs), z)
        second = -_h(_mean(ours), z) + _h(_mean(theirs), z)
        worst = max(worst, first - second if reverse else first + second)
    return worst


def population_gap(n: int) -> Fraction:
    """Return the weak population gap of the mean of n fair bits."""
    values = [_h(_mean(data), z) for data in product(BITS, repeat=n) for z in BITS]
    return 2 * (sum(values, Fraction(0)) / len(values) - _least(Fraction(1, 2)))


def empirical_gap(n: int, given_data: bool = False) -> Fraction:
    """Return the weak empirical gap; with ``given_data`` its maxima are inside the mean over the datasets."""
    data = list(product(BITS, repeat=n))
    fit = sum((sum((_h(_mean(each), z) for z in each), Fraction(0)) / n for each in data), Fraction(0))
    least = (
        sum((_least(_mean(each)) for each in data), Fraction(0)) if given_data else _least(Fraction(1, 2)) * len(data)
    )
    return 2 * (fit - least) / len(data)


def _least(chance: Fraction) -> Fraction:
    """Return the least mean of h for bits that are one with this chance, reached at the chance."""
    return (1 - chance) * _h(chance, 0) + chance * _h(chance, 1)


def exchanged() -> Identity:
    """State E f(A(S), v; z') = mean_i E f(A(S_i), v; z_i) for two records of any law on two values and any
    algorithm.
    """
    values = {
        (data, z): symbols(f"f_{''.join(map(str, data))}_{z}", real=True)
        for data in product(BITS, repeat=2)
        for z in BITS
    }
    fresh: Any = Integer(0)
    moved: Any = Integer(0)
    for (first, second), z in product(product(BITS, repeat=2), BITS):
        chance = one ** (first + second + z) * zero ** (3 - first - second - z)
        fresh += chance * values[(first, second), z]
        moved += chance * (values[(z, second), first] + values[(first, z), second]) / 2
    return Identity("exchanging records, two of any law on two values, any algorithm", fresh, moved)


def _monotone() -> Identity:
    """State four gradient inequalities: at u = (w, v) and u' = (w', v'), with the mixed pairs between them."""
    here, there, right, left = symbols("here there right left", real=True)  # f at u, u', (w', v), (w, v')
    a, b, c, e = symbols("a b c e", real=True)  # <grad_w f(u), w - w'>, the same at u'; <grad_v f(u), v - v'>, at u'
    return Identity(
        "Lemma 5: what two gradient inequalities in w and two in v leave over, each at least 0, adds up to the left "
        "side of monotonicity",
        lambda: (right - (here - a)) + (left - (there + b)) + ((here - c) - left) + ((there + e) - right),
        (a - b) + (e - c),
    )


def _rational(value: Fraction) -> Any:
    return Rational(value.numerator, value.denominator)


def _broken(given_data: bool) -> Counterexample:
    """Return the step in which Lemma 4 as published fails on the mean of two bits."""
    return Counterexample(
        "so Lemma 4 as printed fails, " + ("with v and w chosen for each S" if given_data else "by Definition 4"),
        population - empirical <= allowed,
        {
            population: _rational(population_gap(2)),
            empirical: _rational(empirical_gap(2, given_data)),
            allowed: _rational(stability(2)),
        },
    )


@claim("Y16", Kind.LEMMA, location="Lemmas 4 and 5, Appendix C.2")
def weak_risk_stability() -> Decision:
    """Weak stability e bounds the weak risk's generalisation by e, and the gradient field of a convex-concave f is
    monotone.
    """
    return conditional(
        # Give an instance in which one order of the pair in both suprema is too little.
        Cited(
            "f = (w - z)^2/2 - (v - z)^2/2 on [0, 1]^2 is convex-concave, smooth, Lipschitz and bounded; records are "
            "fair bits; both blocks of the output are the mean of S, without randomness",
            "an instance of Section 3.1",
        ),
        Enumerated(
            "its weak stability, one z in both suprema as in C.2, over all neighbours", stability, (2,), Fraction(0)
        ),
        Enumerated("the weak population gap", population_gap, (2,), Fraction(1, 8)),
        Enumerated("the weak empirical gap of Definition 4", empirical_gap, (2,), Fraction(-1, 8)),
        Enumerated("and with v and w chosen for each S", empirical_gap, (2, True), Fraction(0)),
        _broken(False),
        _broken(True),
        Cited(
            "the repair: sup a - sup b <= sup (a - b), so the population gap exceeds the empirical one by at most "
            "sup_v E[F(A_w(S), v) - F_S(A_w(S), v)] + sup_w E[F_S(w, A_v(S)) - F(w, A_v(S))]",
            "definition of the supremum",
        ),
        exchanged(),
        Cited(
            "in general: (S, new record) and (S_i, z_i) have one law, for every i. So the first part is the mean over "
            "i of E[f(A_w(S_i), v; z_i) - f(A_w(S), v; z_i)], the second of "
            "E[f(w, A_v(S); z_i) - f(w, A_v(S_i); z_i)]; with the suprema inside E both belong to one pair "
            "(S_i, S) and one z_i",
            "i.i.d. records",
        ),
        Enumerated("with the second pair reversed the instance's stability is", stability, (2, True), Fraction(3, 4)),
        Below(
            "which is above the difference of its gaps",
            _rational(population_gap(2) - empirical_gap(2)),
            _rational(stability(2, True)),
        ),
        _monotone(),
        readings={
            "Lemma 4 with weak stability as defined, the pair (S, S') in both suprema": "refuted",
            "Lemma 4 with the pair reversed in the second supremum, or each supremum of an absolute value": "proved",
            "Lemma 5": "proved",
        },
        condition="in the definition of weak stability S and S' are exchanged in the second supremum, or both suprema "
        "are of absolute values",
        repaired="sup_v E[f(A_w(S'), v; z) - f(A_w(S), v; z)] + sup_w E[f(w, A_v(S); z) - f(w, A_v(S'); z)] <= e "
        "bounds the difference of the gaps by e, whether the empirical one is that of Definition 4 or has v and w "
        "chosen for each S, which is larger; so does G_w E|A_w(S) - A_w(S')| + G_v E|A_v(S) - A_v(S')|, as Lemma 6 "
        "uses it",
        note="The two suprema are needed in opposite orders of the pair. With one order in both they can cancel: an "
        "algorithm of weak stability 0 has a difference of 1/4. Lemma 5 holds.",
        method=(Method.ENUMERATION, Method.ALGEBRA),
    )
