"""The claims about Theorem 5, and about what the PL-strongly concave case assumes; setting in ``theorem_5``."""

from fractions import Fraction

from sympy import Rational, exp, log, oo, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved, refuted
from dpcheck.bounds.evidence import (
    AtMost,
    Cited,
    Counterexample,
    Domain,
    Enumerated,
    Identity,
    Inequality,
    Quoted,
    over,
)
from dpcheck.bounds.symbols import G_w, T, c_1, d, delta, epsilon, kappa, m, mu, n, rho, sigma
from dpcheck.bounds.yang2022.theorem_3 import ORDER
from dpcheck.bounds.yang2022.theorem_3_proof import stuck_excess
from dpcheck.bounds.yang2022.theorem_4_proof import GROWTH_READING
from dpcheck.bounds.yang2022.theorem_5 import FRONT, THIRD

ell, w, X, Y = symbols("ell w X Y", positive=True)
PARTS = n**-THIRD + sqrt(d * ell) / (n ** Rational(5, 6) * epsilon)  # ell = log(1/delta)
RATE = FRONT * PARTS


@claim("Y12", Kind.SCHEDULE, location="proof of Theorem 12")
def constant_batch() -> Decision:
    """Theorem 5 may take m constant with T of order n."""
    return refuted(
        Identity("with T = n Theorem 1 covers epsilon < c_1 m^2/n", lambda: c_1 * m**2 * n / n**2, c_1 * m**2 / n),
        Counterexample(
            "m = 64, c_1 = 1, epsilon = 1, T = n = 10^4: outside",
            epsilon < c_1 * m**2 * T / n**2,
            {m: 64, c_1: 1, epsilon: 1, T: 10**4, n: 10**4},
        ),
        Exceeds("for a fixed epsilon no constant m stays inside as n grows", 1 / n**0, 1 / n, Region(n >= 1), {n: s}),
        Inequality(
            "m at least sqrt(2 n epsilon/c_1) is inside",
            2 * epsilon,
            c_1 * m**2 / n,
            Domain(dict.fromkeys((epsilon, c_1, m, n), (0, oo)), where=(c_1 * m**2 >= 2 * n * epsilon,)),
        ),
        Identity(
            "Remark 1's m has m^2 T/n^2 = epsilon/4, with T = n: inside if c_1 is above 4, and private by Remark 1",
            lambda: (n * sqrt(epsilon / (4 * n))) ** 2 * n / n**2,
            epsilon / 4,
        ),
        Quoted("its noise is enough whatever c_1 is", "Y10"),
        AtMost("and a larger m only lowers 1/m + d sigma^2, m = 1 + X", 1 / (1 + X), 1),
        Dominated(
            "what a constant m leaves is vacuous: with n epsilon at most m^2 the rate's second part is at least of "
            "order n^{1/6}, for d >= 1 and log(1/delta) >= 1",
            n ** Rational(1, 6),
            m**2 * sqrt(d * ell) / (n ** Rational(5, 6) * epsilon),
            Region(epsilon * n <= m**2, ell >= 1),
        ),
        readings={
            "m constant, epsilon fixed": "refuted",
            "m constant, epsilon of order 1/n at most: in the region of Theorem 1, with a vacuous rate": "proved",
            "m of order sqrt(n epsilon), at least sqrt(2 n epsilon/c_1)": "proved",
            "m as in Remark 1, sqrt(n epsilon)/2, which is outside for c_1 = 1 and rests on Remark 1": "conditional",
        },
        repaired="with m of order sqrt(n epsilon) the rate of Theorem 5 stands, and its first term improves",
        note="With T = n a constant minibatch leaves Theorem 1 only epsilon of order 1/n, where the rate grows as "
        "n^{1/6} and says nothing; a larger m repairs it.",
        method=(Method.ALGEBRA, Method.PROVER),
    )


STATISTICAL = PARTS.subs(ell, 0)


@claim("Y40", Kind.RATE, location="Theorem 5", rate=RATE)
@carries("yang2022.theorem_5", {"T": n, "rate statistical": FRONT * STATISTICAL})
@carries("yang2022.theorem_5", {"rate privacy": FRONT * (PARTS - STATISTICAL)}, {ell: log(1 / delta)})
def rate() -> Decision:
    """The excess risk is of order {rate}, ell the logarithm of 1/delta."""
    error = ORDER * (X + Y)  # X = n^{-2/3}, Y = d ell/(n^{5/3} epsilon^2)
    order = FRONT * (sqrt(X) + sqrt(Y))
    root = (1 + kappa) * sqrt(ORDER / mu)
    wide, power = Region(kappa >= 1), Rational(3, 2)
    small = Region(kappa >= 1, kappa**power * X <= mu**power, kappa**power * Y <= mu**power)
    return conditional(
        # The optimisation error and its root against the printed order.
        Dominated(
            "the root of Y = d sigma^2/T^{2/3} is the printed one at sigma = sqrt(T ell)/(n epsilon) and T = n",
            sqrt(d) * sigma / T**THIRD,
            sqrt(d * ell) / (n ** Rational(5, 6) * epsilon),
            Region(sigma * n * epsilon <= sqrt(T * ell), T <= n),
        ),
        Dominated(
            "(1 + kappa) sqrt(error/mu) is of the printed order, sqrt(X + Y) <= sqrt X + sqrt Y",
            root * (sqrt(X) + sqrt(Y)),
            order,
            wide,
        ),
        Dominated("the error itself, where kappa^{3/2} X and kappa^{3/2} Y are below mu^{3/2}", error, order, small),
        Exceeds("elsewhere it is larger: kappa/mu growing with X, Y fixed", error, order, wide, {kappa: s, mu: 1 / s}),
        Dominated("the same with the two parts written out: the root of the error", root * PARTS, RATE, wide),
        Dominated(
            "what the repaired Theorems 9 and 10 add, (1 + kappa)/(mu n), (1 + kappa)/(n sqrt(rho mu)) and 1/(rho n), "
            "rho = 1/kappa in units of L, for mu <= L",
            (1 + kappa) / (mu * n) + (1 + kappa) * sqrt(kappa / mu) / n + kappa / n,
            RATE,
            Region(kappa >= 1, mu <= 1),
        ),
        Cited("the excess is the sum of the three errors", "decomposition (5)"),
        Quoted("the optimisation error", "Y34"),
        Quoted("the generalisation error", "Y37", "the repaired bound, W = R^{d1}"),
        Quoted("that of R_S at w*", "Y39"),
        Quoted("the minibatch", "Y12", "m of order sqrt(n epsilon), at least sqrt(2 n epsilon/c_1)"),
        Enumerated(
            "without A2's variance and without noise, F of Y34 on a W with walls stays at its start: after 100 steps "
            "the excess is",
            stuck_excess,
            (100,),
            1,
        ),
        Exceeds("while the rate tends to 0 as n grows", n**0, FRONT * n**-THIRD, Region(n >= 1), {n: s}),
        readings={
            "the step from Theorem 12 to the rate, kappa and mu constants and the rate at most a constant": "proved",
            "that step uniformly in kappa and mu": "refuted",
            "without noise, on a W that w is projected on": "refuted",
        },
        condition="(kappa/mu)^{3/2} times n^{-2/3} and times d log(1/delta)/(n^{5/3} epsilon^2) are at most a "
        "constant; W = R^{d1}, so that w is not projected (not stated in the paper), with A1 where the iterates are "
        "(Y27); A2 beside A3, with B_w and B_v standard deviations, and a later start (Y34, Y32); max{G_w, G_v} for "
        "G_w (Y35); the minibatch of Y12, and the distances of Y37",
        note="The optimisation error enters (5) itself too, and is below its root only where it is small; and what "
        "Theorems 3, 9 and 11 lack is lacking here.",
    )


@claim("Y41", Kind.LEMMA, location="Proposition 1")
def unique() -> Decision:
    """The saddle points of F_S share one v when F_S is strongly concave in v."""
    value, other, cross, back = symbols("value other cross back", real=True)  # F_S at (w,v), (w',v'), (w,v'), (w',v)
    return proved(
        Cited(
            "each saddle point's v maximises F_S(w, .), so that F_S(w, v) >= F_S(w, v') + rho/2 |v - v'|^2, and the "
            "same exchanged; F_S(w, v') >= F_S(w', v') at the saddle (w', v'), and F_S(w', v) >= F_S(w, v)",
            "strong concavity",
        ),
        Inequality(
            "the first two, with w for |v - v'|; by the last two its right side is at most 0",
            rho * w**2,
            (value - back) + (other - cross),
            over((rho, w, value, other, cross, back), value >= cross + rho / 2 * w**2, other >= back + rho / 2 * w**2),
        ),
        note="rho |v - v'|^2 <= 0.",
    )


def apart(x: Fraction, y: Fraction) -> Fraction:
    """Return |pi_S'(pi_S(w)) - pi_S'(w')|^2 for one step eta_w = 1 from 0 on f = (<z, w> - 1)^2/2, n = 1.

    The record of S is (1, 0), that of S' the unit vector (x, y). The step goes to w = (1, 0) and w' = (x, y),
    which solve <z, w> = 1 each for its own record.
    """
    short = 1 - x
    return (1 + short * x - x) ** 2 + (short * y - y) ** 2


@claim("Y42", Kind.ASSUMPTION, location="Assumption 4")
def agree() -> Decision:
    """pi_S'(pi_S(w_T)) = pi_S'(w_T') for neighbouring S, S'."""
    # F_S = w_1^2 - rho v^2 with w in R^2: every (0, w_2) is a solution, and the noise moves w_2.
    a, b = symbols("a b", real=True)
    return conditional(
        Cited(
            "F = w_1^2/2 - v^2/2 on R^2 x [-1, 1] for every record: the solutions are all (0, w_2), for S and S' "
            "alike; pi_S' pi_S (w_T) = (0, w_{T,2}) and pi_S' (w_T') = (0, w'_{T,2})",
            "definition",
        ),
        Counterexample(
            "two runs with noise 1 and 2 in the second coordinate do not agree", (a - b) ** 2 <= 0, {a: 1, b: 2}
        ),
        Enumerated(
            "nor is it the noise alone: n = 1, f = (<z, w> - 1)^2/2 - v^2/2 on R^2, S and S' the unit vectors (1, 0) "
            "and (3/5, 4/5), one step eta_w = 1 from 0 without noise solves each; the squared distance of the two "
            "sides is",
            apart,
            (Fraction(3, 5), Fraction(4, 5)),
            Fraction(16, 25),
        ),
        readings={
            "the solution set of every S is one point": "proved",
            "a flat set of solutions, independent noise": "refuted",
            "a flat set of solutions, the same noise and minibatches, or none": "refuted",
        },
        condition="the minimiser of F_S(., v_S) is unique, for every S",
        note="It holds for unique solutions; along a flat set the noise breaks it, and so does one record without "
        "noise.",
        method=Method.ARITHMETIC,
    )


@claim("Y27", Kind.ASSUMPTION, location="Theorems 3 to 5")
def lipschitz_and_pl() -> Decision:
    """A1 and the mu-PL condition in w can hold together."""
    time, v = symbols("time v", positive=True)
    return conditional(
        Cited(
            "on W = R^{d1}: PL and |grad F| <= G_w give F - min F <= G_w^2/(2 mu) everywhere, while along dw/dt = "
            "grad F the excess X grows to X exp(2 mu t) at least",
            "definitions; gradient flow",
        ),
        Counterexample(
            "so that no excess, such as 1/100, can be positive: mu = G_w = 1, t = 3",
            X * exp(2 * mu * time) <= G_w**2 / (2 * mu),
            {X: Rational(1, 100), mu: 1, G_w: 1, time: 3},
        ),
        Quoted("on W = R^{d1} mu-PL gives F - min F >= mu/2 dist^2", "Y36", GROWTH_READING, "at the v of that F"),
        Cited("and A1 gives F - min F <= G_w dist", "definition"),
        Inequality("so that there dist <= 2 G_w/mu", w, 2 * G_w / mu, over(w, G_w, mu, mu / 2 * w**2 <= G_w * w)),
        Inequality(
            "on |w| <= 1 they hold together: F = w^2/2 has |F'|^2/2 = F, and G_w = 1: F(w) - F(v) for 0 <= v <= w <= 1",
            w**2 / 2 - v**2 / 2,
            w - v,
            over(w <= 1, v <= 1, v <= w),
        ),
        Counterexample(
            "on a W with walls even the distance may be larger: F = (y + 1 + x^2/200)^2/2 on |x| <= 50, "
            "0 <= y <= 1/100 has mu = 1 and a minimiser at 0 alone; G_w is its slope at x = 50, y = 1/100",
            w <= 2 * (v + 1 + w**2 / 200) * sqrt(1 + (w / 100) ** 2) / mu,
            {w: 50, v: Rational(1, 100), mu: 1},
        ),
        Cited("on a bounded W Algorithm 1 projects, while Lemma 9 uses the unprojected step", "Algorithm 1, line 6"),
        readings={
            "W = R^{d1}, F_S(., v) not constant": "refuted",
            "a bounded W, or A1 where the iterates are alone": "proved",
        },
        condition="W is not all of R^{d1}, or A1 holds on a part of it alone, unless F_S(., v) is constant",
        note="A Lipschitz PL function on all of R^{d1} is constant. That all of W lies within 2 G_w/mu of the "
        "minimisers is a consequence on W = R^{d1}, and is neither stated nor needed on a W with walls.",
        method=(Method.PROVER, Method.ARITHMETIC),
    )
