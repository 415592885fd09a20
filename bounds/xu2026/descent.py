"""Equation (9): the descent along (v, -u), in the proof of Lemma 4, and what is multiplied to it.

Letters as in ``lemma_4``, which states (9).

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Appendix B.1.
"""

from __future__ import annotations

from sympy import Derivative, Rational, exp, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, refuted
from dpcheck.bounds.evidence import Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import L, eta
from dpcheck.bounds.xu2026.lemma_4 import (
    MULTIPLIED,
    RIGHT,
    allowed,
    change,
    delta_1,
    error,
    excess,
    logs,
    nabla,
    slope,
    x,
    y,
)


@claim("002:(9)", Kind.STEP, location="equation (9)", right=RIGHT)
def descent() -> Decision:
    """For the steps of Algorithm 2, F(w_{{t+1}}) - F(w_t) is at most {right}, nabla the norm of nabla_t = (v, -u) and
    error the square of |grad F - nabla_t|.
    """
    value = x**2 / 2 - y**2 / 2
    rise = (value.subs(x, x - eta) - value).subs(y, 0)  # v = x > 0, so that the step is -eta
    g, inner = slope, symbols("inner", real=True)  # |grad F|, <grad F, nabla>
    dual = y - y**2 / 2
    return refuted(
        # Show that a step of length eta, as Algorithm 2 takes it, overshoots.
        Identity("F = x^2/2 - y^2/2 (of bounded slope further out), L = 1: v", Derivative(value, x), x),
        Identity("u, which leaves y where it is, at 0", Derivative(value, y), -y),
        Counterexample(
            "the step -eta v/|v| of Algorithm 2 from x = 1/100, alpha = 1/200, exact gradients, eta = 1/(2 L): F rises "
            "by .12, (9) wants a fall",
            change <= RIGHT,
            {
                change: rise.subs({x: Rational(1, 100), eta: Rational(1, 2)}),
                eta: Rational(1, 2),
                L: 1,
                nabla: Rational(1, 100),
                error: 0,
            },
        ),
        # Take steps -eta nabla_t: (9) holds with the true gradient, and fails with (grad_x F, -grad_y F).
        Identity(
            "for steps -eta nabla, the descent lemma's bound is (9) less eta/2 |grad F|^2, with the true gradient",
            -eta * inner + L * eta**2 / 2 * nabla**2,
            RIGHT.subs(error, g**2 - 2 * inner + nabla**2) - eta / 2 * g**2,
        ),
        Identity(
            "whose error is then 4 |grad_y F|^2 for exact u and v, against (v, -u)",
            lambda: (-y - y) ** 2,  # slope less what stands for it
            4 * y**2,
        ),
        Counterexample(
            "with (grad_x F, -grad_y F) for grad F: F = y - y^2/2 at y = 0 rises by 3/8 in the step eta u, eta = 1/2",
            change <= RIGHT,
            {change: dual.subs(y, Rational(1, 2)) - dual.subs(y, 0), eta: Rational(1, 2), L: 1, nabla: 1, error: 0},
        ),
        readings={
            "Algorithm 2's step of length eta in x, whatever grad F means": "refuted",
            "steps -eta nabla_t, error against the true gradient, which Lemma 1 cannot bound": "proved",
            "steps -eta nabla_t, error against (grad_x F, -grad_y F), which Lemma 1 bounds": "refuted",
        },
        repaired="a descent inequality for Phi with the error |v - grad Phi|, as for the population case",
        note="Algorithm 2 normalises its steps, and a step of length 1/(2 L) overshoots where the slope is small. "
        "Along (v, -u) the game's value also rises in y: (9) is a descent lemma for joint minimisation.",
        method=Method.ARITHMETIC,
    )


@claim("002:(9)->next", Kind.STEP, location="after equation (9)", right=MULTIPLIED)
def multiplied() -> Decision:
    """The whole right side of (9) may be multiplied by a logarithm: F(w_{{t+1}}) - F(w_t) is at most {right}."""
    value = symbols("x", positive=True) ** 2 / 2
    (x,) = value.free_symbols
    fall = value.subs(x, x - eta * nabla) - value
    at = ((x, 1), (L, 1))
    first = (*at, (nabla, 1), (eta, Rational(1, 2)), (error, 0), (delta_1, exp(-4)))
    second = (*at, (nabla, 2), (eta, Rational(1, 4)), (error, 1), (delta_1, exp(-2)))
    return refuted(
        Counterexample(
            "F = x^2/2 at x = 1, L = 1, exact gradient, eta = 1/(2 L), delta_1 = e^-4: F falls by 3/8, and the right "
            "side asks for 1/2",
            fall <= MULTIPLIED,
            first,
        ),
        Counterexample("delta_1 = e^-2, eta = 1/4, an estimate 2 of the gradient 1", fall <= MULTIPLIED, second),
        Inequality(
            "with the factor on the error alone the step holds for log(1/delta_1) >= 1",
            excess - allowed,
            logs * excess - allowed,
            over(excess, allowed, logs >= 1),
        ),
        repaired="log(1/delta_1) on the error term only",
        note="The right side is negative wherever there is progress, and a factor above one then asks for more than "
        "(9) gives.",
        method=(Method.ARITHMETIC, Method.PROVER),
    )
