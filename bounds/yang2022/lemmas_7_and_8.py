r"""Lemmas 7 and 8: the primal function is smooth and inherits the PL condition.

Setting as in ``lemmas_9_to_11``. Both lemmas are about points of W x V and about full gradients, so they
assume nothing about W, and V may be bounded.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendix D.1.
"""

from __future__ import annotations

from sympy import oo, symbols

from dpcheck.bounds.claim import Decision, Kind, claim, proved
from dpcheck.bounds.evidence import Cited, Domain, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, mu, rho

g, h, square = symbols("g h square", positive=True)
value, low, least = symbols("value low least", real=True)
SMOOTH = L + L**2 / rho  # the smoothness of R_S


@claim("Y25", Kind.LEMMA, location="Lemma 7", smooth=SMOOTH, lipschitz=L / rho)
def smooth() -> Decision:
    """R_S has the gradient of F_S in w at its maximiser v(w), is ({smooth})-smooth, and v(.) is
    ({lipschitz})-Lipschitz.
    """
    return proved(
        Cited(
            "rho |v(w) - v(w')|^2 <= <grad_v F(w, v(w')) - grad_v F(w', v(w')), v(w) - v(w')> by strong "
            "concavity and the "
            "optimality of both over V",
            "variational inequalities",
        ),
        Inequality(
            "with Cauchy-Schwarz and smoothness rho |dv|^2 <= L |dw| |dv|, so that |dv| <= (L/rho)|dw|",
            h,
            L / rho * g,
            over(L, rho, g, h, rho * h**2 <= L * g * h),
        ),
        Cited(
            "grad R_S(w) = grad_w F_S(w, v(w))",
            "Danskin; V closed and convex, the maximiser one point that moves continuously, so that a bounded part of "
            "V will do",
        ),
        Inequality(
            "L |(dw, dv)| with |dv| <= (L/rho)|dw| is at most (L + L^2/rho)|dw|, squared",
            L**2 * (g**2 + h**2),
            SMOOTH**2 * g**2,
            over(L, rho, g, h, rho * h <= L * g),
        ),
        note="As cited there; V is closed. Smoothness is used at points of W x V only.",
    )


@claim("Y26", Kind.LEMMA, location="Lemma 8")
def inherits() -> Decision:
    """R_S satisfies the PL condition with the constant mu of F_S(., v)."""
    return proved(
        Quoted("grad R_S(w) = grad_w F_S(w, v(w))", "Y25"),
        Cited(
            "square = |grad_w F_S(w, v)|^2 is at least 2 mu (value - low), low = min over w' of F_S(w', v), at "
            "v = v(w), where value = F_S(w, v) = R_S(w)",
            "PL in w for every v",
        ),
        Cited(
            "low <= least, the min over w' of max over v of F_S(w', v)",
            "a value is at most the maximum; both minima exist, the second since F_S has a saddle point",
        ),
        Inequality(
            "hence the PL condition of R_S",
            2 * mu * (value - least),
            square,
            Domain(
                dict.fromkeys((mu, square), (0, oo)) | dict.fromkeys((value, low, least), (-oo, oo)),
                where=(square >= 2 * mu * (value - low), low <= least),
            ),
        ),
        note="The printed proof holds, on any W: the gradient of Definition 2 is the full one in the assumption and "
        "in the conclusion.",
    )
