r"""The claims about Theorem 4.5, its phases and the sum over them, equations (26) and (27); setting in ``theorem_4_5``.

In the letters of the sum b = sqrt(d log(5/delta))/(n epsilon), p = 1/sqrt n, K = n/nbar >= 1 the number of phases,
and mu = (L/D) max{2 p, 13 K b}. The right side of (27) has the terms

    (17/2) L D K b,  257 (K - 1) K^2 L^2 b^2/mu,  8 L^2 K^2 p^2/mu,  (mu/2) (2 D^2 + D^2).
"""

from fractions import Fraction
from typing import Any

from sympy import Integer, Max, Rational, ceiling, floor, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Decision, Kind, Method, Step, Verdict, carries, claim, conditional, misprint, proved
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, k, mu, n
from dpcheck.bounds.zhang2022 import conditions
from dpcheck.bounds.zhang2022.lemmas import STABLE, WEAK
from dpcheck.bounds.zhang2022.phases import PHASE, ROUNDED, letters, printed, rates, rounded, sums
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES
from dpcheck.bounds.zhang2022.theorem_4_3 import LOG
from dpcheck.bounds.zhang2022.theorem_4_5 import BOUND, NOISE

nbar, mu_k, power, away, b, bits, p, phases = symbols("nbar mu_k power away b bits p phases", positive=True)

SIGMA_K = 8 * L / (nbar * epsilon) * sqrt(2 * LOG / (mu_k * mu))
SETTING = over(n, nbar >= 1, d, epsilon <= 1, delta <= 1, L, mu, mu_k, nbar <= n)
ROOT = sqrt(26 * L / (mu * nbar))  # as published, L inside
MOVE = sqrt(26) * L / (mu * nbar)
PARTS = (12 + 3 * delta / 4) * L**2 / (mu_k * mu * nbar**2)
TWENTY_SIX = 26 * L**2 / (mu * nbar**2)
EIGHT = 8 * L**2 / (mu * nbar)
DEVIATION = c * L**2 * d * LOG / (mu_k * mu * nbar**2 * epsilon**2)
SHARE = sqrt(d * LOG) / (nbar * epsilon)
MEAN_GAP = "a solver with the mean gap of Remark 3"
RULE = "the energy within L^2/(mu nbar^2) with probability 1 - delta/8, and nothing said of its mean"


def moved_dual(a: int, mu_: int, next_: int, centre: int) -> Fraction:
    """Return y at the saddle of a x y + next (x - centre)^2/2 - mu y^2/2; it is 0 for the centre 0.

    a y + next (x - centre) = 0 and a x = mu y.
    """
    return Fraction(a * next_ * centre, mu_ * next_ + a**2)


@claim("Z33", Kind.SENSITIVITY, location="proof of Lemma B.5", root=ROOT, mean_gap=MEAN_GAP)
def stability() -> Decision:
    """For {mean_gap} the mean stability of the next phase's y to a record of block k is Delta_y = {root} at most."""
    lam, moved = symbols("lam moved", positive=True)
    return misprint(
        Quoted("mu E|y - y'|^2 <= 26 L^2/(mu nbar^2)", "Z34"),
        Identity("whose root is", lambda: sqrt(TWENTY_SIX / mu), MOVE),
        Inequality(
            "that is within the published root where L <= mu nbar, both squared",
            MOVE**2,
            ROOT**2,
            over(L, mu, nbar >= 1, L <= mu * nbar),
        ),
        # The published root has the unit of a length only where L is outside it.
        Identity(
            "lengths times lam, f(x/lam, y/lam) in place of f: L becomes L/lam, mu becomes mu/lam^2, the root",
            lambda: sqrt(26 * (L / lam) / (mu / lam**2 * nbar)),
            lambda: sqrt(lam) * ROOT,
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
        Counterexample(
            "the published root, L inside it, is below the move at L = 100, mu nbar = 1",
            MOVE <= ROOT,
            {L: 100, mu: 1, nbar: 1},
        ),
        Counterexample(
            "and at L = 1, mu nbar = 100 it does not give the 8 L^2/(mu nbar) that follows",
            2 * sqrt(2) * L**2 / (mu * nbar) + L * ROOT <= EIGHT,
            {L: 1, mu: 1, nbar: 100},
        ),
        readings={
            "sqrt(26 L/(mu nbar)), as printed, for every L, mu and nbar": "refuted",
            "sqrt(26 L/(mu nbar)) where L <= mu nbar": "proved",
            "sqrt(26) L/(mu nbar)": "proved",
        },
        differs="exponent",
        condition="sqrt(26) L/(mu nbar): the root ends before L",
        repaired="Delta_y = sqrt(26) L/(mu nbar), which is what the display before gives and the next line uses",
        note="In the text at hand the root sign is too long: the units do not agree, and the 8 L^2/(mu nbar) that "
        "follows needs the shorter. Other roots of that text are too long as well, so that the slip may be the text's "
        "own.",
        method=(Method.ALGEBRA, Method.PROVER),
    )


@claim("Z34", Kind.CONSTANT, location="Lemma B.5", parts=PARTS, sum=TWENTY_SIX, cost=EIGHT, mean_gap=MEAN_GAP)
@carries("zhang2022.theorem_4_5", {"energy": L**2 / (mu * nbar**2)}, PHASE)
def per_phase() -> Decision:
    """For {mean_gap}, replacing a record of block k moves x~_k by {parts} at most in mean square and the next y, times
    mu, by {sum}; so a phase adds {cost} at most.
    """
    solver = (
        delta * L**2 / (8 * mu_k * mu * nbar**2)
    )  # E|x_k - x_k^|^2 <= 2 gamma/mu_k, gamma = delta L^2/(16 mu nbar^2)
    return proved(
        Quoted("E|x_k - x_k^|^2 is at most 2/mu_k times the mean gap", "Z21"),
        Quoted("the stability of x_k^", "Z23"),
        Cited("|a + b + c|^2 <= 3 (...); the noise of phase k is the same on both datasets", "coupling"),
        Identity(
            "3 times the two solver errors and the stability",
            lambda: 3 * (2 * solver + STABLE.subs(n, nbar) / mu_k),
            PARTS,
        ),
        Quoted("the next phase's y moves no more than its centre", "Z32"),
        Inequality(
            "with mu_{k+1} = 2 mu_k within the published 26",
            2 * mu_k * PARTS,
            c * L**2 / (mu * nbar**2),
            SETTING,
            (c, 26),
        ),
        Quoted("a y that moves by Delta_y adds L Delta_y to the weak gap", "Z25"),
        Inequality(
            "which together are within the published 8",
            WEAK.subs(n, nbar) + L * MOVE,
            c * L**2 / (mu * nbar),
            over(L, mu, nbar >= 1),
            (c, 8),
        ),
        note="24 + 3 delta/2 within 26, and 7.93 within 8.",
    )


@claim("Z35", Kind.CONSTANT, location="equation (24)", bound=DEVIATION.subs(c, 257), small=epsilon <= 1)
def deviation() -> Decision:
    """E|x~_k - x_k^|^2 is at most {bound} for {MEAN_GAP} and {small}, d being the dimension of x."""
    solver = delta * L**2 / (4 * mu_k * mu * nbar**2)
    few = {L: 1, d: 1, epsilon: 1, mu_k: 2, mu: 1, nbar: 10**9, delta: Rational(1, 10**11)}
    return proved(
        Cited("|a + b|^2 <= 2|a|^2 + 2|b|^2; E|N(0, sigma^2 I)|^2 = d sigma^2", "linear algebra"),
        Quoted("E|x_k - x_k^|^2 is at most 2/mu_k times the mean gap", "Z21"),
        Inequality("noise and solver within the constant", 2 * d * SIGMA_K**2 + solver, DEVIATION, SETTING, (c, 257)),
        Cited("|P(x~) - x_k^| <= |x~ - x_k^|, x_k^ in X", "projection onto a convex set"),
        Counterexample(
            "the stopping rule alone: f = 0 on [-1, 1]^2, mu_k = 2, mu = 1, nbar = 10^9, delta = 10^-11, a solver that "
            "returns x = 1 with chance delta/8 and else 0; half of the noise leads no nearer to 0",
            away <= DEVIATION.subs(c, 257).subs(few),
            {away: Rational(1, 16 * 10**11)},
        ),
        readings={"x~ as published, without a projection": "proved", "x~ projected onto X": "proved", RULE: "refuted"},
        note="256 from the noise; f is not evaluated at x~.",
        method=Method.PROVER,
    )


@claim("Z39", Kind.PRIVACY, location="proof of Theorem 4.5", half=epsilon / 2, share=delta / 2, small=epsilon <= 1)
@carries("zhang2022.theorem_4_5", {"sigma": SIGMA_K}, PHASE)
def privacy() -> Decision:
    """With nbar records in a block and sigma_k = {SIGMA_K}, Algorithms 4 and 5 are ({half}, {share})-DP each and
    (epsilon, delta)-DP together, for {small}.
    """
    multiplier = 2 * sqrt(2 * LOG) / epsilon
    size, two, energy = symbols("size two energy", positive=True)  # |(dx, dy)|, 2^k, 2 L/m
    return proved(
        Quoted("the sensitivity of a phase, and the chance of delta/4 that it fails", "Z26"),
        Identity(
            "noise over the sensitivity 4 L/(nbar sqrt(mu_k mu))",
            lambda: SIGMA_K / (4 * L / (nbar * sqrt(mu_k * mu))),
            multiplier,
        ),
        Private(
            "each phase is (epsilon/2, delta/4)-DP given the sensitivity", multiplier, SHARES, epsilon / 2, delta / 4
        ),
        Quoted("and (epsilon/2, delta/2)-DP with the failure", "Z07"),
        Identity("since", lambda: delta / 4 + delta / 4, delta / 2),
        Quoted("the blocks of the phases are disjoint", "Z01"),
        Cited("the two algorithms draw fresh noise, so that their budgets add up", "basic composition"),
        Identity("epsilon", lambda: epsilon / 2 + epsilon / 2, epsilon),
        Identity("and delta", lambda: delta / 2 + delta / 2, delta),
        # Take noise for nbar = n/K records in a block that has m = floor(n/K), at most 4/3 fewer, and mu_k = 2^k
        # mu.
        *ROUNDED,
        Cited(
            "mu_k |dx|^2 + mu |dy|^2 <= (2 L/m) |(dx, dy)| for the saddle points of neighbouring blocks of m records",
            "strong monotonicity of the field; f jointly L-Lipschitz",
        ),
        Identity(
            "so that (mu_k - mu) |dx|^2 is at most energy^2/(4 mu), energy = 2 L/m: what is left is a square",
            lambda: energy**2 / (4 * mu) - (energy * size - mu * size**2),
            mu * (size - energy / (2 * mu)) ** 2,
        ),
        Inequality("mu_k/(mu_k - mu) = 2^k/(2^k - 1) <= 2", two / (two - 1), 2, over(two >= 2)),
        Below(
            "in units of L/(nbar sqrt(mu_k mu)): sqrt 2 nbar/m and two solver errors are within 4",
            sqrt(2) * Rational(4, 3) + 2,
            4,
        ),
        readings={
            "nbar the number of records in a block": "proved",
            "nbar = n/K, and floor(n/K) records in a block, K = floor(log2 n)": "proved",
        },
        note="Each phase sees its block and the earlier released point only; the two algorithms draw fresh noise.",
        method=(Method.PRIVACY_CURVE, Method.PROVER),
    )


# mu_K = mu power, power = 2^K
POWER = over(L, D, mu, n, power >= 1)
LEAST = mu * D * sqrt(n) >= 2 * L
WHOLE = over(POWER, LEAST, sqrt(power) >= sqrt(n))
HALF = over(POWER, LEAST, sqrt(2) * sqrt(power) >= sqrt(n))
LAST = L**2 / sqrt(mu * power * mu)  # L^2/sqrt(mu_K mu)
MIDDLE = Rational(17, 2) * L * D


def _at(records: int, count: Any) -> dict[Any, Any]:
    """Return L = D = 1, the least mu there is, and 2^count."""
    return {L: 1, D: 1, mu: 2 / sqrt(Integer(records)), power: Integer(2) ** count}


@claim("Z36", Kind.CONSTANT, location="equation (26)", first=17 * LAST, second=MIDDLE, share=SHARE, mean_gap=MEAN_GAP)
def last() -> Decision:
    """For {mean_gap} the last step costs at most {first}, and that {second}, each times {share}, where power is 2^K."""
    records, count = conditions.RECORDS, conditions.COUNT
    root = sqrt(LOG.subs(delta, conditions.DELTA))
    unit = d * LOG / (mu_k * mu * nbar**2 * epsilon**2)
    solver = delta * L**2 / (8 * mu_k * mu * nbar**2)
    return conditional(
        Cited("F is L-Lipschitz; Jensen", "definition"),
        Quoted("(24) at k = K", "Z35"),
        # 17 for the root of 257 serves for K = log2 n or rounded up.
        Inequality(
            "the root of 257 is below 17",
            sqrt(257) * LAST * SHARE,
            c * LAST * SHARE,
            over(L, mu, power >= 1, d, nbar >= 1, epsilon <= 1, delta <= 1),
            (c, 17),
        ),
        Inequality("2^K >= n, that is K = log2 n or rounded up: 17 L^2/sqrt(mu_K mu)", 17 * LAST, MIDDLE, WHOLE),
        Counterexample(
            "rounded down, n = 1000, K = 9: the root of 257 in place of 17 is too much already",
            sqrt(257) * LAST <= MIDDLE,
            _at(1000, floor(log(Integer(1000)) / log(Integer(2)))),
        ),
        Counterexample(
            "natural logarithm, rounded up, n = 1000, K = 7",
            sqrt(257) * LAST <= MIDDLE,
            _at(1000, ceiling(log(Integer(1000)))),
        ),
        Inequality("rounded down, 2^K > n/2", sqrt(257) * LAST, c * L * D, HALF, (c, 17 * sqrt(2) / 2)),
        # The root of 129, by independent noise, serves rounded down too.
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
        *conditions.convex_concave(Rational(17, 2) * root * count / (records * conditions.EPSILON)),
        readings={
            "K = log2 n, or rounded up": "conditional",
            "K = floor(log2 n), by 17 L^2/sqrt(mu_K mu)": "refuted",
            "K = floor(log2 n), 17 sqrt 2/2 in place of 17/2": "conditional",
            "K = floor(log2 n), 17/2, by E|x~_K - x_K^|^2 of the independent noise": "conditional",
            "K = log n, natural, by 17 L^2/sqrt(mu_K mu)": "refuted",
            **conditions.readings(conditions.LIPSCHITZ, "conditional"),
        },
        differs="base of a logarithm",
        condition=f"{conditions.PROJECTED}; and K is log2 n, rounded up, or down with 17 sqrt 2/2 for 17/2",
        note="mu >= 2 L/(D sqrt n) is used with equality, so that mu_K = mu 2^K must reach mu n.",
    )


SUM = over(b, p <= 1, phases >= 1, L, D)
REGULARISER = L / D * Max(2 * p, 13 * phases * b)
LOW = Max(2 * p, 13 * bits * b)
CONDITION = f"{conditions.PROJECTED}; and K, mu and the bound have the logarithm to base 2, rounded down or not"
RISK = 8 * L * D * phases**2 * (p + 5 * b)
GAP = 16 * L * D * phases**2 * (p + 5 * b)


def _sum(count: Any, share: Any, small: Any, mu_: Any, power_: Any) -> Any:
    """Return the right side of (27) for L = D = 1, n/nbar = K, with sqrt 257 L^2/sqrt(mu_K mu) for the last step."""
    return (
        sqrt(257) * count * share / (mu_ * sqrt(power_))
        + 257 * (count - 1) * count**2 * share**2 / mu_
        + 8 * count**2 * small**2 / mu_
        + Rational(3, 2) * mu_
    )


def _natural(count: Any) -> Counterexample:
    """Give n =  10^30 and 13 log(n) b = 2 p, so that mu = 2 p."""
    small = 1 / Integer(10) ** 15
    share = 2 * small / (13 * log(Integer(10) ** 30))
    derived, allowed = symbols("derived allowed", positive=True)
    return Counterexample(
        f"natural logarithms, n = 10^30, K = {count}: the sum of the terms against the printed bound",
        derived <= allowed,
        {
            derived: _sum(count, share, small, 2 * small, Integer(2) ** count),
            allowed: 8 * count**2 * (small + 5 * share),
        },
    )


FINAL: tuple[Step, ...] = (
    *(_natural(round_(log(Integer(10) ** 30))) for round_ in (floor, ceiling)),
    *rounded(
        "K = floor(log2 n), log2 in mu and in the bound, 17 sqrt 2/2 for 17/2",
        lambda ratio: (
            17 * sqrt(2) / 2 * ratio * b
            + 257 * (bits - 1) * ratio**2 * b**2 / LOW
            + 8 * bits * ratio * p**2 / LOW
            + Rational(3, 2) * LOW
        ),
        8 * bits**2 * (p + c * b),
        (c, 5),
    ),
)

READINGS: dict[str, Verdict] = {
    "K = log2 n without rounding, log2 in mu and in the bound": "conditional",
    "K = floor(log2 n), log2 in mu and in the bound, n/K or floor(n/K) records in a block": "conditional",
    "the proof's terms, natural logarithms throughout": "refuted",
    **conditions.readings(conditions.LIPSCHITZ, "conditional"),
}


@claim("Z37", Kind.CONSTANT, location="equation (27) and Theorem 4.5", **printed(NOISE))
@carries("zhang2022.theorem_4_5", {"mu": REGULARISER}, sums(log(5 / delta)))
def final() -> Decision:
    """max_y E F(x~_K, y) - E F(x*, y_1^) is at most {RISK} with mu = {REGULARISER}, where phases is {count}, p is {p}
    and b is {b}, for {MEAN_GAP}.
    """
    middle = 4 * L * D * phases**2 * (p + c * b)
    terms = (
        MIDDLE * phases * b
        + 257 * (phases - 1) * phases**2 * L**2 * b**2 / REGULARISER
        + 8 * L**2 * phases**2 * p**2 / REGULARISER
    )
    return conditional(
        Quoted("the last step", "Z36"),
        Quoted("8 L^2/(mu nbar) a phase", "Z34"),
        Quoted("(24) at k - 1", "Z35"),
        *letters(LOG),
        Identity(
            "257 mu_k/(2 mu_{k-1}) in each of K - 1 phases", lambda: 257 * (mu * 2**k) / (2 * mu * 2 ** (k - 1)), 257
        ),
        Cited("the sum of |y_{k+1}|^2 - |y_k|^2 telescopes, and |y_1| >= 0", "telescoping"),
        Inequality("K = log2 n: the first three terms are within half of the bound", terms, middle, SUM, (c, 5)),
        Identity(
            "the regularisers, (mu/2) (2 D^2 + D^2)",
            lambda: REGULARISER / 2 * (2 * D**2 + D**2),
            Rational(3, 2) * L * D * Max(2 * p, 13 * phases * b),
        ),
        Inequality(
            "which are within the other half", Rational(3, 2) * REGULARISER * D**2, RISK - middle.subs(c, 5), SUM
        ),
        Identity("the two halves", lambda: middle.subs(c, 5) + middle.subs(c, 5), RISK),
        *FINAL,
        *conditions.convex_concave(BOUND / 2),
        readings=READINGS,
        differs="base of a logarithm",
        condition=CONDITION,
        note="The paper writes log n throughout and uses mu_K = mu n, which is base 2. With natural logarithms mu_K "
        "is mu n^0.69, and the last step outgrows the bound.",
    )


@claim("Z38", Kind.UTILITY, location="equations (28) and (31)", **printed(NOISE))
@carries("zhang2022.theorem_4_5", {"bound": GAP}, sums(log(5 / delta)))
@carries("zhang2022.theorem_4_5", rates(2))
def gap() -> Decision:
    """The weak gap of (x~_K, y~_K) is at most {GAP}, where phases is {count}, p is {p} and b is {b}, for {MEAN_GAP}."""
    saddle = symbols("saddle")
    return conditional(
        Quoted("(27), and the same for Algorithm 5, which is Algorithm 4 for -f with x and y exchanged", "Z37"),
        Cited("F(x*, y_1^) <= F(x*, y*) <= F(x_1^, y*)", "saddle point of F"),
        Identity("(28) and (31) add up to twice the bound", lambda: (saddle + RISK) + (-saddle + RISK), GAP),
        *letters(LOG),
        *FINAL,
        *conditions.convex_concave(BOUND),
        readings=READINGS,
        differs="base of a logarithm",
        condition=CONDITION,
        note="Twice (27), under the condition of Z37. The maximum and minimum stand outside the expectation: the weak "
        "gap.",
    )
