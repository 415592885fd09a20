"""What the PL-strongly concave case assumes: one solution, and PL together with a Lipschitz loss.

Setting as in ``theorem_3``.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Assumptions 1 and 4, Proposition 1.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Rational, exp, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated, Inequality, Quoted, over
from dpcheck.bounds.symbols import G_w, mu, rho
from dpcheck.bounds.yang2022.pl_steps import apart
from dpcheck.bounds.yang2022.theorem_4 import GROWTH_READING
from dpcheck.bounds.yang2022.theorem_5 import X, w


@claim("Y41", Kind.LEMMA, location="Proposition 1")
def unique() -> Decision:
    """The saddle points of F_S share one v when F_S is strongly concave in v."""
    value, other, cross, back = symbols("value other cross back", real=True)  # F_S at (w,v), (w',v'), (w,v'), (w',v)
    return proved(
        Cited(
            "each saddle point's v maximises F_S(w, .), so that F_S(w, v) >= F_S(w, v') + rho/2 |v - v'|^2, and the "
            "same exchanged; F_S(w, v') >= F_S(w', v') at the saddle (w', v'), and F_S(w', v) >= F_S(w, v)",
            "strong concavity",
        ),
        Inequality(
            "the first two, with w for |v - v'|; by the last two its right side is at most 0",
            rho * w**2,
            (value - back) + (other - cross),
            over((rho, w, value, other, cross, back), value >= cross + rho / 2 * w**2, other >= back + rho / 2 * w**2),
        ),
        note="rho |v - v'|^2 <= 0.",
    )


@claim("Y42", Kind.ASSUMPTION, location="Assumption 4")
def agree() -> Decision:
    """pi_S'(pi_S(w_T)) = pi_S'(w_T') for neighbouring S, S'."""
    # F_S = w_1^2 - rho v^2 with w in R^2: every (0, w_2) is a solution, and the noise moves w_2.
    a, b = symbols("a b", real=True)
    return conditional(
        Cited(
            "F = w_1^2/2 - v^2/2 on R^2 x [-1, 1] for every record: the solutions are all (0, w_2), for S "
            "and S' alike; "
            "pi_S' pi_S (w_T) = (0, w_{T,2}) and pi_S' (w_T') = (0, w'_{T,2})",
            "definition",
        ),
        Counterexample(
            "two runs with noise 1 and 2 in the second coordinate do not agree", (a - b) ** 2 <= 0, {a: 1, b: 2}
        ),
        Enumerated(
            "nor is it the noise alone: n = 1, f = (<z, w> - 1)^2/2 - v^2/2 on R^2, S and S' the unit vectors (1, 0) "
            "and (3/5, 4/5), one step eta_w = 1 from 0 without noise solves each; the squared distance of the two "
            "sides is",
            apart,
            (Fraction(3, 5), Fraction(4, 5)),
            Fraction(16, 25),
        ),
        readings={
            "the solution set of every S is one point": "proved",
            "a flat set of solutions, independent noise": "refuted",
            "a flat set of solutions, the same noise and minibatches, or none": "refuted",
        },
        condition="the minimiser of F_S(., v_S) is unique, for every S",
        note="It holds for unique solutions; along a flat set the noise breaks it, and so does one record without "
        "noise.",
        method=Method.ARITHMETIC,
    )


@claim("Y27", Kind.ASSUMPTION, location="Theorems 3 to 5")
def lipschitz_and_pl() -> Decision:
    """A1 and the mu-PL condition in w can hold together."""
    time, v = symbols("time v", positive=True)
    return conditional(
        Cited(
            "on W = R^{d1}: PL and |grad F| <= G_w give F - min F <= G_w^2/(2 mu) everywhere, while along dw/dt = "
            "grad F the excess X grows to X exp(2 mu t) at least",
            "definitions; gradient flow",
        ),
        Counterexample(
            "so that no excess, such as 1/100, can be positive: mu = G_w = 1, t = 3",
            X * exp(2 * mu * time) <= G_w**2 / (2 * mu),
            {X: Rational(1, 100), mu: 1, G_w: 1, time: 3},
        ),
        Quoted("on W = R^{d1} mu-PL gives F - min F >= mu/2 dist^2", "Y36", GROWTH_READING, "at the v of that F"),
        Cited("and A1 gives F - min F <= G_w dist", "definition"),
        Inequality("so that there dist <= 2 G_w/mu", w, 2 * G_w / mu, over(w, G_w, mu, mu / 2 * w**2 <= G_w * w)),
        Inequality(
            "on |w| <= 1 they hold together: F = w^2/2 has |F'|^2/2 = F, and G_w = 1: F(w) - F(v) for 0 <= v <= w <= 1",
            w**2 / 2 - v**2 / 2,
            w - v,
            over(w <= 1, v <= 1, v <= w),
        ),
        Counterexample(
            "on a W with walls even the distance may be larger: F = (y + 1 + x^2/200)^2/2 on |x| <= 50, "
            "0 <= y <= 1/100 has mu = 1 and a minimiser at 0 alone; G_w is its slope at x = 50, y = 1/100",
            w <= 2 * (v + 1 + w**2 / 200) * sqrt(1 + (w / 100) ** 2) / mu,
            {w: 50, v: Rational(1, 100), mu: 1},
        ),
        Cited("on a bounded W Algorithm 1 projects, while Lemma 9 uses the unprojected step", "Algorithm 1, line 6"),
        readings={
            "W = R^{d1}, F_S(., v) not constant": "refuted",
            "a bounded W, or A1 where the iterates are alone": "proved",
        },
        condition="W is not all of R^{d1}, or A1 holds on a part of it alone, unless F_S(., v) is constant",
        note="A Lipschitz PL function on all of R^{d1} is constant. That all of W lies within 2 G_w/mu of the "
        "minimisers is a consequence on W = R^{d1}, and is neither stated nor needed on a W with walls.",
        method=(Method.PROVER, Method.ARITHMETIC),
    )
