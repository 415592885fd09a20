r"""The claims about Theorem 4.5 and its proof. Setting and reference as in ``theorem_4_5``.

The sum of all terms, equation (27), is in ``theorem_4_5_sum``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Ge, Integer, Le, Rational, ceiling, floor, log, oo, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Enumerated, Identity, Step
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, mu, n
from dpcheck.bounds.zhang2022 import outside
from dpcheck.bounds.zhang2022.phases import PRINTED, TRUE, short
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES
from dpcheck.bounds.zhang2022.theorem_4_3 import LOG

nbar, mu_k, power = symbols("nbar mu_k power", positive=True)
TINY = Rational(1, 10**12)
SIGMA_K = 8 * L / (nbar * epsilon) * sqrt(2 * LOG / (mu_k * mu))
SETTING = Domain(
    {n: (1, oo), nbar: (1, oo), d: (1, oo), epsilon: (0, 1), delta: (0, 1), L: (0, oo), mu: (0, oo), mu_k: (0, oo)},
    where=(Le(nbar, n),),
)


def moved_dual(a: int, mu_: int, next_: int, centre: int) -> Fraction:
    """y at the saddle of a x y + next (x - centre)^2/2 - mu y^2/2; it is 0 for the centre 0.

    a y + next (x - centre) = 0 and a x = mu y.
    """
    return Fraction(a * next_ * centre, mu_ * next_ + a**2)


def _stability() -> Decision:
    square = 26 * L**2 / (mu**2 * nbar**2)
    lam, moved = symbols("lam moved", positive=True)
    steps = (
        Identity(
            "lengths times lam, f(x/lam, y/lam) in place of f: L becomes L/lam, mu becomes mu/lam^2, the printed root",
            sqrt(26 * (L / lam) / (mu / lam**2 * nbar)),
            sqrt(lam) * sqrt(26 * L / (mu * nbar)),
        ),
        Enumerated(
            "y does move: f = x y, mu = 1, mu_{k+1} = 4, the centre moved from 0 to 1",
            moved_dual,
            (1, 1, 4, 1),
            Fraction(4, 5),
        ),
        Exceeds(
            "its move is a length, times lam, and outgrows the root", lam * moved, sqrt(lam) * moved, Region(), {lam: s}
        ),
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
        Cited("|P(x~) - x_k^| <= |x~ - x_k^|, x_k^ in X", "projection onto a convex set"),
    )
    evidence = Evidence(
        steps, readings=(("x~ as printed, without a projection", "proved"), ("x~ projected onto X", "proved"))
    )
    return Decision("proved", "prover", evidence, "256 from the noise; f is not evaluated at x~.")


# mu_K = mu power, power = 2^K
POWER = {L: (0, oo), D: (0, oo), mu: (0, oo), n: (1, oo), power: (1, oo)}
LEAST = Ge(mu, 2 * L / (D * sqrt(n)))
WHOLE = Domain(POWER, where=(LEAST, Ge(power, n)))
HALF = Domain(POWER, where=(LEAST, Ge(2 * power, n)))
LAST = L**2 / sqrt(mu * power * mu)  # L^2/sqrt(mu_K mu)


def _at(records: int, count: Any) -> tuple[tuple[Any, Any], ...]:
    """L = D = 1, the least mu there is, and 2^count."""
    return ((L, 1), (D, 1), (mu, 2 / sqrt(Integer(records))), (power, Integer(2) ** count))


def _last() -> Decision:
    unit = d * LOG / (mu_k * mu * nbar**2 * epsilon**2)
    solver = delta * L**2 / (8 * mu_k * mu * nbar**2)
    middle = Rational(17, 2) * L * D
    records, count = outside.RECORDS, outside.COUNT
    root = sqrt(LOG.subs(delta, outside.DELTA))
    steps: tuple[Step, ...] = (
        Cited("F is L-Lipschitz; Jensen; (24)", "definition"),
        Inequality("the root of 257 is below 17", sqrt(257) * LAST, c * LAST, Domain(POWER), (c, 17)),
        Inequality("2^K >= n, that is K = log2 n or rounded up: 17 L^2/sqrt(mu_K mu)", 17 * LAST, middle, WHOLE),
        Counterexample(
            "rounded down, n = 1000, K = 9: the root of 257 in place of 17 is too much already",
            Le(sqrt(257) * LAST, middle),
            _at(1000, floor(log(Integer(1000)) / log(Integer(2)))),
        ),
        Counterexample(
            "natural logarithm, rounded up, n = 1000, K = 7",
            Le(sqrt(257) * LAST, middle),
            _at(1000, ceiling(log(Integer(1000)))),
        ),
        Inequality("rounded down, 2^K > n/2", sqrt(257) * LAST, c * L * D, HALF, (c, 17 * sqrt(2) / 2)),
        Inequality(
            "the noise is independent of the solver's error, so that E|x~_K - x_K^|^2 has 129 in place of 257",
            d * SIGMA_K**2 + solver,
            c * L**2 * unit,
            SETTING,
            (c, 129),
        ),
        Inequality(
            "and with its root 17/2 holds rounded down too", sqrt(129) * LAST, c * L * D, HALF, (c, Rational(17, 2))
        ),
        *outside.convex_concave(Rational(17, 2) * root * count / (records * outside.EPSILON)),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("K = log2 n, or rounded up", "proved"),
            ("K = floor(log2 n), by 17 L^2/sqrt(mu_K mu)", "refuted"),
            ("K = floor(log2 n), 17 sqrt 2/2 in place of 17/2", "proved"),
            ("K = floor(log2 n), 17/2, by E|x~_K - x_K^|^2 of the independent noise", "proved"),
            ("K = log n, natural, by 17 L^2/sqrt(mu_K mu)", "refuted"),
            *outside.readings(outside.LIPSCHITZ, "conditional"),
        ),
        condition="K is log2 n exactly or rounded up; for K = floor(log2 n) the constant is 17 sqrt 2/2",
    )
    return Decision(
        "conditional",
        "prover",
        evidence,
        "mu >= 2 L/(D sqrt n) is used with equality, so that mu_K = mu 2^K must reach mu n.",
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
        short(multiplier.subs({epsilon: 1, delta: TINY}), Rational(1, 2), TINY / 2),
    )
    evidence = Evidence(steps, readings=((TRUE, "proved"), (PRINTED, "refuted")))
    return Decision(
        "proved",
        "tail bound of the exact Gaussian curve",
        evidence,
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
        "Z39",
        "zhang2022",
        "privacy",
        "Algorithms 4 and 5 are (epsilon/2, delta/2)-DP each and (epsilon, delta)-DP together, epsilon < 1.",
        "proof of Theorem 4.5",
        _privacy,
    ),
)
