r"""Lemma 8: how far the gradient estimator of PrivateDiff Minimax moves when one record changes.

By [1, Lemma 8], for the v_{r+1} of Algorithm 3 before its noise,

    at most 2 C_1/m        when T divides r,
    at most 2 C_{2,r}/m    otherwise, given the past outputs x, y and vtilde up to r.

The published proof compares the two datasets at the same y_{r+1} and the same second minibatch. Neither is
the same on both:
- Algorithm 4 has just computed y_{r+1} from the data. It is not released before v_{r+1}, so that it is not
  among the outputs that are given. A record that moves it moves all m clipped gradients;
- z_{r-1} is drawn from the data too, in a round that released only noisy results. A record that has different
  places in z_r and z_{r-1} changes two of the m terms.

The instances are in ``privatediff``; each satisfies all assumptions of the paper, and in the first
C_0 >= G_y, C_1 >= G_x, C_2 >= l + kappa l as well. There l_x <= 3/2, since |h''| <= 3/2, and l_y = mu = 1.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization, version with proofs, Lemma 8.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import m
from dpcheck.bounds.zhang2025.privatediff import difference_round, restart_difference, same_batch, second_batch

moved, C_1, C, x = symbols("moved C_1 C x", positive=True)
RELEASE_FIRST = (
    "release ytilde_{r+1} first and take the gradients there, on one minibatch z_r: then all but one of the m terms "
    "agree, and each is within the threshold"
)


@claim("004:Lem8(r%T=0)", Kind.SENSITIVITY, location="version with proofs, Lemma 8")
def restart() -> Decision:
    """When T divides r, the v_{r+1} of Algorithm 3 differs by at most 2 C_1/m between neighbouring datasets, for the
    same minibatch indices and past outputs.
    """
    return refuted(
        *(
            Enumerated(f"n = m = {size}, {inner} inner steps", restart_difference, (size, inner), Fraction(2))
            for size, inner in ((2, 1), (2, 3), (10, 2))
        ),
        Counterexample(
            "m = n = 2 and C_1 = 1: 2 against 1",
            moved <= 2 * C_1 / m,
            {moved: Integer(2), C_1: Integer(1), m: Integer(2)},
        ),
        Identity("m = n = 10: the ratio is m", lambda: 2 / (2 * C_1 / m).subs({C_1: 1, m: 10}), Integer(10)),
        Cited("at the same (x, y) only the term of the record changes, by at most 2 C_1", "triangle inequality"),
        readings={
            "v_{r+1} of Algorithm 3": "refuted",
            "given x_r and y_{r+1}, one minibatch without replacement": "proved",
        },
        repaired=f"2 C_1. To have 2 C_1/m: {RELEASE_FIRST}",
        note="f = h(x) y + z y - y^2/2 with h = x/(1 + x^2), Y = [-1, 1], x_0 = y_0 = 0, m = n: one record 2n or -2n, "
        "the others 0. The inner ascent ends at y_1 = 1 or -1, and all gradients in x are y_1: v_1 moves by 2 C_1. "
        "The printed proof leaves out that y_{r+1} depends on the data.",
        method=Method.STEPS,
    )


@claim("004:Lem8(r%T!=0)", Kind.SENSITIVITY, location="version with proofs, Lemma 8")
def difference() -> Decision:
    """When T does not divide r, the v_{r+1} of Algorithm 3 differs by at most 2 C_{2,r}/m between neighbouring
    datasets, given the past outputs up to r.
    """
    return refuted(
        *(
            Enumerated(f"n = m = 10, {inner} inner steps", difference_round, (10, inner), Fraction(24, 25))
            for inner in (1, 3)
        ),
        Inequality(
            "C_2 = 15/4 is at least l + kappa l with l = 3/2 and mu = 1: |h''| <= 3/2, squared",
            (2 * x * (x**2 - 3)) ** 2,
            Rational(9, 4) * (1 + x**2) ** 6,
            over(x),
        ),
        Counterexample(
            "m = n = 10, C_{2,1} = C_2/2 + C_3 = 23/8: 24/25 against 23/40",
            moved <= 2 * C / m,
            {moved: Rational(24, 25), C: Rational(23, 8), m: Integer(10)},
        ),
        Enumerated("the second cause, m = 2 of n = 3", second_batch, (3, 2), Fraction(2)),
        Counterexample(
            "there C_{2,1} = 1: 4 C/m", moved <= 2 * C / m, {moved: Integer(2), C: Integer(1), m: Integer(2)}
        ),
        Enumerated("both gradients on z_r at released points: 2 C/m", same_batch, (3, 2), Fraction(1)),
        readings={
            "given the past outputs, as printed": "refuted",
            "given y_{r+1} too, independent minibatches": "refuted",
            "given y_{r+1} too, both gradients on z_r": "proved",
        },
        repaired=f"2 C_{{2,r}}. To have 2 C_{{2,r}}/m: {RELEASE_FIRST}",
        note="C_{2,r} itself is known from past outputs, but y_{r+1} is not: on the same instance with x_0 = 0, x_1 = "
        "1/2 and ytilde_1 = 0 on both datasets, y_2 is 1 or -1 and v_2 moves by 24/25, whatever m = n is, while 2 "
        "C_{2,1}/m is 23/(4 m). Besides, the second minibatch holds the record too.",
        method=(Method.STEPS, Method.PROVER),
    )


@claim("004:Lem8 z_{r-1}", Kind.SENSITIVITY, location="version with proofs, proof of Lemma 8")
def previous_batch() -> Decision:
    """In the difference of step 7 the minibatch z_{r-1} of the previous round may be taken to be the same on
    neighbouring datasets, so that one of the m terms changes.
    """
    return refuted(
        Enumerated("m = 2 of n = 3, all pairs of minibatches", second_batch, (3, 2), Fraction(2)),
        Enumerated("listed in the order of the dataset", second_batch, (3, 2, False), Fraction(2)),
        Enumerated("m = n = 2", second_batch, (2, 2), Fraction(2)),
        Counterexample(
            "C_{2,1} = 1 and m = 2: 4 C/m = 2 against 1",
            moved <= 2 * C / m,
            {moved: Integer(2), C: Integer(1), m: Integer(2)},
        ),
        Enumerated("both gradients on z_r: 2 C/m", same_batch, (3, 2), Fraction(1)),
        Identity("two terms change, each by at most 2 C", lambda: 2 * (2 * C) / m, 4 * C / m),
        Cited("without replacement a minibatch holds the record once", "Algorithm 3, step 2"),
        readings={"z_{r-1} is drawn from D and from D'": "refuted", "both gradients of step 7 on z_r": "proved"},
        repaired="4 C_{2,r}/m for independent minibatches, and the record is then used in round r with chance up to 2 "
        "m/n; or take both gradients on z_r, with 2 C_{2,r}/m",
        note="f = z h(x) y - (y + 1)^2/2, x_0 = x_1 = 0, ytilde_1 = 1, y_2 = -1 on both datasets: a record at place 1 "
        "of z_1 and place 2 of z_0 changes both terms in the same direction. The minibatch z_{r-1} is not among the "
        "past outputs, so nothing fixes it.",
        method=Method.STEPS,
    )
