"""Noise on a query of the whole data set: the parts that other events are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpcheck.errors import float_below, is_number, require

LARGEST = 10**300  # beyond, numbers are no longer what they are taken for


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise on a query of the whole data set.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation over l2 sensitivity, in [0, inf]. 0 is no noise at all (epsilon is infinite), inf releases
        nothing about the data.

    Examples
    --------
    >>> from dpcheck.events import Gaussian
    >>> Gaussian(4.0).noise_multiplier
    4.0
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        """Check the fields."""
        _keep_multiplier(self)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise on a query of the whole data set.

    Parameters
    ----------
    noise_multiplier : float
        Scale b over l1 sensitivity, in [0, inf], with limits as in :class:`Gaussian`.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        """Check the fields."""
        _keep_multiplier(self)


def shift_of(noise_multiplier: float) -> float:
    """Return a sensitivity in units of the noise.

    Parameters
    ----------
    noise_multiplier : float
        In [0, inf].

    Returns
    -------
    float
        1 / multiplier, inf without noise.
    """
    return math.inf if noise_multiplier == 0 else 1 / float(noise_multiplier)


def _keep_multiplier(event: Any) -> None:
    """Check the multiplier and keep it as the number that is computed with."""
    value = float_below(event.noise_multiplier)  # first, as what a narrow float is compared with may overflow it
    good = is_number(value) and value >= 0 and (value <= LARGEST or value == math.inf)
    require(good, "noise_multiplier", "be a number >= 0 and at most 1e300, or inf", value)
    object.__setattr__(event, "noise_multiplier", float(value))


def shown(value: int) -> str:
    """Return a long whole number by its length, as Python refuses to print it."""
    return str(value) if value < 10**100 else f"a number of about 10^{math.floor(math.log10(value))}"
