"""Bugs that take from the data what should be public: scales, bounds, edges, domains."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester

EPSILON, DELTA = 0.5, 0.01


ZEROS, ONE_MORE = np.array([0.0, 0, 0, 0, 1]), np.array([0.0, 0, 0, 1, 1])


def _local_sensitivity(values: Any, rng: Rng, size: int) -> Any:
    below, median, above = np.sort(values)[len(values) // 2 + np.arange(-1, 2)]
    return median + rng.laplace(scale=max(median - below, above - median) / EPSILON, size=size)


def _global_sensitivity(values: Any, rng: Rng, size: int) -> Any:
    return np.median(np.clip(values, 0, 1)) + rng.laplace(scale=1 / EPSILON, size=size)


LOCAL_SENSITIVITY = Bug(
    "Noise for how much this dataset's median can move",
    "Nissim, Raskhodnikova and Smith, Smooth sensitivity (STOC 2007), warn of it",
    "On most data the median hardly moves, and the noise is scaled to that. But the scale is then a function of "
    "the data: where the middle values agree there is no noise at all, which a neighbour does not share. The "
    "global sensitivity, a smooth bound on the local one, or the exponential mechanism take its place.",
    _local_sensitivity, _global_sensitivity, Tester("privacy", ZEROS, ONE_MORE, EPSILON),
)  # fmt: skip


def _test_without_noise(bits: Any, rng: Rng, size: int) -> Any:
    margin = abs(2 * np.sum(bits) - len(bits))
    stable = margin // 2 >= 1  # no single record changes the majority
    return np.full(size, float(np.median(bits)) if stable else -1.0)


def _test_with_noise(bits: Any, rng: Rng, size: int) -> Any:
    margin = abs(2 * np.sum(bits) - len(bits))
    stable = margin // 2 + rng.laplace(scale=1 / EPSILON, size=size) > np.log(1 / (2 * DELTA)) / EPSILON
    return np.where(stable, np.median(bits), -1.0)


TEST_WITHOUT_NOISE = Bug(
    "An exact answer released whenever a test on the raw data says that it is stable",
    "folklore; Dwork and Lei (STOC 2009) test with noise",
    "If no single record changes the answer, it is released as it is. But the answer to the test is itself about "
    "the data: at the edge one record decides whether anything is released. The distance to instability gets "
    "noise, and a threshold that it passes wrongly with probability delta at most.",
    _test_without_noise, _test_with_noise, Tester("privacy", [1, 1, 1, 1, 0], [1, 1, 1, 0, 0], EPSILON, DELTA),
)  # fmt: skip


def _range_of_the_data(ages: Any) -> Any:
    return {"lower": np.min(ages), "upper": np.max(ages), "bins": 10}


def _range_given(ages: Any) -> Any:
    return {"lower": 18.0, "upper": 90.0, "bins": 10}


RANGE_OF_THE_DATA = Bug(
    "Bounds read from the data",
    "google/dpsynth issue 34 (exact minimum and maximum before private quantiles)",
    "Minimum and maximum are computed exactly, to be used as bounds, and end up in the release or in the noise. "
    "They are the values of two people, exactly those who stand out. Bounds are public knowledge, or are "
    "estimated with a part of the budget.",
    _range_of_the_data, _range_given, Tester("constants", [23, 35, 47, 18], [23, 35, 47, 90]),
)  # fmt: skip


INCOMES, ONE_RICH = np.arange(1.0, 21.0), np.append(np.arange(1.0, 20.0), 100.0)


def _edges_from_the_data(incomes: Any, rng: Rng, size: int) -> Any:
    return np.histogram(incomes, bins=4)[0] + rng.laplace(scale=2 / EPSILON, size=(size, 4))


def _edges_given(incomes: Any, rng: Rng, size: int) -> Any:
    counts = np.histogram(np.clip(incomes, 0, 40), bins=4, range=(0, 40))[0]
    return counts + rng.laplace(scale=2 / EPSILON, size=(size, 4))


EDGES_FROM_THE_DATA = Bug(
    "Bins between the smallest and the largest value",
    "opendp/smartnoise-sdk issue 473 (MWEM on continuous columns)",
    "The library function takes its edges from the data. One rich person stretches the bins, so that all others "
    "fall into the first, and the counts move by far more than 2. Edges are given, and values beyond them "
    "clipped.",
    _edges_from_the_data, _edges_given, Tester("privacy", INCOMES, ONE_RICH, EPSILON),
)  # fmt: skip


def _domain_of_the_data(values: Any) -> Any:
    return {"cells": int(np.max(values)) + 1, "kept": sorted(set(values))}


def _domain_given(values: Any) -> Any:
    return {"cells": 4, "kept": [0, 1, 2, 3]}


DOMAIN_OF_THE_DATA = Bug(
    "The domain of an attribute is what occurs in the data",
    "alan-turing-institute/reprosyn issue 38; sassoftware/dpmm issue 18",
    "Categories and cells are listed from the records, and shape the release. A rare category that one person has "
    "is there or not, before any noise. The domain is given with the data, from public knowledge.",
    _domain_of_the_data, _domain_given, Tester("constants", [0, 0, 1, 2, 2], [3, 0, 1, 2, 2]),
)  # fmt: skip


def _median_among(candidates: Any, ages: Any, rng: Rng, size: int) -> Any:
    """Draw by the exponential mechanism: one record moves the ranks below by 1."""
    below = (np.asarray(ages)[:, None] < candidates).sum(0)
    scores = -np.abs(below - len(ages) / 2)
    return candidates[(EPSILON * scores / 2 + rng.gumbel(size=(size, len(candidates)))).argmax(1)]


def _candidates_from_the_data(ages: Any, rng: Rng, size: int) -> Any:
    return _median_among(np.asarray(ages), ages, rng, size)


def _candidates_given(ages: Any, rng: Rng, size: int) -> Any:
    return _median_among(np.arange(18, 91), ages, rng, size)


CANDIDATES_FROM_THE_DATA = Bug(
    "The exponential mechanism chooses among the values of the data",
    "folklore; opendp/smartnoise-core pull request 33 warns of it",
    "A median is chosen by the exponential mechanism, and the candidates are the values at hand. Whatever comes "
    "out is then somebody's value, and a value that only one person has comes out only if that person is there. "
    "The candidates are a public grid.",
    _candidates_from_the_data, _candidates_given,
    Tester("privacy", [23, 35, 35, 47, 18], [23, 35, 35, 47, 90], EPSILON),
)  # fmt: skip
