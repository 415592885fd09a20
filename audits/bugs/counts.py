"""Bugs in noisy counts and sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester
from dpcheck.events import Gaussian

EPSILON = 0.5
BITS, ONE_FEWER = [1, 0, 1, 1], [0, 0, 1, 1]


def _scale_upside_down(bits: Any, rng: Rng, size: int) -> Any:
    return np.sum(bits) + rng.laplace(scale=EPSILON, size=size)


def _laplace(bits: Any, rng: Rng, size: int) -> Any:
    return np.sum(bits) + rng.laplace(scale=1 / EPSILON, size=size)


SCALE_UPSIDE_DOWN = Bug(
    "Laplace noise of scale epsilon in place of 1/epsilon",
    "vanderschaarlab/mlforhealthlabpub issue 36 (PATE-GAN); WICG/attribution-reporting-api issue 1329 (in its "
    "text); an incorrect histogram of Ding et al. (CCS 2018)",
    "The smaller the epsilon asked for, the smaller the noise: whoever asks for more privacy gets less, and at "
    "epsilon 1 nobody notices. At epsilon 1/2 the count keeps only epsilon 2. The scale is sensitivity / epsilon; "
    "a test at one epsilon other than 1 finds the confusion.",
    _scale_upside_down, _laplace, Tester("privacy", BITS, ONE_FEWER, EPSILON),
)  # fmt: skip


def _positive_noise(bits: Any, rng: Rng, size: int) -> Any:
    return np.sum(bits) + np.abs(rng.laplace(scale=1 / EPSILON, size=size))


NOISE_OF_ONE_SIGN = Bug(
    "Noise that only ever adds",
    "folklore",
    "Counts should not come out too small, so the absolute value of the noise is added. An output below a count "
    "is then impossible, so that a small output shows for certain who is missing. Two-sided noise, or a positive "
    "shift with a delta that is stated, repairs it.",
    _positive_noise, _laplace, Tester("privacy", BITS, ONE_FEWER, EPSILON),
)  # fmt: skip


def _uniform_noise(bits: Any, rng: Rng, size: int) -> Any:
    width = np.sqrt(6) / EPSILON  # the standard deviation is that of the Laplace noise
    return np.sum(bits) + rng.uniform(-width, width, size)


UNIFORM_NOISE = Bug(
    "Uniform noise of the right spread",
    "folklore",
    "Noise of the right standard deviation but of bounded support. Outputs near the ends of the support can come "
    "from one dataset only, so no epsilon is enough for delta 0. Privacy rests on the ratio of densities "
    "everywhere and not on the variance; the Laplace law has the ratio.",
    _uniform_noise, _laplace, Tester("privacy", BITS, ONE_FEWER, EPSILON),
)  # fmt: skip


LOWER, UPPER = 0.0, 2.0


def _drawn_until_inside(share: float, rng: Rng, size: int) -> Any:
    out = share + rng.laplace(size=size)
    while (outside := (out < LOWER) | (out > UPPER)).any():
        out[outside] = share + rng.laplace(size=outside.sum())
    return out


def _clamped(share: float, rng: Rng, size: int) -> Any:
    return np.clip(share + rng.laplace(size=size), LOWER, UPPER)


DRAWN_UNTIL_INSIDE = Bug(
    "Laplace noise drawn again until the output lies in its range",
    "google/differential-privacy issue 256 asks for it; Holohan et al., The bounded Laplace mechanism (2020), has "
    "the analysis",
    "The chance of having to draw again depends on the value, and the density is scaled up to make good for it: "
    "nearly twice at an edge of the range, hardly inside. The ratio between neighbours grows by as much, and "
    "those at the edge have less privacy than promised. Clamping the output is post-processing and costs nothing; "
    "else the scale has to grow.",
    _drawn_until_inside, _clamped, Tester("privacy", 0.0, 1.0, 1.0),
)  # fmt: skip


def _whole_noise_on_a_fraction(hours: Any, rng: Rng, size: int) -> Any:
    decay = np.exp(-EPSILON)
    return np.sum(hours) + rng.geometric(1 - decay, size) - rng.geometric(1 - decay, size)


def _whole_noise_on_whole_hours(hours: Any, rng: Rng, size: int) -> Any:
    decay = np.exp(-EPSILON)
    return np.rint(hours).sum() + rng.geometric(1 - decay, size) - rng.geometric(1 - decay, size)


WHOLE_NOISE_ON_A_FRACTION = Bug(
    "Noise on the integers added to a sum that is not whole",
    "folklore",
    "Geometric noise protects whole numbers from whole numbers. Added to a sum of fractions, it leaves the digits "
    "behind the point as they are, and these tell who is in the data. Values are rounded first, to the lattice on "
    "which the noise lives.",
    _whole_noise_on_a_fraction, _whole_noise_on_whole_hours,
    Tester("privacy", [1.0, 0.7, 0.2], [1.0, 0.3, 0.2], EPSILON),
)  # fmt: skip


MOST = 1.0


def _half_the_range(values: Any, rng: Rng, size: int) -> Any:
    return np.clip(values, -MOST, MOST).sum() + rng.normal(scale=2.0 * MOST, size=size)


def _whole_range(values: Any, rng: Rng, size: int) -> Any:
    return np.clip(values, -MOST, MOST).sum() + rng.normal(scale=2.0 * (2 * MOST), size=size)


HALF_THE_RANGE = Bug(
    "Noise for a norm C where a replaced record moves the sum by 2 C",
    "google/differential-privacy pull request 464: the accountant's Gaussian event with replace-one neighbours",
    "A record clipped to norm C moves the sum by C when it is added or removed, and by 2 C when it is replaced by "
    "its opposite. Accounted as replace-one with noise for C, the Renyi divergence is four times what is "
    "reported. Either the noise is doubled, or the promise is one for added and removed records.",
    _half_the_range, _whole_range, Tester("privacy", [1.0, 0.0], [-1.0, 0.0], claim=Gaussian(2.0), delta=1e-5),
)  # fmt: skip


def _bounds_missing(values: Any, rng: Rng, size: int, bounds: Any = None) -> Any:
    count = len(values) + rng.laplace(scale=2 / EPSILON, size=size)
    width = 0.0 if bounds is None else bounds[1] - bounds[0]
    return np.column_stack([count, np.sum(values) + rng.laplace(scale=2 * width / EPSILON, size=size)])


def _bounds_required(values: Any, rng: Rng, size: int, bounds: Any = (0.0, 10.0)) -> Any:
    count = len(values) + rng.laplace(scale=2 / EPSILON, size=size)
    low, high = bounds
    total = np.clip(values, low, high).sum()
    return np.column_stack([count, total + rng.laplace(scale=2 * (high - low) / EPSILON, size=size)])


NO_BOUNDS_NO_NOISE = Bug(
    "A sum without bounds gets no noise",
    "opendp/smartnoise-sdk issue 317",
    "Where the bounds of a column are not given its sensitivity is unknown, and unknown became zero. The sum of "
    "that column was exact while its count was noisy, so that outputs looked private. An unknown sensitivity has "
    "to be an error: bounds are asked for, and values clipped to them.",
    _bounds_missing, _bounds_required, Tester("privacy", [3.0, 4.0], [3.0, 9.0], EPSILON),
)  # fmt: skip


def _rows_of_a_person(visits: Any, rng: Rng, size: int) -> Any:
    return sum(len(places) for places in visits) + rng.laplace(scale=1 / EPSILON, size=size)


def _rows_bounded(visits: Any, rng: Rng, size: int) -> Any:
    most = 2
    return sum(len(places[:most]) for places in visits) + rng.laplace(scale=most / EPSILON, size=size)


MANY_ROWS_OF_A_PERSON = Bug(
    "Noise for one row where a person has many",
    "as in google/differential-privacy pull request 84 (contributions of outliers not bounded)",
    "The promise is made to people, the noise made for rows. Someone with three visits moves the count by three, "
    "and has three times the epsilon. Rows of a person are limited beforehand, and the noise grows with the "
    "limit.",
    _rows_of_a_person, _rows_bounded, Tester("privacy", [["a"], ["b", "c", "d"]], [["a"], []], EPSILON),
)  # fmt: skip
