"""Guesses of coins: which are right, the test of a number of them, and bounds if an output's parts are independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpcheck.accounting import gaussian_epsilon
from dpcheck.audits.limits.coin_guesses import gaussian_shift_lower, right_if_independent

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Quantiles beyond which a score does not move the centre.
_CUT = 0.05


@dataclass(frozen=True)
class Guesses:
    """One test of an audit of one run: how many guesses were right.

    Attributes
    ----------
    number : int
        Guesses made, of the canaries with the most telling scores.
    right : int
        Guesses that were right.
    alpha : float
        The test's share of the error.
    p_value : float
        The largest probability of so many right guesses under the claim.
    epsilon_lower : float
        Lower confidence limit of level ``1 - alpha`` on epsilon (natural log), for any mechanism, at the audit's delta.
    """

    number: int
    right: int
    alpha: float
    p_value: float
    epsilon_lower: float


@dataclass(frozen=True)
class IndependentBound:
    """A test and a bound under the assumptions that they state, each with the confidence asked for.

    Attributes
    ----------
    verdict : str
        ``"violated"`` where ``p_value`` rejects the claim, else ``"consistent"``.
    p_value : float
        The largest probability of so many right guesses under claim and assumption.
    right : int
        Right guesses, of all canaries.
    gaussian_shift : float
        Lower confidence limit on mu, the shift over the standard deviation of a Gaussian mechanism.
    gaussian_epsilon : float or None
        Epsilon (natural log) of a Gaussian mechanism with this shift, at the audit's delta; None where delta is 0.
    assumption, gaussian_assumption : str
        What the test assumes, and what the bound assumes besides.
    """

    verdict: str
    p_value: float
    right: int
    gaussian_shift: float
    gaussian_epsilon: float | None
    assumption: str = "given the coins, the output consists of independent parts, one a canary and moved by no other"
    gaussian_assumption: str = "and each part is at least as private as a Gaussian mechanism of the same shift"


def right_guesses(scores: Floats, included: Bools) -> Bools:
    """Say which guesses are right (runs * canaries,), those with the most telling scores first."""
    centred = np.concatenate([row - _centre(row) for row in scores])
    order = np.argsort(-np.abs(centred), kind="stable")
    return np.asarray((centred > 0) == included.ravel())[order]


def _centre(row: Floats) -> float:
    """Return a mean that clips the tails: it lies between two values of a bit, and a few outliers do not move it."""
    finite = row[np.isfinite(row)]
    return float(np.clip(finite, *np.quantile(finite, [_CUT, 1 - _CUT])).mean()) if finite.size else 0.0


def independent_bound(
    right: int, canaries: int, epsilons: Floats, deltas: Floats, delta: float, alpha: float
) -> IndependentBound:
    """Test a claim's points (m,) and bound epsilon, assuming that the output consists of independent parts."""
    most = right_if_independent(epsilons, deltas)
    p = float(stats.binom.sf(right - 1, canaries, most))
    shift = gaussian_shift_lower(right, canaries, alpha=alpha)
    epsilon = gaussian_epsilon(shift, delta) if delta > 0 else None
    return IndependentBound("violated" if p <= alpha else "consistent", p, right, shift, epsilon)
