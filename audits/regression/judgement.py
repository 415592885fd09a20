"""The verdict on one claimed exponent of a fitted power law: first what forbids a verdict, then the comparison.

Slopes are signed so that larger is slower: along ``n`` the response should fall; along ``epsilon``, which goes to 0, it
should not grow faster than claimed. Three numbers decide:

- the slope of the straight line over the whole grid,
- the slope of a parabola at the end of the grid where the rate is claimed,
- the bend, which is how much the slope of the parabola changes from one end of the grid to the other.

"supported" is a statement of equivalence: with confidence, the slope at the end is below the claim plus the margin, and
no bend leads out of it. "contradicted" needs, with confidence, the straight line above the claim plus the margin, the
end above the claim, and no bend: a bend towards the claim may still reach it, and one away from it may be a floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dpcheck.audits.regression import power_law
from dpcheck.audits.regression.measurements import TO_ZERO, Measurements
from dpcheck.audits.regression.power_law import Array, Estimate, PowerLaw

_ORDER = ("contradicted", "not asymptotic", "inconclusive", "supported")
# Chances of error, in multiples of a comparison's own. Each was chosen by simulation of the laws in tests/rate_laws.py,
# as a balance between supporting a law that bends away and failing to support, or to contradict, a clean one.
_BENDS = 2.0  # to see a bend away from the claim, with care, since missing one is the dangerous mistake
_ELSEWHERE = 0.5  # to see that the line is not the claimed one; half the margin is then left, unless no bend leads out
_RESCUES = 0.2  # to let a bend prevent a contradiction; more would cost power, since chance shows bends of each kind
_AT_END = 8.0  # to see the end above the claim, which laws that reach the claim in the end do not show
_BEYOND = 1.25  # a bend is followed this far past the grid, in lengths of the grid


@dataclass(frozen=True)
class Slopes:
    """The slopes of one factor, signed so that larger is slower; ``end`` and ``bend`` need three sizes."""

    line: Estimate
    end: Estimate | None
    bend: Estimate | None


@dataclass(frozen=True)
class Judgement:
    """A verdict on one exponent, the clause that says why, and by how much it is faster than claimed, if it is."""

    verdict: str
    reason: str
    faster: float | None = None


def judge(
    name: str, slopes: Slopes, claim: float, *, margin: float, level: float, equal: bool, sign: float
) -> Judgement:
    """Compare the slopes of one factor with its claim.

    ``claim`` is signed as the slopes are, and ``sign`` restores the exponent's own sign. ``equal`` means that the claim
    is an equality rather than an upper bound.
    """
    judgement = _verdict(name, slopes, claim, margin=margin, level=level, equal=equal, sign=sign)
    if slopes.line.high(level) < claim:
        return replace(judgement, faster=claim - slopes.line.value)
    return judgement


def overall(judged: Mapping[str, Judgement]) -> tuple[str, str]:
    """Return the worst verdict, and the sentence that says why."""
    if not judged:
        return "inconclusive", "inconclusive: no exponent was claimed"
    verdict = next(word for word in _ORDER if word in {judgement.verdict for judgement in judged.values()})
    reasons = dict.fromkeys(judgement.reason for judgement in judged.values() if judgement.verdict == verdict)
    by = [
        f"{name} is faster than claimed by {judgement.faster:.2f}"
        for name, judgement in judged.items()
        if judgement.faster
    ]
    return verdict, f"{verdict}: {'; '.join([*reasons, *by])}"


def _verdict(
    name: str, slopes: Slopes, claim: float, *, margin: float, level: float, equal: bool, sign: float
) -> Judgement:
    end, bend, line = slopes.end, slopes.bend, slopes.line
    claimed = f"the claimed {name}^{sign * claim:g}"
    if end is None or bend is None:
        return Judgement("inconclusive", f"{name} has too few independent sizes to see whether the slope bends")
    whole, last = _shown(name, line, level, sign), _shown(name, end, level, sign)
    rescue, loose = _but(level, _RESCUES), _but(level, _AT_END)
    flattens, steepens = bend.low(rescue) > 0.0, bend.high(rescue) < 0.0
    slower = line.low(level) > claim + margin and end.low(loose) > claim
    if slower and not steepens and not flattens:
        return Judgement("contradicted", f"{whole} is slower than {claimed}")
    faster = line.high(level) < claim - margin and end.high(loose) < claim
    if equal and faster and not steepens and not flattens:
        return Judgement("contradicted", f"{whole} is faster than {claimed}, an equality")
    bent = f"the slope in {name} still bends, from {sign * (end.value - bend.value):.2f} to {sign * end.value:.2f}"
    bends = _but(level, _BENDS)
    if bend.low(bends) > 0.0 and end.value + _BEYOND * bend.value > claim + margin:
        return Judgement("not asymptotic", f"{bent}, out of the margin of {claimed}")
    if line.value > claim + margin and steepens:
        return Judgement("not asymptotic", f"{bent}, towards {claimed}")
    care = _but(level, _ELSEWHERE)
    elsewhere = line.high(care) < claim or line.low(care) > claim
    may_leave = end.value + _BEYOND * max(bend.high(rescue), -bend.low(rescue)) > claim + margin
    left = margin / 2 if elsewhere and may_leave else margin
    if end.high(level) > claim + left:
        return Judgement("inconclusive", f"at the end of the grid {last} may be slower than {claimed} by {left:g}")
    if equal and end.low(level) < claim - left:
        return Judgement("inconclusive", f"at the end of the grid {last} may be faster than {claimed} by {left:g}")
    return Judgement("supported", f"at the end of the grid {last} is no slower than {claimed}, within {left:g}")


def _but(level: float, times: float) -> float:
    """Return the level with so many times the chance of error, at least 1/2, where a limit is the estimate itself."""
    return max(1 - times * (1 - level), 0.5)


def _shown(name: str, estimate: Estimate, level: float, sign: float) -> str:
    low, high = sorted((sign * estimate.low(level), sign * estimate.high(level)))
    return f"{name}^{sign * estimate.value:.2f} [{low:.2f}, {high:.2f}]"


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
        estimates = {name: self._exponent(i) for i, name in enumerate(names)}
        return {name: (estimate.low(level), estimate.high(level)) for name, estimate in estimates.items()}

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
