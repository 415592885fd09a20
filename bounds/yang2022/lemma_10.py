"""Lemma 10: the contraction of the dual iterate.

Setting as in ``lemmas_9_to_11``. V may be bounded: the contraction of the dual step is shown along the segment from v_t
to v(w_t), which lies in V, whereas [1, (17)] uses the value at a point that may lie outside.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendix D.1.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Rational

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, rho
from dpcheck.bounds.symbols import eta_v as theta
from dpcheck.bounds.symbols import eta_w as eta
from dpcheck.bounds.yang2022.lemmas_9_to_11 import (
    CONTRACTION,
    DEVIATIONS,
    PRINTED_10,
    UNCONSTRAINED,
    VARIANCE,
    N_v,
    N_w,
    X,
    a,
    after,
    at,
    b,
    between,
    g,
    h,
    lemma_10_bound,
    printed,
    young,
)
from dpcheck.bounds.yang2022.pl_steps import dual_error, primal_error

CURVED = (0, Fraction(1, 10), Fraction(9, 10), Fraction(1, 16), 0, 0, 1)
COUPLED = (1, 0, Fraction(1, 2), Fraction(1, 2), 1, Fraction(1, 100), Fraction(1, 100))


@claim("Y29", Kind.LEMMA, location="Lemma 10", bound=PRINTED_10)
def contraction() -> Decision:
    """b_{{t+1}} is at most {bound} for every step and e > 0, a = a_t and b = b_t."""
    return conditional(
        # Show the inequality with 2 L^4/rho^2, for steps within the condition and W = R^{d1}.
        Cited("|v_{t+1} - v(w_{t+1})|^2 <= (1 + e)|v_{t+1} - v(w_t)|^2 + (1 + 1/e)|v(w_t) - v(w_{t+1})|^2", "Young"),
        Cited(
            "|v(w_t) - v(w_{t+1})|^2 <= kappa^2 eta^2 (2 L^2 b_t + 2 |grad R_S|^2 + N_w), and on W = R^{d1} "
            "|grad R_S|^2 <= 2 X a_t",
            "v(.) is kappa-Lipschitz, R_S X-smooth",
        ),
        Quoted("both moduli", "Y25"),
        VARIANCE,
        Identity(
            "the coefficients of b_t and a_t are those of the printed proof, with rho^2 below 2 L^4",
            (1 + young) * (1 - rho * theta) * b + (1 + 1 / young) * (L / rho * eta) ** 2 * (2 * L**2 * b + 4 * X * a),
            lemma_10_bound(2).subs({N_w: 0, N_v: 0}),
        ),
        Cited(
            "|v_{t+1} - v(w_t)|^2 <= |(1 - eta_v A)(v_t - v(w_t))|^2 + eta_v^2 N_v, A the mean of -Hessian in v along "
            "the segment from v_t to v(w_t), with eigenvalues between rho and L",
            "the projected step on F_S(w_t, .) has the fixed point v(w_t), and projections bring points together; the "
            "segment lies in V, smooth approximations where F_S has no Hessian",
        ),
        Counterexample(
            "[1, (17)] argues by |grad_v F_S(w, v)|^2/(2 L) <= F_S(w, v(w)) - F_S(w, v), which fails at a wall of V: "
            "F_S = -(v - 2)^2/2 on |v| <= 1 at v = v(w) = 1; the contraction does not need it",
            g**2 / (2 * L) <= h,
            {g: 1, L: 1, h: 0},
        ),
        Inequality(
            "for eta_v <= 1/L each eigenvalue of (1 - eta_v A)^2 is at most 1 - rho eta_v",
            (1 - theta * between) ** 2,
            1 - rho * theta,
            over(theta, between, rho, L, rho <= between, between <= L, L * theta <= 1),
        ),
        # Give instances above the bound: any step, and 2 L^4/rho.
        Enumerated(
            "any step: F = -v^2/2, |v| <= 1, at v = 1/2, eta_v = 3, eta_w = 1/100: b_{t+1}",
            dual_error,
            (0, 0, 0, 1, 0, 0, Fraction(1, 2), Fraction(1, 100), 3),
            Fraction(1),
        ),
        Counterexample(
            "which is above the printed right side at e = 1",
            after <= PRINTED_10,
            at(1, 1, 1, Rational(1, 100), 3, 1, 0, Rational(1, 4)),
        ),
        Enumerated(
            "steps within 1/(L + L^2/rho) and 1/L: F = w^2/20 + (9/10) w v - v^2/32, L = 1, rho = 1/16, W = R, at "
            "w = 0, v = 1, eta_w = 1/17, eta_v = 1: b_{t+1}",
            dual_error,
            (*CURVED, Fraction(1, 17), 1),
            Fraction(133610481, 46240000),
        ),
        Counterexample(
            "which is above the right side with 2 L^4/rho at e = 1",
            after <= PRINTED_10,
            at(Rational(133610481, 46240000), 1, Rational(1, 16), Rational(1, 17), 1, 1, 0, 1),
        ),
        # Give an instance above the bound with 2 L^4/rho^2, on a W with a wall.
        Enumerated(
            "a wall: F = w + w v/2 - v^2/4, |v| <= 1, L = 1, rho = 1/2, mu = 1/4, W = [0, 1], at w = v = 1/100 = v(w): "
            "a_t",
            primal_error,
            (*COUPLED, 0, 0),
            Fraction(401, 40000),
        ),
        Enumerated(
            "after eta_w = 1/200, eta_v = 1, without noise: b_{t+1}",
            dual_error,
            (*COUPLED, Fraction(1, 200), 1),
            Fraction(40401, 1600000000),
        ),
        Counterexample(
            "which is above the right side with 2 L^4/rho^2 at e = 100: |grad R_S|^2 <= 2 X a_t fails at a wall",
            after <= printed(lemma_10_bound(2)),
            at(Rational(40401, 1600000000), 1, Rational(1, 2), Rational(1, 200), 1, 100, Rational(401, 40000), 0),
        ),
        readings={
            "2 L^4/rho, any step": "refuted",
            "2 L^4/rho, eta_w <= 1/(L + L^2/rho) and eta_v <= 1/L, W = R^{d1}": "refuted",
            "2 L^4/rho^2 and eta_v <= 1/L, on any W": "refuted",
            CONTRACTION: "proved",
        },
        condition="rho^2 in place of rho below 2 L^4, as the proof and Lemma 11 have it, eta_v <= 1/L, "
        f"{UNCONSTRAINED}, and {DEVIATIONS}",
        note="A square, the step condition and the condition on W are missing in the statement.",
        method=(Method.ALGEBRA, Method.ARITHMETIC, Method.PROVER),
    )
