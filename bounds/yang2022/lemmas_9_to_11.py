r"""Lemmas 9 to 11: descent in the primal function and contraction of the dual iterate.

Setting. F_S is L-smooth, rho-strongly concave in v over a bounded convex V, and mu-PL in w; R_S(w) is its
maximum over v, attained at v(w); kappa = L/rho. a_t = E[R_S(w_t) - min R_S], b_t = E|v(w_t) - v_t|^2. The
steps eta and theta (eta_w and eta_v in [1]) use minibatch gradients of variance B_w^2/m and B_v^2/m, with noise
added; N_w and N_v below are B^2/m + d sigma^2 of the two blocks.

Lemmas 9 to 11 need W = R^{d1}, which [1] does not state: Algorithm 1 projects w on W, and on a bounded W each of
them fails (claims Y28 to Y30), Lemma 10 even in a step that is not projected. The claim on Lemma 10 is in
``lemma_10``.

[1] Z. Yang et al. Differentially Private SGDA for Minimax Problems. UAI 2022, Appendix D.1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Rational, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, d, m, mu, rho, sigma_v, sigma_w
from dpcheck.bounds.symbols import eta_v as theta
from dpcheck.bounds.symbols import eta_w as eta
from dpcheck.bounds.yang2022.lemmas_7_and_8 import SMOOTH
from dpcheck.bounds.yang2022.pl_steps import dual_error, primal_error

young, a, b, g, h, N_w, N_v, lam = symbols("e a b g h N_w N_v lambda", positive=True)
B_w, B_v, between = symbols("B_w B_v between", positive=True)
after = symbols("after", nonnegative=True)
X = symbols("X", positive=True)  # L + L^2/rho, the smoothness of R_S
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

# Instances of pl_steps: q, p, c, rho, walled, w, v. The second has |Hessian| <= 1: its rows sum to 1 at most.
WALL = (1, 0, 0, Fraction(1, 100), 1, 1, 0)
OVERSHOOT = (
    Enumerated(
        "F = w - rho v^2/2, W = [0, 1], L = rho = 1/100, mu = 1/2, at w = 1, v = v(w) = 0: the excess a_t",
        primal_error,
        (*WALL, 0, 0),
        Fraction(1),
    ),
    Enumerated(
        "after a step eta_w = 10 <= 1/(L + L^2/rho) = 50, projected on W, a_{t+1}",
        primal_error,
        (*WALL, 10, 1),
        Fraction(0),
    ),
)
QUIET = ((B_w, 0), (sigma_w, 0), (B_v, 0), (sigma_v, 0), (m, 1), (d, 1))
AT_WALL = ((L, Rational(1, 100)), (rho, Rational(1, 100)), (mu, Rational(1, 2)), (eta, 10), (a, 1), (b, 0), *QUIET)


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
        # Take steps beyond the condition, with and without a projection.
        Enumerated(
            "f = w^2/2 - v^2/2 on W = R, at w = 1, v = 0, without noise, eta_w = 3: a_{t+1}",
            primal_error,
            (0, 1, 0, 1, 0, 1, 0, 3, 0),
            Fraction(2),
        ),
        Counterexample(
            "which is above the right side, with a_t = 1/2",
            after <= PRINTED_9,
            ((after, 2), (eta, 3), (mu, 1), (a, Rational(1, 2)), (b, 0), (L, 1), (rho, 1), *QUIET),
        ),
        *OVERSHOOT,
        Counterexample(
            "which is above the right side: with a projection the step condition is not enough",
            after <= PRINTED_9,
            ((after, 0), *AT_WALL),
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


def at(*values: Any) -> tuple[tuple[Any, Any], ...]:
    """Return values of b_{t+1}, L, rho, the steps, e, a_t and b_t in Lemma 10, without noise."""
    return (*zip((after, L, rho, eta, theta, young, a, b), values, strict=True), *QUIET)


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
        Enumerated("and b_{t+1}", dual_error, (*WALL, 10, 1), Fraction(0)),
        Counterexample(
            "0 is above the right side, lambda = 10^-6, e = 1",
            after <= PRINTED_11,
            ((after, 0), *AT_WALL, (theta, 1), (young, 1), (lam, Rational(1, 10**6))),
        ),
        readings={"as stated, on a W that w is projected on": "refuted", RECURSION: "proved"},
        condition=f"{UNCONSTRAINED}, {DEVIATIONS}, and R_S^* for the printed R_S(w^*) in a_t (which follows from it "
        f"where "
        "k_1 <= 1)",
        note="It inherits W = R^{d1} from Lemmas 9 and 10. The factor 2 on (1 + 1/e) is not needed, and does no harm.",
        method=(Method.ALGEBRA, Method.ARITHMETIC),
    )
