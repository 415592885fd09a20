"""Lemma 7: the radius R of the ball that the two sequences leave.

Setting as in ``lemma_7``, which has the claims about the other parameters.

[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Appendix B.1.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Rational, Subs, log

from dpcheck.bounds.asymptotics import Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Below, Counterexample, Enumerated, Identity
from dpcheck.bounds.xu2026.lemma_7 import (
    LEFT,
    ORDER,
    PLACE,
    RADIUS,
    REPAIRED_THRESHOLD,
    RIGHT,
    THRESHOLD,
    C,
    L_Phi,
    R,
    X,
    alpha_h,
    eta_h,
    g,
    induction,
    q,
    r_0,
    rho_phi,
    steps_left,
)

FACTOR = Rational(3, 2) * eta_h * steps_left * rho_phi * R  # of |p|, from sum |Delta_i| <= t rho_Phi R


@claim("002:Lem7 R", Kind.SCHEDULE, location=PLACE + ", (25) and (26)", radius=RADIUS, left=LEFT, right=RIGHT)
def radius() -> Decision:
    """R = {radius} makes the proof's bound of |q_{{t+1}}|, {left} with q = t - m, at most half of
    |p_{{t+1}}|, {right}.
    """
    at = ((L_Phi, Integer(1)), (eta_h, Rational(1, 2)), (R, Integer(1)))
    return refuted(
        # Show that the printed R makes a factor 3/4 of the 1/2 that (26) allows.
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
            {L_Phi: Integer(1), eta_h: Rational(1, 2), R: Rational(3, 2)},
        ),
        # Show that the sum that (25) stands for exceeds every constant.
        Counterexample(
            "nor is the sum that (25) stands for, 3/2 eta_H t rho_Phi R with t = t_thres terms, at most 1/4: X = 10, "
            "L_Phi = rho_Phi = eta_H = 1, R = 1/2",
            FACTOR.subs(steps_left, THRESHOLD) <= Rational(1, 4),
            {L_Phi: Integer(1), rho_phi: Integer(1), eta_h: Integer(1), R: Rational(1, 2), X: Integer(10)},
        ),
        Exceeds(
            "with R = 1/(2 L_Phi eta_H) >= 1/2 and t of order 1/(eta_H alpha_H) it outgrows every constant",
            FACTOR.subs({R: RADIUS, steps_left: ORDER}),
            Integer(1),
            Region(L_Phi * eta_h <= 1, alpha_h <= 1),
            {alpha_h: 1 / s},
        ),
        Enumerated(
            "the recursion (21) with |Delta_i| = L_Phi R = 1/(4 eta_H) at its bound, eta_H g = 1/1000: |q|/|p| after "
            "two "
            "steps, above 1/2 for a quarter too",
            induction,
            (2, Fraction(1, 4), Fraction(1, 1000)),
            (Fraction(1251, 1001)) ** 2 - 1,
        ),
        Below("indeed", Rational(1, 2), Rational(1251, 1001) ** 2 - 1),
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
