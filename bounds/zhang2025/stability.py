r"""Lemmas 9 and 10: how far the inner ascent of PrivateDiff Minimax moves when one record changes.

By [1, Lemma 10], quoting [2, Theorem 3.10]: for losses f(., z) <= M that are mu-strongly concave and
beta-smooth with gradients bounded by L, projected stochastic ascent with step 1/(mu i) on datasets of n
records that differ in one has

    |y_i - y'_i| <= (2 L^2 + beta M)/(mu n),

and by [1, Lemma 9] the y of Algorithm 4, with clipped minibatch gradients, the same with C_0 for L.

[2] bounds the change of the loss f in the mean over the draws, for 0 <= f <= M. A distance has another unit:
replace f by s f, so that L, mu, beta and M become s times as large. The iterates stay the same, and the
bound of the lemma becomes s times as large. Moreover, a Gaussian release needs the largest distance for given
draws, not the mean over them.

What holds for the distance. Full batch, steps at most 1/beta, nothing clipped (C_0 >= G_y), L-hat
mu-strongly concave and beta-smooth: one step contracts by 1 - eta mu and adds at most 2 eta C_0/n, hence
2 C_0/(mu n) at every step. Both assumptions are needed: clipped gradients are not those of a strongly
concave function, and the steps 1/(mu i) exceed 2/beta while i < kappa/2.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization, version with proofs, Lemmas 9 and 10.
[2] M. Hardt, B. Recht, Y. Singer. Train Faster, Generalize Better. ICML 2016.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity
from dpcheck.bounds.symbols import eta, mu, n
from dpcheck.bounds.zhang2025.ascent import (
    clipped_distance,
    expected_distance,
    full_batch_distance,
    largest_distance,
    overshot_distance,
)

moved, bound, beta, M, scale = symbols("moved L beta M scale", positive=True)
y, z = symbols("y z", real=True)
PRINTED = (2 * bound**2 + beta * M) / (mu * n)
TENTH = Fraction(1, 10)
# f = s (z y - y^2/2 + 3/2), z in {-1, 0, 1}, Y = [-1, 1]: 0 <= f <= 2 s, |gradient| <= 2 s, mu = beta = s.
INSTANCE = {bound: 2 * scale, beta: scale, M: 2 * scale, mu: scale}
SMALL = ((bound, Rational(1, 5)), (beta, Rational(1, 10)), (M, Rational(1, 5)), (mu, Rational(1, 10)), (n, Integer(2)))
RANGE = Identity(
    "f/s = z y - y^2/2 + 3/2 is the sum of two nonnegative terms, and so is 2 - f/s, for |y|, |z| <= 1",
    lambda: z * y - y**2 / 2 + Rational(3, 2),
    (1 + z * y) + (1 - y**2) / 2,
)
ABOVE = Identity("the second sum", 2 - (z * y - y**2 / 2 + Rational(3, 2)), (y - z) ** 2 / 2 + (1 - z**2) / 2)
CONTRACTION = Identity(
    "what holds: (1 - eta mu) D + 2 eta C_0/n keeps D = 2 C_0/(mu n), full batch, eta <= 1/beta, nothing clipped",
    (1 - eta * mu) * 2 * bound / (mu * n) + 2 * eta * bound / n,
    2 * bound / (mu * n),
)
REPAIRED = (
    "|y - y'| <= 2 C_0/(mu n) for full-batch ascent with steps at most 1/beta, such as 1/(mu (i + kappa)), and "
    "C_0 >= G_y, so that nothing is clipped"
)


@claim("004:Lem10", Kind.SENSITIVITY, location="version with proofs, Lemma 10", bound=PRINTED)
def cited_theorem() -> Decision:
    """For f(., z) <= M, mu-strongly concave and beta-smooth with gradients of at most L, projected stochastic ascent
    with step 1/(mu i) on datasets that differ in one of n records has |y_i - y'_i| <= {bound}.
    """
    return refuted(
        Enumerated("the mean distance, n = 2, one step", expected_distance, (2, 1, TENTH), Fraction(1)),
        Enumerated("and after three steps", expected_distance, (2, 3, TENTH), Fraction(1)),
        Enumerated("the largest distance over the draws", largest_distance, (2, 3, TENTH), Fraction(2)),
        RANGE,
        ABOVE,
        Identity(
            "the mean is 2/n whatever the scale s; the printed bound is", lambda: PRINTED.subs(INSTANCE), 10 * scale / n
        ),
        Counterexample("s = 1/10, n = 2, in the mean: 1 against 1/2", moved <= PRINTED, ((moved, Integer(1)), *SMALL)),
        Counterexample("and for the worst draw: 2", moved <= PRINTED, ((moved, Integer(2)), *SMALL)),
        Cited("the mean change of the loss is at most (2 L^2 + beta M)/(mu n) for 0 <= f <= M", "[2, Theorem 3.10]"),
        CONTRACTION,
        readings={
            "the distance, for every draw": "refuted",
            "the distance, in the mean over the draws": "refuted",
            "the loss, in the mean, 0 <= f <= M: the cited theorem": "unresolved",
        },
        repaired=f"the theorem is about E|f(y; z) - f(y'; z)|, not the distance. {REPAIRED}",
        note="The bound has the unit of a loss. f = s (z y - y^2/2 + 3/2) on [-1, 1], 0 <= f <= 2 s, with one record "
        "1 or -1 and the others 0: the iterates do not depend on s, the mean distance is 2/n, and the bound is 10 s/n.",
        method=Method.ENUMERATION,
    )


@claim("004:Lem9", Kind.SENSITIVITY, location="version with proofs, Lemma 9", bound=PRINTED)
def sensitivity() -> Decision:
    """Under Assumption 1 the result of Algorithm 4 with step 1/(mu i) and threshold C_0 = L has sensitivity at most
    {bound}.
    """
    return refuted(
        # Show that with the full batch and nothing clipped the printed bound is too small.
        *(
            Enumerated(
                f"full batch of n = {size}, {count} steps", full_batch_distance, (size, count, TENTH), Fraction(2, size)
            )
            for size, count in ((2, 1), (2, 5), (10, 3))
        ),
        RANGE,
        ABOVE,
        Identity("the printed bound with C_0 = 2 s >= G_y", lambda: PRINTED.subs(INSTANCE), 10 * scale / n),
        Counterexample("s = 1/10, n = m = 2: 1 against 1/2", moved <= PRINTED, ((moved, Integer(1)), *SMALL)),
        Counterexample(
            "minibatches of one record: 2 for the draw that holds the record, at s = 1/10",
            moved <= PRINTED,
            ((moved, Integer(2)), *SMALL),
        ),
        Enumerated("the largest distance over the draws, m = 1", largest_distance, (2, 3, TENTH), Fraction(2)),
        CONTRACTION,
        Enumerated(
            "not where clipping acts: records 1, -1 against -1, -1, C_0 = 1/10, four steps move "
            "2 C_0/(mu n) (1 + 1/2 + 1/3 + 1/4)",
            clipped_distance,
            (4, TENTH),
            Fraction(5, 24),
        ),
        Enumerated(
            "nor with steps above 2/beta: kappa = 8, n = 100, three steps 1/(mu i), C_0 = G_y = 9/5: 9/100 against "
            "36/1000",
            overshot_distance,
            (100, 3, 8),
            Fraction(9, 100),
        ),
        readings={
            "the worst case over draws, as a sensitivity is": "refuted",
            "full batch, nothing clipped": "refuted",
        },
        repaired=REPAIRED,
        note="It fails with the full batch and nothing clipped already, by its unit. The proof besides takes a mean "
        "over draws for a worst case, each f(x, .; z) to be strongly concave where Assumption 1 has it of the mean, "
        "smoothness that Assumption 1 does not contain, and clipping to keep the contraction, which it does not: "
        "projected gradients are Lipschitz, but not strongly monotone.",
        method=Method.STEPS,
    )
