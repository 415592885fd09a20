r"""The claims about Theorem 3.4 and its proof. Setting and reference as in ``theorem_3_4``.

In the letters here b = sqrt(d log(2.5/delta))/(n epsilon), p = 1/sqrt n and ``phases`` = K = n/nbar, so
that the proof's five terms are

    9 L D K b,  65 L^2 K^2 b^2/mu,  2 L^2 K p^2/mu,  mu D^2,  with mu = (L/D) max{p, 14 K b}.
"""

from __future__ import annotations

from sympy import Eq, Ge, Integer, Le, Max, Rational, floor, log, oo, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Step
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import D, L, c, d, delta, ell, epsilon, k, mu, n
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES

b, p, phases, nbar, mu_k, mu_last, lam = symbols("b p phases nbar mu_k mu_last lam", positive=True)
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
    )
    return Decision(
        "proved",
        "tail bound of the exact Gaussian curve",
        Evidence(steps),
        "As Theorem 3.3 with mu_k and nbar, for epsilon < 1.",
    )


def _deviation() -> Decision:
    solver = delta**2 * L**2 / (8 * mu_k**2 * nbar**2)
    printed = c * L**2 * d * LOG / (mu_k * nbar * epsilon) ** 2
    steps = (
        Cited("|a + b|^2 <= 2|a|^2 + 2|b|^2", "linear algebra"),
        Inequality("noise and solver within the constant", 2 * d * SIGMA_K**2 + solver, printed, SETTING, (c, 65)),
    )
    return Decision("proved", "prover", Evidence(steps), "64 from the noise.")


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
    return Decision(
        "proved",
        "prover",
        Evidence((Cited("F is L-Lipschitz; Jensen", "definition"), *LAST)),
        "Even 9 L D/sqrt n would do, since mu_K >= L sqrt n/D.",
    )


def _base() -> Decision:
    steps = (
        Counterexample(
            "with natural logarithms n = 8 gives 2^{log 8} = 8^{log 2} < 5, not 8",
            Ge(Integer(2) ** log(n), n),
            ((n, 8),),
        ),
        Identity("to base 2 it is n", Integer(2) ** (log(Integer(8)) / log(2)), Integer(8)),
        Counterexample(
            "and K = log n is no integer unless n is a power of the base: n = 10, to base 2",
            Eq(floor(log(n) / log(2)), log(n) / log(2)),
            ((n, 10),),
        ),
        Inequality(
            "rounded down, 2^K > n/2: with 2^K = power, n < 2 power",
            n / 2,
            lam,
            Domain({n: (1, oo), lam: (0, oo)}, where=(Le(n, 2 * lam),)),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(("natural logarithm", "refuted"), ("base 2, n a power of two", "proved")),
        condition="the logarithm has base 2 and n is a power of two",
        repaired="K = floor(log2 n): then mu n/2 < mu_K <= mu n, which is all that the proof uses up to a factor 2 "
        "where it has a factor sqrt n to spare",
    )
    return Decision(
        "conditional",
        "exact arithmetic",
        evidence,
        "mu 2^K = mu n needs base 2; elsewhere in the paper log is natural.",
    )


def _final() -> Decision:
    mu_ = L / D * Max(p, 14 * phases * b)
    terms = 9 * L * D * phases * b + 65 * L**2 * phases**2 * b**2 / mu_ + 2 * L**2 * phases * p**2 / mu_ + mu_ * D**2
    printed = 4 * L * D * phases * (p + c * b)
    steps = (
        *LAST,
        Identity(
            "the sum over k >= 2 of 65 mu_k/(2 mu_{k-1}^2), mu_k = mu 2^k",
            65 * mu * 2**k / (2 * (mu * 2 ** (k - 1)) ** 2),
            65 / (mu * 2 ** (k - 1)),
        ),
        Cited("the geometric sums are at most 65/mu and, over k >= 1, 1/mu", "geometric series"),
        Inequality("the five terms are within the printed bound", terms, printed, RATIO, (c, 7)),
        Below("K >= 1/2 is log n >= 1/2, true from n = 2 on", Rational(1, 2), log(Integer(2))),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("K = log n without rounding, to any base for which K >= 1/2", "proved"),
            ("K = floor(log2 n) and nbar = n/K, the bound with log2", "proved"),
        ),
    )
    return Decision("proved", "prover", evidence, "All five terms, with the printed mu; 6.91 would do for 7.")


def _gradients() -> Decision:
    smooth, gap = symbols("smooth gap", positive=True)  # ell D/L and log(n/delta)
    many = symbols("many", positive=True)  # K <= log(n/delta)/log 2
    region = Region(Ge(gap, 1), Ge(many, 1))
    steps = (
        Cited("sum_k 1/mu_k <= 1/mu <= sqrt n D/L and sum_k 1/sqrt(mu_k) <= (1 + sqrt 2)/sqrt mu", "geometric series"),
        Identity("K blocks of n/K records", phases * (n / phases), n),
        Dominated(
            "SVRG, SARAH: n + sqrt n ell D/L, times log(n/delta)",
            (n + sqrt(n) * smooth + many) * gap,
            (n + sqrt(n) * smooth) * gap,
            Region(Ge(gap, 1), Le(many, n)),
        ),
        Dominated(
            "Katyusha: sum_k sqrt(nbar ell/mu_k) and sum_k sqrt(nbar), K <= n",
            (n + n ** Rational(3, 4) * sqrt(smooth) + sqrt(n) * sqrt(many)) * gap,
            (n + n ** Rational(3, 4) * sqrt(smooth)) * gap,
            Region(Ge(gap, 1), Ge(many, 1), Le(many, n)),
        ),
        Exceeds(
            "the displayed sqrt(n ell) D/L in place of sqrt n ell D/L loses a factor sqrt ell",
            sqrt(n) * ell,
            sqrt(n) * sqrt(ell) + n,
            Region(Ge(ell, 1), *region.relations),
            {n: s**2, ell: s**2},
        ),
    )
    evidence = Evidence(
        steps,
        condition="log(mu/L^2), inside the solver's log(1/gamma), is of order log(n/delta) (claim Z11)",
        readings=(
            ("sqrt n ell D/L, as Theorem 3.4 and Table 1 have it", "conditional"),
            ("sqrt(n ell) D/L, as a display of the appendix has it", "refuted"),
        ),
    )
    return Decision(
        "conditional",
        "linear program with exact multipliers",
        evidence,
        "The sums over the phases are as printed; log(1/gamma) has the scale of F in it.",
    )


def _phased_erm() -> Decision:
    steps = (
        Cited("sum over k of n 2^{-k} is at most n: the blocks exist", "geometric series"),
        Identity(
            "each phase's noise term, of order mu_k/(mu_{k-1} n_{k-1})^2, falls by a factor 2",
            Integer(2) ** (3 * k) * Integer(2) ** (-6 * (k - 1)) * Integer(2) ** (2 * (k - 1)),
            Integer(2) ** (4 - k),
        ),
        Identity("and 1/(mu_k n_k) by a factor 4", Integer(2) ** (-3 * k) * Integer(2) ** k, Integer(2) ** (-2 * k)),
        Cited("so that both sums are O(1) times their first terms, without K", "geometric series"),
    )
    return Decision(
        "proved",
        "exact algebra",
        Evidence(steps),
        "With mu_k = mu 2^{3k} and n_k = n/2^k both sums are geometric, so that the factor log n goes.",
    )


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
        "Z17", "zhang2022", "schedule", "K = log n phases give mu_K = mu 2^K = mu n.", "Algorithms 2, 4 and 5", _base
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
    Claim(
        "Z19",
        "zhang2022",
        "gradient complexity",
        "SVRG and SARAH take O((n + sqrt n ell D/L) log(n/delta)) gradients, Katyusha "
        "O((n + n^{3/4} sqrt(ell D/L)) log(n/delta)).",
        "proof of Theorem 3.4, gradient complexity",
        _gradients,
    ),
    Claim(
        "Z20",
        "zhang2022",
        "text",
        "With mu_k = mu 2^{3k} and n_k = n/2^k, as in phased ERM, the factor log n in the risk goes.",
        "after the proof of Theorem 3.4",
        _phased_erm,
    ),
)
