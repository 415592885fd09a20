"""The claims about Theorem 4.3, setting in ``theorem_4_3``."""

from sympy import Min, Rational, log, sqrt, symbols

from dpcheck.bounds.calibration import Private
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, proved
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Identity, Inequality, Quoted, over
from dpcheck.bounds.symbols import L, c, d, delta, ell, epsilon, kappa, kappa_x, kappa_y, mu, mu_x, mu_y, n
from dpcheck.bounds.zhang2022 import conditions
from dpcheck.bounds.zhang2022.lemmas import STABLE
from dpcheck.bounds.zhang2022.phases import PRIVATE
from dpcheck.bounds.zhang2022.theorem_3_3_proof import SHARES
from dpcheck.bounds.zhang2022.theorem_4_3 import LOG, NOISE_X

energy = symbols("energy", positive=True)
GAMMA = delta * L**2 / (16 * mu * n**2)
SENSITIVITY = 4 * L / n / sqrt(mu_x * mu)
MULTIPLIER = 2 * sqrt(2 * LOG) / epsilon
ONE, FEW = epsilon <= 1, delta * n <= 1
SETTING = over(n, d, epsilon <= 1, delta <= 1, L, mu, kappa_x >= 1, kappa_y >= 1, kappa >= 1, FEW)
# f = (x^2 - y^2)/2: L^2 = 2, and kappa_x kappa_y + kappa = 2
UNIT = d * LOG / (mu * n**2 * epsilon**2)
NUMBERS = kappa_x * kappa_y + kappa
EMPIRICAL_GAP = c * L**2 * NUMBERS * UNIT
POPULATION_GAP = 3 * L**2 * NUMBERS * (c / (mu * n) + 128 * UNIT)
DOUBLE = {kappa_x: 1, kappa_y: 1, kappa: 1, L: sqrt(2)}
MIN = Min(mu_x, mu_y)
CALIBRATED = 8 * L * sqrt(2 * log(5 / delta)) / (n * epsilon)
FACTOR = (ell**2 / (mu_x * mu_y) + ell / MIN) / MIN
SOLVER = Quoted("the solver's energy is at most twice its mean gap", "Z21")
MEAN_GAP = "the solver has the mean gap of Remark 3"


@claim("Z26", Kind.SENSITIVITY, location="equation (17)", move=SENSITIVITY, rare=delta / 4)
def sensitivity() -> Decision:
    """For f jointly L-Lipschitz, |A_x(S) - A_x(S')| is at most {move} but for a probability of {rare}."""
    return proved(
        Quoted("the energy between saddle points is at most 4 L^2/(mu n^2)", "Z23"),
        Identity(
            "which bounds the move of x: sqrt(4 L^2/(mu n^2)/mu_x)",
            lambda: sqrt(STABLE / mu_x),
            2 * L / n / sqrt(mu_x * mu),
        ),
        Identity(
            "with two solver errors, each sqrt(L^2/(mu n^2)/mu_x)",
            lambda: 2 * sqrt(L**2 / (mu * n**2) / mu_x) + sqrt(STABLE / mu_x),
            SENSITIVITY,
        ),
        Identity("two runs, each failing with probability delta/8", lambda: delta / 8 + delta / 8, delta / 4),
        note="Lemma B.2 and the solver's guarantee.",
    )


@claim("Z27", Kind.CALIBRATION, location="Theorem 4.3", sigma=NOISE_X, half=epsilon / 2, share=delta / 2, small=ONE)
@carries("zhang2022.theorem_4_3", {"sigma_x": CALIBRATED / sqrt(mu_x * MIN), "sigma_y": CALIBRATED / sqrt(mu_y * MIN)})
def calibration() -> Decision:
    """For f jointly L-Lipschitz, sigma_x = {sigma}, and sigma_y likewise with mu_y, make each block ({half},
    {share})-DP, for {small}.
    """
    return proved(
        Quoted("the sensitivity, and the chance of delta/4 that it fails", "Z26"),
        Identity("noise over sensitivity", lambda: NOISE_X / SENSITIVITY, MULTIPLIER),
        Private("the Gaussian is (epsilon/2, delta/4)-DP", MULTIPLIER, SHARES, epsilon / 2, delta / 4),
        Quoted("for epsilon/2 and delta/2: half of delta/2 for the Gaussian and half for the failure", "Z07"),
        Identity("which are", lambda: delta / 4 + delta / 4, delta / 2),
        note="1.25/(delta/4) is the published 5/delta, and the sensitivity's own delta/4 completes delta/2.",
        method=Method.PRIVACY_CURVE,
    )


@claim("Z28", Kind.ACCOUNTING, location="proof of Theorem 4.3")
def composition() -> Decision:
    """The two blocks together are (epsilon, delta)-DP, for epsilon <= 1."""
    return proved(
        Cited(
            "draw A(S) and A(S') independently: each misses its requirement, which is for both blocks at once, with "
            "probability delta/8, and otherwise both blocks are within the sensitivity",
            "union bound; equation (17)",
        ),
        Quoted("the Gaussian of each block", "Z27"),
        Cited(
            "given both, the two noises are independent, so that the two Gaussians, (epsilon/2, delta/4)-DP each, "
            "compose",
            "basic composition",
        ),
        Quoted("averaged over A(S) and A(S')", "Z07"),
        Identity("epsilon", lambda: epsilon / 2 + epsilon / 2, epsilon),
        AtMost(
            "two failures and two Gaussians take 3 delta/4 of delta",
            (delta / 8 + delta / 8) + (delta / 4 + delta / 4),
            delta,
        ),
        note="Both blocks come from one run of A, so that the guarantees of the blocks do not compose as they stand; "
        "given close solutions they do, and the failure counts once for both.",
    )


@claim("Z29", Kind.CONSTANT, location="equations (18) to (20)", bound=EMPIRICAL_GAP.subs(c, 257))
def empirical() -> Decision:
    """The expected empirical gap is at most {bound}, where {MEAN_GAP}, {ONE} and {FEW}."""
    many = DOUBLE | {n: 10**7, d: 1, mu: 1, epsilon: 1, delta: Rational(1, 2 * 10**7)}
    return conditional(
        Quoted("the gap is at most two squares", "Z22"),
        Identity(
            "whose factor (kappa_y + 1) ell is (kappa_x kappa_y + kappa_x) mu_x, and kappa_x <= kappa",
            lambda: (ell / mu_y + 1) * ell,
            (ell**2 / (mu_x * mu_y) + ell / mu_x) * mu_x,
        ),
        Identity("each block's noise energy is 128 units", lambda: mu_x * d * NOISE_X**2, 128 * L**2 * UNIT),
        SOLVER,
        Identity("which is", lambda: 2 * GAMMA, L**2 * delta / (8 * mu * n**2)),
        Inequality(
            "the sum is within the published bound",
            NUMBERS * (256 * L**2 * UNIT + L**2 * delta / (8 * mu * n**2)),
            EMPIRICAL_GAP,
            SETTING,
            (c, 257),
        ),
        *conditions.saddle(EMPIRICAL_GAP.subs(c, 257).subs(DOUBLE)),
        Counterexample(
            "the stopping rule alone: f = (x^2 - y^2)/2 on [-1, 1]^2, n = 10^7, a solver that returns (1, 0) with "
            "chance delta/8 and else the saddle point; half of the noise leads no nearer to 0, so that a failure costs "
            "1/4 at least",
            energy <= EMPIRICAL_GAP.subs(c, 257).subs(many),
            {energy: Rational(1, 4 * 8 * 2 * 10**7)},
        ),
        readings={
            **conditions.readings(conditions.SADDLE),
            "the energy within L^2/(mu n^2) with probability 1 - delta/8, and nothing said of its mean": "refuted",
        },
        condition=conditions.condition(conditions.SADDLE),
        note="256 from the two noises.",
    )


@claim("Z30", Kind.CONSTANT, location="Theorem 4.3", bound=POPULATION_GAP.subs(c, 3))
@carries(
    "zhang2022.theorem_4_3",
    {"bound": POPULATION_GAP.subs(c, 3)},
    {kappa_x: ell / mu_x, kappa_y: ell / mu_y, kappa: ell / MIN, mu: MIN},
)
@carries("zhang2022.theorem_4_3", {"rate statistical": L**2 * FACTOR / n, "rate privacy": L**2 * FACTOR * PRIVATE})
def population() -> Decision:
    """The expected population gap is at most {bound}, where {MEAN_GAP}, {ONE} and {FEW}."""
    terms = 384 * UNIT + 3 * delta / (16 * mu * n**2) + 6 * sqrt(2) / (mu * n)
    return conditional(
        Quoted("the gap is at most two squares", "Z22"),
        Quoted("the solver's energy, and that of (x_S, y_S), is at most twice its mean or weak gap", "Z21"),
        Identity(
            "3/2 of the noises and of the solver",
            lambda: Rational(3, 2) * (256 * UNIT + delta / (8 * mu * n**2)),
            384 * UNIT + 3 * delta / (16 * mu * n**2),
        ),
        Quoted("the weak gap of (x_S, y_S)", "Z24"),
        Identity(
            "so that 3/2 of the energy of its distance to the fixed (x*, y*) is at most",
            lambda: Rational(3, 2) * 2 * (2 * sqrt(2) / (mu * n)),
            6 * sqrt(2) / (mu * n),
        ),
        Inequality(
            "the three terms are within the published bound", L**2 * NUMBERS * terms, POPULATION_GAP, SETTING, (c, 3)
        ),
        *conditions.saddle(POPULATION_GAP.subs(c, 3).subs(DOUBLE)),
        readings=conditions.readings(conditions.SADDLE),
        condition=conditions.condition(conditions.SADDLE),
        note="6 sqrt 2 = 8.49 of 9.",
    )


@claim("Z31", Kind.PROBABILITY, location="proof of Theorem 4.3, gradient complexity", gap=GAMMA, rare=delta / 8)
@carries("zhang2022.theorem_4_3", {"energy": L**2 / (n**2 * MIN)})
def failure() -> Decision:
    """A mean gap of gamma = {gap} makes the solver's requirement fail with probability {rare} at most."""
    return proved(
        Quoted("an energy of twice the gap", "Z21"),
        Identity(
            "Markov's bound, twice the published gap over the requirement",
            lambda: 2 * GAMMA / (L**2 / (mu * n**2)),
            delta / 8,
        ),
        note="Lemma B.1 turns a gap of gamma into an energy of 2 gamma.",
    )
