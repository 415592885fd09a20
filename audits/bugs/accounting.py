"""Bugs in calibration and accounting: the right mechanism at the wrong price."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester
from dpcheck.events import Gaussian

# Queries of sensitivity 1.
EPSILON, DELTA = 1.0, 1e-5
SIGMA = 0.5


def _variance_as_scale(value: float, rng: Rng, size: int) -> Any:
    return value + rng.normal(scale=SIGMA**2, size=size)


def _scale(value: float, rng: Rng, size: int) -> Any:
    return value + rng.normal(scale=SIGMA, size=size)


VARIANCE_AS_SCALE = Bug(
    "The variance is passed where the standard deviation is asked for",
    "opendp/smartnoise-core issue 316 (the scale of the Gaussian mechanism was squared)",
    "Below a scale of 1 the square is smaller than it, so the noise is too small exactly where it was small "
    "already; above 1 it is too large and nobody complains. Tests at sigma = 1 do not see it. Names that say "
    "which of the two is meant help, and so does a test of the spread.",
    _variance_as_scale, _scale, Tester("privacy", 0.0, 1.0, claim=Gaussian(SIGMA), delta=DELTA),
)  # fmt: skip


def _analytic(epsilon: float, delta: float, sign: float) -> float:
    """Return sigma of Balle and Wang (2018), Algorithm 1, for small delta; the right sign is +1."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    def excess(u: float) -> float:
        beyond = np.exp(epsilon) * norm.cdf(-np.sqrt(epsilon * (u + 2)))
        return float(norm.cdf(-np.sqrt(epsilon * u)) - beyond - delta)

    u = brentq(excess, 0, 1e3)
    return float((np.sqrt(1 + u / 2) + sign * np.sqrt(u / 2)) / np.sqrt(2 * epsilon))


def _wrong_sign(value: float, rng: Rng, size: int) -> Any:
    return value + rng.normal(scale=_analytic(EPSILON, DELTA, -1), size=size)


def _right_sign(value: float, rng: Rng, size: int) -> Any:
    return value + rng.normal(scale=_analytic(EPSILON, DELTA, 1), size=size)


WRONG_SIGN = Bug(
    "A sign in the analytic calibration of the Gaussian mechanism",
    "opendp/smartnoise-core issue 316 (the sign was not set, which reduced sigma)",
    "The exact calibration has two branches, which differ by a sign. In the wrong one the factor alpha becomes "
    "1/alpha, and the noise at epsilon 1 is smaller by a factor near thirty. Putting the sigma back into the "
    "formula for delta would have shown it.",
    _wrong_sign, _right_sign, Tester("privacy", 0.0, 1.0, EPSILON, DELTA),
)  # fmt: skip


def _classical(epsilon: float, delta: float) -> Any:
    return Gaussian(float(np.sqrt(2 * np.log(1.25 / delta))) / epsilon)


def _exact(epsilon: float, delta: float) -> Any:
    return Gaussian(_analytic(epsilon, delta, 1))


CLASSICAL_BEYOND_ONE = Bug(
    "The classical calibration sqrt(2 log(1.25/delta))/epsilon at epsilon 10",
    "Balle and Wang, Improving the Gaussian mechanism (ICML 2018), on the practice",
    "The textbook's formula is proved for epsilon below 1. Beyond, it goes wrong slowly: at 10 the delta is more "
    "than twice the one stated. No number of runs shows so rare an event; the exact curve does.",
    _classical, _exact, Tester("certify", 10.0, DELTA),
)  # fmt: skip


STEPS = 8


def _steps_not_counted(value: float, rng: Rng, size: int) -> Any:
    return value + 2.0 * rng.standard_normal((size, STEPS))


def _steps_counted(value: float, rng: Rng, size: int) -> Any:
    return value + 2.0 * np.sqrt(STEPS) * rng.standard_normal((size, STEPS))


STEPS_NOT_COUNTED = Bug(
    "An epoch is accounted as one step",
    "folklore",
    "The accountant is called at the end of each epoch, the data are used in each of its steps. Eight releases "
    "cost the square root of eight times as much in the noise multiplier. The step of the accountant belongs "
    "beside the noise.",
    _steps_not_counted, _steps_counted, Tester("privacy", 0.0, 1.0, claim=Gaussian(2.0), delta=DELTA),
)  # fmt: skip


def _groups_that_overlap(person: Any, rng: Rng, size: int) -> Any:
    return np.asarray(person) + rng.laplace(scale=1 / EPSILON, size=(size, 3))


def _groups_counted(person: Any, rng: Rng, size: int) -> Any:
    return np.asarray(person) + rng.laplace(scale=3 / EPSILON, size=(size, 3))


GROUPS_THAT_OVERLAP = Bug(
    "Queries on groups that overlap, charged as on disjoint ones",
    "folklore",
    "Parallel composition charges several queries as one where no person is in two of them. Here groups are by "
    "region, by age and by sex, and each person is in three. Epsilons add up over the groups that a person may be "
    "in.",
    _groups_that_overlap, _groups_counted, Tester("privacy", [1, 1, 1], [0, 0, 0], EPSILON),
)  # fmt: skip


def _asked_again(value: float, rng: Rng, size: int) -> Any:
    return value + rng.laplace(scale=1 / EPSILON, size=(size, 16)).mean(1)


def _asked_once(value: float, rng: Rng, size: int) -> Any:
    return value + rng.laplace(scale=1 / EPSILON, size=size)


ASKED_AGAIN = Bug(
    "The mean of many noisy answers, charged as one",
    "folklore",
    "A result that looks too noisy is computed again, and the mean of all is kept. Each of them costs; the noise "
    "of the mean is that of a much larger epsilon. A noisy answer is stored and given again.",
    _asked_again, _asked_once, Tester("privacy", 0.0, 1.0, EPSILON),
)  # fmt: skip


def _tails_cut(value: float, rng: Rng, size: int) -> Any:
    most = 3 / EPSILON
    return value + np.clip(rng.laplace(scale=1 / EPSILON, size=size), -most, most)


TAILS_CUT = Bug(
    "Noise with its tails cut off, at delta 0",
    "folklore",
    "Noise beyond a limit is set to the limit, so that results stay plausible. Outputs at exactly value + limit "
    "then occur with a few percent, and name the value. The output may be clamped to a public range; the noise "
    "may not, unless its tail is paid for with a delta.",
    _tails_cut, _asked_once, Tester("privacy", 0.0, 1.0, EPSILON),
)  # fmt: skip


def _gaussian_noise(value: float, rng: Rng) -> Any:
    return value + rng.normal(scale=np.sqrt(2) / EPSILON)


def _laplace_noise(value: float, rng: Rng) -> Any:
    return value + rng.laplace(scale=1 / EPSILON)


DELTA_LEFT_OUT = Bug(
    "Gaussian noise, and a promise without delta",
    "folklore",
    "Gaussian noise of the same variance takes the place of Laplace noise, and the promise stays. The ratio of "
    "two Gaussian densities has no bound far out, so no epsilon holds at delta 0. Runs hardly ever go there; what "
    "is drawn gives it away. A delta is stated, and the noise made for it.",
    _gaussian_noise, _laplace_noise, Tester("randomness", 0.0, 1.0, EPSILON),
)  # fmt: skip
