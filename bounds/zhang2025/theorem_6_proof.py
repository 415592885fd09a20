"""The claims about Theorem 6 and what its proof takes from Lemmas 7, 12 and 13; setting in ``theorem_6``."""

from fractions import Fraction

from sympy import E, Min, Rational, ceiling, log, sqrt, symbols

from dpcheck.bounds.asymptotics import Dominated, Exceeds, Region, s
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved, refuted
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Inequality, Quoted, over
from dpcheck.bounds.judge import judged
from dpcheck.bounds.symbols import G, R, T, d, delta, epsilon, kappa, m, mu, n
from dpcheck.bounds.zhang2025 import privatediff

inner = symbols("T_2", integer=True, positive=True)
l, theta = symbols("l theta", positive=True)
a, eta, p, u, v, w, logs, sigma_2, C_2, move, dist, X, moved = symbols(
    "a eta p u v w logs sigma_2 C_2 move dist X moved", positive=True
)


def sample_difference(first: int, second: int) -> Fraction:
    """Return |grad_x f(x, y*; first) - grad_x f(x, y*; second)| at x = 0 for f = z h(x) - y^2/2, h(x) = x/(1 + x^2)."""
    return abs(first * privatediff.slope(Fraction(0)) - second * privatediff.slope(Fraction(0)))


def noisy_difference(noise: Fraction) -> Fraction:
    """Step 7 with ``noise`` in ytilde_r, on the coupled instance (see ``privatediff``), one record 0.

    x_r = x_{r-1} = 0, where y* = 0 = y_r = y_{r+1}; the threshold does not act.
    """
    zero = Fraction(0)
    return abs(privatediff.difference(privatediff.coupled_x, (zero, zero, [0]), (zero, noise, [0]), 1 + abs(noise)))


SMALL = sqrt(d * log(1 / delta)) / (n * epsilon)
LONGEST = 1 / (2 * sqrt(2 * T * sigma_2**2 * C_2**2 * d))
ROUNDS = ceiling(SMALL ** Rational(-4, 3))
PRINTED_RATE = (d * log(1 / delta)) ** Rational(1, 3) / (n * epsilon) ** Rational(2, 3)


@claim("003:Thm6", Kind.UTILITY, location="Theorem 6")
@carries("zhang2025.theorem_6", {"R": ROUNDS, "T": ceiling(SMALL ** Rational(2, 3) * R), "T_2": ROUNDS, "m": ROUNDS})
@carries(
    "zhang2025.theorem_6",
    {"eta_x": Min(1 / (2 * C_2), LONGEST)},
    {C_2: (1 + l / mu) * l, sigma_2: 4 * sqrt(R * log(1 / delta)) / (n * epsilon)},
)
@carries("zhang2025.theorem_6", {"rate privacy": PRINTED_RATE})
def rate() -> Decision:
    """E|grad Phi| is of order {PRINTED_RATE} at most, up to logarithms."""
    r_, t_, t2 = a ** Rational(-4, 3), a ** Rational(-2, 3), a ** Rational(-4, 3)
    parts = 1 / r_ + a ** Rational(4, 3) + 1 / t2 + a * sqrt(t_ / r_) + r_ * a**2 / t_ + t_ * r_ * a**2 / t2
    return conditional(
        Identity(
            "the root of a^(4/3), with a = sqrt(d log(1/delta))/(n epsilon), is the printed rate",
            PRINTED_RATE,
            lambda: sqrt(SMALL ** Rational(4, 3)),
        ),
        Quoted("the descent in each round", "004:Lem14"),
        Quoted("the estimator's error", "004:Lem15"),
        Dominated(
            "1/R + 1/m + 1/T_2 + a sqrt(T/R) + R a^2/T + T R a^2/T_2 is of order a^{4/3}",
            parts,
            a ** Rational(4, 3),
            Region(a <= 1),
        ),
        # The minibatch fits into n for a >= n^{-3/4}, and m = n has no sampling error.
        Exceeds(
            "m = a^{-4/3} may exceed n: a = n^{-1}",
            a ** Rational(-4, 3),
            n,
            Region(a <= 1, a >= 1 / n),
            {n: s, a: 1 / s},
        ),
        Dominated("it does not for a >= n^{-3/4}", a ** Rational(-4, 3), n, Region(a * n ** Rational(3, 4) >= 1)),
        Identity(
            "and m = n leaves no sampling error: the variance of a mean of m out of n has the factor n - m",
            lambda: (n - m).subs(m, n),
            0,
        ),
        Dominated(
            "differences on one minibatch add C_{2,r}^2/m where the noise has sigma_2^2 d C_{2,r}^2 = R a^2 C_{2,r}^2",
            1 / r_,
            r_ * a**2,
            Region(a <= 1),
        ),
        condition="both gradients of step 7 on one minibatch and at the y_r that was released or not in both places "
        "(004:Lem13(a), 003:Alg3 step 3), l^2 for l in 004:Lem15, every f l-smooth jointly, Phi bounded below (003:A1 "
        "and 003:Thm2), eta_x of the stated order, not only at most, m = n where a^{-4/3} exceeds n; the noise of "
        "Theorem 5, whose privacy is refuted apart",
        note="The schedule gives the rate from (61); what leads to (61) needs repairs, and the noise it counts is not "
        "private.",
    )


@claim(
    "003:'when n>=sqrt d/(G eps)'",
    Kind.RATE,
    location="after Theorem 6",
    small=sqrt(d) / (n * epsilon),
    ours=a ** Rational(2, 3),
    theirs=sqrt(a),
)
def better() -> Decision:
    """With a = {small} the bound, of order {ours}, is below the earlier {theirs} up to logarithms when a <= G."""
    return conditional(
        Dominated("a^{2/3} <= a^{1/2} for a <= 1", a ** Rational(2, 3), sqrt(a), Region(a <= 1)),
        Counterexample(
            "n >= sqrt d/(G epsilon) is a <= G: at a = G = 64 it is 16 against 8",
            a ** Rational(2, 3) <= sqrt(a),
            {a: 64},
        ),
        Identity(
            "so that the printed condition, n at least sqrt d/(G epsilon), says a <= G",
            sqrt(d) / (n * epsilon),
            lambda: G * (sqrt(d) / (G * epsilon)) / n,
        ),
        condition="G is at most of order one, so that a <= 1",
        note="Better once a <= 1, which is where either bound says anything.",
    )


@claim("004:Lem13(a)", Kind.ALGORITHM, location="version with proofs, Lemma 13, step (a)")
def no_clipping() -> Decision:
    """|grad_x f(x_r, y*(x_r); z_r) - grad_x f(x_{r-1}, y*(x_{r-1}); z_{r-1})| <= (l + kappa l)|x_r - x_{r-1}|."""
    return refuted(
        Enumerated(
            "f = z h(x) - y^2/2 meets A1 to A4; at x_r = x_{r-1} = 0 records 1 and -1 differ by",
            sample_difference,
            (1, -1),
            2,
        ),
        Counterexample(
            "which (l + kappa l)|x_r - x_{r-1}| = 0 does not bound",
            moved <= (l + kappa * l) * move,
            {moved: 2, l: 1, kappa: 1, move: 0},
        ),
        Quoted(
            "for the same record it is Lemma 3 for that record's f", "003:Lem3", "jointly l-smooth, as in the source"
        ),
        readings={
            "z_r and z_{r-1} drawn apart, as Algorithm 3 does": "refuted",
            "the same records in both terms": "conditional",
        },
        repaired="difference on one minibatch, as SPIDER does; with two, the difference is of order G and the clip at "
        "C_{2,r} is active",
        note="The two gradients are taken at different records, whose difference does not shrink with the step.",
        method=Method.STEPS,
    )


HALF = Rational(1, 2)
THIRD_RADIUS = 50 * kappa * G * sqrt((logs + 1) / inner)  # C_3, logs for the paper's logarithm over theta


@claim("004:Lem13 C3", Kind.SCHEDULE, location="version with proofs, Lemma 13")
def third_radius() -> Decision:
    """C_3 = {THIRD_RADIUS}, inner = T_2 and logs the logarithm of R and T_2 with 1/theta, covers both errors of y."""
    return conditional(
        Quoted(
            "each of y_{r+1} and y_r is off by at most (G/mu) sqrt((624 logs + 1)/T_2), logs = log(R log T_2/theta), "
            "all R at once with probability 1 - theta by the union bound",
            "004:Lem12",
        ),
        Inequality(
            "l/mu = kappa times both is within C_3",
            2 * kappa * G * sqrt((624 * logs + 1) / inner),
            THIRD_RADIUS,
            over(logs, kappa >= 1, G, inner),
        ),
        Inequality(
            "the other way to read the brackets, log(X)/theta + 1, is enough too: p = log X >= log log 4, w = 1/theta",
            4 * (624 * (p + log(w)) + 1),
            2500 * (p * w + 1),
            over(p >= log(log(4)), w >= E),
        ),
        # Give instances above the bound: the lemma's own logarithm, and y_r perturbed.
        Counterexample(
            "the lemma's own statement has log(log T_2)/theta, without R: at T_2 = R = 10^6, theta = 3/10 it is below "
            "what Lemma 12 gives for all R rounds at once",
            2 * sqrt(624 * log(R * log(inner) / theta) + 1) <= 50 * sqrt(log(log(inner)) / theta + 1),
            {inner: 10**6, R: 10**6, theta: Rational(3, 10)},
        ),
        Enumerated(
            "step 3 of Algorithm 3 sets y_r to ytilde_r: with noise 1/2 there and x at rest the difference of step 7 "
            "is",
            noisy_difference,
            (Fraction(1, 2),),
            Fraction(1, 2),
        ),
        Counterexample(
            "f = h(x) y - y^2/2 has kappa = l = 3/2 and G <= 3/2: C_3 is below that, R = 10, T_2 = 10^8, theta = 3/10",
            moved <= THIRD_RADIUS.subs(logs, log(R * log(inner)) / theta),
            {moved: HALF, kappa: 3 * HALF, G: 3 * HALF, R: 10, inner: 10**8, theta: Rational(3, 10)},
        ),
        readings={
            "log(R log(T_2)/theta), or log(R log T_2)/theta, y_r unperturbed": "conditional",
            "log(log T_2)/theta without R, as the lemma itself states": "refuted",
            "y_r = ytilde_r with its noise, as step 3 of Algorithm 3 sets it": "refuted",
        },
        condition="Lemma 12, l bounds grad_xy f for every record, not only for the mean loss, and the y_r of step 7 "
        "is the unperturbed one, not ytilde_r (003:Alg3 step 3)",
        repaired="with R under the logarithm, as the proof has it and the statement of the lemma has not",
        note="2 sqrt 624 = 49.96: the constant 50 is what two distances need. They are those of the ascent, so that "
        "neither y may carry noise.",
    )


@claim("004:Lem15", Kind.STEP, location="version with proofs, equation (50)")
def variance() -> Decision:
    """The estimator's error has no sampling variance beyond B^2/m, and l E|y - y*|^2."""
    return conditional(
        Cited(
            "with clipping idle and y_r the same in both terms, the differences telescope: v_r is the "
            "minibatch gradient at (x_{r-1}, y_r) plus the noises since the restart",
            "Algorithm 3",
        ),
        Identity("one telescoped pair", lambda: u + (v - u), v),
        Counterexample(
            "the error of y enters with |grad_xy|^2 <= l^2, not l: L = 5 x y - y^2/2",
            (l * dist) ** 2 <= l * dist**2,
            {l: 5, dist: 1},
        ),
        AtMost("for l = 1/(1 + X) <= 1 the printed l is enough", (1 / (1 + X)) ** 2, 1 / (1 + X)),
        readings={"B^2/m is all the sampling error": "conditional", "the factor l on E|y - y*|^2": "refuted"},
        differs="exponent",
        condition="l^2 in place of l (or l <= 1), no clipping (004:Lem13(a)), and the same y_r in both differences "
        "(003:Alg3 step 3)",
        note="The minibatch terms cancel exactly when nothing is clipped.",
    )


SQUARED = 2 * C_2**2 * move**2 + 5000 * kappa**2 * G**2 * dist**2


@claim("004:Lem16", Kind.STEP, location="version with proofs, Lemma 16")
def average() -> Decision:
    """The squared threshold C_{{2,r}}^2, with move = |x_r - x_{{r-1}}| and dist the root in C_3, is at most {SQUARED},
    so that averaged over r the noise has these factors times T.
    """
    return judged(
        Inequality(
            "C_{2,r}^2 = (C_2 |dx| + C_3)^2, and each r' lies in the window of at most T values of r",
            (C_2 * move + 50 * kappa * G * dist) ** 2,
            SQUARED,
            over(C_2, move, kappa >= 1, G, dist),
        ),
        note="The factors alone. The inequality of the lemma is (50)'s and stands under the conditions of 004:Lem15.",
    )


@claim(
    "004:eta condition",
    Kind.STEP,
    location="version with proofs, after (59)",
    short=eta <= LONGEST,
    absorbed=4 * T * sigma_2**2 * C_2**2 * d <= 1 / (2 * eta**2),
)
def step_size() -> Decision:
    """For {short}: {absorbed} (the term in |x_r - x_{{r-1}}|^2 is absorbed)."""
    return proved(
        Inequality(
            "2 times (58)'s 2 T sigma^2 C_2^2 d is within 1/(2 eta^2)",
            2 * 2 * T * sigma_2**2 * C_2**2 * d,
            1 / (2 * eta**2),
            over(T, sigma_2, C_2, d, eta, eta <= LONGEST),
        ),
        Counterexample(
            "with the stray l of (59) and l = 1/2 it would not: at equality, T = d = 1",
            2 * 2 * T * sigma_2**2 * C_2**2 * d <= l / (2 * eta**2),
            {T: 1, d: 1, sigma_2: 1, C_2: 1, l: Rational(1, 2), eta: 1 / (2 * sqrt(2))},
        ),
        Identity("the condition squared", LONGEST**2, lambda: 1 / (2**2 * (2 * T * sigma_2**2 * C_2**2 * d))),
        readings={
            "the factor 1/R of the average of (49)": "proved",
            "the factor l/R that (59) prints, l < 1": "refuted",
        },
        note="With equality. (59) prints l/R for the 1/R of the average of (49); with l < 1 the condition would not "
        "do.",
    )
