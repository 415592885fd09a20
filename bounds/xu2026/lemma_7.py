r"""Lemma 7: two coupled sequences leave the ball around a strict saddle. Lemma 10 repeats it for the population.

Let x_m be the anchor, H = grad^2 Phi(x_m) with least eigenvalue -g, g >= alpha_H = sqrt(rho_Phi alpha), and
w_t = x_t - x'_t, w_{m+1} = r_0 e_1 along that eigenvector. The escape steps x <- x - eta_H v give

    w_{t+1} = p_{t+1} - q_{t+1},  p_{t+1} = (1 + eta_H g)^{t-m} r_0 e_1,
    q_{t+1} = eta_H sum_{i=m+1..t} (I - eta_H H)^{t-i} (Delta_i w_i + nu_i),

and the proof [1, Lemma 7, (25) to (27)] needs, as long as |x_t - x_m|, |x'_t - x_m| < R,

    |q| <= |p|/2  throughout,   and  (1 + eta_H g)^{t_thres} r_0/2 >= 2 R  at the end.

Write X = L_Phi eta_H alpha_H/(C rho_Phi r_0), the largest r over r_0, and a = sqrt(d log(1/delta))/(n epsilon). None of
the paper's eta_H <= r_0/(2 |v_t|) <= a^{-4/3} r_0/2, R = 1/(2 L_Phi eta_H) = a^{4/3}/(L_Phi r_0) and t_thres = 2
log(X)/eta_H is enough. For eta_H <= 1/L_Phi these are, given estimators with |nu| <= g r_0/4:

    R = L_Phi eta_H alpha_H/(C rho_Phi),  t_thres = 2 log(4 X)/(eta_H alpha_H),  C >= 12 L_Phi eta_H log(4 X).
"""

from fractions import Fraction

from sympy import Derivative, Integer, Rational, Subs, cos, log, sin, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import d
from dpcheck.bounds.xu2026.theorem_1_proof import ERROR, attained

eta_h, alpha_h, L_Phi, rho_phi, C, R, r_0, X, g, z = symbols("eta_H alpha_H L_Phi rho_Phi C R r_0 X g z", positive=True)
a, v, nu, p, q, steps_left, hessian, w = symbols("a v nu p q t Delta w", positive=True)
RATIO = L_Phi * eta_h * alpha_h / (C * rho_phi * r_0)  # X
THRESHOLD = 2 * log(X) / eta_h
SHORT, ORDER = THRESHOLD.subs(X, RATIO), 1 / (eta_h * alpha_h)  # as published, and the order beside it
FIRST, SECOND = r_0 / (2 * v), a ** Rational(-4, 3) * r_0 / 2  # the chain of eta_H
RADIUS = 1 / (2 * L_Phi * eta_h)
LEFT = (1 + eta_h * g) ** q * (eta_h * L_Phi * R + Rational(1, 4)) * r_0  # (25), t - m = q
RIGHT = (1 + eta_h * g) ** q * r_0 / 2  # (26)
REPAIRED_THRESHOLD = 2 * log(4 * X) / (eta_h * alpha_h)

# alpha_H = g = 1/100, eta_H = 1/10, L_Phi = rho_Phi = C = 1, d = 1, r = 1/1000, r_0 = r/10: X = 10, R = 5.
SADDLE = ((g, Rational(1, 100)), (eta_h, Rational(1, 10)), (r_0, Rational(1, 10**4)), (X, Integer(10)))


def induction(steps: int, share: Fraction, growth: Fraction) -> Fraction:
    """Return |q|/|p| after so many steps of (21) with nu = 0, eta_H Delta = -``share`` and eta_H g = ``growth``."""
    w, p = Fraction(1), Fraction(1)
    for _ in range(steps):
        w, p = w * (1 + growth) + share * w, p * (1 + growth)
    return (w - p) / p


PLACE = "Lemma 7, Appendix B.1"


@claim("002:t_thres", Kind.SCHEDULE, location="Lemmas 6 and 7, Appendix B.1")
def threshold() -> Decision:
    """t_thres = {SHORT} is of the order {ORDER} up to logarithms."""
    growth = (1 + eta_h * g) ** steps_left * r_0 / 2
    length = (steps_left, Integer(46))  # 2 log(10)/(1/10) = 46.05...
    return conditional(
        # Give a saddle on which the printed number of steps is too short.
        Counterexample(
            "on a saddle with g = alpha_H = 1/100 the sequences need not part by 2 R, R = 1/(2 L_Phi eta_H) = 5",
            2 * R <= growth,
            ((R, 5), length, *SADDLE),
        ),
        Counterexample(
            "nor by 2 R for R = L_Phi eta_H alpha_H/(C rho_Phi) = 1/1000",
            2 * R <= growth,
            ((R, Rational(1, 1000)), length, *SADDLE),
        ),
        Counterexample(
            "where t_thres, X being 10, is below 47",
            SHORT >= 47,
            ((alpha_h, Rational(1, 100)), *SADDLE[1:3], *((letter, Integer(1)) for letter in (L_Phi, rho_phi, C))),
        ),
        Dominated(
            "as an upper bound the order is right, up to log X, for alpha_H <= 1",
            1 / eta_h,
            ORDER,
            Region(alpha_h <= 1),
        ),
        Exceeds(
            "as an equation of orders it is not: 1/(eta_H alpha_H) outgrows 1/eta_H",
            ORDER,
            1 / eta_h,
            Region(alpha_h <= 1),
            {alpha_h: 1 / s},
        ),
        Inequality("log(1 + z) >= z/2 for z = eta_H g <= 1", z / 2, log(1 + z), over(z <= 1)),
        Identity(
            "with alpha_H in the denominator and 4 X the logarithm of the growth is at least, by g >= alpha_H,",
            Subs(eta_h * alpha_h * steps_left / 2, steps_left, REPAIRED_THRESHOLD),
            log(4 * X),
        ),
        readings={
            "2 log(X)/eta_H is at most of the order 1/(eta_H alpha_H), up to logarithms, for alpha_H <= 1": "proved",
            "2 log(X)/eta_H is of the order 1/(eta_H alpha_H) from both sides": "refuted",
            "2 log(X)/eta_H steps are enough for the growth that (27) needs": "refuted",
            "2 log(4 X)/(eta_H alpha_H) steps are, for eta_H g <= 1 and R = L_Phi eta_H alpha_H/(C rho_Phi)": "proved",
        },
        condition="alpha_H <= 1, and the order read as an upper bound; for the growth in (27) the value needs the "
        "factor 1/alpha_H of the order printed beside it, and 4 X for X",
        repaired="t_thres = 2 log(4 X)/(eta_H alpha_H) for eta_H alpha_H <= 1, of the order that is printed beside it",
        note="alpha_H is missing in the denominator of the value, not in the order beside it: in the printed t_thres "
        "steps a curvature g multiplies the distance by at most X^{2 g}, where 4 X is needed.",
        method=(Method.ARITHMETIC, Method.EXPONENTS, Method.PROVER),
    )


@claim("002:Lem7 eta_H chain", Kind.SCHEDULE, location=PLACE)
def step_size() -> Decision:
    """In the escape phase {FIRST}, v the norm of v_t, is at most {SECOND}, a = {ERROR}, so that an eta_H below the
    first is below the second.
    """
    eighth = (a, Rational(1, 8))
    largest = SECOND
    return refuted(
        Identity(
            "the chain's second part says |v_t| >= a^{4/3}: ratio of its sides",
            lambda: FIRST / SECOND,
            a ** Rational(4, 3) / v,
        ),
        Counterexample(
            "a = 1/8, |v_t| = 1/32, well inside the escape phase's |v| < alpha: 16 r_0 against 8 r_0",
            FIRST <= SECOND,
            ((v, Rational(1, 32)), eighth, (r_0, 1)),
        ),
        attained(Rational(1, 8), 32, 1, Rational(1, 2), 4),
        Below("there |v_t| is below alpha = a^{2/3}", Rational(1, 32), Rational(1, 8) ** Rational(2, 3)),
        AtMost(
            "what |v_t| <= alpha = v + k gives is a lower bound of r_0/(2 |v_t|)", r_0 / (2 * (v + w)), r_0 / (2 * v)
        ),
        Identity(
            "R's two printed forms agree only for eta_H = a^{-4/3} r_0/2",
            Subs(RADIUS, eta_h, largest),
            a ** Rational(4, 3) / (L_Phi * r_0),
        ),
        Counterexample(
            "then the first part asks for |v_t| <= a^{4/3} and the second for >=: at |v_t| = 2 a^{4/3} = 1/8 the first "
            "fails",
            largest <= FIRST,
            ((v, Rational(1, 8)), eighth, (r_0, 1)),
        ),
        readings={
            "both inequalities, for every v_t of the escape phase": "refuted",
            "the second inequality, for |v_t| >= a^{4/3} only": "proved",
            "with R's printed equality: |v_t| = a^{4/3} for all t": "refuted",
        },
        repaired="a fixed eta_H <= 1/L_Phi; the smallness of the nu terms must come from the estimators, not from "
        "eta_H",
        note="The escape phase is entered with |v| < alpha, and nothing keeps |v_t| above a^{4/3}; at a smaller v_t "
        "the second inequality flips. With R's printed equality the chain holds only for |v_t| = a^{4/3} throughout.",
        method=Method.ARITHMETIC,
    )


FACTOR = Rational(3, 2) * eta_h * steps_left * rho_phi * R  # of |p|, from sum |Delta_i| <= t rho_Phi R


@claim("002:Lem7 R", Kind.SCHEDULE, location=PLACE + ", (25) and (26)")
def radius() -> Decision:
    """R = {RADIUS} makes the proof's bound of |q_{{t+1}}|, {LEFT} with q = t - m, at most half of |p_{{t+1}}|,
    {RIGHT}.
    """
    at = ((L_Phi, Integer(1)), (eta_h, Rational(1, 2)), (R, Integer(1)))
    return refuted(
        # The printed R makes a factor 3/4 of the 1/2 that (26) allows.
        Identity(
            "with R = 1/(2 L_Phi eta_H), the factor of r_0 in (25) is 3/4",
            Subs(L_Phi * eta_h * R + Rational(1, 4), R, RADIUS),
            Rational(3, 4),
        ),
        Counterexample("(26) needs at most 1/2", L_Phi * eta_h * R + Rational(1, 4) <= Rational(1, 2), at),
        Counterexample(
            "so that at t = m + 1, g = 1 the bound is above", LEFT <= RIGHT, (*at, (g, 1), (r_0, 1), (q, 1))
        ),
        Counterexample(
            "the condition L_Phi eta_H R <= 3/4 of the text is not enough either: it allows a factor 1",
            L_Phi * eta_h * R + Rational(1, 4) <= Rational(1, 2),
            {L_Phi: 1, eta_h: Rational(1, 2), R: Rational(3, 2)},
        ),
        # The sum that (25) stands for exceeds every constant.
        Counterexample(
            "nor is the sum that (25) stands for, 3/2 eta_H t rho_Phi R with t = t_thres terms, at most 1/4: X = 10, "
            "L_Phi = rho_Phi = eta_H = 1, R = 1/2",
            FACTOR.subs(steps_left, THRESHOLD) <= Rational(1, 4),
            {L_Phi: 1, rho_phi: 1, eta_h: 1, R: Rational(1, 2), X: 10},
        ),
        Exceeds(
            "with R = 1/(2 L_Phi eta_H) >= 1/2 and t of order 1/(eta_H alpha_H) it outgrows every constant",
            FACTOR.subs({R: RADIUS, steps_left: ORDER}),
            1,
            Region(L_Phi * eta_h <= 1, alpha_h <= 1),
            {alpha_h: 1 / s},
        ),
        Enumerated(
            "the recursion (21) with |Delta_i| = L_Phi R = 1/(4 eta_H) at its bound, eta_H g = 1/1000: |q|/|p| after "
            "two steps, above 1/2 for a quarter too",
            induction,
            (2, Fraction(1, 4), Fraction(1, 1000)),
            (Fraction(1251, 1001)) ** 2 - 1,
        ),
        # Find the R that (26) allows, and the one with which the sum is within 1/4.
        Identity(
            "1/(4 L_Phi eta_H) is the largest R that (26) allows",
            Subs(L_Phi * eta_h * R + Rational(1, 4), R, RADIUS / 2),
            Rational(1, 2),
        ),
        Identity(
            "with the repaired R and t_thres and C = 12 L_Phi eta_H log(4 X) the first half is 1/4",
            Subs(
                FACTOR.subs({R: L_Phi * eta_h * alpha_h / (C * rho_phi), steps_left: REPAIRED_THRESHOLD}),
                C,
                12 * L_Phi * eta_h * log(4 * X),
            ),
            Rational(1, 4),
        ),
        readings={
            "R = 1/(2 L_Phi eta_H) gives (26)": "refuted",
            "R <= 1/(4 L_Phi eta_H) gives (26) from (25)": "proved",
        },
        repaired="R = L_Phi eta_H alpha_H/(C rho_Phi) with C >= 12 L_Phi eta_H log(4 X), another quantity; R <= 1/(4 "
        "L_Phi eta_H) mends (26) from (25), but not (25), which drops the number of terms of its sum",
        note="The printed R makes the induction |q| <= |p|/2 end at 3/4 |p|, and the sum that (25) stands for "
        "unbounded. Its second form a^{4/3}/(L_Phi r_0) is the first only where eta_H equals its bound.",
        method=Method.ALGEBRA,
    )


count = symbols("q", positive=True, integer=True)  # t - m
ALLOWED, CHANGE = a ** Rational(2, 3), L_Phi * R  # of |nu_i|, |Delta_i|
QUARTER = (1 + eta_h * g) ** count * r_0 / 4  # (25)


@claim("002:(25) Hessian", Kind.LEMMA, location=PLACE + ", after (26)")
def mean_hessian() -> Decision:
    """While both sequences stay within R of x_m, the mean Hessian between them differs from the Hessian at x_m by at
    most {CHANGE}, L_Phi the Lipschitz constant of grad Phi.
    """
    near, far = Rational(1, 4), Rational(7, 20)  # x'_t and x_t, both within R = 1/2 of x_m = 0
    average = (sin(10 * far) - sin(10 * near)) / (10 * (far - near))  # of cos(10 u) over [x', x]
    return refuted(
        Identity(
            "f = Phi(x) - y^2/2, Phi = cos(10 x)/100: L_Phi = 1, rho_Phi = 10, H = -1 at x_m = 0",
            Derivative(cos(10 * w) / 100, (w, 2)),
            -cos(10 * w),
        ),
        Identity(
            "its mean Hessian over an interval is the difference of -sin(10 x)/10 over the length",
            Derivative(sin(10 * w) / 10, w),
            cos(10 * w),
        ),
        Counterexample(
            "eta_H = 1, R = 1/(2 L_Phi eta_H) = 1/2, x'_t = 1/4, x_t = 7/20: Delta = 1.95 above L_Phi R",
            hessian <= CHANGE,
            {hessian: 1 - average, L_Phi: 1, R: Rational(1, 2)},
        ),
        Below("rho_Phi R = 5 does bound it", 1 - average, 5),
        Cited(
            "|grad^2 Phi(u) - H| <= rho_Phi |u - x_m| < rho_Phi R at every u between x'_t and x_t, and Delta averages "
            "it",
            "a ball is convex; definition of rho_Phi",
        ),
        AtMost("L_Phi R bounds it where rho_Phi <= L_Phi, that is L_Phi = rho_Phi + w", rho_phi * R, (rho_phi + w) * R),
        readings={
            "L_Phi the Lipschitz constant of grad Phi, as in Theorem 1": "refuted",
            "the Lipschitz constant rho_Phi of the Hessian in its place": "proved",
        },
        repaired="|Delta| <= rho_Phi R, which (26) cannot use: with the printed R = 1/(2 L_Phi eta_H) it is no small "
        "part of the growth (claim 002:Lem7 R)",
        note="The change of a Hessian is bounded by the Hessian's Lipschitz constant rho_Phi; L_Phi R has another "
        "unit. (25) also drops the number of terms of the sum and the factor 3/2.",
        method=(Method.ALGEBRA, Method.ARITHMETIC),
    )


@claim("002:(25) nu", Kind.STEP, location=PLACE + ", (25)", error=ERROR)
def noise_sum() -> Decision:
    """With |nu_i| <= {ALLOWED}, a = {error}, and the lemma's parameters, the sum of eta_H (1 + eta_H g)^(t-i) |nu_i|
    over i = m + 1, ..., t is at most {QUARTER}, q = t - m.
    """
    instance = ((eta_h, Rational(1, 2)), (g, Rational(1, 2)), (r_0, Rational(1, 16)), (nu, Rational(5, 32)))
    k = symbols("k", positive=True, integer=True)
    alpha, delta_2, C = symbols("alpha delta_2 C", positive=True)
    curve = sqrt(rho_phi * alpha)  # alpha_H
    largest = L_Phi * eta_h * curve / (C * rho_phi)  # r
    total = ((1 + z) ** k - 1) / z  # sum of (1 + z)^j, j < k
    return refuted(
        # Give an instance in which the first term of the sum is too large already.
        Counterexample(
            "already the first term, t = m + 1: 5/64 against 5/256", eta_h * nu <= QUARTER, (*instance, (count, 1))
        ),
        Counterexample(
            "its nu is one that |nu| <= a^{2/3}, a = 1/8, allows",
            nu >= ALLOWED,
            {nu: Rational(5, 32), a: Rational(1, 8)},
        ),
        attained(Rational(1, 8), 32, 1, Rational(1, 2), 4),
        Identity(
            "its eta_H is the printed one, a^{-4/3} r_0/2 = r_0/(2 |v|)",
            Subs(a ** Rational(-4, 3) * r_0 / 2, (a, r_0), (Rational(1, 8), Rational(1, 16))),
            Rational(1, 2),
        ),
        Identity(
            "and R the printed one: 1/(2 L_Phi eta_H) = a^{4/3}/(L_Phi r_0) = 1",
            Subs(a ** Rational(4, 3) / (L_Phi * r_0), (a, L_Phi, r_0), (Rational(1, 8), 1, Rational(1, 16))),
            1,
        ),
        Counterexample(
            "the conclusion |q| <= |p|/2 fails with it: both are 5/64, and the sequences meet",
            q <= p / 2,
            {q: Rational(5, 64), p: Rational(5, 64)},
        ),
        Identity(
            "the sequences meet: w - eta_H (v - v')",
            Subs(w - eta_h * z, (w, eta_h, z), (Rational(1, 16), Rational(1, 2), Rational(1, 8))),
            0,
        ),
        # Compute the whole geometric sum, and what it takes at |nu| = alpha.
        Identity("the geometric sum, one term more", total.subs(k, k + 1) - total, (1 + z) ** k),
        Identity(
            "so sum eta_H (1 + eta_H g)^j |nu| < (1 + eta_H g)^k |nu|/g, which is r_0/4 of it for",
            Subs(nu / g, nu, g * r_0 / 4),
            r_0 / 4,
        ),
        Identity(
            "at |nu| = alpha, g = alpha_H = sqrt(rho_Phi alpha), r_0 = delta_2 r/sqrt d and r at its bound the ratio "
            "of |nu|/g to r_0/4 is",
            lambda: (alpha / curve) / (delta_2 * largest / sqrt(d) / 4),
            4 * C * sqrt(d) / (delta_2 * L_Phi * eta_h),
        ),
        AtMost(
            "at least 4 for C = 1 + p, delta_2 = 1/(1 + q), L_Phi eta_H = 1/(1 + w), sqrt d = 1 + z: never at most 1",
            4,
            4 * (1 + p) * (1 + q) * (1 + w) * (1 + z),
        ),
        readings={
            "|nu| <= a^{2/3} with the printed eta_H, r_0 <= r and t_thres": "refuted",
            "|nu| <= g r_0/4": "proved",
        },
        repaired="it holds for |nu| <= g r_0/4, the curvature g at least alpha_H. With |nu| of order alpha that asks "
        "for r_0 >= 4 sqrt(alpha/rho_Phi), where r <= sqrt(alpha/rho_Phi)/C; estimators whose difference shrinks with "
        "|w| are needed",
        note="The whole sum is (|nu|/g) times the growth, whatever eta_H is, and |nu| <= a^{2/3} does not make that "
        "r_0/4: a = 1/8, alpha = 1/4, alpha_H = g = eta_H = 1/2, L_Phi = rho_Phi = C = 1, r_0 = 1/16 <= r = 1/4 meets "
        "every printed condition.",
        method=Method.ARITHMETIC,
    )
