r"""Theorem 1 with Remark 1: the noise with which DP-SGDA is said to be private.

Problem. Minimise over w in W and maximise over v in V the empirical objective F_S(w, v) = (1/n) sum_i f(w, v; z_i), of
n records, where f(., v; z) is G_w-Lipschitz and f(w, .; z) is G_v-Lipschitz (A1). The output is to be
(epsilon, delta)-differentially private for datasets that differ in one record (replace-one).

Algorithm. DP-SGDA [1, Algorithm 1]. For t = 1, ..., T draw a minibatch I_t of m records uniformly
with replacement, xi_t ~ N(0, sigma_w^2 I), zeta_t ~ N(0, sigma_v^2 I), and set

    w_{t+1} = P_W( w_t - eta ( (1/m) sum_{i in I_t} grad_w f(w_t, v_t; z_i) + xi_t   ) )
    v_{t+1} = P_V( v_t + eta ( (1/m) sum_{i in I_t} grad_v f(w_t, v_t; z_i) + zeta_t ) ).

Guarantee.
- [1, Theorem 1]: there are constants c_1, c_2, c_3 such that for epsilon < c_1 m^2 T / n^2 and any
  delta > 0 the algorithm is (epsilon, delta)-DP with

      sigma_w = c_2 G_w sqrt(T log(1/delta)) / (n epsilon),  sigma_v with c_3 and G_v.        (3)

  The constants are not given. This is ``yang2022.theorem_1_existential``; its constants are
  parameters without defaults.
- [1, Remark 1]: for epsilon <= 1, delta <= 1/n^2 and m = max(1, n sqrt(epsilon/(4T))), the
  constants c_2 = c_3 = 8 will do. This is ``yang2022.theorem_1``. The paper does not round m; here
  it is rounded up.

Both state what the paper states, with a condition that is needed. Remark 1 allows n = 1 and is false there
(claim Y10). Theorem 1 is false, whatever its constants, for epsilon far above log(1/delta) (claim Y09). For n >= 2 the
noise of Remark 1 is enough with m rounded up and minibatches without replacement; with replacement this is open in
general, and certified where the check tries it. The proof's own last condition, lambda <= s^2 log(n/(m s)) for the
normalised noise s, needs T >= e^2 log(1/delta) at these settings when m exceeds 1. Remark 1 does not say so, and the
region below is that of the paper.

The proof. The moments of a mechanism A on neighbours S, S' are
alpha_A(lambda) = sup log E_{O ~ A(S)} (P[A(S) = O]/P[A(S') = O])^lambda [1, Definition 7].

Arguments. n records, T iterations, epsilon and delta, G_w and G_v; for the existential form also
m, c_1, c_2 and c_3.

Example
-------
>>> from dpcheck.bounds.registry import theorem
>>> sizes = dict(n=10_000, T=10_000, epsilon=1.0, delta=1e-8)
>>> theorem("yang2022.theorem_1").schedule(**sizes)
{'m': 50}
>>> noise = theorem("yang2022.theorem_1").noise(**sizes, G_w=1.0, G_v=0.5)
>>> {name: round(sigma, 6) for name, sigma in noise.items()}
{'sigma_w': 0.343355, 'sigma_v': 0.171677}
"""

from __future__ import annotations

from fractions import Fraction

from sympy import Eq, Integer, Max, Rational, ceiling, log, sqrt, symbols

from dpcheck.bounds.claim import Decision, Kind, Method, claim, conditional, refuted
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Enumerated, Identity, Quoted
from dpcheck.bounds.symbols import G_v, G_w, T, c_1, c_2, c_3, delta, epsilon, m, n, sigma_v, sigma_w
from dpcheck.bounds.theorem import Assumption, Parameter, Theorem
from dpcheck.bounds.yang2022.minibatch_draws import largest_difference

PRIVACY = (
    Parameter(n, "records in the dataset"),
    Parameter(epsilon, "privacy loss, natural log"),
    Parameter(delta, "probability of a larger loss"),
)
SLOPES = (Parameter(G_w, "Lipschitz constant of f in w"), Parameter(G_v, "Lipschitz constant of f in v"))
A1 = Assumption("A1", "f is G_w-Lipschitz in w and G_v-Lipschitz in v for every record", "A1")
SAMPLING = Assumption("sampling", "each minibatch is drawn uniformly with replacement", "Algorithm 1, line 4")
REMARK_1 = (
    Assumption("epsilon", "epsilon <= 1", "Remark 1", epsilon <= 1),
    Assumption("delta", "delta <= 1/n^2", "Remark 1", delta <= 1 / n**2),
    Assumption("n", "n >= 2", "claim Y10: false for n = 1; not stated in the paper", n >= 2),
)
BATCH = Assumption("m", "m >= n sqrt(epsilon/(4 T))", "Remark 1", m >= n * sqrt(epsilon / (4 * T)))

# Remark 1: the minibatch, and equation (3) with c_2 = c_3 = 8.
MINIBATCH = (m, ceiling(Max(1, n * sqrt(epsilon / (4 * T)))))
NOISE = (
    (sigma_w, 8 * G_w * sqrt(T * log(1 / delta)) / (n * epsilon)),
    (sigma_v, 8 * G_v * sqrt(T * log(1 / delta)) / (n * epsilon)),
)

THEOREMS = (
    Theorem(
        id="yang2022.theorem_1",
        title="Privacy of DP-SGDA, with the constants of Remark 1",
        paper="yang2022",
        location="Theorem 1, equation (3) and Remark 1",
        quantity="(epsilon, delta)-differential privacy",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(*PRIVACY, Parameter(T, "iterations"), *SLOPES),
        assumptions=(A1, SAMPLING, *REMARK_1, BATCH),
        schedule_formulas=(MINIBATCH,),
        noise_formulas=NOISE,
    ),
    Theorem(
        id="yang2022.theorem_1_existential",
        title="Privacy of DP-SGDA, for constants that exist and are not given",
        paper="yang2022",
        location="Theorem 1 and equation (3)",
        quantity="(epsilon, delta)-differential privacy for some c_1, c_2, c_3",
        quantity_latex=r"(\epsilon, \delta)",
        parameters=(
            *PRIVACY,
            Parameter(T, "iterations"),
            Parameter(m, "records in a minibatch"),
            *SLOPES,
            Parameter(c_1, "constant of the region, which the paper leaves open"),
            Parameter(c_2, "constant of sigma_w, which the paper leaves open"),
            Parameter(c_3, "constant of sigma_v, which the paper leaves open"),
        ),
        assumptions=(
            A1,
            SAMPLING,
            Assumption("epsilon", "epsilon < c_1 m^2 T/n^2", "Theorem 1", epsilon < c_1 * m**2 * T / n**2),
            Assumption("log(1/delta)", "epsilon <= log(1/delta)", "needed, claim Y09", epsilon <= log(1 / delta)),
        ),
        noise_formulas=(
            (sigma_w, c_2 * G_w * sqrt(T * log(1 / delta)) / (n * epsilon)),
            (sigma_v, c_3 * G_v * sqrt(T * log(1 / delta)) / (n * epsilon)),
        ),
    ),
)


k, q, total, lam, ell = symbols("k q total lam ell", positive=True)  # ell = log(1/delta)
# What the paper states: a sensitivity, a normalised noise, two regions, and two noises that are to be one.
SENSITIVITY = 2 * G_w / m
NORMALISED = sigma_w / (2 * G_w)
SIX, ONE = c_1 * T / n**2, c_1 * m**2 * T / n**2  # the regions of Theorems 6 and 1


@claim("Y04", Kind.SENSITIVITY, location="proof of Theorem 1, Appendix B", bound=SENSITIVITY)
def minibatch_sensitivity() -> Decision:
    """On neighbouring datasets the mean gradient of one minibatch drawn with replacement differs by at most {bound}."""
    return refuted(
        Enumerated("one record in two draws from two: 2 G, in units of G", largest_difference, (2, 2), Fraction(2)),
        Enumerated("m draws from n can all be the record: 2 G still", largest_difference, (4, 3), Fraction(2)),
        Enumerated("without replacement: 2 G/m", largest_difference, (4, 3, False), Fraction(2, 3)),
        Counterexample(
            "two draws of the differing record, k = m = 2", 2 * k * G_w / m <= SENSITIVITY, {k: 2, m: 2, G_w: 1}
        ),
        Cited("k draws of the record change the mean by k (g - g')/m, and |g - g'| <= 2 G", "A1"),
        readings={
            "neighbouring S and S', one draw of indices with replacement, m >= 2": "refuted",
            "without replacement, or m = 1": "proved",
            "batches that differ in one place": "proved",
        },
        repaired="2 k G/m, with k ~ Binomial(m, 1/n) the number of draws of the record; 2 G/m without replacement, "
        "which is also what Lemma 2 of the paper supposes",
        note="With replacement the differing record may be drawn k times, and the mean then moves by up to 2 k G/m.",
    )


@claim("Y05", Kind.CALIBRATION, location="proof of Theorem 1, Appendix B", noise=NORMALISED)
def normalisation() -> Decision:
    """For the sum over 2 G_w, of sensitivity 1, the noise is {noise}."""
    return conditional(
        Identity(
            "the released mean is 2 G_w/m times g_t = sum/(2 G_w), of sensitivity 1",
            lambda: (2 * G_w / m) * (total / (2 * G_w)),
            total / m,
        ),
        Identity(
            "noise s on g_t is noise sigma_w on the mean for s = m sigma_w/(2 G_w)",
            lambda: (2 * G_w / m) * (m * sigma_w / (2 * G_w)),
            sigma_w,
        ),
        Counterexample(
            "s = sigma_w/(2 G_w) gives the mean half of its noise at m = 2",
            Eq(2 * G_w / m * NORMALISED, sigma_w),
            {m: 2, sigma_w: 1, G_w: 1},
        ),
        AtMost("the printed one is never the larger, m = 1 + k", NORMALISED, (1 + k) * NORMALISED),
        readings={"m = 1": "proved", "m >= 2": "refuted"},
        condition="the factor m is put back, m sigma_w/(2 G_w), or m = 1",
        repaired="m sigma_w/(2 G_w); the printed value understates the noise, so that a moment bound that decreases "
        "with the noise stays true with it, m^2 times too large",
        note="The sum over 2 G_w has sensitivity 1, but the noise sigma_w is on the mean: a factor m is missing.",
    )


# With P = (1-q) N(0) + q N(mu), Q = N(0), variance sigma^2: E_P[P/Q] = 1 + q^2 (X - 1) where
# X = exp(|mu|^2/sigma^2); for the pair of releases X_w X_v takes the place of X.
z, mu, X_w, X_v, s_w, s_v, ratio = symbols("z mu X_w X_v s_w s_v r", positive=True)
PAIR = 1 + q**2 * (X_w * X_v - 1)


@claim("Y07", Kind.ACCOUNTING, location="proof of Theorem 1, Appendix B")
def joint_moment() -> Decision:
    """The moment of the pair of releases is at most the sum of the moments of each."""
    square = (1 - q) ** 2 + 2 * q * (1 - q) + q**2 * X_w
    both = (1 + q**2 * (X_w - 1)) * (1 + q**2 * (X_v - 1))
    cap = 1 / (1 - q)  # of P/Q for P = N(0), Q = (1-q) N(0) + q N(mu), r = N(mu)/N(0)
    at = {q: Rational(1, 2), X_w: 4, X_v: 4}
    return refuted(
        # The joint moment of two releases of one minibatch is not the product of their moments.
        Identity(
            "N(mu)^2/N(0) is exp(mu^2) times N(2 mu), in exponents",
            -((z - mu) ** 2) + z**2 / 2,
            -((z - 2 * mu) ** 2) / 2 + mu**2,
        ),
        Identity("hence E_P[P/Q] for one release", square, 1 + q**2 * (X_w - 1)),
        Identity(
            "the joint moment exceeds the product of the two by", PAIR - both, q**2 * (1 - q**2) * (X_w - 1) * (X_v - 1)
        ),
        # An instance whose joint moment exceeds what the two bounds add up to.
        Cited(
            "all neighbours: f = z (a w + b v), z in {0, 1}, n = 2, m = 1, T = 1, q = 1/2. "
            "Up to order and reflection they are P, Q above and Q, P",
            "the reflection about mu/2 maps the pair {0,1}, {1,1} to {0,1}, {0,0}",
        ),
        AtMost("one release, first order: exp alpha_w(1) <= 2", (1 + q**2 * (X_w - 1)).subs(at), Integer(2)),
        AtMost(
            "one release, other order: P/Q = 1/(1 - q + q r) <= 1/(1 - q) = 2, q = 1/(1 + k)",
            (1 / (1 - q + q * ratio)).subs(q, 1 / (1 + k)),
            cap.subs(q, 1 / (1 + k)),
        ),
        Counterexample(
            "q = 1/2 and noise with exp(G^2/sigma^2) = 4 in both blocks: 19/4 above 2 x 2", PAIR <= cap * cap, at
        ),
        Identity(
            "the leading bounds do add, at 1/s^2 = 1/s_w^2 + 1/s_v^2",
            q**2 * T * lam**2 / (s_w**2 * s_v**2 / (s_w**2 + s_v**2)),
            q**2 * T * lam**2 / s_w**2 + q**2 * T * lam**2 / s_v**2,
        ),
        readings={"the moments of Definition 7": "refuted", "their leading terms q^2 T lambda^2/s^2": "proved"},
        repaired="apply the moment bound to the pair as one release, whose normalised noise s has 1/s^2 = 1/s_w^2 + "
        "1/s_v^2; the leading term q^2 T lambda^2/s^2 is then the printed sum, and its region and remainder are those "
        "of s",
        note="Composition adds the moments of mechanisms with independent randomness; the two gradients share the "
        "hidden minibatch, and their joint moment at lambda = 1 is strictly larger: exp alpha_A(1) >= 19/4 against at "
        "most 4. The printed leading term survives by treating the pair as one release.",
        method=(Method.ALGEBRA, Method.ARITHMETIC),
    )


@claim("Y08", Kind.REMARK, location="Theorem 6, Appendix B", six=SIX, one=ONE)
def region() -> Decision:
    """Theorem 6 restates Theorem 1: its region epsilon < {six} is Theorem 1's epsilon < {one}."""
    return conditional(
        Counterexample("n = 10, T = 10, m = 5, c_1 = 1: 1/10 and 5/2", Eq(SIX, ONE), {n: 10, T: 10, m: 5, c_1: 1}),
        Identity(
            "no other constant serves: the ratio is m^2", lambda: (c_1 * m**2 * T / n**2) / (c_1 * T / n**2), m**2
        ),
        AtMost("Theorem 6's region lies within Theorem 1's, m = 1 + k", SIX, ONE.subs(m, 1 + k)),
        Identity(
            "with T = n, as Theorem 2(a) uses it, Theorem 6 covers epsilon < c_1/n only",
            lambda: c_1 * n / n**2,
            c_1 / n,
        ),
        Identity("at n = m = 1 both are epsilon < c_1 T", lambda: c_1 * 1**2 * T / 1**2, c_1 * T),
        Quoted("Theorem 1 itself, which fails for epsilon far above log(1/delta) whatever the constants", "Y09"),
        readings={
            "Theorem 6 restates Theorem 1": "refuted",
            "Theorem 6 follows from Theorem 1": "proved",
            "Theorem 6 itself, for all epsilon in its region": "refuted",
        },
        condition="the factor m^2 is put back, or m = 1, for the two to agree; for either to hold also what Y09 adds "
        "to Theorem 1: epsilon <= log(1/delta), and minibatches without replacement",
        repaired="epsilon < c_1 m^2 T/n^2, as Theorem 1 and the end of the proof have it",
        note="The restatement drops m^2: a smaller region, true where Theorem 1 is. Restoring m^2 is not enough for "
        "its truth, since at n = m = 1 it is Theorem 1, which needs epsilon <= log(1/delta) (Y09).",
    )
