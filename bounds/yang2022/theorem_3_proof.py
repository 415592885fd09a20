r"""The proof of Theorem 3: the factors, the step sizes and the constants of the last bound.

Setting and steps as in ``theorem_3``; eta and theta are eta_w and eta_v, X = L + L^2/rho, and M the maximum in
eta_v. N_w, N_v are B^2/m + d sigma^2.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Theorem 8, Appendix D.1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Integer, Min, Rational, cancel, log, oo, symbols

from dpcheck.bounds.claim import Claim, Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Domain, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.judge import judge
from dpcheck.bounds.statement import stated
from dpcheck.bounds.symbols import L, T, kappa, mu, rho, t
from dpcheck.bounds.symbols import eta_v as theta
from dpcheck.bounds.symbols import eta_w as eta
from dpcheck.bounds.yang2022.lemmas_9_to_11 import K_1, K_2, N_v, N_w, X, lam, young
from dpcheck.bounds.yang2022.pl_steps import primal_error
from dpcheck.bounds.yang2022.theorem_3 import RATIO, STEPS
from dpcheck.bounds.yang2022.theorem_4 import GROWTH_READING

M, x, terms, excess = symbols("M x terms excess", positive=True)
SLOPE = 1 / (L + L**2 / rho)
# What the proof chooses: lambda_t, Young's constant at x = rho eta_v, and the squares of its two ratios, L = kappa rho.
CHOSEN = 4 * L**2 * eta / (rho * theta)
YOUNG = x / (2 * (1 - x))
FIRST, SECOND = 64 * kappa**4 * X * eta**2 <= mu * theta**2, 32 * kappa**4 * eta**2 <= theta**2
FACTOR_1, FACTOR_2 = 1 - mu * eta / 2, 1 - rho * theta / 4
# The noise of v as (20) prints it, and what it says of the sums.
DUAL_NOISE = 16 * L**2 * M / (2 * mu**2 * rho * t ** Rational(2, 3))
ROOT_SUM, LOG_SUM = T ** Rational(1, 3), log(T)
# The right side of (20) in terms of M = RATIO.
LAST_ITERATE = (
    2 * (L + L**2 / rho) * N_w / mu**2 * log(T) / T
    + 32 * N_w * L**4 / rho**3 / M**2 / (mu * rho) / T ** Rational(2, 3)
    + 16 * N_v * L**2 * M / (2 * mu**2 * rho) / T ** Rational(2, 3)
)


def powers(count: int, power: int) -> Fraction:
    """Return a lower bound of sum t^{-2/3} (power 2) or the sum 1/t (power 3), t = 1, ..., count, in thousandths."""
    if power == 3:
        return sum((Fraction(1, k) for k in range(1, count + 1)), Fraction(0))
    # floor(1000 t^{-2/3})/1000 by integer cube roots
    total = Fraction(0)
    for k in range(1, count + 1):
        step = 0
        while (step + 1) ** 3 * k**2 <= 1000**3:
            step += 1
        total += Fraction(step, 1000)
    return total


def _at(factor: Any) -> Any:
    """Return k_1 or k_2 at the proof's e and lambda_t, with L = kappa rho; the pole of e at rho eta_v = 1 cancels."""
    return cancel(factor.subs({young: YOUNG, lam: CHOSEN}).subs(x, rho * theta).subs(L, kappa * rho))


POSITIVE = {kappa: (1, oo), **dict.fromkeys((X, mu, rho, theta, eta), (0, oo))}
OVER = Domain(POSITIVE, where=(FIRST, SECOND, rho * theta <= 1))
CONSTANTS = (
    Identity("(1 + e)(1 - x) at e = x/(2 (1 - x)), x = rho eta_v", lambda: (1 + YOUNG) * (1 - x), 1 - x / 2),
    Identity("and 1 + 1/e", lambda: 1 + 1 / YOUNG, 2 / x - 1),
    Inequality("so that 1 + 1/e <= 2/(rho eta_v)", 2 / x - 1, 2 / x, over(x <= 1)),
    Identity(
        "lambda_t, at which L^2 eta_w/(2 lambda_t) = rho eta_v/8", CHOSEN, lambda: L**2 * eta / (2 * rho * theta / 8)
    ),
    Inequality("k_1 at the exact e", _at(K_1), FACTOR_1, OVER),
    Inequality("k_2 at the exact e", _at(K_2), FACTOR_2, OVER),
    Identity(
        "what is left of it: both terms are at least 0 under the second condition",
        FACTOR_2 - _at(K_2),
        lambda: rho / (8 * theta) * (theta**2 - 32 * kappa**4 * eta**2) + 2 * kappa**4 * rho**2 * eta**2,
    ),
    Inequality(
        "rho eta_v/4 is at least mu eta_w/2, for mu <= L: the common factor of the recursion",
        mu * eta / 2,
        rho * theta / 4,
        Domain(POSITIVE, where=(SECOND, mu <= kappa * rho)),
    ),
    Inequality(
        "min{mu/2, L^2} is at most mu/2, so that the factor in between, 1 - min{mu/2, L^2} eta_w, is the weaker one",
        Min(mu / 2, L**2),
        mu / 2,
        over(mu, L),
    ),
)


@claim(
    "Y32",
    Kind.ASSUMPTION,
    location="proof of Theorem 8",
    primal=STEPS[0][1],
    slope=SLOPE,
    dual=STEPS[1][1],
    curvature=1 / L,
)
def first_step() -> Decision:
    """eta_w = {primal} is at most {slope} and eta_v = {dual} at most {curvature}, from t = 1 on."""
    wall = {L: 10, rho: 10, mu: 200, kappa: 1, t: 1}
    return refuted(
        Quoted("mu |w - w'|^2/2 <= h - min h, w' the nearest minimiser", "Y36", GROWTH_READING, "W = R^{d1} here"),
        Cited(
            "so on W = R^{d1} a mu-PL, L-smooth function has mu <= L: h - min h <= |grad h|^2/(2 mu) and "
            "|grad h| <= L |w - w'|",
            "PL; smoothness, grad h = 0 at w'",
        ),
        Inequality("then 2/mu exceeds 1/(L + L^2/rho)", SLOPE, 2 / mu, over(L, rho, mu, mu <= L)),
        Counterexample(
            "f = w^2/2 - v^2/2 has L = rho = mu = 1: 2 against 1/2", STEPS[0][1] <= SLOPE, {L: 1, rho: 1, mu: 1, t: 1}
        ),
        Counterexample("and eta_v there: 2 M/mu against 1/L", STEPS[1][1] <= 1 / L, {L: 1, kappa: 1, mu: 1, t: 1}),
        Inequality(
            "from t >= 2 (L + L^2/rho)/mu on the first condition holds",
            2 / (mu * x),
            SLOPE,
            over(L, rho, mu, x, x * mu >= 2 * (L + L**2 / rho)),
        ),
        Below(
            "on W = [0, 1] mu may be above L: F = 400 w - 5 v^2, L = rho = 10, mu = 200 = 2 L^2, meets the first",
            STEPS[0][1].subs(wall),
            SLOPE.subs(wall),
        ),
        Below("and the second", STEPS[1][1].subs(wall), (1 / L).subs(wall)),
        readings={"W = R^{d1}, where mu <= L": "refuted"},
        repaired="eta_w = 2/(mu (t + t_0)), eta_v likewise, with t_0 of order max{X/mu, (M L/mu)^{3/2}}: the same "
        "order in T, with the start's excess times t_0/T added",
        note="At t = 1 the first condition fails for every L, rho and mu <= L, as W = R^{d1} has it, and the second "
        "where M L > mu/2. On a W that w is projected on both can hold, but there Lemma 9 fails (Y28).",
    )


@claim(
    "Y33",
    Kind.CONSTANT,
    location="equation (20)",
    noise=DUAL_NOISE,
    power=t ** Rational(-2, 3),
    root=ROOT_SUM,
    logarithm=LOG_SUM,
)
def sums() -> Decision:
    """Times t the noise of v enters with {noise}, M the maximum in eta_v, and the sums of {power} and 1/t to T are at
    most {root} and {logarithm}.
    """
    exact = DUAL_NOISE * (2 - x) / (1 - x)
    one = {L: 1, mu: 1, rho: 1, M: 1, t: 1, x: 0}
    return refuted(
        Identity(
            "the noise of v, lambda (1 + e) eta_v^2 times t, at lambda = 4 L^2 eta_w/(rho eta_v), eta_w = 2/(mu t), "
            "eta_v = 2 M/(mu t^{2/3}), e = x/(2 (1 - x)), x = rho eta_v",
            (CHOSEN * (1 + YOUNG) * theta**2 * t)
            .subs(eta, 2 / (mu * t))
            .subs(theta, 2 * M / (mu * t ** Rational(2, 3))),
            exact,
        ),
        Counterexample("even at x -> 0 that is 16, not 16/2", exact <= DUAL_NOISE, tuple(one.items())),
        Enumerated("sum t^{-2/3} to 8 is at least", powers, (8, 2), Fraction(3671, 1000)),
        Counterexample("which exceeds 8^{1/3} = 2", terms <= ROOT_SUM, {terms: Rational(3671, 1000), T: 8}),
        Enumerated("sum 1/t to 2", powers, (2, 3), Fraction(3, 2)),
        Counterexample("which exceeds log 2", terms <= LOG_SUM, {terms: Rational(3, 2), T: Integer(2)}),
        Enumerated(
            "(20) itself: F = w^2/2 - v^2/2, no noise, from w = 1, v = 0 the step 2/mu = 2 leaves the excess",
            primal_error,
            (0, 1, 0, 1, 0, 1, 0, 2, 0),
            Fraction(1, 2),
        ),
        Counterexample(
            "while the right side of (20) is 0 at T = 1",
            excess <= LAST_ITERATE,
            {excess: Rational(1, 2), L: 1, rho: 1, mu: 1, M: RATIO.subs({kappa: 1, L: 1, mu: 1}), N_w: 0, N_v: 0, T: 1},
        ),
        Cited("sum t^{-2/3} <= 3 T^{1/3} and sum 1/t <= 1 + log T", "integrals"),
        repaired="16 (2 - x)/(2 (1 - x)) in place of 16/2, x = rho eta_v, 3 T^{1/3} and 1 + log T for the sums, and "
        "the later start of Y32 with the start's excess. The orders of Theorem 3 are not affected",
        note="The explicit constants are too small by factors 2 and up to 3, and the recursion is not valid at t = 1.",
        method=(Method.ALGEBRA, Method.ENUMERATION),
    )


printed_constants = Claim(
    "Y31",
    "yang2022",
    Kind.CONSTANT,
    stated(
        "With the proof's e, lambda_t = {chosen} and steps such that {first} and {second}, the squares of the "
        "printed ratios with X = L + L^2/rho, k_1 is at most {one} and k_2 at most {two}.",
        chosen=CHOSEN,
        first=FIRST,
        second=SECOND,
        one=FACTOR_1,
        two=FACTOR_2,
    ),
    "proof of Theorem 8",
    judge(
        *CONSTANTS,
        note="The two squares of the ratio are just what k_1 and k_2 need. The proof's e needs rho eta_v < 1; at rho "
        "eta_v = 1 any e >= 1 does the same.",
    ),
)
