"""The claims about Theorems 3 and 8, setting in ``theorem_3``.

eta and theta are eta_w and eta_v, X = L + L^2/rho, and N_w, N_v are B^2/m + d sigma^2.
"""

from fractions import Fraction

from sympy import Integer, Max, Min, Rational, cancel, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, refuted
from dpcheck.bounds.evidence import Below, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.judge import judged
from dpcheck.bounds.symbols import L, T, d, kappa, m, mu, rho, sigma_v, sigma_w, t
from dpcheck.bounds.symbols import eta_v as theta
from dpcheck.bounds.symbols import eta_w as eta
from dpcheck.bounds.yang2022.lemmas_7_to_11 import K_1, K_2, RECURSION, clipped, primal_error
from dpcheck.bounds.yang2022.theorem_3 import DUAL, ORDER, PRIMAL, RATE, RATIO
from dpcheck.bounds.yang2022.theorem_4_proof import GROWTH_READING

x, M, terms, excess, N_v, N_w, X, lam, young = symbols("x M terms excess N_v N_w X lambda e", positive=True)


def stuck_excess(steps: int) -> Fraction:
    """Return R_S - min R_S of F = u^2/2 - v^2/2, u = y + 2 + x/2 - x^2, |x| <= 1, 0 <= y <= 1, from x = 1, y = v = 0.

    The steps are 2/(t + 10). min u = 1/2, at x = -1, y = 0.
    """
    x, y = Fraction(1), Fraction(0)
    for time in range(1, steps + 1):
        u, step = y + 2 + x / 2 - x * x, Fraction(2, time + 10)
        x, y = clipped(-1, x - step * u * (Fraction(1, 2) - 2 * x), 1), clipped(0, y - step * u, 1)
    return (y + 2 + x / 2 - x * x) ** 2 / 2 - Fraction(1, 8)


# The rate of Theorem 3 and the steps of Theorem 8, typed again from the paper.
FACTOR = kappa ** Rational(7, 2) / mu ** Rational(5, 2) * T ** Rational(-2, 3)
NOISY = {"rate noise in w": FACTOR * d * sigma_w**2, "rate noise in v": FACTOR * d * sigma_v**2}
MAXIMUM = Max(8 * kappa**2 * sqrt((L + L * kappa) / mu), 4 * sqrt(2) * kappa**2)
AGAIN = {"eta_w": 2 / (mu * t), "eta_v": MAXIMUM * 2 / (mu * t ** Rational(2, 3))}


@claim("Y34", Kind.ASSUMPTION, location="Theorem 3")
@carries("yang2022.theorem_3", {"rate variance": FACTOR / m, **NOISY})
def assumptions() -> Decision:
    """A1 and A2, with strong concavity and PL, suffice for Theorem 3."""
    return conditional(
        Cited(
            "the step sizes and the rate are stated with kappa = L/rho, and L is introduced in A3 alone",
            "Assumptions 1 to 3",
        ),
        Counterexample(
            "A1 and A2 give no L: f = |w| is 1-Lipschitz without variance, with slopes 1 and -1 at distance 2 h; "
            "at h = 10^-6 even L = 1000 is too small",
            Integer(2) <= L * 2 * x,
            {L: 1000, x: Rational(1, 10**6)},
        ),
        Enumerated(
            "nor is A3 enough where w is projected: F = u^2/2 - v^2/2, u = y + 2 + x/2 - x^2 >= 1/2, on |x| <= 1, "
            "0 <= y <= 1: grad u has a 1 in it, so that |grad F|^2/2 >= u^2/2 and mu = 1. From (1, 0), without "
            "noise or variance, 100 steps leave the excess",
            stuck_excess,
            (100,),
            1,
        ),
        Enumerated("as one step does: it is projected back to (1, 0)", stuck_excess, (1,), 1),
        Exceeds("no constant makes the rate stay above that as T grows", T**0, RATE, Region(T >= 1), {T: s}),
        Quoted("with A2, A3 and W = R^{d1} the recursion of Theorem 8 holds", "Y30", RECURSION),
        Quoted("and its factors", "Y31"),
        Dominated(
            "with the constants of (20) mended its three parts, in units of L and of T^{-2/3}, are of the printed "
            "order, M the maximum in eta_v, for mu <= L",
            (1 + kappa) / mu**2 + kappa**4 / (mu * M**2) + kappa * M / mu**2,
            ORDER,
            Region(kappa >= 1, mu <= 1, M >= kappa**2, M <= kappa ** Rational(5, 2) / sqrt(mu)),
        ),
        readings={
            "A1 and A2 alone: without smoothness L and kappa are undefined": "unresolved",
            "A2 and A3 on a W that w is projected on": "refuted",
            "A2 and A3, W = R^{d1}, and steps that start late enough": "conditional",
        },
        condition="f is smooth (A3), as Theorem 8 has it, W = R^{d1}, so that w is not projected (not stated in the "
        "paper), B_w and B_v bound standard deviations (Y24), and the steps start late enough, at t_0 (Y32), with the "
        "start's excess times t_0/T added to the bound",
        note="The smoothness that kappa = L/rho speaks of is not among the assumptions, nor is a W without walls. A1 "
        "is not used, and on W = R^{d1} only constants have it with PL (Y27).",
        method=Method.ARITHMETIC,
    )


SLOPE = 1 / (L + L**2 / rho)
# What the proof chooses: lambda_t, Young's constant at x = rho eta_v, and the squares of its two ratios, L = kappa rho.
CHOSEN = 4 * L**2 * eta / (rho * theta)
YOUNG = x / (2 * (1 - x))
FIRST, SECOND = 64 * kappa**4 * X * eta**2 <= mu * theta**2, 32 * kappa**4 * eta**2 <= theta**2
LEFT_1, LEFT_2 = 1 - mu * eta / 2, 1 - rho * theta / 4
# The noise of v as (20) prints it, and what it says of the sums.
DUAL_NOISE = 16 * L**2 * M / (2 * mu**2 * rho * t ** Rational(2, 3))
POWER, ROOT_SUM, LOG_SUM = t ** Rational(-2, 3), T ** Rational(1, 3), log(T)
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


@claim("Y32", Kind.ASSUMPTION, location="proof of Theorem 8", w=PRIMAL, slope=SLOPE, v=DUAL, most=1 / L)
@carries(("yang2022.theorem_3", "yang2022.theorem_5"), AGAIN)
def first_step() -> Decision:
    """eta_w = {w} is at most {slope} and eta_v = {v} at most {most}, from t = 1 on."""
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
            "f = w^2/2 - v^2/2 has L = rho = mu = 1: 2 against 1/2", PRIMAL <= SLOPE, {L: 1, rho: 1, mu: 1, t: 1}
        ),
        Counterexample("and eta_v there: 2 M/mu against 1/L", DUAL <= 1 / L, {L: 1, kappa: 1, mu: 1, t: 1}),
        Inequality(
            "from t >= 2 (L + L^2/rho)/mu on the first condition holds",
            2 / (mu * x),
            SLOPE,
            over(L, rho, mu, x, x * mu >= 2 * (L + L**2 / rho)),
        ),
        Below(
            "on W = [0, 1] mu may be above L: F = 400 w - 5 v^2, L = rho = 10, mu = 200 = 2 L^2, meets the first",
            PRIMAL.subs(wall),
            SLOPE.subs(wall),
        ),
        Below("and the second", DUAL.subs(wall), (1 / L).subs(wall)),
        readings={"W = R^{d1}, where mu <= L": "refuted"},
        repaired="eta_w = 2/(mu (t + t_0)), eta_v likewise, with t_0 of order max{X/mu, (M L/mu)^{3/2}}: the same "
        "order in T, with the start's excess times t_0/T added",
        note="At t = 1 the first condition fails for every L, rho and mu <= L, as W = R^{d1} has it, and the second "
        "where M L > mu/2. On a W that w is projected on both can hold, but there Lemma 9 fails (Y28).",
    )


@claim("Y33", Kind.CONSTANT, location="equation (20)", noise=DUAL_NOISE, power=POWER, root=ROOT_SUM, logarithm=LOG_SUM)
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
            (CHOSEN * (1 + YOUNG) * theta**2 * t).subs({eta: PRIMAL, theta: 2 * M / (mu * t ** Rational(2, 3))}),
            exact,
        ),
        Counterexample("even at x -> 0 that is 16, not 16/2", exact <= DUAL_NOISE, one),
        Enumerated("sum t^{-2/3} to 8 is at least", powers, (8, 2), Fraction(3671, 1000)),
        Counterexample("which exceeds 8^{1/3} = 2", terms <= ROOT_SUM, {terms: Rational(3671, 1000), T: 8}),
        Enumerated("sum 1/t to 2", powers, (2, 3), Fraction(3, 2)),
        Counterexample("which exceeds log 2", terms <= LOG_SUM, {terms: Rational(3, 2), T: 2}),
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


@claim("Y31", Kind.CONSTANT, location="proof of Theorem 8")
def printed_constants() -> Decision:
    """With the proof's e, lambda_t = {CHOSEN} and steps such that {FIRST} and {SECOND}, the squares of the printed
    ratios with X = L + L^2/rho, k_1 is at most {LEFT_1} and k_2 at most {LEFT_2}.
    """
    # k_1 and k_2 at the proof's e and lambda_t, with L = kappa rho; the pole of e at rho eta_v = 1 cancels.
    first, second = (
        cancel(factor.subs({young: YOUNG, lam: CHOSEN}).subs(x, rho * theta).subs(L, kappa * rho))
        for factor in (K_1, K_2)
    )
    positive = over(kappa >= 1, X, mu, rho, theta, eta)
    return judged(
        Identity("(1 + e)(1 - x) at e = x/(2 (1 - x)), x = rho eta_v", lambda: (1 + YOUNG) * (1 - x), 1 - x / 2),
        Identity("and 1 + 1/e", lambda: 1 + 1 / YOUNG, 2 / x - 1),
        Inequality("so that 1 + 1/e <= 2/(rho eta_v)", 2 / x - 1, 2 / x, over(x <= 1)),
        Identity(
            "lambda_t, at which L^2 eta_w/(2 lambda_t) = rho eta_v/8",
            CHOSEN,
            lambda: L**2 * eta / (2 * rho * theta / 8),
        ),
        Inequality("k_1 at the exact e", first, LEFT_1, over(positive, FIRST, SECOND, rho * theta <= 1)),
        Inequality("k_2 at the exact e", second, LEFT_2, over(positive, FIRST, SECOND, rho * theta <= 1)),
        Identity(
            "what is left of it: both terms are at least 0 under the second condition",
            LEFT_2 - second,
            lambda: rho / (8 * theta) * (theta**2 - 32 * kappa**4 * eta**2) + 2 * kappa**4 * rho**2 * eta**2,
        ),
        Inequality(
            "rho eta_v/4 is at least mu eta_w/2, for mu <= L: the common factor of the recursion",
            mu * eta / 2,
            rho * theta / 4,
            over(positive, SECOND, mu <= kappa * rho),
        ),
        Inequality(
            "min{mu/2, L^2} is at most mu/2, so that the factor in between, 1 - min{mu/2, L^2} eta_w, is the weaker "
            "one",
            Min(mu / 2, L**2),
            mu / 2,
            over(mu, L),
        ),
        note="The two squares of the ratio are just what k_1 and k_2 need. The proof's e needs rho eta_v < 1; at rho "
        "eta_v = 1 any e >= 1 does the same.",
    )
