r"""The noise of Algorithm 3 and of Lemma 8 against exact privacy curves.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Algorithm 3, Lemma 8, Appendix D.
"""

from __future__ import annotations

from sympy import Le, Rational, erf, exp, log, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate, Private, curve
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Cited, Counterexample, Identity
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import delta, epsilon, n

C, s, q, c_2, queries = symbols("C s q c_2 queries", positive=True)
TINY = Rational(1, 10**5)


def _constant() -> Decision:
    ratio = (C * sqrt(log(1 / delta)) / (n * epsilon)) / (2 * C / n)
    printed = ratio.subs({delta: TINY, epsilon: 1})
    steps = (
        Identity(
            "one refresh of all n records: noise over the sensitivity 2 C/n",
            ratio,
            sqrt(log(1 / delta)) / (2 * epsilon),
        ),
        NotPrivate("epsilon = 1, delta = 1e-5: the exact curve of this one release is above delta", printed, 1, TINY),
        Counterexample(
            "the same in numbers", Le(curve(s, epsilon), delta), ((s, printed), (epsilon, 1), (delta, TINY))
        ),
        Private(
            "2 sqrt 2 times as much, sqrt(2 log(1.25/delta))/epsilon, is enough for one release",
            sqrt(2 * log(Rational(5, 4) / delta)) / epsilon,
            Domain({epsilon: (0, 1), delta: (0, Rational(1, 2))}),
            epsilon,
            delta,
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("constant 1, as the formula has it", "refuted"),
            ("a large enough universal constant, of which the text speaks", "unresolved"),
        ),
        repaired="a constant found by the accountant for the number of refreshes T/q and increments T K",
    )
    return Decision(
        "refuted",
        "exact privacy curve in ball arithmetic",
        evidence,
        "Even one release of the full batch needs more noise.",
    )


def _composition() -> Decision:
    single = 2 * sqrt(2 * log(Rational(5, 4) / TINY))  # (1/2, 1e-5)-DP for each query
    steps = (
        Private(
            "sqrt(2 log(1.25/delta))/(epsilon/2) makes each query (epsilon/2, delta)-DP",
            2 * sqrt(2 * log(Rational(5, 4) / delta)) / epsilon,
            Domain({epsilon: (0, 1), delta: (0, Rational(1, 2))}),
            epsilon / 2,
            delta,
        ),
        Cited("64 Gaussian queries are one with an eighth of the noise", "Gaussian differential privacy"),
        NotPrivate("64 such queries at epsilon = 1, delta = 1e-5", single / 8, 1, TINY),
        Counterexample(
            "the same in numbers", Le(curve(s, epsilon), delta), ((s, single / 8), (epsilon, 1), (delta, TINY))
        ),
        Identity("for just two queries basic composition gives 2 delta", delta + delta, 2 * delta),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("u and v of one time step", "unresolved"),
            ("all T/q refreshes and T K increments, as the claim says", "refuted"),
        ),
        repaired="compose all 2 (T/q + T K) queries, by the accountant or with noise larger "
        "by the root of their number",
    )
    return Decision(
        "refuted",
        "exact privacy curve in ball arithmetic",
        evidence,
        "Two queries are composed where the algorithm makes 2 (T/q + T K).",
    )


def _sampling() -> Decision:
    # One record in n, minibatch of S_2 = q n: with chance q the mean moves by 2/S_2, in units of
    # L |dy|. The printed noise is
    # C_2 sqrt(log(1.25/delta)) q/epsilon in units of that move; event: beyond half of it.
    half = epsilon / (2 * c_2 * q * sqrt(log(Rational(5, 4) / delta)))
    tail = (1 - erf(half / sqrt(2))) / 2
    at = ((epsilon, 1), (delta, TINY), (c_2, 100), (q, Rational(1, 5000)))
    steps = (
        Cited(
            "with chance q the minibatch has the record, and the mean is then above the half with chance 1 "
            "- tail; without it, tail",
            "sampling without replacement",
        ),
        Counterexample(
            "C_2 = 100, q = 1/5000, epsilon = 1, delta = 1e-5: P <= e^epsilon P' + delta",
            Le(q * (1 - tail), exp(epsilon) * tail + delta),
            at,
        ),
        Inequality(
            "for every C_2: at q = 1/(50 C_2), with tail <= 2/1000 q, the left is above the right",
            3 * Rational(2, 1000) * q + q / 1000,
            q * Rational(998, 1000),
            Domain({q: (0, 1)}),
        ),
    )
    evidence = Evidence(
        steps,
        repaired="a subsampled query at noise s has at best delta of order q times "
        "its own; the noise falls by q only when many steps are composed, each with noise of "
        "at least its sensitivity",
    )
    return Decision(
        "refuted",
        "exact chances of an event in ball arithmetic",
        evidence,
        "Sampling at rate q does not let the noise of one query shrink by q: the record is seen "
        "with chance q > delta, and then stands out.",
    )


CLAIMS = (
    Claim(
        "002:Alg3 l.1-2",
        "xu2026",
        "noise calibration",
        "sigma = C sqrt(log(1/delta))/epsilon max{1/S, sqrt(count)/n}, with constant 1, makes the count "
        "queries of sensitivity 2 C/S (epsilon, delta)-DP.",
        "Algorithm 3, lines 1 and 2",
        _constant,
    ),
    Claim(
        "002:Lem8 privacy",
        "xu2026",
        "composition",
        "Since each query is (epsilon/2, delta)-DP, Algorithm 2 is (epsilon, delta)-DP.",
        "privacy proof of Lemma 8",
        _composition,
    ),
    Claim(
        "002:Lem8 sigma_zeta",
        "xu2026",
        "amplification",
        "Sampling S_2 of n records lets the noise of one query be S_2/n of what it would be, with one constant C_2.",
        "privacy proof of Lemma 8",
        _sampling,
    ),
)
