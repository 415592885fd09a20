r"""Lemmas 7 to 11: the primal function, descent in it, and contraction of the dual iterate.

Setting. F_S is L-smooth, rho-strongly concave in v over a bounded convex V, and mu-PL in w; R_S(w) is its
maximum over v, attained at v(w). a_t = E[R_S(w_t) - min R_S], b_t = E|v(w_t) - v_t|^2. The steps eta and theta (eta_w
and eta_v in [1]) use minibatch gradients of variance B_w^2/m and B_v^2/m, with noise added; N_w and N_v are
B^2/m + d sigma^2 of the two blocks. Lemmas 9 to 11 need W = R^{d1}, which [1] does not state.

Instances. Steps of Algorithm 1 without noise, in rational arithmetic, on F = q w + p w^2/2 + c w v - rho v^2/2 with
|v| <= 1, and w real, or in [0, 1] if ``walled``. In each of them R_S has its minimum 0 at w = 0.
"""

from fractions import Fraction
from typing import Any

from sympy import Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, d, m, mu, rho, sigma_v, sigma_w
from dpcheck.bounds.symbols import eta_v as theta
from dpcheck.bounds.symbols import eta_w as eta

young, a, b, g, h, N_w, N_v, lam = symbols("e a b g h N_w N_v lambda", positive=True)
B_w, B_v, between, square = symbols("B_w B_v between square", positive=True)
value, low, least = symbols("value low least", real=True)
after = symbols("after", nonnegative=True)
X = symbols("X", positive=True)  # the smoothness of R_S, which is
SMOOTH = L + L**2 / rho
K_1 = 1 - mu * eta + lam * (1 + 1 / young) * 4 * L**2 / rho**2 * X * eta**2
K_2 = L**2 * eta / (2 * lam) + (1 + young) * (1 - rho * theta) + (1 + 1 / young) * 2 * L**4 / rho**2 * eta**2
LEMMA_9 = (1 - mu * eta) * a + L**2 * eta / 2 * b + X * eta**2 / 2 * N_w
LEMMA_11 = (
    K_1 * a
    + K_2 * lam * b
    + X * eta**2 / 2 * N_w
    + 2 * (1 + 1 / young) * lam * L**2 / rho**2 * eta**2 * N_w
    + lam * (1 + young) * theta**2 * N_v
)
DESCENT = "eta_w <= 1/(L + L^2/rho) and W = R^{d1}, B_w a standard deviation"
CONTRACTION = "2 L^4/rho^2, as at the end of the proof, eta_v <= 1/L and W = R^{d1}, B_w and B_v standard deviations"
RECURSION = "W = R^{d1}, a_t the excess over R_S^*, B_w and B_v standard deviations"
UNCONSTRAINED = "W = R^{d1}, so that w is not projected (not stated in the paper)"
DEVIATIONS = "B_w and B_v bound standard deviations (Y24)"
VARIANCE = Quoted("a minibatch's gradient has variance B^2/m at most", "Y24", "B bounds the standard deviation")


def printed(side: Any) -> Any:
    """Write a side with the paper's own expressions for X, N_w and N_v."""
    return side.subs({X: SMOOTH, N_w: B_w**2 / m + d * sigma_w**2, N_v: B_v**2 / m + d * sigma_v**2})


def lemma_10_bound(power: int) -> Any:
    """Return the right side of Lemma 10, with rho to this power below 2 L^4."""
    return (
        ((1 + 1 / young) * 2 * L**4 / rho**power * eta**2 + (1 + young) * (1 - rho * theta)) * b
        + (1 + 1 / young) * eta**2 * L**2 / rho**2 * N_w
        + (1 + 1 / young) * 4 * L**2 / rho**2 * X * eta**2 * a
        + (1 + young) * theta**2 * N_v
    )


PRINTED_9, PRINTED_10, PRINTED_11 = printed(LEMMA_9), printed(lemma_10_bound(1)), printed(LEMMA_11)


def primal_error(q: Fraction, p: Fraction, c: Fraction, rho: Fraction, *rest: Fraction) -> Fraction:
    """Return R_S - min R_S after :func:`step`; with step sizes 0, before it."""
    w, _ = step(q, p, c, rho, *rest)
    best = _maximiser(c, rho, w)
    return q * w + p * w * w / 2 + c * w * best - rho * best * best / 2


def dual_error(q: Fraction, p: Fraction, c: Fraction, rho: Fraction, *rest: Fraction) -> Fraction:
    """Return |v(w) - v|^2 after :func:`step`; with step sizes 0, before it."""
    w, v = step(q, p, c, rho, *rest)
    return (_maximiser(c, rho, w) - v) ** 2


def step(
    q: Fraction, p: Fraction, c: Fraction, rho: Fraction, walled: Fraction,
    w: Fraction, v: Fraction, eta_w: Fraction, eta_v: Fraction,
) -> tuple[Fraction, Fraction]:  # fmt: skip
    """Return w and v after one step from (w, v)."""
    w, v = w - eta_w * (q + p * w + c * v), clipped(-1, v + eta_v * (c * w - rho * v), 1)
    return (clipped(0, w, 1) if walled else Fraction(w)), v


def _maximiser(c: Fraction, rho: Fraction, w: Fraction) -> Fraction:
    return clipped(-1, c * w / rho, 1)


def clipped(low: int, value: Fraction, high: int) -> Fraction:
    """Return the point of an interval that is nearest to a value."""
    return max(Fraction(low), min(Fraction(high), Fraction(value)))


@claim("Y25", Kind.LEMMA, location="Lemma 7", smooth=SMOOTH, lipschitz=L / rho)
def smooth() -> Decision:
    """R_S has the gradient of F_S in w at its maximiser v(w), is ({smooth})-smooth, and v(.) is
    ({lipschitz})-Lipschitz.
    """
    return proved(
        Cited(
            "rho |v(w) - v(w')|^2 <= <grad_v F(w, v(w')) - grad_v F(w', v(w')), v(w) - v(w')> by strong concavity and "
            "the optimality of both over V",
            "variational inequalities",
        ),
        Inequality(
            "with Cauchy-Schwarz and smoothness rho |dv|^2 <= L |dw| |dv|, so that |dv| <= (L/rho)|dw|",
            h,
            L / rho * g,
            over(L, rho, g, h, rho * h**2 <= L * g * h),
        ),
        Cited(
            "grad R_S(w) = grad_w F_S(w, v(w))",
            "Danskin; V closed and convex, the maximiser one point that moves continuously, so that a bounded part of "
            "V will do",
        ),
        Inequality(
            "L |(dw, dv)| with |dv| <= (L/rho)|dw| is at most (L + L^2/rho)|dw|, squared",
            L**2 * (g**2 + h**2),
            SMOOTH**2 * g**2,
            over(L, rho, g, h, rho * h <= L * g),
        ),
        note="As cited there; V is closed. Smoothness is used at points of W x V only.",
    )


@claim("Y26", Kind.LEMMA, location="Lemma 8")
def inherits() -> Decision:
    """R_S satisfies the PL condition with the constant mu of F_S(., v)."""
    return proved(
        Quoted("grad R_S(w) = grad_w F_S(w, v(w))", "Y25"),
        Cited(
            "square = |grad_w F_S(w, v)|^2 is at least 2 mu (value - low), low = min over w' of F_S(w', v), at "
            "v = v(w), where value = F_S(w, v) = R_S(w)",
            "PL in w for every v",
        ),
        Cited(
            "low <= least, the min over w' of max over v of F_S(w', v)",
            "a value is at most the maximum; both minima exist, the second since F_S has a saddle point",
        ),
        Inequality(
            "hence the PL condition of R_S",
            2 * mu * (value - least),
            square,
            over(mu, square, value, low, least, square >= 2 * mu * (value - low), low <= least),
        ),
        note="The printed proof holds, on any W: the gradient of Definition 2 is the full one in the assumption and "
        "in the conclusion.",
    )


# Instances: q, p, c, rho, walled, w, v. The second has |Hessian| <= 1: its rows sum to 1 at most.
WALL = (1, 0, 0, Fraction(1, 100), 1, 1, 0)
CURVED = (0, Fraction(1, 10), Fraction(9, 10), Fraction(1, 16), 0, 0, 1)
COUPLED = (1, 0, Fraction(1, 2), Fraction(1, 2), 1, Fraction(1, 100), Fraction(1, 100))
OVERSHOOT = (
    Enumerated(
        "F = w - rho v^2/2, W = [0, 1], L = rho = 1/100, mu = 1/2, at w = 1, v = v(w) = 0: the excess a_t",
        primal_error,
        (*WALL, 0, 0),
        1,
    ),
    Enumerated(
        "after a step eta_w = 10 <= 1/(L + L^2/rho) = 50, projected on W, a_{t+1}", primal_error, (*WALL, 10, 1), 0
    ),
)
QUIET = {B_w: 0, sigma_w: 0, B_v: 0, sigma_v: 0, m: 1, d: 1}
AT_WALL = {L: Rational(1, 100), rho: Rational(1, 100), mu: Rational(1, 2), eta: 10, a: 1, b: 0, **QUIET}


@claim("Y28", Kind.LEMMA, location="Lemma 9", bound=PRINTED_9)
def descent() -> Decision:
    """a_{{t+1}} is at most {bound} for every step, a = a_t and b = b_t."""
    return conditional(
        Cited(
            "E g = grad_w F_S(w_t, v_t), E|g|^2 = |grad_w F_S|^2 + N_w at most; no projection acts on w",
            "Algorithm 1 on W = R^{d1}; A2",
        ),
        VARIANCE,
        Quoted("R_S is X-smooth", "Y25"),
        Identity(
            "-eta <p, q> + eta |q|^2/2 = -eta |p|^2/2 + eta |p - q|^2/2, p = grad R_S, q = grad_w F_S",
            -eta * g * h + eta * h**2 / 2,
            -eta * g**2 / 2 + eta * (g - h) ** 2 / 2,
        ),
        Inequality(
            "X eta <= 1 lets eta/2 take the place of X eta^2/2", X * eta**2 / 2, eta / 2, over(eta, X, X * eta <= 1)
        ),
        Cited("|p - q|^2 <= L^2 |v(w_t) - v_t|^2", "smoothness between points of W x V"),
        Quoted("|p|^2 >= 2 mu a_t", "Y26"),
        # Steps beyond the condition, with and without a projection.
        Enumerated(
            "f = w^2/2 - v^2/2 on W = R, at w = 1, v = 0, without noise, eta_w = 3: a_{t+1}",
            primal_error,
            (0, 1, 0, 1, 0, 1, 0, 3, 0),
            2,
        ),
        Counterexample(
            "which is above the right side, with a_t = 1/2",
            after <= PRINTED_9,
            {after: 2, eta: 3, mu: 1, a: Rational(1, 2), b: 0, L: 1, rho: 1, **QUIET},
        ),
        *OVERSHOOT,
        Counterexample(
            "which is above the right side: with a projection the step condition is not enough",
            after <= PRINTED_9,
            {after: 0, **AT_WALL},
        ),
        readings={
            "any step, as stated": "refuted",
            "eta_w <= 1/(L + L^2/rho), as in the proof and Lemma 11, on a W that w is projected on": "refuted",
            DESCENT: "proved",
        },
        condition=f"eta_w <= 1/(L + L^2/rho), {UNCONSTRAINED}, and {DEVIATIONS}",
        note="The step condition that its proof and Lemma 11 name is missing, and its proof leaves out the projection "
        "of w.",
        method=(Method.PROVER, Method.ARITHMETIC),
    )


def at(*values: Any) -> dict[Any, Any]:
    """Return values of b_{t+1}, L, rho, the steps, e, a_t and b_t in Lemma 10, without noise."""
    return {**dict(zip((after, L, rho, eta, theta, young, a, b), values, strict=True)), **QUIET}


@claim("Y29", Kind.LEMMA, location="Lemma 10", bound=PRINTED_10)
def contraction() -> Decision:
    """b_{{t+1}} is at most {bound} for every step and e > 0, a = a_t and b = b_t."""
    curved, moved = Rational(133610481, 46240000), Rational(40401, 1600000000)  # b_{t+1} in two instances
    return conditional(
        # The inequality with 2 L^4/rho^2, for steps within the condition and W = R^{d1}.
        Cited("|v_{t+1} - v(w_{t+1})|^2 <= (1 + e)|v_{t+1} - v(w_t)|^2 + (1 + 1/e)|v(w_t) - v(w_{t+1})|^2", "Young"),
        Cited(
            "|v(w_t) - v(w_{t+1})|^2 <= kappa^2 eta^2 (2 L^2 b_t + 2 |grad R_S|^2 + N_w), and on W = R^{d1} "
            "|grad R_S|^2 <= 2 X a_t",
            "v(.) is kappa-Lipschitz, R_S X-smooth",
        ),
        Quoted("both moduli", "Y25"),
        VARIANCE,
        Identity(
            "the coefficients of b_t and a_t are those of the printed proof, with rho^2 below 2 L^4",
            (1 + young) * (1 - rho * theta) * b + (1 + 1 / young) * (L / rho * eta) ** 2 * (2 * L**2 * b + 4 * X * a),
            lemma_10_bound(2).subs({N_w: 0, N_v: 0}),
        ),
        Cited(
            "|v_{t+1} - v(w_t)|^2 <= |(1 - eta_v A)(v_t - v(w_t))|^2 + eta_v^2 N_v, A the mean of -Hessian in v along "
            "the segment from v_t to v(w_t), with eigenvalues between rho and L",
            "the projected step on F_S(w_t, .) has the fixed point v(w_t), and projections bring points together; the "
            "segment lies in V, smooth approximations where F_S has no Hessian",
        ),
        Counterexample(
            "[1, (17)] argues by |grad_v F_S(w, v)|^2/(2 L) <= F_S(w, v(w)) - F_S(w, v), which fails at a wall of V: "
            "F_S = -(v - 2)^2/2 on |v| <= 1 at v = v(w) = 1; the contraction does not need it",
            g**2 / (2 * L) <= h,
            {g: 1, L: 1, h: 0},
        ),
        Inequality(
            "for eta_v <= 1/L each eigenvalue of (1 - eta_v A)^2 is at most 1 - rho eta_v",
            (1 - theta * between) ** 2,
            1 - rho * theta,
            over(theta, between, rho, L, rho <= between, between <= L, L * theta <= 1),
        ),
        # Instances above the bound: any step, and 2 L^4/rho.
        Enumerated(
            "any step: F = -v^2/2, |v| <= 1, at v = 1/2, eta_v = 3, eta_w = 1/100: b_{t+1}",
            dual_error,
            (0, 0, 0, 1, 0, 0, Fraction(1, 2), Fraction(1, 100), 3),
            1,
        ),
        Counterexample(
            "which is above the printed right side at e = 1",
            after <= PRINTED_10,
            at(1, 1, 1, Rational(1, 100), 3, 1, 0, Rational(1, 4)),
        ),
        Enumerated(
            "steps within 1/(L + L^2/rho) and 1/L: F = w^2/20 + (9/10) w v - v^2/32, L = 1, rho = 1/16, W = R, at "
            "w = 0, v = 1, eta_w = 1/17, eta_v = 1: b_{t+1}",
            dual_error,
            (*CURVED, Fraction(1, 17), 1),
            curved,
        ),
        Counterexample(
            "which is above the right side with 2 L^4/rho at e = 1",
            after <= PRINTED_10,
            at(curved, 1, Rational(1, 16), Rational(1, 17), 1, 1, 0, 1),
        ),
        # An instance above the bound with 2 L^4/rho^2, on a W with a wall.
        Enumerated(
            "a wall: F = w + w v/2 - v^2/4, |v| <= 1, L = 1, rho = 1/2, mu = 1/4, W = [0, 1], at w = v = 1/100 = v(w): "
            "a_t",
            primal_error,
            (*COUPLED, 0, 0),
            Fraction(401, 40000),
        ),
        Enumerated(
            "after eta_w = 1/200, eta_v = 1, without noise: b_{t+1}", dual_error, (*COUPLED, Fraction(1, 200), 1), moved
        ),
        Counterexample(
            "which is above the right side with 2 L^4/rho^2 at e = 100: |grad R_S|^2 <= 2 X a_t fails at a wall",
            after <= printed(lemma_10_bound(2)),
            at(moved, 1, Rational(1, 2), Rational(1, 200), 1, 100, Rational(401, 40000), 0),
        ),
        readings={
            "2 L^4/rho, any step": "refuted",
            "2 L^4/rho, eta_w <= 1/(L + L^2/rho) and eta_v <= 1/L, W = R^{d1}": "refuted",
            "2 L^4/rho^2 and eta_v <= 1/L, on any W": "refuted",
            CONTRACTION: "proved",
        },
        differs="exponent",
        condition="rho^2 in place of rho below 2 L^4, as the proof and Lemma 11 have it, eta_v <= 1/L, "
        f"{UNCONSTRAINED}, and {DEVIATIONS}",
        note="A square, the step condition and the condition on W are missing in the statement.",
        method=(Method.ALGEBRA, Method.ARITHMETIC, Method.PROVER),
    )


@claim("Y30", Kind.LEMMA, location="Lemma 11", bound=PRINTED_11)
def recursion() -> Decision:
    """For steps below 1/(L + L^2/rho) and 1/L and non-increasing lambda_t, a_{{t+1}} + lambda_{{t+1}} b_{{t+1}} is at
    most {bound}, a = a_t, b = b_t and lambda = lambda_t.
    """
    combined = LEMMA_9 + lam * lemma_10_bound(2)
    return conditional(
        Quoted("Lemma 9, with its step condition, which the statement has", "Y28", DESCENT),
        Quoted("Lemma 10, likewise", "Y29", CONTRACTION),
        Cited("lambda_{t+1} <= lambda_t", "Lemma 11"),
        Identity(
            "the printed right side exceeds the combination by one more noise term",
            LEMMA_11 - combined,
            (1 + 1 / young) * lam * L**2 / rho**2 * eta**2 * N_w,
        ),
        AtMost("which is not negative", 0, (1 + 1 / young) * lam * L**2 / rho**2 * eta**2 * N_w),
        *OVERSHOOT,
        Enumerated("and b_{t+1}", dual_error, (*WALL, 10, 1), 0),
        Counterexample(
            "0 is above the right side, lambda = 10^-6, e = 1",
            after <= PRINTED_11,
            {after: 0, **AT_WALL, theta: 1, young: 1, lam: Rational(1, 10**6)},
        ),
        readings={"as stated, on a W that w is projected on": "refuted", RECURSION: "proved"},
        differs="symbol",
        condition=f"{UNCONSTRAINED}, {DEVIATIONS}, and R_S^* for the printed R_S(w^*) in a_t (which follows from it "
        "where k_1 <= 1)",
        note="It inherits W = R^{d1} from Lemmas 9 and 10. The factor 2 on (1 + 1/e) is not needed, and does no harm.",
        method=(Method.ALGEBRA, Method.ARITHMETIC),
    )
