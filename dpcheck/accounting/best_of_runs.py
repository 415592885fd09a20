"""The best of a random number of runs, released alone: tuning that is charged for what it shows.

K is drawn, K runs are made, each on its own, and the one with the highest score is released, ties broken at random. K
has the generating function f; then the release has the density f'(P(y' <= y)) P(y), P that of one run and y' <= y by
score. Claims P01 and P02 (``dpcheck prove koskela2024``) bound its privacy curve by that of one run.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.accounting.certificates import Certificate
from dpcheck.errors import is_number, require

_UP = 1 + 1e-12
_POINTS = 100  # of a curve, at a time


@dataclass(frozen=True)
class NegativeBinomial:
    """K >= 1 with the truncated negative binomial law: 1 is the shape of the geometric law, 0 of the logarithmic one.

    Parameters
    ----------
    shape : float
        Above -1 (eta in the papers): the smaller, the more K is spread, and the less a run more costs.
    stop : float
        In (0, 1) (gamma in the papers): the smaller, the more runs.
    """

    shape: float
    stop: float

    def __post_init__(self) -> None:
        require(is_number(self.shape) and -1 < self.shape < math.inf, "shape", "be a number above -1", self.shape)
        require(is_number(self.stop) and 0 < self.stop < 1, "stop", "lie in (0, 1)", self.stop)

    @property
    def mean(self) -> float:
        """The mean of K."""
        gamma, log = float(self.stop), math.log(self.stop)
        if self.shape == 0:
            return (1 - gamma) / (gamma * -log)
        return self.shape * (1 - gamma) / (gamma * -math.expm1(self.shape * log))


@dataclass(frozen=True)
class PoissonRuns:
    """K with the law of Poisson: nothing is released where it is 0.

    Parameters
    ----------
    mean : float
        Above 0.
    """

    mean: float

    def __post_init__(self) -> None:
        require(is_number(self.mean) and 0 < self.mean < math.inf, "mean", "be a number above 0", self.mean)


@dataclass(frozen=True)
class Best:
    """The best of a random number of runs, by a score of what they release, itself private in no other way.

    Parameters
    ----------
    of : event or sequence of events
        What one run releases, the same for every run; which setting a run tries may be drawn at random.
    runs : NegativeBinomial or PoissonRuns
        The law of the number of runs, which is kept secret.

    References
    ----------
    N. Papernot, T. Steinke. Hyperparameter tuning with Renyi differential privacy. ICLR 2022.

    A. Koskela, R. Redberg, Y.-X. Wang. Privacy profiles for private selection. ICML 2024.

    Examples
    --------
    >>> import dpcheck
    >>> from dpcheck.accounting.best_of_runs import Best, NegativeBinomial
    >>> from dpcheck.events import Gaussian
    >>> runs = NegativeBinomial(shape=1.0, stop=0.05)  # geometric
    >>> round(runs.mean)
    20
    >>> tuned = dpcheck.certify(Best(Gaussian(8.0), runs), delta=1e-5)
    >>> round(tuned.epsilon, 2), round(dpcheck.certify(Gaussian(8.0), delta=1e-5).epsilon, 2)
    (0.81, 0.43)
    """

    of: Any
    runs: NegativeBinomial | PoissonRuns

    def __post_init__(self) -> None:
        known = isinstance(self.runs, NegativeBinomial | PoissonRuns)
        require(known, "runs", "be a NegativeBinomial or PoissonRuns", self.runs)


def best_of(best: Best, delta: float) -> Certificate:
    """Certify epsilon of the best run."""
    from dpcheck.accounting import certify, privacy_curve  # which asks for this

    runs, curve = best.runs, privacy_curve(best.of)
    one: Certificate = certify(best.of, delta / max(runs.mean * _UP, 1.0))
    if isinstance(runs, PoissonRuns):
        law, extra = f"Poisson's law of mean {runs.mean:g}", runs.mean * float(curve(0.0))
    else:
        law = f"a negative binomial law of shape {runs.shape:g} and mean {runs.mean:.6g}"
        extra = (1 + runs.shape) * _tail_epsilon(curve, float(runs.stop))
    method = f"the best of a number of runs with {law}; of one run, at delta {one.delta:.3g}: {one.method}"
    return dataclasses.replace(
        one, epsilon=(one.epsilon + extra) * _UP, delta=delta, method=f"an upper bound, {method}"
    )


def _tail_epsilon(curve: Any, stop: float) -> float:
    """Return about the least e with (1 - stop) delta(e) <= stop (exp(e) - 1), on the side where that holds."""

    high, epsilons = math.inf, np.geomspace(1e-12, 600, _POINTS)
    for _ in range(3):  # between the last that is not enough and the first that is
        enough = (1 - stop) * curve(epsilons) * _UP <= stop * np.expm1(epsilons)
        if not enough.any():
            break
        first = int(np.argmax(enough))
        high = float(epsilons[first])
        epsilons = np.linspace(epsilons[max(first - 1, 0)], high, _POINTS)
    return high
