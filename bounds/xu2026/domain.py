r"""What the assumptions allow: domains, F_0, and the matrix-sensing instance.

[1] D. Xu et al. Finding Differentially Private Second Order Stationary Points in Stochastic Minimax
    Optimization. 2026, Section 2, Theorem 1, Section 5.1.
"""

from __future__ import annotations

from sympy import Derivative, Eq, Integer, Rational, log, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import Cited, Counterexample, Identity, Inequality, over
from dpcheck.bounds.symbols import mu

M, r, value, floor, count, residual = symbols("M r value floor n residual", positive=True)
curvature, x, y = symbols("curvature x y", real=True)
RECORD = (y * residual - y**2 / 2) / count  # one record's part of f, residual = <A, U V'> - b


@claim("002:A1+A4", Kind.ASSUMPTION, location="Assumptions 1 and 4")
def unbounded() -> Decision:
    """F can be M-Lipschitz and mu-strongly concave in y on the whole space, Y = R^d."""
    return refuted(
        Cited(
            "strong concavity from the maximiser y*: F(y*) - F(y) >= mu r^2/2 at distance r; M-Lipschitz: at most M r",
            "Assumptions 1 and 4",
        ),
        Counterexample("at r = 4 M/mu both cannot be", mu * r**2 / 2 <= M * r, {mu: 1, M: 1, r: 4}),
        Inequality("within r <= 2 M/mu they can", mu * r**2 / 2, M * r, over(mu, M, r, r * mu <= 2 * M)),
        repaired="Y compact, as the projection in Algorithm 3 suggests",
        note="No function is M-Lipschitz and strongly concave on all of R^d.",
        method=(Method.CITED, Method.ARITHMETIC, Method.PROVER),
    )


@claim("002:grad y f(x,y*)=0", Kind.ASSUMPTION, location="before equation (4)")
def stationary() -> Decision:
    """grad_y f(x, y*(x)) = 0 always."""
    return conditional(
        Identity("F = x y - y^2/2, slope in y", Derivative(x * y - y**2 / 2, y), x - y),
        Counterexample("on Y = [-1, 1] at x = 2 the maximiser is 1, where the slope is 1", Eq(x - y, 0), {x: 2, y: 1}),
        Cited("grad Phi(x) = grad_x f(x, y*(x)) all the same", "Danskin"),
        Cited("at an interior maximiser the gradient vanishes", "first-order condition"),
        readings={
            "y*(x) interior to a bounded Y": "proved",
            "every y*(x) in the compact Y that the algorithm projects on": "refuted",
        },
        condition="y*(x) lies in the interior of Y (Y = R^d, where it would, is excluded by Assumptions 1 and 4: "
        "claim 002:A1+A4)",
        note="At the boundary of Y only the variational inequality holds; (4) survives by Danskin's theorem.",
        method=Method.ARITHMETIC,
    )


@claim("002:F0", Kind.ASSUMPTION, location="Theorem 1")
def infimum() -> Decision:
    """F_0 = f_S(0) - min over x, y in R^d of f_S is finite, and the gap that the descent spends."""
    beyond = symbols("beyond", positive=True)
    dual = -(y**2) / 2  # f, for every x
    return refuted(
        Cited(
            "f_S(x, .) is mu-strongly concave on R^d, so that f_S(x, y) <= f_S(x, y*) - mu |y - y*|^2/2", "Assumption 4"
        ),
        Counterexample(
            "the minimum over y in R^d, as printed: f = -y^2/2 passes every floor, here -1000 at y = 45",
            dual >= -floor,
            {y: 45, floor: 1000},
        ),
        Inequality(
            "whatever the floor and mu: mu y^2/2 >= floor at y^2 = 2 floor/mu + beyond",
            floor,
            mu * (beyond + 2 * floor / mu) / 2,
            over(floor, mu, beyond),
        ),
        Counterexample(
            "over Y = [-1, 1], within Assumption 1, it is finite and not the gap Phi(0) - min Phi: f = -y^2/2, y_0 = 0 "
            "gives 1/2 against 0",
            Eq(dual.subs(y, 0) - dual.subs(y, 1), value),
            {value: 0},
        ),
        readings={
            "the minimum over R^d of a function that is strongly concave there: -infinity": "refuted",
            "the minimum over a compact Y: another number than the gap of Phi": "refuted",
        },
        repaired="F_0 = Phi_S(x_0) - min Phi_S, the gap of the value function",
        note="The minimum over y of a strongly concave function on R^d is -infinity, so that F_0 is infinite; on a "
        "compact Y it counts the depth of f in y. What a descent spends is the gap of Phi.",
        method=(Method.ARITHMETIC, Method.PROVER),
    )


@claim("002:Matrix sensing", Kind.ASSUMPTION, location="Section 5.1", record=RECORD)
def sensing() -> Decision:
    """The matrix-sensing game, to which each record adds {record} with a dual variable y of its own and the residual of
    U V' at it, is a nonconvex-strongly-concave minimax problem.
    """
    batch = symbols("batch", positive=True)
    u, v = symbols("u v", real=True)
    part = u * v * y  # the bilinear part in one dimension
    needed = count * log(Integer(40)) ** 2 / value ** Rational(1, 3)  # kappa log^2(4/delta_1) a^{-1/3}, a = value
    return conditional(
        Identity(
            "f in y_i: second derivative -1/n, and none mixed, since y_i is in one term",
            Derivative(RECORD, (y, 2)),
            -1 / count,
        ),
        Identity(
            "in U, V, in one dimension, f has the part u v y: second derivative", Derivative(part, (u, 2)), Integer(0)
        ),
        Identity("and the mixed one, so that it is indefinite where y is not 0", Derivative(part, u, v), y),
        Counterexample(
            "one record's F is flat in every other direction of R^n, where Assumption 4 wants at most -mu",
            curvature <= -mu,
            {curvature: 0, mu: Rational(1, 100)},
        ),
        Counterexample(
            "and (U V' - b) y is not Lipschitz: slope |A| |U| |y| at |U| = |y| = r beyond any M",
            r * r <= M,
            {r: 11, M: 100},
        ),
        Counterexample(
            "nor do the batches of Lemma 8 fit: n = 400, kappa >= n, a = 1/8, delta_1 = 1/10 ask for S_2 > n",
            needed <= batch,
            {count: 400, value: Rational(1, 8), batch: 400},
        ),
        readings={
            "f is nonconvex in (U, V) and strongly concave in y, mu = 1/n": "proved",
            "every F(.; xi) satisfies Assumptions 1, 2 and 4": "refuted",
            "the batches of Lemma 8 can be drawn for it": "refuted",
        },
        condition="strong concavity is asked of f alone, where mu = 1/n and kappa is n or more; the Assumptions, "
        "which ask it of every F(.; xi), fail",
        note="The sentence calls the game nonconvex-strongly-concave, which f is, with mu = 1/n; it does not say that "
        "the Assumptions hold, and they do not: each record has its own dual coordinate.",
    )
