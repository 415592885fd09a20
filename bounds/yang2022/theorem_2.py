r"""Theorem 2: the weak primal-dual risk of DP-SGDA in the convex-concave case, smooth (a) and nonsmooth (b).

Problem. Minimise over w in W and maximise over v in V the population objective F(w, v) = E_z f(w, v; z), seen through n
independent records. f is convex in w and concave in v, G_w-Lipschitz in w and G_v-Lipschitz in v (A1), and in (a)
L-smooth (A3); W and V lie within radius D_w and D_v about 0. The measure is the weak primal-dual population risk

    Delta^w = max_{v'} E F(w, v') - min_{w'} E F(w', v).

Algorithm. DP-SGDA [1, Algorithm 1], see ``theorem_1``, from w_1 = v_1 = 0, with the minibatch and noise of
[1, Remark 1]; output: the mean of t = 1, ..., T. The steps are

    a) T = n    of  eta = c / ( L max{ sqrt n, sqrt(d log(1/delta))/epsilon } ),
    b) T = n^2  of  eta = c / ( n max{ sqrt n, sqrt(d log(1/delta))/epsilon } ).

The formula for the step in (b) lacks its unit, length over gradient, which c has: c = D/G is the natural choice.

Guarantee. By [1, Theorem 2] the risk is O( max{ 1/sqrt n, sqrt(d log(1/delta))/(n epsilon) } ) for fixed G, D and L.
With constants it is at most ``bound``, the sum of Lemma 6 and of the optimisation error in [1, equation (13)].

Where the paper's versions differ, this file has what the proof supports: eta in (a) has the factor 1/L (claim Y22), and
the start, which is 0, contributes D^2/(2 eta T), as in (13) (claims Y13 and Y15).

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> thm = theorem("yang2022.theorem_2a")
>>> problem = dict(n=10_000, d=50, epsilon=1.0, delta=1e-8, G_w=1, G_v=1, D_w=1, D_v=1)
>>> thm.schedule(**problem, L=1)
{'T': 10000, 'm': 50, 'eta': 0.01}
>>> round(thm.bound(**problem, L=1), 4)
0.7558
>>> nonsmooth = theorem("yang2022.theorem_2b")
>>> nonsmooth.schedule(**problem)
{'T': 100000000, 'm': 1, 'eta': 1e-06}
>>> round(nonsmooth.bound(**problem), 4)
0.5806
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Max, Rational, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import D_v, D_w, L, T, c, d, delta, ell, epsilon, eta, m, mu, n
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.yang2022.lemma_3 import ANY_START, NOISE_READING, OPTIMISATION_ERROR, linear_gap
from dpcheck.bounds.yang2022.lemma_6 import LIPSCHITZ, SMOOTH
from dpcheck.bounds.yang2022.theorem_1 import A1, BATCH, MINIBATCH, NOISE, PRIVACY, REMARK_1, SAMPLING, SLOPES

LARGER = Max(sqrt(n), sqrt(d * log(1 / delta)) / epsilon)
REGIMES = (("statistical", 1 / sqrt(n)), ("privacy", sqrt(d * log(1 / delta)) / (n * epsilon)))
DIMENSION = Parameter(d, "larger of the dimensions of w and v")
SIZES = (*PRIVACY, DIMENSION, *SLOPES)
RADII = (Parameter(D_w, "radius of W about 0"), Parameter(D_v, "radius of V about 0"))
STEP = Parameter(c, "constant of the step size", default=1)
RECORDS = Assumption("records", "the records are independent draws from one distribution", "after equation (1)")
CONVEX_CONCAVE = (
    Assumption("convex-concave", "f is convex in w and concave in v for every record", "Theorem 2"),
    Assumption(
        "bounded", "W and V are closed and convex, |w| <= D_w on W and |v| <= D_v on V", "Section 1 and Theorem 2"
    ),
    Assumption("start", "w_1 = v_1 = 0", "needed for equation (13)"),
    RECORDS,
    SAMPLING,
)
RISK = "weak primal-dual population risk of the mean iterate"
RISK_LATEX = r"\Delta^{w}(\bar{w}_T, \bar{v}_T)"

THEOREMS = (
    Theorem(
        id="yang2022.theorem_2a",
        title="Utility of DP-SGDA, smooth convex-concave case",
        paper="yang2022",
        location="Theorem 2(a), Theorem 7(a) and equation (13)",
        quantity=RISK,
        quantity_latex=RISK_LATEX,
        parameters=(*SIZES, *RADII, Parameter(L, "smoothness of f"), STEP),
        assumptions=(
            A1,
            Assumption("A3", "f is L-smooth in (w, v) for every record", "A3"),
            *CONVEX_CONCAVE,
            *REMARK_1,
            BATCH,
        ),
        schedule_formulas=((T, n), MINIBATCH, (eta, c / (L * LARGER))),
        noise_formulas=NOISE,
        bound_formula=SMOOTH + OPTIMISATION_ERROR,
        regimes=REGIMES,
    ),
    Theorem(
        id="yang2022.theorem_2b",
        title="Utility of DP-SGDA, nonsmooth convex-concave case",
        paper="yang2022",
        location="Theorem 2(b) and Theorem 7(b)",
        quantity=RISK,
        quantity_latex=RISK_LATEX,
        parameters=(*SIZES, *RADII, STEP),
        assumptions=(A1, *CONVEX_CONCAVE, *REMARK_1, BATCH),
        schedule_formulas=((T, n**2), MINIBATCH, (eta, c / (n * LARGER))),
        noise_formulas=NOISE,
        bound_formula=LIPSCHITZ + OPTIMISATION_ERROR,
        regimes=REGIMES,
    ),
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


larger, B, X, Y, risk = symbols("larger B X Y risk", positive=True)
convex, concave = symbols("convex concave", positive=True)
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
    return conditional(
        Identity("a mean of m independent draws of variance B has variance B/m", lambda: m * (B / m**2), B / m),
        Counterexample(
            "the proofs use B^2/m: at B = 1/4, m = 1 that is below the variance",
            B / m <= B**2 / m,
            {B: Rational(1, 4), m: 1},
        ),
        Identity("with B the standard deviation it is B^2/m", lambda: m * (B**2 / m**2), B**2 / m),
        readings={"B bounds the variance": "refuted", "B bounds the standard deviation": "proved"},
        condition="B_w and B_v bound the standard deviations, B^2 the variances",
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
