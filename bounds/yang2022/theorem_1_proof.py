"""The claims about Theorem 1, Theorem 6 and Remark 1, setting in ``theorem_1``."""

import math
from typing import Any

from sympy import Eq, Max, Mul, Pow, Rational, ceiling, log, oo, sqrt, symbols

from dpcheck.bounds.calibration import NotPrivate
from dpcheck.bounds.claim import Decision, Kind, Method, carries, claim, conditional, misprint
from dpcheck.bounds.evidence import AtMost, Cited, Counterexample, Domain, Identity, Inequality, Quoted, Searched, over
from dpcheck.bounds.symbols import G_v, G_w, T, c_1, delta, ell, epsilon, m, n, sigma_v, sigma_w
from dpcheck.bounds.yang2022.theorem_1 import NOISE
from dpcheck.bounds.zhang2025 import theorem_1_proof as clipped

SENSITIVITY = 2 * G_w / m
SIX, ONE = c_1 * T / n**2, c_1 * m**2 * T / n**2  # the regions of Theorems 6 and 1
k, q = symbols("k q", positive=True)


@claim("Y08", Kind.REMARK, location="Theorem 6, Appendix B", six=SIX, one=ONE)
def region() -> Decision:
    """Theorem 6 restates Theorem 1: its region epsilon < {six} is Theorem 1's epsilon < {one}."""
    return misprint(
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
            "with the factor m^2 it does": "proved",
            "Theorem 6 follows from Theorem 1": "proved",
            "Theorem 6 itself, for all epsilon in its region": "refuted",
        },
        differs="symbol",
        condition="the factor m^2 is put back, epsilon < c_1 m^2 T/n^2",
        repaired="epsilon < c_1 m^2 T/n^2, as Theorem 1 and the end of the proof have it, and as what "
        "follows uses it. Theorem 1 itself needs more (Y09)",
        note="The restatement drops m^2: a smaller region, true where Theorem 1 is. Restoring m^2 is not enough for "
        "its truth, since at n = m = 1 it is Theorem 1, which needs epsilon <= log(1/delta) (Y09).",
    )


PRINTED_BATCH = Max(1, n * sqrt(epsilon / (4 * T)))  # as printed, not rounded
SIGMA, PROOF = dict(NOISE)[sigma_w], 8 * m**2 * T * log(n) / (n**2 * epsilon**2)  # PROOF is a square
LOSS, CHANCE = epsilon <= 1, delta <= 1 / n**2
EDGE = Rational(999, 1000)  # delta at n = 1
PAIRS = ((1.0, 0.0), (0.0, 1.0), (0.5, -0.5))  # where the record and its replacement move the release
MARGIN = 0.05


def multiplier(steps: Any) -> Any:
    """Return the noise of the pair of gradients of one step over their sensitivity, at n = m = 1 and epsilon = 1."""
    ratio = (2 * G_w / (m * sigma_w)) ** 2 + (2 * G_v / (m * sigma_v)) ** 2
    return (1 / sqrt(ratio.subs(dict(NOISE)))).subs({n: 1, m: 1, epsilon: 1, T: steps, delta: EDGE})


def excess(rng: Any) -> float:
    """Return the exact delta over the allowed one for one pair of releases with replacement, at a random setting.

    The record is drawn k ~ Binomial(m, 1/n) times and moves the release by k times an entry of
    ``PAIRS``, in units of the sensitivity. The losses of T steps are convolved by FFT.
    """
    records = round(math.exp(rng.uniform(math.log(2), math.log(1000))))
    steps = round(math.exp(rng.uniform(0, math.log(1000))))
    loss = math.exp(rng.uniform(math.log(0.05), 0))
    return curve(records, steps, loss, PAIRS[rng.integers(len(PAIRS))]) * records**2


def curve(records: int, steps: int, loss: float, pair: tuple[float, float], size: int = 2**17) -> float:
    """Return the delta of T steps at ``loss`` for mixtures with replacement, in double precision."""
    import numpy as np

    batch = max(1, math.ceil(records * math.sqrt(loss / (4 * steps))))
    noise = batch * math.sqrt(8 * steps * 2 * math.log(records)) / (records * loss)
    chances = np.array([math.comb(batch, k) / records**k for k in range(min(batch, 25) + 1)])
    chances *= (1 - 1 / records) ** (batch - np.arange(len(chances)))
    grid = np.linspace(-11 * noise - 25, 11 * noise + 25, 20001)

    def density(shift: float) -> Any:
        means = np.arange(len(chances)) * shift
        return (chances * np.exp(-(((grid[:, None] - means) / noise) ** 2) / 2)).sum(axis=1)

    ours, theirs = density(pair[0]), density(pair[1])
    seen = (ours > 1e-200) & (theirs > 1e-200)
    losses, weights = np.log(ours[seen] / theirs[seen]), ours[seen] / ours.sum()
    width = max(4 * loss, 3.0, 40 * math.sqrt(steps * float((weights * losses**2).sum())))
    bins = losses / width * (size / 2)
    kept = np.abs(losses) < 0.95 * width
    low = np.floor(bins[kept]).astype(int)
    share = bins[kept] - low
    law = np.zeros(size)
    np.add.at(law, low % size, weights[kept] * (1 - share))
    np.add.at(law, (low + 1) % size, weights[kept] * share)
    total = np.maximum(np.fft.irfft(np.fft.rfft(law) ** steps, size), 0)
    at = np.fft.fftfreq(size, 1 / size) * 2 * width / size
    lost = steps * float(weights[~kept].sum())
    return lost + float((total[at > loss] * (1 - np.exp(loss - at[at > loss]))).sum())


# The minibatch and the noise of the theorems that take them from this remark, typed again.
ROUNDED = {"m": ceiling(Max(1, n * sqrt(epsilon) / (2 * sqrt(T))))}
SPREAD = sqrt(T * log(1 / delta)) / (n * epsilon)
NOISES = {"sigma_w": 8 * G_w * SPREAD, "sigma_v": 8 * G_v * SPREAD}


@claim("Y10", Kind.CALIBRATION, location="Remark 1", loss=LOSS, chance=CHANCE, batch=PRINTED_BATCH, sigma=SIGMA)
@carries(("yang2022.theorem_1", "yang2022.theorem_2a", "yang2022.theorem_2b"), ROUNDED)
@carries(("yang2022.theorem_1", "yang2022.theorem_2a", "yang2022.theorem_2b", "yang2022.theorem_5"), NOISES)
def remark() -> Decision:
    """For {loss}, {chance} and m = {batch} the noise {sigma}, and the same in v with G_v, makes Algorithm 1 (epsilon,
    delta)-DP.
    """
    fourth = Rational(1, 4)
    # The steps for the same settings in [2]: what follows the refutation of its printed noise.
    settings = clipped.settings.decision().evidence.steps
    start = max((i for i, step in enumerate(settings) if isinstance(step, Counterexample)), default=-1) + 1
    return conditional(
        # For n = 1 delta may be .999.
        Cited(
            "n = m = 1: f = z (G_w w + G_v v), records 1 and -1. With T = 2 the last iterate and the mean one both "
            "show one release",
            "Algorithm 1",
        ),
        NotPrivate("n = 1, delta = .999, epsilon = 1, T = 2: one of the two releases", multiplier(2), 1, EDGE),
        NotPrivate("and at T = 1, if its release is the output", multiplier(1), 1, EDGE),
        # What the printed noise, minibatch and delta give for the ratio of sensitivity and noise.
        Identity(
            "n >= 2, without replacement: sigma_w^2 at which the pair of gradients of a step, as one release, has the "
            "squared ratio epsilon^2/(8 q^2 T log(1/delta)) of sensitivity and noise, q = m/n, which the steps below "
            "call x (C_1 for G_w, C_2 for G_v; references as in zhang2025.theorem_1)",
            lambda: 2 * (2 * G_w / (q * n)) ** 2 / (epsilon**2 / (8 * q**2 * T * log(1 / delta))),
            Pow(SIGMA, 2, evaluate=False),
        ),
        Inequality(
            "the printed minibatch, and so the next integer, has q^2 T at least epsilon/4",
            epsilon / 4,
            T * PRINTED_BATCH**2 / n**2,
            over(epsilon <= 1, T, n),
        ),
        Inequality(
            "in the printed range delta is at most 1/4 for n >= 2", delta, fourth, over(n >= 2, delta <= 1, CHANCE)
        ),
        Inequality("so that 2 log(1/delta) is at least 4 log 2", 4 * log(2), 2 * log(1 / delta), over(delta <= fourth)),
        Inequality(
            "and 2 log(1/delta)/epsilon, which bounds 1/x from below, is no less, ell = log(1/delta)",
            2 * ell,
            2 * ell / epsilon,
            Domain({epsilon: (0, oo), ell: (0, oo)}, where=(LOSS,)),
        ),
        *settings[start:],
        Searched(
            f"n >= 2, with replacement, in floating point: three one-dimensional pairs of releases stay below {MARGIN} "
            "of delta = 1/n^2 at random n <= 1000, T <= 1000, 1/20 <= epsilon <= 1",
            excess,
            MARGIN,
            24,
        ),
        readings={
            "n = 1, which allows delta up to 1": "refuted",
            "n >= 2, m rounded up, minibatches without replacement": "proved",
            "n >= 2, m = 1, where sampling with replacement is the same": "proved",
            "n >= 2, m >= 2, minibatches with replacement, as Algorithm 1 draws them": "unresolved",
        },
        condition="n >= 2, m rounded up, and minibatches without replacement, as Lemma 2 supposes",
        repaired="with replacement nothing is proved for m >= 2: numbers in floating point alone, for pairs of "
        "releases that are not shown to be the worst",
        note="At n = 1 delta may be .999, and the noise is too small. For n >= 2 the constant 8 is enough for "
        "minibatches without replacement, m rounded up. With replacement, as Algorithm 1 draws them, it is open: "
        "never violated in floating point, and not proved.",
        method=(Method.PRIVACY_CURVE, Method.CITED, Method.PROVER),
    )


@claim("Y11", Kind.CONSTANT, location="Remark 1 and its proof, Appendix B", proof=PROOF, remark=SIGMA)
def remark_constant() -> Decision:
    """At delta = 1/n^2 the noise sigma^2 = {proof} of the proof, in units of the sensitivity, is the noise {remark} of
    Remark 1.
    """
    at = {n: 10, T: 4, m: 3, epsilon: 1, G_w: 1, delta: Rational(1, 100)}
    square = Pow(SIGMA, 2, evaluate=False)
    in_steps, doubled = (Mul(unit**2, PROOF, evaluate=False) for unit in (SENSITIVITY, 2 * G_w))
    return misprint(
        # The noise of the proof and that of the remark.
        Identity(
            "in units of 2 G/m the proof's noise has the constant 4 for 8: squares, log n = ell/2",
            lambda: 4 * (2 * G_w / m) ** 2 * (8 * m**2 * T * (ell / 2) / (n * epsilon) ** 2),
            (8 * G_w) ** 2 * T * ell / (n * epsilon) ** 2,
        ),
        Counterexample("in units of 2 G/m", Eq(in_steps, square, evaluate=False), at),
        Counterexample("in units of 2 G, as Y05 prints them", Eq(doubled, square, evaluate=False), at),
        Identity(
            "in units of 2 G the two agree at m = 2, and there alone",
            lambda: (2 * G_w) ** 2 * (8 * m**2 * T * (ell / 2) / (n * epsilon) ** 2),
            (m**2 / 4) * (8 * G_w) ** 2 * T * ell / (n * epsilon) ** 2,
        ),
        AtMost(
            "the remark's noise is at least the proof's",
            (SENSITIVITY**2 * PROOF).subs(log(n), ell / 2),
            (SIGMA**2).subs(log(1 / delta), ell),
        ),
        # The conditions of Theorem 1 at the constant 8.
        Identity(
            "Theorem 1's first two conditions, with equality, give the constant 8: s^2 = 4 (m/n)^2 T lambda/epsilon "
            "at lambda = 4 ell/epsilon, in units of 2 G/m",
            lambda: (2 * G_w / m) ** 2 * (4 * (m / n) ** 2 * T * (4 * ell / epsilon) / epsilon),
            (8 * G_w) ** 2 * T * ell / (n * epsilon) ** 2,
        ),
        Identity(
            "the third, lambda <= s^2 log(n/(m s)), at the remark's minibatch, (m/n)^2 = epsilon/(4 T): lambda = s^2",
            lambda: 4 * (epsilon / (4 * T)) * T * (4 * ell / epsilon) / epsilon,
            4 * ell / epsilon,
        ),
        Identity(
            "and (m s/n)^2 = log(1/delta)/T, which must be at most exp(-2)",
            lambda: (epsilon / (4 * T)) * (4 * ell / epsilon),
            ell / T,
        ),
        readings={
            "the noise of the proof is the noise of the remark, in units of 2 G/m": "refuted",
            "the same in units of 2 G, as Y05 prints them, unless m = 2": "refuted",
            "the same in units of 2 G, m = 2": "proved",
            "the noise of the remark is at least that of the proof": "proved",
            "the noise of the proof, in units of 2 G/m, is half that of the remark": "proved",
        },
        differs="constant",
        condition="in units of 2 G/m, the right ones, the constant of the proof is 4 and not 8",
        repaired="the proof's choice is 4 G sqrt(T log(1/delta))/(n epsilon); 8 is what the two conditions of Theorem "
        "1, for the pair of releases, give with equality. What uses the remark has the larger 8",
        note="The proof of Remark 1 arrives at the constant 4, for one release; the remark's 8 is the larger, and "
        "comes out exactly from the proof of Theorem 1. Either way the third condition asks for T of order "
        "log(1/delta), which the remark leaves out: for 8, T >= e^2 log(1/delta) where its minibatch exceeds 1.",
    )
