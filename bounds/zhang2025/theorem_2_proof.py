"""The claims about the proof of Theorem 2: Lemmas 4 to 6 and the coefficients of (38).

Setting as in ``theorem_2``.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, proof of Theorem 2.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Le, Rational, oo, symbols

from dpcheck.bounds.claim import Claim, Decision, Kind, Method, Verdict, claim, conditional, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Domain, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.judge import judge
from dpcheck.bounds.statement import stated
from dpcheck.bounds.symbols import kappa
from dpcheck.bounds.zhang2025 import lemma_3
from dpcheck.bounds.zhang2025.theorem_2 import (
    SMOOTH,
    STEP,
    N_x,
    N_y,
    eta,
    g,
    h,
    l,
    steep_gradient,
    steep_step,
    steep_value,
    theta,
    tracking_error,
)

# Lemma 5's right side: N_x is B^2/m + E|xi|^2, N_y is B^2/m + E|zeta|^2
before, after, later = symbols("before after later", real=True)  # Phi(x_{t-1}), Phi(x_t), theta_t
CONTRACTED = (
    (1 - 1 / (2 * kappa) + 4 * kappa**3 * eta**2 * l**2) * theta
    + 4 * kappa**3 * eta**2 * g**2
    + 2 * kappa**3 * eta**2 * N_x
    + 2 / l**2 * N_y
)
DESCENT = (2 * SMOOTH * eta**2 - eta / 2) * g**2 + SMOOTH * eta**2 * N_x + (2 * SMOOTH * eta**2 + eta / 2) * h**2
JOINT = "the loss is l-smooth jointly in (x, y), not only in each block"
SMOOTHNESS: tuple[tuple[str, Verdict], ...] = (
    (JOINT, "proved"),
    ("l-smooth in each block, as Assumption 3 says", "refuted"),
)


@claim("004:Lem4", Kind.STEP, location="version with proofs, Lemma 4", right=DESCENT)
def descent() -> Decision:
    """Inequality (7): for the steps of DP-SGDA, E Phi(x_t) is at most Phi(x_{{t-1}}) + {right} with eta = eta_x, g =
    |grad Phi(x_{{t-1}})|, h = |grad Phi(x_{{t-1}}) - grad_x L(x_{{t-1}}, y_{{t-1}})| and N_x = B^2/m + E|xi|^2.
    """
    # g = |grad Phi|, h = |grad Phi - grad_x L|; before and after are Phi(x_{t-1}) and Phi(x_t)
    at = {kappa: 1, l: 1, eta: Rational(1, 64), g: Rational(1, 2)}
    return conditional(
        Quoted("Phi is (l + kappa l)-smooth", "003:Lem3", "jointly l-smooth, as in the source"),
        Cited(
            "E|step|^2 <= eta^2 2 (|grad_x L|^2 + B^2/m + E|xi|^2); nothing is clipped for C_1 >= G_x", "Algorithm 1"
        ),
        Cited("|grad_x L|^2 <= 2 h^2 + 2 g^2 and <grad Phi, grad Phi - grad_x L> <= (g^2 + h^2)/2", "Young"),
        Identity(
            "collected",
            -eta * g**2 + eta * (g**2 + h**2) / 2 + SMOOTH / 2 * eta**2 * 2 * (2 * h**2 + 2 * g**2 + N_x),
            DESCENT,
        ),
        Enumerated("L = 10 h(x) y - y^2/2: Phi(1/200) is", steep_value, (Fraction(1, 200),), Fraction(1, 800)),
        Enumerated("its gradient there is", steep_gradient, (Fraction(1, 200),), Fraction(1, 2)),
        Enumerated(
            "and Phi(x_t), one step without noise later, is", steep_step, (Fraction(1, 200),), Fraction(81, 204800)
        ),
        Counterexample(
            "smooth in each block only: 81/204800 is not at most 1/800 + (7)'s other terms, which is -47/102400",
            Le(after, before + DESCENT.subs({h: 0, N_x: 0}), evaluate=False),
            ((after, Rational(81, 204800)), (before, Rational(1, 800)), *at.items()),
        ),
        readings=dict(SMOOTHNESS),
        condition=JOINT,
        note="The proof uses Lemma 3, which Assumption 3 does not give (003:Lem3). The factor 2 on the squared step "
        "is not even needed, since minibatch and noise have errors of mean zero.",
        method=(Method.ALGEBRA, Method.ENUMERATION),
    )


@claim("004:Lem5", Kind.STEP, location="version with proofs, Lemma 5", right=CONTRACTED)
def contraction() -> Decision:
    """For eta_y = 1/l, theta_t = E|y_t - y*(x_t)|^2 is at most {right} with eta = eta_x, theta = theta_{{t-1}}, g =
    |grad Phi(x_{{t-1}})|, N_x = B^2/m + E|xi|^2 and N_y = B^2/m + E|zeta|^2.
    """
    young_1, factor = 1 / (2 * (kappa - 1)), 1 - 1 / kappa
    move = eta**2 * (2 * l**2 * theta + 2 * g**2 + N_x)
    letters = {theta: (0, oo), eta: (0, oo), l: (0, oo), g: (0, oo), N_x: (0, oo), N_y: (0, oo)}
    here = {kappa: 1, l: 1, eta: Rational(1, 64), g: Rational(3, 10)}
    return conditional(
        Cited(
            "one projected ascent step of 1/l: E|y_t - y*(x_{t-1})|^2 <= (1 - 1/kappa) theta + N_y/l^2",
            "contraction of the gradient map; the noise has mean zero",
        ),
        Quoted("y* is kappa-Lipschitz", "003:Lem3", "jointly l-smooth, as in the source"),
        Cited("E|x_t - x_{t-1}|^2 <= eta^2 (2 l^2 theta + 2 g^2 + N_x)", "joint smoothness; the proof of Lemma 4"),
        Identity(
            "Young's inequality with 1/(2 (kappa - 1))", lambda: (1 + young_1) * factor, (2 * kappa - 1) / (2 * kappa)
        ),
        Inequality(
            "kappa >= 3/2: the two parts are within the printed right side",
            (1 + young_1) * (factor * theta + N_y / l**2) + (2 * kappa - 1) * kappa**2 * move,
            CONTRACTED,
            Domain({**letters, kappa: (Rational(3, 2), oo)}),
        ),
        Inequality(
            "1 <= kappa <= 3/2: so they are with Young's parameter 1",
            2 * (factor * theta + N_y / l**2) + 2 * kappa**2 * move,
            CONTRACTED,
            Domain({**letters, kappa: (1, Rational(3, 2))}),
        ),
        Enumerated(
            "the instance of Lemma 3 from x = 1/30: theta_t is", tracking_error, (lemma_3.POINT,), Fraction(81, 409600)
        ),
        Enumerated("and the gradient of Phi at 1/30 is", lemma_3.gradient, (lemma_3.POINT,), Fraction(3, 10)),
        Counterexample(
            "smooth in each block only, theta_{t-1} = 0 and no noise: theta_t is 9/4 of the right side",
            Le(later, CONTRACTED.subs({theta: 0, N_x: 0, N_y: 0}), evaluate=False),
            ((later, Rational(81, 409600)), *here.items()),
        ),
        readings=dict(SMOOTHNESS),
        condition=JOINT,
        note="The proof uses Lemma 3, which Assumption 3 does not give (003:Lem3). It doubles the noise on the way, "
        "which the loss in Young's inequality needs; k in the statement is kappa.",
        method=(Method.PROVER, Method.CITED, Method.ENUMERATION),
    )


OVER = over(kappa >= 1, l)
SHORT = 16 * (kappa + 1) ** 2 * l * eta <= 1  # eta <= STEP
LOW, HIGH = Rational(7, 16) * eta, Rational(9, 16) * eta
sixteenths = Claim(
    "004:Lem6",
    "zhang2025",
    Kind.STEP,
    stated(
        "Where {short}, in the paper with equality, the coefficients of Lemma 4 are bounded: {keeps} is at least "
        "{low}, and {loses} is at most {high}, eta = eta_x.",
        short=SHORT,
        low=LOW,
        high=HIGH,
        keeps=eta / 2 - 2 * SMOOTH * eta**2,
        loses=eta / 2 + 2 * SMOOTH * eta**2,
    ),
    "version with proofs, Lemma 6",
    judge(
        Inequality("the gradient keeps 7 eta/16", LOW, eta / 2 - 2 * SMOOTH * eta**2, over(kappa >= 1, l, eta, SHORT)),
        Inequality(
            "and the error of y has 9 eta/16 at most",
            eta / 2 + 2 * SMOOTH * eta**2,
            HIGH,
            over(kappa >= 1, l, eta, SHORT),
        ),
        note="The step on the coefficients alone, with equality at kappa = 1. The lemma's inequality is Lemma 4's and "
        "stands under Lemma 4's condition.",
    ),
)
XI, ZETA = eta / (16 * kappa) + Rational(9, 2) * eta * kappa, eta / (8 * kappa)  # as (38) prints them


@claim(
    "004:(38)",
    Kind.STEP,
    location="version with proofs, equation (38)",
    xi=XI.subs(eta, STEP),
    zeta=ZETA.subs(eta, STEP),
    step=STEP,
)
def coefficients() -> Decision:
    """E|xi|^2 enters with {xi} and E|zeta|^2 with {zeta}, at eta_x = {step}."""
    # (35): xi has (l + kappa l) eta^2 + (9/8) eta^3 kappa^3 l^2 4 kappa, zeta has (9/8) eta 4 kappa.
    xi = SMOOTH * STEP**2 + Rational(9, 8) * STEP**3 * kappa**3 * l**2 * 4 * kappa
    zeta = Rational(9, 8) * STEP * 4 * kappa
    return refuted(
        Identity(
            "zeta's coefficient in (35), the geometric sum at most 4 kappa",
            lambda: Rational(9, 8) * STEP * (4 * kappa),
            Rational(9, 2) * kappa * STEP,
        ),
        Counterexample(
            "(38) gives zeta eta/(8 kappa), at kappa = l = 1", zeta <= ZETA.subs(eta, STEP), {kappa: 1, l: 1}
        ),
        Inequality("xi's is within what (38) gives it", xi, XI.subs(eta, STEP), OVER),
        Inequality("both are within the maximum that is used afterwards", zeta + xi, 2 * XI.subs(eta, STEP), OVER),
        repaired="9 kappa eta/2 belongs to zeta and a number below eta/(16 kappa) + 9 eta/512 to xi; the next line "
        "takes the maximum for both, so that nothing later changes",
        note="The two coefficients have changed places.",
    )
