"""Bugs in histograms, group-by counts and released domains."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester

EPSILON, DELTA = 0.5, 1e-5
VALUES, ONE_MOVED = [0, 0, 1, 2, 2], [3, 0, 1, 2, 2]


def _counts(values: Any) -> Any:
    return np.bincount(values, minlength=4)


def _one_bin(values: Any, rng: Rng, size: int) -> Any:
    return _counts(values) + rng.laplace(scale=1 / EPSILON, size=(size, 4))


def _two_bins(values: Any, rng: Rng, size: int) -> Any:
    return _counts(values) + rng.laplace(scale=2 / EPSILON, size=(size, 4))


ONE_BIN = Bug(
    "A histogram with noise for one bin, where a replaced record moves two",
    "folklore",
    "One record more or less changes one count by 1, and the noise is made for that. A record that is replaced "
    "leaves a bin and enters another, so the l1 sensitivity is 2. The promise says which neighbours are meant, "
    "and the noise follows.",
    _one_bin, _two_bins, Tester("privacy", VALUES, ONE_MOVED, EPSILON),
)  # fmt: skip


def _noise_for_shares_on_counts(values: Any, rng: Rng, size: int) -> Any:
    noisy = _counts(values) + rng.laplace(scale=2 / (len(values) * EPSILON), size=(size, 4))
    return noisy / len(values)


def _noise_for_counts(values: Any, rng: Rng, size: int) -> Any:
    return (_counts(values) + rng.laplace(scale=2 / EPSILON, size=(size, 4))) / len(values)


NOISE_FOR_SHARES_ON_COUNTS = Bug(
    "Noise made for shares is added to counts",
    "DataResponsibly/DataSynthesizer issue 34 (conditional distributions of PrivBayes)",
    "The paper adds noise of scale 2/(n epsilon) to probabilities; the program adds it to counts, and divides by "
    "n afterwards. The noise is too small by the factor n, in practice none. Noise and what it is added to have "
    "one unit.",
    _noise_for_shares_on_counts, _noise_for_counts, Tester("privacy", VALUES, ONE_MOVED, EPSILON),
)  # fmt: skip


DIMENSIONS, ROUNDS = 4, 3


def _divided_by_dimensions(answer: float, rng: Rng, size: int) -> Any:
    return answer + rng.laplace(scale=ROUNDS / (EPSILON * DIMENSIONS), size=(size, ROUNDS))


def _divided_by_nothing(answer: float, rng: Rng, size: int) -> Any:
    return answer + rng.laplace(scale=ROUNDS / EPSILON, size=(size, ROUNDS))


DIVIDED_BY_DIMENSIONS = Bug(
    "The noise of a query is divided by the number of attributes",
    "opendp/smartnoise-sdk issue 472 (MWEM)",
    "A range query over a histogram has sensitivity 1, however many attributes span it. A faulty sensitivity put "
    "their number into the denominator, so the noise fell as the data got wider. The rounds, over which the "
    "budget is divided, are the only factor.",
    _divided_by_dimensions, _divided_by_nothing, Tester("privacy", 0.0, 1.0, EPSILON),
)  # fmt: skip


def _filled_bins_alone(values: Any, rng: Rng, size: int) -> Any:
    counts = _counts(values)
    return np.where(counts > 0, counts + rng.laplace(scale=2 / EPSILON, size=(size, 4)), 0)


FILLED_BINS_ALONE = Bug(
    "Noise only where somebody is",
    "folklore",
    "Noise is added to the groups that a query returns, and it returns those that are not empty. A group of one "
    "person is in the result or not, whatever its noise. All groups of a public domain get noise, or small noisy "
    "counts are dropped and the delta is stated.",
    _filled_bins_alone, _two_bins, Tester("privacy", VALUES, ONE_MOVED, EPSILON, DELTA),
)  # fmt: skip


# A group of one person is released where its noisy count passes a threshold. The delta is that of the
# release; what Gaussian counts cost among larger groups comes on top and is not looked at here.
LIKELY = 0.01


def _gaussian_scale() -> float:
    return float(np.sqrt(2 * np.log(1.25 / LIKELY))) / EPSILON


def _threshold_of_another_law(people: int, rng: Rng, size: int) -> Any:
    noisy = people + rng.normal(scale=_gaussian_scale(), size=size)
    threshold = 1 + np.log(1 / (2 * LIKELY)) / EPSILON
    return np.where((people > 0) & (noisy > threshold), noisy, 0)


def _threshold_of_its_law(people: int, rng: Rng, size: int) -> Any:
    from scipy.stats import norm

    noisy = people + rng.normal(scale=_gaussian_scale(), size=size)
    threshold = 1 + _gaussian_scale() * norm.isf(LIKELY)
    return np.where((people > 0) & (noisy > threshold), noisy, 0)


THRESHOLD_OF_ANOTHER_LAW = Bug(
    "A threshold for Laplace noise under Gaussian noise",
    "opendp/smartnoise-sdk issue 204",
    "A group is released if its noisy count passes a threshold, at which a group of one passes with probability "
    "delta. The noise was changed from Laplace to Gaussian and the formula was not; at delta 1/100 the true "
    "chance is several times that. The threshold is a quantile of the noise that is added.",
    _threshold_of_another_law, _threshold_of_its_law, Tester("privacy", 1, 0, EPSILON, LIKELY),
)  # fmt: skip


THRESHOLD = 5
BEYOND = float(np.exp(-THRESHOLD) / (1 + np.exp(-1)))  # chance that 1 + noise exceeds the threshold


def _whole_noise(rng: Rng, size: int) -> Any:
    return rng.geometric(1 - np.exp(-1), size) - rng.geometric(1 - np.exp(-1), size)


def _threshold_reached(people: int, rng: Rng, size: int) -> Any:
    noisy = people + _whole_noise(rng, size)
    return np.where((people > 0) & (noisy >= THRESHOLD), noisy, 0)


def _threshold_passed(people: int, rng: Rng, size: int) -> Any:
    noisy = people + _whole_noise(rng, size)
    return np.where((people > 0) & (noisy > THRESHOLD), noisy, 0)


THRESHOLD_REACHED = Bug(
    "Counts equal to the threshold are released, and not counted in delta",
    "opendp/opendp issue 2922 (make_laplace_threshold)",
    "On the integers it matters whether the threshold is reached or passed. The delta is the chance to be beyond, "
    "the release includes the threshold itself, and the true delta is e times as large. One of the two "
    "comparisons changes.",
    _threshold_reached, _threshold_passed, Tester("privacy", 1, 0, 1.0, BEYOND, trials=50_000),
)  # fmt: skip


def _places_of_a_person(visits: Any, rng: Rng, size: int) -> Any:
    places = np.concatenate([_counts(np.unique(v).astype(int))[None] for v in visits]).sum(0)
    return places + rng.laplace(scale=1 / EPSILON, size=(size, 4))


def _places_bounded(visits: Any, rng: Rng, size: int) -> Any:
    most = 2
    places = np.concatenate([_counts(np.unique(v).astype(int)[:most])[None] for v in visits]).sum(0)
    return places + rng.laplace(scale=most / EPSILON, size=(size, 4))


PLACES_OF_A_PERSON = Bug(
    "Counts by place with noise for one place, where a person has been to many",
    "folklore; OpenMined/PipelineDP issue 3 describes the bound across partitions",
    "People are counted once in each place, and the noise is for one count. Someone seen in four places moves "
    "four counts. The places of a person are limited to a number, by which the noise is multiplied.",
    _places_of_a_person, _places_bounded, Tester("privacy", [[0], [0, 1, 2, 3]], [[0], []], EPSILON),
)  # fmt: skip


FEWEST = 5


def _suppressed_by_the_raw_count(people: int, rng: Rng, size: int) -> Any:
    noisy = people + rng.laplace(scale=1 / EPSILON, size=size)
    return noisy if people >= FEWEST else np.zeros(size)


def _suppressed_by_the_noisy_count(people: int, rng: Rng, size: int) -> Any:
    noisy = people + rng.laplace(scale=1 / EPSILON, size=size)
    return np.where(noisy >= FEWEST, noisy, 0)


SUPPRESSED_BY_THE_RAW_COUNT = Bug(
    "Small groups are left out by their exact count",
    "folklore",
    "Groups of fewer than five people are suppressed, as statistical offices do, and the others get noise. "
    "Whether a group appears is then an exact answer about its size. In a group of five each of them decides it. "
    "The noisy count is compared, which costs nothing more.",
    _suppressed_by_the_raw_count, _suppressed_by_the_noisy_count, Tester("privacy", 5, 4, EPSILON, DELTA),
)  # fmt: skip
