r"""Lemma 7: two coupled sequences leave the ball around a strict saddle. The claims about its parameters.

Let x_m be the anchor, H = grad^2 Phi(x_m) with least eigenvalue -g, g >= alpha_H = sqrt(rho_Phi alpha), and
w_t = x_t - x'_t, w_{m+1} = r_0 e_1 along that eigenvector. The escape steps x <- x - eta_H v give

    w_{t+1} = p_{t+1} - q_{t+1},  p_{t+1} = (1 + eta_H g)^{t-m} r_0 e_1,
    q_{t+1} = eta_H sum_{i=m+1..t} (I - eta_H H)^{t-i} (Delta_i w_i + nu_i),

and the proof [1, Lemma 7, (25) to (27)] needs, as long as |x_t - x_m|, |x'_t - x_m| < R,

    |q| <= |p|/2  throughout,   and  (1 + eta_H g)^{t_thres} r_0/2 >= 2 R  at the end.

Write X = L_Phi eta_H alpha_H/(C rho_Phi r_0), the largest r over r_0. As printed

    eta_H <= r_0/(2 |v_t|) <= a^{-4/3} r_0/2,  R = 1/(2 L_Phi eta_H) = a^{4/3}/(L_Phi r_0),  t_thres = 2 log(X)/eta_H,

a = sqrt(d log(1/delta))/(n epsilon), and none of the three serves. What does, for eta_H <= 1/L_Phi:

    R = L_Phi eta_H alpha_H/(C rho_Phi),  t_thres = 2 log(4 X)/(eta_H alpha_H),  C >= 12 L_Phi eta_H log(4 X),

given estimators with |nu| <= g r_0/4: |Delta| <= rho_Phi R, so that the first half of q is at most
eta_H (3/2) t_thres rho_Phi R |p| <= |p|/4, and the second at most (|nu|/g) |p|/r_0 <= |p|/4.

[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Appendix B.1. Lemma 10
    repeats it for the population.
"""

from __future__ import annotations

from sympy import Integer, Le, Rational, log, oo, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import AtMost, Below, Counterexample, Identity
from dpcheck.bounds.prover import Domain, Inequality

eta_h, alpha_h, L_Phi, rho_phi, C, R, r_0, X, g, z = symbols("eta_H alpha_H L_Phi rho_Phi C R r_0 X g z", positive=True)
a, v, nu, p, q, steps_left, hessian, w = symbols("a v nu p q t Delta w", positive=True)
THRESHOLD = 2 * log(X) / eta_h
REPAIRED_THRESHOLD = 2 * log(4 * X) / (eta_h * alpha_h)

# alpha_H = g = 1/100, eta_H = 1/10, L_Phi = rho_Phi = C = 1, d = 1, r = 1/1000, r_0 = r/10: X = 10, R = 5.
SADDLE = ((g, Rational(1, 100)), (eta_h, Rational(1, 10)), (r_0, Rational(1, 10**4)), (X, Integer(10)))


def _threshold() -> Decision:
    growth = (1 + eta_h * g) ** steps_left * r_0 / 2
    length = (steps_left, Integer(46))  # 2 log(10)/(1/10) = 46.05...
    steps = (
        Below("t_thres at X = 10, eta_H = 1/10 is below 47", THRESHOLD.subs(dict(SADDLE)), Integer(47)),
        Counterexample(
            "on a saddle with g = alpha_H = 1/100 the sequences need not part by 2 R, R = 1/(2 L_Phi eta_H) = 5",
            Le(2 * R, growth),
            ((R, Integer(5)), length, *SADDLE),
        ),
        Counterexample(
            "nor by 2 R for R = L_Phi eta_H alpha_H/(C rho_Phi) = 1/1000",
            Le(2 * R, growth),
            ((R, Rational(1, 1000)), length, *SADDLE),
        ),
        Inequality("log(1 + z) <= z, z = eta_H g", log(1 + z), z, Domain({z: (0, oo)})),
        Identity("so the growth is at most exp of", eta_h * g * THRESHOLD, 2 * g * log(X)),
        AtMost("which for g <= 1/2 is X at most, below the 4 X that 2 R asks for: such a saddle is not left", X, 4 * X),
        Inequality("log(1 + z) >= z/2 for z <= 1", z / 2, log(1 + z), Domain({z: (0, 1)})),
        Identity(
            "with alpha_H in the denominator and 4 X the growth is at least 4 X",
            eta_h * alpha_h * REPAIRED_THRESHOLD / 2,
            log(4 * X),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("2 log(X)/eta_H steps are enough for the growth that (27) needs", "refuted"),
            ("2 log(X)/eta_H is of the order 1/(eta_H alpha_H), up to logarithms", "refuted"),
            ("it is at most of that order, for alpha_H <= 1", "proved"),
        ),
        repaired="t_thres = 2 log(4 X)/(eta_H alpha_H) for eta_H alpha_H <= 1, of the order that is printed beside it",
    )
    return Decision(
        "refuted",
        "exact numbers in ball arithmetic; log(1 + z) <= z",
        evidence,
        "alpha_H is missing in the denominator: in t_thres steps a curvature g multiplies the distance by at most X^{2 "
        "g}, where 4 X is needed.",
    )


def _step_size() -> Decision:
    eighth = (a, Rational(1, 8))
    steps = (
        Identity(
            "the chain's second part says |v_t| >= a^{4/3}: ratio of its sides",
            (r_0 / (2 * v)) / (a ** Rational(-4, 3) * r_0 / 2),
            a ** Rational(4, 3) / v,
        ),
        Counterexample(
            "a = 1/8, |v_t| = 1/32, well inside the escape phase's |v| < alpha: 16 r_0 against 8 r_0",
            Le(r_0 / (2 * v), a ** Rational(-4, 3) * r_0 / 2),
            ((v, Rational(1, 32)), eighth, (r_0, Integer(1))),
        ),
        Below("there |v_t| is below alpha = a^{2/3}", Rational(1, 32), Rational(1, 8) ** Rational(2, 3)),
        AtMost(
            "what |v_t| <= alpha = v + k gives is a lower bound of r_0/(2 |v_t|)", r_0 / (2 * (v + w)), r_0 / (2 * v)
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("both inequalities, for every v_t of the escape phase", "refuted"),
            ("for |v_t| >= a^{4/3} only", "proved"),
        ),
        repaired="a fixed eta_H <= 1/L_Phi; the smallness of the nu terms must come from the estimators, not from "
        "eta_H",
    )
    return Decision(
        "refuted",
        "exact numbers",
        evidence,
        "The escape phase is entered with |v| < alpha, and nothing keeps |v_t| above a^{4/3}; at a smaller v_t the "
        "second inequality turns round. A fixed step size cannot depend on the later v_t either.",
    )


def _radius() -> Decision:
    at = ((L_Phi, Integer(1)), (eta_h, Rational(1, 2)), (R, Integer(1)))
    factor = Rational(3, 2) * eta_h * steps_left * rho_phi * R  # of |p|, from sum |Delta_i| <= t rho_Phi R
    steps = (
        Identity(
            "with R = 1/(2 L_Phi eta_H), the factor of r_0 in (25) is 3/4",
            (L_Phi * eta_h * R).subs(R, 1 / (2 * L_Phi * eta_h)) + Rational(1, 4),
            Rational(3, 4),
        ),
        Counterexample("(26) needs at most 1/2", Le(L_Phi * eta_h * R + Rational(1, 4), Rational(1, 2)), at),
        Counterexample(
            "the condition L_Phi eta_H R <= 3/4 of the text is not enough either: it allows a factor 1",
            Le(L_Phi * eta_h * R + Rational(1, 4), Rational(1, 2)),
            ((L_Phi, Integer(1)), (eta_h, Rational(1, 2)), (R, Rational(3, 2))),
        ),
        Identity(
            "1/(4 L_Phi eta_H) is the largest R that (26) allows",
            (L_Phi * eta_h * R).subs(R, 1 / (4 * L_Phi * eta_h)) + Rational(1, 4),
            Rational(1, 2),
        ),
        Identity(
            "with the t terms of the sum and rho_Phi for L_Phi, the repaired R and t_thres make the first half",
            factor.subs({R: L_Phi * eta_h * alpha_h / (C * rho_phi), steps_left: REPAIRED_THRESHOLD}),
            3 * L_Phi * eta_h * log(4 * X) / C,
        ),
        Identity(
            "which is 1/4 for C = 12 L_Phi eta_H log(4 X)",
            (3 * L_Phi * eta_h * log(4 * X) / C).subs(C, 12 * L_Phi * eta_h * log(4 * X)),
            Rational(1, 4),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("R = 1/(2 L_Phi eta_H) gives (26)", "refuted"),
            ("R <= 1/(4 L_Phi eta_H) gives (26) from (25)", "proved"),
        ),
        repaired="(26) from (25) needs R <= 1/(4 L_Phi eta_H); (25) itself needs R = L_Phi eta_H alpha_H/(C rho_Phi) "
        "with C >= 12 L_Phi eta_H log(4 X)",
    )
    return Decision(
        "refuted",
        "exact algebra",
        evidence,
        "The printed R makes the induction |q| <= |p|/2 end at 3/4 |p|. Its second form a^{4/3}/(L_Phi r_0) is the "
        "first only where eta_H equals its bound.",
    )


PLACE = "Lemma 7, Appendix B.1"
CLAIMS = (
    Claim(
        "002:t_thres",
        "xu2026",
        "schedule",
        "t_thres = 2 log(X)/eta_H, X = eta_H alpha_H L_Phi/(C rho_Phi r_0), is of the order 1/(eta_H alpha_H) up to "
        "logarithms, and in so many steps the coupled sequences part by 2 R.",
        "Lemmas 6 and 7, Appendix B.1",
        _threshold,
    ),
    Claim(
        "002:Lem7 eta_H chain",
        "xu2026",
        "schedule",
        "In the escape phase r_0/(2 |v_t|) <= a^{-4/3} r_0/2, so that eta_H below the first is below the second, a = "
        "sqrt(d log(1/delta))/(n epsilon).",
        PLACE,
        _step_size,
    ),
    Claim(
        "002:Lem7 R",
        "xu2026",
        "schedule",
        "R = 1/(2 L_Phi eta_H) makes the bound (25), (1 + eta_H g)^{t-m} (eta_H L_Phi R + 1/4) r_0, at most half of (1 "
        "+ eta_H g)^{t-m} r_0.",
        PLACE + ", (25) and (26)",
        _radius,
    ),
)
