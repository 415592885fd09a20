"""What the first increment after a refresh of x counts: the recursion at x_{t,-1}, and the variation of the gradient.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Algorithm 3 and Lemma 5.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Eq

from dpcheck.bounds.claim import Claim, Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import Cited, Counterexample, Enumerated
from dpcheck.bounds.judge import judge
from dpcheck.bounds.statement import stated
from dpcheck.bounds.xu2026.clip import MOVES, estimate, found, tracked, wanted


@claim("002:x-difference", Kind.ALGORITHM, location="Algorithm 3, line 3")
def difference() -> Decision:
    """With x_{t,-1} = x_{t-1} the recursion keeps v_{t,k} an unbiased estimate of grad_x f(x_t,
    y_{t,k}) for every t.
    """
    return conditional(
        Enumerated("no refresh, x from 2 to 5: the estimate telescopes to 5", estimate, (5, 2, 0), Fraction(5)),
        Enumerated("on a refresh it is the gradient at x_t plus one more difference", estimate, (5, 2, 1), Fraction(8)),
        Counterexample("8 where grad Phi(x_t) = 5", Eq(found, wanted), {found: 8, wanted: 5}),
        Enumerated(
            "the bias stays for the period: q = 3, x = 0, 1, 2, 5, 7, 8", tracked, (3, 0, 0, 1, 2, 5, 7, 8), Fraction(3)
        ),
        Enumerated("with x_{t,-1} = x_t on a refresh there is none", tracked, (3, 1, 0, 1, 2, 5, 7, 8), Fraction(0)),
        Cited(
            "each increment has mean grad_x f(x_{t,k}, y_{t,k}) - grad_x f(x_{t,k-1}, y_{t,k-1}) given the past, and "
            "the first subtracts what v_{t,-1} estimates: the sum telescopes",
            "fresh samples, no clipping",
        ),
        readings={
            "between refreshes": "proved",
            "on a refresh, as printed": "refuted",
            "on a refresh with x_{t,-1} = x_t": "proved",
        },
        condition="x_{t,-1} = x_t on a refresh (and at t = 0, where x_{-1} is not defined), clipping idle",
        repaired="on a refresh x_{t,-1} = x_t, so that the first difference is zero",
        note="Line 3 sets x_{t,-1} = x_{t-1} also where v_{t,-1} was just taken at x_t, which counts the last move "
        "twice: a bias up to L eta in a descent step.",
        method=Method.STEPS,
    )


gradient_variation = Claim(
    "002:Lem5 privacy",
    "xu2026",
    Kind.STEP,
    stated(
        "The gradient variation L |w_t - w_{{t-1}}|, w = (x, y), is L |y_t - y_{{t-1}}|: {equation} for the moves "
        "dx and dy of x and y.",
        equation=Eq(MOVES.left, MOVES.right, evaluate=False),
    ),
    "proof of Lemma 5",
    judge(MOVES, repaired="L |w_t - w_{t-1}| <= L (dx + dy); x moves by the step size in every descent step"),
)
