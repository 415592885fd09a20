"""Bugs that arithmetic on machine numbers makes of correct formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.audits.bugs.bug import Bug, Rng, Tester

EPSILON, DELTA = 1.0, 1e-5
GRID = 2.0**-6
SIGMA = 4.0


def _laplace_on_doubles(value: float, rng: Rng, size: int) -> Any:
    return value + rng.laplace(scale=1 / EPSILON, size=size)


def _laplace_on_a_grid(value: float, rng: Rng, size: int) -> Any:
    decay = np.exp(-EPSILON * GRID)
    noise = rng.geometric(1 - decay, size) - rng.geometric(1 - decay, size)
    return (round(value / GRID) + noise) * GRID


LAPLACE_ON_DOUBLES = Bug(
    "Laplace noise added on doubles",
    "Mironov, On significance of the least significant bits (CCS 2012); opendp/opendp issue 414; "
    "IBM/differential-privacy-library issues 19 and 94",
    "Doubles lie closer together near 0 than near 1, so which numbers the sum can be depends on the value below "
    "the noise. The last bits of one output can tell 0 from 1 for certain. The noise is drawn on a public grid "
    "that is coarse beside the spacing of the doubles.",
    _laplace_on_doubles, _laplace_on_a_grid, Tester("floating_point", 0.0, 1.0, EPSILON),
)  # fmt: skip


def _normal_on_doubles(value: float, rng: Rng, size: int) -> Any:
    return value + SIGMA * rng.standard_normal(size)


def _normal_rounded_to_a_grid(value: float, rng: Rng, size: int) -> Any:
    return np.rint((value + SIGMA * rng.standard_normal(size)) / GRID) * GRID


NORMAL_ON_DOUBLES = Bug(
    "Gaussian noise added on doubles",
    "meta-pytorch/opacus issue 616; prestodb/presto issue 23002; Haney et al., Precision-based attacks (2022)",
    "As with Laplace noise: however well the noise is drawn, the sum has the precision of the coarser summand. An "
    "output whose bits are finer than those of the value near it rules that value out. The sum is rounded to a "
    "coarse public grid before anyone sees it.",
    _normal_on_doubles, _normal_rounded_to_a_grid, Tester("floating_point", 0.0, 1.0, EPSILON, DELTA),
)  # fmt: skip


TENS = np.full(12, 10, np.int64)


def _sum_of_small_integers(hours: Any) -> Any:
    return np.sum(np.clip(hours, 0, 11).astype(np.int8), dtype=np.int8)


def _sum_of_large_integers(hours: Any) -> Any:
    return np.sum(np.clip(hours, 0, 11).astype(np.int8), dtype=np.int64)


SUM_OF_SMALL_INTEGERS = Bug(
    "A sum of small integers that wraps around",
    "Casacuberta et al., Widespread underestimation of sensitivity (CCS 2022); google/differential-privacy issue "
    "126",
    "Values of at most 11 are added up in eight bits. Beyond 127 the sum wraps to -128, so one record may move it "
    "by 245 and not by 11. Sums are kept in a type that cannot overflow, or saturate at its ends.",
    _sum_of_small_integers, _sum_of_large_integers, Tester("sensitivity", TENS, [0, 11], 11.0),
)  # fmt: skip


# Doubles are a quarter apart here.
LOW = 2.0**50
SAME = np.full(64, LOW + 0.25)


def _tree_sum(values: Any) -> Any:
    while len(values) > 1:
        values = values[::2] + values[1::2]
    return values[0]


def _deviations_from_a_rounded_mean(values: Any) -> Any:
    mean = _tree_sum(values) / len(values)
    return ((values - mean) ** 2).sum()


def _deviations_after_a_shift(values: Any) -> Any:
    small = np.clip(values, LOW, LOW + 1) - LOW  # exact
    return ((small - _tree_sum(small) / len(small)) ** 2).sum()


DEVIATIONS_FROM_A_ROUNDED_MEAN = Bug(
    "Squared deviations from a mean that is rounded",
    "opendp/opendp issue 2923 (sum of squared deviations)",
    "One record changes a sum by less than the rounding, and in a tree of additions the rounding error doubles at "
    "each level. The mean jumps to the next double, and with it the deviations of all records. The sensitivity "
    "proved on real numbers is exceeded several times. Values are shifted to where doubles are dense before they "
    "are added, or whole numbers are used.",
    _deviations_from_a_rounded_mean, _deviations_after_a_shift,
    Tester("sensitivity", SAME, [LOW, LOW + 0.5, LOW + 1.0], 1.0),
)  # fmt: skip
