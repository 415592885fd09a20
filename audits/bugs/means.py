"""Bugs in means, moments and medians."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester

EPSILON = 0.5
AGES, OLDER = np.array([23.0, 35, 35, 47, 18]), np.array([23.0, 35, 35, 47, 90])
LOW, HIGH = 18.0, 90.0


def _divided_twice(ages: Any, rng: Rng, size: int) -> Any:
    n = len(ages)
    sensitivity = (HIGH - LOW) / n
    return (np.clip(ages, LOW, HIGH).sum() + rng.laplace(scale=sensitivity / EPSILON, size=size)) / n


def _divided_once(ages: Any, rng: Rng, size: int) -> Any:
    n = len(ages)
    return (np.clip(ages, LOW, HIGH).sum() + rng.laplace(scale=(HIGH - LOW) / EPSILON, size=size)) / n


NOISE_OVER_N_TWICE = Bug(
    "A mean whose noise is divided by n twice",
    "folklore; the counts of DataResponsibly/DataSynthesizer have it the same way round (issue 34)",
    "The noise is made for the mean, whose sensitivity has a 1/n, and is then added to the sum that is divided by "
    "n. It is too small by the factor n, so the more people trust the release, the less each is protected. The "
    "noise belongs to the sum, or outside the division.",
    _divided_twice, _divided_once, Tester("privacy", AGES, OLDER, EPSILON),
)  # fmt: skip


def _noise_for_its_own_size(bits: Any, rng: Rng, size: int) -> Any:
    return np.mean(bits) + rng.laplace(scale=1 / (len(bits) * EPSILON), size=size)


def _noisy_sum_over_noisy_size(bits: Any, rng: Rng, size: int) -> Any:
    total, count = (value + rng.laplace(scale=2 / EPSILON, size=size) for value in (np.sum(bits), len(bits)))
    return np.clip(total / np.maximum(count, 1), 0, 1)


NOISE_FOR_ITS_OWN_SIZE = Bug(
    "A mean with noise for the n at hand, where records may be added or removed",
    "opendp/smartnoise-core issues 355 and 356 (a white paper on the sensitivity of the mean)",
    "With an unknown number of records, n is itself private, and neighbours have another. A scale of 1/n differs "
    "between them, so that far out the ratio of the densities has no bound, and a mean of two records moves by "
    "half the range. Noise goes on the sum and on the count, which share the budget.",
    _noise_for_its_own_size, _noisy_sum_over_noisy_size, Tester("privacy", [0, 1], [0], EPSILON),
)  # fmt: skip


SQUARE = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
FAR_OFF = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [9.0, 9.0]])


def _clipped_in_vain(points: Any, rng: Rng, size: int) -> Any:
    clipped = np.clip(points, -1, 1)
    n = len(clipped)
    return (points[:, 0] * points[:, 1]).sum() / n + rng.laplace(scale=2 / (n * EPSILON), size=size)


def _clipped(points: Any, rng: Rng, size: int) -> Any:
    clipped = np.clip(points, -1, 1)
    n = len(clipped)
    return (clipped[:, 0] * clipped[:, 1]).sum() / n + rng.laplace(scale=2 / (n * EPSILON), size=size)


CLIPPED_IN_VAIN = Bug(
    "Data are clipped, and the raw data used",
    "opendp/smartnoise-sdk issue 622 (covariance)",
    "The clipped copy has a new name, and the old name is used below. Nothing fails, and on data within the "
    "bounds nothing differs; one record far outside carries the whole moment with it. Overwriting the name, or a "
    "test with an outlier, prevents it.",
    _clipped_in_vain, _clipped, Tester("privacy", SQUARE, FAR_OFF, EPSILON),
)  # fmt: skip


BOUNDS = (0.0, 100.0)


def _lower_bound_twice(scores: Any, rng: Rng, size: int) -> Any:
    sensitivity = np.max(np.abs([BOUNDS[0], BOUNDS[0]])) ** 2
    return (np.clip(scores, *BOUNDS) ** 2).sum() + rng.laplace(scale=sensitivity / EPSILON, size=size)


def _both_bounds(scores: Any, rng: Rng, size: int) -> Any:
    sensitivity = np.max(np.abs(BOUNDS)) ** 2
    return (np.clip(scores, *BOUNDS) ** 2).sum() + rng.laplace(scale=sensitivity / EPSILON, size=size)


LOWER_BOUND_TWICE = Bug(
    "The sensitivity of a second moment from the lower bound twice",
    "IBM/differential-privacy-library issue 105 (linear regression)",
    "The largest square is sought among the two bounds, and an index is typed twice. With a lower bound of 0 the "
    "sensitivity is 0, and no noise is added at all; with symmetric bounds the bug does not show. Both bounds are "
    "needed, and a scale of 0 should be refused.",
    _lower_bound_twice, _both_bounds, Tester("privacy", np.array([10.0, 20]), np.array([10.0, 90]), EPSILON),
)  # fmt: skip


def _whole_budget_for_each(points: Any, rng: Rng, size: int) -> Any:
    scale = 2 / (len(points) * EPSILON)
    return points.mean(0) + rng.laplace(scale=scale, size=(size, 2))


def _budget_shared(points: Any, rng: Rng, size: int) -> Any:
    scale = 2 / (len(points) * (EPSILON / 2))
    return points.mean(0) + rng.laplace(scale=scale, size=(size, 2))


WHOLE_BUDGET_FOR_EACH = Bug(
    "Two means, each released with the whole budget",
    "IBM/differential-privacy-library issue 104 (centring of X and of y in linear regression)",
    "Each mean is private by itself at the stated epsilon; together they cost twice as much, since one record is "
    "in both. Preprocessing is where such a release is forgotten. The budget is divided among all releases.",
    _whole_budget_for_each, _budget_shared,
    Tester("privacy", np.array([[1.0, 1], [0, 0]]), np.array([[-1.0, -1], [0, 0]]), EPSILON),
)  # fmt: skip


def _clamped_sum(values: Any) -> Any:
    low = np.where(values < -1, -1, values)
    return np.where(low > 1, 1, low).sum()


def _clamped_sum_of_numbers(values: Any) -> Any:
    return np.clip(np.nan_to_num(values, nan=0.0), -1, 1).sum()


NOT_A_NUMBER = Bug(
    "A clamp that a value that is no number passes",
    "google/differential-privacy pull request 405 (ClampFloat64)",
    "Every comparison with NaN is false, so a clamp made of comparisons returns it as it came, and the sum is NaN "
    "with that record and a number without. The one record is seen in any output, whatever the noise. NaN is "
    "replaced or dropped before anything is computed.",
    _clamped_sum, _clamped_sum_of_numbers, Tester("clipping", np.linspace(-2, 2, 9), 1.0, finite=False),
)  # fmt: skip


SHARES = np.array([0.0] * 5 + [np.nan] * 5)


def _imputed_with_the_mean(shares: Any) -> Any:
    known = np.clip(shares[~np.isnan(shares)], 0, 1)
    fill = known.mean() if known.size else 0.5
    return np.where(np.isnan(shares), fill, np.clip(shares, 0, 1)).mean()


def _imputed_with_a_constant(shares: Any) -> Any:
    return np.where(np.isnan(shares), 0.5, np.clip(shares, 0, 1)).mean()


IMPUTED_WITH_THE_MEAN = Bug(
    "Missing values are filled in with the mean of the others",
    "folklore",
    "The mean of n values between 0 and 1 moves by 1/n at most, and the noise is made for that. But where values "
    "are missing, each is replaced by the mean of the rest, so that one record speaks for many. With half of them "
    "missing it moves the result twice as far. A constant takes their place, or the sum and the number of known "
    "values are released.",
    _imputed_with_the_mean, _imputed_with_a_constant,
    Tester("sensitivity", SHARES, [0.0, 1.0, np.nan], 1 / len(SHARES)),
)  # fmt: skip
