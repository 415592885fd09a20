"""The claims about Theorem 3.4 and its phases, setting in ``theorem_3_4``."""

from sympy import Integer, Max, Rational, log, sqrt, symbols

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.judge import judged
from dpcheck.bounds.symbols import D, L, c, d, delta, epsilon, k, mu, n
from dpcheck.bounds.zhang2022 import conditions
from dpcheck.bounds.zhang2022.phases import BLOCKS, PHASE, letters, printed, rates, rounded, short, sums
from dpcheck.bounds.zhang2022.theorem_3_3 import LOG
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES
from dpcheck.bounds.zhang2022.theorem_3_4 import BOUND, SHARE

b, bits, p, phases, nbar, mu_k, start, end, away = symbols("b bits p phases nbar mu_k start end away", positive=True)

TINY = Rational(1, 10**12)
SIGMA_K = 4 * L * sqrt(2 * LOG) / (mu_k * nbar * epsilon)
STEP = mu_k * start**2 / 2 + 2 * L**2 / (mu_k * nbar)
SIXTY_FIVE = 65 * L**2 * d * LOG / (mu_k * nbar * epsilon) ** 2
SETTING = over(n, nbar >= 1, d, epsilon <= 1, delta <= 1, L, mu_k, nbar <= n)
MEAN_GAP = "a solver with the mean gap of Remark 1"
RULE = "a distance of at most L/(mu_k nbar) with probability 1 - delta/4, and nothing said of the mean"


@claim("Z12", Kind.LEMMA, location="Lemma A.4", step=STEP)
def phase() -> Decision:
    """E[F(x_k^) - F(x_{{k-1}}^)] is at most {step}, where start^2 is E|x_{{k-1}}^ - x~_{{k-1}}|^2."""
    return proved(
        Quoted(
            "on block k with G = (mu_k/2)|x - x~_{k-1}|^2, compared at x_{k-1}^; the block is independent of x~_{k-1} "
            "and of x_{k-1}^",
            "Z04",
        ),
        AtMost(
            "the regulariser at x_k^, of distance end from its centre, is not negative; start is that of x_{k-1}^",
            STEP - mu_k * end**2 / 2,
            STEP,
        ),
        note="Lemma A.3 with the proximal term as the regulariser, compared at the previous minimiser; for k = 1 that "
        "is x* by definition.",
    )


@claim("Z13", Kind.CALIBRATION, location="proof of Theorem 3.4", sigma=SIGMA_K, small=epsilon <= 1)
@carries("zhang2022.theorem_3_4", {"sigma": SIGMA_K}, PHASE)
def calibration() -> Decision:
    """With nbar records in a block sigma_k = {sigma} makes phase k (epsilon, delta)-DP, for {small}."""
    multiplier = sqrt(2 * LOG) / epsilon
    return proved(
        Quoted("the stability 2 L/(mu_k nbar) of the regularised minimiser", "Z04"),
        Identity(
            "with two solver errors, times the multiplier",
            lambda: (2 * L / (mu_k * nbar) + 2 * (L / (mu_k * nbar))) * multiplier,
            SIGMA_K,
        ),
        Private("(epsilon, delta/2)-DP for that sensitivity", multiplier, SHARES, epsilon, delta / 2),
        Quoted("the other delta/2 is the solver's failure", "Z07"),
        short(multiplier.subs({epsilon: 1, delta: TINY}), 1, TINY),
        readings=BLOCKS,
        note="As Theorem 3.3 with mu_k and nbar. The sensitivity is that of the records in the block.",
        method=Method.PRIVACY_CURVE,
    )


@claim("Z14", Kind.CONSTANT, location="equation (8)", bound=SIXTY_FIVE, small=epsilon <= 1, mean_gap=MEAN_GAP)
@carries("zhang2022.theorem_3_4", {"energy": mu_k * (L / (mu_k * nbar)) ** 2}, PHASE)
def deviation() -> Decision:
    """E|x~_k - x_k^|^2 is at most {bound} for {mean_gap} and {small}."""
    solver = delta**2 * L**2 / (8 * mu_k**2 * nbar**2)
    within = c * L**2 * d * LOG / (mu_k * nbar * epsilon) ** 2
    certain = over(SETTING, delta <= Rational(1, 3))
    few = {L: 1, d: 1, epsilon: 1, mu_k: 1, nbar: 10**9, delta: Rational(1, 10**11)}
    return proved(
        Cited("|a + b|^2 <= 2|a|^2 + 2|b|^2; E|N(0, sigma^2 I)|^2 = d sigma^2", "linear algebra"),
        Quoted("E|x_k - x_k^|^2 <= delta^2 L^2/(16 mu_k^2 nbar^2), from the mean gap with mu_k and nbar", "Z10"),
        Inequality("noise and solver within the constant", 2 * d * SIGMA_K**2 + solver, within, SETTING, (c, 65)),
        Inequality(
            "a solver that is certainly within L/(mu_k nbar), delta <= 1/3",
            2 * d * SIGMA_K**2 + 2 * L**2 / (mu_k * nbar) ** 2,
            within,
            certain,
            (c, 65),
        ),
        Cited("|P(x~) - x_k^| <= |x~ - x_k^|, x_k^ in X", "projection onto a convex set"),
        Counterexample(
            "the stopping rule alone: f = 0 on [-1, 1], mu_k = 1, nbar = 10^9, delta = 10^-11, a solver that returns 1 "
            "with chance delta/4 and else 0; half of the noise leads no nearer to 0",
            away <= SIXTY_FIVE.subs(few),
            {away: Rational(1, 8 * 10**11)},
        ),
        readings={
            "a mean gap of gamma_k, as in Remark 1, x~ projected or not": "proved",
            "a distance of at most L/(mu_k nbar) for certain, delta <= 1/3": "proved",
            RULE: "refuted",
        },
        note="64 from the noise; f is not evaluated at x~.",
        method=Method.PROVER,
    )


f_0, f_k, f_next, f_last = symbols("f_0 f_k f_next last")  # F(x*), F(x_k^), F(x_{k+1}^), F(x~_K)
TELESCOPED = f_k - f_0


@claim("Z15", Kind.STEP, location="equation (9)", excess=f_last - f_0)
def telescope() -> Decision:
    """With x_0^ = x*, the excess risk {excess} is that of the last step plus the sum of the phases' differences, f_0
    being F(x*) and last F(x~_K).
    """
    return judged(
        Identity(
            "the last step and the sum up to K = k are the excess risk",
            lambda: (f_last - f_k) + TELESCOPED,
            f_last - f_0,
        ),
        Identity("one phase more adds its difference to the sum", lambda: TELESCOPED + (f_next - f_k), f_next - f_0),
        note="By induction over the phases, with x_0^ defined as x*, so that the empty sum is 0.",
    )


STEEP, HALVED = mu * 2 ** (3 * k), n / 2**k  # mu_k and n_k of phased ERM


@claim("Z20", Kind.REMARK, location="after the proof of Theorem 3.4", steep=STEEP, halved=HALVED)
def phased_erm() -> Decision:
    """With mu_k = {steep} and n_k = {halved}, as in phased ERM, the logarithmic factor in the risk goes."""
    larger = Max(p, b)  # mu in units of L/D
    level = L**2 * d * LOG / epsilon**2
    before = {k: k - 1}
    return conditional(
        Identity(
            "k blocks hold n - n_k records, within n, by induction; K = log2 n of them exist",
            lambda: (n - HALVED) + n / 2 ** (k + 1),
            n - n / 2 ** (k + 1),
        ),
        Quoted("each phase's difference, with n_k for nbar", "Z12"),
        Quoted("(8), with n_k for nbar", "Z14"),
        Identity(
            "each phase's noise term, (mu_k/2) 65 L^2 d log(2.5/delta)/(mu_{k-1} n_{k-1} epsilon)^2, halves",
            lambda: STEEP / 2 * 65 * level / (STEEP.subs(before) * HALVED.subs(before)) ** 2,
            520 * level / (mu * n**2) / 2**k,
        ),
        Identity(
            "and 2 L^2/(mu_k n_k) falls by a factor 4", lambda: 2 * L**2 / (STEEP * HALVED), 2 * L**2 / (mu * n) / 4**k
        ),
        Quoted("the last step is L times the root of (8)", "Z16"),
        Identity("whose 1/(mu_K n_K) falls by a factor 4 as well", lambda: 1 / (STEEP * HALVED), 1 / (mu * n) / 4**k),
        Cited("sum_{k >= 2} 2^{-k} = 1/2, sum_{k >= 1} 4^{-k} = 1/3", "geometric series"),
        Inequality(
            "at K = log2 n and mu = (L/D) max{p, b} all terms together, without K, in units of L D",
            sqrt(65) * b * p**4 / larger + 260 * b**2 / larger + Rational(2, 3) * p**2 / larger + 4 * larger,
            c * (p + b),
            over(b, p <= 1),
            (c, 300),
        ),
        condition=conditions.PROJECTED,
        note="With mu_k = mu 2^{3k} and n_k = n/2^k both sums are geometric, so that the factor log n goes.",
        method=(Method.PROVER, Method.CITED),
    )


mu_last, power, base, two = symbols("mu_last power base two", positive=True)
NINE = 9 * L * D * sqrt(d * LOG) / (nbar * epsilon)
MODULUS = L / D * Max(p, 14 * phases * b)
RISK = 4 * L * D * phases * (p + c * b)
RATIO = over(b, p <= 1, phases >= Rational(1, 2), L, D)


@claim("Z16", Kind.CONSTANT, location="proof of Theorem 3.4, (a) to (c)", bound=NINE, mean_gap=MEAN_GAP)
def last() -> Decision:
    """E[F(x~_K) - F(x_K^)] is at most {bound} for {mean_gap}."""
    root = sqrt(d * LOG) / (nbar * epsilon)
    return conditional(
        Cited("F is L-Lipschitz; Jensen", "definition"),
        Quoted("(8) at k = K", "Z14"),
        Inequality(
            "(a) to (c): the root of 65 is below 9, and mu_K >= L/D",
            sqrt(65) * L**2 / mu_last * root,
            c * L * D * root,
            over(L, D, mu_last, nbar >= 1, d, epsilon <= 1, delta <= 1, mu_last * D >= L),
            (c, 9),
        ),
        Inequality(
            "mu_K = mu 2^K = mu n and mu >= L/(D sqrt n) are enough for that, as 2^K >= sqrt n is",
            L / D,
            L / (D * sqrt(n)) * power,
            over(L, D, n, power >= 1, power >= sqrt(n)),
        ),
        Inequality(
            "K = floor(log2 n), 2^K = power > n/2: power >= sqrt n from n = 4 on",
            sqrt(n),
            power,
            over(n >= 4, power >= 1, n <= 2 * power),
        ),
        Below("and at n = 2 and 3, where it is 2", sqrt(3), 2),
        *conditions.convex(NINE.subs(nbar, conditions.RECORDS / conditions.COUNT)),
        readings=conditions.readings(conditions.LIPSCHITZ),
        condition=conditions.PROJECTED,
        note="Even 9 L D/sqrt n would do, since mu_K >= L sqrt n/D; K = floor(log2 n) keeps 2^K >= sqrt n.",
    )


@claim("Z18", Kind.UTILITY, location="Theorem 3.4", bound=RISK.subs(c, 7), **printed(SHARE))
@carries("zhang2022.theorem_3_4", {"mu": MODULUS, "bound": RISK.subs(c, 7)}, sums(log(5 / (2 * delta))))
@carries("zhang2022.theorem_3_4", rates(1))
def final() -> Decision:
    """With mu = {MODULUS} the excess risk is at most {bound}, where phases is {count}, p is {p} and b is {b}, for
    {MEAN_GAP}.
    """
    low = Max(p, 14 * bits * b)
    terms = (
        9 * L * D * phases * b
        + 65 * L**2 * phases**2 * b**2 / MODULUS
        + 2 * L**2 * phases * p**2 / MODULUS
        + MODULUS * D**2
    )
    many, small = Integer(16), Rational(1, 10**8)
    share = small / (14 * many)
    tenth = (
        sqrt(65) * many * share / (small * 2**many)
        + 65 * many**2 * share**2 / small * (1 - 2 ** (1 - many))
        + 2 * many * small * (1 - 2**-many)
        + small
    )
    derived, allowed = symbols("derived allowed", positive=True)
    return conditional(
        Quoted("the decomposition (9)", "Z15"),
        Quoted("the last step", "Z16"),
        Quoted("each phase's difference", "Z12"),
        Quoted("(8) at k - 1", "Z14"),
        *letters(LOG),
        # The terms of the proof are within the published bound.
        Identity(
            "the sum over k >= 2 of 65 mu_k/(2 mu_{k-1}^2), mu_k = mu 2^k",
            65 * mu * 2**k / (2 * (mu * 2 ** (k - 1)) ** 2),
            65 / (mu * 2 ** (k - 1)),
        ),
        Cited("the geometric sums are at most 65/mu and, over k >= 1, 1/mu", "geometric series"),
        Identity(
            "the regulariser of the first phase, (mu_1/2) |x* - x_0|^2, mu_1 = 2 mu",
            lambda: 2 * MODULUS / 2 * D**2,
            L * D * Max(p, 14 * phases * b),
        ),
        Inequality("the five terms are within the published bound", terms, RISK, RATIO, (c, 7)),
        Inequality(
            "K = log n, unrounded: 2^K = n^{log 2/log base} >= sqrt n to a base of at most 4, with two = log 2",
            Rational(1, 2),
            two / base,
            over(two, base, base <= 2 * two),
        ),
        *rounded(
            "K = floor(log2 n), log2 in mu and in the bound, with mu_K >= mu n/2",
            lambda ratio: (
                2 * sqrt(65) * ratio * b * p**2 / low + 65 * ratio**2 * b**2 / low + 2 * ratio * p**2 / low + low
            ),
            4 * bits * (p + c * b),
            (c, 7),
        ),
        # The terms to base 10 are above the published bound at n = 10^16.
        Counterexample(
            "base 10, n = 10^16, 14 K b = p: the proof's terms against the published bound",
            derived <= allowed,
            {derived: tenth, allowed: 4 * many * (small + 7 * share)},
        ),
        *conditions.convex(BOUND),
        readings={
            "K = log n without rounding, natural or any base up to 4": "conditional",
            "K = floor(log2 n), log2 throughout, n/K or floor(n/K) records in a block": "conditional",
            "the proof's terms, logarithms to base 10": "refuted",
            **conditions.readings(conditions.LIPSCHITZ),
        },
        condition=conditions.PROJECTED,
        note="All five terms, with the published mu; 6.91 would do for 7.",
    )
