"""Bugs in where the noise comes from."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester

EPSILON = 0.5
BITS, ONE_FEWER = [1, 0, 1, 1], [0, 0, 1, 1]


def _own_seed(bits: Any, rng: Rng) -> Any:
    return np.sum(bits) + np.random.default_rng(1234).laplace(scale=1 / EPSILON)


def _given_generator(bits: Any, rng: Rng) -> Any:
    return np.sum(bits) + rng.laplace(scale=1 / EPSILON)


OWN_SEED = Bug(
    "A seed left in the code",
    "folklore",
    "The generator is made anew with a constant seed, so that a test is repeatable, and ships like that. The "
    "noise is then a known number, and subtracting it gives the exact answer. The generator is handed in, and "
    "seeded by the system outside tests.",
    _own_seed, _given_generator, Tester("randomness", BITS, ONE_FEWER, EPSILON),
)  # fmt: skip


def _seed_from_the_data(bits: Any, rng: Rng, size: int) -> Any:
    seeded = np.random.default_rng(zlib.crc32(bytes(bits)))
    return np.full(size, np.sum(bits) + seeded.laplace(scale=1 / EPSILON))


def _seed_apart_from_the_data(bits: Any, rng: Rng, size: int) -> Any:
    return np.sum(bits) + rng.laplace(scale=1 / EPSILON, size=size)


SEED_FROM_THE_DATA = Bug(
    "The noise is seeded with a fingerprint of the data",
    "world-federation-of-advertisers/cross-media-measurement issue 4387 describes such a design, for data kept "
    "secret",
    "The same question should get the same noise, without a store of answers, so the seed is a hash of the data. "
    "Each dataset then has one output, and who can compute the mechanism on two candidates tells them apart. A "
    "secret key in the hash, or stored answers, do what was wanted.",
    _seed_from_the_data, _seed_apart_from_the_data, Tester("privacy", BITS, ONE_FEWER, EPSILON),
)  # fmt: skip


def _one_draw_for_two(counts: Any, rng: Rng, size: int) -> Any:
    noise = rng.laplace(scale=2 / EPSILON, size=(size, 1))
    return np.asarray(counts) + noise


def _a_draw_for_each(counts: Any, rng: Rng, size: int) -> Any:
    return np.asarray(counts) + rng.laplace(scale=2 / EPSILON, size=(size, 2))


ONE_DRAW_FOR_TWO = Bug(
    "One draw of noise for two answers",
    "folklore",
    "A draw is broadcast over a row where one for each column was meant. Each answer is private by itself, and "
    "their difference is exact. The size of the noise is the shape of the answers.",
    _one_draw_for_two, _a_draw_for_each, Tester("privacy", [3, 2], [2, 3], EPSILON),
)  # fmt: skip


def _scale_from_the_data(hours: Any, rng: Rng) -> Any:
    return np.sum(hours) + rng.laplace(scale=np.max(hours) / EPSILON)


def _scale_from_a_bound(hours: Any, rng: Rng) -> Any:
    most = 12.0
    return np.clip(hours, 0, most).sum() + rng.laplace(scale=most / EPSILON)


SCALE_FROM_THE_DATA = Bug(
    "The sensitivity is the largest value in the data",
    "folklore; IBM/differential-privacy-library issue 20 (bounds read from the data, with a warning)",
    "The scale of the noise follows the maximum, so one person's value can be read from the spread of the "
    "outputs. The tails of two scales have no bounded ratio, so that no epsilon holds. The bound is public, and "
    "values are clipped to it.",
    _scale_from_the_data, _scale_from_a_bound, Tester("randomness", [3.0, 2.0, 8.0], [3.0, 2.0, 4.0], EPSILON),
)  # fmt: skip


TABLE = np.random.default_rng(5).laplace(scale=1 / EPSILON, size=1_000)


def _noise_from_a_table(bits: Any, rng: Rng) -> Any:
    return np.sum(bits) + rng.choice(TABLE)


NOISE_FROM_A_TABLE = Bug(
    "Noise from a table of stored draws",
    "folklore",
    "A thousand draws are made once, and one of them is used at a time. The outputs are the answer plus one of a "
    "thousand known numbers, and two different answers hardly share any. Shape and spread look perfect; the "
    "repeats give it away.",
    _noise_from_a_table, _given_generator, Tester("noise", BITS, "laplace", 1 / EPSILON),
)  # fmt: skip


def _last_bin_forgotten(counts: Any, rng: Rng, size: int) -> Any:
    released = np.tile(np.asarray(counts, float), (size, 1))
    for k in range(len(counts) - 1):
        released[:, k] += rng.laplace(scale=1 / EPSILON, size=size)
    return released


def _all_bins(counts: Any, rng: Rng, size: int) -> Any:
    return np.asarray(counts) + rng.laplace(scale=1 / EPSILON, size=(size, len(counts)))


LAST_BIN_FORGOTTEN = Bug(
    "A loop that ends before the last bin",
    "folklore",
    "Noise is added in a loop over the bins whose end is off by one. Forty-nine of fifty bins are private, plots "
    "look right, and everybody in the last bin is counted exactly. Noise is drawn for the whole array at once, in "
    "its shape.",
    _last_bin_forgotten, _all_bins, Tester("privacy", [20] * 50, [20] * 49 + [19], EPSILON),
)  # fmt: skip


FAILS = 0.005


def _exact_on_failure(bits: Any, rng: Rng, size: int) -> Any:
    failed = rng.random(size) < FAILS  # of the library that draws the noise
    return np.where(failed, np.sum(bits), np.sum(bits) + rng.laplace(scale=1 / EPSILON, size=size))


def _again_on_failure(bits: Any, rng: Rng, size: int) -> Any:
    return np.sum(bits) + rng.laplace(scale=1 / EPSILON, size=size)


EXACT_ON_FAILURE = Bug(
    "When the noise cannot be drawn the exact answer is returned",
    "folklore",
    "An exception handler keeps the service running by returning what it has, which is the answer without noise. "
    "It happens in one run of two hundred, so no delta of a usual size covers it. Without noise there is no "
    "answer: it is drawn again, or the failure is reported.",
    _exact_on_failure, _again_on_failure, Tester("privacy", BITS, ONE_FEWER, EPSILON, 1e-5, trials=50_000),
)  # fmt: skip
