r"""What the assumptions allow: domains, F_0, and the matrix-sensing instance.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Section 2, Theorem 1, Section 5.1.
"""

from __future__ import annotations

from sympy import Eq, Ge, Le, Rational, oo, symbols

from dpcheck.bounds.claim import Claim, Decision, Evidence
from dpcheck.bounds.evidence import Cited, Counterexample, Identity
from dpcheck.bounds.prover import Domain, Inequality
from dpcheck.bounds.symbols import mu

M, r, value, floor = symbols("M r value floor", positive=True)
curvature, x, y = symbols("curvature x y", real=True)


def _unbounded() -> Decision:
    steps = (
        Cited(
            "strong concavity from the maximiser y*: F(y*) - F(y) >= mu r^2/2 at distance r; M-Lipschitz: at most M r",
            "Assumptions 1 and 4",
        ),
        Counterexample("at r = 4 M/mu both cannot be", Le(mu * r**2 / 2, M * r), ((mu, 1), (M, 1), (r, 4))),
        Inequality(
            "within r <= 2 M/mu they can",
            mu * r**2 / 2,
            M * r,
            Domain({mu: (0, oo), M: (0, oo), r: (0, oo)}, where=(Le(r * mu, 2 * M),)),
        ),
    )
    evidence = Evidence(steps, repaired="Y compact, as the projection in Algorithm 3 suggests")
    return Decision(
        "refuted", "exact algebra", evidence, "No function is M-Lipschitz and strongly concave on all of R^d."
    )


def _stationary() -> Decision:
    steps = (
        Identity("F = x y - y^2/2, slope in y", (x * y - y**2 / 2).diff(y), x - y),
        Counterexample(
            "on Y = [-1, 1] at x = 2 the maximiser is 1, where the slope is 1", Eq(x - y, 0), ((x, 2), (y, 1))
        ),
        Cited("grad Phi(x) = grad_x f(x, y*(x)) all the same", "Danskin"),
        Cited("for Y = R^d, or an interior maximiser, the gradient vanishes", "first-order condition"),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("Y = R^d, or y*(x) interior", "proved"),
            ("the compact Y that the algorithm projects on", "refuted"),
        ),
        condition="y*(x) lies in the interior of Y, as it does for Y = R^d",
    )
    return Decision(
        "conditional",
        "exact arithmetic",
        evidence,
        "At the boundary of Y only the variational inequality holds; (4) survives by Danskin's theorem.",
    )


def _infimum() -> Decision:
    steps = (
        Cited(
            "f_S(x, .) is mu-strongly concave on R^d, so that f_S(x, y) <= f_S(x, y*) - mu |y - y*|^2/2", "Assumption 4"
        ),
        Counterexample(
            "f = -y^2/2: no floor holds, at y^2/2 = floor + 1", Ge(-value, -floor), ((value, 1001), (floor, 1000))
        ),
    )
    evidence = Evidence(steps, repaired="F_0 = Phi_S(x_0) - min Phi_S, the gap of the value function")
    return Decision(
        "refuted",
        "exact algebra",
        evidence,
        "The minimum over y of a strongly concave function on R^d is -infinity, so that F_0 is infinite.",
    )


def _sensing() -> Decision:
    steps = (
        Identity("one record's term, second derivative in its own y_i", (y * x - y**2 / 2).diff(y, 2), -1 + 0 * x),
        Counterexample(
            "and in every other direction of R^n it is 0, not at most -mu",
            Le(curvature, -mu),
            ((curvature, 0), (mu, Rational(1, 100))),
        ),
        Counterexample(
            "and (U V' - b) y is not Lipschitz: slope |A| |U| |y| at |U| = |y| = r beyond any M",
            Le(r * r, M),
            ((r, 11), (M, 100)),
        ),
    )
    evidence = Evidence(
        steps,
        readings=(
            ("every F(.; xi) satisfies A1 and A4 on the whole space", "refuted"),
            ("f on a bounded domain, with mu = 1/n", "proved"),
        ),
        condition="bounded U, V and y, and strong concavity asked of f alone, with mu = 1/n and hence kappa of order n",
    )
    return Decision(
        "conditional",
        "exact algebra",
        evidence,
        "Each record has its own dual coordinate: no single term is strongly concave on R^n, and "
        "the condition number of f grows with n.",
    )


CLAIMS = (
    Claim(
        "002:A1+A4",
        "xu2026",
        "domain",
        "F can be M-Lipschitz and mu-strongly concave in y on Y = R^{d2}.",
        "Assumptions 1 and 4",
        _unbounded,
    ),
    Claim(
        "002:grad y f(x,y*)=0", "xu2026", "domain", "grad_y f(x, y*(x)) = 0 always.", "before equation (4)", _stationary
    ),
    Claim("002:F0", "xu2026", "precondition", "F_0 = f_S(0) - min over x, y of f_S is finite.", "Theorem 1", _infimum),
    Claim(
        "002:Matrix sensing",
        "xu2026",
        "domain",
        "The matrix-sensing game with one dual variable a record satisfies the paper's assumptions.",
        "Section 5.1",
        _sensing,
    ),
)
