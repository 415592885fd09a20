r"""The claims about Theorem 4.5 and its proof. Setting and reference as in ``theorem_4_5``.

In the letters here b = sqrt(d log(5/delta))/(n epsilon), p = 1/sqrt n, K = n/nbar >= 1 the number of phases,
and mu = (L/D) max{2 p, 13 K b}. The right side of (27) has the terms

    (17/2) L D K b,  257 (K - 1) K^2 L^2 b^2/mu,  8 L^2 K^2 p^2/mu,  (mu/2) (2 D^2 + D^2).
"""

from __future__ import annotations

from sympy import Ge, Le, Max, Rational, oo, sqrt, symbols

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Identity
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, mu, n
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES
from dpcheck.bounds.zhang2022.theorem_4_3 import LOG

b, p, phases, nbar, mu_k, mu_last = symbols("b p phases nbar mu_k mu_last", positive=True)
SIGMA_K = 8 * L / (nbar * epsilon) * sqrt(2 * LOG / (mu_k * mu))
SETTING = Domain(
    {n: (1, oo), nbar: (1, oo), d: (1, oo), epsilon: (0, 1), delta: (0, 1), L: (0, oo), mu: (0, oo), mu_k: (0, oo)},
    where=(Le(nbar, n),),
)
SUM = Domain({b: (0, oo), p: (0, 1), phases: (1, oo), L: (0, oo), D: (0, oo)})
REGULARISER = L / D * Max(2 * p, 13 * phases * b)


def _stability() -> Decision:
    square = 26 * L**2 / (mu**2 * nbar**2)
    steps = (
        Identity("from mu E|y - y'|^2 <= 26 L^2/(mu nbar^2)", 26 * L**2 / (mu * nbar**2) / mu, square),
        Identity("its root", sqrt(square), sqrt(26) * L / (mu * nbar)),
        Counterexample(
            "the printed root, L inside it, is below that at L = 100, mu nbar = 1",
            Le(sqrt(26) * L / (mu * nbar), sqrt(26 * L / (mu * nbar))),
            ((L, 100), (mu, 1), (nbar, 1)),
        ),
        Counterexample(
            "and at L = 1, mu nbar = 100 it does not give the 8 L^2/(mu nbar) that follows",
            Le(2 * sqrt(2) * L**2 / (mu * nbar) + L * sqrt(26 * L / (mu * nbar)), 8 * L**2 / (mu * nbar)),
            ((L, 1), (mu, 1), (nbar, 100)),
        ),
        Identity("with sqrt(26) L/(mu nbar) it does", L * sqrt(26) * L / (mu * nbar), sqrt(26) * L**2 / (mu * nbar)),
        Below("since 2 sqrt 2 + sqrt 26 < 8", 2 * sqrt(2) + sqrt(26), 8),
    )
    evidence = Evidence(
        steps,
        readings=(("sqrt(26 L/(mu nbar)), as printed", "refuted"), ("sqrt(26) L/(mu nbar)", "proved")),
        condition="the root ends before L: sqrt(26) L/(mu nbar)",
        repaired="Delta_y = sqrt(26) L/(mu nbar), which is what the display before gives and the next line uses",
    )
    return Decision("conditional", "exact algebra", evidence, "The root sign is too long: the units do not agree.")


def _per_phase() -> Decision:
    each = delta * L**2 / (8 * mu_k * mu * nbar**2)  # E|x_k - x_k^|^2 <= 2 gamma/mu_k, gamma = delta L^2/(16 mu nbar^2)
    chain = 2 * mu_k * 3 * (2 * each + 4 * L**2 / (mu_k * mu * nbar**2))
    steps = (
        Cited("|a + b + c|^2 <= 3 (...); the noise of phase k is the same on both datasets", "coupling"),
        Identity(
            "3 times the two solver errors and the stability",
            3 * (2 * each + 4 * L**2 / (mu_k * mu * nbar**2)),
            (12 + 3 * delta / 4) * L**2 / (mu_k * mu * nbar**2),
        ),
        Inequality("with mu_{k+1} = 2 mu_k within the printed 26", chain, c * L**2 / (mu * nbar**2), SETTING, (c, 26)),
        Below("2 sqrt 2 + sqrt 26 < 8", 2 * sqrt(2) + sqrt(26), 8),
    )
    return Decision("proved", "prover", Evidence(steps), "24 + 3 delta/2 within 26, and 7.93 within 8.")


def _deviation() -> Decision:
    solver = delta * L**2 / (4 * mu_k * mu * nbar**2)
    printed = c * L**2 * d * LOG / (mu_k * mu * nbar**2 * epsilon**2)
    steps = (
        Cited("|a + b|^2 <= 2|a|^2 + 2|b|^2", "linear algebra"),
        Inequality("noise and solver within the constant", 2 * d * SIGMA_K**2 + solver, printed, SETTING, (c, 257)),
    )
    return Decision("proved", "prover", Evidence(steps), "256 from the noise.")


def _last() -> Decision:
    steps = (
        Cited("F is L-Lipschitz; Jensen; (24)", "definition"),
        Inequality("the root of 257 is below 17", sqrt(257) * L**2, c * L**2, Domain({L: (0, oo)}), (c, 17)),
        Identity("mu_K = mu n", 1 / sqrt(mu * n * mu), 1 / (mu * sqrt(n))),
        Inequality(
            "17 L^2/(mu sqrt n) <= 17 L D/2 for mu >= 2 L/(D sqrt n)",
            17 * L**2 / (mu * sqrt(n)),
            17 * L * D / 2,
            Domain({L: (0, oo), D: (0, oo), mu: (0, oo), n: (1, oo)}, where=(Ge(mu, 2 * L / (D * sqrt(n))),)),
        ),
    )
    return Decision("proved", "prover", Evidence(steps), "With mu_K = mu n (Z17).")


def _final() -> Decision:
    middle = 4 * L * D * phases**2 * (p + c * b)
    terms = (
        Rational(17, 2) * L * D * phases * b
        + 257 * (phases - 1) * phases**2 * L**2 * b**2 / REGULARISER
        + 8 * L**2 * phases**2 * p**2 / REGULARISER
    )
    steps = (
        Identity("mu_k/(2 mu_{k-1}) = 1 in each of K - 1 phases", 257 * 2 * mu_k / (2 * mu_k), 257 + 0 * mu_k),
        Cited("the sum of |y_{k+1}|^2 - |y_k|^2 telescopes, and |y_1| >= 0", "telescoping"),
        Inequality("the first three terms are within half of the bound", terms, middle, SUM, (c, 5)),
        Inequality(
            "and so is (mu/2) 3 D^2", Rational(3, 2) * REGULARISER * D**2, 4 * L * D * phases**2 * (p + 5 * b), SUM
        ),
    )
    return Decision(
        "proved", "prover", Evidence(steps), "For at least one phase, K = log n the same number in nbar and in mu."
    )


def _gap() -> Decision:
    saddle = symbols("saddle")
    bound = 8 * L * D * phases**2 * (p + 5 * b)
    steps = (
        Identity("(28) and (31) add up to twice the bound", (saddle + bound) + (-saddle + bound), 2 * bound),
        Identity("that is", 2 * bound, 16 * L * D * phases**2 * (p + 5 * b)),
        Cited("F(x*, y_1^) <= F(x*, y*) <= F(x_1^, y*)", "saddle point of F"),
        Cited(
            "Algorithm 5 is Algorithm 4 for -f with x and y exchanged, which satisfies the same assumptions", "symmetry"
        ),
    )
    return Decision(
        "proved",
        "exact algebra",
        Evidence(steps),
        "The maximum and minimum stand outside the expectation: the weak gap.",
    )


def _privacy() -> Decision:
    multiplier = 2 * sqrt(2 * LOG) / epsilon
    steps = (
        Identity(
            "noise over the sensitivity 4 L/(nbar sqrt(mu_k mu))",
            SIGMA_K / (4 * L / (nbar * sqrt(mu_k * mu))),
            multiplier,
        ),
        Private(
            "each phase is (epsilon/2, delta/4)-DP given the sensitivity", multiplier, SHARES, epsilon / 2, delta / 4
        ),
        Cited(
            "the sensitivity fails with probability delta/4 (Z26, Z07); disjoint blocks (Z01)", "claims Z01, Z07, Z26"
        ),
        Identity("two algorithms", epsilon / 2 + epsilon / 2, epsilon),
        Identity("and", delta / 2 + delta / 2, delta),
    )
    return Decision(
        "proved",
        "tail bound of the exact Gaussian curve",
        Evidence(steps),
        "Each phase sees its block and the earlier released point only; the two algorithms draw fresh noise.",
    )


CLAIMS = (
    Claim(
        "Z33",
        "zhang2022",
        "sensitivity",
        "The mean stability of the next phase's y is Delta_y = sqrt(26 L/(mu nbar)).",
        "proof of Lemma B.5",
        _stability,
    ),
    Claim(
        "Z34",
        "zhang2022",
        "constant",
        "The terms 12 and 3 delta/4 give 26 L^2/(mu nbar^2), and a phase costs 8 L^2/(mu nbar).",
        "Lemma B.5",
        _per_phase,
    ),
    Claim(
        "Z35",
        "zhang2022",
        "constant",
        "E|x~_k - x_k^|^2 <= 257 L^2 d_x log(5/delta)/(mu_k mu nbar^2 epsilon^2), epsilon < 1.",
        "equation (24)",
        _deviation,
    ),
    Claim(
        "Z36",
        "zhang2022",
        "constant",
        "The last step costs at most 17 L^2/sqrt(mu_K mu) <= (17/2) L D times sqrt(d log(5/delta))/(nbar epsilon).",
        "equation (26)",
        _last,
    ),
    Claim(
        "Z37",
        "zhang2022",
        "constant",
        "max_y E F(x~_K, y) - E F(x*, y_1^) <= 8 L D K^2 (1/sqrt n + 5 sqrt(d log(5/delta))/(n epsilon)) with "
        "mu = (L/D) max{2/sqrt n, 13 log(n) sqrt(d log(5/delta))/(n epsilon)}.",
        "equation (27) and Theorem 4.5",
        _final,
    ),
    Claim(
        "Z38",
        "zhang2022",
        "utility",
        "The weak gap of (x~_K, y~_K) is at most 16 L D K^2 (1/sqrt n + 5 sqrt(d log(5/delta))/(n epsilon)).",
        "equations (28) and (31)",
        _gap,
    ),
    Claim(
        "Z39",
        "zhang2022",
        "privacy",
        "Algorithms 4 and 5 are (epsilon/2, delta/2)-DP each and (epsilon, delta)-DP together, epsilon < 1.",
        "proof of Theorem 4.5",
        _privacy,
    ),
)
