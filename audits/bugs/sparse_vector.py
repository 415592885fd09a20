"""The sparse vector technique and its published variants that are not private (Lyu, Su and Li, PVLDB 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester

# The answers to a row of queries of sensitivity 1, each compared with the threshold 0: 1 above, 0 below,
# -1 no longer asked.
EPSILON = 1.0


def _above(answers: Any, most: int, threshold: float, noise: float, rng: Rng, size: int) -> Any:
    """Add noise of these scales to the threshold, once, and to each answer; end after ``most`` above."""
    noisy = np.asarray(answers) + rng.laplace(scale=noise, size=(size, len(answers)))
    above = noisy >= rng.laplace(scale=threshold, size=(size, 1))
    asked = np.cumsum(above, axis=1) - above < most
    return np.where(asked, above, -1)


def _private(answers: Any, most: int, rng: Rng, size: int) -> Any:
    return _above(answers, most, 2 / EPSILON, 2 * most * 2 / EPSILON, rng, size)


def _answers_exact(answers: Any, rng: Rng, size: int) -> Any:
    return _above(answers, len(answers), 2 / EPSILON, 0.0, rng, size)


def _answers_noisy(answers: Any, rng: Rng, size: int) -> Any:
    return _private(answers, len(answers), rng, size)


ANSWERS_EXACT = Bug(
    "Sparse vector with noise on the threshold alone",
    "Lyu, Su and Li (PVLDB 2017), variant 5, from Stoddard et al. (2014)",
    "All comparisons share one noisy threshold, so the released signs say how the exact answers are ordered. Two "
    "answers that swap their places between neighbours give a pattern that one of them can never show. Each "
    "answer needs noise of its own, in proportion to the number of those above that may be released.",
    _answers_exact, _answers_noisy, Tester("privacy", [0, 1], [1, 0], EPSILON),
)  # fmt: skip


def _never_ends(answers: Any, rng: Rng, size: int) -> Any:
    return _above(answers, len(answers), 2 / EPSILON, 2 / EPSILON, rng, size)


NEVER_ENDS = Bug(
    "Sparse vector that goes on, with noise for one answer above",
    "Lyu, Su and Li (PVLDB 2017), variant 6, from Chen et al. (2015)",
    "The noise on the answers does not grow with the number of answers above that are released, and that number "
    "has no limit. Each one released costs again, without end. The technique pays for answers above the "
    "threshold: their number is limited beforehand, and is a factor of the noise.",
    _never_ends, _answers_noisy, Tester("privacy", [0] * 12, [1] * 6 + [-1] * 6, EPSILON, trials=50_000),
)  # fmt: skip


def _noise_for_one(answers: Any, rng: Rng, size: int) -> Any:
    return _above(answers, 3, 4 / EPSILON, 4 / (3 * EPSILON), rng, size)


def _ends_after_three(answers: Any, rng: Rng, size: int) -> Any:
    return _private(answers, 3, rng, size)


NOISE_FOR_ONE = Bug(
    "Sparse vector that ends after c answers above, with noise for one",
    "Lyu, Su and Li (PVLDB 2017), variant 4, from Lee and Clifton (2014)",
    "A quarter of the budget goes to the threshold and the rest to the answers, but without the factor 2 c of c "
    "answers of either sign. What is kept is (1 + 6 c)/4 times the epsilon stated. The factor belongs in the "
    "scale.",
    _noise_for_one, _ends_after_three, Tester("privacy", [0] * 8, [-1] * 5 + [1] * 3, EPSILON, trials=50_000),
)  # fmt: skip


def _threshold_exact(answers: Any, rng: Rng, size: int) -> Any:
    return _above(answers, 1, 0.0, 2 / EPSILON, rng, size)


def _ends_after_one(answers: Any, rng: Rng, size: int) -> Any:
    return _private(answers, 1, rng, size)


THRESHOLD_EXACT = Bug(
    "Sparse vector without noise on the threshold",
    "folklore",
    "Noise on each answer seems enough, since only one answer above is released. But every answer below is "
    "released too, and each one costs. It is the noise on the threshold, drawn once, that pays for all answers "
    "below together.",
    _threshold_exact, _ends_after_one, Tester("privacy", [0] * 10, [1] * 9 + [-1], EPSILON),
)  # fmt: skip


def _releases_the_comparison(answers: Any, rng: Rng, size: int) -> Any:
    noisy = np.asarray(answers) + rng.laplace(scale=2 / EPSILON, size=(size, len(answers)))
    above = noisy >= rng.laplace(scale=2 / EPSILON, size=(size, 1))
    first = np.argmax(above, axis=1)
    found = above.any(axis=1)
    value = noisy[np.arange(size), first]
    return np.column_stack([np.where(found, first, -1), np.where(found, value, 0.0)])


def _releases_a_fresh_answer(answers: Any, rng: Rng, size: int) -> Any:
    half = EPSILON / 2
    noisy = np.asarray(answers) + rng.laplace(scale=4 / half, size=(size, len(answers)))
    above = noisy >= rng.laplace(scale=2 / half, size=(size, 1))
    first = np.argmax(above, axis=1)
    found = above.any(axis=1)
    value = np.asarray(answers)[first] + rng.laplace(scale=1 / half, size=size)
    return np.column_stack([np.where(found, first, -1), np.where(found, value, 0.0)])


RELEASES_THE_COMPARISON = Bug(
    "Sparse vector that releases the noisy answer it has compared",
    "Lyu, Su and Li (PVLDB 2017), variant 3, from lecture notes of Roth (2011)",
    "The noisy answer that passed is released as it is. Seeing it says that the threshold lies below it, and with "
    "it all the answers before: the threshold no longer hides them; the noise also lacks a factor 2. The value is "
    "drawn again with fresh noise, for which a part of the budget is kept.",
    _releases_the_comparison, _releases_a_fresh_answer,
    Tester("privacy", [0] * 17, [1] * 16 + [0], EPSILON, trials=100_000),
)  # fmt: skip
