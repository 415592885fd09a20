r"""The claims about Theorem 3.4 and its proof. Setting and reference as in ``theorem_3_4``.

In the letters here b = sqrt(d log(2.5/delta))/(n epsilon), p = 1/sqrt n and ``phases`` = K = n/nbar, so
that the proof's five terms are

    9 L D K b,  65 L^2 K^2 b^2/mu,  2 L^2 K p^2/mu,  mu D^2,  with mu = (L/D) max{p, 14 K b}.
"""

from __future__ import annotations

from sympy import Ge, Integer, Le, Max, Rational, log, oo, sqrt, symbols

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Step
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, k, mu, n
from dpcheck.bounds.zhang2022 import outside
from dpcheck.bounds.zhang2022.phases import PRINTED, TRUE, b, bits, p, phases, rounded, short
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES
from dpcheck.bounds.zhang2022.theorem_3_4 import BOUND

nbar, mu_k, mu_last, lam, power, base, two = symbols("nbar mu_k mu_last lam power base two", positive=True)
TINY = Rational(1, 10**8)
SIGMA_K = 4 * L * sqrt(2 * LOG) / (mu_k * nbar * epsilon)
SETTING = Domain(
    {n: (1, oo), nbar: (1, oo), d: (1, oo), epsilon: (0, 1), delta: (0, 1), L: (0, oo), mu_k: (0, oo)},
    where=(Le(nbar, n),),
)
RATIO = Domain({b: (0, oo), p: (0, 1), phases: (Rational(1, 2), oo), L: (0, oo), D: (0, oo)})


def _phase() -> Decision:
    a, r, q = symbols("a r q", real=True)
    steps = (
        Cited(
            "Lemma A.3 on block k with G = (mu_k/2)|x - x~_{k-1}|^2; the block is independent of x~_{k-1} and of the "
            "comparison point x^_{k-1}",
            "i.i.d. records, disjoint blocks",
        ),
        Identity(
            "moving G to the other side at the comparison point a, less the nonnegative term at x_k^",
            (r + mu_k / 2 * q**2) - mu_k / 2 * a**2,
            r + mu_k / 2 * (q**2 - a**2),
        ),
        AtMost("the term at x_k^ is not negative", 0, mu_k / 2 * Rational(1) * lam**2),
    )
    return Decision(
        "proved",
        "exact algebra from cited facts",
        Evidence(steps),
        "Lemma A.3 with the proximal term as the regulariser, compared at the previous minimiser; for k = 1 that "
        "is x* by definition.",
    )


def _calibration() -> Decision:
    multiplier = sqrt(2 * LOG) / epsilon
    steps = (
        Identity("sensitivity 2 L/(mu_k nbar) + 2 L/(mu_k nbar)", 4 * L / (mu_k * nbar) * multiplier, SIGMA_K),
        Private("(epsilon, delta/2)-DP for that sensitivity", multiplier, SHARES, epsilon, delta / 2),
        Cited("the other delta/2 is the solver's failure, as in Z07", "claim Z07"),
        short(multiplier.subs({epsilon: 1, delta: TINY}), 1, TINY),
    )
    evidence = Evidence(steps, readings=((TRUE, "proved"), (PRINTED, "refuted")))
    return Decision(
        "proved",
        "tail bound of the exact Gaussian curve",
        evidence,
        "As Theorem 3.3 with mu_k and nbar, for epsilon < 1. The sensitivity is that of the records in the block.",
    )


def _deviation() -> Decision:
    solver = delta**2 * L**2 / (8 * mu_k**2 * nbar**2)
    printed = c * L**2 * d * LOG / (mu_k * nbar * epsilon) ** 2
    certain = Domain({**SETTING.intervals, delta: (0, Rational(1, 3))}, SETTING.where)
    steps = (
        Cited("|a + b|^2 <= 2|a|^2 + 2|b|^2", "linear algebra"),
        Cited(
            "E|x_k - x_k^|^2 <= 2 gamma_k/mu_k = delta^2 L^2/(16 mu_k^2 nbar^2), from gamma_k and not from the "
            "stopping rule, which says nothing of the mean",
            "Z10 with mu_k and nbar",
        ),
        Inequality("noise and solver within the constant", 2 * d * SIGMA_K**2 + solver, printed, SETTING, (c, 65)),
        Inequality(
            "a solver that is certainly within L/(mu_k nbar), delta <= 1/3",
            2 * d * SIGMA_K**2 + 2 * L**2 / (mu_k * nbar) ** 2,
            printed,
            certain,
            (c, 65),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("a mean gap of gamma_k, as in Remark 1", "proved"),
            ("a distance of at most L/(mu_k nbar) for certain, delta <= 1/3", "proved"),
        ),
    )
    return Decision("proved", "prover", evidence, "64 from the noise.")


def _telescope() -> Decision:
    f = symbols("f0:4")
    last = symbols("last")
    steps = (
        Identity(
            "three phases: the sum telescopes", last - f[0], (last - f[3]) + sum(f[i] - f[i - 1] for i in (1, 2, 3))
        ),
        Cited("the same for every K by induction; f_0 = F(x*)", "telescoping"),
    )
    return Decision("proved", "exact algebra", Evidence(steps), "With x^_0 defined as x*.")


LAST: tuple[Step, ...] = (
    Inequality(
        "(a), (b): the root of 65 is below 9",
        sqrt(65) * L**2 / mu_last,
        c * L**2 / mu_last,
        Domain({L: (0, oo), mu_last: (0, oo)}),
        (c, 9),
    ),
    Inequality(
        "(c): L^2/mu_K <= L D for mu_K = mu n and mu >= L/(D sqrt n)",
        L**2 / mu_last,
        L * D,
        Domain({L: (0, oo), D: (0, oo), mu_last: (0, oo), n: (1, oo)}, where=(Ge(mu_last, L * sqrt(n) / D),)),
    ),
)


def _last() -> Decision:
    records, count = outside.RECORDS, outside.COUNT
    root = sqrt(LOG.subs(delta, outside.DELTA))
    steps = (
        Cited("F is L-Lipschitz; Jensen", "definition"),
        *LAST,
        Inequality(
            "K = floor(log2 n), 2^K = power > n/2: power >= sqrt n from n = 4 on",
            sqrt(n),
            power,
            Domain({n: (4, oo), power: (1, oo)}, where=(Le(n, 2 * power),)),
        ),
        Below("and at n = 2 and 3, where it is 2", sqrt(3), 2),
        *outside.convex(9 * root * count / (records * outside.EPSILON)),
    )
    return Decision(
        "proved",
        "prover",
        Evidence(steps, readings=outside.readings(outside.LIPSCHITZ)),
        "Even 9 L D/sqrt n would do, since mu_K >= L sqrt n/D; K = floor(log2 n) keeps 2^K >= sqrt n.",
    )


def _final() -> Decision:
    mu_ = L / D * Max(p, 14 * phases * b)
    terms = 9 * L * D * phases * b + 65 * L**2 * phases**2 * b**2 / mu_ + 2 * L**2 * phases * p**2 / mu_ + mu_ * D**2
    printed = 4 * L * D * phases * (p + c * b)
    low = Max(p, 14 * bits * b)
    # base 10, n = 10^16, K = 16 phases, L = D = 1, where mu = p = 14 K b
    many, small = Integer(16), Rational(1, 10**8)
    share = small / (14 * many)
    tenth = (
        sqrt(65) * many * share / (small * 2**many)
        + 65 * many**2 * share**2 / small * (1 - 2 ** (1 - many))
        + 2 * many * small * (1 - 2**-many)
        + small
    )
    instance = {n: outside.RECORDS, d: 1, epsilon: outside.EPSILON, delta: outside.DELTA, L: 1, D: 1}
    derived, allowed = symbols("derived allowed", positive=True)
    steps = (
        *LAST,
        Identity(
            "the sum over k >= 2 of 65 mu_k/(2 mu_{k-1}^2), mu_k = mu 2^k",
            65 * mu * 2**k / (2 * (mu * 2 ** (k - 1)) ** 2),
            65 / (mu * 2 ** (k - 1)),
        ),
        Cited("the geometric sums are at most 65/mu and, over k >= 1, 1/mu", "geometric series"),
        Inequality("the five terms are within the printed bound", terms, printed, RATIO, (c, 7)),
        Inequality(
            "K = log n, unrounded: 2^K = n^{log 2/log base} >= sqrt n to a base of at most 4, with two = log 2",
            Rational(1, 2),
            two / base,
            Domain({two: (0, oo), base: (0, oo)}, where=(Le(base, 2 * two),)),
        ),
        Identity(
            "and K = log n is at least log 2/log 4 from n = 2 on",
            log(Integer(2)) / log(Integer(4)),
            Rational(1, 2),
        ),
        *rounded(
            "K = floor(log2 n), log2 in mu and in the bound, with mu_K >= mu n/2",
            lambda ratio: (
                2 * sqrt(65) * ratio * b * p**2 / low + 65 * ratio**2 * b**2 / low + 2 * ratio * p**2 / low + low
            ),
            4 * bits * (p + c * b),
            (c, 7),
        ),
        Counterexample(
            "base 10, n = 10^16, 14 K b = p: the proof's terms against the printed bound",
            Le(derived, allowed),
            ((derived, tenth), (allowed, 4 * many * (small + 7 * share))),
        ),
        *outside.convex(BOUND.subs(instance)),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("K = log n without rounding, natural or any base up to 4", "proved"),
            ("K = floor(log2 n), log2 throughout, n/K or floor(n/K) records in a block", "proved"),
            ("the proof's terms, logarithms to base 10", "refuted"),
            *outside.readings(outside.LIPSCHITZ),
        ),
    )
    return Decision("proved", "prover", evidence, "All five terms, with the printed mu; 6.91 would do for 7.")


CLAIMS = (
    Claim(
        "Z12",
        "zhang2022",
        "lemma",
        "E[F(x_k^) - F(x_{k-1}^)] <= (mu_k/2) E|x_{k-1}^ - x~_{k-1}|^2 + 2 L^2/(mu_k nbar).",
        "Lemma A.4",
        _phase,
    ),
    Claim(
        "Z13",
        "zhang2022",
        "calibration",
        "sigma_k = 4 L sqrt(2 log(2.5/delta))/(mu_k nbar epsilon) makes phase k (epsilon, delta)-DP, epsilon < 1.",
        "proof of Theorem 3.4",
        _calibration,
    ),
    Claim(
        "Z14",
        "zhang2022",
        "constant",
        "E|x~_k - x_k^|^2 <= 65 L^2 d log(2.5/delta)/(mu_k nbar epsilon)^2 for epsilon < 1.",
        "equation (8)",
        _deviation,
    ),
    Claim(
        "Z15",
        "zhang2022",
        "algebra",
        "With x_0^ = x*, the excess risk is the last step's plus the sum of the phases' differences.",
        "equation (9)",
        _telescope,
    ),
    Claim(
        "Z16",
        "zhang2022",
        "constant",
        "E[F(x~_K) - F(x_K^)] <= 9 L D sqrt(d log(2.5/delta))/(nbar epsilon).",
        "proof of Theorem 3.4, (a) to (c)",
        _last,
    ),
    Claim(
        "Z18",
        "zhang2022",
        "utility constant",
        "With mu = (L/D) max{1/sqrt n, 14 log(n) sqrt(d log(2.5/delta))/(n epsilon)} the excess risk is at most "
        "4 L D log(n) (1/sqrt n + 7 sqrt(d log(2.5/delta))/(n epsilon)).",
        "Theorem 3.4",
        _final,
    ),
)
