r"""Lemma 12: stochastic gradient steps for a strongly convex function, with high probability.

By [1, Lemma 12], after [2, Proposition 1]: for F lambda-strongly convex on a convex set, unbiased stochastic
gradients of norm at most G, steps 1/(lambda t), theta < 1/e and T >= 4, with probability at least 1 - theta

    |w_t - w*|^2 <= a G^2/(lambda^2 t),  a = 624 log(log(T)/theta) + 1,  for all t <= T.

Proof, in units G = lambda = 1. Let D_t = |w_t - w*|^2, Z_t = <noise of the gradient, w_t - w*>. Then

    D_{t+1} <= (1 - 2/t) D_t + 2 Z_t/t + 1/t^2,   D_t <= 1,   |Z_t| <= 2,   E Z_t^2 <= D_t,
    D_{t+1} <= 2 S_t/(t (t - 1)) + 1/t,           S_t = sum_{i=2}^t (i - 1) Z_i.

For t <= a the claim is D_t <= 1. Beyond, t lies in some [u, 2u), u a power of two from 512 on. As
e^x <= 1 + x + x^2 for x <= 1, exp(S_t/(4u) - V_t/(4u)^2) with V_t = sum (i - 1)^2 D_i is a supermartingale up to 2u,
so that for all t < 2u, except with probability exp(-j),

    S_t <= V_t/(4u) + 4 u j.

There are at most log2(T) such u, so that j = log(log2(T)/theta) is enough for all of them. If D_i <= a/i for i <= t
then V_t <= a t (t - 1)/2, and D_{t+1} <= a/(2t) + 8 j/(t - 1) + 1/t <= a/(t + 1).

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, version with proofs, Lemma 12.
[2] A. Rakhlin, O. Shamir, K. Sridharan. Making Gradient Descent Optimal for Strongly Convex Stochastic
    Optimization. ICML 2012.
"""

from __future__ import annotations

from sympy import E, Integer, Rational, log, symbols

from dpcheck.bounds.claim import Decision, Kind, claim, proved
from dpcheck.bounds.evidence import AtMost, Below, Cited, Identity, Inequality, over
from dpcheck.bounds.symbols import T, t

k, u, j, a, logs, theta = symbols("k u j a logs theta", positive=True)
EXTRA = Rational(37, 100)  # at least log(log2(T)/theta) - log(log(T)/theta) = log(1/log 2)
LOGS = log(log(T) / theta)
PRINTED = 624 * logs + 1


@claim("004:Lem12", Kind.LEMMA, location="version with proofs, Lemma 12", bound=PRINTED, logs=LOGS)
def high_probability() -> Decision:
    """For a lambda-strongly convex F, unbiased stochastic gradients of norm at most G, steps 1/(lambda t), theta < 1/e
    and T >= 4: with probability 1 - theta, for all t <= T, |w_t - w*|^2 is at most ({bound}) G^2/(lambda^2 t),
    where logs = {logs}.
    """
    return proved(
        Cited(
            "the recursion in D_t; 1 >= |grad F(w_t)| >= |w_t - w*|; E Z_t^2 <= D_t",
            "projections do not expand; <grad F(w), w - w*> >= |w - w*|^2 by strong convexity",
        ),
        Identity(
            "t (t - 1) times the recursion telescopes: the factor of D_t", t * (t - 1) * (1 - 2 / t), (t - 1) * (t - 2)
        ),
        AtMost("and each step adds at most one, t = 1 + k", (k * (1 + k)) / (1 + k) ** 2, Integer(1)),
        Below("(e^x - 1 - x)/x^2 increases with x and is below 1 at 1", E - 2, Integer(1)),
        Cited("a nonnegative supermartingale from 1 ever exceeds e^j with chance at most e^-j", "Ville's inequality"),
        AtMost("steps up to 2u have (i - 1) |Z_i|/(4u) <= 1, i - 1 = 2u/(1 + k)", 2 * u / (1 + k) * 2 / (4 * u), 1),
        Below("log(1/log 2) is below 0.37", log(1 / log(2)), EXTRA),
        Inequality("logs = log(log(T)/theta) is at least 1", 1, LOGS, over(T >= 4, theta <= 1 / E)),
        AtMost("so that a >= 625 > 512 and only u >= 512 are needed, logs = 1 + k", 625, PRINTED.subs(logs, 1 + k)),
        AtMost("V_t <= a t (t - 1)/2: (i - 1)^2/i <= i - 1, i = 1 + k", k**2 / (1 + k), k),
        Identity(
            "the bound on D_{t+1}, t = 1 + k",
            (2 / (t * (t - 1)) * (a * t * (t - 1) / 2 / (4 * u) + 4 * u * j) + 1 / t).subs(t, 1 + k),
            (a / (4 * u) + 8 * u * j / (t * (t - 1)) + 1 / t).subs(t, 1 + k),
        ),
        Inequality(
            "t/2 <= u <= t and j <= logs + 0.37: it is within a/(t + 1)",
            PRINTED / (2 * t) + 8 * (logs + EXTRA) / (t - 1) + 1 / t,
            PRINTED / (t + 1),
            over(t >= 625, logs >= 1),
        ),
        AtMost("u = t/(1 + k) <= t in its middle term", 8 * t / (1 + k) * j / t, 8 * j),
        repaired="the same proof gives a far smaller constant than 624 for large t",
        note="As in its source. With bounded increments that grow with t, one martingale inequality for all t needs "
        "the blocks [u, 2u); the constant has ample room for them. Algorithm 4's minibatches are drawn afresh, so its "
        "gradients are unbiased given the past, as the lemma supposes.",
    )
