"""What a certificate means for one person: how well an attacker can do at best, from the curve of epsilon and delta.

Let T be the trade-off function of the certified curve: a test between two neighbours with false positives alpha has
true positives of at most 1 - T(alpha), where T(alpha) is the largest, over epsilon >= 0, of
1 - delta(epsilon) - e^epsilon alpha and e^-epsilon (1 - delta(epsilon) - alpha) (Dong, Roth and Su 2022,
claims G03 to G06). Each epsilon by itself gives a bound, so that a finite grid of them gives one, too.

A record drawn among N equally likely ones is guessed at most as often: let Q be the law of what is released without it,
or with any fixed one in its place, and A_z the outputs at which z is guessed. These are disjoint, so that the mean of
Q(A_z) is at most 1/N; z is guessed with chance P_z(A_z) <= 1 - T(Q(A_z)); and 1 - T is concave and does not decrease,
so that the mean of these is at most 1 - T(1/N). Where neighbours have a record replaced, any two of the laws are
neighbours; P_z(A_z) then exceeds Q(A_z), Q the law of one of the N, by at most the advantage, delta(0), so that the
mean is also at most (1 + (N - 1) delta(0)) / N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.accounting import certify, privacy_curve
from dpcheck.accounting.event_counts import count_events
from dpcheck.accounting.privacy_curves import Array
from dpcheck.arguments import checked
from dpcheck.errors import is_number, require, require_count
from dpcheck.events import Neighbours, read_events
from dpcheck.shown import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 2_000  # epsilons of the grid
_LEAST, _FURTHEST = 1e-12, 700.0  # the delta, or the epsilon, at which it ends
_TASKS = {
    "add_or_remove_one": "tells whether a record was there",
    "replace_one": "tells which of two records was there",
    "any": "tells two neighbours apart",
}


@dataclass(frozen=True)
class Risk(Result):
    """The most that an attacker can do who sees all that is released, and knows all records but one.

    Attributes
    ----------
    advantage : float
        True minus false positives of the best test between two neighbours, at most; delta at epsilon 0.
    true_positives : dict of float to float
        False positives of a test, to its true positives, at most.
    guessed : dict of int to float
        A number of equally likely records, to the chance that the right one is named, at most.
    neighbours : str
        The relation that this holds for, as in a :class:`~dpcheck.accounting.Certificate`.
    curve : tuple of two arrays
        Epsilons, increasing from 0, and the certified deltas at them, of which the bounds are made.
    """

    advantage: float
    true_positives: dict[float, float]
    guessed: dict[int, float]
    neighbours: str
    curve: tuple[Array, Array] = field(repr=False, compare=False)

    def _sentence(self) -> str:
        task = _TASKS[self.neighbours]
        who = "an attacker who sees what was released and knows all else"
        return f"{who} {task} with an advantage of at most {self.advantage:.6g}"

    def _facts(self) -> dict[str, Any]:
        return {
            "true positives at most": [
                f"{hit:.6g} at false positives {at:g}" for at, hit in self.true_positives.items()
            ],
            "record named at most": [f"{p:.6g} among {count} equally likely" for count, p in self.guessed.items()],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        names = ("advantage", "true_positives", "guessed", "neighbours")
        return {name: getattr(self, name) for name in names}

    def plot(self) -> Figure:
        """Draw the most true positives by false positives, on logarithmic axes, beside guessing."""
        from matplotlib.figure import Figure

        from dpcheck import style

        false = np.geomspace(1e-5, 1, 400)
        figure = Figure(figsize=(4.6, 3.6), layout="constrained")
        axis = figure.subplots()
        axis.loglog(false, _power(false, *self.curve), color=style.MEASURED, label="at most")
        axis.loglog(false, false, "--", color=style.PREDICTED, label="guessing")
        axis.set(xlabel="false positives", ylabel="true positives", xlim=(1e-5, 1), ylim=(1e-5, 1.3))
        axis.set_title(f"an attacker's advantage is at most {self.advantage:.3g}", fontsize=10)
        axis.legend(frameon=False)
        return figure


@checked
def risk(
    events: Any,
    *,
    false_positives: Sequence[float] = (0.001, 0.01, 0.1),
    candidates: Sequence[int] = (2, 10, 1000),
    neighbours: Neighbours | None = None,
) -> Risk:
    """Bound what an attacker gains from a composition of privacy events.

    Parameters
    ----------
    events : event or sequence of events
        As :func:`~dpcheck.accounting.privacy_curve` reads them.
    false_positives : sequence of float
        Each in [0, 1]: the share of false alarms of a membership test.
    candidates : sequence of int
        Each >= 1: how many records, equally likely and one of them right, an attacker guesses among.
    neighbours : {"replace_one", "add_or_remove_one"}, optional
        The relation that the sensitivity was taken over, where the events do not say it: noise on the whole data set.

    Returns
    -------
    Risk
        Upper bounds. They hold for attackers who know every other record and see all that was released, between
        neighbours as stated in the events; where no curve is sharp (``certify`` says for which sampling), nor are they.

    Raises
    ------
    InputError
        For anything else.

    References
    ----------
    J. Dong, A. Roth, W. J. Su. Gaussian differential privacy. JRSS B 2022.

    J. Hayes, S. Mahloujifar, B. Balle. Bounding training data reconstruction in DP-SGD. NeurIPS 2023.

    Examples
    --------
    >>> from dpcheck.accounting.risk import risk
    >>> from dpcheck.events import Gaussian
    >>> print(risk(Gaussian(1.0)))
    an attacker who sees what was released and knows all else tells two neighbours
      apart with an advantage of at most 0.382925
      true positives at most  0.0182985 at false positives 0.001, 0.0923624 at false
                              positives 0.01, 0.389144 at false positives 0.1
      record named at most    0.841345 among 2 equally likely, 0.389144 among 10
                              equally likely, 0.0182985 among 1000 equally likely
    """
    require(not isinstance(false_positives, str | dict), "false_positives", "be numbers", false_positives)
    for rate in false_positives:
        require(is_number(rate) and 0 <= rate <= 1, "false_positives", "lie in [0, 1]", rate)
    for count in candidates:
        require_count(count, "candidates")
    curve, most = privacy_curve(events), 1.0
    while most < _FURTHEST and curve(most) > _LEAST:
        most = min(2 * most, _FURTHEST)
    most = min(most, certify(events, 0.0).epsilon)  # where pure privacy begins the curve has a kink, and the best test
    epsilons = np.linspace(0, most, _POINTS)
    deltas = curve(epsilons)

    relation = count_events(read_events(events)).neighbours or neighbours or "any"

    def power(at: Sequence[float]) -> list[float]:
        return [float(value) for value in _power(at, epsilons, deltas)]

    named = dict(zip(candidates, power([1 / count for count in candidates]), strict=True))
    if relation == "replace_one":
        named = {count: min(chance, (1 + (count - 1) * float(deltas[0])) / count) for count, chance in named.items()}
    told = dict(zip(map(float, false_positives), power(false_positives), strict=True))
    return Risk(float(deltas[0]), told, named, relation, (epsilons, deltas))


def _power(false_positives: ArrayLike, epsilons: Array, deltas: Array) -> Array:
    """Return the most true positives, rounded up, at false positives (m,)."""
    alpha = np.asarray(false_positives, dtype=np.float64)[:, None]
    spared = np.maximum(1 - deltas - np.exp(epsilons) * alpha, np.exp(-epsilons) * (1 - deltas - alpha))
    power = np.asarray((1 - np.maximum(spared.max(axis=1), 0)) * (1 + 1e-14))
    return np.asarray(np.minimum(power, 1))
