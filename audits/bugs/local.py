"""Bugs in local privacy: each person's own report is noisy."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester

EPSILON = 1.0
VALUES = 5


def _report(value: int, truth: float, values: int, rng: Rng, size: int) -> Any:
    """Return the value with probability ``truth``, else one of the others."""
    lie = (value + rng.integers(1, values, size)) % values
    return np.where(rng.random(size) < truth, value, lie)


def _formula_for_two_values(value: int, rng: Rng, size: int) -> Any:
    return _report(value, np.exp(EPSILON) / (np.exp(EPSILON) + 1), VALUES, rng, size)


def _formula_for_all_values(value: int, rng: Rng, size: int) -> Any:
    return _report(value, np.exp(EPSILON) / (np.exp(EPSILON) + VALUES - 1), VALUES, rng, size)


FORMULA_FOR_TWO_VALUES = Bug(
    "Randomised response among k values with the formula for two",
    "folklore",
    "The truth is kept with probability e^epsilon/(e^epsilon + 1), and the rest shared by the k - 1 lies. Each "
    "lie is then k - 1 times less likely than it should be, and the report k - 1 times more telling. With k "
    "values the 1 becomes k - 1.",
    _formula_for_two_values, _formula_for_all_values, Tester("privacy", 0, 1, EPSILON),
)  # fmt: skip


def _lie_that_may_be_true(bit: int, rng: Rng, size: int) -> Any:
    truth = np.exp(EPSILON) / (np.exp(EPSILON) + 1)
    return np.where(rng.random(size) < truth, bit, rng.random(size) < truth if bit else rng.random(size) >= truth)


def _lie_that_is_one(bit: int, rng: Rng, size: int) -> Any:
    truth = np.exp(EPSILON) / (np.exp(EPSILON) + 1)
    return np.where(rng.random(size) < truth, bit, 1 - bit)


LIE_THAT_MAY_BE_TRUE = Bug(
    "Randomised response whose lie may be the truth",
    "opendp/opendp issue 480 (randomised response on booleans); Samuel-Maddock/pure-LDP issue 11 keeps the true "
    "bit with the wrong probability as well",
    "With probability p the truth is told, and otherwise a value drawn again that may be the truth. It is then "
    "told with probability p + (1 - p) p, while epsilon was computed from p. The lie is drawn from the other "
    "values, or epsilon from what is really told.",
    _lie_that_may_be_true, _lie_that_is_one, Tester("privacy", 1, 0, EPSILON),
)  # fmt: skip


def _flipped(bits: Any, epsilon: float, rng: Rng, size: int) -> Any:
    """Keep each bit with probability e^epsilon / (e^epsilon + 1), by itself."""
    keep = rng.random((size, len(bits))) < np.exp(epsilon) / (np.exp(epsilon) + 1)
    return np.where(keep, bits, 1 - np.asarray(bits))


def _one_hot(value: int) -> Any:
    return (np.arange(VALUES) == value).astype(int)


def _budget_for_each_bit(value: int, rng: Rng, size: int) -> Any:
    return _flipped(_one_hot(value), EPSILON, rng, size)


def _budget_for_two_bits(value: int, rng: Rng, size: int) -> Any:
    return _flipped(_one_hot(value), EPSILON / 2, rng, size)


BUDGET_FOR_EACH_BIT = Bug(
    "Unary encoding with the whole budget on each bit",
    "folklore",
    "A value is written as a row of bits, one of them set, and each bit is flipped by randomised response at "
    "epsilon. Two values differ in two bits, so the report costs 2 epsilon. Each bit has epsilon/2.",
    _budget_for_each_bit, _budget_for_two_bits, Tester("privacy", 0, 1, EPSILON),
)  # fmt: skip


HASHES = {"news": [1, 1, 0, 0, 0, 0], "mail": [0, 0, 1, 1, 0, 0]}


def _hashes_not_counted(page: str, rng: Rng, size: int) -> Any:
    return _flipped(HASHES[page], EPSILON / 2, rng, size)


def _hashes_counted(page: str, rng: Rng, size: int) -> Any:
    return _flipped(HASHES[page], EPSILON / (2 * 2), rng, size)


HASHES_NOT_COUNTED = Bug(
    "RAPPOR with the parameter for one hash function",
    "folklore; Erlingsson, Pihur and Korolova (CCS 2014) have the factor h",
    "In RAPPOR a value sets h bits of a Bloom filter, and two values may differ in 2 h of them. The probability "
    "of a flipped bit was computed for h = 1. The permanent response costs 2 h ln((1 - f/2)/(f/2)), and f follows "
    "from that.",
    _hashes_not_counted, _hashes_counted, Tester("privacy", "news", "mail", EPSILON),
)  # fmt: skip


def _drawn_every_day(bit: int, rng: Rng, size: int) -> Any:
    return _flipped([bit] * 8, EPSILON, rng, size)


def _drawn_once(bit: int, rng: Rng, size: int) -> Any:
    permanent = _flipped([bit], EPSILON, rng, size)
    again = rng.random((size, 8)) < 0.75  # on top of it, against tracking
    return np.where(again, permanent, 1 - permanent)


DRAWN_EVERY_DAY = Bug(
    "A report that is drawn again every day",
    "folklore; Erlingsson, Pihur and Korolova (CCS 2014) keep the permanent response",
    "The same answer is randomised afresh each day at the full epsilon, and who collects the reports takes their "
    "majority. After eight days the cost is eightfold. One permanent response is drawn and kept; what is sent is "
    "drawn from it.",
    _drawn_every_day, _drawn_once, Tester("privacy", 1, 0, EPSILON),
)  # fmt: skip
