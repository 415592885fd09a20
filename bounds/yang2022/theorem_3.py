r"""Theorem 3: the optimisation error of DP-SGDA in the PL-strongly concave case.

Problem. As in ``lemmas_9_to_11``: F_S is L-smooth (A3), rho-strongly concave in v and mu-PL in w, the
minibatch gradients have variance B^2/m (A2), V is bounded, kappa = L/rho, mu <= 2 L^2 (in Theorem 8, not in
Theorem 3), and W = R^{d1}. [1] does not state the last: if w is projected onto a bounded W, a run may stay
for ever at a point that is not a minimiser (claim Y34). On W = R^{d1} only constant functions have the
bounded gradients of A1, which the proof does not use (claim Y27).

Algorithm. DP-SGDA with eta_w = 2/(mu t), eta_v = 2 M/(mu t^{2/3}), where
M = max{8 kappa^2 sqrt((L + L^2/rho)/mu), 4 sqrt 2 kappa^2}.

Guarantee. By [1, Theorem 3], with constants that depend on nothing but L,

    E[R_S(w_{T+1}) - min R_S] = O( kappa^{3.5}/mu^{2.5} (1/m + d (sigma_w^2 + sigma_v^2))/T^{2/3} ).

The steps exceed the proof's own limits at t = 1 (claim Y32) and the constants of [1, (20)] are too small by
factors of 2 and 3 (claim Y33); the order is not affected when the schedule starts late enough.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Theorems 3 and 8, Appendix D.1.

Arguments. m records in a minibatch, d, sigma_w, sigma_v, T, kappa, mu; L and the iteration t for the steps.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_3")
>>> thm.rate_exponents()["variance"]
{'T': -0.6666666666666666, 'kappa': 3.5, 'm': -1.0, 'mu': -2.5}
>>> thm.schedule(kappa=2, mu=0.5, L=1, t=1000)
{'eta_w': 0.004, 'eta_v': 3.135346870762468}
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Integer, Max, Rational, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Quoted
from dpcheck.bounds.symbols import L, T, d, eta_v, eta_w, kappa, m, mu, sigma_v, sigma_w, t
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.yang2022.lemmas_9_to_11 import RECURSION
from dpcheck.bounds.yang2022.pl_steps import stuck_excess
from dpcheck.bounds.yang2022.theorem_1 import SAMPLING

x, M = symbols("x M", positive=True)
ORDER = kappa ** Rational(7, 2) / mu ** Rational(5, 2)

# The steps that the proof of Theorem 8 takes; L + L^2/rho = L (1 + kappa).
RATIO = Max(8 * kappa**2 * sqrt(L * (1 + kappa) / mu), 4 * sqrt(2) * kappa**2)
STEPS = ((eta_w, 2 / (mu * t)), (eta_v, 2 * RATIO / (mu * t ** Rational(2, 3))))
RATE = ORDER / (m * T ** Rational(2, 3))
SETTING = (
    Assumption("V", "V is bounded", "Theorem 3"),
    Assumption("saddle", "F_S has a saddle point", "Section 3.2"),
    SAMPLING,
    Assumption(
        "late start",
        "eta_w <= 1/(L + L^2/rho) and eta_v <= 1/L, which these steps exceed at t = 1; a later start mends it",
        "Lemmas 9 to 11; claim Y32",
    ),
)
GENTLE = Assumption("mu", "mu <= 2 L^2", "Theorem 8", mu <= 2 * L**2)

THEOREMS = (
    Theorem(
        id="yang2022.theorem_3",
        title="Optimisation error of DP-SGDA, PL-strongly concave case",
        paper="yang2022",
        location="Theorem 3, Theorem 8 and equation (20)",
        quantity="expected excess primal empirical risk of the last iterate, in order",
        quantity_latex=r"\mathbb{E}[R_S(w_{T+1}) - R_S^*]",
        parameters=(
            Parameter(m, "records in a minibatch"),
            Parameter(d, "larger of the dimensions of w and v"),
            Parameter(T, "iterations"),
            Parameter(sigma_w, "noise on the gradient in w"),
            Parameter(sigma_v, "noise on the gradient in v"),
            Parameter(kappa, "L/rho"),
            Parameter(mu, "PL constant"),
            Parameter(L, "smoothness of f"),
            Parameter(t, "iteration", default=1),
        ),
        assumptions=(
            Assumption("A1", "f is Lipschitz in w and in v for every record; the proof has no need of it", "Theorem 3"),
            Assumption("A2", "the records' gradients have standard deviation at most B", "A2"),
            Assumption("A3", "f is L-smooth; not named in Theorem 3", "Theorem 8"),
            Assumption("PL-SC", "F_S is mu-PL in w and rho-strongly concave in v", "Theorem 3"),
            Assumption(
                "W",
                "W = R^{d1}, so that w is not projected; not stated in the paper, without it the rate fails",
                "proofs of Lemmas 9 and 10; claim Y34",
            ),
            *SETTING,
            Assumption("kappa", "kappa >= 1", "L >= rho", kappa >= 1),
            GENTLE,
        ),
        schedule_formulas=STEPS,
        regimes=(
            ("variance", RATE),
            ("noise in w", ORDER * d * sigma_w**2 / T ** Rational(2, 3)),
            ("noise in v", ORDER * d * sigma_v**2 / T ** Rational(2, 3)),
        ),
    ),
)


@claim("Y34", Kind.ASSUMPTION, location="Theorem 3")
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
            Fraction(1),
        ),
        Enumerated("as one step does: it is projected back to (1, 0)", stuck_excess, (1,), Fraction(1)),
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
