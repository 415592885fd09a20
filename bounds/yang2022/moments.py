r"""The moments accountant as the proof of Theorem 1 uses it, and what it gives.

Lemmas 1 and 2 and Theorem 1 are those that [2] prints too, and so are their decisions.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendix B.
[2] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025.
"""

from __future__ import annotations

from dataclasses import replace

from sympy import Le, Rational, exp, oo, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Cited, Counterexample, Identity
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.zhang2025.lemma_2 import amplification
from dpcheck.bounds.zhang2025.moments import composition, tail
from dpcheck.bounds.zhang2025.theorem_1_proof import theorem

q, lam, x, s, T = symbols("q lam x s T", positive=True)


def _released() -> Decision:
    # Mean gradients at distance 2 G/m from each other and G/m from the minibatch without the record: in units of
    # the noise s, P and Q are N(0) moved by 1/2 and -1/2 with chance q. To second order in q the moment is
    # lambda (lambda + 1)/2 q^2 int (M - M')^2/M_0 = lambda (lambda + 1) q^2 (exp(x/4) - exp(-x/4)), x = 1/s^2.
    leading = 2 * (exp(x / 4) - exp(-x / 4))
    steps = (
        Cited("one release of sensitivity one, whose means without the record are in the middle", "Algorithm 1, m = 1"),
        Identity(
            "int (M - M')^2/M_0 for M, M' = N(1/2), N(-1/2) at variance 1/x", 2 * exp(x / 4) - 2 * exp(-x / 4), leading
        ),
        Inequality(
            "lambda (lambda + 1)/2 times it is within lambda^2 x for lambda >= 1 and s >= 1",
            lam * (lam + 1) / 2 * leading,
            lam**2 * x * Rational(102, 100),
            Domain({lam: (1, oo), x: (0, 1)}),
        ),
        Counterexample(
            "at s = 1/4, lambda = 1, the leading term alone is beyond it: exp(4) against 16",
            Le(leading, lam**2 * x),
            ((x, 16), (lam, 1)),
        ),
        Cited(
            "terms of third order in q are small for q < 1/(16 s) and lambda <= s^2 log(1/(q s)), "
            "conditions that the "
            "proof states below",
            "Abadi et al. 2016, Lemma 3",
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("every lambda and noise", "refuted"),
            ("s >= 1 and the conditions at the end of the proof", "conditional"),
        ),
        condition="noise of at least the sensitivity, 1 <= lambda <= s^2 log(1/(q s)) and q < 1/(16 s), up "
        "to a factor near 1",
        repaired="q^2 T lambda (lambda + 1)/((1 - q) s^2) in that region, s = m sigma/(2 G) (claim Y05)",
    )
    return Decision(
        "conditional",
        "prover, from a cited expansion",
        evidence,
        "The remainder of Lemma 2 and its region are dropped; without them small noise breaks the bound.",
    )


def _theorem_1() -> Decision:
    decision = theorem()
    evidence = decision.evidence
    condition = f"minibatches without replacement, as Lemma 2 supposes, and {evidence.condition}"
    return replace(decision, evidence=replace(evidence, condition=condition))


def _remark() -> Decision:
    # T = 1, epsilon = 1: m = n/2, so that the noise is s = m sigma/(2 G) = 2 sqrt(log(1/delta)) sensitivities.
    steps = (
        Identity(
            "at T = 1 and epsilon = 1 the noise over the sensitivity is 2 sqrt(log(1/delta))",
            (8 * symbols("root", positive=True) / 1) * Rational(1, 2) / 2,
            2 * symbols("root", positive=True),
        ),
        Cited(
            "without replacement the accountant certifies epsilon at every setting tried, with a factor "
            "2.2 to 3 to "
            "spare; with replacement it bounds epsilon by 1.07 at n = 10^4, T = 10, epsilon = 1",
            "dpcheck check dp_sgda",
        ),
    )
    return Decision(
        "unresolved",
        "accountant on a grid",
        Evidence(steps),
        "Certified on a grid of settings without replacement and never violated by an audit, but "
        "not proved for all "
        "n, T, epsilon; with replacement, as Algorithm 1 samples, the best certificate we have "
        "leaves it open.",
    )


CLAIMS = (
    Claim(
        "Y01",
        "yang2022",
        "composition",
        "The moment of adaptively composed mechanisms is the sum of their moments.",
        "Lemma 1(a), Appendix B",
        composition,
    ),
    Claim(
        "Y02",
        "yang2022",
        "tail bound",
        "A is (epsilon, delta)-DP with delta = min over lambda of alpha_A(lambda) - lambda epsilon.",
        "Lemma 1(b), Appendix B",
        tail,
    ),
    Claim(
        "Y03",
        "yang2022",
        "moment bound",
        "A query of sensitivity 1 on m of n records drawn without replacement, with noise sigma, has a "
        "moment of at most "
        "q^2 lambda (lambda + 1)/((1 - q) sigma^2) + C q^3 lambda^3/sigma^3 at q = m/n, for all lambda, "
        "sigma and m < n.",
        "Lemma 2, Appendix B",
        amplification,
    ),
    Claim(
        "Y06",
        "yang2022",
        "moment",
        "The moment of the T releases in w is at most q^2 T lambda^2/s^2, s the noise over the sensitivity.",
        "proof of Theorem 1, Appendix B",
        _released,
    ),
    Claim(
        "Y09",
        "yang2022",
        "calibration",
        "There are c_1, c_2, c_3 such that sigma = c G sqrt(T log(1/delta))/(n epsilon) is (epsilon, "
        "delta)-DP for all "
        "epsilon < c_1 m^2 T/n^2 and all delta.",
        "Theorem 1 and equation (3)",
        _theorem_1,
    ),
    Claim(
        "Y10",
        "yang2022",
        "calibration",
        "For epsilon <= 1, delta <= 1/n^2 and m = max(1, n sqrt(epsilon/(4 T))) the constant 8 makes Algorithm 1 "
        "(epsilon, delta)-DP.",
        "Remark 1",
        _remark,
    ),
)
