"""The claims about Theorem 3.3 and the solver of Algorithm 1, setting in ``theorem_3_3``."""

from typing import Any

from sympy import Rational, exp, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, c, d, delta, ell, epsilon, kappa, mu, n
from dpcheck.bounds.zhang2022 import conditions
from dpcheck.bounds.zhang2022.lemmas import RISK, STABILITY
from dpcheck.bounds.zhang2022.phases import PRIVATE
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG, NOISE, SENSITIVITY

EMPIRICAL = c * L**2 * kappa * d * LOG / (mu * n**2 * epsilon**2)
SETTING = over(n, d, epsilon <= 1, delta <= 1, L, mu, kappa >= 1, delta <= 1 / n)

away = symbols("away", positive=True)
MULTIPLIER = NOISE / SENSITIVITY
SHARES = over(epsilon <= 1, delta <= 1)
ONE, FEW = epsilon <= 1, delta <= 1 / n  # the range of the proof
THIRTY_THREE = EMPIRICAL.subs(c, 33)
POPULATION = L**2 * kappa * (c / (mu * n) + 48 * d * LOG / (mu * n**2 * epsilon**2))
MOMENT = Quoted("E|A - x_S|^2 <= delta^2 L^2/(16 mu^2 n^2), from the mean gap of Remark 1", "Z10")
NOISE_SQUARE = Cited("E|N(0, sigma^2 I)|^2 = d sigma^2", "definition")
MEAN_GAP = "the solver has the mean gap of Remark 1"


def rare(says: str, share: Any, bound: Any) -> Counterexample:
    """Return a solver that is exact but for a chance of delta/4, with which it returns 1: f = x^2/2 on [-1, 1], n =
    10^5.

    ``share`` is what the failure adds to the quantity that ``bound`` bounds, at epsilon = d = mu = L = kappa = 1 and
    delta = 1/(2 n).
    """
    at = {n: 10**5, d: 1, kappa: 1, mu: 1, L: 1, epsilon: 1, delta: Rational(1, 2 * 10**5)}
    return Counterexample(
        f"the stopping rule alone: {says}; f = x^2/2 on [-1, 1], n = 10^5, a solver that returns 1 with chance delta/4 "
        "and else the minimiser 0",
        away <= bound.subs(at),
        {away: share * Rational(1, 4 * 2 * 10**5)},
    )


RULE = "the solver within L/(mu n) with probability 1 - delta/4, and nothing said of its mean"


@claim("Z05", Kind.SENSITIVITY, location="equation (6)", move=SENSITIVITY, rare=delta / 2)
def sensitivity() -> Decision:
    """Outputs of the solver on neighbouring datasets differ by at most {move} but for a probability of {rare}."""
    return proved(
        Quoted("the stability 2 L/(mu n) of the empirical minimiser", "Z02"),
        Cited("|A(S) - A(S')| <= |A(S) - x_S| + |x_S - x_S'| + |x_S' - A(S')|", "triangle inequality, union bound"),
        Identity("two solver errors and the stability", lambda: 2 * (L / (mu * n)) + STABILITY, SENSITIVITY),
        Identity("two runs, each failing with probability delta/4", lambda: delta / 4 + delta / 4, delta / 2),
        note="Lemma A.2 and the solver's guarantee, each run of which fails with probability delta/4.",
    )


@claim("Z06", Kind.CALIBRATION, location="Theorem 3.3", sigma=NOISE, small=ONE, move=SENSITIVITY, share=delta / 2)
@carries("zhang2022.theorem_3_3", {"sigma": 4 * L / (mu * n) * sqrt(2 * log(5 / (2 * delta))) / epsilon})
def calibration() -> Decision:
    """With sigma = {sigma} and {small}, a query of sensitivity {move} is (epsilon, {share})-DP."""
    return proved(
        Identity("the noise over the sensitivity", lambda: NOISE / SENSITIVITY, sqrt(2 * LOG) / epsilon),
        Private("the published noise is (epsilon, delta/2)-DP", MULTIPLIER, SHARES, epsilon, delta / 2),
        NotPrivate(
            "at epsilon = 10, delta = 1e-5, beyond what the paper assumes, it is not",
            MULTIPLIER.subs({epsilon: 10, delta: Rational(1, 10**5)}),
            10,
            Rational(1, 2 * 10**5),
        ),
        readings={"epsilon < 1, as the proof assumes": "proved", "any epsilon": "refuted"},
        note="For sensitivity 4 L/(mu n) it is (epsilon, delta/2)-DP in the paper's range epsilon < 1, and not for "
        "all larger epsilon.",
    )


@claim("Z07", Kind.ACCOUNTING, location="proof of Theorem 3.3", share=delta / 2)
def budget() -> Decision:
    """{share} of the Gaussian mechanism and {share} for the event that the sensitivity fails make
    (epsilon, delta)-DP.
    """
    # close: the chance, under S', of an output in O with both runs close; bad: the chance that one of them is not.
    close, bad = symbols("close bad", positive=True)
    return proved(
        Cited(
            "run A on S and on S' independently; given two close outputs a and a', P[a + noise in O] <= "
            "e^epsilon P[a' + noise in O] + delta/2, and otherwise P[a + noise in O] <= 1",
            "Gaussian mechanism for the two fixed outputs",
        ),
        Cited("P[M(S') in O] is at least its part with close outputs", "total probability"),
        Inequality(
            "averaged over the two outputs: e^epsilon close + delta/2, and bad <= delta/2 for the rest",
            exp(epsilon) * close + (1 - bad) * (delta / 2) + bad,
            exp(epsilon) * close + delta,
            over(epsilon, close <= 1, bad <= 1, delta <= 1, bad <= delta / 2),
        ),
        note="delta/2 for the Gaussian and delta/4 for a failure on each of the two datasets.",
    )


@claim("Z08", Kind.UTILITY, location="equation (7)", bound=THIRTY_THREE, small=ONE, few=FEW, mean_gap=MEAN_GAP)
def empirical() -> Decision:
    """The expected excess empirical risk is at most {bound}, where {mean_gap}, {small} and {few}."""
    noise = 32 * L**2 * kappa * d * LOG / (mu * n**2 * epsilon**2)
    return conditional(
        Cited(
            "|a + b|^2 <= 2|a|^2 + 2|b|^2; F_S is ell-smooth with its minimiser in the interior",
            "linear algebra; descent lemma",
        ),
        NOISE_SQUARE,
        MOMENT,
        Identity("ell d sigma^2 with ell = kappa mu", lambda: kappa * mu * d * NOISE**2, noise),
        Inequality("the sum is within the published bound", noise + kappa * mu * SOLVER, EMPIRICAL, SETTING, (c, 33)),
        *conditions.strongly_convex(THIRTY_THREE.subs({kappa: 1, L: 1})),
        rare(
            "half of the noise leads no nearer to 0, projected or not, so that a failure costs 1/4 at least",
            Rational(1, 4),
            THIRTY_THREE,
        ),
        readings={**conditions.readings(conditions.SMOOTH), RULE: "refuted"},
        condition=conditions.condition(conditions.SMOOTH),
        note="32 from the noise; the solver's error needs less than the 33rd.",
    )


@claim("Z09", Kind.UTILITY, location="Theorem 3.3", bound=POPULATION.subs(c, 7), small=ONE, few=FEW, mean_gap=MEAN_GAP)
@carries("zhang2022.theorem_3_3", {"bound": POPULATION.subs(c, 7)}, {kappa: ell / mu})
@carries(
    "zhang2022.theorem_3_3",
    {"rate statistical": ell * L**2 / (mu**2 * n), "rate privacy": ell * L**2 / mu**2 * PRIVATE},
)
def population() -> Decision:
    """The expected excess population risk is at most {bound}, where {mean_gap}, {small} and {few}."""
    terms = 3 * kappa * mu / 2 * (d * NOISE**2 + SOLVER + 4 * L**2 / (mu**2 * n))
    return conditional(
        Cited("|a + b + c|^2 <= 3 (|a|^2 + |b|^2 + |c|^2)", "linear algebra"),
        Quoted("E[F(x_S) - F(x*)] <= 2 L^2/(mu n)", "Z03"),
        Identity(
            "which bounds mu/2 E|x_S - x*|^2, so that E|x_S - x*|^2 is at most",
            lambda: 2 / mu * RISK,
            4 * L**2 / (mu**2 * n),
        ),
        Cited("F(x) - F(x*) <= ell |x - x*|^2/2 at the interior x*", "descent lemma"),
        NOISE_SQUARE,
        MOMENT,
        Inequality("the three terms are within the published bound", terms, POPULATION, SETTING, (c, 7)),
        *conditions.strongly_convex(POPULATION.subs({c: 7, kappa: 1, L: 1})),
        readings=conditions.readings(conditions.SMOOTH),
        condition=conditions.condition(conditions.SMOOTH),
        note="6 would nearly do for 7.",
    )


gamma, ell_1 = symbols("gamma ell_1", positive=True)  # ell_1 = log(n/delta)
GAMMA = delta**2 * L**2 / (32 * mu * n**2)
SOLVER = delta**2 * L**2 / (16 * mu**2 * n**2)  # E|A - x_S|^2
MARKOV = n * sqrt(2 * gamma * mu) / L


@claim("Z10", Kind.PROBABILITY, location="proof of Theorem 3.3, gradient complexity", share=delta / 4)
@carries("zhang2022.theorem_3_3", {"energy": (L / (mu * n)) ** 2 * mu})
def failure() -> Decision:
    """The probability that |A - x_S| is at least L/(mu n) is at most {MARKOV} for a mean gap of gamma. For gamma =
    {GAMMA} that is {share}, and E|A - x_S|^2 is at most {SOLVER}.
    """
    return proved(
        Cited("E|A - x_S| <= sqrt(2 gamma/mu) for A in X", "strong convexity at the minimiser; Jensen"),
        Identity("Markov's bound", lambda: sqrt(2 * gamma / mu) / (L / (mu * n)), MARKOV),
        Identity("at the published gamma it is delta/4", lambda: n * sqrt(2 * GAMMA * mu) / L, delta / 4),
        Identity("and E|A - x_S|^2 <= 2 gamma/mu", lambda: 2 * GAMMA / mu, SOLVER),
        note="All three follow from gamma.",
    )


@claim("Z11", Kind.COMPLEXITY, location="Theorem 3.3", logarithm=conditions.LOG)
def complexity() -> Decision:
    """The solver takes of the order of T(n, kappa) times {logarithm} gradients."""
    problem = symbols("problem", positive=True)  # log of 32 mu/L^2, when that is above one
    region = Region(ell_1 >= 1, problem >= 1)
    return conditional(
        Identity(
            "log(1/gamma) = 2 log(n/delta) + log(32 mu/L^2)",
            lambda: log(1 / GAMMA),
            2 * log(n / delta) + log(32 * mu / L**2),
        ),
        Exceeds("with mu/L^2 growing and n/delta fixed", ell_1 + problem, ell_1, region, {problem: s}),
        Dominated(
            "with mu/L^2 at most a power of n/delta", ell_1 + problem, ell_1, Region(ell_1 >= 1, problem <= ell_1)
        ),
        *conditions.STRONGLY_CONVEX,
        readings={
            conditions.RELATIVE: "proved",
            "O(T log(1/gamma)) as printed, mu and L constants of the O": "proved",
            "O(T log(1/gamma)) as printed and no better, uniformly in mu and L": "refuted",
        },
        condition=f"{conditions.RELATIVE}, or log(mu/L^2) is at most a constant times log(n/delta)",
        note="log(1/gamma) has the scale of F in it: log(32 mu/L^2) beside 2 log(n/delta). The published rates have "
        "the first gap over gamma, which is at most 64 n^2/delta^2.",
        method=(Method.EXPONENTS, Method.PROVER),
    )
