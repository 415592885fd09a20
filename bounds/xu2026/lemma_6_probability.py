"""Lemma 6: with which probability an escape phase that is not broken certifies the curvature.

Setting as in ``lemma_6``, which has the claims about the proof.

[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Appendix B.1.
"""

from __future__ import annotations

from sympy import Derivative, Ge, Integer, Rational, Subs, log, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Identity, Quoted
from dpcheck.bounds.xu2026.lemma_6 import (
    PLACE,
    SADDLE,
    SURE,
    R,
    alpha,
    delta_1,
    delta_2,
    eta_h,
    g,
    radius,
    threshold,
    x,
)


@claim("002:Lem6 title", Kind.PROBABILITY, location=PLACE, sure=SURE)
def failure_probability() -> Decision:
    """Given Lemma 7 and the slab of its stuck starts, an escape phase that is not broken certifies lambda_min(grad^2
    Phi(x_m)) >= -alpha_H with probability at least {sure}.
    """
    only, other, both = symbols("only other both", positive=True)  # chances that one, the other, both bounds fail
    slope = (g / (2 * (1 + x**2))).diff(x)
    grown = (1 + eta_h * g) ** threshold
    # |x| grows at most by 1 + eta_H g in a step, since |slope| <= g |x|, and by eta_H alpha for an error of alpha.
    farthest = grown * (radius + threshold * eta_h * alpha)
    given = (*SADDLE, (alpha, Rational(1, 200) ** 2))  # alpha_H = sqrt(rho_Phi alpha)
    return conditional(
        # Compare the chances of failure that add up with the printed ones.
        Quoted("the slab has a chance of at most delta_2", "002:(10)(13)"),
        AtMost(
            "two bounds of chances p and q to fail: together at most p + q",
            only + other + both,
            (only + both) + (other + both),
        ),
        Counterexample(
            "with Lemma 7's 4 delta_1 and the slab's delta_2, exclusive failures allowed by both: 1/2 is left at "
            "delta_1 = delta_2 = 1/10, not 4/5",
            Ge(1 - 4 * delta_1 - delta_2, SURE, evaluate=False),
            {delta_1: Rational(1, 10), delta_2: Rational(1, 10)},
        ),
        Identity(
            "run with delta_1/4 the union bound gives", Subs(1 - 4 * delta_1 - delta_2, delta_1, delta_1 / 4), SURE
        ),
        # Give an instance that no step can bring out of the phase.
        Identity(
            "the lemma's other printed parameters, on Phi = g/(2 (1 + x^2)), a strict saddle at 0: Hessian",
            Subs(Derivative(slope, x), x, 0),
            -g,
        ),
        Identity("and slope: at most g |x|", Derivative(g / (2 * (1 + x**2)), x), -g * x / (1 + x**2) ** 2),
        Below("t_thres = 2 log(10)/eta_H is below 47", 20 * log(Integer(10)), Integer(47)),
        Counterexample(
            "to break the phase with Dbar = R^2/t_thres^2 some step must be at least R/t_thres; none is, for |v - grad "
            "Phi| <= alpha, wherever xi falls",
            eta_h * (g * farthest + alpha) >= R / threshold,
            given,
        ),
        readings={
            "failure probability: 4 delta_1 + delta_2, at the printed log(4/delta_1)": "refuted",
            "failure probability, delta_1/4 put for delta_1 and Lemma 7 and (13) granted, one phase": "proved",
            "the whole lemma, with the printed t_thres and Dbar, for any probability": "refuted",
        },
        condition="only the failure probability is meant; Lemma 7 and (13) are granted and Lemma 7 is run with "
        "delta_1/4 (log(16/delta_1) for log(4/delta_1)), and with delta_2 divided by the number of phases where all "
        "of them are meant",
        repaired="1 - 4 delta_1 - delta_2, or log(16/delta_1) for log(4/delta_1) in the schedule. The lemma as a "
        "whole falls with the printed t_thres, and its proof with the noise terms of (25) too (claims 002:t_thres, "
        "002:(25) nu)",
        note="The lemma announces 1 - delta_1 - delta_2 and its proof ends with 1 - 4 delta_1 - delta_2, which "
        "delta_1/4 mends. As a whole it fails with the printed t_thres: at alpha_H = 1/200 < g = 1/100 the phase is "
        "never broken, and the saddle is certified. That example keeps all that Lemma 6 prints and R = 1/(2 L_Phi "
        "eta_H), but not Lemma 7's second form of R.",
        method=(Method.ALGEBRA, Method.ARITHMETIC),
    )
