r"""Lemmas 3, 11, 12 and 14: the smoothness of Phi, the cross derivative of the loss, ascent, and one round of descent.

Lemmas 3 and 11: the smoothness of Phi, and the cross derivative.

By [1, Lemma 3], under Assumptions 1 and 3, Phi = max_y L(., y) is (l + kappa l)-smooth and y* is kappa-Lipschitz;
by [1, Lemma 11] |grad_xy L| <= l. Both use how grad_y L moves with x. Assumption 3 bounds how grad_x L moves with x
and how grad_y L moves with y, but not the cross term. The instance

    L = 3 h(x) y - y^2/2 on R x [-1/6, 1/6],   h odd, h' = 1 on [0, 1], 2 - x on [1, 2], 0 beyond,

meets Assumptions 1 to 4: |h| <= 3/2, |h'| <= 1, and h' is 1-Lipschitz, so that l_x <= 3/6, l_y = mu = 1,
l = kappa = 1. Its cross derivative is 3 about x = 0.

[1] R. Zhang et al. Improved Rates of Differentially Private Nonconvex-Strongly-Concave Minimax
    Optimization. AAAI 2025, Lemma 3; version with proofs, Lemma 11.

Lemma 12: stochastic gradient steps for a strongly convex function, with high probability.

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

[2] A. Rakhlin, O. Shamir, K. Sridharan. Making Gradient Descent Optimal for Strongly Convex Stochastic
    Optimization. ICML 2012.

Lemma 14: one round of PrivateDiff Minimax, x_r = x_{r-1} - eta v.

By [1, Lemma 14 and equation (49)], under Assumption 3 and for eta <= 1/(2 (l + kappa l)),

    |grad Phi(x_r)|^2 <= (2/eta)(Phi(x_{r-1}) - Phi(x_r)) - |x_r - x_{r-1}|^2/(2 eta^2) + 2 |v - grad Phi(x_{r-1})|^2.

The published derivation gives the inequality with x_{r-1} on the left, even with 1 for the last factor 2. At x_r the
inequality does not follow from the smoothness S = l + kappa l of Phi: Phi = -S x^2/2 breaks it. But such a Phi is not
a maximum of l-smooth functions, for which Phi + l |x|^2/2 is convex, and l <= S/2. This is enough, as follows.

Write g = grad Phi(x_{r-1}), g' = grad Phi(x_r), w = g - g', q = w + l eta v, e = l eta, b = eta (S + l). The
convex function Phi + l |x|^2/2 on R^{d_1} is (S + l)-smooth, so that [2, Theorem 2.1.5]

    (2/eta)(Phi(x_{r-1}) - Phi(x_r)) >= 2 <g', v> - e |v|^2 + |q|^2/b,     |q|^2 <= b <q, v>,

and with the first the right side of (49) less the left is at least

    |g' - v + 2 w|^2 + (1/2 - e - 2 e^2) |v|^2 + (1/b - 2) |q|^2 + 4 e <q, v>.

Here e <= 1/4, and the last two are nonnegative: if b > 1/2, by the second, since b = eta S + e and eta S <= 1/2.

[2] Y. Nesterov. Introductory Lectures on Convex Optimization. 2004.
"""

from __future__ import annotations

from fractions import Fraction

from sympy import E, Le, Rational, log, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Inequality, over
from dpcheck.bounds.symbols import T, kappa, t
from dpcheck.bounds.zhang2025.privatediff import clip

l, mu, moved, step, b, c = symbols("l mu moved step b c", positive=True)
RADIUS = Fraction(1, 6)
POINT = Fraction(1, 30)


def h(x: Fraction) -> Fraction:
    """Return the odd function that is x up to 1, then 2 x - (x^2 + 1)/2 up to 2, then 3/2."""
    size = min(abs(x), Fraction(2))
    value = size if size <= 1 else 2 * size - (size**2 + 1) / 2
    return value if x >= 0 else -value


def slope(x: Fraction) -> Fraction:
    """Return the derivative of ``h``."""
    return clip(2 - min(abs(x), Fraction(2)), 1)


def maximiser(x: Fraction) -> Fraction:
    """Return the maximiser y*(x) of the instance."""
    return clip(3 * h(x), RADIUS)


def gradient(x: Fraction) -> Fraction:
    """Return the gradient of Phi on the instance: ``grad_x L`` at ``y*(x)``."""
    return 3 * slope(x) * maximiser(x)


def value(x: Fraction) -> Fraction:
    """Return Phi on the instance."""
    return 3 * h(x) * maximiser(x) - maximiser(x) ** 2 / 2


@claim("003:Lem3", Kind.LEMMA, location="Lemma 3")
def smoothness() -> Decision:
    """Under Assumptions 1 and 3 Phi is (l + kappa l)-smooth and y* is kappa-Lipschitz."""
    return conditional(
        Enumerated("y*(0) = 0 and y*(1/30) is", maximiser, (POINT,), Fraction(1, 10)),
        Counterexample(
            "y* moves by 1/10 over 1/30, three times what kappa = 1 allows",
            moved <= kappa * step,
            {moved: Rational(1, 10), kappa: 1, step: Rational(1, 30)},
        ),
        Enumerated("the gradient of Phi, 0 at 0, at 1/30 is", gradient, (POINT,), Fraction(3, 10)),
        Counterexample(
            "and moves by nine times the step, against l + kappa l = 2",
            moved <= (l + kappa * l) * step,
            {moved: Rational(3, 10), l: 1, kappa: 1, step: Rational(1, 30)},
        ),
        Cited(
            "jointly l-smooth: mu |dy*|^2 <= <grad_y L(x, y*') - grad_y L(x', y*'), y* - y*'> <= l |dx| |dy*|",
            "strong concavity at x, optimality of y* and y*' over Y",
        ),
        Identity("hence y* is l/mu-Lipschitz", lambda: (l * step / mu) * mu, l * step),
        Cited("|d grad Phi| <= l |(dx, dy*)|, grad Phi(x) = grad_x L(x, y*(x))", "Danskin's theorem"),
        AtMost("|(dx, dy*)| <= |dx| + |dy*|, squared", step**2 + moved**2, (step + moved) ** 2),
        Identity("hence Phi is (l + kappa l)-smooth", l * (step + kappa * step), (l + kappa * l) * step),
        readings={
            "l-smooth in each block, as Assumption 3 says": "refuted",
            "jointly l-smooth, as in the source": "proved",
        },
        condition="the loss is l-smooth jointly in (x, y)",
        note="Assumption 3 bounds each block's own smoothness and leaves the cross term free.",
        method=(Method.ALGEBRA, Method.CITED, Method.ENUMERATION),
    )


@claim("004:Lem11", Kind.LEMMA, location="version with proofs, Lemma 11")
def cross() -> Decision:
    """Under Assumption 3 the norm of grad_xy L is at most l."""
    return conditional(
        Enumerated("the cross derivative of the instance is 3 h'(x), and h'(0) is", slope, (Fraction(0),), Fraction(1)),
        Counterexample("3 against l = 1", b <= l, {b: 3, l: 1}),
        Cited("the joint Hessian sends (0, v) to (grad_xy v, grad_yy v), of norm at most l |v|", "joint smoothness"),
        AtMost("and the first part is no longer than the whole, squared", b**2, b**2 + c**2),
        readings={"l of Assumption 3, as the proof has it": "refuted", "l the joint smoothness": "proved"},
        condition="the loss is l-smooth jointly in (x, y), and twice differentiable",
        note="True for a jointly smooth function, which Assumption 3 does not ask for.",
        method=(Method.ALGEBRA, Method.ENUMERATION),
    )


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
        AtMost("and each step adds at most one, t = 1 + k", (k * (1 + k)) / (1 + k) ** 2, 1),
        Below("(e^x - 1 - x)/x^2 increases with x and is below 1 at 1", E - 2, 1),
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


eta, S, e = symbols("eta S e", positive=True)
g, new, v, w, q, slack = symbols("g g' v w q slack", real=True)  # inner products expand as those of numbers
HALF = Rational(1, 2)


def blockwise_slack(x: Fraction, eta: Fraction) -> Fraction:
    """Return the right side of (49) less the left on the instance of Lemma 3, from ``x`` with v the exact gradient."""
    v = gradient(x)
    after = x - eta * v
    right = 2 / eta * (value(x) - value(after)) - v**2 / 2
    return right - gradient(after) ** 2


def concave_slack(x: Fraction, eta: Fraction, v: Fraction) -> Fraction:
    """Return the slack for Phi = -x^2/2 and any ``v``."""
    after = x - eta * v
    return 2 / eta * (after**2 - x**2) / 2 - v**2 / 2 + 2 * (v + x) ** 2 - after**2


@claim("004:Lem14", Kind.STEP, location="version with proofs, Lemma 14 and equation (49)")
def round() -> Decision:
    """Under Assumption 3, for eta <= 1/(2 (l + kappa l)) and x_r = x_{r-1} - eta v: |grad Phi(x_r)|^2 <=
    (2/eta)(Phi(x_{r-1}) - Phi(x_r)) - |x_r - x_{r-1}|^2/(2 eta^2) + 2 |v - grad Phi(x_{r-1})|^2.
    """
    return conditional(
        # The inequality at x_r, for a jointly smooth loss.
        Cited(
            "2 <g', v> - e |v|^2 + |q|^2/b at most (2/eta)(Phi(x_{r-1}) - Phi(x_r)), and |q|^2 <= b <q, v>",
            "[2, Theorem 2.1.5] for Phi + l |x|^2/2, a maximum of convex functions",
        ),
        Identity(
            "right side less left side, with w = q - e v and g = g' + w",
            (2 * new * v - e * v**2 + q**2 / b - v**2 / 2 + 2 * (v - new - w) ** 2 - new**2).subs(w, q - e * v),
            ((new - v + 2 * w) ** 2).subs(w, q - e * v)
            + (HALF - e - 2 * e**2) * v**2
            + (1 / b - 2) * q**2
            + 4 * e * q * v,
        ),
        Inequality(
            "e = l eta <= 1/4 for eta <= 1/(2 (l + kappa l)), kappa >= 1",
            l / (2 * (1 + kappa) * l),
            Rational(1, 4),
            over(kappa >= 1, l),
        ),
        Inequality("the factor of |v|^2", Rational(1, 8), HALF - e - 2 * e**2, over(e <= Rational(1, 4))),
        AtMost("b <= 1/2, written 1/(2 + k): the factor of |q|^2", 2, 2 + k),
        Inequality(
            "b > 1/2, b = eta S + e: (1/b - 2) |q|^2 >= (1 - 2 b) <q, v>, and 1 - 2 b + 4 e >= 0",
            2 * (eta * S + e),
            1 + 4 * e,
            over(eta, S, e <= Rational(1, 4), 2 * eta * S <= 1),
        ),
        # Give instances in which it fails: smooth in each block only, and a larger step.
        Enumerated(
            "smooth in each block only (003:Lem3), l = kappa = 1, eta = 1/4, x_{r-1} = 1/100: the slack is",
            blockwise_slack,
            (Fraction(1, 100), Fraction(1, 4)),
            Fraction(-2997, 160000),
        ),
        Counterexample("which is negative", Le(0, slack), {slack: Rational(-2997, 160000)}),
        Enumerated(
            "Phi = -x^2/2, smooth with S = 1, x_{r-1} = 1, eta = 1/2, v = -6/7: the slack is",
            concave_slack,
            (Fraction(1), Fraction(1, 2), Fraction(-6, 7)),
            Fraction(-2, 7),
        ),
        Counterexample("negative too, but l <= 1/2 leaves this Phi out", Le(0, slack), {slack: Rational(-2, 7)}),
        Identity(
            "the printed derivation: the square completed at x_{r-1}", -g * v + v**2 / 2, -(g**2) / 2 + (g - v) ** 2 / 2
        ),
        Inequality(
            "and 1/(2 eta^2) <= 1/eta^2 - S/eta for eta <= 1/(2 S)",
            1 / (2 * eta**2),
            1 / eta**2 - S / eta,
            over(eta, S, 2 * eta * S <= 1),
        ),
        readings={
            "Phi = max_y of a jointly l-smooth loss, as Lemma 3 has it": "proved",
            "Assumption 3 alone, smooth in each block": "refuted",
            "any (l + kappa l)-smooth Phi, all that the derivation uses": "refuted",
            "grad Phi(x_{r-1}) on the left, as the derivation gives": "proved",
        },
        condition="the loss is l-smooth jointly in (x, y) (003:Lem3)",
        repaired="the derivation has grad Phi(x_{r-1}) on the left, and there 1 for the last factor 2 is enough",
        note="The printed derivation gives x_{r-1}, not x_r. At x_r it is true as well, since a maximum of l-smooth "
        "functions is never more concave than l.",
        method=(Method.PROVER, Method.CITED, Method.ENUMERATION),
    )
