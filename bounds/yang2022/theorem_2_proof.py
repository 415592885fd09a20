r"""The claims about Lemma 3, the optimisation error of DP-SGDA, and about Theorem 2, setting in ``theorem_2``.

The empirical weak primal-dual gap of the mean of the iterates is at most [1, Lemma 3]

    eta (G_w^2 + G_v^2)/2 + (D_w^2 + D_v^2)/(eta T) + (D_w G_w + D_v G_v)/sqrt(m T)
        + eta d (sigma_w^2 + sigma_v^2),

while equation (13) writes (D_w^2 + D_v^2)/(2 eta T) for the second term. One step and convexity bound the w block by

    |w_1 - w|^2/(2 eta T) + eta G_w^2/2 + eta d_1 sigma_w^2/2,

and likewise the v block; the term in 1/sqrt(m T) is not even needed. |w_1 - w| is at most D_w from the start 0, as
(13) has it, and 2 D_w from elsewhere. Algorithm 1 does not say where it starts.
"""

from fractions import Fraction
from typing import Any

from sympy import Le, Max, Rational, log, oo, pi, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, misprint, proved
from dpcheck.bounds.evidence import (
    AtMost,
    Below,
    Cited,
    Counterexample,
    Domain,
    Enumerated,
    Identity,
    Inequality,
    Quoted,
    over,
)
from dpcheck.bounds.symbols import (
    D_v,
    D_w,
    G_v,
    G_w,
    L,
    T,
    c,
    d,
    d_1,
    d_2,
    delta,
    ell,
    epsilon,
    eta,
    m,
    mu,
    n,
    sigma_v,
    sigma_w,
)
from dpcheck.bounds.yang2022.theorem_2 import HALF, LARGER, NOISE_TERM, OPTIMISATION_ERROR

BLOCK_NOISE = eta**2 * d_1 * sigma_w**2  # of equation (8)

WHOLE = 2 * HALF  # of Lemma 3, where equation (13) has the half
LEMMA_3 = OPTIMISATION_ERROR - HALF + WHOLE  # as Lemma 3 prints it


def linear_gap(start: Fraction, eta: Fraction, T: int) -> Fraction:
    """Return the weak gap of noiseless DP-SGDA on f(w, v; z) = w - v over [-1, 1]^2, w_1 = v_1 = ``start``.

    Here G_w = G_v = D_w = D_v = 1, and every minibatch has the gradient (1, -1).
    """
    w, total = start, Fraction(0)  # v moves as w does
    for _ in range(T):
        w, total = max(Fraction(-1), w - eta), total + w
    # max_v f(w_mean, v) - min_w f(w, v_mean)
    return (total / T + 1) - (-1 - total / T)


def kinked_gap(eta: Fraction, T: int) -> Fraction:
    """Return the weak gap of noiseless DP-SGDA from 0 on f = w - v + z (|w| + |v|) over [-1, 1]^2, records 1 and -1.

    F_S = w - v. At 0 the generalised gradients of both f in w are those from 0 to 2, and 0 is taken;
    likewise in v. Here D_w = D_v = 1 and G_w = G_v = 2, and every minibatch has the same gradient at 0.
    """
    w = total = Fraction(0)  # v moves as w does
    for _ in range(T):
        w, total = max(Fraction(-1), w - eta * (w != 0)), total + w
    return (total / T + 1) - (-1 - total / T)


# One coordinate of a step before projection, from w_t - w = r, gradient g and noise x.
r, g, x = symbols("r g x", real=True)
PROOF = (
    Cited("projections do not increase distances; F_S is convex in w", "convex analysis"),
    Identity(
        "one coordinate of a step, squared",
        (r - eta * (g + x)) ** 2,
        r**2 - 2 * eta * r * g - 2 * eta * r * x + eta**2 * (g**2 + 2 * g * x + x**2),
    ),
    Cited(
        "for fixed w, E<w - w_t, g_t - grad F_S> = 0 = E<w - w_t, xi_t> = E<g_t, xi_t>, "
        "|g_t| <= G_w and E|xi_t|^2 = d_1 sigma_w^2",
        "I_t, xi_t are independent of w_t and of each other; A1, for gradients and their limits; f is differentiable, "
        "or each f(., .; z) convex-concave (sum rule)",
    ),
)
AT_EDGE = {G_w: 1, G_v: 1, D_w: 1, D_v: 1, d: 1, m: 1, sigma_w: 0, sigma_v: 0, T: 100, eta: Rational(1, 50)}
AT_KINK = {D_w: 1, D_v: 1, d: 1, m: 1, G_w: 2, G_v: 2, sigma_w: 0, sigma_v: 0, T: 100, eta: Rational(1, 10)}
SUPPORTED = "f is differentiable or convex-concave for every record"
ANY_START = f"2 (D_w^2 + D_v^2)/(eta T) in its place, from any start; {SUPPORTED}"
NOISE_READING = "Lemma 3: eta d (sigma_w^2 + sigma_v^2)"


def _radius(printed: Any, term: Any, name: str) -> Decision:
    """Decide Lemma 3 or (13), in which the start enters as ``term``."""
    return conditional(
        *PROOF,
        AtMost(f"with |w_1 - w| <= D_w the first term is within {name}", HALF, term),
        Identity(
            "with |w_1 - w| <= 2 D_w, from any start, it is twice Lemma 3's",
            lambda: ((2 * D_w) ** 2 + (2 * D_v) ** 2) / (2 * eta * T),
            2 * WHOLE,
        ),
        # The start at the edge, w_1 = v_1 = 1, without noise.
        Enumerated(
            "the gap when the start is the edge", linear_gap, (Fraction(1), Fraction(1, 50), 100), Fraction(101, 50)
        ),
        Enumerated("the gap when the start is 0", linear_gap, (Fraction(0), Fraction(1, 100), 100), Fraction(101, 100)),
        Counterexample(f"{name} when the start is the edge, on f = w - v", Rational(101, 50) <= printed, AT_EDGE),
        Identity(
            "there the proof's own 2 (D_w^2 + D_v^2)/(eta T), without the term in 1/sqrt(m T), is attained",
            lambda: 2 * (1**2 + 1**2) / (Rational(1, 50) * 100) + Rational(1, 50) * (1**2 + 1**2) / 2,
            Rational(101, 50),
        ),
        Enumerated(
            "f = w - v + z (|w| + |v|), records 1 and -1: F_S = w - v is convex-concave, the f are not, and with the "
            "generalised gradient 0 of both at 0 the run stays there; the gap",
            kinked_gap,
            (Fraction(1, 10), 100),
            2,
        ),
        Counterexample(f"which is above {name}, from the start 0 and without noise", Le(2, printed), AT_KINK),
        readings={
            f"w_1 = v_1 = 0; {SUPPORTED}": "proved",
            ANY_START: "proved",
            "w_1 and v_1 anywhere in W and V, as Algorithm 1 allows": "refuted",
            "w_1 = v_1 = 0, F_S alone convex-concave, generalised gradients where f has kinks": "refuted",
        },
        condition="w_1 = v_1 = 0; and f is differentiable, or convex-concave for every record, as Theorem 2 assumes",
        repaired="for any start in W x V: 2 (D_w^2 + D_v^2)/(eta T)",
        note="The distance from w_1 to the comparison point is at most D_w only from the start 0; from elsewhere it "
        "reaches 2 D_w, and f = w - v from the edge breaks the printed bound (noise 0; the gap is continuous in the "
        "noise). Where f has kinks, convexity of F_S alone is not enough.",
        method=(Method.ALGEBRA, Method.STEPS),
    )


@claim("Y13", Kind.CONSTANT, location="Lemma 3, Appendix C.1", term=WHOLE)
def lemma_3_radius() -> Decision:
    """The start enters the optimisation error as {term}."""
    return _radius(LEMMA_3, WHOLE, "Lemma 3")


@claim("Y15", Kind.STEP, location="equation (13), Appendix C.3", term=HALF)
def equation_13_radius() -> Decision:
    """The start enters the bound as {term}."""
    return _radius(OPTIMISATION_ERROR, HALF, "equation (13)")


@claim("Y14", Kind.CONSTANT, location="Lemma 3 and equation (8), Appendix C.1", lemma=NOISE_TERM, block=BLOCK_NOISE)
def noise_term() -> Decision:
    """The noise enters Lemma 3 as {lemma}, and equation (8), which sums T steps of the w block, as {block}."""
    derived = eta * (d_1 * sigma_w**2 + d_2 * sigma_v**2) / 2
    # f = G_w |w| on [-D_w, D_w], the same for every record, w_1 = 0. For every t >= 1,
    # P(|w_{t+1}| = D_w) >= P(|eta xi_t| >= D_w) = P(|N(0, 1)| >= 1/2) >= 3/5.
    left = 2 * eta * G_w * D_w * Rational(3, 5) * (T - 1)
    right = 2 * D_w**2 + T * eta**2 * G_w**2 + BLOCK_NOISE
    return misprint(
        *PROOF,
        Inequality(
            "Lemma 3's noise term covers the derived one, d the larger of d_1 and d_2",
            derived,
            NOISE_TERM,
            Domain(dict.fromkeys((eta, d, d_1, d_2, sigma_w, sigma_v), (0, oo)), where=(d_1 <= d, d_2 <= d)),
        ),
        Below("the standard normal puts less than 2/5 on [-1/2, 1/2]", 1 / sqrt(2 * pi), Rational(2, 5)),
        Cited("P(|u + N| >= D) is least at u = 0 for |u| <= D", "convexity of the normal tail on the positive axis"),
        Counterexample(
            "equation (8) on f(w, v; z) = G_w |w| over [-D_w, D_w] with eta sigma_w = 2 D_w, whose left side is at "
            "least 2 eta G_w D_w (3/5)(T - 1)",
            left <= right,
            {G_w: 1, D_w: 1, d_1: 1, T: 100, eta: Rational(1, 10), sigma_w: 20},
        ),
        readings={NOISE_READING: "proved", "equation (8): the noise of T steps is eta^2 d_1 sigma_w^2": "refuted"},
        differs="symbol",
        condition="the factor T, which the next display has, is put back in (8)",
        repaired="T eta^2 d_1 sigma_w^2 in (8), as the display after it has; Lemma 3 follows, even with eta (d_1 "
        "sigma_w^2 + d_2 sigma_v^2)/2",
        note="Equation (8) drops a factor T, which its next display restores: Lemma 3's noise term itself stands, and "
        "is at least twice what the proof gives.",
        method=(Method.PROVER, Method.ARITHMETIC),
    )


PRINTED_STEP = c / (sqrt(L) * LARGER)  # Theorem 7; c is the constant of its order
EXPONENT = L**2 * T * eta**2
COUNT = n ** Rational(3, 2)


@claim("Y22", Kind.SCHEDULE, location="Theorem 7(a) and its proof, Appendix C.3", step=PRINTED_STEP, exponent=EXPONENT)
def step_size() -> Decision:
    """With T of order n and eta = {step}, c a constant, the exponent {exponent} is bounded."""
    # T = n; the maximum in eta is sqrt n at least, and sqrt n itself for large epsilon.
    bound, most = symbols("bound most", positive=True)
    step = c / (sqrt(L) * sqrt(n))
    letters = (c, L, n, T, eta)
    return conditional(
        # The exponent is bounded by c^2 L, and with a step of 1/L by c^2.
        Inequality(
            "the printed step is at most c/(sqrt L sqrt n)", PRINTED_STEP, step, over(c, L, n, d, epsilon, delta <= 1)
        ),
        Inequality(
            "so that for T <= n the exponent is at most c^2 L",
            EXPONENT,
            c**2 * L,
            over(letters, eta**2 * L * n <= c**2, T <= n),
        ),
        Identity(
            "and it is c^2 L where the maximum is sqrt n and T = n",
            lambda: L**2 * n * (c / (sqrt(L) * sqrt(n))) ** 2,
            c**2 * L,
        ),
        Counterexample(
            "so that no one bound serves all L: L = (bound + 1)/c^2",
            EXPONENT.subs({T: n, eta: step}) <= bound,
            {L: (bound + 1) / c**2},
        ),
        Inequality(
            "with 1/L, as in the proof, it is at most c^2",
            EXPONENT,
            c**2,
            over(letters, eta * L * sqrt(n) <= c, T <= n),
        ),
        # The part 1/(eta T) of the rate carries sqrt L.
        Identity(
            "the part 1/(eta T) carries sqrt L with 1/sqrt L: in units of its rate max{...}/n, T = n",
            lambda: (1 / (c / (sqrt(L) * most) * n)) / (most / n),
            sqrt(L) / c,
        ),
        Identity("and L with 1/L", lambda: (1 / (c / (L * most) * n)) / (most / n), L / c),
        Counterexample(
            "Theorem 7 prints no such factor, and no constant covers it: L = c^2 (bound + 1)^2",
            sqrt(L) / c <= bound,
            {L: c**2 * (bound + 1) ** 2},
        ),
        readings={
            "L is a constant inside the O": "proved",
            "the constant of the O does not depend on L": "refuted",
            "D^2/(eta T) is within Theorem 7's bound, whatever L": "refuted",
        },
        condition="L is fixed as n, d, epsilon and delta vary",
        repaired="eta = c/(L max{...}), as in the proof: exp(L^2 T eta^2) <= exp(c^2) for all L; D^2 in Theorem 7's "
        "bound then carries a factor L, with 1/sqrt L a factor sqrt L",
        note="The exponential is bounded by exp(c^2 L), not by an absolute constant. The proof's O(min{1, n "
        "epsilon^2/(d log(1/delta))}) is the order of the exponent, not of the exponential, which is never below 1. "
        "D^2/(eta T) gains a factor sqrt L (L with the proof's step), which Theorem 7's explicit prefactor leaves out.",
        method=(Method.ALGEBRA, Method.PROVER),
    )


@claim("Y23", Kind.COMPLEXITY, location="Remark 4 and Table 1", count=COUNT)
def gradients() -> Decision:
    """In the smooth case DP-SGDA takes a number of gradient computations of order {count}."""
    # sqrt n = 1 + k, sqrt epsilon = 1/(1 + r), T = a^2 n
    a, r, k = symbols("a r k", positive=True)
    front = a**2 + a / 2
    raw = a**2 * (1 + k) ** 2 + a * (1 + k) ** 3 / (2 * (1 + r))
    return proved(
        Cited("ceil(max(1, x)) <= 1 + x, so that T m <= T + n sqrt(T epsilon/4)", "definition of the ceiling"),
        Identity(
            "that count for T = a^2 n in the letters r and k",
            lambda: a**2 * (1 + k) ** 2 + (1 + k) ** 2 * sqrt(a**2 * (1 + k) ** 2 * (1 / (1 + r)) ** 2 / 4),
            raw,
        ),
        AtMost("it is at most (a^2 + a/2) n^{3/2}, for every constant a", raw, front * (1 + k) ** 3),
        AtMost("which is this constant times", front * (1 + k) ** 3, (front * COUNT).subs(n, (1 + k) ** 2)),
        Identity(
            "without rounding, at T = n and epsilon = 1, the count is n^{3/2}/2: the exponent is attained",
            lambda: n * n * sqrt(1 / (4 * n)),
            COUNT / 2,
        ),
        note="T m for T of order n and Remark 1's m, epsilon <= 1. For T = n^2 the minibatch is 1 and the count n^2, "
        "below the n^{5/2} of Table 1.",
        method=Method.ALGEBRA,
    )


larger, B, X, Y, risk, convex, concave = symbols("larger B X Y risk convex concave", positive=True)
# ell is log(1/delta), ``larger`` max{sqrt n, sqrt(d ell)/epsilon}; the maximum of the rate is written as a sum.
SHARE = sqrt(d * ell) / epsilon
RATE = 1 / sqrt(n) + SHARE / n
SMOOTH_T, LIPSCHITZ_T = n, n**2
LEVEL = {ell: log(1 / delta)}
MAXIMUM = {larger: Max(sqrt(n), SHARE.subs(LEVEL))}


@claim("Y21", Kind.RATE, location="Theorems 2 and 7", smooth=SMOOTH_T, lipschitz=LIPSCHITZ_T, rate=RATE)
@carries("yang2022.theorem_2a", {"T": SMOOTH_T})
@carries("yang2022.theorem_2b", {"T": LIPSCHITZ_T})
@carries("yang2022.theorem_2a", {"eta": c / (L * larger)}, MAXIMUM)  # of the proof; Theorem 7 prints sqrt L, Y22
@carries("yang2022.theorem_2b", {"eta": c / (n * larger)}, MAXIMUM)
@carries("yang2022.theorem_2a", {"rate statistical": 1 / sqrt(n)})
@carries("yang2022.theorem_2a", {"rate privacy": SHARE / n}, LEVEL)
@carries("yang2022.theorem_2b", {"rate statistical": 1 / sqrt(n)})
@carries("yang2022.theorem_2b", {"rate privacy": SHARE / n}, LEVEL)
def rates() -> Decision:
    """Both schedules, T of order {smooth} (smooth) and {lipschitz} (Lipschitz), give a weak risk of order {rate}, ell
    the logarithm of 1/delta.
    """
    known = (larger >= sqrt(n), larger >= SHARE)
    smooth = (T <= SMOOTH_T, T >= SMOOTH_T, eta <= 1 / larger, eta >= 1 / larger)
    lipschitz = (T <= LIPSCHITZ_T, T >= LIPSCHITZ_T, eta <= 1 / (n * larger), eta >= 1 / (n * larger))
    rest = eta + 1 / sqrt(T) + eta * d * T * ell / (n * epsilon) ** 2  # the risk has D^2/(eta T) besides
    return proved(
        Quoted(
            "the optimisation error", "Y13", ANY_START, "Theorem 2 assumes f convex-concave; Theorem 7's F_S implies it"
        ),
        Quoted("its noise term", "Y14", NOISE_READING, "the parts are summed with Lemma 3's, not with equation (8)'s"),
        Quoted("the generalisation error, a)", "Y19"),
        Quoted("the generalisation error, b)", "Y20"),
        Quoted("exp(L^2 T eta^2) is O(1)", "Y22", "L is a constant inside the O", "Theorem 2 has one L, fixed"),
        Cited("sqrt(a + b) <= sqrt a + sqrt b, and max{a, b} <= a + b <= 2 max{a, b}", "definitions"),
        Dominated(
            "a) all parts but D^2/(eta T)", eta * (sqrt(T) / sqrt(n) + T / n) + rest, RATE, Region(*known, *smooth)
        ),
        Dominated("b) likewise", eta * (sqrt(T) + T / n) + rest, RATE, Region(*known, *lipschitz)),
        Dominated("D^2/(eta T) in a)", 1 / (eta * T), larger / n, Region(*smooth)),
        Dominated("and in b)", 1 / (eta * T), larger / n, Region(*lipschitz)),
        Identity("which is the rate, with the sum for the maximum", lambda: (sqrt(n) + SHARE) / n, RATE),
        Enumerated(
            "Theorem 7's prefactor has no L: f = w - v on [-1, 1]^2 is L-smooth for every L; with L = 10^12, n = T = "
            "10^4, epsilon large and eta = 1/(sqrt L sqrt n) the risk is still",
            linear_gap,
            (Fraction(0), Fraction(1, 10**8), 10**4),
            Fraction(199990001, 100000000),
        ),
        Counterexample(
            "which is above 4/sqrt n, the prefactor times the rate, even with the constant 10",
            risk <= 10 * 4 / sqrt(n),
            {risk: Rational(199990001, 100000000), n: 10**4},
        ),
        Exceeds("and no constant helps as n and L grow", n**0, 1 / sqrt(n), Region(n >= 1), {n: s}),
        readings={
            "D, G and L are constants of the O": "proved",
            "Theorem 7(a) with a constant that depends on nothing, not on L either": "refuted",
        },
        note="With D, G and L constants of the O, given the noise of Theorem 1; for all epsilon, all delta < 1 and "
        "any start, which costs a factor 4 in one part. Subgradients in b) have norm at most G_w and G_v. Theorem 7's "
        "explicit prefactor leaves out L in a) (Y22).",
        method=Method.EXPONENTS,
    )


@claim("Y24", Kind.ASSUMPTION, location="Assumption 2", term=B**2 / m)
def variance() -> Decision:
    """B_w and B_v bound the variances of the gradients, and {term} that of a minibatch."""
    return misprint(
        Identity("a mean of m independent draws of variance B has variance B/m", lambda: m * (B / m**2), B / m),
        Counterexample(
            "the proofs use B^2/m: at B = 1/4, m = 1 that is below the variance",
            B / m <= B**2 / m,
            {B: Rational(1, 4), m: 1},
        ),
        Identity("with B the standard deviation it is B^2/m", lambda: m * (B**2 / m**2), B**2 / m),
        readings={"B bounds the variance": "refuted", "B bounds the standard deviation": "proved"},
        differs="exponent",
        condition="B_w and B_v bound the standard deviations, B^2 the variances",
        repaired="B_w and B_v bound the standard deviations, as every later use of B^2/m has it",
        note="Assumption 2 says variances, Lemmas 9 and 10 use squares of them.",
    )


@claim("Y49", Kind.STEP, location="Section 2.3")
def metrics() -> Decision:
    """The weak risk is at most the strong one, and for strongly convex-concave F it bounds the squared distance to the
    saddle.
    """
    return proved(
        Cited("sup_v E F(w, v) <= E sup_v F(w, v), and inf the other way", "Jensen"),
        Cited("at the fixed saddle point z* of F the weak risk is at least E[F(A_w, v*) - F(w*, A_v)]", "definition"),
        Inequality(
            "which strong convexity and concavity, with moduli of at least mu, make at least (mu/2) E|A - z*|^2",
            mu / 2 * (X**2 + Y**2),
            convex / 2 * X**2 + concave / 2 * Y**2,
            over(mu, convex, concave, X, Y, mu <= convex, mu <= concave),
        ),
        note="With the constant 2/mu, mu the smaller of the two moduli.",
    )
