r"""Lemma 6: an escape phase that is not broken certifies the curvature. Lemma 9 repeats it for the population.

From the anchor x_m Algorithm 2 moves to x_{m+1} = x_m + xi, xi uniform in the ball of radius r, then takes steps
x <- x - eta_H v; the phase is broken at the first t with sum_{j=m+1..t} eta_H^2 |v_j|^2 > (t - m) Dbar, and if
t_thres steps pass x_m is returned. In the proof of [1, Lemma 6], for Dbar <= R^2/t_thres^2 and lambda_min < -alpha_H,
starts from which neither sequence of Lemma 7 leaves the ball fill a slab of width r_0 = delta_2 r/sqrt d (13);
otherwise |x_t - x_{m+1}| >= R for some t (14), where an unbroken phase has |x_t - x_{m+1}| < t_thres sqrt Dbar <= R for
all t (15), (16).
"""

from sympy import Derivative, Ge, Integer, Rational, Subs, integrate, log, pi, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, misprint, proved, refuted
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Quoted
from dpcheck.bounds.symbols import d

delta_1, delta_2, eta_h, g, R, D_bar, threshold = symbols("delta_1 delta_2 eta_H g R Dbar t_thres", positive=True)
alpha, k, u, s, Q, x, radius, moved, root, shown = symbols("alpha k u s Q x r moved root shown", positive=True)
t, m, V, V_less, r_0, spread = symbols("t m V_d V_less r_0 spread", positive=True)

SURE = 1 - delta_1 - delta_2  # Lemma 6
CHANCE = r_0 * V_less / V  # (13), V_less the volume of the ball of radius r in d - 1 dimensions
THIN = delta_2 * radius / sqrt(d)  # r_0 as published
WIDE = sqrt(d) * r_0 / radius
PATH, STRAIGHT = sqrt((t - m) * spread), (t - m) * sqrt(D_bar)  # (15)
MEAN_SQUARE = R**2 / threshold**2  # the largest Dbar

# f = Phi(x) - y^2/2 on R x [-1, 1], Phi = g/(2 (1 + x^2)), g = 1/100; L_Phi = rho_Phi = C = 1, eta_H = 1/10,
# alpha_H = 1/200, r = L_Phi eta_H alpha_H/(C rho_Phi) = 1/2000, r_0 = r/10: X = 10, R = 1/(2 L_Phi eta_H) = 5.
SADDLE = (
    (g, Rational(1, 100)),
    (eta_h, Rational(1, 10)),
    (radius, Rational(1, 2000)),
    (R, Integer(5)),
    (threshold, Integer(46)),
)

PLACE = "Lemma 6, Appendix B.1"


@claim("002:(10)(13)", Kind.LEMMA, location=PLACE + ", (13)")
def slab() -> Decision:
    """Starts that fill at most r_0 = {THIN} of every line along e_1 are hit by a uniform start in the ball of radius r
    with probability at most {CHANCE}, V_d its volume and V_less that of the ball of d - 1 dimensions, and that is at
    most {WIDE}, which is delta_2.
    """
    # V_d(r) = integral over |u| <= r of V_{d-1} of the slice, V_{d-1}(r) (1 - u^2/r^2)^{(d-1)/2}.
    dimension = 1 + k
    below = 1 - (d - 1) * u**2 / (2 * radius**2)  # Bernoulli, d >= 3 or d = 1
    part = integrate(below, (u, 0, radius / sqrt(d))) * 2
    return proved(
        Cited("on every line along e_1 the stuck starts fill at most r_0, hence r_0 V_{d-1}(r) in all", "Fubini"),
        Cited("(1 - z)^p >= 1 - p z for 0 <= z <= 1 and p = 0 or p >= 1", "Bernoulli's inequality"),
        Identity(
            "V_d/V_{d-1} is at least the integral of that over |u| <= r/sqrt d",
            part,
            radius / sqrt(d) * (2 - (d - 1) / (3 * d)),
        ),
        AtMost("which is at least r/sqrt d, d = 1 + k", 1, 2 - k / (3 * dimension)),
        Below("d = 2: V_1/V_2 = 2/(pi r) is below sqrt 2/r", 2 / pi, sqrt(2)),
        Identity(
            "r_0 V_{d-1}/V_d is the bound times (V_{d-1} r/sqrt d)/V_d, which is thus at most 1",
            CHANCE,
            lambda: WIDE * (V_less * radius / sqrt(d) / V),
        ),
        Identity("with r_0 = delta_2 r/sqrt d", lambda: sqrt(d) * THIN / radius, delta_2),
        Counterexample(
            "separation r_0 alone does not make the stuck starts a slab: d = 1, r = 1, r_0 = delta_2 = 1/4, every "
            "other interval of length r_0 stuck",
            moved <= delta_2,
            {moved: Rational(1, 2), delta_2: Rational(1, 4)},
        ),
        readings={
            "the volumes, for stuck starts that fill at most r_0 of every line along e_1": "proved",
            "that premise, from Lemma 7 for the one separation r_0": "refuted",
            "that premise, from Lemma 7 for every separation of at least r_0": "proved",
        },
        repaired="Lemma 7 for w_{m+1} = c r_0 e_1, every c >= 1, as its argument allows",
        note="V_{d-1}(r)/V_d(r) <= sqrt d/r with room to spare (the ratio is at most sqrt((d + 1)/(2 pi))/r). The "
        "premise that the stuck starts fill at most r_0 of every line needs Lemma 7 for all separations from r_0 on, "
        "not for r_0 alone.",
        method=Method.ALGEBRA,
    )


@claim("002:(14)-(16)", Kind.STEP, location=PLACE + ", (14) to (16)")
def displacement() -> Decision:
    """From Lemma 7's |x_t - x_m| >= R it follows that |x_t - x_{{m+1}}| >= R, which an unbroken phase with Dbar <=
    {MEAN_SQUARE} and r <= R contradicts.
    """
    return refuted(
        Counterexample(
            "d = 1, x_m = 0, xi = r = 1, x_t = R = 2: R from x_m, but 1 from x_{m+1}",
            moved >= R,
            {moved: Integer(2) - Integer(1), R: 2},
        ),
        Counterexample(
            "r = R, which the lemma allows, and |xi| = r: R from x_m at t = m + 1, with no step taken",
            moved >= R,
            {moved: 0, R: 2},
        ),
        Identity("Dbar = R^2/t_thres^2 lets the mean step be", lambda: sqrt(MEAN_SQUARE), R / threshold),
        Cited("|x_t - x_{m+1}| >= |x_t - x_m| - |xi| >= R - r", "triangle inequality"),
        AtMost(
            "Dbar = ((R - r)/t_thres)^2 is enough then: at most t_thres - 1 = k steps move by less than R - r = u",
            k * (u / (1 + k)),
            u,
        ),
        readings={
            "displacement from x_{m+1}, as (14) to (16) have it": "refuted",
            "displacement from x_{m+1} of at least R - r": "proved",
            "starts that stay within r of x_m are the stuck ones": "refuted",
            "starts that stay within R of x_m are": "proved",
        },
        repaired="R - r in (14), and Dbar <= (R - r)^2/t_thres^2 with r < R; the ball of the stuck starts has radius R",
        note="Lemma 7 speaks of the distance from x_m, (14) of that from x_{m+1}; the perturbation lies between. For r "
        "= R nothing is left; R - r in place of R mends it.",
        method=Method.ARITHMETIC,
    )


@claim("002:(15)", Kind.STEP, location=PLACE + ", (15)")
def cauchy_schwarz() -> Decision:
    """In an unbroken phase |x_t - x_{{m+1}}| is below {PATH} for every t > m, spread the sum of |x_{{i+1}} - x_i|^2
    over i = m + 1, ..., t - 1, and that is at most {STRAIGHT}.
    """
    return misprint(
        Identity(
            "|S + x|^2 <= (k + 1)(Q + x^2) if S^2 = k Q, the worst the induction allows: the difference is a square",
            (k + 1) * (s**2 / k + x**2) - (s + x) ** 2,
            (s - k * x) ** 2 / k,
        ),
        AtMost("and a smaller S^2 <= k Q leaves more", (k + 1) * (s**2 / k + x**2), (k + 1) * (s**2 / k + Q + x**2)),
        Cited(
            "norms of a sum are at most the sum of norms; there are t - m - 1 <= t - m increments",
            "triangle inequality",
        ),
        AtMost(
            "k = t - m - 1 unbroken steps have sum at most k Dbar: k k Dbar <= (k + 1)^2 Dbar",
            k * (k * D_bar),
            (k + 1) ** 2 * D_bar,
        ),
        Identity(
            "whose roots are the two bounds, at t - m = k + 1 and a sum of (k + 1) Dbar",
            Subs(PATH, (spread, t), ((k + 1) * D_bar, m + k + 1)),
            Subs(STRAIGHT, t, m + k + 1),
        ),
        Counterexample(
            "the printed sign < fails at t = m + 1, where nothing has moved: 0 < 0",
            moved < PATH,
            {moved: 0, spread: 0, t: 11, m: 10},
        ),
        AtMost("and holds from the first step on that moves: k Q and a positive Q more", k * Q, (k + 1) * Q),
        readings={
            "with <= for <": "proved",
            "with <, once a step since the perturbation has moved x": "proved",
            "with < as printed, at t = m + 1, where nothing has moved": "refuted",
        },
        differs="relation",
        condition="<= for the first sign: the printed < fails at t = m + 1, where both sides are 0",
        repaired="<= for <; (16) stays strict, since there are at most t_thres - 1 increments",
        note="Cauchy-Schwarz over the t - m - 1 steps since the perturbation, each of which passed the phase's test. "
        "Only the strict sign is too much: (15) is printed for every t from m + 1 on, where x_t is still x_{m+1}.",
    )


@claim("002:Lem6 title", Kind.PROBABILITY, location=PLACE)
def failure_probability() -> Decision:
    """Given Lemma 7 and the slab of its stuck starts, an escape phase that is not broken certifies lambda_min(grad^2
    Phi(x_m)) >= -alpha_H with probability at least {SURE}.
    """
    only, other, both = symbols("only other both", positive=True)  # chances that one, the other, both bounds fail
    slope = (g / (2 * (1 + x**2))).diff(x)
    grown = (1 + eta_h * g) ** threshold
    # |x| grows at most by 1 + eta_H g in a step, since |slope| <= g |x|, and by eta_H alpha for an error of alpha.
    farthest = grown * (radius + threshold * eta_h * alpha)
    given = (*SADDLE, (alpha, Rational(1, 200) ** 2))  # alpha_H = sqrt(rho_Phi alpha)
    return conditional(
        # Compare the chances of failure that add up with the printed ones.
        Quoted("the slab has a chance of at most delta_2", "002:(10)(13)"),
        AtMost(
            "two bounds of chances p and q to fail: together at most p + q",
            only + other + both,
            (only + both) + (other + both),
        ),
        Counterexample(
            "with Lemma 7's 4 delta_1 and the slab's delta_2, exclusive failures allowed by both: 1/2 is left at "
            "delta_1 = delta_2 = 1/10, not 4/5",
            Ge(1 - 4 * delta_1 - delta_2, SURE, evaluate=False),
            {delta_1: Rational(1, 10), delta_2: Rational(1, 10)},
        ),
        Identity(
            "run with delta_1/4 the union bound gives", Subs(1 - 4 * delta_1 - delta_2, delta_1, delta_1 / 4), SURE
        ),
        # Give an instance that no step can bring out of the phase.
        Identity(
            "the lemma's other printed parameters, on Phi = g/(2 (1 + x^2)), a strict saddle at 0: Hessian",
            Subs(Derivative(slope, x), x, 0),
            -g,
        ),
        Identity("and slope: at most g |x|", Derivative(g / (2 * (1 + x**2)), x), -g * x / (1 + x**2) ** 2),
        Below("t_thres = 2 log(10)/eta_H is below 47", 20 * log(Integer(10)), 47),
        Counterexample(
            "to break the phase with Dbar = R^2/t_thres^2 some step must be at least R/t_thres; none is, for |v - grad "
            "Phi| <= alpha, wherever xi falls",
            eta_h * (g * farthest + alpha) >= R / threshold,
            given,
        ),
        readings={
            "failure probability: 4 delta_1 + delta_2, at the printed log(4/delta_1)": "refuted",
            "failure probability, delta_1/4 put for delta_1 and Lemma 7 and (13) granted, one phase": "proved",
            "the whole lemma, with the printed t_thres and Dbar, for any probability": "refuted",
        },
        differs="constant",
        condition="only the failure probability is meant; Lemma 7 and (13) are granted and Lemma 7 is run with "
        "delta_1/4 (log(16/delta_1) for log(4/delta_1)), and with delta_2 divided by the number of phases where all of "
        "them are meant",
        repaired="1 - 4 delta_1 - delta_2, or log(16/delta_1) for log(4/delta_1) in the schedule. The lemma as a whole "
        "falls with the printed t_thres, and its proof with the noise terms of (25) too (claims 002:t_thres, 002:(25) "
        "nu)",
        note="The lemma announces 1 - delta_1 - delta_2 and its proof ends with 1 - 4 delta_1 - delta_2, which "
        "delta_1/4 mends. As a whole it fails with the printed t_thres: at alpha_H = 1/200 < g = 1/100 the phase is "
        "never broken, and the saddle is certified. That example keeps all that Lemma 6 prints and R = 1/(2 L_Phi "
        "eta_H), but not Lemma 7's second form of R.",
        method=(Method.ALGEBRA, Method.ARITHMETIC),
    )
