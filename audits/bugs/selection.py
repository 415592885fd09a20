"""Bugs in noisy maxima, the exponential mechanism and choices among runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester
from dpcheck.audits.claim import PrivacyClaim

EPSILON = 1.0


def _value_of_the_maximum(answers: Any, rng: Rng, size: int) -> Any:
    return (np.asarray(answers) + rng.laplace(scale=2 / EPSILON, size=(size, len(answers)))).max(1)


def _place_of_the_maximum(answers: Any, rng: Rng, size: int) -> Any:
    return (np.asarray(answers) + rng.laplace(scale=2 / EPSILON, size=(size, len(answers)))).argmax(1)


VALUE_OF_THE_MAXIMUM = Bug(
    "Noisy maximum that releases the noisy value in place of the place",
    "Ding et al., Detecting violations of differential privacy (CCS 2018)",
    "The place of the largest noisy answer is private at a price that does not grow with the number of answers. "
    "Its value is not: all answers move together when a record comes, and for the largest to be small all noises "
    "have to be. The place is released, and the value drawn again with fresh noise.",
    _value_of_the_maximum, _place_of_the_maximum, Tester("privacy", [1] * 10, [2] * 10, EPSILON),
)  # fmt: skip


def _noise_for_rising_answers(answers: Any, rng: Rng, size: int) -> Any:
    return (np.asarray(answers) + rng.laplace(scale=1 / EPSILON, size=(size, len(answers)))).argmax(1)


NOISE_FOR_RISING_ANSWERS = Bug(
    "Noisy maximum with noise for counts, of answers that rise and fall",
    "folklore",
    "If one more record can only raise answers, noise of scale 1/epsilon is enough. Where a record raises one "
    "answer and lowers another, as when it is replaced, the gap between two moves by 2. The scale is then "
    "2/epsilon.",
    _noise_for_rising_answers, _place_of_the_maximum, Tester("privacy", [5, 0], [4, 1], EPSILON, trials=50_000),
)  # fmt: skip


def _exponential(scores: Any, sensitivity: float, rng: Rng, size: int) -> Any:
    """Draw one of the places with probability in proportion to exp(epsilon score / (2 sensitivity))."""
    return (EPSILON * np.asarray(scores) / (2 * sensitivity) + rng.gumbel(size=(size, len(scores)))).argmax(1)


def _sensitivity_of_one_error(errors: Any, rng: Rng, size: int) -> Any:
    ours, public = np.asarray(errors)
    return _exponential(ours - public, 1.0, rng, size)


def _sensitivity_of_the_difference(errors: Any, rng: Rng, size: int) -> Any:
    ours, public = np.asarray(errors)
    return _exponential(ours - public, 2.0, rng, size)


SENSITIVITY_OF_ONE_ERROR = Bug(
    "Exponential mechanism on a difference, with the sensitivity of one part",
    "ryan112358/mbi issue 65 (the JAM mechanism)",
    "The score is the difference of two errors, and both are computed from the private data. One record may raise "
    "one and lower the other, so the score moves by twice as much as either. Sensitivities of the parts add up.",
    _sensitivity_of_one_error, _sensitivity_of_the_difference,
    Tester("privacy", [[0, 3], [0, 3]], [[1, 2], [-1, 4]], EPSILON, trials=50_000),
)  # fmt: skip


# Epsilon 2; mechanisms of bounded range at epsilon keep epsilon^2/8 zero-concentrated privacy.
CONCENTRATED = PrivacyClaim.renyi({order: order * 2.0**2 / 8 for order in (1.5, 2, 3, 4, 6, 8)})


def _permute_and_flip(scores: Any, rng: Rng, size: int) -> Any:
    # the same law as the largest with one-sided exponential noise
    return (np.asarray(scores) + rng.exponential(size=(size, len(scores)))).argmax(1)


def _gumbel(scores: Any, rng: Rng, size: int) -> Any:
    return (np.asarray(scores) + rng.gumbel(size=(size, len(scores)))).argmax(1)


BOUNDED_RANGE_OF_THE_WRONG_MECHANISM = Bug(
    "Permute-and-flip accounted as the exponential mechanism",
    "opendp/opendp issue 2911 (report noisy max under zero-concentrated privacy)",
    "The exponential mechanism has bounded range, and with it epsilon^2/8 of zero-concentrated privacy. "
    "Permute-and-flip is as private for a single epsilon and more accurate, but has no bounded range and costs up "
    "to four times that. A theorem for one mechanism is no theorem for the one that took its place.",
    _permute_and_flip, _gumbel, Tester("privacy", [0, 0], [1, -1], claim=CONCENTRATED, delta=1e-5),
)  # fmt: skip


def _best_of_many(bits: Any, rng: Rng, size: int) -> Any:
    truth = np.sum(bits)
    runs = truth + rng.laplace(scale=1 / EPSILON, size=(size, 20))
    best = np.abs(runs - truth).argmin(1)
    return runs[np.arange(size), best]


def _first_of_many(bits: Any, rng: Rng, size: int) -> Any:
    return (np.sum(bits) + rng.laplace(scale=1 / EPSILON, size=(size, 20)))[:, 0]


BEST_OF_MANY = Bug(
    "The best of many private runs, charged as one",
    "Papernot and Steinke, Hyperparameter tuning with Renyi differential privacy (ICLR 2022), on the practice",
    "Each run is private, and the best of them, by a score on the raw data, is published. Looking at all runs is "
    "paid by nobody: the nearest of twenty noisy counts is nearly the count. Runs and score are charged, or their "
    "number drawn at random as the theory asks.",
    _best_of_many, _first_of_many, Tester("privacy", [1, 1], [1, 0], EPSILON),
)  # fmt: skip


def _top(answers: Any, many: int, scale: float, rng: Rng, size: int) -> Any:
    noisy = np.asarray(answers) + rng.gumbel(scale=scale, size=(size, len(answers)))
    return np.argsort(-noisy, axis=1)[:, :many]


def _budget_for_the_first(answers: Any, rng: Rng, size: int) -> Any:
    return _top(answers, 3, 2 / EPSILON, rng, size)


def _budget_for_three(answers: Any, rng: Rng, size: int) -> Any:
    return _top(answers, 3, 3 * 2 / EPSILON, rng, size)


BUDGET_FOR_THE_FIRST = Bug(
    "The top three for the price of the first",
    "folklore; Durfee and Rogers (NeurIPS 2019) account for the ranks after the first",
    "The places of the three largest noisy answers are released, with noise for one. Each rank is one more "
    "choice, and a record that lifts three answers is seen three times. The budget is divided among the ranks.",
    _budget_for_the_first, _budget_for_three,
    Tester("privacy", [2] * 3 + [0] * 3, [1] * 3 + [1] * 3, EPSILON, trials=50_000),
)  # fmt: skip


def _sorted_by_the_exact_count(counts: Any, rng: Rng, size: int) -> Any:
    order = np.argsort(counts)[::-1]
    noisy = np.asarray(counts) + rng.laplace(scale=2 / EPSILON, size=(size, len(counts)))
    return np.hstack([np.tile(order, (size, 1)), noisy[:, order]])


def _sorted_by_the_noisy_count(counts: Any, rng: Rng, size: int) -> Any:
    noisy = np.asarray(counts) + rng.laplace(scale=2 / EPSILON, size=(size, len(counts)))
    order = np.argsort(noisy, axis=1)[:, ::-1]
    return np.hstack([order, np.take_along_axis(noisy, order, axis=1)])


SORTED_BY_THE_EXACT_COUNT = Bug(
    "Noisy counts in the order of the exact ones",
    "folklore",
    "A query sorts the groups, and noise is added to the sorted table. Where a noisy count is larger than the one "
    "above it, the order says what the exact ones are; one record swaps two groups for certain. The noisy counts "
    "are sorted.",
    _sorted_by_the_exact_count, _sorted_by_the_noisy_count, Tester("privacy", [5, 4, 1], [4, 5, 1], EPSILON),
)  # fmt: skip
