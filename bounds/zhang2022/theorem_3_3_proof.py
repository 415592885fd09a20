r"""The claims about the proof of Theorem 3.3. Setting and reference as in ``theorem_3_3``."""

from __future__ import annotations

from typing import Any

from sympy import Rational, exp, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate, Private
from dpcheck.bounds.claim import Decision, Kind, Verdict, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, c, d, delta, epsilon, kappa, mu, n
from dpcheck.bounds.zhang2022 import outside
from dpcheck.bounds.zhang2022.lemma_a import RISK, STABILITY
from dpcheck.bounds.zhang2022.theorem_3_3 import EMPIRICAL, LOG, NOISE, SENSITIVITY, SETTING
from dpcheck.bounds.zhang2022.theorem_3_3_solver import SOLVER

away = symbols("away", positive=True)
MULTIPLIER = NOISE / SENSITIVITY
SHARES = over(epsilon <= 1, delta <= 1)
ONE, FEW = epsilon <= 1, delta <= 1 / n  # the range of the proof
THIRTY_THREE = EMPIRICAL.subs(c, 33)
POPULATION = L**2 * kappa * (c / (mu * n) + 48 * d * LOG / (mu * n**2 * epsilon**2))
INSTANCE = {n: outside.TEN, d: 1, kappa: 1, mu: 1, L: 1, epsilon: outside.EPSILON, delta: outside.DELTA}
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


RULE: tuple[str, Verdict] = (
    "the solver within L/(mu n) with probability 1 - delta/4, and nothing said of its mean",
    "refuted",
)


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
        *outside.strongly_convex(THIRTY_THREE.subs(INSTANCE)),
        rare(
            "half of the noise leads no nearer to 0, projected or not, so that a failure costs 1/4 at least",
            Rational(1, 4),
            THIRTY_THREE,
        ),
        readings={**dict(outside.readings(outside.SMOOTH)), **dict([RULE])},
        condition=outside.condition(outside.SMOOTH),
        note="32 from the noise; the solver's error needs less than the 33rd.",
    )


@claim("Z09", Kind.UTILITY, location="Theorem 3.3", bound=POPULATION.subs(c, 7), small=ONE, few=FEW, mean_gap=MEAN_GAP)
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
        *outside.strongly_convex(POPULATION.subs({c: 7} | INSTANCE)),
        readings=dict(outside.readings(outside.SMOOTH)),
        condition=outside.condition(outside.SMOOTH),
        note="6 would nearly do for 7.",
    )
