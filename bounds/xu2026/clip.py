r"""What one record can change in the queries of Algorithm 3, and what is post-processing.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Algorithm 3, Lemmas 5 and 8, Appendix D.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Eq, Le, oo, sqrt, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Searched
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import L, d

S, C, M, move, moved, allowed, found, wanted = symbols("S C M move moved allowed found wanted", positive=True)


def clipped(value: Fraction, threshold: Fraction) -> Fraction:
    """Clip in one dimension."""
    return max(-threshold, min(threshold, value))


def mean_then_clip(threshold: int, *records: int) -> Fraction:
    """Algorithm 3: the mean of the gradients, clipped."""
    return clipped(Fraction(sum(records), len(records)), Fraction(threshold))


def clip_then_mean(threshold: int, *records: int) -> Fraction:
    """Appendix D: the mean of the clipped gradients."""
    return sum((clipped(Fraction(z), Fraction(threshold)) for z in records), Fraction(0)) / len(records)


def replaced_share(rng: Any) -> float:
    """B/(2 C) times the move of the mean of B clipped gradients in the plane when one is replaced, drawn at random."""
    import numpy as np

    count = int(rng.integers(1, 9))
    gradients = rng.normal(0, 10, (count + 1, 2))
    gradients *= np.minimum(1, 1 / np.linalg.norm(gradients, axis=1))[:, None]  # C = 1
    moved_by = np.linalg.norm(gradients[:count].mean(0) - gradients[1:].mean(0))
    return float(moved_by * count / 2)


def estimate(x: int, before: int, refresh: int) -> Fraction:
    """v_{t,0} of Algorithm 3 without noise or clipping for F = x^2/2 - y^2/2, y = 0, one inner step.

    ``x`` is x_t and ``before`` is x_{t-1}; on a refresh v_{t,-1} is the gradient at x_t, else at x_{t-1}.
    """
    start = Fraction(x if refresh else before)
    return start + (Fraction(x) - Fraction(before))


def first_difference(record: int, x: int, before: int) -> Fraction:
    """The increment of v at k = 0 for one record of F = z x^2/2 - y^2/2: y_{t,0} = y_{t,-1}, x_{t,-1} = x_{t-1}."""
    return Fraction(record * (x - before))


def _batch_clip() -> Decision:
    steps = (
        Enumerated("records 10 and -8, C = 1: the clipped mean", mean_then_clip, (1, 10, -8), Fraction(1)),
        Enumerated("one of them replaced: -10 and -8", mean_then_clip, (1, -10, -8), Fraction(-1)),
        Counterexample(
            "it moves by 2, twice the claimed 2 C/S = 1", Le(moved, 2 * C / S), ((moved, 2), (C, 1), (S, 2))
        ),
        Identity(
            "the mean of M-Lipschitz records moves by 2 M/S; for C >= M the clip does nothing", 2 * M / S, M * 2 / S
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("C >= M, where the clip is idle", "proved"), ("C < M", "refuted")),
        repaired="min{2 C, 2 M/S}; or clip each record before the mean, as Appendix D says, which gives 2 C/S",
    )
    return Decision(
        "refuted",
        "the algorithm's own step, exactly",
        evidence,
        "A clip of the mean bounds the mean, not one record's part in it.",
    )


def _record_clip() -> Decision:
    steps = (
        Cited(
            "the difference of the means is (1/B) times the difference of two clipped gradients, each of "
            "norm at most C",
            "triangle inequality",
        ),
        Identity("so that it is at most", (C + C) / S, 2 * C / S),
        Enumerated("attained: records 5 and 0, C = 1, B = 2", clip_then_mean, (1, 5, 0), Fraction(1, 2)),
        Enumerated("against -5 and 0", clip_then_mean, (1, -5, 0), Fraction(-1, 2)),
        Searched("in the plane, in units of the bound", replaced_share, 1.0 + 1e-12, 400),
    )
    return Decision(
        "proved", "exact algebra", Evidence(steps), "For one batch whose places are fixed, replace one record."
    )


def _refresh() -> Decision:
    steps = (
        Identity("two gradient blocks of norm at most M", (M + M) / S, 2 * M / S),
        Cited(
            "the points of evaluation are functions of released noisy estimates, so that they are equal given these",
            "post-processing",
        ),
        Counterexample(
            "if each of d coordinates has slope up to M, as Assumption 1 says word for word, the norm is M sqrt d",
            Le(2 * M * sqrt(d) / S, 2 * M / S),
            ((M, 1), (S, 10), (d, 4)),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("M bounds the norm of each block's gradient", "proved"),
            ("M bounds each coordinate's slope", "refuted"),
        ),
        condition="M bounds the norm of grad_x F and of grad_y F; with slopes coordinate by "
        "coordinate, M sqrt d takes its place",
    )
    return Decision("conditional", "exact algebra", evidence, "Right for the block-wise Lipschitz constant.")


def _increment() -> Decision:
    steps = (
        Inequality(
            "for k >= 1, where x is the same: two differences of at most L |dy| each, within 2 sqrt 2 L |dy|",
            2 * L * move / S,
            2 * sqrt(2) * L * move / S,
            Domain({L: (0, oo), move: (0, oo), S: (1, oo)}),
        ),
        Enumerated(
            "k = 0, F = z x^2/2 - y^2/2, x moved from 0 to 3: a record 1 adds", first_difference, (1, 3, 0), Fraction(3)
        ),
        Enumerated("and a record -1", first_difference, (-1, 3, 0), Fraction(-3)),
        Counterexample(
            "y did not move, so that the printed bound is 0",
            Le(moved, 2 * sqrt(2) * L * wanted / S),
            ((moved, 6), (L, 1), (wanted, 0), (S, 1)),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("k >= 1", "proved"), ("k = 0, where x changes and y does not", "refuted")),
        repaired="2 L (|x_{t,k} - x_{t,k-1}| + |y_{t,k} - y_{t,k-1}|)/S_2, or 2 L times the "
        "distance of the pairs; noise in proportion to "
        "it is not zero at k = 0",
    )
    return Decision(
        "refuted",
        "the algorithm's own step, exactly",
        evidence,
        "The first inner step differences across x_{t-1} and x_t at the same y: what is left out "
        "is |x_t - x_{t-1}|, and the noise there is 0.",
    )


def _lemma_5() -> Decision:
    steps = (
        Counterexample(
            "x moves by eta = 1/(2 L) in every descent step: |w| = |(1, 0)| while y stands still",
            Eq(sqrt(moved), found),
            ((moved, 1), (found, 0)),
        ),
        Enumerated("an increment that the printed norm 0 would not cover", first_difference, (1, 1, 0), Fraction(1)),
    )
    evidence = Evidence(
        steps,
        repaired="L |w_t - w_{t-1}| <= L (|x_t - x_{t-1}| + |y_t - y_{t-1}|); the x part is eta in a descent step",
    )
    return Decision("refuted", "exact arithmetic", evidence, "The move of x is dropped; its length is the step size.")


def _selection() -> Decision:
    steps = (
        Cited(
            "y_{t,k+1} = P(y_{t,k} + lambda u_{t,k}) with released u_{t,k}, so that all y and (y_k - "
            "y_{k+1})/lambda are functions of what is released",
            "Algorithm 3, lines 16 and 18",
        ),
        AtMost(
            "a function of an (epsilon, delta)-DP output: on every event p <= e p' + delta' is kept",
            found * moved,
            found * moved + allowed,
        ),
    )
    return Decision(
        "proved",
        "post-processing",
        Evidence(steps),
        "The surrogate is computed from iterates alone; no gradient is evaluated for it.",
    )


def _escape() -> Decision:
    steps = (
        Cited(
            "D sums eta_H^2 |v_j|^2 over released v_j, and the tests, steps and the output use D, v and "
            "fresh randomness only",
            "Algorithm 2, lines 11 to 20",
        ),
        AtMost(
            "a function of an (epsilon, delta)-DP output keeps its guarantee", found * moved, found * moved + allowed
        ),
    )
    return Decision(
        "proved", "post-processing", Evidence(steps), "Provided the released v are private, which is another matter."
    )


def _difference() -> Decision:
    steps = (
        Enumerated("no refresh, x from 2 to 5: the estimate telescopes to 5", estimate, (5, 2, 0), Fraction(5)),
        Enumerated("on a refresh it is the gradient at x_t plus one more difference", estimate, (5, 2, 1), Fraction(8)),
        Counterexample("8 where grad Phi(x_t) = 5", Eq(found, wanted), ((found, 8), (wanted, 5))),
        Identity(
            "the bias is grad(x_t) - grad(x_{t-1}), in the example", found + (found - wanted) - found, found - wanted
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("between refreshes", "proved"), ("on a refresh", "refuted")),
        repaired="on a refresh x_{t,-1} = x_t, so that the first difference is zero",
    )
    return Decision(
        "refuted",
        "the algorithm's own step, exactly",
        evidence,
        "Line 3 sets x_{t,-1} = x_{t-1} also where v_{t,-1} was just taken at x_t.",
    )


CLAIMS = (
    Claim(
        "002:Alg3 Clip",
        "xu2026",
        "sensitivity",
        "The clipped mean Clip(mean of S gradients, C) changes by at most 2 C/S when one record is replaced.",
        "Algorithm 3, lines 7, 8, 14 and 15",
        _batch_clip,
    ),
    Claim(
        "002:App D",
        "xu2026",
        "sensitivity",
        "Gradients clipped one by one to C and averaged over B change by at most 2 C/B.",
        "Appendix D",
        _record_clip,
    ),
    Claim(
        "002:(30)",
        "xu2026",
        "sensitivity",
        "A refresh of S_1 records changes by at most 2 M/S_1.",
        "equation (30)",
        _refresh,
    ),
    Claim(
        "002:(31)",
        "xu2026",
        "sensitivity",
        "An increment of S_2 records changes by at most 2 sqrt 2 L |y_k - y_{k-1}|/S_2.",
        "equation (31)",
        _increment,
    ),
    Claim(
        "002:Lem5 privacy", "xu2026", "algebra", "L |w_t - w_{t-1}| = L |y_t - y_{t-1}|.", "proof of Lemma 5", _lemma_5
    ),
    Claim(
        "002:Alg3 s_t",
        "xu2026",
        "post-processing",
        "Choosing the k with the smallest |y_k - y_{k+1}|/lambda costs no privacy once the noisy u are released.",
        "Algorithm 3, line 18",
        _selection,
    ),
    Claim(
        "002:Alg2 escape test",
        "xu2026",
        "post-processing",
        "The movement test D uses released v only and costs no privacy.",
        "Algorithm 2, lines 12 to 19",
        _escape,
    ),
    Claim(
        "002:x-difference",
        "xu2026",
        "estimator",
        "With x_{t,-1} = x_{t-1} the recursion keeps v_{t,k} an unbiased estimate of grad_x f(x_t, "
        "y_{t,k}) for every t.",
        "Algorithm 3, line 3",
        _difference,
    ),
)
