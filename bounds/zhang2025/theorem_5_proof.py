r"""The claims about Theorem 5 and Remark 2, the privacy of PrivateDiff Minimax (setting in ``theorem_5``).

Two instances have R = T = 1, so that the output is (x_1, ytilde_1); ell = log(1/delta). The third, R = T large, is

    f(x, y; z) = z h(x) - y^2/2,  h(x) = x/(1 + x^2),  one record 1 or -1, the others 0,  x_0 = y_0 = 0,  C_1 = 1.

No y depends on the data there, and v_1 moves by 2 C_1/m: Lemmas 8 and 9 hold. As C_2, C_3 -> 0 every vtilde_r is
vtilde_1, and x_r = -eta r vtilde_1. vtilde_1 has the mean 1/m or -1/m if the record is drawn, else 0, and H = 1/(m
sigma_x1) is how many noises that is. Event: the output x_r is above (4/5) eta R/m.
"""

from fractions import Fraction
from typing import Any

from sympy import Eq, Integer, Max, Rational, ceiling, exp, log, sqrt, symbols

from dpcheck.bounds.calibration import curve
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, misprint, refuted
from dpcheck.bounds.evidence import AtMost, Below, Cited, Counterexample, Enumerated, Identity, Inequality, Step, over
from dpcheck.bounds.symbols import R, T, delta, epsilon, m, mu, n, sigma, sigma_y
from dpcheck.bounds.yang2022.lemma_6 import chance_absent
from dpcheck.bounds.zhang2025.preliminaries import upper_normal
from dpcheck.bounds.zhang2025.privatediff import chance_of_sign, restart_difference
from dpcheck.bounds.zhang2025.stability import full_batch_distance
from dpcheck.bounds.zhang2025.theorem_5 import REMARK_2, X_NOISE, Y_NOISE

C_0, C_1, M, beta, sigma_x1, sigma_x2 = symbols("C_0 C_1 M beta sigma_x1 sigma_x2", positive=True)
NOISE = dict(REMARK_2)
NORMALISED = m * sigma / (2 * C_1)


@claim("004:Thm5-proof sigma-tilde", Kind.STEP, location="version with proofs, after (44)")
def normalisation() -> Decision:
    """The noise of Algorithm 3, relative to a query of sensitivity 1/m (the one of Theorem 5's proof), has the
    multiplier {NORMALISED} with sigma = sigma_x1 at a restart, and likewise with sigma_x2 and C_{{2,r}}.
    """
    released = 2 * C_1  # d = 2 C_1 g, and g of (43) has sensitivity 1/m
    multiplier = sigma * C_1 / released * m
    return misprint(
        Identity(
            "noise sigma C_1 on d = 2 C_1 g is noise sigma/2 on g, m sigma/2 in units of 1/m",
            lambda: sigma * C_1 / (2 * C_1) * m,
            m * sigma / 2,
        ),
        Counterexample("C_1 = 3, m = 2, sigma = 1: 1 and 1/3", Eq(multiplier, NORMALISED), {m: 2, sigma: 1, C_1: 3}),
        Counterexample(
            "C_1 = 1/3: the printed one is three times too large, which is unsafe",
            NORMALISED <= multiplier,
            {m: 2, sigma: 1, C_1: Rational(1, 3)},
        ),
        Identity(
            "noise sigma on d, as in Algorithm 1, has the printed one; so has Algorithm 3 for C_1 = 1",
            lambda: (sigma * C_1 / (2 * C_1) * m).subs(C_1, 1),
            NORMALISED.subs(C_1, 1),
        ),
        readings={
            "Algorithm 3, noise N(0, sigma^2 C^2 I)": "refuted",
            "m sigma/2, without the threshold": "proved",
            "noise N(0, sigma^2 I), or C = 1": "proved",
        },
        differs="symbol",
        condition="m sigma/2: the threshold, which is in the noise already, goes",
        repaired="m sigma_x1/2 and m sigma_x2/2: the thresholds are in the noise of Algorithm 3, as the sigma of "
        "Theorem 5, which have none, suppose",
        note="Step 8 of Algorithm 3 multiplies the noise by C, so that C cancels. The printed form divides by it once "
        "more.",
    )


PRINTED = 8 * log(n) / epsilon


@claim(
    "004:Remark proof",
    Kind.STEP,
    location="version with proofs, proof of Remark 5.1",
    sigma=NOISE[sigma_x1].subs(log(1 / delta), 2 * log(n)),
)
def remark_algebra() -> Decision:
    """With sigma_x1 = {sigma} at delta = 1/n^2, the first condition of the proof of Theorem 5 reads lambda <=
    {PRINTED}.
    """

    # First condition: m^2 R lambda^2/(T n^2 s^2) <= lambda epsilon/4; delta = 1/n^2, log(1/delta) = 2 log n.
    def largest(normalised: Any) -> Any:
        return epsilon / 4 * T * n**2 * normalised**2 / (m**2 * R)

    first = NOISE[sigma_x1].subs(log(1 / delta), 2 * log(n))
    divided, whole = largest(m * first / (2 * C_1)), largest(m * first / 2)
    second = NOISE[sigma_x2].subs(log(1 / delta), 2 * log(n))
    return refuted(
        Identity(
            "the printed sigma_x1 at delta = 1/n^2", first, lambda: 4 * sqrt(R / T * (2 * log(n))) / (n * epsilon)
        ),
        Identity(
            "the first condition with m sigma/(2 C_1)",
            lambda: largest(m * first / (2 * C_1)),
            2 * log(n) / (C_1**2 * epsilon),
        ),
        Identity("and with m sigma/2, the right normalisation", lambda: largest(m * first / 2), 2 * log(n) / epsilon),
        Counterexample(
            "C_1 = 1, n = 10, epsilon = 1: 2 log 10 and 8 log 10", Eq(divided, PRINTED), {C_1: 1, n: 10, epsilon: 1}
        ),
        Identity(
            "the fourth, exp(-lambda epsilon/4) <= 1/n^2, asks for lambda at least",
            lambda: 4 / epsilon * 2 * log(n),
            PRINTED,
        ),
        Counterexample("so no lambda meets both", PRINTED <= whole, {n: 10, epsilon: 1}),
        Identity("8 in place of 4 mends it", lambda: largest(m * 2 * first / 2), PRINTED),
        # Check the second and the third condition.
        Identity(
            "the second, without its 1 - 1/T, which helps, is the same",
            lambda: epsilon / 4 * n**2 * (m * second / 2) ** 2 / (R * m**2),
            2 * log(n) / epsilon,
        ),
        Identity(
            "the third holds with equality, given the mu of Remark 2",
            lambda: (
                epsilon
                / 4
                * (NOISE[sigma_y].subs(log(1 / delta), 2 * log(n)) * mu * n / (2 * C_0**2 + beta * M)) ** 2
                / R
            ),
            PRINTED,
        ),
        readings={"sigma-tilde = m sigma/(2 C_1), C_1 = 1": "refuted", "sigma-tilde = m sigma/2": "refuted"},
        repaired="lambda <= 2 log(n)/epsilon with the constant 4; the constant 8 gives the printed 8 log(n)/epsilon",
        note="The factor 2 of the sensitivity 2 C_1/m is lost: four times too large, and lambda >= 8 log(n)/epsilon "
        "cannot be met.",
    )


scale, share, q, ell, c, height, k, c_4, c_5, c_6, c_7 = symbols("scale share q ell c H k c_4:8", positive=True)
SHARE = 1 / (100 * c**2)  # q
FAILURE = SHARE / 100  # delta
EVENT: tuple[Step, ...] = (
    Enumerated("a record is in the restart's minibatch with chance m/n", chance_absent, (4, 1, False), Fraction(3, 4)),
    Cited(
        "f = z h(x) - y^2/2, one record 1 or -1, the others 0, R = T, C_2 and C_3 small: all releases are vtilde_1, "
        "the output is -eta r vtilde_1 for a uniform r <= R. Event: above (4/5) eta R/m",
        "Algorithm 3; both chances are continuous in C_2 and C_3",
    ),
    AtMost(
        "r = 9R/10 (1 + k): vtilde_1 <= -(8/9)/m is enough for the event",
        Rational(4, 5),
        Rational(9, 10) * (1 + k) * Rational(8, 9),
    ),
)
MINIBATCH = n * sqrt(epsilon / (8 * T))
FIRST = {R: 1, T: 1, delta: exp(-ell)}
BROKEN = Counterexample(
    "noise of a sixth of the move is not (1, 1/e)-DP, nor (epsilon, 1/e)-DP for any epsilon <= 1",
    curve(sigma, epsilon) <= delta,
    {sigma: Rational(1, 6), epsilon: 1, delta: exp(-1)},
)
CURVE = Cited(
    "the curve falls as the noise or epsilon grows, and what is computed from the output is as private as it",
    "data processing",
)
RELEASE = (
    "a private variant: full-batch inner ascent with steps at most 1/beta and C_0 >= G_y, ytilde_{r+1} released with "
    "noise for 2 C_0/(mu n) before the gradients in x are taken at it, both gradients on z_r, and all "
    "multipliers from an accountant for 2 C/m in place of the printed formulas: that of sigma_x1 fails for R = T large "
    "with the sensitivities of Lemmas 8 and 9 too"
)
SPREAD = sqrt(R * log(1 / delta)) / (n * epsilon)
ENERGY = 2 * C_0**2 + M * beta
REMARK_NOISE = {"sigma_x1": 4 * SPREAD / sqrt(T), "sigma_x2": 4 * SPREAD, "sigma_y": 4 * ENERGY / mu * SPREAD}


@claim("003:Thm5", Kind.PRIVACY, location="Theorem 5")
@carries("zhang2025.theorem_5_existential", {"sigma_x1": c_5 * SPREAD / sqrt(T), "sigma_x2": c_6 * SPREAD})
def theorem() -> Decision:
    """Under Assumption 1 there are absolute constants c_4, ..., c_7 such that Algorithm 3 with the noises of Theorem 5
    is (epsilon, delta)-DP for all epsilon < c_4 m^2 T/n^2 and delta > 0.
    """
    multiplier = (dict(X_NOISE)[sigma_x1] * C_1 / (2 * C_1)).subs(FIRST)
    enough = 3 * c_5 * sqrt(ell) / epsilon  # records
    noise = dict(X_NOISE)[sigma_x1].subs(R, T).subs(delta, exp(-ell))
    count = (1 / (m * noise)).subs(m, q * n)  # H
    chosen = count.subs({c_5: c, epsilon: 1, ell: log(1 / FAILURE)}).subs(q, SHARE)
    return refuted(
        # R = T, records 1 and -1: the formula of sigma_x1 fails for every constant, the sensitivities granted.
        *EVENT,
        Identity(
            "R = T and epsilon = c_4 q^2 T/2: the multiplier m sigma_x1/2 tends to 0 as T grows, squared",
            lambda: (m * noise / 2).subs(m, q * n).subs(q, sqrt(2 * epsilon / (c_4 * T))) ** 2,
            c_5**2 * ell / (2 * c_4 * epsilon * T),
        ),
        Identity(
            "epsilon = 1, T > 1/(c_4 q^2), c an integer that is at least c_5 and 1, q = 1/(100 c^2), delta = q/100: "
            "H^2 is at least",
            lambda: chosen**2,
            10**4 * c**2 / log(10**4 * c**2),
        ),
        Cited("Phi(-t) <= exp(-t^2/2)/2 and Phi(t) >= 1/2 for t >= 0", "Gaussian tail"),
        Inequality(
            "e exp(-(4 H/5)^2/2)/2 <= q/50 for every c, in logarithms times log(10^4 c^2)",
            (1 + log(2500 * c**2)) * log(10**4 * c**2),
            Rational(16, 50) * 10**4 * c**2,
            over(c >= 1),
        ),
        Counterexample(
            "q/20 <= P'(event) <= e P(event) + delta <= q/50 + q/100 is false for every c",
            q / 20 <= q / 50 + delta,
            {q: SHARE, delta: FAILURE},
        ),
        # Records 2n and -2n: the restart moves by 2 C_1, for which no constant is enough.
        Enumerated("m = n = 2: v_1 moves by 2 C_1, C_1 = 1", restart_difference, (2, 1), 2),
        Enumerated("m = n = 30: the same", restart_difference, (30, 1), 2),
        Identity(
            "the noise of v_1, sigma_x1 C_1 at R = T = 1, in units of that move",
            multiplier,
            lambda: c_5 * sqrt(1 / Integer(1) * ell) / (n * epsilon) * C_1 / (2 * C_1),
        ),
        Identity(
            "with 3 c_5 sqrt(ell)/epsilon records it is a sixth", lambda: multiplier.subs(n, enough), Rational(1, 6)
        ),
        AtMost("and less with more", multiplier.subs(n, enough * (1 + share)), Rational(1, 6)),
        CURVE,
        BROKEN,
        readings={
            "some absolute c_4, ..., c_7, with the sensitivities of Lemmas 8 and 9 granted": "refuted",
            "some absolute c_4, ..., c_7": "refuted",
            "the constants of Remark 2": "refuted",
        },
        repaired=RELEASE,
        note="f = z h(x) - y^2/2, one record 1 or -1 and the others 0, R = T: the restart moves by 2 C_1/m, as Lemma 8 "
        "has it, and as T grows its noise vanishes beside that, so that an event tells the record, whatever the "
        "constants are. Nor does Lemma 8 hold for others: f = h(x) y + z y - y^2/2 (see privatediff), R = T = 1, m = "
        "n, epsilon = min(1, c_4/2), delta = 1/e: x_1 alone tells the record 2n from -2n once n >= 3 c_5/epsilon, "
        "since y_{r+1}, which depends on the data, enters the gradients unprotected. With y held equal the noise of y "
        "still fails (003:Thm5 sigma_y).",
        method=(Method.STEPS, Method.PRIVACY_CURVE, Method.PROVER),
    )


@claim("003:Thm5 sigma_y", Kind.CALIBRATION, location="Theorem 5")
@carries("zhang2025.theorem_5_existential", {"sigma_y": c_7 * ENERGY * SPREAD})
def y_noise() -> Decision:
    """Noise {Y_NOISE} on y_{{r+1}} is enough for the R releases of y, for an absolute c_7."""
    # f = s (z y - y^2/2 + 3/2), z in {-1, 0, 1}, Y = [-1, 1]: mu = beta = s, C_0 = 2 s >= G_y, 0 <= f <= M = 2 s, and
    # y moves by 2/n.
    instance = {C_0: 2 * scale, beta: scale, M: 2 * scale, mu: scale}
    printed = (Y_NOISE.subs(instance).subs(FIRST) / (2 / n)).simplify()
    divided = (Y_NOISE.subs(instance).subs(FIRST) / scale / (2 / n)).simplify()
    small = epsilon / (30 * c_7 * sqrt(ell))
    return refuted(
        *(
            Enumerated(
                f"m = n = {size}, s = 1/10: y_1 moves by 2/n",
                full_batch_distance,
                (size, 3, Fraction(1, 10)),
                Fraction(2, size),
            )
            for size in (2, 10)
        ),
        Identity(
            "the noise as printed",
            Y_NOISE,
            lambda: c_7 * (2 * C_0**2 + beta * M) * sqrt(R * log(1 / delta)) / (n * epsilon),
        ),
        Identity(
            "in units of that move at R = 1, with C_0 = M = 2 s, beta = s and delta = exp(-ell)",
            printed,
            lambda: c_7 * (2 * (2 * scale) ** 2 + scale * (2 * scale)) * sqrt(ell) / (n * epsilon) / (2 / n),
        ),
        Identity("and divided by mu = s, as in Remark 2", divided, lambda: printed / scale),
        Identity("a sixth, for a small scale s", lambda: printed.subs(scale, sqrt(small)), Rational(1, 6)),
        Identity("and for a smaller one, divided by mu", lambda: divided.subs(scale, small), Rational(1, 6)),
        CURVE,
        BROKEN,
        readings={
            "c_7 (2 C_0^2 + beta M) sqrt(R log(1/delta))/(n epsilon), Theorem 5 and its proof": "refuted",
            "the same divided by mu, Remark 2": "refuted",
        },
        repaired="noise for a sensitivity of 2 C_0/(mu n): c_7 C_0 sqrt(R log(1/delta))/(mu n epsilon), with "
        "full-batch ascent, steps at most 1/beta, C_0 >= G_y and epsilon <= log(1/delta)",
        note="The factor 1/mu of Lemma 9 is lost in Theorem 5 and in the proof of Remark 2, and even with it the "
        "noise has the unit of f: multiply f by a small s and ytilde_1 gives the record away, for every c_7.",
        method=(Method.ALGEBRA, Method.STEPS, Method.PRIVACY_CURVE),
    )


@claim(
    "003:Remark2",
    Kind.CALIBRATION,
    location="Remark 2",
    sigma_x1=NOISE[sigma_x1],
    sigma_x2=NOISE[sigma_x2],
    sigma_y=NOISE[sigma_y],
)
@carries("zhang2025.theorem_5", {"m": ceiling(Max(1, MINIBATCH)), **REMARK_NOISE})
@carries("zhang2025.theorem_6", REMARK_NOISE)
def remark() -> Decision:
    """For epsilon <= 1, delta <= 1/n^2 and m the larger of 1 and {MINIBATCH}, Algorithm 3 is (epsilon, delta)-DP with
    sigma_x1 = {sigma_x1}, sigma_x2 = {sigma_x2} and sigma_y = {sigma_y}.
    """
    spread = NOISE[sigma_x1].subs({R: 1, T: 1})  # C_1 = 1
    chance = upper_normal(1 / (2 * spread))
    at = {n: 256, m: 64, epsilon: Rational(1, 2), delta: Rational(1, 256**2)}
    large = {n: 1000, T: 1000, R: 1000, epsilon: 1, delta: Rational(1, 10**6)}
    chosen, batch = Rational(12, 1000), 12
    noise = dict(REMARK_2)[sigma_x1].subs(large)
    sampled = q * curve(sigma, log(1 + (exp(epsilon) - 1) / q))
    values = {q: chosen, sigma: batch * noise / 2, epsilon: 1, delta: large[delta]}
    return refuted(
        Enumerated("n = 4, m = 1: d_0 = 1 with chance m/n", chance_of_sign, (4, 1, 2), Fraction(1, 4)),
        Enumerated("d_0 = -1 with chance m/n for the other record", chance_of_sign, (4, 1, -2), Fraction(1, 4)),
        Enumerated("n = 5, m = 2", chance_of_sign, (5, 2, -4), Fraction(2, 5)),
        Identity(
            "the printed minibatch, which is n/4 at epsilon = 1/2, T = 1", MINIBATCH, lambda: n * sqrt(epsilon / 8 / T)
        ),
        Identity(
            "the noises of Remark 2 are those of Theorem 5 with c_5 = c_6 = 4",
            NOISE[sigma_x1],
            lambda: 4 * sqrt(R / T * log(1 / delta)) / (n * epsilon),
        ),
        Identity("between restarts", NOISE[sigma_x2], lambda: sqrt(T) * NOISE[sigma_x1]),
        Identity("and that of y with c_7 = 4, divided by mu", NOISE[sigma_y], lambda: 4 * (Y_NOISE / c_7) / mu),
        # Give an event that tells the two records apart.
        Cited(
            "event: vtilde_1 < -1/2. Its mean is 0 or 1 for the one record, 0 or, with chance m/n, -1 for the other",
            "the two enumerations, T_2 = 1",
        ),
        Counterexample(
            "P'(event) <= e^epsilon P(event) + delta fails at n = 256, m = 64, epsilon = 1/2, delta = 1/n^2",
            m / n * chance <= exp(epsilon) * (1 - chance) + delta,
            at,
        ),
        Identity(
            "without sampling and y held equal: sigma_y in units of 2/n, f scaled by s",
            lambda: (NOISE[sigma_y] * n / 2).subs(
                {C_0: 2 * scale, beta: scale, M: 2 * scale, mu: scale, R: 1, delta: exp(-ell)}
            ),
            20 * scale * sqrt(ell) / epsilon,
        ),
        # Without any coupling with y it fails at n = T = R = 1000.
        *EVENT,
        Below("n = T = R = 1000, epsilon = 1: n sqrt(epsilon/(8T)) is above 11", 11, 1000 / sqrt(8 * 1000)),
        Below("and below 12, which is m rounded up", 1000 / sqrt(8 * 1000), batch),
        Counterexample(
            "all records 1 against one record -1, no coupling with y: the curve of the first release is that of a "
            "Gaussian release with multiplier m sigma_x1/2, drawn with chance q, and is above delta = 10^-6",
            sampled <= delta,
            values,
        ),
        Below("it is above 0.0119", Rational(119, 10**4), sampled.subs(values)),
        Counterexample(
            "the output itself: P'(event) <= e P(event) + delta fails",
            q / 10 * upper_normal(height / 9) <= exp(epsilon) * upper_normal(-4 * height / 5) + delta,
            {q: chosen, height: 1 / (batch * noise), epsilon: 1, delta: large[delta]},
        ),
        readings={
            "as printed": "refuted",
            "sigma_y alone": "refuted",
            "sigma_x1, the sensitivities of Lemmas 8 and 9 granted": "refuted",
        },
        repaired=f"{RELEASE}; and the paper's own conditions ask for 8 in x, not 4 (004:Remark proof)",
        note="f = h(x) y + z y - y^2/2, one record 2m or -2m and the others 0, R = T = T_2 = 1, C_1 = 1: the inner "
        "minibatch holds the record with chance 1/4, and then all gradients in x have its sign, five noises away. The "
        "event has a chance of 1/4 against one in a million, with delta = 1/65536. Without any coupling, at n = T = R "
        "= 1000 and epsilon = 1, the first release alone needs delta = 0.012, against 10^-6, and the output shows it.",
        method=(Method.STEPS, Method.EVENT),
    )
