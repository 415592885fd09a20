"""The claims on the moments accountant that this paper shares with [2]: Theorem 1 and the lemmas below it.

[2] has the same Lemmas 1 and 2 and the same Theorem 1. The claims here start from the decisions on those of [2]
and add what holds for this paper's algorithm.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendix B.
[2] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025.
"""

from __future__ import annotations

from dataclasses import replace

from sympy import Integer, Pow, Rational, exp, log

from dpcheck.bounds.calibration import curve
from dpcheck.bounds.claim import Decision, Kind, claim
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import G_w, T, c_1, c_2, delta, ell, epsilon, m, n, sigma
from dpcheck.bounds.yang2022.moments import (
    EQUATION_3,
    LEMMA_2,
    REGION,
    TAIL,
    alpha,
    hidden,
    lam,
    q,
    without_replacement,
)
from dpcheck.bounds.zhang2025 import lemma_2, moments, theorem_1_proof


@claim("Y03", Kind.ACCOUNTING, location="Lemma 2, Appendix B", bound=LEMMA_2)
def amplification() -> Decision:
    """A query of sensitivity 1 on m of n records drawn without replacement, with noise sigma, has a moment of at most
    {bound} at q = m/n, with one constant C, for all lambda, sigma and m < n.
    """
    decision = lemma_2.amplification.decision()
    share = Rational(1, 100100)
    line = Counterexample(
        "the paper's own letters: P = (1 - q) N(0) + q N(1) against Q = N(0), n = 100100, m = 1, lambda = 1, "
        "sigma = 1/2, even with 1000 for the constant C",
        log(1 + q**2 * (exp(1 / sigma**2) - 1)) <= LEMMA_2,
        {q: share, sigma: Rational(1, 2), lam: 1, hidden: 1000},
    )
    evidence = replace(
        decision.evidence,
        steps=(*decision.evidence.steps, line, *without_replacement()),
        readings=(
            *decision.evidence.readings,
            (
                "sigma >= 1, q < 1/(16 sigma), integers lambda <= sigma^2 log(1/(q sigma)), without replacement, "
                "7/4 times the leading term",
                "proved",
            ),
        ),
        condition="integers lambda, sigma >= 1, q < 1/(16 sigma), lambda <= sigma^2 log(1/(q sigma)), and 7/4 times "
        "the printed leading term, for minibatches without replacement, as in the lemma; with the printed leading "
        "term for Poisson sampling and an added record",
        repaired="7/4 q^2 lambda (lambda + 1)/((1 - q) sigma^2) + O(q^3 lambda^3/sigma^3) in that region",
    )
    note = (
        f"{decision.note} Without replacement, as in the lemma, it holds in that region with 7/4 times the leading "
        "term; with the printed one only for Poisson sampling and an added record. Algorithm 1 draws with replacement, "
        "which neither covers."
    )
    return replace(decision, note=note, evidence=evidence)


@claim("Y02", Kind.ACCOUNTING, location="Lemma 1(b), Appendix B", tail=TAIL)
def tail() -> Decision:
    """A is (epsilon, delta)-DP with delta the minimum over lambda of {tail}, alpha at lambda."""
    decision = moments.tail.decision()
    line = Counterexample(
        "in the paper's own letters: alpha = lambda (lambda + 1)/2 is 3/8 at lambda = 1/2, so that the rule gives "
        "delta = -1/8 for epsilon = 1, and the exact curve is positive",
        curve(sigma, epsilon) <= TAIL,
        {sigma: Integer(1), epsilon: Integer(1), alpha: Rational(3, 8), lam: Rational(1, 2)},
    )
    return replace(decision, evidence=replace(decision.evidence, steps=(*decision.evidence.steps, line)))


@claim("Y09", Kind.CALIBRATION, location="Theorem 1 and equation (3)", noise=EQUATION_3, region=REGION)
def theorem_1() -> Decision:
    """There are c_1, c_2, c_3 such that the noise {noise}, and the same in v with c_3 and G_v, makes Algorithm 1
    (epsilon, delta)-DP for all {region} and all delta.
    """
    decision = theorem_1_proof.theorem.decision()
    here = (
        Identity(
            "the square of equation (3) is that of the noise at which the pair of gradients of a step is rho-zCDP with "
            "rho = 4 epsilon^2/(c_2^2 (m/n)^2 T log(1/delta)), sensitivity 2 G_w/m, c_3 = c_2",
            lambda: (2 * G_w / m) ** 2 / (4 * epsilon**2 / (c_2**2 * (m / n) ** 2 * T * log(1 / delta))),
            Pow(EQUATION_3, 2, evaluate=False),
        ),
        Inequality(
            "which is at most 4/2401 at c_2 = 49 in the printed region with c_1 <= 1, for epsilon <= ell = "
            "log(1/delta)",
            4 * epsilon**2 * n**2 / (49**2 * m**2 * T * ell),
            Rational(4, 49**2),
            over(n, m, T, epsilon, ell, c_1 <= 1, REGION, epsilon <= ell),
        ),
        Cited(
            "so for Algorithm 1: a record moves the mean gradient of a minibatch without replacement by 2 G/m, G for "
            "C. In the instance n = m = 1, where the samplings agree, V = [-1, 1], T >= 2, and the last iterate has "
            "t = T - 1 >= T/2 for certain, so that the chances above stand",
            "Algorithm 1; A1",
        ),
    )
    evidence = replace(
        decision.evidence,
        steps=(*decision.evidence.steps, *here),
        readings=(
            ("minibatches without replacement, epsilon <= log(1/delta), with c_1 = 1 and c_2 = c_3 = 49", "proved"),
            ("minibatches with replacement, as Algorithm 1 draws them, m >= 2, epsilon <= log(1/delta)", "unresolved"),
            ("all epsilon < c_1 m^2 T/n^2 and all 0 < delta < 1, either sampling", "refuted"),
            ("delta at most a constant in place of epsilon <= log(1/delta)", "refuted"),
        ),
        condition="minibatches without replacement, as Lemma 2 supposes, and epsilon <= log(1/delta), which epsilon "
        "<= 1 and delta <= 1/n^2 imply for n >= 2",
        repaired="sigma = 49 G sqrt(T log(1/delta))/(n epsilon) on epsilon <= m^2 T/n^2 and epsilon <= log(1/delta), "
        "without replacement",
    )
    note = (
        "For minibatches without replacement it is true with absolute constants once epsilon is at most log(1/delta). "
        "With replacement, as Algorithm 1 draws them, it is open for m >= 2. The printed range has no such limit, and "
        "for epsilon far above it no constants work, at n = m = 1 already. The proof through Lemma 2 is replaced by an "
        "amplification theorem."
    )
    return replace(decision, note=note, evidence=evidence)


@claim("Y01", Kind.ACCOUNTING, location="Lemma 1(a), Appendix B")
def composition() -> Decision:
    """The moment of adaptively composed mechanisms is the sum of their moments."""
    return moments.composition.decision()
