r"""Lemmas 3 to 5, 11 and 14: the smoothness of Phi, and what a step of DP-SGDA or a round of PrivateDiff Minimax gains.

The instance of Lemmas 3 and 11, l = kappa = 1, whose cross derivative is 3 about x = 0, is

    L = 3 h(x) y - y^2/2 on R x [-1/6, 1/6],   h odd, h' = 1 on [0, 1], 2 - x on [1, 2], 0 beyond.

Lemma 14 is about one round x_r = x_{r-1} - eta v with eta <= 1/(2 (l + kappa l)). A Phi that is a maximum of l-smooth
functions makes Phi + l |x|^2/2 convex, and (S + l)-smooth for S = l + kappa l. With g = grad Phi(x_{r-1}), g' =
grad Phi(x_r), w = g - g', q = w + l eta v, e = l eta, b = eta (S + l) this gives [2, Theorem 2.1.5]

    (2/eta)(Phi(x_{r-1}) - Phi(x_r)) >= 2 <g', v> - e |v|^2 + |q|^2/b,     |q|^2 <= b <q, v>,

and with the first the right side of (49) less the left is at least

    |g' - v + 2 w|^2 + (1/2 - e - 2 e^2) |v|^2 + (1/b - 2) |q|^2 + 4 e <q, v>.

[2] Y. Nesterov. Introductory Lectures on Convex Optimization. 2004.
"""

from fractions import Fraction

from sympy import Le, Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, Verdict, claim, conditional
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import kappa
from dpcheck.bounds.zhang2025 import privatediff

mu, moved, step, b, c, k, S, e, l = symbols("mu moved step b c k S e l", positive=True)
RADIUS = Fraction(1, 6)
POINT = Fraction(1, 30)


def h(x: Fraction) -> Fraction:
    """Return the odd function that is x up to 1, then 2 x - (x^2 + 1)/2 up to 2, then 3/2."""
    size = min(abs(x), Fraction(2))
    value = size if size <= 1 else 2 * size - (size**2 + 1) / 2
    return value if x >= 0 else -value


def slope(x: Fraction) -> Fraction:
    """Return the derivative of ``h``."""
    return privatediff.clip(2 - min(abs(x), Fraction(2)), 1)


def maximiser(x: Fraction) -> Fraction:
    """Return the maximiser y*(x) of the instance."""
    return privatediff.clip(3 * h(x), RADIUS)


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
        Enumerated("the cross derivative of the instance is 3 h'(x), and h'(0) is", slope, (Fraction(0),), 1),
        Counterexample("3 against l = 1", b <= l, {b: 3, l: 1}),
        Cited("the joint Hessian sends (0, v) to (grad_xy v, grad_yy v), of norm at most l |v|", "joint smoothness"),
        AtMost("and the first part is no longer than the whole, squared", b**2, b**2 + c**2),
        readings={"l of Assumption 3, as the proof has it": "refuted", "l the joint smoothness": "proved"},
        condition="the loss is l-smooth jointly in (x, y), and twice differentiable",
        note="True for a jointly smooth function, which Assumption 3 does not ask for.",
        method=(Method.ALGEBRA, Method.ENUMERATION),
    )


SMOOTH = (1 + kappa) * l  # of Phi
eta, theta, N_x, N_y, size, off = symbols("eta theta N_x N_y g h", positive=True)
HERE = Fraction(1, 64)  # eta = 1/(16 (kappa + 1)^2 l) at kappa = l = 1


def tracking_error(x: Fraction) -> Fraction:
    """Return theta_t on the instance of Lemma 3 after one step of eta from (x, y*(x)), without noise."""
    after = x - HERE * gradient(x)
    return (maximiser(x) - maximiser(after)) ** 2


def steep_value(x: Fraction) -> Fraction:
    """Return Phi of L = 10 h(x) y - y^2/2 on R x [-1/10, 1/10], h as in Lemma 3; A1 to A4 hold, l = kappa = 1."""
    y = privatediff.clip(10 * h(x), Fraction(1, 10))
    return 10 * h(x) * y - y**2 / 2


def steep_gradient(x: Fraction) -> Fraction:
    """Return the gradient of Phi as in :func:`steep_value`."""
    return 10 * slope(x) * privatediff.clip(10 * h(x), Fraction(1, 10))


def steep_step(x: Fraction) -> Fraction:
    """Return Phi of :func:`steep_value` after one step of eta from (x, y*(x)), without noise."""
    return steep_value(x - HERE * steep_gradient(x))


# Lemma 5's right side: N_x is B^2/m + E|xi|^2, N_y is B^2/m + E|zeta|^2
before, after, later = symbols("before after later", real=True)  # Phi(x_{t-1}), Phi(x_t), theta_t
CONTRACTED = (
    (1 - 1 / (2 * kappa) + 4 * kappa**3 * eta**2 * l**2) * theta
    + 4 * kappa**3 * eta**2 * size**2
    + 2 * kappa**3 * eta**2 * N_x
    + 2 / l**2 * N_y
)
DESCENT = (2 * SMOOTH * eta**2 - eta / 2) * size**2 + SMOOTH * eta**2 * N_x + (2 * SMOOTH * eta**2 + eta / 2) * off**2
JOINT = "the loss is l-smooth jointly in (x, y), not only in each block"
SMOOTHNESS: dict[str, Verdict] = {JOINT: "proved", "l-smooth in each block, as Assumption 3 says": "refuted"}


@claim("004:Lem4", Kind.STEP, location="version with proofs, Lemma 4")
def descent() -> Decision:
    """Inequality (7): for the steps of DP-SGDA, E Phi(x_t) is at most Phi(x_{{t-1}}) + {DESCENT} with eta = eta_x, g =
    |grad Phi(x_{{t-1}})|, h = |grad Phi(x_{{t-1}}) - grad_x L(x_{{t-1}}, y_{{t-1}})| and N_x = B^2/m + E|xi|^2.
    """
    # g = |grad Phi|, h = |grad Phi - grad_x L|; before and after are Phi(x_{t-1}) and Phi(x_t)
    at = {kappa: 1, l: 1, eta: Rational(1, 64), size: Rational(1, 2)}
    return conditional(
        Quoted("Phi is (l + kappa l)-smooth", "003:Lem3", "jointly l-smooth, as in the source"),
        Cited(
            "E|step|^2 <= eta^2 2 (|grad_x L|^2 + B^2/m + E|xi|^2); nothing is clipped for C_1 >= G_x", "Algorithm 1"
        ),
        Cited("|grad_x L|^2 <= 2 h^2 + 2 g^2 and <grad Phi, grad Phi - grad_x L> <= (g^2 + h^2)/2", "Young"),
        Identity(
            "collected",
            -eta * size**2 + eta * (size**2 + off**2) / 2 + SMOOTH / 2 * eta**2 * 2 * (2 * off**2 + 2 * size**2 + N_x),
            DESCENT,
        ),
        Enumerated("L = 10 h(x) y - y^2/2: Phi(1/200) is", steep_value, (Fraction(1, 200),), Fraction(1, 800)),
        Enumerated("its gradient there is", steep_gradient, (Fraction(1, 200),), Fraction(1, 2)),
        Enumerated(
            "and Phi(x_t), one step without noise later, is", steep_step, (Fraction(1, 200),), Fraction(81, 204800)
        ),
        Counterexample(
            "smooth in each block only: 81/204800 is not at most 1/800 + (7)'s other terms, which is -47/102400",
            Le(after, before + DESCENT.subs({off: 0, N_x: 0}), evaluate=False),
            {after: Rational(81, 204800), before: Rational(1, 800), **at},
        ),
        readings=SMOOTHNESS,
        condition=JOINT,
        note="The proof uses Lemma 3, which Assumption 3 does not give (003:Lem3). The factor 2 on the squared step "
        "is not even needed, since minibatch and noise have errors of mean zero.",
        method=(Method.ALGEBRA, Method.ENUMERATION),
    )


@claim("004:Lem5", Kind.STEP, location="version with proofs, Lemma 5")
def contraction() -> Decision:
    """For eta_y = 1/l, theta_t = E|y_t - y*(x_t)|^2 is at most {CONTRACTED} with eta = eta_x, theta = theta_{{t-1}}, g
    = |grad Phi(x_{{t-1}})|, N_x = B^2/m + E|xi|^2 and N_y = B^2/m + E|zeta|^2.
    """
    young_1, factor = 1 / (2 * (kappa - 1)), 1 - 1 / kappa
    move = eta**2 * (2 * l**2 * theta + 2 * size**2 + N_x)
    letters = (theta, eta, l, size, N_x, N_y)
    here = {kappa: 1, l: 1, eta: Rational(1, 64), size: Rational(3, 10)}
    return conditional(
        Cited(
            "one projected ascent step of 1/l: E|y_t - y*(x_{t-1})|^2 <= (1 - 1/kappa) theta + N_y/l^2",
            "contraction of the gradient map; the noise has mean zero",
        ),
        Quoted("y* is kappa-Lipschitz", "003:Lem3", "jointly l-smooth, as in the source"),
        Cited("E|x_t - x_{t-1}|^2 <= eta^2 (2 l^2 theta + 2 g^2 + N_x)", "joint smoothness; the proof of Lemma 4"),
        Identity(
            "Young's inequality with 1/(2 (kappa - 1))", lambda: (1 + young_1) * factor, (2 * kappa - 1) / (2 * kappa)
        ),
        Inequality(
            "kappa >= 3/2: the two parts are within the printed right side",
            (1 + young_1) * (factor * theta + N_y / l**2) + (2 * kappa - 1) * kappa**2 * move,
            CONTRACTED,
            over(*letters, kappa >= Rational(3, 2)),
        ),
        Inequality(
            "1 <= kappa <= 3/2: so they are with Young's parameter 1",
            2 * (factor * theta + N_y / l**2) + 2 * kappa**2 * move,
            CONTRACTED,
            over(*letters, kappa >= 1, kappa <= Rational(3, 2)),
        ),
        Enumerated("the instance of Lemma 3 from x = 1/30: theta_t is", tracking_error, (POINT,), Fraction(81, 409600)),
        Enumerated("and the gradient of Phi at 1/30 is", gradient, (POINT,), Fraction(3, 10)),
        Counterexample(
            "smooth in each block only, theta_{t-1} = 0 and no noise: theta_t is 9/4 of the right side",
            Le(later, CONTRACTED.subs({theta: 0, N_x: 0, N_y: 0}), evaluate=False),
            {later: Rational(81, 409600), **here},
        ),
        readings=SMOOTHNESS,
        condition=JOINT,
        note="The proof uses Lemma 3, which Assumption 3 does not give (003:Lem3). It doubles the noise on the way, "
        "which the loss in Young's inequality needs; k in the statement is kappa.",
        method=(Method.PROVER, Method.CITED, Method.ENUMERATION),
    )


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
