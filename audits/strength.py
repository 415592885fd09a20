"""What an audit that found nothing would have found: the claimed mechanism with less noise, at the same budget.

The mechanism is the one that meets the claim exactly on a pair of data sets, Laplace for delta = 0 and Gaussian else;
its noise is cut until the last look would have rejected the claim in four of five audits. The chance is that of the
look's test on the best threshold, by the normal law of log((P - delta)/Q), with some room for the search of the
threshold. Leaks of other forms may need more runs, or none: nothing is said of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import norm

Floats = NDArray[np.float64]

CHANCE = 0.8
# On the distance to the claim in standard errors, since the threshold is learned on a tenth of the runs: more where the
# two laws are so near each other that it is learned badly.
_ROOM, _ROOM_NEAR, _NEAR = 1.4, 1.8, 0.3
_THRESHOLDS = np.linspace(-4.0, 8.0, 241)
_LARGEST, _MOST_RUNS = 60.0, 10**9


@dataclass(frozen=True)
class Strength:
    """What an audit would have found.

    Attributes
    ----------
    epsilon : float or None
        Of the claimed mechanism with its noise cut, at the claim's delta, where four of five such audits find it; None
        where the runs are too few to say it of any.
    chance : float
        In how many of all audits, at least.
    trials : int or None
        Runs on each data set that find noise which is a tenth too small, where these were too few; None beyond 10^9.
    curve : bool
        Whether the claim is one point of a curve, all of which could be tested.
    """

    epsilon: float | None
    chance: float
    trials: int | None
    curve: bool

    @property
    def sentence(self) -> str:
        """Say what was and what was not looked for, and what to do next."""
        share = f"at least {100 * self.chance:.0f} of 100 such audits"
        steps = ["another pair of neighbours"] + [
            "the events as claim, which are tested at all their points"
        ] * self.curve
        if self.trials is not None:
            steps.append(f"{self.trials:,} trials, which find noise that is a tenth too small")
        after = f"other leaks were not looked for; next: {', or '.join(steps)}"
        if self.epsilon is None:
            return f"the runs are too few to say what {share} find;\n{after}"
        found = (
            f"{share} find the claimed mechanism with its noise cut so that epsilon is {self.epsilon:.3g} on this pair"
        )
        return f"{found};\n{after}"


def strength(epsilon: float, delta: float, runs: int, alpha: float, trials: int) -> Strength:
    """Return what an audit of so many trials finds; its last look tests the claim on ``runs`` of them at ``alpha``."""
    found = least_found(epsilon, delta, runs, alpha)
    more = runs_for(epsilon, delta, alpha, 0.1)
    wanted = None if more is None or more <= runs else int(float(f"{1.05 * more * trials / runs:.2g}"))
    return Strength(None if found is None else epsilon_of(found, delta), CHANCE, wanted, delta > 0)


def _laplace(shift: float) -> tuple[Floats, Floats]:
    """Return P and Q of each threshold, for noise of scale 1 and a query that moves by ``shift``."""
    levels = np.linspace(0.0, 1.0, 41) * 6.0  # tails beyond both centres
    return 0.5 * np.exp(-levels), 0.5 * np.exp(-levels - shift)


def _gaussian(shift: float) -> tuple[Floats, Floats]:
    return np.asarray(ndtr(shift - _THRESHOLDS)), np.asarray(ndtr(-_THRESHOLDS))


def least_found(epsilon: float, delta: float, runs: int, alpha: float) -> float | None:
    """Return the shift, in units of the noise, at which the claim is rejected with the chance; None where none is.

    epsilon, delta : the claim;  runs : on each data set in the last look;  alpha : the level of its test
    """
    law = _gaussian if delta > 0 else _laplace
    if not _rejected(law, _LARGEST, epsilon, delta, runs, alpha):
        return None
    low, high = 0.0, _LARGEST
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _rejected(law, middle, epsilon, delta, runs, alpha) else (middle, high)
    return high


def _rejected(
    law: Callable[[float], tuple[Floats, Floats]], shift: float, epsilon: float, delta: float, runs: int, alpha: float
) -> bool:
    """Whether some threshold's test rejects the claim with the chance or more."""
    p, q = law(shift)
    p, q = p[p > delta], q[p > delta]
    q = np.clip(q, min(3.0 / runs, 1.0), 1.0)  # of a set that the other data set never meets, its upper limit counts
    p = np.minimum(p, 1 - 1e-12)
    error = np.sqrt(p * (1 - p) / (p - delta) ** 2 / runs + (1 - q) / q / runs)
    reach = (_ROOM if epsilon >= _NEAR else _ROOM_NEAR) * (norm.isf(alpha) + norm.ppf(CHANCE)) * error
    return bool((np.log((p - delta) / q) - reach > epsilon).any())


def epsilon_of(shift: float, delta: float) -> float:
    """Return epsilon of the mechanism with this shift: the shift itself for Laplace noise."""
    if delta == 0:
        return shift
    from dpcheck.accounting.certificates import gaussian_epsilon

    return gaussian_epsilon(shift, delta)


def runs_for(epsilon: float, delta: float, alpha: float, less: float) -> int | None:
    """Return how many runs in the last look find noise that is smaller by the share ``less``; None beyond 10^9."""
    claimed = epsilon if delta == 0 else brentq(lambda shift: epsilon_of(shift, delta) - epsilon, 1e-9, _LARGEST)
    law = _gaussian if delta > 0 else _laplace
    few, many = 1.0, 2.0
    while not _rejected(law, claimed / (1 - less), epsilon, delta, int(many), alpha):
        few, many = many, 2 * many
        if many > _MOST_RUNS:
            return None
    while many > 1.05 * few:
        middle = math.sqrt(few * many)
        enough = _rejected(law, claimed / (1 - less), epsilon, delta, int(middle), alpha)
        few, many = (few, middle) if enough else (middle, many)
    return math.ceil(many)
