r"""Lemma B.1: the duality gap between two quadratics.

Setting. f is mu_x-strongly convex in x and mu_y-strongly concave in y, with saddle point z* = (x*, y*);
kappa_x = ell/mu_x, kappa_y = ell/mu_y. By [1]

    gap(x, y) >= mu_x |x - x*|^2/2 + mu_y |y - y*|^2/2,
    gap(x, y) <= (kappa_y + 1) ell |x - x*|^2/2 + (kappa_x + 1) ell |y - y*|^2/2,

the second for a jointly ell-smooth f and an interior z*.

[1] L. Zhang, K. K. Thekumparampil, S. Oh, N. He. Bring Your Own Algorithm for Optimal Differentially
    Private Stochastic Minimax Optimization. NeurIPS 2022, Appendix B.1.
"""

from __future__ import annotations

from sympy import Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, claim, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Inequality, over
from dpcheck.bounds.symbols import ell, mu_x, mu_y

X, Y = symbols("X Y", positive=True)  # |x - x*|, |y - y*|
u = symbols("u", real=True)
ENERGY = mu_x * X**2 + mu_y * Y**2
QUADRATIC = (ell / mu_y + 1) * ell * X**2 / 2 + (ell / mu_x + 1) * ell * Y**2 / 2


@claim("Z21", Kind.LEMMA, location="Lemma B.1, first part", energy=ENERGY / 2)
def lower() -> Decision:
    """The duality gap at (x, y) is at least {energy}, where X = |x - x*| and Y = |y - y*|."""
    # excess: f(x, y*) - f(x*, y*); shortfall: f(x*, y*) - f(x*, y)
    excess, shortfall = symbols("excess shortfall", positive=True)
    return proved(
        Cited("max_y f(x, y) >= f(x, y*) and min_x f(x, y) <= f(x*, y)", "definition"),
        Cited(
            "f(x, y*) - f(x*, y*) >= mu_x |x - x*|^2/2 and f(x*, y*) - f(x*, y) >= mu_y |y - y*|^2/2",
            "strong convexity at the minimiser x* of f(., y*) and the maximiser y* of f(x*, .)",
        ),
        Inequality(
            "so that their sum, which the gap is at least, is at least half of the energy",
            ENERGY / 2,
            excess + shortfall,
            over((mu_x, mu_y, X, Y, excess, shortfall), mu_x * X**2 / 2 <= excess, mu_y * Y**2 / 2 <= shortfall),
        ),
        note="Two inequalities of strong convexity; attained by f = mu_x x^2/2 - mu_y y^2/2.",
    )


@claim("Z22", Kind.LEMMA, location="Lemma B.1, second part", bound=QUADRATIC)
def upper() -> Decision:
    """For a jointly ell-smooth f with an interior saddle the gap is at most {bound}, where X = |x - x*|
    and Y = |y - y*|.
    """
    # The boundary: f = x + x^2/2 - y^2/2 on [0, 1] x [-1, 1], ell = mu = 1, saddle (0, 0): gap(x, 0) = x + x^2/2.
    primal, dual = symbols("primal dual", positive=True)  # Phi(x) - Phi(x*), Psi(y*) - Psi(y)
    return proved(
        Cited("grad Phi(x) = grad_x f(x, y*(x)), and y*(.) is ell/mu_y-Lipschitz", "Danskin; strong concavity"),
        AtMost(
            "so that the square of grad Phi's constant, ell^2 (1 + (ell/mu_y)^2), is within that of ell (ell/mu_y + 1)",
            ell**2 * (1 + (ell / mu_y) ** 2),
            ((ell / mu_y + 1) * ell) ** 2,
        ),
        Cited("Phi(x) - Phi(x*) <= (kappa_y + 1) ell |x - x*|^2/2 where grad Phi(x*) = 0", "descent lemma"),
        Cited("grad Phi(x*) = 0 and grad Psi(y*) = 0 at an interior saddle", "first-order optimality"),
        Inequality(
            "the gap is the sum of the two differences",
            primal + dual,
            QUADRATIC,
            over(
                (mu_x, mu_y, ell, X, Y, primal, dual),
                primal <= (ell / mu_y + 1) * ell * X**2 / 2,
                dual <= (ell / mu_x + 1) * ell * Y**2 / 2,
            ),
        ),
        Counterexample(
            "without an interior saddle: f = x + x^2/2 - y^2/2 on [0, 1] x [-1, 1] at (x, 0)",
            u + u**2 / 2 <= (1 + 1) * u**2 / 2,
            {u: Rational(1, 2)},
        ),
        Counterexample(
            "each gradient Lipschitz in its own variable alone, ell = mu = 1: f = x^2/2 + 3 x y - y^2/2 has "
            "Phi = (1 + 9) x^2/2",
            10 * u**2 / 2 <= (1 + 1) * u**2 / 2,
            {u: 1},
        ),
        readings={
            "interior saddle, as the lemma assumes": "proved",
            "any saddle": "refuted",
            "each gradient Lipschitz in its own variable alone": "refuted",
        },
        note="Smoothness of the primal and the dual function, and a vanishing gradient at the interior saddle.",
    )
