"""Queries, histograms, selections, quantiles, tables: plain mechanisms."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

import numpy as np
from case import check, command, neighbours, planted, privacy, randomness, tables

from dpcheck.audits.neighbours import patterns
from dpcheck.events import Laplace

AGES = [23.0, 35, 18, 64, 41, 29, 57, 33]
OLDER = [*AGES[:-1], 99.0]
FEWER = AGES[:-1]
QUERY: dict[str, Any] = {
    "kind": "query",
    "data": AGES,
    "neighbour": OLDER,
    "epsilon": 1.0,
    "confidence": 0.999,
}
OPEN = {"kind": "query", "data": AGES, "neighbour": OLDER, "epsilon": 1.0}


@planted(privacy, **QUERY)
def bounded_mean(ages, rng):
    return np.clip(ages, 0, 100).mean() + rng.laplace(scale=100 / len(ages))


@planted(randomness, "two scales", **OPEN)
def range_of_the_data(ages, rng):
    low, high = min(ages), max(ages)  # fault
    return np.mean(ages) + rng.laplace(scale=(high - low) / len(ages))


@planted(command, "moves by|makes what|clip", kind="query", data=AGES, neighbour=OLDER, epsilon=0.5)
def forgets_to_clip(ages, rng):
    return np.mean(ages) + rng.laplace(scale=2 * 50 / len(ages) / 10)  # fault: "ages vary by ten"


@planted(check, "noise multiplier", whole=True, kind="query", delta=0.0, data=AGES, replacements=[0.0, 100.0],
         events=Laplace(1.0))  # fmt: skip
def half_the_sensitivity(ages, rng):
    return np.clip(ages, 0, 100).sum() + rng.laplace(scale=50.0)  # fault


@planted(check, whole=True, kind="query", delta=0.0, data=AGES, replacements=[0.0, 100.0], events=Laplace(1.0))
def bounded_sum(ages, rng):
    return np.clip(ages, 0, 100).sum() + rng.laplace(scale=100.0)


@planted(privacy, "reads the data|two scales", **QUERY | {"neighbour": FEWER})
def mean_by_private_count(ages, rng):
    return (np.clip(ages, 0, 100).sum() + rng.laplace(scale=100.0 / 1)) / len(ages) ** 2 * 64  # fault


@planted(privacy, "the noise \\(rng", **QUERY)
def variance_from_two_answers(ages, rng):
    x = np.clip(ages, 0, 100) / 100
    first = x.sum() + rng.laplace()
    second = (x**2).sum() + rng.laplace()  # fault: each spends all of epsilon
    return first, second


@planted(randomness, "direction without noise", **OPEN)
def one_noise_for_two_answers(ages, rng):
    noise = rng.laplace(scale=2.0)  # fault
    x = np.clip(ages, 0, 100) / 100
    return x.sum() + noise, (x**2).sum() + noise


@planted(randomness, "default_rng is given", **OPEN)
def seeded_by_the_data(ages, rng):
    own = np.random.default_rng(int(sum(ages)))  # fault
    return np.clip(ages, 0, 100).mean() + own.laplace(scale=100 / len(ages))


@cache
def remembered_noise(name):
    return np.random.default_rng().laplace(scale=12.5)


@planted(randomness, "keeps noise|nothing is drawn", **OPEN)
def cached_noise(ages, rng):
    return np.clip(ages, 0, 100).mean() + remembered_noise("mean")  # fault


@planted(privacy, "multiple|same noise", **QUERY)
def whole_noise_on_a_real_sum(ages, rng):
    return np.clip(ages, 0, 100).sum() / 7.3 + round(rng.laplace(scale=100 / 7.3))  # fault


@planted(
    privacy, "reads the data|decide", **QUERY | {"data": [0.0] * 8, "neighbour": [0.0] * 7 + [1.0], "epsilon": 0.5}
)
def resamples_until_positive(values, rng):
    while True:
        answer = sum(values) + rng.laplace(scale=2.0)
        if answer > sum(values) - 1:  # fault
            return answer


COUNTS = np.array([3, 0, 5, 1, 0, 2])
MORE = np.array([3, 1, 5, 1, 0, 2])
MOVED = np.array([3, 1, 5, 1, 0, 1])
HISTOGRAM: dict[str, Any] = {
    "kind": "histogram",
    "data": COUNTS,
    "neighbour": MORE,
    "epsilon": 1.0,
    "confidence": 0.999,
}


@planted(privacy, **HISTOGRAM)
def histogram(counts, rng):
    return counts + rng.laplace(size=counts.size)


@planted(privacy, "same in|no noise is in", **HISTOGRAM)
def noise_on_occupied_bins_only(counts, rng):
    return np.where(counts > 0, counts + rng.laplace(size=counts.size), 0)  # fault


@planted(privacy, "the noise \\(rng", **HISTOGRAM | {"neighbour": MOVED, "trials": 50_000})
def replaced_record_counts_once(counts, rng):
    return counts + rng.laplace(size=counts.size)  # fault: it leaves one bin and enters another


@planted(privacy, "makes what", **HISTOGRAM | {"data": COUNTS * 4 + 8, "neighbour": MORE * 4 + 8})
def merges_small_bins(counts, rng):
    counts = np.where(counts < 10, 0, counts)  # fault: on the exact counts
    return counts + rng.laplace(scale=4.0, size=counts.size)


@planted(privacy, **HISTOGRAM)
def threshold_after_noise(counts, rng):
    noisy = counts + rng.laplace(size=counts.size)
    return np.where(noisy < 2, 0, noisy)


@planted(privacy, **HISTOGRAM)
def geometric_histogram(counts, rng):
    return counts + np.subtract(*rng.geometric(1 - math.exp(-1), (2, counts.size)))


SELECTION: dict[str, Any] = {
    "kind": "selection",
    "pairs": patterns(5),
    "epsilon": 1.0,
    "confidence": 0.999,
}


@planted(neighbours, **SELECTION)
def noisy_argmax(answers, rng):
    return int(np.argmax(answers + rng.laplace(scale=2.0, size=len(answers))))


@planted(neighbours, "chooses", **SELECTION)
def exponential_without_the_two(answers, rng):
    weights = np.exp(3.0 * (answers - answers.max()))  # fault: epsilon, not three times it
    return int(rng.choice(len(answers), p=weights / weights.sum()))


@planted(neighbours, **SELECTION)
def exponential(answers, rng):
    weights = np.exp(0.5 * (answers - answers.max()))
    return int(rng.choice(len(answers), p=weights / weights.sum()))


@planted(neighbours, "same in|reads the data", **SELECTION)
def best_with_its_value(answers, rng):
    best = int(np.argmax(answers + rng.laplace(scale=2.0, size=len(answers))))
    return best, answers[best]  # fault


@planted(neighbours, "draws", **SELECTION)
def sparse_vector_without_noise_on_the_threshold(answers, rng):
    return (answers + rng.laplace(scale=2.0, size=len(answers)) > 1.0).astype(float)  # fault: all five are told


@planted(neighbours, **SELECTION)
def sparse_vector(answers, rng):
    threshold = 1.0 + rng.laplace(scale=2.0)
    for place, answer in enumerate(answers):
        if answer + rng.laplace(scale=4.0) > threshold:
            return place
    return -1


QUANTILE: dict[str, Any] = {"kind": "quantile", "data": [1.0, 2, 3, 4, 5], "neighbour": [1.0, 2, 5, 4, 5],
                            "epsilon": 1.0, "confidence": 0.999}  # fmt: skip


def between(edges, rank, rng, factor):
    weights = np.diff(edges) * np.exp(-factor * np.abs(np.arange(len(edges) - 1) - rank))
    k = rng.choice(len(weights), p=weights / weights.sum())
    return rng.uniform(edges[k], edges[k + 1])


@planted(privacy, **QUANTILE)
def median(values, rng):
    return between(np.sort(np.r_[0.0, np.clip(values, 0, 10), 10.0]), len(values) / 2, rng, 0.5)


@planted(privacy, "chooses|p of draw", **QUANTILE | {"neighbour": [1.0, 2, 3, 4, 9]})
def median_between_the_extremes(values, rng):
    return between(np.sort(values), len(values) / 2, rng, 0.5)  # fault: no public bounds


@planted(privacy, "scale of draw|two scales", **QUANTILE | {"data": [5.0, 5, 5, 5, 5], "neighbour": [5.0, 5, 5, 5, 9]})
def median_with_local_sensitivity(values, rng):
    v = np.sort(values)
    local = max(v[3] - v[2], v[2] - v[1]) + 0.01 * np.ptp(v)  # fault
    return v[2] + rng.laplace(scale=local)


@planted(privacy, **{"kind": "query", "data": 1, "neighbour": 0, "epsilon": 1.0, "confidence": 0.999})
def randomised_response(bit, rng):
    return bit if rng.random() < math.e / (1 + math.e) else 1 - bit


@planted(
    privacy,
    "decides by|chooses",
    **{"kind": "query", "data": 1, "neighbour": 0, "epsilon": 1.0, "confidence": 0.999},
)
def coin_of_the_wrong_side(bit, rng):
    if rng.random() < math.e / (1 + math.e):
        return bit
    return int(rng.random() < 0.5)  # fault: half of the lies are true


# What needs outputs of any kind, sources of randomness in other libraries, or tables.

ROWS = [("a", 1), ("a", 2), ("b", 3), ("c", 4)]
LESS = [("a", 1), ("a", 2), ("b", 3)]
WORDS: dict[str, Any] = {
    "kind": "outputs of any kind",
    "data": ROWS,
    "neighbour": LESS,
    "epsilon": 1.0,
    "trials": 5_000,
}


@planted(privacy, "list\\(output", **WORDS)
def group_sums_by_key(rows, rng):
    return {k: sum(v for q, v in rows if q == k) + rng.laplace(scale=4.0) for k, _ in rows}  # fault: keys


@planted(privacy, **WORDS)
def group_sums_by_public_keys(rows, rng):
    return {k: sum(v for q, v in rows if q == k) + rng.laplace(scale=4.0) for k in "abcd"}


@planted(privacy, "output == '", **WORDS)
def rarest_word(rows, rng):
    words = [k for k, _ in rows]
    if rng.random() < 0.02:
        return "a"
    return min(words, key=lambda word: (words.count(word), -ord(word)))  # fault


@planted(privacy, "raises", **WORDS)
def raises_where_a_group_is_missing(rows, rng):
    groups = {k: [v for q, v in rows if q == k] for k in "abc"}
    return [np.clip(np.mean(groups[k]) if groups[k] else 1 / len(groups[k]), 0, 1) + rng.laplace(scale=3.0)  # fault
            for k in groups]  # fmt: skip


@planted(privacy, "len\\(output", **WORDS)
def list_as_long_as_the_data(rows, rng):
    return [v + rng.laplace(scale=4.0) for _, v in rows]  # fault


@planted(privacy, "is None|type\\(output", **WORDS)
def none_below_a_private_count(rows, rng):
    if len(rows) < 4:  # fault
        return None
    return sum(v for _, v in rows) + rng.laplace(scale=4.0)


def frame_of(rows):
    import pandas as pd

    return pd.DataFrame(rows, columns=["group", "value"])


@planted(tables, "categor|label|rows", kind="DataFrame", epsilon=1.0, data=frame_of(ROWS), neighbour=frame_of(LESS))
def frame_of_group_means(frame, rng):
    means = frame.value.clip(0, 4).groupby(frame.group).mean()  # fault: groups and divisors of the data
    return (means + rng.laplace(scale=4.0, size=len(means))).reset_index()


@planted(tables, "bound|min|max", kind="DataFrame", epsilon=1.0,
         data=frame_of(ROWS), neighbour=frame_of([*LESS, ("c", 9)]))  # fmt: skip
def synthesizer_by_marginals(frame, rng):
    import pandas as pd

    out = {}
    for name in frame:
        kinds, counts = np.unique(frame[name].to_numpy(), return_counts=True)  # fault: the domain is private
        chance = np.clip(counts + rng.laplace(scale=2.0, size=len(counts)), 0.01, None)
        out[name] = rng.choice(kinds, size=4, p=chance / chance.sum())
    return pd.DataFrame(out)


@planted(tables, "rows|length|len", kind="DataFrame", epsilon=1.0,
         data=frame_of(ROWS), neighbour=frame_of(LESS))  # fmt: skip
def synthesizer_of_as_many_rows(frame, rng):
    import pandas as pd

    chance = [(frame.group == k).sum() + 0.0 for k in "abcd"] + rng.laplace(scale=1.0, size=4)
    chance = np.clip(chance, 0.01, None) / np.clip(chance, 0.01, None).sum()
    return pd.DataFrame({"group": rng.choice(list("abcd"), size=len(frame), p=chance)})  # fault


@planted(randomness, "random.seed is given", **OPEN)
def reseeds_the_module(ages, rng):
    np.random.seed(len(ages))  # fault
    return np.clip(ages, 0, 100).mean() + np.random.laplace(scale=100 / len(ages))


@planted(randomness, "noise, the query moves by", **OPEN)
def gauss_of_the_standard_library(ages, rng):
    return np.clip(ages, 0, 100).mean() + random.gauss(0, 2.0)  # fault: far too little


@planted(privacy, "nothing is drawn", **QUERY | {"seeded": False})
def secrets_with_few_bits(ages, rng):
    import secrets

    u = (secrets.randbelow(256) + 0.5) / 256  # fault: 256 values
    return np.clip(ages, 0, 100).mean() - 12.5 * math.copysign(math.log(1 - 2 * abs(u - 0.5) + 1e-9), 0.5 - u)
