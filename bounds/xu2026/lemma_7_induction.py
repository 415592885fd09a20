r"""Lemma 7, the induction |q| <= |p|/2: the two bounds that (25) uses.

Letters as in ``lemma_7``. (25) bounds the two halves of q by

    |Delta_i| <= L_Phi R,   and   eta_H sum_{i=m+1..t} (1 + eta_H g)^{t-i} |nu_i| <= (1 + eta_H g)^{t-m} r_0/4

for |nu_i| <= a^{2/3}. The first needs the Hessian's Lipschitz constant rho_Phi for L_Phi, the second |nu_i| <= g r_0/4.

[1] DP-RGDA, second-order stationary points of private minimax optimisation, 2026, Appendix B.1.
"""

from __future__ import annotations

from sympy import Derivative, Integer, Rational, Subs, cos, sin, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity
from dpcheck.bounds.symbols import d
from dpcheck.bounds.xu2026.error import ERROR, attained
from dpcheck.bounds.xu2026.lemma_7 import PLACE, L_Phi, R, a, eta_h, g, hessian, nu, p, q, r_0, rho_phi, w, z

count = symbols("q", positive=True, integer=True)  # t - m
ALLOWED, CHANGE = a ** Rational(2, 3), L_Phi * R  # of |nu_i|, |Delta_i|
QUARTER = (1 + eta_h * g) ** count * r_0 / 4  # (25)


@claim("002:(25) Hessian", Kind.LEMMA, location=PLACE + ", after (26)", change=CHANGE)
def mean_hessian() -> Decision:
    """While both sequences stay within R of x_m, the mean Hessian between them differs from the Hessian at x_m by at
    most {change}, L_Phi the Lipschitz constant of grad Phi.
    """
    near, far = Rational(1, 4), Rational(7, 20)  # x'_t and x_t, both within R = 1/2 of x_m = 0
    average = (sin(10 * far) - sin(10 * near)) / (10 * (far - near))  # of cos(10 u) over [x', x]
    return conditional(
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
            {hessian: 1 - average, L_Phi: Integer(1), R: Rational(1, 2)},
        ),
        Below("rho_Phi R = 5 does bound it", 1 - average, Integer(5)),
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
        condition="the Hessian's Lipschitz constant rho_Phi in place of L_Phi (or rho_Phi <= L_Phi), as 'Lipschitz "
        "Hessian' beside it says",
        repaired="|Delta| <= rho_Phi R",
        note="The change of a Hessian is bounded by the Hessian's Lipschitz constant rho_Phi; L_Phi R has another "
        "unit. (25) also drops the number of terms of the sum and the factor 3/2.",
        method=(Method.ALGEBRA, Method.ARITHMETIC),
    )


@claim("002:(25) nu", Kind.STEP, location=PLACE + ", (25)", allowed=ALLOWED, error=ERROR, quarter=QUARTER)
def noise_sum() -> Decision:
    """With |nu_i| <= {allowed}, a = {error}, and the lemma's parameters, the sum of eta_H (1 + eta_H g)^(t-i) |nu_i|
    over i = m + 1, ..., t is at most {quarter}, q = t - m.
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
            Integer(1),
        ),
        Counterexample(
            "the conclusion |q| <= |p|/2 fails with it: both are 5/64, and the sequences meet",
            q <= p / 2,
            {q: Rational(5, 64), p: Rational(5, 64)},
        ),
        Identity(
            "the sequences meet: w - eta_H (v - v')",
            Subs(w - eta_h * z, (w, eta_h, z), (Rational(1, 16), Rational(1, 2), Rational(1, 8))),
            Integer(0),
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
            "of "
            "|nu|/g to r_0/4 is",
            lambda: (alpha / curve) / (delta_2 * largest / sqrt(d) / 4),
            4 * C * sqrt(d) / (delta_2 * L_Phi * eta_h),
        ),
        AtMost(
            "at least 4 for C = 1 + p, delta_2 = 1/(1 + q), L_Phi eta_H = 1/(1 + w), sqrt d = 1 + z: never at most 1",
            Integer(4),
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
