r"""Lemma 7: two coupled sequences leave the ball around a strict saddle. The claims about t_thres and eta_H.

The claim about R is in ``lemma_7_radius``, those about the induction in ``lemma_7_induction``.

Let x_m be the anchor, H = grad^2 Phi(x_m) with least eigenvalue -g, g >= alpha_H = sqrt(rho_Phi alpha), and
w_t = x_t - x'_t, w_{m+1} = r_0 e_1 along that eigenvector. The escape steps x <- x - eta_H v give

    w_{t+1} = p_{t+1} - q_{t+1},  p_{t+1} = (1 + eta_H g)^{t-m} r_0 e_1,
    q_{t+1} = eta_H sum_{i=m+1..t} (I - eta_H H)^{t-i} (Delta_i w_i + nu_i),

and the proof [1, Lemma 7, (25) to (27)] needs, as long as |x_t - x_m|, |x'_t - x_m| < R,

    |q| <= |p|/2  throughout,   and  (1 + eta_H g)^{t_thres} r_0/2 >= 2 R  at the end.

Write X = L_Phi eta_H alpha_H/(C rho_Phi r_0), the largest r over r_0. In the paper

    eta_H <= r_0/(2 |v_t|) <= a^{-4/3} r_0/2,  R = 1/(2 L_Phi eta_H) = a^{4/3}/(L_Phi r_0),  t_thres = 2 log(X)/eta_H,

a = sqrt(d log(1/delta))/(n epsilon), and none of the three is enough. For eta_H <= 1/L_Phi these are:

    R = L_Phi eta_H alpha_H/(C rho_Phi),  t_thres = 2 log(4 X)/(eta_H alpha_H),  C >= 12 L_Phi eta_H log(4 X),

given estimators with |nu| <= g r_0/4: |Delta| <= rho_Phi R, so that the first half of q is at most
eta_H (3/2) t_thres rho_Phi R |p| <= |p|/4, and the second at most (|nu|/g) |p|/r_0 <= |p|/4.

[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Appendix B.1. Lemma 10
    repeats it for the population.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, Subs, log, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Identity, Inequality, over
from dpcheck.bounds.xu2026.error import ERROR, attained

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


@claim("002:t_thres", Kind.SCHEDULE, location="Lemmas 6 and 7, Appendix B.1", short=SHORT, order=ORDER)
def threshold() -> Decision:
    """t_thres = {short} is of the order {order} up to logarithms."""
    growth = (1 + eta_h * g) ** steps_left * r_0 / 2
    length = (steps_left, Integer(46))  # 2 log(10)/(1/10) = 46.05...
    return conditional(
        # Give a saddle on which the printed number of steps is too short.
        Counterexample(
            "on a saddle with g = alpha_H = 1/100 the sequences need not part by 2 R, R = 1/(2 L_Phi eta_H) = 5",
            2 * R <= growth,
            ((R, Integer(5)), length, *SADDLE),
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


@claim("002:Lem7 eta_H chain", Kind.SCHEDULE, location=PLACE, first=FIRST, second=SECOND, error=ERROR)
def step_size() -> Decision:
    """In the escape phase {first}, v the norm of v_t, is at most {second}, a = {error}, so that an eta_H below the
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
            ((v, Rational(1, 32)), eighth, (r_0, Integer(1))),
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
            "then the first part asks for |v_t| <= a^{4/3} and the second for >=: at |v_t| = 2 a^{4/3} = 1/8 the "
            "first fails",
            largest <= FIRST,
            ((v, Rational(1, 8)), eighth, (r_0, Integer(1))),
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
