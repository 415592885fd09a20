"""The power law of a table, fitted once, with its intervals and the verdict on any claim about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dpcheck.audits.regression import power_law
from dpcheck.audits.regression.judgement import Judgement, Slopes, judge
from dpcheck.audits.regression.measurements import TO_ZERO, Measurements
from dpcheck.audits.regression.power_law import Array, Estimate, PowerLaw

_CLEAR = 3.0  # standard errors that the mean at a size must lie above zero, so that it has a logarithm
_CLUSTERS = 3
_FAR = 0.5  # share of the mean; a run this close to it is no sign of a heavy tail, however close the others are
_ONE_RUN = 0.2  # the share of the squared deviations that one run may have; with heavy tails no mean can be fitted


@dataclass(frozen=True, eq=False)
class Fitted:
    """The straight line through all factors, the reason why no verdict can be given (or ""), and slopes once needed."""

    measurements: Measurements
    line: PowerLaw | None
    gate: str
    _slopes: dict[int, Slopes] = field(default_factory=dict)

    @classmethod
    def of(cls, measurements: Measurements) -> Fitted:
        """Fit the line, and find out whether it can be judged."""
        m = measurements
        start = power_law.start(m.line, m.y, m.known, m.cells)
        line = power_law.fit(m.line, m.y, m.known, m.clusters, start)
        return cls(m, line, _gate(m, line))

    def exponents(self) -> dict[str, float]:
        """Return each factor's exponent; NaN if the means follow no power law."""
        return {name: self._exponent(i).value for i, name in enumerate(self.measurements.factors)}

    def intervals(self, confidence: float) -> dict[str, tuple[float, float]]:
        """Return two-sided intervals, simultaneous over the factors."""
        names = self.measurements.factors
        level = 1 - (1 - confidence) / (2 * len(names))
        found = {name: self._exponent(i) for i, name in enumerate(names)}
        return {name: (each.low(level), each.high(level)) for name, each in found.items()}

    def judge(
        self, claimed: Mapping[str, float], *, confidence: float, margin: float, equal: bool = False
    ) -> dict[str, Judgement]:
        """Return the verdict on each claimed exponent; their errors add up to at most ``1 - confidence``."""
        level = 1 - (1 - confidence) / max(len(claimed), 1)
        judged = {}
        for i, name in enumerate(self.measurements.factors):
            if name not in claimed:
                continue
            if self.gate or self.line is None:
                judged[name] = Judgement("inconclusive", self.gate)
                continue
            sign = -1.0 if name in TO_ZERO else 1.0
            if i not in self._slopes:
                self._slopes[i] = _slopes(self.measurements, self.line, i, sign)
            judged[name] = judge(
                name, self._slopes[i], sign * claimed[name], margin=margin, level=level, equal=equal, sign=sign
            )
        return judged

    def _exponent(self, i: int) -> Estimate:
        if self.line is None:
            return Estimate(float("nan"), float("inf"), 1.0)
        direction = np.zeros(len(self.line.coefficients))
        direction[1 + i] = 1.0
        return self.line.contrast(direction)


def _slopes(m: Measurements, line: PowerLaw, i: int, sign: float) -> Slopes:
    """Return the slopes of factor ``i``, signed so that larger is slower; the other factors keep straight lines."""
    direction = np.zeros(len(line.coefficients))
    direction[1 + i] = sign
    straight = line.contrast(direction)
    if m.sizes(i) < 3:
        return Slopes(straight, None, None)
    design: Array = np.column_stack([m.line, m.x[:, i] ** 2])
    few = len(design) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]
    bent = None if few else power_law.fit(design, m.y, m.known, m.clusters, np.append(line.coefficients, 0.0))
    if bent is None or bent.alone:
        return Slopes(straight, None, None)
    length = float(np.ptp(m.x[:, i]))
    at_end, change = np.zeros(design.shape[1]), np.zeros(design.shape[1])
    at_end[1 + i] = sign
    change[-1] = 2 * length  # of b + 2 c x towards x = 0, from below or, where slopes change sign, from above
    return Slopes(straight, bent.contrast(at_end), bent.contrast(change))


def _gate(m: Measurements, line: PowerLaw | None) -> str:
    """Return why no verdict can be given, or an empty text."""
    if m.independent < _CLUSTERS:
        return f"there are only {m.independent} independent clusters; {_CLUSTERS} are needed"
    scaled = m.y * np.exp(m.known.mean() - m.known)
    count = np.bincount(m.cells)
    means = np.bincount(m.cells, scaled) / count
    squares = np.bincount(m.cells, (scaled - means[m.cells]) ** 2)
    errors = np.sqrt(squares / np.maximum(count - 1, 1) / count)
    if (means <= _CLEAR * errors).any():
        return "at one size or more the mean response cannot be told from zero: a floor, or too few runs"
    if line is None:
        return "the means follow no power law"
    if line.alone:
        return "an exponent rests on a single independent cluster, so that its error cannot be seen"
    spread = (m.y * np.exp(-(line.design @ line.coefficients) - m.known) - 1) ** 2
    if spread.max() > _FAR**2 and spread.max() / spread.sum() > max(_ONE_RUN, 4 * np.log(len(m.y)) / len(m.y)):
        return "a single run carries most of the spread, so that the mean is not determined"
    return ""
